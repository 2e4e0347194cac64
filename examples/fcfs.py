"""First come, first served: jobs start in the order of their submission, each on hosts of its own, or the queue waits.

This file is what the command runs, in place of Batsim's own way to start a scheduler:

    batproto run examples/fcfs.py:FCFS -- batsim -p platform.xml -w workload.json --edc-socket-str {endpoint} ""
"""

from __future__ import annotations

import logging

from procset import ProcSet

from batprotocol import (
    EDCRequestedSimulationFeatures,
    Job,
    JobCompletedEvent,
    JobSubmittedEvent,
    SimulationBeginsEvent,
)
from batprotocol.edc import Scheduler
from batprotocol.errors import RuleViolation

logger = logging.getLogger("fcfs")


class FCFS(Scheduler):
    """The other examples derive from it: what differs is `decide`."""

    version = "1.0"
    # Batsim aborts on some jobs, for example on one whose profile names a storage that the platform does not have.
    # Which ones these are can only be told from their profiles: `start` rejects them.
    features = EDCRequestedSimulationFeatures(forward_profiles_on_job_submission=True)

    def __init__(self) -> None:
        self.hosts: ProcSet = ProcSet()
        self.free: ProcSet = ProcSet()
        self.queue: dict[str, Job] = {}
        self.running: dict[str, ProcSet] = {}

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        self.hosts = ProcSet(*(host.id for host in event.computation_hosts))
        self.free = self.hosts.copy()

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        if 0 < event.job.resource_request <= len(self.hosts):
            self.queue[event.job_id] = event.job
        else:
            self.reply.add_reject_job(event.job_id)  # it could never start

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        self.queue.pop(event.job_id, None)
        self.free |= self.running.pop(event.job_id, ProcSet())

    def decide(self) -> None:
        for job_id, job in list(self.queue.items()):
            if job.resource_request > len(self.free):
                break
            self.start(job_id)

    def start(self, job_id: str) -> None:
        """Execute a job on the first hosts that are free; there must be enough of them."""
        job = self.queue.pop(job_id)
        hosts = ProcSet(*self.free[: job.resource_request])
        try:
            self.reply.add_execute_job(job_id, hosts)
        except RuleViolation as violation:
            # Batsim would abort, for example because the profile names a storage that the platform does not have.
            logger.warning("%s is rejected: %s", job_id, violation)
            self.reply.add_reject_job(job_id)
        else:
            self.running[job_id] = hosts
            self.free -= hosts
