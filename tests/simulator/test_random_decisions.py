"""Whatever a decision component decides within the rules, the embedded Batsim keeps to them, and comes to an end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import Random

from batprotocol.conversation import Conversation
from batprotocol.errors import RuleViolation
from batprotocol.model import Message
from batprotocol.simulator import simulate
from batprotocol.testing import simulations

WITHOUT_ENGINE = True


@pytest.fixture
def broken() -> Iterator[list[str]]:
    """The rules that the simulator itself breaks."""
    found: list[str] = []
    receive = Conversation.receive

    def noting(self: Conversation, message: Message) -> list[object]:
        violations = receive(self, message)
        found.extend(map(str, violations))
        return list(violations)

    Conversation.receive = noting  # type: ignore[method-assign, assignment]
    yield found
    Conversation.receive = receive  # type: ignore[method-assign]


@pytest.mark.slow
def test_the_simulator_keeps_to_the_rules(broken: list[str]) -> None:
    ended, examples = 0, max(5, settings().max_examples // 2)

    @settings(max_examples=examples)
    @given(st.data(), st.integers(0, 2**32), st.booleans(), st.booleans())
    def check(data: st.DataObject, seed: int, corrected: bool, energy: bool) -> None:
        nonlocal ended
        platform = data.draw(simulations.platforms(min_hosts=3, storages=("pfs",), energy=energy))
        workload = data.draw(simulations.workloads(hosts=3, storages=("pfs",)))
        scheduler = Random(seed, len(platform.computation_hosts), energy)
        with suppress(RuleViolation):  # of what only the simulator knows
            result = simulate(platform, workload, scheduler, corrected=corrected, energy=energy)
            ended += result.is_complete
        assert not broken

    check()
    assert ended >= examples // 2
