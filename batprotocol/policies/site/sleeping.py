"""The hosts of a site that sleep: switched off when they have been idle for a while, and on for the jobs of the plan.

A host that is being switched off has no space for jobs. A host that sleeps has: a job that gets it waits until it is
on. Hosts are switched on ahead of reservations, and of jobs whose time is known. This module must not know how a plan
is made, and which jobs wait.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

from batprotocol.policies.jobs import State
from batprotocol.policies.site.away import Away
from batprotocol.policies.site.idling import Idling
from batprotocol.policies.site.jobs import Entry
from batprotocol.policies.site.lanes import Lanes
from batprotocol.policies.switching import Switching

__all__ = ["Sleeping"]


class Sleeping:
    """Which hosts sleep, and when they are switched off and on.

    Args:
        switching: the hosts that can sleep, and those that do.
        state: the time.
        away: the hosts that have no space for jobs.
        lanes: the other numbers of hosts.
        switch: switches hosts on or off.

    Attributes:
        asleep: the hosts that sleep.
        waking: the hosts that are being switched on, each with the time at which it should be on.
        leaving: the hosts that are being switched off.
        idling: what hosts without jobs may draw; None: any watts.
        longest: the longest time that a host takes until it is on, in seconds.
    """

    def __init__(
        self,
        switching: Switching,
        state: State,
        away: Away,
        lanes: Lanes,
        switch: Callable[[Iterable[int], bool], None],
    ) -> None:
        self._after, self._state, self._away, self._lanes = switching.after, state, away, lanes
        self._switch_these = switch
        self._seconds = switching.seconds
        self.longest = max((on for _, on in self._seconds.values()), default=0.0)
        self.asleep: set[int] = set(switching.asleep)
        self.waking: dict[int, float] = {host: state.now + self._seconds[host][1] for host in switching.waking}
        self.leaving: set[int] = set()
        self.idling: Idling | None = None
        self._spared: set[int] = set()  # switched off for the watts of others, since a job has started
        self._jobs: Counter[int] = Counter()  # the number of jobs on each host
        self._idle = dict(switching.idle_since)
        self._due = [(since + self._after, host) for host, since in self._idle.items()]
        heapify(self._due)

    def is_late(self, number: int) -> bool:
        """Whether a host, by any of its numbers, is not on."""
        host = self._lanes.own(number)
        return host in self.asleep or host in self.waking

    def delay(self, numbers: Iterable[int]) -> float:
        """The seconds until all of these hosts are on, by any of their numbers."""
        now, waking = self._state.now, self.waking
        longest = 0.0
        for host in map(self._lanes.own, numbers) if self.asleep or waking else ():
            if host in self.asleep:
                longest = max(longest, self._seconds[host][1], self._state.resolution)
            elif host in waking:
                longest = max(longest, waking[host] - now, self._state.resolution)
        return longest

    # Jobs

    def take(self, hosts: Iterable[int]) -> set[int]:
        """A job has these hosts: those that sleep are switched on. Returns those that it has to wait for."""
        hosts = tuple(hosts)
        self._spared.clear()
        for host in hosts:
            self._jobs[host] += 1
            self._idle.pop(host, None)
        self.wake(host for host in hosts if host in self.asleep)
        return {host for host in hosts if host in self.waking}

    def give_back(self, hosts: Iterable[int]) -> None:
        """A job does not have these hosts any more."""
        for host in hosts:
            self._jobs[host] -= 1
            if not self._jobs[host]:
                del self._jobs[host]
                self._rest(host, self._state.now)

    def _rest(self, host: int, since: float) -> None:
        """A host is idle from a time on, which may come."""
        if host in self._seconds:
            self._idle[host] = since
            heappush(self._due, (since + self._after, host))

    # On

    def wake(self, hosts: Iterable[int]) -> None:
        """Switch on hosts that sleep."""
        hosts = sorted(hosts)
        if hosts:
            self._switch_these(hosts, True)
        for host in hosts:
            self.asleep.remove(host)
            self.waking[host] = self._state.now + self._seconds[host][1]
            if self.idling is not None:
                self.idling.wakes(host, self._state.now)

    def spare_none(self) -> None:
        """Hosts that were switched off for the watts of others may be switched on ahead of reservations again."""
        self._spared.clear()

    def _allowed(self, hosts: Iterable[int], begin: float) -> list[int]:
        """Of hosts that sleep, those that may be switched on now together, for a job that starts at a time."""
        if self.idling is None:
            return list(hosts)
        found = []
        for host in hosts:
            if self.idling.may_wake(host, self._state.now, begin):
                self.idling.wakes(host, self._state.now)
                found.append(host)
        return found

    def ahead(self, heads: Iterable[Entry]) -> float:
        """Switch on the hosts of reservations that begin soon.

        Under a cap, a job whose time has come waits for watts: until hosts that are on without a job have left. None
        is switched on for it then, as that takes watts, too, and its reservation may have other hosts each time. Those
        that it gets in the end are switched on as it starts.

        Returns:
            When others are to be switched on; infinity: that is not known.
        """
        if not self.asleep:
            return math.inf
        now, following = self._state.now + self._state.resolution / 2, math.inf
        for head in heads:
            if head.start - self.longest >= following or head.start == math.inf:
                continue
            if self.idling is not None and head.start <= now:
                continue
            reserved = map(self._lanes.own, head.reserved)
            sleeping = [host for host in reserved if host in self.asleep and host not in self._spared]
            due = self._allowed((each for each in sleeping if head.start - self._seconds[each][1] <= now), head.start)
            for host in due:
                self._rest(host, head.start)
            self.wake(due)
            later = (head.start - self._seconds[host][1] for host in sleeping if host in self.asleep)
            following = min((time for time in later if time > now), default=following)
        return following

    def prepare(self, numbers: Iterable[int], count: int, begin: float) -> None:
        """A job starts at a time on some of these hosts: as many of those that are idle are on then."""
        idle = sorted({self._lanes.own(number) for number in numbers} - self._jobs.keys() - self._away.hosts)
        on = [host for host in idle if host not in self.asleep and host not in self.leaving][:count]
        woken = self._allowed([host for host in idle if host in self.asleep][: count - len(on)], begin)
        for host in [*on, *woken]:
            if self._idle.get(host, -math.inf) < begin:
                self._rest(host, begin)
        self.wake(woken)

    # Off

    def switch_off(self, heads: Iterable[Entry]) -> None:
        """Switch off the hosts that have been idle for long, and that no reservation needs soon."""
        now = self._state.now
        if self.idling is not None:
            surplus = self.idling.surplus(*self._on_without_jobs(heads), now)
            self._spared.update(surplus)
            self.leave(surplus)
        due: list[int] = []
        while self._due and self._due[0][0] <= now + self._state.resolution / 2:
            time, host = heappop(self._due)
            if self._idle.get(host, math.inf) + self._after == time:
                due.append(host)
        if not due:
            return
        needed = {
            self._lanes.own(number): head.start
            for head in heads
            if head.start < now + self._after + 2 * self.longest
            for number in head.reserved
        }
        leaving = []
        for host in due:
            if needed.get(host, -math.inf) > now:
                self._rest(host, needed[host])
            elif host in self.waking:
                self._rest(host, self.waking[host])
            else:
                leaving.append(host)
        self.leave(leaving)

    def _on_without_jobs(self, heads: Iterable[Entry]) -> tuple[list[int], list[int]]:
        """The hosts that are on and have no job: those that are not needed soon, and those that are.

        Of the first, those come first that have been idle for longest; of the others, those that are needed last. If a
        job lacks watts, it is the first one that needs its hosts: others wait for it.
        """
        soon = self._state.now + 2 * self.longest
        needing = [head for head in heads if head.start <= soon]
        if self.idling is not None and self.idling.lacking and not self._jobs:
            needing = sorted(needing, key=lambda head: head.start)[:1]
        needed: dict[int, float] = {}
        for head in needing:
            for host in map(self._lanes.own, head.reserved):
                needed[host] = min(needed.get(host, math.inf), head.start)
        others = self.asleep | self.leaving | self.waking.keys()
        idle = [host for host in self._seconds if host not in others and not self._jobs[host]]
        idle.sort(key=lambda host: (-needed.get(host, -math.inf), self._idle.get(host, math.inf), -host))
        return [host for host in idle if host not in needed], [host for host in idle if host in needed]

    def leave(self, hosts: list[int]) -> None:
        """Switch off idle hosts that are on."""
        if not hosts:
            return
        for host in hosts:
            self._idle.pop(host, None)
        self._switch_these(hosts, False)
        self.left(hosts)

    def left(self, hosts: Iterable[int]) -> None:
        """Hosts are being switched off: no job has space there until they sleep."""
        now = self._state.now
        for host in hosts:
            self.leaving.add(host)
            if self.idling is not None:
                self.idling.leaves(host, now)
            self._away.closes(host, now, now + self._seconds[host][0])

    def switched(self, hosts: Iterable[int]) -> list[int]:
        """Hosts were switched on or off; returns those that have space for jobs again."""
        slept = [host for host in hosts if host in self.leaving]
        for host in hosts:
            if self.waking.pop(host, None) is not None and self.idling is not None:
                self.idling.is_on(host)
        for host in slept:
            if self.idling is not None:
                self.idling.sleeps(host)
            self.leaving.remove(host)
            self.asleep.add(host)
            self._away.opens(host, self._state.now)
        return slept

    def next_time(self) -> float:
        """The next time at which hosts may be switched off; infinity: none."""
        while self._due and self._idle.get(self._due[0][1], math.inf) + self._after != self._due[0][0]:
            heappop(self._due)
        due = self._due[0][0] if self._due else math.inf
        return due if self.idling is None else min(due, self.idling.next_time(self._state.now))
