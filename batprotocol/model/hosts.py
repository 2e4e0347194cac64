"""Host sets: the wire's strings, and `procset.ProcSet`, the Batsim world's own interval sets.

The canonical string, which Batsim reads, holds ascending disjoint intervals separated by one space: `0-3 8`. What a
peer wrote stays the string that it wrote until someone asks for the set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias, Union

from batprotocol.errors import HostSetError, shown

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = ["HostSet", "format_hosts", "parse_hosts"]

HostSet: TypeAlias = Union[str, int, Iterable[int], "ProcSet"]
"""All that is taken for a host set: a string, one host, an iterable of hosts, or a `procset.ProcSet`."""

_INTERVAL = re.compile(r"([0-9]+)(?:-([0-9]+))?", re.ASCII)
_DIGITS = 20  # more than any uint64 has; int() of a million digits would take its time
# By far the most frequent sets, canonical as they stand: one host, or one interval.
_SIMPLE = re.compile(r"(0|[1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?", re.ASCII)


def parse_hosts(text: str) -> ProcSet:
    """The `procset.ProcSet` that a host set's string stands for.

    Args:
        text: intervals `a` or `a-b` in any order, overlapping or not, separated by spaces or commas; may be empty.

    Raises:
        HostSetError: something else is in the text, or an interval is descending.

    >>> str(parse_hosts("8, 2-3 0-2"))
    '0-3 8'
    """
    from procset import ProcSet

    intervals = []
    for part in text.replace(",", " ").split():
        found = _INTERVAL.fullmatch(part)
        if not found or max(map(len, part.split("-"))) > _DIGITS:
            raise HostSetError(f"{shown(text)} is not a host set: {shown(part)} is no host and no interval a-b")
        first, last = int(found[1]), int(found[2] or found[1])
        if first > last:
            raise HostSetError(f"{shown(text)} is not a host set: the interval {part} is descending")
        intervals.append((first, last))
    return ProcSet(*intervals)


def format_hosts(hosts: HostSet) -> str:
    """The canonical string of a host set, which Batsim reads.

    Args:
        hosts: a string (read leniently, see `parse_hosts`), a host, an iterable of hosts, or a `procset.ProcSet`.

    Raises:
        HostSetError: this is no host set; hosts are integers >= 0.

    >>> format_hosts("3,1-2"), format_hosts(7), format_hosts([0, 1, 2, 8])
    ('1-3', '7', '0-2 8')
    """
    if type(hosts) is int and hosts >= 0:  # the most frequent one, and a ProcSet takes its time
        return str(hosts)
    from procset import ProcSet

    if isinstance(hosts, str):
        simple = _SIMPLE.fullmatch(hosts)
        if simple and (simple[2] is None or int(simple[1]) < int(simple[2])):
            return hosts
        return str(parse_hosts(hosts))
    if isinstance(hosts, ProcSet):
        if hosts and hosts.min < 0:
            raise HostSetError(f"a host is an integer >= 0, got {hosts.min}")
        return str(hosts)
    if isinstance(hosts, Iterable) and not isinstance(hosts, bytes | dict):
        members: Iterable[object] = hosts
    elif hasattr(hosts, "__index__"):
        members = (hosts,)
    else:
        raise HostSetError(f"a host set is a string, an int, an iterable of ints or a ProcSet, got {shown(hosts)}")
    return str(ProcSet(*map(_host, members)))


def _host(host: object) -> int:
    try:
        number = host.__index__()  # type: ignore[attr-defined]  # numpy's integers are welcome
    except AttributeError:
        raise HostSetError(f"a host is an integer >= 0, got {shown(host)}") from None
    if isinstance(host, bool) or number < 0:
        raise HostSetError(f"a host is an integer >= 0, got {shown(host)}")
    return int(number)
