"""The schema is the only other place where a field is declared: `model` says the same, generated/ belongs to it, and
the rooms of the library stand on their floors."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import re
import shutil
import subprocess
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import procset
import pytest
from flatc import needs_flatc
from support import ROOT

import batprotocol
from batprotocol import model
from batprotocol.model import Doubles, ProtocolEnum, Value

sys.path.append(str(ROOT / "tools"))

from schema_compiler import reflection

SCHEMA = reflection.read((ROOT / "generated" / "_schema" / "batprotocol.bfbs").read_bytes())
ENVELOPE = "EventAndTimestamp"
HIDDEN = {ENVELOPE, *(name for name in SCHEMA.tables if name.endswith("Wrapper"))}
TABLES = sorted(set(SCHEMA.tables) - HIDDEN)
EVENTS = SCHEMA.unions["Event"].members
SCALARS = {"bool": bool, "float64": float, "int32": int, "uint32": int, "uint64": int}


def classes() -> dict[str, type[Any]]:
    """The public classes of values, enums aside, by name."""
    found = (getattr(model, name) for name in model.__all__)
    return {each.__name__: each for each in found if inspect.isclass(each) and issubclass(each, Value)}


def fields_of(table: str) -> list[reflection.Field]:
    """The fields of a table that people see."""
    return [field for field in SCHEMA.tables[table].fields if field.type.kind != "utype"]


# Tables and fields


def test_hidden_tables_are_those_that_flatbuffers_needs() -> None:
    assert sorted(HIDDEN) == [
        "EventAndTimestamp",
        "KillProgressWrapper",
        "PredefinedExecutorPlacementStrategyWrapper",
        "TemporalTriggerWrapper",
    ]
    for name in HIDDEN - {ENVELOPE}:
        assert len(fields_of(name)) == 1


def test_every_table_has_a_class_and_every_class_a_table() -> None:
    assert sorted(set(classes()) - {"Value"}) == TABLES


@pytest.mark.parametrize("name", TABLES)
def test_fields_are_those_of_the_schema_in_its_order(name: str) -> None:
    names = [field.name for field in fields_of(name)]
    inherited = ["timestamp"] if name in EVENTS else []
    assert list(classes()[name].__struct_fields__) == inherited + names


def stand_ins(kind: reflection.Type) -> set[Any]:
    """The Python types of what a field of this type holds; None aside."""
    if kind.kind in SCALARS:
        return {SCALARS[kind.kind]}
    if kind.kind == "string":
        return {str}
    if kind.kind == "enum":
        return {getattr(model, kind.name)}
    if kind.kind == "union":
        members = (reflection.Type("table", name) for name in SCHEMA.unions[kind.name].members)
        return set().union(*map(stand_ins, members))
    if kind.kind == "table":
        wraps = fields_of(kind.name)[0] if kind.name in HIDDEN - {ENVELOPE} else None
        if wraps:
            return stand_ins(wraps.type)
        return set().union(*({getattr(model, name)} for name in (EVENTS if kind.name == ENVELOPE else [kind.name])))
    assert kind.kind == "vector", kind
    assert kind.element
    return {Doubles} if kind.element.kind == "float64" else {("tuple", frozenset(stand_ins(kind.element)))}


def hinted(hint: Any) -> set[Any]:
    """The same of an annotation, None included."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return set().union(*map(hinted, typing.get_args(hint)))
    if typing.get_origin(hint) is tuple:
        element, dots = typing.get_args(hint)
        assert dots is Ellipsis
        return {("tuple", frozenset(hinted(element)))}
    return {None if hint is types.NoneType else hint}


@pytest.mark.parametrize("name", TABLES)
def test_annotations_are_what_the_schema_says(name: str) -> None:
    hints = typing.get_type_hints(classes()[name], localns={**vars(model), "ProcSet": procset.ProcSet})
    for field in fields_of(name):
        scalar = field.type.kind in SCALARS or field.type.kind == "enum"
        can_be_absent = field.optional if scalar else not field.required
        assert hinted(hints[field.name]) == stand_ins(field.type) | ({None} if can_be_absent else set()), field.name
    if name in EVENTS:
        assert hints["timestamp"] is float


