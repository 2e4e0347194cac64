"""The side of a policy that gives whole hosts to jobs: events in, decisions out.

`WholeHosts` has the queue, and does what the parts choose through the policy's reply. It must not know of sites.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any

from procset import ProcSet

from batprotocol.errors import RuleViolation
from batprotocol.model import FinalJobState, HostsTurnedOnOffEvent, Job, JobSubmittedEvent, KillProgress, parse_hosts
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.policies.allocations import Allocation
from batprotocol.policies.backfilling import Backfilling
from batprotocol.policies.jobs import RunningJob, State, WaitingJob
from batprotocol.policies.orders import Order
from batprotocol.policies.queue import Queue
from batprotocol.policies.starts import Wait
from batprotocol.policies.switching import Switching
from batprotocol.policies.walltimes import AsRequested, Walltimes
from batprotocol.workloads.requests import Allocated, Attempt

__all__ = ["WholeHosts"]


class WholeHosts:
    """Gives whole hosts to jobs, or places on them if the allocation is `Shared`.

    Args:
        state: the policy's state.
        order: the order of the queue.
        backfilling: the kind of backfilling.
        allocation: which hosts a job gets.
        walltimes: how long jobs are expected to run.
        switching: which hosts sleep.
        numbers: numbers in ascending order for jobs, and for hosts that fall asleep.
        each: whether a decision follows each event.
        keeps: whether the first job of the queue stays the first one until it starts.
        starts: which jobs wait for a better time; None: they start as soon as they can.
        finishes: whether jobs may be registered, so that the end of that is reported.
        reply: gives the reply of this turn.
        reject: rejects a job, with a reason.
        call_at: calls the policy at a time.
    """

    def __init__(
        self,
        state: State,
        order: Order,
        backfilling: Backfilling,
        allocation: Allocation,
        walltimes: Walltimes,
        switching: Switching,
        numbers: Iterator[int],
        *,
        each: bool,
        keeps: bool,
        starts: Wait | None,
        finishes: bool,
        reply: Callable[[], Any],
        reject: Callable[[str, object], None],
        call_at: Callable[[float], None],
    ) -> None:
        self.state, self.order, self.backfilling, self.walltimes = state, order, backfilling, walltimes
        self.allocation, self.switching, self._numbers = allocation, switching, numbers
        self.each, self.keeps, self._part = each, keeps, starts
        self._finishes, self._reply, self._reject, self._call_at = finishes, reply, reject, call_at
        self._look_around()
        self._most, state.size = state.room, state.vacant
        self.queue = Queue(order, state, keeps=keeps)
        self.changed = False
        """Whether something has happened since the last choice."""
        self.is_finished = False
        """Whether all jobs have ended, and that was reported."""
        self.held: dict[str, WaitingJob] = {}
        """The jobs that wait for a better time."""
        self._turns: list[tuple[float, int, WaitingJob, float]] = []  # of those: begins, and when they wait again
        self._until = math.inf  # when jobs of the queue wait again
        self._waking: dict[str, tuple[RunningJob, Hosts]] = {}  # with the hosts that are not on yet
        self._ends: list[str] = []
        self._switched: list[HostsTurnedOnOffEvent] = []
        self._starts = 0
        self._is_last = False

    @property
    def allocated(self) -> tuple[Allocated, ...]:
        """None: jobs do not share hosts."""
        return ()

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """None: jobs run once."""
        return ()

    # Events

    def submitted(self, event: JobSubmittedEvent, number: int, time: float) -> None:
        """A job is submitted."""
        self.submit(event.job_id, event.job, number, time)
        if self.each:
            self._start_jobs()

    def ended(self, job_id: str, state: FinalJobState) -> None:
        """A job has ended."""
        self._ends.append(job_id)

    def killed(self, job_id: str, progress: KillProgress) -> None:
        """A job was killed after some progress, which does not matter."""

    def switched(self, event: HostsTurnedOnOffEvent) -> None:
        """Hosts were switched on or off."""
        self._switched.append(event)

    def no_more(self) -> None:
        """All jobs of the workloads are submitted."""
        self._is_last = True

    def decide(self) -> None:
        """Start what can start now."""
        self.take_ends()
        self.take_switched()
        if self._part is not None:
            self._take_turns()
        self._start_jobs()
        if self._part is not None:
            self._call_at(min(self._turns[0][0] if self._turns else math.inf, self._until))
        self._switch_off()
        self._finish()

    # Jobs

    def submit(self, job_id: str, job: Job, number: int, submitted: float) -> None:
        """Add a job to the queue, or reject it if it could never run.

        Args:
            job_id: the id of the job.
            job: its description.
            number: how many came before it.
            submitted: the time of its submission.
        """
        state = self.state
        if not 0 < job.resource_request <= self._most:
            self._reject(job_id, f"it requests {job.resource_request} hosts, and can have 1 to {self._most}")
            return
        waiting = WaitingJob(job_id, job, number, submitted)
        expected = self.walltimes.expected(waiting, state)
        # What is not less, which NaN is neither, is no prediction.
        waiting.expected = max(expected, 0.0) if expected < waiting.walltime else waiting.walltime
        if self._part is None or not self._hold(waiting):
            self._join(waiting)

    def _join(self, job: WaitingJob) -> None:
        self.queue.add(job)
        self.backfilling.submitted(job, self.queue, self.state)
        self.changed = True

    def take_ends(self) -> None:
        """Free the hosts of the jobs that have ended."""
        state, queue, ends = self.state, self.queue, self._ends
        if len(ends) > 1:
            started = {job_id: state.running[job_id].place for job_id in ends if job_id in state.running}
            ends.sort(key=lambda job_id: started.get(job_id, 0))  # the one that started first
        for job_id in ends:
            job = state.running.pop(job_id, None)
            if job is not None:
                self._ended(job)
            elif job_id in queue.jobs:  # something else has started it, and it does not wait any more
                self._drop(queue.jobs[job_id])
            else:
                self.held.pop(job_id, None)
            if self.each:
                self._start_jobs()
        ends.clear()

    def _start_jobs(self) -> None:
        """Start the jobs that the backfilling chooses, if something has happened since its last choice."""
        state, queue = self.state, self.queue
        self._extend_the_late()
        if not self.changed:
            return
        self.changed = False
        if not queue or not (state.room or self.keeps):  # the job to keep is chosen even while no host is free
            return
        for job in self.backfilling.starting(queue, state):
            self._start(job)
        self._call_at(self.backfilling.wakes_at(state))

    def _start(self, job: WaitingJob) -> None:
        state = self.state
        hosts = self.allocation.take(job.size, state.free, self.switching.asleep)
        sleeping = self.switching.taken(hosts, self._reply())
        if not sleeping and not self._execute(job, hosts):
            self._drop(job)
            return
        self.queue.remove(job)
        running = state.running[job.id] = RunningJob(job, hosts, state.now, self._starts)
        self._starts += 1
        state.endings.add(running.ending)
        self._look_around()
        self.backfilling.started(running, state)
        if sleeping:
            self._waking[job.id] = running, Hosts(sleeping)

    def _execute(self, job: WaitingJob, hosts: FrozenHosts) -> bool:
        """Execute a job, and return whether that is possible. If not, reject it and free its hosts."""
        try:
            self._reply().add_execute_job(job.id, hosts)
        except RuleViolation as violation:
            # Batsim would abort, for example because the profile names a storage that the platform does not have.
            self._give_back(hosts)
            self._reject(job.id, violation)
            return False
        return True

    def _ended(self, job: RunningJob) -> None:
        state = self.state
        state.endings.remove(job.ending)
        self._give_back(job.hosts)
        self._look_around()
        for part in (self.order, self.walltimes, self.backfilling):
            part.ended(job, state)
        self.changed = True

    def _give_back(self, hosts: FrozenHosts) -> None:
        self.switching.released(self.allocation.give_back(hosts, self.state.free), self.state.now)

    def _look_around(self) -> None:
        """Update the state after a change of the free hosts."""
        state = self.state
        state.room, state.vacant = self.allocation.room(state.free), self.allocation.vacant(state.free)

    def _drop(self, job: WaitingJob) -> None:
        self.queue.remove(job)
        self.backfilling.dropped(job, self.state)
        self.changed = True

    def _extend_the_late(self) -> None:
        """Extend jobs that run longer than predicted: they are expected to use their walltime."""
        state = self.state
        if isinstance(self.walltimes, AsRequested) or not state.endings or state.endings[0][0] > state.now:
            return
        late = [ending[3] for ending in state.endings.irange(maximum=(state.now, math.inf))]
        for job in (state.running[job_id] for job_id in late if job_id):
            self._extend(job, job.started + job.waited.walltime)

    def _extend(self, job: RunningJob, end: float) -> None:
        """Change the expected end of a job if the new one is later."""
        if end > job.end:
            before = job.end
            self.state.move(job, end)
            self.backfilling.extended(job, before, self.state)

    def _finish(self) -> None:
        """Where jobs run again if hosts fail, and none has failed: when all jobs have ended, none will run again."""
        if self._finishes and self._is_last and not (self.is_finished or self._has_jobs()):
            self.is_finished = True
            self._reply().add_finish_registration()

    def _has_jobs(self) -> bool:
        return bool(self.state.running or self.queue or self.held)

    # Jobs that wait for a better time

    def _hold(self, job: WaitingJob) -> bool:
        """Hold a job that waits for a better time than now; whether it does."""
        assert self._part is not None
        now = self.state.now
        turn = self._part.turn(now, job.submitted, job.expected, walltime=job.walltime)
        if turn.begin <= now + self.state.resolution / 2:
            self._until = min(self._until, turn.until)
            return False
        self.held[job.id] = job
        heappush(self._turns, (turn.begin, job.number, job, turn.until))
        return True

    def _take_turns(self) -> None:
        """The jobs whose time has come join the queue. When its time is over, those that can wait again do so."""
        now = self.state.now + self.state.resolution / 2
        if self._until <= now:
            self._until = math.inf
            for job in list(self.queue.jobs.values()):
                if self._hold(job):
                    self._drop(job)
        while self._turns and self._turns[0][0] <= now:
            _, _, job, until = heappop(self._turns)
            if self.held.pop(job.id, None) is not None:
                self._until = min(self._until, until)
                self._join(job)

    # Hosts that sleep

    def missing_of(self, job: RunningJob) -> Hosts:
        """The hosts of a job that are not on yet."""
        return self._waking[job.waited.id][1] if job.waited.id in self._waking else Hosts()

    def take_switched(self) -> None:
        """Free the hosts that sleep now, and start the jobs whose hosts are on."""
        for event in self._switched:
            hosts = parse_hosts(event.host_ids)
            if self.switching.fell_asleep(hosts, self.state, self.allocation.share):
                self._look_around()
                self.changed = True
            self._wake_up(hosts)
        self._switched.clear()

    def _wake_up(self, hosts: ProcSet) -> None:
        """Start the jobs whose hosts are all on."""
        state = self.state
        self.switching.waking -= hosts
        for job_id, (job, missing) in list(self._waking.items()):
            missing -= hosts
            if missing:
                continue
            del self._waking[job_id]
            if self._execute(job.waited, job.hosts):
                job.started = state.now
                self._extend(job, state.now + job.waited.expected)
            else:
                del state.running[job_id]
                state.endings.remove(job.ending)
                self._look_around()
                self.backfilling.ended(job, state)
                self.changed = True

    def _switch_off(self) -> None:
        """Switch off the hosts that have been idle for long. While jobs come, ask for a call for the next ones."""
        state, switching = self.state, self.switching
        if switching.after == math.inf:
            return
        idle = switching.idle(state.now)
        if idle:
            switching.switch(idle, False, self._reply())
            hosts = state.free.take_these(idle)
            self._look_around()
            switching.falls_asleep(hosts, next(self._numbers), state, self.allocation.share)
        if self._has_jobs() or not self._is_last:
            self._call_at(switching.next())
