"""Two builds of the library side by side: their processor time for simulations, turns and studies, and their results.

Each simulation is a process of its own, with one build or the other in turn. The processor time counts from the first
event to the last row, in all threads; that of a study counts with its processes and imports, and that of turns is the
time of a session, from frames of Batsim to frames of the scheduler. The ratio is that of the medians. A digest of the
results shows whether both builds decide alike.

    python tools/benchmark/builds.py before/bin/python after/bin/python
    python tools/benchmark/builds.py before/bin/python after/bin/python --only multifactor --rounds 3
    python tools/benchmark/builds.py before/bin/python after/bin/python --equal 500

The last one measures nothing: it compares the results of 500 random simulations, with orders, kinds of backfilling and
caps that are drawn.

Each argument is a Python that has a build installed. On a busy machine, trust ratios and not times.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

# Run as a script, it finds the other benchmarks.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmark.tables import table

__all__ = ["CASES", "Case", "Spent", "main", "measure"]


class Case(NamedTuple):
    """A simulation or a study, for both builds.

    Attributes:
        name: its name in the table.
        policy: the name of the policy, or the file and class of an example, for turns; "" for a study of 300 runs.
        jobs: the number of jobs; of each run of a study.
        users: the number of users to whom the jobs belong; 0: the jobs belong to nobody.
        at_once: whether all jobs are submitted at time 0, else at an offered load of 0.9.
        hosts: the number of hosts.
        long: whether it takes minutes; --quick leaves it out.
        turns: whether only the turns of a session are measured: of jobs of one host that come each second.
    """

    name: str
    policy: str
    jobs: int
    users: int = 0
    at_once: bool = False
    hosts: int = 256
    long: bool = False
    turns: bool = False


CASES: Final = (
    Case("multifactor, 4,000 jobs at once", "multifactor", 4_000, at_once=True),
    Case("multifactor, 4,000 jobs of 200 users at once", "multifactor", 4_000, users=200, at_once=True),
    Case("multifactor+easy, 4,000 jobs at once", "multifactor+easy", 4_000, at_once=True),
    Case("multifactor+easy, load 0.9, 100,000 jobs", "multifactor+easy", 100_000, long=True),
    Case("conservative, 2,000 jobs at once", "conservative", 2_000, at_once=True),
    Case("conservative, load 0.9, 20,000 jobs", "conservative", 20_000),
    Case("conservative, load 0.9, 100,000 jobs", "conservative", 100_000, long=True),
    Case("conservative+cap=40kW, load 0.9, 2,000 jobs", "conservative+cap=40kW", 2_000, long=True),
    Case("easy, load 0.9, 20,000 jobs", "easy", 20_000),
    Case("easy, load 0.9, 100,000 jobs", "easy", 100_000, long=True),
    Case("20,000 turns of the examples' FCFS", "fcfs.py:FCFS", 10_000, hosts=64, turns=True),
    Case("20,000 turns of the examples' EASY", "easy_backfilling.py:EASY", 10_000, hosts=64, turns=True),
    Case("20,000 turns of fcfs", "fcfs", 10_000, hosts=64, turns=True),
    Case("20,000 turns of easy", "easy", 10_000, hosts=64, turns=True),
    Case("a study of 300 runs, 100 jobs each", "", 100, hosts=64),
)
"""The cases, in the order of the table."""


class Spent(NamedTuple):
    """A simulation: its seconds of processor time, its peak of memory in MB, and a digest of its results."""

    seconds: float
    megabytes: float
    digest: str


_PROGRAM: Final = """
import hashlib, json, random, resource, sys, tempfile
from time import process_time
case = json.loads(sys.argv[1])
from batprotocol.model import DelayProfile
from batprotocol.policies import named
from batprotocol.simulator import Platform, StaticJob, Watts, Workload, WorkloadProfile, named_workload, simulate
if case["at_once"]:
    draw, jobs, profiles = random.Random(1), [], {}
    for number in range(case["jobs"]):
        size, runtime = int(2 ** draw.uniform(0, 7)), round(draw.uniform(10, 5000), 1)
        profiles[f"p{number}"] = WorkloadProfile(DelayProfile(runtime))
        walltime = round(runtime * draw.uniform(1, 4), 1)
        user = json.dumps({"user": draw.randrange(case["users"])}) if case["users"] else ""
        jobs.append(StaticJob(f"{number}", 0.0, size, f"p{number}", walltime=walltime, extra_data=user))
    given = Workload(jobs, profiles)
