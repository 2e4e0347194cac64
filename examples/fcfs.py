"""First come, first served: jobs start in the order of their submission, each on its own hosts, or the queue waits.

The command runs this file. Batsim does not start the scheduler itself:

    batproto run examples/fcfs.py:FCFS -- batsim -p platform.xml -w workload.json --edc-socket-str {endpoint} ""

`batprotocol.policies` has it, too, with queue orders, kinds of backfilling and allocations: `batproto simulate fcfs`.
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
    """The base class of the other examples, which override `decide`.

    The duration of a turn does not depend on the number of waiting jobs.
    """

    version = "1.0"
    # Batsim aborts on some jobs, for example on a job whose profile names a storage that the platform does not have.
    # `start` rejects such jobs. To find them, it needs their profiles.
    features = EDCRequestedSimulationFeatures(forward_profiles_on_job_submission=True)

    def __init__(self) -> None:
        self.free = Hosts()
        self.size = 0  # the number of hosts
        # An OrderedDict finds its first key at once; a dict walks over the places of all removed keys.
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
            self.queue.pop(event.job_id, None)  # another component started it, so it no longer waits

    def decide(self) -> None:
        while self.queue:
            job_id, job = next(iter(self.queue.items()))
            if job.resource_request > len(self.free):
                break
            del self.queue[job_id]
            self.start(job_id, job)

    def start(self, job_id: str, job: Job) -> None:
        """Execute a job on the first free hosts. There must be enough of them."""
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
