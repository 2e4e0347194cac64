"""Results: Batsim's files, byte for byte where Batsim's own are at hand, and the numbers that sum them up."""

from __future__ import annotations

import copy
import json
import math
import pickle
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from batprotocol._util.tables import TableRows
from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.results import (
    EnergyRow,
    JobRow,
    JobRows,
    MachineStatesRow,
    Observer,
    Observers,
    PStateRow,
    Result,
    ResultFiles,
    Statistics,
    Totals,
    read_jobs,
    write_real_execution,
)
from batprotocol.results.arithmetic import Pair, StepSeries, difference, plus, quotient, times, total
from batprotocol.results.files import jobs_text
from batprotocol.results.times import HostUse, MeasuredTime, RunRows

WITHOUT_ENGINE = True

JOBS = jobs_text([]).rstrip()
STATES = [state for state in FinalJobState if state is not FinalJobState.REJECTED]


def job(id: str = "1", submitted: float = 0.0, start: float = 0.0, runtime: float = 1.0, hosts: str = "0") -> JobRow:
    return JobRow(
        job_id=id,
        workload_name="w0",
        profile="w0!p",
        submission_time=submitted,
        requested_number_of_resources=1,
        requested_time=None,
        final_state=FinalJobState.COMPLETED_SUCCESSFULLY,
        starting_time=start,
        execution_time=runtime,
        allocated_resources=hosts,
        consumed_energy=-1.0,
    )


def rejected(id: str = "r") -> JobRow:
    return JobRow(
        job_id=id,
        workload_name="w0",
        profile="w0!p",
        submission_time=3.0,
        requested_number_of_resources=7,
        requested_time=10.0,
        final_state=FinalJobState.REJECTED,
    )


@st.composite
def rows(draw: st.DrawFn) -> list[JobRow]:
    """Jobs, one after the other, with times of six decimals."""
    found = []
    for number in range(draw(st.integers(0, 12))):
        submitted = draw(st.integers(0, 10**8)) / 1e6
        if draw(st.booleans()):
            found.append(rejected(f"r{number}"))
            continue
        found.append(
            JobRow(
                job_id=draw(st.sampled_from((f"j{number}", f'é,"{number}'))),
                workload_name="w0",
                profile="w0!p",
                submission_time=submitted,
                requested_number_of_resources=draw(st.integers(0, 9)),
                requested_time=draw(st.none() | st.sampled_from((0.0, 5.0))),
                final_state=draw(st.sampled_from(STATES)),
                starting_time=submitted + draw(st.integers(0, 10**7)) / 1e6,
                execution_time=draw(st.integers(1, 10**8)) / 1e6,
                allocated_resources=draw(st.sampled_from(("0", "0-3", "0-1 8"))),
                consumed_energy=draw(st.sampled_from((-1.0, 0.0, 12.5))),
            )
        )
    return found


# Files


