"""Make a timeline of Batsim's result files: jobs.csv, and the files beside it.

Only those columns of jobs.csv are needed that say when and where each job ran. So tables of other versions of Batsim
and of other simulators can be read, too. This module must not know how a timeline is drawn.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from batprotocol._util.tables import Rows
from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.recordings.kinds import JOBS
from batprotocol.recordings.timeline.absences import Absences
from batprotocol.recordings.timeline.switches import Power, Switches
from batprotocol.recordings.timeline.values import OffDuty, Series, TimelineData, TimelineJob, intervals_of

__all__ = ["read_table", "read_tables"]

_NEEDED: Final = ("job_id", "submission_time", "starting_time", "allocated_resources")
_HOST_EVENTS: Final = "host_events.jsonl"
_SWITCHING: Final = {"-1": Power.SWITCHING_ON, "-2": Power.SWITCHING_OFF}


def read_tables(
    path: str | os.PathLike[str], name: str = "", jobs: Iterable[TimelineJob] | None = None
) -> TimelineData:
    """The timeline of a jobs.csv, with the files beside it that Batsim writes with the same beginning of their names.

    Args:
        path: the jobs.csv.
        name: the name of the run; by default, the name of its folder.
        jobs: its jobs, if they are stored elsewhere and the file does not exist.

    Raises:
        InputError: one of the files is invalid.
        OSError: one of the files cannot be read.
    """
    file = Path(path)
    rows = list(read_table(file) if jobs is None else jobs)
    prefix = file.name.removesuffix(JOBS) if file.name.endswith(JOBS) else None

    def beside(what: str) -> Path | None:
        found = None if prefix is None else file.with_name(f"{prefix}{what}.csv")
        return found if found is not None and found.is_file() else None

    end = max((job.finished for job in rows if job.finished is not None), default=0.0)
    states, energy, pstates = beside("machine_states"), beside("consumed_energy"), beside("pstate_changes")
    series: list[Series] = []
    hosts = None
    if states is not None:
        hosts = _host_count(states)
    if energy is not None:
        series.append(_power(energy))
    off_duty = [] if pstates is None else _off_duty(pstates, end)
    events = None if prefix is None else file.with_name(f"{prefix}{_HOST_EVENTS}")
    if events is not None and events.is_file():
        off_duty = [*_absences(events, end), *off_duty]
    allocations = beside("allocations")
    if allocations is not None:
        taken = _shares(allocations)
        rows = [msgspec.structs.replace(job, share=taken.get(job.job_id)) for job in rows]
    called = name or (file.resolve().parent.name if file.name == JOBS else file.stem)
    try:
        return TimelineData(called, rows, hosts=hosts, series=series, off_duty=off_duty)
    except InputError as error:
        raise InputError(error.reason, error.path, file=os.fspath(file)) from None


def _rows(file: Path, needed: Sequence[str], what: str = "such a table") -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table, each with the number of its line."""
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            rows = Rows(opened)
            lacks = [column for column in needed if column not in rows.columns]
            if lacks:
                raise InputError(f"it has no column {lacks[0]}, which {what} has", file=os.fspath(file), line=1)
            for row in rows:
                if len(row) < len(rows.columns):
                    reason = "the line is cut short: it has fewer columns than the first one"
                    raise InputError(reason, file=os.fspath(file), line=rows.number)
                yield rows.number, row
    except InputError:
        raise
    except UnicodeDecodeError:
        raise InputError("it is not a table: it is not a text in UTF-8", file=os.fspath(file)) from None
    except ValueError as error:
        raise InputError(f"it is not a table: {error}", file=os.fspath(file)) from None


def _number(row: dict[str, str], column: str, file: Path, line: int) -> float | None:
    text = row.get(column, "")
    if text in ("", "NA"):
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"expected a number, got {text[:40]!r}", column, file=os.fspath(file), line=line) from None


