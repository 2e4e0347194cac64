"""Hosts that a log shows down or lent: windows of time in which jobs could not have them.

A job that ended because a host failed shows that one of its hosts was down, and not which one. So all of its hosts
count as down until another job starts on them. The jobs of a reservation show which hosts were lent, and when.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol.model.hosts import frozen_hosts
from batprotocol.sites.logs.jobs import Attempt, AttemptState, LoggedJob, seconds_between
from batprotocol.workloads.host_events import HostChange, HostEvent, Window

__all__ = [
    "HostWindow",
    "events_of",
    "windows_json",
    "windows_of",
]


DOWN: Final = "a job ended because a host failed"
_DAY: Final = 86_400.0
"""If no job of a reservation runs for longer, the next one begins another window."""
_FAILURES: Final = frozenset([AttemptState.NODE_FAIL, AttemptState.BOOT_FAIL])


class HostWindow(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts that jobs could not have for some time.

    Attributes:
        hosts: their names.
        begin: the begin, in seconds of the workload.
        end: the end; None: they are not used again until the end of the log.
        why: the reason, as the end of a sentence.
        reservation: the reservation that they were lent to; None: they were down.
        users: the users of the jobs of the reservation.
        known: when the first of these jobs was submitted.
        limit: when the last of these jobs had to end by its time limit.
        line: the line of the first job that shows it.
    """

    hosts: tuple[str, ...]
    begin: float
    end: float | None
    why: str
    reservation: str | None = None
    users: tuple[str, ...] = ()
    known: float | None = None
    limit: float | None = None
    line: int = 0


def windows_of(jobs: Iterable[LoggedJob], origin: float) -> list[HostWindow]:
    """The windows of a log, by their begin.

    Args:
        jobs: the jobs, which are read twice: no iterator.
        origin: time 0 of the workload, in seconds since 1970 (UTC).

    >>> failed = Attempt(submitted=0, started=10, ended=20, state=AttemptState.NODE_FAIL, hosts=("a", "b"))
    >>> after = Attempt(submitted=0, started=90, ended=99, hosts=("b",))
    >>> jobs = [LoggedJob(id="1", attempts=(failed,)), LoggedJob(id="2", attempts=(after,))]
    >>> [(window.hosts, window.begin, window.end) for window in windows_of(jobs, 0.0)]
    [(('a',), 20.0, None), (('b',), 20.0, 90.0)]
    """
    found = [*_down(jobs, origin), *_lent(jobs, origin)]
    return sorted(found, key=lambda window: (window.begin, window.hosts))


def _attempts(jobs: Iterable[LoggedJob]) -> Iterator[tuple[LoggedJob, Attempt]]:
    return ((job, attempt) for job in jobs for attempt in job.attempts if attempt.started is not None and attempt.hosts)


def _down(jobs: Iterable[LoggedJob], origin: float) -> Iterator[HostWindow]:
    failures: dict[str, dict[float, int]] = {}
    for job, attempt in _attempts(jobs):
        if attempt.state in _FAILURES and attempt.ended is not None:
            for host in attempt.hosts:
                failures.setdefault(host, {}).setdefault(attempt.ended, job.line)
    starts = {host: array("d") for host in failures}
    for _, attempt in _attempts(jobs) if failures else ():
        for host in attempt.hosts:
            if host in starts and attempt.started is not None:
                starts[host].append(attempt.started)
    together: dict[tuple[float, float], tuple[list[str], int]] = {}
    for host, ends in failures.items():
        uses = sorted(starts[host])
        for begin, line in ends.items():
            place = bisect_left(uses, begin)
            end = uses[place] if place < len(uses) else inf
            if end > begin:
                together.setdefault((begin, end), ([], line))[0].append(host)
    for (begin, end), (hosts, line) in together.items():
        last = None if end == inf else seconds_between(origin, end)
        first = seconds_between(origin, begin)
        yield HostWindow(hosts=tuple(sorted(hosts)), begin=first, end=last, why=DOWN, line=line)


class _Use(NamedTuple):
    """A job of a reservation: when and where it ran, and when it had to end."""

    started: float
    ended: float
    hosts: tuple[str, ...]
    line: int
    submitted: float
    limit: float
    user: str


def _lent(jobs: Iterable[LoggedJob], origin: float) -> Iterator[HostWindow]:
    uses: dict[str, list[_Use]] = {}
    for job, attempt in _attempts(jobs):
        if job.reservation and attempt.started is not None and attempt.ended is not None:
            limit = max(attempt.ended, attempt.started + attempt.suspended + (job.walltime or 0.0))
            times = attempt.started, attempt.ended, attempt.hosts, job.line, attempt.submitted, limit
            uses.setdefault(job.reservation, []).append(_Use(*times, job.user or ""))
    for name, given in uses.items():
        together: list[_Use] = []
        end = -inf
        for use in sorted(given):
            if together and use.started > end + _DAY:
                yield _window(name, together, origin)
                together, end = [], -inf
            together.append(use)
            end = max(end, use.ended)
        yield _window(name, together, origin)


def _window(name: str, uses: list[_Use], origin: float) -> HostWindow:
    """The window of the jobs of a reservation that followed one another."""
    return HostWindow(
        hosts=tuple(sorted({host for use in uses for host in use.hosts})),
        begin=seconds_between(origin, uses[0].started),
        end=seconds_between(origin, max(use.ended for use in uses)),
        why=f"they were lent to the reservation {name}",
        reservation=name,
        users=tuple(sorted({use.user for use in uses if use.user})),
        known=seconds_between(origin, min(use.submitted for use in uses)),
        limit=seconds_between(origin, max(use.limit for use in uses)),
        line=min(use.line for use in uses),
    )


def windows_json(windows: Iterable[HostWindow]) -> list[dict[str, Any]]:
    """Windows as values of JSON."""
    return [msgspec.to_builtins(window) for window in windows]


# Events of hosts for a simulation


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
