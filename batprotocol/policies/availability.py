"""Availability, now and later: the notions that all planners share.

An amount is a tuple of whole numbers, one for each dimension: the host itself (a job that shares it takes one part,
other jobs take all parts), cores, memory, and for generic resources the total of each kind, then each type. A `Pool`
has the amounts that are free now. `Profile` has the number of hosts that will be free, which suffices where jobs have
their hosts for themselves, and `HostTimeline` the amounts of each host. `Steps`, a value over time, is kept of each
host by the timeline, and of watts by the budget of a site.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from operator import add, le, sub
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from batprotocol.workloads.requests.notation import GPU
from batprotocol.workloads.requests.offers import Needs, Offer

Value = TypeVar("Value")
Amount: TypeAlias = "tuple[int, ...]"
"""An amount of a host in each dimension: all of it, a free one, or one that a job takes."""

WHOLE: Final = 1 << 40
"""The parts of a host: a job that shares it takes one."""
_UNLIMITED: Final = 1 << 62


def fits(needed: Amount, free: Sequence[int]) -> bool:
    """Whether an amount is free in each dimension."""
    return all(map(le, needed, free))  # it is asked very often


def added(amount: Amount, more: Amount) -> Amount:
    """The sum of two amounts."""
    return tuple(map(add, amount, more))


def reduced(amount: Amount, less: Amount) -> Amount:
    """The rest of an amount without another one."""
    return tuple(map(sub, amount, less))


class Pool:
    """The free amounts of each host.

    Args:
        offers: the hosts.

    Attributes:
        hosts: the numbers of the hosts. There can be other numbers for the same hosts, see `Promises`.
        capacity: what there is on each host, by its number.
        free: what is free on each host now.
        whole: all of a host, and nothing of it in particular: what a job takes that has its hosts for itself. It is
            also taken of a host that is away, beside what its jobs take: no other job fits then.
    """

    def __init__(self, offers: Iterable[Offer]) -> None:
        offers = tuple(offers)
        kinds = {(gres.name, None) for offer in offers for gres in offer.gres}
        types = {(gres.name, gres.type) for offer in offers for gres in offer.gres if gres.type is not None}
        self.kinds: tuple[tuple[str, str | None], ...] = (*sorted(kinds), *sorted(types))
        self._places = {kind: place for place, kind in enumerate(self.kinds, 3)}
        self.capacity: dict[int, Amount] = {offer.id: self._capacity(offer) for offer in offers}
        self.free: dict[int, Amount] = dict(self.capacity)
        self.hosts = frozenset(self.capacity)
        self.whole: Amount = (WHOLE, *(0 for _ in range(2 + len(self.kinds))))
        self._memory = (
            0 if any(offer.memory is None for offer in offers) else sum(offer.memory or 0 for offer in offers)
        )
        self._gpu = self._places.get((GPU, None), 0)
        self._gpus = sum(amount[self._gpu] for amount in self.capacity.values()) if self._gpu else 0

    def _capacity(self, offer: Offer) -> Amount:
        amount = [WHOLE, offer.cores, _UNLIMITED if offer.memory is None else offer.memory, *(0 for _ in self.kinds)]
        for name, type, number in offer.gres:
            amount[self._places[name, None]] += number
            if type is not None:
                amount[self._places[name, type]] += number
        return tuple(amount)

    def amount(self, needs: Needs, is_whole: bool) -> Amount:
        """The amount that a job takes of each of its hosts.

        Args:
            needs: what it asks for.
            is_whole: whether it has its hosts for itself.
        """
        if is_whole:
            return self.whole
        amount = [1, needs.cores or 1, needs.memory, *(0 for _ in self.kinds)]
        for name, type, number in needs.gres:
            amount[self._places[name, None]] += number
            if type is not None:
                amount[self._places[name, type]] += number
        return tuple(amount)

    def shares(self, parts: Mapping[int, Amount]) -> tuple[float | None, float | None]:
        """The shares of all memory and of all GPUs that a job holds; None for what hosts do not say, or do not have.

        Args:
            parts: what it takes of each of its hosts; a job that takes no cores has its hosts for itself.
        """
        if not self._memory and not self._gpus:
            return None, None
        held = [part if part[1] else self.capacity[host] for host, part in parts.items()]
        return (
            sum(part[2] for part in held) / self._memory if self._memory else None,
            sum(part[self._gpu] for part in held) / self._gpus if self._gpus else None,
        )

    def cores(self, hosts: Iterable[int], amount: Amount) -> int:
        """The cores that a job takes of these hosts together: all that they have, if it has them for itself."""
        return sum(amount[1] or self.capacity[host][1] for host in hosts)

    def cores_of(self, hosts: Iterable[int], count: int, amount: Amount) -> tuple[int, int]:
        """The least and the most cores that a job takes of some number of these hosts together."""
        if amount[1]:
            return count * amount[1], count * amount[1]
        cores = sorted(self.capacity[host][1] for host in hosts)
        return sum(cores[:count]), sum(cores[-count:])

    def take(self, hosts: Iterable[int], amount: Amount) -> None:
        """A job has these hosts now."""
        free = self.free
        for host in hosts:
            free[host] = reduced(free[host], amount)

    def give_back(self, hosts: Iterable[int], amount: Amount) -> None:
        """A job does not have these hosts any more."""
        free = self.free
        for host in hosts:
            free[host] = added(free[host], amount)


# The availability profile, in which reservations are made: the expected number of free hosts over time.


_LARGEST: Final = 128
"""The maximum number of times in a block. A larger block is split into two."""


class _ProfileBlock:
    """The number of free hosts from each of some times on: `free[i] + added`."""

    __slots__ = ("added", "free", "highest", "lowest", "times")

    def __init__(self, times: list[float], free: list[int], added: int) -> None:
        self.times = times
        self.free = free
        self.added = added
        self.lowest = min(free) + added
        self.highest = max(free) + added

    def add(self, first: int, last: int, by: int) -> None:
        """Add to the numbers of the times from `first` on, before `last`."""
        free = self.free
        for place in range(first, last):
            free[place] += by
        self.lowest = min(free) + self.added
        self.highest = max(free) + self.added

    def add_to_all(self, by: int) -> None:
        self.added += by
        self.lowest += by
        self.highest += by


_EXACT: Final = 2.0**53
"""From here on, all floats are whole numbers."""


def rounded(time: float, resolution: float) -> float:
    """A time, rounded to a resolution, in seconds. If it is 0, times are not rounded."""
    if not resolution or not abs(time) < _EXACT * resolution:
        return time
    # Dividing by 1000 gives the float that is nearest to the decimal fraction, multiplying by 0.001 another one.
    return (
        round(time / resolution) * resolution if resolution >= 1 else round(time / resolution) / per_second(resolution)
    )


@lru_cache(16)
def per_second(resolution: float) -> float:
    """The number of resolution steps in a second, which need not be whole: 1000 for 0.001, and 1 / 0.3 for 0.3."""
    whole = round(1 / resolution)
    return whole if math.isclose(whole * resolution, 1.0) else 1 / resolution


class PythonProfile:
    """The number of free hosts from each time on.

    Args:
        now: the first time.
        free: the number of free hosts at that time.
        endings: pairs of a time and the number of hosts that become free then, sorted by time.
    """

    def __init__(self, now: float, free: int, endings: Iterable[tuple[float, int]] = ()) -> None:
        times, numbers = [now], [free]
        for end, size in endings:
            free += size
            if end <= times[-1]:
                numbers[-1] = free
            elif end < math.inf:
                times.append(end)
                numbers.append(free)
        half = _LARGEST // 2
        self._blocks = [
            _ProfileBlock(times[at : at + half], numbers[at : at + half], 0) for at in range(0, len(times), half)
        ]
        self._firsts = [block.times[0] for block in self._blocks]

    def __iter__(self) -> Iterator[tuple[float, int]]:
        """Pairs of a time and the number of free hosts from then on."""
        for block in self._blocks:
            yield from ((time, free + block.added) for time, free in zip(block.times, block.free, strict=True))

    def advance(self, now: float) -> None:
        """Forget the times before `now`."""
        place = bisect_right(self._firsts, now) - 1
        if place > 0:
            del self._blocks[:place], self._firsts[:place]
        block = self._blocks[0]
        at = bisect_right(block.times, now) - 1
        if at > 0:
            del block.times[:at], block.free[:at]
            block.lowest, block.highest = min(block.free) + block.added, max(block.free) + block.added
        if block.times[0] < now:
            block.times[0] = now
        self._firsts[0] = block.times[0]

    def change(self, begin: float, end: float, by: int) -> None:
        """Add `by` to the number of free hosts from `begin`, which is not before the first time, to `end`."""
        if end <= begin:
            return
        self._cut(begin)
        if end < math.inf:
            self._cut(end)
        first = bisect_right(self._firsts, begin) - 1
        last = bisect_left(self._firsts, end) - 1
        blocks = self._blocks
        start = bisect_left(blocks[first].times, begin)
        stop = bisect_left(blocks[last].times, end)
        if first == last:
            blocks[first].add(start, stop, by)
        else:
            for number in range(first + 1, last):
                blocks[number].add_to_all(by)
            blocks[first].add(start, len(blocks[first].times), by)
            blocks[last].add(0, stop, by)
        self._heal(begin)
        if end < math.inf:
            self._heal(end)

    def _cut(self, time: float) -> None:
        """Add a time at which the number may change."""
        number = bisect_right(self._firsts, time) - 1
        block = self._blocks[number]
        at = bisect_left(block.times, time)
        if at < len(block.times) and block.times[at] == time:
            return
        block.times.insert(at, time)
        block.free.insert(at, block.free[at - 1])
        if len(block.times) > _LARGEST:
            half = _LARGEST // 2
            rest = _ProfileBlock(block.times[half:], block.free[half:], block.added)
            self._blocks[number] = _ProfileBlock(block.times[:half], block.free[:half], block.added)
            self._blocks.insert(number + 1, rest)
            self._firsts.insert(number + 1, rest.times[0])

    def _heal(self, time: float) -> None:
        """Forget a time, unless it is the first one, if the number does not change any more at that time."""
        number = bisect_right(self._firsts, time) - 1
        block = self._blocks[number]
        at = bisect_left(block.times, time)
        if not (number or at):
            return
        last = block if at else self._blocks[number - 1]
        if last.free[at - 1] + last.added != block.free[at] + block.added:
            return
        if len(block.times) == 1:
            del self._blocks[number], self._firsts[number]
            return
        del block.times[at], block.free[at]
        self._blocks[number] = _ProfileBlock(block.times, block.free, block.added)
        self._firsts[number] = block.times[0]

    def earliest(self, size: int, seconds: float, before: float = math.inf) -> float:
        """The first time from which on enough hosts are free for long enough, or until `before`; else infinity.

        Args:
            size: the number of hosts.
            seconds: the number of seconds.
            before: only times before this one count.
        """
        begin = -1.0  # since when enough are free
        blocks = self._blocks
        for number in range(len(blocks)):
            block = blocks[number]
            if block.lowest >= size:  # enough in all of it, mostly
                if begin < 0:
                    begin = block.times[0]
                if begin >= before:
                    return math.inf
                if block.times[-1] - begin >= seconds or block.times[-1] >= before:
                    return begin
                continue
            needed = size - block.added
            times, free = block.times, block.free
            if begin < 0 and block.highest < size:
                if times[0] >= before:
                    return math.inf
                continue
            for place in range(len(times)):
                if free[place] >= needed:
                    if begin < 0:
                        begin = times[place]
                        if begin >= before:
                            return math.inf
                elif begin >= 0:
                    if times[place] - begin >= seconds or times[place] >= before:
                        return begin
                    begin = -1.0
            if times[-1] >= before and begin < 0:
                return math.inf
        return begin if 0 <= begin < before else math.inf

    def gaps(self, most: int) -> list[tuple[int, float]]:
        """Pairs (hosts, seconds): how long hosts are free from the first time on. Few hosts for long come first."""
        steps: list[tuple[int, float]] = []
        now, left = self._firsts[0], most
        for block in self._blocks:
            if block.lowest >= left:
                continue
            for time, free in zip(block.times, block.free, strict=True):
                if free + block.added < left:
                    if time > now:
                        steps.append((left, time - now))
                    left = free + block.added
                    if left <= 0:
                        return steps[::-1]
        steps.append((left, math.inf))
        return steps[::-1]


Profile = PythonProfile
if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.policies._profile import Profile  # noqa: F401


# The future of each host: the amounts that will be free, given the expected ends of jobs, and reservations.


class Steps(Generic[Value]):
    """A value over time, which changes in steps: amounts that are free, or watts that are drawn.

    Args:
        time: the first time, which stands for all before it.
        value: the value from then on.

    Attributes:
        times: the times from which on the value is another one, in order.
        values: the value from each of them on.
    """

    __slots__ = ("times", "values")

    def __init__(self, time: float, value: Value) -> None:
        self.times, self.values = [time], [value]

    def copy(self) -> Steps[Value]:
        """The same steps, which change alone."""
        copy = Steps(self.times[0], self.values[0])
        copy.times, copy.values = self.times.copy(), self.values.copy()
        return copy

    def change(self, begin: float, end: float, by: Value, plus: Callable[[Value, Value], Value] | None = None) -> None:
        """Change the value between two times, the second of which is later than the other and than the first step.

        The new value is `plus` of the old one and the change; None: the sum. Steps that become equal are one then.
        """
        change_steps(self, begin, end, by) if plus is None else python_change_steps(self, begin, end, by, plus)

    def cut(self, time: float) -> int:
        """The place of a time, which is added if it is not there."""
        times = self.times
        if time <= times[0]:
            return 0
        place = bisect_left(times, time)
        if place == len(times) or times[place] != time:
            times.insert(place, time)
            self.values.insert(place, self.values[place - 1])
        return place

    def place(self, time: float) -> int:
        """The place of the step at a time."""
        return max(bisect_right(self.times, time) - 1, 0)

    def at(self, time: float) -> Value:
        """The value at a time."""
        return self.values[self.place(time)]

    def between(self, begin: float, end: float) -> list[Value]:
        """The values from one time to another one, in order; that of the first time at least."""
        first = self.place(begin)
        return self.values[first : max(bisect_left(self.times, end), first + 1)]

    def within(self, begin: float, end: float) -> Iterator[tuple[float, float, Value]]:
        """The steps between two times: the begin and the end of each, and its value."""
        times, values = self.times, self.values
        place = self.place(begin)
        while begin < end:
            after = times[place + 1] if place + 1 < len(times) else math.inf
            yield begin, min(after, end), values[place]
            begin, place = after, place + 1

    def forget(self, now: float) -> None:
        """The past of a time does not matter any more."""
        place = bisect_right(self.times, now) - 1
        if place > 0:
            del self.times[1 : place + 1], self.values[:place]

    def begin_at(self, now: float) -> Steps[Value]:
        """Forget what was before a time; the steps."""
        if self.times[0] < now:
            self.forget(now)
            self.times[0] = now
        return self


# The steps of hosts: here in Python, and where the library is compiled, the same in C.


def python_change_steps(
    steps: Steps[Any], begin: float, end: float, by: Any, plus: Callable[[Any, Any], Any] | None = None
) -> None:
    """Change a value over time: see `Steps.change`."""
    times, values, plus = steps.times, steps.values, plus or (added if isinstance(by, tuple) else add)
    first = steps.cut(begin)
    last = steps.cut(end) if end < math.inf else len(times)
    for place in range(first, last):
        values[place] = plus(values[place], by)
    for place in range(min(last, len(times) - 1), max(first, 1) - 1, -1):
        if values[place] == values[place - 1]:
            del times[place], values[place]


change_steps = python_change_steps
if not TYPE_CHECKING:
    with suppress(ImportError):
        from batprotocol.policies._profile import change_steps
