"""The choice of nodes as the loops see it: what a job gets now, and when it gets something at the earliest.

`Linear` gives whole nodes (select/linear), of the smallest run of consecutive ones that is large enough, or at as few
switches as possible (topology/tree). `consumable` gives shares of nodes. `HetStarts` has the starts of components.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from batprotocol.policies.slurm.cluster import (
    ClusterPartition,
    ConfiguredCluster,
    best_fit,
    bits_of,
    lowest,
    members,
    runs,
)
from batprotocol.policies.slurm.queue import HetJob, JobStage, NodeShare, SlurmEntry, SlurmJob
from batprotocol.policies.slurm.resources import JobRecords, NodeHolders
from batprotocol.sites.slurm.configuration import SwitchLine

if TYPE_CHECKING:
    from batprotocol.policies._plan import Releases

__all__ = [
    "HetStarts",
    "Linear",
    "NodeReleases",
    "NodeSelector",
    "PossibleStart",
    "SwitchTree",
    "first_start",
    "notes_patience",
    "share_now",
    "tree_of",
    "wanted_nodes",
]

_plan: Any = None
with suppress(ImportError):
    from batprotocol.policies import _plan

    _plan.bind(SlurmEntry, SlurmJob, JobStage.PENDING)


NodeReleases: TypeAlias = tuple[list[float], list[int]]
"""When running jobs end, in order, and the nodes that are free before the first end and after each one."""


class PossibleStart(NamedTuple):
    """When and where a job can start.

    Attributes:
        start: the second; not after now if it can start at once.
        placement: its nodes.
    """

    start: int
    placement: NodeShare


class HetStarts:
    """When the components of heterogeneous jobs can start, as one run of backfill finds out.

    This is Slurm's way: a component is planned for no time before those of the others that are known so far. All of
    them start at the end of the run, if each one could.
    """

    def __init__(self) -> None:
        self._starts: dict[HetJob, dict[SlurmJob, tuple[float, ClusterPartition]]] = {}
        self._rows: dict[str, list[list[Any]]] = {}  # for each partition: planned start and heterogeneous job

    def look(self, job: SlurmJob, partition: ClusterPartition) -> float:
        """A component is looked at; returns when the others can start, infinity if one of them cannot."""
        assert job.het is not None
        mine = self._starts.setdefault(job.het, {})
        mine.setdefault(job, (math.inf, partition))
        return max((start for other, (start, _) in mine.items() if other is not job), default=0)

    def note(self, job: SlurmJob, partition: ClusterPartition, start: float) -> None:
        """A component could start at a time in a partition. Its earliest one counts."""
        assert job.het is not None
        mine = self._starts[job.het]
        if start < mine[job][0]:
            mine[job] = start, partition

    def blocks(self, job: SlurmJob, partition: ClusterPartition, start: float) -> bool:
        """Whether the plan of a component is left out, as its job and another one would wait for each other.

        That is so where the other one is planned after it in this partition, and before it in another.
        """
        row = self._rows.setdefault(partition.name, [])
        own = next((each for each in row if each[1] is job.het), None)
        if own is None:
            row.append(own := [start, job.het])
        own[0] = max(own[0], start)
        row.sort(key=lambda each: -each[0])
        ahead = [het for _, het in row[: row.index(own)]]
        for name, other in self._rows.items():
            elsewhere = {het: planned for planned, het in other}
            if name == partition.name or job.het not in elsewhere:
                continue
            if any(elsewhere.get(het, math.inf) < own[0] for het in ahead):
                return True
        return False

    def ready(self, now: float) -> Iterator[list[tuple[SlurmJob, ClusterPartition]]]:
        """The components, with their partitions, of each job that can start by now, in the order of the looks."""
        for het, mine in self._starts.items():
            waits = all(job.stage is JobStage.PENDING and not job.is_held for job in het.components.values())
            if waits and len(mine) == het.size and all(start <= now for start, _ in mine.values()):
                yield [(job, partition) for job, (_, partition) in mine.items()]


class NodeSelector(Protocol):
    """The nodes, with what running jobs have of them."""

    @property
    def changes(self) -> int:
        """How often running jobs have taken nodes, or given some back."""

    @property
    def used(self) -> int:
        """The nodes that have jobs."""

    @property
    def open(self) -> int:
        """The nodes that have something left for jobs."""

    def take(self, job: SlurmJob) -> None:
        """A job starts on its placement."""

    def give_back(self, job: SlurmJob) -> None:
        """A job has left its nodes."""

    def stop(self, job: SlurmJob) -> None:
        """An operator suspends a job: others can have its cores, and not its memory."""

    def go_on(self, job: SlurmJob) -> None:
        """A job that an operator has suspended has its cores again, also if others have them."""

    def first_end(self) -> float:
        """When the limit of a running job ends first; infinity: none runs."""

    def frees(self, job: SlurmJob, partition: ClusterPartition) -> NodeReleases | None:
        """When running jobs end, and the nodes that a job may have until then; None if something else decides, too."""

    def is_too_spread(self, job: SlurmJob, nodes: int) -> bool:
        """Whether nodes are at more switches than a job asks for."""

    def passing_weights(self) -> tuple[int, ...]:
        """The parts of the nodes' weights that looks at jobs leave behind, for the looks at others."""

    def leave_weights(self, weights: tuple[int, ...]) -> None:
        """Leave such parts behind, as a look at a job would."""

    def now(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, without: Iterable[SlurmJob] = ()
    ) -> NodeShare | None:
        """The share that a job gets of these nodes now; None if they are not enough.

        Args:
            job: the job.
            partition: the partition that it is to run in.
            nodes: the nodes that it may have.
            without: running jobs whose share counts as free.
        """

    def earliest(
        self,
        job: SlurmJob,
        partition: ClusterPartition,
        nodes: int,
        now: int,
        without: Iterable[SlurmJob] = (),
        late: int = 0,
    ) -> PossibleStart | None:
        """When and where a job can start, if running jobs end at their limits; None: never. It leaves out CPUs.

        Args:
            job: the job.
            partition: the partition that it is to run in.
            nodes: the nodes that it may have.
            now: the second.
            without: running jobs whose share counts as free.
            late: a start after this second is too late, so that its nodes may be left out; 0: none is.
        """


