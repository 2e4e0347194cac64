"""A Slurm without its machines: jobs, nodes, reservations and operators come in; starts and kills go out.

The controller has its own clock. Its owner reports what happens, lets it `advance` to the time of each report, and asks
for the `next_time` at which it does something without a report. It must not know messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

from batprotocol.model import FinalJobState
from batprotocol.policies.slurm.backfill import run_backfill
from batprotocol.policies.slurm.chances import Chances
from batprotocol.policies.slurm.clock import USUAL, Clock, Phases
from batprotocol.policies.slurm.jobs import Placement, SlurmJob, Stage
from batprotocol.policies.slurm.limits import Limits
from batprotocol.policies.slurm.main_loop import Outcome, run_main
from batprotocol.policies.slurm.preempting import grace_end, may_preempt
from batprotocol.policies.slurm.queue import Queue
from batprotocol.policies.slurm.reservations import Reservation, Reservations
from batprotocol.policies.slurm.rules import Rules
from batprotocol.policies.slurm.selecting import Chance, selection_of
from batprotocol.policies.slurm.sides import Actions, Priorities
from batprotocol.policies.slurm.values import FOREVER, Cluster, Partition, PreemptMode
from batprotocol.policies.slurm.waiting import Waiting
from batprotocol.requests import Request

__all__ = ["Controller"]

_AGAIN: Final = 121
"""The seconds after which a job that runs again can start."""
_TOGETHER: Final = 0.2
"""Nodes that become clean within so many seconds do so together."""


class Controller:
    """A Slurm's controller.

    Args:
        cluster: the cluster.
        priorities: the priorities of its jobs.
        actions: what it has others do.
        phases: what is left to chance.
        rules: licences, limits and access; by default there are none.
        is_quick: whether it takes short cuts, which change no decision.
    """

    def __init__(
        self,
        cluster: Cluster,
        priorities: Priorities,
        actions: Actions,
        phases: Phases = USUAL,
        *,
        rules: Rules | None = None,
        is_quick: bool = True,
    ) -> None:
        self.cluster, self._priorities, self._actions, self._phases = cluster, priorities, actions, phases
        self._is_quick, self.rules = is_quick, rules or Rules()
        self._yields = self.rules.yields
        self.reservations = Reservations(int(cluster.loops.bf_resolution), phases.epoch)
        self._selection = selection_of(cluster, phases.epoch, is_quick=is_quick)
        self._queue = Queue(is_fifo=cluster.is_fifo, is_above=self._yields.is_above)
        self._clock = Clock(cluster.loops, phases, backfills=cluster.backfills)
        self._waiting = Waiting()
        self.jobs: dict[str, SlurmJob] = {}
        """The jobs that have not ended, by their first ids."""
        self._running: dict[str, SlurmJob] = {}
        self._chances = Chances(cluster, self._selection, self._running, self._yields)
        self._limits = Limits()
        self._cleanings: list[tuple[float, int, int, SlurmJob, FinalJobState]] = []
        self._now = 0.0
        self._is_closed = False
        self._seen, self._tried, self._others, self._has_moved = -1, -1, 0, False
        self._idle_runs = 0  # how often all of the queue was tried in vain since something happened
        self.is_backfilling = False
        """Whether the second loop runs at the moment."""
        self.available = cluster.up
        self.completing = 0

    # The clock

    @property
    def second(self) -> int:
        """The time in whole seconds, as Slurm sees it."""
        return math.floor(self._now + 1e-6)

    @property
    def time(self) -> float:
        """The time, in seconds."""
        return self._now

    def is_stuck(self) -> bool:
        """Whether nothing can start or end any more, as far as is known."""
        if self._running or self._waiting.is_due or self.reservations.next_end() < math.inf or self._time_helps():
            return False
        return self._idle_runs >= 2 or not self._queue or self.next_time() == math.inf

    def _time_helps(self) -> bool:
        """Whether a job waits for reserved licences, takes any switches later, or later has others give way."""
        return self.rules.licenses.are_reserved(self.second) or self._chances.grow()

    def next_time(self) -> float:
        """When the controller does something without a report next; infinity: nothing is left to do.

        Runs of its loops that start nothing, as nothing has changed, are made up for later.
        """
        times = [self._clock.limits(self._first_limit(), self._now)]
        if self._queue or self._waiting.jobs:  # time alone may bring something for them
            is_open = not self._is_quick or self._waiting.is_due or self.reservations.names() or self._time_helps()
            main, backfill = self._clock.main(self._now)[0], self._clock.backfill()
            times.append(self._priorities.next_time())
            if is_open or self._tried != self._changes():
                times.append(main)
            if is_open or not self._is_as_before(backfill):
                times.append(backfill)
        times += [each[0] for each in self._cleanings[:1]]
        return min(times)

    def advance(self, now: float) -> None:
        """Do all that is due by a time."""
        while True:
            due, step = self._due()
            if due > now + 1e-9:
                break
            self._now = max(self._now, due)
            step()
        self._now = max(self._now, now)

    def _due(self) -> tuple[float, Callable[[], None]]:
        main, is_full = self._clock.main(self._now)
        steps = (
            (self._clock.limits(self._first_limit(), self._now), self._check_limits),
            (self._cleanings[0][0] if self._cleanings else math.inf, self._clean),
            (self._priorities.next_time(), self._renew_priorities),
            (main, lambda: self._main(is_full)),
            (self._clock.backfill(), self._backfill),
        )
        return min(steps, key=lambda each: each[0])

    # What happens

    def submit(self, job: SlurmJob, request: Request, now: float) -> None:
        """A job is submitted; an `InputError` says why it is refused."""
        self.advance(now)
        self.rules.submitted(job)
        self.jobs[job.id] = job
        self._priorities.submitted(job, now)
        self._waiting.submit(job, request, now)
        self._ask(now)

    def _ask(self, now: float) -> None:
        self._idle_runs = 0
        self._clock.ask(now)

    def no_more(self) -> None:
        """All jobs are submitted."""
        if self._is_closed:
            return
        self._is_closed = True
        self._waiting.no_more()

    def ended(self, job: SlurmJob, state: FinalJobState, now: float) -> None:
        """A job has left its nodes."""
        self.advance(now)
        if job.id not in self._running:
            return
        if state == FinalJobState.COMPLETED_WALLTIME_REACHED and job.stage is Stage.RUNNING:
            job.is_over = True  # Slurm looks at limits now and then only, and frees the nodes then
            return
        if job.stage is Stage.COMPLETING:
            clean = max(self._phases.clean(job.id.rpartition("!")[2], job.killed), now)
        else:
            clean = now + self._phases.epilog
            self._completes(job)
        heappush(self._cleanings, (clean, job.number, job.task, job, state))

    def _completes(self, job: SlurmJob) -> None:
        """A job has ended or is killed, and its nodes are not clean yet."""
        assert job.placement is not None
        job.stage = Stage.COMPLETING
        self._selection.give_back(job)  # plans have its nodes from now on, but no job starts there
        self._others += 1
        self.rules.ended(job, self._now)
        self._clock.renew(self._now)
        self.completing |= job.placement.nodes

    def _clean(self) -> None:
        """The nodes of a job are clean. If it was killed, the first loop runs at once, and not at its next tick."""
        _, _, _, job, state = heappop(self._cleanings)
        self._leave(job, state)
        if job.killed == math.inf:
            self._ask(self._now)
            return
        self._clock.renew(self._now)
        if not self._cleanings or self._cleanings[0][0] > self._now + _TOGETHER:
            self._run_main(is_full=False)

    def _leave(self, job: SlurmJob, state: FinalJobState) -> None:
        """A job leaves its nodes: it is over, or runs again."""
        now = self._now
        del self._running[job.id]
        self._others += 1
        if job.placement is not None:
            self.completing &= ~job.placement.nodes
        self._priorities.ended(job, now)
        if job.runs_again:
            self._again(job)
        else:
            job.stage = Stage.DONE
            self._forget(job, state)

    def _again(self, job: SlurmJob) -> None:
        job.stage, job.runs_again, job.restarts = Stage.PENDING, False, job.restarts + 1
        job.placement, job.eligible = None, math.inf
        self._actions.again(job)
        self._priorities.again(job, self._now)
        self._waiting.add(job)

    def _forget(self, job: SlurmJob, state: FinalJobState) -> None:
        """A job is over."""
        self.rules.forgotten(job)
        if self.jobs.pop(job.id, None) is not None and job.stage is Stage.PENDING:
            self._priorities.ended(job, self._now)
        self._waiting.remove(job)
        self._queue.remove(job)
        job.stage = Stage.DONE
        self._waiting.ended(job, state, self._now)

    def _refuse(self, job: SlurmJob, why: str, state: FinalJobState = FinalJobState.REJECTED) -> None:
        self._actions.reject(job, why)
        self._forget(job, state)

    def _gather(self) -> None:
        """Move the jobs that could start by now to the queue, as each loop does first."""
        for job, never in self._waiting.gather(self._now):
            open_to = [each for each in job.partitions if each.takes(job.min_nodes, job.limit)]
            if never is None and open_to:
                self._waiting.remove(job)
                self._priorities.eligible(job, self._now)
                self._queue.add(job, open_to)
            elif never is not None and self.cluster.kills_invalid:
                self._refuse(job, never)

    # The loops

    def _main(self, is_full: bool) -> None:
        self._clock.ran_main(self._now, is_full=is_full)
        self._run_main(is_full=is_full)

    def _run_main(self, *, is_full: bool) -> None:
        self._gather()
        if not self._queue:
            return
        started, has_tried = run_main(self._queue, self, self.cluster.loops, is_full=is_full, is_quick=self._is_quick)
        self._idle_runs = 0 if started else self._idle_runs + is_full
        if has_tried:
            self._clock.renew(self._now)
        if is_full:
            self._tried = -1 if started else self._changes()

    def _backfill(self) -> None:
        self._gather()
        if self._is_quick and self._is_as_before(self._now):
            self._clock.ran_backfill(self._now, is_new=self._has_moved)
            return
        self.is_backfilling = True
        started, has_moved = run_backfill(
            self._queue, self, self.cluster.loops, self.second, self._phases.epoch, is_quick=self._is_quick
        )
        self.is_backfilling = False
        self._clock.ran_backfill(self._now, is_new=started > 0 or has_moved)
        self._seen, self._has_moved = (-1 if started else self._changes()), has_moved

    def _changes(self) -> int:
        """A number that is another one after each change that the second loop sees."""
        return self._queue.changes + self._others

    def _is_as_before(self, time: float) -> bool:
        """Whether a run of the second loop at a time would do what its last one did, which has started no job.

        That is so while nothing has changed, and no limit has passed: a job that cannot start now cannot do so later.
        """
        return (
            self._seen == self._changes()
            and not self._time_helps()
            and not self.reservations.names()
            and not self.cluster.loops.bf_min_age_reserve
            and self._selection.first_end() > time
        )

    def _renew_priorities(self) -> None:
        self._others += self.rules.charge(self._now)
        if self._priorities.renew(self._now):
            self._queue.sort()
            self._clock.renew(self._now)

    def try_start(self, job: SlurmJob, partition: Partition, nodes: int) -> str:
        """Start a job if that is possible now; returns an `Outcome`."""
        left = self.reservations.usable(job, self.second, job.limit, moves=False)
        if self.reservations.never_fits(job, self.second):
            self._refuse(job, "its reservation has fewer nodes than it asks for")
        if left is None or job.stage is Stage.DONE:
            return Outcome.SKIPPED
        room = nodes if not job.reservation else self.available
        room &= left.nodes & partition.nodes & job.allowed
        outcome = self._start(job, partition, room & ~self.completing, job.limit)
        if outcome == Outcome.BUSY and room.bit_count() < job.min_nodes and not room & self._selection.used:
            return Outcome.SKIPPED  # the end of a job would not help it, so others need not wait for it
        return outcome

    def start_on(self, job: SlurmJob, partition: Partition, nodes: int, minutes: float) -> str:
        """Start a job on some of these nodes; returns an `Outcome`."""
        if not self.rules.may_start(job, partition):
            return Outcome.LIMITED
        return self._start(job, partition, nodes & ~self.completing, minutes)

    @property
    def open(self) -> int:
        """The nodes on which a job can start now, as far as others use them."""
        return self.available & self._selection.open

    def chance(self, job: SlurmJob, partition: Partition, nodes: int, now: int, late: int) -> Chance | None:
        """When and where a job can start on these nodes; the nodes do not matter if it is after `late`, unless 0."""
        return self._chances.earliest(job, partition, nodes, now, late)

    def _start(self, job: SlurmJob, partition: Partition, nodes: int, minutes: float) -> str:
        placement = self._chances.now(job, partition, nodes, self.second)
        if placement is None:
            self._preempt(job, partition, nodes)
            return Outcome.BUSY
        job.reason = self.rules.after(job, partition, placement.nodes.bit_count(), sum(placement.cpus.values()))
        if job.reason:
            return Outcome.LIMITED
        self._begin(job, partition, placement, minutes)
        return Outcome.STARTED

    def _preempt(self, job: SlurmJob, partition: Partition, nodes: int) -> None:
        """Have jobs of lower partitions give way, if that makes space for a job."""
        victims = self._chances.victims(job, partition, nodes, self.second)
        if not victims or not may_preempt(job, self.second, self.cluster.preempt_wait):
            return
        for victim in victims:
            end = grace_end(victim, self.second, self._yields.grace(victim))
            if end <= self.second:
                self._give_way(victim)
            elif not victim.gives_way:
                self._selection.give_back(victim)
                victim.gives_way, victim.end = True, end
                self._selection.take(victim)
                self._limits.note(victim, self._limit_of(victim))

    def _give_way(self, job: SlurmJob) -> None:
        if self._yields.mode(job) == PreemptMode.REQUEUE and job.requeues:
            self._requeue(job)
        self._kill([job])

    def _begin(self, job: SlurmJob, partition: Partition, placement: Placement, minutes: float) -> None:
        job.stage, job.placement, job.partition = Stage.RUNNING, placement, partition
        job.started, job.killed, job.gives_way = float(self.second), math.inf, False
        job.preempts_since = -math.inf
        job.end = job.started + 60 * min(minutes, FOREVER)
        self._queue.remove(job)
        self._running[job.id] = job
        self._limits.note(job, self._limit_of(job))
        self._selection.take(job)
        self.rules.started(job)
        self._priorities.started(job, self._now)
        self._waiting.started(job, self._now)
        if not self._actions.execute(job):
            self._completes(job)
            self._leave(job, FinalJobState.REJECTED)

    # Limits

    def _limit_of(self, job: SlurmJob) -> float:
        """When the limit of a running job is over, or that of its reservation."""
        assert job.partition is not None
        overtime = 0 if job.gives_way else 60 * max(job.partition.overtime, self.cluster.overtime)
        return self.reservations.limit_of(job, job.end + overtime)

    def _first_limit(self) -> float:
        """When the first limit of a running job, or the first reservation, is over."""
        return min(self._limits.first(), self.reservations.next_end())

    def _check_limits(self) -> None:
        self._clock.ran_limits(self._now)
        found = self._limits.over(self.second)
        over = [job for job in found if self._limit_of(job) <= self.second]
        for job in found:
            if job not in over:  # its reservation was deleted
                self._limits.note(job, self._limit_of(job))
        gone = [job for job in over if job.is_over]
        for job in over:
            if not job.is_over and job.gives_way:
                self._give_way(job)
        self._kill([job for job in over if not job.is_over and not job.gives_way])
        for job in gone:
            job.killed = self._now
            self._completes(job)
            self.ended(job, FinalJobState.COMPLETED_WALLTIME_REACHED, self._now)
        for reservation in self.reservations.over(self.second):
            self._drop(reservation)

    def _drop(self, reservation: Reservation) -> None:
        """A reservation is over: the jobs that wait for it are held."""
        self.reservations.remove(reservation.name)
        self._clock.renew(self._now)
        for job in list(self.jobs.values()):
            if job.reservation == reservation.name and job.stage is Stage.PENDING:
                self.hold(job)

    def _kill(self, jobs: list[SlurmJob]) -> None:
        """Kill running jobs."""
        for job in jobs:
            job.killed = self._now
            self._completes(job)
        if jobs:
            self._actions.kill(jobs)

    # Operators

    def hold(self, job: SlurmJob) -> None:
        """A job that waits is held."""
        job.is_held = True
        if job in self._queue:
            self._queue.remove(job)
            self._waiting.add(job)

    def release(self, job: SlurmJob, now: float) -> None:
        """A job that was held waits again."""
        self.advance(now)
        job.is_held = False
        self._waiting.note([job.id])
        self._ask(now)

    def cancel(self, job: SlurmJob, now: float) -> None:
        """A job is cancelled."""
        self.advance(now)
        if job.stage is Stage.PENDING:
            self._refuse(job, "it was cancelled", FinalJobState.COMPLETED_KILLED)
            self._ask(now)
        elif job.stage is Stage.RUNNING:
            self._kill([job])

    def requeue(self, job: SlurmJob, now: float) -> None:
        """A running job runs again later."""
        self.advance(now)
        if job.stage is Stage.RUNNING and job.requeues:
            self._requeue(job)
            self._kill([job])

    def _requeue(self, job: SlurmJob) -> None:
        job.runs_again = True
        job.submitted = float(self.second)
        job.begin = job.submitted + _AGAIN

    def fail(self, nodes: int, now: float) -> None:
        """Nodes are down: the jobs on them are lost, or run again."""
        self.advance(now)
        self._others += 1
        self.available &= ~nodes
        lost = [job for job in self._running.values() if job.stage is Stage.RUNNING and job.is_on(nodes)]
        for job in filter(lambda job: job.requeues, lost):
            self._requeue(job)
        self._kill(lost)
        self._ask(now)

    def drain(self, nodes: int, now: float) -> None:
        """No job starts on nodes any more."""
        self.advance(now)
        self._others += 1
        self.available &= ~nodes
        self._clock.renew(now)

    def resume(self, nodes: int, now: float) -> None:
        """Nodes are back."""
        self.advance(now)
        self._others += 1
        self.available |= nodes & ((1 << len(self.cluster.nodes)) - 1)
        self._ask(now)

    def reserve(self, reservation: Reservation, now: float) -> None:
        """A reservation is made."""
        self.advance(now)
        self._others += 1
        self.reservations.add(reservation)
        self._ask(now)

    def unreserve(self, name: str, now: float) -> None:
        """A reservation is deleted."""
        self.advance(now)
        self._others += 1
        reservation = self.reservations.get(name)
        if reservation is not None:
            self._drop(reservation)
            self._ask(now)
