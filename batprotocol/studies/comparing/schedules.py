"""The schedule of a run: from its files, from what a decision component reported, or from a log."""

from __future__ import annotations

import io
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from batprotocol._util.deprecation import OldName
from batprotocol.edc.recording.sources import JOBS, jobs_file
from batprotocol.errors import InputError
from batprotocol.model import Direction, FinalJobState, Message, SimulationBeginsEvent
from batprotocol.results.files import COLUMNS, parse_jobs
from batprotocol.results.reports import KnownPower, failures_beside, power_beside
from batprotocol.simulator import TAU, Electricity, JobRow, Metrics, OwnMetric, TimedHostEvent, measured, read_jobs
from batprotocol.workloads.requests import AttemptReport
from batprotocol.workloads.workload import Submission, Workload

if TYPE_CHECKING:
    from batprotocol.edc.recording.entries import Entry
    from batprotocol.recordings import Capture
    from batprotocol.recordings.statistics import CapturedJob
    from batprotocol.recordings.timeline import TimelineJob
    from batprotocol.sites.logs import LoggedJob

__all__ = [
    "LOGGED_TOLERANCE",
    "REPORTED_TOLERANCE",
    "ReportedRows",
    "Schedule",
    "as_reported",
    "of_messages",
    "of_table",
    "read_schedule",
    "schedule_in",
    "schedule_of",
    "schedule_of_log",
]


# Jobs of other sources as rows of Batsim's jobs.csv: jobs in messages, and in tables with fewer columns.


_REJECTED = FinalJobState.REJECTED


class ReportedRows(NamedTuple):
    """Rows that are made from a source with less information than jobs.csv.

    Args:
        jobs: the rows.
        left_out: the number of jobs without a row, as something about them is unknown.
        hosts: the number of hosts; 0 if it is unknown.
        users: the user of each job, by its full name, if users are known.
    """

    jobs: tuple[JobRow, ...]
    left_out: int
    hosts: int = 0
    users: dict[str, str] | None = None


def of_messages(run: Iterable[Entry]) -> ReportedRows:
    """The jobs of a conversation. Their times are those of its messages, with six decimals."""
    hosts = 0

    def messages() -> Iterator[tuple[Direction, Message]]:
        nonlocal hosts
        for entry in run:
            message = entry.message
            if message is not None:
                begins = (event for event in message.events if isinstance(event, SimulationBeginsEvent))
                hosts = hosts or sum(len(event.computation_hosts) for event in begins)
                yield entry.direction, message

    from batprotocol.recordings.statistics import jobs_of

    jobs = list(jobs_of(messages()))
    rows = tuple(row for row in map(_of_message, jobs) if row is not None)
    return ReportedRows(rows, len(jobs) - len(rows), hosts)


def _of_message(job: CapturedJob) -> JobRow | None:
    state, submitted, started, finished = job.state, job.submitted, job.started, job.finished
    if state is None or submitted is None:
        return None
    if state is _REJECTED:
        started = finished = None
    elif started is None or finished is None:
        return None
    from batprotocol.recordings.statistics import host_count

    hosts = job.hosts if started is not None and host_count(job.hosts) else ""
    profile, requested = job.profile_id, job.resource_request
    return _reported_row(job.job_id, submitted, started, finished, state, hosts, requested, job.walltime, profile)


def of_table(jobs: Iterable[TimelineJob]) -> ReportedRows:
    """The jobs of a table that has fewer columns than jobs.csv."""
    given = list(jobs)
    rows = tuple(row for row in map(_of_table, given) if row is not None)
    users = {job.job_id: job.user for job in given if job.user}
    return ReportedRows(rows, len(given) - len(rows), users=users or None)


def _of_table(job: TimelineJob) -> JobRow | None:
    submitted, started, finished = job.submitted, job.started, job.finished
    if submitted is None or (started is not None and finished is None):
        return None
    state = job.state
    if state is None:
        state = _REJECTED if started is None else FinalJobState.COMPLETED_SUCCESSFULLY
    hosts = " ".join(str(first) if first == last else f"{first}-{last}" for first, last in job.hosts)
    return _reported_row(
        job.job_id, submitted, started, finished, state, hosts, job.requested, job.walltime, job.profile
    )


