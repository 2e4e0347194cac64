"""pybatsim 3.2.1 from PyPI, unmodified, in a virtual environment of its own, against the embedded simulator.

What it decides is compared with the recorded runs of the same schedulers with the real Batsim 4.2.1. It was made for a
pyzmq that has no wheels for the Pythons of today; the recordings were made with a later one, and so are these runs.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from old_inputs import SIMULATED, found, started
from old_runs import OldRun, old_run
from servers import free_port
from support import ROOT

from batprotocol import model
from batprotocol.legacy import decode
from batprotocol.legacy import json_events as e
from batprotocol.legacy.bridge import OldScheduler
from batprotocol.legacy.translate import Options
from batprotocol.simulator import Platform, Result, simulate

WITHOUT_ENGINE = True
pytestmark = pytest.mark.minutes

SCHEDULERS = ("fillerSched", "easyBackfill", "schedFiller", "fcfsSchedSleep")
RUNS = [name for name in SIMULATED if name.startswith(SCHEDULERS)]
NAMES = ("example_workload_hpc_seed1_jobs250", "example_workload_hpc_seed2_jobs250", "test_delays")
WORKLOADS = {name: path for name in NAMES if (path := found("workloads", f"{name}.json"))}


@pytest.fixture(scope="module")
def pybatsim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, installed from PyPI."""
    folder = tmp_path_factory.mktemp("pybatsim")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = [folder / "bin" / "python", "-m", "pip", "install", "-q"]
    subprocess.run([*install, "--no-deps", "pybatsim==3.2.1"], check=True)
    subprocess.run([*install, "procset", "docopt", "sortedcontainers", "pyzmq", "setuptools<81"], check=True)
    return folder / "bin" / "pybatsim"


def play(
    pybatsim: Path, scheduler: str, platform: Platform, workload: Path, options: Options, *, energy: bool = False
) -> tuple[Result, dict[str, tuple[float, int]]]:
    """Simulate one of its schedulers: the result, and when each job was started and on how many hosts."""
    port = free_port()
    process = subprocess.Popen(
        [pybatsim, scheduler, "-s", f"tcp://*:{port}", "-t", "60000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=pybatsim.parent,  # some of its schedulers leave a file of what they did where they run
    )
    started: dict[str, tuple[float, int]] = {}

    def on_turn(message: model.Message, reply: model.Message) -> None:
        for event in reply.events:
            if isinstance(event, model.ExecuteJobEvent):
                started[event.job_id] = (reply.now, len(event.allocation.hosts))

    try:
        with OldScheduler(f"tcp://127.0.0.1:{port}", "4.2.1", options, timeout=60) as end:
            result = simulate(platform, workload, end, energy=energy, on_turn=on_turn)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    return result, started


def first_choice(run: OldRun) -> float:
    """When it first depends on the order of the waiting jobs which ones are started; infinity if it never does.

    `fillerSched` keeps them in a set, so their order is that of their addresses: it decides otherwise in each run.
    """
    free = 0
    waiting: dict[str, int] = {}
    running: dict[str, int] = {}
    for sender, data in run.messages:
        message = decode(data, run.version)
        for event in message.events:
            if isinstance(event, e.SimulationBegins):
                free = event.nb_compute_resources or 0
            elif isinstance(event, e.JobSubmitted):
                waiting[event.job_id] = event.job.res
            elif isinstance(event, e.ExecuteJob):
                free -= running.setdefault(event.job_id, waiting.pop(event.job_id))
            elif isinstance(event, e.JobCompleted):
                free += running.pop(event.job_id)
        if sender == "b2s" and free < sum(size for size in waiting.values() if size <= free):
            return message.now
    return math.inf


@pytest.mark.parametrize("name", RUNS)
def test_it_starts_each_job_when_and_where_it_did_with_batsim_4(pybatsim: Path, name: str) -> None:
    run, inputs = old_run(name), SIMULATED[name]
    scheduler = name.partition("__")[0]
    result, seen = play(pybatsim, scheduler, inputs.platform, inputs.workload, inputs.options, energy=inputs.energy)
    expected = started(run)
    assert result.is_complete
    assert seen.keys() == expected.keys()
    until = first_choice(run) if scheduler == "fillerSched" else math.inf
    compared = {job_id: (time, hosts) for job_id, (time, hosts) in expected.items() if time < until}
    assert len(compared) >= 10
    for job_id, (time, hosts) in compared.items():
        assert seen[job_id] == (pytest.approx(time, abs=1.21e-3), hosts), job_id


@pytest.mark.parametrize(
    "scheduler", ["schedFcfs", "schedFiller", "fillerSched", "schedEasySjfBackfill", "easyBackfill"]
)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_it_runs_to_the_end(pybatsim: Path, scheduler: str, workload: str) -> None:
    """Each job starts not before it is submitted, and on as many hosts as it asks for."""
    path = WORKLOADS[workload]
    asked = {f"w0!{job['id']}": (job["subtime"], job["res"]) for job in json.loads(path.read_text())["jobs"]}
    result, started = play(pybatsim, scheduler, Platform.homogeneous(512), path, Options(forward_profiles=True))
    assert result.is_complete
    assert started.keys() == asked.keys()
    assert all(started[job][0] >= subtime and started[job][1] == size for job, (subtime, size) in asked.items())


BATSIM = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    -s) endpoint=$2; shift ;;
    -p) platform=$2; shift ;;
    -w) workload=$2; shift ;;
  esac
  shift
done
exec {python} -m batprotocol simulate --protocol 4.2 --endpoint "tcp://127.0.0.1:${{endpoint##*:}}" \\
    -p "$platform" -w "$workload" --energy --mmax 4 --forward-profiles-on-submission
"""
"""batsim-py starts the program `batsim` by itself: this one is the embedded simulator in its place."""

FIRST_COME = """
import sys
from batsim_py import JobEvent, SimulatorHandler

endpoint, platform, workload = sys.argv[1:]
simulator, ended = SimulatorHandler(endpoint), []
simulator.start(platform, workload)
simulator.subscribe(JobEvent.COMPLETED, lambda job: ended.append((job.id, job.start_time)))
while simulator.is_running:
    for job in simulator.queue:
        hosts = simulator.platform.get_not_allocated_hosts()
        if len(hosts) >= job.res:
            simulator.allocate(job.id, [host.id for host in hosts[: job.res]])
    simulator.proceed_time()
print(sorted(ended))
"""


def test_batsim_py_runs_with_the_embedded_simulator(tmp_path: Path) -> None:
    """Its dependencies are pinned to versions that Pythons of today cannot have: it is installed without them."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = [folder / "bin" / "python", "-m", "pip", "install", "-q"]
    subprocess.run([*install, "setuptools<81", "wheel"], check=True)
    subprocess.run([*install, "--no-deps", "--no-build-isolation", "batsim-py==1.0.5"], check=True)
    subprocess.run([*install, "procset", "pandas", "pyzmq"], check=True)
    batsim = tmp_path / "bin" / "batsim"
    batsim.parent.mkdir()
    batsim.write_text(BATSIM.format(python=sys.executable))
    batsim.chmod(0o755)
    (tmp_path / "first_come.py").write_text(FIRST_COME)
    port = free_port()
    inputs = [found("platforms", "energy_platform_homogeneous.xml"), found("workloads", "test_delays.json")]
    assert None not in inputs
    done = subprocess.run(
        [folder / "bin" / "python", tmp_path / "first_come.py", f"tcp://localhost:{port}", *inputs],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PATH": f"{batsim.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == str([(f"w0!{number}", 3.0 * number) for number in range(10)]), done.stderr
