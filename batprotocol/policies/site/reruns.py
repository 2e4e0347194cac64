"""Jobs that run more than once: who gives way to whom, their ids, the work that remains, and the record of each run.

A job `w0!7` runs again as `again!w0-7~1`, then as `again!w0-7~2`: results have a row for each. With checkpoints, the
profile that it runs is another one from the beginning, so its first run is `again!w0-7~0`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from batprotocol.model import (
    DelayProfile,
    FinalJobState,
    KillProgress,
    KillProgressAtomicProfile,
    ParallelTaskHomogeneousProfile,
    Profile,
)
from batprotocol.policies.allocations import Chooser
from batprotocol.policies.availability import Amount, Pool, added, fits, reduced
from batprotocol.policies.failures import Checkpoint, Failures, Pieces, length_of, scaled
from batprotocol.policies.jobs import JobRun, RunHistory, SiteEntry, SiteJob, SiteRunning
from batprotocol.policies.rules import PreemptionRules, PreemptionTerms, PreemptMode
from batprotocol.policies.site.rules import SiteRules
from batprotocol.workloads.requests.usage import RERUN_WORKLOAD, AttemptReport

_LEAST = 1e-3
"""The shortest walltime, in seconds."""
_STATES = {FinalJobState.COMPLETED_WALLTIME_REACHED: "walltime", FinalJobState.COMPLETED_KILLED: "killed"}


class RunEnd(NamedTuple):
    """The end of a run.

    Attributes:
        progress: how far it had come, if it was killed.
        next: the next run; None: there is none.
        is_saved: whether the next run goes on from where this one ended.
    """

    progress: KillProgress | None
    next: JobRun | None = None
    is_saved: bool = False


class Reruns:
    """The jobs that run more than once.

    Args:
        part: the fate of jobs whose hosts fail; None: they are lost.
        speed: the speed of a core of the slowest host, in flops per second.
        seen: the mean time between the failures of one host that were seen, in seconds; None: none were.
    """

    def __init__(self, part: Failures | None, speed: float, seen: Callable[[], float | None]) -> None:
        self.part = part
        self._checkpoints = part if isinstance(part, Checkpoint) else None
        self._speed, self._seen = speed, seen
        self._histories: dict[str, RunHistory] = {}
        self._ids: dict[Profile, str] = {}  # of the pieces that are registered: equal ones once

    def current(self, first_id: str) -> str:
        """The id that a job has now, by the one under which it was submitted."""
        history = self._histories.get(first_id)
        return first_id if history is None else history.id

    def is_divisible(self, job: SiteJob) -> bool:
        """Whether a job can be killed, and go on from where it was."""
        return job.request.requeue is not False and length_of(job.profile, job.size, self._speed) is not None

    def first(self, job: SiteJob) -> JobRun | None:
        """The first run of a job that takes checkpoints; None: it runs as it was submitted.

        Args:
            job: the job, which was submitted.
        """
        part = self._checkpoints
        if part is None or job.request.requeue is False:
            return None
        length = length_of(job.profile, job.size, self._speed)
        if length is None:
            return None
        life = RunHistory(job.first_id, job.job, job.profile)
        pieces = self._divided(life, length, job.size, part)
        if pieces.is_plain:
            return None
        job.life = life
        return self._run(life, pieces)

    def next(self, job: SiteJob, progress: KillProgress | None, *, is_saved: bool, used: float = 0.0) -> JobRun:
        """The next run of a job.

        Args:
            job: the job as it was.
            progress: how far it had come.
            is_saved: whether it goes on from there; or else from its last checkpoint, or from its start.
            used: the seconds of its walltime that it does not get again, if it goes on from there.
        """
        life = job.life = job.life or RunHistory(job.first_id, job.job, job.profile)
        life.runs += 1
        part = self._checkpoints
        length = None if part is None else length_of(life.profile, job.size, self._speed)
        if part is not None and length is not None:
            pieces = self._pieces_of(job, length)
            place = pieces.place(progress)
            life.kept += pieces.done(place) if is_saved else pieces.kept(place)
            return self._run(life, self._divided(life, length, job.size, part))
        id = self._renamed(life)
        rest = None if job.profile is None else remaining(job.profile, progress if is_saved else None)
        if rest is None:
            return JobRun(id, life.runs, job.job, [], job.profile)
        walltime = None if job.job.walltime is None else max(job.job.walltime - used, _LEAST)
        return JobRun(
            id, life.runs, msgspec.structs.replace(job.job, profile_id=id, walltime=walltime), [(id, rest)], rest
        )

    def _pieces_of(self, job: SiteJob, length: float) -> Pieces:
        """The pieces of the current run of a job; one, if it is not divided."""
        if job.run is not None and job.run.pieces is not None:
            return job.run.pieces
        assert job.profile is not None
        return Pieces.of(job.profile, length, 0.0, math.inf, 0.0, 0.0)

    def _divided(self, life: RunHistory, length: float, hosts: int, part: Checkpoint) -> Pieces:
        assert life.profile is not None
        interval = part.seconds(hosts, self._seen())
        return Pieces.of(life.profile, length, life.kept, interval, part.cost, part.restart if life.runs else 0.0)

    def _renamed(self, life: RunHistory) -> str:
        self._histories[life.first_id] = life
        return life.rename()

    def _run(self, life: RunHistory, pieces: Pieces) -> JobRun:
        """The run of a job in these pieces."""
        id = self._renamed(life)
        if pieces.is_plain:
            return JobRun(id, life.runs, life.job, [], life.profile)
        new: list[tuple[str, Profile]] = []

        def register(profile: Profile) -> str:
            known = self._ids.get(profile)
            if known is None:
                known = self._ids[profile] = f"{RERUN_WORKLOAD}!piece-{len(self._ids) + 1}"
                new.append((known, profile))
            return known

        profile_id = pieces.registered(register)
        walltime = None if life.job.walltime is None else pieces.limit(life.job.walltime)
        job = msgspec.structs.replace(life.job, profile_id=profile_id, walltime=walltime)
        return JobRun(id, life.runs, job, new, life.profile, pieces)

    def record(self, job: SiteRunning, end: str, ended: RunEnd, now: float) -> AttemptReport | None:
        """The record of a run that has ended; None: it was the only one of its job, and was not stopped.

        Args:
            job: the run.
            end: why it has ended: a key of `batprotocol.workloads.requests.usage.ENDS`.
            ended: how far it had come, and the next run.
            now: the time.
        """
        waited = job.entry.job
        if waited.life is None and end in ("completed", "walltime"):
            return None
        run, seconds = waited.run, now - job.started
        pieces = None if run is None else run.pieces
        restart = checkpoints = 0.0
        if end == "completed":
            if pieces is not None:
                restart, checkpoints = pieces.restart, pieces.checkpoints * pieces.cost
            work, lost = max(seconds - restart - checkpoints, 0.0), 0.0
        elif pieces is None:
            work, lost = 0.0, seconds
        else:
            work, checkpoints, restart, lost = pieces.spent(pieces.place(ended.progress), seconds)
        if ended.next is None and end != "completed":
            work, lost = 0.0, work + lost
        elif ended.is_saved:
            work, lost = work + lost, 0.0
        return AttemptReport(
            job_id=waited.id,
            first_id=waited.first_id,
            number=0 if run is None else run.number,
            starting_time=job.started,
            finish_time=now,
            end=end,
            next_id="" if ended.next is None else ended.next.id,
            work=work,
            checkpoints=checkpoints,
            restart=restart,
            lost=lost,
        )


def end_of(job: SiteRunning, ended: FinalJobState) -> str:
    """Why a run has ended: a key of `batprotocol.workloads.requests.usage.ENDS`."""
    end = _STATES.get(ended, "completed")
    return job.cause or end if end == "killed" else end


def remaining(profile: Profile, progress: KillProgress | None) -> Profile | None:
    """The part of a profile that remains after some progress; None where that cannot be said.

    >>> remaining(DelayProfile(10.0), KillProgressAtomicProfile("w0!p", 0.25))
    DelayProfile(delay=7.5)
    """
    if not isinstance(progress, KillProgressAtomicProfile) or not 0 < progress.progress < 1:
        return None
    if not isinstance(profile, DelayProfile | ParallelTaskHomogeneousProfile):
        return None
    return scaled(profile, 1 - progress.progress, 1.0)


# The running jobs that give way to a job that cannot start: of lower tiers or qualities of service.


class Displacement(NamedTuple):
    """The way that is made for a job.

    Attributes:
        victims: the jobs that give way.
        hosts: the hosts that the job gets.
        others: the other jobs that would give way, those first of which the loss is least.
    """

    victims: list[SiteRunning]
    hosts: list[int]
    others: list[SiteRunning]


class Preemptions(PreemptionRules[SiteEntry, SiteRunning]):
    """Finds jobs that give way.

    Args:
        rules: who gives way to whom.
        pool: what is free.
        chooser: chooses hosts.
    """

    def __init__(self, rules: SiteRules, pool: Pool, chooser: Chooser) -> None:
        self._rules, self._pool, self._chooser = rules, pool, chooser
        self._by_tier = any(partition.preempt != PreemptMode.OFF for partition in rules.partitions.values())

    def terms(self, job: SiteRunning) -> PreemptionTerms:
        """How a job gives way: by its QOS if another one preempts it, or else by its partition."""
        name, qualities = job.entry.job.request.qos, self._rules.qos
        if name is not None and name in qualities and any(name in each.preempts for each in qualities.values()):
            return PreemptionTerms(qualities[name].preempt, qualities[name].grace)
        partition = self._rules.partitions.get(job.entry.partition)
        return PreemptionTerms() if partition is None else PreemptionTerms(partition.preempt, partition.grace)

    def is_below(self, job: SiteRunning, other: SiteEntry) -> bool:
        if job.is_giving_way or job.is_killed or job.missing or self.terms(job).mode == PreemptMode.OFF:
            return False
        partition, tier = self._rules.partitions.get(job.entry.partition), job.entry.tier
        if partition is not None and partition.preempt != PreemptMode.OFF and tier < other.tier:
            return True
        if self._by_tier and tier > other.tier:  # or else two jobs could preempt each other in turns
            return False
        qos = other.job.request.qos
        preempts = () if qos is None or qos not in self._rules.qos else self._rules.qos[qos].preempts
        return job.entry.job.request.qos in preempts

    def loss(self, job: SiteRunning, now: float) -> tuple[float, ...]:
        is_saved = self.terms(job).mode == PreemptMode.CHECKPOINT
        lost = 0.0 if is_saved else (now - job.started) * max(job.cores, 1)
        if self._rules.order_of_victims == "youngest":
            return -job.started, lost, job.place
        if self._rules.order_of_victims == "priority":
            return job.priority, lost, job.place
        return lost, -job.started, job.place

    def find(
        self,
        entry: SiteEntry,
        running: Iterable[SiteRunning],
        now: float,
        heads: Iterable[SiteEntry],
        may_have: Callable[[int], bool] | None = None,
    ) -> Displacement | None:
        """The jobs that give way to an entry, perhaps none, and the hosts that it gets; None if there are not enough.

        Args:
            entry: the entry that cannot start.
            running: the jobs that run.
            now: the time.
            heads: the entries with reservations. Hosts that are being freed for one of them are left alone.
            may_have: whether the entry may have a host for long enough; None: it may have each one.
        """
        taken = {host for head in heads if head.start <= now for host in head.reserved}
        victims = self.candidates(running, entry, now)
        if not victims:
            return None
        amount = entry.kind.amount
        ways: dict[int, list[SiteRunning]] = {}
        for host in entry.kind.hosts:
            if host not in taken and (may_have is None or may_have(host)):
                way = _room_on(host, amount, self._pool.free[host], victims)
                if way is not None:
                    ways[host] = way
        places = {job.waited.id: number for number, job in enumerate(victims)}
        chosen = self._chooser.choose(
            sorted(ways),
            entry.job.size,
            entry.job.request,
            self._pool.free,
            lambda host: (len(ways[host]), [places[job.waited.id] for job in ways[host]]),
        )
        if chosen is None:
            return None
        lost = {job.waited.id: job for host in chosen for job in ways[host]}
        others = [job for job in victims if job.waited.id not in lost]
        return Displacement(sorted(lost.values(), key=lambda job: places[job.waited.id]), chosen, others)


def _room_on(host: int, amount: Amount, free: Amount, victims: list[SiteRunning]) -> list[SiteRunning] | None:
    """The fewest of the victims, the first of them first, that free enough on a host; None if all do not."""
    found: list[SiteRunning] = []
    for job in victims:
        if fits(amount, free):
            break
        if host in job.members:
            found.append(job)
            free = added(free, job.entry.kind.amount)
    if not fits(amount, free):
        return None
    # Jobs that need not be preempted after all stay.
    for job in found[:-1]:
        less = reduced(free, job.entry.kind.amount)
        if fits(amount, less):
            found.remove(job)
            free = less
    return found
