"""select/cons_res and cons_tres: jobs share nodes by CPUs, memory and generic resources.

Nodes of less weight come first. A job that fits on one node gets the one where it leaves the least free; others get
runs of consecutive nodes. This module must not know the order of jobs.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping

from batprotocol.policies.slurm.bits import members
from batprotocol.policies.slurm.jobs import NodeShare, SlurmJob
from batprotocol.policies.slurm.selecting.base import PossibleStart
from batprotocol.policies.slurm.selecting.offers import FreeResources, NodeDemand, demand_of
from batprotocol.policies.slurm.selecting.rows import CoreRows
from batprotocol.policies.slurm.selecting.tree import tree_of
from batprotocol.policies.slurm.values import ClusterPartition, SlurmCluster

__all__ = ["Consumable"]

_WINDOW = 30
"""Jobs that end within so many seconds are taken away together when a start is looked for, then in twice as many."""


class Consumable:
    """Shares of nodes.

    Args:
        cluster: the cluster.
        epoch: the seconds of the day at which the simulation began: ends are grouped on the clock.
    """

    def __init__(self, cluster: SlurmCluster, epoch: int = 0) -> None:
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
        self._used &= ~_bits(node for node in job.placement.cpus if not self._room.jobs[node])
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
        if len(offers) < count or sum(offers.values()) < demand.cpus or job.required & ~_bits(offers):
            return None
        if demand.gpus and sum(map(room.gpus, offers)) < demand.gpus:
            return None
        while True:
            chosen = self._choose(room, job, partition, offers, demand, count)
            if chosen is not None:
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
        select, most = self._cluster.select, min(job.max_nodes, partition.max_nodes)
        pick = _Pick(room, offers, demand, count, most, self._cluster)
        for node in members(job.required):
            pick.add(node)
        if select.least_loaded or partition.is_spread:
            pick.all_of(sorted(offers, key=lambda node: (self._weight(node), -room.idle_share(node), node)))
        elif select.serial_at_end and demand.cpus == 1 and not job.required:
            pick.all_of(sorted(offers, key=lambda node: (self._weight(node), -node)))
        else:
            tree = self._tree
            is_held = tree is not None and tree.holds(job)
            leaves = tree.smallest([_bits(offers)], count) if tree is not None and is_held else None
            pick.runs(job.is_contiguous, leaves)
            if tree is not None and is_held and tree.is_too_spread(job, tree.used(_bits(pick.chosen))):
                return None
        return pick.chosen if pick.is_done else None

    def _weight(self, node: int) -> int:
        return self._cluster.nodes[node].weight


class _Pick:
    """The nodes that are chosen one after the other, until they are enough."""

    def __init__(
        self,
        room: FreeResources,
        offers: Mapping[int, int],
        demand: NodeDemand,
        count: int,
        most: float,
        cluster: SlurmCluster,
    ) -> None:
        self._room, self._offers, self._demand, self._cluster = room, offers, demand, cluster
        self.cpus, self.nodes, self.most, self.gpus = demand.cpus, count, most, demand.gpus
        self.chosen: dict[int, int] = {}

    @property
    def is_done(self) -> bool:
        """Whether they are enough."""
        return self.cpus <= 0 and self.nodes <= 0 and self.gpus <= 0

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
        self.most -= 1
        if self.gpus:
            self.gpus -= self._room.gpus(node)

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

    def _is_enough(self, run: list[int]) -> bool:
        gpus = not self.gpus or sum(map(self._room.gpus, run)) >= self.gpus
        return len(run) >= self.nodes and sum(self._offers[node] for node in run) >= self.cpus and gpus

    def _rank(self, run: list[int]) -> tuple[int, bool, int]:
        cpus = sum(self._offers[node] for node in run)
        is_enough = self._is_enough(run)
        return self._cluster.nodes[run[0]].weight, not is_enough, cpus if is_enough else -cpus

    def _single(self, run: list[int]) -> int | None:
        """The one node that is enough and leaves the least free; None if one is not enough."""
        if self.nodes > 1:
            return None
        fitting = [
            node
            for node in run
            if self._offers[node] >= self.cpus and (not self.gpus or self._room.gpus(node) >= self.gpus)
        ]
        return min(fitting, key=lambda node: (self._offers[node], node)) if fitting else None


def _bits(nodes: Iterable[int]) -> int:
    bits = 0
    for node in nodes:
        bits |= 1 << node
    return bits
