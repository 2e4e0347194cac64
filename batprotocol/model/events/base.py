"""The base classes of events. This module must not depend on which side sends an event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batprotocol.model.fields import HostString
from batprotocol.model.hosts import parse_hosts
from batprotocol.model.value import Value, hosts_into

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = ["EventBase", "HostsEventBase"]


class EventBase(Value, frozen=True, kw_only=True):
    """An event: something that happens at a given time."""

    timestamp: float = 0.0


class HostsEventBase(EventBase, frozen=True, kw_only=True):
    """An event about a set of hosts."""

    # Subclasses repeat it: mypy takes the type of the constructor's argument for that of an inherited field.
    host_ids: HostString

    def __post_init__(self) -> None:
        if type(self.host_ids) is not str:
            hosts_into(self, "host_ids")

    @property
    def hosts(self) -> ProcSet:
        """The hosts as a `procset.ProcSet`. Raises `HostSetError` if the string is not a host set."""
        return parse_hosts(self.host_ids)
