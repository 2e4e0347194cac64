"""Tables of publishers, with their headers, units and zones, and what is refused."""

from __future__ import annotations

import contextlib
import gzip
import lzma
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import SHARED

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError
from batprotocol.workloads.electricity import Trace, parse_unit, read_table
from batprotocol.workloads.electricity.tables import trace_named

WITHOUT_ENGINE = True

NEW_YEAR = 1577836800.0  # 2020-01-01 in UTC

MAPS = """Datetime (UTC),Country,Zone name,Zone id,Carbon intensity gCO₂eq/kWh (direct),\
Carbon intensity gCO₂eq/kWh (Life cycle),Renewable energy percentage (RE%)
2020-01-01 00:00:00,Germany,Germany,DE,310.5,360,40.1
2020-01-01 01:00:00,Germany,Germany,DE,305,355,41.2
"""
WATTTIME = "timestamp,MOER\n2020-01-01T00:00:00+00:00,1000\n2020-01-01T00:05:00+00:00,900\n"
ESO = """Datetime (UTC),Actual Carbon Intensity (gCO2/kWh),Forecast Carbon Intensity (gCO2/kWh),Index
2020-01-01T00:00Z,180,185,moderate
2020-01-01T00:30Z,175,180,moderate
"""
WATTTIME_3 = """,point_time,value,region,signal_type
0,2020-01-01 00:00:00+00:00,1000,CAISO_NORTH,co2_moer
1,2020-01-01 00:05:00+00:00,900,CAISO_NORTH,co2_moer
"""
MIX = """DATETIME,GAS,COAL,GENERATION,CARBON_INTENSITY,LOW_CARBON,GAS_perc,LOW_CARBON_perc
2020-01-01 00:00:00,8369,15037,33581,529,7655,24.9,22.8
2020-01-01 00:30:00,8369,15037,33581,530,7655,24.9,22.8
"""
INTERVALS = """from,to,forecast,actual,index
2020-01-01T00:00Z,2020-01-01T00:30Z,185,180,moderate
2020-01-01T00:30Z,2020-01-01T01:00Z,180,175,moderate
"""
REGIONS = """datetime,North Scotland,South Scotland
2020-01-01T00:00:00,50,60
2020-01-01T00:30:00,51,61
"""
ENTSOE = """"MTU (CET/CEST)","Area","Sequence","Day-ahead Price (EUR/MWh)"
"01/01/2020 00:00 - 01/01/2020 01:00","BZN|FR","Sequence 1","41.88"
"01/01/2020 00:00 - 01/01/2020 01:00","BZN|FR","Sequence 2","40"
"01/01/2020 01:00 - 01/01/2020 02:00","BZN|FR","Sequence 1","-3.5"
"""
EMBER = """Country,ISO3 Code,Datetime (UTC),Datetime (Local),Price (EUR/MWhe)
Austria,AUT,2020-01-01 00:00:00,2020-01-01 01:00:00,50
Austria,AUT,2020-01-01 01:00:00,2020-01-01 02:00:00,45
France,FRA,2020-01-01 00:00:00,2020-01-01 01:00:00,55
France,FRA,2020-01-01 01:00:00,2020-01-01 02:00:00,52
"""


@pytest.mark.parametrize(
    ("text", "options", "begin", "values", "step", "unit"),
    [
        (MAPS, {}, NEW_YEAR, [310.5, 305.0], 3600, "g/kWh"),
        (MAPS, {"column": "life cycle"}, NEW_YEAR, [360.0, 355.0], 3600, "g/kWh"),
        (WATTTIME, {}, NEW_YEAR, [453.59237, 408.233133], 300, "g/kWh"),
        (WATTTIME_3, {}, NEW_YEAR, [453.59237, 408.233133], 300, "g/kWh"),
        (WATTTIME_3.replace("co2_moer", "health_damage"), {"unit": "USD/MWh"}, NEW_YEAR, [1.0, 0.9], 300, "USD/kWh"),
        (MAPS, {"unit": "kg/MWh"}, NEW_YEAR, [310.5, 305.0], 3600, "g/kWh"),
        (ESO, {}, NEW_YEAR, [180.0, 175.0], 1800, "g/kWh"),
        (MIX, {}, NEW_YEAR, [529.0, 530.0], 1800, "g/kWh"),
        (INTERVALS, {}, NEW_YEAR, [180.0, 175.0], 1800, "g/kWh"),
        (INTERVALS, {"column": "forecast"}, NEW_YEAR, [185.0, 180.0], 1800, "g/kWh"),
        (REGIONS, {"column": "south scotland", "unit": "g/kWh"}, NEW_YEAR, [60.0, 61.0], 1800, "g/kWh"),
        (ESO, {"column": "forecast"}, NEW_YEAR, [185.0, 180.0], 1800, "g/kWh"),
        (ENTSOE, {}, NEW_YEAR - 3600, [0.04188, -0.0035], 3600, "EUR/kWh"),
        (EMBER, {"region": "fra"}, NEW_YEAR, [0.055, 0.052], 3600, "EUR/kWh"),
        ("time;price\n2020-01-01;10\n2020-01-02;12,5\n", {"unit": "ct/kWh"}, NEW_YEAR, [0.1, 0.125], 86400, "EUR/kWh"),
        ("Time,CO2\n2020-01-02,2\n2020-01-01,1\n", {"unit": "kg/MWh"}, NEW_YEAR, [1.0, 2.0], 86400, "g/kWh"),
    ],
)
def test_tables_of_publishers(
    text: str, options: dict[str, Any], begin: float, values: list[float], step: float, unit: str
) -> None:
    trace = read_table(text.splitlines(keepends=True), **options).trace
    assert list(trace.times) == [begin, begin + step]
    assert list(trace.values) == pytest.approx(values, rel=1e-12)
    assert (trace.end, trace.unit) == (begin + 2 * step, unit)


