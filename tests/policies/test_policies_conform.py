"""Policies break no rule, whatever Batsim has in store: jobs that fail, hosts with gaps, several workloads."""

from __future__ import annotations

import pytest

from batprotocol.policies import PARTS, named
from batprotocol.testing import conformance

WITHOUT_ENGINE = True

SOME = [
    "easy-sjf",
    "saf+conservative",
    "wfp3+reservations=3+best-contiguous+each+keep",
    "multifactor+greedy+zones",
    "predicted+conservative+contiguous",
    "easy+shared=3+off=5",
    "f1+last+easy=fcfs,no-spare,strict,once+keep+each+resolution=1",
]
WAITING = [
    "easy+wait=daily:300?step=1min,slack=10min",
    "conservative+wait=daily:300?step=1min,slack=10min,interruptible",
    "sjf+greedy+wait=daily:300?step=1min,slack=10min,queue=20%,error=10%",
]


def conforms(name: str, examples: int) -> None:
    ignored = ["job.over-allocation"] if "shared" in name else []
    report = conformance.check(named(name), examples=examples, ignore=ignored)
    assert report.simulations == examples
    assert report.counts["ExecuteJobEvent"] > examples


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_a_policy_breaks_no_rule(name: str) -> None:
    conforms(name, 25)


@pytest.mark.minutes
@pytest.mark.parametrize(
    "name",
    [*SOME, *WAITING, *(name for name, part in PARTS.items() if part.kind not in ("settings", "starts", "power"))],
)
def test_a_policy_breaks_no_rule_in_1000_simulations(name: str) -> None:
    conforms(name, 1000)
