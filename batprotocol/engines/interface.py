"""What engines have in common: calls go in with numbers, and how each ended comes out, in any order.

What is called is a function `module:name` with three arguments: what it is called with, what all calls share (a mapping
by names), and a folder of its own, which is empty again for the next call. All that goes in and out can be pickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

__all__ = ["Ended", "Engine"]


class Ended(NamedTuple):
    """How a call ended.

    Args:
        number: its number.
        value: what the function returned; None if it came to no end.
        lost: why there is no value, as a part of a sentence (`its process was ended by SIGSEGV`); "" if there is one.
        printed: where there is no value, the end of what its process had printed.
        place: where it ran: a host, and on Dask the worker.
        is_late: whether there is no value because it took longer than it may.
    """

    number: int
    value: Any
    lost: str = ""
    printed: str = ""
    place: str = ""
    is_late: bool = False


class Engine(Protocol):
    """Calls a function, at several places at once."""

    is_remote: bool
    """Whether the files of this machine may be missing there."""

    @property
    def places(self) -> int:
        """How many calls there can be at once, now."""

    def share(self, name: str, value: Any) -> None:
        """Make this known to all calls that name it."""

    def submit(self, number: int, argument: Any, shared: Sequence[str] = ()) -> None:
        """Call the function with this argument, and what was shared by these names."""

    def wait(self, timeout: float) -> list[Ended]:
        """The calls that have ended since it was asked last; where there are none, it waits for some seconds at most.

        Raises:
            ClusterError: there is nowhere left to run.
        """

    def close(self) -> None:
        """End at once whatever still runs."""
