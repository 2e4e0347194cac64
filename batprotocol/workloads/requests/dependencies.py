"""Jobs that wait for other jobs: when their dependencies are satisfied, which can never be, and the longest paths.

`Dependencies` is a state machine without a clock: its owner reports submissions, starts and ends, and asks. A job whose
dependency can never be satisfied gets a sentence with the chain of jobs that leads there. All searches are without
recursion. `check_requests` checks the requests of whole workloads before a simulation.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.model import FinalJobState
from batprotocol.workloads.requests.notation import Condition, Dependency, full_id, in_workload_of
from batprotocol.workloads.requests.request import NOTHING, Request, read_request

__all__ = [
    "Dependencies",
    "DependencyVerdict",
    "check_requests",
    "circle_through",
    "circles_among",
    "longest_paths",
]


# Circles

Node = TypeVar("Node", bound=Hashable)


def circle_through(
    node: Node, after: Callable[[Node], Iterable[Node]], before: Callable[[Node], Iterable[Node]]
) -> list[Node]:
    """The nodes on a way from a node back to itself, the node first; empty if there is none.

    It searches from both sides in turns until one side has no more nodes. So it is fast where either side is small.

    Args:
        node: the node.
        after: the nodes to which edges lead from a node.
        before: the nodes from which edges lead to a node.

    >>> edges = {1: [2, 3], 2: [], 3: [1]}
    >>> circle_through(1, lambda one: edges[one], lambda one: [each for each in edges if one in edges[each]])
    [1, 3]
    """
    ways: tuple[dict[Node, Node], dict[Node, Node]] = ({}, {})
    for forward, backward in zip(_reached(node, after, ways[0]), _reached(node, before, ways[1]), strict=False):
        if forward == node:
            return _way(node, ways[0])[::-1]
        if backward == node:
            found = _way(node, ways[1])
            return [node, *found[:-1]]
    return []


def _reached(node: Node, following: Callable[[Node], Iterable[Node]], ways: dict[Node, Node]) -> Iterator[Node]:
    """The nodes to which edges lead from a node, near ones first; `ways` gets the node before each."""
    waiting = deque([node])
    while waiting:
        last = waiting.popleft()
        for each in following(last):
            if each not in ways:
                ways[each] = last
                waiting.append(each)
                yield each


def _way(node: Node, ways: Mapping[Node, Node]) -> list[Node]:
    """The way back from a node to itself, without the node at its beginning."""
    path = [ways[node]]
    while path[-1] != node:
        path.append(ways[path[-1]])
    return path


def circles_among(needs: Mapping[Node, tuple[Sequence[Collection[Node]], bool]]) -> list[list[Node]]:
    """Circles of nodes that can never be had, as each of them needs others that can never be had.

    Args:
        needs: for each node, what it needs: groups of nodes, and whether it needs all groups or one of them. Each node
            of a group is needed. Nodes that are no key can be had.

    Returns:
        Circles without common nodes. Each node that cannot be had leads to one of them.

    >>> circles_among({1: ([[2], [3]], False), 2: ([[1]], True), 3: ([[1]], True)})
    [[1, 2]]
    >>> circles_among({1: ([[2], [4]], False), 2: ([[1]], True)})
    []
    """
    missing: dict[Node, list[int]] = {}
    open_groups: dict[Node, int] = {}
    users: dict[Node, list[tuple[Node, int]]] = {}
    had = deque[Node]()
    for node, (groups, needs_all) in needs.items():
        missing[node] = [0] * len(groups)
        for number, group in enumerate(groups):
            for one in group:
                if one in needs:
                    missing[node][number] += 1
                    users.setdefault(one, []).append((node, number))
        still = sum(count > 0 for count in missing[node])
        open_groups[node] = still if needs_all else int(bool(groups) and still == len(groups))
        if not open_groups[node]:
            had.append(node)
    while had:
        one = had.popleft()
        for node, number in users.get(one, ()):
            missing[node][number] -= 1
            if not missing[node][number] and open_groups[node]:
                open_groups[node] -= 1
                if not open_groups[node]:
                    had.append(node)
    return _disjoint_circles(needs, {node for node, count in open_groups.items() if count})


def _disjoint_circles(
    needs: Mapping[Node, tuple[Sequence[Collection[Node]], bool]], stuck: Collection[Node]
) -> list[list[Node]]:
    """From each stuck node, follow the first one that it needs and that is stuck, until a node comes again."""
    found, walk_of = [], dict[Node, int]()
    for number, first in enumerate(needs):
        if first not in stuck:
            continue
        path: list[Node] = []
        node = first
        while node not in walk_of:
            walk_of[node] = number
            path.append(node)
            node = next(one for group in needs[node][0] for one in group if one in stuck)
        if walk_of[node] == number:
            found.append(path[path.index(node) :])
    return found


# Dependencies

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


class DependencyVerdict(NamedTuple):
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


_OPEN: Final = DependencyVerdict(math.inf)


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
        self._note_named(job)
        if request.name is not None:
            self._join_row(job)
        return self._opened(job)

    def _note_named(self, job: _DependentJob) -> None:
        dependency = job.request.dependency
        for condition in () if dependency is None else dependency.conditions:
            if condition.kind != "singleton":
                self._named.setdefault(full_id(condition.job, job.id), {})[job.id] = None

    def changed(self, job_id: str, dependency: Dependency | None) -> list[str]:
        """A job that waits gets another dependency, or none.

        Args:
            job_id: the job.
            dependency: its dependency from now on.

        Returns:
            The jobs whose verdicts may have changed.

        >>> from batprotocol.workloads.requests import read_request
        >>> from batprotocol.workloads.requests.notation import parse_dependency
        >>> waiting = Dependencies()
        >>> _ = [waiting.submitted(f"w0!{number}", read_request(None), 0.0) for number in (1, 2)]
        >>> _ = waiting.changed("w0!2", parse_dependency("afterok:1"))
        >>> waiting.verdict("w0!2").since
        inf
        """
        job = self._jobs[job_id]
        job.request, job.circle = msgspec.structs.replace(job.request, dependency=dependency), []
        self._note_named(job)
        if job.row is not None:
            is_single = dependency is not None and any(each.kind == "singleton" for each in dependency.conditions)
            waiting = [place for place in job.row.waiting if place != job.place]
            job.row.waiting = sorted([*waiting, job.place]) if is_single else waiting
        return self._opened(job)

    def _opened(self, job: _DependentJob) -> list[str]:
        """The jobs whose verdicts may have changed, as the dependency of a job is new."""
        job_id = job.id
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

    def verdict(self, job_id: str) -> DependencyVerdict:
        """Whether the dependency of a job that waits is satisfied."""
        job = self._jobs[job_id]
        dependency = job.request.dependency
        if dependency is None:
            return DependencyVerdict(job.since)
        if job.circle:
            return DependencyVerdict(math.inf, f"it waits for itself: {' -> '.join(job.circle)}")
        return _together(dependency, [self._one(condition, job) for condition in dependency.conditions], job.since)

    def _one(self, condition: Condition, job: _DependentJob) -> DependencyVerdict:
        if condition.kind == "singleton":
            return self._singleton(job)
        name = full_id(condition.job, job.id)
        ids = self._ids(condition, job)
        if not ids:
            if name in self._arrays and job.request.array is not None:
                name = f"task {job.request.array.task} of {name}"
            return (
                DependencyVerdict(math.inf, f"it waits for {name}, which was never submitted")
                if self._closed
                else _OPEN
            )
        verdicts = [self._of(condition, self._jobs[one]) for one in ids]
        never = next((each.never for each in verdicts if each.never is not None), None)
        return DependencyVerdict(max(each.since for each in verdicts), never)

    def _of(self, condition: Condition, named: _DependentJob) -> DependencyVerdict:
        """The verdict of a condition on one job that was submitted."""
        kind, state = condition.kind, named.state
        if kind == "after":
            if named.started < math.inf:
                return DependencyVerdict(named.started + condition.delay)
            return (
                _OPEN if state is None else DependencyVerdict(named.ended)
            )  # as in Slurm: it started or was cancelled
        if state is None:
            return _OPEN
        if kind == "afterany":
            return DependencyVerdict(named.ended)
        succeeded = state is FinalJobState.COMPLETED_SUCCESSFULLY
        if succeeded == (kind != "afternotok"):
            return DependencyVerdict(named.ended)
        wanted = "fail" if kind == "afternotok" else "succeed"
        why = f": {named.why}" if named.why else ""
        return DependencyVerdict(
            math.inf, f"it waits for {named.id} to {wanted}, which {_SHORT.get(state, 'ended')}{why}"[:2000]
        )

    def _singleton(self, job: _DependentJob) -> DependencyVerdict:
        row = job.row
        if row is None:  # no other job has the same name
            return DependencyVerdict(job.since)
        return DependencyVerdict(max(job.since, row.since)) if row.done >= job.place else _OPEN

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


def _together(dependency: Dependency, verdicts: list[DependencyVerdict], since: float) -> DependencyVerdict:
    nevers = [each.never for each in verdicts if each.never is not None]
    if dependency.needs_all:
        if nevers:
            return DependencyVerdict(math.inf, nevers[0])
        return DependencyVerdict(max(since, *(each.since for each in verdicts)))
    if len(nevers) == len(verdicts):
        return DependencyVerdict(math.inf, nevers[0])
    return DependencyVerdict(max(since, min(each.since for each in verdicts)))


def _names(job: _DependentJob) -> list[str]:
    """The names by which other jobs can mean a job: its id, and that of its array."""
    if job.request.array is None:
        return [job.id]
    return [job.id, in_workload_of(job.id, job.request.array.array)]


def _shortened(chain: list[str]) -> list[str]:
    return chain if len(chain) <= _LONGEST_CHAIN else [*chain[: _LONGEST_CHAIN - 1], "...", chain[-1]]


def _single(request: Request) -> _Single:
    return request.name, request.user


# Paths

_SHOWN = 6
"""The number of jobs of a circle that a message names."""


def longest_paths(lengths: Mapping[str, float], before: Mapping[str, Collection[str]]) -> dict[str, float]:
    """The length of the longest path that ends with each job, its own length included.

    The maximum is the critical path. For the longest paths to the end, which are the upward ranks of HEFT, pass the
    jobs that follow each job as `before`.

    Args:
        lengths: the length of each job, such as its run time in seconds.
        before: the jobs that must end before each job. Jobs without a length are not counted.

    Raises:
        InputError: jobs wait for one another in a circle.

    >>> longest_paths({"a": 3.0, "b": 5.0, "c": 1.0}, {"c": ["a", "b"]})
    {'a': 3.0, 'b': 5.0, 'c': 6.0}
    """
    graph = {job: [each for each in before.get(job, ()) if each in lengths] for job in lengths}
    found: dict[str, float] = {}
    try:
        for job in TopologicalSorter(graph).static_order():
            found[job] = lengths[job] + max((found[each] for each in graph[job]), default=0.0)
    except CycleError as error:
        circle: list[str] = list(error.args[1])
        names = circle if len(circle) <= _SHOWN else [*circle[: _SHOWN - 1], "...", circle[-1]]
        raise InputError(f"jobs wait for one another in a circle: {' -> '.join(names)}") from None
    return {job: found[job] for job in lengths}


# Checks of whole workloads
#
# A policy rejects a job whose request it cannot read, or which waits for itself. Here, the first such job of a file is
# an error with its place, so that nobody waits for a simulation that cannot be meant.


def check_requests(jobs: Iterable[tuple[str, str | None, str]]) -> None:
    """Check what the jobs of workloads ask for.

    Args:
        jobs: the full id of each job, its extra data, and the file that it is from ("" if there is none).

    Raises:
        InputError: a value cannot be read, or a job waits for itself, directly or through others. The error names the
            file, the job and the key.

    >>> check_requests([("w0!1", '{"dependency": "afterok:2"}', ""), ("w0!2", '{"dependency": "afterok:1"}', "")])
    Traceback (most recent call last):
    ...
    batprotocol.errors.InputError: job 'w0!1': dependency: it waits for itself: w0!1 -> w0!2 -> w0!1
    """
    waiting = Dependencies()
    dependent = []
    for job_id, extra_data, file in jobs:
        try:
            request = read_request(extra_data)
        except InputError as error:
            raise InputError(error.reason, f"job {shown(job_id)}: {error.path}", file=file) from None
        if request is NOTHING:
            continue
        waiting.submitted(job_id, request, 0.0)
        if request.dependency is not None:
            dependent.append((job_id, file))
    waiting.stuck()
    for job_id, file in dependent:
        never = waiting.verdict(job_id).never
        if never is not None:
            raise InputError(never, f"job {shown(job_id)}: dependency", file=file)
