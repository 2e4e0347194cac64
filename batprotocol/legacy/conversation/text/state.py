"""What is known in a conversation in text, of which much is not said: jobs and machines, but neither sizes nor options.

It must not know of bytes.
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["Machines", "TextState", "hosts_in"]

_MOST: Final = 2**16
"""How many machines of an interval are looked at."""
_SOON: Final = 1e-3
"""Seconds in which a machine is in a power state that computes; to switch it on or off takes longer."""


def hosts_in(ranges: tuple[range, ...]) -> tuple[int, ...]:
    """The machines of these intervals, in their order."""
    return tuple(host for each in ranges for host in each[:_MOST])


class _Request(msgspec.Struct):
    hosts: frozenset[int]
    pstate: int
    time: float
    is_old: bool = False


class Machines:
    """What is known of power states: which request has not been answered, and what the answers tell.

    A request that is answered at once is one for a state that computes, and the machine was in such a one, too. Any
    other brings machines to sleep, or wakes them up.
    """

    def __init__(self) -> None:
        self._requests: list[_Request] = []
        self._asleep: set[int] = set()
        self._sleeping: set[int] = set()  # the power states in which machines sleep

    def ask(self, hosts: frozenset[int], pstate: int, time: float) -> None:
        """Machines are asked to be in a power state."""
        self._requests.append(_Request(hosts, pstate, time))

    def turn(self) -> None:
        """Batsim has spoken: what is not answered now takes its time."""
        for request in self._requests:
            request.is_old = True

    def answered(self, hosts: frozenset[int], pstate: int, time: float) -> bool:
        """Machines are in that power state; whether that was asked for."""
        request = next((each for each in self._requests if (each.hosts, each.pstate) == (hosts, pstate)), None)
        if request is None:
            return False
        self._requests.remove(request)
        took = time - request.time > _SOON
        if took and not hosts & self._asleep:
            self._asleep |= hosts
            self._sleeping.add(pstate)
        else:
            self._asleep -= hosts
            self._sleeping.discard(pstate)
        return True

    def why_idle(self, host: int) -> str | None:
        """Why a machine does not compute, None if it does as far as is known."""
        if any(request.is_old and host in request.hosts for request in self._requests):
            return "is being switched"
        return "sleeps" if host in self._asleep else None

    def sleeps_on(self, host: int, pstate: int) -> bool:
        """Whether a machine sleeps, and is asked to sleep."""
        return host in self._asleep and pstate in self._sleeping

    @property
    def are_switching(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._requests)


class TextState:
    """Jobs, calls and machines; `version` is that of Batsim."""

    def __init__(self, version: int) -> None:
        self.version: Final = version
        self.clock = 0.0
        self.step = 0.0
        """Seconds that each event of a reply takes to reach Batsim's heart, as far as is known."""
        self.waiting: set[str] = set()
        self.running: dict[str, frozenset[int]] = {}
        self.ended: set[str] = set()
        self.calls = 0
        self.has_ended = False
        self.has_replied = False
        self.rejected_last = False
        self.machines = Machines()

    def users_of(self, host: int) -> str | None:
        """A job that runs on a machine, None if there is none."""
        return next((job for job, hosts in self.running.items() if host in hosts), None)
