"""Recorded simulations played back: what the embedded Batsim says to the recorded replies, beside what Batsim said.

As a program it plays runs back and tells where they first differ: `python tests/playback.py [-v] [WORD ...]`.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parent))
from support import CORPUS, DATA, SHARED, Recorded, files_of, read_run

from batprotocol.errors import RuleViolation
from batprotocol.model import Doubles, Message
from batprotocol.results import Observer
from batprotocol.simulator.batsim.simulator import Simulator
from batprotocol.wire import FORMATS, frames
from batprotocol.workloads.events import read_external_events
from batprotocol.workloads.platform_files import read_platform
from batprotocol.workloads.workload import Usage
from batprotocol.workloads.workload_files import read_traces, read_workload_json

RUNS = SHARED / "runs"
CLOSE = 1e-9

_IGNORED = {"batsim_arguments", "batsim_execution_context_json", "filename", "batsim_commit"}
_ORDERLESS = {"properties", "zone_properties", "profiles"}


@dataclass(frozen=True)
class Run:
    """A recorded run: how Batsim was run, and what both sides said, which is decoded when it is asked for."""

    name: str
    info: dict[str, Any]
    inputs: Path
    recorded: tuple[Recorded, ...]
    files: dict[str, str]

    @cached_property
    def init(self) -> str:
        return frames.decode_init(self.recorded[0].data)

    @cached_property
    def hello(self) -> frames.Hello:
        return frames.decode_hello(self.recorded[1].data)

    @cached_property
    def told(self) -> list[Message]:
        return [FORMATS[self.hello.format].decode(message.data) for message in self.recorded[2::2]]

    @cached_property
    def replies(self) -> list[Message]:
        return [FORMATS[self.hello.format].decode(message.data) for message in self.recorded[3::2]]

    @property
    def is_comparable(self) -> bool:
        """Whether the embedded Batsim can be expected to do it: no SMPI, no abort, all inputs at hand."""
        ends = self.info["batsim_rc"] in (0, 1) or "jobs are running on machine" in str(self.info.get("batsim_errors"))
        return ends and "smpi" not in self.name and self._has_traces()

    def _has_traces(self) -> bool:
        for name in self.workloads:
            path = self.inputs / "workloads" / f"{name}.json"
            profiles = json.loads(path.read_text())["profiles"].values() if path.exists() else [{"filename": "x"}]
            if not all((path.parent / each["filename"]).exists() for each in profiles if "filename" in each):
                return False
        return True

    def _events(self, name: str) -> Path:
        path = self.inputs / "events" / name
        return path if path.exists() else path.with_suffix("")

    @property
    def workloads(self) -> list[str]:
        given = self.info["workload"]
        return [given] if isinstance(given, str) else list(given)

    def simulator(self, *, corrected: bool = False, observer: Observer | None = None) -> Simulator:
        """The embedded Batsim with the inputs and options of the run."""
        arguments = self.info["batsim_args"]
        roles = [(arguments[i + 1], arguments[i + 2]) for i, word in enumerate(arguments) if word == "-r"]
        mmax = int(arguments[arguments.index("--mmax") + 1]) if "--mmax" in arguments else None
        paths = [self.inputs / "workloads" / f"{name}.json" for name in self.workloads]
        if "--mmax-workload" in arguments:
            mmax = max(json.loads(path.read_text())["nb_res"] for path in paths)
        energy = "--energy-host" in arguments
        if "external_events" in self.info:
            lists = list(self.info["external_events"])
        else:
            command = self.info["batsim_command"]
            lists = [
                name.split("/")[-1]
                for word, name in pairwise(command)
                if word == "--external-events" or name.endswith(".txt")
            ]
        return Simulator(
            read_platform(
                self.inputs / "platforms" / f"{self.info['platform']}.xml", roles=roles, mmax=mmax, energy=energy
            ),
            [read_workload_json(path, name=f"w{number}", corrected=corrected) for number, path in enumerate(paths)],
            external_events=[read_external_events(self._events(name), corrected=corrected) for name in lists],
            energy=energy,
            corrected=corrected,
            observer=observer,
            init=self.init,
            traces=self._registered_trace,
        )

    def _registered_trace(self, path: str, *, corrected: bool) -> tuple[tuple[Usage, ...], ...]:
        """The trace that was registered by its name on the recorder's machine; it is kept beside the workloads."""
        folder = (self.inputs / "workloads" / self.workloads[0]).parent
        return read_traces(folder / Path(path).name, corrected=corrected)


def recorded_runs() -> tuple[Path, ...]:
    """The archives: all of them where they are present, else the few kept with the tests."""
    if RUNS.is_dir():
        return (*sorted(RUNS.glob("*.tar.xz")), *sorted(CORPUS.glob("*.tar.xz")))
    return tuple(sorted((DATA / "simulations").glob("*.tar.xz")))


