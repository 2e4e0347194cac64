"""Campaigns on simulated clusters: their own jobs go first, no host is given twice, measured trends are seen."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol import ExecuteJobEvent, Hosts, JobCompletedEvent, Message
from batprotocol.campaigns.loop import Cycle
from batprotocol.campaigns.model import CampaignState, GridSettings, Regulator
from batprotocol.campaigns.simulation import CampaignPlan, GridPlan, GridScheduler, read_plan
from batprotocol.campaigns.simulation.plan import LocalJob, LocalQueue, local_workload
from batprotocol.campaigns.simulation.report import (
    RegulationPoint,
    RegulatorCase,
    draw,
    regulation_of,
    report_of,
    run_case,
)
from batprotocol.campaigns.simulation.scheduler import WORKLOAD
from batprotocol.errors import InputError
from batprotocol.model import DelayProfile
from batprotocol.simulator import JobRow, Platform, StaticJob, Workload, simulate

WITHOUT_ENGINE = True

REGULATORS: tuple[Regulator, ...] = ("slow-start", "two-way", "exponential", "rate", "controller")


def campaign(
    jobs: int = 20, *, clusters: str = "ab", resources: str = "/resource_id=1", seconds: float = 30.0
) -> CampaignPlan:
    says = {name: {"exec_file": "x", "resources": resources} for name in clusters}
    return CampaignPlan(jdl={"name": "n", "nb_jobs": jobs, "clusters": says}, duration=seconds)


class Witness:
    """Who has which hosts: nobody has one that another has. It is told of all that is said."""

    def __init__(self, hosts: int) -> None:
        self._free = Hosts(range(hosts))
        self._has: dict[str, object] = {}

    def turn(self, message: Message, reply: Message) -> None:
        for event in message.events:
            if isinstance(event, JobCompletedEvent):
                self._free.give_back(self._has.pop(event.job_id))
        for answer in reply.events:
            if isinstance(answer, ExecuteJobEvent):
                self._has[answer.job_id] = self._free.take_these(answer.allocation.host_allocation)

    @property
    def idle(self) -> bool:
        return not self._has


own_jobs = st.lists(st.tuples(st.floats(0, 400), st.integers(1, 4), st.floats(1, 200), st.floats(1, 3)), max_size=25)


def workload(jobs: list[tuple[float, int, float, float]]) -> Workload:
    return Workload(
        [
            StaticJob(
                str(number),
                round(time, 3),
                hosts,
                DelayProfile(round(seconds, 3)),
                walltime=round(seconds * more, 3) + 1,
            )
            for number, (time, hosts, seconds, more) in enumerate(jobs)
        ]
    )


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(
    first=own_jobs,
    second=own_jobs,
    regulator=st.sampled_from(REGULATORS),
    queue=st.sampled_from(["fcfs", "easy"]),
    weight=st.integers(1, 3),
    seconds=st.floats(0.5, 120),
)
def test_no_host_is_given_twice_and_no_task_is_lost(
    first: list[tuple[float, int, float, float]],
    second: list[tuple[float, int, float, float]],
    regulator: Regulator,
    queue: str,
    weight: int,
    seconds: float,
) -> None:
    plan = read_plan(json.dumps({"clusters": {"a": 4, "b": 4}, "queue": queue, "cycle": 10}))
    plan = GridPlan(
        campaigns=(campaign(resources=f"/resource_id={weight}", seconds=round(seconds, 3)),),
        clusters=plan.clusters,
        queue=plan.queue,
        cycle=plan.cycle,
        settings=GridSettings(regulator=regulator),
    )
    cycles: list[Cycle] = []
    scheduler, witness = GridScheduler(plan, cycles.append), Witness(8)
    result = simulate(Platform.homogeneous(8), [workload(first), workload(second)], scheduler, on_turn=witness.turn)
    assert result.is_complete
    assert witness.idle
    (status,) = scheduler.store.campaigns(ended=True)
    assert (status.campaign.state, status.terminated) == (CampaignState.TERMINATED, 20)
    report = report_of(scheduler)
    assert report.ended is not None
    for forecast in (each for cycle in cycles for each in cycle.decisions.forecasts):
        numbers = (forecast.ratio, forecast.average, forecast.throughput, forecast.end)
        assert all(number is None or math.isfinite(number) for number in numbers)


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(jobs=own_jobs, regulator=st.sampled_from(REGULATORS))
def test_a_clusters_own_jobs_do_not_feel_campaigns(
    jobs: list[tuple[float, int, float, float]], regulator: Regulator
) -> None:
    """They start when they would start without, but for the time that a kill takes."""

    def starts(*campaigns: CampaignPlan) -> dict[str, float]:
        plan = GridPlan(campaigns=campaigns, clusters={"a": 4}, cycle=7.0, settings=GridSettings(regulator=regulator))
        result = simulate(Platform.homogeneous(4), workload(jobs), GridScheduler(plan))
        rows: list[JobRow] = result.jobs
        return {row.job_id: row.starting_time for row in rows if row.workload_name != WORKLOAD}

    alone, together = starts(), starts(campaign(30, clusters="a"))
    assert alone.keys() == together.keys()
    assert all(abs(alone[name] - together[name]) < 0.01 for name in alone)


class Everything:
    """The queue as it is defined, with every host and second looked at: an oracle for `LocalQueue`."""

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.waiting: list[LocalJob] = []
        self.running: dict[LocalJob, float] = {}

    def start(self, now: float) -> list[LocalJob]:
        started = []
        for job in list(self.waiting):
            free = self.hosts - sum(each.hosts for each in self.running)
            head = self.waiting[0]
            if job.hosts <= free and (job is head or self._head_start(head, now) == self._head_start(head, now, job)):
                self.waiting.remove(job)
                self.running[job] = now + job.walltime
                started.append(job)
        return started

    def _head_start(self, head: LocalJob, now: float, other: LocalJob | None = None) -> float:
        """When the first job of the queue can start; if this one starts now."""
        ends = {**self.running, **({} if other is None else {other: now + other.walltime})}
        for time in sorted({now, *ends.values()}):
            if self.hosts - sum(job.hosts for job, end in ends.items() if end > time) >= head.hosts:
                return time
        return math.inf


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 9), st.booleans()), max_size=25))
def test_easy_backfilling_is_what_it_should_be(steps: list[tuple[int, int, bool]]) -> None:
    queue, oracle, now = LocalQueue(4, "easy"), Everything(4), 0.0
    for number, (hosts, walltime, ends) in enumerate(steps):
        job = LocalJob(str(number), hosts, float(walltime))
        queue.submit(job)
        oracle.waiting.append(job)
        if ends and oracle.running:
            first = min(oracle.running, key=lambda each: (oracle.running[each], each.name))
            now = max(now, oracle.running.pop(first))
            queue.end(first.name)
        for late in [each for each, end in oracle.running.items() if end <= now]:
            del oracle.running[late]
            queue.end(late.name)
        assert queue.start(now) == oracle.start(now)


def test_clusters_by_property_and_by_hosts() -> None:
    scheduler = GridScheduler(GridPlan(campaigns=(campaign(clusters="c"),), cluster_property="site"))
    simulate(Platform.homogeneous(3, properties={"site": "c"}), [], scheduler)
    assert {name: cluster.local.hosts for name, cluster in scheduler.clusters.items()} == {"c": 3}
    assert scheduler.store.campaigns(ended=True)[0].terminated == 20
    with pytest.raises(InputError, match=r"clusters\.a: expected to take 0 to 3 hosts"):
        simulate(Platform.homogeneous(3), [], GridScheduler(GridPlan(clusters={"a": 4})))
    with pytest.raises(InputError, match=r"clusters\.b"):
        simulate(Platform.homogeneous(3), [], GridScheduler(GridPlan(clusters={"a": "0-1", "b": "1-2"})))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{", "expected a plan of a grid in JSON"),
        ('{"cycle": 0}', "cycle: expected seconds above 0, got 0.0"),
        ('{"campaigns": [{"jdl": {}, "duration": -1}]}', "campaigns[0].duration: expected seconds above 0"),
        ('{"settings": {"regulator": "none"}}', "settings.regulator: invalid enum value 'none'"),
        ('{"power": {"a": 0}}', "power.a: expected a number above 0"),
    ],
)
def test_a_plan_that_is_wrong(text: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        read_plan(text)
    assert str(caught.value).startswith(place)


def test_a_campaign_that_is_wrong_is_refused_before_anything_runs() -> None:
    plan = GridPlan(clusters={"a": 2}, campaigns=(CampaignPlan(jdl={"name": "n", "clusters": {"a": {}}}),))
    with pytest.raises(InputError, match="exec_file"):
        simulate(Platform.homogeneous(2), [], GridScheduler(plan))


def test_tasks_say_how_long_they_take_and_fast_clusters_are_faster() -> None:
    jdl = {"name": "n", "params": ["one d=10", "two d=20", "three x"], "clusters": {"a": {"exec_file": "x"}}}
    plan = GridPlan(
        clusters={"a": 4},
        power={"a": 2.0},
        campaigns=(CampaignPlan(jdl=jdl, duration=40.0),),
        settings=GridSettings(finalize=False),
    )
    result = simulate(Platform.homogeneous(4), [], GridScheduler(plan))
    assert sorted(row.execution_time for row in result.jobs) == [pytest.approx(seconds) for seconds in (5, 10, 20)]


@pytest.mark.slow
def test_the_load_is_what_was_asked_for() -> None:
    jobs = local_workload(64, 100_000.0, load=0.6, seed=1)
    result = simulate(Platform.homogeneous(64), jobs, GridScheduler(GridPlan(queue="easy")))
    area = sum(row.requested_number_of_resources * (row.execution_time or 0.0) for row in result.jobs)
    assert 0.5 < area / (64 * 100_000.0) < 0.7


@pytest.mark.slow
def test_the_trends_that_were_measured() -> None:
    """As in real runs of CiGri 3: little is harvested when tasks are as short as a cycle, and then many jobs wait; a
    kill loses about half a job, or less as the youngest are killed first."""
    reports = {
        length: run_case(
            RegulatorCase(length=length, jobs=300, hosts=16, warm_up=1200.0, settings=GridSettings(regulator="rate"))
        )[0]
        for length in (0.2, 1.0, 6.0)
    }
    harvested = [report.harvested for report in reports.values()]
    assert all(share is not None for share in harvested)
    assert harvested == sorted(harvested, key=lambda share: share or 0.0)
    long = reports[6.0]
    killed = sum(cluster.killed for cluster in long.clusters)
    assert killed > 5
    assert 0 < long.lost / killed < 0.6 * 6.0 * 15.0
    assert long.peak < reports[1.0].peak


@pytest.mark.slow
def test_a_report_tells_the_campaigns_own_time() -> None:
    """What went on before the campaign was submitted is neither its time nor its cycles."""
    plan = GridPlan(
        clusters={"a": 4, "b": 4},
        cycle=10.0,
        campaigns=(msgspec.structs.replace(campaign(16, seconds=15.0), submission_time=200.0),),
        settings=GridSettings(finalize=False),
        stop=True,
    )
    scheduler = GridScheduler(plan)
    simulate(Platform.homogeneous(8), [local_workload(2, 3000.0, seed=1)], scheduler)
    report = report_of(scheduler)
    assert (report.hosts, report.warm_up_cycles) == (8, 20)
    assert report.began is not None
    assert report.duration is not None
    assert 200.0 <= report.began < 211.0
    assert 2 <= report.cycles <= report.duration / 10.0 + 3
    assert report.over >= report.began + report.duration


@pytest.mark.slow
def test_a_plot_shows_the_campaigns_time_and_all_hosts() -> None:
    case = RegulatorCase(length=1.0, jobs=40, clusters=2, hosts=8, warm_up=900.0)
    regulation: list[RegulationPoint] = []
    rates: dict[tuple[int, str], float] = {}
    report, scheduler = run_case(case, lambda cycle: regulation.extend(regulation_of(cycle, rates)))
    usage = {name: cluster.usage.points for name, cluster in scheduler.clusters.items()}
    figure = draw(report, usage, regulation)
    assert report.duration is not None
    *over_time, areas = figure.axes
    for axis in over_time:
        first, last = axis.get_xlim()
        assert axis.get_xlabel() == "seconds since the first campaign was submitted"
        assert first == pytest.approx(-0.1 * report.duration)
        assert last == pytest.approx(1.02 * report.duration)
        for line in axis.get_lines()[:2]:
            assert all(first <= time <= last for time in line.get_xdata()), "times before are cut"
    dashed = over_time[0].get_lines()[0]
    assert dashed.get_label() == "all 16 hosts"
    assert list(dashed.get_ydata()) == [16, 16]
    assert [label.get_text() for label in areas.get_xticklabels()] == ["c1", "c2"]
    campaigns = over_time[0].collections[1].get_paths()[0].vertices
    at = campaigns[:, 0]
    assert 0.9 * report.duration < at.max() - at[campaigns[:, 1] > 0].min()


@pytest.mark.slow
def test_without_a_campaign_all_time_is_drawn() -> None:
    scheduler = GridScheduler(GridPlan(clusters={"a": 4}, stop=False))
    simulate(Platform.homogeneous(4), [local_workload(4, 500.0, seed=1)], scheduler)
    report = report_of(scheduler)
    assert (report.began, report.duration, report.cycles) == (None, None, 0)
    figure = draw(report, {"a": scheduler.clusters["a"].usage.points}, [])
    assert figure.axes[0].get_xlabel() == "simulated seconds"
    assert figure.axes[0].get_xlim() == (0.0, pytest.approx(1.02 * report.over))
