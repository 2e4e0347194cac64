"""Small sites against a search of all possibilities: what a plan allows to start, starts.

Six jobs at most share three hosts with cores and GPUs. After each decision, the search looks at all sets of hosts.
"""

from __future__ import annotations

import itertools
import json
import math
from typing import Any, NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from batprotocol.model import DelayProfile, JobCompletedEvent, JobSubmittedEvent, parse_hosts
from batprotocol.policies import EASY, Conservative, Policy
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate

WITHOUT_ENGINE = True

CORES, GPUS, HOSTS = 4, 2, (0, 1, 2)
SLACK = 0.05
"""Seconds: calls of policies come up to a millisecond late."""

SETS = {size: list(itertools.combinations(HOSTS, size)) for size in (1, 2, 3)}


class Asked(NamedTuple):
    """What a job asks for: hosts, cores and GPUs of each, and seconds at most."""

    size: int
    cores: int
    gpus: int
    walltime: float


class Taken(NamedTuple):
    """A part of a plan: these amounts of these hosts, from one time to another one."""

    hosts: tuple[int, ...]
    asked: Asked
    begin: float
    end: float


def is_free(plan: list[Taken], hosts: tuple[int, ...], asked: Asked, begin: float, end: float) -> bool:
    """Whether a plan has room for a job on some hosts, in an interval."""
    moments = [begin, *(each.begin for each in plan if begin < each.begin < end)]
    for host, moment in itertools.product(hosts, moments):
        there = [each.asked for each in plan if host in each.hosts and each.begin <= moment < each.end]
        cores, gpus = (sum(amounts) for amounts in ([each.cores for each in there], [each.gpus for each in there]))
        if cores + asked.cores > CORES or gpus + asked.gpus > GPUS:
            return False
    return True


def fits(plan: list[Taken], asked: Asked, begin: float, end: float) -> bool:
    return any(is_free(plan, hosts, asked, begin, end) for hosts in SETS[asked.size])


def earliest(plan: list[Taken], asked: Asked, now: float) -> float:
    """The first time from which on a job has room."""
    for moment in sorted({now, *(each.end for each in plan if each.end > now)}):
        if fits(plan, asked, moment, moment + asked.walltime):
            return moment
    raise AssertionError("the job has no room on an empty machine")


class Watched(Policy):
    """A policy whose decisions are compared with the search, from the messages alone."""

    def on_simulation_begins(self, event: Any) -> None:
        super().on_simulation_begins(event)
        self.waiting: dict[str, Asked] = {}
        self.running: dict[str, Taken] = {}
        self.seen = 0
        self.promised: dict[str, float] = {}

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        super().on_job_submitted(event)
        data = json.loads(event.job.extra_data or "{}")
        walltime = event.job.walltime
        asked = Asked(event.job.resource_request, data["cores"], data.get("gres", {}).get("gpu", 0), walltime)
        self.waiting[event.job_id] = asked

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        super().on_job_completed(event)
        del self.running[event.job_id]

    def decide(self) -> None:
        super().decide()
        if self.site is None:
            return
        for each in self.site.allocated[self.seen :]:
            asked = self.waiting.pop(each.job_id)
            self.running[each.job_id] = Taken(
                tuple(parse_hosts(each.hosts)), asked, self.now, self.now + asked.walltime
            )
        self.seen = len(self.site.allocated)
        self.compare(list(self.running.values()))

    def compare(self, plan: list[Taken]) -> None:
        """Compare the decisions with the search."""
        raise NotImplementedError


class WatchedEASY(Watched):
    def compare(self, plan: list[Taken]) -> None:
        if not self.waiting:
            return
        (head, asked), *others = self.waiting.items()
        start = earliest(plan, asked, self.now)
        assert start > self.now, "the first job has room, and waits"
        assert start <= self.promised.get(head, math.inf) + SLACK, "the first job is late because of others"
        self.promised[head] = start
        for job_id, other in others:
            end = self.now + other.walltime + SLACK
            for hosts in SETS[other.size]:
                if is_free(plan, hosts, other, self.now, end):
                    beside = [*plan, Taken(hosts, other, self.now, end)]
                    assert not fits(beside, asked, start, start + asked.walltime), f"{job_id} could start on {hosts}"


class WatchedConservative(Watched):
    def compare(self, plan: list[Taken]) -> None:
        assert self.site is not None
        reserved: dict[str, Taken] = {}
        for entry in self.site._planner.heads.values():  # the plan is no decision, and nothing else knows it
            asked = self.waiting[entry.job.id]
            reserved[entry.job.id] = Taken(tuple(entry.reserved), asked, entry.start, entry.start + asked.walltime)
        assert reserved.keys() == self.waiting.keys(), "each job has a reservation"
        for job_id, own in reserved.items():
            others = [*plan, *(each for other, each in reserved.items() if other != job_id)]
            assert is_free(others, own.hosts, own.asked, own.begin + SLACK, own.end - SLACK), "the plan has no room"
            assert own.begin <= self.promised.get(job_id, math.inf) + SLACK, "a reservation moved back"
            self.promised[job_id] = own.begin
            assert not fits(others, own.asked, self.now, self.now + own.asked.walltime + SLACK), f"{job_id} could start"


asks = st.tuples(
    *(st.integers(0, 30), st.sampled_from([1, 1, 2, 3]), st.integers(1, CORES), st.sampled_from([0, 0, 1, 2])),
    *(st.integers(2, 40), st.integers(1, 20)),
)


def workload(asked: list[tuple[int, ...]]) -> Workload:
    jobs = []
    for number, (at, size, cores, gpus, run, more) in enumerate(sorted(asked, key=lambda each: each[0])):
        data = {"cores": cores, "gres": {"gpu": gpus}} if gpus else {"cores": cores}
        walltime = float(run + more)
        job = StaticJob(str(number), float(at), size, DelayProfile(float(run)), walltime=walltime)
        jobs.append(
            StaticJob(job.id, job.submission_time, size, job.profile, walltime=walltime, extra_data=json.dumps(data))
        )
    return Workload(jobs, {})


PLATFORM = described_platform(f"n[0-2] cores={CORES} gres=gpu:{GPUS}")


@given(st.lists(asks, min_size=2, max_size=6))
@example([(0, 1, 4, 0, 1, 1), (0, 2, 2, 0, 3, 1), (1, 2, 3, 0, 2, 1), (2, 1, 3, 0, 2, 1)])  # a reservation moves
def test_what_easy_may_start_starts(asked: list[tuple[int, ...]]) -> None:
    result = simulate(PLATFORM, workload(asked), WatchedEASY(backfilling=EASY()))
    assert [row.success for row in result.jobs] == [True] * len(asked)


@given(st.lists(asks, min_size=2, max_size=6))
def test_what_conservative_may_start_starts(asked: list[tuple[int, ...]]) -> None:
    result = simulate(PLATFORM, workload(asked), WatchedConservative(backfilling=Conservative()))
    assert [row.success for row in result.jobs] == [True] * len(asked)
