"""What can go wrong with a scheduler inside Batsim's process: all of it is told on standard error."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest
from embedded import FAILED, Played, library_with, needs_host, play, staged
from processes import ENVIRONMENT, line_of, started
from replay import begins, completed, ends, said, submitted
from support import ROOT

from batprotocol import AllStaticJobsHaveBeenSubmittedEvent
from batprotocol.edc.embedded import options

pytestmark = [needs_host, pytest.mark.slow]
WITHOUT_ENGINE = True

ALL_SUBMITTED = said(1.5, AllStaticJobsHaveBeenSubmittedEvent())
TOLD = [each.to_binary() for each in (begins(), submitted(1.0), ALL_SUBMITTED, completed(2.0), ends(3.0))]

SCHEDULERS = """
import abc, atexit, os, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from batprotocol.edc import Scheduler

print("loaded", flush=True)
atexit.register(print, "at exit")

class Quiet(Scheduler):
    def on_job_submitted(self, event):
        self.reply.add_execute_job(event.job_id, "0-3")

class Fails(Scheduler):
    def on_simulation_begins(self, event):
        raise LookupError("lost")  # this line

class FailsInInit(Scheduler):
    def __init__(self):
        raise LookupError("lost")  # this line

class FailsInOnInit(Scheduler):
    def on_init(self, text):
        raise LookupError("lost")  # this line

class FailsInDecide(Scheduler):
    def decide(self):
        raise LookupError("lost")  # this line

class FailsInTheEnd(Quiet):
    def on_simulation_ends(self, event):
        raise LookupError("lost")  # this line

class Exits(Scheduler):
    def decide(self):
        sys.exit(7)  # this line

class ExitsWell(Scheduler):
    def on_init(self, text):
        sys.exit()  # this line

class Interrupted(Scheduler):
    def decide(self):
        raise KeyboardInterrupt  # this line

class Breaks(Scheduler):
    def decide(self):
        self.reply.add_execute_job("w0!nobody", "0")  # this line

class Deep(Scheduler):
    def decide(self):
        self.decide()  # this line

class DeepInC(Scheduler):
    def decide(self):
        nested = []
        for _ in range(200_000):
            nested = [nested]
        repr(nested)  # this line

class Stuck(Scheduler):
    def decide(self):
        pass

class SignalsItself(Scheduler):
    def on_job_submitted(self, event):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)  # which ends at once

class Endless(Scheduler):
    def on_job_submitted(self, event):
        print("thinking", flush=True)
        while True:
            pass

class Sleeps(Scheduler):
    def on_job_submitted(self, event):
        print("thinking", flush=True)
        time.sleep(60)

class WithThreads(Quiet):
    def __init__(self):
        self.count = 0
        threading.Thread(target=self.work, daemon=True).start()
        self.executor = ThreadPoolExecutor(2)
        self.sums = [self.executor.submit(sum, range(n)) for n in range(100)]
        self.file = open("notes.txt", "w")
        self.file.write("not closed, but written")
    def work(self):
        while True:
            self.count += 1
    def on_simulation_ends(self, event):
        print(sum(each.result() for each in self.sums), self.count > 0)
        threading.Thread(target=lambda: (time.sleep(0.2), print("waited for"))).start()

class WithAThreadForEver(Quiet):
    def __init__(self):
        threading.Thread(target=time.sleep, args=(600,), name="for ever").start()

class WithNumpy(Quiet):
    def on_simulation_ends(self, event):
        import numpy
        hosts = numpy.arange(300 * 300, dtype=float).reshape(300, 300)
        print(numpy.linalg.norm(hosts @ hosts) > 1)

class WithAProgram(Quiet):
    def on_simulation_ends(self, event):
        import multiprocessing, subprocess
        print(subprocess.run([sys.executable, "-c", "import batprotocol; print('imported')"],
                             capture_output=True, text=True).stdout.strip())
        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(pool.apply(abs, (-5,)))

class OwnSignals(Quiet):
    def on_init(self, text):
        signal.signal(signal.SIGTERM, lambda number, frame: print("my own"))
    def on_simulation_begins(self, event):
        os.kill(os.getpid(), signal.SIGTERM)

