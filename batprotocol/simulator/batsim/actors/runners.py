"""Actors that run profiles: delays and parallel tasks one after the other, usage traces and fork-joins in parallel."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from batprotocol._util.counting import step
from batprotocol.model import (
    DelayProfile,
    ForkJoinCompositionProfile,
    KillProgress,
    KillProgressAtomicProfile,
    KillProgressForkJoinProfile,
    TraceReplayProfile,
)
from batprotocol.simulator.batsim.actors.orders import ExecutionOrder
from batprotocol.simulator.batsim.state.simulation import Simulation
from batprotocol.simulator.machine.task import ParallelTask
from batprotocol.simulator.progress.matrices import parallel_task, usage_task
from batprotocol.simulator.progress.work import ProfileWalk
from batprotocol.simulator.queue.actor import SimulationActor
from batprotocol.workloads import Usage

__all__ = ["KILLED", "WALLTIME_REACHED", "ProfileRunner"]

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
