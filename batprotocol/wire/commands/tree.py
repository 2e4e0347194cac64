"""Draws messages as readable trees of text lines.

It works on the nested dicts and lists of the JSON form. Those of a broken message are incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from batprotocol._schema.description import TABLES
from batprotocol.cli.terminal import Guides, Piece, number_of, printable, quote, wrapped
from batprotocol.model import Doubles
from batprotocol.wire.reflection import Field, Type

__all__ = ["TreeNode", "Trees", "draw"]

NUMBERS = 8
"""The number of numbers of a vector that are shown."""
CHARACTERS = 1000
"""The number of characters of a string that are shown."""
ELEMENTS = 16
"""Vectors with more elements than this get a line for each element, unless the elements are numbers."""
LINE = 120
"""A struct with more characters than this gets a line for each field..."""
ELEMENT_LINE = 200
"""... unless it is an element of a vector: elements are easier to compare if each has one line."""
LINES = 1000
"""The number of lines of an event that are shown. A tree can be much larger than its message, as parts can recur."""
COMPARED = 1000
"""The number of parts of two elements that are compared to find out whether they are similar."""

_NAMES = frozenset(["id", "name", "job_id"])
"""Elements that differ only in these fields are similar, such as the hosts of a platform."""

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
"""The only field of each table that wraps a single value."""


class TreeNode(NamedTuple):
    """A line, and the lines below it."""

    pieces: list[Piece]
    children: list[TreeNode]


def draw(title: list[Piece], nodes: Sequence[TreeNode], guides: Guides, width: int | None) -> Iterator[list[Piece]]:
    """The lines of a tree: its title, the nodes and all below them. Lines wider than `width` are wrapped."""
    yield from _hung(title, "", guides.middle[1] if nodes else guides.last[1], width)
    yield from _draw(nodes, guides, "", width)


def _draw(nodes: Sequence[TreeNode], guides: Guides, indent: str, width: int | None) -> Iterator[list[Piece]]:
    for number, node in enumerate(nodes, 1):
        before, below = guides.last if number == len(nodes) else guides.middle
        hanging = indent + below + (guides.middle if node.children else guides.last)[1]
        yield from _hung(node.pieces, indent + before, hanging, width)
        if node.children:
            yield from _draw(node.children, guides, indent + below, width)


def _hung(pieces: list[Piece], before: str, hanging: str, width: int | None) -> Iterator[list[Piece]]:
    """A line, or several if it is too wide. The others than the first begin with `hanging`."""
    if width is None:
        yield [("guide", before), *pieces] if before else pieces
        return
    guide = before
    for line in wrapped(pieces, width - len(before), width - len(hanging)):
        yield [("guide", guide), *line] if guide else line
        guide = hanging


class Trees:
    """Makes the trees.

    Args:
        full: show all numbers, characters, elements and lines.
    """

    def __init__(self, full: bool = False) -> None:
        self._full = full
        self._numbers = None if full else NUMBERS
        self._characters = None if full else CHARACTERS
        self._space = 0
        self._runs: dict[int, tuple[Any, list[tuple[int, int, set[str]]]]] = {}

    def events(self, tree: dict[str, Any], indices: Sequence[int]) -> list[TreeNode]:
        """The events of a message with these numbers."""
        self._runs.clear()
        return [self._event(index, tree["events"][index]) for index in indices]

    def fields(self, table: str, tree: dict[str, Any]) -> list[TreeNode]:
        """The fields of a message of another project, which has no events."""
        self._runs.clear()
        self._space = LINES
        return self._fields(table, tree)

    def text(self, name: str, text: str) -> TreeNode:
        """A text and its name."""
        return TreeNode(_line(_label(name), self._string(text)), [])

    def _event(self, index: int, entry: dict[str, Any]) -> TreeNode:
        event_type = str(entry.get("event_type", "event of unknown type"))
        pieces = [("index", f"[{index}] "), ("event", printable(event_type))]
        if "timestamp" in entry:
            pieces += [("detail", " at "), *self._scalar(_UNKNOWN_TYPE, entry["timestamp"])]
        event = entry.get("event")
        self._space = LINES
        return TreeNode(pieces, self._fields(event_type, event) if isinstance(event, dict) else [])

    def _fields(self, table: str, struct: dict[str, Any]) -> list[TreeNode]:
        members = _members(table, struct)
        nodes = []
        for name, type_, value, tag in members:
            if self._space <= 0 and not self._full:
                nodes.append(_more(1 + sum(1 for _ in members), "field", "fields"))
                break
            nodes.append(self._branch(_label(name), type_, value, tag, LINE))
        return nodes

    def _branch(self, label: list[Piece], type_: Type, value: Any, tag: str, limit: int) -> TreeNode:
        """A value on one line if that is readable, or else with lines for its parts."""
        self._space -= 1
        type_, value, tag = _unwrapped(type_, value, tag)
        if not isinstance(value, dict | list | tuple) or _is_numbers(value):
            return TreeNode(_line(label, self._scalar_or_numbers(type_, value)), [])
        pieces = self._inline(type_, value, tag, limit, nested=False)
        if pieces is not None:
            return TreeNode(_line(label, pieces), [])
        if isinstance(value, dict):
            return TreeNode(_line(label, _type_name(tag)), self._fields(tag or type_.name, value))
        count = [("detail", number_of(len(value), "entry", "entries"))]
        return TreeNode(_line(label, count), list(self._elements(type_.element or _UNKNOWN_TYPE, value)))

    def _elements(self, element: Type, values: Sequence[Any]) -> Iterator[TreeNode]:
        """The elements of a vector. Similar ones are folded into one line. Without `full`, only the first are shown."""
        shown = 0
        for number, (start, end, different) in enumerate(self._folded(values)):
            if not self._full and (self._space <= 0 or number >= ELEMENTS):
                break
            yield self._branch([("index", f"[{start}]")], element, values[start], "", ELEMENT_LINE)
            if end - start > 1:
                self._space -= 1
                but = f", except for their {' and '.join(sorted(different))}" if different else ""
                like = f"{number_of(end - start - 1, 'entry', 'entries')} like [{start}]{but}"
                yield TreeNode(
                    [
                        ("index", f"[{start + 1}]" + (f" to [{end - 1}]" if end - start > 2 else "")),
                        ("", " "),
                        ("detail", like),
                    ],
                    [],
                )
            shown = end
        if shown < len(values):
            yield _more(len(values) - shown, "entry", "entries")

    def _folded(self, values: Sequence[Any]) -> list[tuple[int, int, set[str]]]:
        """Where runs of similar elements start and end, and in which fields they differ."""
        if self._full:
            return [(index, index + 1, set()) for index in range(len(values))]
        _, runs = self._runs.get(id(values), (None, None))
        if runs is None:
            runs = []
            for index, value in enumerate(values):
                different = _difference(values[runs[-1][0]], value) if runs else None
                if different is None:
                    if len(runs) > ELEMENTS:
                        break  # more is not shown
                    runs.append((index, index + 1, set()))
                else:
                    runs[-1] = (runs[-1][0], index + 1, runs[-1][2] | different)
            self._runs[id(values)] = (values, runs)  # shared by many events, perhaps
        return runs

    def _inline(self, type_: Type, value: Any, tag: str, space: int, nested: bool = True) -> list[Piece] | None:
        """A value on one line, such as `Periodic period=10 mode=Infinite`, or None if that is longer than `space`.

        It stops when the space is used up, so that a large value takes no more time than a small one.
        """
        type_, value, tag = _unwrapped(type_, value, tag)
        if isinstance(value, dict):
            return self._inline_struct(tag, tag or type_.name, value, space, nested)
        if isinstance(value, list | tuple) and not _is_numbers(value):
            return self._inline_vector(type_.element or _UNKNOWN_TYPE, value, space)
        if isinstance(value, str | list | tuple | Doubles) and self._full and len(value) > space:
            return None
        pieces = self._scalar_or_numbers(type_, value)
        return pieces if _length(pieces) <= space else None

    def _inline_struct(
        self, tag: str, table: str, struct: dict[str, Any], space: int, nested: bool
    ) -> list[Piece] | None:
        pieces: list[Piece] = []
        name_of_type = _type_name(tag)
        space -= _length(name_of_type) + (2 if nested else 1)
        for name, type_, value, inner_tag in _members(table, struct):
            label: list[Piece] = [*([("", " ")] if pieces else []), ("field", name), ("", "=")]
            space -= _length(label)
            part = self._inline(type_, value, inner_tag, space) if space > 0 else None
            if part is None:
                return None
            space -= _length(part)
            pieces += [*label, *part]
        if not nested:
            return _line(name_of_type, pieces) if pieces or tag else [("detail", "{}")]
        return name_of_type + ([("", "{"), *pieces, ("", "}")] if pieces or not tag else [])

    def _inline_vector(self, element: Type, values: Sequence[Any], space: int) -> list[Piece] | None:
        if len(values) > ELEMENTS:
            return None
        pieces: list[Piece] = []
        space -= 2
        for value in values:
            space -= 2 if pieces else 0
            part = self._inline(element, value, "", space) if space > 0 else None
            if part is None:
                return None
            space -= _length(part)
            pieces += [*([("", ", ")] if pieces else []), *part]
        return [("", "["), *pieces, ("", "]")]

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
    """(name, type, value, union member) of the fields to show. The tags of unions are not shown."""
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
    """The value in a wrapper, in place of the wrapper."""
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
    """A number as Python writes it; a boolean as JSON writes it."""
    return repr(value).lower() if isinstance(value, bool) else printable(repr(value))


def _label(name: str) -> list[Piece]:
    return [("field", name), ("", ":")]


def _line(label: list[Piece], pieces: list[Piece]) -> list[Piece]:
    return [*label, ("", " "), *pieces] if label and pieces else label or pieces


def _type_name(tag: str) -> list[Piece]:
    return [("type", printable(tag))] if tag else []


def _length(pieces: list[Piece]) -> int:
    return sum(len(text) for _, text in pieces)


def _more(count: int, one: str, many: str) -> TreeNode:
    return TreeNode([("detail", f"... {number_of(count, f'more {one}', f'more {many}')}, which --full shows")], [])


def _difference(one: Any, other: Any) -> set[str] | None:
    """The fields in which two similar elements differ. None if they are not similar, or too large to compare."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return set() if _same(one, other) else None
    if one.keys() != other.keys():
        return None
    names = {name for name in one if name in _NAMES and one[name] != other[name]}
    rest = [name for name in one if name not in _NAMES]
    return names if _same([one[name] for name in rest], [other[name] for name in rest]) else None


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal. Values with more than `COMPARED` parts count as different."""
    pairs = [(one, other)]
    for _ in range(COMPARED):
        if not pairs:
            return True
        mine, theirs = pairs.pop()
        if mine is theirs:
            continue
        if type(mine) is not type(theirs):
            return False
        if isinstance(mine, dict):
            if list(mine) != list(theirs):
                return False
            mine, theirs = list(mine.values()), list(theirs.values())
        if isinstance(mine, list | tuple):
            if len(mine) != len(theirs) or len(mine) > COMPARED:
                return False
            pairs += zip(mine, theirs, strict=True)
        elif mine != theirs and repr(mine) != repr(theirs):  # NaN is shown as NaN
            return False
    return False
