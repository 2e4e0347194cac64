"""slurm.conf as values: what the real Slurm prints of a configuration, and what its documentation says."""

from __future__ import annotations

from pathlib import Path

import pytest
from slurm_recordings import configuration_of_run, recording, recordings

WITHOUT_ENGINE = True


@pytest.mark.parametrize("path", recordings(), ids=lambda path: f"{path.parent.name}/{path.name[:-8]}")
def test_recorded_configurations_are_read(path: Path) -> None:
    run = recording(path)
    found = configuration_of_run(run)
    assert len(found.nodes) == sum(group["count"] for group in run["nodes"])
    assert len(found.partitions) == len(run["partitions"])
    assert {each.name for each in found.not_followed} <= {"SchedulerParameters/kill_invalid_depend"}
