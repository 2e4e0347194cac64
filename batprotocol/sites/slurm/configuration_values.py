"""The contents of a slurm.conf, as values with Slurm's own defaults, those of version 22.05.

Times are seconds; an infinite one is unlimited, or never comes. Memory is in mebibytes, as in Slurm. None stands for a
value that is not set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from batprotocol.errors import InputError, hint, shown
from batprotocol.sites.slurm.texts import flag, hinted, leading_number, one_of, unsigned

__all__ = [
    "EITHER",
    "FOREIGN",
    "KINDS",
    "MISSED",
    "PARTS",
    "JobParameters",
    "NodeLine",
    "NotFollowed",
    "PartitionLine",
    "PreemptionParameters",
    "PriorityParameters",
    "SchedulerParameters",
    "SelectParameters",
    "SlurmConfiguration",
    "SwitchLine",
    "enforced",
    "merged",
    "missed_by",
    "node_of",
    "over_subscribe",
    "partition_select",
    "preempt_mode",
    "select_parameters",
    "time_slice",
]


# The kinds of texts that slurmctld 22.05 reads, and the parameters that it does not know


_SMALL: Final = (
    "AccountingStoragePort AcctGatherNodeFreq BatchStartTimeout CompleteWait EioTimeout ExtSensorsFreq",
    "FairShareDampeningFactor FastSchedule GetEnvTimeout GroupUpdateForce GroupUpdateTime HealthCheckInterval",
    "InactiveLimit JobFileAppend JobRequeue KillOnBadExit KillWait MaxTasksPerNode MessageTimeout OverTimeLimit",
    "PrologEpilogTimeout PropagatePrioProcess ResumeRate ResumeTimeout ResvOverRun ReturnToService",
    "SchedulerTimeSlice SlurmSchedLogLevel SlurmctldTimeout SlurmdTimeout SuspendRate SuspendTimeout TCPTimeout",
    "TreeWidth UnkillableStepTimeout VSizeFactor WaitTime",
)
_LARGE: Final = (
    "EpilogMsgTime FirstJobId JobCompPort KeepAliveTime MaxArraySize MaxDBDMsgs MaxJobCount MaxJobId MaxNodeCount",
    "MaxStepCount MinJobAge PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare PriorityWeightJobSize",
    "PriorityWeightPartition PriorityWeightQOS SlurmdPort",
)
_MEMORY: Final = ("DefCpuPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode MaxMemPerCPU MaxMemPerNode",)


def _kinds(*kinds: tuple[Callable[[str], object], tuple[str, ...]]) -> Mapping[str, Callable[[str], object]]:
    return {name.lower(): read for read, names in kinds for name in " ".join(names).split()}


KINDS: Final[Mapping[str, Mapping[str, Callable[[str], object]]]] = {
    "": _kinds(
        (unsigned(16), _SMALL),
        (unsigned(32), _LARGE),
        (unsigned(64), _MEMORY),
        (flag, ("AllowSpecResourcesUsage DisableRootJobs PriorityFavorSmall TrackWCKey UsePAM",)),
    ),
    "node": _kinds(
        (unsigned(16), ("Boards CoreSpecCount CoresPerSocket CPUs Procs Sockets SocketsPerBoard ThreadsPerCore",)),
        (unsigned(32), ("TmpDisk Weight",)),
        (unsigned(64), ("MemSpecLimit RealMemory",)),
    ),
    "partition": _kinds(
        (unsigned(16), ("Priority PriorityJobFactor PriorityTier ResumeTimeout SuspendTimeout",)),
        (unsigned(32), ("GraceTime MaxCPUsPerNode MaxNodes MinNodes",)),
        (unsigned(64), _MEMORY),
        (flag, ("Default DisableRootJobs ExclusiveUser Hidden LLN RootOnly ReqResv",)),
    ),
}
"""Readers by parameters in lower case, for lines of the cluster (""), of nodes and of partitions.

