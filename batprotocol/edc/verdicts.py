"""Handles violations in a decision component: fatal ones of its own side are raised, all others logged.

This module must not know how replies are made, nor of sockets.
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
    """Asks a conversation about events, raises fatal violations of our own side, and logs all others.

    The first violation of a rule is logged as a warning, the others at the level for debugging: a rule that is broken
    once is usually broken a thousand times.

    Args:
        conversation: the conversation.
        intended: the ids of rules whose violations the scheduler intends. They are not logged, if they are not fatal.
    """

    __slots__ = ("_intended", "_logged", "conversation", "doubtful")

    def __init__(self, conversation: Conversation, intended: frozenset[str] = frozenset()) -> None:
        self.conversation = conversation
        self._intended = intended
        self.doubtful = False
        """Whether the other side has sent something impossible, so that the state is not reliable any more."""
        self._logged: set[str] = set()

    def offer(self, event: Event) -> None:
        """One more event of the reply that is being made: it takes effect, or `RuleViolation` is raised."""
        violations = self.conversation.offer(event)
        if violations:
            self.judge(violations)

    def judge(self, violations: Sequence[Violation]) -> None:
        """Violations of our own side: raise `RuleViolation` if Batsim would not survive one of them, else log them."""
        fatal = [violation for violation in violations if violation.is_fatal]
        if fatal:
            raise RuleViolation(fatal)
        self._log(violations)

    def foresee(self, violations: Sequence[Violation]) -> None:
        """Like `judge`, for violations by the whole state: a deadlock counts only while the state is reliable."""
        if self.doubtful:
            self._log([violation for violation in violations if violation.severity == "deadlock"])
            violations = [violation for violation in violations if violation.severity != "deadlock"]
        self.judge(violations)

    def note(self, violations: Sequence[Violation]) -> None:
        """Violations of the other side: log them, however severe. The simulation goes on."""
        self.doubtful = self.doubtful or any(violation.is_fatal for violation in violations)
        self._log(violations)

    def _log(self, violations: Sequence[Violation]) -> None:
        for violation in violations:
            if violation.rule in self._intended:
                continue
            logger.log(logging.DEBUG if violation.rule in self._logged else logging.WARNING, "%s", violation)
            self._logged.add(violation.rule)
