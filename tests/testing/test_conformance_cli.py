"""`batproto conformance` as its users run it: exit statuses, what is printed and saved, and nothing left behind."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import Result, run_here
from processes import lives
from support import ROOT, shared_library

from batprotocol.testing.conformance import _search as searching

WITHOUT_ENGINE = True
HERE = Path(__file__).parent
PLAIN = (sys.executable, str(HERE / "plain_edc.py"), "{endpoint}")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
PATIENCE = 120
"""Seconds after which a test gives up: far more than anything here takes."""


def conformance(*arguments: str | Path) -> Result:
    """In this process: to import hypothesis takes longer than most of what is found here."""
    return run_here("conformance", *arguments)


def conformance_alone(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """In a process of its own."""
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "batprotocol", "conformance", *map(str, arguments)],
        check=False,
        timeout=PATIENCE,
        **{"env": ENVIRONMENT, "capture_output": True, "encoding": "utf-8", **options},
    )


@contextmanager
def serving(endpoint: str, mistake: str) -> Iterator[None]:
    with subprocess.Popen([sys.executable, str(HERE / "serving.py"), endpoint, mistake]) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.fixture
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found hardly becomes smaller: each try starts a program."""
    monkeypatch.setattr(searching, "_SHRINKING_PLAYS", 5)


# Exit statuses


@pytest.mark.slow
@pytest.mark.long
def test_nothing_found() -> None:
    done = conformance_alone("--examples", "4", "--", *PLAIN)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nothing found in ")
    assert done.stderr == ""


def test_something_found() -> None:
    done = conformance("--", *PLAIN, "ExecutesTwice")
    assert done.status == 1
    assert done.out.splitlines()[0] == "The job cannot be executed any more [job.execute-state]"
    assert "found job.execute-state in " in done.out
    assert "00007-e2b.bin: JSON, EDC to Batsim" in done.out


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--", "/nowhere/edc", "{endpoint}"], "cannot be started: no such file or directory"),
        (["--", sys.executable, "-c", "raise SystemExit('no {endpoint}')"], "ended with exit status 1 without having"),
        (["--", "edc", "--verbose"], "{endpoint} is missing"),
        ([], "expected FILE:CLASS, POLICY, -- COMMAND, --endpoint or --library"),
        (["--endpoint", "nonsense"], "this is not an endpoint"),
        (["--endpoint", "ipc:///nowhere/edc.sock", "--timeout", "0.2"], "nobody listens at ipc:///nowhere/edc.sock"),
        (["--library", "/nowhere/lib.so"], "there is no file '/nowhere/lib.so'"),
        (["--library", f"{HERE}/library.c"], "without having listened"),
        (["--ignore", "job.nonsense", "--", *PLAIN], "there is no rule 'job.nonsense'"),
        (["--examples", "0", "--", *PLAIN], "--examples"),
        (["nowhere.py:FCFS"], "there is no file 'nowhere.py'"),
    ],
)
def test_what_cannot_be_run(arguments: list[str], reason: str) -> None:
    done = conformance(*arguments)
    assert done.status == 2, done.out + done.err
    assert reason in done.err
    assert "Traceback (most recent call last)" not in done.err.partition("printed")[0]
    assert done.out == ""


def test_a_scheduler_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import batprotocol\n\nbatprotocol.nonsense")
    done = conformance(tmp_path / "mine.py:Mine")
    assert done.status == 2
    assert "ended with an AttributeError" in done.err
    assert done.out == ""


@pytest.mark.slow
@pytest.mark.long
def test_hypothesis_is_needed(tmp_path: Path) -> None:
    (tmp_path / "hypothesis.py").write_text("raise ImportError")
    environment = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = conformance_alone("--", *PLAIN, env=environment)
    assert done.returncode == 2
    assert "pip install 'hypothesis>=6.100' 'pytest>=8'" in done.stderr
    assert "Traceback" not in done.stderr


# What is printed and saved


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("unshrunk")
def test_what_is_found_is_saved_for_check_and_dump(tmp_path: Path) -> None:
    found = tmp_path / "found"
    done = conformance("--save", found, "--quiet", "--", *PLAIN, "MixesWorkloads")
    assert done.status == 1
    (saved,) = found.iterdir()
    assert f"saved as {saved}" in done.out
    checked = run_here("check", found)
    assert checked.status == 1
    assert f"[{saved.name.removesuffix('.tar.xz')}]" in checked.out
    dumped = run_here("dump", found)
    assert dumped.status == 0
    assert "ExecuteJobEvent" in dumped.out


@pytest.mark.parametrize("format", ["binary", "json"])
def test_what_is_found_is_saved_in_the_format_that_is_wanted(tmp_path: Path, format: str) -> None:
    conformance("--save", tmp_path, "--format", format, "--", *PLAIN, "ExecutesTwice")
    (saved,) = tmp_path.iterdir()
    shown = {"binary": "binary", "json": "JSON"}[format]
    assert f"00001-e2b.bin: hello frame ({shown})" in run_here("dump", saved).out
    assert "[job.execute-state]" in run_here("check", saved).out


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("unshrunk")
def test_what_can_be_survived_can_be_ignored() -> None:
    assert conformance("--quiet", "--", *PLAIN, "UsesStorages").status == 1
    done = conformance("--examples", "25", "--ignore", "job.host-stores", "--", *PLAIN, "UsesStorages")
    assert done.status == 0, done.out
    assert "a warning, not a finding: job.host-stores" in done.out


