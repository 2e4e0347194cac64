"""Runs commands whose time and output are bounded. Commands are lists of words: no shell reads them here.

Files keep the output, not pipes: a process that the command leaves in the background would keep pipes open.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Final, Literal, NamedTuple

from batprotocol.errors import ProtocolError, printable

__all__ = ["MOST_BYTES", "Done", "NotStarted", "last_line", "run"]

MOST_BYTES: Final = 32 << 20
"""How many bytes a command may print."""

LONGEST_STEP: Final = 0.05
"""How many seconds pass between two looks at the sizes of the files."""


class NotStarted(ProtocolError):
    """A command cannot be started."""


class Done(NamedTuple):
    """A command that has ended, or was killed.

    Attributes:
        status: its exit status; negative: the signal that killed it.
        output: what it has printed.
        errors: what it has printed as errors.
        trouble: why it was killed here: `late`: it took too long; `long`: it printed too much; "": it was not.
    """

    status: int
    output: bytes
    errors: bytes
    trouble: Literal["", "late", "long"] = ""


def run(
    words: Sequence[str],
    given: bytes = b"",
    *,
    timeout: float,
    environment: Mapping[str, str],
    most: int = MOST_BYTES,
) -> Done:
    """Run a command.

    Args:
        words: the program and its arguments.
        given: its standard input.
        timeout: after how many seconds it is killed.
        environment: its variables.
        most: how many bytes it may print.

    Raises:
        NotStarted: there is no such program, or the words cannot be given to one.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        try:
            process = subprocess.Popen(
                words,
                stdin=file,
                stdout=output,
                stderr=errors,
                env=environment,
                start_new_session=True,  # it must not get Ctrl-C: the request may be on its way
            )
        except FileNotFoundError:
            raise NotStarted(f"{printable(words[0])}: there is no such program on the PATH") from None
        except (OSError, ValueError) as error:  # words that are too long, or have a zero byte
            raise NotStarted(f"{printable(words[0])}: it cannot be started: {printable(str(error))}") from None
        try:
            trouble = _waited(process, (output, errors), timeout, most)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        return Done(process.returncode, _content(output, most), _content(errors, most), trouble)


def last_line(printed: bytes, most: int = 500) -> str:
    r"""The last line that is not blank, with escapes for control characters; "" if there is none.

    >>> last_line(b"a\n\x1b[31mred\n\n")
    '\\x1b[31mred'
    """
    lines = printed[-20 * most :].decode("utf-8", "replace").strip().splitlines() or [""]
    return printable(lines[-1].strip())[:most]


def _waited(
    process: subprocess.Popen[bytes], files: Sequence[IO[bytes]], timeout: float, most: int
) -> Literal["", "late", "long"]:
    """Wait for the end of a process, or for its time or its output to be too much."""
    until, step = time.monotonic() + timeout, 0.001
    while True:
        left = until - time.monotonic()
        try:
            process.wait(max(min(step, left), 0.0))
            is_over = True
        except subprocess.TimeoutExpired:
            is_over = False
        if any(os.fstat(file.fileno()).st_size > most for file in files):
            return "long"
        if is_over:
            return ""
        if left <= 0:
            return "late"
        step = min(2 * step, LONGEST_STEP)


def _content(file: IO[bytes], most: int) -> bytes:
    file.seek(0)
    return file.read(most)
