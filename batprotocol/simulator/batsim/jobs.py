"""Jobs: what becomes of one between its submission and its end, the actor that executes it, and the one that kills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from batprotocol.model import (
    DelayProfile,
    ExecuteJobEvent,
    FinalJobState,
    Job,
    JobAndProgress,
    TraceReplayProfile,
)
from batprotocol.simulator.batsim.messages import JobEnded, JobsKilled
from batprotocol.simulator.inputs import Usage
from batprotocol.simulator.machine.task import Task
from batprotocol.simulator.progress.matrices import parallel_task, usage_task
from batprotocol.simulator.progress.placement import Placement, hosts_of
from batprotocol.simulator.progress.work import Walk
from batprotocol.simulator.queue.actor import Actor
from batprotocol.simulator.results import JobRow

if TYPE_CHECKING:
    from batprotocol.simulator.batsim.simulation import Simulation

__all__ = ["Execution", "Killer", "SimulatedJob", "placement_of"]

_WALLTIME_REACHED: Final = -1
_KILLED: Final = -2
_STATES: Final = {
    0: FinalJobState.COMPLETED_SUCCESSFULLY,
    _WALLTIME_REACHED: FinalJobState.COMPLETED_WALLTIME_REACHED,
    _KILLED: FinalJobState.COMPLETED_KILLED,
}


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

    def end(self, return_code: int, simulator: Simulation) -> int:
        """Its execution ends. How many hosts' energy was read for that."""
        now, machine = simulator.queue.now, simulator.machine
        self.return_code = return_code
        self.final_state = _STATES.get(return_code, FinalJobState.COMPLETED_FAILED)
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


_START: Final = 0
_BODY: Final = 1
_SLEPT: Final = 2
_WORKED: Final = 3
_REPLAYED: Final = 4
_SPAWNED: Final = 5
_POST: Final = 6
_POSTED: Final = 7


def placement_of(event: ExecuteJobEvent, profile_id: str, hosts: tuple[int, ...]) -> Placement:
    """Where the executors of a profile go: there where the execution says it of this profile, or of the whole job."""
    for given in event.profile_allocation_override or ():
        if given.profile_id == profile_id:
            return Placement(hosts_of(given.host_allocation), given.executor_placement)
    return Placement(hosts, event.allocation.executor_placement)


