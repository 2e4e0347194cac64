"""`batproto policies`: the parts of which names of policies are made, as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from batprotocol.cli.terminal.text import Piece
from batprotocol.policies.names import KINDS, PARTS

__all__ = ["overview"]


def overview() -> Iterator[list[Piece]]:
    """All parts by kind: a name, a sentence, and a source."""
    widest = max(len(part.name) for part in PARTS.values())
    for kind, heading in KINDS.items():
        yield [("heading", heading)]
        for part in PARTS.values():
            if part.kind != kind:
                continue
            options = f" Options: {part.name}={part.options}." if part.options else ""
            yield [("type", part.name.ljust(widest)), ("", f"  {part.sentence}{options}")]
            if part.source:
                yield [("detail", f"{' ' * widest}  {part.source}")]
    yield [("heading", "Names")]
    yield [("", "Parts are joined by + or -, in any order, of each kind one at most: easy-sjf, saf+conservative.")]
    yield [("", "Without an order, it is fcfs; without backfilling, none; without hosts, first.")]
