"""`batproto policies`: the parts of the names of policies, as text for people."""

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
    yield [("", "Join parts with + or -, in any order, at most one of each kind: easy-sjf, saf+conservative.")]
    yield [("", "The defaults are fcfs, none, first and requested.")]
