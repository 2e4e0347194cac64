"""`Policy`: the scheduler that combines a queue order, a kind of backfilling, and an allocation."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypedDict

import msgspec

from batprotocol._util.deprecation import OldName, old_arguments
from batprotocol.edc import Scheduler
from batprotocol.errors import InputError, expect_instance, expect_options
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
    SimulationBeginsEvent,
)
from batprotocol.model.free_hosts import Hosts
from batprotocol.policies.allocations import Allocation, AwakeFirst, First
from batprotocol.policies.backfilling import AsRequested, Backfilling, NoBackfilling, Walltimes
from batprotocol.policies.caps import Cap
from batprotocol.policies.driver import LATEST, Driver, HostEventReader, PolicyParts, Replies, UnknownKeys
from batprotocol.policies.energy import Switching, Wait
from batprotocol.policies.failures import Checkpoint, Failures
from batprotocol.policies.jobs import Allocating, State, natural_key
from batprotocol.policies.orders import FCFS, Order
from batprotocol.policies.queue import Queue
from batprotocol.policies.recorded import Conflict, RecordedStarts
from batprotocol.policies.site import Site, SiteRules
from batprotocol.policies.site.capped import PowerLimits
from batprotocol.policies.site.rules import windows_of
from batprotocol.policies.site.site import SiteDriver, ranking_of
from batprotocol.policies.whole_hosts import WholeHosts
from batprotocol.workloads.requests import Allocated, AttemptReport, read_request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from batprotocol.model.planned_jobs import HostPlanner, PlannerMaker
    from batprotocol.policies.counting import CountingTurns
    from batprotocol.workloads import Workload
    from batprotocol.workloads.host_events import Window

__all__ = ["Policy", "PolicyOptions"]

logger = logging.getLogger("batprotocol.policies")


class PolicyOptions(TypedDict, total=False):
    """The parts of a policy besides its order, backfilling and allocation.

    Attributes:
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
        starts: which jobs wait for a better time; by default, jobs start as soon as they can. If no time is better than
            another one, it has no effect.
        cap: the watts that the machine may draw at most; by default, any.
    """

    walltimes: Walltimes | None
    each: bool
    keeps: bool
    resolution: float
    off_after: float
    site: SiteRules | None
    risk: bool
    replays: bool
    failures: Failures | None
    starts: Wait | None
    cap: Cap | None


_KINDS: Final[dict[str, tuple[type, str]]] = {
    "walltimes": (Walltimes, "Walltimes"),
    "site": (SiteRules, "SiteRules"),
    "failures": (Failures, "Failures"),
    "starts": (Wait, "a Wait"),
    "cap": (Cap, "a Cap"),
}
"""The class of each part that is a value of one."""


class Policy(Allocating, Scheduler):
    """A scheduler that combines parts.

    Args:
        order: which of the waiting jobs comes first; `FCFS` by default.
        backfilling: which jobs start before their turn; none by default.
        allocation: which hosts a job gets; the free hosts with the lowest numbers by default.
        options: the other parts, by name, see `PolicyOptions`.

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
        **options: Unpack[PolicyOptions],
    ) -> None:
        expect_options("Policy", options, PolicyOptions)
        resolution, off_after = options.get("resolution", 1e-3), options.get("off_after", math.inf)
        site, failures = options.get("site"), options.get("failures")
        starts, cap = options.get("starts"), options.get("cap")
        if not 0 <= resolution < float("inf"):
            raise ValueError(f"expected a resolution >= 0 in seconds, got {resolution}")
        parts: list[tuple[object, type, str]] = [
            *((order, Order, "an Order"), (backfilling, Backfilling, "a Backfilling")),
            (allocation, Allocation, "an Allocation"),
            *((options.get(name), *kind) for name, kind in _KINDS.items()),
        ]
        for part, kind, noun in parts:
            if part is not None:
                expect_instance(part, kind, "Policy", noun)
        self.order = order or FCFS()
        self.backfilling = backfilling or NoBackfilling()
        if cap is not None and cap.off:
            off_after = min(off_after, LATEST)  # they are switched off when others need their watts
        self.switching = Switching(off_after)
        self.allocation = allocation or (First() if off_after == math.inf else AwakeFirst())
        self.shares_hosts = self.allocation.share > 1
        self.walltimes = options.get("walltimes") or AsRequested()
        self.each, self.keeps = options.get("each", False), options.get("keeps", False)
        self.risk, self.replays = options.get("risk", False), options.get("replays", False)
        self.resolution, self.rules, self.failures = resolution, site, failures
        self.starts = starts if starts is not None and starts.has_effect else None
        self.cap = cap
        if failures is not None or (site is not None and site.can_preempt) or self._parts.interrupts:  # jobs run again
            self.features = msgspec.structs.replace(self.features, dynamic_registration=True, profile_reuse=True)
        self._prepare(State(resolution=resolution))

    @property
    def state(self) -> State:
        """The machine and its running jobs."""
        self._leave_turns()
        return self._state

    @property
    def queue(self) -> Queue:
        """The jobs that wait for whole hosts."""
        self._leave_turns()
        return self._whole.queue

    @property
    def site(self) -> Site | None:
        """The jobs with their hosts; None while all jobs ask for whole hosts, no host fails, and there are no rules."""
        return self._driver.site if isinstance(self._driver, SiteDriver) else None

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """If it replays a log: the jobs that could not start when and where the log says; else none."""
        return tuple(self._driver.conflicts) if isinstance(self._driver, RecordedStarts) else ()

    @property
    def allocated(self) -> Sequence[Allocated]:
        """The amounts that each started job took of its hosts, in the order of starts; empty until jobs share hosts.

        A job that ended before the first one that shares hosts is not in it: it had its hosts for itself.
        """
        return self._driver.allocated

    @property
    def windows(self) -> Sequence[Window]:
        """The reservations of its site, which are windows that no external event announces."""
        return self._windows

    @property
    def attempts(self) -> Sequence[AttemptReport]:
        """The runs of jobs that ended early, are not the only one of their job, or have checkpoints; by their ends."""
        return self._driver.attempts

    def planner(self, workload: Workload) -> PlannerMaker | None:
        """A planner that decides as this policy does, but without messages, for a simulator in the same process.

        Args:
            workload: the jobs, which only take time.

        Returns:
            A function that makes the planner at the beginning of the simulation; None: the policy needs messages, as it
            has other parts than those that only count hosts, its class overrides a method, or a job asks for more.
        """
        from batprotocol.policies.counting import CountingPlanner, plain_texts

        unknown = plain_texts(workload.texts) if self._only_counts() else None
        if unknown is None:
            return None

        def make(event: SimulationBeginsEvent) -> HostPlanner:
            self._begin(event)
            report = self._unknown_keys.report
            return CountingPlanner(self._state, self._parts, self.switching.asleep, report, unknown)

        return make

    def _only_counts(self) -> bool:
        """Whether no part and no method of this policy needs more than the numbers of free hosts."""
        from batprotocol.policies.counting import can_count

        kinds = type(self).__mro__
        overridden = [vars(kind) for kind in kinds[: kinds.index(Policy)]] + [vars(self)]
        others = (self.rules, self.cap, self.replays or None)
        return (
            not any(_DECISIVE & names.keys() for names in overridden)
            and self.features is Policy.features
            and all(other is None for other in others)
            and self.switching.after == math.inf
            and can_count(self._parts)
        )

    @property
    def _parts(self) -> PolicyParts:
        return PolicyParts(
            *(self.order, self.backfilling, self.allocation, self.walltimes, self.failures, self.starts),
            *(self.risk, self.each, self.keeps),
        )

    def _prepare(self, state: State) -> None:
        self._turns: CountingTurns | None = None  # who decides as long as nothing comes that needs more
        self._computing: tuple[Host, ...] = ()
        self._power: PowerLimits | None = None
        self._state = state
        self._numbers = itertools.count()
        self._actions = Replies(self, self.switching)
        self._whole = WholeHosts(state, self._parts, self.switching, self._numbers, self._actions)
        self._driver: Driver = self._whole
        self._all_submitted = self._all_injected = False
        self._closed: Driver | None = None  # the driver that knows that all jobs are submitted
        self._quiet: Driver | None = None  # the driver that knows that all events have occurred
        self._arrivals: list[JobSubmittedEvent] = []
        self._unknown_keys = UnknownKeys()
        self._host_events = HostEventReader()
        self._windows: tuple[Window, ...] = ()
        other = self.backfilling.order
        self._orders = [self.order, *([] if other is None or other is self.order else [other])]
        for order in self._orders:
            order.begin(state)
        self.walltimes.begin(state)
        self.backfilling.begin(self._whole.queue, state)

    # Batsim's events

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        self._begin(event)
        if self._only_counts():
            from batprotocol.policies.counting import CountingTurns

            made = (self._state, self._parts, self.switching.asleep, self._unknown_keys.report, self._actions)
            self._turns = CountingTurns(*made, self._arrivals, self._whole.ends)

    def _begin(self, event: SimulationBeginsEvent) -> None:
        self.allocation.begin(event)
        self.switching.begin(event)
        self._prepare(State(Hosts(host.id for host in event.computation_hosts), self.resolution))
        self._all_submitted = not event.workloads  # without workloads, no event reports that there are no more jobs
        self._all_injected = not event.external_event_lists
        self._computing = tuple(event.computation_hosts)
        self._unknown_keys.report_hosts(self._computing)
        self._host_events = HostEventReader(host.id for host in self._computing)
        if self.replays:
            self._driver = RecordedStarts(self._computing, self._state, self._actions)
            return
        if self.cap is not None:
            self._power = self.cap.power(event, self._state.rounded, self.switching)
        if self._power is not None:
            self._open_site(self.rules or SiteRules(), "caps of watts", "a cap that is never reached")
        elif self.rules is not None or isinstance(self.failures, Checkpoint) or self._needs_plan():
            self._open_site(self.rules or SiteRules())
        if self.rules is not None:
            self._windows = tuple(windows_of(self._computing, self.rules))
            for window in self._windows:
                self._host_events.announce(window)

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self._arrivals.append(event)

    def on_all_static_jobs_have_been_submitted(self, event: AllStaticJobsHaveBeenSubmittedEvent) -> None:
        self._all_submitted = True

    def on_hosts_turned_on_off(self, event: HostsTurnedOnOffEvent) -> None:
        self._leave_turns()
        self._driver.switched(event)

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        turns = self._turns
        if turns is not None:
            turns.ends.append(event.job_id)
        else:
            self._driver.ended(event.job_id, event.state)

    def on_jobs_killed(self, event: JobsKilledEvent) -> None:
        for each in event.progresses:
            self._driver.killed(each.job_id, each.progress)

    def on_external_event_occurred(self, event: ExternalEventOccurredEvent) -> None:
        self._host_events.add(event)
        if self._host_events:
            self._leave_turns()

    def on_all_static_external_events_have_been_injected(
        self, event: AllStaticExternalEventsHaveBeenInjectedEvent
    ) -> None:
        self._all_injected = True

    def decide(self) -> None:
        turns = self._turns
        if turns is not None:
            if turns.decide(self):
                return
            self._leave_turns()
        # Events of one time arrive in any order, above all where messages take no time. Here, they have one order.
        state, now = self._state, self.now
        state.now = max(state.now, state.rounded(now))
        if self._actions.has_called(max(state.now, now)):
            self._whole.changed = True
        if self._arrivals:
            self._take_arrivals()
        if self._host_events:
            self._take_happened()
        driver = self._driver
        if self._all_injected and self._quiet is not driver:
            self._quiet = driver
            driver.no_more_events()
        if self._all_submitted and self._closed is not driver:  # also the jobs of this message are submitted
            self._closed = driver
            driver.no_more()
        driver.decide()

    # Jobs

    def submit(self, job_id: str, job: Job, submitted: float | None = None) -> None:
        """Add a job that asks for whole hosts to the queue, or reject it if it could never run.

        Args:
            job_id: the id of the job.
            job: its description.
            submitted: the time of its submission; now by default.
        """
        self._leave_turns()
        self._whole.submit(job_id, job, next(self._numbers), self._state.now if submitted is None else submitted)

    def _leave_turns(self) -> None:
        """Something has come, or is asked for, that needs more than the numbers of free hosts."""
        turns = self._turns
        if turns is not None:
            self._turns = None
            for _ in range(turns.count):
                next(self._numbers)
            self._whole.adopt(*turns.leave())
            self._whole.changed = turns.is_due

    def _take_arrivals(self) -> None:
        arrivals, rounded = self._arrivals, self._state.rounded
        if len(arrivals) > 1:
            # Batsim sends the jobs of one time by id, and 10 before 9.
            arrivals.sort(key=lambda event: (rounded(event.submission_time), natural_key(event.job_id)))
        for event in arrivals:
            for order in self._orders:
                order.submitted(event.job_id, event.job, self._state)
        for event in arrivals:
            if event.job.extra_data:
                self._unknown_keys.report(event.job_id, event.job.extra_data)
                if self._driver is self._whole and self._needs_site(event.job):
                    self._move_to_site("jobs that share hosts", "jobs that ask for whole hosts")
            submitted = min(rounded(event.submission_time), self._state.now)
            self._driver.submitted(event, next(self._numbers), submitted)
        arrivals.clear()

    # Jobs that share hosts, and all else of `batprotocol.workloads.requests`

    def _needs_site(self, job: Job) -> bool:
        """Whether a job asks for more than whole hosts."""
        try:
            return not read_request(job.extra_data).is_plain
        except InputError:
            return True  # the site rejects it with its reason

    def _open_site(
        self, rules: SiteRules, what: str = "jobs that share hosts", instead: str = "jobs that ask for whole hosts"
    ) -> SiteDriver:
        parts, power = self._parts, self._power
        ranking = ranking_of(parts, f"{what}: use another part, or {instead}")
        driver = SiteDriver(self._computing, rules, self._state, parts, ranking, self.switching, power, self._actions)
        self._driver = driver
        return driver

    def _needs_plan(self) -> bool:
        """Whether the wait for better times needs the plan of a site."""
        return self.starts is not None and (self.starts.interruptible or self.switching.after < math.inf)

    def _move_to_site(self, what: str, instead: str) -> SiteDriver:
        """Open a site in the course of a simulation. It adopts the jobs that run and wait."""
        self._whole.take_ends()
        self._whole.take_switched()
        driver = self._open_site(SiteRules(), what, instead)
        for running in self._state.running.values():
            driver.site.adopt(running, self._whole.missing_of(running))
        for waiting in [*self._whole.queue.jobs.values(), *self._whole.held.values()]:
            driver.site.submitted(waiting.id, waiting.job, waiting.number, waiting.submitted)
        return driver

    # Hosts that fail, and that are promised

    def _take_happened(self) -> None:
        """Read what has happened to hosts. The first time, a site opens."""
        for event in self._host_events.take(self._state.now):
            driver = self._driver
            if isinstance(driver, WholeHosts) and not driver.is_finished:
                driver = self._move_to_site("hosts that fail", "a simulation without events of hosts")
            driver.happened(event)


_DECISIVE: Final = frozenset(
    name for kind in Policy.__mro__[:-1] for name, value in vars(kind).items() if callable(value) or name == "_parts"
) - {"__init__", "__init_subclass__", "hello", "on_init"}
"""The names of the methods that decide: a class that overrides one of them gets messages."""