class Execution(Actor):
    """Executes a job: walks through its profile, and tells the server of its end.

    Args:
        job: which.
        event: how.
        walk: the way through its profile.
    """

    __slots__ = (
        "_cut",
        "_event",
        "_left",
        "_ranks",
        "_ranks_left",
        "_since",
        "_step",
        "_storages",
        "_task",
        "job",
        "walk",
    )

    def __init__(self, job: SimulatedJob, event: ExecuteJobEvent, walk: Walk, storages: Mapping[str, int]) -> None:
        super().__init__(job.hosts[0])
        self.job = job
        self.walk = walk
        self._event = event
        self._storages = storages
        walltime = job.job.walltime
        self._left = -1.0 if walltime is None else walltime
        self._cut = False
        self._since = 0.0
        self._task: Task | None = None
        self._ranks: list[_Rank] = []
        self._ranks_left = 0
        self._step = _START

    def run(self, simulator: Simulation) -> None:
        step = self._step
        if step == _START:
            self._step = _BODY
            calls = self.job.begin(simulator)
            if calls:
                simulator.queue.pause(self, calls)
                return
            self._begin_part(simulator)
        elif step == _BODY:
            self._begin_part(simulator)
        elif step == _SPAWNED:
            self._step = _REPLAYED
            if self._ranks_left:
                simulator.queue.wait(self, None if self._left < 0.0 else self._left)
            else:
                self._end_part(simulator)
        elif step == _POST:
            self._post_end(simulator)
        elif step == _POSTED:
            assert self._task is not None
            simulator.queue.drop(self._task)
        else:
            self._end_part(simulator)

    def _begin_part(self, simulator: Simulation) -> None:
        """Do what the part of the profile says that is next."""
        leaf = self.walk.leaf
        if leaf is None:  # there is nothing in its sequence
            self._finish(simulator)
            return
        queue, profile = simulator.queue, leaf.profile.profile
        self._since = queue.now
        if type(profile) is DelayProfile:
            delay, left = profile.delay, self._left
            self._step = _SLEPT
            self._cut = 0.0 <= left <= delay
            if self._cut:
                delay = left
            if delay > 0.0:
                queue.sleep(self, delay)
            else:
                self._end_part(simulator)
            return
        placement = placement_of(self._event, leaf.profile_id, self.job.hosts)
        timeout = None if self._left < 0.0 else self._left
        if isinstance(profile, TraceReplayProfile):
            self._step = _SPAWNED
            self._replay(simulator, placement, leaf.profile.traces or ())
            return
        self._step = _WORKED
        self._task = parallel_task(simulator.machine, profile, self.job.job.resource_request, placement, self._storages)
        queue.execute(self, self._task, timeout)

    def _end_part(self, simulator: Simulation) -> None:
        """A part of the profile is over: go on with the next one, or end."""
        queue, walk, step = simulator.queue, self.walk, self._step
        assert walk.leaf is not None
        if step == _SLEPT:
            if self._left >= 0.0:
                delay = walk.leaf.profile.profile.delay  # type: ignore[union-attr]
                self._left = 0.0 if self._cut else self._left - delay
        else:
            self._cut = not self.in_time
            if self._left >= 0.0:
                self._left -= queue.now - self._since
            if step == _REPLAYED:
                self._stop_ranks(simulator)
            elif not self._cut:  # else it goes on loading its hosts until the end was told
                self._task = None
        walk.go_on(_WALLTIME_REACHED if self._cut else walk.leaf.profile.return_code, simulator.find_profile)
        if walk.leaf is None:
            self._finish(simulator)
        else:
            self._step = _BODY
            self._begin_part(simulator)

    def _finish(self, simulator: Simulation) -> None:
        code = self.walk.return_code
        calls = self.job.end(code, simulator)
        if code == _KILLED and simulator.quirks:
            return  # Batsim takes it for killed, and nobody tells of its end
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

    # Killing

    @property
    def runs_task(self) -> bool:
        """Whether a parallel task is running, or several."""
        return self._task is not None or bool(self._ranks)

    def kill(self, simulator: Simulation) -> tuple[JobAndProgress, int, int]:
        """Stop at once: the progress, the job's return code, and how many kernel calls it takes."""
        queue, leaf = simulator.queue, self.walk.leaf
        progress, code, calls = 0.0, -1, 1
        if leaf is not None and self._step in (_SLEPT, _WORKED, _SPAWNED, _REPLAYED):
            profile = leaf.profile.profile
            if isinstance(profile, DelayProfile):
                progress = (queue.now - self._since) / profile.delay
            elif self._task is not None:
                progress, code = 1.0 - queue.remaining(self._task), -2
            elif self._ranks:
                progress = sum(rank.progress for rank in self._ranks) / len(self._ranks)
        queue.kill(self)
        if self._task is not None:
            queue.drop(self._task)
        self._stop_ranks(simulator)
        return JobAndProgress(self.job.id, self.walk.progress(progress)), code, calls

    # Usage traces

    def _replay(self, simulator: Simulation, placement: Placement, traces: tuple[tuple[Usage, ...], ...]) -> None:
        hosts = placement.executors(len(traces), simulator.machine.hosts)
        self._ranks = [_Rank(self, host, lines) for host, lines in zip(hosts, traces, strict=True)]
        self._ranks_left = len(self._ranks)
        if not simulator.queue.spawn(self, self._ranks):
            self.run(simulator)

    def rank_ended(self, simulator: Simulation) -> None:
        """One of the ranks has replayed its trace."""
        self._ranks_left -= 1
        if self._ranks_left == 0 and self._step == _REPLAYED:
            simulator.queue.wake(self)

    def _stop_ranks(self, simulator: Simulation) -> None:
        for rank in self._ranks:
            rank.stop(simulator)
        self._ranks = []


class _Rank(Actor):
    """Replays the usage trace of one rank."""

    __slots__ = ("_lines", "_next", "_task", "execution")

    def __init__(self, execution: Execution, host: int, lines: tuple[Usage, ...]) -> None:
        super().__init__(host)
        self.execution = execution
        self._lines = lines
        self._next = 0
        self._task: Task | None = None

    @property
    def progress(self) -> float:
        """The part of the lines that were replayed."""
        return max(0, self._next - 1) / len(self._lines) if self._lines else 1.0

    def run(self, simulator: Simulation) -> None:
        if self._next == len(self._lines):
            self._task = None
            self.execution.rank_ended(simulator)
            return
        self._task = usage_task(simulator.machine, self.host, self._lines[self._next])
        self._next += 1
        simulator.queue.execute(self, self._task)

    def stop(self, simulator: Simulation) -> None:
        """Replay no more."""
        if not self.is_dead:
            simulator.queue.kill(self)
            if self._task is not None:
                simulator.queue.drop(self._task)


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
                    progress, code, own_calls = job.execution.kill(simulator)
                    calls += own_calls + job.end(code, simulator)
                    job.final_state = FinalJobState.COMPLETED_KILLED
                    job.execution = None
                    self._message.killed.append(job)
                    self._message.progresses.append(progress)
            if calls:
                queue.pause(self, calls)
                return
        if self._jobs:
            self._jobs = []
            queue.post(self, simulator.server.mailbox, self._message)
