"""The native engine and the schedulers of `examples/` beside C++: flatbuffers' own objects, and the same schedulers.

`objects.cpp` is compiled with the code that flatc generates from the schema. It reads and writes the six messages in a
process of its own, in turn with the engine. Reading is verifying and `UnPack`, writing is `Pack`. The times are
processor time.

`schedulers.cpp` has FCFS and EASY, which decide as those of `examples/`. They get the messages of the same simulations
over a socket and, as a library, in the process of a host; so do the examples, with this build and any other one. All
are pinned to one core and take turns, round after round. The figures are medians.

It needs a C++ compiler, flatc, and the headers of flatbuffers and ZeroMQ (Debian: `g++ flatbuffers-compiler
libflatbuffers-dev libzmq3-dev`).
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

from batprotocol.edc.commands.scheduler import load
from batprotocol.model import Message
from batprotocol.simulator import Workload, named_workload
from benchmark import in_process, turns
from benchmark.round_trip import pin
from benchmark.tables import parser_for, table
from benchmark.timing import Call, measure
from benchmark.workloads import WORKLOADS

__all__ = ["CASES", "Case", "Library", "Program", "compiled", "main", "played", "scheduled"]

HERE = Path(__file__).resolve().parent
SCHEMA = HERE.parent.parent / "schema" / "batprotocol.fbs"
EXAMPLES: Final = HERE.parent.parent / "examples"
FULL, QUICK = (60, 2_000_000), (15, 1_000_000)
"""How many rounds there are, and how many nanoseconds a batch takes."""
DIRECTIONS = ("decode", "encode")
OVER_SOCKET: Final = ("-DOVER_SOCKET", "-lzmq")
AS_LIBRARY: Final = ("-shared", "-fPIC")


def compiled(folder: Path, name: str, *options: str) -> Path:
    """A program or library of the source `name`, or `SystemExit` that says what is missing."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++") or "c++"
    program = folder / (name + "".join(options))
    generate = ["flatc", "--cpp", "--gen-object-api", "-o", str(folder), str(SCHEMA)]
    build = [compiler, "-std=c++17", "-O2", "-DNDEBUG", f"-I{folder}", str(HERE / f"{name}.cpp"), "-o", str(program)]
    for command in (generate, [*build, *options]):
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError):
            needed = "flatc and a C++ compiler, with the headers of flatbuffers and ZeroMQ"
            raise SystemExit(f"bench: --cpp needs {needed} (libflatbuffers-dev, libzmq3-dev)") from None
    return program


# Messages: the engine beside flatbuffers' objects


@dataclass(frozen=True)
class RemoteCall:
    """A call of the program: it reads or writes one of its messages."""

    program: subprocess.Popen[str]
    order: str

    def time(self, times: int) -> float:
        """The mean time of `times` calls, in nanoseconds."""
        assert self.program.stdin
        assert self.program.stdout
        self.program.stdin.write(f"{self.order} {times}\n")
        self.program.stdin.flush()
        return int(self.program.stdout.readline().split()[0]) / times


