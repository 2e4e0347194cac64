"""The files beside Batsim's: allocations.csv, attempts.csv, host_events.jsonl and power.json.

They have what the scheduler knows and Batsim does not: the amounts that jobs took of shared hosts, and the runs that
were interrupted. Tables are written only if they can be read back.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from batprotocol._util.files import whole
from batprotocol._util.tables import quoted
from batprotocol.errors import InputError, shown
from batprotocol.results.files import read_energy
from batprotocol.results.times import TimedHostEvent, host_events_of
from batprotocol.workloads.events import read_external_events, write_event_lines
from batprotocol.workloads.requests import Allocated, AttemptReport
from batprotocol.workloads.requests.notation import Gres
from batprotocol.workloads.requests.usage import ENDS

__all__ = [
    "ALLOCATIONS",
    "ATTEMPTS",
    "ENERGY",
    "HOST_EVENTS",
    "POWER",
    "KnownPower",
    "PowerFile",
    "allocations_text",
    "attempts_text",
    "expect_values",
    "failures_beside",
    "is_seconds",
    "parse_allocations",
    "parse_attempts",
    "parse_reports",
    "power_beside",
    "read_allocations",
    "read_attempts",
    "reports_text",
    "write_allocations",
    "write_attempts",
    "write_failures",
    "write_power",
]


Report = TypeVar("Report")

_TIME: Final = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,20})?", re.ASCII)


def parse_reports(
    lines: Iterable[str],
    name: str,
    kind: str,
    columns: Sequence[str],
    read: Callable[[Mapping[str, str]], Report],
    newer: Collection[int] = (),
) -> list[Report]:
    """Read a table.

    Args:
        lines: its lines, with their ends.
        name: its name in error messages.
        kind: the usual name of such a file.
        columns: its columns; `job_id` is one of them, and has no value twice.
        read: makes a report of the values of a row; it raises an InputError if they are wrong.
        newer: numbers of the last columns that are missing in older tables.

    Raises:
        InputError: the table is not of this kind; the error names the line.
    """
    rows = csv.reader(lines, strict=True)
    begin = 1
    found: dict[str, Report] = {}
    try:
        for values in rows:
            if begin == 1:
                columns = next((columns[:-each] for each in newer if values == list(columns[:-each])), columns)
                _expect_header(values, kind, columns)
            else:
                if len(values) != len(columns):
                    raise InputError(f"expected {len(columns)} values, got {len(values)}")
                row = dict(zip(columns, values, strict=True))
                report = read(row)
                if row["job_id"] in found:
                    raise InputError(f"job {shown(row['job_id'])} has a row already, and a job starts once", "job_id")
                found[row["job_id"]] = report
            begin = rows.line_num + 1
        if begin == 1:
            _expect_header([], kind, columns)
    except InputError as error:
        raise InputError(error.reason, error.path, file=name, line=begin) from None
    except (csv.Error, UnicodeDecodeError) as error:
        reason = "it is not text in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InputError(f"it is not an {kind}: {reason}", file=name, line=begin) from None
    return list(found.values())


def reports_text(
    kind: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    read: Callable[[Mapping[str, str]], Report],
) -> str:
    """The text of a table, which `parse_reports` reads.

    Args:
        kind: the usual name of such a file.
        columns: its columns; `job_id` is one of them.
        rows: the values of each row, in the order of the columns.
        read: makes a report of the values of a row; it raises an InputError if they are wrong.

    Raises:
        InputError: a row could not be read back; the error names the job, and the column.
    """
    lines = [",".join(columns) + "\n"]
    known: set[str] = set()
    for values in rows:
        row = dict(zip(columns, values, strict=True))
        id = row["job_id"]
        try:
            read(row)
            for column, text in row.items():
                if len(text) > csv.field_size_limit() or not _is_text(text):
                    raise InputError(f"expected a text of UTF-8 that is not too long, got {shown(text)}", column)
            if id in known:
                raise InputError("the job has a row already, and a job starts once", "job_id")
        except InputError as error:
            raise InputError(f"an {kind} cannot have the job {shown(id)}: {error.reason}", error.path) from None
        known.add(id)
        lines.append(",".join(map(quoted, values)) + "\n")
    return "".join(lines)


def _is_text(text: str) -> bool:
    """Whether UTF-8 can have a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _expect_header(values: list[str], kind: str, columns: Sequence[str]) -> None:
    if values != list(columns):
        raise InputError(f"it is not an {kind}: expected the columns {','.join(columns)}, got {shown(values)}")


def expect_values(row: Mapping[str, str], checks: Iterable[tuple[str, str, bool]]) -> None:
    """Refuse a row with a wrong value.

    Args:
        row: its values by their columns.
        checks: a column, a description of its values, and whether the value is right.

    Raises:
        InputError: a value is wrong.
    """
    for column, expected, is_right in checks:
        if not is_right:
            raise InputError(f"expected {expected}, got {shown(row[column])}", column)


