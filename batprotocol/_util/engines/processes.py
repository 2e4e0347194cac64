"""Processes of this machine, as an engine."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any

from batprotocol._util.engines.child import Child
from batprotocol._util.engines.interface import Ended

__all__ = ["Processes", "cores"]


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """Processes of this machine, started when there are calls for them.

    Args:
        function: the function, `module:name`.
        count: the number of processes; None: as many as there are processors.
        seconds: the time limit of a call; a process that takes longer is killed.
        memory: the limit of the address space of each process, in bytes; 0: no limit.
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
        """The number of calls that can run at once."""
        return self._count

    def share(self, name: str, value: Any) -> None:
        """Share a value with the calls that name it."""
        self._shared[name] = value

    def submit(self, number: int, argument: Any, shared: Sequence[str] = ()) -> None:
        """Call the function as soon as a process is free."""
        self._waiting.append((number, argument, tuple(shared)))
        self._begin()

    def wait(self, timeout: float) -> list[Ended]:
        """Wait for calls to end, for `timeout` seconds at most, and return those that have ended."""
        until = time.monotonic() + timeout
        while self._busy:
            remaining = min(until - time.monotonic(), *(child.remaining_seconds for child in self._busy.values()))
            wait(list(self._busy), max(remaining, 0.0))
            found = [(child, child.end()) for child in list(self._busy.values())]
            ended = []
            for child, how in found:
                if how is not None:
                    del self._busy[child.connection]
                    if not how.lost:
                        self._idle.append(child)
                    ended.append(how)
            self._begin()  # before the caller handles the ends, so that no process waits for it
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
        """Drop the calls that have not begun, and kill those that run."""
        self._waiting.clear()
        for child in (*self._busy.values(), *self._idle):
            child.close()
        self._busy.clear()
        self._idle.clear()
