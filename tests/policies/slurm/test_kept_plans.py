"""Plans that live from one run of backfill to the next, beside plans that are made anew in each run: all are equal."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest
import test_compiled_plans as whole
import test_kept_nodes as shared
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile
from batprotocol.policies.slurm import SlurmScheduler, loops
from batprotocol.policies.slurm.reservations import KeptPlans
from batprotocol.policies.slurm.scheduler import Started
from batprotocol.simulator import ExternalEventList, StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.accounting import Accounting, accounting_of
from batprotocol.sites.slurm.configuration import configuration_of

WITHOUT_ENGINE = True

SELECTIONS = ["in C", "in Python", "shared"]
"""Whole nodes, with the plan in C or in Python, and nodes that jobs share."""


def commands(draw: random.Random, jobs: int, count: int, span: int) -> list[ExternalEventList]:
    """Nodes that fail, come back or are drained, and commands of operators."""
    events = []
    for _ in range(draw.choice([0, 0, 0, 3, 8])):
        node, job, at = draw.randrange(count), draw.randrange(jobs), draw.randint(0, 4 * span)
        text = draw.choice(
            [
                {"hosts": str(node), "state": draw.choice(["down", "drain", "up"])},
                {"slurm": f"scontrol update JobId={job} TimeLimit={draw.randint(1, 9)}"},
                {"slurm": f"scontrol update JobId={job} Nice={draw.randint(-500, 500)}"},
                {"slurm": f"scontrol update JobId={job} ExcNodeList=n{node}"},
                {"slurm": f"scontrol hold {job}"},
                {"slurm": f"scontrol release {job}"},
                {"slurm": f"scontrol requeue {job}"},
                {"slurm": f"scancel {job}"},
                {"slurm": f"scontrol update NodeName=n{node} State={draw.choice(['DRAIN', 'RESUME'])} Reason=r"},
                {
                    "slurm": f"scontrol create reservation ReservationName=r{at} StartTime=now+{draw.randint(1, 60)} "
                    f"Duration={draw.randint(1, 5)} Nodes=n{node} Users=u0"
                },
            ]
        )
        events.append((float(at), json.dumps(text)))
    return [ExternalEventList.of(sorted(events), corrected=True)] if events else []


def played(seed: int, selection: str, most: int, *, is_kept: bool) -> tuple[list[Started], list[Any], list[str]]:
    """The starts, the plans, and the notes of a random simulation in which many jobs wait."""
    draw, is_shared = random.Random(seed), selection == "shared"
    count, span = draw.choice([3, 8, 12, 65]), draw.choice([60, 600])
    text = shared.configuration(draw, count) if is_shared else whole.configuration(draw, count, draw.choice([1, 2]))
    if draw.random() < 0.15:
        text += "\nPreemptType=preempt/partition_prio\nPreemptMode=REQUEUE"
    accounting = Accounting()
    if is_shared:
        jobs = []
        for number in range(draw.randint(1, most)):
            runs, data = float(draw.randint(1, 300)), json.dumps(shared.asked(draw, count, "Gres=" in text))
            at, limit = float(draw.randint(0, span)), runs * draw.uniform(0.7, 4)
            jobs.append(StaticJob(str(number), at, 1, DelayProfile(runs), walltime=limit, extra_data=data))
    else:
        jobs, _ = whole.workload(draw, count, False, most)
        rows = whole.QOS.format(jobs=draw.randint(1, 9), nodes=draw.randint(1, count), each=draw.randint(1, 4))
        if "Enforce=limits" in text:
            accounting = accounting_of([("dump", whole.DUMP), ("qos", rows)])
    events = commands(draw, len(jobs), count, span)
    scheduler = SlurmScheduler(configuration_of(text), accounting=accounting)
    with whole.noted(is_kept, selection == "in Python") as plans:
        simulate(described_platform(f"n[0-{count - 1}] cores=8"), Workload(jobs), scheduler, external_events=events)
    return scheduler.starts, plans, []


def check(seed: int, selection: str, most: int) -> None:
    """Compare both."""
    assert played(seed, selection, most, is_kept=True) == played(seed, selection, most, is_kept=False)


@pytest.mark.slow
@pytest.mark.parametrize("selection", SELECTIONS)
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_kept_plans_are_those_that_are_made_anew(selection: str, seed: int) -> None:
    check(seed, selection, 40)


@pytest.mark.minutes
@pytest.mark.parametrize("selection", SELECTIONS)
@settings(max_examples=3_000, deadline=None)
@given(st.integers(0, 10**9))
def test_many_kept_plans_are_those_that_are_made_anew(selection: str, seed: int) -> None:
    check(seed, selection, 60)


def test_most_searches_are_not_made_again() -> None:
    """While jobs come and none starts or ends, only new jobs are searched for."""
    found = Counter[bool]()
    with pytest.MonkeyPatch.context() as patch:
        find = KeptPlans.find

        def counted(plans: KeptPlans, entry: Any, terms: Any) -> Any:
            look = find(plans, entry, terms)
            found[look is not None] += 1
            return look

        patch.setattr(KeptPlans, "find", counted)
        patch.setattr(loops, "_plan", None)
        site = configuration_of("NodeName=n[0-7]\nPartitionName=all Nodes=ALL Default=YES")
        first = StaticJob("0", 0.0, 7, DelayProfile(5_000.0), walltime=6_000.0)
        last = [StaticJob(str(number), 60.0 * number, 8, DelayProfile(1.0), walltime=600.0) for number in range(1, 51)]
        simulate(described_platform("n[0-7] cores=1"), Workload([first, *last]), SlurmScheduler(site))
    assert found[True] > 3 * found[False]
