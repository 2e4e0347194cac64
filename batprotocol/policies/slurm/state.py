"""The state that the parts of a controller share, and how jobs leave their nodes.

Jobs end, are killed at a limit, give way or run again, and nodes are cleaned after them.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import Final, Protocol

from batprotocol.model import FinalJobState
from batprotocol.policies.rules import PreemptMode
from batprotocol.policies.slurm.clock import LoopClock, Phases
from batprotocol.policies.slurm.cluster import ConfiguredCluster
from batprotocol.policies.slurm.consumable import Consumable
from batprotocol.policies.slurm.queue import IneligibleJobs, JobStage, SlurmJob, SlurmQueue
from batprotocol.policies.slurm.reservations import NodeReservations
from batprotocol.policies.slurm.rules import SlurmRules
from batprotocol.policies.slurm.selection import Linear, NodeSelector, PossibleStart

__all__ = [
    "Consumable",
    "ControllerActions",
    "ControllerState",
    "Endings",
    "JobPriorities",
    "Linear",
    "NodeSelector",
    "PossibleStart",
    "TimeLimits",
    "selection_of",
]


def selection_of(cluster: ConfiguredCluster, epoch: int, *, is_quick: bool) -> NodeSelector:
    """The selection of nodes that a cluster has, while no job runs.

    Args:
        cluster: the cluster.
        epoch: the seconds of the day at which the simulation began.
        is_quick: whether it takes short cuts.
    """
    return Linear(cluster, is_quick=is_quick) if cluster.select.is_linear else Consumable(cluster, epoch)


class ControllerActions(Protocol):
    """The actions that a controller has others do."""

    def execute(self, job: SlurmJob) -> bool:
        """Execute a job on its placement; returns whether that is possible."""

    def kill(self, jobs: list[SlurmJob]) -> None:
        """Kill jobs."""

    def again(self, job: SlurmJob) -> None:
        """Register a job once more, and give it its new id."""

    def reject(self, job: SlurmJob, why: str) -> None:
        """A job never runs."""


class JobPriorities(Protocol):
    """The priorities of jobs."""

    def submitted(self, job: SlurmJob, now: float) -> None:
        """A job comes: it gets its first priority."""

    def eligible(self, job: SlurmJob, now: float) -> None:
        """A job could start from now on."""

    def started(self, job: SlurmJob, now: float) -> None:
        """A job starts."""

    def stopped(self, job: SlurmJob, now: float) -> None:
        """A job runs no longer, and its nodes are not clean yet."""

    def ended(self, job: SlurmJob, now: float) -> None:
        """A job is over, or has left its nodes."""

    def next_time(self) -> float:
        """When the priorities are computed next; infinity: never."""

    def again(self, job: SlurmJob, now: float) -> None:
        """A job is to run again."""

    def held(self, job: SlurmJob) -> None:
        """A job that waits is held: its priority is 0."""

    def released(self, job: SlurmJob, now: float) -> None:
        """A job is held no longer: it gets a new priority."""

    def changed(self, job: SlurmJob, now: float) -> None:
        """An operator has changed a job that waits and is not held."""

    def renew(self, now: float) -> bool:
        """Compute the priorities of jobs; returns whether one has changed."""


class ControllerState:
    """The state of a controller.

    Args:
        cluster: the cluster.
        priorities: the priorities of its jobs.
        actions: what it has others do.
        phases: what is left to chance.
        rules: licences, limits and access.
        is_quick: whether it takes short cuts, which change no decision.

    Attributes:
        jobs: the jobs that have not ended, by their first ids; running: those on nodes.
        ended: the jobs that have ended not long ago, in that order.
        now: the time, in seconds.
        available: the nodes that are neither down nor drained.
        completing: the nodes that no job can have yet, as they are not clean.
        others: how often something has changed that the queue does not show.
        idle_runs: how often all of the queue was tried in vain since something happened.
    """

    def __init__(
        self,
        cluster: ConfiguredCluster,
        priorities: JobPriorities,
        actions: ControllerActions,
        phases: Phases,
        rules: SlurmRules,
        *,
        is_quick: bool,
    ) -> None:
        self.cluster, self.priorities, self.actions, self.phases = cluster, priorities, actions, phases
        self.rules, self.is_quick = rules, is_quick
        self.reservations = NodeReservations(int(cluster.loops.bf_resolution), phases.epoch)
        self.selection = selection_of(cluster, phases.epoch, is_quick=is_quick)
        self.queue = SlurmQueue(is_fifo=cluster.is_fifo, is_above=rules.preemption.is_above)
        self.clock = LoopClock(cluster.loops, phases, backfills=cluster.backfills)
        self.waiting = IneligibleJobs()
        self.jobs: dict[str, SlurmJob] = {}
        self.running: dict[str, SlurmJob] = {}
        self.ended: dict[str, SlurmJob] = {}
        self.now = 0.0
        self.available, self.completing = cluster.up, 0
        self.others = self.idle_runs = 0

    @property
    def second(self) -> int:
        """The time in whole seconds, as Slurm sees it."""
        return math.floor(self.now + 1e-6)

    @property
    def changes(self) -> int:
        """A number that is another one after each change that the second loop sees."""
        return self.queue.changes + self.others

    def ask(self) -> None:
        """Something has happened, so both loops have something to do."""
        self.idle_runs = 0
        self.clock.ask(self.now)


class TimeLimits:
    """The time limits of running jobs, in the order in which they are over.

    Those of jobs that have ended are forgotten when their turn comes.
    """

    def __init__(self) -> None:
        self._limits: list[tuple[float, int, SlurmJob, float]] = []
        self._count = 0

    def note(self, job: SlurmJob, end: float) -> None:
        """The limit of a running job is over at a time."""
        self._count += 1
        heappush(self._limits, (end, self._count, job, job.started))

    def first(self) -> float:
        """When the first one is over; infinity: there is none."""
        limits = self._limits
        while limits and (limits[0][2].stage is not JobStage.RUNNING or limits[0][2].started != limits[0][3]):
            heappop(limits)
        return limits[0][0] if limits else math.inf

    def over(self, second: int) -> list[SlurmJob]:
        """The jobs whose limits are over by a second, in the order of their starts; they are forgotten."""
        found = []
        while self.first() <= second:
            found.append(heappop(self._limits)[2])
        return sorted(dict.fromkeys(found), key=lambda job: (job.started, job.number, job.task))


_AGAIN: Final = 121
"""The seconds from the moment when its nodes are clean after which a job that runs again can start."""
_TOGETHER: Final = 0.01
"""Nodes that become clean within so many seconds do so together."""


class Endings:
    """The endings of jobs.

    Args:
        state: the state of the controller.
    """

    def __init__(self, state: ControllerState) -> None:
        self._state = state
        self._limits = TimeLimits()
        self._cleanings: list[tuple[float, int, int, bool, SlurmJob, FinalJobState]] = []

    # Nodes

    def ended(self, job: SlurmJob, state: FinalJobState) -> None:
        """A job has left its nodes."""
        mine = self._state
        if job.id not in mine.running:
            return
        if state == FinalJobState.COMPLETED_WALLTIME_REACHED and job.stage is JobStage.RUNNING:
            job.is_over = True  # Slurm looks at limits now and then only, and frees the nodes then
            return
        if job.stage is JobStage.COMPLETING:
            clean = max(mine.phases.clean(job.own_id, job.killed), mine.now)
        else:
            clean = mine.phases.clean_end(job.own_id, mine.now)
            self._completes(job)
        early = mine.now + mine.phases.others
        if early < clean and job.killed < math.inf:
            heappush(self._cleanings, (early, job.number, job.task, False, job, state))
        heappush(self._cleanings, (clean, job.number, job.task, True, job, state))

    def _completes(self, job: SlurmJob) -> None:
        """A job has ended or is killed, and its nodes are not clean yet."""
        assert job.placement is not None
        job.stage = JobStage.COMPLETING
        mine = self._state
        mine.selection.give_back(job)  # plans have its nodes from now on, but no job starts there
        mine.others += 1
        mine.rules.ended(job, mine.now)
        mine.priorities.stopped(job, mine.now)
        mine.clock.renew(mine.now)
        mine.completing |= job.placement.nodes

    def next_clean(self) -> float:
        """When the nodes of a job are clean next; infinity: there is none."""
        return self._cleanings[0][0] if self._cleanings else math.inf

    def clean(self) -> bool:
        """Nodes of a job are clean; returns whether the first loop runs at once, and not at its next tick.

        The script of a killed job is still there on its first node, which is clean after the others.
        """
        _, _, _, is_last, job, state = heappop(self._cleanings)
        mine = self._state
        if not is_last:
            assert job.placement is not None
            mine.completing &= ~(job.placement.nodes & (job.placement.nodes - 1))
            return False
        self._leave(job, state)
        if job.killed == math.inf and job.own_id not in mine.phases.prompt:
            mine.ask()
            return False
        mine.clock.renew(mine.now)
        soon = mine.now + _TOGETHER
        return not any(
            clean <= soon and is_last and other.killed < math.inf for clean, _, _, is_last, other, _ in self._cleanings
        )

    def _leave(self, job: SlurmJob, state: FinalJobState) -> None:
        """A job leaves its nodes: it is over, or runs again."""
        mine = self._state
        del mine.running[job.id]
        mine.others += 1
        mine.rules.left(job)
        if job.placement is not None:
            mine.completing &= ~job.placement.nodes
        mine.priorities.ended(job, mine.now)
        if job.runs_again:
            self._again(job)
        else:
            job.stage = JobStage.DONE
            self._forget(job, state)
            self._keep(job)

    def _keep(self, job: SlurmJob) -> None:
        """A job that has run can run again for some time."""
        mine = self._state
        ended, oldest = mine.ended, mine.now - mine.cluster.min_age
        while ended and (first := next(iter(ended.values()))).left < oldest:
            del ended[first.id]
        if job.requeues:
            job.left = mine.now
            ended[job.id] = job

    def revive(self, job: SlurmJob) -> None:
        """A job that has ended runs again later."""
        mine = self._state
        if mine.ended.pop(job.id, None) is None or job.left < mine.now - mine.cluster.min_age:
            return
        self.requeue(job)
        job.killed = math.inf
        mine.rules.submitted(job)
        mine.jobs[job.id] = job
        self._again(job)

    def never_began(self, job: SlurmJob) -> None:
        """A job that has nodes cannot be executed there."""
        self._completes(job)
        self._leave(job, FinalJobState.REJECTED)

    # Jobs

    def _again(self, job: SlurmJob) -> None:
        job.stage, job.runs_again, job.restarts = JobStage.PENDING, False, job.restarts + 1
        job.placement, job.eligible, job.is_over = None, math.inf, False
        mine = self._state
        job.submitted = float(mine.second)  # it counts as submitted once its nodes are clean
        job.begin = job.submitted + _AGAIN
        mine.actions.again(job)
        mine.priorities.again(job, mine.now)
        mine.waiting.add(job)

    def _forget(self, job: SlurmJob, state: FinalJobState) -> None:
        """A job is over."""
        mine = self._state
        mine.rules.forgotten(job)
        if mine.jobs.pop(job.id, None) is not None and job.stage is JobStage.PENDING:
            mine.priorities.ended(job, mine.now)
        mine.waiting.remove(job)
        mine.queue.remove(job)
        job.stage = JobStage.DONE
        mine.waiting.ended(job.id, state, mine.now, state.name.lower())

    def refuse(self, job: SlurmJob, why: str, state: FinalJobState = FinalJobState.REJECTED) -> None:
        """A job that waits never runs."""
        self._state.actions.reject(job, why)
        self._forget(job, state)

    def kill(self, jobs: list[SlurmJob]) -> None:
        """Kill running jobs."""
        for job in jobs:
            job.killed = self._state.now
            self._completes(job)
        live = [job for job in jobs if not job.is_over]
        if live:
            self._state.actions.kill(live)
        for job in jobs:
            if job.is_over:  # it has ended by itself, and only its nodes were still its own
                self.ended(job, FinalJobState.COMPLETED_WALLTIME_REACHED)

    def requeue(self, job: SlurmJob) -> None:
        """A running job, which is to be killed, runs again later."""
        job.runs_again = True

    def give_way(self, job: SlurmJob) -> None:
        """A running job gives way to another one, at the end of its grace."""
        if self._state.rules.preemption.terms(job).mode == PreemptMode.REQUEUE and job.requeues:
            self.requeue(job)
        self.kill([job])

    # Limits

    def note_limit(self, job: SlurmJob) -> None:
        """The limit of a running job is new."""
        self._limits.note(job, self._limit_of(job))

    def _limit_of(self, job: SlurmJob) -> float:
        """When the limit of a running job is over, or that of its reservation."""
        assert job.partition is not None
        overtime = 0 if job.gives_way else 60 * max(job.partition.overtime, self._state.cluster.overtime)
        return self._state.reservations.limit_of(job, job.end + overtime)

    def first_limit(self) -> float:
        """When the first limit of a running job is over; infinity: there is none."""
        return self._limits.first()

    def check_limits(self) -> None:
        """Kill the jobs that are over their limits."""
        mine = self._state
        found = self._limits.over(mine.second)
        over = [job for job in found if self._limit_of(job) <= mine.second]
        for job in found:
            if job not in over:  # its reservation was deleted
                self.note_limit(job)
        for job in over:
            if not job.is_over and job.gives_way:
                self.give_way(job)
        self.kill([job for job in over if job.is_over or not job.gives_way])