slurmctld refuses a file if one of them refuses a text, also if the same parameter comes again later.
"""

FOREIGN: Final[Mapping[str, frozenset[str]]] = {
    part: frozenset(names.lower().split())
    for part, names in {
        "": (
            "AccountingStorageLoc AccountingStoreJobComment CacheGroups CertgenParameters CertgenType "
            "CertmgrParameters CertmgrType CgroupPlugin CheckpointType ChosLoc CpuFreqParameters "
            "DataParserParameters DefaultStorageHost DefaultStorageLoc DefaultStoragePass DefaultStoragePort "
            "DefaultStorageType DefaultStorageUser EpilogTimeout HashPlugin HttpParserType JobCheckpointDir "
            "JobCompPassScript JobContainerPlugin JobDefaults Layouts MaxBatchRequeue MemLimitEnforce "
            "MetricsAuthUsers MetricsType MsgAggregationParams NamespaceType PreemptParameters PrologTimeout "
            "SallocDefaultCommand SchedulerPort SchedulerRootFilter SuspendExcStates TLSParameters TLSType "
            "UrlParserType"
        ),
        "node": "Parameters RestrictedCoresPerGPU Topology",
        "partition": "ExclusiveTopo JobDefaults MaxCPUsPerSocket PowerDownOnIdle Topology",
    }.items()
}
"""The parameters of other versions, in lower case: slurmctld 22.05 refuses a file that has one of them."""


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the configuration."""


class NodeLine(_Value, frozen=True, kw_only=True):
    """A node.

    Attributes:
        name: its name.
        cpus: its CPUs, as Slurm counts them: threads, unless the file says another number (CPUs).
        boards: its boards.
        sockets: its sockets, of all boards together.
        cores_per_socket: the cores of a socket.
        threads_per_core: the threads of a core.
        memory: its memory in MiB (RealMemory).
        memory_reserved: the memory that the system keeps, in MiB (MemSpecLimit).
        cores_reserved: the cores that the system keeps (CoreSpecCount).
        cpus_reserved: the CPUs that it keeps (CpuSpecList); empty: those of the last cores of each socket in turn.
        disk: its temporary disk in MiB (TmpDisk).
        gres: its generic resources, `("gpu:a100", 4)`.
        features: its features.
        weight: nodes with smaller weights are allocated first.
        state: its first state, in capital letters: UNKNOWN (it works), DOWN, DRAIN, FAIL, FAILING, FUTURE or CLOUD.
        record: the place of its line among those that name nodes, from 0.
    """

    name: str
    cpus: int = 1
    boards: int = 1
    sockets: int = 1
    cores_per_socket: int = 1
    threads_per_core: int = 1
    memory: int = 1
    memory_reserved: int = 0
    cores_reserved: int = 0
    cpus_reserved: tuple[int, ...] = ()
    disk: int = 0
    gres: tuple[tuple[str, int], ...] = ()
    features: tuple[str, ...] = ()
    weight: int = 1
    state: str = "UNKNOWN"
    record: int = 0


_POSITIVE: Final = {
    "CoresPerSocket": "cores_per_socket",
    "CPUs": "cpus",
    "ThreadsPerCore": "threads_per_core",
    "SocketsPerBoard": "sockets_per_board",
    "Sockets": "sockets",
    "Boards": "boards",
}
"""The numbers of a node that slurmctld resets to 1 if they are 0, with their fields."""


