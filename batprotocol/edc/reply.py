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

    __slots__ = ("_told", "doubtful")

    def __init__(self) -> None:
        self.doubtful = False
        """Whether the other side has said what cannot be, so that nobody knows what can still happen."""
        self._told: set[str] = set()

    def judge(self, violations: Sequence[Violation]) -> None:
        """Of our own side: raise `RuleViolation` if Batsim would not survive any of these, log the others."""
        fatal = [violation for violation in violations if violation.is_fatal]
        if fatal:
            raise RuleViolation(fatal)
        self._tell(violations)

    def foresee(self, violations: Sequence[Violation]) -> None:
        """Like `judge`, for what follows from the whole state: a deadlock is only believed while that makes sense."""
        if self.doubtful:
            self._tell([violation for violation in violations if violation.severity == "deadlock"])
            violations = [violation for violation in violations if violation.severity != "deadlock"]
        self.judge(violations)

    def note(self, violations: Sequence[Violation]) -> None:
        """Of the other side: log them, however severe. What Batsim has said is nothing to stop for."""
        self.doubtful = self.doubtful or any(violation.is_fatal for violation in violations)
        self._tell(violations)

    def _tell(self, violations: Sequence[Violation]) -> None:
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

    def __init__(self, conversation: Conversation, verdicts: Verdicts, now: float, is_sent: bool = False) -> None:
        # Not super().__init__: whoever makes a reply knows that the time is finite, and there is one in most turns.
        self._now = now
        self._events = []
        self._finished = is_sent
        self._conversation = conversation
        self._verdicts = verdicts

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
        return Message(self._now, tuple(self._events))

    def _accept(self, event: Event) -> None:
        violations = self._conversation.offer(event)
        if violations:
            self._verdicts.judge(violations)
        self._events.append(event)
        self._now = event.timestamp
