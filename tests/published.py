"""The settings of published tables, as a combination of the parts of policies, and a small simulator of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from support import DATA, ROOT, SHARED

from batprotocol.policies import (
    EASY,
    F1,
    F2,
    F3,
    F4,
    FCFS,
    SAF,
    SJF,
    WFP3,
    Backfilling,
    Order,
    Policy,
    State,
    Unicep,
    WaitingJob,
)
from batprotocol.policies.orders import Aging
from batprotocol.simulator import Workload, named_workload

TABLES = DATA / "policies"
ALL_TABLES = SHARED / "policies"


class Mistaken(Order):
    """An order by waiting times as they were when the table was published: -1 - s, whenever it is asked.

    The time at which a job is scheduled was -1 until it was, and s was subtracted from that. So all times are negative,
    long jobs come before short ones, and nothing ever changes.
    """

    def __init__(self, order: Aging) -> None:
        self._order = order

    def key(self, job: WaitingJob, state: State) -> Any:
        return -self._order.priority(job.size, job.walltime, -1 - job.submitted)


class PublishedUnicep(Unicep):
    """UNICEP as it was published: for jobs for one host, the logarithm is all but 0, and not that of 2."""

    def priority(self, size: int, walltime: float, waited: float) -> float:
        return (waited + 1e-15) / (math.log2(size + 1e-15) * walltime)


ORDERS: dict[str, Callable[[], Order]] = {
    "FCFS": FCFS,
    "SJF": SJF,
    "SAF": SAF,
    "F1": F1,
    "F2": F2,
    "F3": F3,
    "F4": F4,
    "WFP3": lambda: Mistaken(WFP3()),
    "UNI": lambda: Mistaken(PublishedUnicep()),
    "WFP3_fixed": WFP3,
    "UNI_fixed": Unicep,
}


def published(order: Order, backfilling: bool) -> Policy:
    """A policy in the settings of the tables."""
    chosen: Backfilling | None = EASY(FCFS(), spare=False, strict=True, once=True) if backfilling else None
    return Policy(order, chosen, each=True, keeps=True, resolution=1)


class Row(NamedTuple):
    """A row of a table: a simulation and its mean bounded slowdown."""

    workload: str
    policy: str
    backfilling: bool
    value: float

    def __str__(self) -> str:
        return f"{self.policy}-{'backfilling' if self.backfilling else 'none'}"


def rows(folder: Path = TABLES) -> Iterator[Row]:
    """The rows of a table."""
    for line in (folder / "tables.jsonl").read_text().splitlines():
        row = json.loads(line)
        logs = ROOT / "examples" if folder == TABLES else folder / "logs"
        first = row["start"]
        part = f"jobs={first}-{first + row['jobs'] - 1}&larger=yes&runtime-limits=yes"
        yield Row(f"{logs / row['log']}.gz?{part}", row["policy"], row["backfilling"], row["mean_bounded_slowdown"])


class Job(NamedTuple):
    """A job as whoever wrote the tables sees it."""

    id: str
    submitted: float
    runtime: float
    size: int
    walltime: float


def jobs_of(workload: Workload) -> list[Job]:
    """The jobs of a log."""
    return [
        Job(each.id, each.time, workload.profiles[each.job.profile_id].profile.delay, each.job.resource_request,  # type: ignore[union-attr]
            each.job.walltime or math.inf)
        for each in workload
    ]  # fmt: skip


def starts_of(jobs: list[Job], size: int, key: Callable[[Job, float], Any], backfilling: bool) -> dict[str, float]:
    """When jobs start in the settings of the tables, by a simulator that has no Batsim in it."""
    now, free, arrived = 0.0, size, 0
    queue: list[Job] = []
    running: list[tuple[float, Job]] = []
    starts: dict[str, float] = {}

    def pass_on() -> None:
        nonlocal now, free, arrived
        running.sort(key=lambda each: each[0] + each[1].runtime)
        end = running[0][0] + running[0][1].runtime if running else math.inf
        if arrived < len(jobs) and jobs[arrived].submitted <= end:
            now = max(now, jobs[arrived].submitted)
            queue.append(jobs[arrived])
            arrived += 1
        else:
            now = max(now, end)
            free += running.pop(0)[1].size

    def start(job: Job) -> None:
        nonlocal free
        queue.remove(job)
        running.append((now, job))
        free -= job.size
        starts[job.id] = now

    while len(starts) < len(jobs):
        while not queue:
            pass_on()
        chosen = min(queue, key=lambda job: key(job, now))
        shadow, then = math.inf, free
        for began, job in sorted(running, key=lambda each: each[0] + each[1].walltime):
            if then >= chosen.size:
                break
            then += job.size
            shadow = began + job.walltime
        while chosen.size > free:
            for job in list(queue) if backfilling else ():
                if job is not chosen and job.size <= free and now + job.walltime < shadow:
                    start(job)
            pass_on()
        start(chosen)
    return starts


def workload_of(row: Row) -> Workload:
    """The jobs of a row."""
    return named_workload(row.workload)
