"""Lines about the rows of files that were left out."""

from __future__ import annotations

from batprotocol._util.tables import LeftOut, Reason
from batprotocol.cli.terminal.output import Output
from batprotocol.cli.terminal.text import number_of

__all__ = ["numbers_of", "report_left_out"]


def numbers_of(reason: Reason) -> str:
    """The numbers of the lines that a reason holds for, as a part of a sentence: `3, 7, ...`."""
    return ", ".join(map(str, reason.lines)) + (", ..." if reason.count > len(reason.lines) else "")


def report_left_out(output: Output, path: str, left_out: LeftOut, thing: str) -> None:
    """Print what of a file was left out, by reason, on standard error."""
    for reason in left_out:
        word = "line" if reason.count == 1 else "lines"
        verb = "left out" if reason.is_row else "not as it is in the file"
        output.remark(path, f"{number_of(reason.count, thing)} {verb}: {reason.reason} ({word} {numbers_of(reason)})")
