"""Placements: the hosts that a job gets, and the host of each of its executors."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from batprotocol.model.enums import PredefinedExecutorPlacementStrategy
from batprotocol.model.fields import HostString, TupleOf
from batprotocol.model.hosts import parse_hosts
from batprotocol.model.value import Value, hosts_into, tuples_into

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = [
    "AllocationPlacement",
    "CustomExecutorToHostMapping",
    "ExecutorPlacement",
    "ProfileAllocationPlacement",
    "StorageHost",
]

_SPREAD = PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst


class CustomExecutorToHostMapping(Value, frozen=True):
    """A placement that names the host of each executor.

    Args:
        mapping: one entry for each executor: entry i is the host of executor i. It is not a host id, but an index into
            the hosts of the allocation, in [0, number of allocated hosts[; uint32.
    """

    mapping: TupleOf[int]

    def __post_init__(self) -> None:
        if type(self.mapping) is not tuple:
            tuples_into(self, "mapping")


ExecutorPlacement: TypeAlias = PredefinedExecutorPlacementStrategy | CustomExecutorToHostMapping


class AllocationPlacement(Value, frozen=True):
    """The hosts of a job, and the placement of its executors on them.

    Args:
        host_allocation: the host set. A string is kept; any other host set becomes the canonical string.
        executor_placement: a predefined strategy or a custom mapping; `SpreadOverHostsFirst` by default.

    >>> AllocationPlacement([0, 1, 2, 8]).host_allocation
    '0-2 8'
    """

    host_allocation: HostString
    executor_placement: ExecutorPlacement = _SPREAD

    def __post_init__(self) -> None:
        if type(self.host_allocation) is not str:
            hosts_into(self, "host_allocation")

    @property
    def hosts(self) -> ProcSet:
        """The allocation as a `procset.ProcSet`. Raises `HostSetError` if the string is not a host set."""
        return parse_hosts(self.host_allocation)


class ProfileAllocationPlacement(Value, frozen=True):
    """The hosts and the placement of one profile within a composition.

    Args:
        profile_id: the profile that runs elsewhere, `workload!name`.
        host_allocation: the host set. A string is kept; any other host set becomes the canonical string.
        executor_placement: a predefined strategy or a custom mapping; `SpreadOverHostsFirst` by default.
    """

    profile_id: str
    host_allocation: HostString
    executor_placement: ExecutorPlacement = _SPREAD

    def __post_init__(self) -> None:
        if type(self.host_allocation) is not str:
            hosts_into(self, "host_allocation")

    @property
    def hosts(self) -> ProcSet:
        """The allocation as a `procset.ProcSet`. Raises `HostSetError` if the string is not a host set."""
        return parse_hosts(self.host_allocation)


class StorageHost(Value, frozen=True):
    """The host of a storage that profiles name.

    Args:
        storage_name: the name of the storage in the profiles.
        host_id: the id of the storage host; uint32.
    """

    storage_name: str
    host_id: int
