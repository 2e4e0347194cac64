"""Logs for what-if questions: a few days of a small machine, with users, partitions and, where wanted, starts."""

from __future__ import annotations

import random
from pathlib import Path

from batprotocol.policies import named
from batprotocol.simulator import named_workload, simulate
from batprotocol.workloads import platform_for

__all__ = ["HOSTS", "log_of", "recorded_log"]

HOSTS = 16


def _lines(days: float, seed: int, waits: dict[int, int]) -> list[str]:
    chance = random.Random(seed)
    lines: list[str] = []
    time = 0.0
    number = 0
    while True:
        number += 1
        time += chance.expovariate(1 / 900)
        if time > 86_400 * days:
            return lines
        size = chance.choice([1, 1, 2, 4, 12])
        run = int(min(20_000, chance.lognormvariate(7, 1))) + 1
        asked = run * chance.choice([1, 2, 5]) + 60
        user, partition = chance.choice([1, 1, 2, 3]), chance.choice([1, 2])
        wait = waits.get(number, -1)
        fields = [number, int(time), wait, run, size, -1, -1, size, asked, -1, 1, user, 1, 1, -1, partition, -1, -1]
        lines.append(" ".join(map(str, fields)))


def log_of(path: Path, days: float = 9, seed: int = 1, waits: dict[int, int] | None = None) -> str:
    """Write a log in the Standard Workload Format, and return its path."""
    lines = [f"; MaxProcs: {HOSTS}", *_lines(days, seed, waits or {})]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def recorded_log(path: Path, days: float = 9, seed: int = 1) -> str:
    """The same log with the waiting times that another policy, FCFS, gave its jobs."""
    workload = named_workload(log_of(path, days, seed))
    result = simulate(platform_for([workload]), workload, named("fcfs")())
    waits = {int(row.job_id): round(row.waiting_time) for row in result.jobs if row.waiting_time is not None}
    return log_of(path, days, seed, waits)
