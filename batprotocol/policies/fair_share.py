"""Accounts, fair share and the other factors of Slurm's priorities, as plain arithmetic on shares, usages and sizes.

Each factor is a number between 0 and 1, and a priority is their sum with weights. The formulas are those of SchedMD's
documents "Multifactor Priority Plugin", "Classic Fairshare Algorithm" and "Fair Tree Fairshare Algorithm", of Slurm
22.05.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

__all__ = [
    "AccountTree",
    "Association",
    "age_factor",
    "billing",
    "classic_factor",
    "classic_factors",
    "decay",
    "effective_usage",
    "fair_tree_factors",
    "relative_factor",
    "size_factor",
]

_LN2 = math.log(2)

AnyMember = TypeVar("AnyMember")


class AccountTree(Generic[AnyMember]):
    """The accounts of a site and the users in them, by name: who pays for a job, and which accounts lie above.

    The members are of any kind, such as associations with usage, or lines with limits. Slurm and the rules of a site
    look them up in the same way.

    Args:
        homes: the account of each user's jobs that name none.

    Attributes:
        accounts: the member of each account, by name.
        homes: as above.

    >>> tree: AccountTree[int] = AccountTree({"ada": "optics"})
    >>> tree.add_account("physics", 1, None)
    >>> tree.add_account("optics", 2, "physics")
    >>> tree.add_user("optics", "ada", 3)
    >>> tree.home("ada"), tree.user("optics", "ada", "a partition"), dict(tree.above("optics"))
    ('optics', 3, {'optics': 2, 'physics': 1})
    """

    def __init__(self, homes: Mapping[str, str] | None = None) -> None:
        self.homes: dict[str, str] = dict(homes or {})
        self.accounts: dict[str, AnyMember] = {}
        self._parents: dict[str, str | None] = {}
        self._users: dict[tuple[str | None, str, str], AnyMember] = {}

    def add_account(self, name: str, member: AnyMember, parent: str | None) -> None:
        """Add an account. Its parent is the account above it; None: there is none."""
        self.accounts[name], self._parents[name] = member, parent

    def add_user(self, account: str | None, user: str, member: AnyMember, partition: str = "") -> None:
        """Add a user of an account, for jobs in a partition, or in all that have no member of their own.

        Args:
            account: the account; None: the user is in none.
            user: the user.
            member: the member.
            partition: the partition; "": all of them.
        """
        self._users[account, user, partition] = member

    def home(self, user: str, account: str | None = None) -> str | None:
        """The account that a job names, or else that of its user; None if there is none."""
        return self.homes.get(user) if account is None else account

    def user(self, account: str | None, user: str, partition: str = "") -> AnyMember | None:
        """The user in an account. A member for the partition comes before the one for all partitions."""
        found = self._users.get((account, user, partition)) if partition else None
        return self._users.get((account, user, "")) if found is None else found

    def above(self, account: str | None) -> Iterator[tuple[str, AnyMember]]:
        """An account and those above it that are known, with their names."""
        while account is not None and account in self.accounts:
            yield account, self.accounts[account]
            account = self._parents[account]


class Association:
    """An account, or a user in an account, with shares and usage. Slurm calls it an association.

    Args:
        name: its name, unique among its siblings.
        shares: its part of its parent's share, compared with its siblings, >= 0.
        parent: the account above it; None for the root.
        is_user: whether it is a user.
        usage: its usage, in any unit. The usage of an account includes that of its members.

    Attributes:
        members: the users and accounts below it.
        level_shares: the sum of the shares of its members.
        rate: how much usage is added in a second, for `decay`.

    >>> root = Association("root")
    >>> physics = Association("physics", 3.0, root)
    >>> ada = Association("ada", 1.0, physics, is_user=True)
    >>> ada.normalized_shares, [each.name for each in root.walk()]
    (1.0, ['root', 'physics', 'ada'])
    """

    __slots__ = ("is_user", "level_shares", "members", "name", "parent", "rate", "shares", "usage")

    def __init__(
        self,
        name: str,
        shares: float = 1.0,
        parent: Association | None = None,
        *,
        is_user: bool = False,
        usage: float = 0.0,
    ) -> None:
        self.name, self.shares, self.parent, self.is_user, self.usage = name, shares, parent, is_user, usage
        self.rate = 0.0
        self.members: list[Association] = []
        self.level_shares = 0.0
        if parent is not None:
            parent.members.append(self)
            parent.level_shares += shares

    @property
    def level_share(self) -> float:
        """Its fraction of the shares of all members of its parent; 1 for the root, 0 if none of them has shares."""
        if self.parent is None:
            return 1.0
        return self.shares / self.parent.level_shares if self.parent.level_shares else 0.0

    @property
    def normalized_shares(self) -> float:
        """Its fraction of the whole machine: the product of its level's fraction and those above it."""
        return self.level_share * (1.0 if self.parent is None else self.parent.normalized_shares)

    @property
    def level_fair_share(self) -> float:
        """Its fraction of the shares, divided by its fraction of the usage of its parent. Above 1: it used too little.

        It is 0 without shares, and infinite with shares, but without usage.
        """
        share = self.level_share
        above = self.usage if self.parent is None else self.parent.usage
        used = self.usage / above if above else 0.0
        return 0.0 if share == 0 else share / used if used else math.inf

    def walk(self) -> Iterator[Association]:
        """It and all below it; accounts come before their members."""
        yield self
        for member in self.members:
            yield from member.walk()

    def path(self) -> Iterator[Association]:
        """It and all above it, up to the root."""
        found: Association | None = self
        while found is not None:
            yield found
            found = found.parent


