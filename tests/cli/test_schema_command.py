"""`batproto schema`: the names of the schema, and what is known of each."""

from __future__ import annotations

import re

import pytest
from commands import run, run_here, run_on_terminal

WITHOUT_ENGINE = True


def test_the_schema_lists_its_names_events_first() -> None:
    lines = run_here("schema").out.splitlines()
    assert lines[:2] == ["Events from Batsim", "  JobSubmittedEvent"]
    for name in ("  ExecuteJobEvent", "  Job", "  TemporalTrigger", "  FinalJobState", "Tables", "Unions", "Enums"):
        assert name in lines
    assert lines.index("  ExecuteJobEvent") < lines.index("Tables") < lines.index("Unions") < lines.index("Enums")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("job", "table Job"),
        ("Job", "  walltime: float64 = null"),
        ("Job", "  profile_id: string (required)"),
        ("Host", "  computation_speed: [float64] (required)"),
        ("Host", "  properties: [HostProperty] = null"),
        ("Host", "  state: HostState = SLEEPING"),
        ("Host", "  core_count: uint32 = 1"),
        ("TriggerProbe", "  force_data_emission: bool = true"),
        ("JobCompletedEvent", "      The job's final state."),
        ("jobcompleted", "table JobCompletedEvent: an event that Batsim sends"),
        ("CallMeLater", "  when: TemporalTrigger (required)"),
        ("CallMeLater", '      One of OneShot, Periodic; "when_type" names it in JSON.'),
        ("SimulationEnds", "  no fields"),
        ("finaljobstate", "enum FinalJobState: int8"),
        ("FinalJobState", "  COMPLETED_KILLED = 3"),
        ("FinalJobState", "      Job executed but killed by the decision process."),
        ("TemporalTrigger", "union TemporalTrigger"),
        ("TemporalTrigger", "  Periodic = 2"),
        ("ExternalEvent", "union ExternalEvent"),
    ],
)
def test_the_schema_of_a_name(name: str, expected: str) -> None:
    result = run_here("schema", name)
    assert result.status == 0
    assert expected in result.out.splitlines()


@pytest.mark.slow
def test_comments_are_wrapped_on_a_terminal_only() -> None:
    _, shown = run_on_terminal("schema", "CallMeLater", variables={"COLUMNS": "60"})
    comments = [line for line in re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines() if line.startswith("      ")]
    assert 50 < max(map(len, comments)) <= 60
    assert max(map(len, run("schema", "CallMeLater").out.splitlines())) > 100


def test_an_unknown_name_gets_suggestions() -> None:
    result = run_here("schema", "JobStat")
    assert result.status == 2
    assert "did you mean" in result.err
    assert "FinalJobState" in result.err
    assert result.err.count("\n") == 1
