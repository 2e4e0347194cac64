"""Decision components as processes: `batproto run`, signals, exit statuses, and who died."""

from __future__ import annotations

import ast
import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from replay import PATIENCE, Peer, begun, ends, said
from support import ROOT, runs

from batprotocol import ForceSimulationStopEvent
from batprotocol.cli.new import DEPENDENCIES

SIGNALS = int(os.environ.get("BATPROTOCOL_TEST_SIGNALS", "25"))
"""How many signals are sent at random moments."""

KILLS = int(os.environ.get("BATPROTOCOL_TEST_KILLS", "2"))
"""How often a program is killed."""

SOON = float(os.environ.get("BATPROTOCOL_TEST_SOON", "20"))
"""Seconds after which a signal must have ended a wait, or an exception the process. On a quiet machine, 1 will do."""

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]), "PYTHONUTF8": "1"}
BATPROTO = (sys.executable, "-m", "batprotocol")
FCFS = str(ROOT / "examples" / "fcfs.py") + ":FCFS"
REPLAY = (sys.executable, str(ROOT / "tests" / "replay.py"), "{endpoint}")

SCHEDULERS = """
import abc, os, sys, time
from batprotocol.edc import Scheduler

class Quiet(Scheduler):
    def on_init(self, text):
        print("init:", text, flush=True)

class Refused(Scheduler):
    def on_simulation_begins(self, event):
        self.reply.add_execute_job("w0!nobody", "0")  # this line

class Failing(Scheduler):
    def on_simulation_begins(self, event):
        raise LookupError("lost")

class Exiting(Scheduler):
    def on_simulation_begins(self, event):
        sys.exit(7)

class Endless(Scheduler):
    def on_simulation_begins(self, event):
        print("thinking", flush=True)
        while True:
            pass

class Core(Scheduler):
    def on_simulation_ends(self, event):
        print("scheduler", *os.sched_getaffinity(0), flush=True)

class NotAScheduler:
    pass

class WithArguments(Scheduler):
    def __init__(self, limit, *, width=2):
        pass

class Abstract(Scheduler, abc.ABC):
    @abc.abstractmethod
    def chosen(self):
        pass
"""


def archive(name: str) -> str:
    (found,) = [path for path in runs() if path.name == f"{name}.tar.xz"]
    return str(found)


BINARY = archive("exec1by1-custom-mapping__test_various_profile_types__binary")
JSON = archive("external-event-check__test_one_delay_job__json")


@pytest.fixture
def schedulers(tmp_path: Path) -> Callable[[str], str]:
    """Names a scheduler of SCHEDULERS, as `batproto run` wants it."""
    file = tmp_path / "schedulers.py"
    file.write_text(SCHEDULERS)
    return lambda name: f"{file}:{name}"


def batproto(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BATPROTO, *arguments], env=ENVIRONMENT, cwd=cwd, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


@contextmanager
def started(command: Sequence[str], **options: object) -> Iterator[subprocess.Popen[str]]:
    """A process that has ended when the `with` ends."""
    process = subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )  # type: ignore[call-overload]  # options are Popen's own
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_of(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().rstrip("\n")


def endpoint_of(process: subprocess.Popen[str]) -> str:
    """Where a `batproto run` without a command says that it waits."""
    line = line_of(process.stderr)
    assert line.startswith("batproto: waiting for a simulation at tcp://127.0.0.1:"), line
    return line.split()[-1]


# A whole simulation


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
                told = process.communicate()[1]
            status = process.returncode
            assert time.monotonic() - since < SOON
    assert status == 1
    lines = told.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "schedulers.py" in lines[1]  # where the author's code begins, not ours
    assert f"{error}: " in told
    assert lines[-1] == f"batproto: the scheduler {target} ended with a {error}"


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
        ("{file}:Quite", "has no Scheduler called 'Quite'; it has Quiet and Refused and"),
        ("{file}:NotAScheduler", "has no Scheduler called 'NotAScheduler'"),
        ("{file}:WithArguments", "its __init__ takes (limit, *, width=2): give them defaults, read them from the init"),
        ("{file}:Abstract", "batproto run: the class Abstract is abstract: one that can be run has chosen, too"),
        ("{text}:Any", "is no Python file"),
    ],
)
def test_targets_that_make_no_sense(schedulers: Callable[[str], str], target: str, sentence: str) -> None:
    file = schedulers("").rstrip(":")
    text = Path(file).with_name("scheduler.txt")
    text.touch()
    done = batproto("run", target.format(file=file, text=text))
    assert done.returncode == 2
    assert sentence in done.stderr


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
    assert done.stderr.startswith(f"batproto: {sentence}")


