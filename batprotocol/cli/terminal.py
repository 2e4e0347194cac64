"""The terminal: text of other programs is made safe to print, and results are printed in lines, tables and remarks."""

from __future__ import annotations

import os
import re
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

import click

from batprotocol._util.files import naming
from batprotocol.errors import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from batprotocol._util.grids import Grid
    from batprotocol._util.tables import LeftOut, Reason
    from batprotocol.conversation.advice import Advice

__all__ = [
    "ASCII",
    "PIPE_CLOSED",
    "STANDARD_OUTPUT",
    "UNICODE",
    "Guides",
    "Output",
    "Piece",
    "ProgressBar",
    "discard",
    "number_of",
    "numbers_of",
    "print_advice",
    "print_grid",
    "printable",
    "quote",
    "report_left_out",
    "wrapped",
]


# Text that is safe to show: pieces with the names of their styles, escapes, the lines of a tree.


NARROWEST = 20
"""No line is wrapped to fewer columns, however narrow the terminal and deep the tree."""

Piece = tuple[str, str]
"""Some text and its style: (style, text)."""


class Guides(NamedTuple):
    """The marks that connect a line to the one above it: (before the line itself, before the lines below it)."""

    middle: tuple[str, str]
    last: tuple[str, str]


UNICODE = Guides(("├── ", "│   "), ("└── ", "    "))
ASCII = Guides(("|-- ", "|   "), ("`-- ", "    "))


def quote(text: str) -> str:
    r"""The text as Python would read it back, in double quotes if it holds none.

    >>> print(quote("w0!1"), quote('{"a": 1}'), quote("\x1b[1m"))
    "w0!1" '{"a": 1}' "\x1b[1m"
    """
    if '"' in text:
        return repr(text)
    return f'"{text if text.isprintable() and chr(92) not in text else repr(text)[1:-1]}"'


