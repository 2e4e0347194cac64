"""The pages of events and values: all is there, each thing once, and it is what the library's sources say."""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from batprotocol._schema.description import SCHEMA
from support import ROOT

from batprotocol import model
from batprotocol.schemas.commands.definitions import meanings
from batprotocol.wire.binding import RANGES

sys.path.append(str(ROOT / "tools"))

from handbook import events, pages
from handbook.events import docstrings, places
from handbook.events.examples import EXAMPLES
from handbook.events.units import UNITS

WITHOUT_ENGINE = True

REFERENCE = ROOT / "docs" / "reference"
HAND = {path: path.read_text(encoding="utf-8") for path in sorted(REFERENCE.rglob("*.md"))}
EVENT_PAGES = [REFERENCE / "events" / f"{name}.md" for name in places.EVENTS]
MARKERS = ("event", "fields", "example", "event-rules", "event-history")
MARKER = re.compile(r"<!-- generated: (.*?) -->")
ANCHOR = re.compile(r'<span id="([^"]+)">')


@cache
def completed(folder: str) -> dict[str, str]:
    """The pages of a folder of the reference, as Sphinx reads them."""
    return {
        path.stem: pages.completed(f"reference/{folder}/{path.stem}", text)
        for path, text in HAND.items()
        if path.parent.name == folder
    }


@pytest.mark.parametrize("path", EVENT_PAGES, ids=lambda path: path.stem)
def test_each_event_has_a_page_with_all_parts_and_prose(path: Path) -> None:
    assert path in HAND, (
        f"docs/reference/events/{path.name}: add a page with {', '.join(MARKERS)}, and what Batsim does"
    )
    text = HAND[path]
    assert [each.partition(" ")[0] for each in MARKER.findall(text) if each in MARKERS] == list(MARKERS)
    assert text.startswith(f"# {path.stem}\n")
    prose = re.sub(r"^#.*$", "", MARKER.sub("", text), flags=re.MULTILINE)
    assert len(prose.split()) > 30, "what Batsim does with it is told nowhere else"
    told = text.partition("## Behaviour of Batsim")[2].partition("<!--")[0]
    assert len(told.split()) > 10


def test_there_is_no_page_of_an_event_that_does_not_exist() -> None:
    found = {path.stem for path in HAND if path.parent.name == "events" and path.stem != "index"}
    assert found == set(places.EVENTS)


def test_each_thing_of_the_schema_is_on_exactly_one_page() -> None:
    found = Counter(
        each.partition(" ")[2] for text in HAND.values() for each in MARKER.findall(text) if "thing" in each
    )
    found.update(path.stem for path in EVENT_PAGES)
    expected = Counter([*SCHEMA.tables, *SCHEMA.enums, *SCHEMA.unions])
    assert not expected - found, (
        f"docs/reference/values: add <!-- generated: thing {min(expected - found)} --> to a page"
    )
    assert not found - expected, f"docs/reference/values: {min(found - expected)} is there twice, or is nothing"


def test_each_field_and_member_has_one_anchor() -> None:
    found = Counter(
        anchor
        for folder in ("events", "values")
        for text in completed(folder).values()
        for anchor in ANCHOR.findall(text)
    )
    fields = [f"{table}.{field}" for table in SCHEMA.tables for field in places.fields_of(table)]
    members = [f"{name}.{member}" for name, enum in SCHEMA.enums.items() for member in enum.values]
    assert found == Counter(fields + members)


def test_names_lead_to_where_they_are() -> None:
    for name, (page, anchor) in events.names().items():
        text = completed(page.split("/")[1])[page.rpartition("/")[2]]
        if anchor:
            assert f'<span id="{anchor}">' in text or f"## {name}\n" in text, name
        else:
            assert text.startswith(f"# {name}\n"), name


def test_mere_names_mean_what_is_on_the_page() -> None:
    killed, page = events.names_on("reference/events/JobsKilledEvent"), "reference/events/JobsKilledEvent"
    assert killed["progresses"] == (page, "JobsKilledEvent.progresses")
    assert killed["walltime"] is None  # that of a job, which is elsewhere
    triggers = events.names_on("reference/values/triggers")
    assert triggers["nb_periods"] == ("reference/values/triggers", "FinitePeriodNumber.nb_periods")
    assert triggers["time_unit"] is None  # there are two
    assert "dynamic_registration" not in killed  # it has a place, whatever the page


def test_each_number_has_a_unit() -> None:
    numbers = {
        (table.name, field.name)
        for table in SCHEMA.tables.values()
        for field in table.fields
        if (field.type.element or field.type).kind in {*RANGES, "float32", "float64"}
    }
    assert not numbers - set(UNITS), f"tools/handbook/events/units.py: add {min(numbers - set(UNITS))}"
    assert not set(UNITS) - numbers, f"tools/handbook/events/units.py: {min(set(UNITS) - numbers)} is no number"


def test_each_event_has_an_example() -> None:
    forgotten = set(places.EVENTS.values()) - set(EXAMPLES)
    assert not forgotten, f"tools/handbook/events/examples.py: add {forgotten.pop().__name__} to EXAMPLES"


def test_everything_has_a_meaning() -> None:
    """Nothing is generated without words: no field without a sentence, no member of an enum without one."""
    for name in SCHEMA.tables:
        if not places.is_hidden(name):
            kind = getattr(model, name)
            assert docstrings.said(kind), name
            assert set(meanings(kind)) >= set(places.fields_of(name)), name
    for name, enum in SCHEMA.enums.items():
        assert docstrings.said(getattr(model, name)), name
        assert {*docstrings.members(name), *enum.value_docs} == set(enum.values), name