def is_seconds(text: str) -> bool:
    """Whether a text is a number of seconds, as these tables write it.

    >>> is_seconds("1.500000"), is_seconds("nan"), is_seconds("1e3")
    (True, False, False)
    """
    return _TIME.fullmatch(text) is not None and math.isfinite(float(text))


# allocations.csv


_ALLOCATION_COLUMNS: Final = (
    *("job_id", "first_id", "starting_time", "partition"),
    *("hosts", "cores", "memory", "gres", "whole", "held", "memory_share", "gpu_share"),
)
_NEWER: Final = (3, 2)
"""The numbers of columns at the end that older files do not have."""
_HOSTS: Final = re.compile(r"[0-9]{1,10}(?:-[0-9]{1,10})?(?: [0-9]{1,10}(?:-[0-9]{1,10})?)*", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,30}", re.ASCII)
_AMOUNT: Final = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?(?:e-?[0-9]{1,2})?", re.ASCII)
_GRES: Final = re.compile(r"([A-Za-z_][\w.-]*)(?::([A-Za-z_][\w.-]*))?:([0-9]{1,30})", re.ASCII)


def write_allocations(path: str | os.PathLike[str], allocations: Iterable[Allocated]) -> None:
    """Write an allocations.csv, as a whole or not at all.

    Args:
        path: the file.
        allocations: what each started job took, in the order of their starts, such as `Policy.allocated`.

    Raises:
        InputError: an allocation could not be read back; the error names the job, and the column.
        OSError: the file cannot be written.
    """
    text = allocations_text(allocations)
    with whole(path) as file:
        file.write(text.encode())


def allocations_text(allocations: Iterable[Allocated]) -> str:
    """The text of an allocations.csv.

    Raises:
        InputError: an allocation could not be read back; the error names the job, and the column.

    >>> taken = [Allocated(job_id="w0!1", first_id="w0!1", starting_time=0.5, hosts="0-1", cores=4, held=0.25)]
    >>> print(allocations_text(taken))
    job_id,first_id,starting_time,partition,hosts,cores,memory,gres,whole,held,memory_share,gpu_share
    w0!1,w0!1,0.500000,,0-1,4,0,,0,0.25,,
    <BLANKLINE>
    """
    return reports_text("allocations.csv", _ALLOCATION_COLUMNS, map(_allocation_values, allocations), _allocated)


def _allocation_values(each: Allocated) -> list[str]:
    return [
        *(each.job_id, each.first_id, f"{each.starting_time:f}", each.partition, each.hosts),
        *(str(each.cores), str(each.memory), ",".join(map(str, each.gres)), f"{each.whole:d}"),
        *("" if value is None else f"{value:.12g}" for value in (each.held, each.memory_share, each.gpu_share)),
    ]


def read_allocations(path: str | os.PathLike[str]) -> list[Allocated]:
    """Read an allocations.csv: what each started job took of its hosts. Times have six decimals.

    Raises:
        OSError: the file cannot be read.
        InputError: the file is not an allocations.csv; the error names the line, and the column by its name.
    """
    with open(path, encoding="utf-8", newline="") as file:
        return parse_allocations(file, os.fspath(path))


def parse_allocations(lines: Iterable[str], name: str) -> list[Allocated]:
    """Read the text of an allocations.csv, see `read_allocations`.

    Args:
        lines: its lines, with their ends.
        name: its name in error messages.

    Raises:
        InputError: it is not an allocations.csv.
    """
    return parse_reports(lines, name, "allocations.csv", _ALLOCATION_COLUMNS, _allocated, newer=_NEWER)


def _allocated(row: Mapping[str, str]) -> Allocated:
    is_whole = row["whole"] == "1"
    gres = [_GRES.fullmatch(part) for part in row["gres"].split(",") if row["gres"]]
    number = "0, as it has whole hosts" if is_whole else "a whole number >= 0"
    kinds = "nothing, as it has whole hosts" if is_whole else "generic resources such as gpu:2"
    checks = (
        ("job_id", "the name of a job", row["job_id"] != ""),
        ("first_id", "the name of a job", row["first_id"] != ""),
        ("starting_time", "seconds", is_seconds(row["starting_time"])),
        ("hosts", "a host set such as 0-3 8", _is_host_set(row["hosts"])),
        ("whole", "0 or 1", row["whole"] in ("0", "1")),
        ("cores", number, _is_number(row["cores"], is_whole)),
        ("memory", number, _is_number(row["memory"], is_whole)),
        ("gres", kinds, all(gres) and not (is_whole and gres)),
        ("held", "a number of hosts >= 0, or nothing", _is_amount(row.get("held", ""))),
        *(
            (name, "a share in [0, 1], or nothing", _is_share(row.get(name, "")))
            for name in ("memory_share", "gpu_share")
        ),
    )
    expect_values(row, checks)
    return Allocated(
        job_id=row["job_id"],
        first_id=row["first_id"],
        starting_time=float(row["starting_time"]),
        partition=row["partition"],
        hosts=row["hosts"],
        cores=int(row["cores"]),
        memory=int(row["memory"]),
        gres=tuple(Gres(each[1], each[2], int(each[3])) for each in gres if each is not None),
        whole=is_whole,
        held=_value(row.get("held")),
        memory_share=_value(row.get("memory_share")),
        gpu_share=_value(row.get("gpu_share")),
    )


