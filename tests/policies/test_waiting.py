"""Jobs wait for better times of a trace: within their slack, until their deadlines, and with interruptions."""

from __future__ import annotations

import json
import logging
import math
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile, Message, ParallelTaskHomogeneousProfile
from batprotocol.policies import EASY, Conservative, Greedy, Policy, PolicyNameError, SiteRules, Wait, named
from batprotocol.simulator import Result, StaticJob, Workload, described_platform, simulate
from batprotocol.workloads.electricity import BestTimes, Trace

WITHOUT_ENGINE = True

HOUR = 3600.0
LATE = 0.01  # messages take a while
PLATFORM = described_platform("n[0-39]")
SMALL = described_platform("n[0-3]")

traces = st.builds(
    lambda values, step, repeats: Trace(
        [step * place for place in range(len(values))], values, step * len(values), "g/kWh", repeats=repeats
    ),
    st.lists(st.integers(1, 9).map(float), min_size=2, max_size=12),
    st.sampled_from([HOUR, 600.0]),
    st.booleans(),
)
jobs_of = st.lists(
    st.tuples(st.integers(0, 200), st.integers(1, 120), st.integers(1, 4), st.booleans()), min_size=1, max_size=10
)
slacks = st.sampled_from([0.0, 1000.0, HOUR, 4 * HOUR])


def jobs_from(made: Any) -> list[StaticJob]:
    """Jobs that take 60 s or more, with walltimes."""
    return [
        StaticJob(
            *(f"{number}", 60.0 * at, size, DelayProfile(60.0 * minutes)),
            walltime=60.0 * minutes * (1.5 if long else 1.0) + 1,
        )
        for number, (at, minutes, size, long) in enumerate(made)
    ]


def simulated(jobs: list[StaticJob], policy: Policy, platform: Any = PLATFORM) -> Result:
    result = simulate(platform, Workload(jobs), policy)
    assert result.is_complete
    return result


@settings(max_examples=25)
@given(trace=traces, made=jobs_of, slack=slacks, with_site=st.booleans())
def test_each_job_starts_at_its_best_time(trace: Trace, made: Any, slack: float, with_site: bool) -> None:
    rules = SiteRules.of({"partitions": {"p": {"hosts": "ALL"}}}) if with_site else None
    jobs = jobs_from(made)
    rows = list(simulated(jobs, Policy(backfilling=EASY(), starts=Wait(trace, slack), site=rules)).jobs)
    best, known = BestTimes(trace), {job.id: job for job in jobs}
    assert len(rows) == len(made)
    for row in rows:
        job = known[row.job_id]
        assert row.starting_time - best.start(job.submission_time, job.submission_time + slack, job.walltime) < LATE
        assert job.submission_time <= row.starting_time < job.submission_time + slack + LATE


@settings(max_examples=25)
@given(
    trace=traces,
    made=jobs_of,
    slack=slacks,
    options=st.sampled_from([{}, {"interruptible": True}, {"quantile": 0.3}, {"share": 0.5}, {"error": 0.2}]),
    backfilling=st.sampled_from([None, EASY(), Conservative(), Greedy()]),
    with_site=st.booleans(),
)
def test_all_jobs_end_on_a_small_machine(
    trace: Trace, made: Any, slack: float, options: Any, backfilling: Any, with_site: bool
) -> None:
    rules = SiteRules.of({"partitions": {"p": {"hosts": "ALL"}}}) if with_site else None
    jobs = jobs_from(made)
    policy = Policy(backfilling=backfilling, starts=Wait(trace, slack, **options), site=rules)
    rows = list(simulated(jobs, policy, SMALL).jobs)
    done = {row.job_id: row for row in rows}
    for job in jobs:
        names = [name for name in done if is_run_of(name, job.id)]
        assert names
        assert all(done[name].starting_time >= job.submission_time for name in names)


@settings(max_examples=20)
@given(trace=traces, made=jobs_of, hours=st.integers(1, 6), has_word=st.booleans())
def test_deadlines_are_met(trace: Trace, made: Any, hours: int, has_word: bool) -> None:
    """A job with a deadline starts so early that it meets it; with the word, it waits until then if that is better."""
    jobs = [
        msgspec.structs.replace(job, extra_data=json.dumps({"deadline": f"now+{job.walltime + hours * HOUR:.0f}"}))
        for job in jobs_from(made)
    ]
    rows = {row.job_id: row for row in simulated(jobs, Policy(starts=Wait(trace, 2 * HOUR, deadline=has_word))).jobs}
    best = BestTimes(trace)
    for job in jobs:
        latest = job.submission_time + (hours * HOUR - 1 if has_word else min(2 * HOUR, hours * HOUR - 1))
        wanted = best.start(job.submission_time, latest, job.walltime)
        assert rows[job.id].final_state.name == "COMPLETED_SUCCESSFULLY"
        assert abs(rows[job.id].starting_time - wanted) < LATE


