"""Run the tests of what works on every operating system: here, or as if this were Windows or macOS.

    python tools/elsewhere.py --here          # on the system that it is
    python tools/elsewhere.py --as windows    # on Linux, without what Windows lacks
    python tools/elsewhere.py --as macos

`tests/elsewhere` takes from Python what the other system lacks: modules, functions, signals, Unix sockets. Tests that
need these are skipped, with what they lack (`tests/lacks.py`). It shows what the library does without them. It cannot
show what else differs there: paths, compilers, the behaviour of processes. More arguments are those of pytest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    *("wire", "model", "builder", "conversation", "workloads", "results", "legacy", "_util", "edc", "simulator"),
    *(f"policies/test_{name}.py" for name in ("independent", "promised", "window_cases", "caps_that_fall")),
    *(f"policies/test_{name}_kept.py" for name in ("watts", "off")),
)
"""The folders of tests/ with the tests of what works everywhere."""

PYTEST = "import sys; sys.path[:] = [each for each in sys.path if each]; import pytest; sys.exit(pytest.main())"
"""pytest, with what is installed: `python -m pytest` would find the source tree first."""

OPTIONS = ("-q", "--engines=usual", "--servers=none", "--hypothesis-profile=quick", "-p", "no:cacheprovider")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them, and return pytest's exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--here", action="store_true", help="on this system")
    where.add_argument("--as", choices=("windows", "macos"), dest="system", help="without what this system lacks")
    parser.add_argument("--folders", nargs="+", default=FOLDERS, metavar="NAME", help="only these folders of tests/")
    options, more = parser.parse_known_args(arguments)
    environment = dict(os.environ)
    plugins: tuple[str, ...] = ()
    if options.system:
        path = os.pathsep.join([str(ROOT / "tests" / "elsewhere"), *filter(None, [environment.get("PYTHONPATH")])])
        environment |= {"BATPROTOCOL_SYSTEM": options.system, "PYTHONPATH": path}
        plugins = ("-p", "nobody") if options.system == "windows" else ()
    command = [sys.executable, "-c", PYTEST, *plugins, *OPTIONS, "-m", "not slow", *more]
    return subprocess.run(
        [*command, *(f"tests/{folder}" for folder in options.folders)], cwd=ROOT, env=environment, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
