"""The first loop: jobs in order, and each partition only up to its first job that lacks nodes."""

from __future__ import annotations

from typing import Protocol

from batprotocol.policies.slurm.jobs import SlurmJob, Stage
from batprotocol.policies.slurm.queue import Queue
from batprotocol.policies.slurm.rules import Rules
from batprotocol.policies.slurm.values import Partition
from batprotocol.sites.slurm.configuration import Scheduler

__all__ = ["Outcome", "Starter", "run_main"]


class Outcome:
    """The outcomes of the attempt to start a job."""

    STARTED = "started"
    BUSY = "busy"
    """It lacks nodes, so the jobs behind it wait, too."""
    PREEMPTS = "preempts"
    """Other jobs give way to it. Until it starts, it is as if it lacked nodes, and no other partition is tried."""
    SKIPPED = "skipped"
    """It waits for something else; the jobs behind it do not wait for it."""
    LIMITED = "limited"
    """A limit of an association or a quality of service keeps it waiting."""


class Starter(Protocol):
    """The side of the controller that the loop uses."""

    @property
    def available(self) -> int:
        """The nodes that are neither down nor drained."""

    @property
    def second(self) -> int:
        """The time in whole seconds."""

    rules: Rules
    """The rules that keep jobs waiting although there are nodes."""

    def try_start(self, job: SlurmJob, partition: Partition, nodes: int) -> str:
        """Start a job if that is possible now; returns an `Outcome`."""


def run_main(
    queue: Queue, starter: Starter, loops: Scheduler, *, is_full: bool, is_quick: bool = True
) -> tuple[int, bool]:
    """Run the loop once.

    Args:
        queue: the queue.
        starter: what it may do.
        loops: its parameters.
        is_full: whether it tries the whole queue.
        is_quick: whether it ends as soon as no more job can start.

    Returns:
        How many jobs have started, and whether it has looked at a job at all.
    """
    return _Run(starter, loops).run(queue, is_full, is_quick)


class _Run:
    """One run of the loop."""

    def __init__(self, starter: Starter, loops: Scheduler) -> None:
        self.starter, self.loops = starter, loops
        self.nodes = starter.available
        self.failed: set[str] = set()
        self.failed_reservations: set[str] = set()
        self.preempting: set[SlurmJob] = set()
        self.started = 0
        self.has_tried = False

    def run(self, queue: Queue, is_full: bool, is_quick: bool) -> tuple[int, bool]:
        loops = self.loops
        rejected: tuple[str | None, str, str] | None = None
        depth, in_partition = 0, dict[str, int]()
        for _, job, partition in queue.snapshot():
            if job.stage is not Stage.PENDING or job.waits_for_room or job in self.preempting:
                continue
            array = (job.array, partition.name, job.reservation)
            if job.array is not None and array == rejected:
                continue
            if loops.partition_job_depth:
                count = in_partition[partition.name] = in_partition.get(partition.name, 0) + 1
                if count > loops.partition_job_depth:
                    continue
            if not is_full and depth > loops.default_queue_depth:
                break
            depth += 1
            if loops.sched_max_job_start and self.started >= loops.sched_max_job_start:
                break
            if is_quick and not self.nodes and not job.reservation:
                break
            rejected = array if job.array is not None else rejected
            if self._try(job, partition) and rejected == array:
                rejected = None
        return self.started, self.has_tried

    def _try(self, job: SlurmJob, partition: Partition) -> bool:
        starter = self.starter
        if not starter.rules.array_may_start(job):
            return False
        self.has_tried = True
        if job.reservation:
            if job.reservation in self.failed_reservations:
                return False
        elif partition.name in self.failed:
            return False
        was_limited = bool(job.reason)
        if not starter.rules.may_start(job, partition):
            if self.loops.assoc_limit_stop and not was_limited:
                self._fail(job, partition)
            return False
        if starter.rules.lacks_licenses(job, starter.second):
            return False
        if job.required & ~self.nodes:
            return False  # a job before it waits for these nodes, or they are down: those behind it do not wait for it
        if (self.nodes & partition.nodes).bit_count() < job.min_nodes:
            outcome = Outcome.LIMITED if starter.rules.is_limited(job, partition) else Outcome.BUSY
        else:
            outcome = starter.try_start(job, partition, self.nodes)
        if outcome == Outcome.STARTED:
            self.started += 1
            return True
        if outcome == Outcome.PREEMPTS:
            self.preempting.add(job)
        if job.required and job.required.bit_count() >= job.min_nodes:
            self.nodes &= ~job.required
        elif outcome in (Outcome.BUSY, Outcome.PREEMPTS) or (
            outcome == Outcome.LIMITED and self.loops.assoc_limit_stop
        ):
            self._fail(job, partition)
        return False

    def _fail(self, job: SlurmJob, partition: Partition) -> None:
        """No more jobs of the partition start, nor others on its nodes."""
        if job.reservation:
            self.failed_reservations.add(job.reservation)
            return
        least = self.loops.bf_min_prio_reserve
        if least and job.priority[partition.name] < least:
            return
        age = self.loops.bf_min_age_reserve
        if age and self.starter.second - job.eligible < age:
            return
        self.failed.add(partition.name)
        self.nodes &= ~partition.nodes
