"""The drawn figures are what their sources say, have all events of the tables in them, and follow the page's theme."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from servers import find
from support import ROOT

from batprotocol.conversation.automaton import HOSTS, JOBS, REGISTRATION, HostPower, JobState, Phase, Registration
from batprotocol.model import BATSIM_TO_EDC, EDC_TO_BATSIM, KillJobsEvent, RejectJobEvent

sys.path.append(str(ROOT / "tools"))

import draw
from drawing import automata

WITHOUT_ENGINE = True

NAMES = sorted(draw.sources())


def figure(name: str) -> str:
    return (draw.FIGURES / f"{name}.svg").read_text(encoding="utf-8")


def test_figures_are_drawn_from_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert draw.main(["--check"]) == 0, capsys.readouterr().err


def test_a_change_of_a_table_is_noticed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    changed = {**JOBS, JobState.REJECTED: {KillJobsEvent: JobState.REJECTED}}
    monkeypatch.setattr(automata, "JOBS", changed)
    assert draw.main(["--check"]) == 1
    assert capsys.readouterr().err == "docs/figures/jobs.svg does not match its source: run tools/draw.py\n"


def test_without_graphviz_it_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert draw.main(["--all"]) == 1
    assert "apt-get install graphviz" in capsys.readouterr().err


def test_the_phases_have_every_event() -> None:
    linked = set(re.findall(r'href="\.\./reference/events/(\w+)\.md"', figure("phases")))
    assert linked == {event.__name__ for event in (*BATSIM_TO_EDC, *EDC_TO_BATSIM)}


@pytest.mark.parametrize(
    ("name", "states", "table"),
    [
        ("phases", Phase, {}),
        ("jobs", JobState, JOBS),
        ("hosts", HostPower, HOSTS),
        ("registration", Registration, REGISTRATION),
    ],
)
def test_automata_have_their_states_and_events(
    name: str, states: type, table: dict[object, dict[type, object]]
) -> None:
    words = [element.text for element in ElementTree.fromstring(figure(name)).iter("{http://www.w3.org/2000/svg}text")]
    assert {state.name for state in states} <= set(words)
    for event in {event for steps in table.values() for event in steps}:
        arrows = sum(event in steps for steps in table.values())
        assert words.count(event.__name__.removesuffix("Event")) == arrows


@pytest.mark.parametrize("name", [*NAMES, "turn"])
def test_all_colours_are_the_theme_s(name: str) -> None:
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', figure(name)))
    assert colours <= {"none", *(f"var({theme}, {colour})" for colour, theme in draw.COLOURS.items())}
    assert not re.search(r'\bid="|font-family="(?!var)', figure(name)), "there may be several figures on a page"


def test_links_lead_to_pages() -> None:
    for name in NAMES:
        for link in re.findall(r'href="([^"]*)"', figure(name)):
            assert (draw.FIGURES / link).is_file(), f"{name}: {link}"


def test_the_turn_that_is_drawn_is_that_of_the_page() -> None:
    """It is drawn by hand, but for the handbook's page of time, whose first example is run by the tests."""
    page = (draw.FIGURES.parent / "explanation" / "time.md").read_text(encoding="utf-8")
    times = re.findall(r"\b\d+\.\d{5}\b", figure("turn"))
    assert len(times) == 4
    first = page[: page.index("## A message takes time")]
    assert [time for time in times if time not in first] == []


def test_drawing_gives_text_as_text_and_refuses_other_colours() -> None:
    find("dot")
    drawn = draw.drawn('digraph { a [label="left & right"] a -> b }')
    root = ElementTree.fromstring(drawn.partition("\n")[2])
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["left & right", "b"]
    assert float(root.get("width", "0")) > 50
    with pytest.raises(SystemExit, match=r"^red is not a colour of figures"):
        draw.drawn("digraph { a [color=red] }")


def test_events_say_who_says_them() -> None:
    text = figure("jobs")
    edc = re.search(r'<text [^>]*fill="([^"]*)"[^>]*>RejectJob<', text)
    batsim = re.search(r'<text [^>]*fill="([^"]*)"[^>]*>JobCompleted<', text)
    assert RejectJobEvent in EDC_TO_BATSIM
    assert edc is not None
    assert batsim is not None
    assert "--color-brand-content" in edc[1]
    assert "--color-foreground-primary" in batsim[1]
