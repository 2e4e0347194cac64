"""Values as the Python code that makes them, in lines that fit a page."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from enum import Enum
from functools import cache
from typing import Any, Final

import msgspec

from batprotocol import model

__all__ = ["Piece", "call", "laid_out", "named", "pieces", "written"]

WIDTH: Final = 88

Piece = str | tuple[str, "Sequence[Piece]", str]
"""A piece of code: a text, or an opening text, the pieces that commas separate, and a closing text."""


def written(value: Any, *, whole: bool = False) -> str:
    """The Python code that makes a value.

    Args:
        value: the value.
        whole: include the fields that have their default.
    """
    return laid_out(pieces(value, whole))


def pieces(value: Any, whole: bool = False) -> Piece:
    """The same, not yet laid out."""
    if isinstance(value, model.ProtocolEnum):
        name = type(value).__name__
        return f"{name}.{value.name}" if value.known else f"{name}({int(value)})"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, model.Value):
        return call(type(value).__name__, _arguments(value, whole))
    if isinstance(value, tuple | list | model.Doubles):
        return "[", [pieces(each, whole) for each in value], "]"
    if isinstance(value, dict):
        return "{", [_joined(f"{text(key)}: ", pieces(each, whole)) for key, each in value.items()], "}"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, str):
        return text(value)
    return repr(value)


def text(value: str) -> str:
    """A text, in double quotes unless it contains some."""
    plain = repr(value)
    if plain.startswith("'") and '"' not in plain:
        return f'"{plain[1:-1]}"'
    return plain


def call(name: str, arguments: Sequence[Piece]) -> Piece:
    """A call."""
    return f"{name}(", arguments, ")"


@cache
def _fields(kind: type[model.Value]) -> tuple[tuple[msgspec.structs.FieldInfo, ...], bool]:
    """The fields of a type, and whether they are better given by name."""
    fields = msgspec.structs.fields(kind)
    needed = sum(field.required for field in fields)
    parameters = inspect.signature(kind).parameters.values()
    return fields, needed > 2 or any(each.kind is each.KEYWORD_ONLY for each in parameters)


def _arguments(value: model.Value, whole: bool) -> list[Piece]:
    fields, by_name = _fields(type(value))
    found: list[Piece] = []
    for field in fields:
        given = getattr(value, field.name)
        if whole or field.required or type(given) is not type(field.default) or given != field.default:
            piece = pieces(given, whole)
            found.append(named(field.name, piece) if by_name or not field.required else piece)
    return found


def named(name: str, piece: Piece) -> Piece:
    """A piece as the argument of this name."""
    return _joined(f"{name}=", piece)


def _joined(before: str, piece: Piece) -> Piece:
    return before + piece if isinstance(piece, str) else (before + piece[0], piece[1], piece[2])


def _flat(piece: Piece) -> str:
    if isinstance(piece, str):
        return piece
    return piece[0] + ", ".join(map(_flat, piece[1])) + piece[2]


def laid_out(piece: Piece, indent: int = 0, after: int = 0) -> str:
    """A piece in one line if it fits, else with a line for each piece within, as formatters write it.

    Args:
        piece: the piece.
        indent: the indentation of its first line.
        after: the number of characters that follow the piece in its line.
    """
    flat = _flat(piece)
    if isinstance(piece, str) or not piece[1] or indent + len(flat) + after <= WIDTH:
        return flat
    opens, within, closes = piece
    margin = " " * (indent + 4)
    if all(isinstance(each, str) for each in within):
        inside = ", ".join(map(_flat, within))
        if len(margin) + len(inside) <= WIDTH:
            return f"{opens}\n{margin}{inside}\n{' ' * indent}{closes}"
    lines = [f"{margin}{laid_out(each, indent + 4, 1)}," for each in within]
    return "\n".join([opens, *lines, " " * indent + closes])