def test_no_file_of_a_scheduler_can_hide_what_the_library_imports() -> None:
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in (ROOT / "batprotocol").rglob("*.py")]
    imported = {
        name.partition(".")[0]
        for node in itertools.chain.from_iterable(map(ast.walk, trees))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
    }
    assert imported - sys.stdlib_module_names - {"hypothesis"} <= DEPENDENCIES <= imported | {"flatbuffers", "numpy"}


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        (["--endpoint", "nonsense"], 1, "batproto: nonsense: this is no endpoint"),
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


# Signals


def test_signals_at_random_moments_end_a_wait() -> None:
    """One in ten comes in the middle of a simulation whose next message does not come."""
    chance = random.Random(SIGNALS)
    slowest = 0.0
    with started([sys.executable, str(ROOT / "tests" / "waiting.py"), str(SIGNALS)]) as process:
        for number in range(SIGNALS):
            word, endpoint = line_of(process.stdout).split()
            assert word == "bound"
            peer = Peer(endpoint)
            if number % 10 == 0:
                begun(peer)
            kind = chance.choice([signal.SIGINT, signal.SIGTERM])
            time.sleep(chance.choice([0.0, chance.random() * 0.001, chance.random() * 0.01, chance.random() * 0.25]))
            since = time.monotonic()
            process.send_signal(kind)
            told = line_of(process.stdout).split()
            slowest = max(slowest, time.monotonic() - since)
            assert told == (["KeyboardInterrupt"] if kind == signal.SIGINT else ["SystemExit", "143"]), number
            peer.close()
        assert process.wait(PATIENCE) == 0
    print(f"{SIGNALS} signals, the slowest took {slowest:.3f} s")
    assert slowest < SOON


