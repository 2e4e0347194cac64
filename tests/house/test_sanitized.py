"""Modules in C with AddressSanitizer and UndefinedBehaviorSanitizer, but for the engine, which is fuzzed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from embedded import needs_sanitizers
from support import ROOT

WITHOUT_ENGINE = True

TESTED = {
    "gym._play": (
        "gym/test_gym_worlds.py gym/test_gym_vectors.py",
        "(refuse or backfilling or equal or single or between)",
    ),
    "model._hosts": ("model/test_free_hosts.py", "compiled and (taking or left or refused)"),
    "policies._plan": ("policies/slurm/test_compiled_plans.py", "not many"),
    "policies._profile": (
        "policies/test_open_hosts.py policies/test_steps.py policies/test_walks.py",
        "timeline_does or error or as_in_python or amount_moves or plan_gives",
    ),
    "results._lines": ("results/test_native_lines.py", "equal or refused"),
    "simulator.actions._actions": (
        "simulator/test_actions.py",
        "(wrong or broken or told or demands or cancelled or both_kinds) and not python",
    ),
    "sites.logs.managers._sacct": ("sites/logs/test_sacct_native.py", "rare or any_log or calls or forgotten"),
    "simulator._copier": ("simulator/test_copying.py", "not next_to_nothing"),
}
"""The modules, and what tests them: files, and which tests of them."""


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["quick", pytest.param("ci", marks=pytest.mark.minutes)])
@needs_sanitizers
def test_they_are_clean(tmp_path: Path, profile: str) -> None:
    options = ["-q", "-p", "no:cacheprovider", f"--hypothesis-profile={profile}"]
    commands = [
        [*(str(ROOT / "tests" / file) for file in files.split()), *options, "-k", which]
        for files, which in TESTED.values()
    ]
    script = tmp_path / "script.py"
    script.write_text(f"import sys, pytest\nsys.exit(any([pytest.main(command) for command in {commands!r}]))")
    command = [sys.executable, "tools/sanitized.py", "--only", ",".join(TESTED), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Sanitizer" not in done.stderr
    assert done.stdout.count(" passed") == len(TESTED)
