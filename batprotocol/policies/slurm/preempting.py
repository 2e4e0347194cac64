"""The jobs that give way to another one (preempt/partition_prio): those of lower partitions, as few as suffice.

This module must not know how jobs give way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from batprotocol.policies.slurm.jobs import JobStage, NodeShare, SlurmJob
from batprotocol.policies.slurm.values import ClusterPartition
from batprotocol.policies.slurm.yielding import PartitionPreemption

__all__ = ["candidates_of", "grace_end", "may_preempt", "victims_of"]


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
