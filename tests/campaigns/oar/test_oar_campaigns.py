"""Whole campaigns on a server with OAR's REST API, while the loop is killed; answers that take too long."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from crashing import judge, run_and_kill, submit
from oar_jobs import described
from oar_server import OarServer

from batprotocol.campaigns.managers import JobRequest
from batprotocol.campaigns.managers.oar import OarCluster
from batprotocol.campaigns.model import GridJobState
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.errors import ClusterError

WITHOUT_ENGINE = True


def test_a_campaign_while_the_loop_is_killed(server: OarServer, tmp_path: Path) -> None:
    url = str(tmp_path / "grid.db")
    store = GridStore(url)
    address = described(tmp_path / "oar.toml", url=server.url, user="alice", timeout=60, period=0.001)
    campaign = submit(store, [ClusterEntry(name="luke", batch="oar", address=address)], 24, tmp_path)

    def halfway() -> None:
        server.faults += [("POST jobs$", "lost"), ("GET jobs/details", "html"), ("POST .*resumptions", "500")]

    run_and_kill(url, 3, random.Random(1), cycle=0.1, pause=0.4, halfway=halfway)
    judge(store, campaign, 24, tmp_path)
    store.close()
    assert set(server.starts.values()) == {1}


@pytest.mark.parametrize("fault", ["slow", "drip"])
def test_an_answer_that_takes_too_long(server: OarServer, tmp_path: Path, fault: str) -> None:
    cluster = OarCluster("luke", described(tmp_path / "oar.toml", url=server.url, user="alice", timeout=0.5), "m")
    server.faults.append(("GET resources/full", fault))
    began = time.monotonic()
    with pytest.raises(ClusterError, match=r"within 0\.5 s"):
        cluster.look()
    assert time.monotonic() - began < 30


def test_a_submission_that_takes_too_long_runs_once(server: OarServer, tmp_path: Path) -> None:
    server.faults.append(("POST jobs$", "slow"))
    cluster = OarCluster("luke", described(tmp_path / "oar.toml", url=server.url, user="alice", timeout=0.5), "m")
    with pytest.raises(ClusterError):
        cluster.submit([JobRequest(job=1, command="true")])
    again = OarCluster(
        "luke", described(tmp_path / "oar.toml", url=server.url, user="alice", timeout=60, period=0.001), "m"
    )
    again.submit([JobRequest(job=1, command="true")])
    assert [job.state for job in again.look().jobs] == [GridJobState.SUBMITTED]
