"""Single decisions of the entities, where an example explains more than the recorded ones do."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

from batprotocol.campaigns import model
from batprotocol.campaigns.entities import cycle, failures, prediction, regulation, scheduling
from batprotocol.campaigns.model import (
    Campaign,
    CampaignProgress,
    CampaignStatus,
    ClusterProperties,
    ControllerSettings,
    Durations,
    Forecast,
    GridCluster,
    GridEvent,
    GridJob,
    GridJobState,
    GridSettings,
    GridState,
    GridStatus,
    GridTask,
    JobOrder,
    KillReason,
    Observation,
    PiControllerState,
    RemoteEvent,
    RemoteJob,
    Tap,
    TapSettings,
    TaskPriority,
    TaskState,
    ThroughputWindow,
)

WITHOUT_ENGINE = True

COUNTS = st.integers(0, 10**6)
FREE = st.integers(-(10**6), 10**6)  # a cluster's own users may take more than there is
RATIOS = st.none() | st.floats(0, prediction.LARGEST_RATIO)


@given(st.sampled_from(sorted(prediction.ALGORITHMS)), RATIOS, FREE, st.none() | COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
def test_ratios_are_finite(
    algorithm: str,
    ratio: float | None,
    free: int,
    nsub: int | None,
    waiting: int,
    running: int,
    resources: int,
    allowed: int,
) -> None:
    now = prediction.Situation(
        ratio=ratio, free=free, nsub=nsub, waiting=waiting, running=running, resources=resources, allowed=allowed
    )
    new = prediction.next_ratio(now, algorithm)
    assert 0 <= new <= prediction.LARGEST_RATIO
    if waiting > allowed and now.old >= 1:
        assert new <= now.old, "it grows although too many wait"


TIMES = st.floats(0, 1e9)


@given(COUNTS, COUNTS, st.lists(TIMES, max_size=5), COUNTS, TIMES, TIMES, TIMES)
def test_ends_are_finite_or_unknown(
    waiting: int, running: int, took: list[float], finished: int, since: float, age: float, now: float
) -> None:
    end = prediction.end_after(
        waiting=waiting,
        running=running,
        durations=Durations.of(*took),
        window=ThroughputWindow(finished, since if finished else None),
        age=age,
        now=now,
    )
    assert end is None or (math.isfinite(end[0]) and end[0] >= 0)


def test_the_examples_of_ends() -> None:
    """A young campaign is judged by the mean duration of its jobs, an older one by its throughput."""
    young = prediction.end_after(
        waiting=10, running=4, durations=Durations.of(100), window=ThroughputWindow(1, 0.0), age=150, now=150
    )
    old = prediction.end_after(
        waiting=20, running=4, durations=Durations.of(100), window=ThroughputWindow(10, 3000.0), age=3600, now=3600
    )
    assert (young, old) == ((300.0, "average"), (1320.0, "throughput"))
    assert (
        prediction.end_after(waiting=9, running=0, durations=Durations(), window=ThroughputWindow(), age=9, now=9)
        is None
    )


def test_nobody_knows_the_end_where_nothing_has_ended_lately() -> None:
    """The mean of jobs that ended long ago says nothing of those that run now."""
    took = Durations.of(100, 100)
    assert (
        prediction.end_after(waiting=9, running=3, durations=took, window=ThroughputWindow(), age=9000, now=9000)
        is None
    )
    young = prediction.end_after(waiting=9, running=3, durations=took, window=ThroughputWindow(), age=199, now=199)
    assert young == (350.0, "average")
    assert (
        prediction.end_after(waiting=9, running=3, durations=took, window=ThroughputWindow(), age=200, now=200) is None
    )


def test_the_events_of_wipes() -> None:
    """CiGri 2 says FRAG of both that waited; what becomes of their tasks differs by the reason, which is kept apart."""
    jobs = [
        GridJob(
            id=number, campaign=1, task=number, cluster="a", state=GridJobState.REMOTE_WAITING, submission_time=time
        )
        for number, time in ((1, 0.0), (2, 0.0), (3, 9000.0))
    ]
    grid = GridState(now=9000.0, gridstatus=(GridStatus(cluster="a", max=2, free=0),), jobs=tuple(jobs))
    wipes = failures.wipes(grid, GridSettings(flood_rate=1.0, stale=900.0))
    told = [(each.job, each.reason, each.event.code, each.event.message) for each in wipes if each.event]
    assert told == [
        (3, KillReason.OVERFLOW, "FRAG", "Job overflow frag"),
        (1, KillReason.STALE, "FRAG", "RemoteWaiting for too long frag"),
        (2, KillReason.STALE, "FRAG", "RemoteWaiting for too long frag"),
    ]


def test_the_examples_of_slow_start() -> None:
    """1, 2, 4, then one job for the cluster, and on from there."""
    ratio: float | None = None
    seen = []
    for waiting in (0, 0, 11, 0):
        now = prediction.Situation(ratio=ratio, free=20, waiting=waiting, running=3, resources=20, allowed=10)
        ratio = prediction.next_ratio(now, "slow-start")
        seen.append(ratio)
    assert seen == [2.0, 4.0, 0.05, 0.1]


def test_the_examples_of_adaptive_down_exponential_up() -> None:
    now = prediction.Situation(ratio=1.0, free=10, waiting=10, resources=10, allowed=5)
    assert prediction.next_ratio(now, "exponential") == 0.5
    up = msgspec.structs.replace(now, ratio=0.5, waiting=5)
    assert prediction.next_ratio(up, "exponential") == 1.0


def test_a_ratio_that_was_not_used_does_not_grow() -> None:
    """A cluster is full for many cycles: the ratio must not double in each of them."""
    old = Forecast(campaign=1, cluster="a", time=0.0, ratio=2.0, nsub=0, free=0)
    grid = GridState(
        now=15.0,
        clusters=(GridCluster(name="a"),),
        gridstatus=(GridStatus(cluster="a", max=10, free=0),),
        campaigns=(CampaignStatus(campaign=_campaign("a"), total=9, pending=9),),
        progress=(CampaignProgress(campaign=1, cluster="a", durations=Durations.of(10.0)),),
        forecasts=(old,),
    )
    decisions = cycle.decide(grid, GridSettings(regulator="slow-start"), lambda *_: [])
    assert decisions.forecasts[0].ratio == 2.0


def _campaign(*clusters: str, resources: str = "/resource_id=1") -> Campaign:
    properties = tuple(ClusterProperties(cluster=name, exec_file="x", resources=resources) for name in clusters)
    return Campaign(id=1, user="u", name="n", clusters=properties)


@given(st.lists(st.sampled_from(("increase", "decrease", "close", "open")), max_size=30))
def test_a_rate_stays_between_the_first_and_the_greatest(turns: list[str]) -> None:
    settings, tap = TapSettings(grace=0.0), Tap(campaign=1, cluster="a")
    for now, turn in enumerate(turns):
        if turn == "increase":
            tap = regulation.increase_tap(tap, settings)
        elif turn == "decrease":
            tap = regulation.decrease_tap(tap, now, settings)
        else:
            tap = regulation.close_tap(tap, now) if turn == "close" else regulation.open_tap(tap)
        assert settings.rate <= tap.rate <= settings.maximum


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=50))
def test_a_controller_stays_within_its_bounds(waiting: list[int]) -> None:
    settings = ControllerSettings()
    state = PiControllerState(campaign=1, cluster="a")
    for each in waiting:
        state = regulation.controller_step(state, each, settings)
        assert 0 <= state.submitted <= settings.maximum


def test_a_controller_does_not_make_up_for_a_long_silence() -> None:
    """A thousand cycles in which a thousand jobs wait do not keep it from submitting when they are gone."""
    settings = ControllerSettings()
    state = PiControllerState(campaign=1, cluster="a")
    for _ in range(1000):
        state = regulation.controller_step(state, 1000, settings)
    for _ in range(10):
        state = regulation.controller_step(state, 0, settings)
    assert state.submitted > 5


def test_a_queue_that_is_full_gets_no_more() -> None:
    assert regulation.limit_by_tap(3, ahead=10, queued=28) == 2
    assert regulation.limit_by_tap(3, ahead=10, queued=31) == 0
    assert regulation.limit_by_tap(3, max_jobs=4, active=1, queued=2) == 1


TASKS = [GridTask(number, 1, str(number), str(number)) for number in range(30)]
COUPLES = st.tuples(st.integers(1, 3), st.sampled_from("abc"))


@given(st.dictionaries(COUPLES, st.integers(0, 12), max_size=9), st.randoms())
def test_no_task_is_drawn_twice_and_nobody_gets_more_than_is_wanted(
    wanted: dict[tuple[int, str], int], random: st.Random
) -> None:
    candidates = {couple: random.sample(TASKS, random.randint(0, len(TASKS))) for couple in wanted}
    drawn = scheduling.draw(wanted, candidates)
    everything = [task.id for tasks in drawn.values() for task in tasks]
    assert len(everything) == len(set(everything))
    for couple, tasks in drawn.items():
        assert len(tasks) <= wanted[couple]
        places = [candidates[couple].index(task) for task in tasks]
        assert places == sorted(places)


def test_ordered_tasks_are_drawn_from_as_many_as_all_want() -> None:
    """Each cluster's first tasks are the same ones, and still each gets what was ordered."""
    orders = [JobOrder(campaign=1, cluster=name, jobs=10) for name in "abc"]
    submitted = regulation.submissions(
        orders, {1: _campaign("a", "b", "c")}, lambda campaign, cluster, many: TASKS[:many]
    )
    assert [len(each.tasks) for each in submitted] == [10, 10, 10]


