"""Hosts are switched off when they have nothing to do, and on for the jobs that get them."""

from __future__ import annotations

import pytest

from batprotocol.model import HostsTurnedOnOffEvent, Message
from batprotocol.policies import Policy, named
from batprotocol.simulator import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, Result, simulate

WITHOUT_ENGINE = True


def simulated(policy: Policy) -> tuple[Result, list[HostsTurnedOnOffEvent]]:
    switched: list[HostsTurnedOnOffEvent] = []

    def look(message: Message, reply: Message) -> None:
        switched.extend(event for event in message.events if isinstance(event, HostsTurnedOnOffEvent))

    result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, policy, energy=True, on_turn=look)
    assert result.is_complete
    return result, switched


@pytest.mark.slow
def test_switching_idle_hosts_off_saves_energy() -> None:
    always_on, none = simulated(named("easy")())
    sleeping, some = simulated(named("easy+off=600")())
    assert none == []
    assert {event.state for event in some} == {0, 2}  # the power states to compute and to sleep in
    saved, kept = sleeping.metrics().consumed_joules, always_on.metrics().consumed_joules
    assert saved is not None
    assert kept is not None
    assert saved < 0.95 * kept


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["off=0", "off=600+first", "conservative+off=60+best-contiguous", "sjf+greedy+off=1", "shared=3+off=9"]
)
def test_all_jobs_run_whoever_sleeps(name: str) -> None:
    result, switched = simulated(named(name)())
    assert result.nb_jobs_finished == 250
    assert switched
