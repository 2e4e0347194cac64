"""Calls from the thread of a connection to an event loop of asyncio, and the coroutines that they return.

It must not know the calls.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

__all__ = ["Inbox"]

AT_ONCE: Final = 100
"""The number of calls in a row before coroutines get their turn."""


class Inbox:
    """Calls in the current event loop, one after the other, in the order of `tell`.

    If a call returns a coroutine, this runs beside the others. `until_stopped` raises the first exception of any of
    them.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[None] = self._loop.create_future()
        self._told: deque[Callable[[], Any]] = deque()
        self._tasks: set[asyncio.Task[Any]] = set()

    def tell(self, call: Callable[[], Any]) -> None:
        """Schedule this call. For one other thread."""
        self._told.append(call)
        if len(self._told) == 1:
            self._soon(self._take)

    def stop(self) -> None:
        """Let `until_stopped` return. For any thread, and for signal handlers."""
        self._soon(self._stop)

    def start(self, coroutine: Coroutine[Any, Any, Any], *, stop_after: bool = False) -> asyncio.Task[Any]:
        """Run a coroutine beside the others. For the thread of the event loop."""
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(partial(self._ended, stop_after))
        return task

    async def until_stopped(self) -> None:
        """Wait until `stop` is called or something raises; then cancel what still runs."""
        try:
            await self._end
        finally:
            if not self._end.done():
                self._end.cancel()
            running = [task for task in self._tasks if task is not asyncio.current_task()]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _soon(self, call: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)

    def _take(self) -> None:
        for _ in range(AT_ONCE):
            if not self._told or self._end.done():
                return
            try:
                given = self._told[0]()
            except Exception as error:
                self._fail(error)
            else:
                if inspect.iscoroutine(given):
                    self.start(given)
            self._told.popleft()  # only now: until then, `tell` need not wake the loop
        if self._told:
            self._loop.call_soon(self._take)

    def _ended(self, stop_after: bool, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)
        elif stop_after:
            self._stop()

    def _fail(self, error: BaseException) -> None:
        if not self._end.done():
            self._end.set_exception(error)

    def _stop(self) -> None:
        if not self._end.done():
            self._end.set_result(None)
