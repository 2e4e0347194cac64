"""The jobs of a run: Batsim's jobs.csv, or the same as Parquet, which takes half the room and keeps the types.

Parquet needs the package `pyarrow`, which comes with `batprotocol[tables]` and is imported when it is used.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any, Final

from batprotocol.errors import PackageMissing, StudyError
from batprotocol.model import FinalJobState
from batprotocol.simulator.results import JobRow, read_jobs
from batprotocol.simulator.results.frames import JOB_KINDS

__all__ = ["CSV", "PARQUET", "as_parquet", "can_write_parquet", "jobs_in"]

CSV: Final = "jobs.csv"
PARQUET: Final = "jobs.parquet"

_REPEATED: Final = ("workload_name", "profile", "final_state", "metadata")
_KINDS: Final = {**JOB_KINDS, "metadata": "text"}


def can_write_parquet() -> bool:
    """Whether the package for it is there."""
    try:
        import pyarrow.parquet  # noqa: F401  # it is asked for, and not used
    except ImportError:
        return False
    return True


def as_parquet(csv: bytes) -> bytes:
    """A jobs.csv as Parquet, with the same columns."""
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    header = csv.split(b"\n", 1)[0].decode().split(",")
    of_kind = {"text": pyarrow.string(), "count": pyarrow.int64(), "truth": pyarrow.int64()}  # true is written as 1
    types = {name: of_kind.get(_KINDS.get(name, ""), pyarrow.float64()) for name in header}
    table = pyarrow.csv.read_csv(
        io.BytesIO(csv),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        read_options=pyarrow.csv.ReadOptions(use_threads=False),
    )
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, use_dictionary=list(_REPEATED), write_statistics=False)
    return sink.getvalue()


def jobs_in(folder: str) -> Iterator[JobRow]:
    """The rows of the jobs of a run, in their order, with the six decimals that Batsim writes.

    Args:
        folder: of the run.

    Raises:
        StudyError: there are none.
        PackageMissing: they are Parquet, and the package for that is missing.
        OSError: they cannot be read.
    """
    parquet, csv = os.path.join(folder, PARQUET), os.path.join(folder, CSV)
    if os.path.isfile(parquet):
        return _of_parquet(parquet)
    if not os.path.isfile(csv):
        raise StudyError("the run has no jobs", file=folder)
    return read_jobs(csv)


def _of_parquet(path: str) -> Iterator[JobRow]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise PackageMissing(f"{path} needs pyarrow: pip install 'batprotocol[tables]'", name=error.name) from None
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
        for row in batch.to_pylist():
            yield _row(row)


def _row(row: dict[str, Any]) -> JobRow:
    ran = row["starting_time"] is not None
    return JobRow(
        job_id=row["job_id"],
        workload_name=row["workload_name"],
        profile=row["profile"],
        submission_time=row["submission_time"],
        requested_number_of_resources=row["requested_number_of_resources"],
        requested_time=None if row["requested_time"] < 0 else row["requested_time"],
        final_state=FinalJobState[row["final_state"]],
        starting_time=row["starting_time"] if ran else None,
        execution_time=row["execution_time"] if ran else None,
        allocated_resources=row["allocated_resources"],
        consumed_energy=row["consumed_energy"],
    )
