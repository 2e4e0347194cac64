"""The output of `gridstat` of CiGri 3: a table of campaigns, one campaign with its clusters and tasks, one job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from batprotocol.campaigns.model import (
    Campaign,
    CampaignState,
    CampaignStatus,
    Cluster,
    Durations,
    Job,
    Record,
    Task,
)
from batprotocol.campaigns.ruby import as_ruby
from batprotocol.campaigns.text.times import average, deviation, moment, second

__all__ = [
    "ClusterLine",
    "Statistics",
    "TaskLine",
    "campaign_item",
    "campaign_report",
    "campaigns_dump",
    "campaigns_table",
    "job_report",
    "pretty_jdl",
]

_LETTERS = {
    CampaignState.CANCELLED: "C",
    CampaignState.IN_TREATMENT: "R",
    CampaignState.TERMINATED: "T",
    CampaignState.PAUSED: "P",
}
_WIDTHS = (11, 19, 16, 19, 2, 8)
_TITLES = ("Campaign id", "Name", "User", "Submission time", "S", "Progress")


def _row(*cells: object) -> str:
    texts = [str(cell)[:width].ljust(width) for cell, width in zip(cells, _WIDTHS, strict=False)]
    return " ".join([*texts, *map(str, cells[len(texts) :])])


def _progress(status: CampaignStatus) -> str:
    part = 100 * status.terminated // status.total if status.total else 0
    return f"{status.terminated}/{status.total} ({part}%)"


def campaigns_table(campaigns: Iterable[CampaignStatus]) -> str:
    """The campaigns, one per line. An `e` beside the letter of the state means open events.

    >>> campaign = Campaign(id=2, user="bob", name="bobtest", submission_time=1795264572)
    >>> print(campaigns_table([CampaignStatus(campaign=campaign, total=6, terminated=4)]))
    Campaign id Name                User             Submission time     S  Progress
    ----------- ------------------- ---------------- ------------------- -- --------
    2           bobtest             bob              2026-11-21 12-36-12 R  4/6 (66%)
    """
    lines = [_row(*_TITLES).rstrip(), " ".join("-" * width for width in _WIDTHS)]
    for each in campaigns:
        campaign = each.campaign
        letter = _LETTERS[campaign.state] + ("e" if each.events else "")
        row = _row(campaign.id, campaign.name, campaign.user, moment(campaign.submission_time), letter)
        lines.append(f"{row} {_progress(each)}")
    return "\n".join(lines)


class Statistics(Record, frozen=True, kw_only=True):
    """The statistics of a campaign.

    Args:
        durations: the durations of its jobs that ended with exit code 0.
        throughput: recent finished jobs per second; None if it is unknown.
        remaining: the expected time to its end, in seconds; None if it is unknown.
        failed: how many jobs ended with an event that its user must close.
        resubmitted: how many jobs the grid has run again.
    """

    durations: Durations = Durations()
    throughput: float | None = None
    remaining: float | None = None
    failed: int = 0
    resubmitted: int = 0


class ClusterLine(Record, frozen=True, kw_only=True):
    """A campaign on a cluster.

    Args:
        cluster: the name of the cluster.
        active_jobs: how many of its jobs there have not ended.
        queued_jobs: how many more jobs are ordered.
        prologue_ok: whether its prologue has ended there, if it has one.
        epilogue_ok: whether its epilogue has ended there, if it has one.
    """

    cluster: str
    active_jobs: int = 0
    queued_jobs: int = 0
    prologue_ok: bool = True
    epilogue_ok: bool = True


class TaskLine(Record, frozen=True, kw_only=True):
    """A task with its newest job.

    Args:
        task: the task.
        state: the state of its job, `queued` or `pending`.
        job: its newest job, or None.
        cluster: the cluster on which it is or for which it is ordered, or None.
    """

    task: Task
    state: str
    job: Job | None = None
    cluster: str | None = None


def _share(part: int, whole: int) -> str:
    return f"{100 * part / (part + whole) if part else 0.0:.1f} %"


def campaign_report(
    status: CampaignStatus,
    statistics: Statistics,
    clusters: Iterable[ClusterLine] = (),
    tasks: Sequence[TaskLine] | None = None,
) -> str:
    """One campaign in full; with its tasks, if any are passed."""
    campaign = status.campaign
    rate, remaining = statistics.throughput, statistics.remaining
    ended = statistics.durations.count
    lines = [
        f"Campaign: {campaign.id}",
        f"  Name: {campaign.name}",
        f"  User: {campaign.user}",
        f"  Date: {moment(campaign.submission_time)}",
        f"  State: {campaign.state} {'(events)' if status.events else ''} ",
        f"  Progress: {_progress(status)}",
        "  Stats: ",
        f"    average_jobs_duration: {average(statistics.durations)}",
        f"    stddev_jobs_duration: {deviation(statistics.durations)}",
        f"    jobs_throughput: {f'{rate * 3600:.1f} jobs/h' if rate is not None else 'unknown'}",
        f"    remaining_time: {f'{remaining / 3600:.1f} hours' if remaining is not None else 'unknown'}",
        f"    failures_rate: {_share(statistics.failed, ended)}",
        f"    resubmit_rate: {_share(statistics.resubmitted, ended)}",
        "  Clusters: ",
    ]
    for each in clusters:
        lines += [
            f"    {each.cluster}:",
            f"      active_jobs: {each.active_jobs}",
            f"      queued_jobs: {each.queued_jobs}",
            f"      prologue_ok: {as_ruby(each.prologue_ok)}",
            f"      epilogue_ok: {as_ruby(each.epilogue_ok)}",
        ]
    lines.append("")
    if tasks is not None:
        lines += [" Jobs:", *map(_task_line, tasks)]
    return "\n".join(lines)


def _task_line(line: TaskLine) -> str:
    job = line.job
    cells = (
        "*" if job is None else job.id,
        "*" if job is None or job.remote_id is None else job.remote_id,
        line.state,
        line.cluster or "*",
        line.task.name,
        line.task.parameters,
    )
    return f"  {line.task.id}: {','.join(map(str, cells))}"


def job_report(job: Job, campaign: Campaign, task: Task | None, cluster: Cluster, batch: int | None = None) -> str:
    """One job, one line for each column of its table.

    Args:
        job: the job.
        campaign: its campaign.
        task: its task, if it has one.
        cluster: its cluster.
        batch: the number of its batch, if batches are counted.
    """
    options = {"besteffort": job.best_effort, **({} if batch is None else {"batch_id": batch})}
    rows: dict[str, object] = {
        "id": job.id,
        "param": "" if task is None else task.parameters,
        "grid_user": campaign.user,
        "campaign_id": campaign.id,
        "param_id": "" if task is None else task.id,
        "batch_id": "" if batch is None else batch,
        "cluster_id": cluster.id,
        "collect_id": "",
        "state": job.state,
        "return_code": "" if job.exit_code is None else job.exit_code,
        "submission_time": second(job.submission_time),
        "start_time": second(job.start_time),
        "stop_time": second(job.stop_time),
        "node_name": job.node or "",
        "resources_used": "",
        "remote_id": job.remote_id or "",
        "tag": job.tag or "",
        "runner_options": as_ruby(options),
        "nodb": "true",
        "cluster_name": cluster.name,
    }
    return "\n".join(f"{key}: {value}" for key, value in rows.items())


def campaign_item(status: CampaignStatus) -> dict[str, object]:
    """A campaign in the form of CiGri's API."""
    campaign = status.campaign
    here = f"/campaigns/{campaign.id}"
    collections = [{"rel": "collection", "href": f"{here}/{title}", "title": title} for title in ("jobs", "events")]
    return {
        "id": campaign.id,
        "name": campaign.name,
        "user": campaign.user,
        "state": str(campaign.state),
        "has_events": bool(status.events),
        "submission_time": int(campaign.submission_time),
        "total_jobs": status.total,
        "finished_jobs": status.terminated,
        "links": [
            {"rel": "self", "href": here},
            {"rel": "parent", "href": "/campaigns"},
            *collections,
            {"rel": "item", "href": f"{here}/jdl", "title": "jdl"},
        ],
    }


def campaigns_dump(campaigns: Iterable[CampaignStatus]) -> str:
    """The campaigns as JSON, in the form of CiGri's API."""
    items = [campaign_item(each) for each in campaigns]
    links = [{"rel": "self", "href": "/campaigns"}, {"rel": "parent", "href": "/"}]
    return msgspec.json.encode({"items": items, "total": len(items), "links": links}).decode()


def pretty_jdl(jdl: str) -> str:
    """An expanded JDL, with indentation."""
    return msgspec.json.format(jdl, indent=2)
