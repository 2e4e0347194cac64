"""`run` with a scheduler in this process, whatever its methods raise; and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from replay import PATIENCE, InThread, Peer, begins, begun, submitted
from simulations import ANY_PORT, Everywhere, stopped, types, whole
from support import ROOT

from batprotocol import BuilderError, Event, SimulationEndsEvent
from batprotocol.edc import Scheduler, run
from batprotocol.errors import PeerGone
from batprotocol.wire import frames


def test_run_runs_a_scheduler() -> None:
    batsim = InThread(whole)
    endpoints: list[str] = []

    def bound(endpoint: str) -> None:
        endpoints.append(endpoint)
        batsim(endpoint)

    run(Everywhere(), ANY_PORT, on_bound=bound)
    assert types(batsim.join()) == [[], ["ExecuteJobEvent"], [], []]
    assert endpoints[0].startswith("tcp://127.0.0.1:")


def test_initialization_data_can_be_given_in_place_of_batsims() -> None:
    class Curious(Scheduler):
        text = ""

        def on_init(self, text: str) -> None:
            self.text = text

    for given, expected in ((None, "init"), ("", ""), ("mine", "mine")):
        scheduler, batsim = Curious(), InThread(whole)
        run(scheduler, ANY_PORT, init=given, on_bound=batsim)
        batsim.join()
        assert scheduler.text == expected


@pytest.mark.parametrize("where", ["on_job_submitted", "decide", "on_simulation_begins"])
def test_what_a_method_raises_stops_the_simulation_and_reaches_the_caller(where: str) -> None:
    def fails(self: Scheduler, *event: Event) -> None:
        if where != "decide" or self.now:
            raise LookupError(where)

    def script(peer: Peer) -> bool:
        frames.decode_hello(peer.ask(frames.encode_init("")))
        return (
            stopped(peer, begins())
            if where == "on_simulation_begins"
            else (not peer.say(begins()).events and stopped(peer, submitted(1.0)))
        )

    batsim = InThread(script)
    with pytest.raises(LookupError, match=where):
        run(type("Failing", (Scheduler,), {where: fails})(), ANY_PORT, on_bound=batsim)
    assert batsim.join()


@pytest.mark.parametrize("where", ["on_init", "name"])
def test_what_is_wrong_with_the_hello_stops_the_simulation_and_reaches_the_caller(where: str) -> None:
    def fails(self: Scheduler, text: str) -> None:
        raise LookupError("no comma")

    def script(peer: Peer) -> bool:
        frames.decode_hello(peer.ask(frames.encode_init("")))
        return stopped(peer, begins())

    batsim = InThread(script)
    attributes = {"on_init": fails} if where == "on_init" else {"name": property(lambda self: "a, b")}
    with pytest.raises((LookupError, BuilderError), match="comma"):
        run(type("Failing", (Scheduler,), attributes)(), ANY_PORT, on_bound=batsim)
    assert batsim.join()


def test_what_fails_at_the_end_leaves_batsim_an_answer() -> None:
    class Failing(Everywhere):
        def on_simulation_ends(self, event: SimulationEndsEvent) -> None:
            raise LookupError("at the end")

    batsim = InThread(whole)
    with pytest.raises(LookupError, match="at the end"):
        run(Failing(), ANY_PORT, on_bound=batsim)
    assert types(batsim.join()) == [[], ["ExecuteJobEvent"], [], []]


@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM])
def test_only_a_signal_is_told(number: int | None, caplog: pytest.LogCaptureFixture) -> None:
    class Ending(Scheduler):
        def on_job_submitted(self, event: Event) -> None:
            if number is None:
                raise LookupError("no signal")
            os.kill(os.getpid(), number)
            while True:  # a signal takes effect here
                time.sleep(0.01)

    def script(peer: Peer) -> bool:
        frames.decode_hello(peer.ask(frames.encode_init("")))
        return not peer.say(begins()).events and stopped(peer, submitted(1.0))

    batsim = InThread(script)
    expected = {None: LookupError, signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: SystemExit}[number]
    with pytest.raises(expected):
        run(Ending(), ANY_PORT, on_bound=batsim)
    assert batsim.join()
    told = [record.getMessage() for record in caplog.records if " came " in record.getMessage()]
    assert [text.partition(" ")[0] for text in told] == ([] if number is None else [signal.Signals(number).name])


# What is left behind


def resources() -> tuple[int, int, int]:
    """How many file descriptors, threads, and threads of other languages this process has."""
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task"))


def settled() -> tuple[int, int, int]:
    """The resources, when none seem to be on their way out any more."""
    last = resources()
    for _ in range(100):
        time.sleep(0.1)
        now = resources()
        if now == last:
            return now
        last = now
    return last


def settles_at(most: tuple[int, int, int]) -> bool:
    """Whether no more resources are left than these, once those that are on their way out are gone."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if all(now <= each for now, each in zip(resources(), most, strict=True)):
            return True
        time.sleep(0.05)
    return False


LINUX = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux tells")


@pytest.mark.slow
@LINUX
def test_many_runs_leave_nothing_behind(tmp_path: Path) -> None:
    def once(number: int) -> None:
        batsim = InThread(whole if number % 20 else begun)
        try:
            run(Everywhere(), f"ipc://{tmp_path}/edc.sock" if number % 2 else ANY_PORT, on_bound=batsim)
        except PeerGone:
            assert number % 20 == 0
        batsim.join()

    once(0)
    before = settled()
    for number in range(200):
        once(number)
    assert settles_at(before), (resources(), before)


@pytest.mark.slow
@LINUX
def test_twenty_schedulers_in_one_process() -> None:
    def once() -> None:
        replies: list[list[list[str]]] = []

        def simulate() -> None:
            batsim = InThread(whole)
            run(Everywhere(), ANY_PORT, on_bound=batsim)
            replies.append(types(batsim.join()))

        threads = [threading.Thread(target=simulate) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert replies == [[[], ["ExecuteJobEvent"], [], []]] * 20

    once()
    before = settled()
    once()
    assert settles_at(before), (resources(), before)


@pytest.mark.slow
def test_importing_batprotocol_imports_no_socket() -> None:
    program = """
import sys, batprotocol
assert not [name for name in sys.modules if name.split(".")[0] in ("zmq", "asyncio")]
import batprotocol.edc
assert not [name for name in sys.modules if name.startswith(("batprotocol.cli", "click"))]
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
