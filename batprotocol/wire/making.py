"""Fast creation of frequent values from fields that are known to be valid, without checks where possible.

A class converts its fields for its users, who may pass a list for a tuple. In a turn of a scheduler, this conversion is
a good part of the time of a value.
"""

from __future__ import annotations

from collections.abc import Callable

from batprotocol.model import (
    AllocationPlacement,
    Event,
    ExecuteJobEvent,
    ExecutorPlacement,
    Message,
    ProfileAllocationPlacement,
    StorageHost,
)
from batprotocol.wire.binary import ENGINES

__all__ = ["new_allocation", "new_execution", "new_message"]


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


# Each takes all fields, in the order of the schema, and of an event its timestamp at last.
new_allocation: Callable[[str, ExecutorPlacement], AllocationPlacement] = AllocationPlacement
new_execution = _execution
new_message: Callable[[float, tuple[Event, ...]], Message] = Message

if "native" in ENGINES:
    from batprotocol.wire import _native

    new_allocation = _native.maker(AllocationPlacement)
    new_execution = _native.maker(ExecuteJobEvent)
    new_message = _native.maker(Message)
