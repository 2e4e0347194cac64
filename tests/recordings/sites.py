"""A small run whose jobs share hosts, give way and wait for one another, as a capture has it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from batprotocol import DelayProfile, Direction
from batprotocol.policies import Policy
from batprotocol.policies.backfilling import EASY
from batprotocol.policies.site import SiteRules
from batprotocol.recordings import Entry
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate

__all__ = ["shared_run"]

HOSTS = "n[0-1] cores=4 partitions=low,high; g0 cores=16 gres=gpu:2 partitions=gpu; n[2-3] cores=4 partitions=low,high"


def _job(name: str, at: float, time: float, size: int = 1, **data: Any) -> StaticJob:
    return StaticJob(name, at, size, DelayProfile(time), walltime=time + 20, extra_data=json.dumps(data))


@cache
def shared_run() -> tuple[Entry, ...]:
    """The messages. `0` and `1` share a host; `big` lets jobs of a lower tier run again; `after` waits for `0`."""
    jobs = [
        *(_job(str(number), number, 100, cores=2, memory="4G", account="ann", qos="day") for number in range(8)),
        _job("gpu", 8, 80, partition="gpu", gres={"gpu": 1}, cores=4),
        _job("after", 9, 60, partition="gpu", cores=4, dependency="afterok:0:gpu"),
        _job("big", 30, 50, 2, partition="high", cores=4),
    ]
    tables = {
        "low": {"hosts": "n[0-3]", "tier": 1, "preempt": "requeue", "default": True},
        "high": {"hosts": "n[0-3]", "tier": 2},
        "gpu": {"hosts": "g0"},
    }
    found: list[Entry] = []

    def turn(*messages: Any) -> None:
        for message, direction in zip(messages, (Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM), strict=True):
            found.append(Entry(len(found), direction, message.to_binary()))

    policy = Policy(backfilling=EASY(), site=SiteRules.of({"partitions": tables}))
    assert simulate(described_platform(HOSTS), Workload(jobs, {}), policy, on_turn=turn).is_complete
    return tuple(found)
