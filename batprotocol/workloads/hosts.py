"""Hosts as a platform describes them: speeds in each power state, cores, properties, roles, wattages.

These values never change while a simulation runs. The `machine` package has the current states of hosts.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from batprotocol.workloads.electricity import SleepPState, Watts
from batprotocol.workloads.electricity.hosts import computation_pstates

__all__ = ["Host", "Role", "SleepPState", "Watts"]


class Role(Enum):
    """The purpose of a host."""

    MASTER = "master"
    """Batsim itself runs here. There is exactly one master. It has no id and executes no jobs."""
    COMPUTE = "compute_node"
    """Executes jobs."""
    STORAGE = "storage"
    """Sends and receives the bytes of storage profiles."""


class Host(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A host of a platform.

    Args:
        id: its number in the protocol: computation hosts first, then storage hosts; -1 for the master.
        name: its name, unique in the platform.
        speeds: flops per second of one core in each power state, at least one power state.
        pstate: the power state in which it starts.
        cores: the number of cores, at least 1.
        role: its purpose.
        properties: (key, value) pairs in the order of the file, without those of the zone.
        zone_properties: the properties that it inherits from the enclosing zones.
        watts: the power that it draws in each power state, or None if the platform does not declare it.
        watts_off: the power that it would draw if it were cut off, in watts, or None. Batsim never uses it.
        sleep_pstates: its sleep states. All power states that are not part of a sleep state are computation states.
    """

    id: int
    name: str
    speeds: tuple[float, ...]
    pstate: int = 0
    cores: int = 1
    role: Role = Role.COMPUTE
    properties: tuple[tuple[str, str], ...] = ()
    zone_properties: tuple[tuple[str, str], ...] = ()
    watts: tuple[Watts, ...] | None = None
    watts_off: float | None = None
    sleep_pstates: tuple[SleepPState, ...] = ()

    @property
    def computation_pstates(self) -> frozenset[int]:
        """The power states in which the host can execute jobs."""
        return computation_pstates(len(self.speeds), self.sleep_pstates)

    def sleep_state(self, pstate: int) -> SleepPState | None:
        """The sleep state with this number, or None if the host does not sleep in this power state."""
        return next((state for state in self.sleep_pstates if state.sleep == pstate), None)
