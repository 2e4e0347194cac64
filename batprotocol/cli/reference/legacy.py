"""`batproto schema --protocol`: what the tables of the older protocols say of an event, as text for people."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from batprotocol.cli.terminal.text import Piece
from batprotocol.legacy.json.versions import EventRow, Version, rows_of, version_of
from batprotocol.legacy.text.stamps import STAMPS, Stamp
from batprotocol.legacy.wire import is_text, text_version
from batprotocol.model import Direction

__all__ = ["describe", "names", "overview"]

Line = list[Piece]
_SIDES = {Direction.BATSIM_TO_EDC: "Batsim", Direction.EDC_TO_BATSIM: "the scheduler"}
_ARGUMENT = re.compile(r"^    (\w+): (.*?)(?=^    \w|\Z)", re.MULTILINE | re.DOTALL)


def names(protocol: str) -> tuple[str, ...]:
    """The names of all events of a protocol."""
    if is_text(protocol):
        return tuple(stamp.letter for stamp in STAMPS if stamp.since <= _text_version(protocol))
    return tuple(rows_of(version_of(protocol)))


def _text_version(protocol: str) -> int:
    version = text_version(protocol)
    return 3 if version is None else version


def overview(protocol: str) -> Iterator[Line]:
    """The events of a protocol, and what each is for."""
    rows: list[EventRow | Stamp]
    if is_text(protocol):
        rows = [stamp for stamp in STAMPS if stamp.letter in names(protocol)]
    else:
        rows = list(rows_of(version_of(protocol)).values())
    width = max(len(_name(row)) for row in rows)
    for row in rows:
        yield [("event", _name(row)), ("", " " * (width - len(_name(row)) + 2)), ("", _title(row))]


def _name(row: EventRow | Stamp) -> str:
    return row.letter if isinstance(row, Stamp) else row.type


def _title(row: EventRow | Stamp) -> str:
    return (inspect.getdoc(row.value) or "").partition("\n")[0]


def describe(protocol: str, name: str) -> Iterator[Line]:
    """An event: who says it, since when, and its fields with what they mean."""
    if is_text(protocol):
        yield from _stamp(next(stamp for stamp in STAMPS if stamp.letter == name), _text_version(protocol))
        return
    version = version_of(protocol)
    yield from _event(rows_of(version)[name], version)


def _stamp(stamp: Stamp, version: int) -> Iterator[Line]:
    sides = " and ".join(_SIDES[side] for side in stamp.directions)
    yield [
        ("heading", "stamp "),
        ("event", stamp.letter),
        ("", f": an event that {sides} may send, since {stamp.since}"),
    ]
    yield [("detail", f"  {_title(stamp)}")]
    content = stamp.content if version >= 2 else stamp.content.replace("WLOAD!", "")
    yield [("", "  content: "), ("type", content or "none")]
    if not stamp.is_said:
        yield [("detail", "  documented, but no Batsim that speaks text says it")]


def _event(row: EventRow, version: Version) -> Iterator[Line]:
    sides = " and ".join(_SIDES[side] for side in row.directions)
    yield [("heading", "event "), ("event", row.type), ("", f": {sides} may send it")]
    yield [("detail", f"  {_title(row)}")]
    meanings = {found[1]: " ".join(found[2].split()) for found in _ARGUMENT.finditer(inspect.getdoc(row.value) or "")}
    if row.fields is None:
        field = next(iter(meanings.items()), ("", ""))
        yield [("detail", f"  whatever is said, by its name: {field[1]}")]
        return
    types = {field.name: field.type for field in msgspec.structs.fields(row.value)}
    fields = row.fields_of(version)
    if not fields:
        yield [("detail", "  no fields")]
    for each in fields:
        until = f", until {_written(each.until)}" if each.until < (5,) else ""
        since = f"since {_written(each.since)}{until}"
        needed = "required, " if each.required else ""
        kind = "object" if each.name in ("job", "profile") else _type(types[each.name])
        yield [("", "  "), ("field", each.on_wire), ("", ": "), ("type", kind), ("detail", f" ({needed}{since})")]
        if each.name in meanings:
            yield [("detail", f"      {meanings[each.name]}")]


def _written(version: Version) -> str:
    return ".".join(map(str, version if len(version) > 1 else (*version, 0)))


def _type(type_: Any) -> str:
    text = str(type_)
    for word, name in (("Mapping", "object"), ("tuple", "array"), ("Resource", "object"), ("JobProfile", "object")):
        if word in text:
            return name
    for word, name in (("str", "string"), ("bool", "boolean"), ("int", "integer"), ("float", "number")):
        if word in text:
            return name
    return "anything"
