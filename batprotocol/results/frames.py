"""The rows of jobs as tables of other libraries: pandas, polars, Arrow. They are imported when they are needed.

The columns are those of jobs.csv. Unknown values have the form of these libraries, instead of -1 or "".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

from batprotocol._util.requirements import installing
from batprotocol.errors import PackageMissing
from batprotocol.results.observing import JobRow

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["JOB_COLUMNS", "JOB_KINDS", "Kind", "arrow_table", "job_columns", "pandas_frame", "polars_frame"]

Kind = Literal["text", "count", "number", "truth"]

JOB_COLUMNS: Final[Mapping[str, tuple[Kind, Callable[[JobRow], Any]]]] = {
    "job_id": ("text", lambda row: row.job_id),
    "workload_name": ("text", lambda row: row.workload_name),
    "profile": ("text", lambda row: row.profile),
    "submission_time": ("number", lambda row: row.submission_time),
    "requested_number_of_resources": ("count", lambda row: row.requested_number_of_resources),
    "requested_time": ("number", lambda row: row.requested_time),
    "success": ("truth", lambda row: row.success),
    "final_state": ("text", lambda row: row.final_state.name),
    "starting_time": ("number", lambda row: row.starting_time),
    "execution_time": ("number", lambda row: row.shown_execution_time),
    "finish_time": ("number", lambda row: row.finish_time),
    "waiting_time": ("number", lambda row: row.waiting_time),
    "turnaround_time": ("number", lambda row: row.turnaround_time),
    "stretch": ("number", lambda row: row.stretch),
    "allocated_resources": ("text", lambda row: row.allocated_resources),
    "consumed_energy": ("number", lambda row: None if row.consumed_energy == -1 else row.consumed_energy),
}
"""The columns: the kind of each, and its value for a row."""

JOB_KINDS: Final[Mapping[str, Kind]] = {name: kind for name, (kind, _) in JOB_COLUMNS.items()}
"""The kinds of these columns."""


def job_columns(rows: Iterable[JobRow]) -> dict[str, list[Any]]:
    """The columns of these rows, with None for unknown values."""
    kept = list(rows)
    return {name: [value(row) for row in kept] for name, (_, value) in JOB_COLUMNS.items()}


def pandas_frame(columns: Mapping[str, Sequence[Any]], kinds: Mapping[str, Kind]) -> pandas.DataFrame:
    """A `pandas.DataFrame` of columns. Columns in `kinds` have the type of their kind, even without a row.

    Raises:
        PackageMissing: `pandas` is missing.
    """
    types = {"text": "str", "count": "int64", "number": "float64", "truth": "bool"}
    frame = _package("pandas").DataFrame(dict(columns))
    found: pandas.DataFrame = frame.astype({name: types[kind] for name, kind in kinds.items()})
    return found


def polars_frame(columns: Mapping[str, Sequence[Any]], kinds: Mapping[str, Kind]) -> polars.DataFrame:
    """A `polars.DataFrame` of columns, with types as in `pandas_frame`.

    Raises:
        PackageMissing: `polars` is missing.
    """
    library = _package("polars")
    types = {"text": library.String, "count": library.Int64, "number": library.Float64, "truth": library.Boolean}
    overrides = {name: types[kind] for name, kind in kinds.items()}
    found: polars.DataFrame = library.DataFrame(dict(columns), schema_overrides=overrides, strict=False)
    return found


def arrow_table(columns: Mapping[str, Sequence[Any]], kinds: Mapping[str, Kind]) -> pyarrow.Table:
    """A `pyarrow.Table` of columns, with types as in `pandas_frame`.

    Raises:
        PackageMissing: `pyarrow` is missing.
    """
    library = _package("pyarrow")
    types = {"text": library.string(), "count": library.int64(), "number": library.float64(), "truth": library.bool_()}
    found: pyarrow.Table = library.table(
        {name: library.array(values, types[kinds[name]] if name in kinds else None) for name, values in columns.items()}
    )
    return found


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        how = installing("tables") if name == "pyarrow" else f"pip install {name}"
        raise PackageMissing(f"this needs the package {name}: {how}") from None
