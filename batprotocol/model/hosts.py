"""Host sets: strings on the wire, intervals of hosts, and `procset.ProcSet`, the interval sets of Batsim's tools.

Batsim reads the canonical string: ascending disjoint intervals, separated by one space, such as `0-3 8`. A received
value keeps the string of its sender, and is parsed when the set is needed. A `FrozenHosts` holds the parsed intervals,
so code that has one does not parse the string again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from operator import index
from typing import TYPE_CHECKING, Final, TypeAlias, Union

import msgspec

from batprotocol.errors import HostSetError, shown

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = ["HostSet", "format_hosts", "parse_hosts"]

HostSet: TypeAlias = Union[str, int, Iterable[int], "ProcSet"]
"""The types that functions take as a host set: a string, one host, an iterable of hosts, or a `procset.ProcSet`.
Iterables of hosts include `batprotocol.Hosts` and the sets that its `take` methods return."""

Intervals: TypeAlias = tuple[tuple[int, int], ...]
"""Intervals of hosts (first, last): ascending, disjoint, with a gap between any two."""

_DIGITS: Final = 20  # more than any uint64 has; int() of a million digits would take its time
_MOST_SEEN: Final = 8192
_REPR_CHARACTERS: Final = 10_000
_set = msgspec.structs.force_setattr


class AnyHosts:
    """The operations of all sets of hosts, mutable or not."""

    __slots__ = ()

    @property
    def intervals(self) -> Intervals:
        """The intervals of the set, (first, last), ascending, with a gap between any two."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The canonical string of the set, as Batsim reads it: `0-3 8`."""
        return _written(self.intervals)

    def __len__(self) -> int:
        """The number of hosts in the set."""
        return sum(last - first + 1 for first, last in self.intervals)

    def __iter__(self) -> Iterator[int]:
        """The hosts, ascending."""
        return chain.from_iterable(range(first, last + 1) for first, last in self.intervals)

    def __contains__(self, host: object) -> bool:
        try:
            number = index(host)  # type: ignore[arg-type]  # only integers are hosts
        except TypeError:
            return False
        return any(first <= number <= last for first, last in self.intervals)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        text = self.text
        return f"{type(self).__name__}({text[:_REPR_CHARACTERS]!r}{'...' if len(text) > _REPR_CHARACTERS else ''})"

    def __eq__(self, other: object) -> bool:
        """Whether the other set holds the same hosts. It may be a set of hosts or a `procset.ProcSet`."""
        if isinstance(other, AnyHosts):
            return self.intervals == other.intervals
        intervals = _of_procset(other)
        return NotImplemented if intervals is None else self.intervals == intervals

    def __or__(self, other: HostSet) -> FrozenHosts:
        """The hosts that are in at least one of the two sets."""
        return frozen_intervals(_sorted([*self.intervals, *frozen_hosts(other).intervals]))

    def __and__(self, other: HostSet) -> FrozenHosts:
        """The hosts that are in both sets."""
        return frozen_intervals(_common(self.intervals, frozen_hosts(other).intervals))

    def __sub__(self, other: HostSet) -> FrozenHosts:
        """The hosts of this set that are not in the other."""
        return frozen_intervals(_without(self.intervals, frozen_hosts(other).intervals))

    def __rsub__(self, other: HostSet) -> FrozenHosts:
        return frozen_intervals(_without(frozen_hosts(other).intervals, self.intervals))

    __ror__ = __or__
    __rand__ = __and__

    def issubset(self, other: HostSet) -> bool:
        """Whether all hosts of this set are in the other."""
        return not self - other

    def issuperset(self, other: HostSet) -> bool:
        """Whether all hosts of the other set are in this one."""
        return not self.__rsub__(other)

    def isdisjoint(self, other: HostSet) -> bool:
        """Whether the two sets have no host in common."""
        return not self & other

    def to_procset(self) -> ProcSet:
        """The same hosts as a `procset.ProcSet`."""
        from procset import ProcSet

        return ProcSet(*self.intervals)


