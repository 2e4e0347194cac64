"""The watts of hosts without jobs under a cap: on, asleep, or switching; and which are switched off for the others.

This module must not know jobs, and how hosts are switched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from batprotocol.policies.site.budget import Budget

__all__ = ["Idling", "StandBy"]


class StandBy(NamedTuple):
    """What a host draws without jobs, in microwatts beyond the least that it can draw.

    Attributes:
        on: while it is on.
        leaving: while it is switched off.
        asleep: while it sleeps.
        waking: while it is switched on.
    """

    on: int
    leaving: int
    asleep: int
    waking: int


class Idling:
    """The hosts that can sleep, under a cap.

    Args:
        budget: what jobs draw, and what is allowed. What hosts draw without jobs is noted there.
        hosts: what each host draws without jobs, of those that can sleep. All are on.
        seconds: the longest time in which one is switched off.
    """

    def __init__(self, budget: Budget, hosts: Mapping[int, StandBy], seconds: float) -> None:
        self._budget, self._hosts, self._seconds = budget, hosts, seconds
        self._leaving: set[int] = set()
        self.lacking = 0
        """How much less hosts without jobs are to draw, so that a job can start."""
        for host, draws in hosts.items():
            budget.stands(host, draws.on)

    def leaves(self, host: int) -> None:
        """A host is being switched off."""
        self._leaving.add(host)
        self._budget.stands(host, self._hosts[host].leaving)

    def sleeps(self, host: int) -> None:
        """A host sleeps now."""
        self._leaving.discard(host)
        self._budget.stands(host, self._hosts[host].asleep)

    def wakes(self, host: int) -> None:
        """A host is being switched on."""
        self._budget.stands(host, self._hosts[host].waking)

    def is_on(self, host: int) -> None:
        """A host is on now."""
        self._budget.stands(host, self._hosts[host].on)

    def may_wake(self, host: int, now: float, until: float) -> bool:
        """Whether a host may be switched on now for a job that starts later.

        Args:
            host: the host, which sleeps.
            now: the time.
            until: when the job starts.
        """
        draws = self._hosts[host]
        is_allowed = max(draws.waking, draws.on) - draws.asleep <= self._budget.rest(now)
        return is_allowed and self._budget.fits((host,), now, until)

    def next_time(self, now: float) -> float:
        """The next time at which hosts may have to be switched off, as less is allowed soon; infinity: never."""
        step = self._budget.allowance.next_step(now + self._ahead)
        return step - self._ahead

    @property
    def _ahead(self) -> float:
        return self._seconds * 1.001 + 0.01

    def surplus(self, hosts: Iterable[int], now: float) -> list[int]:
        """The hosts to switch off now: as many as is enough, the first of them first.

        Where hosts draw more while they leave than before, they leave one after the other, as far as the cap allows.

        Args:
            hosts: hosts that are on and have no job.
            now: the time.
        """
        room = self._budget.rest(now)
        missing = max(self.lacking, -room, self._missing_soon(now))
        self.lacking = 0
        must = room < 0 or not (self._leaving or self._budget.is_busy)  # nothing else will leave more room
        missing -= sum(self._hosts[host].leaving - self._hosts[host].asleep for host in self._leaving)
        found = []
        for host in hosts:
            if missing <= 0:
                break
            draws = self._hosts[host]
            if draws.on > draws.asleep and (must or draws.leaving - draws.on <= room):
                must = must and room < 0
                room -= draws.leaving - draws.on
                missing -= draws.on - draws.asleep
                found.append(host)
        return found

    def _missing_soon(self, now: float) -> int:
        """How much more than allowed is drawn after the next step, if it comes before a host could be switched off."""
        budget = self._budget
        step = budget.allowance.next_step(now)
        if step > now + self._ahead:
            return 0
        return budget.taken_at(step) + budget.standing - budget.allowance.at(step)
