"""The commands that ask the store: `batproto grid sub`, `stat`, `del`, `events`, `output` and `clusters`."""

from __future__ import annotations

import getpass
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from batprotocol._util.requirements import installing
from batprotocol.campaigns import gridstat2
from batprotocol.campaigns import text as texts
from batprotocol.campaigns.entities.failures import RESUBMITTED
from batprotocol.campaigns.jdl import load_rules, read_jdl
from batprotocol.campaigns.model import (
    CampaignStatus,
    Durations,
    GridEvent,
    GridJob,
    GridJobState,
    GridTask,
    GridValue,
    JobOutput,
    KillReason,
    UserPriority,
    exit_text,
)
from batprotocol.campaigns.text import age
from batprotocol.cli.terminal import Output
from batprotocol.errors import InputError, PackageMissing, StoreError, printable
from batprotocol.workloads.commands.inputs import read_text

if TYPE_CHECKING:
    from batprotocol.campaigns.commands.options import (
        ClustersOptions,
        DelOptions,
        EventsOptions,
        OutputOptions,
        StatOptions,
        SubOptions,
    )
    from batprotocol.campaigns.store import ClusterEntry, GridStore

__all__ = [
    "clusters",
    "delete",
    "events",
    "json_of",
    "opened",
    "safe",
    "safe_lines",
    "show_output",
    "stat",
    "submit",
]


Value = TypeVar("Value", bound=GridValue)


@contextmanager
def opened(url: str) -> Iterator[GridStore]:
    """The store. If a package for it is missing, the error has the command that installs it."""
    try:
        from batprotocol.campaigns.store import GridStore
    except ImportError as error:
        raise PackageMissing(f"campaigns need the package {error.name}: {installing('campaigns')}") from None
    store = GridStore(url)
    try:
        yield store
    finally:
        store.close()


def json_of(value: object) -> str:
    """A value of campaigns as one line of JSON."""
    return msgspec.json.encode(value).decode()


def safe(value: Value) -> Value:
    """A value whose texts are safe to print, also those of other users: each is one line without escapes."""
    return msgspec.convert(_printable(msgspec.to_builtins(value)), type(value))