def hourly(*times: str) -> list[str]:
    return ["time,carbon", *(f"{time},{100 + number}" for number, time in enumerate(times))]


def test_the_hour_that_comes_twice() -> None:
    lines = hourly("2026-10-25T01:00", "2026-10-25T02:00", "2026-10-25T02:00", "2026-10-25T03:00")
    trace = read_table(lines, zone="Europe/Paris").trace
    assert [time - trace.begin for time in trace.times] == [0.0, 3600.0, 7200.0, 10800.0]


def test_the_hour_that_does_not_come() -> None:
    trace = read_table(hourly("2026-03-29T01:00", "2026-03-29T03:00", "2026-03-29T04:00"), zone="Europe/Paris").trace
    assert [time - trace.begin for time in trace.times] == [0.0, 3600.0, 7200.0]


def test_missing_values_are_counted() -> None:
    left_out = LeftOut()
    lines = ["time,carbon", "2020-01-01T00:00,1", "2020-01-01T01:00,N/A", "2020-01-01T02:00,3", "2020-01-01T05:00,4"]
    trace = read_table(lines, left_out=left_out).trace
    assert [trace.at(NEW_YEAR + hour * 3600) for hour in range(6)] == [1, 1, 3, 3, 3, 4]
    assert [(each.lines, each.is_row) for each in left_out] == [((3,), False), ((5,), False)] or len(
        list(left_out)
    ) == 2