def share_now(
    selection: NodeSelector, job: SlurmJob, partition: ClusterPartition, nodes: int, without: Iterable[SlurmJob] = ()
) -> NodeShare | None:
    """The share that a job gets of these nodes now, as its features want it; None if they are not enough.

    Of alternatives, the first one that is enough counts. Counted nodes are chosen first, those of each feature in turn.

    Args:
        selection: the nodes.
        job, partition, nodes, without: as `NodeSelector.now` has them.
    """
    gone = list(without)
    if job.counts:
        taken = 0
        for count, each in job.counts:
            found = selection.now(job.part(count), partition, nodes & each & ~taken, gone)
            if found is None:
                return None
            taken |= found.nodes
        whole = job.with_nodes(taken)
        if whole.required.bit_count() > whole.max_nodes:  # with those that it names itself
            return None
        return selection.now(whole, partition, nodes, gone)
    tries = (selection.now(job, partition, nodes & each, gone) for each in job.alternatives or (-1,))
    return next((found for found in tries if found is not None), None)


def first_start(
    selection: NodeSelector,
    job: SlurmJob,
    partition: ClusterPartition,
    nodes: int,
    now: int,
    without: Iterable[SlurmJob] = (),
    late: int = 0,
) -> PossibleStart | None:
    """When and where a job can start, as its features want it; None: never. Of alternatives, the earliest one counts.

    Args:
        selection: the nodes.
        job, partition, nodes, now, without, late: as `NodeSelector.earliest` has them.
    """
    gone = list(without)
    if partition.sharing_of(job.oversubscribes) is not partition.sharing_of(False):
        found = first_start(selection, job.alone(), partition, nodes, now, gone)
        if found is not None and found.start <= now:
            return found  # although the first loop would not give it these nodes: it waits then, and so do they
    if job.counts:
        return _counted_start(selection, job, partition, nodes, now, gone)
    late = 0 if job.alternatives else late
    tries = [selection.earliest(job, partition, nodes & each, now, gone, late) for each in job.alternatives or (-1,)]
    return min((each for each in tries if each is not None), key=lambda each: each.start, default=None)