class Told(Quiet):
    def on_init(self, text):
        print(repr(text), sys.argv, sys.executable, sys.prefix, "zmq" in sys.modules, os.path.basename(__file__))

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


@pytest.fixture
def schedulers(tmp_path: Path) -> str:
    """The file with all of the above, in a folder whose name has spaces and more."""
    folder = tmp_path / "ein Ordner für „alles“"
    folder.mkdir()
    file = folder / "schedulers.py"
    file.write_text(SCHEDULERS, encoding="utf-8")
    return str(file)


def ended(played: Played, function: str) -> str:
    """What was said before this function failed; what was printed and what atexit is for was not lost."""
    assert played.status == FAILED, played
    *said, host = played.stderr.splitlines()
    assert host == f"host: {function} failed: it returned 1"
    return "\n".join(said)


ON_A_THREAD = ("-DFIRST_WITH_THREAD=300",)
"""How the library is compiled to do with any Python what it does from CPython 3.14 on."""

CHANGED = "batprotocol: its Python does not find batprotocol, or what that needs: has the environment been changed?"
INIT, DECIDE = "batsim_edc_init", "batsim_edc_take_decisions"


@pytest.mark.parametrize(
    ("name", "function", "error"),
    [
        ("Fails", DECIDE, "LookupError"),
        ("FailsInInit", INIT, "LookupError"),
        ("FailsInOnInit", INIT, "LookupError"),
        ("FailsInDecide", DECIDE, "LookupError"),
        ("FailsInTheEnd", DECIDE, "LookupError"),
        ("Exits", DECIDE, "SystemExit"),
        ("ExitsWell", INIT, "SystemExit"),
        ("Interrupted", DECIDE, "KeyboardInterrupt"),
        ("Breaks", DECIDE, "RuleViolation"),
        ("Deep", DECIDE, "RecursionError"),
        ("DeepInC", DECIDE, "RecursionError"),
    ],
)
def test_what_a_scheduler_raises_is_shown_where_it_is_written(
    schedulers: str, tmp_path: Path, name: str, function: str, error: str
) -> None:
    played = play(tmp_path, f"{schedulers}:{name}", TOLD)
    said = ended(played, function)
    assert said.startswith("Traceback (most recent call last):\n  File ")
    assert "# this line" in said
    assert re.search(rf"^(batprotocol\.errors\.)?{error}", said, re.MULTILINE)
    article = "an" if error[0] in "AEIOU" else "a"
    assert f"batprotocol: the scheduler {schedulers}:{name} ended with {article} {error}" in said
    before, _, _ = said.partition("# this line")
    assert "edc/session.py" not in before, "of the library, only the frames below the scheduler's are shown"
    assert played.stdout == "loaded\nat exit\n"


@pytest.mark.parametrize("name", ["Fails", "DeepInC", "Exits"])
def test_what_a_scheduler_raises_on_a_thread_is_shown(schedulers: str, tmp_path: Path, name: str) -> None:
    told = ended(play(tmp_path, f"{schedulers}:{name}", TOLD, library=library_with(*ON_A_THREAD)), DECIDE)
    assert "# this line" in told
    assert f"batprotocol: the scheduler {schedulers}:{name} ended with a" in told


def test_a_simulation_that_could_not_go_on_is_told(schedulers: str, tmp_path: Path) -> None:
    stuck = [begins().to_binary(), submitted(1.0).to_binary()]
    from replay import said

    from batprotocol import AllStaticJobsHaveBeenSubmittedEvent

    stuck.append(said(2.0, AllStaticJobsHaveBeenSubmittedEvent()).to_binary())
    told = ended(play(tmp_path, f"{schedulers}:Stuck", stuck), DECIDE)
    assert "Traceback" not in told
    assert "batprotocol: " in told
    assert "deadlock" in told


