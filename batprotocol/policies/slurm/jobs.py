"""The jobs of a Slurm: what they ask for, and what has become of them so far."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

from batprotocol.policies.slurm.values import ClusterPartition

__all__ = ["JobStage", "NodeShare", "SlurmJob"]


class JobStage(Enum):
    """How far a job has come."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETING = "completing"
    """It was killed, and has not ended yet."""
    DONE = "done"


class NodeShare:
    """The nodes of a job, with the CPUs that it has of each.

    Attributes:
        nodes: the set of nodes.
        cpus: the CPUs that it has of each node.
        gres: what it has of generic resources on each node: the numbers of each kind.
        memory: the MiB that it has on each node.
        cores: the cores that it has of each node, as sets, if jobs share cores; empty otherwise.
        partition: the partition whose rows it is in, if jobs share cores.
    """

    __slots__ = ("cores", "cpus", "gres", "memory", "nodes", "partition")

    def __init__(
        self,
        nodes: int,
        cpus: dict[int, int],
        gres: dict[int, tuple[int, ...]] | None = None,
        memory: dict[int, int] | None = None,
    ) -> None:
        self.nodes, self.cpus, self.gres, self.memory = nodes, cpus, gres or {}, memory or {}
        self.cores: dict[int, int] = {}
        self.partition = ""


class SlurmJob:
    """A job. Times are in seconds of the simulation, limits in minutes.

    Attributes:
        id: its name for others, which changes when it runs again.
        number: its number: of two jobs that are equal otherwise, the smaller one comes first.
        task: the number of its task in an array, and 0 else.
        array: the array that it is a task of; None if there is none.
        array_limit: how many tasks of the array may run at a time; 0: any number.
        user, group, account, qos: as it was submitted; quality: the quality of service that it has.
        partitions: those that it can run in.
        limit: its time limit.
        time_min: the least limit that it can do with; 0: `limit`.
        min_nodes, max_nodes: how many nodes it needs.
        tasks: its tasks, all nodes together; cpus_per_task: the CPUs of each.
        tasks_per_node: the tasks that each node gets; 0: any number.
        memory: MiB on each node; memory_per_cpu: on each CPU; 0: what the partition says.
        gres: the generic resources on each node: name, type and number.
        licenses: the licences that it takes: name and number.
        leaves: the most switches that its nodes are at, 0 for any number; leaves_wait: the seconds for which it waits
            for that, since `leaves_since`, if it `misses_leaves`.
        gpus: GPUs of all nodes together; 0: it does not ask for them in this way; gpus_per_task: those of each task.
        allowed: the nodes that its constraint and its lists allow.
        required: the nodes that it must have.
        is_exclusive, is_contiguous: whether its nodes are its own, or consecutive.
        reservation: the name of its reservation; "" if none.
        nice: subtracted from its priority; fixed: the priority that an operator has set; None: it is computed.
        requeues: whether it may run again.
        priority: its priority in each partition; 0: it is held.
        submitted, begin: when it came, and when it may start at the earliest.
        eligible: since when it can start, infinity so far.
        stage: how far it has come.
        started, end: when it started, and when its limit ends; left: when its nodes were clean again.
        planned: when backfill will start it, 0 if unknown.
        placement: its nodes, while it runs.
        partition: the partition that it runs in.
        restarts: how often it ran before.
        reason: the limit that keeps it waiting, in the words of Slurm; "" if it was none.
        extra: what the owner keeps with it.
    """

    __slots__ = (
        *(
            "account",
            "allowed",
            "array",
            "array_limit",
            "begin",
            "cpus_per_task",
            "eligible",
            "end",
            "extra",
            "gpus",
            "gpus_per_task",
        ),
        *("gres", "id", "is_contiguous", "is_exclusive", "limit", "max_nodes", "memory", "memory_per_cpu"),
        *("min_nodes", "nice", "number", "partition", "partitions", "placement", "planned", "priority", "qos"),
        *("required", "requeues", "reservation", "restarts", "stage", "started", "submitted", "task", "tasks"),
        *("group", "leaves", "leaves_since", "leaves_wait", "misses_leaves", "licenses", "quality", "reason"),
        *(
            "tasks_per_node",
            "time_min",
            "user",
            "fixed",
            "gives_way",
            "is_held",
            "is_over",
            "killed",
            "left",
            "planned_nodes",
            "preempts_since",
            "runs_again",
            "waits_for_room",
        ),
    )

    def __init__(
        self, id: str, number: int, submitted: float, partitions: tuple[ClusterPartition, ...], limit: float
    ) -> None:
        self.id, self.number, self.task = id, number, 0
        self.array: str | None = None
        self.array_limit = 0
        self.user: str = ""
        self.account: str = ""
        self.qos = self.group = self.quality = self.reason = ""
        self.licenses: tuple[tuple[str, int], ...] = ()
        self.leaves, self.leaves_wait, self.leaves_since, self.misses_leaves = 0, 0.0, math.inf, False
        self.partitions = partitions
        self.limit = limit
        self.time_min = 0.0
        self.min_nodes = self.tasks = self.cpus_per_task = 1
        self.max_nodes = math.inf
        self.tasks_per_node = self.memory = self.memory_per_cpu = self.gpus = self.gpus_per_task = self.nice = (
            self.restarts
        ) = 0
        self.gres: tuple[tuple[str, str, int], ...] = ()
        self.allowed = -1
        self.required = 0
        self.is_exclusive = self.is_contiguous = self.is_held = False
        self.reservation = ""
        self.requeues = True
        self.priority: dict[str, int] = {}
        self.submitted = self.begin = submitted
        self.eligible = math.inf
        self.stage = JobStage.PENDING
        self.started = self.end = self.planned = self.killed = self.left = 0.0
        self.fixed: int | None = None
        self.planned_nodes = 0
        self.placement: NodeShare | None = None
        self.partition: ClusterPartition | None = None
        self.waits_for_room = self.is_over = self.runs_again = self.gives_way = False
        self.preempts_since = -math.inf
        self.extra: Any = None

    @property
    def own_id(self) -> str:
        """Its first id without the workload, as operators write it."""
        return self.id.rpartition("!")[2]

    @property
    def cpus(self) -> int:
        """The CPUs that it needs at least, all nodes together."""
        return max(self.tasks * self.cpus_per_task, self.min_nodes)

    def is_on(self, nodes: int) -> bool:
        """Whether it has one of these nodes."""
        return self.placement is not None and bool(self.placement.nodes & nodes)

    @property
    def allocated_cpus(self) -> int:
        """The CPUs that it has, all nodes together."""
        assert self.placement is not None
        return sum(self.placement.cpus.values())

    @property
    def allocated_memory(self) -> int:
        """The MiB that it has, all nodes together."""
        assert self.placement is not None
        return sum(self.placement.memory.values())