def _counted_start(
    selection: NodeSelector, job: SlurmJob, partition: ClusterPartition, nodes: int, now: int, gone: list[SlurmJob]
) -> PossibleStart | None:
    """When and where a job can start that counts its features, as backfill plans it.

    Slurm asks for nodes of one feature after the other, each time for all CPUs of the job. So the plan may have more
    nodes than the job, and there may be none where the job could start. If they are fewer nodes than it needs, the
    others may come later than the start.
    """
    start, taken = now, 0
    for count, each in job.counts:
        mine = nodes & each & ~taken
        found = None if job.required & ~mine else selection.earliest(job.counted(count), partition, mine, now, gone)
        if found is None:
            return None
        start, taken = max(start, found.start), taken | found.placement.nodes
    rest = job.min_nodes - taken.bit_count()
    if rest > 0:
        mine = nodes & ~taken
        found = None if job.required & ~mine else selection.earliest(job.counted(rest), partition, mine, now, gone)
        if found is None:
            return None
        taken |= found.placement.nodes
    return PossibleStart(start, NodeShare(taken, {}))


def wanted_nodes(job: SlurmJob, partition: ClusterPartition, count: int) -> tuple[int, float]:
    """The nodes that a job asks for, and the most that it may have.

    A job with a range of nodes gets the most that there are, and starts with fewer. One without a number of nodes asks
    for as few as possible.

    Args:
        job: the job.
        partition: its partition.
        count: the fewest nodes that it can have.
    """
    most = min(job.max_nodes, job.most_nodes, partition.max_nodes)
    return (count if math.isinf(job.max_nodes) or job.takes_least else max(count, int(most))), most


# topology/tree: nodes at as few switches as possible


def tree_of(cluster: ConfiguredCluster) -> SwitchTree | None:
    """The tree of a cluster, if jobs are placed by one."""
    if not cluster.switches:
        return None
    numbers = {node.name: number for number, node in enumerate(cluster.nodes)}
    return SwitchTree(cluster.switches, numbers, is_optional=cluster.tree_is_optional)