JOB = GridJob(id=1, campaign=1, task=5, cluster="a", state=GridJobState.RUNNING, remote_id="77", start_time=1.0)


def _ended(exit_code: int | None = None, *events: str) -> RemoteJob:
    told = tuple(RemoteEvent(each) for each in events)
    return RemoteJob(job=1, state=GridJobState.TERMINATED, exit_code=exit_code, events=told)


@pytest.mark.parametrize(
    ("reason", "state", "affinity"),
    [
        (KillReason.OVERFLOW, TaskState.PENDING, 0),
        (KillReason.STALE, TaskState.PENDING, -1),
        (KillReason.WALLTIME, TaskState.PENDING, -1),
        (KillReason.REPLICA, None, 0),
        (KillReason.USER, TaskState.CANCELLED, 0),
    ],
)
def test_what_becomes_of_a_task_whose_job_we_had_killed(
    reason: KillReason, state: TaskState | None, affinity: int
) -> None:
    verdict = failures.judge(msgspec.structs.replace(JOB, kill=reason), _ended(None, "FRAG_JOB_REQUEST"))
    assert (verdict.state, verdict.task, verdict.affinity) == (GridJobState.EVENT, state, affinity)
    assert verdict.events == ()


def test_jobs_of_campaigns_that_were_cancelled_are_no_trouble() -> None:
    """Such a campaign is not in the grid any more, but its jobs are until their cluster has killed them."""
    grid = GridState(now=1e6, gridstatus=(GridStatus(cluster="a", max=1, free=0),), jobs=(JOB,))
    assert cycle.decide(grid, GridSettings(), lambda *_: []).wipes == ()


