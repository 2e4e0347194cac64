"""The rows of the tables of parameters: a name, whether the simulated scheduler follows it, and how it is read."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from batprotocol.errors import InputError, shown

__all__ = ["MOST_UNKNOWN", "Row", "Standing", "hinted", "ignored", "missed", "named", "rows_of", "says_nothing"]

NOTHING: Final = frozenset({"", "(null)", "none", "n/a"})
MOST_UNKNOWN: Final = 100
"""The most names of a file that nobody knows: each is compared with all known ones."""
_LIKENESS: Final = 0.85
"""How alike a name that nobody knows and a known one are, at least, if the first is misspelt."""


class Standing(enum.Enum):
    """The fate of a parameter in a simulation.

    Attributes:
        FOLLOWED: the simulated scheduler does as it says.
        IDLE: it decides nothing in a simulation: a path, a port, a log file, the load of the controller.
        MISSED: it could decide something, and is not followed.
    """

    FOLLOWED = "followed"
    IDLE = "without effect"
    MISSED = "not followed"


class Row(NamedTuple):
    """A parameter, or an option of one.

    Attributes:
        name: its name as Slurm's documentation writes it.
        standing: what becomes of it.
        field: the field of the value that it sets, or "" if `read` gives several.
        read: reads its text. Without a `field`, it returns the values of several fields by name.
        note: what is particular, for the table of the handbook.
    """

    name: str
    standing: Standing = Standing.FOLLOWED
    field: str = ""
    read: Callable[[str], Any] = str
    note: str = ""

    def fields_of(self, text: str) -> Mapping[str, Any]:
        """The fields that its text sets.

        Raises:
            InputError: the text cannot be read.
        """
        value = self.read(text)
        if self.field:
            return {self.field: value}
        fields: Mapping[str, Any] = value
        return fields


def rows_of(rows: Iterable[Row]) -> dict[str, Row]:
    """The rows by their names in small letters."""
    return {row.name.lower(): row for row in rows}


def ignored(*names: str) -> Iterator[Row]:
    """Rows of parameters without effect."""
    return (Row(name, Standing.IDLE) for name in names)


def missed(*names: str) -> Iterator[Row]:
    """Rows of parameters that are not followed."""
    return (Row(name, Standing.MISSED) for name in names)


def says_nothing(text: str) -> bool:
    """Whether a text is one of those by which Slurm says that there is no such thing: `burst_buffer/none`."""
    low = text.lower()
    return low in NOTHING or low.endswith("/none")


def named(name: str, rows: Mapping[str, Row]) -> Row | None:
    """The row of a name; None if the name is not known at all, as it belongs to another version.

    Raises:
        InputError: the name is almost one of those in the table.
    """
    found = rows.get(name.lower())
    if found is not None:
        return found
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=name.lower(), autojunk=False)
    for each in rows:
        matcher.set_seq1(each)
        measures = matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio  # from the quickest one
        if all(measure() >= _LIKENESS for measure in measures):
            raise InputError(f"there is no parameter {shown(name)}; did you mean {rows[each].name!r}?")
    return None


def hinted(name: str, known: Iterable[str]) -> str:
    """A question for the end of a sentence, as `hint` gives it, for names in any letters."""
    from difflib import get_close_matches

    names = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), list(names), 1)
    return f"; did you mean {names[near[0]]!r}?" if near else ""
