"""Strategies for the values that both sides exchange at the start."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._common import makes, optional, vectors
from batprotocol.testing.strategies._doubles import doubles
from batprotocol.testing.strategies._enums import enums
from batprotocol.testing.strategies._numbers import uint32s
from batprotocol.testing.strategies._texts import names

__all__ = [
    "edc_requested_simulation_features",
    "external_event_list_and_filenames",
    "host_properties",
    "hosts",
    "workload_and_filenames",
]


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
