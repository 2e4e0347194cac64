"""Metrics, against a few lines of numpy: on jobs drawn by chance, and on recorded jobs.csv."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import playback
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.edc import Scheduler
from batprotocol.errors import InputError
from batprotocol.model import FinalJobState, JobSubmittedEvent, ParallelTaskHomogeneousProfile
from batprotocol.policies import Policy
from batprotocol.results import Distribution, jain_index
from batprotocol.simulator import (
    EXAMPLE_PLATFORM,
    EXAMPLE_WORKLOAD,
    METRICS,
    OF_FAILURES,
    OF_POWER,
    JobRow,
    Metrics,
    Platform,
    StaticJob,
    Watts,
    Workload,
    measured,
    metric_named,
    read_energy,
    read_jobs,
    simulate,
)
from batprotocol.workloads.requests import Allocated

WITHOUT_ENGINE = True


def row(number: int, submission: float, waiting: float, runtime: float, hosts: int) -> JobRow:
    return JobRow(
        job_id=str(number),
        workload_name="w0",
        profile="w0!d",
        submission_time=submission,
        requested_number_of_resources=hosts,
        requested_time=None,
        final_state=FinalJobState.COMPLETED_SUCCESSFULLY,
        starting_time=submission + waiting,
        execution_time=runtime,
        allocated_resources=f"0-{hosts - 1}",
    )


ROWS = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 50), st.sampled_from([0.5, 3.0, 10.0, 40.0]), st.integers(1, 4)),
    max_size=30,
).map(lambda jobs: [row(number, float(time), float(wait), run, n) for number, (time, wait, run, n) in enumerate(jobs)])


def agree(ours: Distribution, values: np.ndarray) -> None:
    if not len(values):
        assert all(math.isnan(getattr(ours, name)) for name in ours.__struct_fields__)
        return
    expected = [values.mean(), *np.percentile(values, [50, 90, 95, 99]), values.max()]
    assert [getattr(ours, name) for name in ours.__struct_fields__] == pytest.approx(expected, rel=1e-12)


def steady(ours: Metrics, table: np.ndarray, hosts: int) -> None:
    """Compare what says whether anything is steady, of the measured jobs."""
    submission, start, finish, size = table.T
    span = submission.max() - submission.min()
    expected = (size * (finish - start)).sum() / (hosts * span) if span else math.nan
    assert ours.offered_load == pytest.approx(expected, nan_ok=True)
    late = (submission < submission.max()) & (start > submission.max())
    assert ours.waiting_at_end == pytest.approx(late.mean())


def places(host_sets: list[str]) -> np.ndarray:
    """A row for each job, with True at its hosts."""
    found = np.zeros((len(host_sets), 1024), bool)
    for job, text in enumerate(host_sets):
        for part in text.split():
            first, _, last = part.partition("-")
            found[job, int(first) : int(last or first) + 1] = True
    return found


def in_use(start: np.ndarray, finish: np.ndarray, taken: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """The number of hosts with a job at these moments: a host with several jobs counts once."""
    runs = (start <= moments[:, None]) & (moments[:, None] < finish)
    return (runs.astype(int) @ taken.astype(int) > 0).sum(axis=1)


def with_numpy(ours: Metrics, table: np.ndarray, taken: np.ndarray, hosts: int, tau: float) -> None:
    """Compare with a table of submissions, starts, finishes and hosts."""
    submission, start, finish, size = table.T
    turnaround, runtime = finish - submission, finish - start
    agree(ours.waiting, start - submission)
    agree(ours.turnaround, turnaround)
    agree(ours.slowdown, turnaround / runtime)
    agree(ours.bounded_slowdown, np.maximum(1, turnaround / np.maximum(runtime, tau)))
    agree(ours.per_processor_bounded_slowdown, np.maximum(1, turnaround / (size * np.maximum(runtime, tau))))
    makespan = finish.max() - submission.min()
    assert ours.makespan == ours.measured_time == pytest.approx(makespan)
    assert ours.throughput == pytest.approx(len(table) / makespan)
    steady(ours, table, hosts)
    times = np.unique(np.concatenate([submission, start, finish]))
    middles = (times[:-1] + times[1:]) / 2
    busy = in_use(start, finish, taken, middles)
    assert ours.utilisation == pytest.approx((busy * np.diff(times)).sum() / (hosts * makespan))
    assert ours.utilisation <= max(1.0, taken.any(axis=0).sum() / hosts) + 1e-9
    waits = (submission <= middles[:, None]) & (middles[:, None] < start)
    idle = np.maximum(hosts - busy, 0) * waits.any(axis=1)
    assert ours.loss_of_capacity == pytest.approx((idle * np.diff(times)).sum() / (hosts * makespan), abs=1e-12)


@given(ROWS, st.integers(1, 20), st.sampled_from([1.0, 10.0, 60.0]))
def test_drawn_jobs(rows: list[JobRow], hosts: int, tau: float) -> None:
    ours = measured(rows, hosts, tau=tau, wide=2, long=5.0)
    assert (ours.nb_jobs, ours.nb_rejected) == (len(rows), 0)
    table = [(each.submission_time, each.starting_time, each.finish_time, each.host_count) for each in rows]
    taken = places([each.allocated_resources for each in rows])
    if rows:
        with_numpy(ours, np.array(table, float), taken, hosts, tau)
    assert sum(part.nb_jobs for part in ours.classes.values()) == len(rows)
    for name, part in ours.classes.items():
        inside = [
            number
            for number, each in enumerate(table)
            if (each[2] - each[1] > 5.0) == name.startswith("long") and (each[3] > 2) == name.endswith("wide")
        ]
        assert part.nb_jobs == len(inside)
        if inside:
            with_numpy(part, np.array(table, float)[inside], taken[inside], hosts, tau)


RECORDED = [
    archive
    for archive in playback.recorded_runs()
    if len(playback.read(archive).files.get("jobs.csv", "").splitlines()) > 20
]


@pytest.mark.parametrize("archive", RECORDED, ids=lambda archive: archive.name.removesuffix(".tar.xz"))
def test_recorded_jobs(archive: Path, tmp_path: Path) -> None:
    text = playback.read(archive).files["jobs.csv"]
    (tmp_path / "jobs.csv").write_text(text)
    ours = measured(read_jobs(tmp_path / "jobs.csv"), 64)
    table, host_sets, rejected = [], [], 0
    for job in csv.DictReader(io.StringIO(text)):
        if not job["starting_time"]:
            rejected += 1
            continue
        size = 0
        for part in job["allocated_resources"].split():
            first, _, last = part.partition("-")
            size += int(last or first) - int(first) + 1
        host_sets.append(job["allocated_resources"])
        start, runtime = float(job["starting_time"]), float(job["execution_time"])
        table.append((float(job["submission_time"]), start, start + runtime, size))
    assert (ours.nb_jobs, ours.nb_rejected) == (len(table), rejected)
    if table:
        with_numpy(ours, np.array(table), places(host_sets), 64, 10.0)
    schedule = json.loads(playback.read(archive).files.get("schedule.json", "{}").replace("-nan", "null"))
    for name in ("waiting_time", "turnaround_time", "slowdown"):
        if schedule and table:  # Batsim's means count rejected jobs as 0, and its files have six decimals
            every = len(table) + rejected
            assert ours.flat()[f"mean_{name}"] * len(table) / every == pytest.approx(
                schedule[f"mean_{name}"], rel=1e-5, abs=2e-6
            )
            assert ours.flat()[f"max_{name}"] == pytest.approx(schedule[f"max_{name}"], rel=1e-5, abs=2e-6)


def test_there_is_something_recorded() -> None:
    assert len(RECORDED) >= 5


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20))
def test_the_index_of_jain(values: list[float]) -> None:
    given = np.array(values)
    if (given**2).sum() > 0:
        assert jain_index(values) == pytest.approx(given.sum() ** 2 / (len(given) * (given**2).sum()))
        assert 1 / len(values) - 1e-9 <= jain_index(values) <= 1 + 1e-9


def test_fairness_over_users() -> None:
    rows = [row(0, 0, 0, 10, 1), row(1, 0, 30, 10, 1), row(2, 0, 10, 10, 1), row(3, 0, 90, 10, 1)]
    users = {"w0!0": "a", "w0!1": "a", "w0!2": "b"}
    assert measured(rows, 4, users=users).fairness == pytest.approx(jain_index([2.5, 2.0]))
    assert measured(rows, 4).fairness is None
    assert measured(rows, 4, users={}).fairness is None


def test_a_result_has_them() -> None:
    result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, Policy())
    metrics = result.metrics()
    assert metrics.bounded_slowdown.mean == pytest.approx(result.mean_bounded_slowdown)
    assert metrics.bounded_slowdown.max == pytest.approx(result.max_bounded_slowdown)
    assert metrics.slowdown.mean == pytest.approx(result.mean_slowdown)
    assert metrics.waiting.mean == pytest.approx(result.mean_waiting_time)
    assert metrics.nb_jobs == result.nb_jobs_finished
    assert ("bounded slowdown") in str(result)


@given(ROWS, st.integers(1, 20), st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from([0.0, 0.1, 0.4]))
def test_parts_left_out(rows: list[JobRow], hosts: int, warm_up: float, cool_down: float) -> None:
    ours = measured(rows, hosts, warm_up=warm_up, cool_down=cool_down)
    if not rows or not (warm_up or cool_down):
        assert ours == measured(rows, hosts)
        return
    table = np.array(
        [(each.submission_time, each.starting_time, each.finish_time, each.host_count) for each in rows], float
    )
    submission, start, finish, _ = table.T
    span = submission.max() - submission.min()
    begin, end = submission.min() + warm_up * span, submission.max() - cool_down * span
    kept = (submission >= begin) & (submission <= end)
    assert ours.nb_jobs == kept.sum()
    agree(ours.waiting, (start - submission)[kept])
    agree(ours.bounded_slowdown, np.maximum(1, (finish - submission) / np.maximum(finish - start, 10))[kept])
    assert ours.makespan == pytest.approx(finish.max() - submission.min())
    if not kept.any():
        assert math.isnan(ours.offered_load)
        assert math.isnan(ours.waiting_at_end)
        return
    steady(ours, table[kept], hosts)
    begin = begin if warm_up else submission[kept].min()
    end = end if cool_down else finish[kept].max()
    assert ours.measured_time == pytest.approx(end - begin)
    if end - begin <= 1e-9:
        return
    assert ours.throughput == pytest.approx(((finish > begin) & (finish <= end)).sum() / (end - begin))
    times = np.unique(np.concatenate([submission, start, finish, [begin, end]]).clip(begin, end))
    middles = (times[:-1] + times[1:]) / 2
    busy = in_use(start, finish, places([each.allocated_resources for each in rows]), middles)
    waits = ((submission <= middles[:, None]) & (middles[:, None] < start)).any(axis=1)
    capacity = hosts * (end - begin)
    assert ours.utilisation == pytest.approx((busy * np.diff(times)).sum() / capacity, abs=1e-12)
    idle = np.maximum(hosts - busy, 0) * waits
    assert ours.loss_of_capacity == pytest.approx((idle * np.diff(times)).sum() / capacity, abs=1e-12)


def test_rejected_jobs_are_left_out_too() -> None:
    rejected = [
        JobRow(
            job_id=f"r{time}",
            workload_name="w0",
            profile="w0!d",
            submission_time=time,
            requested_number_of_resources=99,
            requested_time=None,
            final_state=FinalJobState.REJECTED,
        )
        for time in (0.0, 50.0, 100.0)
    ]
    rows = [row(0, 10, 0, 1, 1), row(1, 60, 0, 1, 1)]
    ours = measured([*rejected, *rows], 4, warm_up=0.2, cool_down=0.2)
    assert (ours.nb_jobs, ours.nb_rejected, ours.measured_time) == (1, 1, pytest.approx(60.0))
    assert ours.makespan == pytest.approx(51.0)


class AtOnce(Scheduler):
    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.reply.add_execute_job(event.job_id, str(int(event.job_id.partition("!")[2]) % 4))


@pytest.mark.parametrize("parts", [{"warm_up": 0.3}, {"cool_down": 0.4}, {"warm_up": 0.25, "cool_down": 0.25}])
def test_energy_is_that_of_the_measured_time(parts: dict[str, float], tmp_path: Path) -> None:
    """All hosts draw 100 W, and 150 W more where a job runs: that is what the utilisation says, too."""
    platform = Platform.homogeneous(4, watts=Watts(idle=100.0, epsilon=110.0, max=250.0))
    profile = ParallelTaskHomogeneousProfile(1e9 * 7, 0.0)
    workload = Workload([StaticJob(str(number), 2.0 + 3.0 * number, 1, profile) for number in range(20)])
    result = simulate(platform, workload, AtOnce(), energy=True)
    ours = result.metrics(**parts)  # type: ignore[arg-type]
    expected = 4 * (100.0 + 150.0 * ours.utilisation) * ours.measured_time
    assert ours.consumed_joules == pytest.approx(expected, rel=1e-6)
    assert result.consumed_joules is not None
    assert 0 < ours.consumed_joules < 0.9 * result.consumed_joules == 0.9 * (result.metrics().consumed_joules or 0)
    written = simulate(platform, workload, AtOnce(), energy=True, output=f"{tmp_path}/out_")
    assert written.metrics(**parts).consumed_joules == pytest.approx(expected, rel=1e-6)  # type: ignore[arg-type]
    again = measured(
        read_jobs(tmp_path / "out_jobs.csv"), 4, energy=read_energy(tmp_path / "out_consumed_energy.csv"), **parts
    )
    assert again.consumed_joules == pytest.approx(expected, rel=1e-6)
    assert simulate(platform, workload, AtOnce()).metrics(**parts).consumed_joules is None  # type: ignore[arg-type]


def test_energy_that_is_not_known_to_the_end() -> None:
    rows = [row(number, 10.0 * number, 0.0, 5.0, 1) for number in range(11)]
    points = [(20.0, 200.0), (20.0, 200.0), (60.0, 1000.0), (80.0, 1400.0)]
    half = measured(rows, 4, warm_up=0.1, cool_down=0.5, energy=points, consumed_joules=1500.0)
    assert half.consumed_joules == pytest.approx(800.0 - 100.0)
    assert measured(rows, 4, warm_up=0.1, cool_down=0.1, energy=points).consumed_joules is None
    assert measured(rows, 4, warm_up=0.1, consumed_joules=1500.0).consumed_joules is None
    assert measured(rows, 4, energy=points, consumed_joules=1500.0).consumed_joules == 1500.0


WRONG_ENERGY = [
    ("", "it is not a consumed_energy.csv: it does not begin with time,energy"),
    ("time,joules\n", "it does not begin with time,energy"),
    ("time,energy,event_type,wattmin,epower\n1,x,s,0,NA\n", "consumed_energy.csv:2: .*could not convert"),
    ("time,energy,event_type,wattmin,epower\n1\n", "consumed_energy.csv:2: "),
    ("time,energy,event_type,wattmin,epower\n1,nan,s,0,NA\n", "consumed_energy.csv:2: .*expected a time"),
    ("time,energy,event_type,wattmin,epower\n2,1,s,0,NA\n1,2,e,0,NA\n", "consumed_energy.csv:3: .*before the last"),
]


@pytest.mark.parametrize(("text", "words"), WRONG_ENERGY)
def test_what_holds_no_energy_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "consumed_energy.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_energy(path)


def test_classes_are_measured_in_the_same_time() -> None:
    rows = [row(number, 20.0 * number, 5.0, 20.0, 1 + number % 4) for number in range(11)]
    ours = measured(rows, 8, warm_up=0.25, cool_down=0.25, wide=2, long=50.0)
    assert ours.classes["short narrow"].nb_jobs + ours.classes["short wide"].nb_jobs == ours.nb_jobs == 5
    assert {part.measured_time for part in ours.classes.values()} == {ours.measured_time}
    assert sum(part.utilisation for part in ours.classes.values()) == pytest.approx(ours.utilisation)


def test_each_metric_has_a_flat_name() -> None:
    rows = [row(number, 10.0 * number, 5.0 * number, 20.0, 1 + number % 4) for number in range(20)]
    users = {f"w0!{number}": number % 3 for number in range(20)}
    taken = [
        Allocated(job_id=name, first_id=name, starting_time=0.0, hosts="0", whole=True, memory_share=0.5, gpu_share=0.0)
        for name in users
    ]
    ours = measured(rows, 8, users=users, consumed_joules=5.0, wide=2, long=50.0, allocations=taken)
    found = ours.flat()
    assert [name for name in METRICS if name not in found] == []
    assert found["mean_bounded_slowdown"] == ours.bounded_slowdown.mean
    assert found["p95_waiting_time"] == ours.waiting.p95
    assert found["max_per_processor_bounded_slowdown"] == ours.per_processor_bounded_slowdown.max
    assert found["median_stretch"] == found["median_slowdown"] == ours.slowdown.median
    assert found["short_wide_p99_turnaround_time"] == ours.classes["short wide"].turnaround.p99
    assert (found["fairness"], found["consumed_joules"], found["nb_jobs"]) == (ours.fairness, 5.0, 20.0)
    numbers = [each for name in Metrics.__struct_fields__ if isinstance(each := getattr(ours, name), Distribution)]
    assert {each.p90 for each in numbers} <= set(found.values())
    for name in found:
        told = metric_named(name)
        assert told.name == name
        assert told.definition
    assert set(measured([], 4).flat()) == {
        "utilisation",
        "loss_of_capacity",
        "makespan",
        "measured_time",
        "throughput",
        "nb_jobs",
        "nb_rejected",
    }


def test_a_queue_that_grows_to_the_end() -> None:
    """A job a second for two seconds of work each, on one host: twice what it can do."""
    rows = [row(number, float(number), float(number), 2.0, 1) for number in range(101)]
    ours = measured(rows, 1)
    assert ours.offered_load == pytest.approx(2 * 101 / 100)
    assert ours.waiting_at_end == pytest.approx(49 / 101)
    assert measured(rows, 4, warm_up=0.5).offered_load == pytest.approx(2 * 51 / (4 * 50))
    assert measured(rows, 4, warm_up=0.5).waiting_at_end == pytest.approx(49 / 51)


def test_no_metric_is_forgotten() -> None:
    """Who adds one to `Metrics` is told where else it belongs."""
    fields = {"tau", "classes", "own", "counted"} | {
        metric.path.partition(".")[0] for metric in (METRICS | OF_FAILURES | OF_POWER).values()
    }
    assert set(Metrics.__struct_fields__) <= fields, "batprotocol/results/catalogue.py: add it"


def test_unknown_metrics_are_refused() -> None:
    with pytest.raises(InputError, match="there is no metric 'mean_slow_down'; did you mean mean_slowdown"):
        metric_named("mean_slow_down")
    with pytest.raises(InputError, match=r"there is no metric 'energy'; did you mean consumed_joules or idle_joules"):
        metric_named("energy")
    with pytest.raises(InputError, match=r"there is no metric 'x'; name a metric of your own .*: FILE.py:x$"):
        metric_named("x")


WRONG_PARTS = [{"warm_up": -0.1}, {"cool_down": 1.0}, {"warm_up": 0.5, "cool_down": 0.5}, {"warm_up": math.nan}]


@pytest.mark.parametrize("options", WRONG_PARTS)
def test_wrong_parts_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected a warm-up and cool-down >= 0, below 1 together"):
        measured([], 4, **options)  # type: ignore[arg-type]


def test_batsims_own_numbers() -> None:
    """What schedule.json and the column `stretch` of jobs.csv have, too."""
    result = simulate(EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD, Policy())
    found, batsim = result.metrics().flat(), result.schedule()
    for name in ("waiting_time", "turnaround_time", "slowdown"):
        assert found[f"mean_{name}"] == pytest.approx(batsim[f"mean_{name}"])
        assert found[f"max_{name}"] == pytest.approx(batsim[f"max_{name}"])
    assert found["max_stretch"] == pytest.approx(max(job.stretch or 0 for job in result.jobs))


@pytest.mark.parametrize("options", [{"tau": 0.0}, {"tau": math.nan}, {"wide": 1}, {"long": 1.0}])
def test_wrong_arguments_are_refused(options: dict[str, float]) -> None:
    expected = "expected hosts > 0 and tau > 0, got" if "tau" in options else "expected both or none of wide and long"
    with pytest.raises(InputError, match=expected):
        measured([], 4, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        measured([], 0)
