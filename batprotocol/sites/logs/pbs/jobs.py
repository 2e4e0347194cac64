"""Makes a job with one attempt of the values of a record of PBS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from batprotocol.errors import InputError
from batprotocol.sites.logs.jobs import Attempt, JobState, LoggedJob
from batprotocol.sites.logs.managers.making import Row, moment_of, number_of
from batprotocol.sites.logs.pbs.resources import Amounts, asked_of, given_of, span_of
from batprotocol.sites.logs.slurm.states import WENT_ON
from batprotocol.workloads.requests.notation import DEPENDENCY_KINDS, parse_dependency

__all__ = ["job_of"]

_SIGNALS: Final = 256
_STATES: Final = {
    0: JobState.COMPLETED,
    -29: JobState.TIMEOUT,
    -28: JobState.TIMEOUT,
    -27: JobState.OUT_OF_MEMORY,
    -26: JobState.OUT_OF_MEMORY,
}
"""The states of exit statuses. The negative ones are those of jobs that PBS killed for using too much."""
_EXCLUSIVE: Final = frozenset({"excl", "exclhost"})
_NO_PROJECT: Final = "_pbs_project_default"


def job_of(
    id: str,
    array: str | None,
    pairs: Mapping[str, str],
    row: Row,
    *,
    state: JobState | None = None,
    waits: bool = False,
    queued: float | None = None,
    submitted: float | None = None,
    started: float | None = None,
    ended: float | None = None,
    suspended: float = 0.0,
    deleted: bool = False,
    dependency: str = "",
    before: Iterable[Attempt] = (),
) -> LoggedJob:
    """The job of a record.

    Args:
        id: its id.
        array: the array that it is a task of.
        pairs: the values.
        row: counts values that cannot be read.
        state: the state of the attempt; None: the exit status decides.
        waits: whether it does not run: starts and ends in the values are of earlier attempts.
        queued: when the record of its submission was written, if the values do not have the time.
        submitted: when it began to wait for this attempt; None: when it was submitted.
        started: its start, if the values do not have it.
        ended: its end, if the values do not have it.
        suspended: seconds that it was suspended for.
        deleted: whether it was deleted before it ended.
        dependency: what it waited for, as PBS writes it.
        before: its earlier attempts.

    Raises:
        Refused: its times cannot be read, or be.
    """
    times = [row.needed(name, moment_of, pairs.get(name)) for name in ("ctime", "qtime", "start", "end")]
    submitted = submitted or times[0] or times[1] or queued
    if not waits:
        started, ended = times[2] or started, times[3] or ended
    if state in WENT_ON:
        ended = None
    walltime = row.read("Resource_List.walltime", span_of, pairs.get("Resource_List.walltime", ""))
    status = row.read("Exit_status", number_of, pairs.get("Exit_status"))
    given = row.read("exec_vnode and exec_host", given_of, pairs) or Amounts()
    asked = row.read("Resource_List", asked_of, pairs) or Amounts()
    if state is None:
        state = _state(status, walltime, started, ended, suspended, deleted)
    signal = int(status) - _SIGNALS if status is not None and status >= _SIGNALS else None
    attempt = row.attempt(
        submitted,
        started,
        ended,
        state,
        eligible=row.read("etime", moment_of, pairs.get("etime")),
        hosts=given.names,
        suspended=suspended,
        exit_code=None if status is None or status < 0 else int(status) if signal is None else 0,
        signal=signal,
    )
    has_run = attempt.started is not None
    project = pairs.get("project", "")
    place = frozenset(pairs.get("Resource_List.place", "").split(":"))
    return LoggedJob(
        id=id,
        attempts=(*before, attempt),
        host_count=(given.hosts if has_run else None) or asked.hosts or 1,
        cores=given.cores if has_run else None,
        memory=given.memory if has_run else None,
        gres=_gres(given) if has_run else (),
        requested_hosts=asked.hosts,
        requested_cores=asked.cores,
        requested_memory=asked.memory,
        requested_gres=_gres(asked),
        walltime=walltime,
        name=pairs.get("jobname") or None,
        user=pairs.get("user") or None,
        group=pairs.get("group") or None,
        account=pairs.get("account") or (project if project != _NO_PROJECT else "") or None,
        partition=pairs.get("queue") or None,
        reservation=pairs.get("resvname") or pairs.get("resvID") or None,
        dependency=_dependency(pairs.get("depend") or dependency, row),
        array=array,
        exclusive=True if place & _EXCLUSIVE else None,
        line=row.line,
    )


def _gres(amounts: Amounts) -> tuple[tuple[str, int], ...]:
    return (("gpu", amounts.gpus),) if amounts.gpus else ()


def _state(
    status: float | None,
    walltime: float | None,
    started: float | None,
    ended: float | None,
    suspended: float,
    deleted: bool,
) -> JobState:
    if status is None:
        return JobState.CANCELLED if deleted else JobState.UNKNOWN
    found = _STATES.get(int(status))
    if found is not None:
        return found
    if deleted:
        return JobState.CANCELLED
    if status >= _SIGNALS and walltime is not None and started is not None and ended is not None:
        return JobState.TIMEOUT if ended - started - suspended >= walltime else JobState.FAILED
    return JobState.FAILED


def _dependency(text: str, row: Row) -> str | None:
    """A dependency such as `afterok:12.host:13.host`, in the vocabulary of requests."""
    if not text:
        return None
    parts = []
    for part in text.split(","):
        kind, *jobs = part.split(":")
        if kind.startswith("before") or kind == "on":
            continue  # the other job has it too, or it is only a number of jobs
        if kind not in DEPENDENCY_KINDS or not jobs:
            row.note("the value of depend cannot be read")
            return None
        names = [job.partition("@")[0].partition(".")[0].replace("[", "_").rstrip("]_") for job in jobs]
        parts.append(":".join([kind, *names]))
    try:
        if parts:
            parse_dependency(",".join(parts))
    except InputError:
        row.note("the value of depend cannot be read")
        return None
    return ",".join(parts) or None
