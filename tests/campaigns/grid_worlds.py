"""Worlds for the tests of campaigns: clusters that do with our jobs what they like, and campaigns of all kinds."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from batprotocol.campaigns.model import (
    Campaign,
    CampaignType,
    ClusterProperties,
    GridJob,
    GridJobState,
    GridSettings,
    Observation,
    RemoteEvent,
    RemoteJob,
)

REGULATORS = ("slow-start", "two-way", "exponential", "rate", "controller")
SIZES = {"a": 6, "b": 3}
CYCLE = 15.0
ENDS = ("well", "exit 1", "exit 66", "exit 67", "killed", "lost", "walltime", "unknown")


class Remote:
    """A cluster's own view of our jobs. It kills what it is told to, if that has not ended by then."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size, self.local = name, size, 0
        self.jobs: dict[int, RemoteJob] = {}
        self.weights: dict[int, int] = {}

    def free(self) -> int:
        running = (number for number, job in self.jobs.items() if job.state is GridJobState.RUNNING)
        return self.size - self.local - sum(self.weights[number] for number in running)

    def take(self, jobs: list[GridJob], now: float) -> None:
        """Submit and kill what the grid wants. A number that it knows is no news."""
        for job in jobs:
            if job.kill is not None and job.id in self.jobs and self.jobs[job.id].state is not GridJobState.TERMINATED:
                self.end(job.id, "killed", now)
            elif job.kill is None and job.state is GridJobState.TO_LAUNCH and job.id not in self.jobs:
                self.weights[job.id] = job.weight
                self.jobs[job.id] = RemoteJob(job=job.id, state=GridJobState.REMOTE_WAITING, remote_id=f"r{job.id}")
        for number, job in self.jobs.items():
            if job.state is GridJobState.REMOTE_WAITING and self.weights[number] <= self.free():
                self.jobs[number] = msgspec.structs.replace(job, state=GridJobState.RUNNING, start_time=now)

    def end(self, number: int, how: str, now: float) -> None:
        """A job ends."""
        events: dict[str, tuple[RemoteEvent, ...]] = {
            "killed": (RemoteEvent("FRAG_JOB_REQUEST"),),
            "walltime": (RemoteEvent("WALLTIME"),),
        }
        codes = {"well": 0, "exit 1": 256, "exit 66": 66 << 8, "exit 67": 67 << 8}
        if how == "lost":
            del self.jobs[number]
            return
        self.jobs[number] = msgspec.structs.replace(
            self.jobs[number],
            state=GridJobState.TERMINATED,
            stop_time=now,
            exit_code=codes.get(how),
            events=events.get(how, ()),
        )

    def observation(self, now: float, error: str | None = None) -> Observation:
        if error is not None:
            return Observation(cluster=self.name, time=now, error=error)
        jobs = tuple(self.jobs.values())
        return Observation(cluster=self.name, time=now, max=self.size, free=max(0, self.free()), jobs=jobs)


def campaign(user: str, *clusters: str, **said: Any) -> Campaign:
    """A campaign on some clusters."""
    kind = said.pop("type", CampaignType.DEFAULT)
    properties = tuple(ClusterProperties(cluster=name, exec_file="x", **said) for name in clusters)
    return Campaign(user=user, name="n", type=kind, clusters=properties)


SETTINGS = st.builds(
    GridSettings,
    strategy=st.sampled_from(("fifo", "affinity", "priority")),
    regulator=st.sampled_from(REGULATORS),
    flood_rate=st.sampled_from((0.0, 0.3, 1.0)),
    order_flood_rate=st.sampled_from((0.0, 0.5)),
    stale=st.sampled_from((20.0, 900.0)),
    finalize=st.booleans(),
    copies=st.integers(1, 3),
)
CAMPAIGNS = st.lists(
    st.builds(
        lambda clusters, weight, tasks, kind, most, prepared: (
            campaign(
                "u",
                *clusters,
                resources=f"/cpu={weight}",
                type=kind,
                max_jobs=most,
                **({"prologue": ("p",), "epilogue": ("e",)} if prepared else {}),
            ),
            tasks,
        ),
        st.lists(st.sampled_from(sorted(SIZES)), min_size=1, max_size=2, unique=True),
        st.integers(1, 3),
        st.integers(0, 12),
        st.sampled_from(CampaignType),
        st.none() | st.integers(0, 4),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)
