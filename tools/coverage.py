"""How often intervals contain the true mean: 95 % of all, if they are right.

Seeds: the truth comes from many simulations of Lublin and Feitelson's model with two policies, at two loads. Then
tables are made of ten seeds at a time, drawn from these, in each form: means, means that pool the loads, and
differences of pairs, with and without pooling. Beside each is how often intervals lie below and above the truth, and
their median width in units of Student's.

Windows: queues with Poisson arrivals, whose mean waiting times are known (Pollaczek and Khinchine; Erlang). Each is cut
into windows, and so is the same queue on servers that are a tenth faster. Then there are intervals of the mean waiting
time and of the difference. Widths are those of Student's t with the true effective number of windows.

    python tools/coverage.py                          6,000 seeds, 5,000 tables of ten, and the queues: 20 minutes
    python tools/coverage.py --runs 2000 --tables 200 --logs 100      fewer, to try it
    python tools/coverage.py --population FILE.npz    keeps the runs, and takes them from there the next time
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from scipy import stats

from batprotocol.policies import named
from batprotocol.simulator import METRICS, lublin_workload, platform_for, simulate
from batprotocol.studies.comparing import difference_of_ratios, interval, ratio
from batprotocol.studies.comparing.rows import domain_for

HOSTS: Final = 32
JOBS: Final = 50
LOADS: Final = (0.5, 0.9)
POLICIES: Final = ("fcfs", "easy")
NAMES: Final = ("mean_bounded_slowdown", "mean_waiting_time", "utilisation", "makespan")
SEEDS: Final = 10
FORMS: Final = ("means", "means, loads pooled", "paired differences", "paired differences, loads pooled")

BUSY: Final = (0.6, 0.75, 0.9)
WINDOWS: Final = (10, 12, 26, 52)
FASTER: Final = 1.1
WARM_UP: Final = 6000
"""The number of jobs before the first window."""


# Seeds


def run(seed: int) -> list[list[list[float]]]:
    """The metrics of a seed, by loads and policies."""
    found = []
    for load in LOADS:
        workload = lublin_workload(HOSTS, JOBS, seed=seed, offered_load=load)
        platform = platform_for([workload])
        flat = [simulate(platform, workload, named(policy)()).metrics().flat() for policy in POLICIES]
        found.append([[each[name] for name in NAMES] for each in flat])
    return found


def population(runs: int, path: Path | None, processes: int) -> Any:
    """The metrics of a number of seeds: seeds x loads x policies x metrics."""
    if path is not None and path.exists():
        return np.load(path)["runs"][:runs]
    with multiprocessing.Pool(processes) as pool:
        found = np.array(pool.map(run, range(runs), chunksize=50))
    if path is not None:
        np.savez_compressed(path, runs=found)
    return found


def draws_of(values: Any, name: str, form: str) -> Any:
    """The numbers of the cells that a table of this form has, in their order: seeds x cells."""
    given = values[..., NAMES.index(name)]  # seeds x loads x policies
    if "paired" in form:
        given = given[..., 1:] - given[..., :1]
    if "pooled" in form:
        given = given.mean(axis=1, keepdims=True)
    return given.transpose(0, 2, 1).reshape(len(given), -1)


def one(argument: tuple[Any, dict[tuple[str, str], list[float]]]) -> dict[tuple[str, str], list[list[float]]]:
    """For the cells of one study: whether the interval is below or above the truth, and its width.

    The intervals are those of the cells of a table (`tests/studies/test_tables.py` holds it).
    """
    values, truth = argument
    found: dict[tuple[str, str], list[list[float]]] = {}
    for name, form in truth:
        given = draws_of(values, name, form)
        usual = 2 * stats.t.ppf(0.975, SEEDS - 1) * given.std(axis=0, ddof=1) / math.sqrt(SEEDS)
        for cell, mean, width in zip(given.T.tolist(), truth[name, form], usual.tolist(), strict=True):
            ends = interval(cell, domain=domain_for(None if "paired" in form else METRICS[name], cell))
            low, high = ends or (math.nan, math.nan)
            found.setdefault((name, form), []).append([high < mean, low > mean, (high - low) / width if width else 1.0])
    return found


def of_seeds(whole: Any, repetitions: int, processes: int) -> dict[tuple[str, str], tuple[float, float, float, float]]:
    """The percentages of intervals that contain the truth, are below it and above it, and the median width."""
    truth = {(name, form): draws_of(whole, name, form).mean(axis=0).tolist() for form in FORMS for name in NAMES}
    chance = np.random.default_rng(0)
    picked = [(whole[chance.integers(0, len(whole), SEEDS)], truth) for _ in range(repetitions)]
    with multiprocessing.Pool(processes) as pool:
        held = pool.map(one, picked, chunksize=10)
    found = {}
    for key in truth:
        cells = np.array([cell for each in held for cell in each[key]])
        below, above = 100 * cells[:, 0].mean(), 100 * cells[:, 1].mean()
        found[key] = float(100 - below - above), float(below), float(above), float(np.median(cells[:, 2]))
    return found


# Windows


class Queue(NamedTuple):
    """A queue with Poisson arrivals and run times of mean 1.

    Args:
        servers: the number of servers.
        skewed: whether run times are lognormal with a variance of 4; else, they are exponential.
    """

    servers: int
    skewed: bool

    @property
    def name(self) -> str:
        """Kendall's notation."""
        return f"M/{'G' if self.skewed else 'M'}/{self.servers}"

    def wait(self, load: float) -> float | None:
        """The mean waiting time, if a formula has it."""
        if self.servers == 1:
            return load * (1 + (4 if self.skewed else 1)) / (2 * (1 - load))
        if self.skewed:
            return None
        offered = load * self.servers
        full = offered**self.servers / math.factorial(self.servers) / (1 - load)
        busy = full / (full + sum(offered**n / math.factorial(n) for n in range(self.servers)))
        return busy / (self.servers * (1 - load))


