"""Policies break no rule where jobs share hosts, wait for each other and give way, whatever Batsim has in store."""

from __future__ import annotations

import json
import zlib
from random import Random
from typing import Any

import msgspec
import pytest

from batprotocol.model import JobSubmittedEvent
from batprotocol.policies import Policy, SiteRules, named
from batprotocol.testing import conformance

WITHOUT_ENGINE = True

NAMES = [
    "fcfs",
    "greedy",
    "easy",
    "easy=sjf+pack",
    "reservations=2+spread",
    "conservative+best-fit",
    "heft+easy+weight",
]
NAMES += ["multifactor+easy", "predicted+conservative", "easy+contiguous", "easy=once,strict"]
MODES = ("off", "cancel", "requeue", "checkpoint")


def asked(job_id: str) -> dict[str, Any]:
    """What a job asks for, by chance, but always the same."""
    random = Random(zlib.crc32(job_id.encode()))
    other = f"w{random.randint(0, 1)}!{random.randint(0, 4)}"
    several = {
        "cores": random.randint(1, 2),
        "memory": "1G",
        "exclusive": True,
        "partition": random.choice(["low", "high", "low,high"]),
        "qos": random.choice(["a", "b"]),
        "user": random.randint(0, 2),
        "begin": f"now+{random.randint(0, 9)}",
        "deadline": f"now+{random.randint(9, 99)}",
        "dependency": random.choice([f"afterany:{other}", f"after:{other}", f"afterok:{other}", f"afternotok:{other}"]),
        "array": f"x_{random.randint(0, 99)}%1",
        "requeue": random.random() < 0.5,
    }
    return {key: value for key, value in several.items() if random.random() < 0.3}


def sharing(name: str, mode: str) -> type[Policy]:
    """The class of a policy whose jobs ask for more than hosts."""
    rules = SiteRules.of(
        {
            "partitions": {
                "low": {"hosts": "ALL", "default": True, "preempt": mode, "grace": 1},
                "high": {"hosts": "ALL", "tier": 2},
            },
            "qos": {"a": {"preempts": ["b"]} if mode != "off" else {}, "b": {"limits": {"running": 2}}},
            "per_user": {"running": 3},
        }
    )
    parts: Any = named(name)

    class Sharing(Policy):
        def __init__(self) -> None:
            plain = parts()
            super().__init__(plain.order, plain.backfilling, plain.allocation, walltimes=plain.walltimes, site=rules)

        def on_job_submitted(self, event: JobSubmittedEvent) -> None:
            job = msgspec.structs.replace(event.job, extra_data=json.dumps(asked(event.job_id)))
            super().on_job_submitted(msgspec.structs.replace(event, job=job))

    return Sharing


def conforms(name: str, mode: str, examples: int) -> None:
    """Batsim does not see what jobs ask for, so it may report that they share hosts."""
    report = conformance.check(sharing(name, mode), examples=examples, ignore=["job.over-allocation"])
    assert report.simulations == examples
    assert report.counts["ExecuteJobEvent"] > examples / 2


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_policy_breaks_no_rule_where_jobs_share_hosts(mode: str) -> None:
    conforms(NAMES[2], mode, 25)


@pytest.mark.minutes
@pytest.mark.parametrize("name", NAMES)
def test_a_policy_breaks_no_rule_in_1000_simulations_where_jobs_share_hosts(name: str) -> None:
    for mode in MODES:
        conforms(name, mode, 250)