def node_of(given: Mapping[str, Any]) -> tuple[NodeLine, list[str]]:
    """A node without a name, and what slurmctld warns of.

    Sockets follow from CPUs if they are not given, and CPUs from the others. CPUs that are neither all sockets, all
    cores nor all threads are reset to all threads.
    """
    fields, warnings = dict(given), []
    for name, key in _POSITIVE.items():
        if fields.get(key) == 0:
            warnings.append(f"has {name}=0, which Slurm resets to 1")
            fields[key] = 1
    boards = fields.setdefault("boards", 1)
    cores, threads = fields.get("cores_per_socket", 1), fields.get("threads_per_core", 1)
    per_board = fields.pop("sockets_per_board", None)
    cpus = fields.get("cpus")
    if per_board is not None:
        if "sockets" in fields:
            warnings.append("has Sockets and SocketsPerBoard, of which Slurm takes SocketsPerBoard")
        fields["sockets"] = boards * per_board & 0xFFFF
    elif "sockets" not in fields:
        whole = cpus is not None and cpus >= cores * threads and cpus % (cores * threads) == 0
        fields["sockets"] = cpus // (cores * threads) if cpus is not None and whole else boards
    sockets = fields["sockets"]
    total = sockets * cores * threads
    if cpus is None:
        cpus = total & 0xFFFF
    if sockets < boards:
        warnings.append(f"has {sockets} sockets on {boards} boards, which Slurm resets to one board")
        fields["boards"] = 1
    if cpus not in (sockets, sockets * cores, total):
        kept = total & 0xFFFF
        warnings.append(f"has CPUs={cpus}, which match neither sockets, cores nor threads; Slurm resets them to {kept}")
        cpus = kept
    fields["cpus"] = cpus
    listed = fields.pop("cpus_reserved", None)
    reserved = None if listed is None else _numbers(listed, cpus)
    if listed is not None and reserved is None:
        warnings.append(f"has CpuSpecList={listed}, which Slurm ignores: there are {cpus} CPUs")
    if fields.get("cores_reserved", 0) >= sockets * cores:
        warnings.append(f"has CoreSpecCount={fields['cores_reserved']}, which Slurm resets to 1")
        fields["cores_reserved"] = 1
    if fields.get("memory_reserved", 0) >= fields.get("memory", 1):
        warnings.append(f"has MemSpecLimit={fields.get('memory_reserved', 0)}, which Slurm resets to 0")
        fields["memory_reserved"] = 0
    if reserved is not None:
        if fields.get("cores_reserved"):
            warnings.append("has CoreSpecCount and CpuSpecList, of which Slurm takes CpuSpecList")
        fields["cores_reserved"] = len({cpu // max(cpus // (sockets * cores), 1) for cpu in reserved})
        fields["cpus_reserved"] = tuple(sorted(reserved))
    return NodeLine(name="", **fields), warnings


def _numbers(text: str, most: int) -> set[int] | None:
    """The numbers of a list with ranges, `0-2,7`; None if it is none, or has others than those below `most`."""
    found: set[int] = set()
    for part in text.split(","):
        first, mark, last = part.partition("-")
        if not first.isdecimal() or (mark and not last.isdecimal()) or not int(first) <= int(last or first) < most:
            return None
        found.update(range(int(first), int(last or first) + 1))
    return found


class PartitionLine(_Value, frozen=True, kw_only=True):
    """A partition.

    Attributes:
        name: its name.
        nodes: the names of its nodes, in the order of the configuration.
        default: whether jobs that name no partition run here (Default).
        state: UP, DOWN (jobs wait), DRAIN (no new jobs) or INACTIVE (neither).
        max_time: the longest time limit in seconds, in whole minutes (MaxTime).
        default_time: the time limit of jobs without one, in seconds; None: `max_time` (DefaultTime).
        min_nodes: the fewest nodes of a job (MinNodes).
        max_nodes: the most nodes of a job (MaxNodes).
        over_time_limit: the time in seconds after the limit when a job is killed; None: that of the cluster.
        priority_tier: partitions of a higher tier come first, and may preempt (PriorityTier).
        priority_job_factor: the factor of the priority of its jobs (PriorityJobFactor).
        preempt_mode: the fate of its jobs that are preempted: `off`, `cancel`, `requeue`, `suspend` or `gang`; None:
            that of the cluster (PreemptMode).
        grace_time: seconds between a preemption and the kill (GraceTime).
        over_subscribe: whether jobs share resources: `no`, `yes`, `force` or `exclusive` (OverSubscribe).
        over_subscribe_jobs: how many jobs share a resource at most, for `yes` and `force`.
        least_loaded: whether the least loaded nodes are allocated first (LLN).
        max_cpus_per_node: the most CPUs of a node that all jobs of the partition may have (MaxCPUsPerNode).
        cpus_per_gpu: the CPUs for each GPU of jobs that ask for none (DefCpuPerGPU).
        memory_per_cpu: the memory for each CPU of jobs that ask for none, in MiB (DefMemPerCPU).
        memory_per_gpu: the same for each GPU (DefMemPerGPU).
        memory_per_node: the same for each node (DefMemPerNode).
        max_memory_per_cpu: the most memory for each CPU, in MiB (MaxMemPerCPU).
        max_memory_per_node: the most memory of each node, in MiB (MaxMemPerNode).
        allow_accounts: the accounts that may use it; None: all (AllowAccounts).
        deny_accounts: the accounts that may not use it (DenyAccounts); without effect beside `allow_accounts`.
        allow_groups: the groups that may use it; None: all (AllowGroups).
        allow_qos: the qualities of service that may use it; None: all (AllowQos).
        deny_qos: the qualities of service that may not use it (DenyQos); without effect beside `allow_qos`.
        qos: the quality of service that limits its jobs; None: none (QOS).
        alternate: the partition that jobs use instead while it is DRAIN or INACTIVE (Alternate).
        needs_reservation: whether jobs must name a reservation (ReqResv).
        root_only: whether only root may use it (RootOnly).
        exclusive_user: whether jobs of two users share no node (ExclusiveUser).
        select: the parameters of the selection of nodes, instead of those of the cluster (SelectTypeParameters).
        billing_weights: the weights of resources by which usage is charged; None: CPUs (TRESBillingWeights).
    """

    name: str
    nodes: tuple[str, ...] = ()
    default: bool = False
    state: str = "UP"
    max_time: float = math.inf
    default_time: float | None = None
    min_nodes: int = 0
    max_nodes: int | None = None
    over_time_limit: float | None = None
    priority_tier: int = 1
    priority_job_factor: int = 1
    preempt_mode: str | None = None
    grace_time: float = 0.0
    over_subscribe: str = "no"
    over_subscribe_jobs: int = 1
    least_loaded: bool = False
    max_cpus_per_node: int | None = None
    cpus_per_gpu: int | None = None
    memory_per_cpu: int | None = None
    memory_per_gpu: int | None = None
    memory_per_node: int | None = None
    max_memory_per_cpu: int | None = None
    max_memory_per_node: int | None = None
    allow_accounts: tuple[str, ...] | None = None
    deny_accounts: tuple[str, ...] = ()
    allow_groups: tuple[str, ...] | None = None
    allow_qos: tuple[str, ...] | None = None
    deny_qos: tuple[str, ...] = ()
    qos: str | None = None
    alternate: str | None = None
    needs_reservation: bool = False
    root_only: bool = False
    exclusive_user: bool = False
    select: SelectParameters | None = None
    billing_weights: Mapping[str, float] | None = None


class SelectParameters(_Value, frozen=True, kw_only=True):
    """How nodes are selected (SelectType and SelectTypeParameters).

    Attributes:
        plugin: `linear`, `cons_res` or `cons_tres`.
        unit: what jobs are allocated: `node`, `cpu`, `core` or `socket`.
        counts_memory: whether memory is allocated, too.
        least_loaded: whether the least loaded nodes come first (CR_LLN).
        one_task_per_core: whether a task has a core, not a thread (CR_ONE_TASK_PER_CORE).
        pack_nodes: whether tasks are packed on the nodes of a job (CR_Pack_Nodes).
        block_cores: whether cores are allocated socket by socket (CR_CORE_DEFAULT_DIST_BLOCK).
    """

    plugin: str = "linear"
    unit: str = "node"
    counts_memory: bool = False
    least_loaded: bool = False
    one_task_per_core: bool = False
    pack_nodes: bool = False
    block_cores: bool = False


class PriorityParameters(_Value, frozen=True, kw_only=True):
    """The priorities of jobs (PriorityType and the parameters whose names begin with Priority).

    Attributes:
        plugin: `basic` or `multifactor`.
        weight_age: the weight of the age (PriorityWeightAge).
        weight_assoc: the weight of the priority of the association (PriorityWeightAssoc).
        weight_fairshare: the weight of the fair share (PriorityWeightFairshare).
        weight_job_size: the weight of the size (PriorityWeightJobSize).
        weight_partition: the weight of the partition (PriorityWeightPartition).
        weight_qos: the weight of the quality of service (PriorityWeightQOS).
        weight_tres: the weights of resources, by name (PriorityWeightTRES).
        max_age: the age in seconds that has the largest factor (PriorityMaxAge).
        calc_period: the seconds between two calculations (PriorityCalcPeriod).
        half_life: the seconds after which usage counts half; 0: always the same (PriorityDecayHalfLife).
        reset: when usage is set to 0: none, now, daily, weekly, monthly, quarterly or yearly
            (PriorityUsageResetPeriod).
        favor_small: whether small jobs have the larger size factor (PriorityFavorSmall).
        dampening: larger values make usage count less in classic fair share (FairShareDampeningFactor).
        accrue_always: whether jobs age while they cannot start (PriorityFlags, as the following).
        calculate_running: whether running jobs have priorities, too.
        depth_oblivious: whether the depth of an association does not count.
        fair_tree: whether fair share is the rank in the tree, else it is classic.
        increase_only: whether a priority never falls.
        max_tres: whether usage is charged by the largest product of amount and weight on a node, instead of the sum.
        normal_assoc: whether the association's priority is divided by the largest one.
        normal_part: whether the partition's factor is divided by the largest one.
        normal_qos: whether the QOS's priority is divided by the largest one.
        normal_tres: whether amounts of resources are divided by those of the partition.
        small_relative_to_time: whether the size is divided by the time limit.
    """

    plugin: str = "basic"
    weight_age: int = 0
    weight_assoc: int = 0
    weight_fairshare: int = 0
    weight_job_size: int = 0
    weight_partition: int = 0
    weight_qos: int = 0
    weight_tres: Mapping[str, float] = {}
    max_age: float = 7 * 86400.0
    calc_period: float = 300.0
    half_life: float = 7 * 86400.0
    reset: str = "none"
    favor_small: bool = False
    dampening: int = 1
    accrue_always: bool = False
    calculate_running: bool = False
    depth_oblivious: bool = False
    fair_tree: bool = True
    increase_only: bool = False
    max_tres: bool = False
    normal_assoc: bool = True
    normal_part: bool = True
    normal_qos: bool = True
    normal_tres: bool = True
    small_relative_to_time: bool = False


class SchedulerParameters(_Value, frozen=True, kw_only=True):
    """The scheduler (SchedulerType), and the options of SchedulerParameters, with their names there.

    Times are seconds, also those that Slurm counts in minutes or microseconds. An option that limits a number has None
    for no limit.

    Attributes:
        plugin: `backfill` or `builtin`.
    """

    plugin: str = "backfill"
    allow_zero_lic: bool = False
    assoc_limit_stop: bool = False
    batch_sched_delay: float = 3.0
    bf_continue: bool = False
    bf_interval: float = 30.0
    bf_job_part_count_reserve: int | None = None
    bf_licenses: bool = False
    bf_max_job_array_resv: int = 20
    bf_max_job_assoc: int | None = None
    bf_max_job_part: int | None = None
    bf_max_job_start: int | None = None
    bf_max_job_test: int = 500
    bf_max_job_user: int | None = None
    bf_max_job_user_part: int | None = None
    bf_max_time: float | None = None
    bf_min_age_reserve: float = 0.0
    bf_min_prio_reserve: int = 0
    bf_node_space_size: int | None = None
    bf_one_resv_per_job: bool = False
    bf_resolution: float = 60.0
    bf_running_job_reserve: bool = False
    bf_window: float = 1440 * 60.0
    bf_window_linear: float = 0.0
    bf_yield_interval: float = 2.0
    bf_yield_sleep: float = 0.5
    default_queue_depth: int = 100
    defer: bool = False
    max_array_tasks: int | None = None
    max_rpc_cnt: int | None = None
    max_sched_time: float = 2.0
    max_switch_wait: float = 300.0
    pack_serial_at_end: bool = False
    partition_job_depth: int | None = None
    preempt_reorder_count: int = 1
    preempt_strict_order: bool = False
    preempt_youngest_first: bool = False
    reduce_completing_frag: bool = False
    sched_interval: float = 60.0
    sched_max_job_start: int | None = None
    sched_min_interval: float = 2e-6


class PreemptionParameters(_Value, frozen=True, kw_only=True):
    """Preemption (PreemptType and PreemptMode).

    Attributes:
        plugin: `none`, `partition_prio` or `qos`.
        mode: the fate of jobs that are preempted: `off`, `cancel`, `requeue` or `suspend`.
        gang: whether jobs take turns on the same resources.
        time_slice: the seconds of a turn (SchedulerTimeSlice).
        within: whether jobs of the same quality of service preempt each other.
        exempt_time: the seconds that each job may run before it is preempted (PreemptExemptTime).
    """

    plugin: str = "none"
    mode: str = "off"
    gang: bool = False
    time_slice: float = 30.0
    within: bool = False
    exempt_time: float = 0.0


class JobParameters(_Value, frozen=True, kw_only=True):
    """The parameters about the lives of jobs, and what may be submitted.

    Attributes:
        over_time_limit: the seconds after its time limit when a job is killed (OverTimeLimit).
        kill_wait: the seconds between SIGTERM and SIGKILL (KillWait).
        complete_wait: the seconds during which a job that is completing keeps others from starting (CompleteWait).
        requeue: whether jobs run again after a failure or a preemption, unless they say otherwise (JobRequeue).
        reservation_overrun: the seconds that a job may run after the end of its reservation (ResvOverRun).
        kill_invalid_depend: whether jobs are cancelled whose dependency can never hold (DependencyParameters).
        return_to_service: which nodes that are down work again when they register: 0 none, 1 those that did not
            respond, 2 all (ReturnToService).
        enforce_limits: whether a job beyond a partition's limits is refused: `no` (it waits), `any` or `all` of the
            partitions that it names (EnforcePartLimits).
        max_count: the most jobs that Slurm keeps (MaxJobCount).
        min_age: the seconds for which Slurm keeps a job that has ended (MinJobAge).
        max_array_size: one more than the largest index of an array (MaxArraySize).
        memory_per_cpu: the memory for each CPU of jobs that ask for none, in MiB (DefMemPerCPU).
        memory_per_gpu: the same for each GPU (DefMemPerGPU).
        memory_per_node: the same for each node (DefMemPerNode).
        cpus_per_gpu: the CPUs for each GPU of jobs that ask for none (DefCpuPerGPU).
        max_memory_per_cpu: the most memory for each CPU, in MiB (MaxMemPerCPU).
        max_memory_per_node: the most memory of each node, in MiB (MaxMemPerNode).
        enforce: what accounting enforces: `associations`, `limits`, `qos`, `safe`... (AccountingStorageEnforce).
        has_database: whether there is a slurmdbd (AccountingStorageType). Without it, ages stay 0.
        first_id: the number of the first job (FirstJobId).
    """

    over_time_limit: float = 0.0
    kill_wait: float = 30.0
    complete_wait: float = 0.0
    requeue: bool = True
    reservation_overrun: float = 0.0
    kill_invalid_depend: bool = False
    return_to_service: int = 0
    enforce_limits: str = "no"
    max_count: int = 10_000
    min_age: float = 300.0
    max_array_size: int = 1001
    memory_per_cpu: int | None = None
    memory_per_gpu: int | None = None
    memory_per_node: int | None = None
    cpus_per_gpu: int | None = None
    max_memory_per_cpu: int | None = None
    max_memory_per_node: int | None = None
    enforce: tuple[str, ...] = ()
    has_database: bool = False
    first_id: int = 1


class SwitchLine(_Value, frozen=True, kw_only=True):
    """A switch of topology.conf.

    Attributes:
        name: its name.
        nodes: the nodes at it, by name.
        switches: the switches below it, by name.
    """

    name: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


class NotFollowed(_Value, frozen=True, kw_only=True):
    """A parameter that could decide something, and that the simulated scheduler does not follow.

    Attributes:
        file: the file.
        line: the line in it.
        name: the parameter, with an option of it after a slash: `SchedulerParameters/bf_busy_nodes`.
        reason: why, as half a sentence.

    >>> str(NotFollowed(file="slurm.conf", line=3, name="PowerPlugin", reason="is not followed"))
    'slurm.conf:3: PowerPlugin is not followed'
    """

    file: str
    line: int
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name} {self.reason}"


class SlurmConfiguration(_Value, frozen=True, kw_only=True):
    """A slurm.conf.

    Attributes:
        cluster: the name of the cluster (ClusterName).
        nodes: the nodes, in the order of the file, which is their order in Slurm.
        partitions: the partitions, in the order of the file.
        select: how nodes are selected.
        priority: the priorities of jobs.
        scheduler: the scheduler.
        preemption: which jobs give way.
        jobs: the lives of jobs.
        licenses: the licences of the cluster, by name (Licenses).
        gres_types: the kinds of generic resources (GresTypes).
        topology: `none`, `tree`... (TopologyPlugin).
        topology_optional: whether only jobs that ask for a number of switches are placed by the tree (TopologyParam).
        switches: the switches, if topology.conf was read.
        not_followed: the parameters that are not followed.
    """

    cluster: str = ""
    nodes: tuple[NodeLine, ...] = ()
    partitions: tuple[PartitionLine, ...] = ()
    select: SelectParameters = SelectParameters()
    priority: PriorityParameters = PriorityParameters()
    scheduler: SchedulerParameters = SchedulerParameters()
    preemption: PreemptionParameters = PreemptionParameters()
    jobs: JobParameters = JobParameters()
    licenses: Mapping[str, int] = {}
    gres_types: tuple[str, ...] = ()
    topology: str = "none"
    topology_optional: bool = False
    switches: tuple[SwitchLine, ...] = ()
    not_followed: tuple[NotFollowed, ...] = ()


# Texts that set several fields of these values


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
}


