"""Slurm's rules: who gives way to whom, whom it refuses, and who waits although there are nodes.

Running jobs give way by the tiers of partitions (preempt/partition_prio), or by qualities of service (preempt/qos). As
few of them do as suffice.

Associations and qualities of service have limits. Slurm looks at some of them before it chooses nodes (`before`), and
at those of resources when it has chosen them (`after`). A job that breaks a limit waits, with Slurm's reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from batprotocol.errors import InputError
from batprotocol.policies.rules import PreemptionRules, PreemptionTerms, PreemptMode, ScopeUsage, exceeded
from batprotocol.policies.slurm.cluster import FOREVER, ClusterPartition, members, mode_of
from batprotocol.policies.slurm.fair_share import AccountMembers, JobAssociation, LimitSet, decay_of
from batprotocol.policies.slurm.queue import JobStage, NodeShare, SlurmEntry, SlurmJob
from batprotocol.policies.slurm.reservations import Licenses
from batprotocol.sites.slurm.accounting import Accounting, AccountingLimits, SlurmAssociation, SlurmQos
from batprotocol.sites.slurm.configuration import PreemptionParameters, SlurmConfiguration

__all__ = [
    "AccountLimits",
    "PartitionPreemption",
    "QosPreemption",
    "SlurmRules",
    "UsageTotals",
    "account_limits_of",
    "grace_end",
    "may_preempt",
    "preemption_of",
    "victims_of",
]


# Preemption: which running jobs give way to which others, and how many of them.


def preemption_of(
    preemption: PreemptionParameters, qos: Mapping[str, SlurmQos], *, youngest_first: bool = False
) -> PartitionPreemption:
    """The rules of a configuration.

    Args:
        preemption: what slurm.conf says.
        qos: the qualities of service, by name.
        youngest_first: whether the jobs that started last give way first (preempt_youngest_first).
    """
    if preemption.plugin == "qos":
        return QosPreemption(qos, preemption, youngest_first=youngest_first)
    return PartitionPreemption(preemption.exempt_time, youngest_first=youngest_first)


class PartitionPreemption(PreemptionRules[SlurmEntry, SlurmJob]):
    """preempt/partition_prio: jobs of lower tiers give way.

    Args:
        exempt: the seconds that each job runs before it gives way (PreemptExemptTime).
        youngest_first: whether those that started last give way first; else those of the lowest level and fewest nodes
            do.
    """

    def __init__(self, exempt: float = 0.0, *, youngest_first: bool = False) -> None:
        self._exempt, self._youngest_first = exempt, youngest_first

    is_above: Callable[[SlurmJob, SlurmJob], bool] | None = None
    """Whether a job comes before another one in the queue, as that one would give way to it; None: tiers say so."""

    def terms(self, job: SlurmJob) -> PreemptionTerms:
        partition = job.partition
        if partition is None:
            return PreemptionTerms(exempt=self._exempt)
        return PreemptionTerms(partition.preempt_mode, partition.grace, self._exempt)

    def is_below(self, job: SlurmJob, other: SlurmEntry) -> bool:
        return job.partition is not None and job.partition.tier < other.tier and self._gives_way(job)

    def _gives_way(self, job: SlurmJob) -> bool:
        return self.terms(job).mode != PreemptMode.OFF

    def candidates_on(self, nodes: int, running: Iterable[SlurmJob], other: SlurmEntry, second: int) -> list[SlurmJob]:
        """The jobs on some nodes that may give way to an entry now, those with the least loss first.

        Args:
            nodes: the nodes that the entry can have.
            running: the running jobs.
            other: the entry.
            second: the time in whole seconds. A job that has not run long enough by then does not give way.
        """
        there = (job for job in running if job.stage is JobStage.RUNNING and job.is_on(nodes))
        return self.candidates(there, other, second)

    def level(self, job: SlurmJob) -> int:
        """Jobs of a lower level give way first."""
        return 0 if job.partition is None else job.partition.tier

    def loss(self, job: SlurmJob, now: float) -> tuple[float, ...]:
        if self._youngest_first:
            return -job.started, job.number
        return self.level(job), _size(job), job.number


class QosPreemption(PartitionPreemption):
    """preempt/qos: jobs give way to those of the qualities of service that name theirs (Preempt).

    Args:
        qos: the qualities of service, by name.
        preemption: what slurm.conf says about jobs whose quality says nothing.
        youngest_first: whether those that started last give way first.
    """

    def __init__(
        self, qos: Mapping[str, SlurmQos], preemption: PreemptionParameters, *, youngest_first: bool = False
    ) -> None:
        super().__init__(preemption.exempt_time, youngest_first=youngest_first)
        self._qos, self._gang = qos, preemption.gang
        self._mode = mode_of(preemption.mode, gang=self._gang)

    def is_above(self, job: SlurmJob, other: SlurmJob) -> bool:
        """Whether another job would give way to a job."""
        mine = self._qos.get(job.quality)
        return mine is not None and other.quality in mine.preempts

    def is_below(self, job: SlurmJob, other: SlurmEntry) -> bool:
        return self.is_above(other.job, job) and self._gives_way(job)

    def level(self, job: SlurmJob) -> int:
        """The priority of its quality of service."""
        found = self._qos.get(job.quality)
        return 0 if found is None else found.priority

    def terms(self, job: SlurmJob) -> PreemptionTerms:
        found = self._qos.get(job.quality)
        if found is None:
            return PreemptionTerms(self._mode, 0, self._exempt)
        mode = self._mode if found.preempt_mode is None else mode_of(found.preempt_mode, gang=self._gang)
        exempt = self._exempt if found.exempt_time is None else found.exempt_time
        return PreemptionTerms(mode, int(found.grace_time), exempt)


# As few as suffice


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


def grace_end(job: SlurmJob, second: int, grace: float) -> float:
    """When a job that is to give way is killed: now, or at the end of its grace time."""
    return job.end if job.gives_way else float(second + grace)


class UsageTotals(ScopeUsage):
    """The amounts that the jobs of a scope have, and have spent.

    A node that several of its jobs share counts once.

    Attributes:
        ahead: the resources of those that run, multiplied with the seconds that are left of their limits and with the
            usage factors of their qualities of service.
        spent: their resources multiplied with the seconds that they ran and these factors, also of jobs that have
            ended; with decay.
        wall: the seconds that they ran, multiplied with these factors; with decay.
        nodes: how many of its jobs run on each node.
    """

    __slots__ = ("ahead", "nodes", "spent", "wall")

    def __init__(self) -> None:
        super().__init__()
        self.ahead: Counter[str] = Counter()
        self.spent: dict[str, float] = {}
        self.wall = 0.0
        self.nodes: Counter[int] = Counter()

    def start(self, tres: Mapping[str, int], seconds: int, sign: int = 1, nodes: int = 0) -> None:
        """A job starts `seconds` before its limit on some nodes; with the sign -1, it ends so long before it."""
        self.runs(tres, sign)
        for name, amount in tres.items():
            self.ahead[name] += sign * amount * seconds
        for node in members(nodes):
            self.nodes[node] += sign
        self.nodes = +self.nodes
        if nodes:
            self.tres["node"] = len(self.nodes)

    def without(self, tres: Mapping[str, int], nodes: int) -> Mapping[str, int]:
        """The resources that a job on some nodes would add: its nodes without those that are used already."""
        used = sum(node in self.nodes for node in members(nodes))
        return {**tres, "node": tres.get("node", 0) - used} if used else tres

    def run(self, tres: Mapping[str, int], seconds: float, left: int) -> None:
        """A job has run for some time; `left`: the seconds by which the rest of its limit is shorter."""
        self.wall += seconds
        for name, amount in tres.items():
            self.spent[name] = self.spent.get(name, 0.0) + amount * seconds
            self.ahead[name] -= amount * left

    def decay(self, factor: float) -> None:
        """Usage counts less."""
        self.wall *= factor
        for name in self.spent:
            self.spent[name] *= factor


class _RunningJob(NamedTuple):
    """A running job, and what it is charged to.

    Attributes:
        limits: those that hold for it.
        tallies: those that it counts for.
        tres: the resources that it has, on the set of nodes `nodes`.
        factor: the usage factor of its quality of service.
        left: the seconds that are left of its limit, multiplied with the factor.
    """

    limits: LimitSet
    tallies: tuple[UsageTotals, ...]
    tres: Mapping[str, int]
    nodes: int
    factor: float
    left: int


# The limits that a job would break


_TOO_LARGE: Final = "Requested partition configuration not available now: it asks for too many nodes or minutes"
_WORDS: Final = {"cpu": "Cpu", "node": "Node", "mem": "Memory", "billing": "Billing", "energy": "Energy"}


def account_limits_of(configuration: SlurmConfiguration, accounting: Accounting) -> AccountLimits:
    """The keeper of a site."""
    given = set(configuration.jobs.enforce)
    if "all" in given:
        given |= {"associations", "limits", "qos", "safe"}
    if "safe" in given:
        given.add("limits")
    if given & {"limits", "qos", "wckeys"}:
        given.add("associations")
    half_life = configuration.priority.half_life if configuration.priority.plugin == "multifactor" else 0.0
    return AccountLimits(AccountMembers(accounting, frozenset(given)), frozenset(given), half_life)


class AccountLimits:
    """Keeps account of jobs.

    Args:
        members: users, accounts and qualities of service.
        enforce: what is enforced: limits only with `limits`; with `safe`, no job starts that could not end within them.
        half_life: the seconds after which what was spent counts half; 0: it always counts.
    """

    def __init__(self, members: AccountMembers, enforce: frozenset[str] = frozenset(), half_life: float = 0.0) -> None:
        self.members, self._half_life = members, half_life
        self.has_limits, self._is_safe = "limits" in enforce, "safe" in enforce
        self._tallies: dict[object, UsageTotals] = {}
        self._standings: dict[SlurmJob, JobAssociation] = {}
        self._running: dict[SlurmJob, _RunningJob] = {}
        self._last = 0  # when running jobs were charged last
        self._sets: dict[tuple[object, ...], LimitSet] = {}

    def _tally(self, *key: object) -> UsageTotals:
        found = self._tallies.get(key)
        if found is None:
            found = self._tallies[key] = UsageTotals()
        return found

    def submitted(self, job: SlurmJob) -> None:
        """A job is submitted.

        Raises:
            InputError: it is refused, with Slurm's reason.
        """
        standing = self.members.standing(job, job.partitions[0].name)
        if self.has_limits:
            reason = next(self._refusals(job, standing), "")
            if reason:
                raise InputError(f"{reason}: job violates accounting/QOS policy")
        self._standings[job] = standing
        for tally in self._all(standing, self._qualities(standing, job.partitions[0])):
            tally.submitted += 1

    def forgotten(self, job: SlurmJob) -> None:
        """A job is over, or was cancelled before it ran."""
        standing = self._standings.pop(job, None)
        if standing is not None:
            for tally in self._all(standing, self._qualities(standing, job.partitions[0])):
                tally.submitted -= 1

    def started(self, job: SlurmJob, nodes: int, cpus: int) -> None:
        """A job starts on some nodes, with so many CPUs."""
        if job in self._standings and job.partition is not None:
            self._count(job, job.partition, nodes, cpus, job.end - job.started)

    def _count(self, job: SlurmJob, partition: ClusterPartition, nodes: int, cpus: int, seconds: float) -> None:
        """A job counts as running, with `seconds` before its limit."""
        standing = self._standings[job]
        factor = max(standing.qos.usage_factor, 0.0) if standing.qos is not None else 1.0
        tallies = tuple(self._all(standing, self._qualities(standing, partition)))
        tres, left = _tres(job, nodes.bit_count(), cpus), int(min(seconds, 60 * FOREVER) * factor)
        self._running[job] = _RunningJob(self._limits(standing, partition), tallies, tres, nodes, factor, left)
        for tally in tallies:
            tally.start(tres, left, nodes=nodes)

    def ended(self, job: SlurmJob, now: float) -> None:
        """A job ends."""
        found = self._running.pop(job, None)
        if found is None:
            return
        seconds = max(int(now) - max(self._last, int(job.started)), 0)
        for tally in found.tallies:
            tally.start(found.tres, found.left, -1, found.nodes)
            tally.run(found.tres, self._counted(seconds) * found.factor, 0)

    def charge(self, now: float) -> None:
        """Charge what jobs have used by now, as Slurm does when it computes priorities."""
        second = int(now)
        factor = decay_of(second - self._last, self._half_life)
        for tally in self._tallies.values():
            tally.decay(factor)
        for job, each in self._running.items():
            seconds = max(second - max(self._last, int(job.started)), 0)
            less = min(int(seconds * each.factor), each.left)
            self._running[job] = each._replace(left=each.left - less)
            for tally in each.tallies:
                tally.run(each.tres, self._counted(seconds) * each.factor, less)
        self._last = second

    def _counted(self, seconds: int) -> float:
        """The seconds that a job is charged for those that it ran: they decay as long as it ran, as in Slurm."""
        return seconds * decay_of(seconds, self._half_life)

    def overdrawn(self) -> list[SlurmJob]:
        """The running jobs whose association or quality of service has used up its minutes or its time (GrpWall).

        Slurm ends them at its next check of time limits. With `safe`, it does not: it has not begun what may not end.
        """
        if not self.has_limits or self._is_safe or not self.members.has_budgets:
            return []
        return [job for job, each in self._running.items() if any(self._used_up(each))]

    def recovers(self) -> bool:
        """Whether minutes or time (GrpWall) that are used up count less later, so that waiting jobs may start then."""
        if not (self.has_limits and self._half_life and self.members.has_budgets):
            return False
        for each in self._sets.values():
            totals = [(self._tally("qos", qos.name), limits) for qos, limits in each.qualities]
            totals += [(self._of(above), limits) for above, limits in each.associations]
            if any(next(_spent("", total, limits), "") for total, limits in totals):
                return True
        return False

    def _used_up(self, job: _RunningJob) -> Iterator[str]:
        for qos, limits in job.limits.qualities:
            yield from _spent("QOS", self._tally("qos", qos.name), limits, lambda: job.tres)
        for each, limits in job.limits.associations:
            yield from _spent("Assoc", self._of(each), limits, lambda: job.tres)

    # Whose limits hold

    def _qualities(self, standing: JobAssociation, partition: ClusterPartition) -> tuple[SlurmQos, ...]:
        """The qualities of service that limit a job: that of its partition comes first, unless the job's goes over."""
        own, other = standing.qos, self.members.qos.get(partition.qos) if partition.qos else None
        if own is None or other is None or own is other:
            return tuple(each for each in (own or other,) if each is not None)
        return (own, other) if "OverPartQOS" in own.flags else (other, own)

    def _limits(self, standing: JobAssociation, partition: ClusterPartition) -> LimitSet:
        """The limits that hold for a job in a partition."""
        qualities = self._qualities(standing, partition)
        key = *(id(each) for each in standing.chain), "", *(each.name for each in qualities)
        found = self._sets.get(key)
        if found is None:
            found = self._sets[key] = LimitSet.of(standing, qualities)
        return found

    def _of(self, association: SlurmAssociation) -> UsageTotals:
        return self._tally("association", association.account, association.user, association.partition)

    def _all(self, standing: JobAssociation, qualities: tuple[SlurmQos, ...]) -> Iterator[UsageTotals]:
        for each in standing.chain:
            yield self._of(each)
        for qos in qualities:
            yield self._tally("qos", qos.name)
            yield self._tally("user", qos.name, standing.user)
            yield self._tally("account", qos.name, standing.account)

    # Limits

    def before(self, job: SlurmJob, partition: ClusterPartition) -> str:
        """The reason for which a job waits, whatever the nodes are; "" if there is none."""
        standing = self._standings.get(job)
        if not self.has_limits or standing is None:
            return ""
        return next(self._before(job, standing, self._limits(standing, partition)), "")

    def after(self, job: SlurmJob, partition: ClusterPartition, count: int, cpus: int, nodes: int = 0) -> str:
        """The reason for which a job waits that could have so many nodes and CPUs; "" if there is none.

        Args:
            job: the job.
            partition: its partition.
            count: the number of its nodes.
            cpus: the number of its CPUs.
            nodes: the nodes, if they are known: one that the user, for example, has already counts once.
        """
        standing = self._standings.get(job)
        if not self.has_limits or standing is None:
            return ""
        tres = _tres(job, count, cpus)
        return next(self._after(tres, nodes, job.limit, standing, self._limits(standing, partition)), "")

    def most_nodes(self, job: SlurmJob, partition: ClusterPartition) -> float:
        """The most nodes that limits let a job have, whatever other jobs have; infinity: any number."""
        standing = self._standings.get(job) if self.has_limits else None
        return math.inf if standing is None else self._limits(standing, partition).most_nodes

    def allow_all(self, parts: Sequence[tuple[SlurmJob, ClusterPartition, NodeShare]]) -> bool:
        """Whether jobs can start together on what they would get: each one counts for those behind it."""
        begun: list[SlurmJob] = []
        for job, partition, share in parts:
            nodes, cpus = share.nodes, sum(share.cpus.values())
            job.reason = self.before(job, partition) or self.after(job, partition, nodes.bit_count(), cpus, nodes)
            if job.reason or job not in self._standings:
                break
            self._count(job, partition, nodes, cpus, 60 * job.limit)
            begun.append(job)
        for job in begun:
            found = self._running.pop(job)
            for tally in found.tallies:
                tally.start(found.tres, found.left, -1, found.nodes)
        return not any(job.reason for job, _, _ in parts)

    def _before(self, job: SlurmJob, standing: JobAssociation, whole: LimitSet) -> Iterator[str]:
        minutes, nodes, tres = job.limit, job.min_nodes, partial(_tres, job, job.min_nodes, job.cpus)
        for qos, limits in whole.qualities:
            tally = self._tally("qos", qos.name)
            user = self._tally("user", qos.name, standing.user)
            account = self._tally("account", qos.name, standing.account)
            yield from _reached("QOSMaxJobsPerUserLimit", user.jobs, limits.jobs_user)
            yield from _reached("MaxJobsPerAccount", account.jobs, limits.jobs_account)
            yield from _reached("QOSGrpJobsLimit", tally.jobs, limits.jobs)
            yield from _spent("QOS", tally, limits, tres)
            if limits.wall_job is not None and 60 * minutes > limits.wall_job:
                yield "QOSMaxWallDurationPerJobLimit"
            yield from _too_many_nodes("QOS", nodes, limits)
        for each, limits in whole.associations:
            tally = self._of(each)
            yield from _reached("AssocGrpJobsLimit", tally.jobs, limits.jobs)
            yield from _spent("Assoc", tally, limits, tres)
            if nodes > limits.tres.get("node", math.inf):
                yield "AssocGrpNodeLimit"
        if standing.chain:
            own = whole.own
            yield from _reached("AssocMaxJobsLimit", self._of(standing.chain[0]).jobs, own.jobs_each)
            if own.wall_job is not None and 60 * minutes > own.wall_job:
                yield "AssocMaxWallDurationPerJobLimit"
            if nodes > own.tres_job.get("node", math.inf):
                yield "AssocMaxNodePerJobLimit"

    def _after(
        self, tres: Mapping[str, int], nodes: int, limit: float, standing: JobAssociation, whole: LimitSet
    ) -> Iterator[str]:
        minutes = _times(tres, limit)
        for qos, limits in whole.qualities:
            tally = self._tally("qos", qos.name)
            yield from _over("QOSGrp{}Limit", tally.without(tres, nodes), tally.tres, limits.tres)
            yield from self._ahead("QOS", minutes, tally, limits)
            yield from _over("QOSMax{}PerJobLimit", tres, {}, limits.tres_job)
            yield from _over("QOSMax{}MinutesPerJobLimit", minutes, {}, limits.tres_minutes_job)
            user = self._tally("user", qos.name, standing.user)
            yield from _over("QOSMax{}PerUserLimit", user.without(tres, nodes), user.tres, limits.tres_user)
            account = self._tally("account", qos.name, standing.account)
            yield from _over("Max{}PerAccount", account.without(tres, nodes), account.tres, limits.tres_account)
            yield from _under(tres, limits.least)
        for each, limits in whole.associations:
            tally = self._of(each)
            yield from _over("AssocGrp{}Limit", tally.without(tres, nodes), tally.tres, limits.tres)
            yield from self._ahead("Assoc", minutes, tally, limits)
        yield from _over("AssocMax{}PerJobLimit", tres, {}, whole.own.tres_job)
        yield from _over("AssocMax{}MinutesPerJobLimit", minutes, {}, whole.own.tres_minutes_job)

    def _ahead(
        self, who: str, minutes: Mapping[str, float], tally: UsageTotals, limits: AccountingLimits
    ) -> Iterator[str]:
        """Limits of the time that jobs will have. The usage factor of a job that waits does not count, as in Slurm."""
        whole = {name: float(seconds // 60) for name, seconds in tally.ahead.items()}
        yield from _over(who + "Grp{}RunMinutesLimit", minutes, whole, limits.tres_run_minutes, "CPU")
        if self._is_safe:
            spent = {name: amount // 60 + whole.get(name, 0.0) for name, amount in tally.spent.items()}
            yield from _over(who + "Grp{}MinutesLimit", minutes, spent, limits.tres_minutes, "CPU")

    def _refusals(self, job: SlurmJob, standing: JobAssociation) -> Iterator[str]:
        """The reasons for which sbatch refuses a job."""
        partition = job.partitions[0]
        whole = self._limits(standing, partition)
        for qos, limits in whole.qualities:
            user = self._tally("user", qos.name, standing.user)
            account = self._tally("account", qos.name, standing.account)
            yield from _reached("QOSMaxSubmitJobPerUserLimit", user.submitted, limits.submitted_user)
            yield from _reached("MaxSubmitJobsPerAccount", account.submitted, limits.submitted_account)
            tally = self._tally("qos", qos.name)
            yield from _reached("QOSGrpSubmitJobsLimit", tally.submitted, limits.submitted)
        for each, limits in whole.associations:
            yield from _reached("AssocGrpSubmitJobsLimit", self._of(each).submitted, limits.submitted)
        if standing.chain:
            own = self._of(standing.chain[0])
            yield from _reached("AssocMaxSubmitJobLimit", own.submitted, whole.own.submitted_each)
        if any("DenyOnLimit" in qos.flags for qos in self._qualities(standing, partition)):
            empty = AccountLimits(self.members, frozenset({"limits"}))
            empty._standings[job] = standing
            yield empty.before(job, partition) or empty.after(job, partition, job.min_nodes, job.cpus)


def _tres(job: SlurmJob, nodes: int, cpus: int) -> dict[str, int]:
    """The resources of a job on so many nodes."""
    found = {"cpu": cpus, "node": nodes, "billing": cpus}
    memory = (job.memory if job.memory >= 0 else job.partitions[0].first_memory) * nodes or job.memory_per_cpu * cpus
    if memory:
        found["mem"] = memory
    for name, type, count in job.gres:
        for key in {f"gres/{name}", f"gres/{name}:{type}" if type else f"gres/{name}"}:
            found[key] = found.get(key, 0) + count * nodes
    for key in ("gres/gpu", *([f"gres/gpu:{job.gpu_type}"] if job.gpu_type else ())) if job.gpus else ():
        found[key] = found.get(key, 0) + job.gpus
    for name, count in job.licenses:
        found[f"license/{name}"] = count
    return found


def _times(amounts: Mapping[str, float], factor: float) -> dict[str, float]:
    return {name: amount * factor for name, amount in amounts.items()}


def _reached(reason: str, count: int, limit: int | None) -> Iterator[str]:
    if limit is not None and count >= limit:
        yield reason


def _over(
    reason: str,
    wanted: Mapping[str, float],
    used: Mapping[str, float],
    limits: Mapping[str, int],
    cpu: str = "Cpu",
) -> Iterator[str]:
    for name in exceeded(wanted, used, limits):
        yield reason.format(_word(name, cpu))


def _under(wanted: Mapping[str, int], least: Mapping[str, int]) -> Iterator[str]:
    for name, limit in least.items():
        if wanted.get(name, 0) < limit:
            yield "QOSMinCpuNotSatisfied" if name == "cpu" else f"QOSMin{_word(name)}"


def _spent(
    who: str, tally: UsageTotals, limits: AccountingLimits, tres: Callable[[], Mapping[str, int]] | None = None
) -> Iterator[str]:
    """The minutes that are used up, of the resources that a job has; without these, of limits above 0."""
    if limits.wall is not None and tally.wall >= limits.wall and (limits.wall or tres):
        yield f"{who}GrpWallLimit"
    for name, limit in limits.tres_minutes.items():
        if tally.spent.get(name, 0.0) >= 60 * limit and (tres().get(name) if tres else limit):
            yield f"{who}Grp{_word(name, 'CPU')}MinutesLimit"


def _too_many_nodes(who: str, nodes: int, limits: AccountingLimits) -> Iterator[str]:
    """More nodes than a job can ever have."""
    for reason, amounts in (
        ("MaxNodePerJobLimit", limits.tres_job),
        ("MaxNodePerUserLimit", limits.tres_user),
        ("GrpNodeLimit", limits.tres),
    ):
        if nodes > amounts.get("node", math.inf):
            yield who + reason


def _word(name: str, cpu: str = "Cpu") -> str:
    if name == "cpu":
        return cpu
    if name.startswith("gres/"):
        return "GRES"
    return _WORDS.get(name, "License" if name.startswith("license/") else name)


class SlurmRules:
    """The rules of a site.

    Args:
        keeper: keeps account of limits; by default there are none.
        licenses: the licences; by default there are none.
        enforces: whether a job beyond the limits of a partition is refused: `no` (it waits), `any` or `all`
            (EnforcePartLimits).
        preemption: which jobs give way to which others; by default those of lower partitions.
    """

    def __init__(
        self,
        keeper: AccountLimits | None = None,
        licenses: Licenses | None = None,
        enforces: str = "no",
        preemption: PartitionPreemption | None = None,
    ) -> None:
        self._keeper = keeper or AccountLimits(AccountMembers(Accounting()))
        self.licenses, self._enforces = licenses or Licenses({}), enforces
        self.preemption = preemption or PartitionPreemption()
        self._arrays: Counter[str] = Counter()

    def recovers(self) -> bool:
        """Whether usage decays that keeps jobs waiting now."""
        return self._keeper.recovers()

    @property
    def has_limits(self) -> bool:
        """Whether limits of associations or qualities of service can keep a job waiting."""
        return self._keeper.has_limits

    def submitted(self, job: SlurmJob) -> None:
        """A job is submitted. Its partitions are then those that it may use; an `InputError` says why it is refused."""
        self.licenses.check(job)
        self._enter(job)
        self._keeper.submitted(job)

    def _enter(self, job: SlurmJob) -> None:
        """Leave out the partitions that a job may not use."""
        standing = self._keeper.members.standing(job, job.partitions[0].name)
        job.quality = job.qos if standing.qos is None else standing.qos.name
        reasons = {each.name: each.access.refusal(job.user, job.group, job.reservation) for each in job.partitions}
        allowed = tuple(each for each in job.partitions if not reasons[each.name])
        if not allowed:
            raise InputError(f"{reasons[job.partitions[0].name]} ({job.partitions[0].name})")
        refused = [each.access.reason(standing.account, job.quality) for each in allowed]
        refused = [
            reason or ("" if each.fits(job.size) else _TOO_LARGE) for each, reason in zip(allowed, refused, strict=True)
        ]
        if (self._enforces == "all" and any(refused)) or (self._enforces == "any" and all(refused)):
            place = next(place for place, reason in enumerate(refused) if reason)
            raise InputError(f"{refused[place]} ({allowed[place].name})")
        job.partitions = allowed

    def admits(self, job: SlurmJob, partition: ClusterPartition) -> bool:
        """Whether a partition has a job of this account and quality of service start."""
        access = partition.access
        return access.is_open or not access.reason(self.account_of(job), job.quality)

    def association_of(self, job: SlurmJob) -> SlurmAssociation | None:
        """The association of the user of a job; None: there is none."""
        chain = self._keeper.members.standing(job, job.partitions[0].name).chain
        return next((each for each in chain if each.user), None)

    def account_of(self, job: SlurmJob) -> str:
        """The account of a job: its own, or that of its user."""
        return self._keeper.members.standing(job, job.partitions[0].name).account

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
        self._keeper.started(job, job.placement.nodes, job.allocated_cpus)

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
        if self.has_limits:
            self._keeper.charge(now)
        return self.has_limits

    def array_may_start(self, job: SlurmJob) -> bool:
        """Whether the array of a job has fewer running tasks than it may have."""
        return job.array is None or not job.array_limit or self._arrays[job.array] < job.array_limit

    def may_start(self, job: SlurmJob, partition: ClusterPartition) -> bool:
        """Whether limits allow a job to start, whatever the nodes are. If not, it has the reason."""
        job.reason = self._keeper.before(job, partition)
        return not job.reason

    def most_nodes(self, job: SlurmJob, partition: ClusterPartition) -> float:
        """The most nodes that limits let a job have, whatever other jobs have; infinity: any number."""
        return self._keeper.most_nodes(job, partition)

    def may_all_start(self, parts: Sequence[tuple[SlurmJob, ClusterPartition, NodeShare]]) -> bool:
        """Whether limits allow jobs to start together, on what they would get. If not, one has the reason."""
        return not self._keeper.has_limits or self._keeper.allow_all(parts)

    def lacks_licenses(self, job: SlurmJob, second: int) -> bool:
        """Whether a licence of a job that would start now is taken by others."""
        return bool(job.licenses) and self.licenses.lacks(job, second)

    def overdrawn(self) -> list[SlurmJob]:
        """The running jobs that end at the next check of time limits, as others have used up what they share."""
        return self._keeper.overdrawn()

    def reserves_nothing(self, job: SlurmJob) -> bool:
        """Whether backfill sets no nodes aside for a job, as its quality of service has the flag NoReserve."""
        return job.quality in self._keeper.members.unreserved

    def is_limited(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int = 0, cpus: int = 0, count: int = 0
    ) -> bool:
        """Whether a limit keeps a job waiting that could have these nodes and so many CPUs. If so, it has the reason.

        Without nodes, those count that the job asks for, or `count`: limits come first where there are none, too.
        """
        count = nodes.bit_count() or count or job.min_nodes
        job.reason = self._keeper.after(job, partition, count, cpus or job.cpus, nodes)
        return bool(job.reason)
