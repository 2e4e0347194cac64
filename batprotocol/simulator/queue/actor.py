"""Actors: the parts of Batsim that wait for one another, as small state machines.

An actor runs until it must wait. Then it calls exactly one method of the queue, which runs it again after the wait. All
its data is in its fields, so a simulation can be copied and pickled between any two turns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any, Final

from mypy_extensions import mypyc_attr

__all__ = ["MASTER", "Mailbox", "SimulationActor"]

MASTER: Final = -1
"""The host of Batsim itself, which has no number of its own; as an index it is the last one."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class SimulationActor(ABC):
    """A part of Batsim that waits and acts.

    Attributes:
        host: the host where it runs: a number or `MASTER`.
        message: the last message that it has received; None after a time-out.
        in_time: whether the work that it waited for ended before the time-out.
        is_dead: whether it was killed.
        call: its kernel call, or 0. Only the queue uses this field and the following ones.
        argument: the argument of the call.
        extra: a second argument of the call.
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
        """Run until the next wait."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Mailbox:
    """The mailbox of one actor, which receives messages one at a time.

    Attributes:
        inbox: the messages that were posted and are not being transferred yet, oldest first.
        expected: the message that the actor waits for before it is posted, or None.
    """

    __slots__ = ("expected", "inbox")

    def __init__(self) -> None:
        self.inbox: deque[Any] = deque()
        self.expected: Any = None
