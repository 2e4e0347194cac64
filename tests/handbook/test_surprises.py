"""The page of surprises: each row names a version and what shows it, and each script in `findings` has a row."""

from __future__ import annotations

import re
import sys

import pytest
from support import ROOT

sys.path.append(str(ROOT / "tools"))
from handbook.surprises import SUBJECTS, SURPRISES, Surprise

WITHOUT_ENGINE = True
pytestmark = pytest.mark.once

SCRIPTS = sorted(each.name for each in (ROOT / "findings").glob("[!_]*.sh"))


def _anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as Sphinx and GitHub make them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("place", sorted({place for row in SURPRISES for place in row.shown}))
def test_what_shows_a_surprise_exists(place: str) -> None:
    if place.startswith("docs/"):
        path, _, anchor = place.partition("#")
        assert anchor in _anchors((ROOT / path).read_text(encoding="utf-8"))
    elif place.startswith("tests/"):
        path, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
    else:
        assert place.removeprefix("findings/") in SCRIPTS


@pytest.mark.parametrize("row", SURPRISES, ids=lambda row: row.behaviour[:40])
def test_a_row_is_whole(row: Surprise) -> None:
    assert row.shown
    assert all((row.behaviour, row.guess, row.here))
    assert re.search(r"\d+\.\d+|spreadsheets|manual", row.of), "it has no version"


def test_rows_stand_by_subject_and_once() -> None:
    order = [list(SUBJECTS).index(row.subject) for row in SURPRISES]
    assert order == sorted(order)
    assert set(order) == set(range(len(SUBJECTS)))
    assert len({row.behaviour for row in SURPRISES}) == len(SURPRISES) >= 50


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_finding_has_a_row_and_the_form(script: str) -> None:
    """Its header has the versions, the guess, what was seen, and what is done here; the versions are its row's."""
    text = (ROOT / "findings" / script).read_text(encoding="utf-8")
    header = re.match(r"#!/usr/bin/env bash\n((?:#.*\n)+)", text)
    assert header
    assert re.findall(r"^# (Versions|Guess|Seen|Here):", header[1], re.MULTILINE) == [
        "Versions",
        "Guess",
        "Seen",
        "Here",
    ]
    rows = [row for row in SURPRISES if f"findings/{script}" in row.shown]
    assert rows
    versions = re.split(r"\n# Guess:", header[1])[0]
    found = {version for row in rows for version in re.findall(r"\d+(?:\.\d+)+", row.of)}
    assert any(version in versions for version in found)
    assert "batprotocol" not in text.replace(header[1], "")
