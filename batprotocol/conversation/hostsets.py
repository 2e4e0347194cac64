"""Host sets as Batsim reads them, once for each text.

`model.parse_hosts` reads a text as the user meant it. This module reads it as Batsim's own parser does, which can give
another set. A host set is also an int whose bit n is host n, which makes operations cheap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.errors import shown
from batprotocol.model.hosts import seen_hosts

__all__ = ["HostCounts", "HostSetText", "describe", "mask_of", "members", "read_hosts"]

_PLAIN = re.compile(r"[0-9]+(?:-[0-9]+)?(?: [0-9]+(?:-[0-9]+)?)*", re.ASCII)
"""Texts that Batsim reads as they are meant."""
_NUMBER = re.compile(r"[\t\n\v\f\r]*\+?0*([1-9][0-9]*|0)", re.ASCII)
"""The part of a text that C++'s `stoi` reads: white space, a sign, digits. It ignores the rest."""
_HIGHEST: Final = 2**31 - 1  # of an int
_DIGITS: Final = 10  # that it has; int() of a million of them is slow
_CACHED_TEXTS: Final = 4096
_FEW: Final = 16
_SHOWN: Final = 60
"""The number of intervals to show: `shown` has space for fewer characters, half of them from the end."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class HostSetText:
    """The set that Batsim reads in a host set's text.

    Attributes:
        fault: why Batsim cannot read it, or "".
        intervals: its intervals (first, last), in the order of the text.
        text: the text, or the text of the set that Batsim reads if this is another set.
        misread: whether Batsim reads another set than the text means.
        last: the highest host, or -1.
        ascending: whether the intervals are in ascending order and do not overlap.
    """

    __slots__ = ("_mask", "_size", "ascending", "fault", "intervals", "last", "misread", "text")

    def __init__(
        self,
        text: str,
        fault: str,
        intervals: tuple[tuple[int, int], ...] = (),
        misread: bool = False,
        size: int = -1,
    ) -> None:
        self._mask = -1  # made on first use, as is the size unless it is known
        self._size = size
        self.fault = fault
        self.intervals = intervals
        self.misread = misread
        self.text = _written(intervals) if misread else text
        if size < 0:
            self.last = max((last for _, last in intervals), default=-1)
            self.ascending = all(before[1] < after[0] for before, after in pairwise(intervals))
        else:  # the set was not read here, and is in order
            self.last = intervals[-1][1]
            self.ascending = True

    @property
    def mask(self) -> int:
        """The hosts as the bits of an int. Use it only if `last` is known to be a host: it has that many bits."""
        if self._mask < 0:
            self._mask = mask_of(self.intervals)
        return self._mask

    @property
    def size(self) -> int:
        """The number of hosts in the set."""
        if self._size < 0:
            self._size, end = 0, 0
            for first, last in sorted(self.intervals):
                self._size += max(last + 1 - max(first, end), 0)
                end = max(last + 1, end)
        return self._size


_read: Final[dict[str, HostSetText]] = {}
"""The sets that were read lately: several rules read the text of an event, and sets recur."""


def read_hosts(text: str) -> HostSetText:
    """Read a host set as Batsim does. If Batsim cannot read it, the result has a `fault`; no exception is raised.

    Any number of spaces separates the parts, and any number of hyphens the two hosts of an interval. C++'s `stoi` reads
    a host: it takes the first digits and ignores the rest.

    >>> read_hosts("0-3 8").size, read_hosts("0,1").text, read_hosts("h1").fault
    (5, '0', "'h1' in 'h1' is neither a host nor an interval a-b")
    """
    hosts = _read.get(text)
    if hosts is None:
        if len(_read) >= _CACHED_TEXTS:
            _read.clear()
        _read[text] = hosts = _read_anew(text)
    return hosts


def _read_anew(text: str) -> HostSetText:
    if not text:
        return HostSetText(text, "")
    seen = seen_hosts(text)
    if seen is not None and seen.text == text and seen.intervals[-1][1] <= _HIGHEST:
        return HostSetText(text, "", seen.intervals, size=seen.size)  # Batsim reads the canonical text as it is meant
    intervals = []
    for part in re.split(" +", text):
        step()
        numbers = [_NUMBER.match(number) for number in re.split("-+", part)]
        if len(numbers) > 2 or not all(numbers):
            return HostSetText(text, f"{shown(part)} in {shown(text)} is neither a host nor an interval a-b")
        hosts = [int(found[1]) if len(found[1]) <= _DIGITS else _HIGHEST + 1 for found in numbers if found]
        first, last = hosts[0], hosts[-1]
        if max(hosts) > _HIGHEST:
            return HostSetText(text, f"{shown(part)} in {shown(text)} is too large for a host")
        if first > last:
            return HostSetText(text, f"the interval {shown(part)} in {shown(text)} is descending")
        intervals.append((first, last))
    return HostSetText(text, "", tuple(intervals), misread=not _PLAIN.fullmatch(text))


def _written(intervals: Sequence[tuple[int, int]]) -> str:
    return " ".join(f"{first}-{last}" if last > first else str(first) for first, last in intervals)


def mask_of(intervals: Iterable[tuple[int, int]]) -> int:
    """Intervals of hosts as the bits of an int.

    >>> mask_of([(0, 3), (8, 8)]) == 0b100001111
    True
    """
    given = list(intervals)
    if len(given) <= _FEW:
        mask = 0
        for first, last in given:
            mask |= (1 << last + 1) - (1 << first)
        return mask
    # Each change makes a new int, so many intervals are collected first, each host once.
    digits = bytearray(b"0") * (max(last for _, last in given) + 1)
    end = 0
    for first, last in sorted(given):
        step()
        first = max(first, end)
        if first <= last:
            digits[first : last + 1] = b"1" * (last + 1 - first)
            end = last + 1
    digits.reverse()
    return int(digits, 2)


def members(mask: int) -> Iterator[int]:
    """The hosts of a mask, ascending."""
    bits = bin(mask)[:1:-1]
    host = bits.find("1")
    while host >= 0:
        step()
        yield host
        host = bits.find("1", host + 1)


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class HostCounts:
    """The number of added sets that contain each host.

    Attributes:
        some: the hosts that are in at least one set.
        more: the hosts that are in more than one set.
    """

    __slots__ = ("_digits", "more", "some")

    def __init__(self) -> None:
        self.some = 0
        self.more = 0
        self._digits: list[int] = []
        """The number of further sets with each host, in binary: a mask for each digit, the lowest first."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HostCounts):
            return NotImplemented
        return self.some == other.some and self._digits == other._digits

    def beyond(self, fewer: HostCounts) -> int:
        """The hosts that are in more sets than those of other counts, which have some of the same sets."""
        found = self.some ^ fewer.some
        for place, digit in enumerate(self._digits):
            found |= digit ^ (fewer._digits[place] if place < len(fewer._digits) else 0)
        return found

    def add(self, mask: int) -> None:
        """Count each of these hosts once more."""
        carry = mask & self.some
        self.some |= mask
        self.more |= carry
        digits, place = self._digits, 0
        while carry:
            if place == len(digits):
                digits.append(0)
            before = digits[place]
            digits[place] = before ^ carry
            carry &= before
            place += 1

    def remove(self, mask: int) -> None:
        """Count each of these hosts once less. All of them must be counted."""
        borrow = mask & self.more
        self.some ^= mask ^ borrow
        if not borrow:
            return
        digits, place = self._digits, 0
        while borrow:
            digits[place] ^= borrow
            borrow &= digits[place]
            place += 1
        while digits and not digits[-1]:
            digits.pop()
        self.more = 0
        for digit in digits:
            self.more |= digit


