"""The running jobs and the hosts that they hold: which hosts are busy, and which jobs share them.

Any number of jobs can share hosts. An operation takes time that grows with the logarithm of this number; without
sharing, it is two operations on ints. This module must not know what jobs are, or which hosts they may get.
"""

from __future__ import annotations

import weakref
from typing import Final

from intervaltree import IntervalTree
from mypy_extensions import mypyc_attr

from batprotocol._util.steps.counting import step
from batprotocol.conversation.hostsets import HostCounts, HostSetText
from batprotocol.conversation.usage import Moment, Usage

__all__ = ["Holding"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Holding:
    """The running jobs and their hosts.

    Attributes:
        running: the hosts by job, in the order in which they got them.
        counts: the number of jobs that hold each host; `counts.some` are the busy hosts.
    """

    __slots__ = ("_moment", "_parts", "_ranges", "_sharing", "counts", "running")

    def __init__(self) -> None:
        self._sharing: dict[str, None] = {}  # the jobs that hold a part of each of their hosts
        self._parts = HostCounts()  # their number on each host
        self.running: dict[str, HostSetText] = {}
        self.counts = HostCounts()
        self._ranges: _Ranges | None = None  # made on the first request for names: most jobs share nothing
        self._moment: weakref.ref[Moment] | None = None

    def occupy(self, job_id: str, hosts: HostSetText, is_part: bool = False) -> None:
        """The job gets these hosts, or a part of each of them."""
        if self._moment is not None:
            self._keep()
        self.running[job_id] = hosts
        self.counts.add(hosts.mask)
        if is_part:
            self._sharing[job_id] = None
            self._parts.add(hosts.mask)
        if self._ranges is not None:
            self._ranges.add(job_id, hosts)

    def release(self, job_id: str) -> None:
        """The job releases its hosts."""
        if self._moment is not None:
            self._keep()
        hosts = self.running.pop(job_id)
        self.counts.remove(hosts.mask)
        if job_id in self._sharing:
            del self._sharing[job_id]
            self._parts.remove(hosts.mask)
        if self._ranges is not None:
            self._ranges.remove(job_id, hosts)

    def whole(self) -> int:
        """The hosts that a job holds which did not ask for a part of them."""
        return self.counts.beyond(self._parts)

    def holders(self, hosts: HostSetText, most: int) -> list[str]:
        """The jobs that hold any of these hosts, but at most `most` of them."""
        if self._ranges is None:
            self._ranges = _Ranges()
            for job_id, held in self.running.items():
                self._ranges.add(job_id, held)
        return self._ranges.overlapping(hosts, most)

    def usage(self) -> IntervalTree:
        """The hosts that jobs hold now, for users: intervals [first, last + 1[ with the job's id."""
        moment = None if self._moment is None else self._moment()
        if moment is None:
            moment = Moment(self.running)
            self._moment = weakref.ref(moment)
        return Usage(moment)

    def _keep(self) -> None:
        moment = None if self._moment is None else self._moment()
        if moment is not None:
            moment.keep()
        self._moment = None

    def __getstate__(self) -> tuple[dict[str, HostSetText], dict[str, None]]:
        return self.running, self._sharing

    def __setstate__(self, state: tuple[dict[str, HostSetText], dict[str, None]]) -> None:
        running, sharing = state
        self.running = {}
        self._sharing = {}
        self._parts = HostCounts()
        self.counts = HostCounts()
        self._ranges = None
        self._moment = None
        for job_id, hosts in running.items():
            self.occupy(job_id, hosts, job_id in sharing)


_LEAVES: Final = 2**31
"""More than the number of any host."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Ranges:
    """Jobs by their hosts: a binary tree of ranges. A range exists only if a job holds a part of it.

    The root is 1, the halves of range n are 2n and 2n + 1, and host h is the leaf `_LEAVES + h`. So an interval
    consists of at most two ranges in each level, and lies in two more: few dicts for any number of jobs that share it.
    """

    __slots__ = ("_parts", "_wholes")

    def __init__(self) -> None:
        self._wholes: dict[int, dict[str, None]] = {}
        """For each range, the jobs whose intervals contain the whole range."""
        self._parts: dict[int, dict[str, None]] = {}
        """For each range, the jobs that hold a part of it."""

    def add(self, job_id: str, hosts: HostSetText) -> None:
        wholes, parts = _cut(hosts)
        for number in wholes:
            self._wholes.setdefault(number, {})[job_id] = None
        for number in parts:
            self._parts.setdefault(number, {})[job_id] = None

    def remove(self, job_id: str, hosts: HostSetText) -> None:
        wholes, parts = _cut(hosts)
        _take(self._wholes, wholes, job_id)
        _take(self._parts, parts, job_id)

    def overlapping(self, hosts: HostSetText, most: int) -> list[str]:
        """At most `most` jobs that hold any of these hosts: those of a range, its parts and the ranges around it."""
        wholes, above = _cut(hosts)
        found: dict[str, None] = {}
        for number in above:
            if _collect(self._wholes, number, found, most):
                return list(found)
        for number in wholes:
            if _collect(self._wholes, number, found, most) or _collect(self._parts, number, found, most):
                return list(found)
        return list(found)


def _collect(table: dict[int, dict[str, None]], number: int, found: dict[str, None], most: int) -> bool:
    """Add the jobs of a range to those that were found, and return whether these are enough."""
    for job_id in table.get(number, ()):
        found[job_id] = None
        if len(found) >= most:
            return True
    return False


def _take(table: dict[int, dict[str, None]], numbers: dict[int, None], job_id: str) -> None:
    for number in numbers:
        jobs = table[number]
        del jobs[job_id]
        if not jobs:
            del table[number]


def _cut(hosts: HostSetText) -> tuple[dict[int, None], dict[int, None]]:
    """The ranges that a host set consists of, and the larger ranges around these."""
    wholes: dict[int, None] = {}
    parts: dict[int, None] = {}
    for first, last in hosts.intervals:
        step()
        low, high = first + _LEAVES, last + _LEAVES + 1
        while low < high:
            if low & 1:
                wholes[low] = None
                low += 1
            if high & 1:
                high -= 1
                wholes[high] = None
            low >>= 1
            high >>= 1
    for number in wholes:
        number >>= 1
        while number and number not in parts:
            parts[number] = None
            number >>= 1
    return wholes, parts
