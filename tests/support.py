"""What several test files need: where the recordings lie and how to read them, how names are formed, hosts in a row."""

from __future__ import annotations

import lzma
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from servers import find

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"
SHARED = ROOT.parent / "shared"
CORPUS = SHARED / "corpus" / "batsim-5.0.0-rc2"
GOLDENS = SHARED / "goldens" if (SHARED / "goldens").is_dir() else DATA / "goldens"


class Recorded(NamedTuple):
    """One recorded message: its run, number, direction (`b2e` or `e2b`), exact bytes, and the C++ library's twin."""

    run: str
    number: int
    direction: str
    data: bytes
    twin: bytes | None

    @property
    def is_json(self) -> bool:
        return self.run.endswith("__json")


@cache
def runs() -> tuple[Path, ...]:
    """The recorded runs: all of the corpus where it is present, else the few kept with the tests."""
    if CORPUS.is_dir():
        return tuple(sorted(CORPUS.glob("*.tar.xz")))
    return tuple(sorted((DATA / "runs").glob("*.tar.xz")))


@cache
def files_of(archive: Path) -> dict[str, bytes]:
    """What an archive of a run holds, by name; read once in all, as tests of several files go through all runs.

    All members are plain files with short names. For the 60,000 of them, `tarfile` takes ten times as long.
    """
    tar = lzma.decompress(archive.read_bytes())
    found, place = {}, 0
    while tar[place : place + 1].strip(b"\0"):
        header = tar[place : place + 512]
        name, size = header[:100].rstrip(b"\0").decode().removeprefix("./"), int(header[124:135], 8)
        assert header[156:157] == b"0", f"{name} in {archive} is no plain file"
        found[name] = tar[place + 512 : place + 512 + size]
        place += 512 + -(-size // 512) * 512
    return found


@cache
def read_run(archive: Path) -> tuple[Recorded, ...]:
    """The messages of one run, in order, the init frame (0) and the hello frame (1) included."""
    files = files_of(archive)
    messages = []
    for name in sorted(files):
        if name.endswith(".bin") and "/" not in name:
            stem = name.removesuffix(".bin")
            number, direction = stem.split("-")
            twin = files.get(f"twin/{stem}.json", files.get(f"twin/{stem}.fb"))
            messages.append(Recorded(archive.name.removesuffix(".tar.xz"), int(number), direction, files[name], twin))
    return tuple(messages)


def recorded_messages() -> Iterator[Recorded]:
    """Every recorded protocol message, without the init frames; hello frames without their flags word."""
    for archive in runs():
        for message in read_run(archive):
            if message.number == 1:
                yield message._replace(data=message.data[4:])
            elif message.number > 1:
                yield message


def shared_library(made: Path, source: Path) -> Path:
    """Compile a file of C to a shared library. Not with what Python was compiled with, which may not be here."""
    compiler = shutil.which("gcc") or shutil.which("clang") or find("cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, source], check=True)
    return made


def snake(name: str) -> str:
    """What functions are named after a type: `JobSubmittedEvent` is `job_submitted_event`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.replace("PState", "Pstate")).lower()


def rows_of(hosts: Iterable[int]) -> dict[int, int]:
    """The rows of hosts that follow one another: the first host of each, and how many it has."""
    groups = groupby(enumerate(sorted(hosts)), lambda pair: pair[1] - pair[0])
    rows = [[host for _, host in group] for _, group in groups]
    return {row[0]: len(row) for row in rows}