def _reported_row(
    name: str,
    submitted: float,
    started: float | None,
    finished: float | None,
    state: FinalJobState,
    hosts: str,
    requested: int,
    walltime: float | None,
    profile: str,
) -> JobRow:
    workload, _, own = name.partition("!") if "!" in name else ("", "", name)
    ran = started is not None and finished is not None
    start = _written(started) if started is not None and ran else None
    return JobRow(
        job_id=own,
        workload_name=workload,
        profile=profile,
        submission_time=_written(submitted),
        requested_number_of_resources=requested,
        requested_time=None if walltime is None else _written(walltime),
        final_state=state,
        starting_time=start,
        execution_time=_written(finished - started) if started is not None and finished is not None else None,
        allocated_resources=hosts,
    )


def _written(seconds: float) -> float:
    """A time with the decimals of jobs.csv."""
    return float(f"{seconds:f}")


def as_reported(row: JobRow) -> CapturedJob:
    """The job of a row, as messages would describe it."""
    from batprotocol.recordings.statistics import CapturedJob

    return CapturedJob(
        job_id=f"{row.workload_name}!{row.job_id}",
        submitted=row.submission_time,
        profile_id=row.profile,
        resource_request=row.requested_number_of_resources,
        walltime=row.requested_time,
        started=row.starting_time,
        finished=row.finish_time,
        hosts=row.allocated_resources,
        state=row.final_state,
    )


REPORTED_TOLERANCE: Final = 0.01
"""The seconds by which the times of messages may differ from those in jobs.csv: twice the largest difference that was
measured in recorded runs."""
LOGGED_TOLERANCE: Final = 3.0
"""The seconds by which the times of a log may differ from those of a simulation: logs have whole seconds, and resource
managers look for jobs to start every few seconds, at moments that no log has."""
_TOTALS: Final = "schedule.json"
_STATES: Final = "machine_states.csv"
_NO_NUMBER: Final = re.compile(r"(?<=: )-?(?:nan|inf)\b")
"""The values that Batsim writes into it, and JSON does not have."""


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The schedule of a simulation: its jobs, and its machine.

    Args:
        name: its name in comparisons.
        jobs: the rows of its jobs.
        hosts: the number of hosts, > 0.
        consumed_joules: the energy of all hosts; None if it is unknown.
        users: the user of each job, by its full name, if users are known.
        attempts: the attempts of its jobs, if they are known.
        events: the events of its hosts with their times, if they are known.
        power: what is known for the metrics of electricity.
        is_reported: whether its times are those of messages, and not Batsim's own.
        is_logged: whether it is that of a log, and not of a simulation.
        asked: what jobs asked for, in the vocabulary of `batprotocol.workloads.requests`, by their full names, if it is
            known.
        by: the part of the scheduler that started each job, such as a loop of Slurm, if it is known.
        remarks: remarks on it, as parts of sentences, such as missing jobs.
    """

    is_told = OldName("is_reported")

    name: str
    jobs: tuple[JobRow, ...]
    hosts: int
    consumed_joules: float | None = None
    users: Mapping[str, object] | None = None
    attempts: Sequence[AttemptReport] = ()
    events: Sequence[TimedHostEvent] = ()
    power: KnownPower = KnownPower()
    is_reported: bool = False
    is_logged: bool = False
    asked: Mapping[str, Mapping[str, Any]] = {}
    by: Mapping[str, str] = {}
    remarks: tuple[str, ...] = ()

    def metrics(
        self, tau: float = TAU, own: Iterable[OwnMetric] = (), electricity: Electricity | None = None
    ) -> Metrics:
        """Its metrics.

        Args:
            tau: the bound of bounded slowdowns, in seconds.
            own: further metrics of your own.
            electricity: the carbon intensity and the price of the energy, and the cap; None: they are not known.

        Raises:
            InputError: tau is not > 0, there are no hosts, a trace is too short, or one of your metrics cannot be
                measured.
        """
        return measured(
            self.jobs,
            self.hosts,
            tau=tau,
            users=self.users,
            consumed_joules=self.consumed_joules,
            attempts=self.attempts,
            events=self.events,
            energy=self.power.energy,
            electricity=electricity or Electricity(),
            cores=self.power.cores,
            allocations=self.power.allocations,
            own=own,
        )


def read_schedule(path: str | os.PathLike[str], *, name: str | None = None, hosts: int | None = None) -> Schedule:
    """The schedule in a folder of result files, of a jobs.csv, or of a recording.

    If a schedule.json is in the folder of a jobs.csv, it describes the machine. A table from another program needs the
    columns job_id, submission_time, starting_time, finish_time and allocated_resources. For recordings, see
    `schedule_in`.

    Args:
        path: the folder, or the file. The file name may have a prefix (`out_jobs.csv`).
        name: its name; None: the path.
        hosts: the number of hosts; None: the number in schedule.json or in the recording, else that of used hosts.

    Raises:
        InputError: the file is not a jobs.csv, or schedule.json is not valid.
        CaptureError: the recording has no run.
        OSError: a file cannot be read.
    """
    given = os.fspath(path)
    called = given if name is None else name
    file = jobs_file(given)
    if file is None:
        from batprotocol.recordings import Capture

        with Capture(given) as run:
            return schedule_in(run, name=called, hosts=hosts)
    folder, last = os.path.split(file)
    beside = os.path.join(folder, last.removesuffix(JOBS) + _TOTALS) if last.endswith(JOBS) else ""
    if _is_batsims(file):
        return schedule_of(read_jobs(file), beside, name=called, hosts=hosts)
    from batprotocol.recordings.timeline.sources import read_table

    rows = of_table(read_table(Path(file)))
    found = schedule_of(rows.jobs, beside, name=called, hosts=hosts)
    return msgspec.structs.replace(found, users=rows.users, remarks=(*found.remarks, *_remarks(rows)))


def schedule_in(run: Capture, *, name: str | None = None, hosts: int | None = None) -> Schedule:
    """The schedule of a recording, from the jobs.csv in it or else from its messages.

    Starts and ends of jobs are then the times of the messages. Batsim's own times differ from them by some
    milliseconds.

    Args:
        run: the recording.
        name: its name; None: the path of the file.
        hosts: see `read_schedule`.

    Raises:
        InputError: a time is not a finite number.
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
            pass  # it is from another Batsim, or damaged; the messages are complete
        else:
            return _schedule(jobs, machine, called, hosts)
    rows = of_messages(run)
    found = _schedule(rows.jobs, {"nb_computing_machines": rows.hosts}, called, hosts)
    missing = (run.missing[:1].lower() + run.missing[1:].rstrip("."),) if run.missing else ()
    source = "its jobs come from its messages: starts and ends differ by some milliseconds from those in jobs.csv"
    return msgspec.structs.replace(found, is_reported=True, remarks=(*missing, source, *found.remarks, *_remarks(rows)))


