"""The second loop: each job gets a planned start in turn, and starts at once if no planned one is later for it."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from batprotocol.policies.slurm.jobs import Placement, SlurmJob, Stage
from batprotocol.policies.slurm.main_loop import Outcome
from batprotocol.policies.slurm.queue import Entry, Queue
from batprotocol.policies.slurm.reservations import Reservations
from batprotocol.policies.slurm.rules import Rules
from batprotocol.policies.slurm.selecting import Chance
from batprotocol.policies.slurm.space import Space
from batprotocol.policies.slurm.values import FOREVER, Partition
from batprotocol.slurm.configuration import Scheduler

__all__ = ["Filler", "run_backfill"]


_LIMITED = 500
"""With assoc_limit_stop, a job that a limit keeps waiting is planned so many seconds later."""


class Filler(Protocol):
    """The side of the controller that the loop uses."""

    rules: Rules
    """The rules that keep jobs waiting although there are nodes."""
    reservations: Reservations

    @property
    def available(self) -> int:
        """The nodes that are neither down nor drained."""

    @property
    def completing(self) -> int:
        """The nodes that jobs are leaving."""

    @property
    def open(self) -> int:
        """The nodes on which a job can start now, as far as others use them."""

    @property
    def idle(self) -> int:
        """The nodes that have no job."""

    def chance(self, job: SlurmJob, partition: Partition, nodes: int, now: int, late: int) -> Chance | None:
        """When and where a job can start on these nodes; the nodes do not matter if it is after `late`, unless 0."""

    def start_on(self, job: SlurmJob, partition: Partition, nodes: int, minutes: float) -> str:
        """Start a job on some of these nodes; returns an `Outcome`."""


def run_backfill(
    queue: Queue, filler: Filler, loops: Scheduler, now: int, epoch: int, *, is_quick: bool = True
) -> tuple[int, bool]:
    """Run the loop once.

    Args:
        queue: the queue.
        filler: what it may do.
        loops: its parameters.
        now: the second.
        epoch: the seconds of the day at which the simulation began, as times are rounded on the clock.
        is_quick: whether it ends as soon as no more job can start now.

    Returns:
        How many jobs have started, and whether a planned start was moved behind another one.
    """
    return _Cycle(filler, loops, now, epoch).run(queue, is_quick)


class _Cycle:
    """One run of the loop."""

    def __init__(self, filler: Filler, loops: Scheduler, now: int, epoch: int) -> None:
        self.filler, self.loops, self.now, self.epoch = filler, loops, now, epoch
        self.window_end = now + int(loops.bf_window)
        self.resolution = int(loops.bf_resolution)
        self.space = Space(now, self.window_end, filler.available, self.resolution)
        self.counts: Counter[object] = Counter()
        self.tested = self.started = 0
        self.has_moved = False
        self.blocked: dict[object, int] = {}
        self.arrays: Counter[tuple[str, str]] = Counter()
        self.rejected: set[tuple[str, str, str]] = set()

    def run(self, queue: Queue, is_quick: bool) -> tuple[int, bool]:
        loops, filler = self.loops, self.filler
        entries = queue.snapshot()
        for _, job, _ in entries:
            job.planned, job.planned_nodes = 0, 0
        least = _least_nodes(entries) if is_quick else []
        for place, (_, job, partition) in enumerate(entries):
            if is_quick and self.has_moved and filler.open.bit_count() < least[place]:
                break  # what is left can only be planned, and nobody asks for the plan
            if job.stage is not Stage.PENDING or job.waits_for_room:
                continue
            if self.tested >= loops.bf_max_job_test:
                break
            if loops.bf_max_job_start and self.started >= loops.bf_max_job_start:
                break
            if loops.bf_node_space_size and len(self.space) >= loops.bf_node_space_size:
                break
            self.tested += 1
            if job.array is not None and not self._array_may(job, partition):
                continue
            if not filler.rules.array_may_start(job):
                continue
            if not loops.assoc_limit_stop and not filler.rules.may_start(job, partition):
                continue
            if filler.rules.lacks_licenses(job, self.now) or self._is_over(job, partition) or not partition.is_up:
                continue
            self._test(job, partition)
        return self.started, self.has_moved

    def _array_may(self, job: SlurmJob, partition: Partition) -> bool:
        """Whether one more task of the array is looked at. Its limit counts tasks that run, and not planned ones."""
        assert job.array is not None
        if (job.array, partition.name, job.reservation) in self.rejected:
            return False
        return self.arrays[job.array, partition.name] < self.loops.bf_max_job_array_resv

    def _is_over(self, job: SlurmJob, partition: Partition) -> bool:
        """Whether enough jobs of its user or partition have been looked at."""
        loops, counts = self.loops, self.counts
        limits = (
            (loops.bf_max_job_user_part, ("both", job.user, partition.name)),
            (loops.bf_max_job_part, ("partition", partition.name)),
            (loops.bf_max_job_assoc, ("account", job.user, job.account)),
            (loops.bf_max_job_user, ("user", job.user)),
        )
        if any(limit and counts[key] >= limit for limit, key in limits):
            return True
        counts.update(key for limit, key in limits if limit)
        return False

    def _is_not_reserved(self, job: SlurmJob, partition: Partition) -> bool:
        """Whether a job starts now or gets no plan."""
        loops = self.loops
        if loops.bf_min_prio_reserve:
            if job.priority[partition.name] < loops.bf_min_prio_reserve:
                return True
        elif loops.bf_min_age_reserve and self.now - job.eligible < loops.bf_min_age_reserve:
            return True
        if loops.bf_one_resv_per_job and job.planned:
            return True
        limit = loops.bf_job_part_count_reserve
        return limit is not None and self.counts["reserved", partition.name] >= limit

    def _test(self, job: SlurmJob, partition: Partition) -> None:
        """Plan a job, or start it."""
        filler, now = self.filler, self.now
        only_now = self._is_not_reserved(job, partition)
        limit = min(job.limit, partition.max_time, FOREVER)
        minutes = job.time_min if 0 < job.time_min < limit else limit
        earlier, later, misses = job.planned, max(now, self._blocked_until(job)), 0
        while True:
            begin = later
            left = filler.reservations.usable(job, begin, minutes, moves=True)
            if left is None or left.start > self.window_end:
                break
            begin = left.start
            nodes = left.nodes & partition.nodes & job.allowed & filler.available
            end = max(begin, now) + int(minutes * 60)
            nodes, later = self.space.usable(begin, end, nodes)
            if left.is_less:
                over = filler.reservations.end_after(begin) + 1
                if 1 < over < self.window_end and (not later or over < later):
                    later = over
            chance = None
            if nodes.bit_count() >= job.min_nodes and not job.required & ~nodes:
                chance = filler.chance(job, partition, nodes, now, 0 if only_now else later)
            if chance is None:
                if later and not only_now:
                    continue
                break
            start, placement = max(begin, chance.start), chance.placement
            self.has_moved |= begin > chance.start
            if start <= now and placement.nodes & filler.completing:
                start, later = now + 1, 0
            if start <= now:
                outcome = filler.start_on(job, partition, nodes, limit)
                if outcome == Outcome.STARTED:
                    self.started += 1
                    return
                if outcome == Outcome.SKIPPED or (outcome == Outcome.LIMITED and not self.loops.assoc_limit_stop):
                    break
                later = 0
                if outcome == Outcome.LIMITED:
                    start = now + _LIMITED
            if start > now and only_now:
                break
            if later and start > later:
                continue
            first, last = self._rounded(start), self._rounded(start + int(minutes * 60))
            if start > self.window_end:
                break
            if start > now and self.space.overlaps(first, last, placement.nodes):
                later = start if start > begin or misses == 0 else start + self.resolution
                misses += 1
                continue
            self._plan(job, partition, start, first, last, placement, earlier)
            if self.loops.assoc_limit_stop and job.reason:
                key = (job.user, job.account) if job.reason.startswith("Assoc") else job.quality
                self.blocked[key] = max(self.blocked.get(key, 0), start)
            return
        if job.array is not None:
            self.rejected.add((job.array, partition.name, job.reservation))

    def _blocked_until(self, job: SlurmJob) -> int:
        """With assoc_limit_stop, jobs start behind those of their quality of service that a limit keeps waiting."""
        return max(self.blocked.get(job.quality, 0), self.blocked.get((job.user, job.account), 0))

    def _rounded(self, time: int) -> int:
        size, epoch = self.resolution, self.epoch
        return (time + epoch) // size * size - epoch

    def _plan(
        self,
        job: SlurmJob,
        partition: Partition,
        start: int,
        first: int,
        last: int,
        placement: Placement,
        earlier: float,
    ) -> None:
        if not (self.loops.bf_one_resv_per_job and earlier):
            self.space.reserve(first, last, placement.nodes)
        self.has_moved |= bool(placement.nodes & self.filler.idle)  # the state of these nodes becomes "planned"
        self.counts["reserved", partition.name] += 1
        if job.array is not None:
            self.arrays[job.array, partition.name] += 1
        if not earlier or start < earlier:
            job.planned, job.planned_nodes = start, placement.nodes


def _least_nodes(entries: list[Entry]) -> list[int]:
    """The fewest nodes that a job needs, of each entry and those behind it."""
    least, found = 1 << 62, []
    for _, job, _ in reversed(entries):
        least = min(least, job.min_nodes)
        found.append(least)
    found.reverse()
    return found
