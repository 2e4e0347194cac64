"""What becomes of violations in a decision component: those of its own side are raised where they are fatal.

It must not know how replies are made, nor of sockets.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from batprotocol.conversation import Conversation, Violation
from batprotocol.errors import RuleViolation
from batprotocol.model import Event

__all__ = ["Verdicts", "logger"]

logger: Final = logging.getLogger("batprotocol.edc")


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Verdicts:
    """Asks a conversation, and judges what it finds: fatal violations of our own side are raised, all others logged.

    Each rule is logged once as a warning, and from then on for debugging only: a rule that is broken once is usually
    broken a thousand times.

    Args:
        conversation: what is asked.
    """

    __slots__ = ("_told", "conversation", "doubtful")

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.doubtful = False
        """Whether the other side has said what cannot be, so that nobody knows what can still happen."""
        self._told: set[str] = set()

    def offer(self, event: Event) -> None:
        """One more event of the reply that is being made: it takes effect, or `RuleViolation` is raised."""
        violations = self.conversation.offer(event)
        if violations:
            self.judge(violations)

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