QUEUES: Final = (Queue(1, False), Queue(1, True), Queue(8, False), Queue(8, True))


def waits_of(queue: Queue, load: float, jobs: int, windows: int, repetitions: int, seed: int = 1) -> Any:
    """The sums of the waiting times of each window, on these servers and on faster ones, and the numbers of jobs."""
    chance = np.random.default_rng(seed)
    rate, length = load * queue.servers, jobs / (load * queue.servers)
    every, sigma = np.arange(repetitions), math.sqrt(math.log(5))
    time = np.full(repetitions, -WARM_UP / rate)
    free = np.tile(time[:, None, None], (1, 2, queue.servers))  # the times at which servers are free, sorted
    found = np.zeros((3, repetitions, windows + 2))
    speed = np.array([1.0, FASTER])
    while time.min() < windows * length:
        gaps = chance.exponential(1 / rate, (1000, repetitions))
        shape = (1000, repetitions)
        runs = chance.lognormal(-sigma * sigma / 2, sigma, shape) if queue.skewed else chance.exponential(1, shape)
        for gap, each in zip(gaps, runs, strict=True):
            time += gap
            start = np.maximum(free[:, :, 0], time[:, None])
            free[:, :, 0] = start + each[:, None] / speed
            if queue.servers > 1:
                free.sort(axis=2)
            place = np.clip((time // length).astype(int), -1, windows) + 1
            found[0, every, place] += start[:, 0] - time
            found[1, every, place] += start[:, 1] - time
            found[2, every, place] += 1
    return found[:, :, 1:-1]


def held(
    argument: tuple[Queue, float, int, int],
) -> tuple[tuple[Queue, float, int], list[tuple[int, str, float, float, float]]]:
    """Of a queue and a number of windows: the percentage of intervals with the truth, and their relative widths."""
    queue, load, jobs, repetitions = argument
    slow, fast, counts = waits_of(queue, load, jobs, max(WINDOWS), repetitions)
    known, faster = queue.wait(load), queue.wait(load / FASTER)
    mean = slow.sum() / counts.sum() if known is None else known
    gain = fast.sum() / counts.sum() - mean if faster is None else faster / FASTER - mean
    found = []
    for windows in WINDOWS:
        for what, truth in (("wait", mean), ("difference", gain)):
            ends, values = [], []
            for one_slow, one_fast, many in zip(slow, fast, counts, strict=True):
                a, b, n = (each[:windows].tolist() for each in (one_slow, one_fast, many))
                pairs = [list(zip(each, n, strict=True)) for each in (b, a)]
                made = ratio(a, n) if what == "wait" else difference_of_ratios(*pairs)
                ends.append((made.value, made.low, made.high))
                sums = np.array(a) if what == "wait" else np.array(b) - np.array(a)
                values.append((sums - made.value * np.array(n)) / np.mean(n))
            centre, low, high = np.array(ends, dtype=float).T
            spread = np.array(values).std(axis=1, ddof=1)
            effective = min(max((spread**2).mean() / centre.var(), 1.5), windows)
            usual = 2 * stats.t.ppf(0.975, effective - 1) * spread / math.sqrt(effective)
            share = 100 * float(np.mean((low <= truth) & (truth <= high)))
            wide = (high - low) / usual
            found.append((windows, what, share, float(np.median(wide)), float(np.quantile(wide, 0.9))))
    return (queue, load, jobs), found


def of_windows(lengths: Sequence[int], repetitions: int, processes: int) -> Any:
    """For each queue, load and length of windows, in jobs: percentages and widths."""
    wanted = [(queue, load, jobs, repetitions) for jobs in lengths for load in BUSY for queue in QUEUES]
    with multiprocessing.Pool(processes) as pool:
        return pool.map(held, wanted, chunksize=1)


# Tables


def print_seeds(found: Any) -> None:
    print("| | " + " | ".join(METRICS[name].label for name in NAMES) + " |")
    print("|---|" + "---|" * len(NAMES))
    for form in FORMS:
        cells = []
        for name in NAMES:
            share, below, above, width = found[name, form]
            cells.append(f"**{share:.1f} %** ({below:.1f}, {above:.1f}; {width:.1f})")
        print(f"| {form} | " + " | ".join(cells) + " |")


def print_windows(found: Any) -> None:
    """The least and the largest share over queues, of waiting times and differences; and each."""
    print("| jobs in a window | load | run times | " + " | ".join(f"{windows} windows" for windows in WINDOWS) + " |")
    print("|---|---|---|" + "---|" * len(WINDOWS))
    for jobs, load, skewed in sorted({(jobs, load, queue.skewed) for (queue, load, jobs), _ in found}):
        alike = [rows for (queue, *rest), rows in found if (*rest, queue.skewed) == (load, jobs, skewed)]
        cells = []
        for windows in WINDOWS:
            shares = [row[2] for rows in alike for row in rows if row[0] == windows]
            cells.append(f"{min(shares):.1f} to {max(shares):.1f} %")
        kind = "lognormal" if skewed else "exponential"
        print(f"| {jobs:,} | {load} | {kind} | " + " | ".join(cells) + " |")
    for what in ("wait", "difference"):
        print(f"\n{what}: each queue (width in units of Student's: median, 90 %)\n")
        for (queue, load, jobs), rows in found:
            cells = [
                f"{share:.1f} % ({wide:.1f}, {widest:.1f})" for _, kind, share, wide, widest in rows if kind == what
            ]
            print(f"| {jobs:,} | {load} | {queue.name} | " + " | ".join(cells) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=6000, help="simulations of each policy at each load")
    parser.add_argument("--tables", type=int, default=5000, help="tables of each form")
    parser.add_argument("--logs", type=int, default=1000, help="logs of each queue")
    parser.add_argument("--population", type=Path, help="a file that keeps the simulations")
    parser.add_argument("--jobs", type=int, nargs="*", default=[1000, 3000], help="the jobs in a window of the queues")
    parser.add_argument("-j", "--processes", type=int, default=os.cpu_count(), help="how many at once")
    given = parser.parse_args()
    whole = population(given.runs, given.population, given.processes)
    print(f"{len(whole):,} simulations of each policy at each load; {given.tables:,} tables of {SEEDS} seeds")
    print("(below the truth, above it; median width in units of Student's)\n")
    print_seeds(of_seeds(whole, given.tables, given.processes))
    if not given.logs:
        return 0
    found = of_windows(given.jobs, given.logs, given.processes)
    print(f"\n{given.logs:,} logs of each queue\n")
    print_windows(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
