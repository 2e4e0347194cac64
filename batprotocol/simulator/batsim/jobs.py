"""Jobs: what becomes of one between its submission and its end, the actor that executes it, and the one that kills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from batprotocol.errors import shown
from batprotocol.model import ExecuteJobEvent, FinalJobState, Job, JobAndProgress
from batprotocol.simulator.batsim.messages import JobEnded, JobsKilled
from batprotocol.simulator.batsim.runners import WALLTIME_REACHED, Order, Runner
from batprotocol.simulator.progress.work import Walk
from batprotocol.simulator.queue.actor import Actor
from batprotocol.simulator.results import JobRow

if TYPE_CHECKING:
    from batprotocol.simulator.batsim.simulation import Simulation

__all__ = ["Execution", "Killer", "SimulatedJob"]

_STATES: Final = {
    0: FinalJobState.COMPLETED_SUCCESSFULLY,
    WALLTIME_REACHED: FinalJobState.COMPLETED_WALLTIME_REACHED,
}
"""What a job that ended by itself is, by the code that it returns; all others have failed."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class SimulatedJob:
    """A job that was submitted and has not been forgotten yet.

    Attributes:
        id: its full name.
        job: what it asks for.
        profile_id: the full name of its profile.
        submission_time: in seconds.
        is_registered: whether the decision component registered it.
        execution: its actor while it runs, or None.
        kill_asked: whether somebody wanted it killed.
        starting_time: when its execution began.
        runtime: how long it ran, once it has ended.
        final_state: how it ended, or None.
        return_code: what it returned.
        allocation: its hosts as text.
        hosts: its hosts.
        energy: what its hosts had consumed at its start; once it has ended, what they consumed while it ran.
    """

    __slots__ = (
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
        self.execution: Execution | None = None
        self.kill_asked = False
        self.starting_time = 0.0
        self.runtime = 0.0
        self.final_state: FinalJobState | None = None
        self.return_code = 0
        self.allocation = ""
        self.hosts: tuple[int, ...] = ()
        self.energy = 0.0 if is_registered else -1.0

    def begin(self, simulator: Simulation) -> int:
        """Its execution begins. How many hosts' energy was read for that."""
        now, machine = simulator.queue.now, simulator.machine
        self.starting_time = now
        calls = 0
        if machine.has_energy:
            calls = machine.read_all(self.hosts, now)
            self.energy = sum([machine.energy[host] for host in self.hosts])
            calls += simulator.read_energy("s")
        machine.begin_job(self.hosts, now)
        simulator.tell_states()
        return calls

    def end(self, return_code: int, state: FinalJobState, simulator: Simulation) -> int:
        """Its execution ends. How many hosts' energy was read for that."""
        now, machine = simulator.queue.now, simulator.machine
        self.return_code = return_code
        self.final_state = state
        self.runtime = now - self.starting_time
        machine.end_job(self.hosts, now)
        simulator.tell_states()
        if not machine.has_energy:
            return 0
        calls = machine.read_all(self.hosts, now)
        self.energy = sum([machine.energy[host] for host in self.hosts]) - self.energy
        calls += simulator.read_energy("e")
        simulator.last_end_energy = sum(machine.energy)
        return calls

    def row(self) -> JobRow:
        """What is told of it in the end."""
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
            execution_time=self.runtime,
            allocated_resources=self.allocation,
            consumed_energy=self.energy,
        )


_KILLED: Final = -2

_START: Final = 0
_BODY: Final = 1
_POST: Final = 2
_POSTED: Final = 3


class Execution(Runner):
    """Executes a job: runs its profile, and tells the server of its end.

    Args:
        job: which.
        event: how.
        walk: the walk through its profile.
        storages: where the storages are that its profiles name.
    """

    __slots__ = ("_step", "job")

    def __init__(self, job: SimulatedJob, event: ExecuteJobEvent, walk: Walk, storages: Mapping[str, int]) -> None:
        walltime = job.job.walltime
        super().__init__(
            Order(event, job.hosts, job.job.resource_request, storages), walk, -1.0 if walltime is None else walltime
        )
        self.job = job
        self._step = _START

    def run(self, simulator: Simulation) -> None:
        step = self._step
        if step == _BODY:
            super().run(simulator)
        elif step == _START:
            self._step = _BODY
            calls = self.job.begin(simulator)
            if calls:
                simulator.queue.pause(self, calls)
            else:
                self.begin_part(simulator)
        elif step == _POST:
            self._post_end(simulator)
        else:
            assert self._task is not None
            simulator.queue.drop(self._task)

    def done(self, return_code: int, simulator: Simulation) -> None:
        job = self.job
        if return_code < _KILLED and simulator.is_batsim:
            text = f"Batsim aborts when a job returns {return_code}, as {shown(job.id)} does"
            raise simulator.refusal("profile.return-code", text)
        state = _STATES.get(return_code, FinalJobState.COMPLETED_FAILED)
        if return_code == _KILLED and simulator.quirks:  # Batsim takes it for killed, and nobody tells of its end
            job.end(return_code, FinalJobState.COMPLETED_KILLED, simulator)
            return
        calls = job.end(return_code, state, simulator)
        self._step = _POST
        if calls:
            simulator.queue.pause(self, calls)
        else:
            self._post_end(simulator)

    def _post_end(self, simulator: Simulation) -> None:
        self.job.execution = None
        if self._task is None:
            simulator.queue.bequeath(self, simulator.server.mailbox, JobEnded(self.job))
        else:
            self._step = _POSTED
            simulator.queue.post(self, simulator.server.mailbox, JobEnded(self.job))

    def kill(self, simulator: Simulation) -> JobAndProgress:
        """Stop at once, and tell how far it had come."""
        progress = JobAndProgress(self.job.id, self.progress(simulator))
        self.stop(simulator)
        return progress


class Killer(Actor):
    """Kills jobs, and tells the server.

    Args:
        jobs: which, in the order in which they were named.
    """

    __slots__ = ("_jobs", "_message")

    def __init__(self, jobs: list[SimulatedJob]) -> None:
        super().__init__()
        self._jobs = jobs
        self._message: JobsKilled | None = None

    def run(self, simulator: Simulation) -> None:
        queue = simulator.queue
        if self._message is None:
            calls = 0
            self._message = JobsKilled(self._jobs, [], [])
            for job in self._jobs:
                if job.final_state is None and job.execution is not None:
                    code = -2 if job.execution.runs_task else -1
                    progress = job.execution.kill(simulator)
                    calls += 1 + job.end(code, FinalJobState.COMPLETED_KILLED, simulator)
                    job.execution = None
                    self._message.killed.append(job)
                    self._message.progresses.append(progress)
            if calls:
                queue.pause(self, calls)
                return
        if self._jobs:
            self._jobs = []
            queue.post(self, simulator.server.mailbox, self._message)
