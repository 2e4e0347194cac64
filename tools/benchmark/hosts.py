"""Measure the cost of taking hosts and giving them back: `Hosts`, and `procset.ProcSet` as schedulers use it.

In each of some states of a cluster, sets of hosts are taken one after the other, and given back in the same order. The
figure is the processor time for one set, the median of batches in one interleaved run.
"""

from __future__ import annotations

import gc
import statistics
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from time import thread_time_ns
from typing import Any

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

from procset import ProcSet

from batprotocol import Hosts, HostsError
from benchmark.tables import parser_for, table

__all__ = ["main", "measure"]

SETS = 20
"""How many are taken in a batch, and given back."""
SIZES = (1, 4, 16)
FEW, SLOW = 1, 100_000
"""How often what takes so many nanoseconds is measured."""
STATES: dict[str, Callable[[int], range | set[int]]] = {
    "all free": lambda hosts: range(hosts),
    "every other free": lambda hosts: range(0, hosts, 2),
    "nearly full": lambda hosts: range(hosts - 400, hosts),
    "holes of 1 to 9": lambda hosts: {
        host for first in range(0, hosts, 11) for host in range(first, min(first + 1 + first % 9, hosts))
    },
}
"""Which hosts are free, by how one would say it."""


def _procset(_: int, free: Collection[int]) -> Any:
    """Made of halves: made of all intervals at once, it takes time in the square of their number."""
    if len(free) < 100:
        return ProcSet(*free)
    members = sorted(free)
    middle = len(members) // 2
    return _procset(0, members[:middle]) | _procset(0, members[middle:])


def _procset_take(free: Any, count: int) -> Any:
    hosts = ProcSet(*free[:count])
    free -= hosts
    return hosts


def _procset_give_back(free: Any, hosts: Any) -> None:
    free |= hosts


def _free_hosts(all_hosts: int, free: range | set[int]) -> Hosts:
    hosts = Hosts(range(all_hosts))
    hosts &= free
    return hosts


Kind = tuple[Callable[[int, Any], Any], Callable[[Any, int], Any], Callable[[Any, Any], None]]
KINDS: dict[str, Kind] = {
    "Hosts": (_free_hosts, Hosts.take, Hosts.give_back),
    "Hosts, contiguous": (_free_hosts, Hosts.take_contiguous, Hosts.give_back),
    "ProcSet": (_procset, _procset_take, _procset_give_back),
}
"""By name: what makes the set, takes from it, and gives back to it."""


def _batch(free: Any, kind: Kind, size: int) -> tuple[float, float]:
    _, take, give_back = kind
    start = thread_time_ns()
    taken = [take(free, size) for _ in range(SETS)]
    middle = thread_time_ns()
    for hosts in taken:
        give_back(free, hosts)
    return (middle - start) / SETS, (thread_time_ns() - middle) / SETS


def measure(hosts: int, rounds: int) -> dict[tuple[str, int], dict[str, tuple[float, float]]]:
    """Nanoseconds to take a set and to give it back, by state, size of the set, and kind."""
    frees = {
        (state, name): kind[0](hosts, which(hosts)) for state, which in STATES.items() for name, kind in KINDS.items()
    }
    samples: dict[tuple[str, int, str], list[tuple[float, float]]] = {
        (state, size, name): [] for state in STATES for size in SIZES for name in KINDS
    }
    gc.collect()
    gc.disable()  # as timeit does
    for number in range(rounds):
        for (state, size, name), times in samples.items():
            if number < FEW or (times and sum(times[0]) < SLOW):
                with suppress(HostsError):  # there are no such rows
                    times.append(_batch(frees[state, name], KINDS[name], size))
    gc.enable()
    found: dict[tuple[str, int], dict[str, tuple[float, float]]] = {}
    for (state, size, name), times in samples.items():
        if times:
            take, give_back = (statistics.median(column) for column in zip(*times, strict=True))
            found.setdefault((state, size), {})[name] = (take, give_back)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__, quick="fewer rounds")
    parser.add_argument("--hosts", type=int, default=10_000, metavar="N", help="how many hosts there are (%(default)s)")
    given = parser.parse_args(arguments)
    found = measure(given.hosts, 15 if given.quick else 101)
    rows = [["ns to take / to give back", *KINDS]]
    for (state, size), kinds in found.items():
        times = [kinds.get(name) for name in KINDS]
        cells = [f"{each[0]:,.0f} / {each[1]:,.0f}" if each else "" for each in times]
        rows.append([f"{state}, {size} at a time", *cells])
    print(f"Sets of hosts, of {given.hosts:,}:\n\n{table(rows, given.markdown)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
