"""The cluster of a slurm.conf as the controller sees it: nodes have numbers, and partitions are sets of them.

A set of nodes is a whole number whose bit i is node i: unions and differences of a thousand nodes take a step.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from batprotocol.policies.rules import PreemptMode
from batprotocol.sites.slurm.configuration import (
    NodeLine,
    PartitionLine,
    SchedulerParameters,
    SlurmConfiguration,
    SwitchLine,
)
from batprotocol.workloads.requests.notation import GPU

__all__ = [
    "FOREVER",
    "ClusterNode",
    "ClusterPartition",
    "ClusterSizes",
    "ConfiguredCluster",
    "JobSize",
    "NodeSelection",
    "NodeSharing",
    "PartitionAccess",
    "best_fit",
    "bits_of",
    "cluster_of",
    "gres_names",
    "lowest",
    "members",
    "mode_of",
    "runs",
]


def bits_of(nodes: Iterable[int]) -> int:
    """The set of these nodes.

    >>> bits_of([0, 3])
    9
    """
    bits = 0
    for node in nodes:
        bits |= 1 << node
    return bits


def members(bits: int) -> list[int]:
    """The nodes of a set, in order.

    >>> members(9)
    [0, 3]
    """
    if bits < 0:
        raise ValueError("expected a set of known nodes, got one without an end")
    size = bits.bit_length()
    if size > 64 and bits.bit_count() > 8:  # in one step
        return [node for node, bit in enumerate(bin(bits)[:1:-1]) if bit == "1"]
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def lowest(bits: int, count: int) -> int:
    """The set of the `count` nodes of a set with the lowest numbers; it has at least so many.

    >>> lowest(0b1101, 2) == 0b101
    True
    """
    found = 0
    while count > 0:
        low = bits & -bits
        found |= low
        bits ^= low
        count -= 1
    return found


def runs(bits: int) -> list[tuple[int, int]]:
    """The runs of consecutive nodes of a set: the first node of each, and their number.

    >>> runs(0b11101)
    [(0, 1), (2, 3)]
    """
    found = []
    first = 0
    while bits:
        gap = (bits & -bits).bit_length() - 1
        bits >>= gap
        first += gap
        above = bits + 1
        length = (above & -above).bit_length() - 1
        found.append((first, length))
        bits >>= length
        first += length
    return found


def best_fit(bits: int, count: int) -> int | None:
    """The nodes that Slurm takes of equal ones: of the smallest run that has enough, else of the largest ones.

    Args:
        bits: the nodes.
        count: how many are needed, >= 1.

    Returns:
        None if there are too few.

    >>> members(best_fit(0b11_0111, 2)), members(best_fit(0b11_0111, 4)), best_fit(0b1, 2)
    ([4, 5], [0, 1, 2, 4], None)
    """
    if bits.bit_count() < count:
        return None
    blocks = runs(bits)
    enough = [block for block in blocks if block[1] >= count]
    chosen = 0
    if not enough:
        blocks.sort(key=lambda block: -block[1])
        for place, (first, length) in enumerate(blocks):
            chosen |= ((1 << length) - 1) << first
            count -= length
            enough = [block for block in blocks[place + 1 :] if block[1] >= count]
            if enough:
                break
    first, _ = min(enough, key=lambda block: (block[1], block[0]))
    return chosen | ((1 << count) - 1) << first


# Who may use a partition


_ROOT = "root"


class PartitionAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of access of a partition. None allows all.

    Attributes:
        accounts: the accounts that may use it, and those that may not.
        groups: the groups that may use it. Jobs that name no group may, too.
        qos: the qualities of service that may use it, and those that may not.
        root_only: whether only root may use it.
        needs_reservation: whether its jobs must have a reservation.
        takes_jobs: whether jobs can be submitted to it.
    """

    accounts: frozenset[str] | None = None
    denied_accounts: frozenset[str] = frozenset()
    groups: frozenset[str] | None = None
    qos: frozenset[str] | None = None
    denied_qos: frozenset[str] = frozenset()
    root_only: bool = False
    needs_reservation: bool = False
    takes_jobs: bool = True

    @classmethod
    def of(cls, line: PartitionLine) -> PartitionAccess:
        """The rules of a line of slurm.conf.

        >>> PartitionAccess.of(PartitionLine(name="p", allow_accounts=("a",))).reason("b", "normal")
        'Invalid account or account/partition combination specified'
        """
        return cls(
            accounts=_set(line.allow_accounts),
            denied_accounts=frozenset(line.deny_accounts),
            groups=_set(line.allow_groups),
            qos=_set(line.allow_qos),
            denied_qos=frozenset(line.deny_qos),
            root_only=line.root_only,
            needs_reservation=line.needs_reservation,
            takes_jobs=line.state in ("UP", "DOWN"),
        )

    def refusal(self, user: str, group: str, reservation: str) -> str:
        """Slurm's reason for which it refuses a job, whatever its account and quality of service; "" if there is none.

        Args:
            user, group: those of the job; "" if it has none.
            reservation: its reservation; "" if it has none.
        """
        if not self.takes_jobs:
            return "Required partition not available (inactive or drain)"
        if self.root_only and user != _ROOT:
            return "Access/permission denied: only root may use the partition"
        if self.groups is not None and group and group not in self.groups and user != _ROOT:
            return "User's group not permitted to use this partition"
        return "Requested reservation is invalid: the partition needs one" if self.lacks(reservation) else ""

    @property
    def is_open(self) -> bool:
        """Whether it takes jobs of all accounts and qualities of service."""
        return self.accounts is None and self.qos is None and not (self.denied_accounts or self.denied_qos)

    def lacks(self, reservation: str) -> bool:
        """Whether a job lacks a reservation; `reservation`: that of the job, "" if it has none."""
        return self.needs_reservation and not reservation

    def reason(self, account: str, qos: str) -> str:
        """Slurm's reason for which a job does not start, and is refused with EnforcePartLimits; "" if there is none.

        Args:
            account, qos: those of the job; "" if it has none.
        """
        if (self.accounts is not None and account not in self.accounts) or account in self.denied_accounts:
            return "Invalid account or account/partition combination specified"
        return "" if self.takes_quality(qos) else "Invalid qos specification"

    def takes_quality(self, qos: str) -> bool:
        """Whether jobs of a quality of service may use it."""
        return (self.qos is None or qos in self.qos) and qos not in self.denied_qos


