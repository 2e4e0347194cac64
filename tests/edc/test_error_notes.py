"""What a scheduler raises tells when it was, however the scheduler is run, and stays what it is."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import run_here
from embedded import needs_host, packed, recorded_batsim
from processes import BINARY, ENVIRONMENT, batproto
from replay import InThread, batsim_side, begins, begun, ends, submitted
from simulations import ANY_PORT
from support import ROOT

from batprotocol import Message, RuleViolation
from batprotocol.edc import Scheduler, rehearse, run, serve
from batprotocol.edc.error_notes import MomentNote, moment_of, note_event
from batprotocol.legacy.bridge import CheckedScheduler
from batprotocol.model import DelayProfile, JobSubmittedEvent
from batprotocol.simulator import Platform, StaticJob, Workload, simulate
from batprotocol.testing.conformance import NonConformance, check

WITHOUT_ENGINE = True

TOLD = "at simulated time 1.0, in message 4, about events[0], a JobSubmittedEvent of job 'w0!1'"


class Lost(Exception):
    """What a scheduler raises."""


class Failing(Scheduler):
    """Raises this in a method."""

    def __init__(self, error: Exception | None = None, name: str = "on_job_submitted") -> None:
        self.error = error or Lost("lost")
        self.where = name

    def on_init(self, text: str) -> None:
        self._fail("on_init")

    def on_job_submitted(self, event: Any) -> None:
        self._fail("on_job_submitted")

    def decide(self) -> None:
        if self.now > 0.5:
            self._fail("decide")

    def _fail(self, name: str) -> None:
        if name == self.where:
            raise self.error


def talk(peer: Any) -> None:
    begun(peer)
    for message in submitted(1.0), ends(1.0):
        peer.say(message)


def over_the_socket(scheduler: Scheduler) -> None:
    run(scheduler, ANY_PORT, on_bound=InThread(talk))


def rehearsed(scheduler: Scheduler) -> None:
    rehearse(scheduler, [begins(), submitted(1.0)])


def behind_a_bridge(scheduler: Scheduler) -> None:
    judged = CheckedScheduler(scheduler)
    judged.hello("")
    for message in begins(), submitted(1.0):
        judged.answer(message)


@pytest.mark.parametrize("way", [over_the_socket, rehearsed, behind_a_bridge])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("on_job_submitted", TOLD),
        ("decide", "at simulated time 1.0, in message 4, in decide, after all its events"),
        ("on_init", "before the simulation, in message 0, the initialization data '"),
    ],
)
def test_when_it_was(way: Callable[[Scheduler], None], name: str, told: str) -> None:
    with pytest.raises(Lost, match=r"^lost") as caught:
        way(Failing(name=name))
    moment = moment_of(caught.value)
    assert moment is not None
    assert moment.startswith(told)
    assert isinstance(caught.value.__notes__, list)
    if sys.version_info >= (3, 11):
        assert told in "".join(traceback.format_exception(caught.value))


def test_in_a_simulation() -> None:
    with pytest.raises(Lost) as caught:
        simulate(Platform.homogeneous(1), Workload([StaticJob("1", 5.0, 1, DelayProfile(1.0))]), Failing())
    moment = moment_of(caught.value)
    assert moment is not None
    assert re.fullmatch(
        r"at simulated time 5\.0000\d*, in message 4, about events\[0\], a JobSubmittedEvent of job 'w0!1'", moment
    )


def test_in_a_conformance_check() -> None:
    with pytest.raises(NonConformance, match="it raised Lost: lost") as caught:
        check(Failing)
    if sys.version_info >= (3, 11):
        told = r"at simulated time \S+, in message \d+, about events\[\d\], a JobSubmittedEvent of job"
        assert re.search(told, str(caught.value))


def test_a_loop_of_ones_own() -> None:
    """In a `with`, which sees what is raised; it does not know which event it was."""

    def synchronous() -> None:
        with serve(ANY_PORT) as server:
            InThread(talk)(server.endpoint)
            for turn in server:
                if turn.message.now == 1.0:
                    raise Lost

    async def asynchronous() -> None:
        async with serve(ANY_PORT) as server:
            InThread(talk)(server.endpoint)
            async for turn in server:
                if turn.message.now == 1.0:
                    raise Lost

    for way in synchronous, lambda: asyncio.run(asynchronous()):
        with pytest.raises(Lost) as caught:
            way()
        assert moment_of(caught.value) == "at simulated time 1.0, in message 4"


@pytest.mark.parametrize("record", [None, "run.tar"])
def test_how_to_look_at_it(tmp_path: Path, record: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Lost) as caught:
        run(Failing(), ANY_PORT, on_bound=InThread(talk), record=record)
    *_, hint = caught.value.__notes__
    if record is None:
        expected = "then batproto dump run.tar.xz/00004-b2e.bin shows that message"
        assert hint == f'record with run(..., record="run.tar.xz"), {expected}'
        return
    assert hint == "batproto dump run.tar/00004-b2e.bin shows that message"
    assert 'job_id: "w0!1"' in run_here("dump", "run.tar/00004-b2e.bin").out


def test_what_breaks_a_rule_tells_the_event_too() -> None:
    class Breaking(Scheduler):
        def on_job_submitted(self, event: Any) -> None:
            self.reply.add_execute_job("w0!nobody", "0")

    with pytest.raises(RuleViolation, match=r"^message 5, events\[0\]\.event\.job_id: error: ") as caught:
        rehearsed(Breaking())
    assert moment_of(caught.value) == TOLD


# The exception stays what it is


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    """Refuses to be changed."""

    reason: str


def test_any_exception_is_told_of_and_stays_what_it_is() -> None:
    for error in (Frozen("x"), KeyError("x"), OSError(2, "no"), StopIteration(3)):
        with pytest.raises(type(error)) as caught:
            rehearsed(Failing(error))
        assert caught.value is error
        assert moment_of(error) == TOLD


def test_an_exception_that_is_raised_twice_tells_the_last_time() -> None:
    error = Lost()
    message = Message(7.0)
    for number in (4, 6):
        note_event(error, message, number, None)
    assert [str(each) for each in error.__notes__] == [
        "at simulated time 7.0, in message 6, in decide, after all its events"
    ]


def test_notes_of_others_are_kept() -> None:
    error = Lost()
    error.__notes__ = ["mine"]
    note_event(error, submitted(1.0), 4, None)
    assert error.__notes__[0] == "mine"
    assert isinstance(error.__notes__[1], MomentNote)


def test_signals_are_no_exceptions_of_a_scheduler() -> None:
    with pytest.raises(SystemExit) as caught:
        rehearsed(Failing(SystemExit(3)))  # type: ignore[arg-type]
    assert moment_of(caught.value) is None


def test_long_names_are_shortened() -> None:
    event = JobSubmittedEvent(
        timestamp=1.0,
        job_id="w0!" + "x" * 10_000,
        job=submitted(1.0).events[0].job,
        submission_time=0.0,  # type: ignore[union-attr]
    )
    error = Lost()
    note_event(error, Message(1.0, (event,)), 4, event)
    assert len(moment_of(error) or "") < 200


# The commands

SOURCE = """
from batprotocol.edc import Scheduler

