"""The parameters of slurm.conf, commands and options, from the tables by which they are read.

Each is followed, not followed, or without effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from batprotocol.policies.slurm.commands import COMMANDS
from batprotocol.sites.slurm.parameters import (
    CLUSTER,
    MISSED,
    OPTIONS,
    PARTS,
    RECORDS,
    ParameterRow,
    ParameterStanding,
    standing_of,
)
from batprotocol.studies.recorded import SBATCH
from handbook.markdown import code, prose, table

__all__ = ["parameters"]


class _Table(NamedTuple):
    """A table of parameters, and the part of the values that its fields belong to, if they do not say so."""

    rows: Mapping[str, ParameterRow]
    part: str = ""


_TABLES: Final = {
    "cluster": _Table(CLUSTER),
    "options": _Table(OPTIONS, "scheduler"),
    "nodes": _Table(RECORDS["nodename"], "node"),
    "partitions": _Table(RECORDS["partitionname"], "partition"),
}
_HEADS: Final = ("parameter", "in Python", "default", "notes")


def parameters(page: str, which: str) -> str:
    """The parameters of the `cluster`, `options` of SchedulerParameters, those of `nodes` or `partitions`, or others.

    The others are the `commands` of operators, and the options of `sbatch` in recordings.
    """
    if which == "commands":
        return table(("in", *_STANDINGS), (_standings(kind, names.values()) for kind, names in COMMANDS.items())) + "\n"
    if which == "sbatch":
        return table(tuple(_STANDINGS), [_standings("", SBATCH.items())[1:]]) + "\n"
    found = _TABLES[which]
    by_standing: dict[ParameterStanding, list[ParameterRow]] = {standing: [] for standing in ParameterStanding}
    for row in sorted(found.rows.values(), key=lambda row: row.name.lower()):
        by_standing[standing_of(row, found.part)].append(row)
    parts = [table(_HEADS, (_cells(row, found.part) for row in by_standing[ParameterStanding.FOLLOWED]))]
    for standing, text in ((ParameterStanding.MISSED, "Not followed"), (ParameterStanding.IDLE, "Without effect")):
        if by_standing[standing]:
            parts.append(f"{text}: {', '.join(_name(row) for row in by_standing[standing])}.")
    return "\n\n".join(parts) + "\n"


_STANDINGS: Final = {
    "followed": ParameterStanding.FOLLOWED,
    "not followed": ParameterStanding.MISSED,
    "without effect": ParameterStanding.IDLE,
}
_WHERE: Final = {
    "scontrol": "commands of `scontrol`",
    "options of scontrol": "options of `scontrol`",
    "options of scancel": "options of `scancel`",
    "job": "`scontrol update JobId=`",
    "node": "`scontrol update NodeName=`",
    "partition": "`scontrol update PartitionName=`",
    "reservation": "`scontrol create`, `update` of a reservation",
    "flag of reservations": "`Flags=` of a reservation",
}


def _standings(kind: str, names: Iterable[tuple[str, ParameterStanding]]) -> tuple[str, ...]:
    """A row: where the names are, and those of each standing."""
    named = list(names)
    cells = (sorted((name for name, own in named if own is each), key=str.lower) for each in _STANDINGS.values())
    return (_WHERE.get(kind, ""), *(", ".join(map(code, each)) for each in cells))


def _name(row: ParameterRow) -> str:
    return f"{code(row.name)} ({prose(row.note.rstrip('.'))})" if row.note else code(row.name)


def _cells(row: ParameterRow, part: str) -> tuple[str, ...]:
    fields = _fields(row, part)
    missed = [field.rpartition(".")[2] for field in fields if field in MISSED]
    notes = [row.note] if row.note else []
    if missed:
        notes.append(f"Not followed: {', '.join(map(code, missed))}.")
    shown = [field for field in fields if field not in MISSED]
    default = _default(shown[0]) if len(shown) == 1 else ""
    return code(row.name), ", ".join(map(code, shown)), default, prose(" ".join(notes))


_SEVERAL: Final[Mapping[str, tuple[str, ...]]] = {
    "DependencyParameters": ("jobs.kill_invalid_depend",),
    "PriorityFlags": tuple(
        f"priority.{name}"
        for name in (
            *("accrue_always", "calculate_running", "depth_oblivious", "fair_tree", "increase_only", "max_tres"),
            *("normal_assoc", "normal_part", "normal_qos", "normal_tres", "small_relative_to_time"),
        )
    ),
    "SocketsPerBoard": ("node.sockets",),
    "PreemptMode": ("preemption.mode", "preemption.gang", "preemption.within"),
    "SelectTypeParameters": (
        *("select.unit", "select.counts_memory", "select.least_loaded", "select.one_task_per_core"),
        *("select.pack_nodes", "select.block_cores"),
    ),
}
"""The fields of parameters that set several, or another one than their row says."""

_OF_PARTITIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "OverSubscribe": ("partition.over_subscribe", "partition.over_subscribe_jobs"),
    "PreemptMode": ("partition.preempt_mode",),
    "Priority": ("partition.priority_tier", "partition.priority_job_factor"),
    "Shared": ("partition.over_subscribe", "partition.over_subscribe_jobs"),
}
"""The same for the lines of partitions."""


def _fields(row: ParameterRow, part: str) -> Iterable[str]:
    if row.name in _SEVERAL and part != "partition":
        return _SEVERAL[row.name]
    if row.field:
        return [f"{part}.{row.field}".lstrip(".")]
    return _OF_PARTITIONS.get(row.name, ())


def _default(field: str) -> str:
    part, _, name = field.rpartition(".")
    (found,) = (each.default for each in msgspec.structs.fields(PARTS[part]) if each.name == name)
    return "" if found is msgspec.NODEFAULT else code(repr(found))