def test_the_report_tells_what_was_never_in_play() -> None:
    report = conformance("--examples", "10", "--", *PLAIN).out
    assert re.search(r"^10 simulations, [0-9]+ messages$", report, re.MULTILINE)
    assert re.search(r"^probe +[0-9]+ +0 +all$", report, re.MULTILINE)
    (jobs,) = re.findall(r"^job .*$", report, re.MULTILINE)
    assert "job.kill-again" in jobs
    assert "job.execute-state" not in jobs


def test_the_same_seed_tries_the_same() -> None:
    def tried(seed: str) -> list[str]:
        done = conformance("--seed", seed, "--examples", "20", f"{ROOT}/examples/fcfs.py:FCFS")
        return done.out.splitlines()[1:]

    assert tried("1") == tried("1") != tried("2")


def test_a_hang_is_told_with_what_was_printed() -> None:
    done = conformance("--timeout", "0.5", "--", *PLAIN, "HangsAtOnce")
    assert done.status == 1
    assert done.out.startswith("The decision component does not answer [edc.silent]")


def test_a_crash_is_told_with_its_last_words() -> None:
    done = conformance("--", *PLAIN, "NeedsWalltime")
    assert done.status == 1
    assert "[edc.died]" in done.out.splitlines()[0]
    assert "TypeError: unsupported operand" in done.out


# Whoever is tested


def test_a_scheduler_in_this_process() -> None:
    done = conformance("--examples", "50", f"{ROOT}/examples/killer.py:Killer")
    assert done.status == 0, done.out
    assert done.out.startswith("nothing found")


@pytest.mark.parametrize(("mistake", "status"), [("Plain", 0), ("LosesJobs", 1), ("Dies", 1)])
def test_a_decision_component_that_serves_many_simulations(tmp_path: Path, mistake: str, status: int) -> None:
    endpoint = f"ipc://{tmp_path}/edc.sock"
    with serving(endpoint, mistake):
        done = conformance("--examples", "40", "--endpoint", endpoint)
        assert done.status == status, done.out + done.err
        if mistake == "LosesJobs":  # it lives on, and so it can be tried again
            assert conformance("--endpoint", endpoint).status == 1


@pytest.mark.slow
@pytest.mark.long
def test_a_command_that_cannot_be_told_where_to_listen(tmp_path: Path) -> None:
    endpoint = f"ipc://{tmp_path}/edc.sock"
    done = conformance("--examples", "5", "--endpoint", endpoint, "--", *PLAIN[:2], endpoint)
    assert done.status == 0, done.out + done.err


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("init", "rule"), [("", "simulation.stuck-jobs"), ("crash", "edc.died")])
def test_a_library(tmp_path: Path, init: str, rule: str) -> None:
    library = shared_library(tmp_path / "edc.so", HERE / "library.c")
    done = conformance("--init", init, "--library", library)
    assert done.status == 1, done.err
    assert f"[{rule}]" in done.out.splitlines()[0]


# Nothing is left behind


def script(folder: Path) -> tuple[str, ...]:
    """A decision component that notes its process, and whatever happens stays for a while."""
    text = (
        "import os, sys, pathlib\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        "import plain_edc\n"
        f"pathlib.Path({str(folder)!r}, str(os.getpid())).touch()\n"
        "plain_edc.Hangs().serve(sys.argv[1])\n"
    )
    return sys.executable, "-c", text, "{endpoint}"


def left_over(folder: Path) -> list[int]:
    """The processes that were noted and are still there."""
    return [int(entry.name) for entry in folder.iterdir() if lives(int(entry.name))]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.minutes) for seed in range(1, 12))])
def test_a_signal_leaves_nothing_behind(tmp_path: Path, number: signal.Signals, seed: int) -> None:
    """It comes at a random moment, once the first decision component has started."""
    command = [sys.executable, "-m", "batprotocol", "conformance", "--", *script(tmp_path)]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not any(tmp_path.iterdir()):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        time.sleep(random.Random(f"{seed} {number}").random())
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode in (128 + number, 1)  # 1: it had just found what it looks for
    assert errors.strip() == b""
    assert left_over(tmp_path) == []


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("unshrunk")
def test_nothing_is_left_behind_in_the_end(tmp_path: Path) -> None:
    done = conformance("--timeout", "0.3", "--", *script(tmp_path))
    assert done.status == 1
    assert left_over(tmp_path) == []


@pytest.mark.slow
@pytest.mark.long
def test_a_closed_pipe_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "batprotocol", "conformance", "--examples", "2", "--", *script(tmp_path)]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 141
    assert errors == b""
    assert left_over(tmp_path) == []
