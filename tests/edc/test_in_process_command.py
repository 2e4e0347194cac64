"""`batproto run --in-process` and `batproto library`: with the host in C in the place of Batsim."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run_here
from embedded import FAILED, needs_host, packed, recorded_batsim, unpacked
from processes import BATPROTO, BINARY, ENVIRONMENT, FCFS, JSON, batproto, started
from replay import PATIENCE, batsim_side
from support import ROOT

from batprotocol.edc.embedded import options

pytestmark = [needs_host, pytest.mark.slow]
WITHOUT_ENGINE = True


def library() -> str:
    """The library that children name: they find the sources first, also where the tests run with a wheel."""
    return str(ROOT / "batprotocol" / "edc" / "embedded" / Path(options.library()).name)


@pytest.fixture
def batsim(tmp_path: Path) -> list[str]:
    """A command that stands for Batsim: it plays a recorded run."""
    return recorded_batsim(tmp_path)


def test_a_whole_simulation_in_process(batsim: list[str], tmp_path: Path) -> None:
    done = batproto("run", "--in-process", FCFS, "--init", "text", "--", *batsim, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "host: closed\n"), done.stderr
    assert len(unpacked((tmp_path / "replies").read_bytes())) == len(batsim_side(Path(BINARY)))


def test_the_command_may_say_where_the_library_belongs(batsim: list[str], tmp_path: Path) -> None:
    line = shlex.join(batsim) + " --edc-library-str {library} {init}"
    done = batproto("run", "--in-process", FCFS, "--", "echo", "-l", "{library}")
    assert done.stdout == f"-l {library()}\n"
    done = batproto("run", "--in-process", "--pin", FCFS, "--", *shlex.split(line))
    assert (done.returncode, done.stdout) == (0, "host: closed\n"), done.stderr


def test_json_and_a_recording(batsim: list[str], tmp_path: Path) -> None:
    told = batsim_side(Path(JSON))
    (tmp_path / "messages").write_bytes(packed(told[1:]))
    record = str(tmp_path / "run.tar.xz")
    done = batproto("run", "--in-process", "--format", "json", "--record", record, FCFS, "--", *batsim)
    assert (done.returncode, done.stdout) == (0, "host: closed\n"), done.stderr
    assert f"{2 * len(told)} messages" in batproto("check", record).stdout or batproto("dump", record).returncode == 0


def test_a_scheduler_that_fails_ends_the_command(batsim: list[str], tmp_path: Path) -> None:
    file = tmp_path / "failing.py"
    file.write_text("from batprotocol.edc import Scheduler\nclass Failing(Scheduler):\n    def decide(self): 1 / 0\n")
    done = batproto("run", "--in-process", f"{file}:Failing", "--", *batsim)
    assert done.returncode == FAILED
    *_, scheduler, at_host, last = done.stderr.splitlines()
    reason = f"the scheduler {file}:Failing ended with a ZeroDivisionError at simulated time "
    assert scheduler.startswith(f"batprotocol: {reason}")
    assert at_host == "host: batsim_edc_take_decisions failed: it returned 1"
    assert last.startswith(f"batproto: {Path(sys.executable).name} ended with exit status {FAILED}: {reason}")


def test_a_command_that_is_killed_is_told() -> None:
    done = batproto("run", "--in-process", FCFS, "--", "sh", "-c", "kill -ABRT $$")
    assert (done.returncode, done.stderr) == (
        134,
        "batproto: sh was ended by SIGABRT, and has not loaded the scheduler\n",
    )


def test_a_signal_ends_the_command_too() -> None:
    with started([*BATPROTO, "run", "--in-process", FCFS, "--", "sh", "-c", "echo on; exec sleep 60"]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=PATIENCE)
        assert (process.returncode, told) == (143, "batproto: SIGTERM came while sh was running, and has ended it\n")


def test_the_options_are_written_for_a_shell(tmp_path: Path) -> None:
    folder = tmp_path / "it's a „folder“ "
    folder.mkdir()
    (folder / "fcfs.py").write_text((ROOT / "examples" / "fcfs.py").read_text())
    init = "a 'text' with \"quotes\", $HOME, \\ and\na line"
    shell = ["sh", "-c", 'eval "printf \'%s\\0\' $("$@" | tail -n +2)"', "sh"]
    done = subprocess.run(
        [*shell, *BATPROTO, "library", "fcfs.py:FCFS", "--init", init, "--format", "json", "-v", "--record", "run.tar"],
        env=ENVIRONMENT,
        cwd=folder,
        capture_output=True,
        check=True,
    )
    option, named, data = done.stdout.decode().rstrip("\0").split("\0")
    assert (option, named) == ("--edc-library-str", library())
    assert json.loads(data) == {
        "libpython": json.loads(options.carried(FCFS))["libpython"],
        "python": sys.executable,
        "prefix": sys.prefix,
        "scheduler": f"{folder}/fcfs.py:FCFS",
        "format": "json",
        "record": f"{folder}/run.tar",
        "verbose": "yes",
        "init": init,
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["run", "--in-process", FCFS],
            "batproto run: --in-process needs the command line of Batsim: write it after --",
        ),
        (
            ["run", "--in-process", "--endpoint", "tcp://*:1", FCFS, "--", "x"],
            "batproto run: --endpoint is for the socket",
        ),
        (
            ["run", "--in-process", "--timeout", "5", FCFS, "--", "x"],
            "batproto run: --timeout is for the socket: leave it out",
        ),
        (
            ["run", "--in-process", FCFS, "--", "batsim", "--edc-socket-str", "{endpoint}", ""],
            "batproto run: with --in-process, there is no socket: leave --edc-socket-str out of the command",
        ),
        (["run", "--in-process", "nowhere.py:X", "--", "batsim"], "batproto run: there is no file 'nowhere.py'"),
        (["library", "nowhere.py:X"], "batproto library: there is no file 'nowhere.py'"),
        (["library", "no-such"], "batproto library: "),
    ],
)
def test_options_that_come_to_nothing(arguments: list[str], sentence: str) -> None:
    done = run_here(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(sentence)


def test_a_command_that_does_not_exist() -> None:
    done = batproto("run", "--in-process", FCFS, "--", "no-such-simulator")
    assert (done.returncode, done.stderr) == (
        127,
        "batproto: no-such-simulator cannot be started: no such file or directory\n",
    )
