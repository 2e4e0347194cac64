"""The two schedules of a recorded Slurm: the recorded one, and that of its replay under the policy `slurm`.

Jobs have the same names in both: `w0!12`, `w0!3_7` for a task of an array, and `again!w0-12~1` for a second life. A job
that reached its time limit counts so in both, although a simulated Slurm kills it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.model.hosts import format_hosts
from batprotocol.simulator import JobRow
from batprotocol.studies.comparing.schedules import Schedule
from batprotocol.studies.recorded.recordings import readable
from batprotocol.studies.recorded.replays import Replay, jobs_of, starts_of
from batprotocol.studies.recorded.sites import configuration_of_run
from batprotocol.workloads.requests import expanded_names
from batprotocol.workloads.requests.usage import rerun_id

__all__ = ["recorded_schedule", "replayed_schedule"]

_STATES: Final = {
    "COMPLETED": FinalJobState.COMPLETED_SUCCESSFULLY,
    "FAILED": FinalJobState.COMPLETED_FAILED,
    "TIMEOUT": FinalJobState.COMPLETED_WALLTIME_REACHED,
}
_NEAR: Final = 1.5
"""Seconds between a start in the log and in the record of the end, which has whole seconds."""
_ENDS: Final = re.compile(
    r"Time limit exhausted for JobId=([0-9]{1,9}(?:_[0-9]{1,9})?)\b|"
    r"_job_complete: JobId=([0-9]{1,9}(?:_[0-9]{1,9})?)(?:\([0-9]{1,9}\))? (WEXITSTATUS [0-9]{1,9}|WTERMSIG)"
)
"""The lines of the log that say how a job ends."""
_WHOLE: Final = 1.0
"""Limits count from the whole second of the start."""


def recorded_schedule(run: Mapping[str, Any], name: str) -> Schedule:
    """The schedule of a recorded run: each start is a job.

    Args:
        run: the recording.
        name: its name in comparisons.

    Raises:
        InputError: something in the recording cannot be read.
    """
    with readable(name):
        numbers = {node.name: place for place, node in enumerate(configuration_of_run(run).nodes)}
        jobs = {number: (time, data) for number, time, data in jobs_of(run)}
        over = max((time for time, _ in run["log"]), default=0.0)
        rows, by, lives = [], dict[str, str](), Counter[str]()
        for start, given in zip(starts_of(run), run["starts"], strict=True):
            lives[start.job] += 1
            time, data = jobs[start.job]
            end, state = _end(run, given, over)
            hosts = sorted(numbers[node] for node in expanded_names(start.nodes))
            full = _name(start.job, lives[start.job])
            by[full] = start.by
            rows.append(
                _row(
                    full,
                    data,
                    submission_time=time,
                    final_state=state,
                    starting_time=start.time,
                    execution_time=max(end - start.time, 0.0),
                    allocated_resources=format_hosts(hosts),
                )
            )
    if not rows:
        raise InputError("no job of the recording started, so there is no schedule to compare", file=name)
    asked = {f"w0!{number}": data for number, (_, data) in jobs.items()}
    return Schedule(name=name, jobs=tuple(rows), hosts=len(numbers), is_logged=True, asked=asked, by=by)


def replayed_schedule(replay: Replay, name: str) -> Schedule:
    """The schedule of a replay, with its rows in the order of the starts.

    Args:
        replay: the replay.
        name: its name in comparisons.
    """
    rows, by, lives = [], dict[str, str](), Counter[str]()
    for start in replay.starts:
        lives[start.job] += 1
        full = _name(start.job, lives[start.job])
        by[full] = start.by
        row = replay.rows.get(full)
        if row is not None:
            rows.append(_limited(row, replay.asked[start.job]))
    asked = {f"w0!{number}": data for number, data in replay.asked.items()}
    return Schedule(name=name, jobs=tuple(rows), hosts=len(replay.nodes), asked=asked, by=by)


def _name(job: str, life: int) -> str:
    return f"w0!{job}" if life == 1 else rerun_id(f"w0!{job}", life - 1)


def _row(full: str, data: Mapping[str, Any], **values: Any) -> JobRow:
    workload, _, own = full.partition("!")
    options = data["slurm"]
    return JobRow(
        job_id=own,
        workload_name=workload,
        profile=f"w0!p{own}",
        requested_number_of_resources=options.get("nodes", [1])[0],
        requested_time=_limit(options),
        **values,
    )


def _limit(options: Mapping[str, Any]) -> float | None:
    """The time limit in seconds. Slurm has whole minutes."""
    return None if "time" not in options else float(-(-options["time"] // 60) * 60)


def _limited(row: JobRow, data: Mapping[str, Any]) -> JobRow:
    """A row with its time limit, and as one that reached it if it was killed then."""
    limit, state = _limit(data["slurm"]), row.final_state
    if state is FinalJobState.COMPLETED_KILLED and limit and (row.execution_time or 0.0) > limit - _WHOLE:
        state = FinalJobState.COMPLETED_WALLTIME_REACHED
    return msgspec.structs.replace(row, requested_time=limit, final_state=state)


def _end(run: Mapping[str, Any], start: Mapping[str, Any], over: float) -> tuple[float, FinalJobState]:
    """The end of a run of a job, and its state: those of its record, or else of the log.

    A job that has neither ran until the end of the recording.
    """
    for record in _records(run, start):
        return record["EndTime"], _STATES.get(record.get("JobState", ""), FinalJobState.COMPLETED_KILLED)
    job = start["job"].partition("(")[0]
    for time, text in run["log"]:
        found = _ENDS.match(text) if time > start["t"] else None
        if found and job in (found[1], found[2]):
            if found[1]:
                return time, FinalJobState.COMPLETED_WALLTIME_REACHED
            is_good = found[3] == "WEXITSTATUS 0"
            return time, FinalJobState.COMPLETED_SUCCESSFULLY if is_good else FinalJobState.COMPLETED_FAILED
    return over, FinalJobState.COMPLETED_KILLED


def _records(run: Mapping[str, Any], start: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    job, _, raw = start["job"].partition("(")
    for record in run.get("jobcomp", ()):
        times = record.get("StartTime"), record.get("EndTime")
        if record.get("JobId") != (raw.rstrip(")") or job) or not all(isinstance(each, int | float) for each in times):
            continue
        if abs(times[0] - start["t"]) <= _NEAR:
            yield record
