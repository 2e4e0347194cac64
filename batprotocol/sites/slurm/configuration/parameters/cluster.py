"""The parameters of the whole cluster: those that are followed, with the values that they set.

A field is named with the part of the configuration that has it: `priority.max_age`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.slurm.amounts import UNLIMITED, flag, listed, minutes, number_of, one_of, span, weights, whole
from batprotocol.sites.slurm.configuration.parameters.others import OTHERS
from batprotocol.sites.slurm.configuration.parameters.rows import Row, Standing, hinted, rows_of

__all__ = ["CLUSTER", "memory", "preempt_mode", "select_parameters"]

_MOST_FLAGS: Final = 50
_SHORT: Final = 2**16 - 3
"""The most minutes or seconds of those parameters that Slurm keeps as small numbers."""


def _seconds(most: int = _SHORT) -> Callable[[str], float]:
    return lambda text: float(number_of(text, 0, most))


def _minutes(text: str) -> float:
    return span(text) if text.upper() in UNLIMITED else number_of(text, 0, _SHORT) * 60.0


def memory(text: str) -> int | None:
    """An amount of memory in MiB, or None without limit."""
    return None if text.upper() in UNLIMITED else number_of(text, 0, 2**53) or None


def _period(text: str) -> float:
    found = minutes(text)
    if not found > 0:
        raise InputError(f"expected a time above 0, got {shown(text)}")
    return found


def _exempt(text: str) -> float:
    return 0.0 if text.upper() in ("-1", "NONE") else span(text)


_PRIORITY_FLAGS: Final[Mapping[str, Mapping[str, bool]]] = {
    "ACCRUE_ALWAYS": {"accrue_always": True},
    "CALCULATE_RUNNING": {"calculate_running": True},
    "DEPTH_OBLIVIOUS": {"depth_oblivious": True, "fair_tree": False},
    "FAIR_TREE": {},
    "INCR_ONLY": {"increase_only": True},
    "MAX_TRES": {"max_tres": True},
    "NO_FAIR_TREE": {"fair_tree": False},
    "NO_NORMAL_ALL": dict.fromkeys(("normal_assoc", "normal_part", "normal_qos", "normal_tres"), False),
    "NO_NORMAL_ASSOC": {"normal_assoc": False},
    "NO_NORMAL_PART": {"normal_part": False},
    "NO_NORMAL_QOS": {"normal_qos": False},
    "NO_NORMAL_TRES": {"normal_tres": False},
    "SMALL_RELATIVE_TO_TIME": {"small_relative_to_time": True},
}

_UNITS: Final = {"CPU": "cpu", "CORE": "core", "SOCKET": "socket"}
_SELECT_FLAGS: Final[Mapping[str, Mapping[str, Any]]] = {
    **{f"CR_{name}": {"unit": unit} for name, unit in _UNITS.items()},
    **{f"CR_{name}_MEMORY": {"unit": unit, "counts_memory": True} for name, unit in _UNITS.items()},
    "CR_MEMORY": {"counts_memory": True},
    "CR_LLN": {"least_loaded": True},
    "CR_ONE_TASK_PER_CORE": {"one_task_per_core": True},
    "CR_PACK_NODES": {"pack_nodes": True},
    "CR_CORE_DEFAULT_DIST_BLOCK": {"block_cores": True},
    "OTHER_CONS_RES": {},
    "OTHER_CONS_TRES": {},
    "NONE": {},
}


_TOPOLOGY_FLAGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "TOPOOPTIONAL": {"topology_optional": True},
    **{name: {} for name in ("DRAGONFLY", "ROUTEPART", "ROUTETREE", "SWITCHASNODERANK", "TOPOMAXSIZEUNROLL")},
}


def _flags(table: Mapping[str, Mapping[str, Any]], text: str, prefix: str = "") -> dict[str, Any]:
    """The fields that flags with commas between them set."""
    fields: dict[str, Any] = {}
    for part in listed(text)[:_MOST_FLAGS]:
        found = table.get(part.upper())
        if found is None:
            raise InputError(f"expected flags such as {next(iter(table))}, got {shown(part)}{hinted(part, table)}")
        fields |= {prefix + name: value for name, value in found.items()}
    return fields


def select_parameters(text: str) -> dict[str, Any]:
    """The fields of `Select` that a SelectTypeParameters sets.

    >>> select_parameters("CR_Core_Memory,CR_LLN")
    {'unit': 'core', 'counts_memory': True, 'least_loaded': True}
    """
    return _flags(_SELECT_FLAGS, text)


_MODES: Final = ("off", "cancel", "requeue", "suspend")


def preempt_mode(text: str) -> dict[str, Any]:
    """The fields of `Preemption` that a PreemptMode sets.

    >>> preempt_mode("SUSPEND,GANG")
    {'mode': 'suspend', 'gang': True}
    """
    fields: dict[str, Any] = {}
    for part in listed(text):
        low = part.lower()
        if low in _MODES:
            fields["mode"] = low
        elif low in ("gang", "within"):
            fields[low] = True
        else:
            known = [*_MODES, "gang", "within"]
            raise InputError(f"expected one of {', '.join(known).upper()}, got {shown(part)}{hint(part, known)}")
    return fields


def _licenses(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in listed(text):
        name, mark, count = part.partition(":" if ":" in part else "=")
        found[name.strip()] = number_of(count.strip(), 0, 2**32 - 3) if mark else 1
    return found


_PREEMPT_TYPE: Final = one_of("none", "partition_prio", "qos", prefix="preempt/")
_ENFORCED: Final = ("associations", "limits", "nojobs", "nosteps", "qos", "safe", "wckeys")


def _enforced(text: str) -> tuple[str, ...]:
    """The rules that accounting enforces, with those that follow from them."""
    found: set[str] = set()
    for part in listed(text.lower()):
        if part in ("all", "1", "yes"):
            found |= set(_ENFORCED) - {"nojobs", "nosteps"}
        elif part in _ENFORCED:
            found.add(part)
        elif part not in ("none", "0", "no"):
            raise InputError(
                f"expected all or some of {', '.join(_ENFORCED)}, got {shown(part)}{hint(part, _ENFORCED)}"
            )
    if found & {"limits", "qos", "wckeys", "safe"}:
        found.add("associations")
    if "safe" in found:
        found.add("limits")
    return tuple(sorted(found))


CLUSTER: Final[Mapping[str, Row]] = rows_of(
    [
        Row("ClusterName", field="cluster"),
        Row("GresTypes", Standing.IDLE, "gres_types", listed, "The lines of nodes have their resources."),
        Row("Licenses", field="licenses", read=_licenses),
        Row(
            "TopologyPlugin",
            field="topology",
            read=one_of("none", "default", "flat", "tree", "3d_torus", "hypercube", "block", prefix="topology/"),
        ),
        Row("TopologyParam", read=lambda text: _flags(_TOPOLOGY_FLAGS, text)),
        Row("SelectType", field="select.plugin", read=one_of("linear", "cons_res", "cons_tres", prefix="select/")),
        Row("SelectTypeParameters", read=lambda text: _flags(_SELECT_FLAGS, text, "select.")),
        Row("PriorityType", field="priority.plugin", read=one_of("basic", "multifactor", prefix="priority/")),
        Row("PriorityWeightAge", field="priority.weight_age", read=whole()),
        Row("PriorityWeightAssoc", field="priority.weight_assoc", read=whole()),
        Row("PriorityWeightFairshare", field="priority.weight_fairshare", read=whole()),
        Row("PriorityWeightJobSize", field="priority.weight_job_size", read=whole()),
        Row("PriorityWeightPartition", field="priority.weight_partition", read=whole()),
        Row("PriorityWeightQOS", field="priority.weight_qos", read=whole()),
        Row("PriorityWeightTRES", field="priority.weight_tres", read=weights),
        Row("PriorityMaxAge", field="priority.max_age", read=_period),
        Row("PriorityCalcPeriod", field="priority.calc_period", read=_period),
        Row("PriorityDecayHalfLife", field="priority.half_life", read=minutes),
        Row(
            "PriorityUsageResetPeriod",
            field="priority.reset",
            read=one_of("none", "now", "daily", "weekly", "monthly", "quarterly", "yearly"),
        ),
        Row("PriorityFavorSmall", field="priority.favor_small", read=flag),
        Row("PriorityFlags", read=lambda text: _flags(_PRIORITY_FLAGS, text, "priority.")),
        Row("FairShareDampeningFactor", field="priority.dampening", read=whole(1, 65_533)),
        Row("SchedulerType", field="scheduler.plugin", read=one_of("backfill", "builtin", prefix="sched/")),
        Row("PreemptType", field="preemption.plugin", read=_PREEMPT_TYPE),
        Row("PreemptMode", read=lambda text: {f"preemption.{key}": each for key, each in preempt_mode(text).items()}),
        Row("PreemptExemptTime", field="preemption.exempt_time", read=_exempt),
        Row("OverTimeLimit", field="jobs.over_time_limit", read=_minutes),
        Row("KillWait", Standing.IDLE, "jobs.kill_wait", _seconds(), "Jobs of a simulation end at once when killed."),
        Row("CompleteWait", field="jobs.complete_wait", read=_seconds()),
        Row("JobRequeue", field="jobs.requeue", read=flag),
        Row("ResvOverRun", field="jobs.reservation_overrun", read=_minutes),
        Row("DependencyParameters", read=lambda text: {"jobs.kill_invalid_depend": "kill_invalid_depend" in text}),
        Row("ReturnToService", field="jobs.return_to_service", read=whole(0, 2)),
        Row(
            "EnforcePartLimits",
            field="jobs.enforce_limits",
            read=lambda text: {"yes": "any"}.get(text.lower()) or one_of("no", "any", "all")(text),
        ),
        Row("MaxJobCount", field="jobs.max_count", read=whole(1)),
        Row("MinJobAge", Standing.IDLE, "jobs.min_age", _seconds(2**32 - 3)),
        Row("MaxArraySize", field="jobs.max_array_size", read=whole(0, 4_000_001)),
        Row("DefMemPerCPU", field="jobs.memory_per_cpu", read=memory),
        Row("DefMemPerGPU", field="jobs.memory_per_gpu", read=memory),
        Row("DefMemPerNode", field="jobs.memory_per_node", read=memory),
        Row("DefCpuPerGPU", field="jobs.cpus_per_gpu", read=whole(1)),
        Row("MaxMemPerCPU", field="jobs.max_memory_per_cpu", read=memory),
        Row("MaxMemPerNode", field="jobs.max_memory_per_node", read=memory),
        Row("AccountingStorageEnforce", field="jobs.enforce", read=_enforced),
        Row(
            "AccountingStorageType",
            field="jobs.has_database",
            read=lambda text: text.lower() in ("accounting_storage/slurmdbd", "slurmdbd"),
        ),
        Row("FirstJobId", Standing.IDLE, "jobs.first_id", whole(1)),
        Row("SchedulerParameters", note="Its options are in the table below."),
        *OTHERS,
    ]
)
"""The parameters of the cluster, by name in small letters."""