def test_bytes_that_are_no_message_are_told(schedulers: str, tmp_path: Path) -> None:
    told = ended(play(tmp_path, f"{schedulers}:Quiet", [b"nonsense", *TOLD]), DECIDE)
    assert told.startswith("batprotocol: ")
    assert "message 2 of the simulator" in told


@pytest.mark.parametrize(
    ("source", "name", "sentence"),
    [
        (None, "Anybody", r"batprotocol: there is no file '.*missing\.py'"),
        (SCHEDULERS, "Nobody", r"batprotocol: '.*' has no Scheduler called 'Nobody'; it has Quiet and Fails and "),
        (SCHEDULERS, "NotAScheduler", r"batprotocol: '.*' has no Scheduler called 'NotAScheduler'"),
        (SCHEDULERS, "WithArguments", r"batprotocol: the class WithArguments is made without arguments, but its"),
        (SCHEDULERS, "Abstract", r"batprotocol: the class Abstract is abstract: define chosen, too"),
        (
            "import no_such_module",
            "X",
            r"(?s)Traceback.*No module named 'no_such_module'\nbatprotocol: the scheduler .*:X e",
        ),
        ("def f(:", "X", r"(?s).*SyntaxError: .*\nbatprotocol: the scheduler .*:X ended with a SyntaxError"),
        (
            "from batprotocol.edc import Scheduler\nclass X(Scheduler):\n  def on_job_submited(self, event): pass",
            "X",
            r"(?s)Traceback.*did you mean on_job_submitted\?\nbatprotocol: the scheduler .* with a SchedulerError",
        ),
    ],
)
def test_what_cannot_be_loaded_is_told(tmp_path: Path, source: str | None, name: str, sentence: str) -> None:
    file = tmp_path / "missing.py"
    file.write_text(source or "")
    data = options.carried(f"{file}:{name}")
    if source is None:
        file.unlink()
    assert re.match(sentence, ended(play(tmp_path, "", TOLD, data=data), INIT))


# The environment


@pytest.mark.parametrize("data", ["", "text", "{}", '{"python": "/bin/python"}', '{"libpython": 5}', '{"libpython": "'])
def test_other_initialization_data_are_refused(tmp_path: Path, data: str) -> None:
    told = ended(play(tmp_path, "", TOLD, data=data), INIT)
    assert told == (
        "batprotocol: the initialization data do not name a scheduler: expected those that `batproto library "
        "FILE:CLASS` prints"
    )


@pytest.mark.parametrize("change", [{"format": None}, {"init": 5}, {"more": "x"}, {"format": "xml"}])
def test_initialization_data_that_were_changed_are_refused(
    schedulers: str, tmp_path: Path, change: dict[str, object]
) -> None:
    data = json.loads(options.carried(f"{schedulers}:Quiet")) | change
    data = {name: value for name, value in data.items() if value is not None}
    told = ended(play(tmp_path, "", TOLD, data=json.dumps(data)), INIT)
    assert "batprotocol: " in told


def test_a_libpython_that_is_gone(schedulers: str, tmp_path: Path) -> None:
    data = json.loads(options.carried(f"{schedulers}:Quiet")) | {"libpython": "/nowhere/libpython3.11.so.1.0"}
    told = ended(play(tmp_path, "", TOLD, data=json.dumps(data)), INIT)
    assert told.startswith("batprotocol: Python's shared library cannot be loaded: /nowhere/libpython3.11.so.1.0: ")


def test_a_libpython_that_is_something_else(schedulers: str, tmp_path: Path) -> None:
    data = json.loads(options.carried(f"{schedulers}:Quiet")) | {"libpython": options.library()}
    told = ended(play(tmp_path, "", TOLD, data=json.dumps(data)), INIT)
    assert told.startswith("batprotocol: the libpython found is none of CPython 3.10 or later")


def test_an_environment_without_batprotocol(schedulers: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "empty", symlinks=True)
    data = json.loads(options.carried(f"{schedulers}:Quiet")) | {"python": str(tmp_path / "empty" / "bin" / "python")}
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONPATH"}
    told = ended(play(tmp_path, "", TOLD, data=json.dumps(data), environment=environment), INIT)
    assert "ModuleNotFoundError: No module named 'batprotocol'" in told
    assert told.splitlines()[-1] == CHANGED


