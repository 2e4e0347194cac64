"""Scripted conversations with the real Batsim, played against the embedded one: what becomes of each in the end.

As a program it tells which end otherwise: `python tests/simulator/verdicts.py [WORD ...]`.
"""

from __future__ import annotations

import base64
import json
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from playback import differences
from support import DATA, SHARED

from batprotocol.errors import DecodeError, RuleViolation
from batprotocol.model import (
    DelayProfile,
    Message,
    ParallelTaskHomogeneousProfile,
    ParallelTaskProfile,
    SequentialCompositionProfile,
    SimulationBeginsEvent,
)
from batprotocol.simulator import (
    Simulator,
    StaticJob,
    Workload,
    read_external_events,
    read_platform,
    read_workload,
)
from batprotocol.wire import FORMATS, frames

VERDICTS = SHARED / "verdicts"

WORKLOAD = Workload(
    [
        StaticJob("0", 0.0, 1, "d10"),
        StaticJob("1", 5.0, 2, "d10"),
        StaticJob("2", 30.0, 4, "hom", walltime=1000.0),
        StaticJob("3", 60.0, 2, "vec2"),
        StaticJob("4", 90.0, 1, "seq", walltime=100.0),
        StaticJob("5", 120.0, 1, "d50", walltime=60.0),
    ],
    {
        "d10": DelayProfile(10.0),
        "d50": DelayProfile(50.0),
        "hom": ParallelTaskHomogeneousProfile(1e8, 0.0),
        "seq": SequentialCompositionProfile(profile_ids=("d10", "d10"), repetition_count=2),
        "vec2": ParallelTaskProfile([1e8, 1e8], [0.0] * 4),
    },
)
"""The workload of most conversations, `w.json`, as Batsim told it."""

WORKLOADS = {
    "w.json": WORKLOAD,
    "test_one_delay_job.json": Workload(
        [StaticJob("1", 0.0, 1, "delay10", walltime=100.0)], {"delay10": DelayProfile(10.0)}
    ),
}

OTHERWISE = {
    "multipart later reply": "a second part of a message is lost on the way here",
}
"""The conversations that end otherwise, and why."""


def verdicts() -> Iterator[dict[str, Any]]:
    """All scripted conversations, or those that are kept with the tests."""
    if not VERDICTS.is_dir():
        with (DATA / "verdicts.jsonl").open() as lines:
            yield from map(json.loads, lines)
        return
    for path in sorted(VERDICTS.glob("batsim-*.jsonl.xz")):
        with lzma.open(path) as lines:
            yield from map(json.loads, lines)


def simulator_for(row: dict[str, Any], data: list[bytes], corrected: bool) -> Simulator | None:
    """The embedded Batsim with the inputs that Batsim told of at the beginning; None if they are not at hand."""
    if len(data) < 3:
        arguments, workloads = ["-p", "platforms/small_platform.xml"], ["test_one_delay_job.json"]
    else:
        begins = FORMATS[row["fmt"]].decode(data[2]).events[0]
        assert isinstance(begins, SimulationBeginsEvent)
        arguments = list(begins.batsim_arguments)
        workloads = [Path(each.filename).name for each in begins.workloads]
    inputs = SHARED / "inputs" if SHARED.is_dir() else DATA / "simulations" / "inputs"
    platform = inputs / "platforms" / Path(arguments[arguments.index("-p") + 1]).name
    given = []
    for name in workloads:
        path = inputs / "workloads" / name
        if name in WORKLOADS:
            given.append(WORKLOADS[name])
        elif not path.exists() or name == "test_usage_trace.json":
            return None
        else:
            given.append(read_workload(path, corrected=corrected))
    if not platform.exists():
        return None
    energy = "--energy-host" in arguments
    events = [arguments[index + 1] for index, word in enumerate(arguments) if word == "--ee"]
    return Simulator(
        read_platform(platform, energy=energy),
        given,
        external_events=[read_external_events(inputs / "events" / Path(name).name) for name in events],
        energy=energy,
        corrected=corrected,
    )


def ending(row: dict[str, Any], *, corrected: bool = False) -> str | None:
    """How the embedded Batsim ends: "accepted", "deadlock", "endless" or "refused: why"; None if it cannot be told."""
    data = [base64.b64decode(each[1]) for each in row["messages"]]
    simulator = simulator_for(row, data, corrected)
    if simulator is None:
        return None
    try:
        hello = frames.decode_hello(data[1])
        decode = FORMATS[hello.format].decode
        message: Message | None = simulator.begin(hello.message)
        for reply in data[3::2]:
            if message is None:
                return "over before the last reply"
            message = simulator.turn(decode(reply))
    except DecodeError as error:
        return f"refused: {error}"
    except RuleViolation as violation:
        if violation.violations[0].severity == "deadlock":
            return "deadlock"
        return f"refused: {violation}"
    return "accepted" if message is None else f"endless: {message.events[:2]}"


def first_difference(row: dict[str, Any]) -> str | None:
    """Where the embedded Batsim first says something else than Batsim did, if it ever does."""
    data = [base64.b64decode(each[1]) for each in row["messages"]]
    simulator = simulator_for(row, data, False)
    if simulator is None or len(data) < 3:
        return None
    decode = FORMATS[row["fmt"]].decode
    try:
        message: Message | None = simulator.begin(frames.decode_hello(data[1]).message)
        for number in range(2, len(data), 2):
            if message is None:
                return f"message {number}: nothing"
            for text in differences(message, decode(data[number])):
                return f"message {number}: {text}"
            if number + 1 < len(data):
                message = simulator.turn(decode(data[number + 1]))
    except (DecodeError, RuleViolation):
        return None  # how it ends is another question
    return None


def main(*words: str) -> None:
    """Tell which conversations end otherwise."""
    equal = total = 0
    for row in verdicts():
        if words and not any(word in row["name"] for word in words):
            continue
        try:
            ours = ending(row)
        except Exception as error:
            ours = f"{type(error).__name__}: {error}"
        if ours is None:
            continue
        total += 1
        theirs = "refused" if row["verdict"] == "crashed" else row["verdict"]
        if ours.split(":")[0] == theirs:
            equal += 1
        else:
            print(
                f"{row['name']} [{row['fmt']}]: Batsim: {row['verdict']} {str(row['errors'])[:200]}\n"
                f"    ours: {ours[:300]}"
            )
    print(f"{equal} of {total} end alike")


if __name__ == "__main__":
    main(*sys.argv[1:])
