"""Results of runs: the jobs in the folder of a run, a row for each run, and rows as tables of other libraries."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, overload

import msgspec

from batprotocol._util.requirements import installing
from batprotocol._util.tables import TableRows as TableRows
from batprotocol.errors import InputError, PackageMissing, StudyError
from batprotocol.model import FinalJobState
from batprotocol.results import (
    Electricity,
    JobRow,
    Metric,
    TimedHostEvent,
    WorkflowResult,
    read_allocations,
    read_energy,
    read_jobs,
)
from batprotocol.results.files import COLUMNS, JOB_KINDS, arrow_table, pandas_frame, polars_frame
from batprotocol.results.groups import JobGroups
from batprotocol.results.reports import ALLOCATIONS, ENERGY, failures_beside
from batprotocol.studies.runs import DONE, RECORDING, TRACEBACK, Measure
from batprotocol.workloads.requests import Allocated, AttemptReport

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = [
    "CSV",
    "GROUPS",
    "PARQUET",
    "USERS",
    "WORKFLOWS",
    "Row",
    "Rows",
    "allocations_in",
    "as_parquet",
    "can_write_parquet",
    "failures_in",
    "groups_in",
    "jobs_in",
    "rounded",
    "users_in",
    "workflows_in",
]


# The jobs of a run, and their users: Batsim's jobs.csv, or the same as Parquet, which takes half the space.


CSV: Final = "jobs.csv"
PARQUET: Final = "jobs.parquet"
GROUPS: Final = "groups.json"
"""The file with the groups that jobs belong to, such as partitions, of runs whose jobs ask for some."""
WORKFLOWS: Final = "workflows.json"
"""The file with the results of each workflow, of runs whose jobs name some."""
USERS: Final = "users.json"
"""The file with the user of each job, by its full name."""
Kind = TypeVar("Kind")

_USER: Final = "user"
_DECIMALS: Final = 6
"""The number of decimals in a jobs.csv."""

_REPEATED: Final = ("workload_name", "profile", "final_state", "metadata")
_KINDS: Final = {**JOB_KINDS, "metadata": "text"}


def can_write_parquet() -> bool:
    """Whether the package that writes Parquet is installed."""
    try:
        import pyarrow.parquet  # noqa: F401  # only its presence matters
    except ImportError:
        return False
    return True


def rounded(rows: Iterable[JobRow]) -> list[JobRow]:
    """The rows with the six decimals of a jobs.csv, so that metrics are the same now and after a second reading."""
    return [
        JobRow(
            job_id=row.job_id,
            workload_name=row.workload_name,
            profile=row.profile,
            submission_time=round(row.submission_time, _DECIMALS),
            requested_number_of_resources=row.requested_number_of_resources,
            requested_time=_rounded(row.requested_time),
            final_state=row.final_state,
            starting_time=_rounded(row.starting_time),
            execution_time=_rounded(row.shown_execution_time),
            allocated_resources=row.allocated_resources,
            consumed_energy=_rounded(row.consumed_energy),
        )
        for row in rows
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


def as_parquet(csv: bytes, users: bytes | None = None) -> bytes:
    """A jobs.csv as Parquet, with the same columns, and one more for the users if they are known.

    Args:
        csv: the jobs.csv.
        users: the user of each job, as JSON, or None.
    """
    import pyarrow
    import pyarrow.parquet

    header = csv.split(b"\n", 1)[0].decode().split(",")
    types = _types(header)
    is_plain = b'"' not in csv and b"\r" not in csv and csv.count(b",") == csv.count(b"\n") * (len(header) - 1)
    table = (_plain_table if is_plain else _named_table)(csv, types)
    if users is not None:
        known = msgspec.json.decode(users, type=dict[str, Any])
        names = zip(table["workload_name"].to_pylist(), table["job_id"].to_pylist(), strict=True)
        found = (known.get(f"{workload}!{job}") for workload, job in names)
        texts = [None if user is None else msgspec.json.encode(user).decode() for user in found]
        table = table.append_column(_USER, pyarrow.array(texts, pyarrow.string()))
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(
        table,
        sink,
        use_dictionary=[*_REPEATED, *([_USER] if users is not None else [])],
        write_statistics=False,
        write_page_checksum=True,
    )
    return bytes(sink.getvalue().to_pybytes())


def _types(columns: Iterable[str]) -> dict[str, Any]:
    """The types of columns in Parquet. True is written as 1."""
    import pyarrow

    of_kind = {"text": pyarrow.string(), "count": pyarrow.int64(), "truth": pyarrow.int64()}
    return {name: of_kind.get(_KINDS.get(name, ""), pyarrow.float64()) for name in columns}


def _plain_table(csv: bytes, types: dict[str, Any]) -> Any:
    """The table of a jobs.csv in which each comma ends a value."""
    import pyarrow.csv

    return pyarrow.csv.read_csv(
        io.BytesIO(csv),
        parse_options=pyarrow.csv.ParseOptions(quote_char=False),
        convert_options=pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False, null_values=[""]),
        read_options=pyarrow.csv.ReadOptions(use_threads=False),
    )


def _named_table(csv: bytes, types: dict[str, Any]) -> Any:
    """The table of a jobs.csv with names that have commas, quotation marks or line ends: pyarrow cannot read it."""
    import pyarrow

    columns: dict[str, list[Any]] = {name: [] for name in types}
    for row in TableRows(io.StringIO(csv.decode(), newline="")):
        for name, values in columns.items():
            text = row[name]
            if types[name] == pyarrow.string():
                values.append(text)
            else:
                read = int if types[name] == pyarrow.int64() else float
                values.append(read(text) if text else None)
    return pyarrow.table({name: pyarrow.array(values, types[name]) for name, values in columns.items()})


def jobs_in(folder: str) -> Iterator[JobRow]:
    """The rows of the jobs of a run, in their order, with the six decimals that Batsim writes.

    Args:
        folder: the folder of the run.

    Raises:
        StudyError: the run has no jobs.
        PackageMissing: they are in a Parquet file, and the package for that is missing.
        InputError: the file is damaged; reading raises it, too.
        OSError: they cannot be read.
    """
    parquet, csv = os.path.join(folder, PARQUET), os.path.join(folder, CSV)
    if os.path.isfile(parquet):
        return _of_parquet(parquet)
    if not os.path.isfile(csv):
        raise StudyError("the run has no jobs", file=folder)
    return read_jobs(csv)


def allocations_in(folder: str) -> list[Allocated]:
    """The amounts that each started job of a run took of its hosts; empty if its jobs shared no hosts.

    Args:
        folder: the folder of the run.

    Raises:
        InputError: its allocations.csv cannot be used.
        OSError: it cannot be read.
    """
    path = os.path.join(folder, ALLOCATIONS)
    return read_allocations(path) if os.path.isfile(path) else []


def failures_in(folder: str) -> tuple[list[AttemptReport], list[TimedHostEvent]]:
    """The attempts of the jobs of a run that were interrupted, and the events of its hosts; empty without failures.

    Args:
        folder: the folder of the run.

    Raises:
        InputError: a file cannot be used.
        OSError: a file cannot be read.
    """
    return failures_beside(os.path.join(folder, ""))


def groups_in(folder: str) -> JobGroups:
    """The groups that the jobs of a run belong to, by the ways to group them; empty if its jobs asked for none.

    Args:
        folder: the folder of the run.

    Raises:
        PackageMissing: the jobs are Parquet, and the package for that is missing.
        InputError: its groups.json cannot be used.
        OSError: a file cannot be read.
    """
    users = users_in(folder) or {}
    found = _json(folder, GROUPS, dict[str, dict[str, str]]) or {}
    return {**found, "user": {name: str(user) for name, user in users.items()} | found.get("user", {})}


def workflows_in(folder: str) -> list[WorkflowResult]:
    """The results of the workflows of a run; empty if its jobs named none.

    Args:
        folder: the folder of the run.

    Raises:
        InputError: its workflows.json cannot be used.
        OSError: it cannot be read.
    """
    return _json(folder, WORKFLOWS, list[WorkflowResult]) or []


def _json(folder: str, name: str, kind: type[Kind]) -> Kind | None:
    """The values in a file of a run; None if there is no such file."""
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        try:
            return msgspec.json.decode(file.read(), type=kind)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise InputError(f"the file of the run cannot be used: {error}", file=path) from None


def users_in(folder: str) -> dict[str, Any] | None:
    """The user of each job of a run, by its full name; None if users are unknown.

    Args:
        folder: the folder of the run.

    Raises:
        PackageMissing: the jobs are Parquet, and the package for that is missing.
        OSError: they cannot be read.
    """
    parquet, plain = os.path.join(folder, PARQUET), os.path.join(folder, USERS)
    if not os.path.isfile(parquet):
        if not os.path.isfile(plain):
            return None
        with open(plain, "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, Any])
    pyarrow_parquet = _reader(parquet)
    with _undamaged(parquet):
        schema = pyarrow_parquet.read_schema(parquet)
        if _USER not in schema.names:
            return None
        columns = ("workload_name", "job_id", _USER)
        table = pyarrow_parquet.read_table(parquet, columns=list(columns), page_checksum_verification=True)
        _expect_rows(len(table), pyarrow_parquet.read_metadata(parquet).num_rows)
        rows = zip(*(table[name].to_pylist() for name in columns), strict=True)
        return {f"{workload}!{job}": msgspec.json.decode(user) for workload, job, user in rows if user is not None}


def _reader(path: str) -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise PackageMissing(f"{path} needs pyarrow: {installing('tables')}", name=error.name) from None
    return pyarrow.parquet


@contextmanager
def _undamaged(path: str) -> Iterator[None]:
    """Report what pyarrow raises for a damaged file, and what its values raise, as an InputError."""
    try:
        yield
    except (OSError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, InputError) or (isinstance(error, OSError) and error.errno is not None):
            raise
        reason = (str(error).splitlines() or ["it is damaged"])[0].rstrip(".")
        raise InputError(f"its jobs.parquet cannot be read: {reason}", file=path) from None


def _expect_rows(count: int, expected: int) -> None:
    """Refuse a file that has lost rows: pyarrow ends early where the head of a page is damaged."""
    if count != expected:
        raise ValueError(f"it has {count:,} of {expected:,} rows")


def _of_parquet(path: str) -> Iterator[JobRow]:
    reader = _reader(path)
    with _undamaged(path):
        file = reader.ParquetFile(path, page_checksum_verification=True)
        names = set(file.schema_arrow.names) & set(COLUMNS)
        for name, kind in _types(sorted(names)).items():
            if file.schema_arrow.field(name).type != kind:
                raise InputError(f"the column {name} of its jobs.parquet is not of {kind}", file=path)
        count = 0
        for batch in file.iter_batches():
            count += len(batch)
            for row in batch.to_pylist():
                yield _row(row)
        _expect_rows(count, file.metadata.num_rows)


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


_SHOWN: Final = ("mean_waiting_time", "mean_bounded_slowdown", "utilisation", "makespan")
_MOST: Final = 20
"""The maximum number of rows in a notebook."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has ended.

    Args:
        key: its name, a hash of everything that decides its result.
        axes: its value on each axis of its study: scheduler, workload, offered_load, seed...
        state: `done` or `failed`.
        kind: the kind of its failure (`exception`, `rule`, `deadlock`, `stopped`, `time`, `memory`, `died`,
            `scheduler`, `input`, `batsim`), or "".
        error: a sentence on its failure, or "".
        metrics: its results, by the names of `METRICS`, such as `mean_bounded_slowdown`; empty if it failed.
        seconds: the real time that it took.
        folder: the folder of its files: Batsim's results; `traceback.txt` and `recording.tar.xz` if it failed.
        drawn: the parts that its seed draws, of `workload`, `weeks`, `estimates` and `scheduler`.
        is_model: whether its workload is drawn from a model; None if that is unknown.
        hosts: the number of computation hosts; 0 if that is unknown.
        measure: how it was measured.
    """

    key: str
    axes: Mapping[str, Any]
    state: str
    kind: str = ""
    error: str = ""
    metrics: Mapping[str, float] = {}
    seconds: float = 0.0
    folder: str = ""
    drawn: tuple[str, ...] = ()
    is_model: bool | None = None
    hosts: int = 0
    measure: Measure = Measure()

    def jobs(self) -> Iterator[JobRow]:
        """The rows of its jobs. They are read from its files.

        Raises:
            StudyError: it has no jobs.
            PackageMissing: they are in a Parquet file, and `pyarrow` is missing.
            OSError: they cannot be read.
        """
        return jobs_in(self.folder)

    def allocations(self) -> list[Allocated]:
        """The amounts that each started job took of its hosts; empty if its jobs shared no hosts, from its files.

        Raises:
            InputError: its allocations.csv cannot be used.
            OSError: it cannot be read.
        """
        return allocations_in(self.folder)

    def attempts(self) -> list[AttemptReport]:
        """The attempts of its jobs that were interrupted or ran again, from its files; empty without failures.

        Raises:
            InputError: its attempts.csv cannot be used.
            OSError: it cannot be read.
        """
        return failures_in(self.folder)[0]

    def energy_over_time(self) -> list[tuple[float, float]] | None:
        """The times of readings, in seconds, and the joules of all hosts since time 0; None if it was not measured.

        Raises:
            InputError: its consumed_energy.csv cannot be used.
            OSError: it cannot be read.
        """
        path = os.path.join(self.folder, ENERGY)
        return read_energy(path) if os.path.isfile(path) else None

    def electricity(self) -> Electricity:
        """The carbon intensity, the price and the cap that it was measured with, unless their files have changed.

        Raises:
            InputError: a trace cannot be used.
        """
        from batprotocol.studies.sources import known_electricity  # it reads traces

        return known_electricity(self.measure)

    @property
    def own_metrics(self) -> tuple[Metric, ...]:
        """The metrics that files of the study define."""
        return tuple(
            Metric(each.name, each.label, each.definition, each.unit, "", _better(each.better), "own")
            for each in self.measure.own
        )

    @property
    def tau(self) -> float | None:
        """The bound of its bounded slowdowns in seconds, if the study sets it."""
        return self.measure.settings.get("tau")

    @property
    def currency(self) -> str:
        """The currency of its costs; "" if it has no price."""
        return self.measure.currency

    @property
    def traceback(self) -> str:
        """The traceback of a failed run; "" if there is none."""
        path = os.path.join(self.folder, TRACEBACK)
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()

    @property
    def recording(self) -> str | None:
        """The recording of a failed run, for `batproto dump` and `check`; None if there is none."""
        path = os.path.join(self.folder, RECORDING)
        return path if os.path.isfile(path) else None

    def flat(self) -> dict[str, Any]:
        """Its axes, state and metrics, by the names of table columns."""
        return {**self.axes, "state": self.state, **self.metrics}


def _better(text: str | None) -> Literal["less", "more"] | None:
    return "less" if text == "less" else "more" if text == "more" else None


class Rows(Sequence[Row]):
    """Rows of a study, in its order.

    >>> Rows([Row(key="a", axes={"scheduler": "fcfs"}, state="done")]).axes
    {'scheduler': ('fcfs',)}
    """

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> Rows: ...

    def __getitem__(self, place: int | slice) -> Row | Rows:
        return Rows(self._rows[place]) if isinstance(place, slice) else self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The axes, with the values of the rows on each of them, in the order of the rows."""
        found: dict[str, dict[Any, None]] = {}
        for row in self._rows:
            for name, value in row.axes.items():
                found.setdefault(name, {})[value] = None
        return {name: tuple(values) for name, values in found.items()}

    def where(self, **axes: Any) -> Rows:
        """The rows with these values on these axes."""
        return Rows([row for row in self._rows if all(row.axes.get(name) == value for name, value in axes.items())])

    def measured_as(self, found: Mapping[tuple[str, str], Mapping[str, float]]) -> Rows:
        """The same rows with other metrics.

        Args:
            found: the metrics, by the keys of runs and measures. Rows that are not in it stay as they are.
        """
        return Rows(
            [
                msgspec.structs.replace(row, metrics=found.get((row.key, row.measure.key), row.metrics))
                for row in self._rows
            ]
        )

    @property
    def done(self) -> Rows:
        """The rows of the runs that did not fail."""
        return Rows([row for row in self._rows if row.state == DONE])

    @property
    def failed(self) -> Rows:
        """The rows of the runs that failed."""
        return Rows([row for row in self._rows if row.state != DONE])

    def columns(self) -> dict[str, list[Any]]:
        """Axes, states and metrics as columns. A row without a value has None there."""
        flat = [row.flat() for row in self._rows]
        names = dict.fromkeys(name for each in flat for name in each)
        return {name: [each.get(name) for each in flat] for name in names}

    def to_pandas(self) -> pandas.DataFrame:
        """A `pandas.DataFrame`, a row for each run.

        Raises:
            PackageMissing: `pandas` is missing.
        """
        return pandas_frame(self.columns(), {})

    def to_polars(self) -> polars.DataFrame:
        """A `polars.DataFrame`, a row for each run.

        Raises:
            PackageMissing: `polars` is missing.
        """
        return polars_frame(self.columns(), {})

    def to_arrow(self) -> pyarrow.Table:
        """A `pyarrow.Table`, a row for each run.

        Raises:
            PackageMissing: `pyarrow` is missing.
        """
        return arrow_table(self.columns(), {})

    def _repr_html_(self) -> str:
        """The first rows, with the axes in which they differ, and the most used metrics."""
        from batprotocol._util.grids import Grid, GridEntry, as_html

        axes = [name for name, values in self.axes.items() if len(values) > 1]
        shown = [name for name in _SHOWN if any(name in row.metrics for row in self._rows)]
        rows = [
            [
                *(GridEntry(str(row.axes.get(name, ""))) for name in axes),
                GridEntry(row.state),
                *(GridEntry(f"{row.metrics[name]:.4g}" if name in row.metrics else "") for name in shown),
            ]
            for row in self._rows[:_MOST]
        ]
        more = f"{len(self) - _MOST:,} more" if len(self) > _MOST else ""
        return as_html(Grid([*axes, "state", *shown], rows, more, texts=len(axes) + 1))

    def __repr__(self) -> str:
        failed = len(self.failed)
        return f"<{len(self)} runs{f', {failed} of them failed' if failed else ''}>"
