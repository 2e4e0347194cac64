"""Simulations of jobs that only take time, for a decision component that counts hosts: the same actors, no messages.

Such a component needs nothing of the protocol: it gets the jobs themselves, and returns those that start. So there are
neither events nor a conversation, and a job is one object from its submission to its end: what waits, the actor, and
the row in the results. The actors make the same calls of the queue, in the same order, as those of `server`,
`submitters` and `executions` do. So all times are equal to the last bit.

`delays_of` says whether a simulation is of this kind. If actions are in C, the actors are, too, in
`actions/native/delays.c`. Those of this module run with actions in Python.
"""

from __future__ import annotations

from math import ceil, inf
from typing import Any, Final, NamedTuple

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.model import DelayProfile, FinalJobState, HostState, OneShot, TimeUnit
from batprotocol.model.planned_jobs import HostPlanner, PlannedJob, PlannerMaker
from batprotocol.results import JobRow, MachineStatesRow, Observer
from batprotocol.results.arithmetic import Pair, difference
from batprotocol.simulator.batsim import server as batsim_server
from batprotocol.simulator.batsim.calls import OneShotCall, PeriodicActor
from batprotocol.simulator.batsim.messages import (
    AllJobsSubmitted,
    CallDue,
    EndPeriodicCalls,
    JobsSubmitted,
    ReplyDelivered,
    SubmitterStarted,
)
from batprotocol.simulator.batsim.simulation_state import Setup, Simulation
from batprotocol.simulator.batsim.submitters import Submitter
from batprotocol.simulator.machine.machine import SimulatedMachine
from batprotocol.simulator.machine.queue import EventQueue, SimulationActor
from batprotocol.simulator.machine.work import message_demand
from batprotocol.workloads import Workload
from batprotocol.workloads.columns import StoredJob

__all__ = ["Delay", "delays_of", "run_delays"]


# Jobs


class Delay(NamedTuple):
    """A profile: its full name, its seconds, and the number that a job with it returns."""

    name: str
    seconds: float
    return_code: int


_WALLTIME_REACHED: Final = -1
_STATES: Final = {
    0: FinalJobState.COMPLETED_SUCCESSFULLY,
    _WALLTIME_REACHED: FinalJobState.COMPLETED_WALLTIME_REACHED,
}


def delays_of(setup: Setup, energy: bool) -> dict[str, Delay] | None:
    """The profiles that jobs use, by their names inside the workload; None if this is a simulation of another kind.

    Args:
        setup: the inputs and options.
        energy: whether energy is measured.
    """
    if len(setup.workloads) != 1 or setup.event_lists or energy or setup.at_once or setup.says_nothing:
        return None
    workload, hosts = setup.workloads[0], len(setup.platform.computation_hosts)
    found: dict[str, Delay] = {}
    for name, size in workload.uses:
        if not 0 < size <= hosts:
            return None
        if name not in found:
            full = f"{workload.name}!{name}"
            known = workload.profiles[full]
            profile, code = known.profile, known.return_code
            if type(profile) is not DelayProfile or not 0.0 < profile.delay < inf or code < _WALLTIME_REACHED:
                return None
            found[name] = Delay(full, profile.delay, code)
    return found


class _DelayRun(SimulationActor):
    """The run of a job, from its start to its end."""

    __slots__ = ("_is_begun", "delay", "job", "runtime", "start")

    def __init__(self, job: PlannedJob, delay: Delay) -> None:
        super().__init__()
        self.job = job
        self.delay = delay
        self.start = 0.0
        self.runtime: Pair = (0.0, 0.0)
        self._is_begun = False

    def run(self, simulator: Simulation) -> None:
        queue, machine, job = simulator.queue, simulator.machine, self.job
        hosts = job.hosts
        assert hosts is not None, "the planner has chosen them"
        now = queue.now
        if self._is_begun:
            job.is_over = True
            self.runtime = difference((now, 0.0), (self.start, 0.0))
            for first, last in hosts.intervals:
                machine.end_job(range(first, last + 1), now)
            simulator.reports.states()
            queue.post_and_end(self, simulator.server.mailbox, job)
            return
        self._is_begun = True
        self.start = now
        self.host = hosts.intervals[0][0]
        for first, last in hosts.intervals:
            machine.begin_job(range(first, last + 1), now)
        simulator.reports.states()
        queue.sleep(self, min(self.delay.seconds, job.walltime))


