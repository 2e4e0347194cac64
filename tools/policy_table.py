#!/usr/bin/env python3
"""Compare policies on sequences of a log, in the settings of published tables: the mean of mean bounded slowdowns.

python tools/policy_table.py lublin_256.swf.gz 1981 2714 2756 3316 4022 4299 5228 7085 7762 8850
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import fmean

# An installed batprotocol comes first; without one, it is the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from batprotocol.policies import named
from batprotocol.simulator import Workload, named_workload, platform_for, simulate

SETTINGS = "+each+keep+resolution=1"
"""A decision after each event, the chosen job stays chosen, and logs have whole seconds."""
BACKFILLING = "+easy=fcfs,no-spare,strict,once"
POLICIES = ("fcfs", "sjf", "saf", "f1", "f2", "f3", "f4", "wfp3", "unicep")


def bounded_slowdown(policy: str, workload: Workload) -> float:
    result = simulate(platform_for([workload]), [workload], named(policy)())
    return result.metrics().bounded_slowdown.mean


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("log", help="a log, .swf or .swf.gz")
    parser.add_argument("starts", nargs="+", type=int, help="the first job of each sequence, from 0 on")
    parser.add_argument("--jobs", type=int, default=1024, help="how many jobs a sequence has")
    parser.add_argument("--policies", nargs="+", default=POLICIES, help="orders, or whole policies")
    given = parser.parse_args()
    began = time.process_time()
    options = "&larger=yes&runtime-limits=yes"
    workloads = [
        named_workload(f"{given.log}?jobs={first}-{first + given.jobs - 1}{options}") for first in given.starts
    ]
    print("| policy | without backfilling | with |")
    print("|---|---:|---:|")
    for policy in given.policies:
        names = (policy + SETTINGS, policy + SETTINGS + BACKFILLING)
        means = [fmean(bounded_slowdown(name, workload) for workload in workloads) for name in names]
        print(f"| `{policy}` | {means[0]:.2f} | {means[1]:.2f} |", flush=True)
    print(f"{time.process_time() - began:.0f} s of processor time", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
