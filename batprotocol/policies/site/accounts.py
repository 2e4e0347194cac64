"""The limits and the fair share of users, accounts and qualities of service.

Usage is kept for each user and account, with the rate at which running jobs add to it. So a job costs something when
it starts and ends only, and time passes for all at once. The formulas are in `batprotocol.policies.fair_share`.
`batprotocol.policies.slurm.priorities` has the same factors as numbers that Slurm would print: computed every
PriorityCalcPeriod only, in whole seconds, and with the priority of associations, which this module leaves out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from batprotocol.policies.fair_share import (
    AccountTree,
    Association,
    age_factor,
    billing,
    classic_factors,
    decay,
    fair_tree_factors,
    relative_factor,
    size_factor,
)
from batprotocol.policies.jobs import SiteEntry, SiteJob, SiteRunning
from batprotocol.policies.rules import ScopeUsage, exceeded
from batprotocol.policies.site.rules import ANY, Account, Limits, Priority, SiteRules
from batprotocol.workloads.requests.offers import Offer, needs_of

_NONE: Final = Limits()


class LimitedScope(NamedTuple):
    """A scope that jobs belong to, and that may have limits.

    Attributes:
        name: its name, for people.
        limits: its limits.
        most: the most of each resource that its running jobs may have, by name.
        usage: what its jobs have.
        key: what tells it from all others.
    """

    name: str
    limits: Limits
    most: Mapping[str, int]
    usage: ScopeUsage
    key: tuple[str, object]


_UNITS: Final = {"node": "hosts", "cpu": "cores", "gres/gpu": "GPUs"}


class LimitUsage:
    """The amounts that jobs have, for each scope that has limits.

    Args:
        rules: the limits.
    """

    def __init__(self, rules: SiteRules) -> None:
        self._rules = rules
        self._tree: AccountTree[Account] = AccountTree()
        for name, account in rules.accounts.items():
            self._tree.add_account(name, account, account.parent)
        self._usage: dict[tuple[str, object], ScopeUsage] = defaultdict(ScopeUsage)
        self._known: dict[tuple[object, ...], tuple[LimitedScope, ...]] = {}
        self._counts_amounts = False  # whether a scope limits more than the number of jobs
        self._full: set[tuple[str, object]] = set()  # the scopes in which no more jobs can run

    def _scopes(self, job: SiteJob) -> tuple[LimitedScope, ...]:
        """The scopes that a job belongs to and that may have limits. Jobs that are alike ask once."""
        request = job.request
        array = None if request.array is None else request.array.limit
        key = type(request.user), request.user, request.account, request.qos, job.array, array
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._found(job))
            for scope in found:
                self._counts_amounts |= bool(scope.most)
                self._count(scope)
        return found

    def _found(self, job: SiteJob) -> Iterator[LimitedScope]:
        rules, request = self._rules, job.request
        user, account, qos = request.user, request.account, request.qos
        if rules.limits is not _NONE:
            yield self._scope("all jobs", "", rules.limits)
        if rules.per_user is not _NONE:
            yield self._scope("user", user, rules.per_user)
        for name, found in self._tree.above(account):
            yield self._scope("account", name, found.limits)
            if name == account:
                yield self._scope(f"account {name}, user", user, found.per_user)
        if qos is not None and qos in rules.qos:
            quality = rules.qos[qos]
            yield self._scope("QOS", qos, quality.limits)
            yield self._scope(f"QOS {qos}, user", user, quality.per_user)
            yield self._scope(f"QOS {qos}, account", account, quality.per_account)
        if request.array is not None:
            yield self._scope("array", job.array, Limits(running=request.array.limit))

    def _scope(self, kind: str, name: object, limits: Limits) -> LimitedScope:
        most = {"node": limits.hosts, "cpu": limits.cores, "gres/gpu": limits.gpus}
        given = {unit: limit for unit, limit in most.items() if limit is not None}
        return LimitedScope(f"{kind} {name}".strip(), limits, given, self._usage[kind, name], (kind, name))

    def _count(self, scope: LimitedScope) -> None:
        """Note whether a scope has as many running jobs as it can have."""
        if scope.limits.running is not None and scope.usage.jobs >= scope.limits.running:
            self._full.add(scope.key)
        else:
            self._full.discard(scope.key)

    @property
    def may_block(self) -> bool:
        """Whether limits may keep a job that was submitted from starting now: if not, they surely keep none."""
        return self._counts_amounts or bool(self._full)

    def refusal(self, job: SiteJob) -> str | None:
        """Why a job can never run, or cannot wait now, as the end of a sentence; None if it can."""
        wanted = _tres(job, job.cores)
        for scope in self._scopes(job):
            limits = scope.limits
            if limits.running is not None and limits.running < 1:
                return f"it asks for 1 jobs, and {scope.name} can have {limits.running}"
            for unit in exceeded(wanted, {}, scope.most):
                return f"it asks for {wanted[unit]} {_UNITS[unit]}, and {scope.name} can have {scope.most[unit]}"
            if limits.waiting is not None and scope.usage.submitted >= limits.waiting:
                return f"{limits.waiting} jobs of {scope.name} wait already"
        return None

    def most_cores(self, job: SiteJob) -> tuple[float, str]:
        """The most cores that a job can have, and who can have them; infinity if they are not limited."""
        found = ((float(scope.most["cpu"]), scope.name) for scope in self._scopes(job) if "cpu" in scope.most)
        return min(found, default=(math.inf, ""))

    def blocked(self, entry: SiteEntry) -> bool:
        """Whether limits keep a job from starting in a partition now, on whichever hosts it gets."""
        scopes = self._scopes(entry.job)
        if not scopes:
            return False
        wanted = _tres(entry.job, entry.cores)
        for _, limits, most, usage, _ in scopes:
            if limits.running is not None and usage.jobs >= limits.running:
                return True
            if most and any(True for _ in exceeded(wanted, usage.tres, most)):
                return True
        return False

    def waits(self, job: SiteJob, change: int) -> None:
        """A job waits (1), or waits no longer (-1)."""
        for scope in self._scopes(job):
            scope.usage.submitted += change

    def runs(self, running: SiteRunning, change: int) -> None:
        """A job runs (1), or runs no longer (-1)."""
        job = running.entry.job
        for scope in self._scopes(job):
            scope.usage.runs(_tres(job, running.cores), change)
            self._count(scope)


def _tres(job: SiteJob, cores: int) -> dict[str, int]:
    return {"node": job.size, "cpu": cores, "gres/gpu": job.gpus}


# The priorities of waiting jobs by the rules of a site: their static factors, and the fair share of users now.


_MEBIBYTE = 2**20


class Priorities:
    """The priorities of jobs.

    Args:
        rules: the accounts, partitions and qualities of service.
        priority: the weights.
        offers: what each host offers, by its number.
        members: the hosts of each partition, by its name.
        now: the time, in seconds.

    Attributes:
        root: the tree of accounts and users, with shares and usage.
    """

    def __init__(
        self,
        rules: SiteRules,
        priority: Priority,
        offers: Mapping[int, Offer],
        members: Callable[[str], frozenset[int]],
        now: float,
    ) -> None:
        self._rules, self._priority, self._offers, self._members = rules, priority, offers, members
        self._half_life = priority.decay_half_life if priority.decay_half_life < math.inf else 0.0
        self._hosts, self._cores = len(offers), sum(offer.cores for offer in offers.values())
        self._most_of_partitions = max([each.priority for each in rules.partitions.values()] or [ANY.priority])
        self._most_of_qos = max([each.priority for each in rules.qos.values()] or [0.0])
        self._totals: dict[str, dict[str, float]] = {}
        self.root = Association("")
        self._all = [self.root]
        self._tree: AccountTree[Association] = AccountTree()
        for name in rules.accounts:
            self._account(name)
        self._counts: dict[Association, int] = defaultdict(int)
        self._charges: dict[str, float] = {}
        self._now = self._computed = now
        self._factors: dict[Association | None, float] = {}
        self._changed = False

    def _account(self, name: str) -> Association:
        tree = self._tree
        found = tree.accounts.get(name)
        if found is None:
            account = self._rules.accounts[name]
            above = self.root if account.parent is None else self._account(account.parent)
            found = self._added(Association(name, account.shares, above))
            tree.add_account(name, found, account.parent)
            for user, shares in account.users.items():
                tree.homes.setdefault(user, name)
                tree.add_user(name, user, self._added(Association(user, shares, found, is_user=True)))
        return found

    def _added(self, association: Association) -> Association:
        self._all.append(association)
        return association

    def share_of(self, job: SiteJob) -> Association:
        """The association that a job is charged to: its user in its account.

        A job that names no account is charged to the first account that lists its user, or else right below the root.
        """
        request = job.request
        user = "" if request.user is None else str(request.user)
        account = self._tree.home(user, request.account)
        if account not in self._tree.accounts:
            account = None
        found = self._tree.user(account, user)
        if found is None:
            above = self.root if account is None else self._tree.accounts[account]
            found = self._added(Association(user, 1.0, above, is_user=True))
            self._tree.add_user(account, user, found)
            self._factors.clear()  # the shares of its siblings are smaller now
        return found

    # The parts of a priority

    @property
    def weight_age(self) -> float:
        """The weight of the age; 0 if the age never counts."""
        return self._priority.weight_age if self.max_age < math.inf else 0.0

    @property
    def max_age(self) -> float:
        """The waiting time in seconds from which on the age does not grow any more."""
        return self._priority.max_age

    def static(self, entry: SiteEntry) -> float:
        """The parts of an entry's priority that do not change while it waits: size, partition, QOS, TRES, nice."""
        priority, job, rules = self._priority, entry.job, self._rules
        size = job.size / self._hosts
        minutes = None
        if priority.small_relative_to_time:
            limit = rules.partitions.get(entry.partition, ANY).max_time if job.walltime == math.inf else job.walltime
            minutes = math.ceil(limit / 60) if limit < math.inf else math.inf
        qos = None if job.request.qos is None else rules.qos.get(job.request.qos)
        found = (
            priority.weight_job_size
            * size_factor(size, job.cores / self._cores, favor_small=priority.favor_small, minutes=minutes)
            + priority.weight_partition
            * relative_factor(rules.partitions.get(entry.partition, ANY).priority, self._most_of_partitions)
            + priority.weight_qos * relative_factor(qos.priority if qos else 0.0, self._most_of_qos)
        )
        if priority.weight_tres:
            totals, asked = self._totals_of(entry.partition), self._asked(job)
            for name, weight in priority.weight_tres.items():
                if totals.get(name):
                    found += weight * min(asked.get(name, 0.0) / totals[name], 1.0)
        return found - job.request.nice

    def fair_shares(self) -> Mapping[Association | None, float]:
        """The weighted fair-share factors of all users, as computed last; None has 0."""
        if not self._factors:
            priority, weight = self._priority, self._priority.weight_fairshare
            if not weight:
                factors = dict.fromkeys(self._all, 0.0)
            elif priority.fair_tree:
                factors = fair_tree_factors(self.root)
            else:
                factors = classic_factors(self.root, priority.fair_share_dampening_factor)
            self._factors = {each: weight * factor for each, factor in factors.items()} | {None: 0.0}
        return self._factors

    def priority(self, entry: SiteEntry, now: float) -> float:
        """The priority of an entry. A `priority` that an administrator set takes the place of the sum."""
        job = entry.job
        if job.request.priority is not None:
            return job.request.priority
        age = self.weight_age * age_factor(now - job.eligible, self.max_age)
        return self.static(entry) + age + self.fair_shares()[self.share_of(job)]

    # Usage

    def refresh(self, now: float) -> None:
        """Let time pass. The fair share is computed anew if usage has changed, and the last one is old enough."""
        self._pass(now)
        if self._changed and now - self._computed >= self._priority.calc_period:
            if self._priority.weight_fairshare:
                self._factors.clear()
            self._computed, self._changed = now, False

    def _pass(self, now: float) -> None:
        if now > self._now:
            if self.root.rate:
                self._changed = True
            if self.root.rate or self.root.usage:
                decay(self._all, now - self._now, self._half_life)
            self._now = now

    def started(self, running: SiteRunning, now: float) -> None:
        """A job runs: it is charged from now on."""
        job = running.entry.job
        qos = None if job.request.qos is None else self._rules.qos.get(job.request.qos)
        factor = 1.0 if qos is None else qos.usage_factor
        weights = self._rules.partitions.get(running.entry.partition, ANY).tres_billing_weights
        weights = self._priority.tres_billing_weights if weights is None else weights
        charge = factor * billing(self._taken(running), weights, takes_max=self._priority.max_tres)
        self._charges[job.id] = charge
        self._charge(job, charge, 1, now)

    def ended(self, running: SiteRunning, now: float) -> None:
        """A job runs no longer."""
        charge = self._charges.pop(running.entry.job.id, None)
        if charge is not None:
            self._charge(running.entry.job, -charge, -1, now)

    def _charge(self, job: SiteJob, change: float, count: int, now: float) -> None:
        self._pass(now)
        for each in self.share_of(job).path():
            self._counts[each] += count
            each.rate = each.rate + change if self._counts[each] else 0.0  # without a rest of rounding

    # Amounts

    def _asked(self, job: SiteJob) -> dict[str, float]:
        """The amounts that a job asks for, of all hosts together."""
        needs = needs_of(job.request, job.size)
        amounts = {"cpu": float(job.cores), "node": float(job.size), "mem": job.size * needs.memory / _MEBIBYTE}
        _add_gres(amounts, needs.gres, job.size)
        return amounts

    def _taken(self, running: SiteRunning) -> dict[str, float]:
        """The amounts that a job takes.

        Of hosts that it has for itself, a job takes everything. If it asks for memory, it takes only that memory.
        """
        job, amount = running.entry.job, running.entry.kind.amount
        amounts = self._asked(job)
        if amount[1]:
            amounts["cpu"] = float(amount[1] * len(running.members))
            return amounts
        everything = self._sum(running.members)
        return everything | {"mem": amounts["mem"]} if amounts["mem"] else everything

    def _totals_of(self, partition: str) -> dict[str, float]:
        if partition not in self._totals:
            self._totals[partition] = self._sum(self._members(partition))
        return self._totals[partition]

    def _sum(self, hosts: Collection[int]) -> dict[str, float]:
        amounts = {"cpu": 0.0, "mem": 0.0, "node": float(len(hosts))}
        for host in hosts:
            offer = self._offers[host]
            amounts["cpu"] += offer.cores
            amounts["mem"] += (offer.memory or 0) / _MEBIBYTE
            _add_gres(amounts, offer.gres, 1)
        return amounts


def _add_gres(amounts: dict[str, float], gres: Iterable[tuple[str, str | None, int]], times: int) -> None:
    for name, type, number in gres:
        for key in (f"gres/{name}", f"gres/{name}:{type}") if type else (f"gres/{name}",):
            amounts[key] = amounts.get(key, 0.0) + times * number
