"""What is made of workloads: other loads, weeks and walltimes; what is not to change does not."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, Profile, SequentialCompositionProfile
from batprotocol.simulator import (
    WEEK,
    StaticJob,
    Submission,
    Workload,
    estimated_walltimes,
    lublin_workload,
    named_workload,
    resampled_weeks,
    scaled_arrivals,
    scaled_walltimes,
    shuffled_weeks,
    window,
)
from batprotocol.testing import simulations

WITHOUT_ENGINE = True

FACTORS = st.floats(0.1, 10.0)
SEEDS = st.integers(0, 2**64)


@st.composite
def logs(draw: st.DrawFn) -> Workload:
    """Jobs of whole seconds over several periods of 100 s, from any time on."""
    begin = draw(st.integers(-500, 500))
    times = draw(st.lists(st.integers(0, 1000), min_size=2, max_size=30))
    jobs = [
        StaticJob(
            str(number),
            float(begin + time),
            draw(st.integers(1, 4)),
            DelayProfile(draw(st.sampled_from([1.0, 7.0, 30.0]))),
            draw(st.sampled_from([None, 5.0, 60.0])),
            draw(st.sampled_from([None, '{"user":1}'])),
        )
        for number, time in enumerate(times)
    ]
    return Workload(jobs)


def untimed(workload: Workload) -> dict[str, object]:
    return {id: job for _, id, job in workload}


def same_else(one: Workload, other: Workload) -> None:
    assert one.profiles == other.profiles
    assert (one.name, one.resource_count, one.skipped) == (other.name, other.resource_count, other.skipped)


@given(simulations.workloads(), FACTORS)
def test_scaled_arrivals(workload: Workload, factor: float) -> None:
    scaled = scaled_arrivals(workload, factor)
    same_else(scaled, workload)
    assert untimed(scaled) == untimed(workload)
    times, found = [each.time for each in workload], {each.id: each.time for each in scaled}
    for time, id, _ in workload:
        assert found[id] - times[0] == pytest.approx((time - times[0]) / factor, abs=1e-9)
    assert list(scaled_arrivals(workload, 1)) == list(workload)


def test_times_of_a_log_that_begins_at_0_are_divided() -> None:
    """The load, which is what is asked for over what there is in that time, grows by the factor."""
    workload = lublin_workload(64, 200, seed=4)
    scaled = scaled_arrivals(workload, 1.6)
    assert [each.time for each in scaled] == [each.time / 1.6 for each in workload]


@given(simulations.workloads(), FACTORS)
def test_scaled_walltimes(workload: Workload, factor: float) -> None:
    scaled = scaled_walltimes(workload, factor)
    same_else(scaled, workload)
    for (time, id, job), (other_time, other_id, other) in zip(workload, scaled, strict=True):
        assert (other_time, other_id) == (time, id)
        assert other.walltime == (None if job.walltime is None else job.walltime * factor)
        assert (other.profile_id, other.resource_request, other.extra_data) == (
            job.profile_id,
            job.resource_request,
            job.extra_data,
        )


@given(logs(), st.floats(0.0, 10.0), SEEDS)
def test_estimates_are_between_the_run_time_and_as_much_as_told(workload: Workload, badness: float, seed: int) -> None:
    estimated = estimated_walltimes(workload, badness, seed=seed)
    same_else(estimated, workload)
    for (_, _, before), (_, _, job) in zip(workload, estimated, strict=True):
        profile = workload.profiles[job.profile_id].profile
        assert isinstance(profile, DelayProfile)
        runtime = min(profile.delay, before.walltime or math.inf)
        assert job.walltime is not None
        assert runtime <= job.walltime <= runtime * (1 + badness)
    assert list(estimated_walltimes(workload, badness, seed=seed)) == list(estimated)
    if badness == 0:
        assert list(estimated_walltimes(workload, 0, seed=seed + 1)) == list(estimated)


def test_estimates_are_alike_likely() -> None:
    workload = Workload([StaticJob(str(n), 0.0, 1, DelayProfile(10.0)) for n in range(4000)])
    walltimes = sorted(job.walltime or 0.0 for _, _, job in estimated_walltimes(workload, 3.0, seed=5))
    for place in range(0, 4000, 400):
        assert walltimes[place] == pytest.approx(10 + 30 * place / 4000, abs=1.5)


def test_estimates_need_run_times() -> None:
    profiles: dict[str, Profile] = {
        "d": DelayProfile(5.0),
        "s": SequentialCompositionProfile(repetition_count=2, profile_ids=("d",)),
    }
    with pytest.raises(InputError, match="need run times: only those of a DelayProfile are known, but '1' has"):
        estimated_walltimes(Workload([StaticJob("1", 0.0, 1, "s")], profiles), 1.0)


def weeks_of(workload: Workload, begin: float, period: float) -> dict[int, list[tuple[float, object]]]:
    """The jobs of each week, with their places in it."""
    found: dict[int, list[tuple[float, object]]] = {}
    for time, _, job in workload:
        week = math.floor((time - begin) / period)
        found.setdefault(week, []).append((time - begin - week * period, job))
    return {week: sorted(jobs, key=repr) for week, jobs in found.items()}


@given(logs(), SEEDS)
def test_shuffled_weeks(workload: Workload, seed: int) -> None:
    begin, last = workload[0].time, workload[len(workload) - 1].time
    assume(last - begin >= 150)
    shuffled = shuffled_weeks(workload, seed, period=100.0)
    same_else(shuffled, workload)
    assert untimed(shuffled) == untimed(workload)
    before, after = weeks_of(workload, begin, 100.0), weeks_of(shuffled, begin, 100.0)
    assert sorted(map(repr, before.values())) == sorted(map(repr, after.values()))
    tail = math.floor((last - begin) / 100)
    if (last - begin) / 100 - tail < 0.5:
        assert after[tail] == before[tail]
    assert list(shuffled_weeks(workload, seed, period=100.0)) == list(shuffled)


@given(logs(), SEEDS, st.integers(1, 6) | st.none())
def test_resampled_weeks(workload: Workload, seed: int, weeks: int | None) -> None:
    begin, last = workload[0].time, workload[len(workload) - 1].time
    assume(last - begin >= 150)
    resampled = resampled_weeks(workload, seed, weeks=weeks, period=100.0)
    same_else(resampled, workload)
    count = math.floor((last - begin) / 100 + 0.5)
    assert all(begin <= each.time < begin + 100 * (weeks or count) for each in resampled)
    before = [repr(jobs) for week, jobs in weeks_of(workload, begin, 100.0).items() if week < count]
    assert {repr(jobs) for jobs in weeks_of(resampled, begin, 100.0).values()} <= set(before)
    originals = {each.id: each for each in workload}
    for each in resampled:
        original = originals[each.id.partition("#")[0]]
        assert each.job == original.job
        assert (each.time - original.time) % 100 == 0
    assert list(resampled_weeks(workload, seed, weeks=weeks, period=100.0)) == list(resampled)


def weekly(count: int) -> Workload:
    """A job at noon of each Monday, one a week, and one at its end; the number of the week is its size."""
    times = [(week, place) for week in range(count) for place in (43_200.0, WEEK - 1)]
    return Workload(
        [StaticJob("0", 0.0, count + 1, DelayProfile(1.0))]
        + [StaticJob(f"{week}-{place:.0f}", week * WEEK + place, week + 1, DelayProfile(1.0)) for week, place in times]
    )


def order_of(workload: Workload) -> tuple[int, ...]:
    noons = [each for each in workload if each.time % WEEK == 43_200]
    return tuple(each.job.resource_request for each in noons)


def test_all_orders_of_weeks_come_up_alike_often() -> None:
    orders = Counter(order_of(shuffled_weeks(weekly(3), seed)) for seed in range(600))
    assert len(orders) == 6
    assert all(60 < times < 150 for times in orders.values())
    drawn = Counter(order_of(resampled_weeks(weekly(2), seed)) for seed in range(400))
    assert set(drawn) == {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert all(60 < times < 150 for times in drawn.values())


def test_copies_of_jobs_have_names_and_users_of_their_own() -> None:
    jobs = [StaticJob(str(n), 400_000.0 * n, 1, DelayProfile(1.0), None, f'{{"user":{n}}}') for n in range(4)]
    drawn = resampled_weeks(Workload(jobs), 0, weeks=8)
    users = drawn.users()
    assert any("#" in id for id in users)
    assert all(user == int(id[3:].partition("#")[0]) for id, user in users.items())


@pytest.mark.parametrize("times", [[], [0.0], [0.0, WEEK]])
def test_less_than_two_weeks_are_no_weeks(times: list[float]) -> None:
    """All seeds would give the same."""
    workload = Workload([StaticJob(str(n), time, 1, DelayProfile(1.0)) for n, time in enumerate(times)])
    for change in (shuffled_weeks, resampled_weeks):
        with pytest.raises(InputError, match="expected submissions over at least two periods of 604800 s"):
            change(workload, 1)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_wrong_numbers_are_refused(wrong: float) -> None:
    workload = lublin_workload(8, 5)
    with pytest.raises(InputError, match="expected a factor > 0"):
        scaled_arrivals(workload, wrong)
    with pytest.raises(InputError, match="expected a factor > 0"):
        scaled_walltimes(workload, wrong)
    with pytest.raises(InputError, match="expected a period of > 0 seconds"):
        shuffled_weeks(workload, 0, period=wrong)
    if wrong:
        with pytest.raises(InputError, match="expected an estimate factor >= 0"):
            estimated_walltimes(workload, wrong)
    with pytest.raises(InputError, match="expected 1 to 1000000 weeks"):
        resampled_weeks(workload, 0, weeks=0)


def test_numbers_stay_in_their_range() -> None:
    far = Workload([StaticJob("0", 0.0, 1, DelayProfile(1.0)), StaticJob("1", 1e300, 1, DelayProfile(1.0), 1e300)])
    with pytest.raises(InputError, match="'1' has no finite time"):
        scaled_arrivals(far, 1e-300)
    with pytest.raises(InputError, match="the walltime of '1' would be inf s"):
        scaled_walltimes(far, 1e300)
    with pytest.raises(InputError, match="periods of 604800 s are too many"):
        shuffled_weeks(far, 1)


def test_names_say_what_is_made_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    lines = [f"{n} {n * 86_400} -1 {5 + n} 2 -1 -1 2 60" for n in range(28)]
    path.write_text("\n".join(lines))
    whole = named_workload(str(path))

    def same(query: str, expected: Workload) -> None:
        found: list[Submission] = list(named_workload(f"{path}?{query}"))
        assert found == list(expected)

    same("arrival-factor=1.2", scaled_arrivals(whole, 1.2))
    same("weeks=shuffled&seed=3", shuffled_weeks(whole, 3))
    same("weeks=resampled", resampled_weeks(whole, 0))
    same("walltimes=2", scaled_walltimes(whole, 2))
    same("estimate-factor=4&seed=5", estimated_walltimes(whole, 4, seed=5))
    part = window(whole, first=2, last=25, shifted=True)
    made = scaled_walltimes(scaled_arrivals(resampled_weeks(part, 9), 0.7), 3)
    same("walltimes=3&arrival-factor=0.7&weeks=resampled&seed=9&jobs=2-25&shift=yes", made)
    drawn = named_workload("lublin:64?jobs=20&seed=3&estimate-factor=2&walltimes=1.5")
    model = scaled_walltimes(estimated_walltimes(lublin_workload(64, 20, seed=3), 2, seed=3), 1.5)
    assert list(drawn) == list(model)
