"""The rules of a site: whom Slurm refuses, and who waits although there are nodes - licences, limits and access.

This module must not know nodes and loops.
"""

from __future__ import annotations

from collections import Counter

from batprotocol.errors import InputError
from batprotocol.policies.slurm.accounts import Keeper, Members
from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.policies.slurm.licenses import Licenses
from batprotocol.policies.slurm.values import Partition
from batprotocol.policies.slurm.yielding import ByPartition
from batprotocol.sites.slurm.accounting import Accounting

__all__ = ["Rules"]


class Rules:
    """The rules of a site.

    Args:
        keeper: keeps account of limits; by default there are none.
        licenses: the licences; by default there are none.
        enforces: whether a job beyond the limits of a partition is refused: `no` (it waits), `any` or `all`
            (EnforcePartLimits).
        yields: which jobs give way to which others; by default those of lower partitions.
    """

    def __init__(
        self,
        keeper: Keeper | None = None,
        licenses: Licenses | None = None,
        enforces: str = "no",
        yields: ByPartition | None = None,
    ) -> None:
        self._keeper = keeper or Keeper(Members(Accounting()))
        self.licenses, self._enforces = licenses or Licenses({}), enforces
        self.yields = yields or ByPartition()
        self._arrays: Counter[str] = Counter()

    def submitted(self, job: SlurmJob) -> None:
        """A job is submitted. Its partitions are then those that it may use.

        Raises:
            InputError: it is refused, with Slurm's reason.
        """
        self.licenses.check(job)
        self._enter(job)
        self._keeper.submitted(job)

    def _enter(self, job: SlurmJob) -> None:
        """Leave out the partitions that a job may not use."""
        standing = self._keeper.members.standing(job, job.partitions[0].name)
        job.quality = job.qos if standing.qos is None else standing.qos.name
        who = job.user, standing.account, job.group, job.quality, job.reservation
        reasons = {each.name: each.access.refusal(*who) for each in job.partitions}
        allowed = tuple(each for each in job.partitions if not reasons[each.name])
        if not allowed:
            raise InputError(f"{reasons[job.partitions[0].name]} ({job.partitions[0].name})")
        fitting = [each for each in allowed if each.fits(job.min_nodes, job.limit)]
        if (self._enforces == "all" and len(fitting) < len(allowed)) or (self._enforces == "any" and not fitting):
            raise InputError(
                "Requested partition configuration not available now: it asks for too many nodes or minutes"
            )
        job.partitions = allowed

    def forgotten(self, job: SlurmJob) -> None:
        """A job is over, or was cancelled before it ran."""
        self._keeper.forgotten(job)

    def started(self, job: SlurmJob) -> None:
        """A job starts."""
        assert job.placement is not None
        job.reason = ""
        if job.array is not None:
            self._arrays[job.array] += 1
        self.licenses.take(job)
        self._keeper.started(job, job.placement.nodes.bit_count(), job.allocated_cpus)

    def ended(self, job: SlurmJob, now: float) -> None:
        """A job ends; its nodes need not be clean yet."""
        if job.array is not None:
            self._arrays[job.array] -= 1
        self._keeper.ended(job, now)

    def left(self, job: SlurmJob) -> None:
        """The nodes of a job that has ended are clean. Until then, it has its licences."""
        self.licenses.give_back(job)

    def charge(self, now: float) -> bool:
        """Charge what jobs have used, as Slurm does when it computes priorities; returns whether limits may change."""
        if self._keeper.has_limits:
            self._keeper.charge(now)
        return self._keeper.has_limits

    def array_may_start(self, job: SlurmJob) -> bool:
        """Whether the array of a job has fewer running tasks than it may have."""
        return job.array is None or not job.array_limit or self._arrays[job.array] < job.array_limit

    def may_start(self, job: SlurmJob, partition: Partition) -> bool:
        """Whether limits allow a job to start, whatever the nodes are. If not, it has the reason."""
        job.reason = self._keeper.before(job, partition)
        return not job.reason

    def lacks_licenses(self, job: SlurmJob, second: int) -> bool:
        """Whether a licence of a job that would start now is taken by others."""
        return bool(job.licenses) and self.licenses.lacks(job, second)

    def is_limited(self, job: SlurmJob, partition: Partition, nodes: int = 0, cpus: int = 0) -> bool:
        """Whether a limit keeps a job waiting that could have so many nodes and CPUs. If so, it has the reason.

        Without nodes, those count that the job asks for: limits come first where there are no nodes for it, too.
        """
        job.reason = self._keeper.after(job, partition, nodes or job.min_nodes, cpus or job.cpus)
        return bool(job.reason)
