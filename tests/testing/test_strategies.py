"""The strategies: one for each type, and the awkward truly comes up."""

from __future__ import annotations

import copy
import inspect
import math
import os
import re
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support import snake

from batprotocol import model
from batprotocol.model import BATSIM_TO_EDC, EDC_TO_BATSIM, Direction, Doubles, Message, ProtocolEnum, Value
from batprotocol.policies import Policy
from batprotocol.simulator import simulate
from batprotocol.testing import simulations
from batprotocol.testing import strategies as bat

WITHOUT_ENGINE = True

ENUMS = ProtocolEnum.__subclasses__()
STRATEGIES: dict[type[Any], Callable[..., st.SearchStrategy[Any]]] = {**bat.EVENT_STRATEGIES, **bat.VALUE_STRATEGIES}
UNIONS: dict[str, Callable[..., st.SearchStrategy[Any]]] = {
    "ExecutorPlacement": bat.executor_placements,
    "ExternalEvent": bat.external_events,
    "KillProgress": bat.kill_progresses,
    "PeriodicMode": bat.periodic_modes,
    "ProbeData": bat.probe_data,
    "ProbeDataAccumulationStrategy": bat.probe_data_accumulation_strategies,
    "ProbeEmissionFilteringPolicy": bat.probe_emission_filtering_policies,
    "Profile": bat.profiles,
    "ResetMode": bat.reset_modes,
    "Resources": bat.resources,
    "ResourcesAggregationFunction": bat.resources_aggregation_functions,
    "TemporalAggregationFunction": bat.temporal_aggregation_functions,
    "TemporalTrigger": bat.temporal_triggers,
}
MEMBERS = [
    (union, kind) for union in UNIONS for kind in typing.get_args(getattr(model, union)) or [model.ExternalEvent]
]

thorough = settings(max_examples=5000, database=None, derandomize=True, phases=[Phase.generate])


class Reached(BaseException):
    """No `Exception`, so that it leaves hypothesis at once, without a replay and without showing a thousand hosts."""


def reach(strategy: st.SearchStrategy[Any], predicate: Callable[[Any], bool]) -> None:
    """Fail unless the strategy makes a value of which the predicate is true."""

    @thorough
    @given(strategy)
    def search(value: Any) -> None:
        if predicate(value):
            raise Reached

    with pytest.raises(Reached):
        search()


def parts(value: Any) -> Iterator[Any]:
    """The value and all that it holds."""
    yield value
    if isinstance(value, Value):
        for name in value.__struct_fields__:
            yield from parts(getattr(value, name))
    elif isinstance(value, tuple | Doubles):
        for item in value:
            yield from parts(item)


def is_nan(part: Any) -> bool:
    return isinstance(part, float) and math.isnan(part)


HINTS: dict[Any, dict[str, Any]] = {kind: typing.get_type_hints(kind, localns=vars(model)) for kind in STRATEGIES}


def conforms(value: Any, hint: Any) -> bool:
    """Whether the value and all that it holds are of exactly the annotated types, and what the wire can hold."""
    members = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        return type(value) is tuple and all(conforms(item, members[0]) for item in value)
    if members:
        return any(conforms(value, member) for member in members)
    if type(value) is not hint:
        return False
    if isinstance(value, Value):
        return all(conforms(getattr(value, name), HINTS[hint][name]) for name in value.__struct_fields__)
    if isinstance(value, str):
        return value.encode().decode() == value
    return not isinstance(value, ProtocolEnum) or -128 <= value <= 127


def plural(name: str) -> str:
    if name.endswith(("data", "resources", "features")):
        return name
    return name[:-1] + "ies" if name.endswith("y") else name + ("es" if name.endswith("ss") else "s")


def depth(progress: model.KillProgress) -> int:
    inner: tuple[model.KillProgress, ...] = ()
    if isinstance(progress, model.KillProgressSequentialProfile):
        inner = (progress.current_task_progress,)
    elif isinstance(progress, model.KillProgressForkJoinProfile):
        inner = progress.tasks_progress
    return 1 + max(map(depth, inner), default=0)


# One for each type