def schedule_of(rows: Iterable[JobRow], totals: str, *, name: str, hosts: int | None = None) -> Schedule:
    """The schedule of these rows of jobs.

    Args:
        rows: the rows.
        totals: the path of their schedule.json. The file may be missing. Their attempts.csv and host_events.jsonl are
            beside it, if the run had failures, and its consumed_energy.csv, if energy was measured.
        name: its name.
        hosts: see `read_schedule`.

    Raises:
        InputError: a file beside the jobs is not valid, or a time is not a finite number.
        OSError: a file cannot be read.
    """
    found = _schedule(tuple(rows), _totals(totals) if os.path.exists(totals) else {}, name, hosts)
    if not totals:
        return found
    prefix = totals.removesuffix(_TOTALS)
    attempts, events = failures_beside(prefix)
    power = power_beside(prefix)
    remarks = list(found.remarks)
    if power.watts:
        remarks.append(f"hosts that declare no watts have typical ones: {power.watts}")
    if not os.path.exists(totals) and os.path.exists(f"{prefix}{_STATES}"):
        remarks.append(
            f"it has no {_TOTALS}, which is written when a simulation ends: it may be a part of a simulation, without "
            "the jobs that had not ended"
        )
    return msgspec.structs.replace(found, attempts=attempts, events=events, power=power, remarks=tuple(remarks))


def _schedule(jobs: tuple[JobRow, ...], machine: Mapping[str, float], name: str, hosts: int | None) -> Schedule:
    for job in jobs:
        if not math.isfinite(job.submission_time + (job.finish_time or 0.0)):
            reason = "expected finite numbers as the times of the job"
            raise InputError(reason, f"{job.workload_name}!{job.job_id}", file=name)
    known = hosts or int(machine.get("nb_computing_machines", 0))
    size = known or _used(jobs)
    joules = machine.get("consumed_joules", 0.0)  # 0 where energy is not measured, and less if no job ran
    remarks = () if known else (f"its number of hosts is not known: {size:,}, up to the last one that a job had",)
    return Schedule(name=name, jobs=jobs, hosts=size, consumed_joules=joules if joules > 0 else None, remarks=remarks)


