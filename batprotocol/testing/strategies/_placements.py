"""Strategies for what a job is executed on."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._common import makes, vectors
from batprotocol.testing.strategies._enums import enums
from batprotocol.testing.strategies._hosts import host_sets
from batprotocol.testing.strategies._numbers import uint32s
from batprotocol.testing.strategies._texts import names, profile_ids

__all__ = [
    "allocation_placements",
    "custom_executor_to_host_mappings",
    "executor_placements",
    "profile_allocation_placements",
    "storage_hosts",
]


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
