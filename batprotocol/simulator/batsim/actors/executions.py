"""The actor that executes a job, and the actor that kills jobs."""

from __future__ import annotations

from typing import Final

from batprotocol._util.counting import step
from batprotocol.errors import shown
from batprotocol.model import FinalJobState, JobAndProgress
from batprotocol.simulator.batsim.actors.orders import ExecutionOrder
from batprotocol.simulator.batsim.actors.runners import KILLED, WALLTIME_REACHED, ProfileRunner
from batprotocol.simulator.batsim.state.jobs import SimulatedJob
from batprotocol.simulator.batsim.state.messages import JobEnded, JobsKilled
from batprotocol.simulator.batsim.state.simulation import Simulation
from batprotocol.simulator.progress.work import ProfileWalk
from batprotocol.simulator.queue.actor import SimulationActor

__all__ = ["Execution", "Killer", "execution_of"]

_STATES: Final = {
    0: FinalJobState.COMPLETED_SUCCESSFULLY,
    WALLTIME_REACHED: FinalJobState.COMPLETED_WALLTIME_REACHED,
}
"""The final state of a job that was not killed, by its return code. With any other code, the job has failed."""


_START: Final = 0
_READ_FIRST: Final = 1
_BODY: Final = 2
_READ_LAST: Final = 3
_POSTED: Final = 4


class Execution(ProfileRunner):
    """The actor that executes a job: it runs the job's profile, and notifies the server of its end.

    Args:
        job: the job.
        order: the decision to execute it.
        walk: the walk through its profile.
    """

    __slots__ = ("_step", "job")

    def __init__(self, job: SimulatedJob, order: ExecutionOrder, walk: ProfileWalk) -> None:
        walltime = job.job.walltime
        super().__init__(order, walk, -1.0 if walltime is None else walltime)
        self.job = job
        self._step = _START

    def run(self, simulator: Simulation) -> None:
        step = self._step
        if step == _BODY:
            super().run(simulator)
        elif step == _READ_LAST:
            self._end(simulator)
        elif step == _POSTED:
            assert self._task is not None
            simulator.queue.drop(self._task)
        else:
            if step == _START:
                self._step = _READ_FIRST
                if self.job.read(simulator.queue, self):
                    return
            self._step = _BODY
            self.job.begin(simulator.reports)
            self.begin_part(simulator)

    def done(self, return_code: int, simulator: Simulation) -> None:
        job = self.job
        if return_code < KILLED and simulator.is_batsim:
            text = f"Batsim aborts when a job returns {return_code}, as {shown(job.id)} does"
            raise simulator.refusal("profile.return-code", text)
        state = _STATES.get(return_code, FinalJobState.COMPLETED_FAILED)
        if return_code == KILLED and not simulator.corrected and not self.was_cancelled:
            what = f"job {shown(job.id)} has returned -2, which Batsim treats as a kill, and its end is never reported"
            simulator.warn(what, "use another return code")
        if return_code == KILLED and (self.was_cancelled or not simulator.corrected):
            state = FinalJobState.COMPLETED_KILLED
        job.end(return_code, state, simulator.reports)
        self._step = _READ_LAST
        if not job.read(simulator.queue, self):
            self._end(simulator)

    def _end(self, simulator: Simulation) -> None:
        """End, and notify the server, unless the killer does so. By Batsim's own mistake, nobody does after -2."""
        job = self.job
        job.execution = None
        if simulator.machine.has_energy:
            job.note_energy(simulator.reports)
        if job.final_state is FinalJobState.COMPLETED_KILLED:
            return
        if self._task is None:
            simulator.queue.post_and_end(self, simulator.server.mailbox, JobEnded(job))
        else:
            self._step = _POSTED
            simulator.queue.post(self, simulator.server.mailbox, JobEnded(job))


_NEXT: Final = 0
_ASKED: Final = 1
_CALLED: Final = 2
_READ: Final = 3
_REPORTED: Final = 4


class Killer(SimulationActor):
    """The actor that kills jobs, and notifies the server.

    Args:
        jobs: the jobs, in the order of the request.
    """

    __slots__ = ("_jobs", "_killed", "_place", "_step")

    def __init__(self, jobs: list[SimulatedJob]) -> None:
        super().__init__()
        self._jobs = jobs
        self._place = 0
        self._step = _NEXT
        self._killed = JobsKilled(jobs, [])

    def run(self, simulator: Simulation) -> None:
        if self._step == _REPORTED:
            return
        while self._place < len(self._jobs):
            step()
            if self._goes_on(simulator):
                return
        self._step = _REPORTED
        simulator.queue.post(self, simulator.server.mailbox, self._killed)

    def _goes_on(self, simulator: Simulation) -> bool:
        """Make the next step with the current job; whether the actor must wait for it."""
        job, doing, queue = self._jobs[self._place], self._step, simulator.queue
        if doing == _NEXT:
            execution = execution_of(job)
            if job.final_state is not None or execution is None:
                self._place += 1
                return False
            if execution.replays_usage and not simulator.corrected:
                text = f"Batsim aborts when job {shown(job.id)} is killed while it replays a usage trace"
                raise simulator.refusal("job.kill-usage-trace", text)
            self._killed.progresses.append(JobAndProgress(job.id, execution.progress(simulator)))
            self._step = _ASKED if execution.lone_task is not None else _CALLED
            if self._step == _CALLED:
                job.execution = None
                code = KILLED if execution.runs_task else WALLTIME_REACHED
                execution.stop(simulator)
                job.return_code = code
            queue.call(self)
            return True
        if doing == _ASKED:  # for the remaining part of its task; the job ends when the task is cancelled
            execution = execution_of(job)
            task = None if execution is None else execution.lone_task
            self._place += 1
            self._step = _NEXT
            if task is None:
                return False
            queue.cancel(self, task)
            return True
        if doing == _CALLED:
            job.end(job.return_code, FinalJobState.COMPLETED_KILLED, simulator.reports)
            self._step = _READ
            if job.read(queue, self):
                return True
        if simulator.machine.has_energy:
            job.note_energy(simulator.reports)
        self._place += 1
        self._step = _NEXT
        return False


def execution_of(job: SimulatedJob) -> Execution | None:
    """The actor of a job, while the job runs."""
    execution = job.execution
    assert execution is None or isinstance(execution, Execution)
    return execution