def number_of(count: int, noun: str, many: str = "") -> str:
    """A count and what is counted: "1 event", "2,000 entries"."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


_WORD = re.compile(r" *[^ ]+| +")


def wrapped(pieces: list[Piece], first: int, others: int) -> list[list[Piece]]:
    """The lines that a line becomes where so many columns are free: `first` of its first line, and of the others.

    >>> wrapped([("field", "names:"), ("", ' ["a", "b"]')], 20, 20)
    [[('field', 'names:'), ('', ' ["a", "b"]')]]
    """
    room = max(first, NARROWEST)
    if sum(columns(text) for _, text in pieces) <= room:
        return [pieces]
    lines: list[list[Piece]] = [[]]
    for style, text in pieces:
        for word in _WORD.findall(text):
            if columns(word) > room and lines[-1]:
                lines.append([])
                room = max(others, NARROWEST)
                word = word.lstrip(" ")
            while columns(word) > room:
                fits = next(size for size in range(room, 0, -1) if columns(word[:size]) <= room)
                lines[-1].append((style, word[:fits]))
                lines.append([])
                room, word = max(others, NARROWEST), word[fits:]
            room -= columns(word)
            if word:
                lines[-1].append((style, word))
    return lines


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


PIPE_CLOSED = 141
"""The status that shells report for a program that SIGPIPE ends."""

STANDARD_OUTPUT, STANDARD_ERROR = "standard output", "standard error"

STYLES = {
    "file": "bold",
    "event": "bold cyan",
    "index": "dim",
    "field": "cyan",
    "type": "magenta",
    "enum": "magenta",
    "number": "yellow",
    "string": "green",
    "heading": "bold",
    "good": "green",
    "detail": "dim",
    "guide": "dim",
}

PATIENCE_SECONDS = 1.0
"""The progress bar appears after so long without a word."""
BETWEEN_SECONDS = 0.1
"""It is not moved more often: looking at the clock is all that most steps cost."""


class Output:
    """The output of a command. `failed` is true once the command has reported an error."""

    def __init__(self) -> None:
        self.failed = False
        self._styles = _styles(sys.stdout)
        self._terminal = sys.stdout.isatty()
        self._encoding = sys.stdout.encoding or "utf-8"
        self._bar = ProgressBar(shown=False)
        self.guides = UNICODE if _can_write("├─└│", self._encoding) else ASCII

    @property
    def has_styles(self) -> bool:
        """Whether what is bold looks so."""
        return bool(self._styles)

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar can be seen."""
        return self._bar.is_shown

    def flush(self) -> None:
        """Let what was printed be read now, where it goes to a file or a pipe."""
        with _unless_closed(sys.stdout):
            sys.stdout.flush()

    @property
    def wrap_at(self) -> int | None:
        """After how many columns prose should be wrapped, None where it should not: lines in a pipe stay whole."""
        if not self._terminal:
            return None
        import shutil

        return shutil.get_terminal_size().columns

    def lines(self, lines: Iterable[list[Piece]]) -> None:
        """Print these lines."""
        text = "".join([self._line(pieces) for pieces in lines])
        self.raw(text.encode(self._encoding, "backslashreplace"))

    def line(self, *pieces: Piece) -> None:
        """Print one line."""
        self.lines([list(pieces)])

    def json(self, text: str) -> None:
        """Print JSON, which is UTF-8 in every locale."""
        self.raw(text.encode("utf-8", "backslashreplace") + b"\n")

    def raw(self, data: bytes) -> None:
        """Write these bytes to standard output."""
        if self._terminal:
            self._bar.make_way()
        with _unless_closed(sys.stdout):
            rest = memoryview(data)
            while rest:  # unbuffered (PYTHONUNBUFFERED), a write may stop half-way
                rest = rest[sys.stdout.buffer.write(rest) :]
            if self._terminal:
                sys.stdout.buffer.flush()

    def error(self, name: str, reason: str) -> None:
        """Report that something is wrong with a file; the command goes on, and will exit with 1."""
        self.failed = True
        self.remark(name, reason)

    def remark(self, name: str, reason: str) -> None:
        """Print a line on standard error."""
        with _unless_closed(sys.stdout):
            sys.stdout.flush()
        self._bar.tell(printable(f"batproto: {name}: {reason}"))

    @contextmanager
    def progress(self, counted: str = "messages") -> Iterator[ProgressBar]:
        """A progress bar that counts these, if standard error is a terminal. Other output is printed above it."""
        self._bar = ProgressBar(shown=sys.stderr.isatty(), counted=counted)
        try:
            yield self._bar
        finally:
            self._bar.stop()

    def _line(self, pieces: list[Piece]) -> str:
        if not self._styles:
            return "".join([text for _, text in pieces]) + "\n"
        painted = []
        for style, text in pieces:
            before, after = self._styles.get(style, ("", ""))
            painted.append(f"{before}{text}{after}")
        return "".join(painted) + "\n"


class ProgressBar:
    """A progress bar on standard error that appears once the work turns out to be long."""

    def __init__(self, shown: bool, counted: str = "messages") -> None:
        self._shown = shown
        self._counted = counted
        self._count = 0
        self._next = time.monotonic() + PATIENCE_SECONDS
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    @property
    def is_shown(self) -> bool:
        """Whether it appears once the work turns out to be long."""
        return self._shown

    def at(self, share: float, text: str = "") -> None:
        """One more of what is counted is done, which makes this share of the whole work.

        Args:
            share: of the whole work, in [0, 1].
            text: what is said of it; "" is how many of what is counted are done.
        """
        if not self._shown:
            return
        self._count += 1
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + BETWEEN_SECONDS
        if self._bar is None:
            self._start()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=share, description=text or f"{self._count:,} {self._counted}")

    def make_way(self) -> None:
        """Leave the terminal to what is printed there, and come back when that is over."""
        if self._shown:
            self.stop()
            self._next = time.monotonic() + PATIENCE_SECONDS

    def tell(self, text: str) -> None:
        """Print a line on standard error, above the bar."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)
        else:
            with _unless_closed(sys.stderr):
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()

    def stop(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            refresh_per_second=4,
        )
        self._task = self._bar.add_task("", total=1.0)
        self._bar.start()


def discard(stream: TextIO) -> None:
    """Let what is still to be written to a stream go nowhere, so that the end of the program does not trip over it."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def _unless_closed(stream: TextIO) -> Iterator[None]:
    """Ends the program quietly, as other filters do, when nobody reads what it writes any more."""
    try:
        with naming(STANDARD_OUTPUT if stream is sys.stdout else STANDARD_ERROR):
            yield
    except BrokenPipeError:
        discard(stream)
        raise click.exceptions.Exit(PIPE_CLOSED) from None


