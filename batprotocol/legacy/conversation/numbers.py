"""Numbers and sets of hosts as the older Batsims read them: with C++'s `stoi`, and what libraries make of it.

It must not know of any event.
"""

from __future__ import annotations

import re

__all__ = ["Unreadable", "hosts_of", "integer", "is_int", "printable", "printed"]

_MOST = 2**31
_STOI = re.compile(r"[ \t\n\r\f\v]*([+-]?[0-9]+)", re.ASCII)
_WHOLE = re.compile(r"[ \t\n\r\f\v]*\+?[0-9]+", re.ASCII)
_LARGEST = 2**20
_ROOM = 31
"""Batsim prints numbers with six digits behind the point into 32 bytes, and aborts when that does not suffice."""


class Unreadable(Exception):
    """This is no set of hosts."""


def integer(text: str) -> int | None:
    """What C++'s `stoi` makes of a text: as much of it as is a number, None if none is."""
    found = _STOI.match(text)
    if found is None or len(found[1].lstrip("+-").lstrip("0")) > 10:
        return None
    number = int(found[1])
    return number if -_MOST <= number < _MOST else None


def is_int(value: object) -> bool:
    """Whether RapidJSON takes this for an integer: 32 bits with a sign, and no point."""
    return type(value) is int and -_MOST <= value < _MOST


def printable(value: float) -> bool:
    """Whether a time or an amount fits into what Batsim prints it into."""
    return len(f"{value:.6f}") < _ROOM


def printed(value: float) -> float:
    """A number of a job or a profile as Batsim reads it: what has a point is printed with six digits in between."""
    return value if type(value) is int else float(f"{value:.6f}")


def _number(text: str, major: int) -> int:
    found = integer(text)
    if found is None or (major >= 3 and not _WHOLE.fullmatch(text)):
        raise Unreadable(f"{text!r} is no number")
    return found


def hosts_of(text: str, major: int) -> frozenset[int]:
    """The hosts of a set, as that Batsim reads it. `Unreadable` where it would abort."""
    hosts: set[int] = set()
    for part in re.split(" +", text):
        ends = re.split("-+", part)
        if len(ends) > 2:
            raise Unreadable(f"{part!r} is no host and no interval a-b")
        first, last = _number(ends[0], major), _number(ends[-1], major)
        if first > last:
            raise Unreadable(f"the interval {part} is descending")
        if last - first > _LARGEST:
            raise Unreadable(f"the interval {part} has more hosts than any platform")
        hosts.update(range(first, last + 1))
    return frozenset(hosts)
