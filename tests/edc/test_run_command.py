"""`batproto run`: a whole simulation with a command, exit statuses, and schedulers that end too early."""

from __future__ import annotations

import ast
import itertools
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run_here
from processes import BATPROTO, BINARY, FCFS, JSON, REPLAY, SOON, batproto, endpoint_of, line_of, started
from replay import PATIENCE, Peer, begun
from support import ROOT

from batprotocol.edc.commands.new import DEPENDENCIES

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

# A whole simulation


def of_ours(printed: str) -> str:
    """What is printed, without the line about a simulator that takes its time to connect, as on a busy machine."""
    return "".join(line for line in printed.splitlines(True) if "still waiting for a simulator to connect" not in line)


@pytest.mark.parametrize(("format", "run"), [("binary", BINARY), ("json", JSON)])
def test_run_with_a_command_is_a_whole_simulation(format: str, run: str) -> None:
    done = batproto("run", FCFS, "--format", format, "--", *REPLAY, run)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_exit_status_of_the_command_is_passed_on() -> None:
    done = batproto("run", FCFS, "--", *REPLAY, BINARY, "", "5")
    assert done.returncode == 5
    assert "before the simulation" not in done.stderr


@pytest.mark.parametrize(("status", "expected"), [("3", 3), ("0", 1)])
@pytest.mark.parametrize("messages", ["1", "4"])
def test_a_command_that_ends_too_early(messages: str, status: str, expected: int) -> None:
    done = batproto("run", FCFS, "--", *REPLAY, BINARY, messages, status)
    assert done.returncode == expected
    program = os.path.basename(sys.executable)
    assert done.stderr.splitlines()[-1] == (
        f"batproto: {program} ended with exit status {status} before the simulation was over"
    )
    assert "Traceback" not in done.stderr


def test_a_command_that_is_killed() -> None:
    done = batproto("run", FCFS, "--", "sh", "-c", "kill -SEGV $$")
    assert done.returncode == 128 + signal.SIGSEGV
    assert done.stderr == "batproto: sh was ended by SIGSEGV before the simulation was over\n"


def test_a_command_that_does_not_exist(tmp_path: Path) -> None:
    done = batproto("run", FCFS, "--", "no-such-simulator", "{endpoint}")
    assert (done.returncode, done.stderr) == (
        127,
        "batproto: no-such-simulator cannot be started: no such file or directory\n",
    )
    done = batproto("run", FCFS, "--", str(tmp_path), "{endpoint}")
    assert (done.returncode, done.stderr) == (126, f"batproto: {tmp_path.name} cannot be started: permission denied\n")


def test_the_endpoint_and_the_initialization_data_are_filled_in(schedulers: Callable[[str], str]) -> None:
    script = "import sys; print(sys.argv[1:]); sys.exit(9)"
    command = (sys.executable, "-c", script, "at={endpoint}", "{init}", "{other}")
    done = batproto("run", schedulers("Quiet"), "--init", '{"a": "b c"}', "--", *command)
    assert done.returncode == 9
    endpoint, *others = eval(done.stdout)
    assert endpoint.startswith("at=ipc://")
    assert not os.path.exists(endpoint.removeprefix("at=ipc://"))
    assert others == ['{"a": "b c"}', "{other}"]
    done = batproto("run", schedulers("Quiet"), "--endpoint", "tcp://0.0.0.0:*", "--", *command)
    assert eval(done.stdout)[0].startswith("at=tcp://127.0.0.1:")


def test_initialization_data_for_the_scheduler(schedulers: Callable[[str], str]) -> None:
    done = batproto("run", schedulers("Quiet"), "--init", "mine", "--", *REPLAY, BINARY)
    assert (done.returncode, done.stdout) == (0, "init: mine\n")
    done = batproto("run", schedulers("Quiet"), "--", *REPLAY, BINARY)
    assert done.stdout.startswith('init: {"')


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux has it")
def test_both_can_be_pinned_to_one_core(schedulers: Callable[[str], str]) -> None:
    replay = " ".join(f"'{argument}'" for argument in (*REPLAY, BINARY))
    core = f"'{sys.executable}' -c 'import os; print(\"command\", *os.sched_getaffinity(0), flush=True)'"
    done = batproto("run", "--pin", schedulers("Core"), "--", "sh", "-c", f"{core} && {replay}")
    command, scheduler = done.stdout.splitlines()
    assert len(scheduler.split()) == 2
    assert command.split()[1:] == scheduler.split()[1:]


