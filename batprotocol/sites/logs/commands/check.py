"""`batproto import --check`: how good the copy of a log is, and how well policies explain it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol._util.grids import Grid, GridEntry
from batprotocol.cli.terminal import Output, Piece, number_of, print_grid, printable
from batprotocol.results.text import duration, percent
from batprotocol.sites.logs.checking import CopyCheck, Explanation, Waits
from batprotocol.sites.logs.commands.copies import explanations, simulated_copy
from batprotocol.sites.logs.imports import Import
from batprotocol.sites.logs.windows import HostWindow, windows_json
from batprotocol.workloads.requests import folded_names

__all__ = ["Checked", "check_json", "checked_copy", "print_check"]

_POLICIES: Final = "fcfs,easy,conservative"
_WIDTH: Final = 12
_MOST_WINDOWS: Final = 8
_MOST_PARTITIONS: Final = 20


class Checked(NamedTuple):
    """A copy that was checked.

    Attributes:
        copy: the copy against its log.
        windows: when hosts were down or lent.
        explanations: how well each policy explains the log.
    """

    copy: CopyCheck
    windows: list[HostWindow]
    explanations: list[Explanation]


def checked_copy(made: Import, policies: str | None) -> Checked:
    """Simulate an import as its log says, and by some policies.

    Args:
        made: the import.
        policies: the names of policies, with commas between them; None: the usual ones.
    """
    names = [name.strip() for name in (policies or _POLICIES).split(",") if name.strip()]
    workload = made.workload()
    copy = simulated_copy(workload, made.platform, made.numbers())
    return Checked(copy, made.windows(), list(explanations(workload, made.platform, names)))


def check_json(checked: Checked) -> dict[str, Any]:
    """The check as values of JSON."""
    return {
        "check": msgspec.to_builtins(checked.copy),
        "windows": windows_json(checked.windows),
        "explained": [msgspec.to_builtins(each) for each in checked.explanations],
    }


def print_check(screen: Output, checked: Checked) -> None:
    """Print a check."""
    screen.line(("", ""))
    screen.lines([[(style, printable(text)) for style, text in line] for line in _lines(checked)])
    for grid in (_numbers(checked.copy), _explained(checked.explanations)):
        screen.line(("", ""))
        print_grid(screen, grid)


def _lines(checked: Checked) -> Iterator[list[Piece]]:
    copy = checked.copy
    where = f", {copy.equal_hosts:,} of them on the same hosts" if copy.equal_hosts != copy.equal_starts else ""
    yield _line("copy", f"{copy.equal_starts:,} of {number_of(copy.jobs, 'job')} start as in the log{where}")
    if copy.not_started:
        yield _line("", f"{number_of(copy.not_started, 'job')} can never start on this machine")
    for place, each in enumerate(copy.conflicts):
        more = ", ..." if each.count > len(each.jobs) else ""
        delay = f"later by {duration(each.mean_delay)} in the mean, {duration(each.max_delay)} at most"
        text = f"{number_of(each.count, 'job')}: {each.reason}; {delay} ({', '.join(each.jobs)}{more})"
        yield _line("" if place else "conflicts", text)
    for place, window in enumerate(checked.windows[:_MOST_WINDOWS]):
        end = "the end of the log" if window.end is None else f"{window.end:,.0f} s"
        text = f"{folded_names(window.hosts)} from {window.begin:,.0f} s to {end}: {window.why}"
        yield _line("" if place else "windows", text)
    if len(checked.windows) > _MOST_WINDOWS:
        yield _line("", f"and {number_of(len(checked.windows) - _MOST_WINDOWS, 'window')} more; --json prints all")


def _line(name: str, text: str) -> list[Piece]:
    return [("field", name.ljust(_WIDTH)), ("", text)]


def _numbers(copy: CopyCheck) -> Grid:
    rows = [
        [GridEntry("utilisation"), GridEntry(_share(copy.log.utilisation)), GridEntry(_share(copy.copy.utilisation))]
    ]
    names = list(dict.fromkeys([*copy.log.waits, *copy.copy.waits]))
    for name in names[: _MOST_PARTITIONS + 1]:
        log, other = (numbers.waits.get(name) for numbers in (copy.log, copy.copy))
        where = f", {printable(name)}" if name else ""
        rows.append(
            [
                GridEntry(f"jobs{where}"),
                *(GridEntry("-" if each is None else f"{each.jobs:,}") for each in (log, other)),
            ]
        )
        rows += [
            [GridEntry(f"{what} waiting time{where}"), *(GridEntry(_wait(each, what)) for each in (log, other))]
            for what in ("mean", "median")
        ]
    return Grid(["", "log", "copy"], rows)


def _wait(waits: Waits | None, what: str) -> str:
    seconds = math.nan if waits is None else getattr(waits, what)
    return "-" if math.isnan(seconds) else duration(seconds)


def _share(share: float) -> str:
    return "-" if math.isnan(share) else percent(share)


def _explained(found: list[Explanation]) -> Grid:
    rows = [
        [
            GridEntry(each.policy),
            GridEntry(_share(each.within_a_minute)),
            GridEntry("-" if math.isnan(each.mean_difference) else duration(each.mean_difference)),
            GridEntry(f"{each.not_started:,}"),
        ]
        for each in found
    ]
    return Grid(["policy", "starts within a minute of the log", "mean difference", "never start"], rows)