def select_parameters(text: str) -> dict[str, Any]:
    """The fields of `Select` that a SelectTypeParameters sets.

    >>> select_parameters("CR_Core_Memory,CR_LLN")
    {'unit': 'core', 'counts_memory': True, 'least_loaded': True}
    """
    fields: dict[str, Any] = {}
    kinds = []
    for part in filter(None, text.split(",")):
        found = _SELECT_FLAGS.get(part.upper())
        if found is None:
            hints = hinted(part, _SELECT_FLAGS)
            raise InputError(f"expected flags such as {next(iter(_SELECT_FLAGS))}, got {shown(part)}{hints}")
        if "unit" in found or "counts_memory" in found:
            kinds.append(part)
        fields |= found
        if fields.get("unit") == "cpu" and fields.get("one_task_per_core"):
            raise InputError("expected CR_Core or CR_Socket with CR_ONE_TASK_PER_CORE, got CR_CPU")
    if len(kinds) > 1:
        raise InputError(f"expected one of {shown(kinds[0])} and {shown(kinds[1])}, got both")
    return fields


def partition_select(text: str) -> dict[str, Any]:
    """The fields of `Select` that the SelectTypeParameters of a partition sets: only the kind at its beginning counts.

    >>> partition_select("CR_Socket_Memory")
    {'unit': 'socket', 'counts_memory': True}
    """
    for name in ("CR_CORE_MEMORY", "CR_CORE", "CR_SOCKET_MEMORY", "CR_SOCKET"):
        if text.upper().startswith(name):
            return {"unit": name.split("_")[1].lower(), **({"counts_memory": True} if name.count("_") > 1 else {})}
    raise InputError(f"expected CR_Core or CR_Socket, or one of them with _Memory, got {shown(text)}")


