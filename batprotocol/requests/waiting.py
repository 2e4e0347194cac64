"""When the dependencies of jobs are satisfied, and which can never be: decided from what happens to the jobs they name.

`Dependencies` is a state machine without a clock: its owner reports submissions, starts and ends, and asks. A job whose
dependency can never be satisfied gets a sentence with the chain of jobs that leads there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from batprotocol.model import FinalJobState
from batprotocol.requests.dependencies import Condition, Dependency, full_id, in_workload_of
from batprotocol.requests.request import Request

__all__ = ["Dependencies", "Verdict"]

_LONGEST_CHAIN: Final = 20
_SHORT: Final = {
    FinalJobState.COMPLETED_SUCCESSFULLY: "succeeded",
    FinalJobState.COMPLETED_FAILED: "failed",
    FinalJobState.COMPLETED_WALLTIME_REACHED: "reached its walltime",
    FinalJobState.COMPLETED_KILLED: "was killed",
    FinalJobState.REJECTED: "was rejected",
}


class Verdict(NamedTuple):
    """Whether the dependency of a job is satisfied.

    Attributes:
        since: the moment from which on it is, in seconds; infinity while it is open.
        never: why it can never be, as a clause; None while it can.
    """

    since: float
    never: str | None = None


class _Job:
    """What is known of a job that was submitted."""

    __slots__ = ("circle", "ended", "id", "place", "request", "since", "started", "state", "why")

    def __init__(self, id: str, request: Request, since: float) -> None:
        self.id = id
        self.request = request
        self.since = since
        self.started = self.ended = math.inf
        self.state: FinalJobState | None = None
        self.why = ""
        self.circle: list[str] = []
        self.place = 0  # the number of earlier jobs of the same name and user


_OPEN: Final = Verdict(math.inf)


class Dependencies:
    """The jobs of a simulation, as far as others depend on them.

    >>> from batprotocol.requests import read_request
    >>> waiting = Dependencies()
    >>> _ = waiting.submitted("w0!1", read_request(None), 0.0)
    >>> _ = waiting.submitted("w0!2", read_request('{"dependency": "afterok:1"}'), 0.0)
    >>> waiting.verdict("w0!2").since
    inf
    >>> waiting.ended("w0!1", FinalJobState.COMPLETED_FAILED, 7.0)
    ['w0!2']
    >>> waiting.verdict("w0!2").never
    'it waits for w0!1 to succeed, which failed'
    """

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}
        self._arrays: dict[str, dict[int, str]] = {}
        self._named: dict[str, dict[str, None]] = {}  # the ids that jobs name, with those that name them
        self._singles: dict[tuple[object, object], list[str]] = {}
        self._waiting_singles: dict[tuple[object, object], list[str]] = {}  # those whose dependency is `singleton`
        self._closed = False

    def submitted(self, job_id: str, request: Request, time: float) -> list[str]:
        """A job is submitted.

        Returns:
            The jobs whose verdicts may have changed, in the order in which they were submitted.
        """
        job = self._jobs[job_id] = _Job(job_id, request, time)
        if request.array is not None:
            self._arrays.setdefault(in_workload_of(job_id, request.array.array), {})[request.array.task] = job_id
        if request.dependency is not None:
            for condition in request.dependency.conditions:
                if condition.kind == "singleton":
                    self._waiting_singles.setdefault(_single(request), []).append(job_id)
                else:
                    self._named.setdefault(full_id(condition.job, job_id), {})[job_id] = None
        singles = self._singles.setdefault(_single(request), [])
        job.place = len(singles)
        singles.append(job_id)
        if any(name in self._named for name in _names(job)):  # only then can the job close a circle
            circle = self._circle(job_id)
            for place, one in enumerate(circle):
                self._jobs[one].circle = _shortened([*circle[place:], *circle[:place], one])
        return self._dependents(job)

    def no_more(self) -> list[str]:
        """All jobs are submitted: a job that was named and never submitted will not be.

        Returns:
            The jobs that name others which were never submitted.
        """
        self._closed = True
        return [one for name, ones in self._named.items() if not self._found(name) for one in ones]

    def started(self, job_id: str, time: float) -> list[str]:
        """A job starts. Returns the jobs whose verdicts may have changed."""
        job = self._jobs[job_id]
        job.started = time
        return self._dependents(job)

    def ended(self, job_id: str, state: FinalJobState, time: float, why: str = "") -> list[str]:
        """A job ends, or is rejected. Returns the jobs whose verdicts may have changed.

        Args:
            job_id: the job.
            state: how it ended.
            time: when.
            why: for a rejected job the reason, as a clause.
        """
        job = self._jobs[job_id]
        job.ended, job.state, job.why = time, state, why
        return self._dependents(job)

    def _dependents(self, job: _Job) -> list[str]:
        found = dict.fromkeys(one for name in _names(job) for one in self._named.get(name, ()))
        found |= dict.fromkeys(self._waiting_singles.get(_single(job.request), ()))
        return [one for one in found if one != job.id and self._jobs[one].state is None]

    def verdict(self, job_id: str) -> Verdict:
        """Whether the dependency of a job that waits is satisfied."""
        job = self._jobs[job_id]
        dependency = job.request.dependency
        if dependency is None:
            return Verdict(job.since)
        if job.circle:
            return Verdict(math.inf, f"it waits for itself: {' -> '.join(job.circle)}")
        return _together(dependency, [self._one(condition, job) for condition in dependency.conditions], job.since)

    def _one(self, condition: Condition, job: _Job) -> Verdict:
        if condition.kind == "singleton":
            return self._singleton(job)
        name = full_id(condition.job, job.id)
        ids = self._ids(condition, job)
        if not ids:
            return Verdict(math.inf, f"it waits for {name}, which was never submitted") if self._closed else _OPEN
        verdicts = [self._of(condition, self._jobs[one]) for one in ids]
        never = next((each.never for each in verdicts if each.never is not None), None)
        return Verdict(max(each.since for each in verdicts), never)

    def _of(self, condition: Condition, named: _Job) -> Verdict:
        """The verdict of a condition on one job that was submitted."""
        kind, state = condition.kind, named.state
        if kind == "after":
            if named.started < math.inf:
                return Verdict(named.started + condition.delay)
            return _OPEN if state is None else Verdict(named.ended)  # as in Slurm: it started or was cancelled
        if state is None:
            return _OPEN
        if kind == "afterany":
            return Verdict(named.ended)
        succeeded = state is FinalJobState.COMPLETED_SUCCESSFULLY
        if succeeded == (kind != "afternotok"):
            return Verdict(named.ended)
        wanted = "fail" if kind == "afternotok" else "succeed"
        why = f": {named.why}" if named.why else ""
        return Verdict(math.inf, f"it waits for {named.id} to {wanted}, which {_SHORT.get(state, 'ended')}{why}"[:2000])

    def _singleton(self, job: _Job) -> Verdict:
        since = job.since
        for one in self._singles[_single(job.request)]:
            if one == job.id:
                return Verdict(since)
            earlier = self._jobs[one]
            if earlier.state is None:
                return _OPEN
            since = max(since, earlier.ended)
        return Verdict(since)

    def named(self, job_id: str) -> Iterator[tuple[str, str]]:
        """The submitted jobs that the dependency of a job names, each after the kind of its condition.

        An array stands for its tasks, and `singleton` for the last earlier job of the same name and user.
        """
        job = self._jobs[job_id]
        for condition in () if job.request.dependency is None else job.request.dependency.conditions:
            if condition.kind == "singleton":
                ids = self._singles[_single(job.request)][max(job.place - 1, 0) : job.place]
            else:
                ids = self._ids(condition, job)
            yield from ((condition.kind, one) for one in ids)

    def _ids(self, condition: Condition, job: _Job) -> list[str]:
        """The jobs that a condition names, which were submitted."""
        name = full_id(condition.job, job.id)
        return self._corresponding(name, job) if condition.kind == "aftercorr" else self._found(name)

    def _corresponding(self, name: str, job: _Job) -> list[str]:
        tasks = self._arrays.get(name)
        if tasks is None or job.request.array is None:
            return self._found(name)
        one = tasks.get(job.request.array.task)
        return [] if one is None else [one]

    def _found(self, name: str) -> list[str]:
        """The jobs that a name stands for: the job of this id, or the tasks of an array."""
        if name in self._jobs:
            return [name]
        return list(self._arrays.get(name, {}).values())

    def _circle(self, job_id: str) -> list[str]:
        """The jobs on a way from a job back to itself, by conditions that must all hold; empty if there is none."""
        path: list[str] = [job_id]
        ways: list[Iterator[str]] = [self._waited_for(job_id)]
        seen: set[str] = set()
        while ways:
            following = next(ways[-1], None)
            if following is None:
                ways.pop()
                path.pop()
            elif following == job_id:
                return path
            elif following not in seen:
                seen.add(following)
                path.append(following)
                ways.append(self._waited_for(following))
        return []

    def _waited_for(self, job_id: str) -> Iterator[str]:
        job = self._jobs[job_id]
        dependency = job.request.dependency
        if dependency is None or job.state is not None or job.started < math.inf:
            return
        if not dependency.needs_all and len(dependency.conditions) > 1:
            return
        for condition in dependency.conditions:
            if condition.kind != "singleton":
                yield from self._ids(condition, job)


def _together(dependency: Dependency, verdicts: list[Verdict], since: float) -> Verdict:
    nevers = [each.never for each in verdicts if each.never is not None]
    if dependency.needs_all:
        if nevers:
            return Verdict(math.inf, nevers[0])
        return Verdict(max(since, *(each.since for each in verdicts)))
    if len(nevers) == len(verdicts):
        return Verdict(math.inf, nevers[0])
    return Verdict(max(since, min(each.since for each in verdicts)))


def _names(job: _Job) -> list[str]:
    """The names by which other jobs can mean a job: its id, and that of its array."""
    if job.request.array is None:
        return [job.id]
    return [job.id, in_workload_of(job.id, job.request.array.array)]


def _shortened(chain: list[str]) -> list[str]:
    return chain if len(chain) <= _LONGEST_CHAIN else [*chain[: _LONGEST_CHAIN - 1], "...", chain[-1]]


def _single(request: Request) -> tuple[object, object]:
    return request.name, request.user
