"""The codec of the JSON protocol: bytes in, a `Message` out, and back.

Most messages hold only fields that their version knows. For these, there is a fast path: msgspec reads them into
structs that are created from the table of the version. If msgspec fails, the careful path reads the message again, and
keeps unknown fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache, reduce
from math import isfinite
from operator import attrgetter, or_
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.errors import DecodeError, EncodeError, shown
from batprotocol.legacy.json.events import (
    EVENTS,
    Answer,
    Event,
    EventVersions,
    Message,
    Notify,
    OtherEvent,
    QueryReply,
    QueryRequest,
    Version,
    rows_of,
    version_of,
    written,
)
from batprotocol.legacy.json.values import Job, JobProfile, JobProgress, Resource, fields_of, types_of
from batprotocol.model.value import Value

__all__ = [
    "decode",
    "encode",
    "entry_of",
    "first_members",
    "no_such_event",
    "no_such_field",
    "parsed",
    "read",
    "refuse_other_fields",
    "refuse_what_is_not_finite",
]


# The careful path


_TRAILING = re.compile(rb'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_DEEPEST: Final = 500
"""The deepest nesting of values: Python's own stack is not much deeper."""

_ONE: Final[Mapping[str, type[Value]]] = {"job": Job, "hpst_host": Resource, "lcst_host": Resource}
_LISTS: Final = frozenset(["resources_data", "compute_resources", "storage_resources"])
_BY_TYPE: Final[Mapping[str, EventVersions]] = {row.type: row for row in EVENTS}


# Reading


def read(data: bytes, version: Version, strict: bool) -> Message:
    """Read any message."""
    try:
        found, lenient = parsed(data, strict)
        try:
            return _message(found, version, strict)
        except DecodeError:
            if lenient or data.count(b'"now"') + data.count(b'"events"') <= 2:
                raise
            return _message(first_members(data), version, strict)
    except RecursionError:
        raise DecodeError("it is nested too deeply") from None


def parsed(data: bytes, strict: bool = True) -> tuple[Any, bool]:
    """The text as dicts and lists, and whether the reader had to remove commas."""
    text = data.partition(b"\0")[0]
    try:
        return msgspec.json.decode(text), False
    except (msgspec.DecodeError, ValueError) as error:
        if not strict and re.search(rb",\s*[}\]]", text):
            mended = _TRAILING.sub(lambda found: b"" if found[0] == b"," else found[0], text)
            try:
                return msgspec.json.decode(mended), True
            except (msgspec.DecodeError, ValueError):
                pass
        raise _syntax(error) from None


def _syntax(error: Exception) -> DecodeError:
    text = str(error)
    place = re.search(r" \(byte ([0-9]+)\)$", text)
    reason = text[: place.start()] if place else text
    return DecodeError(f"this is not JSON: {reason}", "", int(place[1]) if place else None)


def first_members(data: bytes) -> Any:
    """The text as dicts and lists, if it is JSON. If two members have one name, the first one counts."""

    def first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return dict(reversed(pairs))

    try:
        return json.loads(data.partition(b"\0")[0], object_pairs_hook=first)
    except ValueError as error:  # an integer of thousands of digits
        raise DecodeError(str(error)) from None


def _message(found: Any, version: Version, strict: bool) -> Message:
    whole = _object(found, "", found)
    if "now" not in whole:
        raise DecodeError("it is missing", "now", None, found)
    now = _number(whole["now"], "now", found)
    entries = whole.get("events")
    if not isinstance(entries, list):
        reason = "it is missing" if "events" not in whole else f"expected an array, got {shown(entries)}"
        raise DecodeError(reason, "events", None, found)
    events = tuple(_event(entry, f"events[{index}]", version, strict, found) for index, entry in enumerate(entries))
    extra = {key: value for key, value in whole.items() if key not in ("now", "events")}
    if strict and extra:
        raise DecodeError("the protocol has no such field", next(iter(extra)), None, found)
    return Message(now, events, extra)


