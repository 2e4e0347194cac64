"""The values by themselves: enums, and what all values have in common."""

from __future__ import annotations

import copy
import pickle
from array import array
from typing import Any

import msgspec
import numpy as np
import pytest
from exact import exact
from hypothesis import given

from batprotocol import model
from batprotocol.errors import EncodeError
from batprotocol.testing import strategies as bat

# Enums


@pytest.mark.parametrize("enum", model.ProtocolEnum.__subclasses__())
def test_enums_have_a_member_for_each_signed_byte(enum: type[model.ProtocolEnum]) -> None:
    known = list(enum)
    for number in range(-128, 128):
        member = enum(number)
        assert type(member) is enum
        assert (int(member), member == number, hash(member) == hash(number)) == (number, True, True)
        assert member is enum(number)
        assert member.known == (number in [int(each) for each in known])
        assert pickle.loads(pickle.dumps(member)) is member
        assert copy.copy(member) is copy.deepcopy(member) is member
        assert repr(member) == f"<{enum.__name__}.{member.name}: {number}>"
    assert list(enum) == known
    assert all(member.known for member in enum)


@pytest.mark.parametrize("number", [-129, 128, 2**31, "Second", None, 0.5, "0"])
def test_other_numbers_are_no_members(number: Any) -> None:
    with pytest.raises(ValueError, match="is not a valid TimeUnit"):
        model.TimeUnit(number)


def test_unknown_members_have_no_name_to_find() -> None:
    assert model.TimeUnit(7).name == "7"
    assert not hasattr(model.TimeUnit, "7")
    with pytest.raises(KeyError):
        model.TimeUnit["7"]
    assert model.TimeUnit(0) is model.TimeUnit.Second
    assert model.FinalJobState(7) == model.TimeUnit(7) == 7
    assert model.FinalJobState(7) is not model.TimeUnit(7)


# All values


@given(bat.messages(chronological=False))
def test_messages_are_plain_values(message: model.Message) -> None:
    for again in (
        pickle.loads(pickle.dumps(message)),
        copy.copy(message),
        copy.deepcopy(message),
        msgspec.structs.replace(message),
    ):
        assert exact(again) == exact(message)
        assert again == message
        assert hash(again) == hash(message)
    assert len({message, model.Message.from_binary(message.to_binary(allow_late_events=True))}) == 1
    for event in message.events:
        assert isinstance(event, model.Event)


@given(bat.messages(max_events=3))
def test_values_are_frozen(message: model.Message) -> None:
    for value in (message, *message.events):
        for name in value.__struct_fields__:
            with pytest.raises(AttributeError, match="immutable"):
                setattr(value, name, getattr(value, name))
        with pytest.raises(AttributeError):
            value.anything = 1  # type: ignore[union-attr]


@given(bat.messages(max_events=3))
def test_values_are_equal_by_their_fields(message: model.Message) -> None:
    for event in message.events:
        assert event == msgspec.structs.replace(event)
        assert event != msgspec.structs.replace(event, timestamp=event.timestamp + 1 if event.timestamp < 1e15 else 0.5)
    assert message != model.Message(message.now, (*message.events, model.SimulationEndsEvent()))
    assert message != (message.now, message.events)


def test_values_of_different_types_are_not_equal() -> None:
    assert model.NoReset() != model.NoFiltering()
    assert model.Sum() != model.ArithmeticMean()
    assert model.HostProperty("a", "b") != model.WorkloadAndFilename("a", "b")
    assert model.ChangeHostsPStateEvent(host_ids="", pstate=1) != model.HostsPStateChangedEvent(host_ids="", pstate=1)


@pytest.mark.parametrize("name", [name for name in model.__all__ if name.endswith("Event") and name not in ("Event",)])
def test_events_take_keywords_only(name: str) -> None:
    class_ = getattr(model, name)
    if not issubclass(class_, model.SimulationEndsEvent.__mro__[1]):
        assert class_ in (model.GenericExternalEvent, model.ExternalEvent)
        return
    with pytest.raises(TypeError):
        class_("w0!1")
    with pytest.raises(TypeError, match="has no field"):
        class_(nothing=1)


