"""Jobs between submission and end, and the reports of a simulation to its observer."""

from __future__ import annotations

from collections.abc import Iterable

from mypy_extensions import mypyc_attr

from batprotocol.model import FinalJobState, HostState, Job
from batprotocol.results import EnergyRow, JobRow, Observer, Observers, Totals
from batprotocol.results.arithmetic import difference, quotient, total
from batprotocol.results.observers import Precise
from batprotocol.simulator.machine.machine import SimulatedMachine
from batprotocol.simulator.machine.queue import EventQueue, SimulationActor

__all__ = [
    "Reports",
    "SimulatedJob",
]


# Reports: the rows of the result files


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Reports:
    """Reports events to an observer.

    Args:
        observer: the observer, or None.
        queue: the clock.
        machine: the machine whose state is reported.

    Attributes:
        takes_states: whether the observer takes the states of hosts.
    """

    __slots__ = (
        "_first_energy",
        "_grouped_switches",
        "_last_end_energy",
        "_last_energy",
        "_last_energy_time",
        "_switches",
        "machine",
        "observer",
        "queue",
        "takes_states",
    )

    def __init__(self, observer: Observer | None, queue: EventQueue, machine: SimulatedMachine) -> None:
        self.observer = observer
        self.queue = queue
        self.machine = machine
        self._first_energy: tuple[float, float] | None = None
        self._last_end_energy: tuple[float, float] | None = None
        self._last_energy = (0.0, 0.0)
        self._last_energy_time = 0.0
        self._switches = 0
        self._grouped_switches = 0
        self.takes_states = _wants_states(observer)

    def states(self) -> None:
        """Report the states of the hosts, which have changed."""
        if self.takes_states and self.observer is not None:
            self.observer.machine_states(self.machine.row(self.queue.now))

    def pstates(self, hosts: Iterable[int], pstate: int | None) -> None:
        """Report the power states of hosts: this one, or each its own."""
        if self.observer is not None:
            for row in self.machine.pstate_rows(hosts, pstate, self.queue.now):
                self.observer.pstates_changed(row)

    def switches(self, hosts: int) -> None:
        """Count a request to switch this number of hosts."""
        self._switches += hosts
        self._grouped_switches += 1

    @property
    def awaits_first_submission(self) -> bool:
        """Whether the energy of all hosts must be read, because no workload has submitted a job."""
        return self.machine.has_energy and self._first_energy is None

    def first_submission(self) -> None:
        """Store the energy at the first submission, after the energy of all hosts was read."""
        self._first_energy = total(self.machine.energy)

    def energy(self, event_type: str) -> None:
        """Report the energy of all hosts, after it was read."""
        machine, now = self.machine, self.queue.now
        passed = difference((now, 0.0), (self._last_energy_time, 0.0))
        if self.observer is not None:
            energy = total(machine.energy)
            power = quotient(difference(energy, self._last_energy), passed)[0] if passed[0] > 0 else None
            self.observer.energy_read(EnergyRow(now, Precise(*energy), event_type, machine.least_watts(), power))
            self._last_energy = energy
        self._last_energy_time = now

    def last_end(self) -> None:
        """Store the energy at the last end of a job, after the energy of all hosts was read."""
        self._last_end_energy = total(self.machine.energy)

    def finish(self, complete: bool) -> None:
        """Report the end of the simulation."""
        if self.observer is None:
            return
        spent = self.machine.spent
        self.observer.ended(
            Totals(
                consumed_joules=self._consumed(),
                nb_computing_machines=len(self.machine.hosts),
                nb_machine_switches=self._switches,
                nb_grouped_switches=self._grouped_switches,
                time_sleeping=spent(HostState.SLEEPING),
                time_switching_on=spent(HostState.SWITCHING_ON),
                time_switching_off=spent(HostState.SWITCHING_OFF),
                time_idle=spent(HostState.IDLE),
                time_computing=spent(HostState.COMPUTING),
                simulation_time=self.queue.now,
                shares_hosts=self.machine.shares_hosts,
                complete=complete,
            )
        )

    def _consumed(self) -> float:
        """The energy of all hosts from the first submission to the last end; -1 for a missing one, as in Batsim."""
        first, last = self._first_energy, self._last_end_energy
        if self.machine.has_energy and not self.machine.corrected:
            unknown = (-1.0, 0.0)
            return difference(unknown if last is None else last, unknown if first is None else first)[0]
        return 0.0 if first is None or last is None else difference(last, first)[0]


