"""The script of a job of Slurm, run by a shell as slurmd does it: claims, ends, signals, prologues."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import patience
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.campaigns.managers import JobRequest
from batprotocol.campaigns.managers._slurm_jobs import (
    BatchFolder,
    BatchState,
    BatchTerms,
    NewBatch,
    judged,
    plan_of,
    script_of,
)
from batprotocol.campaigns.managers.interface import DIRECTORY, NODES
from batprotocol.campaigns.model import RemoteJob
from batprotocol.sites.slurm.client import LocalRunner, ReportedJob

WITHOUT_ENGINE = True

PATIENCE = 120.0
until = partial(patience.until, patience=PATIENCE, step=0.01)

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
NASTY = st.one_of(TEXTS, st.text("'\"\\$`(){}[]*?!&|;<>~# \n\t-%=", max_size=20))


class Batch:
    """A batch in a folder, whose elements are run by `sh` as slurmd does it."""

    def __init__(self, path: Path, elements: list[list[JobRequest]], prologue: str = "") -> None:
        self.folder = BatchFolder(LocalRunner(), str(path), "mark", 30)
        lines = [
            (f"{index} {' '.join(f'{each.job}:{each.walltime:g}' for each in together)}\n", plan_of(together))
            for index, together in enumerate(elements)
        ]
        self.folder.write(NewBatch("b1", BatchTerms(size=len(elements), minutes=1, weight=1), lines, {}), prologue)
        batch = self.folder.batch("b1")
        file = f"{batch}/prologue" if prologue else ""
        self.script = script_of(batch, f"{self.folder.path}/output", 1, whole_nodes=False, prologue=file)

    def start(self, index: int = 0, path: str = os.environ["PATH"]) -> subprocess.Popen[bytes]:
        variables = {**os.environ, "PATH": path, "SLURM_ARRAY_TASK_ID": str(index), "SLURMD_NODENAME": "n7"}
        return subprocess.Popen(["sh", "-c", self.script], env=variables)

    def run(self, index: int = 0) -> None:
        assert self.start(index).wait(PATIENCE) == 0

    def state(self) -> BatchState:
        return BatchState(self.folder.read()["b1"])

    def jobs(self, rows: Mapping[int, list[ReportedJob]] | None = None) -> dict[int, RemoteJob]:
        ended = {index: [ReportedJob(f"5_{index}", "", "COMPLETED")] for index in self.state().jobs}
        found = judged(self.state(), ended if rows is None else rows, now=time.time(), missing=lambda index: True)
        return {job.job: job for job in found}

    def until_begun(self, number: int) -> None:
        until(lambda: (known := self.state().known.get(number)) is not None and known.began is not None)


def why(job: RemoteJob) -> list[str]:
    return [event.type for event in job.events]


@pytest.mark.slow
@settings(max_examples=8)
@given(st.lists(st.tuples(NASTY, st.lists(NASTY, min_size=1, max_size=4)), min_size=1, max_size=15))
def test_texts_reach_commands_as_they_are(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, list[str]]]
) -> None:
    """Quotes, newlines and `$()` in variables and in quoted parameters are only texts."""
    folder = tmp_path_factory.mktemp("texts")
    jobs = [
        JobRequest(
            job=number,
            command=f'printf "%s\\0" "$CIGRI_JOB_NAME" {shlex.join(words)} >>got',
            environment={"CIGRI_JOB_NAME": name},
            directory=str(folder),
            group=1,
        )
        for number, (name, words) in enumerate(texts, 1)
    ]
    batch = Batch(folder / "a 'b", [jobs])
    batch.run()
    assert [job.exit_code for job in batch.jobs().values()] == [0] * len(jobs)
    assert (folder / "got").read_bytes().decode().split("\0")[:-1] == [
        each for name, words in texts for each in (name, *words)
    ]


@pytest.mark.slow
def test_a_group_runs_in_order_and_each_ends_alone(tmp_path: Path) -> None:
    commands = ["echo out; echo err >&2; exit 3", "true", "kill -9 $$", "sleep 60", "cat $NODES; echo $DIR; exit 66"]
    variables = {"NODES": NODES, "DIR": DIRECTORY}
    jobs = [
        JobRequest(
            job=number,
            command=each,
            directory=str(tmp_path),
            group=1,
            walltime=1 if each == "sleep 60" else 60,
            environment=variables,
        )
        for number, each in enumerate(commands, 1)
    ]
    batch = Batch(tmp_path / "jobs", [jobs])
    batch.run()
    found = batch.jobs()
    assert [found[number].exit_code for number in range(1, 6)] == [3 << 8, 0, 9, None, 66 << 8]
    assert why(found[4]) == ["WALLTIME"]
    assert found[1].node == "n7"
    tails = batch.folder.tails([1, 2, 5])
    assert tails[1] == {"stdout": (b"out\n", True), "stderr": (b"err\n", True)}
    assert 2 not in tails
    assert tails[5]["stdout"] == (f"n7\n{tmp_path}\n".encode(), True)


@pytest.mark.slow
def test_the_end_of_a_long_output_is_kept(tmp_path: Path) -> None:
    batch = Batch(tmp_path / "jobs", [[JobRequest(job=1, command="seq 9999; exit 1", directory=str(tmp_path))]])
    batch.run()
    kept, whole = batch.folder.tails([1])[1]["stdout"]
    assert (len(kept), whole) == (10_000, False)
    assert kept.endswith(b"9998\n9999\n")


@pytest.mark.slow
def test_a_job_begins_once_whoever_runs_its_script(tmp_path: Path) -> None:
    jobs = [
        JobRequest(job=each, command=f"echo {each} >>runs", directory=str(tmp_path), group=1) for each in range(1, 9)
    ]
    batch = Batch(tmp_path / "jobs", [jobs])
    batch.folder.claim([("b1", 3)])
    running = [batch.start() for _ in range(4)]
    assert [each.wait(PATIENCE) for each in running] == [0] * 4
    assert sorted((tmp_path / "runs").read_text().split()) == ["1", "2", "4", "5", "6", "7", "8"]
    assert why(batch.jobs()[3]) == ["FRAG_JOB_REQUEST"]


@pytest.mark.slow
def test_one_of_a_group_is_killed_and_the_others_run(tmp_path: Path) -> None:
    commands = ["sleep 60 & echo $! >child; wait", "true"]
    jobs = [JobRequest(job=n, command=each, directory=str(tmp_path), group=1) for n, each in enumerate(commands, 1)]
    batch = Batch(tmp_path / "jobs", [jobs])
    running = batch.start()
    batch.until_begun(1)
    batch.folder.claim([("b1", 1)])
    running.send_signal(signal.SIGUSR1)
    assert running.wait(PATIENCE) == 0
    found = batch.jobs()
    assert (why(found[1]), found[2].exit_code) == (["FRAG_JOB_REQUEST"], 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "well"), [("touch ready; sleep 60", False), ("trap 'exit 0' TERM; touch ready; sleep 60 & wait", True)]
)
def test_slurm_ends_a_job(tmp_path: Path, command: str, well: bool) -> None:
    """The command gets SIGTERM, and may still end well. If it does not, the state of Slurm has the reason."""
    jobs = [JobRequest(job=n, command=command, directory=str(tmp_path), group=1) for n in (1, 2)]
    batch = Batch(tmp_path / "jobs", [jobs])
    running = batch.start()
    until((tmp_path / "ready").exists)
    running.send_signal(signal.SIGTERM)
    assert running.wait(PATIENCE) == 0
    found = batch.jobs({0: [ReportedJob("5_0", "", "PREEMPTED")]})
    assert (found[1].exit_code, why(found[1])) == ((0, []) if well else (None, ["BESTEFFORT_KILL"]))
    assert why(found[2]) == ["BESTEFFORT_KILL"]


@pytest.mark.slow
@pytest.mark.parametrize("line", ["echo no module; false", "echo no module; exit 4", "echo no module\nif", "return 5"])
def test_a_prologue_that_fails_is_the_output_of_each_task(tmp_path: Path, line: str) -> None:
    jobs = [JobRequest(job=n, command="touch ran", directory=str(tmp_path), group=1) for n in (1, 2)]
    batch = Batch(tmp_path / "jobs", [jobs], prologue=line)
    batch.run()
    assert all(job.exit_code for job in batch.jobs().values())
    assert not (tmp_path / "ran").exists()
    assert line.startswith("return") or b"no module" in batch.folder.tails([2])[2]["stderr"][0]


@pytest.mark.slow
def test_a_prologue_sets_up_the_environment(tmp_path: Path) -> None:
    prologue = "export SCRATCH=/tmp/x\ntask=mine number=7\nCIGRI_RUN_IN='env IN=box'"
    job = JobRequest(job=1, command='echo "$SCRATCH $IN" >got', directory=str(tmp_path))
    batch = Batch(tmp_path / "jobs", [[job]], prologue=prologue)
    batch.run()
    assert (tmp_path / "got").read_text() == "/tmp/x box\n"


@pytest.mark.slow
def test_a_missing_directory(tmp_path: Path) -> None:
    batch = Batch(tmp_path / "jobs", [[JobRequest(job=1, command="true", directory=str(tmp_path / "missing"))]])
    batch.run()
    assert why(batch.jobs()[1]) == ["WORKING_DIRECTORY"]


@pytest.mark.slow
@pytest.mark.parametrize("prologue", ["", "true"])
def test_a_node_without_the_folder_ends_the_job_with_1(tmp_path: Path, prologue: str) -> None:
    batch = Batch(tmp_path / "jobs", [[JobRequest(job=1, command="true")]], prologue)
    shutil.move(tmp_path / "jobs", tmp_path / "elsewhere")
    assert batch.start().wait(PATIENCE) == 1
    shutil.move(tmp_path / "elsewhere", tmp_path / "jobs")
    failed = {0: [ReportedJob("5_0", "", "FAILED")]}
    assert why(batch.jobs(failed)[1]) == ["FOLDER"]
    batch.run()
    assert batch.jobs()[1].exit_code == 0


def test_the_home_directory() -> None:
    def directory(text: str) -> str:
        line = plan_of([JobRequest(job=1, command="true", directory=text)]).splitlines()[0]
        shown = subprocess.run(
            ["sh", "-c", f'{line}\nprintf %s "$directory"'], capture_output=True, text=True, check=True
        )
        return shown.stdout

    home = os.environ["HOME"]
    assert directory("~") == directory("$HOME") == home
    assert directory("~/a b") == directory("$HOME/a b") == f"{home}/a b"
    assert directory("/x/$(touch y)") == "/x/$(touch y)"


@pytest.mark.slow
def test_slurm_may_end_the_command_before_the_script(tmp_path: Path) -> None:
    """It sends a signal to all processes of a job, in any order. The second that the script waits lasts until then."""
    (tmp_path / "bin").mkdir()
    waits = f"#!/bin/sh\ntouch {tmp_path}/waits\nuntil [ -e {tmp_path}/sent ]; do {shutil.which('sleep')} 0.01; done\n"
    (tmp_path / "bin" / "sleep").write_text(waits)
    (tmp_path / "bin" / "sleep").chmod(0o700)
    batch = Batch(tmp_path / "jobs", [[JobRequest(job=1, command="kill -TERM $$", directory=str(tmp_path))]])
    running = batch.start(path=f"{tmp_path}/bin:{os.environ['PATH']}")
    until((tmp_path / "waits").exists)
    running.send_signal(signal.SIGTERM)
    (tmp_path / "sent").touch()
    assert running.wait(PATIENCE) == 0
    assert why(batch.jobs({0: [ReportedJob("5_0", "", "PREEMPTED")]})[1]) == ["BESTEFFORT_KILL"]
    assert not batch.state().known[1].how
