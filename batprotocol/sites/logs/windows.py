"""Hosts that a log shows down or lent: windows of time in which jobs could not have them.

A job that ended because a host failed shows that one of its hosts was down, and not which one. So all of its hosts
count as down until another job starts on them. The jobs of a reservation show which hosts were lent, and when. The
module must not know simulations.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from math import inf
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.sites.logs.jobs import Attempt, JobState, LoggedJob
from batprotocol.sites.logs.runs import seconds_between

__all__ = ["HostWindow", "windows_json", "windows_of"]

DOWN: Final = "a job ended because a host failed"
_DAY: Final = 86_400.0
"""If no job of a reservation runs for longer, the next one begins another window."""
_FAILURES: Final = frozenset([JobState.NODE_FAIL, JobState.BOOT_FAIL])


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

    >>> failed = Attempt(submitted=0, started=10, ended=20, state=JobState.NODE_FAIL, hosts=("a", "b"))
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
