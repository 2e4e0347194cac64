"""FaST's protocol, for the command: payloads in YAML, messages as JSON, and lines of recordings -> their contents.

A payload does not contain its topic: its keys show its kind. The readers are imported only for such bytes. This module
must not know how the bytes were found.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING, Any, Final

from batprotocol.edc.recording.names import MessagePlace
from batprotocol.errors import DecodeError, EncodeError
from batprotocol.wire.commands.protocols import MessageProtocol, Reading

if TYPE_CHECKING:
    from batprotocol._util.rules import Catalogue
    from batprotocol.fast.conversation import Violation
    from batprotocol.fast.values import FastMessage

__all__ = ["FAST", "shown"]

_YAML = "yaml"
_JSON = "json"
_LINE = "line"
_KEYS = "task|result|cores|hostname|cgroup|threads|KPI|job-description|vm-configurations|list|vm-name|id|host|scheduler"
_KINDS: Final = (
    (_LINE, re.compile(rb'\{\s*"(?:tst|topic)"\s*:')),
    (_JSON, re.compile(rb'\{\s*"message"\s*:')),
    (_YAML, re.compile(rb"---(?:\s|$)|\{?[\"']?(?:%s)[\"']? *:" % _KEYS.encode())),
)
"""The beginning of each kind of bytes, after empty lines, comments and directives."""

_STRANGE: Final = "message of somebody else"
_UNREADABLE: Final = "unreadable message"
_KINDS_TOLD: Final = {_LINE: "line of FaST", _JSON: "JSON of FaST", _YAML: "YAML of FaST"}


def _detect(data: bytes) -> str | None:
    lines = data[:4096].removeprefix(codecs.BOM_UTF8).splitlines()
    said = list(dropwhile(lambda line: not line.strip() or line.lstrip().startswith((b"#", b"%")), lines))
    head = b"\n".join(said).lstrip()
    return next((kind for kind, pattern in _KINDS if pattern.match(head)), None)


def _read(data: bytes, kind: str, strict: bool, place: MessagePlace) -> Reading:
    try:
        message, original = _READERS[kind](data)
    except DecodeError as fault:
        return Reading(FAST, kind, format=kind, fault=fault)
    reading = Reading(FAST, kind, format=kind, original=original, shown=shown(message, original))
    reading.other = "yaml" if kind == _JSON else "json"
    return reading


def _payload(data: bytes) -> tuple[FastMessage, dict[str, Any]]:
    from batprotocol.fast.wire import decode_alone
    from batprotocol.fast.wire.codec import tree_of

    message = decode_alone(data)
    return message, tree_of(message)


def _json_message(data: bytes) -> tuple[FastMessage, dict[str, Any]]:
    from batprotocol.fast.wire import from_json
    from batprotocol.fast.wire.codec import tree_of

    message = from_json(data)
    return message, tree_of(message)


def _line(data: bytes) -> tuple[FastMessage | None, dict[str, Any]]:
    """A line of a recording. A message on another topic than FaST's is shown as plain text."""
    from batprotocol.fast.recording import read_line
    from batprotocol.fast.topics import Topic
    from batprotocol.fast.wire import decode
    from batprotocol.fast.wire.codec import tree_of

    recorded = read_line(data)
    original: dict[str, Any] = {"topic": recorded.topic, "time": recorded.time}
    topic = Topic.find(recorded.topic)
    if topic is None:
        return None, {**original, "payload": recorded.payload.decode("utf-8", "replace")}
    try:
        message = decode(recorded.payload, topic, dialect="any")
    except DecodeError as fault:
        fault.partial = shown(None, {**original, "payload": recorded.payload.decode("utf-8", "replace")}, _UNREADABLE)
        raise
    return message, {**original, **tree_of(message)}


_READERS: Final = {_YAML: _payload, _JSON: _json_message, _LINE: _line}


def shown(message: FastMessage | None, original: dict[str, Any], otherwise: str = _STRANGE) -> dict[str, Any]:
    """A message as the one event of a drawn message. The event is called `otherwise` if there is no message."""
    fields = {name: value for name, value in original.items() if name not in ("message", "topic", "time")}
    kind = otherwise if message is None else type(message).__name__
    when = {"timestamp": original["time"]} if "time" in original else {}
    return {"events": [{**when, "event_type": kind, "event": fields}], "topic": original.get("topic", "")}


def _title(reading: Reading) -> tuple[str, str]:
    return (reading.tree or {}).get("topic") or _KINDS_TOLD[reading.kind], ""


def _write(reading: Reading, to: str, indent: int | None) -> bytes:
    from batprotocol.fast.wire import encode, from_json, to_json

    if "message" not in reading.original:
        raise DecodeError("this is not a message of FaST, and cannot be converted")
    text = {name: value for name, value in reading.original.items() if name not in ("topic", "time")}
    message = from_json(_dumped(text))
    try:
        if to == "json":
            return to_json(message, indent).encode() + b"\n"
        if to in ("yaml", "specification"):
            return encode(message, dialect="fastlib" if to == "yaml" else "specification")
    except EncodeError as error:
        raise DecodeError(error.reason, error.path) from None
    raise DecodeError("this protocol has no binary form: it can be converted to json, yaml or specification")


def _dumped(tree: dict[str, Any]) -> str:
    import json

    return json.dumps(tree)


def _catalogue() -> Catalogue:
    from batprotocol.fast.conversation import CATALOGUE

    return CATALOGUE


class _Judge:
    """Judges a recording line by line."""

    def __init__(self, rules: str) -> None:
        from batprotocol.fast.conversation import Conversation

        self._conversation = Conversation(rules)

    def feed(self, said: bytes, /) -> Sequence[Violation]:
        """Take the next line. A malformed line is reported as a malformed message."""
        from batprotocol.fast.conversation import Violation
        from batprotocol.fast.recording import read_line

        conversation = self._conversation
        try:
            recorded = read_line(said)
        except DecodeError as error:
            number = conversation.number
            conversation.feed("", b"", 0.0)  # it counts as a message
            return [Violation(number, error.path, "message.form", "error", error.reason)]
        return conversation.feed(recorded.topic, recorded.payload, recorded.time, retain=recorded.retain)

    def finish(self) -> Sequence[Violation]:
        """Report what is missing."""
        return self._conversation.finish()


FAST: Final = MessageProtocol("FaST", _detect, _read, _title, _catalogue, _Judge, _write)
"""YAML over MQTT."""
