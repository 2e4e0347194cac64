"""What docs/howto/keep-captures.md shows of runs that are looked at is what is printed, and its Python runs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from commands import run_here
from support import DATA, ROOT

pytestmark = pytest.mark.once

TEXT = (ROOT / "docs" / "howto" / "keep-captures.md").read_text()
RUN = DATA / "simulations" / "PowerSaver__power-p__energy_platform_homogeneous__binary.tar.xz"
SHOWN = re.findall(r"^```console\n\$ batproto ((?:at|replay) .*)\n((?:.*\n)*?)```", TEXT, re.MULTILINE)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(RUN, tmp_path / "run.tar.xz")
    saver = (ROOT / "examples" / "power_saver.py").read_text()
    assert "max(0, missing)" in saver
    (tmp_path / "power_saver.py").write_text(saver.replace("max(0, missing)", "max(1, missing)"))
    shutil.copy(ROOT / "examples" / "fcfs.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("command", "shown"), SHOWN)
def test_commands_print_what_the_handbook_shows(command: str, shown: str, here: Path) -> None:
    assert run_here(*command.split()).out == shown


def test_the_handbook_shows_both() -> None:
    assert [command.split()[0] for command, _ in SHOWN] == ["at", "replay"]


@pytest.mark.usefixtures("here")
def test_jobs_and_knowledge_from_python(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = [each for each in re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S) if "run.jobs()" in each]
    exec(
        compile(block, "docs/howto/keep-captures.md", "exec"),
        {"Capture": __import__("batprotocol.capture").capture.Capture},
    )
    assert capsys.readouterr().out.count("\n") == 31
