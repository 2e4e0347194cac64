"""The second loop: each job gets a planned start in turn, and starts at once if no planned one is later for it."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple, Protocol

from batprotocol.policies.slurm.jobs import Placement, SlurmJob, Stage
from batprotocol.policies.slurm.main_loop import Outcome
from batprotocol.policies.slurm.queue import Queue
from batprotocol.policies.slurm.reservations import Reservations
from batprotocol.policies.slurm.rules import Rules
from batprotocol.policies.slurm.selecting import Chance
from batprotocol.policies.slurm.space import Frees, Space
from batprotocol.policies.slurm.values import FOREVER, Partition
from batprotocol.sites.slurm.configuration import Scheduler

__all__ = ["Filler", "Ran", "run_backfill"]


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
    def preempts(self) -> bool:
        """Whether running jobs may give way to others."""

    @property
    def open(self) -> int:
        """The nodes on which a job can start now, as far as others use them."""

    @property
    def idle(self) -> int:
        """The nodes that have no job."""

    def chance(self, job: SlurmJob, partition: Partition, nodes: int, now: int, late: int) -> Chance | None:
        """When and where a job can start on these nodes; the nodes do not matter if it is after `late`, unless 0."""

    def frees(self, job: SlurmJob) -> Frees | None:
        """When nodes are free of running jobs, if nothing else decides when a job can start; None: something does."""

    def start_on(self, job: SlurmJob, partition: Partition, nodes: int, minutes: float) -> str:
        """Start a job on some of these nodes; returns an `Outcome`."""


class Ran(NamedTuple):
    """The result of a run of the loop.

    Attributes:
        started: how many jobs have started.
        has_moved: whether a planned start was moved behind another one, or a plan has nodes without jobs.
        until: the last second at which a run does the same, if nothing changes until then and no limit is over; -1 if
            jobs have started.
    """

    started: int
    has_moved: bool
    until: float


def run_backfill(queue: Queue, filler: Filler, loops: Scheduler, now: int, epoch: int, *, is_quick: bool = True) -> Ran:
    """Run the loop once.

    Args:
        queue: the queue.
        filler: what it may do.
        loops: its parameters.
        now: the second.
        epoch: the seconds of the day at which the simulation began, as times are rounded on the clock.
        is_quick: whether it takes short cuts: it ends as soon as no more job can start now.
    """
    return _Cycle(filler, loops, now, epoch, is_quick).run(queue)


class _Cycle:
    """One run of the loop."""

    def __init__(self, filler: Filler, loops: Scheduler, now: int, epoch: int, is_quick: bool) -> None:
        self.is_quick = is_quick
        self.filler, self.loops, self.now, self.epoch = filler, loops, now, epoch
        self.window_end = now + int(loops.bf_window)
        self.resolution = int(loops.bf_resolution)
        self.space = Space(now, self.window_end, filler.available, self.resolution)
        self.counts: Counter[object] = Counter()
        self.tested = self.started = 0
        self.has_moved = False
        # Plans depend on the time in few ways only: `until` is the last second at which all of them stay as they are.
        self.until = now if filler.preempts or loops.assoc_limit_stop else math.inf
        self.blocked: dict[str, int] = {}
        self.arrays: Counter[tuple[str, str]] = Counter()
        self.rejected: set[tuple[str, str, str]] = set()
        self.preempting: set[SlurmJob] = set()

    def run(self, queue: Queue) -> Ran:
        loops, filler, is_quick = self.loops, self.filler, self.is_quick
        entries = queue.snapshot()
        for _, job, _ in entries:
            job.planned, job.planned_nodes = 0, 0
        ahead = 0  # the next job that may start now: plans only take nodes, so that those before it never may
        for place, (_, job, partition) in enumerate(entries):
            if is_quick and self.has_moved:
                ahead = max(ahead, place)
                while ahead < len(entries) and not self._may_start(*entries[ahead][1:]):
                    ahead += 1
                if ahead == len(entries):
                    break  # what is left can only be planned, and nobody asks for the plan
            if job.stage is not Stage.PENDING or job.waits_for_room or job in self.preempting:
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
        return Ran(self.started, self.has_moved, -1 if self.started else self.until)

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

    def _may_start(self, job: SlurmJob, partition: Partition) -> bool:
        """Whether a job may start now, as far as nodes and the plan are concerned, or a look at it has an effect."""
        filler = self.filler
        if job.leaves and job.leaves_since == math.inf:
            return True  # the time for which it waits for few switches begins when it is looked at
        if not self._has_nodes(job, partition):
            return False
        if filler.frees(job) is None:
            return True
        end = self.now + int(60 * self._minutes(job, partition)[0])
        return self.space.free_until(end, filler.open & partition.nodes & job.allowed, job.min_nodes)

    def _has_nodes(self, job: SlurmJob, partition: Partition) -> bool:
        """Whether enough nodes are open for a job, or could be."""
        filler = self.filler
        return filler.preempts or (filler.open & partition.nodes & job.allowed).bit_count() >= job.min_nodes

    def _minutes(self, job: SlurmJob, partition: Partition) -> tuple[float, float]:
        """The minutes that a job needs at least, and those that it gets."""
        limit = min(job.limit, partition.max_time, FOREVER)
        return job.time_min if 0 < job.time_min < limit else limit, limit

    def _test(self, job: SlurmJob, partition: Partition) -> None:
        """Plan a job, or start it."""
        filler, now = self.filler, self.now
        only_now = self._is_not_reserved(job, partition)
        minutes, limit = self._minutes(job, partition)
        earlier, later, misses, is_limited = job.planned, max(now, self._blocked_until(job)), 0, False
        frees = filler.frees(job) if self.is_quick and not only_now else None
        mine, count = partition.nodes & job.allowed & filler.available, max(job.min_nodes, partition.min_nodes)
        length = int(minutes * 60)
        self.until = min(self.until, self.space.begin_after(now + length) - length - 1)
        while True:
            begin = later
            if frees is not None:
                begin = self.space.next_room(begin, length, mine, count, frees)
            left = filler.reservations.usable(job, begin, minutes, moves=True)
            if left is None or left.start > self.window_end:
                self.until = now
                break
            begin = left.start
            nodes = left.nodes & mine
            end = max(begin, now) + length
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
            if start <= now + 1:
                self.until = now
            if start <= now:
                outcome = filler.start_on(job, partition, nodes, limit)
                if outcome == Outcome.STARTED:
                    self.started += 1
                    return
                if outcome == Outcome.PREEMPTS:
                    self.preempting.add(job)
                if outcome == Outcome.SKIPPED or (outcome == Outcome.LIMITED and not self.loops.assoc_limit_stop):
                    break
                later = 0
                if outcome == Outcome.LIMITED:
                    start, is_limited = now + _LIMITED, True
            if start > now and only_now:
                break
            if later and start > later:
                continue
            first, last = self._rounded(start), self._rounded(start + length)
            if start > self.window_end:
                self.until = now
                break
            if start > now and self.space.overlaps(first, last, placement.nodes):
                later = start if start > begin or misses == 0 else start + self.resolution
                misses += 1
                continue
            self._plan(job, partition, start, first, last, placement, earlier)
            if self.loops.assoc_limit_stop and self._blocks(job, partition, is_limited=is_limited):
                self.blocked[job.quality] = max(self.blocked.get(job.quality, 0), start)
            return
        if job.array is not None:
            self.rejected.add((job.array, partition.name, job.reservation))

    def _blocks(self, job: SlurmJob, partition: Partition, *, is_limited: bool) -> bool:
        """Whether a limit keeps a job waiting that blocks others of its quality of service: that of no association.

        Limits of nodes and CPUs do so only for jobs that could have them now.
        """
        return (is_limited or not self.filler.rules.may_start(job, partition)) and not job.reason.startswith("Assoc")

    def _blocked_until(self, job: SlurmJob) -> int:
        """With assoc_limit_stop, jobs start behind those of their quality of service that a limit keeps waiting."""
        return self.blocked.get(job.quality, 0)

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
        self.until = min(self.until, self.space.second_begin() - 1)
        if last >= self.window_end:
            self.until = min(self.until, last - self.window_end + self.now - 1)
        self.has_moved |= bool(placement.nodes & self.filler.idle)  # the state of these nodes becomes "planned"
        self.counts["reserved", partition.name] += 1
        if job.array is not None:
            self.arrays[job.array, partition.name] += 1
        if not earlier or start < earlier:
            job.planned, job.planned_nodes = start, placement.nodes