def _is_batsims(file: str) -> bool:
    """Whether a table has all columns of Batsim's jobs.csv."""
    with open(file, encoding="utf-8", errors="replace", newline="") as opened:
        first = opened.readline()
    columns = first.rstrip("\r\n").split(",")
    return set(columns) >= set(COLUMNS)


def _remarks(rows: ReportedRows) -> tuple[str, ...]:
    if not rows.left_out:
        return ()
    which = "1 job is" if rows.left_out == 1 else f"{rows.left_out:,} jobs are"
    return (f"{which} left out: the submission, start or end is missing",)


def _totals(path: str) -> dict[str, float]:
    """The numbers of a schedule.json, without those that are NaN."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return _numbers(file.read(), path)


def _numbers(text: str, path: str) -> dict[str, float]:
    try:
        found = json.loads(_NO_NUMBER.sub("null", text))
    except (ValueError, RecursionError) as error:
        raise InputError(f"it is not a schedule.json: {error}", file=path) from None
    if not isinstance(found, dict):
        raise InputError("it is not a schedule.json: expected a JSON object", file=path)
    return {key: value for key, value in found.items() if isinstance(value, int | float) and 0 <= value < math.inf}


def _used(jobs: Iterable[JobRow]) -> int:
    """The smallest possible number of hosts: up to the last one that was used."""
    last = [part.rpartition("-")[2] for job in jobs for part in job.allocated_resources.split()]
    return max(map(int, last), default=0) + 1


# The schedule that a log of a resource manager shows, as if it had been simulated: the other side of a comparison.


def schedule_of_log(
    jobs: Iterable[LoggedJob], *, name: str, hosts: int | None = None, nodes: str | None = None
) -> Schedule:
    """The schedule of a log. Its hosts have the numbers that `batproto import` gives them.

    Args:
        jobs: the jobs of the log, which can be read more than once.
        name: its name in comparisons.
        hosts: the number of hosts; None: those of the log.
        nodes: the file with the nodes of the machine, as `Import` takes it; None: those that jobs ran on, in the order
            of their names.

    Raises:
        InputError: no job of the log ran, or the log cannot be read.
    """
    from batprotocol.sites.logs.imports import Import

    made = Import(jobs, nodes=nodes, reservations=True)
    if not made.hosts:
        raise InputError("no job of the log ran, so there is no schedule to compare", file=name)
    workload = made.workload()
    asked: dict[str, dict[str, Any]] = {}
    rows = []
    for submission in workload:
        data = msgspec.json.decode(submission.job.extra_data or "{}")
        asked[submission.id] = data
        row = _logged_row(workload, submission, data.get("recorded", {}))
        if row is not None:
            rows.append(row)
    remarks = []
    if made.survey.rows > len(rows):
        missing = made.survey.rows - len(rows)
        remarks.append(f"{missing:,} of {made.survey.rows:,} jobs are left out: batproto import prints why")
    return Schedule(
        name=name,
        jobs=tuple(rows),
        hosts=hosts or len(made.hosts),
        is_logged=True,
        asked=asked,
        remarks=tuple(remarks),
    )


def _logged_row(workload: Workload, submission: Submission, recorded: dict[str, Any]) -> JobRow | None:
    """The row of a job; None if it has no start."""
    start = recorded.get("start")
    if start is None:
        return None
    profile = workload.profiles[submission.job.profile_id]
    runtime = float(getattr(profile.profile, "delay", 0.0))
    walltime = submission.job.walltime
    state = FinalJobState.COMPLETED_SUCCESSFULLY
    if walltime is not None and runtime >= walltime:
        state = FinalJobState.COMPLETED_WALLTIME_REACHED
    elif profile.return_code:
        state = FinalJobState.COMPLETED_FAILED
    workload_name, _, own = submission.id.partition("!")
    return JobRow(
        job_id=own,
        workload_name=workload_name,
        profile=submission.job.profile_id,
        submission_time=submission.time,
        requested_number_of_resources=submission.job.resource_request,
        requested_time=walltime,
        final_state=state,
        starting_time=float(start),
        execution_time=runtime,
        allocated_resources=recorded.get("hosts", ""),
    )
