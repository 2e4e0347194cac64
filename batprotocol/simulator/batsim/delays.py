"""Simulations of jobs that only take time, for a decision component that counts hosts: the same actors, no messages.

Such a component needs nothing of the protocol: it gets the jobs themselves, and returns those that start. So there are
neither events nor a conversation, and a job is one object from its submission to its end: what waits, the actor, and
the row in the results. The actors make the same calls of the queue, in the same order, as those of `server`,
`submitters` and `executions` do. So all times are equal to the last bit.

`delays_of` says whether a simulation is of this kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import Any, Final, NamedTuple

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.model import DelayProfile, FinalJobState, SimulationBeginsEvent
from batprotocol.model.free_hosts import FrozenHosts
from batprotocol.results import JobRow, Observer
from batprotocol.results.arithmetic import Pair, difference
from batprotocol.simulator.batsim import server as batsim_server
from batprotocol.simulator.batsim.calls import PeriodicActor
from batprotocol.simulator.batsim.messages import (
    AllJobsSubmitted,
    EndPeriodicCalls,
    JobsSubmitted,
    ReplyDelivered,
    SubmitterStarted,
)
from batprotocol.simulator.batsim.simulation_state import Setup, Simulation
from batprotocol.simulator.batsim.submitters import Submitter
from batprotocol.simulator.machine.machine import SimulatedMachine
from batprotocol.simulator.machine.queue import EventQueue, SimulationActor
from batprotocol.workloads import Workload

__all__ = ["Delay", "DelayJob", "HostPlanner", "delays_of", "run_delays"]


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


class DelayJob(SimulationActor):
    """A job, from its submission to its end.

    Args:
        stored: its row of the workload: its name inside the workload, its submission time in seconds, its hosts, its
            profile, its walltime or None, and its extra data or None.
        workload: the name of the workload.
        delay: its profile.

    Attributes:
        name: its name inside the workload.
        id: its full name.
        time: its submission time, in seconds.
        size: the number of hosts that it requests.
        walltime: the seconds after which it is killed; infinity: never.
        extra_data: its extra data, or None.
        is_over: whether it has ended.
        hosts: its hosts, once it has some. The planner sets them.
        number: how many jobs came before it. The planner sets this attribute and the following ones.
        submitted: the time of its submission, rounded.
        expected: the seconds that it is expected to run.
        end: its expected end.
        key: its key in the queue order, and its number.
        tried: the same in the order in which jobs are tried before their turn.
    """

    __slots__ = (
        *("_delay", "_is_begun", "_requested", "_runtime", "_start", "end", "expected", "extra_data", "hosts", "id"),
        *("is_over", "key", "name", "number", "size", "submitted", "time", "tried", "walltime"),
    )

    def __init__(
        self, stored: tuple[str, float, int, str, float | None, str | None], workload: str, delay: Delay
    ) -> None:
        super().__init__()
        name, time, size, _, walltime, extra_data = stored
        self.name = name
        self.id = f"{workload}!{name}"
        self.time = time
        self.size = size
        self.walltime = inf if walltime is None else walltime
        self.extra_data = extra_data
        self.is_over = False
        self.hosts: FrozenHosts | None = None
        self.number = 0
        self.submitted = 0.0
        self.expected = self.walltime
        self.end = 0.0
        self.key: Any = None
        self.tried: Any = None
        self._requested = walltime
        self._delay = delay
        self._is_begun = False
        self._start = 0.0
        self._runtime: Pair = (0.0, 0.0)

    def run(self, simulator: Simulation) -> None:
        queue, machine, hosts = simulator.queue, simulator.machine, self.hosts
        assert hosts is not None, "the planner has chosen them"
        now = queue.now
        if self._is_begun:
            self.is_over = True
            self._runtime = difference((now, 0.0), (self._start, 0.0))
            for first, last in hosts.intervals:
                machine.end_job(range(first, last + 1), now)
            simulator.reports.states()
            queue.post_and_end(self, simulator.server.mailbox, self)
            return
        self._is_begun = True
        self._start = now
        self.host = hosts.intervals[0][0]
        for first, last in hosts.intervals:
            machine.begin_job(range(first, last + 1), now)
        simulator.reports.states()
        queue.sleep(self, min(self._delay.seconds, self.walltime))

    def row(self, workload: str) -> JobRow:
        """Its row in the results, after its end."""
        delay, hosts = self._delay, self.hosts
        assert hosts is not None, "it has run"
        code = delay.return_code if delay.seconds < self.walltime else _WALLTIME_REACHED
        return JobRow(
            job_id=self.name,
            workload_name=workload,
            profile=delay.name,
            submission_time=self.time,
            requested_number_of_resources=self.size,
            requested_time=self._requested,
            final_state=_STATES.get(code, FinalJobState.COMPLETED_FAILED),
            starting_time=self._start,
            execution_time=self._runtime[0],
            execution_time_rest=self._runtime[1],
            allocated_resources=hosts.text,
            consumed_energy=-1.0,
        )


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Items:
    """The jobs of a workload with their submission times. Each is made when it is needed."""

    def __init__(self, workload: Workload, delays: dict[str, Delay]) -> None:
        self._workload = workload
        self._name = workload.name
        self._delays = delays

    def __len__(self) -> int:
        return len(self._workload)

    def __getitem__(self, number: int) -> tuple[float, DelayJob]:
        stored = self._workload.record(number)
        return stored.time, DelayJob(stored, self._name, self._delays[stored.profile])


# Planners


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class HostPlanner(ABC):
    """A decision component that counts hosts, without messages: which jobs start, and where."""

    @abstractmethod
    def turn(self, now: float, jobs: list[DelayJob]) -> list[DelayJob]:
        """The jobs that start now, in this order. Each has its `hosts`.

        Args:
            now: the time of the message that there would be.
            jobs: the jobs that were submitted, and those that have ended, in the order of events.
        """


PlannerMaker = Callable[[SimulationBeginsEvent], HostPlanner]
"""Makes a planner at the beginning of a simulation."""


# Actors


_READY: Final = ReplyDelivered()

_BEGINNING: Final = 0
_HANDLING: Final = 1
_GOING_ON: Final = 2
_LOOKING: Final = 3


class _Injector(SimulationActor):
    """The actor that lets the planner decide, and delivers its decisions to the server."""

    __slots__ = ("_jobs", "_next", "_planner", "_starting")

    def __init__(self, planner: HostPlanner, jobs: list[DelayJob]) -> None:
        super().__init__()
        self._planner = planner
        self._jobs = jobs
        self._starting: list[DelayJob] = []
        self._next = -1

    def run(self, simulator: Simulation) -> None:
        queue = simulator.queue
        if self._next < 0:
            self._starting = self._planner.turn(queue.now, self._jobs)
            self._next = 0
        if self._next < len(self._starting):
            job = self._starting[self._next]
            self._next += 1
            queue.post(self, simulator.server.mailbox, job)
        else:
            queue.post_and_end(self, simulator.server.mailbox, _READY)


class _Server(SimulationActor):
    """The server. Its messages are jobs that start or have ended, and those of the submitter."""

    __slots__ = ("_has_news", "_jobs", "_make", "_planner", "_step", "_workload")

    def __init__(self, workload: str, make: PlannerMaker) -> None:
        super().__init__()
        self._workload = workload
        self._make = make
        self._planner: HostPlanner | None = None
        self._jobs: list[DelayJob] = []
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
        if isinstance(message, DelayJob):
            if not message.is_over:
                simulator.queue.spawn(self, (message,))
                return True
            self._jobs.append(message)
            self._has_news = True
            server.unfinished -= 1
            observer = simulator.reports.observer
            if observer is not None:
                observer.job_ended(message.row(self._workload))
        elif isinstance(message, ReplyDelivered):
            server.is_ready = True
        elif isinstance(message, JobsSubmitted):
            self._has_news = True
            items: list[Any] = list(message.jobs)
            for _, job in items:
                step()
                server.unfinished += 1
                self._jobs.append(job)
        elif isinstance(message, AllJobsSubmitted):
            server.workloads_left -= 1
            self._has_news = True
        elif isinstance(message, SubmitterStarted):
            server.submitters_starting -= 1
            self._planner = self._make(batsim_server.beginning(simulator))
            self._has_news = True
        return False


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
    queue.start(Submitter(_Items(workload, delays), are_jobs=True))
    queue.start(_Server(workload.name, make))
    simulation.reports.pstates(range(len(machine.hosts)), None)
    if not queue.run(simulation):
        raise simulation.deadlock()
    simulation.reports.finish(True)
