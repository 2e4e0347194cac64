"""Tables of texts for terminals, Markdown, LaTeX and notebooks; records for other programs; readable numbers."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Final, NamedTuple

from batprotocol._util.tables import guarded
from batprotocol.errors import printable

__all__ = [
    "Grid",
    "GridEntry",
    "as_csv",
    "as_html",
    "as_json",
    "as_latex",
    "as_markdown",
    "as_text",
    "cell_decimals",
    "decimals_for",
    "number",
    "signed",
    "text_lines",
]


class GridEntry(NamedTuple):
    """One text of a table, and whether it stands out."""

    text: str
    bold: bool = False


class Grid(NamedTuple):
    """A table of texts. The first `texts` columns are words, aligned to the left. The other columns are numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[GridEntry]]
    caption: str = ""
    texts: int = 1


_MARK: Final = "**"
_LATEX: Final = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
_MINUS: Final = re.compile(r"-(?=[0-9])")
_MARKDOWN: Final = {character: f"\\{character}" for character in "\\`*_|<>[]"}


def text_lines(grid: Grid, *, marked: bool) -> list[list[GridEntry]]:
    """The lines of a table as pieces of text, in columns. With `marked`, bold entries have asterisks, too."""

    def shown(entry: GridEntry) -> GridEntry:
        text = printable(entry.text)
        return GridEntry(f"{_MARK}{text}{_MARK}" if marked and entry.bold else text, entry.bold)

    body = [[shown(entry) for entry in row] for row in grid.rows]
    header = [printable(name) for name in grid.header]
    widths = [max(len(name), *(len(row[place].text) for row in body), 0) for place, name in enumerate(header)]

    def padded(place: int, text: str) -> str:
        if place >= grid.texts:
            return text.rjust(widths[place])
        return text.ljust(widths[place]) if place + 1 < len(widths) else text

    lines = [[GridEntry("  ".join(padded(place, name) for place, name in enumerate(header)).rstrip(), True)]]
    for row in body:
        pieces: list[GridEntry] = []
        for place, entry in enumerate(row):
            whole = padded(place, entry.text)
            before, after = whole.split(entry.text, 1) if entry.text else (whole, "")
            pieces += [GridEntry("  " * bool(place) + before), entry, GridEntry(after)]
        lines.append([piece for piece in pieces if piece.text])
    return lines


def as_text(grid: Grid) -> str:
    """The table in columns, with bold entries in asterisks, and its caption below."""
    lines = ["".join(entry.text for entry in line) for line in text_lines(grid, marked=True)]
    return "\n".join([*lines, *([grid.caption] if grid.caption else [])])


def as_markdown(grid: Grid) -> str:
    """The table in GitHub's Markdown."""

    def shown(entry: GridEntry) -> str:
        text = _escaped(" ".join(entry.text.split()), _MARKDOWN)
        return f"**{text}**" if entry.bold else text

    marks = ["---" if place < grid.texts else "---:" for place in range(len(grid.header))]
    lines = [
        [shown(GridEntry(name)) for name in grid.header],
        marks,
        *([shown(entry) for entry in row] for row in grid.rows),
    ]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    caption = "\n\n".join(shown(GridEntry(line)) for line in grid.caption.splitlines())
    return f"{table}\n\n{caption}" if caption else table


def as_latex(grid: Grid) -> str:
    """The table in LaTeX, with the rules of `booktabs`."""

    def shown(entry: GridEntry, is_number: bool = False) -> str:
        text = _escaped(printable(entry.text), _LATEX)
        if is_number:
            text = _MINUS.sub("$-$", text)
        return rf"\textbf{{{text}}}" if entry.bold else text

    columns = "l" * min(grid.texts, len(grid.header)) + "r" * max(0, len(grid.header) - grid.texts)
    lines = [f"% {printable(line)}" for line in grid.caption.splitlines()]
    lines += [r"% needs \usepackage{booktabs}"] if grid.caption else []
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [" & ".join(shown(GridEntry(name)) for name in grid.header) + r" \\", r"\midrule"]
    for row in grid.rows:
        lines.append(" & ".join(shown(entry, place >= grid.texts) for place, entry in enumerate(row)) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def as_html(grid: Grid) -> str:
    """The table as HTML for notebooks. All texts are escaped."""

    def cell(tag: str, place: int, entry: GridEntry) -> str:
        text = html.escape(entry.text)
        align = "left" if place < grid.texts else "right"
        return f'<{tag} style="text-align: {align}">{f"<b>{text}</b>" if entry.bold else text}</{tag}>'

    def row(tag: str, entries: Iterable[GridEntry]) -> str:
        return f"<tr>{''.join(cell(tag, place, entry) for place, entry in enumerate(entries))}</tr>"

    said = "<br>".join(map(html.escape, grid.caption.splitlines()))
    caption = f'<caption style="caption-side: bottom">{said}</caption>' if said else ""
    header = f"<thead>{row('th', map(GridEntry, grid.header))}</thead>" if any(grid.header) else ""
    body = "".join(row("td", entries) for entries in grid.rows)
    return f"<table>{caption}{header}<tbody>{body}</tbody></table>"


def as_csv(records: Sequence[Mapping[str, Any]], *, guard: bool = False) -> str:
    """Records as CSV with a line of names. Unknown values are empty.

    Args:
        records: the records.
        guard: whether an apostrophe is written before texts that a spreadsheet would compute as formulas.
    """
    plain: Callable[[object], object] = (lambda value: guarded(_plain(value))) if guard else _plain
    file = io.StringIO()
    names = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(plain, names))
    for record in records:
        writer.writerow([plain(record.get(name)) for name in names])
    return file.getvalue()


