"""Copies of a simulation: all that changes is copied, in both implementations, whatever hangs together how."""

from __future__ import annotations

import copy
import gc
import sys
import types
from collections import deque
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batprotocol import MessageBuilder
from batprotocol.model import DelayProfile, JobSubmittedEvent
from batprotocol.simulator import Observer, Platform, Simulator, StaticJob, Workload
from batprotocol.simulator.copies import FOREIGN, SHARED, copied, copied_in_python, how_to_copy

WITHOUT_ENGINE = True

IS_NATIVE = isinstance(copied, types.BuiltinFunctionType)
WAYS = [copied_in_python, *([copied] if IS_NATIVE else [])]


class Slotted:
    """A class as those of the simulator are."""

    __slots__ = ("first", "second")
    __module__ = "batprotocol.tests"


class Derived(Slotted):
    """With slots of its own, and a dict, too."""

    __slots__ = ("__dict__", "__private", "third")
    __module__ = "batprotocol.tests"

    def put(self, value: Any) -> None:
        self.__private = value

    def get(self) -> Any:
        return self.__private


class Record(msgspec.Struct):
    """A struct that changes."""

    first: Any = None
    second: Any = None


class Pair(NamedTuple):
    """A tuple with a class of its own."""

    first: Any
    second: Any


class Stranger:
    """A class of somebody else, which is copied as `copy.deepcopy` does."""

    def __init__(self) -> None:
        self.first: Any = None
        self.second: Any = None


Record.__module__ = "batprotocol.tests"
ATOMS: tuple[Any, ...] = (None, True, 7, 1.5, "text", b"bytes", DelayProfile(5.0), Pair, len)
KINDS = ("list", "dict", "set", "deque", "tuple", "pair", "slotted", "derived", "record", "stranger")


