"""The choice of nodes as the loops see it: what a job gets now, and when it gets something at the earliest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from batprotocol.policies.slurm.jobs import NodeShare, SlurmJob
from batprotocol.policies.slurm.space import NodeReleases
from batprotocol.policies.slurm.values import ClusterPartition

__all__ = ["NodeSelector", "PossibleStart"]


class PossibleStart(NamedTuple):
    """When and where a job can start.

    Attributes:
        start: the second; not after now if it can start at once.
        placement: its nodes.
    """

    start: int
    placement: NodeShare


class NodeSelector(Protocol):
    """The nodes, with what running jobs have of them."""

    @property
    def used(self) -> int:
        """The nodes that have jobs."""

    @property
    def open(self) -> int:
        """The nodes that have something left for jobs."""

    def take(self, job: SlurmJob) -> None:
        """A job starts on its placement."""

    def give_back(self, job: SlurmJob) -> None:
        """A job has left its nodes."""

    def first_end(self) -> float:
        """When the limit of a running job ends first; infinity: none runs."""

    def frees(self) -> NodeReleases | None:
        """When nodes are free of running jobs; None if jobs share nodes."""

    def is_too_spread(self, job: SlurmJob, nodes: int) -> bool:
        """Whether nodes are at more switches than a job asks for."""

    def now(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, without: Iterable[SlurmJob] = ()
    ) -> NodeShare | None:
        """The share that a job gets of these nodes now; None if they are not enough.

        Args:
            job: the job.
            partition: the partition that it is to run in.
            nodes: the nodes that it may have.
            without: running jobs whose share counts as free.
        """

    def earliest(
        self,
        job: SlurmJob,
        partition: ClusterPartition,
        nodes: int,
        now: int,
        without: Iterable[SlurmJob] = (),
        late: int = 0,
    ) -> PossibleStart | None:
        """When and where a job can start, if running jobs end at their limits; None: never. It leaves out CPUs.

        Args:
            job: the job.
            partition: the partition that it is to run in.
            nodes: the nodes that it may have.
            now: the second.
            without: running jobs whose share counts as free.
            late: a start after this second is too late, so that its nodes may be left out; 0: none is.
        """
