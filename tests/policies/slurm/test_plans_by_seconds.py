"""The loops of Slurm's policy on whole nodes, beside a table that has each node and each second."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.policies.slurm.cluster import ClusterPartition, cluster_of, members
from batprotocol.policies.slurm.loops import StartOutcome, run_backfill
from batprotocol.policies.slurm.queue import JobStage, NodeShare, SlurmJob, SlurmQueue
from batprotocol.policies.slurm.reservations import NodeReservation, NodeReservations
from batprotocol.policies.slurm.rules import SlurmRules
from batprotocol.policies.slurm.selection import Linear, NodeReleases, PossibleStart
from batprotocol.sites.slurm.configuration import SchedulerParameters, configuration_of

WITHOUT_ENGINE = True

NOW, COUNT, EVERYTHING = 100, 5, 0b11111
CLUSTER = cluster_of(configuration_of(f"NodeName=n[0-{COUNT - 1}] CPUs=1\nPartitionName=p Nodes=ALL"))
FIRST, LAST = ClusterPartition("first", 0b00111, tier=2), ClusterPartition("last", 0b11110)


class Nodes:
    """A controller of whole nodes: those that run, those that are reserved, and those that jobs are leaving."""

    second, preempts = NOW, False

    def __init__(self, running: list[tuple[int, int]], reserved: list[Reserved], down: int, completing: int) -> None:
        self.rules, self.reservations = SlurmRules(), NodeReservations(1, 0)
        self.available, self.completing, self.selection = EVERYTHING & ~down, completing, Linear(CLUSTER)
        self.running: list[SlurmJob] = []
        free = EVERYTHING & ~completing
        for number, (nodes, length) in enumerate(running):
            if nodes & free:
                job = SlurmJob(f"r{number}", -number - 1, 0.0, (FIRST,), 10)
                job.placement, job.end = NodeShare(nodes & free, {}), float(NOW + length)
                self.selection.take(job)
                self.running.append(job)
                free &= ~nodes
        for number, each in enumerate(reserved):
            begin = NOW + each.after
            users = ("u",)
            self.reservations.add(NodeReservation.of(f"r{number}", each.nodes, begin, begin + each.length, users=users))

    @property
    def open(self) -> int:
        return self.available & self.selection.open

    @property
    def idle(self) -> int:
        return self.available & ~self.selection.used

    def possible_start(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, now: int, late: int
    ) -> PossibleStart | None:
        return self.selection.earliest(job, partition, nodes, now, late=late)

    def frees(self, job: SlurmJob, partition: ClusterPartition) -> NodeReleases | None:
        return None if self.reservations.names() else self.selection.frees(job, partition)

    def try_start(self, job: SlurmJob, partition: ClusterPartition, nodes: int) -> str:
        return self.start_on(job, partition, nodes & partition.nodes & job.allowed, job.limit)

    def start_on(self, job: SlurmJob, partition: ClusterPartition, nodes: int, minutes: float) -> str:
        found = self.selection.now(job, partition, nodes & ~self.completing)
        if found is None:
            return StartOutcome.BUSY
        job.placement, job.stage, job.partition = found, JobStage.RUNNING, partition
        job.end = self.second + 60 * minutes
        self.selection.take(job)
        return StartOutcome.STARTED


class Reserved(NamedTuple):
    """A reservation for others: seconds from now to its begin, its length, and its nodes."""

    after: int
    length: int
    nodes: int


class Waiting(NamedTuple):
    """A job that waits: its number of nodes, its minutes, the nodes that it may and must have, and its partition."""

    size: int
    minutes: int
    allowed: int
    required: int
    partition: ClusterPartition


SOME = st.integers(1, EVERYTHING)
RUNNING = st.lists(st.tuples(SOME, st.integers(1, 400)), max_size=4)
RESERVED = st.lists(st.builds(Reserved, st.integers(-50, 300), st.integers(60, 200), SOME), max_size=2)
WAITING = st.lists(
    st.builds(
        Waiting,
        st.integers(1, 4),
        st.integers(1, 4),
        SOME | st.just(EVERYTHING),
        st.sampled_from([0, 0, 1, 4, 6]),
        st.sampled_from([FIRST, LAST]),
    ),
    max_size=6,
)
DOWN = st.sampled_from([0, 0, 0b1, 0b1010])


def queue_of(waiting: list[Waiting]) -> tuple[SlurmQueue, list[SlurmJob]]:
    queue, jobs = SlurmQueue(), []
    for number, each in enumerate(waiting):
        job = SlurmJob(str(number), number, 0.0, (each.partition,), each.minutes)
        job.priority = {each.partition.name: 100 - number}
        job.min_nodes, job.allowed, job.eligible = each.size, each.allowed, 0.0
        job.required = each.required if each.required.bit_count() <= each.size else 0
        queue.add(job, job.partitions)
        jobs.append(job)
    return queue, jobs


def in_turn(jobs: list[SlurmJob]) -> list[SlurmJob]:
    """The jobs of the higher partition come first."""
    return sorted(jobs, key=lambda job: (-job.partitions[0].tier, job.number))


Table = dict[int, set[int]]
"""The seconds in which each node is not free."""


def table_of(nodes: Nodes, reserved: list[Reserved]) -> Table:
    """The seconds of jobs that run, of nodes that are down, and of reservations with one second more."""
    table: Table = {node: set() for node in range(COUNT)}
    for node in range(COUNT):
        if not nodes.available >> node & 1:
            table[node] |= set(range(NOW, NOW + 5000))
        if nodes.completing >> node & 1:
            table[node].add(NOW)
    for job in nodes.running:
        assert job.placement is not None
        for node in members(job.placement.nodes):
            table[node] |= set(range(NOW, int(job.end)))
    for each in reserved:
        for node in members(each.nodes):
            table[node] |= set(range(max(NOW + each.after, NOW), NOW + each.after + each.length + 1))
    return table


def first_start(table: Table, job: SlurmJob, length: int) -> int | None:
    """The first second from which enough nodes are free for a job for so many seconds."""
    usable = job.partitions[0].nodes & job.allowed
    for second in range(NOW, NOW + 2500):
        span = range(second, second + length)
        free = [node for node in members(usable & EVERYTHING) if table[node].isdisjoint(span)]
        if len(free) >= job.min_nodes and set(members(job.required)) <= set(free):
            return second
    return None


@settings(max_examples=60, deadline=None)
@given(RUNNING, RESERVED, WAITING, DOWN, DOWN)
def test_the_second_loop_plans_each_job_as_soon_as_its_nodes_are_free(
    running: list[tuple[int, int]], reserved: list[Reserved], waiting: list[Waiting], down: int, completing: int
) -> None:
    """A job has nodes that nobody else has then. No second before has enough of them, with one to spare.

    A plan on a node that a job is leaving is for the next second. A job does not start within a reservation for others.
    As in Slurm, a plan behind running jobs may be within one.
    """
    nodes = Nodes(running, reserved, down, completing & ~down)
    queue, jobs = queue_of(waiting)
    table, loose = table_of(nodes, []), table_of(nodes, reserved)
    result = run_backfill(queue, nodes, SchedulerParameters(bf_resolution=1), NOW, 0, is_quick=False)
    for job in in_turn(jobs):
        length = int(60 * job.limit)
        soonest, surely = first_start(table, job, length), first_start(loose, job, length + 1)
        if job.stage is JobStage.RUNNING:
            assert job.placement is not None
            start, taken = NOW, job.placement.nodes
            assert not any(
                taken & each.nodes and each.after < length and each.after + each.length > 0 for each in reserved
            )
        else:
            start, taken = int(job.planned), job.planned_nodes
        assert bool(taken) == (soonest is not None)
        if soonest is None:
            continue
        assert surely is not None
        assert soonest <= start <= surely
        assert taken & ~(job.partitions[0].nodes & job.allowed) == 0
        assert taken.bit_count() == job.min_nodes
        assert job.required & ~taken == 0
        for node in members(taken):
            assert table[node].isdisjoint(range(start, start + length))
            table[node] |= set(range(start, start + length))
            loose[node] |= set(range(start, start + length))
    assert result.started == sum(job.stage is JobStage.RUNNING for job in jobs)