_MODES: Final = ("off", "cancel", "requeue", "suspend")


def time_slice(text: str) -> float:
    """The seconds of a turn (SchedulerTimeSlice). Slurm takes 30 in place of less than 5."""
    return float(number) if (number := unsigned(16)(text)) > 4 else 30.0


def preempt_mode(text: str) -> dict[str, Any]:
    """The fields of `Preemption` that a PreemptMode sets.

    >>> preempt_mode("SUSPEND,GANG")
    {'mode': 'suspend', 'gang': True}
    """
    fields: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        low = part.lower()
        if low in _MODES:
            if "mode" in fields:
                raise InputError(f"expected one of {', '.join(_MODES).upper()}, got {shown(text)}")
            fields["mode"] = low
        elif low in ("gang", "within"):
            fields[low] = True
        else:
            known = [*_MODES, "gang", "within"]
            raise InputError(f"expected one of {', '.join(known).upper()}, got {shown(part)}{hint(part, known)}")
    return fields


_ENFORCED: Final = ("associations", "limits", "nojobs", "nosteps", "qos", "safe", "wckeys")


def enforced(text: str) -> tuple[str, ...]:
    """The rules that accounting enforces, with those that follow from them."""
    found: set[str] = set()
    for part in filter(None, text.lower().split(",")):
        part = {"1": "associations", "2": "limits"}.get(part, part)
        if part == "all":
            found = set(_ENFORCED) - {"nojobs", "nosteps"}
        elif part in _ENFORCED:
            found.add(part)
        else:
            raise InputError(
                f"expected all or some of {', '.join(_ENFORCED)}, got {shown(part)}{hint(part, _ENFORCED)}"
            )
    if found & {"limits", "qos", "wckeys", "safe"}:
        found.add("associations")
    if "safe" in found:
        found.add("limits")
    if "nojobs" in found:
        found.add("nosteps")
    return tuple(sorted(found))


