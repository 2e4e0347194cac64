"""The two loops of Slurm, which start jobs, and the plan of the second one. They are as literal as its code.

The first loop takes jobs in order, and each partition only up to its first job that lacks nodes. The second one,
backfill, plans a start for each job in turn (`PlannedNodes`), and starts it at once if no planned one is later for it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, cast

from batprotocol.policies.slurm.cluster import FOREVER, ClusterPartition
from batprotocol.policies.slurm.queue import (
    JobStage,
    RankedEntry,
    SlurmEntry,
    SlurmJob,
    SlurmQueue,
)
from batprotocol.policies.slurm.reservations import (
    KeptLook,
    KeptPlans,
    NodeReservations,
    PlannedNodes,
    PlannedStart,
)
from batprotocol.policies.slurm.rules import SlurmRules
from batprotocol.policies.slurm.selection import HetStarts, Linear, NodeReleases, PossibleStart, _plan
from batprotocol.sites.slurm.configuration import SchedulerParameters

if TYPE_CHECKING:
    from batprotocol.policies._plan import Plan

__all__ = [
    "BackfillResult",
    "JobStarter",
    "StartOutcome",
    "lacks_nodes",
    "run_backfill",
    "run_main",
]


# The first loop


class StartOutcome:
    """The outcomes of the attempt to start a job."""

    STARTED = "started"
    BUSY = "busy"
    """It lacks nodes, so the jobs behind it wait, too."""
    PREEMPTS = "preempts"
    """Other jobs give way to it. Until it starts, it is as if it lacked nodes, and no other partition is tried."""
    SKIPPED = "skipped"
    """It waits for something else; the jobs behind it do not wait for it."""
    LIMITED = "limited"
    """A limit of an association or a quality of service keeps it waiting."""


class JobStarter(Protocol):
    """The controller as the loops see it."""

    rules: SlurmRules
    """The rules that keep jobs waiting although there are nodes."""
    reservations: NodeReservations

    @property
    def second(self) -> int:
        """The time in whole seconds."""

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

    @property
    def preempts(self) -> bool:
        """Whether running jobs may give way to others."""

    @property
    def whole_nodes(self) -> Linear | None:
        """The selection, if jobs have whole nodes that no reservation or preemption takes or gives; None else."""

    def possible_start(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, now: int, late: int
    ) -> PossibleStart | None:
        """When and where a job can start on these nodes; the nodes do not matter if it is after `late`, unless 0."""

    def frees(self, job: SlurmJob, partition: ClusterPartition) -> NodeReleases | None:
        """When nodes are free of running jobs, if nothing else decides when a job can start; None: something does."""

    def try_start(self, job: SlurmJob, partition: ClusterPartition, nodes: int) -> str:
        """Start a job if that is possible now; returns a `StartOutcome`."""

    def start_on(self, job: SlurmJob, partition: ClusterPartition, nodes: int, minutes: float) -> str:
        """Start a job on some of these nodes; returns a `StartOutcome`."""

    def start_together(self, parts: Sequence[tuple[SlurmJob, ClusterPartition, float]]) -> bool:
        """Start the components of a heterogeneous job, with their minutes, on nodes of their own, or none of them."""


def run_main(
    queue: SlurmQueue, starter: JobStarter, loops: SchedulerParameters, *, is_full: bool, is_quick: bool = True
) -> tuple[int, bool]:
    """Run the loop once.

    Args:
        queue: the queue.
        starter: what it may do.
        loops: its parameters.
        is_full: whether it tries the whole queue.
        is_quick: whether it ends as soon as no more job can start.

    Returns:
        How many jobs have started, and whether it has looked at a job at all.
    """
    return _MainRun(starter, loops).run(queue, is_full, is_quick)


_FEW: Final = 8
"""The jobs that `lacks_nodes` looks at."""


def lacks_nodes(queue: SlurmQueue, starter: JobStarter, loops: SchedulerParameters) -> bool:
    """Whether the loop would start no job: the first jobs lack nodes, even with those that are about to be clean.

    Then they keep all others waiting. The answer is no, too, if that does not show at once: where something else than
    the number of nodes may decide.

    Args:
        queue: the queue.
        starter: what the loop may do.
        loops: its parameters.
    """
    is_shared = starter.whole_nodes is None
    if starter.preempts or starter.rules.has_limits or loops.bf_min_prio_reserve or loops.bf_min_age_reserve:
        return False
    if is_shared and starter.completing:
        return False
    nodes, failed = starter.available, set[str]()
    for _, _, entry in queue.snapshot()[:_FEW]:
        job, partition = entry.job, entry.partition
        if not nodes:
            return True
        if partition.name in failed:
            continue
        is_odd = job.reservation or job.required or job.array is not None or job.het is not None or job.licenses
        if is_odd or job.leaves or job.waits_for_room or not starter.rules.admits(job, partition):
            return False
        room, open_to = nodes & partition.nodes & job.allowed, starter.open | starter.completing
        frees = starter.frees(job, partition) if is_shared else None
        if frees is not None:
            open_to &= frees[1][0]
        if (room & open_to).bit_count() >= job.min_nodes or not room & ~starter.idle:
            return False  # the loop may start it, or goes on as it waits for no end
        failed.add(partition.name)
        nodes &= ~partition.nodes
    return not nodes or len(queue.snapshot()) <= _FEW


class _MainRun:
    """One run of the loop."""

    def __init__(self, starter: JobStarter, loops: SchedulerParameters) -> None:
        self.starter, self.loops = starter, loops
        self.nodes, self.aside = starter.available, 0
        self.failed: set[str] = set()
        self.failed_reservations: set[str] = set()
        self.preempting: set[SlurmJob] = set()
        self.started = 0
        self.has_tried = self.is_stopped = False

    def run(self, queue: SlurmQueue, is_full: bool, is_quick: bool) -> tuple[int, bool]:
        loops, starter = self.loops, self.starter
        rejected: tuple[str | None, str, str] | None = None
        depth, in_partition = 0, dict[str, int]()
        for entry in starter.reservations.attempts(queue.snapshot(), starter.second, starter.rules.account_of):
            job, partition = entry.job, entry.partition
            if job.stage is not JobStage.PENDING or job.waits_for_room or job in self.preempting:
                continue
            array = (job.array, partition.name, job.reservation)
            if job.array is not None and array == rejected:
                continue
            if loops.partition_job_depth:
                count = in_partition[partition.name] = in_partition.get(partition.name, 0) + 1
                if count > loops.partition_job_depth:
                    continue
            if not is_full and depth > loops.default_queue_depth:
                break
            depth += 1
            if loops.sched_max_job_start and self.started >= loops.sched_max_job_start:
                break
            if self.is_stopped or (is_quick and not self.nodes and not job.reservation):
                break
            rejected = array if job.array is not None else rejected
            if self._try(job, partition) and rejected == array:
                rejected = None
        return self.started, self.has_tried

    def _try(self, job: SlurmJob, partition: ClusterPartition) -> bool:
        starter = self.starter
        if job.het is not None:  # only backfill starts it, and the jobs behind it wait
            self.has_tried = True
            self.failed.add(partition.name)
            self.nodes &= ~partition.nodes
            return False
        if not starter.rules.array_may_start(job):
            return False
        self.has_tried = True
        if job.reservation:
            if job.reservation in self.failed_reservations:
                return False
        elif partition.name in self.failed:
            return False
        if not starter.rules.admits(job, partition):
            return False
        was_limited = bool(job.reason)
        if not starter.rules.may_start(job, partition):
            if self.loops.assoc_limit_stop and not was_limited:
                self._fail(job, partition)
            return False
        if starter.rules.lacks_licenses(job, starter.second):
            self.is_stopped = self.loops.bf_licenses  # backfill has to deal with the jobs from here on
            return False
        needs_others = job.required.bit_count() < job.min_nodes
        if job.required & self.aside or (job.required & ~self.nodes and not needs_others):
            return False  # a job before it waits for these nodes, or they are down: those behind it do not wait for it
        if (self.nodes & partition.nodes).bit_count() < job.min_nodes:
            outcome = StartOutcome.BUSY
        else:
            outcome = starter.try_start(job, partition, self.nodes)
        if outcome == StartOutcome.STARTED:
            self.started += 1
            return True
        if outcome == StartOutcome.PREEMPTS:
            self.preempting.add(job)
        if outcome == StartOutcome.SKIPPED:
            return False
        if job.required and not needs_others:
            self.nodes &= ~job.required
            self.aside |= job.required
        elif outcome in (StartOutcome.BUSY, StartOutcome.PREEMPTS) or (
            outcome == StartOutcome.LIMITED and self.loops.assoc_limit_stop
        ):
            self._fail(job, partition)
        return False

    def _fail(self, job: SlurmJob, partition: ClusterPartition) -> None:
        """No more jobs of the partition start, nor others on its nodes."""
        if job.reservation:
            self.failed_reservations.add(job.reservation)
            return
        least = self.loops.bf_min_prio_reserve
        if least and job.priority[partition.name] < least:
            return
        age = self.loops.bf_min_age_reserve
        if age and self.starter.second - job.eligible < age:
            return
        self.failed.add(partition.name)
        self.nodes &= ~partition.nodes


# The second loop


_LIMITED = 500
"""With assoc_limit_stop, a job that a limit keeps waiting is planned so many seconds later."""


class BackfillResult(NamedTuple):
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


def run_backfill(
    queue: SlurmQueue,
    starter: JobStarter,
    loops: SchedulerParameters,
    now: int,
    epoch: int,
    *,
    is_quick: bool = True,
    kept: KeptPlans | None = None,
) -> BackfillResult:
    """Run the loop once.

    Args:
        queue: the queue.
        starter: what it may do.
        loops: its parameters.
        now: the second.
        epoch: the seconds of the day at which the simulation began, as times are rounded on the clock.
        is_quick: whether it takes short cuts: it ends as soon as no more job can start now.
        kept: the plans of earlier runs, of which some may still be valid; None: all plans are made anew.
    """
    is_plain = not (loops.assoc_limit_stop or loops.bf_licenses)
    linear = starter.whole_nodes if is_quick and _plan is not None and is_plain else None
    if linear is None or not now + loops.bf_window < _LAST:
        return _BackfillRun(starter, loops, now, epoch, is_quick, kept).run(queue)
    return _CompiledRun(starter, loops, now, epoch, linear, kept).run(queue)


_LAST: Final = 2.0**52
"""Times before this second are exact in C."""
_MayKeep: TypeAlias = KeptPlans | None


class _BackfillRun:
    """One run of the loop."""

    def __init__(
        self, starter: JobStarter, loops: SchedulerParameters, now: int, epoch: int, is_quick: bool, kept: _MayKeep
    ) -> None:
        self.is_quick, self.linear = is_quick, starter.whole_nodes if is_quick else None
        self.starter, self.loops, self.now, self.epoch = starter, loops, now, epoch
        self.window_end = now + int(loops.bf_window)
        self.resolution = int(loops.bf_resolution)
        is_alone = loops.assoc_limit_stop or loops.bf_licenses or loops.bf_one_resv_per_job
        self.kept = kept if is_quick and not is_alone else None
        self.space = self._space()
        self.counts: Counter[object] = Counter()
        self.tested = self.started = 0
        self.has_moved = False
        # Plans depend on the time in few ways only: `until` is the last second at which all of them stay as they are.
        self.until = now if starter.preempts or loops.assoc_limit_stop else math.inf
        self.blocked: dict[str, int] = {}
        self.arrays: Counter[tuple[str, str]] = Counter()
        self.tasks: dict[str, list[SlurmJob]] = {}  # those of arrays that have a plan
        self.rejected: set[tuple[str, str, str]] = set()
        self.preempting: set[SlurmJob] = set()
        self.hets = HetStarts()
        self.licenses = starter.rules.licenses.planned(now) if loops.bf_licenses else None

    def _space(self) -> PlannedNodes:
        if self.kept is not None:
            self.kept.begin(self.now, self.window_end, self.starter.available, self.resolution)
        return PlannedNodes(self.now, self.window_end, self.starter.available, self.resolution)

    def _frees(self, job: SlurmJob, partition: ClusterPartition) -> NodeReleases | None:
        """When nodes are free of running jobs, as `next_room` takes it; None: something else decides, too."""
        return self.starter.frees(job, partition)

    def run(self, queue: SlurmQueue) -> BackfillResult:
        """Look at the jobs of the queue."""
        self._look_at(queue.snapshot())
        self._start_together()
        return BackfillResult(self.started, self.has_moved, -1 if self.started else self.until)

    def _look_at(self, entries: list[RankedEntry]) -> None:
        loops, reservations, account_of = self.loops, self.starter.reservations, self.starter.rules.account_of
        is_quick = self.is_quick and not reservations.magnets(self.now)
        for _, _, entry in entries:
            entry.job.planned, entry.job.planned_nodes = 0, 0
        ahead = 0  # the next job that may start now: plans only take nodes, so that those before it never may
        for place, entry in enumerate(reservations.attempts(entries, self.now, account_of)):
            job = entry.job
            if is_quick and self.has_moved:
                ahead = max(ahead, place)
                while ahead < len(entries) and not self.may_start(entries[ahead][2]):
                    ahead += 1
                if ahead == len(entries):
                    break  # what is left can only be planned, and nobody asks for the plan
            if job.stage is not JobStage.PENDING or job.waits_for_room or job in self.preempting:
                continue
            if self.tested >= loops.bf_max_job_test:
                break
            is_full = loops.bf_node_space_size and len(self.space) >= loops.bf_node_space_size
            if is_full or (loops.bf_max_job_start and self.started >= loops.bf_max_job_start):
                break
            self._look(entry)

    def _start_together(self) -> None:
        """Start the heterogeneous jobs whose components can all start now. Slurm does not mind the plan then."""
        for parts in self.hets.ready(self.now):
            if self.loops.bf_max_job_start and self.started >= self.loops.bf_max_job_start:
                break
            self.until = self.now
            least = min(self._minutes(job, partition)[0] for job, partition in parts)
            timed = [(*each, least if each[0].time_min else self._minutes(*each)[1]) for each in parts]
            if self.starter.start_together(timed):
                self.started += len(parts)

    def _look(self, entry: SlurmEntry) -> None:
        job, partition = entry.job, entry.partition
        if not partition.access.takes_quality(job.quality):
            return  # a job of an account that the partition does not take has nodes set aside
        self.tested += 1
        others = 0.0 if job.het is None else self.hets.look(job, partition)
        if others > self.window_end:
            self.until = self.until if others == math.inf else self.now
            return
        if self.admits(job, partition):
            self._test(entry)

    def admits(self, job: SlurmJob, partition: ClusterPartition) -> bool:
        """Whether a job is tested, whatever the nodes are. It counts as looked at then."""
        loops, rules = self.loops, self.starter.rules
        if job.array is not None and not self._array_may(job, partition):
            return False
        if not rules.array_may_start(job):
            return False
        if not loops.assoc_limit_stop and not rules.may_start(job, partition):
            return False
        if self.licenses is None and rules.lacks_licenses(job, self.now):
            return False
        return not self._is_over(job, partition) and partition.is_up

    def _array_may(self, job: SlurmJob, partition: ClusterPartition) -> bool:
        """Whether one more task of the array is looked at. Its limit counts tasks that run, and not planned ones."""
        assert job.array is not None
        if (job.array, partition.name, job.reservation) in self.rejected:
            return False
        return self.arrays[job.array, partition.name] < self.loops.bf_max_job_array_resv

    def _is_over(self, job: SlurmJob, partition: ClusterPartition) -> bool:
        """Whether enough jobs of its user or partition have been looked at."""
        loops, counts = self.loops, self.counts
        association = self.starter.rules.association_of(job) if loops.bf_max_job_assoc else None
        limits = (
            (loops.bf_max_job_user_part, ("both", job.user, partition.name)),
            (loops.bf_max_job_part, ("partition", partition.name)),
            (loops.bf_max_job_assoc if association else None, ("association", id(association))),
            (loops.bf_max_job_user, ("user", job.user)),
        )
        if any(limit and counts[key] >= limit for limit, key in limits):
            return True
        counts.update(key for limit, key in limits if limit)
        return False

    def is_not_reserved(self, job: SlurmJob, partition: ClusterPartition) -> bool:
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

    def may_start(self, entry: SlurmEntry) -> bool:
        """Whether a job may start now, as far as nodes and the plan are concerned, or a look at it has an effect."""
        starter, job, partition = self.starter, entry.job, entry.partition
        if not self._has_nodes(job, partition):
            return False
        frees = starter.frees(job, partition)
        if frees is None:
            return True
        end = self.now + int(60 * self._minutes(job, partition)[0])
        nodes = starter.open & frees[1][0] & partition.nodes & job.allowed
        return self.space.free_until(end, nodes, job.min_nodes)

    def _has_nodes(self, job: SlurmJob, partition: ClusterPartition) -> bool:
        """Whether enough nodes are open for a job, or could be."""
        starter = self.starter
        return starter.preempts or (starter.open & partition.nodes & job.allowed).bit_count() >= job.min_nodes

    def _minutes(self, job: SlurmJob, partition: ClusterPartition) -> tuple[float, float]:
        """The minutes that a job needs at least, and those that it gets."""
        limit = min(job.limit, partition.max_time, FOREVER)
        if self.starter.rules.reserves_nothing(job):
            return min(1.0, limit), limit
        return job.time_min if 0 < job.time_min < limit else limit, limit

    def _test(self, entry: SlurmEntry) -> None:
        """Plan a job, or start it, without a search if an earlier run has made the same one."""
        job, partition, earlier, kept = entry.job, entry.partition, entry.job.planned, self.kept
        only_now = self.is_not_reserved(job, partition)
        is_kept = kept is not None and not (only_now or job.het or job.leaves or job.reservation)
        terms = self._terms(job, partition) if is_kept else ()
        look = kept.find(entry, terms) if kept is not None and is_kept else None
        if look is None:
            until, moved, self.until, self.has_moved, self.same = self.until, self.has_moved, math.inf, False, math.inf
            found = self._search(job, partition, only_now=only_now)
            look = KeptLook(found, self.until, self.same, self.has_moved)
            if kept is not None and found is not _STARTED:
                kept.note(entry, terms, look if is_kept and min(look.until, look.same) > self.now else None)
            self.until, self.has_moved = until, moved
        self.until, self.has_moved = min(self.until, look.until), self.has_moved or look.has_moved
        plan = look.plan
        if plan is _STARTED:
            if kept is not None:
                kept.renew()
            return
        if plan is None or self._has_no_reservation(job, partition, plan.nodes):
            if plan is not None:
                job.planned = plan.start if not earlier else min(plan.start, earlier)
            self.note_rejection(job, partition)
            return
        self._plan(job, partition, plan, earlier)
        if self.licenses is not None and job.licenses:
            self.licenses.plan(job.licenses, plan.start, plan.start + int(self._minutes(job, partition)[0] * 60))
        if self.loops.assoc_limit_stop and self._blocks(job, partition, is_limited=plan.is_limited):
            self.blocked[job.quality] = max(self.blocked.get(job.quality, 0), plan.start)

    def _terms(self, job: SlurmJob, partition: ClusterPartition) -> tuple[object, ...]:
        """The values of a job that a search looks at, as far as they may change while the job waits."""
        return self._minutes(job, partition)[0], self.starter.rules.most_nodes(job, partition), _TERMS(job)

    def _search(self, job: SlurmJob, partition: ClusterPartition, *, only_now: bool) -> PlannedStart | None:
        """Find the plan of a job, or start it, which `_STARTED` says; None: it has no plan."""
        starter, now = self.starter, self.now
        minutes, limit = self._minutes(job, partition)
        later, misses, is_limited = max(now, self._blocked_until(job)), 0, False
        is_part = job.het is not None
        others = int(self.hets.look(job, partition)) if is_part else 0
        licenses = self.licenses if job.licenses else None
        if licenses is not None:
            self.until = now
        is_quick = self.is_quick and not (only_now or is_part or licenses is not None)
        frees = self._frees(job, partition) if is_quick else None
        mine, count = partition.nodes & job.allowed & starter.available, max(job.min_nodes, partition.min_nodes)
        length = int(minutes * 60)
        moves = self.space.begin_after(now + length) - length - 1  # until then, it could have the same nodes now
        if not self._takes_any_nodes(job, partition):
            self.until = min(self.until, moves)
        while True:
            begin = max(later, others)
            if licenses is not None:
                begin = licenses.first(job, begin, length)
            if frees is not None:
                begin = self.space.next_room(begin, length, mine, count, frees)
            begin = starter.reservations.after_required(job, begin, minutes)
            left = starter.reservations.usable(job, begin, minutes)
            if left is None or begin > self.window_end:
                self._is_too_late(begin if left is not None else now)
                return None
            nodes = left.nodes & mine
            end = max(begin, now) + length
            nodes, later = self.space.usable(begin, end, nodes)
            if left.is_less:
                over = starter.reservations.end_after(begin) + 1
                if 1 < over < self.window_end and (not later or over < later):
                    later = over
            found = None
            if nodes.bit_count() >= job.min_nodes and not job.required & ~nodes:
                found = starter.possible_start(job, partition, nodes, now, 0 if only_now or is_part else later)
            if later and not only_now and (found is None or (found.start > later and begin <= now)):
                continue  # with fewer nodes, too
            if begin <= now:
                self.until = min(self.until, moves)
            if found is None:
                return None
            start, placement = max(begin, found.start), found.placement
            if licenses is not None and start < (free := licenses.first(job, start, length)):
                later = free
                continue
            self.has_moved |= begin > found.start
            if start <= now and placement.nodes & starter.completing:
                start, later = now + 1, 0
            if start <= now + 1:
                self.until = now
            self.same = min(self.same, start - 2)  # then `until` is another one
            if is_part:
                self.hets.note(job, partition, start)
            elif start <= now:
                if minutes < limit:
                    limit = max(minutes, self._until_planned(placement.nodes, limit))
                task = self._first_task(job)
                outcome = starter.start_on(task, partition, nodes, limit)
                if outcome == StartOutcome.STARTED:
                    self.started += 1
                    if licenses is not None:
                        licenses.plan(job.licenses, now, now + length)
                    if task is not job:
                        job.planned, job.planned_nodes = task.planned, task.planned_nodes
                        self.tasks[job.array or ""].append(job)
                    return _STARTED
                if outcome == StartOutcome.PREEMPTS:
                    self.preempting.add(job)
                if outcome == StartOutcome.SKIPPED or (
                    outcome == StartOutcome.LIMITED and not self.loops.assoc_limit_stop
                ):
                    return None
                later = 0
                if outcome == StartOutcome.LIMITED:
                    start, is_limited = now + _LIMITED, True
            if start > now and only_now:
                return None
            if later and start > later:
                continue
            first, last = self._rounded(start), self._rounded(start + length)
            if start > self.window_end:
                self._is_too_late(start)
                return None
            if first >= self.window_end:  # the plan of a later run has these nodes
                self.until = now
            if start > now and self.space.overlaps(first, last, placement.nodes):
                later = start if start > begin or misses == 0 else start + self.resolution
                misses += 1
                continue
            if is_part and self.hets.blocks(job, partition, start):
                return None
            return PlannedStart(start, first, last, placement.nodes, is_limited)

    def _takes_any_nodes(self, job: SlurmJob, partition: ClusterPartition) -> bool:
        """Whether only the number of free nodes decides when a job can start: with fewer, it starts no earlier."""
        return self.linear is not None and self._is_plain(job, partition) and self.linear.takes_best_fit(job, partition)

    def _is_plain(self, job: SlurmJob, partition: ClusterPartition) -> bool:
        """Whether a job asks for a number of whole nodes only."""
        rules = self.starter.rules
        is_odd = (rules.has_limits and not self.loops.assoc_limit_stop) or rules.reserves_nothing(job)
        is_odd = is_odd or bool(job.alternatives or job.counts)  # features
        is_odd = is_odd or job.het is not None or not partition.access.takes_quality(job.quality)
        return not (job.reservation or job.leaves or job.required or is_odd)

    def _is_too_late(self, time: int) -> None:
        """A job has no plan as it could not start before a time, which is within the window later."""
        self.until = min(self.until, max(time - self.window_end + self.now - 1, self.now))

    def _first_task(self, job: SlurmJob) -> SlurmJob:
        """The task that starts in place of a job: the first one of its array that waits, even if that has a plan."""
        for task in self.tasks.get(job.array or "", ()):
            if task.stage is JobStage.PENDING and task.task < job.task and _LIKENESS(task) == _LIKENESS(job):
                return task
        return job

    def _until_planned(self, nodes: int, limit: float) -> float:
        """The whole minutes, up to a limit, until one of the nodes is planned for another job."""
        space, now, found = self.space, self.now, limit
        begin = space.begin_after(now)
        while begin < now + 60 * limit:
            if space.overlaps(int(begin), int(begin) + 1, nodes):
                found = min(found, (begin - now) // 60)
            begin = space.begin_after(int(begin))
        return found

    def _has_no_reservation(self, job: SlurmJob, partition: ClusterPartition, nodes: int) -> bool:
        """Whether no nodes are set aside for a job: a limit would keep it waiting now, or its quality never has any."""
        rules = self.starter.rules
        if rules.reserves_nothing(job):
            return True
        if self.loops.assoc_limit_stop or not rules.has_limits:
            return False
        return rules.is_limited(job, partition, count=nodes.bit_count())

    def note_rejection(self, job: SlurmJob, partition: ClusterPartition) -> None:
        """A job has no plan: the other tasks of its array have none, either."""
        if job.array is not None:
            self.rejected.add((job.array, partition.name, job.reservation))

    def _blocks(self, job: SlurmJob, partition: ClusterPartition, *, is_limited: bool) -> bool:
        """Whether a limit keeps a job waiting that blocks others of its quality of service: that of no association.

        Limits of nodes and CPUs do so only for jobs that could have them now.
        """
        return (is_limited or not self.starter.rules.may_start(job, partition)) and not job.reason.startswith("Assoc")

    def _blocked_until(self, job: SlurmJob) -> int:
        """With assoc_limit_stop, jobs start behind those of their quality of service that a limit keeps waiting."""
        return self.blocked.get(job.quality, 0)

    def _rounded(self, time: int) -> int:
        size, epoch = self.resolution, self.epoch
        return (time + epoch) // size * size - epoch

    def _plan(self, job: SlurmJob, partition: ClusterPartition, plan: PlannedStart, earlier: float) -> None:
        if not (self.loops.bf_one_resv_per_job and earlier):
            self.space.reserve(plan.first, plan.last, plan.nodes)
            if self.kept is not None:
                self.kept.plan(plan)
        self.until = min(self.until, self.space.second_begin() - 1)
        if plan.last >= self.window_end:
            self.until = min(self.until, plan.last - self.window_end + self.now - 1)
        self.has_moved |= bool(plan.nodes & self.starter.idle)  # the state of these nodes becomes "planned"
        self.note_plan(job, partition)
        if not earlier or plan.start < earlier:
            job.planned, job.planned_nodes = plan.start, plan.nodes

    def note_plan(self, job: SlurmJob, partition: ClusterPartition) -> None:
        """A job has a plan."""
        self.counts["reserved", partition.name] += 1
        if job.array is not None:
            self.arrays[job.array, partition.name] += 1
            self.tasks.setdefault(job.array, []).append(job)


_STARTED: Final = PlannedStart(0, 0, 0, 0)
"""The search for a plan has started the job."""
_TERMS: Final = attrgetter(
    *("allowed", "required", "min_nodes", "max_nodes", "takes_least", "tasks", "cpus_per_task", "is_contiguous"),
    *("memory", "memory_per_cpu", "gres", "gpus", "is_exclusive", "alternatives", "counts"),
)
"""The values of a job that decide about its nodes and that operators change."""
_LIKENESS: Final = attrgetter(
    *("restarts", "limit", "min_nodes", "max_nodes", "tasks", "cpus_per_task", "memory", "gres", "gpus", "priority")
)
"""The values in which tasks of an array agree that Slurm has as one job while they wait."""


# The same in C (native/plan.c), where jobs have whole nodes


_TO_THE_END, _NOT_PLAIN = 0, 1
"""Why the loop in C ends: it is done, or a job has what it does not know. Else, a job may start."""
_PLAIN, _ASKS, _CHOOSES = 1, 2, 4
"""Flags of a job: the loop in C plans it; it asks whether to test it, and which nodes the job gets."""


class _CompiledRun(_BackfillRun):
    """One run of the loop: in C up to a job that may start or is not plain, in Python for this one, and so on."""

    def __init__(
        self, starter: JobStarter, loops: SchedulerParameters, now: int, epoch: int, linear: Linear, kept: _MayKeep
    ) -> None:
        self._nodes = linear
        super().__init__(starter, loops, now, epoch, is_quick=True, kept=kept)
        limits = loops.bf_max_job_user_part, loops.bf_max_job_part, loops.bf_max_job_assoc, loops.bf_max_job_user
        counts = loops.bf_job_part_count_reserve is not None
        self.settings = (
            now,
            epoch,
            starter.rules.has_limits or any(limits),
            bool(loops.bf_min_prio_reserve or loops.bf_min_age_reserve or loops.bf_one_resv_per_job or counts),
            counts,
            loops.bf_one_resv_per_job,
            float(loops.bf_max_job_test),
            float(loops.bf_max_job_start or 0),
            float(loops.bf_node_space_size or 0),
        )

    def _space(self) -> Plan:
        assert _plan is not None
        self._footings, self.kept = self.kept, None  # the plan in C keeps what it has found
        kept, end, nodes = self._footings, self.window_end, self.starter.available
        if kept is not None and kept.native is not None:
            kept.native.begin(self.now, end, nodes)
            return kept.native
        plan: Plan = _plan.Plan(self.now, end, nodes, self.resolution, self._nodes.width)
        if kept is not None:
            kept.native = plan
        return plan

    def _frees(self, job: SlurmJob, partition: ClusterPartition) -> NodeReleases | None:
        return None if self.starter.frees(job, partition) is None else self._nodes.releases()

    def _look_at(self, entries: list[RankedEntry]) -> None:
        plan, starter, linear = cast("Plan", self.space), self.starter, self._nodes
        plan.unplan(entries)
        place = 0
        while True:
            nodes, completing = starter.available, starter.completing
            state = self.tested, self.started, self.has_moved, self.until
            footing = 0 if self._footings is None else self._footings.renew()
            why, place, state = plan.run(
                self, entries, place, linear.releases(), nodes, completing, self.settings, state, footing
            )
            self.tested, self.started, self.has_moved, self.until = state
            if why == _TO_THE_END:
                break
            _, _, entry = entries[place]
            look = self._look if why == _NOT_PLAIN else self._test
            look(entry)
            place += 1

    def row_of(self, job: SlurmJob, partition: ClusterPartition) -> tuple[int, int, int, int, int]:
        """The values that the loop in C has of an entry.

        Returns:
            The nodes that the job may have, the fewest that it needs, those with what the partition wants, the seconds
            for which it needs them, and the flags of what is known of it.
        """
        flags = _PLAIN if self._is_plain(job, partition) else 0
        flags |= _ASKS if job.array is not None or job.licenses or not partition.is_up else 0
        flags |= 0 if self._nodes.takes_best_fit(job, partition) else _CHOOSES
        nodes = partition.nodes & job.allowed & ((1 << self._nodes.width) - 1)
        length = int(60 * self._minutes(job, partition)[0])
        return nodes, job.min_nodes, max(job.min_nodes, partition.min_nodes), length, flags

    def choose(self, job: SlurmJob, partition: ClusterPartition, nodes: int) -> int | None:
        """The nodes that a job gets of free ones; None if they do not do."""
        return self._nodes.choose(job, nodes, max(job.min_nodes, partition.min_nodes), partition)