@st.composite
def graphs(draw: st.DrawFn) -> list[Any]:
    """Objects that lead to one another, and to themselves."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=12))
    made: list[Any] = []
    pick = st.integers(0, 10_000)

    def any_of(values: list[Any]) -> Any:
        number = draw(pick)
        return values[number % len(values)] if values and number % 3 else ATOMS[number % len(ATOMS)]

    for kind in kinds:
        new = {
            "list": list,
            "dict": dict,
            "set": set,
            "deque": lambda: deque(maxlen=draw(pick) % 5 + 2),
            "slotted": Slotted,
            "derived": Derived,
            "record": Record,
            "stranger": Stranger,
        }.get(kind)
        made.append(
            new() if new else (any_of(made), any_of(made)) if kind == "tuple" else Pair(any_of(made), any_of(made))
        )
    for value in made:
        items = [any_of(made) for _ in range(draw(pick) % 4)]
        if isinstance(value, list | deque):
            value.extend(items)
        elif isinstance(value, dict):
            value.update(enumerate(items))
        elif isinstance(value, set):
            value.update(item for item in items if type(item) in (int, float, str, Slotted, Derived))
        elif isinstance(value, Slotted | Record | Stranger):
            for name, item in zip(("first", "second"), items, strict=False):
                setattr(value, name, item)
            if isinstance(value, Derived):
                value.put(any_of(made))
                value.other = any_of(made)  # type: ignore[attr-defined]
    return made


def is_unchanging(value: Any) -> bool:
    """Whether nothing in it can change."""
    if isinstance(value, tuple):
        return all(map(is_unchanging, value))
    return not isinstance(value, list | deque | dict | set | Slotted | Record | Stranger)


def shape(value: Any, seen: dict[int, int]) -> Any:
    """What hangs together how: each object by the number of its first visit, so that equal shapes are isomorphic."""
    if any(value is atom for atom in ATOMS):
        return repr(value)
    if isinstance(value, Slotted):
        names = ("first", "second", "_Derived__private", "other")
        parts = [(name, getattr(value, name)) for name in names if hasattr(value, name)]
    elif isinstance(value, Record | Stranger):
        parts = [("first", value.first), ("second", value.second)]
    elif isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, set):
        return "set", sorted(map(type, value), key=repr) and len(value)
    elif isinstance(value, tuple) and is_unchanging(value):  # copies may have it, or another one
        return repr(value)
    elif isinstance(value, list | deque | tuple):
        parts = list(enumerate(value))
    else:
        return repr(value)
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = len(seen)
    return type(value).__name__, getattr(value, "maxlen", None), [(name, shape(part, seen)) for name, part in parts]


@pytest.mark.parametrize("way", WAYS)
@given(graphs())
def test_copies_hang_together_as_the_originals_do(way: Any, made: list[Any]) -> None:
    kinds = {type(value) for value in made}
    assume(not (Stranger in kinds and kinds & {Pair, Record}))  # copy.deepcopy copies no circles of those
    root = [made]
    result = way(root)
    assert shape(result, {}) == shape(root, {})
    if not kinds & {Pair, Record}:
        assert shape(result, {}) == shape(copy.deepcopy(root), {})
    assert not any(value is other for value, other in zip(made, result[0], strict=True) if not isinstance(value, tuple))


def running(observer: Observer | None = None) -> Simulator:
    """A simulation with jobs that wait, run and have ended."""
    jobs = [StaticJob(str(number), 0.0, 1, f"d{number % 3}", 50.0) for number in range(12)]
    workload = Workload([*jobs, StaticJob("later", 500.0, 1, "d1")], {f"d{n}": DelayProfile(1.0 + n) for n in range(3)})
    simulator = Simulator(Platform.homogeneous(8), [workload], observer=observer)
    builder = MessageBuilder()
    builder.add_edc_hello("me", "1")
    message = simulator.begin(builder.finish_message())
    while not any(isinstance(event, JobSubmittedEvent) for event in message.events):
        following = simulator.turn(MessageBuilder(message.now).finish_message())
        assert following is not None
        message = following
    builder = MessageBuilder(message.now)
    for number in range(6):
        builder.add_execute_job(f"w0!{number}", str(number))
    following = simulator.turn(builder.finish_message())
    assert following is not None
    return simulator


def reachable(root: Any) -> dict[int, Any]:
    """All objects that something holds, as the garbage collector sees them, but for what never changes."""
    found: dict[int, Any] = {}
    todo = [root]
    while todo:
        value = todo.pop()
        if id(value) in found or how_to_copy(type(value), root=True)[0] == SHARED:
            continue
        if isinstance(value, types.GetSetDescriptorType | types.MemberDescriptorType | types.MappingProxyType):
            continue
        found[id(value)] = value
        todo += gc.get_referents(value)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_a_simulation_shares_nothing_that_changes(way: Any) -> None:
    simulator = running()
    original = reachable(simulator)
    made = way(simulator)
    other = reachable(made)
    both = [original[address] for address in original.keys() & other.keys()]
    assert not [value for value in both if not isinstance(value, tuple) and not _is_constant(value)]
    kinds = {type(value).__name__ for value in other.values()}
    assert {"Conversation", "JobRecord", "HostRecord", "SimulatedJob"} <= kinds


def _is_constant(value: Any) -> bool:
    """Whether it is a table of a module, which nothing changes."""
    return any(
        value is constant for name in sys.modules if name.startswith("batprotocol") for constant in _tables(name)
    )


def _tables(name: str) -> list[Any]:
    return [value for value in vars(sys.modules[name]).values() if isinstance(value, dict | list | set)]


@pytest.mark.parametrize("way", WAYS)
def test_both_go_on_alike(way: Any) -> None:
    simulator = running()
    made = way(simulator)
    reply = MessageBuilder(simulator.now).finish_message()
    told = [simulator.turn(reply)]
    for _ in range(4):
        assert told[-1] is not None
        reply = MessageBuilder(told[-1].now).finish_message()
        told.append(simulator.turn(reply))
    again = [made.turn(MessageBuilder(made.now).finish_message())]
    for _ in range(4):
        again.append(made.turn(MessageBuilder(again[-1].now).finish_message()))
    assert again == told


class Watcher(Observer):
    """An observer of somebody's own, which knows the simulator that it watches, and what it has seen."""

    def __init__(self) -> None:
        self.simulator: Any = None
        self.conversation: Any = None
        self.seen: list[Any] = []


@pytest.mark.parametrize("copying", [copy.copy, copy.deepcopy])
def test_observers_are_copied_along(copying: Any) -> None:
    watcher = Watcher()
    simulator = running(watcher)
    watcher.simulator, watcher.conversation = simulator, simulator.conversation
    made = copying(simulator)
    (other,) = [value for value in reachable(made).values() if isinstance(value, Watcher)]
    assert other is not watcher
    assert other.seen is not watcher.seen
    assert other.simulator is made
    assert other.conversation is made.conversation
    both = copy.deepcopy([watcher, simulator])
    assert both[0].simulator is both[1]


def test_what_says_itself_how_it_is_copied_is_asked() -> None:
    assert how_to_copy(Simulator)[0] == FOREIGN
    assert how_to_copy(Simulator, root=True)[0] != FOREIGN
    assert how_to_copy(Stranger)[0] == FOREIGN


@pytest.mark.skipif(not IS_NATIVE, reason="the copier was not compiled")
def test_a_copy_calls_next_to_nothing_of_python() -> None:
    simulator = running()
    copy.deepcopy(simulator)  # each class was looked at
    calls = 0

    def count(frame: types.FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        copy.deepcopy(simulator)
    finally:
        sys.setprofile(None)
    assert calls < 25


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError):
        copied()
    if IS_NATIVE:
        with pytest.raises(TypeError, match="a dict or None"):
            copied(1, 2)
