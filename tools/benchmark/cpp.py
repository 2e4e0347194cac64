"""The native engine against flatbuffers' own objects in C++, which Batsim's library stands on.

`objects.cpp` is compiled with the code that flatc generates from the schema. It reads and writes the six messages in a
process of its own, in turn with the engine. Reading is verifying and `UnPack`, writing is `Pack`. The times are
processor time. It needs a C++ compiler, flatc and flatbuffers' headers (Debian: `g++ flatbuffers-compiler
libflatbuffers-dev`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmark.competitors import GENERATED, engine
from benchmark.tables import parser_for, table
from benchmark.timing import Call, measure
from benchmark.workloads import WORKLOADS

__all__ = ["main"]

HERE = Path(__file__).resolve().parent
SCHEMA = HERE.parent.parent / "schema" / "batprotocol.fbs"
FULL, QUICK = (60, 2_000_000), (15, 1_000_000)
"""How many rounds there are, and how many nanoseconds a batch takes."""
DIRECTIONS = ("decode", "encode")


def compiled(folder: Path) -> Path:
    """The program, or `SystemExit` that says what is missing."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++") or "c++"
    program = folder / "objects"
    generate = ["flatc", "--cpp", "--gen-object-api", "-o", str(folder), str(SCHEMA)]
    build = [compiler, "-std=c++17", "-O2", "-DNDEBUG", f"-I{folder}", str(HERE / "objects.cpp"), "-o", str(program)]
    for command in (generate, build):
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError):
            needed = "flatc and a C++ compiler, with flatbuffers' headers (libflatbuffers-dev)"
            raise SystemExit(f"bench: --cpp needs {needed}") from None
    return program


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


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__, quick="fewer rounds")
    given = parser.parse_args(arguments)
    native = engine("native")
    rows = [["ns per message", "decode", "C++", "ratio", "encode", "C++", "ratio"]]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.bin") for number in range(len(WORKLOADS))]
        data = [bytes(GENERATED.encode(workload.message)) for workload in WORKLOADS]
        for file, each in zip(files, data, strict=True):
            file.write_bytes(each)
        command = [str(compiled(Path(folder))), *map(str, files)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
            for number, workload in enumerate(WORKLOADS):
                calls: dict[tuple[str, str], Call | RemoteCall] = {
                    ("native", "decode"): Call(native.decode, data[number], native.prepare),
                    ("native", "encode"): Call(native.encode, workload.message, native.prepare),
                    **{("C++", direction): RemoteCall(program, f"{direction} {number}") for direction in DIRECTIONS},
                }
                times = measure(calls, *(QUICK if given.quick else FULL))
                row = [workload.name]
                for direction in DIRECTIONS:
                    own, other = times["native", direction], times["C++", direction]
                    row += [f"{own:,.0f}", f"{other:,.0f}", f"{own / other:.2f}"]
                rows.append(row)
    print(f"The native engine, and flatbuffers' objects in C++:\n\n{table(rows, given.markdown)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