ATOM = model.KillProgressAtomicProfile("p", 0.5)
SEQUENCES: list[tuple[Any, str, list[Any]]] = [
    (lambda items: model.Message(0.0, items), "events", [model.SimulationEndsEvent()]),
    (lambda items: model.KillJobsEvent(job_ids=items), "job_ids", ["a", "b"]),
    (lambda items: model.JobsKilledEvent(job_ids=items, progresses=()), "job_ids", ["a"]),
    (
        lambda items: model.JobsKilledEvent(job_ids=(), progresses=items),
        "progresses",
        [model.JobAndProgress("j", ATOM)],
    ),
    (lambda items: model.KillProgressForkJoinProfile("p", items), "tasks_progress", [ATOM, ATOM]),
    (lambda items: model.SequentialCompositionProfile(profile_ids=items), "profile_ids", ["a"]),
    (lambda items: model.ForkJoinCompositionProfile(items), "profile_ids", ["a"]),
    (lambda items: model.ParallelTaskMergeCompositionProfile(items), "profile_ids", ["a"]),
    (lambda items: model.LinkResources(items), "link_ids", ["a"]),
    (lambda items: model.CustomExecutorToHostMapping(items), "mapping", [0, 1]),
    (
        lambda items: model.ExecuteJobEvent(
            job_id="j", allocation=model.AllocationPlacement("0"), storage_placement=items
        ),
        "storage_placement",
        [model.StorageHost("s", 1)],
    ),
    (
        lambda items: model.ExecuteJobEvent(
            job_id="j", allocation=model.AllocationPlacement("0"), profile_allocation_override=items
        ),
        "profile_allocation_override",
        [model.ProfileAllocationPlacement("p", "0")],
    ),
    (
        lambda items: model.Host(id=0, name="h", computation_speed=[1], properties=items),
        "properties",
        [model.HostProperty("a", "b")],
    ),
    (lambda items: model.Host(id=0, name="h", computation_speed=[1], zone_properties=items), "zone_properties", []),
]


@pytest.mark.parametrize(("make", "name", "items"), SEQUENCES, ids=[name for _, name, _ in SEQUENCES])
def test_sequences_become_tuples(make: Any, name: str, items: list[Any]) -> None:
    for given_items in (items, tuple(items), iter(items), (item for item in items), dict.fromkeys(items).keys()):
        expected = tuple(dict.fromkeys(items)) if isinstance(given_items, type({}.keys())) else tuple(items)
        assert getattr(make(given_items), name) == expected
        assert type(getattr(make(tuple(items)), name)) is tuple
    assert hash(make(items)) == hash(make(tuple(items)))
    for other in ("text", 7, {"a": 1}):  # left as it is, for encoding to name the field
        assert getattr(make(other), name) == other


VECTORS: list[Any] = [
    lambda values: model.ParallelTaskProfile(values).computation_vector,
    lambda values: model.ParallelTaskProfile(None, values).communication_matrix,
    lambda values: model.VectorialProbeData(values).data,
    lambda values: model.Host(id=0, name="h", computation_speed=values).computation_speed,
]


@pytest.mark.parametrize("held", VECTORS, ids=range(len(VECTORS)))
def test_vectors_become_doubles(held: Any) -> None:
    doubles = model.Doubles([1.0, 2.0])
    assert held(doubles) is doubles
    for values in ([1, 2], (1.0, 2.0), array("d", [1, 2]), np.array([1, 2]), iter([1, 2]), range(1, 3)):
        assert type(held(values)) is model.Doubles
    assert held(range(1, 3)) == doubles
    for other in ("12", ["a"], 7, [10**400]):
        assert held(other) is other
    assert model.ParallelTaskProfile().computation_vector is None


def test_defaults_are_not_shared_by_accident() -> None:
    assert model.Periodic(1) == model.Periodic(1, 0, model.TimeUnit.Second, model.Infinite())
    assert model.OneShot(1) == model.OneShot(1, model.TimeUnit.Second)
    assert model.Job(profile_id="p", resource_request=1) == model.Job(
        resource_request=1, walltime=None, extra_data=None, profile_id="p"
    )


@pytest.mark.parametrize(
    ("message", "path"),
    [
        (model.Message("now"), "now"),  # type: ignore[arg-type]
        (model.Message(0.0, "events"), "events"),  # type: ignore[arg-type]
        (model.Message(0.0, (model.KillJobsEvent(job_ids="w0!1"),)), "events[0].event.job_ids"),  # type: ignore[arg-type]
        (model.Message(0.0, (model.KillJobsEvent(job_ids=("w0!1", 2)),)), "events[0].event.job_ids[1]"),  # type: ignore[arg-type]
        (model.Message(0.0, (model.SimulationEndsEvent(timestamp=None),)), "events[0].timestamp"),  # type: ignore[arg-type]
        (model.Message(0.0, (model.NoReset(),)), "events[0]"),  # type: ignore[arg-type]
        (model.Message(0.0, (model.HostResources("0"),)), "events[0]"),  # type: ignore[arg-type]
    ],
)
def test_constructors_do_not_judge_but_encoding_does(message: model.Message, path: str) -> None:
    for write in (message.to_binary, message.to_json):
        with pytest.raises(EncodeError) as refused:
            write()
        assert refused.value.path == path


def test_values_are_values() -> None:
    for name in model.__all__:
        thing = getattr(model, name)
        if isinstance(thing, type) and issubclass(thing, msgspec.Struct):
            assert issubclass(thing, model.Value)
            assert thing.__struct_config__.frozen
            assert not thing.__struct_config__.gc
