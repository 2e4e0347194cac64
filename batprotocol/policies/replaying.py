"""The policy `recorded`: jobs start when and where a log says, in `recorded` of their extra data.

Jobs start in the order of their recorded starts. A job whose hosts are busy holds them back for itself, so it starts
as soon as they are free, and the jobs behind it cannot take them meanwhile. It must not know how messages come.
"""

from __future__ import annotations

import logging
import math
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

from batprotocol.errors import InputError, RuleViolation
from batprotocol.model import FinalJobState, Host, HostsTurnedOnOffEvent, JobSubmittedEvent, KillProgress
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies.filling import Filling, Parts, division
from batprotocol.policies.jobs import RunningJob, State
from batprotocol.policies.site.jobs import SiteJob, allocated_by
from batprotocol.policies.site.membership import mapping_of
from batprotocol.policies.site.pool import Pool, fits
from batprotocol.workloads.requests import Allocated, read_request
from batprotocol.workloads.requests import Site as Machine
from batprotocol.workloads.requests.offers import needs_of

__all__ = ["Conflict"]

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


class _Job(SiteJob):
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
    parts: Parts | None


_Place = tuple[float, int, _Job]
"""The recorded start (infinity: it has none), a number by which no two are equal, and the job."""


class Replay:
    """Starts jobs when and where a log says.

    Jobs without a recording start in the order of their submissions, when enough hosts are free and no recorded job
    waits for hosts. Jobs that ask for cores, memory or generic resources share hosts. Partitions, dependencies
    and all else that jobs ask for have no effect: the log decides.

    Args:
        hosts: the computation hosts.
        state: the policy's state.
        reply: gives the reply of this turn.
        reject: rejects a job, with a reason.
        call_at: calls the policy at a time.
    """

    def __init__(
        self,
        hosts: Iterable[Host],
        state: State,
        *,
        reply: Callable[[], Any],
        reject: Callable[[str, object], None],
        call_at: Callable[[float], None],
    ) -> None:
        self._state, self._reply, self._reject, self._call_at = state, reply, reject, call_at
        self._pool = Pool(Machine(hosts).offers)
        self._filling = Filling(self._pool)
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
        """The amounts that each started job took of its hosts, in the order of starts; empty until jobs share hosts."""
        return self._allocated if self._has_shared else ()

    # Events

    def submitted(self, event: JobSubmittedEvent, number: int, time: float) -> None:
        """A job is submitted."""
        try:
            request = read_request(event.job.extra_data)
        except InputError as error:
            self._reject(event.job_id, error)
            return
        job = _Job(event.job_id, event.job, number, time, request)
        job.profile = None if event.profile is None else event.profile.profile
        recording = request.recorded
        job.wanted = None if recording is None else recording.hosts
        job.packed = job.parts = None
        if recording is not None and job.size > 1 and not request.is_whole:
            job.packed = recording.cores
        refusal = self._refusal(job)
        if refusal is not None:
            self._reject(job.id, refusal)
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
        """A job has ended."""
        self._ends.append(job_id)

    def killed(self, job_id: str, progress: KillProgress) -> None:
        """A job was killed after some progress, which does not matter."""

    def switched(self, event: HostsTurnedOnOffEvent) -> None:
        """Hosts were switched on or off, which does not matter."""

    def no_more(self) -> None:
        """All jobs of the workloads are submitted."""
        if self._count and not self._has_recordings:
            logger.warning(
                "no job has a recorded start, so all start in turn: read a log with ?recorded=yes, or give recorded in "
                "the extra data of jobs"
            )

    def decide(self) -> None:
        """Start what can start now."""
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
            self._call_at(self._later[0][0])

    # What a job can have

    def _refusal(self, job: _Job) -> str | None:
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

    def _can_have(self, job: _Job) -> Callable[[int], bool]:
        capacity, amount = self._pool.capacity, job.amount
        return lambda host: fits(amount, capacity[host])

    def _objection(self, job: _Job) -> str:
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

    def _hosts_for(self, job: _Job, held: set[int]) -> FrozenHosts | None:
        """The hosts that a job gets now; None if it must wait."""
        if job.wanted is not None:
            if job.packed is not None and held.isdisjoint(job.wanted) and all(map(self._is_shared, job.wanted)):
                job.parts = self._filling.parts_for(job.wanted, job.packed, job.amount)
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

    def _has_room(self, job: _Job) -> Callable[[int], bool]:
        is_shared, free, amount = self._is_shared, self._pool.free, job.amount
        return lambda host: is_shared(host) and fits(amount, free[host])

    def _can_make_room(self, job: _Job) -> Callable[[int], bool]:
        """Whether a job fits on a host, if running jobs whose cores fill their hosts are divided in another way."""
        has_room = self._has_room(job)
        return lambda host: has_room(host) or (self._is_shared(host) and self._filling.make_room(host, job.amount))

    def _start(self, job: _Job, hosts: FrozenHosts) -> None:
        mapping = mapping_of(job, list(hosts)) if job.request.tasks else None
        try:
            if mapping is None:
                self._reply().add_execute_job(job.id, hosts)
            else:
                self._reply().add_execute_job(job.id, hosts, mapping)
        except RuleViolation as violation:  # Batsim would abort
            self._reject(job.id, violation)
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
                self._filling.take(job.id, job.parts)
            self._idle.take_these(frozen_hosts([host for host in hosts if host not in self._sharing]))
            for host in hosts:
                self._sharing[host] = self._sharing.get(host, 0) + 1
        self._note(job)

    def _note(self, job: _Job) -> None:
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
        assert isinstance(job, _Job)
        self._changed = True
        if job.is_whole:
            self._idle.give_back(hosts)
            return
        if not self._filling.give_back(job.id):
            self._pool.give_back(hosts, job.amount)
        for host in hosts:
            self._sharing[host] -= 1
            if not self._sharing[host]:
                del self._sharing[host]
                self._idle.give_back(host)
