"""The jobs of a site: what each takes of its hosts, and the partitions in which it can run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from batprotocol.model import Job, Profile
from batprotocol.model.free_hosts import FrozenHosts
from batprotocol.policies.jobs import RunningJob, WaitingJob
from batprotocol.policies.site.lanes import Lane
from batprotocol.policies.site.pool import Amount, Pool, fits
from batprotocol.policies.site.runs import Life, Run
from batprotocol.workloads.requests import Allocated, Request
from batprotocol.workloads.requests.notation import in_workload_of
from batprotocol.workloads.requests.offers import needs_of

__all__ = ["Entry", "Kind", "Ranked", "Ranking", "SiteJob", "SiteRunning", "allocated_by"]


class SiteJob(WaitingJob):
    """A job that waits on a site.

    Attributes:
        request: what it asks for.
        amount: what it takes of each of its hosts.
        is_whole: whether it has its hosts for itself.
        cores: the cores that it takes of all hosts together, at the least.
        gpus: the generic resources named `gpu` that it takes of all hosts together.
        entries: its entries in the queue, one for each partition that it can run in.
        first_id: its id when it was submitted first; it has another one when it runs again.
        life: the job over all of its runs; None as long as it has not run again.
        run: its current run; None: that which was submitted.
        profile: its profile, if Batsim forwards profiles.
        lost: seconds of work that were lost when it gave way before.
        eligible: when it could have started first: after its submission, its begin, its dependencies and its wait for
            a better time.
        since: when it could have started first without a wait for a better time.
        until: the time at which it waits for a better time again; infinity: it does not.
        ran: the seconds that it ran before it was interrupted to wait for a better time.
        total: the seconds that it was expected to run in all, before it was interrupted.
    """

    __slots__ = (
        *("amount", "cores", "eligible", "entries", "first_id", "gpus", "is_whole", "life", "lost", "profile"),
        *("ran", "request", "run", "since", "total", "until"),
    )

    def __init__(self, id: str, job: Job, number: int, submitted: float, request: Request) -> None:
        super().__init__(id, job, number, submitted)
        self.request = request
        self.amount: Amount = ()
        self.is_whole = True
        self.cores = self.gpus = 0
        self.entries: list[Entry] = []
        self.first_id = id
        self.life: Life | None = None
        self.run: Run | None = None
        self.profile: Profile | None = None
        self.lost = 0.0
        self.eligible = submitted
        self.since = submitted
        self.until = math.inf
        self.ran = self.total = 0.0

    @property
    def array(self) -> str:
        """The full id of the array that the job is a task of; "" if there is none."""
        if self.request.array is None:
            return ""
        return in_workload_of(self.first_id, self.request.array.array)


Ranked: TypeAlias = "tuple[Any, int, Entry]"
"""The key, the entry's number, by which no two are equal, and the entry."""


class Ranking(Protocol):
    """Entries in order."""

    def add(self, entry: Entry, key: Any) -> None:
        """Add an entry, with its key where that lasts."""

    def remove(self, entry: Entry) -> None:
        """Remove an entry."""

    def in_order(self, now: float) -> Iterator[Ranked]:
        """The entries, in order. Those that are removed meanwhile may still come."""


class Kind:
    """Jobs that can have the same hosts and take the same amount of each.

    Attributes:
        amount: what they take of each host.
        hosts: the hosts that they can have.
        fitting: those of them that have room now.
        fitted: how often those have changed.
        bit: its bit in the sieve of all kinds.
        entries: the entries of the queue that are of this kind.
        added: how many of them were added so far.
        ranking: the same in the order of the queue; None if each decision sorts them.
    """

    __slots__ = ("added", "amount", "bit", "entries", "fitted", "fitting", "hosts", "ranking")

    def __init__(
        self,
        amount: Amount,
        hosts: frozenset[int],
        free: Mapping[int, Amount],
        ranking: Ranking | None = None,
        bit: int = 0,
    ) -> None:
        self.amount = amount
        self.bit = bit
        self.hosts = hosts
        self.fitting = {host for host in hosts if fits(amount, free[host])}
        self.fitted = 0
        self.entries: dict[int, Entry] = {}
        self.added = 0
        self.ranking = ranking

    def turn(self, host: int) -> None:
        """A host has space now where it had none, or none where it had some."""
        self.fitted += 1
        self.fitting.symmetric_difference_update((host,))


