"""Random simulations, recorded: all that the embedded Batsim says and writes is what Batsim said and wrote.

To the last bit: whoever meets at a time that was found otherwise meets somebody else.
"""

from __future__ import annotations

from pathlib import Path

import playback
import pytest
from support import DATA, SHARED

from batprotocol.results import Observers, ResultFiles

WITHOUT_ENGINE = True

KEPT = DATA / "simulations" / "random"

OTHERWISE = {
    "random__h50176-cluster__binary",  # last bits of sharing
    "random__h50424-graph__binary",
    "random__h50662-cluster__binary",
    "random__h50326-nested__json",  # files whose times JSON cut to twelve decimals
    "random__h50354-nested__json",
    "random__h50376-topo__json",
    "random4__k1005__json",  # a task beside another on a link gets 4e-6 more of it than here
}
"""Those of random3 and random4 that are known to differ."""


def name(archive: Path) -> str:
    return archive.name.removesuffix(".tar.xz")


SHRUNK = sorted(KEPT.glob("*.tar.xz"))
RANDOM = sorted((SHARED / "random").glob("*.tar.xz"))
RECORDED = [*sorted((SHARED / "random3").glob("*.tar.xz")), *sorted((SHARED / "random4").glob("*.tar.xz"))]
EXTREME = [each for each in RECORDED if name(each) not in OTHERWISE]
SOME = [*RANDOM[::4], *EXTREME[::16]]
"""Of the runs that are not kept, these are played at once, and all of them in minutes."""


def unequal(archive: Path, inputs: Path, folder: Path) -> list[str]:
    """What differs between a recorded run and the embedded Batsim's."""
    run = playback.read_from(archive, inputs)
    files = ResultFiles(f"{folder}/", energy="consumed_energy.csv" in run.files)
    close = 0.0 if run.hello.format == "binary" else playback.CLOSE  # JSON has twelve decimals
    found = list(playback.play(run, run.simulator(observer=Observers([files])), close))
    files.flush()
    for file, theirs in run.files.items():
        written = folder / file.removesuffix(".txt")
        ours = written.read_text() if written.exists() else ""
        if ours != theirs:
            lines = zip(ours.splitlines(), theirs.splitlines(), strict=False)
            found.append(f"{file}: {next((pair for pair in lines if pair[0] != pair[1]), 'one is longer')}")
    return found


@pytest.mark.parametrize("archive", SHRUNK, ids=name)
def test_what_was_once_otherwise(archive: Path, tmp_path: Path) -> None:
    assert not unequal(archive, KEPT, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("archive", SOME, ids=name)
def test_the_same_messages_and_files(archive: Path, tmp_path: Path) -> None:
    assert not unequal(archive, archive.parent / "inputs", tmp_path)


@pytest.mark.minutes
@pytest.mark.parametrize("archive", [each for each in (*RANDOM, *EXTREME) if each not in SOME], ids=name)
def test_the_same_messages_and_files_of_all(archive: Path, tmp_path: Path) -> None:
    assert not unequal(archive, archive.parent / "inputs", tmp_path)


def test_there_are_some() -> None:
    assert len(SHRUNK) >= 10
