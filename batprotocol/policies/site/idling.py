"""The watts of hosts without jobs under a cap: on, asleep, or switching; and which are switched off for the others.

This module must not know jobs, and how hosts are switched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

    Where the cap falls, hosts without jobs have to sleep by then. One that is on, or is being switched on, takes time
    for that. So each start of a job, and each host that is switched on, is also compared with the caps of this time.

    Args:
        budget: what jobs draw, and what is allowed. What hosts draw without jobs is noted there.
        hosts: what each host draws without jobs, of those that can sleep. All are on.
        seconds: of each, the seconds in which it is switched off and on.
    """

    def __init__(
        self, budget: Budget, hosts: Mapping[int, StandBy], seconds: Mapping[int, tuple[float, float]]
    ) -> None:
        self._budget, self._hosts, self._seconds = budget, hosts, seconds
        self.ahead = _late(max((off for off, _ in seconds.values()), default=0.0))
        """The longest time in which a host is surely off after it was on."""
        self._longest = _late(max((off + on for off, on in seconds.values()), default=0.0))
        self._leaving: dict[int, float] = {}  # when they sleep
        self._waking: dict[int, float] = {}  # when they could sleep again
        self._asleep: set[int] = set()
        self.lacking = 0
        """How much less hosts without jobs are to draw, so that a job can start."""
        for host, draws in hosts.items():
            budget.stands(host, draws.on)

    def leaves(self, host: int, now: float) -> None:
        """A host is being switched off."""
        self._leaving[host] = now + _late(self._seconds[host][0])
        self._budget.stands(host, self._hosts[host].leaving)

    def sleeps(self, host: int) -> None:
        """A host sleeps now."""
        self._leaving.pop(host, None)
        self._asleep.add(host)
        self._budget.stands(host, self._hosts[host].asleep)

    def wakes(self, host: int, now: float) -> None:
        """A host is being switched on."""
        self._asleep.discard(host)
        self._waking[host] = now + _late(sum(self._seconds[host]))
        self._budget.stands(host, self._hosts[host].waking)

    def is_on(self, host: int) -> None:
        """A host is on now."""
        self._waking.pop(host, None)
        self._budget.stands(host, self._hosts[host].on)

    def may_wake(self, host: int, now: float, until: float) -> bool:
        """Whether a host may be switched on now for a job that starts later.

        Args:
            host: the host, which sleeps.
            now: the time.
            until: when the job starts.
        """
        draws, budget = self._hosts[host], self._budget
        more = max(draws.waking, draws.on) - draws.asleep
        if more > budget.rest(now) or not budget.fits((host,), now, until):
            return False
        sleeps = now + _late(sum(self._seconds[host]))
        return all(
            budget.is_taken(host, step) or self._drawn_at(step, now) + more <= budget.allowance.at(step)
            for step in self._steps(now, sleeps)
        )

    def lacks_later(self, hosts: Sequence[int], now: float, end: float, pace: int) -> int:
        """How much a job that starts now would draw beyond a cap that holds soon; 0: it may start.

        It counts what hosts without jobs draw then at least, as they cannot sleep before, and what those of the job
        draw after its end.

        Args:
            hosts: the hosts of the job.
            now: the time.
            end: its latest end.
            pace: how fast it runs.
        """
        budget, allowance = self._budget, self._budget.allowance
        steps = set(self._steps(now, now + self._longest))
        for change in [end, *budget.changes(now, end + self.ahead)] if end < math.inf else budget.changes(now, end):
            steps.update(self._steps(math.nextafter(change, -math.inf), change + self.ahead))
        if not steps:
            return 0
        before = [self._drawn_at(step, now) for step in steps]
        budget.take(hosts, now, end, pace)
        after = [self._drawn_at(step, now, frozenset(hosts)) for step in steps]
        budget.give_back(hosts, now, end, pace)
        found = 0
        for step, less, more in zip(steps, before, after, strict=True):
            if more > less:
                found = max(found, more - allowance.at(step))
        return found

    def next_time(self, now: float) -> float:
        """The next time at which hosts may have to be switched off, as less is allowed soon; infinity: never."""
        step = self._budget.allowance.next_step(now + self.ahead)
        return step - self.ahead

    def _steps(self, after: float, until: float) -> Iterator[float]:
        """The times after one and up to another one at which something else may be allowed."""
        step = self._budget.allowance.next_step(after)
        while step <= until:
            yield step
            step = self._budget.allowance.next_step(step)

    def _drawn_at(self, time: float, now: float, started: frozenset[int] = frozenset()) -> int:
        """The least that is drawn at a later time, if all hosts without jobs are switched off from now on.

        Args:
            time: that time.
            now: the time.
            started: hosts on which a job is to start now.
        """
        budget, found = self._budget, self._budget.taken_at(time)
        for host, draws in self._hosts.items():
            if budget.is_taken(host, time):
                continue
            since, draw = budget.taken_until(host, time), draws.on
            if since > now and (budget.has_job(host) or host in started):
                until = since + _late(self._seconds[host][0])
            elif host in self._asleep:
                continue
            elif host in self._leaving:
                until, draw = self._leaving[host], draws.leaving
            elif host in self._waking:
                until, draw = self._waking[host], max(draws.waking, draws.on)
            else:
                until = max(since, now) + _late(self._seconds[host][0])
            if until > time:
                found += draw - draws.asleep
        return found

    def surplus(self, hosts: Iterable[int], needed: Iterable[int], now: float) -> list[int]:
        """The hosts to switch off now: as many as is enough, the first of them first.

        Where hosts draw more while they leave than before, they leave one after the other, as far as the cap allows.

        Args:
            hosts: hosts that are on and have no job.
            needed: others, which a job is to get soon: they only leave where more would be drawn than allowed.
            now: the time.
        """
        room = self._budget.rest(now)
        leaves = sum(self._hosts[host].leaving - self._hosts[host].asleep for host in self._leaving)
        beyond = max(-room - leaves, self._missing_soon(now))
        missing = max(self.lacking - leaves, beyond)
        self.lacking = 0
        must = room < 0 or not (self._leaving or self._budget.is_busy)  # nothing else will leave more room
        found = []
        for host, is_needed in [*((host, False) for host in hosts), *((host, True) for host in needed)]:
            if (beyond if is_needed else missing) <= 0:
                continue
            draws = self._hosts[host]
            if draws.on > draws.asleep and (must or draws.leaving - draws.on <= room):
                must = must and room < 0
                room -= draws.leaving - draws.on
                missing -= draws.on - draws.asleep
                beyond -= draws.on - draws.asleep
                found.append(host)
        return found

    def _missing_soon(self, now: float) -> int:
        """How much more than allowed is drawn at most at a time before which hosts could just be switched off."""
        budget, worst = self._budget, 0
        for step in self._steps(now, now + self.ahead):
            drawn = budget.taken_at(step)
            for host, draws in self._hosts.items():
                if host in self._asleep or budget.is_taken(host, step):
                    continue
                if host in self._leaving:
                    drawn += draws.leaving - draws.asleep if self._leaving[host] > step else 0
                elif host in self._waking:
                    drawn += max(draws.waking, draws.on) - draws.asleep if self._waking[host] > step else 0
                else:
                    drawn += draws.on - draws.asleep
            worst = max(worst, drawn - budget.allowance.at(step))
        return worst


def _late(seconds: float) -> float:
    """The time that something takes, and a little more."""
    return seconds * 1.001 + 0.01
