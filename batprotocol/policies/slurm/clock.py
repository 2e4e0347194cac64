"""When the two loops and the check of time limits run, on a clock of whole seconds.

The controller of a real Slurm wakes once a second. Its first loop runs at such a tick: `batch_sched_delay` seconds
after its last run at the earliest, if something has asked for it, and for the whole queue after `sched_interval`. The
second loop sleeps for `bf_interval`, then looks once a second whether something has changed.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:  # phases are made without the reader of slurm.conf
    from batprotocol.sites.slurm.configuration import SchedulerParameters

__all__ = ["USUAL", "Leave", "LoopClock", "Phases"]

_CHECKS: Final = 30
"""The seconds between two checks of time limits."""
_UNEVEN: Final = 2.0
"""A known check of time limits so many seconds after one that is due stands for it."""
_RESERVATION_CHECKS: Final = 5
"""The seconds between two checks of reservations, at least."""
_HOUR: Final = 3600.0
"""Time slices have begun any time within an hour."""
_NAP: Final = 1.003
"""The seconds for which the second loop sleeps while nothing has changed."""
_LATE: Final = 3.4
"""A known tick so many periods after a time stands for it: a run that is due in between was not due in the real one."""
_SHORT: Final = 0.01
"""A sched_min_interval of less than so many seconds does not matter."""
_CYCLE: Final = 0.01
"""The seconds that a run of the second loop counts as."""
_SOON: Final = 5
"""A known moment at which nodes are free is that of a kill so many seconds before at most."""


class Leave(msgspec.Struct, frozen=True):
    """How a job left its nodes in a real Slurm.

    Args:
        begin: when it ended or was killed.
        nodes: its nodes, as bits.
        steps: the moments at which some of them were clean, in order, each with these nodes; at least one. At the last
            one, all are clean.
        is_prompt: whether the first loop ran as soon as all were clean, and not at its next tick.
        late: when it ran at once after that, as a node said once more that it was clean.
    """

    begin: float
    nodes: int
    steps: tuple[tuple[float, int], ...]
    is_prompt: bool = False
    late: tuple[float, ...] = ()

    def seen_from(self, begin: float, nodes: int, now: float) -> list[tuple[float, int]]:
        """The steps of a job that ends or is killed at about the same time, or at another one; then those of `late`.

        Args:
            begin: when it ends or is killed.
            nodes: its nodes. If they are others, the first one is clean last.
            now: the time; no step is before it.

        >>> leave = Leave(10.0, 0b11, ((10.1, 0b10), (10.4, 0b01)), True)
        >>> [(round(time, 1), nodes) for time, nodes in leave.seen_from(20.0, 0b1100, 20.2)]
        [(20.2, 8), (20.4, 12)]
        """
        moved = begin - self.begin if abs(begin - self.begin) > _SAME else 0.0
        steps = self.steps
        if nodes != self.nodes:
            steps = (*((time, nodes & (nodes - 1)) for time, _ in steps[:-1][:1]), (steps[-1][0], nodes))
        steps += tuple((time, 0) for time in self.late)
        return [(max(time + moved, now), each) for time, each in steps]


_SAME: Final = 0.5
"""An end so many seconds from a recorded one is that one: its nodes are clean at the recorded moments."""


class Phases(msgspec.Struct, frozen=True):
    """The times that are left to chance in a real Slurm, in seconds of the simulation. Replays set them as they were.

    Args:
        ticks: ticks of the controller that are known, in order; at least one.
        period: the time between two ticks.
        full: the last run for the whole queue before the simulation began.
        last: the last run of the first loop before the simulation began, or before its first job came.
        limits: the last check of time limits before the simulation began.
        checks: the checks of time limits that are known, in order. One that is due two seconds before one is then.
        reservations: a check of reservations before the simulation began. The next ones are at ticks, every 5 s.
        seen: the checks of reservations that are known, in order.
        turn: when a time slice was over before the simulation began (SchedulerTimeSlice).
        turns: the ends of time slices that are known, in order. One that is due near one is then.
        backfill: the first time that the second loop looks whether there is work.
        cycles: runs of the second loop that are known, in order. A run that is due near one, or before it, is then.
        priorities: when priorities are computed first; the next ones follow every PriorityCalcPeriod.
        calculations: the calculations of priorities that are known, in order. One that is due near one is then.
        epilog: the time from the end of a job to the moment when all its nodes are free.
        others: the time from the kill of a job to the moment when its nodes but the first are free.
        cleaning: the time from the kill of a job to the moment when all its nodes are free.
        cleaned: the moments at which the nodes of killed jobs are known to be free, by the ids of the jobs.
        epilogs: the times from the ends of jobs to the moments when all their nodes are free, by the ids of the jobs.
        prompt: the jobs whose end has the first loop run as soon as their nodes are free, and not at its next tick.
        leaves: how jobs left their nodes, by their ids and in order, where that is known node by node. It takes the
            place of all other times of nodes.
        aging: since when jobs age, by their ids, where that is known. Without it, they do since they are eligible.
        epoch: the seconds of the day at which the simulation began: backfill rounds times on this clock.
    """

    ticks: tuple[float, ...] = (0.5,)
    period: float = 1.0
    full: float = -30.0
    last: float = -math.inf
    limits: float = -15.0
    checks: tuple[float, ...] = ()
    reservations: float = -2.5
    seen: tuple[float, ...] = ()
    turn: float = -7.5
    turns: tuple[float, ...] = ()
    backfill: float = 15.0
    cycles: tuple[float, ...] = ()
    priorities: float = 0.0
    calculations: tuple[float, ...] = ()
    epilog: float = 0.01
    others: float = 0.01
    cleaning: float = 0.03
    epoch: int = 0
    cleaned: Mapping[str, tuple[float, ...]] = {}
    epilogs: Mapping[str, float] = {}
    prompt: frozenset[str] = frozenset()
    leaves: Mapping[str, tuple[Leave, ...]] = {}
    aging: Mapping[str, float] = {}

    @classmethod
    def drawn(cls, seed: int, loops: SchedulerParameters, calc_period: float = 300.0) -> Phases:
        """Phases that a seed draws: each loop and check has run for long, and begins anywhere in its period.

        The two loops, the checks of limits and reservations, and the calculations of priorities are independent of each
        other. The clock on which backfill rounds times begins anywhere in `bf_resolution`.

        Args:
            seed: the seed, >= 0. The same seed gives the same phases.
            loops: the parameters of the loops.
            calc_period: seconds between two calculations of priorities.

        >>> from batprotocol.sites.slurm.configuration import SchedulerParameters
        >>> found = Phases.drawn(1, SchedulerParameters())
        >>> found == Phases.drawn(1, SchedulerParameters()), found == Phases.drawn(2, SchedulerParameters())
        (True, False)
        """
        chance = random.Random(f"phases of a Slurm {seed}")  # a text: seeds that are near have nothing in common
        tick = chance.random()
        since = _within(chance, loops.sched_interval)
        full = tick - 1.0 - float(math.floor(since))
        return cls(
            ticks=(tick,),
            full=full,
            limits=tick - 1.0 - chance.randrange(_CHECKS),
            reservations=tick - 1.0 - chance.randrange(_RESERVATION_CHECKS),
            backfill=_within(chance, loops.bf_interval),
            priorities=_within(chance, calc_period),
            epoch=int(_within(chance, loops.bf_resolution)),
            turn=-_within(chance, _HOUR),
        )

    def leave(self, job_id: str, begin: float) -> Leave | None:
        """How a job left its nodes that ends or is killed at a time, if that is known: the nearest time it did."""
        return min(self.leaves.get(job_id, ()), key=lambda each: abs(each.begin - begin), default=None)

    def clean(self, job_id: str, kill: float) -> float:
        """When all nodes of a job are free that is killed at a time."""
        known = self.cleaned.get(job_id, ())
        return next((each for each in known if kill - 1e-6 <= each < kill + _SOON), kill + self.cleaning)

    def clean_end(self, job_id: str, end: float) -> float:
        """When all nodes of a job are free that ends at a time."""
        return end + self.epilogs.get(job_id, self.epilog)


def _within(chance: random.Random, period: float) -> float:
    """A time within a period; a day's, if it has no end."""
    return chance.random() * (period if period < math.inf else 86_400.0)


