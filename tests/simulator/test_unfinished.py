"""A simulation that did not come to its end is never a success, and nobody waits for ever in silence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import zmq
from commands import run_here
from replay import InThread, Peer, begins, said
from support import ROOT

from batprotocol import SimulationErrorEvent
from batprotocol._util import sockets as requester
from batprotocol.edc import Scheduler
from batprotocol.legacy import bridge
from batprotocol.legacy.text import runtime as unix
from batprotocol.model import DelayProfile, OneShot
from batprotocol.simulator import Platform, Result, StaticJob, Workload, connect, simulate
from batprotocol.wire import frames

WITHOUT_ENGINE = True

FCFS = f"{ROOT}/examples/fcfs.py:FCFS"
JOBS = [StaticJob(str(number), float(number), 1, DelayProfile(3.5)) for number in range(4)]


class Stopping(Scheduler):
    """Executes each job on host 0, and stops the simulation at some time."""

    def __init__(self, at: int, *, kills: bool = False) -> None:
        self.at = at
        self.kills = kills

    def on_job_submitted(self, event: Any) -> None:
        self.reply.add_execute_job(event.job_id, "0")

    def on_simulation_begins(self, event: Any) -> None:
        self.reply.add_call_me_later("stop", OneShot(self.at))

    def on_requested_call(self, event: Any) -> None:
        running = list(self.conversation.killable)
        if self.kills and running:
            self.reply.add_kill_jobs(running)
        self.reply.add_force_simulation_stop()


def simulated(scheduler: Scheduler) -> Result:
    return simulate(Platform.homogeneous(1), Workload(JOBS), scheduler)


@pytest.mark.parametrize("kills", [False, True])
@pytest.mark.parametrize(
    ("at", "finished"),
    [(2, False), (4, False), (6, False), (9, True)],
    ids=["jobs to come", "all submitted", "one runs", "all ended"],
)
def test_a_stop_before_all_jobs_have_ended(at: int, kills: bool, finished: bool) -> None:
    result = simulated(Stopping(at, kills=kills))
    assert (result.is_complete, result.was_stopped) == (finished, not finished)
    assert ("the decision component stopped the simulation before all jobs had ended" in str(result)) is not finished


def test_the_end_of_a_simulation_is_no_stop() -> None:
    class Everywhere(Scheduler):
        def on_job_submitted(self, event: Any) -> None:
            self.reply.add_execute_job(event.job_id, "0")

    assert simulated(Everywhere()).is_complete


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """This is done in a thread meanwhile; what it raises is of no interest."""

    def quietly() -> None:
        with pytest.raises(LookupError):
            work()

    thread = threading.Thread(target=quietly)
    thread.start()
    yield
    thread.join()


def test_a_scheduler_behind_a_bridge_that_fails(tmp_path: Path) -> None:
    class Component(Scheduler):
        def answer(self, message: Any) -> Any:
            raise LookupError("lost")

    endpoint = f"ipc://{tmp_path}/edc.sock"
    with bridge.NewBatsim(endpoint) as batsim, beside(lambda: bridge.drive(batsim, Component())):
        told = run_here("simulate", "--endpoint", endpoint)
    assert told.status == 1
    assert "jobs  0\n" in told.out
    assert "end   the decision component stopped the simulation before all jobs had ended\n" in told.out


def test_a_simulation_that_fails_is_no_success(tmp_path: Path) -> None:
    endpoint = f"ipc://{tmp_path}/edc.sock"

    def failing(peer: Peer) -> None:
        frames.decode_hello(peer.ask(frames.encode_init("")))
        for message in (begins(), said(1.0, SimulationErrorEvent(timestamp=1.0, error="no more"))):
            peer.say(message)

    simulator = InThread(failing)
    simulator(endpoint)
    told = run_here("run", FCFS, "--endpoint", endpoint)
    simulator.join()
    assert told.status == 1
    assert told.err.endswith("batproto: the simulation has failed: no more\n")


# Waiting


@contextmanager
def mute(endpoint: str) -> Iterator[None]:
    """Somebody listens there, and says nothing."""
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        socket.bind(endpoint)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [(), ("--protocol", "4.2")])
def test_a_time_out(tmp_path: Path, protocol: tuple[str, ...]) -> None:
    endpoint = f"ipc://{tmp_path}/edc.sock"
    who = "the scheduler" if protocol else "the decision component"
    command = ("simulate", "--endpoint", endpoint, *protocol, "--timeout", "0.3")
    told = run_here(*command)
    assert (told.status, told.out) == (1, "")
    assert told.err == f"batproto: {who} did not listen at {endpoint} for 0.3 seconds\n"
    with mute(endpoint):
        told = run_here(*command)
    assert (told.status, told.out) == (1, "")
    assert told.err == f"batproto: {who} at {endpoint} has not answered for 0.3 seconds\n"


@pytest.mark.parametrize("arguments", [(FCFS,), (), ("--library", "x.so")])
def test_only_at_an_endpoint_somebody_is_waited_for(arguments: tuple[str, ...]) -> None:
    told = run_here("simulate", *arguments, "--timeout", "3")
    assert (told.status, told.out) == (2, "")
    assert told.err.startswith("batproto simulate: --timeout is the time to wait for the component at an --endpoint")


@pytest.mark.slow
@pytest.mark.parametrize("listens", [False, True])
def test_what_is_waited_for_is_told_once(
    tmp_path: Path, listens: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(requester, "PATIENCE", 0.5)  # long enough to see that somebody listens
    endpoint = f"ipc://{tmp_path}/edc.sock"
    platform, workload = Platform.homogeneous(1), Workload([])
    with (
        mute(endpoint if listens else f"{endpoint}.other"),
        connect(endpoint, timeout=1.0) as component,
        pytest.raises(requester.PeerSilent),
    ):
        simulate(platform, workload, component)
    what = "answer" if listens else "listen"
    assert caplog.messages == [f"still waiting for the decision component to {what} at {endpoint}"]


@pytest.mark.slow
@pytest.mark.parametrize("listens", [False, True])
def test_text_tells_it_too(
    tmp_path: Path, listens: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(unix, "PATIENCE", 0.1)
    line = unix.UnixLine(f"{tmp_path}/bat_socket", listens=listens, timeout=0.5, who="the other one")
    with pytest.raises(requester.PeerSilent):
        line.receive()
    line.close()
    what = "connect to" if listens else "listen at"
    assert caplog.messages == [f"still waiting for the other one to {what} {tmp_path}/bat_socket"]
