"""The metrics of failures: jobs that ran several times are one job, and hosts that were away.

The oracle looks at each second of a small machine.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st
from processes import BATPROTO, batproto

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, FinalJobState
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies import named
from batprotocol.results.reports import failures_beside
from batprotocol.results.times import host_downtime, joined_rows
from batprotocol.simulator import (
    METRICS,
    OF_FAILURES,
    ExternalEventList,
    FailureMetrics,
    JobRow,
    StaticJob,
    Workload,
    described_platform,
    lublin_workload,
    measured,
    read_attempts,
    read_jobs,
    simulate,
    workload_json,
    write_attempts,
)
from batprotocol.studies.comparing import compare
from batprotocol.studies.comparing.schedules import Schedule
from batprotocol.workloads.events import written_event
from batprotocol.workloads.host_events import (
    Exponential,
    FailureModel,
    Fixed,
    HostChange,
    HostEvent,
    HostStates,
    Window,
    drawn_failures,
)
from batprotocol.workloads.requests import AttemptReport

WITHOUT_ENGINE = True
HOSTS = 5


def row(
    name: str,
    submitted: float,
    start: float | None = None,
    end: float = 0.0,
    state: FinalJobState = FinalJobState.COMPLETED_SUCCESSFULLY,
    hosts: str = "0",
    profile: str = "w0!p",
) -> JobRow:
    workload, _, job = name.partition("!")
    return JobRow(
        job_id=job,
        workload_name=workload,
        profile=profile,
        submission_time=submitted,
        requested_number_of_resources=1,
        requested_time=None,
        final_state=FinalJobState.REJECTED if start is None else state,
        starting_time=start,
        execution_time=None if start is None else end - start,
        allocated_resources="" if start is None else hosts,
    )


KILLED = FinalJobState.COMPLETED_KILLED


def attempt(name: str, first: str, number: int, start: float, end: float, why: str, **times: Any) -> AttemptReport:
    return AttemptReport(
        job_id=name,
        first_id=first,
        number=number,
        starting_time=start,
        finish_time=end,
        end=why,
        **times,
    )


# Hosts that are away

TIMES = st.integers(0, 30)
SETS = st.sets(st.integers(0, HOSTS - 1), min_size=1)


@st.composite
def events(draw: st.DrawFn) -> list[tuple[float, HostEvent | Window]]:
    """Events in the order of their times, also bad ones."""
    changes = st.tuples(TIMES, SETS, st.sampled_from(HostChange)).map(
        lambda each: (float(each[0]), HostEvent(frozen_hosts(each[1]), each[2]))
    )
    windows = st.tuples(TIMES, SETS, TIMES, st.integers(1, 9), st.booleans()).map(
        lambda each: (
            float(each[0]),
            Window(
                frozen_hosts(each[1]),
                float(each[0] + each[2]),
                float(each[0] + each[2] + each[3]),
                users=("ann",) if each[4] else (),
            ),
        )
    )
    found: list[tuple[float, HostEvent | Window]] = draw(st.lists(changes | windows, max_size=12))
    return sorted(found, key=lambda each: each[0])


@given(events(), TIMES, st.integers(1, 40))
def test_hosts_away_second_by_second(given: list[tuple[float, HostEvent | Window]], begin: int, length: int) -> None:
    states = HostStates(HOSTS)
    away, unable, complete = 0, 0, 0
    windows: list[Window] = []
    pending = list(given)
    for second in range(begin + length):
        while pending and pending[0][0] <= second:
            time, event = pending.pop(0)
            try:
                states.take(time, event)
            except InputError:
                continue
            if isinstance(event, Window) and event.is_closed:
                windows.append(event)
        closed = {host for each in windows if each.begin <= second < each.end for host in each.hosts}
        if second >= begin:
            away += len(closed | set(states.down) | set(states.drained))
            unable += len(closed | set(states.down))
            complete += not (closed | set(states.down) | set(states.drained))
    found = host_downtime(given, HOSTS)
    assert found.area(begin, begin + length) == (away, unable)
    assert found.complete(begin, begin + length) == complete


@given(events(), st.dictionaries(st.integers(1, 40), SETS, max_size=5))
def test_jobs_that_lose_a_host(given: list[tuple[float, HostEvent | Window]], ends: dict[int, set[int]]) -> None:
    """A killed job was interrupted by a host if no job can run on one of its hosts from then on."""
    killed = {str(time): (time - 0.0000005, frozen_hosts(hosts).text) for time, hosts in ends.items()}
    victims = host_downtime(given, HOSTS, killed).victims
    for time, hosts in ends.items():
        alone = {host: _unable(given, host, time) for host in hosts}
        assert (str(time) in victims) == any(alone.values())


def _unable(given: list[tuple[float, HostEvent | Window]], host: int, time: float) -> bool:
    """Whether no job can run on a host at a time: the number of such hosts changes with it."""
    states, windows = HostStates(HOSTS), []
    for at, event in given:
        if at <= time:
            try:
                states.take(at, event)
            except InputError:
                continue
            if isinstance(event, Window) and event.is_closed:
                windows.append(event)
    return host in states.down or any(each.begin <= time < each.end and host in each.hosts for each in windows)


# Jobs that ran several times


def test_attempts_are_one_job() -> None:
    rows = [
        row("w0!1", 0, 10, 40, KILLED, "0-1"),
        row("again!w0-1~1", 40, 60, 100, KILLED, "0-1"),
        row("w0!2", 5, 5, 205, hosts="3"),
        row("again!w0-1~2", 100, 100, 190, hosts="1-2"),
        row("w0!3", 7),
    ]
    found = measured(rows, 4, users={"w0!1": "ann", "w0!2": "bob"})
    assert (found.nb_jobs, found.nb_rejected) == (2, 1)
    assert (found.waiting.max, found.waiting.mean) == (30.0, 15.0)
    assert found.turnaround.mean == (190 + 200) / 2
    assert found.slowdown.max == 190 / 90, "its run time is that of the last attempt, which began again"
    assert found.utilisation == pytest.approx((2 * (30 + 40 + 90) + 200) / (4 * 205))
    assert found.throughput == 2 / 205
    assert found.fairness is not None
    failures = found.failures
    assert failures is not None
    assert (failures.lost_work, failures.repeated_work) == (140.0, 140.0)
    assert (failures.nb_interruptions, failures.nb_given_up) == (2, 0)
    assert failures.mean_time_to_interrupt == (30 + 40 + 90 + 200) / 2
    assert failures.goodput == pytest.approx((180 + 200) / (4 * 205))
    assert failures.availability is None


def test_a_job_that_continues_has_lost_nothing() -> None:
    rows = [
        row("w0!1", 0, 0, 60, KILLED),
        row("again!w0-1~1", 60, 80, 120, profile="again!w0-1~1"),
    ]
    found = measured(rows, 1)
    assert found.failures is not None
    assert found.failures.lost_work == 0
    assert found.slowdown.mean == 120 / 100


def test_a_job_with_checkpoints_was_not_rejected() -> None:
    """It is registered anew, with a profile that takes checkpoints, and the submitted job is rejected."""
    rows = [
        row("w0!1", 0),
        row("again!w0-1~0", 1, 2, 102, KILLED, profile="again!w0-1~0"),
        row("again!w0-1~1", 102, 110, 150, profile="again!w0-1~1"),
        row("w0!2", 0),
        row("again!w0-2~0", 1, 200, 300, KILLED),
    ]
    attempts = [
        attempt("again!w0-1~0", "w0!1", 0, 2, 102, "failure", next_id="again!w0-1~1", work=60, checkpoints=10, lost=30),
        attempt("again!w0-1~1", "w0!1", 1, 110, 150, "completed", work=35, restart=5),
        attempt("again!w0-2~0", "w0!2", 0, 200, 300, "failure", lost=100),
    ]
    found = measured(rows, 2, attempts=attempts, warm_up=0.0)
    assert (found.nb_jobs, found.nb_rejected) == (2, 0)
    assert found.waiting.mean == (2 + 8 + 200) / 2
    assert found.turnaround.max == 300
    failures = found.failures
    assert failures is not None
    assert (failures.lost_work, failures.repeated_work) == (130, 30)
    assert failures.checkpoint_overhead == 15 / 240
    assert (failures.nb_interruptions, failures.nb_given_up) == (2, 1)
    assert failures.goodput == pytest.approx(95 / 600)


def test_each_attempt_of_a_job_that_never_ran() -> None:
    found = measured([row("w0!1", 3), row("again!w0-1~0", 4)], 2)
    assert (found.nb_jobs, found.nb_rejected) == (0, 1)
    orphan = measured([row("again!w0-1~1", 4), row("again!w0-1~2", 5, 6, 7)], 2)
    assert (orphan.nb_jobs, orphan.nb_rejected, orphan.turnaround.mean) == (1, 0, 3.0)


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(0, 9), st.floats(0, 1)), min_size=1, max_size=5
    ),
    st.integers(0, 40),
    st.integers(1, 40),
)
def test_host_seconds_are_useful_lost_or_checkpoints(
    lengths: list[tuple[int, int, int, float]], begin: int, length: int
) -> None:
    """Also of a part of a run: the attempts of a job follow one another, with work, checkpoints, and lost work."""
    rows, attempts, now = [], [], 0
    for number, (work, lost, wait, kept) in enumerate(lengths):
        last = number == len(lengths) - 1
        name = "w0!1" if not number else f"again!w0-1~{number}"
        start = now + wait
        now = start + work + (0 if last else lost)
        rows.append(row(name, start - wait, start, now, FinalJobState.COMPLETED_SUCCESSFULLY if last else KILLED))
        end = "completed" if last else "failure"
        times = {"work": work, "lost": 0 if last else lost, "checkpoints": kept * work}
        attempts.append(attempt(name, "w0!1", number, start, now, end, **times))
    busy = {second for each in attempts for second in range(int(each.starting_time), int(each.finish_time))}
    gone = {second for each in attempts for second in range(int(each.finish_time - each.lost), int(each.finish_time))}
    inside = set(range(begin, begin + length))
    found = measured(rows, 3, attempts=attempts, begin=float(begin), end=float(begin + length))
    assert found.failures is not None
    assert found.failures.lost_work == pytest.approx(len(gone & inside), abs=1e-6)
    kept = sum(  # spread evenly over their attempts
        each.checkpoints
        * len({*range(int(each.starting_time), int(each.finish_time))} & inside)
        / (each.finish_time - each.starting_time)
        for each in attempts
    )
    assert found.failures.goodput == pytest.approx((len((busy - gone) & inside) - kept) / (3 * length), abs=1e-6)
    assert found.utilisation == pytest.approx(len(busy & inside) / (3 * length), abs=1e-6)


# Where they are


def test_names_and_fields() -> None:
    assert set(OF_FAILURES) == set(FailureMetrics.__struct_fields__)
    assert not set(OF_FAILURES) & set(METRICS)


def test_no_failures_no_metrics() -> None:
    found = measured([row("w0!1", 0, 1, 2), row("w0!2", 0, 1, 2, KILLED)], 2)
    assert found.failures is None
    assert not set(found.flat()) & set(OF_FAILURES)


def test_a_simulation() -> None:
    texts = [(100.0, '{"hosts":"0","state":"down"}'), (200.0, '{"hosts":"0","state":"up"}'), (900.0, "{}")]
    workload = Workload([StaticJob(str(number), 0.0, 1, DelayProfile(150.0)) for number in range(4)])
    policy = named("easy")()
    result = simulate(described_platform("n[0-1]"), workload, policy, external_events=[ExternalEventList.of(texts)])
    found = result.metrics()
    assert found.failures is not None
    assert found.failures.availability == pytest.approx(1 - 100 / 700, abs=1e-4)
    assert found.failures.nb_given_up == 1
    assert found.failures.lost_work == pytest.approx(100, abs=1e-2)
    text = str(result)
    assert "availability: 85.7%" in text
    assert "jobs given up: 1" in text
    plain = simulate(described_platform("n[0-1]"), workload, named("easy")())
    assert "interruptions" not in str(plain)


# attempts.csv

NAMES = st.text(min_size=1, max_size=8)
SECONDS = st.floats(0, 1e9).map(lambda number: round(number, 6))


@given(
    st.lists(
        st.builds(
            AttemptReport,
            job_id=NAMES,
            first_id=NAMES,
            number=st.integers(0, 999),
            starting_time=SECONDS,
            finish_time=SECONDS,
            end=st.sampled_from(["completed", "failure", "window", "preempted"]),
            next_id=NAMES | st.just(""),
            work=SECONDS,
            checkpoints=SECONDS,
            restart=SECONDS,
            lost=SECONDS,
        ),
        max_size=4,
        unique_by=lambda each: each.job_id,
    )
)
def test_written_attempts_are_read(tmp_path_factory: pytest.TempPathFactory, attempts: list[AttemptReport]) -> None:
    path = tmp_path_factory.mktemp("attempts") / "attempts.csv"
    write_attempts(path, attempts)
    assert read_attempts(path) == attempts


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("w0!1,w0!1,0,0.0,1.0,failure,,nan,0.0,0.0,0.0", "work"),
        ("w0!1,w0!1,x,0.0,1.0,failure,,0.0,0.0,0.0,0.0", "number"),
        ("w0!1,w0!1,0,0.0,1.0,bored,,0.0,0.0,0.0,0.0", "end"),
        (",w0!1,0,0.0,1.0,failure,,0.0,0.0,0.0,0.0", "job_id"),
        ("w0!1", ""),
    ],
)
def test_bad_attempts_are_refused(tmp_path: Path, line: str, column: str) -> None:
    path = tmp_path / "attempts.csv"
    write_attempts(path, [])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError) as caught:
        read_attempts(path)
    assert (caught.value.line, caught.value.path) == (2, column)


def test_a_mean_without_interruptions_is_not_known() -> None:
    event = HostEvent(frozen_hosts("0"), HostChange.DRAIN)
    found = measured([row("w0!1", 0, 1, 2)], 2, events=[(0.5, event)])
    assert found.failures is not None
    assert math.isnan(found.failures.mean_time_to_interrupt)
    assert found.failures.availability == 1 - 1.5 / 4
    assert "mean_time_to_interrupt" not in found.flat()


def test_rows_are_joined() -> None:
    rows = [
        row("w0!1", 0, 10, 40, KILLED, "0-1"),
        row("w0!2", 0),
        row("again!w0-1~1", 40, 60, 100, hosts="2"),
        row("again!w0-2~0", 1, 100, 150),
    ]
    found = joined_rows(rows)
    assert [(f"{each.workload_name}!{each.job_id}", each.submission_time) for each in found] == [
        ("w0!2", 0),
        ("w0!1", 0),
    ]
    assert [(each.starting_time, each.finish_time) for each in found] == [(100, 150), (10, 100)]
    assert [(each.success, each.allocated_resources) for each in found] == [(True, "0"), (True, "2")]
    assert joined_rows(rows[:2]) == rows[:2]


def test_comparisons_are_of_whole_jobs(tmp_path: Path) -> None:
    events = [(100.0, '{"hosts":"0","state":"down"}'), (200.0, '{"hosts":"0","state":"up"}')]
    workload = Workload([StaticJob(str(number), 0.0, 1, DelayProfile(150.0)) for number in range(4)])
    schedules = []
    for name in ("easy", "easy+requeue"):
        policy, given = named(name)(), [ExternalEventList.of(events)]
        result = simulate(described_platform("n[0-1]"), workload, policy, external_events=given)
        rows = tuple(result.jobs)
        schedules.append(Schedule(name=name, jobs=rows, hosts=2, attempts=policy.attempts, events=result.host_events))
    found = compare(*schedules)
    assert len(found.pairs) == 4
    assert found.moved == 0
    assert found.metrics["nb_given_up"] == (1.0, 0.0)
    assert found.metrics["lost_work"][0] == pytest.approx(found.metrics["lost_work"][1])
    assert "jobs given up" in str(found.metrics_grid().rows)


@pytest.mark.parametrize("name", ["easy", "easy+requeue", "easy+requeue=1,last"])
def test_ids_and_events_give_what_the_scheduler_reports(name: str) -> None:
    """Without reports, as after a run of another Batsim: of jobs that are lost, or run again from the start."""
    workload = lublin_workload(16, 60, seed=4)
    model = FailureModel(Exponential(2e5), Fixed(4e3))
    given = [(time, event.to_data()) for time, event in drawn_failures(16, model, until=4e5, seed=2)]
    policy = named(name)()
    result = simulate(
        described_platform("n[0-15]"), workload, policy, external_events=[ExternalEventList.of(given, corrected=True)]
    )
    by_ids = result.metrics()
    result.attempts = policy.attempts
    reported = result.metrics()
    assert by_ids.failures is not None
    assert by_ids.failures.nb_interruptions > 5
    assert by_ids.flat() == pytest.approx(reported.flat(), rel=1e-4, abs=1e-3)
    assert by_ids.nb_jobs == 60


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    events = [(100.0, '{"hosts":"0","state":"down"}'), (200.0, '{"hosts":"0","state":"up"}')]
    (tmp_path / "events.jsonl").write_text("".join(written_event(*each) for each in events))
    jobs = [StaticJob(str(number), 0.0, 1, DelayProfile(150.0)) for number in range(4)]
    (tmp_path / "jobs.json").write_text(workload_json(Workload(jobs)))
    return ["--hosts", "n[0-1]", "-w", str(tmp_path / "jobs.json"), "--events", str(tmp_path / "events.jsonl")]


def test_simulate_keeps_attempts_and_events_beside_jobs(tmp_path: Path, inputs: list[str]) -> None:
    done = run_here("simulate", "easy+requeue", *inputs, "-o", tmp_path / "out", "--json")
    metrics = json.loads(done.out)["metrics"]
    assert metrics["nb_interruptions"] == 1
    assert metrics["nb_given_up"] == 0
    attempts, events = failures_beside(f"{tmp_path / 'out'}/")
    assert attempts[0].end == "failure"
    assert len(events) == 2
    again = measured(read_jobs(tmp_path / "out" / "jobs.csv"), 2, attempts=attempts, events=events)
    assert again.flat() == pytest.approx(metrics, rel=1e-4)
    run_here("simulate", "easy", *inputs[:4], "-o", tmp_path / "plain")
    assert not {"attempts.csv", "host_events.jsonl"} & {each.name for each in (tmp_path / "plain").iterdir()}


@pytest.mark.slow
def test_run_writes_attempts_beside_a_real_socket(tmp_path: Path, inputs: list[str]) -> None:
    run_here("simulate", "easy+requeue", *inputs, "-o", tmp_path / "here")
    there = tmp_path / "attempts.csv"
    done = batproto(
        *("run", "easy+requeue", "--attempts", there, "--", *BATPROTO, "simulate", "--endpoint", "{endpoint}", *inputs)
    )
    assert done.returncode == 0, done.stderr
    here = read_attempts(tmp_path / "here" / "attempts.csv")
    assert [each.job_id for each in read_attempts(there)] == [each.job_id for each in here]
    refused = run_here("run", "examples/fcfs.py:FCFS", "--attempts", tmp_path / "a.csv")
    assert "--attempts is for built-in policies: leave it out" in refused.err