class SwitchTree:
    """The switches.

    Args:
        switches: the switches.
        numbers: the numbers of the nodes, by name.
        is_optional: whether only jobs that ask for a number of switches are placed by them (TopoOptional).

    >>> leaves = [SwitchLine(name="a", nodes=("n0", "n1")), SwitchLine(name="b", nodes=("n2",))]
    >>> tree = SwitchTree([*leaves, SwitchLine(name="top", switches=("a", "b"))], {"n0": 0, "n1": 1, "n2": 2})
    >>> tree.leaves, tree.smallest([0b111], 2) == [0b011], tree.smallest([0b110], 2)
    ([3, 4], True, [2, 4])
    """

    def __init__(
        self, switches: Iterable[SwitchLine], numbers: Mapping[str, int], *, is_optional: bool = False
    ) -> None:
        self.is_optional = is_optional
        known = {each.name: each for each in switches}
        self._bits: dict[str, int] = {}
        self._levels: dict[str, int] = {}
        for name in known:
            self._enter(name, known, numbers)
        self._below = {name: self._leaves_below(name, known) for name in known}
        self.leaves = [self._bits[name] for name in known if not known[name].switches]
        """The sets of nodes of the leaves."""
        self._order = sorted(known, key=self._levels.__getitem__)
        self._parents = {below: name for name, each in known.items() for below in each.switches}
        self.names = [name for name in known if not known[name].switches]
        """The names of the leaves."""

    def _enter(self, name: str, known: Mapping[str, SwitchLine], numbers: Mapping[str, int]) -> None:
        """Find the nodes and the level of a switch, after those below it."""
        waiting = [name]
        while waiting:
            switch = known[waiting[-1]]
            missing = [each for each in switch.switches if each not in self._bits]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            bits = bits_of(numbers[each] for each in switch.nodes if each in numbers)
            for below in switch.switches:
                bits |= self._bits[below]
            self._bits[switch.name] = bits
            self._levels[switch.name] = 1 + max((self._levels[below] for below in switch.switches), default=-1)

    def _leaves_below(self, name: str, known: Mapping[str, SwitchLine]) -> list[int]:
        bits = self._bits[name]
        return [self._bits[each] for each in known if not known[each].switches and self._bits[each] & bits]

    def way_up(self, name: str) -> list[str]:
        """A switch, the one above it, and so on."""
        found = [name]
        while found[-1] in self._parents:
            found.append(self._parents[found[-1]])
        return found

    def nodes_of(self, name: str) -> int:
        """The nodes below a switch."""
        return self._bits[name]

    def far(self, name: str, others: Iterable[str]) -> float:
        """The hops from a switch to other ones together; infinity if they are in another tree."""
        way, hops = self.way_up(name), 0.0
        for other in others:
            top = next((each for each in self.way_up(other) if each in way), None)
            if top is None:
                return math.inf
            hops += way.index(top) + self.way_up(other).index(top)
        return hops

    def overlapping(self, nodes: int) -> list[str]:
        """The switches, of all levels, that have some of these nodes below them."""
        return [name for name, bits in self._bits.items() if bits & nodes]

    def next_leaf(self, free: int, used: Sequence[str], missing: int, near: Sequence[str]) -> str | None:
        """The leaf from which a job gets its next nodes (select/cons_tres); None if none is left.

        The nearest one to the switches that it has comes first, unless another one fits better: of leaves that have all
        of the missing nodes, the one with the fewest; or else the one below the better switch, or with the most.

        Args:
            free: the nodes that it could have.
            used: the leaves that are used up.
            missing: how many nodes it still asks for.
            near: the switches that it has.
        """
        best: str | None = None
        far = math.inf
        for name in self.names:
            mine = 0 if name in used else (self._bits[name] & free).bit_count()
            hops = self.far(name, near)
            if not mine or math.isinf(hops):
                continue
            better = 1 if best is None else self._fits_better(name, best, free, missing)
            if best is None or (hops < far and better >= 0) or (hops == far and better > 0):
                best, far = name, hops
        return best

    def _fits_better(self, one: str, other: str, free: int, missing: int) -> int:
        """Whether a switch fits better than another one: 1; worse: -1; as well: 0."""
        while True:
            mine, its = ((self._bits[each] & free).bit_count() for each in (one, other))
            if mine >= missing and its >= missing:
                if mine != its:
                    return 1 if mine < its else -1
                break
            if (mine >= missing) != (its >= missing):
                return 1 if mine >= missing else -1
            above, its_above = (self._parents.get(each, each) for each in (one, other))
            if (above, its_above) == (one, other) or above == its_above:
                break
            one, other = above, its_above
        if mine != its:
            return 1 if mine > its else -1
        return (self._levels[one] < self._levels[other]) - (self._levels[one] > self._levels[other])

    def holds(self, job: SlurmJob) -> bool:
        """Whether a job is placed by the switches."""
        return bool(job.leaves) or not self.is_optional

    def smallest(
        self, sets: Iterable[int], count: int, is_enough: Callable[[int], bool] = lambda nodes: True
    ) -> list[int]:
        """The nodes at each leaf of the lowest switch that has enough of them; empty if none has.

        Args:
            sets: sets of nodes that are free together, such as one.
            count: how many are needed.
            is_enough: whether a set of nodes has what is needed otherwise.
        """
        free = 0
        for each in sets:
            free |= each
        best: tuple[int, int] | None = None
        found: list[int] = []
        for name in self._order:
            size = (self._bits[name] & free).bit_count()
            if size < count or (best is not None and (self._levels[name], size) >= best):
                continue
            if is_enough(self._bits[name] & free):
                best = self._levels[name], size
                found = [leaf & free for leaf in self._below[name] if leaf & free]
        return found

    def of_whole(self, job: SlurmJob, nodes: int, count: int, wanted: int = 0) -> int | None:
        """The nodes of a job that has whole ones. None if there are too few.

        Leaves with nodes that the job must have come first, then those with few free nodes.

        Args:
            job: the job.
            nodes: the free nodes.
            count: how many it needs at least.
            wanted: how many it asks for, if these are more.
        """
        required = job.required
        leaves = self.smallest([nodes], count, lambda found: not required & ~found)
        leaves.sort(key=lambda leaf: (not leaf & required, leaf.bit_count()))
        chosen, wanted = required if leaves else 0, max(wanted, count) - required.bit_count()
        for leaf in leaves:
            part = lowest(leaf & ~required, max(min(wanted, (leaf & ~required).bit_count()), 0))
            chosen, wanted = chosen | part, wanted - part.bit_count()
        if not chosen or self.is_too_spread(job, self.used(chosen)):
            return None
        return chosen

    def is_too_spread(self, job: SlurmJob, used: int) -> bool:
        """Whether nodes are at more leaves than a job asks for."""
        if job.leaves and used > job.leaves:
            job.misses_leaves = True
            return True
        return False

    def used(self, nodes: int) -> int:
        """At how many leaves these nodes are."""
        return sum(bool(leaf & nodes) for leaf in self.leaves)


