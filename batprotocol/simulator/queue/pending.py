"""Pending messages and time-outs of the queue, besides actions."""

from __future__ import annotations

from typing import Any

from mypy_extensions import mypyc_attr

from batprotocol.simulator.queue.actor import Mailbox, SimulationActor

__all__ = ["Communication", "Timer"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Communication:
    """One message, from the first half of its meeting (post or receive) to its delivery.

    Attributes:
        first: the actor that waited first for its delivery, or None.
        second: the actor that waited next.
        timeout: the time-out of its receiver, or None.
    """

    __slots__ = ("first", "is_done", "is_started", "message", "receiver", "second", "sender", "timeout")

    def __init__(self) -> None:
        self.sender: SimulationActor | None = None
        self.receiver: SimulationActor | None = None
        self.message: Any = None
        self.is_started = False
        self.is_done = False
        self.first: SimulationActor | None = None
        self.second: SimulationActor | None = None
        self.timeout: Timer | None = None


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Timer:
    """A time-out with a date: unlike for an action, steps are not subtracted from it.

    Attributes:
        date: the time of the time-out.
        what: the task or the communication that an actor waits for; None if no actor waits any more.
        mailbox: the mailbox where the communication is expected.
        node: its node in `Timers`, until the time-out.
    """

    __slots__ = ("date", "mailbox", "node", "what")

    def __init__(self, date: float, what: Any, mailbox: Mailbox | None) -> None:
        self.date = date
        self.what = what
        self.mailbox = mailbox
        self.node = 0
