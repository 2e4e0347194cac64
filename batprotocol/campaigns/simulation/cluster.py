"""A simulated cluster: hosts, the queue of its own jobs, and the jobs of campaigns, which give way to them.

It is a resource manager like the others. It sends its requests to the part that answers Batsim. If its own jobs need
hosts of campaigns' jobs, it kills those that started last, and keeps their hosts for its own jobs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from batprotocol import FinalJobState, FrozenHosts, Hosts
from batprotocol.campaigns.managers.interface import KILLED, REFUSED, TIME_OVER, Request, ended
from batprotocol.campaigns.model import JobState, Observation, RemoteEvent, RemoteJob
from batprotocol.campaigns.simulation.local_queue import LocalJob, LocalQueue, QueuePolicy
from batprotocol.campaigns.simulation.usage import Usage

__all__ = ["Desk", "SimulatedCluster"]

TAKEN: Final = RemoteEvent("BESTEFFORT_KILL", "A job of the cluster's own needed its resources.")


class Desk(Protocol):
    """The part that answers Batsim."""

    @property
    def now(self) -> float:
        """The simulated time, in seconds."""

    def register(self, request: Request, cluster: SimulatedCluster, /) -> None:
        """Register a job of a campaign."""

    def execute(self, name: str, hosts: FrozenHosts) -> None:
        """Start a job."""

    def reject(self, name: str) -> None:
        """Reject a job that has not started."""

    def kill(self, names: Sequence[str]) -> None:
        """Kill jobs that run."""

    def name_of(self, job: int) -> str:
        """The name of a job of a campaign."""


class _Running:
    """A job of a campaign that has hosts."""

    def __init__(self, request: Request, hosts: FrozenHosts, since: float) -> None:
        self.request = request
        self.hosts = hosts
        self.since = since
        self.because: RemoteEvent | None = None  # the reason if it was killed and has not ended yet


class SimulatedCluster:
    """Some hosts of a platform.

    Args:
        name: the name of the cluster.
        hosts: its hosts.
        desk: the part that answers Batsim.
        policy: the policy for its own jobs.
        power: the speed of its hosts; the durations of tasks are divided by it.
        copies: returns whether a job of a campaign is a copy that is not needed any more.
    """

    def __init__(
        self,
        name: str,
        hosts: FrozenHosts,
        desk: Desk,
        policy: QueuePolicy = "fcfs",
        power: float = 1.0,
        copies: Callable[[int], bool] = lambda job: False,
    ) -> None:
        self.name = name
        self.power = power
        self.usage = Usage(len(hosts))
        self.local = LocalQueue(len(hosts), policy)
        self._desk = desk
        self._copies = copies
        self._free = Hosts(hosts)
        self._own: dict[str, FrozenHosts] = {}
        self._starting: OrderedDict[str, int] = OrderedDict()  # own jobs that wait for hosts of campaigns
        self._waiting: OrderedDict[int, Request] = OrderedDict()
        self._running: dict[int, _Running] = {}  # in the order of their start
        self._ended: dict[int, RemoteJob] = {}

    # Its own jobs

    def submit_own(self, job: LocalJob) -> None:
        """Submit a job of the cluster's own users."""
        if 0 < job.hosts <= self.local.hosts:
            self.local.submit(job)
        else:
            self._desk.reject(job.name)

    def end_own(self, name: str) -> None:
        """Record the end of a job of the cluster's own users."""
        self.local.end(name)
        self._starting.pop(name, None)
        self._free.give_back(self._own.pop(name, ()))

    def stop(self) -> list[str]:
        """Prepare the stop of the simulation; return the own jobs that run."""
        self._starting.clear()
        return list(self._own)

    # The jobs of campaigns, as a resource manager

    def look(self) -> Observation:
        waiting = (
            RemoteJob(job=job, state=JobState.REMOTE_WAITING, remote_id=self._desk.name_of(job))
            for job in self._waiting
        )
        running = (
            RemoteJob(job=job, state=JobState.RUNNING, remote_id=self._desk.name_of(job), start_time=each.since)
            for job, each in self._running.items()
        )
        size = self.local.hosts
        free = max(0, self.local.free - sum(each.request.weight for each in self._running.values()))
        jobs = (*waiting, *running, *self._ended.values())
        return Observation(cluster=self.name, time=self._desk.now, max=size, free=free, jobs=jobs)

    def submit(self, requests: Sequence[Request]) -> None:
        for request in requests:
            if request.job in self._waiting or request.job in self._running or request.job in self._ended:
                continue
            if request.weight > self.local.hosts:
                self._ended[request.job] = ended(request.job, because=REFUSED, stop_time=self._desk.now)
            else:
                self._desk.register(request, self)
                self._waiting[request.job] = request

    def kill(self, jobs: Iterable[int]) -> None:
        running = []
        for job in dict.fromkeys(jobs):
            if self._waiting.pop(job, None) is not None:
                self._desk.reject(self._desk.name_of(job))
                self._ended[job] = ended(job, because=KILLED, stop_time=self._desk.now)
            elif job in self._running and self._running[job].because is None:
                running.append(job)
        self._kill(running, KILLED)

    def forget(self, jobs: Iterable[int]) -> None:
        forgotten = list(jobs)
        self.kill(forgotten)
        for job in forgotten:
            self._ended.pop(job, None)

    def tend(self) -> None:
        """Do nothing: time passes in the simulation only."""

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def end(self, job: int, state: FinalJobState) -> None:
        """Record the end of a job of a campaign."""
        running = self._running.pop(job)
        self._free.give_back(running.hosts)
        because, exit_code = running.because, None
        if state is FinalJobState.COMPLETED_SUCCESSFULLY:
            because, exit_code = None, 0
        elif state is FinalJobState.COMPLETED_FAILED:
            because, exit_code = None, 1 << 8
        elif state is FinalJobState.COMPLETED_WALLTIME_REACHED:
            because = TIME_OVER
        now = self._desk.now
        if exit_code is None:
            self.usage.kill((now - running.since) * running.request.weight, copy=self._copies(job))
        name = self._desk.name_of(job)
        self._ended[job] = ended(
            job, exit_code=exit_code, because=because, start_time=running.since, stop_time=now, remote_id=name
        )

    # Allocation

    def decide(self) -> None:
        """Start jobs that can start, and kill jobs whose hosts the cluster's own jobs need."""
        for job in self.local.start(self._desk.now):
            self._starting[job.name] = job.hosts
        self._start_own()
        self._free_hosts()
        if not self._starting:
            self._start_campaigns()
        busy = sum(map(len, self._own.values()))
        used = sum(len(each.hosts) for each in self._running.values())
        self.usage.at(self._desk.now, busy, used, len(self._waiting))

    def _start_own(self) -> None:
        while self._starting:
            name, hosts = next(iter(self._starting.items()))
            if hosts > len(self._free):
                break
            del self._starting[name]
            self._own[name] = self._free.take(hosts)
            self._desk.execute(name, self._own[name])

    def _free_hosts(self) -> None:
        """Kill the jobs of campaigns that started last, until there are enough hosts."""
        missing = sum(self._starting.values()) - len(self._free)
        missing -= sum(each.request.weight for each in self._running.values() if each.because is not None)
        victims = []
        for job, each in reversed(self._running.items()):
            if missing <= 0:
                break
            if each.because is None and each.request.best_effort:
                victims.append(job)
                missing -= each.request.weight
        self._kill(victims, TAKEN)

    def _kill(self, jobs: Sequence[int], because: RemoteEvent) -> None:
        for job in jobs:
            self._running[job].because = because
        if jobs:
            self._desk.kill([self._desk.name_of(job) for job in jobs])

    def _start_campaigns(self) -> None:
        """Start jobs of campaigns in their order; a smaller job may start before one that waits for hosts."""
        for job, request in list(self._waiting.items()):
            if not self._free:
                break
            if request.weight <= len(self._free):
                del self._waiting[job]
                hosts = self._free.take(request.weight)
                self._running[job] = _Running(request, hosts, self._desk.now)
                self._desk.execute(self._desk.name_of(job), hosts)
