"""Messages as trees of text lines for people.

It works on the nested dicts and lists of the JSON form, which are incomplete when they are from a broken message. It
must not know of terminals: a style is only a name here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from batprotocol._schema.description import TABLES, Field, Type
from batprotocol.cli.text import Guides, Piece, number_of, printable, quote
from batprotocol.model import Doubles

__all__ = ["Node", "Trees", "draw"]

NUMBERS = 8
"""How many numbers of a vector are shown."""
CHARACTERS = 1000
"""How many characters of a string are shown."""
ELEMENTS = 16
"""Vectors of anything but numbers get a line for each element when they have more."""
LINE = 120
"""A struct that takes more characters gets a line for each field..."""
ELEMENT_LINE = 200
"""... unless it is one of many, which are easier to compare when each has its line."""

_WRAPPER = "Wrapper"
_UNKNOWN_TYPE = Type("")
_FIELDS: dict[str, dict[str, Field]] = {
    table.name: {field.name: field for field in table.fields} for table in TABLES.values()
}
_WRAPPED: dict[str, Field] = {
    name: next(field for field in table.fields if field.type.kind != "utype")
    for name, table in TABLES.items()
    if name.endswith(_WRAPPER)
}
"""The one field of each table that exists only to hold it."""


class Node(NamedTuple):
    """A line, and the lines below it."""

    pieces: list[Piece]
    children: list[Node]


def draw(nodes: Sequence[Node], guides: Guides, indent: str = "") -> Iterator[list[Piece]]:
    """The lines of these nodes and of all below them."""
    for number, node in enumerate(nodes, 1):
        before, below = guides.last if number == len(nodes) else guides.middle
        yield [("guide", indent + before), *node.pieces]
        if node.children:
            yield from draw(node.children, guides, indent + below)


class Trees:
    """Makes the trees.

    Args:
        full: show every number and every character, however many there are.
    """

    def __init__(self, full: bool = False) -> None:
        self._numbers = None if full else NUMBERS
        self._characters = None if full else CHARACTERS

    def events(self, tree: dict[str, Any], indices: Sequence[int]) -> list[Node]:
        """The events of a message that have these numbers."""
        return [self._event(index, tree["events"][index]) for index in indices]

    def text(self, name: str, text: str) -> Node:
        """A text and its name."""
        return Node(_line(_label(name), self._string(text)), [])

    def _event(self, index: int, entry: dict[str, Any]) -> Node:
        event_type = str(entry.get("event_type", "event of unknown type"))
        pieces = [("index", f"[{index}] "), ("event", printable(event_type))]
        if "timestamp" in entry:
            pieces += [("detail", " at "), *self._scalar(_UNKNOWN_TYPE, entry["timestamp"])]
        event = entry.get("event")
        return Node(pieces, self._fields(event_type, event) if isinstance(event, dict) else [])

    def _fields(self, table: str, struct: dict[str, Any]) -> list[Node]:
        return [
            self._branch(_label(name), type_, value, tag, LINE) for name, type_, value, tag in _members(table, struct)
        ]

    def _branch(self, label: list[Piece], type_: Type, value: Any, tag: str, limit: int) -> Node:
        """A value on one line where that is readable, else with lines for its parts."""
        type_, value, tag = _unwrapped(type_, value, tag)
        if not isinstance(value, dict | list | tuple) or _is_numbers(value):
            return Node(_line(label, self._scalar_or_numbers(type_, value)), [])
        pieces = self._inline(type_, value, tag, nested=False)
        if pieces is not None and _length(pieces) <= limit:
            return Node(_line(label, pieces), [])
        if isinstance(value, dict):
            return Node(_line(label, _type_name(tag)), self._fields(tag or type_.name, value))
        element = type_.element or _UNKNOWN_TYPE
        children = [
            self._branch([("index", f"[{index}]")], element, item, "", ELEMENT_LINE) for index, item in enumerate(value)
        ]
        return Node(_line(label, [("detail", number_of(len(value), "entry", "entries"))]), children)

    def _inline(self, type_: Type, value: Any, tag: str, nested: bool = True) -> list[Piece] | None:
        """A value on one line: `Periodic period=10 mode=Infinite`, or None where that would not be readable."""
        type_, value, tag = _unwrapped(type_, value, tag)
        if isinstance(value, dict):
            return self._inline_struct(tag, tag or type_.name, value, nested)
        if isinstance(value, list | tuple) and not _is_numbers(value):
            return self._inline_vector(type_.element or _UNKNOWN_TYPE, value)
        return self._scalar_or_numbers(type_, value)

    def _inline_struct(self, tag: str, table: str, struct: dict[str, Any], nested: bool) -> list[Piece] | None:
        parts = (
            _labelled(name, self._inline(type_, value, inner_tag))
            for name, type_, value, inner_tag in _members(table, struct)
        )
        joined = _joined(parts, " ")
        if joined is None:
            return None
        if not nested:
            return _line(_type_name(tag), joined) if joined or tag else [("detail", "{}")]
        return _type_name(tag) + ([("", "{"), *joined, ("", "}")] if joined or not tag else [])

    def _inline_vector(self, element: Type, values: Sequence[Any]) -> list[Piece] | None:
        if len(values) > ELEMENTS:
            return None
        joined = _joined((self._inline(element, value, "") for value in values), ", ")
        return None if joined is None else [("", "["), *joined, ("", "]")]

    def _scalar_or_numbers(self, type_: Type, value: Any) -> list[Piece]:
        if not isinstance(value, Sequence) or isinstance(value, str):
            return self._scalar(type_, value)
        shown = value if self._numbers is None or len(value) <= self._numbers + 1 else value[: self._numbers]
        pieces = [("number", ", ".join(map(_number, shown)))] if shown else []
        if len(shown) < len(value):
            pieces.append(("detail", f", ... {len(value) - len(shown)} more"))
        return [("", "["), *pieces, ("", "]")]

    def _scalar(self, type_: Type, value: Any) -> list[Piece]:
        if isinstance(value, str):
            return [("enum", printable(value))] if type_.kind == "enum" else self._string(value)
        if value is None:
            return [("detail", "null")]
        note = [("detail", " (unknown)")] if type_.kind == "enum" else []
        return [("number", _number(value)), *note]

    def _string(self, text: str) -> list[Piece]:
        if self._characters is None or len(text) <= self._characters:
            return [("string", quote(text))]
        more = len(text) - self._characters
        return [("string", quote(text[: self._characters])), ("detail", f" ... {more} more characters")]


def _members(table: str, struct: dict[str, Any]) -> Iterator[tuple[str, Type, Any, str]]:
    """(name, type, value, union member) of the fields that a person wants to see: union tags are no fields."""
    fields = _FIELDS.get(table, {})
    for name, value in struct.items():
        field = fields.get(name)
        if field is None:
            yield printable(name), _UNKNOWN_TYPE, value, ""
        elif field.type.kind != "utype":
            yield name, field.type, value, _tag(struct, field)


def _tag(struct: dict[str, Any], field: Field) -> str:
    return str(struct.get(f"{field.name}_type", "")) if field.type.kind == "union" else ""


def _unwrapped(type_: Type, value: Any, tag: str) -> tuple[Type, Any, str]:
    """What a wrapper holds in place of the wrapper."""
    while isinstance(value, dict) and (tag or type_.name).endswith(_WRAPPER):
        field = _WRAPPED.get(tag or type_.name)
        if field is None or field.name not in value:
            break
        type_, value, tag = field.type, value[field.name], _tag(value, field)
    return type_, value, tag


def _is_numbers(value: Any) -> bool:
    if isinstance(value, Doubles):
        return True
    return isinstance(value, list | tuple) and (not value or isinstance(value[0], int | float))


def _number(value: Any) -> str:
    """Numbers as Python writes them, but booleans as JSON does."""
    return repr(value).lower() if isinstance(value, bool) else printable(repr(value))


def _label(name: str) -> list[Piece]:
    return [("field", name), ("", ":")]


def _labelled(name: str, pieces: list[Piece] | None) -> list[Piece] | None:
    return None if pieces is None else [("field", name), ("", "="), *pieces]


def _line(label: list[Piece], pieces: list[Piece]) -> list[Piece]:
    return [*label, ("", " "), *pieces] if label and pieces else label or pieces


def _type_name(tag: str) -> list[Piece]:
    return [("type", printable(tag))] if tag else []


def _length(pieces: list[Piece]) -> int:
    return sum(len(text) for _, text in pieces)


def _joined(parts: Iterable[list[Piece] | None], separator: str) -> list[Piece] | None:
    """All parts on one line, or None as soon as one is None or they get too long for any line."""
    pieces: list[Piece] = []
    length = 0
    for part in parts:
        if part is None or length > ELEMENT_LINE:
            return None
        if pieces:
            pieces.append(("", separator))
        pieces += part
        length += _length(part)
    return pieces
