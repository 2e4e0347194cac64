"""Processes of this machine, as an engine."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any

from batprotocol.engines.child import Child
from batprotocol.engines.interface import Ended

__all__ = ["Processes", "cores"]


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """So many processes of this machine, started when there is something for them.

    Args:
        function: what they call, `module:name`.
        count: how many; None: as many as there are processors.
        seconds: how long a call may take; a process that takes longer is killed.
        memory: how many bytes of addresses each may have; 0: as many as it likes.
    """

    is_remote = False

    def __init__(
        self, function: str, count: int | None = None, *, seconds: float = float("inf"), memory: int = 0
    ) -> None:
        self._function = function
        self._count = count or cores()
        self._seconds = seconds
        self._memory = memory
        self._shared: dict[str, Any] = {}
        self._waiting: deque[tuple[int, Any, tuple[str, ...]]] = deque()
        self._idle: list[Child] = []
        self._busy: dict[Any, Child] = {}

    @property
    def places(self) -> int:
        """How many calls there can be at once."""
        return self._count

    def share(self, name: str, value: Any) -> None:
        """Make this known to all calls that name it."""
        self._shared[name] = value

    def submit(self, number: int, argument: Any, shared: Sequence[str] = ()) -> None:
        """Call the function as soon as a process is free."""
        self._waiting.append((number, argument, tuple(shared)))
        self._begin()

    def wait(self, timeout: float) -> list[Ended]:
        """The calls that have ended; where there are none, it waits for some seconds at most."""
        until = time.monotonic() + timeout
        while self._busy:
            left = min(until - time.monotonic(), *(child.seconds_left for child in self._busy.values()))
            wait(list(self._busy), max(left, 0.0))
            found = [(child, child.end()) for child in list(self._busy.values())]
            ended = []
            for child, how in found:
                if how is not None:
                    del self._busy[child.connection]
                    if not how.lost:
                        self._idle.append(child)
                    ended.append(how)
            self._begin()  # before what has ended is looked at: nobody waits for that
            if ended or time.monotonic() >= until:
                return ended
        return []

    def _begin(self) -> None:
        while self._waiting and len(self._busy) < self._count:
            number, argument, names = self._waiting.popleft()
            child = self._idle.pop() if self._idle else Child(self._function, self._memory)
            child.begin(number, argument, {name: self._shared[name] for name in names}, self._seconds)
            self._busy[child.connection] = child

    def close(self) -> None:
        """End at once whatever still runs."""
        self._waiting.clear()
        for child in (*self._busy.values(), *self._idle):
            child.close()
        self._busy.clear()
        self._idle.clear()
