"""Recorded simulations played back: the embedded Batsim's result files beside those that Batsim wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import playback
import pytest

from batprotocol.simulator.results import JobRows, Observers, Result, ResultFiles, Statistics, read_jobs

WITHOUT_ENGINE = True

RUNS = [archive for archive in playback.recorded_runs() if playback.read(archive).is_comparable]

# Batsim divides differences of joules by differences of time; where rows are a few microseconds apart, that is noise.
CLOSE_ROWS = 1e-3
NOISE = 1e-4

DIFFERENT = {
    # Rows a microsecond apart: the time that the second one has is that of the first one with us.
    ("fuzz__random-onoff-cluster-p__cluster_loop__binary", "consumed_energy.csv"),
}


def differences(name: str, ours: str, theirs: str) -> Iterator[str]:
    """The lines that differ, but for noise."""
    if ours == theirs:
        return
    mine, other = ours.splitlines(), theirs.splitlines()
    if len(mine) != len(other):
        yield f"{name}: {len(mine)} lines, and Batsim {len(other)}"
    before = 0.0
    for number, (one, two) in enumerate(zip(mine, other, strict=False), 1):
        if name == "consumed_energy.csv" and number > 1:
            time = float(two.split(",")[0])
            close, before = time - before < CLOSE_ROWS, time
            if close and one.split(",")[:-1] == two.split(",")[:-1] and _is_noise(one, two):
                continue
        if one != two:
            yield f"{name}, line {number}: {one!r}, and Batsim {two!r}"


def _is_noise(one: str, two: str) -> bool:
    first, last = one.rpartition(",")[2], two.rpartition(",")[2]
    if "NA" in (first, last):
        return first == last
    return abs(float(first) - float(last)) <= NOISE * max(abs(float(last)), 1.0)


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
        if (run.name, name) not in DIFFERENT:
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
    header = "time,energy,event_type,wattmin,epower\n"
    theirs = header + "1.000000,5.000000,s,1.000000,5.000000\n1.000010,5.000050,e,1.000000,5.000000\n"
    assert not list(differences("consumed_energy.csv", theirs.replace("e,1.000000,5.0", "e,1.000000,5.00001"), theirs))
    assert list(differences("consumed_energy.csv", theirs.replace("s,1.000000,5.0", "s,1.000000,5.00001"), theirs))
    assert list(differences("consumed_energy.csv", theirs.replace("5.000050", "5.000051"), theirs))
    assert list(differences("consumed_energy.csv", theirs.replace("e,1.000000,5.000000", "e,1.000000,NA"), theirs))
    assert list(differences("jobs.csv", "a\nb\n", "a\n"))
    (tmp_path / "jobs.csv").write_text("a\n")
    with pytest.raises(ValueError, match="lacks columns"):
        list(read_jobs(tmp_path / "jobs.csv"))
