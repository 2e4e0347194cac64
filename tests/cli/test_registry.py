"""The registry of commands: what packages bring, this library's and others."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from support import ROOT

from batprotocol.cli.families import PURPOSES, commands, manifests

WITHOUT_ENGINE = True


def test_every_command_is_where_its_package_says() -> None:
    assert len(commands()) > 25
    for name, command in commands().items():
        module, _, attribute = command.call.partition(":")
        found = getattr(import_module(module), attribute)
        assert isinstance(found, click.Command), name
        assert command.purpose in PURPOSES
        assert len(name) + len(command.sentence) < 78, "the overview has a line for each"


def test_no_two_packages_bring_the_same_command() -> None:
    assert sum(len(manifest.commands) for manifest in manifests()) == len(commands())


def test_each_package_brings_its_own_commands() -> None:
    """A package is removed with all its commands."""
    for path in (ROOT / "batprotocol").glob("*/**/commands.json"):
        package = ".".join(path.parent.relative_to(ROOT).parts)
        for line in path.read_text().splitlines():
            if '"call"' in line:
                assert f'"{package}.' in line, path


def plug_in(folder: Path, value: str = "hello_batproto:hello") -> None:
    """Another package, installed into a folder, with a command of its own."""
    (folder / "hello_batproto.py").write_text(
        'import click\n\n\n@click.command()\ndef hello():\n    """Say hello."""\n    click.echo("hello from outside")\n'
    )
    info = folder / "hello_batproto-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hello-batproto\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[batprotocol.commands]\nhello = {value}\n")


def batproto(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]; from batprotocol.cli.main import main; main()"
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_another_package_brings_a_command(tmp_path: Path) -> None:
    plug_in(tmp_path)
    done = batproto(tmp_path, "hello")
    assert (done.returncode, done.stdout) == (0, "hello from outside\n"), done.stderr
    overview = batproto(tmp_path, "--help").stdout
    assert "Of other packages" in overview
    assert "hello" in overview
    assert "Of other packages" not in batproto(tmp_path / "none", "--help").stdout


@pytest.mark.slow
@pytest.mark.parametrize("value", ["absent_module:hello", "hello_batproto:click"])
def test_a_command_of_another_package_that_is_none(tmp_path: Path, value: str) -> None:
    plug_in(tmp_path, value)
    done = batproto(tmp_path, "hello")
    assert done.returncode == 1
    assert done.stderr.startswith(f"batproto: hello: {value} ")
    assert done.stderr.count("\n") == 1
