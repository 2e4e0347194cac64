"""What the tests of decision components are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from processes import SCHEDULERS
from replay import PATIENCE

from batprotocol._util.sockets.link import LINKS


@pytest.fixture
def schedulers(tmp_path: Path) -> Callable[[str], str]:
    """Names a scheduler of SCHEDULERS, as `batproto run` wants it."""
    file = tmp_path / "schedulers.py"
    file.write_text(SCHEDULERS)
    return lambda name: f"{file}:{name}"


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The peers here do answer, but nobody knows when their threads are let run."""
    monkeypatch.setattr("batprotocol.edc.server.FAREWELL", PATIENCE)


@pytest.fixture(autouse=True)
def _link(wire_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the Python engine, messages go through the link in Python, too."""
    monkeypatch.setattr("batprotocol._util.sockets.channel.new_link", LINKS.get(wire_engine, LINKS["python"]))