def section(text: str, anchor: str) -> str:
    """What a page says of a field."""
    return text.partition(f'<span id="{anchor}">')[2].partition("<span id=")[0]


@pytest.mark.parametrize(
    ("anchor", "facts"),
    [
        ("JobCompletedEvent.return_code", ["integer (int32)", "−2,147,483,648 to 2,147,483,647", "`0` if absent"]),
        ("JobCompletedEvent.return_code", ["uint32 before 2026-06"]),
        ("JobsKilledEvent.progresses", ["list of `JobAndProgress`", "required"]),
        ("JobsKilledEvent.job_ids", ["at least one, none of them empty"]),
        ("JobsKilledEvent.profiles", ["can be absent (`None`)", "since 2026-06"]),
        ("CreateProbeEvent.emission_filtering_policy", ["one of `ProbeEmissionFilteringPolicy`", "`NoFiltering()`"]),
        ("CreateProbeEvent.metrics", ["`Power` if absent"]),
        ("TurnOnOffHostsEvent.host_ids", ["host set", "at least one host"]),
        ("TriggerProbeEvent.force_data_emission", ["true or false", "`true` if absent"]),
        ("EDCHelloEvent.decision_component_name", ["without comma or double quote"]),
        ("ExecuteJobEvent.allocation", ["`AllocationPlacement`", "required"]),
    ],
)
def test_facts_of_fields(anchor: str, facts: list[str]) -> None:
    text = section(completed("events")[anchor.partition(".")[0]], anchor)
    assert [fact for fact in facts if fact not in text] == []


@pytest.mark.parametrize(
    ("anchor", "facts"),
    [
        ("OneShot.time", ["integer (uint64)", "`time_unit`", "float64 before 2024-10"]),
        ("Job.walltime", ["simulated seconds", "finite", "can be absent since 2026-06"]),
        ("KillProgressAtomicProfile.progress", ["in [0, 1]"]),
        ("JobAndProgress.wrapper", ["one of `KillProgress` (on the wire in a `KillProgressWrapper`)"]),
        ("ParallelTaskProfile.computation_vector", ["list of numbers (float64)", "flops", "can be absent"]),
        ("FinalJobState.COMPLETED_KILLED", ["= 3", "KillJobsEvent"]),
    ],
)
def test_facts_of_values(anchor: str, facts: list[str]) -> None:
    page = places.place(anchor.partition(".")[0])[0].rpartition("/")[2]
    text = section(completed("values")[page], anchor)
    assert [fact for fact in facts if fact not in text] == []


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("JobsKilledEvent", ["Sent by\n  - Batsim", "`KillJobsEvent`", "`Scheduler.on_jobs_killed`", "`JOB_KILLED`"]),
        ("JobSubmittedEvent", ["`JOB_SUBMITTED`", "`S` in text-0 to text-3"]),
        ("KillJobsEvent", ["Answer\n  - `JobsKilledEvent`", "`KILL_JOB`", "`MessageBuilder.add_kill_jobs`"]),
        ("SimulationBeginsEvent", ["`SIMULATION_BEGINS`", "in Batsim's first message", "`A` in text-3"]),
        ("RegisterJobEvent", ["`SUBMIT_JOB` before 3.0", "`REGISTER_JOB` since 3.0"]),
        ("RejectJobEvent", ["`REJECT_JOB`", "`R` in text-1 to text-3", "in the last reply without effect"]),
        ("FinishRegistrationEvent", ["- `NOTIFY` of `submission_finished` or `registration_finished`\n"]),
        ("AllStaticExternalEventsHaveBeenInjectedEvent", ["`NOTIFY` of `no_more_external_event_to_occur` since 3.1"]),
        ("SimulationErrorEvent", ["no such event", "no such stamp"]),
        ("RegisterProfileEvent", ["`SUBMIT_PROFILE` since 1.4, before 3.0 and `REGISTER_PROFILE` since 3.0"]),
        ("AllStaticJobsHaveBeenSubmittedEvent", ["`no_more_static_job_to_submit` since 3.0", "no such stamp"]),
        ("CreateProbeEvent", ["`QUERY` since 2.0", "`QUERY_REQUEST` before 2.0", "`E` in text-1 to text-3"]),
        ("TurnOnOffHostsEvent", ["`SET_RESOURCE_STATE`", "schema](../../howto/read-other-schemas.md) of 2026-06"]),
        ("EDCHelloEvent", ["`ExternalDecisionComponentHelloEvent` before 2023-07-18", "JSON, Batsim 1 to 4\n  - no"]),
        ("ForceSimulationStopEvent", ["JSON, Batsim 1 to 4\n  - no such event", "of 2023-07-18"]),
    ],
)
def test_what_is_told_of_an_event(name: str, facts: list[str]) -> None:
    text = completed("events")[name]
    assert [fact for fact in facts if fact not in text] == []


def test_the_index_has_all_events_by_who_says_them() -> None:
    batsim, _, component = completed("events")["index"].partition("## From the decision component")
    for part, kinds in ((batsim, model.BATSIM_TO_EDC), (component, model.EDC_TO_BATSIM)):
        assert re.findall(r"^\* - `(\w+)`\n  - .+\.$", part, flags=re.MULTILINE) == [kind.__name__ for kind in kinds]
