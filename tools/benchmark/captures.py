"""Captures: what recording costs a turn, what a million messages take to look through, what a tap adds to a turn.

Recording is measured in processor time of a scheduler and an embedded Batsim over a socket, with and without, one after
the other; of a million messages, the time to read all of them, to find one by its time, and the memory; of a tap, the
median turn of a forwarder between two sockets, in turn. Ratios hold on a busy machine, times do not.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

import zmq

from batprotocol import Direction, FinalJobState, Job, MessageBuilder
from batprotocol._util.sockets import BoundChannel, Requester
from batprotocol.edc.recording import Recorder
from batprotocol.recordings import Capture
from batprotocol.recordings.copies import tap
from benchmark.tables import parser_for, table

__all__ = ["main"]

SHAPES: Final = ("", "run.tar", "run.tar.xz", "run.mcap")
PART: Final = 300
"""How many turns each forwarder gets before the other one does."""


# Recording


def recording(jobs: int, rounds: int) -> list[list[str]]:
    """The cost that a recording adds to a turn, in processor time of both programs."""
    taken: dict[str, list[float]] = {shape: [] for shape in SHAPES}
    with tempfile.TemporaryDirectory() as folder:
        workload = os.path.join(folder, "workload.json")
        static = [{"id": str(number), "subtime": float(number), "res": 1, "profile": "p"} for number in range(jobs)]
        with open(workload, "w", encoding="utf-8") as file:
            json.dump({"nb_res": 4, "jobs": static, "profiles": {"p": {"type": "delay", "delay": 2.5}}}, file)
        for number in range(rounds + 1):
            for shape in SHAPES:
                seconds = _simulated(folder, workload, f"{number}{shape}" if shape else "")
                if number:  # the first round warms up
                    taken[shape].append(seconds)
    base = statistics.median(taken[""])
    rows = [["recording", "s of processor", "ratio"]]
    for shape, each in taken.items():
        ratio = statistics.median(one / two for one, two in zip(each, taken[""], strict=True))
        rows.append([shape or "none", f"{statistics.median(each):.2f}", f"{ratio:.3f}"])
    return [*rows, ["a turn (us)", f"{base / (2 * jobs) * 1e6:.0f}", ""]]


def _simulated(folder: str, workload: str, shape: str) -> float:
    endpoint = f"ipc://{folder}/edc.sock"
    record = ["--record", os.path.join(folder, shape)] if shape else []
    batproto = [sys.executable, "-m", "batprotocol"]
    before = _spent()
    scheduler = subprocess.Popen([*batproto, "run", "fcfs", "--endpoint", endpoint, *record])
    command = [*batproto, "simulate", "--endpoint", endpoint, "--workload", workload]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    scheduler.wait()
    return _spent() - before


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# A million messages


def million(count: int) -> list[list[str]]:
    """The cost of a capture of `count` messages. Each measure is a process of its own, which reports its memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.mcap")
        written = _alone(_write, path, count)
        opened = _alone(_only_open, path, count)
        bare = _alone(_read_bare, path, count)
        decoded = _alone(_read_all, path, count)
        found = _alone(_find, path, count)
        rows = [["captures of a million", "s of processor", "MB at most"]]
        size = os.path.getsize(path) / 2**20
        for name, (seconds, memory) in {
            f"write {count:,} messages ({size:.0f} MB)": written,
            "open": opened,
            "read all": bare,
            "read and decode all": decoded,
            "find one by its time": found,
        }.items():
            rows.append([name, f"{seconds:.4f}", f"{memory:.0f}"])
        rows.append(["a look-up, of reading all", f"{found[0] / bare[0]:.2%}", ""])
        return rows


def _alone(task: Any, *arguments: Any) -> tuple[float, float]:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measured, (task, *arguments))


