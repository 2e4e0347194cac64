"""The waiting jobs in queue orders: the first job, and the first job that fits into a gap.

Jobs of like size and expected run time lie together. So a search passes over jobs that do not fit without a look at
each, and computes only a few keys of orders that change with time.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Any, Final

from sortedcontainers import SortedList

from batprotocol.policies.jobs import State, WaitingJob
from batprotocol.policies.orders import Alike, Order

__all__ = ["Gap", "Queue", "Ranking"]

_MOST_EXACT: Final = 512
"""Up to this number of shapes, jobs that lie together have equal shapes. Beyond, their shapes are only alike."""
_SLACK: Final = 1e-9
"""The tolerance of a bound: as formulas are rounded, a key can lie a little before it."""

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

    def cells(self, cells: Iterable[_Cell]) -> list[_Cell]:
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


class _Cells:
    """All jobs, by shape."""

    def __init__(self) -> None:
        self._cells: dict[tuple[float, float], _Cell] = {}
        self._is_exact = True

    def __iter__(self) -> Iterator[_Cell]:
        return iter(self._cells.values())

    def add(self, entry: RankedJob) -> None:
        shape = self._shape(entry[2])
        cell = self._cells.get(shape)
        if cell is None:
            if self._is_exact and len(self._cells) >= _MOST_EXACT:
                self._blur()
                self.add(entry)
                return
            cell = self._cells[shape] = _Cell()
        cell.add(entry)

    def remove(self, entry: RankedJob) -> None:
        shape = self._shape(entry[2])
        cell = self._cells[shape]
        cell.remove(entry)
        if not cell.entries:
            del self._cells[shape]

    def _shape(self, job: WaitingJob) -> tuple[float, float]:
        if self._is_exact:
            return job.size, job.expected
        return _class(job.size), _class(job.expected)

    def _blur(self) -> None:
        entries = [entry for cell in self for entry in cell.entries]
        self._cells.clear()
        self._is_exact = False
        for entry in entries:
            self.add(entry)


def _class(number: float) -> float:
    """One class for each doubling. More classes would need more bounds, fewer classes more keys."""
    if number < 1 or number == math.inf:
        return 0.0 if number < 1 else number
    return math.frexp(number)[1]


class Ranking:
    """The waiting jobs in one queue order."""

    def __init__(self, order: Order, state: State) -> None:
        self.order = order
        self._state = state
        self._jobs: dict[int, RankedJob] = {}
        self._sorted: SortedList[RankedJob] | None = None if order.changes else SortedList()
        self._cells: _Cells | None = None  # made when they are needed

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

    def remove(self, job: WaitingJob) -> None:
        """Remove a job that does not wait any more."""
        entry = self._jobs.pop(job.number)
        if self._sorted is not None:
            self._sorted.remove(entry)
        if self._cells is not None:
            self._cells.remove(entry)

    def prepare(self) -> None:
        """Prepare for searches of jobs that fit: from now on, jobs that are alike lie together."""
        if self._cells is None:
            self._cells = _Cells()
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
            return self._sorted[0][2] if self._sorted else None
        return self._best(None)

    def first_in(self, gap: Gap) -> WaitingJob | None:
        """The first job that fits into a gap; None if none does."""
        if self._sorted:
            job = self._sorted[0][2]
            if gap.takes(job.size, job.expected):  # as is often so, and quickly found
                return job
        return self._best(gap) if self._jobs else None

    def _best(self, gap: Gap | None) -> WaitingJob | None:
        self.prepare()
        assert self._cells is not None
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
