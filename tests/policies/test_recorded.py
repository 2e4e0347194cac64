"""The policy `recorded`: what any policy did, it does again, and it counts what cannot be done again."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
from commands import run_here
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.edc import run
from batprotocol.errors import SchedulerError
from batprotocol.model import DelayProfile, FinalJobState, parse_hosts
from batprotocol.policies import Conflict, Policy, PolicyNameError, named
from batprotocol.simulator import (
    JobRow,
    Platform,
    Result,
    StaticJob,
    Workload,
    connect,
    described_platform,
    named_workload,
    read_swf,
    simulate,
)

WITHOUT_ENGINE = True

MACHINE = described_platform("n[0-3] cores=4 memory=8G")


def job(
    name: str, at: float, hosts: int, runs: float, start: float | None, where: str | None = None, **asks: Any
) -> StaticJob:
    recorded = {"recorded": {"start": start, **({} if where is None else {"hosts": where})}}
    data = asks | (recorded if start is not None else {})
    return StaticJob(name, at, hosts, DelayProfile(runs), extra_data=json.dumps(data) if data else None)


def replayed(jobs: list[StaticJob], platform: Platform = MACHINE) -> tuple[dict[str, JobRow], tuple[Conflict, ...]]:
    policy = named("recorded")()
    result = simulate(platform, Workload(sorted(jobs, key=lambda each: each.submission_time), {}), policy)
    assert result.is_complete
    return {row.job_id: row for row in result.jobs}, policy.conflicts


def drawn(random: Random) -> list[StaticJob]:
    jobs = []
    for number in range(random.randint(1, 25)):
        asks = {"cores": random.randint(1, 4), "memory": f"{random.randint(1, 8)}G"} if random.random() < 0.6 else {}
        runs = float(random.randint(1, 20))
        data = json.dumps(asks) if asks else None
        at, size = float(random.randint(0, 30)), random.choice([1, 1, 2, 4])
        jobs.append(StaticJob(str(number), at, size, DelayProfile(runs), walltime=runs + 5, extra_data=data))
    return sorted(jobs, key=lambda each: (each.submission_time, int(each.id)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["easy", "conservative+spread", "greedy+pack", "fcfs"]), st.booleans())
def test_what_any_policy_did_is_done_again(seed: int, name: str, is_rounded: bool) -> None:
    """The oracle is the other policy: the same starts on the same hosts, also where the log has whole seconds only."""
    jobs = drawn(Random(seed))
    before = {row.job_id: row for row in simulate(MACHINE, Workload(jobs, {}), named(name)()).jobs}
    again = []
    for each in jobs:
        row = before[each.id]
        assert row.starting_time is not None
        start = float(round(row.starting_time)) if is_rounded else row.starting_time
        data = json.loads(each.extra_data or "{}") | {"recorded": {"start": start, "hosts": row.allocated_resources}}
        again.append(
            StaticJob(
                each.id,
                each.submission_time,
                row.requested_number_of_resources,
                each.profile,
                extra_data=json.dumps(data),
            )
        )
    rows, conflicts = replayed(again)
    for name, row in rows.items():
        assert row.allocated_resources == before[name].allocated_resources
        assert row.starting_time == pytest.approx(before[name].starting_time, abs=2e-3)
    assert [each for each in conflicts if each.delay > 2e-3] == []


def test_a_job_whose_hosts_are_busy_starts_as_soon_as_they_are_free() -> None:
    rows, conflicts = replayed(
        [
            job("a", 0, 4, 50, 10, "0-3"),
            job("b", 0, 2, 50, 58, "2-3"),  # the log overlaps itself by two seconds
            job("c", 0, 1, 500, 59, "3"),  # it must not take a host of b meanwhile
            job("d", 0, 1, 5, 60.5, "0"),
        ]
    )
    assert {name: round(row.starting_time or 0, 2) for name, row in rows.items()} == {
        "a": 10,
        "b": 60,
        "c": 110,
        "d": 60.5,
    }
    assert [(each.job_id, round(each.delay, 2), each.reason) for each in conflicts] == [
        ("w0!b", 2.0, "its hosts were busy"),
        ("w0!c", 51.0, "its hosts were busy"),
    ]


@pytest.mark.parametrize(
    ("each", "reason"),
    [
        (job("x", 0, 1, 5, 7, "9"), "its hosts are not on the platform"),
        (job("x", 0, 1, 5, 7, f"0-{2**63}"), "it asks for another number of hosts"),
        (job("x", 9, 1, 5, 7, "0"), "it was submitted after its recorded start"),
        (job("x", 0, 1, 5, 7, "0", cores=6), "its hosts have less than it asks for"),
    ],
)
def test_conflicts_have_reasons(each: StaticJob, reason: str) -> None:
    rows, (conflict,) = replayed([each], described_platform("n0 cores=4; n1 cores=8"))
    assert (conflict.recorded, conflict.reason) == (7.0, reason)
    assert rows["x"].starting_time == pytest.approx(max(7.0, each.submission_time), abs=1e-3)
    assert rows["x"].final_state == FinalJobState.COMPLETED_SUCCESSFULLY


def test_hosts_that_the_log_does_not_have_are_the_lowest_free_ones() -> None:
    rows, conflicts = replayed(
        [
            job("a", 0, 1, 50, 10, "1"),
            job("b", 0, 2, 50, 20),
            job("c", 0, 1, 9, 30, cores=2),
            job("d", 0, 1, 9, 30, cores=2),
        ]
    )
    assert [rows[name].allocated_resources for name in "abcd"] == ["1", "0 2", "3", "3"]
    assert conflicts == ()


def test_the_amounts_of_jobs_that_share_hosts_are_kept() -> None:
    plain, shared = named("recorded")(), named("recorded")()
    simulate(MACHINE, Workload([job("a", 0, 2, 5, 1)], {}), plain)
    simulate(MACHINE, Workload([job("a", 0, 2, 5, 1), job("b", 0, 1, 5, 2, cores=2, partition="p")], {}), shared)
    assert plain.allocated == ()
    assert [(each.job_id, each.hosts, each.cores, each.whole, each.partition) for each in shared.allocated] == [
        ("w0!a", "0-1", 0, True, ""),
        ("w0!b", "2", 2, False, "p"),
    ]


def test_jobs_without_a_recording_do_not_disturb_those_with_one() -> None:
    jobs = [job("big", 0, 4, 5, None), *(job(str(number), 0, 3, 10, 10.0 * number, "0-2") for number in range(4))]
    rows, conflicts = replayed([*jobs, job("small", 0, 1, 3, None)])
    assert [round(rows[str(number)].starting_time or 0) for number in range(4)] == [0, 10, 20, 30]
    assert (round(rows["big"].starting_time or 0), round(rows["small"].starting_time or 0)) == (40, 45)
    assert conflicts == ()


def test_what_can_never_run_is_rejected(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "batprotocol.policies"):
        rows, _ = replayed(
            [
                job("large", 0, 9, 5, 7, "0-8"),
                job("wide", 0, 1, 5, 7, cores=9),
                job("gpu", 0, 1, 5, 7, gres={"gpu": 1}),
                StaticJob("odd", 0.0, 1, DelayProfile(5.0), extra_data='{"recorded": 5}'),
            ]
        )
    assert {row.final_state for row in rows.values()} == {FinalJobState.REJECTED}
    for words in ("can have 1 to 4", "0 have 9 cores", "no host has gpu:1", "expected an object such as"):
        assert words in caplog.text


def test_a_log_without_recordings_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "batprotocol.policies"):
        replayed([job("a", 0, 1, 5, None)])
    assert "no job has a recorded start" in caplog.text


def test_it_stands_alone() -> None:
    assert Policy(replays=True).conflicts == ()
    assert named("recorded+resolution=1")().resolution == 1.0
    for name in ("recorded+easy", "sjf+recorded", "recorded+each", "first+recorded"):
        with pytest.raises(PolicyNameError, match="the log decides all that"):
            named(name)
    assert issubclass(PolicyNameError, SchedulerError)


SWF = """; MaxProcs: 4
1 0 10 50 4 -1 -1 4 60 -1 1 1 1 -1 1 2 -1 -1
2 5 55 20 2 -1 -1 2 60 -1 1 2 1 -1 1 -1 -1 -1
3 9 -1 20 2 -1 -1 2 60 -1 1 2 1 -1 1 1 -1 -1
"""


def test_logs_have_recordings(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(SWF)
    plain, full = read_swf(path), read_swf(path, recorded=True, partitions=True)
    assert plain[0].job.extra_data == '{"user":1,"group":1}'
    assert [each.job.extra_data for each in full] == [
        '{"user":1,"group":1,"partition":"2","recorded":{"start":10.0}}',
        '{"user":2,"group":1,"recorded":{"start":60.0}}',
        '{"user":2,"group":1,"partition":"1"}',
    ]
    assert list(read_swf(path, recorded=True, lazy=True)) == list(read_swf(path, recorded=True))
    later = named_workload(f"{path}?recorded=yes&jobs=1-2&shift=yes&arrival-factor=2")
    assert (later[0].time, later[0].job.extra_data) == (
        0.0,
        '{"user":2,"group":1,"recorded":{"start":55.0}}',
    )
    printed = run_here("simulate", "recorded", "-w", f"{path}?recorded=yes").out
    assert "3 succeeded" in printed


def test_over_a_socket_it_decides_as_in_process() -> None:
    jobs = [
        job(str(n), float(n), 1 + n % 2, 9.0, 5.0 * n, None if n % 3 else f"{n % 3}-{n % 3 + n % 2}") for n in range(12)
    ]
    endpoint: list[str] = []
    bound = threading.Event()

    def ready(at: str) -> None:
        endpoint.append(at)
        bound.set()

    served = threading.Thread(target=lambda: run(named("recorded")(), "tcp://127.0.0.1:*", on_bound=ready))
    served.start()
    bound.wait()
    with connect(endpoint[0]) as component:
        result = simulate(MACHINE, Workload(jobs, {}), component)
    served.join()

    def schedule(of: Result) -> list[object]:
        return [(row.job_id, row.starting_time, row.allocated_resources) for row in of.jobs]

    assert schedule(result) == schedule(simulate(MACHINE, Workload(jobs, {}), named("recorded")()))
    assert all(parse_hosts(row.allocated_resources) for row in result.jobs)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_cores_that_fill_hosts_are_taken_so_again(seed: int) -> None:
    """The oracle fills hosts as Slurm does, in times that go by in whole seconds, and knows nothing of policies."""
    random = Random(seed)
    free, running, jobs = [4] * 4, [], []
    for now in range(40):
        for end, cores in [each for each in running if each[0] == now]:
            running.remove((end, cores))
            free = [have + more for have, more in zip(free, cores, strict=True)]
        hosts = sorted(random.sample(range(4), random.choice([1, 2, 2, 3])))
        room = sum(free[host] for host in hosts)
        if min(free[host] for host in hosts) == 0:
            continue
        total = random.randint(len(hosts), room)
        cores, rest = [0] * 4, total
        for host in hosts:
            cores[host], rest = 1, rest - 1
        for host in hosts:
            more = min(rest, free[host] - 1)
            cores[host], rest = cores[host] + more, rest - more
        free = [have - less for have, less in zip(free, cores, strict=True)]
        runs = random.randint(1, 15)
        running.append((now + runs, cores))
        where = " ".join(map(str, hosts))
        share = -(-total // len(hosts))
        data = {"cores": share, "memory": "1M", "recorded": {"start": now, "hosts": where, "cores": total}}
        text = json.dumps(data)
        jobs.append(StaticJob(str(now), max(now - 3, 0), len(hosts), DelayProfile(runs - 0.001), extra_data=text))
    rows, conflicts = replayed(jobs)
    assert conflicts == ()
    assert all(rows[name].starting_time == pytest.approx(float(name), abs=0.001) for name in rows)
