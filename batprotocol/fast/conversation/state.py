"""The state that all parts of a conversation share: the clock, the violations so far, and the open requests.

The memory is limited: if there is too much, the oldest entries are forgotten. This can hide a violation, but never
invents one.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import count
from typing import Generic, TypeVar

from batprotocol._util.rules import Severity
from batprotocol.fast.conversation.rules import CATALOGUE, Violation

__all__ = ["LARGEST", "Memory", "State", "Waiting"]

LARGEST = 10_000
"""The maximum number of entries of each kind in memory."""

Key = TypeVar("Key")
Thing = TypeVar("Thing")


class Memory(Generic[Key, Thing]):
    """A dictionary that forgets its oldest entries.

    >>> memory: Memory[str, int] = Memory(2)
    >>> memory["a"], memory["b"], memory["c"] = 1, 2, 3
    >>> memory.get("a"), memory.get("c")
    (None, 3)
    """

    def __init__(self, largest: int = 0) -> None:
        self._things: OrderedDict[Key, Thing] = OrderedDict()
        self._largest = largest or LARGEST

    def __setitem__(self, key: Key, thing: Thing) -> None:
        self._things[key] = thing
        self._things.move_to_end(key)
        if len(self._things) > self._largest:
            self._things.popitem(last=False)

    def get(self, key: Key) -> Thing | None:
        """The entry of this key, or None."""
        return self._things.get(key)

    def pop(self, key: Key) -> Thing | None:
        """Forget the entry of this key, and return it, or None."""
        return self._things.pop(key, None)

    def drop(self, condition: Callable[[Key], bool]) -> None:
        """Forget all entries whose keys fulfill the condition."""
        for key in [key for key in self._things if condition(key)]:
            del self._things[key]

    def __len__(self) -> int:
        return len(self._things)


class Waiting:
    """An open request, and whether its answer has come.

    Attributes:
        number: the number of the message with the request.
        deadline: the time after which the answer is overdue, in seconds.
        overdue: the rule that is broken after this time, or "".
        open: the rule that is broken if the answer is missing at the end, or "".
        text: a description of the answer.
        done: whether the answer has come.
    """

    __slots__ = ("deadline", "done", "number", "open", "overdue", "text")

    def __init__(self, number: int, deadline: float, overdue: str, open: str, text: str) -> None:
        self.number = number
        self.deadline = deadline
        self.overdue = overdue
        self.open = open
        self.text = text
        self.done = False


class State:
    """The clock, the violations, and the open requests.

    Args:
        rules: the name of the rule set.
    """

    def __init__(self, rules: str) -> None:
        self.severities: Mapping[str, Severity] = CATALOGUE.severities(rules)
        self.number = 0
        self.time = 0.0
        self.found: list[Violation] = []
        self._waiting: list[tuple[float, int, Waiting]] = []
        self._order = count()

    def report(
        self, rule: str, path: str, text: str, number: int | None = None, *, severity: Severity | None = None
    ) -> None:
        """Record a violation of the current message, or of an earlier one.

        Args:
            rule: its id.
            path: the place in the message.
            text: a description of the mistake.
            number: the number of an earlier message.
            severity: instead of the rule's severity, if less is known than usual.
        """
        usual = self.severities.get(rule)
        if usual is not None:
            place = self.number if number is None else number
            self.found.append(Violation(place, path, rule, severity or usual, text))

    def wait(self, seconds: float, overdue: str, open: str, text: str) -> Waiting:
        """Wait for an answer, for this time."""
        waiting = Waiting(self.number, self.time + seconds, overdue, open, text)
        heapq.heappush(self._waiting, (waiting.deadline, next(self._order), waiting))
        if len(self._waiting) > 2 * LARGEST:
            self._waiting = [entry for entry in self._waiting if not entry[2].done][-LARGEST:]
            heapq.heapify(self._waiting)
        return waiting

    def clock(self, time: float) -> None:
        """Advance to this time, and record the answers that are overdue."""
        self.time = max(self.time, time)
        while self._waiting and self._waiting[0][0] < self.time:
            waiting = heapq.heappop(self._waiting)[2]
            if not waiting.done and waiting.overdue:
                seconds = f"{self.time - waiting.deadline:.0f} s"
                self.report(waiting.overdue, "", f"{waiting.text} is overdue for {seconds}", waiting.number)

    def end(self) -> None:
        """Record the answers that are missing."""
        for _, _, waiting in sorted(self._waiting, key=lambda entry: entry[2].number):
            if not waiting.done and waiting.open:
                self.report(waiting.open, "", f"{waiting.text} has not come when the recording ends", waiting.number)
        self._waiting.clear()
