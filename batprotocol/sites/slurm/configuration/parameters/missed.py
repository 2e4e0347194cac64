"""The fields that a file can set and that the simulated scheduler does not follow.

A field is named with its part: `scheduler.bf_licenses`, `node.disk`, `partition.alternate`. It is reported only where
it has another value than its default. A test compares the list with the fields that the scheduler uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from batprotocol.sites.slurm.configuration.parameters.rows import Row, Standing
from batprotocol.sites.slurm.configuration.values import (
    Configuration,
    Jobs,
    Node,
    Partition,
    Preemption,
    Priority,
    Scheduler,
    Select,
)

__all__ = ["MISSED", "PARTS", "missed_by", "standing_of"]

PARTS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "": Configuration,
    "select": Select,
    "priority": Priority,
    "scheduler": Scheduler,
    "preemption": Preemption,
    "jobs": Jobs,
    "node": Node,
    "partition": Partition,
}
"""The values that have the fields of each part."""

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "select": ("block_cores", "one_task_per_core", "pack_nodes"),
    "scheduler": (
        *("allow_zero_lic", "bf_licenses", "bf_running_job_reserve", "bf_window_linear", "defer", "max_array_tasks"),
        *("preempt_reorder_count", "preempt_strict_order", "reduce_completing_frag"),
    ),
    "preemption": ("gang", "within"),
    "jobs": (
        *("complete_wait", "cpus_per_gpu", "max_array_size", "max_count"),
        *("max_memory_per_cpu", "max_memory_per_node", "memory_per_gpu", "reservation_overrun"),
    ),
    "node": ("cores_reserved", "disk"),
    "partition": (
        *("alternate", "cpus_per_gpu"),
        *("exclusive_user", "max_cpus_per_node", "max_memory_per_cpu", "max_memory_per_node", "memory_per_gpu"),
    ),
}
MISSED: Final = frozenset(f"{part}.{name}".lstrip(".") for part, names in _FIELDS.items() for name in names)
"""These fields."""

_DEFAULTS: Final[Mapping[str, Any]] = {
    f"{part}.{field.name}".lstrip("."): field.default
    for part, kind in PARTS.items()
    for field in msgspec.structs.fields(kind)
}


def missed_by(name: str, fields: Mapping[str, Any]) -> Iterator[str]:
    """The names of that which is not followed of a parameter: its own, or with the field where it sets several.

    Args:
        name: the name of the parameter.
        fields: the fields that it sets, with their parts.

    >>> list(missed_by("PreemptMode", {"preemption.mode": "suspend", "preemption.gang": True}))
    ['PreemptMode/gang']
    """
    found = [field for field, value in fields.items() if field in MISSED and value != _DEFAULTS.get(field)]
    if len(found) == len(fields):
        yield from [name] if found else ()
    else:
        yield from (f"{name}/{field.rpartition('.')[2]}" for field in found)


def standing_of(row: Row, part: str = "") -> Standing:
    """The fate of a parameter in a simulation.

    Args:
        row: its row.
        part: the part of the values that it belongs to, if its field does not say so.
    """
    if row.standing is Standing.FOLLOWED and f"{part}.{row.field}".lstrip(".") in MISSED:
        return Standing.MISSED
    return row.standing