def _wants_states(observer: Observer | None) -> bool:
    """Whether the observer takes the states of hosts. Otherwise, these rows need not be made."""
    if isinstance(observer, Observers):
        return any(map(_wants_states, observer.observers))
    return observer is not None and type(observer).machine_states is not Observer.machine_states


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class SimulatedJob:
    """A job from its submission until its end was reported.

    Attributes:
        id: its full name.
        job: its request.
        profile_id: the full name of its profile.
        submission_time: its submission time, in seconds.
        is_registered: whether the decision component registered it.
        execution: its actor while it runs, or None.
        kill_asked: whether there was a request to kill it.
        starting_time: the time when its execution began.
        runtime: its run time, after its end: a double and the remainder.
        final_state: its final state, or None.
        return_code: its return code.
        allocation: its hosts as text.
        hosts: its hosts.
        energy: the energy that its hosts consumed while it ran, after its end.
    """

    __slots__ = (
        "_energy_before",
        "allocation",
        "energy",
        "execution",
        "final_state",
        "hosts",
        "id",
        "is_registered",
        "job",
        "kill_asked",
        "profile_id",
        "return_code",
        "runtime",
        "starting_time",
        "submission_time",
    )

    def __init__(self, id: str, job: Job, profile_id: str, submission_time: float, is_registered: bool) -> None:
        self.id = id
        self.job = job
        self.profile_id = profile_id
        self.submission_time = submission_time
        self.is_registered = is_registered
        self.execution: SimulationActor | None = None
        self.kill_asked = False
        self.starting_time = 0.0
        self.runtime = (0.0, 0.0)
        self.final_state: FinalJobState | None = None
        self.return_code = 0
        self.allocation = ""
        self.hosts: tuple[int, ...] = ()
        self.energy: float | None = 0.0 if is_registered else -1.0  # an object: compiled, a float has 53 bits
        self._energy_before = (0.0, 0.0)

    def begin(self, reports: Reports) -> None:
        """Begin its execution, after the energy of all hosts was read, its own first."""
        now, machine = reports.queue.now, reports.machine
        self.starting_time = now
        if machine.has_energy:
            self._energy_before = total([machine.energy[host] for host in self.hosts])
            reports.energy("s")
        machine.begin_job(self.hosts, now)
        reports.states()

    def end(self, return_code: int, state: FinalJobState, reports: Reports) -> None:
        """End its execution."""
        now, machine = reports.queue.now, reports.machine
        self.return_code = return_code
        self.final_state = state
        self.runtime = difference((now, 0.0), (self.starting_time, 0.0))
        machine.end_job(self.hosts, now)
        reports.states()

    def note_energy(self, reports: Reports) -> None:
        """Store its energy after its end and after the energy of all hosts was read, its own first."""
        energy = reports.machine.energy
        self.energy = Precise(*difference(total([energy[host] for host in self.hosts]), self._energy_before))
        reports.energy("e")
        reports.last_end()

    def read(self, queue: EventQueue, actor: SimulationActor) -> bool:
        """Read the energy of all hosts, if energy is measured, its own first; whether the actor must wait for it."""
        if not queue.machine.has_energy:
            return False
        return queue.read(actor, [*self.hosts, *range(len(queue.machine.hosts))])

    def row(self) -> JobRow:
        """Its row in the results."""
        workload, _, name = self.id.partition("!")
        state = self.final_state
        assert state is not None, "it has not ended"
        if state is FinalJobState.REJECTED:
            return JobRow(
                job_id=name,
                workload_name=workload,
                profile=self.profile_id,
                submission_time=self.submission_time,
                requested_number_of_resources=self.job.resource_request,
                requested_time=self.job.walltime,
                final_state=state,
            )
        return JobRow(
            job_id=name,
            workload_name=workload,
            profile=self.profile_id,
            submission_time=self.submission_time,
            requested_number_of_resources=self.job.resource_request,
            requested_time=self.job.walltime,
            final_state=state,
            starting_time=self.starting_time,
            execution_time=self.runtime[0],
            execution_time_rest=self.runtime[1],
            allocated_resources=self.allocation,
            consumed_energy=self.energy,
        )