else:
    given = named_workload(f"lublin:{case['hosts']}?jobs={case['jobs']}&offered-load=0.9")
with tempfile.TemporaryDirectory() as folder:
    watts = Watts(100.0, 100.0, 200.0) if "cap" in case["policy"] else None
    platform = Platform.homogeneous(case["hosts"], watts=watts)
    begin = process_time()
    simulate(platform, given, named(case["policy"])(), output=f"{folder}/")
    seconds = process_time() - begin
    with open(f"{folder}/jobs.csv", "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:16]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
print(json.dumps([seconds, peak, digest]))
"""
_EQUAL: Final = """
import hashlib, json, random, sys, tempfile
# The library.
from batprotocol.model import DelayProfile
from batprotocol.policies import named
from batprotocol.simulator import Platform, StaticJob, Watts, Workload, simulate
# The parts of policies.
orders = "fcfs sjf saf multifactor f1 f2 f3 f4 wfp3 unicep expansion heft multifactor".split()
kinds = ["", "+easy", "+easy=once", "+reservations=3", "+conservative", "+conservative", "+conservative=5", "+greedy"]
# Each simulation.
for seed in range(int(sys.argv[1])):
    draw = random.Random(seed)
    hosts, users, time, jobs = draw.choice([8, 32, 100]), draw.choice([1, 5, 40]), 0.0, []
    name = draw.choice(orders) + draw.choice(kinds)
    if draw.random() < 0.3:
        name += f"+cap={hosts * draw.choice([120, 150, 170])}W"
    # Its jobs.
    digits, at_once = draw.choice([0, 1, 3, 6]), draw.random() < 0.3
    for number in range(draw.choice([50, 100, 100 if "cap" in name else 300])):
        time += 0.0 if at_once else draw.choice([0.0, 0.0, draw.expovariate(1 / 60)])
        walltime, size = round(draw.uniform(1, 2000), digits), min(hosts, int(2 ** draw.uniform(0, draw.uniform(1, 7))))
        profile = DelayProfile(walltime * draw.choice([1.0, 1.1, draw.random()]))
        given = None if draw.random() < 0.02 else walltime
        user = json.dumps({"user": draw.randrange(users)})
        jobs.append(StaticJob(f"{number}", time, size, profile, walltime=given, extra_data=user))
    # Its results.
    platform = Platform.homogeneous(hosts, watts=Watts(100.0, 100.0, 200.0))
    with tempfile.TemporaryDirectory() as folder:
        simulate(platform, Workload(jobs), named(name)(), output=f"{folder}/")
        with open(f"{folder}/jobs.csv", "rb") as file:
            print(seed, name, hashlib.sha256(file.read()).hexdigest())
"""
_TURNS: Final = """
import hashlib, json, resource, sys
from time import process_time
case, examples = json.loads(sys.argv[1]), sys.argv[2]
# The scheduler.
from batprotocol.edc import Session
from batprotocol.edc.scheduler import attend_to, hello_of, load
from batprotocol.model import DelayProfile
# It can be an example.
from batprotocol.policies import named
from batprotocol.simulator import Platform, Simulator, StaticJob, Workload, WorkloadProfile
make = load(f"{examples}/{case['policy']}") if ":" in case["policy"] else named(case["policy"])

# Its session.
def begun():
    scheduler = make()
    session = Session(lambda text: hello_of(scheduler, text))
    session.hear_init("")
    return scheduler, session, attend_to(scheduler)

# The frames of Batsim.
jobs = [StaticJob(f"{number}", float(number), 1, "delay") for number in range(case["jobs"])]
given = Workload(jobs, {"delay": WorkloadProfile(DelayProfile(10.5))})
# They are what it gets.
scheduler, session, attend = begun()
simulator, frames = Simulator(Platform.homogeneous(case["hosts"]), [given]), []
message = simulator.begin(hello_of(scheduler, ""))
while message is not None:
    frames.append(message.to_binary())
    attend(session.hear(message))
    message = simulator.turn(session.say())
# The turns.
_, session, attend = begun()
session.answer()
begin = process_time()
replies = [session.exchange(frame, attend) for frame in frames]
seconds = process_time() - begin
# The results.
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
print(json.dumps([seconds, peak, hashlib.sha256(b"".join(replies)).hexdigest()[:16]]))
"""
_EXAMPLES: Final = Path(__file__).resolve().parent.parent.parent / "examples"
_STUDY: Final = """
scheduler = ["fcfs", "easy", "easy-sjf"]
workload = "lublin:{hosts}?jobs={jobs}"
offered_load = [0.5, 0.6, 0.7, 0.8, 0.9]
seed = "0-19"
"""


def measure(python: str, case: Case) -> Spent:
    """The processor time, the memory and the results of a case with the build of this Python."""
    if not case.policy:
        return _study(python, case)
    given = [python, "-c", _TURNS if case.turns else _PROGRAM, json.dumps(case._asdict()), str(_EXAMPLES)]
    # In another folder, as Python imports from the current one first.
    done = subprocess.run(given, check=True, capture_output=True, text=True, cwd=tempfile.gettempdir())
    return Spent(*json.loads(done.stdout))


def _study(python: str, case: Case) -> Spent:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "study.toml").write_text(_STUDY.format(hosts=case.hosts, jobs=case.jobs))
        before = os.times()
        command = [python, "-m", "batprotocol", "study", "run", "study.toml", "-j", "1"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        after = os.times()
        made = subprocess.run(
            [python, "-m", "batprotocol", "study", "table", "study.toml", "--json"],
            check=True,
            capture_output=True,
            cwd=folder,
        ).stdout
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(seconds, 0.0, hashlib.sha256(made).hexdigest()[:16])


def differing(before: str, after: str, count: int) -> list[str]:
    """The random simulations whose results differ between two builds: the number and the policy of each."""
    given = [[python, "-c", _EQUAL, str(count)] for python in (before, after)]
    folder = tempfile.gettempdir()
    programs = [
        subprocess.Popen(each, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder)
        for each in given
    ]
    lines = [program.communicate()[0].splitlines() for program in programs]
    if any(program.returncode for program in programs):
        raise RuntimeError(f"expected {count} simulations, got {len(lines[0])} and {len(lines[1])}")
    return [" ".join(one.split()[:2]) for one, other in zip(*lines, strict=True) if one != other]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before", help="a Python that has the first build")
    parser.add_argument("after", help="a Python that has the second build")
    parser.add_argument("--rounds", type=int, default=5, help="simulations of each; 5 by default")
    parser.add_argument("--only", default="", help="only cases with this text in their names")
    parser.add_argument("--quick", action="store_true", help="leave out cases that take minutes")
    parser.add_argument("--markdown", action="store_true", help="print a table for a page")
    parser.add_argument("--equal", type=int, metavar="COUNT", help="compare the results of COUNT random simulations")
    given = parser.parse_args(arguments)
    if given.equal is not None:
        found = differing(given.before, given.after, given.equal)
        print(f"{len(found)} of {given.equal} random simulations differ{': ' if found else ''}{', '.join(found)}")
        return 1 if found else 0
    rows: list[Sequence[str]] = [["processor time", "before", "after", "ratio", "memory before", "after", "results"]]
    equal = True
    for case in CASES:
        if given.only not in case.name or (given.quick and case.long):
            continue
        spent_by: list[list[Spent]] = [[], []]
        for _ in range(given.rounds):
            for python, spent in zip((given.before, given.after), spent_by, strict=True):
                spent.append(measure(python, case))
        seconds = [statistics.median(each.seconds for each in spent) for spent in spent_by]
        memory = [f"{spent[0].megabytes:.0f} MB" if spent[0].megabytes else "" for spent in spent_by]
        is_equal = len({each.digest for spent in spent_by for each in spent}) == 1
        equal = equal and is_equal
        times = [f"{each:.2f} s" for each in seconds]
        ratio = f"{seconds[1] / seconds[0]:.3f}"
        rows.append([case.name, *times, ratio, *memory, "equal" if is_equal else "different"])
        print(f"measured: {case.name}: {ratio}", file=sys.stderr)
    print(f"Two builds, median of {given.rounds}:\n\n{table(rows, given.markdown)}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
