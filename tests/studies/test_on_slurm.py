"""Studies on a real Slurm: workers come as they get nodes, and are killed and replaced; each run is stored once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import patience
import pytest
from gates import Gate
from processes import BATPROTO, ENVIRONMENT
from slurms import RunningSlurm, running_slurm
from test_on_dask import files_of, workload
from wheels import wheels_of

from batprotocol.errors import ClusterError
from batprotocol.sites.slurm.client import LocalRunner, SlurmCommands
from batprotocol.studies import Study
from batprotocol.studies._slurm_workers import SlurmWorkers, Wheels

WITHOUT_ENGINE = True

PATIENCE = 120.0
until = partial(patience.until, patience=PATIENCE, step=0.1)


@pytest.fixture(scope="module")
def slurm() -> Iterator[RunningSlurm]:
    with running_slurm(2, 4) as found:
        yield found


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """It lets five runs begin until the test says more."""
    found = Gate(tmp_path, tmp_path / "study.runs" / "runs")
    found.allow(5)
    return found


@pytest.fixture
def study(tmp_path: Path, gate: Gate) -> Path:
    workload(tmp_path / "jobs.json", 400)
    path = tmp_path / "study.toml"
    path.write_text(
        f'scheduler = {json.dumps(gate.schedulers)}\nworkload = "jobs.json"\nestimate_factor = 2\nseed = "0-14"\n'
    )
    return path


def client() -> SlurmCommands:
    return SlurmCommands(LocalRunner())


def running() -> list[str]:
    return [job.id for job in client().jobs() if job.state == "RUNNING"]


def left() -> list[str]:
    return [job.id for job in client().jobs() if not job.has_ended]


def count(store: Path) -> int:
    return sum(1 for _ in (store / "runs").glob("*/*")) if (store / "runs").is_dir() else 0


@pytest.mark.minutes
@pytest.mark.timeout(3600)
def test_half_of_the_workers_are_killed(slurm: RunningSlurm, study: Path, gate: Gate, tmp_path: Path) -> None:
    """Of 1,000 runs, each is in the store once, with the bytes that it has here."""
    workload(tmp_path / "jobs.json", 40)
    study.write_text(study.read_text().replace("0-14", "0-249"))
    command = [*BATPROTO, "study", "run", str(study), "--slurm", "idle", "-j", "6"]
    store = tmp_path / "study.runs"
    with subprocess.Popen(command, stderr=subprocess.PIPE, env={**ENVIRONMENT, "SLURM_CONF": _conf(slurm)}) as driver:
        until(lambda: count(store) >= 5 and len(running()) == 6)
        first = set(running())
        for each in sorted(first)[:3]:
            slurm.command("scancel", "--signal=KILL", "--full", each)
        until(lambda: driver.poll() is not None or len(set(running()) - first) >= 3)
        gate.allow(1001)
        assert driver.stderr is not None
        _, errors = driver.communicate(timeout=PATIENCE * 20)
    assert driver.returncode == 0, errors
    until(lambda: not left())
    alone = tmp_path / "alone"
    Study.read(study).run(alone)
    assert files_of(store) == files_of(alone)
    assert count(store) == 1000


@pytest.mark.minutes
def test_workers_end_when_the_program_is_killed(slurm: RunningSlurm, study: Path, gate: Gate, tmp_path: Path) -> None:
    command = [*BATPROTO, "study", "run", str(study), "--slurm", "idle", "-j", "2"]
    store = tmp_path / "study.runs"
    environment = {**ENVIRONMENT, "SLURM_CONF": _conf(slurm)}
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as driver:
        until(lambda: count(store) >= 3)
        driver.send_signal(signal.SIGKILL)
    before = count(store)
    gate.allow(61)
    until(lambda: not left())
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=environment)
    assert before < 60
    assert count(store) == 60


WHERE = """
import os, sys
import batprotocol
from batprotocol.edc import Scheduler

class Where(Scheduler):
    def on_init(self, text):
        assert batprotocol.__file__.startswith(os.environ["TMPDIR"]), batprotocol.__file__
        open(os.path.join(os.environ["TMPDIR"], f"worker{os.getppid()}"), "w").close()

    def on_job_submitted(self, event):
        self.reply.add_reject_job(event.job_id)
"""


@pytest.mark.minutes
def test_nodes_without_packages_install_wheels(slurm: RunningSlurm, study: Path, tmp_path: Path) -> None:
    wheels, scratch = tmp_path / "wheels", tmp_path / "scratch"
    wheels.mkdir()
    scratch.mkdir()
    wheels_of("batprotocol", ("dask",), wheels)
    (tmp_path / "where.py").write_text(WHERE)
    study.write_text('scheduler = "where.py:Where"\nworkload = "jobs.json"\nestimate_factor = 2\nseed = "0-19"\n')
    command = [*BATPROTO, "study", "run", str(study), "--slurm", "idle", "-j", "4", "--wheels", str(wheels)]
    # The Python of these variables has no packages, nor has the one of the nodes, which is first on the PATH.
    environment = {**ENVIRONMENT, "SLURM_CONF": _conf(slurm), "TMPDIR": str(scratch), "PATH": _bare_path()}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE * 2, check=False)
    assert done.returncode == 0, done.stderr
    assert count(tmp_path / "study.runs") == 20
    assert len(list(scratch.glob("worker*"))) >= 1
    assert len(list(scratch.glob("batprotocol-*-*/ready"))) == 1
    assert not list(scratch.glob("batprotocol-*-*/wheels"))
    until(lambda: not left())


@pytest.mark.minutes
def test_wheels_that_cannot_be_installed_are_a_note(slurm: RunningSlurm, study: Path, tmp_path: Path) -> None:
    wheels, scratch = tmp_path / "wheels", tmp_path / "scratch"
    wheels.mkdir()
    scratch.mkdir()
    wheels_of("batprotocol", (), wheels)
    (wheels / next(path.name for path in wheels.glob("msgspec-*"))).unlink()
    notes: list[str] = []
    environment = pytest.MonkeyPatch()
    environment.setenv("TMPDIR", str(scratch))
    environment.setenv("PATH", _bare_path())
    workers = SlurmWorkers(client(), 2, "idle", wheels=Wheels.read(wheels), on_note=notes.append)
    try:
        until(lambda: len(notes) > 0)
    finally:
        workers.close()
        environment.undo()
    assert re.search(r"^a worker on n\d does not work: pip install ended with status 1: .*msgspec", notes[0]), notes
    assert "\n" not in notes[0]
    until(lambda: not left())


def _bare_path() -> str:
    """A PATH whose first Python has nothing but what comes with it."""
    return os.pathsep.join([os.path.join(sys.base_prefix, "bin"), os.environ["PATH"]])


def test_secrets_are_private(slurm: RunningSlurm) -> None:
    workers = SlurmWorkers(client(), 1, "idle")
    try:
        until(lambda: len(running()) == 1)
        assert workers.address.startswith("tls://")
        listing = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        assert "PRIVATE KEY" not in listing
        shown = slurm.command("scontrol", "show", "job").stdout
        assert "PRIVATE KEY" not in shown
        assert {path.stat().st_mode & 0o77 for path in Path(workers._folder.name).glob("*.pem")} == {0}
    finally:
        workers.close()
    until(lambda: not left())


def test_what_is_wrong_is_a_sentence(slurm: RunningSlurm) -> None:
    with pytest.raises(ClusterError, match="Slurm does not take the workers"):
        SlurmWorkers(client(), 1, "nowhere")


def _conf(slurm: RunningSlurm) -> str:
    return str(slurm.folder / "slurm.conf")
