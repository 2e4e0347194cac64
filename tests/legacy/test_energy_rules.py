"""Questions about energy: what shows a simulation of energy, and what each Batsim answers without one."""

from __future__ import annotations

import json

import pytest
from old_runs import old_run
from test_old_kinds import BOTH, ONE, RUNS, said
from test_old_rules import NOTHING, SUBMITTED

from batprotocol.legacy.conversation import Conversation

WITHOUT_ENGINE = True


@pytest.mark.parametrize("version", ["batsim-1.0.0", "batsim-1.2.0", ONE, "batsim-2.0.0"])
def test_energy_that_is_not_simulated_is_a_warning_where_batsim_answers(version: str) -> None:
    conversation = Conversation(version)
    for message in (old_run(RUNS[ONE, ""]).messages[0][1], NOTHING, SUBMITTED):
        assert conversation.feed(message) == []
    query = (
        ("QUERY", {"requests": {"consumed_energy": {}}})
        if version == "batsim-2.0.0"
        else ("QUERY_REQUEST", {"consumed_energy": {}})
    )
    assert [(found.rule, found.severity) for found in conversation.feed(said([query]))] == [
        ("query.no-energy", "warning")
    ]


@pytest.mark.parametrize("key", ["watt_per_state", "watt_off", "wattage_per_state", "wattage_off", "sleep_pstates"])
@pytest.mark.parametrize("version", BOTH)
def test_a_host_with_any_property_of_energy_may_have_energy(version: str, key: str) -> None:
    begins = json.loads(old_run(RUNS[version, ""]).messages[0][1])
    data = begins["events"][0]["data"]
    data["resources_data" if version == ONE else "compute_resources"][0]["properties"] = {key: "1:2:3"}
    conversation = Conversation(version)
    for message in (json.dumps(begins).encode(), NOTHING, SUBMITTED):
        assert conversation.feed(message) == []
    query = ("QUERY_REQUEST", {"consumed_energy": {}})
    assert conversation.feed(said([query if version == ONE else ("QUERY", {"requests": query[1]})])) == []
