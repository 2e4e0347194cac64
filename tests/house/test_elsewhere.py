"""Other operating systems: each module can be imported there, the core works, and the rest is refused with a sentence.

Processes run without what Windows or macOS lacks (`tests/elsewhere`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

WITHOUT_ENGINE = True

IMPORTS = """
import contextlib, importlib, pkgutil, sys
import batprotocol
from batprotocol.errors import PackageMissing

without = set(sys.argv[1:])
names = [each.name for each in pkgutil.walk_packages(batprotocol.__path__, "batprotocol.")]
for name in names:
    if not name.endswith("__main__") and name not in without:
        with contextlib.suppress(PackageMissing):  # of an extra
            importlib.import_module(name)
print(len(names))
"""

# Dask for Linux needs the module `resource`, and mcp for Linux `fcntl`, which those for Windows do not.
WITHOUT = {
    "windows": (
        "batprotocol.campaigns.managers._dask_worker",
        "batprotocol.cli.mcp_server.server",
    ),
    "macos": (),
}

systems = pytest.mark.parametrize("system", ["windows", "macos"])


def elsewhere(system: str, *arguments: str | Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Python without what a system lacks."""
    path = os.pathsep.join(map(str, [ROOT / "tests" / "elsewhere", ROOT]))
    environment = {**os.environ, "BATPROTOCOL_SYSTEM": system, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, check=False, capture_output=True, text=True
    )


@systems
def test_each_module_can_be_imported(system: str) -> None:
    done = elsewhere(system, "-c", IMPORTS, *WITHOUT[system])
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300


def test_something_is_missing() -> None:
    """Otherwise, the tests above and below show nothing."""
    program = "import os, signal, socket\nassert not hasattr(os, 'fork')\nassert not hasattr(signal, 'SIGKILL')\n"
    program += "assert not hasattr(socket, 'AF_UNIX')\nimport fcntl"
    done = elsewhere("windows", "-c", program)
    assert "fcntl" in done.stderr.splitlines()[-1], done.stderr


def test_the_core_works() -> None:
    """The tests of a few packages; the tool alone runs those of all that work everywhere."""
    program = ROOT / "tools" / "elsewhere.py"
    folders = ["builder", "model/test_free_hosts.py", "_util", "edc/test_endpoints.py"]
    done = elsewhere("windows", program, "--as", "windows", "-n", "0", "-rs", "--folders", *folders)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "this system lacks socket.AF_UNIX" in done.stdout


@systems
def test_a_simulation_runs(system: str) -> None:
    done = elsewhere(system, "-m", "batprotocol", "simulate", "easy")
    assert done.returncode == 0, done.stderr
    assert "250 (" in done.stdout


def test_what_does_not_work_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('scheduler = ["fcfs", "easy"]\n')
    done = elsewhere("windows", "-m", "batprotocol", "study", "run", "study.toml", folder=tmp_path)
    sentence = "processes for runs need os.killpg, which this system lacks: use Linux, or WSL on Windows"
    assert (done.returncode, done.stderr) == (1, f"batproto: {sentence}\n")
