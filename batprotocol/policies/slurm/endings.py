"""How jobs leave their nodes: they end, are killed at a limit, give way or run again, and nodes are cleaned after them.

This module must not know how jobs get nodes.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import Final

from batprotocol.model import FinalJobState
from batprotocol.policies.slurm.jobs import JobStage, SlurmJob
from batprotocol.policies.slurm.limits import TimeLimits
from batprotocol.policies.slurm.state import ControllerState
from batprotocol.policies.slurm.values import PreemptMode

__all__ = ["Endings"]

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
        mine.waiting.ended(job, state, mine.now)

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
        if self._state.rules.yields.mode(job) == PreemptMode.REQUEUE and job.requeues:
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