NO_DEFAULT = object()
CONVENIENCES: dict[tuple[str, str], Any] = {
    ("AllocationPlacement", "executor_placement"): model.PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst,
    ("CreateProbeEvent", "data_accumulation_strategy"): model.NoProbeDataAccumulation(),
    ("CreateProbeEvent", "emission_filtering_policy"): model.NoFiltering(),
    ("CreateProbeEvent", "resources_aggregation_function"): model.NoResourcesAggregation(),
    ("CreateProbeEvent", "temporal_aggregation_function"): model.NoTemporalAggregation(),
    ("EDCHelloEvent", "requested_simulation_features"): model.EDCRequestedSimulationFeatures(),
    ("Message", "events"): (),
    ("Periodic", "mode"): model.Infinite(),
    ("ProbeDataAccumulation", "reset_mode"): model.NoReset(),
    (
        "ProfileAllocationPlacement",
        "executor_placement",
    ): model.PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst,
}
"""What is required on the wire, and is that when it is not given."""
ALWAYS_GIVEN = {
    ("AggregatedProbeData", "data"),
    ("ChangeHostsPStateEvent", "pstate"),
    ("DelayProfile", "delay"),
    ("FinitePeriodNumber", "nb_periods"),
    ("Host", "id"),
    ("HostsPStateChangedEvent", "pstate"),
    ("HostsTurnedOnOffEvent", "state"),
    ("Job", "resource_request"),
    ("JobCompletedEvent", "state"),
    ("JobSubmittedEvent", "submission_time"),
    ("KillProgressAtomicProfile", "progress"),
    ("KillProgressSequentialProfile", "current_repetition"),
    ("KillProgressSequentialProfile", "current_task_index"),
    ("Message", "now"),
    ("OneShot", "time"),
    ("ParallelTaskDataStagingBetweenStoragesProfile", "bytes_to_transfer"),
    ("Periodic", "period"),
    ("QuantileFunction", "threshold"),
    ("SimulationBeginsEvent", "computation_host_number"),
    ("SimulationBeginsEvent", "host_number"),
    ("StorageHost", "host_id"),
    ("ThresholdFilteringFunction", "threshold"),
    ("TraceReplayProfile", "trace_type"),
    ("TurnOnOffHostsEvent", "state"),
}
"""What is 0 on the wire when it is not given, and must be given: a job of 0 hosts is nothing that anyone means."""


def schema_default(field: reflection.Field) -> Any:
    if field.type.kind == "enum":
        return getattr(model, field.type.name)(field.default)
    if field.required:
        return NO_DEFAULT
    return field.default


@pytest.mark.parametrize("name", TABLES)
def test_defaults_are_those_of_the_schema(name: str) -> None:
    ours = {
        field.name: NO_DEFAULT if field.required else field.default for field in msgspec.structs.fields(classes()[name])
    }
    if name in EVENTS:
        assert repr(ours["timestamp"]) == repr(SCHEMA.tables[ENVELOPE].fields[0].default) == "0.0"
    for field in fields_of(name):
        expected = schema_default(field)
        if (name, field.name) in ALWAYS_GIVEN:
            assert (expected, ours[field.name]) == (0, NO_DEFAULT), field.name
        elif (name, field.name) in CONVENIENCES:
            assert expected is NO_DEFAULT
            assert ours[field.name] == CONVENIENCES[name, field.name], field.name
        else:
            assert (type(ours[field.name]), ours[field.name]) == (type(expected), expected), field.name


def test_exceptions_to_the_rule_are_fields() -> None:
    fields = {(name, field.name) for name in TABLES for field in fields_of(name)}
    assert fields >= {*CONVENIENCES, *ALWAYS_GIVEN}


# Enums, unions, events


def test_enums_are_those_of_the_schema() -> None:
    ours = {enum.__name__: {member.name: int(member) for member in enum} for enum in ProtocolEnum.__subclasses__()}
    assert ours == {enum.name: dict(enum.values) for enum in SCHEMA.enums.values()}
    assert {enum.kind for enum in SCHEMA.enums.values()} == {"int8"}
    for enum in ProtocolEnum.__subclasses__():
        assert getattr(model, enum.__name__) is enum


@pytest.mark.parametrize("name", sorted(SCHEMA.unions))
def test_unions_are_those_of_the_schema(name: str) -> None:
    if name == "ProbeMeasurementTriggeringPolicy":  # it has one member, the wrapper of a union
        assert not hasattr(model, name)
        return
    assert hinted(getattr(model, name)) == stand_ins(reflection.Type("union", name))


def test_each_event_goes_one_way() -> None:
    there, back = ([event.__name__ for event in way] for way in (model.BATSIM_TO_EDC, model.EDC_TO_BATSIM))
    assert len(EVENTS) == 29
    assert sorted(there + back) == sorted(EVENTS)
    assert [name for name in EVENTS if name in there] == there
    assert [name for name in EVENTS if name in back] == back


