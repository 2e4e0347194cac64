"""How fast the embedded Batsim simulates: FCFS in the same process, with the rules on.

On 1,000 hosts, a job takes one host for a fixed time (a delay), and one is submitted each second of the simulation, so
about as many run at once as the delay has seconds. On a cluster of 64 hosts with a backbone, jobs take several hosts,
each of which computes and sends something to each other. The result files are written. Every simulation is a process of
its own, for its peak of memory; the processor's time of `simulate` alone counts, in all threads.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

from batprotocol.edc.commands.scheduler import load
from batprotocol.model import DelayProfile, ParallelTaskHomogeneousProfile
from batprotocol.simulator import Platform, StaticJob, Workload, WorkloadProfile, read_platform, simulate
from benchmark.tables import parser_for, table

__all__ = ["Cost", "main", "simulated"]

FCFS = f"{Path(__file__).resolve().parent.parent.parent / 'examples' / 'fcfs.py'}:FCFS"
HOSTS = 1000
FEW = 1_000
RUNNING = (10, 500)
"""How many jobs run at once."""


CLUSTER = """<?xml version="1.0"?>
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="c" prefix="n" suffix="" radical="0-63" speed="1Gf" bw="125MBps" lat="50us"
 bb_bw="2.25GBps" bb_lat="500us"/>
<zone id="m" routing="Full"><host id="master_host" speed="1Gf"/></zone><link id="l" bandwidth="125MBps" latency="50us"/>
<zoneRoute src="c" dst="m" gw_src="nc_router" gw_dst="master_host"><link_ctn id="l"/></zoneRoute></zone></platform>
"""
COMMUNICATING = ((2, 4, 0.2), (16, 16, 0.7))
"""The fewest and the most hosts of jobs that communicate, and how many seconds one comes after the other."""
COMMUNICATIONS = 2_000


class Cost(NamedTuple):
    """The cost of simulations: seconds of processor time for each job, and the peak of the process's memory in MB."""

    seconds: float
    megabytes: float


def workload(jobs: int, running: int) -> Workload:
    """One job a second, so that so many run at once."""
    static = (StaticJob(f"{number}", float(number), 1, "delay") for number in range(jobs))
    return Workload(static, {"delay": WorkloadProfile(DelayProfile(running - 0.5))})


def communications(jobs: int, fewest: int, most: int, between: float) -> Workload:
    """Jobs that communicate, all to all."""
    draw = random.Random(1)
    sizes = [draw.randint(fewest, most) for _ in range(jobs)]
    static = (StaticJob(f"{number}", number * between, size, f"{size}") for number, size in enumerate(sizes))
    task = WorkloadProfile(ParallelTaskHomogeneousProfile(1e9, 1e7))
    return Workload(static, {f"{size}": task for size in range(fewest, most + 1)})


def simulated(jobs: int, running: int, times: int) -> Cost:
    """The cost of simulating `jobs` jobs: the median of `times` simulations."""
    return measured_cost(workload(jobs, running), Platform.homogeneous(HOSTS), times)


def communicated(jobs: int, fewest: int, most: int, between: float, times: int) -> Cost:
    """The cost of simulating `jobs` jobs that communicate: the median of `times` simulations."""
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(CLUSTER)
        file.flush()
        platform = read_platform(file.name)
    return measured_cost(communications(jobs, fewest, most, between), platform, times)


def measured_cost(given: Workload, platform: Platform, times: int) -> Cost:
    """The cost of simulating a workload: the median of `times` simulations."""
    jobs, scheduler = len(given), load(FCFS)
    samples = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            start = process_time()
            result = simulate(platform, given, scheduler(), output=f"{folder}/")
            samples.append((process_time() - start) / jobs)
            assert result.nb_jobs == jobs, result
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    return Cost(statistics.median(samples), peak)


def measured(many: int, rounds: int) -> Iterator[tuple[int, int, Cost]]:
    """The costs of few and of many jobs, each with few and with many running."""
    context = multiprocessing.get_context("spawn")
    for running in RUNNING:
        samples: dict[int, list[Cost]] = {FEW: [], many: []}
        for _ in range(rounds):
            for jobs in samples:
                with context.Pool(1) as pool:
                    samples[jobs].append(pool.apply(simulated, (jobs, running, 9 if jobs == FEW else 1)))
        for jobs, costs in samples.items():
            yield running, jobs, Cost(statistics.median(cost.seconds for cost in costs), costs[0].megabytes)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__, quick="20,000 jobs instead of a million")
    given = parser.parse_args(arguments)
    rows = [["running at once", "jobs", "jobs/s", "µs per job", "of that of 1,000 jobs", "peak memory"]]
    few = 0.0
    for running, jobs, cost in measured(20_000 if given.quick else 1_000_000, 3 if given.quick else 1):
        few = cost.seconds if jobs == FEW else few
        speed, micro = f"{1 / cost.seconds:,.0f}", f"{cost.seconds * 1e6:.1f}"
        rows.append([f"{running}", f"{jobs:,}", speed, micro, f"{cost.seconds / few:.2f}x", f"{cost.megabytes:.0f} MB"])
    print(f"Simulating FCFS, one host a job, {HOSTS:,} hosts:\n\n{table(rows, given.markdown)}\n")
    rows = [["hosts of a job", "jobs", "jobs/s", "µs per job"]]
    for fewest, most, between in COMMUNICATING:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            cost = pool.apply(communicated, (COMMUNICATIONS, fewest, most, between, 3 if given.quick else 9))
        hosts = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        rows.append([hosts, f"{COMMUNICATIONS:,}", f"{1 / cost.seconds:,.0f}", f"{cost.seconds * 1e6:.1f}"])
    print(f"Simulating FCFS, jobs that communicate all to all, with a backbone:\n\n{table(rows, given.markdown)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