class FrozenHosts(AnyHosts, msgspec.Struct, frozen=True, gc=False):
    """An immutable set of hosts. The methods of `batprotocol.Hosts` and the set operations return it.

    Pass it wherever a function takes a host set. The function does not parse it again.

    Attributes:
        intervals: the intervals of the set, (first, last), ascending, with a gap between any two.
        size: the number of hosts in the set.
        text: the canonical string of the set, as Batsim reads it.

    >>> hosts = frozen_hosts("0-3 8")
    >>> len(hosts), 8 in hosts, list(hosts), hosts.intervals
    (5, True, [0, 1, 2, 3, 8], ((0, 3), (8, 8)))
    >>> hosts | 4, hosts & "2-9", hosts - [0, 1], hosts.to_procset()
    (FrozenHosts('0-4 8'), FrozenHosts('2-3 8'), FrozenHosts('2-3 8'), ProcSet((0, 3), 8))
    """

    intervals: Intervals
    size: int
    _text: str | None = None
    _sent: str = ""  # the text, once it is known that it can be sent: at least one host, no number too high

    @property
    def text(self) -> str:
        """The canonical string of the set, as Batsim reads it: `0-3 8`."""
        text = self._text
        if text is None:
            text = _written(self.intervals)
            _set(self, "_text", text)
            _see(text, self)
            seen[self.intervals] = self
        return text

    def __len__(self) -> int:
        """The number of hosts in the set."""
        return self.size

    def __hash__(self) -> int:
        return hash(self.intervals)

    __str__ = AnyHosts.__str__
    __repr__ = AnyHosts.__repr__
    __eq__ = AnyHosts.__eq__
    __ne__ = AnyHosts.__ne__


def frozen_hosts(hosts: HostSet) -> FrozenHosts:
    """Parse a host set.

    Args:
        hosts: a string in any form that `parse_hosts` reads, a host, an iterable of hosts, or a `procset.ProcSet`.

    Raises:
        HostSetError: `hosts` is not a host set, or a host is not an integer >= 0.

    >>> frozen_hosts("3,1-2"), frozen_hosts(7), frozen_hosts([0, 1, 2, 8])
    (FrozenHosts('1-3'), FrozenHosts('7'), FrozenHosts('0-2 8'))
    """
    if type(hosts) is FrozenHosts:
        return hosts
    if isinstance(hosts, str):
        known = seen.get(hosts)
        if known is None:
            known = frozen_intervals(_read(hosts))
            _see(hosts, known)
        return known
    return frozen_intervals(_intervals_of(hosts))


def parse_hosts(text: str) -> ProcSet:
    """Parse the string of a host set into a `procset.ProcSet`.

    Args:
        text: intervals `a` or `a-b`, separated by spaces or commas. They may be in any order and may overlap. An empty
            text is the empty set.

    Raises:
        HostSetError: the text holds anything else, or an interval is descending.

    >>> str(parse_hosts("8, 2-3 0-2"))
    '0-3 8'
    """
    return frozen_hosts(text).to_procset()


def format_hosts(hosts: HostSet) -> str:
    """Write a host set as the canonical string, which Batsim reads.

    Args:
        hosts: a string in any form that `parse_hosts` reads, a host, an iterable of hosts, or a `procset.ProcSet`.

    Raises:
        HostSetError: `hosts` is not a host set, or a host is not an integer >= 0.

    >>> format_hosts("3,1-2"), format_hosts(7), format_hosts([0, 1, 2, 8])
    ('1-3', '7', '0-2 8')
    """
    return frozen_hosts(hosts).text


def hosts_once(hosts: HostSet) -> FrozenHosts:
    """Parse a host set that names each host once, as an allocation does.

    Args:
        hosts: as for `frozen_hosts`. A string may name a host again, as strings of other programs do.

    Raises:
        HostSetError: as `frozen_hosts`; or a collection has a host twice.
    """
    found = frozen_hosts(hosts)
    if type(hosts) is not str and isinstance(hosts, Collection) and len(hosts) != len(found):
        twice = next(host for host, count in Counter(map(int, hosts)).items() if count > 1)
        raise HostSetError(f"expected each host once, got {twice} twice")
    return found


# Schedulers allocate the same sets again and again, and soon read the same texts in messages.

seen: Final[dict[str | Intervals, FrozenHosts]] = {}
"""The sets that were parsed or written recently, by text and intervals."""

seen_hosts: Final[Callable[[str | Intervals], FrozenHosts | None]] = seen.get
"""The set of these intervals or of this text, if it was parsed or written recently; else None."""


def _see(key: str | Intervals, hosts: FrozenHosts) -> None:
    if len(seen) >= _MOST_SEEN:
        seen.clear()
    seen[key] = hosts


# Intervals


def frozen_intervals(intervals: Intervals) -> FrozenHosts:
    """The set of these intervals, which must be ascending and have gaps between them."""
    return FrozenHosts(intervals, sum(last - first + 1 for first, last in intervals))


