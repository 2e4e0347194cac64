"""A site as a scheduler sees it: jobs that wait with requests, hosts that they share, and the plan that starts them.

A `Site` gets jobs, and executes, rejects and kills them through `Actions`. It must not know how messages come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import msgspec

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState, Host, Job, KillProgress, Profile
from batprotocol.model.free_hosts import Hosts
from batprotocol.policies.backfilling import Backfilling
from batprotocol.policies.failures import Failures
from batprotocol.policies.jobs import RunningJob, State
from batprotocol.policies.orders import Order
from batprotocol.policies.site.actions import Actions
from batprotocol.policies.site.admission import Admission, SiteHosts
from batprotocol.policies.site.away import Away
from batprotocol.policies.site.capped import CappedPlanner
from batprotocol.policies.site.choosing import Chooser
from batprotocol.policies.site.fates import Fates
from batprotocol.policies.site.holding import Holding
from batprotocol.policies.site.jobs import Entry, SiteJob, SiteRunning, allocated_by
from batprotocol.policies.site.lanes import Lanes
from batprotocol.policies.site.limits import Usage
from batprotocol.policies.site.lives import Lives, end_of
from batprotocol.policies.site.membership import mapping_of
from batprotocol.policies.site.occupancy import Occupancy
from batprotocol.policies.site.planning import Planner
from batprotocol.policies.site.power import Power
from batprotocol.policies.site.preempting import Preempting
from batprotocol.policies.site.priorities import Priorities
from batprotocol.policies.site.queue import SiteQueue
from batprotocol.policies.site.rerunning import Rerunning
from batprotocol.policies.site.rules import SiteRules
from batprotocol.policies.site.settings import Settings, settings_of
from batprotocol.policies.site.sleeping import Sleeping
from batprotocol.policies.site.timeline import Timeline
from batprotocol.policies.site.windows import Windows
from batprotocol.policies.starts import Wait
from batprotocol.policies.switching import Switching
from batprotocol.policies.walltimes import Walltimes
from batprotocol.workloads.host_events import HostEvent, Window
from batprotocol.workloads.requests import Allocated, Attempt, read_request
from batprotocol.workloads.requests.offers import needs_of
from batprotocol.workloads.requests.request import NOTHING

__all__ = ["Site"]


class Site:
    """The jobs and hosts of a site.

    Args:
        hosts: the computation hosts.
        rules: partitions, qualities of service, accounts and limits.
        state: the policy's state: its time, and its running jobs.
        order: the order of the queue.
        backfilling: the kind of backfilling.
        walltimes: how long jobs are expected to run.
        ranking: which of the hosts with room a job gets: a name of `RANKINGS`, or `best-fit`.
        contiguous: whether all jobs need hosts with consecutive numbers.
        risk: whether jobs start although a window that is known would meet them.
        actions: how jobs are executed, rejected and killed.
        failures: the fate of jobs whose hosts fail; None: they are lost.
        starts: which jobs wait for a better time; None: they start as soon as they can.
        power: the watts that jobs and idle hosts may draw; None: any.

    Raises:
        InputError: a property of a host, or a name in the rules, cannot be used.
    """

    def __init__(
        self,
        hosts: Iterable[Host],
        rules: SiteRules,
        state: State,
        order: Order,
        backfilling: Backfilling,
        walltimes: Walltimes,
        actions: Actions,
        *,
        ranking: str = "numbers",
        contiguous: bool = False,
        failures: Failures | None = None,
        starts: Wait | None = None,
        risk: bool = False,
        power: Power | None = None,
    ) -> None:
        hosts = tuple(hosts)
        self.rules, self._state, self._contiguous = rules, state, contiguous
        self._hosts = SiteHosts(hosts, rules)
        self._pool = self._hosts.pool
        offers = {offer.id: offer for offer in self._hosts.machine.offers}
        self.priorities: Priorities | None = None
        """The usage and fair share of users and accounts, and the priorities of jobs; None without such rules."""
        if rules.priority is not None:
            self.priorities = Priorities(rules, rules.priority, offers, self._hosts.hosts_of, state.now)
        self.queue = SiteQueue(order, state, self._pool, self.priorities)
        self._timeline = Timeline(self._pool.capacity, state.now)
        self._chooser = Chooser(ranking, offers)
        self._lanes = Lanes(self._pool.hosts)
        self._planner = self._new_planner(settings_of(backfilling), power)
        self._actions = self._planner.around(actions)
        self._usage = Usage(rules)
        self._admission = Admission(self._hosts, rules, state, self.queue, self._chooser, self._usage, walltimes)
        self._running: dict[str, SiteRunning] = {}
        self._preempting = Preempting(rules, self._pool, self._chooser) if rules.can_preempt else None
        self._occupancy = Occupancy(
            *(state, self._pool, self._timeline, self.queue, self._planner, self._lanes, self._usage, self.priorities)
        )
        self._away = Away(self._pool, self._timeline, self.queue, self._lanes)
        self._windows = Windows(
            *(self._hosts, state, self.queue, self._timeline, self._chooser, self._planner, self._admission),
            *(self._lanes, self._away),
            risk=risk,
        )
        slowest = min((host.computation_speed[host.pstate] for host in hosts if host.computation_speed), default=0.0)
        self._lives = Lives(failures, slowest, self._mean_time_between_failures)
        self._holding = Holding(
            *(state, self.queue, self._windows, self._planner, self._usage, self._lives, starts, actions.reject)
        )
        self._fates = Fates(
            *(state, self._windows, self._planner, self.queue, self._holding, self._running),
            *(self._away, self._lanes, self._occupancy.residents, actions.kill, self._take_back),
        )
        self._rerunning = Rerunning(
            *(state, self._lives, self._preempting, self._admission, self._holding, self._fates, actions)
        )
        self.sleeping: Sleeping | None = None
        """The hosts that sleep; None: none do."""
        self._waking: dict[str, SiteRunning] = {}  # the jobs whose hosts are not all on yet
        self._ahead = math.inf  # when hosts are to be switched on for reservations
        self._interrupts = starts is not None and starts.interruptible
        self._registers = rules.can_preempt or failures is not None or self._interrupts
        self._graces: list[tuple[float, list[str]]] = []
        self._starts = 0
        self._all_submitted = self._is_finished = False
        self.allocated: list[Allocated] = []
        """The amounts that each started job took, in the order of their starts."""
        self.attempts: list[Attempt] = []
        """The runs of jobs that ended early, are not the only one of their job, or have checkpoints; by their ends."""

    def _new_planner(self, settings: Settings, power: Power | None) -> Planner:
        planned = settings, self.queue, self._pool, self._timeline, self._chooser, self._hosts.hosts_of
        return Planner(*planned) if power is None else CappedPlanner(power, self._lanes.own, *planned)

    @property
    def is_idle(self) -> bool:
        """Whether no job waits or runs."""
        return not (self.queue.jobs or self._holding.jobs or self._running)

    # Jobs come

    def submitted(self, job_id: str, job: Job, number: int, time: float, profile: Profile | None = None) -> bool:
        """A job is submitted; whether something may start now.

        Args:
            job_id: the job.
            job: what it asks for.
            number: how many jobs came before it.
            time: when it was submitted.
            profile: its profile, if it is known.
        """
        try:
            request = read_request(job.extra_data)
        except InputError as error:
            self._holding.unreadable(job_id, time, str(error))
            return False
        if self._contiguous:
            request = msgspec.structs.replace(request, contiguous=True)
        waiting = SiteJob(job_id, job, number, time, request)
        waiting.profile = profile
        self._holding.submitted(job_id, request, time)
        refusal = self._admission.prepare(waiting) or self._usage.refusal(waiting) or self._fates.refusal(waiting)
        if refusal is not None:
            self._holding.reject(waiting, refusal)
            return False
        run = self._lives.first(waiting)
        if run is not None:
            self._actions.withdraw(job_id)
            self._actions.register(run.id, run.job, run.profiles)
            self._admission.divided(waiting, run)
        return self._holding.hold(waiting)

    def sleeps(self, switching: Switching, *, awake_first: bool) -> None:
        """From now on, idle hosts are switched off, and on when the plan needs them. No job runs here yet.

        Args:
            switching: the hosts that can sleep, and those that do.
            awake_first: whether hosts that are on come before those that sleep.
        """
        state = self._state
        sleeping = Sleeping(switching, state, self._away, self._lanes, self._actions.switch)
        self.sleeping = self._holding.sleeping = self._occupancy.sleeping = sleeping
        self._planner.sleeps(sleeping)
        sleeping.left(switching.hand_over(state))
        self._chooser.is_late = sleeping.is_late if awake_first else None

    def adopt(self, running: RunningJob, missing: Iterable[int] = ()) -> None:
        """A job runs that was started before the site was opened: it has its hosts for itself.

        Args:
            running: the job.
            missing: the hosts that it waits for, as they are being switched on.
        """
        waited = running.waited
        request = read_request(waited.job.extra_data)  # it asks for whole hosts, or the site would have been open
        job = SiteJob(waited.id, waited.job, waited.number, waited.submitted, request)
        job.expected = waited.expected
        members = list(running.hosts)
        kind = self.queue.kind(self._pool.amount(needs_of(NOTHING, job.size), True), self._pool.hosts)
        entry = Entry(job, "", 1, kind, self._admission.next_number())
        job.entries.append(entry)
        self._holding.submitted(job.id, NOTHING, job.submitted)
        adopted = self._running[job.id] = SiteRunning(entry, members, running.hosts, running.started, running.place)
        adopted.end = running.end
        if self.sleeping is not None:
            self.sleeping.take(members)
            adopted.missing = set(missing)
        self._occupancy.take(adopted)
        self._starts = max(self._starts, running.place + 1)
        if adopted.missing and self.sleeping is not None:
            self._waking[job.id] = adopted
            adopted.started = self._state.now + self.sleeping.delay(members)
            self._occupancy.lasts(adopted, adopted.started + job.expected)
        else:
            self._holding.started(job.id, running.started)
            self.allocated.append(allocated_by(adopted, job, entry.kind.amount, entry.partition, self._pool))

    def no_more(self) -> None:
        """All jobs of the workloads are submitted."""
        self._all_submitted = True
        self._holding.no_more()

    # Time goes on, and jobs end

    def passed(self) -> bool:
        """Look at what was to happen until now; whether something may start."""
        state = self._state
        changed = self._holding.passed(self._time_is_over)
        while self._graces and self._graces[0][0] <= state.now + state.resolution / 2:
            _, job_ids = self._graces.pop(0)
            self._fates.kill([self._running[job_id] for job_id in job_ids if job_id in self._running], "preempted")
        changed |= self._fates.turn()
        changed |= self._fates.give_up_power()
        joined = self._holding.has_joined()
        is_due = self._planner.is_due(state)
        return self._extend_the_late() or changed or joined or is_due

    def _time_is_over(self, job_id: str) -> None:
        """Kill a job that waits for a better time now. Or it has no walltime, and its time in its partition is over."""
        job, now = self._running.get(job_id), self._state.now + self._state.resolution / 2
        if job is not None and self._interrupts and job.entry.job.until <= now:
            if job.missing or not self._holding.goes_on(job.entry.job, self._state.now - job.started):
                self._fates.kill([job], "interrupted")
        elif job is not None and math.isinf(job.waited.walltime) and job.started + job.entry.limit <= now:
            self._fates.kill([job], "walltime")

    def wakes_at(self) -> float:
        """When something happens without an event; infinity: never."""
        times = self._holding.next_time(self._running)
        graces = self._graces[0][0] if self._graces else math.inf
        if not self.is_idle:
            times = min(times, self._windows.wakes_at())
        if self.sleeping is not None and not self._may_end(self.sleeping):
            times = min(times, self._ahead, self.sleeping.next_time())
        return min(times, graces, self._planner.wakes_at(self._state))

    def _may_end(self, sleeping: Sleeping) -> bool:
        """Whether the simulation may end now: a call would only make it longer.

        While external events are to come, it goes on anyway, and a cap has to be kept.
        """
        is_capped = sleeping.idling is not None
        return self.is_idle and self._all_submitted and not (is_capped and self._windows.may_come)

    def ended(self, job_id: str, ended: FinalJobState, progress: KillProgress | None = None) -> SiteRunning | None:
        """A job has ended; the job, if it had run here."""
        state = self._state
        job = self._running.pop(job_id, None)
        if job is None:
            waiting = self._holding.waits(job_id)
            if waiting is not None:  # somebody else started it
                self._holding.drop(waiting)
                self._holding.ended(waiting.first_id, ended, state.now)
            return None
        entry = job.entry
        self._occupancy.give_back(job)
        end = end_of(job, ended)
        outcome = self._rerunning.next_run(job, end, progress)
        record = self._lives.record(job, end, outcome, state.now)
        if record is not None:
            self.attempts.append(record)
        if outcome.next is None:
            self._holding.ended(entry.job.first_id, ended, state.now)
        return job

    def _extend_the_late(self) -> bool:
        """Jobs that last longer than expected are expected to use their walltime; whether there are some."""
        state = self._state
        late = [
            self._running[ending[3]]
            for ending in state.endings.irange(maximum=(state.now - state.resolution, math.inf))
            if ending[3] in self._running
        ]
        extended = False
        for job in late:
            end = job.started + job.entry.limit
            if end > job.end and not (job.is_giving_way or job.is_killed):
                state.move(job, end)
                extended = True
        if extended:
            self._planner.anew(state.now, self._running.values(), self._away, self._lanes.everywhere)
        return extended

    # Hosts are away, or promised

    def hosts_changed(self, event: HostEvent) -> None:
        """Hosts fail, are drained or come back now. The event was checked."""
        self._fates.hosts_changed(event)

    def _mean_time_between_failures(self) -> float | None:
        return self._away.mean_time_between_failures(self._state.now)

    def announced(self, window: Window) -> None:
        """Hosts are promised for a time. The window was checked."""
        self._fates.announced(window)

    def no_more_events(self) -> None:
        """All external events that were known in the beginning have occurred: no host comes back any more."""
        self._fates.no_more_events()

    # Jobs start

    def start(self, started: Callable[[SiteRunning], None]) -> None:
        """Start what the plan chooses.

        Args:
            started: called with each job that was started.
        """
        self._windows.expect()
        claim = self._claim if self._preempting is not None else None
        for entry, hosts in self._planner.starting(self._state, self._is_allowed, claim):
            self._start(entry, hosts, started)

    def _is_allowed(self, entry: Entry) -> bool:
        return not self._usage.blocked(entry)

    def _start(self, entry: Entry, hosts: list[int], started: Callable[[SiteRunning], None]) -> None:
        state, job = self._state, entry.job
        if entry.lane is not None:
            hosts = entry.lane.own(hosts)
            entry.limit = min(entry.limit, entry.lane.rest(state.now))  # it is killed there at the end of the window
        delay = 0.0 if self.sleeping is None else self.sleeping.delay(hosts)
        missing = set[int]() if self.sleeping is None else self.sleeping.take(hosts)
        refusal = None if missing else self._actions.execute(job.id, hosts, mapping_of(job, hosts))
        self._holding.drop(job)
        if refusal is not None:
            if self.sleeping is not None:
                self.sleeping.give_back(hosts)
            self._holding.ended(job.first_id, FinalJobState.REJECTED, state.now, refusal)
            return
        frozen = Hosts(hosts).take(len(hosts))
        running = self._running[job.id] = SiteRunning(entry, hosts, frozen, state.now + delay, self._starts)
        running.missing = missing
        running.priority, running.cores = self.queue.priority(entry), self._pool.cores(hosts, entry.kind.amount)
        self._starts += 1
        self._occupancy.take(running)
        if self.priorities is not None:
            self.priorities.started(running, state.now)
        started(running)
        if missing:
            self._waking[job.id] = running
        else:
            self._has_started(running)

    def _has_started(self, running: SiteRunning) -> None:
        """A job was executed."""
        entry, job, now = running.entry, running.entry.job, self._state.now
        if entry.limit < job.walltime:  # Batsim does not know it
            self._holding.note(now + entry.limit, job)
        self.allocated.append(allocated_by(running, job, entry.kind.amount, entry.partition, self._pool))
        self._holding.started(job.first_id, now)

    # Hosts that sleep

    def switched(self, hosts: Iterable[int]) -> None:
        """Hosts were switched on or off."""
        if self.sleeping is None:
            return
        self._fates.turn()  # no job starts in a window that begins just now
        self._planner.freed(self._lanes.everywhere(self.sleeping.switched(hosts)))
        for job in list(self._waking.values()):
            job.missing.difference_update(hosts)
            if not job.missing:
                del self._waking[job.waited.id]
                self._execute(job)

    def _execute(self, job: SiteRunning) -> None:
        """Execute a job whose hosts are all on now."""
        waited, state = job.entry.job, self._state
        refusal = self._actions.execute(waited.id, job.members, mapping_of(waited, job.members))
        if refusal is not None:
            self._forget(job)
            self._holding.ended(waited.first_id, FinalJobState.REJECTED, state.now, refusal)
            return
        job.started = state.now
        self._occupancy.lasts(job, state.now + job.entry.expected)
        self._has_started(job)

    def _forget(self, job: SiteRunning) -> None:
        """A job has its hosts no longer, and was never executed."""
        waited = job.waited
        self._occupancy.give_back(job)
        self._waking.pop(waited.id, None)
        del self._running[waited.id], self._state.running[waited.id]
        self._state.endings.remove(job.ending)

    def _take_back(self, job: SiteRunning) -> None:
        """A job that waits for its hosts goes back to the queue."""
        self._forget(job)
        self._holding.back(job.entry.job)
        self._fates.give_up_hope((job.entry.job,))

    def settle(self) -> None:
        """Switch hosts on ahead of reservations, and off if they have been idle for long."""
        if self.sleeping is not None:
            heads = self._planner.heads.values()
            self._ahead = self.sleeping.ahead(heads)
            self.sleeping.switch_off(heads)

    def _claim(self, entry: Entry) -> bool:
        """Let jobs give way to an entry, if enough can; whether they do."""
        assert self._preempting is not None
        state, planner = self._state, self._planner
        found = self._preempting.find(
            *(entry, self._running.values(), state.now, planner.heads.values()),
            lambda host: planner.is_clear(entry, (host,), state),
        )
        victims = None if found is None else planner.victims(entry, *found, state.now)
        if found is None or not victims:
            return False
        latest = max(map(self._preempting.grace_of, victims))
        if latest and not planner.is_clear(entry, found.hosts, state, latest):
            return False
        now = state.now
        by_grace: dict[float, list[str]] = {}
        for victim in victims:
            victim.is_giving_way = True
            planner.gives_way(victim, now)
            grace = self._preempting.grace_of(victim)
            by_grace.setdefault(grace, []).append(victim.waited.id)
            self._occupancy.lasts(victim, now)
        for grace, job_ids in sorted(by_grace.items()):
            if grace:
                self._graces.append((now + grace, job_ids))
                self._graces.sort()
            else:
                self._fates.kill([self._running[job_id] for job_id in job_ids], "preempted")
        self._planner.claimed(entry, found.hosts, now)
        return True

    def finish(self) -> None:
        """Where jobs may run again: say when no more will."""
        if self._registers and self._all_submitted and not self._is_finished and self.is_idle:
            self._is_finished = True
            self._actions.finish()