# Schedulers that end too early


@pytest.mark.parametrize("with_command", [True, False])
@pytest.mark.parametrize(("name", "error"), [("Refused", "RuleViolation"), ("Failing", "LookupError")])
def test_a_method_that_raises_ends_the_process_with_its_traceback(
    schedulers: Callable[[str], str], name: str, error: str, with_command: bool
) -> None:
    target = schedulers(name)
    if with_command:
        done = batproto("run", target, "--", *REPLAY, BINARY)
        status, told = done.returncode, done.stderr
    else:
        with started([*BATPROTO, "run", "--endpoint", "tcp://127.0.0.1:*", target]) as process:
            with Peer(endpoint_of(process)) as peer:
                begun(peer)
                since = time.monotonic()
                told = process.communicate(timeout=PATIENCE)[1]
            status = process.returncode
            assert time.monotonic() - since < SOON
    assert status == 1
    lines = of_ours(told).splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "schedulers.py" in lines[1]  # where the author's code begins, not ours
    assert f"{error}: " in told
    assert lines[-1].startswith(f"batproto: the scheduler {target} ended with a {error} at simulated time ")


def test_a_scheduler_that_exits(schedulers: Callable[[str], str]) -> None:
    done = batproto("run", schedulers("Exiting"), "--", *REPLAY, BINARY)
    assert (done.returncode, done.stderr) == (7, "")


def test_a_scheduler_that_cannot_be_loaded(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    for text, told in (("def (:", "SyntaxError"), ("import no_such_module", "ModuleNotFoundError"), ("1 / 0", "Zero")):
        broken.write_text(text)
        done = batproto("run", f"{broken}:Any")
        assert done.returncode == 1
        assert f'File "{broken}", line 1' in done.stderr
        assert told in done.stderr
        assert "batprotocol" not in done.stderr


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("{file}", "batproto run: expected FILE:CLASS"),
        ("no-such-file.py:Any", "batproto run: there is no file 'no-such-file.py'"),
        ("{module}:Quiet", "; did you mean {file}:Quiet?"),
        ("{file}:Quite", "has no Scheduler called 'Quite'; it has Quiet and Refused and"),
        ("{file}:NotAScheduler", "has no Scheduler called 'NotAScheduler'"),
        ("{file}:WithArguments", "its __init__ takes (limit, *, width=2): give them defaults, read them from the init"),
        ("{file}:Abstract", "batproto run: the class Abstract is abstract: define chosen, too"),
        ("{text}:Any", "is not a Python file"),
    ],
)
def test_targets_that_make_no_sense(schedulers: Callable[[str], str], target: str, sentence: str) -> None:
    file = schedulers("").rstrip(":")
    text = Path(file).with_name("scheduler.txt")
    text.touch()
    done = run_here("run", target.format(file=file, text=text, module=file.removesuffix(".py")))
    assert done.status == 2
    assert sentence.format(file=file) in done.err


@pytest.mark.parametrize("name", ["zmq", "typing", "procset", "sys", "rich", "enum"])
def test_a_file_that_would_hide_a_module_is_refused(schedulers: Callable[[str], str], name: str) -> None:
    file = Path(schedulers("").rstrip(":"))
    renamed = file.rename(file.with_name(f"{name}.py"))
    done = batproto("run", f"{renamed}:Quiet", "--", *REPLAY, BINARY)
    assert done.returncode == 2
    assert f"{name}.py' would hide the module {name} of Python or of this library; rename the file" in done.stderr


