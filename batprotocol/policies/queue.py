"""The waiting jobs in queue orders: the first job, and the first job that fits into a gap.

Jobs of like size and expected run time lie together. So a search passes over jobs that do not fit without a look at
each, and computes only a few keys of orders that change with time.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Final, Generic, TypeVar

from sortedcontainers import SortedList

from batprotocol.policies.jobs import State, WaitingJob
from batprotocol.policies.orders import Alike, Multifactor, Order

__all__ = ["Gap", "Queue", "Ranking"]

_MOST_EXACT: Final = 512
"""Up to this number of shapes, jobs that lie together have equal shapes. Beyond, their shapes are only alike."""
_SLACK: Final = 1e-9
"""The tolerance of a bound: as formulas are rounded, a key can lie a little before it."""

_MOST_LATER: Final = 64
"""Up to this number, the jobs that were added since a search are looked at one by one."""
_FEW: Final = 32
"""Up to this number, the jobs of an order that lasts are tried one by one."""
_LAST: Final = 2**63
"""A number that no job has."""

RankedJob = tuple[Any, int, WaitingJob]
"""The key, the number, by which no two are equal, and the job."""


class Gap:
    """A gap that jobs fit into: a number of hosts for a number of seconds, or fewer hosts for longer.

    Args:
        steps: pairs (hosts, seconds). A job that fits into one of them fits.
    """

    __slots__ = ("steps",)

    def __init__(self, *steps: tuple[int, float]) -> None:
        self.steps = steps

    def takes(self, size: int, seconds: float) -> bool:
        """Whether a job of this size and expected run time fits."""
        for hosts, time in self.steps:  # noqa: SIM110  # it is asked often
            if size <= hosts and seconds <= time:
                return True
        return False

    def first_of(self, entries: Iterable[RankedJob]) -> WaitingJob | None:
        """The first of these jobs that fits; None if none does."""
        if len(self.steps) == 2:  # all that EASY has; it asks very often
            (hosts, time), (fewer, longer) = self.steps
            for _, _, job in entries:
                size = job.size
                if (size <= hosts and job.expected <= time) or (size <= fewer and job.expected <= longer):
                    return job
            return None
        return next((job for _, _, job in entries if self.takes(job.size, job.expected)), None)

    def is_within(self, other: Gap) -> bool:
        """Whether each job that fits into this gap surely fits into another one, too."""
        steps, others = self.steps, other.steps
        if len(steps) == len(others) == 2:  # as in `cells`
            (hosts, time), (fewer, longer) = steps
            (most, longest), (few, long) = others
            return hosts <= most and time <= longest and fewer <= few and longer <= long
        return len(steps) == len(others) and all(
            hosts <= most and time <= longest for (hosts, time), (most, longest) in zip(steps, others, strict=True)
        )

    def cells(self, cells: Iterable[_SomeCell]) -> list[_SomeCell]:
        """The cells with jobs that could fit."""
        if len(self.steps) == 2:  # all that EASY has; it looks at very many
            (hosts, time), (fewer, longer) = self.steps
            return [
                cell
                for cell in cells
                if (cell.smallest <= hosts and cell.briefest <= time)
                or (cell.smallest <= fewer and cell.briefest <= longer)
            ]
        return [cell for cell in cells if self.takes(cell.smallest, cell.briefest)]


class _Cell:
    """Jobs that are alike, sorted."""

    __slots__ = ("alike", "briefest", "entries", "smallest")

    def __init__(self) -> None:
        self.entries: list[RankedJob] = []
        self.alike = Alike(2**63, 0, math.inf)
        self.briefest = math.inf  # no job is expected to run for less
        self.smallest = 2**63  # and none asks for fewer hosts

    def add(self, entry: RankedJob) -> None:
        job, (smallest, largest, shortest) = entry[2], self.alike
        if job.size < smallest or job.size > largest or job.walltime < shortest:
            self.alike = Alike(min(job.size, smallest), max(job.size, largest), min(job.walltime, shortest))
            self.smallest = self.alike.smallest
        if job.expected < self.briefest:
            self.briefest = job.expected
        insort(self.entries, entry)

    def remove(self, entry: RankedJob) -> None:
        del self.entries[bisect_left(self.entries, entry)]

    def __iter__(self) -> Iterator[RankedJob]:
        return iter(self.entries)

    def __bool__(self) -> bool:
        return bool(self.entries)


_SomeCell = TypeVar("_SomeCell", _Cell, "_DividedCell")


class _Cells(Generic[_SomeCell]):
    """All jobs, by shape.

    Args:
        make: makes a cell.
    """

    def __init__(self, make: Callable[[], _SomeCell]) -> None:
        self._make: Callable[[], _SomeCell] = make
        self._cells: dict[tuple[float, float], _SomeCell] = {}
        self._is_exact = True

    def __iter__(self) -> Iterator[_SomeCell]:
        return iter(self._cells.values())

    def add(self, entry: RankedJob) -> None:
        shape = self._shape(entry[2])
        cell = self._cells.get(shape)
        if cell is None:
            if self._is_exact and len(self._cells) >= _MOST_EXACT:
                self._blur()
                self.add(entry)
                return
            cell = self._cells[shape] = self._make()
        cell.add(entry)

    def remove(self, entry: RankedJob) -> None:
        shape = self._shape(entry[2])
        cell = self._cells[shape]
        cell.remove(entry)
        if not cell:
            del self._cells[shape]

    def _shape(self, job: WaitingJob) -> tuple[float, float]:
        if self._is_exact:
            return job.size, job.expected
        return _class(job.size), _class(job.expected)

    def _blur(self) -> None:
        entries = [entry for cell in self for entry in cell]
        self._cells.clear()
        self._is_exact = False
        for entry in entries:
            self.add(entry)


def _class(number: float) -> float:
    """One class for each doubling. More classes would need more bounds, fewer classes more keys."""
    if number < 1 or number == math.inf:
        return 0.0 if number < 1 else number
    return math.frexp(number)[1]


# The multifactor order: jobs of one user keep their order, and the levels of users fall by little at a time.


_DIVIDED_SLACK: Final = 1e-12
"""The tolerance of the sum of the parts of a key, relative to the largest of them."""

DividedEntry = tuple[float, float, int, int, WaitingJob]
"""The lasting part of the key; the submission and the size, from which the key follows; the number, and the job."""


UserGroup = tuple["str | int | None", bool]
"""A user, and whether the priorities of the jobs do not grow any more."""


class _DividedGroup:
    """The jobs of a group that are alike.

    Attributes:
        key: the group.
        entries: the jobs, sorted.
        ticket: the number of its bound that counts.
    """

    __slots__ = ("entries", "key", "ticket")

    def __init__(self, key: UserGroup, entries: list[DividedEntry] | SortedList[DividedEntry]) -> None:
        self.key, self.entries, self.ticket = key, entries, 0


class _DividedCell:
    """Jobs that are alike, by user, and a heap of bounds.

    The bound of a group is no more than the lasting part and the level of any of its jobs, with `fallen` added. When
    levels fall, `fallen` grows at least as much. So a bound stays one, and only groups with low bounds are looked at.

    Args:
        jobs: all jobs.
        are_many: whether it can have as many jobs as there are.
    """

    __slots__ = ("_are_many", "_bounds", "_jobs", "_ticket", "briefest", "groups", "smallest")

    def __init__(self, jobs: _DividedJobs, *, are_many: bool = False) -> None:
        self._jobs, self._are_many, self._ticket = jobs, are_many, 0
        self._bounds: list[tuple[float, int, _DividedGroup]] = []
        self.briefest = math.inf
        self.smallest = 2**63
        self.groups: dict[UserGroup, _DividedGroup] = {}

    @property
    def floor(self) -> float:
        """The least of the bounds."""
        return self._bounds[0][0] if self._bounds else math.inf

    def add(self, entry: RankedJob) -> None:
        job = entry[2]
        self.smallest, self.briefest = min(self.smallest, job.size), min(self.briefest, job.expected)
        key, divided = self._jobs.entries[job.number]
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = _DividedGroup(key, SortedList() if self._are_many else [])
        entries = group.entries
        if isinstance(entries, list):
            insort(entries, divided)
        else:
            entries.add(divided)
        if entries[0] is divided:
            self.bind(group, divided[0] + self._jobs.level(key) + self._jobs.order.fallen)

    def remove(self, entry: RankedJob) -> None:
        key, divided = self._jobs.entries[entry[1]]
        entries = self.groups[key].entries
        del entries[bisect_left(entries, divided) if isinstance(entries, list) else entries.index(divided)]
        if not entries:
            del self.groups[key]

    def bind(self, group: _DividedGroup, bound: float) -> None:
        """A group has a new bound."""
        bounds = self._bounds
        if len(bounds) > 2 * len(self.groups) + _FEW:  # most do not count any more
            bounds[:] = [each for each in bounds if each[1] == each[2].ticket and each[2].entries]
            heapify(bounds)
        group.ticket = self._ticket = self._ticket + 1
        heappush(bounds, (bound, group.ticket, group))

    def next_below(self, most: float) -> _DividedGroup | None:
        """Take the group with the least bound, if that is at most `most`; it needs a new one then."""
        bounds = self._bounds
        while bounds and bounds[0][0] <= most:
            _, ticket, group = heappop(bounds)
            if ticket == group.ticket and group.entries:
                return group
        return None

    def __iter__(self) -> Iterator[RankedJob]:
        return ((job.submitted, number, job) for each in self.groups.values() for *_, number, job in each.entries)

    def __bool__(self) -> bool:
        return bool(self.groups)


class _DividedJobs:
    """All jobs in a multifactor order."""

    def __init__(self, order: Multifactor, state: State) -> None:
        self.order = order
        self._state = state
        self._size = state.size
        self._largest = 0.0
        self.entries: dict[int, tuple[UserGroup, DividedEntry]] = {}  # by the number of the job
        self._ages: list[tuple[float, int, WaitingJob]] = []  # a heap of those that get old
        # Each is made when it is needed:
        self._all: _DividedCell | None = None
        self._cells: _Cells[_DividedCell] | None = None

    @property
    def is_usable(self) -> bool:
        """Whether the parts of keys are numbers that can be added."""
        return math.isfinite(self._slack()) and self._state.size == self._size

    def add(self, entry: RankedJob) -> None:
        """Add a job that waits."""
        job = entry[2]
        self._largest = max(self._largest, abs(self.order.lasting(job.submitted, job.size, True, self._state)))
        is_old = self.order.is_old(job.submitted, self._state)
        self._put(job, job.user, is_old)
        if not is_old:
            heappush(self._ages, (job.submitted, job.number, job))

    def _put(self, job: WaitingJob, user: str | int | None, is_old: bool) -> None:
        lasting = self.order.lasting(job.submitted, job.size, is_old, self._state)
        submitted = 0.0 if is_old or not self.order.age else job.submitted
        self.entries[job.number] = (user, is_old), (lasting, submitted, job.size, job.number, job)
        for cells in (self._all, self._cells):
            if cells is not None:
                cells.add((job.submitted, job.number, job))

    def remove(self, entry: RankedJob) -> None:
        """Remove a job that does not wait any more."""
        for cells in (self._all, self._cells):
            if cells is not None:
                cells.remove(entry)
        del self.entries[entry[1]]

    def level(self, group: UserGroup) -> float:
        """The level of a group, to which that of time is added where it does not count any more."""
        level = self.order.level(group[0])
        return level - self.order.age + self.order.passed(self._state) if group[1] else level

    def _slack(self) -> float:
        order = self.order
        return _DIVIDED_SLACK * (order.passed(self._state) + order.age + order.share + self._largest)

    def _grow_old(self) -> None:
        """Move the jobs whose priorities do not grow any more."""
        ages, state, order = self._ages, self._state, self.order
        while ages and (ages[0][1] not in self.entries or order.is_old(ages[0][0], state)):
            submitted, number, job = heappop(ages)
            if number in self.entries:
                user = self.entries[number][0][0]
                self.remove((submitted, number, job))
                self._put(job, user, True)

    def _cells_of(self, gap: Gap | None) -> list[_DividedCell]:
        """The cells with jobs that could fit into a gap."""
        cells: _DividedCell | _Cells[_DividedCell] | None = self._all if gap is None else self._cells
        if cells is None:
            if gap is None:
                cells = self._all = _DividedCell(self, are_many=True)
            else:
                cells = self._cells = _Cells(lambda: _DividedCell(self))
            for *_, number, job in [divided for _, divided in self.entries.values()]:
                cells.add((job.submitted, number, job))
        return [cells] if isinstance(cells, _DividedCell) else (gap or Gap()).cells(cells)

    def best(self, gap: Gap | None) -> RankedJob | None:
        """The first job that fits into a gap. The cells and groups whose jobs can be first are searched first."""
        self._grow_old()
        order, fallen = self.order, self.order.fallen
        # The key of a job is the sum of its parts minus `passed`, and `fallen` has been added to each bound.
        to_sum, slack = order.passed(self._state), self._slack()
        heap = [(cell.floor, place, cell) for place, cell in enumerate(self._cells_of(gap))]
        heapify(heap)
        best: RankedJob | None = None
        most = math.inf  # the sum of the parts that is too large
        while heap and heap[0][0] - fallen <= most:
            cell = heappop(heap)[2]
            bounds: list[tuple[_DividedGroup, float]] = []
            while (group := cell.next_below(most + fallen)) is not None:
                level = self.level(group.key)
                least = group.entries[0][0] + level
                bounds.append((group, least + fallen))
                if least <= most:
                    found = self._best_of(group.key[0], group.entries, most - level, gap)
                    if found is not None and (best is None or found < best):
                        best = found
                        most = best[0] + to_sum + slack
            for group, bound in bounds:
                cell.bind(group, bound)
        return best

    def _best_of(
        self,
        user: str | int | None,
        entries: list[DividedEntry] | SortedList[DividedEntry],
        most: float,
        gap: Gap | None,
    ) -> RankedJob | None:
        """The first job of a group that fits into a gap, if its lasting part is at most that."""
        best: RankedJob | None = None
        place, count = 0, len(entries)
        while place < count and entries[place][0] <= most:
            lasting, submitted, size, number, job = entries[place]
            place += 1
            if gap is None or gap.takes(size, job.expected):
                found = (self.order.key_of(user, job.submitted, size, self._state), number, job)
                if best is None:
                    most = min(most, lasting + self._slack())
                if best is None or found < best:
                    best = found
                if place < count and entries[place][:3] == (lasting, submitted, size):  # equal keys, and later
                    behind = (lasting, submitted, size, _LAST)
                    place = bisect_left(entries, behind) if isinstance(entries, list) else entries.bisect_left(behind)
        return best


class Ranking:
    """The waiting jobs in one queue order."""

    def __init__(self, order: Order, state: State) -> None:
        self.order = order
        self._state = state
        self._jobs: dict[int, RankedJob] = {}
        self._sorted: SortedList[RankedJob] | None = None if order.changes else SortedList()
        # Made when they are needed:
        self._cells: _Cells[_Cell] | None = None
        self._divided: _DividedJobs | None = None
        self._too_small: Gap | None = None  # the last one into which no job fitted
        self._later: list[WaitingJob] = []  # the jobs that were added since

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, job: WaitingJob) -> None:
        """Add a job that waits."""
        # In an order that changes, the one that came first has the best key among equals, so those are sorted by that.
        key = job.submitted if self.order.changes else self.order.key(job, self._state)
        entry = self._jobs[job.number] = (key, job.number, job)
        if self._sorted is not None:
            self._sorted.add(entry)
        if self._cells is not None:
            self._cells.add(entry)
        if self._divided is not None:
            self._divided.add(entry)
        if self._too_small is not None and len(self._later) <= _MOST_LATER:
            self._later.append(job)

    def remove(self, job: WaitingJob) -> None:
        """Remove a job that does not wait any more."""
        entry = self._jobs.pop(job.number)
        if self._sorted is not None:
            self._sorted.remove(entry)
        if self._cells is not None:
            self._cells.remove(entry)
            if self._sorted is not None and not self._jobs:
                self._cells = None  # until they are many again
        if self._divided is not None:
            self._divided.remove(entry)

    def prepare(self) -> None:
        """Prepare for searches of jobs that fit: from now on, jobs that are alike lie together, unless they are few."""
        if self._sorted is not None and len(self._jobs) <= _FEW:
            return
        if isinstance(self.order, Multifactor) and self.order.is_divided:
            if self._divided is None:
                self._divided = _DividedJobs(self.order, self._state)
                for entry in self._jobs.values():
                    self._divided.add(entry)
            if self._divided.is_usable:
                return
        if self._cells is None:
            self._cells = _Cells(_Cell)
            for entry in self._jobs.values():
                self._cells.add(entry)

    def __iter__(self) -> Iterator[WaitingJob]:
        """All jobs, in order. Do not add or remove jobs meanwhile."""
        if self._sorted is not None:
            return (entry[2] for entry in self._sorted)
        key, state = self.order.key, self._state
        keyed = sorted((key(job, state), number, job) for _, number, job in self._jobs.values())
        return (entry[2] for entry in keyed)

    def first(self) -> WaitingJob | None:
        """The first job; None if none waits."""
        if self._sorted is not None:
            return self._sorted[0][2] if self._jobs else None
        return self._best(None)

    def first_in(self, gap: Gap) -> WaitingJob | None:
        """The first job that fits into a gap; None if none does."""
        ranked = self._sorted
        if ranked is not None and len(self._jobs) <= _FEW:
            return gap.first_of(ranked)
        too_small, later = self._too_small, self._later
        if too_small is not None and len(later) <= _MOST_LATER and gap.is_within(too_small):
            for job in later:
                if gap.takes(job.size, job.expected):
                    break
            else:
                return None
        if ranked is not None:
            job = ranked[0][2]
            if gap.takes(job.size, job.expected):  # as is often so, and quickly found
                return job
        found = self._best(gap) if self._jobs else None
        if found is None:
            self._too_small = gap
            self._later.clear()
        return found

    def _best(self, gap: Gap | None) -> WaitingJob | None:
        if self._cells is None:
            self.prepare()
        if self._cells is None:
            assert self._divided is not None
            found = self._divided.best(gap)
            return None if found is None else found[2]
        cells = list(self._cells) if gap is None else gap.cells(self._cells)
        best = self._best_changing(cells, gap) if self._sorted is None else _best_lasting(cells, gap)
        return None if best is None else best[2]

    def _best_changing(self, cells: list[_Cell], gap: Gap | None) -> RankedJob | None:
        """The first of the jobs with the least bounds. The other jobs cannot come before it."""
        order, state = self.order, self._state
        bounded = []
        for cell in cells:
            bound = order.bound(cell.alike, cell.entries[0][0], state)
            if bound is None:
                return self._best_of_all(cells, gap)
            bounded.append((_before(bound), cell))
        bounded.sort(key=_bound_of)
        best: RankedJob | None = None
        for bound, cell in bounded:
            if best is not None and bound > best[0]:
                break
            for submitted, number, job in cell.entries:
                if best is not None and _before(order.bound(cell.alike, submitted, state)) > best[0]:
                    break
                if gap is None or gap.takes(job.size, job.expected):
                    entry = (order.key(job, state), number, job)
                    if best is None or entry < best:
                        best = entry
        return best

    def _best_of_all(self, cells: list[_Cell], gap: Gap | None) -> RankedJob | None:
        key, state = self.order.key, self._state
        jobs = (entry[2] for cell in cells for entry in cell.entries)
        return min(
            ((key(job, state), job.number, job) for job in jobs if gap is None or gap.takes(job.size, job.expected)),
            default=None,
        )


def _best_lasting(cells: list[_Cell], gap: Gap | None) -> RankedJob | None:
    best: RankedJob | None = None
    for cell in cells:
        for entry in cell.entries:
            if best is not None and entry > best:
                break
            if gap is None or gap.takes(entry[2].size, entry[2].expected):
                best = entry
                break
    return best


def _before(bound: float) -> float:
    return bound - abs(bound) * _SLACK


def _bound_of(bounded: tuple[float, _Cell]) -> float:
    return bounded[0]


class Queue:
    """The waiting jobs in the policy's queue order, and in the other orders that its parts ask for.

    Args:
        order: the queue order.
        state: the state that orders read.
        keeps: whether the first job stays the first one until it starts, once a part has asked for it.
    """

    def __init__(self, order: Order, state: State, *, keeps: bool = False) -> None:
        self._main = Ranking(order, state)
        self._rankings = [self._main]
        self._state = state
        self._keeps = keeps
        self._kept: WaitingJob | None = None
        self.jobs: dict[str, WaitingJob] = {}
        """The jobs by id, in the order of their submission."""

    def __len__(self) -> int:
        return len(self.jobs)

    def __iter__(self) -> Iterator[WaitingJob]:
        """All jobs, in order. Do not add or remove jobs meanwhile."""
        return iter(self._main)

    def by(self, order: Order | None) -> Ranking:
        """The same jobs in another order, to search for those that fit; None: the queue's own order.

        The ranking follows the queue from now on.
        """
        ranking = self._main
        if order is not None and order is not ranking.order:
            ranking = Ranking(order, self._state)
            for job in self.jobs.values():
                ranking.add(job)
            self._rankings.append(ranking)
        ranking.prepare()
        return ranking

    def add(self, job: WaitingJob) -> None:
        """Add a job that waits."""
        self.jobs[job.id] = job
        for ranking in self._rankings:
            ranking.add(job)

    def remove(self, job: WaitingJob) -> None:
        """Remove a job that does not wait any more."""
        del self.jobs[job.id]
        for ranking in self._rankings:
            ranking.remove(job)
        if self._kept is job:
            self._kept = None

    def first(self) -> WaitingJob | None:
        """The first job; None if none waits."""
        if not self._keeps:
            return self._main.first()
        if self._kept is None:
            self._kept = self._main.first()
        return self._kept
