"""First come, first served: jobs start in the order of their submission, each on hosts of its own, or the queue waits.

This file is what the command runs, in place of Batsim's own way to start a scheduler:

    batproto run examples/fcfs.py:FCFS -- batsim -p platform.xml -w workload.json --edc-socket-str {endpoint} ""
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable

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


def bits(hosts: Iterable[int]) -> int:
    """A set of hosts as one int, whose bit n stands for host n: quick to change, to count and to copy.

    >>> bin(bits([0, 1, 4]))
    '0b10011'
    """
    return sum(1 << host for host in hosts)


def lowest(hosts: int, count: int) -> tuple[int, str]:
    """So many of these hosts, of which there must be enough, the lowest ones; as bits, and as Batsim reads them.

    >>> lowest(bits([0, 1, 4, 5, 6]), 3)
    (19, '0-1 4')
    """
    chosen, intervals = 0, []
    while count:
        lowest_bit = hosts & -hosts
        interval = hosts & ~(hosts + lowest_bit)  # adding to the lowest of some ones in a row makes all of them zeros
        if interval.bit_count() > count:
            interval = lowest_bit * ((1 << count) - 1)
        first, last = lowest_bit.bit_length() - 1, interval.bit_length() - 1
        intervals.append(f"{first}-{last}" if first < last else f"{first}")
        chosen |= interval
        hosts ^= interval
        count -= last - first + 1
    return chosen, " ".join(intervals)


class FCFS(Scheduler):
    """The other examples derive from it: what differs is `decide`.

    A turn takes the same time however many jobs wait.
    """

    version = "1.0"
    # Batsim aborts on some jobs, for example on one whose profile names a storage that the platform does not have.
    # Which ones these are can only be told from their profiles: `start` rejects them.
    features = EDCRequestedSimulationFeatures(forward_profiles_on_job_submission=True)

    def __init__(self) -> None:
        self.hosts = 0  # all of them, see `bits`
        self.free = 0
        # The first key of an OrderedDict is found at once, that of a dict behind the places of all that were taken out.
        self.queue: OrderedDict[str, Job] = OrderedDict()
        self.running: dict[str, int] = {}

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        self.hosts = self.free = bits(host.id for host in event.computation_hosts)

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        if 0 < event.job.resource_request <= self.hosts.bit_count():
            self.queue[event.job_id] = event.job
        else:
            self.reply.add_reject_job(event.job_id)  # it could never start

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        self.queue.pop(event.job_id, None)
        self.free |= self.running.pop(event.job_id, 0)

    def decide(self) -> None:
        while self.queue:
            job_id, job = next(iter(self.queue.items()))
            if job.resource_request > self.free.bit_count():
                break
            del self.queue[job_id]
            self.start(job_id, job)

    def start(self, job_id: str, job: Job) -> None:
        """Execute a job on the first hosts that are free; there must be enough of them."""
        hosts, text = lowest(self.free, job.resource_request)
        try:
            self.reply.add_execute_job(job_id, text)
        except RuleViolation as violation:
            # Batsim would abort, for example because the profile names a storage that the platform does not have.
            logger.warning("%s is rejected: %s", job_id, violation)
            self.reply.add_reject_job(job_id)
        else:
            self.running[job_id] = hosts
            self.free ^= hosts
