"""The watts of hosts and the power states in which they sleep, as properties of hosts declare them.

`wattage_per_state` has the watts of each power state, and `sleep_pstates` the power states in which a host sleeps and
switches.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.model import Host

__all__ = [
    "HostWatts",
    "SleepPState",
    "Watts",
    "computation_pstates",
    "declared",
    "host_watts",
    "read_sleep_pstates",
    "read_watts",
    "read_watts_off",
]

_WATTS: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?", re.ASCII)
_PSTATE: Final = re.compile(r"[0-9]{1,6}", re.ASCII)


class Watts(msgspec.Struct, frozen=True, gc=False):
    """The power that a host draws in one power state, in watts.

    Args:
        idle: the power without load.
        epsilon: the power with almost no load, where the straight line to `max` begins.
        max: the power with all cores busy.
    """

    idle: float
    epsilon: float
    max: float

    @property
    def most(self) -> float:
        """The most that the host draws, whatever its load is."""
        return max(self.idle, self.epsilon, self.max)


class SleepPState(msgspec.Struct, frozen=True, gc=False):
    """A sleep state, and the two virtual power states in which a host enters and leaves it, by their numbers.

    Args:
        sleep: the power state in which the host sleeps.
        switching_off: the power state in which it executes the flop that switches it off.
        switching_on: the power state in which it executes the flop that switches it on again.
    """

    sleep: int
    switching_off: int
    switching_on: int


class HostWatts(msgspec.Struct, frozen=True):
    """The watts and the speed of a host in each of its power states.

    Args:
        states: the watts in each power state.
        speeds: flops per second of one core in each power state.
        sleeps: its sleep states.

    >>> host = HostWatts((Watts(95.0, 95.0, 250.0), Watts(9.0, 9.0, 9.0)), (1e9, 1.0), (SleepPState(1, 1, 1),))
    >>> host.computation_pstates, host.states[0].most
    ((0,), 250.0)
    """

    states: tuple[Watts, ...]
    speeds: tuple[float, ...]
    sleeps: tuple[SleepPState, ...] = ()

    @property
    def computation_pstates(self) -> tuple[int, ...]:
        """The power states in which the host can execute jobs, in order."""
        return tuple(sorted(computation_pstates(len(self.states), self.sleeps)))


def computation_pstates(count: int, sleeps: tuple[SleepPState, ...]) -> frozenset[int]:
    """The power states in which a host can execute jobs: those that are not part of a sleep state.

    Args:
        count: the number of its power states.
        sleeps: its sleep states.
    """
    taken = {state for sleep in sleeps for state in (sleep.sleep, sleep.switching_off, sleep.switching_on)}
    return frozenset(range(count)) - taken


def read_watts(properties: Mapping[str, str], count: int) -> tuple[Watts, ...] | None:
    """The property `wattage_per_state`: for each power state `idle:max` or `idle:epsilon:max`; None without it.

    Args:
        properties: the properties of a host. Until 2021, SimGrid had `watt_per_state`.
        count: the number of its power states.

    Raises:
        InputError: the property cannot be read.

    >>> read_watts({"wattage_per_state": "95:250, 9:9"}, 2)
    (Watts(idle=95.0, epsilon=95.0, max=250.0), Watts(idle=9.0, epsilon=9.0, max=9.0))
    """
    text = properties.get("wattage_per_state", properties.get("watt_per_state"))
    if text is None:
        return None
    states = []
    for part in text.split(","):
        numbers = [number.strip() for number in part.split(":")]
        if len(numbers) not in (2, 3) or not all(_WATTS.fullmatch(number) for number in numbers):
            raise InputError(f"expected idle:max or idle:epsilon:max, got {shown(part)}", "wattage_per_state")
        watts = [float(number) for number in numbers]
        if not max(watts) < math.inf:
            raise InputError(f"expected finite numbers of watts, got {shown(part)}", "wattage_per_state")
        states.append(Watts(watts[0], watts[-2], watts[-1]))
    if len(states) != count:
        raise InputError(f"it is for {len(states)} power states, but the host has {count}", "wattage_per_state")
    return tuple(states)


def declared(states: Iterable[Watts] | None, sleeps: Iterable[SleepPState] = ()) -> dict[str, str]:
    """The properties that declare these watts and sleep states, as `read_watts` and `read_sleep_pstates` read them.

    >>> declared([Watts(95.0, 95.0, 250.0)])
    {'wattage_per_state': '95:95:250'}
    """
    found: dict[str, str] = {}
    if states is not None:
        found["wattage_per_state"] = ",".join(":".join(map(_number, (w.idle, w.epsilon, w.max))) for w in states)
    text = ",".join(f"{each.sleep}:{each.switching_off}:{each.switching_on}" for each in sleeps)
    return found | ({"sleep_pstates": text} if text else {})


def _number(value: float) -> str:
    short = f"{value:.15g}"
    return short if float(short) == value else repr(value)


def read_watts_off(properties: Mapping[str, str]) -> float | None:
    """The property `wattage_off`: what a host draws that is cut off; None without it. See `read_watts`.

    Raises:
        InputError: the property is not a number of watts.
    """
    text = properties.get("wattage_off", properties.get("watt_off"))
    if text is None:
        return None
    if not _WATTS.fullmatch(text.strip()) or not float(text) < math.inf:
        raise InputError(f"expected a number of watts, got {shown(text)}", "wattage_off")
    return float(text)


def read_sleep_pstates(properties: Mapping[str, str], count: int) -> tuple[SleepPState, ...]:
    """The property `sleep_pstates`: a list of `sleep:off:on`, three power states each; none without it.

    Args:
        properties: the properties of a host.
        count: the number of its power states.

    Raises:
        InputError: the property cannot be read.

    >>> read_sleep_pstates({"sleep_pstates": "1:2:3"}, 4)
    (SleepPState(sleep=1, switching_off=2, switching_on=3),)
    """
    text = properties.get("sleep_pstates")
    if text is None:
        return ()
    found: list[SleepPState] = []
    for part in text.split(","):
        numbers = [number.strip() for number in part.split(":")]
        if len(numbers) != 3 or not all(map(_PSTATE.fullmatch, numbers)):
            raise InputError(f"expected sleep:off:on, three power states, got {shown(part)}", "sleep_pstates")
        state = SleepPState(*map(int, numbers))
        missing = [number for number in map(int, numbers) if number >= count]
        if missing:
            raise InputError(f"there is no power state {missing[0]}; there are {count}", "sleep_pstates")
        found.append(state)
    sleeping = [state.sleep for state in found]
    virtual = {number for state in found for number in (state.switching_off, state.switching_on)}
    for number in sleeping:
        if sleeping.count(number) > 1 or number in virtual:
            raise InputError(f"power state {number} is a sleep state twice, or a virtual one as well", "sleep_pstates")
    return tuple(found)


def host_watts(host: Host) -> HostWatts | None:
    """The watts of a host of a simulation; None if its properties do not declare them.

    Args:
        host: the host, as Batsim describes it.

    Raises:
        InputError: its properties cannot be read; with its name.
    """
    properties = {each.key: each.value or "" for each in host.properties or () if each.key}
    count = host.pstate_count
    try:
        states = read_watts(properties, count)
        if states is None:
            return None
        return HostWatts(states, tuple(host.computation_speed), read_sleep_pstates(properties, count))
    except InputError as error:
        raise InputError(error.reason, f"host {host.name}.{error.path}") from None
