"""How often intervals of tables hold the true mean: 95 % of all, if they are right.

The truth comes from many simulations of Lublin and Feitelson's model with two policies, at two loads. Then tables are
made of ten seeds at a time, drawn from these, in each form: means, means that pool the loads, and differences of pairs,
with and without pooling. Beside each is what the usual bootstrap (BCa) gives where rows count as independent.

    python tools/coverage.py                          100,000 runs of each, which take an hour, then 1,000 tables
    python tools/coverage.py --runs 2000              fewer, to try it
    python tools/coverage.py --population FILE.npz    keeps the runs, and takes them from there the next time
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from batprotocol.policies import named
from batprotocol.simulator import METRICS, lublin_workload, platform_for, simulate
from batprotocol.studies.comparing import PlainRow, interval, table

HOSTS: Final = 32
JOBS: Final = 50
LOADS: Final = (0.5, 0.9)
POLICIES: Final = ("fcfs", "easy")
NAMES: Final = ("mean_bounded_slowdown", "mean_waiting_time", "utilisation", "makespan")
SEEDS: Final = 10
RESAMPLES: Final = 1999
FORMS: Final = {
    "means": {"columns": "load"},
    "means, loads pooled": {},
    "paired differences": {"columns": "load", "baseline": POLICIES[0]},
    "paired differences, loads pooled": {"baseline": POLICIES[0]},
}


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


def rows_of(values: Any) -> list[PlainRow]:
    """The rows of a study of these seeds."""
    return [
        PlainRow(
            {"scheduler": policy, "load": load, "seed": seed},
            dict(zip(NAMES, values[seed, at, place].tolist(), strict=True)),
        )
        for seed in range(len(values))
        for at, load in enumerate(LOADS)
        for place, policy in enumerate(POLICIES)
    ]


def true_means(whole: Any, name: str, form: str) -> list[float]:
    """Of all simulations, the means of the cells that a table of this form has, in their order."""
    values = whole[..., NAMES.index(name)].mean(axis=0)  # loads x policies
    if "paired" in form:
        values = values[:, 1:] - values[:, :1]
    if "pooled" in form:
        values = values.mean(axis=0, keepdims=True)
    return [float(each) for each in values.T.ravel()]


def row_intervals(values: Any, name: str, form: str) -> list[tuple[float, float]]:
    """The intervals of the same cells, where each row counts as a draw of its own, by BCa."""
    given = values[..., NAMES.index(name)]  # seeds x loads x policies
    if "paired" in form:
        given = given[..., 1:] - given[..., :1]
    parts = [given.reshape(-1, given.shape[-1])] if "pooled" in form else [given[:, at] for at in range(len(LOADS))]
    return [
        interval(part[:, place].tolist(), resamples=RESAMPLES, method="bca") or (np.nan, np.nan)
        for place in range(given.shape[-1])
        for part in parts
    ]


def one(argument: tuple[int, Any, dict[tuple[str, str], list[float]]]) -> dict[tuple[str, str], list[list[bool]]]:
    """Whether the cells of one study hold the truth: by the tables, and by rows."""
    _, values, truth = argument
    rows = rows_of(values)
    found = {}
    for form, options in FORMS.items():
        for name in NAMES:
            made = table(rows, metric=name, resamples=RESAMPLES, **options)  # type: ignore[arg-type]
            cells = [cell for row in made.cells for cell in row if made.baseline is None or not cell.is_baseline]
            means = truth[name, form]
            ours = [cell.low <= mean <= cell.high for cell, mean in zip(cells, means, strict=True)]  # type: ignore[operator]
            theirs = [
                low <= mean <= high for (low, high), mean in zip(row_intervals(values, name, form), means, strict=True)
            ]
            found[name, form] = [ours, theirs]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000, help="simulations of each policy at each load")
    parser.add_argument("--repetitions", type=int, default=1000, help="tables of each form")
    parser.add_argument("--population", type=Path, help="a file that keeps the simulations")
    parser.add_argument("-j", "--processes", type=int, default=os.cpu_count(), help="how many at once")
    given = parser.parse_args()
    whole = population(given.runs, given.population, given.processes)
    truth = {(name, form): true_means(whole, name, form) for form in FORMS for name in NAMES}
    chance = np.random.default_rng(0)
    picked = [whole[chance.integers(0, len(whole), SEEDS)] for _ in range(given.repetitions)]
    with multiprocessing.Pool(given.processes) as pool:
        held = pool.map(one, [(number, values, truth) for number, values in enumerate(picked)], chunksize=10)
    print(f"{len(whole):,} simulations of each policy at each load; {given.repetitions:,} tables of {SEEDS} seeds\n")
    print("| | " + " | ".join(METRICS[name].label for name in NAMES) + " |")
    print("|---|" + "---|" * len(NAMES))
    for form in FORMS:
        cells = []
        for name in NAMES:
            ours, theirs = (
                100 * np.mean([flag for each in held for flag in each[name, form][which]]) for which in (0, 1)
            )
            cells.append(f"**{ours:.1f} %** ({theirs:.1f} %)")
        print(f"| {form} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
