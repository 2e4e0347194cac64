"""The hosts that jobs hold, for users: an `intervaltree.IntervalTree`, which is made on the first access.

Most users only test whether it is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from intervaltree import Interval, IntervalTree

if TYPE_CHECKING:
    from batprotocol.conversation.hostsets import HostSetText

__all__ = ["HostIntervals", "HostUsage"]

_MADE: Final = ("all_intervals", "boundary_table", "top_node")
"""The attributes of an IntervalTree: each of its operations begins with one of them."""


class HostUsage:
    """The running jobs and their hosts at one moment.

    Attributes:
        running: the hosts by job. It is the conversation's own dict until that changes.
    """

    __slots__ = ("__weakref__", "running")

    def __init__(self, running: dict[str, HostSetText]) -> None:
        self.running = running

    def keep(self) -> None:
        """Copy the hosts before the conversation changes them, for users who still read this moment."""
        self.running = dict(self.running)


class HostIntervals(IntervalTree):
    """Intervals [first, last + 1[ with the job's id."""

    def __init__(self, moment: HostUsage) -> None:
        self._moment: HostUsage | None = moment

    def __getattr__(self, name: str) -> Any:
        moment = self.__dict__.get("_moment")
        if name not in _MADE or moment is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._moment = None
        super().__init__(
            Interval(first, last + 1, job_id)
            for job_id, hosts in moment.running.items()
            for first, last in hosts.intervals
        )
        return getattr(self, name)

    def __bool__(self) -> bool:
        return bool(self.all_intervals if self._moment is None else self._moment.running)
