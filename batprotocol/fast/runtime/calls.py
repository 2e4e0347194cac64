"""Tasks that wait for their results: the task of each answer, the answers so far, and the missing ones.

A `Call` is a future. The `Ledger` finds the call of each answer and settles it, once. It must not know of any broker,
nor read any clock: its caller passes the answers and the times.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from collections import deque
from collections.abc import Generator, Hashable
from concurrent.futures import Future
from typing import Any, Final, Generic, TypeVar, cast

from batprotocol.errors import PeerSilent, ProtocolError, TaskFailed, shown
from batprotocol.fast import values as v
from batprotocol.fast.messages import RESULTS, route_of

__all__ = ["REMEMBERED", "Call", "Ledger"]

REMEMBERED: Final = 100_000
"""The number of answered tasks in memory, which serve to recognize results that a broker delivers again."""

ABSENCES: Final = 1000
"""The number of absences of the broker in memory."""

_TASKS: Final = tuple(RESULTS)

_Answer = TypeVar("_Answer")


class Call(Future[_Answer], Generic[_Answer]):
    """A task that was sent to a node, and its future result.

    It is a `concurrent.futures.Future` that can be awaited, too: `await call`, or `call.result()` without asyncio. Both
    return the result if the task succeeded, and otherwise raise

    - `TaskFailed`: the node could not do the task, or only a part of it; `error.result` has an entry for each machine;
    - `PeerSilent`: no result came within `timeout` seconds; the error says whether the broker was away meanwhile;
    - `PeerGone`: the connection was closed before that.

    Attributes:
        host: the node.
        task: the message that was sent.
        timeout: the time for the result, in seconds.
        deadline: the end of this time, on the clock of `time.monotonic`.
    """

    def __init__(self, host: str, task: Any, timeout: float, deadline: float) -> None:
        super().__init__()
        self.host = host
        self.task = task
        self.timeout = timeout
        self.deadline = deadline
        self.set_running_or_notify_cancel()  # it cannot be cancelled: the message is on its way

    def __await__(self) -> Generator[Any, None, _Answer]:
        return asyncio.wrap_future(self).__await__()

    def __repr__(self) -> str:
        state = "done" if self.done() else "waiting"
        return f"<Call {self.host}: {_words(self.task)}, {state}>"


class Ledger:
    """The calls that wait, by what their answers will say. All methods can be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, deque[Call[Any]]] = {}
        self._deadlines: list[tuple[float, int, Hashable, Call[Any]]] = []
        self._numbers = itertools.count()
        self._answered: dict[Hashable, bool] = {}
        self._complaints: dict[str, str] = {}
        self._away: deque[tuple[float, float]] = deque(maxlen=ABSENCES)
        self._away_since: float | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, call: Call[Any]) -> None:
        """A call that is about to be sent. ProtocolError if its id is that of another one that waits for its result."""
        key = _key_of_task(call.host, call.task)
        with self._lock:
            others = self._waiting.setdefault(key, deque())
            if others and isinstance(call.task, _TASKS):
                raise ProtocolError(f"a task with the id {shown(key[1])} is waiting for its result from {call.host}")
            others.append(call)
            self._size += 1
            heapq.heappush(self._deadlines, (call.deadline, next(self._numbers), key, call))
            if len(self._deadlines) > 4 * self._size + 1000:  # most of them have been answered in time
                self._deadlines = [each for each in self._deadlines if not each[3].done()]
                heapq.heapify(self._deadlines)

    def drop(self, call: Call[Any]) -> None:
        """Forget a call that could not be sent."""
        with self._lock:
            self._remove(_key_of_task(call.host, call.task), call)

    def take(self, host: str, message: v.FastMessage) -> tuple[bool, Call[Any] | None]:
        """A message that came: whether it is news, and the call that it settles, if there is one."""
        key = _key_of_answer(host, message)
        if key is None:
            return True, None
        with self._lock:
            if self._answered.get(key):
                return False, None
            call = self._pop(key)
            if isinstance(message, v.Result):
                if call is not None or key in self._answered:
                    _remember(self._answered, key, True)
                elif message.id is None and message.result == v.UNKNOWN and message.list:
                    _remember(self._complaints, host, message.list[0].details or "")
        if call is not None:
            _settle(call, message)
        return True, call

    def expire(self, now: float) -> list[Call[Any]]:
        """Settle the calls whose time is over, and give them."""
        expired = []
        with self._lock:
            while self._deadlines and (self._deadlines[0][0] <= now or self._deadlines[0][3].done()):
                _, _, key, call = heapq.heappop(self._deadlines)
                if call in self._waiting.get(key, ()):
                    self._remove(key, call)
                    expired.append(call)
                    if isinstance(call.task, _TASKS):
                        _remember(self._answered, key, False)
            errors = [self._silence(call, now) for call in expired]
        for call, error in zip(expired, errors, strict=True):
            call.set_exception(error)
        return expired

    def connected(self, is_there: bool, now: float) -> None:
        """The connection to the broker is lost, or is there again."""
        with self._lock:
            if not is_there:
                self._away_since = now if self._away_since is None else self._away_since
            elif self._away_since is not None:
                self._away.append((self._away_since, now))
                self._away_since = None

    def next_deadline(self) -> float | None:
        """When the time of the next call is over; None if none waits."""
        with self._lock:
            return self._deadlines[0][0] if self._deadlines else None

    def close(self, error: ProtocolError) -> None:
        """Settle all calls: no answer will come."""
        with self._lock:
            calls = [call for waiting in self._waiting.values() for call in waiting]
            self._waiting.clear()
            self._deadlines.clear()
            self._size = 0
        for call in calls:
            call.set_exception(type(error)(f"{call.host}: {_words(call.task)}: {error}"))

    def _pop(self, key: Hashable) -> Call[Any] | None:
        waiting = self._waiting.get(key)
        if not waiting:
            return None
        call = waiting[0]
        self._remove(key, call)
        return call

    def _remove(self, key: Hashable, call: Call[Any]) -> None:
        waiting = self._waiting[key]
        waiting.remove(call)
        self._size -= 1
        if not waiting:
            del self._waiting[key]

    def _silence(self, call: Call[Any], now: float) -> PeerSilent:
        text = f"{call.host}: {_words(call.task)}: no answer within {call.timeout:g} seconds"
        absence, complaint = self._absence(call, now), self._complaints.pop(call.host, "")
        said = f"it has said of some task: {complaint}" if complaint else ""
        return PeerSilent("; ".join(part for part in (text, absence, said) if part))

    def _absence(self, call: Call[Any], now: float) -> str:
        """Whether the broker was away while a call waited, in words."""
        began = call.deadline - call.timeout
        if self._away_since is not None:
            return f"the broker is away, since {now - self._away_since:.3g} seconds"
        away = sum(end - max(since, began) for since, end in self._away if end > began)
        return f"the broker was away for {away:.3g} of them, and the task or its result may be lost" if away else ""