@pytest.mark.parametrize(("kind", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("ignored", [False, True])
def test_signals_end_the_program(kind: signal.Signals, status: int, ignored: bool) -> None:
    """SIGINT even where it was inherited as ignored, as from `batproto run ... &` in a script."""
    ignore = (lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if ignored else None
    command = [*BATPROTO, "run", "--endpoint", "tcp://127.0.0.1:*", FCFS]
    with started(command, preexec_fn=ignore) as process:
        endpoint = endpoint_of(process)
        process.send_signal(kind)
        since = time.monotonic()
        sentence = f"batprotocol.edc: {kind.name} came while waiting for a simulator at {endpoint}"
        assert process.communicate()[1].strip() == sentence
        assert process.returncode == status
        assert time.monotonic() - since < SOON


@pytest.mark.parametrize(("kind", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_method_that_does_not_end(
    schedulers: Callable[[str], str], kind: signal.Signals, status: int
) -> None:
    with started([*BATPROTO, "run", schedulers("Endless"), "--", *REPLAY, BINARY]) as process:
        assert line_of(process.stdout) == "thinking"
        process.send_signal(kind)
        assert process.wait(PATIENCE) == status


@pytest.mark.parametrize("moment", ["while waiting", "after the simulation"])
def test_signals_end_the_command_too(moment: str) -> None:
    sleep = "echo $$; exec sleep 1000" if moment == "while waiting" else "{replay}; echo $$; exec sleep 1000"
    replay = " ".join(f"'{argument}'" for argument in (*REPLAY, BINARY))
    command = ["sh", "-c", sleep.replace("{replay}", replay), "{endpoint}"]
    with started([*BATPROTO, "run", FCFS, "--", *command]) as process:
        sleeper = int(line_of(process.stdout))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 143
        assert process.stderr is not None
        # Before it, what the recorded simulator did not forward is told, which FCFS asked for.
        assert (
            process.stderr.read()
            .splitlines()[-1]
            .startswith(
                "batprotocol.edc: SIGTERM came while waiting for a simulator at ipc://"
                if moment == "while waiting"
                else "batproto: SIGTERM came after the simulation: sh is ended"
            )
        )
        with pytest.raises(ProcessLookupError):
            os.kill(sleeper, 0)


@pytest.mark.parametrize(("kind", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("where", ["import", "__init__"])
def test_signals_end_a_file_that_does_not_end(tmp_path: Path, kind: signal.Signals, status: int, where: str) -> None:
    file = tmp_path / "endless.py"
    loop = "print('loading', flush=True)\n{0}while True:\n{0}    pass\n"
    file.write_text(
        loop.format("")
        if where == "import"
        else "from batprotocol.edc import Scheduler\nclass Endless(Scheduler):\n  def __init__(self):\n    "
        + loop.format("    ")
    )
    with started([*BATPROTO, "run", f"{file}:Endless"]) as process:
        assert line_of(process.stdout) == "loading"
        process.send_signal(kind)
        told = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == status
        assert told.strip() == f"batproto: {kind.name} came while {file}:Endless was being loaded"


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("speaks", [True, False])
def test_signals_in_a_simulation_are_told_with_its_time(kind: signal.Signals, speaks: bool) -> None:
    with (
        started([*BATPROTO, "run", "--endpoint", "tcp://127.0.0.1:*", FCFS]) as process,
        Peer(endpoint_of(process)) as peer,
    ):
        begun(peer)
        peer.say(said(12.5))
        process.send_signal(kind)
        left = "was too busy to be told to stop, and may wait for ever"
        if speaks:
            assert [type(event) for event in peer.say(said(13.5)).events] == [ForceSimulationStopEvent]
            peer.say(ends(13.5))
            left = "was told to stop"
        told = process.communicate(timeout=PATIENCE)[1]
        assert (
            told.strip() == f"batprotocol.edc: {kind.name} came at simulated time {12.5 + speaks}: the simulator {left}"
        )


def test_a_wait_is_told_after_a_while(tmp_path: Path) -> None:
    """What is waited for, and where."""
    endpoint = f"ipc://{tmp_path}/edc.sock"
    with started([*BATPROTO, "run", "--endpoint", endpoint, FCFS, "--", "sleep", "1000"]) as process:
        assert line_of(process.stderr) == f"batprotocol.edc: still waiting for a simulator to connect to {endpoint}"


# Killed


def gone(pid: int) -> bool:
    """Whether a process has ended, or does so soon."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":  # nobody asks how an orphan ended
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")
def test_a_command_does_not_outlive_a_batproto_that_is_killed(tmp_path: Path) -> None:
    """And the next run takes away what it left behind, but not what others use."""
    environment = {**ENVIRONMENT, "TMPDIR": str(tmp_path)}
    (tmp_path / "batproto-precious").mkdir()
    (tmp_path / "batproto-precious" / "file").touch()
    command = [*BATPROTO, "run", FCFS, "--", "sh", "-c", "echo $$ $0; exec sleep 1000", "{endpoint}"]
    for _ in range(KILLS):
        with (
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as killed,
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as other,
        ):
            sleepers = [line_of(each.stdout).split() for each in (killed, other)]
            folders = [Path(endpoint.removeprefix("ipc://")).parent for _, endpoint in sleepers]
            killed.kill()
            killed.wait()
            assert gone(int(sleepers[0][0]))
            assert folders[0].is_dir()
            done = subprocess.run(
                [*BATPROTO, "run", FCFS, "--", "true", "{endpoint}"], env=environment, capture_output=True, check=False
            )
            assert done.returncode == 1
            assert not folders[0].exists()
            assert (folders[1] / "edc.sock").is_socket()
            other.terminate()
            assert other.wait(PATIENCE) == 143
            assert gone(int(sleepers[1][0]))
        assert [path.name for path in tmp_path.iterdir()] == ["batproto-precious"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")
def test_a_command_starts_with_the_signals_of_a_new_program() -> None:
    """Python ignores some, and what a program ignores, those that it starts ignore too."""
    done = batproto("run", FCFS, "--", "sh", "-c", "grep SigIgn /proc/$$/status; exit 3", "{endpoint}")
    assert done.returncode == 3
    ignored = int(done.stdout.split()[1], 16)
    assert ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGTERM - 1 | 1 << signal.SIGINT - 1) == 0


# batproto new


@pytest.mark.parametrize(
    ("name", "module", "class_name"),
    [
        ("MyScheduler", "my_scheduler", "MyScheduler"),
        ("my-scheduler", "my_scheduler", "MyScheduler"),
        ("my_scheduler", "my_scheduler", "MyScheduler"),
        ("FCFS", "fcfs", "FCFS"),
        ("EASYBackfilling2", "easy_backfilling2", "EASYBackfilling2"),
    ],
)
def test_a_new_scheduler_runs(tmp_path: Path, name: str, module: str, class_name: str) -> None:
    done = batproto("new", "scheduler", name, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"wrote {module}.py\nwrote test_{module}.py\n")
    ended = batproto("run", f"{module}.py:{class_name}", "--", *REPLAY, BINARY, "3", "0", cwd=tmp_path)
    assert "ended with exit status 0 before the simulation was over" in ended.stderr


def test_a_new_scheduler_passes_its_test(tmp_path: Path) -> None:
    batproto("new", "scheduler", "MyScheduler", cwd=tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    tested = subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 passed" in tested.stdout, tested.stdout


def test_a_new_scheduler_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text("precious")
    done = batproto("new", "scheduler", "mine", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "batproto: test_mine.py exists already, nothing was written\n")
    assert [path.name for path in tmp_path.iterdir()] == ["test_mine.py"]


@pytest.mark.parametrize("name", ["1st", "a/b", "", "class", "é", "json", "batprotocol", "procset"])
def test_names_that_no_scheduler_can_have(tmp_path: Path, name: str) -> None:
    done = batproto("new", "scheduler", name, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("batproto new scheduler: ")
    assert not list(tmp_path.iterdir())