# Names and documentation


def test_all_of_the_model_is_exported() -> None:
    assert set(batprotocol.__all__) >= set(model.__all__)
    for name in model.__all__:
        assert getattr(batprotocol, name) is getattr(model, name)
    assert {*TABLES, *SCHEMA.enums} <= set(model.__all__)
    assert set(SCHEMA.unions) - {"ProbeMeasurementTriggeringPolicy"} <= set(model.__all__)


@pytest.mark.parametrize("module", [batprotocol, model, batprotocol.errors], ids=lambda module: module.__name__)
def test_what_is_exported_is_there(module: types.ModuleType) -> None:
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert hasattr(module, name)


def documented(class_: type[Any]) -> list[str]:
    """The fields that a docstring explains."""
    arguments = re.search(r"^Args:\n((?:    .*\n|\n)*)", inspect.cleandoc(class_.__doc__ or "") + "\n", re.MULTILINE)
    return re.findall(r"^    (\w+): \S", arguments[1], re.MULTILINE) if arguments else []


@pytest.mark.parametrize("name", TABLES)
def test_docstrings_explain_every_field(name: str) -> None:
    class_ = classes()[name]
    assert (class_.__doc__ or "").strip()
    assert sorted(documented(class_)) == sorted(class_.__struct_fields__)


def test_everything_public_has_a_docstring() -> None:
    public = [getattr(batprotocol, name) for name in batprotocol.__all__]
    things = [thing for thing in public if inspect.isclass(thing) or inspect.isfunction(thing)]
    assert len(things) > 90
    for thing in things:
        assert "__doc__" in vars(thing) or inspect.isfunction(thing), thing
        assert (thing.__doc__ or "").strip(), thing


# Floors

FLOORS = {
    "errors": 0,
    "_schema": 0,
    "fb": 0,
    "model": 1,
    "wire": 2,
    "builder": 3,
    "": 3,  # the package itself: what it exports
    "conversation": 4,
    "edc": 5,
    "simulator": 5,
    "capture": 5,
    "testing": 5,
    "cli": 6,
    "__main__": 7,
}
SOURCES = sorted([*(ROOT / "batprotocol").rglob("*.py"), *(ROOT / "generated" / "_schema").rglob("*.py")])


def module_of(path: Path) -> str:
    """The full name of the module in a file."""
    parts = list(path.relative_to(ROOT / ("generated" if "generated" in path.parts else "batprotocol")).parts)
    parts[-1] = parts[-1].removesuffix(".py")
    return ".".join(["batprotocol", *parts]).removesuffix(".__init__")


MODULES = {module_of(path) for path in SOURCES}


def room_of(module: str) -> str:
    """The room that a module belongs to."""
    if module == "batprotocol._schema.codec":  # it is generated, but it is a codec
        return "wire"
    return module.removeprefix("batprotocol").removeprefix(".").split(".")[0]


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """The modules of the library that a file imports, wherever in it, and on which lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.startswith("batprotocol"))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno} imports relatively"
            module = node.module or ""
            if module.split(".")[0] == "batprotocol":
                inner = (f"{module}.{alias.name}" for alias in node.names)
                yield from (
                    (node.lineno, each if each in MODULES or each == "batprotocol.fb" else module) for each in inner
                )


def test_every_room_has_its_floor() -> None:
    assert {room_of(module) for module in MODULES} <= set(FLOORS)
    assert {"batprotocol", "batprotocol.wire.json", "batprotocol._schema.codec"} <= MODULES


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_imports_lead_downwards(path: Path) -> None:
    room = room_of(module_of(path))
    for line, module in imported(path):
        below = FLOORS[room_of(module)] < FLOORS[room]
        exports = room == "" and FLOORS[room_of(module)] <= FLOORS[""]  # the package exports its floor too
        assert room_of(module) == room or below or exports, f"line {line} imports {module}"


@pytest.mark.parametrize("path", [path for path in SOURCES if FLOORS[room_of(module_of(path))] < 5], ids=module_of)
def test_nothing_below_edc_opens_a_socket_or_a_file(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imports = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    imports |= {(node.module or "").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not imports & {
        "asyncio",
        "io",
        "pathlib",
        "select",
        "selectors",
        "shutil",
        "socket",
        "subprocess",
        "tempfile",
    }
    assert not imports & {"threading", "zmq"}
    assert "open" not in calls


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


# generated/


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of all that compiling takes."""
    for folder in ("schema", "tools", "generated"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
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
