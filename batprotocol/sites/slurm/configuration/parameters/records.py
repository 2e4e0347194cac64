"""The parameters of the lines that describe nodes, sets of nodes, nodes that are down, and partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from batprotocol.errors import InputError, shown
from batprotocol.sites.slurm.amounts import (
    UNLIMITED,
    flag,
    gres,
    listed,
    minutes,
    number_of,
    one_of,
    span,
    weights,
    whole,
    words,
)
from batprotocol.sites.slurm.configuration.parameters.cluster import memory, preempt_mode, select_parameters
from batprotocol.sites.slurm.configuration.parameters.rows import Row, Standing, ignored, missed, rows_of

__all__ = ["RECORDS", "STATES"]

STATES: Final = ("UNKNOWN", "IDLE", "DOWN", "DRAIN", "FAIL", "FAILING", "FUTURE", "CLOUD", "BUSY", "UP", "ALLOC")
"""The states that a line can give a node."""


def _state(text: str) -> str:
    state = text.upper().partition("+")[0]
    if state not in STATES and state not in ("DRAINED", "DRAINING", "NO_RESPOND"):
        raise InputError(f"expected a state such as {', '.join(STATES[:5])}, got {shown(text)}")
    return {"DRAINED": "DRAIN", "DRAINING": "DRAIN"}.get(state, state)


def _limit(text: str) -> int | None:
    return None if text.upper() in UNLIMITED else number_of(text, 0, 2**32 - 3)


def _allowed(text: str) -> tuple[str, ...] | None:
    return None if text.upper() in ("ALL", "") else listed(text)


def _denied(text: str) -> tuple[str, ...]:
    return () if text.upper() in ("NONE", "(NULL)") else listed(text)


def _name(text: str) -> str | None:
    return None if text in ("", "(null)", "N/A", "NONE") else text


def _default_time(text: str) -> float | None:
    return None if text.upper() == "NONE" else minutes(text)


def _over_time(text: str) -> float | None:
    if text.upper() == "NONE":
        return None
    return span(text) if text.upper() in UNLIMITED else number_of(text, 0, 65_533) * 60.0


def _over_subscribe(text: str) -> dict[str, Any]:
    mode, mark, count = text.partition(":")
    kind = one_of("no", "yes", "force", "exclusive")(mode)
    if kind in ("no", "exclusive"):
        return {"over_subscribe": kind, "over_subscribe_jobs": 1}
    return {"over_subscribe": kind, "over_subscribe_jobs": number_of(count, 1, 32_767) if mark else 4}


def _preempt(text: str) -> dict[str, Any]:
    fields = preempt_mode(text)
    return {"preempt_mode": fields.get("mode") or ("gang" if fields.get("gang") else None)}


_SMALL = whole(0, 65_533)
_ADDRESSES: Final = ("BcastAddr", "CpuBind", "NodeAddr", "NodeHostname", "Port", "Reason")

_OF_CPUS: Final = "The number of CPUs and of sockets is made of it."

_NODE: Final = (
    Row("NodeName"),
    Row("Boards", Standing.IDLE, "boards", whole(1, 65_533), _OF_CPUS),
    Row("CoreSpecCount", field="cores_reserved", read=_SMALL),
    Row("CoresPerSocket", Standing.IDLE, "cores_per_socket", whole(1, 65_533), _OF_CPUS),
    Row("CPUs", field="cpus", read=whole(1, 65_533), note="Without it: the product of sockets, cores and threads."),
    Row("Features", field="features", read=words),
    Row("Feature", field="features", read=words),
    Row("Gres", field="gres", read=gres),
    Row("MemSpecLimit", field="memory_reserved", read=whole(0, 2**33)),
    Row("Procs", field="cpus", read=whole(1, 65_533)),
    Row("RealMemory", field="memory", read=whole(1, 2**33)),
    Row("Sockets", field="sockets", read=whole(1, 65_533)),
    Row("SocketsPerBoard", field="sockets_per_board", read=whole(1, 65_533)),
    Row("State", field="state", read=_state),
    Row("ThreadsPerCore", field="threads_per_core", read=whole(1, 65_533)),
    Row("TmpDisk", field="disk", read=whole(0, 2**32 - 3)),
    Row("Weight", field="weight", read=whole(0, 2**32 - 3)),
    *ignored(*_ADDRESSES),
    *missed("CpuSpecList", "Parameters", "RestrictedCoresPerGPU", "Topology"),
)
_PARTITION: Final = (
    Row("PartitionName"),
    Row("AllowAccounts", field="allow_accounts", read=_allowed),
    Row("AllowGroups", field="allow_groups", read=_allowed),
    Row("AllowQos", field="allow_qos", read=_allowed),
    Row("Alternate", field="alternate", read=_name),
    Row("Default", field="default", read=flag),
    Row("DefaultTime", field="default_time", read=_default_time),
    Row("DefCpuPerGPU", field="cpus_per_gpu", read=whole(1)),
    Row("DefMemPerCPU", field="memory_per_cpu", read=memory),
    Row("DefMemPerGPU", field="memory_per_gpu", read=memory),
    Row("DefMemPerNode", field="memory_per_node", read=memory),
    Row("DenyAccounts", field="deny_accounts", read=_denied),
    Row("DenyQos", field="deny_qos", read=_denied),
    Row("ExclusiveUser", field="exclusive_user", read=flag),
    Row("GraceTime", field="grace_time", read=lambda text: float(number_of(text, 0, 2**32 - 3))),
    Row("LLN", field="least_loaded", read=flag),
    Row("MaxCPUsPerNode", field="max_cpus_per_node", read=_limit),
    Row("MaxMemPerCPU", field="max_memory_per_cpu", read=memory),
    Row("MaxMemPerNode", field="max_memory_per_node", read=memory),
    Row("MaxNodes", field="max_nodes", read=_limit),
    Row("MaxTime", field="max_time", read=minutes),
    Row("MinNodes", field="min_nodes", read=whole()),
    Row("Nodes", field="nodes"),
    Row("OverSubscribe", read=_over_subscribe),
    Row("OverTimeLimit", field="over_time_limit", read=_over_time),
    Row("PreemptMode", read=_preempt),
    Row(
        "Priority",
        read=lambda text: {"priority": _SMALL(text)},
        note="It takes the place of both PriorityTier and PriorityJobFactor.",
    ),
    Row("PriorityJobFactor", field="priority_job_factor", read=_SMALL),
    Row("PriorityTier", field="priority_tier", read=_SMALL),
    Row("QOS", field="qos", read=_name),
    Row("ReqResv", field="needs_reservation", read=flag),
    Row("RootOnly", field="root_only", read=flag),
    Row("SelectTypeParameters", field="select", read=select_parameters),
    Row("Shared", read=_over_subscribe, note="It is the old name of OverSubscribe."),
    Row("State", field="state", read=lambda text: one_of("up", "down", "drain", "inactive")(text).upper()),
    Row("TRESBillingWeights", field="billing_weights", read=weights),
    *ignored("AllocNodes", "CpuBind", "DisableRootJobs", "Hidden", "PowerDownOnIdle"),
    *missed(
        "ExclusiveTopo",
        "JobDefaults",
        "MaxCPUsPerSocket",
        "ResumeTimeout",
        "SuspendTime",
        "SuspendTimeout",
        "Topology",
    ),
)
_SET: Final = (Row("NodeSet"), Row("Feature", field="features", read=words), Row("Nodes", field="nodes"))
_DOWN: Final = (Row("DownNodes"), Row("State", field="state", read=_state), *ignored("Reason"))
_FRONT: Final = missed(
    *("FrontendName", "AllowGroups", "AllowUsers", "DenyGroups", "DenyUsers", "FrontendAddr", "Port", "Reason", "State")
)

RECORDS: Final[Mapping[str, Mapping[str, Row]]] = {
    "nodename": rows_of(_NODE),
    "nodeset": rows_of(_SET),
    "downnodes": rows_of(_DOWN),
    "partitionname": rows_of(_PARTITION),
    "frontendname": rows_of(_FRONT),
}
"""The parameters of lines that begin with these names, by name in small letters."""
