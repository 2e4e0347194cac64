"""The columns of sacct's output: found from its first lines, whatever the fields, their order and the delimiter.

A line becomes a list of texts, one for each column. The last part reads the command line of a submission
(`SubmitLine`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import AnyStr, Final, Literal, NamedTuple

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError, shown
from batprotocol.workloads.requests.notation import parse_dependency

__all__ = [
    "NEEDED",
    "SacctLayout",
    "SubmitOptions",
    "WholeRows",
    "layout_of",
    "submission_of",
]


NEEDED: Final = "sacct --allusers --allocations --duplicates --parsable2 --format=ALL"
"""A command whose output has all that is read."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*", re.ASCII)
_RULER: Final = re.compile(r"-+(?: -+)* ?")
_LONGEST_DELIMITER: Final = 16
_LONGEST_ROW: Final = 1 << 20
_MOST_STEPS: Final = 2_000
_TEXTS: Final = frozenset(
    ("jobname", "submitline", "comment", "admincomment", "systemcomment", "workdir", "extra", "container", "stdin",
     "stdout", "stderr", "wckey")
)  # fmt: skip
"""Columns that may hold the delimiter or an end of line, as users write them."""
_ID: Final = re.compile(r"[0-9]+(?:[_+.][^ ]*)?", re.ASCII)
_TIME: Final = re.compile(r"[0-9][0-9T: +-]*|Unknown|None|", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]*[KMG]?", re.ASCII)
_SPAN: Final = re.compile(r"[0-9:.-]*|UNLIMITED|INVALID|Partition_Limit", re.ASCII)
_RESOURCES: Final = re.compile(r"(?:[^ =]+=[^ ]*)?", re.ASCII)
_WORD: Final = re.compile(r"[^ ]*|None assigned", re.ASCII)
_LIKE: Final = {
    **dict.fromkeys(("jobid", "jobidraw"), _ID),
    **dict.fromkeys(("submit", "eligible", "start", "end"), _TIME),
    **dict.fromkeys(("elapsed", "timelimit", "suspended", "reserved", "planned", "cputime", "totalcpu"), _SPAN),
    **dict.fromkeys(
        ("nnodes", "allocnodes", "ncpus", "alloccpus", "reqcpus", "reqnodes", "priority", "ntasks", "uid", "gid",
         "elapsedraw", "timelimitraw", "qosraw", "associd", "cputimeraw", "dbindex", "reservationid", "wckeyid"),
        _NUMBER,
    ),
    **dict.fromkeys(("alloctres", "reqtres"), _RESOURCES),
    **dict.fromkeys(("exitcode", "derivedexitcode"), re.compile(r"(?:[0-9]+:[0-9]+)?", re.ASCII)),
    "state": re.compile(r"[A-Z_]+(?: by [^ ]+)?\+?|", re.ASCII),
}  # fmt: skip
"""The patterns of values in columns: they show where a value that holds the delimiter begins and ends."""
_HOSTS: Final = r"[A-Za-z0-9._-]+(?:\[[0-9,-]+\][A-Za-z0-9._-]*)*"
_AMOUNT: Final = r"[^ =,]+=[^ =,]*"
_LISTS: Final = {
    "nodelist": re.compile(rf"(?:{_HOSTS}(?:,{_HOSTS})*|None assigned)?", re.ASCII),
    **dict.fromkeys(("alloctres", "reqtres"), re.compile(rf"(?:{_AMOUNT}(?:,{_AMOUNT})*)?", re.ASCII)),
}
"""The patterns of columns with lists, which hold the delimiter if it is a comma."""
_NO_AMOUNT: Final = re.compile(r"[^ =]*|None assigned", re.ASCII)
_LONGEST_LIST: Final = 10_000
_KNOWN: Final = frozenset((*_LIKE, "jobname", "partition", "account", "user", "elapsed", "cluster", "nnodes"))