@pytest.mark.parametrize("seed", range(3))
def test_periodic_jobs_move_to_the_best_half_hour_of_a_region(seed: int) -> None:
    """The first scenario of a study in a region that is made up; `test_lets_wait_awhile` has its own regions."""
    chance, days, width = Random(seed), 20, 2 + 5 * seed
    values = [chance.uniform(100, 400) if seed else float(chance.randint(1, 9)) for _ in range(48 * (days + 2))]
    trace = Trace([1800.0 * place for place in range(len(values))], values, 1800.0 * len(values), "g/kWh")
    centres = [48 * day + 2 for day in range(days) if 48 * day + 2 >= width]
    expected = sum(min(values[at - width : at + width + 1]) for at in centres)
    jobs = [StaticJob(f"{at}", 1800.0 * (at - width), 1, DelayProfile(1800.0)) for at in centres]
    rows = simulated(jobs, Policy(backfilling=EASY(), starts=Wait(trace, 3600.0 * width))).jobs
    assert sum(trace.at(row.starting_time) for row in rows) == pytest.approx(expected, rel=1e-12)


# Interruptions


def grams(result: Result, trace: Trace) -> float:
    """The grams of a watt for each job that runs."""
    rows = [row for row in result.jobs if row.starting_time is not None]
    return sum(trace.integral(row.starting_time, row.finish_time) for row in rows)


@settings(max_examples=20)
@given(trace=traces, made=jobs_of, slack=slacks)
def test_interruptions_never_cost_more(trace: Trace, made: Any, slack: float) -> None:
    trace = Trace(trace.times, trace.values, trace.end, trace.unit, repeats=True)
    jobs = [msgspec.structs.replace(job, walltime=job.profile.delay + 0.01) for job in jobs_from(made)]
    whole = simulated(jobs, Policy(starts=Wait(trace, slack)))
    policy = Policy(starts=Wait(trace, slack, interruptible=True))
    pieces = simulated(jobs, policy)
    most = len(list(pieces.jobs)) * 9 * LATE
    assert grams(pieces, trace) <= grams(whole, trace) + most
    ran = sum(row.execution_time for row in pieces.jobs)
    assert abs(ran - sum(job.profile.delay for job in jobs)) < LATE * (1 + len(policy.attempts))
    for row in pieces.jobs:
        job = next(job for job in jobs if is_run_of(row.job_id, job.id))
        assert row.finish_time < job.submission_time + slack + job.walltime + LATE * (1 + len(policy.attempts))


def is_run_of(row: str, job: str) -> bool:
    return row == job or row.startswith(f"w0-{job}~")


HOURLY = Trace([0.0, HOUR, 2 * HOUR, 3 * HOUR], [3.0, 1.0, 2.0, 1.0], 4 * HOUR, "g/kWh", repeats=True)


@pytest.mark.parametrize(
    "profile", [DelayProfile(2 * HOUR), ParallelTaskHomogeneousProfile(7.2e12, 0.0)], ids=["delay", "computation"]
)
def test_a_job_runs_in_the_best_hours(profile: Any) -> None:
    jobs = [StaticJob("0", 0.0, 1, profile, walltime=2 * HOUR + 1)]
    policy = Policy(starts=Wait(HOURLY, 2 * HOUR, interruptible=True))
    rows = sorted(simulated(jobs, policy).jobs, key=lambda row: row.starting_time)
    assert [(row.job_id, round(row.starting_time), round(row.finish_time)) for row in rows] == [
        ("0", 3600, 7201),  # the last second of its walltime is where it does not interrupt
        ("w0-0~1", 10800, 14399),
    ]
    assert [(each.end, each.lost, each.next_id) for each in policy.attempts] == [
        ("interrupted", 0.0, "again!w0-0~1"),
        ("completed", 0.0, ""),
    ]


