"""The priorities as the controller asks for them: numbers in the order of submissions, or those of many factors."""

from __future__ import annotations

import math
from typing import Final

from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.policies.slurm.priorities import FirstComeNumbers, JobFacts, Multifactor
from batprotocol.policies.slurm.values import FOREVER
from batprotocol.sites.slurm.accounting import Accounting
from batprotocol.sites.slurm.configuration import Configuration

__all__ = ["Basic", "Factors", "ordering_of"]

_TOGETHER: Final = 0.5
"""Tasks of an array that come, or are released, within so many seconds have the same priority."""


def ordering_of(configuration: Configuration, accounting: Accounting, since: float, epoch: float) -> Basic | Factors:
    """The priorities that a configuration asks for.

    Args:
        configuration: the configuration.
        accounting: users, accounts and qualities of service.
        since: when priorities are computed first.
        epoch: the time 0, in seconds since 1970.
    """
    if configuration.priority.plugin == "basic":
        return Basic()
    return Factors(Multifactor(configuration, accounting, since=since, epoch=epoch))


class Basic:
    """priority/basic: each job has a smaller priority than the one before it."""

    def __init__(self) -> None:
        self._numbers = FirstComeNumbers()
        self._arrays: dict[str, tuple[int, float]] = {}  # the number of the tasks that come together, and until when
        self._bases: dict[str, int] = {}

    def submitted(self, job: SlurmJob, now: float) -> None:
        """A job comes: it gets its first priority. The tasks of an array have the same one."""
        if job.is_held:
            self.held(job)
        else:
            self._take(job, now)

    def _take(self, job: SlurmJob, now: float) -> None:
        known = self._arrays.get(job.array, (0, -math.inf)) if job.array is not None else (0, -math.inf)
        number = known[0] if known[1] >= now else self._numbers.take()
        if job.array is not None:
            self._arrays[job.array] = number, now + _TOGETHER
        self._bases[job.id] = number
        self._set(job, number - job.nice)

    def _set(self, job: SlurmJob, value: int) -> None:
        job.priority = dict.fromkeys((each.name for each in job.partitions), max(value, 1))

    def held(self, job: SlurmJob) -> None:
        """A job that waits is held: its priority is 0."""
        job.priority = dict.fromkeys((each.name for each in job.partitions), 0)

    def released(self, job: SlurmJob, now: float) -> None:
        """A job is held no longer: it comes behind all others."""
        self._take(job, now)

    def changed(self, job: SlurmJob, now: float) -> None:
        """An operator has changed a job that waits and is not held."""
        self._set(job, job.fixed if job.fixed is not None else max(self._bases[job.id] - job.nice, 2))

    def again(self, job: SlurmJob, now: float) -> None:
        """A job is to run again: it keeps its priority."""

    def eligible(self, job: SlurmJob, now: float) -> None:
        """A job could start from now on."""

    def started(self, job: SlurmJob, now: float) -> None:
        """A job starts."""

    def ended(self, job: SlurmJob, now: float) -> None:
        """A job is over, or has left its nodes."""

    def next_time(self) -> float:
        """When the priorities are computed next: never."""
        return math.inf

    def renew(self, now: float) -> bool:
        """Compute the priorities of jobs: they stay as they are."""
        return False


class Factors:
    """priority/multifactor.

    Args:
        priorities: the factors.
    """

    def __init__(self, priorities: Multifactor) -> None:
        self.priorities = priorities
        self._jobs: dict[int, SlurmJob] = {}
        self._keys: dict[str, int] = {}

    def submitted(self, job: SlurmJob, now: float) -> None:
        """A job comes: it gets its first priority."""
        key = self._keys[job.id] = len(self._keys)
        self._enter(key, job, now)

    def _enter(self, key: int, job: SlurmJob, now: float) -> None:
        self._jobs[key] = job
        job.priority = dict(self.priorities.submitted(_facts(key, job), now))
        if job.is_held:
            self.held(job)

    def held(self, job: SlurmJob) -> None:
        """A job that waits is held: its priority is 0."""
        key = self._keys[job.id]
        self.priorities.held(key)
        job.priority = dict(self.priorities.priorities(key))

    def released(self, job: SlurmJob, now: float) -> None:
        """A job is held no longer: its priority is computed anew."""
        key = self._keys[job.id]
        self.priorities.changed(_facts(key, job), now)
        job.priority = dict(self.priorities.released(key, now))

    def changed(self, job: SlurmJob, now: float) -> None:
        """An operator has changed a job that waits and is not held."""
        job.priority = dict(self.priorities.changed(_facts(self._keys[job.id], job), now))

    def again(self, job: SlurmJob, now: float) -> None:
        """A job is to run again: it is as new."""
        self._enter(self._keys[job.id], job, now)

    def eligible(self, job: SlurmJob, now: float) -> None:
        """A job could start from now on."""
        self.priorities.eligible(self._keys[job.id], job.eligible)

    def started(self, job: SlurmJob, now: float) -> None:
        """A job starts."""
        assert job.partition is not None
        assert job.placement is not None
        nodes = job.placement.nodes.bit_count()
        amounts = {"cpu": float(job.allocated_cpus), "node": float(nodes), "mem": float(job.allocated_memory)}
        self.priorities.started(self._keys[job.id], now, job.partition.name, amounts)

    def ended(self, job: SlurmJob, now: float) -> None:
        """A job is over, or has left its nodes."""
        key = self._keys[job.id]
        self._jobs.pop(key, None)
        self.priorities.ended(key, now)

    def next_time(self) -> float:
        """When the priorities are computed next; infinity: never."""
        return self.priorities.next_time()

    def renew(self, now: float) -> bool:
        """Compute the priorities of jobs; returns whether one has changed."""
        changed = self.priorities.renew(now)
        for key in changed:
            job = self._jobs.get(key)
            if job is not None:
                job.priority = dict(self.priorities.priorities(key))
        return bool(changed)


def _facts(key: int, job: SlurmJob) -> JobFacts:
    """The facts of a job for its priority."""
    return JobFacts(
        number=key,
        user=job.user,
        account=job.account,
        qos=job.qos,
        partitions=tuple(each.name for each in job.partitions),
        nodes=job.min_nodes,
        cpus=job.cpus,
        minutes=None if job.limit >= FOREVER else job.limit,
        nice=job.nice,
        submitted=job.submitted,
        fixed=job.fixed,
    )
