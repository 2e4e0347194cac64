"""The plan of a site: which jobs start now, and where: reservations for the first jobs, and backfilling around them.

All kinds of backfilling are one plan with another number of reservations: none (the first job starts, or all wait), one
for each partition (EASY), several, or one for each job (conservative).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

from batprotocol.policies.backfilling import PlanSettings
from batprotocol.policies.jobs import JobKind, Ranked, SiteEntry, SiteJob
from batprotocol.policies.site.futures import PythonHostSteps
from batprotocol.policies.site.reservations import ReservationPlanner, Start
from batprotocol.policies.site.state import OpenHosts, SiteState, SizedEntries

# The entries of one kind while a plan goes through them.


class Candidates:
    """The entries of a kind, in order, while they are looked at for backfilling: an iterator of those that come next.

    The first ones are found one by one, if somebody finds them so. If none of them starts, all are found at once.

    Args:
        kind: the kind.
        find: finds those that may start, in order.
        first: finds the first one behind another one; None: nobody does.
    """

    __slots__ = ("_after", "_coming", "_find", "_first", "_left", "kind")

    def __init__(
        self,
        kind: JobKind,
        find: Callable[[JobKind], list[Ranked]],
        first: Callable[[JobKind, Ranked | None], Ranked | None] | None = None,
    ) -> None:
        self.kind, self._find, self._first = kind, find, first
        self._after: Ranked | None = None  # the last one that came
        self._coming: list[Ranked] = []  # the next one at the end
        self._left = 0  # how many are still found one by one, before all others come at once; -1: those do
        self._begin()

    def _begin(self) -> None:
        """The entries come that are behind the last one."""
        if self._first is not None:
            self._left, self._coming = _ONE_BY_ONE, []
        else:
            self._find_all()

    def _find_all(self) -> None:
        after, self._left = self._after, -1
        self._coming = [ranked for ranked in self._find(self.kind) if after is None or ranked > after][::-1]

    def __iter__(self) -> Iterator[Ranked]:
        while self:
            if not self._coming and self._left > 0 and self._first is not None:
                self._left -= 1
                found = self._first(self.kind, self._after)
                if found is None:
                    self._left = -1
                    return
                self._after = found
                yield found
            elif not self._coming:
                self._find_all()
            else:
                yield self._coming.pop()

    def __bool__(self) -> bool:
        return bool(self._coming) or self._left >= 0

    def started(self) -> None:
        """One of the entries has started: those that come next are found one by one again."""
        if self._left >= 0:
            self._left = _ONE_BY_ONE

    def resume(self, after: Ranked) -> None:
        """After the start of an entry, those come again that are later in the order."""
        self._after = after
        self._begin()

    def put_back(self, ranked: Ranked) -> None:
        """An entry that came comes once more."""
        self._coming.append(ranked)


_ONE_BY_ONE: Final = 4
"""The number of candidates that are found one by one. For each, all sizes are looked at."""


Asked = Callable[[SiteEntry], bool]
"""A question about an entry."""

# The reservations that stay, or move forward to a time that has not come: most of those of a long queue.


class Walk(NamedTuple):
    """The parts of a plan that a walk over reservations reads and changes.

    Attributes:
        heads: the entries that have a reservation.
        looked: for each of them, the changes of the timeline when it looked around.
        plain: those of jobs in one partition that get the first hosts there are.
        jobs: the jobs that wait.
        freed: the hosts on which something is free earlier than was known.
        kinds: the hosts that have space for each kind of jobs.
        steps: the amounts that will be free on each host.
        seen: the entries that were looked at.
        move: moves a reservation to a time and hosts; it returns how often the timeline has changed.
        allowed: asks whether limits let an entry start; None: there are no limits.
    """

    heads: dict[int, SiteEntry]
    looked: dict[int, int]
    plain: set[int]
    jobs: dict[str, SiteJob]
    freed: set[int]
    kinds: dict[JobKind, OpenHosts]
    steps: PythonHostSteps
    seen: set[int]
    move: Callable[[SiteEntry, float, list[int]], int]
    allowed: Asked | None


def python_keep(entries: Iterator[SiteEntry], walk: Walk, changes: int, now: float, slack: float) -> SiteEntry | None:
    """Keep and move reservations, up to the first entry for which that is not all, or not known.

    Args:
        entries: the entries, in order; those that are done are taken.
        walk: what is read and changed.
        changes: how often the timeline has changed.
        now: the time.
        slack: times that differ by no more count as equal.

    Returns:
        That entry; None: there is none.
    """
    for entry in entries:
        number, kind = entry.number, entry.kind
        if entry.job.id not in walk.jobs:
            continue
        if number not in walk.heads or entry.start <= now + slack:
            return entry
        if walk.allowed is not None and not walk.allowed(entry):
            return entry
        seconds, freed = max(entry.expected - slack, 0.0), walk.freed & kind.hosts
        opens = (walk.steps.first_window(host, kind.amount, seconds, now, entry.start) < entry.start for host in freed)
        if freed.isdisjoint(entry.reserved) and not any(opens):
            walk.seen.add(number)
            continue
        hosts = walk.kinds.get(kind)
        is_plain = number in walk.plain and number in walk.looked and len(entry.job.entries) == 1
        if hosts is None or not is_plain or len(walk.heads) == 1:
            return entry
        found = hosts.again(entry.reserved, entry.start, entry.start + entry.expected, seconds, now)
        if found is None or (found is not True and found[0] <= now + slack):
            return entry
        walk.seen.add(number)
        if found is True:
            walk.freed.update(entry.reserved)
            walk.heads[number] = walk.heads.pop(number)
            walk.looked[number] = changes
        else:
            changes = walk.move(entry, *found)
    return None


keep = python_keep
if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.policies._profile import keep


class AmountPlanner(ReservationPlanner):
    """Chooses what starts.

    Args:
        settings: the kind of backfilling.
        site: the state of the site.
    """

    def __init__(self, settings: PlanSettings, site: SiteState) -> None:
        super().__init__(settings, site)
        self._planned = -math.inf  # the time of the last plan
        self.claim: Asked | None = None
        """Asks whether running jobs give way to an entry that cannot start; None: none ever do."""

    def is_due(self) -> bool:
        """Whether the time of a reservation has come since the last plan, or may come earlier by what that gave up."""
        now = self._state.now + self._state.resolution / 2
        if self._next_start(self._planned) <= now:
            return True
        return bool(self._late) and any(self._may_move_forward(head) for head in self.heads.values())

    # The plan

    def is_allowed(self, entry: SiteEntry) -> bool:
        """Whether limits let an entry start now."""
        return not self._site.usage.blocked(entry)

    def starting(self) -> Iterator[Start]:
        """The entries that start now. Each has started before the next one is asked for.

        If jobs join the queue meanwhile, because they waited for one that starts, the plan begins anew.
        """
        self._timeline.advance(self._state.now)
        self._site.open_hosts.advance(self._state.now)
        if self.bare is not None:
            self.bare.advance(self._state.now)
        self._planned = self._state.now + self._state.resolution / 2
        self._late = set()
        joined = -1
        while joined != self._queue.joined:
            joined = self._queue.joined
            yield from self._in_turn()
            if self.settings.backfills and joined == self._queue.joined:
                yield from self._backfilled()
        self._freed = self._late.copy()

    def _in_turn(self) -> Iterator[Start]:
        depth, queue, joined = self.settings.depth, self._queue, self._queue.joined
        reservations: dict[str, int] = defaultdict(int)
        closed: set[str] = set()
        shut: frozenset[int] = frozenset()
        seen: set[int] = set()
        last = self._last()
        for entry in self._left(queue.in_order(), seen):
            if queue.joined != joined:
                return
            if len(closed) >= len(queue.places) and seen.issuperset(self._fixed):
                break
            place = entry.place
            if entry.job.id not in queue.jobs or (place in closed and entry.number not in self._fixed):
                continue
            seen.add(entry.number)
            if not self.is_allowed(entry):
                self._give_up(entry)
                continue
            waits = entry.number in self.heads and not self._may_move_forward(entry)
            before, reserved = entry.start, entry.reserved
            if not waits and self.claim is None and queue.precedence(entry) >= last and self._stays(entry):
                self._freed.update(reserved)  # as if it had been made anew
                self.heads[entry.number] = self.heads.pop(entry.number)
                waits, last = True, queue.precedence(entry)
                before, reserved = entry.start, entry.reserved
            is_fixed = entry.number in self._fixed and self.is_clear(entry, reserved)
            hosts, changes = None, self._timeline.changes
            if not waits:
                self._release(entry)
                hosts = self._now(entry, shut)
                if hosts is None and self._queue.precedence(entry) < last:
                    last = self._step_back(entry)
                    hosts = self._now(entry, shut)
                is_over = hosts is None and before <= self._planned and not is_fixed
                if is_over and self._let_wait(entry, reserved, seen):
                    last = self._last()
                    hosts = self._now(entry, shut)
            if hosts is None and is_fixed and self._may_start(entry, reserved):
                hosts = reserved  # they are free now, later than the reservations behind it expect
            if hosts is not None:
                yield entry, hosts
                if is_fixed:
                    self._displace(entry, hosts)
                continue
            if is_fixed:  # jobs are on their way out
                self.claimed(entry, reserved, self._state.now)
                self._displace(entry, reserved)
                continue
            if self.claim is not None and not self._has_claim(entry) and self.claim(entry):
                self._displace(entry, entry.reserved)
                continue
            if not depth:
                closed.add(place)
                self._wait_for(entry)
                if not self.settings.backfills:
                    shut |= self._site.hosts_of(place) if entry.promised is None else entry.promised.members
                continue
            if not waits and not any(other.number in self.heads for other in entry.job.entries):
                if self._make_room(place, seen, depth):  # it may start in the place of a job that was first before
                    hosts = self._now(entry, shut)
                    if hosts is not None:
                        yield entry, hosts
                        continue
                late = max(before, self._state.now)
                if self.settings.once and before < math.inf and self.is_clear(entry, reserved, late - self._state.now):
                    self._put(entry, late, reserved)
                elif not self._reserve(entry, before) and before < math.inf:
                    self._reserve(entry)
                if (entry.start, entry.reserved) == (before, reserved) and self._timeline.changes == changes + 2:
                    self._timeline.undone(2)
                last = max(last, self._queue.precedence(entry))
            reservations[place] += 1
            if reservations[place] >= depth:
                closed.add(place)
        if depth < math.inf:
            for entry in [entry for entry in self.heads.values() if entry.number not in seen]:
                self._give_up(entry)

    def _left(self, entries: Iterator[SiteEntry], seen: set[int]) -> Iterator[SiteEntry]:
        """The entries that a plan looks at one by one; those with a reservation that stays or only moves are done.

        Args:
            entries: the entries, in order.
            seen: those that were looked at, to which this adds.
        """
        settings, joined, state = self.settings, self._queue.joined, self._state
        walks = settings.depth == math.inf and self.claim is None and self._open_hosts is not None and self.remembers
        walks = walks and not (settings.once or settings.moves) and self.sleeping is None
        while True:
            walks = walks and len(self._precedences) <= 1
            if walks and joined != self._queue.joined:
                return
            if walks and len(self.heads) > 1 and not self._fixed:
                steps = self._timeline.steps
                function = python_keep if type(steps) is PythonHostSteps else keep
                given = self._given(steps, seen)
                entry = function(entries, given, self._timeline.changes, state.now, state.resolution / 2)
            else:
                entry = next(entries, None)
            if entry is None:
                return
            yield entry

    def _given(self, steps: PythonHostSteps, seen: set[int]) -> Walk:
        kinds = {} if self._open_hosts is None else self._open_hosts.known
        allowed = self.is_allowed if self._site.usage.may_block else None
        kept = self.heads, self._looked, self._plain, self._queue.jobs
        return Walk(*kept, self._freed, kinds, steps, seen, self._move, allowed)

    def _has_claim(self, entry: SiteEntry) -> bool:
        """Whether jobs give way to the same job, perhaps in another partition."""
        return bool(self._fixed) and any(other.number in self._fixed for other in entry.job.entries)

    # Backfilling

    def _backfilled(self) -> Iterator[Start]:
        """The entries that start before their turn, the first of them first.

        Within a plan, free amounts only become less, so an entry that does not fit is not tried again.
        """
        queue, joined = self._queue, self._queue.joined
        waiting: list[tuple[Ranked, int, Candidates]] = []
        first = self._first_candidate if self.settings.order is None else None
        lines = [
            Candidates(kind, self._candidates, first if isinstance(kind.ranking, SizedEntries) else None)
            for kind in queue.kinds
            if kind.entries and kind.fitting
        ]
        for number, line in enumerate(lines):
            self._push(waiting, number, line)
        while waiting:
            ranked, number, line = heappop(waiting)
            entry = ranked[2]
            if entry.job.id in queue.jobs and entry.number not in self.heads and self.is_allowed(entry):
                hosts = self._now(entry) if self._may_fit(entry) else None
                if hosts is None and entry.job.size <= self._movable(entry.kind):
                    hosts = self._beside_moved(entry)
                if hosts is not None and self._spares(entry, hosts):
                    before = self._released
                    for other in entry.job.entries:
                        self._release(other)
                    yield entry, hosts
                    has_more = self._look_again()
                    has_more |= before != self._released or self._has_moved
                    self._has_moved = False
                    if queue.joined != joined:
                        return
                    self._go_on(waiting, lines, ranked if has_more else None)
                    if not has_more:
                        line.started()
                        self._push(waiting, number, line)
                    continue
            self._push(waiting, number, line)

    def _go_on(
        self, waiting: list[tuple[Ranked, int, Candidates]], lines: list[Candidates], again: Ranked | None
    ) -> None:
        """After a start, go on to the next entry of each line that may start.

        Args:
            waiting: the next entries.
            lines: all lines.
            again: the entry that has started, if those behind it that did not fit before may fit now, as reservations
                are elsewhere. None: there is only less room than before.
        """
        kept = waiting.copy()
        waiting.clear()
        if again is not None:
            for place, line in enumerate(lines):
                line.resume(again)
                self._push(waiting, place, line)
            return
        for ranked, place, line in kept:
            line.put_back(ranked)
            self._push(waiting, place, line)

    def _candidates(self, kind: JobKind) -> list[Ranked]:
        """The entries of a kind that may start, as things are, in the order in which they are tried."""
        slack, now, most, movable = self._slack(), self._state.now, len(kind.fitting), self._movable(kind)
        ends = self._space.ends(kind, now)
        found = kind.shapes.among(most, movable, lambda size: ends[size - 1] - now + slack)
        return self._queue.ranked(kind, found, self.settings.order) if found else []

    def _first_candidate(self, kind: JobKind, after: Ranked | None) -> Ranked | None:
        """The first entry of a kind, behind another one, that may start."""
        now, most, movable = self._state.now, len(kind.fitting), self._movable(kind)
        ends, ranking = self._space.ends(kind, now), kind.ranking
        assert isinstance(ranking, SizedEntries)
        return ranking.first(kind.shapes, after, most, movable, lambda size: ends[size - 1] - now, self._slack())

    def _slack(self) -> float:
        """How many seconds longer than hosts are free an entry may run."""
        return 0.0 if self.settings.strict else self._state.resolution / 2

    def _push(self, waiting: list[tuple[Ranked, int, Candidates]], number: int, line: Candidates) -> None:
        """Add the next entry of a line that may start, as things are."""
        kind, space = line.kind, self._space
        if not line:
            return
        slack, now, room, movable = self._slack(), self._state.now, len(kind.fitting), self._movable(kind)
        ends = space.ends(kind, now)
        for ranked in line:
            entry = ranked[2]
            size = entry.job.size
            if size <= movable or (size <= room and ends[size - 1] - now >= entry.expected - slack):
                heappush(waiting, (ranked, number, line))
                return

    def _may_fit(self, entry: SiteEntry) -> bool:
        """Whether enough hosts stay free for as long as an entry needs them, one by one."""
        ends, size = self._space.ends(entry.kind, self._state.now), entry.job.size
        return len(ends) >= size and ends[size - 1] - self._state.now >= self._needed(entry)

    def _spares(self, entry: SiteEntry, hosts: list[int]) -> bool:
        """Where no job may last beyond a reservation: whether an entry does not."""
        if self.settings.spare:
            return True
        end = self._state.now + self._needed(entry)
        taken = set(hosts)
        return all(end <= head.start for head in self.heads.values() if taken & head.kind.hosts)
