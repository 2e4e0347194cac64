"""The jobs of a site, made from a seed: users, accounts and partitions, and each kind of end that a job can have."""

from __future__ import annotations

import math
from random import Random

from slurming.accounting import accounts_of
from slurming.situations import Situation

__all__ = ["site"]

NODES = ["n[0-7] CPUs=8 RealMemory=16000", "n[8-11] CPUs=16 RealMemory=64000 Feature=big"]
PARTITIONS = [
    "batch Nodes=n[0-8] Default=YES PriorityTier=1 MaxTime=60",
    "large Nodes=n[6-11] PriorityTier=2 MaxTime=60",
    "short Nodes=ALL PriorityTier=10 MaxTime=10",
]
CONF = [
    "SelectType=select/cons_tres",
    "SelectTypeParameters=CR_Core_Memory",
    "DefMemPerCPU=500",
    "SchedulerParameters=bf_interval=10,bf_resolution=1,sched_interval=5,batch_sched_delay=0",
    "KillWait=5",
]
ACCOUNTS = {"physics": 3, "biology": 2, "teaching": 1}
SIZES = (
    *("-n1", "-n2", "-n4", "-n8", "-c4", "-n6 --mem=9000"),
    *("-N2 -n12", "-N3 -n20", "-N4 -n24", "-N2 --exclusive", "-N1 --exclusive"),
)
BETWEEN = 30.0
"""Seconds between two submissions, in the mean."""


def site(seed: int, jobs: int, longest_run: int = 900) -> Situation:
    """A site whose users submit so many jobs, and besides those of `SPECIAL`.

    Args:
        seed: makes the same jobs again.
        jobs: the number of usual jobs.
        longest_run: the seconds that the longest of them runs.
    """
    draw = Random(seed)
    accounts = accounts_of(ACCOUNTS)
    at, lines, commands = 0.0, [], []
    places = [0, *draw.choices(range(jobs), k=len(SPECIAL) - 1)]
    for number in range(jobs):
        for place, special in zip(places, SPECIAL, strict=True):
            if place == number:
                commands += [_later(at, line[1:]) for line in special if line.startswith("!")]
                lines += [_later(at, line, _owner(draw, accounts)) for line in special if not line.startswith("!")]
        lines.append(f"j{number} {at:.0f} {_usual(draw, accounts, longest_run)}")
        if draw.random() < 0.06:
            commands.append(f"{at + draw.randint(5, 300):.0f} scancel {{j{number}}}")
        at += draw.choice([0, 0, draw.expovariate(1 / BETWEEN), draw.expovariate(1 / (3 * BETWEEN))])
    lines.sort(key=lambda line: float(line.split()[1]))
    most = round(at) + 7200
    return Situation("A site.", NODES, PARTITIONS, lines, CONF, commands=commands, accounts=accounts, longest=most)


def _later(at: float, line: str, owner: str | None = None) -> str:
    """A line of `SPECIAL` from some second on: a command, or a job with an owner."""
    second, rest = line.split(" ", 1)
    now = f"{at + float(second):.0f}"
    if owner is None:
        return f"{now} {rest}"
    name, run, arguments = rest.split(" ", 2)
    return f"{name} {now} {run} {owner} {arguments}"


def _usual(draw: Random, accounts: dict[str, list[str]], longest: int) -> str:
    """The run time and arguments of a job."""
    partition = draw.choice(["batch"] * 5 + ["large"] * 3 + ["short"] * 2)
    run = min(longest / (3 if partition == "short" else 1), draw.lognormvariate(math.log(longest / 4), 0.8)) + 5
    limit = math.ceil(run / 60 * draw.choice([1.05, 1.5, 2, 4]))
    limit = draw.randint(1, 3) if draw.random() < 0.1 else min(limit, 10 if partition == "short" else 60)
    failed = "!" if draw.random() < 0.08 else ""
    size = draw.choice(SIZES)
    size += "" if "--mem" in size else draw.choice(["", "", " --mem-per-cpu=1500"])
    return f"{run:.0f}{failed} {_owner(draw, accounts)} -p {partition} {size} -t {limit}"


def _owner(draw: Random, accounts: dict[str, list[str]]) -> str:
    account = draw.choice([*accounts])
    user = draw.choice(accounts[account])
    return f"-A {account} " + (f"--uid={user} --gid={user} " if len({*map(tuple, accounts.values())}) > 1 else "")


SPECIAL = (
    [
        "0 lost 400 -p short -N1 -w n3 -n2 -t 10 --no-requeue",
        "0 lost_too 300 -p short -N1 -w n3 -n1 -t 10",
        "!50 scontrol update NodeName=n3 State=DOWN Reason=power",
        "!400 scontrol update NodeName=n3 State=RESUME",
    ],
    ["0 array 40+10 -p batch -n4 -t 5 --array=0-5%2"],
    ["0 over 400 -p short -n1 -t 1", "0 over_too 300 -p large -n2 -t 2"],
    ["0 first 120 -p batch -n4 -t 5", "1 after_ok 60 -p batch -n2 -t 5 -d afterok:{first}"],
    ["0 bad 30! -p short -n1 -t 2", "1 after_bad 60 -p batch -n2 -t 5 -d afternotok:{bad}"],
    ["0 begins 60 -p short -n1 -t 2 --begin=now+900", "!60 scancel {begins}"],
    ["0 later 60 -p short -n2 -t 2 --begin=now+300"],
    ["0 again 200 -p short -n2 -t 8", "!60 scontrol requeue {again}"],
    ["0 stopped 300 -p short -n2 -t 8", "!90 scancel {stopped}"],
    ["0 group 45 -p large -n4 -t 3 --array=1-4", "!5 scancel {group}_4"],
    ["0 held 40 -p short -n1 -t 2 -H", "!200 scontrol release {held}"],
)
"""Special kinds, the first of them at the begin.

A line has the second, name, run time and arguments of a job; or `!`, the second and words of a command.
"""
