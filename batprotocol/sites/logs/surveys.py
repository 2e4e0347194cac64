"""A first look at a whole log: its period, its users, and how much of each host its jobs had at the same time.

The conversion to a workload needs this before the first job: the origin of times, the jobs that others wait for, ids
that come twice, and whether jobs share hosts.
"""

from __future__ import annotations

import heapq
import pickle
import struct
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from math import inf
from typing import IO, Final

import msgspec

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError
from batprotocol.sites.logs.jobs import Attempts, HostShare, LoggedJob, LoggedRun, run_id, runs_of, share_of
from batprotocol.workloads.columns import Hashes
from batprotocol.workloads.platform import natural_order
from batprotocol.workloads.requests.notation import parse_dependency

__all__ = [
    "Keyed",
    "Peak",
    "Survey",
    "in_order",
    "survey_of",
]


# Sorting of more values than fit into memory


Keyed = tuple[float, bytes, bytes]
"""A value to sort: two keys, and the value itself."""

_MOST_VALUES: Final = 50_000
_MOST_BYTES: Final = 1 << 24
_BATCH: Final = 500


def in_order(values: Iterable[Keyed], *, most_values: int = _MOST_VALUES) -> Iterator[Keyed]:
    """The values by their keys. If keys are equal, the values themselves are compared.

    Args:
        values: the values. They are all read before the first result.
        most_values: how many of them are kept in memory.

    >>> list(in_order([(2.0, b"a", b"x"), (1.0, b"b", b"y"), (1.0, b"a", b"z")], most_values=1))
    [(1.0, b'a', b'z'), (1.0, b'b', b'y'), (2.0, b'a', b'x')]

    Raises:
        OSError: a temporary file cannot be written.
    """
    with ExitStack() as stack:
        files: list[IO[bytes]] = []
        last: Keyed | None = None
        part: list[Keyed] = []
        size = 0
        for value in values:
            part.append(value)
            size += len(value[2])
            if len(part) >= most_values or size >= _MOST_BYTES:
                part.sort()
                if last is None or part[0] < last:  # a part that continues the one before stays in its file
                    files.append(stack.enter_context(tempfile.TemporaryFile()))
                last = part[-1]
                _write(files[-1], part)
                part, size = [], 0
        part.sort()
        for file in files:
            file.seek(0)
        yield from heapq.merge(*map(_read, files), part) if files else part


def _write(file: IO[bytes], values: list[Keyed]) -> None:
    for place in range(0, len(values), _BATCH):
        pickle.dump(values[place : place + _BATCH], file, pickle.HIGHEST_PROTOCOL)


def _read(file: IO[bytes]) -> Iterator[Keyed]:
    while True:
        try:
            batch: list[Keyed] = pickle.load(file)
        except EOFError:
            return
        yield from batch


_SHARED: Final = 0.01
"""Jobs share hosts if more than this share of placements overlap with another one. Fewer are faults of clocks."""

_RARE: Final = 0.01
"""A log names its hosts if no more than this share of runs has none."""

_HEAD: Final = struct.Struct("<dIId")


