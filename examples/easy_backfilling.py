"""EASY backfilling: the first job of the queue gets a reservation, and later jobs may start if they do not delay it.

    batproto run examples/easy_backfilling.py:EASY -- batsim -p platform.xml -w workload.json \\
        --edc-socket-str {endpoint} ""

`batprotocol.policies` has it, too, with queue orders, kinds of backfilling and allocations: `batproto simulate easy`.
"""

from __future__ import annotations

import math
from bisect import bisect, bisect_left
from itertools import islice
from typing import NamedTuple

from fcfs import FCFS

from batprotocol import Job, JobCompletedEvent


class Reservation(NamedTuple):
    """The time when the first job of the queue can start, and the number of hosts that are free besides it."""

    start: float
    spare: int


class Ending(NamedTuple):
    """The latest end of a running job. Jobs with equal ends are in the order of their starts."""

    time: float
    number: int
    hosts: int
    """The number of its hosts."""


class EASY(FCFS):
    """The scheduler expects jobs to run as long as their walltime. Jobs without a walltime are expected never to end.

    Several running jobs may end just when the first job starts. The scheduler counts the hosts of these jobs as free in
    the order of their starts, until there are enough for the first job. Batsim's own EASY begins with the job that
    started last. So where jobs of different sizes end at the same time, the two may have different numbers of hosts for
    backfilling, and decide differently.

    The duration of a turn depends on the part of the queue that it reads: at most `depth` jobs, while hosts are free.
    """

    depth: int | None = None
    """The number of jobs behind the first one that a turn reads; None: all."""

    def __init__(self) -> None:
        super().__init__()
        self.started = 0
        self.endings: list[Ending] = []  # the next one first
        self.ending_of: dict[str, Ending] = {}

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        super().on_job_completed(event)
        ending = self.ending_of.pop(event.job_id, None)
        if ending is not None:
            del self.endings[bisect_left(self.endings, ending)]

    def decide(self) -> None:
        super().decide()  # start jobs in the order of the queue
        if self.queue and self.free:
            for job_id in self.backfill():
                del self.queue[job_id]

    def backfill(self) -> list[str]:
        """Start jobs that do not delay the first one, and return them. They stay in the queue, which is being read."""
        jobs = iter(self.queue.items())
        reservation = self.reserve(next(jobs)[1])
        free, started = len(self.free), []
        for job_id, job in islice(jobs, self.depth):
            size = job.resource_request
            if size > free:
                continue
            in_time = self.end_of(job) <= reservation.start
            if in_time or size <= reservation.spare:
                self.start(job_id, job)
                started.append(job_id)
                if not in_time:
                    reservation = reservation._replace(spare=reservation.spare - size)
                free = len(self.free)
                if not free:
                    break
        return started

    def start(self, job_id: str, job: Job) -> None:
        super().start(job_id, job)
        if job_id in self.running:
            self.started += 1
            ending = self.ending_of[job_id] = Ending(self.end_of(job), self.started, job.resource_request)
            self.endings.insert(bisect(self.endings, ending), ending)

    def end_of(self, job: Job) -> float:
        """The end of a job that starts now."""
        return math.inf if job.walltime is None else self.now + job.walltime

    def reserve(self, job: Job) -> Reservation:
        """The earliest time at which enough of the running jobs will have ended."""
        free = len(self.free)
        for ending in self.endings:
            free += ending.hosts
            if free >= job.resource_request:
                return Reservation(ending.time, free - job.resource_request)
        return Reservation(math.inf, 0)
