"""Host sets as Batsim reads them: strictly, once for each text.

`model.parse_hosts` is lenient with what people write; here is what Batsim's own parser accepts, together with the form
that makes questions about sets of hosts cheap: an int whose bit n is host n. It must not know which hosts there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

from batprotocol.errors import shown

__all__ = ["HostSetText", "describe", "members", "read_hosts"]

_INTERVAL = re.compile(r"([0-9]+)(?:-([0-9]+))?", re.ASCII)
_DIGITS: Final = 10  # of an uint32; more cannot be a host, and int() of a million digits takes its time
_CACHED_TEXTS: Final = 4096


class HostSetText:
    """What a host set's text says.

    Attributes:
        fault: why Batsim cannot read it, or "".
        intervals: its intervals (first, last), as written.
        last: the highest host, or -1.
        ascending: whether the intervals are in ascending order and do not overlap.
        mask: the hosts as the bits of an int. Ask only when `last` is known to be a host: it has that many bits.
        size: how many hosts are in the set.
    """

    __slots__ = ("ascending", "fault", "intervals", "last", "mask", "size")
    mask: int
    size: int

    def __init__(self, fault: str, intervals: tuple[tuple[int, int], ...] = ()) -> None:
        self.fault = fault
        self.intervals = intervals
        self.last = max((last for _, last in intervals), default=-1)
        self.ascending = all(before[1] < after[0] for before, after in pairwise(intervals))

    def __getattr__(self, name: str) -> int:
        # Only asked for what is not there yet: `mask` and `size` are made the first time that someone needs them.
        if name not in ("mask", "size"):
            raise AttributeError(name)
        self.mask = 0
        for first, last in self.intervals:
            self.mask |= (1 << last + 1) - (1 << first)
        self.size = self.mask.bit_count()
        return self.mask if name == "mask" else self.size


@lru_cache(maxsize=_CACHED_TEXTS)
def read_hosts(text: str) -> HostSetText:
    """Read a host set as Batsim does. What it cannot read has a `fault`; this never raises.

    >>> read_hosts("0-3 8").size, read_hosts("0,1").fault
    (5, "'0,1' in '0,1' is neither a host nor an interval a-b")
    """
    if not text:
        return HostSetText("")
    intervals = []
    for part in text.split(" "):
        found = _INTERVAL.fullmatch(part)
        if not found:
            return HostSetText(f"{shown(part)} in {shown(text)} is neither a host nor an interval a-b")
        if max(len(number.lstrip("0")) for number in part.split("-")) > _DIGITS:
            return HostSetText(f"{shown(part)} in {shown(text)} is too large for a host")
        first, last = int(found[1]), int(found[2] or found[1])
        if first > last:
            return HostSetText(f"the interval {part} in {shown(text)} is descending")
        intervals.append((first, last))
    return HostSetText("", tuple(intervals))


def members(mask: int) -> Iterator[int]:
    """The hosts of a mask, ascending."""
    bits = bin(mask)[:1:-1]
    host = bits.find("1")
    while host >= 0:
        yield host
        host = bits.find("1", host + 1)


def describe(mask: int) -> str:
    """The hosts of a mask as people read them: "host 3", "hosts 0-3 8".

    >>> describe(0b1), describe(0b100001111)
    ('host 0', 'hosts 0-3 8')
    """
    intervals: list[list[int]] = []
    for host in members(mask):
        if intervals and intervals[-1][1] == host - 1:
            intervals[-1][1] = host
        else:
            intervals.append([host, host])
    text = " ".join(f"{first}-{last}" if last > first else str(first) for first, last in intervals)
    return f"host{'s' if mask.bit_count() > 1 else ''} {shown(text)[1:-1]}"
