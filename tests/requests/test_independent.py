"""Whatever jobs ask for, whatever the site and the policy: an independent check finds that all is kept."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given, settings
from independent import Check, host_of
from worlds import World, worlds

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
@given(worlds())
def test_all_that_jobs_ask_for_is_kept(world: World) -> None:
    check(world)


@pytest.mark.minutes
@pytest.mark.parametrize("policy", ["easy", None])
def test_all_that_jobs_ask_for_is_kept_in_many_simulations(policy: str | None) -> None:
    @settings(max_examples=1500)
    @given(worlds(policy))
    def many(world: World) -> None:
        check(world)

    many()