def read_table(file: Path) -> Iterator[TimelineJob]:
    """The jobs of a jobs.csv, or of another table that has its most important columns.

    Raises:
        InputError: it is not such a table; the error names the line.
        OSError: it cannot be read.
    """
    for line, row in _rows(file, _NEEDED, "a table of jobs"):
        started = _number(row, "starting_time", file, line)
        finished = _number(row, "finish_time", file, line)
        if finished is None and started is not None:
            ran = _number(row, "execution_time", file, line)
            finished = None if ran is None else started + ran
        walltime = _number(row, "requested_time", file, line)
        requested = _number(row, "requested_number_of_resources", file, line)
        own, workload = row["job_id"], row.get("workload_name", "")
        try:
            hosts = intervals_of(row["allocated_resources"], "allocated_resources")
        except InputError as error:
            raise InputError(error.reason, error.path, file=os.fspath(file), line=line) from None
        state = row.get("final_state", "")
        yield TimelineJob(
            job_id=f"{workload}!{own}" if workload and not own.startswith(f"{workload}!") else own,
            submitted=_number(row, "submission_time", file, line),
            started=started,
            finished=finished,
            hosts=hosts,
            state=FinalJobState[state] if state in FinalJobState.__members__ else None,
            requested=int(requested) if requested is not None and 0 <= requested < 2**32 else 0,
            walltime=walltime if walltime is not None and walltime >= 0 else None,
            profile=row.get("profile", ""),
            user=row.get("user", ""),
        )


def _shares(file: Path) -> dict[str, float]:
    """The share of its hosts that each job has, from allocations.csv; none, if an older version wrote it."""
    found: dict[str, float] = {}
    for line, row in _rows(file, ("job_id", "hosts", "whole"), "a table of allocations"):
        held = _number(row, "held", file, line)
        if held is None or row["whole"] == "1":
            continue
        try:
            count = sum(last - first + 1 for first, last in intervals_of(row["hosts"], "hosts"))
        except InputError as error:
            raise InputError(error.reason, error.path, file=os.fspath(file), line=line) from None
        if count and 0 < held < count:
            found[row["job_id"]] = held / count
    return found


def _host_count(file: Path) -> int | None:
    """The number of hosts: the counts in each row of machine_states.csv add up to it."""
    for line, row in _rows(file, ("time", "nb_idle", "nb_computing")):
        counts = [_number(row, column, file, line) for column in row if column.startswith("nb_")]
        return int(sum(count or 0.0 for count in counts))
    return None


def _power(file: Path) -> Series:
    """The power of all hosts in watts. A row of the file has the mean since the row before it."""
    times, values = array("d"), array("d")
    last = None
    for line, row in _rows(file, ("time", "epower")):
        time, power = _number(row, "time", file, line), _number(row, "epower", file, line)
        if time is None:
            continue
        is_new = not values or values[-1] != power
        if power is not None and last is not None and time > last and is_new:
            times.append(last)
            values.append(power)
        last = time
    return Series("power", "power", times, values, unit="W", lane="power")


class _Event(msgspec.Struct):
    """A line of a file of external events."""

    timestamp: float
    data: str


def _absences(file: Path, end: float) -> list[OffDuty]:
    """When hosts were down, drained or promised, from host_events.jsonl."""
    absences = Absences()
    with open(file, "rb") as opened:
        for number, line in enumerate(opened, 1):
            try:
                event = msgspec.json.decode(line, type=_Event)
            except (msgspec.DecodeError, UnicodeError) as error:
                raise InputError(f"it is not an external event: {error}", file=os.fspath(file), line=number) from None
            absences.read(event.timestamp, event.data)
    return absences.finish(end)


def _off_duty(file: Path, end: float) -> list[OffDuty]:
    """When hosts switched off, were off and switched on again, from pstate_changes.csv."""
    switches = Switches()
    for line, row in _rows(file, ("time", "machine_id", "new_pstate")):
        time = _number(row, "time", file, line) or 0.0
        try:
            intervals = intervals_of(row["machine_id"], "machine_id")
        except InputError as error:
            raise InputError(error.reason, error.path, file=os.fspath(file), line=line) from None
        if row["new_pstate"] in _SWITCHING:
            switches.change(time, intervals, _SWITCHING[row["new_pstate"]])
        elif intervals:
            went_off = switches.power(intervals[0][0]) is Power.SWITCHING_OFF
            switches.change(time, intervals, Power.OFF if went_off else Power.ON)
    return switches.finish(end)
