"""The metrics of electricity: numpy computes them again from the files of recorded runs of a real Batsim."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy
import playback
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, FinalJobState, ParallelTaskHomogeneousProfile
from batprotocol.policies import named
from batprotocol.results.times import JobTimes, stays_of
from batprotocol.simulator import (
    METRICS,
    OF_FAILURES,
    OF_POWER,
    Electricity,
    JobRow,
    Metrics,
    Platform,
    PowerMetrics,
    Result,
    StaticJob,
    Workload,
    grouped,
    measured,
    metric_named,
    read_energy,
    read_jobs,
    simulate,
)
from batprotocol.workloads import parse_watts, with_watts
from batprotocol.workloads.electricity import JOULES_PER_KWH, Trace
from batprotocol.workloads.requests import Allocated
from batprotocol.workloads.requests.usage import share_hosts

WITHOUT_ENGINE = True

CARBON = Trace([-50.0, 3.0, 31.0, 77.5], [310.0, 190.0, 0.0, 422.25], 130.0, "g/kWh", repeats=True)
PRICE = Trace([0.0, 11.0, 40.0], [0.21, -0.05, 0.4], 60.0, "EUR/kWh", repeats=True)
CAP = Trace([0.0, 20.0, 55.0], [900.0, 400.0, 12000.0], 70.0, "W", repeats=True)


def with_energy() -> list[Path]:
    return [
        archive
        for archive in playback.recorded_runs()
        if len(playback.read(archive).files.get("consumed_energy.csv", "").splitlines()) > 2
    ]


RUNS = with_energy()


def at(trace: Trace, times: numpy.ndarray) -> numpy.ndarray:
    """The values of a trace that repeats, by numpy alone."""
    begin, period = trace.times[0], trace.end - trace.times[0]
    places = numpy.searchsorted(numpy.array(trace.times), begin + numpy.mod(times - begin, period), side="right") - 1
    return numpy.array(trace.values)[places]


def edges(trace: Trace, begin: float, end: float) -> numpy.ndarray:
    """The times at which the values of a trace may change."""
    period = trace.end - trace.times[0]
    turns = numpy.arange(math.floor((begin - trace.end) / period), math.ceil((end - begin) / period) + 2) * period
    found = (numpy.array(trace.times)[None, :] + turns[:, None]).ravel()
    return found[(found > begin) & (found < end)]


def weighted(trace: Trace, times: numpy.ndarray, joules: numpy.ndarray, begin: float, end: float) -> float:
    grid = numpy.unique(
        numpy.concatenate([[begin, end], edges(trace, begin, end), times[(times > begin) & (times < end)]])
    )
    energy = numpy.diff(numpy.interp(grid, times, joules))
    return float((energy * at(trace, (grid[1:] + grid[:-1]) / 2)).sum() / JOULES_PER_KWH)


@pytest.mark.parametrize("archive", RUNS, ids=lambda archive: archive.name.removesuffix(".tar.xz"))
def test_recorded_runs_by_numpy(archive: Path, tmp_path: Path) -> None:
    files = playback.read(archive).files
    for name in ("jobs.csv", "consumed_energy.csv"):
        (tmp_path / name).write_text(files[name])
    readings = csv.DictReader(io.StringIO(files["consumed_energy.csv"]))
    times, joules = numpy.array([[0, 0], *([each["time"], each["energy"]] for each in readings)], float).T
    ran = [each for each in csv.DictReader(io.StringIO(files["jobs.csv"])) if each["starting_time"]]
    columns = ("submission_time", "starting_time", "execution_time", "finish_time", "consumed_energy")
    submitted, started, lasted, finished, own = numpy.array([[each[name] for name in columns] for each in ran], float).T
    begin, end = submitted.min(), finished.max()

    electricity = Electricity(carbon=CARBON, price=PRICE, cap=CAP)
    rows, points = list(read_jobs(tmp_path / "jobs.csv")), read_energy(tmp_path / "consumed_energy.csv")
    found = measured(rows, 16, energy=points, electricity=electricity, cores=32).power
    assert found is not None

    used = numpy.interp(end, times, joules) - numpy.interp(begin, times, joules)
    assert found.mean_watts == pytest.approx(used / (end - begin), rel=1e-9)
    assert found.carbon_grams == pytest.approx(weighted(CARBON, times, joules, begin, end), rel=1e-9)
    assert found.cost == pytest.approx(weighted(PRICE, times, joules, begin, end), rel=1e-9, abs=1e-12)
    assert found.currency == "EUR"
    if found.job_joules is None:
        assert share_hosts(stays_of(each for row in rows if (each := JobTimes.of(row)) is not None))
        return
    assert found.job_joules == pytest.approx(own.sum(), rel=1e-9)
    assert found.idle_joules == pytest.approx(used - own.sum(), rel=1e-9, abs=1e-3)
    of_jobs = 0.0
    for first, last, energy in zip(started, finished, own, strict=True):
        of_jobs += weighted(CARBON, numpy.array([first, last]), numpy.array([0.0, energy]), first, last)
    assert found.job_carbon_grams == pytest.approx(of_jobs, rel=1e-9)
    counts = [row.host_count for row in rows if row.starting_time is not None]
    hours = (lasted * counts).sum() * 2 / 3600
    assert found.joules_per_core_hour == pytest.approx(used / hours, rel=1e-9)
    assert found.grams_per_core_hour == pytest.approx(found.carbon_grams / hours, rel=1e-9)


def test_there_are_recorded_runs() -> None:
    assert len(RUNS) >= 3


# What holds for any run

IDLE, BUSY = 95.0, 250.0
PLATFORM = with_watts(Platform.homogeneous(4, cores=2), parse_watts(f"idle={IDLE:g},busy={BUSY:g}"))


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """A few jobs, which compute or wait."""
    jobs = []
    for number in range(draw(st.integers(1, 8))):
        seconds, time = draw(st.integers(1, 200)), float(draw(st.integers(0, 300)))
        kind, user = draw(st.sampled_from(["computes", "waits"])), json.dumps({"user": draw(st.sampled_from("ab"))})
        profile = ParallelTaskHomogeneousProfile(1e9 * seconds, 0.0) if kind == "computes" else DelayProfile(seconds)
        jobs.append(StaticJob(f"{kind}{number}", time, draw(st.integers(1, 4)), profile, extra_data=user))
    return Workload(jobs)


def simulated(workload: Workload, electricity: Electricity) -> Result:
    result = simulate(PLATFORM, workload, named("fcfs")(), energy=True)
    result.electricity = electricity
    return result


def power_of(metrics: Metrics) -> PowerMetrics:
    assert metrics.power is not None
    return metrics.power


@settings(max_examples=8)
@given(workloads(), st.sampled_from([0.0, 0.3]))
def test_parts_add_up(workload: Workload, warm_up: float) -> None:
    result = simulated(workload, Electricity(carbon=CARBON, price=PRICE, cap=300.0))
    whole = result.metrics(warm_up=warm_up)
    power = power_of(whole)
    assert power.job_joules is not None
    assert power.idle_joules is not None
    assert power.mean_watts is not None
    assert power.job_joules + power.idle_joules == pytest.approx(power.mean_watts * whole.measured_time, rel=1e-9)
    assert whole.consumed_joules == pytest.approx(power.mean_watts * whole.measured_time, rel=1e-3)
    groups = result.grouped("user", workload, warm_up=warm_up).values()
    for name in ("job_joules", "job_carbon_grams", "job_cost"):
        total = math.fsum(getattr(power_of(group), name) for group in groups)
        assert total == pytest.approx(getattr(power, name), rel=1e-9, abs=1e-9)
    assert all(power_of(group).mean_watts is None for group in groups)


@settings(max_examples=6)
@given(workloads(), st.floats(0.0, 900.0))
def test_hosts_are_idle_or_have_jobs(workload: Workload, cap: float) -> None:
    """Every job takes the watts of its hosts alone, so the energy follows from the times of the jobs."""
    carbon = Trace([0.0], [200.0], 1.0, "g/kWh", repeats=True)
    result = simulated(workload, Electricity(carbon=carbon, cap=cap))
    power, rows = power_of(result.metrics()), list(result.jobs)
    busy = [row for row in rows if row.job_id.startswith("computes")]
    extra = sum((BUSY - IDLE) / 2 * row.host_count * (row.execution_time or 0.0) for row in busy)
    begin, end = min(row.submission_time for row in rows), max(row.finish_time or 0.0 for row in rows)
    joules = 4 * IDLE * (end - begin) + extra
    assert power.mean_watts == pytest.approx(joules / (end - begin), rel=1e-4)
    assert power.carbon_grams == pytest.approx(joules / 3.6e6 * 200, rel=1e-4)


def row(name: str, start: float, end: float, hosts: str, joules: float | None = 0.0) -> JobRow:
    return JobRow(
        job_id=name,
        workload_name="w0",
        profile="w0!p",
        submission_time=start,
        requested_number_of_resources=1,
        requested_time=None,
        final_state=FinalJobState.COMPLETED_SUCCESSFULLY,
        starting_time=start,
        execution_time=end - start,
        allocated_resources=hosts,
        consumed_energy=joules,
    )


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        ([("0-1", 0.0, 10.0), ("2", 0.0, 10.0)], False),
        ([("0-1", 0.0, 10.0), ("1-2", 10.0, 20.0)], False),
        ([("0-1", 0.0, 10.0), ("1-2", 9.999999, 20.0)], False),  # a rounded time
        ([("0-1", 0.0, 10.0), ("1-2", 9.0, 20.0)], True),
        ([("0 4-9999999999", 0.0, 10.0), ("3 17", 1.0, 2.0)], True),
        ([("0 4-9999999999", 0.0, 10.0), ("1-3", 1.0, 2.0)], False),
    ],
)
def test_jobs_share_hosts(jobs: list[tuple[str, float, float]], expected: bool) -> None:
    times = [JobTimes(begin, begin, end, 1, "w0!1", allocated=hosts) for hosts, begin, end in jobs]
    assert share_hosts(stays_of(times)) is expected


def test_the_energy_of_jobs_that_share_hosts_is_not_known() -> None:
    rows = [row("1", 0.0, 10.0, "0", 5000.0), row("2", 5.0, 15.0, "0", 5000.0)]
    power = power_of(measured(rows, 2, energy=[(15.0, 8000.0)], electricity=Electricity(carbon=CARBON), cores=4))
    assert power.job_joules is None
    assert power.idle_joules is None
    assert power.job_carbon_grams is None
    assert power.carbon_grams is not None
    assert power.joules_per_core_hour == 8000.0 / (2 * 20 / 3600)
    group = power_of(grouped(rows, 2, "size", {}, electricity=Electricity(carbon=CARBON), cores=4)["1 host"])
    assert group == PowerMetrics()


def test_core_hours_of_jobs_that_share_hosts_are_those_they_took() -> None:
    rows = [row("1", 0.0, 10.0, "0", 5000.0), row("2", 5.0, 15.0, "0", 5000.0)]
    taken = [
        Allocated(job_id=f"w0!{name}", first_id=f"w0!{name}", starting_time=0.0, hosts="0", cores=1) for name in "12"
    ]
    power = power_of(measured(rows, 2, energy=[(15.0, 8000.0)], cores=4, allocations=taken))
    assert power.joules_per_core_hour == 8000.0 / (20 / 3600)


def test_peak_and_cap() -> None:
    points = [(0.0, 0.0), (10.0, 1000.0), (10.0001, 1000.02), (20.0, 6000.0), (30.0, 6000.0)]
    cap = Trace([0.0, 15.0], [400.0, 300.0], 100.0, "W")
    power = power_of(measured([row("1", 0.0, 30.0, "0", 6000.0)], 1, energy=points, electricity=Electricity(cap=cap)))
    assert power.peak_watts == pytest.approx(500.0, rel=1e-4)
    assert power.mean_watts == 200.0
    assert power.seconds_above_cap == 10.0
    assert power.joules_above_cap == pytest.approx(1500.0, rel=1e-4)
    assert power.idle_joules == 0.0
    constant = measured([row("1", 0.0, 30.0, "0", 6000.0)], 1, energy=points, electricity=Electricity(cap=500.0))
    assert power_of(constant).seconds_above_cap == 0.0


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        (Trace([0.0], [1.0], 29.0, "g/kWh"), "the carbon is known until 29 s, and the measured time ends at 30 s"),
        (Trace([1.0], [1.0], 99.0, "g/kWh"), "the carbon is known from 1 s on, and the measured time begins at 0 s"),
    ],
)
def test_a_trace_that_does_not_reach(trace: Trace, words: str) -> None:
    rows, electricity = [row("1", 0.0, 30.0, "0", 900.0)], Electricity(carbon=trace)
    with pytest.raises(InputError, match=words):
        measured(rows, 1, energy=[(30.0, 900.0)], electricity=electricity)
    with pytest.raises(InputError, match=words):
        grouped(rows, 1, "size", {}, electricity=electricity)


def test_jobs_may_be_submitted_before_the_simulation_begins() -> None:
    early = replace(row("1", 0.0, 30.0, "0", 900.0), submission_time=-20.0)
    carbon = Trace([0.0], [100.0], 40.0, "g/kWh")
    power = power_of(measured([early], 1, energy=[(30.0, 900.0)], electricity=Electricity(carbon=carbon)))
    assert (power.mean_watts, power.job_joules, power.idle_joules) == (30.0, 900.0, 0.0)
    assert power.carbon_grams == power.job_carbon_grams == pytest.approx(900 / 3.6e6 * 100)


def test_what_is_not_known() -> None:
    rows = [row("1", 0.0, 30.0, "0", -1.0)]
    assert measured(rows, 1).power is None
    assert measured(rows, 1, energy=[(29.0, 900.0)]).power is None  # the run was stopped
    assert measured([], 1, energy=[(29.0, 900.0)]).power is None
    assert grouped(rows, 1, "size", {})["1 host"].power is None
    power = power_of(measured(rows, 1, energy=[(30.0, 900.0)]))
    assert power.job_joules is None
    assert {name for name in PowerMetrics.__struct_fields__ if getattr(power, name)} == {"mean_watts", "peak_watts"}


def test_metrics_have_names() -> None:
    assert {*OF_POWER, "currency"} == set(PowerMetrics.__struct_fields__)
    assert not set(OF_POWER) & {*METRICS, *OF_FAILURES}
    assert metric_named("cost", currency="EUR").label_with_unit == "cost [EUR]"
    assert metric_named("short_wide_cost", currency="GBP").unit == "GBP"
    assert metric_named("carbon_grams", currency="EUR").unit == "g"
    assert metric_named(metric_named("cost", currency="EUR")).unit == "EUR"