class Failing(Scheduler):
    def on_job_submitted(self, event):
        raise LookupError("lost")

class Unfit(Scheduler):
    def __init__(self, limit):
        pass
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "failing.py"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize("recorded", [False, True])
def test_simulate_tells_and_has_recorded_it(file: Path, tmp_path: Path, recorded: bool) -> None:
    record = tmp_path / "run.tar"
    told = run_here("simulate", f"{file}:Failing", *(["--record", record] if recorded else []))
    assert told.status == 1
    last = told.err.splitlines()[-1]
    when = re.escape("in message 4, about events[0], a JobSubmittedEvent of job 'w0!1'; ")
    place = re.escape(f"{record}/00004-b2e.bin")
    how = f"batproto dump {place} shows that message"
    if not recorded:
        how = r"record with --record run\.tar\.xz, then batproto dump run\.tar\.xz/00004-b2e\.bin shows that message"
    start = re.escape(f"batproto: the scheduler {file}:Failing ended with a LookupError at simulated time ")
    assert re.fullmatch(rf"{start}\S+, {when}{how}", last)
    if recorded:
        assert "JobSubmittedEvent" in run_here("dump", f"{record}/00004-b2e.bin").out


# Inside Batsim


@pytest.fixture
def batsim(tmp_path: Path) -> list[str]:
    """A command that stands for Batsim: it plays a recorded run, and says a lot when that fails."""
    noisy = '"$@"; status=$?; [ $status = 0 ] || seq 100 >&2; exit $status'
    return ["sh", "-c", noisy, "sh", *recorded_batsim(tmp_path)]


