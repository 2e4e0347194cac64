"""Whole hosts: the driver of policies whose jobs have their hosts for themselves, and the plan that counts hosts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from procset import ProcSet

from batprotocol.model import FinalJobState, HostsTurnedOnOffEvent, Job, JobSubmittedEvent, parse_hosts
from batprotocol.model.free_hosts import FrozenHosts, Hosts
from batprotocol.model.planned_jobs import PlannedJob
from batprotocol.policies.backfilling import AsRequested
from batprotocol.policies.driver import Driver, JobPlanner, PolicyParts, Replies, too_large
from batprotocol.policies.energy import Switching
from batprotocol.policies.jobs import RunningJob, State, WaitingJob
from batprotocol.policies.queue import Queue


class CountPlanner(JobPlanner[WaitingJob, RunningJob]):
    """The plan that counts hosts: a kind of backfilling chooses jobs by their sizes, then an allocation their hosts.

    Args:
        parts: the parts of the policy.
        state: the policy's state.
        queue: the jobs that wait.
        switching: which hosts sleep.
    """

    def __init__(self, parts: PolicyParts, state: State, queue: Queue, switching: Switching) -> None:
        self._parts, self._state, self._queue, self._switching = parts, state, queue, switching
        self._backfilling, self._allocation = parts.backfilling, parts.allocation

    def starting(self) -> Iterator[tuple[WaitingJob, FrozenHosts]]:
        state, switching, take = self._state, self._switching, self._allocation.take
        for job in self._backfilling.starting(self._queue, state):
            yield job, take(job.size, state.free, switching.asleep)

    def wakes_at(self) -> float:
        return self._backfilling.wakes_at(self._state)

    def dropped(self, waits: WaitingJob) -> None:
        self._queue.remove(waits)
        self._backfilling.dropped(waits, self._state)

    def began(self, job: RunningJob) -> None:
        self._state.endings.add(job.ending)
        self.look_around()
        self._backfilling.started(job, self._state)

    def over(self, job: RunningJob) -> None:
        state = self._state
        state.endings.remove(job.ending)
        self.give_back(job.hosts)
        self.look_around()
        for part in (self._parts.order, self._parts.walltimes, self._backfilling):
            part.ended(job, state)

    def lasts(self, job: RunningJob, before: float) -> None:
        self._backfilling.extended(job, before, self._state)

    def give_back(self, hosts: FrozenHosts) -> None:
        """No job has these hosts any more."""
        state = self._state
        self._switching.released(self._allocation.give_back(hosts, state.free), state.now)

    def look_around(self) -> None:
        """Update the state after a change of the free hosts."""
        state, allocation = self._state, self._allocation
        state.room, state.vacant = allocation.room(state.free), allocation.vacant(state.free)


class WholeHosts(Driver):
    """Gives whole hosts to jobs, or places on them if the allocation is `Shared`.

    Args:
        state: the policy's state.
        parts: the parts of the policy.
        switching: which hosts sleep.
        numbers: numbers in ascending order for jobs, and for hosts that fall asleep.
        actions: carry out the decisions.
    """

    def __init__(
        self, state: State, parts: PolicyParts, switching: Switching, numbers: Iterator[int], actions: Replies
    ) -> None:
        self.state, self.switching, self._numbers, self._actions = state, switching, numbers, actions
        self.allocation, self.walltimes, self._part = parts.allocation, parts.walltimes, parts.starts
        self.each, self.keeps = parts.each, parts.keeps
        self._predicts = not isinstance(parts.walltimes, AsRequested)
        self._finishes = parts.failures is not None or parts.interrupts  # jobs may run again, later on a site
        self.queue = Queue(parts.order, state, keeps=parts.keeps)
        self._backfilling = parts.backfilling
        self._plan = CountPlanner(parts, state, self.queue, switching)
        self._plan.look_around()
        self._most, state.size = state.room, state.vacant
        self.changed = False
        """Whether something has happened since the last choice."""
        self.is_finished = False
        """Whether all jobs have ended, and that was reported."""
        self.held: dict[str, WaitingJob] = {}
        """The jobs that wait for a better time."""
        self._turns: list[tuple[float, int, WaitingJob, float]] = []  # of those: begins, and when they wait again
        self._until = math.inf  # when jobs of the queue wait again
        self._waking: dict[str, tuple[RunningJob, Hosts]] = {}  # with the hosts that are not on yet
        self.ends: list[str] = []
        """The jobs that have ended in this message."""
        self._switched: list[HostsTurnedOnOffEvent] = []
        self._starts = 0
        self._is_last = False

    # Events

    def submitted(self, event: JobSubmittedEvent, number: int, time: float) -> None:
        self.submit(event.job_id, event.job, number, time)
        if self.each:
            self._start_jobs()

    def ended(self, job_id: str, state: FinalJobState) -> None:
        self.ends.append(job_id)

    def switched(self, event: HostsTurnedOnOffEvent) -> None:
        self._switched.append(event)

    def no_more(self) -> None:
        self._is_last = True

    def decide(self) -> None:
        if self.ends:
            self.take_ends()
        if self._switched:
            self.take_switched()
        if self._part is not None:
            self._take_turns()
        self._start_jobs()
        if self._part is not None:
            self._actions.call_at(min(self._turns[0][0] if self._turns else math.inf, self._until))
        if self.switching.after != math.inf:
            self._switch_off()
        if self._finishes:
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
            self._actions.reject(job_id, too_large(job.resource_request, self._most))
            return
        waiting = WaitingJob(job_id, job, number, submitted)
        expected = self.walltimes.expected(waiting, state)
        # What is not less, which NaN is neither, is no prediction.
        waiting.expected = max(expected, 0.0) if expected < waiting.walltime else waiting.walltime
        if self._part is None or not self._hold(waiting):
            self._join(waiting)

    def adopt(self, waiting: Iterable[PlannedJob], running: Iterable[PlannedJob]) -> None:
        """Take over the jobs that wait, in the order of their numbers, and those that run, in that of their starts."""
        state = self.state
        for job in running:
            assert job.hosts is not None, "it runs"
            waited = WaitingJob(job.id, job.given, job.number, job.submitted)
            run = state.running[job.id] = RunningJob(waited, job.hosts, job.started, self._starts)
            self._starts += 1
            state.endings.add(run.ending)
        self._plan.look_around()
        for job in waiting:
            waits = WaitingJob(job.id, job.given, job.number, job.submitted)
            self.queue.add(waits)
            self._backfilling.adopt(waits)

    def _join(self, job: WaitingJob) -> None:
        self.queue.add(job)
        self._backfilling.submitted(job, self.queue, self.state)
        self.changed = True

    def take_ends(self) -> None:
        """Free the hosts of the jobs that have ended."""
        state, queue, ends = self.state, self.queue, self.ends
        if len(ends) > 1:
            started = {job_id: state.running[job_id].place for job_id in ends if job_id in state.running}
            ends.sort(key=lambda job_id: started.get(job_id, 0))  # the one that started first
        for job_id in ends:
            job = state.running.pop(job_id, None)
            if job is not None:
                self._plan.over(job)
                self.changed = True
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
        if self._predicts:
            self._extend_the_late()
        if not self.changed:
            return
        self.changed = False
        if not queue or not (state.room or self.keeps):  # the job to keep is chosen even while no host is free
            return
        for job, hosts in self._plan.starting():
            self._start(job, hosts)
        self._actions.call_at(self._plan.wakes_at())

    def _start(self, job: WaitingJob, hosts: FrozenHosts) -> None:
        state = self.state
        sleeping = self.switching.taken(hosts, self._actions.switch)
        if not sleeping and self._actions.execute(job.id, hosts) is not None:
            self._plan.give_back(hosts)
            self._drop(job)
            return
        self.queue.remove(job)
        running = state.running[job.id] = RunningJob(job, hosts, state.now, self._starts)
        self._starts += 1
        self._plan.began(running)
        if sleeping:
            self._waking[job.id] = running, Hosts(sleeping)

    def _drop(self, job: WaitingJob) -> None:
        self._plan.dropped(job)
        self.changed = True

    def _extend_the_late(self) -> None:
        """Extend jobs that run longer than predicted: they are expected to use their walltime."""
        state = self.state
        if not state.endings or state.endings[0][0] > state.now:
            return
        late = [ending[3] for ending in state.endings.irange(maximum=(state.now, math.inf))]
        for job in (state.running[job_id] for job_id in late if job_id):
            self._extend(job, job.started + job.waited.walltime)

    def _extend(self, job: RunningJob, end: float) -> None:
        """Change the expected end of a job if the new one is later."""
        if end > job.end:
            before = job.end
            self.state.move(job, end)
            self._plan.lasts(job, before)

    def _finish(self) -> None:
        """Where jobs run again if hosts fail, and none has failed: when all jobs have ended, none will run again."""
        if self._is_last and not (self.is_finished or self._has_jobs()):
            self.is_finished = True
            self._actions.finish()

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
                self._plan.look_around()
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
            if self._actions.execute(job_id, job.hosts) is None:
                job.started = state.now
                self._extend(job, state.now + job.waited.expected)
            else:
                del state.running[job_id]
                state.endings.remove(job.ending)
                self._plan.give_back(job.hosts)
                self._plan.look_around()
                self._backfilling.ended(job, state)
                self.changed = True

    def _switch_off(self) -> None:
        """Switch off the hosts that have been idle for long. While jobs come, ask for a call for the next ones."""
        state, switching = self.state, self.switching
        idle = switching.idle(state.now)
        if idle:
            self._actions.switch(idle, False)
            hosts = state.free.take_these(idle)
            self._plan.look_around()
            switching.falls_asleep(hosts, next(self._numbers), state, self.allocation.share)
        if self._has_jobs() or not self._is_last:
            self._actions.call_at(switching.next())
