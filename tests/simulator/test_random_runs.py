"""Random simulations, recorded: all that the embedded Batsim says and writes is what Batsim said and wrote.

To the last bit: whoever meets at a time that was found otherwise meets somebody else.
"""

from __future__ import annotations

from pathlib import Path

import playback
import pytest
from support import DATA, SHARED

from batprotocol.simulator.results import Observers, ResultFiles

WITHOUT_ENGINE = True

KEPT = DATA / "simulations" / "random"
RECORDED = SHARED / "random"
EXTREME = SHARED / "random3"
EACH = 4  # of the runs that are not kept, this part is played at once, and all of them in minutes
EACH_EXTREME = 16

OTHERWISE = {
    "random__h50176-cluster__binary",  # last bits of sharing
    "random__h50424-graph__binary",
    "random__h50662-cluster__binary",
    "random__h50326-nested__json",  # files whose times JSON cut to twelve decimals
    "random__h50354-nested__json",
    "random__h50376-topo__json",
}
"""Of the extreme ones, those that are known to differ."""

SHRUNK = sorted(KEPT.glob("*.tar.xz"))
RANDOM = sorted(RECORDED.glob("*.tar.xz"))
AT_ENDS = [each for each in sorted(EXTREME.glob("*.tar.xz")) if each.name.removesuffix(".tar.xz") not in OTHERWISE]


def name(archive: Path) -> str:
    return archive.name.removesuffix(".tar.xz")


def unequal(archive: Path, inputs: Path, folder: Path) -> list[str]:
    """What differs between a recorded run and the embedded Batsim's."""
    run = playback.read_from(archive, inputs)
    files = ResultFiles(f"{folder}/", energy="consumed_energy.csv" in run.files)
    close = 0.0 if run.hello.format == "binary" else playback.CLOSE  # JSON has twelve decimals
    found = list(playback.play(run, run.simulator(observer=Observers([files])), close))
    files.flush()
    for file, theirs in run.files.items():
        ours = (folder / file.removesuffix(".txt")).read_text()
        if ours != theirs:
            lines = zip(ours.splitlines(), theirs.splitlines(), strict=False)
            found.append(f"{file}: {next((pair for pair in lines if pair[0] != pair[1]), 'one is longer')}")
    return found


@pytest.mark.parametrize("archive", SHRUNK, ids=name)
def test_what_was_once_otherwise(archive: Path, tmp_path: Path) -> None:
    assert not unequal(archive, KEPT, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("archive", RANDOM[::EACH], ids=name)
def test_the_same_messages_and_files(archive: Path, tmp_path: Path) -> None:
    assert not unequal(archive, RECORDED / "inputs", tmp_path)


@pytest.mark.minutes
@pytest.mark.parametrize("archive", [each for each in RANDOM if each not in RANDOM[::EACH]], ids=name)
def test_the_same_messages_and_files_of_all(archive: Path, tmp_path: Path) -> None:
    assert not unequal(archive, RECORDED / "inputs", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("archive", AT_ENDS[::EACH_EXTREME], ids=name)
def test_the_same_where_times_are_extreme(archive: Path, tmp_path: Path) -> None:
    assert not unequal(archive, EXTREME / "inputs", tmp_path)


@pytest.mark.minutes
@pytest.mark.parametrize("archive", [each for each in AT_ENDS if each not in AT_ENDS[::EACH_EXTREME]], ids=name)
def test_the_same_where_times_are_extreme_in_all(archive: Path, tmp_path: Path) -> None:
    assert not unequal(archive, EXTREME / "inputs", tmp_path)


def test_there_are_some() -> None:
    assert len(SHRUNK) >= 10
