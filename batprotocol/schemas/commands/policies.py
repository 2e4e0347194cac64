"""`batproto policies`: the parts that names of policies consist of, as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from batprotocol.cli.terminal import Piece
from batprotocol.policies.names import KINDS, PARTS

__all__ = ["overview"]


def overview() -> Iterator[list[Piece]]:
    """All parts by kind: the name, a sentence and the source of each."""
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
    yield [("", "Join parts by + or -, in any order, with at most one part of each kind: easy-sjf, saf+conservative.")]
    yield [("", "The default order is fcfs, the default backfilling is none, and the default for hosts is first.")]