def _measured(task: Any, *arguments: Any) -> tuple[float, float]:
    seconds = task(*arguments)
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _write(path: str, count: int) -> float:
    builder = MessageBuilder()
    with Recorder(path) as recorder:
        began = time.process_time()
        for number in range(count // 2):
            now = number * 1.25
            builder.clear(now)
            if number % 2:
                builder.add_job_completed(f"w0!{number // 2}", FinalJobState.COMPLETED_SUCCESSFULLY)
            else:
                builder.add_job_submitted(f"w0!{number // 2}", Job(resource_request=4, profile_id="w0!p"), now)
            recorder.write(Direction.BATSIM_TO_EDC, builder.finish_message(now).to_binary())
            builder.clear(now)
            if not number % 2:
                builder.add_execute_job(f"w0!{number // 2}", "0-3")
            recorder.write(Direction.EDC_TO_BATSIM, builder.finish_message(now).to_binary())
    return time.process_time() - began


def _only_open(path: str, count: int) -> float:
    began = time.process_time()
    with Capture(path):
        return time.process_time() - began


def _read_bare(path: str, count: int) -> float:
    began = time.process_time()
    with Capture(path) as run:
        assert sum(len(entry.data) > 0 for entry in run) == count
    return time.process_time() - began


def _read_all(path: str, count: int) -> float:
    began = time.process_time()
    with Capture(path) as run:
        assert sum(entry.message is not None for entry in run) == count
    return time.process_time() - began


def _find(path: str, count: int) -> float:
    with Capture(path) as run:
        began = time.process_time()
        times = [count / 2 * 1.25 * share for share in (0.1, 0.35, 0.5, 0.75, 0.99)]
        for wanted in times:
            entry = run.at(wanted)
            assert entry is not None
            assert entry.time is not None
            assert wanted - 1.25 < entry.time <= wanted
        return (time.process_time() - began) / len(times)


# A tap


def tapped(rounds: int) -> list[list[str]]:
    """The turn through a tap against one through a forwarder that does nothing else, and against none."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        echo = context.Process(target=_echo, args=(f"ipc://{folder}/echo",), daemon=True)
        ends = {
            "none": f"ipc://{folder}/echo",
            "forwarder": f"ipc://{folder}/forwarder",
            "tap": f"ipc://{folder}/tap",
        }
        forwarder = context.Process(target=_forward, args=(ends["forwarder"], ends["none"]), daemon=True)
        tap_process = context.Process(target=_tap, args=(ends["tap"], f"ipc://{folder}/echo2", folder), daemon=True)
        echo2 = context.Process(target=_echo, args=(f"ipc://{folder}/echo2",), daemon=True)
        echo3 = context.Process(target=_echo, args=(f"ipc://{folder}/echo3",), daemon=True)
        ends["none"] = f"ipc://{folder}/echo3"
        processes = (echo, echo2, echo3, forwarder, tap_process)
        for process in processes:
            process.start()
        zmq_context: zmq.Context[Any] = zmq.Context()
        sockets = {name: zmq_context.socket(zmq.REQ) for name in ends}
        for name, endpoint in ends.items():
            sockets[name].connect(endpoint)
        message = _message()
        taken: dict[str, list[float]] = {name: [] for name in ends}
        for number in range(rounds + 2):
            for name, socket in sockets.items():
                turns = []
                for _ in range(PART):
                    began = time.perf_counter_ns()
                    socket.send(message)
                    socket.recv()
                    turns.append(time.perf_counter_ns() - began)
                if number >= 2:
                    taken[name].append(statistics.median(turns))
        for socket in sockets.values():
            socket.close(linger=0)
        zmq_context.term()
        for process in processes:
            process.kill()
            process.join()
    base = taken["forwarder"]
    rows = [["turns between two programs", "us", "against the forwarder"]]
    for name, each in taken.items():
        ratio = statistics.median(one / two for one, two in zip(each, base, strict=True))
        rows.append([name, f"{statistics.median(each) / 1000:.0f}", f"{ratio:.2f}x"])
    return rows


def _message() -> bytes:
    builder = MessageBuilder(now=1.0)
    builder.add_execute_job("w0!1", "0-3")
    return builder.finish_message(1.0).to_binary()


def _echo(endpoint: str) -> None:
    context: zmq.Context[Any] = zmq.Context()
    socket = context.socket(zmq.REP)
    socket.bind(endpoint)
    while True:
        socket.send(socket.recv())


def _forward(front: str, back: str) -> None:
    """A bare forwarder: what is received at one socket is sent at the other."""
    context: zmq.Context[Any] = zmq.Context()
    one, other = context.socket(zmq.REP), context.socket(zmq.REQ)
    one.bind(front)
    other.connect(back)
    while True:
        other.send(one.recv())
        one.send(other.recv())


def _tap(front: str, back: str, folder: str) -> None:
    with Requester(back) as edc, Recorder(f"{folder}/tap.mcap") as recorder:
        tap(BoundChannel(front), edc, recorder)


def main(given: Sequence[str] | None = None) -> None:
    parser = parser_for(__doc__, quick="fewer rounds, jobs and messages")
    parser.add_argument("--only", choices=["recording", "million", "tap"], action="append", help="measure only this")
    options = parser.parse_args(given)
    quick = options.quick
    measures = {
        "recording": lambda: recording(2_000 if quick else 10_000, 3 if quick else 9),
        "million": lambda: million(100_000 if quick else 1_000_000),
        "tap": lambda: tapped(10 if quick else 40),
    }
    for name, measure in measures.items():
        if options.only is None or name in options.only:
            print(table(measure(), options.markdown), end="\n\n")


if __name__ == "__main__":
    main()