def test_every_type_has_a_strategy() -> None:
    values = {kind for kind in vars(model).values() if inspect.isclass(kind) and issubclass(kind, Value)} - {Value}
    assert set(bat.EVENT_STRATEGIES) == {*BATSIM_TO_EDC, *EDC_TO_BATSIM} == set(typing.get_args(model.Event))
    assert set(bat.VALUE_STRATEGIES) == values - set(bat.EVENT_STRATEGIES)


@pytest.mark.parametrize("name", [*(kind.__name__ for kind in STRATEGIES), *UNIONS, "Event", "Doubles"])
def test_names_follow_the_schema(name: str) -> None:
    function = getattr(bat, plural(snake(name)) if name != "Doubles" else "doubles")
    named = {kind.__name__: strategy for kind, strategy in STRATEGIES.items()} | UNIONS | {"Event": bat.events}
    assert named.get(name, bat.doubles) is function


def test_all_that_is_public_is_documented() -> None:
    public = {name for name, thing in vars(bat).items() if inspect.isfunction(thing) and not name.startswith("_")}
    public = {name for name in public if getattr(bat, name).__module__.startswith(bat.__name__)}
    assert public == {name for name in bat.__all__ if not name.isupper()}
    assert all(getattr(bat, name).__doc__ for name in public)


