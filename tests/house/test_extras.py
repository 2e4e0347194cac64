"""What needs no extra works without them: the command and its help, other protocols, what is not asked of a package."""

from __future__ import annotations

import importlib.metadata
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from support import ROOT

from batprotocol._util.requirements import installing

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

EXTRAS = (
    "lz4",
    "mcap",
    "perfetto",
    "yaml",
    "paho",
    "re2",
    "sqlalchemy",
    "psycopg",
    "h11",
    "distributed",
    "cloudpickle",
    "matplotlib",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "redis",
    "gymnasium",
    "numpy",
    "hypothesis",
)
GOLDEN = ROOT / "tests" / "data" / "goldens" / "execute_job-simple.bin"

RUN = next((ROOT / "tests" / "data" / "runs").glob("*.tar.xz"))

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
        (["timeline", str(RUN), "-o", "run.pdf"], 1, "pip install 'matplotlib>=3.8'"),
        (["grid", "--help"], 0, "simulate"),
        (["study", "--help"], 0, "table"),
        (["study", "metrics"], 0, "mean_bounded_slowdown"),
        (["study", "table", "nowhere"], 1, "there is no such store"),
        (["study", "plot", "nowhere", "-o", "plot.png"], 1, "pip install 'matplotlib>=3.8'"),
        (["compare", "nowhere", "nowhere"], 1, "no such file or directory"),
        (["study", "run", "examples/study.toml", "--dry-run"], 0, "scheduler=easy-sjf"),
        (["grid", "stat"], 1, "pip install 'sqlalchemy>=2.0.30' 'psycopg[binary]>=3.1' 'h11>=0.15'"),
        (["grid", "simulate"], 1, "pip install 'sqlalchemy>=2.0.30' 'psycopg[binary]>=3.1' 'h11>=0.15'"),
    ],
)
def test_commands_without_extras(arguments: list[str], status: int, said: str) -> None:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_slurmrestd_without_its_extra() -> None:
    """The clients of clusters can be imported, and Slurm's commands need nothing."""
    asked = "client.SlurmCommands(client.runner_of('ssh:x'))\nclient.SlurmRest('http://localhost')"
    program = f"{PROGRAM.partition('from batprotocol')[0]}import batprotocol.sites.slurm.client as client\n{asked}"
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.stderr.endswith(f"PackageMissing: HTTP needs h11: {installing('campaigns', 'h11')}\n")


@pytest.mark.parametrize("command", [["dump"], ["simulate", "--record"]])
def test_mcap_without_its_extra(command: list[str], tmp_path: Path) -> None:
    """Whoever records is told before anything runs, and no file is made."""
    path = tmp_path / "run.mcap"
    if command == ["dump"]:
        path.write_bytes(b"\x89MCAP0\r\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command, str(path)], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.endswith(f"MCAP needs the package mcap: {installing('capture')}\n")
    assert path.exists() == (command == ["dump"])


@pytest.mark.parametrize(("to", "extra"), [("perfetto", "capture"), ("parquet", "tables")])
def test_exports_without_their_extras(to: str, extra: str, tmp_path: Path) -> None:
    """Nothing is left of the file that could not be written."""
    arguments = ["export", str(GOLDEN), "--to", to, "-o", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.endswith(f"{installing(extra)}\n")
    assert list(tmp_path.iterdir()) == []


def test_studies_on_dask_without_it(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('scheduler = "fcfs"\n')
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        "study",
        "run",
        str(tmp_path / "study.toml"),
        "--dask",
        "tcp://127.0.0.1:1",
    ]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    command = done.stderr.replace("'cryptography>=42' ", "")  # it is named if it is missing, too
    assert command == "batproto: Dask needs distributed: pip install 'distributed>=2024.1'\n"


def test_the_command_names_the_packages_of_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    gym = project["optional-dependencies"]["gym"]
    assert shlex.split(installing("gym")) == ["pip", "install", *gym]
    learning = [each for each in project["optional-dependencies"]["learning"] if not each.startswith("batprotocol")]
    assert shlex.split(installing("learning")) == ["pip", "install", *gym, *learning]
    assert re.fullmatch(
        r"pip install 'hypothesis>=[\d.]+' 'pytest>=[\d.]+'", installing("test", "hypothesis", "pytest")
    )


def test_the_command_where_the_source_alone_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> NoReturn:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", nowhere)
    assert installing("plots") == "pip install '.[plots]'"
    assert installing("test", "hypothesis", "pytest") == "pip install hypothesis pytest"
