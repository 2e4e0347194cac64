"""What needs no extra works without them: the command and its help, other protocols, what is not asked of a package."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support import ROOT

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

EXTRAS = (
    "yaml",
    "paho",
    "re2",
    "sqlalchemy",
    "psycopg",
    "distributed",
    "cloudpickle",
    "matplotlib",
    "redis",
    "hypothesis",
)
GOLDEN = ROOT / "tests" / "data" / "goldens" / "execute_job-simple.bin"

PROGRAM = f"""
import sys
for name in {EXTRAS}:
    sys.modules[name] = None
from batprotocol.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--help"], 0, "Usage: batproto"),
        (["rules"], 0, "frame.init"),
        (["rules", "task.open"], 0, "task.open"),
        (["dump", str(GOLDEN)], 0, "ExecuteJobEvent"),
        (["fast", "--help"], 0, "check"),
        (["grid", "--help"], 0, "simulate"),
        (["grid", "stat"], 1, "pip install 'batprotocol[campaigns]'"),
        (["grid", "simulate"], 1, "pip install 'batprotocol[campaigns]'"),
    ],
)
def test_commands_without_extras(arguments: list[str], status: int, said: str) -> None:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
