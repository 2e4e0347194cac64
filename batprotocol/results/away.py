"""Which hosts were away, and when: from the events of hosts of a run, as the scheduler took them.

Bad events have no effect, as for built-in policies. This module must not know metrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from batprotocol.errors import InputError
from batprotocol.model.hosts import parse_hosts
from batprotocol.workloads.events import ExternalEventList
from batprotocol.workloads.host_events import HostChange, HostEvent, HostStates, Window, read_host_event

__all__ = ["HostDowntime", "TimedHostEvent", "host_downtime", "host_events_of"]

TimedHostEvent: TypeAlias = tuple[float, HostEvent | Window]
"""The time of an event in seconds, and the event."""

_DOWN: Final = 1
_DRAINED: Final = 2
_CLOSED: Final = 4
_UNABLE: Final = _DOWN | _CLOSED
"""The reasons for which a host is away, as bits; and those for which no job can run there."""
_ROUNDED: Final = 1e-6
"""jobs.csv has six decimals, so that a job may seem to end shortly before the event that ended it."""


def _table(cleared: int, added: int) -> bytes:
    return bytes((state & ~cleared | added) & 0xFF for state in range(256))


_END, _CHANGE, _BEGIN, _LOOK = range(4)
"""The changes at one time come in this order."""
_CHANGES: Final = {
    HostChange.DOWN: _table(_DRAINED, _DOWN),
    HostChange.DRAIN: _table(0, _DRAINED),
    HostChange.UP: _table(_DOWN | _DRAINED, 0),
}
_CLOSES: Final = {_BEGIN: _table(0, _CLOSED), _END: _table(_CLOSED, 0)}
_IS_UNABLE: Final = bytes(bool(state & _UNABLE) for state in range(256))


class HostDowntime(NamedTuple):
    """The hosts that were away.

    Attributes:
        steps: from each time on, the number of hosts that are away, and of those on which no job can run: drained hosts
            are away, and run their jobs to the ends.
        victims: the killed jobs that had a host on which no job could run any more.
    """

    steps: list[tuple[float, int, int]]
    victims: frozenset[str]

    def area(self, begin: float, end: float) -> tuple[float, float]:
        """The host-seconds away between two times, and those in which no job could run."""
        parts = [
            (steps[1], steps[2], min(until, end) - max(steps[0], begin))
            for steps, (until, _, _) in pairwise([*self.steps, (math.inf, 0, 0)])
            if steps[0] < end and until > begin
        ]
        return math.fsum(away * time for away, _, time in parts), math.fsum(unable * time for _, unable, time in parts)

    def complete(self, begin: float, end: float) -> float:
        """The seconds between two times in which no host was away."""
        return (end - begin) - math.fsum(
            min(until, end) - max(since, begin)
            for (since, away, _), (until, _, _) in pairwise([*self.steps, (math.inf, 0, 0)])
            if away and since < end and until > begin
        )


def host_events_of(lists: Iterable[ExternalEventList]) -> Iterator[TimedHostEvent]:
    """The events of hosts among external events, by their times. Those that cannot be read are left out.

    >>> events = ExternalEventList.of([(9.0, "the cooling fails"), (5.0, '{"hosts": "0", "state": "down"}')])
    >>> [(time, event.state.value) for time, event in host_events_of([events])]
    [(5.0, 'down')]
    """
    for timed in sorted((event for each in lists for event in each.events), key=_timestamp):
        try:
            event = read_host_event(timed.data)
        except InputError:
            continue
        if event is not None:
            yield timed.timestamp, event


def _timestamp(event: tuple[float, str, str]) -> float:
    return event[0]


def host_downtime(
    events: Iterable[TimedHostEvent], host_count: int, killed: Mapping[str, tuple[float, str]] | None = None
) -> HostDowntime:
    """The hosts that were away, by events.

    Args:
        events: the events, by their times.
        host_count: the number of hosts.
        killed: the time of the end, and the hosts, of each killed job by its name.
    """
    changes: list[tuple[float, int, int, object]] = []
    known = HostStates(host_count)
    for time, event in events:
        try:
            known.take(time, event)
        except InputError:
            continue
        place = len(changes)
        if isinstance(event, HostEvent):
            changes.append((time, _CHANGE, place, event))
        elif event.is_closed:
            changes += [(event.begin, _BEGIN, place, event), (event.end, _END, place, event)]
    changes += [(end + _ROUNDED, _LOOK, 0, name) for name, (end, _) in (killed or {}).items()] if changes else []
    changes.sort(key=_order)
    states = bytearray(host_count)
    steps: list[tuple[float, int, int]] = [(-math.inf, 0, 0)]
    victims = set()
    for time, kind, _, what in changes:
        if kind == _LOOK:
            assert killed is not None
            assert isinstance(what, str)
            if any(states[host : host + 1].translate(_IS_UNABLE) == b"\1" for host in parse_hosts(killed[what][1])):
                victims.add(what)
            continue
        assert isinstance(what, HostEvent | Window)
        table = _CHANGES[what.state] if isinstance(what, HostEvent) else _CLOSES[kind]
        _, away, unable = steps[-1]
        for first, last in what.hosts.intervals:
            part = states[first : last + 1]
            changed = part.translate(table)
            away += part.count(0) - changed.count(0)
            unable += changed.translate(_IS_UNABLE).count(1) - part.translate(_IS_UNABLE).count(1)
            states[first : last + 1] = changed
        if steps[-1][0] == time:
            steps.pop()
        steps.append((time, away, unable))
    return HostDowntime(steps, frozenset(victims))


def _order(changes: tuple[float, int, int, object]) -> tuple[float, int, int]:
    return changes[:3]