def _row(job: PlannedJob, workload: str, delay: Delay, start: float, runtime: Pair) -> JobRow:
    """The row of a job in the results, after its end."""
    stored: StoredJob = job.given
    hosts = job.hosts
    assert hosts is not None, "it has run"
    code = delay.return_code if delay.seconds < job.walltime else _WALLTIME_REACHED
    return JobRow(
        job_id=stored.id,
        workload_name=workload,
        profile=delay.name,
        submission_time=job.time,
        requested_number_of_resources=job.size,
        requested_time=stored.walltime,
        final_state=_STATES.get(code, FinalJobState.COMPLETED_FAILED),
        starting_time=start,
        execution_time=runtime[0],
        execution_time_rest=runtime[1],
        allocated_resources=hosts.text,
        consumed_energy=-1.0,
    )


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Items:
    """The jobs of a workload with their submission times. Each is made when it is needed."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self.name = workload.name
        self._count = len(workload)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> tuple[float, PlannedJob]:
        stored = self._workload.record(number)
        name, time, size, _, walltime, extra_data = stored
        return time, PlannedJob(f"{self.name}!{name}", time, size, walltime, extra_data, stored)


# Actors


_READY: Final = ReplyDelivered()

_BEGINNING: Final = 0
_HANDLING: Final = 1
_GOING_ON: Final = 2
_LOOKING: Final = 3


class _Injector(SimulationActor):
    """The actor that lets the planner decide, and delivers its decisions to the server."""

    __slots__ = ("_call", "_jobs", "_next", "_planner", "_starting")

    def __init__(self, planner: HostPlanner, jobs: list[PlannedJob]) -> None:
        super().__init__()
        self._planner = planner
        self._jobs = jobs
        self._starting: list[PlannedJob] = []
        self._call = inf
        self._next = -1

    def run(self, simulator: Simulation) -> None:
        queue = simulator.queue
        if self._next < 0:
            self._starting = self._planner.turn(queue.now, self._jobs)
            self._call = self._planner.call()
            self._next = 0
        if self._next < len(self._starting):
            job = self._starting[self._next]
            self._next += 1
            queue.post(self, simulator.server.mailbox, job)
        elif self._call < inf:
            once = OneShot(ceil(self._call * 1000), TimeUnit.Millisecond)
            self._call = inf
            queue.post(self, simulator.server.mailbox, OneShotCall("", once))
        else:
            queue.post_and_end(self, simulator.server.mailbox, _READY)


class _Server(SimulationActor):
    """The server. Its messages are jobs that start or have ended, calls, and those of the submitter."""

    __slots__ = ("_delays", "_has_news", "_jobs", "_make", "_planner", "_step", "_workload")

    def __init__(self, workload: str, delays: dict[str, Delay], make: PlannerMaker) -> None:
        super().__init__()
        self._workload = workload
        self._delays = delays
        self._make = make
        self._planner: HostPlanner | None = None
        self._jobs: list[PlannedJob] = []
        self._has_news = False  # whether there would be a message
        self._step = _BEGINNING

    def run(self, simulator: Simulation) -> None:
        queue, server = simulator.queue, simulator.server
        if self._step == _HANDLING:
            message, self.message = self.message, None
            self._step = _GOING_ON
            if self._handle(message, simulator):
                return
        elif self._step == _BEGINNING:
            self._step = _GOING_ON
            queue.spawn(self, (PeriodicActor(),))
            return
        if server.is_ending:
            simulator.has_message = True
            return
        if server.is_ready and self._step == _GOING_ON:
            self._step = _LOOKING
            queue.call(self)
            return
        if server.is_ready and not server.mailbox.inbox and not server.submitters_starting:
            if self._has_news:
                self._has_news = False
                server.is_ready = False
                planner = self._planner
                assert planner is not None, "it was made at the beginning"
                jobs, self._jobs = self._jobs, []
                queue.spawn(self, (_Injector(planner, jobs),))
                return
            if server.is_done():
                server.end()
                server.todo.clear()
                queue.post(self, simulator.periodic_mailbox, EndPeriodicCalls())
                return
        self._step = _HANDLING
        queue.receive(self, server.mailbox)

    def _handle(self, message: Any, simulator: Simulation) -> bool:
        """Handle a message; whether the server must wait for something."""
        server = simulator.server
        if isinstance(message, PlannedJob):
            if not message.is_over:
                stored: StoredJob = message.given
                message.run = run = _DelayRun(message, self._delays[stored.profile])
                simulator.queue.spawn(self, (run,))
                return True
            self._jobs.append(message)
            self._has_news = True
            server.unfinished -= 1
            observer = simulator.reports.observer
            if observer is not None:
                run = message.run
                observer.job_ended(_row(message, self._workload, run.delay, run.start, run.runtime))
            message.run = None
        elif isinstance(message, ReplyDelivered):
            server.is_ready = True
        elif isinstance(message, JobsSubmitted):
            self._has_news = True
            items: list[Any] = list(message.jobs)
            for _, job in items:
                step()
                server.unfinished += 1
                self._jobs.append(job)
        elif isinstance(message, OneShotCall):
            server.one_shots += 1
            simulator.queue.spawn(self, (message,))
            return True
        elif isinstance(message, CallDue):
            server.one_shots -= 1
            self._has_news = True
        elif isinstance(message, AllJobsSubmitted):
            server.workloads_left -= 1
            self._has_news = True
        elif isinstance(message, SubmitterStarted):
            server.submitters_starting -= 1
            self._planner = self._make(batsim_server.beginning(simulator))
            self._has_news = True
        return False


# The same actors in C


_BATCH: Final = 256
"""The number of jobs that are made at once."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Outside:
    """The functions that the actors in C call.

    Args:
        simulation: the simulation. Its queue does not advance.
        items: the jobs.
        delays: the profiles that jobs use.
        make: makes the planner.
    """

    def __init__(self, simulation: Simulation, items: _Items, delays: dict[str, Delay], make: PlannerMaker) -> None:
        self._simulation = simulation
        self._observer = simulation.reports.observer
        self._items = items
        self._workload = items.name
        self._delays = delays
        self._make = make

    def begin(self) -> HostPlanner:
        """Make the planner."""
        return self._make(batsim_server.beginning(self._simulation))

    def batch(self, first: int) -> list[tuple[float, PlannedJob]]:
        """Some jobs from this one on, with their submission times; the run of each is the seconds that it takes."""
        made: list[tuple[float, PlannedJob]] = []
        for number in range(first, min(first + _BATCH, len(self._items))):
            step()
            time, job = self._items[number]
            stored: StoredJob = job.given
            job.run = min(self._delays[stored.profile].seconds, job.walltime)
            made.append((time, job))
        return made

    def ended(self, job: PlannedJob, start: float, runtime: float, rest: float) -> None:
        """A job has ended."""
        job.run = None
        if self._observer is not None:
            stored: StoredJob = job.given
            self._observer.job_ended(_row(job, self._workload, self._delays[stored.profile], start, (runtime, rest)))

    def states(self, now: float, idle: int, computing: int) -> None:
        """Hosts may have changed their states."""
        if self._observer is not None:
            self._observer.machine_states(MachineStatesRow(now, 0, 0, 0, idle, computing))

    def demand(self, host: int) -> Any:
        """The demand of a message of a host."""
        return message_demand(self._simulation.machine, host)


