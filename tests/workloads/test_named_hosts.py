"""Jobs that name hosts which they must have or must not have, under the policies of a site and under `slurm`."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile, FinalJobState
from batprotocol.model.hosts import parse_hosts
from batprotocol.policies import named
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.simulator import JobRow, StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.configuration import configuration_of

WITHOUT_ENGINE = True

HOSTS = 6
POLICIES = ("fcfs", "easy", "conservative", "easy+pack", "easy+contiguous", "slurm")
CONF = f"NodeName=n[0-{HOSTS - 1}] CPUs=4\nPartitionName=p Nodes=ALL Default=YES"


def played(policy: str, jobs: list[StaticJob]) -> dict[str, JobRow]:
    """The rows of a simulation, by job."""
    scheduler = SlurmScheduler(configuration_of(CONF)) if policy == "slurm" else named(policy)()
    result = simulate(described_platform(f"n[0-{HOSTS - 1}] cores=4"), Workload(jobs), scheduler)
    return {row.job_id: row for row in result.jobs}


def job(name: str, size: int, seconds: float = 10.0, at: float = 0.0, **asked: Any) -> StaticJob:
    profile = DelayProfile(seconds)
    return StaticJob(name, at, size, profile, walltime=seconds + 1, extra_data=json.dumps(asked) if asked else "")


def hosts(row: JobRow) -> set[int]:
    return set(parse_hosts(row.allocated_resources))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(POLICIES))
def test_jobs_run_on_the_hosts_that_they_name(seed: int, policy: str) -> None:
    draw = random.Random(seed)
    jobs, asks = [], {}
    for number in range(draw.randint(2, 12)):
        size, asked = draw.randint(1, 4), dict[str, Any]()
        names = draw.sample(range(HOSTS), HOSTS)
        if draw.random() < 0.5 and policy != "easy+contiguous":
            asked["nodelist"] = [f"n{each}" for each in names[: draw.randint(1, size)]]
        if draw.random() < 0.5 and policy != "easy+contiguous":
            asked["exclude"] = [f"n{each}" for each in names[-draw.randint(1, HOSTS - size) :]]
        if draw.random() < 0.3 and policy != "slurm":
            asked["cores"] = draw.randint(1, 4)
        asks[str(number)] = asked
        jobs.append(job(str(number), size, draw.randint(1, 60), draw.randint(0, 90), **asked))
    rows = played(policy, jobs)
    for name, asked in asks.items():
        assert rows[name].final_state is FinalJobState.COMPLETED_SUCCESSFULLY
        names_of = {f"n{host}" for host in hosts(rows[name])}
        assert set(asked.get("nodelist", ())) <= names_of
        assert not names_of & set(asked.get("exclude", ()))


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "slurm"])
def test_a_job_waits_for_its_host_while_others_are_free(policy: str) -> None:
    rows = played(policy, [job("a", 1, 50.0, nodelist="n2"), job("b", 1, 10.0, at=1.0, nodelist="n2")])
    assert hosts(rows["a"]) == hosts(rows["b"]) == {2}
    assert rows["b"].starting_time is not None
    assert rows["b"].starting_time >= 50.0


@pytest.mark.parametrize("policy", ["easy", "slurm"])
def test_jobs_that_name_hosts_they_cannot_have_are_rejected(policy: str, caplog: pytest.LogCaptureFixture) -> None:
    rows = played(
        policy,
        [
            job("unknown", 1, nodelist="m7"),
            job("excluded", 2, nodelist="n[1-2]", exclude="n2"),
            job("few", 4, exclude="n[0-3]"),
            *([job("many", 1, nodelist="n[0-1]")] if policy == "easy" else []),
            job("runs", 1),
        ],
    )
    states = {name: row.final_state for name, row in rows.items()}
    assert states.pop("runs") is FinalJobState.COMPLETED_SUCCESSFULLY
    assert set(states.values()) == {FinalJobState.REJECTED}
    assert "'m7'" in caplog.text


def test_contiguous_hosts_are_around_the_named_one() -> None:
    rows = played("easy", [job("a", 3, contiguous=True, nodelist="n4"), job("b", 1, at=0.5, nodelist="n0")])
    assert 4 in hosts(rows["a"])
    assert max(hosts(rows["a"])) - min(hosts(rows["a"])) == 2
    assert hosts(rows["b"]) == {0}