def _event(entry: Any, path: str, version: Version, strict: bool, whole: Any) -> Event:
    given = _object(entry, path, whole)
    for key in ("timestamp", "type", "data"):
        if key not in given:
            raise DecodeError("it is missing", f"{path}.{key}", None, whole)
    timestamp = _number(given["timestamp"], f"{path}.timestamp", whole)
    kind, data = given["type"], given["data"]
    if not isinstance(kind, str):
        raise DecodeError(f"expected a string, got {shown(kind)}", f"{path}.type", None, whole)
    beside = {key: value for key, value in given.items() if key not in ("timestamp", "type", "data")}
    row = rows_of(version).get(kind)
    if strict and (row is None or beside):
        reason = no_such_event(_BY_TYPE[kind], version) if kind in _BY_TYPE else f"there is no event {shown(kind)}"
        place = f"{path}.type" if row is None else f"{path}.{next(iter(beside))}"
        raise DecodeError(reason if row is None else "the protocol has no such field", place, None, whole)
    other = row is None
    row = row or _BY_TYPE.get(kind)
    if row is None:
        return OtherEvent(timestamp, kind, data, beside)
    try:
        return _known(row, timestamp, data, beside, f"{path}.data", version, other, strict, whole)
    except DecodeError:
        if other:  # another version has an event of that name, and this one may be different
            return OtherEvent(timestamp, kind, data, beside)
        raise


def _known(
    row: EventVersions,
    timestamp: float,
    data: Any,
    beside: dict[str, Any],
    path: str,
    version: Version,
    other: bool,
    strict: bool,
    whole: Any,
) -> Event:
    members = _object(data, path, whole)
    if row.value in (Answer, QueryReply, QueryRequest):
        return row.value(timestamp, members, beside=beside)
    if row.value is Notify:
        kind = members.get("type")
        if not isinstance(kind, str):
            reason = f"expected a string, got {shown(kind)}" if "type" in members else "it is missing"
            raise DecodeError(reason, f"{path}.type", None, whole)
        extra = {key: each for key, each in members.items() if key != "type"}
        return Notify(timestamp, kind, extra=extra, beside=beside)
    types = types_of(row.value)
    fields = row.fields or () if other else row.fields_of(version)
    values: dict[str, Any] = {}
    known = set()
    for field in fields:
        key = field.on_wire
        if key not in members:
            if field.required:
                raise DecodeError("it is missing", f"{path}.{key}", None, whole)
            continue
        if members[key] is None and not field.required:
            continue  # an explicit null differs from an absent field, so it is kept in `extra`
        known.add(key)
        values[field.name] = _field(field.name, types[field.name], members[key], f"{path}.{key}", strict, whole)
    extra = {key: value for key, value in members.items() if key not in known}
    if strict and extra:
        raise DecodeError("this version has no such field", f"{path}.{next(iter(extra))}", None, whole)
    return row.value(timestamp, **values, extra=extra, beside=beside)  # type: ignore[call-arg]


def _field(name: str, type_: Any, found: Any, path: str, strict: bool, whole: Any) -> Any:
    if name in _ONE:
        return _nested(_ONE[name], found, path, strict, whole)
    if name in _LISTS:
        if not isinstance(found, list):
            raise DecodeError(f"expected an array, got {shown(found)}", path, None, whole)
        return tuple(_nested(Resource, each, f"{path}[{index}]", strict, whole) for index, each in enumerate(found))
    if name == "job_progress":
        progresses = _object(found, path, whole)
        return {job: _nested(JobProgress, each, f"{path}.{job}", strict, whole) for job, each in progresses.items()}
    return _converted(found, type_, path, whole)


def _nested(type_: type[Value], found: Any, path: str, strict: bool, whole: Any, depth: int = 0) -> Value:
    members = _object(found, path, whole)
    if depth > _DEEPEST:
        raise DecodeError("it is nested too deeply", path, None, whole)
    values: dict[str, Any] = {}
    for field in fields_of(type_):
        if field.name == "extra" or members.get(field.name) is None:
            if field.required:
                raise DecodeError("it is missing", f"{path}.{field.name}", None, whole)
            continue
        value, place = members[field.name], f"{path}.{field.name}"
        if field.name == "current_task":
            values[field.name] = _nested(JobProgress, value, place, strict, whole, depth + 1)
        else:
            values[field.name] = _converted(value, field.type, place, whole)
    extra = {key: value for key, value in members.items() if key not in values}
    return type_(**values, extra=extra)


def _converted(found: Any, type_: Any, path: str, whole: Any) -> Any:
    try:
        return msgspec.convert(found, type_, dec_hook=_careful_hook)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        raise DecodeError(reason[:1].lower() + reason[1:], path + place.rstrip("`"), None, whole) from None


def _careful_hook(type_: type, found: Any) -> Any:
    if type_ is JobProfile and isinstance(found, dict):
        return JobProfile(found)
    raise ValueError(f"expected an object, got {shown(found)}")


