"""The access to a partition. This module must not know limits."""

from __future__ import annotations

import msgspec

from batprotocol.sites.slurm.configuration import Partition

__all__ = ["Access"]

_ROOT = "root"


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of access of a partition. None allows all.

    Attributes:
        accounts: the accounts that may use it, and those that may not.
        groups: the groups that may use it. Jobs that name no group may, too.
        qos: the qualities of service that may use it, and those that may not.
        root_only: whether only root may use it.
        needs_reservation: whether its jobs must have a reservation.
        takes_jobs: whether jobs can be submitted to it.
    """

    accounts: frozenset[str] | None = None
    denied_accounts: frozenset[str] = frozenset()
    groups: frozenset[str] | None = None
    qos: frozenset[str] | None = None
    denied_qos: frozenset[str] = frozenset()
    root_only: bool = False
    needs_reservation: bool = False
    takes_jobs: bool = True

    @classmethod
    def of(cls, line: Partition) -> Access:
        """The rules of a line of slurm.conf.

        >>> Access.of(Partition(name="p", allow_accounts=("a",))).refusal("u", "b", "", "normal", "")
        'Invalid account or account/partition combination specified'
        """
        return cls(
            accounts=_set(line.allow_accounts),
            denied_accounts=frozenset(line.deny_accounts),
            groups=_set(line.allow_groups),
            qos=_set(line.allow_qos),
            denied_qos=frozenset(line.deny_qos),
            root_only=line.root_only,
            needs_reservation=line.needs_reservation,
            takes_jobs=line.state in ("UP", "DOWN"),
        )

    def refusal(self, user: str, account: str, group: str, qos: str, reservation: str) -> str:
        """Slurm's reason for which it refuses a job; "" if there is none.

        Args:
            user, account, group, qos: those of the job; "" if it has none.
            reservation: its reservation; "" if it has none.
        """
        if not self.takes_jobs:
            return "Required partition not available (inactive or drain)"
        if self.root_only and user != _ROOT:
            return "Access/permission denied: only root may use the partition"
        if self.groups is not None and group and group not in self.groups and user != _ROOT:
            return "User's group not permitted to use this partition"
        if self.needs_reservation and not reservation:
            return "Requested reservation is invalid: the partition needs one"
        if (self.accounts is not None and account not in self.accounts) or account in self.denied_accounts:
            return "Invalid account or account/partition combination specified"
        if (self.qos is not None and qos not in self.qos) or qos in self.denied_qos:
            return "Invalid qos specification"
        return ""


def _set(names: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)