def _set(names: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


# Nodes, partitions, and the parameters of the loops


FOREVER: Final = 525_600
"""The minutes that a job without a limit counts as: a year, as in Slurm."""


class ClusterNode(msgspec.Struct, frozen=True, gc=False):
    """A node.

    Args:
        name: its name.
        cpus: the CPUs that jobs can have.
        special: the cores that are the system's, as a set: jobs do not have them.
        sockets: its sockets.
        threads: the CPUs of a core.
        memory: its memory in MiB.
        gres: the number of generic resources of each name and type; the type is "" if it has none.
        features: what constraints can name.
        weight: nodes with a smaller weight are used first.
        is_up: whether jobs can start there in the beginning.
        is_drained: whether slurm.conf drains it. If it is not up otherwise, it is down.
        record: the place of its line among those that name nodes: of equal weight, nodes of an earlier line come first.
    """

    name: str
    cpus: int = 1
    sockets: int = 1
    threads: int = 1
    memory: int = 1
    gres: tuple[tuple[str, str, int], ...] = ()
    features: frozenset[str] = frozenset()
    weight: int = 1
    is_up: bool = True
    is_drained: bool = False
    record: int = 0
    special: int = 0

    @property
    def cores(self) -> int:
        """Its cores, with those of the system."""
        return self.cpus // self.threads + self.special.bit_count()

    @property
    def gpus(self) -> int:
        """Its GPUs of all types."""
        return sum(count for name, _, count in self.gres if name == GPU)


def mode_of(text: str, *, gang: bool) -> str:
    """The `PreemptMode` that a text of Slurm means: jobs are suspended only if others take turns (GANG).

    >>> mode_of("requeue", gang=False), mode_of("suspend", gang=True), mode_of("suspend", gang=False)
    ('requeue', 'suspend', 'off')
    """
    known = (PreemptMode.CANCEL, PreemptMode.REQUEUE, *((PreemptMode.SUSPEND,) if gang else ()))
    return text if text in known else PreemptMode.OFF


class GangUnit(Enum):
    """What two jobs cannot have at the same time, if they take turns."""

    NODES = "nodes"
    """A node (select/linear)."""
    CPUS = "cpus"
    """More CPUs than a node has (CR_CPU)."""
    CORES = "cores"
    """A core (CR_Core and CR_Socket)."""


class JobSize(NamedTuple):
    """The size of a job, as partitions look at it.

    Attributes:
        least, most: the nodes that it names; infinity is a most that it does not name.
        minutes: its time limit.
        cpus: the CPUs that it needs, all nodes together.
        cpus_on_node: the CPUs that it has on a node, as far as its options say so.
        memory, memory_per_cpu: MiB on each node, or for each CPU; 0: what the partition says; -1: all of a node.
        is_whole: whether its nodes are its own.
    """

    least: int
    most: float
    minutes: float
    cpus: int
    cpus_on_node: int
    memory: int
    memory_per_cpu: int
    is_whole: bool


class NodeSharing(Enum):
    """How a job shares its nodes with others. It shares none with jobs that share them in another way."""

    NOTHING = "nothing"
    """Its nodes are its own (OverSubscribe=EXCLUSIVE)."""
    NODES = "nodes"
    """Its cores are its own."""
    CORES = "cores"
    """Its cores are those of others, too (OverSubscribe=FORCE, or --oversubscribe with OverSubscribe=YES)."""


class ClusterPartition(msgspec.Struct, gc=False, eq=False):
    """A partition, which commands of operators can change. Times are in minutes.

    Args:
        name: its name.
        nodes: the set of its nodes, as a number: bit i is node i.
        tier: jobs of a partition with a larger tier come first.
        max_time: the longest limit of its jobs; infinity: none.
        default_time: the limit of jobs that name none.
        min_nodes: jobs get at least so many nodes. Those that may not have so many wait for ever.
        max_nodes: jobs that may have more wait for ever.
        is_up: whether jobs start in it.
        is_exclusive: whether its jobs have whole nodes.
        rows: how many jobs share a core at most (OverSubscribe).
        is_of_user: whether jobs of two users share none of its nodes (ExclusiveUser).
        is_forced: whether its jobs share cores without asking for it (OverSubscribe=FORCE).
        memory_per_cpu: MiB for each CPU of jobs that ask for no memory; 0: see `memory_per_node`.
        memory_per_node: MiB on each node of jobs that ask for no memory; 0: all.
        cpus_per_gpu, memory_per_gpu: CPUs and MiB that come with each GPU of jobs that ask for none of them; 0: none.
        max_cpus: the CPUs of a node that all of its jobs together may have; infinity: all (MaxCPUsPerNode).
        max_memory_per_cpu: the MiB for each CPU, above which jobs have more CPUs; 0: any number.
        max_memory_per_node: the MiB on a node, above which jobs wait for ever; 0: any number.
        first_cpus, first_memory: the CPUs and MiB of its first node, which Slurm compares with these.
        preempt_mode: how its jobs give way.
        grace: seconds that they have then.
        overtime: minutes that jobs may run longer than their limit.
        is_spread: whether the node with the largest share of idle CPUs is used first.
        qos: the quality of service whose limits hold in it; "" if none.
        factor: the factor of priorities.
        access: who may use it.
    """

    name: str
    nodes: int
    tier: int = 1
    max_time: float = math.inf
    default_time: float = math.inf
    min_nodes: int = 1
    max_nodes: float = math.inf
    is_up: bool = True
    is_exclusive: bool = False
    rows: int = 1
    is_of_user: bool = False
    is_forced: bool = False
    memory_per_cpu: int = 0
    memory_per_node: int = 0
    cpus_per_gpu: int = 0
    memory_per_gpu: int = 0
    max_cpus: float = math.inf
    max_memory_per_cpu: int = 0
    max_memory_per_node: int = 0
    first_cpus: int = 1
    first_memory: int = 1
    preempt_mode: str = PreemptMode.OFF
    grace: int = 0
    overtime: float = 0.0
    is_spread: bool = False
    qos: str = ""
    factor: int = 1
    access: PartitionAccess = PartitionAccess()

    def sharing_of(self, oversubscribes: bool) -> NodeSharing:
        """How its jobs share their nodes, those that ask for shared cores (--oversubscribe) or the others."""
        if self.is_exclusive:
            return NodeSharing.NOTHING
        return NodeSharing.CORES if self.is_forced or (self.rows > 1 and oversubscribes) else NodeSharing.NODES

    def rows_of(self, oversubscribes: bool) -> int:
        """How many of its jobs share a core at most, of those that ask for shared cores (--oversubscribe) or others."""
        return self.rows if self.sharing_of(oversubscribes) is NodeSharing.CORES else 1

    def fits(self, size: JobSize) -> bool:
        """Whether it ever takes jobs of a size. A most that the job names must be within its limits, too."""
        nodes, count = size.most if size.most < math.inf else size.least, self.nodes.bit_count()
        if size.least > count or nodes > self.max_nodes or size.most < self.min_nodes:
            return False
        return size.minutes <= self.max_time and size.cpus <= self.max_cpus * count and self._has_memory(size)

    def _has_memory(self, size: JobSize) -> bool:
        """Whether the memory of a job on each node is within its limit."""
        if not (self.max_memory_per_node or self.max_memory_per_cpu):
            return True
        per_cpu = size.memory_per_cpu or (0 if size.memory or self.memory_per_node else self.memory_per_cpu)
        cpus = self.first_cpus if size.is_whole or self.is_exclusive else size.cpus_on_node
        each = self.first_memory if size.memory < 0 else size.memory or self.memory_per_node or self.first_memory
        if self.max_memory_per_cpu:
            return bool(per_cpu) or each <= self.max_memory_per_cpu * self.first_cpus
        return (per_cpu * cpus or each) <= self.max_memory_per_node

    def takes(self, size: JobSize, reservation: str) -> bool:
        """Whether it takes a job of a size now that names a reservation, or none ("")."""
        return self.is_up and self.fits(size) and not self.access.lacks(reservation)


class NodeSelection(msgspec.Struct, frozen=True, gc=False):
    """How nodes are chosen.

    Args:
        is_linear: whether jobs have whole nodes (select/linear).
        by_core: whether jobs have whole cores.
        by_socket: whether jobs have whole sockets.
        in_turn: whether a job has cores of each socket in turn.
        counts_memory: whether memory is given out.
        least_loaded: whether the node with the largest share of idle CPUs is used first.
        serial_at_end: whether jobs of one CPU get the last nodes.
    """

    is_linear: bool
    by_core: bool = True
    by_socket: bool = False
    in_turn: bool = True
    counts_memory: bool = False
    least_loaded: bool = False
    serial_at_end: bool = False


class ConfiguredCluster(msgspec.Struct, frozen=True, dict=True):
    """A cluster as its slurm.conf describes it.

    Args:
        nodes: its nodes, in the order of the file.
        partitions: its partitions.
        default: the name of the partition of jobs that name none; "" if there is none.
        select: how nodes are chosen.
        loops: the parameters of the loops.
        backfills: whether there is the second loop.
        is_fifo: whether the first loop takes jobs as they came.
        preempts: whether jobs of higher partitions make those of lower ones give way.
        gang: what jobs that take turns cannot have at the same time (PreemptMode=GANG); None: none take turns.
        time_slice: seconds of a turn (SchedulerTimeSlice).
        preempt_wait: seconds for which a job waits for those that give way to it, before others do.
        complete_wait: seconds for which no loop runs after the end of a job whose nodes are not clean (CompleteWait).
        kill_wait: seconds from the end of a limit to the kill that no job survives (KillWait).
        requeues: whether jobs may run again by default.
        kills_invalid: whether jobs whose dependency can never hold are cancelled.
        overtime: minutes that jobs may run longer than their limit.
        switches: the switches, if jobs are placed by them (topology/tree).
        tree_is_optional: whether only jobs that ask for a number of switches are placed by them (TopoOptional).
        returns_to_service: Slurm's ReturnToService.
        min_age: the seconds for which a job that has ended can run again (MinJobAge).
        configuration: its slurm.conf.
        lines: the lines of partitions as commands have changed them, by name.
    """

    nodes: tuple[ClusterNode, ...]
    partitions: tuple[ClusterPartition, ...]
    default: str = ""
    select: NodeSelection = NodeSelection(is_linear=True)
    loops: SchedulerParameters = SchedulerParameters()
    backfills: bool = True
    is_fifo: bool = False
    preempts: bool = False
    gang: GangUnit | None = None
    time_slice: float = 30.0
    preempt_wait: float = 40.0
    complete_wait: float = 0.0
    kill_wait: float = 30.0
    requeues: bool = True
    kills_invalid: bool = False
    overtime: float = 0.0
    returns_to_service: int = 0
    min_age: float = 300.0
    switches: tuple[SwitchLine, ...] = ()
    tree_is_optional: bool = False
    configuration: SlurmConfiguration = SlurmConfiguration()
    lines: dict[str, PartitionLine] = msgspec.field(default_factory=dict)

    def change_partition(self, partition: ClusterPartition, fields: Mapping[str, Any]) -> None:
        """Give a partition other values.

        Args:
            partition: the partition.
            fields: the new values, by the names that they have in `PartitionLine`.
        """
        name, numbers = partition.name, {node.name: number for number, node in enumerate(self.nodes)}
        before = self.lines.get(name) or next(each for each in self.configuration.partitions if each.name == name)
        line = self.lines[name] = msgspec.structs.replace(before, **fields)
        made = _partition(line, numbers, self.configuration)
        for field in ClusterPartition.__struct_fields__:
            setattr(partition, field, getattr(made, field))

    @property
    def default_partition(self) -> str:
        """The name of the partition of jobs that name none; "" if there is none."""
        chosen = [name for name, line in self.lines.items() if line.default]
        is_old = self.default not in self.lines or self.lines[self.default].default
        return chosen[-1] if chosen else self.default if is_old else ""

    @property
    def up(self) -> int:
        """The nodes that work in the beginning."""
        return sum(node.is_up << number for number, node in enumerate(self.nodes))

    @cached_property
    def memory(self) -> int:
        """The MiB of all nodes; 0 if memory is not given out."""
        return sum(node.memory for node in self.nodes) if self.select.counts_memory else 0

    @cached_property
    def gpus(self) -> int:
        """The GPUs of all nodes."""
        return sum(node.gpus for node in self.nodes)


# From a slurm.conf


_MESSAGE_TIMEOUT = 10
"""Slurm's MessageTimeout, in seconds."""


def cluster_of(configuration: SlurmConfiguration) -> ConfiguredCluster:
    """The cluster that a slurm.conf describes.

    >>> from batprotocol.sites.slurm.configuration import configuration_of
    >>> cluster = cluster_of(configuration_of("NodeName=n[0-3]\\nPartitionName=p Nodes=n[1-2]"))
    >>> [node.name for node in cluster.nodes], cluster.partitions[0].nodes
    (['n0', 'n1', 'n2', 'n3'], 6)
    """
    numbers = {node.name: number for number, node in enumerate(configuration.nodes)}
    partitions = tuple(_partition(each, numbers, configuration) for each in configuration.partitions)
    jobs, scheduler = configuration.jobs, configuration.scheduler
    is_linear, returns = configuration.select.plugin == "linear", jobs.return_to_service == _ALL_RETURN
    return ConfiguredCluster(
        tuple(_node(each, is_linear=is_linear, returns=returns) for each in configuration.nodes),
        partitions,
        next((each.name for each in configuration.partitions if each.default), ""),
        _select(configuration),
        scheduler,
        backfills=scheduler.plugin == "backfill",
        is_fifo=scheduler.plugin == "builtin"
        and configuration.priority.plugin == "basic"
        and len({each.tier for each in partitions}) <= 1,
        preempts=configuration.preemption.plugin != "none",
        gang=_gang(configuration) if configuration.preemption.gang else None,
        time_slice=configuration.preemption.time_slice,
        preempt_wait=jobs.kill_wait + _MESSAGE_TIMEOUT,
        complete_wait=jobs.complete_wait,
        kill_wait=jobs.kill_wait,
        requeues=jobs.requeue,
        kills_invalid=jobs.kill_invalid_depend,
        overtime=jobs.over_time_limit / 60,
        returns_to_service=jobs.return_to_service,
        min_age=jobs.min_age,
        switches=configuration.switches if configuration.topology == "tree" else (),
        tree_is_optional=configuration.topology_optional,
        configuration=configuration,
    )


def _special(line: NodeLine) -> int:
    """The cores of a node that are the system's: of CpuSpecList, or the last ones of each socket in turn."""
    cores, size = line.cpus // line.threads_per_core, line.cores_per_socket
    if line.cpus_reserved:
        return bits_of({cpu // line.threads_per_core for cpu in line.cpus_reserved})
    order = [core for place in range(size) for core in range(cores - 1 - place, -1, -size)]
    return bits_of(order[: line.cores_reserved])


_ALL_RETURN: Final = 2
"""The value of ReturnToService with which all nodes work that register, also those that are down in slurm.conf."""


def _node(line: NodeLine, *, is_linear: bool, returns: bool) -> ClusterNode:
    """A node; `returns`: one that slurm.conf has down works as soon as it registers."""
    gres = []
    for kind, count in line.gres:
        name, _, type = kind.partition(":")
        gres.append((name, type, count))
    special = 0 if is_linear else _special(line)
    return ClusterNode(
        line.name,
        cpus=line.cpus - special.bit_count() * line.threads_per_core,
        special=special,
        sockets=line.sockets,
        threads=line.threads_per_core,
        memory=max(line.memory - line.memory_reserved, 0),
        gres=tuple(gres),
        features=frozenset(line.features),
        weight=line.weight,
        is_up=line.state in ("UNKNOWN", "CLOUD") or (line.state == "DOWN" and returns),
        is_drained=line.state in ("DRAIN", "FAIL"),
        record=line.record,
    )


def _partition(line: PartitionLine, numbers: Mapping[str, int], configuration: SlurmConfiguration) -> ClusterPartition:
    jobs, mode = configuration.jobs, line.preempt_mode or configuration.preemption.mode
    default = line.max_time if line.default_time is None else line.default_time
    over = jobs.over_time_limit if line.over_time_limit is None else line.over_time_limit
    nodes = bits_of(numbers[name] for name in line.nodes if name in numbers)
    own = line.max_memory_per_cpu or line.max_memory_per_node
    most = line if own else jobs  # a limit of its own takes the place of both, and so does a default
    usual = line if line.memory_per_cpu or line.memory_per_node else jobs
    first = configuration.nodes[(nodes & -nodes).bit_length() - 1] if nodes else None
    return ClusterPartition(
        line.name,
        nodes,
        tier=line.priority_tier,
        max_time=line.max_time / 60,
        default_time=default / 60,
        min_nodes=max(line.min_nodes, 1),
        max_nodes=math.inf if line.max_nodes is None else line.max_nodes,
        is_up=line.state in ("UP", "DRAIN"),
        access=PartitionAccess.of(line),
        is_exclusive=line.over_subscribe == "exclusive",
        rows=line.over_subscribe_jobs if line.over_subscribe in ("force", "yes") else 1,
        is_of_user=line.exclusive_user,
        is_forced=line.over_subscribe == "force",
        memory_per_cpu=usual.memory_per_cpu or 0,
        memory_per_node=usual.memory_per_node or 0,
        cpus_per_gpu=line.cpus_per_gpu or jobs.cpus_per_gpu or 0,
        memory_per_gpu=line.memory_per_gpu or jobs.memory_per_gpu or 0,
        max_cpus=math.inf if line.max_cpus_per_node is None else line.max_cpus_per_node,
        max_memory_per_cpu=most.max_memory_per_cpu or 0,
        max_memory_per_node=most.max_memory_per_node or 0,
        first_cpus=1 if first is None else first.cpus,
        first_memory=1 if first is None else first.memory,
        preempt_mode=mode_of(mode, gang=configuration.preemption.gang),
        grace=int(line.grace_time),
        overtime=over / 60,
        is_spread=line.least_loaded,
        qos=line.qos or "",
        factor=line.priority_job_factor,
    )


def _gang(configuration: SlurmConfiguration) -> GangUnit:
    if configuration.select.plugin == "linear":
        return GangUnit.NODES
    return GangUnit.CPUS if configuration.select.unit == "cpu" else GangUnit.CORES


def _select(configuration: SlurmConfiguration) -> NodeSelection:
    select = configuration.select
    return NodeSelection(
        is_linear=select.plugin == "linear",
        by_core=select.unit in ("core", "socket"),
        by_socket=select.unit == "socket",
        in_turn=select.unit in ("core", "socket") and not select.block_cores,
        counts_memory=select.counts_memory,
        least_loaded=select.least_loaded,
        serial_at_end=configuration.scheduler.pack_serial_at_end,
    )


class ClusterSizes:
    """The sizes of a cluster.

    Args:
        configuration: the configuration.

    Attributes:
        nodes: the nodes of the cluster.
        cpus: their CPUs.
        most_factor: the largest PriorityJobFactor of the partitions.

    >>> from batprotocol.sites.slurm.configuration import configuration_of
    >>> lines = "NodeName=n[0-3] CPUs=4", "PartitionName=p Nodes=n[0-1] PriorityJobFactor=7"
    >>> sizes = ClusterSizes(configuration_of("\\n".join(lines)))
    >>> sizes.nodes, sizes.cpus, sizes.amounts("p")["cpu"], sizes.factor("p")
    (4, 16, 8.0, 7)
    """

    def __init__(self, configuration: SlurmConfiguration) -> None:
        self.nodes = len(configuration.nodes)
        self.cpus = sum(node.cpus for node in configuration.nodes)
        self.most_factor = max((each.priority_job_factor for each in configuration.partitions), default=0)
        self._nodes = {node.name: node for node in configuration.nodes}
        self._partitions = {each.name: each for each in configuration.partitions}
        self._amounts: dict[str, Mapping[str, float]] = {}

    def partition(self, name: str) -> PartitionLine | None:
        """A partition."""
        return self._partitions.get(name)

    def factor(self, name: str) -> int:
        """The PriorityJobFactor of a partition."""
        found = self._partitions.get(name)
        return found.priority_job_factor if found is not None else 0

    def minutes(self, name: str) -> float:
        """The longest time limit in a partition, in minutes."""
        found = self._partitions.get(name)
        return found.max_time / 60 if found is not None else math.inf

    def amounts(self, name: str) -> Mapping[str, float]:
        """The resources of the nodes of a partition that the cluster has, by name."""
        if name not in self._amounts:
            found = self._partitions.get(name)
            names = () if found is None else found.nodes
            self._amounts[name] = _sum(self._nodes[node] for node in names if node in self._nodes)
        return self._amounts[name]


def _sum(nodes: Iterable[NodeLine]) -> Mapping[str, float]:
    amounts: Counter[str] = Counter()
    for node in nodes:
        kept = node.cores_reserved * max(node.cpus // (node.sockets * node.cores_per_socket), 1)
        amounts.update({"cpu": node.cpus - kept, "mem": node.memory, "node": 1})
        for kind, number in node.gres:
            name, _, type = kind.partition(":")
            amounts.update(dict.fromkeys(gres_names(name, type), number))
    return {name: float(number) for name, number in amounts.items()}


def gres_names(name: str, type: str) -> tuple[str, ...]:
    """The names under which a generic resource counts: with its type, and without."""
    return (f"gres/{name}", f"gres/{name}:{type}") if type else (f"gres/{name}",)