class SacctLayout(NamedTuple):
    """How the lines of a file are divided.

    Attributes:
        names: the names of the columns, in lower case.
        delimiter: the text between values; "" for columns of a fixed width.
        spans: the first byte of each column and the one behind its last, for columns of a fixed width.
        header: the line with the names; "" if there is none.
        lines: the number of lines before the first row.
    """

    names: tuple[str, ...]
    delimiter: str
    spans: tuple[tuple[int, int], ...] = ()
    header: str = ""
    lines: int = 0

    def is_plain_before(self, column: int) -> bool:
        """Whether no column before this one may hold the delimiter or an end of line, as users write it."""
        return not self.texts.intersection(self.names[:column])

    @property
    def texts(self) -> frozenset[str]:
        """The columns whose values may hold the delimiter."""
        return _TEXTS.union(_LISTS) if self.delimiter == "," else _TEXTS

    @property
    def errors(self) -> Literal["replace", "surrogateescape"]:
        """How to read lines: columns of a fixed width may cut a character, and each of its bytes counts."""
        return "replace" if self.delimiter else "surrogateescape"

    def values(self, line: str) -> list[str] | None:
        """The values of a line; None if it cannot be divided into the columns."""
        if not self.delimiter:
            return self._cut(line)
        values = line.split(self.delimiter)
        return values if len(values) == len(self.names) else self._fitted(values)

    def _cut(self, line: str) -> list[str] | None:
        """The values of columns of a fixed width: sacct counts bytes, and other programs count characters."""
        if line.isascii():
            return _pieces(line, self.spans)
        by_bytes = _pieces(line.encode(errors="surrogateescape"), self.spans)
        if by_bytes is not None:
            return [piece.decode(errors="replace") for piece in by_bytes]
        by_characters = _pieces(line, self.spans)
        if by_characters is None:
            return None
        return [piece.encode(errors="surrogateescape").decode(errors="replace") for piece in by_characters]

    def _fitted(self, values: list[str]) -> list[str] | None:
        """The values of a line in which users' texts hold the delimiter: the one division that makes sense."""
        if len(values) < len(self.names):
            return None
        found: list[str] | None = None
        divisions = _Divisions(self, values)
        for ends in divisions.of(0, 0, len(values) - len(self.names)):
            begins = [0, *ends[:-1]]
            fitted = [self.delimiter.join(values[begin:end]) for begin, end in zip(begins, ends, strict=True)]
            if found is not None and self._facts(fitted) != self._facts(found):
                return None
            found = found or fitted
        return found if divisions.steps < _MOST_STEPS else None

    def _facts(self, values: Sequence[str]) -> list[str]:
        return [value for name, value in zip(self.names, values, strict=True) if name not in _TEXTS]


def _pieces(line: AnyStr, spans: Sequence[tuple[int, int]]) -> list[AnyStr] | None:
    """The texts of a line in these columns; None if there is something between them."""
    end = 0
    for first, last in spans:
        if line[end:first].strip():
            return None
        end = last
    return [line[first:last].strip() for first, last in spans] if not line[end:].strip() else None


class _Divisions:
    """The ways to divide the pieces of a line into columns, so that each value looks like one of its column.

    Attributes:
        steps: the pieces that were looked at.
    """

    def __init__(self, layout: SacctLayout, pieces: Sequence[str]) -> None:
        self.steps = 0
        self._names = layout.names
        self._texts = layout.texts
        self._other = _NO_AMOUNT if layout.delimiter == "," else _WORD
        self._pieces = pieces
        self._dead: set[tuple[int, int]] = set()  # columns of texts, with their ends, behind which nothing fits

    def of(self, place: int, begin: int, more: int) -> Iterator[list[int]]:
        """The places behind the last piece of each column from `place` on.

        Args:
            place: a column.
            begin: its first piece.
            more: the number of pieces that columns of texts take besides their own.
        """
        ends: list[int] = []
        while place < len(self._names) and self._names[place] not in self._texts:
            self.steps += 1
            if not _LIKE.get(self._names[place], self._other).fullmatch(self._pieces[begin]):
                return
            place, begin = place + 1, begin + 1
            ends.append(begin)
        if place == len(self._names):
            if not more:
                yield ends
            return
        for extra in range(more + 1):
            end = begin + 1 + extra
            self.steps += 1
            if self.steps >= _MOST_STEPS:
                return
            if (place, end) not in self._dead and self._is_list(place, begin, end):
                is_dead = True
                for rest in self.of(place + 1, end, more - extra):
                    is_dead = False
                    yield [*ends, end, *rest]
                if is_dead:
                    self._dead.add((place, end))

    def _is_list(self, place: int, begin: int, end: int) -> bool:
        """Whether these pieces are a list, if the column has lists."""
        pattern = _LISTS.get(self._names[place])
        if pattern is None:
            return True
        text = ",".join(self._pieces[begin:end])
        return len(text) <= _LONGEST_LIST and pattern.fullmatch(text) is not None


