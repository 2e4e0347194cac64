"""A site: jobs that wait with requests, hosts that they share, and the plan that starts them; and its driver."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import msgspec
from procset import ProcSet

from batprotocol.errors import InputError, SchedulerError
from batprotocol.model import (
    FinalJobState,
    Host,
    HostsTurnedOnOffEvent,
    Job,
    JobSubmittedEvent,
    KillProgress,
    Profile,
    parse_hosts,
)
from batprotocol.model.free_hosts import Hosts
from batprotocol.policies.backfilling import PlanSettings, settings_of
from batprotocol.policies.driver import Actions, Driver, PolicyParts
from batprotocol.policies.energy import Switching
from batprotocol.policies.jobs import JobRun, RunningJob, SiteEntry, SiteJob, SiteRunning, State, allocated_by
from batprotocol.policies.rules import PreemptMode
from batprotocol.policies.site.admission import Admission
from batprotocol.policies.site.capped import CappedPlanner, PowerLimits
from batprotocol.policies.site.host_events import HeldJobs, HostEventEffects
from batprotocol.policies.site.plan import AmountPlanner
from batprotocol.policies.site.reruns import Preemptions, Reruns, RunEnd, end_of
from batprotocol.policies.site.rules import SiteRules, fixed, mapping_of, refusal_of_deadline
from batprotocol.policies.site.sleeping import Sleeping
from batprotocol.policies.site.state import SiteState
from batprotocol.policies.site.windows import Windows
from batprotocol.workloads.host_events import HostEvent, Window
from batprotocol.workloads.requests import Allocated, AttemptReport, read_request
from batprotocol.workloads.requests.offers import needs_of
from batprotocol.workloads.requests.request import NOTHING


class Site:
    """The jobs and hosts of a site.

    Args:
        site: their state, which the parts of a site share.
        parts: the parts of the policy.
        actions: how jobs are executed, rejected and killed.
        power: the watts that jobs and idle hosts may draw; None: any.

    Attributes:
        sleeping: the hosts that sleep; None: none do.
        allocated: the amounts that each started job took, in the order of their starts.
        attempts: the runs of jobs that ended early, are not the only one of their job, or have checkpoints; by their
            ends.
    """

    def __init__(self, site: SiteState, parts: PolicyParts, actions: Actions, power: PowerLimits | None = None) -> None:
        self._site, self._state, self._pool, self._running = site, site.state, site.pool, site.running
        self.rules, self.queue, self.priorities = site.rules, site.queue, site.priorities
        self._contiguous, self._interrupts = parts.allocation.contiguous, parts.interrupts
        self._planner = self._new_planner(settings_of(parts.backfilling), power)
        self._actions = self._planner.around(actions)
        self._preemptions = Preemptions(site.rules, site.pool, site.chooser) if site.rules.can_preempt else None
        if self._preemptions is not None:
            self._planner.claim = self._claim
        self._admission = Admission(site, parts.walltimes)
        self._windows = Windows(site, self._planner, self._admission, risk=parts.risk)
        self._reruns = Reruns(parts.failures, site.speed, self._mean_time_between_failures)
        self._held_jobs = HeldJobs(site, self._planner, self._windows, self._reruns, parts.starts, actions.reject)
        self._effects = HostEventEffects(
            site, self._planner, self._windows, self._held_jobs, actions.kill, self._take_back
        )
        self.sleeping: Sleeping | None = None
        self._waking: dict[str, SiteRunning] = {}  # the jobs whose hosts are not all on yet
        self._ahead = math.inf  # when hosts are to be switched on for reservations
        self._registers = site.rules.can_preempt or parts.failures is not None or parts.interrupts
        self._graces: list[tuple[float, list[str]]] = []
        self._starts = 0
        self._all_submitted = self._is_finished = False
        self.allocated: list[Allocated] = []
        self.attempts: list[AttemptReport] = []

    def _new_planner(self, settings: PlanSettings, power: PowerLimits | None) -> AmountPlanner:
        return AmountPlanner(settings, self._site) if power is None else CappedPlanner(power, settings, self._site)

    @property
    def is_idle(self) -> bool:
        """Whether no job waits or runs."""
        return not (self.queue.jobs or self._held_jobs.jobs or self._running)

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
            self._held_jobs.unreadable(job_id, time, str(error))
            return False
        if self._contiguous:
            request = msgspec.structs.replace(request, contiguous=True)
        waiting = SiteJob(job_id, job, number, time, request)
        waiting.profile = profile
        self._held_jobs.submitted(job_id, request, time)
        refusal = (
            self._admission.prepare(waiting) or self._site.usage.refusal(waiting) or self._effects.refusal(waiting)
        )
        if refusal is not None:
            self._held_jobs.reject(waiting, refusal)
            return False
        run = self._reruns.first(waiting)
        if run is not None:
            self._actions.withdraw(job_id)
            self._actions.register(run.id, run.job, run.profiles)
            self._admission.divided(waiting, run)
        return self._held_jobs.hold(waiting)

    def sleeps(self, switching: Switching, *, awake_first: bool) -> None:
        """From now on, idle hosts are switched off, and on when the plan needs them. No job runs here yet.

        Args:
            switching: the hosts that can sleep, and those that do.
            awake_first: whether hosts that are on come before those that sleep.
        """
        state = self._state
        sleeping = Sleeping(switching, self._site, self._actions.switch)
        self.sleeping = self._held_jobs.sleeping = sleeping
        self._planner.sleeps(sleeping)
        sleeping.left(switching.hand_over(state))
        self._site.chooser.is_late = sleeping.is_late if awake_first else None

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
        entry = SiteEntry(job, "", 1, kind, self._admission.next_number())
        job.entries.append(entry)
        self._held_jobs.submitted(job.id, NOTHING, job.submitted)
        adopted = self._running[job.id] = SiteRunning(entry, members, running.hosts, running.started, running.place)
        adopted.end = running.end
        if self.sleeping is not None:
            self.sleeping.take(members)
            adopted.missing = set(missing)
        self._take(adopted)
        self._starts = max(self._starts, running.place + 1)
        if adopted.missing and self.sleeping is not None:
            self._waking[job.id] = adopted
            adopted.started = self._state.now + self.sleeping.delay(members)
            self._lasts(adopted, adopted.started + job.expected)
        else:
            self._held_jobs.started(job.id, running.started)
            self.allocated.append(allocated_by(adopted, job, entry.kind.amount, entry.partition, self._pool))

    def no_more(self) -> None:
        """All jobs of the workloads are submitted."""
        self._all_submitted = True
        self._held_jobs.no_more()

    # Time goes on, and jobs end

    def passed(self) -> bool:
        """Look at what was to happen until now; whether something may start."""
        state = self._state
        changed = self._held_jobs.passed(self._time_is_over)
        while self._graces and self._graces[0][0] <= state.now + state.resolution / 2:
            _, job_ids = self._graces.pop(0)
            self._effects.kill([self._running[job_id] for job_id in job_ids if job_id in self._running], "preempted")
        changed |= self._effects.turn()
        changed |= self._effects.give_up_power()
        joined = self._held_jobs.has_joined()
        is_due = self._planner.is_due()
        return self._extend_the_late() or changed or joined or is_due

    def _time_is_over(self, job_id: str) -> None:
        """Kill a job that waits for a better time now. Or it has no walltime, and its time in its partition is over."""
        job, now = self._running.get(job_id), self._state.now + self._state.resolution / 2
        if job is not None and self._interrupts and job.entry.job.until <= now:
            if job.missing or not self._held_jobs.goes_on(job.entry.job, self._state.now - job.started):
                self._effects.kill([job], "interrupted")
        elif job is not None and math.isinf(job.waited.walltime) and job.started + job.entry.limit <= now:
            self._effects.kill([job], "walltime")

    def wakes_at(self) -> float:
        """When something happens without an event; infinity: never."""
        times = self._held_jobs.next_time()
        graces = self._graces[0][0] if self._graces else math.inf
        if not self.is_idle:
            times = min(times, self._windows.wakes_at())
        if self.sleeping is not None and not self._may_end(self.sleeping):
            times = min(times, self._ahead, self.sleeping.next_time())
        return min(times, graces, self._planner.wakes_at())

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
            waiting = self._held_jobs.waits(job_id)
            if waiting is not None:  # somebody else started it
                self._held_jobs.drop(waiting)
                self._held_jobs.ended(waiting.first_id, ended, state.now)
            return None
        entry = job.entry
        self._give_back(job)
        end = end_of(job, ended)
        outcome = self._next_run(job, end, progress)
        record = self._reruns.record(job, end, outcome, state.now)
        if record is not None:
            self.attempts.append(record)
        if outcome.next is None:
            self._held_jobs.ended(entry.job.first_id, ended, state.now)
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
            self._planner.anew()
        return extended

    # Jobs run again

    def _next_run(self, job: SiteRunning, end: str, progress: KillProgress | None) -> RunEnd:
        """Register a job again that was killed, if it is to run again."""
        waited, is_saved, part = job.entry.job, False, self._reruns.part
        is_late = end != "interrupted" and refusal_of_deadline(waited, self._state.now) is not None
        if waited.request.requeue is False or is_late:
            return RunEnd(progress)
        if end == "preempted" and self._preemptions is not None:
            mode = self._preemptions.terms(job).mode
            keeps_place, is_saved = True, mode == PreemptMode.CHECKPOINT
            if mode == PreemptMode.CANCEL:
                return RunEnd(progress)
        elif end in ("failure", "window") and part is not None:
            if (waited.life.failures if waited.life else 0) >= part.times:
                return RunEnd(progress)
            keeps_place = not part.last
        elif end == "interrupted":
            keeps_place = is_saved = True
        else:
            return RunEnd(progress)
        used = self._state.now - job.started - self._state.resolution if end == "interrupted" else 0.0
        run = self._reruns.next(waited, progress, is_saved=is_saved, used=max(used, 0.0))
        assert waited.life is not None
        waited.life.failures += end in ("failure", "window")
        self._actions.register(run.id, run.job, run.profiles)
        self._wait_again(job, run, keeps_place, end == "interrupted")
        return RunEnd(progress, run, is_saved)

    def _wait_again(self, job: SiteRunning, run: JobRun, keeps_place: bool, was_interrupted: bool) -> None:
        """The next run of a job joins the queue, or waits for a better time if it was interrupted."""
        waited, now = job.entry.job, self._state.now
        again = SiteJob(run.id, run.job, waited.number, waited.submitted, waited.request)
        if not keeps_place:  # as if it was submitted now
            again.submitted, again.request = now, fixed(waited.request, waited.submitted)
        again.first_id, again.life, again.run, again.profile = waited.first_id, waited.life, run, run.profile
        again.eligible = now
        again.lost = waited.lost + (0.0 if run.profiles else now - job.started)
        self._admission.again(again, waited, keeps_place=keeps_place)
        if was_interrupted:
            again.ran = waited.ran + (now - job.started if run.profiles or run.pieces else 0.0)
            again.total = waited.total if waited.ran else job.entry.expected
            for entry in again.entries:
                entry.expected = min(entry.expected, max(again.total - again.ran, 0.0))
            self._held_jobs.hold(again)
        else:
            self._held_jobs.again(again)
        self._effects.give_up_hope((again,))

    # Hosts are away, or promised

    def hosts_changed(self, event: HostEvent) -> None:
        """Hosts fail, are drained or come back now. The event was checked."""
        self._effects.hosts_changed(event)

    def _mean_time_between_failures(self) -> float | None:
        return self._site.unavailable.mean_time_between_failures(self._state.now)

    def announced(self, window: Window) -> None:
        """Hosts are promised for a time. The window was checked."""
        self._effects.announced(window)

    def no_more_events(self) -> None:
        """All external events that were known in the beginning have occurred: no host comes back any more."""
        self._effects.no_more_events()

    # Jobs start

    def start(self, started: Callable[[SiteRunning], None]) -> None:
        """Start what the plan chooses.

        Args:
            started: called with each job that was started.
        """
        self._windows.expect()
        for entry, hosts in self._planner.starting():
            self._start(entry, hosts, started)

    def _start(self, entry: SiteEntry, hosts: list[int], started: Callable[[SiteRunning], None]) -> None:
        state, job = self._state, entry.job
        if entry.promised is not None:
            hosts = entry.promised.own(hosts)
            entry.limit = min(entry.limit, entry.promised.rest(state.now))  # it is killed when the window ends
        delay = 0.0 if self.sleeping is None else self.sleeping.delay(hosts)
        missing = set[int]() if self.sleeping is None else self.sleeping.take(hosts)
        refusal = None if missing else self._actions.execute(job.id, hosts, mapping_of(job, hosts))
        self._held_jobs.drop(job)
        if refusal is not None:
            if self.sleeping is not None:
                self.sleeping.give_back(hosts)
            self._held_jobs.ended(job.first_id, FinalJobState.REJECTED, state.now, refusal)
            return
        frozen = Hosts(hosts).take(len(hosts))
        running = self._running[job.id] = SiteRunning(entry, hosts, frozen, state.now + delay, self._starts)
        running.missing = missing
        running.priority, running.cores = self.queue.priority(entry), self._pool.cores(hosts, entry.kind.amount)
        self._starts += 1
        self._take(running)
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
            self._held_jobs.note(now + entry.limit, job)
        self.allocated.append(allocated_by(running, job, entry.kind.amount, entry.partition, self._pool))
        self._held_jobs.started(job.first_id, now)

    # The hosts that running jobs have

    def _take(self, job: SiteRunning) -> None:
        """A job has its hosts from now on."""
        site, everywhere, amount = self._site, self._site.promises.everywhere(job.members), job.entry.kind.amount
        site.pool.take(everywhere, amount)
        site.queue.changed(everywhere)
        site.timeline.take(everywhere, site.state.now, job.end, amount)
        self._planner.began(job)
        site.jobs_by_host.started(job)
        site.usage.runs(job, 1)

    def _give_back(self, job: SiteRunning) -> None:
        """A job has its hosts no longer."""
        site, now = self._site, self._state.now
        everywhere, amount = site.promises.everywhere(job.members), job.entry.kind.amount
        site.pool.give_back(everywhere, amount)
        site.queue.changed(everywhere)
        if job.end > now:
            site.timeline.give_back(everywhere, now, job.end, amount)
        self._planner.over(job)
        self._planner.freed(everywhere)
        site.usage.runs(job, -1)
        if site.priorities is not None:
            site.priorities.ended(job, now)
        site.jobs_by_host.ended(job)
        if self.sleeping is not None:
            self.sleeping.give_back(job.members)

    def _lasts(self, job: SiteRunning, end: float) -> None:
        """A job is expected to end at another time, which may be now."""
        site, now, before = self._site, self._state.now, job.end
        everywhere, amount = site.promises.everywhere(job.members), job.entry.kind.amount
        if before > now:
            site.timeline.give_back(everywhere, now, before, amount)
        if before > now or end > now:
            site.state.move(job, end)
        if end > now:
            site.timeline.take(everywhere, now, end, amount)
        self._planner.lasts(job, before)

    # Hosts that sleep

    def switched(self, hosts: Iterable[int]) -> None:
        """Hosts were switched on or off."""
        if self.sleeping is None:
            return
        self._effects.turn()  # no job starts in a window that begins just now
        self._planner.freed(self._site.promises.everywhere(self.sleeping.switched(hosts)))
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
            self._held_jobs.ended(waited.first_id, FinalJobState.REJECTED, state.now, refusal)
            return
        job.started = state.now
        self._lasts(job, state.now + job.entry.expected)
        self._has_started(job)

    def _forget(self, job: SiteRunning) -> None:
        """A job has its hosts no longer, and was never executed."""
        waited = job.waited
        self._give_back(job)
        self._waking.pop(waited.id, None)
        del self._running[waited.id], self._state.running[waited.id]
        self._state.endings.remove(job.ending)

    def _take_back(self, job: SiteRunning) -> None:
        """A job that waits for its hosts goes back to the queue."""
        self._forget(job)
        self._held_jobs.back(job.entry.job)
        self._effects.give_up_hope((job.entry.job,))

    def settle(self) -> None:
        """Switch hosts on ahead of reservations, and off if they have been idle for long."""
        if self.sleeping is not None:
            heads = self._planner.heads.values()
            self._ahead = self.sleeping.ahead(heads)
            self.sleeping.switch_off(heads)

    def _claim(self, entry: SiteEntry) -> bool:
        """Let jobs give way to an entry, if enough can; whether they do."""
        assert self._preemptions is not None
        state, planner = self._state, self._planner
        found = self._preemptions.find(
            *(entry, self._running.values(), state.now, planner.heads.values()),
            lambda host: planner.is_clear(entry, (host,)),
        )
        victims = None if found is None else planner.victims(entry, *found, state.now)
        if found is None or not victims:
            return False
        latest = max(self._preemptions.terms(victim).grace for victim in victims)
        if latest and not planner.is_clear(entry, found.hosts, latest):
            return False
        now = state.now
        by_grace: dict[float, list[str]] = {}
        for victim in victims:
            victim.is_giving_way = True
            planner.gives_way(victim)
            grace = self._preemptions.terms(victim).grace
            by_grace.setdefault(grace, []).append(victim.waited.id)
            self._lasts(victim, now)
        for grace, job_ids in sorted(by_grace.items()):
            if grace:
                self._graces.append((now + grace, job_ids))
                self._graces.sort()
            else:
                self._effects.kill([self._running[job_id] for job_id in job_ids], "preempted")
        self._planner.claimed(entry, found.hosts, now)
        return True

    def finish(self) -> None:
        """Where jobs may run again: say when no more will."""
        if self._registers and self._all_submitted and not self._is_finished and self.is_idle:
            self._is_finished = True
            self._actions.finish()


# The driver


def ranking_of(parts: PolicyParts, rest: str) -> str:
    """Which of the hosts with space a job gets on a site.

    Args:
        parts: the parts of the policy.
        rest: the end of the sentence of an error.

    Raises:
        SchedulerError: sites do not know a part of the policy.
    """
    ranking = parts.allocation.ranking
    used = {parts.allocation.name: ranking is None, "keep": parts.keeps, "each": parts.each}
    part = next((name for name, is_used in used.items() if is_used), None)
    if part is not None or ranking is None:
        raise SchedulerError(f"{part} does not know {rest}")
    return ranking


class SiteDriver(Driver):
    """Runs a site for a policy.

    Args:
        hosts: the computation hosts.
        rules: the rules of the site.
        state: the policy's state.
        parts: the parts of the policy.
        ranking: which of the hosts with room a job gets.
        switching: which hosts sleep.
        power: the watts that jobs and idle hosts may draw; None: any.
        actions: carry out the decisions.
    """

    def __init__(
        self,
        hosts: tuple[Host, ...],
        rules: SiteRules,
        state: State,
        parts: PolicyParts,
        ranking: str,
        switching: Switching,
        power: PowerLimits | None,
        actions: Actions,
    ) -> None:
        self._state, self._order, self._walltimes, self._actions = state, parts.order, parts.walltimes, actions
        self.site = Site(SiteState(hosts, rules, state, parts.order, ranking), parts, actions, power)
        if switching.seconds:
            self.site.sleeps(switching, awake_first=parts.allocation.awake_first)
        self._switched: list[ProcSet] = []
        self._states: dict[str, FinalJobState] = {}
        self._progresses: dict[str, KillProgress] = {}
        self._happened: list[HostEvent | Window] = []
        self._is_last_event = False
        self._changed = True  # jobs may wait already

    @property
    def allocated(self) -> Sequence[Allocated]:
        return self.site.allocated

    @property
    def attempts(self) -> Sequence[AttemptReport]:
        return self.site.attempts

    # Events

    def submitted(self, event: JobSubmittedEvent, number: int, time: float) -> None:
        profile = None if event.profile is None else event.profile.profile
        self._changed |= self.site.submitted(event.job_id, event.job, number, time, profile)

    def ended(self, job_id: str, state: FinalJobState) -> None:
        self._states[job_id] = state

    def killed(self, job_id: str, progress: KillProgress) -> None:
        self._progresses[job_id] = progress

    def switched(self, event: HostsTurnedOnOffEvent) -> None:
        self._switched.append(parse_hosts(event.host_ids))

    def happened(self, event: HostEvent | Window) -> None:
        self._happened.append(event)

    def no_more_events(self) -> None:
        self._is_last_event = True

    def no_more(self) -> None:
        self.site.no_more()

    def decide(self) -> None:
        state = self._state
        for job_id, ended in self._states.items():
            job = self.site.ended(job_id, ended, self._progresses.get(job_id))
            if job is not None:
                del state.running[job_id]
                state.endings.remove(job.ending)
                self._order.ended(job, state)
                if not job.cause:  # the time of a run that was killed predicts nothing
                    self._walltimes.ended(job, state)
            self._changed = True
        self._states.clear()
        self._progresses.clear()
        for event in self._happened:  # a job that has ended meanwhile is not lost
            if isinstance(event, Window):
                self.site.announced(event)
            else:
                self.site.hosts_changed(event)
            self._changed = True
        self._happened.clear()
        for hosts in self._switched:
            self.site.switched(hosts)
            self._changed = True
        self._switched.clear()
        if self._is_last_event:
            self._is_last_event = False
            self._changed = True
            self.site.no_more_events()
        changed, self._changed = self._changed, False
        while self.site.passed() or changed:  # what starts, or is rejected meanwhile, may be what others wait for
            changed = False
            self.site.start(self._started)
        self.site.settle()
        self.site.finish()
        self._actions.call_at(self.site.wakes_at())

    def _started(self, job: SiteRunning) -> None:
        running: RunningJob = job
        self._state.running[job.waited.id] = running
        self._state.endings.add(job.ending)
