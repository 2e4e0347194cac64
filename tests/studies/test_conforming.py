"""Conformance in several processes: the chunks, and that they report what one process does, wherever they run."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st
from processes import BATPROTO, ENVIRONMENT
from slurms import RunningSlurm, running_slurm

from batprotocol.edc.scheduler import load
from batprotocol.policies.names import scheduler_named
from batprotocol.studies import conformance as conforming
from batprotocol.studies.conformance import CHUNK, Tested, chunks, find_on
from batprotocol.testing.conformance import CannotRun, Report, find

WITHOUT_ENGINE = True

PATIENCE = 120.0
NARROW = """
from batprotocol.edc import Scheduler

class Narrow(Scheduler):
    def on_simulation_begins(self, event):
        self.host = event.computation_hosts[0].id

    def on_job_submitted(self, event):
        self.reply.add_execute_job(event.job_id, self.host)
"""


@given(st.integers(1, 100_000), st.integers(-(2**70), 2**70))
def test_chunks_are_all_simulations(examples: int, seed: int) -> None:
    found = chunks(examples, seed)
    sizes = [each.examples for each in found]
    assert sum(sizes) == examples
    assert max(sizes) <= CHUNK
    assert max(sizes) - min(sizes) <= 1
    assert found[0].seed == seed
    assert len({each.seed for each in found}) == len(found)


@pytest.fixture
def narrow(tmp_path: Path) -> str:
    """A scheduler with a mistake that the first simulations show."""
    (tmp_path / "narrow.py").write_text(NARROW)
    return f"{tmp_path}/narrow.py:Narrow"


def shown(report: Report) -> tuple[object, ...]:
    """The finding of a report as values that can be compared; platforms cannot."""
    assert report.finding is not None
    return report.finding.violation, list(report.finding.case.lines()), report.finding.log, report.finding.place


@pytest.mark.slow
def test_the_finding_is_that_of_one_process(narrow: str) -> None:
    alone = find(load(narrow), examples=100)
    report = find_on(Tested.of(scheduler=narrow), examples=100, processes=1)
    assert shown(report) == shown(alone)
    assert list(report.lines()) == list(alone.lines())


@pytest.mark.slow
def test_several_processes_report_what_the_chunks_do_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conforming, "CHUNK", 12)
    report = find_on(Tested.of(scheduler="easy"), examples=30, processes=2, advise_after=60.0)
    alone = Report(report.rules)
    for each in chunks(30, 0):
        alone.join(find(scheduler_named("easy"), examples=each.examples, seed=each.seed, advise_after=60.0))
    assert report.finding is None
    assert report.simulations == 30
    assert list(report.lines()) == list(alone.lines())


@pytest.mark.slow
def test_what_cannot_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="cannot be started"):
        find_on(Tested.of(["/nowhere/edc", "{endpoint}"]), examples=1, processes=1)
    with pytest.raises(ValueError, match="there is no rule 'nonsense'"):
        find_on(Tested.of(scheduler="fcfs"), examples=1, processes=1, ignore=["nonsense"])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["easy", "--wheels", "wheels"], "--wheels is for nodes of Slurm: give --slurm, too"),
        (["easy", "--dask", "tcp://x:1", "--slurm"], "give one of --slurm and --dask"),
        (["easy", "--dask", "tcp://x:1", "-j", "2"], "leave -j out with --dask"),
        (["--endpoint", "tcp://127.0.0.1:1", "-j", "2"], "one program at an --endpoint"),
    ],
)
def test_wrong_options_are_a_sentence(arguments: list[str], reason: str) -> None:
    done = run_here("conformance", *arguments)
    assert done.status == 2
    assert reason in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("folder", "reason"), [("/nowhere", "batproto: /nowhere: no such file or directory"), (".", "there is no wheel of")]
)
def test_what_is_missing_elsewhere_is_no_finding(
    folder: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_here("conformance", "easy", "--slurm", "--wheels", folder)
    assert done.status == 2
    assert reason in done.err


@pytest.fixture(scope="module")
def slurm() -> Iterator[RunningSlurm]:
    with running_slurm(2, 2) as found:
        yield found


BLOCKED = """
import os, time
from batprotocol.edc import Scheduler

class Blocked(Scheduler):
    def on_init(self, text):
        name = os.environ["SLURM_ARRAY_JOB_ID"] + "_" + os.environ["SLURM_ARRAY_TASK_ID"]
        open(os.path.join(FOLDER, name), "a").close()
        while not os.path.exists(os.path.join(FOLDER, "go")):
            time.sleep(0.05)

    def on_job_submitted(self, event):
        self.reply.add_reject_job(event.job_id)
"""


@pytest.mark.minutes
def test_the_chunk_of_a_killed_worker_is_played_again(slurm: RunningSlurm, tmp_path: Path) -> None:
    (tmp_path / "began").mkdir()
    (tmp_path / "blocked.py").write_text(f"FOLDER = {str(tmp_path / 'began')!r}\n{BLOCKED}")
    target = f"{tmp_path}/blocked.py:Blocked"
    command = [*BATPROTO, "conformance", target, "--examples", "500", "--slurm", "idle", "-j", "2"]
    environment = {**ENVIRONMENT, "SLURM_CONF": str(slurm.folder / "slurm.conf")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as driver:
        began = until_there_are(tmp_path / "began", 2)
        slurm.command("scancel", "--signal=KILL", "--full", min(began))  # it is in the midst of a chunk
        until_there_are(tmp_path / "began", 3)
        (tmp_path / "began" / "go").touch()
        printed, errors = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, errors
    assert "500 simulations, " in printed


def until_there_are(folder: Path, count: int) -> set[str]:
    end = time.monotonic() + PATIENCE
    while len(found := {path.name for path in folder.iterdir()}) < count:
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


@pytest.mark.minutes
def test_a_finding_on_slurm_is_that_of_this_machine(slurm: RunningSlurm, narrow: str) -> None:
    report = find_on(Tested.of(scheduler=narrow), examples=500, processes=2, slurm="idle")
    alone = find(load(narrow), examples=chunks(500, 0)[0].examples)
    assert shown(report) == shown(alone)
    assert report.simulations == alone.simulations
