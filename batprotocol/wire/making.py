"""The values that are made again and again, of fields that are as they should be: not looked at, where possible.

What a class does with its fields when a value is made of them, it does for people, who may give a list for a tuple. In
a turn of a scheduler, that is a good part of what a value costs.
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
