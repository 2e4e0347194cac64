"""The embedded Batsim beside accasim, another simulator of batch schedulers in Python: FCFS and EASY backfilling.

Both read the same log in the Standard Workload Format, schedule it on as many hosts of one core each, and write the
result of each job. Each simulation is a process of its own, in turn one of each. The processor time counts from before
the log is read until the results are written, without imports. Both must run all jobs. First come, first served, both
must find the same makespan; accasim's EASY backfilling is another algorithm, and its jobs ask for memory, as it divides
by that. The policy `easy` has neither messages nor a conversation; the example of FCFS has both.

accasim needs `pip install accasim`, and a few names of `collections` that Python removed in 3.10.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import logging
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

from batprotocol.edc import Scheduler
from batprotocol.edc.commands.scheduler import load
from batprotocol.policies import named
from batprotocol.simulator import Platform, simulate
from benchmark.tables import table

__all__ = ["Found", "main"]

FCFS = f"{Path(__file__).resolve().parent.parent.parent / 'examples' / 'fcfs.py'}:FCFS"
HOSTS = 256
SIZES = (1, 1, 2, 4, 8, 16, 32)
SEED = 1


class Found(NamedTuple):
    """What a simulation took and found: seconds of processor time, how many jobs ran, and when the last one ended."""

    seconds: float
    jobs: int
    makespan: float


def write_log(path: str, jobs: int, memory: int) -> None:
    """A log of jobs that keep the hosts busy, and some of them waiting. Each asks for this memory; -1: for none."""
    draw, now = random.Random(SEED), 0
    with open(path, "w", encoding="ascii") as file:
        file.write(f"; MaxProcs: {HOSTS}\n")
        for number in range(1, jobs + 1):
            now += int(draw.expovariate(1 / 20))
            runtime, size = 1 + int(draw.expovariate(1 / 400)), draw.choice(SIZES)
            walltime = runtime + 60 * draw.randrange(1, 6)
            file.write(
                f"{number} {now} -1 {runtime} {size} -1 {memory} {size} {walltime} {memory} 1 1 1 -1 1 -1 -1 -1\n"
            )


def ours(log: str, folder: str, policy: str) -> Found:
    """Simulate the log with the embedded Batsim."""
    scheduler: Scheduler = named(policy)() if policy == "easy" else load(FCFS)()
    start = spent()
    result = simulate(Platform.homogeneous(HOSTS), log, scheduler, output=f"{folder}/")
    return Found(spent() - start, result.nb_jobs_finished, result.makespan)


def accasim(log: str, folder: str, policy: str) -> Found:
    """Simulate the log with accasim."""
    for name, kind in (("Mapping", Mapping), ("MutableMapping", MutableMapping)):
        setattr(collections, name, kind)
    multiprocessing.set_start_method("fork", force=True)  # or else those that it starts lack these names again
    from accasim.base.allocator_class import FirstFit
    from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
    from accasim.base.simulator_class import Simulator

    system: dict[str, Any] = {
        "groups": {"hosts": {"core": 1, "mem": 1} if policy == "easy" else {"core": 1}},
        "resources": {"hosts": HOSTS},
        "equivalence": {"processor": {"core": 1}},
        "start_time": 0,
    }
    config = f"{folder}/system.json"
    with open(config, "w", encoding="ascii") as file:
        json.dump(system, file)
    logging.disable(logging.CRITICAL)
    with open(os.devnull, "w", encoding="ascii") as nothing, contextlib.redirect_stdout(nothing):
        start = spent()
        kind = EASYBackfilling if policy == "easy" else FirstInFirstOut
        simulator = Simulator(log, config, kind(FirstFit()), RESULTS_FOLDER_PATH=folder, show_statistics=False)
        files = simulator.start_simulation()
        seconds = spent() - start
    with open(files["sched-"], encoding="ascii") as schedule:
        ends = [line.split("__")[2].split(";")[1] for line in schedule]
    return Found(seconds, len(ends), _seconds(max(ends)))


def _seconds(date: str) -> float:
    """Seconds from 1970 on."""
    from datetime import datetime, timezone

    return datetime.fromisoformat(date).replace(tzinfo=timezone.utc).timestamp()


def once(simulator: Callable[[str, str, str], Found], log: str, policy: str) -> Found:
    """One simulation in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, mp_context=context) as executor:
        return executor.submit(simulator, log, folder, policy).result()


def spent() -> float:
    """Seconds of processor time so far, those of processes included that accasim starts to write its files."""
    return sum(os.times()[:4])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=20_000, help="number of jobs; 20,000 by default")
    parser.add_argument("--rounds", type=int, default=5, help="number of simulations of each; 5 by default")
    parser.add_argument("--policy", choices=("fcfs", "easy"), default="fcfs", help="the policy; fcfs by default")
    given = parser.parse_args(arguments)
    simulators = {"batprotocol": ours, "accasim": accasim}
    found: dict[str, list[Found]] = {name: [] for name in simulators}
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/log.swf"
        write_log(log, given.jobs, 1 if given.policy == "easy" else -1)
        for _ in range(given.rounds):
            for name, simulator in simulators.items():
                found[name].append(once(simulator, log, given.policy))
    times = {name: statistics.median(each.seconds for each in results) for name, results in found.items()}
    rows = [["simulator", "jobs", "makespan", "seconds", "jobs/s", "of accasim's time"]]
    for name, (first, *_) in found.items():
        speed, ratio = given.jobs / times[name], times[name] / times["accasim"]
        rows.append(
            [name, f"{first.jobs:,}", f"{first.makespan:,.1f} s", f"{times[name]:.2f}", f"{speed:,.0f}", f"{ratio:.3f}"]
        )
    title = "EASY backfilling" if given.policy == "easy" else "First come, first served"
    print(f"{title} on {HOSTS} hosts, median of {given.rounds}:\n\n{table(rows, markdown=False)}")
    same = found["batprotocol"][0], found["accasim"][0]
    differs = given.policy == "fcfs" and abs(same[0].makespan / same[1].makespan - 1) > 1e-3
    if same[0].jobs != same[1].jobs or differs:
        print("simulators: they did not find the same", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
