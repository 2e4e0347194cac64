"""GridScheduler: campaigns on simulated clusters, as a decision component like any other.

The hosts of the platform are divided into clusters. The jobs of the workloads are the clusters' own jobs, and those of
campaigns are registered dynamically. The same loop as on real clusters decides for campaigns, with a store in memory.
This module reads the initialization data, and passes Batsim's events to the clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from batprotocol import (
    DelayProfile,
    EDCRequestedSimulationFeatures,
    FrozenHosts,
    Job,
    JobCompletedEvent,
    JobSubmittedEvent,
    OneShot,
    RequestedCallEvent,
    SimulationBeginsEvent,
    TimeUnit,
)
from batprotocol.campaigns.loop import Cycle, Loop
from batprotocol.campaigns.managers.interface import Request
from batprotocol.campaigns.model import KillReason
from batprotocol.campaigns.simulation.cluster import SimulatedCluster
from batprotocol.campaigns.simulation.local_queue import LocalJob
from batprotocol.campaigns.simulation.plan import GridPlan, read_plan, seconds_in
from batprotocol.campaigns.simulation.usage import Measure
from batprotocol.campaigns.store import Store, Where
from batprotocol.edc import Scheduler

__all__ = ["CALL", "WORKLOAD", "GridScheduler"]

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
        self.begun: dict[str, Measure] = {}
        self.drained: dict[str, Measure] = {}
        self.warm_up_cycles = self.cycles = 0
        self._watch = watch
        self.store = Store("sqlite://")
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
            self.store.register(Where(name=name, power=power, batch="simulated"))
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

    def register(self, request: Request, cluster: SimulatedCluster) -> None:
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

    def _measures(self) -> dict[str, Measure]:
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
