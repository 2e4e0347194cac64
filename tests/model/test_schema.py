"""The schema is the only other place where a field is declared: `model` says the same."""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from importlib.util import find_spec
from typing import Any

import msgspec
import procset
import pytest
from support import ROOT

import batprotocol
from batprotocol import model
from batprotocol.model import Doubles, ProtocolEnum, Value

sys.path.append(str(ROOT / "tools"))

from schema_compiler import reflection

WITHOUT_ENGINE = True

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


def fields_are_those_of_the_schema_in_its_order(name: str) -> None:
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


def annotations_are_what_the_schema_says(name: str) -> None:
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


def defaults_are_those_of_the_schema(name: str) -> None:
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
    assert len(EVENTS) >= 29
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


def test_the_top_has_what_is_the_protocols() -> None:
    """`dir` shows nothing else. Other errors stand with their packages, and warn at the top."""
    assert dir(batprotocol) == sorted(batprotocol.__all__)
    own = {name for name in batprotocol.errors.__all__ if name in batprotocol.__all__}
    others = set(batprotocol.errors.__all__) - own
    assert len(own) == 10
    for name in others:
        error = getattr(batprotocol.errors, name)
        if name == "SystemLacks":
            continue
        with pytest.warns(DeprecationWarning, match=rf"batprotocol\.{name} is deprecated") as told:
            found = getattr(batprotocol, name, None)
        warning = told.pop()
        says = rf"batprotocol\.{name} is deprecated: use (batprotocol\.\w+)\.{name} instead"
        package = re.fullmatch(says, str(warning.message))
        assert package is not None
        assert found is (error if find_spec(package[1]) else None), "without a package, its errors are not at the top"
        assert warning.filename == __file__, "the line of the user"
    with pytest.raises(AttributeError):
        batprotocol.Nothing  # noqa: B018


@pytest.mark.parametrize("module", [batprotocol, model, batprotocol.errors], ids=lambda module: module.__name__)
def test_what_is_exported_is_there(module: types.ModuleType) -> None:
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert hasattr(module, name)


def documented(class_: type[Any]) -> list[str]:
    """The fields that a docstring explains."""
    arguments = re.search(r"^Args:\n((?:    .*\n|\n)*)", inspect.cleandoc(class_.__doc__ or "") + "\n", re.MULTILINE)
    return re.findall(r"^    (\w+): \S", arguments[1], re.MULTILINE) if arguments else []


def docstrings_explain_every_field(name: str) -> None:
    class_ = classes()[name]
    assert (class_.__doc__ or "").strip()
    assert sorted(documented(class_)) == sorted(class_.__struct_fields__)


@pytest.mark.parametrize("name", TABLES)
def test_a_class_is_what_the_schema_says(name: str) -> None:
    fields_are_those_of_the_schema_in_its_order(name)
    annotations_are_what_the_schema_says(name)
    defaults_are_those_of_the_schema(name)
    docstrings_explain_every_field(name)


def test_everything_public_has_a_docstring() -> None:
    public = [getattr(batprotocol, name) for name in batprotocol.__all__]
    things = [thing for thing in public if inspect.isclass(thing) or inspect.isfunction(thing)]
    assert len(things) > 90
    for thing in things:
        assert "__doc__" in vars(thing) or inspect.isfunction(thing), thing
        assert (thing.__doc__ or "").strip(), thing
