"""An index that is locked or emptied, or whose disk is full: the cause is told, and what to do."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from commands import run_here
from disks import kinds, small_disk

from batprotocol.errors import StudyError
from batprotocol.studies import Study
from batprotocol.studies import store as index
from batprotocol.studies.store import NAME, Index, IndexedRun

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

FULL = ("no space left on device", "disk I/O error: the disk may be full or damaged, or files may have a limit")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    Study(scheduler="fcfs", workload="lublin:4?jobs=3").run(tmp_path / "store", processes=1)
    (tmp_path / "study.toml").write_text('scheduler = "fcfs"\nworkload = "lublin:4?jobs=3"\n')
    return tmp_path / "store"


def entries(count: int) -> list[IndexedRun]:
    return [IndexedRun(f"{number:032}", "done", "", "", {"seed": number}, {}, 1.0) for number in range(count)]


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("pages", [1, 2, 5, 8, 11, 12, 13, 14, 16, 20])
def test_the_disk_is_full(tmp_path: Path, kind: str, pages: int) -> None:
    """Wherever it becomes full: when the index is made, at a statement or at the end of a transaction."""
    with small_disk(kind, tmp_path, pages * 4096) as disk:
        path = disk / NAME
        with pytest.raises(StudyError) as caught:  # noqa: PT012  # the disk may be full at once
            made = Index(str(disk), writes=True)
            try:
                for count in range(1, 60):
                    made.add(entries(100 * count))
                    made.want((each.axes, each.key, "m") for each in entries(100 * count))
            finally:
                made.close()
        assert (caught.value.file, caught.value.reason in FULL) == (str(path), True)
        assert kind == "limit" or caught.value.reason == FULL[0]


_FULL = "CREATE TRIGGER full BEFORE INSERT ON measured BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"


def test_runs_are_not_measured_anew_after_a_full_disk(tmp_path: Path) -> None:
    """The disk becomes full when the runs are in the index, and their metrics are not."""
    study, measured = Study(scheduler=["fcfs", "easy"], workload="lublin:4?jobs=3"), list[int]()
    study.run(tmp_path, processes=1, only=["scheduler=fcfs"])
    with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as database:
        database.execute(_FULL)
        with pytest.raises(StudyError, match="no space left"):
            study.run(tmp_path, processes=1)
        assert database.execute("SELECT count(*) FROM runs").fetchone() == (1,)
        database.execute("DROP TRIGGER full")
    rows = study.run(tmp_path, processes=1, on_progress=lambda progress: measured.append(progress.measured))
    assert set(measured) == {0}
    assert all(row.metrics for row in rows)


def test_metrics_that_an_older_index_lacks_are_those_of_the_folders(tmp_path: Path) -> None:
    study, measured = Study(scheduler=["fcfs", "easy"], workload="lublin:4?jobs=3"), list[int]()
    before = study.run(tmp_path, processes=1)
    with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as database:
        database.execute("DELETE FROM measured")
        database.execute("DELETE FROM measures")
    after = study.run(tmp_path, processes=1, on_progress=lambda progress: measured.append(progress.measured))
    assert set(measured) == {0}
    assert [(row.key, row.metrics) for row in after] == [(row.key, row.metrics) for row in before]


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "study.toml", "--store", "store"),
        ("run", "study.toml", "--store", "store", "--only", "scheduler=fcfs"),
        ("list", "study.toml", "--store", "store"),
        ("table", "store"),
        ("merge", "store", "other"),
    ],
)
def test_another_program_keeps_it_locked(
    store: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Each command waits once, and says for whom."""
    Study(scheduler="fcfs", workload="lublin:4?jobs=2").run(store.with_name("other"), processes=1)
    monkeypatch.chdir(store.parent)
    monkeypatch.setattr(index, "_PATIENCE", 0.25)
    with closing(sqlite3.connect(store / NAME, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        found = run_here("study", *arguments)
    assert found.status == 1
    told = f"store/{NAME}: another program has kept it locked for 0.25 seconds: end that program, and try again\n"
    assert found.err == f"batproto: {told}"


@pytest.mark.parametrize("how", ["emptied", "without tables"])
def test_an_emptied_index_is_made_anew(store: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.chdir(store.parent)
    if how == "emptied":
        (store / NAME).write_bytes(b"")
    else:
        with closing(sqlite3.connect(store / NAME)) as database:
            database.execute("DROP TABLE measured")
    for command in (("list", "study.toml", "--store", "store"), ("table", "store")):
        found = run_here("study", *command)
        assert found.status == 1
        assert found.err.endswith("; run a study with this store: that makes the index anew\n")
        assert found.err.count("\n") == 1
    again = run_here("study", "run", "study.toml", "--store", "store")
    assert (again.status, "1 were in the store" in again.err + again.out) == (0, True)
    assert run_here("study", "table", "store").status == 0
