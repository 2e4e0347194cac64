"""Preemption: which running jobs give way to which others, and how many of them.

The rules are those of the tiers of partitions (preempt/partition_prio), or of qualities of service (preempt/qos). As
few jobs give way as suffice, those that matter least first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from batprotocol.policies.slurm.cluster import ClusterPartition, PreemptMode
from batprotocol.policies.slurm.queue import JobStage, NodeShare, SlurmJob
from batprotocol.sites.slurm.accounting import SlurmQos
from batprotocol.sites.slurm.configuration import PreemptionParameters

__all__ = [
    "PartitionPreemption",
    "QosPreemption",
    "candidates_of",
    "grace_end",
    "may_preempt",
    "preemption_of",
    "victims_of",
]


_MODES = {"cancel": PreemptMode.CANCEL, "requeue": PreemptMode.REQUEUE}


def preemption_of(preemption: PreemptionParameters, qos: Mapping[str, SlurmQos]) -> PartitionPreemption:
    """The rules of a configuration.

    Args:
        preemption: what slurm.conf says.
        qos: the qualities of service, by name.
    """
    if preemption.plugin == "qos":
        return QosPreemption(qos, preemption.mode, preemption.exempt_time)
    return PartitionPreemption(preemption.exempt_time)


class PartitionPreemption:
    """preempt/partition_prio: jobs of lower tiers give way.

    Args:
        exempt: the seconds that each job runs before it gives way (PreemptExemptTime).
    """

    def __init__(self, exempt: float = 0.0) -> None:
        self._exempt = exempt

    is_above: Callable[[SlurmJob, SlurmJob], bool] | None = None
    """Whether a job comes before another one in the queue, as that one would give way to it; None: tiers say so."""

    def is_below(self, job: SlurmJob, other: SlurmJob, partition: ClusterPartition) -> bool:
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


class QosPreemption(PartitionPreemption):
    """preempt/qos: jobs give way to those of the qualities of service that name theirs (Preempt).

    Args:
        qos: the qualities of service, by name.
        mode: the fate of jobs whose quality names none.
        exempt: the seconds that jobs whose quality names none run before they give way.
    """

    def __init__(self, qos: Mapping[str, SlurmQos], mode: str, exempt: float = 0.0) -> None:
        super().__init__(exempt)
        self._qos, self._mode = qos, _MODES.get(mode, PreemptMode.OFF)

    def is_above(self, job: SlurmJob, other: SlurmJob) -> bool:
        """Whether another job would give way to a job."""
        mine = self._qos.get(job.quality)
        return mine is not None and other.quality in mine.preempts

    def is_below(self, job: SlurmJob, other: SlurmJob, partition: ClusterPartition) -> bool:
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


# As few as suffice


def candidates_of(
    running: Iterable[SlurmJob],
    other: SlurmJob,
    partition: ClusterPartition,
    nodes: int,
    rules: PartitionPreemption,
    second: int,
    *,
    youngest_first: bool = False,
) -> list[SlurmJob]:
    """The running jobs that could give way to a job, those that matter least first.

    Args:
        running: the running jobs.
        other: the job.
        partition: the partition that it is to start in.
        nodes: the nodes that it can have.
        rules: who gives way.
        second: the time in whole seconds. A job that has not run long enough by then does not give way.
        youngest_first: whether those that started last come first; else those of the lowest rank and fewest
            nodes do.
    """
    found = [
        job
        for job in running
        if job.stage is JobStage.RUNNING and job.is_on(nodes) and rules.is_below(job, other, partition)
        if second >= job.started + rules.exempt(job)
    ]
    if youngest_first:
        return sorted(found, key=lambda job: (-job.started, job.number))
    return sorted(found, key=lambda job: (rules.rank(job), _size(job), job.number))


def victims_of(
    candidates: Sequence[SlurmJob], test: Callable[[Sequence[SlurmJob]], NodeShare | None]
) -> tuple[list[SlurmJob], NodeShare] | None:
    """The jobs that give way, and where the job starts then; None if not even all of them suffice.

    Slurm takes jobs away one after the other until there is space. Then it does so once more, with the last one first,
    and the others by the number of nodes that the job can use.

    Args:
        candidates: the jobs that could give way, in order.
        test: what the job gets if some of them are gone.
    """
    order = list(candidates)
    for is_last in (False, True):
        for count in range(1, len(order) + 1):
            placement = test(order[:count])
            if placement is not None:
                break
        else:
            return None
        if is_last or len(order) == 1:
            return [job for job in order[:count] if job.is_on(placement.nodes)], placement
        last, before = order[count - 1], order[: count - 1]
        before.sort(key=lambda job: -_size(job))
        order = [last, *before, *order[count:]]
    return None


def _size(job: SlurmJob) -> int:
    return job.placement.nodes.bit_count() if job.placement is not None else 0


def may_preempt(job: SlurmJob, second: int, wait: float) -> bool:
    """Whether a job has others give way now. Once it has, it waits for them before it does so again."""
    if job.preempts_since > second - wait:
        return False
    if math.isinf(job.preempts_since):
        job.preempts_since = float(second)
    return True


def grace_end(job: SlurmJob, second: int, grace: int) -> float:
    """When a job that is to give way is killed: now, or at the end of its grace time."""
    return job.end if job.gives_way else float(second + grace)
