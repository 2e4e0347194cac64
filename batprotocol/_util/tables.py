"""Tables with commas between the values, and the rows of files that readers leave out."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

__all__ = [
    "NAMES",
    "LeftOut",
    "Reason",
    "TableRows",
    "guarded",
    "names_text",
    "plain_names",
    "quoted",
]


NAMES: Final = ["job_id", "workload_name", "profile"]
"""The columns of names, if a table begins with them. A profile has its full name: `w0!nap` of workload `w0`."""


class TableRows:
    """The rows of a table, one after the other.

    A short row has no values for the last columns. The additional values of a long row are dropped, but not in a table
    with names: there, they are an error, because the row could be read in other ways.

    Args:
        lines: the lines of the table, with their ends.

    Attributes:
        columns: the names of the columns, in order.
        number: the number of the last line that was read, from 1.

    Raises:
        ValueError: a row cannot be read. Iteration raises it, too.

    >>> [row] = TableRows(["job_id,workload_name,profile,success", 'my "first", job,w0,w0!nap,1'])
    >>> row["job_id"], row["profile"], row["success"]
    ('my "first", job', 'w0!nap', '1')
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.number = 0
        self._lines = self._counted(lines)
        header = next(self._lines, "")
        self.columns = _parsed([header]) if '"' in header else header.rstrip("\r\n").split(",")
        self._others = len(self.columns) - len(NAMES) if self.columns[: len(NAMES)] == NAMES else 0

    def __iter__(self) -> Iterator[dict[str, str]]:
        for line in self._lines:
            values = self._values(line)
            if values:
                yield dict(zip(self.columns, values, strict=False))

    def _counted(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self.number += 1
            yield line

    def _values(self, line: str) -> list[str]:
        text = line.rstrip("\r\n")
        if '"' not in text:
            values = text.split(",") if text else []
            if len(values) <= len(self.columns) or not self._others:
                return values
        parts = text.rsplit(",", self._others)
        if len(parts) == self._others + 1 > 1:
            names = _names(parts[0])
            if names is not None:
                return [*names, *parts[1:]]
        values = _parsed(chain([line], self._lines), strict=self._others > 0)
        if self._others and len(values) > len(self.columns):
            raise ValueError(f"expected {len(self.columns)} values, got {len(values)}: a name has a comma")
        return values


def _parsed(lines: Iterable[str], *, strict: bool = False) -> list[str]:
    """The values of the first row, which may be in quotation marks and contain line ends; empty without a row."""
    import csv  # most tables do not need it

    try:
        return next(csv.reader(lines, strict=strict), [])
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _names(text: str) -> list[str] | None:
    """The three names at the beginning of a row; None if the row does not begin with them."""
    try:
        found = _parsed([text], strict=True)
    except ValueError:
        found = []
    if len(found) == len(NAMES) and ",".join(map(quoted, found)) == text:
        return found
    parts = text.split(",")
    for place in range(1, len(parts) - 1):
        if parts[place + 1].startswith(f"{parts[place]}!"):
            return [",".join(parts[:place]), parts[place], ",".join(parts[place + 1 :])]
    return None


def plain_names(job_id: str, workload_name: str, profile: str, others: int) -> str | None:
    """The names at the beginning of a row as Batsim writes them; None if they could not be read back.

    Args:
        job_id: the job.
        workload_name: its workload.
        profile: the full name of its profile.
        others: the number of the other columns.

    >>> plain_names('my "first", job', "w0", "w0!nap", 14)
    'my "first", job,w0,w0!nap'
    >>> plain_names('"my, job"', "w0", "w0!nap", 14) is None
    True
    """
    text = f"{job_id},{workload_name},{profile}"
    if text.count(",") == len(NAMES) - 1 and not ('"' in text or "\n" in text or "\r" in text):
        return text
    return text if _is_read(text, [job_id, workload_name, profile], others) else None


def names_text(job_id: str, workload_name: str, profile: str, others: int) -> str:
    """The names at the beginning of a row: as Batsim writes them if they can be read back, else in quotation marks.

    Args:
        job_id: the job.
        workload_name: its workload.
        profile: the full name of its profile.
        others: the number of the other columns.

    Raises:
        ValueError: neither of both can be read back.

    >>> names_text("my, job", "w0", "w0!nap", 14)
    'my, job,w0,w0!nap'
    """
    text = plain_names(job_id, workload_name, profile, others)
    if text is not None:
        return text
    names = [job_id, workload_name, profile]
    text = ",".join(map(quoted, names))
    if not _is_read(text, names, others):
        raise ValueError(
            "the names of the job would be read as other names: use an id without line ends, commas and quotation marks"
        )
    return text


def _is_read(text: str, names: list[str], others: int) -> bool:
    """Whether a row that begins with this text is read as these names. Values of other columns have no commas."""
    header = ",".join([*NAMES, *map(str, range(others))])
    try:
        found = list(TableRows(io.StringIO(f"{header}\n{text}{',0' * others}\n", newline="")))
    except ValueError:
        return False
    return [[row.get(name) for name in NAMES] for row in found] == [names]


def quoted(text: str) -> str:
    """A text in quotation marks, if it contains commas, quotation marks or line ends.

    >>> quoted("nap"), quoted("nap, long")
    ('nap', '"nap, long"')
    """
    if any(each in text for each in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text


_FORMULA: Final = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
_NUMBER: Final = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", re.ASCII)


def guarded(value: Any) -> Any:
    """A value for a spreadsheet: an apostrophe is before a text that a spreadsheet would compute as a formula.

    >>> guarded("=HYPERLINK(1)"), guarded("nap"), guarded("-1.5"), guarded(-1.5)
    ("'=HYPERLINK(1)", 'nap', '-1.5', -1.5)
    """
    if not isinstance(value, str) or not _FORMULA.match(value) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}"


# The rows of a file that a reader leaves out: counted by reason, with the first lines of each.


_EXAMPLES: Final = 5
_MOST_REASONS: Final = 1_000
_OTHERS: Final = "other reasons"


class Reason(msgspec.Struct, frozen=True, gc=False):
    """A reason, with the number of rows that it holds for.

    Attributes:
        reason: why these rows were left out, or what of them was.
        count: how many.
        lines: the numbers of the first such lines (or rows).
        is_row: whether whole rows were left out; otherwise, only a value of theirs was.
    """

    reason: str
    count: int
    lines: tuple[int, ...]
    is_row: bool


class LeftOut:
    """The rows, and values of rows, that a reader left out.

    >>> left_out = LeftOut()
    >>> left_out.row("it never started", 7)
    >>> left_out.row("it never started", 9)
    >>> list(left_out)
    [Reason(reason='it never started', count=2, lines=(7, 9), is_row=True)]
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, bool], int] = {}
        self._lines: dict[tuple[str, bool], list[int]] = {}

    def row(self, reason: str, line: int) -> None:
        """A row is left out.

        Args:
            reason: why, as a sentence without the values of the row: rows with equal reasons are counted together.
            line: the number of its line in the file, from 1 on.
        """
        self._note((reason, True), line)

    def rows_at(self, reason: str, lines: Sequence[int]) -> None:
        """Rows are left out for one reason: those of these lines."""
        if lines:
            self._note((reason, True), lines[0], len(lines), lines[1:_EXAMPLES])

    def value(self, reason: str, line: int) -> None:
        """A value of a row is left out, and the row is taken without it."""
        self._note((reason, False), line)

    def _note(self, key: tuple[str, bool], line: int, count: int = 1, others: Sequence[int] = ()) -> None:
        if key not in self._counts and len(self._counts) >= _MOST_REASONS:
            key = (_OTHERS, key[1])
        self._counts[key] = self._counts.get(key, 0) + count
        lines = self._lines.setdefault(key, [])
        if len(lines) < _EXAMPLES:
            lines.append(line)
            lines.extend(others[: _EXAMPLES - len(lines)])

    @property
    def rows(self) -> int:
        """The number of rows that were left out."""
        return sum(count for (_, is_row), count in self._counts.items() if is_row)

    def __iter__(self) -> Iterator[Reason]:
        """The reasons, the most frequent first."""
        for key, count in sorted(self._counts.items(), key=lambda item: -item[1]):
            yield Reason(key[0], count, tuple(self._lines[key]), key[1])
