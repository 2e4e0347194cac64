"""Policies break no rule while hosts fail, whatever Batsim has in store, and no job runs on a host that is away."""

from __future__ import annotations

import math
from random import Random

import pytest
from fates import Fate, checked, events_of, outages_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import rows_of

from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.model import DelayProfile
from batprotocol.policies import PARTS, named
from batprotocol.simulator import simulate
from batprotocol.testing.conformance import Case, InProcess
from batprotocol.testing.conformance._cases import cases
from batprotocol.testing.conformance._play import play
from batprotocol.testing.conformance._targets import Timeouts

WITHOUT_ENGINE = True

NAMES = [
    *(name for name, part in PARTS.items() if part.kind in ("order", "backfilling")),
    *("easy+best-fit", "easy+pack", "easy+spread", "easy+weight", "easy+contiguous", "conservative+best-contiguous"),
    *("easy=sjf+wfp3", "reservations=3+saf", "predicted+easy", "predicted+conservative", "greedy=saf+resolution=1"),
]
FATES = [
    Fate(),
    Fate("requeue", math.inf),
    Fate("requeue=2,last", 2),
    Fate("checkpoint=3,0.5,restart=1", math.inf, 3, 0.5, 1),
]


def plays_well(name: str, case: Case, seed: int) -> None:
    """Play a case while hosts fail, and check that no rule is broken, and the fate of all jobs."""
    random = Random(seed)
    fate = random.choice(FATES)
    hosts = [host.id for host in case.platform.computation_hosts]
    outages = outages_of(random, hosts, 60.0, endless=0.0)
    case = case._replace(events=(events_of(outages),), energy=False)
    make = named(name + fate.part)
    target = InProcess(make)
    played = play(case, target, rules=DEFAULT_RULE_SET, init="", timeouts=Timeouts(60, 60), ignore=frozenset())
    assert played.finding is None, (played.finding.violation, played.finding.details)
    if max(map(case.platform.message_cost, case.platform.computation_hosts), default=0.0) > 1e-3:
        return  # decisions come late
    sizes, delays = {}, {}
    # There may be storage hosts between the computation hosts.
    most = max(rows_of(hosts).values(), default=0) if "contiguous" in name else len(hosts)
    for number, workload in enumerate(case.workloads):
        for submission in workload:
            job, profile = submission.job, workload.profiles[submission.job.profile_id]
            id = f"w{number}!{submission.id.partition('!')[2]}"
            sizes[id] = job.resource_request
            if isinstance(profile.profile, DelayProfile) and not profile.return_code:
                delay = profile.profile.delay
                if (job.walltime is None or job.walltime > delay + 1) and 0 < job.resource_request <= most:
                    delays[id] = delay
    result = simulate(case.platform, case.workloads, make(), external_events=case.events, corrected=True)
    checked(most, sizes, outages, result.jobs, fate, delays)


SOME = cases(DEFAULT_RULE_SET)
SEEDS = st.integers(0, 2**32)
QUICK = settings(deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))


@given(case=SOME, seed=SEEDS, name=st.sampled_from(NAMES))
@settings(QUICK, max_examples=12)
def test_policies_break_no_rule_while_hosts_fail(case: Case, seed: int, name: str) -> None:
    plays_well(name, case, seed)


@pytest.mark.minutes
@pytest.mark.parametrize("name", NAMES)
def test_a_policy_breaks_no_rule_in_1000_simulations_with_failures(name: str) -> None:
    @given(case=SOME, seed=SEEDS)
    @settings(QUICK, max_examples=1000)
    def search(case: Case, seed: int) -> None:
        plays_well(name, case, seed)

    search()
