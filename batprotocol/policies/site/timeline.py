"""The future of each host: the amounts that will be free, given the expected ends of jobs, and reservations.

Each host has a list of times, and from each time on the amount that is free (an availability profile as of Mu'alem and
Feitelson, with several resources). This module must not know jobs.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import islice
from operator import le
from typing import Final

from batprotocol.policies.site.pool import Amount, added, fits

__all__ = ["Found", "Timeline"]

Change = tuple[tuple[int, ...], float, float, bool]
"""Hosts, from when to when something was changed on them, and whether it was given back."""

_LOGGED: Final = 4096

Found = tuple[float, list[int]]
"""A time, and the hosts that have enough free from then on for long enough."""


class Timeline:
    """The future of all hosts.

    Args:
        capacity: what each host has, by its number.
        now: the first time, in seconds.

    Attributes:
        changes: how often the future has changed.
        notes: what was noted of each host. A note is gone when the future of its host changes.
    """

    def __init__(self, capacity: Mapping[int, Amount], now: float = 0.0) -> None:
        self.changes = 0
        self._log: deque[Change | None] = deque(maxlen=_LOGGED)
        self._times: dict[int, list[float]] = {}
        self._free: dict[int, list[Amount]] = {}
        self.restart(capacity, now)

    def restart(self, capacity: Mapping[int, Amount], now: float) -> None:
        """Forget all that was taken: from a time on, each host has its whole capacity.

        Args:
            capacity: what each host has, by its number.
            now: the first time, in seconds.
        """
        self._now = now
        self._times = {host: [now] for host in capacity}
        self._free = {host: [amount] for host, amount in capacity.items()}
        self._until: dict[int, dict[Amount, float]] = {host: {} for host in capacity}  # known answers of `until`
        self.notes: dict[int, tuple[float, list[tuple[float, int]]]] = {}
        self._log.clear()
        self.changes += 1
        self._changed = dict.fromkeys(capacity, self.changes)

    def restart_as(self, other: Timeline, now: float) -> None:
        """Forget all that was taken but what is taken in another timeline of the same hosts.

        Args:
            other: the other one.
            now: the first time, in seconds.
        """
        other.advance(now)
        self.restart({}, now)
        for host in other._times:
            self.open(host, *other._following(host, now))

    def open(self, host: int, times: list[float], free: list[Amount]) -> None:
        """There is one more host.

        Args:
            host: its number.
            times: the times from which on another amount is free on it.
            free: these amounts.
        """
        self._times[host], self._free[host], self._until[host] = times, free, {}
        self._changed[host] = self.changes

    def close(self, hosts: Iterable[int]) -> None:
        """These hosts are not there any more."""
        for host in hosts:
            del self._times[host], self._free[host], self._until[host], self._changed[host]
            self.notes.pop(host, None)

    def take(self, hosts: Iterable[int], begin: float, end: float, amount: Amount) -> None:
        """An amount is taken of these hosts from one time to another one."""
        self._change(hosts, begin, end, tuple(-each for each in amount), False)

    def give_back(self, hosts: Iterable[int], begin: float, end: float, amount: Amount) -> None:
        """An amount is free again on these hosts from one time to another one."""
        self._change(hosts, begin, end, amount, True)

    def advance(self, now: float) -> None:
        """The past of a time does not matter any more. On each host, it is forgotten when something changes there."""
        self._now = now

    def _forget(self, host: int) -> tuple[list[float], list[Amount]]:
        """The future of a host, without what was before the time of `advance`."""
        times, free, now = self._times[host], self._free[host], self._now
        if times[0] < now:
            place = bisect_right(times, now) - 1
            if place > 0:
                del times[:place], free[:place]
            times[0] = now
        return times, free

    def _change(self, hosts: Iterable[int], begin: float, end: float, by: Amount, is_more: bool) -> None:
        if end <= begin:
            return
        hosts = tuple(hosts)
        self.changes += 1
        self._log.append((hosts, begin, end, is_more))
        for host in hosts:
            times, free = self._forget(host)
            if end <= times[0]:
                continue
            self._changed[host] = self.changes
            self._until[host].clear()
            self.notes.pop(host, None)
            first = self._cut(times, free, begin)
            last = self._cut(times, free, end) if end < math.inf else len(times)
            for place in range(first, last):
                free[place] = added(free[place], by)
            if last < len(times) and free[last] == free[last - 1]:
                del times[last], free[last]
            if first and free[first] == free[first - 1]:
                del times[first], free[first]

    @staticmethod
    def _cut(times: list[float], free: list[Amount], time: float) -> int:
        """The place of a time, which is added if it is not there; the first time stands for all before it."""
        if time <= times[0]:
            return 0
        place = bisect_left(times, time)
        if place == len(times) or times[place] != time:
            times.insert(place, time)
            free.insert(place, free[place - 1])
        return place

    def least(self, host: int, begin: float, end: float) -> Amount:
        """The amount that is free on a host throughout an interval."""
        times, free = self._times[host], self._free[host]
        first = max(bisect_right(times, begin) - 1, 0)
        last = max(bisect_left(times, end), first + 1)
        amounts = free[first:last]
        return amounts[0] if len(amounts) == 1 else tuple(map(min, zip(*amounts, strict=True)))

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
        known = self._until[host]
        until = known.get(amount, -math.inf)
        if until <= now:
            times, free = self._times[host], self._free[host]
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

        Returns:
            The time and the hosts with room; infinity and no hosts if there is no such time.
        """
        windows: list[tuple[float, float, int]] = []
        for host in hosts:
            self._add_windows(windows, host, amount, seconds, after, before)
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

    def following(self, host: int, now: float) -> Iterator[tuple[float, Amount]]:
        """The times from which on another amount is free on a host, with the amount; the first one holds now."""
        return zip(*self._following(host, now))  # noqa: B905 - asked often, and they are as long

    def _following(self, host: int, now: float) -> tuple[list[float], list[Amount]]:
        times, free = self._times[host], self._free[host]
        first = max(bisect_right(times, now) - 1, 0)
        return times[first:], free[first:]

    def moments(self) -> Iterator[tuple[int, float, Amount]]:
        """Each host, each time from which on another amount is free on it, and the amount; host by host, in order."""
        for host in self._times:
            for time, free in zip(*self._forget(host), strict=True):
                yield host, time, free

    def opens(self, host: int, amount: Amount, seconds: float, after: float, before: float) -> bool:
        """Whether an amount is free on a host for long enough from a time on that is earlier than `before`."""
        windows: list[tuple[float, float, int]] = []
        self._add_windows(windows, host, amount, seconds, after, before)
        return bool(windows) and windows[0][0] < before

    def is_open(self, host: int, amount: Amount, seconds: float, time: float) -> bool:
        """Whether an amount is free on a host for long enough from a time on."""
        windows: list[tuple[float, float, int]] = []
        self._add_windows(windows, host, amount, seconds, time, time)
        return bool(windows) and windows[0][0] <= time

    def fits_before(self, host: int, amount: Amount, time: float) -> bool:
        """Whether an amount is free on a host just before a time."""
        return fits(amount, self._free[host][max(bisect_left(self._times[host], time) - 1, 0)])

    def _add_windows(
        self,
        windows: list[tuple[float, float, int]],
        host: int,
        amount: Amount,
        seconds: float,
        after: float,
        before: float,
    ) -> None:
        """Add the intervals in which a job can start on a host: its first and last time to start."""
        times, free = self._times[host], self._free[host]
        begin = -1.0
        for place in range(max(bisect_right(times, after) - 1, 0), len(times)):
            time = times[place]
            if begin < 0 and time > before:
                return
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
