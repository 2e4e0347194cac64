"""The decisions of the real CiGri, recorded, and ours upon the same input: they differ only where CiGri has a trap."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from cigri_decisions import TRAPS, agree, decide, trap_of
from support import DATA, ROOT, SHARED

WITHOUT_ENGINE = True

RECORDINGS = SHARED / "cigri" if (SHARED / "cigri").is_dir() else DATA / "cigri"
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in (RECORDINGS / "decisions.jsonl").open()]
NEIGHBOURS: list[dict[str, Any]] = [json.loads(line) for line in (DATA / "cigri" / "neighbours.jsonl").open()]
"""Random inputs like the recorded ones, decided by CiGri 2's parser, predictor and forecast taken out of it."""


@pytest.mark.parametrize("place", range(len(RECORDS)), ids=lambda place: f"{place}-{RECORDS[place]['kind']}")
def test_it_decides_as_the_real_one(place: int) -> None:
    record = RECORDS[place]
    decision = decide(record)
    assert agree(record, decision) or trap_of(record), (decision, record["decision"])


@pytest.mark.parametrize("records", [RECORDS, NEIGHBOURS], ids=["recorded", "neighbours"])
def test_nearly_all_are_equal(records: list[dict[str, Any]]) -> None:
    differing = [record for record in records if not agree(record, decide(record))]
    assert len(differing) <= round(0.05 * len(records)), f"{len(differing)} of {len(records)} differ"
    assert Counter(map(trap_of, differing)).keys() <= TRAPS.keys()


def test_the_documentation_has_each_trap() -> None:
    page = (ROOT / "docs" / "explanation" / "campaigns.md").read_text()
    differing = sum(not agree(record, decide(record)) for record in RECORDS)
    assert [name for name in TRAPS if f"| {name} |" not in page] == []
    if RECORDINGS == SHARED / "cigri":
        assert f"{len(RECORDS) - differing} of {len(RECORDS)}" in page