def decay(associations: Iterable[Association], seconds: float, half_life: float) -> None:
    """Let time pass: old usage decays, and usage is added at the rate of each association and decays as well.

    With a rate r, usage U becomes U f + r h (1 - f) / ln 2, where f = 2^(-t / h). Slurm adds the usage of each period
    of PriorityCalcPeriod at its end; this is the same for periods that are infinitely short.

    Args:
        associations: the associations.
        seconds: how much time passes, t.
        half_life: after how many seconds usage counts half, h (PriorityDecayHalfLife); 0: usage does not decay.

    >>> ada = Association("ada", usage=8.0)
    >>> decay([ada], 20.0, 10.0)
    >>> ada.usage
    2.0
    """
    if half_life:
        factor = 2.0 ** -(seconds / half_life)
        gain = half_life / _LN2 * -math.expm1(-seconds / half_life * _LN2)
    else:
        factor, gain = 1.0, seconds
    for each in associations:
        each.usage = each.usage * factor + each.rate * gain


def effective_usage(own: float, above: float, share: float) -> float:
    """The effective usage of an association: its own usage, and its part of the usage of its siblings.

    Args:
        own: its usage, as a fraction of the usage of the whole machine.
        above: the effective usage of its parent.
        share: its fraction of the shares of its siblings and itself.

    >>> round(effective_usage(0.2, 0.45, 30 / 40), 4)
    0.3875
    """
    return own + (above - own) * share


def classic_factor(used: float, shares: float, dampening: float = 1.0) -> float:
    """The classic fair-share factor of an effective usage: see `classic_factors`.

    Args:
        used: the effective usage.
        shares: the fraction of the whole machine.
        dampening: larger values make usage count less.
    """
    return float(2.0 ** -(used / shares / dampening)) if shares > 0 else 0.0


def classic_factors(root: Association, dampening: float = 1.0) -> dict[Association, float]:
    """The classic fair-share factor of each user and account, 2^(-U / S / d).

    U is the effective usage, and S the fraction of the whole machine. For users and accounts right below the root,
    the effective usage is the actual usage. 0.5 means that the usage is just as large as the share. The factor is 0
    without shares.

    Args:
        root: the root.
        dampening: d: larger values make usage count less (FairShareDampeningFactor).

    >>> root = Association("root", usage=3.0)
    >>> users = [Association(name, 1.0, root, is_user=True, usage=usage) for name, usage in (("a", 2.0), ("b", 1.0))]
    >>> [round(factor, 3) for factor in classic_factors(root).values()]
    [0.397, 0.63]
    """
    factors: dict[Association, float] = {}
    total = root.usage or 1.0
    waiting = [(root, 1.0, 0.0)]
    while waiting:
        above, shares_above, used_above = waiting.pop()
        level = above.level_shares
        for each in above.members:
            share, used = each.shares / level if level else 0.0, each.usage / total
            if above is not root:
                used = effective_usage(used, used_above, share)
            shares = shares_above * share
            factors[each] = classic_factor(used, shares, dampening)
            if each.members:
                waiting.append((each, shares, used))
    return factors