@pytest.mark.parametrize("kind", STRATEGIES, ids=lambda kind: kind.__name__)
@settings(max_examples=max(2, settings().max_examples // 7))
@given(data=st.data())
def test_values_are_of_their_type_and_without_nan(kind: type[Value], data: st.DataObject) -> None:
    value = data.draw(STRATEGIES[kind]())
    assert conforms(value, kind)
    assert not any(map(is_nan, parts(value)))
    assert copy.copy(value) == value
    assert hash(copy.copy(value)) == hash(value)


@given(bat.messages(chronological=False, allow_nan=True))
def test_values_with_nan_are_of_their_type_too(message: Message) -> None:
    assert conforms(message, Message)


# Unions, enums, directions


@pytest.mark.parametrize(("union", "kind"), MEMBERS, ids=lambda thing: getattr(thing, "__name__", thing))
def test_every_union_member_comes_up(union: str, kind: type) -> None:
    reach(UNIONS[union](), lambda value: type(value) is kind)


@pytest.mark.parametrize("kind", ENUMS, ids=lambda kind: kind.__name__)
def test_every_enum_number_comes_up(kind: type[ProtocolEnum]) -> None:
    for member in kind:
        reach(bat.enums(kind), member.__eq__)
    reach(bat.enums(kind), lambda value: not value.known and value > 0)
    reach(bat.enums(kind), lambda value: not value.known and value < 0)


@given(st.sampled_from(ENUMS).flatmap(lambda kind: bat.enums(kind, known_only=True)))
def test_known_enum_numbers_only(member: ProtocolEnum) -> None:
    assert member.known


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("directions", "types"),
    [
        ((Direction.BATSIM_TO_EDC, "b2e"), BATSIM_TO_EDC),
        ((Direction.EDC_TO_BATSIM, "e2b"), EDC_TO_BATSIM),
        ((None,), BATSIM_TO_EDC + EDC_TO_BATSIM),
    ],
)
def test_directions_are_respected(directions: Sequence[Direction | str | None], types: tuple[type, ...]) -> None:
    (strategy,) = {bat.events(direction) for direction in directions}
    missing = set(types)

    @thorough
    @given(strategy)
    def collect(event: model.Event) -> None:
        assert type(event) in types
        missing.discard(type(event))
        if not missing:
            raise Reached

    with pytest.raises(Reached):
        collect()


@given(bat.messages("b2e"), bat.messages(Direction.EDC_TO_BATSIM))
def test_messages_go_one_way(to_component: Message, to_batsim: Message) -> None:
    assert {type(event) for event in to_component.events} <= set(BATSIM_TO_EDC)
    assert {type(event) for event in to_batsim.events} <= set(EDC_TO_BATSIM)


@pytest.mark.parametrize("make", [bat.events, bat.messages])
@pytest.mark.parametrize("direction", ["", "E2B", "edc", 1, b"b2e"])
def test_other_directions_are_refused(make: Callable[..., Any], direction: Any) -> None:
    with pytest.raises(ValueError, match=r"a direction is a Direction, 'b2e', 'e2b' or None for both, got "):
        make(direction)


# The awkward

AWKWARD: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], bool]]] = {
    "empty text": (bat.texts(), lambda text: text == ""),
    "non-ASCII text": (bat.texts(), lambda text: not text.isascii()),
    "astral text": (bat.texts(), lambda text: any(ord(character) > 0xFFFF for character in text)),
    "NUL in a text": (bat.texts(), lambda text: "\x00" in text),
    "quote in a text": (bat.texts(), lambda text: '"' in text),
    "backslash in a text": (bat.texts(), lambda text: "\\" in text),
    "control character in a text": (bat.texts(), lambda text: any(0 < ord(character) < 32 for character in text)),
    "long text": (bat.texts(), lambda text: len(text) > 1000),
    "long non-ASCII text": (bat.texts(), lambda text: len(text) > 1000 and not text.isascii()),
    "job id as usual": (bat.job_ids(), lambda text: bool(re.fullmatch(r"w[0-9]+![0-9]+", text))),
    "non-ASCII job id": (bat.job_ids(), lambda text: not text.isascii()),
    "empty job id": (bat.job_ids(), lambda text: text == ""),
    "job id without !": (bat.job_ids(), lambda text: text != "" and "!" not in text),
    "job id with two !": (bat.job_ids(), lambda text: text.count("!") == 2),
    "bare profile id": (bat.profile_ids(), lambda text: text == "delay10"),
    "non-ASCII profile id": (bat.profile_ids(), lambda text: not text.isascii()),
    "empty host set": (bat.host_sets(), lambda text: text == ""),
    "host set with commas": (bat.host_sets(), lambda text: "," in text),
    "descending host set": (bat.host_sets(), lambda text: text == "5-3"),
    "many intervals": (bat.host_sets(canonical=True), lambda text: text.count(" ") > 200),
    "smallest uint32": (bat.uint32s(), lambda number: number == 0),
    "largest uint32": (bat.uint32s(), lambda number: number == 2**32 - 1),
    "largest uint64": (bat.uint64s(), lambda number: number == 2**64 - 1),
    "uint64 that no double holds": (bat.uint64s(), lambda number: number == 2**53 + 1),
    "smallest int32": (bat.int32s(), lambda number: number == -(2**31)),
    "largest int32": (bat.int32s(), lambda number: number == 2**31 - 1),
    "infinity": (bat.float64s(), lambda number: number == math.inf),
    "minus infinity": (bat.float64s(), lambda number: number == -math.inf),
    "minus zero": (bat.float64s(), lambda number: number == 0 and math.copysign(1, number) == -1),
    "smallest double": (bat.float64s(), lambda number: number == 5e-324),
    "largest double": (bat.float64s(), lambda number: number == sys.float_info.max),
    "empty doubles": (bat.doubles(), lambda vector: len(vector) == 0),
    "huge doubles": (bat.doubles(), lambda vector: len(vector) > 1000),
    "NaN with a payload": (
        bat.doubles(allow_nan=True),
        lambda vector: any(is_nan(number) and Doubles([number]) != Doubles([math.nan]) for number in vector),
    ),
    "no job to kill": (bat.kill_jobs_events(), lambda event: event.job_ids == ()),
    "many jobs to kill": (bat.kill_jobs_events(), lambda event: len(event.job_ids) > 1000),
    "many jobs killed": (bat.jobs_killed_events(), lambda event: len(event.progresses) > 1000),
    "no profiles": (bat.jobs_killed_events(), lambda event: event.profiles == ()),
    "profiles absent": (bat.jobs_killed_events(), lambda event: event.profiles is None),
    "no host": (bat.simulation_begins_events(), lambda event: event.computation_hosts == ()),
    "many hosts": (bat.simulation_begins_events(), lambda event: len(event.computation_hosts) > 1000),
    "many overrides": (bat.execute_job_events(), lambda event: len(event.profile_allocation_override or ()) > 1000),
    "overrides absent": (bat.execute_job_events(), lambda event: event.profile_allocation_override is None),
    "storages empty": (bat.execute_job_events(), lambda event: event.storage_placement == ()),
    "many executors": (bat.custom_executor_to_host_mappings(), lambda value: len(value.mapping) > 1000),
    "walltime absent": (bat.jobs(), lambda job: job.walltime is None),
    "walltime 0": (bat.jobs(), lambda job: job.walltime == 0.0),
    "extra data absent": (bat.jobs(), lambda job: job.extra_data is None),
    "extra data empty": (bat.jobs(), lambda job: job.extra_data == ""),
    "vector absent": (bat.parallel_task_profiles(), lambda profile: profile.computation_vector is None),
    "vector empty": (bat.parallel_task_profiles(), lambda profile: profile.computation_vector == ()),
    "hello without a commit": (bat.edc_hello_events(), lambda event: event.decision_component_commit is None),
    "hello with an empty commit": (bat.edc_hello_events(), lambda event: event.decision_component_commit == ""),
    "repetition count at its default": (
        bat.sequential_composition_profiles(),
        lambda profile: profile.repetition_count == 1,
    ),
    "repetition count 0": (bat.sequential_composition_profiles(), lambda profile: profile.repetition_count == 0),
    "no task in a fork-join": (
        bat.kill_progress_fork_join_profiles(),
        lambda progress: progress.tasks_progress == (),
    ),
    "deep kill progress": (bat.kill_progresses(), lambda progress: depth(progress) >= 10),
    "deepest kill progress": (bat.kill_progresses(), lambda progress: depth(progress) == bat.DEEPEST_KILL_PROGRESS),
    "deep kill progress of a killed job": (
        bat.jobs_killed_events(),
        lambda event: max((depth(progress.wrapper) for progress in event.progresses), default=0) >= 10,
    ),
    "message without events": (bat.messages(), lambda message: message.events == ()),
    "message of many events": (bat.messages(), lambda message: len(message.events) > 1000),
    "now later than all events": (
        bat.messages(),
        lambda message: bool(message.events) and message.now > message.events[-1].timestamp,
    ),
    "two events at one time": (
        bat.messages(),
        lambda message: len({event.timestamp for event in message.events}) < len(message.events),
    ),
    "events in any order": (
        bat.messages(chronological=False),
        lambda message: len(message.events) > 1 and message.events[0].timestamp > message.events[1].timestamp,
    ),
    "infinite now": (bat.messages(chronological=False), lambda message: math.isinf(message.now)),
}


