"""The nodes of jobs that share them (select/cons_res and cons_tres): by CPUs, memory and generic resources.

`FreeResources` has what each node can give, limited by cores, memory, tasks and generic resources. Nodes of less weight
come first. A job that fits on one node gets the one where it leaves the least free; others get runs of consecutive
nodes.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from batprotocol.policies.slurm.cluster import ClusterNode, ClusterPartition, ConfiguredCluster, bits_of, members
from batprotocol.policies.slurm.queue import NodeShare, SlurmJob
from batprotocol.policies.slurm.selection import PossibleStart, tree_of, wanted_nodes

__all__ = [
    "Consumable",
    "CoreRows",
    "FreeResources",
    "NodeDemand",
    "demand_of",
    "tasks_dealt",
]


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

    def used(self) -> list[int]:
        """The cores that jobs have, of each node, as sets."""
        return self._cores(each for rows in self._rows.values() for row in rows for each in row)

    def of(self, partition: str) -> list[list[int]]:
        """The cores that the jobs of each row have, of each node: the fullest row first, and an empty one last."""
        rows = self._rows.setdefault(partition, [])
        rows.sort(key=_size, reverse=True)
        found = [self._cores(row) for row in rows]
        return [*found, [0] * len(self._nodes)] if len(rows) < self._counts.get(partition, 1) else found

    def _cores(self, placements: Iterable[NodeShare]) -> list[int]:
        found = [0] * len(self._nodes)
        for placement in placements:
            for node, cores in placement.cores.items():
                found[node] |= cores
        return found

    def free(self, node: int, busy: int) -> int:
        """The number of CPUs of a node whose cores are not busy."""
        spec = self._nodes[node]
        return spec.cpus - busy.bit_count() * spec.threads

    def pick(self, node: int, busy: int, cpus: int) -> int:
        """The cores that a job gets of those of a node that are not busy.

        >>> rows = CoreRows([ClusterNode("n0", cpus=8, sockets=2)], {})
        >>> bin(rows.pick(0, 0b0001_0001, 3))
        '0b100110'
        """
        spec = self._nodes[node]
        cores, count = spec.cpus // spec.threads, -(-cpus // spec.threads)
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
        cpus: the CPUs of all nodes together, at least.
        least: the CPUs on each node, at least.
        step: the CPUs of each task.
        rounds: whether each node gives CPUs for whole tasks only: with --ntasks-per-node, and with memory for each CPU.
        memory: MiB on each node; -1: all of a node.
        memory_per_cpu: MiB for each CPU.
        gres: generic resources on each node: name, type, number.
        gpus: GPUs of all nodes together.
        gpus_per_task: those of each task, which are on its node; 0: tasks do not matter.
        gpu_type: the type of these GPUs; "": any.
        is_single: whether it has one thread of each of its cores, and the others stay idle.
    """

    is_whole: bool
    cpus: int
    least: int
    step: int
    rounds: bool
    memory: int
    memory_per_cpu: int
    gres: tuple[tuple[str, str, int], ...]
    gpus: int
    gpus_per_task: int
    gpu_type: str
    is_single: bool = False


def demand_of(job: SlurmJob, partition: ClusterPartition, cluster: ConfiguredCluster) -> NodeDemand:
    """The share of nodes that a job takes in a partition."""
    select, step = cluster.select, job.cpus_per_task
    each = job.tasks_per_node * step
    memory, memory_per_cpu = job.memory, job.memory_per_cpu
    if not select.counts_memory:
        memory = memory_per_cpu = 0
    elif not memory and not memory_per_cpu:
        memory, memory_per_cpu = partition.memory_per_node, partition.memory_per_cpu
        if not memory and not memory_per_cpu:
            memory = -1
    return NodeDemand(
        is_whole=job.is_exclusive or partition.is_exclusive,
        cpus=max(job.tasks * step, job.min_nodes),
        least=each or step,
        step=step,
        rounds=bool(job.tasks_per_node or job.gpus_per_task or memory_per_cpu),
        memory=memory,
        memory_per_cpu=memory_per_cpu,
        gres=job.gres,
        gpus=job.gpus,
        gpus_per_task=job.gpus_per_task,
        gpu_type=job.gpu_type,
        is_single=job.is_single,
    )


