"""The results of campaigns on simulated clusters: numbers to compare, series to plot, and studies of regulators."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from batprotocol._util.deprecation import old_names
from batprotocol._util.files import naming
from batprotocol._util.requirements import installing
from batprotocol.campaigns.loop import Cycle
from batprotocol.campaigns.model import CampaignStatus, GridSettings, GridValue, TapState
from batprotocol.campaigns.simulation.plan import CampaignPlan, GridPlan, local_workload
from batprotocol.campaigns.simulation.scheduler import ClusterUsage, GridScheduler, UsagePoint
from batprotocol.errors import PackageMissing
from batprotocol.simulator import Platform, Workload, simulate

__all__ = [
    "ClusterReport",
    "GridReport",
    "RegulationPoint",
    "RegulatorCase",
    "regulation_of",
    "report_of",
    "run_case",
    "write_plots",
]


class ClusterReport(GridValue, frozen=True, kw_only=True):
    """The use of the resources of a cluster while there were tasks to start.

    Args:
        name: the name of the cluster.
        hosts: how many hosts it has.
        seconds: the time in which there were tasks to start, in simulated seconds.
        local: resource seconds of its own jobs in that time.
        used: resource seconds of jobs of campaigns in that time, also of killed jobs.
        lost: resource seconds of killed jobs, in the whole simulation.
        copied: resource seconds of copies that were not needed, in the whole simulation.
        killed: the number of killed jobs, without such copies.
        peak: the greatest number of jobs of campaigns that waited at once.
    """

    name: str
    hosts: int
    seconds: float
    local: float
    used: float
    lost: float
    copied: float
    killed: int
    peak: int

    @property
    def idle(self) -> float:
        """Resource seconds that its own jobs did not use."""
        return self.hosts * self.seconds - self.local


class RegulationPoint(GridValue, frozen=True):
    """The rate of jobs from a campaign to a cluster at one moment.

    Args:
        time: the moment, in simulated seconds.
        campaign: the number of the campaign.
        cluster: the name of the cluster.
        value: the ratio, or the number of jobs that a cycle may submit; 0 while a tap is closed.
    """

    time: float
    campaign: int
    cluster: str
    value: float


class GridReport(GridValue, frozen=True, kw_only=True):
    """The results of a simulation.

    Args:
        clusters: the use of their resources.
        campaigns: the progress of the campaigns.
        began: the time of the submission of the first campaign, in simulated seconds; None without campaigns.
        ended: the time of the end of the last task; None if a task has not ended.
        over: the time of the end of the simulation, or when the clusters had no jobs any more.
        warm_up_cycles: the number of cycles before the submission of the first campaign.
        cycles: the number of cycles after that.
    """

    clusters: tuple[ClusterReport, ...]
    campaigns: tuple[CampaignStatus, ...]
    began: float | None
    ended: float | None
    over: float
    warm_up_cycles: int
    cycles: int

    @property
    def hosts(self) -> int:
        """The number of hosts of all clusters."""
        return sum(cluster.hosts for cluster in self.clusters)

    @property
    def harvested(self) -> float | None:
        """The share of the idle resources that campaigns used while there were tasks to start, or None."""
        idle = sum(cluster.idle for cluster in self.clusters)
        return sum(cluster.used for cluster in self.clusters) / idle if idle > 0 else None

    @property
    def lost(self) -> float:
        """Resource seconds of jobs that were killed and started again."""
        return sum(cluster.lost for cluster in self.clusters)

    @property
    def peak(self) -> int:
        """The greatest number of jobs that waited on a cluster at once."""
        return max((cluster.peak for cluster in self.clusters), default=0)

    @property
    def load(self) -> float | None:
        """The share of all resources that the clusters' own jobs used in that time."""
        whole = sum(cluster.hosts * cluster.seconds for cluster in self.clusters)
        return sum(cluster.local for cluster in self.clusters) / whole if whole > 0 else None

    @property
    def duration(self) -> float | None:
        """Seconds from the first submission to the last end."""
        return None if self.began is None or self.ended is None else self.ended - self.began


def report_of(scheduler: GridScheduler) -> GridReport:
    """The results of a simulation that has ended."""
    begun = {name: measure.time for name, measure in scheduler.begun.items()}
    return GridReport(
        clusters=tuple(_cluster_report(scheduler, name, cluster.usage) for name, cluster in scheduler.clusters.items()),
        campaigns=scheduler.store.campaigns(ended=True),
        began=min(begun.values(), default=None),
        ended=scheduler.ended_at,
        over=max((cluster.usage.points[-1].time for cluster in scheduler.clusters.values()), default=0.0),
        warm_up_cycles=scheduler.warm_up_cycles,
        cycles=scheduler.cycles,
    )