def test_a_job_that_cannot_be_divided_or_must_not_run_again_is_not_interrupted() -> None:
    jobs = [
        StaticJob("0", 0.0, 1, DelayProfile(2 * HOUR), walltime=2 * HOUR + 1, extra_data='{"requeue": false}'),
        StaticJob("1", 0.0, 1, DelayProfile(2 * HOUR)),
    ]
    result = simulated(jobs, Policy(starts=Wait(HOURLY, 2 * HOUR, interruptible=True)))
    assert [(row.job_id, round(row.starting_time)) for row in result.jobs] == [("0", 3600), ("1", 3600)]


# The queue


def test_the_queue_waits_while_the_value_is_high() -> None:
    """Also a job waits again that found no hosts while the value was low; none waits for longer than its slack."""
    jobs = [
        StaticJob("long", 0.5 * HOUR, 4, DelayProfile(1.5 * HOUR), walltime=1.5 * HOUR + 1),
        StaticJob("next", 0.5 * HOUR, 4, DelayProfile(HOUR), walltime=HOUR + 1),
        StaticJob("last", 4.5 * HOUR, 4, DelayProfile(HOUR), walltime=HOUR + 1),
    ]
    for site in (None, SiteRules.of({"partitions": {"p": {"hosts": "ALL"}}})):
        for slack, starts in ((8 * HOUR, [1.0, 3.0, 5.0]), (1800.0, [1.0, 2.5, 5.0]), (0.0, [0.5, 2.0, 4.5])):
            policy = Policy(starts=Wait(HOURLY, slack, quantile=0.25), site=site)
            rows = simulated(jobs, policy, SMALL).jobs
            found = {row.job_id: row.starting_time / HOUR for row in rows}
            expected = starts if slack != 1800.0 else [1.0, 2.5, 5.0]
            assert [round(found[name], 3) for name in ("long", "next", "last")] == expected


# Nothing changes


def conversation(policy: Policy, jobs: list[StaticJob]) -> list[tuple[Any, Any]]:
    turns: list[tuple[Any, Any]] = []

    def look(message: Message, reply: Message) -> None:
        turns.append((message, reply))

    assert simulate(SMALL, Workload(jobs), policy, on_turn=look).is_complete
    return turns


@settings(max_examples=10)
@given(made=jobs_of, options=st.sampled_from(["", ",interruptible", ",queue=10%", ",deadline", ",slack=20%"]))
def test_a_constant_trace_changes_nothing(made: Any, options: str) -> None:
    jobs = jobs_from(made)
    without, constant = named("easy")(), named(f"easy+wait=daily:300?swing=0{options}")()
    constant.name = without.name
    assert conversation(constant, jobs) == conversation(without, jobs)


def test_a_trace_that_ends_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    trace = Trace([0.0, HOUR], [2.0, 1.0], 2 * HOUR, "g/kWh")
    jobs = [StaticJob(f"{at}", at, 1, DelayProfile(60.0), walltime=60.0) for at in (0.0, 9000.0, 10000.0)]
    with caplog.at_level(logging.WARNING):
        rows = simulated(jobs, Policy(starts=Wait(trace, 4 * HOUR))).jobs
    assert [round(row.starting_time) for row in sorted(rows, key=lambda row: row.starting_time)] == [3600, 9000, 10000]
    assert [record.getMessage() for record in caplog.records] == [
        "jobs do not wait from 9000 s on: their trace has values from 0 s to 7200 s; repeat it with repeat=yes"
    ]


def test_jobs_depend_on_jobs_that_wait() -> None:
    """The slack of a job counts from the end of the job that it depends on."""
    jobs = [
        StaticJob("0", 0.0, 1, DelayProfile(6000.0), walltime=6001.0),
        StaticJob("1", 0.0, 1, DelayProfile(60.0), walltime=61.0, extra_data='{"dependency": "afterok:0"}'),
    ]
    rows = simulated(jobs, Policy(starts=Wait(HOURLY, HOUR))).jobs
    assert [round(row.starting_time) for row in rows] == [3600, 10800]
    rows = simulated(jobs, Policy(starts=Wait(HOURLY, 1000.0))).jobs
    assert [round(row.starting_time) for row in rows] == [0, 6000]


