"""The queue: jobs that could start if there were space, one entry for each partition, in the order of the loops."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from batprotocol.policies.slurm.jobs import SlurmJob
from batprotocol.policies.slurm.values import Partition

__all__ = ["Entry", "Queue"]

Key: TypeAlias = tuple[bool, int, int, int, int, int, int]
Entry: TypeAlias = tuple[Key, SlurmJob, Partition]
"""A job with a partition that it can run in, behind the key of its place."""


class Queue:
    """Jobs in order: those with reservations, then by tier, priority, submission and number.

    Args:
        is_fifo: whether only the numbers count.

    Attributes:
        changes: how often it has changed.
    """

    def __init__(self, *, is_fifo: bool = False) -> None:
        self._entries: list[Entry] = []
        self._places: dict[int, list[Entry]] = {}
        self._is_fifo = is_fifo
        self.changes = 0

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __contains__(self, job: SlurmJob) -> bool:
        return id(job) in self._places

    def add(self, job: SlurmJob, partitions: Iterable[Partition]) -> None:
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

    def snapshot(self) -> list[Entry]:
        """The entries as they are now."""
        return list(self._entries)

    def _entry(self, job: SlurmJob, place: int, partition: Partition) -> Entry:
        if self._is_fifo:
            return (False, 0, 0, 0, job.number, job.task, place), job, partition
        key = not job.reservation, -partition.tier, -job.priority[partition.name], int(job.submitted)
        return (*key, job.number, job.task, place), job, partition


def _key(entry: Entry) -> Key:
    return entry[0]
