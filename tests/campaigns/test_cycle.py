"""Whole cycles against clusters that do what they like: no task is lost, no resource is given twice."""

from __future__ import annotations

import math
from collections import Counter

import msgspec
import pytest
from grid_memory import MemoryGrid
from grid_worlds import CAMPAIGNS, CYCLE, ENDS, REGULATORS, SETTINGS, SIZES, Remote, campaign
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.campaigns.entities import scheduling
from batprotocol.campaigns.entities.prediction import allowed
from batprotocol.campaigns.model import (
    CIGRI_2,
    CIGRI_3,
    Campaign,
    CampaignState,
    CampaignStatus,
    CampaignType,
    GridCluster,
    GridJobState,
    GridSettings,
    GridState,
    GridStatus,
    KillReason,
    TaskState,
    UserPriority,
)

WITHOUT_ENGINE = True


def check(grid: MemoryGrid, now: float) -> None:
    """What holds after each cycle."""
    alive = Counter(job.task for job in grid.active())
    for task in grid.tasks.values():
        assert (task.state is TaskState.ACTIVE) <= (alive[task.id] > 0), f"task {task.id} is lost"
        assert (task.state is TaskState.PENDING) <= (alive[task.id] == 0), f"task {task.id} runs and waits"
        assert alive[task.id] <= max(grid.settings.copies, 1)
    for states in grid.endings.values():
        assert states.count(TaskState.TERMINATED) <= 1
    submitted = [task for each in grid.decisions.submissions if not each.replica for task in each.tasks]
    assert len(submitted) == len(set(submitted)), "a task is submitted twice"
    for name, status in grid.gridstatus.items():
        waiting = [job for job in grid.active() if job.cluster == name and job.state is GridJobState.REMOTE_WAITING]
        left = [job for job in waiting if job.kill is None]
        assert len(left) <= allowed(status.max, grid.settings.flood_rate)
        given_away = sum(order.resources for order in grid.decisions.orders if order.cluster == name)
        assert given_away <= status.free + status.max * grid.settings.order_flood_rate + 1e-9
    for forecast in grid.decisions.forecasts:
        numbers = (forecast.ratio, forecast.average, forecast.deviation, forecast.throughput, forecast.end)
        assert all(number is None or (math.isfinite(number) and number >= 0) for number in numbers)


@given(settings=SETTINGS, campaigns=CAMPAIGNS, data=st.data())
def test_no_task_is_lost(settings: GridSettings, campaigns: list[tuple[Campaign, int]], data: st.DataObject) -> None:
    """Jobs end in all ways, clusters are silent for a while and give resources to others, submissions are forgotten."""
    grid = MemoryGrid((GridCluster(name=name) for name in SIZES), settings)
    remotes = {name: Remote(name, size) for name, size in SIZES.items()}
    for each, tasks in campaigns:
        most = len(each.clusters) if each.type is CampaignType.TEST else tasks  # as the JDL has it
        grid.submit(each, [str(number) for number in range(min(tasks, most))])
    now = 0.0
    for _ in range(data.draw(st.integers(1, 8), "cycles")):
        silent = data.draw(st.sets(st.sampled_from(sorted(SIZES)), max_size=1), "silent")
        grid.run((each.observation(now, "TIMEOUT" if each.name in silent else None) for each in remotes.values()), now)
        check(grid, now)
        for remote in remotes.values():
            remote.local = data.draw(st.integers(0, 2), "local")
            if data.draw(st.booleans(), "it hears"):
                remote.take([job for job in grid.active() if job.cluster == remote.name], now)
            running = [number for number, job in remote.jobs.items() if job.state is GridJobState.RUNNING]
            for number in running:
                how = data.draw(st.sampled_from(ENDS) | st.none(), "end")
                if how is not None:
                    remote.end(number, how, now + 5)
        now += CYCLE
    _all_ends_well(grid, remotes, now)


def _all_ends_well(grid: MemoryGrid, remotes: dict[str, Remote], now: float) -> None:
    """From now on every job ends well and users fix all events: then each task must end, and each campaign."""
    for _ in range(80):
        for number, event in grid.events.items():
            grid.events[number] = msgspec.structs.replace(event, state="closed")
        grid.run((each.observation(now) for each in remotes.values()), now)
        check(grid, now)
        for remote in remotes.values():
            remote.local = 0
            remote.take([job for job in grid.active() if job.cluster == remote.name], now)
            for number, job in remote.jobs.items():
                if job.state is GridJobState.RUNNING:
                    remote.end(number, "well", now + 5)
        now += CYCLE
        if all(each.state is CampaignState.TERMINATED for each in grid.campaigns.values()):
            break
    for each in grid.campaigns.values():
        if each.state is not CampaignState.TERMINATED:  # some cluster can never hold its jobs, or must not
            fits = [int(on.resources.removeprefix("/cpu=")) <= SIZES[on.cluster] for on in each.clusters]
            hopeless = not all(fits) if each.type is CampaignType.TEST else not any(fits)
            assert hopeless or each.clusters[0].max_jobs == 0, grid.status(each)
    over = {TaskState.TERMINATED, TaskState.EVENT, TaskState.CANCELLED}
    for task in grid.tasks.values():
        if grid.campaigns[task.campaign].state is CampaignState.TERMINATED:
            assert task.state in over


