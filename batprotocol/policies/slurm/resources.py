"""The resources of nodes that jobs share: CPUs, memory, generic resources and cores, and what a job takes of them.

A `NodeDemand` is the share that a job takes in a partition, and `FreeResources` has what each node can give. Which of
them the job gets, `consumable` chooses.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from itertools import islice
from operator import or_
from typing import Final, NamedTuple

from batprotocol.policies.slurm.cluster import (
    ClusterNode,
    ClusterPartition,
    ConfiguredCluster,
    NodeSharing,
    bits_of,
    members,
)
from batprotocol.policies.slurm.queue import NodeShare, SlurmJob
from batprotocol.workloads.requests.notation import GPU

__all__ = [
    "CoreRows",
    "FreeResources",
    "GresOffer",
    "JobRecords",
    "LaterResources",
    "NodeDemand",
    "NodeHolders",
    "demand_of",
    "tasks_dealt",
]


# Whole nodes that jobs share (PreemptMode=SUSPEND and GANG): at most one of the jobs of a node runs


class JobRecords:
    """When Slurm made the records of jobs: it makes one for the other tasks of an array when a task starts."""

    def __init__(self) -> None:
        self._made, self._last = dict[tuple[int, int], float](), dict[str, float]()

    def made_at(self, job: SlurmJob) -> float:
        """When the record of a job was made that has started."""
        found = self._made.setdefault((job.number, job.task), self._last.get(job.array or "", job.submitted))
        if job.array:
            self._last[job.array] = max(self._last.get(job.array, 0.0), job.started)
        return found


class NodeHolders:
    """The jobs that keep others from their nodes: those that run, and those that are suspended for others."""

    __slots__ = ("_nodes",)

    def __init__(self) -> None:
        self._nodes: dict[SlurmJob, int] = {}

    def enter(self, job: SlurmJob) -> None:
        """A job has its nodes."""
        assert job.placement is not None
        self._nodes[job] = job.placement.nodes

    def leave(self, job: SlurmJob) -> int:
        """A job keeps others from its nodes no longer. Returns its nodes."""
        return self._nodes.pop(job, 0)

    def nodes(self, gone: Collection[SlurmJob], most: int) -> int:
        """The nodes that have so many jobs at least, if some jobs are gone."""
        planes = [0] * most  # one job at least, two...
        for job, nodes in self._nodes.items():
            if job not in gone:
                for place in range(most - 1, 0, -1):
                    planes[place] |= planes[place - 1] & nodes
                planes[0] |= nodes
        return planes[-1]

    def freed(
        self, ends: Iterable[tuple[float, tuple[float, int], int]], gone: Collection[SlurmJob], most: int
    ) -> list[int]:
        """The nodes that have fewer jobs after the first end, the second one...: the others keep them until theirs.

        Args:
            ends: the ends of jobs, with their numbers and nodes, in order.
            gone: the jobs that are gone.
            most: the number of jobs.
        """
        left = {(job.end, job.number, nodes): nodes for job, nodes in self._nodes.items() if job not in gone}
        freed, bits, counts = [], 0, Counter(node for nodes in left.values() for node in members(nodes))
        for end, (_, number), nodes in ends:
            for node in members(left.pop((end, number, nodes), 0)):
                counts[node] -= 1
                bits |= (counts[node] < most) << node
            freed.append(bits)
        return freed


# Cores that jobs share (OverSubscribe=FORCE:n): each partition has n rows of jobs


_Row = list[NodeShare]


class CoreRows:
    """The rows of partitions, and the cores that jobs have.

    Args:
        nodes: the nodes.
        counts: the number of rows of each partition, by its name; those that are missing have one.
        in_turn: whether a job gets cores of each socket in turn (CR_Core), and not those with the lowest numbers.
    """

    __slots__ = ("_counts", "_in_turn", "_nodes", "_rows")

    def __init__(self, nodes: Sequence[ClusterNode], counts: Mapping[str, int], *, in_turn: bool = True) -> None:
        self._nodes, self._counts, self._in_turn = nodes, counts, in_turn
        self._rows: dict[str, list[_Row]] = {}

    def copy(self) -> CoreRows:
        """The same once more."""
        made = CoreRows(self._nodes, self._counts, in_turn=self._in_turn)
        made._rows = {name: [row[:] for row in rows] for name, rows in self._rows.items()}
        return made

    def is_shared(self, partition: str) -> bool:
        """Whether jobs of a partition share cores."""
        return self._counts.get(partition, 1) > 1

    def add(self, placement: NodeShare) -> None:
        """A job starts: it is in the first row in which its cores are free."""
        rows = self._rows.setdefault(placement.partition, [])
        if not _fits(placement, rows):
            rows.append([placement])

    def remove(self, placement: NodeShare) -> None:
        """A job has left its cores. The others move up, if all of them find a place."""
        name = placement.partition
        left = [[each for each in row if each is not placement] for row in self._rows.get(name, ())]
        if self._counts.get(name, 1) > 1:
            jobs = sorted((each for row in left for each in row), key=self._place_of)
            made: list[_Row] = [[] for _ in left]
            if all(self._moves(each, made) for each in jobs):
                left = made
        self._rows[name] = left

    @staticmethod
    def _moves(placement: NodeShare, rows: list[_Row]) -> bool:
        found = _fits(placement, rows)
        rows.sort(key=_size, reverse=True)
        return found

    def _place_of(self, placement: NodeShare) -> tuple[int, int, int]:
        """The first core of a job, and its number of CPUs."""
        node = min(placement.cores)
        cores = placement.cores[node]
        return node, (cores & -cores).bit_length(), sum(placement.cpus.values())

    def used(self, partitions: Iterable[str] | None = None) -> list[int]:
        """The cores that the system and jobs have, of each node, as sets: those of all partitions, or of some."""
        names = self._rows if partitions is None else partitions
        return self._cores(each for name in names for row in self._rows.get(name, ()) for each in row)

    def of(self, partition: str) -> list[list[int]]:
        """The cores that the jobs of each row have, of each node: the fullest row first, and an empty one last."""
        rows = self._rows.setdefault(partition, [])
        rows.sort(key=_size, reverse=True)
        found = [self._cores(row) for row in rows]
        return [*found, self._cores(())] if len(rows) < self._counts.get(partition, 1) else found

    def own(self, partition: str, node: int, busy: int) -> int:
        """The CPUs of a node that the jobs of a partition have, of its busy cores."""
        cores = 0
        for row in self._rows.get(partition, ()):
            for each in row:
                cores |= each.cores.get(node, 0)
        return (cores & busy).bit_count() * self._nodes[node].threads

    def has_others(self, node: int, partition: str) -> bool:
        """Whether jobs of other partitions whose jobs can share cores are on a node."""
        return any(
            node in each.cpus
            for name, rows in self._rows.items()
            if name != partition and self.is_shared(name)
            for row in rows
            for each in row
        )

    def _cores(self, placements: Iterable[NodeShare]) -> list[int]:
        found = [node.special for node in self._nodes]
        for placement in placements:
            for node, cores in placement.cores.items():
                found[node] |= cores
        return found

    def free(self, node: int, busy: int) -> int:
        """The number of CPUs of a node whose cores are not busy."""
        spec = self._nodes[node]
        return (spec.cores - busy.bit_count()) * spec.threads

    def pick(self, node: int, busy: int, cpus: int) -> int:
        """The cores that a job gets of those of a node that are not busy.

        >>> rows = CoreRows([ClusterNode("n0", cpus=8, sockets=2)], {})
        >>> bin(rows.pick(0, 0b0001_0001, 3))
        '0b100110'
        """
        spec = self._nodes[node]
        cores, count = spec.cores, -(-cpus // spec.threads)
        size = max(cores // spec.sockets, 1) if self._in_turn else cores
        free = [core for core in range(cores) if not busy >> core & 1]
        sockets = [[core for core in free if core // size == socket] for socket in range(-(-cores // size))]
        turns = sorted((turn, socket, core) for socket, each in enumerate(sockets) for turn, core in enumerate(each))
        return sum(1 << core for _, _, core in turns[:count])


def _size(row: _Row) -> int:
    return sum(cores.bit_count() for each in row for cores in each.cores.values())


def _fits(placement: NodeShare, rows: list[_Row]) -> bool:
    """Put a job into the first row in which its cores are free; returns whether there is one."""
    for row in rows:
        if not any(cores & each.cores.get(node, 0) for each in row for node, cores in placement.cores.items()):
            row.append(placement)
            return True
    return False


class NodeDemand(NamedTuple):
    """The share of nodes that a job takes in a partition.

    Attributes:
        is_whole: whether its nodes are its own.
        partition: its partition.
        cpus: the CPUs of all nodes together, at least.
        least: the CPUs on each node, at least; by_memory: those that its memory brings along (MaxMemPerCPU).
        step: the CPUs of each task.
        rounds: whether each node gives CPUs for whole tasks only: with --ntasks-per-node, and with memory for each CPU.
        memory: MiB on each node; -1: all of a node.
        memory_per_cpu: MiB for each CPU.
        memory_per_gpu: MiB for each GPU, in place of the others; 0: GPUs do not matter.
        memory_beside_gpu: MiB that a node has for each GPU that it gives, even if the job takes other amounts; 0: none.
        gres: generic resources on each node: name, type, number.
        gpus: GPUs of all nodes together.
        gpus_per_node: those of them on each node; 0: any number.
        gpus_per_task: those of each task, which are on its node; 0: tasks do not matter.
        cpus_per_gpu: the CPUs that it asks for with each GPU; 0: any number.
        default_per_gpu: the CPUs that come with each GPU in its partition, where it asks for no number; 0: any number.
        gpu_type: the type of these GPUs; "": any.
        is_single: whether it has one thread of each of its cores, and the others stay idle.
        tasks: the tasks that it names; 0: it names none.
        tasks_per_node: the tasks that each node gets; 0: any number.
        has_one_node: whether all of its tasks are on one node.
        is_exact: whether it has one task on each of its nodes.
        by_core, by_socket: whether it has whole cores, or whole sockets.
        sharing: how it shares its nodes.
    """

    is_whole: bool
    partition: ClusterPartition
    cpus: int
    least: int
    by_memory: int
    step: int
    rounds: bool
    memory: int
    memory_per_cpu: int
    memory_per_gpu: int
    memory_beside_gpu: int
    gres: tuple[tuple[str, str, int], ...]
    gpus: int
    gpus_per_node: int
    gpus_per_task: int
    cpus_per_gpu: int
    default_per_gpu: int
    gpu_type: str
    is_single: bool
    tasks: int
    tasks_per_node: int
    has_one_node: bool
    is_exact: bool
    by_core: bool
    by_socket: bool
    sharing: NodeSharing

    def on_a_node(self) -> NodeDemand:
        """The same for any number of nodes: jobs that have this in common can have the same nodes."""
        tasks = self.tasks if self.has_one_node else 0
        return self._replace(cpus=0, tasks=tasks, is_exact=False)

    @property
    def least_tasks(self) -> int:
        """The tasks that a node has at least."""
        return self.tasks_per_node or (self.tasks if self.has_one_node and self.tasks else 1)

    @property
    def most_tasks(self) -> float:
        """The tasks that a node has at most."""
        if self.tasks_per_node or (self.has_one_node and self.tasks):
            return self.least_tasks
        return 1 if self.tasks == 1 or self.is_exact else math.inf

    @property
    def gpus_on_node(self) -> int:
        """The GPUs that it asks of each node."""
        return sum(count for name, _, count in self.gres if name == GPU)

    def least_cpus(self, nodes: int) -> int:
        """The CPUs that it has at least with so many nodes, as its GPUs bring them along."""
        return self.cpus_beside_gpu * (self.gpus or self.gpus_on_node * nodes)

    @property
    def cpus_beside_gpu(self) -> int:
        """The CPUs that come with each GPU; 0: any number."""
        return self.cpus_per_gpu or self.default_per_gpu


def demand_of(job: SlurmJob, partition: ClusterPartition, cluster: ConfiguredCluster) -> NodeDemand:
    """The share of nodes that a job takes in a partition."""
    select, step = cluster.select, job.cpus_per_task
    each = job.tasks_per_node * step
    memory, memory_per_cpu, memory_per_gpu = job.memory, job.memory_per_cpu, 0
    has_gpus = bool(job.gpus) or any(name == GPU for name, _, _ in job.gres)
    cpus_per_gpu = max(job.cpus_per_gpu, 0)
    default_per_gpu = partition.cpus_per_gpu if step == 1 and has_gpus and not job.cpus_per_gpu else 0
    beside_gpu = cpus_per_gpu or default_per_gpu
    beside = job.memory_per_gpu or (partition.memory_per_gpu if has_gpus else 0)
    if not select.counts_memory:
        memory = memory_per_cpu = beside = 0
    elif not memory and not memory_per_cpu:
        memory_per_gpu = beside
        memory, memory_per_cpu = partition.memory_per_node, partition.memory_per_cpu
        if memory_per_gpu:
            memory = memory_per_cpu = 0
        elif not memory and not memory_per_cpu:
            memory = -1
    cpus = job.cpus
    if beside_gpu * job.gpus_per_task > step:  # a task has the CPUs of all of its GPUs
        step = beside_gpu * job.gpus_per_task
        each, cpus = job.tasks_per_node * step, job.tasks * step
    tasks, gres, kind = job.tasks if job.has_tasks else 0, job.gres, (GPU, job.gpu_type)
    gpus_per_node = next((count for *each, count in gres if job.gpus and (*each,) == kind), 0)
    if gpus_per_node:  # options for the same GPUs
        gres = tuple(each for each in gres if each[:2] != kind)
    return NodeDemand(
        is_whole=job.is_exclusive or partition.is_exclusive,
        partition=partition,
        cpus=cpus,
        least=max(each or step, job.least_cpus),
        by_memory=job.least_cpus,
        step=step,
        rounds=bool(job.tasks_per_node or job.gpus_per_task or memory_per_cpu),
        memory=memory,
        memory_per_cpu=memory_per_cpu,
        memory_per_gpu=memory_per_gpu,
        memory_beside_gpu=beside,
        gres=gres,
        gpus=job.gpus,
        gpus_per_node=gpus_per_node,
        gpus_per_task=job.gpus_per_task,
        cpus_per_gpu=cpus_per_gpu,
        default_per_gpu=default_per_gpu,
        gpu_type=job.gpu_type,
        is_single=job.is_single,
        tasks=tasks,
        tasks_per_node=job.tasks_per_node,
        has_one_node=job.max_nodes == 1,
        is_exact=tasks == job.min_nodes == job.max_nodes,
        by_core=select.by_core,
        by_socket=select.by_socket,
        sharing=partition.sharing_of(job.oversubscribes),
    )


def tasks_dealt(
    chosen: Mapping[int, int], tasks: int, step: int, *, threads: int = 1, most: Mapping[int, float] | None = None
) -> dict[int, int]:
    """The CPUs that tasks take of those of nodes: one task for each node, then in turn where CPUs are left.

    The last task of a node may get fewer CPUs than the others, as in Slurm 22.05.

    Args:
        chosen: the CPUs that each node has for the job.
        tasks: the tasks.
        step: the CPUs of each task.
        threads: the CPUs of a core, which tasks fill before the next node has its turn.
        most: the tasks that each node can have at most; None: any number.

    >>> tasks_dealt({0: 3, 1: 3}, 3, 2), tasks_dealt({0: 4, 1: 2}, 3, 2)
    ({0: 3, 1: 2}, {0: 4, 1: 2})
    """
    taken = {node: min(step, cpus) if place < tasks else 0 for place, (node, cpus) in enumerate(chosen.items())}
    dealt = dict.fromkeys(chosen, 1)
    left, turn = tasks - len(chosen), max(threads // step, 1)
    for node, cpus in chosen.items():  # cores that the job has already
        for _ in range(taken[node] % threads // step):
            if left > 0 and cpus - taken[node] >= step and (most is None or dealt[node] < most[node]):
                taken[node] += step
                dealt[node] += 1
                left -= 1
    while left > 0:
        before = left
        for node, cpus in chosen.items():
            for _ in range(turn):
                if left > 0 and cpus - taken[node] >= step and (most is None or dealt[node] < most[node]):
                    taken[node] += step
                    dealt[node] += 1
                    left -= 1
        if left == before:
            break
    while left > 0 and any(taken[node] < cpus for node, cpus in chosen.items()):  # whatever is left, and the limits
        for node, cpus in chosen.items():
            if left > 0:
                taken[node] = min(taken[node] + step, cpus)
                left -= 1
    return taken


_RECENT: Final = 32
"""The changes that are remembered."""


class FreeResources:
    """The resources that are free on the nodes.

    Args:
        nodes: the nodes.
        rows: the rows of partitions, if jobs share cores.
        capped: the names of partitions whose jobs may have some CPUs of each node only.
    """

    __slots__ = (
        "_alone",
        "_busy",
        "_held",
        "_own",
        "_recent",
        "changes",
        "cpus",
        "gres",
        "jobs",
        "memory",
        "nodes",
        "rows",
    )

    def __init__(
        self, nodes: tuple[ClusterNode, ...], rows: CoreRows | None = None, capped: Iterable[str] = ()
    ) -> None:
        self.nodes, self.rows = nodes, rows
        self._busy = [node.special for node in nodes] if rows is not None else []
        self._held = {name: [0] * len(nodes) for name in capped}  # the CPUs that their jobs have of each node
        self.cpus = [node.cpus for node in nodes]
        self.memory = [node.memory for node in nodes]
        self.gres = [[count for _, _, count in node.gres] for node in nodes]
        self.jobs = [0] * len(nodes)
        self._own = [[0, 0] for _ in nodes]  # the jobs that have a node for themselves, or cores of it
        self._alone = 0  # how many have a node for themselves, all nodes together
        self._recent: deque[int] = deque(maxlen=_RECENT)  # the nodes that changed last
        self.changes = 0
        """How often jobs have taken or given back something."""

    def copy(self) -> FreeResources:
        """The same once more."""
        made = FreeResources.__new__(FreeResources)
        made.nodes, made.cpus, made.memory, made.jobs = self.nodes, self.cpus[:], self.memory[:], self.jobs[:]
        made.gres = [each[:] for each in self.gres] if any(self.gres) else self.gres
        made._own, made._alone = [each[:] for each in self._own], self._alone
        made._recent, made.changes = deque(maxlen=_RECENT), 0
        made.rows, made._busy = None if self.rows is None else self.rows.copy(), self._busy
        made._held = {name: each[:] for name, each in self._held.items()}
        return made

    def under(self, busy: list[int]) -> FreeResources:
        """The same, as if the jobs of a row were the only ones that have cores."""
        assert self.rows is not None
        made = FreeResources.__new__(FreeResources)
        made.nodes, made.memory, made.jobs, made.gres, made._own = (
            self.nodes,
            self.memory,
            self.jobs,
            self.gres,
            self._own,
        )
        made.rows, made._busy, made._held = self.rows, busy, self._held
        made._alone, made._recent, made.changes = self._alone, self._recent, self.changes
        made.cpus = [self.rows.free(node, cores) for node, cores in enumerate(busy)]
        return made

    def take(self, placement: NodeShare, sign: int = 1) -> None:
        """A job takes its share; with the sign -1, it gives it back."""
        held = self._held.get(placement.partition)
        self.changes += 1
        self._recent.append(placement.nodes)
        if placement.sharing is not NodeSharing.CORES and placement.sharing is not NodeSharing.NODES:
            self._alone += sign * len(placement.cpus)
        free, jobs, own, sharing = self.cpus, self.jobs, self._own, placement.sharing
        for node, cpus in placement.cpus.items():
            if held is not None:
                held[node] += sign * cpus
            free[node] -= sign * cpus
            jobs[node] += sign
            if sharing is not NodeSharing.CORES:
                own[node][sharing is NodeSharing.NODES] += sign
        for node in placement.cpus if placement.memory or placement.gres else ():
            self.memory[node] -= sign * placement.memory.get(node, 0)
            for place, count in enumerate(placement.gres.get(node, ())):
                self.gres[node][place] -= sign * count
        rows = self.rows
        if rows is not None:
            rows.add(placement) if sign > 0 else rows.remove(placement)
            self._busy = rows.used()
            self.cpus = [rows.free(node, cores) for node, cores in enumerate(self._busy)]

    def open_to(self, sharing: NodeSharing, partition: str, nodes: int) -> int:
        """The nodes that a job can have beside the jobs on them, by the way in which these share them.

        Args:
            sharing: how the job shares nodes.
            partition: the partition that it is to run in.
            nodes: the nodes.
        """
        rows, found = self.rows, nodes
        if rows is None and sharing is NodeSharing.NODES and not self._alone:
            return nodes
        for node in members(nodes):
            whole, own = self._own[node]
            if not self.jobs[node]:
                continue
            is_open = not whole and sharing is not NodeSharing.NOTHING
            if sharing is NodeSharing.CORES:
                is_open = is_open and not own
            elif is_open and rows is not None:
                is_open = not rows.has_others(node, partition)
            if not is_open:
                found &= ~(1 << node)
        return found

    def counts(self, demand: NodeDemand) -> bool:
        """Whether the `offer` of nodes is all that decides which of them a job can have."""
        return self.rows is None and not self._held and not (demand.gres or demand.gpus)

    def changed_since(self, changes: int) -> int:
        """The nodes that have changed since there were so many `changes`; all of them if that is long ago."""
        count = self.changes - changes
        if not changes > 0 or count > len(self._recent):
            return (1 << len(self.nodes)) - 1
        return reduce(or_, islice(self._recent, len(self._recent) - count, None), 0)

    def offering(self, demand: NodeDemand, nodes: int) -> int:
        """The nodes, of some, that can be one of a job's."""
        open_to = self.open_to(demand.sharing, demand.partition.name, nodes)
        return bits_of(node for node in members(open_to) if self.offer(node, demand))

    def offers(self, nodes: int, demand: NodeDemand) -> dict[int, int]:
        """The CPUs that nodes give to a job, of those that can be one of its nodes: as `offer` has it."""
        is_odd = demand.memory or demand.memory_per_cpu or demand.is_single or demand.rounds
        if is_odd or self._held or self.rows is not None:
            return {node: cpus for node in members(nodes) if (cpus := self.offer(node, demand))}
        least = max(demand.least, demand.least_tasks * demand.step if demand.has_one_node else 0)
        found = {node: cpus for node in members(nodes) if (cpus := self.cpus[node]) and cpus >= least}
        return {node: cpus for node, cpus in found.items() if not self.jobs[node]} if demand.is_whole else found

    def offer(self, number: int, demand: NodeDemand) -> int:
        """The CPUs that a node gives to a job; 0 if it cannot be one of its nodes.

        They depend on nothing that `NodeDemand.on_a_node` leaves out.
        """
        node, cpus, jobs = self.nodes[number], self.cpus[number], self.jobs[number]
        if demand.is_whole and (jobs if self.rows is None else self._busy[number] & ~node.special):
            return 0
        if demand.is_single:
            cpus //= node.threads
        if demand.memory_per_cpu:
            most = self.memory[number] // demand.memory_per_cpu
            if demand.is_whole and cpus > most:
                return 0
            size = 1  # what is given as a whole is left out as a whole
            if demand.by_core and not demand.is_single:
                size = node.cores * node.threads // node.sockets if demand.by_socket else node.threads
            cpus -= max(-(-(cpus - most) // size) * size, 0)
        elif demand.memory and (node.memory if demand.memory < 0 else demand.memory) > self.memory[number]:
            return 0
        if cpus < demand.least or (demand.has_one_node and cpus < demand.least_tasks * demand.step):
            return 0
        if demand.partition.name in self._held:
            cpus = self._capped(number, demand, cpus)
        return cpus - cpus % demand.step if demand.rounds else cpus

    def _capped(self, number: int, demand: NodeDemand, cpus: int) -> int:
        """The CPUs that a node gives to a job of a partition whose jobs may have only some of them."""
        name = demand.partition.name
        held = self._held[name][number] if self.rows is None else self.rows.own(name, number, self._busy[number])
        left = int(demand.partition.max_cpus) - held
        if cpus <= left:
            return cpus
        return 0 if demand.is_whole or left <= 0 else max(left, demand.by_memory)

    def gres_offer(self, number: int, demand: NodeDemand, cpus: int) -> GresOffer | None:
        """The generic resources that a node gives to a job; None if they are too few.

        Args:
            number: the node.
            demand: the share of the job.
            cpus: the CPUs that the node gives to it; 0: as if all of them were free.
        """
        if demand.gres and self.gres_for(number, demand.gres) is None:
            return None
        cpus = self.cpus[number] if cpus else self.nodes[number].cpus
        on_node, gpus, near, most = demand.gpus_on_node, 0, 0, math.inf
        if demand.cpus_per_gpu:
            most = cpus // demand.cpus_per_gpu
            if not most or max(on_node, demand.gpus_per_task) > most:
                return None
        if cpus < demand.default_per_gpu * max(
            on_node, demand.gpus_per_task, demand.gpus if demand.has_one_node else 1
        ):
            return None
        if demand.memory_beside_gpu:
            most = min(most, self.memory[number] // demand.memory_beside_gpu)
        if on_node > most:
            return None
        for name, type, count in demand.gres:
            if name == GPU:
                free = int(min(self.gpus(number, type), most))
                gpus, near = gpus + free, near + min(free, count)
        if demand.gpus:
            free = int(min(self.gpus(number, demand.gpu_type), most))
            if free < max(demand.gpus_per_task * max(demand.tasks_per_node, 1), demand.gpus_per_node, 1):
                return None
            free = min(free, demand.gpus_per_node or free)
            gpus, near = gpus + free, near + int(min(free, demand.gpus, most))
        return GresOffer(gpus, near)

    def idle_share(self, number: int) -> float:
        """The share of the CPUs of a node that are free."""
        return self.cpus[number] / self.nodes[number].cpus

    def gpus(self, number: int, type: str = "") -> int:
        """The free GPUs of a node, of a type or of all."""
        gres = zip(self.nodes[number].gres, self.gres[number], strict=True)
        return sum(free for (name, each, _), free in gres if name == "gpu" and type in ("", each))

    def gres_for(self, number: int, wanted: tuple[tuple[str, str, int], ...]) -> tuple[int, ...] | None:
        """The generic resources of a node that a job gets; None if there are too few."""
        free, kinds = self.gres[number][:], self.nodes[number].gres
        taken = [0] * len(kinds)
        for name, type, count in sorted(wanted, key=lambda each: not each[1]):
            for place, (kind, kind_type, _) in enumerate(kinds):
                if kind == name and (not type or type == kind_type) and count > 0:
                    part = min(count, free[place])
                    free[place] -= part
                    taken[place] += part
                    count -= part
            if count > 0:
                return None
        return tuple(taken)

    def placement(
        self, chosen: Mapping[int, int], offers: Mapping[int, GresOffer], demand: NodeDemand, partition: str
    ) -> NodeShare | None:
        """The share of a job; None if there are too few GPUs.

        Args:
            chosen: the CPUs that it has of each of its nodes at most.
            offers: the generic resources that these nodes give, if it asks for some.
            demand: what it asks for.
            partition: the name of its partition.
        """
        nodes, memory = 0, {}
        cpus: dict[int, int] = {}
        gres: dict[int, tuple[int, ...]] = {}
        gpus = self._gpus_dealt(chosen, offers, demand)
        if gpus is None:
            return None
        for node, count in self._cpus_dealt(chosen, offers, demand).items():
            nodes |= 1 << node
            spec = self.nodes[node]
            cpus[node] = spec.cpus if demand.is_whole else self._whole(node, count, demand)
            wanted = demand.gres
            if gpus.get(node):
                wanted = (*wanted, (GPU, demand.gpu_type, gpus[node]))
            if demand.is_whole and self.gres[node]:
                gres[node] = tuple(self.gres[node])
            elif wanted:
                gres[node] = self.gres_for(node, wanted) or ()
            if demand.memory_per_gpu:
                memory[node] = demand.memory_per_gpu * (demand.gpus_on_node + gpus.get(node, 0))
            elif demand.memory_per_cpu:
                memory[node] = demand.memory_per_cpu * (count if demand.is_single else cpus[node])
            elif demand.memory:
                memory[node] = spec.memory if demand.memory < 0 else demand.memory
        made = NodeShare(nodes, cpus, gres, memory)
        made.partition, made.sharing = partition, demand.sharing
        if self.rows is not None:
            made.cores = {node: self.rows.pick(node, self._busy[node], count) for node, count in cpus.items()}
        return made

    def _whole(self, node: int, cpus: int, demand: NodeDemand) -> int:
        """The CPUs of the whole cores or sockets of a job that needs so many CPUs of a node.

        Tasks of one CPU have the sockets in turn, others fill one after the other.
        """
        spec = self.nodes[node]
        cores = cpus if demand.is_single else -(-cpus // spec.threads)
        if not demand.by_socket:
            return cores * spec.threads
        size = spec.cores * spec.threads // spec.sockets
        sockets = -(-cores * spec.threads // size) if demand.step > 1 else cores
        return min(sockets, self.cpus[node] // size) * size

    def _cpus_dealt(
        self, chosen: Mapping[int, int], offers: Mapping[int, GresOffer], demand: NodeDemand
    ) -> Mapping[int, int]:
        """The CPUs of each node that the tasks of a job take."""
        if demand.is_whole:
            return chosen
        is_less = 0 < demand.tasks < demand.tasks_per_node  # it names fewer tasks than its node has CPUs for
        each, least = (demand.tasks, demand.step) if is_less else (demand.tasks_per_node, demand.least)
        cpus = max(demand.cpus, len(chosen) * least, demand.least_cpus(len(chosen)))
        tasks = each * len(chosen) if each and demand.step > 1 else cpus // demand.step
        most: dict[int, float] | None = None
        if demand.tasks_per_node:
            most = dict.fromkeys(chosen, demand.tasks_per_node)
        if demand.gpus_per_task:
            most = {node: offers[node].gpus // demand.gpus_per_task for node in chosen}
        threads = 1 if demand.is_single else max(self.nodes[node].threads for node in chosen)
        return tasks_dealt(chosen, tasks, demand.step, threads=threads, most=most)

    def _gpus_dealt(
        self, chosen: Mapping[int, int], offers: Mapping[int, GresOffer], demand: NodeDemand
    ) -> dict[int, int] | None:
        """The GPUs of a job on each of its nodes, of those that it asks of all nodes together."""
        if not demand.gpus:
            return {}
        found, left = {}, demand.gpus
        free = {node: offers[node].gpus for node in chosen}
        if demand.gpus_per_task:
            dealt = self._cpus_dealt(chosen, offers, demand)
            return {node: min(dealt[node] // demand.step * demand.gpus_per_task, free[node]) for node in free}
        for place, node in enumerate(sorted(free)):  # one is left for each node that comes
            found[node] = max(min(free[node], left - (len(free) - place - 1)), 0)
            left -= found[node]
        for node in sorted(free):
            more = min(free[node] - found[node], left)
            found[node] += more
            left -= more
        return None if left > 0 else found


class LaterResources:
    """The resources that are free as running jobs end, one after the other, and the nodes that jobs can have then.

    Args:
        room: what is free before the first end.
        shares: the shares of running jobs, in the order of their ends.
        first: the nodes that jobs with a demand can have before the first end.
    """

    def __init__(self, room: FreeResources, shares: Sequence[NodeShare], first: Callable[[NodeDemand], int]) -> None:
        self._room, self._shares, self._first, self._ended = room.copy(), shares, first, 0
        self._offering: dict[NodeDemand, list[int]] = {}

    def after(self, ended: int) -> FreeResources:
        """What is free when so many of the jobs have ended. It is the same object each time."""
        for share in self._shares[self._ended : ended]:
            self._room.take(share, -1)
        for share in reversed(self._shares[ended : self._ended]):
            self._room.take(share)
        self._ended = ended
        return self._room

    def offering(self, demand: NodeDemand) -> list[int]:
        """The nodes that a job can have before the first end, and after each one, if their `offer` decides."""
        key = demand.on_a_node()
        found = self._offering.get(key)
        if found is None:
            found = self._offering[key] = [self._first(key)]
            for ended, share in enumerate(self._shares, 1):
                found.append((found[-1] & ~share.nodes) | self.after(ended).offering(key, share.nodes))
        return found


class GresOffer(NamedTuple):
    """The generic resources that a node gives to a job.

    Attributes:
        gpus: the GPUs that it could have.
        near: those that it would have; of nodes of equal weight, those with the most of them come first.
    """

    gpus: int
    near: int
