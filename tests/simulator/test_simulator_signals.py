"""Signals end what goes on for ever, compiled or not: simulations, judgements, and readers of what peers send."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import ENVIRONMENT
from endless import ENDLESS

import batprotocol

WITHOUT_ENGINE = True

PACKAGE = str(Path(batprotocol.__file__).parent.parent)
"""Where the package is that is tested: what is installed, if it is."""
HERE = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([PACKAGE, str(Path(__file__).parent.parent)])}
SIGNALS = ("SIGINT", "SIGTERM", "SIGALRM")
_LONG = 60
"""Seconds, after which it is surely not ended."""


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(3))
def test_signals_are_heard(turn: int) -> None:
    """Each of these with one of the signals."""
    names = list(ENDLESS)[turn::3]
    program = [sys.executable, "-m", "endless", str(int(getattr(signal, SIGNALS[turn]))), *names]
    result = subprocess.run(program, env=HERE, capture_output=True, text=True, timeout=_LONG, check=False)
    assert result.stdout.splitlines() == [f"{name}: interrupted" for name in names], result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_command(tmp_path: Path, number: signal.Signals) -> None:
    workload = {
        "nb_res": 1,
        "jobs": [{"id": "1", "subtime": 0, "res": 1, "profile": "s"}],
        "profiles": {
            "s": {"type": "SequentialCompositionProfile", "seq": ["d"], "repeat": 2147483647},
            "d": {"type": "DelayProfile", "delay": 1},
        },
    }
    (tmp_path / "workload.json").write_text(json.dumps(workload))
    program = [sys.executable, "-m", "batprotocol", "simulate", "-w", "workload.json", "-o", "out"]
    with subprocess.Popen(program, env=HERE, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            while not list(tmp_path.glob("out/*")):  # from then on, it simulates
                time.sleep(0.01)
            time.sleep(0.3)
            process.send_signal(number)
            _, errors = process.communicate(timeout=_LONG)
        finally:
            process.kill()
    part = b"batproto: out/: the simulation was interrupted, and the files have the jobs that had ended until then"
    assert (process.returncode, errors.strip()) == (128 + number, part)