def test_a_job_that_a_cluster_does_not_take_keeps_its_campaign_off_it() -> None:
    verdict = failures.judge(JOB, _ended(None, "REFUSED"))
    assert (verdict.task, verdict.events[0].blacklists) == (TaskState.PENDING, True)


def test_a_job_that_its_cluster_runs_again_is_followed() -> None:
    again = RemoteEvent("RESUBMIT_JOB_AUTOMATICALLY", "resubmitted (new id = 4711)")
    remote = RemoteJob(job=1, state=GridJobState.TERMINATED, events=(again,))
    seen = Observation(cluster="a", time=10.0, max=1, free=1, jobs=(remote,))
    update = failures.update([JOB], [seen], now=10.0)
    assert [(change.state, change.remote_id) for change in update.jobs] == [(GridJobState.SUBMITTED, "4711")]
    assert update.tasks == ()


def test_a_lost_job_is_run_again_before_others() -> None:
    seen = Observation(cluster="a", time=10.0, max=1, free=1)
    update = failures.update([JOB], [seen], now=10.0)
    (change,) = update.tasks
    assert (change.state, change.priority) == (TaskState.PENDING, TaskPriority.RESUBMITTED)
    assert update.events[0].message == "Resubmit cause: LOST"


def test_a_copy_that_fails_leaves_its_task_to_the_other() -> None:
    copy = GridJob(id=2, campaign=1, task=5, cluster="b", replica=True, state=GridJobState.RUNNING)
    seen = Observation(cluster="a", time=10.0, max=1, free=1, jobs=(_ended(256),))
    update = failures.update([JOB, copy], [seen], now=10.0)
    assert update.tasks == ()
    assert [event.code for event in update.events] == ["EXIT_ERROR"]


@pytest.mark.parametrize("exit_code", [9, 137, 139, 128 << 8, 130 << 8, 137 << 8, 139 << 8, 255 << 8, 1 << 8 | 9])
def test_an_exit_status_is_told_as_wait_gives_it(exit_code: int) -> None:
    """CiGri looks for 66 and 67 only, and does not tell a shell's codes for signals from other codes."""
    verdict = failures.judge(JOB, RemoteJob(job=JOB.id, state=GridJobState.TERMINATED, exit_code=exit_code))
    (event,) = verdict.events
    assert (event.code, event.message) == ("EXIT_ERROR", f"The job exited with exit status {exit_code};")
    assert (event.blacklists, verdict.priority, verdict.affinity) == (True, None, -1)


