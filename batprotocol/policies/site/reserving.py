"""The reservations of a plan: for the jobs that come first, on hosts and at times that the plan has chosen.

A reservation never moves back while its job keeps its place among the first, except for jobs of a higher tier or
priority, and for hosts that are closed. This module must not know the order of jobs, nor which ones start before their
turn.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from batprotocol.policies.jobs import State
from batprotocol.policies.site.actions import Actions
from batprotocol.policies.site.away import Away
from batprotocol.policies.site.choosing import Chooser
from batprotocol.policies.site.gaps import Gaps
from batprotocol.policies.site.jobs import Entry, Kind, SiteJob, SiteRunning
from batprotocol.policies.site.keeping import is_possible, is_short, look_around, stays
from batprotocol.policies.site.pool import Amount, Pool
from batprotocol.policies.site.queue import SiteQueue
from batprotocol.policies.site.settings import Settings
from batprotocol.policies.site.sleeping import Sleeping
from batprotocol.policies.site.timeline import Found, Timeline

__all__ = ["NEVER", "Reserving", "Start"]

Start = tuple[Entry, list[int]]
"""An entry that starts now, and its hosts."""

NEVER: Final = 2.0**50
"""The first time, in seconds, that is too late to wait for."""

_FIRST: Final = (-math.inf, -math.inf)
"""It precedes all jobs."""


class Reserving:
    """Makes reservations, keeps them, and moves them.

    Args:
        settings: the kind of backfilling.
        queue: the entries that wait.
        pool: what is free now.
        timeline: what will be free.
        chooser: which hosts a job gets.

    Attributes:
        heads: the entries that have a reservation.
        bare: what windows leave of each host, if no job ran; None: no window is known.
        ends: the ends of the windows that are or were known, in order.
        sleeping: the hosts that sleep; None: none do.
    """

    def __init__(self, settings: Settings, queue: SiteQueue, pool: Pool, timeline: Timeline, chooser: Chooser) -> None:
        self.settings = settings
        self._queue, self._pool, self._timeline, self._chooser = queue, pool, timeline, chooser
        self.heads: dict[int, Entry] = {}
        self.bare: Timeline | None = None
        self.ends: list[float] = []
        self.sleeping: Sleeping | None = None
        self._fixed: set[int] = set()  # those whose hosts were freed for them
        self._freed: set[int] = set()  # the hosts on which something is free earlier than was known
        self._late: set[int] = set()  # the hosts of reservations that the last plan gave up: it may have come too late
        self._gaps = Gaps(timeline, self.heads, queue.sieve)
        self._released = 0  # how many reservations were dropped
        self._looked: dict[int, int] = {}  # for each reservation, the changes of the timeline when it looked around
        self._has_moved = False  # whether reservations have moved beside the last entry that starts

    def freed(self, hosts: Iterable[int]) -> None:
        """Something is free on these hosts earlier than was known: reservations may move forward."""
        self._freed.update(hosts)

    def expectations_changed(self) -> None:
        """Jobs that wait are expected to run for longer or shorter than before."""
        self._gaps.expectations_changed()

    def dropped(self, entry: Entry) -> None:
        """An entry waits no longer."""
        self._give_up(entry)

    def claimed(self, entry: Entry, hosts: list[int], now: float) -> None:
        """Hosts are being freed for an entry: its reservation is there, from now on."""
        self._release(entry)
        self._put(entry, now, hosts)
        self._fixed.add(entry.number)

    def closed(self, hosts: set[int], now: float) -> None:
        """Hosts are not free at a time for which that was not known.

        If reservations lie there then, all are made anew, in the order of the queue.
        """
        claims, heads = self.claims, list(self.heads.values())
        if not any(is_short(head, self._timeline, hosts) for head in heads):
            return
        kept = [(entry, claimed) for entry, claimed in claims if not is_short(entry, self._timeline, hosts)]
        for entry in heads:
            self._give_up(entry)
        for entry, claimed in kept:
            self.claimed(entry, claimed, now)

    def anew(
        self,
        now: float,
        running: Iterable[SiteRunning],
        away: Away,
        everywhere: Callable[[Iterable[int]], Iterable[int]],
    ) -> None:
        """Make the timeline anew, without reservations: they could not be kept.

        Args:
            now: the time.
            running: the jobs that run.
            away: the hosts that have failed or are drained.
            everywhere: gives all numbers of hosts.
        """
        claims, timeline = self.claims, self._timeline
        for entry in list(self.heads.values()):
            self._give_up(entry)
        if self.bare is None:
            timeline.restart(self._pool.capacity, now)
        else:
            timeline.restart_as(self.bare, now)
        away.anew(now)
        for job in running:
            if job.end > now:
                timeline.take(everywhere(job.members), now, job.end, job.entry.kind.amount)
        for entry, hosts in claims:
            self.claimed(entry, hosts, now)
        self.freed(self._pool.capacity)

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

    def _last(self) -> tuple[float, float]:
        """The last precedence of an entry with a reservation."""
        return max(map(self._queue.precedence, self.heads.values()), default=_FIRST)

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
        return self._last()

    def _let_wait(self, entry: Entry, reserved: list[int], seen: set[int]) -> bool:
        """The time of a reservation is over, and its entry cannot start: if its hosts are free, drop those behind it.

        They were made for jobs that start after it, and are made anew when their turn comes. Otherwise, it would get a
        time after all of them, and each of them one after it again.

        Returns:
            Whether one was dropped. Entries that are `seen` had their turn, and keep theirs.
        """
        if not entry.kind.fitting.issuperset(reserved):
            return False
        behind = [head for head in self.heads.values() if head.number not in seen and head.number not in self._fixed]
        for head in behind:
            self._release(head)
        return bool(behind)

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
        own = [head for head in self.heads.values() if head.place == place]
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
            if head.number not in self._fixed and head.start < end and self._is_short(head, own)
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
        chosen = self._chosen_now(entry, hosts, state)
        delay = 0.0 if chosen is None or self.sleeping is None else self.sleeping.delay(chosen)
        if not delay or self.sleeping is None:
            return chosen
        lasting = self._undisturbed(entry, state, shut, delay)
        chosen = self._chosen_now(entry, lasting, state)
        if chosen is None or self.sleeping.delay(chosen) > delay:
            is_late = self.sleeping.is_late
            chosen = self._chosen_now(entry, [host for host in hosts if not is_late(host)], state)
        return chosen

    # Choices, which can depend on more than hosts

    def _chosen_now(
        self, entry: Entry, hosts: list[int], state: State, first: Callable[[int], int] | None = None
    ) -> list[int] | None:
        """Those of some hosts with space that an entry gets if it starts now; None: it cannot start on them.

        Args:
            entry: the entry.
            hosts: the hosts.
            state: the time.
            first: a key by which hosts are preferred before all else; the smallest first.
        """
        return self._chooser.choose(hosts, entry.job.size, entry.job.request, self._pool.free, first)

    def _chosen_at(
        self, entry: Entry, hosts: Sequence[int], free: Mapping[int, Amount], time: float
    ) -> list[int] | None:
        """Those of some hosts with space from a time on that an entry gets then; None: it cannot have them."""
        return self._chooser.choose(hosts, entry.job.size, entry.job.request, free)

    def possible(self, entry: Entry, hosts: Sequence[int], time: float = 0.0) -> list[int] | None:
        """Those of some hosts that an entry would get if no job ran from a time on; None: it could not run on them."""
        return self._chooser.choose(hosts, entry.job.size, entry.job.request, self._pool.capacity)

    def hopeless(self, job: SiteJob, now: float) -> tuple[list[Entry], str]:
        """The entries of a job that can never start for other reasons than hosts, and the reason."""
        return [], ""

    def slow_down(self, entry: Entry) -> bool:
        """Let an entry run slower than it can now, from now on; whether it can."""
        return False

    def victims(
        self, entry: Entry, victims: list[SiteRunning], hosts: list[int], others: list[SiteRunning], now: float
    ) -> list[SiteRunning] | None:
        """The jobs that give way to an entry, so that it can start; None: it could not.

        Args:
            entry: the entry.
            victims: the jobs that give way for their hosts.
            hosts: the hosts that it gets.
            others: the other jobs that would give way, those first of which the loss is least.
            now: the time.
        """
        return victims

    def is_less_allowed(self, now: float) -> bool:
        """Whether more jobs may be hopeless than at the last question."""
        return False

    def _may_start_beside(self, entry: Entry, heads: list[Entry], state: State) -> bool:
        """Whether an entry may start beside reservations that move, as far as other things than hosts matter."""
        return True

    def _may_start(self, entry: Entry, hosts: list[int], state: State) -> bool:
        """Whether an entry may start on hosts that were freed for it."""
        return entry.kind.fitting.issuperset(hosts)

    def _wait_for(self, entry: Entry, state: State) -> None:
        """An entry cannot start, and has no reservation."""

    def _is_short(self, head: Entry, hosts: set[int]) -> bool:
        """Whether a reservation cannot be kept after a change on some hosts."""
        return is_short(head, self._timeline, hosts)

    def _first_time(
        self,
        entry: Entry,
        seconds: float,
        now: float,
        choose: Callable[[Sequence[int], float], list[int] | None] | None,
        before: float,
    ) -> Found:
        """The first time from which on hosts have space for an entry for some seconds, and the hosts."""
        kind = entry.kind
        return self._timeline.earliest(kind.hosts, entry.job.size, kind.amount, seconds, now, choose, before)

    # What is taken

    def _take(self, entry: Entry, hosts: Sequence[int], begin: float) -> None:
        """An entry has hosts from a time on, for as long as it is expected to run."""
        self._timeline.take(hosts, begin, begin + entry.expected, entry.kind.amount)

    def _give_back(self, entry: Entry, hosts: Sequence[int], begin: float) -> None:
        """An entry does not have hosts from a time on, which it had."""
        self._timeline.give_back(hosts, begin, begin + entry.expected, entry.kind.amount)

    def began(self, job: SiteRunning) -> None:
        """A job runs from now on."""

    def lasts(self, job: SiteRunning, now: float) -> None:
        """A running job has begun, or is expected to end, at another time than was known."""

    def sleeps(self, sleeping: Sleeping) -> None:
        """From now on, hosts sleep."""
        self.sleeping = sleeping

    def around(self, actions: Actions) -> Actions:
        """The actions as this plan carries them out."""
        return actions

    def gives_way(self, job: SiteRunning, now: float) -> None:
        """A running job will not run for as long as was known."""

    def over(self, job: SiteRunning, now: float) -> None:
        """A job has run, and does not run any more."""

    def _undisturbed(
        self, entry: Entry, state: State, shut: frozenset[int] = frozenset(), delay: float = 0.0
    ) -> list[int]:
        needed = self._needed(entry, state) + delay
        lasting, amount, now = self._timeline.lasting, entry.kind.amount, state.now
        if not self.heads and self.bare is None:
            return [host for host in entry.kind.fitting if host not in shut]
        return [host for host in entry.kind.fitting if host not in shut and lasting(host, amount, now) >= needed]

    def is_clear(self, entry: Entry, hosts: Iterable[int], state: State, later: float = 0.0) -> bool:
        """Whether no window meets an entry that starts on hosts now, or some seconds later."""
        if self.bare is None:
            return True
        is_open, amount, needed, start = (
            self.bare.is_open,
            entry.kind.amount,
            self._needed(entry, state),
            state.now + later,
        )
        return all(is_open(host, amount, needed, start) for host in hosts)

    def _needed(self, entry: Entry, state: State) -> float:
        slack = state.resolution / 2
        if not self.settings.strict:
            return max(entry.expected - slack, 0.0)
        return entry.expected + (slack or math.ulp(entry.expected))

    def _reserve(self, entry: Entry, state: State, before: float = math.inf) -> bool:
        """Make a reservation at the first time that an entry can start; whether there is one."""
        # Beside windows, a job that must end before the next one begins has to find a place where it can.
        seconds = max(entry.expected - state.resolution / 2, 0.0) if self.bare is None else self._needed(entry, state)
        request = entry.job.request
        free = self._pool.capacity

        def choose(hosts: Sequence[int], time: float) -> list[int] | None:
            return self._chosen_at(entry, hosts, free, time)

        start, hosts = math.inf, list[int]()
        for limit in self._horizons(state.now, before):
            start, hosts = self._first_time(entry, seconds, state.now, None if request.takes_any else choose, limit)
            if start < math.inf:
                break
        if start >= NEVER:
            return False
        end = start + entry.expected
        could = {host: self._timeline.least(host, start, end) for host in hosts}
        chosen = self._chosen_at(entry, hosts, could, start)
        if chosen is None:
            return False
        self._put(entry, start, chosen)
        entry.could = could
        self._looked[entry.number] = self._timeline.changes
        return True

    def _horizons(self, now: float, before: float) -> Iterator[float]:
        """The times until which a place for a job is looked for, one after the other.

        Where many windows are known, the first ones mostly suffice.
        """
        ends, step = self.ends, 2
        place = bisect_right(ends, now) + 1
        while place < len(ends) and ends[place] < before:
            yield ends[place]
            place += step
            step *= 2
        yield before

    def _put(self, entry: Entry, start: float, hosts: list[int]) -> None:
        entry.start, entry.reserved = start, hosts
        self._take(entry, hosts, start)
        self.heads[entry.number] = entry
        self._gaps.moved += 1

    def _give_up(self, entry: Entry) -> None:
        self._late.update(entry.reserved)
        self._release(entry)

    def _release(self, entry: Entry) -> None:
        if self.heads.pop(entry.number, None) is not None:
            self._freed.update(entry.reserved)
            self._give_back(entry, entry.reserved, entry.start)
            self._fixed.discard(entry.number)
            self._looked.pop(entry.number, None)
            self._released += 1
            self._gaps.moved += 1
            entry.start, entry.reserved, entry.could = math.inf, [], {}

    def _movable(self, kind: Kind) -> int:
        """The most hosts of a job of a kind beside which reservations may have hosts enough, if they may move."""
        return self._gaps.movable(kind) if self.settings.moves else 0

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
        if not self._may_start_beside(entry, heads, state):
            self._freed.update(*(head.reserved for head in heads))  # as if they had been made anew
            return None
        harmed = self._gaps.harmed(entry.kind)
        kept = [(head, head.start, head.reserved, head.could) for head in heads]
        for head in heads:
            self._release(head)
        hosts = self._undisturbed(entry, state)
        if self.sleeping is not None:
            hosts = [host for host in hosts if not self.sleeping.is_late(host)]
        chosen = self._chosen_now(entry, hosts, state, lambda host: harmed.get(host, 0))
        moved = False
        if chosen is not None and is_possible(kept, chosen, harmed):
            self._take(entry, chosen, state.now)
            moved = all(self._reserve(head, state, start) for head, start, _, _ in kept)
            self._give_back(entry, chosen, state.now)
        if moved:
            self._has_moved = True
            return chosen
        for head, *_ in kept:
            self._release(head)
        for head, start, reserved, could in kept:
            self._put(head, start, reserved)
            head.could = could  # when it was looked at is not known any more: look at all of it again
        return None
