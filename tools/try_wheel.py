"""Try a wheel as a person would: install it in a new environment without a compiler, and type the first command.

    python tools/try_wheel.py dist/*.whl     # install it, and print the seconds of each step
    python tools/try_wheel.py                # try what this Python has installed

The command is that of the README. It fails if a module in C is missing, or if the command needs a compiler. `--within
SECONDS` also fails if the steps take longer; by default, no time is too long, as it depends on machine and network.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "easy_backfilling.py"
CHECK = """import importlib

import batprotocol
from batprotocol.wire.binary import ENGINE

print(f"from {batprotocol.__path__[0]}, engine: {ENGINE}")
assert ENGINE == "native", ENGINE
NAMES = (
    "gym._play model._hosts policies._plan policies._profile results._lines simulator._copier "
    "sites.logs.managers._sacct"
)
for name in NAMES.split():
    try:
        importlib.import_module(f"batprotocol.{name}")
    except ImportError as error:
        print(f"without batprotocol.{name}: {error}")
"""


def run(*command: str | Path, place: str, output: bool = False) -> str:
    """Run a command where no compiler is on the PATH, or end with its exit status."""
    folders = [str(Path(command[0]).parent), "/nowhere"]
    environment = {"PATH": os.pathsep.join(folders), "CC": "false", "PYTHONUTF8": "1"}
    kept = ("HOME", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LD_LIBRARY_PATH")
    environment |= {name: value for name, value in os.environ.items() if name in kept or name.startswith("PIP_")}
    print(f"== {' '.join(map(str, command))[:160]}", flush=True)
    done = subprocess.run(command, cwd=place, env=environment, check=False, text=True, capture_output=output)
    if done.returncode:
        print(done.stderr or "")
        sys.exit(done.returncode)
    return (done.stdout or "") + (done.stderr or "")


def processor_seconds() -> float:
    """The time of the processor that the programs have taken which were started here, and have ended."""
    times = os.times()
    return times.children_user + times.children_system


def import_seconds(python: Path, place: str, module: str = "batprotocol") -> float:
    """The seconds in which a module is imported, as `-X importtime` counts them; the least of five."""
    pattern = re.compile(rf"(?m)^import time:\s+\d+ \|\s+(\d+) \| {re.escape(module)}$")
    printed = [run(python, "-X", "importtime", "-c", f"import {module}", place=place, output=True) for _ in range(5)]
    return min(int(found[1]) for each in printed if (found := pattern.search(each))) / 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    """Try it, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", nargs="?", type=Path, help="the wheel; by default, what is installed")
    parser.add_argument("--within", type=float, default=float("inf"), metavar="SECONDS", help="fail if it takes longer")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="try-wheel-") as place:
        python = Path(sys.executable)
        seconds, before = 0.0, processor_seconds()
        if options.wheel:
            venv.create(Path(place, "venv"), with_pip=True)
            python = Path(place, "venv", "Scripts" if sys.platform == "win32" else "bin", "python")
            began, before = time.monotonic(), processor_seconds()
            wheel = options.wheel.resolve()
            run(
                python,
                "-m",
                "pip",
                "install",
                "-q",
                "--disable-pip-version-check",
                "--only-binary=:all:",
                wheel,
                place=place,
            )
            seconds += time.monotonic() - began
            print(f"   pip install: {seconds:.1f} s")
        began = time.monotonic()
        shown = run(python, "-m", "batprotocol", "simulate", f"{EXAMPLE}:EASY", place=place, output=True)
        first = time.monotonic() - began
        seconds += first
        assert "250 (240 succeeded, 4 failed, 6 reached their walltime)" in shown, shown
        used = processor_seconds() - before
        print(f"   the first command: {first:.1f} s; both: {seconds:.1f} s, {used:.1f} s of the processor")
        run(python, "-c", CHECK, place=place)
        for module in ("batprotocol", "batprotocol.edc", "batprotocol.simulator"):
            print(f"   import {module}: {import_seconds(python, place, module) * 1e3:.0f} ms")
    if seconds > options.within:
        print(f"that is longer than {options.within:g} s")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
