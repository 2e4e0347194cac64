"""The tables of the parameters of slurm.conf: a name, whether the simulated scheduler follows it, and how it is read.

Files are read by these tables, and the table of the handbook is made of them. A field is named with the part of the
configuration that has it: `priority.max_age`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.slurm.configuration_values import (
    MISSED,
    PARTS,
    missed_by,
)
from batprotocol.sites.slurm.texts import (
    NOTHING,
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

__all__ = [
    "CLUSTER",
    "MISSED",
    "NUMBERS",
    "OPTIONS",
    "PARTS",
    "RECORDS",
    "ParameterRow",
    "ParameterStanding",
    "standing_of",
]


_NOTHING: Final = frozenset(map(str.lower, NOTHING))
MOST_UNKNOWN: Final = 100
"""The most names of a file that nobody knows: each is compared with all known ones."""
_LIKENESS: Final = 0.85
"""How alike a name that nobody knows and a known one are, at least, if the first is misspelt."""


class ParameterStanding(enum.Enum):
    """The fate of a parameter in a simulation.

    Attributes:
        FOLLOWED: the simulated scheduler does as it says.
        IDLE: it decides nothing in a simulation: a path, a port, a log file, the load of the controller.
        MISSED: it could decide something, and is not followed.
    """

    FOLLOWED = "followed"
    IDLE = "without effect"
    MISSED = "not followed"


class ParameterRow(NamedTuple):
    """A parameter, or an option of one.

    Attributes:
        name: its name as Slurm's documentation writes it.
        standing: what becomes of it.
        field: the field of the value that it sets, or "" if `read` gives several.
        read: reads its text. Without a `field`, it returns the values of several fields by name.
        note: what is particular, for the table of the handbook.
    """

    name: str
    standing: ParameterStanding = ParameterStanding.FOLLOWED
    field: str = ""
    read: Callable[[str], Any] = str
    note: str = ""

    def fields_of(self, text: str) -> Mapping[str, Any]:
        """The fields that its text sets.

        Raises:
            InputError: the text cannot be read.
        """
        value = self.read(text)
        if self.field:
            return {self.field: value}
        fields: Mapping[str, Any] = value
        return fields


def rows_of(rows: Iterable[ParameterRow]) -> dict[str, ParameterRow]:
    """The rows by their names in small letters."""
    return {row.name.lower(): row for row in rows}


def ignored(*names: str) -> Iterator[ParameterRow]:
    """Rows of parameters without effect."""
    return (ParameterRow(name, ParameterStanding.IDLE) for name in names)


def missed(*names: str) -> Iterator[ParameterRow]:
    """Rows of parameters that are not followed."""
    return (ParameterRow(name, ParameterStanding.MISSED) for name in names)


def says_nothing(text: str) -> bool:
    """Whether a text is one of those by which Slurm says that there is no such thing: `burst_buffer/none`."""
    low = text.lower()
    return low in _NOTHING or low.endswith("/none")


def named(name: str, rows: Mapping[str, ParameterRow]) -> ParameterRow | None:
    """The row of a name; None if the name is not known at all, as it belongs to another version.

    Raises:
        InputError: the name is almost one of those in the table.
    """
    found = rows.get(name.lower())
    if found is not None:
        return found
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=name.lower(), autojunk=False)
    for each in rows:
        matcher.set_seq1(each)
        measures = matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio  # from the quickest one
        if all(measure() >= _LIKENESS for measure in measures):
            raise InputError(f"there is no parameter {shown(name)}; did you mean {rows[each].name!r}?")
    return None


def hinted(name: str, known: Iterable[str]) -> str:
    """A question for the end of a sentence, as `hint` gives it, for names in any letters."""
    from difflib import get_close_matches

    names = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), list(names), 1)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def standing_of(row: ParameterRow, part: str = "") -> ParameterStanding:
    """The fate of a parameter in a simulation.

    Args:
        row: its row.
        part: the part of the values that it belongs to, if its field does not say so.
    """
    if row.standing is ParameterStanding.FOLLOWED and f"{part}.{row.field}".lstrip(".") in MISSED:
        return ParameterStanding.MISSED
    return row.standing


# Parameters of the cluster that set no field


_ACCOUNTING: Final = (
    "AccountingStorageBackupHost AccountingStorageExternalHost AccountingStorageHost AccountingStorageLoc",
    "AccountingStorageParameters AccountingStoragePass AccountingStoragePort AccountingStorageTRES",
    "AccountingStorageUser AccountingStoreFlags AccountingStoreJobComment AcctGatherEnergyType",
    "AcctGatherFilesystemType AcctGatherInfinibandType AcctGatherInterconnectType AcctGatherNodeFreq",
    "AcctGatherProfileType DefaultStorageHost DefaultStorageLoc DefaultStoragePass DefaultStoragePort",
    "DefaultStorageType DefaultStorageUser JobAcctGatherFrequency JobAcctGatherParams JobAcctGatherType",
    "JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPassScript JobCompPort JobCompType JobCompUser",
    "TrackWCKey",
)
_COMMUNICATION: Final = (
    "AuthAltParameters AuthAltTypes AuthInfo AuthType BackupAddr BackupController BcastExclude BcastParameters",
    "CertgenParameters CertgenType CertmgrParameters CertmgrType CommunicationParameters ControlAddr",
    "ControlMachine CredType CryptoType DataParserParameters DisableRootJobs EioTimeout EpilogMsgTime",
    "GetEnvTimeout GroupUpdateForce GroupUpdateTime HashPlugin HttpParserType JobCredentialPrivateKey",
    "JobCredentialPublicCertificate KeepAliveTime MaxDBDMsgs MaxNodeCount MessageTimeout MetricsAuthUsers",
    "MetricsType MsgAggregationParams PrivateData RoutePlugin SlurmctldAddr SlurmctldHost SlurmctldPort",
    "SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmctldTimeout SlurmdPort SlurmdTimeout SrunPortRange",
    "TCPTimeout TLSParameters TLSType TreeWidth UrlParserType",
)
_FILES: Final = (
    "DebugFlags JobFileAppend LogTimeFormat MailDomain MailProg PluginDir PlugStackConfig SlurmctldDebug",
    "SlurmctldLogFile SlurmctldPidFile SlurmctldPlugstack SlurmctldSyslogDebug SlurmdDebug SlurmdLogFile",
    "SlurmdParameters SlurmdPidFile SlurmdSpoolDir SlurmdSyslogDebug SlurmdUser SlurmSchedLogFile",
    "SlurmSchedLogLevel SlurmUser StateSaveLocation TmpFS",
)
_STEPS: Final = (
    "CgroupPlugin CoreSpecPlugin CpuFreqDef CpuFreqGovernors CpuFreqParameters ExtSensorsFreq ExtSensorsType",
    "GpuFreqDef HealthCheckInterval HealthCheckNodeState HealthCheckProgram InteractiveStepOptions",
    "JobContainerPlugin JobContainerType KillOnBadExit LaunchParameters LaunchType MaxJobId MaxStepCount",
    "MemLimitEnforce MpiDefault MpiParams NamespaceType PrEpParameters PrEpPlugins ProctrackType",
    "PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept ReconfigFlags",
    "SallocDefaultCommand SrunEpilog SrunProlog SwitchParameters SwitchType TaskEpilog TaskPlugin TaskPluginParam",
    "TaskProlog UnkillableStepProgram UnkillableStepTimeout UsePAM VSizeFactor WaitTime X11Parameters",
)
_OF_OLD: Final = (
    "CacheGroups CheckpointType FastSchedule JobCheckpointDir Layouts SchedulerAuth SchedulerPort",
    "SchedulerRootFilter ChosLoc",
)
_MISSED_OTHERS: Final = (
    "AllowSpecResourcesUsage BatchStartTimeout BurstBufferType CliFilterPlugins Epilog EpilogSlurmctld",
    "EpilogTimeout FederationParameters InactiveLimit JobDefaults JobSubmitPlugins MaxBatchRequeue",
    "MaxTasksPerNode MCSParameters MCSPlugin NodeFeaturesPlugins PowerParameters PowerPlugin PreemptParameters",
    "PriorityParameters PrioritySiteFactorParameters PrioritySiteFactorPlugin Prolog PrologEpilogTimeout",
    "PrologFlags PrologSlurmctld PrologTimeout RebootProgram RequeueExit RequeueExitHold ResumeFailProgram",
    "ResumeProgram ResumeRate ResumeTimeout ResvEpilog ResvProlog SchedulerTimeSlice ScronParameters",
    "SlurmctldParameters SuspendExcNodes SuspendExcParts SuspendExcStates SuspendProgram SuspendRate SuspendTime",
    "SuspendTimeout",
)

OTHERS: Final[tuple[ParameterRow, ...]] = (
    *ignored(*" ".join((*_ACCOUNTING, *_COMMUNICATION, *_FILES, *_STEPS, *_OF_OLD)).split()),
    *missed(*" ".join(_MISSED_OTHERS).split()),
)
"""The rows of these parameters."""


# Options of SchedulerParameters, with times as seconds


_MOST: Final = 2**31 - 1


class Option(NamedTuple):
    """The numbers that an option can have.

    Attributes:
        least: the smallest.
        most: the largest.
        unit: what it counts, in seconds; 0: it is no time.
        zero_is_none: whether 0 stands for no limit.
        minus_is_never: whether -1 stands for never.
    """

    least: int
    most: int = _MOST
    unit: float = 0.0
    zero_is_none: bool = False
    minus_is_never: bool = False

    def read(self, text: str) -> int | float | None:
        """The value of its text.

        Raises:
            InputError: the text is no number of the range.
        """
        if self.minus_is_never and text == "-1":
            return math.inf
        number = number_of(text, self.least, self.most)
        if self.zero_is_none and number == 0:
            return None
        return number * self.unit if self.unit else number


_DAY: Final = 86400
NUMBERS: Final = {
    "batch_sched_delay": Option(0, unit=1.0),
    "bf_interval": Option(1, 10_800, unit=1.0, minus_is_never=True),
    "bf_job_part_count_reserve": Option(0, 100_000, zero_is_none=True),
    "bf_max_job_array_resv": Option(0, 1000),
    "bf_max_job_assoc": Option(0, zero_is_none=True),
    "bf_max_job_part": Option(0, zero_is_none=True),
    "bf_max_job_start": Option(0, 10_000, zero_is_none=True),
    "bf_max_job_test": Option(1, 1_000_000),
    "bf_max_job_user": Option(0, zero_is_none=True),
    "bf_max_job_user_part": Option(0, zero_is_none=True),
    "bf_max_time": Option(1, 3600, unit=1.0),
    "bf_min_age_reserve": Option(0, 30 * _DAY, unit=1.0),
    "bf_min_prio_reserve": Option(0, 2**63 - 1),
    "bf_node_space_size": Option(2, 2_000_000),
    "bf_resolution": Option(1, 3600, unit=1.0),
    "bf_window": Option(1, 43_200, unit=60.0),
    "bf_window_linear": Option(0, unit=1.0),
    "bf_yield_interval": Option(1, 10_000_000, unit=1e-6),
    "bf_yield_sleep": Option(1, 10_000_000, unit=1e-6),
    "default_queue_depth": Option(0),
    "max_array_tasks": Option(1),
    "max_rpc_cnt": Option(0, 1000, zero_is_none=True),
    "max_sched_time": Option(1, unit=1.0),
    "max_switch_wait": Option(0, unit=1.0),
    "partition_job_depth": Option(0, zero_is_none=True),
    "preempt_reorder_count": Option(0),
    "sched_interval": Option(1, unit=1.0, minus_is_never=True),
    "sched_max_job_start": Option(0, zero_is_none=True),
    "sched_min_interval": Option(0, unit=1e-6),
}
"""The options that are numbers, by name."""

_FLAGS: Final = (
    "allow_zero_lic",
    "assoc_limit_stop",
    "bf_licenses",
    "bf_one_resv_per_job",
    "bf_running_job_reserve",
    "defer",
    "pack_serial_at_end",
    "preempt_strict_order",
    "preempt_youngest_first",
    "reduce_completing_frag",
)
_LOAD: Final = "It is about the load of the controller."
_OF_LOAD: Final = ("bf_max_time", "bf_yield_interval", "bf_yield_sleep", "max_rpc_cnt", "max_sched_time")
_IDLE: Final = (
    "bb_array_stage_cnt",
    "build_queue_timeout",
    "correspond_after_task_cnt",
    "delay_boot",
    "disable_hetjob_steps",
    "disable_job_shrink",
    "enable_hetjob_steps",
    "enable_job_state_cache",
    "enable_user_top",
    "extra_constraints",
    "ignore_numa",
    "ignore_constraint_validation",
    "ignore_prefer_validation",
    "max_script_size",
    "max_submit_line_size",
    "no_backup_scheduling",
    "no_env_cache",
    "nohold_on_prolog_fail",
    "permit_job_expansion",
    "requeue_setup_env_fail",
    "salloc_wait_nodes",
    "sbatch_wait_nodes",
    "sched_limit_pending_rpc",
    "spec_cores_first",
    "step_retry_count",
    "step_retry_time",
)
_MISSED_OPTIONS: Final = (
    "bf_allow_magnetic_resv",
    "bf_busy_nodes",
    "bf_hetjob_immediate",
    "bf_hetjob_prio",
    "bf_topopt_enable",
    "bf_topopt_iterations",
    "defer_batch",
    "time_min_as_soft_limit",
    "whole_hetjob",
    "whole_pack",
)
_MOVED: Final = ParameterRow(
    "kill_invalid_depend",
    ParameterStanding.MISSED,
    note="Slurm 22.05 reads it in DependencyParameters only.",
)

OPTIONS: Final[Mapping[str, ParameterRow]] = rows_of(
    [
        *(ParameterRow(name, field=name, read=option.read) for name, option in NUMBERS.items() if name not in _OF_LOAD),
        *(ParameterRow(name, ParameterStanding.IDLE, name, NUMBERS[name].read, _LOAD) for name in _OF_LOAD),
        ParameterRow("bf_continue", ParameterStanding.IDLE, "bf_continue", lambda text: True, _LOAD),
        *(ParameterRow(name, field=name, read=lambda text: True) for name in _FLAGS),
        *(ParameterRow(name, ParameterStanding.IDLE) for name in _IDLE),
        *(ParameterRow(name, ParameterStanding.MISSED) for name in _MISSED_OPTIONS),
        _MOVED,
    ]
)
"""The options of SchedulerParameters, by name."""


def options_of(text: str) -> tuple[dict[str, object], list[tuple[str, str]]]:
    """The fields of `Scheduler` that a SchedulerParameters sets, and the options that are not followed, with reasons.

    An option out of its range keeps its default, as in Slurm.

    >>> options_of("bf_interval=60,bf_continue,bf_busy_nodes")
    ({'bf_interval': 60.0, 'bf_continue': True}, [('bf_busy_nodes', 'is not followed')])

    Raises:
        InputError: an option is unknown, and almost one of those that are known.
    """
    fields: dict[str, object] = {}
    missing: list[tuple[str, str]] = []
    for part in listed(text):
        name, _, value = part.partition("=")
        name = name.strip()
        row = named(name, OPTIONS)
        if row is None:
            missing.append((name, "is not an option of Slurm 22.05"))
            if len(missing) > MOST_UNKNOWN:
                raise InputError(f"expected options of Slurm 22.05, got more than {MOST_UNKNOWN} others")
        elif row.standing is ParameterStanding.MISSED:
            missing.append((name, "is not followed"))
        elif row.field:
            try:
                found = row.fields_of(value.strip())
                fields.update(found)
                of_scheduler = {f"scheduler.{field}": each for field, each in found.items()}
                missing += [(each, "is not followed") for each in missed_by(row.name, of_scheduler)]
            except InputError as error:
                missing.append((name, f"keeps its default: {error.reason}"))
    return fields, missing


# Parameters of the cluster


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


CLUSTER: Final[Mapping[str, ParameterRow]] = rows_of(
    [
        ParameterRow("ClusterName", field="cluster"),
        ParameterRow(
            "GresTypes", ParameterStanding.IDLE, "gres_types", listed, "The lines of nodes have their resources."
        ),
        ParameterRow("Licenses", field="licenses", read=_licenses),
        ParameterRow(
            "TopologyPlugin",
            field="topology",
            read=one_of("none", "default", "flat", "tree", "3d_torus", "hypercube", "block", prefix="topology/"),
        ),
        ParameterRow("TopologyParam", read=lambda text: _flags(_TOPOLOGY_FLAGS, text)),
        ParameterRow(
            "SelectType", field="select.plugin", read=one_of("linear", "cons_res", "cons_tres", prefix="select/")
        ),
        ParameterRow("SelectTypeParameters", read=lambda text: _flags(_SELECT_FLAGS, text, "select.")),
        ParameterRow("PriorityType", field="priority.plugin", read=one_of("basic", "multifactor", prefix="priority/")),
        ParameterRow("PriorityWeightAge", field="priority.weight_age", read=whole()),
        ParameterRow("PriorityWeightAssoc", field="priority.weight_assoc", read=whole()),
        ParameterRow("PriorityWeightFairshare", field="priority.weight_fairshare", read=whole()),
        ParameterRow("PriorityWeightJobSize", field="priority.weight_job_size", read=whole()),
        ParameterRow("PriorityWeightPartition", field="priority.weight_partition", read=whole()),
        ParameterRow("PriorityWeightQOS", field="priority.weight_qos", read=whole()),
        ParameterRow("PriorityWeightTRES", field="priority.weight_tres", read=weights),
        ParameterRow("PriorityMaxAge", field="priority.max_age", read=_period),
        ParameterRow("PriorityCalcPeriod", field="priority.calc_period", read=_period),
        ParameterRow("PriorityDecayHalfLife", field="priority.half_life", read=minutes),
        ParameterRow(
            "PriorityUsageResetPeriod",
            field="priority.reset",
            read=one_of("none", "now", "daily", "weekly", "monthly", "quarterly", "yearly"),
        ),
        ParameterRow("PriorityFavorSmall", field="priority.favor_small", read=flag),
        ParameterRow("PriorityFlags", read=lambda text: _flags(_PRIORITY_FLAGS, text, "priority.")),
        ParameterRow("FairShareDampeningFactor", field="priority.dampening", read=whole(1, 65_533)),
        ParameterRow("SchedulerType", field="scheduler.plugin", read=one_of("backfill", "builtin", prefix="sched/")),
        ParameterRow("PreemptType", field="preemption.plugin", read=_PREEMPT_TYPE),
        ParameterRow(
            "PreemptMode", read=lambda text: {f"preemption.{key}": each for key, each in preempt_mode(text).items()}
        ),
        ParameterRow("PreemptExemptTime", field="preemption.exempt_time", read=_exempt),
        ParameterRow("OverTimeLimit", field="jobs.over_time_limit", read=_minutes),
        ParameterRow(
            "KillWait",
            ParameterStanding.IDLE,
            "jobs.kill_wait",
            _seconds(),
            "Jobs of a simulation end at once when killed.",
        ),
        ParameterRow("CompleteWait", field="jobs.complete_wait", read=_seconds()),
        ParameterRow("JobRequeue", field="jobs.requeue", read=flag),
        ParameterRow("ResvOverRun", field="jobs.reservation_overrun", read=_minutes),
        ParameterRow(
            "DependencyParameters", read=lambda text: {"jobs.kill_invalid_depend": "kill_invalid_depend" in text}
        ),
        ParameterRow("ReturnToService", field="jobs.return_to_service", read=whole(0, 2)),
        ParameterRow(
            "EnforcePartLimits",
            field="jobs.enforce_limits",
            read=lambda text: {"yes": "any"}.get(text.lower()) or one_of("no", "any", "all")(text),
        ),
        ParameterRow("MaxJobCount", field="jobs.max_count", read=whole(1)),
        ParameterRow("MinJobAge", ParameterStanding.IDLE, "jobs.min_age", _seconds(2**32 - 3)),
        ParameterRow("MaxArraySize", field="jobs.max_array_size", read=whole(0, 4_000_001)),
        ParameterRow("DefMemPerCPU", field="jobs.memory_per_cpu", read=memory),
        ParameterRow("DefMemPerGPU", field="jobs.memory_per_gpu", read=memory),
        ParameterRow("DefMemPerNode", field="jobs.memory_per_node", read=memory),
        ParameterRow("DefCpuPerGPU", field="jobs.cpus_per_gpu", read=whole(1)),
        ParameterRow("MaxMemPerCPU", field="jobs.max_memory_per_cpu", read=memory),
        ParameterRow("MaxMemPerNode", field="jobs.max_memory_per_node", read=memory),
        ParameterRow("AccountingStorageEnforce", field="jobs.enforce", read=_enforced),
        ParameterRow(
            "AccountingStorageType",
            field="jobs.has_database",
            read=lambda text: text.lower() in ("accounting_storage/slurmdbd", "slurmdbd"),
        ),
        ParameterRow("FirstJobId", ParameterStanding.IDLE, "jobs.first_id", whole(1)),
        ParameterRow("SchedulerParameters", note="Its options are in the table below."),
        *OTHERS,
    ]
)
"""The parameters of the cluster, by name in small letters."""


# Parameters of the lines that describe nodes, sets of nodes, nodes that are down, and partitions


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
    ParameterRow("NodeName"),
    ParameterRow("Boards", ParameterStanding.IDLE, "boards", whole(1, 65_533), _OF_CPUS),
    ParameterRow("CoreSpecCount", field="cores_reserved", read=_SMALL),
    ParameterRow("CoresPerSocket", ParameterStanding.IDLE, "cores_per_socket", whole(1, 65_533), _OF_CPUS),
    ParameterRow(
        "CPUs", field="cpus", read=whole(1, 65_533), note="Without it: the product of sockets, cores and threads."
    ),
    ParameterRow("Features", field="features", read=words),
    ParameterRow("Feature", field="features", read=words),
    ParameterRow("Gres", field="gres", read=gres),
    ParameterRow("MemSpecLimit", field="memory_reserved", read=whole(0, 2**33)),
    ParameterRow("Procs", field="cpus", read=whole(1, 65_533)),
    ParameterRow("RealMemory", field="memory", read=whole(1, 2**33)),
    ParameterRow("Sockets", field="sockets", read=whole(1, 65_533)),
    ParameterRow("SocketsPerBoard", field="sockets_per_board", read=whole(1, 65_533)),
    ParameterRow("State", field="state", read=_state),
    ParameterRow("ThreadsPerCore", field="threads_per_core", read=whole(1, 65_533)),
    ParameterRow("TmpDisk", field="disk", read=whole(0, 2**32 - 3)),
    ParameterRow("Weight", field="weight", read=whole(0, 2**32 - 3)),
    *ignored(*_ADDRESSES),
    *missed("CpuSpecList", "Parameters", "RestrictedCoresPerGPU", "Topology"),
)
_PARTITION: Final = (
    ParameterRow("PartitionName"),
    ParameterRow("AllowAccounts", field="allow_accounts", read=_allowed),
    ParameterRow("AllowGroups", field="allow_groups", read=_allowed),
    ParameterRow("AllowQos", field="allow_qos", read=_allowed),
    ParameterRow("Alternate", field="alternate", read=_name),
    ParameterRow("Default", field="default", read=flag),
    ParameterRow("DefaultTime", field="default_time", read=_default_time),
    ParameterRow("DefCpuPerGPU", field="cpus_per_gpu", read=whole(1)),
    ParameterRow("DefMemPerCPU", field="memory_per_cpu", read=memory),
    ParameterRow("DefMemPerGPU", field="memory_per_gpu", read=memory),
    ParameterRow("DefMemPerNode", field="memory_per_node", read=memory),
    ParameterRow("DenyAccounts", field="deny_accounts", read=_denied),
    ParameterRow("DenyQos", field="deny_qos", read=_denied),
    ParameterRow("ExclusiveUser", field="exclusive_user", read=flag),
    ParameterRow("GraceTime", field="grace_time", read=lambda text: float(number_of(text, 0, 2**32 - 3))),
    ParameterRow("LLN", field="least_loaded", read=flag),
    ParameterRow("MaxCPUsPerNode", field="max_cpus_per_node", read=_limit),
    ParameterRow("MaxMemPerCPU", field="max_memory_per_cpu", read=memory),
    ParameterRow("MaxMemPerNode", field="max_memory_per_node", read=memory),
    ParameterRow("MaxNodes", field="max_nodes", read=_limit),
    ParameterRow("MaxTime", field="max_time", read=minutes),
    ParameterRow("MinNodes", field="min_nodes", read=whole()),
    ParameterRow("Nodes", field="nodes"),
    ParameterRow("OverSubscribe", read=_over_subscribe),
    ParameterRow("OverTimeLimit", field="over_time_limit", read=_over_time),
    ParameterRow("PreemptMode", read=_preempt),
    ParameterRow(
        "Priority",
        read=lambda text: {"priority": _SMALL(text)},
        note="It takes the place of both PriorityTier and PriorityJobFactor.",
    ),
    ParameterRow("PriorityJobFactor", field="priority_job_factor", read=_SMALL),
    ParameterRow("PriorityTier", field="priority_tier", read=_SMALL),
    ParameterRow("QOS", field="qos", read=_name),
    ParameterRow("ReqResv", field="needs_reservation", read=flag),
    ParameterRow("RootOnly", field="root_only", read=flag),
    ParameterRow("SelectTypeParameters", field="select", read=select_parameters),
    ParameterRow("Shared", read=_over_subscribe, note="It is the old name of OverSubscribe."),
    ParameterRow("State", field="state", read=lambda text: one_of("up", "down", "drain", "inactive")(text).upper()),
    ParameterRow("TRESBillingWeights", field="billing_weights", read=weights),
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
_SET: Final = (
    ParameterRow("NodeSet"),
    ParameterRow("Feature", field="features", read=words),
    ParameterRow("Nodes", field="nodes"),
)
_DOWN: Final = (ParameterRow("DownNodes"), ParameterRow("State", field="state", read=_state), *ignored("Reason"))
_FRONT: Final = missed(
    *("FrontendName", "AllowGroups", "AllowUsers", "DenyGroups", "DenyUsers", "FrontendAddr", "Port", "Reason", "State")
)

RECORDS: Final[Mapping[str, Mapping[str, ParameterRow]]] = {
    "nodename": rows_of(_NODE),
    "nodeset": rows_of(_SET),
    "downnodes": rows_of(_DOWN),
    "partitionname": rows_of(_PARTITION),
    "frontendname": rows_of(_FRONT),
}
"""The parameters of lines that begin with these names, by name in small letters."""
