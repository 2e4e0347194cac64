"""Campaigns of short commands on real clusters, while the loop is killed again and again."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from crashing import judge, run_and_kill, submit
from daskers import dask_processes

from batprotocol.campaigns.store import ClusterEntry, GridStore

WITHOUT_ENGINE = True


def crash(
    store: GridStore,
    url: str,
    where: ClusterEntry,
    folder: Path,
    *,
    tasks: int,
    kills: int,
    pause: float,
    halfway: Callable[[], None],
    grouped: bool = False,
) -> None:
    campaign = submit(store, [where], tasks, folder, grouped=grouped)
    killed = run_and_kill(url, kills, random.Random(tasks), cycle=0.2, pause=pause, halfway=halfway)
    print(
        where.batch, store.url.partition(":")[0], f"killed {killed} times", dict(judge(store, campaign, tasks, folder))
    )
    assert killed == kills or tasks < 100


def nothing() -> None:
    """Nothing more happens."""


@pytest.mark.slow
def test_processes(store: GridStore, store_url: str, tmp_path: Path) -> None:
    here = ClusterEntry(name="here", batch="local", address=str(tmp_path / "here"), resources=4)
    crash(store, store_url, here, tmp_path, tasks=24, kills=2, pause=0.3, halfway=nothing)


@pytest.mark.minutes
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("grouped", [False, True])
def test_many_processes(store: GridStore, store_url: str, tmp_path: Path, grouped: bool) -> None:
    here = ClusterEntry(name="here", batch="local", address=str(tmp_path / "here"), resources=4)
    crash(store, store_url, here, tmp_path, tasks=2000, kills=10, pause=1.5, halfway=nothing, grouped=grouped)


@pytest.mark.minutes
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("grouped", [False, True])
def test_many_on_dask(store: GridStore, store_url: str, tmp_path: Path, grouped: bool) -> None:
    with dask_processes(tmp_path, workers=4) as dask:
        there = ClusterEntry(name="there", batch="dask", address=dask.address)
        end_one = dask.workers[0].kill
        crash(store, store_url, there, tmp_path, tasks=2000, kills=10, pause=1.5, halfway=end_one, grouped=grouped)
