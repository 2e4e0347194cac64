"""GridScheduler: campaigns on simulated clusters, as a decision component like any other.

The hosts of the platform are divided into clusters. The jobs of the workloads are the clusters' own jobs, and those of
campaigns are registered dynamically. The same loop as on real clusters decides for campaigns, with a store in memory.
`GridScheduler` reads the initialization data, and passes Batsim's events to the clusters.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

import msgspec

from batprotocol import (
    DelayProfile,
    EDCRequestedSimulationFeatures,
    FinalJobState,
    FrozenHosts,
    Hosts,
    Job,
    JobCompletedEvent,
    JobSubmittedEvent,
    OneShot,
    RequestedCallEvent,
    SimulationBeginsEvent,
    TimeUnit,
)
from batprotocol.campaigns.loop import Cycle, Loop
from batprotocol.campaigns.managers.interface import KILLED, REFUSED, TIME_OVER, JobRequest, ended
from batprotocol.campaigns.model import GridJobState, KillReason, Observation, RemoteEvent, RemoteJob
from batprotocol.campaigns.simulation.plan import GridPlan, LocalJob, LocalQueue, QueuePolicy, read_plan, seconds_in
from batprotocol.campaigns.store import ClusterEntry, GridStore
from batprotocol.edc import Scheduler

__all__ = [
    "CALL",
    "WORKLOAD",
    "ClusterDesk",
    "ClusterUsage",
    "GridScheduler",
    "ResourceMeasure",
    "SimulatedCluster",
    "UsagePoint",
]


# The use of a cluster's resources over time: areas in resource seconds, and a series to plot.


MOST_POINTS: Final = 20_000
"""The greatest number of points of a series; then every second point is dropped."""


class UsagePoint(msgspec.Struct, frozen=True):
    """A cluster at one moment.

    Args:
        time: the moment, in simulated seconds.
        local: the number of hosts of the cluster's own jobs.
        campaigns: the number of hosts of jobs of campaigns.
        waiting: the number of jobs of campaigns that wait.
    """

    time: float
    local: int = 0
    campaigns: int = 0
    waiting: int = 0


class ResourceMeasure(msgspec.Struct, frozen=True):
    """Areas until a moment, in resource seconds.

    Args:
        time: the moment.
        local: the area of the cluster's own jobs.
        campaigns: the area of jobs of campaigns, also of killed jobs.
    """

    time: float
    local: float
    campaigns: float


class ClusterUsage:
    """The use of the resources of a cluster, from time 0 on.

    Attributes:
        lost: resource seconds of jobs of campaigns that were killed, so that their work is repeated.
        copied: resource seconds of jobs of campaigns that were killed because a copy of their task had ended.
        killed: the number of killed jobs of campaigns, without such copies.
        peak: the greatest number of jobs of campaigns that waited at once.
        points: the series.
    """

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.lost = self.copied = 0.0
        self.killed = self.peak = 0
        self.points = [UsagePoint(0.0)]
        self._local = self._campaigns = 0.0

    def at(self, time: float, local: int, campaigns: int, waiting: int) -> None:
        """Record the numbers of used hosts and of waiting jobs, from this time on."""
        until = self.measure(time)
        self._local, self._campaigns = until.local, until.campaigns
        self.peak = max(self.peak, waiting)
        self.points.append(UsagePoint(time, local, campaigns, waiting))
        if len(self.points) > MOST_POINTS:
            self.points[1:-1] = self.points[1:-1:2]

    def measure(self, time: float) -> ResourceMeasure:
        """The resources used until this time, which must not be before the last one."""
        last = self.points[-1]
        passed = time - last.time
        return ResourceMeasure(time, self._local + passed * last.local, self._campaigns + passed * last.campaigns)

    def kill(self, seconds: float, *, copy: bool = False) -> None:
        """Record that a job was killed after some resource seconds."""
        if copy:
            self.copied += seconds
        else:
            self.lost += seconds
            self.killed += 1


# A simulated cluster: hosts, the queue of its own jobs, and the jobs of campaigns, which give way to them.


TAKEN: Final = RemoteEvent("BESTEFFORT_KILL", "A job of the cluster's own needed its resources.")


class ClusterDesk(Protocol):
    """The part that answers Batsim."""

    @property
    def now(self) -> float:
        """The simulated time, in seconds."""

    def register(self, request: JobRequest, cluster: SimulatedCluster, /) -> None:
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

    def __init__(self, request: JobRequest, hosts: FrozenHosts, since: float) -> None:
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
        desk: ClusterDesk,
        policy: QueuePolicy = "fcfs",
        power: float = 1.0,
        copies: Callable[[int], bool] = lambda job: False,
    ) -> None:
        self.name = name
        self.power = power
        self.usage = ClusterUsage(len(hosts))
        self.local = LocalQueue(len(hosts), policy)
        self._desk = desk
        self._copies = copies
        self._free = Hosts(hosts)
        self._own: dict[str, FrozenHosts] = {}
        self._starting: OrderedDict[str, int] = OrderedDict()  # own jobs that wait for hosts of campaigns
        self._waiting: OrderedDict[int, JobRequest] = OrderedDict()
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
            RemoteJob(job=job, state=GridJobState.REMOTE_WAITING, remote_id=self._desk.name_of(job))
            for job in self._waiting
        )
        running = (
            RemoteJob(job=job, state=GridJobState.RUNNING, remote_id=self._desk.name_of(job), start_time=each.since)
            for job, each in self._running.items()
        )
        size = self.local.hosts
        free = max(0, self.local.free - sum(each.request.weight for each in self._running.values()))
        jobs = (*waiting, *running, *self._ended.values())
        return Observation(cluster=self.name, time=self._desk.now, max=size, free=free, jobs=jobs)

    def submit(self, requests: Sequence[JobRequest]) -> None:
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


WORKLOAD: Final = "campaigns"
"""The workload that the jobs of campaigns are registered in."""

CALL: Final = "cycle"
"""The call with which a cycle begins."""

PATIENCE_CYCLES: Final = 100
"""The number of cycles without any job after which the remaining campaigns are given up."""


class GridScheduler(Scheduler):
    """Runs campaigns on the idle hosts of clusters.

    Args:
        plan: the clusters, campaigns and settings; None: the initialization data have them, as JSON.
        watch: called with each cycle.

    Attributes:
        clusters: the simulated clusters, by name, with the use of their resources.
        store: the store of the campaigns.
        ended_at: the time of the end of the last campaign, in simulated seconds; None if one has not ended.
        begun: the resources used until the submission of the first campaign, by cluster.
        drained: the resources used until the last task was submitted to a cluster, by cluster; empty before that.
        warm_up_cycles: the number of cycles before the submission of the first campaign.
        cycles: the number of cycles after that.
    """

    version = "1"
    features = EDCRequestedSimulationFeatures(dynamic_registration=True, profile_reuse=True)

    def __init__(self, plan: GridPlan | None = None, watch: Callable[[Cycle], None] | None = None) -> None:
        self.plan = plan
        self.clusters: dict[str, SimulatedCluster] = {}
        self.ended_at: float | None = None
        self.begun: dict[str, ResourceMeasure] = {}
        self.drained: dict[str, ResourceMeasure] = {}
        self.warm_up_cycles = self.cycles = 0
        self._watch = watch
        self.store = GridStore("sqlite://")
        self._own: dict[str, SimulatedCluster] = {}  # the cluster of each job of the workloads
        self._registered: dict[str, tuple[SimulatedCluster, int]] = {}  # likewise of each job of campaigns; its number
        self._durations: dict[int, float] = {}  # of the tasks of a campaign
        self._profiles: set[float] = set()
        self._copies: set[int] = set()  # the jobs that are killed because a copy of their task has ended
        self._due = False  # whether a cycle is due
        self._still = 0  # the number of cycles without any job
        self._last_end = 0.0

    def on_init(self, text: str) -> None:
        if self.plan is None:
            self.plan = read_plan(text)

    # The clusters

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        assert self.plan is not None, "on_init has read it"
        for name, hosts in self.plan.share(event.computation_hosts).items():
            power = self.plan.power.get(name, 1.0)
            self.store.register(ClusterEntry(name=name, power=power, batch="simulated"))
            self.clusters[name] = SimulatedCluster(name, hosts, self, self.plan.queue, power, self._copies.__contains__)
        for preference in self.plan.priorities:
            self.store.prefer(preference)
        self._workloads = dict(zip((each.name for each in event.workloads), self.clusters.values(), strict=False))
        self._loop = Loop(self.store, self.clusters.values(), self.plan.settings, lambda: self.now)
        coming = [(each, each.read(self.clusters)) for each in self.plan.campaigns]
        self._coming = sorted(coming, key=lambda each: each[0].submission_time)
        self._due = True

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        job = LocalJob(event.job_id, event.job.resource_request, event.job.walltime or math.inf)
        cluster = self._workloads.get(event.job_id.partition("!")[0]) if len(self._workloads) > 1 else None
        if cluster is None:
            able = [each for each in self.clusters.values() if each.local.hosts >= job.hosts]
            if not able:
                return self.reject(job.name)
            cluster = min(able, key=lambda each: (len(each.local) > 0, -each.local.free))
        self._own[job.name] = cluster
        cluster.submit_own(job)
        return None

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        own = self._own.pop(event.job_id, None)
        if own is not None:
            own.end_own(event.job_id)
            return
        cluster, job = self._registered.pop(event.job_id)
        cluster.end(job, event.state)
        self._last_end = self.now

    def on_requested_call(self, event: RequestedCallEvent) -> None:
        self._due = True

    def decide(self) -> None:
        if self._due:  # after all events of the message: jobs may have ended
            self._due = False
            self._cycle()
        for cluster in self.clusters.values():
            cluster.decide()

    # The requests of the clusters to Batsim

    def name_of(self, job: int) -> str:
        """The name of a job of a campaign."""
        return f"{WORKLOAD}!{job}"

    def register(self, request: JobRequest, cluster: SimulatedCluster) -> None:
        """Register a job of a campaign."""
        seconds = seconds_in(request.parameters) or self._durations[request.campaign]
        seconds /= cluster.power
        profile = f"{WORKLOAD}!{seconds!r}s"
        if seconds not in self._profiles:
            self._profiles.add(seconds)
            self.reply.add_register_profile(profile, DelayProfile(seconds))
        name = self.name_of(request.job)
        job = Job(resource_request=request.weight, walltime=request.walltime, profile_id=profile)
        self.reply.add_register_job(name, job)
        self._registered[name] = cluster, request.job

    def execute(self, name: str, hosts: FrozenHosts) -> None:
        """Start a job."""
        self.reply.add_execute_job(name, hosts)

    def reject(self, name: str) -> None:
        """Reject a job that has not started."""
        self._own.pop(name, None)
        self._registered.pop(name, None)
        self.reply.add_reject_job(name)

    def kill(self, names: Sequence[str]) -> None:
        """Kill jobs that run."""
        self.reply.add_kill_jobs(names)

    # The campaigns

    def _cycle(self) -> None:
        assert self.plan is not None
        self._submit()
        done = self._loop.cycle()
        self._copies.clear()
        self._copies.update(job.id for job in done.grid.jobs if job.kill is KillReason.REPLICA)
        self._measure(done)
        if self._watch is not None:
            self._watch(done)
        moving = done.grid.jobs or done.launched or self._coming or self._own
        self._still = 0 if moving else self._still + 1
        if (done.idle and not self._coming) or self._still > PATIENCE_CYCLES:
            self._finish(done)
        else:
            when = math.ceil((self.now + self.plan.cycle) * 1000)
            self.reply.add_call_me_later(CALL, OneShot(when, TimeUnit.Millisecond))

    def _submit(self) -> None:
        """Submit the campaigns whose time has come."""
        while self._coming and self._coming[0][0].submission_time <= self.now:
            coming, read = self._coming.pop(0)
            alone = tuple(msgspec.structs.replace(each, temporal_grouping=False) for each in read.campaign.clusters)
            campaign = msgspec.structs.replace(read.campaign, clusters=alone)  # each task is a job of Batsim
            number = self.store.submit(campaign, read.parameters, now=self.now, jdl=read.jdl)
            self._durations[number] = coming.duration

    def _measure(self, done: Cycle) -> None:
        """Measure the time in which there were tasks to start."""
        pending = sum(each.pending for each in done.grid.campaigns) - len(done.launched)
        if done.grid.campaigns and not self.begun:
            self.begun = self._measures()
        if self.begun:
            self.cycles += 1
        else:
            self.warm_up_cycles += 1
        if pending > 0 or self._coming:
            self.drained = {}
        elif not self.drained:
            self.drained = self._measures()

    def _measures(self) -> dict[str, ResourceMeasure]:
        return {name: cluster.usage.measure(self.now) for name, cluster in self.clusters.items()}

    def _finish(self, done: Cycle) -> None:
        assert self.plan is not None
        self.reply.add_finish_registration()
        if done.idle:
            self.ended_at = self._last_end
        if self.plan.stop:
            running = [name for cluster in self.clusters.values() for name in cluster.stop()]
            if running:
                self.reply.add_kill_jobs(running)
            self.reply.add_force_simulation_stop()
