"""A wing is removed by deleting its folder: the protocol, its schedulers and simulations go on without it."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

from batprotocol import MessageBuilder

WITHOUT_ENGINE = True

WINGS = {
    "recordings": ("studies.commands", "sites.logs.commands"),
    "studies": (),
    "gym": (),
    "testing": ("fast.strategies", "studies.conformance"),
    "sites/logs": ("studies.whatif", "studies.commands"),
    "sites/slurm": ("policies.slurm", "campaigns.managers", "sites.logs", "studies"),
    "legacy": (),
    "fast": (),
    "campaigns": (),
    "cli/mcp_server": (),
}
"""Each wing, and what needs it besides itself: the rest can be imported without."""

IMPORTS = """
import importlib, pkgutil, sys, batprotocol
for module in pkgutil.walk_packages(batprotocol.__path__, "batprotocol."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("batprotocol"):
            print(module.name)
    except Exception:
        pass  # of an extra that is not installed
"""


@pytest.fixture(scope="module", params=WINGS)
def without(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A wing, and a source tree without it."""
    wing: str = request.param
    tree = tmp_path_factory.mktemp("tree")
    for name in ("batprotocol", "generated", "examples"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tree / "batprotocol" / wing)
    return wing, tree


def run(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=tree, capture_output=True, text=True, check=False, timeout=1200)


@pytest.mark.slow
def test_the_first_command(without: tuple[str, Path]) -> None:
    done = run(without[1], "-m", "batprotocol", "simulate", "examples/easy_backfilling.py:EASY")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("jobs              250 (240 succeeded, 4 failed, 6 reached their walltime)\n")


@pytest.mark.slow
def test_a_message_is_shown(without: tuple[str, Path]) -> None:
    builder = MessageBuilder(now=10.0)
    builder.add_execute_job("w0!1", "0-3")
    (without[1] / "message.bin").write_bytes(builder.finish_message(10.0).to_binary())
    done = run(without[1], "-m", "batprotocol", "dump", "message.bin")
    assert done.returncode == 0, done.stderr
    assert "ExecuteJobEvent" in done.stdout


@pytest.mark.slow
def test_a_scheduler_over_a_socket(without: tuple[str, Path]) -> None:
    """Both ends are programs of the tree without the wing."""
    batproto = [sys.executable, "-m", "batprotocol"]
    batsim = [*batproto, "simulate", "--endpoint", "{endpoint}"]
    done = run(without[1], *batproto[1:], "run", "examples/easy_backfilling.py:EASY", "--", *batsim)
    assert done.returncode == 0, done.stderr
    assert "250 (240 succeeded, 4 failed, 6 reached their walltime)" in done.stdout


@pytest.mark.slow
def test_its_commands_are_gone_and_the_others_are_there(without: tuple[str, Path]) -> None:
    wing, tree = without
    before, after = (run(each, "-m", "batprotocol", "--help").stdout for each in (ROOT, tree))
    gone = (ROOT / "batprotocol" / wing / "commands.json").is_file()
    lines = {line.split()[0] for line in before.splitlines() if line.startswith("  ") and line.strip()}
    left = {line.split()[0] for line in after.splitlines() if line.startswith("  ") and line.strip()}
    assert (left < lines) == gone


@pytest.mark.slow
def test_only_what_builds_on_it_is_lost(without: tuple[str, Path]) -> None:
    wing, tree = without
    lost = run(tree, "-c", IMPORTS).stdout.split()
    needs = tuple(f"batprotocol.{name}" for name in WINGS[wing])
    assert [name for name in lost if not name.startswith(needs or "nothing")] == []


NEEDY = {
    "run --protocol 4.2 examples/easy_backfilling.py:EASY": "legacy",
    "simulate --protocol 4.2 --endpoint tcp://127.0.0.1:1": "legacy",
    "schema --protocol text-1": "legacy",
    "schema --protocol fast StartVM": "fast",
}
"""Command lines, and the wing that each needs."""


@pytest.mark.slow
def test_a_command_that_needs_it_says_so(tmp_path: Path) -> None:
    for name in ("batprotocol", "generated", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for wing in ("legacy", "fast"):
        shutil.rmtree(tmp_path / "batprotocol" / wing)
    for words, wing in NEEDY.items():
        done = run(tmp_path, "-m", "batprotocol", *words.split())
        assert done.returncode == 1, words
        assert done.stderr == f"batproto: this installation is without batprotocol.{wing}, which this needs\n"


THROUGH_COMMANDS = {
    "legacy": ("test_an_older_scheduler_that_keeps_hosts_free", "test_rule_sets", "test_rules_are_listed")
}
"""Tests of the rest that use a wing by a command's option, or list the rules of all protocols."""

FOLDERS = ("model", "wire", "builder", "conversation", "edc", "simulator", "workloads", "results")


def imports(path: Path, package: str) -> bool:
    """Whether a file imports a package, or a module in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        if isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{name}" for name in names)]
        if any(f"{name}.".startswith(f"{package}.") for name in names):
            return True
    return False


@pytest.mark.minutes
def test_the_tests_of_the_rest(without: tuple[str, Path]) -> None:
    """Those of the protocol, of schedulers and of the simulator, but for the few files that use the wing itself."""
    wing, tree = without
    shutil.copytree(ROOT / "tests", tree / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "docs", "schema", "tools"):
        path = ROOT / name
        (shutil.copytree if path.is_dir() else shutil.copy)(path, tree / name)
    package = f"batprotocol.{wing.replace('/', '.')}"
    files = [path for name in FOLDERS for path in sorted((tree / "tests" / name).glob("test_*.py"))]
    others = [str(path.relative_to(tree)) for path in files if not imports(path, package)]
    assert len(others) > len(files) * (0.7 if wing == "testing" else 0.95)
    # The plugin of `testing` is one of the installed package.
    plugin = ("-p", "no:batprotocol") if wing == "testing" else ()
    options = ("-q", "--engines=usual", "-m", "not slow and not minutes and not long", "-p", "no:cacheprovider")
    needy = " or ".join(THROUGH_COMMANDS.get(wing, ()))
    left_out = ("-k", f"not ({needy})") if needy else ()
    done = run(tree, "-m", "pytest", *plugin, *options, *left_out, *others)
    assert done.returncode == 0, done.stdout[-3000:]