class Entry:
    """A job in one of the partitions that it can run in.

    Attributes:
        job: the job.
        partition: the name of the partition; "" where there are none.
        tier: its priority tier.
        lane: the reservation in which it would run; None: it would run in none.
        place: where it is in turn: the entries of a partition, or of a reservation, are in one line.
        kind: the jobs that it is alike.
        number: a number that no other entry has.
        expected: seconds that the job is expected to run there.
        limit: seconds after which it is killed there; infinity: never.
        cores: the most cores that it can take there of all hosts together.
        pace: the fastest pace at which it can ever run, which is that of its reservations; 0: the usual one.
        start: the time of its reservation; infinity if it has none.
        reserved: the hosts of its reservation.
        could: the hosts that were possible for its reservation, with what was free on them then.
    """

    __slots__ = (
        *("cores", "could", "expected", "job", "kind", "lane", "limit", "number", "pace", "partition", "place"),
        *("reserved", "start", "tier"),
    )

    def __init__(
        self, job: SiteJob, partition: str, tier: int, kind: Kind, number: int, lane: Lane | None = None
    ) -> None:
        self.job = job
        self.partition = partition
        self.lane = lane
        self.place = partition if lane is None else lane.place
        self.tier = tier
        self.kind = kind
        self.number = number
        self.expected = job.expected
        self.limit = job.walltime
        self.cores = self.pace = 0
        self.start = math.inf
        self.reserved: list[int] = []
        self.could: dict[int, Amount] = {}

    @property
    def choice(self) -> tuple[object, ...]:
        """What decides which of some hosts it gets: entries with equal ones have the same choices."""
        request = self.job.request
        return self.kind, self.job.size, request.contiguous, request.constraint, request.nodelist


class SiteRunning(RunningJob):
    """A job that runs on a site.

    Attributes:
        entry: the entry of the queue by which it started.
        members: the numbers of its hosts.
        cores: the cores that it takes of all hosts together.
        is_giving_way: whether it is being preempted.
        is_killed: whether it was killed, and has not ended yet.
        missing: the hosts that are not on yet: it runs when all are.
        cause: why it is being killed: a key of `batprotocol.workloads.requests.usage.ENDS`; "": it is not.
        priority: its priority when it started: the order in which jobs give way can depend on it.
    """

    __slots__ = ("cause", "cores", "entry", "is_giving_way", "is_killed", "members", "missing", "priority")

    def __init__(self, entry: Entry, members: list[int], hosts: FrozenHosts, started: float, place: int) -> None:
        super().__init__(entry.job, hosts, started, place)
        self.entry = entry
        self.members = members
        self.cores = entry.cores
        self.is_giving_way = self.is_killed = False
        self.cause = ""
        self.missing: set[int] = set()
        self.priority: float = entry.job.request.priority or 0
        self.end = started + entry.expected


def allocated_by(
    running: RunningJob,
    job: SiteJob,
    amount: Amount,
    partition: str,
    pool: Pool,
    parts: Mapping[int, Amount] | None = None,
) -> Allocated:
    """The amounts that a started job takes of its hosts.

    Args:
        running: the job with its hosts.
        job: the same job before its start.
        amount: what it takes of each host.
        partition: the partition that it runs in; "" without partitions.
        pool: what there is on each host.
        parts: what it takes of each host, if hosts give it different amounts.
    """
    _, cores, memory, *_ = amount
    whole = cores == 0
    hosts, capacity = running.hosts, pool.capacity
    taken = dict.fromkeys(hosts, amount) if parts is None else parts
    memory_share, gpu_share = pool.shares(taken)
    return Allocated(
        job_id=job.id,
        first_id=job.first_id,
        starting_time=running.started,
        partition=partition,
        hosts=hosts.text,
        cores=cores,
        memory=memory,
        gres=() if whole else needs_of(job.request, job.size).gres,
        whole=whole,
        held=len(hosts) if whole else math.fsum(part[1] / capacity[host][1] for host, part in taken.items()),
        memory_share=memory_share,
        gpu_share=gpu_share,
    )