def over_subscribe(text: str) -> dict[str, Any]:
    """The fields of a partition that an OverSubscribe sets.

    >>> over_subscribe("FORCE:2")
    {'over_subscribe': 'force', 'over_subscribe_jobs': 2}
    """
    mode, mark, count = text.partition(":")
    kind = one_of("no", "yes", "force", "exclusive")(mode) if mode.lower() in ("yes", "force") or not mark else ""
    if not kind:
        raise InputError(f"expected NO, EXCLUSIVE, YES or FORCE, got {shown(text)}")
    if kind in ("no", "exclusive"):
        return {"over_subscribe": kind, "over_subscribe_jobs": 1}
    number = leading_number(count) if mark else 4
    if number < (1 if kind == "force" else 2):
        return {"over_subscribe": "no", "over_subscribe_jobs": 1}
    kept = (number | (0x8000 if kind == "force" else 0)) & 0xFFFF  # Slurm has 15 bits for it, and one for FORCE
    jobs = kept & 0x7FFF
    if not jobs or kept == 1:
        return {"over_subscribe": "no" if jobs else "exclusive", "over_subscribe_jobs": 1}
    return {"over_subscribe": "force" if kept & 0x8000 else "yes", "over_subscribe_jobs": jobs}


# Lines with the fields of DEFAULT lines


