"""The priorities of Slurm's jobs: priority/basic, and priority/multifactor, as Slurm 22.05 computes them.

With the first one, each job has a smaller number than the one before it (`FirstComeNumbers`). With the second one, a
priority is computed when a job is submitted, and again at each calculation, every PriorityCalcPeriod: usage decays,
running jobs are charged, and each waiting job gets a new priority, all in the order of the jobs' numbers. With classic
fair share, a job that comes early in that order does not see the usage of those after it, as in Slurm. Without a
database (AccountingStorageType) there are no calculations, and so ages and fair share stay 0. The times are whole
seconds, as Slurm's are.

`MultifactorPriorities` is made of plain values. `BasicOrder` and `MultifactorOrder` are what the controller asks.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from batprotocol.policies.fair_share import age_factor, billing, relative_factor, size_factor
from batprotocol.policies.slurm.cluster import FOREVER, ClusterNode, ClusterSizes, gres_names
from batprotocol.policies.slurm.fair_share import AccountShare, ShareTree, decay_of, next_reset
from batprotocol.policies.slurm.queue import SlurmJob
from batprotocol.sites.slurm.accounting import Accounting
from batprotocol.sites.slurm.configuration import SlurmConfiguration

__all__ = [
    "HIGHEST",
    "AccountShare",
    "BasicOrder",
    "FirstComeNumbers",
    "JobFacts",
    "MultifactorOrder",
    "MultifactorPriorities",
    "Parts",
    "ShareTree",
    "total",
]


# priority/basic


_FIRST: Final = 4_294_901_759
"""The priority of the first job, as a real Slurm 22.05 gives it."""


class FirstComeNumbers:
    """Gives numbers to jobs. A job that is held takes none until it is released.

    >>> numbers = FirstComeNumbers()
    >>> numbers.take(), numbers.take(nice=100), numbers.take()
    (4294901759, 4294901658, 4294901757)
    """

    def __init__(self) -> None:
        self._next = _FIRST

    def take(self, nice: int = 0) -> int:
        """The priority of the next job. Its `nice` has no influence on those after it."""
        number = self._next
        self._next = max(number - 1, 1)
        return max(number - nice, 1)


# priority/multifactor


HIGHEST: Final = 2**32 - 1
"""The highest priority that a job can have."""


class JobFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a job as it was submitted.

    Attributes:
        number: its number, by which jobs are ordered.
        user: its user.
        account: its account; "": the default account of its user.
        qos: its quality of service; "": the default one of its association, else `normal`.
        partitions: the names of its partitions; it has a priority in each.
        nodes: the fewest nodes that it can have, at least 1.
        cpus: the CPUs that it asks for, of all nodes together; 0: unknown.
        minutes: its time limit in minutes; None: that of its partition.
        nice: subtracted from its priority.
        tres: the resources that it asks for, of all nodes together, by name: `cpu`, `mem` in MiB, `node`, `gres/gpu`...
            Without `mem`, all memory of its nodes counts.
        submitted: when it was submitted, in seconds.
        fixed: a priority that an administrator set; None: it is computed. 0: the job is held.
        array: the array that it is a task of; "": none.
    """

    number: int
    user: str = ""
    account: str = ""
    qos: str = ""
    partitions: tuple[str, ...] = ()
    nodes: int = 1
    cpus: int = 0
    minutes: float | None = None
    nice: int = 0
    tres: Mapping[str, float] = {}
    submitted: float = 0.0
    fixed: int | None = None
    array: str = ""


