"""Tables of a capture: a row for each job, in the words of Batsim's `jobs.csv`, and a row for each event.

It must not know how captures are kept.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from batprotocol._util.requirements import installing
from batprotocol._util.tables import Rows, guarded
from batprotocol.errors import CaptureError, PackageMissing
from batprotocol.model import FinalJobState
from batprotocol.recordings.exporting.run import Run
from batprotocol.recordings.jobs import CapturedJob
from batprotocol.wire.json import text
from batprotocol.wire.tree import from_message

if TYPE_CHECKING:
    import pandas

__all__ = [
    "EventRow",
    "data_frame",
    "events_of",
    "job_rows",
    "write_events_csv",
    "write_jobs_csv",
    "write_jobs_parquet",
    "write_parquet",
]

BATCH: Final = 10_000
"""How many rows of a Parquet file are in memory."""

_JOBS: Final = (
    *("job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time"),
    *("success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time"),
    *("stretch", "allocated_resources", "consumed_energy", "metadata"),
)


class EventRow(NamedTuple):
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


def events_of(run: Run) -> Iterator[EventRow]:
    """The events of all messages that can be read, in their order."""
    for entry in run:
        message = entry.message
        if message is not None:
            now, direction = message.now, entry.direction.value
            for index, each in enumerate(from_message(message)["events"]):
                fields = each["event"]
                yield EventRow(
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

    The times are those of the messages, see `batprotocol.recordings.jobs`.
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


def write_jobs_csv(run: Run, file: IO[bytes], *, guard: bool = False) -> None:
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
            rows = Rows(io.StringIO(kept.decode("utf-8", "backslashreplace"), newline=""))
            _write_csv(file, rows.columns, (row.values() for row in rows), guard=True)
        except ValueError as error:
            raise CaptureError(f"its jobs.csv cannot be read: {error}") from None


def write_events_csv(run: Run, file: IO[bytes], *, guard: bool = False) -> None:
    """Write a row for each event.

    Args:
        run: the capture.
        file: where to.
        guard: whether an apostrophe is written before texts that a spreadsheet would compute as formulas.
    """
    _write_csv(file, EventRow._fields, events_of(run), guard=guard)


def _write_csv(file: IO[bytes], header: Iterable[str], rows: Iterable[Iterable[Any]], *, guard: bool) -> None:
    lines = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="", write_through=False)
    try:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(header)
        writer.writerows((map(guarded, row) for row in rows) if guard else rows)
        lines.flush()
    finally:
        lines.detach()


def write_parquet(run: Run, file: IO[bytes]) -> None:
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


def write_jobs_parquet(run: Run, file: IO[bytes]) -> None:
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


def data_frame(run: Run, what: str) -> pandas.DataFrame:
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
    frame = pandas.DataFrame(list(events_of(run)), columns=list(EventRow._fields))
    return frame.assign(wall=pandas.to_datetime(frame["wall"], utc=True))
