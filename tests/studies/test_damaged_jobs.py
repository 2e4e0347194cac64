"""A jobs.parquet of a store that is damaged: the jobs as they were, or an error; never another exception."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from commands import run_here

from batprotocol.errors import InputError
from batprotocol.simulator import JobRow
from batprotocol.studies import Store, Study
from batprotocol.studies.rows import as_parquet, jobs_in, users_in

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("run")
    assert run_here("simulate", "easy", "-w", "lublin:8?jobs=20&seed=1", "-o", folder).status == 0
    return as_parquet((folder / "jobs.csv").read_bytes(), json.dumps({"w0!1": "ann"}).encode())


def damaged(data: bytes, draw: Random) -> bytes:
    """The file with some bytes changed, missing or elsewhere, most of them in the description at its end."""
    found = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 8])):
        near_the_end = len(found) - 1 - draw.randrange(min(len(found), 2000))
        place = draw.choice([draw.randrange(len(found)), near_the_end])
        match draw.randrange(4):
            case 0:
                found[place] ^= 1 << draw.randrange(8)
            case 1:
                found[place : place + 4] = draw.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\x01\0\0\0"])
            case 2:
                del found[place : place + draw.randrange(1, 9)]
            case _:
                del found[max(place, 8) :]
    return bytes(found)


def read(folder: Path, reader: Callable[[str], object]) -> object:
    """What a reader finds, or None if it refuses."""
    try:
        return reader(str(folder))
    except InputError as error:
        assert error.file == str(folder / "jobs.parquet")  # noqa: PT017  # a refusal is one of two right answers
        return None


def jobs_of(folder: str) -> list[JobRow]:
    return list(jobs_in(folder))


def test_any_damage(kept: bytes, tmp_path: Path) -> None:
    for seed in range(400):
        (tmp_path / "jobs.parquet").write_bytes(damaged(kept, Random(seed)))
        read(tmp_path, jobs_of)
        read(tmp_path, users_in)


def test_a_changed_bit_of_a_value_is_found(kept: bytes, tmp_path: Path) -> None:
    """By the checksums of its pages."""
    path = tmp_path / "jobs.parquet"
    path.write_bytes(kept)
    whole = jobs_of(str(tmp_path))
    assert len(whole) == 20
    values = len(kept) - int.from_bytes(kept[-8:-4], "little") - 8  # the bytes before the description
    refusals = 0
    for seed in range(300):
        draw = Random(seed)
        changed = bytearray(kept)
        changed[draw.randrange(4, values)] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        found = read(tmp_path, jobs_of)
        assert found in (None, whole)
        refusals += found is None
    assert refusals > 200


def test_the_commands(tmp_path: Path) -> None:
    Study(scheduler="fcfs", workload="lublin:4?jobs=3").run(tmp_path / "store", processes=1)
    with Store(tmp_path / "store") as store:
        (row,) = store.rows()
    path = Path(row.folder) / "jobs.parquet"
    path.write_bytes(path.read_bytes()[:-30])
    for command in (("compare",), ("stats",), ("timeline", "-o", tmp_path / "page.html")):
        name = f"{tmp_path}/store?scheduler=fcfs"
        found = run_here(*command, name, *([name] if command == ("compare",) else []))
        assert (found.status, found.err.count("\n")) == (1, 1), found.err
        assert "its jobs.parquet cannot be read: " in found.err
