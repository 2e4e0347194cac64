"""A developer's two commands: what can be told in a minute, and everything.

    python tools/check.py                # lint, types, drift, quick tests
    python tools/check.py --all          # the same, with all tests
    python tools/check.py --no-tests     # lint, types and drift only

It runs each step in turn, says how long it took, and stops at the first that fails. `.ci/run` runs the same steps. What
the steps need is in the extra `dev`.
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
    "types of what makes the handbook": ["-m", "mypy", "--strict", "tools/handbook", "tools/drawing"],
    "generated files": ["tools/compile_schema.py", "--check"],
    "figures": ["tools/draw.py", "--check"],
    "the schema against that of the last release": [
        *("-m", "batprotocol", "schema", "--diff"),
        *("schema/released/0.1.0.bfbs", "generated/_schema/batprotocol.bfbs"),
    ],
}
"""What needs no running: the arguments of Python for each step."""

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
    """Run a step, and tell."""
    print(f"== {name}: python {' '.join(arguments)}", flush=True)
    began = time.monotonic()
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, check=False)
    print(f"   {'passed' if done.returncode == 0 else 'FAILED'} after {time.monotonic() - began:.1f} s", flush=True)
    return done.returncode == 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="all tests, not only the quick ones")
    which.add_argument("--no-tests", action="store_true", help="lint, types and drift only")
    options = parser.parse_args(arguments)
    steps = dict(STILL)
    if options.all:
        steps["tests"] = ALL
    elif not options.no_tests:
        steps["quick tests"] = QUICK
    return 0 if all(passed(name, step) for name, step in steps.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
