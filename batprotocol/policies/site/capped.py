"""The plan under a cap, in which watts are planned as hosts are: jobs start only where and when it allows them.

A job draws its watts until it ends, or is killed: its limit counts, and not how long it is expected to run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from batprotocol.policies.allocations import rows
from batprotocol.policies.availability import Amount
from batprotocol.policies.backfilling import PlanSettings
from batprotocol.policies.driver import Actions
from batprotocol.policies.jobs import SiteEntry, SiteJob, SiteRunning
from batprotocol.policies.site.futures import Found
from batprotocol.policies.site.plan import AmountPlanner
from batprotocol.policies.site.reservations import NEVER, Start
from batprotocol.policies.site.sleeping import Idling, Sleeping
from batprotocol.policies.site.state import SiteState
from batprotocol.policies.site.watts import Budget, Pacing
from batprotocol.workloads.requests.notation import matches

# Quick answers to whether watts may suffice for an entry: only a no is certain.


Held = tuple[list[int], float, float, int]
"""The hosts, the time and the pace of a job."""

_MARGIN: Final = 0.01


class Scarcity:
    """Whether watts may suffice.

    Args:
        budget: what jobs draw, and what is allowed.
        need: the least that an entry draws, wherever it runs; 0: unknown.
    """

    def __init__(self, budget: Budget, need: Callable[[SiteEntry], int]) -> None:
        self._budget, self._need = budget, need
        self._lasting: set[int | str] = set()  # those that may draw watts when their hosts are free for others
        self._margin = 0.0

    def advance(self, resolution: float) -> None:
        """A plan begins, in which times that differ by less than the resolution count as equal."""
        self._margin = 3 * resolution + _MARGIN

    def note(self, which: int | str, *, lasts: bool) -> None:
        """Whether a reservation or a running job may draw watts longer than its hosts are taken."""
        if lasts:
            self._lasting.add(which)
        else:
            self._lasting.discard(which)

    def certain(self, entry: SiteEntry) -> tuple[int, float]:
        """The watts that an entry surely draws in addition to all others, and for how many seconds; 0: unknown.

        Hosts that are free are without watts of other jobs, unless one can last longer than it is expected to.
        """
        seconds = entry.limit - self._margin
        if self._lasting or entry.promised is not None or not (self._margin and seconds > 0):
            return 0, 0.0
        return self._need(entry), seconds

    def closed(self, entry: SiteEntry, now: float, before: float) -> list[tuple[float, float]]:
        """Intervals in which an entry surely cannot start, from now on and until a time, as of `Budget.closed`."""
        need, seconds = self.certain(entry)
        return self._budget.closed(need, now, before, seconds) if need else []

    def first_open(self, closed: Sequence[tuple[float, float]], now: float) -> float:
        """A time from now on before which all times are in intervals of `closed`, also when they are rounded."""
        return max(self._budget.first_open(closed, now) - self._margin, now)

    def may_run(self, entry: SiteEntry, now: float) -> bool:
        """Whether watts may suffice for an entry from now on, beside all reservations."""
        need, seconds = self.certain(entry)
        return not need or self._budget.may_begin(need, now, seconds)

    def may_start(
        self, entry: SiteEntry, heads: Sequence[SiteEntry], held: Iterable[Held], now: float, *, both: bool
    ) -> bool:
        """Whether watts may suffice for an entry now, if reservations move.

        Args:
            entry: the entry.
            heads: the entries that have these reservations, the first of them first.
            held: what they hold.
            now: the time.
            both: whether watts must also suffice for the first reservation at its time.
        """
        budget, first = self._budget, heads[0]
        need, seconds = self.certain(entry)
        if not need:
            return True
        more = [(-budget.sum(own, pace), begin, end) for own, begin, end, pace in held]
        if not budget.may_begin(need, now, seconds, more):
            return False
        needed, lasting = self.certain(first) if both else (0, 0.0)
        if not needed:
            return True
        more.append((need, now, now + seconds))
        return budget.is_open(budget.closed(needed, now, first.start, lasting, more), now, first.start)


# The jobs under a cap that could start if only their hosts were on already, or off at once: how long these take.


class _Seconds(NamedTuple):
    on: float = 0.0
    off: float = 0.0


class SwitchTimes:
    """The entries that lacked the time to switch their hosts on or off."""

    def __init__(self) -> None:
        self._late: dict[int, tuple[SiteEntry, _Seconds]] = {}
        self._known: dict[
            int, tuple[SiteEntry, _Seconds]
        ] = {}  # none: its hosts are to be switched on ahead the next time
        self._has_grown = False

    def knows(self, entry: SiteEntry) -> bool:
        """Whether an entry was late in an earlier plan."""
        return entry.number in self._known

    def of(self, entry: SiteEntry) -> float:
        """The seconds for which an entry needs its watts before it starts and after it ends."""
        return sum(self._known[entry.number][1]) if entry.number in self._known else 0.0

    def text(self, entries: Iterable[SiteEntry]) -> str:
        """How much longer entries need their watts, as a part of a sentence; "": no longer."""
        known = (self._known[entry.number][1] if entry.number in self._known else _Seconds() for entry in entries)
        on, off = min(known, key=sum)
        found = f" after {on:g} s to switch its hosts on" if on else ""
        return found + (f"{' and' if on else ''} before {off:g} s to switch them off" if off else "")

    def lacks(self, entry: SiteEntry, on: float, off: float = 0.0) -> None:
        """An entry could start now if its hosts were on, and were off as soon as it ends.

        Args:
            entry: the entry.
            on: the seconds until its hosts are on.
            off: the seconds until they are off, if these count.
        """
        self._late[entry.number] = entry, _Seconds(on, off)

    def forget(self) -> None:
        """A plan begins."""
        self._late.clear()

    def over(self, entry: SiteEntry) -> None:
        """An entry has started, or does not wait any more."""
        self._known.pop(entry.number, None)

    def grows(self) -> bool:
        """Whether an entry needs its watts for longer than at the last question."""
        had, self._has_grown = self._has_grown, False
        return had

    def late(self, sleeping: Sleeping | None) -> list[SiteEntry]:
        """The entries that were late in this plan, or in an earlier one.

        The first time, hosts that were switched off for the watts of others may be switched on ahead of it. The second
        time, it needs its watts for longer from now on.

        Args:
            sleeping: the hosts that sleep.
        """
        if self._late and sleeping is not None:
            sleeping.spare_none()
        for number, (entry, seconds) in self._late.items():
            if number in self._known and sum(self._known[number][1]) < sum(seconds):
                self._known[number], self._has_grown = (entry, seconds), True
            self._known.setdefault(number, (entry, _Seconds()))
        self._late.clear()
        return [entry for entry, _ in self._known.values()]


# The parts of a plan under a cap: the watts of jobs, the slower power states, and the hosts that are switched off.


class PowerLimits(NamedTuple):
    """The watts that jobs and idle hosts may draw.

    Attributes:
        budget: what jobs draw, and what is allowed.
        pacing: the slower power states in which jobs may run; None: they wait.
        idling: the hosts that are switched off, so that others may run; None: none are.
    """

    budget: Budget
    pacing: Pacing | None = None
    idling: Idling | None = None


_MOST_TRIES: Final = 10_000
_MOST_TIMES: Final = 100_000
_MOST_KNOWN: Final = 4096


class CappedPlanner(AmountPlanner):
    """Chooses what starts, under a cap.

    Args:
        power: the watts that jobs and idle hosts may draw.
        settings: the kind of backfilling.
        site: the state of the site.
    """

    remembers = False

    def __init__(self, power: PowerLimits, settings: PlanSettings, site: SiteState) -> None:
        super().__init__(settings, site)
        self._budget, self._pacing, self._idling = power
        self._own, budget = (
            site.promises.own,
            power.budget,
        )
        # The last choice among hosts for an entry at a time, and how often the budget had changed then:
        self._last_choice: tuple[int, float, int, Sequence[int], list[int]] = (-1, 0.0, -1, [], [])
        self._held: dict[int, Held] = {}  # hosts, time and pace of each reservation
        self._run: dict[str, tuple[list[int], float, int]] = {}  # hosts, latest end and pace of each running job
        self._kept: list[tuple[int, float]] = []  # for entries that wait without a reservation
        self._gained = False  # whether watts are free earlier than was known
        self._needs: dict[tuple[object, ...], int] = {}
        self._next_less = budget.allowance.next_step(-math.inf)
        self._scarcity = Scarcity(budget, lambda entry: self._need(entry, entry.pace))
        self._switch_times = SwitchTimes()
        self._picked: dict[str, tuple[int, float]] = {}  # the slower pace of a job that starts, and its usual time

    # When to plan

    def is_due(self) -> bool:
        now = self._state.now + self._state.resolution / 2
        return super().is_due() or self._budget.allowance.next_step(self._planned) <= now

    def wakes_at(self) -> float:
        wakes_at = super().wakes_at()
        if not self._queue.jobs:
            return wakes_at
        return min(wakes_at, self._budget.allowance.next_step(self._state.now + self._state.resolution / 2))

    def starting(self) -> Iterator[Start]:
        self._budget.advance(self._state.now)
        self._scarcity.advance(self._state.resolution)
        self._switch_times.forget()
        yield from super().starting()
        self._forget_kept()
        if self._is_still():
            self._make_time()
        self._gained = bool(self._late)

    def _is_still(self) -> bool:
        """Whether nothing runs, and no host is switched on or off."""
        sleeping = self.sleeping
        return not (self._run or self._fixed or sleeping is None or sleeping.waking or sleeping.leaving)

    def _make_time(self) -> None:
        """Jobs lack only the time to switch their hosts on: that is done ahead from now on, if it is possible."""
        for entry in self._switch_times.late(self.sleeping):
            if entry.job.id not in self._queue.jobs:
                self._switch_times.over(entry)
            elif entry.number not in self.heads:
                self._reserve(entry)

    def _in_turn(self) -> Iterator[Start]:
        self._forget_kept()
        yield from super()._in_turn()

    # Choices

    def _lasts(self, entry: SiteEntry, now: float) -> float:
        """For how long an entry draws watts at most, if it starts now or later."""
        promised = entry.promised
        return entry.limit if promised is None or not promised.windows else min(entry.limit, promised.rest(now))

    def _need(self, entry: SiteEntry, pace: int) -> int:
        """The least that an entry draws at a pace, wherever it runs."""
        return self._budget.smallest(entry.job.size, pace) if entry.kind.amount == self._pool.whole else 0

    def _surely_lacks(self, entry: SiteEntry, now: float) -> bool:
        """Whether watts do not suffice for an entry now, wherever it runs: also not if hosts are switched off."""
        if self._idling is None and self._need(entry, entry.pace) > max(self._budget.rest(now), 0):
            return True
        return self.bare is None and not self._scarcity.may_run(entry, now)

    def _now(self, entry: SiteEntry, shut: frozenset[int] = frozenset()) -> list[int] | None:
        self._forget_pace(entry)
        if self._pacing is None and self._surely_lacks(entry, self._state.now):  # most do, so little is done for each
            return None
        hosts = super()._now(entry, shut)
        if self._pacing is None or entry.promised is not None or entry.kind.amount != self._pool.whole:
            return hosts
        if hosts is None:
            return self._slower(entry, shut)
        self._picked[entry.job.id] = entry.pace, entry.expected
        return hosts

    def _slower(self, entry: SiteEntry, shut: frozenset[int]) -> list[int] | None:
        """Hosts on which an entry can start now at a slower pace, the fastest of them; None: it cannot."""
        assert self._pacing is not None
        usual, floor, own = entry.expected, entry.pace, [self._own(host) for host in entry.kind.fitting]
        for pace in self._budget.paces[floor + 1 :] if len(own) >= entry.job.size else ():
            if self._pacing.is_possible(entry, own, pace):
                entry.expected = self._pacing.expected(entry, own, pace, floor, usual)
                self._picked[entry.job.id] = pace, usual
                hosts = super()._now(entry, shut)
                if hosts is not None:
                    return hosts
        self._picked.pop(entry.job.id, None)
        entry.expected = usual
        return None

    def _forget_pace(self, entry: SiteEntry) -> None:
        """An entry has not started at the pace at which it could have."""
        if self._picked:
            pace_and_usual = self._picked.pop(entry.job.id, None)
            if pace_and_usual is not None:
                entry.expected = pace_and_usual[1]

    def _pace(self, entry: SiteEntry) -> int:
        """The pace at which an entry starts now."""
        picked = self._picked.get(entry.job.id) if self._picked else None
        return entry.pace if picked is None else picked[0]

    def _spares(self, entry: SiteEntry, hosts: list[int]) -> bool:
        spares = super()._spares(entry, hosts)
        if not spares:
            self._forget_pace(entry)
        return spares

    def _chosen_now(
        self, entry: SiteEntry, hosts: list[int], first: Callable[[int], int] | None = None
    ) -> list[int] | None:
        now, budget, idling, pace = self._state.now, self._budget, self._idling, self._pace(entry)
        need = self._need(entry, pace)
        if len(hosts) < entry.job.size or (idling is None and need > max(budget.rest(now), 0)):
            return None
        end = now + self._lasts(entry, now)

        def cost(host: int) -> tuple[int, int]:
            own, others = self._own(host), first(host) if first is not None else 0
            return budget.cost(own, now, end, pace) - budget.standing_of(own), others

        for chosen in self._choices(entry, hosts, self._pool.free, cost, first):
            own = [self._own(host) for host in chosen]
            delay = 0.0 if self.sleeping is None else self.sleeping.delay(chosen)
            lacks = budget.lacks(own, now, pace)
            if budget.fits(own, now, end + delay, pace):
                if lacks <= 0 and idling is not None:
                    lacks = idling.lacks_later(own, now, end + delay, pace)
                    if lacks > 0:
                        self._switch_times.lacks(entry, delay, idling.ahead)
                if lacks <= 0:
                    return chosen
                if idling is not None and not idling.lacking:
                    idling.lacking = lacks  # some are switched off
            elif delay and lacks <= 0 and budget.fits(own, now, end, pace):
                self._switch_times.lacks(entry, delay)
        return None

    def _chosen_at(
        self, entry: SiteEntry, hosts: Sequence[int], free: Mapping[int, Amount], time: float
    ) -> list[int] | None:
        budget, pace = self._budget, entry.pace
        if self._last_choice[:3] == (entry.number, time, budget.changed) and self._last_choice[3] is hosts:
            return self._last_choice[4]
        if self._need(entry, pace) > budget.allowance.at(time):
            return None
        end = time + self._lasts(entry, time) + self._switch_times.of(entry)

        def cost(host: int) -> tuple[int, int]:
            return budget.cost(self._own(host), time, end, pace), 0

        for chosen in self._choices(entry, hosts, free, cost, None):
            if budget.fits([self._own(host) for host in chosen], time, end, pace):
                if self._chooser.is_by_number(entry.job.request):  # what is free there does not matter
                    self._last_choice = entry.number, time, budget.changed, hosts, chosen
                return chosen
        return None

    def _choices(
        self,
        entry: SiteEntry,
        hosts: Sequence[int],
        free: Mapping[int, Amount],
        cost: Callable[[int], Any],
        first: Callable[[int], Any] | None,
    ) -> Iterator[list[int]]:
        """The hosts that are tried for an entry: those that it gets without a cap, and then others that draw less.

        Args:
            entry: the entry.
            hosts: the hosts with space.
            free: what is free on each.
            cost: how much more each would draw, as a key by which the best hosts come first.
            first: the key without a cap.
        """
        size, request = entry.job.size, entry.job.request
        choose = partial(self._chooser.choose, count=size, request=request, free=free)
        chosen = choose(hosts, first=first)
        if chosen is None:
            return
        yield chosen
        is_uniform = self._budget.is_uniform and self._idling is None
        if is_uniform and entry.kind.amount == self._pool.whole:
            return  # others draw as much
        among: Sequence[Sequence[int]] = [hosts]
        constraint = request.constraint
        if constraint is not None and constraint.same:
            offers = self._chooser.offers
            among = [[host for host in hosts if matches(each, offers[host].features)] for each in constraint.same]
        for these in among:
            tried = [these] if not request.contiguous else rows(these, size)
            for each in islice(tried, _MOST_TRIES):
                chosen = choose(each, first=cost)
                if chosen is not None:
                    yield chosen

    def possible(self, entry: SiteEntry, hosts: Sequence[int], time: float = 0.0) -> list[int] | None:
        budget, seconds, pace = self._budget, self._lasts(entry, time) + self._switch_times.of(entry), entry.pace
        free = self._pool.capacity
        for chosen in self._choices(entry, hosts, free, lambda host: budget.sum((self._own(host),), pace), None):
            if budget.allowance.lasts(budget.sum(map(self._own, chosen), pace), seconds, time):
                return chosen
        return None

    def hopeless(self, job: SiteJob, now: float) -> tuple[list[SiteEntry], str]:
        allowance = self._budget.allowance
        found = [entry for entry in job.entries if entry.promised is None and not self._has_pace(entry, now)]
        if not found:
            return [], ""
        paces = {entry.number: self._possible_paces(entry) for entry in found}
        least = min(self._least(entry, pace) for entry in found for pace in paces[entry.number])
        whose, left = "idle" if self._idling is None else "sleeping", allowance.most(now)
        asked = f"it adds {least / 1e6:.10g} W to the watts of {whose} hosts"
        if least > left:
            return found, f"{asked}, and the cap leaves {max(left, 0) / 1e6:.10g} W"
        limit, longest = min(entry.limit for entry in found), allowance.longest(least, now)
        longer = self._switch_times.text(found)
        runs_for = "has no walltime" if limit == math.inf else f"can run for {limit:g} s{longer}"
        return found, f"{asked} and {runs_for}, and the cap leaves that for {longest:g} s"

    def _possible_paces(self, entry: SiteEntry) -> list[int]:
        """The paces at which an entry may run."""
        if self._pacing is None or entry.kind.amount != self._pool.whole:
            return [0]
        own = [self._own(host) for host in entry.kind.hosts]
        paces = self._budget.paces
        return [pace for pace in paces if not pace or self._pacing.is_possible(entry, own, pace)]

    def _has_pace(self, entry: SiteEntry, now: float) -> bool:
        """Whether an entry can run some time, and from which pace on."""
        for pace in self._possible_paces(entry):
            lasts = entry.limit + self._switch_times.of(entry)
            if pace >= entry.pace and self._budget.allowance.lasts(self._least(entry, pace), lasts, now):
                self._slow_down(entry, pace)
                return True
        return False

    def _slow_down(self, entry: SiteEntry, pace: int) -> None:
        """An entry never runs faster than at a pace from now on. Its reservation was for another time."""
        if pace > entry.pace and self._pacing is not None:
            self._give_up(entry)
            own = [self._own(host) for host in entry.kind.hosts]
            entry.expected = self._pacing.expected(entry, own, pace, entry.pace, entry.expected)
            entry.pace = pace

    def slow_down(self, entry: SiteEntry) -> bool:
        slower = [pace for pace in self._possible_paces(entry) if pace > entry.pace and entry.promised is None]
        if slower:
            self._slow_down(entry, slower[0])
        return bool(slower)

    def is_less_allowed(self, now: float) -> bool:
        allowance = self._budget.allowance
        if allowance.repeats or not self._next_less <= now:
            return self._switch_times.grows()
        self._next_less = allowance.next_step(now)
        return True

    def _least(self, entry: SiteEntry, pace: int = 0) -> int:
        """The least that an entry draws at a pace on hosts that it could have, if no other job ran."""
        budget, key = self._budget, (entry.choice, pace)
        found = self._needs.get(key)
        if found is None:
            if len(self._needs) >= _MOST_KNOWN:
                self._needs.clear()
            choices = self._choices(
                *(entry, sorted(entry.kind.hosts), self._pool.capacity),
                lambda host: budget.sum((self._own(host),), pace),
                None,
            )
            found = self._needs[key] = min(
                (budget.sum(map(self._own, chosen), pace) for chosen in choices), default=1 << 62
            )
        return found

    # Reservations

    def _first_time(
        self,
        entry: SiteEntry,
        seconds: float,
        now: float,
        choose: Callable[[Sequence[int], float], list[int] | None] | None,
        before: float,
    ) -> Found:
        kind, free, budget = entry.kind, self._pool.capacity, self._budget
        closed = self._scarcity.closed(entry, now, before) if self.bare is None else []
        if closed and not budget.is_open(closed, now, before):
            return math.inf, []
        choose = choose or (lambda hosts, time: self._chosen_at(entry, hosts, free, time))
        return self._timeline.earliest(
            *(kind.hosts, entry.job.size, kind.amount, seconds),
            *(self._scarcity.first_open(closed, now) if closed else now, choose, before),
            also=self._times(entry, now, before),
            may=partial(budget.is_open_at, closed) if closed else None,
        )

    def _times(self, entry: SiteEntry, now: float, before: float) -> list[float]:
        """The times at which watts may begin to suffice for an entry: as others end, or as more is allowed."""
        budget, allowance = self._budget, self._budget.allowance
        last = max([now, budget.last_change(), *(end for end in self.ends[-1:] if end < NEVER)])
        rises = allowance.rises(now, min(before, last + 2 * allowance.period))  # then, all is as a period before
        return [*budget.changes(now, before), *islice(rises, _MOST_TIMES)]

    def _give_up(self, entry: SiteEntry) -> None:
        (self._release if self._switch_times.knows(entry) else super()._give_up)(entry)  # late entries get another one

    def _may_move_forward(self, entry: SiteEntry) -> bool:
        return self._gained or super()._may_move_forward(entry)

    def _stays(self, entry: SiteEntry) -> bool:
        """Whether a reservation would be where it is if it was made anew: it is looked for as if it was not there.

        If watts surely do not suffice for it earlier, no hosts matter. Where more than numbers decides which hosts it
        gets, this is not known.
        """
        start, budget, now, heads = entry.start, self._budget, self._state.now, self.heads
        slack = self._state.resolution / 2
        if not self._is_plain(entry) or start <= now + slack or len(heads) == 1:
            return False
        need, lasting = self._scarcity.certain(entry)
        own, begin, end, pace = self._held[entry.number]
        if not need or budget.is_over(begin, end):
            return False
        closed = budget.closed(need, now, start, lasting, [(-budget.sum(own, pace), begin, end)])
        kind, reserved = entry.kind, entry.reserved
        time, hosts = self._timeline.earliest(
            *(kind.hosts, entry.job.size, kind.amount, max(entry.expected - slack, 0.0)),
            *(self._scarcity.first_open(closed, now), None, start),
            also=[until for _, until in closed],
            may=partial(budget.is_open_at, closed),
            without=(frozenset(reserved), start, start + entry.expected),
        )
        if time != start or hosts[: len(reserved)] != reserved:
            return False
        self._timeline.forget(reserved)  # as if it had been made anew
        self._gained = True
        return True

    def _is_plain(self, entry: SiteEntry) -> bool:
        """Whether an entry has a reservation on the hosts with the smallest numbers that are free for it."""
        settings, job = self.settings, entry.job
        if settings.moves or settings.once or settings.strict or self.bare is not None or self.sleeping is not None:
            return False
        is_alone = entry.number in self.heads and entry.number not in self._fixed and len(job.entries) == 1
        return self._pacing is None and is_alone and self._chooser.is_by_number(job.request)

    def _step_back(self, entry: SiteEntry) -> tuple[float, float]:
        precedes = self._queue.precedence(entry)
        for head in list(self.heads.values()):
            if self._queue.precedence(head) > precedes and head.number not in self._fixed:
                self._release(head)
        return self._last()

    def _is_short(self, head: SiteEntry, hosts: set[int]) -> bool:
        if super()._is_short(head, hosts):
            return True
        held = self._held.get(head.number)
        return held is not None and self._budget.is_over(held[1], held[2])

    def victims(
        self, entry: SiteEntry, victims: list[SiteRunning], hosts: list[int], others: list[SiteRunning], now: float
    ) -> list[SiteRunning] | None:
        budget, own, end = self._budget, [self._own(host) for host in hosts], now + self._lasts(entry, now)
        given = [held for number, held in self._held.items() if number not in self._fixed]
        given += [self._rest_of(job, now) for job in victims]
        found = list(victims)
        for held in given:
            budget.give_back(*held)
        more: list[tuple[SiteRunning, Held]] = []
        for job in others:
            if budget.fits(own, now, end, entry.pace):
                break
            more.append((job, self._rest_of(job, now)))
            budget.give_back(*more[-1][1])
        may = budget.fits(own, now, end, entry.pace)
        for job, held in reversed(more):
            if may:
                budget.take(*held)
                if budget.fits(own, now, end, entry.pace):
                    continue  # it need not give way after all
                budget.give_back(*held)
                found.append(job)
            given.append(held)
        for held in given:
            budget.take(*held)
        return found if may else None

    def _may_start_beside(self, entry: SiteEntry, heads: list[SiteEntry]) -> bool:
        now, need, is_on = self._state.now, self._need(entry, entry.pace), self._idling is None
        may = not (is_on and need > max(self._budget.rest(now), 0))
        if may and self.bare is None:
            held = (self._held[head.number] for head in heads)
            may = self._scarcity.may_start(entry, heads, held, now, both=is_on)
        self._gained |= not may  # as if the reservations had been made anew
        return may

    def _may_start(self, entry: SiteEntry, hosts: list[int]) -> bool:
        if not super()._may_start(entry, hosts):
            return False
        budget, now, own, pace = self._budget, self._state.now, [self._own(host) for host in hosts], entry.pace
        others, end = list(self._held.values()), now + self._lasts(entry, now)
        for held in others:
            budget.give_back(*held)
        may = budget.fits_now(own, now, pace) and budget.fits(own, now, end, pace)
        may &= self._idling is None or self._idling.lacks_later(own, now, end, pace) <= 0
        for held in others:
            budget.take(*held)
        if may and pace:
            self._picked[entry.job.id] = pace, entry.expected
        return may

    def _wait_for(self, entry: SiteEntry) -> None:
        if not self.settings.backfills:  # no later job takes the watts that it waits for
            need = self._least(entry, entry.pace)
            self._kept.append((need, self._state.now))
            self._budget.keep(need, self._state.now)

    def _forget_kept(self) -> None:
        for need, since in self._kept:
            self._budget.keep(-need, since)
        self._kept.clear()

    # What is taken

    def _take(self, entry: SiteEntry, hosts: Sequence[int], begin: float) -> None:
        super()._take(entry, hosts, begin)
        end = begin + self._lasts(entry, begin) + self._switch_times.of(entry)
        held = [self._own(host) for host in hosts], begin, end, self._pace(entry)
        self._held[entry.number] = held
        self._scarcity.note(entry.number, lasts=begin + entry.expected < held[2])
        self._budget.take(*held)

    def _give_back(self, entry: SiteEntry, hosts: Sequence[int], begin: float) -> None:
        super()._give_back(entry, hosts, begin)
        self._budget.give_back(*self._held.pop(entry.number))
        self._scarcity.note(entry.number, lasts=False)
        self._gained = True

    def _rest_of(self, job: SiteRunning, now: float) -> Held:
        """The hosts, the time and the pace that a running job still has."""
        own, end, pace = self._run[job.waited.id]
        return own, now, end, pace

    def began(self, job: SiteRunning) -> None:
        own, end, pace = job.members, job.started + job.entry.limit, self._pace(job.entry)
        self._picked.pop(job.waited.id, None)
        self._switch_times.over(job.entry)
        self._run[job.waited.id] = own, end, pace
        self._scarcity.note(job.waited.id, lasts=job.end < end)
        self._budget.began(own, pace)
        self._budget.take(own, min(self._budget.now, job.started), end, pace)

    def lasts(self, job: SiteRunning, before: float) -> None:
        own, limit, pace = self._run[job.waited.id]
        now, end = self._state.now, job.started + job.entry.limit
        self._scarcity.note(job.waited.id, lasts=job.end < end)
        if end != limit and not job.is_giving_way:
            self._budget.give_back(own, now, limit, pace)
            self._budget.take(own, now, end, pace)
            self._run[job.waited.id] = own, end, pace

    def gives_way(self, job: SiteRunning) -> None:
        now = self._state.now
        own, end, pace = self._run[job.waited.id]
        self._run[job.waited.id] = own, now, pace
        if end > now:
            self._budget.give_back(own, now, end, pace)
            self._gained = True

    def over(self, job: SiteRunning) -> None:
        self.gives_way(job)
        own, _, pace = self._run.pop(job.waited.id)
        self._budget.ended(own, pace)
        self._scarcity.note(job.waited.id, lasts=False)
        if self._pacing is not None:
            self._pacing.over(job.waited.id, own)

    def sleeps(self, sleeping: Sleeping) -> None:
        super().sleeps(sleeping)
        sleeping.idling = self._idling

    def around(self, actions: Actions) -> Actions:
        return actions if self._pacing is None else self._pacing.around(actions, self._pace_of)

    def _pace_of(self, job_id: str) -> int:
        """The pace of a job that runs, or starts now."""
        run = self._run.get(job_id)
        return run[2] if run is not None else self._picked.get(job_id, (0, 0.0))[0]
