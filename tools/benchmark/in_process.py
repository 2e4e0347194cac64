"""Measure the costs of a turn on the scheduler's side: inside Batsim's process, and over the socket.

A host in C, that of the tests, takes Batsim's place for the library, and a peer in pyzmq does for the socket; both play
the same recorded simulation of delay jobs. All are pinned to one core and take turns, round after round. The figures
are processor time in all threads: of the calls in process, and over the socket of the scheduler's process. Over the
socket, Batsim itself would need more time to send and receive. The benchmark needs a C compiler.
"""

from __future__ import annotations

import os
import statistics
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter_ns
from typing import Final, NamedTuple

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

import zmq

from batprotocol import Doubles, ExternalEventListAndFilename, Host, HostState, MessageBuilder
from batprotocol.edc.embedded import options
from batprotocol.wire import binary, frames
from benchmark import turns
from benchmark.round_trip import pin
from benchmark.tables import parser_for, table

__all__ = ["Cost", "main", "measured"]

HOST: Final = Path(__file__).resolve().parent.parent.parent / "tests" / "edc" / "host.c"
CASES: Final = {"no-op": f"{turns.__file__}:NoOp", "FCFS": turns.FCFS}


class Cost(NamedTuple):
    """What a turn of a scheduler costs, in nanoseconds of the processor."""

    in_process: float
    socket: float


def compiled(folder: str) -> str:
    """The host."""
    program = f"{folder}/host"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    subprocess.run([*compiler, "-O2", "-o", program, str(HOST), "-ldl", "-lpthread"], check=True)
    return program


def packed(said: Sequence[bytes]) -> bytes:
    return b"".join(struct.pack("<I", len(frame)) + frame for frame in said)


def hosted(program: str, folder: str, library: Sequence[str], said: Sequence[bytes], *options: str) -> list[str]:
    """Play messages to a library in the host's process; what the host prints. The replies are in the file `replies`.

    Args:
        program: the host.
        folder: the folder for the messages and the replies.
        library: the library and its initialization data.
        said: the messages.
        options: options of the host.
    """
    Path(folder, "messages").write_bytes(packed(said))
    done = subprocess.run(
        [program, *options, *library, f"{folder}/messages", f"{folder}/replies"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        cwd=folder,  # else Python would import what is here, and not what is installed
    )
    return done.stdout.split()


def unpacked(data: bytes) -> list[bytes]:
    """The messages of a file of the host."""
    found, at = [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found


SERVE: Final = """
import logging, sys
from time import process_time_ns
from batprotocol.edc import run
from batprotocol.edc.scheduler import load
logging.disable()  # the warnings about no-op, which leaves jobs undone
begin = 0
def bound(endpoint):
    global begin
    print("bound", flush=True)
    begin = process_time_ns()
run(load(sys.argv[1])(), sys.argv[2], on_bound=bound)
print(process_time_ns() - begin)
"""
"""A program that serves a scheduler: it prints that it is bound, and what the simulation took of the processor."""


class Spent(NamedTuple):
    """A simulation in nanoseconds: of the processor on the scheduler's side, and by the clock on the wall."""

    processor: float
    wall: float


def served(folder: str, command: Sequence[str], said: Sequence[bytes], replies: list[bytes] | None = None) -> Spent:
    """Play messages over the socket to a program as `SERVE`.

    Args:
        folder: the folder for the socket.
        command: the program and its arguments; the endpoint comes behind them.
        said: the messages.
        replies: gets the hello with its flags, and the replies.
    """
    endpoint = f"ipc://{folder}/edc.sock"
    words = [*command, endpoint]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder) as program:
        assert program.stdout is not None
        program.stdout.readline()
        with zmq.Context() as context, context.socket(zmq.REQ) as socket:
            socket.connect(endpoint)
            found = []
            socket.send(frames.encode_init(""))
            found.append(socket.recv())
            begin = perf_counter_ns()
            for frame in said:
                socket.send(frame)
                found.append(socket.recv())
            wall = perf_counter_ns() - begin
        if replies is not None:
            replies += found
        return Spent(float(program.stdout.readline()), wall)


def measured(jobs: int, rounds: int, engines: Sequence[str]) -> dict[tuple[str, str], Cost]:
    """The cost of a turn, for each case and engine: the medians of the rounds."""
    said = {
        name: [message.to_binary() for message in turns.recorded(make(), jobs)[0]]
        for name, make in turns.SCHEDULERS.items()
    }
    samples: dict[tuple[str, str], list[Cost]] = {(name, engine): [] for engine in engines for name in CASES}
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder)
        for _ in range(rounds):
            for (name, engine), found in samples.items():
                os.environ["BATPROTOCOL_ENGINE"] = engine
                library = options.library(), options.carried(CASES[name])
                inside = float(hosted(program, folder, library, said[name], "--clock")[0])
                outside = served(folder, [sys.executable, "-c", SERVE, CASES[name]], said[name]).processor
                found.append(Cost(inside / len(said[name]), outside / len(said[name])))
    return {
        key: Cost(
            statistics.median(each.in_process for each in found), statistics.median(each.socket for each in found)
        )
        for key, found in samples.items()
    }


def calls(times: int, engines: Sequence[str]) -> dict[str, tuple[float, float, int]]:
    """For each engine: what a call that does nothing costs, what an empty C function does, and how many KiB it adds."""
    begins = MessageBuilder()
    begins.add_simulation_begins(
        batsim_version="5.0.0-rc2",
        computation_hosts=[Host(id=0, name="host", state=HostState.IDLE, computation_speed=Doubles([1e9]))],
        external_event_lists=[ExternalEventListAndFilename("events", "events.txt")],
    )
    happening = MessageBuilder(now=1.0)
    happening.add_external_event_occurred("event", "data")
    ends = MessageBuilder(now=2.0)
    ends.add_simulation_ends()
    said = [each.finish_message().to_binary() for each in (begins, happening, ends)]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder)
        for engine in engines:
            os.environ["BATPROTOCOL_ENGINE"] = engine
            library = options.library(), options.carried(CASES["no-op"])
            full, empty, growth, *_ = hosted(program, folder, library, said, "--repeat", str(times))
            found[engine] = float(full), float(empty), int(growth)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__, quick="2,000 jobs instead of 20,000")
    parser.add_argument("--engine", choices=binary.ENGINES, action="append", help="this one only (may be repeated)")
    parser.add_argument("--calls", type=int, default=1_000_000, help="how often to call what does nothing")
    given = parser.parse_args(arguments)
    engines = given.engine or binary.ENGINES
    pin()
    rows = [["µs of the processor for a turn", "over the socket", "inside Batsim", "saved"]]
    for (name, engine), cost in measured(2_000 if given.quick else 20_000, 3 if given.quick else 5, engines).items():
        costs = [
            f"{cost.socket / 1000:.1f}",
            f"{cost.in_process / 1000:.1f}",
            f"{1 - cost.in_process / cost.socket:.0%}",
        ]
        rows.append([f"{name}, {engine} engine", *costs])
    print(f"Costs of a turn on the scheduler's side:\n\n{table(rows, given.markdown)}\n")
    for engine, (full, empty, growth) in calls(given.calls, engines).items():
        print(
            f"{engine} engine: a call without effect takes {full / 1000:.2f} µs, an empty C function {empty:.1f} ns; "
            f"{given.calls:,} calls add {growth:,} KiB"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
