"""`batproto export`: a run as a file for other programs. The library writes it."""

from __future__ import annotations

import io
from typing import Any

from batprotocol.cli.terminal import Output
from batprotocol.recordings.commands.named_runs import opened
from batprotocol.recordings.exporting import export as write_file
from batprotocol.recordings.exporting.formats import RowKind, writer_of

__all__ = ["write"]


class _Standard(io.RawIOBase):
    """Standard output as a file."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        piece = bytes(memoryview(data))
        self._output.raw(piece)
        return len(piece)


def write(run: str, target: str | None, *, rows: RowKind, to: str | None, guard: bool) -> int:
    """Export a run; the exit status.

    Args:
        run: the recording.
        target: the file, whose ending selects the format; None for standard output, which gets CSV.
        rows: the rows of a table.
        to: the format, in place of that of the ending; None if it was not named.
        guard: whether texts are guarded from spreadsheets.
    """
    output = Output()
    with opened(run, from_its_beginning=False) as capture:
        if target is None:
            file = io.BufferedWriter(_Standard(output))
            writer_of(to or f"{rows}-csv", guard=guard)(capture, file)
            file.flush()
        else:
            write_file(capture, target, to, rows=rows, guard=guard)
        if capture.missing:
            output.remark(run, capture.missing[:1].lower() + capture.missing[1:].rstrip("."))
    return 0
