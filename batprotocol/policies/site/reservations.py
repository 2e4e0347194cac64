"""The reservations of a plan: for the jobs that come first, on hosts and at times that the plan has chosen.

A reservation never moves back while its job keeps its place among the first, except for jobs of a higher tier or
priority, and for hosts that are closed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias

from batprotocol.policies.availability import Amount, added, fits
from batprotocol.policies.backfilling import PlanSettings
from batprotocol.policies.driver import Actions, JobPlanner
from batprotocol.policies.jobs import JobKind, SiteEntry, SiteJob, SiteRunning
from batprotocol.policies.site.futures import Found, HostTimeline, KindSpace
from batprotocol.policies.site.sleeping import Sleeping
from batprotocol.policies.site.state import SiteState

Kept: TypeAlias = "tuple[SiteEntry, float, list[int], dict[int, Amount]]"
"""A reservation as it was: the entry, its time, its hosts, and those where it could be."""


def is_possible(kept: list[Kept], chosen: list[int], harmed: Mapping[int, int]) -> bool:
    """Whether enough hosts remain for each reservation, as far as a count shows.

    Args:
        kept: the reservations as they were.
        chosen: the hosts that another entry is to have.
        harmed: the hosts on which a reservation cannot be beside that entry.
    """
    lost = sum(host in harmed for host in chosen)
    return len(kept) > 1 or lost <= len(kept[0][3]) - kept[0][0].job.size


class TriedBeside:
    """Attempts to start entries beside reservations that move, which have failed.

    Args:
        changes: of what they are known.

    Attributes:
        failed: the choices for which reservations could not move, each with how many had to.
        first: by the number of reservations that move, where the first of them could be at its time if there was none
            of the others; None: it could be earlier, too.
    """

    def __init__(self, changes: object) -> None:
        self.changes = changes
        self.failed: set[tuple[object, int]] = set()
        self.first: dict[int, dict[int, Amount] | None] = {}

    def may_move(self, heads: list[SiteEntry], kind: JobKind, chosen: list[int]) -> bool:
        """Whether the first of these reservations may have hosts enough beside an entry of a kind on chosen hosts."""
        could = self.first.get(len(heads))
        if could is None:
            return True
        both = added(heads[0].kind.amount, kind.amount)
        lost = sum(host in could and not fits(both, could[host]) for host in chosen)
        return len(could) - lost >= heads[0].job.size


def is_short(head: SiteEntry, timeline: HostTimeline, hosts: set[int]) -> bool:
    """Whether more is taken of some of these hosts than they have, while a job with a reservation runs on them."""
    end = head.start + head.expected
    return any(min(timeline.least(host, head.start, end)) < 0 for host in hosts.intersection(head.reserved))


def look_around(head: SiteEntry, timeline: HostTimeline, since: int) -> tuple[bool, bool]:
    """Note anew what is free where a reservation could be.

    Args:
        head: the entry that has the reservation.
        timeline: what will be free.
        since: the changes of the timeline when that was noted before.

    Returns:
        Whether something may be another one, and whether more is free somewhere.
    """
    amount, end, own, could = head.kind.amount, head.start + head.expected, set(head.reserved), head.could
    has_more = False
    changed = timeline.changed_since(could, since)
    for host in changed:
        free = timeline.least(host, head.start, end)
        if host in own:
            free = added(free, amount)
        has_more |= not fits(free, could[host])
        if fits(amount, free):
            could[host] = free
        else:
            del could[host]
    return bool(changed), has_more


def stays(entry: SiteEntry, timeline: HostTimeline, since: int, now: float, seconds: float) -> bool:
    """Whether a reservation has the first time and the first hosts that it can have, as when it was made.

    Of the changes since then, only an amount that was given back can bring it forward, or to hosts with smaller
    numbers: on hosts that would be free for the job earlier, even if its time there ends behind the start of the
    reservation. Amounts that were taken elsewhere do not matter. The hosts where it could be are kept up to date.

    Args:
        entry: the entry. It gets the hosts with the smallest numbers, whatever is free there.
        timeline: what will be free, with the reservation.
        since: the changes of the timeline when the reservation was made.
        now: the time. The reservation begins later.
        seconds: for how long the entry needs hosts.
    """
    start, end, kind = entry.start, entry.start + entry.expected, entry.kind
    changes = timeline.since(since)
    if changes is None:
        return False
    gained: set[int] = set()
    touched: set[int] = set()
    for hosts, begin, until, is_more in changes:
        if begin >= end or until <= now:
            continue
        if is_more:
            gained.update(hosts)
        if until > start:
            touched.update(hosts)
    amount, own, could = kind.amount, entry.reserved, entry.could
    for host in gained & kind.hosts:
        if host in own and timeline.fits_before(host, amount, start):
            return False
        if timeline.opens(host, amount, seconds, now, start):
            return False
    last = own[-1]
    for host in (touched & kind.hosts).difference(own):
        if not timeline.is_open(host, amount, seconds, start):
            could.pop(host, None)
        elif host not in could:
            if host < last:
                return False
            could[host] = timeline.least(host, start, end)
    return True


Start = tuple[SiteEntry, list[int]]
"""An entry that starts now, and its hosts."""

NEVER: Final = 2.0**50
"""The first time, in seconds, that is too late to wait for."""

_FEW: Final = 64
"""Up to so many former starts of reservations stay in the heap."""

_MANY: Final = 8
"""From so many reservations on, the hosts that have space for each kind of jobs are kept."""

_FIRST: Final = (-math.inf, -math.inf)
"""It precedes all jobs."""


class ReservationPlanner(JobPlanner[SiteEntry, SiteRunning]):
    """Makes reservations, keeps them, and moves them.

    Args:
        settings: the kind of backfilling.
        site: the state of the site.

    Attributes:
        heads: the entries that have a reservation.
        bare: what windows leave of each host, if no job ran; None: no window is known.
        ends: the ends of the windows that are or were known, in order.
        sleeping: the hosts that sleep; None: none do.
    """

    remembers = True
    """Whether only hosts decide where reservations can be."""

    def __init__(self, settings: PlanSettings, site: SiteState) -> None:
        self.settings, self._site, self._state = settings, site, site.state
        self._queue, self._pool, self._timeline, self._chooser = site.queue, site.pool, site.timeline, site.chooser
        self.heads: dict[int, SiteEntry] = {}
        self.bare: HostTimeline | None = None
        self.ends: list[float] = []
        self.sleeping: Sleeping | None = None
        self._fixed: set[int] = set()  # those whose hosts were freed for them
        self._freed: set[int] = set()  # the hosts on which something is free earlier than was known
        self._late: set[int] = set()  # the hosts of reservations that the last plan gave up: it may have come too late
        self._space = KindSpace(self._timeline, self.heads, self._queue.kind_filter)
        self._released = 0  # how many reservations were dropped
        self._starts: list[tuple[float, int]] = []  # a heap of the starts of reservations, also of former ones
        self._precedences: Counter[tuple[float, float]] = Counter()  # of the entries with a reservation
        self._open_hosts = site.open_hosts if settings.depth >= _MANY and not settings.moves else None
        self._looked: dict[int, int] = {}  # for each reservation, the changes of the timeline when it looked around
        self._plain: set[int] = set()  # the reservations of jobs in one partition that get the first hosts there are
        self._has_moved = False  # whether reservations have moved beside the last entry that starts
        self._tried = TriedBeside(())

    def freed(self, hosts: Iterable[int]) -> None:
        """Something is free on these hosts earlier than was known: reservations may move forward."""
        self._freed.update(hosts)

    def expectations_changed(self) -> None:
        """Jobs that wait are expected to run for longer or shorter than before."""
        for kind in self._queue.kinds:
            kind.shapes.renew()

    def dropped(self, entry: SiteEntry) -> None:
        """An entry waits no longer."""
        self._give_up(entry)

    def claimed(self, entry: SiteEntry, hosts: list[int], now: float) -> None:
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

    def anew(self) -> None:
        """Make the timeline anew, without reservations: they could not be kept."""
        site, now = self._site, self._site.state.now
        claims, timeline = self.claims, self._timeline
        for entry in list(self.heads.values()):
            self._give_up(entry)
        if self.bare is None:
            timeline.restart(self._pool.capacity, now)
        else:
            timeline.restart_as(self.bare, now)
        site.unavailable.anew(now)
        for job in site.running.values():
            if job.end > now:
                timeline.take(site.promises.everywhere(job.members), now, job.end, job.entry.kind.amount)
        for entry, hosts in claims:
            self.claimed(entry, hosts, now)
        self.freed(self._pool.capacity)

    @property
    def claims(self) -> list[Start]:
        """The entries for which jobs give way, each with its hosts."""
        return [(self.heads[number], self.heads[number].reserved) for number in sorted(self._fixed)]

    def wakes_at(self) -> float:
        """When a job can start even if nothing happens until then; infinity: never."""
        slack = self._state.resolution / 2
        start = self._next_start(self._state.now + slack)
        ends = self._state.endings.irange((start - slack,), (start + slack, math.inf))
        return start if next(ends, None) is None else math.inf

    def _next_start(self, after: float) -> float:
        """The time of the first reservation behind a time; infinity: there is none."""
        starts, heads = self._starts, self.heads
        if len(starts) > 2 * len(heads) + _FEW:
            starts[:] = [(head.start, number) for number, head in heads.items()]
            heapify(starts)
        passed = []
        while starts:
            start, number = starts[0]
            head = heads.get(number)
            if head is not None and head.start == start:
                if start > after:
                    break
                passed.append(starts[0])
            heappop(starts)
        found = starts[0][0] if starts else math.inf
        for each in dict.fromkeys(passed):
            heappush(starts, each)
        return found

    def _stays(self, entry: SiteEntry) -> bool:
        """Whether it is soon known where the reservation of an entry would be if it was made anew: it is there then."""
        since, job = self._looked.get(entry.number), entry.job
        if since is None or entry.number in self._fixed or len(job.entries) > 1:
            return False
        if self.settings.moves or self.settings.once or not self._chooser.is_by_number(job.request):
            return False
        slack, now = self._state.resolution / 2, self._state.now
        if entry.start <= now + slack:
            return False
        seconds = max(entry.expected - slack, 0.0)
        open_hosts = None if self._open_hosts is None or len(self.heads) == 1 else self._open_hosts.of(entry.kind, now)
        start, end = entry.start, entry.start + entry.expected
        found = None if open_hosts is None else open_hosts.again(entry.reserved, start, end, seconds, now)
        if found is None:
            if not stays(entry, self._timeline, since, now, seconds):
                return False
        elif found is not True:
            start, hosts = found
            if start <= now + slack or self.settings.depth < math.inf:
                return False
            self._move(entry, start, hosts)  # it does not begin now, so its entry cannot start
        self._looked[entry.number] = self._timeline.changes
        self._plain.add(entry.number)
        return True

    def _move(self, entry: SiteEntry, start: float, hosts: list[int]) -> int:
        """Move the reservation of an entry; how often the timeline has changed.

        That is `_release` and `_put` at once.
        """
        number, timeline = entry.number, self._timeline
        if not self.remembers or number in self._fixed or self._open_hosts is None:
            self._release(entry)
            self._put(entry, start, hosts)
        else:
            self._freed.update(entry.reserved)
            expected, amount = entry.expected, entry.kind.amount
            timeline.move(entry.reserved, entry.start, hosts, start, expected, amount, self._open_hosts.known)
            self._released += 1
            self._space.moved += 2
            heappush(self._starts, (start, number))
            entry.start, entry.reserved, entry.could = start, hosts, {}
            self.heads[number] = self.heads.pop(number)
        self._looked[number] = timeline.changes
        self._plain.add(number)
        return timeline.changes

    def _last(self) -> tuple[float, float]:
        """The last precedence of an entry with a reservation."""
        return max(self._precedences, default=_FIRST)

    def _step_back(self, entry: SiteEntry) -> tuple[float, float]:
        """Drop the reservations of a lower tier or priority that could delay an entry.

        They are made anew when their turn comes.

        Returns:
            The last precedence that remains.
        """
        precedes, kind = self._queue.precedence(entry), entry.kind
        touched: dict[JobKind, bool] = {}
        for head in list(self.heads.values()):
            if self._queue.precedence(head) > precedes and head.number not in self._fixed:
                if head.kind not in touched:
                    touched[head.kind] = not kind.hosts.isdisjoint(head.kind.hosts)
                if touched[head.kind]:
                    self._release(head)
        return self._last()

    def _let_wait(self, entry: SiteEntry, reserved: list[int], seen: set[int]) -> bool:
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

    def _may_move_forward(self, entry: SiteEntry) -> bool:
        """Whether the time of a reservation has come, or may come earlier because something was freed."""
        if entry.start <= self._state.now + self._state.resolution / 2:
            return True
        freed = self._freed & entry.kind.hosts
        if not freed.isdisjoint(entry.reserved):
            return True
        opens, amount = self._timeline.opens, entry.kind.amount
        seconds = max(entry.expected - self._state.resolution / 2, 0.0)
        return any(opens(host, amount, seconds, self._state.now, entry.start) for host in freed)

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

    def _displace(self, entry: SiteEntry, hosts: list[int]) -> None:
        """Move the reservations that cannot be beside an entry whose hosts were freed for it."""
        end, own = self._state.now + entry.expected, set(hosts)
        displaced = [
            head
            for head in sorted(self.heads.values(), key=lambda head: (head.start, head.number))
            if head.number not in self._fixed and head.start < end and self._is_short(head, own)
        ]
        for head in displaced:
            self._release(head)
        for head in displaced:
            self._reserve(head)

    def _now(self, entry: SiteEntry, shut: frozenset[int] = frozenset()) -> list[int] | None:
        """Hosts on which an entry can start now without touching a reservation; None if there are not enough."""
        kind, count = entry.kind, entry.job.size
        if len(kind.fitting) < count:
            return None
        hosts = self._undisturbed(entry, shut)
        chosen = self._chosen_now(entry, hosts)
        delay = 0.0 if chosen is None or self.sleeping is None else self.sleeping.delay(chosen)
        if not delay or self.sleeping is None:
            return chosen
        lasting = self._undisturbed(entry, shut, delay)
        chosen = self._chosen_now(entry, lasting)
        if chosen is None or self.sleeping.delay(chosen) > delay:
            is_late = self.sleeping.is_late
            chosen = self._chosen_now(entry, [host for host in hosts if not is_late(host)])
        return chosen

    # Choices, which can depend on more than hosts

    def _chosen_now(
        self, entry: SiteEntry, hosts: list[int], first: Callable[[int], int] | None = None
    ) -> list[int] | None:
        """Those of some hosts with space that an entry gets if it starts now; None: it cannot start on them.

        Args:
            entry: the entry.
            hosts: the hosts.
            first: a key by which hosts are preferred before all else; the smallest first.
        """
        return self._chooser.choose(hosts, entry.job.size, entry.job.request, self._pool.free, first)

    def _chosen_at(
        self, entry: SiteEntry, hosts: Sequence[int], free: Mapping[int, Amount], time: float
    ) -> list[int] | None:
        """Those of some hosts with space from a time on that an entry gets then; None: it cannot have them."""
        return self._chooser.choose(hosts, entry.job.size, entry.job.request, free)

    def possible(self, entry: SiteEntry, hosts: Sequence[int], time: float = 0.0) -> list[int] | None:
        """Those of some hosts that an entry would get if no job ran from a time on; None: it could not run on them."""
        return self._chooser.choose(hosts, entry.job.size, entry.job.request, self._pool.capacity)

    def hopeless(self, job: SiteJob, now: float) -> tuple[list[SiteEntry], str]:
        """The entries of a job that can never start for other reasons than hosts, and the reason."""
        return [], ""

    def slow_down(self, entry: SiteEntry) -> bool:
        """Let an entry run slower than it can now, from now on; whether it can."""
        return False

    def victims(
        self, entry: SiteEntry, victims: list[SiteRunning], hosts: list[int], others: list[SiteRunning], now: float
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

    def _may_start_beside(self, entry: SiteEntry, heads: list[SiteEntry]) -> bool:
        """Whether an entry may start beside reservations that move, as far as other things than hosts matter."""
        return True

    def _may_start(self, entry: SiteEntry, hosts: list[int]) -> bool:
        """Whether an entry may start on hosts that were freed for it."""
        return entry.kind.fitting.issuperset(hosts)

    def _wait_for(self, entry: SiteEntry) -> None:
        """An entry cannot start, and has no reservation."""

    def _is_short(self, head: SiteEntry, hosts: set[int]) -> bool:
        """Whether a reservation cannot be kept after a change on some hosts."""
        return is_short(head, self._timeline, hosts)

    def _first_time(
        self,
        entry: SiteEntry,
        seconds: float,
        now: float,
        choose: Callable[[Sequence[int], float], list[int] | None] | None,
        before: float,
    ) -> Found:
        """The first time from which on hosts have space for an entry for some seconds, and the hosts."""
        kind = entry.kind
        if choose is None and self._open_hosts is not None:
            open_hosts = self._open_hosts.of(kind, now)
            found = None if open_hosts is None else open_hosts.earliest(entry.job.size, seconds, now, before)
            if found is not None:
                return found
        return self._timeline.earliest(kind.hosts, entry.job.size, kind.amount, seconds, now, choose, before)

    # What is taken

    def _take(self, entry: SiteEntry, hosts: Sequence[int], begin: float) -> None:
        """An entry has hosts from a time on, for as long as it is expected to run."""
        self._timeline.take(hosts, begin, begin + entry.expected, entry.kind.amount)

    def _give_back(self, entry: SiteEntry, hosts: Sequence[int], begin: float) -> None:
        """An entry does not have hosts from a time on, which it had."""
        self._timeline.give_back(hosts, begin, begin + entry.expected, entry.kind.amount)

    def began(self, job: SiteRunning) -> None:
        """A job runs from now on."""

    def lasts(self, job: SiteRunning, before: float) -> None:
        """A running job has begun, or is expected to end, at another time than was known."""

    def sleeps(self, sleeping: Sleeping) -> None:
        """From now on, hosts sleep."""
        self.sleeping = sleeping

    def around(self, actions: Actions) -> Actions:
        """The actions as this plan carries them out."""
        return actions

    def gives_way(self, job: SiteRunning) -> None:
        """A running job will not run for as long as was known."""

    def over(self, job: SiteRunning) -> None:
        """A job has run, and does not run any more."""

    def _undisturbed(self, entry: SiteEntry, shut: frozenset[int] = frozenset(), delay: float = 0.0) -> list[int]:
        needed = self._needed(entry) + delay
        lasting, amount, now = self._timeline.lasting, entry.kind.amount, self._state.now
        if not self.heads and self.bare is None:
            return [host for host in entry.kind.fitting if host not in shut]
        return [host for host in entry.kind.fitting if host not in shut and lasting(host, amount, now) >= needed]

    def is_clear(self, entry: SiteEntry, hosts: Iterable[int], later: float = 0.0) -> bool:
        """Whether no window meets an entry that starts on hosts now, or some seconds later."""
        if self.bare is None:
            return True
        is_open, amount, needed, start = (
            self.bare.is_open,
            entry.kind.amount,
            self._needed(entry),
            self._state.now + later,
        )
        return all(is_open(host, amount, needed, start) for host in hosts)

    def _needed(self, entry: SiteEntry) -> float:
        slack = self._state.resolution / 2
        if not self.settings.strict:
            return max(entry.expected - slack, 0.0)
        return entry.expected + (slack or math.ulp(entry.expected))

    def _reserve(self, entry: SiteEntry, before: float = math.inf) -> bool:
        """Make a reservation at the first time that an entry can start; whether there is one."""
        # Beside windows, a job that must end before the next one begins has to find a place where it can.
        seconds = max(entry.expected - self._state.resolution / 2, 0.0) if self.bare is None else self._needed(entry)
        request = entry.job.request
        free = self._pool.capacity

        def choose(hosts: Sequence[int], time: float) -> list[int] | None:
            return self._chosen_at(entry, hosts, free, time)

        start, hosts = math.inf, list[int]()
        for limit in self._horizons(self._state.now, before):
            start, hosts = self._first_time(
                entry, seconds, self._state.now, None if request.takes_any else choose, limit
            )
            if start < math.inf:
                break
        if start >= NEVER:
            return False
        end = start + entry.expected
        could = self._timeline.leasts(hosts, start, end)
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

    def _put(self, entry: SiteEntry, start: float, hosts: list[int]) -> None:
        entry.start, entry.reserved = start, hosts
        self._take(entry, hosts, start)
        self.heads[entry.number] = entry
        heappush(self._starts, (start, entry.number))
        self._precedences[self._queue.precedence(entry)] += 1
        self._space.moved += 1

    def _give_up(self, entry: SiteEntry) -> None:
        self._late.update(entry.reserved)
        self._release(entry)

    def _release(self, entry: SiteEntry) -> None:
        if self.heads.pop(entry.number, None) is not None:
            precedence = self._queue.precedence(entry)
            self._precedences[precedence] -= 1
            if not self._precedences[precedence]:
                del self._precedences[precedence]
            self._freed.update(entry.reserved)
            self._give_back(entry, entry.reserved, entry.start)
            self._fixed.discard(entry.number)
            self._looked.pop(entry.number, None)
            self._plain.discard(entry.number)
            self._released += 1
            self._space.moved += 1
            entry.start, entry.reserved, entry.could = math.inf, [], {}

    def _movable(self, kind: JobKind) -> int:
        """The most hosts of a job of a kind beside which reservations may have hosts enough, if they may move."""
        return self._space.movable(kind) if self.settings.moves else 0

    def _look_again(self) -> bool:
        """After a start, note what is free where the reservations could be; whether it is more somewhere."""
        has_more = False
        for head in self.heads.values() if self.settings.moves else ():
            is_other, is_more = look_around(head, self._timeline, self._looked.get(head.number, -1))
            has_more |= is_more
            self._looked[head.number] = self._timeline.changes
            self._space.moved += is_other
        return has_more

    def _beside_moved(self, entry: SiteEntry) -> list[int] | None:
        """Hosts on which an entry can start if reservations move to other hosts, at the same times; or None."""
        end = self._state.now + entry.expected
        heads = [
            head
            for head in sorted(self.heads.values(), key=lambda head: (head.start, head.number))
            if head.number not in self._fixed and head.start < end
        ]
        if not heads:
            return None
        if not self._may_start_beside(entry, heads):
            self._freed.update(*(head.reserved for head in heads))  # as if they had been made anew
            return None
        harmed = self._space.harmed(entry.kind)
        kept = [(head, head.start, head.reserved, head.could) for head in heads]
        known = self._known_beside(heads) if entry.expected > 0 else None
        if known is not None:
            chosen = None
            if (which := (entry.choice, len(heads))) not in known.failed:
                known.failed.add(which)
                chosen = self._chosen_now(entry, list(entry.kind.fitting), lambda host: harmed.get(host, 0))
            if chosen is None or not (is_possible(kept, chosen, harmed) and known.may_move(heads, entry.kind, chosen)):
                self._freed.update(*(head.reserved for head in heads))  # as if they had been made anew
                return None
        looked, moved = [(head.number, self._looked.get(head.number)) for head in heads], self._space.moved
        self._timeline.attempt()
        for head in heads:
            self._release(head)
        if known is not None and len(heads) not in known.first:
            known.first[len(heads)] = self._alone(*kept[0][:2])
        hosts = self._undisturbed(entry)
        if self.sleeping is not None:
            hosts = [host for host in hosts if not self.sleeping.is_late(host)]
        chosen = self._chosen_now(entry, hosts, lambda host: harmed.get(host, 0))
        if chosen is not None and is_possible(kept, chosen, harmed):
            self._take(entry, chosen, self._state.now)
            has_moved = all(self._reserve(head, start) for head, start, _, _ in kept)
            self._give_back(entry, chosen, self._state.now)
            if has_moved:
                self._timeline.succeeded()
                self._has_moved = True
                return chosen
        for head, *_ in kept:
            self._release(head)
        for head, start, reserved, could in kept:
            self._put(head, start, reserved)
            head.could = could
        self._timeline.undone_all()
        self._looked.update((number, changes) for number, changes in looked if changes is not None)
        self._space.moved = moved
        return None

    def _known_beside(self, heads: list[SiteEntry]) -> TriedBeside | None:
        """The failed attempts to move these reservations, for as long as nothing changes.

        A job takes its hosts from now on, and its reservations begin before it ends. So it does not matter how long it
        lasts, if no host has less than now but for reservations: where there are windows, or hosts sleep, nothing of
        that is known.

        Returns:
            What is known; None: earlier attempts say nothing.
        """
        if not self.remembers or self._fixed or self.bare is not None or self.sleeping is not None:
            return None
        slack, now = self._state.resolution / 2, self._state.now
        if heads[0].start < now:
            return None
        if len(heads) < len(self.heads) and (self.settings.strict or slack < 4 * math.ulp(heads[-1].start)):
            return None  # hosts may not be free for quite as long as a job lasts that ends when a reservation begins
        changes = self._timeline.changes, self._space.moved, self._queue.changes, now
        if self._tried.changes != changes:
            self._tried = TriedBeside(changes)
        return self._tried

    def _alone(self, head: SiteEntry, start: float) -> dict[int, Amount] | None:
        """Where a reservation could be at its time if no other one was before it; None: it could be earlier, too."""
        seconds, now = max(head.expected - self._state.resolution / 2, 0.0), self._state.now
        first, hosts = self._first_time(head, seconds, now, None, start)
        return self._timeline.leasts(hosts, start, start + seconds) if first == start else None