def _object(found: Any, path: str, whole: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise DecodeError(f"expected an object, got {shown(found)}", path, None, whole)
    return found


def _number(found: Any, path: str, whole: Any) -> float:
    if type(found) not in (int, float):
        raise DecodeError(f"expected a number, got {shown(found)}", path, None, whole)
    try:
        return float(found)
    except OverflowError:
        raise DecodeError("expected a number that a double can hold", path, None, whole) from None


# Writing


def entry_of(row: EventVersions, event: Any, names: list[str], others: list[str], version: Version) -> dict[str, Any]:
    """An event as nested dicts, with its unknown fields."""
    refuse_other_fields(row, event, others, version)
    keys = {field.name: field.on_wire for field in row.fields or ()}
    required = {field.name for field in row.fields or () if field.required}
    data: dict[str, Any] = {}
    for name in names:
        value = getattr(event, name)
        if value is not None or name in required:
            data[keys[name]] = _plain(value)
    data.update(event.extra)
    return {"timestamp": event.timestamp, "type": row.type, "data": data, **event.beside}


def refuse_other_fields(row: EventVersions, event: Any, others: list[str], version: Version) -> None:
    """Raise `EncodeError` for a field that this version does not have."""
    for other in others:
        if getattr(event, other) is not None:
            raise EncodeError(no_such_field(row, other, version), other)


def _plain(value: Any) -> Any:
    """A value as dicts and lists, unless msgspec can write it directly."""
    if isinstance(value, Job | Resource):
        return _members(value) if value.extra else value
    if isinstance(value, JobProgress):
        return _members(value)
    if type(value) is tuple:
        return [_plain(each) for each in value]
    if type(value) is dict:
        return {key: _plain(each) for key, each in value.items()}
    return value


def _members(value: Any) -> dict[str, Any]:
    names = [name for name in value.__struct_fields__ if name != "extra"]
    members = {name: _plain(found) for name in names if (found := getattr(value, name)) is not None}
    return {**members, **value.extra}


def refuse_what_is_not_finite(value: Any, path: str = "") -> None:
    """Raise `EncodeError` for a number that JSON cannot hold: msgspec writes `null` for it."""
    if type(value) is float:
        if not isfinite(value):
            raise EncodeError(f"JSON has no {value}", path)
    elif isinstance(value, Value):
        for name in value.__struct_fields__:
            refuse_what_is_not_finite(getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, JobProfile):
        refuse_what_is_not_finite(value.fields, path)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            refuse_what_is_not_finite(each, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            refuse_what_is_not_finite(each, f"{path}[{index}]")


# Words


def no_such_event(row: EventVersions, version: Version) -> str:
    """The reason why this version does not have an event."""
    if version < row.since:
        return f"{row.type} exists from {written(row.since)} on, not in {written(version)}"
    hint = f"; it is called {row.successor} since" if row.successor else ""
    return f"{row.type} does not exist any more in {written(version)}{hint}"


def no_such_field(row: EventVersions, name: str, version: Version) -> str:
    """The reason why this version does not have a field."""
    field = next(field for field in row.fields or () if field.name == name)
    if version < field.since:
        return f"{row.type} has it from {written(field.since)} on, not in {written(version)}"
    return f"{row.type} does not have it any more in {written(version)}"


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


def _of_event(row: EventVersions, version: Version) -> tuple[type, _Maker, _Writer]:
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


def _entry(row: EventVersions, data: Any) -> type:
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


def _writer(row: EventVersions, data: Any, names: list[str], version: Version) -> _Writer:
    kind = row.type
    others = [field.name for field in row.fields or () if field.name not in names]
    has_job = "job" in names
    holding = any(name == "job_progress" or "resources" in name or "host" in name for name in names)
    get = attrgetter(*names) if len(names) > 1 else None
    name = names[0] if len(names) == 1 else ""

    def write(event: Any) -> Any:
        if holding or event.extra or event.beside or (has_job and event.job is not None and event.job.extra):
            return entry_of(row, event, names, others, version)
        if others:
            refuse_other_fields(row, event, others, version)
        if get is not None:
            return _Written(event.timestamp, kind, data(*get(event)))
        return _Written(event.timestamp, kind, data(getattr(event, name)) if name else data())

    return write


# Events whose data are a mapping


def _open(row: EventVersions, maker: _Maker, writer: _Writer) -> tuple[type, _Maker, _Writer]:
    return _entry(row, dict[str, Any]), maker, writer


def _writer_of_open(row: EventVersions) -> _Writer:
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
    return read(data, codec.version, strict)


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
        refuse_what_is_not_finite(message)
    return data


def _no_such_event(event: object, version: Version) -> str:
    row = next((row for row in EVENTS if row.value is type(event)), None)
    if row is None:
        return f"expected an event of the JSON protocol, got {shown(event)}"
    return no_such_event(row, version)