def _written(intervals: Intervals) -> str:
    if len(intervals) == 1:  # a list comprehension is slower
        first, last = intervals[0]
        return f"{first}-{last}" if first < last else f"{first}"
    return " ".join([f"{first}-{last}" if first < last else f"{first}" for first, last in intervals])


def _read(text: str) -> Intervals:
    """The intervals of a text."""
    intervals: list[tuple[int, int]] = []
    end, in_order = -2, True
    for part in text.replace(",", " ").split():
        first_digits, hyphen, last_digits = part.partition("-")
        if not (
            part.isascii()
            and first_digits.isdigit()
            and (last_digits.isdigit() or not hyphen)
            and len(first_digits) <= _DIGITS
            and len(last_digits) <= _DIGITS
        ):
            raise HostSetError(f"{shown(text)} is not a host set: {shown(part)} is neither a host nor an interval a-b")
        first = int(first_digits)
        last = int(last_digits) if hyphen else first
        if first > last:
            raise HostSetError(f"{shown(text)} is not a host set: the interval {part} is descending")
        in_order = in_order and first > end + 1
        end = last
        intervals.append((first, last))
    return tuple(intervals) if in_order else _sorted(intervals)


def _intervals_of(hosts: object) -> Intervals:
    """The intervals of a host set that is not a string."""
    if isinstance(hosts, AnyHosts):
        return hosts.intervals
    if type(hosts) is int and hosts >= 0:
        return ((hosts, hosts),)
    if isinstance(hosts, range) and hosts.step == 1 and hosts.start >= 0:
        return ((hosts.start, hosts.stop - 1),) if hosts else ()
    intervals = _of_procset(hosts)
    if intervals is not None:
        if intervals and intervals[0][0] < 0:
            raise HostSetError(f"a host is an integer >= 0, got {intervals[0][0]}")
        return intervals
    if isinstance(hosts, Iterable) and not isinstance(hosts, bytes | dict):
        members: Iterable[object] = hosts
    elif hasattr(hosts, "__index__"):
        members = (hosts,)
    else:
        raise HostSetError(f"a host set is a string, an int, an iterable of ints or a ProcSet, got {shown(hosts)}")
    return _sorted([(host, host) for host in map(_host, members)])


def _of_procset(hosts: object) -> Intervals | None:
    """The intervals of a `procset.ProcSet`, or None for anything else."""
    if isinstance(hosts, str | int | list | tuple | set | frozenset | range):  # importing procset is slow
        return None
    from procset import ProcSet

    return tuple((each.inf, each.sup) for each in hosts.intervals()) if isinstance(hosts, ProcSet) else None


def _host(host: object) -> int:
    try:
        number = host.__index__()  # type: ignore[attr-defined]  # numpy's integers are welcome
    except AttributeError:
        raise HostSetError(f"a host is an integer >= 0, got {shown(host)}") from None
    if isinstance(host, bool) or number < 0:
        raise HostSetError(f"a host is an integer >= 0, got {shown(host)}")
    return int(number)


def _sorted(intervals: list[tuple[int, int]]) -> Intervals:
    """These intervals, which may overlap in any order, sorted and merged."""
    found: list[tuple[int, int]] = []
    end = -2
    for first, last in sorted(intervals):
        if first > end + 1:
            found.append((first, last))
            end = last
        elif last > end:
            found[-1] = (found[-1][0], last)
            end = last
    return tuple(found)


def _common(some: Intervals, others: Intervals) -> Intervals:
    """The intersection of both."""
    found: list[tuple[int, int]] = []
    place = 0
    for first, last in some:
        while place < len(others) and others[place][1] < first:
            place += 1
        at = place
        while at < len(others) and others[at][0] <= last:
            found.append((max(first, others[at][0]), min(last, others[at][1])))
            at += 1
        place = max(place, at - 1)
    return tuple(found)


def _without(some: Intervals, others: Intervals) -> Intervals:
    """The hosts of `some` that are not in `others`: the intersection of `some` with the gaps between `others`."""
    if not some or not others:
        return some
    ends = [-1, *(last for _, last in others)]
    starts = [*(first for first, _ in others), max(some[-1][1], others[-1][1]) + 2]
    gaps = ((end + 1, start - 1) for end, start in zip(ends, starts, strict=True) if end + 1 < start)
    return _common(some, tuple(gaps))
