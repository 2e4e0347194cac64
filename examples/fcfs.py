"""First come, first served: jobs start in the order of their submission, each on hosts of its own, or the queue waits.

This file is what the command runs, in place of Batsim's own way to start a scheduler:

    batproto run examples/fcfs.py:FCFS -- batsim -p platform.xml -w workload.json --edc-socket-str {endpoint} ""

With other orders, kinds of backfilling and choices of hosts it is in `batprotocol.policies`: `batproto simulate fcfs`.
"""

from __future__ import annotations

import logging
from collections import OrderedDict

from batprotocol import (
    EDCRequestedSimulationFeatures,
    FrozenHosts,
    Hosts,
    Job,
    JobCompletedEvent,
    JobSubmittedEvent,
    SimulationBeginsEvent,
)
from batprotocol.edc import Scheduler
from batprotocol.errors import RuleViolation

logger = logging.getLogger("fcfs")


class FCFS(Scheduler):
    """The other examples derive from it: what differs is `decide`.

    A turn takes the same time however many jobs wait.
    """

    version = "1.0"
    # Batsim aborts on some jobs, for example on one whose profile names a storage that the platform does not have.
    # Which ones these are can only be told from their profiles: `start` rejects them.
    features = EDCRequestedSimulationFeatures(forward_profiles_on_job_submission=True)

    def __init__(self) -> None:
        self.free = Hosts()
        self.size = 0  # how many hosts there are
        # The first key of an OrderedDict is found at once, that of a dict behind the places of all that were taken out.
        self.queue: OrderedDict[str, Job] = OrderedDict()
        self.running: dict[str, FrozenHosts] = {}

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        self.free = Hosts(host.id for host in event.computation_hosts)
        self.size = len(self.free)

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        if 0 < event.job.resource_request <= self.size:
            self.queue[event.job_id] = event.job
        else:
            self.reply.add_reject_job(event.job_id)  # it could never start

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        hosts = self.running.pop(event.job_id, None)
        if hosts is not None:
            self.free.give_back(hosts)
        else:
            self.queue.pop(event.job_id, None)  # whoever started it, it does not wait any more

    def decide(self) -> None:
        while self.queue:
            job_id, job = next(iter(self.queue.items()))
            if job.resource_request > len(self.free):
                break
            del self.queue[job_id]
            self.start(job_id, job)

    def start(self, job_id: str, job: Job) -> None:
        """Execute a job on the first hosts that are free; there must be enough of them."""
        hosts = self.free.take(job.resource_request)
        try:
            self.reply.add_execute_job(job_id, hosts)
        except RuleViolation as violation:
            # Batsim would abort, for example because the profile names a storage that the platform does not have.
            logger.warning("%s is rejected: %s", job_id, violation)
            self.reply.add_reject_job(job_id)
            self.free.give_back(hosts)
        else:
            self.running[job_id] = hosts
