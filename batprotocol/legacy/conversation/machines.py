"""Power states of hosts in a conversation: those of the platform, the current one of each host, and pending changes.

This module must not know any event, nor jobs.
"""

from __future__ import annotations

__all__ = ["Machines"]


class Machines:
    """The hosts of a platform, as far as messages describe them.

    Attributes:
        counts: how many power states each host has.
        sleeping: the power states in which a host sleeps.
        passing: the power states that a host only passes through.
    """

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.sleeping: dict[int, frozenset[int]] = {}
        self.passing: dict[int, frozenset[int]] = {}
        self._now: dict[int, int] = {}
        self._moving: set[int] = set()

    def sleeps_in(self, host: int, pstate: int) -> bool:
        """Whether a host sleeps in that power state."""
        return pstate in self.sleeping.get(host, ())

    def rests(self, host: int) -> bool:
        """Whether a host does not compute, because it sleeps or changes its power state."""
        return host in self._moving or self.sleeps_in(host, self._now.get(host, 0))

    def fault_of(self, host: int, pstate: int) -> str | None:
        """The reason why a host cannot change to a power state, None if it can."""
        count = self.counts.get(host)
        if count is not None and not 0 <= pstate < count:
            return f"the host {host} has {count} power states, and none is {pstate}"
        rests = host not in self._moving and self.sleeps_in(host, self._now.get(host, 0))
        if rests and (self.sleeps_in(host, pstate) or pstate in self.passing.get(host, ())):
            return f"the host {host} sleeps, and can be switched on only"
        return None

    def switch(self, host: int, pstate: int) -> None:
        """The scheduler requests that power state for a host."""
        if host in self._moving or pstate in self.passing.get(host, ()):
            return  # it has no effect
        if self.sleeps_in(host, pstate) or self.sleeps_in(host, self._now.get(host, 0)):
            self._moving.add(host)
        else:
            self._now[host] = pstate

    def reached(self, host: int, pstate: int) -> None:
        """Batsim reports that a host is in that power state."""
        self._moving.discard(host)
        self._now[host] = pstate