def test_a_job_that_ended_is_not_killed() -> None:
    """It was to be killed as it waited, but ran and ended well before its cluster heard of that."""
    grid = MemoryGrid((GridCluster(name="a"),), GridSettings())
    grid.submit(campaign("u", "a"), ["t"])
    remote = Remote("a", 2)
    grid.run([remote.observation(0)], 0)
    remote.take(list(grid.active()), 0)
    grid.kill(1, KillReason.OVERFLOW)
    remote.end(1, "well", 5)
    grid.run([remote.observation(15)], 15)
    assert grid.tasks[1].state is TaskState.TERMINATED
    assert grid.jobs[1].state is GridJobState.TERMINATED
    assert grid.campaigns[1].state is CampaignState.TERMINATED


def test_the_first_copy_ends_the_others() -> None:
    """Finalize copies the last task to the other cluster; when that is done, the first copy is killed."""
    grid = MemoryGrid((GridCluster(name="a"), GridCluster(name="b")), GridSettings())
    grid.submit(campaign("u", "a", "b"), ["t"])
    remotes = [Remote("a", 1), Remote("b", 1)]
    for now in (0.0, 15.0):
        grid.run([each.observation(now) for each in remotes], now)
        for remote in remotes:
            remote.take([job for job in grid.active() if job.cluster == remote.name], now)
    assert [(job.cluster, job.replica) for job in grid.active()] == [("a", False), ("b", True)]
    remotes[1].end(2, "well", 20)
    update, _ = grid.run([each.observation(30) for each in remotes], 30)
    assert [(wipe.job, wipe.reason) for wipe in update.wipes] == [(1, KillReason.REPLICA)]
    remotes[0].take(list(grid.active()), 30)
    grid.run([each.observation(45) for each in remotes], 45)
    assert grid.endings == {1: [TaskState.TERMINATED]}
    assert [job.state for job in grid.jobs.values()] == [GridJobState.EVENT, GridJobState.TERMINATED]


def test_what_a_cluster_never_heard_of_is_submitted_again_under_its_number() -> None:
    grid = MemoryGrid((GridCluster(name="a"),), GridSettings())
    grid.submit(campaign("u", "a"), ["t"])
    remote = Remote("a", 2)
    grid.run([remote.observation(0)], 0)
    update, decisions = grid.run([remote.observation(15)], 15)  # the loop died before it told the cluster
    assert update.relaunch == (1,)
    assert decisions.submissions == ()


def test_a_silent_cluster_is_not_used_until_it_answers() -> None:
    grid = MemoryGrid((GridCluster(name="a"),), GridSettings())
    grid.submit(campaign("u", "a"), ["t"])
    remote = Remote("a", 2)
    grid.run([remote.observation(0, "TIMEOUT")], 0)
    grid.run([remote.observation(15, "TIMEOUT")], 15)
    assert [(event.code, event.class_) for event in grid.open_events()] == [
        ("TIMEOUT", "cluster"),
        ("BLACKLIST", "cluster"),
    ]
    _, decisions = grid.run([remote.observation(30)], 30)
    assert grid.open_events() == ()
    assert decisions.orders


EACH = {name: GridSettings(regulator=name) for name in REGULATORS} | {"CiGri 2": CIGRI_2, "CiGri 3": CIGRI_3}


@pytest.mark.parametrize("name", EACH)
def test_each_regulator_fills_a_cluster_with_long_jobs(name: str) -> None:
    """Jobs of ten cycles: after some of these, all resources are used, whatever regulates."""
    grid = MemoryGrid((GridCluster(name="a"),), EACH[name])
    grid.submit(campaign("u", "a"), [str(number) for number in range(300)])
    remote, now, used = Remote("a", 20), 0.0, []
    for _ in range(40):
        for number, job in remote.jobs.items():
            if job.state is GridJobState.RUNNING and now - (job.start_time or 0) >= 150:
                remote.end(number, "well", now)
        grid.run([remote.observation(now)], now)
        remote.take(list(grid.active()), now)
        used.append(20 - remote.free())
        now += CYCLE
    assert sum(used[10:]) >= 0.85 * 20 * len(used[10:])


def test_the_affinity_example_of_the_specification() -> None:
    names = ("cluster1", "cluster2")
    campaigns = [msgspec.structs.replace(campaign(f"user{number}", *names), id=number) for number in (1, 2, 3)]
    grid = GridState(
        clusters=tuple(GridCluster(name=name) for name in names),
        gridstatus=tuple(GridStatus(cluster=name, max=4, free=4) for name in names),
        campaigns=tuple(CampaignStatus(campaign=each, total=9, pending=9) for each in campaigns),
        priorities=(
            UserPriority("user1", "cluster1"),
            UserPriority("user2", "cluster1"),
            UserPriority("user2", "cluster2"),
        ),
    )
    couples = scheduling.couples(grid, GridSettings(strategy="affinity"))
    assert [(each.campaign, each.clusters) for each in scheduling.launches(couples)] == [
        (1, ("cluster1",)),
        (2, ("cluster1", "cluster2")),
        (1, ("cluster2",)),
        (3, ("cluster1", "cluster2")),
    ]
