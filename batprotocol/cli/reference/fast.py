"""`batproto schema --protocol fast`: what the tables of FaST say of a message, as text for people."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from batprotocol.cli.terminal.text import Piece
from batprotocol.fast import values
from batprotocol.fast.messages import MESSAGES, ROUTES
from batprotocol.fast.wire.shapes import Key, shape_of

__all__ = ["NAMES", "describe", "overview"]

_PARTS: Final[Mapping[str, type[Any]]] = {
    name: cls for name, cls in vars(values).items() if isinstance(cls, type) and issubclass(cls, values.Part)
}
_ARGUMENT = re.compile(r"^    (\w+): (.*?)(?=^    \w|^\n|\Z)", re.MULTILINE | re.DOTALL)

NAMES: Final = (*MESSAGES, *(name for name in _PARTS if name != "Part"))
"""The names of all messages, and of what is in them."""

Line = list[Piece]


def overview() -> Iterator[Line]:
    """All messages, with the topics that they travel on; then the parts of messages."""
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


def describe(name: str) -> Iterator[Line]:
    """A message or a part: who says it and where, and its keys with what they mean."""
    cls = MESSAGES.get(name) or _PARTS[name]
    yield [("heading", "message " if name in MESSAGES else "part "), ("event" if name in MESSAGES else "type", name)]
    yield [("detail", f"  {(inspect.getdoc(cls) or '').partition(chr(10))[0]}")]
    for route in ROUTES:
        if route.message is cls:
            told = f"  {route.channel}: {route.sender} to {route.receiver}, QoS {route.qos}, not retained"
            yield [("detail", told)]
    shape, specified = shape_of(cls, "fastlib"), shape_of(cls, "specification")
    for key, word in {"task": (shape.task, specified.task)}.items():
        if any(word):
            note = "" if word[0] else " (specification only)"
            yield [("", "  "), ("field", key), ("", ": "), ("string", word[1]), ("detail", note)]
    others = {key.field: key for key in specified.keys}
    for each in shape.keys:
        yield from _key(each, others[each.field], _meanings(cls))
    if not shape.keys:
        yield [("detail", "  no keys")]


def _key(key: Key, specified: Key, meanings: Mapping[str, str]) -> Iterator[Line]:
    name, other = key.names[0], specified.names[0]
    notes = ["required"] if key.required else []
    if other != name:
        notes.append(f"in the specification {other}")
    if specified.kind.name != key.kind.name:
        notes.append(f"in the specification a {specified.kind.name}")
    note = f" ({', '.join(notes)})" if notes else ""
    yield [("", "  "), ("field", name), ("", ": "), ("type", key.kind.name), ("detail", note)]
    if key.field in meanings:
        yield [("detail", f"      {meanings[key.field]}")]


def _meanings(cls: type[Any]) -> Mapping[str, str]:
    """What docstrings say of the fields: its own, those of what it is one of, or of the tasks that it refers to."""
    found: dict[str, str] = {}
    for each in (values.StartVM, values.MigrateVM, *reversed(cls.__mro__)):
        described = _ARGUMENT.finditer(inspect.cleandoc(each.__doc__ or ""))
        found.update({argument[1]: " ".join(argument[2].split()) for argument in described})
    return found
