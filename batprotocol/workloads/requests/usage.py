"""The use of hosts by jobs, as schedulers report it and results keep it: amounts, attempts, hosts in use over time.

Several jobs may have one host at the same time. A job that runs again has an id that names its first run.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, TypeAlias

import msgspec

from batprotocol.workloads.requests.notation import Gres

__all__ = [
    "ENDS",
    "RERUN_WORKLOAD",
    "ROUNDED",
    "Allocated",
    "AttemptReport",
    "Busy",
    "Stay",
    "busy_hosts",
    "rerun_id",
    "share_hosts",
    "submitted_id",
]


ROUNDED: Final = 1e-5
"""Tables have six decimals: a job may seem to start so many seconds before another one ends."""

Stay: TypeAlias = "tuple[float, float, str]"
"""The start and the end of a job, in seconds, and its host set (`0-3 8`)."""

Busy: TypeAlias = "list[tuple[float, int]]"
"""Times in ascending order, and the number of hosts in use from each time on."""


def busy_hosts(stays: Iterable[Stay]) -> Busy:
    """The number of hosts with a job, over time. A host that several jobs have at the same time counts once.

    Args:
        stays: the jobs; host sets are valid.

    >>> busy_hosts([(0.0, 10.0, "0-1"), (5.0, 20.0, "1-3")])
    [(0.0, 2), (5.0, 4), (10.0, 3), (20.0, 0)]
    """
    given = [stay for stay in stays if stay[1] > stay[0] and stay[2]]
    bits = _Bits({hosts for _, _, hosts in given})
    events = [(start, True, hosts) for start, _, hosts in given]
    events += [(finish, False, hosts) for _, finish, hosts in given]
    events.sort(key=lambda event: event[:2])
    layers: list[int] = []  # the hosts with one job at least, with two at least, and so on
    found: Busy = []
    busy = 0
    for time, is_start, hosts in events:
        if is_start:
            busy += bits.width(_put(layers, bits.masks[hosts]))
        else:
            busy -= bits.width(_removed(layers, bits.masks[hosts]))
        if found and found[-1][0] == time:
            found[-1] = time, busy
        else:
            found.append((time, busy))
    return found


def _put(layers: list[int], mask: int) -> int:
    """Add a job on these hosts; the hosts that had none."""
    first = mask & ~layers[0] if layers else mask
    for number, layer in enumerate(layers):
        layers[number], mask = layer | mask, layer & mask
        if not mask:
            return first
    layers.append(mask)
    return first


def _removed(layers: list[int], mask: int) -> int:
    """Remove a job from these hosts; the hosts that have none then."""
    last = 0
    for number in range(len(layers) - 1, -1, -1):
        last = layers[number] & mask
        layers[number] ^= last
        mask ^= last
    while layers and not layers[-1]:
        layers.pop()
    return last


def share_hosts(stays: Iterable[Stay]) -> bool:
    """Whether two jobs had one host at the same time, for longer than times are rounded.

    >>> share_hosts([(0.0, 10.0, "0-1"), (10.0, 20.0, "1-3")]), share_hosts([(0.0, 10.0, "0-1"), (5.0, 20.0, "1-3")])
    (False, True)
    """
    given = [stay for stay in stays if stay[1] > stay[0] + ROUNDED]
    masks = _Bits({hosts for _, _, hosts in given}).masks
    events = [(start + ROUNDED, 1, hosts) for start, _, hosts in given]
    events += [(finish, 0, hosts) for _, finish, hosts in given]
    busy = 0
    for _, is_start, allocated in sorted(events):
        hosts = masks[allocated]
        if is_start:
            if busy & hosts:
                return True
            busy |= hosts
        else:
            busy &= ~hosts
    return False


class _Bits:
    """Host sets as the bits of numbers: a bit for hosts that are always together, so that numbers are not long.

    Attributes:
        masks: the bits of each host set.
    """

    def __init__(self, host_sets: Iterable[str]) -> None:
        parts: dict[str, list[tuple[int, int]]] = {}
        for text in host_sets:
            pairs = (part.partition("-") for part in text.split())
            parts[text] = [(int(first), int(last or first) + 1) for first, _, last in pairs]
        self._edges = sorted({edge for intervals in parts.values() for interval in intervals for edge in interval})
        self._widths: dict[int, int] = {}
        self.masks = dict.fromkeys(parts, 0)
        for text, intervals in parts.items():
            for first, after in intervals:
                low, high = bisect_left(self._edges, first), bisect_left(self._edges, after)
                self.masks[text] |= ((1 << (high - low)) - 1) << low
            self._widths[self.masks[text]] = sum(after - first for first, after in intervals)

    def width(self, mask: int) -> int:
        """The number of hosts of these bits."""
        found = self._widths.get(mask)
        if found is None:
            found, rest, edges = 0, mask, self._edges
            while rest:
                low = (rest & -rest).bit_length() - 1
                run = ((rest >> low) + 1 & ~(rest >> low)).bit_length() - 1  # so many bits follow each other
                found += edges[low + run] - edges[low]
                rest &= rest + (1 << low)  # without this run
        return found


# Amounts


class Allocated(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The amounts that a job takes of each of its hosts, from its start to its end.

    Args:
        job_id: the job, by its full name.
        first_id: the name under which the job was submitted first; another one than `job_id` after a preemption.
        starting_time: when the scheduler started it, in seconds.
        partition: the partition that it runs in; "" without partitions.
        hosts: its host set.
        cores: the cores that it takes of each host; 0 if it has whole hosts.
        memory: the bytes of memory that it takes of each host; 0 if it has whole hosts.
        gres: the generic resources that it takes of each host; empty if it has whole hosts.
        whole: whether it has its hosts for itself, with all that they have.
        held: the hosts that it holds by their cores: the sum over its hosts of the cores that it takes / the cores of
            the host; the number of its hosts if it has whole hosts. None if it is not known.
        memory_share: the share of the memory of all hosts of the machine that it holds, in [0, 1]: all memory of its
            hosts if it has whole hosts. None if memory is not given out, or a host does not say how much it has.
        gpu_share: the same for GPUs, the generic resources named `gpu` of any type; None if no host has one.

    >>> Allocated(job_id="w0!1", first_id="w0!1", starting_time=0.0, hosts="0-1", cores=4).cores
    4
    """

    job_id: str
    first_id: str
    starting_time: float
    partition: str = ""
    hosts: str
    cores: int = 0
    memory: int = 0
    gres: tuple[Gres, ...] = ()
    whole: bool = False
    held: float | None = None
    memory_share: float | None = None
    gpu_share: float | None = None

    @property
    def share(self) -> float | None:
        """The share of its hosts that it has, in ]0, 1[; None if it has whole hosts, or that is not known."""
        count = sum(int(last or first) - int(first) + 1 for first, _, last in map(_ends, self.hosts.split()))
        return self.held / count if not self.whole and self.held is not None and 0 < self.held < count else None


