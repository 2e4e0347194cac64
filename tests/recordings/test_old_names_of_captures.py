"""The old names of the package: they work, and warn."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from recorded import all_runs

from batprotocol.recordings import Capture, StateFollower, state_at
from batprotocol.recordings.copies import copy
from batprotocol.recordings.states import messages_in

WITHOUT_ENGINE = True
pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("batprotocol.recordings", "ToldJob", "CapturedJob"),
        ("batprotocol.recordings.statistics", "ToldJob", "CapturedJob"),
        ("batprotocol.recordings.comparison", "Parting", "Divergence"),
        ("batprotocol.recordings.comparison", "left_aside", "ignored_differences"),
        ("batprotocol.recordings.traffic", "Conversation", "CapturedConversation"),
        ("batprotocol.recordings", "Follower", "StateFollower"),
        ("batprotocol.recordings", "Knowledge", "RunState"),
        ("batprotocol.recordings", "knowledge_at", "state_at"),
        ("batprotocol.recordings.states", "Knowledge", "RunState"),
        ("batprotocol.recordings.states", "said_in", "messages_in"),
    ],
)
def test_names_of_modules(module: str, old: str, new: str) -> None:
    found = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{module}.{old} is deprecated: use {module}.{new} instead"):
        assert getattr(found, old) is getattr(found, new)


def test_arguments(tmp_path: Path) -> None:
    counts: list[int] = []
    with Capture(all_runs()[0]) as run:
        with pytest.warns(DeprecationWarning, match="'told' of copy"):
            copy(run, tmp_path / "copy.tar", told=counts.append)  # type: ignore[call-arg]
        with pytest.warns(DeprecationWarning, match="'said' of state_at"):
            found = state_at(said=messages_in(run))  # type: ignore[call-arg]
        assert found == state_at(messages_in(run))
        entry = next(iter(run))
        with pytest.warns(DeprecationWarning, match="'said' of take"):
            StateFollower().take(entry.direction, said=entry.data)  # type: ignore[call-arg]
        with pytest.warns(DeprecationWarning, match="knowledge_at is deprecated: use Capture.state_at"):
            assert run.knowledge_at(0.0) == run.state_at(0.0)
        with pytest.warns(DeprecationWarning, match="knowledge is deprecated: use StateFollower.state"):
            assert StateFollower().knowledge() == StateFollower().state()
