"""The store against a grid that is kept in dicts: through the same cycles both know the same, and decide the same."""

from __future__ import annotations

import hypothesis
import msgspec
import pytest
from grid_memory import MemoryGrid
from grid_worlds import CAMPAIGNS, CYCLE, ENDS, SETTINGS, SIZES, Remote
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.campaigns.entities import cycle, failures
from batprotocol.campaigns.model import (
    Campaign,
    CampaignState,
    Decisions,
    GridCluster,
    GridJobState,
    GridSettings,
    GridState,
)
from batprotocol.campaigns.store import GridStore
from batprotocol.campaigns.store._store import ClusterEntry

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow


def known(grid: GridState) -> dict[str, object]:
    """What a grid knows, in an order of its own; windows are left out, which the store counts by periods."""
    living = (each for each in grid.campaigns if each.campaign.state is CampaignState.IN_TREATMENT)
    numbers = {each.campaign.id for each in living}
    return {
        "gridstatus": {each.cluster: each for each in grid.gridstatus},
        "campaigns": {
            each.campaign.id: msgspec.structs.replace(
                each,
                used=tuple(sorted(each.used)),
                prologue_done=tuple(sorted(each.prologue_done)),
                epilogue_done=tuple(sorted(each.epilogue_done)),
            )
            for each in grid.campaigns
            if each.campaign.id in numbers
        },
        "jobs": {job.id: job for job in grid.jobs},
        "durations": {
            (each.campaign, each.cluster): each.durations
            for each in grid.progress
            if each.durations.count and each.campaign in numbers
        },
        "blacklist": set(grid.blacklist),
        "ratios": {
            (each.campaign, each.cluster): (each.ratio, each.nsub, each.free)
            for each in grid.forecasts
            if each.cluster and each.campaign in numbers
        },
        "taps": {each for each in grid.taps if each.campaign in numbers},
        "controllers": {each for each in grid.controllers if each.campaign in numbers},
    }


def decided(decisions: Decisions) -> tuple[object, ...]:
    """What was decided, but for the forecasts of ends, which depend on windows."""
    return (decisions.launches, decisions.orders, decisions.submissions, set(decisions.wipes), decisions.ended)


def compare(settings: GridSettings, campaigns: list[tuple[Campaign, int]], data: st.DataObject) -> None:
    """Some cycles, in which the store and the dicts must know and decide the same."""
    memory, store = MemoryGrid((GridCluster(name=name) for name in SIZES), settings), GridStore("sqlite://")
    memory.clusters = tuple(store.register(ClusterEntry(name=name)) for name in SIZES)
    remotes = {name: Remote(name, size) for name, size in SIZES.items()}
    for each, tasks in campaigns:
        parameters = [str(number) for number in range(tasks)]
        memory.submit(each, parameters)
        store.submit(each, parameters, now=each.submission_time)
    now = 0.0
    for _ in range(data.draw(st.integers(1, 8), "cycles")):
        silent = data.draw(st.sets(st.sampled_from(sorted(SIZES)), max_size=1), "silent")
        observations = [each.observation(now, "TIMEOUT" if each.name in silent else None) for each in remotes.values()]
        with store.cycle() as books:
            assert {job.id: job for job in books.jobs()} == {job.id: job for job in memory.active()}
            update = failures.update(books.jobs(), observations, now=now, open_events=books.open_events())
            books.record(update, observations)
            grid = books.grid(now, settings.window)
            decisions = cycle.decide(grid, settings, books.tasks)
            books.carry_out(decisions, now)
        memory.apply_update(failures.update(memory.active(), observations, now=now, open_events=memory.open_events()))
        assert known(grid) == known(memory.grid(now))
        other = cycle.decide(memory.grid(now), settings, memory.first)
        assert decided(decisions) == decided(other)
        memory.apply_decisions(other, now)
        for remote in remotes.values():
            remote.local = data.draw(st.integers(0, 2), "local")
            remote.take([job for job in memory.active() if job.cluster == remote.name], now)
            for number in [number for number, job in remote.jobs.items() if job.state is GridJobState.RUNNING]:
                how = data.draw(st.sampled_from(ENDS) | st.none(), "end")
                if how is not None:
                    remote.end(number, how, now + 5)
        now += CYCLE
    store.close()


WORLDS = {"settings": SETTINGS, "campaigns": CAMPAIGNS, "data": st.data()}
GENERATED = [hypothesis.Phase.generate]  # shrinking takes minutes, and says little more


@hypothesis.settings(phases=GENERATED, max_examples=15)
@given(**WORLDS)
def test_they_know_the_same(settings: GridSettings, campaigns: list[tuple[Campaign, int]], data: st.DataObject) -> None:
    compare(settings, campaigns, data)


@pytest.mark.minutes
@hypothesis.settings(phases=GENERATED, max_examples=500)
@given(**WORLDS)
def test_they_know_the_same_for_long(
    settings: GridSettings, campaigns: list[tuple[Campaign, int]], data: st.DataObject
) -> None:
    compare(settings, campaigns, data)
