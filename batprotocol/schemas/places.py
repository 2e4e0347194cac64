"""Finds the lines of an `.fbs` file, and of the files that it includes, where each part of the schema is defined.

flatc's reflection has no lines, and not all defaults. This module must not know what the parts mean.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Line", "literals_of", "places_of"]

_TOKEN: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[A-Za-z_][\w.]*|\d[\w.]*|[^\w\s]', re.DOTALL)
_DEFINITIONS: Final = ("table", "struct", "enum", "union")
_MOST_FILES: Final = 100
_LARGEST: Final = 2**24
_LONGEST: Final = 1000
"""The most tokens of the definition of a field up to the end of its default."""


class Line(NamedTuple):
    """A line of a file, from 1."""

    file: str
    line: int


def places_of(path: str | os.PathLike[str], include: Sequence[str | os.PathLike[str]] = ()) -> Mapping[str, Line]:
    """The lines of all parts: `Job` is a table, `Job.walltime` a field of it, `root_type` and `file_identifier` are
    what they are. A part is also found by its name with the namespace. Empty if the file is not a `.fbs` or cannot be
    read.

    Args:
        path: the file.
        include: the folders of included files, besides those of the files themselves.
    """
    found: dict[str, Line] = {}
    for file, part in _all_parts(path, include):
        line = Line(os.fspath(file), part.line)
        found.setdefault(part.name, line)
        found.setdefault(f"{part.space}{part.name}", line)
    return found


def literals_of(path: str | os.PathLike[str], include: Sequence[str | os.PathLike[str]] = ()) -> Mapping[str, str]:
    """The defaults of all fields as they are written, by `space.Job.walltime`.

    Args:
        path: the file, `.fbs`.
        include: the folders of included files, besides those of the files themselves.
    """
    return {f"{part.space}{part.name}": part.literal for _, part in _all_parts(path, include) if part.literal}


class _Part(NamedTuple):
    """A part of a schema: its name, its line, its namespace with a point behind it, and the default of a field.

    An included file is a name in quotation marks.
    """

    name: str
    line: int
    space: str = ""
    literal: str = ""


def _all_parts(path: str | os.PathLike[str], include: Sequence[str | os.PathLike[str]]) -> Iterator[tuple[Path, _Part]]:
    """The parts of a file and of the files that it includes."""
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
        for part in _parts(text):
            if part.name.startswith('"'):
                places = [Path(folder) / part.name[1:-1] for folder in (*include, file.parent)]
                waiting.append(next((place for place in places if place.exists()), places[-1]))
            else:
                yield file, part


def _parts(text: str) -> Iterator[_Part]:
    tokens = list(_tokens(text))
    place, space = 0, ""
    while place < len(tokens) - 1:
        (token, line), (following, _) = tokens[place], tokens[place + 1]
        if token == "include" and following.startswith('"'):
            yield _Part(following, line)
        elif token == "namespace":
            space = f"{following}." if following[0].isidentifier() else ""
        elif token in ("root_type", "file_identifier"):
            yield _Part(token, line)
        elif token in _DEFINITIONS and following[0].isidentifier():
            name = following.rpartition(".")[2]
            yield _Part(name, line, space)
            place = yield from _members(tokens, place + 2, name, space, token in ("enum", "union"))
            continue
        place += 1


def _members(
    tokens: list[tuple[str, int]], place: int, owner: str, space: str, is_list: bool
) -> Generator[_Part, None, int]:
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
            yield _Part(f"{owner}.{token.rpartition('.')[2]}", line, space, "" if is_list else _literal(tokens, place))
            begins = False
        elif not depth and (token in _DEFINITIONS or token == ";") and not is_list:
            return place
        place += 1
    return place


def _literal(tokens: list[tuple[str, int]], place: int) -> str:
    """The default of the field whose name is at a place, or ""."""
    found: list[str] = []
    is_default = False
    for token, _ in tokens[place : place + _LONGEST]:
        if token in (";", "(", "}"):
            break
        if is_default:
            found.append(token)
        is_default = is_default or token == "="
    return "".join(found)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line, done = 1, 0
    for found in _TOKEN.finditer(text):
        line += text.count("\n", done, found.start())
        done = found.start()
        if not found[0].startswith(("//", "/*")):
            yield found[0], line