@cache
def read(archive: Path) -> Run:
    """Read an archive."""
    if not RUNS.is_dir():
        return read_from(archive, DATA / "simulations" / "inputs")
    return read_from(archive, RUNS / "inputs" if archive.parent == RUNS else SHARED / "inputs")


def read_from(archive: Path, inputs: Path) -> Run:
    """Read an archive whose inputs are in this folder."""
    texts = (".json", ".csv", ".txt")
    files = {name: data for name, data in files_of(archive).items() if name.endswith(texts) and "twin" not in name}
    return Run(
        archive.name.removesuffix(".tar.xz"),
        json.loads(files.pop("run.json")),
        inputs,
        read_run(archive),
        {name: data.decode() for name, data in files.items()},
    )


def differences(ours: Any, theirs: Any, path: str = "", close: float = CLOSE) -> Iterator[str]:
    """Where two messages differ, times and amounts by more than rounding, which is a part of them."""
    if isinstance(ours, float) and isinstance(theirs, float | int):
        if not math.isclose(ours, theirs, rel_tol=close, abs_tol=close / 100) and not (
            ours != ours and theirs != theirs
        ):
            yield f"{path}: {ours!r}, and Batsim {theirs!r}"
    elif isinstance(ours, tuple | Doubles) and isinstance(theirs, tuple | Doubles):
        if len(ours) != len(theirs):
            yield f"{path}: {_short(ours)}, and Batsim {_short(theirs)}"
            return
        for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(mine, other, f"{path}[{index}]", close)
    elif isinstance(ours, msgspec.Struct) and type(ours) is type(theirs):
        for name in ours.__struct_fields__:
            mine, other = getattr(ours, name), getattr(theirs, name)
            if name in _IGNORED and not isinstance(ours, type(None)):
                continue
            if name in _ORDERLESS and mine and other:
                mine, other = sorted(mine, key=repr), sorted(other, key=repr)
                mine, other = tuple(mine), tuple(other)
            yield from differences(mine, other, f"{path}.{name}" if path else name, close)
    elif ours != theirs:
        yield f"{path}: {_short(ours)}, and Batsim {_short(theirs)}"


def _short(value: Any) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
        return (
            "["
            + ", ".join(
                f"{type(each).__name__.removesuffix('Event')}"
                f"({getattr(each, 'job_id', getattr(each, 'id', getattr(each, 'call_me_later_id', '')))}@"
                f"{getattr(each, 'timestamp', 0):.9f})"
                for each in value
            )
            + "]"
        )
    return repr(value)[:200]


def play(run: Run, simulator: Simulator, close: float = CLOSE) -> Iterator[str]:
    """Play the recorded replies to a simulator: how what it says differs, up to the first message that does."""
    try:
        message: Message | None = simulator.begin(run.hello.message)
        for number, (told, reply) in enumerate(zip(run.told, run.replies, strict=False)):
            if message is None:
                yield f"message {2 + 2 * number}: nothing, and Batsim {_short(told.events)}"
                return
            found = [f"message {2 + 2 * number}: {text}" for text in differences(message, told, close=close)]
            yield from found
            if found:
                return
            message = simulator.turn(reply)
    except RuleViolation as violation:
        (first, *_) = violation.violations
        if first.severity != {0: "", 1: "deadlock"}.get(run.info["batsim_rc"], "error"):
            yield str(violation)
        elif first.message != 1 + 2 * len(run.replies):
            yield f"{violation}, and Batsim goes on to message {1 + 2 * len(run.replies)}"
        return
    if message is not None and len(run.told) == len(run.replies):
        yield f"the end: {_short(message.events)}, and Batsim nothing"
    if run.info["batsim_rc"] != 0:
        yield "the end: no deadlock" if run.info["batsim_rc"] == 1 else "the end: Batsim refused the last reply"


def main(*words: str) -> None:
    """Play runs back, and tell where they differ."""
    verbose = "-v" in words
    corrected = "--corrected" in words
    words = tuple(word for word in words if not word.startswith("-"))
    equal = compared = 0
    for archive in recorded_runs():
        if words and not any(word in archive.name for word in words):
            continue
        run = read(archive)
        if not run.is_comparable:
            continue
        compared += 1
        try:
            found = list(play(run, run.simulator(corrected=corrected)))
        except Exception as error:
            if verbose:
                raise
            found = [f"{type(error).__name__}: {error}"]
        equal += not found
        if found:
            print(f"{run.name}: {len(found)}")
            for text in found[:6]:
                print(f"    {text[:700]}")
    print(f"{equal} of {compared} runs are equal")


if __name__ == "__main__":
    main(*sys.argv[1:])
