"""`batproto schema --protocol`: the events in the tables of the older protocols as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from batprotocol.cli.terminal import Piece
from batprotocol.legacy.json.events import EventVersions, Version, rows_of, version_of, written
from batprotocol.legacy.text.wire import STAMPS, Stamp
from batprotocol.legacy.wire import is_text, text_version
from batprotocol.model import Direction
from batprotocol.schemas.commands.definitions import FieldText, meanings, title

__all__ = ["content", "describe", "fields", "names", "overview", "sides"]

Line = list[Piece]
_SIDES = {Direction.BATSIM_TO_EDC: "Batsim", Direction.EDC_TO_BATSIM: "the scheduler"}


def names(protocol: str) -> tuple[str, ...]:
    """The names of all events of a protocol."""
    if is_text(protocol):
        return tuple(stamp.letter for stamp in STAMPS if stamp.since <= _text_version(protocol))
    return tuple(rows_of(version_of(protocol)))


def _text_version(protocol: str) -> int:
    version = text_version(protocol)
    return 3 if version is None else version


def overview(protocol: str) -> Iterator[Line]:
    """The events of a protocol, and the purpose of each."""
    rows: list[EventVersions | Stamp]
    if is_text(protocol):
        rows = [stamp for stamp in STAMPS if stamp.letter in names(protocol)]
    else:
        rows = list(rows_of(version_of(protocol)).values())
    width = max(len(_name(row)) for row in rows)
    for row in rows:
        yield [("event", _name(row)), ("", " " * (width - len(_name(row)) + 2)), ("", title(row.value))]


def _name(row: EventVersions | Stamp) -> str:
    return row.letter if isinstance(row, Stamp) else row.type


def describe(protocol: str, name: str) -> Iterator[Line]:
    """An event: its sender, its first version, and its fields with their meanings."""
    if is_text(protocol):
        yield from _stamp(next(stamp for stamp in STAMPS if stamp.letter == name), _text_version(protocol))
        return
    version = version_of(protocol)
    yield from _event(rows_of(version)[name], version)


def sides(row: EventVersions | Stamp) -> str:
    """The sides that may send it."""
    return " and ".join(_SIDES[side] for side in row.directions)


def content(stamp: Stamp, version: int) -> str:
    """The content of a stamp in a version of text, or ""."""
    return stamp.content if version >= 2 else stamp.content.replace("WLOAD!", "")


def fields(row: EventVersions, version: Version | None = None) -> Iterator[FieldText]:
    """The fields of an event, in a version or in all. If they can have any name, one field without a name."""
    told = meanings(row.value)
    if row.fields is None:
        yield FieldText("", "anything", (), next(iter(told.values()), ""))
        return
    types = {field.name: field.type for field in msgspec.structs.fields(row.value)}
    for each in row.fields if version is None else row.fields_of(version):
        until = f", until {written(each.until)}" if each.until < (5,) else ""
        notes = (*(("required",) if each.required else ()), f"since {written(each.since)}{until}")
        kind = "object" if each.name in ("job", "profile") else _type(types[each.name])
        yield FieldText(each.on_wire, kind, notes, told.get(each.name, ""))


def _stamp(stamp: Stamp, version: int) -> Iterator[Line]:
    yield [
        ("heading", "stamp "),
        ("event", stamp.letter),
        ("", f": an event that {sides(stamp)} may send, since {stamp.since}"),
    ]
    yield [("detail", f"  {title(stamp.value)}")]
    yield [("", "  content: "), ("type", content(stamp, version) or "none")]
    if not stamp.is_sent:
        yield [("detail", "  documented, but no Batsim that uses text sends it")]


def _event(row: EventVersions, version: Version) -> Iterator[Line]:
    yield [("heading", "event "), ("event", row.type), ("", f": {sides(row)} may send it")]
    yield [("detail", f"  {title(row.value)}")]
    found = list(fields(row, version))
    if not found:
        yield [("detail", "  no fields")]
    for each in found:
        if not each.name:
            yield [("detail", f"  fields of any name: {each.meaning}")]
            continue
        notes = f" ({', '.join(each.notes)})"
        yield [("", "  "), ("field", each.name), ("", ": "), ("type", each.kind), ("detail", notes)]
        if each.meaning:
            yield [("detail", f"      {each.meaning}")]


def _type(type_: Any) -> str:
    text = str(type_)
    for word, name in (("Mapping", "object"), ("tuple", "array"), ("Resource", "object"), ("JobProfile", "object")):
        if word in text:
            return name
    for word, name in (("str", "string"), ("bool", "boolean"), ("int", "integer"), ("float", "number")):
        if word in text:
            return name
    return "anything"
