"""The numbers of runs: those that were counted when they were recorded, and Batsim's own."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from statistics import fmean, median

import pytest
from changes import Run, loaded
from recorded import all_runs, jobs_csv, some_of
from sites import shared_run
from support import files_of

from batprotocol.model import Direction
from batprotocol.model.hosts import parse_hosts
from batprotocol.recordings import Capture, Entry
from batprotocol.recordings.statistics import jobs_of, statistics_of

pytestmark = pytest.mark.once
LATENCY = 0.01
B2E, E2B = Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM


@pytest.mark.parametrize("path", some_of(all_runs(), 7))
def test_what_was_counted_is_what_was_recorded(path: Path) -> None:
    told = json.loads(files_of(path)["run.json"])
    with Capture(path) as run:
        found = statistics_of(run)
    assert found.batsim.messages + found.edc.messages == told["messages"]
    assert found.batsim.bytes + found.edc.bytes == told["bytes"]
    assert dict(found.batsim.events) == told["b2e"]
    assert dict(found.edc.events) == told["e2b"]
    assert found.unreadable == len(told["unreadable"])
    assert (found.seconds, found.batsim.seconds, found.edc.longest) == (None, None, ())
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["hosts"] == found.hosts
    rows = [row for row in (jobs_csv(path) or {}).values() if row["starting_time"]]
    if rows:
        waits = [float(row["waiting_time"]) for row in rows]
        assert found.jobs.waiting.mean == pytest.approx(fmean(waits), abs=LATENCY)
        assert found.jobs.waiting.max == pytest.approx(max(waits), abs=LATENCY)
        assert found.jobs.running.median == pytest.approx(
            median(float(row["execution_time"]) for row in rows), abs=LATENCY
        )
        assert sum(found.jobs.ended.values()) == len(jobs_csv(path) or {})


def with_walls(run: Run, *seconds: float) -> Run:
    wall, found = 0.0, []
    for entry, more in zip(run, seconds, strict=False):
        wall += more
        found.append(Entry(entry.number, entry.direction, entry.data, round(wall * 1e9)))
    return found


def test_turns_are_from_the_message_of_the_other_side_on() -> None:
    run = loaded(next(path for path in all_runs() if "fuzz__random-cluster" in path.name))
    found = statistics_of(with_walls(run, 1.0, 0.5, 0.25, 0.001, 0.25, 0.003, 0.5, 0.002))
    assert found.seconds == pytest.approx(1.506)
    assert found.edc.seconds is not None
    assert found.edc.seconds.max == pytest.approx(0.5)
    assert found.edc.seconds.mean == pytest.approx((0.5 + 0.001 + 0.003 + 0.002) / 4)
    assert [each.number for each in found.edc.longest] == [1, 5, 7, 3]
    assert found.batsim.seconds is not None
    assert found.batsim.seconds.median == pytest.approx(0.25)
    assert [each.number for each in found.batsim.longest] == [6, 2, 4]
    assert found.batsim.longest[0].time == run[6].time


def test_utilisation_is_the_share_of_the_hosts_that_jobs_had() -> None:
    path = next(path for path in all_runs() if "fuzz__random-bare" in path.name)
    rows = [row for row in (jobs_csv(path) or {}).values() if row["starting_time"]]
    with Capture(path) as run:
        found = statistics_of(run)
    area = 0.0  # its jobs share hosts: each host counts once
    moments = [(float(row["starting_time"]), float(row["finish_time"]), row["allocated_resources"]) for row in rows]
    for since, until in itertools.pairwise(sorted({time for row in moments for time in row[:2]})):
        here = {host for start, end, taken in moments if start <= since < end for host in parse_hosts(taken)}
        area += len(here) * (until - since)
    first = min(float(row["submission_time"]) for row in rows)
    last = max(float(row["finish_time"]) for row in rows)
    assert found.hosts
    assert found.jobs.utilisation == pytest.approx(area / (found.hosts * (last - first)), rel=1e-3)
    waited = [job.waited for job in found.jobs.longest_waiting]
    assert waited == sorted(waited, key=lambda each: -(each or 0.0))
    assert waited[0] == found.jobs.waiting.max


def hosts(text: str) -> int:
    intervals = [part.split("-") for part in text.split()]
    return sum(int(part[-1]) - int(part[0]) + 1 for part in intervals)


def test_nothing_has_no_numbers() -> None:
    found = statistics_of([])
    assert (found.batsim.messages, found.jobs.count, found.jobs.utilisation, found.simulated) == (0, 0, None, 0.0)
    assert math.isnan(found.edc.sizes.mean)
    assert found.to_json()["edc"]["sizes"]["mean"] is None


def test_hosts_that_several_jobs_have_count_once() -> None:
    found = statistics_of(shared_run()).jobs
    assert found.shares_hosts
    assert found.utilisation is not None
    messages = [(each.direction, each.message) for each in shared_run() if each.message is not None]
    rows = [job for job in jobs_of(messages) if job.started is not None and job.finished is not None]
    used, last = 0.0, max(job.finished or 0.0 for job in rows)
    edges = sorted({time for job in rows for time in (job.started, job.finished) if time is not None})
    for since, until in itertools.pairwise(edges):
        here = {
            host
            for job in rows
            if (job.started or 0.0) <= since < (job.finished or 0.0)
            for host in parse_hosts(job.hosts)
        }
        used += len(here) * (until - since)
    first = min(job.submitted or 0.0 for job in rows)
    assert found.utilisation == pytest.approx(used / (5 * (last - first)))
    assert found.utilisation <= 1
