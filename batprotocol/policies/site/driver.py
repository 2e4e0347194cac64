"""The side of a policy that runs a site: events in, decisions out.

`SiteDriver` gives a `Site` the events of a simulation, and does what the site decides through the policy's reply.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from procset import ProcSet

from batprotocol.errors import RuleViolation, SchedulerError
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
from batprotocol.policies.allocations import Allocation
from batprotocol.policies.backfilling import Backfilling
from batprotocol.policies.failures import Failures
from batprotocol.policies.jobs import RunningJob, State
from batprotocol.policies.orders import Order
from batprotocol.policies.site.core import Site
from batprotocol.policies.site.jobs import SiteRunning
from batprotocol.policies.site.power import Power
from batprotocol.policies.site.rules import SiteRules
from batprotocol.policies.starts import Wait
from batprotocol.policies.switching import Switching
from batprotocol.policies.walltimes import Walltimes
from batprotocol.workloads.host_events import HostEvent, Window

__all__ = ["SiteDriver", "ranking_of"]


def ranking_of(allocation: Allocation, rest: str, *, keep: bool, each: bool) -> str:
    """Which of the hosts with space a job gets on a site.

    Args:
        allocation: the allocation of the policy.
        rest: the end of the sentence of an error.
        keep: whether the policy has this part, which no site knows.
        each: the same.

    Raises:
        SchedulerError: sites do not know a part of the policy.
    """
    ranking = allocation.ranking
    used = {allocation.name: ranking is None, "keep": keep, "each": each}
    part = next((name for name, is_used in used.items() if is_used), None)
    if part is not None or ranking is None:
        raise SchedulerError(f"{part} does not know {rest}")
    return ranking


class SiteDriver:
    """Runs a site for a policy.

    Args:
        hosts: the computation hosts.
        rules: the rules of the site.
        state: the policy's state.
        order: the order of the queue.
        backfilling: the kind of backfilling.
        walltimes: how long jobs are expected to run.
        failures: the fate of jobs whose hosts fail; None: they are lost.
        starts: which jobs wait for a better time; None: they start as soon as they can.
        switching: which hosts sleep.
        awake_first: whether hosts that are on come before those that sleep.
        ranking: which of the hosts with room a job gets.
        contiguous: whether all jobs need hosts with consecutive numbers.
        risk: whether jobs start although a window that is known would meet them.
        power: the watts that jobs and idle hosts may draw; None: any.
        reply: gives the reply of this turn.
        reject: rejects a job, with a reason.
        call_at: calls the policy at a time.
    """

    def __init__(
        self,
        hosts: Iterable[Host],
        rules: SiteRules,
        state: State,
        order: Order,
        backfilling: Backfilling,
        walltimes: Walltimes,
        failures: Failures | None,
        *,
        starts: Wait | None,
        switching: Switching,
        awake_first: bool,
        ranking: str,
        contiguous: bool,
        risk: bool,
        power: Power | None,
        reply: Callable[[], Any],
        reject: Callable[[str, object], None],
        call_at: Callable[[float], None],
    ) -> None:
        self._state, self._order, self._walltimes = state, order, walltimes
        self._reply, self._reject, self._call_at = reply, reject, call_at
        self.site = Site(
            *(hosts, rules, state, order, backfilling, walltimes, self),
            failures=failures,
            starts=starts,
            ranking=ranking,
            contiguous=contiguous,
            risk=risk,
            power=power,
        )
        self._switching = switching
        if switching.seconds:
            self.site.sleeps(switching, awake_first=awake_first)
        self._switched: list[ProcSet] = []
        self._states: dict[str, FinalJobState] = {}
        self._progresses: dict[str, KillProgress] = {}
        self._happened: list[HostEvent | Window] = []
        self._is_last_event = False
        self._changed = True  # jobs may wait already

    # Events

    def submitted(self, event: JobSubmittedEvent, number: int, time: float) -> None:
        """A job is submitted."""
        profile = None if event.profile is None else event.profile.profile
        self._changed |= self.site.submitted(event.job_id, event.job, number, time, profile)

    def ended(self, job_id: str, state: FinalJobState) -> None:
        """A job has ended."""
        self._states[job_id] = state

    def killed(self, job_id: str, progress: KillProgress) -> None:
        """A job was killed after some progress."""
        self._progresses[job_id] = progress

    def switched(self, event: HostsTurnedOnOffEvent) -> None:
        """Hosts were switched on or off."""
        self._switched.append(parse_hosts(event.host_ids))

    def happened(self, event: HostEvent | Window) -> None:
        """Something has happened to hosts, or they are promised."""
        self._happened.append(event)

    def no_more_events(self) -> None:
        """All external events that were known in the beginning have occurred."""
        self._is_last_event = True

    def no_more(self) -> None:
        """All jobs of the workloads are submitted."""
        self.site.no_more()

    def decide(self) -> None:
        """Start what can start now."""
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
        wakes_at = self.site.wakes_at()
        if wakes_at < math.inf:
            self._call_at(wakes_at)

    def _started(self, job: SiteRunning) -> None:
        running: RunningJob = job
        self._state.running[job.waited.id] = running
        self._state.endings.add(job.ending)

    # Actions

    def execute(self, job_id: str, hosts: list[int], mapping: list[int] | None) -> str | None:
        """Execute a job; if that is not possible, reject it, and return why."""
        try:
            if mapping is None:
                self._reply().add_execute_job(job_id, hosts)
            else:
                self._reply().add_execute_job(job_id, hosts, mapping)
        except RuleViolation as violation:
            self._reject(job_id, violation)
            return str(violation)
        return None

    def reject(self, job_id: str, why: str) -> None:
        """Reject a job."""
        self._reject(job_id, why)

    def kill(self, job_ids: list[str]) -> None:
        """Kill jobs."""
        if job_ids:
            self._reply().add_kill_jobs(job_ids)

    def withdraw(self, job_id: str) -> None:
        """Reject a job that is registered under another name."""
        self._reply().add_reject_job(job_id)

    def register(self, job_id: str, job: Job, profiles: Iterable[tuple[str, Profile]]) -> None:
        """Register new profiles, and a job."""
        for profile_id, profile in profiles:
            self._reply().add_register_profile(profile_id, profile)
        self._reply().add_register_job(job_id, job)

    def switch(self, hosts: Iterable[int], on: bool) -> None:
        """Switch hosts on or off."""
        self._switching.switch(hosts, on, self._reply())

    def change_pstate(self, pstate: int, hosts: list[int]) -> None:
        """Change the power state of hosts that are on."""
        self._reply().add_change_hosts_pstate(hosts, pstate)

    def finish(self) -> None:
        """No more jobs are registered."""
        self._reply().add_finish_registration()
