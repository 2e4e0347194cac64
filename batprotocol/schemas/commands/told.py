"""The docstrings of events and messages: a sentence, and the meaning of each field.

The terminal and the handbook show them. This module must not know a protocol.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Told", "meanings", "title"]

_ARGUMENT = re.compile(r"^    (\w+): (.*?)(?=^    \w|^\S|\Z)", re.MULTILINE | re.DOTALL)


class Told(NamedTuple):
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