def _cluster_report(scheduler: GridScheduler, name: str, usage: ClusterUsage) -> ClusterReport:
    end = usage.measure(usage.points[-1].time)
    first, last = scheduler.begun.get(name, end), scheduler.drained.get(name, end)
    return ClusterReport(
        name=name,
        hosts=usage.hosts,
        seconds=last.time - first.time,
        local=last.local - first.local,
        used=last.campaigns - first.campaigns,
        lost=usage.lost,
        copied=usage.copied,
        killed=usage.killed,
        peak=usage.peak,
    )


def regulation_of(cycle: Cycle, rates: dict[tuple[int, str], float]) -> list[RegulationPoint]:
    """The rates of the regulators in a cycle.

    Args:
        cycle: the cycle.
        rates: the last rates of taps and controllers, which a cycle has only if they change. They are updated.
    """
    decisions = cycle.decisions
    for tap in decisions.taps:
        rates[tap.campaign, tap.cluster] = float(tap.rate) if tap.state is TapState.OPEN else 0.0
    for state in decisions.controllers:
        rates[state.campaign, state.cluster] = state.submitted
    ratios = {
        (each.campaign, each.cluster): each.ratio
        for each in decisions.forecasts
        if each.cluster is not None and each.ratio is not None
    }
    found = {**rates, **ratios}
    return [RegulationPoint(cycle.now, campaign, cluster, value) for (campaign, cluster), value in found.items()]


# A study: a campaign of many equal tasks on several loaded clusters, for each regulator.


class RegulatorCase(GridValue, frozen=True, kw_only=True):
    """One simulation of a study.

    Args:
        settings: the settings of the grid.
        length: the duration of a task, in cycles.
        jobs: how many tasks the campaign has.
        clusters: the number of clusters, which are equal.
        hosts: how many hosts each has.
        load: the share of the hosts that their own jobs use on average.
        local_seconds: the mean duration of their own jobs.
        cycle: the time from one cycle to the next, in seconds.
        warm_up: the time of the submission of the campaign, in seconds, when the clusters are loaded.
        seed: the seed of the clusters' own jobs.
    """

    settings: GridSettings = GridSettings()
    length: float = 1.0
    jobs: int = 10_000
    clusters: int = 4
    hosts: int = 128
    load: float = 0.6
    local_seconds: float = 600.0
    cycle: float = 15.0
    warm_up: float = 3600.0
    seed: int = 0

    @property
    def horizon(self) -> float:
        """The time in which the clusters' own jobs arrive, in seconds: far beyond the end of the campaign."""
        idle = self.clusters * self.hosts * (1 - self.load)
        slowest = max(self.length, 2.0) * self.cycle * self.jobs / idle
        return self.warm_up + 10 * slowest + 200 * self.length * self.cycle

    def plan(self) -> GridPlan:
        """The grid."""
        names = [f"c{number}" for number in range(1, self.clusters + 1)]
        seconds = self.length * self.cycle
        walltime = round(10 * seconds + 60)
        jdl = {
            "name": "study",
            "nb_jobs": self.jobs,
            "walltime": f"{walltime // 3600:02}:{walltime // 60 % 60:02}:{walltime % 60:02}",
            "clusters": {name: {"exec_file": "study"} for name in names},
        }
        campaign = CampaignPlan(jdl=jdl, submission_time=self.warm_up, duration=seconds)
        clusters: dict[str, int | str] = dict.fromkeys(names, self.hosts)
        return GridPlan(
            campaigns=(campaign,), clusters=clusters, queue="easy", cycle=self.cycle, settings=self.settings, stop=True
        )

    def workloads(self) -> list[Workload]:
        """The clusters' own jobs."""
        return [
            local_workload(
                self.hosts, self.horizon, load=self.load, mean_seconds=self.local_seconds, seed=self.seed + each
            )
            for each in range(self.clusters)
        ]


def run_case(case: RegulatorCase, watch: Callable[[Cycle], None] | None = None) -> tuple[GridReport, GridScheduler]:
    """Simulate a case; return its results, and the scheduler with its series."""
    scheduler = GridScheduler(case.plan(), watch)
    simulate(Platform.homogeneous(case.clusters * case.hosts), case.workloads(), scheduler)
    return report_of(scheduler), scheduler


# Plots of a simulated grid, with matplotlib of `batprotocol[plots]`, which is imported at its first use.


FORMATS = ("png", "svg")
_BEFORE = 0.1
"""The part of the time before the campaigns that is drawn, as a share of their time."""
_MOST_NAMED = 12


def write_plots(
    folder: str | os.PathLike[str],
    report: GridReport,
    usage: Mapping[str, Sequence[UsagePoint]],
    regulation: Sequence[RegulationPoint],
) -> list[Path]:
    """Plot the results of a simulation, as `grid.png` and `grid.svg`; return the files.

    Args:
        folder: the folder of the files; made if it is missing.
        report: the results.
        usage: the series of each cluster, by name.
        regulation: the series of the regulators.

    Raises:
        PackageMissing: matplotlib is not installed.
    """
    figure = draw(report, usage, regulation)
    import matplotlib
    from matplotlib import pyplot

    with matplotlib.rc_context({"svg.hashsalt": "batprotocol"}):
        Path(folder).mkdir(parents=True, exist_ok=True)
        paths = [Path(folder) / f"grid.{format}" for format in FORMATS]
        for path in paths:
            with naming(path):
                figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)
    return paths


