"""The older protocols, JSON and text, for the command: bytes -> their contents.

A JSON message does not contain its version, so it is read with the fields of all versions. The readers and rules are
imported only for such bytes. This module must not know how the bytes were found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from batprotocol.edc.recording.names import MessagePlace
from batprotocol.errors import DecodeError
from batprotocol.wire.commands.protocols import MessageProtocol, Reading

if TYPE_CHECKING:
    from batprotocol._util.rules import Catalogue
    from batprotocol.legacy.conversation import Conversation, OldAdviser

__all__ = ["OLD_JSON", "OLD_TEXT"]

_OLD_JSON = re.compile(rb'\s*\{\s*"(?:now|events)"')
_KINDS = {"json": "JSON of Batsim 1 to 4", "text": "text", "frame": "text after its size"}


def _detect(kinds: tuple[str, ...], pattern: re.Pattern[bytes]) -> Callable[[bytes], str | None]:
    def detect(data: bytes) -> str | None:
        if not pattern.match(data[:64]):  # bytes that are certainly of another protocol cost nothing
            return None
        from batprotocol.legacy.wire import detect as ask

        kind = ask(data)
        return kind if kind in kinds else None

    return detect


def _read(data: bytes, kind: str, strict: bool, place: MessagePlace) -> Reading:
    protocol = OLD_JSON if kind == "json" else OLD_TEXT
    try:
        original, tree = (_json if kind == "json" else _text)(data, kind, strict)
    except DecodeError as fault:
        tree = _tree(fault.partial) if isinstance(fault.partial, dict) else None
        return Reading(protocol, kind, format="json", fault=fault, original=fault.partial, shown=tree)
    return Reading(protocol, kind, format="json", original=original, shown=tree)


def _json(data: bytes, kind: str, strict: bool) -> tuple[Any, Any]:
    from batprotocol.legacy.json.wire import decode, parsed

    if strict:
        parsed(data)  # the syntax that Batsim reads, without the documentation's commas
    decode(data, "4.2")
    original, _ = parsed(data, strict=False)
    return original, _tree(original)


def _text(data: bytes, kind: str, strict: bool) -> tuple[Any, Any]:
    import msgspec

    from batprotocol.legacy.text.wire import STAMPS, decode, decode_frame

    message = (decode_frame if kind == "frame" else decode)(data, strict=strict)
    stamps = {stamp.value: stamp.letter for stamp in STAMPS}
    events = []
    for event in message.events:
        fields: dict[str, Any] = msgspec.to_builtins(event)
        fields.pop("type", None)
        entry = {"timestamp": fields.pop("timestamp"), "stamp": stamps[type(event)], "name": type(event).__name__}
        for allocation in fields.get("allocations", ()):
            allocation.pop("type", None)
        events.append({**entry, **fields})
    original = {"version": message.version, "now": message.now, "events": events}
    shown = [
        {
            "timestamp": entry["timestamp"],
            "event_type": f"{entry['stamp']} {entry['name']}",
            "event": {key: value for key, value in entry.items() if key not in ("timestamp", "stamp", "name")},
        }
        for entry in events
    ]
    return original, {"version": message.version, "now": message.now, "events": shown}


def _tree(original: Any) -> Any:
    """A message in the form for drawing: the names of the current JSON around the same events."""
    if not isinstance(original, dict) or not isinstance(original.get("events"), list):
        return original
    events = []
    for entry in original["events"]:
        if isinstance(entry, dict):
            rest = {key: value for key, value in entry.items() if key not in ("type", "data")}
            events.append(
                {**rest, "event_type": entry.get("type", "event of unknown type"), "event": entry.get("data")}
            )
        else:
            events.append(entry)
    return {**original, "events": events}


def _title(reading: Reading) -> tuple[str, str]:
    return _KINDS[reading.kind], ""


def _write(reading: Reading, to: str, indent: int | None) -> bytes:
    from batprotocol.wire import json

    if to != "json":
        raise DecodeError("this protocol has no binary form: it can be converted to json")
    return json.text(reading.original, indent).encode() + b"\n"


def _catalogue() -> Catalogue:
    from batprotocol.legacy.conversation import CATALOGUE

    return CATALOGUE


def _judge(rules: str) -> Conversation:
    from batprotocol.legacy.conversation import Conversation

    return Conversation(rules)


def _adviser(seconds: float) -> OldAdviser:
    from batprotocol.legacy.conversation import OldAdviser

    return OldAdviser(seconds)


_OLD_TEXT = re.compile(rb".{0,4}[0-9]{1,9}:[0-9]", re.DOTALL)

OLD_JSON: Final = MessageProtocol(
    "Batsim 1 to 4", _detect(("json",), _OLD_JSON), _read, _title, _catalogue, _judge, _write, _adviser
)
"""JSON over ZeroMQ. A message without events is read as one of Batsim 5, which it may also be."""

OLD_TEXT: Final = MessageProtocol(
    "Batsim before 1", _detect(("text", "frame"), _OLD_TEXT), _read, _title, _catalogue, _judge, _write, _adviser
)
"""Text over Unix sockets."""