def _remember(memory: dict[Any, Any], key: Hashable, value: object) -> None:
    """Put this into a memory, which forgets what is oldest."""
    memory.pop(key, None)
    memory[key] = value
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]


# The key that an answer is recognized by: the id, the cores, or its kind alone


def _key_of_task(host: str, task: v.FastMessage) -> tuple[Any, ...]:
    if isinstance(task, v.MmbwmonRequest):
        return v.MmbwmonResponse, host, task.cores
    if isinstance(task, v.MmbwmonStop):
        return v.MmbwmonStopAck, host
    if isinstance(task, v.MmbwmonRestart):
        return v.MmbwmonRestartAck, host
    return v.Result, cast(Any, task).id, host


def _key_of_answer(host: str, message: v.FastMessage) -> tuple[Any, ...] | None:
    if isinstance(message, v.Result):
        return v.Result, message.id, host
    if isinstance(message, v.MmbwmonResponse):
        return v.MmbwmonResponse, host, message.cores
    if isinstance(message, v.MmbwmonStopAck | v.MmbwmonRestartAck):
        return type(message), host
    return None


def _settle(call: Call[Any], answer: v.FastMessage) -> None:
    fault = _fault(call.task, answer) if isinstance(answer, v.Result) else ""
    if fault:
        call.set_exception(TaskFailed(fault, call.host, call.task, answer))
    else:
        call.set_result(answer)


def _fault(task: v.FastMessage, result: v.Result) -> str:
    """The error in a result, "" if the task succeeded."""
    bad = [entry for entry in result.list if not entry.is_success]
    word = _words(task)
    if bad:
        first = f"{bad[0].vm_name}: {bad[0].details or bad[0].status}"
        return f"{word}: {first}{f', and {len(bad) - 1} more' if len(bad) > 1 else ''}"
    expected = RESULTS[type(task)]
    return "" if result.result == expected else f"{word}: expected the result {expected!r}, got {shown(result.result)}"


def _words(task: v.FastMessage) -> str:
    """The name of a task in the protocol, with its id if it has one."""
    id = getattr(task, "id", None)
    return f"{route_of(task).task}{f' {id}' if id is not None else ''}"
