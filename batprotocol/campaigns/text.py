"""The output of CiGri 3's commands, as functions of values: tables, reports, events, answers to requests.

`gridstat2` has the output of CiGri 2's `gridstat`. No text ends with a newline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from decimal import Decimal, localcontext
from typing import Literal

import msgspec

from batprotocol._util.deprecation import old_names
from batprotocol.campaigns._values import as_ruby
from batprotocol.campaigns.entities.failures import Hindrance, Obstacle
from batprotocol.campaigns.model import (
    Campaign,
    CampaignState,
    CampaignStatus,
    Durations,
    GridCluster,
    GridEvent,
    GridJob,
    GridTask,
    GridValue,
    exit_text,
)

__all__ = [
    "CampaignStatistics",
    "ClusterLine",
    "TaskLine",
    "age",
    "average",
    "calendar",
    "campaign_item",
    "campaign_report",
    "campaigns_dump",
    "campaigns_table",
    "changed",
    "cluster_details",
    "clusters_list",
    "deviation",
    "events_closed",
    "events_list",
    "explained",
    "failed",
    "foreign",
    "hindrance_sentence",
    "job_report",
    "moment",
    "not_found",
    "pretty_jdl",
    "second",
    "stamp",
    "submitted",
]

__path__: list[str] = []
"""For version 0.2, this was a package: the old names of its modules are found."""


# Times and numbers in the formats of CiGri's commands. All times are in UTC.


def calendar(time: float) -> datetime:
    """A time of the grid's clock. A time that no calendar has becomes the first second of the calendar."""
    try:
        return datetime.fromtimestamp(time, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, timezone.utc)


def moment(time: float) -> str:
    """The format of times in tables.

    >>> moment(1795264572)
    '2026-11-21 12-36-12'
    """
    return calendar(time).strftime("%Y-%m-%d %H-%M-%S")


def second(time: float | None) -> str:
    """The format of the times of jobs.

    >>> second(1795264573), second(None)
    ('2026-11-21 12:36:13+00', '')
    """
    return "" if time is None else calendar(time).strftime("%Y-%m-%d %H:%M:%S+00")


def stamp(time: float) -> str:
    """The format of the times of events.

    >>> stamp(1795264730.081077)
    '2026-11-21 12:38:50.081077+00'
    """
    return calendar(time).strftime("%Y-%m-%d %H:%M:%S.%f+00")


