"""The default values of the package are those that are known."""

from __future__ import annotations

import math

import defaults
import pytest

from batprotocol.policies import FCFS, AsRequested, First, NoBackfilling, Policy

WITHOUT_ENGINE = True


def test_the_defaults_are_those_that_are_known() -> None:
    defaults.check("policies")


def test_the_options_of_a_policy_have_the_defaults_that_are_known() -> None:
    policy = Policy()
    assert (policy.each, policy.keeps, policy.risk, policy.replays) == (False, False, False, False)
    assert (policy.resolution, policy.switching.after) == (1e-3, math.inf)
    assert (policy.rules, policy.failures, policy.starts, policy.cap) == (None, None, None, None)
    assert (type(policy.order), type(policy.backfilling)) == (FCFS, NoBackfilling)
    assert (type(policy.allocation), type(policy.walltimes)) == (First, AsRequested)


def test_an_option_that_a_policy_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Policy\(\) got an unexpected keyword argument 'cape'"):
        Policy(cape=None)  # type: ignore[call-arg]