def safe_lines(text: str) -> str:
    """A text of several lines that is safe to print."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {name: _printable(each) for name, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list | tuple) else value


def _text(path: str) -> str:
    return read_text(os.path.expandvars(os.path.expanduser(path)))


def submit(url: str, user: str, options: SubOptions) -> int:
    """Submit a campaign, or add tasks to one; return the exit status."""
    output, user = Output(), user or getpass.getuser()
    with opened(url) as store:
        if options.campaign is not None:
            store.add_tasks(options.campaign, user, _parameters(options.params or ""))
            return 0
        known = [cluster.name for cluster in store.clusters()]
        rules = None if options.rules is None else load_rules(_text(options.rules), options.rules)
        text = options.jdl if options.file is None else _text(options.file)
        source = options.file or "jdl"
        try:
            read = read_jdl(text or "", user=user, clusters=known, read_file=_text, type=options.kind, rules=rules)
        except InputError as error:
            hint = "" if known else "; no cluster is known yet: add one by batproto grid clusters --add"
            output.error(source, f"{error}{hint}")
            return 1
        for warning in read.warnings:
            output.remark(source, printable(warning))
        number = store.submit(read.campaign, read.parameters, jdl=read.jdl, now=time.time())
        status = store.campaign(number)
        assert status is not None, "it was submitted"
        output.line(("", texts.submitted(safe(status), details=options.details)))
    return 0


def _parameters(text: str) -> list[str]:
    try:
        return msgspec.json.decode(text, type=list[str])
    except msgspec.DecodeError as error:
        raise InputError(f"expected a list of texts in JSON: {error}", "-J") from None


def delete(url: str, user: str, options: DelOptions) -> int:
    """Cancel, pause, resume or purge a campaign, or kill a job; return the exit status."""
    output, user, campaign, job = Output(), user or getpass.getuser(), options.campaign, options.job
    what = options.what or "cancel"
    done = {"cancel": "cancelled", "pause": "paused", "resume": "resumed", "purge": "purged"}[what]
    with opened(url) as store:
        try:
            if campaign is None:
                assert job is not None, "one of both is given"
                store.kill_job(job, user)
                message = f"Job {job} cancelled."
            else:
                getattr(store, what)(campaign, user)
                message = f"Campaign {campaign} {done}."
        except StoreError as error:
            subject = f"campaign {campaign}" if campaign is not None else f"cancel job {job}"
            output.error(f"failed to {what} {subject}" if campaign is not None else f"failed to {subject}", str(error))
            return 1
    if options.verbose:
        output.line(("", message))
    return 0


def events(url: str, user: str, options: EventsOptions) -> int:
    """Show events, or close them; return the exit status."""
    output, user, campaign, event = Output(), user or getpass.getuser(), options.campaign, options.event
    with opened(url) as store:
        if options.fix:
            try:
                closed = store.fix(user, campaign=campaign, event=event, resubmit=options.resubmit)
            except StoreError as error:
                output.error("failed to fix events", str(error))
                return 1
            if options.verbose:
                message = f"Campaign {campaign} events closed." if event is None else f"Event {event} closed."
                output.line(("", message if closed else "No events!"))
            return 0
        if campaign is not None and store.campaign(campaign) is None:
            output.error("grid", texts.not_found(campaign))
            return 1
        found = store.events(campaign, event=event, closed=options.all_events)
    show_events(found, output, as_json=options.as_json)
    return 0


def show_events(found: tuple[GridEvent, ...], output: Output, *, as_json: bool = False) -> None:
    """Print events, with the exit statuses in their messages explained."""
    told = map(texts.explained, found)
    if as_json:
        for each in told:
            output.json(json_of(each))
    else:
        output.line(("", safe_lines(texts.events_list(told))))


def clusters(url: str, options: ClustersOptions) -> int:
    """List the clusters, or change one; return the exit status."""
    output = Output()
    if options.types:
        output.line(("", "\n\n".join(_types())))
        return 0
    with opened(url) as store:
        from batprotocol.campaigns.store import ClusterEntry

        if options.add is not None:
            batch, address = _place(options)
            power = options.power or 1.0
            store.register(
                ClusterEntry(name=options.add, batch=batch, address=address, resources=options.resources, power=power)
            )
        for name, enabled in ((options.enable, True), (options.disable, False)):
            if name is not None:
                store.enable(name, enabled)
        if options.prefer is not None:
            store.prefer(_preference(*options.prefer))
        changed = any((options.add, options.enable, options.disable, options.prefer))
        if not changed or options.level is not None or options.as_json:
            _list_clusters(store, output, options.level, options.as_json)
    return 0


def _place(options: ClustersOptions) -> tuple[str, str]:
    """The type of a cluster, and its address."""
    from batprotocol.campaigns.managers.types import type_in

    if options.local is not None:
        return "local", os.path.abspath(options.local)
    if options.file is None:
        return "dask", options.dask or ""
    return type_in(options.file), os.path.abspath(options.file)


def _types() -> Iterator[str]:
    """The types of clusters, each as a paragraph."""
    from batprotocol.campaigns.managers.types import TYPES

    for name, each in TYPES.items():
        rows = (("resource", each.resource), ("job", each.job), ("can", each.can), ("cannot", each.cannot))
        yield "\n".join([f"{name} ({each.given})", *(f"  {title + ':':<10}{text}" for title, text in rows)])


def _preference(user: str, cluster: str, priority: str) -> UserPriority:
    try:
        return UserPriority(user, cluster, int(priority))
    except ValueError:
        raise InputError(f"expected a whole number, got {priority!r}", "--prefer") from None


def _list_clusters(store: GridStore, output: Output, level: str | None, as_json: bool) -> None:
    found = store.clusters() if as_json else tuple(map(safe, store.clusters()))
    banned = frozenset(event.cluster or "" for event in store.events() if event.code == "BLACKLIST")
    if as_json:
        for each in found:
            output.json(json_of(each))
    elif level == "more":
        for each in found:
            output.line(("", texts.cluster_details(_with_details(each), blacklisted=each.name in banned)))
    elif level == "usage":
        for status in map(safe, store.gridstatus()):
            usage = f"{status.cluster}: {status.used}/{status.max} used, {status.free} free"
            output.line(("", f"{usage} ({age(time.time() - status.time)} ago)"))
    elif found:
        output.line(("", texts.clusters_list(found, banned, info=level == "infos")))


def _with_details(where: ClusterEntry) -> ClusterEntry:
    details = (("address", where.address), ("resources", "all" if where.resources is None else str(where.resources)))
    return msgspec.structs.replace(where, details=details)


# `batproto grid stat`: the state of campaigns and jobs, in the tables of CiGri 3 and CiGri 2.


WIPED = frozenset(["FRAG", "FRAG_STALE", "CIGRI_WALLTIME", "REPLICA", "USER_FRAG"])
"""The events of jobs that the grid has killed: they do not count as failed."""


def stat(url: str, options: StatOptions) -> int:
    """Print the state of campaigns or of a job; return the exit status."""
    output = Output()
    with opened(url) as store:
        if options.job is not None:
            return _job(store, options.job, output, options.as_json)
        if options.campaign is not None:
            return _stat_of_campaign(store, options.campaign, output, options)
        chosen = store.campaigns(options.of_user, ended=options.all_campaigns or options.summary is not None)
        if options.summary is not None:
            wanted = gridstat2.read_range(options.summary)
            counted = [(safe(each), _counts(store, each)) for each in chosen if each.campaign.id in wanted]
            output.line(("", gridstat2.summary(counted)))
        else:
            _list(chosen, output, dump=options.dump, as_json=options.as_json)
    return 0


def _stat_of_campaign(store: GridStore, campaign: int, output: Output, options: StatOptions) -> int:
    status = store.campaign(campaign)
    if status is None:
        output.error("grid", texts.not_found(campaign))
        return 1
    if options.jdl:
        output.line(("", texts.pretty_jdl(store.jdl(campaign) or "{}")))
    elif options.events:
        show_events(store.events(campaign), output, as_json=options.as_json)
    elif options.csv:
        output.line(("", gridstat2.jobs_csv(_jobs(store, campaign), guard=options.spreadsheet)))
    elif options.dump or options.as_json:
        _list((status,), output, dump=options.dump, as_json=options.as_json)
    else:
        _campaign(store, status, output, options.full)
    return 0


def _list(chosen: Iterable[CampaignStatus], output: Output, *, dump: bool, as_json: bool) -> None:
    if dump:
        output.json(texts.campaigns_dump(chosen))
    elif as_json:
        for each in chosen:
            output.json(json_of(each))
    else:
        output.line(("", texts.campaigns_table(map(safe, chosen))))


def _campaign(store: GridStore, status: CampaignStatus, output: Output, full: bool) -> None:
    number = status.campaign.id
    durations = store.durations(number)
    counts = store.event_counts(number)
    again = sum(counts.get(code, 0) for code in RESUBMITTED)
    expected = next((each for each in store.forecasts(number) if each.cluster is None), None)
    end = None if expected is None else expected.end
    statistics = texts.CampaignStatistics(
        durations=sum(durations.values(), Durations()),
        throughput=None if expected is None else expected.throughput,
        remaining=None if end is None else max(0.0, end - time.time()),
        failed=sum(count for code, count in counts.items() if code not in WIPED) - again,
        resubmitted=again,
    )
    active = Counter(job.cluster for job in store.jobs(number, active=True))
    lines = [
        texts.ClusterLine(
            cluster=each.cluster,
            active_jobs=active[each.cluster],
            prologue_ok=not each.prologue or each.cluster in status.prologue_done,
            epilogue_ok=not each.epilogue or each.cluster in status.epilogue_done,
        )
        for each in status.campaign.clusters
    ]
    tasks = [*map(safe, _tasks(store, number))] if full else None
    output.line(("", texts.campaign_report(safe(status), statistics, map(safe, lines), tasks)))


def _tasks(store: GridStore, campaign: int) -> list[texts.TaskLine]:
    newest: dict[int, GridJob] = {job.task: job for job in store.jobs(campaign) if job.task is not None}
    lines = []
    for task in store.tasks(campaign):
        job = newest.get(task.id) if task.state != "pending" else None
        if job is None:
            lines.append(texts.TaskLine(task=task, state=str(task.state)))
        else:
            lines.append(texts.TaskLine(task=task, state=str(job.state), job=job, cluster=job.cluster))
    return lines


def _jobs(store: GridStore, campaign: int) -> list[tuple[GridJob, GridTask]]:
    tasks = {task.id: task for task in store.tasks(campaign)}
    return [(safe(job), safe(tasks[job.task])) for job in store.jobs(campaign) if job.task is not None]


def _counts(store: GridStore, status: CampaignStatus) -> gridstat2.Counts:
    running = sum(job.state is GridJobState.RUNNING for job in store.jobs(status.campaign.id, active=True))
    return gridstat2.Counts(waiting=status.pending + status.active - min(running, status.active), running=running)


def _job(store: GridStore, number: int, output: Output, as_json: bool) -> int:
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
    output.line(("", texts.job_report(safe(job), safe(status.campaign), task, safe(cluster))))
    return 0


# `batproto grid output`: the output of jobs that did not end well.


KINDS = (("stdout", "standard output"), ("stderr", "standard error"))


def show_output(url: str, options: OutputOptions) -> int:
    """Print the output that the store keeps; return the exit status.

    Jobs of a campaign that did not fail are left out, unless `every` asks for them: a campaign on idle resources has
    many jobs that were killed and run again, and they hide those that failed.
    """
    output, campaign, job = Output(), options.campaign, options.job
    with opened(url) as store:
        if campaign is not None and store.campaign(campaign) is None:
            output.error("grid", texts.not_found(campaign))
            return 1
        found = store.job(job) if job is not None else None
        if job is not None and found is None:
            output.error("grid", f"Job {job} not found!")
            return 1
        again = None if campaign is None or options.every else _resubmitted(store, campaign)
        any_kept, left_out = False, 0
        for each, kept in store.outputs(campaign, job=job):
            any_kept = True
            if again is not None and (each.id in again or each.kill not in (None, KillReason.USER)):
                left_out += 1
            elif options.as_json:
                output.json(json_of(kept))
            elif options.kind is not None and job is not None:
                _print(output, getattr(kept, options.kind))
            else:
                _show(output, each, kept, options.kind)
        if not any_kept and not options.as_json:
            output.remark("grid", _why_not(found))
        if left_out:
            jobs = "1 job that was killed or runs" if left_out == 1 else f"{left_out} jobs that were killed or run"
            output.remark("grid", f"left out: the output of {jobs} again without you; --all prints it")
    return 0


def _resubmitted(store: GridStore, campaign: int) -> set[int | None]:
    """The jobs whose tasks went back into the bag when they ended."""
    return {event.job for event in store.events(campaign, closed=True) if event.code in RESUBMITTED}


def _show(output: Output, job: GridJob, kept: JobOutput, kind: str | None) -> None:
    how = "was killed" if job.exit_code is None else exit_text(job.exit_code)
    output.line(("heading", f"job {job.id} on {job.cluster}: {how}"))
    for name, title in KINDS:
        if kind in (None, name):
            text = getattr(kept, name)
            output.line(("detail", f"{title}:" if text else f"{title}: nothing"))
            if text:
                _print(output, text)


def _print(output: Output, text: str) -> None:
    output.line(("", safe_lines(text.removesuffix("\n"))))


def _why_not(job: GridJob | None) -> str:
    if job is None:
        return "there is no output: only that of jobs that do not end well is kept"
    if not job.state.ended:
        return f"there is no output of job {job.id} yet: it has not ended"
    return (
        f"there is no output of job {job.id}: only that of jobs that do not end well is kept;  "
        f"for a cluster of --local FOLDER, see FOLDER/output/{job.id}.stdout and .stderr"
    )
