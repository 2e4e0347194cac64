#!/usr/bin/env python3
"""When accasim 1.1.3 starts the jobs of a log, by three of its policies: what ours are compared with in tests.

python -m venv elsewhere && elsewhere/bin/pip install accasim==1.1.3
python tools/accasim_starts.py elsewhere/bin/python tests/data/policies/accasim.csv.xz

AccaSim is not a dependency, so it runs in a Python of its own. Its jobs get a unit of memory for each processor, and
its hosts have one, as its EASY backfilling divides by the memory that is asked for.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

# An installed batprotocol comes first; without one, it is the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from batprotocol.model import DelayProfile
from batprotocol.simulator import lublin_workload

HOSTS, JOBS, SEED, LOAD = 256, 5000, 7, 0.8
COLUMNS = ("submitted", "runtime", "size", "walltime", "fifo", "sjf", "easy")

# What the other Python runs: in a folder that holds log.swf and system.json, it writes starts.json.
SIMULATED = """
import collections, collections.abc, json
collections.Mapping = collections.abc.Mapping  # as it was called until Python 3.9
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut, ShortestJobFirst
from accasim.base.simulator_class import Simulator

starts, columns = {}, {"job": ("id", "str"), "start": ("start_time", "int")}
for name, policy in ("fifo", FirstInFirstOut), ("sjf", ShortestJobFirst), ("easy", EASYBackfilling):
    simulator = Simulator(
        "log.swf", "system.json", policy(FirstFit()), RESULTS_FOLDER_PATH=name, statistics_output=False,
        SCHEDULE_OUTPUT={"format": "{job} {start}", "attributes": columns},
    )
    simulator.start_simulation()
    with open(name + "/sched-log.swf") as file:
        starts[name] = dict(line.split() for line in file)
json.dump(starts, open("starts.json", "w"))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python", help="a Python that has accasim 1.1.3")
    parser.add_argument("output", type=Path, help="where to write the table, a .csv.xz")
    given = parser.parse_args()
    workload = lublin_workload(HOSTS, JOBS, seed=SEED, offered_load=LOAD)
    jobs = []
    for each in workload:
        profile = workload.profiles[each.job.profile_id].profile
        assert isinstance(profile, DelayProfile)
        times = round(each.time), round(profile.delay), each.job.resource_request, round(each.job.walltime or 0)
        jobs.append(times)
    jobs.sort(key=lambda job: job[0])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "log.swf").open("w") as file:
            for number, (submitted, runtime, size, walltime) in enumerate(jobs):
                print(number, submitted, 0, runtime, size, *(-1, 1), size, walltime, 1, 1, *[-1] * 7, file=file)
        system = {
            "groups": {"host": {"core": 1, "mem": 1}},
            "resources": {"host": HOSTS},
            "equivalence": {"processor": {"core": 1}},
        }
        (folder / "system.json").write_text(json.dumps(system))
        python = str(Path(given.python).absolute())
        subprocess.run([python, "-c", SIMULATED], cwd=folder, check=True, stdout=sys.stderr)
        starts = json.loads((folder / "starts.json").read_text())
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(COLUMNS)
    for number, job in enumerate(jobs):
        rows.writerow([*job, *(starts[name][str(number)] for name in COLUMNS[4:])])
    given.output.write_bytes(lzma.compress(table.getvalue().encode(), preset=9))
    return 0


if __name__ == "__main__":
    sys.exit(main())
