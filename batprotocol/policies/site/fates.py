"""The fates of jobs as hosts fail and come back, and as windows are announced, begin and end.

This module must not know how plans avoid windows, nor which jobs run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from batprotocol.policies.jobs import State
from batprotocol.policies.site.away import Away, Residents
from batprotocol.policies.site.holding import Holding
from batprotocol.policies.site.jobs import Entry, SiteJob, SiteRunning
from batprotocol.policies.site.lanes import Lane, Lanes
from batprotocol.policies.site.planning import Planner
from batprotocol.policies.site.queue import SiteQueue
from batprotocol.policies.site.windows import Windows
from batprotocol.workloads.host_events import HostChange, HostEvent, Window

__all__ = ["Fates"]


class Fates:
    """Does what failures and windows mean for jobs.

    Args:
        state: the time.
        windows: the windows that are known.
        planner: the plan.
        queue: the jobs that wait for hosts.
        holding: all jobs that wait.
        running: the jobs that run.
        away: the hosts that have failed or are drained.
        lanes: the other numbers of hosts.
        residents: the jobs on each host.
        kill: kills jobs, by their ids.
    """

    def __init__(
        self,
        state: State,
        windows: Windows,
        planner: Planner,
        queue: SiteQueue,
        holding: Holding,
        running: dict[str, SiteRunning],
        away: Away,
        lanes: Lanes,
        residents: Residents,
        kill: Callable[[list[str]], None],
        take_back: Callable[[SiteRunning], None],
    ) -> None:
        self._state, self._windows, self._planner, self._queue = state, windows, planner, queue
        self._holding, self._running = holding, running
        self._away, self._lanes, self._residents = away, lanes, residents
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
        back = self._away.change(event, self._state.now)
        self._planner.freed(self._lanes.everywhere(back))
        if event.state is not HostChange.UP:
            self._planner.closed(set(self._lanes.everywhere(event.hosts)), self._state.now)
        if event.state is not HostChange.UP:
            there = self._residents.on(event.hosts, self._running.values())
            self.kill([job for job in there if job.missing or event.state is HostChange.DOWN], "failure")

    def announced(self, window: Window) -> None:
        """A window is known from now on. Jobs that it meets, and that wait for hosts to be on, are planned anew."""
        there = self._residents.on(window.hosts, self._running.values())
        self.kill([job for job in there if job.missing and job.end > window.begin], "window")
        lane = self._windows.announce(window, self._running.values())
        if lane is not None:
            for job in self._queue.jobs.values():
                for entry in self._windows.enter(job, [lane]):
                    self._queue.add_entry(entry)
            for job in self._holding.jobs.values():
                self._windows.enter(job, [lane])
        self._look_at_reservations()

    def no_more_events(self) -> None:
        """No window is announced any more, and no host comes back."""
        self._windows.may_come = False
        self._look_at_reservations()
        self._give_up_hope()

    def turn(self) -> bool:
        """Windows begin and end; whether some do."""
        has_turned = False
        for window, lane, begins in self._windows.turns():
            has_turned = True
            if lane is None and begins:
                self._clear(self._residents.on(window.hosts, self._running.values()))
            elif lane is not None and begins:
                there = self._residents.on(window.hosts, self._running.values())
                self.kill([job for job in there if job.missing and job.entry.lane is not lane], "window")
            elif lane is not None:
                if not lane.is_open(self._state.now):
                    self._clear(job for job in self._running.values() if job.entry.lane is lane)
                if not lane.windows:
                    self._close(lane)
        if has_turned:
            self._look_at_reservations()
            self._give_up_hope()
        return has_turned

    def _look_at_reservations(self) -> None:
        """Look at the jobs whose reservation was not known."""
        for job in [job for job in self._holding.jobs.values() if job.request.reservation is not None]:
            if job.id in self._holding.jobs:
                self._holding.look_at(job)

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
                self._holding.give_up(job, why)
            elif entries and any(entry.lane is None for entry in rest):  # a reservation may be over before it starts
                self._leave(job, entries)
            elif not job.entries and job.request.reservation is None:  # the last reservation that it could have is over
                self._holding.give_up(job, self._windows.why_hopeless(job))
        waiting = [job for job in jobs if self._holding.waits(job.id) is not None]
        for job, entries in self._windows.hopeless(waiting):
            if len(entries) == len(job.entries):
                self._holding.give_up(job, self._windows.why_hopeless(job))
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
        self.give_up_hope([*self._holding.jobs.values(), *self._queue.jobs.values()])

    def _leave(self, job: SiteJob, entries: list[Entry]) -> None:
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

    def _close(self, lane: Lane) -> None:
        """The windows of a reservation are over: no job waits for it any more."""
        for job in [*self._queue.jobs.values(), *self._holding.jobs.values()]:
            self._leave(job, [entry for entry in job.entries if entry.lane is lane])
            if not job.entries and job.id in self._queue.jobs:
                self._queue.remove(job)
                self._holding.jobs[job.id] = job
        self._windows.close(lane)