EITHER: Final = (("defmempernode", "defmempercpu"), ("maxmempernode", "maxmempercpu"))
"""Parameters of which the first counts if both are given."""
_OWN: Final = frozenset(("exclusiveuser", "disablerootjobs", "powerdownonidle", "selecttypeparameters", "suspendtime"))
"""The parameters of a partition that slurmctld does not take from a line DEFAULT."""
_INSTEAD: Final = (("cpus", "procs"), ("oversubscribe", "shared"), *EITHER)
"""Parameters of a line, and others without effect beside them."""


def merged(own: Mapping[str, Mapping[str, Any]], default: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The fields of a line, with those of DEFAULT lines before it."""
    given = {key: fields for key, fields in default.items() if key not in _OWN}
    if "feature" in own or "features" in own:
        given.pop("feature", None)
        given.pop("features", None)
    given |= own
    if "feature" in given:
        given.pop("features", None)
    for first, second in _INSTEAD:
        if first in given:
            given.pop(second, None)
    return {field: value for fields in given.values() for field, value in fields.items()}


# Fields that a file can set and that the simulated scheduler does not follow


PARTS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "": SlurmConfiguration,
    "select": SelectParameters,
    "priority": PriorityParameters,
    "scheduler": SchedulerParameters,
    "preemption": PreemptionParameters,
    "jobs": JobParameters,
    "node": NodeLine,
    "partition": PartitionLine,
}
"""The values that have the fields of each part."""

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "select": ("one_task_per_core",),
    "scheduler": (
        *("allow_zero_lic", "bf_running_job_reserve", "bf_window_linear", "max_array_tasks"),
        *("preempt_reorder_count", "preempt_strict_order", "reduce_completing_frag"),
    ),
    "preemption": ("within",),
    "jobs": ("max_array_size", "max_count", "reservation_overrun"),
    "partition": ("alternate", "select"),
}
MISSED: Final = frozenset(f"{part}.{name}".lstrip(".") for part, names in _FIELDS.items() for name in names)
"""These fields."""

_DEFAULTS: Final[Mapping[str, Any]] = {
    f"{part}.{field.name}".lstrip("."): field.default
    for part, kind in PARTS.items()
    for field in msgspec.structs.fields(kind)
}


VALUES: Final[Mapping[str, frozenset[Any]]] = {
    "topology": frozenset(("3d_torus", "hypercube", "block")),
    "partition.preempt_mode": frozenset(("gang",)),
}
"""Fields that are followed, and their values that are not."""


def missed_by(name: str, fields: Mapping[str, Any]) -> Iterator[str]:
    """The names of that which is not followed of a parameter: its own, or with the field where it sets several.

    Args:
        name: the name of the parameter.
        fields: the fields that it sets, with their parts.

    >>> list(missed_by("PreemptMode", {"preemption.mode": "requeue", "preemption.within": True}))
    ['PreemptMode/within']
    """
    yield from (f"{name}={value.upper()}" for field, value in fields.items() if value in VALUES.get(field, ()))
    found = [field for field, value in fields.items() if field in MISSED and value != _DEFAULTS.get(field)]
    if len(found) == len(fields):
        yield from [name] if found else ()
    else:
        yield from (f"{name}/{field.rpartition('.')[2]}" for field in found)
