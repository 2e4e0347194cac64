"""Descriptions of workloads: numbers against numpy, and each property that looks wrong."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy
import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st

from batprotocol._util.distributions import Distribution
from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, ParallelTaskHomogeneousProfile
from batprotocol.simulator import (
    EXAMPLE_WORKLOAD,
    StaticJob,
    Workload,
    named_workload,
    offered_load,
    read_workload,
    with_recordings,
    workload_info,
)

WITHOUT_ENGINE = True

WEEK = 604_800.0
times = st.floats(0, 40 * WEEK) | st.integers(0, 40).map(lambda week: week * WEEK)
rows = st.tuples(
    times, st.integers(1, 9), st.floats(0.5, 1e5), st.none() | st.floats(0.5, 1e5), st.sampled_from(["a", "b", 3, None])
)


def workload_of(given: list[tuple[Any, ...]]) -> Workload:
    return Workload(
        [
            StaticJob(
                str(n), at, hosts, DelayProfile(runs), walltime, None if user is None else json.dumps({"user": user})
            )
            for n, (at, hosts, runs, walltime, user) in enumerate(given)
        ]
    )


def same(found: Distribution | None, values: list[float]) -> bool:
    if found is None:
        return not values
    expected = (numpy.mean(values), numpy.median(values), numpy.percentile(values, 95), max(values))
    return (found.mean, found.median, found.p95, found.max) == pytest.approx(expected, rel=1e-9)


@given(st.lists(rows, min_size=1, max_size=30), st.integers(1, 12))
def test_numbers_are_those_of_numpy(jobs: list[tuple[Any, ...]], hosts: int) -> None:
    workload = workload_of(jobs)
    info = workload_info(workload, hosts)
    jobs.sort(key=lambda job: job[0])
    at = [job[0] for job in jobs]
    work = [job[1] * min(job[2], job[3] or math.inf) for job in jobs]
    assert (info.jobs, info.hosts, info.begin, info.end) == (len(jobs), hosts, at[0], at[-1])
    assert same(info.sizes, [job[1] for job in jobs])
    assert same(info.runtimes, [job[2] for job in jobs])
    assert same(info.walltimes, [job[3] for job in jobs if job[3]])
    assert same(info.accuracy, [job[2] / job[3] for job in jobs if job[3]])
    assert same(info.gaps, numpy.diff(at).tolist())
    assert info.users == (len({job[4] for job in jobs} - {None}) or None)
    assert info.offered_load == (None if at[0] == at[-1] else pytest.approx(offered_load(workload, hosts)))
    # The weeks have all jobs and all work, and none is empty.
    assert sum(week.jobs for week in info.weeks) == len(jobs)
    assert all(week.jobs and 0 <= week.seconds <= WEEK for week in info.weeks)
    assert math.fsum(week.work for week in info.weeks) == pytest.approx(math.fsum(work))
    for week in info.weeks:
        if week.offered_load is not None:
            assert week.offered_load * week.seconds * hosts == pytest.approx(week.work)
    kinds = {remark.kind: remark for remark in info.remarks}
    larger = sum(job[1] > hosts for job in jobs)
    assert (kinds["too-large"].count if larger else 0) == larger
    assert ("too-large" in kinds) == bool(larger)
    assert ("no-walltime" in kinds) == any(job[3] is None for job in jobs)
    assert ("overloaded" in kinds) == (info.offered_load is not None and info.offered_load > 1)


def job(
    name: str, at: float, hosts: int = 1, runs: float = 10.0, walltime: float | None = 20.0, **data: Any
) -> StaticJob:
    return StaticJob(name, at, hosts, DelayProfile(runs), walltime, json.dumps(data) if data else None)


@pytest.mark.parametrize(
    ("jobs", "kind", "text", "names"),
    [
        ([job("a", 0, 8)], "too-large", "1 job larger than the machine of 4 hosts: policies reject them", ("a",)),
        ([job("a", 0, 0)], "no-hosts", "1 job without hosts: policies reject them", ("a",)),
        (
            [job("a", 0, runs=30.0)],
            "over-walltime",
            "1 job with a run time above the walltime, which ends them",
            ("a",),
        ),
        ([job("a", 0, walltime=None)], "no-walltime", "1 job without a walltime: policies", ()),
        ([job("a", 0), job("b", 2 * WEEK)], "long-gaps", "1 gap of two weeks or more without a submission", ("b",)),
        (
            [job("a", 5, recorded={"start": 3}), job("b", 6, recorded={"start": 3})],
            "negative-waits",
            "2 jobs with a recorded start before the submission",
            ("a", "b"),
        ),
        ([job(str(n), 0, user=1) for n in range(1000)], "equal-jobs", "1,000 jobs are equal: one time, user, size", ()),
        (
            [job("a", 0, user="x", runs=15.0), job("b", 5, user="y"), job("c", 100, user="y", runs=1.0)],
            "one-user",
            "the user 'x' has 57.7% of the work",
            (),
        ),
        ([job("a", 0, cores=1)], "parts-of-hosts", "1 job for parts of hosts: the offered load counts", ()),
        ([job("a", 0, 4, 15.0), job("b", 5)], "overloaded", "the offered load is above 1: nothing is steady", ()),
        (
            [job("a", 0, 4, 15.0), *(job(str(n), WEEK - 1, 4, 1e6, None) for n in range(2)), job("z", 9 * WEEK)],
            "overloaded-weeks",
            "the offered load is above 1 in 1 week",
            (),
        ),
    ],
)
def test_what_looks_wrong(jobs: list[StaticJob], kind: str, text: str, names: tuple[str, ...]) -> None:
    remark = next(each for each in workload_info(Workload(jobs), 4).remarks if each.kind == kind)
    assert remark.text.startswith(text)
    assert remark.jobs == names


def test_a_workload_without_faults_has_no_remarks() -> None:
    jobs = [job(str(n), 100.0 * n, user=n % 3, recorded={"start": 100.0 * n}) for n in range(30)]
    info = workload_info(Workload(jobs), 4)
    assert info.remarks == ()
    assert info.waits is not None
    assert info.waits.max == 0.0
    assert [share.name for share in info.heaviest] == ["0", "1", "2"]
    assert workload_info(Workload([job("a", 0.0, runs=20.0)])).exact_walltimes == 1


def test_odd_workloads() -> None:
    empty = workload_info(Workload())
    assert (empty.jobs, empty.begin, empty.weeks, empty.offered_load, empty.remarks) == (0, None, (), None, ())
    for hosts in (0, -1):
        with pytest.raises(InputError, match=f"expected a number of hosts > 0, got {hosts}"):
            workload_info(Workload(), hosts)
    odd = ["text", "[1]", '{"user": {"a": 1}, "recorded": 5}', '{"user": true, "recorded": {"start": "x"}}']
    jobs = [StaticJob(str(n), float(n), 1, DelayProfile(5.0), 9.0, text) for n, text in enumerate(odd)]
    assert workload_info(Workload(jobs)).users is None
    unknown = Workload([StaticJob("a", 0.0, 1, ParallelTaskHomogeneousProfile(1.0)), job("b", 9.0)])
    info = workload_info(unknown)
    assert (info.offered_load, info.unknown_runtimes) == (None, 1)
    assert [week.offered_load for week in info.weeks] == [None]


def test_the_command_prints_the_description(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text(
        "; MaxProcs: 4\n"
        "1 0 10 50 4 -1 -1 4 60 -1 1 1 1 -1 1 2 -1 -1\n"
        "2 5 -3 20 2 -1 -1 2 60 -1 1 2 1 -1 1 7 -1 -1\n"
        "3 900 0 -1 2 -1 -1 2 60 -1 1 2 1 -1 1 7 -1 -1\n"
        "4 905 0 9 2 -1 -1 2 60 -1 1 2 1 -1 1 7 -1 -1\n"
    )
    done = run_here("workload", "info", log)
    assert done.status == 0
    for words in (
        "3, and 1 left out",
        "recorded waiting time",
        "partition",
        "(2)",
        "1 job with a recorded start before",
    ):
        assert words in done.out
    found = json.loads(run_here("workload", "info", log, "--hosts", "2", "--json").out)
    assert (found["jobs"], found["hosts"], [share["name"] for share in found["partitions"]]) == (3, 2, ["2", "7"])
    assert found["offered_load"] == pytest.approx((200 + 40 + 18) / (2 * 905))
    assert "250" in run_here("workload", "info", EXAMPLE_WORKLOAD).out
    assert run_here("workload", "info", tmp_path / "none.json").status != 0
    assert workload_info(read_workload(log)).waits is None
    assert with_recordings(f"{log}?recorded=no&jobs=0-1") == f"{log}?recorded=no&jobs=0-1&partitions=yes"
    assert len(named_workload(with_recordings(f"{log}?jobs=0-1"))) == 2


def test_a_job_larger_than_the_header_is_told(tmp_path: Path) -> None:
    """A machine as large as the job is assumed, so utilisations and loads depend on it."""
    log = tmp_path / "log.swf"
    line = "{} {} 0 50 {} -1 -1 {} 60 -1 1 1 1 -1 1 2 -1 -1\n"
    log.write_text("; MaxProcs: 8\n" + line.format(1, 0, 4, 4) + line.format(2, 5, 20, 20))
    done = run_here("simulate", "easy", "-w", f"{log}?shift=yes")
    assert "its header declares 8 hosts, and its largest job requests 20: without a platform, the machine has 20" in (
        done.err
    )
    assert "of 20 hosts" in done.out
    workload = read_workload(log)
    assert (workload.declared, workload.named("w7").declared) == (8, 8)
    remarks = {remark.kind: remark.text for remark in workload_info(workload).remarks}
    assert remarks["declared-hosts"] == "the header declares 8 hosts, and loads are relative to 20"
    assert "declared-hosts" not in {remark.kind for remark in workload_info(workload, 8).remarks}
    log.write_text("; MaxProcs: 20\n" + line.format(1, 0, 4, 4) + line.format(2, 5, 20, 20))
    assert read_workload(log).declared is None