def describe(mask: int) -> str:
    """The hosts of a mask as text: "host 3", "hosts 0-3 8".

    >>> describe(0b1), describe(0b100001111)
    ('host 0', 'hosts 0-3 8')
    """
    # Only the ends of a large set are shown.
    firsts, lasts = mask & ~(mask << 1), mask & ~(mask >> 1)
    if firsts.bit_count() <= 2 * _SHOWN:
        text = _written(list(zip(members(firsts), members(lasts), strict=True)))
    else:
        text = "...".join(_written(part) for part in (_lowest(firsts, lasts), _highest(firsts, lasts)))
    return f"host{'s' if mask.bit_count() > 1 else ''} {shown(text)[1:-1]}"


def _lowest(firsts: int, lasts: int) -> list[tuple[int, int]]:
    """The lowest intervals of those that begin and end there."""
    found = []
    for _ in range(_SHOWN):
        first, last = firsts & -firsts, lasts & -lasts
        firsts, lasts = firsts ^ first, lasts ^ last
        found.append((first.bit_length() - 1, last.bit_length() - 1))
    return found


def _highest(firsts: int, lasts: int) -> list[tuple[int, int]]:
    """The highest intervals of those that begin and end there."""
    found = []
    for _ in range(_SHOWN):
        first, last = firsts.bit_length() - 1, lasts.bit_length() - 1
        firsts, lasts = firsts ^ (1 << first), lasts ^ (1 << last)
        found.append((first, last))
    return found[::-1]
