"""`batproto import --check`: how good the copy of a log is, and how well policies explain it."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from math import inf
from typing import Any, Final, NamedTuple, cast

import click
import msgspec

from batprotocol._util.files import by_ending, whole
from batprotocol._util.grids import Grid, GridEntry
from batprotocol._util.tables import LeftOut
from batprotocol._util.times import zone_of
from batprotocol.cli.terminal import Output, Piece, ProgressBar, number_of, numbers_of, print_grid, printable
from batprotocol.errors import InputError
from batprotocol.policies import named
from batprotocol.results.text import duration, percent
from batprotocol.simulator import Platform, Workload, simulate
from batprotocol.sites.logs.checking import CopyCheck, Explanation, Numbers, Waits, check_copy, explanation_of
from batprotocol.sites.logs.commands.options import ImportOptions
from batprotocol.sites.logs.formats import FORMATS, read_log
from batprotocol.sites.logs.imports import OUTPUTS, Anonymizer, ChosenJobs, Import, moment, random_key
from batprotocol.sites.logs.jobs import Attempts, LoggedJob
from batprotocol.sites.logs.windows import HostWindow, windows_json
from batprotocol.sites.logs.workloads import Unit
from batprotocol.workloads import write_host_events
from batprotocol.workloads.commands.inputs import read_text
from batprotocol.workloads.requests import folded_names

__all__ = [
    "Checked",
    "ImportReport",
    "as_json",
    "check_json",
    "checked_copy",
    "explanations",
    "lines",
    "print_check",
    "show",
    "simulated_copy",
]


# Copies of logs that are simulated: as the log says, and as policies would have it.


def simulated_copy(workload: Workload, platform: Platform, log: Numbers) -> CopyCheck:
    """Simulate the policy `recorded`, and compare the result with the log.

    Args:
        workload: the workload of a log, with recorded starts.
        platform: its platform.
        log: the numbers of the log, see `batprotocol.sites.logs.checking.numbers_of_log`.
    """
    policy = named("recorded")()
    result = simulate(platform, workload, policy)
    return check_copy(workload, platform, result.jobs, log, policy.conflicts, policy.allocated)


def explanations(workload: Workload, platform: Platform, policies: Iterable[str]) -> Iterator[Explanation]:
    """How well policies explain the starts of a log, one after the other.

    Args:
        workload: the workload of a log, with recorded starts.
        platform: its platform.
        policies: the names of policies.

    Raises:
        PolicyNameError: a text is not the name of a policy.

    >>> from batprotocol.model import DelayProfile
    >>> from batprotocol.simulator import StaticJob
    >>> data = '{"recorded": {"start": 30}}'
    >>> workload = Workload([StaticJob("1", 0.0, 1, DelayProfile(60.0), extra_data=data)])
    >>> [round(found.mean_difference, 3) for found in explanations(workload, Platform.homogeneous(1), ["easy"])]
    [30.0]
    """
    classes = [(name, named(name)) for name in policies]  # all names are checked before the first simulation
    for name, policy in classes:
        yield explanation_of(name, workload, simulate(platform, workload, policy()).jobs)


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


# The report of an import: the jobs that were taken, the machine, and what was left out by reason.


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


def _reasons(report: ImportReport, is_row: bool) -> list[tuple[str, Any]]:
    found = [(name, each) for name, left_out in report.left_out for each in left_out if each.is_row is is_row]
    return sorted(found, key=lambda pair: -pair[1].count)


def _machine(made: Import) -> str:
    hosts, cores = len(made.hosts), sum(host.cores for host in made.hosts)
    size = f"{number_of(hosts, 'host')} with {number_of(cores, 'core')}"
    if made.has_nodes:
        return f"{size}, as the file of nodes describes them"
    if made.survey.hosts and made.unit != "cores":
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


# `batproto import`: opens logs, and writes what is made of them.


def show(options: ImportOptions) -> None:
    """Import logs, and print what was taken and left out."""
    if options.policies is not None and not options.check:
        raise click.UsageError("--policies is for --check: add --check")
    if options.spreadsheet and (options.output is None or by_ending(options.output, OUTPUTS) != "csv"):
        raise click.UsageError("--spreadsheet is for CSV: name a .csv file with -o")
    screen, zone = Output(), options.zone
    with ExitStack() as stack, screen.progress("jobs") as bar:
        opened = [
            stack.enter_context(
                read_log(path, options.format, zone, fields=options.fields, delimiter=options.delimiter)
            )
            for path in options.logs
        ]
        period = LeftOut()
        anonymizer = _anonymizer(screen, options.anonymous, options.key, options.others)
        chosen = ChosenJobs(
            opened,
            begin=-inf if options.begin is None else moment(options.begin, zone),
            end=inf if options.end is None else moment(options.end, zone),
            anonymizer=anonymizer,
            left_out=period,
        )
        made = Import(
            _Watched(chosen, bar),
            nodes=options.nodes,
            attempts=cast("Attempts", options.attempts),
            unit=cast("Unit | None", options.unit),
            priority=options.priority,
            reservations=options.reservations,
            anonymizer=anonymizer,
        )
        written = [path for path in (options.output, options.platform, options.events) if path is not None]
        text = None if options.platform is None else made.platform_text(options.platform)
        count = _write(made, options.output, options.spreadsheet)
        if options.platform is not None and text is not None:
            with whole(options.platform) as file:
                file.write(text.encode())
        if options.events is not None:
            _write_events(made, options.events)
        left_out = [*((log.name, log.left_out) for log in opened), ("", period), ("", made.left_out)]
        checked = checked_copy(made, options.policies) if options.check and made.hosts else None
        report = ImportReport(made, [(log.name, log.format) for log in opened], count, left_out, written, zone)
    _print(screen, report, checked, is_json=options.as_json)


def _print(screen: Output, report: ImportReport, checked: Checked | None, *, is_json: bool) -> None:
    if is_json:
        found = as_json(report)
        screen.json(json.dumps(found | ({} if checked is None else check_json(checked)), indent=2, ensure_ascii=False))
        return
    screen.lines([[(style, printable(text)) for style, text in line] for line in lines(report)])
    if checked is not None:
        print_check(screen, checked)


def _write(made: Import, output: str | None, spreadsheet: bool) -> int:
    """Write the jobs, and return their number. Without a file, they are only counted."""
    if output is None:
        with open(os.devnull, "wb") as nowhere:
            return made.write(nowhere, "workload")
    with whole(output) as file:
        return made.write(file, by_ending(output, OUTPUTS), guard=spreadsheet)


def _write_events(made: Import, path: str) -> None:
    lines = io.StringIO()
    write_host_events(made.events() if made.hosts else (), lines)
    with whole(path) as file:
        file.write(lines.getvalue().encode())


def _anonymizer(screen: Output, wanted: bool, key: str | None, others: Sequence[str]) -> Anonymizer | None:
    if not (wanted or key or others):
        return None
    if key is not None:
        try:
            return Anonymizer(read_text(key).strip(), others)
        except InputError as error:
            raise InputError(error.reason, error.path, file=key, line=error.line) from None
    made = random_key()
    screen.remark("key", f"{made}; keep it in a file, and use --key FILE to get the same names again")
    return Anonymizer(made, others)


class _Watched:
    """Jobs that move a progress bar."""

    def __init__(self, jobs: Iterable[LoggedJob], bar: ProgressBar) -> None:
        self._jobs = jobs
        self._bar = bar

    def __iter__(self) -> Iterator[LoggedJob]:
        at = self._bar.at
        for job in self._jobs:
            at(0.0)
            yield job
