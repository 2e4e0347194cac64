#!/usr/bin/env python3
"""Run the tests of schedulers inside Batsim with several Pythons, each in a new environment or as it is installed.

    python tools/interpreters.py ~/.pyenv/versions/3.*/bin/python --installed /usr/bin/python3

For each Python, it installs a clone of this repository with its tests, in a folder whose name has spaces and other
characters. It uses a Python after `--installed` without an environment, with the packages that pip installs for its
user. It needs git, a C compiler and a network for pip. Options for pytest come last, after `--`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests/edc/test_embedded.py", "tests/edc/test_embedded_faults.py", "tests/edc/test_in_process_command.py")
FOLDER = "ein Ordner für «alles»"


def run(command: Sequence[str | Path], folder: Path, environment: dict[str, str], shown: bool = False) -> int:
    """Run a command, and show its output if `shown` is set, or if it fails."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=environment,
        stdout=None if shown else subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode and not shown:
        sys.stdout.buffer.write(done.stdout)
    return done.returncode


def tested(python: str, in_environment: bool, options: Sequence[str]) -> bool:
    """Whether all tests pass with a Python."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, FOLDER)
        clone = folder / "batprotocol"
        folder.mkdir()
        if run(["git", "clone", "-q", ROOT, clone], folder, environment):
            return False
        if (ROOT.parent / "shared").is_dir():
            os.symlink(ROOT.parent / "shared", folder / "shared")
        pip: list[str | Path] = [sys.executable, "-m", "pip"]
        where: list[str] = []
        if in_environment:
            if run([python, "-m", "venv", "--without-pip", folder / "venv"], folder, environment):
                return False
            python = str(folder / "venv" / "bin" / "python")
        else:
            environment["PYTHONUSERBASE"] = str(folder / "user")
            where = ["--user", "--break-system-packages"]
        if run([*pip, "--python", python, "install", "-q", *where, ".[test]"], clone, environment):
            return False
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--engines=usual", *TESTS, *options]
        return run(command, clone, environment, shown=True) == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python", nargs="*", help="an interpreter to test in a new environment")
    parser.add_argument(
        "--installed", action="append", default=[], metavar="PYTHON", help="an interpreter to test as it is installed"
    )
    arguments = sys.argv[1:]
    own = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:own])
    failed = []
    for python, in_environment in [
        *((each, True) for each in given.python),
        *((each, False) for each in given.installed),
    ]:
        version = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        print(f"== {version}, {python}{'' if in_environment else ', as it is installed'}", flush=True)
        if not tested(python, in_environment, arguments[own + 1 :]):
            failed.append(python)
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