def _value(text: str | None) -> float | None:
    return float(text) if text else None


def _is_number(text: str, is_whole: bool) -> bool:
    return text == "0" if is_whole else _NUMBER.fullmatch(text) is not None


def _is_amount(text: str) -> bool:
    return not text or _AMOUNT.fullmatch(text) is not None


def _is_share(text: str) -> bool:
    return not text or (_is_amount(text) and float(text) <= 1)


def _is_host_set(text: str) -> bool:
    """Whether a text is a host set in its canonical form: in ascending order, without overlaps."""
    if _HOSTS.fullmatch(text) is None:
        return False
    last = -1
    for part in text.split(" "):
        first, _, end = part.partition("-")
        if int(first) <= last or (end and int(end) <= int(first)):
            return False
        last = int(end or first)
    return True


# attempts.csv


_ATTEMPT_COLUMNS: Final = (
    *("job_id", "first_id", "number", "starting_time", "finish_time", "end", "next_id"),
    *("work", "checkpoints", "restart", "lost"),
)
_TIMES: Final = ("starting_time", "finish_time", "work", "checkpoints", "restart", "lost")
_COUNT: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


def write_attempts(path: str | os.PathLike[str], attempts: Iterable[AttemptReport]) -> None:
    """Write an attempts.csv, as a whole or not at all.

    Args:
        path: the file.
        attempts: the attempts, such as `Policy.attempts`.

    Raises:
        InputError: an attempt could not be read back; the error names the job, and the column.
        OSError: the file cannot be written.
    """
    text = attempts_text(attempts)
    with whole(path) as file:
        file.write(text.encode())


def attempts_text(attempts: Iterable[AttemptReport]) -> str:
    """The text of an attempts.csv.

    Raises:
        InputError: an attempt could not be read back; the error names the job, and the column.

    >>> lost = AttemptReport(
    ...     job_id="w0!1", first_id="w0!1", number=0, starting_time=0.0, finish_time=9.0, end="failure", lost=9.0
    ... )
    >>> print(attempts_text([lost]))
    job_id,first_id,number,starting_time,finish_time,end,next_id,work,checkpoints,restart,lost
    w0!1,w0!1,0,0.000000,9.000000,failure,,0.000000,0.000000,0.000000,9.000000
    <BLANKLINE>
    """
    return reports_text("attempts.csv", _ATTEMPT_COLUMNS, map(_attempt_values, attempts), _attempt)


def _attempt_values(each: AttemptReport) -> list[str]:
    return [
        *(each.job_id, each.first_id, str(each.number), f"{each.starting_time:f}", f"{each.finish_time:f}"),
        *(each.end, each.next_id),
        *(f"{seconds:f}" for seconds in (each.work, each.checkpoints, each.restart, each.lost)),
    ]


def read_attempts(path: str | os.PathLike[str]) -> list[AttemptReport]:
    """Read an attempts.csv. Times have six decimals.

    Raises:
        OSError: the file cannot be read.
        InputError: the file is not an attempts.csv; the error names the line, and the column by its name.
    """
    with open(path, encoding="utf-8", newline="") as file:
        return parse_attempts(file, os.fspath(path))


def parse_attempts(lines: Iterable[str], name: str) -> list[AttemptReport]:
    """Read the text of an attempts.csv, see `read_attempts`.

    Args:
        lines: its lines, with their ends.
        name: its name in error messages.

    Raises:
        InputError: it is not an attempts.csv.
    """
    return parse_reports(lines, name, "attempts.csv", _ATTEMPT_COLUMNS, _attempt)


def _attempt(row: Mapping[str, str]) -> AttemptReport:
    checks = (
        ("job_id", "the name of a job", row["job_id"] != ""),
        ("first_id", "the name of a job", row["first_id"] != ""),
        ("number", "a whole number >= 0", _COUNT.fullmatch(row["number"]) is not None),
        ("end", f"one of {', '.join(ENDS)}", row["end"] in ENDS),
        *((column, "seconds", is_seconds(row[column])) for column in _TIMES),
    )
    expect_values(row, checks)
    return AttemptReport(
        job_id=row["job_id"],
        first_id=row["first_id"],
        number=int(row["number"]),
        end=row["end"],
        next_id=row["next_id"],
        **{column: float(row[column]) for column in _TIMES},
    )


