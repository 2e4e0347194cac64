"""The tables of the parameters of slurm.conf: a name, whether the simulated scheduler follows it, and how it is read.

Files are read by these tables, and the table of the handbook is made of them. A field is named with the part of the
configuration that has it: `priority.max_age`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from batprotocol.errors import InputError, shown
from batprotocol.sites.slurm.configuration_values import (
    MISSED,
    PARTS,
    enforced,
    missed_by,
    over_subscribe,
    partition_select,
    preempt_mode,
    select_parameters,
    time_slice,
)
from batprotocol.sites.slurm.texts import (
    CHECKED,
    NOTHING,
    configured_span,
    flag,
    gres,
    hinted,
    leading_number,
    licenses,
    listed,
    minutes,
    one_of,
    partition_state,
    unsigned,
    weights,
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


_CONFIGLESS: Final = frozenset(("cloud_dns", "enable_configless", "idle_on_node_suspend"))
"""The words of SlurmctldParameters that decide nothing where nodes always work."""


def says_nothing(text: str, name: str = "") -> bool:
    """Whether a text is one of those by which Slurm says that there is no such thing: `burst_buffer/none`.

    Args:
        text: the text.
        name: the parameter, of which some words may decide nothing.
    """
    low = text.lower()
    if name == "SlurmctldParameters" and _CONFIGLESS.issuperset(low.split(",")):
        return True
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
_OF_PROGRAMS: Final = (
    "BatchStartTimeout EpilogTimeout FederationParameters InactiveLimit PrologEpilogTimeout PrologFlags",
    "PrologTimeout RebootProgram ResvEpilog ResvProlog ScronParameters",
)
"""They are about programs that are named themselves, or about jobs of srun, cron and other clusters."""
_MISSED_OTHERS: Final = (
    "AllowSpecResourcesUsage BurstBufferType CliFilterPlugins Epilog EpilogSlurmctld JobDefaults JobSubmitPlugins",
    "MaxBatchRequeue MaxTasksPerNode MCSParameters MCSPlugin NodeFeaturesPlugins PowerParameters PowerPlugin",
    "PreemptParameters PriorityParameters PrioritySiteFactorParameters PrioritySiteFactorPlugin Prolog",
    "PrologSlurmctld RequeueExit RequeueExitHold ResumeFailProgram ResumeProgram ResumeRate ResumeTimeout",
    "SlurmctldParameters SuspendExcNodes SuspendExcParts SuspendExcStates SuspendProgram SuspendRate SuspendTime",
    "SuspendTimeout",
)

OTHERS: Final[tuple[ParameterRow, ...]] = (
    *ignored(*" ".join((*_ACCOUNTING, *_COMMUNICATION, *_FILES, *_STEPS, *_OF_OLD, *_OF_PROGRAMS)).split()),
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
        bits: how many bits Slurm keeps.
    """

    least: int
    most: int = _MOST
    unit: float = 0.0
    zero_is_none: bool = False
    minus_is_never: bool = False
    bits: int = 32

    def read(self, text: str) -> int | float | None:
        """The value of the number that its text begins with.

        Raises:
            InputError: the number is out of the range.
        """
        number = leading_number(text, self.bits)
        if self.minus_is_never and number == -1:
            return math.inf
        if not self.least <= number <= self.most:
            raise InputError(f"expected a whole number from {self.least:,} to {self.most:,}, got {shown(text)}")
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
    "bf_min_prio_reserve": Option(1, 2**32 - 1, bits=64),
    "bf_node_space_size": Option(2, 2_000_000),
    "bf_resolution": Option(1, 3600, unit=1.0),
    "bf_window": Option(1, 43_200, unit=60.0),
    "bf_window_linear": Option(1, unit=1.0),
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
    *("allow_zero_lic", "assoc_limit_stop", "bf_licenses", "bf_one_resv_per_job", "bf_running_job_reserve"),
    *("pack_serial_at_end", "preempt_strict_order", "preempt_youngest_first", "reduce_completing_frag"),
)
_LOAD: Final = "It is about the load of the controller."
_DEFER: Final = ParameterRow(
    "defer", ParameterStanding.IDLE, "defer", lambda text: True, "Jobs of sbatch start at the same moments."
)
_OF_LOAD: Final = ("bf_max_time", "bf_yield_interval", "bf_yield_sleep", "max_rpc_cnt", "max_sched_time")
_IDLE: Final = (
    *("bb_array_stage_cnt", "build_queue_timeout", "correspond_after_task_cnt", "delay_boot"),
    *("disable_hetjob_steps", "disable_job_shrink", "enable_hetjob_steps", "enable_job_state_cache"),
    *("enable_user_top", "extra_constraints", "ignore_numa", "ignore_constraint_validation"),
    *("ignore_prefer_validation", "max_script_size", "max_submit_line_size", "no_backup_scheduling"),
    *("no_env_cache", "nohold_on_prolog_fail", "permit_job_expansion", "requeue_setup_env_fail"),
    *("salloc_wait_nodes", "sbatch_wait_nodes", "sched_limit_pending_rpc", "spec_cores_first"),
    *("step_retry_count", "step_retry_time"),
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
        _DEFER,
        _MOVED,
    ]
)
"""The options of SchedulerParameters, by name."""


