"""The output of `gridstat` of CiGri 2: a summary, one campaign with its forecasts and jobs, the jobs as CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from batprotocol._util.tables import guarded
from batprotocol.campaigns.model import (
    CampaignState,
    CampaignStatus,
    Durations,
    GridJob,
    GridJobState,
    GridTask,
    GridValue,
)
from batprotocol.campaigns.text import calendar
from batprotocol.errors import InputError

__all__ = ["Counts", "Throughput", "campaign_report", "jobs_csv", "read_range", "summary", "usage"]

_STATES = {
    GridJobState.TO_LAUNCH: "toLaunch",
    GridJobState.SUBMITTED: "RemoteWaiting",
    GridJobState.REMOTE_WAITING: "RemoteWaiting",
    GridJobState.RUNNING: "Running",
    GridJobState.TERMINATED: "Terminated",
    GridJobState.EVENT: "Event",
}
_SUMMARY = (
    "Id       User     Status       Type      Waiting  Running   Finished  ToFix Err",
    "------   -------  ------------ --------  -------  -------   --------  --------- ",
)
_RANGE = re.compile(r"\s*([0-9]{1,9}|\*)\s*(?:-\s*([0-9]{1,9}|\*)\s*)?")
_LAST = 999_999_999
_WIDTHS = (7, 7, 12, 11, 8, 9, 8)


class Counts(GridValue, frozen=True, kw_only=True):
    """The numbers of jobs of a campaign that wait and run.

    Args:
        waiting: the number of tasks in the bag and of jobs that wait on clusters.
        running: the number of jobs that run.
    """

    waiting: int = 0
    running: int = 0


class Throughput(GridValue, frozen=True, kw_only=True):
    """The throughput of a campaign, on a cluster or as a whole.

    Args:
        throughput: finished jobs per second; None if it is unknown.
        durations: the durations of its jobs.
    """

    throughput: float | None = None
    durations: Durations = Durations()


def read_range(text: str) -> range:
    """Read the range of `-s`: `7`, `3-9`, from a number on (`3-*`), up to a number (`*-9`), or all (`*-*` or `*`).

    Raises:
        InputError: it is not such a range.

    >>> list(read_range("3-5"))
    [3, 4, 5]
    >>> 7 in read_range("5-*"), 7 in read_range("*-5"), 7 in read_range("*-*")
    (True, False, True)
    """
    found = _RANGE.fullmatch(text)
    if found is None:
        raise InputError(f'"{text}" is not a valid range')
    first, last = found[1], found[2] or found[1]
    if "*" not in (first, last) and found[2] and int(first) >= int(last):
        raise InputError(f"{text} is not a valid range. Second number must be bigger than first in the range")
    return range(0 if first == "*" else int(first), (_LAST if last == "*" else int(last)) + 1)


def usage(program: str) -> str:
    """The output of `gridstat -h`."""
    return "\n".join(
        [
            "Usage: gridstat [options]",
            "    -f, --full                       Show full information about campaigns",
            "        --csv                        Print information in csv format",
            "    -s, --summary ID or RANGE        Print summary information",
            "    -u, --user                       Show running (or -s RANGE) user jobs",
            f"    -h, --help                       Display {program} help",
        ]
    )


def summary(campaigns: Iterable[tuple[CampaignStatus, Counts]]) -> str:
    """The campaigns, one per line."""
    lines = list(_SUMMARY)
    for status, counts in campaigns:
        campaign = status.campaign
        cells = (
            campaign.id,
            campaign.user,
            str(campaign.state).upper(),
            campaign.type,
            counts.waiting,
            counts.running,
            status.terminated,
        )
        row = [str(cell)[:width].ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)]
        lines.append(" ".join(["  " + row[0], *row[1:], "x" if status.events else ""]))
    return "\n".join([*lines, _SUMMARY[1]])


def _field(name: str, value: object) -> str:
    return f"        {name:<24}{value}"


def _speed(prefix: str, known: Throughput) -> list[str]:
    """Throughput, average and standard deviation. Those of the whole campaign are further to the right."""
    width = 32 if prefix else 25
    rate, mean, deviation = known.throughput, known.durations.mean, known.durations.deviation
    rows = {
        "Throughput (last hour):": f"{(rate or 0.0) * 3600:.2f} jobs/hour ",
        "Average:": f"{int(mean or 0)} s ",
        "Stddev:": f"{deviation or 0.0:.2f}",
    }
    return [f"        {prefix + name:<{width}}{value}" for name, value in rows.items()]


def campaign_report(
    status: CampaignStatus,
    counts: Counts,
    *,
    now: float,
    last_end: float | None = None,
    whole: Throughput | None = None,
    clusters: Mapping[str, Throughput] | None = None,
    jobs: Sequence[tuple[GridJob, GridTask]] = (),
) -> str:
    """One campaign with its forecasts; in the full form, also the forecasts on each cluster, and its jobs.

    Args:
        status: the campaign with its progress.
        counts: the numbers of its jobs that wait and run.
        now: seconds of the grid's clock.
        last_end: the time of the end of its last job; None: no job has ended, which is written as 1970, as in CiGri.
            The duration of a campaign that has terminated ends here, and that of any other now.
        whole: its throughput on all clusters; without it, there are no forecasts.
        clusters: its throughput on each cluster, for the full form; clusters without recent ends are skipped.
        jobs: its jobs and their tasks, for the full form.
    """
    campaign = status.campaign
    until = now
    if campaign.state is CampaignState.TERMINATED:
        until = campaign.submission_time if last_end is None else last_end
    lines = [
        f"Multiple job {campaign.id}",
        _field("Type:", f"{campaign.type} "),
        _field("Status:", str(campaign.state).upper()),
        _field("Submited:", _time(campaign.submission_time)),
        _field("Last terminated job:", f"{_time(last_end or 0.0)} "),
        _field("Errors to Fix:", f"{'true' if status.events else 'false'} "),
        _field("Running:", f"{counts.running} "),
        _field("Waiting:", f"{counts.waiting} "),
        _field("Terminated:", f"{status.terminated} "),
        _field("Duration:", f"{int(until - campaign.submission_time)} s"),
        "",
    ]
    if whole is not None and clusters is None:
        lines += ["Forecasts:", *_speed("", whole)]
    elif whole is not None and clusters is not None:
        lines += ["Forecasts:", *_speed("Global ", whole), ""]
        for name, known in clusters.items():
            if known.throughput is not None:
                lines += [f"{name}:", *_speed("", known), ""]
        lines.append("List of jobs:")
        for job, task in jobs:
            lines += [
                f"Job {job.id}: {_STATES[job.state]}",
                f"  Cluster: {job.cluster}",
                f"  Node: {job.node or ''}",
                f"  BatchId: {job.remote_id or ''}",
                f"  Params: {task.parameters}",
            ]
    return "\n".join(lines)


def _time(time: float) -> str:
    return calendar(time).strftime("%Y-%m-%d %H:%M:%S +0000")


def jobs_csv(jobs: Iterable[tuple[GridJob, GridTask]], *, guard: bool = False) -> str:
    """Jobs and their tasks as CSV.

    Args:
        jobs: the jobs, with their tasks.
        guard: whether an apostrophe is written before texts that a spreadsheet would compute as formulas.
    """
    rows: list[tuple[object, ...]] = [("id", "state", "cluster", "node", "batchid", "params")]
    rows += (
        (job.id, _STATES[job.state], job.cluster, job.node or "", job.remote_id or "", task.parameters)
        for job, task in jobs
    )
    if guard:
        rows = [tuple(map(guarded, row)) for row in rows]
    return "\n".join(",".join(f'"{_escaped(cell)}"' for cell in row) for row in rows)


def _escaped(cell: object) -> str:
    return str(cell).replace('"', '""')
