"""The starts that are possible for a job, also if others give way to it, and whether its nodes are at few switches.

This module must not know limits and loops.
"""

from __future__ import annotations

from collections.abc import Mapping

from batprotocol.policies.slurm.jobs import JobStage, NodeShare, SlurmJob
from batprotocol.policies.slurm.preempting import candidates_of, victims_of
from batprotocol.policies.slurm.selecting import NodeSelector, PossibleStart
from batprotocol.policies.slurm.selecting.tree import notes_patience
from batprotocol.policies.slurm.space import NodeReleases
from batprotocol.policies.slurm.values import ClusterPartition, SlurmCluster
from batprotocol.policies.slurm.yielding import PartitionPreemption

__all__ = ["PossibleStarts"]


class PossibleStarts:
    """The chances of jobs.

    Args:
        cluster: the cluster.
        selection: its nodes.
        running: the running jobs; the owner changes them.
        yields: which jobs give way to which others.

    Attributes:
        any_switches: how many jobs have taken any switches, as they had waited for few of them long enough.
    """

    def __init__(
        self,
        cluster: SlurmCluster,
        selection: NodeSelector,
        running: Mapping[str, SlurmJob],
        yields: PartitionPreemption,
    ) -> None:
        self._cluster, self._selection, self._running, self._yields = cluster, selection, running, yields
        self._spread: set[SlurmJob] = set()  # jobs whose nodes were at too many switches
        self.any_switches = 0

    def now(self, job: SlurmJob, partition: ClusterPartition, nodes: int, second: int) -> NodeShare | None:
        """What a job gets of these nodes now; None if they are not enough."""
        found = self._selection.now(job, partition, nodes)
        if found is None and self._takes_any_switches(job, second):
            found = self._selection.now(job, partition, nodes)
        if job.leaves and job.misses_leaves:
            self._spread.add(job)
        return found

    def earliest(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, now: int, late: int
    ) -> PossibleStart | None:
        """When and where a job can start on these nodes; the nodes do not matter if it is after `late`, unless 0."""
        leaves, job.leaves = 0 if self._takes_any_switches(job, now) else job.leaves, 0
        found = self._selection.earliest(job, partition, nodes, now, late=late)
        job.leaves = leaves
        if found is not None and self._selection.is_too_spread(job, found.placement.nodes):
            self._spread.add(job)
            return None  # although it would have few switches later
        if not self._cluster.preempts or (found is not None and found.start <= now):
            return found
        gone = self._candidates(job, partition, nodes, now)
        return self._selection.earliest(job, partition, nodes, now, gone) if gone else found

    def _takes_any_switches(self, job: SlurmJob, second: int) -> bool:
        takes = notes_patience(job, second)
        self.any_switches += takes
        return takes

    def frees(self, job: SlurmJob) -> NodeReleases | None:
        """When nodes are free of running jobs, if a start depends on nothing else; None: it does."""
        return None if self._cluster.preempts or job.leaves else self._selection.frees()

    def victims(self, job: SlurmJob, partition: ClusterPartition, nodes: int, second: int) -> list[SlurmJob]:
        """The jobs that give way so that a job can start on these nodes; none if that is not possible."""
        candidates = self._candidates(job, partition, nodes, second) if self._cluster.preempts else []
        found = victims_of(candidates, lambda gone: self._selection.now(job, partition, nodes, gone))
        return [] if found is None else found[0]

    def _candidates(self, job: SlurmJob, partition: ClusterPartition, nodes: int, second: int) -> list[SlurmJob]:
        youngest, running = self._cluster.preempt_youngest, self._running.values()
        return candidates_of(running, job, partition, nodes, self._yields, second, youngest_first=youngest)

    def time_helps(self) -> bool:
        """Whether time alone helps a job: it takes any switches later, or running jobs give way only then."""
        if self._cluster.preempts and any(map(self._yields.exempt, self._running.values())):
            return True
        return self._is_any_impatient()

    def _is_any_impatient(self) -> bool:
        """Whether a job waits for few switches, and takes any after some time."""
        self._spread = {job for job in self._spread if job.leaves and job.stage is JobStage.PENDING}
        return bool(self._spread)
