"""What was said in recorded runs, as those want it who look at it without a capture."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import DATA, SHARED, files_of, read_run, runs

from batprotocol import Message
from batprotocol.errors import DecodeError
from batprotocol.model import Direction
from batprotocol.wire import FORMATS

Said = bytes | Message


def all_runs() -> list[Path]:
    """The recorded runs of Batsim 5: the corpus and the simulations, or what is kept of them with the tests."""
    simulations = SHARED / "runs" if (SHARED / "runs").is_dir() else DATA / "simulations"
    return [*runs(), *sorted(simulations.glob("*.tar.xz"))]


def said_in(archive: Path) -> Iterator[tuple[Direction, Said]]:
    """What was said: the frames of the handshake, then messages, or bytes where these are none."""
    format = "binary"
    for recorded in read_run(archive):
        direction, said = Direction(recorded.direction), recorded.data
        if recorded.number == 1:
            format = "json" if said[0] & 2 else "binary"
        elif recorded.number > 1:
            try:
                yield direction, FORMATS[format].decode(said)
                continue
            except DecodeError:
                pass
        yield direction, said


def messages_of(archive: Path) -> Iterator[tuple[Direction, Message]]:
    """All that could be read, but for the handshake."""
    return ((direction, said) for direction, said in said_in(archive) if isinstance(said, Message))


def jobs_csv(archive: Path) -> dict[str, dict[str, str]] | None:
    """Batsim's own jobs.csv by the jobs' full names, if the run has one."""
    data = files_of(archive).get("jobs.csv")
    if data is None:
        return None
    return {f"{row['workload_name']}!{row['job_id']}": row for row in csv.DictReader(io.StringIO(data.decode()))}


def some_of(paths: Sequence[Path], every: int) -> list[Any]:
    """Parameters for each so many of these runs; the others are left to those who have minutes."""
    return [
        pytest.param(path, id=path.name, marks=[pytest.mark.minutes] if number % every else [])
        for number, path in enumerate(paths)
    ]
