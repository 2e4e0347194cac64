"""Failures on many hosts: against the laws of what is published, and the work that each event takes."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from work import lines_of

from batprotocol.model import DelayProfile
from batprotocol.policies import daly, named
from batprotocol.simulator import ExternalEventList, Platform, StaticJob, Workload, simulate
from batprotocol.workloads.host_events import FailureModel, Fixed, Weibull, drawn_failures

WITHOUT_ENGINE = True
DAY, WEEK = 86400.0, 604800.0
HOST = '{{"hosts":"{}","state":"{}"}}'


def exponential(hosts: int, mtbf: float, until: float, seed: int) -> ExternalEventList:
    """Failures of each host, with a repair that takes a millisecond."""
    random = np.random.default_rng(seed)
    events = []
    for host in range(hosts):
        time = 0.0
        while (time := round(time + random.exponential(mtbf), 3)) < until:
            events += [(time, HOST.format(host, "down")), (time + 0.001, HOST.format(host, "up"))]
            time += 0.001
    return ExternalEventList.of(events)


def expected(work: float, interval: float, cost: float, restart: float, mtbf: float) -> float:
    """Daly's exact expectation (FGCS 22, 2006), where no checkpoint follows the last piece."""
    checkpoints = max(math.ceil(work / interval - 1e-9) - 1, 0)
    pieces = checkpoints * math.expm1((interval + cost) / mtbf) + math.expm1((work - checkpoints * interval) / mtbf)
    return mtbf * math.exp(restart / mtbf) * pieces


def times_of(hosts: int, interval: float, seed: int) -> npt.NDArray[np.float64]:
    """How long jobs of a week take, each on a host, with checkpoints of an hour and restarts of half an hour."""
    policy = named(f"fcfs+checkpoint={interval:.3f},3600,restart=1800")()
    jobs = Workload([StaticJob(str(number), 0.0, 1, DelayProfile(WEEK)) for number in range(hosts)])
    events = exponential(hosts, 3.5 * DAY, 3 * WEEK, seed)
    simulate(Platform.homogeneous(hosts), jobs, policy, external_events=[events])
    ends = [each.finish_time for each in policy.attempts if each.end == "completed"]
    assert len(ends) == hosts
    return np.array(ends)


def errors_of(hosts: int) -> tuple[list[float], list[float]]:
    """For five intervals between checkpoints: the mean time, and its distance from Daly's in standard errors."""
    best = daly(3600.0, 3.5 * DAY)
    means, errors = [], []
    for factor in (0.25, 0.5, 1.0, 2.0, 4.0):
        interval = round(best * factor, 3)
        times = times_of(hosts, interval, seed=int(factor * 100))
        means.append(float(times.mean()))
        distance = times.mean() - expected(WEEK, interval, 3600.0, 1800.0, 3.5 * DAY)
        errors.append(float(distance / (times.std(ddof=1) / math.sqrt(hosts))))
    return means, errors


def test_jobs_of_a_week_take_daly_s_time() -> None:
    times = times_of(60, 44292.0, seed=1)
    distance = times.mean() - expected(WEEK, 44292.0, 3600.0, 1800.0, 3.5 * DAY)
    assert abs(distance) < 3 * times.std(ddof=1) / math.sqrt(len(times))


@pytest.mark.minutes
@pytest.mark.timeout(3600)
def test_ten_thousand_jobs_of_a_week_take_daly_s_time_which_is_least_at_his_interval() -> None:
    means, errors = errors_of(10_000)
    print(means, errors)
    assert max(map(abs, errors)) < 3
    assert means[2] == min(means)


