"""The codec of the JSON protocol: bytes in, a `Message` out, and back.

Most messages hold only fields that their version knows. For these, there is a fast path: msgspec reads them into
structs that are created from the version's table. If msgspec fails, `careful` reads the message again, and keeps
unknown fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, reduce
from operator import attrgetter, or_
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.errors import EncodeError, shown
from batprotocol.legacy.json import careful
from batprotocol.legacy.json.events import Answer, Event, Message, Notify, OtherEvent, QueryReply, QueryRequest
from batprotocol.legacy.json.values import JobProfile, types_of
from batprotocol.legacy.json.versions import EVENTS, EventRow, Version, rows_of, version_of

__all__ = ["decode", "encode"]

_Maker = Callable[[Any], Event]
_Writer = Callable[[Any], Any]


class _Codec(NamedTuple):
    """The readers and writers that are created from a version's table.

    Attributes:
        version: the version.
        decoder: reads messages that hold only fields that the version knows.
        makers: for each struct of an event on the wire, the function that creates the event.
        writers: for each class of events, the function that creates the struct.
        encode: writes the struct of a message.
    """

    version: Version
    decoder: msgspec.json.Decoder[Any]
    makers: Mapping[type, _Maker]
    writers: Mapping[type, _Writer]
    encode: Callable[[Any], bytes]


def _dec_hook(type_: type, found: Any) -> Any:
    if type_ is JobProfile and type(found) is dict:
        return JobProfile(found)
    raise ValueError(f"expected an object, got {shown(found)}")


def _enc_hook(value: Any) -> Any:
    if type(value) is JobProfile:
        return value.fields
    raise TypeError(f"{shown(value)} cannot be written as JSON")


_OPEN: Final[Mapping[type, str]] = {
    Answer: "answers",
    QueryReply: "answers",
    QueryRequest: "requests",
}
"""The events whose data are one field, with any content."""


@cache
def _codec(given: str | Version) -> _Codec:
    version = version_of(given)
    makers: dict[type, _Maker] = {}
    writers: dict[type, _Writer] = {}
    for row in rows_of(version).values():
        struct, maker, writer = _of_event(row, version)
        makers[struct] = maker
        writers[row.value] = writer
    writers[OtherEvent] = _write_other
    entries: Any = reduce(or_, makers)
    message = msgspec.defstruct(
        "Message", [("now", float), ("events", list[entries])], forbid_unknown_fields=True, gc=False
    )
    decoder = msgspec.json.Decoder(message, dec_hook=_dec_hook)
    return _Codec(version, decoder, makers, writers, msgspec.json.Encoder(enc_hook=_enc_hook).encode)


def _of_event(row: EventRow, version: Version) -> tuple[type, _Maker, _Writer]:
    """The struct of an event, and the functions that convert from it and to it."""
    value = row.value
    if value is Notify:
        return _open(row, _make_notify, _write_notify)
    if value in _OPEN:
        return _open(row, lambda entry: value(entry.timestamp, entry.data), _writer_of_open(row))  # type: ignore[call-arg]
    types = types_of(value)
    fields = row.fields_of(version)
    members: list[Any] = [
        (field.name, types[field.name]) if field.required else (field.name, types[field.name], None) for field in fields
    ]
    rename = {field.name: field.on_wire for field in fields}
    data = msgspec.defstruct(
        f"{value.__name__}Data", members, forbid_unknown_fields=True, omit_defaults=True, gc=False, rename=rename
    )
    names = [field.name for field in fields]
    return _entry(row, data), _maker(value, names), _writer(row, data, names, version)


def _entry(row: EventRow, data: Any) -> type:
    members = [("timestamp", float), ("data", data)]
    return msgspec.defstruct(
        row.value.__name__, members, tag=row.type, tag_field="type", forbid_unknown_fields=True, gc=False
    )


def _maker(value: type[Event], names: list[str]) -> _Maker:
    """The function that creates an event from its struct: the fields of a version need not be the first ones."""
    positions = list(value.__struct_fields__[1:])
    if not names:
        return lambda entry: value(entry.timestamp)
    if positions[: len(names)] == names:
        get = attrgetter("timestamp", *(f"data.{name}" for name in names))
        return lambda entry: value(*get(entry))

    def make(entry: Any) -> Event:
        data = entry.data
        return value(entry.timestamp, **{name: getattr(data, name) for name in names})

    return make


class _Written(msgspec.Struct, gc=False):
    """An event as it is written, with its members in the order of Batsim."""

    timestamp: float
    type: str
    data: Any


def _writer(row: EventRow, data: Any, names: list[str], version: Version) -> _Writer:
    kind = row.type
    others = [field.name for field in row.fields or () if field.name not in names]
    has_job = "job" in names
    holding = any(name == "job_progress" or "resources" in name or "host" in name for name in names)
    get = attrgetter(*names) if len(names) > 1 else None
    name = names[0] if len(names) == 1 else ""

    def write(event: Any) -> Any:
        if holding or event.extra or event.beside or (has_job and event.job is not None and event.job.extra):
            return careful.entry_of(row, event, names, others, version)
        if others:
            careful.refuse_other_fields(row, event, others, version)
        if get is not None:
            return _Written(event.timestamp, kind, data(*get(event)))
        return _Written(event.timestamp, kind, data(getattr(event, name)) if name else data())

    return write


# Events whose data are a mapping


def _open(row: EventRow, maker: _Maker, writer: _Writer) -> tuple[type, _Maker, _Writer]:
    return _entry(row, dict[str, Any]), maker, writer


def _writer_of_open(row: EventRow) -> _Writer:
    name = _OPEN[row.value]

    def write(event: Any) -> Any:
        return {"timestamp": event.timestamp, "type": row.type, "data": getattr(event, name), **event.beside}

    return write


def _make_notify(entry: Any) -> Event:
    extra = entry.data
    kind = extra.pop("type", None)
    if type(kind) is not str:
        raise msgspec.ValidationError("no type")  # the careful reader has a better message
    return Notify(entry.timestamp, kind, extra=extra)


def _write_notify(event: Any) -> Any:
    data = {"type": event.type, **event.extra}
    return {"timestamp": event.timestamp, "type": "NOTIFY", "data": data, **event.beside}


def _write_other(event: Any) -> Any:
    return {"timestamp": event.timestamp, "type": event.type, "data": event.data, **event.beside}


# The public functions


def decode(
    data: bytes | bytearray | memoryview | str, version: str | Version = "4.2", *, strict: bool = False
) -> Message:
    """Read a message of the JSON protocol.

    Args:
        data: the text, in UTF-8; text after a first NUL is ignored, as in Batsim.
        version: the version of Batsim, such as "4.2.1".
        strict: whether to refuse events and fields that this version does not have. Otherwise, such fields are kept in
            `extra`, and such events as `OtherEvent`, unless another version has them.

    Raises:
        DecodeError: this is not a message; the error has the place.
        ValueError: no such version uses JSON.

    >>> decode(b'{"now": 1.0, "events": [{"timestamp": 1.0, "type": "REJECT_JOB", "data": {"job_id": "w0!1"}}]}')
    Message(now=1.0, events=(RejectJob(timestamp=1.0, job_id='w0!1', extra={}, beside={}),), extra={})
    """
    codec = _codec(version)
    if type(data) is not bytes:
        data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    try:
        found = codec.decoder.decode(data)
        if b"null" not in data:
            makers = codec.makers
            return Message(found.now, tuple([makers[type(each)](each) for each in found.events]))
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    return careful.read(data, codec.version, strict)


def encode(message: Message, version: str | Version = "4.2") -> bytes:
    """Write a message as compact JSON. Doubles are written in the shortest form that reads back equal.

    Args:
        message: the message.
        version: the version of Batsim.

    Raises:
        EncodeError: this version does not have such an event or field, or JSON cannot hold a value; the error has the
            place.
        ValueError: no such version uses JSON.

    >>> encode(Message(1.5), "1.4.0")
    b'{"now":1.5,"events":[]}'
    """
    codec = _codec(version)
    writers = codec.writers
    entries = []
    for index, event in enumerate(message.events):
        write = writers.get(type(event))
        if write is None:
            raise EncodeError(_no_such_event(event, codec.version), f"events[{index}]")
        try:
            entries.append(write(event))
        except EncodeError as error:
            raise EncodeError(error.reason, f"events[{index}].{error.path}") from None
        except (TypeError, AttributeError, ValueError) as error:
            raise EncodeError(str(error), f"events[{index}]") from None
    whole: dict[str, Any] = {"now": message.now, "events": entries}
    try:
        data = codec.encode({**whole, **message.extra} if message.extra else whole)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise EncodeError(str(error) or "it is nested too deeply") from None
    if b"null" in data:
        careful.refuse_what_is_not_finite(message)
    return data


def _no_such_event(event: object, version: Version) -> str:
    row = next((row for row in EVENTS if row.value is type(event)), None)
    if row is None:
        return f"expected an event of the JSON protocol, got {shown(event)}"
    return careful.no_such_event(row, version)