def _plain(value: object) -> object:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else value


def as_json(value: Any) -> str:
    """A value as JSON. NaN becomes null, as JSON has no NaN."""
    return json.dumps(_without_nan(value), indent=2, ensure_ascii=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _without_nan(each) for key, each in value.items()}
    return [_without_nan(each) for each in value] if isinstance(value, list | tuple) else value


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)


# Readable means and intervals: with the known digits, and no more.


_DIGITS: Final = 4
_LEAST: Final = 3
_MOST_DECIMALS: Final = 8
_NOTHING: Final = 1e-9
"""Narrower intervals, relative to the numbers, are rounding errors."""
_LARGEST: Final = 1e15
"""From this number on, a double has no decimals."""


def decimals_for(widths: Iterable[float], values: Iterable[float]) -> int:
    """The number of decimals for a column of numbers: two digits of the median interval, and one of the narrowest.

    Without an interval, the numbers have four digits.

    >>> decimals_for([12.0, 9.0, 15.0], [235.82]), decimals_for([0.004], [0.85]), decimals_for([], [53.64])
    (0, 4, 2)
    >>> decimals_for([37.0, 11.0, 0.6], [39.0, 12.0, 3.0])
    1
    >>> decimals_for([], [250, 3])
    0
    """
    values = list(values)
    least = _NOTHING * max(map(abs, values), default=0.0)
    wide = [width for width in widths if width > least]
    if wide:
        needed = max(1 - math.floor(math.log10(median(wide))), -math.floor(math.log10(min(wide))))
    else:
        sizes = [abs(value) for value in values if value and not all(map(_is_whole, values))]
        needed = _DIGITS - 1 - math.floor(math.log10(median(sizes))) if sizes else 0
    return min(max(needed, 0), _MOST_DECIMALS)


def cell_decimals(mean: float, width: float | None) -> tuple[int, int]:
    """The number of decimals of a mean, and that of the ends of its interval.

    The interval shows two digits of its width. The mean has three significant digits if the interval allows them, or
    four if there is no interval.

    Args:
        mean: the mean.
        width: the width of its interval; None if there is none.

    >>> cell_decimals(5.02, 1.0), cell_decimals(44.1, 12.0), cell_decimals(235.82, 150.0), cell_decimals(53.64, None)
    ((2, 1), (1, 0), (0, 0), (2, 2))
    >>> cell_decimals(0.0034, 12.0)
    (2, 0)
    """
    size = math.floor(math.log10(abs(mean))) if mean and math.isfinite(mean) else 0
    if width is None or not _NOTHING * abs(mean) < width < math.inf:
        alone = 0 if _is_whole(mean) else min(max(_DIGITS - 1 - size, 0), _MOST_DECIMALS)
        return alone, alone
    coarse = min(max(1 - math.floor(math.log10(width)), 0), _MOST_DECIMALS)
    return min(max(min(_LEAST - 1 - size, coarse + 2), coarse), _MOST_DECIMALS), coarse


def _is_whole(value: float) -> bool:
    return value == int(value) if math.isfinite(value) else False


def number(value: float, decimals: int) -> str:
    """A number with this number of decimals.

    >>> number(12345.678, 1), number(-0.001, 2), number(1e20, 2)
    ('12345.7', '0.00', '1e+20')
    """
    if not abs(value) < _LARGEST:
        return f"{value:g}"
    text = f"{value:.{decimals}f}"
    return text if not text.startswith("-") or text.strip("-0.") else text[1:]


def signed(value: float, decimals: int) -> str:
    """A difference, with its sign.

    >>> signed(1.25, 1), signed(-3.0, 1), signed(0.0, 1)
    ('+1.2', '-3.0', '0.0')
    """
    text = number(value, decimals)
    return f"+{text}" if value > 0 and text.strip("0.") else text
