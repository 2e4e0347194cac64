"""The judge of messages in JSON: it trusts Batsim, and judges the scheduler as its messages are on the wire.

This module must not know any single event: `heard` and `said` do.
"""

from __future__ import annotations

from typing import Any, Final

from batprotocol.errors import DecodeError, shown
from batprotocol.legacy.conversation.json.heard import HEARD
from batprotocol.legacy.conversation.json.members import Members, members_of
from batprotocol.legacy.conversation.json.said import SAID, SIZES
from batprotocol.legacy.conversation.state import State, Unfit
from batprotocol.legacy.cpp import printable
from batprotocol.legacy.json import codec
from batprotocol.legacy.json.versions import rows_of, version_of
from batprotocol.model import Direction

__all__ = ["JsonJudge"]


class JsonJudge:
    """Judges messages in JSON.

    Args:
        rule_set: the Batsim whose rules apply.
        state: the state of the conversation.
    """

    def __init__(self, rule_set: str, state: State) -> None:
        self._version: Final = version_of(rule_set.removeprefix("batsim-"))
        self._rows: Final = rows_of(self._version)
        self._state: Final = state

    def hear(self, data: bytes) -> None:
        """Take a message of Batsim. `DecodeError` if it is not a message."""
        state = self._state
        message = codec.decode(data, self._version)
        self._times(message.now, [event.timestamp for event in message.events])
        state.now = state.clock = message.now
        state.killing.clear()
        for event in message.events:
            take = HEARD.get(type(event))
            if take is not None:
                take(state, event)

    def judge(self, data: bytes) -> None:
        """Judge a message of the scheduler. `DecodeError` if it is not a message."""
        state = self._state
        found = members_of(data)
        entries = _entries_of(found)
        self._times(found["now"], [entry["timestamp"] for entry in entries])
        state.registration_closed = state.registration_ended
        for index, entry in enumerate(entries):
            if entry["timestamp"] > state.clock:  # Batsim waits until then, and handles the earlier events meanwhile
                state.clock, state.registration_closed = entry["timestamp"], state.registration_ended
            try:
                self._judge_event(entry["type"], entry["data"], f"events[{index}]", entry["timestamp"])
            except Unfit as fault:
                state.report(fault.rule, fault.path, fault.text)

    def finish(self) -> None:
        """Take the end of the conversation: in JSON, this breaks no rule."""

    def _times(self, now: float, times: list[float]) -> None:
        last, report = float("-inf"), self._state.report
        if now > 0 and not printable(now):
            report("message.time", "now", f"{now} is too large to be printed")
        for index, time in enumerate(times):
            path = f"events[{index}].timestamp"
            if time > now:
                report("message.time", path, f"{time} is later than now, {now}")
            elif time < last:
                report("message.order", path, f"{time} is earlier than {last}, which came before it")
            last = time

    def _judge_event(self, kind: str, data: Any, path: str, time: float) -> None:
        judge, row = SAID.get(kind), self._rows.get(kind)
        if judge is None or row is None or Direction.EDC_TO_BATSIM not in row.directions:
            raise Unfit("event.unknown", f"{path}.type", f"there is no event {shown(kind)}")
        path = f"{path}.data"
        if not isinstance(data, Members):
            raise Unfit("event.form", path, f"expected an object, found {shown(data)}")
        sizes = SIZES.get(kind)
        if sizes is not None and data.count not in sizes:
            expected = " or ".join(map(str, sizes))
            raise Unfit("event.form", path, f"expected {expected} members, found {data.count}")
        judge(self._state, data, path, time)


def _entries_of(found: Any) -> list[Any]:
    """The events of a message, after the first checks of Batsim."""
    if not isinstance(found, dict):
        raise DecodeError(f"expected an object, found {shown(found)}")
    now: Any = found.get("now")
    entries = found.get("events")
    if type(now) not in (int, float):
        raise DecodeError("expected a number, found " + shown(now) if "now" in found else "it is missing", "now")
    if not isinstance(entries, list):
        raise DecodeError(f"expected an array, found {shown(entries)}", "events")
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
    return entries