def options_of(text: str) -> tuple[dict[str, object], list[tuple[str, str]]]:
    """The fields of `Scheduler` that a SchedulerParameters sets, and the options that are not followed, with reasons.

    As in Slurm, an option is looked for in the whole text, in any letters, and its first place counts, also within
    another word. An option out of its range keeps its default.

    >>> options_of("bf_interval=60,bf_continue,bf_busy_nodes")
    ({'bf_interval': 60.0, 'bf_continue': True}, [('bf_busy_nodes', 'is not followed')])

    Raises:
        InputError: there are too many options that nobody knows.
    """
    fields: dict[str, object] = {}
    missing: list[tuple[str, str]] = []
    low, seen = text.lower(), dict[str, str]()
    for part in listed(text):
        name, mark, _ = part.partition("=")
        row = OPTIONS.get(name.strip().lower())
        if row is None:
            missing.append((name, f"is not an option of Slurm 22.05, which ignores it{hinted(name, OPTIONS)}"))
            if len(missing) > MOST_UNKNOWN:
                raise InputError(f"expected options of Slurm 22.05, got more than {MOST_UNKNOWN} others")
        elif row.standing is ParameterStanding.MISSED:
            missing.append((row.name, "is not followed"))
        elif row.name in NUMBERS and not mark:
            missing.append((row.name, "has no value, and keeps its default"))
        elif row.name in NUMBERS and seen.setdefault(row.name, part) != part:
            missing.append((row.name, f"is given again, and Slurm takes the first value, {shown(seen[row.name])}"))
    for row in OPTIONS.values():
        place = low.find(f"{row.name}=" if row.name in NUMBERS else row.name)
        if place < 0 or not row.field:
            continue
        value = text[place + len(row.name) + 1 :].partition(",")[0]
        if place and low[place - 1] not in ", ":
            word = low[:place].rpartition(",")[2] + row.name
            missing.append((row.name, f"is found within another word, {shown(word)}"))
        try:
            found = row.fields_of(value)
            number = str(leading_number(value, NUMBERS[row.name].bits)) if row.name in NUMBERS else ""
            if row.name in NUMBERS and number != value.strip():
                missing.append((row.name, f"has the value {shown(value)}, which Slurm reads as {number}"))
            fields.update(found)
            of_scheduler = {f"scheduler.{field}": each for field, each in found.items()}
            missing += [(each, "is not followed") for each in missed_by(row.name, of_scheduler)]
        except InputError as error:
            missing.append((row.name, f"keeps its default: {error.reason}"))
    if fields.get("bf_max_job_user") and fields.get("bf_max_job_assoc"):
        del fields["bf_max_job_user"]
        missing.append(("bf_max_job_user", "is ignored by Slurm beside bf_max_job_assoc"))
    most = fields.get("bf_max_job_test", 500)
    for name in (f"bf_max_job_{each}" for each in ("part", "user", "assoc", "user_part")):
        limit = fields.get(name)
        if isinstance(limit, int) and isinstance(most, int) and limit >= most:
            missing.append((name, f"limits nothing: bf_max_job_test is {most}"))
    if most == 1 and "bf_node_space_size" not in fields:
        missing.append(("bf_node_space_size", "keeps its default, as bf_max_job_test is 1"))
    return fields, missing


