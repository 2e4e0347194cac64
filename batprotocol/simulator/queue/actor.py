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
        alarm: what it waits for; the queue's own business.
    """

    __slots__ = ("alarm", "host", "in_time", "is_dead", "message")

    def __init__(self, host: int = MASTER) -> None:
        self.host = host
        self.message: Any = None
        self.in_time = True
        self.is_dead = False
        self.alarm: Any = None

    @abstractmethod
    def run(self, simulator: Any) -> None:
        """Go on until the next waiting."""

    def when_due(self, queue: Any) -> None:
        """A sleep is over, or a time-out."""
        if self.message is None:  # it only slept
            self.in_time = False
            queue.ready.append(self)
        else:
            queue.time_out(self)


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Mailbox:
    """Where one actor receives messages, one at a time.

    Attributes:
        owner: the actor that receives here.
        inbox: what was posted and is not being transferred yet, oldest first.
        receiver: whoever waits for a message that nobody has posted yet, or None.
        transfer: the message on its way, or None.
    """

    __slots__ = ("alarm", "inbox", "owner", "receiver", "transfer")

    def __init__(self, owner: Actor) -> None:
        self.owner = owner
        self.inbox: deque[Any] = deque()
        self.receiver: Any = None
        self.transfer: Any = None
        self.alarm: Any = None

    def when_due(self, queue: Any) -> None:
        """A message is delivered: its receiver goes on before the sender can post again, as posting takes a while."""
        self.owner.message, sender = self.transfer
        self.transfer = None
        queue.ready.append(self.owner)
        if sender is not None:
            queue.ready.append(sender)
