"""Finds the lines of an `.fbs` file, and of the files that it includes, where each part of the schema is defined.

flatc's reflection has no lines. This module must not know what the parts mean.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Line", "places_of"]

_TOKEN: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[A-Za-z_][\w.]*|\d[\w.]*|[^\w\s]', re.DOTALL)
_DEFINITIONS: Final = ("table", "struct", "enum", "union")
_MOST_FILES: Final = 100
_LARGEST: Final = 2**24


class Line(NamedTuple):
    """A line of a file, from 1."""

    file: str
    line: int


def places_of(path: str | os.PathLike[str]) -> Mapping[str, Line]:
    """The lines of all parts: `Job` is a table, `Job.walltime` a field of it, `root_type` and `file_identifier` are
    what they are. Empty if the file is not a `.fbs` or cannot be read.

    Args:
        path: the file.
    """
    found: dict[str, Line] = {}
    waiting = [Path(path)] if os.fspath(path).endswith(".fbs") else []
    seen: set[Path] = set()
    while waiting and len(seen) < _MOST_FILES:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        try:
            with open(file, encoding="utf-8", errors="replace") as opened:
                text = opened.read(_LARGEST)
        except OSError:
            continue
        for name, line in _parts(text):
            if name.startswith('"'):
                waiting.append(file.parent / name[1:-1])
            else:
                found.setdefault(name, Line(os.fspath(file), line))
    return found


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """The names of parts with their lines; an included file is a text in quotation marks."""
    tokens = list(_tokens(text))
    place = 0
    while place < len(tokens) - 1:
        (token, line), (following, _) = tokens[place], tokens[place + 1]
        if token == "include" and following.startswith('"'):
            yield following, line
        elif token in ("root_type", "file_identifier"):
            yield token, line
        elif token in _DEFINITIONS and following[0].isidentifier():
            name = following.rpartition(".")[2]
            yield name, line
            place = yield from _members(tokens, place + 2, name, token in ("enum", "union"))
            continue
        place += 1


def _members(
    tokens: list[tuple[str, int]], place: int, owner: str, is_list: bool
) -> Generator[tuple[str, int], None, int]:
    """The members of a definition. It returns the place behind it."""
    depth = 0
    begins = False
    while place < len(tokens):
        token, line = tokens[place]
        if token in "{([":
            depth += 1
            begins = token == "{" and depth == 1
        elif token in "})]":
            depth -= 1
            if not depth and token == "}":
                return place + 1
        elif depth == 1 and token in (",", ";"):
            begins = True
        elif depth == 1 and begins and token[0].isidentifier():
            yield f"{owner}.{token.rpartition('.')[2]}", line
            begins = False
        elif not depth and (token in _DEFINITIONS or token == ";") and not is_list:
            return place
        place += 1
    return place


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line, done = 1, 0
    for found in _TOKEN.finditer(text):
        line += text.count("\n", done, found.start())
        done = found.start()
        if not found[0].startswith(("//", "/*")):
            yield found[0], line
