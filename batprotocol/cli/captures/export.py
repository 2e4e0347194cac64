"""`batproto export`: a run for other programs. What is written, the library knows."""

from __future__ import annotations

import io
from typing import Any

from batprotocol.capture.exporting import FORMATS
from batprotocol.capture.exporting import export as write_file
from batprotocol.cli.named.runs import opened
from batprotocol.cli.terminal.output import Output

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


def write(run: str, to: str, target: str | None) -> int:
    """Export a run; the exit status.

    Args:
        run: the recording.
        to: the format.
        target: the file, or None for standard output.
    """
    output = Output()
    with opened(run, from_its_beginning=False) as capture:
        if target is None:
            file = io.BufferedWriter(_Standard(output))
            FORMATS[to](capture, file)
            file.flush()
        else:
            write_file(capture, target, to)
        if capture.missing:
            output.remark(run, capture.missing[:1].lower() + capture.missing[1:].rstrip("."))
    return 0
