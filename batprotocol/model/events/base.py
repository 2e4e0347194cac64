"""What all events have in common. It must not know which side sends which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol.model.fields import HostString
from batprotocol.model.hosts import parse_hosts
from batprotocol.model.value import Value, hosts_into

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = ["EventBase", "HostsEventBase"]


class EventBase(Value, frozen=True, kw_only=True):
    """An event: something that happens at a time."""

    timestamp: float = 0.0


class HostsEventBase(EventBase, frozen=True, kw_only=True):
    """An event about a set of hosts."""

    # Repeated by those below: in what is inherited, mypy takes the type that a constructor takes for that of the field.
    host_ids: HostString

    def __post_init__(self) -> None:
        if type(self.host_ids) is not str:
            hosts_into(self, "host_ids")

    @property
    def hosts(self) -> ProcSet:
        """The hosts as a `procset.ProcSet`. `HostSetError` if the string is no host set."""
        return parse_hosts(self.host_ids)
