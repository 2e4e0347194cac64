"""The report of a what-if study: one page of HTML without scripts, which needs no network.

Its markup and style are in the folder `page/`. All names from the log are escaped, and a policy in the page forbids all
requests and scripts. The numbers of tables are the texts of `StudyTable`, as `batproto study table` prints them.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Final

from batprotocol._util.grids import cell_decimals, number, signed
from batprotocol.studies.comparing.tables import UNKNOWABLE, Cell, StudyTable
from batprotocol.studies.whatif._answers import WhatIfAnswer, assumptions_of
from batprotocol.studies.whatif._batches import metric_of
from batprotocol.studies.whatif._conclusions import KINDS, Argument, Change
from batprotocol.studies.whatif._question import many_of, span_text

# Small figures inside tables, as SVG: means with their intervals, and bars. They scale with the page.


Scale = tuple[float, float]
"""The lowest and the highest value of a figure."""
_MARGIN: Final = 0.04


def scale_of(values: Iterable[float | None], *, zero: bool = True) -> Scale:
    """The range that figures of these values share, with a margin. It contains 0 unless `zero` is false.

    >>> scale_of([1.0, 3.0, None])
    (-0.12, 3.12)
    """
    known = [value for value in values if value is not None]
    low, high = (
        min([*known, *([0.0] if zero else [])], default=0.0),
        max([*known, *([0.0] if zero else [])], default=0.0),
    )
    if low == high:
        return low - 1.0, high + 1.0
    margin = _MARGIN * (high - low)
    return low - margin, high + margin


def forest(mean: float, low: float | None, high: float | None, span: Scale, look: str = "") -> str:
    """A mean as a dot, its interval as a line, and 0 as a thin line.

    Args:
        mean: the mean.
        low: the lower end of its interval; None if there is none.
        high: the upper end.
        span: the range of the figure.
        look: a class for the colour: `good`, `bad` or "".
    """
    line = "" if low is None or high is None else _line("interval", _at(low, span), _at(high, span))
    dot = f'<circle cx="{_at(mean, span)}" cy="50%" r="4"/>'
    return f'<svg class="figure {look}" aria-hidden="true">{_zero(span)}{line}{dot}</svg>'


def bar(value: float, span: Scale, limits: Sequence[float] = (), look: str = "") -> str:
    """A bar from 0 to a value, with thin lines at some limits."""
    begin, end = sorted((0.0, value))
    left, right = (_place(each, span) for each in (begin, end))
    lines = "".join(
        f'<line class="limit" x1="{_at(each, span)}" x2="{_at(each, span)}" y1="0" y2="100%"/>' for each in limits
    )
    box = f'<rect x="{left:.2f}%" y="25%" width="{right - left:.2f}%" height="50%"/>'
    return f'<svg class="figure {look}" aria-hidden="true">{box}{lines}</svg>'


def strip(signs: str) -> str:
    """Small marks side by side: the signs of a difference over time.

    >>> strip("+-")
    '<div class="strip"><span class="up">+</span><span>-</span></div>'
    """
    marks = (f'<span class="up">{each}</span>' if each == "+" else f"<span>{each}</span>" for each in signs)
    return f'<div class="strip">{"".join(marks)}</div>'


def _zero(span: Scale) -> str:
    place = _at(0.0, span)
    return f'<line class="zero" x1="{place}" x2="{place}" y1="0" y2="100%"/>'


def _line(name: str, begin: str, end: str) -> str:
    return f'<line class="{name}" x1="{begin}" x2="{end}" y1="50%" y2="50%"/>'


def _at(value: float, span: Scale) -> str:
    return f"{_place(value, span):.2f}%"


def _place(value: float, span: Scale) -> float:
    low, high = span
    return 100 * (min(max(value, low), high) - low) / (high - low)


_PLACE: Final = re.compile(r"@(POLICY|VERSION|TITLE|LEAD|STYLE|ERROR|ARGUMENTS|DIFFERENCES|MEANS|GROUPS|LOAD|BASIS)@")
_HEADS: Final = "<th>alternative</th><th>difference and interval</th><th>figure</th>"
_LOOKS: Final = {"gains": "good", "loses": "bad"}
_FULL: Final = 1.0
"""The offered load above which queues grow as long as jobs arrive."""


def page(answer: WhatIfAnswer, title: str = "") -> str:
    """The report.

    Args:
        answer: the answer to a question.
        title: its title; by default, the name of the log.
    """
    folder = files("batprotocol.studies.whatif") / "page"
    style = (folder / "page.css").read_text("utf-8")
    words = {
        "POLICY": f"default-src 'none'; style-src {_hash(style)}; base-uri 'none'; form-action 'none'",
        "VERSION": escape(_version()),
        "TITLE": _text(title or f"What if? {os.path.basename(answer.plan.log)}"),
        "LEAD": _lead(answer),
        "STYLE": style,
        "ERROR": _error(answer),
        "ARGUMENTS": _arguments(answer),
        "DIFFERENCES": "\n".join(_differences(answer)),
        "MEANS": _means(answer),
        "GROUPS": "\n".join(_groups(answer)),
        "LOAD": _load(answer),
        "BASIS": f"<ul>{''.join(f'<li>{_text(each)}</li>' for each in assumptions_of(answer))}</ul>",
    }
    if not answer.alternatives:
        nothing = '<p class="note">There is no alternative to today&#x27;s policy.</p>'
        words |= dict.fromkeys(("ARGUMENTS", "DIFFERENCES", "GROUPS"), nothing)
    return _PLACE.sub(lambda found: words[found[1]], (folder / "page.html").read_text("utf-8"))


def _lead(answer: WhatIfAnswer) -> str:
    plan = answer.plan
    today, count = answer.titles[plan.baseline], len(answer.alternatives)
    what = (
        f"{many_of(count, 'alternative')} compared with {today}, simulated,"
        if count
        else f"{today}, simulated, compared with what really happened: there is no alternative to it,"
    )
    windows, hosts = many_of(len(plan.windows), "window"), many_of(plan.hosts, "host")
    said = f"{what} over {windows} of {span_text(plan.length)}, on {hosts}."
    found = f'<p class="lead">{_text(said)}</p>\n<p class="warning error">{_text(answer.error_sentence())}</p>'
    return f'{found}\n<p class="warning">{_text(_sentence(answer.warning))}</p>' if answer.warning else found


# The tables of metrics


def _differences(answer: WhatIfAnswer) -> Iterator[str]:
    """A table for each metric: the differences of the alternatives to the baseline."""
    table = answer.differences
    grid = table.grid()
    for place, head in enumerate(grid.header[1:]):
        cells = [row[place] for row in table.cells]
        shown = [cell for cell in cells if not cell.is_baseline]
        span = scale_of([end for cell in shown for end in (cell.mean, cell.low, cell.high)])
        rows = [
            _difference_row(
                answer.titles[name],
                name,
                cell,
                texts[1 + place].text,
                span,
                _look(table, place, cell),
                answer.arguments.get(name, {}).get(answer.metrics[place]),
            )
            for name, cell, texts in zip(table.rows, cells, grid.rows, strict=True)
        ]
        yield f"<h3>{_text(head[:1].upper() + head[1:])}</h3>"
        yield _table(_HEADS, rows, _caption(table.caption) if place == 0 else "", answer.metrics[place])


def _difference_row(
    title: str, name: str, cell: Cell, text: str, span: Scale, look: str, argument: Argument | None
) -> str:
    kind = ' class="baseline"' if cell.is_baseline else ""
    figure = "" if cell.is_baseline or cell.mean is None else forest(cell.mean, cell.low, cell.high, span, look)
    value = f"{text} (baseline: its mean)" if cell.is_baseline else text
    return (
        f'<tr{kind} data-row="{_text(name)}"><th scope="row">{_text(title)}</th>'
        f'<td class="number" data-name="difference">{_text(value)}</td><td class="plot">{figure}'
        f"{'' if argument is None else strip(argument.strip)}</td></tr>"
    )


def _look(table: StudyTable, place: int, cell: Cell) -> str:
    """The colour of a difference: better or worse by more than chance."""
    better = table.metrics[place].better
    if cell.has_zero is not False or better is None or cell.mean is None or cell.is_unknowable:
        return ""
    return "good" if (cell.mean < 0) == (better == "less") else "bad"


def _error(answer: WhatIfAnswer) -> str:
    """The model's own error: today's policy, simulated, beside what really happened."""
    if answer.errors is None:
        return f'<p class="note">{_text(answer.error_sentence())}</p>'
    grid = answer.errors.grid()
    head = "".join(f"<th>{_text(each)}</th>" for each in ("", *grid.header[1:]))
    rows = []
    for title, name, entries in zip(
        ("what really happened", "the model's own error"), answer.errors.rows, grid.rows, strict=True
    ):
        cells = "".join(
            _number_cell(metric, entry.text) for metric, entry in zip(grid.header[1:], entries[1:], strict=True)
        )
        rows.append(f'<tr data-row="{_text(name)}"><th scope="row">{title}</th>{cells}</tr>')
    return _table(head, rows, _caption(answer.errors.caption), "error")


def _arguments(answer: WhatIfAnswer) -> str:
    """Whether each conclusion holds with other windows."""
    rows = [
        f'<tr><th scope="row">{_text(answer.titles[name])}</th>'
        f'<td class="word" data-name="metric">{_text(metric_of(metric).label)}</td>'
        f'<td class="word" data-name="over time">{strip(found.strip)}</td>'
        f'<td class="word{" loses" if found.breaking else ""}" data-name="conclusion">'
        f"{_text(answer.conclusion(name, metric))}</td></tr>"
        for name, each in answer.arguments.items()
        for metric, found in each.items()
    ]
    head = "".join(f"<th>{each}</th>" for each in ("alternative", "metric", "over time", "conclusion"))
    return _table(head, rows, _caption(answer.tried()), "arguments")


def _means(answer: WhatIfAnswer) -> str:
    grid = answer.means.grid()
    head = "".join(f"<th>{_text(each)}</th>" for each in ("alternative", *grid.header[1:]))
    rows = []
    for name, entries in zip(answer.means.rows, grid.rows, strict=True):
        cells = "".join(
            _number_cell(metric, entry.text) for metric, entry in zip(grid.header[1:], entries[1:], strict=True)
        )
        kind = ' class="baseline"' if name == answer.plan.baseline else ""
        rows.append(f'<tr{kind} data-row="{_text(name)}"><th scope="row">{_text(answer.titles[name])}</th>{cells}</tr>')
    return _table(head, rows, _caption(answer.means.caption), "means")


def _table(head: str, rows: Sequence[str], caption: str = "", name: str = "") -> str:
    """A table; `name` is for programs that read the page."""
    about = f' data-table="{name}"' if name else ""
    body = "\n".join(rows)
    return f"<table{about}>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


# Groups


def _groups(answer: WhatIfAnswer) -> Iterator[str]:
    yield (
        '<p class="note">The mean waiting time of each group in the baseline, and how it and the mean bounded slowdown '
        "change. Groups gain or lose if the interval of the waiting time does not contain 0, and the change is larger "
        "than the model's own error for the group.</p>"
    )
    known = {change.kind for changes in answer.changes.values() for change in changes}
    missing = [plural for kind, plural in KINDS.items() if kind not in known]
    if missing:
        yield f'<p class="note">The log does not distinguish {_text(" and ".join(missing))}.</p>'
    for name in answer.alternatives:
        changes = answer.changes.get(name)
        if changes:
            yield f"<h3>{_text(answer.titles[name])}</h3>"
            yield _summary(changes)
            yield _group_table(changes)


def _summary(changes: Sequence[Change]) -> str:
    """Who gains and who loses, in one sentence for each kind of groups."""
    parts = []
    for kind, plural in KINDS.items():
        of_kind = [change for change in changes if change.kind == kind]
        counts = {verdict: sum(change.verdict == verdict for change in of_kind) for verdict in ("gains", "loses", "")}
        if of_kind:
            parts.append(f"{plural}: {counts['gains']} gain, {counts['loses']} lose, {counts['']} cannot be told")
    return f"<p>{_text('; '.join(parts))}.</p>"


def _group_table(changes: Sequence[Change]) -> str:
    span = scale_of([end for change in changes for end in change.waiting])
    rows = [
        "<tr>"
        f'<th scope="row">{_text(_group_name(change))}</th>'
        f'<td class="number" data-name="jobs">{change.jobs:,}</td>'
        f'<td class="number" data-name="windows">{change.windows:,}</td>'
        f'<td class="number" data-name="waiting time before [s]">{number(change.before, _decimals(change.before))}</td>'
        f'<td class="number" data-name="change [s]">{_interval_text(change.waiting)}</td>'
        f'<td class="number" data-name="change of bounded slowdown">{_interval_text(change.slowdown)}</td>'
        f'<td class="word {change.verdict or "unsure"}" data-name="result">{_result(change)}</td>'
        f'<td class="plot">{forest(*change.waiting, span, _LOOKS.get(change.verdict, ""))}</td>'
        "</tr>"
        for change in changes
    ]
    heads = (
        *("group", "jobs", "windows", "waiting time before [s]", "change [s]", "change of bounded slowdown", "result"),
        "figure",
    )
    head = "".join(f"<th>{_text(each)}</th>" for each in heads)
    return _table(head, rows)


def _result(change: Change) -> str:
    return change.verdict or (UNKNOWABLE if change.is_unknowable else "may be chance")


def _group_name(change: Change) -> str:
    is_plain = change.kind == "size" or change.name.startswith("other ")
    return change.name if is_plain else f"{change.kind} {change.name}"


def _interval_text(change: tuple[float, float | None, float | None]) -> str:
    mean, low, high = change
    width = None if low is None or high is None else high - low
    decimals, coarse = cell_decimals(mean, width)
    text = signed(mean, decimals)
    return text if low is None or high is None else f"{text} [{signed(low, coarse)}, {signed(high, coarse)}]"


def _decimals(value: float) -> int:
    return cell_decimals(value, None)[0] if value < 1000 else 0


# The offered load


def _load(answer: WhatIfAnswer) -> str:
    table, plan = answer.loads, answer.plan
    grid = table.grid()
    windows = {each.label: each for each in plan.windows}
    values = [cell.mean for row in table.cells for cell in row]
    span = (0.0, max([_FULL * 1.1, *(value * 1.05 for value in values if value is not None)]))
    factors = [f"arrivals × {each}" for each in table.columns] if table.column_axis is not None else ["offered load"]
    heads = ("window", "begins", "jobs", *factors, "figure")
    rows = []
    for name, cells, texts in zip(table.rows, table.cells, grid.rows, strict=True):
        window = windows[name]
        place = plan.windows.index(window) + 1
        loads = "".join(
            _number_cell(head, entry.text, "loses" if (cell.mean or 0) > _FULL else "")
            for head, cell, entry in zip(factors, cells, texts[1:], strict=True)
        )
        numbers = _number_cell("jobs", f"{window.jobs:,}")
        first = cells[0].mean
        figure = "" if first is None else bar(first, span, [_FULL], "bad" if first > _FULL else "")
        rows.append(
            f'<tr data-row="{name}"><th scope="row">{place}</th>'
            f'<td class="word" data-name="begins">{_text(_time(window.begin))}</td>'
            f'{numbers}{loads}<td class="plot">{figure}</td></tr>'
        )
    head = "".join(f"<th>{_text(each)}</th>" for each in heads)
    warning = f'<p class="warning">{_text(_sentence(answer.warning))}</p>' if answer.warning else ""
    note = (
        "The work of the jobs of the window (hosts × run time), divided by what the hosts can do in the window. The "
        "line is at 1. The figure has the first column of loads."
    )
    if answer.plan.partial:
        note += " Jobs for parts of hosts count by their cores."
    return warning + _table(head, rows, f"<caption>{_text(note)}</caption>", "load")


def _number_cell(name: str, text: str, look: str = "") -> str:
    return f'<td class="{f"number {look}".strip()}" data-name="{_text(name)}">{_text(text)}</td>'


def _time(seconds: float) -> str:
    """A time of the log: `day 8, 06:00`."""
    day, rest = divmod(int(seconds), 86_400)
    return f"day {day + 1}, {rest // 3600:02}:{rest % 3600 // 60:02}"


# Texts


def _caption(text: str) -> str:
    return f"<caption>{'<br>'.join(map(_text, text.splitlines()))}</caption>"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _text(text: str) -> str:
    return escape(text).encode("utf-8", "replace").decode()


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _version() -> str:
    try:
        return version("batprotocol")
    except PackageNotFoundError:  # run from a source tree
        return ""
