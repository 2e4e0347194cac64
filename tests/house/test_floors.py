"""The rooms of the library stand on their floors, and stay as light as they are."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from support import ROOT

sys.path.append(str(ROOT / "tools"))

import in_place

WITHOUT_ENGINE = True

FLOORS = {
    "children": 4.5,  # it starts commands, for clients of clusters
    "deprecation": 0,
    "distributions": 0,
    "durations": 0.5,
    "errors": 0,
    "extras": 0,
    "systems": 0,
    "rules": 0,
    "steps": 0,
    "_schema": 0.5,
    "reflection": 0,
    "fb": 0,
    "model": 1,
    "hosts": 2,
    "clocks": 0.5,
    "left_out": 0,
    "compression": 0,
    "outages": 2,
    "power": 2,
    "requests": 2,
    "wire": 2,
    "builder": 3,
    "": 3,  # the package itself: what it exports
    "conversation": 4,
    "advice": 4.5,
    "files": 4.25,
    "recording": 4.5,  # it opens files, for all that is above
    "engines": 4.5,  # it starts processes, for those who run many things
    "schemas": 4.6,
    "importing": 4.5,
    "methods": 4.5,
    "slurm": 4.75,  # it reads files, for logs and for policies, and starts Slurm's commands
    "tables": 4.5,
    "signals": 4.5,
    "writing": 4.5,
    "sockets": 4.5,
    "strangers": 4.5,
    "web": 4.5,  # it opens sockets, for clients of clusters
    "capture": 5,
    "history": 5.5,  # on the inputs of the simulator: its logs become workloads
    "edc": 5,
    "fast": 5,
    "legacy": 5,
    "simulator": 5,
    "campaigns": 6,
    "policies": 6,
    "mcp": 6,  # it starts commands, and knows none
    "gym": 6.5,  # on the ready schedulers, whose parts it decides with
    "studies": 6.5,  # on the ready schedulers, which it names
    "testing": 6,  # of those on the fifth floor, it alone may stand on another: on the simulator
    "cli": 7,
    "__main__": 8,
}
SOURCES = sorted([*(ROOT / "batprotocol").rglob("*.py"), *(ROOT / "generated" / "_schema").rglob("*.py")])


@cache
def module_of(path: Path) -> str:
    """The full name of the module in a file."""
    parts = list(path.relative_to(ROOT / ("generated" if "generated" in path.parts else "batprotocol")).parts)
    parts[-1] = parts[-1].removesuffix(".py")
    return ".".join(["batprotocol", *parts]).removesuffix(".__init__")


MODULES = {module_of(path) for path in SOURCES}
EXTENSIONS = {name.replace("/", ".") for name in in_place.MODULES}
"""The modules in C."""


def room_of(module: str, house: str = "batprotocol") -> str:
    """The room that a module belongs to."""
    if module == "batprotocol._schema.codec":  # it is generated, but it is a codec
        return "wire"
    return module.removeprefix(house).removeprefix(".").split(".")[0]


@cache
def imported(path: Path) -> tuple[tuple[int, str], ...]:
    """The modules of the library that a file imports, wherever in it, and on which lines."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.startswith("batprotocol"))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno} imports relatively"
            module = node.module or ""
            if module.split(".")[0] == "batprotocol":
                for each in (f"{module}.{alias.name}" for alias in node.names):
                    if each in MODULES or each == "batprotocol.fb":
                        yield node.lineno, each
                    elif each not in EXTENSIONS:
                        yield node.lineno, module


def test_every_room_has_its_floor() -> None:
    assert {room_of(module) for module in MODULES} <= set(FLOORS)
    assert {"batprotocol", "batprotocol.wire.json", "batprotocol._schema.codec"} <= MODULES


def test_every_folder_is_installed() -> None:
    """The list is written by hand: without a folder, only an installed library would miss it."""
    listed = re.search(r"^packages = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    assert listed
    packages = {module_of(path) for path in SOURCES if path.name == "__init__.py"}
    stubs = {f"{path.name}-stubs" for path in (ROOT / "batprotocol" / "stubs").iterdir()}
    assert set(re.findall(r'"(.+)"', listed[1])) == {*packages, "batprotocol.fb", *stubs}


ROOMS = {room: [path for path in SOURCES if room_of(module_of(path)) == room] for room in FLOORS if room != "fb"}


@pytest.mark.parametrize("room", ROOMS)
def test_imports_lead_downwards(room: str) -> None:
    for path in ROOMS[room]:
        for line, module in imported(path):
            below = FLOORS[room_of(module)] < FLOORS[room]
            exports = room == "" and FLOORS[room_of(module)] <= FLOORS[""]  # the package exports its floor too
            assert room_of(module) == room or below or exports, f"{path}:{line} imports {module}"


CLI = {
    "terminal": 0,
    "version": 0,
    "protocols": 1,
    "completing": 1.5,
    "inputs": 2,
    "named": 2,
    "families": 2,
    "parameters": 2,
    "messages": 3,
    "bridge": 4,
    "compare": 4,
    "fast": 4,
    "grid": 4,
    "importing": 4,
    "mcp": 4,
    "new": 4,
    "reference": 4,
    "study": 4,
    "workload": 4,
    "run": 5,
    "whatif": 5,
    "captures": 6,
    "conformance": 6,
    "simulate": 6,
    "main": 7,
    "": 7,
}
"""The floors within `cli`: what all commands have in common, and the families of commands."""


def test_families_of_commands_stand_on_one_another_only_downwards() -> None:
    families = {room_of(module, "batprotocol.cli") for module in MODULES if room_of(module) == "cli"}
    assert families == set(CLI)
    for path in ROOMS["cli"]:
        family = room_of(module_of(path), "batprotocol.cli")
        for line, module in imported(path):
            if room_of(module) == "cli":
                other = room_of(module, "batprotocol.cli")
                assert other == family or CLI[other] < CLI[family], f"{path}:{line} imports {module}"


PACKAGES = sorted({module_of(path) for path in SOURCES if path.name == "__init__.py"} - {"batprotocol"})


def within(package: str) -> dict[str, set[str]]:
    """Which modules and folders of a folder import which others of it, for type checkers alone and in functions, too.

    The folder itself, which exports what others import from there, is "".
    """
    found: dict[str, set[str]] = {}
    inside = [path for path in SOURCES if f"{module_of(path)}.".startswith(f"{package}.")]
    for path in inside:
        name = room_of(module_of(path), package)
        for _, module in imported(path):
            if f"{module}.".startswith(f"{package}."):
                found.setdefault(name, set()).add(room_of(module, package))
    return {name: others - {name} for name, others in found.items()}


def circle_in(package: str) -> list[str]:
    """The members of a circle in a folder, if there is one."""
    try:
        TopologicalSorter(within(package)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_has_a_circle(package: str) -> None:
    assert not circle_in(package)


OUTSIDE = {"asyncio", "io", "pathlib", "select", "selectors", "shutil", "socket", "subprocess", "tempfile"}
OUTSIDE |= {"threading", "zmq"}


@pytest.mark.parametrize("room", [room for room in ROOMS if FLOORS[room] < FLOORS["recording"]])
def test_nothing_below_recordings_opens_a_socket_or_a_file(room: str) -> None:
    for path in ROOMS[room]:
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
    assert "batprotocol.power" in modules
    assert not {"batprotocol.power.tables", "batprotocol.simulator", "zoneinfo"} & modules
