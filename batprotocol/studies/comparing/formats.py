"""The formats of a table of texts: for terminals, Markdown, LaTeX and notebooks; and records for other programs.

It must not know the meaning of the texts.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from batprotocol._util.tables import guarded
from batprotocol.errors import printable

__all__ = ["Entry", "Grid", "as_csv", "as_html", "as_json", "as_latex", "as_markdown", "as_text", "text_lines"]


class Entry(NamedTuple):
    """One text of a table, and whether it stands out."""

    text: str
    bold: bool = False


class Grid(NamedTuple):
    """A table of texts. The first `texts` columns are words, aligned to the left. The other columns are numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[Entry]]
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


def text_lines(grid: Grid, *, marked: bool) -> list[list[Entry]]:
    """The lines of a table as pieces of text, in columns. With `marked`, bold entries have asterisks, too."""

    def shown(entry: Entry) -> Entry:
        text = printable(entry.text)
        return Entry(f"{_MARK}{text}{_MARK}" if marked and entry.bold else text, entry.bold)

    body = [[shown(entry) for entry in row] for row in grid.rows]
    header = [printable(name) for name in grid.header]
    widths = [max(len(name), *(len(row[place].text) for row in body), 0) for place, name in enumerate(header)]

    def padded(place: int, text: str) -> str:
        if place >= grid.texts:
            return text.rjust(widths[place])
        return text.ljust(widths[place]) if place + 1 < len(widths) else text

    lines = [[Entry("  ".join(padded(place, name) for place, name in enumerate(header)).rstrip(), True)]]
    for row in body:
        pieces: list[Entry] = []
        for place, entry in enumerate(row):
            whole = padded(place, entry.text)
            before, after = whole.split(entry.text, 1) if entry.text else (whole, "")
            pieces += [Entry("  " * bool(place) + before), entry, Entry(after)]
        lines.append([piece for piece in pieces if piece.text])
    return lines


def as_text(grid: Grid) -> str:
    """The table in columns, with bold entries in asterisks, and its caption below."""
    lines = ["".join(entry.text for entry in line) for line in text_lines(grid, marked=True)]
    return "\n".join([*lines, *([grid.caption] if grid.caption else [])])


def as_markdown(grid: Grid) -> str:
    """The table in GitHub's Markdown."""

    def shown(entry: Entry) -> str:
        text = _escaped(" ".join(entry.text.split()), _MARKDOWN)
        return f"**{text}**" if entry.bold else text

    marks = ["---" if place < grid.texts else "---:" for place in range(len(grid.header))]
    lines = [
        [shown(Entry(name)) for name in grid.header],
        marks,
        *([shown(entry) for entry in row] for row in grid.rows),
    ]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    caption = "\n\n".join(shown(Entry(line)) for line in grid.caption.splitlines())
    return f"{table}\n\n{caption}" if caption else table


def as_latex(grid: Grid) -> str:
    """The table in LaTeX, with the rules of `booktabs`."""

    def shown(entry: Entry, is_number: bool = False) -> str:
        text = _escaped(printable(entry.text), _LATEX)
        if is_number:
            text = _MINUS.sub("$-$", text)
        return rf"\textbf{{{text}}}" if entry.bold else text

    columns = "l" * min(grid.texts, len(grid.header)) + "r" * max(0, len(grid.header) - grid.texts)
    lines = [f"% {printable(line)}" for line in grid.caption.splitlines()]
    lines += [r"% needs \usepackage{booktabs}"] if grid.caption else []
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [" & ".join(shown(Entry(name)) for name in grid.header) + r" \\", r"\midrule"]
    for row in grid.rows:
        lines.append(" & ".join(shown(entry, place >= grid.texts) for place, entry in enumerate(row)) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def as_html(grid: Grid) -> str:
    """The table as HTML for notebooks. All texts are escaped."""

    def cell(tag: str, place: int, entry: Entry) -> str:
        text = html.escape(entry.text)
        align = "left" if place < grid.texts else "right"
        return f'<{tag} style="text-align: {align}">{f"<b>{text}</b>" if entry.bold else text}</{tag}>'

    def row(tag: str, entries: Iterable[Entry]) -> str:
        return f"<tr>{''.join(cell(tag, place, entry) for place, entry in enumerate(entries))}</tr>"

    said = "<br>".join(map(html.escape, grid.caption.splitlines()))
    caption = f'<caption style="caption-side: bottom">{said}</caption>' if said else ""
    header = f"<thead>{row('th', map(Entry, grid.header))}</thead>" if any(grid.header) else ""
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
