"""Sets of hosts as the older Batsims read them. This module must not know any event."""

from __future__ import annotations

import re

from batprotocol.legacy.cpp import integer

__all__ = ["Unreadable", "hosts_of"]

_WHOLE = re.compile(r"[ \t\n\r\f\v]*\+?[0-9]+", re.ASCII)
_LARGEST = 2**20


class Unreadable(Exception):
    """The text is not a set of hosts."""


def _number(text: str, major: int) -> int:
    found = integer(text)
    if found is None or (major >= 3 and not _WHOLE.fullmatch(text)):
        raise Unreadable(f"{text!r} is not a number")
    return found


def hosts_of(text: str, major: int) -> frozenset[int]:
    """The hosts of a set, as that Batsim reads it. `Unreadable` where it would abort."""
    hosts: set[int] = set()
    for part in re.split(" +", text):
        ends = re.split("-+", part)
        if len(ends) > 2:
            raise Unreadable(f"{part!r} is neither a host nor an interval a-b")
        first, last = _number(ends[0], major), _number(ends[-1], major)
        if first > last:
            raise Unreadable(f"the interval {part} is descending")
        if last - first > _LARGEST:
            raise Unreadable(f"the interval {part} has more hosts than any platform")
        hosts.update(range(first, last + 1))
    return frozenset(hosts)