def test_rows_are_written_as_batsim_writes_them(tmp_path: Path) -> None:
    files = ResultFiles(f"{tmp_path}/made/out_", energy=True)
    files.pstates_changed(PStateRow(0.0, "0-5", 0))
    files.pstates_changed(PStateRow(7.00003, "1 3", -2))
    files.energy_read(EnergyRow(2.00004, 600.0120016, "s", 540.0, 300.0))
    files.energy_read(EnergyRow(2.00004, 600.0120016, "e", 540.0, None))
    files.machine_states(MachineStatesRow(12345678.0, 1, 2, 3, 4, 5))
    files.machine_states(MachineStatesRow(0.00005, 0, 0, 0, 4, 2))
    files.job_ended(job("a", 7.0, 7.00006, 0.00003, "1 5"))
    files.job_ended(rejected())
    files.job_ended(job("zero", 0.0, 1.0, 0.0))
    files.ended(Totals(nb_computing_machines=6))
    written = {path.name: path.read_text() for path in (tmp_path / "made").iterdir()}
    assert written["out_pstate_changes.csv"] == "time,machine_id,new_pstate\n0,0-5,0\n7.00003,1 3,-2\n"
    assert written["out_consumed_energy.csv"].splitlines()[1:] == [
        "2.000040,600.012002,s,540.000000,300.000000",
        "2.000040,600.012002,e,540.000000,NA",
    ]
    assert written["out_machine_states.csv"].splitlines()[1:] == ["1.23457e+07,1,2,3,4,5", "5e-05,0,0,0,4,2"]
    times = "7.000060,0.000030,7.000090,0.000060,0.000090,3.000000"
    of_nothing = "1.000000,0.000010,1.000010,1.000000,1.000010,100001.000000"
    assert written["out_jobs.csv"].splitlines()[1:] == [
        f"a,w0,w0!p,7.000000,1,-1.000000,1,COMPLETED_SUCCESSFULLY,{times},1 5,-1.000000,",
        "r,w0,w0!p,3.000000,7,10.000000,0,REJECTED,,,,,,,,,",
        f"zero,w0,w0!p,0.000000,1,-1.000000,1,COMPLETED_SUCCESSFULLY,{of_nothing},0,-1.000000,",
    ]


def test_an_empty_simulation_has_means_that_are_no_numbers(tmp_path: Path) -> None:
    ResultFiles(f"{tmp_path}/").ended(Totals(nb_computing_machines=4))
    text = (tmp_path / "schedule.json").read_text()
    assert '"mean_slowdown": -nan,\n' in text
    assert '"makespan": 0.000000,\n' in text
    assert text.endswith('  "time_unavailable": 0.000000\n}\n')


def test_a_simulation_that_did_not_come_to_its_end_has_no_schedule(tmp_path: Path) -> None:
    files = ResultFiles(f"{tmp_path}/", machine_states=False, pstate_changes=False)
    files.job_ended(job())
    files.ended(Totals(nb_computing_machines=4, complete=False))
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.csv"]
    assert len((tmp_path / "jobs.csv").read_text().splitlines()) == 2


@given(rows())
def test_rows_survive_being_written_and_read(
    tmp_path_factory: pytest.TempPathFactory, given_rows: list[JobRow]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    files = ResultFiles(f"{folder}/")
    for row in given_rows:
        files.job_ended(row)
    files.flush()
    again = list(read_jobs(folder / "jobs.csv"))
    assert [row.job_id for row in again] == [row.job_id for row in given_rows]
    for one, other in zip(again, given_rows, strict=True):
        for name in one.__struct_fields__:
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-6)
    with (folder / "jobs.csv").open(newline="") as file:
        for line, row in zip(TableRows(file), given_rows, strict=True):
            assert (line["job_id"], line["success"]) == (row.job_id, str(int(row.success)))


def test_files_that_are_no_results_are_refused(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"not a jobs\.csv"):
        list(read_jobs(tmp_path / "jobs.csv"))


