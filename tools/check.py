"""A developer's two commands: the checks of a minute, and all checks.

    python tools/check.py                # lint, types, wording, generated files, quick tests
    python tools/check.py --all          # the same, with all tests
    python tools/check.py --no-tests     # without tests

It runs each step in turn, prints its time, and stops at the first that fails. `.ci/run` runs the same steps. The extra
`dev` has the packages for them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

STILL: dict[str, list[str]] = {
    "lint": ["-m", "ruff", "check", "."],
    "format": ["-m", "ruff", "format", "--check", "."],
    "types": ["-m", "mypy", "--strict", "batprotocol", "examples"],
    "types of the handbook's tools": ["-m", "mypy", "--strict", "tools/handbook", "tools/drawing"],
    "wording": ["tools/prose.py"],
    "generated files": ["tools/compile_schema.py", "--check"],
    "figures": ["tools/draw.py", "--check"],
    "the schema against that of the last release": [
        *("-m", "batprotocol", "schema", "--diff"),
        *("schema/released/0.1.0.bfbs", "generated/_schema/batprotocol.bfbs"),
    ],
}
"""The steps that run no code of the library: the arguments of Python for each."""

QUICK = [
    "-m",
    "pytest",
    "-q",
    "-n",
    "auto",
    "-m",
    "not slow",
    "--hypothesis-profile=quick",
    "--engines=usual",
]
ALL = ["-m", "pytest", "-q", "-n", "auto"]


def passed(name: str, arguments: Sequence[str]) -> bool:
    """Run a step, and print its result."""
    print(f"== {name}: python {' '.join(arguments)}", flush=True)
    began = time.monotonic()
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, check=False)
    print(f"   {'passed' if done.returncode == 0 else 'FAILED'} after {time.monotonic() - began:.1f} s", flush=True)
    return done.returncode == 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="all tests, not only the quick ones")
    which.add_argument("--no-tests", action="store_true", help="no tests")
    options = parser.parse_args(arguments)
    steps = dict(STILL)
    if options.all:
        steps["tests"] = ALL
    elif not options.no_tests:
        steps["quick tests"] = QUICK
    return 0 if all(passed(name, step) for name, step in steps.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
