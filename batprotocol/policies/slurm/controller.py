"""A Slurm without its machines: jobs, nodes, reservations and operators come in; starts and kills go out.

The controller has its own clock. Its owner reports what happens, lets it `advance` to the time of each report, and asks
for the `next_time` at which it does something without a report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.policies.slurm.clock import USUAL, Phases
from batprotocol.policies.slurm.cluster import FOREVER, ClusterPartition, ConfiguredCluster
from batprotocol.policies.slurm.loops import StartOutcome, lacks_nodes, run_backfill, run_main
from batprotocol.policies.slurm.queue import HetJob, JobStage, NodeShare, SlurmJob, named_by_number
from batprotocol.policies.slurm.reservations import NodeReservation
from batprotocol.policies.slurm.rules import SlurmRules
from batprotocol.policies.slurm.selection import Linear, NodeReleases, PossibleStart
from batprotocol.policies.slurm.state import (
    ControllerActions,
    ControllerState,
    Endings,
    JobPriorities,
    NodeStates,
    PossibleStarts,
)
from batprotocol.policies.slurm.suspension import Suspensions
from batprotocol.workloads.requests import Request
from batprotocol.workloads.requests.notation import Dependency

__all__ = [
    "Controller",
    "JobUpdate",
]


class JobUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """New values of a job; None: as before.

    Attributes:
        limit: the time limit in minutes, >= 0; infinity: none.
        time_min: the least limit that it can do with, in minutes.
        nice: what is subtracted from its priority; priority: the one from now on, whatever its factors are, >= 1.
        qos, account: its quality of service and account; reservation: its reservation, "": none.
        partitions: the partitions that it can run in.
        required: the nodes that it must have; excluded: those that it must not have.
        nodes: the least number of nodes, and the most.
        dependency: the jobs that it waits for; is_free: whether it waits for none.
        contiguous: whether its nodes are consecutive; requeues: whether it may run again.
        throttle: how many tasks of its array may run at a time, 0: any number; begin: when it may start at earliest.
    """

    limit: float | None = None
    time_min: float | None = None
    nice: int | None = None
    priority: int | None = None
    qos: str | None = None
    account: str | None = None
    reservation: str | None = None
    partitions: tuple[ClusterPartition, ...] | None = None
    required: int | None = None
    excluded: int | None = None
    nodes: tuple[int, float] | None = None
    dependency: Dependency | None = None
    is_free: bool = False
    contiguous: bool | None = None
    requeues: bool | None = None
    throttle: int | None = None
    begin: float | None = None


class Controller:
    """A Slurm's controller.

    Args:
        cluster: the cluster.
        priorities: the priorities of its jobs.
        actions: what it has others do.
        phases: what is left to chance.
        rules: licences, limits and access; by default there are none.
        is_quick: whether it takes short cuts, which change no decision.
    """

    def __init__(
        self,
        cluster: ConfiguredCluster,
        priorities: JobPriorities,
        actions: ControllerActions,
        phases: Phases = USUAL,
        *,
        rules: SlurmRules | None = None,
        is_quick: bool = True,
    ) -> None:
        self.cluster, self.rules = cluster, rules or SlurmRules()
        state = ControllerState(cluster, priorities, actions, phases, self.rules, is_quick=is_quick)
        self._state, self._queue, self._clock, self._waiting = state, state.queue, state.clock, state.waiting
        self._selection, self.reservations = state.selection, state.reservations
        self.jobs = state.jobs
        """The jobs that have not ended, by their first ids."""
        self.ended_jobs = state.ended
        """The jobs that have ended not long ago."""
        self.hetjobs = state.hetjobs
        """The heterogeneous jobs that have not ended, by their ids."""
        self._endings, self._starts, self._is_closed = Endings(state), PossibleStarts(state), False
        self.suspensions = Suspensions(state, self._endings)
        self._seen, self._tried, self._has_moved, self._until, self._weights = -1, -1, False, -1.0, tuple[int, ...]()
        self.is_backfilling = False
        """Whether the second loop runs at the moment."""

    @property
    def completing(self) -> int:
        """The nodes that are not clean yet."""
        return self._state.completing

    @property
    def available(self) -> int:
        """The nodes that are neither down nor drained."""
        return self._state.nodes.available

    # The clock

    @property
    def second(self) -> int:
        """The time in whole seconds, as Slurm sees it."""
        return self._state.second

    @property
    def time(self) -> float:
        """The time, in seconds."""
        return self._state.now

    def is_stuck(self) -> bool:
        """Whether nothing can start or end any more, as far as is known."""
        if (
            any(not job.is_stopped for job in self._state.running.values())
            or self._waiting.is_due
            or self.reservations.next_end() < math.inf
            or self._time_helps()
        ):
            return False
        state, queue = self._state, self._queue
        if state.priorities.next_time() < math.inf and self.rules.recovers():
            return False
        is_idle = state.idle_runs >= 2 and (not queue.components or state.idle_cycles >= 2)
        return is_idle or not queue or self.next_time() == math.inf

    @property
    def _version(self) -> int:
        """A number that is another one after each change that the loops see, their own among them."""
        return self._state.changes + self._starts.any_switches

    def _time_helps(self) -> bool:
        """Whether a job waits for reserved licences, takes any switches later, or later has others give way."""
        return self.rules.licenses.are_reserved(self.second) or self._starts.time_helps()

    def next_time(self) -> float:
        """When the controller does something without a report next; infinity: nothing is left to do.

        Runs of its loops that start nothing, as nothing has changed or nodes are missing, are made up for later.
        """
        state, clock, queue, is_idle = self._state, self._clock, self._queue, self._state.makes_up
        times, clean = [clock.limits(self._endings.first_limit(), state.now)], self._endings.next_clean()
        if queue or self._waiting.jobs:  # time alone may bring something for them
            is_open = not state.is_quick or self._waiting.is_due or self.reservations.names() or self._time_helps()
            main, is_new = clock.main(state.now)[0], clean < math.inf or self._tried != self._version
            is_idle &= not (is_open or self._waiting.jobs) and lacks_nodes(queue, self, self.cluster.loops)
            backfill = clock.backfill(min(main, clean) if is_idle and is_new else math.inf)
            times += [state.priorities.next_time(), self._next_reservations()]
            if is_open or (self._tried != self._version and not is_idle):
                times.append(main)
            if is_open or (is_idle and clean < math.inf) or not self._is_as_before(backfill):
                times.append(backfill)
            elif self._until < math.inf:
                times.append(max(backfill, self._until + 1))  # the runs before are as the last one, this one may differ
        times.append(math.inf if is_idle and self._endings.can_wait() else clean)
        return min(*times, self.suspensions.next_turn())

    def advance(self, now: float) -> None:
        """Do all that is due by a time."""
        while True:
            due, place = self._due(now)
            if due > now + 1e-9:
                break
            self._state.now = max(self._state.now, due)
            checks = self._check_reservations, self._check_limits, self._clean
            (*checks, self.suspensions.turn, self._renew_priorities, self._main, self._backfill)[place]()
        self._state.now = max(self._state.now, now)

    def _due(self, now: float) -> tuple[float, int]:
        """The time of the next step, and its place among all of them; the first one of those at one time."""
        state, clock = self._state, self._clock
        times = [
            self._next_reservations(),
            clock.limits(self._endings.first_limit(), state.now),
            self._endings.next_clean(),
            self.suspensions.next_turn(),
            state.priorities.next_time(),
        ]
        if not self._queue and not self._waiting.jobs:
            clock.rest(min(now, *times))
        times += (clock.main(state.now)[0], clock.backfill())
        due = min(times)
        return due, times.index(due)

    # What happens

    def submit(self, job: SlurmJob, request: Request, now: float) -> None:
        """A job is submitted; an `InputError` says why it is refused."""
        self.advance(now)
        self._check_reservation(job)
        if job.het is not None:
            self._check_hetjob(job.het)
        self.rules.submitted(job)
        self.jobs[job.id] = job
        self._starts.submitted(job, now)
        self._waiting.submitted(job.id, named_by_number(job, request), job.submitted)  # in whole seconds, as job has it
        if job.het is None:
            self._waiting.add(job)
        else:
            self._join(job, job.het)
        self._state.ask()

    def _join(self, job: SlurmJob, het: HetJob) -> None:
        """A component of a heterogeneous job is submitted; with the last one, all of them wait."""
        het.components[job.offset] = job
        if het.is_complete:
            is_held = any(each.is_held for each in het.jobs())
            for each in het.jobs():
                self._waiting.add(each)
                if is_held:
                    self._hold(each)

    def refuse_hetjob(self, het: HetJob, now: float) -> None:
        """A component of a heterogeneous job was refused: the others do not run, either."""
        self.advance(now)
        het.is_refused = True
        for job in het.jobs():
            if job.stage is JobStage.PENDING:
                self._endings.refuse(job, f"another component of the heterogeneous job {het.own_id} was refused")

    def _check_hetjob(self, het: HetJob) -> None:
        """Whether a heterogeneous job may have one more component; an `InputError` says why not."""
        if not self.cluster.backfills:
            raise InputError("heterogeneous jobs need SchedulerType=sched/backfill, as only backfill starts them")
        if het.is_refused:
            raise InputError(f"another component of the heterogeneous job {het.own_id} was refused")

    def _check_reservation(self, job: SlurmJob) -> None:
        """Whether a job may have the reservation that it names; an `InputError` says why not."""
        if not job.reservation:
            return
        reason = self.reservations.refusal(job, self.rules.account_of(job))
        if reason:
            raise InputError(reason)

    def no_more(self) -> None:
        """All jobs are submitted."""
        if self._is_closed:
            return
        self._is_closed = True
        self._waiting.no_more()
        for het in list(self.hetjobs.values()):
            if not het.is_complete:
                have = f"{len(het.components)} of the {het.size} components"
                for job in het.jobs()[:1]:
                    self._endings.refuse(job, f"only {have} of the heterogeneous job {het.own_id} were submitted")

    def ended(self, job: SlurmJob, state: FinalJobState, now: float) -> None:
        """A job has left its nodes."""
        self.advance(now)
        self._endings.ended(job, state)

    def settle(self, now: float) -> None:
        """All that happened up to a time was reported, so that components end whose leaders have ended."""
        self.advance(now)
        self._endings.end_components()

    def _clean(self) -> None:
        if self._endings.clean() and self._clock.runs_at_once(self._state.now):
            self._run_main(is_full=False)

    def _gather(self) -> None:
        """Move the jobs that could start by now to the queue, as each loop does first."""
        for job, never in self._state.eligible():
            open_to = [each for each in job.partitions if each.takes(job.size, job.reservation)]
            if never is None and open_to:
                self._waiting.remove(job)
                self._state.is_eligible(job)
                self._queue.add(job, open_to)
                if job.het is not None:  # only the second loop looks at it
                    self._state.idle_cycles = 0
                    self._clock.renew(self._state.now)
            elif never is not None and self.cluster.kills_invalid:
                self._endings.refuse(job, never)
        self._state.grow()

    # The loops

    def _main(self) -> None:
        _, is_full = self._clock.main(self._state.now)
        self._clock.ran_main(self._state.now, is_full=is_full)
        self._run_main(is_full=is_full)

    def _run_main(self, *, is_full: bool) -> None:
        self._gather()
        if not self._queue or self._state.is_completing:
            return
        started, has_tried = run_main(
            self._queue, self, self.cluster.loops, is_full=is_full, is_quick=self._state.is_quick
        )
        self._state.idle_runs = 0 if started else self._state.idle_runs + is_full
        if has_tried:
            self._clock.renew(self._state.now)
        if is_full:
            self._tried = -1 if started else self._version

    def _backfill(self) -> None:
        self._gather()
        state, is_quick = self._state, self._state.is_quick and not self._starts.sizes_vary
        if state.is_completing:
            self._clock.put_off(state.now)
            return
        if is_quick and self._is_as_before(state.now):
            self._clock.ran_backfill(state.now, is_new=self._has_moved)
            state.idle_cycles += 1
            return
        before, self._weights, self.is_backfilling = self._starts.any_switches, self._selection.passing_weights(), True
        epoch, kept = state.phases.epoch, self._starts.plans
        ran = run_backfill(self._queue, self, self.cluster.loops, self.second, epoch, is_quick=is_quick, kept=kept)
        self.is_backfilling = False
        self._clock.ran_backfill(self._state.now, is_new=ran.started > 0 or ran.has_moved)
        self._state.idle_cycles = 0 if ran.started else self._state.idle_cycles + 1
        self._seen, self._has_moved, self._until = self._state.changes + before, ran.has_moved, ran.until

    def _is_as_before(self, time: float) -> bool:
        """Whether a run of the second loop at a time would do what its last one did, which has started no job.

        That is so up to the second that it has named, while nothing has changed, and no limit has passed.
        """
        second = math.floor(min(time, 1e15) + 1e-6)
        return (
            (self._seen, self._weights) == (self._version, self._selection.passing_weights())
            and second <= self._until
            and self._selection.first_end() >= second + 1
            and not self._time_helps()
            and not self.reservations.names()
            and not self.cluster.loops.bf_min_age_reserve
        )

    def _renew_priorities(self) -> None:
        self._state.others += self.rules.charge(self._state.now)
        self._endings.look_at_budgets()
        if self._state.priorities.renew(self._state.now):
            self._queue.sort()
            self._clock.renew(self._state.now)

    def try_start(self, job: SlurmJob, partition: ClusterPartition, nodes: int) -> str:
        """Start a job if that is possible now; returns an `StartOutcome`."""
        left = self.reservations.usable(job, self.second, job.limit)
        if self.reservations.never_fits(job, self.second):
            return StartOutcome.SKIPPED  # Slurm holds it, and those that wait for its end do not run, either
        if left is None or job.stage is JobStage.DONE or self.reservations.is_larger(job) or job.required & ~left.nodes:
            return StartOutcome.SKIPPED
        room = nodes if not job.reservation else self.available
        room &= left.nodes & partition.nodes & job.allowed
        outcome = self._start(job, partition, room & ~self._state.completing, job.limit)
        if outcome == StartOutcome.BUSY and not left.is_less and self._starts.is_impossible(job, partition, room):
            self._hold(job, is_asked=False)
            return StartOutcome.SKIPPED
        is_reserved = bool(job.reservation) and left.is_less  # another reservation ends, too
        is_helpless = not (room & (self._selection.used | self._state.completing) or (job.leaves and job.misses_leaves))
        if outcome == StartOutcome.BUSY and is_helpless and not is_reserved:
            return StartOutcome.SKIPPED  # the end of a job would not help it, so others need not wait for it
        return outcome

    def start_on(self, job: SlurmJob, partition: ClusterPartition, nodes: int, minutes: float) -> str:
        """Start a job on some of these nodes; returns an `StartOutcome`."""
        if not self.rules.admits(job, partition):
            return StartOutcome.BUSY  # although it has nodes, which are set aside for it
        if not self.rules.may_start(job, partition):
            return StartOutcome.LIMITED
        return self._start(job, partition, nodes & ~self._state.completing, minutes)

    def start_together(self, parts: Sequence[tuple[SlurmJob, ClusterPartition, float]]) -> bool:
        """Start the components of a heterogeneous job, with their minutes, on nodes of their own, or none of them.

        As in Slurm, they need not be the planned nodes: others may be planned for these. Where a component lacks nodes
        then, those before it are stopped at once, and run again later.
        """
        used, placed = 0, list[NodeShare]()
        for job, partition, minutes in parts:
            left = self.reservations.usable(job, self.second, minutes)
            nodes = 0 if left is None else left.nodes & self.available
            nodes &= partition.nodes & job.allowed & ~(used | self._state.completing)
            found = None if job.required & ~nodes else self._starts.now(job, partition, nodes, self.second)
            if found is None or self.rules.lacks_licenses(job, self.second) or not self.rules.admits(job, partition):
                break
            placed.append(found)
            used |= found.nodes
        whole = list(zip(parts, placed, strict=False))
        if not self.rules.may_all_start([(job, partition, share) for (job, partition, _), share in whole]):
            return False
        for (job, partition, minutes), share in whole:
            self._begin(job, partition, share, minutes)
        if len(placed) == len(parts):
            return True
        begun = [job for (job, _, _), _ in whole]
        for job in begun:
            self._endings.requeue(job)
        self._endings.kill(begun)
        return False

    @property
    def preempts(self) -> bool:
        """Whether running jobs may give way to others."""
        return self.cluster.preempts

    @property
    def open(self) -> int:
        """The nodes on which a job can start now, as far as others use them."""
        return self.available & self._selection.open

    @property
    def idle(self) -> int:
        """The nodes that have no job."""
        return self.available & ~self._selection.used

    @property
    def whole_nodes(self) -> Linear | None:
        """The selection, if jobs have whole nodes that no reservation or preemption takes or gives; None else."""
        found = None if self.cluster.preempts or self.reservations.names() else self._selection
        return found if isinstance(found, Linear) and not found.overlaps else None

    def possible_start(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, now: int, late: int
    ) -> PossibleStart | None:
        """When and where a job can start on these nodes; the nodes do not matter if it is after `late`, unless 0."""
        return self._starts.earliest(job, partition, nodes, now, late)

    def frees(self, job: SlurmJob, partition: ClusterPartition) -> NodeReleases | None:
        """When nodes are free of running jobs, if nothing else decides when a job can start; None: something does."""
        return None if self.reservations.names() or job.reservation else self._starts.frees(job, partition)

    def _start(self, job: SlurmJob, partition: ClusterPartition, nodes: int, minutes: float) -> str:
        placement = self._starts.now(job, partition, nodes, self.second)
        if placement is None:
            if self.rules.is_limited(job, partition):
                return StartOutcome.LIMITED
            found = self._starts.displaced(job, partition, nodes, self.second)
            if found is None or not found[0]:
                return StartOutcome.BUSY
            victims, placement = found
            outcome = self.suspensions.make_way(job, victims)
            if outcome != StartOutcome.STARTED:
                return outcome
        if self.rules.is_limited(job, partition, placement.nodes, sum(placement.cpus.values())):
            return StartOutcome.LIMITED
        self._begin(job, partition, placement, minutes)
        return StartOutcome.STARTED

    def _begin(self, job: SlurmJob, partition: ClusterPartition, placement: NodeShare, minutes: float) -> None:
        job.stage, job.placement, job.partition = JobStage.RUNNING, placement, partition
        job.started, job.killed, job.gives_way = float(self.second), math.inf, False
        job.preempts_since, job.ran, job.runs_since = -math.inf, 0.0, job.started
        job.end = job.started + 60 * min(minutes, FOREVER)
        if job.time_min:  # backfill has given it what the plan leaves
            job.limit = minutes
        self._queue.remove(job)
        self._state.running[job.id] = job
        self._endings.note_limit(job)
        self._selection.take(job)
        self.rules.started(job)
        self._state.priorities.started(job, self._state.now)
        self._waiting.started(job.id, self._state.now)
        self._starts.started(job)
        if not self._state.actions.execute(job):
            self._endings.never_began(job)
        self.suspensions.started(job)

    # Limits

    def _check_limits(self) -> None:
        self._clock.ran_limits(self._state.now)
        self._endings.check_limits()
        for reservation in self.reservations.over(self.second):
            self._drop(reservation)

    def _next_reservations(self) -> float:
        return self._clock.reservations(self.reservations.next_seen(self._state.now), self._state.now)

    def _check_reservations(self) -> None:
        """Look at reservations: the first loop runs for new ones, and the second loop as long as there are some."""
        self._clock.ran_reservations(self._state.now)
        if self.reservations.see(self.second):
            self._state.ask()
        self._clock.renew(self._state.now)

    def _drop(self, reservation: NodeReservation) -> None:
        """A reservation is over: the jobs that wait for it are held."""
        self.reservations.remove(reservation.name)
        self._clock.renew(self._state.now)
        for job in list(self.jobs.values()):
            if job.reservation == reservation.name and job.stage is JobStage.PENDING:
                self._hold(job)

    # Operators

    def hold(self, job: SlurmJob, now: float) -> None:
        """A job that waits is held: its priority is 0."""
        self.advance(now)
        self._hold(job)

    def _hold(self, job: SlurmJob, *, is_asked: bool = True) -> None:
        state = self._state
        if job.stage is not JobStage.PENDING:
            return
        if not job.is_held:
            job.is_held = True
            self._look_again(job)
            state.priorities.held(job)
        if is_asked:
            state.ask()

    def release(self, job: SlurmJob, now: float) -> None:
        """A job waits with a new priority. If it was not held, its nice value is 0 from now on, as in Slurm."""
        self.advance(now)
        if job.is_held or job.stage is JobStage.PENDING:
            job.nice = job.nice if job.is_held else 0
            self._state.late |= {job.id} if job.is_held else set()
            job.is_held, job.fixed = False, None
            self._look_again(job)
            self._state.priorities.released(job, self._state.now)
        self._state.ask()

    def requeue(self, job: SlurmJob, now: float) -> None:
        """A job that runs, or has ended not long ago, runs again later."""
        self.advance(now)
        if not job.requeues:
            return
        if job.stage is JobStage.RUNNING:
            self._endings.requeue(job)
            self._endings.kill([job])
        elif job.stage is JobStage.DONE:
            self._endings.revive(job)

    def update(self, job: SlurmJob, new: JobUpdate, now: float) -> None:
        """A job gets new values. Of a running job, only the limit can change.

        Raises:
            InputError: it may not have its new quality of service or partitions; it keeps the old ones.
        """
        self.advance(now)
        state = self._state
        if job.stage is JobStage.RUNNING and new.limit is not None:
            self._change_limit(job, new.limit)
        if new.requeues is not None:
            job.requeues = new.requeues
        if new.throttle is not None and job.array is not None:
            for task in (each for each in self.jobs.values() if each.array == job.array):
                task.array_limit = new.throttle
            state.others += 1
        if job.stage is JobStage.PENDING:
            self._look_again(job)
            self._change_place(job, new)
            self._change_terms(job, new)
            if new.priority is not None and not job.is_held:
                job.fixed, job.nice = new.priority, 0
            if new.nice is not None and job.fixed is None:
                if job.is_held:
                    job.is_held = not state.priorities.frees(job)
                job.nice = new.nice
            if not job.is_held:
                state.priorities.changed(job, state.now)
        state.ask()

    def _change_terms(self, job: SlurmJob, new: JobUpdate) -> None:
        """A job that waits has other limits, nodes or conditions."""
        job.limit = job.limit if new.limit is None else new.limit
        job.time_min = job.time_min if new.time_min is None else new.time_min
        job.required = job.required if new.required is None else new.required
        job.allowed = job.allowed if new.excluded is None else job.fitting & ~new.excluded
        job.begin = job.begin if new.begin is None else new.begin
        job.is_contiguous = job.is_contiguous if new.contiguous is None else new.contiguous
        if new.nodes is not None:
            job.min_nodes, job.max_nodes = new.nodes
        if new.dependency is not None or new.is_free:
            job.eligible = math.inf
            self._waiting.depends(job, new.dependency)

    def _change_place(self, job: SlurmJob, new: JobUpdate) -> None:
        """A job has another quality of service, account or reservation, or other partitions."""
        if all(each is None for each in (new.qos, new.partitions, new.account, new.reservation)):
            return
        before = job.qos, job.partitions, job.account, job.reservation
        rules = self._state.rules
        rules.forgotten(job)
        job.qos, job.partitions = new.qos or job.qos, new.partitions or job.partitions
        job.account = job.account if new.account is None else new.account
        job.reservation = job.reservation if new.reservation is None else new.reservation
        try:
            if new.reservation:
                self._check_reservation(job)
            rules.submitted(job)
        except InputError:
            job.qos, job.partitions, job.account, job.reservation = before
            rules.submitted(job)
            raise

    def top(self, jobs: Sequence[SlurmJob], now: float) -> list[str]:
        """Move jobs to the top of those of their user, partition, account and quality of service.

        As in Slurm, the priorities of these jobs are dealt out anew: the others keep their order.

        Args:
            jobs: the jobs, the one that comes first before the others.
            now: the time, in seconds.

        Returns:
            Why jobs are not moved, as half sentences.
        """
        self.advance(now)
        notes, rows = [], dict[tuple[str, ...], list[SlurmJob]]()
        for job in dict.fromkeys(jobs):
            why = (
                "does not wait any more"
                if job.stage is not JobStage.PENDING
                else "is held"
                if job.is_held
                else "has several partitions"
                if len(job.partitions) > 1
                else ""
            )
            if why:
                notes.append(f"job {job.own_id} {why}, and is not moved")
            else:
                rows.setdefault(_row_of(job), []).append(job)
        for key, first in rows.items():
            self._deal_priorities(key, first)
        self._state.ask()
        return notes

    def _deal_priorities(self, key: tuple[str, ...], first: list[SlurmJob]) -> None:
        """Some jobs of a row come before its others. The tasks of an array that wait are one job."""
        mine = [
            job
            for job in self.jobs.values()
            if job.stage is JobStage.PENDING and not job.is_held and len(job.partitions) == 1 and _row_of(job) == key
        ]
        name = key[1]
        mine.sort(key=lambda job: (-job.priority[name], job.number, job.task))
        groups = dict[str, list[SlurmJob]]()
        for job in mine:
            groups.setdefault(job.array or job.id, []).append(job)
        priorities = [each[0].priority[name] for each in groups.values()]
        order = list(dict.fromkeys([*(job.array or job.id for job in first), *groups]))
        for group, priority in zip(order, priorities, strict=True):
            for job in groups[group]:
                if job.priority[name] == priority:
                    continue
                self._look_again(job)
                if job.fixed is None:
                    job.nice += job.priority[name] - priority
                else:
                    job.fixed = priority
                self._state.priorities.changed(job, self._state.now)

    def change_partition(self, name: str, fields: Mapping[str, Any], now: float) -> None:
        """A partition gets new values.

        Args:
            name: its name.
            fields: the values, by the names that they have in `PartitionLine`.
            now: the time, in seconds.
        """
        self.advance(now)
        partition = next(each for each in self.cluster.partitions if each.name == name)
        if fields.get("default"):
            for other in self.cluster.partitions:
                self.cluster.change_partition(other, {"default": False})
        self.cluster.change_partition(partition, fields)
        for job in self.jobs.values():
            if job.stage is JobStage.PENDING and partition in job.partitions:
                self._look_again(job)
        self._state.others += 1
        self._state.ask()

    def free_nodes(self, within: int, start: float, end: float) -> int:
        """The nodes that a reservation can have: without jobs whose limits are later than its begin, and not reserved.

        Args:
            within: the nodes to look at.
            start, end: the times of the reservation, in seconds.
        """
        busy = 0
        for job in self._state.running.values():
            if job.placement is not None and job.end > start:
                busy |= job.placement.nodes
        for name in self.reservations.names():
            other = self.reservations.get(name)
            if other is not None and other.begin < end and start < other.end:
                busy |= other.nodes
        return self.available & within & ~busy

    def _look_again(self, job: SlurmJob) -> None:
        """The loops look at a job anew before they have it in the queue."""
        if job in self._queue:
            self._queue.remove(job)
            self._waiting.add(job)
        else:
            self._waiting.look([job.id])

    def _change_limit(self, job: SlurmJob, minutes: float) -> None:
        """A running job has another limit."""
        if job.gives_way:
            return
        state, before = self._state, min(job.limit, FOREVER)
        job.limit = minutes
        self._endings.move_limit(job, max(job.end + 60 * (min(minutes, FOREVER) - before), float(state.second)))
        state.others += 1

    def cancel(self, job: SlurmJob, now: float) -> None:
        """A job is cancelled."""
        self.advance(now)
        if job.stage is JobStage.PENDING:
            self._endings.refuse(job, "it was cancelled", FinalJobState.COMPLETED_KILLED)
            self._endings.keep(job)
            self._state.ask()
        elif job.stage is JobStage.RUNNING:
            self._endings.kill([job])

    def give_up(self, now: float) -> None:
        """Cancel all jobs at once, as none can start. Those that wait for the ends of others do not start, either.

        Suspended jobs that nobody lets go on are killed.
        """
        self.advance(now)
        self._endings.kill([job for job in self._state.running.values() if job.stage is JobStage.RUNNING])
        for job in [job for job in self.jobs.values() if job.stage is JobStage.PENDING]:
            self._endings.refuse(job, "it was cancelled", FinalJobState.COMPLETED_KILLED)

    def fail(self, nodes: int, now: float) -> None:
        """Nodes are down: the jobs on them are lost, or run again."""
        self.advance(now)
        self._state.others += 1
        self._state.nodes.goes_down(nodes)
        lost = [job for job in self._state.running.values() if job.stage is JobStage.RUNNING and job.is_on(nodes)]
        for het in [job.het for job in lost if job.het is not None and (job.offset or not job.requeues)]:
            lost += [job for job in het.jobs() if job.stage is JobStage.RUNNING and job not in lost]
        for job in filter(lambda job: job.requeues, lost):
            self._endings.requeue(job)
        self._endings.kill(lost)
        self._state.ask()

    def withdraw(self, nodes: int, now: float, how: Callable[[NodeStates, int], None] = NodeStates.leave) -> None:
        """No job starts on nodes any more, as an event says; or as an operator does, with another method."""
        self.advance(now)
        self._state.others += 1
        how(self._state.nodes, nodes)
        self._clock.renew(now)

    def give_back(self, nodes: int, now: float, how: Callable[[NodeStates, int], bool] = NodeStates.return_) -> None:
        """Nodes are back. The first loop sees them in its next run, and runs because of those that were never there."""
        self.advance(now)
        self._state.others += 1
        if how(self._state.nodes, nodes):
            self._state.ask()
        self._clock.renew(now)

    def ask(self, now: float) -> None:
        """An operator has changed something, so the first loop runs soon."""
        self.advance(now)
        self._state.ask()

    def reserve(self, reservation: NodeReservation, now: float) -> None:
        """A reservation is made."""
        self.advance(now)
        self._state.others += 1
        self.reservations.add(reservation)
        self._waiting.look(job.id for job in self.jobs.values() if job.reservation == reservation.name)
        self._state.ask()

    def unreserve(self, name: str, now: float) -> None:
        """A reservation is deleted."""
        self.advance(now)
        self._state.others += 1
        if (reservation := self.reservations.get(name)) is not None:
            self._drop(reservation)
            self._state.ask()


def _row_of(job: SlurmJob) -> tuple[str, ...]:
    """The jobs among which a command moves a job."""
    return job.user, job.partitions[0].name, job.account, job.qos