class Parts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The parts of a priority, each multiplied with its weight. `sprio` prints them as whole numbers.

    Attributes:
        age: of the waiting time.
        assoc: of the priority of its association.
        fairshare: of the fair share.
        size: of its size.
        partition: of the factor of its partition.
        qos: of the priority of its quality of service.
        tres: of the resources that it asks for.
        nice: subtracted.
    """

    age: float = 0.0
    assoc: float = 0.0
    fairshare: float = 0.0
    size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    tres: float = 0.0
    nice: int = 0

    @property
    def total(self) -> int:
        """The priority that they make.

        >>> Parts(age=10.75, size=2.5, nice=3).total, Parts(nice=3).total
        (10, 1)
        """
        parts = self.age, self.assoc, self.fairshare, self.size, self.partition, self.qos, self.tres
        return total(*parts, self.nice)


def total(
    age: float, assoc: float, fairshare: float, size: float, partition: float, qos: float, tres: float, nice: int
) -> int:
    """The priority of these parts: their sum without its fraction, at least 1, as 0 is the priority of held jobs.

    They are added in this order, which decides about the last digit of a sum.
    """
    found = age + assoc + fairshare + size + partition + qos + tres - nice
    return int(found) if 1.0 <= found < HIGHEST else 1 if found < 1.0 else HIGHEST


class _Steady(NamedTuple):
    """The parts of a job's priority in a partition that never change."""

    name: str
    assoc: float
    size: float
    partition: float
    qos: float
    tres: float


class _Job:
    """A job that waits or runs.

    Attributes:
        facts: its facts.
        share: the association that it is charged to.
        qos: the name of its quality of service.
        steady: the parts of its priority that never change, in each of its partitions.
        accrued: since when it ages; None: it does not age.
        started: when it started; None: it waits.
        stopped: when it has ended, although its nodes are not clean yet; None: it has not.
        place: the place of its record among all of them.
        rate: the usage that it is charged for each second.
        held: whether it is held.
        age: the part of its age, when its priority was computed.
        fairshare: the part of its fair share, when its priority was computed.
        priorities: its priority in each of its partitions.
    """

    __slots__ = (
        *("accrued", "age", "facts", "fairshare", "held", "priorities", "qos", "rate", "share", "started", "steady"),
        *("place", "stopped"),
    )

    def __init__(self, facts: JobFacts, share: AccountShare | None, qos: str, steady: tuple[_Steady, ...]) -> None:
        self.facts, self.share, self.qos, self.steady = facts, share, qos, steady
        self.accrued: int | None = None
        self.started: int | None = None
        self.stopped: int | None = None
        self.place = facts.number, 0
        self.rate = self.age = self.fairshare = 0.0
        self.held = facts.fixed == 0
        self.priorities: dict[str, int] = {}


