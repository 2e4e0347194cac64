"""The future of each host of a site: the amounts that will be free, given the expected ends of jobs, and reservations.

`HostTimeline` answers the questions of plans. The answers that they need often are here in Python, and where the
library is compiled, the same in C.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from heapq import heappop, heappush
from itertools import islice
from operator import le
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from batprotocol.policies.availability import Amount, Steps, added, fits, python_change_steps, reduced
from batprotocol.policies.jobs import JobKind, KindFilter, SiteEntry

Change = tuple[tuple[int, ...], float, float, bool]
"""Hosts, from when to when something was changed on them, and whether it was given back."""

_LOGGED: Final = 4096

Watcher: TypeAlias = "Callable[[PythonHostSteps, Sequence[int] | None, float, float], None]"
"""Told of what is free on all hosts, on which of them that has changed (None: on all), and from when to when."""

Found = tuple[float, list[int]]
"""A time, and the hosts that have enough free from then on for long enough."""

Taken = tuple[AbstractSet[int], float, float]
"""Hosts on which an amount is taken, and from when to when."""


class PythonHostSteps:
    """The amounts that will be free on each host, as steps."""

    def __init__(self) -> None:
        self._steps: dict[int, Steps[Amount]] = {}

    def __iter__(self) -> Iterator[int]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    def open(self, host: int, times: list[float], free: list[Amount]) -> None:
        """There is one more host, on which another amount is free from each of some times on."""
        steps = self._steps[host] = Steps(times[0], free[0])
        steps.times, steps.values = times.copy(), free.copy()

    def close(self, host: int) -> None:
        """This host is not there any more."""
        del self._steps[host]

    def change(self, hosts: Iterable[int], begin: float, end: float, by: Amount, now: float) -> list[int]:
        """Add an amount on hosts between two times; the hosts for which the second one is not over.

        The past of `now` is forgotten.
        """
        changed = []
        for host in hosts:
            own = self._steps[host].begin_at(now)
            if end > own.times[0]:
                changed.append(host)
                python_change_steps(own, begin, end, by)
        return changed

    def leasts(self, hosts: Iterable[int], begin: float, end: float) -> dict[int, Amount]:
        """The amounts that are free on hosts throughout an interval, by host."""
        between = ((host, self._steps[host].between(begin, end)) for host in hosts)
        return {host: each[0] if len(each) == 1 else tuple(map(min, zip(*each, strict=True))) for host, each in between}

    def following(self, host: int, now: float) -> tuple[list[float], list[Amount]]:
        """The times from which on another amount is free on a host, the first of which holds now; and the amounts."""
        steps = self._steps[host]
        first = steps.place(now)
        return steps.times[first:], steps.values[first:]

    def until(self, host: int, amount: Amount, now: float) -> float:
        """The time until which an amount stays free on a host from now on; `now` or earlier if it is not free now."""
        times, free = self.following(host, now)
        return next((time for time, each in zip(times, free, strict=True) if not fits(amount, each)), math.inf)

    def fits_before(self, host: int, amount: Amount, time: float) -> bool:
        """Whether an amount is free on a host just before a time."""
        steps = self._steps[host]
        return fits(amount, steps.values[max(bisect_left(steps.times, time) - 1, 0)])

    def first_window(self, host: int, amount: Amount, seconds: float, after: float, before: float) -> float:
        """The first time from which on an amount is free on a host for long enough; infinity: none is known.

        Args:
            host: the host.
            amount: the amount.
            seconds: for how long.
            after: the first time that counts.
            before: no time behind it is looked for.
        """
        windows = _windows(self._steps[host], host, amount, seconds, after, before)
        return windows[0][0] if windows else math.inf

    def first_time(
        self,
        hosts: Iterable[int],
        count: int,
        amount: Amount,
        seconds: float,
        after: float,
        choose: Callable[[Sequence[int], float], Sequence[int] | None] | None,
        before: float,
        also: Iterable[float],
        may: Callable[[float], bool] | None,
        without: Taken | None = None,
    ) -> Found:
        """The first time from which on enough hosts have enough free for long enough: see `HostTimeline.earliest`."""
        windows: list[tuple[float, float, int]] = []
        taken, begin, end = without or ((), 0.0, 0.0)
        for host in hosts:
            own = self._steps[host]
            if host in taken:
                own = own.copy()
                python_change_steps(own, begin, end, amount)
            windows += _windows(own, host, amount, seconds, after, before)
        windows.sort()
        open_ones: list[tuple[float, int]] = []  # the last time to start, and the host
        place = 0
        others = sorted((each for each in also if after < each <= before), reverse=True)
        while place < len(windows) or others:
            time = windows[place][0] if place < len(windows) else math.inf
            while others and others[-1] <= time:
                time = others.pop()
            while place < len(windows) and windows[place][0] == time:
                heappush(open_ones, windows[place][1:])
                place += 1
            while open_ones and open_ones[0][0] < time:
                heappop(open_ones)
            if len(open_ones) >= count and (may is None or may(time)):
                found = sorted(host for _, host in open_ones)
                if choose is None or choose(found, time) is not None:
                    return time, found
        return math.inf, []


def _windows(
    steps: Steps[Amount],
    host: int,
    amount: Amount,
    seconds: float,
    after: float,
    before: float,
) -> list[tuple[float, float, int]]:
    """The intervals in which a job can start on a host: its first and last time to start."""
    times, free = steps.times, steps.values
    windows: list[tuple[float, float, int]] = []
    begin = -1.0
    for place in range(max(bisect_right(times, after) - 1, 0), len(times)):
        time = times[place]
        if begin < 0 and time > before:
            return windows
        if all(map(le, amount, free[place])):  # as `fits` does: here, most of the time is spent
            if begin < 0:
                begin = max(time, after)
            elif time - seconds > before:  # however long it lasts
                break
        elif begin >= 0:
            if time - begin >= seconds:
                windows.append((begin, time - seconds, host))
            begin = -1.0
    if begin >= 0:
        windows.append((begin, math.inf, host))
    return windows


HostSteps = PythonHostSteps
move_amount: Callable[..., int]
if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.policies._profile import HostSteps, move_amount


Note = tuple[float, list[tuple[float, int]]]
"""The time until which an answer about a host holds, and the answer."""


class _Attempt:
    """The answers about hosts that were known before something was tried.

    Args:
        changes: how often the future had changed.
    """

    def __init__(self, changes: int) -> None:
        self.changes = changes
        self.touched: dict[int, tuple[int, dict[Amount, float], Note | None]] = {}

    def keep(
        self,
        hosts: Iterable[int],
        changed: Mapping[int, int],
        until: dict[int, dict[Amount, float]],
        notes: dict[int, Note],
    ) -> None:
        """Keep what is known of hosts before they change for the first time, and begin with nothing."""
        for host in hosts:
            if host not in self.touched:
                self.touched[host] = changed[host], until[host], notes.pop(host, None)
                until[host] = {}


def _steps_of(capacity: Mapping[int, Amount], now: float) -> PythonHostSteps:
    steps: PythonHostSteps
    for steps in (HostSteps(), PythonHostSteps()):
        with suppress(OverflowError):  # amounts of more than 64 bits are in Python
            for host, amount in capacity.items():
                steps.open(host, [now], [amount])
            break
    return steps


class HostTimeline:
    """The future of all hosts.

    Args:
        capacity: what each host has, by its number.
        now: the first time, in seconds.

    Attributes:
        changes: how often the future has changed.
        watcher: is told of changes; None: nobody is.
    """

    watcher: Watcher | None = None

    def __init__(self, capacity: Mapping[int, Amount], now: float = 0.0) -> None:
        self.changes = 0
        self._attempt: _Attempt | None = None
        self._log: deque[Change | None] = deque(maxlen=_LOGGED)
        self._steps: PythonHostSteps = HostSteps()
        self.restart(capacity, now)

    def restart(self, capacity: Mapping[int, Amount], now: float) -> None:
        """Forget all that was taken: from a time on, each host has its whole capacity.

        Args:
            capacity: what each host has, by its number.
            now: the first time, in seconds.
        """
        self._now = now
        self._steps = _steps_of(capacity, now)
        self._until: dict[int, dict[Amount, float]] = {host: {} for host in capacity}  # known answers of `until`
        self._notes: dict[int, Note] = {}  # gone when the future of its host changes
        self._stale: set[int] = set()  # the hosts of which neither is valid any more
        self._log.clear()
        self.changes += 1
        self._changed = dict.fromkeys(capacity, self.changes)
        self._tell(None)

    def _tell(self, hosts: Sequence[int] | None, begin: float = 0.0, end: float = 0.0) -> None:
        if self.watcher is not None:
            self.watcher(self._steps, hosts, begin, end)

    def restart_as(self, other: HostTimeline, now: float) -> None:
        """Forget all that was taken but what is taken in another timeline of the same hosts.

        Args:
            other: the other one.
            now: the first time, in seconds.
        """
        other.advance(now)
        self.restart({}, now)
        self._steps = type(other._steps)()
        for host in other._steps:
            self.open(host, *other._steps.following(host, now))

    def open(self, host: int, times: list[float], free: list[Amount]) -> None:
        """There is one more host.

        Args:
            host: its number.
            times: the times from which on another amount is free on it.
            free: these amounts.
        """
        self._steps.open(host, times, free)
        self._until[host] = {}
        self._changed[host] = self.changes
        self._tell(None)

    def close(self, hosts: Iterable[int]) -> None:
        """These hosts are not there any more."""
        for host in hosts:
            self._steps.close(host)
            del self._until[host], self._changed[host]
            self._notes.pop(host, None)
            self._stale.discard(host)
        self._tell(None)

    def take(self, hosts: Iterable[int], begin: float, end: float, amount: Amount) -> None:
        """An amount is taken of these hosts from one time to another one."""
        self._change(hosts, begin, end, tuple(-each for each in amount), False)

    def give_back(self, hosts: Iterable[int], begin: float, end: float, amount: Amount) -> None:
        """An amount is free again on these hosts from one time to another one."""
        self._change(hosts, begin, end, amount, True)

    def move(
        self,
        hosts: list[int],
        begin: float,
        others: list[int],
        start: float,
        seconds: float,
        amount: Amount,
        kinds: Mapping[Any, Any] | None = None,
    ) -> None:
        """An amount that was taken of hosts for some seconds is taken of others, or at another time.

        Args:
            hosts: the hosts.
            begin: from when on.
            others: the hosts of which it is taken now.
            start: from when on.
            seconds: for how long.
            amount: the amount.
            kinds: the hosts that are open for each kind of jobs, if nobody but they is told of changes.
        """
        ends, lasts = (begin + seconds, start + seconds), begin + seconds > begin and start + seconds > start
        if kinds is None or type(self._steps) is PythonHostSteps or self._attempt is not None or not lasts:
            self.give_back(hosts, begin, ends[0], amount)
            self.take(others, start, ends[1], amount)
            return
        known = self._now, self._changed, self._stale, self.changes
        self.changes = move_amount(self._steps, kinds, hosts, begin, others, start, seconds, amount, *known)
        self._log.append((tuple(hosts), begin, ends[0], True))
        self._log.append((tuple(others), start, ends[1], False))

    def advance(self, now: float) -> None:
        """The past of a time does not matter any more. On each host, it is forgotten when something changes there."""
        self._now = now

    def watch(self, watcher: Watcher) -> PythonHostSteps:
        """Tell somebody of changes from now on; what is free on each host."""
        self.watcher = watcher
        return self._steps

    @property
    def steps(self) -> PythonHostSteps:
        """The amounts that are free on each host."""
        return self._steps

    def forget(self, hosts: Iterable[int]) -> None:
        """Forget the past of these hosts, as if something had changed there."""
        self._steps.change(tuple(hosts), -math.inf, -math.inf, (), self._now)

    def _change(self, hosts: Iterable[int], begin: float, end: float, by: Amount, is_more: bool) -> None:
        if end <= begin:
            return
        hosts = tuple(hosts)
        self.changes += 1
        self._log.append((hosts, begin, end, is_more))
        changed = self._steps.change(hosts, begin, end, by, self._now)
        if self._attempt is not None:
            self._attempt.keep(changed, self._changed, self._until, self._notes)
        self._changed.update(dict.fromkeys(changed, self.changes))
        self._stale.update(changed)
        self._tell(hosts, begin, end)

    def attempt(self) -> None:
        """Try changes from now on, until `succeeded` or `undone_all`."""
        self.notes()
        self._attempt = _Attempt(self.changes)

    def succeeded(self) -> None:
        """The changes since `attempt` stay."""
        self._attempt = None

    def undone_all(self) -> None:
        """All changes since `attempt` were given back: what was known before holds again, as if there had been none."""
        attempt, self._attempt = self._attempt, None
        assert attempt is not None
        for _ in range(min(self.changes - attempt.changes, len(self._log))):
            self._log.pop()
        self.changes = attempt.changes
        self._stale.difference_update(attempt.touched)
        for host, (changed, until, note) in attempt.touched.items():
            self._changed[host], self._until[host] = changed, until
            if note is not None:
                self._notes[host] = note

    def notes(self) -> dict[int, Note]:
        """The notes of each host. A note is gone when the future of its host changes: ask again then."""
        for host in self._stale:
            self._until[host].clear()
            self._notes.pop(host, None)
        self._stale.clear()
        return self._notes

    def least(self, host: int, begin: float, end: float) -> Amount:
        """The amount that is free on a host throughout an interval."""
        return self._steps.leasts((host,), begin, end)[host]

    def leasts(self, hosts: Iterable[int], begin: float, end: float) -> dict[int, Amount]:
        """The amount that is free on each of some hosts throughout an interval."""
        return self._steps.leasts(tuple(hosts), begin, end)

    def since(self, changes: int) -> list[Change] | None:
        """The changes since `changes` was their number; None if they are not known any more."""
        count = self.changes - changes
        if count > len(self._log):
            return None
        return [change for change in islice(reversed(self._log), count) if change is not None]

    def undone(self, count: int) -> None:
        """The last changes have left all as it was before."""
        for place in range(-count, 0):
            self._log[place] = None

    def last_change(self, hosts: Iterable[int]) -> int:
        """The number that `changes` was when one of these hosts changed last; 0 without hosts."""
        return max(map(self._changed.__getitem__, hosts), default=0)

    def changed_since(self, hosts: Iterable[int], changes: int) -> list[int]:
        """Those of these hosts that have changed since `changes` was a number."""
        changed = self._changed
        return [host for host in hosts if changed[host] > changes]

    def lasting(self, host: int, amount: Amount, now: float) -> float:
        """How many seconds an amount stays free on a host from now on; 0 if it is not free now."""
        return max(self.until(host, amount, now) - now, 0.0)

    def until(self, host: int, amount: Amount, now: float) -> float:
        """The time until which an amount stays free on a host from now on; `now` or earlier if it is not free now."""
        if self._stale:
            self.notes()
        known = self._until[host]
        until = known.get(amount, -math.inf)
        if until <= now:
            until = self._steps.until(host, amount, now)
            known[amount] = until
        return until

    def earliest(
        self,
        hosts: Iterable[int],
        count: int,
        amount: Amount,
        seconds: float,
        after: float,
        choose: Callable[[Sequence[int], float], Sequence[int] | None] | None = None,
        before: float = math.inf,
        also: Iterable[float] = (),
        may: Callable[[float], bool] | None = None,
        without: Taken | None = None,
    ) -> Found:
        """The first time from which on enough hosts have enough free for long enough.

        Args:
            hosts: the hosts that can be among them.
            count: how many of them are needed.
            amount: how much of each is needed.
            seconds: for how long.
            after: the first time that counts.
            choose: chooses hosts among those that have room from a time on; None where they will not do. Without it,
                any do.
            before: times after this one do not count.
            also: times at which it may choose some for other reasons than room.
            may: whether it may choose some at a time, whatever has room; None: it may at any time.
            without: where and when such an amount is taken that counts as free.

        Returns:
            The time and the hosts with room; infinity and no hosts if there is no such time.
        """
        return self._steps.first_time(hosts, count, amount, seconds, after, choose, before, also, may, without)

    def following(self, host: int, now: float) -> Iterator[tuple[float, Amount]]:
        """The times from which on another amount is free on a host, with the amount; the first one holds now."""
        return zip(*self._steps.following(host, now))  # noqa: B905 - asked often, and they are as long

    def moments(self) -> Iterator[tuple[int, float, Amount]]:
        """Each host, each time from which on another amount is free on it, and the amount; host by host, in order."""
        for host in self._steps:
            for time, free in zip(*self._steps.following(host, self._now), strict=True):
                yield host, max(time, self._now), free

    def opens(self, host: int, amount: Amount, seconds: float, after: float, before: float) -> bool:
        """Whether an amount is free on a host for long enough from a time on that is earlier than `before`."""
        return self._steps.first_window(host, amount, seconds, after, before) < before

    def is_open(self, host: int, amount: Amount, seconds: float, time: float) -> bool:
        """Whether an amount is free on a host for long enough from a time on."""
        return self._steps.first_window(host, amount, seconds, time, time) <= time

    def fits_before(self, host: int, amount: Amount, time: float) -> bool:
        """Whether an amount is free on a host just before a time."""
        return self._steps.fits_before(host, amount, time)


# The space for the jobs of a kind beside reservations, kept for as long as nothing of it changes.


class KindSpace:
    """The space for each kind of jobs.

    Args:
        timeline: what will be free.
        heads: the entries that have a reservation.
        kind_filter: which kinds an amount suffices for.

    Attributes:
        moved: how often reservations have changed. Whoever changes some counts.
    """

    def __init__(self, timeline: HostTimeline, heads: Mapping[int, SiteEntry], kind_filter: KindFilter) -> None:
        self._timeline, self._heads, self._kind_filter = timeline, heads, kind_filter
        self._beside: dict[int, int] = {}  # for each host, the bits of the kinds that can be there beside the only head
        self._looked = 0, 0
        self._lacking: dict[JobKind, tuple[int, int]] = {}  # where a kind cannot be, with how often its space changed
        self._count = 0
        self._known: dict[JobKind, tuple[int, int, list[float]]] = {}  # with the changes that it is of
        self._harmed: dict[JobKind, tuple[int, int, dict[int, int]]] = {}
        self.moved = 0

    def ends(self, kind: JobKind, now: float) -> list[float]:
        """Until when each of the hosts with enough free for a kind has it, the last time first; `now`: not even now."""
        timeline = self._timeline
        known = self._known.get(kind)
        if known is not None:
            fitted, changes, ends = known
            is_valid = fitted == kind.fitted and (not ends or ends[-1] > now)
            if is_valid and (changes == timeline.changes or changes >= timeline.last_change(kind.fitting)):
                return ends
        ends = self._ends(kind, now)
        self._known[kind] = kind.fitted, timeline.changes, ends
        return ends

    def _ends(self, kind: JobKind, now: float) -> list[float]:
        notes, bit = self._timeline.notes(), kind.bit
        if self._count != self._kind_filter.count:
            self._count = self._kind_filter.count
            notes.clear()
        ends = []
        for host in kind.fitting:
            note = notes.get(host)
            if note is None or note[0] <= now:
                note = notes[host] = self._steps(host, now)
            for time, lasting in note[1]:
                if not lasting & bit:
                    ends.append(max(time, now))
                    break
        ends.sort(reverse=True)
        return [math.inf] * (len(kind.fitting) - len(ends)) + ends

    def _steps(self, host: int, now: float) -> tuple[float, list[tuple[float, int]]]:
        """When the answer ends, and the times at which kinds lose their space on a host, with the bits of the rest."""
        steps: list[tuple[float, int]] = []
        passing, valid = -1, math.inf
        for time, free in self._timeline.following(host, now):
            if steps and valid == math.inf:
                valid = time
            lasting = passing & self._kind_filter.passing(free)
            if lasting != passing:
                passing = lasting
                steps.append((time, passing))
                if not passing and valid < math.inf:
                    break
        return valid, steps

    def movable(self, kind: JobKind) -> int:
        """The most hosts of a job of a kind beside which reservations may have hosts enough, if they move.

        Where there is one reservation, that is exact.
        """
        heads, most = self._heads, len(kind.fitting)
        if len(heads) != 1:
            return most if heads else 0
        (head,) = heads.values()
        spare = len(head.could) - head.job.size
        if most <= spare:
            return most
        kind_filter, beside, bit, harmed = self._kind_filter, self._beside, kind.bit, 0
        if self._looked != (self.moved, kind_filter.count):
            self._looked = self.moved, kind_filter.count
            beside.clear()
            self._lacking.clear()
        known = self._lacking.get(kind)
        if known is not None and known[0] == kind.fitted:
            return most - known[1] + min(known[1], spare)
        for host in kind.fitting:
            can_be = beside.get(host)
            if can_be is None:
                free = head.could.get(host)
                can_be = beside[host] = -1 if free is None else kind_filter.passing(reduced(free, head.kind.amount))
            harmed += not can_be & bit
        self._lacking[kind] = kind.fitted, harmed
        return most - harmed + min(harmed, spare)

    def harmed(self, kind: JobKind) -> dict[int, int]:
        """The hosts on which a reservation could not be beside a job of a kind, each with how many could not."""
        known = self._harmed.get(kind)
        if known is not None and known[0] == kind.fitted and known[1] == self.moved:
            return known[2]
        harmed: dict[int, int] = {}
        for head in self._heads.values():
            wanted, could = added(head.kind.amount, kind.amount), head.could
            for host in kind.fitting:
                free = could.get(host)
                if free is not None and not fits(wanted, free):
                    harmed[host] = harmed.get(host, 0) + 1
        self._harmed[kind] = kind.fitted, self.moved, harmed
        return harmed
