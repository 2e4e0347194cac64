"""Recorded simulations played back: the embedded Batsim's result files beside those that Batsim wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import playback
import pytest

from batprotocol.results import JobRows, Observers, Result, ResultFiles, Statistics, read_jobs

WITHOUT_ENGINE = True

RUNS = [archive for archive in playback.recorded_runs() if playback.read(archive).is_comparable]


def differences(name: str, ours: str, theirs: str) -> Iterator[str]:
    """The lines that differ."""
    mine, other = ours.splitlines(), theirs.splitlines()
    if len(mine) != len(other):
        yield f"{name}: {len(mine)} lines, and Batsim {len(other)}"
    for number, (one, two) in enumerate(zip(mine, other, strict=False), 1):
        if one != two:
            yield f"{name}, line {number}: {one!r}, and Batsim {two!r}"


@pytest.mark.slow
@pytest.mark.parametrize("archive", RUNS, ids=lambda archive: archive.name.removesuffix(".tar.xz"))
def test_the_same_files(archive: Path, tmp_path: Path) -> None:
    run = playback.read(archive)
    rows, statistics = JobRows(), Statistics()
    files = ResultFiles(f"{tmp_path}/", energy="consumed_energy.csv" in run.files)
    list(playback.play(run, run.simulator(observer=Observers([files, rows, statistics]))))
    files.flush()
    found = []
    for name, theirs in run.files.items():
        ours = tmp_path / name.removesuffix(".txt")
        assert ours.exists(), name
        found += differences(ours.name, ours.read_text(), theirs)
    assert not found, "\n".join(found[:10])
    assert (tmp_path / "schedule.json").exists() == (run.info["batsim_rc"] == 0)
    result = Result(statistics, hosts=1, rows=f"{tmp_path}/")
    assert [row.job_id for row in result.jobs] == [row.job_id for row in rows.rows]


def test_there_is_something_to_compare() -> None:
    kinds = {name for archive in RUNS for name in playback.read(archive).files}
    assert len(RUNS) >= 50
    assert {"jobs.csv", "schedule.json.txt", "machine_states.csv", "pstate_changes.csv", "consumed_energy.csv"} <= kinds


def test_differences_are_found(tmp_path: Path) -> None:
    assert list(differences("jobs.csv", "a\nb\n", "a\n"))
    assert list(differences("jobs.csv", "a\n", "b\n"))
    (tmp_path / "jobs.csv").write_text("a\n")
    with pytest.raises(ValueError, match="columns are missing"):
        list(read_jobs(tmp_path / "jobs.csv"))
