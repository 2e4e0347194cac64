"""The wire tree: a message as the nested dicts and lists of its JSON form.

It is what both careful readers (binary and JSON) make of the bytes before there are values, what a broken message
leaves behind (`DecodeError.partial`), and what the JSON text is written from. Enums are their names (numbers when the
schema does not name them), vectors of doubles are `Doubles`, others lists or tuples; absent fields are left out; an
optional scalar is None.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from batprotocol._schema.description import SCHEMA, TABLES
from batprotocol.model import Message
from batprotocol.wire.binding import ENVELOPE, ROOT, class_of, enum_of, member_of, wrapped
from batprotocol.wire.reflection import Field, Type

__all__ = ["Tree", "from_message", "path_of", "to_message"]

Tree = dict[str, Any]

Done = dict[int, Any]
"""What has been made of the values with these ids, and under `LARGE`, whether the text could be out of proportion."""

LARGE = -1
_SHORT_TEXT, _SHORT_VECTOR = 64, 4  # these may recur as often as they like: what refers to them is not much smaller


def path_of(steps: list[str]) -> str:
    """The place in a tree that these steps lead to, as errors name it: `events[3].event.job_id`."""
    return ".".join(steps).replace(".[", "[")


def to_message(tree: Tree) -> Message:
    """The message that a complete and checked tree stands for."""
    message: Message = _table_value(ROOT, tree, {})
    return message


# Pieces that several tables share (a peer may write so) are one dict in the tree; `done` makes one value of each.


def _table_value(name: str, tree: Tree, done: dict[int, Any]) -> Any:
    value = done.get(id(tree))
    if value is None:
        values = {field: read(tree, done) for field, read in _readers(name) if field in tree}
        if name == ENVELOPE:
            values = {"timestamp": values["timestamp"], **values["event"]}
            value = class_of(tree["event_type"])(**values)
        elif wrapped(name):
            (value,) = values.values()
        else:
            value = values if name in member_of("Event").values() else class_of(name)(**values)
        done[id(tree)] = value
    return value


@cache
def _readers(name: str) -> list[tuple[str, Callable[[Tree, dict[int, Any]], Any]]]:
    fields = TABLES[name].fields
    return [(field.name, _reader(field)) for field in fields if field.type.kind != "utype"]


def _reader(field: Field) -> Callable[[Tree, dict[int, Any]], Any]:
    """The function that makes the value of one field from the tree of its table."""
    name, type_ = field.name, field.type
    element = type_.element
    if type_.kind == "union":
        return lambda tree, done: _table_value(tree[f"{name}_type"], tree[name], done)
    if type_.kind == "table":
        return lambda tree, done: _table_value(type_.name, tree[name], done)
    if type_.kind == "enum":
        enum = enum_of(type_.name)
        numbers = SCHEMA.enums[type_.name].values
        return lambda tree, done: enum(numbers.get(tree[name], tree[name]))
    if element and element.kind == "table":
        return lambda tree, done: tuple([_table_value(element.name, each, done) for each in tree[name]])
    if element and element.kind != "float64":
        return lambda tree, done: tuple(tree[name])
    return lambda tree, done: tree[name]


def from_message(message: Message, done: Done | None = None) -> Tree:
    """The wire tree of a message that can be written (`batprotocol.wire.check`). It shares parts as the message does.

    `done`, if it is given, has `LARGE` if a part of the message may recur that is longer than its references.
    """
    done = {} if done is None else done
    return {
        "now": message.now,
        "events": [
            {"timestamp": event.timestamp, "event_type": type(event).__name__, "event": _table_tree(event, done)}
            for event in message.events
        ],
    }


def _table_tree(value: Any, done: Done) -> Tree:
    tree = done.get(id(value))
    if tree is None:
        tree = done[id(value)] = {}
        for name, write in _writers(type(value).__name__):
            write(getattr(value, name), tree, done)
    else:
        done[LARGE] = True
    return tree


@cache
def _writers(name: str) -> list[tuple[str, Callable[[Any, Tree, Done], None]]]:
    fields = TABLES[name].fields
    return [(field.name, _writer(field)) for field in fields if field.type.kind != "utype"]


def _writer(field: Field) -> Callable[[Any, Tree, Done], None]:
    """What puts the value of one field into the tree of its table."""
    name, type_ = field.name, field.type
    if type_.kind == "union":
        members = member_of(type_.name)

        def write_union(value: Any, tree: Tree, done: Done) -> None:
            member = members[type(value)]
            tree[f"{name}_type"] = member
            tree[name] = _tree(Type("table", member), value, done)

        return write_union

    if type_.kind == "string":

        def write_text(value: Any, tree: Tree, done: Done) -> None:
            if value is not None:
                if len(value) > _SHORT_TEXT:
                    done[LARGE] = True
                tree[name] = value

        return write_text
    if type_.kind in ("bool", "float64", "int32", "uint32", "uint64"):

        def write_scalar(value: Any, tree: Tree, done: Done) -> None:
            if value is not None or field.optional:
                tree[name] = value

        return write_scalar

    def write(value: Any, tree: Tree, done: Done) -> None:
        if value is not None:
            tree[name] = _tree(type_, value, done)
        elif field.optional:
            tree[name] = None

    return write


def _tree(type_: Type, value: Any, done: Done) -> Any:
    if type_.kind == "enum":
        number = int(value)
        return SCHEMA.names[type_.name].get(number, number)
    if type_.kind == "table":
        inner = wrapped(type_.name)
        if inner is None:
            return _table_tree(value, done)
        tree: Tree = {}
        _writer(inner)(value, tree, done)
        return tree
    element = type_.element
    if len(value) > _SHORT_VECTOR:
        done[LARGE] = True
    if element and element.kind == "table":
        items = done.get(id(value))
        if items is None:
            items = done[id(value)] = [_tree(element, each, done) for each in value]
        return items
    return value