def layout_of(
    lines: Iterator[tuple[int, str]], file: str, fields: Sequence[str] | None = None, delimiter: str | None = None
) -> SacctLayout:
    """Find the layout from the first lines of a file.

    Args:
        lines: its first lines with their numbers; one or two are taken.
        file: its name, for errors.
        fields: the names of its columns, for a file without header.
        delimiter: the text between values; None: the one that the header has, or `|`.

    Raises:
        InputError: the file has no header and `fields` are not given, or its header cannot be read.
    """
    first = next((line for _, line in lines), "")
    names = _names(first, delimiter)
    if names is None and fields is not None:
        return SacctLayout(tuple(name.strip().partition("%")[0].lower() for name in fields), delimiter or "|")
    if names is None:
        raise InputError(
            f"expected sacct's header, such as 'JobID|User|Submit|Start|End|State', got {shown(first)}; "
            "use sacct without --noheader, or give its fields (--fields of batproto import)",
            file=file,
            line=1,
        )
    found, between = names
    if between:
        return SacctLayout(found, between, header=first, lines=1)
    ruler = next((line for _, line in lines), "")
    if not _RULER.fullmatch(ruler):
        raise InputError(
            f"expected a line of dashes below columns of a fixed width, got {shown(ruler)}; use sacct --parsable2",
            file=file,
            line=2,
        )
    spans = tuple((found.start(), found.end()) for found in re.finditer("-+", ruler))
    cut = tuple(first[start:end].strip().lower() for start, end in spans)
    return SacctLayout(cut, "", spans, first, 2)


def _names(line: str, delimiter: str | None) -> tuple[tuple[str, ...], str] | None:
    """The names in a header and the delimiter between them, "" for spaces; None if it is not a header."""
    line = line.lstrip("\ufeff").rstrip(" ")
    first = _NAME.match(line.lstrip(" "))
    if first is None or len(line) > _LONGEST_ROW:
        return None
    rest = line.lstrip(" ")[first.end() :]
    second = _NAME.search(rest)
    between = delimiter or (rest[: second.start()] if second else "|")
    if not between.strip(" "):
        names, between = tuple(line.lower().split()), ""
    elif len(between) <= _LONGEST_DELIMITER:
        names = tuple(name.strip().lower() for name in line.split(between))
    else:
        return None
    return (names, between) if len(_KNOWN & {*names}) >= min(2, len(names)) else None


class WholeRows:
    """The rows of a file, without header: those whose text has an end of line are put together.

    Args:
        layout: the layout of the lines.
        left_out: where lines that are not rows are counted.

    Attributes:
        part: the beginning of a row that goes on with the next line; "": there is none.
    """

    def __init__(self, layout: SacctLayout, left_out: LeftOut | None = None) -> None:
        self.part = ""
        self._begun = 0
        self._left_out = left_out
        self._delimiter, self._header, self._lines = layout.delimiter, layout.header, layout.lines
        self._least = len(layout.names) - 1

    def add(self, number: int, line: str) -> tuple[int, str] | None:
        """The row that a line ends, with the number of its first line; None if it ends none."""
        if not self._delimiter:
            return (number, line) if number > self._lines and line.strip() else None
        if line.count(self._delimiter) >= self._least:
            if self.part:
                self._too_few()
            if line != self._header:
                return number, line
            if self._left_out is not None and number > self._lines:
                self._left_out.row("the header again", number)
        elif self.part:
            self.part = part = f"{self.part}\n{line}"
            if part.count(self._delimiter) >= self._least:
                self.part = ""
                return self._begun, part
            if len(part) > _LONGEST_ROW:
                self._too_few()
        elif line:
            self._begun, self.part = number, line
        return None

    def end(self) -> None:
        """There are no more lines."""
        if self.part:
            self._too_few()

    def _too_few(self) -> None:
        self.part = ""
        if self._left_out is not None:
            self._left_out.row("the row has fewer values than the header", self._begun)


