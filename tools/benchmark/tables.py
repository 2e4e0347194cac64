"""Tables, as text for a terminal or as Markdown for a page, and the options that all benchmarks have."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

__all__ = ["parser_for", "table"]


def parser_for(document: str | None, quick: str) -> argparse.ArgumentParser:
    """A parser with what all have: `--quick`, which means this, and `--markdown`."""
    parser = argparse.ArgumentParser(description=(document or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--markdown", action="store_true", help="print tables for a page (tools/paste_tables.py)")
    return parser


def table(rows: Sequence[Sequence[str]], markdown: bool) -> str:
    """Rows as text: the first one is the head, the first column is words, the others are numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        for row in rows
    ]
    if not markdown:
        return "\n".join("  ".join(line).rstrip() for line in lines)
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])
