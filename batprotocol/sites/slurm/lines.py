r"""The lines of Slurm's configuration files: comments, lines that go on after a `\`, and names with values.

This module must not know which names there are, and what the values mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from batprotocol.errors import InputError, shown
from batprotocol.workloads.requests import expanded_names

__all__ = ["MOST_NAMES", "Names", "lines_of", "pairs_of"]

MOST_NAMES: Final = 1_000_000
"""The names that all lines of a file may stand for together: a short file can stand for very many."""

_COMMENT: Final = re.compile(r"(?<!\\)#")
_NAME: Final = re.compile(r"\s*([A-Za-z0-9_.]+)")
_EQUALS: Final = re.compile(r"\s*=")
_QUOTED: Final = re.compile(r'\s*"([^"]*)"(?=\s|$)')
_PLAIN: Final = re.compile(r"\s*(\S+)")
_BLANK: Final = re.compile(r"\s+(?=[A-Za-z0-9_.]+=)|\s*$")


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    r"""The lines with the numbers of their beginnings, without comments and blank lines.

    A `\` at the end joins a line and the next. A `#` begins a comment, except after a `\`.

    >>> list(lines_of("# nodes\nNodeName=n0 \\\n  CPUs=4\n"))
    [(2, 'NodeName=n0    CPUs=4')]
    """
    parts: list[str] = []
    begin = 0
    for number, line in enumerate(text.splitlines(), 1):
        begin = begin or number
        plain = _COMMENT.split(line, maxsplit=1)[0].rstrip().replace("\\#", "#")
        if plain.endswith("\\"):
            parts.append(plain[:-1] + " ")
            continue
        parts.append(plain)
        joined = "".join(parts)
        if joined.strip():
            yield begin, joined
        parts, begin = [], 0
    joined = "".join(parts)
    if joined.strip():
        yield begin, joined


def pairs_of(line: str) -> list[tuple[str, str]]:
    """The names of a line with their values, as they are written. A value in quotation marks can have spaces.

    >>> pairs_of('NodeName=n0 Reason="is being repaired" Weight = 3')
    [('NodeName', 'n0'), ('Reason', 'is being repaired'), ('Weight', '3')]

    Raises:
        InputError: a word is neither a name nor a value.
    """
    pairs: list[tuple[str, str]] = []
    place, end = 0, len(line.rstrip())
    while place < end:
        name = _NAME.match(line, place)
        equals = name and _EQUALS.match(line, name.end())
        if not name or not equals:
            raise InputError(f"expected NAME=VALUE, got {shown(line[place:end].split()[0])}")
        place = equals.end()
        blank = _BLANK.match(line, place)
        if blank is not None:
            pairs.append((name[1], ""))
            place = blank.end()
            continue
        value = _QUOTED.match(line, place) or _PLAIN.match(line, place)
        assert value is not None, "text that is not blank has a value"
        pairs.append((name[1], value[1]))
        place = value.end()
    return pairs


class Names:
    """Expands names of nodes, `n[0-63]`, up to a limit for all files together."""

    def __init__(self, most: int = MOST_NAMES) -> None:
        self._most = self._left = most

    def of(self, text: str) -> list[str]:
        """The names that a text stands for.

        Raises:
            InputError: the text cannot be read, or the names are too many.
        """
        found = expanded_names(text)
        self.count(len(found))
        return found

    def count(self, names: int) -> None:
        """Count names.

        Raises:
            InputError: there are too many.
        """
        self._left -= names
        if self._left < 0:
            raise InputError(f"the lines of the file stand for more than {self._most:,} names")
