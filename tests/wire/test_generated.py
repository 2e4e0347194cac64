"""generated/ belongs to the schema, drift is found, and a build without flatc says what to do; what a build leaves."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from flatc import needs_flatc
from support import ROOT

sys.path.append(str(ROOT / "tools"))

from in_place import LIBRARY, MODULES, leave_only, place_compiled

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of all that compiling takes."""
    for folder in ("schema", "tools/schema_compiler", "generated"):
        compiled = "" if "tools" in folder else "__pycache__"  # Python need not compile the compiler again
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns(compiled))
    shutil.copy(ROOT / "tools" / "compile_schema.py", tmp_path / "tools")
    (tmp_path / "batprotocol").mkdir()
    (tmp_path / "batprotocol" / "wire").mkdir()
    shutil.copy(ROOT / "batprotocol" / "wire" / "reflection.py", tmp_path / "batprotocol" / "wire")
    return tmp_path


@pytest.fixture
def no_flatc(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH where there is no flatc."""
    return str(tmp_path_factory.mktemp("empty"))


def compile_schema(root: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "tools" / "compile_schema.py"), *arguments]
    environment = None if path is None else {"PATH": path}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def adopt(root: Path, name: str) -> None:
    """Make the manifest say that a changed file is as it was made."""
    manifest = root / "generated" / "_schema" / "manifest.json"
    content = json.loads(manifest.read_text())
    content["files"][name] = hashlib.sha256((root / "generated" / name).read_bytes()).hexdigest()
    manifest.write_text(json.dumps(content))


def test_generated_belongs_to_the_schema(no_flatc: str) -> None:
    for path in (None, no_flatc):
        done = compile_schema(ROOT, "--check", path=path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "generated/ belongs to the schema\n", "")


def change_schema(root: Path) -> None:
    append(root / "schema" / "batprotocol.fbs", "// a comment\n")


def edit(root: Path) -> None:
    append(root / "generated" / "_schema" / "codec.py", "# a comment\n")


def edit_and_adopt(root: Path) -> None:
    edit(root)
    adopt(root, "_schema/codec.py")


def add(root: Path) -> None:
    (root / "generated" / "fb" / "More.py").write_text("")


def remove(root: Path) -> None:
    (root / "generated" / "fb" / "Job.py").unlink()


def remove_manifest(root: Path) -> None:
    (root / "generated" / "_schema" / "manifest.json").unlink()


def remove_all(root: Path) -> None:
    shutil.rmtree(root / "generated")


def change_compiler(root: Path) -> None:
    path = root / "tools" / "schema_compiler" / "description.py"
    path.write_text(path.read_text().replace("The schema `batprotocol.fbs` as Python values.", "The schema."))


DRIFTS = [
    (change_schema, "generated/ was made from another schema than schema/batprotocol.fbs"),
    (edit, "generated/_schema/codec.py is not as it was made"),
    (edit_and_adopt, "generated/_schema/codec.py is not what this compiler makes of the schema"),
    (add, "generated/fb/More.py is not made by the compiler"),
    (remove, "generated/fb/Job.py is not as it was made"),
    (remove_manifest, "generated/ is not there or not whole"),
    (remove_all, "generated/ is not there or not whole"),
    (change_compiler, "generated/_schema/description.py is not what this compiler makes of the schema"),
]
every_drift = pytest.mark.parametrize(("drift", "sentence"), DRIFTS, ids=[drift.__name__ for drift, _ in DRIFTS])


@every_drift
def test_drift_is_found(copy: Path, no_flatc: str, drift: Any, sentence: str) -> None:
    drift(copy)
    for path in (None, no_flatc):
        done = compile_schema(copy, "--check", path=path)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"compile_schema: {sentence}\n")


@every_drift
def test_a_build_without_flatc_says_what_to_install(copy: Path, no_flatc: str, drift: Any, sentence: str) -> None:
    drift(copy)
    done = compile_schema(copy, path=no_flatc)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"compile_schema: {sentence}, and there is no flatc >= 2.0.8 to compile the schema: install it (Debian and "
        "Ubuntu: apt-get install flatbuffers-compiler) and build again\n"
    )


def test_a_build_without_flatc_keeps_what_belongs_to_the_schema(copy: Path, no_flatc: str) -> None:
    done = compile_schema(copy, path=no_flatc)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "no flatc here: generated/ is kept, it belongs to this schema\n"


def test_an_old_flatc_is_none(copy: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "flatc").write_text("#!/bin/sh\necho flatc version 1.12.0\n")
    (old / "flatc").chmod(0o755)
    change_schema(copy)
    done = compile_schema(copy, path=str(old))
    assert done.returncode == 1
    assert "there is no flatc >= 2.0.8" in done.stderr


@needs_flatc
@every_drift
def test_a_build_with_flatc_mends_it(copy: Path, drift: Any, sentence: str) -> None:
    drift(copy)
    done = compile_schema(copy)
    assert (done.returncode, done.stderr) == (0, "")
    assert compile_schema(copy, "--check").returncode == 0


@needs_flatc
def test_a_changed_class_of_flatc_is_found(copy: Path) -> None:
    append(copy / "generated" / "fb" / "Job.py", "# a comment\n")
    adopt(copy, "fb/Job.py")
    made_by = json.loads((copy / "generated" / "_schema" / "manifest.json").read_text())["flatc"]
    done = compile_schema(copy, "--check")
    if made_by == subprocess.run(["flatc", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]:
        assert done.returncode == 1
        assert f"generated/fb/Job.py is not what flatc {made_by} makes" in done.stderr
    else:  # another flatc may well write it in another way
        assert done.returncode == 0


@needs_flatc
def test_a_field_added_to_the_schema_is_compiled(copy: Path) -> None:
    schema = copy / "schema" / "batprotocol.fbs"
    schema.write_text(schema.read_text().replace("table Job {", "table Job {\n  colour: string = null;", 1))
    assert compile_schema(copy).returncode == 1  # a string has no such default
    schema.write_text(schema.read_text().replace("colour: string = null;", "", 1))
    schema.write_text(
        re.sub(r"(?<=table RejectJobEvent \{)([^}]*)", r"\1  reason: string;\n", schema.read_text(), count=1)
    )
    assert compile_schema(copy).returncode == 0
    assert "def Reason(self)" in (copy / "generated" / "fb" / "RejectJobEvent.py").read_text()
    assert "Field('reason', 1, Type('string'), False" in (copy / "generated" / "_schema" / "description.py").read_text()
    assert compile_schema(copy, "--check").returncode == 0


@needs_flatc
def test_a_schema_that_flatc_refuses(copy: Path) -> None:
    append(copy / "schema" / "batprotocol.fbs", "table {\n")
    before = {path: path.read_bytes() for path in (copy / "generated").rglob("*") if path.is_file()}
    done = compile_schema(copy)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("compile_schema: flatc refuses batprotocol.fbs: ")
    assert {path: path.read_bytes() for path in (copy / "generated").rglob("*") if path.is_file()} == before


def test_the_source_tree_gets_what_was_compiled_for_the_wheel(tmp_path: Path) -> None:
    """In a clone, it is the source tree that Python imports."""
    modules = [f"{module}.cpython-39.so" for module in MODULES]
    placed = [tmp_path / name for name in (*modules, LIBRARY)]
    for file in placed:
        file.parent.mkdir(parents=True, exist_ok=True)
    wheels = {
        "all.whl": [*modules, LIBRARY, "batprotocol/py.typed"],
        "library.whl": [LIBRARY, "batprotocol/py.typed"],
        "none.whl": ["batprotocol/py.typed"],
    }
    for wheel, members in wheels.items():
        with zipfile.ZipFile(tmp_path / wheel, "w") as archive:
            for member in members:
                archive.writestr(member, b"compiled")
    assert place_compiled(tmp_path / "all.whl", tmp_path, ".cpython-39.so") == []
    assert [file.read_bytes() for file in placed] == [b"compiled"] * len(placed)
    assert place_compiled(tmp_path / "all.whl", tmp_path, ".cpython-38.so") == list(MODULES)
    assert place_compiled(tmp_path / "library.whl", tmp_path, ".cpython-39.so") == list(MODULES)
    assert [file.exists() for file in placed] == [*[False] * len(MODULES), True]
    assert place_compiled(tmp_path / "none.whl", tmp_path, ".cpython-39.so") == [*MODULES, LIBRARY]
    assert [list(file.parent.glob("*.so*")) for file in placed] == [[]] * len(placed)


def test_what_an_older_build_has_left_is_in_no_wheel(tmp_path: Path) -> None:
    names = ["kept.cpython-39.so", "gone.cpython-39.so", "kept.py"]
    for name in names:
        (tmp_path / "lib" / "room").mkdir(parents=True, exist_ok=True)
        (tmp_path / "lib" / "room" / name).write_bytes(b"")
    leave_only(tmp_path / "lib", [str(tmp_path / "lib" / "room" / names[0])], ".cpython-39.so")
    assert sorted(path.name for path in (tmp_path / "lib" / "room").iterdir()) == ["kept.cpython-39.so", "kept.py"]