def test_a_time_that_is_a_little_later_than_its_millisecond_is_no_end() -> None:
    """The policy asks for calls in milliseconds, and this time is some nanoseconds later than one."""
    time = 11851200.983000001
    trace = Trace([0.0, time, time + 3600, time + 7200], [3.0, 2.0, 3.0, 1.0], time + 4e4, "g/kWh")
    deadline = json.dumps({"deadline": time + 20001.0 + 51.0})
    jobs = [
        StaticJob("0", time - 100, 1, DelayProfile(20000.0), walltime=20001.0, extra_data=deadline),
        StaticJob("1", time - 50, 1, DelayProfile(10.0), walltime=60.0),
    ]
    rows = simulated(jobs, Policy(starts=Wait(trace, 8000.0))).jobs
    assert {row.job_id: round(row.starting_time - time) for row in rows} == {"0": 0, "1": 7200}


# Forecasts


def test_a_forecast_has_errors_by_its_seed() -> None:
    trace = Trace(
        [HOUR * place for place in range(1000)], [300.0 + place % 24 for place in range(1000)], 3.6e6, "g/kWh"
    )
    jobs = [place * 10 * HOUR for place in range(90)]

    def starts(**options: Any) -> list[float]:
        part = Wait(trace, 8 * HOUR, **options)
        return [part.turn(at, at, HOUR).begin for at in jobs]

    assert starts(error=0.05, seed=1) == starts(error=0.05, seed=1) != starts(error=0.05, seed=2)
    values = [sum(trace.at(at) for at in starts(**options)) for options in ({}, {"error": 0.05}, {"error": 10.0})]
    assert values == sorted(values)
    assert math.isclose(values[2], sum(trace.at(at) for at in jobs), rel_tol=0.05)


# Names


def test_names_have_all_options() -> None:
    part = named("sjf+wait=daily:300,slack=90min,deadline,error=5%,seed=7,interruptible")().starts
    assert part is not None
    assert (part.slack, part.share, part.deadline, part.error, part.seed) == (5400.0, None, True, 0.05, 7)
    assert part.interruptible
    share = named("wait=daily:0.3,slack=50%,queue,price")().starts
    assert share is not None
    assert (share.slack, share.share, share.quantile, share.trace.unit) == (0.0, 0.5, 0.5, "EUR/kWh")
    due = named("wait=daily:300,deadline")().starts
    plain = named("wait=daily:300,queue=20%")().starts
    assert due is not None
    assert plain is not None
    assert (due.slack, plain.slack, plain.quantile) == (0.0, 8 * HOUR, 0.2)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("wait", "wait needs a trace, as in wait=intensity.csv or wait=daily:300"),
        ("wait=daily:300,slak=3h", "each once, got 'slak=3h'; did you mean 'slack'?"),
        ("wait=daily:300,slack", "each once, got 'slack'"),
        ("wait=daily:300,price=1", "each once, got 'price=1'"),
        ("wait=daily:300,slack=1h,slack=2h", "each once, got 'slack=2h'"),
        ("wait=daily:300,slack=soon", "expected a duration such as 1d8h, 30min, 1y or 90 (seconds), got 'soon'"),
        ("wait=daily:300,queue=120%", "expected a quantile from 0 to 1, got 1.2"),
        ("wait=daily:300,queue,interruptible", "expected interruptible or queue, got both"),
        ("wait=daily:300,error=-1%", "expected a number >= 0, got '-1'"),
        ("wait=there-is-none.csv", "No such file or directory"),
        ("wait=daily:x", "expected a number, got 'x'"),
        ("recorded+wait=daily:300", "the log decides all that wait would; write recorded alone"),
    ],
)
def test_bad_names(name: str, why: str) -> None:
    with pytest.raises(PolicyNameError) as error:
        named(name)
    assert why in str(error.value)


def test_a_trace_is_found_beside_what_names_it(tmp_path: Any) -> None:
    (tmp_path / "A-b.csv").write_text("Time,Carbon Intensity\n2020-01-01 00:00,3\n2020-01-01 01:00,1\n")
    part = named("easy+wait=A-b.csv?repeat=yes,slack=1h", str(tmp_path))().starts
    assert part is not None
    assert (list(part.trace.values), part.trace.repeats) == ([3.0, 1.0], True)


# When a job may run, against each second that it could begin at

STEP = 10.0


