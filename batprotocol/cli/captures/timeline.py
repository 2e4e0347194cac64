"""`batproto timeline`: runs as a page or as a figure. What is in them, and how it is drawn, the library knows."""

from __future__ import annotations

import os
from collections.abc import Sequence

from batprotocol.capture.entries import Entry
from batprotocol.capture.timeline import MOST_TEXTS, Timeline, TimelineData, timeline
from batprotocol.capture.timeline.packing import facts, size
from batprotocol.cli.messages.dump import tree_text
from batprotocol.cli.messages.tree import Trees
from batprotocol.cli.named.runs import named
from batprotocol.cli.terminal.output import Output
from batprotocol.cli.terminal.text import printable

__all__ = ["draw"]


def draw(
    sources: Sequence[str],
    *,
    output: str | None,
    png: str | None,
    svg: str | None,
    messages: int | None,
    colour: str,
    title: str,
) -> int:
    """Write what was asked for, and tell what it is.

    Args:
        sources: the runs.
        output: where the page goes, or None.
        png: where a picture goes, or None.
        svg: where vectors go, or None.
        messages: of how many messages the page keeps the texts, or None: as many as is usual.
        colour: by what jobs are coloured.
        title: the title of the page, or "".

    Returns:
        The exit status: 1 where something is missing of a run.
    """
    told = Output()
    texts = 0 if output is None else MOST_TEXTS if messages is None else messages
    runs = [_read(source, sources, texts, told) for source in sources]
    drawn = Timeline(_named_apart(runs), title)
    for path in filter(None, (output, png, svg)):
        drawn.save(path, colour=colour)  # type: ignore[arg-type]  # click knows the choices
        told.line(("file", printable(path)), ("", f": {_size(path)}"))
    for run in drawn.runs:
        told.line(("heading", printable(run.name)), ("", f": {facts(run) if output else size(run)}"))
    return int(told.failed)


def _read(source: str, sources: Sequence[str], texts: int, told: Output) -> TimelineData:
    found = named(source, [other for other in sources if other != source])
    if not found.has_messages:
        return found.timeline()
    trees = Trees()

    def describe(entry: Entry) -> str:
        return tree_text(entry.name, entry.data, trees)

    with found.conversation(from_its_beginning=False) as capture:
        (run,) = timeline(capture, messages=texts, describe=describe).runs
        if capture.missing:
            told.error(source, capture.missing)
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
