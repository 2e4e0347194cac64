"""The values by themselves: vectors of doubles, host sets, enums, and what all values have in common."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from array import array
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from exact import exact, one_nan
from hypothesis import given
from hypothesis import strategies as st
from procset import ProcSet

from batprotocol import model
from batprotocol.errors import EncodeError, HostSetError, ProtocolError
from batprotocol.model import (
    AllocationPlacement,
    ChangeHostsPStateEvent,
    CustomExecutorToHostMapping,
    Doubles,
    Event,
    ExecuteJobEvent,
    FinalJobState,
    Host,
    HostProperty,
    HostResources,
    HostsPStateChangedEvent,
    HostsTurnedOnOffEvent,
    Job,
    JobAndProgress,
    JobsKilledEvent,
    KillJobsEvent,
    KillProgressAtomicProfile,
    KillProgressForkJoinProfile,
    LinkResources,
    Message,
    OneShot,
    ParallelTaskProfile,
    Periodic,
    ProfileAllocationPlacement,
    ProtocolEnum,
    SequentialCompositionProfile,
    SimulationEndsEvent,
    StorageHost,
    TimeUnit,
    TurnOnOffHostsEvent,
    Value,
    VectorialProbeData,
    format_hosts,
    parse_hosts,
)
from batprotocol.testing import strategies as bat

floats = st.lists(bat.float64s(allow_nan=True), max_size=20)
numbers = st.lists(bat.float64s(), max_size=20)

# Doubles


@given(floats)
def test_doubles_hold_what_they_are_given(values: list[float]) -> None:
    doubles = Doubles(values)
    assert len(doubles) == len(values)
    assert exact(tuple(doubles)) == exact(tuple(values)) == exact(tuple(doubles[i] for i in range(len(values))))
    for other in (Doubles(iter(values)), Doubles(doubles), Doubles(tuple(values)), Doubles(array("d", values))):
        assert other.to_bytes() == doubles.to_bytes()
    assert Doubles.from_bytes(doubles.to_bytes()).to_bytes() == doubles.to_bytes()
    assert doubles.to_bytes() == np.array(values, "<f8").tobytes()


@given(numbers, numbers)
def test_doubles_are_equal_to_the_same_numbers(values: list[float], others: list[float]) -> None:
    same = values == others
    for make in (Doubles, list, tuple, lambda numbers: array("d", numbers), lambda numbers: Doubles(numbers).view):
        assert (Doubles(values) == make(others)) is same
        assert (Doubles(values) != make(others)) is not same
        assert Doubles(values) == make(values)
        assert make(values) == Doubles(values)


@given(floats)
def test_doubles_with_nan_are_equal_to_themselves(values: list[float]) -> None:
    assert Doubles(values) == Doubles(values)
    assert hash(Doubles(values)) == hash(Doubles(values))
    assert (Doubles(values) == values) is not any(map(math.isnan, values))


@pytest.mark.parametrize("other", ["", "1.0", b"", bytearray(), 1.0, None, {1.0}, {1.0: 1.0}, [1.0], [1.0, 2.0, 3.0]])
def test_doubles_are_not_equal_to_other_things(other: Any) -> None:
    assert Doubles([1.0, 2.0]) != other
    assert Doubles() != other
    assert (Doubles() == []) is True


@given(numbers)
def test_doubles_hash_as_the_tuple_that_they_are_equal_to(values: list[float]) -> None:
    assert hash(Doubles(values)) == hash(tuple(values))
    assert {Doubles(values): 1}[tuple(values)] == 1  # type: ignore[index]


@given(numbers)
def test_doubles_hash_equal_when_equal_in_spite_of_zeros(values: list[float]) -> None:
    flipped = [-number if number == 0 else number for number in values]
    assert Doubles(values) == Doubles(flipped)
    assert hash(Doubles(values)) == hash(Doubles(flipped))


@given(floats, st.data())
def test_doubles_are_indexed_and_sliced_as_tuples(values: list[float], data: st.DataObject) -> None:
    doubles = Doubles(values)
    cut = data.draw(st.slices(len(values)))
    assert type(doubles[cut]) is Doubles
    assert exact(tuple(doubles[cut])) == exact(tuple(values[cut]))
    index = data.draw(st.integers(-25, 25))
    if -len(values) <= index < len(values):
        assert exact(doubles[index]) == exact(values[index])
    else:
        with pytest.raises(IndexError, match=f"index {index} out of range for {len(values)} numbers"):
            doubles[index]


def test_doubles_are_sequences() -> None:
    doubles = Doubles([1, 2.5, 2.5, math.inf])
    assert isinstance(doubles, Sequence)
    assert list(reversed(doubles)) == [math.inf, 2.5, 2.5, 1.0]
    assert (doubles.index(2.5), doubles.count(2.5), 2.5 in doubles, 3.0 in doubles) == (1, 2, True, False)
    assert all(type(number) is float for number in doubles)
    assert not Doubles()
    assert doubles


@given(floats)
def test_numpy_sees_doubles_without_a_copy(values: list[float]) -> None:
    doubles = Doubles(values)
    seen = np.asarray(doubles)
    assert (seen.dtype, seen.shape, seen.tobytes()) == (np.dtype("<f8"), (len(values),), doubles.to_bytes())
    again = np.asarray(doubles.view)
    if values:
        address = seen.__array_interface__["data"]
        assert address[0] == again.__array_interface__["data"][0] == np.asarray(doubles).__array_interface__["data"][0]
        assert address[1] is True
        for array_seen in (seen, again):
            with pytest.raises(ValueError, match="read-only"):
                array_seen[0] = 1.0
    assert Doubles(seen).to_bytes() == doubles.to_bytes()


@given(floats)
def test_the_view_of_doubles_is_read_only(values: list[float]) -> None:
    view = Doubles(values).view
    assert (view.format, view.itemsize, len(view), view.readonly) == ("d", 8, len(values), True)
    assert exact(tuple(view)) == exact(tuple(values))


def test_doubles_outlive_what_they_were_made_of() -> None:
    source = array("d", [1.0, 2.0])
    doubles = Doubles(source)
    view, seen = doubles.view, np.asarray(doubles)
    source[0] = 9.0
    del doubles
    assert (list(view), list(seen)) == ([1.0, 2.0], [1.0, 2.0])


@pytest.mark.parametrize("name", ["_bytes", "view", "anything"])
def test_doubles_cannot_be_changed(name: str) -> None:
    doubles = Doubles([1.0])
    with pytest.raises(AttributeError, match="read-only"):
        setattr(doubles, name, b"")
    with pytest.raises(AttributeError, match="read-only"):
        delattr(doubles, name)
    with pytest.raises(TypeError):
        doubles[0] = 2.0  # type: ignore[index]
    assert doubles == [1.0]


@given(floats)
def test_doubles_are_copied_and_pickled(values: list[float]) -> None:
    doubles = Doubles(values)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(doubles, protocol))
        assert (type(again), again.to_bytes()) == (Doubles, doubles.to_bytes())
    assert copy.copy(doubles).to_bytes() == copy.deepcopy(doubles).to_bytes() == doubles.to_bytes()


@given(floats)
def test_the_repr_of_doubles_is_short(values: list[float]) -> None:
    shown = repr(Doubles(values))
    if len(values) <= 12:
        again = eval(shown, {"Doubles": Doubles, "inf": math.inf, "nan": math.nan})
        assert exact(again, one_nan) == exact(Doubles(values), one_nan)
    else:
        assert shown.endswith(f", ... {len(values) - 6} more])")
    assert len(repr(Doubles(range(10_000)))) < 100


@pytest.mark.parametrize("given_values", [["a"], [None], [1, "2"], 5, None, [10**400]])
def test_what_is_no_vector_of_doubles_is_refused(given_values: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        Doubles(given_values)


@pytest.mark.parametrize("size", [1, 7, 9, 15])
def test_odd_bytes_are_no_doubles(size: int) -> None:
    with pytest.raises(ValueError, match=f"a vector of doubles takes a multiple of 8 bytes, got {size}"):
        Doubles.from_bytes(bytes(size))


# Host sets

host_ids = st.one_of(st.integers(0, 40), st.integers(0, 2**32 - 1))
host_sets = st.sets(host_ids, max_size=30)
intervals = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5)), max_size=12)


def written(hosts: set[int]) -> str:
    """The canonical string, from a model that knows nothing of interval sets."""
    parts = []
    for host in sorted(hosts):
        if host - 1 not in hosts:
            last = next(end for end in itertools.count(host) if end + 1 not in hosts)
            parts.append(str(host) if last == host else f"{host}-{last}")
    return " ".join(parts)


@given(host_sets)
def test_host_sets_are_written_in_canonical_form(hosts: set[int]) -> None:
    expected = written(hosts)
    for form in (hosts, sorted(hosts), tuple(hosts), ProcSet(*hosts), np.array(sorted(hosts), np.int64), iter(hosts)):
        assert format_hosts(form) == expected
    assert format_hosts(expected) == expected
    assert format_hosts(list(hosts) * 2) == expected
    assert set(parse_hosts(expected)) == hosts


@given(intervals, st.data())
def test_host_sets_are_read_in_any_form(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    separators = st.sampled_from((" ", ",", ", ", "  ", " ,", "\t", "\n"))
    text = data.draw(st.sampled_from(("", " ", ",")))
    for first, size in pairs:
        single = size == 0 and data.draw(st.booleans())
        text += (str(first) if single else f"{first}-{first + size}") + data.draw(separators)
    hosts = {host for first, size in pairs for host in range(first, first + size + 1)}
    found = parse_hosts(text)
    assert type(found) is ProcSet
    assert set(found) == hosts
    assert format_hosts(text) == written(hosts)


@given(bat.host_sets(canonical=True))
def test_canonical_strings_stay_as_they_are(text: str) -> None:
    assert format_hosts(text) == text


@given(bat.host_sets())
def test_any_text_is_a_host_set_or_refused(text: str) -> None:
    try:
        found = parse_hosts(text)
    except HostSetError:
        with pytest.raises(HostSetError, match="is not a host set"):
            format_hosts(text)
    else:
        assert parse_hosts(format_hosts(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        "-1",
        "1-",
        "-",
        "1--2",
        "3-1",
        "a",
        "1.0",
        "+1",
        "0x10",
        "1_0",
        "٣",
        "1-2-3",
        "all",
        "1;2",
        "9" * 25,
        "1-" + "9" * 25,
    ],
)
def test_texts_that_are_no_host_sets(text: str) -> None:
    for form in (text, f"0 {text}", f"{text},5"):
        with pytest.raises(HostSetError, match="is not a host set"):
            parse_hosts(form)
        with pytest.raises(HostSetError, match="is not a host set"):
            format_hosts(form)


@pytest.mark.parametrize(
    "hosts", [-1, [-1], [1, -5], ["1"], [1.0], [None], [True], True, None, 1.5, b"1", {1: 2}, object()]
)
def test_things_that_are_no_host_sets(hosts: Any) -> None:
    with pytest.raises(HostSetError):
        format_hosts(hosts)
    with pytest.raises(HostSetError):
        HostResources(hosts)


def test_host_set_errors_are_both_kinds() -> None:
    assert issubclass(HostSetError, ProtocolError)
    assert issubclass(HostSetError, ValueError)
    with pytest.raises(HostSetError) as refused:
        parse_hosts("1 " * 500 + "x")
    assert len(str(refused.value)) < 200


HOLDERS: list[Any] = [
    lambda hosts: AllocationPlacement(hosts).host_allocation,
    lambda hosts: ProfileAllocationPlacement("p", hosts).host_allocation,
    lambda hosts: HostResources(hosts).host_ids,
    lambda hosts: ChangeHostsPStateEvent(host_ids=hosts, pstate=1).host_ids,
    lambda hosts: HostsPStateChangedEvent(host_ids=hosts, pstate=1).host_ids,
    lambda hosts: TurnOnOffHostsEvent(host_ids=hosts, state=1).host_ids,
    lambda hosts: HostsTurnedOnOffEvent(host_ids=hosts, state=1).host_ids,
]


@pytest.mark.parametrize("held", HOLDERS, ids=range(len(HOLDERS)))
def test_values_write_host_sets_and_leave_strings(held: Any) -> None:
    assert held([3, 1, 2, 8]) == held({1, 2, 3, 8}) == held(ProcSet((1, 3), 8)) == "1-3 8"
    assert (held(5), held([]), held(range(4)), held(np.int32(7))) == ("5", "", "0-3", "7")
    assert (held("3 1"), held("whatever"), held("")) == ("3 1", "whatever", "")


@pytest.mark.parametrize(
    "value",
    [
        AllocationPlacement("0-3 8"),
        ProfileAllocationPlacement("p", "0-3 8"),
        HostResources("0-3 8"),
        ChangeHostsPStateEvent(host_ids="0-3 8", pstate=1),
        HostsPStateChangedEvent(host_ids="0-3 8", pstate=1),
        TurnOnOffHostsEvent(host_ids="0-3 8", state=1),
        HostsTurnedOnOffEvent(host_ids="0-3 8", state=1),
    ],
)
def test_hosts_are_a_set_on_request(value: Any) -> None:
    assert value.hosts == ProcSet((0, 3), 8)
    name = "host_allocation" if hasattr(value, "host_allocation") else "host_ids"
    with pytest.raises(HostSetError):
        _ = msgspec.structs.replace(value, **{name: "5-1"}).hosts


# Enums


@pytest.mark.parametrize("enum", ProtocolEnum.__subclasses__())
def test_enums_have_a_member_for_each_signed_byte(enum: type[ProtocolEnum]) -> None:
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
        TimeUnit(number)


def test_unknown_members_have_no_name_to_find() -> None:
    assert TimeUnit(7).name == "7"
    assert not hasattr(TimeUnit, "7")
    with pytest.raises(KeyError):
        TimeUnit["7"]
    assert TimeUnit(0) is TimeUnit.Second
    assert FinalJobState(7) == TimeUnit(7) == 7
    assert FinalJobState(7) is not TimeUnit(7)


# All values


@given(bat.messages(chronological=False))
def test_messages_are_plain_values(message: Message) -> None:
    for again in (
        pickle.loads(pickle.dumps(message)),
        copy.copy(message),
        copy.deepcopy(message),
        msgspec.structs.replace(message),
    ):
        assert exact(again) == exact(message)
        assert again == message
        assert hash(again) == hash(message)
    assert len({message, Message.from_binary(message.to_binary())}) == 1
    for event in message.events:
        assert isinstance(event, Event)


@given(bat.messages(max_events=3))
def test_values_are_frozen(message: Message) -> None:
    for value in (message, *message.events):
        for name in value.__struct_fields__:
            with pytest.raises(AttributeError, match="immutable"):
                setattr(value, name, getattr(value, name))
        with pytest.raises(AttributeError):
            value.anything = 1  # type: ignore[union-attr]


@given(bat.messages(max_events=3))
def test_values_are_equal_by_their_fields(message: Message) -> None:
    for event in message.events:
        assert event == msgspec.structs.replace(event)
        assert event != msgspec.structs.replace(event, timestamp=event.timestamp + 1 if event.timestamp < 1e15 else 0.5)
    assert message != Message(message.now, (*message.events, SimulationEndsEvent()))
    assert message != (message.now, message.events)


def test_values_of_different_types_are_not_equal() -> None:
    assert model.NoReset() != model.NoFiltering()
    assert model.Sum() != model.ArithmeticMean()
    assert HostProperty("a", "b") != model.WorkloadAndFilename("a", "b")
    assert ChangeHostsPStateEvent(host_ids="", pstate=1) != HostsPStateChangedEvent(host_ids="", pstate=1)


@pytest.mark.parametrize("name", [name for name in model.__all__ if name.endswith("Event") and name not in ("Event",)])
def test_events_take_keywords_only(name: str) -> None:
    class_ = getattr(model, name)
    if not issubclass(class_, model.SimulationEndsEvent.__mro__[1]):
        assert class_ in (model.GenericExternalEvent, model.ExternalEvent)
        return
    with pytest.raises(TypeError):
        class_("w0!1")
    with pytest.raises(TypeError, match=r"[Uu]nexpected keyword argument"):
        class_(nothing=1)


ATOM = KillProgressAtomicProfile("p", 0.5)
SEQUENCES: list[tuple[Any, str, list[Any]]] = [
    (lambda items: Message(0.0, items), "events", [SimulationEndsEvent()]),
    (lambda items: KillJobsEvent(job_ids=items), "job_ids", ["a", "b"]),
    (lambda items: JobsKilledEvent(job_ids=items, progresses=()), "job_ids", ["a"]),
    (lambda items: JobsKilledEvent(job_ids=(), progresses=items), "progresses", [JobAndProgress("j", ATOM)]),
    (lambda items: KillProgressForkJoinProfile("p", items), "tasks_progress", [ATOM, ATOM]),
    (lambda items: SequentialCompositionProfile(profile_ids=items), "profile_ids", ["a"]),
    (lambda items: model.ForkJoinCompositionProfile(items), "profile_ids", ["a"]),
    (lambda items: model.ParallelTaskMergeCompositionProfile(items), "profile_ids", ["a"]),
    (lambda items: LinkResources(items), "link_ids", ["a"]),
    (lambda items: CustomExecutorToHostMapping(items), "mapping", [0, 1]),
    (
        lambda items: ExecuteJobEvent(job_id="j", allocation=AllocationPlacement("0"), storage_placement=items),
        "storage_placement",
        [StorageHost("s", 1)],
    ),
    (
        lambda items: ExecuteJobEvent(
            job_id="j", allocation=AllocationPlacement("0"), profile_allocation_override=items
        ),
        "profile_allocation_override",
        [ProfileAllocationPlacement("p", "0")],
    ),
    (
        lambda items: Host(id=0, name="h", computation_speed=[1], properties=items),
        "properties",
        [HostProperty("a", "b")],
    ),
    (lambda items: Host(id=0, name="h", computation_speed=[1], zone_properties=items), "zone_properties", []),
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
    lambda values: ParallelTaskProfile(values).computation_vector,
    lambda values: ParallelTaskProfile(None, values).communication_matrix,
    lambda values: VectorialProbeData(values).data,
    lambda values: Host(id=0, name="h", computation_speed=values).computation_speed,
]


@pytest.mark.parametrize("held", VECTORS, ids=range(len(VECTORS)))
def test_vectors_become_doubles(held: Any) -> None:
    doubles = Doubles([1.0, 2.0])
    assert held(doubles) is doubles
    for values in ([1, 2], (1.0, 2.0), array("d", [1, 2]), np.array([1, 2]), iter([1, 2]), range(1, 3)):
        assert type(held(values)) is Doubles
    assert held(range(1, 3)) == doubles
    for other in ("12", ["a"], 7, [10**400]):
        assert held(other) is other
    assert ParallelTaskProfile().computation_vector is None


def test_defaults_are_not_shared_by_accident() -> None:
    assert Periodic(1) == Periodic(1, 0, TimeUnit.Second, model.Infinite())
    assert OneShot(1) == OneShot(1, TimeUnit.Second)
    assert Job(profile_id="p", resource_request=1) == Job(
        resource_request=1, walltime=None, extra_data=None, profile_id="p"
    )


@pytest.mark.parametrize(
    ("message", "path"),
    [
        (Message("now"), "now"),  # type: ignore[arg-type]
        (Message(0.0, "events"), "events"),  # type: ignore[arg-type]
        (Message(0.0, (KillJobsEvent(job_ids="w0!1"),)), "events[0].event.job_ids"),  # type: ignore[arg-type]
        (Message(0.0, (KillJobsEvent(job_ids=("w0!1", 2)),)), "events[0].event.job_ids[1]"),  # type: ignore[arg-type]
        (Message(0.0, (SimulationEndsEvent(timestamp=None),)), "events[0].timestamp"),  # type: ignore[arg-type]
        (Message(0.0, (model.NoReset(),)), "events[0]"),  # type: ignore[arg-type]
        (Message(0.0, (HostResources("0"),)), "events[0]"),  # type: ignore[arg-type]
    ],
)
def test_constructors_do_not_judge_but_encoding_does(message: Message, path: str) -> None:
    for write in (message.to_binary, message.to_json):
        with pytest.raises(EncodeError) as refused:
            write()
        assert refused.value.path == path


def test_values_are_values() -> None:
    for name in model.__all__:
        thing = getattr(model, name)
        if isinstance(thing, type) and issubclass(thing, msgspec.Struct):
            assert issubclass(thing, Value)
            assert thing.__struct_config__.frozen
            assert not thing.__struct_config__.gc
