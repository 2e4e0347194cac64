"""Jobs of other sources as rows of Batsim's jobs.csv: jobs in messages, and in tables with fewer columns.

A job without a known submission, start or end has no row, as in jobs.csv. It must not know schedules, nor the use of
the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from batprotocol.model import Direction, FinalJobState, Message, SimulationBeginsEvent
from batprotocol.recordings.entries import Entry
from batprotocol.recordings.jobs import CapturedJob, host_count, jobs_of
from batprotocol.recordings.timeline import TimelineJob
from batprotocol.simulator import JobRow

__all__ = ["ReportedRows", "as_reported", "of_messages", "of_table"]

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
    hosts = job.hosts if started is not None and host_count(job.hosts) else ""
    profile, requested = job.profile_id, job.resource_request
    return _row(job.job_id, submitted, started, finished, state, hosts, requested, job.walltime, profile)


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
    return _row(job.job_id, submitted, started, finished, state, hosts, job.requested, job.walltime, job.profile)


def _row(
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
