"""`Hosts`, the free hosts of a scheduler: take hosts from it, and give them back.

It only knows sets of hosts, and neither the jobs on them nor the messages to Batsim.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import index
from typing import TYPE_CHECKING, Any, Final, TypeVar

from batprotocol.errors import HostsError, HostSetError, shown
from batprotocol.model.hosts import (
    AnyHosts,
    FrozenHosts,
    HostSet,
    Intervals,
    frozen_hosts,
    frozen_intervals,
    seen,
    seen_hosts,
)

__all__ = ["MOST_HOSTS", "FrozenHosts", "Hosts"]

MOST_HOSTS: Final = 2**24
"""Hosts are numbers below this one, because `Hosts` stores two bytes for each number up to the highest."""

_ONES: Final = re.compile(b"\1+")
_TO_TAKE: Final = "are free"
_TO_GIVE_BACK: Final = "were taken"
# To copy an existing bytearray into another one takes a third of the time of all other ways.
_SMALL: Final = 65
_ROWS: Final = tuple([bytearray([byte]) * size for size in range(_SMALL)] for byte in (0, 1))


def _nothing(hosts: object, others: object) -> None:
    """It does nothing, and says so."""


# The methods of these names begin with them: where they were compiled, they do what is done for nearly all jobs.
_take: Callable[[object, object], FrozenHosts | None] = _nothing
_take_these: Callable[[object, object], object] = _nothing
_give_back: Callable[[object, object], object] = _nothing

T = TypeVar("T", bound="Hosts")


class Hosts(AnyHosts):
    """A set of hosts to take from and to give back to.

    Args:
        hosts: all hosts, which are free at first: any host set. They are below `MOST_HOSTS`.

    It has the free hosts, and stores the taken hosts: only these can be given back. `take` returns a `FrozenHosts`.
    Pass it to `add_execute_job` and later to `give_back`: it is not parsed again. Taking and giving back take some
    hundred nanoseconds for each interval, for any number of hosts.

    All methods accept all kinds of host sets: strings, ints, iterables of ints, `procset.ProcSet`, other `Hosts`. `|`,
    `&` and `-` return a `FrozenHosts`. `|=` adds hosts, known or unknown. `-=` and `&=` remove free hosts. Two sets are
    equal if the same hosts are free. A call that raises an error changes nothing.

    >>> free = Hosts("0-7")
    >>> job = free.take(3)
    >>> job, free, len(free), 2 in free
    (FrozenHosts('0-2'), Hosts('3-7'), 5, False)
    >>> free.take_these(5)
    FrozenHosts('5')
    >>> free.take_contiguous(2), free.take(2)
    (FrozenHosts('3-4'), FrozenHosts('6-7'))
    >>> free.give_back(job)
    >>> free, free.taken
    (Hosts('0-2'), FrozenHosts('3-7'))
    >>> free.give_back("2-3")
    Traceback (most recent call last):
    ...
    batprotocol.errors.HostsError: expected hosts that were taken, got '2-3', of which '2' is free
    """

    if not TYPE_CHECKING:  # which expects all that is assigned in here
        __slots__ = ("_first", "_free", "_has_gaps", "_known", "_room", "_row", "_row_from", "_size")
    __hash__ = None  # type: ignore[assignment]  # it changes

    def __init__(self, hosts: HostSet = ()) -> None:
        # A byte for each host, 1 if it is free, and another, 1 if it is known: nothing is searched as quickly as bytes.
        self._free = bytearray(1)  # one more than there are hosts, so that each of them has a next one
        self._known = bytearray()
        self._room = 0  # how many bytes there are
        self._has_gaps = False  # whether some of them are for unknown hosts
        self._size = 0
        self._first = 0  # no host before this one is free
        self._row, self._row_from = 1, 0  # no row of `_row` free hosts begins before this host
        self |= hosts

    # Take and give back

    def take(self, count: int) -> FrozenHosts:
        """Take the first free hosts.

        Args:
            count: the number of hosts, 0 to `len(self)`.

        Raises:
            HostsError: fewer hosts are free.
        """
        taken: FrozenHosts | None = _take(self, count)
        if taken is not None:
            return taken
        if type(count) is not int:
            count = index(count)
        if not 0 <= count <= self._size:
            raise HostsError(f"expected to take 0 to {self._size} hosts, as many as are free, got {shown(count)}")
        free, end, missing = self._free, self._first, count
        intervals = []
        while missing:
            first = free.find(1, end)
            end = first + 1
            if missing == 1 or not free[end]:  # most often, and quicker than what follows
                missing -= 1
                intervals.append((first, first))
                continue
            end = free.find(0, end, first + missing)
            if end < 0:
                end = first + missing
            missing -= end - first
            intervals.append((first, end - 1))
        self._first = end
        return self._take_out(tuple(intervals), count)

    def take_contiguous(self, count: int) -> FrozenHosts:
        """Take the first free hosts in a row.

        Args:
            count: the number of hosts, 0 to `len(self)`.

        Raises:
            HostsError: no row of free hosts is long enough.

        >>> free = Hosts("0-2 4 6-9")
        >>> free.take_contiguous(4), free.take_contiguous(2)
        (FrozenHosts('6-9'), FrozenHosts('0-1'))
        """
        if type(count) is not int:
            count = index(count)
        if not 0 < count <= self._size:
            return self.take(count)  # none, or too many
        first = self._free.find(b"\1" * count, self._row_from if count >= self._row else self._first)
        if first < 0:
            self._row, self._row_from = count, self._room
            raise HostsError(f"expected to take {count} hosts in a row, but the free hosts have gaps between them")
        end = first + count
        self._row, self._row_from = count, end
        return self._take_out(((first, end - 1),), count)

    def take_these(self, hosts: HostSet) -> FrozenHosts:
        """Take certain hosts.

        Args:
            hosts: a host set. All its hosts must be free.

        Raises:
            HostsError: some of them are not free.
            HostSetError: this is not a host set.
        """
        wanted = hosts if type(hosts) is FrozenHosts else frozen_hosts(hosts)
        if _take_these(self, wanted):
            return wanted
        intervals, free, room = wanted.intervals, self._free, self._room
        for first, last in intervals:
            if last >= room or (not free[first] if first == last else 0 in free[first : last + 1]):
                raise self._refusal(_TO_TAKE, wanted)
        _mark(free, intervals, 0)
        self._size -= wanted.size
        return wanted

    def give_back(self, hosts: HostSet) -> None:
        """Give back hosts that were taken, all hosts of a job or some of them.

        Args:
            hosts: a host set. All its hosts must have been taken.

        Raises:
            HostsError: some of them are free, or were never in this set.
            HostSetError: this is not a host set.
        """
        if _give_back(self, hosts):
            return
        given = hosts if type(hosts) is FrozenHosts else frozen_hosts(hosts)
        intervals, free, room = given.intervals, self._free, self._room
        for first, last in intervals:
            if last >= room or (free[first] if first == last else 1 in free[first : last + 1]):
                raise self._refusal(_TO_GIVE_BACK, given)
            if self._has_gaps and 0 in self._known[first : last + 1]:
                raise self._refusal(_TO_GIVE_BACK, given)
        _mark(free, intervals, 1)
        if intervals:
            self._size += given.size
            self._look_from(intervals[0][0])

    @property
    def taken(self) -> FrozenHosts:
        """The hosts that were taken or removed, and not given back."""
        return frozen_intervals(_runs(self._known)) - self

    # The methods of all sets

    @property
    def intervals(self) -> Intervals:
        """The intervals of free hosts, (first, last), ascending, with a gap between any two."""
        return _runs(self._free)

    def __len__(self) -> int:
        """The number of free hosts."""
        return self._size

    def __contains__(self, host: object) -> bool:
        try:
            number = index(host)  # type: ignore[arg-type]  # only an int is a host
        except TypeError:
            return False
        return 0 <= number < self._room and self._free[number] == 1

    def __ior__(self: T, other: HostSet) -> T:  # type: ignore[override]  # it changes this one
        intervals = frozen_hosts(other).intervals
        if intervals:
            self._make_room(intervals[-1][1] + 1)
            for first, last in intervals:
                ones = bytearray(b"\1") * (last + 1 - first)
                self._size += len(ones) - self._free.count(1, first, last + 1)
                self._free[first : last + 1] = self._known[first : last + 1] = ones
            self._has_gaps = 0 in self._known
            self._look_from(intervals[0][0])
        return self

    def __isub__(self: T, other: HostSet) -> T:  # type: ignore[override]  # it changes this one
        free = self._free
        for first, last in frozen_hosts(other).intervals:
            self._size -= free.count(1, first, last + 1)
            end = min(last + 1, self._room)
            free[first:end] = bytearray(max(end - first, 0))
        return self

    def __iand__(self: T, other: HostSet) -> T:  # type: ignore[override]  # it changes this one
        return self.__isub__(self - other)

    def copy(self: T) -> T:
        """An independent copy in the same state."""
        other = _restored(type(self), self._free, self._known)
        if hasattr(self, "__dict__"):  # derived classes may have one
            other.__dict__.update(self.__dict__)
        return other

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), bytes(self._free), bytes(self._known)), getattr(self, "__dict__", None)

    # Inside

    def _take_out(self, intervals: Intervals, size: int) -> FrozenHosts:
        """Mark the free hosts of these intervals as taken, and return them."""
        _mark(self._free, intervals, 0)
        self._size -= size
        seen = seen_hosts(intervals)  # it has its text already
        return FrozenHosts(intervals, size) if seen is None else seen

    def _look_from(self, first: int) -> None:
        """Note that hosts from this host on have become free."""
        if first < self._first:
            self._first = first
        first -= self._row - 1
        if first < self._row_from:
            self._row_from = first if first > 0 else 0

    def _make_room(self, room: int) -> None:
        if room > MOST_HOSTS:
            raise HostSetError(f"expected hosts below {MOST_HOSTS:,}, got {room - 1}")
        more = bytes(max(room - self._room, 0))
        self._free += more
        self._known += more
        self._room += len(more)

    def _refusal(self, expected: str, given: FrozenHosts) -> HostsError:
        """The error for hosts that cannot be taken or given back, with the wrong hosts."""
        known = frozen_intervals(_runs(self._known))
        wrong = (given & self, "free") if expected == _TO_GIVE_BACK else (given & self.taken, "taken")
        states = [f"{shown(hosts.text)} is {state}" for hosts, state in (wrong, (given - known, "unknown")) if hosts]
        return HostsError(f"expected hosts that {expected}, got {shown(given.text)}, of which {' and '.join(states)}")


def _restored(kind: type[T], free: bytes | bytearray, known: bytes | bytearray) -> T:
    hosts = kind.__new__(kind)
    Hosts.__init__(hosts)
    hosts._free, hosts._known = bytearray(free), bytearray(known)
    hosts._room = len(known)
    hosts._has_gaps = 0 in hosts._known
    hosts._size = hosts._free.count(1)
    return hosts


def _mark(marks: bytearray, intervals: Intervals, byte: int) -> None:
    """Set the byte of all hosts of these intervals."""
    for first, last in intervals:
        if first == last:
            marks[first] = byte
        else:
            size = last + 1 - first
            marks[first : last + 1] = _ROWS[byte][size] if size < _SMALL else bytearray([byte]) * size


def _runs(marks: bytearray) -> Intervals:
    """The intervals of ones."""
    return tuple((found.start(), found.end() - 1) for found in _ONES.finditer(marks))


try:
    from batprotocol.model import _hosts
except ImportError:  # it was not compiled, or this is not the main interpreter
    pass
else:
    _hosts.bind(Hosts, FrozenHosts, seen)
    _take, _take_these, _give_back = _hosts.take, _hosts.take_these, _hosts.give_back
