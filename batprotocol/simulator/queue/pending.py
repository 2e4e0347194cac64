"""What the queue has pending besides actions: messages on their way, and time-outs."""

from __future__ import annotations

from typing import Any

from mypy_extensions import mypyc_attr

from batprotocol.simulator.queue.actor import Actor, Mailbox

__all__ = ["Communication", "Timer"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Communication:
    """One message, from the first half of its meeting (post or receive) to its delivery.

    Attributes:
        first: who waited first for its delivery, or None.
        second: who waited next.
        timeout: when its receiver waits no more, or None.
    """

    __slots__ = ("first", "is_done", "is_started", "message", "receiver", "second", "sender", "timeout")

    def __init__(self) -> None:
        self.sender: Actor | None = None
        self.receiver: Actor | None = None
        self.message: Any = None
        self.is_started = False
        self.is_done = False
        self.first: Actor | None = None
        self.second: Actor | None = None
        self.timeout: Timer | None = None


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Timer:
    """The end of somebody's patience, which knows its date: unlike an action, no step is subtracted from it.

    Attributes:
        date: when.
        what: the task or the communication that somebody waits for; None if nobody waits any more.
        mailbox: where the communication is expected.
        node: where it is kept among others, as long as it is to come.
    """

    __slots__ = ("date", "mailbox", "node", "what")

    def __init__(self, date: float, what: Any, mailbox: Mailbox | None) -> None:
        self.date = date
        self.what = what
        self.mailbox = mailbox
        self.node = 0