USUAL: Final = Phases()
"""The phases of simulations that repeat no real run."""


class LoopClock:
    """The next runs.

    Args:
        loops: the parameters of the loops.
        phases: what is left to chance.
        backfills: whether there is the second loop.
        time_slice: the seconds of a time slice.
    """

    def __init__(
        self, loops: SchedulerParameters, phases: Phases, *, backfills: bool, time_slice: float = 30.0
    ) -> None:
        self._loops, self._phases, self._backfills = loops, phases, backfills
        self._turn, self._slice = phases.turn, time_slice
        self._last = phases.last  # the last run of the first loop at a tick
        self._ran = phases.last  # the last one of all
        self._full, self._limits, self._reservations = phases.full, phases.limits, phases.reservations
        self._is_asked = self._is_new = False
        self._asked_at = 0.0
        self._backfill = phases.backfill
        self._changed = -math.inf
        self._main_of: object = None  # what the next run of the first loop was computed of
        self._main = (math.inf, True)
        self._limits_of = (math.nan, 0.0, 0.0, 0.0)  # the first limit, the last check, until when it is, and the answer

    # The first loop

    def ask(self, now: float) -> None:
        """Something has happened, so both loops have something to do."""
        if not self._is_asked:
            self._is_asked, self._asked_at = True, now
        self.renew(now)

    def _tick(self, time: float) -> float:
        """The first tick that is not before a time."""
        ticks, period = self._phases.ticks, self._phases.period
        if len(ticks) == 1:
            return ticks[0] + math.ceil((time - ticks[0]) / period - 1e-9) * period
        place = bisect_right(ticks, time + 1e-9)
        known = ticks[max(place - 1, 0)]
        if 0 < place < len(ticks):  # the ticks between two known ones
            gap = ticks[place] - known
            period = gap / max(round(gap / period), 1)
        return known + math.ceil((time - known) / period - 1e-9) * period

    def _seen(self, due: float) -> float:
        """The known tick just after a time at which the first loop is due, if there is one."""
        ticks = self._phases.ticks
        place = bisect_left(ticks, due - 1e-9)
        return ticks[place] if place < len(ticks) and ticks[place] - due < _LATE * self._phases.period else due

    def main(self, now: float) -> tuple[float, bool]:
        """When the first loop runs next, and whether for the whole queue."""
        of = self._full, self._last, self._ran, self._is_asked, self._asked_at
        if of != self._main_of:  # it is asked often
            self._main_of, self._main = of, self._next_main()
        return self._main

    def _next_main(self) -> tuple[float, bool]:
        full = self._seen(self._least(self._tick(math.floor(self._full) + self._loops.sched_interval)))
        if not self._is_asked:
            return full, True
        due = self._least(self._tick(self._asked_at))
        if self._last > -math.inf:
            due = max(due, self._tick(math.floor(self._last) + self._loops.batch_sched_delay))
        due = self._seen(due)
        return (full, True) if full <= due else (due, False)

    def _least(self, due: float) -> float:
        """When the first loop can run at the earliest that is due at a time (sched_min_interval)."""
        least = self._loops.sched_min_interval
        return due if least < _SHORT else max(due, self._ran + least)

    def runs_at_once(self, now: float) -> bool:
        """Whether the first loop runs now, between two ticks. Else it runs as soon as it can."""
        if self._least(now) > now:
            self.ask(now)
            return False
        self._ran = now
        return True

    def ran_main(self, now: float, *, is_full: bool) -> None:
        """The first loop has run at a tick."""
        self._last, self._ran, self._is_asked = now, now, False
        if is_full:
            self._full = now

    def rest(self, until: float) -> None:
        """No job waits until a time: runs of the first loop for the whole queue that change nothing are left out."""
        following, every = self.main(until)[0], int(self._loops.sched_interval)
        is_even = self._phases.period == 1.0 and every == self._loops.sched_interval > 0
        if self._is_asked or not is_even or following < self._phases.ticks[-1]:
            return
        far = int((until - following) // every) - 1  # as in `_check`; the last ones are run
        if far > 0:
            self._full = self._last = following + far * every

    # The second loop

    def renew(self, now: float) -> None:
        """Something has changed, so the second loop has something to do."""
        self._changed = now
        if not self._is_new:
            self._is_new = True
            if now > self._backfill:  # it has looked once a second since then
                self._backfill += math.ceil((now - self._backfill) / _NAP - 1e-9) * _NAP

    def backfill(self, main: float = math.inf) -> float:
        """When the second loop runs next; infinity: not before something changes.

        Args:
            main: when the first loop runs, after which the second one looks: it runs then at the earliest.
        """
        if self._is_new and self._backfills:
            return self._known(self._backfill)
        return max(main, -math.inf if self._phases.cycles else self._backfill) if self._backfills else math.inf

    def _known(self, due: float) -> float:
        """The known run of the second loop near a time, or within an interval after it, if there is one."""
        cycles = self._phases.cycles
        if not cycles:
            return due
        place = bisect_left(cycles, due)
        near = min(cycles[max(place - 1, 0) : place + 1], key=lambda each: abs(each - due), default=due)
        if abs(near - due) < _NAP and near >= self._changed - 0.2:
            return near
        if place < len(cycles) and cycles[place] - due < self._loops.bf_interval:
            return cycles[place]
        return due

    def put_off(self, now: float) -> None:
        """The second loop looks again a second later."""
        self._backfill = now + 1.0

    def ran_backfill(self, now: float, *, is_new: bool) -> None:
        """The second loop has run; `is_new`: and has changed something itself."""
        # Slurm compares whole seconds, so what changed in the second of this run counts once more.
        self._is_new = is_new or self._changed >= math.floor(now)
        self._backfill = now + self._loops.bf_interval + _CYCLE

    # Limits

    def limits(self, first: float, now: float) -> float:
        """When the check runs that finds something that is over at a time.

        Args:
            first: that time; infinity: there is none.
            now: the time.
        """
        if first == math.inf:
            return math.inf
        checks, known = self._phases.checks, self._limits_of
        if not checks and known[0] == first and known[1] == self._limits and now <= known[2]:
            return known[3]  # it is asked often
        place = bisect_right(checks, now)
        self._limits = self._check(max([self._limits, *checks[:place][-1:]]), now, _CHECKS)
        due = self._check(self._limits, first, _CHECKS, is_after=True)
        self._limits_of = first, self._limits, self._tick(math.floor(self._limits) + _CHECKS), due
        place = max(bisect_left(checks, now), bisect_left(checks, math.ceil(first)))
        return checks[place] if place < len(checks) and checks[place] <= due + _UNEVEN else due

    def ran_limits(self, now: float) -> None:
        """The check has run."""
        self._limits = now

    # Time slices

    def turn(self, now: float) -> float:
        """When the next time slice is over."""
        known = self._phases.turns
        place = max(bisect_right(known, self._turn), bisect_left(known, now - 1e-9))
        last = max([self._turn, *known[:place][-1:]])
        due = last + max(math.ceil((now - last) / self._slice - 1e-9), 1) * self._slice
        return known[place] if place < len(known) and known[place] < due + _NAP else due

    def ran_turn(self, now: float) -> None:
        """A time slice is over."""
        self._turn = now

    # Reservations

    def reservations(self, first: float, now: float) -> float:
        """When the check of reservations runs that sees those of a time.

        Args:
            first: that time; infinity: there is none.
            now: the time.
        """
        if first == math.inf:
            return math.inf
        known, place = self._phases.seen, bisect_right(self._phases.seen, max(first - 1e-6, self._reservations))
        if place < len(known) and known[place] < first + _RESERVATION_CHECKS + _LATE:
            return known[place]
        self._reservations = self._check(self._reservations, now, _RESERVATION_CHECKS)
        return self._check(self._reservations, first, _RESERVATION_CHECKS, is_after=True)

    def ran_reservations(self, now: float) -> None:
        """The check has run."""
        self._reservations = now

    def _check(self, last: float, time: float, every: int, *, is_after: bool = False) -> float:
        """The last check before a time, or the first one at it or after it."""
        while True:
            following = self._tick(math.floor(last) + every)
            if math.floor(following) >= time if is_after else following >= time:
                return following if is_after else last
            far = int((time - following) // every) - 1 if self._phases.period == 1.0 else 0
            last = following + max(far, 0) * every
