"""The state that the parts of a controller share, and how jobs leave their nodes.

Jobs start on some nodes now or later, end, are killed at a limit, give way or run again, and nodes are cleaned after
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import reduce
from heapq import heappop, heappush
from operator import or_
from typing import Final, Protocol

from batprotocol.model import FinalJobState
from batprotocol.policies.rules import PreemptMode
from batprotocol.policies.slurm.clock import LoopClock, Phases
from batprotocol.policies.slurm.cluster import ClusterPartition, ConfiguredCluster, bits_of, members
from batprotocol.policies.slurm.consumable import Consumable
from batprotocol.policies.slurm.queue import (
    HetJob,
    IneligibleJobs,
    JobStage,
    NodeShare,
    SlurmEntry,
    SlurmJob,
    SlurmQueue,
)
from batprotocol.policies.slurm.reservations import KeptPlans, NodeReservations
from batprotocol.policies.slurm.rules import SlurmRules, victims_of
from batprotocol.policies.slurm.selection import (
    Linear,
    NodeReleases,
    NodeSelector,
    PossibleStart,
    first_start,
    notes_patience,
    share_now,
)

__all__ = [
    "ControllerActions",
    "ControllerState",
    "Endings",
    "JobPriorities",
    "NodeStates",
    "PossibleStarts",
    "TimeLimits",
    "selection_of",
]


def selection_of(cluster: ConfiguredCluster, epoch: int, *, is_quick: bool) -> NodeSelector:
    """The selection of nodes that a cluster has, while no job runs.

    Args:
        cluster: the cluster.
        epoch: the seconds of the day at which the simulation began.
        is_quick: whether it takes short cuts.
    """
    if cluster.select.is_linear:
        return Linear(cluster, is_quick=is_quick)
    return Consumable(cluster, epoch, is_quick=is_quick)


class ControllerActions(Protocol):
    """The actions that a controller has others do."""

    def execute(self, job: SlurmJob) -> bool:
        """Execute a job on its placement; returns whether that is possible."""

    def kill(self, jobs: list[SlurmJob]) -> None:
        """Kill jobs. Some of them may be suspended."""

    def suspend(self, job: SlurmJob) -> None:
        """Stop a running job, so that it can go on later."""

    def resume(self, job: SlurmJob) -> None:
        """Let a suspended job go on, on the same hosts."""

    def again(self, job: SlurmJob) -> None:
        """Register a job once more, and give it its new id."""

    def reject(self, job: SlurmJob, why: str) -> None:
        """A job never runs."""


class JobPriorities(Protocol):
    """The priorities of jobs."""

    @property
    def has_sizes(self) -> bool:
        """Whether the sizes of jobs count."""

    def submitted(self, job: SlurmJob, now: float) -> None:
        """A job comes: it gets its first priority."""

    def eligible(self, job: SlurmJob, now: float) -> None:
        """A job could start from now on."""

    def started(self, job: SlurmJob, now: float) -> None:
        """A job starts."""

    def stopped(self, job: SlurmJob, now: float) -> None:
        """A job runs no longer, and its nodes are not clean yet."""

    def ended(self, job: SlurmJob, now: float) -> None:
        """A job is over, or has left its nodes."""

    def next_time(self) -> float:
        """When the priorities are computed next; infinity: never."""

    def again(self, job: SlurmJob, now: float) -> None:
        """A job is to run again."""

    def held(self, job: SlurmJob) -> None:
        """A job that waits is held: its priority is 0."""

    def released(self, job: SlurmJob, now: float) -> None:
        """A job is held no longer: it gets a new priority."""

    def sized(self, job: SlurmJob, cpus: int) -> None:
        """A job was tested, and would have so many CPUs."""

    def frees(self, job: SlurmJob) -> bool:
        """Whether a held job that is about to get another nice value is held no longer then."""

    def changed(self, job: SlurmJob, now: float) -> None:
        """An operator has changed a job that waits and is not held."""

    def renew(self, now: float) -> bool:
        """Compute the priorities of jobs; returns whether one has changed."""


class NodeStates:
    """The nodes that are down, drained or failing, as sets: bit i is node i.

    An operator drains nodes, and a node that answers again stays drained. An event of hosts can drain nodes, too: these
    are back with the event that says so.

    Args:
        count: the number of nodes.
        up: those that are there in the beginning.
        drained: those that slurm.conf drains.
    """

    def __init__(self, count: int, up: int, drained: int) -> None:
        self._all = (1 << count) - 1
        self._up, self._down, self._drained, self._failing = up | drained, 0, drained, 0
        self._new = self._all & ~up

    @property
    def available(self) -> int:
        """The nodes that are neither down, drained nor failing."""
        return self._up & ~(self._drained | self._failing)

    @property
    def down(self) -> int:
        """The nodes that are down."""
        return self._down

    def goes_down(self, nodes: int) -> None:
        """Nodes are down."""
        self._up, self._down = self._up & ~nodes, self._down | nodes

    def leave(self, nodes: int) -> None:
        """An event of hosts says that nodes get no more jobs."""
        self._up &= ~nodes

    def drain(self, nodes: int) -> None:
        """An operator drains nodes."""
        self._drained |= nodes

    def say_failing(self, nodes: int) -> None:
        """An operator says that nodes are failing."""
        self._failing |= nodes

    def return_(self, nodes: int) -> bool:
        """Nodes answer again; returns whether one of them was down in slurm.conf, and was never there before."""
        nodes &= self._all
        self._up, self._down = self._up | nodes, self._down & ~nodes
        return self._see(nodes)

    def undrain(self, nodes: int) -> bool:
        """An operator undrains nodes: those that are down stay down, and fail if they did; returns as `return_`."""
        self._drained &= ~nodes
        return self.resume(nodes & ~self._down)

    def resume(self, nodes: int) -> bool:
        """An operator resumes nodes; returns as `return_`."""
        self._drained &= ~nodes
        self._failing &= ~nodes
        return self.return_(nodes)

    def _see(self, nodes: int) -> bool:
        is_new = bool(nodes & self._new)
        self._new &= ~nodes
        return is_new


class ControllerState:
    """The state of a controller.

    Args:
        cluster: the cluster.
        priorities: the priorities of its jobs.
        actions: what it has others do.
        phases: what is left to chance.
        rules: licences, limits and access.
        is_quick: whether it takes short cuts, which change no decision.

    Attributes:
        jobs: the jobs that have not ended, by their first ids; running: those on nodes.
        ended: the jobs that have ended not long ago, in that order.
        hetjobs: the heterogeneous jobs that have not ended, by their ids.
        makes_up: whether steps that start no job can be made up for later.
        now: the time, in seconds.
        nodes: which nodes can have jobs.
        completing: the nodes that no job can have yet, as they are not clean.
        completed: when a job has left nodes last that were not clean then.
        others: how often something has changed that the queue does not show.
        idle_runs: how often all of the queue was tried in vain since something happened; idle_cycles: the same of
            backfill.
    """

    def __init__(
        self,
        cluster: ConfiguredCluster,
        priorities: JobPriorities,
        actions: ControllerActions,
        phases: Phases,
        rules: SlurmRules,
        *,
        is_quick: bool,
    ) -> None:
        self.cluster, self.priorities, self.actions, self.phases = cluster, priorities, actions, phases
        self.rules, self.is_quick = rules, is_quick
        self.makes_up = is_quick and not (cluster.gang or cluster.complete_wait)
        is_linear = cluster.select.is_linear
        self.reservations = NodeReservations(int(cluster.loops.bf_resolution), phases.epoch, is_linear=is_linear)
        self.selection = selection_of(cluster, phases.epoch, is_quick=is_quick)
        self.queue = SlurmQueue(is_fifo=cluster.is_fifo, is_above=rules.preemption.is_above)
        self.clock = LoopClock(cluster.loops, phases, backfills=cluster.backfills, time_slice=cluster.time_slice)
        self.waiting = IneligibleJobs()
        self.jobs, self.running, self.ended = dict[str, SlurmJob](), dict[str, SlurmJob](), dict[str, SlurmJob]()
        self.hetjobs: dict[str, HetJob] = {}
        drained = bits_of(number for number, node in enumerate(cluster.nodes) if node.is_drained)
        self.nodes, self.completing = NodeStates(len(cluster.nodes), cluster.up, drained), 0
        self._leaving: dict[str, int] = {}
        self.late: set[str] = set()  # the jobs that were held, or wait for their reservations: eligible when looked at
        self._young: list[tuple[float, SlurmJob]] = []  # the jobs that grow older from a known time on
        self.others = self.idle_runs = self.idle_cycles = 0
        self.now, self.completed = 0.0, -math.inf

    @property
    def second(self) -> int:
        """The time in whole seconds, as Slurm sees it."""
        return math.floor(self.now + 1e-6)

    @property
    def is_completing(self) -> bool:
        """Whether no loop runs, as the nodes of a job are not clean that has ended not long ago (CompleteWait)."""
        wait = self.cluster.complete_wait
        return bool(wait and self.completing) and self.completed >= self.second - wait

    def eligible(self) -> Iterator[tuple[SlurmJob, str | None]]:
        """The jobs that could start by now, and those that never can, with the reason. They still wait.

        A job whose reservation has not begun is looked at then. It is eligible since then, so that it grows no older.
        """
        for job, never in self.waiting.gather(self.now):
            begin = self.reservations.begins_later(job, self.second)
            if never is None and begin > -math.inf:
                self.late.add(job.id)
                self.waiting.note(begin, job)
                continue
            if job.id in self.late:
                self.late.remove(job.id)
                job.eligible = float(self.second)
            yield job, never

    def is_eligible(self, job: SlurmJob) -> None:
        """A loop has a job in its queue: it grows older from now on, or from the time on that is known for it."""
        since = self.phases.aging.get(job.own_id, -math.inf) if not job.restarts else -math.inf
        if since <= self.now:
            job.eligible = max(job.eligible, since)
            self.priorities.eligible(job, self.now)
        else:
            self._young.append((since, job))

    def grow(self) -> None:
        """Jobs grow older by now for which a later time was known."""
        due = [each for each in self._young if each[0] <= self.now]
        self._young = [each for each in self._young if each not in due]
        for since, job in due:
            if job in self.queue:
                job.eligible = since
                self.priorities.eligible(job, self.now)

    def leave(self, job: SlurmJob, nodes: int) -> None:
        """Note the nodes of an ended job that are not clean. A node that several jobs leave waits for the last one."""
        if nodes:
            self._leaving[job.id] = nodes
        else:
            self._leaving.pop(job.id, None)
        self.completing = reduce(or_, self._leaving.values(), 0)

    def dirty(self, job: SlurmJob) -> int:
        """The nodes of an ended job that are not clean."""
        return self._leaving.get(job.id, 0)

    @property
    def changes(self) -> int:
        """A number that is another one after each change that the second loop sees."""
        return self.queue.changes + self.others

    def ask(self) -> None:
        """Something has happened, so both loops have something to do."""
        self.idle_runs = self.idle_cycles = 0
        self.clock.ask(self.now)


class PossibleStarts:
    """The starts that are possible for a job now or later, also if others give way to it.

    Args:
        state: the state of the controller.

    Attributes:
        any_switches: how many jobs have taken any switches, as they had waited for few of them long enough.
        sizes_vary: whether the priority of a job depends on the plans of backfill, by the CPUs that it would have.
    """

    def __init__(self, state: ControllerState) -> None:
        self._state, self.sizes_vary = state, False
        self._empty: Linear | None = None  # the same nodes without jobs
        self._tasks: dict[str, list[SlurmJob]] = {}  # those of each array, where records decide
        self._highest = self._splits = self.any_switches = 0
        self._spread: set[SlurmJob] = set()  # jobs whose nodes were at too many switches
        self.plans = KeptPlans(self._footing, state.selection.passing_weights, state.selection.leave_weights)

    def submitted(self, job: SlurmJob, now: float) -> None:
        """A job comes: it gets its first priority, and then Slurm tests whether it could start on an empty cluster."""
        state = self._state
        state.priorities.submitted(job, now)
        if state.cluster.is_fifo:
            self._highest = max(self._highest, job.number)
            if job.array is not None:
                self._tasks.setdefault(job.array, []).append(job)
        if not state.priorities.has_sizes:
            return
        is_range = not math.isinf(job.max_nodes) and job.max_nodes > job.min_nodes and not job.takes_least
        is_same = len({node.cpus for node in state.cluster.nodes}) == 1
        if not state.cluster.select.is_linear:
            self.sizes_vary |= job.size_cpus < max(job.min_nodes, job.gpu_cpus)
            return
        self.sizes_vary |= is_range or bool(job.counts) or not is_same
        self._empty = self._empty or Linear(state.cluster, is_quick=state.is_quick)
        tries = (share_now(self._empty, job, each, each.nodes & job.allowed) for each in job.partitions)
        found = next((each for each in tries if each is not None), None)
        if found is not None:
            self._note_size(job, found.nodes)

    def started(self, job: SlurmJob) -> None:
        """A job starts: the tasks of its array that wait have a new record, behind those of all jobs."""
        if job.array in self._tasks:
            waiting = [each for each in self._tasks[job.array] if each.stage is JobStage.PENDING]
            self._tasks[job.array] = waiting
            self._splits += 1
            for each in waiting:
                each.record = self._highest, self._splits
            self._state.queue.sort()

    def _footing(self) -> tuple[object, ...] | None:
        """The state that plans of backfill stand on, besides the jobs that wait; None: they may not be kept."""
        state = self._state
        ends = state.selection.first_end() > state.second  # the others of jobs whose limits are over move with the time
        if not ends or state.cluster.preempts or state.reservations.names() or self.sizes_vary:
            return None
        return state.selection.changes, state.nodes.available, state.completing, state.others

    def _note_size(self, job: SlurmJob, nodes: int) -> None:
        """A job was tested, and could have these nodes: so its size counts with their CPUs, or at least one of each."""
        state = self._state
        if state.cluster.select.is_linear:
            cpus = sum(state.cluster.nodes[node].cpus for node in members(nodes))
        else:
            cpus = max(job.size_cpus, job.min_nodes, job.gpu_cpus)
        state.priorities.sized(job, cpus)

    def now(self, job: SlurmJob, partition: ClusterPartition, nodes: int, second: int) -> NodeShare | None:
        """The share that a job gets of these nodes now; None if they are not enough."""
        job.most_nodes = self._state.rules.most_nodes(job, partition)
        found = share_now(self._state.selection, job, partition, nodes)
        if found is None and self._takes_any_switches(job, second):
            found = share_now(self._state.selection, job, partition, nodes)
        if job.leaves and job.misses_leaves:
            self._spread.add(job)
        return found

    def is_impossible(self, job: SlurmJob, partition: ClusterPartition, room: int) -> bool:
        """Whether a job that lacks nodes lacks them on an empty cluster, too: Slurm holds it then.

        Most of these jobs are refused when they are submitted. Slurm looks at required nodes first.

        Args:
            job: the job.
            partition: a partition of it.
            room: the nodes that it could have now if they had no jobs.
        """
        state = self._state
        is_bounded = partition.max_cpus < math.inf or partition.max_memory_per_cpu or partition.max_memory_per_node
        if job.reservation or not (job.counts or job.required or is_bounded):
            return False
        if job.required & (~room | state.selection.used | state.completing):
            return False
        empty = selection_of(state.cluster, state.phases.epoch, is_quick=state.is_quick)
        return share_now(empty, job, partition, partition.nodes & job.allowed) is None

    def earliest(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, now: int, late: int
    ) -> PossibleStart | None:
        """When and where a job can start on these nodes; the nodes do not matter if it is after `late`, unless 0."""
        job.most_nodes = self._state.rules.most_nodes(job, partition)
        leaves, job.leaves = 0 if self._takes_any_switches(job, now) else job.leaves, 0
        found = first_start(self._state.selection, job, partition, nodes, now, late=0 if leaves else late)
        job.leaves = leaves
        if found is not None and self._state.selection.is_too_spread(job, found.placement.nodes):
            self._spread.add(job)
            return None  # although it would have few switches later
        if found is not None and self.sizes_vary:
            self._note_size(job, found.placement.nodes)
        if not self._state.cluster.preempts or (found is not None and found.start <= now):
            return found
        gone = self._candidates(job, partition, nodes, now)
        return first_start(self._state.selection, job, partition, nodes, now, gone) if gone else found

    def _takes_any_switches(self, job: SlurmJob, second: int) -> bool:
        takes = notes_patience(job, second)
        self.any_switches += takes
        return takes

    def frees(self, job: SlurmJob, partition: ClusterPartition) -> NodeReleases | None:
        """When nodes are free of running jobs, if a start depends on nothing else; None: it does."""
        is_special = job.leaves or job.alternatives or job.counts
        return None if self._state.cluster.preempts or is_special else self._state.selection.frees(job, partition)

    def displaced(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, second: int
    ) -> tuple[list[SlurmJob], NodeShare] | None:
        """The jobs that give way to a job on these nodes, and what it gets then; None: it cannot have enough."""
        candidates = self._candidates(job, partition, nodes, second) if self._state.cluster.preempts else []
        return victims_of(candidates, lambda gone: share_now(self._state.selection, job, partition, nodes, gone))

    def _candidates(self, job: SlurmJob, partition: ClusterPartition, nodes: int, second: int) -> list[SlurmJob]:
        running, rules = self._state.running.values(), self._state.rules.preemption
        found = rules.candidates_on(nodes, running, SlurmEntry(job, partition, 0, 0), second)
        if self._state.cluster.select.is_linear:
            return found
        # the others do not keep it from their cores, and keep their memory
        return [each for each in found if rules.terms(each).mode != PreemptMode.SUSPEND]

    def time_helps(self) -> bool:
        """Whether time alone helps a job: running jobs give way only later, or it takes any switches later.

        Both loops look at it once more after that time. If it lacks nodes then, only an event can help it.
        """
        loops, second, preemption = self._state.cluster.loops, self._state.second, self._state.rules.preemption
        last = second - 2 * max(loops.sched_interval, loops.bf_interval)
        running = self._state.running.values() if self._state.cluster.preempts else ()
        if any((wait := preemption.terms(job).exempt) and job.started + wait >= last for job in running):
            return True
        self._spread = {job for job in self._spread if job.leaves and job.stage is JobStage.PENDING and not job.is_held}
        return any(job.leaves_since + job.leaves_wait >= last for job in self._spread)


class TimeLimits:
    """The time limits of running jobs, in the order in which they are over.

    Those of jobs that have ended are forgotten when their turn comes.
    """

    def __init__(self) -> None:
        self._limits, self._count = list[tuple[float, int, SlurmJob, float]](), 0

    def note(self, job: SlurmJob, end: float) -> None:
        """The limit of a running job is over at a time."""
        self._count += 1
        heappush(self._limits, (end, self._count, job, job.started))

    def first(self) -> float:
        """When the first one is over; infinity: there is none."""
        limits = self._limits
        while limits and not self._is_meant(*limits[0][2:]):
            heappop(limits)
        return limits[0][0] if limits else math.inf

    @staticmethod
    def _is_meant(job: SlurmJob, started: float) -> bool:
        """Whether the limit of a run is looked at: suspended jobs have none until they go on."""
        return job.stage is JobStage.RUNNING and job.started == started and not job.is_suspended

    def over(self, second: int) -> list[SlurmJob]:
        """The jobs whose limits are over by a second, in the order of their starts; they are forgotten."""
        found = []
        while self.first() <= second:
            found.append(heappop(self._limits)[2])
        return sorted(dict.fromkeys(found), key=lambda job: (job.started, job.number, job.task))


_AGAIN: Final = 121
"""The seconds from the moment when its nodes are clean after which a job that runs again can start."""
_TOGETHER: Final = 0.01
"""Nodes that become clean within so many seconds do so together."""


class Endings:
    """The endings of jobs.

    Args:
        state: the state of the controller.
    """

    def __init__(self, state: ControllerState) -> None:
        self._state = state
        self._limits = TimeLimits()
        self._overdrawn = math.inf  # since when a check of limits finds jobs that have used up what they share
        self._cleanings: list[tuple[float, int, int, int, bool, bool | None, SlurmJob, FinalJobState]] = []
        """When nodes are clean: time, number and task of the job, nodes, whether these are its last ones,
        and whether the first loop runs at once then, if that is known."""
        self._leaders: list[SlurmJob] = []
        self.left: Callable[[SlurmJob], None] = lambda job: None
        """Called when a job has left its nodes."""

    # Nodes

    def ended(self, job: SlurmJob, state: FinalJobState) -> None:
        """A job has left its nodes."""
        mine = self._state
        if job.id not in mine.running:
            return
        if job.stage is JobStage.RUNNING and (
            state == FinalJobState.COMPLETED_WALLTIME_REACHED or self._has_leader(job)
        ):
            # Slurm looks at limits now and then only, and at the end of the leader for other components
            job.is_over, job.outcome = True, state
            return
        self._clean_later(job, state)

    def _clean_later(self, job: SlurmJob, state: FinalJobState) -> None:
        """A job has ended or was killed, and its nodes will be clean."""
        mine = self._state
        assert job.placement is not None
        nodes, is_killed = job.placement.nodes, job.stage is JobStage.COMPLETING
        begin = job.killed if is_killed else mine.now
        leave = mine.phases.leave(job.own_id, begin)
        if leave is not None:
            steps = leave.seen_from(begin, nodes, mine.now)
        elif is_killed:
            steps = [(max(mine.phases.clean(job.own_id, begin), mine.now), nodes)]
            early = mine.now + mine.phases.others
            if early < steps[0][0]:
                steps.insert(0, (early, nodes & (nodes - 1)))
        else:
            steps = [(mine.phases.clean_end(job.own_id, mine.now), nodes)]
        if not is_killed:
            self._completes(job)
            self._note_leader(job)
        is_prompt, last = (None, len(steps)) if leave is None else (leave.is_prompt, len(steps) - len(leave.late))
        for place, (time, clean) in enumerate(steps, 1):
            runs = is_prompt if place == last else place > last
            heappush(self._cleanings, (time, job.number, job.task, clean, place == last, runs, job, state))

    def _completes(self, job: SlurmJob) -> None:
        """A job has ended or is killed, and its nodes are not clean yet."""
        assert job.placement is not None
        job.stage = JobStage.COMPLETING
        mine = self._state
        mine.selection.give_back(job)  # plans have its nodes from now on, but no job starts there
        mine.others += 1
        mine.rules.ended(job, mine.now)
        self.look_at_budgets()
        mine.priorities.stopped(job, mine.now)
        mine.clock.renew(mine.now)
        mine.leave(job, job.placement.nodes)
        mine.completed = mine.now

    def _has_leader(self, job: SlurmJob) -> bool:
        """Whether a job is a component that has its nodes until its leader ends."""
        leader = None if job.het is None else job.het.leader
        return leader is not None and leader is not job and leader.stage in (JobStage.RUNNING, JobStage.COMPLETING)

    def _note_leader(self, job: SlurmJob) -> None:
        """A job ends: if it is a leader, so do the other components, unless they end at this time, too."""
        if job.het is not None and not job.offset:
            self._leaders.append(job)

    def end_components(self) -> None:
        """The other components of heterogeneous jobs end whose leaders have ended."""
        leaders, self._leaders = self._leaders, []
        for job in [job for leader in leaders if leader.het is not None for job in leader.het.jobs()]:
            if job.stage is JobStage.RUNNING and job.offset:
                if job.is_over:
                    self._clean_later(job, job.outcome or FinalJobState.COMPLETED_SUCCESSFULLY)
                else:
                    self.kill([job])

    def next_clean(self) -> float:
        """When the nodes of a job are clean next; infinity: there is none."""
        return self._cleanings[0][0] if self._cleanings else math.inf

    def can_wait(self) -> bool:
        """Whether clean nodes can be made up for at the end of another job, which still runs."""
        left, running = self._cleanings, self._state.running
        if len(left) >= len(running) or any(job.runs_again for *_, job, _ in left):
            return False
        return not any(job.is_suspended or job.is_stopped for job in running.values())

    def clean(self) -> bool:
        """Nodes of a job are clean; returns whether the first loop runs at once, and not at its next tick.

        The script of a killed job is still there on its first node, which is clean after the others.
        """
        _, _, _, nodes, is_last, is_prompt, job, state = heappop(self._cleanings)
        mine = self._state
        if not is_last:
            mine.leave(job, mine.dirty(job) & ~nodes)
            return bool(is_prompt)
        is_killed = job.killed < math.inf
        self._leave(job, state)
        if is_prompt is None and (is_killed or job.own_id in mine.phases.prompt):
            mine.clock.renew(mine.now)
            return not self._is_killed_soon()
        if is_prompt:
            mine.clock.renew(mine.now)
        else:
            mine.ask()
        return bool(is_prompt)

    def _is_killed_soon(self) -> bool:
        """Whether all nodes of another killed job are clean almost at the same time."""
        soon = self._state.now + _TOGETHER
        return any(
            clean <= soon and is_last and job.killed < math.inf
            for clean, _, _, _, is_last, _, job, _ in self._cleanings
        )

    def _leave(self, job: SlurmJob, state: FinalJobState) -> None:
        """A job leaves its nodes: it is over, or runs again."""
        mine = self._state
        self._note_leader(job)
        self.left(job)
        del mine.running[job.id]
        mine.others += 1
        mine.rules.left(job)
        mine.leave(job, 0)
        mine.priorities.ended(job, mine.now)
        if job.runs_again:
            self._again(job)
        else:
            job.stage = JobStage.DONE
            self._forget(job, state)
            self.keep(job)

    def keep(self, job: SlurmJob) -> None:
        """A job that has run, or was cancelled before, can run again for some time."""
        mine = self._state
        ended, oldest = mine.ended, mine.now - mine.cluster.min_age
        while ended and (first := next(iter(ended.values()))).left < oldest:
            del ended[first.id]
        if job.requeues:
            job.left = mine.now
            ended[job.id] = job

    def revive(self, job: SlurmJob) -> None:
        """A job that has ended runs again later."""
        mine = self._state
        if mine.ended.pop(job.id, None) is None or job.left < mine.now - mine.cluster.min_age:
            return
        self.requeue(job)
        job.killed = math.inf
        mine.rules.submitted(job)
        mine.jobs[job.id] = job
        self._again(job)

    def never_began(self, job: SlurmJob) -> None:
        """A job that has nodes cannot be executed there."""
        self._completes(job)
        self._leave(job, FinalJobState.REJECTED)

    # Jobs

    def _again(self, job: SlurmJob) -> None:
        nodes = 0 if job.placement is None else job.placement.nodes
        is_lost = (
            nodes.bit_count() > 1 and not nodes & ~self._state.nodes.down
        )  # Slurm forgets that it has to wait then
        job.stage, job.runs_again, job.restarts = JobStage.PENDING, False, job.restarts + 1
        job.placement, job.eligible, job.is_over, job.outcome = None, math.inf, False, None
        job.is_suspended = job.is_stopped = False
        mine = self._state
        job.submitted = float(mine.second)  # it counts as submitted once its nodes are clean
        job.begin = job.submitted + (0 if is_lost else _AGAIN)
        mine.actions.again(job)
        mine.priorities.again(job, mine.now)
        mine.waiting.add(job)

    def _forget(self, job: SlurmJob, state: FinalJobState) -> None:
        """A job is over."""
        mine = self._state
        mine.rules.forgotten(job)
        if mine.jobs.pop(job.id, None) is not None and job.stage is JobStage.PENDING:
            mine.priorities.ended(job, mine.now)
        mine.waiting.remove(job)
        mine.queue.remove(job)
        job.stage = JobStage.DONE
        if job.het is not None and all(each.stage is JobStage.DONE for each in job.het.components.values()):
            mine.hetjobs.pop(job.het.id, None)
        mine.waiting.ended(job.id, state, mine.now, state.name.lower())

    def refuse(self, job: SlurmJob, why: str, state: FinalJobState = FinalJobState.REJECTED) -> None:
        """A job that waits never runs, nor do the other components of its heterogeneous job that wait."""
        jobs = [job] if job.het is None else [each for each in job.het.jobs() if each.stage is JobStage.PENDING]
        for each in jobs:
            self._state.actions.reject(each, why)
            self._forget(each, state)

    def kill(self, jobs: list[SlurmJob]) -> None:
        """Kill running jobs."""
        for job in jobs:
            job.killed = self._state.now
            self._completes(job)
        if live := [job for job in jobs if not job.is_over]:
            self._state.actions.kill(live)
        for job in jobs:
            if job.is_over or job.is_suspended:  # it does not run, and only its nodes were still its own
                self.ended(job, job.outcome or FinalJobState.COMPLETED_WALLTIME_REACHED)

    def requeue(self, job: SlurmJob) -> None:
        """A running job, which is to be killed, runs again later."""
        job.runs_again = True

    def give_way(self, job: SlurmJob) -> None:
        """A running job gives way to another one, at the end of its grace."""
        if self._state.rules.preemption.terms(job).mode == PreemptMode.REQUEUE and job.requeues:
            self.requeue(job)
        self.kill([job])

    # Limits

    def move_limit(self, job: SlurmJob, end: float) -> None:
        """The limit of a running job ends at another time."""
        self._state.selection.give_back(job)
        job.end = end
        self._state.selection.take(job)
        self.note_limit(job)

    def note_limit(self, job: SlurmJob) -> None:
        """The limit of a running job is new."""
        self._limits.note(job, self._limit_of(job))

    def _limit_of(self, job: SlurmJob) -> float:
        """When the limit of a running job is over, or that of its reservation."""
        assert job.partition is not None
        overtime = 0 if job.gives_way else 60 * max(job.partition.overtime, self._state.cluster.overtime)
        return self._state.reservations.limit_of(job, job.end + overtime)

    def first_limit(self) -> float:
        """When the first limit of a running job, what it shares, or a reservation is over; infinity: there is none."""
        return min(self._limits.first(), self._overdrawn, self._state.reservations.next_end())

    def look_at_budgets(self) -> None:
        """Jobs have been charged: some may have used up what they share."""
        if self._overdrawn == math.inf and self._state.rules.overdrawn():
            self._overdrawn = float(self._state.second)

    def check_limits(self) -> None:
        """Kill the jobs that are over their limits."""
        mine = self._state
        found = self._limits.over(mine.second)
        over = [job for job in found if self._limit_of(job) <= mine.second]
        for job in found:
            if job not in over:  # its reservation was deleted
                self.note_limit(job)
        for job in over:
            if not job.is_over and job.gives_way:
                self.give_way(job)
        over = [job for job in over if job.is_over or not job.gives_way]
        self._overdrawn = math.inf
        over += [job for job in mine.rules.overdrawn() if job not in over and job.stage is JobStage.RUNNING]
        self.kill(over)
