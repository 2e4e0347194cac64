"""`batproto import`: opens logs, and writes what is made of them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from math import inf

import click

from batprotocol._util.files import by_ending, whole
from batprotocol._util.tables import LeftOut
from batprotocol.cli.terminal import Output, ProgressBar, printable
from batprotocol.errors import InputError
from batprotocol.sites.logs.anonymous import Anonymizer, random_key
from batprotocol.sites.logs.asking import Unit
from batprotocol.sites.logs.choosing import Chosen, moment
from batprotocol.sites.logs.commands.check import Checked, check_json, checked_copy, print_check
from batprotocol.sites.logs.commands.report import Report, as_json, lines
from batprotocol.sites.logs.imports import OUTPUTS, Import
from batprotocol.sites.logs.jobs import LoggedJob
from batprotocol.sites.logs.opening import read_log
from batprotocol.sites.logs.runs import Attempts
from batprotocol.workloads import write_host_events
from batprotocol.workloads.commands.inputs import read_text

__all__ = ["show"]


def show(
    logs: Sequence[str],
    *,
    format: str | None,
    output: str | None,
    platform: str | None,
    nodes: str | None,
    fields: Sequence[str] | None,
    delimiter: str | None,
    zone: str | None,
    begin: str | None,
    end: str | None,
    attempts: Attempts,
    unit: Unit | None,
    priority: bool,
    reservations: bool,
    anonymous: bool,
    key: str | None,
    others: Sequence[str],
    check: bool,
    policies: str | None,
    events: str | None,
    as_json: bool,
    spreadsheet: bool,
) -> None:
    """Import logs, and print what was taken and left out."""
    if policies is not None and not check:
        raise click.UsageError("--policies is for --check: add --check")
    if spreadsheet and (output is None or by_ending(output, OUTPUTS) != "csv"):
        raise click.UsageError("--spreadsheet is for CSV: name a .csv file with -o")
    screen = Output()
    with ExitStack() as stack, screen.progress("jobs") as bar:
        opened = [
            stack.enter_context(read_log(path, format, zone, fields=fields, delimiter=delimiter)) for path in logs
        ]
        period = LeftOut()
        anonymizer = _anonymizer(screen, anonymous, key, others)
        chosen = Chosen(
            opened,
            begin=-inf if begin is None else moment(begin, zone),
            end=inf if end is None else moment(end, zone),
            anonymizer=anonymizer,
            left_out=period,
        )
        made = Import(
            _Watched(chosen, bar),
            nodes=nodes,
            attempts=attempts,
            unit=unit,
            priority=priority,
            reservations=reservations,
            anonymizer=anonymizer,
        )
        written = [path for path in (output, platform, events) if path is not None]
        text = None if platform is None else made.platform_text(platform)
        count = _write(made, output, spreadsheet)
        if platform is not None and text is not None:
            with whole(platform) as file:
                file.write(text.encode())
        if events is not None:
            _write_events(made, events)
        left_out = [*((log.name, log.left_out) for log in opened), ("", period), ("", made.left_out)]
        checked = checked_copy(made, policies) if check and made.hosts else None
        report = Report(made, [(log.name, log.format) for log in opened], count, left_out, written, zone)
    _print(screen, report, checked, is_json=as_json)


def _print(screen: Output, report: Report, checked: Checked | None, *, is_json: bool) -> None:
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
