"""`batproto export` and `batproto timeline`: a run as a file for other programs, as a page or as a figure."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

from batprotocol.cli.terminal import Output, printable
from batprotocol.edc.recording.entries import Entry
from batprotocol.recordings.commands.named_runs import named, opened
from batprotocol.recordings.exports import RowKind, writer_of
from batprotocol.recordings.exports import export as write_file
from batprotocol.recordings.timeline import MOST_TEXTS, Timeline, TimelineData, timeline
from batprotocol.recordings.timeline.packing import facts, size
from batprotocol.recordings.timeline.timelines import kind_of
from batprotocol.recordings.timeline.values import add_electricity
from batprotocol.wire.commands.dump import tree_text
from batprotocol.wire.commands.tree import Trees
from batprotocol.workloads.commands.inputs import read_electricity

__all__ = [
    "draw",
    "write",
]


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


# `batproto timeline`: runs as a page or as a figure. The library reads and draws them.


def draw(
    sources: Sequence[str],
    outputs: Sequence[str],
    *,
    messages: int | None = MOST_TEXTS,
    colour: str,
    title: str,
    carbon: str | None = None,
    price: str | None = None,
    cap: str | None = None,
) -> int:
    """Write the files, and print what they show.

    Args:
        sources: the runs.
        outputs: the files; the ending of each says what it is.
        messages: of how many messages of each run a page keeps the texts; None: of all.
        colour: by what jobs are coloured.
        title: the title of the page, or "".
        carbon: the name of the carbon intensity, or None.
        price: the name of the price, or None.
        cap: the watts, or the table of watts, that are allowed; or None.

    Returns:
        The exit status: 1 where a part of a run is missing.
    """
    output = Output()
    pages = [path for path in outputs if kind_of(path) == "page"]
    runs = [_read(source, sources, messages if pages else 0, output) for source in sources]
    known = read_electricity(carbon, price, cap, output)
    for run in runs:
        add_electricity(run, carbon=known.carbon, price=known.price, cap=known.cap)
    drawn = Timeline(_named_apart(runs), title)
    for path in outputs:
        drawn.save(path, colour=colour)  # type: ignore[arg-type]  # click knows the choices
        output.line(("file", printable(path)), ("", f": {_size(path)}"))
    for run in drawn.runs:
        output.line(("heading", printable(run.name)), ("", f": {facts(run) if pages else size(run)}"))
    return int(output.failed)


def _read(source: str, sources: Sequence[str], texts: int | None, output: Output) -> TimelineData:
    found = named(source, [other for other in sources if other != source])
    if not found.has_messages:
        return found.timeline()
    trees = Trees()

    def describe(entry: Entry) -> str:
        return tree_text(entry.name, entry.data, trees)

    with found.conversation(from_its_beginning=False) as capture:
        (run,) = timeline(capture, messages=texts, describe=describe).runs
        if capture.missing:
            output.error(source, capture.missing)
    return run


def _named_apart(runs: Sequence[TimelineData]) -> Sequence[TimelineData]:
    """The runs, numbered where they are called the same."""
    names = [run.name for run in runs]
    for place, run in enumerate(runs, 1):
        if names.count(run.name) > 1:
            run.name = f"{run.name} ({place})"
    return runs


def _size(path: str) -> str:
    try:
        size = os.path.getsize(path)
    except OSError:  # it may be a device
        return "written"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"
