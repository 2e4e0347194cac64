"""Whether the answers of `batproto whatif` have the right sign and size, on logs whose truth is known.

Four generated logs have loads of 0.7, 0.9, 0.97 and 1.05: 42 days of jobs on 16 hosts, with a cycle of the day. The
fifth is real: ten weeks of Theta (examples/theta.swf.gz). EASY is today's policy. Five other policies, and FCFS
with a tenth more arrivals, are compared with it, over windows of 6 hours, a day and a week.

First, each answer is held against the simulation of the whole log, without windows and without a warm-up: is the
difference of the whole log in the interval, and has each difference in bold the same sign?

The whole log's difference is what the windows add up to, so this does not prove that intervals are wide enough. So
there are many independent logs of each load, too. How often does the interval of one log contain the mean difference
of all?
At loads near 1 and above, a log is one long backlog, and says little about other logs.

    python tools/sign_and_size.py              some minutes
    python tools/sign_and_size.py --logs 6     fewer logs, to try it
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from batprotocol.policies import named
from batprotocol.simulator import Workload, named_workload, platform_for, simulate
from batprotocol.studies.whatif._batches import RunOfLog
from batprotocol.studies.whatif._conclusions import Cut, difference_of
from batprotocol.studies.whatif._question import span_of_log
from batprotocol.workloads.changes import scaled_arrivals

LOADS: Final = (0.7, 0.9, 0.97, 1.05)
TODAY: Final = "easy"
POLICIES: Final = ("fcfs", "easy-sjf", "easy-saf", "easy-ljf", "conservative", "fcfs x 1.1")
WINDOWS: Final = {"6 h": 21_600.0, "1 d": 86_400.0, "1 w": 604_800.0}
METRICS: Final = ("mean_waiting_time", "mean_bounded_slowdown")
THETA: Final = Path(__file__).parent.parent / "examples" / "theta.swf.gz"
HOSTS: Final = 16
DAYS: Final = 42
SIZES: Final = (1, 1, 2, 4, 8)
MEDIAN: Final = 4000.0
"""The median run time of jobs, in seconds."""


class SimulatedRun(NamedTuple):
    """A simulation, as `RunOfLog` needs it."""

    hosts: int
    rows: Sequence[Any]
    metrics: dict[str, float]

    def jobs(self) -> Sequence[Any]:
        return self.rows

    def attempts(self) -> list[Any]:
        return []

    def allocations(self) -> list[Any]:
        return []

    def energy_over_time(self) -> None:
        return None


class Judged(NamedTuple):
    """An answer: of one policy, metric and length of windows."""

    load: str
    policy: str
    metric: str
    window: str
    value: float
    low: float | None
    high: float | None
    is_sure: bool
    whole: float
    """The difference of the whole log, without a warm-up."""


def generated(path: Path, load: float, seed: int) -> None:
    """Write a log of this load."""
    chance = random.Random(f"{load} {seed}")
    usual = sum(SIZES) / len(SIZES) * MEDIAN * math.exp(0.5)
    apart = usual / (load * HOSTS)
    lines, time = [f"; MaxProcs: {HOSTS}"], 0.0
    while True:
        time += chance.expovariate(2 / apart)
        if time > 86_400 * DAYS:
            break
        if chance.random() < 0.5 + 0.4 * math.sin(2 * math.pi * time / 86_400):  # half of them on average
            run = int(MEDIAN * chance.lognormvariate(0, 1)) + 1
            size = chance.choice(SIZES)
            fields = (len(lines), int(time), -1, run, size, -1, -1, size, run * chance.choice((1, 2, 5)))
            lines.append(" ".join(map(str, (*fields, -1, 1, 1, 1, 1, -1, 1, -1, -1))))
    path.write_text("\n".join(lines) + "\n")


def judged(task: tuple[str, int]) -> list[Judged]:
    """All answers on a log."""
    load, seed = task
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.swf"
        if load == "theta":
            path = THETA
        else:
            generated(path, float(load), seed)
        workload = named_workload(str(path))
    span = span_of_log(workload, None, 0.0)
    runs, wholes = {}, {}
    for name in (TODAY, *POLICIES):
        policy, _, factor = name.partition(" x ")
        runs[name], wholes[name] = simulated(workload, policy, float(factor or 1))
    found = []
    for name in POLICIES:
        for metric in METRICS:
            whole = wholes[name][metric] - wholes[TODAY][metric]
            for window, length in WINDOWS.items():
                cell = difference_of(runs[name], runs[TODAY], metric, Cut.of(span.begin, span.end, length))
                is_sure = cell.p is not None and cell.p < 0.05
                found.append(Judged(load, name, metric, window, cell.mean or 0.0, cell.low, cell.high, is_sure, whole))
    return found


def simulated(workload: Workload, policy: str, factor: float) -> tuple[RunOfLog, dict[str, float]]:
    """A run of the whole log, and its metrics."""
    given = workload if factor == 1 else scaled_arrivals(workload, factor, origin=0.0)
    platform = platform_for([given])
    result = simulate(platform, given, named(policy)())
    metrics = result.metrics().flat()
    return RunOfLog(SimulatedRun(len(platform.computation_hosts), result.jobs, metrics), factor, {}), metrics


def holds(low: float | None, value: float, high: float | None) -> bool:
    """Whether a value is in an interval; rounding does not count."""
    if low is None or high is None:
        return True
    near = 1e-6 * max(abs(low), abs(high))
    return low - near <= value <= high + near


def main() -> int:
    """Print the shares, and return 1 if the whole logs are not within the intervals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=30, help="independent logs of each load")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    tasks = [("theta", 0), *((f"{load:g}", seed) for load in LOADS for seed in range(given.logs))]
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        answers = pool.map(judged, tasks, chunksize=1)
    first = [each for (_, seed), found in zip(tasks, answers, strict=True) for each in found if seed == 0]
    inside = [each for each in first if each.low is not None]
    share = sum(holds(each.low, each.whole, each.high) for each in inside) / len(inside)
    opposite = [each for each in first if each.is_sure and each.whole * each.value < 0]
    print(f"five logs: the whole log's difference is in {share:.1%} of {len(inside)} intervals")
    print(f"five logs: {sum(each.is_sure for each in first)} differences in bold, {len(opposite)} of the opposite sign")
    for each in opposite:
        print("  opposite:", *each)
    print("independent logs: how often an interval contains the mean difference of all logs, and wrong signs in bold")
    for load in map("{:g}".format, LOADS):
        print(of_load(load, [each for found in answers for each in found if each.load == load]))
    return int(share < 0.95 or bool(opposite))


def of_load(load: str, found: Sequence[Judged]) -> str:
    """The line of a load."""
    parts = []
    for window in WINDOWS:
        held, wrong, count = 0, 0, 0
        for policy in POLICIES:
            for metric in METRICS:
                mine = [each for each in found if (each.policy, each.metric, each.window) == (policy, metric, window)]
                truth = math.fsum(each.whole for each in mine) / len(mine)
                held += sum(holds(each.low, truth, each.high) for each in mine)
                wrong += sum(each.is_sure and each.value * truth < 0 for each in mine)
                count += len(mine)
        parts.append(f"{window}: {held / count:6.1%}, {wrong} of {count} wrong")
    return f"  load {load:>4}  {'   '.join(parts)}"


if __name__ == "__main__":
    sys.exit(main())
