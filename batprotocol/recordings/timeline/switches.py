"""When hosts were off or switching: from the changes at each moment to the times of groups of hosts.

This module must not know the source of the changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from batprotocol.recordings.timeline.values import OffDuty

__all__ = ["Power", "Switches"]


class Power(Enum):
    """The state of a host: its power, or why it is away."""

    ON = "on"
    OFF = "off"
    SWITCHING_ON = "switching on"
    SWITCHING_OFF = "switching off"
    DOWN = "down"
    DRAINED = "drained"


_SWITCHING = (Power.SWITCHING_ON, Power.SWITCHING_OFF)
_AWAY = (Power.DOWN, Power.DRAINED)


class Switches:
    """Follows hosts that are switched on and off. All are on at first.

    >>> switches = Switches()
    >>> switches.change(1.0, [(0, 3)], Power.OFF)
    >>> switches.change(5.0, [(1, 1)], Power.ON)
    >>> [(each.first, each.last, each.end) for each in switches.finish(9.0)]
    [(1, 1, 5.0), (0, 0, 9.0), (2, 3, 9.0)]
    """

    def __init__(self) -> None:
        self._since: dict[int, tuple[float, Power]] = {}
        self._found: list[OffDuty] = []

    def power(self, host: int) -> Power:
        """The power state of a host now."""
        return self._since[host][1] if host in self._since else Power.ON

    def change(self, time: float, intervals: Iterable[tuple[int, int]], power: Power) -> None:
        """From this time on, these hosts have this power state."""
        hosts = [host for first, last in intervals for host in range(first, last + 1)]
        self._end(time, hosts)
        if power is not Power.ON:
            self._since.update(dict.fromkeys(hosts, (time, power)))

    def finish(self, time: float) -> list[OffDuty]:
        """All times at which hosts were not on, until the end of the run."""
        self._end(time, sorted(self._since))
        return self._found

    def _end(self, time: float, hosts: Iterable[int]) -> None:
        """End the states of these hosts. Neighbouring hosts with the same state and time become one entry."""
        run: list[tuple[int, float, Power]] = []
        for host in hosts:
            did = self._since.pop(host, None)
            if run and (did is None or (run[-1][0] + 1, *did) != (host, *run[-1][1:])):
                self._add(run, time)
            if did is not None:
                run.append((host, *did))
        self._add(run, time)

    def _add(self, run: list[tuple[int, float, Power]], end: float) -> None:
        if run and end > run[0][1]:
            state = run[0][2]
            reason = state.value if state in _AWAY else ""
            self._found.append(OffDuty(run[0][0], run[-1][0], run[0][1], end, state in _SWITCHING, reason))
        run.clear()
