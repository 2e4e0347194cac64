"""Measure the policy `slurm`: user time of 100,000 jobs on 1,000 nodes, with priority/multifactor and backfill.

Jobs of 50 users have 1 to 256 nodes (log-uniform) and log-normal run times of 18 minutes in the median. Their time
limits are one to five times as long, and the nodes are busy for 90 % of the time.
"""

from __future__ import annotations

import json
import random
import resource
import sys
from collections.abc import Sequence

from batprotocol.model import DelayProfile
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.configuration import configuration_of
from benchmark.tables import parser_for, table

__all__ = ["CONF", "jobs_of", "main", "report"]

NODES = 1000
CONF = f"""
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare=2000
PriorityWeightJobSize=500
PriorityWeightPartition=300
AccountingStorageType=accounting_storage/slurmdbd
NodeName=n[0-{NODES - 1}] CPUs=1
PartitionName=all Nodes=ALL Default=YES
"""


def jobs_of(count: int, load: float = 0.9, seed: int = 1) -> list[StaticJob]:
    """The jobs of a workload that keeps so large a part of the nodes busy."""
    draw = random.Random(seed)
    drawn, time = [], 0.0
    for _ in range(count):
        size = int(2 ** draw.uniform(0, 8))
        runtime = min(2 * 86_400, max(10, draw.lognormvariate(7, 1.5)))
        drawn.append((time, size, runtime, runtime * draw.uniform(1, 5)))
        time += draw.expovariate(1)
    scale = sum(size * runtime for _, size, runtime, _ in drawn) / NODES / load / time
    return [
        StaticJob(
            str(number),
            at * scale,
            size,
            DelayProfile(runtime),
            walltime=walltime,
            extra_data=json.dumps({"user": f"u{number % 50}"}),
        )
        for number, (at, size, runtime, walltime) in enumerate(drawn)
    ]


def report(quick: bool, markdown: bool) -> str:
    """The table: seconds of user time, and milliseconds for each job."""
    rows = [["jobs", "user time, s", "for each job, ms"]]
    for count in (1000, 3000) if quick else (10_000, 100_000):
        scheduler = SlurmScheduler(configuration_of(CONF))
        workload = Workload(jobs_of(count))
        began = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        simulate(described_platform(f"n[0-{NODES - 1}] cores=1"), workload, scheduler)
        seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - began
        if len(scheduler.starts) != count:
            raise RuntimeError(f"expected {count:,} starts, got {len(scheduler.starts):,}")
        rows.append([f"{count:,}", f"{seconds:.1f}", f"{1000 * seconds / count:.2f}"])
        print(f"measured: {count:,} jobs", file=sys.stderr)
    return (
        f"The policy slurm on {NODES:,} nodes, with priority/multifactor and sched/backfill:\n\n{table(rows, markdown)}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    given = parser_for(__doc__, quick="simulate 1,000 and 3,000 jobs in place of 10,000 and 100,000").parse_args(
        arguments
    )
    print(report(given.quick, given.markdown))
