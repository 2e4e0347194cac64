"""The reply that a decision component fills in: a MessageBuilder that asks the conversation about each event.

The reply refuses an event that Batsim would refuse, in the call that adds it, and stays as it was. This module must not
know of sockets, nor of its callers.
"""

from __future__ import annotations

from collections.abc import Callable

from batprotocol.builder import MessageBuilder
from batprotocol.errors import BuilderError
from batprotocol.model import EDCRequestedSimulationFeatures, Event, Message
from batprotocol.wire.making import new_message

__all__ = ["Reply", "hello_message"]


# The first message of a decision component. Its fields come from the user, and the builder checks them: a compiled
# module would refuse other types before.


def hello_message(
    name: str, version: str, commit: str = "", features: EDCRequestedSimulationFeatures | None = None
) -> Message:
    """The first message of a decision component; the arguments are those of `MessageBuilder.add_edc_hello`."""
    builder = MessageBuilder()
    builder.add_edc_hello(name, version, commit, features)
    return builder.finish_message()


class Reply(MessageBuilder):
    """A `MessageBuilder` for one reply to Batsim, at the time of the message that it answers.

    Its methods raise `RuleViolation` where Batsim would abort, crash or never go on, and then have no effect. The
    server that made the reply sends it. Call `finish_message` only to let simulated time pass:
    `reply.finish_message(reply.current_time + 5)` replies five seconds later.
    """

    __slots__ = ()

    def __init__(self, judge: Callable[[Event], object], now: float, is_sent: bool = False) -> None:
        # Not super().__init__: the time is known to be finite, and most turns have a reply.
        self._now = now
        self._events = []
        self._finished = is_sent
        self._judge = judge

    def clear(self, now: float = 0.0) -> None:
        """Clear a reply without events. A reply with events refuses it: each event took effect when it was added.

        Args:
            now: the current time from here on, in simulated seconds.
        """
        if self._events:
            raise BuilderError(f"expected no clear() of a reply with {len(self)} events: they have taken effect")
        super().clear(now)

    def finished(self) -> Message:
        """The finished reply, ready to send. After this call, nothing can be added."""
        self._finished = True
        return new_message(self._now, tuple(self._events))
