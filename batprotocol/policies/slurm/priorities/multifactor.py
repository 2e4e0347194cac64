"""priority/multifactor: the priorities of jobs, and the usage that they are charged, as Slurm 22.05 computes them.

A priority is computed when a job is submitted, and again at each calculation, every PriorityCalcPeriod: usage decays,
running jobs are charged, and each waiting job gets a new priority, all in the order of the jobs' numbers. With classic
fair share, a job that comes early in that order does not see the usage of those after it, as in Slurm. Without a
database (AccountingStorageType) there are no calculations, and so ages and fair share stay 0.

The times are whole seconds, as Slurm's are. This module must not know the scheduler, its loops and its nodes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from batprotocol.policies.slurm.priorities.facts import JobFacts, Parts, total
from batprotocol.policies.slurm.priorities.machine import Machine
from batprotocol.policies.slurm.priorities.shares import Share, Shares
from batprotocol.policies.slurm.priorities.usage import decay_of, next_reset

from batprotocol.policies.fair_share import age_factor, billing, relative_factor, size_factor
from batprotocol.sites.slurm.accounting import Accounting
from batprotocol.sites.slurm.configuration import Configuration

__all__ = ["Multifactor"]


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
        rate: the usage that it is charged for each second.
        held: whether it is held.
        age: the part of its age, when its priority was computed.
        fairshare: the part of its fair share, when its priority was computed.
        priorities: its priority in each of its partitions.
    """

    __slots__ = (
        *("accrued", "age", "facts", "fairshare", "held", "priorities", "qos", "rate", "share", "started", "steady"),
    )

    def __init__(self, facts: JobFacts, share: Share | None, qos: str, steady: tuple[_Steady, ...]) -> None:
        self.facts, self.share, self.qos, self.steady = facts, share, qos, steady
        self.accrued: int | None = None
        self.started: int | None = None
        self.rate = self.age = self.fairshare = 0.0
        self.held = facts.fixed == 0
        self.priorities: dict[str, int] = {}


class Multifactor:
    """The priorities of jobs.

    Args:
        configuration: the weights and flags, the nodes and the partitions.
        accounting: accounts, users and qualities of service.
        since: the time of the first calculation; the others follow every PriorityCalcPeriod.
        epoch: the time 0 in seconds since 1970 (PriorityUsageResetPeriod).

    Attributes:
        shares: the tree of accounts and users.

    >>> from batprotocol.sites.slurm.configuration import configuration_of
    >>> lines = "PriorityType=priority/multifactor", "PriorityWeightJobSize=1000", "NodeName=n[0-7]", "PartitionName=p"
    >>> priorities = Multifactor(configuration_of("\\n".join(lines)))
    >>> [priorities.submitted(JobFacts(number=n, nodes=n, cpus=n, partitions=("p",)), now=0.0)["p"] for n in (4, 2, 1)]
    [500, 250, 125]
    """

    def __init__(
        self,
        configuration: Configuration,
        accounting: Accounting | None = None,
        *,
        since: float = 0.0,
        epoch: float = 0.0,
    ) -> None:
        accounting = accounting or Accounting()
        self._rules = rules = configuration.priority
        self._calculates = configuration.jobs.has_database
        self._charges_ends = self._calculates and "limits" in configuration.jobs.enforce
        self._machine = Machine(configuration)
        self._qos = accounting.qos
        self._most_qos = max((each.priority for each in accounting.qos.values()), default=0)
        self.shares = Shares(
            accounting,
            fair_tree=rules.fair_tree,
            dampening=rules.dampening,
            depth_oblivious=rules.depth_oblivious,
        )
        self._jobs: dict[int, _Job] = {}  # in the order of their numbers
        self._highest = -1
        self._epoch, self._next = epoch, since
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
        job.accrued, job.started, job.rate = before.accrued, before.started, before.rate
        job.age, job.fairshare, job.held, job.priorities = before.age, before.fairshare, before.held, before.priorities
        self._set(job, int(now))
        return job.priorities

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
        found = self._machine.partition(partition)
        weights = found.billing_weights if found is not None else None
        qos = self._qos.get(job.qos)
        job.started = int(now)
        job.rate = billing(amounts, weights or {}, takes_max=self._rules.max_tres) * (qos.usage_factor if qos else 1.0)

    def ended(self, number: int, now: float) -> None:
        """A job that ran or waited is over.

        If limits are enforced, it is charged at once; others see that at the next calculation. Otherwise, it is never
        charged for the time since the last calculation, as in a real Slurm.
        """
        job = self._jobs.pop(number, None)
        if job is not None and self._charges_ends:
            self._charge(job, int(now))

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
                self._next += (now - self._next) // self._rules.calc_period * self._rules.calc_period
            changed |= dict.fromkeys(self.renew(self._next))
        return list(changed)

    def renew(self, now: float) -> list[int]:
        """Calculate usage and priorities now, whether it is time or not.

        Returns:
            the numbers of the jobs whose priorities have changed.
        """
        while self._next <= now:
            self._next += self._rules.calc_period
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

    def _one_by_one(self, now: int) -> list[int]:
        changed = []
        for number, job in self._jobs.items():
            self._charge(job, now)
            if self._is_changed(job, now):
                changed.append(number)
        return changed

    def _in_tree(self, now: int) -> list[int]:
        for job in self._jobs.values():
            self._charge(job, now)
        self.shares.rank()
        return [number for number, job in self._jobs.items() if self._is_changed(job, now)]

    def _charge(self, job: _Job, now: int) -> None:
        """Charge a job for the time since the last calculation."""
        if job.started is None or job.share is None or not job.rate:
            return
        seconds = now - max(job.started, self._last or 0)
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

    def _steady(self, facts: JobFacts, share: Share | None, qos: str) -> tuple[_Steady, ...]:
        """The parts of a priority that never change, in each of the partitions of a job."""
        rules, machine, found = self._rules, self._machine, self._qos.get(qos)
        assoc = float(share.priority) if share is not None else 0.0
        if rules.normal_assoc:
            assoc = relative_factor(assoc, self.shares.most_priority)
        quality = float(found.priority) if found is not None else 0.0
        if rules.normal_qos:
            quality = relative_factor(quality, self._most_qos)
        size = rules.weight_job_size * self._size(facts) if rules.weight_job_size else 0.0
        tres = self._tres(facts) if rules.weight_tres else 0.0
        steady = []
        for name in facts.partitions:
            factor = float(machine.factor(name))
            if rules.normal_part:
                factor = relative_factor(factor, machine.most_factor)
            parts = rules.weight_assoc * assoc, size, rules.weight_partition * factor, rules.weight_qos * quality, tres
            steady.append(_Steady(name, *parts))
        return tuple(steady)

    def _size(self, facts: JobFacts) -> float:
        rules, machine = self._rules, self._machine
        nodes = facts.nodes / max(machine.nodes, 1)
        minutes = None
        if rules.small_relative_to_time:
            first = facts.partitions[0] if facts.partitions else ""
            minutes = machine.minutes(first) if facts.minutes is None else facts.minutes
        cpus = facts.cpus / max(machine.cpus, 1) if facts.cpus else nodes
        return size_factor(nodes, cpus, favor_small=rules.favor_small, minutes=minutes)

    def _tres(self, facts: JobFacts) -> float:
        totals = self._machine.amounts(facts.partitions[0]) if facts.partitions else {}
        found = 0.0
        for name, weight in self._rules.weight_tres.items():
            asked = facts.tres.get(name, 0.0)
            if not self._rules.normal_tres:
                found += weight * asked
            elif totals.get(name):
                found += weight * (asked / totals[name])
        return found
