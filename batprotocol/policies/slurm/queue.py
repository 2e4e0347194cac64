"""The queue: jobs that could start if there were space, one entry for each partition, in the order of the loops."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.policies.slurm.values import ClusterPartition

__all__ = ["QueueEntry", "SlurmQueue"]

Key: TypeAlias = tuple[bool, int, int, int, int, int, int]
QueueEntry: TypeAlias = tuple[Key, SlurmJob, ClusterPartition]
"""A job with a partition that it can run in, behind the key of its place."""


class SlurmQueue:
    """Jobs in order: those with reservations, then by tier, priority, submission and number.

    Args:
        is_fifo: whether only the numbers count.
        is_above: whether a job comes before another one as that one gives way to it; None: nobody does so.

    Attributes:
        changes: how often it has changed.
    """

    def __init__(self, *, is_fifo: bool = False, is_above: Callable[[SlurmJob, SlurmJob], bool] | None = None) -> None:
        self._is_above, self._sorted, self._sorted_at = is_above, list[QueueEntry](), -1
        self._entries: list[QueueEntry] = []
        self._places: dict[int, list[QueueEntry]] = {}
        self._is_fifo = is_fifo
        self.changes = 0

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[QueueEntry]:
        return iter(self._entries)

    def __contains__(self, job: SlurmJob) -> bool:
        return id(job) in self._places

    def add(self, job: SlurmJob, partitions: Iterable[ClusterPartition]) -> None:
        """A job can start in some partitions from now on."""
        entries = [self._entry(job, place, each) for place, each in enumerate(partitions)]
        self._places[id(job)] = entries
        self.changes += 1
        for entry in entries:
            insort(self._entries, entry, key=_key)

    def remove(self, job: SlurmJob) -> None:
        """A job has started, or waits for something else."""
        self.changes += 1
        for entry in self._places.pop(id(job), ()):
            place = bisect_left(self._entries, entry[0], key=_key)
            del self._entries[place]

    def sort(self) -> None:
        """The priorities have changed."""
        before, self._entries = self._entries, []
        for key, old in self._places.items():
            entries = [self._entry(job, place, each) for place, (_, job, each) in enumerate(old)]
            self._places[key] = entries
            self._entries += entries
        self._entries.sort(key=_key)
        self.changes += any(
            one[1] is not other[1] or one[2] is not other[2] for one, other in zip(before, self._entries, strict=True)
        )

    def jobs(self) -> list[SlurmJob]:
        """The jobs, in no order."""
        return [entries[0][1] for entries in self._places.values()]

    def snapshot(self) -> list[QueueEntry]:
        """The entries as they are now."""
        if self._is_above is None:
            return list(self._entries)
        if self._sorted_at != self.changes:
            self._sorted, self._sorted_at = self._by_halves(), self.changes
        return list(self._sorted)

    def _by_halves(self) -> list[QueueEntry]:
        """The entries in an order that may have circles: a job may come before one that comes before it by others.

        Slurm sorts its jobs by number then, by halves, and so does this method: the result depends on the way.
        """
        is_above = self._is_above
        assert is_above is not None

        def comes_first(one: QueueEntry, other: QueueEntry) -> bool:
            if is_above(one[1], other[1]):
                return True
            return not is_above(other[1], one[1]) and one[0] <= other[0]

        parts = [[each] for each in sorted(self._entries, key=lambda each: each[0][-3:])]

        def merged(first: list[QueueEntry], second: list[QueueEntry]) -> list[QueueEntry]:
            found, one, other = [], 0, 0
            while one < len(first) and other < len(second):
                if comes_first(first[one], second[other]):
                    found.append(first[one])
                    one += 1
                else:
                    found.append(second[other])
                    other += 1
            return found + first[one:] + second[other:]

        def ordered(low: int, high: int) -> list[QueueEntry]:
            if high - low < 2:
                return parts[low] if high > low else []
            middle = low + (high - low) // 2
            return merged(ordered(low, middle), ordered(middle, high))

        return ordered(0, len(parts))

    def _entry(self, job: SlurmJob, place: int, partition: ClusterPartition) -> QueueEntry:
        if self._is_fifo:
            return (False, 0, 0, 0, job.number, job.task, place), job, partition
        key = not job.reservation, -partition.tier, -job.priority[partition.name], int(job.submitted)
        return (*key, job.number, job.task, place), job, partition


def _key(entry: QueueEntry) -> Key:
    return entry[0]
