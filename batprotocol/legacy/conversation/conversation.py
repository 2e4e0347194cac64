"""Conversation: what was said so far in an older protocol, judged message by message.

Both sides take turns, and Batsim begins. What Batsim says is read and believed; what the scheduler says is judged as it
is on the wire. It must not know of any single event: `heard` and `said` do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from batprotocol.errors import DecodeError, EncodeError, shown
from batprotocol.legacy.conversation.json.heard import HEARD
from batprotocol.legacy.conversation.json.members import Members, members_of
from batprotocol.legacy.conversation.json.said import SAID, SIZES
from batprotocol.legacy.conversation.numbers import printable
from batprotocol.legacy.conversation.rules import CATALOGUE, RULE_SETS, Violation
from batprotocol.legacy.conversation.state import State, Unfit
from batprotocol.legacy.json import codec
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.versions import rows_of
from batprotocol.legacy.text import codec as text_codec
from batprotocol.legacy.text.as_json import to_json
from batprotocol.legacy.wire import detect
from batprotocol.model import Direction

__all__ = ["Conversation", "check", "rule_set_of"]

_VERSIONS: Final = {"batsim-1.4.0": (1, 4, 0), "batsim-2.0.0": (2, 0, 0), "batsim-4.2.1": (4, 2, 1), "text-3": (1, 4)}


def rule_set_of(first: bytes) -> str:
    """The rule set for the Batsim that says this first.

    >>> rule_set_of(b"3:0.000000|0.000000:A")
    'text-3'
    """
    if detect(first) in ("text", "frame"):
        return "text-3"
    for words, rule_set in ((b'"nb_compute_resources"', 2), (b'"compute_resources"', 2), (b'"workloads"', 1)):
        if words in first:
            return RULE_SETS[rule_set]
    return RULE_SETS[0] if b'"resources_data"' in first else RULE_SETS[2]


class Conversation:
    """A conversation, from SIMULATION_BEGINS on.

    Args:
        rules: one of `RULE_SETS`, or "" for the one of the Batsim that speaks, as far as its first message tells.

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
        self._speaker = Direction.BATSIM_TO_EDC

    @property
    def state(self) -> State:
        """What is known."""
        if self._state is None:
            rules = self._rules or RULE_SETS[2]
            self._state = State(rules, CATALOGUE.severities(rules))
        return self._state

    def feed(self, data: bytes, *more: bytes) -> list[Violation]:
        """Take the next message, and tell all that is wrong with it.

        Args:
            data: its bytes.
            more: further frames of it; there should be none.
        """
        if self._state is None and not self._rules:
            self._rules = rule_set_of(data)
        state, speaker = self.state, self._speaker
        state.found = []
        is_batsim = speaker is Direction.BATSIM_TO_EDC
        if more:
            state.report("message.parts", "", f"a message is one frame, and this one has {1 + len(more)}")
        else:
            try:
                message, entries = self._read(data, state)
            except DecodeError as error:
                state.report("message.form", error.path, error.reason)
            else:
                self._times(message, state)
                if is_batsim:
                    self._hear(message, state)
                else:
                    self._judge(message, entries, state)
        state.number += 1
        self._speaker = Direction.EDC_TO_BATSIM if is_batsim else Direction.BATSIM_TO_EDC
        return state.found

    def _read(self, data: bytes, state: State) -> tuple[e.Message, list[Any]]:
        """The message, and its events as they are on the wire."""
        if state.major == 0:
            framed = detect(data) == "frame"
            message = to_json(text_codec.decode_frame(data) if framed else text_codec.decode(data))
            return message, []
        if self._speaker is Direction.BATSIM_TO_EDC:
            return codec.decode(data, _VERSIONS[state.rule_set]), []
        found = members_of(data)
        return _message_of(found), found["events"]

    def _times(self, message: e.Message, state: State) -> None:
        last = float("-inf")
        if message.now > 0 and not printable(message.now):
            state.report("message.time", "now", f"{message.now} is too large to be printed")
        for index, event in enumerate(message.events):
            path = f"events[{index}].timestamp"
            if event.timestamp > message.now:
                state.report("message.time", path, f"{event.timestamp} is later than now, {message.now}")
            elif event.timestamp < last:
                state.report("message.order", path, f"{event.timestamp} is earlier than {last}, which was said before")
            last = event.timestamp

    def _hear(self, message: e.Message, state: State) -> None:
        state.now = state.clock = message.now
        state.killing.clear()
        for event in message.events:
            take = HEARD.get(type(event))
            if take is not None:
                take(state, event)

    def _judge(self, message: e.Message, entries: list[Any], state: State) -> None:
        if state.major == 0:
            entries = [_entry(event) for event in message.events]
        state.registration_closed = state.registration_ended
        for index, entry in enumerate(entries):
            kind, data, path = entry["type"], entry["data"], f"events[{index}].data"
            if entry["timestamp"] > state.clock:  # Batsim waits until then, and does meanwhile what was said before
                state.clock, state.registration_closed = entry["timestamp"], state.registration_ended
            judge = SAID.get(kind)
            row = rows_of(_VERSIONS[state.rule_set]).get(kind)
            if judge is None or row is None or Direction.EDC_TO_BATSIM not in row.directions:
                state.report("event.unknown", f"events[{index}].type", f"there is no event {shown(kind)}")
                continue
            if not isinstance(data, Members):
                state.report("event.form", path, f"expected an object, found {shown(data)}")
                continue
            sizes = SIZES.get(kind)
            if sizes is not None and data.count not in sizes and state.major:
                expected = " or ".join(map(str, sizes))
                state.report("event.form", path, f"expected {expected} members, found {data.count}")
                continue
            try:
                judge(state, data, path, entry["timestamp"])
            except Unfit as fault:
                state.report(fault.rule, fault.path, fault.text)


