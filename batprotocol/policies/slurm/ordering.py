"""The priorities as the controller asks for them: numbers in the order of submissions, or those of many factors."""

from __future__ import annotations

import math

from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.policies.slurm.priorities import FirstComeNumbers, JobFacts, Multifactor
from batprotocol.policies.slurm.values import FOREVER
from batprotocol.slurm.accounting import Accounting
from batprotocol.slurm.configuration import Configuration

__all__ = ["Basic", "Factors", "ordering_of"]


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
        self._arrays: dict[str, int] = {}

    def submitted(self, job: SlurmJob, now: float) -> None:
        """A job comes: it gets its first priority. The tasks of an array have the same one."""
        value = self._arrays.get(job.array) if job.array is not None else None
        if value is None:
            value = self._numbers.take(job.nice)
            if job.array is not None:
                self._arrays[job.array] = value
        job.priority = dict.fromkeys((each.name for each in job.partitions), value)

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
        facts = JobFacts(
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
        )
        job.priority = dict(self.priorities.submitted(facts, now))

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
