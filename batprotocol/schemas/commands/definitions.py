"""`batproto schema`: the schema as text for people, and the docstrings that describe events and fields."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from batprotocol._schema.description import ENUMS, TABLES, UNIONS
from batprotocol.cli.terminal import Piece
from batprotocol.model import BATSIM_TO_EDC, EDC_TO_BATSIM
from batprotocol.wire.commands.selection import EVENTS
from batprotocol.wire.reflection import Enum, Field, Table, Type, Union

__all__ = [
    "NAMES",
    "FieldText",
    "describe",
    "meanings",
    "overview",
    "title",
]


_ARGUMENT = re.compile(r"^    (\w+): (.*?)(?=^    \w|^\S|\Z)", re.MULTILINE | re.DOTALL)


class FieldText(NamedTuple):
    """A field, as the terminal and the handbook show it.

    Args:
        name: its name on the wire.
        kind: the kind of its values, in a word.
        notes: whether it is required, its first version, and so on.
        meaning: its meaning, or "".
    """

    name: str
    kind: str
    notes: tuple[str, ...]
    meaning: str


def title(kind: type[Any]) -> str:
    """The first line of the docstring of a class."""
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def meanings(kind: type[Any]) -> Mapping[str, str]:
    """The meaning of each field of a class, in one line, from the docstring of the class itself."""
    _, _, arguments = inspect.cleandoc(kind.__doc__ or "").partition("Args:\n")
    return {found[1]: " ".join(found[2].split()) for found in _ARGUMENT.finditer(arguments)}


# The current schema


NAMES = (*TABLES, *ENUMS, *UNIONS)
"""The names of all tables, enums and unions. A union and a table never share one."""

_SENDERS = (
    ("an event that Batsim sends", "Events from Batsim", {event.__name__ for event in BATSIM_TO_EDC}),
    (
        "an event that the decision component sends",
        "Events from the decision component",
        {event.__name__ for event in EDC_TO_BATSIM},
    ),
)

Line = list[Piece]


def overview() -> Iterator[Line]:
    """The names of all parts of the schema, events first."""
    events = [(heading, [name for name in EVENTS if name in names]) for _, heading, names in _SENDERS]
    tables = [name for name in TABLES if name not in EVENTS]
    for heading, names in [*events, ("Tables", tables), ("Unions", list(UNIONS)), ("Enums", list(ENUMS))]:
        yield [("heading", heading)]
        yield from ([("", "  "), ("type", name)] for name in names)


def describe(name: str, width: int | None) -> Iterator[Line]:
    """A table, enum or union, with its comments, which are wrapped at `width` unless it is None."""
    if name in TABLES:
        return _table(TABLES[name], width)
    return _enum(ENUMS[name], width) if name in ENUMS else _union(UNIONS[name], width)


def _table(table: Table, width: int | None) -> Iterator[Line]:
    role = next((f": {role}" for role, _, names in _SENDERS if table.name in names), "")
    yield [("heading", "table "), ("event" if role else "type", table.name), ("", role)]
    yield from _comment(table.doc, width, "  ")
    fields = [field for field in table.fields if field.type.kind != "utype"]
    if not fields:
        yield [("detail", "  no fields")]
    for field in fields:
        yield [("", "  "), ("field", field.name), ("", ": "), *_type(field.type), *_default(field)]
        yield from _comment(field.doc, width)
        if field.type.kind == "union":
            members = ", ".join(UNIONS[field.type.name].members)
            yield from _comment(f'One of {members}; "{field.name}_type" names it in JSON.', width)


def _enum(enum: Enum, width: int | None) -> Iterator[Line]:
    yield [("heading", "enum "), ("type", enum.name), ("", f": {enum.kind}")]
    yield from _comment(enum.doc, width, "  ")
    for name, number in enum.values.items():
        yield [("", "  "), ("enum", name), ("", " = "), ("number", str(number))]
        yield from _comment(enum.value_docs.get(name, ""), width)


def _union(union: Union, width: int | None) -> Iterator[Line]:
    yield [("heading", "union "), ("type", union.name)]
    yield from _comment(union.doc, width, "  ")
    for number, name in enumerate(union.members, 1):
        yield [("", "  "), ("type", name), ("", " = "), ("number", str(number))]
        yield from _comment(union.member_docs.get(name, ""), width)


def _type(type_: Type) -> Line:
    if type_.element is not None:
        return [("", "["), *_type(type_.element), ("", "]")]
    return [("type", str(type_))]


def _default(field: Field) -> Line:
    if field.required:
        return [("heading", " (required)")]
    return [("", " = "), ("number", _written(field.type, field.default))]


def _written(type_: Type, default: Any) -> str:
    """A default in the syntax of the schema's language."""
    if type_.kind == "enum":
        names = {number: name for name, number in ENUMS[type_.name].values.items()}
        return str(names[default])
    return json.dumps(default)


def _comment(text: str, width: int | None, indent: str = "      ") -> Iterator[Line]:
    for paragraph in text.splitlines():
        lines = textwrap.wrap(paragraph, max(width - len(indent), 20)) if width else [paragraph]
        yield from ([("", indent), ("detail", line)] for line in lines)
