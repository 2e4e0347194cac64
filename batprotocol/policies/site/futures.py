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
from typing import TYPE_CHECKING, Final

from batprotocol.policies.availability import Amount, Steps, fits, python_change_steps

Change = tuple[tuple[int, ...], float, float, bool]
"""Hosts, from when to when something was changed on them, and whether it was given back."""

_LOGGED: Final = 4096

Watcher = Callable[[Mapping[int, Steps[Amount]], Sequence[int] | None, float, float], None]
"""Told of what is free on all hosts, on which of them that has changed (None: on all), and from when to when."""

Found = tuple[float, list[int]]
"""A time, and the hosts that have enough free from then on for long enough."""

Taken = tuple[AbstractSet[int], float, float]
"""Hosts on which an amount is taken, and from when to when."""


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
        self._steps: dict[int, Steps[Amount]] = {}
        self.restart(capacity, now)

    def restart(self, capacity: Mapping[int, Amount], now: float) -> None:
        """Forget all that was taken: from a time on, each host has its whole capacity.

        Args:
            capacity: what each host has, by its number.
            now: the first time, in seconds.
        """
        self._now = now
        self._steps = {host: Steps(now, amount) for host, amount in capacity.items()}
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
        for host in other._steps:
            self.open(host, *other._following(host, now))

    def open(self, host: int, times: list[float], free: list[Amount]) -> None:
        """There is one more host.

        Args:
            host: its number.
            times: the times from which on another amount is free on it.
            free: these amounts.
        """
        steps = self._steps[host] = Steps(times[0], free[0])
        steps.times, steps.values, self._until[host] = times, free, {}
        self._changed[host] = self.changes
        self._tell(None)

    def close(self, hosts: Iterable[int]) -> None:
        """These hosts are not there any more."""
        for host in hosts:
            del self._steps[host], self._until[host], self._changed[host]
            self._notes.pop(host, None)
            self._stale.discard(host)
        self._tell(None)

    def take(self, hosts: Iterable[int], begin: float, end: float, amount: Amount) -> None:
        """An amount is taken of these hosts from one time to another one."""
        self._change(hosts, begin, end, tuple(-each for each in amount), False)

    def give_back(self, hosts: Iterable[int], begin: float, end: float, amount: Amount) -> None:
        """An amount is free again on these hosts from one time to another one."""
        self._change(hosts, begin, end, amount, True)

    def advance(self, now: float) -> None:
        """The past of a time does not matter any more. On each host, it is forgotten when something changes there."""
        self._now = now

    def watch(self, watcher: Watcher) -> Mapping[int, Steps[Amount]]:
        """Tell somebody of changes from now on; what is free on each host."""
        self.watcher = watcher
        return self._steps

    def forget(self, hosts: Iterable[int]) -> None:
        """Forget the past of these hosts, as if something had changed there."""
        change_amounts(self._steps, hosts, -math.inf, -math.inf, (), self._now)

    def _change(self, hosts: Iterable[int], begin: float, end: float, by: Amount, is_more: bool) -> None:
        if end <= begin:
            return
        hosts = tuple(hosts)
        self.changes += 1
        self._log.append((hosts, begin, end, is_more))
        changed = change_amounts(self._steps, hosts, begin, end, by, self._now)
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
        return leasts(self._steps, (host,), begin, end)[host]

    def leasts(self, hosts: Iterable[int], begin: float, end: float) -> dict[int, Amount]:
        """The amount that is free on each of some hosts throughout an interval."""
        return leasts(self._steps, hosts, begin, end)

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
            steps = self._steps[host]
            times, free = steps.times, steps.values
            until = math.inf
            for place in range(max(bisect_right(times, now) - 1, 0), len(times)):
                if not fits(amount, free[place]):
                    until = times[place]
                    break
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
        return first_time(self._steps, hosts, count, amount, seconds, after, choose, before, also, may, without)

    def following(self, host: int, now: float) -> Iterator[tuple[float, Amount]]:
        """The times from which on another amount is free on a host, with the amount; the first one holds now."""
        return zip(*self._following(host, now))  # noqa: B905 - asked often, and they are as long

    def _following(self, host: int, now: float) -> tuple[list[float], list[Amount]]:
        steps = self._steps[host]
        times, free = steps.times, steps.values
        first = max(bisect_right(times, now) - 1, 0)
        return times[first:], free[first:]

    def moments(self) -> Iterator[tuple[int, float, Amount]]:
        """Each host, each time from which on another amount is free on it, and the amount; host by host, in order."""
        for host in self._steps:
            steps = self._steps[host].begin_at(self._now)
            for time, free in zip(steps.times, steps.values, strict=True):
                yield host, time, free

    def opens(self, host: int, amount: Amount, seconds: float, after: float, before: float) -> bool:
        """Whether an amount is free on a host for long enough from a time on that is earlier than `before`."""
        windows = _windows(self._steps[host], host, amount, seconds, after, before)
        return bool(windows) and windows[0][0] < before

    def is_open(self, host: int, amount: Amount, seconds: float, time: float) -> bool:
        """Whether an amount is free on a host for long enough from a time on."""
        windows = _windows(self._steps[host], host, amount, seconds, time, time)
        return bool(windows) and windows[0][0] <= time

    def fits_before(self, host: int, amount: Amount, time: float) -> bool:
        """Whether an amount is free on a host just before a time."""
        steps = self._steps[host]
        return fits(amount, steps.values[max(bisect_left(steps.times, time) - 1, 0)])


def python_change_amounts(
    steps: Mapping[int, Steps[Amount]], hosts: Iterable[int], begin: float, end: float, by: Amount, now: float
) -> list[int]:
    """Add an amount on hosts between two times; the hosts for which the second one is not over."""
    changed = []
    for host in hosts:
        own = steps[host].begin_at(now)
        if end > own.times[0]:
            changed.append(host)
            python_change_steps(own, begin, end, by)
    return changed


def python_leasts(
    steps: Mapping[int, Steps[Amount]], hosts: Iterable[int], begin: float, end: float
) -> dict[int, Amount]:
    """The amounts that are free on hosts throughout an interval, by host."""
    between = ((host, steps[host].between(begin, end)) for host in hosts)
    return {host: each[0] if len(each) == 1 else tuple(map(min, zip(*each, strict=True))) for host, each in between}


def python_first_time(
    steps: Mapping[int, Steps[Amount]],
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
        own = steps[host]
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


change_amounts, leasts, first_time = python_change_amounts, python_leasts, python_first_time
if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.policies._profile import change_amounts, first_time, leasts
