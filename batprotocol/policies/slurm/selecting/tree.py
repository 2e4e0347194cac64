"""topology/tree: jobs get nodes at as few switches as possible. This module must not know what runs on the nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from batprotocol.policies.slurm.bits import bits_of, lowest
from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.policies.slurm.values import Cluster
from batprotocol.sites.slurm.configuration import Switch

__all__ = ["Tree", "notes_patience", "tree_of"]


def tree_of(cluster: Cluster) -> Tree | None:
    """The tree of a cluster, if jobs are placed by one."""
    if not cluster.switches:
        return None
    numbers = {node.name: number for number, node in enumerate(cluster.nodes)}
    return Tree(cluster.switches, numbers, is_optional=cluster.tree_is_optional)


class Tree:
    """The switches.

    Args:
        switches: the switches.
        numbers: the numbers of the nodes, by name.
        is_optional: whether only jobs that ask for a number of switches are placed by them (TopoOptional).

    >>> leaves = [Switch(name="a", nodes=("n0", "n1")), Switch(name="b", nodes=("n2",))]
    >>> tree = Tree([*leaves, Switch(name="top", switches=("a", "b"))], {"n0": 0, "n1": 1, "n2": 2})
    >>> tree.leaves, tree.smallest([0b111], 2) == [0b011], tree.smallest([0b110], 2)
    ([3, 4], True, [2, 4])
    """

    def __init__(self, switches: Iterable[Switch], numbers: Mapping[str, int], *, is_optional: bool = False) -> None:
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

    def _enter(self, name: str, known: Mapping[str, Switch], numbers: Mapping[str, int]) -> None:
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

    def _leaves_below(self, name: str, known: Mapping[str, Switch]) -> list[int]:
        bits = self._bits[name]
        return [self._bits[each] for each in known if not known[each].switches and self._bits[each] & bits]

    def holds(self, job: SlurmJob) -> bool:
        """Whether a job is placed by the switches."""
        return bool(job.leaves) or not self.is_optional

    def smallest(self, sets: Iterable[int], count: int) -> list[int]:
        """The nodes at each leaf of the lowest switch that has enough of them; empty if none has.

        Args:
            sets: sets of nodes that are free together, such as one.
            count: how many are needed.
        """
        free = 0
        for each in sets:
            free |= each
        best: tuple[int, int] | None = None
        found: list[int] = []
        for name in self._order:
            size = (self._bits[name] & free).bit_count()
            if size >= count and (best is None or (self._levels[name], size) < best):
                best = self._levels[name], size
                found = [leaf & free for leaf in self._below[name] if leaf & free]
        return found

    def of_whole(self, job: SlurmJob, nodes: int, count: int) -> int | None:
        """The nodes of a job that has whole ones: leaves with few free nodes come first. None if there are too few.

        Args:
            job: the job.
            nodes: the free nodes.
            count: how many it needs.
        """
        leaves = sorted(self.smallest([nodes], count), key=int.bit_count)
        chosen, used = 0, 0
        for leaf in leaves:
            part = lowest(leaf, min(count, leaf.bit_count()))
            if part:
                chosen, used, count = chosen | part, used + 1, count - part.bit_count()
        if not chosen or self.is_too_spread(job, used):
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
    """Note since when a job waits for few switches; returns whether it has waited long enough, and takes any now."""
    if not job.leaves or not job.misses_leaves:
        return False
    job.leaves_since = min(job.leaves_since, second)
    if second - job.leaves_since < job.leaves_wait:
        return False
    job.leaves, job.leaves_since = 0, math.inf
    return True
