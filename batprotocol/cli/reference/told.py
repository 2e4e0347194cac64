"""What classes of events and messages tell of themselves: a sentence, and what each field means.

For whoever shows them to people, on a terminal or on a page. It reads docstrings, and knows no protocol.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Told", "meanings", "title"]

_ARGUMENT = re.compile(r"^    (\w+): (.*?)(?=^    \w|^\S|\Z)", re.MULTILINE | re.DOTALL)


class Told(NamedTuple):
    """A field, as people are told of it.

    Args:
        name: what the wire calls it.
        kind: what it holds, in a word.
        notes: whether it is required, since when there is one, and so on.
        meaning: what it means, or "".
    """

    name: str
    kind: str
    notes: tuple[str, ...]
    meaning: str


def title(kind: type[Any]) -> str:
    """The first line of what a class tells."""
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def meanings(kind: type[Any]) -> Mapping[str, str]:
    """What each field of a class means, one line each, as its own docstring has it."""
    _, _, arguments = inspect.cleandoc(kind.__doc__ or "").partition("Args:\n")
    return {found[1]: " ".join(found[2].split()) for found in _ARGUMENT.finditer(arguments)}
