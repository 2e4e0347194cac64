"""Power states of hosts in a conversation: which there are, which one each host is in, and what is on its way.

It must not know of any event, nor of jobs.
"""

from __future__ import annotations

__all__ = ["Machines"]


class Machines:
    """The hosts of a platform, as far as it is told of them.

    Attributes:
        counts: how many power states each host has.
        sleeping: those in which it sleeps.
        passing: those that it only passes through.
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
        """Whether a host does not compute, because it sleeps, or is on its way."""
        return host in self._moving or self.sleeps_in(host, self._now.get(host, 0))

    def fault_of(self, host: int, pstate: int) -> str | None:
        """Why a host cannot be brought into a power state, None if it can."""
        count = self.counts.get(host)
        if count is not None and not 0 <= pstate < count:
            return f"the host {host} has {count} power states, and none is {pstate}"
        rests = host not in self._moving and self.sleeps_in(host, self._now.get(host, 0))
        if rests and (self.sleeps_in(host, pstate) or pstate in self.passing.get(host, ())):
            return f"the host {host} sleeps, and can be switched on only"
        return None

    def switch(self, host: int, pstate: int) -> None:
        """A host is asked to be in that power state."""
        if host in self._moving or pstate in self.passing.get(host, ()):
            return  # nothing comes of it
        if self.sleeps_in(host, pstate) or self.sleeps_in(host, self._now.get(host, 0)):
            self._moving.add(host)
        else:
            self._now[host] = pstate

    def reached(self, host: int, pstate: int) -> None:
        """A host is in that power state, as Batsim says."""
        self._moving.discard(host)
        self._now[host] = pstate
