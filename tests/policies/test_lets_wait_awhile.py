"""The scenarios of a study through a policy in the simulator.

P. Wiesner, I. Behnke, D. Scheinert, K. Gontarska, L. Thamsen, "Let's Wait Awhile", Middleware 2021. Jobs take one watt.
A value is the sum of the carbon intensities of the half hours in which jobs run. Jobs start at the begins of half hours
to the last digit of a float, so their starts are not rounded. Where jobs are interrupted, they are killed some
microseconds late, and ends are rounded to half hours.
"""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from support import SHARED

from batprotocol.model import DelayProfile
from batprotocol.policies import Policy, named
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate, trace_named
from batprotocol.workloads.electricity import Trace

WITHOUT_ENGINE = True

HALF_HOUR = 1800
DAY = 86400
TABLE = SHARED / "carbon" / "periodic.csv"
PLATFORM = described_platform("n[0-299]")
needs_data = pytest.mark.skipif(not TABLE.is_file(), reason="the data of the study are not there")


def nightly(width: int, days: int) -> Workload:
    """A job of half an hour each day at 1:00, which may move by some half hours to either side, if not before day 0."""
    earliest = [day * DAY + 3600 - width * HALF_HOUR for day in range(days)]
    profile = DelayProfile(float(HALF_HOUR))
    return Workload(StaticJob(f"{day}", float(at), 1, profile) for day, at in enumerate(earliest) if at >= 0)


def mean_of(trace: Trace, policy: Policy, jobs: Workload, days: int) -> float:
    result = simulate(PLATFORM, jobs, policy)
    assert result.is_complete
    return sum(trace.at(row.starting_time) for row in result.jobs if row.starting_time is not None) / days


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("region", ["gb", "ger"])
def test_the_first_scenario(region: str) -> None:
    name = f"{SHARED / 'carbon' / region}_ci.csv.xz?begin=2020-01-01&step=30min"
    trace = trace_named(name, "carbon")
    with open(TABLE) as file:
        expected = [float(row[region]) for row in csv.DictReader(file)]
    found = [
        mean_of(trace, named(f"easy+wait={name},slack={2 * width * HALF_HOUR}")(), nightly(width, 365), 365)
        for width in range(len(expected))
    ]
    assert found == pytest.approx(expected, rel=1e-9)


# The second scenario: jobs of machine learning, which are submitted in working hours


def submissions(count: int) -> list[tuple[int, int]]:
    """Submissions from 9:00 to 17:00 on workdays of 2020, and durations of 4 to 90 hours, in seconds."""
    rng = np.random.default_rng(0)
    days = [datetime(2020, 1, 1) + timedelta(day) for day in range(366)]
    workdays = [day for day in days if day.weekday() < 5]
    counts = dict(zip(workdays, rng.multinomial(count, [1 / len(workdays)] * len(workdays)), strict=True))
    minutes: list[int] = []
    for number, day in enumerate(days):
        chosen = np.sort(rng.choice(np.arange(9 * 60, 17 * 60, 30), size=counts.get(day, 0)))
        minutes += [number * 1440 + int(minute) for minute in chosen]
    durations = rng.choice(np.arange(4 * 60, 90 * 60, 30), size=count)
    return [(minute * 60, int(duration) * 60) for minute, duration in zip(minutes, durations, strict=True)]


def due(end: int, rule: str) -> int:
    """When the result of a job is needed that would end at a time: at 9:00 on the next workday, or Monday or Thursday.

    A job that ends in working hours is needed then, by the first rule.
    """
    moment = datetime(2020, 1, 1) + timedelta(seconds=end)
    day, nine = moment.weekday(), moment.replace(hour=9, minute=0)
    of_day = (moment - nine).total_seconds() / 3600
    if rule == "next workday":
        if day < 5 and 0 <= of_day <= 8:
            return end
        following = nine + timedelta(2 if day == 5 else 1 if day == 6 or of_day > 8 else 0)
    else:
        to_thursday = (day == 0 and of_day > 0) or day in (1, 2) or (day == 3 and of_day <= 0)
        following = nine + timedelta((3 - day if to_thursday else 7 - day) % 7)
    return int((following - datetime(2020, 1, 1)).total_seconds())


def planned(values: Any, at: int, duration: int, latest: int, interruptible: bool) -> float:
    """The sum of the half hours that the study takes; the one that begins when the result is needed is one of them."""
    first, length = at // HALF_HOUR, duration // HALF_HOUR
    window = values[first : latest // HALF_HOUR + 1]
    if interruptible:
        return float(np.sort(window)[:length].sum())
    sums = np.concatenate([[0.0], np.cumsum(window)])
    return float((sums[length:] - sums[:-length]).min())


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("interruptible", [False, True])
@pytest.mark.parametrize("rule", ["next workday", "semi-weekly"])
@pytest.mark.parametrize("region", ["gb", "ger"])
def test_the_second_scenario(region: str, rule: str, interruptible: bool) -> None:
    """Each job has a deadline, and starts where the study does; 3,387 jobs give the same digits as these 400."""
    name = f"{SHARED / 'carbon' / region}_ci.csv.xz?begin=2020-01-01&step=30min"
    trace = trace_named(name, "carbon")
    values = np.array([trace.at(HALF_HOUR * place) for place in range(int(trace.end // HALF_HOUR))])
    jobs, expected = [], 0.0
    for number, (at, duration) in enumerate(submissions(3387)[:400]):
        latest = due(at + duration, rule)
        expected += planned(values, at, duration, latest, interruptible)
        # Batsim would kill a job whose walltime is its duration, and the part keeps a second before a deadline.
        deadline = json.dumps({"deadline": latest + HALF_HOUR + 1.002})
        profile = DelayProfile(float(duration))
        jobs.append(StaticJob(f"{number}", float(at), 1, profile, walltime=duration + 1e-3, extra_data=deadline))
    policy = named(f"easy+wait={name},deadline{',interruptible' * interruptible}")()
    result = simulate(PLATFORM, Workload(jobs), policy)
    rows = [row for row in result.jobs if row.starting_time is not None]
    found = sum(values[round(row.starting_time / HALF_HOUR) : round(row.finish_time / HALF_HOUR)].sum() for row in rows)
    assert sum(row.final_state.name == "COMPLETED_SUCCESSFULLY" for row in rows) == len(jobs)
    assert found == pytest.approx(expected, rel=1e-9)
    grams = sum(trace.integral(row.starting_time, row.finish_time) for row in rows) / HALF_HOUR
    assert grams == pytest.approx(expected, rel=1e-8)
