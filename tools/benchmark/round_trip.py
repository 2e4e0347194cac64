"""Turns over `ipc://`: schedulers with the rules of the conversation on, against a bare pyzmq echo of what they reply.

Batsim's side is played from a recorded conversation, by default of 20,000 delay jobs: to a scheduler, and to an echo
that sends the recorded replies. Each is a process of its own. All are pinned to one core with this one, as Batsim and
its decision component take turns anyway. They are asked in turn, some hundred messages at a time, so other load on the
machine slows all of them alike. The figures are the medians of these parts, by the wall clock.

Recorded runs of FCFS are played with `--recorded FILE.tar.xz`. They are short: a process gets the same one again and
again, a part is a whole simulation, and its beginning is not counted.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

import zmq

from batprotocol.edc import Server, Session, run
from batprotocol.edc.recording.sources import messages
from batprotocol.edc.scheduler import attend_to
from batprotocol.wire import binary, frames
from benchmark.tables import parser_for, table
from benchmark.turns import SCHEDULERS, recorded

__all__ = ["GOALS", "Ratio", "Recording", "main", "measure"]

GOALS: Final = {"native": 1.65, "python": 2.0}
"""How many times the turn of the echo that of a scheduler may take, by the engine."""

PART = 250
"""How many messages each of the two gets before the other one does."""

WARM_UP = 2
"""How many of these parts are not counted."""

SIMULATIONS = 12
"""How many times a recorded run is played at least."""

PLAYED = 30_000
"""How many messages of it are played at least: a part of a short one is soon over, and what it takes differs widely."""

BEGINNING = 4
"""The number of its first messages that are not counted: those about the platform."""


class Recording(NamedTuple):
    """A conversation to be played: what Batsim says from the initialization data on, and what was replied."""

    name: str
    scheduler: str
    said: Sequence[bytes]
    replies: Sequence[bytes]
    simulations: int = 1


class Ratio(NamedTuple):
    """The median turn of a scheduler and of the echo that answers alike, in nanoseconds."""

    name: str
    scheduler: float
    echo: float

    @property
    def times(self) -> float:
        return self.scheduler / self.echo


# What is played


def delay_jobs(scheduler: str, jobs: int) -> Recording:
    """A simulation of jobs that wait for ten seconds, one after the other."""
    messages, replies = recorded(SCHEDULERS[scheduler](), jobs)
    said = [frames.encode_init(""), *(message.to_binary() for message in messages)]
    hello = frames.encode_hello(replies[0], "binary")
    return Recording(f"{jobs} delay jobs", scheduler, said, [hello, *(reply.to_binary() for reply in replies[1:])])


def recorded_run(path: str) -> Recording:
    """A recorded run, to be played to FCFS again and again."""
    said = [found.data for found in messages([path]) if found.name.endswith(".bin") and "twin/" not in found.name]
    simulations = max(SIMULATIONS, PLAYED // len(said[::2]))
    return Recording(Path(path).name, "FCFS", said[::2], said[1::2], simulations)


# The processes


def serve_scheduler(scheduler: str, endpoint: str, engine: str, ready: Connection) -> None:
    if scheduler == "no-op":
        logging.disable()  # the warning that it leaves jobs undone
    binary.use_engine(engine)
    run(SCHEDULERS[scheduler](), endpoint, on_bound=ready.send)


def serve_schedulers(
    scheduler: str, endpoint: str, engine: str, hello: bytes, simulations: int, ready: Connection
) -> None:
    """One simulation after the other; each hello is the recorded one, as what Batsim says follows from it."""
    binary.use_engine(engine)
    with Server(endpoint, lambda: Session(lambda text: frames.decode_hello(hello).message)) as server:
        ready.send(endpoint)
        for _ in range(simulations):
            attend = attend_to(SCHEDULERS[scheduler]())
            for turn in server:
                attend(turn)


def serve_echo(replies: Sequence[bytes], endpoint: str, ready: Connection) -> None:
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        socket.bind(endpoint)
        ready.send(endpoint)
        for reply in replies:
            socket.recv()
            socket.send(reply)


class Peer:
    """A process that answers, the socket to ask it, and what each part of the conversation has taken."""

    def __init__(self, context: zmq.Context[Any], target: Callable[..., None], endpoint: str, *arguments: Any) -> None:
        spawn = multiprocessing.get_context("spawn")
        receiving, sending = spawn.Pipe(duplex=False)
        first, *others = arguments
        self.process = spawn.Process(target=target, args=(first, endpoint, *others, sending), daemon=True)
        self.process.start()
        receiving.recv()
        self.socket = context.socket(zmq.REQ)
        self.socket.connect(endpoint)
        self.times: list[float] = []

    def play(self, said: Sequence[bytes]) -> None:
        send, receive = self.socket.send, self.socket.recv
        start = perf_counter_ns()
        for message in said:
            send(message)
            receive()
        self.times.append((perf_counter_ns() - start) / len(said))

    def end(self) -> None:
        self.socket.close()
        self.process.join()


# Measuring


def measure(recording: Recording, engine: str) -> Ratio:
    """The median turn of a scheduler and of the echo.

    Args:
        recording: the conversation.
        engine: "native" or "python".
    """
    said, replies, simulations = recording.said, list(recording.replies), recording.simulations
    if simulations == 1:
        serve: Callable[..., None] = serve_scheduler
        arguments: tuple[Any, ...] = (recording.scheduler, engine)
        turns = [[said[start : start + PART]] for start in range(0, len(said), PART)]
        counted = slice(WARM_UP, -1)  # the last part may be short
    else:
        serve, arguments = serve_schedulers, (recording.scheduler, engine, replies[0], simulations)
        turns = [[said[:BEGINNING], said[BEGINNING:]]] * simulations
        counted = slice(2 * WARM_UP + 1, None, 2)  # no beginnings
    with tempfile.TemporaryDirectory() as folder, zmq.Context() as context:
        edc = Peer(context, serve, f"ipc://{folder}/edc", *arguments)
        echo = Peer(context, serve_echo, f"ipc://{folder}/echo", replies * simulations)
        for number, parts in enumerate(turns):
            for peer in (edc, echo) if number % 2 else (echo, edc):
                for part in parts:
                    peer.play(part)
        for peer in edc, echo:
            peer.end()
    taken = (peer.times[counted] for peer in (edc, echo))
    return Ratio(f"{recording.scheduler}, {recording.name}", *map(statistics.median, taken))


def pin() -> None:
    """Keep this process and its children on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__, quick="2,000 jobs instead of 20,000")
    parser.add_argument("--engine", choices=binary.ENGINES, action="append", help="this one only (may be repeated)")
    parser.add_argument(
        "--recorded",
        action="append",
        default=[],
        metavar="FILE",
        help="play this recorded run of FCFS (may be repeated)",
    )
    parser.add_argument("--check", action="store_true", help=f"exit 1 above {GOALS} times the echo")
    given = parser.parse_args(arguments)
    pin()
    engines = given.engine or binary.ENGINES
    rows, too_slow = [["turns of", "echo, µs", *(f"{engine} engine" for engine in engines)]], False
    recordings = [recorded_run(path) for path in given.recorded]
    recordings = recordings or [delay_jobs(name, 2_000 if given.quick else 20_000) for name in SCHEDULERS]
    for recording in recordings:
        ratios = {engine: measure(recording, engine) for engine in engines}
        first, *_ = ratios.values()
        rows.append([first.name, f"{first.echo / 1000:.1f}", *(f"{ratio.times:.2f}x" for ratio in ratios.values())])
        too_slow = too_slow or any(ratio.times > GOALS[engine] for engine, ratio in ratios.items())
    print(f"Turns over a socket, against an echo that sends the same replies:\n\n{table(rows, given.markdown)}")
    return int(given.check and too_slow)


if __name__ == "__main__":
    sys.exit(main())
