"""Which running jobs give way to which others, and how: by the tiers of partitions, or by qualities of service.

This module must not know nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.policies.slurm.values import Partition, PreemptMode
from batprotocol.slurm.accounting import Qos

__all__ = ["ByPartition", "ByQos"]

_MODES = {"cancel": PreemptMode.CANCEL, "requeue": PreemptMode.REQUEUE}


class ByPartition:
    """preempt/partition_prio: jobs of lower tiers give way."""

    def is_below(self, job: SlurmJob, other: SlurmJob, partition: Partition) -> bool:
        """Whether a running job gives way to another one that is to start in a partition."""
        return job.partition is not None and job.partition.tier < partition.tier and self.mode(job) != PreemptMode.OFF

    def height(self, job: SlurmJob) -> int:
        """Jobs of a larger height come first, as others give way to them. Tiers count later."""
        return 0

    def rank(self, job: SlurmJob) -> int:
        """Jobs of a lower rank give way first."""
        return 0 if job.partition is None else job.partition.tier

    def mode(self, job: SlurmJob) -> str:
        """The fate of a job that gives way: a `PreemptMode`."""
        return PreemptMode.OFF if job.partition is None else job.partition.preempt_mode

    def grace(self, job: SlurmJob) -> int:
        """The seconds that a job has before it is killed."""
        return 0 if job.partition is None else job.partition.grace


class ByQos(ByPartition):
    """preempt/qos: jobs give way to those of the qualities of service that name theirs (Preempt).

    Args:
        qos: the qualities of service, by name.
        mode: the fate of jobs whose quality names none.
    """

    def __init__(self, qos: Mapping[str, Qos], mode: str) -> None:
        self._qos, self._mode = qos, _MODES.get(mode, PreemptMode.OFF)
        self._heights = dict.fromkeys(qos, 0)
        for _ in range(len(qos)):  # longer chains go in circles
            for name, each in qos.items():
                below = [self._heights[other] for other in each.preempts if other in qos and other != name]
                self._heights[name] = min(1 + max(below, default=-1), len(qos))

    def height(self, job: SlurmJob) -> int:
        """How many qualities of service are below that of a job, of which each gives way to the next."""
        return self._heights.get(job.quality, 0)

    def is_below(self, job: SlurmJob, other: SlurmJob, partition: Partition) -> bool:
        """Whether a running job gives way to another one."""
        mine, others = self._qos.get(job.quality), self._qos.get(other.quality)
        return mine is not None and others is not None and mine.name in others.preempts and self.mode(job) != "OFF"

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