# Options in the command line of a submission: dependency, constraint, named and exclusive hosts


_PROGRAMS: Final = ("sbatch", "srun", "salloc")
_LONGEST_LINE: Final = 4096
_WITHOUT_VALUE: Final = frozenset("HhIkOQsVvWXuE")
_LONG_WITHOUT_VALUE: Final = frozenset(
    ("--contiguous", "--exclusive", "--hold", "--ignore-pbs", "--immediate", "--kill-on-invalid-dep", "--no-kill",
     "--no-requeue", "--oversubscribe", "--overcommit", "--parsable", "--quiet", "--reboot", "--requeue", "--share",
     "--spread-job", "--test-only", "--use-min-nodes", "--verbose", "--wait", "--get-user-env", "--propagate",
     "--nice", "--export-file", "--disable-status", "--label", "--pty", "--unbuffered", "--no-shell")
)  # fmt: skip
_TAKEN: Final = {
    "-d": "dependency",
    "-C": "constraint",
    "-w": "nodelist",
    "-x": "exclude",
    **{f"--{name}": name for name in ("dependency", "constraint", "nodelist", "exclude")},
}
_MARK: Final = re.compile("|".join((*_TAKEN, "--exclusive")))
"""The mark of a line with an option that is read: a search for each line of a log must be fast."""


class SubmitOptions(NamedTuple):
    """The options in a command line.

    Attributes:
        dependency: the dependency, in the vocabulary of `batprotocol.workloads.requests`; None if it has none that can
            be read.
        constraint: the features that it asks for; None if it has none.
        exclusive: whether it asks for hosts of its own; None if it does not.
        unread: whether it has a dependency that cannot be read.
        nodelist: the names of the hosts that it must have; None if it names none. A name with a `/` is a file, which
            the log does not have.
        exclude: the names of the hosts that it must not have; likewise.
    """

    dependency: str | None = None
    constraint: str | None = None
    exclusive: bool | None = None
    unread: bool = False
    nodelist: str | None = None
    exclude: str | None = None


_NO_OPTIONS: Final = SubmitOptions()


def submission_of(line: str) -> SubmitOptions:
    """The options in a command line.

    >>> found = submission_of("sbatch -N2 -d afterok:1 -w n[1-2] --exclusive job.sh -C x")
    >>> found.dependency, found.constraint, found.exclusive, found.nodelist
    ('afterok:1', None, True, 'n[1-2]')
    """
    if _MARK.search(line) is None:
        return _NO_OPTIONS
    return _read_options(line[:_LONGEST_LINE])


@lru_cache(1024)
def _read_options(line: str) -> SubmitOptions:
    words = line.split()
    if not words or words[0].rpartition("/")[2] not in _PROGRAMS:
        return _NO_OPTIONS
    found: dict[str, str] = {}
    exclusive: bool | None = None
    place = 1
    while place < len(words) and words[place].startswith("-") and words[place] != "--wrap":
        name, value, used = _option(words, place)
        if name == "--exclusive":
            exclusive = not value or None
        elif name in _TAKEN:
            found[_TAKEN[name]] = value
        place += used
    dependency = found.get("dependency")
    read = SubmitOptions(
        dependency,
        found.get("constraint"),
        exclusive,
        nodelist=_host_names(found.get("nodelist", "")),
        exclude=_host_names(found.get("exclude", "")),
    )
    try:
        if dependency is not None:
            parse_dependency(dependency)
    except InputError:
        return read._replace(dependency=None, unread=True)
    return read


def _host_names(text: str) -> str | None:
    """Names of hosts; None if there are none, or they are in a file."""
    return text if text and "/" not in text else None


def _option(words: list[str], place: int) -> tuple[str, str, int]:
    """The name of an option, its value ("" if it has none), and the number of words that it takes."""
    word = words[place]
    name, value = word[:2], word[2:]
    is_alone = word[1:2] in _WITHOUT_VALUE
    if word.startswith("--"):
        name, _, value = word.partition("=")
        is_alone = "=" in word or name in _LONG_WITHOUT_VALUE
    if is_alone or value or place + 1 == len(words):
        return name, value, 1
    return name, words[place + 1], 2