def draw(report: GridReport, usage: Mapping[str, Sequence[UsagePoint]], regulation: Sequence[RegulationPoint]) -> Any:
    """The figure that `write_plots` writes: resources, waiting jobs and regulation over time, and areas.

    Raises:
        PackageMissing: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise PackageMissing(f"plots need the package matplotlib: {installing('plots')}") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    shown = _Time(report)
    figure: Any
    figure, ((resources, waiting), (rates, areas)) = pyplot.subplots(2, 2, figsize=(12, 7), layout="constrained")
    _draw_resources(resources, usage, report.hosts, shown)
    _draw_waiting(waiting, usage, shown)
    _draw_regulation(rates, regulation, shown)
    _draw_areas(areas, report)
    return figure


class _Time:
    """The time that is drawn: it begins a little before the submission of the first campaign.

    Without campaigns, it is the whole time.
    """

    def __init__(self, report: GridReport) -> None:
        self.zero = report.began or 0.0
        ended = None if report.began is None else report.ended
        span = (report.over if ended is None else ended) - self.zero
        self.last = 1.02 * span or 1.0
        self.first = max(-self.zero, -_BEFORE * span)
        self.words = "seconds since the first campaign was submitted" if report.began else "simulated seconds"

    def cut(self, times: Sequence[float]) -> tuple[list[float], slice]:
        """The times on the axis, and their slice: with the last one before and the first one after."""
        moved = [time - self.zero for time in times]
        begin, end = max(0, bisect_right(moved, self.first) - 1), bisect_left(moved, self.last) + 1
        return [min(max(time, self.first), self.last) for time in moved[begin:end]], slice(begin, end)


def _draw_resources(axis: Any, usage: Mapping[str, Sequence[UsagePoint]], hosts: int, shown: _Time) -> None:
    """The used resources over time, of all clusters."""
    times = sorted({point.time for points in usage.values() for point in points})
    local, campaigns = [0] * len(times), [0] * len(times)
    for points in usage.values():
        place = 0
        for number, time in enumerate(times):
            while place + 1 < len(points) and points[place + 1].time <= time:
                place += 1
            local[number] += points[place].local
            campaigns[number] += points[place].campaigns
    drawn, part = shown.cut(times)
    labels = ("local jobs", "campaigns")
    axis.stackplot(drawn, local[part], campaigns[part], labels=labels, step="post", linewidth=0)
    axis.axhline(hosts, color="black", linestyle="--", linewidth=1, label=f"all {hosts:,} hosts")
    _dress(axis, "resources used", shown, legend=True)


def _draw_waiting(axis: Any, usage: Mapping[str, Sequence[UsagePoint]], shown: _Time) -> None:
    for name, points in usage.items():
        drawn, part = shown.cut([point.time for point in points])
        axis.step(drawn, [point.waiting for point in points[part]], where="post", label=name)
    axis.yaxis.get_major_locator().set_params(integer=True)
    _dress(axis, "jobs of campaigns that wait", shown, legend=len(usage) <= _MOST_NAMED)


def _draw_regulation(axis: Any, regulation: Sequence[RegulationPoint], shown: _Time) -> None:
    lines: dict[str, list[RegulationPoint]] = defaultdict(list)
    for each in regulation:
        lines[f"{each.campaign} on {each.cluster}"].append(each)
    for name, points in lines.items():
        drawn, part = shown.cut([point.time for point in points])
        axis.step(drawn, [point.value for point in points[part]], where="post", label=name)
    _dress(axis, "ratio, or jobs a cycle", shown, legend=0 < len(lines) <= _MOST_NAMED)


def _draw_areas(axis: Any, report: GridReport) -> None:
    """The harvested and the wasted resources, in resource hours."""
    names = [cluster.name for cluster in report.clusters]
    wasted = [(cluster.lost + cluster.copied) / 3600 for cluster in report.clusters]
    used = [cluster.used / 3600 for cluster in report.clusters]
    idle = [max(0.0, cluster.idle - cluster.used) / 3600 for cluster in report.clusters]
    useful = [max(0.0, all_used - waste) for all_used, waste in zip(used, wasted, strict=True)]
    axis.bar(names, useful, label="harvested")
    axis.bar(names, wasted, bottom=useful, label="wasted: killed or copied")
    axis.bar(names, idle, bottom=[a + b for a, b in zip(useful, wasted, strict=True)], label="left idle", alpha=0.3)
    axis.set_title("resource hours while there were tasks to start", fontsize=10)
    axis.legend(fontsize=8)


def _dress(axis: Any, title: str, shown: _Time, *, legend: bool) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(shown.words)
    axis.set_xlim(shown.first, shown.last)
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)
    if legend:
        axis.legend(fontsize=8)


__getattr__ = old_names(__name__, {"Regulation": "RegulationPoint"})
