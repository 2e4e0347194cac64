"""Recorded decisions of the real CiGri, and ours upon the same input: `decide` gives what a record's `decision` holds.

Each kind of record has a function that brings its input into our values, asks the entity, and brings the answer into
the record's words. What a record holds besides the decision (echoes of files, the rounding of a database's column) is
left out by `agree`, for both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cigri2_decisions
import cigri3_decisions
import msgspec
import pytest

Record = dict[str, Any]
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
