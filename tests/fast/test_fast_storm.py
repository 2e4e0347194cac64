"""Many tasks over a broker that is killed on the way: each has its result or a time-out, and nothing is done twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from fast_storm import Outcome, storm

WITHOUT_ENGINE = True


def seen_to_be_well(outcome: Outcome) -> Counter[str]:
    assert outcome.unsettled == 0
    assert outcome.twice == []
    assert outcome.contradictions() == []
    assert (outcome.threads, outcome.sockets) == ([], [])
    ends: Counter[str] = Counter()
    for (_, end), times in outcome.ends.items():
        ends[end] += times
    return ends


@pytest.mark.slow
def test_a_short_storm(tmp_path: Path) -> None:
    ends = seen_to_be_well(storm(hosts=6, machines=60, at_once=15, timeout=5, kills=1, folder=tmp_path))
    assert ends["success"] > 100  # half of the machines' lives are over when the broker is killed
    assert ends["error"] > 0


@pytest.mark.minutes
def test_a_storm(tmp_path: Path) -> None:
    outcome = storm(hosts=50, machines=1000, at_once=50, timeout=20, kills=2, folder=tmp_path)
    print(outcome)
    ends = seen_to_be_well(outcome)
    assert ends["success"] > 3000
    assert 0.03 < ends["error"] / len(outcome.calls) < 0.1
    assert ends["time-out"] < 200  # what a broker that is killed had taken, and not delivered yet
