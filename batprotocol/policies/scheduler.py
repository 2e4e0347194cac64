"""`Policy`: the scheduler that combines a queue order, a kind of backfilling, and an allocation.

It maintains the state that the parts read, and executes their choices. It must not know any of them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

import msgspec
from procset import ProcSet

from batprotocol.deprecation import OldName, old_arguments
from batprotocol.edc import Scheduler
from batprotocol.errors import InputError, RuleViolation, shown
from batprotocol.hosts import FrozenHosts, Hosts
from batprotocol.model import (
    AllStaticExternalEventsHaveBeenInjectedEvent,
    AllStaticJobsHaveBeenSubmittedEvent,
    EDCRequestedSimulationFeatures,
    ExternalEventOccurredEvent,
    Host,
    HostsTurnedOnOffEvent,
    Job,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    OneShot,
    SimulationBeginsEvent,
    TimeUnit,
    parse_hosts,
)
from batprotocol.policies.allocations import Allocation, AwakeFirst, First
from batprotocol.policies.backfilling import Backfilling, NoBackfilling
from batprotocol.policies.failures import Checkpoint, Failures
from batprotocol.policies.happening import Happening
from batprotocol.policies.jobs import RunningJob, State, WaitingJob, natural_key
from batprotocol.policies.orders import FCFS, Order
from batprotocol.policies.queue import Queue
from batprotocol.policies.replaying import Conflict, Replay
from batprotocol.policies.reporting import Allocating
from batprotocol.policies.site import Site, SiteRules
from batprotocol.policies.site.driver import SiteDriver, ranking_of
from batprotocol.policies.switching import Switching
from batprotocol.policies.walltimes import AsRequested, Walltimes
from batprotocol.requests import Allocated, Attempt, read_request

__all__ = ["Policy"]

logger = logging.getLogger("batprotocol.policies")

_LATEST = 2.0**50
"""The policy asks for no call after this many seconds."""


class Policy(Allocating, Scheduler):
    """A scheduler that combines parts.

    Args:
        order: which of the waiting jobs comes first; `FCFS` by default.
        backfilling: which jobs start before their turn; none by default.
        allocation: which hosts a job gets; the free hosts with the lowest numbers by default.
        walltimes: the expected run times of jobs; their requested times by default.
        each: whether the policy decides after each event; by default, it decides once after all events of one time.
        keeps: whether the first job of the queue stays the first one until it starts, whichever jobs arrive.
        off_after: the seconds without a job after which hosts that can sleep are switched off; infinity: never. The
            policy switches them on for the next job that gets them. By default, jobs get hosts that are awake first.
        resolution: times that differ by less count as equal, in seconds, >= 0. As Batsim's messages take a while, jobs
            start a few microseconds after others have ended.
        site: the rules of a site; by default, there are none.
        risk: whether jobs start although a window that is known would meet them. By default, they do not.
        replays: whether jobs start when and where a log says, see `recorded` in their extra data. The other parts have
            no effect then, except for the resolution.
        failures: the fate of jobs whose hosts fail; by default, they are lost.

    Each job has its hosts for itself, unless the allocation is `Shared`. The policy rejects jobs that can never run,
    and logs that as `batprotocol.policies`: jobs that request no hosts or more than there are, and jobs that Batsim
    would abort on.

    >>> from batprotocol.policies import EASY, SJF, SAF, Policy
    >>> from batprotocol.simulator import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, simulate
    >>> simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, Policy(SJF(), EASY(SAF()))).is_complete
    True
    """

    version = "1.0"
    # Only the profiles show which jobs Batsim would abort on.
    features = EDCRequestedSimulationFeatures(forward_profiles_on_job_submission=True)

    hosts = OldName("allocation")

    @old_arguments(hosts="allocation")
    def __init__(
        self,
        order: Order | None = None,
        backfilling: Backfilling | None = None,
        allocation: Allocation | None = None,
        *,
        walltimes: Walltimes | None = None,
        each: bool = False,
        keeps: bool = False,
        resolution: float = 1e-3,
        off_after: float = math.inf,
        site: SiteRules | None = None,
        risk: bool = False,
        replays: bool = False,
        failures: Failures | None = None,
    ) -> None:
        if not 0 <= resolution < float("inf"):
            raise ValueError(f"expected a resolution >= 0 in seconds, got {resolution}")
        self.order = order or FCFS()
        self.backfilling = backfilling or NoBackfilling()
        self.switching = Switching(off_after)
        self.allocation = allocation or (First() if off_after == math.inf else AwakeFirst())
        self.shares_hosts = self.allocation.share > 1
        self.walltimes = walltimes or AsRequested()
        self.each, self.keeps, self.resolution = each, keeps, resolution
        self.rules, self.risk, self.replays, self.failures = site, risk, replays, failures
        if failures is not None or (site is not None and site.can_preempt):  # jobs run again
            self.features = msgspec.structs.replace(self.features, dynamic_registration=True, profile_reuse=True)
        self._prepare(State(resolution=resolution))

    @property
    def site(self) -> Site | None:
        """The jobs with their hosts; None while all jobs ask for whole hosts, no host fails, and there are no rules."""
        return self._driver.site if isinstance(self._driver, SiteDriver) else None

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """If it replays a log: the jobs that could not start when and where the log says; else none."""
        return tuple(self._driver.conflicts) if isinstance(self._driver, Replay) else ()

    @property
    def allocated(self) -> Sequence[Allocated]:
        """The amounts that each started job took of its hosts, in the order of starts; empty until jobs share hosts.

        A job that ended before the first one that shares hosts is not in it: it had its hosts for itself.
        """
        driver = self._driver
        return () if driver is None else driver.allocated if isinstance(driver, Replay) else driver.site.allocated

    @property
    def attempts(self) -> Sequence[Attempt]:
        """The runs of jobs that ended early, are not the only one of their job, or have checkpoints; by their ends."""
        return self.site.attempts if self.site is not None else ()

    def _prepare(self, state: State) -> None:
        self._driver: SiteDriver | Replay | None = None
        self._computing: tuple[Host, ...] = ()
        self.state = state
        self._look_around()
        self._most, state.size = state.room, state.vacant
        self.queue = Queue(self.order, state, keeps=self.keeps)
        self._waking: dict[str, tuple[RunningJob, Hosts]] = {}  # with the hosts that are not on yet
        self._all_submitted = self._is_closed = False
        self._all_injected = self._is_quiet = False
        self._arrivals: list[JobSubmittedEvent] = []
        self._ends: list[str] = []
        self._switched: list[HostsTurnedOnOffEvent] = []
        self._happening = Happening()
        self._starts = 0
        self._count = 0
        self._changed = False
        self._call, self._calls = math.inf, 0
        other = self.backfilling.order
        self._orders = [self.order, *([] if other is None or other is self.order else [other])]
        for order in self._orders:
            order.begin(state)
        self.walltimes.begin(state)
        self.backfilling.begin(self.queue, state)

    # Batsim's events

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        self.allocation.begin(event)
        self.switching.begin(event)
        self._prepare(State(Hosts(host.id for host in event.computation_hosts), self.resolution))
        self._all_submitted = not event.workloads  # without workloads, no event reports that there are no more jobs
        self._all_injected = not event.external_event_lists
        self._computing = tuple(event.computation_hosts)
        self._happening = Happening(host.id for host in self._computing)
        if self.replays:
            self._driver = Replay(
                self._computing, self.state, reply=lambda: self.reply, reject=self._reject, call_at=self._call_at
            )
        elif self.rules is not None or isinstance(self.failures, Checkpoint):
            self._open_site(self.rules or SiteRules())

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self._arrivals.append(event)

    def on_all_static_jobs_have_been_submitted(self, event: AllStaticJobsHaveBeenSubmittedEvent) -> None:
        self._all_submitted = True

    def on_hosts_turned_on_off(self, event: HostsTurnedOnOffEvent) -> None:
        self._switched.append(event)

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        self._ends.append(event.job_id)
        if self._driver is not None:
            self._driver.ended(event.job_id, event.state)

    def on_jobs_killed(self, event: JobsKilledEvent) -> None:
        if self._driver is not None:
            for each in event.progresses:
                self._driver.killed(each.job_id, each.progress)

    def on_external_event_occurred(self, event: ExternalEventOccurredEvent) -> None:
        self._happening.add(event)

    def on_all_static_external_events_have_been_injected(
        self, event: AllStaticExternalEventsHaveBeenInjectedEvent
    ) -> None:
        self._all_injected = True

    def decide(self) -> None:
        # Events of one time arrive in any order, above all where messages take no time. Here, they have one order.
        self._set_clock()
        if self._call <= self.state.now:
            self._call, self._changed = math.inf, True
        self._take_arrivals()
        if self._happening:
            self._take_happened()
        if self._driver is not None:
            if self._all_injected and not self._is_quiet and isinstance(self._driver, SiteDriver):
                self._is_quiet = True
                self._driver.no_more_events()
            if self._all_submitted and not self._is_closed:  # also the jobs of this message are submitted
                self._is_closed = True
                self._driver.no_more()
            self._ends.clear()
            self._driver.decide()
            return
        self._take_ends()
        self._take_switched()
        self._start_jobs()
        self._switch_off()
        self._finish()

    # Jobs

    def submit(self, job_id: str, job: Job, submitted: float | None = None) -> None:
        """Add a job to the queue, or reject it if it could never run.

        Args:
            job_id: the id of the job.
            job: its description.
            submitted: the time of its submission; now by default.
        """
        state = self.state
        if not 0 < job.resource_request <= self._most:
            self._reject(job_id, f"it requests {job.resource_request} hosts, and can have 1 to {self._most}")
            return
        waiting = WaitingJob(job_id, job, self._count, state.now if submitted is None else submitted)
        self._count += 1
        expected = self.walltimes.expected(waiting, state)
        # What is not less, which NaN is neither, is no prediction.
        waiting.expected = max(expected, 0.0) if expected < waiting.walltime else waiting.walltime
        self.queue.add(waiting)
        self.backfilling.submitted(waiting, self.queue, state)
        self._changed = True

    def _take_arrivals(self) -> None:
        arrivals, rounded = self._arrivals, self.state.rounded
        if len(arrivals) > 1:
            # Batsim sends the jobs of one time by id, and 10 before 9.
            arrivals.sort(key=lambda event: (rounded(event.submission_time), natural_key(event.job_id)))
        for event in arrivals:
            for order in self._orders:
                order.submitted(event.job_id, event.job, self.state)
        for event in arrivals:
            submitted = min(rounded(event.submission_time), self.state.now)
            if self._driver is not None or (event.job.extra_data and self._needs_site(event.job)):
                self._submit_to_site(event, submitted)
                continue
            self.submit(event.job_id, event.job, submitted)
            if self.each:
                self._start_jobs()
        arrivals.clear()

    def _take_ends(self) -> None:
        state, queue, ends = self.state, self.queue, self._ends
        if len(ends) > 1:
            started = {job_id: state.running[job_id].place for job_id in ends if job_id in state.running}
            ends.sort(key=lambda job_id: started.get(job_id, 0))  # the one that started first
        for job_id in ends:
            job = state.running.pop(job_id, None)
            if job is not None:
                self._ended(job)
            elif job_id in queue.jobs:  # something else has started it, and it does not wait any more
                self._drop(queue.jobs[job_id])
            if self.each:
                self._start_jobs()
        ends.clear()

    def _set_clock(self) -> None:
        state = self.state
        state.now = max(state.now, state.rounded(self.now))

    def _start_jobs(self) -> None:
        """Start the jobs that the backfilling chooses, if something has happened since its last choice."""
        state, queue = self.state, self.queue
        self._extend_the_late()
        if not self._changed:
            return
        self._changed = False
        if not queue or not (state.room or self.keeps):  # the job to keep is chosen even while no host is free
            return
        for job in self.backfilling.starting(queue, state):
            self._start(job)
        self._call_at(self.backfilling.wakes_at(state))

    def _call_at(self, time: float) -> None:
        """Ask Batsim for a call, so that the policy decides at that time even if nothing happens."""
        if time < min(self._call, _LATEST):
            self._call = time
            self._calls += 1
            self.reply.add_call_me_later(f"policy-{self._calls}", OneShot(math.ceil(time * 1000), TimeUnit.Millisecond))

    def _start(self, job: WaitingJob) -> None:
        state = self.state
        hosts = self.allocation.take(job.size, state.free, self.switching.asleep)
        sleeping = self.switching.taken(hosts, self.reply)
        if not sleeping and not self._execute(job, hosts):
            self._drop(job)
            return
        self.queue.remove(job)
        running = state.running[job.id] = RunningJob(job, hosts, state.now, self._starts)
        self._starts += 1
        state.endings.add(running.ending)
        self._look_around()
        self.backfilling.started(running, state)
        if sleeping:
            self._waking[job.id] = running, Hosts(sleeping)

    def _execute(self, job: WaitingJob, hosts: FrozenHosts) -> bool:
        """Execute a job, and return whether that is possible. If not, reject it and free its hosts."""
        try:
            self.reply.add_execute_job(job.id, hosts)
        except RuleViolation as violation:
            # Batsim would abort, for example because the profile names a storage that the platform does not have.
            self._give_back(hosts)
            self._reject(job.id, violation)
            return False
        return True

    def _ended(self, job: RunningJob) -> None:
        state = self.state
        state.endings.remove(job.ending)
        self._give_back(job.hosts)
        self._look_around()
        for part in (self.order, self.walltimes, self.backfilling):
            part.ended(job, state)
        self._changed = True

    def _give_back(self, hosts: FrozenHosts) -> None:
        self.switching.released(self.allocation.give_back(hosts, self.state.free), self.state.now)

    def _look_around(self) -> None:
        """Update the state after a change of the free hosts."""
        state = self.state
        state.room, state.vacant = self.allocation.room(state.free), self.allocation.vacant(state.free)

    def _drop(self, job: WaitingJob) -> None:
        self.queue.remove(job)
        self.backfilling.dropped(job, self.state)
        self._changed = True

    def _reject(self, job_id: str, why: object) -> None:
        logger.warning("%s is rejected: %s", shown(job_id), why)
        self.reply.add_reject_job(job_id)

    def _extend_the_late(self) -> None:
        """Extend jobs that run longer than predicted: they are expected to use their walltime."""
        state = self.state
        if isinstance(self.walltimes, AsRequested) or not state.endings or state.endings[0][0] > state.now:
            return
        late = [ending[3] for ending in state.endings.irange(maximum=(state.now, math.inf))]
        for job in (state.running[job_id] for job_id in late if job_id):
            self._extend(job, job.started + job.waited.walltime)

    def _extend(self, job: RunningJob, end: float) -> None:
        """Change the expected end of a job if the new one is later."""
        if end > job.end:
            before = job.end
            self.state.move(job, end)
            self.backfilling.extended(job, before, self.state)

    def _finish(self) -> None:
        """Where jobs run again if hosts fail, and none has failed: when all jobs have ended, none will run again."""
        if (
            self.failures is not None
            and self._all_submitted
            and not (self._is_closed or self.queue or self.state.running)
        ):
            self._is_closed = True
            self.reply.add_finish_registration()

    # Jobs that share hosts, and all else of `batprotocol.requests`

    def _needs_site(self, job: Job) -> bool:
        """Whether a job asks for more than whole hosts."""
        try:
            return not read_request(job.extra_data).is_plain
        except InputError:
            return True  # the site rejects it with its reason

    def _open_site(
        self, rules: SiteRules, what: str = "jobs that share hosts", instead: str = "jobs that ask for whole hosts"
    ) -> SiteDriver:
        ranking = ranking_of(
            self.allocation,
            f"{what}: use another part, or {instead}",
            off=self.switching.after < math.inf,
            keep=self.keeps,
            each=self.each,
        )
        driver = self._driver = SiteDriver(
            *(self._computing, rules, self.state, self.order, self.backfilling, self.walltimes, self.failures),
            ranking=ranking,
            contiguous=self.allocation.contiguous,
            risk=self.risk,
            reply=lambda: self.reply,
            reject=self._reject,
            call_at=self._call_at,
        )
        return driver

    def _submit_to_site(self, event: JobSubmittedEvent, submitted: float) -> None:
        """Give a job to the site, which opens with the first job that needs it."""
        driver = self._driver or self._move_to_site("jobs that share hosts", "jobs that ask for whole hosts")
        driver.submitted(event, self._count, submitted)
        self._count += 1

    def _move_to_site(self, what: str, instead: str) -> SiteDriver:
        """Open a site in the course of a simulation. It adopts the jobs that run and wait."""
        self._take_ends()
        driver = self._open_site(SiteRules(), what, instead)
        for running in self.state.running.values():
            driver.site.adopt(running)
        for waiting in list(self.queue.jobs.values()):
            driver.site.submitted(waiting.id, waiting.job, waiting.number, waiting.submitted)
        return driver

    # Hosts that fail, and that are promised

    def _take_happened(self) -> None:
        """Read what has happened to hosts. The first time, a site opens."""
        for event in self._happening.take(self.state.now):
            if isinstance(self._driver, Replay) or (self._driver is None and self._is_closed):
                continue  # its log has the ends of all jobs, or all have ended
            driver = self._driver or self._move_to_site("hosts that fail", "a simulation without events of hosts")
            driver.happened(event)

    # Hosts that sleep

    def _take_switched(self) -> None:
        for event in self._switched:
            hosts = parse_hosts(event.host_ids)
            if self.switching.fell_asleep(hosts, self.state, self.allocation.share):
                self._look_around()
                self._changed = True
            self._wake_up(hosts)
        self._switched.clear()

    def _wake_up(self, hosts: ProcSet) -> None:
        """Start the jobs whose hosts are all on."""
        state = self.state
        self.switching.waking -= hosts
        for job_id, (job, missing) in list(self._waking.items()):
            missing -= hosts
            if missing:
                continue
            del self._waking[job_id]
            if self._execute(job.waited, job.hosts):
                job.started = state.now
                self._extend(job, state.now + job.waited.expected)
            else:
                del state.running[job_id]
                state.endings.remove(job.ending)
                self._look_around()
                self.backfilling.ended(job, state)
                self._changed = True

    def _switch_off(self) -> None:
        """Switch off the hosts that have been idle for long. While jobs come, ask for a call for the next ones."""
        state, switching = self.state, self.switching
        if switching.after == math.inf:
            return
        idle = switching.idle(state.now)
        if idle:
            switching.switch(idle, False, self.reply)
            hosts = state.free.take_these(idle)
            self._look_around()
            self._count += 1
            switching.falls_asleep(hosts, self._count, state, self.allocation.share)
        if state.running or self.queue or not self._all_submitted:
            self._call_at(switching.next())
