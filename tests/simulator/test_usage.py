"""How much of a machine jobs use where they share hosts: by their cores, against a machine that counts each host."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.edc import Scheduler
from batprotocol.model import DelayProfile, JobSubmittedEvent
from batprotocol.model.hosts import parse_hosts
from batprotocol.policies import named
from batprotocol.results import read_allocations, write_allocations
from batprotocol.simulator import JobRow, Platform, Result, StaticJob, Workload, described_platform, measured, simulate
from batprotocol.workloads.requests import Allocated
from batprotocol.workloads.requests.usage import busy_hosts, share_hosts

WITHOUT_ENGINE = True

HOSTS = "n[0-2] cores=4 memory=8G; big cores=12 memory=64G"
CORES = (4, 4, 4, 12)

stays = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 6), st.sampled_from(["0", "0-2", "1 3-5", "2-6", "4 6", ""])),
    max_size=12,
).map(lambda drawn: [(float(start), float(start + lasts), hosts) for start, lasts, hosts in drawn])


@given(stays)
def test_a_host_with_several_jobs_is_busy_once(given: list[tuple[float, float, str]]) -> None:
    points = busy_hosts(given)
    assert [time for time, _ in points] == sorted({time for time, _ in points})
    level, shared = 0, False
    for second in range(20):
        level = next((busy for time, busy in reversed(points) if time <= second), level)
        here = [host for start, finish, hosts in given if start <= second < finish for host in parse_hosts(hosts)]
        assert level == len(set(here))
        shared = shared or len(set(here)) < len(here)
    assert share_hosts(given) == shared


def shared_workload(seed: int, count: int = 40) -> Workload:
    draw = random.Random(seed)
    jobs, now = [], 50.0
    for number in range(count):
        now += draw.choice([0.0, 5.0, 20.0])
        asks: dict[str, object] = draw.choice(
            [{"cores": 1}, {"cores": 3, "memory": "2G"}, {"cores": 10}, {"exclusive": True}, {"tasks": 6, "cores": 1}]
        )
        size = 1 if asks.get("cores") == 10 else draw.choice([1, 1, 2])
        profile = DelayProfile(float(draw.randint(10, 200)))
        jobs.append(StaticJob(f"{number}", now, size, profile, walltime=300.0, extra_data=json.dumps(asks)))
    return Workload(jobs)


def core_seconds(rows: list[JobRow], taken: dict[str, Allocated], begin: float, end: float) -> float:
    """The seconds of hosts, by their cores: the sum over the moments between two changes, host by host."""
    ran = [row for row in rows if row.starting_time is not None]
    edges = sorted({begin, end, *(t for row in ran for t in (row.starting_time, row.finish_time) if t is not None)})
    total = 0.0
    for since, until in itertools.pairwise(edges):
        middle = (since + until) / 2
        if not begin <= middle <= end:
            continue
        used = [0.0] * len(CORES)
        for row in ran:
            assert row.starting_time is not None
            assert row.finish_time is not None
            if row.starting_time <= middle < row.finish_time:
                each = taken[f"{row.workload_name}!{row.job_id}"]
                for host in parse_hosts(row.allocated_resources):
                    used[host] += 1.0 if each.whole else each.cores / CORES[host]
        assert max(used) <= 1 + 1e-9, "all jobs fit"
        total += sum(used) * (until - since)
    return total


def shared_run(seed: int) -> tuple[Result, dict[str, Allocated]]:
    policy = named("easy")()
    result = simulate(described_platform(HOSTS), shared_workload(seed), policy)
    result.allocations = policy.allocated
    return result, {each.job_id: each for each in policy.allocated}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(0.0, 0.0), (0.2, 0.3)]))
def test_the_use_of_shared_hosts_is_that_of_their_cores(seed: int, left_out: tuple[float, float]) -> None:
    result, taken = shared_run(seed)
    rows = list(result.jobs)
    ours = result.metrics(warm_up=left_out[0], cool_down=left_out[1])
    assert ours.counted == "cores"
    ran = [row for row in rows if row.starting_time is not None]
    first, last = min(row.submission_time for row in ran), max(row.finish_time or 0.0 for row in ran)
    if left_out[0]:
        span = max(row.submission_time for row in rows) - min(row.submission_time for row in rows)
        first, last = first + left_out[0] * span, first + (1 - left_out[1]) * span
    expected = core_seconds(rows, taken, first, last) / (4 * (last - first))
    assert ours.utilisation == pytest.approx(expected)
    assert ours.utilisation <= 1
    assert ours.utilisation + ours.loss_of_capacity <= 1 + 1e-9
    if not left_out[0]:
        assert result.utilisation == pytest.approx(expected)
        assert result.offered_load == pytest.approx(ours.offered_load)
        assert max(result.utilisation_over_time(50)) <= 1 + 1e-6
        assert sum(result.utilisation_over_time(50)) / 50 * last == pytest.approx(expected * (last - first), rel=1e-6)
    groups = result.grouped(
        "size", shared_workload(seed), result.allocations, warm_up=left_out[0], cool_down=left_out[1]
    )
    assert sum(each.utilisation for each in groups.values()) == pytest.approx(ours.utilisation)


def test_files_say_the_same_and_older_files_are_read(tmp_path: Path) -> None:
    result, taken = shared_run(3)
    path = tmp_path / "allocations.csv"
    write_allocations(path, taken.values())
    again = read_allocations(path)
    by_files = measured(result.jobs, 4, allocations=again)
    assert by_files.utilisation == pytest.approx(result.metrics().utilisation, rel=1e-9)
    older = "\n".join(line.rsplit(",", 1)[0] for line in path.read_text().splitlines())
    path.write_text(f"{older}\n")
    unknown = measured(result.jobs, 4, allocations=read_allocations(path))
    assert unknown.counted == "shared hosts"
    assert by_files.utilisation < unknown.utilisation <= 1


class AllOnOne(Scheduler):
    """Each job starts at once on host 0, whatever runs there."""

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.reply.add_execute_job(event.job_id, "0")


def test_a_scheduler_that_does_not_say_what_jobs_take(tmp_path: Path) -> None:
    workload = Workload([StaticJob(str(n), 10.0 * n, 1, DelayProfile(100.0)) for n in range(10)])
    for output in (None, f"{tmp_path}/"):
        result = simulate(Platform.homogeneous(2), workload, AllOnOne(), output=output)
        assert result.utilisation == pytest.approx(0.5, rel=1e-3)
        assert max(result.utilisation_over_time(20)) <= 0.5 + 1e-6
        ours = result.metrics()
        assert (ours.counted, ours.utilisation) == ("shared hosts", pytest.approx(0.5, rel=1e-3))
        assert (
            "note",
            "jobs share hosts, and their cores are not known: hosts with jobs count as a whole",
        ) in result.facts()


def test_the_time_before_the_first_job_does_not_count() -> None:
    workload = Workload([StaticJob("late", 900.0, 1, DelayProfile(100.0))])
    result = simulate(Platform.homogeneous(1), workload, named("fcfs")())
    assert result.utilisation == pytest.approx(result.metrics().utilisation) == pytest.approx(1.0, rel=1e-3)
