"""Tables of watts, and numbers of watts: what a machine may draw at most over time."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from batprotocol.errors import InputError
from batprotocol.workloads.electricity import parse_power
from batprotocol.workloads.electricity.tables import cap_named

WITHOUT_ENGINE = True


@pytest.mark.parametrize(
    ("text", "watts"), [("4kW", 4000.0), ("4000", 4000.0), ("1.5 MW", 1.5e6), ("2e3w", 2000.0), (".5GW", 5e8)]
)
def test_numbers_of_watts(text: str, watts: float) -> None:
    assert parse_power(text) == watts
    assert cap_named(text).at(1e12) == watts


@pytest.mark.parametrize("text", ["", "kW", "-4kW", "4 k", "4kWh", "1_000", "4kW4", "inf", "nan", "1e999"])
def test_what_is_no_number_of_watts(text: str) -> None:
    with pytest.raises(InputError, match="expected a number of watts"):
        parse_power(text)


def of(folder: Path, lines: str, options: str = "") -> list[float]:
    (folder / "cap.csv").write_text(lines)
    trace = cap_named(f"cap.csv{options}", str(folder))
    return [trace.at(time) for time in (0.0, 3599.0, 3600.0, 90000.0)]


def test_times_are_seconds_of_the_simulation_or_moments(tmp_path: Path) -> None:
    assert of(tmp_path, "time,watts\n0,4000\n3600,2500\n") == [4000.0, 4000.0, 2500.0, 2500.0]
    assert of(tmp_path, "time,Cap (kW)\n3600,2.5\n7200,1\n") == [2500.0, 2500.0, 2500.0, 1000.0]
    assert of(tmp_path, "time;limit\n2020-01-01 00:00;4000\n2020-01-01 01:00;2500\n") == [4000, 4000, 2500, 2500]
    assert of(tmp_path, "time,power\n0,4000\n3600,2500\n", "?repeat=24h") == [4000.0, 4000.0, 2500.0, 4000.0 - 1500.0]
    assert of(tmp_path, "time,power\n0,4000\n3600,2500\n", "?repeat=90000s") == [4000.0, 4000.0, 2500.0, 4000.0]
    assert of(tmp_path, "time,power\n0,4000\n", "?unit=kW") == [4e6] * 4


@pytest.mark.parametrize(
    ("lines", "options", "why"),
    [
        ("time,watts\n0,-1\n", "", "a number of watts >= 0"),
        ("time,watts\n0,1\n0,2\n", "", "two rows for one time"),
        ("time,price\n0,1\n", "", "expected a column of watts"),
        ("time,watts\n0,\n9,5\n", "", "the first row has no value"),
        ("time,watts\n", "", "expected a row with values at least, got 0"),
        ("time,watts\n0,1\n3600,2\n", "?repeat=1h", "a time of more than 3600 s"),
        ("time,watts\n0,1\n", "?unit=g/kWh", "expected a unit such as W, kW or MW"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, lines: str, options: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        of(tmp_path, lines, options)


def test_a_daily_curve_is_no_cap() -> None:
    with pytest.raises(InputError, match="a number of watts or a table"):
        cap_named("daily:300")
    assert math.isinf(cap_named("300").end)
