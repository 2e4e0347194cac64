"""EASY backfilling: the first job of the queue gets a reservation, and later jobs may start if they do not delay it.

    batproto run examples/easy_backfilling.py:EASY -- batsim -p platform.xml -w workload.json \\
        --edc-socket-str {endpoint} ""
"""

from __future__ import annotations

import math
from typing import NamedTuple

from fcfs import FCFS

from batprotocol import Job, JobCompletedEvent


class Reservation(NamedTuple):
    """When the first job of the queue can start, and how many hosts it leaves free from then on."""

    start: float
    spare: int


class EASY(FCFS):
    """Jobs are expected to last as long as their walltime; those without one are expected never to end."""

    def __init__(self) -> None:
        super().__init__()
        self.expected_end: dict[str, float] = {}

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        super().on_job_completed(event)
        self.expected_end.pop(event.job_id, None)

    def decide(self) -> None:
        super().decide()  # all that can start in the order of the queue
        if not self.queue:
            return
        first, *others = self.queue.items()
        reservation = self.reserve(first[1])
        for job_id, job in others:
            if job.resource_request > len(self.free):
                continue
            if self.end_of(job) <= reservation.start:
                self.start(job_id)
            elif job.resource_request <= reservation.spare:
                self.start(job_id)
                reservation = reservation._replace(spare=reservation.spare - job.resource_request)

    def start(self, job_id: str) -> None:
        end = self.end_of(self.queue[job_id])
        super().start(job_id)
        if job_id in self.running:
            self.expected_end[job_id] = end

    def end_of(self, job: Job) -> float:
        """When a job would end that starts now."""
        return math.inf if job.walltime is None else self.now + job.walltime

    def reserve(self, job: Job) -> Reservation:
        """The earliest time at which enough of the running jobs will have ended."""
        free = len(self.free)
        for job_id in sorted(self.expected_end, key=self.expected_end.__getitem__):
            free += len(self.running[job_id])
            if free >= job.resource_request:
                return Reservation(self.expected_end[job_id], free - job.resource_request)
        return Reservation(math.inf, 0)