@pytest.mark.parametrize(
    ("lines", "options", "words"),
    [
        ([], {}, "line 1: expected a header with the names of columns, and the line is empty"),
        (["\n", "time,carbon\n"], {}, "line 1: expected a header"),
        (["time,carbon"], {}, "two rows with values at least, got 0"),
        (hourly("2020-01-01T00:00", "2020-01-01T00:00", "2020-01-02"), {}, "line 3: there are two rows for one time"),
        (hourly("2020-01-01", "2020-01-03", "2020-01-02", "2020-01-04"), {}, "line 4: its time is earlier"),
        (hourly("2020-01-01", "yesterday"), {}, "line 3: expected a time such as .*, got 'yesterday'"),
        (["time,carbon", "2020-01-01,-3", "2020-01-02,1"], {}, "line 2: expected a carbon intensity >= 0, got -3"),
        (["time,carbon", "2020-01-01,inf", "2020-01-02,1"], {}, "line 2: expected a number, got 'inf'"),
        (["time,carbon", "2020-01-01"], {}, "line 2: expected 2 values, got 1"),
        (["when,carbon", "2020-01-01,1"], {}, "line 1: expected a column of times"),
        (["time,wind", "2020-01-01,1"], {}, "line 1: expected a column of intensities or prices, got time, wind"),
        (REGIONS.splitlines(), {}, "got datetime, North .*; or name one with column= and its unit with unit="),
        (
            WATTTIME_3.replace("co2_moer", "health_damage").splitlines(),
            {},
            "line 2: expected a signal such as co2_moer, got 'health_damage'",
        ),
        (["time,price", "2020-01-01,1"], {}, "the column price has no unit: give one, such as unit=EUR/MWh"),
        (["time,carbon", "2020-01-01,1"], {"kind": "price"}, "expected a column of intensities or prices"),
        (["time,carbon", "2020-01-01,1"], {"column": "wind"}, "a column with 'wind' in its header"),
        (["time,carbon", "2020-01-01,1"], {"unit": "MW"}, "expected a unit such as g/kWh, .*, got 'MW'"),
        (["time,carbon", "2020-01-01,1"], {"zone": "Europe/Pariss"}, "did you mean 'Europe/Paris'"),
        (EMBER.splitlines(), {}, "the table has 2 regions, AUT, FRA: choose one with region="),
        (EMBER.splitlines(), {"region": "FRO"}, "the table has no region 'FRO'"),
    ],
)
def test_what_is_refused(lines: list[str], options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_table(lines, **options)


@pytest.mark.parametrize("text", ["g/kWh", "gCO2/kWh", "gCO2eq/kWh", "kg/MWh", "lbs/MWh", "tCO2/MWh", "€/MWh", "p/kWh"])
def test_units(text: str) -> None:
    unit = parse_unit(text)
    assert unit.kind == ("price" if text in ("€/MWh", "p/kWh") else "carbon")


@given(st.text(st.sampled_from("time,carbon;\n\r\t\"'0123456789-:TZ. +priceEUR/MWh\ufeff\0"), max_size=200))
def test_any_text_is_a_table_or_an_input_error(text: str) -> None:
    with contextlib.suppress(InputError):
        assert isinstance(read_table(text.splitlines(keepends=True)).trace, Trace)


def test_names_of_traces(tmp_path: Path) -> None:
    text = "time,carbon\n2020-01-01T00:00,1\n2020-01-01T00:30,2\n2020-01-01T01:00,3\n2020-01-01T01:30,4\n"
    (tmp_path / "c.csv").write_text(text)
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "c.csv.xz").write_bytes(lzma.compress(text.encode()))
    for name in ("c.csv", "c.csv.gz", "c.csv.xz"):
        trace = trace_named(f"{name}?begin=2020-01-01T01:00&repeat=yes", "carbon", str(tmp_path))
        assert [trace.at(time) for time in (0.0, 1800.0, 3600.0, -3600.0)] == [3, 4, 1, 1]
    assert list(trace_named("c.csv?step=1h", "carbon", str(tmp_path)).values) == [1.0, 3.0]
    assert max(trace_named("daily:-0.3", "price").values) == pytest.approx(-0.2, abs=1e-3)
    assert trace_named("daily:0.2?unit=GBP/kWh&swing=0.1&peak=18h", "price").unit == "GBP/kWh"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("c.csv?begun=1", "expected begin, .*; did you mean 'begin'"),
        ("c.csv?repeat=often", "expected repeat=yes, no or a duration: expected a duration"),
        ("c.csv?begin=soon", "expected a moment such as 2020-05-01 .*, got 'soon'"),
        ("daily:much", "expected a number, got 'much'"),
        ("daily:300?swing=400", "expected a carbon intensity >= 0 at all times, got a mean of 300 and a swing of 400"),
        ("daily:300?swing=nan", "expected a number, got 'nan'"),
        ("daily:300?swing=-1", "expected a finite mean, and a swing >= 0"),
        ("daily:-3", "expected a carbon intensity >= 0 at all times"),
        ("daily:300?unit=EUR/MWh", "expected a unit of a carbon intensity, got 'EUR/MWh'"),
        ("broken.csv", "broken.csv:3: expected a number, got 'x'"),
        ("cut.gz", "cut.gz: the compressed file is damaged"),
    ],
)
def test_names_that_are_refused(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("time,carbon\n2020-01-01,1\n2020-01-02,2\n")
    (tmp_path / "broken.csv").write_text("time,carbon\n2020-01-01,1\n2020-01-02,x\n")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"time,carbon\n2020-01-01,1\n")[:-9])
    with pytest.raises(InputError, match=words):
        trace_named(name, "carbon", str(tmp_path))


@pytest.mark.skipif(not (SHARED / "carbon").is_dir(), reason="the recordings are not beside the project")
@pytest.mark.parametrize("region", ["gb", "ger"])
def test_the_published_savings_of_periodic_jobs(region: str) -> None:
    """P. Wiesner et al., Middleware 2021, first scenario: a job at 1:00 each day may move to a better half hour."""
    name = f"{SHARED}/carbon/{region}_ci.csv.xz?begin=2020-01-01&step=30min"
    trace = trace_named(name, "carbon")
    header, *rows = (SHARED / "carbon" / "periodic.csv").read_text().splitlines()
    for width, row in enumerate(rows):
        expected = float(row.split(",")[header.split(",").index(region)])
        starts = (day * 86400.0 + 3600.0 for day in range(365))
        grids = ([start + slot * 1800.0 for slot in range(-width, width + 1)] for start in starts)
        best = [trace.best_start(grid[0], grid[-1], 1800.0, grid) for grid in grids if grid[0] >= 0]
        assert sum(map(trace.at, best)) / 365 == pytest.approx(expected, rel=1e-9)
