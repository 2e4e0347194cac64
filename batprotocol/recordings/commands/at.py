"""`batproto at`: what was known at a simulated time."""

from __future__ import annotations

import json
from math import isfinite

from batprotocol.cli.terminal import Output, printable
from batprotocol.recordings.commands.known import lines_of
from batprotocol.recordings.commands.named_runs import opened
from batprotocol.wire.commands.tree import draw

__all__ = ["at"]


def at(path: str, time: float, output: Output, *, as_json: bool, full: bool) -> None:
    """Print what was known.

    Args:
        path: the run.
        time: in simulated seconds.
        output: where to.
        as_json: as JSON.
        full: all of it, however much that is.
    """
    with opened(path) as run:
        known = run.knowledge_at(time)
        if run.missing:
            output.remark(path, run.missing)
    if as_json:
        output.json(json.dumps(known.to_json(), indent=2, ensure_ascii=False))
        return
    last = f"after message {known.number}, at {known.now:.9g} ({known.phase})" if known.number >= 0 else "nothing yet"
    title = [("file", printable(path)), ("", f" at {time:.9g}: {last}")]
    output.lines(
        draw(title, lines_of(known, full=full, time=time if isfinite(time) else None), output.guides, output.wrap_at)
    )
