"""Actors: the parts of Batsim that wait for one another, as small state machines.

An actor runs until it has to wait; then it calls exactly one method of the queue, which runs it again when the waiting
is over. All that it knows is in its fields, so that a simulation can be copied and pickled between any two turns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any, Final

from mypy_extensions import mypyc_attr

__all__ = ["MASTER", "Actor", "Mailbox"]

MASTER: Final = -1
"""The host that Batsim itself runs on, which has no number of its own; as an index it is the last one."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Actor(ABC):
    """A part of Batsim that waits and acts.

    Attributes:
        host: where it runs, the number of a host or `MASTER`.
        message: what it has received last; None after a time-out.
        in_time: whether the work that it waited for has come to its end before the time-out.
        is_dead: whether it was killed.
        call: the kernel call that it makes, 0 if it makes none; this and what follows is the queue's own business.
        argument: what belongs to the call.
        extra: what belongs to it besides.
        sleep: the number of its sleep, or 0.
        alarm: its time-out, or None.
    """

    __slots__ = ("alarm", "argument", "call", "extra", "host", "in_time", "is_dead", "message", "sleep")

    def __init__(self, host: int = MASTER) -> None:
        self.host = host
        self.message: Any = None
        self.in_time = True
        self.is_dead = False
        self.call = 0
        self.argument: Any = None
        self.extra: Any = None
        self.sleep = 0
        self.alarm: Any = None

    @abstractmethod
    def run(self, simulator: Any) -> None:
        """Go on until the next waiting."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Mailbox:
    """Where one actor receives messages, one at a time.

    Attributes:
        inbox: what was posted and is not being transferred yet, oldest first.
        expected: the message that somebody waits for and nobody has posted yet, or None.
    """

    __slots__ = ("expected", "inbox")

    def __init__(self) -> None:
        self.inbox: deque[Any] = deque()
        self.expected: Any = None
