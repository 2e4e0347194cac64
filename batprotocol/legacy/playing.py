"""A scheduler of this library behind a bridge, with a conversation that checks the current rules.

This module uses only the outer interface of a scheduler, as simulators do, and none of its methods.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from batprotocol.conversation import DEFAULT_RULE_SET, Conversation
from batprotocol.errors import RuleViolation
from batprotocol.model import AllStaticJobsHaveBeenSubmittedEvent, Message, SimulationEndsEvent

__all__ = ["Judged", "Player"]

logger = logging.getLogger("batprotocol.legacy")


class Player(Protocol):
    """A decision component that shares a conversation with its caller, as `edc.Scheduler` does."""

    def hello(self, text: str, /) -> Message:
        """The first message, for these initialization data."""

    def player(self, conversation: Conversation, /) -> Callable[[Message], Message]:
        """The function that replies to a message of the conversation, and adds the reply to the conversation."""


class Judged:
    """A scheduler with its conversation: a decision component for `bridge.drive`.

    Args:
        player: the scheduler.
        rules: the rule set of the current protocol, which checks both sides.
        init: initialization data for the scheduler, in place of Batsim's own.

    A violation of the scheduler raises `RuleViolation`. A violation of Batsim is accepted, and logged once.
    """

    def __init__(self, player: Player, rules: str = DEFAULT_RULE_SET, init: str | None = None) -> None:
        self.conversation = Conversation(rules)
        self._player = player
        self._init = init
        self._answer: Callable[[Message], Message] | None = None
        self._told: set[str] = set()

    def hello(self, text: str) -> Message:
        """The first message, for these initialization data."""
        self.conversation.begin(text)
        hello = self._player.hello(text if self._init is None else self._init)
        fatal = [violation for violation in self.conversation.hello(hello) if violation.is_fatal]
        if fatal:
            raise RuleViolation(fatal)
        self._answer = self._player.player(self.conversation)
        return hello

    def answer(self, message: Message) -> Message:
        """The reply to a message."""
        assert self._answer is not None, "the hello comes first"
        kinds = {type(event) for event in message.events}
        if {AllStaticJobsHaveBeenSubmittedEvent, SimulationEndsEvent} <= kinds:
            # The end of a Batsim that does not report the last job of its workload: nobody could finish registration.
            self._told.add("simulation.ends-early")
        for violation in self.conversation.receive(message):
            logger.log(logging.DEBUG if violation.rule in self._told else logging.WARNING, "%s", violation)
            self._told.add(violation.rule)
            self.conversation.doubtful = self.conversation.doubtful or violation.is_fatal
        return self._answer(message)
