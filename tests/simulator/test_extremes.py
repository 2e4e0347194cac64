"""Simulations that go to the ends: equal on all builds and machines, and what they reach."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a program, too

import extremes
from seeds import come_to, played
from support import DATA

from batprotocol.model import JobCompletedEvent

WITHOUT_ENGINE = True

SEEDS = range(40)
FAR_AND_NEAR = (24, 72)
"""Of 120 simulations, one of those that last longest, and one of those that are over soonest."""
KNOWN = DATA / "extremes.txt"
"""What the simulations of the seeds came to: `python tests/simulator/extremes.py 0 40` says it anew."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_they_come_to_what_they_came_to(part: int, tmp_path: Path) -> None:
    known = dict(line.split() for line in KNOWN.read_text().splitlines())
    for seed in SEEDS[part::8]:
        folder = tmp_path / str(seed)
        assert come_to(extremes.write(seed, folder / "inputs"), folder) == known[str(seed)], seed


@pytest.mark.slow
def test_they_go_to_the_ends(tmp_path: Path) -> None:
    ends, states, platforms = [], set(), ""
    for seed in range(120):
        given = extremes.write(seed, tmp_path / str(seed) / "inputs")
        platforms += given.platform.read_text()
        if seed not in FAR_AND_NEAR:
            continue
        (tmp_path / str(seed) / "out").mkdir()
        messages, _ = played(given, tmp_path / str(seed) / "out")
        ends.append(messages[-1].now)
        states |= {event.state for each in messages for event in each.events if isinstance(event, JobCompletedEvent)}
    assert min(ends) < 10 < 1e8 < max(ends)
    assert len(states) >= 3
    kinds = ("FAT_TREE", "TORUS", "DRAGONFLY", "Floyd", "Dijkstra", 'pstate="1"', 'TCP-gamma" value="0"', '"loop"')
    assert [words for words in kinds if words not in platforms] == []