def objects(quick: bool) -> list[list[str]]:
    """The rows of the table of messages."""
    # It needs packages that turns do without.
    from benchmark.competitors import GENERATED, engine

    native = engine("native")
    rows = [["ns per message", "decode", "C++", "ratio", "encode", "C++", "ratio"]]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.bin") for number in range(len(WORKLOADS))]
        data = [bytes(GENERATED.encode(workload.message)) for workload in WORKLOADS]
        for file, each in zip(files, data, strict=True):
            file.write_bytes(each)
        command = [str(compiled(Path(folder), "objects")), *map(str, files)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
            for number, workload in enumerate(WORKLOADS):
                calls: dict[tuple[str, str], Call | RemoteCall] = {
                    ("native", "decode"): Call(native.decode, data[number], native.prepare),
                    ("native", "encode"): Call(native.encode, workload.message, native.prepare),
                    **{("C++", direction): RemoteCall(program, f"{direction} {number}") for direction in DIRECTIONS},
                }
                times = measure(calls, *(QUICK if quick else FULL))
                row = [workload.name]
                for direction in DIRECTIONS:
                    own, other = times["native", direction], times["C++", direction]
                    row += [f"{own:,.0f}", f"{other:,.0f}", f"{own / other:.2f}"]
                rows.append(row)
    return rows


# Turns: the examples beside the same schedulers


class Case(NamedTuple):
    """A simulation of a scheduler, by its name in the table, and the scheduler: its name in C++, and its example."""

    name: str
    scheduler: str
    example: str
    workload: str
    """A name of `named_workload`, whose jobs may wait; "" for `turns.delays`."""

    def said(self, jobs: int) -> tuple[list[Message], list[Message]]:
        """The messages of Batsim, and the hello and the replies of the example."""
        given: int | Workload = named_workload(f"{self.workload}&jobs={jobs}") if self.workload else jobs
        return turns.recorded(load(self.example)(), given)


CASES: Final = (
    Case("FCFS", "FCFS", f"{EXAMPLES}/fcfs.py:FCFS", ""),
    Case("EASY", "EASY", f"{EXAMPLES}/easy_backfilling.py:EASY", ""),
    Case("EASY, jobs that wait", "EASY", f"{EXAMPLES}/easy_backfilling.py:EASY", "lublin:64?offered-load=0.9"),
)


TITLES: Final = {
    "Turns of the examples, and of the same schedulers in C++:": "processor",
    "The same turns, by the clock on the wall:": "wall",
}
"""The tables, and the part of `in_process.Spent` that each has."""


class Library(NamedTuple):
    """A library that Batsim loads, and its initialization data."""

    path: str
    init: str


class Program(NamedTuple):
    """The words of a program that serves a scheduler, without its endpoint."""

    words: tuple[str, ...]


_ASK: Final = """
import sys
from batprotocol.edc.embedded.options import carried, library
print(library(), carried(sys.argv[1]), sep="\\n")
"""


def manners(python: str, case: Case) -> tuple[Library, Program]:
    """The example of a case, by the build of this Python."""
    ask = [python, "-c", _ASK, case.example]
    answer = subprocess.run(ask, check=True, stdout=subprocess.PIPE, text=True, cwd="/").stdout
    return Library(*answer.splitlines()), Program((python, "-c", in_process.SERVE, case.example))


def scheduled(folder: Path) -> Mapping[str, tuple[Library, Program]]:
    """The schedulers in C++, by their names."""
    library = compiled(folder, "schedulers", *AS_LIBRARY)
    program = compiled(folder, "schedulers", *OVER_SOCKET)
    return {
        case.scheduler: (Library(str(library), case.scheduler), Program((str(program), case.scheduler)))
        for case in CASES
    }


def played(
    host: str, folder: str, manner: Library | Program, said: Sequence[bytes]
) -> tuple[in_process.Spent, list[Message]]:
    """Play messages to a scheduler: what it costs, and its replies after the hello."""
    if isinstance(manner, Program):
        replies: list[bytes] = []
        spent = in_process.served(folder, manner.words, said, replies)
    else:
        spent = in_process.Spent(*map(float, in_process.hosted(host, folder, manner, said, "--clock")[:2]))
        replies = in_process.unpacked(Path(folder, "replies").read_bytes())
    return spent, [Message.from_binary(reply) for reply in replies[1:]]


def compared(builds: Mapping[str, str], jobs: int, rounds: int) -> list[list[str]]:
    """The rows of the table of turns.

    Args:
        builds: the Pythons that have a build installed, by the names of the builds.
        jobs: the number of jobs of a simulation.
        rounds: how often each simulation is played to each scheduler.
    """
    names = ["C++", *builds]
    rows = [["µs for a turn", *names]]
    with tempfile.TemporaryDirectory() as folder:
        host, in_cpp = in_process.compiled(folder), scheduled(Path(folder))
        for case in CASES:
            messages, replies = case.said(jobs)
            said = [message.to_binary() for message in messages]
            competitors = [in_cpp[case.scheduler], *(manners(python, case) for python in builds.values())]
            for place, number in (("inside Batsim", 0), ("over the socket", 1)):
                spent: dict[str, list[in_process.Spent]] = {name: [] for name in names}
                for _ in range(rounds):
                    for name, both in zip(names, competitors, strict=True):
                        cost, decided = played(host, folder, both[number], said)
                        if decided != replies[1:]:
                            raise SystemExit(f"bench: {case.name}, {place}, {name}: other decisions than the example's")
                        spent[name].append(cost)
                for kind in in_process.Spent._fields:
                    costs = [
                        statistics.median(getattr(each, kind) for each in spent[name]) / len(said) / 1000
                        for name in names
                    ]
                    others = [f"{cost:.1f} ({cost / costs[0]:.2f}x)" for cost in costs[1:]]
                    rows.append([f"{case.name}, {place}, {kind}", f"{costs[0]:.1f}", *others])
                print(f"measured: {case.name}, {place}", file=sys.stderr)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__, quick="fewer rounds, and 2,000 jobs instead of 20,000")
    parser.add_argument("--turns", action="store_true", help="measure turns alone")
    parser.add_argument("--rounds", type=int, default=5, help="how often each simulation is played; 5 by default")
    parser.add_argument(
        "--build",
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help="also measure turns of the build that this Python has (may be repeated)",
    )
    given = parser.parse_args(arguments)
    if not given.turns:
        rows = objects(given.quick)
        print(f"The native engine, and flatbuffers' objects in C++:\n\n{table(rows, given.markdown)}\n")
    pin()
    others = dict(each.split("=", 1) for each in given.build)
    head, *rows = compared({**others, "batprotocol": sys.executable}, 2_000 if given.quick else 20_000, given.rounds)
    for title, kind in TITLES.items():
        found = [[row[0].removesuffix(f", {kind}"), *row[1:]] for row in rows if row[0].endswith(f", {kind}")]
        print(f"{title}\n\n{table([head, *found], given.markdown)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
