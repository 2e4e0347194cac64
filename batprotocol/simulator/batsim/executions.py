"""Actors on hosts: executions of jobs with the checks of each part of their profiles, kills, and switches of hosts.

As in Batsim, a part is checked when it begins: a part that is never reached, because the job is killed or ends before,
is never refused.
"""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Final

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.errors import RuleViolation, shown
from batprotocol.model import (
    DelayProfile,
    ExecuteJobEvent,
    FinalJobState,
    ForkJoinCompositionProfile,
    JobAndProgress,
    KillProgress,
    KillProgressAtomicProfile,
    KillProgressForkJoinProfile,
    ParallelTaskDataStagingBetweenStoragesProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskProfile,
    Profile,
    TraceReplayProfile,
    TraceType,
)
from batprotocol.simulator.batsim.jobs import SimulatedJob
from batprotocol.simulator.batsim.messages import HostSwitched, JobEnded, JobsKilled
from batprotocol.simulator.batsim.simulation_state import Simulation, SwitchRequest
from batprotocol.simulator.machine.machine import ParallelTask
from batprotocol.simulator.machine.placement import PlacedExecutors, hosts_of
from batprotocol.simulator.machine.queue import SimulationActor
from batprotocol.simulator.machine.work import TASKS, ProfileWalk, parallel_task, size, storages, usage_task
from batprotocol.workloads import Usage, WorkloadProfile

__all__ = [
    "KILLED",
    "WALLTIME_REACHED",
    "Execution",
    "ExecutionOrder",
    "HostSwitch",
    "Killer",
    "ProfileRunner",
    "execution_of",
]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class ExecutionOrder:
    """The decision to execute a job.

    Attributes:
        event: the event of the decision.
        hosts: the hosts of the job.
        resources: the number of hosts that the job requests.
        storages: the hosts of the storages that were placed, or named by parts that have begun.
    """

    __slots__ = ("_overrides", "event", "hosts", "resources", "storages")

    def __init__(self, event: ExecuteJobEvent, hosts: tuple[int, ...], resources: int) -> None:
        self.event = event
        self.hosts = hosts
        self.resources = resources
        # If there are several for one storage or profile, the first one counts.
        self.storages = {given.storage_name: given.host_id for given in reversed(event.storage_placement or ())}
        self._overrides = {given.profile_id: given for given in reversed(event.profile_allocation_override or ())}

    def placement(self, profile_id: str) -> PlacedExecutors:
        """The placement of a profile: the one for this profile in the decision, or the one of the whole job."""
        given = self._overrides.get(profile_id)
        if given is not None:
            return PlacedExecutors(hosts_of(given.host_allocation), given.executor_placement)
        return PlacedExecutors(self.hosts, self.event.allocation.executor_placement)

    def check_part(self, simulation: Simulation, id: str, known: WorkloadProfile, left: float) -> None:
        """Refuse a part that cannot be simulated. Otherwise, find the hosts of its storages.

        Args:
            simulation: the simulation.
            id: the full name of the part.
            known: the part.
            left: seconds until the job is stopped; negative: no limit.
        """
        profile = known.profile
        if isinstance(profile, DelayProfile):
            if profile.delay == inf and left < 0.0:
                raise simulation.refusal("profile.infinite", f"job {shown(self.event.job_id)} would never end")
        elif isinstance(profile, TraceReplayProfile):
            self._check_trace(simulation, id, profile, len(known.traces or ()))
        elif isinstance(profile, TASKS):
            self._check_task(simulation, id, profile)

    def _check_placement(self, simulation: Simulation, id: str) -> PlacedExecutors:
        placement = self.placement(id)
        if not placement.allocation:
            raise simulation.refusal("hosts.empty", f"profile {shown(id)} is executed on no host")
        last = len(simulation.machine.hosts) - 1
        if placement.allocation[-1] > last:
            text = f"profile {shown(id)} is executed on host {placement.allocation[-1]}: the last one is {last}"
            raise simulation.refusal("hosts.unknown", text)
        size = len(placement.allocation)
        wrong = next((entry for entry in placement.mapping or () if entry >= size), None)
        if wrong is not None:
            text = f"there is no host {wrong} in an allocation of {size} hosts (profile {shown(id)})"
            raise simulation.refusal("job.mapping-entry", text)
        return placement

    def _check_trace(self, simulation: Simulation, id: str, profile: TraceReplayProfile, ranks: int) -> None:
        placement = self._check_placement(simulation, id)
        if profile.trace_type == TraceType.SMPI:
            raise simulation.refusal(
                "profile.not-simulated",
                f"profile {shown(id)} replays an SMPI trace, which only SimGrid itself can simulate",
            )
        mapping = placement.mapping
        if mapping is not None and len(mapping) != ranks:
            raise self._wrong_mapping(simulation, id, len(mapping), f"the trace has {ranks} ranks")
        if len(set(placement.executors(ranks, simulation.machine.hosts))) < ranks:
            raise simulation.refusal("job.usage-hosts", f"each of the {ranks} ranks of {shown(id)} needs its own host")

    def _check_task(self, simulation: Simulation, id: str, profile: Profile) -> None:
        job, requested = shown(self.event.job_id), self.resources
        placement = self._check_placement(simulation, id)
        if requested == 0:
            raise simulation.refusal("job.no-executors", f"job {job} has no executors to run {shown(id)}")
        mapping = placement.mapping
        if isinstance(profile, ParallelTaskProfile):
            if size(profile) != requested:
                text = f"job {job} has {requested} executors, and profile {shown(id)} is for {size(profile)}"
                raise simulation.refusal("job.profile-size", text)
            if mapping is not None and len(mapping) != requested:
                raise self._wrong_mapping(simulation, id, len(mapping), f"job {job} has {requested} executors")
        for name in storages(profile):
            self._find_storage(simulation, name)
        if isinstance(profile, ParallelTaskMergeCompositionProfile):
            for part in profile.profile_ids:
                self._check_task(simulation, part, simulation.profiles.find(part).profile)
        if not simulation.is_batsim:
            return
        if isinstance(profile, ParallelTaskHomogeneousProfile):
            if inf in (profile.computation_amount, profile.communication_amount):
                raise simulation.refusal("profile.infinite", f"profile {shown(id)} would never end")
            count = requested if mapping is None else len(mapping)
            if count == 1 and not profile.computation_amount:
                raise simulation.refusal("profile.no-work", f"profile {shown(id)} has nothing to do on one executor")
        staging = isinstance(profile, ParallelTaskDataStagingBetweenStoragesProfile) and profile.bytes_to_transfer > 0
        if staging and not simulation.corrected:
            raise simulation.refusal("profile.staging", f"Batsim aborts when it executes {shown(id)}")

    def _find_storage(self, simulation: Simulation, name: str) -> None:
        if name in self.storages:
            return
        host = simulation.setup.host_named(name)
        if host is None:
            raise simulation.refusal(
                "job.storage-unknown", f"storage {shown(name)} is not placed, and no host has this name"
            )
        self.storages[name] = host

    def _wrong_mapping(self, simulation: Simulation, id: str, entries: int, expected: str) -> RuleViolation:
        text = f"the mapping of profile {shown(id)} has {entries} entries, and {expected}"
        return simulation.refusal("job.mapping-size", text)


