"""The nodes of jobs that share them (select/cons_res and cons_tres): by CPUs, memory and generic resources.

Nodes of less weight come first. A job that fits on one node gets the one where it leaves the least free; others get
runs of consecutive nodes. Where Slurm's way is odd, so is this one: of the nodes of a failed attempt, the next attempt
has no more CPUs than the failed one would have taken.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate
from operator import or_
from typing import Final

from batprotocol.policies.rules import PreemptMode
from batprotocol.policies.slurm.cluster import (
    ClusterPartition,
    ConfiguredCluster,
    NodeSharing,
    bits_of,
    members,
)
from batprotocol.policies.slurm.queue import NodeShare, SlurmJob
from batprotocol.policies.slurm.resources import (
    CoreRows,
    FreeResources,
    GresOffer,
    JobRecords,
    LaterResources,
    NodeDemand,
    demand_of,
)
from batprotocol.policies.slurm.selection import NodeReleases, PossibleStart, SwitchTree, tree_of, wanted_nodes

__all__ = ["Consumable", "NodeChoice"]


_WINDOW = 30
"""Jobs that end within so many seconds are taken away together when a start is looked for, then in twice as many."""


_KINDS: Final = 200
"""The kinds of shares for which nodes are kept."""


class Consumable:
    """Shares of nodes.

    Args:
        cluster: the cluster.
        epoch: the seconds of the day at which the simulation began: ends are grouped on the clock.
        is_quick: whether it takes short cuts, which change no decision: it keeps the nodes that jobs can have, and
            looks at others no more.
    """

    def __init__(self, cluster: ConfiguredCluster, epoch: int = 0, *, is_quick: bool = True) -> None:
        self._is_quick = is_quick
        self._first: dict[NodeDemand, tuple[int, int]] = {}  # the nodes that jobs can have, as of a change
        self._soon: tuple[int, LaterResources] | None = None  # as of a change
        self._opened = -1, 0
        self.cluster, self._epoch, self.tree = cluster, epoch, tree_of(cluster)
        counts = {each.name: each.rows for each in cluster.partitions if each.rows > 1}
        rows = CoreRows(cluster.nodes, counts, in_turn=cluster.select.in_turn) if counts or cluster.gang else None
        capped = (each.name for each in cluster.partitions if each.max_cpus < math.inf)
        self._room = FreeResources(cluster.nodes, rows, capped)
        self._farness = [0] * len(cluster.nodes)  # a byte of Slurm's weights: it stays until the next job is started
        self._has_gres = any(node.gres for node in cluster.nodes)
        self._most_cpus = max((node.cpus for node in cluster.nodes), default=0)
        self._used = 0
        self._ends: list[tuple[float, float, int, int]] = []
        self._records = JobRecords()
        self._jobs: dict[int, SlurmJob] = {}
        self._numbers = self._of_users = 0
        self._keys: dict[str, int] = {}
        self._stopped: dict[NodeShare, NodeShare] = {}  # what is left of shares whose jobs operators have suspended

    @property
    def changes(self) -> int:
        """How often running jobs have taken resources, or given some back."""
        return self._room.changes

    @property
    def used(self) -> int:
        """The nodes that have jobs."""
        return self._used

    @property
    def open(self) -> int:
        """The nodes that have something left for jobs."""
        room, seen = self._room, self._room.changes
        if self._opened[0] != seen:
            has_rows = room.rows is not None  # jobs may share cores
            self._opened = seen, bits_of(node for node, cpus in enumerate(room.cpus) if cpus > 0 or has_rows)
        return self._opened[1]

    def is_too_spread(self, job: SlurmJob, nodes: int) -> bool:
        """Whether nodes are at more switches than a job asks for."""
        return self.tree is not None and self.tree.is_too_spread(job, self.tree.used(nodes))

    def passing_weights(self) -> tuple[int, ...]:
        """The parts of the nodes' weights that looks at jobs with GPUs leave behind."""
        return tuple(self._farness) if self._has_gres else ()

    def leave_weights(self, weights: tuple[int, ...]) -> None:
        """Leave such parts behind, as a look at a job would."""
        self._farness = list(weights) if weights else self._farness

    def take(self, job: SlurmJob) -> None:
        """A job starts on its placement."""
        assert job.placement is not None
        self._room.take(self._kept(job))
        self._used |= job.placement.nodes
        self._numbers += 1
        self._of_users += _is_of_user(job, job.partition)
        key = self._keys[job.id] = self._numbers
        self._jobs[key] = job
        insort(self._ends, (job.end, self._records.made_at(job), job.number, key))

    def give_back(self, job: SlurmJob) -> None:
        """A job has left its nodes."""
        assert job.placement is not None
        self._room.take(self._kept(job), -1)
        self._used &= ~bits_of(node for node in job.placement.cpus if not self._room.jobs[node])
        self._of_users -= _is_of_user(job, job.partition)
        key = self._keys.pop(job.id)
        del self._jobs[key], self._ends[bisect_left(self._ends, (job.end, self._records.made_at(job), job.number, key))]

    def _kept(self, job: SlurmJob) -> NodeShare:
        """The share that a job keeps from others: without its CPUs if an operator has suspended it."""
        assert job.placement is not None
        return self._stopped.get(job.placement, job.placement)

    def stop(self, job: SlurmJob) -> None:
        """An operator suspends a job: others can have its CPUs, and not its memory and devices."""
        share = job.placement
        assert share is not None
        self._room.take(self._kept(job), -1)
        found = NodeShare(share.nodes, dict.fromkeys(share.cpus, 0), share.gres, share.memory)
        found.sharing = share.sharing
        self._stopped[share] = found
        self._room.take(found)

    def go_on(self, job: SlurmJob) -> None:
        """A job that an operator has suspended has its CPUs again. If others have them, Slurm forgets that it has."""
        assert job.placement is not None
        if all(self._room.cpus[node] >= cpus for node, cpus in job.placement.cpus.items()):
            self._room.take(self._stopped.pop(job.placement), -1)
            self._room.take(job.placement)

    def now(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, without: Iterable[SlurmJob] = ()
    ) -> NodeShare | None:
        """The share that a job gets of these nodes now; None if they are not enough."""
        for node in members(nodes):
            self._farness[node] = 0
        nodes, gone = self._of_user(job, partition, nodes), list(without)
        demand = self._countable(job, partition) if not gone else None
        if demand is not None:
            return self._fit_among(self._room, job, partition, nodes & self._offering(demand), demand)
        return self._test(self._without(gone), job, partition, nodes)

    def _of_user(self, job: SlurmJob, partition: ClusterPartition, nodes: int) -> int:
        """The nodes without those that have jobs of others, where they or this job share nodes with no other user."""
        wants_own = _is_of_user(job, partition)
        if wants_own or self._of_users:
            for other in self._jobs.values():
                if other.user != job.user and (wants_own or _is_of_user(other, other.partition)):
                    assert other.placement is not None
                    nodes &= ~other.placement.nodes
        return nodes

    def frees(self, job: SlurmJob, partition: ClusterPartition) -> NodeReleases | None:
        """When running jobs end, and the nodes that a job may have until then; None: something else decides, too."""
        demand = self._countable(job, partition)
        if demand is None:
            return None
        return [end for end, *_ in self._ends], list(accumulate(self._later().offering(demand), or_))

    def _countable(self, job: SlurmJob, partition: ClusterPartition) -> NodeDemand | None:
        """The share of a job, if the `offer` of nodes decides which of them it can have; None: something else does."""
        demand = demand_of(job, partition, self.cluster) if self._is_quick else None
        return demand if demand is not None and self._room.counts(demand) else None

    def _offering(self, demand: NodeDemand) -> int:
        """The nodes that jobs like this one can have now."""
        key, room = demand.on_a_node(), self._room
        bits, seen = self._first.get(key, (0, -1))
        if seen != room.changes:
            changed = room.changed_since(seen)
            bits = (bits & ~changed) | room.offering(key, changed)
            if len(self._first) >= _KINDS:
                self._first.clear()
            self._first[key] = bits, room.changes
        return bits

    def _later(self) -> LaterResources:
        """The resources that are free when running jobs have ended."""
        seen = self._room.changes
        if self._soon is None or self._soon[0] != seen:
            shares = [self._kept(self._jobs[key]) for *_, key in self._ends]
            self._soon = seen, LaterResources(self._room, shares, self._offering)
        return self._soon[1]

    def _fit_among(
        self, room: FreeResources, job: SlurmJob, partition: ClusterPartition, nodes: int, demand: NodeDemand
    ) -> NodeShare | None:
        """The share that a job gets of nodes each of which it can have."""
        if nodes.bit_count() * self._most_cpus < demand.cpus:
            return None
        return self._fit(room, job, partition, nodes, demand)

    def first_end(self) -> float:
        """When the limit of a running job ends first; infinity: none runs."""
        return self._ends[0][0] if self._ends else math.inf

    def _without(self, jobs: Iterable[SlurmJob]) -> FreeResources:
        gone = [job for job in jobs if job.placement is not None]
        room = self._room.copy() if gone else self._room
        for job in gone:
            room.take(self._kept(job), -1)
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
        """When and where a job can start, if running jobs end at their limits; None: never, or too late."""
        gone, nodes = list(without), self._of_user(job, partition, nodes)
        demand = self._countable(job, partition) if not gone else None
        if demand is not None:
            return self._earliest_of(job, partition, nodes, now, late, demand)
        found = self._test(self._without(gone), job, partition, nodes)
        if found is not None:
            return PossibleStart(now, found)
        room = self._without(gone).copy()
        for last, shares, _ in self._ends_together(nodes, gone):
            for share in shares:
                room.take(share, -1)
            found = self._test(room, job, partition, nodes)
            if found is not None:
                return PossibleStart(self._free_at(last, now), found)
        return None

    def _earliest_of(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, now: int, late: int, demand: NodeDemand
    ) -> PossibleStart | None:
        """The same for a job that can have nodes by their `offer`: only these are looked at, and no late ends."""
        later = self._later()
        offering = later.offering(demand)
        found = self._fit_among(self._room, job, partition, nodes & offering[0], demand)
        if found is not None:
            return PossibleStart(now, found)
        for last, _, ended in self._ends_together(nodes, ()):
            if late and math.floor(last.end) > late:
                return None
            some, least = nodes & offering[ended], max(job.min_nodes, partition.min_nodes)
            if some.bit_count() >= least:
                found = self._fit_among(later.after(ended), job, partition, some, demand)
                if found is not None:
                    return PossibleStart(self._free_at(last, now), found)
        return None

    def _ends_together(self, nodes: int, gone: Collection[SlurmJob]) -> Iterator[tuple[SlurmJob, list[NodeShare], int]]:
        """The ends after which a start is looked for: the last job that ends then, the shares, and how many have ended.

        Args:
            nodes: the nodes.
            gone: running jobs that are left out.
        """
        window = _WINDOW
        left = [(end, self._jobs[key]) for end, _, _, key in self._ends]
        held = [(end, each, self._kept(each)) for end, each in left if each.placement is not None and each not in gone]
        barrier, place = -math.inf, 0
        while place < len(held):
            last: SlurmJob | None = None
            shares = []
            while place < len(held):
                end, holder, placement = held[place]
                place += 1
                if not placement.nodes & nodes:
                    continue
                if barrier == -math.inf:
                    barrier = (int(end + self._epoch) // _WINDOW + 1) * _WINDOW - self._epoch
                shares.append(placement)
                last = holder
                # Slurm looks at the next job only here, so one with other nodes leads to the one after it
                if place < len(held) and held[place][0] > barrier + window:
                    break
            if last is None:
                break
            window *= 2
            while place < len(held) and held[place][0] > barrier + window:
                window *= 2
            yield last, shares, place

    def _free_at(self, job: SlurmJob, now: int) -> int:
        """The second in which the share of a running job is free; later than its limit once that is over."""
        if job.end > now:
            return math.floor(job.end)
        partition = job.partition
        overtime = self.cluster.overtime if partition is None else partition.overtime
        return max(math.floor(job.end + self.cluster.kill_wait + 60 * overtime), now + 1)

    def _test(self, room: FreeResources, job: SlurmJob, partition: ClusterPartition, nodes: int) -> NodeShare | None:
        """The share that a job gets: idle cores, or else those of a row of its partition."""
        demand = demand_of(job, partition, self.cluster)
        nodes = room.open_to(demand.sharing, partition.name, nodes)
        found, rows = self._fit(room, job, partition, nodes, demand), room.rows
        if found is not None or rows is None:
            return found
        taken = rows.used(())
        if self.cluster.gang is not None:  # the cores of other jobs do, if these are suspended then, or take turns
            tiers = sorted(self.cluster.partitions, key=lambda each: -each.tier)
            if self.cluster.configuration.preemption.plugin == "partition_prio":
                above = [each for each in tiers if each.tier > partition.tier or each.preempt_mode == PreemptMode.OFF]
                taken = rows.used(each.name for each in above)
            if self._fit(room.under(taken), job, partition, nodes, demand) is None:
                return None
            busy = taken
            for names in ([each.name for each in tiers if each.tier == partition.tier], *self._below(partition)):
                busy = list(map(or_, busy, rows.used(names)))
                again = self._fit(room.under(busy), job, partition, nodes, demand)
                if again is None:
                    break
                found = again  # as few jobs of lower tiers as possible are suspended
            if found is not None:
                return found
        elif demand.sharing is not NodeSharing.CORES:
            return None
        for own in rows.of(partition.name):
            found = self._fit(room.under(list(map(or_, own, taken))), job, partition, nodes, demand)
            if found is not None:
                break
        return found

    def _below(self, partition: ClusterPartition) -> list[list[str]]:
        """The partitions of lower tiers, one after the other, the highest first."""
        below = [each for each in self.cluster.partitions if each.tier < partition.tier]
        return [[each.name] for each in sorted(below, key=lambda each: -each.tier)]

    def _fit(
        self, room: FreeResources, job: SlurmJob, partition: ClusterPartition, nodes: int, demand: NodeDemand
    ) -> NodeShare | None:
        """The share that a job gets, if what is free is enough."""
        count = max(job.min_nodes, partition.min_nodes)
        if nodes.bit_count() < count or job.required & ~nodes:
            return None
        offers = room.offers(nodes, demand)
        gres = {}
        if demand.gres or demand.gpus:
            for node in members(nodes):
                offer = room.gres_offer(node, demand, offers.get(node, 0))
                if offer is not None:
                    self._farness[node] = _FAR - min(offer.near, _FAR)
                if offer is None or node not in offers:
                    offers.pop(node, None)
                else:
                    gres[node] = offer
        if len(offers) < count or job.required & ~bits_of(offers):
            return None
        if sum(offers.values()) < demand.cpus or sum(each.gpus for each in gres.values()) < demand.gpus:
            return None
        if demand.tasks_per_node and demand.tasks:
            count = max(count, -(-demand.tasks // demand.tasks_per_node))
        wanted, most = wanted_nodes(job, partition, count)
        if 1 < demand.tasks < most:
            most = max(demand.tasks, count)
        choice = NodeChoice(self, room, job, partition, demand, (count, wanted, most), offers, gres)
        if not choice.is_made():
            return None
        return room.placement(choice.chosen, choice.gres, demand, partition.name)

    def weight(self, node: int) -> tuple[int, int]:
        """The weight of a node: those with the least come first."""
        return self.cluster.nodes[node].weight, self._farness[node]


def _is_of_user(job: SlurmJob, partition: ClusterPartition | None) -> bool:
    """Whether no other user has jobs on the nodes of a job."""
    return job.is_of_user or (partition is not None and partition.is_of_user)


_NO_WEIGHT: Final = (-1, 0)
"""The weight of a run whose first node is required."""
_FAR: Final = 255
"""The most GPUs that count for the weight of a node."""


class NodeChoice:
    """The choice of the nodes of a job, of those that could be its nodes.

    Args:
        selection: the nodes, with their weights.
        room: what is free.
        job: the job.
        partition: the partition that it is to run in.
        demand: its share.
        counts: the fewest nodes that it can have, those that it asks for, and the most that it may have.
        offers: the CPUs that each node gives to the job.
        gres: the generic resources that each node gives, if it asks for some.

    Attributes:
        chosen: the CPUs that each of the chosen nodes has for the job.
        gres: as above.
    """

    def __init__(
        self,
        selection: Consumable,
        room: FreeResources,
        job: SlurmJob,
        partition: ClusterPartition,
        demand: NodeDemand,
        counts: tuple[int, int, float],
        offers: dict[int, int],
        gres: dict[int, GresOffer],
    ) -> None:
        self._selection, self._room, self._job, self._partition = selection, room, job, partition
        self._demand, self._counts, self._offers, self.gres = demand, counts, offers, gres
        self._shown: dict[int, int] = {}
        self._kept: dict[int, int] = {}
        self._begin()

    def _begin(self) -> None:
        """Begin an attempt: nothing is chosen."""
        least, wanted, self._most = self._counts
        demand = self._demand
        self._least = least
        self._nodes = min(least, wanted) if demand.gpus else max(least, wanted)
        self._spare = max(wanted - least, 0) if not demand.gpus else 0
        self._cpus = max(demand.cpus, demand.default_per_gpu * demand.gpus)
        self._most = min(self._most, max(demand.tasks, least)) if demand.tasks else self._most
        self._most_cpus = max(demand.cpus, demand.least_cpus(self._nodes))
        self._gpus = 0
        self.chosen: dict[int, int] = {}

    def is_made(self) -> bool:
        """Choose, at first among all nodes, then without those that give the least; returns whether there is a choice.

        Nodes that give little may be in the way of a job that may have only a few.
        """
        offers, required, left = self._offers, self._job.required, set(self._offers)
        if self._attempt(left):
            return True
        least = self._counts[0]
        if len(left) <= least:
            return self._attempt(left)
        sizes = {node: offers[node] + (self.gres[node].gpus if self.gres else 0) for node in left}
        for count in range(1, max(sizes.values())):
            small = [node for node in sorted(left) if 0 < sizes[node] <= count and not required >> node & 1]
            left -= set(small[: max(len(left) - least, 1)])
            if (small or count == 1) and self._attempt(left):
                return True
            if len(left) <= least:
                break
        return False

    def _attempt(self, nodes: set[int]) -> bool:
        self._begin()
        self._attempt_among(nodes)
        self.chosen = dict(sorted(self.chosen.items()))
        return self._is_enough

    def _attempt_among(self, nodes: set[int]) -> None:
        job, selection = self._job, self._selection
        tree = selection.tree
        order = self._order(nodes)
        if order is not None and self._demand.tasks:
            self._most = min(self._most, self._demand.tasks)
        for node in members(job.required):
            self._see(node)
            self._add(node)
        if self._is_done:
            return
        if order is not None:
            for node in order:
                if self._is_done or self._most <= 0:
                    return
                self._see(node)
                self._add(node)
        elif tree is not None and tree.holds(job) and not job.is_contiguous:
            self._take_leaves(tree, nodes)
            if tree.is_too_spread(job, tree.used(bits_of(self.chosen))):
                self._begin()
        else:
            self._take_sets(self._runs(nodes))

    def _order(self, nodes: set[int]) -> list[int] | None:
        """The order of the nodes, if they are taken one by one; None: they are taken in runs."""
        weight, room, cluster = self._selection.weight, self._room, self._selection.cluster
        if self._job.spreads:
            return sorted(nodes, key=lambda node: (weight(node), node))
        if cluster.select.least_loaded or self._partition.is_spread:
            return sorted(nodes, key=lambda node: (weight(node), -room.idle_share(node), node))
        if cluster.select.serial_at_end and self._demand.cpus == 1 and self._counts[1] == 1:
            return sorted(nodes, key=lambda node: (weight(node), -node))
        return None

    @property
    def _is_enough(self) -> bool:
        """Whether the job can have the chosen nodes."""
        return self._cpus <= 0 and self._nodes <= self._spare and self._gpus >= self._demand.gpus

    @property
    def _is_done(self) -> bool:
        """Whether it asks for no more."""
        return self._cpus <= 0 and self._nodes <= 0 and self._gpus >= self._demand.gpus

    def _see(self, node: int) -> None:
        """Find the CPUs that a node counts with, and those that the job has of it."""
        demand, cpus = self._demand, self._offers[node]
        self._shown[node] = self._kept[node] = cpus
        if cpus // demand.step < demand.least_tasks:
            self._shown[node] = 0
        elif self.gres:
            self._shown[node] = self._beside_gres(node, cpus)

    def _beside_gres(self, node: int, cpus: int) -> int:
        """The CPUs that a node counts with: no more than its tasks need beside their GPUs."""
        demand, offer = self._demand, self.gres[node]
        each, gpus = demand.cpus_beside_gpu, offer.gpus
        tasks = demand.most_tasks
        if demand.gpus_per_task:
            tasks = min(tasks, gpus // demand.gpus_per_task)
        if tasks < 1:
            return 0
        if each:
            gpus = min(gpus, cpus // each, offer.near or gpus)
        if math.isinf(tasks):
            if demand.cpus_per_gpu:
                self.gres[node] = offer._replace(gpus=min(offer.gpus, cpus // each))
            return cpus
        while tasks * demand.step > cpus and tasks >= demand.least_tasks:
            tasks -= 1
        needed = int(tasks) * demand.step
        if each:
            gpus = demand.gpus_on_node or demand.gpus_per_task * int(tasks) or gpus
            needed = max(needed, gpus * each)
        if needed > cpus or tasks < demand.least_tasks:
            return 0
        threads = self._room.nodes[node].threads
        self._kept[node] = -(-needed // threads) * threads
        if demand.cpus_per_gpu:
            self.gres[node] = offer._replace(gpus=min(offer.gpus, self._kept[node] // each))
        if each and demand.gpus:
            return needed
        return int(tasks) * demand.step

    def _add(self, node: int) -> None:
        """Choose a node. It leaves a core of the job to each node that is still needed."""
        if node in self.chosen or self._most <= 0 or not self._shown[node]:
            return
        demand, cpus = self._demand, self._shown[node]
        spec = self._room.nodes[node]
        if not demand.is_whole:
            core = 1 if demand.is_single else spec.threads
            if self._selection.cluster.select.by_socket:
                core *= spec.cpus // spec.threads // spec.sockets
            left = self._most_cpus - max(self._least - 1, 0) * core
            if cpus > left:
                least = demand.cpus_per_gpu * demand.gpus_on_node
                least = least or demand.default_per_gpu * (demand.gpus_on_node or min(demand.gpus, 1))
                cpus = self._offers[node] = max(left, demand.least, least)
        if demand.gpus:
            gpus = self.gres[node].gpus
            if demand.cpus_per_gpu:
                gpus = min(cpus // demand.cpus_per_gpu, gpus)
                cpus = gpus * demand.cpus_per_gpu or cpus
            self._gpus += gpus
        self.chosen[node] = min(self._kept[node], self._offers[node])
        self._cpus -= cpus
        self._most_cpus -= cpus
        self._nodes -= 1
        self._least -= 1
        self._most -= 1

    # Runs of consecutive nodes

    def _runs(self, nodes: set[int]) -> list[_Run]:
        """The runs of consecutive nodes of the same weight. Weights do not matter to a job that wants one run."""
        job, weight = self._job, self._selection.weight
        if not (job.required or self.gres):
            return self._plain_runs(nodes)
        found: list[_Run] = []
        run, last = _Run(), -2
        for node in sorted(nodes):
            is_required = bool(job.required >> node & 1)
            if not is_required:
                self._see(node)
                if not self._shown[node]:
                    continue
            is_gap = node != last + 1
            if is_gap or (run.weight not in (None, weight(node)) and not job.is_contiguous):
                if run.nodes:
                    found.append(run)
                run = _Run()
                # Slurm loses a required node that comes first after one of another weight
                run.weight = None if is_gap else _NO_WEIGHT
            last = node
            if is_required:
                run.required = node if run.required is None else run.required
            else:
                self._enter(run, node)
        return [*found, run] if run.nodes else found

    def _plain_runs(self, nodes: set[int]) -> list[_Run]:
        """The same for a job without required nodes and generic resources, with fewer calls."""
        offers, step, least = self._offers, self._demand.step, self._demand.least_tasks
        weight, is_contiguous, shown, kept = self._selection.weight, self._job.is_contiguous, self._shown, self._kept
        found, run, last = list[_Run](), _Run(), -2
        for node in sorted(nodes):
            cpus = kept[node] = shown[node] = offers[node]
            if cpus // step < least:
                shown[node] = 0
                continue
            own, is_gap = weight(node), node != last + 1
            if is_gap or (run.weight is not None and run.weight != own and not is_contiguous):
                if run.nodes:
                    found.append(run)
                run = _Run()
                run.weight = None if is_gap else _NO_WEIGHT
            last, run.weight = node, own
            run.nodes.append(node)
            run.cpus += cpus
        return [*found, run] if run.nodes else found

    def _enter(self, run: _Run, node: int) -> None:
        run.nodes.append(node)
        run.cpus += self._shown[node]
        run.gpus += self.gres[node].gpus if self.gres else 0
        run.weight = self._selection.weight(node)

    def _take_leaves(self, tree: SwitchTree, nodes: set[int]) -> None:
        """Choose nodes at few leaves of a tree.

        Of as many weights as it takes, all nodes but those of the last weight are chosen. Then the leaves of chosen
        nodes come first, and others one after the other.
        """
        pool, lighter = _Run(), 0
        for weight in sorted({self._selection.weight(node) for node in nodes}):
            if pool.nodes and self._suffices(pool):
                break
            lighter = bits_of(pool.nodes)
            for node in sorted(nodes):
                if node not in self.chosen and self._selection.weight(node) == weight:
                    self._see(node)
                    if self._shown[node]:
                        self._enter(pool, node)
        if not self._suffices(pool):
            return
        for node in members(lighter):
            self._add(node)
        near = tree.overlapping(bits_of(self.chosen)) if self.chosen else []
        used, free = [each for each in near if each in tree.names], bits_of(pool.nodes) | bits_of(self.chosen)
        for leaf in used:
            self._take_in_turn(members(tree.nodes_of(leaf) & free))
        while not self._is_done and self._most > 0:
            found = tree.next_leaf(free, used, self._nodes, near)
            if found is None:
                return
            near, used = [*near, found], [*used, found]
            self._take_in_turn(members(tree.nodes_of(found) & free))

    def _take_in_turn(self, nodes: list[int]) -> None:
        for node in nodes:
            if not self._is_done:
                self._add(node)

    def _suffices(self, run: _Run) -> bool:
        gpus = self._gpus >= self._demand.gpus or self._gpus + run.gpus >= self._demand.gpus
        return run.cpus >= self._cpus and len(run.nodes) >= self._nodes - self._spare and gpus

    def _take_sets(self, left: list[_Run]) -> None:
        """Choose runs: those with a required node first, then those of the least weight, then the tightest one."""
        job = self._job
        left = [each for each in left if each.nodes]
        while left and not self._is_done and self._most > 0:
            best = self._best(left)
            if best is None or (job.is_contiguous and not self._suffices(best)):
                return
            left.remove(best)
            single = self._single(best)
            for node in best.in_turn() if single is None else [single]:
                if self._is_done or self._most <= 0:
                    break
                if best.required is not None or self._most > 1 or self._shown[node] >= self._cpus:
                    self._add(node)

    def _best(self, left: list[_Run]) -> _Run | None:
        """The run that comes next; None if required nodes are in several runs, and the job wants one."""
        job, best, is_enough = self._job, None, False
        wants_all = job.is_contiguous and bool(job.required)
        for place, run in enumerate(left):
            if wants_all and run.required is None:
                continue
            suffices = self._suffices(run)
            if best is None or (best.required is None and run.required is not None) or _lighter(run, best):
                is_better = True
            elif run.weight == best.weight:
                is_better = (not is_enough or run.cpus < best.cpus) if suffices else run.cpus > best.cpus
            else:
                is_better = job.is_contiguous and suffices and not is_enough
            if is_better:
                best, is_enough = run, suffices
            if wants_all and any(each.required is not None for each in left[place + 1 :]):
                return None
        return best

    def _single(self, run: _Run) -> int | None:
        """The one node that is enough and leaves the least free; None if one is not enough."""
        if run.required is not None or self._nodes > 1:
            return None
        missing = self._demand.gpus - self._gpus
        fitting = [
            node
            for node in run.nodes
            if self._shown[node] >= self._cpus and (missing <= 0 or self.gres[node].gpus >= missing)
        ]
        return min(fitting, key=lambda node: (self._shown[node], node)) if fitting else None


class _Run:
    """Nodes that are taken together.

    Attributes:
        nodes: those that are not required, in order.
        cpus: the CPUs of these.
        gpus: the GPUs that the job could have of them.
        required: the first required one; None: there is none.
        weight: the weight of the last one.
    """

    def __init__(self) -> None:
        self.nodes: list[int] = []
        self.cpus = self.gpus = 0
        self.required: int | None = None
        self.weight: tuple[int, int] | None = None

    def in_turn(self) -> list[int]:
        """The nodes in the order in which a job gets them: up from the required one, then down from it."""
        required = self.required
        if required is None:
            return self.nodes
        return [node for node in self.nodes if node > required] + [each for each in self.nodes[::-1] if each < required]


def _lighter(one: _Run, other: _Run) -> bool:
    assert one.weight is not None
    assert other.weight is not None
    return one.weight < other.weight
