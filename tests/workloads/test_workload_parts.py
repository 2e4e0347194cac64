"""Parts of workloads, workloads drawn by chance, and the names of both on the command line."""

from __future__ import annotations

import gzip
import math
import random
import statistics
from bisect import bisect_right
from itertools import accumulate, islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import SHARED

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile
from batprotocol.simulator import StaticJob, Workload, lublin_workload, named_workload, read_swf, window
from batprotocol.testing import simulations
from batprotocol.workloads import lublin

WITHOUT_ENGINE = True


@given(simulations.workloads(), st.integers(0, 6), st.integers(0, 6), st.booleans())
def test_windows(workload: Workload, first: int, more: int, shifted: bool) -> None:
    whole = list(workload)
    part = window(workload, first=first, last=first + more, shifted=shifted)
    expected = whole[first : first + more + 1]
    start = expected[0].time if shifted and expected else 0.0
    assert [(id, job) for _, id, job in part] == [(id, job) for _, id, job in expected]
    assert [time for time, _, _ in part] == [time - start for time, _, _ in expected]
    assert (part.profiles, part.resource_count) == (workload.profiles, workload.resource_count)
    if whole:
        begin, end = whole[len(whole) // 3].time, whole[-1].time
        assert [time for time, _, _ in window(workload, begin=begin, end=end)] == [
            time for time, _, _ in whole if begin <= time < end
        ]


LOG = "".join(
    f"{n} {10 * n} -1 {5 + n} {2 + n % 3} -1 -1 {1 + n % 4} {-1 if n % 2 else 60} -1 1 {n % 5} {n % 2} -1 -1 -1 -1 -1\n"
    for n in range(20)
)


def test_logs_tell_users_and_groups(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(
        LOG + "20 200 -1 5 1 -1 -1 1 60\n21 300 -1 5 1 -1 -1 1 60 -1 1 7 -1 -1 -1 -1 -1 -1 extended 1 2 3\n"
    )
    workload = read_swf(path)
    assert len(workload) == 22
    assert workload[3].job.extra_data == '{"user":3,"group":1}'
    assert (workload[20].job.extra_data, workload[21].job.extra_data) == (None, '{"user":7}')
    assert workload.users() == {**{f"w0!{n}": n % 5 for n in range(20)}, "w0!21": 7}


def test_choices_of_reading(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    usual, other = read_swf(path), read_swf(path, larger=True, runtime_limits=True)
    lazy = read_swf(path, larger=True, runtime_limits=True, lazy=True)
    assert list(lazy) == list(other)
    assert [job.resource_request for _, _, job in usual] == [1 + n % 4 for n in range(20)]
    assert [job.resource_request for _, _, job in other] == [max(1 + n % 4, 2 + n % 3) for n in range(20)]
    assert [job.walltime for _, _, job in usual] == [None if n % 2 else 60.0 for n in range(20)]
    assert [job.walltime for _, _, job in other] == [5.0 + n if n % 2 else 60.0 for n in range(20)]


def test_names(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    whole = read_swf(path)
    assert list(named_workload(f"{path}")) == list(whole)
    assert list(named_workload(f"{path}?jobs=3-7")) == list(whole)[3:8]
    assert [time for time, _, _ in named_workload(f"{path}?jobs=18-&shift=yes")] == [0.0, 10.0]
    assert [time for time, _, _ in named_workload(f"{path}?time=50-80")] == [50.0, 60.0, 70.0]
    assert named_workload(f"{path}?larger=yes")[0].job.resource_request == 2
    drawn = named_workload("lublin:64?jobs=50&seed=3&offered-load=0.5&estimates=no", name="w2")
    assert list(drawn) == list(lublin_workload(64, 50, seed=3, offered_load=0.5, estimates=False, name="w2"))
    odd = tmp_path / "a?jobs=1-2"
    odd.write_text('{"nb_res": 1, "jobs": [], "profiles": {}}')
    assert len(named_workload(str(odd))) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lublin:x", "'x' is not a value for hosts"),
        ("lublin:256?jobs=x", "'x' is not a value for jobs"),
        (
            "lublin:256?job=5",
            r"expected jobs, seed, .*, estimate-factor, walltimes, each .*, got 'job'; did you mean jobs\?",
        ),
        ("lublin:256?jobs", "'' is not a value for jobs"),
        ("lublin:256?jobs=5&jobs=6", "each once at most, got 'jobs'"),
        ("lublin:2", "expected 4 hosts or more"),
        ("lublin:256?jobs=0", "1 to 10000000 jobs"),
        ("lublin:256?offered-load=0", "expected an offered load > 0"),
        ("lublin:256?offered-load=nan", "expected an offered load > 0"),
        ("{}?jobs=7-3", "expected 0 <= first <= last"),
        ("{}?jobs=a-b", "'a-b' is not a value for jobs"),
        ("{}?shift=maybe", "'maybe' is not a value for shift"),
        ("{}?larger=yes", "are for logs"),
        ("{}?seed=1", "a seed is for random numbers: add weeks or estimate-factor"),
        ("{}?arrival-factor=0", "expected a factor > 0, got 0.0"),
        ("{}?weeks=random", "'random' is not a value for weeks"),
        ("{}?weeks=shuffled", "over at least two periods of 604800 s, got 0"),
        ("lublin:256?walltimes=inf", "expected a factor > 0, got inf"),
    ],
)
def test_wrong_names_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "jobs.json"
    path.write_text('{"nb_res": 1, "jobs": [], "profiles": {}}')
    with pytest.raises(InputError, match=message):
        named_workload(text.format(path))


def runtime(workload: Workload, number: int) -> float:
    profile = workload.profiles[workload[number].job.profile_id].profile
    assert isinstance(profile, DelayProfile)
    return profile.delay


def test_the_model_has_the_moments_that_were_published() -> None:
    """Those of its parameters, and of the 10,000 jobs of it that papers simulate (770.7 s, 4862 s, 22.1 processors)."""
    count = 20_000
    workload = lublin_workload(256, count, seed=1)
    jobs = list(workload)
    sizes = [job.resource_request for _, _, job in jobs]
    gaps = [math.log(max(after.time - before.time, 1.0)) for before, after in pairwise(jobs)]
    logs = [math.log(runtime(workload, number)) for number in range(count)]
    assert sizes.count(1) / count == pytest.approx(0.244, abs=0.01)
    assert sum(size & (size - 1) == 0 for size in sizes) / count == pytest.approx(0.86, abs=0.015)
    assert statistics.fmean(sizes) == pytest.approx(22.1, rel=0.05)
    assert statistics.fmean(map(math.exp, logs)) == pytest.approx(4862, rel=0.08)
    assert statistics.fmean(logs) == pytest.approx(5.68, abs=0.06)
    assert statistics.fmean(gaps) == pytest.approx(4.89, abs=0.06)
    # Large jobs are longer.
    assert statistics.fmean(log for log, size in zip(logs, sizes, strict=True) if size >= 64) > 1 + statistics.fmean(
        logs
    )


def published_day() -> list[float]:
    """The weights of the half hours from midnight on, by the words of the paper and its program, with scipy's gamma.

    The half hours of a day have the numbers 1 to 48. The day of the model begins with number 11, at five o'clock, and
    the first ten follow number 48. Each has what the gamma distribution has within half a number of its own.
    """
    gamma = pytest.importorskip("scipy.stats").gamma(8.1737, scale=3.9631)
    numbers = [number if number >= 11 else number + 48 for number in range(1, 49)]
    shares = [float(gamma.cdf(number + 0.5) - gamma.cdf(number - 0.5)) for number in numbers]
    return [share * 48 / sum(shares) for share in shares]


def test_half_hours_have_the_weights_that_were_published() -> None:
    assert lublin._day() == pytest.approx(published_day(), abs=1e-12)
    assert max(range(48), key=lublin._day().__getitem__) == 27  # from half past one in the afternoon on


def test_jobs_come_as_the_weights_of_half_hours_pass() -> None:
    """A gap is drawn in seconds of weight 1. It lasts until half hours, from midnight on, have passed with so many."""
    chance, points, due = random.Random(3), 0.0, []
    while len(due) < 2_000:
        drawn = chance.gammavariate(10.2303 * 1.0225, 0.4871)
        if drawn <= 13.0:
            points += math.exp(drawn) / 1800.0
            due.append(points)
    passed = [0.0, *accumulate(published_day() * (int(points / 48) + 2))]
    expected = []
    for each in due:
        half_hour = bisect_right(passed, each) - 1
        part = (each - passed[half_hour]) / (passed[half_hour + 1] - passed[half_hour])
        expected.append(1800.0 * (half_hour + part))
    assert list(islice(lublin._arrivals(random.Random(3)), 2_000)) == pytest.approx(expected, abs=1e-3)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recordings are not there")
def test_the_model_is_like_the_log_that_was_drawn_of_it() -> None:
    log = read_swf(SHARED / "policies" / "logs" / "lublin_256.swf.gz")
    drawn = lublin_workload(256, 10_000, seed=2, estimates=False)
    for what in (
        lambda workload: [job.resource_request for _, _, job in workload],
        lambda workload: [runtime(workload, number) for number in range(len(workload))],
        lambda workload: [later.time - one.time for one, later in pairwise(workload)],
    ):
        assert distance(what(log), what(drawn)) < 0.03


def distance(some: list[float], others: list[float]) -> float:
    """Kolmogorov's and Smirnov's: how far apart two distributions are at most."""
    values = sorted({*some, *others})
    some, others = sorted(some), sorted(others)
    found = 0.0
    i = j = 0
    for value in values:
        while i < len(some) and some[i] <= value:
            i += 1
        while j < len(others) and others[j] <= value:
            j += 1
        found = max(found, abs(i / len(some) - j / len(others)))
    return found


@given(st.integers(4, 5000), st.integers(1, 60), st.integers(), st.sampled_from([None, 0.3, 1.2]))
def test_drawn_workloads(hosts: int, jobs: int, seed: int, load: float | None) -> None:
    workload = lublin_workload(hosts, jobs, seed=seed, offered_load=load)
    again = lublin_workload(hosts, jobs, seed=seed, offered_load=load)
    assert list(workload) == list(again)
    assert (len(workload), workload.resource_count) == (jobs, hosts)
    for number, (_, _, job) in enumerate(workload):
        assert 1 <= job.resource_request <= hosts
        assert job.walltime is not None
        assert runtime(workload, number) <= job.walltime


def test_estimates_are_as_people_make_them() -> None:
    workload = lublin_workload(256, 10_000, seed=1)
    limits = [job.walltime for _, _, job in workload]
    popular = sorted(set(limits), key=limits.count)[-20:]
    assert 0.85 < sum(limits.count(each) for each in popular) / len(limits) < 0.95
    assert limits.count(max(limits)) == max(map(limits.count, popular))  # type: ignore[type-var]


def test_the_load_is_what_was_asked_for() -> None:
    workload = lublin_workload(256, 5000, seed=5, offered_load=0.9, estimates=False)
    work = sum(job.resource_request * (job.walltime or 0) for _, _, job in workload)
    assert work / (256 * (workload[4999].time - workload[0].time)) == pytest.approx(0.9, rel=1e-3)


def test_users_are_read_from_extra_data_that_have_them() -> None:
    texts = ['{"user":"me"}', '{"user":[1]}', "user", '["user"]', '{"user":true}', '{"user":', None]
    jobs = [StaticJob(str(n), 0.0, 1, DelayProfile(1.0), None, text) for n, text in enumerate(texts)]
    assert Workload(jobs).users() == {"w0!0": "me"}
