"""The results of runs: a row for each run, and several rows as tables of other libraries."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import msgspec

from batprotocol.results import Electricity, JobRow, Metric, read_energy
from batprotocol.results.files import arrow_table, pandas_frame, polars_frame
from batprotocol.results.reports import ENERGY
from batprotocol.studies.runs import DONE, RECORDING, TRACEBACK, Measure
from batprotocol.studies.store.jobs import allocations_in, failures_in, jobs_in
from batprotocol.workloads.requests import Allocated, Attempt

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Row", "Rows"]

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

    def attempts(self) -> list[Attempt]:
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
        from batprotocol.studies.traces import known_electricity  # it reads traces

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
        from batprotocol._util.grids import Entry, Grid, as_html

        axes = [name for name, values in self.axes.items() if len(values) > 1]
        shown = [name for name in _SHOWN if any(name in row.metrics for row in self._rows)]
        rows = [
            [
                *(Entry(str(row.axes.get(name, ""))) for name in axes),
                Entry(row.state),
                *(Entry(f"{row.metrics[name]:.4g}" if name in row.metrics else "") for name in shown),
            ]
            for row in self._rows[:_MOST]
        ]
        more = f"{len(self) - _MOST:,} more" if len(self) > _MOST else ""
        return as_html(Grid([*axes, "state", *shown], rows, more, texts=len(axes) + 1))

    def __repr__(self) -> str:
        failed = len(self.failed)
        return f"<{len(self)} runs{f', {failed} of them failed' if failed else ''}>"
