"""The placement of executors on hosts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from batprotocol.conversation.hostsets import read_hosts
from batprotocol.model import CustomExecutorToHostMapping, ExecutorPlacement, PredefinedExecutorPlacementStrategy
from batprotocol.simulator.machine.machine import intervals
from batprotocol.workloads import PlatformHost

__all__ = ["PlacedExecutors", "allocation_of", "hosts_of"]


_FILL = PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst


@lru_cache(maxsize=4096)
def hosts_of(text: str) -> tuple[int, ...]:
    """The hosts of a host set, ascending and without duplicates."""
    intervals = read_hosts(text).intervals
    if len(intervals) == 1:
        first, last = intervals[0]
        return tuple(range(first, last + 1))
    return tuple(sorted({host for first, last in intervals for host in range(first, last + 1)}))


@lru_cache(maxsize=4096)
def allocation_of(text: str) -> tuple[tuple[int, ...], str]:
    """The hosts of a host set, and their text in the result files."""
    hosts = hosts_of(text)
    return hosts, intervals(hosts)


class PlacedExecutors(NamedTuple):
    """Hosts, and the host of each executor.

    Args:
        allocation: the hosts' numbers, ascending.
        strategy: a predefined strategy, or a mapping to places in `allocation`.
    """

    allocation: tuple[int, ...]
    strategy: ExecutorPlacement

    @property
    def mapping(self) -> tuple[int, ...] | None:
        """The custom mapping, or None."""
        return self.strategy.mapping if isinstance(self.strategy, CustomExecutorToHostMapping) else None

    def executors(self, count: int, hosts: Sequence[PlatformHost]) -> list[int]:
        """The host of each of `count` executors."""
        mapping = self.mapping
        if mapping is not None:
            return [self.allocation[place] for place in mapping[:count]]
        places = self.allocation
        if self.strategy == _FILL:
            places = tuple(host for host in places for _ in range(hosts[host].cores))
        return [places[number % len(places)] for number in range(count)] if places else []
