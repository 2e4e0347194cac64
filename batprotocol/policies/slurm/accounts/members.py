"""The association and the quality of service of a job, and the limits that follow from them.

This module must not know what runs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from batprotocol.errors import InputError, hint, shown
from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.sites.slurm.accounting import Accounting, Association, Limits, Qos

__all__ = ["Members", "Standing"]

_USUAL = "normal"
_ADMINISTRATOR = "root"


class Standing(NamedTuple):
    """Whose limits hold for a job.

    Attributes:
        user: its user.
        account: its account.
        chain: its association, and those above it.
        qos: its quality of service; None if it has none.
    """

    user: str
    account: str
    chain: tuple[Association, ...]
    qos: Qos | None

    def own(self, name: str) -> Any:
        """A limit of each user or job: that of the nearest association that has one; None or empty if none has."""
        for each in self.chain:
            value = getattr(each.limits, name)
            if value is not None and value != {}:
                return value
        return getattr(Limits(), name)


class Members:
    """Users, accounts and qualities of service.

    Args:
        accounting: the accounting.
        enforce: what is enforced, of `associations`, `limits` and `qos` (AccountingStorageEnforce).
    """

    def __init__(self, accounting: Accounting, enforce: frozenset[str] = frozenset()) -> None:
        self.qos = accounting.qos
        self._enforce, self._homes = enforce, accounting.default_accounts
        self._accounts = {each.account: each for each in accounting.associations if each.user is None}
        self._users = {
            (each.account, each.user, each.partition or ""): each for each in accounting.associations if each.user
        }

    def standing(self, job: SlurmJob, partition: str = "") -> Standing:
        """Whose limits hold for a job.

        Raises:
            InputError: it has no association, or may not have its quality of service, and that is enforced.
        """
        account = job.account or self._homes.get(job.user, "")
        found = self._users.get((account, job.user, partition)) or self._users.get((account, job.user, ""))
        if found is None and "associations" in self._enforce and job.user != _ADMINISTRATOR:
            raise InputError(f"user {shown(job.user)} has no association with account {shown(account)}: add one")
        chain: list[Association] = [] if found is None else [found]
        above: str | None = account
        while above is not None and above in self._accounts:
            chain.append(self._accounts[above])
            above = self._accounts[above].parent or (None if above == "root" else "root")
        return Standing(job.user, account, tuple(chain), self._quality(job, chain))

    def _quality(self, job: SlurmJob, chain: list[Association]) -> Qos | None:
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
