"""`batproto grid run`, the loop with a progress bar until a signal stops it, and `batproto grid simulate`."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from batprotocol._util.files import naming
from batprotocol._util.requirements import installing
from batprotocol.campaigns.commands.requests import json_of, opened
from batprotocol.campaigns.entities.failures import hindrances
from batprotocol.campaigns.model import GridSettings
from batprotocol.campaigns.text import hindrance_sentence
from batprotocol.cli.terminal import Output, ProgressBar, number_of
from batprotocol.errors import PackageMissing, StoreError, printable
from batprotocol.simulator import EXAMPLE_PLATFORM, Platform, read_platform, read_workload
from batprotocol.workloads.commands.inputs import read_text

if TYPE_CHECKING:
    from batprotocol.campaigns.commands.options import GridRunOptions, GridSimulateOptions
    from batprotocol.campaigns.store import GridStore

__all__ = [
    "run",
    "simulate",
]


INTERRUPTED = 130
TERMINATED = 143
"""The exit statuses after SIGINT and SIGTERM, as in shells."""


def run(url: str, options: GridRunOptions) -> int:
    """Run the campaigns; return the exit status."""
    output = Output()
    with opened(url) as store:
        if not store.clusters():
            raise StoreError(f"{store.url}: no cluster is known: add one by batproto grid clusters --add")
        from batprotocol.campaigns.loop import run_campaigns

        with output.progress(counted="tasks") as bar:
            news = _News(output, bar, options.verbose, options.as_json)
            try:
                run_campaigns(
                    store,
                    GridSettings(**options.settings.given()),
                    cycle_seconds=options.cycle,
                    until_idle=options.until_done,
                    until_stuck=options.until_stuck,
                    cycles=options.cycles,
                    on_cycle=news.cycle,
                    on_trouble=news.trouble,
                )
            except (KeyboardInterrupt, SystemExit) as signal:
                output.remark("grid", "stopped; the jobs on clusters go on, and the next run continues")
                return INTERRUPTED if isinstance(signal, KeyboardInterrupt) else TERMINATED
        if not (options.until_done or options.until_stuck):
            return 0
        for number, failed in news.failures(store):
            why = f"batproto grid events -c {number} and batproto grid output -c {number} show why"
            output.error("grid", f"campaign {number}: {number_of(failed, 'task')} did not end well: {why}")
    return 1 if output.failed or news.stuck else 0


class _News:
    """Prints the news of each cycle."""

    def __init__(self, output: Output, bar: ProgressBar, verbose: bool, as_json: bool) -> None:
        self.stuck = False
        self._output = output
        self._bar = bar
        self._verbose = verbose
        self._as_json = as_json
        self._ended: dict[int, int] = {}  # of each campaign, also of those that have ended
        self._totals: dict[int, int] = {}
        self._failed: dict[int, int] = {}  # the failed tasks of each campaign at the first cycle
        self._number = 0
        self._remarks: frozenset[str] = frozenset()
        self._copied: set[int] = set()

    def cycle(self, cycle: Any) -> None:
        campaigns = cycle.grid.campaigns
        self._number += 1
        self.stuck = cycle.stuck
        before = sum(self._ended.values())
        for each in campaigns:
            self._failed.setdefault(each.campaign.id, each.failed)
        self._totals.update({each.campaign.id: each.total for each in campaigns})
        self._ended.update({each.campaign.id: each.terminated + each.failed for each in campaigns})
        total, ended = sum(self._totals.values()), sum(self._ended.values())
        for _ in range(ended - before):
            self._bar.at(ended / total if total else 1.0)
        remarks = frozenset(_remarks(cycle))
        for remark in sorted(remarks - self._remarks):
            self._output.remark("grid", remark)
        self._remarks = remarks
        self._report_copies(cycle)
        if self._as_json:
            self._output.json(json_of(self._summary(cycle)))
        elif self._verbose:
            running = sum(job.state == "running" for job in cycle.grid.jobs)
            waiting = len(cycle.grid.jobs) - running
            text = f"cycle {self._number}: {ended:,} of {total:,} tasks ended, {running:,} jobs run, {waiting:,} wait"
            self._output.line(("", f"{text}, {len(cycle.launched):,} new ones"))

    def trouble(self, reason: str) -> None:
        """Print that the server of the store does not answer."""
        if reason not in self._remarks:
            self._output.remark("grid", f"{reason}; trying again")
            self._remarks |= {reason}

    def failures(self, store: GridStore) -> Iterator[tuple[int, int]]:
        """The campaigns with tasks that did not end well in this run, and how many."""
        for number, before in self._failed.items():
            status = store.campaign(number)
            if status is not None and status.failed > before:
                yield number, status.failed - before

    def _report_copies(self, cycle: Any) -> None:
        for submission in cycle.decisions.submissions:
            number = submission.campaign.id
            if submission.replica and number not in self._copied:
                self._copied.add(number)
                no_copies = "use --no-finalize, or a result_marker in the JDL, to prevent it"
                text = f"campaign {number}: its last tasks are copied, so their commands run twice: {no_copies}"
                self._output.remark("grid", text)

    def _summary(self, cycle: Any) -> dict[str, object]:
        fields = ("total", "pending", "active", "terminated", "failed", "events")
        return {
            "cycle": self._number,
            "time": cycle.now,
            "campaigns": [
                {"id": each.campaign.id, **{name: getattr(each, name) for name in fields}}
                for each in cycle.grid.campaigns
            ],
            "clusters": [{"name": each.cluster, "max": each.max, "free": each.free} for each in cycle.grid.gridstatus],
            "launched": len(cycle.launched),
            "wiped": len(cycle.decisions.wipes),
            "ended": list(cycle.decisions.ended),
            "troubles": sorted(self._remarks),
        }


def _remarks(cycle: Any) -> Iterator[str]:
    """The remarks on a cycle, each of which is printed once while it holds."""
    yield from cycle.troubles
    for each in cycle.observations:
        if each.message:
            yield f"cluster {each.cluster}: {each.message}"
    for hindrance in hindrances(cycle.grid):
        yield printable(hindrance_sentence(hindrance))


# `batproto grid simulate`: campaigns on simulated clusters, and the results.


def simulate(url: str, options: GridSimulateOptions) -> int:
    """Simulate, and print the results; the exit status is 1 if a campaign has not ended."""
    try:
        from batprotocol.campaigns.simulation import GridScheduler
        from batprotocol.campaigns.simulation.report import RegulationPoint, regulation_of, report_of
    except ImportError as error:
        raise PackageMissing(f"campaigns need the package {error.name}: {installing('campaigns')}") from None
    from batprotocol.simulator import simulate as run

    logging.basicConfig(level=logging.ERROR)
    if options.output is not None and find_spec("matplotlib") is None:
        raise PackageMissing(f"plots need the package matplotlib: {installing('plots')}")
    printed = Output()
    plan, own, size = _inputs(options) if options.campaign is None else _planned(url, options.campaign, options)
    hosts = read_platform(options.platform) if options.platform is not None else Platform.homogeneous(size)
    if options.workloads:
        own = [read_workload(each, name=f"w{number}") for number, each in enumerate(options.workloads)]
    rates: dict[tuple[int, str], float] = {}
    regulation: list[RegulationPoint] = []
    with printed.progress(counted="cycles") as bar:

        def watch(cycle: Any) -> None:
            regulation.extend(regulation_of(cycle, rates))
            _show_progress(bar, cycle)

        scheduler = GridScheduler(plan, watch)
        run(hosts, own, scheduler)
    report = report_of(scheduler)
    if options.as_json:
        printed.json(json_of(report))
    else:
        printed.line(("", "\n".join(_lines(report))))
    if options.output is not None:
        from batprotocol.campaigns.simulation.report import write_plots

        usage = {name: cluster.usage.points for name, cluster in scheduler.clusters.items()}
        write_plots(options.output, report, usage, regulation)
        path = os.path.join(options.output, "report.json")
        with naming(path), open(path, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    return 0 if report.ended is not None else 1


def _inputs(options: GridSimulateOptions) -> tuple[Any, list[Any], int]:
    """The plan, the workloads of the clusters, and the number of hosts of a platform for them."""
    from batprotocol.campaigns.simulation.plan import read_plan
    from batprotocol.campaigns.simulation.report import RegulatorCase

    given = options.settings.given()
    if options.plan is None:
        settings = GridSettings(**given)
        case = RegulatorCase(settings=settings, length=options.length, jobs=options.jobs, load=options.load)
        return case.plan(), case.workloads(), case.clusters * case.hosts
    plan = read_plan(read_text(options.plan))
    plan = msgspec.structs.replace(plan, settings=msgspec.structs.replace(plan.settings, **given))
    size = sum(wanted for wanted in plan.clusters.values() if isinstance(wanted, int))
    return plan, [], size or len(read_platform(EXAMPLE_PLATFORM).computation_hosts)


def _planned(url: str, path: str, options: GridSimulateOptions) -> tuple[Any, list[Any], int]:
    """The same for a campaign on the clusters of the store."""
    from batprotocol.campaigns.managers.types import size_of
    from batprotocol.campaigns.simulation.plan import clusters_in, plan_campaign, read_campaign

    jdl = read_campaign(read_text(path), read_text)
    with opened(url) as store:
        known = {where.name: where for where in store.clusters()}
        wanted = [known[name] for name in clusters_in(jdl) if name in known]
        sizes = {each.name: size_of(each.name, each.batch, each.address, each.resources, store.mark) for each in wanted}
    settings = GridSettings(**options.settings.given())
    plan, own = plan_campaign(jdl, sizes, seconds=options.seconds, load=options.load, settings=settings)
    return plan, own, sum(sizes.values())


def _show_progress(bar: ProgressBar, cycle: Any) -> None:
    total = sum(each.total for each in cycle.grid.campaigns)
    ended = sum(each.terminated + each.failed for each in cycle.grid.campaigns)
    bar.at(ended / total if total else 0.0)


def _lines(report: Any) -> list[str]:
    """The report as text."""
    done = sum(each.terminated for each in report.campaigns)
    total = sum(each.total for each in report.campaigns)
    clusters = f"in {len(report.clusters)} clusters" if len(report.clusters) > 1 else "in one cluster"
    lines = [f"hosts: {report.hosts:,} {clusters}", f"tasks: {total:,} ({done:,} ended well)"]
    if report.began is not None:
        whose = "the campaign's own time" if len(report.campaigns) == 1 else "the campaigns' own time"
        end = report.over if report.ended is None else report.ended
        lines.append(f"{whose}: {end - report.began:,.0f} s, {report.cycles:,} cycles")
        if report.ended is None:
            lines[-1] += "; then the remaining tasks were given up"
        if report.warm_up_cycles:
            lines.append(
                f"before it: {report.began:,.0f} s, {report.warm_up_cycles:,} cycles of the clusters' own jobs"
            )
    if report.harvested is not None and report.load is not None:
        lines.append(f"load of the clusters' own jobs: {100 * report.load:.1f}%")
        lines.append(f"idle resources harvested: {100 * report.harvested:.1f}%")
    killed = sum(cluster.killed for cluster in report.clusters)
    lines.append(f"lost to kills: {report.lost / 3600:,.1f} resource hours, {killed:,} jobs")
    lines.append(f"spent on copies: {sum(cluster.copied for cluster in report.clusters) / 3600:,.1f} resource hours")
    lines.append(f"peak of waiting jobs: {report.peak:,}")
    return lines