def _ends(interval: str) -> tuple[str, str, str]:
    return interval.partition("-")


# Attempts

ENDS: Final[dict[str, str]] = {
    "completed": "It ran to its end, successfully or not.",
    "walltime": "Its walltime, or the time limit of its partition, was over.",
    "failure": "One of its hosts failed.",
    "window": "A window began on one of its hosts, or the one that it ran in was over.",
    "preempted": "It gave way to another job.",
    "interrupted": "It waits for a better time of a trace.",
    "killed": "Another decision killed it.",
}
"""The ends of attempts, each with its meaning."""


class AttemptReport(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run of a job that ended early, or that is not its only one, or in which it takes checkpoints.

    A job that is submitted as `w0!7` runs again as `again!w0-7~1`. With checkpoints, it runs as `again!w0-7~0` at
    first, and `w0!7` is rejected. Each attempt has a row of its own in Batsim's `jobs.csv`, which these ids join.

    The seconds of the attempt are those of `work`, `checkpoints`, `restart` and `lost` together.

    Args:
        job_id: the attempt, by its full name.
        first_id: the name under which the job was submitted.
        number: how often the job had run before.
        starting_time: when the scheduler started it, in seconds.
        finish_time: when the scheduler saw its end, in seconds.
        end: why it ended: a key of `ENDS`.
        next_id: the next attempt; "": there is none. After an end of another kind than `completed` and `walltime`, the
            job is then lost, or given up.
        work: the seconds of work that count: all work if it has completed, or else what checkpoints kept.
        checkpoints: the seconds in which checkpoints were taken.
        restart: the seconds that it needed to start again, as for reading its last checkpoint.
        lost: the seconds of work that were lost.

    >>> ended = {"starting_time": 0.0, "finish_time": 9.0, "end": "failure", "lost": 9.0}
    >>> AttemptReport(job_id="w0!1", first_id="w0!1", number=0, **ended).lost
    9.0
    """

    job_id: str
    first_id: str
    number: int
    starting_time: float
    finish_time: float
    end: str
    next_id: str = ""
    work: float = 0.0
    checkpoints: float = 0.0
    restart: float = 0.0
    lost: float = 0.0


# Ids of jobs that run again

RERUN_WORKLOAD: Final = "again"
"""The name of the workload of jobs that run again."""

_RERUN = re.compile(rf"{RERUN_WORKLOAD}!(.+)~([0-9]{{1,9}})", re.ASCII | re.DOTALL)


def rerun_id(first: str, number: int) -> str:
    """The id of a later run of a job.

    Args:
        first: its id when it was submitted.
        number: how often it has run before, >= 1.

    >>> rerun_id("w0!7", 1)
    'again!w0-7~1'
    """
    return f"{RERUN_WORKLOAD}!{first.replace('!', '-')}~{number}"


def submitted_id(job_id: str) -> tuple[str, int] | None:
    """The first id of a job that runs again, with `-` for `!`, and how often it ran before; None: it is a first run.

    >>> submitted_id("again!w0-7~1"), submitted_id("w0!7")
    (('w0-7', 1), None)
    """
    found = _RERUN.fullmatch(job_id)
    return None if found is None else (found[1], int(found[2]))
