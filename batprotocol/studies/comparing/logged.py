"""The schedule that a log of a resource manager shows, as if it had been simulated: the other side of a comparison.

Jobs have the names and times that `batproto import` gives them, so that they can be held against a simulation of them.
The module must not know formats of logs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.simulator import JobRow
from batprotocol.sites.logs import LoggedJob
from batprotocol.sites.logs.imports import Import
from batprotocol.studies.comparing.schedules import Schedule
from batprotocol.workloads.workload import Submission, Workload

__all__ = ["schedule_of_log"]


def schedule_of_log(jobs: Iterable[LoggedJob], *, name: str, hosts: int | None = None) -> Schedule:
    """The schedule of a log. Its hosts are those that jobs ran on, numbered in the order of their names.

    Args:
        jobs: the jobs of the log, which can be read more than once.
        name: its name in comparisons.
        hosts: the number of hosts; None: those of the log.

    Raises:
        InputError: no job of the log ran, or the log cannot be read.
    """
    made = Import(jobs, reservations=True)
    if not made.hosts:
        raise InputError("no job of the log ran, so there is no schedule to compare", file=name)
    workload = made.workload()
    asked: dict[str, dict[str, Any]] = {}
    rows = []
    for submission in workload:
        data = msgspec.json.decode(submission.job.extra_data or "{}")
        asked[submission.id] = data
        row = _row(workload, submission, data.get("recorded", {}))
        if row is not None:
            rows.append(row)
    return Schedule(name=name, jobs=tuple(rows), hosts=hosts or len(made.hosts), is_logged=True, asked=asked)


def _row(workload: Workload, submission: Submission, recorded: dict[str, Any]) -> JobRow | None:
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
