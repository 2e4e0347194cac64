"""When the dependencies of jobs are satisfied, and which can never be: decided from what happens to the jobs they name.

`Dependencies` is a state machine without a clock: its owner reports submissions, starts and ends, and asks. A job whose
dependency can never be satisfied gets a sentence with the chain of jobs that leads there.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from batprotocol.model import FinalJobState
from batprotocol.workloads.requests.circles import circle_through, circles_among
from batprotocol.workloads.requests.dependencies import Condition, Dependency, full_id, in_workload_of
from batprotocol.workloads.requests.request import Request

__all__ = ["Dependencies", "Verdict"]

_LONGEST_CHAIN: Final = 20
_Single: TypeAlias = tuple[object, object]
"""A name and a user."""
_Node: TypeAlias = str | tuple[_Single, int]
"""A job, or a place in the row of the jobs of a name and user."""
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


class _NamedJobs:
    """The jobs of a name and user, in the order of their submission."""

    __slots__ = ("done", "jobs", "since", "waiting")

    def __init__(self) -> None:
        self.jobs: list[str] = []
        self.waiting: list[int] = []  # the places of those whose dependency has `singleton`
        self.done = 0  # the number of jobs at the beginning that have ended
        self.since = -math.inf  # the time by which these had ended


class _DependentJob:
    """A job that was submitted, and all that happened to it."""

    __slots__ = ("circle", "ended", "id", "place", "request", "row", "since", "started", "state", "why")

    def __init__(self, id: str, request: Request, since: float) -> None:
        self.id = id
        self.request = request
        self.since = since
        self.started = self.ended = math.inf
        self.state: FinalJobState | None = None
        self.why = ""
        self.circle: list[str] = []
        self.row: _NamedJobs | None = None  # None: the job has no name
        self.place = 0  # the number of earlier jobs in the row

    @property
    def waits(self) -> bool:
        """Whether it has neither started nor ended."""
        return self.state is None and self.started == math.inf

    @property
    def must_wait(self) -> bool:
        """Whether it waits until all that its dependency names has happened."""
        dependency = self.request.dependency
        return self.waits and dependency is not None and (dependency.needs_all or len(dependency.conditions) == 1)

    @property
    def is_open(self) -> bool:
        """Whether it waits for one of several conditions, as far as is known."""
        return self.waits and not self.circle and self.request.dependency is not None and not self.must_wait


_OPEN: Final = Verdict(math.inf)


class Dependencies:
    """The jobs of a simulation, as far as others depend on them.

    >>> from batprotocol.workloads.requests import read_request
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
        self._jobs: dict[str, _DependentJob] = {}
        self._arrays: dict[str, dict[int, str]] = {}
        self._named: dict[str, dict[str, None]] = {}  # the ids that jobs name, with those that name them
        self._rows: dict[_Single, _NamedJobs] = {}
        self._closed = False

    def submitted(self, job_id: str, request: Request, time: float) -> list[str]:
        """A job is submitted.

        Returns:
            The jobs whose verdicts may have changed, in the order in which they were submitted.
        """
        job = self._jobs[job_id] = _DependentJob(job_id, request, time)
        if request.array is not None:
            self._arrays.setdefault(in_workload_of(job_id, request.array.array), {})[request.array.task] = job_id
        if request.dependency is not None:
            for condition in request.dependency.conditions:
                if condition.kind != "singleton":
                    self._named.setdefault(full_id(condition.job, job_id), {})[job_id] = None
        if request.name is not None:
            self._join_row(job)
        circle: list[str] = []
        if any(name in self._named for name in _names(job)):  # only then can the job close a circle
            circle = self._close(circle_through(job_id, self._after, self._before))
        return list(dict.fromkeys([*self._dependents(job), *circle[1:]]))

    def _join_row(self, job: _DependentJob) -> None:
        row = job.row = self._rows.setdefault(_single(job.request), _NamedJobs())
        job.place = len(row.jobs)
        row.jobs.append(job.id)
        dependency = job.request.dependency
        if dependency is not None and any(condition.kind == "singleton" for condition in dependency.conditions):
            row.waiting.append(job.place)

    def no_more(self) -> list[str]:
        """All jobs are submitted: a job that was named and never submitted will not be.

        Returns:
            The jobs that may name others which were never submitted, and those that wait for themselves.
        """
        self._closed = True
        missing = [name for name in self._named if name in self._arrays or not self._found(name)]
        return [*(one for name in missing for one in self._named[name]), *self.stuck()]

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
        found = self._dependents(job) + self._next_in_row(job)
        if self._closed:  # where one of several conditions cannot hold any more, the others may be a circle
            for one in found:
                if self._jobs[one].is_open and self._lacks(self._jobs[one]):
                    found += self._close_all(self._reached(one))
        return found

    def _next_in_row(self, job: _DependentJob) -> list[str]:
        """The job whose `singleton` is satisfied by the end of a job."""
        row = job.row
        if row is None or job.place != row.done:
            return []
        while row.done < len(row.jobs) and self._jobs[row.jobs[row.done]].state is not None:
            row.since = max(row.since, self._jobs[row.jobs[row.done]].ended)
            row.done += 1
        place = bisect_left(row.waiting, row.done)
        return [row.jobs[row.done]] if place < len(row.waiting) and row.waiting[place] == row.done else []

    def _dependents(self, job: _DependentJob) -> list[str]:
        found = dict.fromkeys(one for name in _names(job) for one in self._named.get(name, ()))
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

    def _one(self, condition: Condition, job: _DependentJob) -> Verdict:
        if condition.kind == "singleton":
            return self._singleton(job)
        name = full_id(condition.job, job.id)
        ids = self._ids(condition, job)
        if not ids:
            if name in self._arrays and job.request.array is not None:
                name = f"task {job.request.array.task} of {name}"
            return Verdict(math.inf, f"it waits for {name}, which was never submitted") if self._closed else _OPEN
        verdicts = [self._of(condition, self._jobs[one]) for one in ids]
        never = next((each.never for each in verdicts if each.never is not None), None)
        return Verdict(max(each.since for each in verdicts), never)

    def _of(self, condition: Condition, named: _DependentJob) -> Verdict:
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

    def _singleton(self, job: _DependentJob) -> Verdict:
        row = job.row
        if row is None:  # no other job has the same name
            return Verdict(job.since)
        return Verdict(max(job.since, row.since)) if row.done >= job.place else _OPEN

    def named(self, job_id: str) -> Iterator[tuple[str, str]]:
        """The submitted jobs that the dependency of a job names, each after the kind of its condition.

        An array stands for its tasks, and `singleton` for the last earlier job of the same name and user.
        """
        job = self._jobs[job_id]
        for condition in () if job.request.dependency is None else job.request.dependency.conditions:
            if condition.kind == "singleton":
                ids = [] if job.row is None else job.row.jobs[max(job.place - 1, 0) : job.place]
            else:
                ids = self._ids(condition, job)
            yield from ((condition.kind, one) for one in ids)

    def _ids(self, condition: Condition, job: _DependentJob) -> list[str]:
        """The jobs that a condition names, which were submitted."""
        name = full_id(condition.job, job.id)
        return self._corresponding(name, job) if condition.kind == "aftercorr" else self._found(name)

    def _corresponding(self, name: str, job: _DependentJob) -> list[str]:
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

    # Circles

    def _links(self, job: _DependentJob) -> Iterator[_Node]:
        """Jobs that a job waits for, if all of them must end or start, and places in the row of a name and user."""
        if job.must_wait and job.request.dependency is not None:
            for condition in job.request.dependency.conditions:
                yield from self._nodes(condition, job)

    def _nodes(self, condition: Condition, job: _DependentJob) -> Iterable[_Node]:
        if condition.kind != "singleton":
            return self._ids(condition, job)
        return [(_single(job.request), job.place)] if job.row is not None else []

    def _after(self, node: _Node) -> Iterator[_Node]:
        """The nodes that a job waits for, or that must end before all jobs up to a place in a row have ended."""
        if isinstance(node, str):
            yield from self._links(self._jobs[node])
        else:
            single, place = node
            row = self._rows[single]
            if place > row.done:
                yield row.jobs[place - 1]
                yield single, place - 1

    def _before(self, node: _Node) -> Iterator[_Node]:
        """The jobs that wait for a job, if it must end or start for that; and a row's jobs with `singleton`."""
        if not isinstance(node, str):
            single, number = node
            places = self._rows[single].waiting
            if number < len(places):
                job = self._jobs[self._rows[single].jobs[places[number]]]
                if job.must_wait:
                    yield job.id
                yield single, number + 1
            return
        job = self._jobs[node]
        for name in _names(job):
            for one in self._named.get(name, ()):
                other = self._jobs[one]
                if other.must_wait and (name == node or node in self._links(other)):
                    yield one
        if job.row is not None:
            yield _single(job.request), bisect_right(job.row.waiting, job.place)

    def _close(self, circle: list[_Node]) -> list[str]:
        """The jobs of a circle wait for themselves."""
        jobs = [node for node in circle if isinstance(node, str)]
        for place, one in enumerate(jobs):
            self._jobs[one].circle = _shortened([*jobs[place:], *jobs[:place], one])
        return jobs

    def stuck(self) -> list[str]:
        """Jobs that wait for themselves if no more jobs are submitted, also where each could wait for one of several.

        Their verdicts say so from now on.
        """
        rows = ((single, place) for single, row in self._rows.items() for place in range(row.done + 1, len(row.jobs)))
        return self._close_all([*self._jobs, *rows])

    def _close_all(self, nodes: Iterable[_Node]) -> list[str]:
        """Close the circles among nodes, which need no others; returns the jobs on them."""
        needs: dict[_Node, tuple[list[list[_Node]], bool]] = {}
        for node in nodes:
            if not isinstance(node, str):
                needs[node] = [list(self._after(node))], True
                continue
            job = self._jobs[node]
            groups = self._groups(job)
            if groups:
                needs[node] = groups, job.must_wait
        return [one for circle in circles_among(needs) for one in self._close(circle)]

    def _groups(self, job: _DependentJob) -> list[list[_Node]]:
        """The nodes of each condition that a job waits for; none if its verdict is clear."""
        dependency = job.request.dependency
        if dependency is None or not job.waits or job.circle or self.verdict(job.id).never is not None:
            return []
        possible = [each for each in dependency.conditions if self._one(each, job).never is None]
        return [list(self._nodes(condition, job)) for condition in possible]

    def _lacks(self, job: _DependentJob) -> bool:
        """Whether some of the conditions that a job waits for can never hold."""
        dependency = job.request.dependency
        return dependency is not None and any(self._one(each, job).never is not None for each in dependency.conditions)

    def _reached(self, job_id: str) -> list[_Node]:
        """A job and the nodes that it waits for, directly or not."""
        found: dict[_Node, None] = {job_id: None}
        waiting: list[_Node] = [job_id]
        while waiting:
            node = waiting.pop()
            groups = self._groups(self._jobs[node]) if isinstance(node, str) else [list(self._after(node))]
            for each in (one for group in groups for one in group if one not in found):
                found[each] = None
                waiting.append(each)
        return list(found)


def _together(dependency: Dependency, verdicts: list[Verdict], since: float) -> Verdict:
    nevers = [each.never for each in verdicts if each.never is not None]
    if dependency.needs_all:
        if nevers:
            return Verdict(math.inf, nevers[0])
        return Verdict(max(since, *(each.since for each in verdicts)))
    if len(nevers) == len(verdicts):
        return Verdict(math.inf, nevers[0])
    return Verdict(max(since, min(each.since for each in verdicts)))


def _names(job: _DependentJob) -> list[str]:
    """The names by which other jobs can mean a job: its id, and that of its array."""
    if job.request.array is None:
        return [job.id]
    return [job.id, in_workload_of(job.id, job.request.array.array)]


def _shortened(chain: list[str]) -> list[str]:
    return chain if len(chain) <= _LONGEST_CHAIN else [*chain[: _LONGEST_CHAIN - 1], "...", chain[-1]]


def _single(request: Request) -> _Single:
    return request.name, request.user
