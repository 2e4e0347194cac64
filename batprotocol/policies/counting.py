"""The decisions of `whole_hosts`, `queue` and `backfilling` in the simplest case, with and without messages.

There, jobs ask for nothing but hosts, and the parts of the policy are the library's own: an order that lasts, the
walltimes as expected run times, an allocation for which all free hosts are alike, and a kind of backfilling. The
decisions are those of the other modules, which tests compare on random workloads. A queue that becomes long is searched
by the same `Ranking`. Without messages, a simulator asks the planner; with messages, a policy does, until one comes
that it must know more for: then the jobs that wait and run go to `WholeHosts`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection
from itertools import islice
from math import inf, nextafter
from typing import Any, Final, cast

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.edc.session import Turn
from batprotocol.errors import InputError, RuleViolation
from batprotocol.model import JobSubmittedEvent, PredefinedExecutorPlacementStrategy
from batprotocol.model.planned_jobs import HostPlanner, PlannedJob
from batprotocol.policies import allocations, availability, orders
from batprotocol.policies.availability import per_second
from batprotocol.policies.backfilling import (
    EASY,
    AsRequested,
    Conservative,
    Greedy,
    NoBackfilling,
    Reservations,
)
from batprotocol.policies.driver import LATEST, PolicyParts, Replies, too_large
from batprotocol.policies.jobs import State, natural_key
from batprotocol.policies.orders import FCFS, Order
from batprotocol.policies.queue import Gap, Ranking
from batprotocol.wire.making import add_execution
from batprotocol.workloads.requests import read_request

__all__ = ["CountingPlanner", "CountingTurns", "can_count", "plain_texts"]


_ORDERS: Final = (
    *(orders.FCFS, orders.LCFS, orders.SJF, orders.LJF, orders.SAF, orders.LAF, orders.Smallest, orders.Largest),
    *(orders.F1, orders.F2, orders.F3, orders.F4),
)
_ALLOCATIONS: Final = (
    *(allocations.First, allocations.Last, allocations.Zones, allocations.Fastest, allocations.Slowest),
    allocations.Spread,
)
_KINDS: Final = (NoBackfilling, Greedy, EASY, Conservative, Reservations)


def can_count(parts: PolicyParts) -> bool:
    """Whether the parts of a policy are such that it can decide here.

    Args:
        parts: the parts. What else a policy has must be as by default.
    """
    kind = parts.backfilling
    return (
        type(parts.order) in _ORDERS
        and type(kind) in _KINDS
        and (kind.order is None or type(kind.order) in _ORDERS)
        and not (isinstance(kind, EASY) and kind.once)
        and type(parts.allocation) in _ALLOCATIONS
        and type(parts.walltimes) is AsRequested
        and parts.failures is None
        and parts.starts is None
        and not parts.each
        and not parts.keeps
    )


def plain_texts(texts: Collection[str] | None) -> frozenset[str] | None:
    """The texts with keys that have no effect; None if a job asks for more than whole hosts, or if it is not known.

    Args:
        texts: the different extra data of all jobs; None: not known.
    """
    if texts is None:
        return None
    unknown = set()
    for text in texts:
        try:
            request = read_request(text)
        except InputError:
            return None
        if not request.is_plain:
            return None
        if request.unknown:
            unknown.add(text)
    return frozenset(unknown)


# Looking up a name of another module, or a member of an enum, costs more than most operations with it here.
_add_execution: Final = add_execution
_SPREAD: Final = PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst

_NONE: Final = 0
_GREEDY: Final = 1
_EASY: Final = 2
_CONSERVATIVE: Final = 3
_RESERVATIONS: Final = 4
_NUMBERS: Final = {Greedy: _GREEDY, EASY: _EASY, Conservative: _CONSERVATIVE, Reservations: _RESERVATIONS}

_MOST_TEXTS: Final = 10_000
"""The number of texts that are known."""

_LONG: Final = 1024
"""A queue of more jobs is a `Ranking`, until it has a quarter of them."""
_EXACT: Final = 9007199254740992.0
"""From here on, doubles are whole numbers (2**53)."""
_NEARLY: Final = 1e-6
"""A call has come if its time is less than this away, in seconds."""
_FEW: Final = 2251799813685248.0
"""Below this number (2**51), a sum with three times as much is rounded to a whole number."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)  # else it has no values when `Policy` makes it
class CountingPlanner(HostPlanner):
    """Decides which jobs start, and on which hosts.

    Args:
        state: the policy's state. Only its time and its free hosts are used, and the sizes that follow from them.
        parts: the policy's parts, for which `can_count` holds.
        asleep: the hosts that sleep, of which there are none.
        report: called with the id and the extra data of a job with keys that have no effect.
        unknown: the extra data with such keys.
    """

    def __init__(
        self,
        state: State,
        parts: PolicyParts,
        asleep: Any,
        report: Callable[[str, str], object],
        unknown: frozenset[str],
    ) -> None:
        kind: Any = parts.backfilling
        self._state = state
        self._free: Any = state.free
        self._room = len(state.free)
        self._is_first = type(parts.allocation) is allocations.First  # which does what the free hosts do
        self._take_first: Callable[[int], Any] = state.free.take
        self._give_first: Callable[[Any], Any] = state.free.give_back
        self._take: Callable[[int, Any, Any], Any] = parts.allocation.take
        self._give_back: Callable[[Any, Any], Any] = parts.allocation.give_back
        self._asleep = asleep
        self._report = report
        self._unknown = unknown
        self._now = state.now
        self._resolution = state.resolution
        self._per = float(per_second(state.resolution)) if state.resolution else 0.0
        self._order: Order = parts.order
        self._in_turn = type(parts.order) is FCFS
        other: Order | None = kind.order
        self._other: Order | None = None if other is None or other is parts.order else other
        self._kind = _NUMBERS.get(type(kind), _NONE)
        self._has_spare: bool = self._kind == _EASY and kind.spare
        self._is_strict: bool = self._kind == _EASY and kind.strict
        self._count = 0
        # The jobs that wait, in the queue order and in the other one, with their keys.
        self._keys: list[Any] = []
        self._jobs: list[PlannedJob] = []
        self._other_keys: list[Any] = []
        self._other_jobs: list[PlannedJob] = []
        # The same as rankings, while they are many.
        self._ranking: Ranking | None = None
        self._other_ranking: Ranking | None = None
        # The jobs that run, by their expected ends.
        self._ends: list[float] = []
        self._running: list[PlannedJob] = []
        self._waiting = 0
        self._starts = 0
        # The last gap into which no job fitted, and the number of jobs that were known then.
        self._no_room, self._no_seconds, self._no_spare = -1, 0.0, 0
        self._no_count = 0
        # The number of reservations that are made anew at each decision.
        self._depth: int = kind.count if self._kind == _RESERVATIONS else 0
        # The conservative plan, which is shared with the part; the jobs by number; the pending call; and the last one
        # that was asked for, and not yet taken.
        self._plan: Any = kind if self._kind == _CONSERVATIVE else None
        self._reserved: Any = None if self._plan is None else kind.reserved
        self._profile: Any = None if self._plan is None else kind.profile
        self._by_number: dict[int, PlannedJob] = {}
        self._overdue: list[int] = []
        self._ended_early = False
        self._call = self._asked = inf

    def call(self) -> float:
        asked, self._asked = self._asked, inf
        return asked

    def turn(self, now: float, jobs: list[PlannedJob]) -> list[PlannedJob]:
        time = self._rounded(now)
        if time > self._now:
            self._now = time
            self._state.now = time
        is_called = self._has_called(now)
        if not (jobs or is_called):
            return []
        if jobs:
            self._take_news(jobs)
        return self._starting() if self._waiting and self._room else []

    def _has_called(self, now: float) -> bool:
        """Whether the call that was asked for has come; then, another one can be asked for."""
        if self._call == inf or self._call > max(self._now, now) + _NEARLY:
            return False
        self._call = inf
        return True

    def _take_news(self, jobs: list[PlannedJob]) -> None:
        """Take the jobs that were submitted or have ended."""
        if len(jobs) == 1:
            if jobs[0].is_over:
                self._over(jobs[0])
            else:
                self._submitted(jobs[0])
        else:
            self._all(jobs)

    def _all(self, jobs: list[PlannedJob]) -> None:
        """Take several jobs that were submitted or have ended: as in `Policy`, the first ones come first."""
        arrivals: list[PlannedJob] = []
        ends: list[PlannedJob] = []
        for job in jobs:
            step()
            if job.is_over:
                ends.append(job)
            else:
                arrivals.append(job)
        if len(arrivals) > 1:
            # As in `Policy`: the simulator sends the jobs of one time by id, and 10 before 9.
            keyed = [(self._rounded(job.time), natural_key(job.id), job) for job in arrivals]
            keyed.sort(key=_without_job)
            arrivals = [entry[2] for entry in keyed]
        for job in arrivals:
            self._submitted(job)
        if self._plan is not None:
            ends.sort(key=_place)
        for job in ends:
            self._over(job)

    def _submitted(self, job: PlannedJob) -> None:
        text = job.extra_data
        if text is not None and text in self._unknown:
            self._report(job.id, text)
        job.submitted = min(self._rounded(job.time), self._now)
        job.number = self._count
        self._count += 1
        key: Any = job.submitted if self._in_turn else self._order.key(_as_waiting(job), self._state)
        job.key = (key, job.number)
        if self._other is not None:
            job.tried = (self._other.key(_as_waiting(job), self._state), job.number)
        self._waiting += 1
        if self._plan is not None:
            self._reserve(job)
        if self._ranking is not None:
            self._ranking.add(_as_waiting(job))
            if self._other_ranking is not None:
                self._other_ranking.add(_as_waiting(job))
            return
        _insert(self._keys, self._jobs, job.key, job)
        if self._other is not None:
            _insert(self._other_keys, self._other_jobs, job.tried, job)
        if self._waiting > _LONG:
            self._grow()

    def _over(self, job: PlannedJob) -> None:
        place, ends, running = bisect_left(self._ends, job.end), self._ends, self._running
        while running[place] is not job:
            place += 1
        del ends[place], running[place]
        self._free_hosts(job)
        self._room += job.size
        if self._plan is not None:
            self._release(job)

    def _free_hosts(self, job: PlannedJob) -> None:
        if self._is_first:
            self._give_first(job.hosts)
        else:
            self._give_back(job.hosts, self._free)

    # Decisions

    def _starting(self) -> list[PlannedJob]:
        starting: list[PlannedJob] = []
        if self._plan is not None:
            self._start_reserved(starting)
            return starting
        job = self._first()
        while job is not None and job.size <= self._room:
            self._start(job, starting)
            job = self._first()
        if job is None or not self._room or self._kind == _NONE:
            return starting
        if self._kind == _GREEDY:
            job = self._first_in(self._room, inf, 0)
            while job is not None:
                self._start(job, starting)
                job = self._first_in(self._room, inf, 0) if self._room else None
            return starting
        if self._kind == _RESERVATIONS:
            job = self._next_of_some()
            while job is not None:
                self._start(job, starting)
                job = self._next_of_some() if self._waiting and self._room else None
            return starting
        if self._waiting == 1:
            return starting
        # The latest time at which the first job can start, and the hosts that it leaves free from then on.
        slack = self._resolution / 2
        latest, wanted, free = inf, job.size, self._room
        ends, running = self._ends, self._running
        for place in range(len(ends)):
            end = ends[place]
            if end > latest:
                break
            free += running[place].size
            if free >= wanted and latest == inf:
                latest = max(end, self._now) + slack
        spare = free - wanted if self._has_spare and latest < inf else 0
        seconds = (latest - slack) - self._now + (-slack if self._is_strict else slack)
        if self._is_strict and not slack:
            seconds = nextafter(seconds, -inf)
        while self._room:
            job = self._first_in(self._room, seconds, min(spare, self._room))
            if job is None:
                break
            if job.expected > seconds:
                spare -= job.size
            self._start(job, starting)
        return starting

    def _first(self) -> PlannedJob | None:
        if self._ranking is not None:
            return cast("PlannedJob | None", self._ranking.first())
        return self._jobs[0] if self._jobs else None

    def _first_in(self, room: int, seconds: float, spare: int) -> PlannedJob | None:
        """The first job in the order of tries of at most that many hosts and seconds, or at most the spare hosts."""
        if self._ranking is not None:
            ranking = self._ranking if self._other_ranking is None else self._other_ranking
            gap = Gap((room, seconds)) if self._kind == _GREEDY else Gap((room, seconds), (spare, inf))
            return cast("PlannedJob | None", ranking.first_in(gap))
        known = room <= self._no_room and seconds <= self._no_seconds and spare <= self._no_spare
        if known and self._no_count == self._count:
            return None
        for job in self._jobs if self._other is None else self._other_jobs:
            size = job.size
            if size <= spare or (size <= room and job.expected <= seconds):
                return job
        self._no_room, self._no_seconds, self._no_spare, self._no_count = room, seconds, spare, self._count
        return None

    def _start(self, job: PlannedJob, starting: list[PlannedJob]) -> None:
        """A job starts now."""
        size = job.size
        job.hosts = self._take_first(size) if self._is_first else self._take(size, self._free, self._asleep)
        if not self._executes(job):
            self._free_hosts(job)
            job.hosts = None
            self._drop(job)
            if self._plan is not None:
                self._profile.advance(self._now)
                self._reserved.drop(job.number, self._now)
                self._ended_early = True
            return
        self._room -= size
        self._drop(job)
        if self._plan is not None:
            self._reserved.start(job.number, self._now)
        job.started = self._now
        job.place = self._starts
        self._starts += 1
        job.end = self._now + job.expected
        place = bisect_left(self._ends, job.end)
        self._ends.insert(place, job.end)
        self._running.insert(place, job)
        starting.append(job)

    def _executes(self, job: PlannedJob) -> bool:
        """Execute a job, which has its hosts; whether that is possible."""
        return True

    def _drop(self, job: PlannedJob) -> None:
        """A job waits no longer."""
        self._waiting -= 1
        if self._plan is not None:
            del self._by_number[job.number]
        if self._ranking is not None:
            self._ranking.remove(_as_waiting(job))
            if self._other_ranking is not None:
                self._other_ranking.remove(_as_waiting(job))
            if self._waiting < _LONG // 4:
                self._shrink()
        else:
            _remove(self._keys, self._jobs, job.key, job)
            if self._other is not None:
                _remove(self._other_keys, self._other_jobs, job.tried, job)

    # Reservations: the same as `Conservative` and `Reservations`

    def _reserve(self, job: PlannedJob) -> None:
        """A job that was submitted gets a reservation."""
        self._profile.advance(self._now)
        self._by_number[job.number] = job
        start = self._profile.earliest(job.size, job.expected - self._resolution / 2)
        self._reserved.add(job.number, job.key, job.size, job.expected, start)

    def _release(self, job: PlannedJob) -> None:
        """A job has ended: what is left of its time is free."""
        end = self._rounded(job.end)
        if end > self._now + self._resolution / 2:
            self._profile.advance(self._now)
            self._profile.change(self._now, end, job.size)
            self._ended_early = True
        elif self._reserved.is_endless:
            self._ended_early = True

    def _start_reserved(self, starting: list[PlannedJob]) -> None:
        reserved, now, slack = self._reserved, self._now, self._resolution / 2
        self._profile.advance(now)
        early, self._ended_early = self._ended_early, False
        if early:
            reserved.compress(self._in_order(), now, self._plan.depth)
        due = [number for number in self._overdue if number in reserved]
        self._overdue = []
        due += [number for number in reserved.due(now + slack) if number not in due]
        most = inf
        for place, number in enumerate(due):
            job = self._by_number[number]
            if job.size > self._room:  # it is due by the resolution alone
                self._overdue = due[place:]
                most = self._ends[0] - now if self._ends else 0.0
                break
            self._start(job, starting)
        while early and self._room and reserved.may_start(self._room, most, slack):
            steps = [(size, min(seconds, most) + slack) for size, seconds in self._profile.gaps(self._room)]
            next_one = self._first_in_gap(steps)
            if next_one is None:
                break
            reserved.move(next_one.number, now)
            self._start(next_one, starting)
        start: float = reserved.next_start()
        place = bisect_left(self._ends, start - slack)
        if (place == len(self._ends) or self._ends[place] > start + slack) and start < min(self._call, LATEST):
            self._call = self._asked = start

    def _first_in_gap(self, steps: list[tuple[int, float]]) -> PlannedJob | None:
        """The first job in the order of tries that fits into a gap, given as pairs of hosts and seconds."""
        if not steps:
            return None
        gap = Gap(*steps)
        if self._ranking is not None:
            ranking = self._ranking if self._other_ranking is None else self._other_ranking
            return cast("PlannedJob | None", ranking.first_in(gap))
        for job in self._jobs if self._other is None else self._other_jobs:
            if gap.takes(job.size, job.expected):
                return job
        return None

    def _next_of_some(self) -> PlannedJob | None:
        """The next job to start before its turn, where the first ones have reservations."""
        now, slack = self._now, self._resolution / 2
        ends = [(max(end, now), job.size) for end, job in zip(self._ends, self._running, strict=True)]
        profile: Any = availability.Profile(now, self._room, ends)
        first_ones: list[PlannedJob] = list(islice(self._in_order(), self._depth))
        for job in first_ones:
            start: float = profile.earliest(job.size, job.expected - slack)
            if start <= now and job.size <= self._room:
                return job
            profile.change(start, start + job.expected, -job.size)
        return self._first_in_gap([(size, seconds + slack) for size, seconds in profile.gaps(self._room)])

    def _in_order(self) -> Any:
        """The jobs that wait, in the queue order."""
        return self._jobs if self._ranking is None else self._ranking

    # Long queues

    def _grow(self) -> None:
        """Many jobs wait now."""
        self._ranking = ranking = Ranking(self._order, self._state)
        if self._other is not None:
            self._other_ranking = Ranking(self._other, self._state)
        for job in sorted(self._jobs, key=_number):
            step()
            ranking.add(_as_waiting(job))
            if self._other_ranking is not None:
                self._other_ranking.add(_as_waiting(job))
        self._keys, self._jobs, self._other_keys, self._other_jobs = [], [], [], []

    def _shrink(self) -> None:
        """Few jobs wait now."""
        assert self._ranking is not None
        self._jobs = cast("list[PlannedJob]", list(self._ranking))  # they are what was added
        self._keys = [job.key for job in self._jobs]
        if self._other_ranking is not None:
            self._other_jobs = cast("list[PlannedJob]", list(self._other_ranking))
            self._other_keys = [job.tried for job in self._other_jobs]
        self._ranking = self._other_ranking = None

    def _rounded(self, time: float) -> float:
        """The same as `State.rounded`."""
        resolution = self._resolution
        if resolution == 0.0 or not abs(time) < _EXACT * resolution:
            return time
        steps = time / resolution
        whole = (steps + 3.0 * _FEW) - 3.0 * _FEW if abs(steps) < _FEW else float(round(steps))
        return whole * resolution if resolution >= 1.0 else whole / self._per


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class CountingTurns(CountingPlanner):
    """The same decisions for a policy that gets messages, as long as nothing else comes in them.

    Args:
        state: the policy's state.
        parts: the policy's parts, for which `can_count` holds.
        asleep: the hosts that sleep, of which there are none.
        report: called with the id and the extra data of a job with keys that have no effect.
        actions: rejects jobs, and asks for calls.
        arrivals: where the events of the jobs come that were submitted in a message.
        ends: where the ids of the jobs come that have ended in a message.

    Attributes:
        is_due: whether there may be something to decide, although nothing has happened.
    """

    def __init__(
        self,
        state: State,
        parts: PolicyParts,
        asleep: Any,
        report: Callable[[str, str], object],
        actions: Replies,
        arrivals: list[JobSubmittedEvent],
        ends: list[str],
    ) -> None:
        super().__init__(state, parts, asleep, report, frozenset())
        self.arrivals = arrivals
        self.ends = ends
        self.is_due = False
        self._reject: Callable[[str, object], object] = actions.reject
        self._actions: Any = actions
        self._most = self._room
        self._known: dict[str, PlannedJob] = {}
        self._texts: dict[str, bool] = {}  # the extra data of jobs, and whether they have keys without effect
        self._reply: Any = None

    def decide(self, scheduler: Any) -> bool:
        """Decide, and add the decisions to the reply of a scheduler.

        Returns:
            Whether this was possible. If not, nothing has been done: `leave`, and decide otherwise.
        """
        turn: Turn = scheduler._turn
        jobs: list[PlannedJob] = []
        if not (self._collect_arrivals(jobs) and self._collect_ends(jobs)):
            return False
        self.arrivals.clear()
        self.ends.clear()
        time = self._rounded(turn.message.now)
        if time > self._now:
            self._now = time
            self._state.now = time
        if self._has_called(turn.message.now):
            self._actions.has_called(inf)
            self.is_due = True
        if jobs:
            count = self._count
            self._take_news(jobs)
            self.is_due = self.is_due or jobs[-1].is_over or self._count != count
        if not self.is_due:  # also if all jobs that came were rejected
            return True
        self.is_due = False
        if self._waiting and self._room:
            self._reply = turn.reply
            self._starting()
            self._reply = None
            asked = self.call()
            if asked < inf:
                self._actions.call_at(asked)
        return True

    def _collect_arrivals(self, jobs: list[PlannedJob]) -> bool:
        """The jobs that were submitted; False: they ask for more than whole hosts, or are odd in another way."""
        for event in self.arrivals:
            step()
            asked, job_id = event.job, event.job_id
            text, walltime, size = asked.extra_data, asked.walltime, asked.resource_request
            if (text and not self._is_plain(text)) or type(size) is not int or job_id in self._known:
                return False
            limit = None if walltime is None else float(walltime)
            jobs.append(PlannedJob(job_id, float(event.submission_time), size, limit, text, asked))
        return len(jobs) < 2 or len({job.id for job in jobs}) == len(jobs)

    def _collect_ends(self, jobs: list[PlannedJob]) -> bool:
        """The jobs that have ended; False: not all of them ran. If so, they are over from now on."""
        for job_id in self.ends:
            job = self._known.get(job_id)
            if job is not None and job.hosts is None:
                return False  # something else has started it
        for job_id in self.ends:
            job = self._known.pop(job_id, None)
            if job is not None:  # else it is nobody's job
                job.is_over = True
                jobs.append(job)
        return True

    def _is_plain(self, text: str) -> bool:
        """Whether a job with these extra data asks for whole hosts alone. It is kept whether keys have no effect."""
        if text in self._texts:
            return True
        try:
            request = read_request(text)
        except InputError:
            return False
        if not request.is_plain:
            return False
        if len(self._texts) >= _MOST_TEXTS:
            self._texts.clear()
        self._texts[text] = bool(request.unknown)
        return True

    def _submitted(self, job: PlannedJob) -> None:
        text = job.extra_data
        if text and self._texts.get(text, True):
            self._report(job.id, text)
        if not 0 < job.size <= self._most:
            self._reject(job.id, too_large(job.size, self._most))
            return
        self._known[job.id] = job
        super()._submitted(job)

    def _executes(self, job: PlannedJob) -> bool:
        reply, job_id, hosts = self._reply, job.id, job.hosts
        try:
            if not _add_execution(reply, job_id, hosts, _SPREAD):
                reply.add_execute_job(job_id, hosts)
        except RuleViolation as violation:
            # Batsim would abort, for example because the profile names a storage that the platform does not have.
            self._reject(job.id, violation)
            del self._known[job.id]
            self.is_due = True
            return False
        return True

    def leave(self) -> tuple[list[PlannedJob], list[PlannedJob]]:
        """The jobs that wait, in the order of their numbers, and those that run, in the order of their starts.

        The part of the policy that keeps reservations knows what it must know beside them.
        """
        if self._plan is not None:
            self._plan.take_over(self._overdue, self._ended_early)
        waiting = [job for job in self._known.values() if job.hosts is None]
        running = list(self._running)
        waiting.sort(key=_number)
        running.sort(key=_place)
        return waiting, running

    @property
    def count(self) -> int:
        """How many jobs have come."""
        return self._count


def _as_waiting(job: PlannedJob) -> Any:
    """A job as rankings and orders take it: it has the attributes of a `WaitingJob` that they read."""
    return job


def _number(job: PlannedJob) -> int:
    return job.number


def _place(job: PlannedJob) -> int:
    return job.place


def _without_job(entry: tuple[float, Any, PlannedJob]) -> tuple[float, Any]:
    return entry[0], entry[1]


def _insert(keys: list[Any], jobs: list[PlannedJob], key: Any, job: PlannedJob) -> None:
    place = len(keys)
    if place and not keys[place - 1] < key:
        place = bisect_left(keys, key)
    keys.insert(place, key)
    jobs.insert(place, job)


def _remove(keys: list[Any], jobs: list[PlannedJob], key: Any, job: PlannedJob) -> None:
    place = 0
    if jobs[0] is not job:
        place = bisect_left(keys, key)
    del keys[place], jobs[place]
