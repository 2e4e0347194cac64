"""The report of an import: the jobs that were taken, the machine, and what was left out by reason."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from batprotocol._util.tables import LeftOut
from batprotocol._util.times import zone_of
from batprotocol.cli.terminal import Piece, number_of, numbers_of
from batprotocol.sites.logs.formats import FORMATS
from batprotocol.sites.logs.imports import Import

__all__ = ["ImportReport", "as_json", "lines"]

_WIDTH: Final = 12
_DAY: Final = 86400.0
_MOST_LINES: Final = 8
"""The lines of a platform that are shown."""

_UNITS: Final = {
    "hosts": "jobs ask for whole hosts",
    "shares": "jobs ask for cores, memory and generic resources of hosts",
    "cores": "jobs ask for cores, and each core is a host of the workload",
}


class ImportReport(NamedTuple):
    """The facts of an import that are reported.

    Attributes:
        made: the import.
        logs: the files, with their formats.
        jobs: the number of jobs that were written or counted.
        left_out: the file of each count ("" for all), and the count.
        written: the files that were written.
        zone: the zone in which times are shown.
    """

    made: Import
    logs: list[tuple[str, str]]
    jobs: int
    left_out: list[tuple[str, LeftOut]]
    written: list[str]
    zone: str | None


def lines(report: ImportReport) -> Iterator[list[Piece]]:
    """The lines of the report."""
    made, survey = report.made, report.made.survey
    for name, format in report.logs:
        title = FORMATS[format].title if format in FORMATS else f"columns as in {format}"
        yield [("file", name), ("", f": {title}")]
    yield _line("taken", f"{report.jobs:,} jobs of {survey.rows:,} in the log, of {number_of(survey.users, 'user')}")
    if survey.runs:
        first, last = _moment(survey.first_submission, report.zone), _moment(survey.last_submission, report.zone)
        span = survey.last_submission - survey.first_submission
        length = f"{span / _DAY:,.1f} days" if span >= _DAY else f"{span:,.0f} s"
        yield _line("submitted", f"from {first} to {last} ({length})")
        yield _line("time 0", f"{first}, the first submission ({survey.first_submission:.12g} s since 1970)")
    yield _line("jobs", _UNITS[made.unit])
    yield _line("machine", _machine(made))
    shown = made.lines[:_MOST_LINES]
    yield from ([("", " " * _WIDTH), ("detail", line)] for line in shown)
    if len(made.lines) > len(shown):
        yield [("", " " * _WIDTH), ("detail", f"and {number_of(len(made.lines) - len(shown), 'line')} more")]
    for is_row, heading in ((True, "left out"), (False, "remarks")):
        for place, (name, reason) in enumerate(_reasons(report, is_row)):
            which = f"{name}, " if name and len(report.logs) > 1 else ""
            word = "line" if reason.count == 1 else "lines"
            text = f"{reason.count:,}: {reason.reason} ({which}{word} {numbers_of(reason)})"
            yield _line("" if place else heading, text)
    for path in report.written:
        yield _line("wrote", path)


def _line(name: str, text: str) -> list[Piece]:
    return [("field", name.ljust(_WIDTH)), ("", text)]


def _reasons(report: ImportReport, is_row: bool) -> list[tuple[str, Any]]:
    found = [(name, each) for name, left_out in report.left_out for each in left_out if each.is_row is is_row]
    return sorted(found, key=lambda pair: -pair[1].count)


def _machine(made: Import) -> str:
    hosts, cores = len(made.hosts), sum(host.cores for host in made.hosts)
    size = f"{number_of(hosts, 'host')} with {number_of(cores, 'core')}"
    if made.has_nodes:
        return f"{size}, as the file of nodes describes them"
    if made.survey.hosts:
        return f"{size}: the smallest that the log fits on, by the names of its hosts"
    return f"{size}: the smallest that the log fits on, as it does not have the names of hosts"


def _moment(seconds: float, zone: str | None) -> str:
    try:
        return datetime.fromtimestamp(seconds, zone_of(zone)).isoformat(" ", "seconds")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.12g} s"


def as_json(report: ImportReport) -> dict[str, Any]:
    """The report as values of JSON."""
    made, survey = report.made, report.made.survey
    rows = [
        {"reason": each.reason, "count": each.count, "lines": each.lines, "file": name or None, "whole_row": is_row}
        for is_row in (True, False)
        for name, each in _reasons(report, is_row)
    ]
    return {
        "logs": [{"file": name, "format": format} for name, format in report.logs],
        "jobs": report.jobs,
        "rows": survey.rows,
        "users": survey.users,
        "time_0": survey.first_submission,
        "first_submission": survey.first_submission,
        "last_submission": survey.last_submission,
        "last_end": survey.last_end,
        "unit": made.unit,
        "machine": {"is_smallest": not made.has_nodes, "hosts": len(made.hosts), "lines": made.lines},
        "left_out": rows,
        "written": report.written,
    }