@needs_host
@pytest.mark.slow
def test_the_reason_is_repeated_after_all_that_batsim_says(batsim: list[str], file: Path) -> None:
    done = batproto("run", "--in-process", f"{file}:Failing", "--", *batsim)
    assert done.returncode == 3
    *_, before, last = done.stderr.splitlines()
    assert before == "100"
    reason = f"the scheduler {file}:Failing ended with a LookupError at simulated time "
    assert last.startswith(f"batproto: sh ended with exit status 3: {reason}")
    assert "a JobSubmittedEvent of job 'w0!" in last


@needs_host
@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "target", "status", "sentence"),
    [
        (SOURCE, "Nobody", 2, "has no Scheduler called 'Nobody'; it has Failing and Unfit"),
        (SOURCE, "Unfit", 2, "the class Unfit is made without arguments, but its __init__ takes"),
        ("def f(:", "X", 1, "ended with a SyntaxError"),
        ("1 / 0", "X", 1, "ended with a ZeroDivisionError"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_of_before_batsim_starts(
    tmp_path: Path, source: str, target: str, status: int, sentence: str
) -> None:
    """With the same status as over the socket."""
    file = tmp_path / "wrong.py"
    file.write_text(source)
    started = tmp_path / "started"
    for options in (["--in-process"], []):
        done = run_here("run", *options, f"{file}:{target}", "--", "touch", str(started))
        assert done.status == status
        assert sentence in done.err.splitlines()[-1]
    assert not started.exists()


@needs_host
@pytest.mark.slow
def test_a_command_that_never_loads_the_scheduler_is_no_success() -> None:
    fcfs = f"{ROOT}/examples/fcfs.py:FCFS"
    done = batproto("run", "--in-process", fcfs, "--", "true")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "batproto: true ended with exit status 0, and has not loaded the scheduler\n"


@needs_host
@pytest.mark.slow
def test_a_simulation_that_ends_early_is_no_success(batsim: list[str], tmp_path: Path) -> None:
    (tmp_path / "messages").write_bytes(packed(batsim_side(Path(BINARY))[1:5]))
    done = batproto("run", "--in-process", f"{ROOT}/examples/fcfs.py:FCFS", "--", *batsim)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "batproto: sh ended with exit status 0 before the simulation was over"


OLDER = """
import sys
from batprotocol.edc import Scheduler, rehearse
from batprotocol.edc.error_notes import moment_of
from replay import begins, submitted

class Failing(Scheduler):
    def on_job_submitted(self, event):
        raise LookupError("lost")

sys.version_info = (3, 10, 13, "final", 0)
try:
    rehearse(Failing(), [begins(), submitted(1.0)])
except LookupError as error:
    print(moment_of(error))
"""


@pytest.mark.slow
def test_before_notes_were_shown_it_is_logged() -> None:
    """As with Python 3.10."""
    done = subprocess.run([sys.executable, "-c", OLDER], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.stdout == f"{TOLD}\n", done.stderr
    assert done.stderr == f"LookupError: {TOLD}\n"