def test_a_file_named_like_a_module_that_nobody_has_imported_runs(schedulers: Callable[[str], str]) -> None:
    file = Path(schedulers("").rstrip(":"))
    renamed = file.rename(file.with_name("sched.py"))
    assert batproto("run", f"{renamed}:Quiet", "--", *REPLAY, BINARY).returncode == 0


@pytest.mark.parametrize("method", ["async def decide(self): pass", "def on_job_submitted(self): pass"])
def test_a_class_that_is_wrong_is_no_fault_of_ours(tmp_path: Path, method: str) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(f"from batprotocol.edc import Scheduler\nclass Wrong(Scheduler):\n    {method}\n")
    done = batproto("run", f"{file}:Wrong", "--", *REPLAY, BINARY)
    assert done.returncode == 1
    assert f'File "{file}", line 2' in done.stderr
    assert done.stderr.endswith(f"batproto: the scheduler {file}:Wrong ended with a SchedulerError\n")


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (
            "__init__(self): self.on_simulation_begins = lambda: None",
            "Wrong.on_simulation_begins takes (), but is",
        ),
        ("on_init(self, text): self.features = {'profile_reuse': True}", "Wrong.features: expected a"),
        ("hello(self, text): pass", "Wrong.hello gives None, expected a Message"),
        ("__new__(cls): return 5", "run takes a Scheduler, got 5"),
    ],
)
def test_a_scheduler_that_is_wrong_is_no_fault_of_ours(tmp_path: Path, method: str, sentence: str) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(f"from batprotocol.edc import Scheduler\nclass Wrong(Scheduler):\n    def {method}\n")
    done = batproto("run", f"{file}:Wrong", "--", *REPLAY, BINARY)
    assert done.returncode == 1
    assert of_ours(done.stderr).startswith(f"batproto: {sentence}")


def test_no_file_of_a_scheduler_can_hide_what_the_library_imports() -> None:
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in (ROOT / "batprotocol").rglob("*.py")]
    imported = {
        name.partition(".")[0]
        for node in itertools.chain.from_iterable(map(ast.walk, trees))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
    }
    assert (
        imported - sys.stdlib_module_names - {"hypothesis", "pytest"}
        <= DEPENDENCIES
        <= imported | {"flatbuffers", "numpy", "psycopg"}  # which others import
    )


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        (["--endpoint", "nonsense"], 1, "batproto: nonsense: this is not an endpoint"),
        (["--timeout", "0.1", "--endpoint", "tcp://127.0.0.1:*"], 1, "batproto: no message 0 of the simulator at tcp"),
        (["--timeout", "0"], 2, "batproto run: invalid value for '--timeout'"),
        (["--timeout", "nan"], 2, "batproto run: invalid value for '--timeout'"),
        (["--endpoint", ""], 2, "batproto run: --endpoint is empty"),
        (["--endpoint", "tcp://*:99999"], 1, "batproto: tcp://*:99999: a port is a number up to 65535"),
        (["--record", "run.tgz", "--endpoint", "tcp://127.0.0.1:*"], 1, "batproto: run.tgz: a recording is"),
        (["batsim", "-q"], 2, "batproto run: no such option: -q; if it is one of COMMAND, put -- in front"),
        (["batsim", "-v"], 2, "batproto run: put -- in front of the command: -- batsim"),
        (["--format", "xml"], 2, "batproto run: invalid value for '--format'"),
    ],
)
def test_options_that_come_to_nothing(options: list[str], status: int, sentence: str) -> None:
    done = batproto("run", FCFS, *options)
    assert done.returncode == status
    assert done.stderr.splitlines()[-1].startswith(sentence)


def test_a_simulator_that_is_gone() -> None:
    with started([*BATPROTO, "run", "--endpoint", "tcp://127.0.0.1:*", FCFS]) as process:
        with Peer(endpoint_of(process)) as peer:
            begun(peer)
        assert process.wait(PATIENCE) == 1
        assert line_of(process.stderr) == "batproto: the simulator closed the connection before its message 4"