def _numeric(value: Decimal) -> str:
    """A quotient in the format of PostgreSQL: sixteen digits, in steps of four."""
    if not value:
        return "0"
    decimals = 16 - 4 * (value.adjusted() // 4)
    return f"{value:.{max(decimals, 0)}f}"


def average(durations: Durations) -> str:
    """The mean duration.

    >>> average(Durations.of(4, 4, 4, 5))
    '4.2500000000000000'
    """
    if not durations.count:
        return ""
    with localcontext() as context:
        context.prec = 60
        return _numeric(Decimal(durations.total) / durations.count)


def deviation(durations: Durations) -> str:
    """The standard deviation, of a sample.

    >>> deviation(Durations.of(4, 4, 4, 5)), deviation(Durations.of(2, 2))
    ('0.50000000000000000000', '0')
    """
    count = durations.count
    if count < 2:
        return ""
    with localcontext() as context:
        context.prec = 60
        total, squares = Decimal(durations.total), Decimal(durations.squares)
        variance = (count * squares - total * total) / (count * (count - 1))
        return _numeric(max(variance, Decimal(0)).sqrt())


def age(seconds: float) -> str:
    """A duration in the largest unit of which it has at least one.

    >>> age(0.4), age(1), age(200), age(100_000)
    ('0 seconds', '1 second', '3 minutes', '1 day')
    """
    whole = max(0, int(seconds))
    units = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
    unit, length = next((each for each in units if whole >= each[1]), units[-1])
    count = whole // length
    return f"{count} {unit}" + ("" if count == 1 else "s")


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


# The output of `gridstat`.


class CampaignStatistics(GridValue, frozen=True, kw_only=True):
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


class ClusterLine(GridValue, frozen=True, kw_only=True):
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


class TaskLine(GridValue, frozen=True, kw_only=True):
    """A task with its newest job.

    Args:
        task: the task.
        state: the state of its job, `queued` or `pending`.
        job: its newest job, or None.
        cluster: the cluster on which it is or for which it is ordered, or None.
    """

    task: GridTask
    state: str
    job: GridJob | None = None
    cluster: str | None = None


def _share(part: int, whole: int) -> str:
    return f"{100 * part / (part + whole) if part else 0.0:.1f} %"


def campaign_report(
    status: CampaignStatus,
    statistics: CampaignStatistics,
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


def job_report(
    job: GridJob, campaign: Campaign, task: GridTask | None, cluster: GridCluster, batch: int | None = None
) -> str:
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


# The output of `gridevents` and `gridclusters` of CiGri 3.


_LINE = "-" * 78
_EXIT_STATUS = re.compile(r"(?<=^The job exited with )exit status ([0-9]{1,9})(?=;)")


def events_list(events: Iterable[GridEvent]) -> str:
    """Events, with their descriptions.

    >>> print(events_list([]))
    No events!
    """
    parts = [_event(each) for each in events]
    return "\n".join([_LINE, *(part for each in parts for part in (each, _LINE))]) if parts else "No events!"


def explained(event: GridEvent) -> GridEvent:
    """The event, with the exit status in its message explained.

    CiGri reports the status that `wait` returns. Most users know the exit code only.

    >>> explained(GridEvent(class_="job", code="EXIT_ERROR", message="The job exited with exit status 768;")).message
    'The job exited with exit status 768, which is exit code 3;'
    """
    message = _EXIT_STATUS.sub(lambda found: f"{found[0]}, which is {exit_text(int(found[1]))}", event.message)
    return msgspec.structs.replace(event, message=message)


def _event(event: GridEvent) -> str:
    words = [f"{event.id}: ({event.state}) {event.code}"]
    if event.job is not None:
        words.append(f"of job {event.job}")
    words.append(f"at {stamp(event.date)}")
    if event.cluster is not None:
        words.append(f"on {event.cluster}")
    if event.parent is not None:
        words.append(f"because of {event.parent}")
    return "\n".join([" ".join(words), *([event.message] if event.message else [])])


def clusters_list(
    clusters: Iterable[GridCluster], blacklisted: frozenset[str] = frozenset(), *, info: bool = False
) -> str:
    """The clusters, one per line; with `info`, their states.

    >>> print(clusters_list([GridCluster(name="alpha", id=1, stress_factor=0.1)], info=True))
    1: alpha ,  (stress:0.1/0.8)
    """
    return "\n".join(
        f"{each.id}: {each.name}" + (_state(each, each.name in blacklisted) if info else "") for each in clusters
    )


def _stress(cluster: GridCluster) -> str:
    return f"{'' if cluster.stress_factor is None else cluster.stress_factor}/{cluster.stress_limit}"


def _state(cluster: GridCluster, blacklisted: bool) -> str:
    ban, stress = "BLACKLISTED" if blacklisted else "", "UNDER_STRESS" if cluster.under_stress else ""
    return f" {ban}, {stress} (stress:{_stress(cluster)})"


def cluster_details(cluster: GridCluster, *, blacklisted: bool = False) -> str:
    """One cluster with all of its fields."""
    rows: dict[str, object] = {
        "id": cluster.id,
        "name": cluster.name,
        **dict(cluster.details),
        "batch": cluster.batch,
        "resource_unit": cluster.resource_unit,
        "power": f"{cluster.power:g}",
        "stress_factor": _stress(cluster),
        "enabled": as_ruby(cluster.enabled),
        "blacklisted": as_ruby(blacklisted),
        "under_stress": as_ruby(cluster.under_stress),
    }
    return "\n".join([f"{cluster.id}: {cluster.name}", *(f"    {key}: {value}" for key, value in rows.items())])


# The answers of CiGri's commands to requests.


def submitted(status: CampaignStatus, *, details: bool = False) -> str:
    """The answer to a submission; with `details`, all fields of the campaign."""
    item = [msgspec.json.encode(campaign_item(status)).decode()] if details else []
    return "\n".join(["Campaign successfully submitted", *item, f"CAMPAIGN_ID={status.campaign.id}"])


def changed(campaign: int, what: Literal["cancelled", "paused", "resumed", "purged"]) -> str:
    """The answer to a change of a campaign.

    >>> changed(4, "paused")
    'Campaign 4 paused.'
    """
    return f"Campaign {campaign} {what}."


def events_closed(campaign: int) -> str:
    """The answer when the events of a campaign were closed."""
    return f"Campaign {campaign} events closed."


def foreign(user: str, campaign: int, *, job: bool = False) -> str:
    """The reason of a refusal: the campaign, or that of the job, belongs to another user.

    >>> foreign("alice", 3)
    "Campaign 3 does not belong to you: User 'alice' is not the owner of campaign '3'."
    """
    reason = f"User '{user}' is not the owner of campaign '{campaign}'."
    return reason if job else f"Campaign {campaign} does not belong to you: {reason}"


def failed(what: str, reason: str) -> str:
    """The answer to a request that failed.

    >>> failed("cancel campaign 4", "Campaign already cancelled.")
    'Failed to cancel campaign 4: Campaign already cancelled.'
    """
    return f"Failed to {what}: {reason}"


def not_found(campaign: int) -> str:
    """The answer if there is no campaign of this number."""
    return f"Campaign {campaign} not found!"


# The reasons why campaigns wait, and the commands to type, in sentences.


_GRID = "batproto grid"


def hindrance_sentence(hindrance: Hindrance) -> str:
    """One sentence with the reason why a campaign waits, and the command to type.

    >>> from batprotocol.campaigns.model import Campaign
    >>> sweep = Campaign(id=4, user="alice", name="sweep")
    >>> print(hindrance_sentence(Hindrance(campaign=sweep, paused=True, waits=True)))
    campaign 4 waits for alice, who has paused it: batproto grid del -c 4 -r resumes it
    """
    number, user = hindrance.campaign.id, hindrance.campaign.user
    if hindrance.paused:
        return f"campaign {number} waits for {user}, who has paused it: {_GRID} del -c {number} -r resumes it"
    by_obstacle: dict[Obstacle, list[str]] = {}
    for cluster, obstacle in hindrance.obstacles:
        by_obstacle.setdefault(obstacle, []).append(cluster)
    parts = []
    for obstacle, names in by_obstacle.items():
        clusters = " and ".join(names)
        if obstacle == "failed":
            who = f"waits for {user}: its jobs failed" if hindrance.waits else "goes on elsewhere, as its jobs failed"
            parts.append(
                f"{who} on {clusters}: {_GRID} events -c {number} and {_GRID} output -c {number} show why,  "
                f"{_GRID} events -c {number} -f -r runs the failed tasks again, -f without -r skips them"
            )
        elif obstacle == "away":
            parts.append(f"{_waits(hindrance)} {clusters}, which cannot be reached: {_GRID} events -g shows why")
        elif obstacle == "disabled":
            parts.append(f"{_waits(hindrance)} {clusters}, disabled: {_GRID} clusters --enable {names[0]}")
        else:
            parts.append(f"{_waits(hindrance)} {clusters}, unknown: {_GRID} clusters --add {names[0]}")
    return f"campaign {number} {'; it '.join(parts)}"


def _waits(hindrance: Hindrance) -> str:
    return "waits for" if hindrance.waits else "goes on without"


__getattr__ = old_names(__name__, {"Statistics": "CampaignStatistics"})
