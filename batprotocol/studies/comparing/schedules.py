"""What a simulation left behind, read again: a folder of result files, a jobs.csv, or a recording."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from batprotocol.capture import Capture
from batprotocol.capture.kinds import JOBS, jobs_file
from batprotocol.capture.timeline.tables import read_table
from batprotocol.errors import InputError
from batprotocol.simulator import TAU, JobRow, Metrics, measured, read_jobs
from batprotocol.simulator.results.files import COLUMNS, parse_jobs
from batprotocol.studies.comparing.told import ToldRows, of_messages, of_table

__all__ = ["TOLD_TOLERANCE", "Schedule", "read_schedule", "schedule_in", "schedule_of"]

TOLD_TOLERANCE: Final = 0.01
"""Seconds: how far times that messages tell may be from those in jobs.csv, twice what was measured on recorded runs."""
_TOTALS: Final = "schedule.json"


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The schedule that a simulation came to: its jobs, and the machine that they ran on.

    Args:
        name: what it is called in comparisons.
        jobs: the rows of its jobs.
        hosts: how many hosts there were, > 0.
        consumed_joules: the energy of all hosts; None where it is not known.
        users: who submitted each job, by its full name, where that is known.
        is_told: whether its times are those of messages, and not Batsim's own.
        remarks: what is to be known of it, as parts of sentences, such as what is missing.
    """

    name: str
    jobs: tuple[JobRow, ...]
    hosts: int
    consumed_joules: float | None = None
    users: Mapping[str, object] | None = None
    is_told: bool = False
    remarks: tuple[str, ...] = ()

    def metrics(self, tau: float = TAU) -> Metrics:
        """What it came to, in the metrics of the field.

        Raises:
            InputError: tau is not > 0, or there are no hosts.
        """
        return measured(self.jobs, self.hosts, tau=tau, users=self.users, consumed_joules=self.consumed_joules)


def read_schedule(path: str | os.PathLike[str], *, name: str | None = None, hosts: int | None = None) -> Schedule:
    """The schedule in a folder of result files, of a jobs.csv, or of a recording.

    Of a table, the schedule.json beside it tells of the machine. A table of somebody else needs the columns job_id,
    submission_time, starting_time, finish_time and allocated_resources. Of a recording, see `schedule_in`.

    Args:
        path: the folder, or the file, of which the name may have a prefix (`out_jobs.csv`).
        name: what it is called; None: as the path.
        hosts: how many hosts there were; None: as schedule.json or the recording tells, else as many as were ever used.

    Raises:
        InputError: the file is no jobs.csv, or schedule.json is none.
        CaptureError: it holds no run.
        OSError: a file cannot be read.
    """
    given = os.fspath(path)
    called = given if name is None else name
    file = jobs_file(given)
    if file is None:
        with Capture(given) as run:
            return schedule_in(run, name=called, hosts=hosts)
    folder, last = os.path.split(file)
    beside = os.path.join(folder, last.removesuffix(JOBS) + _TOTALS) if last.endswith(JOBS) else ""
    if _is_batsims(file):
        return schedule_of(read_jobs(file), beside, name=called, hosts=hosts)
    rows = of_table(read_table(Path(file)))
    found = schedule_of(rows.jobs, beside, name=called, hosts=hosts)
    return msgspec.structs.replace(found, users=rows.users, remarks=_remarks(rows))


def schedule_in(run: Capture, *, name: str | None = None, hosts: int | None = None) -> Schedule:
    """The schedule of a recording: the jobs.csv that was kept with it, else what its messages tell of jobs.

    What messages tell of starts and ends are the times of the messages. Batsim's own are some milliseconds from these.

    Args:
        run: the recording.
        name: what it is called; None: as the file.
        hosts: see `read_schedule`.

    Raises:
        InputError: a time is no finite number.
        OSError: it cannot be read.
    """
    called = run.path if name is None else name
    files = dict(run.attachments())
    if JOBS in files:
        try:
            text = io.TextIOWrapper(io.BytesIO(files[JOBS]), encoding="utf-8", newline="")
            jobs = tuple(parse_jobs(text, JOBS))
            machine = _numbers(files.get(_TOTALS, b"{}").decode("utf-8", "replace"), _TOTALS)
        except InputError:
            pass  # another Batsim's, or broken: the messages are whole
        else:
            return _schedule(jobs, machine, called, hosts)
    rows = of_messages(run)
    found = _schedule(rows.jobs, {"nb_computing_machines": rows.hosts}, called, hosts)
    missing = (run.missing[:1].lower() + run.missing[1:].rstrip("."),) if run.missing else ()
    told = "its jobs are as its messages tell: starts and ends are some milliseconds from those in jobs.csv"
    return msgspec.structs.replace(found, is_told=True, remarks=(*missing, told, *_remarks(rows)))


def schedule_of(rows: Iterable[JobRow], totals: str, *, name: str, hosts: int | None = None) -> Schedule:
    """The schedule of these rows of jobs.

    Args:
        rows: the rows.
        totals: the schedule.json that belongs to them, if there is one.
        name: what it is called.
        hosts: see `read_schedule`.

    Raises:
        InputError: schedule.json is none, or a time is no finite number.
        OSError: a file cannot be read.
    """
    return _schedule(tuple(rows), _totals(totals) if os.path.exists(totals) else {}, name, hosts)


def _schedule(jobs: tuple[JobRow, ...], machine: Mapping[str, float], name: str, hosts: int | None) -> Schedule:
    for job in jobs:
        if not math.isfinite(job.submission_time + (job.finish_time or 0.0)):
            reason = "the times of a job are finite numbers, and some of this one are none"
            raise InputError(reason, f"{job.workload_name}!{job.job_id}", file=name)
    size = hosts or int(machine.get("nb_computing_machines", 0)) or _used(jobs)
    return Schedule(name=name, jobs=jobs, hosts=size, consumed_joules=machine.get("consumed_joules") or None)


def _is_batsims(file: str) -> bool:
    """Whether a table has all columns of Batsim's jobs.csv."""
    with open(file, encoding="utf-8", errors="replace", newline="") as opened:
        first = opened.readline()
    columns = first.rstrip("\r\n").split(",")
    return set(columns) >= set(COLUMNS)


def _remarks(rows: ToldRows) -> tuple[str, ...]:
    if not rows.left_out:
        return ()
    which = "1 job is" if rows.left_out == 1 else f"{rows.left_out:,} jobs are"
    return (f"{which} left out, of which no submission, start or end is told",)


def _totals(path: str) -> dict[str, float]:
    """The numbers of a schedule.json; those that are NaN are not in it."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return _numbers(file.read(), path)


def _numbers(text: str, path: str) -> dict[str, float]:
    try:
        told = json.loads(text.replace("-nan", "null"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"it is no schedule.json: {error}", file=path) from None
    if not isinstance(told, dict):
        raise InputError("it is no schedule.json: it holds no object", file=path)
    return {key: value for key, value in told.items() if isinstance(value, int | float) and 0 <= value < math.inf}


def _used(jobs: Iterable[JobRow]) -> int:
    """How many hosts there must have been: up to the last one that was used."""
    last = [part.rpartition("-")[2] for job in jobs for part in job.allocated_resources.split()]
    return max(map(int, last), default=0) + 1
