"""Batsim is killed while a scheduler serves it: `batproto run` ends at once, and says how Batsim ended."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from processes import batproto

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

SCHEDULER = """
import os, signal
from pathlib import Path
from batprotocol.policies import FCFS, Policy

class Killer(Policy):
    turns = 0

    def __init__(self):
        super().__init__(FCFS())

    def decide(self):
        self.turns += 1
        if self.turns == {turn}:
            os.kill(int(Path({pid!r}).read_text()), signal.{signal})
        super().decide()
"""


@pytest.mark.parametrize("turn", [1, 2, 17])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_batsim_is_killed(tmp_path: Path, turn: int, number: signal.Signals) -> None:
    pid = tmp_path / "pid"
    (tmp_path / "killer.py").write_text(SCHEDULER.format(turn=turn, pid=str(pid), signal=number.name))
    simulate = f"{sys.executable} -m batprotocol simulate -w lublin:8?jobs=60 --endpoint"
    command = ("sh", "-c", f'echo $$ > {pid}; exec {simulate} "$0"', "{endpoint}")
    record = tmp_path / "run.tar"
    done = batproto("run", f"{tmp_path / 'killer.py'}:Killer", "--record", str(record), "--", *command)
    assert done.returncode == 128 + number
    assert done.stderr.splitlines()[-1] == f"batproto: sh was ended by {number.name} before the simulation was over"
    assert "Traceback" not in done.stderr
    check = batproto("check", str(record))  # the recording has the messages until then
    assert check.returncode == 0, check.stderr
