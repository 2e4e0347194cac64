"""Conversation: the messages so far in an older protocol, judged one by one.

Both sides take turns, and Batsim begins. The conversation reads and trusts the messages of Batsim. It judges those of
the scheduler as they are on the wire. This module must not know any single event, nor the form of a message: `json`
and `text` do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from batprotocol.errors import DecodeError
from batprotocol.legacy.conversation.json.judging import JsonJudge
from batprotocol.legacy.conversation.rules import CATALOGUE, DEFAULT, RULE_SETS, Violation
from batprotocol.legacy.conversation.state import State
from batprotocol.legacy.conversation.text.judging import TextJudge
from batprotocol.legacy.wire import detect
from batprotocol.model import Direction

__all__ = ["Conversation", "check", "rule_set_of"]


def rule_set_of(first: bytes) -> str:
    """The rule set for the Batsim that begins with this message.

    >>> rule_set_of(b"3:0.000000|0.000000:A"), rule_set_of(b"0:1.000015|1.000015:S:1")
    ('text-3', 'text-0')
    """
    kind = detect(first)
    if kind in ("text", "frame"):
        said = re.match(rb"[0-9]+", first[4:] if kind == "frame" else first)
        version = f"text-{int(said[0])}" if said else ""
        return version if version in RULE_SETS else "text-3"
    for words, rule_set in (
        (b'"nb_compute_resources"', "batsim-4.2.1"),
        (b'"compute_resources"', "batsim-4.2.1"),
        (b'"workloads"', "batsim-2.0.0"),
    ):
        if words in first:
            return rule_set
    return "batsim-1.4.0" if b'"resources_data"' in first else DEFAULT


class Conversation:
    """A conversation, from SIMULATION_BEGINS on.

    Args:
        rules: one of `RULE_SETS`, or "" for the rule set of the Batsim that speaks, as its first message shows.

    >>> conversation = Conversation("batsim-4.2.1")
    >>> conversation.feed(b'{"now":0,"events":[]}')
    []
    >>> print(*conversation.feed(b'{"now":0,"events":[{"timestamp":0,"type":"HELLO","data":{}}]}'))
    message 1, events[0].type: error: there is no event 'HELLO' [event.unknown]
    """

    def __init__(self, rules: str = "") -> None:
        if rules:
            CATALOGUE.severities(rules)
        self._rules = rules
        self._state: State | None = None
        self._judge: JsonJudge | TextJudge | None = None
        self._speaker = Direction.BATSIM_TO_EDC

    @property
    def state(self) -> State:
        """The state of the conversation."""
        if self._state is None:
            rules = self._rules or DEFAULT
            self._state = State(rules, CATALOGUE.severities(rules))
            self._judge = (TextJudge if rules.startswith("text") else JsonJudge)(rules, self._state)
        return self._state

    def feed(self, data: bytes, *more: bytes) -> list[Violation]:
        """Take the next message, and return all its violations.

        Args:
            data: its bytes.
            more: further frames of it; there should be none.
        """
        if self._state is None and not self._rules:
            self._rules = rule_set_of(data)
        state, is_batsim = self.state, self._speaker is Direction.BATSIM_TO_EDC
        judge = self._judge
        assert judge is not None
        state.found = []
        if more:
            state.report("message.parts", "", f"a message is one frame, and this one has {1 + len(more)}")
        else:
            try:
                (judge.hear if is_batsim else judge.judge)(data)
            except DecodeError as error:
                state.report("message.form", error.path, error.reason)
        state.number += 1
        self._speaker = Direction.EDC_TO_BATSIM if is_batsim else Direction.BATSIM_TO_EDC
        return state.found

    def finish(self) -> list[Violation]:
        """The violations of a conversation that ends here, as violations of its last message."""
        state = self.state
        state.found = []
        if self._judge is not None and state.number:
            state.number -= 1
            self._judge.finish()
            state.number += 1
        return state.found


def check(messages: Iterable[bytes], rules: str = "") -> list[Violation]:
    """All violations of a conversation.

    Args:
        messages: its messages, from SIMULATION_BEGINS on.
        rules: one of `RULE_SETS`, or "" for the rule set of the Batsim that speaks.

    >>> check([b'{"now":0,"events":[]}', b'{"now":0,"events":[]}'])
    []
    """
    conversation = Conversation(rules)
    found: list[Violation] = []
    for message in messages:
        found += conversation.feed(message)
    return found + conversation.finish()