def tasks_dealt(chosen: Mapping[int, int], tasks: int, step: int) -> dict[int, int]:
    """The CPUs that tasks take of those of nodes: one task for each node, then in turn where CPUs are left.

    The last task of a node may get fewer CPUs than the others, as in Slurm 22.05.

    Args:
        chosen: the CPUs that each node has for the job.
        tasks: the tasks.
        step: the CPUs of each task.

    >>> tasks_dealt({0: 3, 1: 3}, 3, 2), tasks_dealt({0: 4, 1: 2}, 3, 2)
    ({0: 3, 1: 2}, {0: 4, 1: 2})
    """
    taken = dict.fromkeys(chosen, 0)
    while tasks > 0 and any(taken[node] < cpus for node, cpus in chosen.items()):
        for node, cpus in chosen.items():
            if tasks > 0 and taken[node] < cpus:
                taken[node] = min(taken[node] + step, cpus)
                tasks -= 1
    return taken


class FreeResources:
    """The resources that are free on the nodes.

    Args:
        nodes: the nodes.
        rows: the rows of partitions, if jobs share cores.
    """

    __slots__ = ("_busy", "cpus", "gres", "jobs", "memory", "nodes", "rows")

    def __init__(self, nodes: tuple[ClusterNode, ...], rows: CoreRows | None = None) -> None:
        self.nodes, self.rows = nodes, rows
        self._busy = [0] * len(nodes) if rows is not None else []
        self.cpus = [node.cpus for node in nodes]
        self.memory = [node.memory for node in nodes]
        self.gres = [[count for _, _, count in node.gres] for node in nodes]
        self.jobs = [0] * len(nodes)

    def copy(self) -> FreeResources:
        """The same once more."""
        made = FreeResources.__new__(FreeResources)
        made.nodes, made.cpus, made.memory, made.jobs = self.nodes, self.cpus[:], self.memory[:], self.jobs[:]
        made.gres = [each[:] for each in self.gres]
        made.rows, made._busy = None if self.rows is None else self.rows.copy(), self._busy
        return made

    def under(self, busy: list[int]) -> FreeResources:
        """The same, as if the jobs of a row were the only ones that have cores."""
        assert self.rows is not None
        made = FreeResources.__new__(FreeResources)
        made.nodes, made.memory, made.jobs, made.gres = self.nodes, self.memory, self.jobs, self.gres
        made.rows, made._busy = self.rows, busy
        made.cpus = [self.rows.free(node, cores) for node, cores in enumerate(busy)]
        return made

    def take(self, placement: NodeShare, sign: int = 1) -> None:
        """A job takes its share; with the sign -1, it gives it back."""
        for node, cpus in placement.cpus.items():
            self.cpus[node] -= sign * cpus
            self.jobs[node] += sign
            self.memory[node] -= sign * placement.memory.get(node, 0)
            for place, count in enumerate(placement.gres.get(node, ())):
                self.gres[node][place] -= sign * count
        rows = self.rows
        if rows is not None:
            rows.add(placement) if sign > 0 else rows.remove(placement)
            self._busy = rows.used()
            self.cpus = [rows.free(node, cores) for node, cores in enumerate(self._busy)]

    def offer(self, number: int, demand: NodeDemand) -> int:
        """The CPUs that a node gives to a job; 0 if it cannot be one of its nodes."""
        node, cpus, jobs = self.nodes[number], self.cpus[number], self.jobs[number]
        if demand.is_whole and (jobs if self.rows is None else self._busy[number]):
            return 0
        if demand.is_single:
            cpus //= node.threads
        if demand.memory_per_cpu:
            cpus = min(cpus, self.memory[number] // demand.memory_per_cpu)
        elif demand.memory and (node.memory if demand.memory < 0 else demand.memory) > self.memory[number]:
            return 0
        if cpus < demand.least or (demand.gres and self.gres_for(number, demand.gres) is None):
            return 0
        if demand.gres and not demand.is_whole:  # cores that the job does not need count as if they were busy
            cpus = min(cpus, demand.cpus)
        if demand.gpus_per_task:
            cpus = min(cpus, self.gpus(number, demand.gpu_type) // demand.gpus_per_task * demand.step)
        elif demand.gpus and not self.gpus(number, demand.gpu_type):
            return 0
        return cpus - cpus % demand.step if demand.rounds else cpus

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

    def placement(self, chosen: dict[int, int], demand: NodeDemand, partition: str) -> NodeShare | None:
        """The share of a job on nodes of which it has so many CPUs; None if there are too few GPUs."""
        nodes, memory = 0, {}
        cpus: dict[int, int] = {}
        gres: dict[int, tuple[int, ...]] = {}
        gpus = demand.gpus
        for node, count in chosen.items():
            nodes |= 1 << node
            spec = self.nodes[node]
            if demand.is_single:
                cpus[node] = spec.cpus if demand.is_whole else count * spec.threads
            else:
                cpus[node] = spec.cpus if demand.is_whole else _whole_cores(count, spec.threads)
            if demand.memory_per_cpu:
                memory[node] = demand.memory_per_cpu * (count if demand.is_single else cpus[node])
            elif demand.memory:
                memory[node] = spec.memory if demand.memory < 0 else demand.memory
            wanted = demand.gres
            if gpus:
                part = min(gpus, self.gpus(node, demand.gpu_type))
                gpus -= part
                wanted = (*wanted, ("gpu", demand.gpu_type, part))
            if wanted:
                gres[node] = self.gres_for(node, wanted) or ()
        if gpus:
            return None
        made = NodeShare(nodes, cpus, gres, memory)
        if self.rows is not None:
            made.partition = partition
            made.cores = {node: self.rows.pick(node, self._busy[node], count) for node, count in cpus.items()}
        return made


def _whole_cores(cpus: int, threads: int) -> int:
    return -(-cpus // threads) * threads


# The choice of nodes


_WINDOW = 30
"""Jobs that end within so many seconds are taken away together when a start is looked for, then in twice as many."""


class Consumable:
    """Shares of nodes.

    Args:
        cluster: the cluster.
        epoch: the seconds of the day at which the simulation began: ends are grouped on the clock.
    """

    def __init__(self, cluster: ConfiguredCluster, epoch: int = 0) -> None:
        self._cluster, self._epoch, self._tree = cluster, epoch, tree_of(cluster)
        counts = {each.name: each.rows for each in cluster.partitions if each.rows > 1}
        rows = CoreRows(cluster.nodes, counts, in_turn=cluster.select.by_core) if counts else None
        self._room = FreeResources(cluster.nodes, rows)
        self._used = 0
        self._ends: list[tuple[float, int, int]] = []
        self._jobs: dict[int, SlurmJob] = {}
        self._numbers = 0
        self._keys: dict[str, int] = {}

    @property
    def used(self) -> int:
        """The nodes that have jobs."""
        return self._used

    @property
    def open(self) -> int:
        """The nodes that have something left for jobs."""
        bits, rows = 0, self._room.rows
        for node, cpus in enumerate(self._room.cpus):
            if cpus > 0 or rows is not None:  # jobs may share cores
                bits |= 1 << node
        return bits

    def is_too_spread(self, job: SlurmJob, nodes: int) -> bool:
        """Whether nodes are at more switches than a job asks for."""
        return self._tree is not None and self._tree.is_too_spread(job, self._tree.used(nodes))

    def take(self, job: SlurmJob) -> None:
        """A job starts on its placement."""
        assert job.placement is not None
        self._room.take(job.placement)
        self._used |= job.placement.nodes
        self._numbers += 1
        key = self._keys[job.id] = self._numbers
        self._jobs[key] = job
        insort(self._ends, (job.end, job.number, key))

    def give_back(self, job: SlurmJob) -> None:
        """A job has left its nodes."""
        assert job.placement is not None
        self._room.take(job.placement, -1)
        self._used &= ~bits_of(node for node in job.placement.cpus if not self._room.jobs[node])
        key = self._keys.pop(job.id)
        del self._jobs[key], self._ends[bisect_left(self._ends, (job.end, job.number, key))]

    def now(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, without: Iterable[SlurmJob] = ()
    ) -> NodeShare | None:
        """The share that a job gets of these nodes now; None if they are not enough."""
        return self._test(self._without(without), job, partition, nodes)

    def frees(self) -> None:
        """Nothing, as jobs share nodes."""

    def first_end(self) -> float:
        """When the limit of a running job ends first; infinity: none runs."""
        return self._ends[0][0] if self._ends else math.inf

    def _without(self, jobs: Iterable[SlurmJob]) -> FreeResources:
        gone = [job.placement for job in jobs if job.placement is not None]
        room = self._room.copy() if gone else self._room
        for placement in gone:
            room.take(placement, -1)
        return room

    def earliest(
        self,
        job: SlurmJob,
        partition: ClusterPartition,
        nodes: int,
        now: int,
        without: Iterable[SlurmJob] = (),
        late: int = 0,
    ) -> PossibleStart | None:
        """When and where a job can start, if running jobs end at their limits; None: never."""
        gone = list(without)
        found = self._test(self._without(gone), job, partition, nodes)
        if found is not None:
            return PossibleStart(now, found)
        room, window = self._without(gone).copy(), _WINDOW
        left = [(end, self._jobs[key]) for end, _, key in self._ends]
        held = [(end, each, each.placement) for end, each in left if each.placement is not None and each not in gone]
        barrier, place = -math.inf, 0
        while place < len(held):
            last: SlurmJob | None = None
            while place < len(held):
                end, holder, placement = held[place]
                place += 1
                if not placement.nodes & nodes:
                    continue
                if barrier == -math.inf:
                    barrier = (int(end + self._epoch) // _WINDOW + 1) * _WINDOW - self._epoch
                room.take(placement, -1)
                last = holder
                # Slurm looks at the next job only here, so one with other nodes leads to the one after it
                if place < len(held) and held[place][0] > barrier + window:
                    break
            if last is None:
                break
            window *= 2
            while place < len(held) and held[place][0] > barrier + window:
                window *= 2
            found = self._test(room, job, partition, nodes)
            if found is not None:
                return PossibleStart(self._free_at(last, now), found)
        return None

    def _free_at(self, job: SlurmJob, now: int) -> int:
        """The second in which the share of a running job is free; later than its limit once that is over."""
        if job.end > now:
            return math.floor(job.end)
        partition = job.partition
        overtime = self._cluster.overtime if partition is None else partition.overtime
        return max(math.floor(job.end + self._cluster.kill_wait + 60 * overtime), now + 1)

    def _test(self, room: FreeResources, job: SlurmJob, partition: ClusterPartition, nodes: int) -> NodeShare | None:
        """The share that a job gets: idle cores, or else those of a row of its partition."""
        found = self._fit(room, job, partition, nodes)
        if found is None and room.rows is not None and room.rows.is_shared(partition.name):
            tries = (self._fit(room.under(busy), job, partition, nodes) for busy in room.rows.of(partition.name))
            found = next((each for each in tries if each is not None), None)
        return found

    def _fit(self, room: FreeResources, job: SlurmJob, partition: ClusterPartition, nodes: int) -> NodeShare | None:
        """The share that a job gets, if what is free is enough."""
        count = max(job.min_nodes, partition.min_nodes)
        if nodes.bit_count() < count or job.required & ~nodes:
            return None
        demand = demand_of(job, partition, self._cluster)
        offers = {node: cpus for node in members(nodes) if (cpus := room.offer(node, demand))}
        if len(offers) < count or sum(offers.values()) < demand.cpus or job.required & ~bits_of(offers):
            return None
        if demand.gpus and sum(room.gpus(node, demand.gpu_type) for node in offers) < demand.gpus:
            return None
        while True:
            chosen = self._choose(room, job, partition, offers, demand, count)
            if chosen is not None:
                if demand.step > 1 and not demand.is_whole:
                    chosen = tasks_dealt(chosen, job.tasks, demand.step)
                return room.placement(chosen, demand, partition.name)
            least = min(offers.values())  # the nodes that give least may be in the way of a job with few nodes
            offers = {node: cpus for node, cpus in offers.items() if cpus > least or job.required >> node & 1}
            if len(offers) < count or min(offers.values()) == least:
                return None

    def _choose(
        self,
        room: FreeResources,
        job: SlurmJob,
        partition: ClusterPartition,
        offers: Mapping[int, int],
        demand: NodeDemand,
        count: int,
    ) -> dict[int, int] | None:
        """The nodes of a job, with the CPUs of each."""
        select = self._cluster.select
        pick = _Pick(room, offers, demand, (count, *wanted_nodes(job, partition, count)), self._cluster)
        for node in members(job.required):
            pick.add(node)
        if select.least_loaded or partition.is_spread:
            pick.all_of(sorted(offers, key=lambda node: (self._weight(node), -room.idle_share(node), node)))
        elif select.serial_at_end and demand.cpus == 1 and not job.required:
            pick.all_of(sorted(offers, key=lambda node: (self._weight(node), -node)))
        else:
            tree = self._tree
            is_held = tree is not None and tree.holds(job)
            leaves = tree.smallest([bits_of(offers)], count, pick.are_enough) if tree is not None and is_held else None
            pick.runs(job.is_contiguous, leaves)
            if tree is not None and is_held and tree.is_too_spread(job, tree.used(bits_of(pick.chosen))):
                return None
        return pick.chosen if pick.is_enough else None

    def _weight(self, node: int) -> int:
        return self._cluster.nodes[node].weight


class _Pick:
    """The nodes that are chosen one after the other, until they are as many as a job asks for.

    Args:
        room: what is free.
        offers: the CPUs that each node gives to the job.
        demand: its share.
        counts: the fewest nodes that it can have, those that it asks for, and the most that it may have.
        cluster: the cluster.
    """

    def __init__(
        self,
        room: FreeResources,
        offers: Mapping[int, int],
        demand: NodeDemand,
        counts: tuple[int, int, float],
        cluster: ConfiguredCluster,
    ) -> None:
        self._room, self._offers, self._demand, self._cluster = room, offers, demand, cluster
        self.nodes, self.wanted, self.most = counts
        self.cpus, self.gpus = demand.cpus, demand.gpus
        self.chosen: dict[int, int] = {}

    @property
    def is_enough(self) -> bool:
        """Whether the job can have them."""
        return self.cpus <= 0 and self.nodes <= 0 and self.gpus <= 0

    @property
    def is_done(self) -> bool:
        """Whether it asks for no more."""
        return self.is_enough and self.wanted <= 0

    def _gpus(self, node: int) -> int:
        """The GPUs that the job could have of a node."""
        return self._room.gpus(node, self._demand.gpu_type)

    def add(self, node: int) -> None:
        """Choose a node. It leaves some CPUs of the job to each node that is still needed."""
        if node in self.chosen or self.most <= 0:
            return
        demand = self._demand
        others = max(self.nodes - 1, 0) * demand.least
        cpus = max(min(self._offers[node], self.cpus - others), demand.least)
        self.chosen[node] = cpus
        self.cpus -= self._room.cpus[node] if demand.is_whole else cpus
        self.nodes -= 1
        self.wanted -= 1
        self.most -= 1
        if self.gpus:
            self.gpus -= self._gpus(node)

    def all_of(self, nodes: Iterable[int]) -> None:
        """Choose nodes in an order."""
        for node in nodes:
            if self.is_done:
                return
            self.add(node)

    def runs(self, is_contiguous: bool, leaves: list[int] | None = None) -> None:
        """Choose runs of consecutive nodes of the same weight: the least weight first, then the tightest one.

        With leaves of a tree, these come instead of the runs.
        """
        left = self._runs() if leaves is None else [members(leaf) for leaf in leaves]
        while left and not self.is_done and self.most > 0:
            best = min(left, key=self._rank)
            left.remove(best)
            if is_contiguous and not self._is_enough(best):
                return
            single = self._single(best)
            if single is not None:
                self.add(single)
            else:
                self.all_of(best)
            if is_contiguous:
                return

    def _runs(self) -> list[list[int]]:
        found: list[list[int]] = []
        nodes = self._cluster.nodes
        for node in self._offers:
            if node in self.chosen:
                continue
            last = found[-1][-1] if found else None
            if last is not None and last == node - 1 and nodes[last].weight == nodes[node].weight:
                found[-1].append(node)
            else:
                found.append([node])
        return found

    def are_enough(self, nodes: int) -> bool:
        """Whether nodes have what the job needs, with those that are chosen."""
        return self._is_enough([node for node in members(nodes) if node not in self.chosen])

    def _is_enough(self, run: list[int]) -> bool:
        gpus = not self.gpus or sum(map(self._gpus, run)) >= self.gpus
        return len(run) >= self.nodes and sum(self._offers[node] for node in run) >= self.cpus and gpus

    def _rank(self, run: list[int]) -> tuple[int, bool, int]:
        cpus = sum(self._offers[node] for node in run)
        is_enough = self._is_enough(run)
        return self._cluster.nodes[run[0]].weight, not is_enough, cpus if is_enough else -cpus

    def _single(self, run: list[int]) -> int | None:
        """The one node that is enough and leaves the least free; None if one is not enough."""
        if max(self.nodes, self.wanted) > 1:
            return None
        fitting = [
            node for node in run if self._offers[node] >= self.cpus and (not self.gpus or self._gpus(node) >= self.gpus)
        ]
        return min(fitting, key=lambda node: (self._offers[node], node)) if fitting else None