def notes_patience(job: SlurmJob, second: int) -> bool:
    """Note whether a job has waited for few switches long enough; it takes any then, now and later."""
    if not job.leaves or second - job.leaves_since < job.leaves_wait:
        return False
    job.leaves = 0
    return True


# select/linear: whole nodes


class Linear:
    """Whole nodes.

    Args:
        cluster: the cluster.
        is_quick: whether the earliest start is searched by halves, and not from end to end. Both find the same.
    """

    def __init__(self, cluster: ConfiguredCluster, *, is_quick: bool = True) -> None:
        self._cpus = [node.cpus for node in cluster.nodes]
        self._each = self._cpus[0] if len(set(self._cpus)) == 1 else 0  # the CPUs of each node; 0: they differ
        self._is_quick = is_quick
        self._tree = tree_of(cluster)
        self._weights = weight_groups(cluster)
        self._busy = self.changes = 0
        self._holders = NodeHolders()
        self.overlaps = self._takes_turns = cluster.gang is not None
        """Whether a node may have two jobs, of which one is suspended."""
        self._ends: list[tuple[float, tuple[float, int], int]] = []
        self._records = JobRecords()
        self._frees: NodeReleases | None = None
        self._releases: Releases | None = None
        self._freed: list[int] | None = None  # the nodes of the first one, two... jobs to end

    @property
    def used(self) -> int:
        """The nodes that have jobs."""
        return self._busy

    @property
    def open(self) -> int:
        """The nodes that have something left for jobs."""
        return ~self._busy

    def is_too_spread(self, job: SlurmJob, nodes: int) -> bool:
        """Whether nodes are at more switches than a job asks for."""
        return self._tree is not None and self._tree.is_too_spread(job, self._tree.used(nodes))

    def passing_weights(self) -> tuple[int, ...]:
        """Nothing."""
        return ()

    def leave_weights(self, weights: tuple[int, ...]) -> None:
        """Do nothing."""

    def take(self, job: SlurmJob) -> None:
        """A job starts on its placement."""
        assert job.placement is not None
        if not job.is_stopped:
            self._holders.enter(job)
            self._busy |= job.placement.nodes
        insort(self._ends, (job.end, (self._records.made_at(job), job.number), job.placement.nodes))
        self._change()

    def give_back(self, job: SlurmJob) -> None:
        """A job has left its nodes."""
        assert job.placement is not None
        self._let_go(job)
        record = self._records.made_at(job), job.number
        del self._ends[bisect_left(self._ends, (job.end, record, job.placement.nodes))]
        self._change()

    def _change(self) -> None:
        self.changes += 1
        self._freed = self._frees = self._releases = None

    def _let_go(self, job: SlurmJob) -> None:
        self._busy &= ~self._holders.leave(job)
        if self.overlaps:
            self._busy = self._holders.nodes((), 1)

    def _free(self, gone: Collection[SlurmJob], most: int) -> int:
        """The nodes that have fewer jobs, if some of these are gone."""
        return ~self._holders.nodes(gone, most) if gone or most > 1 else ~self._busy

    def stop(self, job: SlurmJob) -> None:
        """An operator suspends a job: others can have its nodes."""
        self.overlaps = True
        self._let_go(job)
        self._change()

    def go_on(self, job: SlurmJob) -> None:
        """A job that an operator has suspended has its nodes again."""
        assert job.placement is not None
        self._holders.enter(job)
        self._busy |= job.placement.nodes
        self._change()

    def now(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, without: Iterable[SlurmJob] = ()
    ) -> NodeShare | None:
        """The share that a job gets of these nodes now: those of the least weight that are enough."""
        most = partition.rows_of(job.oversubscribes) if self._takes_turns else 1
        gone = list(without)
        tries = (self._among(job, partition, nodes & self._free(gone, each)) for each in range(1, most + 1))
        return next((found for found in tries if found is not None), None)

    def _among(self, job: SlurmJob, partition: ClusterPartition, nodes: int) -> NodeShare | None:
        """The share that a job gets of these nodes, which it can have."""
        count = max(job.min_nodes, partition.min_nodes)
        if nodes.bit_count() < count or job.required & ~nodes:
            return None
        pool, wanted = job.required, min(wanted_nodes(job, partition, count)[0], nodes.bit_count())
        for group in self._weights:  # those of required nodes do not count
            pool |= nodes & group
            if pool.bit_count() >= wanted:
                found = self.choose(job, pool, count, partition)
                if found is not None:
                    return NodeShare(found, {node: self._cpus[node] for node in members(found)})
        return None

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
        count = max(job.min_nodes, partition.min_nodes)
        gone, most = list(without), partition.rows_of(job.oversubscribes) if self._takes_turns else 1
        free = self._free(gone, most)
        if (nodes & free).bit_count() >= count:
            found = self.choose(job, nodes & free, count, partition)
            if found is not None:
                return PossibleStart(now, NodeShare(found, {}))
        freed = self._holders.freed(self._ends, gone, most) if self.overlaps else self._all_freed()
        first = self._first(nodes, free, count, freed) if self._is_quick else 0
        if self._is_quick and late and first < len(freed) and self._ends[first][0] > max(late, now):
            return PossibleStart(math.floor(self._ends[first][0]), NodeShare(0, {}))  # nobody asks for the nodes
        for place in range(first, len(freed)):
            room = nodes & (free | freed[place])
            if room.bit_count() < count:
                continue
            found = self.choose(job, room, count, partition)
            if found is not None:
                end = self._ends[place][0]
                return PossibleStart(now + 1 if end <= now else math.floor(end), NodeShare(found, {}))
        return None

    def frees(self, job: SlurmJob | None = None, partition: ClusterPartition | None = None) -> NodeReleases:
        """When running jobs end at their limits, and the nodes that are free before the first end and after each."""
        freed, free = self._all_freed(), ~self._busy
        if self._frees is None:
            self._frees = [end for end, _, _ in self._ends], [free, *(free | each for each in freed)]
        return self._frees

    @property
    def width(self) -> int:
        """The number of nodes."""
        return len(self._cpus)

    def releases(self) -> Releases:
        """The same as `frees`, for the plan in C, which there is."""
        if self._releases is None:
            self._releases = _plan.Releases(self.width, self._ends, ~self._busy & ((1 << self.width) - 1))
        return self._releases

    def first_end(self) -> float:
        """When the limit of a running job ends first; infinity: none runs."""
        return self._ends[0][0] if self._ends else math.inf

    def _all_freed(self) -> list[int]:
        if self._freed is None and self.overlaps:
            self._freed = self._holders.freed(self._ends, (), 1)
        elif self._freed is None:
            self._freed = list(accumulate((nodes for _, _, nodes in self._ends), or_))
        return self._freed

    def _first(self, nodes: int, free: int, count: int, freed: list[int]) -> int:
        """The first end after which so many of the nodes are free."""
        return bisect_left(freed, count, key=lambda each: (nodes & (free | each)).bit_count())

    def takes_best_fit(self, job: SlurmJob, partition: ClusterPartition) -> bool:
        """Whether a job gets the `best_fit` of the free nodes."""
        count = max(job.min_nodes, partition.min_nodes)
        return (
            not job.required
            and not job.is_contiguous
            and (self._tree is None or not self._tree.holds(job))
            and wanted_nodes(job, partition, count)[0] <= count
            and self._each * count >= job.cpus
        )

    def choose(self, job: SlurmJob, nodes: int, count: int, partition: ClusterPartition) -> int | None:
        """The nodes that a job gets of a set of free ones; None if they do not do.

        Args:
            job: the job.
            nodes: the free nodes, at least as many as it needs.
            count: how many it needs.
            partition: the partition that it is to run in.
        """
        wanted, most = wanted_nodes(job, partition, count)
        if job.required & ~nodes:
            return None
        if self._tree is not None and self._tree.holds(job):
            return self._at_leaves(self._tree, job, nodes, (count, wanted, most))
        if not job.required:
            if wanted <= count and job.is_contiguous:
                return self._contiguous(nodes, count)
            if wanted <= count and self._each * count >= job.cpus:
                return best_fit(nodes, count)
        return self._by_blocks(job, nodes, (count, wanted, most))

    def _at_leaves(self, tree: SwitchTree, job: SlurmJob, nodes: int, counts: tuple[int, int, float]) -> int | None:
        """The nodes at few leaves, as many as the CPUs of the job need."""
        count, wanted, most = counts
        count = max(count, -(-job.cpus // self._each) if self._each else 1)
        while count <= min(most, nodes.bit_count()):
            found = tree.of_whole(job, nodes, count, wanted)
            if found is None or sum(self._cpus[node] for node in members(found)) >= job.cpus:
                return found
            count = found.bit_count() + 1
        return None

    def _contiguous(self, nodes: int, count: int) -> int | None:
        enough = [(length, first) for first, length in runs(nodes) if length >= count]
        return ((1 << count) - 1) << min(enough)[1] if enough else None

    def _by_blocks(self, job: SlurmJob, nodes: int, counts: tuple[int, int, float]) -> int | None:
        """The required nodes, then those of the tightest run with the CPUs that are missing, or of the largest one.

        Args:
            job: the job.
            nodes: the free nodes.
            counts: the fewest nodes that it can have, those that it asks for, and the most that it may have.
        """
        chosen, cpus = job.required, job.cpus - sum(self._cpus[node] for node in members(job.required))
        count, wanted, most = (each - chosen.bit_count() for each in counts)
        left = list(self._blocks(nodes, job.required))
        if job.is_contiguous and job.required:
            left = [block for block in left if block.required is not None]
            if len(left) > 1:
                return None  # required nodes are not side by side
        else:
            left = [block for block in left if block.free]
        while left and most > 0 and (wanted > 0 or cpus > 0):
            best, is_enough = None, False
            for block in left:
                enough = block.cpus >= cpus and len(block.free) >= count
                if (
                    best is None
                    or (best.required is None and block.required is not None)
                    or (enough and not is_enough)
                    or (enough and block.cpus < best.cpus)
                    or (not enough and block.cpus > best.cpus)
                ):
                    best, is_enough = block, enough
            assert best is not None
            if job.is_contiguous and not is_enough:
                return None
            left = [] if job.is_contiguous else [block for block in left if block is not best]
            for node in best.in_turn():
                if most <= 0 or (wanted <= 0 and cpus <= 0):
                    break
                chosen |= 1 << node
                count -= 1
                wanted -= 1
                most -= 1
                cpus -= self._cpus[node]
        return chosen if count <= 0 and cpus <= 0 else None

    def _blocks(self, nodes: int, required: int) -> Iterator[_Block]:
        """The runs of consecutive nodes, with their first required one."""
        for first, length in runs(nodes):
            free = [node for node in range(first, first + length) if not required >> node & 1]
            mine = [node for node in range(first, first + length) if required >> node & 1]
            yield _Block(free, sum(self._cpus[node] for node in free), mine[0] if mine else None)


class _Block(NamedTuple):
    """A run of consecutive nodes.

    Attributes:
        free: those that are not required.
        cpus: their CPUs.
        required: the first required one; None if there is none.
    """

    free: list[int]
    cpus: int
    required: int | None

    def in_turn(self) -> list[int]:
        """The nodes in the order in which a job gets them: up from the required one, then down from it."""
        if self.required is None:
            return self.free
        up = [node for node in self.free if node > self.required]
        return up + [node for node in reversed(self.free) if node < self.required]


def weight_groups(cluster: ConfiguredCluster) -> list[int]:
    """The sets of nodes that are added one after the other until they are enough: those of the least weight first.

    Of equal weight, those of one line of slurm.conf come before those of the next. With a tree of switches or with
    preemption, the lines do not count. This was measured with Slurm 22.05.
    """
    by_line = not cluster.switches and not cluster.preempts
    groups: dict[tuple[int, int], int] = {}
    for number, node in enumerate(cluster.nodes):
        key = node.weight, node.record if by_line else 0
        groups[key] = groups.get(key, 0) | 1 << number
    return [groups[key] for key in sorted(groups)]
