"""Hypothesis strategies for every event and value of the protocol, awkward on purpose.

They generate all that the wire can carry, not only what Batsim takes: they know the ranges of the schema and nothing of
the conversation's rules. Empty and huge vectors, every union member, unknown enum numbers, non-ASCII names, extreme
numbers, and absent fields beside default ones all come up often.

    from hypothesis import given
    from batprotocol.model import Message
    from batprotocol.testing import strategies as bat

    @given(bat.messages("b2e"))
    def test_round_trip(message):
        assert Message.from_binary(message.to_binary()) == message

A strategy has the name of its type in the plural: `job_submitted_events()` for `JobSubmittedEvent`, `jobs()` for `Job`,
`profiles()` for the union `Profile`; `enums(TimeUnit)` serves all enums. `EVENT_STRATEGIES` and `VALUE_STRATEGIES` find
it by type. The strategies of what holds doubles take `allow_nan`, False by default: a scalar NaN makes a value unequal
to itself, and JSON does not keep the payload of any NaN. Infinities are always generated.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import cache
from itertools import cycle, islice
from typing import Any, TypeVar

import msgspec

from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.model import (
    BATSIM_TO_EDC,
    EDC_TO_BATSIM,
    AggregatedProbeData,
    AllocationPlacement,
    AllStaticExternalEventsHaveBeenInjectedEvent,
    AllStaticJobsHaveBeenSubmittedEvent,
    ArithmeticMean,
    BooleanComparisonOperator,
    CallMeLaterEvent,
    ChangeHostsPStateEvent,
    CreateProbeEvent,
    CumulativeFunction,
    CustomExecutorToHostMapping,
    DelayProfile,
    Direction,
    Doubles,
    EDCHelloEvent,
    EDCRequestedSimulationFeatures,
    Event,
    ExecuteJobEvent,
    ExecutorPlacement,
    ExponentialMovingAverage,
    ExternalEvent,
    ExternalEventListAndFilename,
    ExternalEventOccurredEvent,
    FinalJobState,
    FinishRegistrationEvent,
    FinitePeriodNumber,
    ForceSimulationStopEvent,
    ForkJoinCompositionProfile,
    GenericExternalEvent,
    HomogeneousParallelTaskGenerationStrategy,
    Host,
    HostProperty,
    HostResources,
    HostsPStateChangedEvent,
    HostState,
    HostsTurnedOnOffEvent,
    Infinite,
    Job,
    JobAndProgress,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    KillJobsEvent,
    KillProgress,
    KillProgressAtomicProfile,
    KillProgressForkJoinProfile,
    KillProgressSequentialProfile,
    LinkResources,
    Message,
    Metrics,
    NoFiltering,
    NoProbeDataAccumulation,
    NoReset,
    NoResourcesAggregation,
    NoTemporalAggregation,
    OneShot,
    ParallelTaskDataStagingBetweenStoragesProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    Periodic,
    PeriodicMode,
    PredefinedExecutorPlacementStrategy,
    ProbeAccumulationReset,
    ProbeData,
    ProbeDataAccumulation,
    ProbeDataAccumulationStrategy,
    ProbeDataEmittedEvent,
    ProbeEmissionFilteringPolicy,
    Profile,
    ProfileAllocationPlacement,
    ProfileAndId,
    ProtocolEnum,
    QuantileFunction,
    RegisterJobEvent,
    RegisterProfileEvent,
    RejectJobEvent,
    RequestedCallEvent,
    ResetMode,
    ResetProbeEvent,
    Resources,
    ResourcesAggregationFunction,
    SequentialCompositionProfile,
    SimulationBeginsEvent,
    SimulationEndsEvent,
    SimulationErrorEvent,
    SlidingWindowOperation,
    StopCallMeLaterEvent,
    StopProbeEvent,
    StorageHost,
    Sum,
    TemporalAggregationFunction,
    TemporalTrigger,
    ThresholdFilteringFunction,
    TimeUnit,
    TraceReplayProfile,
    TraceType,
    TriggerProbeEvent,
    TurnOnOffHostsEvent,
    Value,
    VectorialProbeData,
    WorkloadAndFilename,
)

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import DrawFn, SearchStrategy
except ImportError as error:
    raise ImportError(
        "batprotocol.testing.strategies needs hypothesis, which its extra `test` has: pip install 'batprotocol[test]'"
    ) from error

__all__ = [
    "DEEPEST_KILL_PROGRESS",
    "EVENT_STRATEGIES",
    "VALUE_STRATEGIES",
    "aggregated_probe_data",
    "all_static_external_events_have_been_injected_events",
    "all_static_jobs_have_been_submitted_events",
    "allocation_placements",
    "arithmetic_means",
    "call_me_later_events",
    "change_hosts_pstate_events",
    "conversations",
    "create_probe_events",
    "custom_executor_to_host_mappings",
    "delay_profiles",
    "doubles",
    "edc_hello_events",
    "edc_requested_simulation_features",
    "enums",
    "events",
    "execute_job_events",
    "executor_placements",
    "exponential_moving_averages",
    "external_event_list_and_filenames",
    "external_event_occurred_events",
    "external_events",
    "finish_registration_events",
    "finite_period_numbers",
    "float64s",
    "force_simulation_stop_events",
    "fork_join_composition_profiles",
    "generic_external_events",
    "host_properties",
    "host_resources",
    "host_sets",
    "hosts",
    "hosts_pstate_changed_events",
    "hosts_turned_on_off_events",
    "infinites",
    "int32s",
    "job_and_progresses",
    "job_completed_events",
    "job_ids",
    "job_submitted_events",
    "jobs",
    "jobs_killed_events",
    "kill_jobs_events",
    "kill_progress_atomic_profiles",
    "kill_progress_fork_join_profiles",
    "kill_progress_sequential_profiles",
    "kill_progresses",
    "link_resources",
    "messages",
    "no_filterings",
    "no_probe_data_accumulations",
    "no_resets",
    "no_resources_aggregations",
    "no_temporal_aggregations",
    "one_shots",
    "parallel_task_data_staging_between_storages_profiles",
    "parallel_task_homogeneous_profiles",
    "parallel_task_merge_composition_profiles",
    "parallel_task_on_storage_homogeneous_profiles",
    "parallel_task_profiles",
    "periodic_modes",
    "periodics",
    "probe_accumulation_resets",
    "probe_data",
    "probe_data_accumulation_strategies",
    "probe_data_accumulations",
    "probe_data_emitted_events",
    "probe_emission_filtering_policies",
    "profile_allocation_placements",
    "profile_and_ids",
    "profile_ids",
    "profiles",
    "quantile_functions",
    "register_job_events",
    "register_profile_events",
    "reject_job_events",
    "requested_call_events",
    "reset_modes",
    "reset_probe_events",
    "resources",
    "resources_aggregation_functions",
    "sequential_composition_profiles",
    "simulation_begins_events",
    "simulation_ends_events",
    "simulation_error_events",
    "sliding_window_operations",
    "stop_call_me_later_events",
    "stop_probe_events",
    "storage_hosts",
    "sums",
    "temporal_aggregation_functions",
    "temporal_triggers",
    "texts",
    "threshold_filtering_functions",
    "trace_replay_profiles",
    "trigger_probe_events",
    "turn_on_off_hosts_events",
    "uint32s",
    "uint64s",
    "vectorial_probe_data",
    "workload_and_filenames",
]

T = TypeVar("T")
EnumType = TypeVar("EnumType", bound=ProtocolEnum)

DEEPEST_KILL_PROGRESS = 30
"""How many kill progress tables can be nested in a message. Readers of flatbuffers and of its JSON count at most 64
nested tables; the outermost progress is the 6th of a `JobsKilledEvent`, and each level brings its wrapper along."""


# What the strategies below are made of


@st.composite
def _mostly(draw: DrawFn, usual: SearchStrategy[T], awkward: SearchStrategy[T], *, one_in: int) -> T:
    """The awkward one time in so many, else the usual; shrinks to the usual."""
    return draw(awkward if draw(st.integers(1, one_in)) == one_in else usual)


def _cycled(pattern: Sequence[T], size: int) -> tuple[T, ...]:
    return tuple(islice(cycle(pattern), size))


def _vectors(
    elements: SearchStrategy[T], light: SearchStrategy[T] | None = None, *, one_in: int = 12
) -> SearchStrategy[tuple[T, ...]]:
    """Empty and short tuples, and now and then one of up to 1500 elements: two light ones over and over."""
    pattern = st.lists(elements if light is None else light, min_size=1, max_size=2)
    huge = st.builds(_cycled, pattern, st.integers(0, 1500))
    return _mostly(st.lists(elements, max_size=3).map(tuple), huge, one_in=one_in)


def _optional(elements: SearchStrategy[T]) -> SearchStrategy[T | None]:
    return st.one_of(st.none(), elements)


# Numbers

_UINT32_EDGES = (0, 1, 2**32 - 1, 2**31 - 1, 2**31)
_UINT64_EDGES = (0, 1, 2**64 - 1, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63)
_INT32_EDGES = (0, 1, -1, -2, 2**31 - 1, -(2**31))
_LARGEST = 1.7976931348623157e308
_FLOAT64_EDGES = (
    *(0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, _LARGEST, -_LARGEST, 5e-324, -5e-324, 2.2250738585072014e-308),
    *(0.1, 1.0000000000000002, 1.5e-5, 1e-7, 1e16, 1e22, 9007199254740993.0, 123456789.12345679),
)
_TIMES = (0.0, 1.5e-5, 1.0, 10.000015, 86400.0, 1.0000000000000002, 5e-324, _LARGEST)
_NAN_WORDS = (0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF, 2**64 - 1)


def uint32s() -> SearchStrategy[int]:
    """Integers from 0 to 2**32 - 1; both ends come up often."""
    return st.one_of(st.sampled_from(_UINT32_EDGES), st.integers(0, 2**32 - 1))


def uint64s() -> SearchStrategy[int]:
    """Integers from 0 to 2**64 - 1; both ends, and those that no double or signed integer holds, come up often."""
    return st.one_of(st.sampled_from(_UINT64_EDGES), st.integers(0, 2**64 - 1))


def int32s() -> SearchStrategy[int]:
    """Integers from -2**31 to 2**31 - 1; both ends come up often."""
    return st.one_of(st.sampled_from(_INT32_EDGES), st.integers(-(2**31), 2**31 - 1))


def float64s(*, allow_nan: bool = False) -> SearchStrategy[float]:
    """Floats, infinities included; 0.0, -0.0, the smallest and the largest double come up often.

    Args:
        allow_nan: whether NaN comes up too.
    """
    edges = (*_FLOAT64_EDGES, math.nan) if allow_nan else _FLOAT64_EDGES
    return st.one_of(st.sampled_from(edges), st.floats(allow_nan=allow_nan))


def doubles(*, allow_nan: bool = False) -> SearchStrategy[Doubles]:
    """`Doubles`: empty, short, and now and then up to 4000 numbers.

    Args:
        allow_nan: whether NaN comes up too, with any payload: quiet, signalling, negative. Such `Doubles` are equal to
            others with the same bytes.
    """
    numbers = float64s(allow_nan=allow_nan)
    huge = st.builds(_cycled, st.lists(numbers, min_size=1, max_size=3), st.integers(0, 4000)).map(Doubles)
    usual = _mostly(st.lists(numbers, max_size=4).map(Doubles), huge, one_in=8)
    if not allow_nan:
        return usual
    words = st.one_of(st.sampled_from(_NAN_WORDS), st.integers(0, 2**64 - 1))
    return st.one_of(usual, st.lists(words, max_size=4).map(_doubles_of_words))


def _doubles_of_words(words: Sequence[int]) -> Doubles:
    return Doubles.from_bytes(struct.pack(f"<{len(words)}Q", *words))


def enums(enum_type: type[EnumType], *, known_only: bool = False) -> SearchStrategy[EnumType]:
    """Members of an enum of the schema, and numbers that only a newer schema may name.

    Args:
        enum_type: the enum, for example `TimeUnit`.
        known_only: leave out the unknown numbers, which are in [-128, 127] and come up one time in four.
    """
    known = st.sampled_from(list(enum_type))
    return known if known_only else _mostly(known, st.integers(-128, 127).map(enum_type), one_in=4)


# Texts

_AWKWARD_TEXTS = (
    *("", "\x00", "a\x00b", "\x00\x00", '"', "'", "\\", '\\"', "\\u0041", "\\x00", "\n\r\t\b\f", "\x01\x1b\x7f\x80"),
    *("é", "e\u0301", "Grenoble été", "日本語", "\u0436\u05d0\u0639", "😀", "\U0010ffff", "\ud7ff\ue000", "\uffff"),
    *("\ufeff", "\u2028\u2029", "\u202e", " ", " a ", "null", "NONE", "0", "{}", "[1,", "/* */", "// a", "%s", "a,b"),
)
_AWKWARD_IDS = ("w0!é", "ŵ!日本", "😀!😀", "!", "w0!", "!1", "w0!1!2", "w0", "w0! 1", "w0!\x00", 'w"0"!1', "w0!\\1")


def texts() -> SearchStrategy[str]:
    """Any text that UTF-8 can hold.

    Empty, with NUL, quotes, backslashes, control characters, non-ASCII and astral characters, and now and then up to
    2000 characters long. Never a lone surrogate, for which UTF-8 has no bytes.
    """
    few = st.one_of(st.sampled_from(_AWKWARD_TEXTS), st.text(max_size=12))
    long = st.builds(_cycled, st.text(min_size=1, max_size=3), st.integers(0, 2000)).map("".join)
    return _mostly(few, long, one_in=24)


def job_ids() -> SearchStrategy[str]:
    """Names of jobs: two in three are `workload!job`, the others any text at all."""
    return _ids(_few_job_ids())


def profile_ids() -> SearchStrategy[str]:
    """Names of profiles: two in three are `workload!name` or a bare `name`, the others any text at all."""
    return _ids(st.sampled_from(("w0!delay10", "w0!ptask", "w1!seq", "delay10")))


def _profile_id_vectors() -> SearchStrategy[tuple[str, ...]]:
    return _vectors(profile_ids(), st.sampled_from(("w0!delay10", "w0!ptask", "")))


def _few_job_ids() -> SearchStrategy[str]:
    return st.integers(0, 999).map("w0!{}".format)


def _ids(usual: SearchStrategy[str]) -> SearchStrategy[str]:
    return _mostly(usual, st.one_of(st.sampled_from(_AWKWARD_IDS), texts()), one_in=3)


def _names(*usual: str) -> SearchStrategy[str]:
    return _mostly(st.sampled_from(usual), texts(), one_in=3)


_AWKWARD_HOST_SETS = (
    *("", " ", "1,3", "1, 3", "0-2,4", "3 1", "2-4 3-5", "1 1", "0 1", "0-0", "5-3", "-1", "1-", "-", "1--2", "007"),
    *(" 1", "1 ", "1  2", "1\t2", "0x10", "1.0", "+1", "\u0661", "all", "1-2-3", "4294967296", "9" * 25, "1\x00"),
)


def host_sets(*, canonical: bool = False) -> SearchStrategy[str]:
    """Host sets as strings, two in three in canonical form: `""`, `"7"`, `"0-3 8"`, and up to some hundred intervals.

    Args:
        canonical: only canonical form, which Batsim reads: ascending disjoint intervals, separated by one space. False
            adds what is a set but not written so (`"3,1-2"`, overlaps) and what is none (`"5-3"`, any text): the wire
            carries them all.
    """
    steps = st.tuples(st.integers(2, 9), st.integers(0, 4))
    few = st.builds(_canonical_host_set, st.integers(0, 99), st.lists(steps, max_size=4))
    many = st.builds(_cycled, st.lists(steps, min_size=1, max_size=2), st.integers(0, 300))
    large = st.sampled_from(("0-4294967295", "4294967295", "0 4294967294", "999999"))
    sets = _mostly(few, st.one_of(large, st.builds(_canonical_host_set, st.just(0), many)), one_in=8)
    if canonical:
        return sets
    return _mostly(sets, st.one_of(st.sampled_from(_AWKWARD_HOST_SETS), texts()), one_in=3)


def _canonical_host_set(first: int, steps: Sequence[tuple[int, int]]) -> str:
    """Intervals told as (distance from the end of the one before, at least 2, and length - 1)."""
    intervals = []
    for distance, more in steps:
        intervals.append(f"{first}-{first + more}" if more else str(first))
        first += more + distance
    return " ".join(intervals)


# Profiles


def delay_profiles(*, allow_nan: bool = False) -> SearchStrategy[DelayProfile]:
    """`DelayProfile` values."""
    return st.builds(DelayProfile, delay=float64s(allow_nan=allow_nan))


def parallel_task_profiles(*, allow_nan: bool = False) -> SearchStrategy[ParallelTaskProfile]:
    """`ParallelTaskProfile` values; the vector and the matrix may each be absent, empty or huge, and need not match."""
    vectors = _optional(doubles(allow_nan=allow_nan))
    return st.builds(ParallelTaskProfile, computation_vector=vectors, communication_matrix=vectors)


def parallel_task_homogeneous_profiles(*, allow_nan: bool = False) -> SearchStrategy[ParallelTaskHomogeneousProfile]:
    """`ParallelTaskHomogeneousProfile` values."""
    return st.builds(
        ParallelTaskHomogeneousProfile,
        computation_amount=float64s(allow_nan=allow_nan),
        communication_amount=float64s(allow_nan=allow_nan),
        generation_strategy=enums(HomogeneousParallelTaskGenerationStrategy),
    )


def sequential_composition_profiles() -> SearchStrategy[SequentialCompositionProfile]:
    """`SequentialCompositionProfile` values; an empty sequence too."""
    return st.builds(SequentialCompositionProfile, repetition_count=uint32s(), profile_ids=_profile_id_vectors())


def fork_join_composition_profiles() -> SearchStrategy[ForkJoinCompositionProfile]:
    """`ForkJoinCompositionProfile` values; of no profile too."""
    return st.builds(ForkJoinCompositionProfile, profile_ids=_profile_id_vectors())


def parallel_task_merge_composition_profiles() -> SearchStrategy[ParallelTaskMergeCompositionProfile]:
    """`ParallelTaskMergeCompositionProfile` values; of no profile too."""
    return st.builds(ParallelTaskMergeCompositionProfile, profile_ids=_profile_id_vectors())


def parallel_task_on_storage_homogeneous_profiles(
    *, allow_nan: bool = False
) -> SearchStrategy[ParallelTaskOnStorageHomogeneousProfile]:
    """`ParallelTaskOnStorageHomogeneousProfile` values."""
    return st.builds(
        ParallelTaskOnStorageHomogeneousProfile,
        storage_name=_names("pfs", "nfs"),
        bytes_to_read=float64s(allow_nan=allow_nan),
        bytes_to_write=float64s(allow_nan=allow_nan),
        generation_strategy=enums(HomogeneousParallelTaskGenerationStrategy),
    )


def parallel_task_data_staging_between_storages_profiles(
    *, allow_nan: bool = False
) -> SearchStrategy[ParallelTaskDataStagingBetweenStoragesProfile]:
    """`ParallelTaskDataStagingBetweenStoragesProfile` values; both storages may be the same."""
    return st.builds(
        ParallelTaskDataStagingBetweenStoragesProfile,
        bytes_to_transfer=float64s(allow_nan=allow_nan),
        emitter_storage_name=_names("pfs", "nfs"),
        receiver_storage_name=_names("pfs", "nfs"),
    )


def trace_replay_profiles() -> SearchStrategy[TraceReplayProfile]:
    """`TraceReplayProfile` values."""
    return st.builds(TraceReplayProfile, trace_type=enums(TraceType), filename=_names("smpi/traces.txt"))


def profiles(*, allow_nan: bool = False) -> SearchStrategy[Profile]:
    """Any of the nine profiles."""
    return st.one_of(
        delay_profiles(allow_nan=allow_nan),
        parallel_task_profiles(allow_nan=allow_nan),
        parallel_task_homogeneous_profiles(allow_nan=allow_nan),
        sequential_composition_profiles(),
        fork_join_composition_profiles(),
        parallel_task_merge_composition_profiles(),
        parallel_task_on_storage_homogeneous_profiles(allow_nan=allow_nan),
        parallel_task_data_staging_between_storages_profiles(allow_nan=allow_nan),
        trace_replay_profiles(),
    )


def profile_and_ids(*, allow_nan: bool = False) -> SearchStrategy[ProfileAndId]:
    """`ProfileAndId` values, of every profile; the extra data may be absent or empty."""
    return st.builds(
        ProfileAndId, id=profile_ids(), profile=profiles(allow_nan=allow_nan), extra_data=_optional(texts())
    )


def _profile_vectors(allow_nan: bool) -> SearchStrategy[tuple[ProfileAndId, ...] | None]:
    light = st.builds(ProfileAndId, id=st.just("w0!delay"), profile=delay_profiles(allow_nan=allow_nan))
    return _optional(_vectors(profile_and_ids(allow_nan=allow_nan), light))


# Jobs and placements


def jobs(*, allow_nan: bool = False) -> SearchStrategy[Job]:
    """`Job` values; walltime absent, 0 or any other double, extra data absent, empty or any text."""
    return st.builds(
        Job,
        resource_request=uint32s(),
        walltime=_optional(float64s(allow_nan=allow_nan)),
        extra_data=_optional(texts()),
        profile_id=profile_ids(),
    )


def custom_executor_to_host_mappings() -> SearchStrategy[CustomExecutorToHostMapping]:
    """`CustomExecutorToHostMapping` values; empty, huge, and with indices beyond any allocation."""
    return st.builds(CustomExecutorToHostMapping, mapping=_vectors(uint32s()))


def executor_placements() -> SearchStrategy[ExecutorPlacement]:
    """A predefined strategy, known or not, or a custom mapping."""
    return st.one_of(enums(PredefinedExecutorPlacementStrategy), custom_executor_to_host_mappings())


def allocation_placements() -> SearchStrategy[AllocationPlacement]:
    """`AllocationPlacement` values."""
    return st.builds(AllocationPlacement, host_allocation=host_sets(), executor_placement=executor_placements())


def profile_allocation_placements() -> SearchStrategy[ProfileAllocationPlacement]:
    """`ProfileAllocationPlacement` values."""
    return st.builds(
        ProfileAllocationPlacement,
        profile_id=profile_ids(),
        host_allocation=host_sets(),
        executor_placement=executor_placements(),
    )


def storage_hosts() -> SearchStrategy[StorageHost]:
    """`StorageHost` values."""
    return st.builds(StorageHost, storage_name=_names("pfs", "nfs"), host_id=uint32s())


# Kill progress


def kill_progress_atomic_profiles(*, allow_nan: bool = False) -> SearchStrategy[KillProgressAtomicProfile]:
    """`KillProgressAtomicProfile` values; progress outside [0,1] too."""
    return st.builds(KillProgressAtomicProfile, profile_id=profile_ids(), progress=float64s(allow_nan=allow_nan))


def kill_progress_sequential_profiles(*, allow_nan: bool = False) -> SearchStrategy[KillProgressSequentialProfile]:
    """`KillProgressSequentialProfile` values, as deep as a message carries."""
    return _sequential_progresses(kill_progresses(max_depth=DEEPEST_KILL_PROGRESS - 1, allow_nan=allow_nan))


def kill_progress_fork_join_profiles(*, allow_nan: bool = False) -> SearchStrategy[KillProgressForkJoinProfile]:
    """`KillProgressForkJoinProfile` values, as deep as a message carries, of no task too and of a thousand."""
    tasks = kill_progresses(max_depth=DEEPEST_KILL_PROGRESS - 1, allow_nan=allow_nan)
    return _fork_join_progresses(tasks, allow_nan)


def kill_progresses(
    *, min_depth: int = 1, max_depth: int = DEEPEST_KILL_PROGRESS, allow_nan: bool = False
) -> SearchStrategy[KillProgress]:
    """Kill progress of all three kinds, as small trees and as deep chains.

    Args:
        min_depth: how many tables are nested at least; 1 is the progress of an atomic profile, or of no task at all.
        max_depth: how many are nested at most. The default, 30, is the deepest that a message carries; more makes
            values that cannot be written.
        allow_nan: whether progress may be NaN.

    `kill_progresses(min_depth=30)` makes only the deepest.
    """
    if not 1 <= min_depth <= max_depth:
        raise ValueError(f"expected 1 <= min_depth <= max_depth, got {min_depth} and {max_depth}")
    atomic = kill_progress_atomic_profiles(allow_nan=allow_nan)
    siblings = st.lists(atomic, max_size=2).map(tuple)
    levels = st.one_of(
        st.builds(_sequential_around, profile_ids(), uint32s(), uint32s()),
        st.builds(_fork_join_around, profile_ids(), siblings, siblings),
    )
    depths = st.integers(min_depth - 1, max_depth - 1)  # drawn first: lists alone are seldom long
    chains = st.builds(_nested, atomic, depths.flatmap(lambda depth: st.lists(levels, min_size=depth, max_size=depth)))
    return chains if min_depth > 1 else st.one_of(_progress_trees(min(max_depth, 3), allow_nan), chains)


def _progress_trees(depth: int, allow_nan: bool) -> SearchStrategy[KillProgress]:
    atomic = kill_progress_atomic_profiles(allow_nan=allow_nan)
    if depth == 1:
        return atomic
    smaller = _progress_trees(depth - 1, allow_nan)
    return st.one_of(atomic, _sequential_progresses(smaller), _fork_join_progresses(smaller, allow_nan))


def _sequential_progresses(tasks: SearchStrategy[KillProgress]) -> SearchStrategy[KillProgressSequentialProfile]:
    return st.builds(
        KillProgressSequentialProfile,
        profile_id=profile_ids(),
        current_repetition=uint32s(),
        current_task_index=uint32s(),
        current_task_progress=tasks,
    )


def _fork_join_progresses(
    tasks: SearchStrategy[KillProgress], allow_nan: bool
) -> SearchStrategy[KillProgressForkJoinProfile]:
    light = _light_progresses(allow_nan)
    return st.builds(KillProgressForkJoinProfile, profile_id=profile_ids(), tasks_progress=_vectors(tasks, light))


def _light_progresses(allow_nan: bool) -> SearchStrategy[KillProgress]:
    return st.builds(KillProgressAtomicProfile, profile_id=st.just("w0!delay"), progress=float64s(allow_nan=allow_nan))


# One level of a chain: what it puts around the progress below it.


def _sequential_around(profile_id: str, repetition: int, index: int) -> Callable[[KillProgress], KillProgress]:
    return lambda inner: KillProgressSequentialProfile(profile_id, repetition, index, inner)


def _fork_join_around(
    profile_id: str, before: tuple[KillProgress, ...], after: tuple[KillProgress, ...]
) -> Callable[[KillProgress], KillProgress]:
    return lambda inner: KillProgressForkJoinProfile(profile_id, (*before, inner, *after))


def _nested(core: KillProgress, levels: Sequence[Callable[[KillProgress], KillProgress]]) -> KillProgress:
    for level in levels:
        core = level(core)
    return core


def job_and_progresses(*, allow_nan: bool = False) -> SearchStrategy[JobAndProgress]:
    """`JobAndProgress` values, with progress as deep as a message carries."""
    return st.builds(JobAndProgress, job_id=job_ids(), wrapper=kill_progresses(allow_nan=allow_nan))


# Temporal triggers


def one_shots() -> SearchStrategy[OneShot]:
    """`OneShot` values."""
    return st.builds(OneShot, time=uint64s(), time_unit=enums(TimeUnit))


def infinites() -> SearchStrategy[Infinite]:
    """`Infinite()`."""
    return st.builds(Infinite)


def finite_period_numbers() -> SearchStrategy[FinitePeriodNumber]:
    """`FinitePeriodNumber` values, 0 periods too."""
    return st.builds(FinitePeriodNumber, nb_periods=uint32s())


def periodic_modes() -> SearchStrategy[PeriodicMode]:
    """`Infinite()` or a `FinitePeriodNumber`."""
    return st.one_of(infinites(), finite_period_numbers())


def periodics() -> SearchStrategy[Periodic]:
    """`Periodic` values, of period 0 and with any offset too."""
    return st.builds(Periodic, period=uint64s(), offset=uint64s(), time_unit=enums(TimeUnit), mode=periodic_modes())


def temporal_triggers() -> SearchStrategy[TemporalTrigger]:
    """A `OneShot` or a `Periodic`."""
    return st.one_of(one_shots(), periodics())


# Probes


def host_resources() -> SearchStrategy[HostResources]:
    """`HostResources` values."""
    return st.builds(HostResources, host_ids=host_sets())


def link_resources() -> SearchStrategy[LinkResources]:
    """`LinkResources` values; of no link too."""
    return st.builds(LinkResources, link_ids=_vectors(_names("link0", "backbone"), st.sampled_from(("link0", "link1"))))


def resources() -> SearchStrategy[Resources]:
    """`HostResources` or `LinkResources`."""
    return st.one_of(host_resources(), link_resources())


def no_resets() -> SearchStrategy[NoReset]:
    """`NoReset()`."""
    return st.builds(NoReset)


def probe_accumulation_resets(*, allow_nan: bool = False) -> SearchStrategy[ProbeAccumulationReset]:
    """`ProbeAccumulationReset` values."""
    return st.builds(ProbeAccumulationReset, new_value=float64s(allow_nan=allow_nan))


def reset_modes(*, allow_nan: bool = False) -> SearchStrategy[ResetMode]:
    """`NoReset()` or a `ProbeAccumulationReset`."""
    return st.one_of(no_resets(), probe_accumulation_resets(allow_nan=allow_nan))


def no_probe_data_accumulations() -> SearchStrategy[NoProbeDataAccumulation]:
    """`NoProbeDataAccumulation()`."""
    return st.builds(NoProbeDataAccumulation)


def probe_data_accumulations(*, allow_nan: bool = False) -> SearchStrategy[ProbeDataAccumulation]:
    """`ProbeDataAccumulation` values."""
    return st.builds(
        ProbeDataAccumulation,
        reset_mode=reset_modes(allow_nan=allow_nan),
        cumulative_function=enums(CumulativeFunction),
        temporal_normalization=st.booleans(),
    )


def probe_data_accumulation_strategies(*, allow_nan: bool = False) -> SearchStrategy[ProbeDataAccumulationStrategy]:
    """`NoProbeDataAccumulation()` or a `ProbeDataAccumulation`."""
    return st.one_of(no_probe_data_accumulations(), probe_data_accumulations(allow_nan=allow_nan))


def no_resources_aggregations() -> SearchStrategy[NoResourcesAggregation]:
    """`NoResourcesAggregation()`."""
    return st.builds(NoResourcesAggregation)


def sums() -> SearchStrategy[Sum]:
    """`Sum()`."""
    return st.builds(Sum)


def arithmetic_means() -> SearchStrategy[ArithmeticMean]:
    """`ArithmeticMean()`."""
    return st.builds(ArithmeticMean)


def quantile_functions(*, allow_nan: bool = False) -> SearchStrategy[QuantileFunction]:
    """`QuantileFunction` values; thresholds outside [0,1] too."""
    return st.builds(QuantileFunction, threshold=float64s(allow_nan=allow_nan))


def resources_aggregation_functions(*, allow_nan: bool = False) -> SearchStrategy[ResourcesAggregationFunction]:
    """Any of the four aggregations over resources."""
    quantiles = quantile_functions(allow_nan=allow_nan)
    return st.one_of(no_resources_aggregations(), sums(), arithmetic_means(), quantiles)


def no_temporal_aggregations() -> SearchStrategy[NoTemporalAggregation]:
    """`NoTemporalAggregation()`."""
    return st.builds(NoTemporalAggregation)


def exponential_moving_averages() -> SearchStrategy[ExponentialMovingAverage]:
    """`ExponentialMovingAverage()`."""
    return st.builds(ExponentialMovingAverage)


def sliding_window_operations() -> SearchStrategy[SlidingWindowOperation]:
    """`SlidingWindowOperation()`."""
    return st.builds(SlidingWindowOperation)


def temporal_aggregation_functions() -> SearchStrategy[TemporalAggregationFunction]:
    """Any of the three aggregations over time."""
    return st.one_of(no_temporal_aggregations(), exponential_moving_averages(), sliding_window_operations())


def no_filterings() -> SearchStrategy[NoFiltering]:
    """`NoFiltering()`."""
    return st.builds(NoFiltering)


def threshold_filtering_functions(*, allow_nan: bool = False) -> SearchStrategy[ThresholdFilteringFunction]:
    """`ThresholdFilteringFunction` values."""
    return st.builds(
        ThresholdFilteringFunction,
        threshold=float64s(allow_nan=allow_nan),
        operator=enums(BooleanComparisonOperator),
    )


def probe_emission_filtering_policies(*, allow_nan: bool = False) -> SearchStrategy[ProbeEmissionFilteringPolicy]:
    """`NoFiltering()` or a `ThresholdFilteringFunction`."""
    return st.one_of(no_filterings(), threshold_filtering_functions(allow_nan=allow_nan))


def aggregated_probe_data(*, allow_nan: bool = False) -> SearchStrategy[AggregatedProbeData]:
    """`AggregatedProbeData` values."""
    return st.builds(AggregatedProbeData, data=float64s(allow_nan=allow_nan))


def vectorial_probe_data(*, allow_nan: bool = False) -> SearchStrategy[VectorialProbeData]:
    """`VectorialProbeData` values; empty and huge too."""
    return st.builds(VectorialProbeData, data=doubles(allow_nan=allow_nan))


def probe_data(*, allow_nan: bool = False) -> SearchStrategy[ProbeData]:
    """`AggregatedProbeData` or `VectorialProbeData`."""
    return st.one_of(aggregated_probe_data(allow_nan=allow_nan), vectorial_probe_data(allow_nan=allow_nan))


# The platform and the inputs


def edc_requested_simulation_features() -> SearchStrategy[EDCRequestedSimulationFeatures]:
    """`EDCRequestedSimulationFeatures` values, of any mixture."""
    names = msgspec.structs.fields(EDCRequestedSimulationFeatures)
    return st.builds(EDCRequestedSimulationFeatures, **{field.name: st.booleans() for field in names})


def host_properties() -> SearchStrategy[HostProperty]:
    """`HostProperty` values."""
    return st.builds(HostProperty, key=_names("role", "watt_per_state"), value=_names("storage", "95.0:190.0"))


def hosts(*, allow_nan: bool = False) -> SearchStrategy[Host]:
    """`Host` values; properties may be absent, empty or many, and the speeds need not match `pstate_count`."""
    light = st.builds(HostProperty, key=st.just("role"), value=st.sampled_from(("storage", "")))
    properties = _optional(_vectors(host_properties(), light))
    return st.builds(
        Host,
        id=uint32s(),
        name=_names("host0", "Mercury"),
        pstate=uint32s(),
        pstate_count=uint32s(),
        state=enums(HostState),
        properties=properties,
        zone_properties=properties,
        core_count=uint32s(),
        computation_speed=doubles(allow_nan=allow_nan),
    )


def _host_vectors(allow_nan: bool) -> SearchStrategy[tuple[Host, ...]]:
    light = st.builds(
        Host, id=uint32s(), name=st.just("host0"), computation_speed=st.sampled_from((Doubles(), Doubles([1e8, 5e7])))
    )
    return _vectors(hosts(allow_nan=allow_nan), light)


def workload_and_filenames() -> SearchStrategy[WorkloadAndFilename]:
    """`WorkloadAndFilename` values."""
    return st.builds(WorkloadAndFilename, name=_names("w0", "w1"), filename=_names("workloads/w0.json"))


def external_event_list_and_filenames() -> SearchStrategy[ExternalEventListAndFilename]:
    """`ExternalEventListAndFilename` values."""
    return st.builds(ExternalEventListAndFilename, name=_names("e0", "e1"), filename=_names("events/e0.txt"))


def generic_external_events() -> SearchStrategy[GenericExternalEvent]:
    """`GenericExternalEvent` values."""
    return st.builds(GenericExternalEvent, data=texts())


def external_events() -> SearchStrategy[ExternalEvent]:
    """Any external event; the union has one member."""
    return generic_external_events()


# Events about jobs


def job_submitted_events(*, allow_nan: bool = False) -> SearchStrategy[JobSubmittedEvent]:
    """`JobSubmittedEvent` values, with and without the profile."""
    return st.builds(
        JobSubmittedEvent,
        timestamp=float64s(allow_nan=allow_nan),
        job_id=job_ids(),
        job=jobs(allow_nan=allow_nan),
        submission_time=float64s(allow_nan=allow_nan),
        profile=_optional(profile_and_ids(allow_nan=allow_nan)),
    )


def job_completed_events(*, allow_nan: bool = False) -> SearchStrategy[JobCompletedEvent]:
    """`JobCompletedEvent` values."""
    return st.builds(
        JobCompletedEvent,
        timestamp=float64s(allow_nan=allow_nan),
        job_id=job_ids(),
        state=enums(FinalJobState),
        return_code=int32s(),
    )


def reject_job_events(*, allow_nan: bool = False) -> SearchStrategy[RejectJobEvent]:
    """`RejectJobEvent` values."""
    return st.builds(RejectJobEvent, timestamp=float64s(allow_nan=allow_nan), job_id=job_ids())


def execute_job_events(*, allow_nan: bool = False) -> SearchStrategy[ExecuteJobEvent]:
    """`ExecuteJobEvent` values; overrides and storages may be absent, empty or many."""
    light_override = st.builds(ProfileAllocationPlacement, profile_id=st.just("w0!delay"), host_allocation=st.just("0"))
    light_storage = st.builds(StorageHost, storage_name=st.just("pfs"), host_id=uint32s())
    return st.builds(
        ExecuteJobEvent,
        timestamp=float64s(allow_nan=allow_nan),
        job_id=job_ids(),
        allocation=allocation_placements(),
        profile_allocation_override=_optional(_vectors(profile_allocation_placements(), light_override)),
        storage_placement=_optional(_vectors(storage_hosts(), light_storage)),
    )


def kill_jobs_events(*, allow_nan: bool = False) -> SearchStrategy[KillJobsEvent]:
    """`KillJobsEvent` values; of no job too, and of a thousand."""
    ids = _vectors(job_ids(), _few_job_ids())
    return st.builds(KillJobsEvent, timestamp=float64s(allow_nan=allow_nan), job_ids=ids)


def jobs_killed_events(*, allow_nan: bool = False) -> SearchStrategy[JobsKilledEvent]:
    """`JobsKilledEvent` values; progress as deep as a message carries, of other jobs too; profiles absent or not."""
    light = st.builds(JobAndProgress, job_id=_few_job_ids(), wrapper=_light_progresses(allow_nan))
    return st.builds(
        JobsKilledEvent,
        timestamp=float64s(allow_nan=allow_nan),
        job_ids=_vectors(job_ids(), _few_job_ids()),
        progresses=_vectors(job_and_progresses(allow_nan=allow_nan), light),
        profiles=_profile_vectors(allow_nan),
    )


def register_profile_events(*, allow_nan: bool = False) -> SearchStrategy[RegisterProfileEvent]:
    """`RegisterProfileEvent` values, of every profile."""
    return st.builds(
        RegisterProfileEvent, timestamp=float64s(allow_nan=allow_nan), profile=profile_and_ids(allow_nan=allow_nan)
    )


def register_job_events(*, allow_nan: bool = False) -> SearchStrategy[RegisterJobEvent]:
    """`RegisterJobEvent` values."""
    return st.builds(
        RegisterJobEvent, timestamp=float64s(allow_nan=allow_nan), job_id=job_ids(), job=jobs(allow_nan=allow_nan)
    )


def finish_registration_events(*, allow_nan: bool = False) -> SearchStrategy[FinishRegistrationEvent]:
    """`FinishRegistrationEvent` values."""
    return st.builds(FinishRegistrationEvent, timestamp=float64s(allow_nan=allow_nan))


# Events about probes


def _probe_ids() -> SearchStrategy[str]:
    return _names("probe0", "power")


def create_probe_events(*, allow_nan: bool = False) -> SearchStrategy[CreateProbeEvent]:
    """`CreateProbeEvent` values, of every mixture of union members."""
    return st.builds(
        CreateProbeEvent,
        timestamp=float64s(allow_nan=allow_nan),
        probe_id=_probe_ids(),
        metrics=enums(Metrics),
        resources=resources(),
        data_accumulation_strategy=probe_data_accumulation_strategies(allow_nan=allow_nan),
        measurement_triggering_policy=temporal_triggers(),
        resources_aggregation_function=resources_aggregation_functions(allow_nan=allow_nan),
        temporal_aggregation_function=temporal_aggregation_functions(),
        emission_filtering_policy=probe_emission_filtering_policies(allow_nan=allow_nan),
    )


def stop_probe_events(*, allow_nan: bool = False) -> SearchStrategy[StopProbeEvent]:
    """`StopProbeEvent` values."""
    return st.builds(StopProbeEvent, timestamp=float64s(allow_nan=allow_nan), probe_id=_probe_ids())


def trigger_probe_events(*, allow_nan: bool = False) -> SearchStrategy[TriggerProbeEvent]:
    """`TriggerProbeEvent` values."""
    return st.builds(
        TriggerProbeEvent,
        timestamp=float64s(allow_nan=allow_nan),
        probe_id=_probe_ids(),
        force_data_emission=st.booleans(),
    )


def reset_probe_events(*, allow_nan: bool = False) -> SearchStrategy[ResetProbeEvent]:
    """`ResetProbeEvent` values."""
    numbers = float64s(allow_nan=allow_nan)
    return st.builds(ResetProbeEvent, timestamp=numbers, probe_id=_probe_ids(), new_value=numbers)


def probe_data_emitted_events(*, allow_nan: bool = False) -> SearchStrategy[ProbeDataEmittedEvent]:
    """`ProbeDataEmittedEvent` values; the data need not match the resources."""
    return st.builds(
        ProbeDataEmittedEvent,
        timestamp=float64s(allow_nan=allow_nan),
        probe_id=_probe_ids(),
        resources=resources(),
        metrics=enums(Metrics),
        data=probe_data(allow_nan=allow_nan),
        manually_triggered=st.booleans(),
        nb_emitted=uint32s(),
        nb_triggered=uint32s(),
    )


# Events about calls


def _call_ids() -> SearchStrategy[str]:
    return _names("call0", "every minute")


def call_me_later_events(*, allow_nan: bool = False) -> SearchStrategy[CallMeLaterEvent]:
    """`CallMeLaterEvent` values."""
    return st.builds(
        CallMeLaterEvent,
        timestamp=float64s(allow_nan=allow_nan),
        call_me_later_id=_call_ids(),
        when=temporal_triggers(),
    )


def requested_call_events(*, allow_nan: bool = False) -> SearchStrategy[RequestedCallEvent]:
    """`RequestedCallEvent` values."""
    return st.builds(
        RequestedCallEvent,
        timestamp=float64s(allow_nan=allow_nan),
        call_me_later_id=_call_ids(),
        last_periodic_call=st.booleans(),
    )


def stop_call_me_later_events(*, allow_nan: bool = False) -> SearchStrategy[StopCallMeLaterEvent]:
    """`StopCallMeLaterEvent` values."""
    return st.builds(StopCallMeLaterEvent, timestamp=float64s(allow_nan=allow_nan), call_me_later_id=_call_ids())


# Events about the simulation


def edc_hello_events(*, allow_nan: bool = False) -> SearchStrategy[EDCHelloEvent]:
    """`EDCHelloEvent` values; both commits may be absent or empty."""
    return st.builds(
        EDCHelloEvent,
        timestamp=float64s(allow_nan=allow_nan),
        batprotocol_version=_names("0.1.0"),
        batprotocol_commit=_optional(_names("880dd60c")),
        decision_component_name=_names("fcfs"),
        decision_component_version=_names("1.2.0"),
        decision_component_commit=_optional(_names("880dd60c")),
        requested_simulation_features=edc_requested_simulation_features(),
    )


def simulation_begins_events(*, allow_nan: bool = False) -> SearchStrategy[SimulationBeginsEvent]:
    """`SimulationBeginsEvent` values; every vector may be empty or huge, and the numbers of hosts need not match."""
    return st.builds(
        SimulationBeginsEvent,
        timestamp=float64s(allow_nan=allow_nan),
        batprotocol_version=_names("0.1.0"),
        batsim_version=_names("5.0.0"),
        batsim_commit=_optional(_names("880dd60c")),
        host_number=uint32s(),
        computation_host_number=uint32s(),
        computation_hosts=_host_vectors(allow_nan),
        storage_host_number=uint32s(),
        storage_hosts=_host_vectors(allow_nan),
        batsim_arguments=_vectors(texts(), st.sampled_from(("batsim", "--mmax-workload"))),
        batsim_execution_context_json=_names("{}", '{"platform": "p.xml"}'),
        workloads=_vectors(workload_and_filenames(), st.just(WorkloadAndFilename("w0", "w0.json"))),
        external_event_lists=_vectors(
            external_event_list_and_filenames(), st.just(ExternalEventListAndFilename("e0", "e0.txt"))
        ),
        profiles=_profile_vectors(allow_nan),
    )


def simulation_ends_events(*, allow_nan: bool = False) -> SearchStrategy[SimulationEndsEvent]:
    """`SimulationEndsEvent` values."""
    return st.builds(SimulationEndsEvent, timestamp=float64s(allow_nan=allow_nan))


def simulation_error_events(*, allow_nan: bool = False) -> SearchStrategy[SimulationErrorEvent]:
    """`SimulationErrorEvent` values."""
    return st.builds(SimulationErrorEvent, timestamp=float64s(allow_nan=allow_nan), error=texts())


def all_static_jobs_have_been_submitted_events(
    *, allow_nan: bool = False
) -> SearchStrategy[AllStaticJobsHaveBeenSubmittedEvent]:
    """`AllStaticJobsHaveBeenSubmittedEvent` values."""
    return st.builds(AllStaticJobsHaveBeenSubmittedEvent, timestamp=float64s(allow_nan=allow_nan))


def all_static_external_events_have_been_injected_events(
    *, allow_nan: bool = False
) -> SearchStrategy[AllStaticExternalEventsHaveBeenInjectedEvent]:
    """`AllStaticExternalEventsHaveBeenInjectedEvent` values."""
    return st.builds(AllStaticExternalEventsHaveBeenInjectedEvent, timestamp=float64s(allow_nan=allow_nan))


def force_simulation_stop_events(*, allow_nan: bool = False) -> SearchStrategy[ForceSimulationStopEvent]:
    """`ForceSimulationStopEvent` values."""
    return st.builds(ForceSimulationStopEvent, timestamp=float64s(allow_nan=allow_nan))


# Events about hosts, and external events


def change_hosts_pstate_events(*, allow_nan: bool = False) -> SearchStrategy[ChangeHostsPStateEvent]:
    """`ChangeHostsPStateEvent` values."""
    times = float64s(allow_nan=allow_nan)
    return st.builds(ChangeHostsPStateEvent, timestamp=times, host_ids=host_sets(), pstate=uint32s())


def hosts_pstate_changed_events(*, allow_nan: bool = False) -> SearchStrategy[HostsPStateChangedEvent]:
    """`HostsPStateChangedEvent` values."""
    times = float64s(allow_nan=allow_nan)
    return st.builds(HostsPStateChangedEvent, timestamp=times, host_ids=host_sets(), pstate=uint32s())


def turn_on_off_hosts_events(*, allow_nan: bool = False) -> SearchStrategy[TurnOnOffHostsEvent]:
    """`TurnOnOffHostsEvent` values."""
    times = float64s(allow_nan=allow_nan)
    return st.builds(TurnOnOffHostsEvent, timestamp=times, host_ids=host_sets(), state=uint32s())


def hosts_turned_on_off_events(*, allow_nan: bool = False) -> SearchStrategy[HostsTurnedOnOffEvent]:
    """`HostsTurnedOnOffEvent` values."""
    times = float64s(allow_nan=allow_nan)
    return st.builds(HostsTurnedOnOffEvent, timestamp=times, host_ids=host_sets(), state=uint32s())


def external_event_occurred_events(*, allow_nan: bool = False) -> SearchStrategy[ExternalEventOccurredEvent]:
    """`ExternalEventOccurredEvent` values."""
    return st.builds(
        ExternalEventOccurredEvent,
        timestamp=float64s(allow_nan=allow_nan),
        id=_names("event0", "machine_unavailable"),
        external_event=external_events(),
    )


# Any event, and messages

EVENT_STRATEGIES: dict[type[Event], Callable[..., SearchStrategy[Any]]] = {
    JobSubmittedEvent: job_submitted_events,
    JobCompletedEvent: job_completed_events,
    RejectJobEvent: reject_job_events,
    ExecuteJobEvent: execute_job_events,
    KillJobsEvent: kill_jobs_events,
    JobsKilledEvent: jobs_killed_events,
    RegisterProfileEvent: register_profile_events,
    RegisterJobEvent: register_job_events,
    CreateProbeEvent: create_probe_events,
    StopProbeEvent: stop_probe_events,
    TriggerProbeEvent: trigger_probe_events,
    ResetProbeEvent: reset_probe_events,
    ProbeDataEmittedEvent: probe_data_emitted_events,
    CallMeLaterEvent: call_me_later_events,
    RequestedCallEvent: requested_call_events,
    StopCallMeLaterEvent: stop_call_me_later_events,
    EDCHelloEvent: edc_hello_events,
    SimulationBeginsEvent: simulation_begins_events,
    SimulationEndsEvent: simulation_ends_events,
    SimulationErrorEvent: simulation_error_events,
    AllStaticJobsHaveBeenSubmittedEvent: all_static_jobs_have_been_submitted_events,
    AllStaticExternalEventsHaveBeenInjectedEvent: all_static_external_events_have_been_injected_events,
    FinishRegistrationEvent: finish_registration_events,
    ForceSimulationStopEvent: force_simulation_stop_events,
    ChangeHostsPStateEvent: change_hosts_pstate_events,
    HostsPStateChangedEvent: hosts_pstate_changed_events,
    TurnOnOffHostsEvent: turn_on_off_hosts_events,
    HostsTurnedOnOffEvent: hosts_turned_on_off_events,
    ExternalEventOccurredEvent: external_event_occurred_events,
}
"""The strategy of each event type, in the order of the schema's union. All of them take `allow_nan`."""

