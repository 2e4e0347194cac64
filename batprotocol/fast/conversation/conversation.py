"""Conversation: it checks the messages on all topics of FaST, one by one.

It does no I/O and has no clock of its own: the caller passes the time of each message. It must not know of any single
message: `tasks`, `agents` and `pscom` do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from batprotocol.errors import DecodeError, shown
from batprotocol.fast.conversation.agents import Agents
from batprotocol.fast.conversation.machines import Machines
from batprotocol.fast.conversation.pscom import Pscom
from batprotocol.fast.conversation.rules import CATALOGUE, Violation
from batprotocol.fast.conversation.state import State
from batprotocol.fast.conversation.tasks import Tasks
from batprotocol.fast.recording import Recorded
from batprotocol.fast.topics import Channel, Topic
from batprotocol.fast.wire import decode

__all__ = ["Conversation", "check"]

_ROOT: Final = "fast/"


class Conversation:
    """A conversation of any number of nodes.

    Args:
        rules: one of `RULE_SETS`, or "" for the default, `protocol`.

    >>> conversation = Conversation()
    >>> conversation.feed("fast/migfra/node-a/task", b"task: stop vm\\nlist: [{vm-name: vm1}]\\nid: 7", 0.0)
    []
    >>> answer = b"result: vm stopped\\nlist: [{vm-name: vm2, status: success}]\\nid: 7"
    >>> print(*conversation.feed("fast/migfra/node-a/result", answer, 0.1))
    message 1, list[0].vm-name: error: expected the machine 'vm1', found 'vm2' [result.entries]
    """

    def __init__(self, rules: str = "") -> None:
        self._state = State(rules or CATALOGUE.default)
        self._agents = Agents()
        pscom = Pscom()
        tasks = Tasks(Machines(), pscom)
        agents = self._agents
        self._takers: dict[Channel, Callable[[str, Any, State], None]] = {
            Channel.MIGFRA_TASK: tasks.asked,
            Channel.MIGFRA_RESULT: tasks.answered,
            Channel.AGENT_STATUS: agents.status,
            Channel.AGENT_TASK: agents.told,
            Channel.AGENT_INIT_AGENT: agents.told,
            Channel.AGENT_STOP_MONITORING: agents.told,
            Channel.MMBWMON_REQUEST: agents.asked,
            Channel.MMBWMON_RESPONSE: agents.answered,
            Channel.MMBWMON_STOP: agents.asked,
            Channel.MMBWMON_STOP_ACK: agents.answered,
            Channel.MMBWMON_RESTART: agents.asked,
            Channel.MMBWMON_RESTART_ACK: agents.answered,
            Channel.PSCOM_REQUEST: pscom.asked,
            Channel.PSCOM_RESPONSE: pscom.answered,
        }

    @property
    def number(self) -> int:
        """The number of messages so far, which is the number of the next one."""
        return self._state.number

    def feed(self, topic: str, payload: bytes, time: float, *, retain: bool = False) -> list[Violation]:
        """Take the next message, and return all violations in it, and the answers that are overdue.

        Args:
            topic: its topic. A message whose topic is not below `fast/` is not checked.
            payload: its bytes.
            time: when it came, in seconds, of any clock.
            retain: whether the broker had kept it from before.
        """
        state = self._state
        state.found = []
        state.clock(time)
        found = Topic.find(topic)
        if found is not None:
            if retain:
                state.report("message.retained", "", "it was published with the retain flag")
            self._take(found, payload)
        elif topic.startswith(_ROOT):
            state.report("message.topic", "", f"{shown(topic)} is not a topic of FaST")
        state.number += 1
        return state.found

    def wait(self, time: float) -> list[Violation]:
        """Return the answers that are overdue at this time, as violations."""
        self._state.found = []
        self._state.clock(time)
        return self._state.found

    def finish(self) -> list[Violation]:
        """End the conversation, and return the answers that are missing, as violations."""
        self._state.found = []
        self._state.end()
        return self._state.found

    def _take(self, topic: Topic, payload: bytes) -> None:
        state = self._state
        message: Any = None
        try:
            message = decode(payload, topic, dialect="any")
            if "message.dialect" in state.severities:
                decode(payload, topic)
        except DecodeError as error:
            is_task = topic.channel is Channel.MIGFRA_TASK
            rule = "message.dialect" if message is not None else "task.form" if is_task else "message.form"
            place = f"line {error.line}: " if error.line is not None else ""
            state.report(rule, error.path, f"{place}{error.reason}")
            if message is None and not is_task:
                return
        taker = self._takers.get(topic.channel)
        if taker is not None:
            taker(topic.name, message, state)


def check(messages: Iterable[Recorded], rules: str = "") -> list[Violation]:
    """Return all violations in a recorded conversation.

    Args:
        messages: its messages, in the order in which they came.
        rules: one of `RULE_SETS`, or "" for the default.

    >>> check([Recorded("fast/migfra/node-a/task", b"task: quit")])[0].rule
    'task.open'
    """
    conversation = Conversation(rules)
    found: list[Violation] = []
    for message in messages:
        found += conversation.feed(message.topic, message.payload, message.time, retain=message.retain)
    return found + conversation.finish()
