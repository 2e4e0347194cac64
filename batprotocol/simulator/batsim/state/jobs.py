"""Jobs: their state between submission and end."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from batprotocol.model import FinalJobState, Job
from batprotocol.results import JobRow
from batprotocol.results.arithmetic import difference, total
from batprotocol.results.observers import Precise
from batprotocol.simulator.batsim.state.reports import Reports
from batprotocol.simulator.queue.actor import SimulationActor
from batprotocol.simulator.queue.exact import EventQueue

__all__ = ["SimulatedJob"]


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
