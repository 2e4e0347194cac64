"""The packages of the library keep their layers, as pyproject.toml states them, and stay as light as they are."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import grimp
import pytest
from importlinter.application import use_cases
from importlinter.configuration import configure
from support import ROOT

WITHOUT_ENGINE = True

PACKAGE = ROOT / "batprotocol"
PACKAGES = sorted(".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("__init__.py"))


@cache
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("batprotocol", cache_dir=None)


def test_the_contracts_are_kept() -> None:
    """import-linter prints what breaks a contract."""
    configure()
    assert use_cases.lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None) is use_cases.SUCCESS


@cache
def without(*parts: str) -> grimp.ImportGraph:
    """The graph without the modules that have one of these names in their path."""
    found = grimp.build_graph("batprotocol", cache_dir=None)
    for module in list(found.modules):
        if set(parts) & set(module.split(".")):
            found.remove_module(module)
    return found


GENERATED = ("__main__", "_schema", "fb")
"""Programs, and what is generated, a part of `wire`."""


@pytest.mark.parametrize("package", [package for package in PACKAGES if package in without(*GENERATED).modules])
def test_no_folder_has_a_circle(package: str) -> None:
    """Imports in functions and for type checkers count, too. The commands of a package stand above all packages."""
    above = ("commands", "cli") if package == "batprotocol" else ()
    assert without(*GENERATED, *above).nominate_cycle_breakers(package) == set()


def test_every_module_is_known() -> None:
    """A module that the graph lacks would break no contract."""
    paths = {path.relative_to(ROOT).with_suffix("") for path in PACKAGE.rglob("*.py") if "stubs" not in path.parts}
    assert {".".join(path.parts).removesuffix(".__init__") for path in paths} <= graph().modules


def test_no_module_imports_a_private_one_of_another_package() -> None:
    found = [
        f"{importer} imports {module}"
        for module in graph().modules
        for importer in graph().find_modules_that_directly_import(module)
        if module.rpartition(".")[2].startswith("_") and not f"{importer}.".startswith(f"{module.rpartition('.')[0]}.")
        if module.split(".")[1] != "_util" and importer != "batprotocol.fast.strategies"
    ]
    assert found == []


WITHOUT_FILES = ("builder", "conversation", "model", "wire")
OUTSIDE = {"asyncio", "io", "pathlib", "select", "selectors", "shutil", "socket", "subprocess", "tempfile"}
OUTSIDE |= {"threading", "zmq"}


def sources(package: str) -> list[Path]:
    found = sorted((PACKAGE / package).rglob("*.py"))
    return [path for path in found if "commands" not in path.parts]


@pytest.mark.parametrize("package", WITHOUT_FILES)
def test_the_protocol_opens_neither_a_socket_nor_a_file(package: str) -> None:
    for path in sources(package):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        imports = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        imports |= {(node.module or "").split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
        calls = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert not imports & OUTSIDE, path
        assert "open" not in calls, path


@pytest.mark.slow
def test_importing_the_library_imports_no_heavy_ones() -> None:
    code = """
import sys
import batprotocol
from batprotocol import Message, SimulationEndsEvent
message = Message(1.0, (SimulationEndsEvent(timestamp=1.0),))
assert batprotocol.decode(message.to_binary()) == message
assert batprotocol.decode(message.to_json().encode()) == message
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = {"asyncio", "click", "flatbuffers", "hypothesis", "matplotlib", "numpy", "pandas", "pytest", "rich", "zmq"}
    modules = set(done.stdout.split())
    assert "batprotocol.model" in modules
    assert not heavy & modules


@pytest.mark.slow
def test_importing_policies_imports_neither_a_simulator_nor_what_reads_tables() -> None:
    code = "import sys, batprotocol.policies; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "batprotocol.workloads.electricity" in modules
    assert not {"batprotocol.workloads.electricity.tables", "batprotocol.simulator", "zoneinfo"} & modules
