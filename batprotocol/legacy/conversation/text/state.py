"""The state of a conversation in text. Messages in text give jobs and machines, but neither sizes nor options.

This module must not know bytes.
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["Machines", "TextState", "hosts_in"]

_MOST: Final = 2**16
"""How many machines of an interval the judge checks."""
_SOON: Final = 1e-3
"""A machine reaches a power state that computes within this many seconds; to switch it on or off takes longer."""


def hosts_in(ranges: tuple[range, ...]) -> tuple[int, ...]:
    """The machines of these intervals, in their order."""
    return tuple(host for each in ranges for host in each[:_MOST])


class _Request(msgspec.Struct):
    hosts: frozenset[int]
    pstate: int
    time: float
    is_old: bool = False


class Machines:
    """The known power states: the pending requests, and the information in the answers.

    If Batsim answers a request at once, the machine changes between two states that compute. Any other request puts
    machines to sleep, or wakes them up.
    """

    def __init__(self) -> None:
        self._requests: list[_Request] = []
        self._asleep: set[int] = set()
        self._sleeping: set[int] = set()  # the power states in which machines sleep

    def ask(self, hosts: frozenset[int], pstate: int, time: float) -> None:
        """The scheduler requests a power state for machines."""
        self._requests.append(_Request(hosts, pstate, time))

    def turn(self) -> None:
        """Take a message of Batsim: a request without an answer by now takes longer."""
        for request in self._requests:
            request.is_old = True

    def answered(self, hosts: frozenset[int], pstate: int, time: float) -> bool:
        """Batsim reports machines in that power state. Returns whether the scheduler had requested it."""
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
        """The reason why a machine does not compute, None if it computes as far as messages show."""
        if any(request.is_old and host in request.hosts for request in self._requests):
            return "is being switched"
        return "sleeps" if host in self._asleep else None

    def sleeps_on(self, host: int, pstate: int) -> bool:
        """Whether a machine sleeps, and this power state is one in which machines sleep."""
        return host in self._asleep and pstate in self._sleeping

    @property
    def are_switching(self) -> bool:
        """Whether a request has no answer yet."""
        return bool(self._requests)


class TextState:
    """Jobs, calls and machines; `version` is that of Batsim."""

    def __init__(self, version: int) -> None:
        self.version: Final = version
        self.clock = 0.0
        self.step = 0.0
        """Seconds that each event of a reply takes to reach Batsim's main process, as far as messages show."""
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