_TYPES: dict[Direction | None, tuple[type[Event], ...]] = {
    None: tuple(EVENT_STRATEGIES),
    Direction.BATSIM_TO_EDC: BATSIM_TO_EDC,
    Direction.EDC_TO_BATSIM: EDC_TO_BATSIM,
}

_LIGHT_FROM_BATSIM: tuple[Event, ...] = (
    JobCompletedEvent(job_id="w0!1", state=FinalJobState.COMPLETED_SUCCESSFULLY),
    RequestedCallEvent(call_me_later_id="call0"),
    SimulationEndsEvent(),
)
_LIGHT_TO_BATSIM: tuple[Event, ...] = (
    RejectJobEvent(job_id="w0!1"),
    ExecuteJobEvent(job_id="w0!1", allocation=AllocationPlacement("0-3")),
    FinishRegistrationEvent(),
)
_LIGHT_EVENTS: dict[Direction | None, tuple[Event, ...]] = {
    None: _LIGHT_FROM_BATSIM + _LIGHT_TO_BATSIM,
    Direction.BATSIM_TO_EDC: _LIGHT_FROM_BATSIM,
    Direction.EDC_TO_BATSIM: _LIGHT_TO_BATSIM,
}
"""What messages of a thousand events are made of: enough to find what goes wrong with many, and quick to handle."""