class MultifactorPriorities:
    """The priorities of jobs.

    Args:
        configuration: the weights and flags, the nodes and the partitions.
        accounting: accounts, users and qualities of service.
        since: the time of the first calculation; the others follow every PriorityCalcPeriod.
        epoch: the time 0 in seconds since 1970 (PriorityUsageResetPeriod).
        calculations: the times of calculations that are known, in order. One that is due near one is then.

    Attributes:
        shares: the tree of accounts and users.

    >>> from batprotocol.sites.slurm.configuration import configuration_of
    >>> lines = "PriorityType=priority/multifactor", "PriorityWeightJobSize=1000", "NodeName=n[0-7]", "PartitionName=p"
    >>> priorities = MultifactorPriorities(configuration_of("\\n".join(lines)))
    >>> [priorities.submitted(JobFacts(number=n, nodes=n, cpus=n, partitions=("p",)), now=0.0)["p"] for n in (4, 2, 1)]
    [500, 250, 125]
    """

    def __init__(
        self,
        configuration: SlurmConfiguration,
        accounting: Accounting | None = None,
        *,
        since: float = 0.0,
        epoch: float = 0.0,
        calculations: Sequence[float] = (),
    ) -> None:
        accounting = accounting or Accounting()
        self._rules = rules = configuration.priority
        self._calculates = configuration.jobs.has_database
        self.has_sizes = bool(rules.weight_job_size)
        self._charges_ends = self._calculates and "limits" in configuration.jobs.enforce
        self._sizes = ClusterSizes(configuration)
        self._qos = accounting.qos
        self._most_qos = max((each.priority for each in accounting.qos.values()), default=0)
        self.shares = ShareTree(
            accounting,
            fair_tree=rules.fair_tree,
            dampening=rules.dampening,
            depth_oblivious=rules.depth_oblivious,
        )
        self._jobs: dict[int, _Job] = {}  # in the order of their numbers, or of their records
        self._records: dict[
            str, tuple[int, int]
        ] = {}  # the places of the records of arrays, which have the tasks that wait
        self._highest, self._splits = -1, 0
        self._epoch, self._due, self._calculations = epoch, since, tuple(calculations)
        self._next = self._known(since)
        self._last: int | None = None
        self._reset = -math.inf if rules.reset == "now" else next_reset(rules.reset, epoch + since)

    # Jobs

    def submitted(self, facts: JobFacts, now: float) -> Mapping[str, int]:
        """A job is submitted, or submitted again after it ran.

        Returns:
            its first priority in each of its partitions.
        """
        share = self.shares.of(facts.user, facts.account, facts.partitions[0] if facts.partitions else "")
        qos = facts.qos or (share.qos if share is not None else None) or "normal"
        job = _Job(facts, share, qos, self._steady(facts, share, qos))
        is_last = facts.number > self._highest
        self._jobs[facts.number] = job
        self._highest = max(self._highest, facts.number)
        if not is_last:  # it ran before, and keeps its place
            self._jobs = dict(sorted(self._jobs.items()))
        if self._rules.accrue_always:
            job.accrued = int(facts.submitted)
        self._set(job, int(now))
        return job.priorities

    def changed(self, facts: JobFacts, now: float) -> Mapping[str, int]:
        """An operator has changed a job. It keeps its age, and what it is charged.

        Returns:
            its new priority in each of its partitions.
        """
        before = self._jobs[facts.number]
        share = self.shares.of(facts.user, facts.account, facts.partitions[0] if facts.partitions else "")
        qos = facts.qos or (share.qos if share is not None else None) or "normal"
        job = self._jobs[facts.number] = _Job(facts, share, qos, self._steady(facts, share, qos))
        job.accrued, job.started, job.rate, job.place = before.accrued, before.started, before.rate, before.place
        job.age, job.fairshare, job.held, job.priorities = before.age, before.fairshare, before.held, before.priorities
        self._set(job, int(now))
        return job.priorities

    def sized(self, number: int, cpus: int) -> None:
        """From the next calculation on, a job counts with so many CPUs."""
        job = self._jobs[number]
        job.facts = msgspec.structs.replace(job.facts, cpus=cpus)
        job.steady = self._steady(job.facts, job.share, job.qos)

    def __contains__(self, number: object) -> bool:
        """Whether a job waits or runs."""
        return number in self._jobs

    def eligible(self, number: int, now: float) -> None:
        """A job could start from now on, so it ages."""
        job = self._jobs[number]
        if job.accrued is None:
            job.accrued = int(now)

    def held(self, number: int) -> None:
        """A job is held: its priority is 0."""
        job = self._jobs[number]
        job.held, job.priorities = True, dict.fromkeys(job.facts.partitions, 0)

    def released(self, number: int, now: float) -> Mapping[str, int]:
        """A job is held no more, and gets a new priority in each of its partitions."""
        job = self._jobs[number]
        job.held, job.priorities = False, {}
        self._set(job, int(now))
        return job.priorities

    def started(self, number: int, now: float, partition: str, amounts: Mapping[str, float]) -> None:
        """A job starts.

        Args:
            number: its number.
            now: the time.
            partition: the partition that it runs in.
            amounts: the resources that it has, by name.
        """
        job = self._jobs[number]
        found = self._sizes.partition(partition)
        weights = found.billing_weights if found is not None else None
        qos = self._qos.get(job.qos)
        job.started = int(now)
        if array := job.facts.array:  # the tasks that still wait have a new record, behind all others
            job.place = self._records.get(array, job.place)
            self._splits += 1
            self._records[array] = self._highest, self._splits
        job.rate = billing(amounts, weights or {}, takes_max=self._rules.max_tres) * (qos.usage_factor if qos else 1.0)

    def stopped(self, number: int, now: float) -> None:
        """A job runs no longer, and its nodes may be clean later.

        If limits are enforced, it is charged at once; others see that at the next calculation. Otherwise, it is never
        charged for the time since the last calculation, as in a real Slurm.
        """
        job = self._jobs[number]
        job.stopped = int(now)
        if self._charges_ends:
            self._charge(job, int(now))
        job.rate = 0.0  # calculations leave out jobs whose nodes are being cleaned

    def ended(self, number: int, now: float) -> None:
        """A job that ran or waited is over. If it was not stopped before, it is now."""
        if number in self._jobs:
            if self._jobs[number].stopped is None:
                self.stopped(number, now)
            del self._jobs[number]

    # Calculations

    def next_time(self) -> float:
        """The time of the next calculation; infinite without a database."""
        return self._next if self._calculates else math.inf

    def advance(self, now: float) -> list[int]:
        """Do all calculations that are due, each at its time. Without jobs, usage decays in one step.

        Returns:
            the numbers of the jobs whose priorities have changed.
        """
        changed: dict[int, None] = {}
        while self.next_time() <= now:
            if not self._jobs:
                self._pass((now - self._next) // self._rules.calc_period * self._rules.calc_period)
            changed |= dict.fromkeys(self.renew(self._next))
        return list(changed)

    def renew(self, now: float) -> list[int]:
        """Calculate usage and priorities now, whether it is time or not.

        Returns:
            the numbers of the jobs whose priorities have changed.
        """
        while self._next <= now:
            self._pass(self._rules.calc_period)
        second, last = int(now), self._last
        if self._epoch + second >= self._reset:
            self.shares.forget()
            self._reset = next_reset(self._rules.reset, self._epoch + second)
        self.shares.begin()
        if last is not None and second > last:
            self.shares.decay(decay_of(second - last, self._rules.half_life))
        elif not self._rules.fair_tree:
            self._last = second
            return []
        changed = self._in_tree(second) if self._rules.fair_tree else self._one_by_one(second)
        self._last = second
        return changed

    def _pass(self, seconds: float) -> None:
        """The next calculation is due later."""
        self._due += seconds
        self._next = self._known(self._due)

    def _known(self, due: float) -> float:
        """The known calculation near a time at which one is due; that time, if there is none."""
        place = bisect_left(self._calculations, due)
        near = min(self._calculations[max(place - 1, 0) : place + 1], key=lambda each: abs(each - due), default=due)
        return near if abs(near - due) < self._rules.calc_period / 2 else due

    def _one_by_one(self, now: int) -> list[int]:
        changed = []
        if self._records:
            self._jobs = dict(sorted(self._jobs.items(), key=self._place_of))
        for number, job in self._jobs.items():
            self._charge(job, now)
            if self._is_changed(job, now):
                changed.append(number)
        return changed

    def _place_of(self, each: tuple[int, _Job]) -> tuple[tuple[int, int], int]:
        """Where the record of a job is among all of them."""
        number, job = each
        return job.place if job.started is not None else self._records.get(job.facts.array, job.place), number

    def _in_tree(self, now: int) -> list[int]:
        for job in self._jobs.values():
            if job.started is not None:
                self._charge(job, now)
        self.shares.rank()
        rules, shares, changed, is_free = self._rules, self.shares, list[int](), not self._rules.increase_only
        weight_age, max_age, weight = rules.weight_age, rules.max_age, rules.weight_fairshare if self._calculates else 0
        for number, job in self._jobs.items():
            facts, accrued = job.facts, job.accrued
            is_plain = is_free and facts.fixed is None and len(job.steady) == 1
            if not is_plain or job.held or job.started is not None:
                if self._is_changed(job, now):
                    changed.append(number)
                continue
            # the same as `_set`, which is too slow for thousands of jobs that wait
            if accrued is not None and weight_age:
                waited = now - accrued
                job.age = age = weight_age * (1.0 if waited >= max_age else waited / max_age if waited > 0 else 0.0)
            else:
                age = job.age
            if weight and job.share is not None:
                job.fairshare = weight * shares.factor(job.share)
            name, assoc, size, partition, qos, tres = job.steady[0]
            found = age + assoc + job.fairshare + size + partition + qos + tres - facts.nice
            priority = int(found) if 1.0 <= found < HIGHEST else 1 if found < 1.0 else HIGHEST
            if job.priorities.get(name) != priority:
                job.priorities = {name: priority}
                changed.append(number)
        return changed

    def _charge(self, job: _Job, now: int) -> None:
        """Charge a job for the time since the last calculation."""
        if job.started is None or job.share is None or not job.rate:
            return
        seconds = (now if job.stopped is None else min(now, job.stopped)) - max(job.started, self._last or 0)
        if seconds > 0:
            self.shares.charge(job.share, seconds * decay_of(seconds, self._rules.half_life) * job.rate)

    def _is_changed(self, job: _Job, now: int) -> bool:
        """Give a job a new priority, if it can have one; returns whether it is another one than before."""
        if job.held or (job.started is not None and not self._rules.calculate_running):
            return False
        before = job.priorities
        self._set(job, now)
        return job.priorities != before

    # Priorities

    def priorities(self, number: int) -> Mapping[str, int]:
        """The priority of a job in each of its partitions."""
        return self._jobs[number].priorities

    def parts(self, number: int) -> Mapping[str, Parts]:
        """The parts of the priority of a job in each of its partitions."""
        job = self._jobs[number]
        return {
            each.name: Parts(
                age=job.age,
                assoc=each.assoc,
                fairshare=job.fairshare,
                size=each.size,
                partition=each.partition,
                qos=each.qos,
                tres=each.tres,
                nice=job.facts.nice,
            )
            for each in job.steady
        }

    def _set(self, job: _Job, now: int) -> None:
        """Compute the priority of a job."""
        facts, rules, before = job.facts, self._rules, job.priorities
        if facts.fixed is not None or job.held:
            job.priorities = dict.fromkeys(facts.partitions, 0 if job.held else facts.fixed or 0)
            return
        if job.accrued is not None and rules.weight_age:
            job.age = rules.weight_age * age_factor(now - job.accrued, rules.max_age)
        if job.share is not None and rules.weight_fairshare and self._calculates:
            job.fairshare = rules.weight_fairshare * self.shares.factor(job.share)
        found: dict[str, int] = {}
        for name, assoc, size, partition, qos, tres in job.steady:
            found[name] = total(job.age, assoc, job.fairshare, size, partition, qos, tres, facts.nice)
        if rules.increase_only:
            found = {name: max(each, before.get(name, 0)) for name, each in found.items()}
        job.priorities = found

    def _steady(self, facts: JobFacts, share: AccountShare | None, qos: str) -> tuple[_Steady, ...]:
        """The parts of a priority that never change, in each of the partitions of a job."""
        rules, sizes, found = self._rules, self._sizes, self._qos.get(qos)
        assoc = float(share.priority) if share is not None else 0.0
        if rules.normal_assoc:
            assoc = relative_factor(assoc, self.shares.most_priority)
        quality = float(found.priority) if found is not None else 0.0
        if rules.normal_qos:
            quality = relative_factor(quality, self._most_qos)
        size = rules.weight_job_size * self._size(facts) if rules.weight_job_size else 0.0
        steady = []
        for name in facts.partitions:
            factor = float(sizes.factor(name))
            if rules.normal_part:
                factor = relative_factor(factor, sizes.most_factor)
            tres = self._tres(facts, name) if rules.weight_tres else 0.0
            parts = rules.weight_assoc * assoc, size, rules.weight_partition * factor, rules.weight_qos * quality, tres
            steady.append(_Steady(name, *parts))
        return tuple(steady)

    def _size(self, facts: JobFacts) -> float:
        rules, sizes = self._rules, self._sizes
        nodes = facts.nodes / max(sizes.nodes, 1)
        minutes = None
        if rules.small_relative_to_time:
            first = facts.partitions[0] if facts.partitions else ""
            minutes = sizes.minutes(first) if facts.minutes is None else facts.minutes
        cpus = facts.cpus / max(sizes.cpus, 1) if facts.cpus else nodes
        return size_factor(nodes, cpus, favor_small=rules.favor_small, minutes=minutes)

    def _tres(self, facts: JobFacts, partition: str) -> float:
        """The part of the resources that a job asks for, as fractions of those of a partition."""
        totals = self._sizes.amounts(partition)
        found = 0.0
        for name, weight in self._rules.weight_tres.items():
            asked = facts.tres.get(name, 0.0)
            if name == "mem" and not asked and totals.get("node"):  # all of its nodes, as Slurm counts it
                asked = facts.nodes * totals["mem"] / totals["node"]
            if not self._rules.normal_tres:
                found += weight * asked
            elif totals.get(name):
                found += weight * (asked / totals[name])
        return found


# The priorities that the controller asks for


_TOGETHER: Final = 0.5
"""Tasks of an array that come, or are released, within so many seconds have the same priority."""


class BasicOrder:
    """priority/basic: each job has a smaller priority than the one before it."""

    has_sizes = False

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

    def frees(self, job: SlurmJob) -> bool:
        """A held job is held no longer with another nice value, which is added to its priority of 0."""
        self._bases[job.id] = job.nice
        return True

    def changed(self, job: SlurmJob, now: float) -> None:
        """An operator has changed a job that waits and is not held."""
        self._set(job, job.fixed if job.fixed is not None else max(self._bases[job.id] - job.nice, 2))

    def sized(self, job: SlurmJob, cpus: int) -> None:
        """A job was tested, and would have so many CPUs: they do not count."""

    def again(self, job: SlurmJob, now: float) -> None:
        """A job is to run again: it keeps its priority."""

    def eligible(self, job: SlurmJob, now: float) -> None:
        """A job could start from now on."""

    def started(self, job: SlurmJob, now: float) -> None:
        """A job starts."""

    def stopped(self, job: SlurmJob, now: float) -> None:
        """A job runs no longer, and its nodes are not clean yet."""

    def ended(self, job: SlurmJob, now: float) -> None:
        """A job is over, or has left its nodes."""

    def next_time(self) -> float:
        """When the priorities are computed next: never."""
        return math.inf

    def renew(self, now: float) -> bool:
        """Compute the priorities of jobs: they stay as they are."""
        return False


class MultifactorOrder:
    """priority/multifactor.

    Args:
        priorities: the factors.
        nodes: the nodes of the cluster, with their generic resources.

    Attributes:
        has_sizes: whether the sizes of jobs count.
    """

    def __init__(self, priorities: MultifactorPriorities, nodes: Sequence[ClusterNode]) -> None:
        self.priorities, self._nodes, self.has_sizes = priorities, nodes, priorities.has_sizes
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

    def frees(self, job: SlurmJob) -> bool:
        """A held job stays so with another nice value, which counts when it is released."""
        return False

    def changed(self, job: SlurmJob, now: float) -> None:
        """An operator has changed a job that waits and is not held."""
        job.priority = dict(self.priorities.changed(_facts(self._keys[job.id], job), now))

    def sized(self, job: SlurmJob, cpus: int) -> None:
        """A job was tested, and would have so many CPUs: they count from the next calculation on."""
        if cpus != job.size_cpus:
            job.size_cpus = cpus
            self.priorities.sized(self._keys[job.id], cpus)

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
        found = job.placement
        amounts = {
            "cpu": float(job.allocated_cpus),
            "node": found.nodes.bit_count(),
            "mem": float(job.allocated_memory),
        }
        for node, counts in found.gres.items():
            for (name, type, _), count in zip(self._nodes[node].gres, counts, strict=False):
                for kind in gres_names(name, type):
                    amounts[kind] = amounts.get(kind, 0.0) + count
        self.priorities.started(self._keys[job.id], now, job.partition.name, amounts)

    def stopped(self, job: SlurmJob, now: float) -> None:
        """A job runs no longer, and its nodes are not clean yet."""
        self.priorities.stopped(self._keys[job.id], now)

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
        cpus=job.size_cpus or job.cpus,
        minutes=None if job.limit >= FOREVER else job.limit,
        nice=job.nice,
        tres=_asked(job),
        submitted=job.submitted,
        fixed=job.fixed,
        array=(job.array or "") if not job.restarts else "",
    )


def _asked(job: SlurmJob) -> dict[str, float]:
    """The resources that a job asks for, of all nodes together: those by default are of its first partition."""
    first, nodes, cpus = job.partitions[0], job.min_nodes, job.cpus
    memory, each = job.memory if job.memory >= 0 else first.first_memory, job.memory_per_cpu
    if not memory and not each:
        memory, each = first.memory_per_node, first.memory_per_cpu
    memory = each * cpus or memory * nodes or job.memory_per_gpu * job.gpus
    found = {"cpu": float(cpus), "node": float(nodes), "mem": float(memory)}
    for name, type, count in (
        *((name, type, count * nodes) for name, type, count in job.gres),
        ("gpu", job.gpu_type, job.gpus),
    ):
        for kind in gres_names(name, type) if count else ():
            found[kind] = found.get(kind, 0.0) + count
    return found
