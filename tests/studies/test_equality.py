"""How equal the policy `slurm` is to a real Slurm, on recorded random runs that were not read while it was written."""

from __future__ import annotations

from collections import Counter

import pytest
from slurm_recordings import RANDOM, random_runs

from batprotocol.studies.recorded import judged, replayed

WITHOUT_ENGINE = True


@pytest.mark.slow
def test_random_runs_of_a_machine_that_did_nothing_else_are_repeated() -> None:
    """The page about recordings has the shares by kind."""
    sums: Counter[str] = Counter()
    for path in RANDOM.iterdir():
        for run in random_runs(path.name.partition(".")[0]):
            if run["seed"] in range(31, 35):
                sums.update(judged(run, replayed(run))._asdict() | {"misses": 0})
    assert sums["starts"] > 2500
    assert sums["near"] >= 0.985 * sums["starts"]
    assert sums["ordered"] >= 0.995 * sums["pairs"]
    assert sums["placed"] >= 0.98 * sums["starts"]
