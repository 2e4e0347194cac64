"""Strategies of jobs and hosts, and of the beginning of a simulation."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._values import (
    cycled,
    doubles,
    enums,
    float64s,
    makes,
    mostly,
    names,
    optional,
    profile_ids,
    texts,
    uint32s,
    vectors,
)

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
    many = st.builds(cycled, st.lists(steps, min_size=1, max_size=2), st.integers(0, 300))
    large = st.sampled_from(("0-4294967295", "4294967295", "0 4294967294", "999999"))
    sets = mostly(few, st.one_of(large, st.builds(_canonical_host_set, st.just(0), many)), one_in=8)
    if canonical:
        return sets
    return mostly(sets, st.one_of(st.sampled_from(_AWKWARD_HOST_SETS), texts()), one_in=3)


def _canonical_host_set(first: int, steps: Sequence[tuple[int, int]]) -> str:
    """Intervals, given as (distance from the end of the one before, at least 2, and length - 1)."""
    intervals = []
    for distance, more in steps:
        intervals.append(f"{first}-{first + more}" if more else str(first))
        first += more + distance
    return " ".join(intervals)


# What jobs ask for


@makes(model.Job)
def jobs(*, allow_nan: bool = False) -> SearchStrategy[model.Job]:
    """`Job` values; walltime absent, 0 or any other double, extra data absent, empty or any text."""
    return st.builds(
        model.Job,
        resource_request=uint32s(),
        walltime=optional(float64s(allow_nan=allow_nan)),
        extra_data=optional(texts()),
        profile_id=profile_ids(),
    )


# What a job is executed on


@makes(model.CustomExecutorToHostMapping)
def custom_executor_to_host_mappings() -> SearchStrategy[model.CustomExecutorToHostMapping]:
    """`CustomExecutorToHostMapping` values; empty, huge, and with indices beyond any allocation."""
    return st.builds(model.CustomExecutorToHostMapping, mapping=vectors(uint32s()))


def executor_placements() -> SearchStrategy[model.ExecutorPlacement]:
    """A predefined strategy, known or not, or a custom mapping."""
    return st.one_of(enums(model.PredefinedExecutorPlacementStrategy), custom_executor_to_host_mappings())


@makes(model.AllocationPlacement)
def allocation_placements() -> SearchStrategy[model.AllocationPlacement]:
    """`AllocationPlacement` values."""
    return st.builds(model.AllocationPlacement, host_allocation=host_sets(), executor_placement=executor_placements())


@makes(model.ProfileAllocationPlacement)
def profile_allocation_placements() -> SearchStrategy[model.ProfileAllocationPlacement]:
    """`ProfileAllocationPlacement` values."""
    return st.builds(
        model.ProfileAllocationPlacement,
        profile_id=profile_ids(),
        host_allocation=host_sets(),
        executor_placement=executor_placements(),
    )


@makes(model.StorageHost)
def storage_hosts() -> SearchStrategy[model.StorageHost]:
    """`StorageHost` values."""
    return st.builds(model.StorageHost, storage_name=names("pfs", "nfs"), host_id=uint32s())


# The values that both sides exchange at the start


@makes(model.EDCRequestedSimulationFeatures)
def edc_requested_simulation_features() -> SearchStrategy[model.EDCRequestedSimulationFeatures]:
    """`EDCRequestedSimulationFeatures` values, of any mixture."""
    fields = msgspec.structs.fields(model.EDCRequestedSimulationFeatures)
    return st.builds(model.EDCRequestedSimulationFeatures, **{field.name: st.booleans() for field in fields})


@makes(model.HostProperty)
def host_properties() -> SearchStrategy[model.HostProperty]:
    """`HostProperty` values."""
    return st.builds(model.HostProperty, key=names("role", "watt_per_state"), value=names("storage", "95.0:190.0"))


@makes(model.Host)
def hosts(*, allow_nan: bool = False) -> SearchStrategy[model.Host]:
    """`Host` values; properties may be absent, empty or many, and the speeds need not match `pstate_count`."""
    light = st.builds(model.HostProperty, key=st.just("role"), value=st.sampled_from(("storage", "")))
    properties = optional(vectors(host_properties(), light))
    return st.builds(
        model.Host,
        id=uint32s(),
        name=names("host0", "Mercury"),
        pstate=uint32s(),
        pstate_count=uint32s(),
        state=enums(model.HostState),
        properties=properties,
        zone_properties=properties,
        core_count=uint32s(),
        computation_speed=doubles(allow_nan=allow_nan),
    )


def host_vectors(allow_nan: bool) -> SearchStrategy[tuple[model.Host, ...]]:
    """No host, a few, and now and then a thousand."""
    light = st.builds(
        model.Host,
        id=uint32s(),
        name=st.just("host0"),
        computation_speed=st.sampled_from((model.Doubles(), model.Doubles([1e8, 5e7]))),
    )
    return vectors(hosts(allow_nan=allow_nan), light)


@makes(model.WorkloadAndFilename)
def workload_and_filenames() -> SearchStrategy[model.WorkloadAndFilename]:
    """`WorkloadAndFilename` values."""
    return st.builds(model.WorkloadAndFilename, name=names("w0", "w1"), filename=names("workloads/w0.json"))


@makes(model.ExternalEventListAndFilename)
def external_event_list_and_filenames() -> SearchStrategy[model.ExternalEventListAndFilename]:
    """`ExternalEventListAndFilename` values."""
    return st.builds(model.ExternalEventListAndFilename, name=names("e0", "e1"), filename=names("events/e0.txt"))
