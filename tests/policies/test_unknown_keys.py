"""Keys of jobs that have no effect are logged once, with the key that may be meant."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.edc import Scheduler
from batprotocol.model import DelayProfile
from batprotocol.policies import named
from batprotocol.policies.driver import UnknownKeys
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.configuration import configuration_of

WITHOUT_ENGINE = True

CONF = "NodeName=n[0-1] CPUs=8\nPartitionName=p Nodes=ALL Default=YES"


def job(id: str, **data: Any) -> StaticJob:
    return StaticJob(id, 0.0, 1, DelayProfile(10.0), walltime=20.0, extra_data=json.dumps(data))


@pytest.mark.parametrize(
    "scheduler",
    [named("easy")(), named("recorded")(), SlurmScheduler(configuration_of(CONF))],
    ids=["easy", "recorded", "slurm"],
)
def test_each_key_without_effect_is_logged_once(scheduler: Scheduler, caplog: pytest.LogCaptureFixture) -> None:
    jobs = [
        job("0", user=1, mine=2, slurm={}),
        job("1", cores=2, memroy="1G", recorded={"start": 0}),
        job("2", memroy="2G", ntasks=2, theirs=0),
    ]
    with caplog.at_level(logging.INFO, "batprotocol.policies"):
        assert simulate(described_platform("n[0-1] cores=8"), Workload(jobs, {}), scheduler).is_complete
    found = [(each.levelname, each.getMessage()) for each in caplog.records if "no effect" in each.getMessage()]
    assert found == [
        ("INFO", "'w0!0': the key 'mine' has no effect"),
        ("WARNING", "'w0!1': the key 'memroy' has no effect; did you mean 'memory'?"),
        ("WARNING", "'w0!2': the key 'ntasks' has no effect; did you mean 'tasks'?"),
        ("INFO", "'w0!2': the key 'theirs' has no effect"),
    ]


@pytest.mark.parametrize(
    ("key", "meant"),
    [("Partition", "partition"), ("core", "cores"), ("mem", "memory"), ("gpus-per-task", "gres"), ("x" * 51, None)],
)
def test_what_is_meant(key: str, meant: str | None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "batprotocol.policies"):
        UnknownKeys().report("j", json.dumps({key: 1}))
    assert (f"did you mean {meant!r}?" in caplog.text) == (meant is not None)


def test_a_misspelt_property_of_hosts_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    platform = described_platform("n[0-1] core=8 Feature=ib rack=3; g0 cores=4 core=8 RealMemory=8G")
    assert simulate(platform, Workload([job("0")], {}), named("easy")()).is_complete
    assert [each.getMessage() for each in caplog.records] == [
        "host 'n1': the property 'Feature' has no effect; did you mean 'features'?",
        "host 'g0': the property 'RealMemory' has no effect; did you mean 'memory'?",
        "host 'g0': the property 'core' has no effect; did you mean 'cores'?",
    ]


@given(st.text())
def test_any_text_can_be_reported(text: str) -> None:
    UnknownKeys().report("j", text)
    UnknownKeys().report("j", json.dumps({text: text}))


def test_a_key_for_each_job_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    keys = UnknownKeys()
    with caplog.at_level(logging.INFO, "batprotocol.policies"):
        for number in range(1_000):
            keys.report("j", json.dumps({f"key {number}": 1}))
    assert len(caplog.records) < 120
