"""Hosts as a platform describes them: speeds in each power state, cores, properties, roles, wattages.

These values never change while a simulation runs: what a host does at the moment is the machine's business.
"""

from __future__ import annotations

from enum import Enum

import msgspec

__all__ = ["Host", "Role", "SleepPState", "Watts"]


class Role(Enum):
    """What a host is there for."""

    MASTER = "master"
    """Batsim itself runs here. There is exactly one; it has no id and executes nothing."""
    COMPUTE = "compute_node"
    """Executes jobs."""
    STORAGE = "storage"
    """Sends and receives the bytes of storage profiles."""


class Watts(msgspec.Struct, frozen=True, gc=False):
    """The power that a host draws in one power state, in watts.

    Args:
        idle: with nothing to compute.
        epsilon: with as good as nothing to compute: where the straight line to `max` begins.
        max: with all cores busy.
    """

    idle: float
    epsilon: float
    max: float


class SleepPState(msgspec.Struct, frozen=True, gc=False):
    """A sleep state and the two virtual power states in which a host switches to it and back, by their numbers.

    Args:
        sleep: the power state in which the host sleeps.
        switching_off: the one in which it executes the flop that switches it off.
        switching_on: the one in which it executes the flop that switches it on again.
    """

    sleep: int
    switching_off: int
    switching_on: int


class Host(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A host of a platform.

    Args:
        id: its number on the wire: computation hosts first, then storage hosts; -1 for the master.
        name: its name, unique in the platform.
        speeds: flops per second of one core in each power state, at least one power state.
        pstate: the power state in which it starts.
        cores: how many cores it has, at least 1.
        role: what it is there for.
        properties: (key, value) pairs in the order of the file, without those of the zone.
        zone_properties: those of the zones around it, inherited.
        watts: what it draws in each power state, or None if the platform does not tell.
        watts_off: what it would draw if it were cut off, in watts, or None. Batsim reads it and never uses it.
        sleep_pstates: its sleep states. Power states that are no part of one are computation states.
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
        taken = {
            state for sleep in self.sleep_pstates for state in (sleep.sleep, sleep.switching_off, sleep.switching_on)
        }
        return frozenset(range(len(self.speeds))) - taken

    def sleep_state(self, pstate: int) -> SleepPState | None:
        """The sleep state that has this number, or None if that is not one in which the host sleeps."""
        return next((state for state in self.sleep_pstates if state.sleep == pstate), None)
