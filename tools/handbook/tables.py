"""The alignment of tables: text to the left, and numbers to the right, by the kind of each column.

A column that its author aligned stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from docutils import nodes

from handbook.transforms import Transform

__all__ = ["Alignment", "is_number"]

_NUMBER: Final = re.compile(
    r"""(?:about\s|some\s|[<>≤≥~±+–−-]\s?)*     # about -3
        \d[\d,.  ]*(?:e[+-]?\d+)?            # 1,234.5e6
        (?:\s?(?:%|[µnm]?s|[KMGT]i?B|B|min|h|d|x|×|J|W|k?J|Mi|M|k))?   # a unit
        (?:\s?(?:\(.*\)|\[.*\]|±.*|to\s.*|[–-]\s?\d.*|/.*))?""",
    re.VERBOSE,
)
"""A number with its unit, and with an interval or a second number behind it."""
_NOTHING: Final = {"", "-", "–", "—"}
_ALIGNED: Final = {"text-left", "text-right", "text-center"}


def is_number(text: str) -> bool:
    """Whether a cell has a number, and nothing else."""
    return _NUMBER.fullmatch(text.strip()) is not None


class Alignment(Transform):
    """Aligns the columns of numbers, with their heads, to the right."""

    default_priority = 10

    def run(self, **arguments: Any) -> None:
        for table in self.document.findall(nodes.table):
            rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
            body = [list(row.findall(nodes.entry)) for part in table.findall(nodes.tbody) for row in part.children]
            width = min(map(len, rows), default=0)
            for column in range(width if body else 0):
                if self._has_numbers([row[column] for row in body]):
                    for row in rows:
                        row[column]["classes"].append("text-right")

    def _has_numbers(self, cells: Sequence[nodes.entry]) -> bool:
        texts = [cell.astext().strip() for cell in cells if cell.astext().strip() not in _NOTHING]
        aligned = any(_ALIGNED & set(cell["classes"]) for cell in cells)
        return bool(texts) and not aligned and all(map(is_number, texts))
