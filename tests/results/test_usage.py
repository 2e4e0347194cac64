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


RICH = "n[0-2] cores=4 memory=8G gres=gpu:a:2,fpga:1; g cores=12 memory=64G gres=gpu:b:4,gpu:a:2; n4 cores=4 memory=3G"
HAVE = {"memory": (8.0, 8.0, 8.0, 64.0, 3.0), "gpu": (2, 2, 2, 6, 0)}
"""The GiB of memory and the GPUs of each of these hosts."""


def rich_workload(seed: int) -> tuple[Workload, dict[str, tuple[bool, float, int]]]:
    """Jobs for parts of hosts; and whether each has its hosts for itself, its GiB and its GPUs on each of them."""
    draw = random.Random(seed)
    jobs, takes, now = [], {}, 0.0
    kinds: list[tuple[dict[str, object], tuple[bool, float, int]]] = [
        ({"cores": 1, "memory": "2G"}, (False, 2.0, 0)),
        ({"cores": 2, "gres": "gpu:1"}, (False, 0.0, 1)),
        ({"cores": 1, "memory": "512M", "gres": "gpu:a:2"}, (False, 0.5, 2)),
        ({"gres": "fpga:1", "memory": "3G"}, (False, 3.0, 0)),
        ({"exclusive": True, "memory": "1G"}, (True, 0.0, 0)),
        ({"tasks": 4, "cores": 1, "per": "task", "memory": "1G"}, (False, -1.0, 0)),
    ]
    for number in range(30):
        now += draw.choice([0.0, 5.0, 20.0]) if number else 0.0
        asks, (alone, memory, gpus) = draw.choice(kinds) if number else kinds[0]
        size = draw.choice([1, 1, 2])
        jobs.append(
            StaticJob(f"{number}", now, size, DelayProfile(float(draw.randint(10, 90))), 300.0, json.dumps(asks))
        )
        takes[f"{number}"] = alone, 4.0 / size if memory < 0 else memory, gpus
    return Workload(jobs), takes


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["easy", "conservative", "fcfs"]), st.booleans())
def test_the_use_of_memory_and_gpus_is_that_of_each_host(seed: int, policy: str, cut: bool) -> None:
    workload, takes = rich_workload(seed)
    scheduler = named(policy)()
    result = simulate(described_platform(RICH), workload, scheduler)
    result.allocations = scheduler.allocated
    ran = [row for row in result.jobs if row.starting_time is not None]
    first, last = min(row.submission_time for row in ran), max(row.finish_time or 0.0 for row in ran)
    metrics = result.metrics(warm_up=0.25 * cut, cool_down=0.25 * cut)
    if cut:
        times = [row.submission_time for row in result.jobs]
        first, last = (min(times) + share * (max(times) - min(times)) for share in (0.25, 0.75))
    edges = sorted({first, last, *(t for row in ran for t in (row.starting_time or 0.0, row.finish_time or 0.0))})
    for resource, have, ours in (
        ("memory", HAVE["memory"], metrics.memory_utilisation),
        ("gpu", HAVE["gpu"], metrics.gpu_utilisation),
    ):
        held = 0.0
        for since, until in itertools.pairwise(edge for edge in edges if first <= edge <= last):
            used = [0.0] * len(have)
            for row in ran:
                if (row.starting_time or 0.0) <= (since + until) / 2 < (row.finish_time or 0.0):
                    alone, memory, gpus = takes[row.job_id]
                    for host in parse_hosts(row.allocated_resources):
                        used[host] += have[host] if alone else memory if resource == "memory" else gpus
            assert all(map(lambda use, most: use <= most, used, have)), "no host gives more than it has"
            held += sum(used) * (until - since)
        assert ours == pytest.approx(held / (sum(have) * (last - first)), abs=1e-6)
        assert 0 <= ours <= 1
    if not cut:
        facts = dict(result.facts())
        assert facts["utilisation of memory"] == f"{metrics.memory_utilisation:.1%} of all hosts"
        assert facts["utilisation of GPUs"] == f"{metrics.gpu_utilisation:.1%} of all hosts"
        groups = result.grouped("size", workload, result.allocations)
        for name in ("memory_utilisation", "gpu_utilisation"):
            assert sum(getattr(each, name) for each in groups.values()) == pytest.approx(getattr(metrics, name))


def test_the_use_of_memory_is_unknown_where_nobody_says_it() -> None:
    """The policy gives whole hosts, or the hosts do not say how much memory they have."""
    jobs = [StaticJob(f"{n}", 0.0, 1, DelayProfile(9.0), extra_data='{"cores": 1, "memory": "1G"}') for n in range(4)]
    for hosts, policy in ((HOSTS, "fcfs"), ("n[0-3] cores=4", "easy")):
        scheduler = named(policy)()
        result = simulate(described_platform(hosts), Workload(jobs), scheduler)
        with_what = result.metrics()
        assert with_what.memory_utilisation is None
        assert with_what.gpu_utilisation is None
        assert "memory_utilisation" not in with_what.flat()
        result.allocations = scheduler.allocated
        known = result.metrics().memory_utilisation
        assert known is None if hosts != HOSTS else known == pytest.approx(4 / 88)


def test_a_full_machine_is_not_fuller() -> None:
    """A chain of jobs that each take all memory and all GPUs, at times that have more than six decimals."""
    asks = '{"cores": 1, "memory": "8G", "gres": "gpu:2"}'
    jobs = [StaticJob(f"{n}", 0.0, 1, DelayProfile(1 / 3), extra_data=asks) for n in range(50)]
    scheduler = named("fcfs")()
    result = simulate(described_platform("n cores=4 memory=8G gres=gpu:2"), Workload(jobs), scheduler)
    for share in (scheduler.allocated[0].memory_share, scheduler.allocated[0].gpu_share):
        assert share == 1.0
    result.allocations = scheduler.allocated
    metrics = result.metrics()
    assert metrics.memory_utilisation is not None
    assert 0.98 < metrics.memory_utilisation <= 1
    assert metrics.gpu_utilisation == metrics.memory_utilisation
    assert metrics.utilisation == pytest.approx(metrics.memory_utilisation / 4)


def test_files_say_the_same_and_older_files_are_read(tmp_path: Path) -> None:
    result, taken = shared_run(3)
    path = tmp_path / "allocations.csv"
    write_allocations(path, taken.values())
    again = read_allocations(path)
    by_files = measured(result.jobs, 4, allocations=again)
    assert by_files.utilisation == pytest.approx(result.metrics().utilisation, rel=1e-9)
    assert by_files.memory_utilisation == pytest.approx(result.metrics().memory_utilisation, rel=1e-9)
    old = path.read_text()
    path.write_text("\n".join(line.rsplit(",", 2)[0] for line in old.splitlines()) + "\n")
    of_cores = measured(result.jobs, 4, allocations=read_allocations(path))
    assert (of_cores.utilisation, of_cores.memory_utilisation) == (by_files.utilisation, None)
    older = "\n".join(line.rsplit(",", 3)[0] for line in old.splitlines())
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
