"""The rules of the conversation between Batsim and a decision component: which event each side may send when.

`check` checks a finished conversation. `Conversation` is the state of a running one, and checks each message, or each
event of a reply before it is sent. The rules are in `RULES`, their severities in `RULE_SETS`. This package opens no
socket and no file, and raises no exception because of a peer's message.

A message goes through `conversation`, which has the turns, and judges the now of the message and the timestamps of its
events. For each event, a row of the table `events` defines when it can come and which functions of the topics check it:
`simulation` (which also reads the bytes of messages), `jobs` (with `profiles`), `registration`, `periodic` and `hosts`
(with `hostsets`). They look up the automata of `automaton`, read and change the `state` (with `known_jobs`), and report
broken rules of the catalogue `rules` there, by the id of the rule. `usage` shows users the hosts that jobs hold, and
`advice` is about conversations that keep the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from batprotocol._util.deprecation import old_names
from batprotocol._util.rules import Rule, Severity
from batprotocol.conversation.automaton import HostPower, JobState, Phase, Registration
from batprotocol.conversation.conversation import Conversation
from batprotocol.conversation.known_jobs import JobRecord
from batprotocol.conversation.rules import CATALOGUE, DEFAULT_RULE_SET, RULE_SETS, RULES, Violation
from batprotocol.conversation.simulation import AnyMessage
from batprotocol.conversation.state import CallRecord, HostRecord, ProbeRecord

__all__ = [
    "CATALOGUE",
    "DEFAULT_RULE_SET",
    "RULES",
    "RULE_SETS",
    "AnyMessage",
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
    "Severity",
    "Violation",
    "check",
]


__getattr__ = old_names(__name__, {"Said": "AnyMessage"})


def check(
    messages: Iterable[AnyMessage],
    rules: str = DEFAULT_RULE_SET,
    *,
    asks_for_a_part: Callable[[str], bool] | None = None,
) -> list[Violation]:
    """Return all violations of a conversation, in the order of its messages.

    Args:
        messages: all messages from the initialization data on, Batsim's and the decision component's in turn. They are
            raw bytes (the frames of the handshake, then messages in the format that the hello's flags chose) or values
            (`str`, `frames.Hello` or `Message`, then `Message`). The conversation may be incomplete.
        rules: the rule set: "batsim-5.0.0-rc2" (what that Batsim does) or "protocol" (what schema and documentation
            demand).
        asks_for_a_part: see `Conversation`.

    Raises:
        ValueError: there is no such rule set.

    >>> print(*check([b"\\x04\\x00\\x00\\x00init", b"\\x01\\x00"]))
    message 1: error: expected a flags word of 4 bytes, found 2 bytes (byte 2) [frame.hello]
    """
    conversation = Conversation(rules, asks_for_a_part=asks_for_a_part)
    found: list[Violation] = []
    for said in messages:
        found += conversation.feed(said)
    return found