@pytest.mark.parametrize("home", ["/nowhere/bin", ""])
def test_an_environment_that_is_broken(schedulers: str, tmp_path: Path, home: str) -> None:
    """The Python that it was made with is gone, and so is its link to that."""
    broken = tmp_path / "broken"
    venv.create(broken, symlinks=True)
    (broken / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    os.unlink(broken / "bin" / "python")
    there = {"python": str(broken / "bin" / "python"), "prefix": str(broken)}
    data = json.loads(options.carried(f"{schedulers}:Quiet")) | there
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONPATH"}
    told = ended(play(tmp_path, "", TOLD, data=json.dumps(data), environment=environment), INIT)
    assert told.splitlines()[-1] == CHANGED


def test_an_environment_that_is_gone(schedulers: str, tmp_path: Path) -> None:
    """Python finds another one then, which may hold batprotocol, too: not the one that was meant."""
    data = json.loads(options.carried(f"{schedulers}:Quiet")) | {"prefix": str(tmp_path / "gone")}
    told = ended(play(tmp_path, "", TOLD, data=json.dumps(data)), INIT)
    assert told == (
        f"batprotocol: there is no environment {tmp_path}/gone any more, or it is broken: Python has found {sys.prefix}"
    )


def test_a_home_that_is_none(schedulers: str, tmp_path: Path) -> None:
    played = play(tmp_path, f"{schedulers}:Quiet", TOLD, environment={**ENVIRONMENT, "PYTHONHOME": "/nowhere"})
    assert "batprotocol: Python cannot be started as " in ended(played, INIT)


def test_a_name_space_of_its_own_is_refused(schedulers: str, tmp_path: Path) -> None:
    told = ended(play(tmp_path, f"{schedulers}:Quiet", TOLD, "--dlmopen"), INIT)
    assert told == (
        "batprotocol: Python does not work in a name space of its own: leave out the option --edc-library-load-method "
        "dlmopen"
    )


# Signals


def not_ignoring() -> None:
    """Called in the new process: what a script starts with `&` inherits SIGINT as ignored, and so may these tests."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("flags", [(), ON_A_THREAD], ids=" ".join)
@pytest.mark.parametrize("name", ["Endless", "Sleeps"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts_a_scheduler(
    schedulers: str, tmp_path: Path, name: str, number: signal.Signals, flags: tuple[str, ...]
) -> None:
    stage = staged(tmp_path, f"{schedulers}:{name}", TOLD, library=library_with(*flags))
    with started(stage.command, preexec_fn=not_ignoring) as process:
        assert [line_of(process.stdout), line_of(process.stdout)] == ["loaded", "thinking"]
        process.send_signal(number)
        printed, told = process.communicate(timeout=60)
        assert process.returncode == FAILED, told
        assert told.splitlines() == [
            f"batprotocol: {number.name} came at simulated time 1: for Batsim, its scheduler has failed",
            f"host: {DECIDE} failed: it returned 1",
        ]
        assert printed == "at exit\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_batsim_while_it_is_at_work(schedulers: str, tmp_path: Path, number: signal.Signals) -> None:
    stage = staged(tmp_path, f"{schedulers}:Quiet", TOLD, "--pause")
    with started(stage.command, preexec_fn=not_ignoring) as process:
        assert [line_of(process.stdout), line_of(process.stdout)] == ["loaded", "pause"]
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
        assert process.returncode == -number
        assert told == f"batprotocol: {number.name} came while Batsim was at work, and ends it\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 5), (signal.SIGTERM, FAILED)])
def test_what_batsim_handles_it_goes_on_to_handle(
    schedulers: str, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    stage = staged(tmp_path, f"{schedulers}:Endless", TOLD, "--handler")
    with started(stage.command) as process:
        assert [line_of(process.stdout), line_of(process.stdout)] == ["loaded", "thinking"]
        process.send_signal(number)
        assert process.wait(timeout=60) == status


def test_a_signal_that_a_scheduler_sends_itself(schedulers: str, tmp_path: Path) -> None:
    began = time.monotonic()
    told = ended(play(tmp_path, f"{schedulers}:SignalsItself", TOLD), DECIDE)
    assert told == "batprotocol: SIGTERM came at simulated time 1: for Batsim, its scheduler has failed"
    assert time.monotonic() - began < 50


def test_a_scheduler_with_its_own_handler_keeps_it(schedulers: str, tmp_path: Path) -> None:
    played = play(tmp_path, f"{schedulers}:OwnSignals", TOLD)
    assert (played.status, played.stdout) == (0, "loaded\nmy own\nat exit\nhost: closed\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGPIPE])
def test_what_batsim_ignores_stays_ignored(schedulers: str, tmp_path: Path, number: signal.Signals) -> None:
    stage = staged(tmp_path, f"{schedulers}:Quiet", TOLD, "--pause")
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with started(stage.command, restore_signals=False) as process:
            assert [line_of(process.stdout), line_of(process.stdout)] == ["loaded", "pause"]
            process.send_signal(number)
            process.send_signal(signal.SIGUSR1)  # which ends it
            process.communicate(timeout=60)
            assert process.returncode == -signal.SIGUSR1
    finally:
        signal.signal(number, before)


def test_a_broken_pipe_ends_batsim_as_ever(schedulers: str, tmp_path: Path) -> None:
    """Python ignores SIGPIPE; this process is Batsim's."""
    stage = staged(tmp_path, f"{schedulers}:Quiet", TOLD, "--pause")
    with started(stage.command) as process:
        assert [line_of(process.stdout), line_of(process.stdout)] == ["loaded", "pause"]
        process.send_signal(signal.SIGPIPE)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGPIPE


# What works


def test_threads_and_files_of_a_scheduler(schedulers: str, tmp_path: Path) -> None:
    played = play(tmp_path, f"{schedulers}:WithThreads", TOLD)
    assert (played.status, played.stderr) == (0, "")
    total = sum(sum(range(n)) for n in range(100))
    assert played.stdout == f"loaded\n{total} True\nwaited for\nat exit\nhost: closed\n"
    assert (tmp_path / "notes.txt").read_text() == "not closed, but written"


def test_a_thread_without_end_is_not_waited_for(schedulers: str, tmp_path: Path) -> None:
    played = play(tmp_path, f"{schedulers}:WithAThreadForEver", TOLD)
    assert (played.status, played.stdout) == (0, "loaded\nat exit\nhost: closed\n")
    assert (
        played.stderr
        == "batprotocol: after 5 seconds, these threads still run, and Batsim does not wait for them: for ever\n"
    )


@pytest.mark.parametrize(
    ("name", "printed"), [("WithNumpy", "True\n"), ("WithAProgram", "imported\n5\n"), ("Quiet", "")]
)
def test_what_schedulers_use(schedulers: str, tmp_path: Path, name: str, printed: str) -> None:
    played = play(tmp_path, f"{schedulers}:{name}", TOLD)
    assert (played.status, played.stderr) == (0, "")
    assert played.stdout.startswith(f"loaded\n{printed}")
    assert played.stdout.endswith("at exit\nhost: closed\n")


def test_a_scheduler_sees_what_it_sees_as_a_program(schedulers: str, tmp_path: Path) -> None:
    init = 'a "text" with \\ and ü, \n and more \U0001f600'
    played = play(tmp_path, f"{schedulers}:Told", TOLD, init=init)
    assert (played.status, played.stderr) == (0, "")
    assert played.stdout.splitlines()[1] == " ".join(
        [repr(init), repr([schedulers]), sys.executable, sys.prefix, "False", "schedulers.py"]
    )


def test_nothing_of_the_repository_is_needed_in_the_working_directory(schedulers: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "batprotocol", "library", "schedulers.py:Quiet"],
        env={**ENVIRONMENT, "PYTHONPATH": str(ROOT)},
        cwd=os.path.dirname(schedulers),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[0] == options.library()
    assert schedulers in done.stdout.splitlines()[1]
