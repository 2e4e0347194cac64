"""A capture for other programs: tables of jobs and events, and traces for Perfetto.

The tables have a row for each job, in the words of Batsim's `jobs.csv`, or a row for each event, and are written as CSV
or Parquet, or are data frames of pandas. The traces are in `_traces`. `FORMATS` lists the formats and the endings of
their files. A file is written as a whole or not at all.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from batprotocol._util.files import by_ending, whole
from batprotocol._util.requirements import installing
from batprotocol._util.tables import TableRows, guarded
from batprotocol.errors import CaptureError, InputError, PackageMissing
from batprotocol.model import FinalJobState
from batprotocol.recordings._traces import ExportedRun, write_chrome
from batprotocol.recordings.statistics import CapturedJob
from batprotocol.wire.json import text
from batprotocol.wire.tree import from_message

if TYPE_CHECKING:
    import pandas

__all__ = [
    "FORMATS",
    "TABLES",
    "ExportedEvent",
    "ExportedRun",
    "RowKind",
    "data_frame",
    "events_of",
    "export",
    "format_of",
    "job_rows",
    "write_events_csv",
    "write_jobs_csv",
    "write_jobs_parquet",
    "write_parquet",
    "writer_of",
]


# Tables: a row for each job, in the words of Batsim's `jobs.csv`, and a row for each event


BATCH: Final = 10_000
"""How many rows of a Parquet file are in memory."""

_JOBS: Final = (
    *("job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time"),
    *("success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time"),
    *("stretch", "allocated_resources", "consumed_energy", "metadata"),
)


class ExportedEvent(NamedTuple):
    """An event of a capture.

    Attributes:
        message: the number of its message.
        direction: who says it, "b2e" or "e2b".
        now: the time of its message, in simulated seconds.
        wall: when that was recorded, in nanoseconds since 1970, or None.
        place: its place in the message, from 0.
        timestamp: its time, in simulated seconds.
        event: its type.
        job_id: the job that it is about, or None.
        fields: all that it says, as JSON.
    """

    message: int
    direction: str
    now: float
    wall: int | None
    place: int
    timestamp: float
    event: str
    job_id: str | None
    fields: str


def events_of(run: ExportedRun) -> Iterator[ExportedEvent]:
    """The events of all messages that can be read, in their order."""
    for entry in run:
        message = entry.message
        if message is not None:
            now, direction = message.now, entry.direction.value
            for index, each in enumerate(from_message(message)["events"]):
                fields = each["event"]
                yield ExportedEvent(
                    entry.number,
                    direction,
                    now,
                    entry.wall,
                    index,
                    each["timestamp"],
                    each["event_type"],
                    fields.get("job_id"),
                    text(fields),
                )


def job_rows(jobs: Iterable[CapturedJob]) -> Iterator[dict[str, Any]]:
    """Jobs as the rows of Batsim's `jobs.csv`; unknown values are None.

    The times are those of the messages, see `batprotocol.recordings.statistics`.
    """
    for job in jobs:
        workload, bang, name = job.job_id.partition("!")
        if not bang:
            workload, name = "", job.job_id
        began, ended = job.started, job.finished
        turnaround = None if ended is None or job.submitted is None else ended - job.submitted
        yield {
            "job_id": name,
            "workload_name": workload,
            "profile": job.profile_id,
            "submission_time": job.submitted,
            "requested_number_of_resources": job.resource_request,
            "requested_time": job.walltime,
            "success": int(job.state is FinalJobState.COMPLETED_SUCCESSFULLY),
            "final_state": None if job.state is None else job.state.name,
            "starting_time": began,
            "execution_time": job.ran,
            "finish_time": ended,
            "waiting_time": job.waited,
            "turnaround_time": turnaround,
            "stretch": turnaround / job.ran if turnaround is not None and job.ran else None,
            "allocated_resources": job.hosts,
            "consumed_energy": None,
            "metadata": None,
        }


def write_jobs_csv(run: ExportedRun, file: IO[bytes], *, guard: bool = False) -> None:
    """Write a row for each job: Batsim's own `jobs.csv` if the recording has it, or else rows from the messages.

    Args:
        run: the capture.
        file: where to.
        guard: whether an apostrophe is written before texts that a spreadsheet would compute as formulas.

    Raises:
        CaptureError: the `jobs.csv` of the recording cannot be read. It is only read if `guard` is set.
    """
    kept = next((data for name, data in run.attachments() if name == "jobs.csv"), None)
    if kept is None:
        _write_csv(file, _JOBS, (row.values() for row in job_rows(run.jobs())), guard=guard)
    elif not guard:
        file.write(kept)
    else:
        try:
            rows = TableRows(io.StringIO(kept.decode("utf-8", "backslashreplace"), newline=""))
            _write_csv(file, rows.columns, (row.values() for row in rows), guard=True)
        except ValueError as error:
            raise CaptureError(f"its jobs.csv cannot be read: {error}") from None


def write_events_csv(run: ExportedRun, file: IO[bytes], *, guard: bool = False) -> None:
    """Write a row for each event.

    Args:
        run: the capture.
        file: where to.
        guard: whether an apostrophe is written before texts that a spreadsheet would compute as formulas.
    """
    _write_csv(file, ExportedEvent._fields, events_of(run), guard=guard)


def _write_csv(file: IO[bytes], header: Iterable[str], rows: Iterable[Iterable[Any]], *, guard: bool) -> None:
    lines = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="", write_through=False)
    try:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(header)
        writer.writerows((map(guarded, row) for row in rows) if guard else rows)
        lines.flush()
    finally:
        lines.detach()


def write_parquet(run: ExportedRun, file: IO[bytes]) -> None:
    """Write a row for each event, some at a time.

    Raises:
        PackageMissing: `pyarrow` is not installed.
    """
    text, small = "string", "dictionary"
    columns = (
        *(("message", "int64"), ("direction", small), ("now", "float64"), ("wall", "time"), ("place", "int32")),
        *(("timestamp", "float64"), ("event", small), ("job_id", text), ("fields", text)),
    )
    _write_parquet(file, columns, events_of(run))


def write_jobs_parquet(run: ExportedRun, file: IO[bytes]) -> None:
    """Write a row for each job, with the times of the messages.

    Raises:
        PackageMissing: `pyarrow` is not installed.
    """
    texts = ("job_id", "workload_name", "profile", "final_state", "allocated_resources", "metadata")
    numbers = {"requested_number_of_resources": "int64", "success": "int8"}
    columns = [(name, "string" if name in texts else numbers.get(name, "float64")) for name in _JOBS]
    _write_parquet(file, columns, (tuple(row.values()) for row in job_rows(run.jobs())))


def _write_parquet(file: IO[bytes], columns: Sequence[tuple[str, str]], rows: Iterator[Sequence[Any]]) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise PackageMissing(f"Parquet needs the package pyarrow: {installing('tables')}") from None
    special = {
        "dictionary": pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
        "time": pyarrow.timestamp("ns", "UTC"),
    }
    schema = pyarrow.schema([(name, special.get(kind) or getattr(pyarrow, kind)()) for name, kind in columns])
    with parquet.ParquetWriter(file, schema) as writer:
        while batch := list(islice(rows, BATCH)):
            arrays = [
                pyarrow.array(each, field.type) for each, field in zip(zip(*batch, strict=True), schema, strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))


def data_frame(run: ExportedRun, what: str) -> pandas.DataFrame:
    """A capture as a data frame of pandas.

    Args:
        run: the capture.
        what: "events" or "jobs".

    Raises:
        PackageMissing: `pandas` is not installed.
    """
    if what not in ("events", "jobs"):
        raise ValueError(f"expected 'events' or 'jobs', got {what!r}")
    try:
        import pandas
    except ImportError:
        raise PackageMissing("data frames need the package pandas: pip install pandas") from None
    if what == "jobs":
        return pandas.DataFrame(list(job_rows(run.jobs())), columns=list(_JOBS))
    frame = pandas.DataFrame(list(events_of(run)), columns=list(ExportedEvent._fields))
    return frame.assign(wall=pandas.to_datetime(frame["wall"], utc=True))


# The formats, and the endings of their files


RowKind: TypeAlias = Literal["jobs", "events"]
"""The rows of a table: a row for each job, or a row for each event."""


def _perfetto(run: ExportedRun, file: IO[bytes]) -> None:
    from batprotocol.recordings._perfetto import write_perfetto  # which needs an extra

    write_perfetto(run, file)


FORMATS: Final[dict[str, Callable[[ExportedRun, IO[bytes]], None]]] = {
    "perfetto": _perfetto,
    "chrome": write_chrome,
    "jobs-csv": write_jobs_csv,
    "events-csv": write_events_csv,
    "jobs-parquet": write_jobs_parquet,
    "parquet": write_parquet,
}
"""The function that writes each format."""

_CSV: Final[dict[str, Callable[..., None]]] = {"jobs-csv": write_jobs_csv, "events-csv": write_events_csv}

TABLES: Final = frozenset(name for name in FORMATS if name.endswith(("csv", "parquet")))
"""The formats that have rows."""

_ENDINGS: Final[dict[str, tuple[str, ...]]] = {
    ".pftrace": ("perfetto",),
    ".json": ("chrome", "perfetto"),
    ".csv": ("jobs-csv", "events-csv"),
    ".parquet": ("jobs-parquet", "parquet"),
}
"""The formats of each ending; of two, the first is that with a row for each job."""


def format_of(path: str | os.PathLike[str], rows: RowKind = "jobs", to: str | None = None) -> str:
    """The format of a file, by the ending of its name.

    Args:
        path: the file.
        rows: the rows of a table.
        to: the name of the format. It is needed if no format has the ending. A `.json` of `perfetto` is `chrome`.

    Raises:
        InputError: the ending belongs to another format than `to`, or to none.

    >>> format_of("run.pftrace"), format_of("run.json"), format_of("run.csv", "events")
    ('perfetto', 'chrome', 'events-csv')
    """
    if to is None:
        formats = by_ending(path, _ENDINGS)
        return formats[-1] if rows == "events" and formats[0].startswith("jobs") else formats[0]
    formats = _ENDINGS.get(os.path.splitext(os.fspath(path))[1].lower(), (to,))
    if to not in formats:
        fitting = " or ".join(ending for ending, each in _ENDINGS.items() if to in each)
        raise InputError(f"the name of a file of {to} ends with {fitting}, got {os.fspath(path)!r}")
    return formats[0] if "chrome" in formats else to


def writer_of(format: str, *, guard: bool = False) -> Callable[[ExportedRun, IO[bytes]], None]:
    """The function that writes a format.

    Args:
        format: one of `FORMATS`.
        guard: whether an apostrophe is written before texts that a spreadsheet would compute as formulas.

    Raises:
        InputError: `guard` is set, and the format is not CSV.
    """
    if not guard:
        return FORMATS[format]
    if format not in _CSV:
        raise InputError(f"texts are guarded from spreadsheets in CSV only, got the format {format}")
    return partial(_CSV[format], guard=True)


def export(
    run: ExportedRun,
    path: str | os.PathLike[str],
    to: str | None = None,
    *,
    rows: RowKind = "jobs",
    guard: bool = False,
) -> None:
    """Write a capture as a file for other programs. The file is written as a whole or not at all.

    Args:
        run: the capture.
        path: the file. An existing file is overwritten. Its ending selects the format: `.pftrace` for Perfetto, `.json`
            for Chrome's trace format, which Perfetto opens, too, `.csv` or `.parquet` for a table.
        to: one of `FORMATS`, for a file with another ending.
        rows: the rows of a table, `jobs` or `events`.
        guard: for CSV: whether an apostrophe is written before texts that a spreadsheet would compute as formulas.

    Raises:
        InputError: the ending belongs to no format, or to another one, or `guard` is set and the format is not CSV.
        CaptureError: `guard` is set, and the `jobs.csv` of the recording cannot be read.
        PackageMissing: the format needs a package that is not installed.
        OSError: the file cannot be written.
    """
    write = writer_of(format_of(path, rows, to), guard=guard)
    with whole(path) as file:
        write(run, file)
