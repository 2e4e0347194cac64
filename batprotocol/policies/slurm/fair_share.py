"""The accounts and users of a site: whose limits hold for a job, and the tree with shares, usage and factors.

The factors are those of Slurm's documents: the classic one, the one that forgets the depth (DEPTH_OBLIVIOUS), and the
rank in the tree (Fair Tree). `batprotocol.policies.fair_share` has their formulas. Slurm computes the effective
usage of users not before it is asked for, so it can be newer than the one of their accounts: so does this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Final, NamedTuple

from msgspec.structs import replace

from batprotocol.errors import InputError, hint, shown
from batprotocol.policies.fair_share import (
    AccountTree,
    Association,
    classic_factor,
    effective_usage,
    fair_tree_factors,
)
from batprotocol.policies.slurm.queue import SlurmJob
from batprotocol.sites.slurm.accounting import Accounting, AccountingLimits, SlurmAssociation, SlurmQos

__all__ = [
    "AccountMembers",
    "AccountShare",
    "JobAssociation",
    "LimitSet",
    "ShareTree",
    "accounts_of",
    "decay_of",
    "next_reset",
]


_STEEPNESS: Final = 5.0
"""How fast the usage of a user loses weight where the usage of the account is far from its share."""


def accounts_of(accounting: Accounting) -> AccountTree[SlurmAssociation]:
    """The accounts and users with their lines. An account that names none above it lies below the root."""
    tree: AccountTree[SlurmAssociation] = AccountTree(accounting.default_accounts)
    for line in accounting.associations:
        if line.user is not None:
            tree.add_user(line.account, line.user, line, line.partition or "")
        else:
            tree.add_account(line.account, line, line.parent or (None if line.account == "root" else "root"))
    return tree


# Whose limits hold for a job


_USUAL = "normal"
_ADMINISTRATOR = "root"


class JobAssociation(NamedTuple):
    """Whose limits hold for a job.

    Attributes:
        user: its user.
        account: its account.
        chain: its association, and those above it.
        qos: its quality of service; None if it has none.
    """

    user: str
    account: str
    chain: tuple[SlurmAssociation, ...]
    qos: SlurmQos | None


class AccountMembers:
    """Users, accounts and qualities of service.

    Args:
        accounting: the accounting.
        enforce: what is enforced, of `associations`, `limits` and `qos` (AccountingStorageEnforce).

    Attributes:
        has_budgets: whether someone may use so many minutes only (GrpTRESMins, GrpWall).
        unreserved: the qualities of service with the flag NoReserve.
    """

    def __init__(self, accounting: Accounting, enforce: frozenset[str] = frozenset()) -> None:
        self.qos = accounting.qos
        self.unreserved = frozenset(each.name for each in accounting.qos.values() if "NoReserve" in each.flags)
        whole = [each.limits for group in (accounting.associations, accounting.qos.values()) for each in group]
        self.has_budgets = any(each.tres_minutes or each.wall is not None for each in whole)
        self._enforce, self._tree = enforce, accounts_of(accounting)

    def standing(self, job: SlurmJob, partition: str = "") -> JobAssociation:
        """Whose limits hold for a job.

        Raises:
            InputError: it has no association, or may not have its quality of service, and that is enforced.
        """
        account = self._tree.home(job.user, job.account or None) or ""
        found = self._tree.user(account, job.user, partition)
        if found is None and "associations" in self._enforce and job.user != _ADMINISTRATOR:
            raise InputError(f"user {shown(job.user)} has no association with account {shown(account)}: add one")
        chain = [] if found is None else [found]
        chain += [each for _, each in self._tree.above(account)]
        return JobAssociation(job.user, account, tuple(chain), self._quality(job, chain))

    def _quality(self, job: SlurmJob, chain: list[SlurmAssociation]) -> SlurmQos | None:
        default = next((each.default_qos for each in chain if each.default_qos), _USUAL)
        name = job.qos or default
        if "qos" in self._enforce and self.qos and job.user != _ADMINISTRATOR:
            allowed = next((each.qos for each in chain if each.qos is not None), None)
            if name not in self.qos:
                raise InputError(f"there is no quality of service {shown(name)}{hint(name, self.qos)}")
            if allowed is not None and name not in allowed:
                raise InputError(
                    f"user {shown(job.user)} may not have quality of service {shown(name)}: expected one "
                    f"of {', '.join(allowed)}"
                )
        return self.qos.get(name)


class LimitSet(NamedTuple):
    """The limits that hold for a job in a partition.

    Attributes:
        qualities: qualities of service, in turn, each with those limits that no one before it hides.
        associations: its association and those above it, with the limits that no quality of service hides.
        own: those of each job and user of its association.
    """

    qualities: tuple[tuple[SlurmQos, AccountingLimits], ...]
    associations: tuple[tuple[SlurmAssociation, AccountingLimits], ...]
    own: AccountingLimits

    @classmethod
    def of(cls, standing: JobAssociation, qualities: tuple[SlurmQos, ...]) -> LimitSet:
        """Those of a job.

        Args:
            standing: its association.
            qualities: the qualities of service that limit it; the first one comes first.
        """
        before, turns = AccountingLimits(), []
        for qos in qualities:
            turns.append((qos, qos.limits.hidden_by(before)))
            before = before.filled(qos.limits)
        own = AccountingLimits()
        for each in standing.chain:  # those of a user or job are of the nearest association that has one
            own = own.filled(each.limits)
        own = own.hidden_by(before)
        if before.jobs_user is not None or before.jobs_account is not None:
            own = replace(own, jobs_each=None)
        if before.submitted_user is not None or before.submitted_account is not None:
            own = replace(own, submitted_each=None)
        return cls(tuple(turns), tuple((each, each.limits.hidden_by(before)) for each in standing.chain), own)

    @property
    def most_nodes(self) -> float:
        """The most nodes that they let a job have, whatever others have; infinity: any number."""
        groups = [each for _, found in self.qualities for each in (found.tres_job, found.tres_user, found.tres)]
        groups += [self.own.tres_job, *(found.tres for _, found in self.associations)]
        return min((each.get("node", math.inf) for each in groups), default=math.inf)


# The shares


class AccountShare(Association):
    """An account or a user of the tree.

    Args:
        name: its name.
        shares: its shares.
        parent: the account above it with shares; None for the root.
        is_user: whether it is a user.
        lines: its line, and those of all accounts above it.

    Attributes:
        effective: the effective usage; None: not computed since the last calculation.
        normalized: the usage as a fraction of all usage, when `effective` was computed.
        priority: the priority of the association, or that of the next account above that has one.
        of_parent: whether a user has the shares of the account (Fairshare=parent).
        qos: the default quality of service, or that of the next account above that has one.
    """

    __slots__ = ("effective", "normalized", "of_parent", "priority", "qos")

    def __init__(
        self, name: str, shares: float, parent: AccountShare | None, *, is_user: bool, lines: Sequence[SlurmAssociation]
    ) -> None:
        self.of_parent = is_user and lines[0].shares is None
        super().__init__(name, 0.0 if self.of_parent else shares, parent, is_user=is_user)
        self.effective: float | None = None
        self.normalized = 0.0
        self.priority: int = next((each.priority for each in lines if each.priority is not None), 0)
        self.qos: str | None = next((each.default_qos for each in lines if each.default_qos), None)

    @property
    def level_fair_share(self) -> float:
        """See `Association`; infinite for a user with the shares of the account."""
        return math.inf if self.of_parent else super().level_fair_share


class ShareTree:
    """The tree, and the factors as they were computed last.

    Args:
        accounting: accounts and users.
        fair_tree: whether the factor is the rank in the tree.
        dampening: larger values make usage count less in the classic factor.
        depth_oblivious: whether the depth of an association does not count in the classic factor.

    Attributes:
        root: the root.
    """

    def __init__(
        self, accounting: Accounting, *, fair_tree: bool = True, dampening: float = 1.0, depth_oblivious: bool = False
    ) -> None:
        self._is_tree, self._dampening, self._is_oblivious = fair_tree, dampening, depth_oblivious
        lines = accounts_of(accounting)
        first, *others = accounting.associations
        self.root = AccountShare("root", 1.0, None, is_user=False, lines=(first,))
        self._tree: AccountTree[AccountShare] = AccountTree(accounting.default_accounts)
        self._tree.add_account("root", self.root, None)
        self._ranks: dict[Association, float] = {}
        for line in others:
            self._add(line, [each for _, each in lines.above(line.account)])
        self.all: list[AccountShare] = [each for each in self.root.walk() if isinstance(each, AccountShare)]
        self._normalized = {each: each.normalized_shares for each in self.all}
        self.most_priority = max(each.priority or 0 for each in accounting.associations)

    def _add(self, line: SlurmAssociation, lines: list[SlurmAssociation]) -> None:
        """Add an association.

        Args:
            line: its line.
            lines: those of its account, or of itself if it is one, and of all above.
        """
        tree = self._tree
        if line.user is not None:
            shares = 1.0 if line.shares is None else float(line.shares)
            user = AccountShare(line.user, shares, tree.accounts[line.account], is_user=True, lines=(line, *lines))
            tree.add_user(line.account, line.user, user, line.partition or "")
            return
        parent = line.parent or "root"
        account = tree.accounts[parent]
        if line.shares is not None:  # else it has no shares of its own: its members belong to the account above
            account = AccountShare(line.account, float(line.shares), account, is_user=False, lines=lines)
        tree.add_account(line.account, account, parent)

    def of(self, user: str, account: str = "", partition: str = "") -> AccountShare | None:
        """The association of a user in an account, if there is one.

        Args:
            user: the user.
            account: the account; "": the default account of the user.
            partition: the partition of the job: an association for it comes before the one for all partitions.
        """
        return self._tree.user(self._tree.home(user, account or None), user, partition)

    # Usage

    def charge(self, share: AccountShare, amount: float) -> None:
        """Add usage to an association, and to all above it."""
        for each in share.path():
            each.usage += amount

    def decay(self, factor: float) -> None:
        """Multiply the usage of all with a factor."""
        for each in self.all:
            each.usage *= factor

    def forget(self) -> None:
        """Set the usage of all to 0."""
        self.decay(0.0)

    # Factors

    def begin(self) -> None:
        """A calculation begins: the classic effective usage of accounts is computed now, that of users when needed."""
        if self._is_tree:
            return
        for each in self.all:
            each.effective = None
        self.root.effective, self.root.normalized = 1.0, 1.0
        for each in self.all[1:]:
            if not each.is_user:
                self._compute(each)

    def rank(self) -> None:
        """Compute the ranks of Fair Tree."""
        if self._is_tree:
            self._ranks = fair_tree_factors(self.root)
            for each in self.all:
                above = each.usage if each.parent is None else each.parent.usage
                each.effective = each.usage / above if above else 0.0
                each.normalized = min(each.usage / self.root.usage, 1.0) if self.root.usage else 0.0

    def factor(self, share: AccountShare) -> float:
        """The fair-share factor of a user now.

        Before the first calculation, there is no usage and no rank: the classic factor is 1, and a rank is 0.
        """
        if self._is_tree:
            return self._ranks.get(share, 0.0)
        if share.of_parent and isinstance(share.parent, AccountShare):
            share = share.parent
        if share.effective is None:
            self._compute(share)
        return classic_factor(share.effective or 0.0, self._normalized[share], self._dampening)

    def level(self, share: AccountShare) -> float:
        """The value by which Fair Tree orders siblings (LevelFS), as it was at the last calculation."""
        if share.of_parent:
            return math.inf
        if not share.level_share:
            return 0.0
        return share.level_share / share.effective if share.effective else math.inf

    def _compute(self, share: AccountShare) -> None:
        """Compute the effective usage by the classic algorithm."""
        total = self.root.usage
        share.normalized = min(share.usage / total, 1.0) if total else 0.0
        parent = share.parent
        if not isinstance(parent, AccountShare) or parent is self.root:
            share.effective = share.normalized
            return
        if parent.effective is None:
            self._compute(parent)
        above = parent.effective or 0.0
        if self._is_oblivious:
            share.effective = self._oblivious(share, parent, above)
        else:
            share.effective = effective_usage(
                share.normalized, above, share.level_share if parent.level_shares else 1.0
            )

    def _oblivious(self, share: AccountShare, parent: AccountShare, above: float) -> float:
        """The effective usage where the depth of an association does not count (PriorityFlags=DEPTH_OBLIVIOUS).

        The ratio of usage to share is that of the parent, multiplied with the one among the siblings to the power k. k
        is 1 if both ratios are on the same side of 1, else it is the smaller, the farther the parent's ratio is from 1.
        The usage of siblings is that of their own last computation, as in a real Slurm.
        """
        shares, shares_above = self._normalized[share], self._normalized[parent]
        if not (shares and shares_above and above and share.normalized):
            return share.normalized
        ratio = above / shares_above
        siblings = sum(each.normalized for each in self._counted(parent.members)) / shares_above
        among = share.normalized / shares / siblings if siblings else 0.0
        if not among or math.log(ratio) * math.log(among) >= 0:
            return ratio * among * shares
        return float(ratio * among ** (1 / (1 + (_STEEPNESS * math.log(ratio)) ** 2)) * shares)

    @staticmethod
    def _counted(members: Iterable[Association]) -> Iterator[AccountShare]:
        return (each for each in members if isinstance(each, AccountShare) and not each.of_parent)


# Decay, and the moments at which usage is set to 0


_LN2: Final = 0.693
"""The logarithm of 2 with the digits that Slurm uses."""
_MONTHS: Final = {"monthly": 1, "quarterly": 3, "yearly": 12}


def decay_of(seconds: float, half_life: float) -> float:
    """The factor by which usage is multiplied after some seconds.

    It is (1 - 0.693 / h)^t, which is a little less than 2^(-t / h) for short half lives.

    Args:
        seconds: how much time passes, t.
        half_life: after how many seconds usage counts half, h; 0 or infinite: it always counts the same.

    >>> round(decay_of(300.0, 300.0), 6)
    0.499673
    """
    if not 0 < half_life < math.inf:
        return 1.0
    base = 1.0 - _LN2 / half_life
    return float(base**seconds) if base > 0 else 0.0


def next_reset(period: str, last: float) -> float:
    """The first moment after another one at which usage is set to 0.

    Args:
        period: daily, weekly (on Sunday), monthly, quarterly or yearly, always at 00:00; another one: never.
        last: the other moment.

    >>> next_reset("weekly", 0.0) / 86400  # 1970 began with a Thursday
    3.0
    """
    day = datetime.fromtimestamp(last, timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "daily":
        return (day + timedelta(days=1)).timestamp()
    if period == "weekly":
        return (day + timedelta(days=7 - day.isoweekday() % 7)).timestamp()
    if period not in _MONTHS:
        return math.inf
    step = _MONTHS[period]
    months = (day.year * 12 + day.month - 1) // step * step + step
    return day.replace(year=months // 12, month=months % 12 + 1, day=1).timestamp()
