"""The reply that a decision component fills in: a MessageBuilder that asks the conversation about each event.

What Batsim would refuse is refused here, in the very call that asks for it, and leaves the reply as it was. It must not
know of sockets, nor of who calls it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from batprotocol.builder import MessageBuilder
from batprotocol.conversation import Conversation, Violation
from batprotocol.errors import BuilderError, RuleViolation
from batprotocol.model import Event, Message

__all__ = ["Reply", "Verdicts"]

logger = logging.getLogger("batprotocol.edc")


class Verdicts:
    """What becomes of violations: those of our own side that are fatal are raised, all others are logged.

    Each rule is logged once as a warning, and from then on for debugging only: a rule that is broken once is usually
    broken a thousand times.
    """

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: set[str] = set()

    def raise_fatal(self, violations: Sequence[Violation]) -> None:
        """Raise `RuleViolation` if Batsim would not survive any of these violations; log the others."""
        fatal = [violation for violation in violations if violation.is_fatal]
        if fatal:
            raise RuleViolation(fatal)
        self.tell(violations)

    def tell(self, violations: Sequence[Violation]) -> None:
        """Log these violations, however severe they are: those of Batsim's own messages are nothing to stop for."""
        for violation in violations:
            logger.log(logging.DEBUG if violation.rule in self._told else logging.WARNING, "%s", violation)
            self._told.add(violation.rule)


class Reply(MessageBuilder):
    """A `MessageBuilder` for one reply to Batsim, at the time of the message that it answers.

    Its methods raise `RuleViolation` where Batsim would abort, crash or wait for ever, and have no effect then. A reply
    is sent by whoever made it; `finish_message` is only needed to think: `reply.finish_message(reply.current_time + 5)`
    lets five seconds of simulated time pass.
    """

    __slots__ = ("_conversation", "_verdicts")

    def __init__(self, conversation: Conversation, verdicts: Verdicts, now: float) -> None:
        super().__init__(now)
        self._conversation = conversation
        self._verdicts = verdicts

    def clear(self, now: float = 0.0) -> None:
        """Refused once the reply holds events: the conversation goes on from them.

        Args:
            now: the current time from here on, in simulated seconds.
        """
        if getattr(self, "_events", None):
            raise BuilderError("expected no clear() of a reply that holds events: each took effect when it was added")
        super().clear(now)

    def message(self) -> Message:
        """The reply as it is to be sent: finished, if nobody has done that yet, and judged as a whole.

        Raises:
            RuleViolation: the simulation could not go on after it.
        """
        message = Message(self._now, tuple(self._events)) if self._finished else self.finish_message()
        violations = self._conversation.close_reply(message)
        if violations:
            self._verdicts.raise_fatal(violations)
        return message

    def _append(self, event: Event) -> None:
        before = self._now
        super()._append(event)
        violations = self._conversation.offer(self._events[-1])
        if violations:
            try:
                self._verdicts.raise_fatal(violations)
            except RuleViolation:
                self._events.pop()
                self._now = before
                raise