def renewals(shape: float, scale: float, repair: float, until: float, steps: int = 4000) -> tuple[float, float]:
    """The mean of the number of failures of a host until a time, and its variance: the renewal function by numpy.

    The host works for times of a Weibull distribution, with a repair of a fixed time between them. The probability of
    n failures is that of the sum of n such times, by convolution on a grid.
    """
    step = until / steps
    grid = np.arange(steps + 1) * step
    law = np.diff(-np.expm1(-((grid / scale) ** shape)))  # in each step
    shift = round(repair / step)
    at_least, mean, square = law.copy(), 0.0, 0.0
    for count in range(1, 400):
        part = float(at_least.sum())
        mean, square = mean + part, square + (2 * count - 1) * part
        if part < 1e-12:
            break
        size = 1 << (2 * steps - 1).bit_length()
        sums = np.fft.irfft(np.fft.rfft(at_least, size) * np.fft.rfft(law, size), size)[: steps - 1]
        # The middle of a step plus the middle of another one is the end of a step.
        between = 0.5 * (np.concatenate([[0.0], sums]) + np.concatenate([sums, [0.0]]))
        at_least = np.concatenate([np.zeros(shift), between])[:steps]
    return mean, square - mean**2


def interruptions(hosts: int, seed: int) -> tuple[int, float, float]:
    """How many jobs failures end on hosts that always have one, and what the renewal function says."""
    until, repair = 90 * DAY, 0.9 * DAY
    model = FailureModel(Weibull(0.7, 30 * DAY), Fixed(repair))
    drawn = drawn_failures(hosts, model, until=until, seed=seed)
    events = [(time, event.to_data()) for time, event in drawn]
    jobs = Workload([StaticJob(str(number), 0.0, 1, DelayProfile(until + 10 * DAY)) for number in range(7 * hosts)])
    policy = named("fcfs")()
    simulate(Platform.homogeneous(hosts), jobs, policy, external_events=[ExternalEventList.of(events)])
    mean, variance = renewals(0.7, 30 * DAY, repair, until)
    ended = sum(each.end == "failure" and each.finish_time < until for each in policy.attempts)
    return ended, hosts * mean, math.sqrt(hosts * variance)


def test_the_renewal_function_is_that_of_a_poisson_process_where_it_is_one() -> None:
    mean, variance = renewals(1.0, 10.0, 0.0, 50.0)
    assert (mean, variance) == pytest.approx((5.0, 5.0), rel=2e-3)


def test_interruptions_are_as_many_as_the_renewal_function_says() -> None:
    count, mean, deviation = interruptions(25, 1)
    assert abs(count - mean) < 3 * deviation


@pytest.mark.minutes
def test_thousands_of_jobs_on_1000_hosts_are_interrupted_as_often_as_the_renewal_function_says() -> None:
    count, mean, deviation = interruptions(1000, 2)
    print(count, mean, deviation)
    assert abs(count - mean) < 3 * deviation


def failing(hosts: int, failures: int) -> ExternalEventList:
    """Each host fails so often, one host after the other."""
    events = []
    for number in range(failures):
        for host in range(hosts):
            time = 10.0 + number * 1000.0 + host * (900.0 / hosts)
            events += [(time, HOST.format(host, "down")), (time + 50.0, HOST.format(host, "up"))]
    return ExternalEventList.of(events)


def lines_for(hosts: int, failures: int) -> float:
    """The lines of Python for an event of a host, while half of the hosts have jobs, beyond those of the jobs alone."""
    platform = Platform.homogeneous(hosts)
    jobs = Workload([StaticJob(str(number), 0.0, 1, DelayProfile(1e5)) for number in range(hosts // 2)])

    def run(*events: ExternalEventList) -> int:
        policy = named("easy+requeue")()
        return lines_of(lambda: simulate(platform, jobs, policy, external_events=events))

    return (run(failing(hosts, failures)) - run(failing(hosts, 1))) / (2 * hosts * (failures - 1))


def test_an_event_takes_as_much_work_on_a_small_machine_as_on_a_large_one() -> None:
    assert lines_for(16, 2) < 1.15 * lines_for(6, 2)


@pytest.mark.minutes
def test_an_event_takes_as_much_work_on_a_large_machine_and_after_many_events() -> None:
    small = lines_for(20, 3)
    assert max(lines_for(100, 3), lines_for(20, 9)) < 1.1 * small
