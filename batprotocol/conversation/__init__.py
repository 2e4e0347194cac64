"""What may be said when: the rules of the conversation between Batsim and a decision component.

`check` judges a conversation that took place; `Conversation` is the state of one that goes on, and judges each message,
or each event of a reply before it is sent. The rules are in `RULES`, their severities in `RULE_SETS`. Nothing here
opens a socket or a file, or raises because of what a peer said.

A message goes through these modules: `conversation` (whose turn is it?), `reading` (bytes to values), `times` (its now
and timestamps), then for each event the row of the table `events`, which says when it can come and which functions of
the topics judge it: `simulation`, `jobs` (with `placements`, `tasks` and `profiles`), `registration`, `periodic` and
`hosts` (with `hostsets`). They look up the automata of `automaton`, read and change the `state` (with `known_jobs` and
`holding`, of which `usage` is the form for people), and report there what breaks a rule of the catalogue, `rules`.
"""

from __future__ import annotations

from collections.abc import Iterable

from batprotocol.conversation.automaton import HostPower, JobState, Phase, Registration
from batprotocol.conversation.conversation import Conversation
from batprotocol.conversation.known_jobs import JobRecord
from batprotocol.conversation.reading import Said
from batprotocol.conversation.rules import CATALOGUE, DEFAULT_RULE_SET, RULE_SETS, RULES, Violation
from batprotocol.conversation.state import CallRecord, HostRecord, ProbeRecord
from batprotocol.rules import Rule, Severity

__all__ = [
    "CATALOGUE",
    "DEFAULT_RULE_SET",
    "RULES",
    "RULE_SETS",
    "CallRecord",
    "Conversation",
    "HostPower",
    "HostRecord",
    "JobRecord",
    "JobState",
    "Phase",
    "ProbeRecord",
    "Registration",
    "Rule",
    "Said",
    "Severity",
    "Violation",
    "check",
]


def check(messages: Iterable[Said], rules: str = DEFAULT_RULE_SET) -> list[Violation]:
    """All that is wrong with a conversation, in the order of its messages.

    Args:
        messages: all messages from the initialization data on, Batsim's and the decision component's in turn, as raw
            bytes (the frames of the handshake, then messages in the format that the hello's flags chose) or as values
            (`str`, `frames.Hello` or `Message`, then `Message`). They may stop anywhere.
        rules: the rule set: "batsim-5.0.0-rc2" (what that Batsim does) or "protocol" (what schema and documentation
            demand). ValueError if there is no such rule set.

    >>> print(*check([b"\\x04\\x00\\x00\\x00init", b"\\x01\\x00"]))
    message 1: error: expected a flags word of 4 bytes, found 2 bytes (byte 2) [frame.hello]
    """
    conversation = Conversation(rules)
    found: list[Violation] = []
    for said in messages:
        found += conversation.feed(said)
    return found
