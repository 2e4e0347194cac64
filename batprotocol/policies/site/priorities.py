"""The priorities of waiting jobs by the rules of a site: their static factors, and the fair share of users now.

Usage is kept for each user and account, with the rate at which running jobs add to it. So a job costs something when
it starts and ends only, and time passes for all at once. The formulas are in `batprotocol.policies.orders.fair_share`.
`batprotocol.policies.slurm.priorities` has the same factors as numbers that Slurm would print: computed every
PriorityCalcPeriod only, in whole seconds, and with the priority of associations, which this module leaves out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping

from batprotocol.policies.orders.fair_share import (
    Association,
    age_factor,
    billing,
    classic_factors,
    decay,
    fair_tree_factors,
    relative_factor,
    size_factor,
)
from batprotocol.policies.site.jobs import Entry, SiteJob, SiteRunning
from batprotocol.policies.site.membership import ANY
from batprotocol.policies.site.rules import Priority, SiteRules
from batprotocol.workloads.requests.offers import Offer, needs_of

__all__ = ["Priorities"]

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
        self._accounts: dict[str, Association] = {}
        self._users: dict[tuple[str | None, str], Association] = {}
        self._homes: dict[str, str] = {}
        for name in rules.accounts:
            self._account(name)
        self._counts: dict[Association, int] = defaultdict(int)
        self._charges: dict[str, float] = {}
        self._now = self._computed = now
        self._factors: dict[Association | None, float] = {}
        self._changed = False

    def _account(self, name: str) -> Association:
        found = self._accounts.get(name)
        if found is None:
            account = self._rules.accounts[name]
            above = self.root if account.parent is None else self._account(account.parent)
            found = self._accounts[name] = self._added(Association(name, account.shares, above))
            for user, shares in account.users.items():
                self._homes.setdefault(user, name)
                self._users[name, user] = self._added(Association(user, shares, found, is_user=True))
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
        account = self._homes.get(user) if request.account is None else request.account
        above = self.root if account is None else self._accounts.get(account, self.root)
        place = (None if above is self.root else account), user
        found = self._users.get(place)
        if found is None:
            found = self._users[place] = self._added(Association(user, 1.0, above, is_user=True))
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

    def static(self, entry: Entry) -> float:
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

    def priority(self, entry: Entry, now: float) -> float:
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
