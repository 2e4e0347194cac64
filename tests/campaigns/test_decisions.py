"""The decisions of the real CiGri, recorded, and ours upon the same input: they differ only where CiGri has a trap."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from cigri_decisions import agree, decide
from support import DATA, ROOT, SHARED

WITHOUT_ENGINE = True

RECORDINGS = SHARED / "cigri" if (SHARED / "cigri").is_dir() else DATA / "cigri"
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in (RECORDINGS / "decisions.jsonl").open()]


def _neighbouring_tests(given: dict[str, Any]) -> bool:
    tests = [
        {name for name, said in each["clusters"].items() if said.get("test_mode") == "true"}
        for each in given["campaigns"]
    ]
    return any(one & other for one, other in pairwise(tests))


def _grows(given: dict[str, Any]) -> bool:
    return bool(given["remote_waiting"] <= given["max_resources"] * (given["flood_rate"] or 0.5))


def _free(given: dict[str, Any]) -> int:
    free = given["free_at_last_status"]
    return int(given["nodes_free"] if free is None else free)


TRAPS: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "neighbouring tests": ("metascheduler+affinity scheduler", _neighbouring_tests),
    "nothing submitted or running": (
        "predictor",
        lambda given: _grows(given) and not (_free(given) * (given["old_ratio"] or 0) and given["running"]),
    ),
    "down forgets the old ratio": (
        "predictor",
        lambda given: not _grows(given) and (given["old_ratio"] or 1) != 1,
    ),
    "a row is left in jobsToSubmit": (
        "metascheduler",
        lambda given: any("to_submit" in each for each in given["campaigns"]),
    ),
    "what waits on a cluster waits to be ordered": (
        "metascheduler",
        lambda given: any("remote_waiting" in each for each in given["campaigns"]),
    ),
}
"""The traps of CiGri that the records meet, by the kind of record and what in its input leads into them. The table in
docs/campaigns.md says what is better here."""


def trap_of(record: dict[str, Any]) -> str | None:
    """The trap that a record's input leads into, if any."""
    found = (name for name, (kind, leads) in TRAPS.items() if kind == record["kind"] and leads(record["input"]))
    return next(found, None)


@pytest.mark.parametrize("place", range(len(RECORDS)), ids=lambda place: f"{place}-{RECORDS[place]['kind']}")
def test_it_decides_as_the_real_one(place: int) -> None:
    record = RECORDS[place]
    decision = decide(record)
    assert agree(record, decision) or trap_of(record), (decision, record["decision"])


def test_nearly_all_are_equal() -> None:
    differing = [record for record in RECORDS if not agree(record, decide(record))]
    assert len(differing) <= 0.05 * len(RECORDS), f"{len(differing)} of {len(RECORDS)} differ"
    assert Counter(map(trap_of, differing)).keys() <= TRAPS.keys()


def test_the_documentation_has_each_trap() -> None:
    page = (ROOT / "docs" / "campaigns.md").read_text()
    differing = sum(not agree(record, decide(record)) for record in RECORDS)
    assert [name for name in TRAPS if f"| {name} |" not in page] == []
    if RECORDINGS == SHARED / "cigri":
        assert f"{len(RECORDS) - differing} of {len(RECORDS)}" in page
