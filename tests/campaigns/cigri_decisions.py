"""Recorded decisions of the real CiGri, and ours upon the same input: `decide` gives what a record's `decision` holds.

Each kind of record has a function that brings its input into our values, asks the entity, and brings the answer into
the record's words. What a record holds besides the decision (echoes of files, the rounding of a database's column) is
left out by `agree`, for both sides.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import cigri2_decisions
import cigri3_decisions
import msgspec
import pytest
from cigri_records import Record

DECIDERS: dict[str, Callable[[Any], Any]] = cigri3_decisions.DECIDERS | cigri2_decisions.DECIDERS
COMPARED: dict[str, Callable[[Any], Any]] = cigri3_decisions.COMPARED | cigri2_decisions.COMPARED
JITTER = {"average": 1.0, "stddev": 1.0}


def decide(record: Record) -> Any:
    """Our decision upon the input of a record, in its words."""
    return DECIDERS[record["kind"]](record["input"])


def agree(record: Record, decision: Any) -> bool:
    """Whether a decision of ours is that of the record."""
    compared = COMPARED.get(record["kind"], lambda decision: decision)
    ours, real = (msgspec.json.decode(msgspec.json.encode(compared(each))) for each in (decision, record["decision"]))
    if record["kind"] == "jdl" and "error" in real:
        return "error" in ours and _refused_alike(ours["message"], real)
    if record["kind"] == "forecast of end" and ours["seconds_to_end"] is None:
        return not real["seconds_to_end"]  # a 0 is what nobody knows
    if record["kind"] == "predictor" and ours.keys() == real.keys():  # the recording's clock went on for a second
        return all(ours[key] == pytest.approx(real[key], abs=JITTER.get(key, 0.0)) for key in real)
    return bool(ours == real)


def _refused_alike(message: str, real: Record) -> bool:
    """Whether a refusal says what CiGri's own words say; those of Ruby and the database are not compared."""
    own = real["error"].startswith("Cigri::") and not real["message"].startswith("JDL badly defined")
    return message == real["message"] if own else bool(message)


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


def _fewer_than_none(given: dict[str, Any]) -> bool:
    try:
        jdl = {key.lower(): value for key, value in json.loads(given["jdl"]).items()}
    except (ValueError, AttributeError):
        return False
    number = jdl.get("nb_jobs")
    return not jdl.get("params") and isinstance(number, int | float) and number < 0


TRAPS: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "neighbouring tests": ("metascheduler+affinity scheduler", _neighbouring_tests),
    "fewer tasks than none": ("jdl", _fewer_than_none),
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
docs/explanation/campaigns.md says what is better here."""


def trap_of(record: dict[str, Any]) -> str | None:
    """The trap that a record's input leads into, if any."""
    found = (name for name, (kind, leads) in TRAPS.items() if kind == record["kind"] and leads(record["input"]))
    return next(found, None)


def main() -> None:
    """Compare the decisions in files, and show those that differ."""
    records = [json.loads(line) for path in sys.argv[1:] for line in Path(path).read_text().splitlines()]
    differing = 0
    for place, record in enumerate(records):
        decision = decide(record)
        if not agree(record, decision):
            differing += 1
            print(f"{place}: {record['kind']}: {trap_of(record) or 'no trap'}")
            print(f"  ours: {json.dumps(decision)}\n  real: {json.dumps(record['decision'])}")
    print(f"{len(records) - differing} of {len(records)} are equal")


if __name__ == "__main__":
    main()
