"""The power of one host: its power state, and whether it is on, asleep or switching, as Batsim keeps both.

A conversation has a record of each host, and so has the embedded Batsim: both take the same steps. A switch ends in the
power state that it was asked for, whatever `ChangeHostsPStateEvent` did to the host meanwhile; and such a change
neither ends a switch nor turns a host on or off. This module must not know of messages or of time.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from batprotocol import model
from batprotocol.conversation.automaton import HostPower

__all__ = ["PowerRecord"]


class PowerRecord(msgspec.Struct):
    """The power of a host.

    Attributes:
        pstate: its power state.
        sleeps: its sleep states, each with the virtual states for switching off and on.
        power: whether it is on, off or switching.
        target: the power state that the last switch leads to; -1: there was none.
    """

    pstate: int
    sleeps: Mapping[int, tuple[int, int]]
    power: HostPower
    target: int

    def kind(self, pstate: int) -> str:
        """The kind of a power state: "sleep", "virtual" (on the way to sleep or back) or "computation"."""
        if pstate in self.sleeps:
            return "sleep"
        return "virtual" if any(pstate in states for states in self.sleeps.values()) else "computation"

    def change(self, pstate: int) -> None:
        """Take another power state at once."""
        self.pstate = pstate

    def begin(self, target: int) -> int:
        """Begin a switch to a power state, and return the virtual power state on the way."""
        self.target = target
        if target in self.sleeps:
            self.power = HostPower.SWITCHING_OFF
            return self.sleeps[target][0]
        self.power = HostPower.SWITCHING_ON
        return self.sleeps.get(self.pstate, (-1, target))[1]

    def end(self, target: int) -> None:
        """End a switch in this power state."""
        self.pstate = target
        self.power = HostPower.ASLEEP if target in self.sleeps else HostPower.ON

    def ended(self) -> PowerRecord:
        """The power after the switch under way, or now if there is none."""
        if model.HostsTurnedOnOffEvent not in self.power.steps:
            return self
        after = PowerRecord(self.pstate, self.sleeps, self.power, self.target)
        after.end(self.target)
        return after

    def obstacle(self, target: int) -> tuple[str, str] | None:
        """The rule that a switch to this power state would break now, with the reason; None if it can begin."""
        if model.TurnOnOffHostsEvent not in self.power.steps:
            return "hosts.turn-switching", self.power.meaning
        now, then = self.kind(self.pstate), self.kind(target)
        if {now, then} == {"computation", "sleep"}:
            return None
        status = {"computation": "on", "sleep": "off", "virtual": "neither on nor off"}[now]
        return "hosts.turn-direction", f"{status} (power state {self.pstate}), and {target} is a {then} state"
