"""The hosts of a site that sleep: switched off when they have been idle for a while, and on for the jobs of the plan.

A host that is being switched off has no space for jobs. A host that sleeps has: a job that gets it waits until it is
on. Hosts are switched on ahead of reservations, and of jobs whose time is known. Under a cap, hosts without jobs are
also switched off so that others may draw their watts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from batprotocol.policies.energy import Switching
from batprotocol.policies.jobs import SiteEntry
from batprotocol.policies.site.state import SiteState
from batprotocol.policies.site.watts import Budget

# The watts of hosts without jobs under a cap: on, asleep, or switching; and which are switched off for the others.


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


class Sleeping:
    """Which hosts sleep, and when they are switched off and on.

    Args:
        switching: the hosts that can sleep, and those that do.
        site: the state of the site.
        switch: switches hosts on or off.

    Attributes:
        asleep: the hosts that sleep.
        waking: the hosts that are being switched on, each with the time at which it should be on.
        leaving: the hosts that are being switched off.
        idling: what hosts without jobs may draw; None: any watts.
        longest: the longest time that a host takes until it is on, in seconds.
    """

    def __init__(self, switching: Switching, site: SiteState, switch: Callable[[Iterable[int], bool], None]) -> None:
        state = site.state
        self._after, self._state, self._unavailable, self._promises = (
            switching.after,
            state,
            site.unavailable,
            site.promises,
        )
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
        host = self._promises.own(number)
        return host in self.asleep or host in self.waking

    def delay(self, numbers: Iterable[int]) -> float:
        """The seconds until all of these hosts are on, by any of their numbers."""
        now, waking = self._state.now, self.waking
        longest = 0.0
        for host in map(self._promises.own, numbers) if self.asleep or waking else ():
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

    def ahead(self, heads: Iterable[SiteEntry]) -> float:
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
            reserved = map(self._promises.own, head.reserved)
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
        idle = sorted({self._promises.own(number) for number in numbers} - self._jobs.keys() - self._unavailable.hosts)
        on = [host for host in idle if host not in self.asleep and host not in self.leaving][:count]
        woken = self._allowed([host for host in idle if host in self.asleep][: count - len(on)], begin)
        for host in [*on, *woken]:
            if self._idle.get(host, -math.inf) < begin:
                self._rest(host, begin)
        self.wake(woken)

    # Off

    def switch_off(self, heads: Iterable[SiteEntry]) -> None:
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
            self._promises.own(number): head.start
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

    def _on_without_jobs(self, heads: Iterable[SiteEntry]) -> tuple[list[int], list[int]]:
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
            for host in map(self._promises.own, head.reserved):
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
            self._unavailable.closes(host, now, now + self._seconds[host][0])

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
            self._unavailable.opens(host, self._state.now)
        return slept

    def next_time(self) -> float:
        """The next time at which hosts may be switched off; infinity: none."""
        while self._due and self._idle.get(self._due[0][1], math.inf) + self._after != self._due[0][0]:
            heappop(self._due)
        due = self._due[0][0] if self._due else math.inf
        return due if self.idling is None else min(due, self.idling.next_time(self._state.now))
