"""The common part of the commands that write events of hosts: the machine and the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from batprotocol._util.files import whole
from batprotocol._util.tables import LeftOut
from batprotocol.cli.terminal import Output, number_of, printable, report_left_out
from batprotocol.errors import InputError
from batprotocol.results.text import duration
from batprotocol.simulator import Platform, described_platform, read_platform
from batprotocol.workloads.electricity import CARBON, PRICE, Trace
from batprotocol.workloads.electricity.tables import trace_named
from batprotocol.workloads.electricity.trace import power_events
from batprotocol.workloads.events import HasData, write_event_lines
from batprotocol.workloads.host_events import (
    FailureModel,
    Law,
    drawn_failures,
    failure_preset,
    parse_law,
    planned_windows,
    read_windows,
    repeated_windows,
)

if TYPE_CHECKING:
    from batprotocol.workloads.commands.options import WindowOptions

__all__ = [
    "machine_of",
    "show_trace",
    "write_events",
    "write_failures",
    "write_outages",
    "write_windows",
]


_BLOCK: Final = 1 << 16
_MOST_HOSTS: Final = 1_000_000


def machine_of(platform: str | None, hosts: str | None) -> Platform | int:
    """The platform of a file, of a description, or only a number of hosts."""
    if (platform is None) == (hosts is None):
        raise InputError("expected either --platform or --hosts: name the machine")
    if platform is not None:
        return read_platform(platform)
    text = str(hosts).strip()
    if text.isascii() and text.isdigit():
        if not 0 < len(text) < 10 or not 0 < int(text) <= _MOST_HOSTS:
            raise InputError(f"expected a number of hosts from 1 to {_MOST_HOSTS:,}, got {printable(text)}", "--hosts")
        return int(text)
    return described_platform(text)


class _Sink:
    """A text file that collects what is written, and writes blocks of bytes."""

    def __init__(self, output: Output, file: BinaryIO | None) -> None:
        self._output = output
        self._file = file
        self._texts: list[str] = []
        self._size = 0

    def write(self, text: str) -> None:
        self._texts.append(text)
        self._size += len(text)
        if self._size >= _BLOCK:
            self.flush()

    def flush(self) -> None:
        data = "".join(self._texts).encode()
        self._texts.clear()
        self._size = 0
        if self._file is None:
            self._output.raw(data)
        else:
            self._file.write(data)


@contextmanager
def _opened(path: str | None) -> Iterator[BinaryIO | None]:
    if path is None:
        yield None
        return
    with whole(path) as file:
        yield file


def write_events(events: Iterable[tuple[float, HasData]], path: str | None) -> None:
    """Write events into a file, and print their number; or print the events."""
    output = Output()
    with _opened(path) as file:
        sink = _Sink(output, file)
        count = write_event_lines(events, sink)
        sink.flush()
    if path is not None:
        output.line(("", f"wrote {number_of(count, 'event')} into {printable(path)}"))


# `batproto workload failures`: failures of hosts, drawn from laws.


def write_failures(
    *,
    platform: str | None,
    hosts: str | None,
    kinds: Sequence[tuple[str, str, str]],
    preset_name: str | None,
    mtbf: float | None,
    until: float,
    seed: int,
    age: float,
    output: str | None,
) -> None:
    """Write failures and repairs.

    Args:
        platform: the platform file, or None.
        hosts: a description of hosts, or their number; or None.
        kinds: the hosts that fail together, and the laws of the times between failures and of repairs, as texts.
        preset_name: the name of a published model, instead of `kinds`.
        mtbf: the mean time between failures for it, in seconds, or None.
        until: when the last failures may be, in seconds.
        seed: the seed.
        age: the age of the hosts at the beginning, in seconds.
        output: the file, or None.
    """
    if bool(kinds) == (preset_name is not None):
        raise InputError("expected either --each or --preset: name the laws")
    if preset_name is not None:
        models = [failure_preset(preset_name, mtbf=mtbf)]
    elif mtbf is not None:
        raise InputError("--mtbf is for a --preset: put the mean into the law of --each")
    else:
        models = [FailureModel(_law(between), _law(repair), each) for each, between, repair in kinds]
    write_events(drawn_failures(machine_of(platform, hosts), models, until=until, seed=seed, age=age), output)


def _law(text: str) -> Law:
    try:
        return parse_law(text)
    except InputError as error:
        raise InputError(error.reason, f"--each: {error.path}" if error.path else "--each") from None


# `batproto workload outages`: a published trace of failures as events of hosts.


def write_outages(
    trace: str,
    *,
    format: str | None,
    platform: str | None,
    hosts: str | None,
    system: str | None,
    zone: str | None,
    begin: str | None,
    end: str | None,
    output: str | None,
) -> None:
    """Write the outages of a trace, and report what was left out. `outage_events` has the arguments."""
    from batprotocol.sites.logs.outages import outage_events, read_outages

    machine = machine_of(platform, hosts)
    left_out = LeftOut()
    since, until = (None if text is None else _moment(text, zone) for text in (begin, end))
    events = outage_events(
        read_outages(trace, left_out, format=format, zone=zone, system=system),
        machine if isinstance(machine, int) else [host.name for host in machine.computation_hosts],
        left_out,
        since=since,
        until=until,
    )
    report_left_out(Output(), trace, left_out, "outage")
    write_events(events, output)


def _moment(text: str, zone: str | None) -> float:
    from batprotocol.sites.logs.imports import moment

    return moment(text, zone)


# `batproto workload windows`: maintenance and reservations, repeated or from a table.


def write_windows(options: WindowOptions) -> None:
    """Write windows, those of a table or repeated ones."""
    if options.table is not None:
        if any(each is not None for each in (options.hosts, options.every, options.duration, options.until)):
            raise InputError("a TABLE has all windows: leave out --hosts, --every, --for and --until")
        left_out = LeftOut()
        planned = read_windows(
            options.table, announced=options.announced, left_out=left_out if options.skip_bad else None
        )
        report_left_out(Output(), options.table, left_out, "window")
    elif options.hosts is None or options.every is None or options.duration is None or options.until is None:
        raise InputError("expected a TABLE, or --hosts, --every, --for and --until: name the windows")
    else:
        try:
            windows = repeated_windows(
                options.hosts,
                every=options.every,
                at=options.at,
                duration=options.duration,
                until=options.until,
                name=options.name,
                users=_names(options.users),
                accounts=_names(options.accounts),
                maintenance=options.maintenance,
            )
        except InputError as error:
            raise InputError(error.reason, f"--{'for' if error.path == 'duration' else error.path}") from None
        planned = planned_windows(windows, announced=options.announced)
    write_events(planned, options.output)


def _names(text: str) -> list[str]:
    return [name for name in (part.strip() for part in text.split(",")) if name]


# `batproto workload trace`: a trace of carbon intensities or prices, described or as external events.


_WIDTH: Final = 15


def show_trace(name: str, *, price: bool, until: float | None, output: str | None) -> None:
    """Describe a trace, or write its events."""
    left_out = LeftOut()
    kind = PRICE if price else CARBON
    trace = trace_named(name, kind, left_out=left_out)
    report_left_out(Output(), name, left_out, "value")
    if until is not None:
        write_events(power_events(trace, kind, until), output)
        return
    if output is not None:
        raise InputError("to write events, give --until, too")
    lines = Output()
    for title, text in _trace_facts(trace):
        lines.line(("heading", title.ljust(_WIDTH)), ("", f" {text}"))


def _trace_facts(trace: Trace) -> list[tuple[str, str]]:
    values = trace.values
    mean = trace.mean(trace.begin, trace.end)
    return [
        ("values", f"{len(values):,}, for {duration(trace.period)}{', repeated' if trace.repeats else ''}"),
        (trace.unit, f"{mean:.6g} mean, {min(values):.6g} to {max(values):.6g}"),
        ("begin", f"{trace.begin:.15g} s of the simulation"),
        ("end", "none" if trace.repeats else f"{trace.end:.15g} s of the simulation"),
    ]