# Parameters of the cluster


_UINT16, _UINT32, _UINT64 = unsigned(16), unsigned(32), unsigned(64)
_MOST_OF_16: Final = 2**16 - 1
_MOST_OF_32: Final = 2**32 - 1


def _seconds(bits: int = 16) -> Callable[[str], float]:
    read = unsigned(bits)
    return lambda text: float(read(text))


def _minutes(text: str) -> float:
    number = _UINT16(text)
    return math.inf if number == _MOST_OF_16 else number * 60.0


def memory(text: str) -> int | None:
    """An amount of memory in MiB, or None without limit."""
    number = _UINT64(text)
    return number if 0 < number < 2**63 - 1 else None


def _period(text: str) -> float:
    found = minutes(text)
    return found if math.isfinite(found) else 2.0**32 - 60


def _at_least(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if (number := _UINT32(text)) < least:
            raise InputError(f"expected a whole number from {least} on, got {shown(text)}")
        return number

    return read


def _calculation(text: str) -> float:
    found = minutes(text)
    if not 60 <= found < math.inf:
        raise InputError(f"expected a time of a minute at least, got {shown(text)}")
    return found


def _exempt(text: str) -> float:
    found = configured_span(text)
    return found if math.isfinite(found) else 0.0


def _plugin(*names: str, prefix: str, instead: Mapping[str, str] = {}) -> Callable[[str], str]:
    """A reader of the name of a plugin with its prefix, in the letters that slurmctld accepts."""
    return lambda text: (
        instead.get(text.removeprefix(prefix), text.removeprefix(prefix))
        if text in [prefix + name for name in (*names, *instead)]
        else one_of(*(prefix + name for name in names), exact=True)(text)
    )


PRIORITY_FLAGS: Final[Mapping[str, Mapping[str, bool]]] = {
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

TOPOLOGY_FLAGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "TOPOOPTIONAL": {"topology_optional": True},
}


def found_flags(table: Mapping[str, Mapping[str, Any]], text: str, prefix: str = "") -> dict[str, Any]:
    """The fields of the flags that are found in a text, as Slurm looks for some: in any letters, also within a word."""
    low = text.upper()
    return {prefix + name: value for flag, fields in table.items() if flag in low for name, value in fields.items()}


def unknown_flags(text: str, known: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The flags of a text that nobody knows, with reasons: Slurm ignores them."""
    names = list(known)
    for part in listed(text):
        if part.upper() not in names:
            yield part, f"is not a flag of Slurm 22.05, which ignores it{hinted(part, names)}"


_NEWER_TOPOLOGIES: Final = {"default": "none", "flat": "none", "block": "block"}
"""Plugins of newer versions, and those that take their places; none takes that of `block`."""
_PREEMPT_TYPE: Final = _plugin("none", "partition_prio", "qos", prefix="preempt/")


def _part_limits(text: str) -> str:
    low = text.lower()
    return low if low in ("any", "all") else ("any" if flag(text) else "no")


def _database(text: str) -> bool:
    """Whether accounting is kept by slurmdbd."""
    return _plugin("none", "slurmdbd", prefix="accounting_storage/")(text) == "slurmdbd"


FLAGS: Final[Mapping[str, Collection[str]]] = {"PriorityFlags": PRIORITY_FLAGS, "TopologyParam": TOPOLOGY_FLAGS}
"""The parameters whose flags Slurm looks for in the text, with their flags."""


def oddity(name: str, text: str) -> str:
    """A reason why Slurm reads a value of a partition in another way than it is written, or ""."""
    if name in ("OverSubscribe", "Shared"):
        kind, mark, count = text.partition(":")
        jobs = over_subscribe(text)
        if mark and (jobs["over_subscribe"] != kind.lower() or str(jobs["over_subscribe_jobs"]) != count):
            return f"has the value {shown(text)}, which Slurm reads as {jobs['over_subscribe'].upper()}"
    if name == "PreemptMode" and preempt_mode(text).get("within"):
        return "has WITHIN, which is not followed"
    if name == "OverTimeLimit" and text.upper() not in ("INFINITE", "UNLIMITED"):
        number = leading_number(text)
        if str(number) != text or not 0 <= number < _MOST_OF_16:
            return f"has the value {shown(text)}, which Slurm reads as {'none' if number < 0 else number}"
    return ""


CLUSTER: Final[Mapping[str, ParameterRow]] = rows_of(
    [
        ParameterRow("ClusterName", field="cluster", read=str.lower),
        ParameterRow(
            "GresTypes", ParameterStanding.IDLE, "gres_types", listed, "The lines of nodes have their resources."
        ),
        ParameterRow("Licenses", field="licenses", read=licenses),
        ParameterRow(
            "TopologyPlugin",
            field="topology",
            read=_plugin("none", "tree", "3d_torus", "hypercube", prefix="topology/", instead=_NEWER_TOPOLOGIES),
        ),
        ParameterRow("TopologyParam", read=lambda text: found_flags(TOPOLOGY_FLAGS, text)),
        ParameterRow(
            "SelectType", field="select.plugin", read=_plugin("linear", "cons_res", "cons_tres", prefix="select/")
        ),
        ParameterRow(
            "SelectTypeParameters",
            read=lambda text: {f"select.{key}": each for key, each in select_parameters(text).items()},
        ),
        ParameterRow("PriorityType", field="priority.plugin", read=_plugin("basic", "multifactor", prefix="priority/")),
        ParameterRow("PriorityWeightAge", field="priority.weight_age", read=_UINT32),
        ParameterRow("PriorityWeightAssoc", field="priority.weight_assoc", read=_UINT32),
        ParameterRow("PriorityWeightFairshare", field="priority.weight_fairshare", read=_UINT32),
        ParameterRow("PriorityWeightJobSize", field="priority.weight_job_size", read=_UINT32),
        ParameterRow("PriorityWeightPartition", field="priority.weight_partition", read=_UINT32),
        ParameterRow("PriorityWeightQOS", field="priority.weight_qos", read=_UINT32),
        ParameterRow("PriorityWeightTRES", field="priority.weight_tres", read=weights),
        ParameterRow("PriorityMaxAge", field="priority.max_age", read=_period),
        ParameterRow("PriorityCalcPeriod", field="priority.calc_period", read=_calculation),
        ParameterRow("PriorityDecayHalfLife", field="priority.half_life", read=_period),
        ParameterRow(
            "PriorityUsageResetPeriod",
            field="priority.reset",
            read=one_of("none", "now", "daily", "weekly", "monthly", "quarterly", "yearly"),
        ),
        ParameterRow("PriorityFavorSmall", field="priority.favor_small", read=flag),
        ParameterRow("PriorityFlags", read=lambda text: found_flags(PRIORITY_FLAGS, text, "priority.")),
        ParameterRow("FairShareDampeningFactor", field="priority.dampening", read=_UINT16),
        ParameterRow("SchedulerType", field="scheduler.plugin", read=_plugin("backfill", "builtin", prefix="sched/")),
        ParameterRow("PreemptType", field="preemption.plugin", read=_PREEMPT_TYPE),
        ParameterRow(
            "PreemptMode", read=lambda text: {f"preemption.{key}": each for key, each in preempt_mode(text).items()}
        ),
        ParameterRow("SchedulerTimeSlice", field="preemption.time_slice", read=time_slice),
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
        ParameterRow("JobRequeue", field="jobs.requeue", read=lambda text: _UINT16(text) > 0),
        ParameterRow("ResvOverRun", field="jobs.reservation_overrun", read=_minutes),
        ParameterRow(
            "DependencyParameters",
            read=lambda text: {"jobs.kill_invalid_depend": "kill_invalid_depend" in text.lower()},
        ),
        ParameterRow("ReturnToService", field="jobs.return_to_service", read=_UINT16),
        ParameterRow(
            "EnforcePartLimits",
            field="jobs.enforce_limits",
            read=_part_limits,
        ),
        ParameterRow("MaxJobCount", field="jobs.max_count", read=_at_least(1)),
        ParameterRow("MinJobAge", ParameterStanding.IDLE, "jobs.min_age", lambda text: float(max(_UINT32(text), 2))),
        ParameterRow("MaxArraySize", field="jobs.max_array_size", read=_UINT32),
        ParameterRow("DefMemPerCPU", field="jobs.memory_per_cpu", read=memory),
        ParameterRow("DefMemPerGPU", field="jobs.memory_per_gpu", read=memory),
        ParameterRow("DefMemPerNode", field="jobs.memory_per_node", read=memory),
        ParameterRow("DefCpuPerGPU", field="jobs.cpus_per_gpu", read=memory),
        ParameterRow("MaxMemPerCPU", field="jobs.max_memory_per_cpu", read=memory),
        ParameterRow("MaxMemPerNode", field="jobs.max_memory_per_node", read=memory),
        ParameterRow("AccountingStorageEnforce", field="jobs.enforce", read=enforced),
        ParameterRow(
            "AccountingStorageType",
            field="jobs.has_database",
            read=_database,
        ),
        ParameterRow("FirstJobId", ParameterStanding.IDLE, "jobs.first_id", _at_least(1)),
        ParameterRow("SchedulerParameters", note="Its options are in the table below."),
        *(row._replace(read=CHECKED.get(row.name, str)) for row in OTHERS),
    ]
)
"""The parameters of the cluster, by name in small letters."""


# Parameters of the lines that describe nodes, sets of nodes, nodes that are down, and partitions


STATES: Final = ("UNKNOWN", "IDLE", "DOWN", "DRAIN", "FAIL", "FAILING", "FUTURE", "CLOUD", "ALLOCATED", "MIXED")
"""The states that a line can give a node."""


def _state(text: str) -> str:
    state = text.upper()
    if state in STATES:
        return state
    for begin in ("CLOUD", "DRAIN", "FAIL"):  # of these, slurmctld compares only the beginning
        if state.startswith(begin):
            return begin
    raise InputError(f"expected a state such as {', '.join(STATES[:5])}, got {shown(text)}")


def _real_memory(text: str) -> int:
    number = _UINT64(text)
    if number > 2**33:
        raise InputError(f"expected a whole number from 1 to {2**33:,}, got {shown(text)}")
    return number


def _limit(text: str) -> int | None:
    number = _UINT32(text)
    return None if number == _MOST_OF_32 else number


def _named(text: str) -> tuple[str, ...] | None:
    return None if text.upper() in ("ALL", "") else listed(text)


def _allowed(text: str) -> tuple[str, ...] | None:
    return _named(text.lower())


def _denied(text: str) -> tuple[str, ...]:
    return listed(text.lower())


def _name(text: str) -> str | None:
    return None if text in ("", "(null)", "N/A", "NONE") else text


def _over_time(text: str) -> float | None:
    if text.upper() in ("INFINITE", "UNLIMITED"):
        return math.inf
    number = leading_number(text)
    return None if number < 0 else math.inf if number > _MOST_OF_16 - 1 else number * 60.0


def _preempt(text: str) -> dict[str, Any]:
    fields = preempt_mode(text)
    return {"preempt_mode": fields.get("mode") or ("gang" if fields.get("gang") else None)}


_ADDRESSES: Final = ("BcastAddr", "CpuBind", "NodeAddr", "NodeHostname", "Port", "Reason")

_OF_CPUS: Final = "The number of CPUs and of sockets is made of it."

_NODE: Final = (
    ParameterRow("NodeName"),
    ParameterRow("Boards", ParameterStanding.IDLE, "boards", _UINT16, _OF_CPUS),
    ParameterRow("CoreSpecCount", field="cores_reserved", read=_UINT16, note="With select/linear, no effect."),
    ParameterRow("CoresPerSocket", ParameterStanding.IDLE, "cores_per_socket", _UINT16, _OF_CPUS),
    ParameterRow("CpuSpecList", field="cpus_reserved"),
    ParameterRow("CPUs", field="cpus", read=_UINT16, note="Without it: the product of sockets, cores and threads."),
    ParameterRow("Features", field="features", read=words),
    ParameterRow("Feature", field="features", read=words),
    ParameterRow("Gres", field="gres", read=gres),
    ParameterRow("MemSpecLimit", field="memory_reserved", read=_UINT64),
    ParameterRow("Procs", field="cpus", read=_UINT16),
    ParameterRow("RealMemory", field="memory", read=_real_memory),
    ParameterRow("Sockets", field="sockets", read=_UINT16),
    ParameterRow("SocketsPerBoard", field="sockets_per_board", read=_UINT16),
    ParameterRow("State", field="state", read=_state),
    ParameterRow("ThreadsPerCore", field="threads_per_core", read=_UINT16),
    ParameterRow("TmpDisk", ParameterStanding.IDLE, "disk", _UINT32, "It is for jobs with --tmp, which are named."),
    ParameterRow("Weight", field="weight", read=lambda text: min(_UINT32(text), _MOST_OF_32 - 1)),
    *ignored(*_ADDRESSES),
    *missed("Parameters", "RestrictedCoresPerGPU", "Topology"),
)
_PARTITION: Final = (
    ParameterRow("PartitionName"),
    ParameterRow("AllowAccounts", field="allow_accounts", read=_allowed),
    ParameterRow("AllowGroups", field="allow_groups", read=_named),
    ParameterRow("AllowQos", field="allow_qos", read=_allowed),
    ParameterRow("Alternate", field="alternate", read=_name),
    ParameterRow("Default", field="default", read=flag),
    ParameterRow("DefaultTime", field="default_time", read=minutes),
    ParameterRow("DefCpuPerGPU", field="cpus_per_gpu", read=memory),
    ParameterRow("DefMemPerCPU", field="memory_per_cpu", read=memory),
    ParameterRow("DefMemPerGPU", field="memory_per_gpu", read=memory),
    ParameterRow("DefMemPerNode", field="memory_per_node", read=memory),
    ParameterRow("DenyAccounts", field="deny_accounts", read=_denied),
    ParameterRow("DenyQos", field="deny_qos", read=_denied),
    ParameterRow("ExclusiveUser", field="exclusive_user", read=flag),
    ParameterRow("GraceTime", field="grace_time", read=_seconds(32)),
    ParameterRow("LLN", field="least_loaded", read=flag),
    ParameterRow("MaxCPUsPerNode", field="max_cpus_per_node", read=_limit, note="With select/linear, no effect."),
    ParameterRow("MaxMemPerCPU", field="max_memory_per_cpu", read=memory),
    ParameterRow("MaxMemPerNode", field="max_memory_per_node", read=memory),
    ParameterRow("MaxNodes", field="max_nodes", read=_limit),
    ParameterRow("MaxTime", field="max_time", read=minutes),
    ParameterRow("MinNodes", field="min_nodes", read=_UINT32),
    ParameterRow("Nodes", field="nodes"),
    ParameterRow("OverSubscribe", read=over_subscribe),
    ParameterRow("OverTimeLimit", field="over_time_limit", read=_over_time),
    ParameterRow("PreemptMode", read=_preempt),
    ParameterRow(
        "Priority",
        read=lambda text: {"priority": _UINT16(text)},
        note="It takes the place of both PriorityTier and PriorityJobFactor.",
    ),
    ParameterRow("PriorityJobFactor", field="priority_job_factor", read=_UINT16),
    ParameterRow("PriorityTier", field="priority_tier", read=_UINT16),
    ParameterRow("QOS", field="qos", read=_name),
    ParameterRow("ReqResv", field="needs_reservation", read=flag),
    ParameterRow("RootOnly", field="root_only", read=flag),
    ParameterRow("SelectTypeParameters", field="select", read=partition_select),
    ParameterRow("Shared", read=over_subscribe, note="It is the old name of OverSubscribe."),
    ParameterRow("State", field="state", read=partition_state),
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
    ParameterRow("Feature", field="feature"),
    ParameterRow("Nodes", field="nodes"),
)
_DOWN: Final = (ParameterRow("DownNodes"), ParameterRow("State", field="state"), *ignored("Reason"))
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