def fair_tree_factors(root: Association) -> dict[Association, float]:
    """The fair-share factor of each user by the Fair Tree algorithm: the rank of the user, divided by their number.

    The members of each account are visited in the order of `level_fair_share`, the largest first, and the users get
    ranks in the order in which they are visited. So all users of an account come before those of an account with a
    smaller value.

    Users of the same account with the same value get the same rank. The members of accounts with the same value are
    visited as if they had one account. A user with the same value as an account has the rank of the first user of that
    account.

    >>> root = Association("root", usage=3.0)
    >>> users = [Association(name, 1.0, root, is_user=True, usage=usage) for name, usage in (("a", 2.0), ("b", 1.0))]
    >>> [factor for factor in fair_tree_factors(root).values()]
    [1.0, 0.5]
    """
    count = sum(each.is_user for each in root.walk())
    factors: dict[Association, float] = {}
    _rank(root.members, count, count, False, count, factors)
    return factors


def _rank(
    members: Iterable[Association],
    rank: int,
    place: int,
    is_tied: bool,
    count: int,
    factors: dict[Association, float],
) -> tuple[int, int]:
    """Rank the users among siblings and below them.

    Args:
        members: the siblings.
        rank: the rank of the user before.
        place: the rank that the next user has if there is no tie.
        is_tied: whether the first of the siblings has the rank of the user before.
        count: how many users there are.
        factors: gets the results.

    Returns:
        The same rank and place after them.
    """
    ordered = [(each.level_fair_share, each.is_user, each) for each in members]
    ordered.sort(key=lambda item: (-item[0], not item[1]))
    before: float | None = None
    number = 0
    while number < len(ordered):
        value, is_user, member = ordered[number]
        tied = is_tied if number == 0 else value == before
        number += 1
        if is_user:
            if not tied:
                rank = place
            factors[member] = rank / count
            place -= 1
        else:
            merged = list(member.members)
            while number < len(ordered) and ordered[number][0] == value:
                merged += ordered[number][2].members
                number += 1
            rank, place = _rank(merged, rank, place, tied, count, factors)
        before = value
    return rank, place


def age_factor(waited: float, max_age: float) -> float:
    """The age factor: the waiting time since the job could start, divided by the largest one that counts.

    Args:
        waited: the waiting time in seconds.
        max_age: the largest one that counts, in seconds, >= 0 (PriorityMaxAge). With 0, the factor is 1, as in Slurm.
    """
    return 1.0 if waited >= max_age else max(waited, 0.0) / max_age


def size_factor(hosts: float, cores: float, *, favor_small: bool = False, minutes: float | None = None) -> float:
    """The size factor of a job: (n + c) / 2, of the fraction of hosts n and of cores c that it requests.

    Args:
        hosts: the fraction of the hosts.
        cores: the fraction of the cores.
        favor_small: whether small jobs have the larger factor, 1 - (n + c) / 2 (PriorityFavorSmall).
        minutes: the walltime in minutes. If it is given, the factor is the larger one of n and c, divided by it
            (PriorityFlags=SMALL_RELATIVE_TO_TIME).

    >>> size_factor(0.5, 0.25), size_factor(0.5, 0.25, favor_small=True), size_factor(0.5, 0.25, minutes=10.0)
    (0.375, 0.625, 0.05)
    """
    size = (hosts + cores) / 2 if minutes is None else max(hosts, cores) / max(minutes, 1.0)
    return min(max(1.0 - size if favor_small else size, 0.0), 1.0)


def relative_factor(value: float, largest: float) -> float:
    """The factor of a partition or a quality of service: its priority, divided by the largest one of all.

    >>> relative_factor(10.0, 40.0), relative_factor(0.0, 0.0)
    (0.25, 0.0)
    """
    return value / largest if largest else 0.0


def billing(amounts: Mapping[str, float], weights: Mapping[str, float], *, takes_max: bool = False) -> float:
    """The billing units that a job is charged in each second.

    Args:
        amounts: what the job takes, such as `{"cpu": 4, "mem": 2048, "gres/gpu": 1, "node": 1}`.
        weights: the weight of a unit of each (TRESBillingWeights). Without any, a job is charged its cores, `cpu`.
        takes_max: whether only the largest product of amount and weight counts, not their sum
            (PriorityFlags=MAX_TRES). Licences, `license/...`, are of no node, and are added in any case.

    >>> billing({"cpu": 4, "gres/gpu": 1}, {"cpu": 1.0, "gres/gpu": 10.0})
    14.0
    """
    if not weights:
        return amounts.get("cpu", 0.0)
    products = {name: amounts.get(name, 0.0) * weight for name, weight in weights.items()}
    if not takes_max:
        return sum(products.values())
    of_nodes = [product for name, product in products.items() if not name.startswith("license/")]
    return max(of_nodes, default=0.0) + sum(products.values()) - sum(of_nodes)