class Peak(msgspec.Struct, frozen=True, gc=False):
    """The most that jobs had of a host at the same time.

    Attributes:
        jobs: the number of jobs.
        cores: their cores; 0 if the log has none.
        memory: their memory in bytes; 0 if the log has none.
        gres: their generic resources.
    """

    jobs: int = 0
    cores: int = 0
    memory: int = 0
    gres: tuple[tuple[str, int], ...] = ()


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What a log has, as a whole. Times are in seconds since 1970 (UTC).

    Attributes:
        rows: the jobs of the log.
        runs: the runs that a workload can have.
        users: the number of users.
        first_submission: the submission of the first run; times of a workload count from it. 0 without runs.
        last_submission: the submission of the last run.
        last_end: the end of the last run.
        most_hosts: the hosts of the largest run.
        least_cores: the fewest cores that a run had on each host; 0 if the log has no cores for some run.
        most_cores: the most cores that a run had on each host.
        hosts: the most that was in use of each host, by its name, in the order in which Batsim
            numbers hosts.
        partitions: the hosts of each partition that jobs ran in, by their names; without names, none.
        peak_hosts: the most hosts that were in use at the same time; with names, the number of names.
        peak_cores: the most cores that were in use at the same time.
        unnamed: the runs without names of hosts.
        placements: runs, counted once for each of their hosts that has a name.
        overlaps: placements on a host that another run had at that time.
        twice: the hashes of ids that come twice.
        awaited: the ids of jobs and arrays of the log for which another job waits.
    """

    rows: int = 0
    runs: int = 0
    users: int = 0
    first_submission: float = 0.0
    last_submission: float = 0.0
    last_end: float = 0.0
    most_hosts: int = 0
    least_cores: int = 0
    most_cores: int = 0
    hosts: dict[str, Peak] = {}
    partitions: dict[str, frozenset[str]] = {}
    peak_hosts: int = 0
    peak_cores: int = 0
    unnamed: int = 0
    placements: int = 0
    overlaps: int = 0
    twice: frozenset[int] = frozenset()
    awaited: frozenset[str] = frozenset()

    @property
    def shares_hosts(self) -> bool:
        """Whether jobs had hosts together, by the names of their hosts."""
        return self.overlaps > self.placements * _SHARED

    @property
    def names_hosts(self) -> bool:
        """Whether the hosts of jobs have names: not if those of more than one job of a hundred have none."""
        return bool(self.hosts) and self.unnamed <= self.runs * _RARE


def survey_of(jobs: Iterable[LoggedJob], *, attempts: Attempts = "last") -> Survey:
    """Look at all jobs of a log.

    Args:
        jobs: the jobs.
        attempts: which attempts of a job are runs.

    Raises:
        OSError: a temporary file cannot be written.
    """
    look = _Look()
    usage = in_order(look.usages(runs_of(look.counted(jobs), LeftOut(), attempts)))
    sweep = _Sweep(look.shares)
    for start, _, value in usage:
        sweep.begin(start, value)
    hosts = sweep.peaks({name: look.names[name] for name in sorted(look.names, key=natural_order)})
    return Survey(
        rows=look.rows,
        runs=look.runs,
        users=len(look.users),
        first_submission=look.first if look.runs else 0.0,
        last_submission=look.last if look.runs else 0.0,
        last_end=look.end if look.runs else 0.0,
        most_hosts=look.most_hosts,
        least_cores=look.least_cores if look.runs else 0,
        most_cores=look.most_cores,
        hosts=hosts,
        partitions=look.named_partitions(),
        peak_hosts=len(hosts) or sweep.peak_hosts,
        peak_cores=sweep.peak_cores,
        unnamed=look.unnamed,
        placements=sweep.placements,
        overlaps=sweep.overlaps,
        twice=frozenset(look.ids.twice()),
        awaited=look.awaited,
    )


class _Look:
    """The totals of a log, job by job."""

    def __init__(self) -> None:
        self.rows = self.runs = self.unnamed = self.most_hosts = self.most_cores = 0
        self.least_cores: int = 2**63
        self.first, self.last, self.end = inf, -inf, -inf
        self.users: set[str] = set()
        self.names: dict[str, int] = {}
        self.shares: dict[HostShare, int] = {}
        self.ids = Hashes()
        self.partitions: dict[str, set[int]] = {}
        self._arrays = Hashes()
        self._array = ""
        self._awaited: set[str] = set()

    def counted(self, jobs: Iterable[LoggedJob]) -> Iterator[LoggedJob]:
        """The same jobs, counted."""
        for job in jobs:
            self.rows += 1
            if job.user is not None:
                self.users.add(job.user)
            yield job

    def usages(self, runs: Iterable[LoggedRun]) -> Iterator[Keyed]:
        """The hosts of each run by its start, in bytes: its end, its share, its cores, its hosts."""
        for run in runs:
            self._note(run)
            share = share_of(run)
            cores = share.cores or 0
            self.least_cores = min(self.least_cores, cores)
            self.most_cores = max(self.most_cores, cores)
            number = self.shares.setdefault(share, len(self.shares))
            names = self.names
            hosts = array("I", [names.setdefault(name, len(names)) for name in run.attempt.hosts])
            for partition in _names_in(run.job.partition):
                self.partitions.setdefault(partition, set()).update(hosts)
            total = run.job.cores or run.job.requested_cores or cores * run.host_count
            head = _HEAD.pack(run.ended, number, run.host_count, total)
            yield run.started, b"", head + hosts.tobytes()

    def _note(self, run: LoggedRun) -> None:
        self.runs += 1
        self.ids.add(run.id)
        submitted = run.attempt.submitted
        self.first, self.last, self.end = (
            min(self.first, submitted),
            max(self.last, submitted),
            max(self.end, run.ended),
        )
        self.unnamed += not run.attempt.hosts
        self.most_hosts = max(self.most_hosts, run.host_count)
        job = run.job
        if job.array is not None and job.array != self._array:
            self._array = job.array
            self._arrays.add(run_id(job.array))
        if job.dependency is not None:
            self._awaited.update(run_id(each) for each in _named(job.dependency))

    def named_partitions(self) -> dict[str, frozenset[str]]:
        """The hosts of each partition, by their names."""
        names = list(self.names)
        return {name: frozenset(names[host] for host in hosts) for name, hosts in sorted(self.partitions.items())}

    @property
    def awaited(self) -> frozenset[str]:
        """The jobs and arrays that other jobs wait for, and that the log has."""
        return frozenset(self.ids.known(self._awaited) | self._arrays.known(self._awaited))


@lru_cache(4096)
def _names_in(partition: str | None) -> tuple[str, ...]:
    """The partitions of a job, which may name several."""
    return tuple(filter(None, (name.strip() for name in partition.split(",")))) if partition else ()


@lru_cache(4096)
def _named(dependency: str) -> tuple[str, ...]:
    """The jobs that a dependency names; none if it cannot be read."""
    try:
        return tuple(each.job for each in parse_dependency(dependency).conditions if each.job)
    except InputError:
        return ()


class _Sweep:
    """The use of hosts, run by run in the order of their starts."""

    def __init__(self, shares: dict[HostShare, int]) -> None:
        self.placements = self.overlaps = self.peak_hosts = self.peak_cores = 0
        self._shares = shares
        self._by_number: list[HostShare] = []
        self._running: dict[int, list[tuple[float, int]]] = {}
        self._now: dict[int, list[int]] = {}  # jobs, cores, memory of a host
        self._most: dict[int, list[int]] = {}
        self._gres: dict[tuple[int, str], list[int]] = {}  # in use now, and the most
        self._all: list[tuple[float, int, int]] = []
        self._hosts = self._cores = 0

    def begin(self, start: float, usage: bytes) -> None:
        """A run begins; those that have ended by then give their hosts back."""
        if len(self._by_number) < len(self._shares):
            self._by_number = list(self._shares)
        end, number, count, cores = _HEAD.unpack_from(usage)
        hosts = array("I", usage[_HEAD.size :])
        self._begin_all(start, end, count, int(cores))
        for host in hosts:
            self._begin_on(host, start, end, number)

    def _begin_all(self, start: float, end: float, hosts: int, cores: int) -> None:
        running = self._all
        while running and running[0][0] <= start:
            _, fewer_hosts, fewer_cores = heapq.heappop(running)
            self._hosts -= fewer_hosts
            self._cores -= fewer_cores
        heapq.heappush(running, (end, hosts, cores))
        self._hosts += hosts
        self._cores += cores
        self.peak_hosts = max(self.peak_hosts, self._hosts)
        self.peak_cores = max(self.peak_cores, self._cores)

    def _begin_on(self, host: int, start: float, end: float, number: int) -> None:
        running = self._running.setdefault(host, [])
        now = self._now.setdefault(host, [0, 0, 0])
        while running and running[0][0] <= start:
            self._count(host, now, heapq.heappop(running)[1], -1)
        self.placements += 1
        self.overlaps += bool(running)
        heapq.heappush(running, (end, number))
        self._count(host, now, number, 1)
        most = self._most.setdefault(host, [0, 0, 0])
        for place, value in enumerate(now):
            if value > most[place]:
                most[place] = value

    def _count(self, host: int, now: list[int], number: int, sign: int) -> None:
        share = self._by_number[number]
        now[0] += sign
        now[1] += sign * (share.cores or 0)
        now[2] += sign * (share.memory or 0)
        for name, count in share.gres:
            used = self._gres.setdefault((host, name), [0, 0])
            used[0] += sign * count
            used[1] = max(used)

    def peaks(self, names: dict[str, int]) -> dict[str, Peak]:
        """The most that was in use of each host."""
        gres: dict[int, list[tuple[str, int]]] = {}
        for (host, name), (_, most) in self._gres.items():
            gres.setdefault(host, []).append((name, most))
        return {name: self._peak(host, tuple(sorted(gres.get(host, ())))) for name, host in names.items()}

    def _peak(self, host: int, gres: tuple[tuple[str, int], ...]) -> Peak:
        jobs, cores, memory = self._most[host]
        return Peak(jobs, cores, memory, gres)