def means_of(trace: Trace, begin: float, seconds: float) -> float:
    """The mean of a trace over an interval, second by second."""
    return sum(trace.values[int((begin + each) % trace.period // STEP)] for each in range(int(seconds))) / seconds


@pytest.mark.parametrize("seed", range(80))
def test_a_window_is_the_best_of_all_that_could_be(seed: int) -> None:
    random = Random(seed)
    count = random.randint(2, 6)
    values = [float(each) for each in random.sample(range(1, 40), count)]
    trace = Trace([STEP * place for place in range(count)], values, STEP * count, "g/kWh", repeats=True)
    slack, share = 10.0 * random.randint(0, 8), random.choice([None, None, 0.5, 3.0])
    wait = Wait(trace, slack, share=share, deadline=random.random() < 0.3)
    since, seconds = float(random.randint(0, 50)), float(random.choice([1, 5, 10, 20, 35]))
    expected = random.choice([seconds, seconds, math.inf, 0.0])
    used = seconds if 0 < expected < math.inf else 1.0
    walltime = random.choice([math.inf, used, 2 * used])
    deadline = random.choice([None, since + random.randint(1, 120)])
    late = since + (slack if share is None else share * expected if expected < math.inf else 0.0)
    if deadline is not None:
        due = since if walltime == math.inf else deadline - walltime - 1
        late = due if walltime == math.inf or wait.deadline else min(late, due)
    first_step = math.ceil(since / STEP)
    begins = [since, *(STEP * place for place in range(first_step, 30) if STEP * place <= late)]
    best = min(begins, key=lambda begin: (round(means_of(trace, begin, used), 9), begin)) if late > since else since
    found = wait.turn(since, since, expected, walltime=walltime, deadline=deadline)
    assert found == (best, math.inf)
    later = wait.turn(
        since + 3, since, expected, walltime=walltime, deadline=deadline
    )  # the window does not depend on the time
    assert later == found


@pytest.mark.parametrize("seed", range(60))
def test_pieces_are_the_best_seconds_that_are_left(seed: int) -> None:
    """A job that is interrupted runs in the steps of its window with the least values, and the rest of it in fewer."""
    random = Random(seed)
    count = random.randint(2, 8)
    values = [float(each) for each in random.sample(range(1, 40), count)]
    trace = Trace([STEP * place for place in range(count)], values, STEP * count, "g/kWh")
    since, needed = STEP * random.randint(0, 2), random.randint(1, 4)
    slack = STEP * random.randint(1, 6)
    wait = Wait(trace, slack, interruptible=True)
    for ran in range(needed + 2):
        for now in (since - STEP, since, since + STEP):
            found = wait.turn(now, since, STEP * needed, divisible=True, ran=STEP * ran)
            begin, end = max(now, since), min(since + slack + STEP * needed, trace.end)
            rest = needed - ran
            if rest <= 0 or since >= trace.end:  # it takes longer than expected, or nothing is known
                assert found == (since, math.inf)
                continue
            steps = [begin + STEP * place for place in range(round((end - begin) / STEP))]
            best = sorted(sorted(steps, key=lambda time: values[int(time // STEP)])[:rest]) or [begin]
            if len(steps) <= rest:
                best = [begin + STEP * place for place in range(rest)]
            gap = next((time + STEP for time in best if time + STEP not in best), math.inf)
            assert found == (best[0], gap if gap <= best[-1] else math.inf)
    assert wait.turn(since, since, STEP * needed).until == math.inf  # it cannot be divided
    assert Wait(trace, slack).turn(since, since, STEP * needed, divisible=True).until == math.inf
    assert wait.turn(since, since, math.inf, divisible=True).until == math.inf
    assert Wait(trace, slack).turn(trace.end, trace.end, STEP) == (trace.end, math.inf)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"slack": -1.0}, "a slack >= 0 in seconds"),
        ({"slack": math.inf}, "a slack >= 0 in seconds"),
        ({"share": -0.1}, "a slack >= 0 as a part"),
        ({"share": math.inf}, "a slack >= 0 as a part"),
        ({"error": -1e-9}, "a standard deviation"),
        ({"error": math.nan}, "a standard deviation"),
        ({"quantile": 1.01}, "a quantile from 0 to 1"),
        ({"quantile": -0.01}, "a quantile from 0 to 1"),
        ({"quantile": 0.5, "interruptible": True}, "interruptible or queue"),
    ],
)
def test_wrong_numbers_of_waiting_are_refused(options: dict[str, Any], why: str) -> None:
    trace = Trace([0.0, 10.0], [1.0, 2.0], 20.0, "g/kWh")
    with pytest.raises(ValueError, match=why):
        Wait(trace, **options)
    for fine in ({"slack": 0.0}, {"share": 0.0}, {"error": 0.0}, {"quantile": 0.0}, {"quantile": 1.0}):
        assert Wait(trace, **fine).has_effect
