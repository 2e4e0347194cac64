"""A site whose jobs somebody else starts, one at a time, such as an agent that learns.

The jobs, hosts, limits and dependencies are those of `Site`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from batprotocol.model import FinalJobState, Host, Job, KillProgress, Profile
from batprotocol.policies.allocations import Contiguous, First
from batprotocol.policies.availability import WHOLE, Amount
from batprotocol.policies.backfilling import AsRequested, NoBackfilling, PlanSettings
from batprotocol.policies.driver import PolicyParts
from batprotocol.policies.jobs import SiteEntry, SiteJob, SiteRunning, State
from batprotocol.policies.orders import Order
from batprotocol.policies.site.plan import AmountPlanner
from batprotocol.policies.site.reservations import Start
from batprotocol.policies.site.rules import SiteRules
from batprotocol.policies.site.site import Site
from batprotocol.policies.site.state import SiteState
from batprotocol.workloads.requests import Request

_NO_PLAN: Final = PlanSettings()


class Steered(Site):
    """A site whose jobs are started and killed from outside. No job gives way to another one.

    Args:
        hosts: the computation hosts.
        rules: partitions, qualities of service, accounts and limits.
        state: the time and the running jobs; the site keeps the jobs, and its owner the time.
        order: the order in which jobs are tried while another one waits.
        ranking: which of the hosts with space a job gets: a name of `RANKINGS`, or `best-fit`.
        contiguous: whether all jobs need hosts with consecutive numbers.

    Attributes:
        rejected: why each job was rejected that was, by its id.
        over: the jobs to kill, as their time in their partition is over.

    Raises:
        InputError: a property of a host, or a name in the rules, cannot be used.
    """

    def __init__(
        self,
        hosts: Iterable[Host],
        rules: SiteRules,
        state: State,
        order: Order,
        *,
        ranking: str = "numbers",
        contiguous: bool = False,
    ) -> None:
        self.rejected: dict[str, str] = {}
        self.over: list[str] = []
        allocation = Contiguous() if contiguous else First()
        parts = PolicyParts(order, NoBackfilling(), allocation, AsRequested())
        site = SiteState(tuple(hosts), rules, state, order, ranking)
        super().__init__(site, parts, _Actions(self.rejected, self.over))
        self.no_more_events()  # as long as nobody announces windows

    _planner: _Plan

    def _new_planner(self, settings: PlanSettings, power: object) -> AmountPlanner:
        return _Plan(_NO_PLAN, self._site)

    @property
    def free(self) -> dict[int, Amount]:
        """The free amount of each host."""
        return self._pool.free

    @property
    def unused(self) -> int:
        """The number of hosts that no job has."""
        return sum(free[0] == WHOLE for host, free in self._pool.free.items() if host in self._pool.hosts)

    @property
    def held(self) -> list[str]:
        """The jobs whose time or dependency has not come."""
        return list(self._held_jobs.jobs)

    # What happens

    def ended_before(self, job_id: str, request: Request) -> None:
        """A job had succeeded before the first one was submitted. Others can depend on it."""
        self._held_jobs.ended_before(job_id, request)

    def ended(self, job_id: str, ended: FinalJobState, progress: KillProgress | None = None) -> SiteRunning | None:
        job = super().ended(job_id, ended, progress)
        if job is not None:
            del self._state.running[job_id]
            self._state.endings.remove(job.ending)
        return job

    def passed(self) -> bool:
        self._site.timeline.advance(self._state.now)
        return super().passed()

    def wakes_at(self) -> float:
        return self._held_jobs.next_time()

    # Which jobs can start

    def has_space(self, job_id: str) -> bool:
        """Whether a job of the queue can start now: hosts have space for it, and limits let it start."""
        job = self.queue.jobs[job_id]
        if job.request.takes_any:
            return any(
                len(self._planner.fitting(entry)) >= job.size and self._planner.is_allowed(entry)
                for entry in job.entries
            )
        return self._space(job) is not None

    def _space(self, job: SiteJob) -> Start | None:
        """The first partition in which hosts have space for a job now, and its hosts there."""
        for entry in job.entries:
            fitting = self._planner.fitting(entry)
            if len(fitting) >= job.size and self._planner.is_allowed(entry):
                hosts = self._site.chooser.choose(list(fitting), job.size, job.request, self._pool.free)
                if hosts is not None:
                    return entry, hosts
        return None

    def moments(self) -> Iterator[tuple[int, float, Amount]]:
        """The future of all hosts, as far as walltimes show: see `Timeline.moments`."""
        return (moment for moment in self._site.timeline.moments() if moment[0] in self._pool.hosts)

    def earliest(self, entry: SiteEntry) -> float:
        """When hosts have space for an entry at the latest, if no other one starts before; infinity: nobody knows.

        Limits are not considered.
        """
        return self._planner.earliest(entry, self._state.now)

    def overtaking(self, first_id: str, settings: PlanSettings) -> dict[str, Start]:
        """The jobs of the queue each of which can start now while another job waits, without delaying that one.

        Args:
            first_id: the job that waits.
            settings: the kind of backfilling.

        Returns:
            The partition and the hosts in which each of them can start, by its id.
        """
        first = self.queue.jobs[first_id]
        self._planner.settings = settings
        self._reserve(first)
        found: dict[str, Start] = {}
        for job_id, job in self.queue.jobs.items():
            if job is first:
                continue
            for entry in job.entries:
                if len(entry.kind.fitting) >= job.size and self._planner.is_allowed(entry):
                    hosts, has_moved = self._planner.beside(entry)
                    if has_moved:
                        self._reserve(first)
                    if hosts is not None:
                        found[job_id] = entry, hosts
                        break
        self._planner.clear()
        return found

    def _reserve(self, first: SiteJob) -> None:
        """Reserve hosts for a job, unless limits keep it from starting."""
        allowed = [entry for entry in first.entries if self._planner.is_allowed(entry)]
        if allowed:
            self._planner.reserve(allowed)
        else:
            self._planner.clear()

    # Jobs start

    def start_job(self, job_id: str, where: Start | None = None) -> SiteRunning:
        """Start a job of the queue that `has_space`.

        Args:
            job_id: the job.
            where: the partition and the hosts, as `overtaking` returns them; None: the first ones with space.
        """
        found = where or self._space(self.queue.jobs[job_id])
        assert found is not None, "the job has space"
        self._start(*found, self._note)
        return self._running[job_id]

    def start_others(self, first_id: str, settings: PlanSettings) -> Iterator[SiteRunning]:
        """Start the jobs that may start while another job waits, in their order.

        Args:
            first_id: the job that waits.
            settings: the kind of backfilling.
        """
        first = self.queue.jobs[first_id]
        self._planner.settings = settings
        self._reserve(first)
        for entry, hosts in self._planner.others(first):
            self._start(entry, hosts, self._note)
            yield self._running[entry.job.id]

    def _note(self, job: SiteRunning) -> None:
        self._state.running[job.waited.id] = job
        self._state.endings.add(job.ending)


class _Plan(AmountPlanner):
    """A plan with a reservation for one job, which somebody else has chosen."""

    _first: SiteJob | None = None

    def fitting(self, entry: SiteEntry) -> Collection[int]:
        """The hosts that have space for an entry now, and that no window closes before it ends."""
        fitting = entry.kind.fitting
        return fitting if self.bare is None else [host for host in fitting if self.is_clear(entry, (host,))]

    def clear(self) -> None:
        """Drop all reservations."""
        for head in list(self.heads.values()):
            self._release(head)

    def reserve(self, entries: list[SiteEntry]) -> None:
        """Reserve hosts for the one of a job's entries that can start first, if the settings say so."""
        kept = next((entry for entry in entries if entry.number in self.heads), None)
        if self.settings.once and kept is not None:
            start, hosts = max(kept.start, self._state.now), kept.reserved
            self.clear()
            self._put(kept, start, hosts)
            return
        self.clear()
        if self.settings.depth and self.settings.backfills:
            starts = [(self.earliest(entry, self._state.now), place) for place, entry in enumerate(entries)]
            self._reserve(entries[min(starts)[1]])

    def earliest(self, entry: SiteEntry, now: float) -> float:
        """When hosts have space for an entry, at the latest; infinity: that is not known."""
        job, kind = entry.job, entry.kind
        free, request = self._pool.capacity, job.request

        def choose(hosts: Sequence[int], time: float) -> list[int] | None:
            return self._chooser.choose(hosts, job.size, request, free)

        return self._timeline.earliest(kind.hosts, job.size, kind.amount, entry.expected, now, choose)[0]

    def beside(self, entry: SiteEntry) -> tuple[list[int] | None, bool]:
        """Hosts on which an entry can start now without delaying the job that has a reservation; None: there are none.

        Returns:
            The hosts, and whether the reservation has moved to other ones.
        """
        hosts = self._now(entry)
        if hosts is not None or entry.job.size > self._movable(entry.kind):
            return (hosts if hosts is not None and self._spares(entry, hosts) else None), False
        hosts = self._beside_moved(entry)
        return hosts, hosts is not None

    def is_allowed(self, entry: SiteEntry) -> bool:
        return entry.job is not self._first and super().is_allowed(entry)

    def others(self, first: SiteJob) -> Iterator[Start]:
        """The entries that start before the job that has a reservation, each one before the next one is asked for."""
        self._first, joined = first, -1
        while joined != self._queue.joined:  # if jobs join meanwhile, the others are tried anew
            joined = self._queue.joined
            yield from self._backfilled()
        self._first = None


class _Actions:
    """Keeps the reasons of rejections, and the jobs to kill. The owner of the site does all else."""

    def __init__(self, rejected: dict[str, str], over: list[str]) -> None:
        self.rejected, self.over = rejected, over

    def execute(self, job_id: str, hosts: Iterable[int], mapping: list[int] | None = None) -> str | None:
        return None

    def reject(self, job_id: str, why: object) -> None:
        self.rejected[job_id] = str(why)

    def kill(self, job_ids: list[str]) -> None:
        self.over += job_ids

    def withdraw(self, job_id: str) -> None:
        """No job runs under another name."""

    def register(self, job_id: str, job: Job, profiles: Iterable[tuple[str, Profile]]) -> None:
        """No job runs again."""

    def switch(self, hosts: Iterable[int], on: bool) -> None:
        """No host sleeps."""

    def change_pstate(self, pstate: int, hosts: list[int]) -> None:
        """No job runs slower than usual."""

    def finish(self) -> None:
        """Nobody registers jobs."""

    def call_at(self, time: float) -> None:
        """The owner calls."""
