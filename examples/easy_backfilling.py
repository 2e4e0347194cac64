"""EASY backfilling: the first job of the queue gets a reservation, and later jobs may start if they do not delay it.

    batproto run examples/easy_backfilling.py:EASY -- batsim -p platform.xml -w workload.json \\
        --edc-socket-str {endpoint} ""

With other orders, kinds of backfilling and choices of hosts it is in `batprotocol.policies`: `batproto simulate easy`.
"""

from __future__ import annotations

import math
from bisect import bisect, bisect_left
from itertools import islice
from typing import NamedTuple

from fcfs import FCFS

from batprotocol import Job, JobCompletedEvent


class Reservation(NamedTuple):
    """When the first job of the queue can start, and how many hosts it leaves free from then on."""

    start: float
    spare: int


class Ending(NamedTuple):
    """When a running job will end at the latest. Of those that end together, the one that started first comes first."""

    time: float
    number: int
    hosts: int
    """How many it has."""


class EASY(FCFS):
    """Jobs are expected to last as long as their walltime; those without one are expected never to end.

    Of the running jobs that end just when the first job is to start, those count as free that it needs, in the order of
    their start; Batsim's own EASY takes the one that started last first. So another number of hosts can be left to
    backfill, and the two decide differently, where jobs of unlike sizes end at the same time.

    A turn takes as long as the part of the queue that it looks at: as far as there are free hosts, and `depth` jobs.
    """

    depth: int | None = None
    """How many jobs behind the first one are looked at in a turn; None: all."""

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
        super().decide()  # all that can start in the order of the queue
        if self.queue and self.free:
            for job_id in self.backfill():
                del self.queue[job_id]

    def backfill(self) -> list[str]:
        """Start jobs that do not delay the first one; which. They are still in the queue, as it is being read."""
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
        """When a job would end that starts now."""
        return math.inf if job.walltime is None else self.now + job.walltime

    def reserve(self, job: Job) -> Reservation:
        """The earliest time at which enough of the running jobs will have ended."""
        free = len(self.free)
        for ending in self.endings:
            free += ending.hosts
            if free >= job.resource_request:
                return Reservation(ending.time, free - job.resource_request)
        return Reservation(math.inf, 0)
