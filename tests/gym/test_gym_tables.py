"""Through the environment, agents that pick the job of the least key have the values of published tables."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from published import ALL_TABLES, TABLES, Row, rows

if TYPE_CHECKING:
    from batprotocol.gym import LogArrays

WITHOUT_ENGINE = True

POLICIES = ("FCFS", "SJF", "SAF", "F1", "F2", "F3", "F4")
SOME = [row for row in rows() if row.policy in POLICIES]


@cache
def log_of(name: str) -> LogArrays:
    """All jobs of a log, of which a row's are a part."""
    from batprotocol.gym import LogArrays
    from batprotocol.simulator import named_workload

    return LogArrays(named_workload(f"{name}?jobs=0-&larger=yes&runtime-limits=yes"))


def slowdown(row: Row) -> float:
    from batprotocol.gym import Batch
    from batprotocol.policies import EASY, FCFS

    name, _, part = row.workload.partition("?jobs=")
    kind = EASY(FCFS(), spare=False, strict=True, once=True) if row.backfilling else None
    env = Batch(log_of(name), jobs=1024, max_queue=1024, max_running=0, features=("present",), backfilling=kind)
    env.begin_episode(options={"first": int(part.partition("-")[0])})
    is_over = False
    while not is_over:
        reward, is_over = env.decide(env.pick(row.policy.lower()))
    assert env.summary()["mean_bounded_slowdown"] == pytest.approx(-reward, rel=1e-12)
    return -reward


@pytest.mark.parametrize("row", SOME, ids=str)
def test_published_values_are_reproduced(row: Row) -> None:
    assert slowdown(row) == pytest.approx(row.value, rel=1e-14)


@pytest.mark.minutes
def test_all_published_values_are_reproduced() -> None:
    folder = ALL_TABLES if ALL_TABLES.is_dir() else Path(TABLES)
    for row in rows(folder):
        if row.policy in POLICIES:
            assert slowdown(row) == pytest.approx(row.value, rel=1e-14), str(row)
