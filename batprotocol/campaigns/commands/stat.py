"""`batproto grid stat`: the state of campaigns and jobs, in the tables of CiGri 3 and CiGri 2."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from batprotocol.campaigns.commands.requests import json_of, opened, safe, show_events
from batprotocol.campaigns.entities.failures import RESUBMITTED
from batprotocol.campaigns.model import CampaignStatus, Durations, Job, JobState, Task
from batprotocol.campaigns.text import answers, gridstat, gridstat2
from batprotocol.cli.terminal.output import Output

if TYPE_CHECKING:
    from batprotocol.campaigns.store import Store

__all__ = ["stat"]

WIPED = frozenset(["FRAG", "FRAG_STALE", "CIGRI_WALLTIME", "REPLICA", "USER_FRAG"])
"""The events of jobs that the grid has killed: they do not count as failed."""


def stat(
    url: str,
    *,
    campaign: int | None,
    job: int | None,
    of_user: str | None,
    all_campaigns: bool,
    full: bool,
    events: bool,
    jdl: bool,
    dump: bool,
    summary: str | None,
    csv: bool,
    spreadsheet: bool,
    as_json: bool,
) -> int:
    """Print the state of campaigns or of a job; return the exit status."""
    output = Output()
    with opened(url) as store:
        if job is not None:
            return _job(store, job, output, as_json)
        if campaign is None:
            chosen = store.campaigns(of_user, ended=all_campaigns or summary is not None)
            if summary is not None:
                wanted = gridstat2.read_range(summary)
                counted = [(safe(each), _counts(store, each)) for each in chosen if each.campaign.id in wanted]
                output.line(("", gridstat2.summary(counted)))
            else:
                _list(chosen, output, dump=dump, as_json=as_json)
            return 0
        status = store.campaign(campaign)
        if status is None:
            output.error("grid", answers.not_found(campaign))
            return 1
        if jdl:
            output.line(("", gridstat.pretty_jdl(store.jdl(campaign) or "{}")))
        elif events:
            show_events(store.events(campaign), output, as_json=as_json)
        elif csv:
            output.line(("", gridstat2.jobs_csv(_jobs(store, campaign), guard=spreadsheet)))
        elif dump or as_json:
            _list((status,), output, dump=dump, as_json=as_json)
        else:
            _campaign(store, status, output, full)
    return 0


def _list(chosen: Iterable[CampaignStatus], output: Output, *, dump: bool, as_json: bool) -> None:
    if dump:
        output.json(gridstat.campaigns_dump(chosen))
    elif as_json:
        for each in chosen:
            output.json(json_of(each))
    else:
        output.line(("", gridstat.campaigns_table(map(safe, chosen))))


def _campaign(store: Store, status: CampaignStatus, output: Output, full: bool) -> None:
    number = status.campaign.id
    durations = store.durations(number)
    counts = store.event_counts(number)
    again = sum(counts.get(code, 0) for code in RESUBMITTED)
    expected = next((each for each in store.forecasts(number) if each.cluster is None), None)
    end = None if expected is None else expected.end
    statistics = gridstat.Statistics(
        durations=sum(durations.values(), Durations()),
        throughput=None if expected is None else expected.throughput,
        remaining=None if end is None else max(0.0, end - time.time()),
        failed=sum(count for code, count in counts.items() if code not in WIPED) - again,
        resubmitted=again,
    )
    active = Counter(job.cluster for job in store.jobs(number, active=True))
    lines = [
        gridstat.ClusterLine(
            cluster=each.cluster,
            active_jobs=active[each.cluster],
            prologue_ok=not each.prologue or each.cluster in status.prologue_done,
            epilogue_ok=not each.epilogue or each.cluster in status.epilogue_done,
        )
        for each in status.campaign.clusters
    ]
    tasks = [*map(safe, _tasks(store, number))] if full else None
    output.line(("", gridstat.campaign_report(safe(status), statistics, map(safe, lines), tasks)))


def _tasks(store: Store, campaign: int) -> list[gridstat.TaskLine]:
    newest: dict[int, Job] = {job.task: job for job in store.jobs(campaign) if job.task is not None}
    lines = []
    for task in store.tasks(campaign):
        job = newest.get(task.id) if task.state != "pending" else None
        if job is None:
            lines.append(gridstat.TaskLine(task=task, state=str(task.state)))
        else:
            lines.append(gridstat.TaskLine(task=task, state=str(job.state), job=job, cluster=job.cluster))
    return lines


def _jobs(store: Store, campaign: int) -> list[tuple[Job, Task]]:
    tasks = {task.id: task for task in store.tasks(campaign)}
    return [(safe(job), safe(tasks[job.task])) for job in store.jobs(campaign) if job.task is not None]


def _counts(store: Store, status: CampaignStatus) -> gridstat2.Counts:
    running = sum(job.state is JobState.RUNNING for job in store.jobs(status.campaign.id, active=True))
    return gridstat2.Counts(waiting=status.pending + status.active - min(running, status.active), running=running)


def _job(store: Store, number: int, output: Output, as_json: bool) -> int:
    job = store.job(number)
    if job is None:
        output.error("grid", f"Job {number} not found!")
        return 1
    if as_json:
        output.json(json_of(job))
        return 0
    status = store.campaign(job.campaign)
    cluster = next(each for each in store.clusters() if each.name == job.cluster)
    task = None if job.task is None else store.task(job.task)
    assert status is not None, "a job is of a campaign"
    task = None if task is None else safe(task)
    output.line(("", gridstat.job_report(safe(job), safe(status.campaign), task, safe(cluster))))
    return 0
