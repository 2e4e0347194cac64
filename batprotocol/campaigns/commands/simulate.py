"""`batproto grid simulate`: campaigns on simulated clusters, and the results."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import msgspec

from batprotocol._util.extras import installing
from batprotocol._util.files import naming
from batprotocol.campaigns.commands.requests import json_of, opened
from batprotocol.campaigns.commands.run import settings_of
from batprotocol.cli.terminal.output import Output, ProgressBar
from batprotocol.errors import PackageMissing
from batprotocol.simulator import EXAMPLE_PLATFORM, Platform, read_platform, read_workload
from batprotocol.workloads.commands.texts import read_text

__all__ = ["simulate"]


def simulate(
    url: str,
    path: str | None,
    *,
    campaign: str | None,
    seconds: float,
    platform: str | None,
    workloads: Sequence[str],
    load: float,
    length: float,
    jobs: int,
    output: str | None,
    as_json: bool,
    **settings: Any,
) -> int:
    """Simulate, and print the results; the exit status is 1 if a campaign has not ended."""
    try:
        from batprotocol.campaigns.simulation import GridScheduler
        from batprotocol.campaigns.simulation.report import Regulation, regulation_of, report_of
    except ImportError as error:
        raise PackageMissing(f"campaigns need the package {error.name}: {installing('campaigns')}") from None
    from batprotocol.simulator import simulate as run

    logging.basicConfig(level=logging.ERROR)
    if output is not None and find_spec("matplotlib") is None:
        raise PackageMissing(f"plots need the package matplotlib: {installing('plots')}")
    printed, given = Output(), settings_of(settings)
    if campaign is not None:
        plan, own, size = _planned(url, campaign, given, seconds=seconds, load=load)
    else:
        plan, own, size = _inputs(path, given, settings, load=load, length=length, jobs=jobs)
    hosts = read_platform(platform) if platform is not None else Platform.homogeneous(size)
    if workloads:
        own = [read_workload(each, name=f"w{number}") for number, each in enumerate(workloads)]
    rates: dict[tuple[int, str], float] = {}
    regulation: list[Regulation] = []
    with printed.progress(counted="cycles") as bar:

        def watch(cycle: Any) -> None:
            regulation.extend(regulation_of(cycle, rates))
            _show_progress(bar, cycle)

        scheduler = GridScheduler(plan, watch)
        run(hosts, own, scheduler)
    report = report_of(scheduler)
    if as_json:
        printed.json(json_of(report))
    else:
        printed.line(("", "\n".join(_lines(report))))
    if output is not None:
        from batprotocol.campaigns.simulation.plots import write_plots

        usage = {name: cluster.usage.points for name, cluster in scheduler.clusters.items()}
        write_plots(output, report, usage, regulation)
        path = os.path.join(output, "report.json")
        with naming(path), open(path, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    return 0 if report.ended is not None else 1


def _inputs(
    path: str | None, given: Any, settings: dict[str, Any], *, load: float, length: float, jobs: int
) -> tuple[Any, list[Any], int]:
    """The plan, the workloads of the clusters, and the number of hosts of a platform for them."""
    from batprotocol.campaigns.simulation.plan import read_plan
    from batprotocol.campaigns.simulation.study import Case

    if path is None:
        case = Case(settings=given, length=length, jobs=jobs, load=load)
        return case.plan(), case.workloads(), case.clusters * case.hosts
    plan = read_plan(read_text(path))
    changed = {name: value for name, value in settings.items() if value is not None}
    plan = msgspec.structs.replace(plan, settings=msgspec.structs.replace(plan.settings, **changed))
    size = sum(wanted for wanted in plan.clusters.values() if isinstance(wanted, int))
    return plan, [], size or len(read_platform(EXAMPLE_PLATFORM).computation_hosts)


def _planned(url: str, path: str, settings: Any, *, seconds: float, load: float) -> tuple[Any, list[Any], int]:
    """The same for a campaign on the clusters of the store."""
    from batprotocol.campaigns.managers.opening import size_of
    from batprotocol.campaigns.simulation.planning import clusters_in, plan_campaign, read_campaign

    jdl = read_campaign(read_text(path), read_text)
    with opened(url) as store:
        known = {where.name: where for where in store.clusters()}
        wanted = [known[name] for name in clusters_in(jdl) if name in known]
        sizes = {each.name: size_of(each.name, each.batch, each.address, each.resources, store.mark) for each in wanted}
    plan, own = plan_campaign(jdl, sizes, seconds=seconds, load=load, settings=settings)
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
