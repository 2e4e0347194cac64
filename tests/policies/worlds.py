"""Random sites: hosts, rules, jobs with all that they can ask for, and the parts of a policy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from batprotocol.model import DelayProfile, ParallelTaskHomogeneousProfile
from batprotocol.simulator import StaticJob

__all__ = ["PARTS", "World", "world_of", "worlds"]

PARTS = {
    "order": ["fcfs", "lcfs", "sjf", "ljf", "saf", "smallest", "wfp3", "multifactor", "heft"],
    "backfilling": [
        *("none", "greedy", "greedy=saf", "easy", "easy=sjf", "easy=strict", "easy=no-spare", "easy=once"),
        *("reservations=2", "reservations=3", "conservative", "conservative=2"),
    ],
    "allocation": ["first", "pack", "spread", "weight", "best-fit", "contiguous"],
    "walltimes": ["requested", "requested", "predicted"],
}


ARRAYS = ("", "%1", "%2"), ("%1", "%2", "")
"""The limits of the arrays: one of them holds for all tasks."""


@dataclass
class World:
    """A site, its jobs, and the name of a policy."""

    hosts: str
    tables: dict[str, Any]
    jobs: list[StaticJob]
    policy: str


def sometimes(random: Random, table: dict[str, Any], key: str, values: Any, of: int = 3) -> None:
    """Give a key one of some values, in one of some number of cases."""
    if random.randint(1, of) == of:
        table[key] = random.choice(values)


def some_of(random: Random, names: list[str]) -> str:
    """Some of the names, in any order."""
    return ",".join(random.sample(names, random.randint(1, len(names))))


def limits_of(random: Random) -> dict[str, int]:
    table: dict[str, int] = {}
    for key, most in (("running", 3), ("hosts", 4), ("cores", 8), ("gpus", 2), ("waiting", 4)):
        sometimes(random, table, key, range(1, most + 1), 5)
    return table


def hosts_of(random: Random) -> tuple[str, list[str]]:
    lines, names = [], []
    for kind in range(random.randint(1, 3)):
        count = random.randint(1, 2)
        own = [f"{'nmo'[kind]}{number}" for number in range(count)]
        names += own
        words = [f"cores={random.choice([1, 2, 4, 4, 8])}"]
        for key, values in (
            ("memory", ["4G", "8G"]),
            ("gres", ["gpu:2", "gpu:a:1,gpu:b:1", "gpu:a:2,gpu:1"]),
            ("features", ["x", "y", "x,y"]),
            ("weight", ["2", "3"]),
            ("partitions", ["p", "q", "p,q"]),
        ):
            if random.randint(0, 1):
                words.append(f"{key}={random.choice(values)}")
        lines.append(" ".join([f"{'nmo'[kind]}[0-{count - 1}]", *words]))
    return "; ".join(lines), names


def partition_of(random: Random, names: list[str], is_in_use: bool) -> dict[str, Any]:
    table: dict[str, Any] = {}
    if not is_in_use or random.random() < 0.5:
        table["hosts"] = random.choice(["ALL", some_of(random, names)])
    sometimes(random, table, "tier", [1, 2, 3], 2)
    sometimes(random, table, "preempt", ["requeue", "cancel", "checkpoint"], 2)
    sometimes(random, table, "grace", [2.0, 5.0, 15.0])
    sometimes(random, table, "max_time", [15.0, 30.0], 6)
    sometimes(random, table, "default_time", [5.0, min(table.get("max_time", 20.0), 20.0)], 6)
    sometimes(random, table, "max_hosts", [1, 2], 8)
    sometimes(random, table, "min_hosts", [table.get("max_hosts", 2)], 10)
    sometimes(random, table, "exclusive", [True], 8)
    sometimes(random, table, "allow_qos", [["high", "low"]], 12)
    sometimes(random, table, "allow_accounts", [["top"]], 12)
    sometimes(random, table, "allow_groups", [["1"]], 12)
    return table


def tables_of(random: Random, hosts: str, names: list[str]) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    in_use = {name for line in hosts.split("; ") for name in line.partition("partitions=")[2].split(",") if name}
    partitions = {name: partition_of(random, names, name in in_use) for name in "pqr"[: random.randint(0, 3)]}
    if partitions:
        tables["partitions"] = partitions
        if random.randint(0, 3):
            partitions["p"]["default"] = True
    if random.random() < 0.5:
        tables["qos"] = {name: {} for name in ("high", "middle", "low")}
        sometimes(random, tables["qos"]["high"], "preempts", [["low"], ["low", "middle"], ["middle"]], 2)
        sometimes(random, tables["qos"]["middle"], "preempts", [["low"]])
        for name, table in tables["qos"].items():
            sometimes(random, table, "preempt", ["cancel", "checkpoint", "off"])
            sometimes(random, table, "grace", [3.0, 12.0])
            sometimes(random, table, "max_time", [25.0], 8)
            table["priority"] = {"high": 10.0, "middle": 5.0, "low": 0.0}[name]
            for scope in ("limits", "per_user", "per_account"):
                if random.randint(0, 7) == 7:
                    table[scope] = limits_of(random)
    if random.randint(0, 2) == 2:
        tables["accounts"] = {"top": {}, "low": {"parent": "top", "shares": 2.0}, "other": {}}
        for table in tables["accounts"].values():
            for scope in ("limits", "per_user"):
                if random.randint(0, 5) == 5:
                    table[scope] = limits_of(random)
    for scope in ("limits", "per_user"):
        if random.randint(0, 5) == 5:
            tables[scope] = limits_of(random)
    if random.randint(0, 3) == 3:
        weights = {"weight_age": 10.0, "weight_fairshare": 100.0, "weight_qos": 50.0, "weight_job_size": 20.0}
        tables["priority"] = {key: value for key, value in weights.items() if random.random() < 0.5}
    sometimes(random, tables, "order_of_victims", ["least", "youngest", "priority"])
    return tables


def dependency_of(random: Random, number: int, count: int) -> str:
    """Mostly on earlier jobs, sometimes on any, on arrays, or on one that does not exist."""

    def one() -> str:
        kind = random.choice(["after", "afterany", "afterok", "afternotok", "aftercorr", "singleton", "singleton"])
        if kind == "singleton":
            return kind
        other = random.randint(0, 11)
        name = str(random.randint(0, count) if other == 0 or not number else random.randint(0, number - 1))
        if other in (1, 2):
            name = random.choice("AB")
        return f"{kind}:{name}" + ("+1" if kind == "after" and other == 3 else "")

    parts = [one() for _ in range(random.choice([1, 1, 1, 2]))]
    return random.choice(",?").join(parts)


def asks_of(random: Random, number: int, count: int, tables: dict[str, Any], hosts: str) -> dict[str, Any]:
    asks: dict[str, Any] = {}
    sometimes(random, asks, "cores", [1, 1, 2, 4], 2)
    sometimes(random, asks, "memory", ["1G", "2G", "512M", "6G"])
    if "gres=" in hosts:
        sometimes(random, asks, "gres", [{"gpu": 1}, {"gpu": 2}, {"gpu:a": 1}, {"gpu:a": 1}, {"gpu:b": 1, "gpu": 1}], 2)
    if random.randint(0, 7) == 7:
        asks["tasks"] = random.randint(1, 4)
        sometimes(random, asks, "per", ["task"], 2)
    sometimes(random, asks, "exclusive", [True], 10)
    sometimes(random, asks, "contiguous", [True], 10)
    if "features=" in hosts:
        constraints = ["x", "x&!y", "x|y", "[x|y]", "x*1", "x*1&y*1", "[x*2&y*1]", "!(x&y)"]
        sometimes(random, asks, "constraint", constraints, 6)
    sometimes(random, asks, "user", [1, 2], 2)
    sometimes(random, asks, "name", ["s", "s", "t"], 2)
    names = sorted({*tables.get("partitions", {}), *("p" if "partitions=p" in hosts else "")})
    if names:
        sometimes(random, asks, "partition", [some_of(random, names)], 2)
    if "qos" in tables:
        sometimes(random, asks, "qos", ["high", "middle", "low", "low"], 2)
    if "accounts" in tables:
        sometimes(random, asks, "account", ["top", "low", "other"], 2)
    sometimes(random, asks, "group", [1, 2], 8)
    sometimes(random, asks, "priority", [1, 2, 50], 8)
    sometimes(random, asks, "nice", [-1, 1], 10)
    sometimes(random, asks, "begin", [0, 12, 25, "now+4", "now+11"], 8)
    sometimes(random, asks, "deadline", [30, 60, "now+25", "now+50"], 10)
    if random.randint(0, 3) == 3:
        asks["dependency"] = dependency_of(random, number, count)
    if random.randint(0, 4) == 4:
        asks["array"] = f"{'AB'[number % 2]}_{number // 2}{ARRAYS[number % 2][count % 3]}"
    sometimes(random, asks, "requeue", [True, False], 8)
    sometimes(random, asks, "reservation", ["r"], 40)
    return asks


def world_of(seed: int, count: int, policy: str | None) -> World:
    """A site with so many jobs by chance, with one policy, or with any combination of parts."""
    random = Random(seed)
    hosts, names = hosts_of(random)
    tables = tables_of(random, hosts, names)
    jobs = []
    for number in range(count):
        asks = asks_of(random, number, count, tables, hosts) if random.randint(0, 9) else {}
        run = float(random.randint(1, 20))
        walltime = random.choice([None, run + 1, run + 5, run + 10, run, max(run - 1, 0.5)])
        size = random.choice([1, 1, 1, 2, 2, 3])
        at = random.randint(0, 30) / random.choice([1, 1, 2])
        profile: Any = DelayProfile(run)
        if random.randint(0, 3) == 3:
            profile = ParallelTaskHomogeneousProfile(run * 1e9, 0.0)
        data = json.dumps(asks) if asks else None
        jobs.append(StaticJob(str(number), at, size, profile, walltime=walltime, extra_data=data))
    if policy is None:
        policy = "+".join(random.choice(PARTS[key]) for key in ("order", "backfilling", "allocation"))
        policy += "+" + random.choice(PARTS["walltimes"])
    return World(hosts, tables, sorted(jobs, key=lambda job: (job.submission_time, int(job.id))), policy)


def worlds(policy: str | None = None) -> st.SearchStrategy[World]:
    """Sites with their jobs. One number stands for all, as a draw for each key takes longer than a simulation.

    Args:
        policy: the name of the policy; None: any combination of parts.
    """
    return st.builds(world_of, st.integers(0, 2**40), st.integers(1, 14), st.just(policy))
