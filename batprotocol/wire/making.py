"""Fast creation of frequent values from fields that are known to be valid, without checks where possible.

A class converts its fields for its users, who may pass a list for a tuple. In a turn of a scheduler, this conversion is
a good part of the time of a value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from batprotocol.model import (
    AllocationPlacement,
    Event,
    ExecuteJobEvent,
    ExecutorPlacement,
    Message,
    PredefinedExecutorPlacementStrategy,
    ProfileAllocationPlacement,
    StorageHost,
)
from batprotocol.model.hosts import FrozenHosts
from batprotocol.wire.binary import ENGINES

__all__ = ["add_execution", "bind_builders", "new_allocation", "new_builder", "new_execution", "new_message"]


def _execution(
    job_id: str,
    allocation: AllocationPlacement,
    profile_allocation_override: tuple[ProfileAllocationPlacement, ...] | None,
    storage_placement: tuple[StorageHost, ...] | None,
    timestamp: float,
) -> ExecuteJobEvent:
    return ExecuteJobEvent(
        job_id=job_id,
        allocation=allocation,
        profile_allocation_override=profile_allocation_override,
        storage_placement=storage_placement,
        timestamp=timestamp,
    )


def _builder(kind: type[Any], judge: Callable[[Any], object] | None, now: float, is_finished: bool) -> Any:
    return kind(judge, now, is_finished)


def _nothing(builder: object, job_id: object, hosts: object, placement: object) -> bool:
    """It does nothing, and says so."""
    return False


def bind_builders(builder: type[Any]) -> None:
    """Tell the native engine, once, the class of builders, which has slots for its time, events, judge and its end."""
    if "native" in ENGINES:
        strategy = PredefinedExecutorPlacementStrategy
        _native.bind_builders(builder, FrozenHosts, strategy.SpreadOverHostsFirst, strategy.FillOneHostCoresFirst)


new_builder: Callable[[type[Any], Callable[[Any], object] | None, float, bool], Any] = _builder
"""An empty builder of this class, with its judge, its time, and whether it is finished."""

add_execution: Callable[[object, object, object, object], bool] = _nothing
"""Add an ExecuteJobEvent to a builder: an id, hosts and a placement. It returns False, and does nothing, where a check
or a conversion is needed, or where the engine was not compiled."""

# Each takes all fields, in the order of the schema, and of an event its timestamp at last.
new_allocation: Callable[[str, ExecutorPlacement], AllocationPlacement] = AllocationPlacement
new_execution = _execution
new_message: Callable[[float, tuple[Event, ...]], Message] = Message

if "native" in ENGINES:
    from batprotocol.wire import _native

    new_allocation = _native.maker(AllocationPlacement)
    new_execution = _native.maker(ExecuteJobEvent)
    new_message = _native.maker(Message)
    new_builder, add_execution = _native.new_builder, _native.add_execution
