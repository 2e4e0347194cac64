"""Placements: the hosts that a job gets, and which executor runs on which of them."""

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
    """A placement told executor by executor.

    Args:
        mapping: at index i, where executor i runs: not a host id but an index into the allocation's hosts, in
            [0, number of allocated hosts[; uint32. One entry for each executor.
    """

    mapping: TupleOf[int]

    def __post_init__(self) -> None:
        if type(self.mapping) is not tuple:
            tuples_into(self, "mapping")


ExecutorPlacement: TypeAlias = PredefinedExecutorPlacementStrategy | CustomExecutorToHostMapping


class AllocationPlacement(Value, frozen=True):
    """The hosts of a job, and the placement of its executors on them.

    Args:
        host_allocation: the host set; anything but a string is written as the canonical string.
        executor_placement: a predefined strategy (spread over the hosts unless told otherwise) or a custom mapping.

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
        """The allocation as a `procset.ProcSet`. `HostSetError` if the string is no host set."""
        return parse_hosts(self.host_allocation)


class ProfileAllocationPlacement(Value, frozen=True):
    """The hosts and the placement of one profile inside a composition.

    Args:
        profile_id: the profile whose placement is overridden, `workload!name`.
        host_allocation: the host set; anything but a string is written as the canonical string.
        executor_placement: a predefined strategy (spread over the hosts unless told otherwise) or a custom mapping.
    """

    profile_id: str
    host_allocation: HostString
    executor_placement: ExecutorPlacement = _SPREAD

    def __post_init__(self) -> None:
        if type(self.host_allocation) is not str:
            hosts_into(self, "host_allocation")

    @property
    def hosts(self) -> ProcSet:
        """The allocation as a `procset.ProcSet`. `HostSetError` if the string is no host set."""
        return parse_hosts(self.host_allocation)


class StorageHost(Value, frozen=True):
    """Where a storage that profiles name is to be found.

    Args:
        storage_name: the name that the profiles use.
        host_id: the host that stands for it; uint32.
    """

    storage_name: str
    host_id: int