def _direction(direction: Direction | str | None) -> Direction | None:
    try:
        return None if direction is None else Direction(direction)
    except ValueError:
        raise ValueError(f"a direction is a Direction, 'b2e', 'e2b' or None for both, got {direction!r}") from None


def events(direction: Direction | str | None = None, *, allow_nan: bool = False) -> SearchStrategy[Event]:
    """Any event.

    Args:
        direction: only what goes this way: `Direction.BATSIM_TO_EDC` or `"b2e"`, `Direction.EDC_TO_BATSIM` or
            `"e2b"`. None, the default, is both ways.
        allow_nan: whether doubles, the timestamp among them, may be NaN.

    Raises:
        ValueError: this is no direction.
    """
    return _events(_direction(direction), allow_nan)


@cache
def _events(direction: Direction | None, allow_nan: bool) -> SearchStrategy[Event]:
    # Hundreds of strategies, which take tens of milliseconds to make: too long for each draw inside a test.
    return st.one_of([EVENT_STRATEGIES[kind](allow_nan=allow_nan) for kind in _TYPES[direction]])


def messages(
    direction: Direction | str | None = None,
    *,
    max_events: int | None = None,
    chronological: bool = True,
    allow_nan: bool = False,
) -> SearchStrategy[Message]:
    """Messages of any events, without regard to what may be said when.

    Args:
        direction: only events that go this way, as in `events`; None, the default, mixes both ways.
        max_events: how many events a message holds at most. None, the default, is up to 5, and now and then up to 1500.
        chronological: timestamps are finite, >= 0, ascending, and not after `now`. False allows any doubles.
        allow_nan: whether doubles may be NaN; with `chronological`, all but timestamps and `now`.

    Raises:
        ValueError: this is no direction, or `max_events` is negative.

    `messages("e2b", max_events=1)` makes what a decision component may answer, nothing included.
    """
    side = _direction(direction)
    if max_events is not None and max_events < 0:
        raise ValueError(f"max_events is an integer >= 0 or None, got {max_events}")
    several = st.lists(_events(side, allow_nan), max_size=5 if max_events is None else max_events).map(tuple)
    if max_events is None:
        light = st.lists(st.sampled_from(_LIGHT_EVENTS[side]), min_size=1, max_size=3)
        several = _mostly(several, st.builds(_cycled, light, st.integers(0, 1500)), one_in=16)
    if not chronological:
        return st.tuples(float64s(allow_nan=allow_nan), several).map(lambda parts: Message(*parts))
    times = st.one_of(st.sampled_from(_TIMES), st.floats(0.0, _LARGEST))
    return st.builds(_chronological, several, st.lists(times, min_size=1, max_size=6))


