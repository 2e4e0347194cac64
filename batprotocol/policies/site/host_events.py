"""The jobs that do not run yet, and the effects of failures and windows on all jobs.

Jobs are held until their time and dependencies have come. Then they are in the queue, or are given up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop

from batprotocol.model import FinalJobState
from batprotocol.policies.energy import StartWindow, Wait
from batprotocol.policies.jobs import DependentJobs, PromisedHosts, SiteEntry, SiteJob, SiteRunning
from batprotocol.policies.site.plan import AmountPlanner
from batprotocol.policies.site.reruns import Reruns
from batprotocol.policies.site.rules import refusal_of_deadline
from batprotocol.policies.site.sleeping import Sleeping
from batprotocol.policies.site.state import SiteState
from batprotocol.policies.site.windows import Windows
from batprotocol.workloads.host_events import HostChange, HostEvent, Window
from batprotocol.workloads.requests import Request, read_request


class HeldJobs(DependentJobs[SiteJob]):
    """The jobs that wait, until they start or never can.

    Args:
        site: the state of the site.
        planner: the plan.
        windows: the windows that are known.
        reruns: the jobs that run again.
        starts: which jobs wait for a better time; None: they start as soon as they can.
        reject: rejects a job, with a reason.

    `jobs` has those whose time or dependency has not come.
    """

    def __init__(
        self,
        site: SiteState,
        planner: AmountPlanner,
        windows: Windows,
        reruns: Reruns,
        starts: Wait | None,
        reject: Callable[[str, str], None],
    ) -> None:
        self._state, self._queue, self._usage, self._running = site.state, site.queue, site.usage, site.running
        self._planner, self._windows, self._reruns, self._part, self._reject_job = (
            planner,
            windows,
            reruns,
            starts,
            reject,
        )
        super().__init__()
        self._joined = False
        self.sleeping: Sleeping | None = None
        """The hosts that sleep; None: none do."""

    # Jobs come

    def unreadable(self, job_id: str, time: float, why: str) -> None:
        """A job was submitted and rejected: nobody can read what it asks for."""
        self._reject_job(job_id, why)
        self._dependencies.submitted(job_id, read_request(None), time)
        self.ended(job_id, FinalJobState.REJECTED, time, why)

    def hold(self, job: SiteJob) -> bool:
        """A job waits from now on; whether it joins the queue now."""
        self._usage.waits(job, 1)
        self.jobs[job.id] = job
        self._windows.enter(job)
        return self.look_at(job)

    def look_at(self, job: SiteJob) -> bool:
        """Whether a held job joins the queue now. Otherwise, its time is noted, or it is rejected."""
        state = self._state
        verdict = self._dependencies.verdict(job.first_id)
        begin = job.request.begin
        since = max(verdict.since, job.submitted if begin is None else begin.of(job.submitted))
        refusal = verdict.never or refusal_of_deadline(job, state.now) or self._windows.refusal(job)
        if refusal is not None:
            self.give_up(job, refusal)
            return False
        turn = StartWindow(since) if self._part is None or not job.entries else self._turn(job, since, self._part)
        since = turn.begin
        is_early = since > state.now + state.resolution / 2
        if is_early and since < math.inf:
            self.note(since, job)
            if self.sleeping is not None and job.entries:
                self._wake_for(job, since, self.sleeping)
        if is_early or not job.entries:  # until its reservation is known
            return False
        del self.jobs[job.id]
        job.eligible, job.until = since, turn.until
        self._join(job)
        return True

    def _wake_for(self, job: SiteJob, begin: float, sleeping: Sleeping) -> None:
        """Hosts are on when a job may start, as far as they are idle."""
        ahead = begin - sleeping.longest
        if ahead > self._state.now + self._state.resolution / 2:
            self.note(ahead, job)
        else:
            sleeping.prepare(job.entries[0].kind.hosts, job.size, begin)

    def _turn(self, job: SiteJob, since: float, part: Wait) -> StartWindow:
        """When a job may run that could have started at a time. Jobs with a reservation do not wait longer."""
        if since == math.inf or job.request.reservation is not None:
            return StartWindow(since)
        job.since = since
        return self._turn_of(job, part, job.ran)

    def goes_on(self, job: SiteJob, seconds: float) -> bool:
        """Whether a job that runs so long, and whose time is over, goes on: no better time follows now."""
        if self._part is None:
            return True
        if not job.ran:
            job.total = job.entries[0].expected
        turn = self._turn_of(job, self._part, job.ran + seconds)
        if turn.begin > self._state.now + self._state.resolution / 2:
            return False
        job.until = turn.until
        if turn.until < math.inf:
            self.note(turn.until, job)
        return True

    def _turn_of(self, job: SiteJob, part: Wait, ran: float) -> StartWindow:
        """When a job may run that has run for some time."""
        deadline = job.request.deadline
        return part.turn(
            *(self._state.now, job.since, job.total if ran else job.entries[0].expected),
            walltime=job.walltime + job.ran,
            deadline=None if deadline is None else deadline.of(job.submitted),
            divisible=part.interruptible and self._reruns.is_divisible(job),
            ran=ran,
        )

    def again(self, job: SiteJob) -> None:
        """A job has run, and waits for its next run: in the queue, or until its reservation goes on."""
        self._usage.waits(job, 1)
        self._windows.enter(job)
        if job.entries:
            self._join(job)
        else:
            self.jobs[job.id] = job
            self.look_at(job)

    def back(self, job: SiteJob) -> None:
        """A job has its hosts no more before it has started, and waits in the queue again."""
        self._usage.waits(job, 1)
        self._join(job)

    def _join(self, job: SiteJob) -> None:
        """A job joins the queue, until its deadline at the latest."""
        self._queue.add(job)
        deadline = job.request.deadline
        if deadline is not None:
            self.note(deadline.of(job.submitted) - (0.0 if math.isinf(job.walltime) else job.walltime), job)
        if job.until < math.inf:
            self.note(job.until, job)

    # Jobs that others depend on start and end

    def ended_before(self, job_id: str, request: Request) -> None:
        """A job had succeeded before the first one was submitted. Others can depend on it."""
        self._dependencies.submitted(job_id, request, 0.0)
        self._dependencies.ended(job_id, FinalJobState.COMPLETED_SUCCESSFULLY, 0.0)

    def look(self, job_ids: Iterable[str]) -> None:
        """The dependencies of jobs may have changed: those that can start join the queue."""
        for first_id in job_ids:
            job = self.jobs.get(self._reruns.current(first_id))
            if job is not None and self.look_at(job):
                self._joined = True

    # Jobs wait no longer

    def waits(self, job_id: str) -> SiteJob | None:
        """A job that waits; None if it does not."""
        return self._queue.jobs.get(job_id) or self.jobs.get(job_id)

    def drop(self, job: SiteJob) -> None:
        """A job waits no longer."""
        self.jobs.pop(job.id, None)
        if job.id in self._queue.jobs:
            for entry in job.entries:
                self._planner.dropped(entry)
            self._queue.remove(job)
        self._usage.waits(job, -1)

    def _wait_again(self, job: SiteJob) -> bool:
        """A job of the queue whose time is over waits for a better time; whether it joins the queue again at once."""
        for entry in job.entries:
            self._planner.dropped(entry)
        self._queue.remove(job)
        self.jobs[job.id] = job
        return self.look_at(job)

    def reject(self, job: SiteJob, why: str) -> None:
        """Reject a job that does not wait."""
        self._reject_job(job.id, why)
        self.ended(job.first_id, FinalJobState.REJECTED, self._state.now, why)

    def give_up(self, job: SiteJob, why: str) -> None:
        """Reject a job, if it still waits."""
        if job.id in self.jobs or job.id in self._queue.jobs:
            self.drop(job)
            self.reject(job, why)

    # Time goes on

    def passed(self, over: Callable[[str], None]) -> bool:
        """Look at the jobs whose time has come; whether something may start.

        Args:
            over: called with each of them that does not wait.
        """
        state, changed = self._state, False
        while self._times and self._times[0][0] <= state.now + state.resolution / 2:
            _, _, job_id = heappop(self._times)
            if job_id in self.jobs:
                changed |= self.look_at(self.jobs[job_id])
            elif job_id in self._queue.jobs:
                job = self._queue.jobs[job_id]
                if job.until <= state.now + state.resolution / 2:
                    changed |= self._wait_again(job)
                    continue
                refusal = refusal_of_deadline(job, state.now + state.resolution)
                if refusal is not None:
                    self.give_up(job, refusal)
                    changed = True
            else:
                over(job_id)
        return changed

    def has_joined(self) -> bool:
        """Whether jobs have joined the queue since the last question, as others have started or ended."""
        joined, self._joined = self._joined, False
        return joined

    def next_time(self) -> float:
        """When a job is to be looked at again; infinity: never."""
        times, there = self._times, (self.jobs, self._queue.jobs, self._running)
        while times and not any(times[0][2] in jobs for jobs in there):
            heappop(times)
        return times[0][0] if times else math.inf


# The effects of host events: hosts fail and come back, and windows are announced, begin and end


class HostEventEffects:
    """Does what failures and windows mean for jobs.

    Args:
        site: the state of the site.
        planner: the plan.
        windows: the windows that are known.
        holding: all jobs that wait.
        kill: kills jobs, by their ids.
        take_back: takes back a job that waits for its hosts.
    """

    def __init__(
        self,
        site: SiteState,
        planner: AmountPlanner,
        windows: Windows,
        holding: HeldJobs,
        kill: Callable[[list[str]], None],
        take_back: Callable[[SiteRunning], None],
    ) -> None:
        self._site, self._state, self._queue = site, site.state, site.queue
        self._planner, self._windows, self._held_jobs = planner, windows, holding
        self._kill_these, self._take_back = kill, take_back

    def kill(self, jobs: Iterable[SiteRunning], cause: str) -> None:
        """Kill running jobs, each once. Those that wait for hosts to be on go back to the queue.

        Args:
            jobs: the jobs.
            cause: why: a key of `batprotocol.workloads.requests.usage.ENDS`.
        """
        jobs = [job for job in jobs if not job.is_killed]
        for job in jobs:
            if job.missing:
                self._take_back(job)
        killed = [job for job in jobs if not job.missing]
        for job in killed:
            job.is_killed, job.cause = True, cause
        self._kill_these([job.waited.id for job in killed])

    def hosts_changed(self, event: HostEvent) -> None:
        """Hosts fail, are drained or come back now."""
        back = self._site.unavailable.change(event, self._state.now)
        self._planner.freed(self._site.promises.everywhere(back))
        if event.state is not HostChange.UP:
            self._planner.closed(set(self._site.promises.everywhere(event.hosts)), self._state.now)
            there = self._site.jobs_on(event.hosts)
            self.kill([job for job in there if job.missing or event.state is HostChange.DOWN], "failure")

    def announced(self, window: Window) -> None:
        """A window is known from now on. Jobs that it meets, and that wait for hosts to be on, are planned anew."""
        there = self._site.jobs_on(window.hosts)
        self.kill([job for job in there if job.missing and job.end > window.begin], "window")
        promised = self._windows.announce(window)
        if promised is not None:
            for job in self._queue.jobs.values():
                for entry in self._windows.enter(job, [promised]):
                    self._queue.add_entry(entry)
            for job in self._held_jobs.jobs.values():
                self._windows.enter(job, [promised])
        self._look_at_reservations()

    def no_more_events(self) -> None:
        """No window is announced any more, and no host comes back."""
        self._windows.may_come = False
        self._look_at_reservations()
        self._give_up_hope()

    def turn(self) -> bool:
        """Windows begin and end; whether some do."""
        has_turned = False
        for window, promised, begins in self._windows.turns():
            has_turned = True
            if promised is None and begins:
                self._clear(self._site.jobs_on(window.hosts))
            elif promised is not None and begins:
                there = self._site.jobs_on(window.hosts)
                self.kill([job for job in there if job.missing and job.entry.promised is not promised], "window")
            elif promised is not None:
                if not promised.is_open(self._state.now):
                    self._clear(job for job in self._site.running.values() if job.entry.promised is promised)
                if not promised.windows:
                    self._close(promised)
        if has_turned:
            self._look_at_reservations()
            self._give_up_hope()
        return has_turned

    def _look_at_reservations(self) -> None:
        """Look at the jobs whose reservation was not known."""
        for job in [job for job in self._held_jobs.jobs.values() if job.request.reservation is not None]:
            if job.id in self._held_jobs.jobs:
                self._held_jobs.look_at(job)

    def give_up_power(self) -> bool:
        """Where less may be drawn from now on than before: reject the jobs that need more; whether there were some."""
        if not self._planner.is_less_allowed(self._state.now):
            return False
        self._give_up_hope()
        return True

    def give_up_hope(self, jobs: Sequence[SiteJob]) -> None:
        """Some hosts, or watts, will never be free again: no job waits for them. Jobs that need them are rejected."""
        for job in jobs:
            entries, why = self._planner.hopeless(job, self._state.now)
            rest = [entry for entry in job.entries if entry not in entries]
            if entries and not rest:
                self._held_jobs.give_up(job, why)
            elif entries and any(entry.promised is None for entry in rest):  # reservations may end before it starts
                self._leave(job, entries)
            elif not job.entries and job.request.reservation is None:  # the last reservation that it could have is over
                self._held_jobs.give_up(job, self._windows.why_hopeless(job))
        waiting = [job for job in jobs if self._held_jobs.waits(job.id) is not None]
        for job, entries in self._windows.hopeless(waiting):
            if len(entries) == len(job.entries):
                self._held_jobs.give_up(job, self._windows.why_hopeless(job))
            else:
                self._leave(job, entries)

    def refusal(self, job: SiteJob) -> str | None:
        """Why a job that does not wait yet can never start for other reasons than hosts; None if it may.

        It keeps no entry with which it never can.
        """
        entries, why = self._planner.hopeless(job, self._state.now)
        if entries and len(entries) == len(job.entries):
            return why
        job.entries = [entry for entry in job.entries if entry not in entries]
        return None

    def _give_up_hope(self) -> None:
        self.give_up_hope([*self._held_jobs.jobs.values(), *self._queue.jobs.values()])

    def _leave(self, job: SiteJob, entries: list[SiteEntry]) -> None:
        """A job cannot start any more where these entries are."""
        job.entries = [entry for entry in job.entries if entry not in entries]
        if job.id in self._queue.jobs:
            for entry in entries:
                self._planner.dropped(entry)
                self._queue.remove_entry(entry)

    def _clear(self, jobs: Iterable[SiteRunning]) -> None:
        """Kill the jobs that are where they may not be any more. Batsim ends those whose time is over just now."""
        late = self._state.now + self._state.resolution
        self.kill([job for job in jobs if job.started + job.entry.job.walltime > late], "window")

    def _close(self, promised: PromisedHosts) -> None:
        """The windows of a reservation are over: no job waits for it any more."""
        for job in [*self._queue.jobs.values(), *self._held_jobs.jobs.values()]:
            self._leave(job, [entry for entry in job.entries if entry.promised is promised])
            if not job.entries and job.id in self._queue.jobs:
                self._queue.remove(job)
                self._held_jobs.jobs[job.id] = job
        self._windows.close(promised)
