"""`batproto new`: a scheduler that runs, with a test that passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from commands import run_here
from processes import BINARY, ENVIRONMENT, REPLAY, batproto

from batprotocol.edc.commands.new import written_scheduler

WITHOUT_ENGINE = True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "module", "class_name"),
    [
        ("MyScheduler", "my_scheduler", "MyScheduler"),
        ("my-scheduler", "my_scheduler", "MyScheduler"),
        ("my_scheduler", "my_scheduler", "MyScheduler"),
        ("FCFS", "fcfs", "FCFS"),
        ("EASYBackfilling2", "easy_backfilling2", "EASYBackfilling2"),
    ],
)
def test_a_new_scheduler_runs(tmp_path: Path, name: str, module: str, class_name: str) -> None:
    done = batproto("new", "scheduler", name, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"wrote {module}.py\nwrote test_{module}.py\n")
    ended = batproto("run", f"{module}.py:{class_name}", "--", *REPLAY, BINARY, "3", "0", cwd=tmp_path)
    assert "ended with exit status 0 before the simulation was over" in ended.stderr


@pytest.mark.slow
def test_a_new_scheduler_passes_its_test(tmp_path: Path) -> None:
    batproto("new", "scheduler", "MyScheduler", cwd=tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    tested = subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 passed" in tested.stdout, tested.stdout


def test_a_new_scheduler_overwrites_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_mine.py").write_text("precious")
    monkeypatch.chdir(tmp_path)
    done = run_here("new", "scheduler", "mine")
    assert (done.status, done.err) == (1, "batproto: test_mine.py exists already, nothing was written\n")
    assert [path.name for path in tmp_path.iterdir()] == ["test_mine.py"]


@pytest.mark.parametrize("name", ["1st", "a/b", "", "class", "é", "json", "batprotocol", "procset"])
def test_names_that_no_scheduler_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_here("new", "scheduler", name)
    assert done.status == 2
    assert done.err.startswith("batproto new scheduler: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "module", "class_name"),
    [
        ("MyScheduler", "my_scheduler", "MyScheduler"),
        ("my-scheduler", "my_scheduler", "MyScheduler"),
        ("mine", "mine", "Mine"),
    ],
)
def test_two_files_are_written_or_none(
    name: str, module: str, class_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = written_scheduler(name)
    assert files == [f"{module}.py", f"test_{module}.py"]
    texts = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert sorted(texts) == sorted(files)
    assert f"class {class_name}(" in texts[f"{module}.py"]
    assert f"from {module} import {class_name}" in texts[f"test_{module}.py"]
    for kept in files:
        for file in files:
            (tmp_path / file).unlink(missing_ok=True)
        (tmp_path / kept).write_text("mine")
        with pytest.raises(click.ClickException, match=f"^{kept} exists already, nothing was written$"):
            written_scheduler(name)
        assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {kept: "mine"}
