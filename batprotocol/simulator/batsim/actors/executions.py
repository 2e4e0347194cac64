"""The actor that executes a job, and the one that kills some."""

from __future__ import annotations

from typing import Final

from batprotocol.errors import shown
from batprotocol.model import FinalJobState, JobAndProgress
from batprotocol.simulator.batsim.actors.runners import WALLTIME_REACHED, Order, Runner
from batprotocol.simulator.batsim.state.jobs import SimulatedJob
from batprotocol.simulator.batsim.state.messages import JobEnded, JobsKilled
from batprotocol.simulator.batsim.state.simulation import Simulation
from batprotocol.simulator.progress.work import Walk
from batprotocol.simulator.queue.actor import Actor
from batprotocol.steps.counting import step

__all__ = ["Execution", "Killer", "execution_of"]

_STATES: Final = {
    0: FinalJobState.COMPLETED_SUCCESSFULLY,
    WALLTIME_REACHED: FinalJobState.COMPLETED_WALLTIME_REACHED,
}
"""What a job that ended by itself is, by the code that it returns; all others have failed."""

_KILLED: Final = -2

_START: Final = 0
_BODY: Final = 1
_POST: Final = 2
_POSTED: Final = 3


class Execution(Runner):
    """Executes a job: runs its profile, and tells the server of its end.

    Args:
        job: which.
        order: how.
        walk: the walk through its profile.
    """

    __slots__ = ("_step", "job")

    def __init__(self, job: SimulatedJob, order: Order, walk: Walk) -> None:
        walltime = job.job.walltime
        super().__init__(order, walk, -1.0 if walltime is None else walltime)
        self.job = job
        self._step = _START

    def run(self, simulator: Simulation) -> None:
        step = self._step
        if step == _BODY:
            super().run(simulator)
        elif step == _START:
            self._step = _BODY
            calls = self.job.begin(simulator.reports)
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
            job.end(return_code, FinalJobState.COMPLETED_KILLED, simulator.reports)
            return
        calls = job.end(return_code, state, simulator.reports)
        self._step = _POST
        if calls:
            simulator.queue.pause(self, calls)
        else:
            self._post_end(simulator)

    def _post_end(self, simulator: Simulation) -> None:
        self.job.execution = None
        if self._task is None:
            simulator.queue.bequeath(self, simulator.desk.mailbox, JobEnded(self.job))
        else:
            self._step = _POSTED
            simulator.queue.post(self, simulator.desk.mailbox, JobEnded(self.job))

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
                step()
                execution = execution_of(job)
                if job.final_state is None and execution is not None:
                    code = -2 if execution.runs_task else -1
                    progress = execution.kill(simulator)
                    calls += 1 + job.end(code, FinalJobState.COMPLETED_KILLED, simulator.reports)
                    job.execution = None
                    self._message.killed.append(job)
                    self._message.progresses.append(progress)
            if calls:
                queue.pause(self, calls)
                return
        if self._jobs:
            self._jobs = []
            queue.post(self, simulator.desk.mailbox, self._message)


def execution_of(job: SimulatedJob) -> Execution | None:
    """The actor that executes a job, while it runs."""
    execution = job.execution
    assert execution is None or isinstance(execution, Execution)
    return execution
