"""Measure what carbon intensities cost: a year of half-hourly values, and 100,000 jobs on 64 hosts.

The same jobs are simulated with their energy, without intensities and with them. Then, jobs wait for the best times.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from time import process_time

from batprotocol.model import ParallelTaskHomogeneousProfile
from batprotocol.policies import EASY, Policy, Wait
from batprotocol.simulator import Electricity, Platform, StaticJob, Watts, Workload, simulate
from batprotocol.workloads.electricity import Trace
from benchmark.tables import parser_for, table

__all__ = ["intensities", "jobs_of_a_year", "main", "seconds_of"]

HOSTS = 64
YEAR = 365 * 86400.0
STEP = 1800.0
LIMIT = 1.2
"""How many times as long as without intensities it may take to measure with them."""


def jobs_of_a_year(count: int) -> Workload:
    """Tasks of ten minutes to two hours on one to eight hosts, evenly over most of a year."""
    random_ = random.Random(1)
    tasks = [ParallelTaskHomogeneousProfile(seconds * 1e9, 0.0) for seconds in (600, 1800, 3600, 7200)]
    jobs = []
    for number in range(count):
        task = random_.choice(tasks)
        limit = 1.5 * task.computation_amount / 1e9
        jobs.append(StaticJob(f"{number}", number * 0.98 * YEAR / count, random_.choice([1, 1, 2, 4, 8]), task, limit))
    return Workload(jobs)


def intensities() -> Trace:
    """Half-hourly values of a year and a month."""
    random_, count = random.Random(2), int((YEAR + 30 * 86400) / STEP)
    return Trace(
        (place * STEP for place in range(count)),
        (random_.uniform(50, 400) for _ in range(count)),
        count * STEP,
        "g/kWh",
    )


def seconds_of(workload: Workload, electricity: Electricity, policy: Policy) -> float:
    """The seconds of processor time that a simulation with its metrics takes."""
    platform = Platform.homogeneous(HOSTS, watts=Watts(95.0, 100.0, 250.0))
    start = process_time()
    result = simulate(platform, workload, policy, energy=True, corrected=True)
    result.electricity = electricity
    power = result.metrics().power
    assert electricity.carbon is None or (power is not None and power.carbon_grams)
    return process_time() - start


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__, quick="3,000 jobs instead of 100,000")
    given = parser.parse_args(arguments)
    workload, trace = jobs_of_a_year(3_000 if given.quick else 100_000), intensities()
    measured = Electricity(carbon=trace)
    without = seconds_of(workload, Electricity(), Policy(backfilling=EASY()))
    rows = [["EASY", "s of processor", "of that without"], ["without intensities", f"{without:.1f}", ""]]
    for name, policy in {
        "carbon is measured": Policy(backfilling=EASY()),
        "jobs wait up to 12 h, too": Policy(backfilling=EASY(), starts=Wait(trace, slack=12 * 3600.0)),
    }.items():
        seconds = seconds_of(workload, measured, policy)
        rows.append([name, f"{seconds:.1f}", f"{seconds / without:.2f}x"])
    count = f"{len(workload):,} jobs and {len(trace.times):,} intensities"
    print(f"{count}; measuring may take {LIMIT:g}x:\n\n{table(rows, given.markdown)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
