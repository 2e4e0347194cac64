"""Events of hosts for a simulation, of the windows in which a log shows hosts down or lent.

It must not know how events are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from batprotocol._util.tables import LeftOut
from batprotocol.model.hosts import frozen_hosts
from batprotocol.sites.logs.windows import HostWindow
from batprotocol.workloads.host_events import HostChange, HostEvent, Window

__all__ = ["events_of"]

NOT_HERE: Final = "a host that was down or lent is not on the platform"
NO_USERS: Final = "a reservation of which the log does not have the users"
TWICE: Final = "a host was lent to two reservations at the same time: it counts for the first one"
TOO_LONG: Final = "a reservation with a name that events cannot have"
_LONGEST_NAME: Final = 1_000

Timed = tuple[float, HostEvent | Window]


def events_of(windows: Iterable[HostWindow], numbers: Mapping[str, int], left_out: LeftOut) -> list[Timed]:
    """Events with their times, in seconds of the workload, in order.

    Hosts fail at the begin of a window in which they were down, and come back at its end. A reservation is announced
    when the first of its jobs was submitted. It is for the users of its jobs, and lasts for as long as their time
    limits, as a resource manager starts no job in a reservation that ends before.

    Args:
        windows: what `windows_of` found.
        numbers: the numbers of the hosts of the platform, by their names.
        left_out: where hosts and reservations are counted that cannot become events.

    >>> down = HostWindow(hosts=("a", "b"), begin=5.0, end=9.0, why="it failed")
    >>> [(time, event.to_data()) for time, event in events_of([down], {"a": 0, "b": 1}, LeftOut())]
    [(5.0, '{"hosts":"0-1","state":"down","reason":"it failed"}'), (9.0, '{"hosts":"0-1","state":"up"}')]
    """
    down, lent = list[tuple[HostWindow, frozenset[int]]](), list[tuple[HostWindow, frozenset[int]]]()
    for window in windows:
        known = frozenset(numbers[name] for name in window.hosts if name in numbers)
        if len(known) < len(window.hosts):
            left_out.value(NOT_HERE, window.line)
        if known and (window.end is None or window.end > 0):
            (down if window.reservation is None else lent).append((window, known))
    return sorted([*_failures(down), *_reservations(lent, left_out)], key=_order)


def _order(timed: Timed) -> tuple[float, bool]:
    """By time; hosts come back before others fail."""
    return timed[0], isinstance(timed[1], HostEvent) and timed[1].state is HostChange.DOWN


def _failures(windows: Iterable[tuple[HostWindow, frozenset[int]]]) -> Iterator[Timed]:
    """Failures and repairs: windows of one host that meet are one."""
    spans: dict[int, list[tuple[float, float | None, str]]] = {}
    for window, hosts in sorted(windows, key=lambda pair: pair[0].begin):
        begin = max(window.begin, 0.0)
        for host in hosts:
            known = spans.setdefault(host, [])
            if not known or (known[-1][1] is not None and known[-1][1] < begin):
                known.append((begin, window.end, window.why))
                continue
            first, last, why = known[-1]
            known[-1] = (first, None if last is None or window.end is None else max(last, window.end), why)
    changes: dict[tuple[float, HostChange, str], list[int]] = {}
    for host, found in spans.items():
        for begin, end, why in found:
            changes.setdefault((begin, HostChange.DOWN, why), []).append(host)
            if end is not None:
                changes.setdefault((end, HostChange.UP, ""), []).append(host)
    for (time, change, why), hosts_of in changes.items():
        yield time, HostEvent(frozen_hosts(hosts_of), change, why)


def _reservations(windows: Sequence[tuple[HostWindow, frozenset[int]]], left_out: LeftOut) -> Iterator[Timed]:
    """The windows of reservations, which must not overlap on a host."""
    ordered = sorted(windows, key=lambda pair: pair[0].begin)
    taken: list[tuple[float, frozenset[int]]] = []
    for place, (window, hosts) in enumerate(ordered):
        begin, end, name = max(window.begin, 0.0), window.end, window.reservation
        taken = [each for each in taken if each[0] > begin]
        free = hosts.difference(*(others for _, others in taken))
        if len(free) < len(hosts):
            left_out.value(TWICE, window.line)
        if not window.users:
            left_out.value(NO_USERS, window.line)
        if name is None or len(name) > _LONGEST_NAME:
            left_out.value(TOO_LONG, window.line)
        elif free and window.users and end is not None:
            last = max(end, window.limit or end)
            for other, names in ordered[place + 1 :]:
                if other.begin >= last:
                    break
                if not free.isdisjoint(names):
                    last = max(end, other.begin)
            taken.append((last, free))
            known = min(max(window.known or 0.0, 0.0), begin)
            yield known, Window(frozen_hosts(free), begin, last, name, window.users)
