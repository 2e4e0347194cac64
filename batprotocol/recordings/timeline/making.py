"""Make a timeline of any source: rows of jobs, results, files.

Rows of any type are accepted if they have the attributes: those of a simulation's `Result`, those of a capture, and
your own. This module must not know which code makes them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.recordings.captures import Capture
from batprotocol.recordings.kinds import JOBS, jobs_file
from batprotocol.recordings.timeline.absences import absences_of
from batprotocol.recordings.timeline.conversations import Describe, read_conversation
from batprotocol.recordings.timeline.electricity import add_electricity, power_series
from batprotocol.recordings.timeline.messages import MOST_TEXTS
from batprotocol.recordings.timeline.tables import read_tables
from batprotocol.recordings.timeline.timelines import Timeline
from batprotocol.recordings.timeline.values import TimelineData, TimelineJob, intervals_of
from batprotocol.workloads.electricity import Trace

__all__ = ["JobRow", "WithJobs", "timeline"]


class JobRow(Protocol):
    """A row about a job, with the names of Batsim's jobs.csv. `batprotocol.simulator.JobRow` is one."""

    @property
    def job_id(self) -> str: ...

    @property
    def submission_time(self) -> float: ...

    @property
    def starting_time(self) -> float | None: ...

    @property
    def finish_time(self) -> float | None: ...

    @property
    def allocated_resources(self) -> str: ...

    @property
    def final_state(self) -> FinalJobState: ...


@runtime_checkable
class WithJobs(Protocol):
    """An object with rows of jobs, such as the `Result` of a simulation.

    It may have `host_count`, `host_events`, `energy_over_time` and `electricity`.
    """

    @property
    def jobs(self) -> Iterable[JobRow]: ...


def timeline(
    source: str | os.PathLike[str] | Capture | WithJobs | Iterable[JobRow],
    *,
    name: str = "",
    users: Mapping[str, object] | None = None,
    messages: int | None = MOST_TEXTS,
    describe: Describe | None = None,
    beside: str | os.PathLike[str] | None = None,
    carbon: Trace | None = None,
    price: Trace | None = None,
    cap: Trace | float | None = None,
) -> Timeline:
    """The timeline of a run: jobs on hosts over time, jobs that wait, free hosts, power, probes, messages.

    Args:
        source: a `Capture`, or its file; the `Result` of a simulation; rows of jobs; a jobs.csv of Batsim, or its
            folder.
        name: the name of the run; by default, the name of its file.
        users: the user of each job, by the full name of the job, such as `workload.users()`. Jobs can be coloured by
            their users. In a capture, the extra data of a job may name its user (`"user"` of an object in JSON).
        messages: the page keeps the texts of the first messages, up to this number; None: of all.
        describe: makes the text that the page shows for a message; by default, its JSON.
        beside: with rows of jobs: a folder with the other result files of Batsim, which are drawn, too.
        carbon: the carbon intensity over time, to be drawn; None: that of a `Result`, if it knows one.
        price: the price over time, as `carbon`.
        cap: the watts that are allowed, as `carbon`; they are drawn with the power.

    Raises:
        CaptureError: the file holds neither messages nor a table of jobs.
        InputError: the source is none of these, or it contains an invalid value.
        OSError: a file cannot be read.

    >>> timeline(result).save("run.html")  # doctest: +SKIP
    >>> (timeline("fcfs.tar.xz") + timeline("easy.tar.xz")).save("both.html")  # doctest: +SKIP
    """
    if isinstance(source, str | os.PathLike):
        table = jobs_file(source)
        if table is not None:
            data = read_tables(table, name)
        else:
            with Capture(source) as capture:
                data = _of_capture(capture, name, messages, describe)
    elif isinstance(source, Capture):
        data = _of_capture(source, name, messages, describe)
    elif isinstance(source, WithJobs):
        hosts = getattr(source, "host_count", None)
        shares = {each.job_id: each.share for each in getattr(source, "allocations", ())}
        jobs = [msgspec.structs.replace(job, share=shares.get(job.job_id)) for job in map(_job, source.jobs)]
        end = max((job.finished for job in jobs if job.finished is not None), default=0.0)
        away = absences_of(getattr(source, "host_events", ()), end)
        energy, known = getattr(source, "energy_over_time", None), getattr(source, "electricity", None)
        series = [power_series(energy)] if energy else []
        data = TimelineData(name or "simulation", jobs, hosts=hosts, off_duty=away, series=series)
        carbon, price = carbon or getattr(known, "carbon", None), price or getattr(known, "price", None)
        cap = getattr(known, "cap", None) if cap is None else cap
    elif isinstance(source, Iterable) and beside is not None:
        data = read_tables(os.path.join(beside, JOBS), name, map(_job, source))
    elif isinstance(source, Iterable):
        data = TimelineData(name or "jobs", map(_job, source))
    else:
        raise InputError(f"a timeline is made of a result, rows of jobs, or a file, got {type(source).__name__}")
    add_electricity(data, carbon=carbon, price=price, cap=cap)
    if users is not None:
        data.jobs = [_with_user(job, users.get(job.job_id, "")) for job in data.jobs]
    return Timeline([data])


def _of_capture(capture: Capture, name: str, messages: int | None, describe: Describe | None) -> TimelineData:
    path = capture.path.rstrip(os.sep)
    return read_conversation(
        capture,
        name or os.path.basename(path).split(".")[0] or path,
        most_texts=messages,
        describe=describe,
        hint=f"batproto dump {shlex.quote(path)} shows message {{number}}.",
    )


def _job(row: Any) -> TimelineJob:
    try:
        own, workload = row.job_id, getattr(row, "workload_name", "")
        job_id = f"{workload}!{own}" if workload and not own.startswith(f"{workload}!") else own
        return TimelineJob(
            job_id=job_id,
            submitted=row.submission_time,
            started=row.starting_time,
            finished=row.finish_time,
            hosts=intervals_of(row.allocated_resources, f"allocated_resources of {job_id}"),
            state=row.final_state,
            requested=getattr(row, "requested_number_of_resources", 0),
            walltime=getattr(row, "requested_time", None),
            profile=getattr(row, "profile", ""),
        )
    except AttributeError as error:
        raise InputError(f"{type(row).__name__} is not a row about a job: {error}") from None


def _with_user(job: TimelineJob, user: object) -> TimelineJob:
    return msgspec.structs.replace(job, user=str(user))
