"""Sets of hosts as the older Batsims read them: C++'s `stoi` in Batsim 1 and 2, digits alone from 3 on."""

from __future__ import annotations

import re

__all__ = ["Unreadable", "hosts_of", "integer"]

_MOST = 2**31
_STOI = re.compile(r"[ \t\n\r\f\v]*([+-]?[0-9]+)")
_DIGITS = re.compile(r"[0-9]{1,10}", re.ASCII)
_LARGEST = 2**20


class Unreadable(Exception):
    """This is no set of hosts."""


def integer(text: str) -> int | None:
    """What C++'s `stoi` makes of a text: as much of it as is a number, None if none is."""
    found = _STOI.match(text)
    if found is None or len(found[1]) > 11:
        return None
    number = int(found[1])
    return number if -_MOST <= number < _MOST else None


def _number(text: str, major: int) -> int:
    if major < 3:
        found = integer(text)
        if found is None:
            raise Unreadable(f"{text!r} is no number")
        return found
    if not _DIGITS.fullmatch(text) or int(text) >= _MOST:
        raise Unreadable(f"{text!r} is no number")
    return int(text)


def hosts_of(text: str, major: int) -> frozenset[int]:
    """The hosts of a set, as that Batsim reads it. `Unreadable` where it would abort."""
    if not text and major >= 3:
        raise Unreadable("it is empty")
    hosts: set[int] = set()
    for part in text.split(" "):
        ends = part.split("-")
        if len(ends) > 2:
            raise Unreadable(f"{part!r} is no host and no interval a-b")
        first, last = _number(ends[0], major), _number(ends[-1], major)
        if first > last:
            raise Unreadable(f"the interval {part} is descending")
        if last - first > _LARGEST:
            raise Unreadable(f"the interval {part} has more hosts than any platform")
        hosts.update(range(first, last + 1))
    return frozenset(hosts)
