"""The interface of engines: calls have numbers, and their ends come back in any order.

The function `module:name` has three parameters: its argument, the shared values by name, and a folder, which is empty
at the begin of each call. All arguments and results can be pickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

__all__ = ["Ended", "Engine"]


class Ended(NamedTuple):
    """The end of a call.

    Args:
        number: the number of the call.
        value: the value that the function returned; None if it did not return.
        lost: the reason if there is no value, as a part of a sentence (`its process was ended by SIGSEGV`); else "".
        printed: the end of the output of its process if there is no value.
        place: the host on which it ran, and on Dask the worker.
        is_late: whether there is no value because it took longer than the time limit.
    """

    number: int
    value: Any
    lost: str = ""
    printed: str = ""
    place: str = ""
    is_late: bool = False


class Engine(Protocol):
    """Calls a function, several times at once."""

    is_remote: bool
    """Whether the calls may run on other machines, without the files of this one."""

    @property
    def places(self) -> int:
        """The number of calls that can run at once, now."""

    def share(self, name: str, value: Any) -> None:
        """Share a value with the calls that name it."""

    def submit(self, number: int, argument: Any, shared: Sequence[str] = ()) -> None:
        """Call the function with this argument, and with the shared values of these names."""

    def wait(self, timeout: float) -> list[Ended]:
        """Wait for calls to end, for `timeout` seconds at most, and return those that have ended since the last time.

        Raises:
            ClusterError: there is no place to run calls any more.
        """

    def close(self) -> None:
        """Drop the calls that have not begun, before those that run are ended. On Dask, these run to their end."""
