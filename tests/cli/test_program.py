"""`batproto` as a program: help, wrong arguments, exit statuses, closed pipes, signals, completion."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from commands import ENVIRONMENT, PROGRAM, run, run_here, write
from support import ROOT

from batprotocol.model import Message, RejectJobEvent

WITHOUT_ENGINE = True

# Help, versions, arguments


@pytest.mark.parametrize("command", [[], ["dump"], ["validate"], ["convert"], ["schema"], ["completion"]])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help(command: list[str], option: str) -> None:
    result = run_here(*command, option)
    assert result.status == 0
    assert result.out.startswith("Usage: batproto")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["schema", "Job"]])
def test_rich_is_imported_only_where_there_is_colour(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from batprotocol.cli.main import main\n"
        f"try: main({arguments})\n"
        "finally: assert 'rich' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_scheduler_starts_without_what_async_loops_need() -> None:
    """A simulation may take less than importing it."""
    program = (
        "import sys\n"
        "import batprotocol.cli.main, batprotocol.edc.commands.run\n"
        "from batprotocol.edc import serve\n"
        "serve('tcp://127.0.0.1:*').close()\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=ENVIRONMENT, check=True, text=True)
    modules = set(done.stdout.split())
    assert "batprotocol.edc.server" in modules
    assert not {"asyncio", "importlib.metadata", "rich"} & modules


@pytest.mark.slow
def test_version() -> None:
    result = run("--version")
    assert re.fullmatch(
        rf"batproto \S+, codec: \w+, rules and simulator: \w+, source tree: {re.escape(str(ROOT))}\n", result.out
    )


@pytest.fixture(scope="module")
def bare_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is installed where there is no compiler; where it lies."""
    root = tmp_path_factory.mktemp("site-packages")
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(ROOT / "batprotocol", root / "batprotocol", ignore=ignored)
    for name in ("_schema", "fb"):
        shutil.copytree(ROOT / "generated" / name, root / "batprotocol" / name, ignore=ignored)
    return root


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["--version"], 0), (["run", f"{ROOT}/examples/fcfs.py:FCFS", "--endpoint", "nowhere"], 1)],
)
@pytest.mark.parametrize("engine", ["", "python"])
def test_a_slow_engine_that_nobody_asked_for_is_told(
    bare_package: Path, tmp_path: Path, engine: str, arguments: list[str], status: int
) -> None:
    environment = {**ENVIRONMENT, "PYTHONPATH": str(bare_package), "BATPROTOCOL_ENGINE": engine}
    command = [sys.executable, "-m", "batprotocol", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert "source tree" not in done.stdout
    told = done.stderr.startswith("batproto: the Python engine reads and writes messages, which takes some 20 ")
    assert told == (engine == "")
    assert ("Install a C compiler (Debian and Ubuntu: apt-get install gcc python3-dev)" in done.stderr) == told


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["dump"],
        ["dump", "--nosuch", "x"],
        ["convert", "x"],
        ["convert", "--to", "xml", "x", "y"],
        ["completion", "tcsh"],
        ["completion"],
        ["schema", "Nosuch"],
    ],
)
def test_wrong_arguments_are_one_sentence(arguments: list[str]) -> None:
    result = run_here(*arguments)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("batproto")
    assert result.err.count("\n") == 1
    assert "--help)" in result.err


def test_no_arguments_show_the_help() -> None:
    result = run_here()
    assert result.status == 2
    assert result.err.startswith("Usage: batproto")


# How it ends


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    events = tuple(RejectJobEvent(job_id=f"w!{number}") for number in range(20_000))
    return write(tmp_path / "long.bin", Message(0.0, events).to_binary())


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_closed_pipe_ends_it_quietly(long_file: Path, options: list[str], unbuffered: str) -> None:
    with subprocess.Popen(
        [*PROGRAM, "dump", *options, long_file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**ENVIRONMENT, "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.slow
def test_head_takes_the_first_line(long_file: Path) -> None:
    command = f'"$@" dump {long_file} | head -1'
    done = subprocess.run(["sh", "-c", command, "sh", *PROGRAM], capture_output=True, env=ENVIRONMENT, check=False)
    assert done.stdout.decode().startswith(f"{long_file}: binary, now 0.0, 20,000 events, ")
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk(message_file: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, "dump", message_file], stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"batproto: standard output: no space left on device\n"


@pytest.mark.slow
def test_control_c(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [*PROGRAM, "dump", pipe],
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # background jobs inherit it as ignored
    ) as process:
        with open(pipe, "wb"):  # waits until it is opened on the other side
            process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        err = process.stderr.read()
    assert process.returncode == 130
    assert err.strip() == b""


# Completion


def complete(*words: str) -> list[str]:
    """What bash is offered for the last of these words."""
    variables = {
        "_BATPROTO_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["batproto", *words]),
        "COMP_CWORD": str(len(words)),
    }
    return [line.split(",", 1)[1] for line in run(variables=variables).out.splitlines()]


@pytest.mark.slow
def test_completion_of_commands_events_and_names() -> None:
    assert complete("du") == ["dump"]
    assert "--json-lines" in complete("dump", "--js")
    assert complete("dump", "--event", "jobs") == ["JobSubmittedEvent", "JobsKilledEvent"]
    assert complete("schema", "hostp") == ["HostProperty"]
    assert complete("convert", "--to", "j") == ["json"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    result = run_here("completion", shell)
    assert result.status == 0
    assert f"_BATPROTO_COMPLETE={shell}_complete" in result.out
