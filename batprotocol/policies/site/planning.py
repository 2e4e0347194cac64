"""Which jobs of a site start now, and where: reservations for the first jobs, and backfilling around them.

All kinds of backfilling are one plan with another number of reservations: none (the first job starts, or all wait), one
for each partition (EASY), several, or one for each job (conservative). Reservations lie in a `Timeline`, on hosts that
the plan chose. A reservation never moves back while its job keeps its place among the first, except for jobs of a
higher tier or priority.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Final

from batprotocol.policies.jobs import State
from batprotocol.policies.site.choosing import Chooser
from batprotocol.policies.site.gaps import Gaps
from batprotocol.policies.site.jobs import Entry, Kind, Ranked
from batprotocol.policies.site.keeping import is_possible, is_short, look_around, stays
from batprotocol.policies.site.lines import Line
from batprotocol.policies.site.pool import Pool
from batprotocol.policies.site.queue import SiteQueue
from batprotocol.policies.site.settings import Settings
from batprotocol.policies.site.timeline import Timeline

__all__ = ["Planner"]

Start = tuple[Entry, list[int]]
"""An entry that starts now, and its hosts."""

_Asked = Callable[[Entry], bool]
_FIRST: Final = (-math.inf, -math.inf)
"""It precedes all jobs."""


class Planner:
    """Chooses what starts.

    Args:
        settings: the kind of backfilling.
        queue: the entries that wait.
        pool: what is free now.
        timeline: what will be free.
        chooser: which hosts a job gets.
        members: the hosts of each partition, by its name.
    """

    def __init__(
        self,
        settings: Settings,
        queue: SiteQueue,
        pool: Pool,
        timeline: Timeline,
        chooser: Chooser,
        members: Callable[[str], frozenset[int]],
    ) -> None:
        self.settings = settings
        self._queue, self._pool, self._timeline, self._chooser, self._members = queue, pool, timeline, chooser, members
        self.heads: dict[int, Entry] = {}
        """The entries that have a reservation."""
        self._fixed: set[int] = set()  # those whose hosts were freed for them
        self._freed: set[int] = set()  # the hosts on which something is free earlier than was known
        self._late: set[int] = set()  # the hosts of reservations that the last plan gave up: it may have come too late
        self._planned = -math.inf  # the time of the last plan
        self._gaps = Gaps(timeline, self.heads, queue.sieve)
        self._released = 0  # how many reservations were dropped
        self._looked: dict[int, int] = {}  # for each reservation, the changes of the timeline when it looked around
        self._has_moved = False  # whether reservations have moved beside the last entry that starts

    # What happens

    def freed(self, hosts: Iterable[int]) -> None:
        """Something is free on these hosts earlier than was known: reservations may move forward."""
        self._freed.update(hosts)

    def dropped(self, entry: Entry) -> None:
        """An entry waits no longer."""
        self._give_up(entry)

    def claimed(self, entry: Entry, hosts: list[int], now: float) -> None:
        """Hosts are being freed for an entry: its reservation is there, from now on."""
        self._release(entry)
        self._put(entry, now, hosts)
        self._fixed.add(entry.number)

    @property
    def claims(self) -> list[Start]:
        """The entries for which jobs give way, each with its hosts."""
        return [(self.heads[number], self.heads[number].reserved) for number in sorted(self._fixed)]

    def wakes_at(self, state: State) -> float:
        """When a job can start even if nothing happens until then; infinity: never."""
        slack = state.resolution / 2
        start = min((entry.start for entry in self.heads.values() if entry.start > state.now + slack), default=math.inf)
        ends = state.endings.irange((start - slack,), (start + slack, math.inf))
        return start if next(ends, None) is None else math.inf

    def is_due(self, state: State) -> bool:
        """Whether the time of a reservation has come since the last plan, or may come earlier by what that gave up."""
        now = state.now + state.resolution / 2
        heads, late = self.heads.values(), bool(self._late)
        return any(
            self._planned < head.start <= now or (late and self._may_move_forward(head, state)) for head in heads
        )

    # The plan

    def starting(self, state: State, allowed: _Asked, claim: _Asked | None = None) -> Iterator[Start]:
        """The entries that start now. Each has started before the next one is asked for.

        If jobs join the queue meanwhile, because they waited for one that starts, the plan begins anew.

        Args:
            state: the time, and its resolution.
            allowed: whether limits let an entry start now.
            claim: asks whether running jobs give way to an entry that cannot start; None: none ever do.
        """
        self._timeline.advance(state.now)
        self._planned = state.now + state.resolution / 2
        self._late = set()
        joined = -1
        while joined != self._queue.joined:
            joined = self._queue.joined
            yield from self._in_turn(state, allowed, claim)
            if self.settings.backfills and joined == self._queue.joined:
                yield from self._backfilled(state, allowed)
        self._freed = self._late.copy()

    def _in_turn(self, state: State, allowed: _Asked, claim: _Asked | None) -> Iterator[Start]:
        depth, queue, joined = self.settings.depth, self._queue, self._queue.joined
        reservations: dict[str, int] = defaultdict(int)
        closed: set[str] = set()
        shut: frozenset[int] = frozenset()
        seen: set[int] = set()
        last = max(map(queue.precedence, self.heads.values()), default=_FIRST)
        for entry in queue.in_order():
            if queue.joined != joined:
                return
            if len(closed) >= len(queue.partitions) and seen.issuperset(self._fixed):
                break
            place = entry.partition
            if entry.job.id not in queue.jobs or (place in closed and entry.number not in self._fixed):
                continue
            seen.add(entry.number)
            if not allowed(entry):
                self._give_up(entry)
                continue
            waits = entry.number in self.heads and not self._may_move_forward(entry, state)
            if not waits and claim is None and queue.precedence(entry) >= last and self._stays(entry, state):
                self._freed.update(entry.reserved)  # as if it had been made anew
                self.heads[entry.number] = self.heads.pop(entry.number)
                waits, last = True, queue.precedence(entry)
            before, reserved, is_fixed = entry.start, entry.reserved, entry.number in self._fixed
            hosts, changes = None, self._timeline.changes
            if not waits:
                self._release(entry)
                hosts = self._now(entry, state, shut)
                if hosts is None and self._queue.precedence(entry) < last:
                    last = self._step_back(entry)
                    hosts = self._now(entry, state, shut)
            if hosts is None and is_fixed and entry.kind.fitting.issuperset(reserved):
                hosts = reserved  # they are free now, later than the reservations behind it expect
            if hosts is not None:
                yield entry, hosts
                if is_fixed:
                    self._displace(entry, hosts, state)
                continue
            if is_fixed:  # jobs are on their way out
                self.claimed(entry, reserved, state.now)
                self._displace(entry, reserved, state)
                continue
            if claim is not None and not self._has_claim(entry) and claim(entry):
                self._displace(entry, entry.reserved, state)
                continue
            if not depth:
                closed.add(place)
                if not self.settings.backfills:
                    shut |= self._members(place)
                continue
            if not waits and not any(other.number in self.heads for other in entry.job.entries):
                if self._make_room(place, seen, depth):  # it may start in the place of a job that was first before
                    hosts = self._now(entry, state, shut)
                    if hosts is not None:
                        yield entry, hosts
                        continue
                if self.settings.once and before < math.inf:
                    self._put(entry, max(before, state.now), reserved)
                elif not self._reserve(entry, state, before) and before < math.inf:
                    self._reserve(entry, state)
                if (entry.start, entry.reserved) == (before, reserved) and self._timeline.changes == changes + 2:
                    self._timeline.undone(2)
                last = max(last, self._queue.precedence(entry))
            reservations[place] += 1
            if reservations[place] >= depth:
                closed.add(place)
        if depth < math.inf:
            for entry in [entry for entry in self.heads.values() if entry.number not in seen]:
                self._give_up(entry)

    def _stays(self, entry: Entry, state: State) -> bool:
        """Whether the reservation of an entry would be where it is if it was made anew, as far as is soon known."""
        since, job = self._looked.get(entry.number), entry.job
        if since is None or entry.number in self._fixed or len(job.entries) > 1:
            return False
        if self.settings.moves or self.settings.once or not self._chooser.is_by_number(job.request):
            return False
        slack = state.resolution / 2
        if entry.start <= state.now + slack or not stays(
            entry, self._timeline, since, state.now, max(entry.expected - slack, 0.0)
        ):
            return False
        self._looked[entry.number] = self._timeline.changes
        return True

    def _has_claim(self, entry: Entry) -> bool:
        """Whether jobs give way to the same job, perhaps in another partition."""
        return bool(self._fixed) and any(other.number in self._fixed for other in entry.job.entries)

    def _step_back(self, entry: Entry) -> tuple[float, float]:
        """Drop the reservations of a lower tier or priority that could delay an entry.

        They are made anew when their turn comes.

        Returns:
            The last precedence that remains.
        """
        precedes, kind = self._queue.precedence(entry), entry.kind
        touched: dict[Kind, bool] = {}
        for head in list(self.heads.values()):
            if self._queue.precedence(head) > precedes and head.number not in self._fixed:
                if head.kind not in touched:
                    touched[head.kind] = not kind.hosts.isdisjoint(head.kind.hosts)
                if touched[head.kind]:
                    self._release(head)
        return max(map(self._queue.precedence, self.heads.values()), default=_FIRST)

    def _may_move_forward(self, entry: Entry, state: State) -> bool:
        """Whether the time of a reservation has come, or may come earlier because something was freed."""
        if entry.start <= state.now + state.resolution / 2:
            return True
        freed = self._freed & entry.kind.hosts
        if not freed.isdisjoint(entry.reserved):
            return True
        opens, amount = self._timeline.opens, entry.kind.amount
        seconds = max(entry.expected - state.resolution / 2, 0.0)
        return any(opens(host, amount, seconds, state.now, entry.start) for host in freed)

    def _make_room(self, place: str, seen: set[int], depth: float) -> bool:
        """Of the reservations in a partition, drop those of jobs that are not among the first any more.

        Returns:
            Whether one was dropped.
        """
        if depth == math.inf:
            return False
        dropped = False
        own = [head for head in self.heads.values() if head.partition == place]
        for head in own:
            if len(own) >= depth and head.number not in seen and head.number not in self._fixed:
                self._release(head)
                dropped = True
        return dropped

    def _displace(self, entry: Entry, hosts: list[int], state: State) -> None:
        """Move the reservations that cannot be beside an entry whose hosts were freed for it."""
        end, own = state.now + entry.expected, set(hosts)
        displaced = [
            head
            for head in sorted(self.heads.values(), key=lambda head: (head.start, head.number))
            if head.number not in self._fixed and head.start < end and is_short(head, self._timeline, own)
        ]
        for head in displaced:
            self._release(head)
        for head in displaced:
            self._reserve(head, state)

    def _now(self, entry: Entry, state: State, shut: frozenset[int] = frozenset()) -> list[int] | None:
        """Hosts on which an entry can start now without touching a reservation; None if there are not enough."""
        kind, count = entry.kind, entry.job.size
        if len(kind.fitting) < count:
            return None
        hosts = self._undisturbed(entry, state, shut)
        return self._chooser.choose(hosts, count, entry.job.request, self._pool.free)

    def _undisturbed(self, entry: Entry, state: State, shut: frozenset[int] = frozenset()) -> list[int]:
        needed = self._needed(entry, state)
        lasting, amount, now = self._timeline.lasting, entry.kind.amount, state.now
        if not self.heads:
            return [host for host in entry.kind.fitting if host not in shut]
        return [host for host in entry.kind.fitting if host not in shut and lasting(host, amount, now) >= needed]

    def _needed(self, entry: Entry, state: State) -> float:
        slack = state.resolution / 2
        if not self.settings.strict:
            return max(entry.expected - slack, 0.0)
        return entry.expected + (slack or math.ulp(entry.expected))

    def _reserve(self, entry: Entry, state: State, before: float = math.inf) -> bool:
        """Make a reservation at the first time that an entry can start; whether there is one."""
        job, kind = entry.job, entry.kind
        seconds = max(entry.expected - state.resolution / 2, 0.0)
        request = job.request
        constraint = request.constraint
        simple = not request.contiguous and (constraint is None or not (constraint.same or constraint.counts))
        free = self._pool.capacity

        def choose(hosts: Sequence[int]) -> list[int] | None:
            return self._chooser.choose(hosts, job.size, request, free)

        start, hosts = self._timeline.earliest(
            kind.hosts,
            job.size,
            kind.amount,
            seconds,
            state.now,
            None if simple else choose,
            before,
        )
        if start == math.inf:
            return False
        end = start + entry.expected
        could = {host: self._timeline.least(host, start, end) for host in hosts}
        chosen = self._chooser.choose(hosts, job.size, request, could)
        if chosen is None:
            return False
        self._put(entry, start, chosen)
        entry.could = could
        self._looked[entry.number] = self._timeline.changes
        return True

    def _put(self, entry: Entry, start: float, hosts: list[int]) -> None:
        entry.start, entry.reserved = start, hosts
        self._timeline.take(hosts, start, start + entry.expected, entry.kind.amount)
        self.heads[entry.number] = entry
        self._gaps.moved += 1

    def _give_up(self, entry: Entry) -> None:
        self._late.update(entry.reserved)
        self._release(entry)

    def _release(self, entry: Entry) -> None:
        if self.heads.pop(entry.number, None) is not None:
            self._freed.update(entry.reserved)
            self._timeline.give_back(entry.reserved, entry.start, entry.start + entry.expected, entry.kind.amount)
            self._fixed.discard(entry.number)
            self._looked.pop(entry.number, None)
            self._released += 1
            self._gaps.moved += 1
            entry.start, entry.reserved, entry.could = math.inf, [], {}

    # Backfilling

    def _backfilled(self, state: State, allowed: _Asked) -> Iterator[Start]:
        """The entries that start before their turn, the first of them first.

        Within a plan, free amounts only become less, so an entry that does not fit is not tried again.
        """
        order, queue, joined = self.settings.order, self._queue, self._queue.joined
        waiting: list[tuple[Ranked, int, Line]] = []
        lines = [Line(kind, queue.ranked(kind, order)) for kind in queue.kinds if kind.entries and kind.fitting]
        for number, line in enumerate(lines):
            self._push(waiting, number, line, state)
        while waiting:
            ranked, number, line = heappop(waiting)
            entry = ranked[2]
            if entry.job.id in queue.jobs and entry.number not in self.heads and allowed(entry):
                hosts = self._now(entry, state) if self._may_fit(entry, state) else None
                if hosts is None and entry.job.size <= self._movable(entry.kind):
                    hosts = self._beside_moved(entry, state)
                if hosts is not None and self._spares(entry, hosts, state):
                    before = self._released
                    for other in entry.job.entries:
                        self._release(other)
                    yield entry, hosts
                    has_more = self._look_again()
                    has_more |= before != self._released or self._has_moved
                    self._has_moved = False
                    if queue.joined != joined:
                        return
                    self._go_on(waiting, lines, ranked if has_more else None, state)
                    if not has_more:
                        self._push(waiting, number, line, state)
                    continue
            self._push(waiting, number, line, state)

    def _go_on(
        self, waiting: list[tuple[Ranked, int, Line]], lines: list[Line], again: Ranked | None, state: State
    ) -> None:
        """After a start, go on to the next entry of each line that may start.

        Args:
            waiting: the next entries.
            lines: all lines.
            again: the entry that has started, if those behind it that did not fit before may fit now, as reservations
                are elsewhere. None: there is only less room than before.
            state: the time.
        """
        kept = waiting.copy()
        waiting.clear()
        if again is not None:
            following = {place: first for first, place, _ in kept}
            for place, line in enumerate(lines):
                line.resume(again, following.get(place))
                self._push(waiting, place, line, state)
            return
        for ranked, place, line in kept:
            line.put_back(ranked)
            self._push(waiting, place, line, state)

    def _push(self, waiting: list[tuple[Ranked, int, Line]], number: int, line: Line, state: State) -> None:
        """Add the next entry of a line that may start, as things are. Most do not, so little is done for each."""
        kind, gaps = line.kind, self._gaps
        room = len(kind.fitting)
        shortest_of = gaps.shortest(kind)
        if not shortest_of or shortest_of[0][0] > room:
            return
        ends, now = gaps.ends(kind, state.now), state.now
        slack = 0.0 if self.settings.strict else state.resolution / 2
        movable = self._movable(kind)
        for size, shortest in shortest_of:
            if size > room:
                return
            if size <= movable or ends[size - 1] - now >= shortest - slack:
                break
        else:
            return
        passed = line.passed.append
        for ranked in line:
            entry = ranked[2]
            size = entry.job.size
            if size <= movable or (size <= room and ends[size - 1] - now >= entry.expected - slack):
                heappush(waiting, (ranked, number, line))
                return
            passed(ranked)

    def _may_fit(self, entry: Entry, state: State) -> bool:
        """Whether enough hosts stay free for as long as an entry needs them, one by one."""
        ends, size = self._gaps.ends(entry.kind, state.now), entry.job.size
        return len(ends) >= size and ends[size - 1] - state.now >= self._needed(entry, state)

    def _movable(self, kind: Kind) -> int:
        """The most hosts of a job of a kind beside which reservations may have hosts enough, if they may move."""
        return self._gaps.movable(kind) if self.settings.moves else 0

    def _spares(self, entry: Entry, hosts: list[int], state: State) -> bool:
        """Where no job may last beyond a reservation: whether an entry does not."""
        if self.settings.spare:
            return True
        end = state.now + self._needed(entry, state)
        taken = set(hosts)
        return all(end <= head.start for head in self.heads.values() if taken & head.kind.hosts)

    def _look_again(self) -> bool:
        """After a start, note what is free where the reservations could be; whether it is more somewhere."""
        has_more = False
        for head in self.heads.values() if self.settings.moves else ():
            is_other, is_more = look_around(head, self._timeline, self._looked.get(head.number, -1))
            has_more |= is_more
            self._looked[head.number] = self._timeline.changes
            self._gaps.moved += is_other
        return has_more

    def _beside_moved(self, entry: Entry, state: State) -> list[int] | None:
        """Hosts on which an entry can start if reservations move to other hosts, at the same times; or None."""
        end = state.now + entry.expected
        heads = [
            head
            for head in sorted(self.heads.values(), key=lambda head: (head.start, head.number))
            if head.number not in self._fixed and head.start < end
        ]
        if not heads:
            return None
        amount, count = entry.kind.amount, entry.job.size
        harmed = self._gaps.harmed(entry.kind)
        kept = [(head, head.start, head.reserved, head.could) for head in heads]
        for head in heads:
            self._release(head)
        chosen = self._chooser.choose(
            self._undisturbed(entry, state), count, entry.job.request, self._pool.free, lambda host: harmed.get(host, 0)
        )
        moved = False
        if chosen is not None and is_possible(kept, chosen, harmed):
            self._timeline.take(chosen, state.now, end, amount)
            moved = all(self._reserve(head, state, start) for head, start, _, _ in kept)
            self._timeline.give_back(chosen, state.now, end, amount)
        if moved:
            self._has_moved = True
            return chosen
        for head, *_ in kept:
            self._release(head)
        for head, start, reserved, could in kept:
            self._put(head, start, reserved)
            head.could = could  # when it was looked at is not known any more: look at all of it again
        return None