# Runs of profiles: delays and tasks one after the other, usage traces and fork-joins in parallel


WALLTIME_REACHED: Final = -1
KILLED: Final = -2

_SLEPT: Final = 1
_WORKED: Final = 2
_SPAWNED: Final = 3
_JOINED: Final = 4


class ProfileRunner(SimulationActor):
    """An actor that runs the parts of a walk.

    Args:
        order: the decision to execute the job.
        walk: the walk through the profile.
        left: seconds until the runner is stopped; negative: no limit.

    Attributes:
        was_cancelled: whether its last task was stopped from outside.
    """

    __slots__ = (
        "_children",
        "_cut",
        "_doing",
        "_left",
        "_since",
        "_task",
        "order",
        "walk",
        "was_cancelled",
    )

    def __init__(self, order: ExecutionOrder, walk: ProfileWalk, left: float) -> None:
        super().__init__(order.hosts[0])
        self.order = order
        self.walk = walk
        self._left = left
        self._cut = False
        self._since = 0.0
        self._task: ParallelTask | None = None
        self._children: list[_Child] = []
        self._doing = 0
        self.was_cancelled = False

    @abstractmethod
    def done(self, return_code: int, simulator: Simulation) -> None:
        """React to the end of the walk, or to its time limit."""

    def run(self, simulator: Simulation) -> None:
        if self._doing == 0 or (self._has_ended(simulator) and self._end_part(simulator)):
            self.begin_part(simulator)

    def begin_part(self, simulator: Simulation) -> None:
        """Run the next part of the profile, and continue until the actor must wait."""
        if self.walk.leaf is None:  # there is nothing in its sequence
            self.done(self.walk.return_code, simulator)
            return
        while self._begin_part(simulator) and self._end_part(simulator):
            step()

    def _begin_part(self, simulator: Simulation) -> bool:
        """Begin the next part of the profile; whether it has ended already."""
        queue, order, leaf = simulator.queue, self.order, self.walk.leaf
        assert leaf is not None
        profile = leaf.profile.profile
        order.check_part(simulator, leaf.profile_id, leaf.profile, self._left)
        self._since = queue.now
        if type(profile) is DelayProfile:
            delay, left = profile.delay, self._left
            self._doing = _SLEPT
            self._cut = 0.0 <= left <= delay
            if self._cut:
                delay = left
            if delay > 0.0:
                queue.sleep(self, delay)
            return delay <= 0.0
        placement = order.placement(leaf.profile_id)
        if isinstance(profile, TraceReplayProfile):
            traces = leaf.profile.traces or ()
            hosts = placement.executors(len(traces), simulator.machine.hosts)
            self._spawn([_Rank(self, host, lines) for host, lines in zip(hosts, traces, strict=True)], simulator)
        elif isinstance(profile, ForkJoinCompositionProfile):
            walks = [ProfileWalk(name, simulator.profiles.find) for name in profile.profile_ids]
            self._spawn([_Branch(self, order, walk) for walk in walks], simulator)
        else:
            self._doing = _WORKED
            self._task = parallel_task(
                simulator.machine, profile, order.resources, placement, order.storages, simulator.profiles.find
            )
            queue.execute(self, self._task, None if self._left < 0.0 else self._left)
        return False

    def _spawn(self, children: list[_Child], simulator: Simulation) -> None:
        """Run children in parallel."""
        self._doing = _SPAWNED
        self._children = children
        simulator.queue.spawn(self, children)

    def _has_ended(self, simulator: Simulation) -> bool:
        """Whether the current part has ended. Otherwise, wait for the children that run in parallel."""
        if self._doing not in (_SPAWNED, _JOINED):
            return True
        if self._doing == _JOINED and not self.in_time:
            return self._has_killed(simulator)
        now = simulator.queue.now
        if self._left >= 0.0:  # the remaining time is computed again whenever a child has ended
            self._left -= now - self._since
        self._since = now
        self._doing = _JOINED
        if all(child.has_ended for child in self._children):
            return True
        # Batsim waits with a semaphore of SimGrid, which treats 0 s as no limit, too.
        endless = self._left < 0.0 or (self._left == 0.0 and not simulator.corrected)
        simulator.queue.wait(self, None if endless else self._left)
        return False

    def _has_killed(self, simulator: Simulation) -> bool:
        """Whether all listed children are killed because the time is over. Each call kills one."""
        while self._children:
            child = self._children.pop(0)
            if child.is_listed:
                child.stop(simulator)
                simulator.queue.call(self)
                return False
        return True

    def child_ended(self, simulator: Simulation) -> None:
        """React to the end of a child."""
        if self._doing == _JOINED:
            simulator.queue.wake(self)

    def _end_part(self, simulator: Simulation) -> bool:
        """End the current part of the profile; whether there is a next one."""
        queue, walk, doing = simulator.queue, self.walk, self._doing
        leaf = walk.leaf
        assert leaf is not None
        code = leaf.profile.return_code
        if doing == _SLEPT:
            if self._left >= 0.0:
                delay = leaf.profile.profile.delay  # type: ignore[union-attr]
                self._left = 0.0 if self._cut else self._left - delay
        else:
            self._cut = not self.in_time
            if self._left >= 0.0:
                self._left -= queue.now - self._since
            if doing == _JOINED:
                code = next((child.return_code for child in self._children if child.return_code), code)
                self._stop_children(simulator)
            elif not self._cut:  # else it uses its hosts until the end was reported
                if self._task is not None and self._task.is_cancelled:
                    self.was_cancelled = True
                    code = KILLED
                self._task = None
        walk.go_on(WALLTIME_REACHED if self._cut else code, simulator.profiles.find)
        if walk.leaf is None:
            self.done(walk.return_code, simulator)
            return False
        self._doing = 0
        return True

    # Stopping

    @property
    def lone_task(self) -> ParallelTask | None:
        """The parallel task that runs, if nothing else runs."""
        return None if self._children else self._task

    @property
    def runs_task(self) -> bool:
        """Whether at least one parallel task is running."""
        return self._task is not None or any(child.runs_task for child in self._children)

    @property
    def replays_usage(self) -> bool:
        """Whether a usage trace is being replayed."""
        return any(isinstance(child, _Rank) for child in self._children)

    def progress(self, simulator: Simulation) -> KillProgress:
        """The progress of the walk."""
        leaf, queue = self.walk.leaf, simulator.queue
        assert leaf is not None, "what is done has no progress"
        profile, done = leaf.profile.profile, 0.0
        if isinstance(profile, ForkJoinCompositionProfile) and self._children:
            tasks = tuple(child.progress(simulator) for child in self._children)
            return self.walk.progress(KillProgressForkJoinProfile(leaf.profile_id, tasks))
        if self._doing == _SLEPT and isinstance(profile, DelayProfile):
            done = (queue.now - self._since) / profile.delay
        elif self._task is not None:
            done = 1.0 - queue.remaining(self._task)
        elif self._children:
            done = sum(child.part_done for child in self._children) / len(self._children)
        return self.walk.progress(KillProgressAtomicProfile(leaf.profile_id, done))

    def stop(self, simulator: Simulation) -> None:
        """Stop at once and permanently."""
        if not self.is_dead:
            simulator.queue.kill(self)
        if self._task is not None:
            simulator.queue.drop(self._task)
            self._task = None
        self._stop_children(simulator)

    def _stop_children(self, simulator: Simulation) -> None:
        for child in self._children:
            child.stop(simulator)
        self._children = []