def _message_of(found: Any) -> e.Message:
    """The frame of a message, as Batsim looks at it first."""
    if not isinstance(found, dict):
        raise DecodeError(f"expected an object, found {shown(found)}")
    now: Any = found.get("now")
    entries = found.get("events")
    if type(now) not in (int, float):
        raise DecodeError("expected a number, found " + shown(now) if "now" in found else "it is missing", "now")
    if not isinstance(entries, list):
        raise DecodeError(f"expected an array, found {shown(entries)}", "events")
    events = []
    for index, entry in enumerate(entries):
        path = f"events[{index}]"
        if not isinstance(entry, dict):
            raise DecodeError(f"expected an object, found {shown(entry)}", path)
        for key in ("timestamp", "type", "data"):
            if key not in entry:
                raise DecodeError("it is missing", f"{path}.{key}")
        if type(entry["timestamp"]) not in (int, float):
            raise DecodeError(f"expected a number, found {shown(entry['timestamp'])}", f"{path}.timestamp")
        if not isinstance(entry["type"], str):
            raise DecodeError(f"expected a string, found {shown(entry['type'])}", f"{path}.type")
        events.append(e.OtherEvent(entry["timestamp"], entry["type"], entry["data"]))
    return e.Message(now, tuple(events))


def _entry(event: e.Event) -> Any:
    """An event that was said in text, as JSON has it."""
    try:
        return members_of(codec.encode(e.Message(event.timestamp, (event,)), (1, 4)))["events"][0]
    except EncodeError as error:  # who says it is not the scheduler
        return {"timestamp": event.timestamp, "type": str(error), "data": Members([])}


def check(messages: Iterable[bytes], rules: str = "") -> list[Violation]:
    """All that is wrong with a conversation.

    Args:
        messages: its messages, from SIMULATION_BEGINS on.
        rules: one of `RULE_SETS`, or "" for the one of the Batsim that speaks.

    >>> check([b'{"now":0,"events":[]}', b'{"now":0,"events":[]}'])
    []
    """
    conversation = Conversation(rules)
    found: list[Violation] = []
    for message in messages:
        found += conversation.feed(message)
    return found