def _chronological(events: Sequence[Event], times: Sequence[float]) -> Message:
    timestamps = sorted(_cycled(times, len(events)))
    stamped = [msgspec.structs.replace(event, timestamp=time) for event, time in zip(events, timestamps, strict=True)]
    return Message(max(times), tuple(stamped))


def conversations(rules: str = DEFAULT_RULE_SET) -> SearchStrategy[list[Any]]:
    """Whole conversations of the embedded Batsim with a decision component that does anything it may, as values.

    Each is a list: the initialization data, the hello, then messages and replies in turn, until the reply to
    SimulationEndsEvent. `batprotocol.conversation.check` finds nothing in them that a simulation does not survive.

    Args:
        rules: the rule set that they follow.
    """
    from batprotocol.testing.conformance import improvising  # the simulator is only imported for it

    return improvising.conversations(rules=rules)


VALUE_STRATEGIES: dict[type[Value], Callable[..., SearchStrategy[Any]]] = {
    DelayProfile: delay_profiles,
    ParallelTaskProfile: parallel_task_profiles,
    ParallelTaskHomogeneousProfile: parallel_task_homogeneous_profiles,
    SequentialCompositionProfile: sequential_composition_profiles,
    ForkJoinCompositionProfile: fork_join_composition_profiles,
    ParallelTaskMergeCompositionProfile: parallel_task_merge_composition_profiles,
    ParallelTaskOnStorageHomogeneousProfile: parallel_task_on_storage_homogeneous_profiles,
    ParallelTaskDataStagingBetweenStoragesProfile: parallel_task_data_staging_between_storages_profiles,
    TraceReplayProfile: trace_replay_profiles,
    ProfileAndId: profile_and_ids,
    Job: jobs,
    CustomExecutorToHostMapping: custom_executor_to_host_mappings,
    AllocationPlacement: allocation_placements,
    ProfileAllocationPlacement: profile_allocation_placements,
    StorageHost: storage_hosts,
    KillProgressAtomicProfile: kill_progress_atomic_profiles,
    KillProgressSequentialProfile: kill_progress_sequential_profiles,
    KillProgressForkJoinProfile: kill_progress_fork_join_profiles,
    JobAndProgress: job_and_progresses,
    OneShot: one_shots,
    Infinite: infinites,
    FinitePeriodNumber: finite_period_numbers,
    Periodic: periodics,
    HostResources: host_resources,
    LinkResources: link_resources,
    NoReset: no_resets,
    ProbeAccumulationReset: probe_accumulation_resets,
    NoProbeDataAccumulation: no_probe_data_accumulations,
    ProbeDataAccumulation: probe_data_accumulations,
    NoResourcesAggregation: no_resources_aggregations,
    Sum: sums,
    ArithmeticMean: arithmetic_means,
    QuantileFunction: quantile_functions,
    NoTemporalAggregation: no_temporal_aggregations,
    ExponentialMovingAverage: exponential_moving_averages,
    SlidingWindowOperation: sliding_window_operations,
    NoFiltering: no_filterings,
    ThresholdFilteringFunction: threshold_filtering_functions,
    AggregatedProbeData: aggregated_probe_data,
    VectorialProbeData: vectorial_probe_data,
    EDCRequestedSimulationFeatures: edc_requested_simulation_features,
    HostProperty: host_properties,
    Host: hosts,
    WorkloadAndFilename: workload_and_filenames,
    ExternalEventListAndFilename: external_event_list_and_filenames,
    GenericExternalEvent: generic_external_events,
    Message: messages,
}
"""The strategy of each value type that is not an event, messages included. Those that hold doubles take `allow_nan`."""