class _Branch(ProfileRunner):
    """The actor of one profile of a fork-join."""

    __slots__ = ("_parent", "has_ended", "return_code")
    part_done = 0.0

    def __init__(self, parent: ProfileRunner, order: ExecutionOrder, walk: ProfileWalk) -> None:
        super().__init__(order, walk, -1.0)
        self._parent = parent
        self.has_ended = False
        self.return_code = 0

    @property
    def is_listed(self) -> bool:
        """Whether Batsim would have to kill it."""
        return not self.has_ended

    def done(self, return_code: int, simulator: Simulation) -> None:
        self.return_code = return_code
        self.has_ended = True
        self._parent.child_ended(simulator)

    def progress(self, simulator: Simulation) -> KillProgress:
        if self.walk.leaf is None:
            return KillProgressAtomicProfile(self.walk.profile_id, 1.0)
        return super().progress(simulator)


class _Rank(SimulationActor):
    """The actor that replays the usage trace of one rank."""

    __slots__ = ("_lines", "_next", "_parent", "_task", "has_ended")
    return_code = 0

    def __init__(self, parent: ProfileRunner, host: int, lines: tuple[Usage, ...]) -> None:
        super().__init__(host)
        self._parent = parent
        self._lines = lines
        self._next = 0
        self._task: ParallelTask | None = None
        self.has_ended = False

    @property
    def part_done(self) -> float:
        """The share of lines that were replayed."""
        return max(0, self._next - 1) / len(self._lines) if self._lines else 1.0

    @property
    def is_listed(self) -> bool:
        """Whether Batsim kills it. A rank with nothing to replay ends before it is listed."""
        return not self.has_ended or not self._lines

    @property
    def runs_task(self) -> bool:
        """Whether a line is being replayed."""
        return self._task is not None

    def run(self, simulator: Simulation) -> None:
        if self._next == len(self._lines):
            self._task = None
            self.has_ended = True
            self._parent.child_ended(simulator)
            return
        self._task = usage_task(simulator.machine, self.host, self._lines[self._next])
        self._next += 1
        simulator.queue.execute(self, self._task)

    def progress(self, simulator: Simulation) -> KillProgress:
        """Never used: the ranks of a trace are one atomic profile."""
        raise NotImplementedError

    def stop(self, simulator: Simulation) -> None:
        """Stop the replay."""
        if not self.is_dead:
            simulator.queue.kill(self)
            if self._task is not None:
                simulator.queue.drop(self._task)


_Child = _Branch | _Rank


# Executions and kills


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


# Switches


class HostSwitch(SimulationActor):
    """The actor that turns one host on or off: it executes one flop in the virtual power state of the switch."""

    __slots__ = ("_request", "_step", "_virtual")

    def __init__(self, host: int, request: SwitchRequest, virtual: int) -> None:
        super().__init__(host)
        self._request = request
        self._virtual = virtual
        self._step = 0

    def run(self, simulator: Simulation) -> None:
        queue, machine, host = simulator.queue, simulator.machine, self.host
        self._step += 1
        if self._step == 1:
            if machine.runs_job(host) and machine.hosts[host].sleep_state(self._request.target) is not None:
                raise simulator.refusal("hosts.turn-busy", f"host {host} is turned off, and executes a job")
            machine.set_pstate(host, self._virtual, queue.now)
            queue.execute(self, usage_task(machine, host, Usage(0.0, 1.0)))
        elif self._step == 2:
            machine.end_switch(host, self._request.target, queue.now)
            queue.post(self, simulator.server.mailbox, HostSwitched(host, self._request))
