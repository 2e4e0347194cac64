"""Round trips over `ipc://`: a Scheduler with the rules of the conversation on, against a bare pyzmq echo.

Each is a process of its own, all are pinned to one core with this one (Batsim and its decision component take turns
anyway), and they are asked in turn, so whatever the machine does, it does to all. The echo answers with frames of the
very sizes that the schedulers answer with. What counts is the median, of the wall clock.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NamedTuple

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

import zmq

from batprotocol import (
    Doubles,
    ExternalEventListAndFilename,
    FinalJobState,
    Host,
    HostState,
    Job,
    JobCompletedEvent,
    JobSubmittedEvent,
    Message,
    MessageBuilder,
    WorkloadAndFilename,
)
from batprotocol.edc import Scheduler, run
from batprotocol.wire import binary, frames

__all__ = ["GOALS", "Ratio", "main", "measure"]

GOALS = {"no-op": 1.3, "submission": 1.5}
"""How many times the round trip of the echo that of a scheduler may take."""

HOSTS = 64
WARM_UP = 300
END = b"end"


class NoOp(Scheduler):
    """Answers nothing, ever."""


class OneByOne(Scheduler):
    """Executes each job on the next host as soon as it is submitted."""

    def __init__(self) -> None:
        self.next = 0

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.reply.add_execute_job(event.job_id, HOSTS_BY_NUMBER[self.next % HOSTS])
        self.next += 1

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        """So that the method is called, as it is in any scheduler."""


HOSTS_BY_NUMBER = [str(number) for number in range(HOSTS)]


class Ratio(NamedTuple):
    """The median round trip of a scheduler and of the echo that answers alike, in nanoseconds."""

    name: str
    scheduler: float
    echo: float

    @property
    def times(self) -> float:
        return self.scheduler / self.echo


# What Batsim says


def begins() -> Message:
    builder = MessageBuilder()
    builder.add_simulation_begins(
        batsim_version="5.0.0-rc2",
        computation_hosts=[
            Host(id=number, name=f"host{number}", state=HostState.IDLE, computation_speed=Doubles([1e9]))
            for number in range(HOSTS)
        ],
        workloads=[WorkloadAndFilename("w0", "workload.json")],
        external_event_lists=[ExternalEventListAndFilename("events", "events.txt")],
    )
    return builder.finish_message()


def calls() -> Iterator[tuple[bytes, bytes]]:
    """Pairs of messages that a no-op scheduler has nothing to say to: external events."""
    number = 0
    while True:
        builder = MessageBuilder(now=float(number))
        pair = []
        for _ in range(2):
            builder.clear(builder.current_time + 0.5)
            builder.add_external_event_occurred("event", f"event {number:08}")
            pair.append(builder.finish_message().to_binary())
        number += 1
        yield pair[0], pair[1]


def jobs() -> Iterator[tuple[bytes, bytes]]:
    """Pairs of messages: a job is submitted, and the same job ends."""
    builder = MessageBuilder()
    number = 0
    while True:
        job_id = f"w0!{number:08}"
        builder.clear(builder.current_time + 1.0)
        job = Job(resource_request=1, walltime=100.0, extra_data="", profile_id="w0!delay10")
        builder.add_job_submitted(job_id, job, builder.current_time)
        submitted = builder.finish_message().to_binary()
        builder.clear(builder.current_time + 1.0)
        builder.add_job_completed(job_id, FinalJobState.COMPLETED_SUCCESSFULLY)
        number += 1
        yield submitted, builder.finish_message().to_binary()


# The processes


def serve_scheduler(scheduler: type[Scheduler], endpoint: str, engine: str, ready: Connection) -> None:
    binary.use_engine(engine)
    run(scheduler(), endpoint, on_bound=ready.send)


def serve_echo(answers: dict[int, bytes], endpoint: str, ready: Connection) -> None:
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        socket.bind(endpoint)
        ready.send(endpoint)
        while True:
            request = socket.recv()
            socket.send(answers[len(request)])
            if request == END:
                return


class Peer:
    """A process that answers, and the socket to ask it."""

    def __init__(self, context: zmq.Context[Any], target: Callable[..., None], endpoint: str, *arguments: Any) -> None:
        spawn = multiprocessing.get_context("spawn")
        receiving, sending = spawn.Pipe(duplex=False)
        self.process = spawn.Process(target=target, args=(*arguments, sending), daemon=True)
        self.process.start()
        receiving.recv()
        self.socket = context.socket(zmq.REQ)
        self.socket.connect(endpoint)

    def ask(self, request: bytes) -> bytes:
        self.socket.send(request)
        return bytes(self.socket.recv())

    def timed(self, request: bytes) -> int:
        socket = self.socket
        start = perf_counter_ns()
        socket.send(request)
        socket.recv()
        return perf_counter_ns() - start

    def end(self, request: bytes) -> None:
        self.ask(request)
        self.socket.close()
        self.process.join()


# Measuring

CASES: Sequence[tuple[str, type[Scheduler], Callable[[], Iterator[tuple[bytes, bytes]]]]] = (
    ("no-op", NoOp, calls),
    ("submission", OneByOne, jobs),
)


def measure(rounds: int, exchanges: int, engine: str) -> list[Ratio]:
    """The round trips of each case.

    Args:
        rounds: how many times each peer gets a batch of exchanges, in turn.
        exchanges: how many exchanges a batch holds.
        engine: "native" or "python".
    """
    with tempfile.TemporaryDirectory() as folder, zmq.Context() as context:
        return [
            _measure(context, f"ipc://{folder}/{name}", name, scheduler, said(), rounds, exchanges, engine)
            for name, scheduler, said in CASES
        ]


def _measure(
    context: zmq.Context[Any],
    endpoint: str,
    name: str,
    scheduler: type[Scheduler],
    said: Iterator[tuple[bytes, bytes]],
    rounds: int,
    exchanges: int,
    engine: str,
) -> Ratio:
    edc = Peer(context, serve_scheduler, endpoint, scheduler, endpoint, engine)
    edc.ask(frames.encode_init(""))
    edc.ask(begins().to_binary())
    answers = {len(END): b""}
    for pair in (next(said) for _ in range(WARM_UP)):
        answers |= {len(request): edc.ask(request) for request in pair}
    echo = Peer(context, serve_echo, f"{endpoint}-echo", answers, f"{endpoint}-echo")
    times: dict[Peer, list[float]] = {edc: [], echo: []}
    for number in range(rounds + 1):
        batch = [next(said) for _ in range(exchanges)]
        for peer in (edc, echo) if number % 2 else (echo, edc):
            samples = []
            for first, second in batch:
                samples.append(peer.timed(first))
                peer.ask(second)
            if number:  # the first round warms up
                times[peer] += samples
    builder = MessageBuilder(now=1e9)
    builder.add_all_static_jobs_have_been_submitted()
    builder.add_all_static_external_events_have_been_injected()
    builder.add_simulation_ends()
    edc.end(builder.finish_message().to_binary())
    echo.end(END)
    return Ratio(name, statistics.median(times[edc]), statistics.median(times[echo]))


def pin() -> None:
    """Keep this process and its children on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engine", choices=binary.ENGINES, default=binary.ENGINE)
    parser.add_argument("--quick", action="store_true", help="take a few seconds only")
    parser.add_argument("--check", action="store_true", help=f"exit 1 above {GOALS} times the echo")
    options = parser.parse_args(arguments)
    pin()
    ratios = measure(*(10, 200) if options.quick else (40, 500), options.engine)
    for ratio in ratios:
        print(
            f"{ratio.name}, {options.engine} engine: {ratio.scheduler / 1000:.1f} us, "
            f"echo {ratio.echo / 1000:.1f} us: {ratio.times:.2f} times"
        )
    return int(options.check and any(ratio.times > GOALS[ratio.name] for ratio in ratios))


if __name__ == "__main__":
    sys.exit(main())
