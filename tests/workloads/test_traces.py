"""Traces of values over time, against numpy and against trying all times."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.workloads.commands.inputs import read_text
from batprotocol.workloads.electricity import CARBON, JOULES_PER_KWH, PRICE, Kind, Trace, consumption_of, daily_trace
from batprotocol.workloads.electricity.tables import trace_named
from batprotocol.workloads.electricity.trace import PowerEvent, power_events, read_power_event

WITHOUT_ENGINE = True

values = st.floats(0, 1000)


@st.composite
def traces(draw: st.DrawFn, repeats: bool | None = None) -> Trace:
    """Traces whose times are whole seconds, so that sums can be computed in another way."""
    gaps = draw(st.lists(st.integers(1, 50), min_size=1, max_size=12))
    begin = draw(st.integers(-100, 100))
    times = [begin]
    for gap in gaps[:-1]:
        times.append(times[-1] + gap)
    again = draw(st.booleans()) if repeats is None else repeats
    levels = draw(st.lists(values, min_size=len(times), max_size=len(times)))
    return Trace(map(float, times), levels, float(times[-1] + gaps[-1]), "g/kWh", repeats=again)


def each_second(trace: Trace, begin: int, end: int) -> np.ndarray:
    """The value in each second, found by numpy."""
    seconds = np.arange(begin, end, dtype=float)
    if trace.repeats:
        seconds = trace.begin + (seconds - trace.begin) % trace.period
    return np.asarray(trace.values)[np.searchsorted(np.asarray(trace.times), seconds, side="right") - 1]


@st.composite
def times_in(draw: st.DrawFn) -> tuple[Trace, int, int]:
    """A trace, and two times that it reaches over."""
    trace = draw(traces())
    lowest, highest = (-500, 800) if trace.repeats else (int(trace.begin), int(trace.end))
    one, two = sorted((draw(st.integers(lowest, highest)), draw(st.integers(lowest, highest))))
    return trace, one, two


@given(times_in())
def test_integrals_are_those_of_numpy(case: tuple[Trace, int, int]) -> None:
    trace, begin, end = case
    expected = float(each_second(trace, begin, end).sum())
    assert trace.integral(begin, end) == pytest.approx(expected, rel=1e-12, abs=1e-9)
    assert sum((s.end - s.begin) * s.value for s in trace.steps(begin, end)) == pytest.approx(expected, abs=1e-9)
    if begin < end:
        assert trace.at(begin) == each_second(trace, begin, end)[0]
        assert trace.mean(begin, end) == pytest.approx(expected / (end - begin), abs=1e-9)


@given(times_in(), st.integers(1, 30))
def test_the_best_start_is_the_best_of_all_whole_seconds(case: tuple[Trace, int, int], seconds: int) -> None:
    trace, earliest, latest = case
    if not trace.repeats and latest + seconds > trace.end:
        with pytest.raises(InputError, match="the trace ends"):
            trace.best_start(earliest, latest, seconds)
        return
    sums = [float(each_second(trace, each, each + seconds).sum()) for each in range(earliest, latest + 1)]
    found = trace.best_start(earliest, latest, seconds)
    assert earliest <= found <= latest
    assert trace.integral(found, found + seconds) == pytest.approx(min(sums), rel=1e-9, abs=1e-9)


@given(times_in(), st.data())
def test_amounts_are_weighted_as_by_numpy(case: tuple[Trace, int, int], data: st.DataObject) -> None:
    trace, begin, end = case
    inner = data.draw(st.lists(st.integers(begin, end), max_size=6).map(sorted))
    places = sorted({begin, *inner, end})
    amounts = np.cumsum([0, *data.draw(st.lists(values, min_size=len(places) - 1, max_size=len(places) - 1))])
    points = [(float(time), float(amount)) for time, amount in zip(places, amounts, strict=True)]
    rates = np.repeat(np.diff(amounts) / np.maximum(np.diff(places), 1), np.diff(places))
    expected = float((rates * each_second(trace, begin, end)).sum())
    assert trace.weighted(points) == pytest.approx(expected, rel=1e-9, abs=1e-6)
    used = consumption_of(points, begin, end, carbon=trace, price=trace, cap=500.0)
    assert used.grams == used.cost == pytest.approx(expected / JOULES_PER_KWH, rel=1e-9, abs=1e-9)
    assert used.joules == pytest.approx(float(amounts[-1]), abs=1e-9)
    assert used.seconds_above == pytest.approx(float((rates > 500.0 + 1e-5).sum()))
    assert used.joules_above == pytest.approx(float(np.maximum(rates - 500.0, 0).sum()), abs=1e-3)
    assert used.peak_watts == pytest.approx(float(rates.max(initial=0.0)), rel=1e-9)


@given(times_in(), st.data())
def test_a_part_of_the_readings_counts_under_a_cap_over_time(case: tuple[Trace, int, int], data: st.DataObject) -> None:
    """Readings reach beyond the time that counts, which begins and ends between them."""
    cap, begin, end = case
    places = sorted({begin, end, *data.draw(st.lists(st.integers(begin, end), max_size=6))})
    watts = data.draw(st.lists(st.integers(0, 1000), min_size=len(places) - 1, max_size=len(places) - 1))
    amounts = np.cumsum([0, *(rate * length for rate, length in zip(watts, np.diff(places), strict=True))])
    points = [(float(time), float(amount)) for time, amount in zip(places, amounts, strict=True)]
    rates = np.repeat(np.array(watts, float), np.diff(places))
    first, last = sorted(data.draw(st.tuples(st.integers(begin, end), st.integers(begin, end))))
    used = consumption_of(points, first, last, carbon=cap, cap=cap)
    rates, limits = rates[first - begin : last - begin], each_second(cap, first, last)
    above = rates > limits * (1 + 1e-9) + 1e-6
    assert used.joules == pytest.approx(float(rates.sum()), rel=1e-9, abs=1e-6)
    assert used.grams == pytest.approx(float((rates * limits).sum()) / JOULES_PER_KWH, rel=1e-9, abs=1e-9)
    assert used.seconds_above == pytest.approx(float(above.sum()))
    assert used.joules_above == pytest.approx(float((rates - limits)[above].sum()), rel=1e-6, abs=1e-3)
    assert used.peak_watts == pytest.approx(float(rates.max(initial=0.0)), rel=1e-6, abs=1e-6)
    assert used.mean_watts == pytest.approx(float(rates.mean()) if first < last else 0.0, rel=1e-9, abs=1e-9)
    for outside in ((begin - 1, last), (first, end + 1)):
        with pytest.raises(InputError, match=r"the readings of energy (begin at|do not reach to)"):
            consumption_of(points, *outside)


@pytest.mark.parametrize(
    ("times", "count", "end", "why"),
    [
        ([], 0, 1.0, "a value for each time"),
        ([0.0, 1.0], 1, 2.0, "a value for each time"),
        ([0.0], 2, 2.0, "a value for each time"),
        ([0.0, 0.0], 2, 2.0, "ascending times"),
        ([1.0, 0.0], 2, 2.0, "ascending times"),
        ([0.0, 1.0], 2, 1.0, "ascending times"),
        ([0.0, math.nan], 2, 1.0, "ascending times"),
    ],
)
def test_what_is_no_trace(times: list[float], count: int, end: float, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Trace(times, [1.0] * count, end, "g/kWh")


@pytest.mark.parametrize("price", [False, True])
@pytest.mark.parametrize(("mean", "swing", "until"), [(300.0, 0.0, 7200), (300.0, 100.0, 100_000), (2.5, 2.0, 0)])
def test_the_command_describes_a_trace_and_writes_its_events(
    mean: float, swing: float, until: int, price: bool, tmp_path: Path
) -> None:
    """The numbers are those of numpy, and the events those of each minute."""
    name, kind = f"daily:{mean}?swing={swing}", PRICE if price else CARBON
    trace = trace_named(name, kind)
    options = ("--price",) if price else ()
    told = run_here("workload", "trace", name, *options)
    assert told.status == 0
    shown = {line[:15].strip(): line[15:].strip() for line in told.out.splitlines()}
    levels, lengths = np.asarray(trace.values), np.diff([*trace.times, trace.end])
    assert shown.pop("values") == f"{len(levels):,}, for 86,400 s (1 d), repeated"
    average = float(np.average(levels, weights=lengths))
    assert shown == {
        trace.unit: f"{average:.6g} mean, {levels.min():.6g} to {levels.max():.6g}",
        "begin": "0 s of the simulation",
        "end": "none",
    }
    told = run_here("workload", "trace", name, *options, "--until", str(until))
    found = [json.loads(line) for line in told.out.splitlines()]
    expected = []
    for minute in range(0, until, 60):
        value = float(each_second(trace, minute, minute + 1)[0])
        if not expected or value != expected[-1][1]:
            expected.append((minute, value))
    assert [(each["timestamp"], json.loads(each["data"])[kind]) for each in found] == expected
    refused = run_here("workload", "trace", name, *options, "-o", tmp_path / "events.json")
    assert (refused.status, refused.err.count("--until")) == (1, 1)


def test_a_text_is_utf8_with_lines_of_one_kind(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("é\r\nb\rc\n".encode())
    assert read_text(str(path)) == "é\nb\nc\n"
    path.write_bytes(b"a\nb\n\xff")
    with pytest.raises(InputError, match="expected UTF-8, found the byte 0xff") as refused:
        read_text(str(path))
    assert (refused.value.file, refused.value.line) == (str(path), 3)


@given(traces(repeats=False))
def test_a_trace_does_not_answer_beyond_its_end(trace: Trace) -> None:
    for time in (trace.begin - 1, trace.end, trace.end + 1):
        with pytest.raises(InputError, match=r"the trace (begins|ends) at"):
            trace.at(time)
    with pytest.raises(InputError, match="the trace ends at"):
        trace.integral(trace.begin, trace.end + 0.5)
    again = trace.moved(0.0, repeats=True)
    assert again.at(trace.end) == trace.at(trace.begin)


@given(traces(), st.integers(-1000, 1000))
def test_a_moved_trace_has_the_same_values_later(trace: Trace, seconds: int) -> None:
    moved = trace.moved(float(seconds))
    for place, time in enumerate(trace.times):
        assert moved.at(time + seconds) == trace.values[place]


def test_a_day_has_the_mean_of_its_curve() -> None:
    trace = daily_trace(300.0, 100.0, 19 * 3600.0, unit="g/kWh")
    assert trace.mean(0.0, 86400.0) == pytest.approx(300.0)
    assert max(trace.values) == trace.at(18.5 * 3600) == trace.at(19.4 * 3600 + 5 * 86400)
    with pytest.raises(InputError, match="a step that divides a day"):
        daily_trace(300.0, 100.0, step=7.0e3, unit="g/kWh")
    with pytest.raises(InputError, match="expected a carbon intensity >= 0 at all times"):
        daily_trace(300.0, 400.0, unit="g/kWh")
    with pytest.raises(InputError, match="a swing >= 0"):
        daily_trace(300.0, -1.0, unit="EUR/kWh")
    assert daily_trace(0.1, 0.2, unit="EUR/kWh").at(7 * 3600) == pytest.approx(-0.1, abs=1e-3)


@given(traces(repeats=True), st.sampled_from([CARBON, PRICE]))
def test_events_have_all_changes(trace: Trace, kind: Kind) -> None:
    unit = "g/kWh" if kind == CARBON else "EUR/kWh"
    named = Trace(trace.times, trace.values, trace.end, unit, repeats=True)
    events = list(power_events(named, kind, 300.0))
    assert all(read_power_event(event.to_data()) == event for _, event in events)
    heard = dict(events)
    now = math.nan
    for second in range(300):
        now = heard[second].value if second in heard else now
        assert now == named.at(second)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("the price rises", None),
        ('{"hosts": "0", "state": "down"}', None),
        ('{"note": "carbon"}', None),
        ('{"carbon": 300}', PowerEvent("carbon", 300.0, "g/kWh")),
        ('{"price": -5, "unit": "GBP/MWh"}', PowerEvent("price", -0.005, "GBP/kWh")),
    ],
)
def test_data_of_events(data: str, expected: PowerEvent | None) -> None:
    assert read_power_event(data) == expected


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ('{"carbon": -1}', "expected a carbon intensity >= 0, got -1"),
        ('{"carbon": "much"}', "expected a number, got 'much'"),
        ('{"price": 5}', "expected a unit such as EUR/MWh, got None"),
        ('{"carbon": 5, "unit": "EUR/MWh"}', "expected a unit such as g/kWh, got 'EUR/MWh'"),
    ],
)
def test_bad_data_of_events(data: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_power_event(data)


def test_readings_that_do_not_reach() -> None:
    with pytest.raises(InputError, match="do not reach to 20 s: the last one is at 10 s"):
        consumption_of([(0.0, 0.0), (10.0, 5.0)], 0.0, 20.0)
    with pytest.raises(InputError, match="begin at 5 s, later than 0 s"):
        consumption_of([(5.0, 0.0), (10.0, 5.0)], 0.0, 10.0)