@pytest.mark.parametrize("exit_code", [137 << 8, 139, 9, None])
@pytest.mark.parametrize("kind", ["EXTERMINATE", "WALLTIME", "BESTEFFORT_KILL", "FRAG_JOB_REQUEST"])
def test_a_kill_counts_more_than_the_exit_status_that_it_leaves(kind: str, exit_code: int | None) -> None:
    told = (RemoteEvent("SWITCH_INTO_ERROR_STATE"), RemoteEvent(kind))
    remote = RemoteJob(job=JOB.id, state=GridJobState.TERMINATED, exit_code=exit_code, events=told)
    verdict = failures.judge(JOB, remote)
    assert [event.code for event in verdict.events if event.class_ == "job"] == ["RESUBMIT"]
    assert verdict.priority is TaskPriority.RESUBMITTED


@pytest.mark.parametrize(
    ("description", "remote_id"),
    [
        ("resubmitted (new id = 4711)", "4711"),
        ("resubmitted (job 12) as (new id = 4711)", "4711"),
        ("resubmitted as job 4712)", "4712"),
        ("resubmitted", None),
    ],
)
def test_the_new_number_of_a_job_that_oar_runs_again(description: str, remote_id: str | None) -> None:
    told = (RemoteEvent("RESUBMIT_JOB_AUTOMATICALLY", description),)
    verdict = failures.judge(JOB, RemoteJob(job=JOB.id, state=GridJobState.TERMINATED, events=told))
    assert verdict.remote_id == remote_id
    assert verdict.events[0].code == ("UNKNOWN_ERROR" if remote_id is None else "OAR_AUTO_RESUBMIT")


def test_a_blacklist_is_lifted_with_its_parent() -> None:
    parent = GridEvent(id=4, class_="job", code="EXIT_ERROR", job=1, campaign=1, cluster="a")
    blacklist = msgspec.structs.replace(failures.blacklist_event(parent, 4), id=5)
    assert failures.lifted([parent, blacklist]) == ()
    assert [change.event for change in failures.lifted([blacklist])] == [5]


def test_a_cycle_of_a_hundred_campaigns_of_ten_thousand_tasks() -> None:
    """It asks for no more tasks than it orders, and takes a small part of a second."""
    names = [f"c{number}" for number in range(4)]
    campaigns = [msgspec.structs.replace(_campaign(*names), id=number) for number in range(1, 101)]
    asked = []

    def tasks(campaign: int, cluster: str, many: int) -> list[GridTask]:
        asked.append(many)
        return [GridTask(campaign * 10_000 + number, campaign, "", "") for number in range(many)]

    grid = GridState(
        clusters=tuple(GridCluster(name=name) for name in names),
        gridstatus=tuple(GridStatus(cluster=name, max=500, free=250) for name in names),
        campaigns=tuple(CampaignStatus(campaign=each, total=10_000, pending=10_000) for each in campaigns),
    )
    begin = time.process_time()
    decisions = cycle.decide(grid, GridSettings(), tasks)
    assert time.process_time() - begin < 1.0
    assert sum(len(each.tasks) for each in decisions.submissions) == 1000
    assert asked == [1000] * 4  # each of the four clusters is offered the same first tasks


@given(st.integers(-5, 20), st.integers(0, 30), st.integers(0, 30), st.sampled_from((0.0, 0.25, 1.0)))
def test_jobs_that_come_take_free_resources_or_wait(free: int, coming: int, waiting: int, flood: float) -> None:
    states = [GridJobState.SUBMITTED] * coming + [GridJobState.REMOTE_WAITING] * waiting
    jobs = tuple(GridJob(id=id, campaign=1, task=id, cluster="a", state=state) for id, state in enumerate(states, 1))
    status = GridStatus(cluster="a", time=0.0, max=20, free=free)
    found = scheduling.offers(GridState(gridstatus=(status,), jobs=jobs), GridSettings(order_flood_rate=flood))["a"]
    left = max(0, free) - coming
    assert found == max(0, left) + max(0, 20 * flood - waiting - max(0, -left))


def _modules() -> Iterator[str]:
    room = ROOT / "batprotocol" / "campaigns"
    single = [room / f"{name}.py" for name in ("_values", "model", "jdl", "text", "gridstat2")]
    yield from (str(path.relative_to(ROOT)) for path in (*single, *sorted((room / "entities").glob("*.py"))))


@pytest.mark.parametrize("module", list(_modules()))
def test_what_decides_knows_no_file_clock_or_database(module: str) -> None:
    source = (ROOT / module).read_text()
    imported = set(re.findall(r"^(?:from|import) ([a-z_]+)", source, re.MULTILINE))
    assert not imported & {"asyncio", "io", "os", "pathlib", "random", "socket", "sqlalchemy", "subprocess", "time"}
    assert "open(" not in source


def test_the_old_name_of_the_text_of_an_exit_code() -> None:
    with pytest.warns(DeprecationWarning, match=r"model\.said_of_exit is deprecated: use .*model\.exit_text instead$"):
        assert model.said_of_exit is model.exit_text