RARE = {"deepest kill progress", "many overrides", "many hosts", "many jobs killed"}
"""What comes up among hundreds of large values only."""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=pytest.mark.minutes if what in RARE else ()) for what in AWKWARD]
)
def test_the_awkward_comes_up(what: str) -> None:
    reach(*AWKWARD[what])


NUMBERED = [kind for kind, make in STRATEGIES.items() if "allow_nan" in inspect.signature(make).parameters]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("kind", NUMBERED, ids=lambda kind: kind.__name__)
def test_nan_comes_up_when_asked_for(kind: type[Value]) -> None:
    reach(STRATEGIES[kind](allow_nan=True), lambda value: any(map(is_nan, parts(value))))


def test_every_event_can_hold_nan() -> None:
    assert set(bat.EVENT_STRATEGIES) <= set(NUMBERED)


# The knobs


@given(bat.host_sets(canonical=True))
def test_canonical_host_sets(text: str) -> None:
    assert model.format_hosts(text) == text


@settings(max_examples=max(2, settings().max_examples // 4))
@given(st.data(), st.integers(1, 35), st.integers(0, 5))
def test_kill_progress_is_as_deep_as_told(data: st.DataObject, shallowest: int, more: int) -> None:
    progress = data.draw(bat.kill_progresses(min_depth=shallowest, max_depth=shallowest + more))
    assert shallowest <= depth(progress) <= shallowest + more


@given(
    st.one_of(bat.kill_progresses(), bat.kill_progress_sequential_profiles(), bat.kill_progress_fork_join_profiles())
)
def test_kill_progress_is_never_deeper_than_a_message_carries(progress: model.KillProgress) -> None:
    assert depth(progress) <= bat.DEEPEST_KILL_PROGRESS


@pytest.mark.parametrize(("shallowest", "deepest"), [(0, 3), (4, 3), (-1, -1)])
def test_impossible_depths_are_refused(shallowest: int, deepest: int) -> None:
    with pytest.raises(ValueError, match="expected 1 <= min_depth <= max_depth"):
        bat.kill_progresses(min_depth=shallowest, max_depth=deepest)


@settings(suppress_health_check=[])  # neither slow nor large by the measure of hypothesis
@given(bat.messages())
def test_messages_are_chronological(message: Message) -> None:
    times = [event.timestamp for event in message.events]
    assert times == sorted(times)
    assert all(0 <= time <= message.now < math.inf for time in times)


@pytest.mark.parametrize("most", [0, 1, 3])
@settings(max_examples=min(50, settings().max_examples))
@given(data=st.data())
def test_messages_hold_no_more_events_than_told(most: int, data: st.DataObject) -> None:
    assert len(data.draw(bat.messages(max_events=most)).events) <= most


def test_a_negative_number_of_events_is_refused() -> None:
    with pytest.raises(ValueError, match="max_events is an integer >= 0 or None, got -1"):
        bat.messages(max_events=-1)


# Without hypothesis


def run(code: str) -> str:
    path = os.pathsep.join(filter(None, [os.getcwd(), *sys.path]))
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow
@pytest.mark.long
def test_the_extra_to_install_is_named() -> None:
    code = """
import sys
sys.modules["hypothesis"] = None
try:
    import batprotocol.testing.strategies
except ImportError as error:
    print(error)
"""
    assert run(code).strip() == (
        "batprotocol.testing.strategies needs the package hypothesis: pip install 'hypothesis>=6.100' 'pytest>=8'"
    )


@pytest.mark.slow
@pytest.mark.long
def test_the_library_does_not_import_hypothesis() -> None:
    assert run("import sys, batprotocol, batprotocol.testing; print('hypothesis' in sys.modules)").strip() == "False"


# Inputs of simulations


@given(st.data(), st.booleans(), st.sampled_from([(), ("pfs", "other")]))
def test_what_is_drawn_can_be_simulated(data: st.DataObject, energy: bool, storages: tuple[str, ...]) -> None:
    """Jobs fit the hosts, names are unique, and all jobs of a policy end."""
    least, most = sorted(data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6))))
    platform = data.draw(simulations.platforms(min_hosts=least, max_hosts=most, storages=storages, energy=energy))
    computing = platform.computation_hosts
    assert least <= len(computing) <= most
    assert len({host.name for host in platform.hosts}) == len(platform.hosts)
    assert {host.name for host in platform.hosts} - {host.name for host in computing} >= set(storages)
    assert all((host.watts is not None) >= energy for host in platform.hosts)
    assert all(bool(host.sleep_pstates) >= energy for host in computing)
    jobs = data.draw(st.integers(0, 8))
    workload = data.draw(simulations.workloads(hosts=least, max_jobs=jobs, storages=storages, name="w0"))
    assert len(workload) <= jobs
    assert len({job.id for job in workload}) == len(workload)
    assert all(1 <= job.job.resource_request <= least for job in workload)
    used = {job.job.profile_id for job in workload}
    assert used <= workload.profiles.keys()
    given_parts = [getattr(each.profile, "profile_ids", ()) for each in workload.profiles.values()]
    parts = {part if "!" in part else f"w0!{part}" for each in given_parts for part in each}
    assert used | parts == workload.profiles.keys()
    lists = [data.draw(simulations.external_event_lists(name="ee0"))]
    assert len(lists[0].events) <= 6
    result = simulate(platform, workload, Policy(), energy=energy, external_events=lists, corrected=True)
    assert result.is_complete
    rows = list(result.jobs)
    assert len(rows) == len(workload)
    assert all(row.finish_time is not None for row in rows)


def test_compositions_of_all_kinds_come_up() -> None:
    """Only where they are asked for, as Batsim refuses two of them."""
    kinds: dict[bool, set[type]] = {True: set(), False: set()}

    @settings(max_examples=600, database=None)
    @given(st.data(), st.booleans())
    def look(data: st.DataObject, compositions: bool) -> None:
        drawn = data.draw(simulations.workloads(hosts=2, compositions=compositions, storages=["pfs"]))
        kinds[compositions] |= {type(each.profile) for each in drawn.profiles.values()}

    look()
    simple = {
        model.DelayProfile,
        model.ParallelTaskHomogeneousProfile,
        model.ParallelTaskProfile,
        model.ParallelTaskOnStorageHomogeneousProfile,
        model.SequentialCompositionProfile,
    }
    assert kinds[False] == simple
    assert kinds[True] == simple | {model.ForkJoinCompositionProfile, model.ParallelTaskMergeCompositionProfile}
