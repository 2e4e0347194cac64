"""Links, pools, worlds and copier in C, with AddressSanitizer and UndefinedBehaviorSanitizer; the engine is fuzzed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from embedded import needs_sanitizers
from support import ROOT

from batprotocol._util.sockets.link import LINKS
from batprotocol.model.free_hosts.hosts import Hosts, Pool

WITHOUT_ENGINE = True

TESTED = {
    "gym.worlds._play": ("learning/test_gym_worlds.py", "refuse or backfilling or equal"),
    "hosts._pool": (
        "hosts/test_hosts.py",
        "(taking_and_giving or refused or arguments or many_hosts or the_highest) and not Slow",
    ),
    "simulator.actions._actions": (
        "simulator/test_actions.py",
        "(wrong or broken or told or demands or cancelled or both_kinds) and not python",
    ),
    "simulator.copying._copier": ("simulator/test_copying.py", "not next_to_nothing"),
    "sockets._link": (
        "sockets/test_links.py",
        "whatever_is_said or whatever_is_sent or large or shorten or after_the_end or arguments",
    ),
}
"""The modules, and what tests them: a file, and which tests of it."""


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["quick", pytest.param("ci", marks=pytest.mark.minutes)])
@needs_sanitizers
@pytest.mark.skipif("native" not in LINKS, reason="links were not compiled, or find no libzmq")
@pytest.mark.skipif(
    issubclass(Hosts, Pool), reason="pools were not compiled, so Hosts have the state that is in Python"
)
def test_they_are_clean(tmp_path: Path, profile: str) -> None:
    options = ["-q", "-p", "no:cacheprovider", f"--hypothesis-profile={profile}"]
    commands = [[str(ROOT / "tests" / file), *options, "-k", which] for file, which in TESTED.values()]
    script = tmp_path / "script.py"
    script.write_text(f"import sys, pytest\nsys.exit(any([pytest.main(command) for command in {commands!r}]))")
    command = [sys.executable, "tools/sanitized.py", "--only", ",".join(TESTED), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Sanitizer" not in done.stderr
    assert done.stdout.count(" passed") == len(TESTED)
