"""Random sites, jobs and policies: an independent check finds that all is kept that jobs ask for and rules limit."""

from __future__ import annotations

import dataclasses
import json
import logging
from typing import Any

import msgspec
import pytest
from asked import host_of
from hypothesis import example, given, settings
from independent import LATE, Check
from worlds import World, world_of, worlds

from batprotocol.policies import Policy, SiteRules, named
from batprotocol.simulator import Workload, described_platform, simulate

WITHOUT_ENGINE = True

MOST = 1_000
"""Decisions: no simulation of so few jobs takes more, unless jobs preempt each other without an end."""


class Reasons(logging.Handler):
    """The reasons of rejections, by the id of the job."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        job_id, _, reason = record.getMessage().partition(" is rejected: ")
        assert job_id.strip("'") not in self.found, f"{job_id} is rejected twice"
        self.found[job_id.strip("'")] = reason


class Counted(Policy):
    """A policy that does not decide without an end."""

    decisions = 0

    def decide(self) -> None:
        self.decisions += 1
        assert self.decisions < MOST, "the simulation comes to no end"
        super().decide()


def policy_of(world: World) -> Counted:
    plain: Any = named(world.policy)()
    rules = SiteRules.of(world.tables) if world.tables else None
    return Counted(plain.order, plain.backfilling, plain.allocation, walltimes=plain.walltimes, site=rules)


def check(world: World) -> None:
    """Simulate, and look at the results."""
    platform = described_platform(world.hosts)
    policy = policy_of(world)
    reasons = Reasons()
    logger = logging.getLogger("batprotocol.policies")
    logger.addHandler(reasons)
    try:
        result = simulate(platform, Workload(world.jobs, {}), policy)
    finally:
        logger.removeHandler(reasons)
    assert result.is_complete
    hosts = [host_of(host.name, host.cores, dict(host.properties)) for host in platform.hosts]
    allocated = [] if policy.site is None else policy.site.allocated
    contiguous = "contiguous" in world.policy
    Check(hosts, world.tables, world.jobs, result.jobs, allocated, reasons.found, contiguous=contiguous).all()


@settings(max_examples=60)
@example(world_of(2664131, 3, "easy"))  # a job is in no partition, as it starts before one that asks for something
@given(worlds())
def test_all_that_jobs_ask_for_is_kept(world: World) -> None:
    check(world)


class Promises(Counted):
    """Policies that note the first time that is reserved for a job in a partition."""

    def on_simulation_begins(self, event: Any) -> None:
        super().on_simulation_begins(event)
        self.promised: dict[str, float] = {}

    def decide(self) -> None:
        super().decide()
        if self.site is not None:
            for entry in self.site._planner.heads.values():  # the plan is no decision, and nothing else knows it
                self.promised.setdefault(entry.job.id, entry.start)


RESTRICTIONS = ("begin", "deadline", "dependency", "array", "priority", "nice")


def simplified(world: World) -> World:
    """The same without all that may let a job come before the first one, or keep that from its start."""
    tables = {"partitions": {}}
    for name, table in world.tables.get("partitions", {}).items():
        tables["partitions"][name] = {key: value for key, value in table.items() if key not in ("tier", "preempt")}
    jobs = []
    for job in world.jobs:
        asks = {key: value for key, value in json.loads(job.extra_data or "{}").items() if key not in RESTRICTIONS}
        jobs.append(msgspec.structs.replace(job, walltime=job.walltime or 30.0, extra_data=json.dumps(asks)))
    return dataclasses.replace(world, tables=tables, jobs=jobs)


def check_promises(world: World) -> None:
    simple = simplified(world)
    plain: Any = named(world.policy)()
    policy = Promises(plain.order, plain.backfilling, plain.allocation, site=SiteRules.of(simple.tables))
    result = simulate(described_platform(simple.hosts), Workload(simple.jobs, {}), policy)
    for row in result.jobs:
        promised = policy.promised.get(f"w0!{row.job_id}")
        if promised is not None:
            assert row.starting_time is not None
            assert row.starting_time <= promised + LATE, f"{row.job_id} is late because of others"


@settings(max_examples=30)
@given(worlds("easy"))
def test_no_reservation_of_easy_is_late_because_of_others(world: World) -> None:
    check_promises(world)


@pytest.mark.minutes
@pytest.mark.parametrize("policy", ["easy", "easy+pack", "reservations=2", "conservative"])
def test_no_reservation_is_late_because_of_others_in_many_simulations(policy: str) -> None:
    @settings(max_examples=500)
    @given(worlds(policy))
    def many(world: World) -> None:
        check_promises(world)

    many()


@pytest.mark.minutes
@pytest.mark.parametrize("policy", ["easy", None])
def test_all_that_jobs_ask_for_is_kept_in_many_simulations(policy: str | None) -> None:
    @settings(max_examples=1500)
    @given(worlds(policy))
    def many(world: World) -> None:
        check(world)

    many()