@given(st.lists(st.sampled_from(("row", "pickle", "copy", "flush")), max_size=30))
def test_files_go_on_where_they_were_when_pickled(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    folder = tmp_path_factory.getbasetemp()
    files = ResultFiles(f"{folder}/copied_")
    plain = ResultFiles(f"{folder}/plain_")
    for number, step in enumerate(steps):
        if step == "row":
            files.job_ended(job(str(number)))
            plain.job_ended(job(str(number)))
        elif step == "flush":
            files.flush()
        else:
            before = files
            files = pickle.loads(pickle.dumps(files)) if step == "pickle" else copy.deepcopy(files)
            before.job_ended(job("what the original goes on with is written over"))
            before.flush()
    files.ended(Totals(nb_computing_machines=1))
    plain.ended(Totals(nb_computing_machines=1))
    for name in ("jobs.csv", "machine_states.csv", "schedule.json"):
        assert (folder / f"copied_{name}").read_text() == (folder / f"plain_{name}").read_text()


def test_many_rows_are_written_as_they_come(tmp_path: Path) -> None:
    files = ResultFiles(f"{tmp_path}/")
    for number in range(2000):
        files.job_ended(job(str(number)))
    assert (tmp_path / "jobs.csv").stat().st_size > 100_000
    assert len(pickle.dumps(files)) < 200_000


def test_what_the_simulation_took_of_the_machine(tmp_path: Path) -> None:
    write_real_execution(f"{tmp_path}/", edc_seconds=1.5, simulation_seconds=2.0)
    found = json.loads((tmp_path / "real_exec_info.json").read_text())
    assert list(found) == ["memory_VmHWM_kB", "memory_VmPeak_kB", "time_in_edc_seconds", "time_in_simu_seconds"]
    assert found["time_in_edc_seconds"] == 1.5
    assert found["memory_VmPeak_kB"] >= found["memory_VmHWM_kB"] >= 0


def test_several_observers_are_told_everything() -> None:
    told: list[tuple[int, str]] = []

    class Watcher(Observer):
        def __init__(self, number: int) -> None:
            self.number = number

        def job_ended(self, row: JobRow) -> None:
            told.append((self.number, row.job_id))

        def machine_states(self, row: MachineStatesRow) -> None:
            told.append((self.number, "states"))

        def pstates_changed(self, row: PStateRow) -> None:
            told.append((self.number, "pstates"))

        def energy_read(self, row: EnergyRow) -> None:
            told.append((self.number, "energy"))

        def ended(self, totals: Totals) -> None:
            told.append((self.number, "end"))

    both = Observers([Watcher(1), Observer(), Watcher(2)])
    both.job_ended(job("a"))
    both.machine_states(MachineStatesRow(0.0, 0, 0, 0, 0, 0))
    both.pstates_changed(PStateRow(0.0, "0", 0))
    both.energy_read(EnergyRow(0.0, 0.0, "s", 0.0, None))
    both.ended(Totals(nb_computing_machines=1))
    words = ("a", "states", "pstates", "energy", "end")
    assert told == [(number, word) for word in words for number in (1, 2)]


# Numbers


@given(rows())
def test_numbers_are_those_of_the_rows(given_rows: list[JobRow]) -> None:
    statistics = Statistics()
    for row in given_rows:
        statistics.job_ended(row)
    ran = [row for row in given_rows if row.starting_time is not None]
    assert statistics.job_count == len(given_rows)
    assert statistics.finished_count == len(ran)
    schedule = statistics.schedule()
    assert schedule["nb_jobs_rejected"] == len(given_rows) - len(ran)
    assert schedule["nb_jobs_success"] == sum(row.success for row in ran)
    assert schedule["nb_jobs_killed"] == sum(not row.success for row in ran)
    assert schedule["makespan"] == max((row.finish_time or 0.0 for row in ran), default=0.0)
    assert schedule["max_slowdown"] == pytest.approx(max((row.stretch or 0.0 for row in ran), default=0.0))
    assert schedule["max_waiting_time"] == pytest.approx(max((row.waiting_time or 0.0 for row in ran), default=0.0))
    result = Result(statistics, hosts=9, rows=given_rows)
    if ran:
        mean = sum(row.turnaround_time or 0.0 for row in ran)
        assert schedule["mean_turnaround_time"] == pytest.approx(mean / len(given_rows))
        assert result.mean_turnaround_time == pytest.approx(mean / len(ran))
        jobs, time = RunRows(ran).jobs, result.makespan - min(row.submission_time for row in ran)
        assert result.utilisation == pytest.approx(HostUse.of(jobs).area(jobs) / 9 / time)
        parts = result.utilisation_over_time(7)
        assert sum(parts) / 7 * result.makespan == pytest.approx(result.utilisation * time, rel=1e-6)
        waited = sum(row.waiting_time or 0.0 for row in ran)
        assert sum(result.queue_over_time(5)) / 5 * result.makespan == pytest.approx(waited, rel=1e-6, abs=1e-6)
    else:
        assert math.isnan(result.mean_turnaround_time)
        assert result.utilisation == 0.0
    assert list(result.jobs) == given_rows
    assert pickle.loads(pickle.dumps(result)).makespan == result.makespan


_interval = st.tuples(st.floats(-10, 1e5), st.floats(0, 1e5), st.integers(1, 9))


@given(st.lists(_interval, max_size=20), st.integers(1, 40))
def test_levels_over_time_are_means_of_what_was_added(intervals: list[tuple[float, float, int]], parts: int) -> None:
    series = StepSeries()
    for start, length, amount in intervals:
        series.add(start, start + length, amount)
    until = max((start + length for start, length, _ in intervals), default=1.0) + 1.0
    means = series.means(until, parts)
    width = until / parts
    bin_width = until / 256
    for part, mean in enumerate(means):
        first, last = part * width, (part + 1) * width
        exact = sum(
            amount * max(min(start + length, last) - max(start, first, 0.0), 0.0) for start, length, amount in intervals
        )
        # What begins or ends inside a bin is spread over it.
        slack = 2 * bin_width * sum(amount for _, _, amount in intervals) + 1e-6
        assert abs(mean * width - exact) <= slack
    total = sum(amount * max(start + length - max(start, 0.0), 0.0) for start, length, amount in intervals)
    assert sum(means) * width == pytest.approx(total, rel=1e-6, abs=1e-3)


def test_a_series_is_whole_to_the_end_of_its_last_bin() -> None:
    series = StepSeries()
    series.add(0.0, 10.0, 4)
    series.add(0.0, 19.999, 2)
    assert series.means(19.999, 1)[0] * 19.999 == pytest.approx(series.area)


def test_what_takes_no_time_at_first_is_not_lost() -> None:
    series = StepSeries()
    for start, end, amount in [(0.0, 1e-24, 3), (0.0, 1e-20, 5), (0.25, 1.0, 8)]:
        series.add(start, end, amount)
    assert series.means(1.0, 4) == pytest.approx([0, 8, 8, 8], abs=0.05)
    series.add(8e5, 2e6, 3)
    assert series.area == pytest.approx(6 + 3.6e6)
    assert series.means(2e6, 5) == pytest.approx([0, 0, 3, 3, 3], abs=0.01)


def test_a_series_stays_small() -> None:
    series = StepSeries()
    for number in range(2000):
        series.add(number * 1e6, number * 1e6 + 5e5, 1)
    assert len(pickle.dumps(series)) < 40_000
    assert series.means(2e9, 4) == pytest.approx([0.5] * 4, rel=1e-2)


def summary(result: Result, width: int = 80) -> str:
    console = Console(width=width, file=None, record=True, color_system=None)
    with console.capture() as captured:
        console.print(result.summary())
    return captured.get()


def test_the_summary_tells_numbers_and_draws_charts() -> None:
    statistics = Statistics()
    for number in range(40):
        statistics.job_ended(job(str(number), 0.0, number * 100.0, 100.0, "0-7"))
    statistics.job_ended(rejected())
    statistics.ended(Totals(nb_computing_machines=16, consumed_joules=4.2e7, simulation_time=4000.0))
    result = Result(statistics, hosts=16, energy=True)
    text = summary(result)
    for words in ("41 (40 succeeded, 1 rejected)", "4,000 s (1.11 h)", "50.0% of 16 hosts", "42 MJ", "jobs waiting"):
        assert words in text
    assert "█" in text
    assert max(map(len, text.splitlines())) <= 80
    assert max(map(len, summary(result, 40).splitlines())) <= 40
    assert "makespan: 4,000 s (1.11 h)" in str(result)
    assert result.consumed_joules == 4.2e7
    assert result.is_complete


def test_the_summary_of_nothing() -> None:
    result = Result(Statistics(), hosts=4)
    assert "jobs  0" in summary(result)
    assert "did not reach its end" in summary(result)
    assert result.consumed_joules is None


def test_rows_are_kept_or_read_from_files(tmp_path: Path) -> None:
    kept, statistics, files = JobRows(), Statistics(), ResultFiles(f"{tmp_path}/")
    both = Observers([kept, statistics, files])
    for row in (job("a"), rejected("b")):
        both.job_ended(row)
    both.ended(Totals(nb_computing_machines=1))
    assert list(Result(statistics, hosts=1, rows=kept.rows).jobs) == list(
        Result(statistics, hosts=1, rows=f"{tmp_path}/").jobs
    )


@pytest.mark.skipif(np.finfo(np.longdouble).nmant != 63, reason="this machine has no such numbers to compare with")
def rounded(value: Fraction) -> Fraction:
    """An exact number rounded to 64 bits, to the even one of two."""
    if not value:
        return value
    unit = Fraction(2) ** (math.frexp(value)[1] - 64)
    while abs(value) / unit >= 2**64:  # as a double, it would be the next power of two
        unit *= 2
    while abs(value) / unit < 2**63:
        unit /= 2
    return round(value / unit) * unit


def exact(pair: Pair) -> Fraction:
    """What a pair stands for, whose first number is the nearest double."""
    assert pair[0] == pair[0] + pair[1]
    return Fraction(pair[0]) + Fraction(pair[1])


def pair_of(value: Fraction) -> Pair:
    near = float(value)
    return near, float(value - Fraction(near))


LARGEST = Fraction(sys.float_info.max)
SECONDS = (
    st.just(0.0)
    | st.floats(1e-100, 1e12)
    | st.integers(0, 10**9).map(lambda number: number / 7)
    | st.floats(1e-9, 1e-3)
)
TINY = st.floats(5e-324, 1e-100)
NUMBERS = st.builds(
    lambda one, other, sign: pair_of(sign * rounded(Fraction(one) + Fraction(other))),
    SECONDS,
    SECONDS.map(lambda number: number / 1e9),
    st.sampled_from((1, -1)),
)


@given(NUMBERS, NUMBERS)
def test_64_bits_are_those_of_batsims_processors(one: Pair, other: Pair) -> None:
    assert exact(plus(one, other)) == rounded(exact(one) + exact(other))
    assert exact(difference(one, other)) == rounded(exact(one) - exact(other))
    if other[0]:
        assert exact(quotient(one, other)) == rounded(exact(one) / exact(other))


@given(st.lists(SECONDS, max_size=40))
def test_sums_are_rounded_after_each_number(values: list[float]) -> None:
    expected = Fraction(0)
    for value in values:
        expected = rounded(expected + Fraction(value))
    assert exact(total(values)) == expected


@pytest.mark.parametrize("bits", range(1, 15))
def test_ties_are_rounded_to_the_even_one(bits: int) -> None:
    for number in range(-3, 4):
        one, other = (1.0, number * 2.0**-63), (2.0**-64, 0.0)
        for sign in (1, -1):
            value = sign * exact(other) / 2**bits
            assert exact(plus(one, pair_of(value))) == rounded(exact(one) + value)


@pytest.mark.parametrize("huge", [1e290, 1e308, math.inf, -math.inf])
def test_huge_numbers_are_doubles(huge: float) -> None:
    assert plus((huge, 0.0), (1.5, 0.0)) == (huge, 0.0)
    assert quotient((huge, 0.0), (4.0, 0.0)) == (huge / 4.0, 0.0)
    assert quotient((huge, 0.0), (1e-300, 0.0)) == (math.copysign(math.inf, huge), 0.0)


@given(SECONDS | TINY, SECONDS | TINY)
def test_sums_with_tiny_numbers_lose_less_than_the_smallest_double(one: float, other: float) -> None:
    for found, value in (
        (plus((one, 0.0), (other, 0.0)), Fraction(one) + Fraction(other)),
        (difference((one, 0.0), (other, 0.0)), Fraction(one) - Fraction(other)),
    ):
        assert abs(exact(found) - rounded(value)) <= Fraction(5e-324)


@given(SECONDS | TINY, TINY)
def test_a_huge_stretch_is_a_double(turnaround: float, runtime: float) -> None:
    if turnaround / runtime >= 1e290:
        assert quotient((turnaround, 0.0), (runtime, 0.0)) == (turnaround / runtime, 0.0)
    elif min(turnaround, runtime) >= 1e-250:
        assert exact(quotient((turnaround, 0.0), (runtime, 0.0))) == rounded(Fraction(turnaround) / Fraction(runtime))


@given(SECONDS, SECONDS, st.sampled_from([0.0]) | SECONDS)
@example(0.0, 1.0, 5e-324)
def test_the_times_of_a_job_are_those_of_64_bits(submitted: float, waited: float, runtime: float) -> None:
    start = submitted + waited
    ran = Fraction(runtime) or rounded(Fraction(1, 100_000))
    finish = rounded(Fraction(start) + ran)
    turnaround = rounded(finish - Fraction(submitted))
    waiting = rounded(Fraction(start) - Fraction(submitted))
    *found, stretch = times(submitted, start, runtime, 0.0)
    assert tuple(map(exact, found)) == (finish, waiting, turnaround)
    row = job("1", submitted, start, runtime)
    assert (row.finish_time, row.waiting_time) == (float(finish), float(waiting))
    assert row.turnaround_time == float(turnaround)
    if turnaround / ran > LARGEST:  # a pair of doubles has no larger number
        assert stretch == (math.inf, 0.0)
        assert row.stretch == math.inf
    else:
        assert exact(stretch) == rounded(turnaround / ran)
        assert row.stretch == float(exact(stretch))


@pytest.mark.parametrize("rest", [MeasuredTime(None, None), MeasuredTime(3.0, 8.0)])
@pytest.mark.parametrize("begin", [None, 4.0])
@pytest.mark.parametrize("end", [None, 7.0])
def test_a_measured_time_is_a_window_if_both_ends_are_times(
    rest: MeasuredTime, begin: float | None, end: float | None
) -> None:
    found = rest.within(begin, end)
    assert found.begin == (rest.begin if begin is None else begin)
    assert found.end == (rest.end if end is None else math.nextafter(end, 0.0))
    assert found.is_window == (begin is not None and end is not None)


def test_a_line_that_is_cut_short_is_named_and_so_is_another_fault(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    whole = jobs_text([])
    path.write_text(whole + "1,w0\n")
    with pytest.raises(InputError, match="the line is cut short") as refused:
        list(read_jobs(path))
    assert refused.value.line == 2
    path.write_bytes(whole.encode() + b"\xff,w0\n")
    with pytest.raises(InputError, match="it is not text in UTF-8"):
        list(read_jobs(path))


@pytest.mark.parametrize("count", [0, 3, 2000])
@pytest.mark.parametrize("ends", [True, False])
def test_files_that_are_written_later_have_the_same_contents(tmp_path: Path, count: int, ends: bool) -> None:
    statistics = Statistics()
    files = [
        ResultFiles(f"{tmp_path}/at_once/o_", energy=True),
        ResultFiles(f"{tmp_path}/later/o_", energy=True, later=True),
    ]
    for each in files:
        each.follow(statistics)
    observers = Observers([statistics, *files])
    for number in range(count):
        observers.job_ended(job(f"{number}", runtime=number / 7))
    if ends:
        observers.ended(Totals(nb_computing_machines=4))
    for each in files:
        each.flush()
    at_once, later = (
        {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()} for folder in ("at_once", "later")
    )
    kept = {f"o_{name}": data for name, data in files[1].kept.items()}
    assert not kept.keys() & later.keys()
    assert {**kept, **later} == at_once
    assert ("o_jobs.csv" in kept) is (ends and count < 2000)
    assert ("o_schedule.json" in kept) is ends