# Failures and electricity of a run


ATTEMPTS: Final = "attempts.csv"
HOST_EVENTS: Final = "host_events.jsonl"
ALLOCATIONS: Final = "allocations.csv"
ENERGY: Final = "consumed_energy.csv"
POWER: Final = "power.json"
_MOST_BYTES: Final = 1 << 16


class PowerFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The values that a run keeps of its platform, in power.json, if its energy was measured.

    Args:
        cores: the number of cores of all computation hosts.
        watts: the typical watts of hosts that declare none, as `parse_watts` reads them; "" if all declare theirs.
    """

    cores: int
    watts: str = ""


class KnownPower(msgspec.Struct, frozen=True):
    """The values of the files of a run for the metrics of electricity, and for those of shared hosts.

    Args:
        energy: the joules of all hosts since time 0, over time; None if energy was not measured.
        cores: the number of cores of all computation hosts; None if it is unknown.
        watts: the typical watts of hosts that declare none, or "".
        allocations: what jobs took of shared hosts.
    """

    energy: tuple[tuple[float, float], ...] | None = None
    cores: int | None = None
    watts: str = ""
    allocations: tuple[Allocated, ...] = ()


def write_failures(prefix: str, attempts: Collection[AttemptReport], events: Collection[TimedHostEvent]) -> None:
    """Write the failures of a run, if it had some.

    Args:
        prefix: the prefix of its result files, such as `out/`.
        attempts: the attempts of its jobs.
        events: the events of its hosts, with their times.

    Raises:
        OSError: a file cannot be written.
    """
    if attempts:
        write_attempts(f"{prefix}{ATTEMPTS}", attempts)
    if events:
        with open(f"{prefix}{HOST_EVENTS}", "w", encoding="utf-8") as file:
            write_event_lines(events, file)


def failures_beside(prefix: str) -> tuple[list[AttemptReport], list[TimedHostEvent]]:
    """The failures of a run: the attempts of its jobs, and the events of its hosts.

    Args:
        prefix: the prefix of its result files, such as `out/`. Files may be missing.

    Raises:
        InputError: a file cannot be used.
        OSError: a file cannot be read.
    """
    attempts, events = f"{prefix}{ATTEMPTS}", f"{prefix}{HOST_EVENTS}"
    return (
        read_attempts(attempts) if os.path.isfile(attempts) else [],
        list(host_events_of([read_external_events(events)])) if os.path.isfile(events) else [],
    )


def write_power(prefix: str, power: PowerFile) -> None:
    """Write what a run keeps of its platform for the metrics of electricity.

    Args:
        prefix: the prefix of its result files, such as `out/`.
        power: the values.

    Raises:
        InputError: the values could not be read back.
        OSError: the file cannot be written.
    """
    try:
        data = msgspec.json.encode(power) + b"\n"
        _power_file(data, f"{prefix}{POWER}")
    except (UnicodeError, OverflowError) as error:
        raise InputError(f"a power.json cannot have it: {error}") from None
    with open(f"{prefix}{POWER}", "wb") as file:
        file.write(data)


def _power_file(data: bytes, name: str) -> PowerFile:
    if len(data) > _MOST_BYTES:
        raise InputError(f"expected a power.json of at most {_MOST_BYTES:,} bytes", file=name)
    try:
        power = msgspec.json.decode(data, type=PowerFile)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(f"it is not a power.json: {error}", file=name) from None
    if power.cores < 1:
        raise InputError(f"expected a number of cores > 0, got {power.cores}", "cores", file=name)
    return power


def power_beside(prefix: str) -> KnownPower:
    """The values of the files of a run for the metrics of electricity. Files may be missing.

    Args:
        prefix: the prefix of its result files, such as `out/`.

    Raises:
        InputError: a file cannot be used.
        OSError: a file cannot be read.
    """
    energy, about, taken = (f"{prefix}{name}" for name in (ENERGY, POWER, ALLOCATIONS))
    allocations = tuple(read_allocations(taken)) if os.path.isfile(taken) else ()
    if not os.path.isfile(energy):
        return KnownPower(allocations=allocations)
    power: PowerFile | None = None
    if os.path.isfile(about):
        with open(about, "rb") as file:
            power = _power_file(file.read(_MOST_BYTES + 1), about)
    return KnownPower(
        tuple(read_energy(energy)),
        None if power is None else power.cores,
        "" if power is None else power.watts,
        allocations,
    )
