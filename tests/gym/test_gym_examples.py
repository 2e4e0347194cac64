"""The examples of learning run, on a few jobs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

WITHOUT_ENGINE = True

LOG = ROOT / "examples" / "lublin.swf.gz"


@pytest.mark.slow
def test_looking_ahead_is_better_than_its_base() -> None:
    command = [sys.executable, str(ROOT / "examples" / "learning" / "lookahead.py"), str(LOG), "--starts", "100"]
    means = []
    for choices in ("1", "4"):
        options = ["--jobs", "128", "--choices", choices]
        done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=True)
        means.append(float(done.stdout.split()[-1]))
    assert 1 < means[1] < means[0]


@pytest.mark.minutes
def test_training_begins(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    script = ROOT / "examples" / "learning" / "train_ppo.py"
    log = ROOT.parent / "shared" / "policies" / "logs" / "lublin_256.swf.gz"
    command = [sys.executable, str(script), str(log), "--seconds", "20", "--every", "1", "--envs", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "held-out windows" in done.stdout
    assert (tmp_path / "curve.jsonl").read_text().count("\n") >= 2
