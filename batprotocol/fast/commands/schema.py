"""`batproto schema --protocol fast`: the messages in the tables of FaST as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from batprotocol.cli.terminal import Piece
from batprotocol.fast import values
from batprotocol.fast.topics import MESSAGES, ROUTES
from batprotocol.fast.wire.kinds import shape_of
from batprotocol.schemas.commands.definitions import FieldText, meanings, title

__all__ = ["NAMES", "class_of", "describe", "keys", "overview", "task_of"]

_PARTS: Final[Mapping[str, type[Any]]] = {
    name: cls for name, cls in vars(values).items() if isinstance(cls, type) and issubclass(cls, values.Part)
}

NAMES: Final = (*MESSAGES, *(name for name in _PARTS if name != "Part"))
"""The names of all messages, and of their parts."""

Line = list[Piece]


def overview() -> Iterator[Line]:
    """All messages with their topics, then the parts of messages."""
    width = max(len(name) for name in MESSAGES)
    yield [("heading", "Messages")]
    for name, cls in MESSAGES.items():
        topics = [f"{route.channel} (QoS {route.qos})" for route in ROUTES if route.message is cls]
        yield [
            ("", "  "),
            ("event", name),
            ("", " " * (width - len(name) + 2)),
            ("", topics[0] if topics else "a file"),
        ]
    yield [("heading", "Parts of messages")]
    yield from ([("", "  "), ("type", name)] for name in NAMES if name not in MESSAGES)


def class_of(name: str) -> type[Any]:
    """The class of a message or of a part."""
    return MESSAGES.get(name) or _PARTS[name]


def task_of(cls: type[Any]) -> FieldText | None:
    """The key that identifies the kind of a message, or None if there is none."""
    ours, theirs = shape_of(cls, "fastlib").task, shape_of(cls, "specification").task
    return FieldText("task", theirs, () if ours else ("specification only",), "") if theirs else None


def keys(cls: type[Any]) -> Iterator[FieldText]:
    """The keys of a message or a part in fast-lib, with the differences in the specification."""
    others = {key.field: key for key in shape_of(cls, "specification").keys}
    told = _meanings(cls)
    for key in shape_of(cls, "fastlib").keys:
        other = others[key.field]
        notes = ["required"] if key.required else []
        if other.names[0] != key.names[0]:
            notes.append(f"in the specification {other.names[0]}")
        if other.kind.name != key.kind.name:
            notes.append(f"in the specification a {other.kind.name}")
        yield FieldText(key.names[0], key.kind.name, tuple(notes), told.get(key.field, ""))


def describe(name: str) -> Iterator[Line]:
    """A message or a part: its sender and topic, and its keys with their meanings."""
    cls = class_of(name)
    yield [("heading", "message " if name in MESSAGES else "part "), ("event" if name in MESSAGES else "type", name)]
    yield [("detail", f"  {title(cls)}")]
    for route in ROUTES:
        if route.message is cls:
            told = f"  {route.channel}: {route.sender} to {route.receiver}, QoS {route.qos}, not retained"
            yield [("detail", told)]
    task = task_of(cls)
    if task:
        yield [("", "  "), ("field", task.name), ("", ": "), ("string", task.kind), ("detail", _notes(task))]
    found = list(keys(cls))
    for each in found:
        yield [("", "  "), ("field", each.name), ("", ": "), ("type", each.kind), ("detail", _notes(each))]
        if each.meaning:
            yield [("detail", f"      {each.meaning}")]
    if not found:
        yield [("detail", "  no keys")]


def _notes(told: FieldText) -> str:
    return f" ({', '.join(told.notes)})" if told.notes else ""


def _meanings(cls: type[Any]) -> Mapping[str, str]:
    """The descriptions of the fields, from its own docstring, its base classes, or the tasks that it refers to."""
    found: dict[str, str] = {}
    for each in (values.StartVM, values.MigrateVM, *reversed(cls.__mro__)):
        found.update(meanings(each))
    return found
