"""The cores of nodes whose jobs share cores (OverSubscribe=FORCE:n): each partition has n rows of jobs.

The jobs of a row have different cores. A job that finds no idle cores gets those that are free in a row. This module
must not know what jobs ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from batprotocol.policies.slurm.jobs import NodeShare
from batprotocol.policies.slurm.values import ClusterNode

__all__ = ["CoreRows"]

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
