"""The same study with a Batsim: the embedded one as a program of its own, over a socket; a host in C in process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import run_here
from embedded import needs_host

from batprotocol.studies import Rows, Study

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

BATPROTO = f"{sys.executable} -m batprotocol simulate"
OPTIONS = "-p {platform} -w {workload} -o {output} --endpoint {endpoint} --init {init} {energy}--energy"

SCHEDULER = """
from batprotocol.policies import EASY, FCFS, Policy

class Own(Policy):
    def __init__(self, backfills=False):
        super().__init__(FCFS(), EASY() if backfills else None)

    def on_init(self, text):
        if text == "fail":
            raise ValueError("as it was told")

class Told(Policy):
    def on_simulation_begins(self, event):
        super().on_simulation_begins(event)
        raise KeyError("over the socket, too")
"""


def told(rows: Rows) -> list[tuple[object, ...]]:
    """What the tables of two studies have in common: metrics to six decimals, as Batsim writes them."""
    return [(tuple(row.axes.items()), row.state, sorted(row.metrics)) for row in rows]


def test_a_study_runs_unchanged_with_a_program_in_the_place_of_batsim(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(SCHEDULER)
    study = Study(
        scheduler=["easy-sjf", {"scheduler": "own.py:Own", "name": "own", "arguments": {"backfills": True}}],
        workload="lublin:16?jobs=15",
        offered_load=1.4,
        seed=1,
        folder=tmp_path,
    )
    embedded = study.run(tmp_path / "embedded", processes=1)
    real = study.run(tmp_path / "real", processes=1, batsim=f"{BATPROTO} {OPTIONS}".split())
    assert [row.error for row in real.failed] == []
    assert told(embedded) == told(real)
    for one, other in zip(embedded, real, strict=True):
        assert one.key != other.key
        assert other.metrics == pytest.approx(one.metrics, rel=1e-4, abs=1e-5)
        assert [job.job_id for job in one.jobs()] == [job.job_id for job in other.jobs()]


def test_files_go_as_they_are_and_energy_is_measured(tmp_path: Path) -> None:
    study = Study(scheduler="easy", energy=True, warm_up=0.1)
    (one,) = study.run(tmp_path / "embedded", processes=1)
    (other,) = study.run(tmp_path / "real", processes=1, batsim=f"{BATPROTO} {OPTIONS}".split())
    assert other.error == ""
    assert one.metrics["consumed_joules"] > 1e6
    assert other.metrics == pytest.approx(one.metrics, rel=1e-4)


@needs_host
def test_schedulers_are_loaded_by_the_program(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(SCHEDULER)
    own = {"scheduler": "own.py:Own", "name": "own", "arguments": {"backfills": True}}
    study = Study(scheduler=["easy", own], workload="lublin:16?jobs=15", folder=tmp_path)
    command = f"{BATPROTO} -p {{platform}} -w {{workload}} -o {{output}} --library {{library}} --init {{init}}".split()
    rows = study.run(tmp_path / "real", processes=1, batsim=command, in_process=True)
    assert [row.error for row in rows] == ["", ""]
    alone = study.run(tmp_path / "embedded", processes=1, only=["scheduler=easy"])
    assert rows[0].metrics == pytest.approx(alone[0].metrics, rel=1e-4)
    assert rows[0].metrics == rows[1].metrics
    failing = Study(scheduler=own, workload="lublin:16?jobs=15", folder=tmp_path, init="fail")
    (row,) = failing.run(tmp_path / "real", processes=1, batsim=command, in_process=True)
    assert row.kind == "batsim"
    assert "the scheduler" in row.error
    assert "ValueError" in row.error


def test_failures_of_both_sides_are_told(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(SCHEDULER)
    (tmp_path / "study.toml").write_text(
        'scheduler = [{ scheduler = "own.py:Told", name = "told" }, "fcfs"]\nworkload = "lublin:16?jobs=5"\n'
    )
    path = str(tmp_path / "study.toml")
    done = run_here("study", "run", path, "--batsim", f"{BATPROTO} {OPTIONS}", "-j", "1")
    assert done.out.startswith("2 runs: 1 done, 1 failed; "), done.err
    assert "scheduler=told: KeyError: 'over the socket, too', at simulated time " in done.err
    row = Study.read(path).run(only=["scheduler=told"], batsim=f"{BATPROTO} {OPTIONS}".split())[0]
    assert row.kind == "exception"
    assert row.recording
    done = run_here("study", "run", path, "--batsim", "false", "-j", "1")
    assert "scheduler=told: false ended with status 1 before the simulation was over" in done.err