def run_delays(setup: Setup, delays: dict[str, Delay], observer: Observer | None, make: PlannerMaker) -> None:
    """Run a whole simulation.

    Args:
        setup: the inputs and options.
        delays: the profiles that jobs use, from `delays_of`.
        observer: the observer that gets the rows of the result files.
        make: makes the planner.
    """
    machine = SimulatedMachine(setup.platform, False, setup.corrected)
    queue, workload = EventQueue(machine), setup.workloads[0]
    simulation = Simulation(setup, queue, observer)
    items, reports = _Items(workload), simulation.reports
    reports.pstates(range(len(machine.hosts)), None)
    native: Any = getattr(machine.actions, "run_jobs", None)
    if native is None:
        queue.start(Submitter(items, are_jobs=True))
        queue.start(_Server(workload.name, delays, make))
        is_over = queue.run(simulation)
    else:
        outside = _Outside(simulation, items, delays, make)
        idle, is_open = machine.counts[HostState.IDLE], simulation.server.registration_is_open
        is_over, queue.now, simulation.server.unfinished, *spent = native(outside, idle, is_open, reports.takes_states)
        machine.shares_hosts = spent[0]
        machine.put_spent(HostState.IDLE, spent[1])
        machine.put_spent(HostState.COMPUTING, spent[2])
    if not is_over:
        raise simulation.deadlock()
    reports.finish(True)
