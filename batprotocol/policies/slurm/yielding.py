"""Which running jobs give way to which others, and how: by the tiers of partitions, or by qualities of service.

This module must not know nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.policies.slurm.values import Partition, PreemptMode
from batprotocol.sites.slurm.accounting import Qos
from batprotocol.sites.slurm.configuration import Preemption

__all__ = ["ByPartition", "ByQos", "yielding_of"]

_MODES = {"cancel": PreemptMode.CANCEL, "requeue": PreemptMode.REQUEUE}


def yielding_of(preemption: Preemption, qos: Mapping[str, Qos]) -> ByPartition:
    """The rules of a configuration.

    Args:
        preemption: what slurm.conf says.
        qos: the qualities of service, by name.
    """
    if preemption.plugin == "qos":
        return ByQos(qos, preemption.mode, preemption.exempt_time)
    return ByPartition(preemption.exempt_time)


class ByPartition:
    """preempt/partition_prio: jobs of lower tiers give way.

    Args:
        exempt: the seconds that each job runs before it gives way (PreemptExemptTime).
    """

    def __init__(self, exempt: float = 0.0) -> None:
        self._exempt = exempt

    is_above: Callable[[SlurmJob, SlurmJob], bool] | None = None
    """Whether a job comes before another one in the queue, as that one would give way to it; None: tiers say so."""

    def is_below(self, job: SlurmJob, other: SlurmJob, partition: Partition) -> bool:
        """Whether a running job gives way to another one that is to start in a partition."""
        return job.partition is not None and job.partition.tier < partition.tier and self.mode(job) != PreemptMode.OFF

    def rank(self, job: SlurmJob) -> int:
        """Jobs of a lower rank give way first."""
        return 0 if job.partition is None else job.partition.tier

    def mode(self, job: SlurmJob) -> str:
        """The fate of a job that gives way: a `PreemptMode`."""
        return PreemptMode.OFF if job.partition is None else job.partition.preempt_mode

    def grace(self, job: SlurmJob) -> int:
        """The seconds that a job has before it is killed."""
        return 0 if job.partition is None else job.partition.grace

    def exempt(self, job: SlurmJob) -> float:
        """The seconds that a job runs before it gives way."""
        return self._exempt


class ByQos(ByPartition):
    """preempt/qos: jobs give way to those of the qualities of service that name theirs (Preempt).

    Args:
        qos: the qualities of service, by name.
        mode: the fate of jobs whose quality names none.
        exempt: the seconds that jobs whose quality names none run before they give way.
    """

    def __init__(self, qos: Mapping[str, Qos], mode: str, exempt: float = 0.0) -> None:
        super().__init__(exempt)
        self._qos, self._mode = qos, _MODES.get(mode, PreemptMode.OFF)

    def is_above(self, job: SlurmJob, other: SlurmJob) -> bool:
        """Whether another job would give way to a job."""
        mine = self._qos.get(job.quality)
        return mine is not None and other.quality in mine.preempts

    def is_below(self, job: SlurmJob, other: SlurmJob, partition: Partition) -> bool:
        """Whether a running job gives way to another one."""
        return self.is_above(other, job) and self.mode(job) != PreemptMode.OFF

    def rank(self, job: SlurmJob) -> int:
        """The priority of its quality of service."""
        found = self._qos.get(job.quality)
        return 0 if found is None else found.priority

    def mode(self, job: SlurmJob) -> str:
        """The fate of a job that gives way: a `PreemptMode`."""
        found = self._qos.get(job.quality)
        return self._mode if found is None or found.preempt_mode is None else _MODES.get(found.preempt_mode, "OFF")

    def grace(self, job: SlurmJob) -> int:
        """The seconds that a job has before it is killed."""
        found = self._qos.get(job.quality)
        return 0 if found is None else int(found.grace_time)

    def exempt(self, job: SlurmJob) -> float:
        """The seconds that a job runs before it gives way."""
        found = self._qos.get(job.quality)
        return self._exempt if found is None or found.exempt_time is None else found.exempt_time
