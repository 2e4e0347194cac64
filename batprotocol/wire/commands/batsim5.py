"""Batsim 5's protocol, by the current schema or another one, for the commands: bytes and frames -> their contents."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from batprotocol.cli.parameters import SchemaFile
from batprotocol.edc.recording.names import SIDES, MessagePlace
from batprotocol.errors import DecodeError
from batprotocol.model import Direction
from batprotocol.wire import decode, decode_binary, detect, frames, json, text_in
from batprotocol.wire.commands.protocols import MessageProtocol, Reading

if TYPE_CHECKING:
    from batprotocol._util.rules import Catalogue
    from batprotocol.conversation import Conversation
    from batprotocol.conversation.advice import Adviser

__all__ = [
    "BATSIM_5",
    "by_schema",
    "size_prefixed",
]


_FORMATS = {"binary": "binary", "json": "JSON"}
_KINDS = {**_FORMATS, "init": "init frame", "hello": "hello frame", "none": "no message"}
_DIRECTIONS = {"init": "b2e", "hello": "e2b"}


def _read(data: bytes, kind: str, strict: bool, place: MessagePlace) -> Reading:
    try:
        _refuse_out_of_place(kind, place)
        reading = _READERS[kind](data, strict)
    except DecodeError as fault:
        if kind == "binary" and text_in(data) is not None:
            kind = "none"
        format = kind if kind in _FORMATS else ""
        return Reading(BATSIM_5, kind, format=format, fault=fault, doubt=_other_age(kind, data, place))
    reading.doubt = _doubt(kind, data, place)
    if not reading.doubt and (kind == "hello" or place.number == _BEGINNING or place.number is None):
        reading.doubt = _other_age(kind, data, place)
    return reading


_BEGINNING: Final = 2
"""The number of the message that describes the platform. It shows the age of a conversation best."""
_LARGEST: Final = 2**18
"""Larger messages are not compared with other schemas, which takes as long as reading them ten times."""


def _other_age(kind: str, data: bytes, place: MessagePlace) -> str:
    """The other schemas that a message fits if it does not fit the current one, or ""."""
    if kind == "init" or len(data) > _LARGEST:
        return ""
    from batprotocol.schemas import other_ages

    direction = Direction.EDC_TO_BATSIM if kind == "hello" else SIDES.get(place.direction)
    return other_ages(data[4:] if kind == "hello" else data, direction)


def _refuse_out_of_place(kind: str, place: MessagePlace) -> None:
    """Refuse a frame that belongs to another message: Batsim crashes on it."""
    if kind == "init" and (place.direction == "e2b" or place.number):
        raise DecodeError(f"begins with its size, as message 0 does, but its name says that it is {place}", "", 0)
    if kind == "hello" and (place.direction == "b2e" or place.number not in (None, 1)):
        raise DecodeError(f"begins with flags, as message 1 does, but its name says that it is {place}", "", 0)


def _doubt(kind: str, data: bytes, place: MessagePlace) -> str:
    """Why a readable message may be something else than it looks like, or ""."""
    if kind == "init" and place.number is None:
        try:
            decode(data[4:], strict=False)
        except DecodeError:
            return ""
        return (
            "looks like the initialization data of message 0, but holds a message after its size, "
            "which Batsim does not survive as a reply; use --size-prefixed if it is a size-prefixed message"
        )
    return ""


def _binary(data: bytes, strict: bool) -> Reading:
    return Reading(BATSIM_5, "binary", decode_binary(data), format="binary")


def _json(data: bytes, strict: bool) -> Reading:
    skipped: list[str] = []
    message = json.decode(data, strict=strict, skipped=skipped)
    return Reading(BATSIM_5, "json", message, format="json", skipped=tuple(skipped))


def _init(data: bytes, strict: bool) -> Reading:
    return Reading(BATSIM_5, "init", text=frames.decode_init(data))


def _hello(data: bytes, strict: bool) -> Reading:
    hello = frames.decode_hello(data, strict=strict)
    skipped = () if strict or hello.format != "json" else _json(data[4:], False).skipped
    return Reading(BATSIM_5, "hello", hello.message, flags=hello.flags, format=hello.format, skipped=skipped)


_READERS: dict[str, Callable[[bytes, bool], Reading]] = {
    "binary": _binary,
    "json": _json,
    "init": _init,
    "hello": _hello,
}


def _title(reading: Reading) -> tuple[str, str]:
    kind = _KINDS[reading.kind]
    if reading.kind == "hello" and reading.format:
        kind = f"{kind} ({_FORMATS[reading.format]})"
    return kind, _DIRECTIONS.get(reading.kind, "")


def _opens(data: bytes) -> str:
    return "" if detect(data) == "init" else "is not the initialization data, with which a conversation begins"


def _write(reading: Reading, to: str, indent: int | None) -> bytes:
    """The message in that format. A hello frame stays a frame, so the layout of its JSON is fixed."""
    assert reading.message is not None
    if to not in _FORMATS:
        raise DecodeError(f"this protocol has no {to}: it can be converted to binary or json")
    if reading.kind == "hello":
        return frames.encode_hello(reading.message, to, allow_late_events=True)
    if to == "json":
        return reading.message.to_json(indent, allow_late_events=True).encode() + b"\n"
    return reading.message.to_binary(allow_late_events=True)


def size_prefixed(spoken: MessageProtocol) -> MessageProtocol:
    """A protocol whose messages are size-prefixed flatbuffers, without frames of the handshake.

    Args:
        spoken: the protocol of the messages behind their sizes, which are binary.
    """

    def read(data: bytes, kind: str, strict: bool, place: MessagePlace) -> Reading:
        try:
            body = frames.behind_size(data)
        except DecodeError as fault:
            return Reading(spoken, "binary", format="binary", fault=fault)
        reading = spoken.read(body, "binary", strict, place)
        if reading.fault is not None:
            reading.fault = frames.behind_flags(reading.fault)
        return reading

    return spoken._replace(detect=lambda data: "binary", read=read)


# Reading does not judge, and is fast: the rules are imported only when a command needs them.


def _catalogue() -> Catalogue:
    from batprotocol.conversation import CATALOGUE

    return CATALOGUE


def _judge(rules: str) -> Conversation:
    from batprotocol.conversation import DEFAULT_RULE_SET, Conversation
    from batprotocol.workloads.requests import asks_for_a_part

    return Conversation(rules or DEFAULT_RULE_SET, asks_for_a_part=asks_for_a_part)


def _adviser(seconds: float) -> Adviser:
    from batprotocol.conversation.advice import Adviser

    return Adviser(seconds)


BATSIM_5: Final = MessageProtocol("Batsim 5", detect, _read, _title, _catalogue, _judge, _write, _adviser, _opens)
"""The protocol of `schema/batprotocol.fbs`. It also reads the bytes of no other protocol, and reports their faults."""


# By another schema


def by_schema(schema: SchemaFile) -> MessageProtocol:
    """The protocol of a schema.

    Raises:
        InputError: there is no such schema.
    """
    from batprotocol.schemas import Codec

    codec = Codec(schema.read())
    is_batsim = {"now", "events"} <= {field.name for field in codec.schema.tables[codec.schema.root].fields}

    def read(data: bytes, kind: str, strict: bool, place: MessagePlace) -> Reading:
        flags, format, body = None, kind, data
        if kind == "init":
            try:
                return Reading(spoken, "init", text=frames.decode_init(data))
            except DecodeError as fault:
                return Reading(spoken, "init", fault=fault)
        if kind == "hello":
            (flags,) = struct.unpack_from("<I", data)
            format, body = frames.format_of(data), data[4:]
        skipped: list[str] = []
        try:
            if format == "json":
                record = codec.from_json(body, strict=strict, skipped=skipped)
            else:
                record = codec.decode(body)
        except DecodeError as fault:
            tree = fault.partial if isinstance(fault.partial, dict) else None
            there = frames.behind_flags(fault) if kind == "hello" else fault
            return Reading(
                spoken,
                kind,
                flags=flags,
                format=format,
                fault=there,
                original=fault.partial,
                shown=tree,
                schema=codec.schema,
            )
        return Reading(
            spoken,
            kind,
            flags=flags,
            format=format,
            skipped=tuple(skipped),
            original=record,
            shown=record,
            schema=codec.schema,
        )

    def write(reading: Reading, to: str, indent: int | None) -> bytes:
        if to not in frames.FLAGS:
            raise DecodeError(f"this protocol has no {to}: it can be converted to binary or json")
        if reading.kind == "hello":
            body = codec.encode(reading.original) if to == "binary" else json.text(reading.original).encode() + b"\0"
            return frames.flagged(body, to)
        if to == "json":
            return json.text(reading.original, indent).encode() + b"\n"
        return codec.encode(reading.original)

    name = f"Batsim 5 by {schema.name}" if is_batsim else f"{codec.schema.root} of {schema.name}"
    spoken = BATSIM_5._replace(
        name=name, detect=detect if is_batsim else _format, read=read, write=write, notes=codec.schema.notes
    )
    return spoken


def _format(data: bytes) -> str:
    """The format of a message that has no frames."""
    head = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    return "json" if head[:1] in (b"{", b"/", b"[") and head[1:2] != b"\0" else "binary"
