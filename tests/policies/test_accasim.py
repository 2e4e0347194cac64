"""Policies start jobs when accasim 1.1.3 does, a simulator that is not ours: `tools/accasim_starts.py` recorded it."""

from __future__ import annotations

import csv
import io
import lzma
import math
from collections.abc import Iterator
from functools import cache
from statistics import fmean

import pytest
from published import TABLES

from batprotocol.model import DelayProfile
from batprotocol.policies import EASY, FCFS, SJF, Backfilling, Order, Policy, Queue, State, WaitingJob
from batprotocol.simulator import StaticJob, Workload, platform_for, simulate

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow
ALL = 5000


@cache
def recorded() -> list[dict[str, str]]:
    table = lzma.decompress((TABLES / "accasim.csv.xz").read_bytes()).decode()
    return list(csv.DictReader(io.StringIO(table)))


def starts(policy: Policy, count: int) -> list[int]:
    """When the first jobs start. Those that come later matter to none that starts before they come."""
    jobs = [
        StaticJob(
            str(number),
            float(row["submitted"]),
            int(row["size"]),
            DelayProfile(float(row["runtime"])),
            float(row["walltime"]),
        )
        for number, row in enumerate(recorded()[:count])
    ]
    last = float(recorded()[count - 1]["submitted"])
    # accasim's EASY may wait for something to happen.
    jobs += [StaticJob(str(count + late), last + late * 1e8, 1, DelayProfile(1.0), 1.0) for late in (1, 2)]
    workload = Workload(jobs)
    workload.resource_count = 256
    result = simulate(platform_for([workload]), [workload], policy)
    assert result.nb_jobs_finished == len(jobs)
    return [round(row.starting_time) for row in sorted(result.jobs, key=lambda row: int(row.job_id))[:count]]


def starts_there(name: str, count: int) -> list[int]:
    return [int(row[name]) for row in recorded()[:count]]


class AsThere(EASY):
    """What accasim calls EASY backfilling.

    The first job has one reservation, and is not tried before that time, even if it fits. Meanwhile, whatever fits
    starts, for as long as it likes: no hosts are kept from those that would not have ended by then.
    """

    def begin(self, queue: Queue, state: State) -> None:
        super().begin(queue, state)
        self._time: float | None = None

    def starting(self, queue: Queue, state: State) -> Iterator[WaitingJob]:
        first = queue.first()
        if first and self._time is not None and self._time <= state.now and first.size <= state.room:
            self._time = None
            yield first
        if self._time is None:
            while (first := queue.first()) and first.size <= state.room:
                yield first
            if first:
                self._time = self.shadow(first, state).time
        for job in list(queue)[1:]:
            if job.size <= state.room:
                yield job


POLICIES: dict[str, tuple[type[Order], type[Backfilling] | None]] = {
    "fifo": (FCFS, None),
    "sjf": (SJF, None),
    "easy": (FCFS, AsThere),
}


def same(name: str, count: int) -> None:
    order, backfilling = POLICIES[name]
    # A reservation is made even where no host is free: that is what `keeps` is for.
    here = starts(Policy(order(), backfilling and backfilling(), resolution=1, keeps=backfilling is not None), count)
    there = starts_there(name, count)
    end = int(recorded()[count]["submitted"]) if count < ALL else math.inf
    compared = [number for number, start in enumerate(there) if start < end]
    assert len(compared) > count / 2
    assert [here[number] for number in compared] == [there[number] for number in compared]


@pytest.mark.parametrize("name", POLICIES)
def test_jobs_start_when_they_do_there(name: str) -> None:
    same(name, 800)


@pytest.mark.minutes
@pytest.mark.parametrize("name", POLICIES)
def test_each_job_starts_when_it_does_there(name: str) -> None:
    same(name, ALL)


@pytest.mark.minutes
def test_what_is_different_makes_the_widest_jobs_wait() -> None:
    rows = recorded()
    ours, theirs = starts(Policy(FCFS(), EASY(), resolution=1), ALL), starts_there("easy", ALL)
    widest = [number for number, row in enumerate(rows) if int(row["size"]) == 256]
    waited = [[each[number] - int(rows[number]["submitted"]) for number in widest] for each in (ours, theirs)]
    assert fmean(waited[0]) < 0.75 * fmean(waited[1])
    assert max(waited[0]) < 0.75 * max(waited[1])
