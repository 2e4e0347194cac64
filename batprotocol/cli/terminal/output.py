"""Standard output and standard error of one command.

Styles where there is a terminal, plain text elsewhere, a progress bar while long work goes on. It must not know what is
printed.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

import click

from batprotocol._util.files import naming
from batprotocol.cli.terminal.text import ASCII, UNICODE, Piece, printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["PIPE_CLOSED", "STANDARD_OUTPUT", "Output", "ProgressBar", "discard"]

PIPE_CLOSED = 141
"""What shells report for a program that SIGPIPE ends."""

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
        return shutil.get_terminal_size().columns if self._terminal else None

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
