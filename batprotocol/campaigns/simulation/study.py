"""A study: a campaign of many equal tasks on several loaded clusters, for each regulator."""

from __future__ import annotations

from collections.abc import Callable

from batprotocol.campaigns.loop import Cycle
from batprotocol.campaigns.model import Settings
from batprotocol.campaigns.model.record import Record
from batprotocol.campaigns.simulation.plan import CampaignPlan, GridPlan
from batprotocol.campaigns.simulation.report import GridReport, report_of
from batprotocol.campaigns.simulation.scheduler import GridScheduler
from batprotocol.campaigns.simulation.workload import local_workload
from batprotocol.simulator import Platform, Workload, simulate

__all__ = ["Case", "run_case"]


class Case(Record, frozen=True, kw_only=True):
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

    settings: Settings = Settings()
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


def run_case(case: Case, watch: Callable[[Cycle], None] | None = None) -> tuple[GridReport, GridScheduler]:
    """Simulate a case; return its results, and the scheduler with its series."""
    scheduler = GridScheduler(case.plan(), watch)
    simulate(Platform.homogeneous(case.clusters * case.hosts), case.workloads(), scheduler)
    return report_of(scheduler), scheduler
