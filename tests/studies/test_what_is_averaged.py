"""Rows of several axes, values of another axis in --only, and loads of a part of a run: what users are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run_here

WITHOUT_ENGINE = True
pytestmark = [pytest.mark.once, pytest.mark.slow]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("averaged") / "study.toml"
    path.write_text(
        'workload = "lublin:16?jobs=60"\noffered_load = 0.6\nwarm_up = 0.3\nseed = "0-2"\n'
        'scheduler = ["fcfs", { scheduler = "easy", arguments = { off = [60, 600] } }]\n'
    )
    done = run_here("study", "run", str(path), "-j", "1")
    assert done.status == 0
    assert " in the measured part of each run (warm_up)" in done.out
    return str(path)


def test_rows_are_repeated_for_several_axes(study: str) -> None:
    together = run_here("study", "table", study, "--rows", "scheduler,off")
    assert run_here("study", "table", study, "--rows", "scheduler", "--rows", "off").out == together.out
    assert [line.partition("  ")[0] for line in together.out.splitlines()[1:4]] == ["fcfs, -", "easy, 60", "easy, 600"]


def test_a_caption_names_the_rows_that_are_averaged(study: str) -> None:
    assert ", each the mean over 2 values of off in easy" in run_here("study", "table", study).out


@pytest.mark.parametrize("command", ["table", "list", "run"])
def test_another_axis_in_only(study: str, command: str) -> None:
    done = run_here("study", command, study, "--only", "seed=1,scheduler=easy")
    assert done.status != 0
    assert "'scheduler=easy' is not a value of seed: repeat --only for another axis" in done.err


def test_a_value_that_no_run_has(study: str) -> None:
    done = run_here("study", "list", study.replace(".toml", ".runs"), "--only", "seed=9")
    assert done.status != 0
    assert "there is no seed '9'" in done.err
