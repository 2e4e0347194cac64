"""Batsim's result files: the same names, columns and number formats, written while the simulation runs, and read.

The rows of jobs can also be tables of pandas, polars and Arrow, which are imported when they are needed. Unknown values
have the form of these libraries, instead of -1 or "".
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from io import FileIO
from typing import TYPE_CHECKING, Any, Final, Literal

from batprotocol._util.files import naming
from batprotocol._util.requirements import installing
from batprotocol._util.tables import NAMES, TableRows, names_text, plain_names
from batprotocol.errors import InputError, PackageMissing, shown
from batprotocol.model import FinalJobState
from batprotocol.results.arithmetic import SHORTEST, Times, times
from batprotocol.results.observers import EnergyRow, JobRow, MachineStatesRow, Observer, PStateRow, Statistics, Totals

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = [
    "COLUMNS",
    "JOB_COLUMNS",
    "JOB_KINDS",
    "Kind",
    "ResultFiles",
    "arrow_table",
    "job_columns",
    "pandas_frame",
    "parse_energy",
    "parse_jobs",
    "polars_frame",
    "read_energy",
    "read_jobs",
    "write_real_execution",
]


_JOBS: Final = (
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,"
    "starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,"
    "consumed_energy,metadata"
)
COLUMNS: Final = tuple(_JOBS.split(","))
"""The columns of jobs.csv."""
_OTHERS: Final = len(COLUMNS) - len(NAMES)
_MACHINE_STATES: Final = "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing"
_PSTATE_CHANGES: Final = "time,machine_id,new_pstate"
_CONSUMED_ENERGY: Final = "time,energy,event_type,wattmin,epower"
_HOSTS: Final = re.compile(r"(?:[0-9]{1,10}(?:-[0-9]{1,10})?(?: |$))*")
_STATES: Final = {state: state.name for state in FinalJobState}
_SUCCESS: Final = FinalJobState.COMPLETED_SUCCESSFULLY
_BUFFER: Final = 1 << 16
# In C, a format is filled faster than an f-string.
_JOB_LINE: Final = "%s,%f,%s,%f,%d,%s,%f,%f,%f,%f,%f,%f,%s,%s,"
_REJECTED_LINE: Final = "%s,%f,%s,%f,%d,%s,,,,,,,,,"
_NOT_MEASURED: Final = "-1.000000"
_STATES_LINE: Final = "%g,%d,%d,%d,%d,%d"

try:
    from batprotocol.results._lines import fill as _fill
except ImportError:  # it was not compiled, or this is not the main interpreter

    def _fill(format: str, values: tuple[Any, ...], /) -> str:
        return format % values


class _ResultTable:
    """A file of lines. It is only open while lines are written, so it can be pickled, and continues where it was.

    Args:
        path: its path.
        header: its first line.
        later: whether it is made when it becomes long, or is flushed.
    """

    def __init__(self, path: str, header: str, *, later: bool = False) -> None:
        self.path = path
        self._lines: list[str] = [header]
        self._waiting = 0  # characters
        self._written = 0
        self.is_made = False
        if not later:
            self.flush()

    def add(self, line: str) -> None:
        self._lines.append(line)
        self._waiting += len(line)
        if self._waiting >= _BUFFER:
            self.flush()

    def flush(self, *, finish: bool = False) -> None:
        if not self._lines and not finish:
            return
        with naming(self.path), open(self.path, "r+b" if self.is_made else "wb", buffering=0) as file:
            self.is_made = True
            file.truncate(self._written)  # lines that another copy has written since
            file.seek(self._written)
            text = self.take()
            self._write(file, text)

    def take(self) -> bytes:
        """The lines that were not written yet, which are forgotten."""
        self._lines.append("")
        text = "\n".join(self._lines).encode()
        self._lines.clear()
        self._waiting = 0
        return text

    def _write(self, file: FileIO, lines: bytes) -> None:
        """Write these lines. If the disk is full, write as many as possible."""
        done = 0
        try:
            while done < len(lines):
                done += file.write(lines[done:])
        except OSError:
            done = lines.rfind(b"\n", 0, done) + 1
            file.truncate(self._written + done)
            raise
        finally:
            self._written += done


class ResultFiles(Observer):
    """An observer that writes Batsim's result files.

    A copy of it, or an unpickled one, continues where the original was at the time of the copy, and overwrites later
    lines of the original. So continue with only one of several copies.

    Args:
        prefix: a prefix for the names of the files (`out/`); missing directories are created.
        energy: whether to write consumed_energy.csv.
        machine_states: whether to write machine_states.csv.
        pstate_changes: whether to write pstate_changes.csv.
        statistics: the statistics for schedule.json. They must observe jobs before the files do; None: its own.
        later: whether files are written only when they become long, or are flushed. By default, they are written at
            once.

    Attributes:
        kept: at the end of a simulation, the contents of the files that were not written, by name, without the prefix.

    Raises:
        OSError: a file cannot be written.
    """

    def __init__(
        self,
        prefix: str,
        *,
        energy: bool = False,
        machine_states: bool = True,
        pstate_changes: bool = True,
        statistics: Statistics | None = None,
        later: bool = False,
    ) -> None:
        self.prefix = prefix
        folder = os.path.dirname(prefix)
        if folder:
            os.makedirs(folder, exist_ok=True)
        self._statistics = statistics or Statistics()
        self._owns_statistics = statistics is None
        self._later = later
        self.kept: dict[str, bytes] = {}
        made = partial(_ResultTable, later=later)
        self._jobs = made(f"{prefix}jobs.csv", _JOBS)
        self._machine_states = made(f"{prefix}machine_states.csv", _MACHINE_STATES) if machine_states else None
        self._pstate_changes = made(f"{prefix}pstate_changes.csv", _PSTATE_CHANGES) if pstate_changes else None
        self._energy = made(f"{prefix}consumed_energy.csv", _CONSUMED_ENERGY) if energy else None

    def follow(self, statistics: Statistics) -> None:
        """Take the numbers of schedule.json from these statistics, unless the files were given others.

        Args:
            statistics: statistics that observe each job before the files do. Nothing was observed yet.
        """
        if self._owns_statistics:
            self._statistics, self._owns_statistics = statistics, False

    @property
    def _tables(self) -> Iterable[_ResultTable]:
        tables = (self._jobs, self._machine_states, self._pstate_changes, self._energy)
        return [table for table in tables if table is not None]

    def job_ended(self, row: JobRow) -> None:
        self.job_timed(row, row.times)

    def job_timed(self, row: JobRow, found: Times | None) -> None:
        """The same for a row whose times are known: `row.times`."""
        if self._owns_statistics:
            self._statistics.job_timed(row, found)
        self._jobs.add(job_line(row, found))

    def machine_states(self, row: MachineStatesRow) -> None:
        if self._machine_states is not None:
            self._machine_states.add(_fill(_STATES_LINE, row))

    def pstates_changed(self, row: PStateRow) -> None:
        if self._pstate_changes is not None:
            self._pstate_changes.add(f"{row.time:g},{row.machine_id},{row.new_pstate}")

    def energy_read(self, row: EnergyRow) -> None:
        if self._energy is not None:
            power = "NA" if row.epower is None else f"{row.epower:f}"
            self._energy.add(f"{row.time:f},{row.energy:f},{row.event_type},{row.wattmin:f},{power}")

    def ended(self, totals: Totals) -> None:
        if self._owns_statistics:
            self._statistics.ended(totals)
        schedule = self._statistics.schedule() if totals.complete else None
        if self._later:
            kept = {table.path.removeprefix(self.prefix): table for table in self._tables if not table.is_made}
            self.kept = {name: table.take() for name, table in kept.items()}
            if schedule is not None:
                self.kept["schedule.json"] = schedule_text(schedule).encode()
        elif schedule is not None:
            _write_json(f"{self.prefix}schedule.json", schedule)
        self._flush(finish=True)

    def flush(self) -> None:
        """Bring the files up to date."""
        self._flush(finish=False)

    def _flush(self, *, finish: bool) -> None:
        """Flush all files. An error of one file does not affect the others."""
        with ExitStack() as stack:
            for table in self._tables:
                stack.callback(table.flush, finish=finish and table.is_made)


def job_line(row: JobRow, found: Times | None = None) -> str:
    """The line of a job in jobs.csv, without its end.

    Args:
        row: the job.
        found: its times, if they are known: `row.times`.

    Raises:
        InputError: its names cannot be written so that they are read back.
    """
    walltime = -1.0 if row.requested_time is None else row.requested_time
    try:
        names = names_text(row.job_id, row.workload_name, row.profile, _OTHERS)
    except ValueError as error:
        raise InputError(f"{error}, got {shown(row.job_id)}", "jobs.csv") from None
    state = row.final_state
    head = names, row.submission_time, row.requested_number_of_resources, walltime, state is _SUCCESS, _STATES[state]
    start, runtime = row.starting_time, row.execution_time
    if start is None or runtime is None:
        return _fill(_REJECTED_LINE, head)
    finish, waiting, turnaround, stretch = found or times(row.submission_time, start, runtime, row.execution_time_rest)
    consumed = row.consumed_energy
    energy = "" if consumed is None else _NOT_MEASURED if consumed == -1.0 else f"{consumed:f}"
    ran = start, runtime or SHORTEST, finish[0], waiting[0], turnaround[0], stretch[0], row.allocated_resources, energy
    return _fill(_JOB_LINE, head + ran)


def expect_plain_names(job_id: str, profile: str) -> None:
    """Refuse a job whose names could not be read from a jobs.csv of Batsim, which writes them as they are.

    Args:
        job_id: its full name, `w0!1`.
        profile: the full name of its profile.

    Raises:
        InputError: the names would be read as other names.
    """
    workload, _, own = job_id.partition("!")
    if plain_names(own, workload, profile, _OTHERS) is None:
        raise InputError(
            "Batsim writes names into jobs.csv without quotation marks, and those of the job would be read as other "
            f"names: use an id without line ends, commas and quotation marks, got {shown(own)}"
        )


def jobs_text(rows: Iterable[JobRow]) -> str:
    """The text of jobs.csv."""
    return "".join([f"{_JOBS}\n", *(f"{job_line(row)}\n" for row in rows)])


def schedule_text(schedule: dict[str, str | int | float]) -> str:
    """The text of schedule.json."""
    lines = (f"  {json.dumps(key)}: {_number(value)}" for key, value in sorted(schedule.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _write_json(path: str, found: dict[str, str | int | float]) -> None:
    with naming(path), open(path, "w", encoding="utf-8") as file:
        file.write(schedule_text(found))


def _number(value: str | float) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    return "-nan" if value != value else f"{value:f}"


def write_real_execution(prefix: str, *, edc_seconds: float, simulation_seconds: float) -> None:
    """Write real_exec_info.json: the real time and memory of the simulation. The file differs in every run.

    Args:
        prefix: a prefix for the file's name.
        edc_seconds: the real time that the decision component took for its replies, in seconds.
        simulation_seconds: the real time of the whole simulation, in seconds.
    """
    memory = {"VmHWM": 0, "VmPeak": 0}
    try:
        with open("/proc/self/status", encoding="utf-8") as status:
            for line in status:
                key, _, rest = line.partition(":")
                if key in memory:
                    memory[key] = int(rest.split()[0])
    except OSError:
        pass  # not known on this system
    found: dict[str, str | int | float] = {
        "memory_VmHWM_kB": memory["VmHWM"],
        "memory_VmPeak_kB": memory["VmPeak"],
        "time_in_edc_seconds": edc_seconds,
        "time_in_simu_seconds": simulation_seconds,
    }
    _write_json(f"{prefix}real_exec_info.json", found)


def read_jobs(path: str | os.PathLike[str]) -> Iterator[JobRow]:
    """Read the rows of a jobs.csv, one after the other, with its six decimals.

    Raises:
        OSError: the file cannot be read.
        InputError: the file is not a jobs.csv; the error names the line.
    """
    with open(path, encoding="utf-8", newline="") as file:
        yield from parse_jobs(file, os.fspath(path))


def parse_jobs(lines: Iterable[str], name: str) -> Iterator[JobRow]:
    """Read the rows of the text of a jobs.csv, see `read_jobs`.

    Args:
        lines: its lines, with their ends.
        name: its name in error messages.

    Raises:
        InputError: it is not a jobs.csv; the error names the line.
    """
    rows = None
    try:
        rows = TableRows(lines)
        lacks = [column for column in COLUMNS if column not in rows.columns]
        if lacks:
            raise InputError(f"it is not a jobs.csv: columns are missing, such as {lacks[0]}", file=name)
        for row in rows:
            yield _job(row)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        cut = isinstance(error, KeyError) and error.args[0] in COLUMNS
        text = "it is not text in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        reason = "the line is cut short" if cut else text
        raise InputError(f"it is not a jobs.csv: {reason}", file=name, line=rows.number if rows else None) from None


def read_energy(path: str | os.PathLike[str]) -> list[tuple[float, float]]:
    """Read a consumed_energy.csv: times in seconds, and the joules of all hosts since time 0, with six decimals.

    Raises:
        OSError: the file cannot be read.
        InputError: the file is not a consumed_energy.csv; the error names the line.
    """
    with open(path, encoding="utf-8", newline="") as file:
        return parse_energy(file, os.fspath(path))


def parse_energy(lines: Iterable[str], name: str) -> list[tuple[float, float]]:
    """Read the text of a consumed_energy.csv, see `read_energy`.

    Args:
        lines: its lines, with their ends.
        name: its name in error messages.

    Raises:
        InputError: it is not a consumed_energy.csv; the error names the line.
    """
    import csv

    found: list[tuple[float, float]] = []
    rows = csv.reader(lines)
    try:
        if next(rows, [])[:2] != _CONSUMED_ENERGY.split(",")[:2]:
            raise InputError("it is not a consumed_energy.csv: it does not begin with time,energy", file=name)
        for row in rows:
            point = float(row[0]), float(row[1])
            if not all(map(math.isfinite, point)) or (found and point[0] < found[-1][0]):
                raise ValueError(f"expected a time that is not before the last one, and joules, got {shown(row)}")
            found.append(point)
    except InputError:
        raise
    except (ValueError, IndexError, csv.Error) as error:
        reason = f"it is not a consumed_energy.csv: {error}"
        raise InputError(reason, file=name, line=rows.line_num or None) from None
    return found


def _job(row: dict[str, str]) -> JobRow:
    ran = row["starting_time"] != ""
    walltime = float(row["requested_time"])
    if not _HOSTS.fullmatch(row["allocated_resources"]):
        raise ValueError(f"expected hosts, got {shown(row['allocated_resources'])}")
    return JobRow(
        job_id=row["job_id"],
        workload_name=row["workload_name"],
        profile=row["profile"],
        submission_time=float(row["submission_time"]),
        requested_number_of_resources=int(row["requested_number_of_resources"]),
        requested_time=None if walltime < 0 else walltime,
        final_state=FinalJobState[row["final_state"]],
        starting_time=float(row["starting_time"]) if ran else None,
        execution_time=float(row["execution_time"]) if ran else None,
        allocated_resources=row["allocated_resources"],
        consumed_energy=float(row["consumed_energy"]) if row["consumed_energy"] else None,
    )


# Tables of other libraries


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
