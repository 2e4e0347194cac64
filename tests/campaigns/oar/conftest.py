"""A server that speaks OAR's REST API, and a cluster that asks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from oar_jobs import described
from oar_server import OarServer

from batprotocol.campaigns.managers.oar import OarCluster


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OarServer]:
    (tmp_path / "home").mkdir()
    found = OarServer(tmp_path / "home")
    yield found
    found.close()
    assert found.complaints == []


@pytest.fixture
def description(server: OarServer, tmp_path: Path) -> Path:
    path = tmp_path / "oar.toml"
    described(path, url=server.url, user="alice", timeout=60, period=0.001)
    return path


@pytest.fixture
def cluster(description: Path) -> OarCluster:
    return OarCluster("luke", str(description), "cigri-1")
