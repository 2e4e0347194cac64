"""The reply that a decision component fills in: a MessageBuilder that asks the conversation about each event.

What Batsim would refuse is refused here, in the very call that asks for it, and leaves the reply as it was. It must not
know of sockets, nor of who calls it.
"""

from __future__ import annotations

from collections.abc import Callable

from batprotocol.builder import MessageBuilder
from batprotocol.errors import BuilderError
from batprotocol.model import Event, Message
from batprotocol.wire.making import new_message

__all__ = ["Reply"]


class Reply(MessageBuilder):
    """A `MessageBuilder` for one reply to Batsim, at the time of the message that it answers.

    Its methods raise `RuleViolation` where Batsim would abort, crash or wait for ever, and have no effect then. A reply
    is sent by whoever made it; `finish_message` is only needed to think: `reply.finish_message(reply.current_time + 5)`
    lets five seconds of simulated time pass.
    """

    __slots__ = ()

    def __init__(self, judge: Callable[[Event], object], now: float, is_sent: bool = False) -> None:
        # Not super().__init__: whoever makes a reply knows that the time is finite, and there is one in most turns.
        self._now = now
        self._events = []
        self._finished = is_sent
        self._judge = judge

    def clear(self, now: float = 0.0) -> None:
        """Refused once the reply holds events, as each has taken effect when it was added.

        Args:
            now: the current time from here on, in simulated seconds.
        """
        if self._events:
            raise BuilderError(f"expected no clear() of a reply with {len(self)} events: they were taken as said")
        super().clear(now)

    def finished(self) -> Message:
        """The reply as it is to be sent, whether or not it was finished before. Nothing more can be added then."""
        self._finished = True
        return new_message(self._now, tuple(self._events))