def _styles(stream: TextIO) -> dict[str, tuple[str, str]]:
    """The codes before and after a text of each style; empty if the terminal or the user wants no colours.

    The decision is rich's, with its `NO_COLOR`, `FORCE_COLOR` and `TERM`; but a rich object for each field would take
    longer than reading the message.
    """
    forced = any(os.environ.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))
    if not stream.isatty() and not forced:
        return {}  # ... and rich need not be imported
    from rich.console import Console
    from rich.style import Style

    console = Console(file=stream)
    if console.no_color or console.color_system is None:
        return {}
    styles = {}
    for name, definition in STYLES.items():
        before, _, after = Style.parse(definition).render("\0").partition("\0")
        styles[name] = (before, after)
    return styles


def _can_write(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


# Lines about the rows of files that were left out.


def numbers_of(reason: Reason) -> str:
    """The numbers of the lines that a reason holds for, as a part of a sentence: `3, 7, ...`."""
    return ", ".join(map(str, reason.lines)) + (", ..." if reason.count > len(reason.lines) else "")


def report_left_out(output: Output, path: str, left_out: LeftOut, thing: str) -> None:
    """Print what of a file was left out, by reason, on standard error."""
    for reason in left_out:
        word = "line" if reason.count == 1 else "lines"
        verb = "left out" if reason.is_row else "not as it is in the file"
        output.remark(path, f"{number_of(reason.count, thing)} {verb}: {reason.reason} ({word} {numbers_of(reason)})")


# Tables on a terminal: what stands out is bold, or in asterisks where there are no styles.


def print_grid(output: Output, grid: Grid) -> None:
    """Print a table, and its caption below it."""
    from batprotocol._util.grids import text_lines  # which most commands do not need

    lines = text_lines(grid, marked=not output.has_styles)
    output.lines([("heading" if entry.bold else "", entry.text) for entry in line] for line in lines)
    if grid.caption:
        output.line(("detail", grid.caption))


# Advice as lines, for the commands that print some.


_MOST: Final = 10
"""Of one kind of advice, at most this number of lines is printed: those about the longest times."""


def print_advice(name: str, found: Sequence[Advice], output: Output) -> None:
    """Print advice, a line for each.

    Args:
        name: where each line says that the advice is about this.
        found: the advice.
        output: where it is printed.
    """
    longest = sorted(range(len(found)), key=lambda index: found[index].start - found[index].end)
    shown, kinds = set(), Counter[str]()
    for index in longest:
        kinds[found[index].kind] += 1
        if kinds[found[index].kind] <= _MOST:
            shown.add(index)
    for index in sorted(shown):
        _print(name, found[index].text, found[index].kind, output)
    for kind, count in kinds.items():
        if count > _MOST:
            more = f"{number_of(count - _MOST, 'line')} like these, about shorter times, not shown"
            _print(name, more, kind, output)


def _print(name: str, text: str, kind: str, output: Output) -> None:
    output.line(
        ("file", name), ("", ": "), ("heading", "advice"), ("", f": {printable(text)} "), ("detail", f"[{kind}]")
    )
