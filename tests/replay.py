"""The other side of a decision component's socket: a REQ client, which says what a test or a recorded Batsim says.

As Batsim does, it says each message when the one before was answered. It does not care what the answer was.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import zmq
from support import read_run

from batprotocol import (
    Doubles,
    EDCHelloEvent,
    Event,
    FinalJobState,
    Host,
    HostState,
    Job,
    JobCompletedEvent,
    JobSubmittedEvent,
    Message,
    MessageBuilder,
    SimulationEndsEvent,
    WorkloadAndFilename,
)
from batprotocol.wire import decode, frames

PATIENCE = float(os.environ.get("BATPROTOCOL_TEST_PATIENCE", "60"))
"""Seconds after which a test gives up waiting. No test measures time with it."""

HOSTS = 4

T = TypeVar("T")


class Peer:
    """A simulator, as far as a socket can tell."""

    def __init__(self, endpoint: str) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self._context.socket(zmq.REQ)
        self.socket.linger = 0
        self.socket.rcvtimeo = self.socket.sndtimeo = round(PATIENCE * 1000)
        self.socket.ipv6 = "[" in endpoint
        self.socket.connect(endpoint)

    def ask(self, frame: bytes) -> bytes:
        """Say this, and wait for the answer. TimeoutError if there is none."""
        try:
            self.socket.send(frame)
            return self.socket.recv()
        except zmq.Again:
            raise TimeoutError(f"no answer to {frame[:40]!r}") from None

    def say(self, message: Message) -> Message:
        """Say this message in binary, and read the answer."""
        return decode(self.ask(message.to_binary()))

    def replay(self, told: Sequence[bytes]) -> list[bytes]:
        """Say all these frames; the answers."""
        return [self.ask(frame) for frame in told]

    def close(self) -> None:
        self.socket.close()
        self._context.term()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class InThread(Generic[T]):
    """A peer in a thread of its own, for when the decision component runs in this one.

    Args:
        script: what the peer does; it is closed after that.

    To be given as `on_bound`, or called with the endpoint.
    """

    def __init__(self, script: Callable[[Peer], T]) -> None:
        self._script = script
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def __call__(self, endpoint: str) -> None:
        self._thread = threading.Thread(target=self._run, args=(endpoint,))
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the script is still at it."""
        return self._thread is not None and self._thread.is_alive()

    def join(self) -> T:
        """Wait until the script has ended; what it gave. Raises what it raised."""
        assert self._thread is not None, "the peer was never started"
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result[0]

    def _run(self, endpoint: str) -> None:
        try:
            with Peer(endpoint) as peer:
                self._result.append(self._script(peer))
        except BaseException as error:
            self._error = error


# What a simulator says: there is one job, and four hosts


def begins(**changes: Any) -> Message:
    builder = MessageBuilder()
    given: dict[str, Any] = {
        "batsim_version": "5.0.0-rc2",
        "computation_hosts": [
            Host(id=number, name=f"host{number}", state=HostState.IDLE, computation_speed=Doubles([1e9]))
            for number in range(HOSTS)
        ],
        "workloads": [WorkloadAndFilename("w0", "workload.json")],
    }
    builder.add_simulation_begins(**given | changes)
    return builder.finish_message()


def said(now: float, *events: Event) -> Message:
    builder = MessageBuilder(now)
    for event in events:
        builder.add(event)
    return builder.finish_message()


def submitted(now: float, job_id: str = "w0!1", size: int = HOSTS) -> Message:
    job = Job(resource_request=size, walltime=100.0, profile_id="w0!delay")
    return said(now, JobSubmittedEvent(job_id=job_id, job=job, submission_time=now))


def completed(now: float, job_id: str = "w0!1") -> Message:
    return said(now, JobCompletedEvent(job_id=job_id, state=FinalJobState.COMPLETED_SUCCESSFULLY))


def ends(now: float) -> Message:
    return said(now, SimulationEndsEvent())


def begun(peer: Peer) -> Peer:
    """The handshake, and the first message."""
    hello = frames.decode_hello(peer.ask(frames.encode_init("init")))
    assert [type(event) for event in hello.message.events] == [EDCHelloEvent]
    peer.say(begins())
    return peer


# What Batsim has said


def batsim_side(archive: Path) -> list[bytes]:
    """All frames that Batsim sent in a recorded run, the initialization data first."""
    return [message.data for message in read_run(archive) if message.direction == "b2e"]


def main(endpoint: str, archive: str, count: str | None = None, status: str = "0") -> None:
    """As a program: replay a run, or its first so many frames, and exit with this status."""
    told = batsim_side(Path(archive))
    with Peer(endpoint) as peer:
        peer.replay(told[: int(count)] if count else told)
    sys.exit(int(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
