"""`batproto timeline`: runs as a page or as a figure. The library reads and draws them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from batprotocol.cli.terminal import Output, printable
from batprotocol.recordings.commands.named_runs import named
from batprotocol.recordings.entries import Entry
from batprotocol.recordings.timeline import MOST_TEXTS, Timeline, TimelineData, timeline
from batprotocol.recordings.timeline.electricity import add_electricity
from batprotocol.recordings.timeline.packing import facts, size
from batprotocol.recordings.timeline.timelines import kind_of
from batprotocol.wire.commands.dump import tree_text
from batprotocol.wire.commands.tree import Trees
from batprotocol.workloads.commands.electricity import read_electricity

__all__ = ["draw"]


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
