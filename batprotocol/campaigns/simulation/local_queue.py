"""The queue of a cluster's own jobs, first come first served or with EASY backfilling.

It counts resources, and knows neither hosts nor messages. The resources of campaigns' jobs count as free.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import OrderedDict
from itertools import islice
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["DEPTH", "LocalJob", "LocalQueue", "QueuePolicy"]

QueuePolicy: TypeAlias = Literal["fcfs", "easy"]

DEPTH: Final = 100
"""The number of jobs behind the first one that backfilling considers."""


class LocalJob(NamedTuple):
    """A job of a cluster's own users: its name, the number of hosts, and the requested time in seconds."""

    name: str
    hosts: int
    walltime: float


class LocalQueue:
    """Jobs that wait and run on a number of hosts.

    >>> queue = LocalQueue(4, "easy")
    >>> for job in LocalJob("a", 3, 10.0), LocalJob("b", 4, 10.0), LocalJob("c", 1, 10.0), LocalJob("d", 1, 20.0):
    ...     queue.submit(job)
    >>> [job.name for job in queue.start(now=0.0)]  # d would delay b
    ['a', 'c']
    """

    def __init__(self, hosts: int, policy: QueuePolicy = "fcfs") -> None:
        self.hosts = hosts
        self.free = hosts
        self._policy = policy
        self._waiting: OrderedDict[str, LocalJob] = OrderedDict()
        self._ends: list[tuple[float, str]] = []  # the first end first
        self._running: dict[str, tuple[LocalJob, float]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def used(self) -> int:
        """The number of hosts of its jobs."""
        return self.hosts - self.free

    def submit(self, job: LocalJob) -> None:
        """Put a job at the end. It must not request more hosts than there are."""
        self._waiting[job.name] = job

    def end(self, name: str) -> None:
        """Remove a job that has ended, or was rejected while it waited."""
        self._waiting.pop(name, None)
        found = self._running.pop(name, None)
        if found is not None:
            job, end = found
            self._ends.remove((end, name))
            self.free += job.hosts

    def start(self, now: float) -> list[LocalJob]:
        """Start the jobs that can start, and return them."""
        started = []
        while self._waiting:
            job = next(iter(self._waiting.values()))
            if job.hosts > self.free:
                break
            started.append(self._start(job, now))
        if self._policy == "easy" and self._waiting and self.free:
            started.extend(self._backfill(now))
        return started

    def _start(self, job: LocalJob, now: float) -> LocalJob:
        del self._waiting[job.name]
        end = now + job.walltime
        self._running[job.name] = job, end
        insort(self._ends, (end, job.name))
        self.free -= job.hosts
        return job

    def _backfill(self, now: float) -> list[LocalJob]:
        """Jobs behind the first one that do not delay it."""
        shadow, spare = self._reservation(next(iter(self._waiting.values())))
        started = []
        for job in list(islice(self._waiting.values(), 1, 1 + DEPTH)):
            in_time = now + job.walltime <= shadow
            if job.hosts <= self.free and (in_time or job.hosts <= spare):
                started.append(self._start(job, now))
                spare -= 0 if in_time else job.hosts
        return started

    def _reservation(self, job: LocalJob) -> tuple[float, int]:
        """The latest start of this job, and the number of hosts that are free beside it then."""
        free = self.free
        for end, name in self._ends:
            free += self._running[name][0].hosts
            if free >= job.hosts:
                return end, free - job.hosts
        return math.inf, 0
