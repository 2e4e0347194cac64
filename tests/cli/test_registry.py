"""The registry of commands: what packages bring, this library's and others."""

from __future__ import annotations

import subprocess
import sys
import zipfile
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


LOOK = """
import sys
sys.path[:] = [{places}, *sys.path]
from batprotocol.cli.families import of_others
print(sorted(of_others()), "importlib.metadata" in sys.modules)
"""


def look(*places: Path) -> str:
    """The commands of other packages, and whether a look at their files was not enough to know them."""
    code = LOOK.format(places=", ".join(repr(str(place)) for place in (*places, ROOT)))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
def test_a_look_at_the_files_of_entry_points_misses_no_command(tmp_path: Path) -> None:
    assert look(tmp_path, tmp_path / "absent") == "[] False"
    other = tmp_path / "other"
    info = other / "other-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[console_scripts]\nother = other:main\n")
    (other / "old.egg-info").write_text("Name: old\n")  # a file, as distutils wrote it
    assert look(other) == "[] False"

    plugged = tmp_path / "plugged"
    plugged.mkdir()
    plug_in(plugged)
    assert look(other, plugged) == "['hello'] True"
    info = plugged / "hello_batproto-1.0.dist-info"
    (info / "METADATA").rename(info / "PKG-INFO")
    info = info.rename(plugged / "hello_batproto.egg-info")
    assert look(plugged) == "['hello'] True"

    info.rename(plugged / "EGG-INFO")
    egg = plugged.rename(tmp_path / "hello-1.0.egg")
    assert look(egg) == "['hello'] True"
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in ("PKG-INFO", "entry_points.txt"):
            archive.write(egg / "EGG-INFO" / name, f"hello.egg-info/{name}")
    assert look(tmp_path / "all.zip") == "['hello'] True"


ELSEWHERE = """
import sys
sys.path.insert(0, {root!r})

class Elsewhere:
    def find_spec(self, *arguments):
        return None

    def find_distributions(self, context):
        from importlib.metadata import PathDistribution
        from pathlib import Path
        return map(PathDistribution, Path({folder!r}).glob("*.dist-info"))

sys.meta_path.append(Elsewhere())
from batprotocol.cli.families import of_others
print(sorted(of_others()))
"""


@pytest.mark.slow
def test_a_finder_of_packages_that_looks_elsewhere_is_asked(tmp_path: Path) -> None:
    plug_in(tmp_path)
    code = ELSEWHERE.format(root=str(ROOT), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['hello']"


IMPORTED = """
import gc, sys
sys.path.insert(0, {root!r})
from batprotocol.cli.main import batproto
before = gc.get_freeze_count()
batproto.commands["schema"]
print(gc.isenabled(), gc.get_freeze_count() > before + 1000)
"""


@pytest.mark.slow
def test_python_searches_the_modules_of_a_command_no_more() -> None:
    code = IMPORTED.format(root=str(ROOT))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"
