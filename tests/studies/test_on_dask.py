"""Studies on a real Dask scheduler, whose workers are killed, as is whoever runs the study."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from daskers import DaskProcesses, dask_processes
from gates import Gate
from processes import BATPROTO, ENVIRONMENT, batproto

from batprotocol._util.engines import DaskEngine
from batprotocol.errors import ClusterError
from batprotocol.studies import Store, Study
from batprotocol.studies._simulation import execute

WITHOUT_ENGINE = True

PATIENCE = 60.0


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    with dask_processes(tmp_path_factory.mktemp("dask"), workers=1) as found:
        yield found


def workload(path: Path, jobs: int) -> None:
    """Jobs that come ten at a time, so that there are few messages about many of them."""
    chance = random.Random(jobs)
    profiles = {f"d{seconds}": {"type": "DelayProfile", "delay": seconds} for seconds in (100, 200, 300)}
    given = [
        {
            "id": str(n),
            "subtime": 200.0 * (n // 10),
            "res": chance.choice([1, 2, 4, 8]),
            "profile": chance.choice([*profiles]),
        }
        for n in range(jobs)
    ]
    path.write_text(
        json.dumps({"nb_res": 16, "jobs": [{**job, "walltime": 400} for job in given], "profiles": profiles})
    )


def files_of(store: Path) -> dict[str, bytes]:
    """All that is kept of runs."""
    return {str(path.relative_to(store)): path.read_bytes() for path in (store / "runs").rglob("*") if path.is_file()}


def test_failures_are_the_same_on_dask(dask: DaskProcesses, tmp_path: Path) -> None:
    """Their file travels to the workers, and drawn ones are drawn there."""
    workload(tmp_path / "jobs.json", 40)
    event = {"type": "generic", "timestamp": 150, "data": json.dumps({"hosts": "0-7", "state": "down"})}
    (tmp_path / "events.jsonl").write_text(json.dumps(event) + "\n")
    drawn: dict[str, Any] = {"mtbf": "1h", "repair": "fixed:5min", "failure_seed": 3}
    for keys in ({"failures": "events.jsonl"}, drawn):
        study = Study(scheduler="easy+requeue", workload="jobs.json", folder=tmp_path, **keys)
        (one,) = study.run(tmp_path / f"{len(keys)} here", processes=1)
        (other,) = study.run(tmp_path / f"{len(keys)} there", dask=dask.address)
        assert (one.error, other.error) == ("", "")
        assert one.metrics["nb_interruptions"] > 0
        assert files_of(tmp_path / f"{len(keys)} here") == files_of(tmp_path / f"{len(keys)} there")


def killed_again_and_again(folder: Path, *, jobs: int, seeds: int, workers: int, lost: int, deaths: int) -> None:
    """Run a study on Dask while workers and the program that runs it are killed; then compare with the runs alone."""
    workload(folder / "jobs.json", jobs)
    study = folder / "study.toml"
    runs = folder / "study.runs" / "runs"
    gate = Gate(folder, runs)
    study.write_text(
        f'scheduler = {json.dumps(gate.schedulers)}\nworkload = "jobs.json"\nestimate_factor = 2\n'
        f'seed = "0-{seeds - 1}"\n'
    )
    total = 4 * seeds
    with dask_processes(folder, workers=workers) as dask:
        command = [*BATPROTO, "study", "run", str(study), "--dask", dask.address]
        for death in range(1, deaths + 1):
            some = total * death // (deaths + 2)
            gate.allow(some)
            with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE) as driver:
                until = time.monotonic() + PATIENCE * 20
                while not runs.is_dir() or sum(1 for _ in runs.glob("*/*")) < some:
                    assert driver.poll() is None, driver.stderr and driver.stderr.read()
                    assert time.monotonic() < until
                    time.sleep(0.05)
                if death <= lost:
                    dask.workers[death - 1].send_signal(signal.SIGKILL)
                    time.sleep(0.2)
                driver.send_signal(signal.SIGKILL)
            assert driver.returncode == -signal.SIGKILL
        gate.allow(1 << 30)
        last = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (last.returncode, last.stderr) == (0, "")
    assert last.stdout.startswith(f"{total:,} runs: ")
    with Store(folder / "study.runs") as store:
        assert len(store.rows()) == len(store.rows(all=True)) == total
        assert not store.rows().failed
    Study.read(study).run(folder / "alone")
    assert files_of(folder / "study.runs") == files_of(folder / "alone")


@pytest.mark.slow
def test_whoever_is_killed_each_run_is_there_once_and_as_alone(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, jobs=20, seeds=8, workers=2, lost=1, deaths=1)


@pytest.mark.minutes
def test_five_thousand_runs_survive_five_deaths_and_two_lost_workers(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, jobs=200, seeds=1250, workers=4, lost=2, deaths=5)


@pytest.mark.slow
def test_what_workers_lack_is_one_sentence(dask: DaskProcesses, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import helper\n")
    (tmp_path / "helper.py").write_text("import not_installed_there\n")
    (tmp_path / "study.toml").write_text('scheduler = "own.py:Own"\nworkload = "lublin:16?jobs=5"\nseed = "0-3"\n')
    done = batproto("study", "run", str(tmp_path / "study.toml"), "--dask", dask.address)
    assert done.returncode == 1
    reason = "the scheduler own.py:Own cannot be loaded: ModuleNotFoundError: No module named 'not_installed_there'"
    first, again, _ = done.stderr.splitlines()
    assert first.endswith(f": {reason}")
    assert ", worker worker" in first
    assert again.endswith(f"4 x {reason}")
    assert done.stdout.startswith("4 runs: 0 done, 4 failed; ")


@pytest.mark.slow
def test_sources_and_inputs_travel(dask: DaskProcesses, tmp_path: Path) -> None:
    """What is not where it was on the machine of the study, as on any other machine."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "own.py").write_text("from helper import Base\nclass Own(Base):\n    pass\n")
    (tmp_path / "here" / "helper.py").write_text("from batprotocol.policies import Policy as Base\n")
    workload(tmp_path / "here" / "jobs.json", 10)
    study = Study(scheduler="own.py:Own", workload="jobs.json", folder=tmp_path / "here", arrival_factor=[1, 2])
    description = study._description
    runs, files = description.runs()
    packed = {digest: each.packed() for digest, each in files.items()}
    expected = study.run(tmp_path / "store", dask=dask.address)
    (tmp_path / "here").rename(tmp_path / "away")
    (tmp_path / "process" / "scratch").mkdir(parents=True)
    outcome = execute(
        (runs[0].task, description.limits, (runs[0].measure,)), packed, str(tmp_path / "process" / "scratch")
    )
    assert list(outcome.measured.values()) == [expected[0].metrics]


@pytest.mark.slow
def test_nobody_there() -> None:
    with pytest.raises(ClusterError, match=r"^tcp://127\.0\.0\.1:1 does not answer: "):
        DaskEngine("called:does", "tcp://127.0.0.1:1", timeout=0.3)
