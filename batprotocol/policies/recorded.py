"""The policy `recorded`: jobs start when and where a log says, in `recorded` of their extra data.

Jobs start in the order of their recorded starts. A job whose hosts are busy holds them back for itself, so it starts
as soon as they are free, and the jobs behind it cannot take them meanwhile.

Slurm fills hosts with the cores of a job, one after the other, and a log has only their sum. While Slurm cleans up
after a job, the next one gets fewer cores of a host than were free by the log. So the division of a running job is a
guess, which changes when another job needs the cores.
"""

from __future__ import annotations

import logging
import math
from bisect import insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple, TypeAlias

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState, Host, JobSubmittedEvent
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies.availability import Amount, Pool, fits
from batprotocol.policies.driver import Actions, Driver
from batprotocol.policies.jobs import RunningJob, SiteJob, State, allocated_by
from batprotocol.policies.site.rules import mapping_of
from batprotocol.workloads.requests import Allocated, read_request
from batprotocol.workloads.requests import OfferedHosts as Machine
from batprotocol.workloads.requests.offers import needs_of

__all__ = ["Conflict"]


HostAmounts: TypeAlias = "dict[int, Amount]"
"""The amount that a job takes of each of its hosts."""


def division(hosts: Collection[int], cores: int, share: Amount, free: Mapping[int, Amount]) -> HostAmounts | None:
    """The amounts that a job takes of its hosts, in order: all free cores, but one is kept for each other host.

    Its memory goes with its cores, or else is the same on each host.

    Args:
        hosts: its hosts, in order.
        cores: its cores on all of them together.
        share: what it would take of each host if it took the same of each.
        free: what is free on each host.

    Returns:
        the amounts; None if they do not fit.
    """
    _, _, memory, *others = share
    for goes_along in (True, False):
        rest, parts = cores, {}
        for after, host in zip(range(len(hosts) - 1, -1, -1), hosts, strict=True):
            count = min(free[host][1], rest - after)
            part = (1, count, memory * len(hosts) * count // cores if goes_along else memory, *others)
            if count < 1 or not fits(part, free[host]):
                break
            rest -= count
            parts[host] = part
        if not rest:
            return parts
    return None


class PackedJobs:
    """The running jobs whose cores fill their hosts.

    Args:
        pool: the free amounts of the hosts, which this class changes.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._parts: dict[str, HostAmounts] = {}
        self._on: dict[int, dict[str, None]] = {}

    def parts_for(self, hosts: Collection[int], cores: int, share: Amount) -> HostAmounts | None:
        """What a job can take of its hosts now, also where other jobs must have their cores on other hosts for it."""
        parts = division(hosts, cores, share, self._pool.free)
        if parts is None and any(host in self._on for host in hosts):
            _, _, memory, *others = share
            each = memory * len(hosts) // cores
            for wanted in (1, cores):
                for host in hosts:
                    count = min(wanted, self._pool.capacity[host][1])
                    self.make_room(host, (1, count, each * count, *others), hosts)
            parts = division(hosts, cores, share, self._pool.free)
        return parts

    def take(self, job_id: str, parts: HostAmounts) -> None:
        """A job starts."""
        self._parts[job_id] = parts
        for host, part in parts.items():
            self._pool.take([host], part)
            self._on.setdefault(host, {})[job_id] = None

    def give_back(self, job_id: str) -> bool:
        """A job has ended. False if it is none of these."""
        parts = self._parts.pop(job_id, None)
        if parts is None:
            return False
        for host, part in parts.items():
            self._pool.give_back([host], part)
            del self._on[host][job_id]
            if not self._on[host]:
                del self._on[host]
        return True

    def make_room(self, host: int, needed: Amount, avoided: Iterable[int] = ()) -> bool:
        """Divide running jobs in another way, until an amount is free on a host. Whether it is in the end.

        Args:
            host: the host.
            needed: the amount.
            avoided: hosts that no cores are moved to.
        """
        free, avoided = self._pool.free, {host, *avoided}
        for job_id in self._on.get(host, ()):
            parts = self._parts[job_id]
            each = parts[host][2] // parts[host][1]
            for other in [number for number in parts if number not in avoided]:
                if fits(needed, free[host]):
                    return True
                wanted = max(needed[1] - free[host][1], -((free[host][2] - needed[2]) // each) if each else 0)
                room = min(free[other][1], free[other][2] // each) if each else free[other][1]
                count = min(wanted, parts[host][1] - 1, room)
                if count > 0:
                    self._change(parts, host, -count, each)
                    self._change(parts, other, count, each)
        return fits(needed, free[host])

    def _change(self, parts: HostAmounts, host: int, cores: int, each: int) -> None:
        own, had, memory, *others = parts[host]
        self._pool.give_back([host], parts[host])
        parts[host] = (own, had + cores, memory + cores * each, *others)
        self._pool.take([host], parts[host])


logger = logging.getLogger("batprotocol.policies")

BUSY: Final = "its hosts were busy"
ABSENT: Final = "its hosts are not on the platform"
TOO_SMALL: Final = "its hosts have less than it asks for"
OTHER_NUMBER: Final = "it asks for another number of hosts"
LATE: Final = "it was submitted after its recorded start"


class Conflict(NamedTuple):
    """A job that could not start when and where the log says.

    Attributes:
        job_id: the job.
        recorded: its recorded start, in seconds.
        started: when it started, in seconds.
        reason: why, as the end of a sentence.
    """

    job_id: str
    recorded: float
    started: float
    reason: str

    @property
    def delay(self) -> float:
        """How much later it started, in seconds."""
        return self.started - self.recorded


class _RecordedJob(SiteJob):
    """A job that waits.

    Attributes:
        start: when it starts: its recorded start, or the time of its submission.
        recorded: its recorded start; None if it has none.
        wanted: the hosts that it gets; None: any.
        reason: why it cannot start when and where the log says; "" so far.
        packed: its cores, if they fill its hosts one after the other; None if it has as many of each.
        parts: what it has of each host, if that differs.
    """

    __slots__ = ("packed", "parts", "reason", "recorded", "start", "wanted")

    start: float
    recorded: float | None
    wanted: FrozenHosts | None
    reason: str
    packed: int | None
    parts: HostAmounts | None


_Place = tuple[float, int, _RecordedJob]
"""The recorded start (infinity: it has none), a number by which no two are equal, and the job."""


class RecordedStarts(Driver):
    """Starts jobs when and where a log says.

    Jobs without a recording start in the order of their submissions, when enough hosts are free and no recorded job
    waits for hosts. Jobs that ask for cores, memory or generic resources share hosts. Partitions, dependencies
    and all else that jobs ask for have no effect: the log decides.

    Args:
        hosts: the computation hosts.
        state: the policy's state.
        actions: carry out the decisions.
    """

    def __init__(self, hosts: Iterable[Host], state: State, actions: Actions) -> None:
        self._state, self._actions = state, actions
        self._pool = Pool(Machine(hosts).offers)
        self._packed = PackedJobs(self._pool)
        self._numbers = sorted(self._pool.capacity)
        self._all = frozen_hosts(self._numbers)
        self._idle = Hosts(self._numbers)
        self._sharing: dict[int, int] = {}  # how many jobs share a host, where any do
        self._later: list[_Place] = []
        self._due: list[_Place] = []
        self._running: dict[str, RunningJob] = {}
        self._ends: list[str] = []
        self._changed = self._has_recordings = False
        self._count = 0
        self.conflicts: list[Conflict] = []
        """The jobs that could not start when and where the log says, in the order of their starts."""
        self._allocated: list[Allocated] = []
        self._has_shared = False

    @property
    def allocated(self) -> Sequence[Allocated]:
        return self._allocated if self._has_shared else ()

    # Events

    def submitted(self, event: JobSubmittedEvent, number: int, time: float) -> None:
        try:
            request = read_request(event.job.extra_data)
        except InputError as error:
            self._actions.reject(event.job_id, error)
            return
        job = _RecordedJob(event.job_id, event.job, number, time, request)
        job.profile = None if event.profile is None else event.profile.profile
        recording = request.recorded
        job.wanted = None if recording is None else recording.hosts
        job.packed = job.parts = None
        if recording is not None and job.size > 1 and not request.is_whole:
            job.packed = recording.cores
        refusal = self._refusal(job)
        if refusal is not None:
            self._actions.reject(job.id, refusal)
            return
        self._count += 1
        self._has_recordings |= recording is not None
        job.recorded = None if recording is None else recording.start
        if job.reason:
            job.wanted = None
        job.start = time if job.recorded is None else max(time, job.recorded)
        if job.recorded is not None and job.start - job.recorded > self._state.resolution:
            job.reason = job.reason or LATE
        heappush(self._later, (job.start, number, job))

    def ended(self, job_id: str, state: FinalJobState) -> None:
        self._ends.append(job_id)

    def no_more(self) -> None:
        if self._count and not self._has_recordings:
            logger.warning(
                "no job has a recorded start, so all start in turn: read a log with ?recorded=yes, or give recorded in "
                "the extra data of jobs"
            )

    def decide(self) -> None:
        for job_id in self._ends:
            self._give_back(job_id)
        self._ends.clear()
        now, state = self._state.now, self._state
        while self._later and self._later[0][0] <= now + state.resolution / 2:
            start, number, job = heappop(self._later)
            insort(self._due, (start if job.recorded is not None else math.inf, number, job))
            self._changed = True
        if self._changed:
            self._changed = False
            self._start_due()
        if self._later:
            self._actions.call_at(self._later[0][0])

    # What a job can have

    def _refusal(self, job: _RecordedJob) -> str | None:
        """Why a job can never run; None if it can. It also finds out what the job takes of each host."""
        if not 0 < job.size <= len(self._numbers):
            return f"it requests {job.size} hosts, and can have 1 to {len(self._numbers)}"
        needs = needs_of(job.request, job.size)
        job.is_whole = job.request.is_whole
        try:
            job.amount = self._pool.amount(needs, job.is_whole)
        except KeyError:
            return f"no host has {needs}"
        job.reason = self._objection(job)
        if job.packed is not None and job.wanted is not None and not job.reason:
            return None
        able = len(self._numbers) if job.is_whole else sum(map(self._can_have(job), self._numbers))
        return None if able >= job.size else f"it asks for {job.size} hosts, and {able} have {needs}"

    def _can_have(self, job: _RecordedJob) -> Callable[[int], bool]:
        capacity, amount = self._pool.capacity, job.amount
        return lambda host: fits(amount, capacity[host])

    def _objection(self, job: _RecordedJob) -> str:
        """Why a job cannot have the hosts of the log; "" if it can."""
        wanted = job.wanted
        if wanted is None:
            return ""
        if wanted.size != job.size:
            return OTHER_NUMBER
        if not set(wanted) <= self._pool.capacity.keys():
            return ABSENT
        if job.packed is not None and division(wanted, job.packed, job.amount, self._pool.capacity) is not None:
            return ""
        return "" if job.is_whole or all(map(self._can_have(job), wanted)) else TOO_SMALL

    # Starts and ends

    def _start_due(self) -> None:
        """Start the jobs whose time has come, in order. Those that wait hold their hosts back."""
        waiting: list[_Place] = []
        held: set[int] = set()
        for place, entry in enumerate(self._due):
            job = entry[2]
            hosts = self._hosts_for(job, held)
            if hosts is None:
                waiting.append(entry)
                job.reason = job.reason or BUSY
                held.update(self._numbers if job.wanted is None else job.wanted)
                if len(held) == len(self._numbers):
                    for _, _, other in self._due[place + 1 :]:
                        other.reason = other.reason or BUSY
                    waiting += self._due[place + 1 :]
                    break
            else:
                self._start(job, hosts)
        self._due = waiting

    def _hosts_for(self, job: _RecordedJob, held: set[int]) -> FrozenHosts | None:
        """The hosts that a job gets now; None if it must wait."""
        if job.wanted is not None:
            if job.packed is not None and held.isdisjoint(job.wanted) and all(map(self._is_shared, job.wanted)):
                job.parts = self._packed.parts_for(job.wanted, job.packed, job.amount)
                if job.parts is not None:
                    return job.wanted
            is_free = self._is_idle if job.is_whole else self._can_make_room(job)
            return job.wanted if all(host not in held and is_free(host) for host in job.wanted) else None
        if job.is_whole and not held:
            if len(self._idle) < job.size:
                return None
            hosts = self._idle.take(job.size)
            self._idle.give_back(hosts)
            return hosts
        is_free, chosen = self._is_idle if job.is_whole else self._has_room(job), []
        for host in self._numbers:
            if host not in held and is_free(host):
                chosen.append(host)
                if len(chosen) == job.size:
                    return frozen_hosts(chosen)
        return None

    def _is_idle(self, host: int) -> bool:
        return host in self._idle

    def _is_shared(self, host: int) -> bool:
        return host in self._sharing or host in self._idle

    def _has_room(self, job: _RecordedJob) -> Callable[[int], bool]:
        is_shared, free, amount = self._is_shared, self._pool.free, job.amount
        return lambda host: is_shared(host) and fits(amount, free[host])

    def _can_make_room(self, job: _RecordedJob) -> Callable[[int], bool]:
        """Whether a job fits on a host, if running jobs whose cores fill their hosts are divided in another way."""
        has_room = self._has_room(job)
        return lambda host: has_room(host) or (self._is_shared(host) and self._packed.make_room(host, job.amount))

    def _start(self, job: _RecordedJob, hosts: FrozenHosts) -> None:
        mapping = mapping_of(job, list(hosts)) if job.request.tasks else None
        if self._actions.execute(job.id, hosts, mapping) is not None:
            return
        running = RunningJob(job, hosts, self._state.now)
        self._running[job.id] = running
        self._has_shared |= not job.is_whole
        partition = ",".join(job.request.partition)
        self._allocated.append(allocated_by(running, job, job.amount, partition, self._pool, job.parts))
        if job.is_whole:
            self._idle.take_these(hosts)
        else:
            if job.parts is None:
                self._pool.take(hosts, job.amount)
            else:
                self._packed.take(job.id, job.parts)
            self._idle.take_these(frozen_hosts([host for host in hosts if host not in self._sharing]))
            for host in hosts:
                self._sharing[host] = self._sharing.get(host, 0) + 1
        self._note(job)

    def _note(self, job: _RecordedJob) -> None:
        now, recorded = self._state.now, job.recorded
        if recorded is None:
            return
        is_elsewhere = job.reason in (ABSENT, TOO_SMALL, OTHER_NUMBER)
        if is_elsewhere or now - recorded > self._state.resolution:
            self.conflicts.append(Conflict(job.id, recorded, now, job.reason or BUSY))

    def _give_back(self, job_id: str) -> None:
        found = self._running.pop(job_id, None)
        if found is None:
            return
        job, hosts = found.waited, found.hosts
        assert isinstance(job, _RecordedJob)
        self._changed = True
        if job.is_whole:
            self._idle.give_back(hosts)
            return
        if not self._packed.give_back(job.id):
            self._pool.give_back(hosts, job.amount)
        for host in hosts:
            self._sharing[host] -= 1
            if not self._sharing[host]:
                del self._sharing[host]
                self._idle.give_back(host)
