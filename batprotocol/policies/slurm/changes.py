"""The changes that operators make to jobs: they hold, release and update them, and have jobs run again.

After each of them, Slurm's first loop has something to do. This module must not know the words of commands.
"""

from __future__ import annotations

from typing import Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.policies.slurm.endings import Endings
from batprotocol.policies.slurm.jobs import JobStage, SlurmJob
from batprotocol.policies.slurm.state import ControllerState
from batprotocol.policies.slurm.values import FOREVER, ClusterPartition

__all__ = ["Changes", "JobUpdate"]

_USUAL: Final = 0
"""The nice value of jobs whose priority an operator has set."""


class JobUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """New values of a job; None: as before.

    Attributes:
        limit: the time limit in minutes, >= 0; infinity: none.
        nice: what is subtracted from its priority.
        priority: its priority from now on, whatever its factors are, >= 1.
        qos: its quality of service.
        partitions: the partitions that it can run in.
        required: the nodes that it must have.
        begin: when it may start at the earliest.
    """

    limit: float | None = None
    nice: int | None = None
    priority: int | None = None
    qos: str | None = None
    partitions: tuple[ClusterPartition, ...] | None = None
    required: int | None = None
    begin: float | None = None


class Changes:
    """Changes jobs.

    Args:
        state: the state of the controller.
        endings: how jobs end.
    """

    def __init__(self, state: ControllerState, endings: Endings) -> None:
        self._state, self._endings = state, endings

    def hold(self, job: SlurmJob) -> None:
        """A job that waits is held: its priority is 0."""
        state = self._state
        if job.stage is not JobStage.PENDING:
            return
        if not job.is_held:
            job.is_held = True
            self._wait(job)
            state.priorities.held(job)
        state.ask()

    def release(self, job: SlurmJob) -> None:
        """A job that was held waits again, with a new priority."""
        if job.is_held:
            job.is_held, job.fixed = False, None
            self._state.priorities.released(job, self._state.now)
            self._state.waiting.note([job.id])
        self._state.ask()

    def requeue(self, job: SlurmJob) -> None:
        """A job that runs, or has ended not long ago, runs again later."""
        if not job.requeues:
            return
        if job.stage is JobStage.RUNNING:
            self._endings.requeue(job)
            self._endings.kill([job])
        elif job.stage is JobStage.DONE:
            self._endings.revive(job)

    def update(self, job: SlurmJob, new: JobUpdate) -> None:
        """A job gets new values. Of a running job, only the limit can change.

        Raises:
            InputError: it may not have its new quality of service or partitions; it keeps the old ones.
        """
        state = self._state
        if job.stage is JobStage.RUNNING and new.limit is not None:
            self._limit(job, new.limit)
        if job.stage is JobStage.PENDING:
            self._wait(job)
            job.limit = job.limit if new.limit is None else new.limit
            job.required = job.required if new.required is None else new.required
            job.begin = job.begin if new.begin is None else new.begin
            self._place(job, new)
            if new.priority is not None and not job.is_held:
                job.fixed, job.nice = new.priority, _USUAL
            if new.nice is not None and job.fixed is None:
                job.nice = new.nice
            if not job.is_held:
                state.priorities.changed(job, state.now)
        state.ask()

    def _place(self, job: SlurmJob, new: JobUpdate) -> None:
        """A job has another quality of service, or other partitions."""
        if new.qos is None and new.partitions is None:
            return
        before = job.qos, job.partitions
        rules = self._state.rules
        rules.forgotten(job)
        job.qos, job.partitions = new.qos or job.qos, new.partitions or job.partitions
        try:
            rules.submitted(job)
        except InputError:
            job.qos, job.partitions = before
            rules.submitted(job)
            raise

    def _wait(self, job: SlurmJob) -> None:
        """The loops look at a job anew before they have it in the queue."""
        if job in self._state.queue:
            self._state.queue.remove(job)
            self._state.waiting.add(job)
        else:
            self._state.waiting.note([job.id])

    def _limit(self, job: SlurmJob, minutes: float) -> None:
        """A running job has another limit."""
        if job.gives_way:
            return
        state, before = self._state, min(job.limit, FOREVER)
        state.selection.give_back(job)
        job.limit = minutes
        job.end = max(job.end + 60 * (min(minutes, FOREVER) - before), float(state.second))
        state.selection.take(job)
        state.others += 1
        self._endings.note_limit(job)
