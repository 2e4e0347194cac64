"""Heterogeneous jobs under the policy `slurm`: their components start together, as those of a real Slurm 22.05 do."""

from __future__ import annotations

import json
import logging
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile, FinalJobState
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.policies.slurm.cluster import ClusterPartition
from batprotocol.policies.slurm.queue import HetJob, SlurmJob
from batprotocol.policies.slurm.scheduler import Started
from batprotocol.policies.slurm.selection import HetStarts
from batprotocol.simulator import ExternalEventList, JobRow, StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.accounting import accounting_of
from batprotocol.sites.slurm.configuration import configuration_of

WITHOUT_ENGINE = True

CONF = """
SchedulerParameters=bf_interval=10,bf_resolution=10
NodeName=n[0-3] CPUs=2
PartitionName=p Nodes=ALL Default=YES
PartitionName=q Nodes=n[0-1]
{more}
"""
DUMP = """Cluster - 'c':Fairshare=1:QOS='normal'
Parent - 'root'
Account - 'a':Fairshare=1
Parent - 'a'
User - 'u':DefaultAccount='a':Fairshare=1
"""


def job(id: str, at: float, size: int, runs: float, limit: float = 600.0, **data: Any) -> StaticJob:
    """A job; the id of a component is `a+0/2`, with the number of components."""
    own, slash, _ = id.partition("/")
    slurm = ({"hetjob": id} if slash else {}) | data.pop("slurm", {})
    return StaticJob(own, at, size, DelayProfile(runs), limit, json.dumps({"slurm": slurm, **data}))


def het(id: str, at: float, *sizes: int, runs: float = 20.0, **data: Any) -> list[StaticJob]:
    """A heterogeneous job with components of these sizes."""
    whole = len(sizes)
    return [job(f"{id}+{offset}/{whole}", at, size, runs, **data) for offset, size in enumerate(sizes)]


def played(
    jobs: list[StaticJob], *commands: tuple[float, str], more: str = "", qos: str = ""
) -> tuple[dict[str, list[Started]], dict[str, JobRow]]:
    """The starts of each job, and its row."""
    accounting = accounting_of([("dump.cfg", DUMP), ("qos", qos)] if qos else [])
    scheduler = SlurmScheduler(configuration_of(CONF.format(more=more)), accounting=accounting)
    texts = [(time, json.dumps({"slurm": text})) for time, text in commands]
    events = [ExternalEventList.of(texts, corrected=True)] if texts else []
    result = simulate(described_platform("n[0-3] cores=2"), Workload(jobs), scheduler, external_events=events)
    starts: dict[str, list[Started]] = {}
    for each in scheduler.starts:
        starts.setdefault(each.job_id.rpartition("!")[2], []).append(each)
    return starts, {row.job_id: row for row in result.jobs}


def started(jobs: list[StaticJob], *commands: tuple[float, str], more: str = "") -> dict[str, int]:
    """When each job started last, in whole seconds."""
    return {job: int(each[-1].time) for job, each in played(jobs, *commands, more=more)[0].items()}


def test_components_start_together_by_backfill_on_nodes_of_their_own() -> None:
    starts, _ = played([*het("1", 1, 1, 2), job("3", 2, 1, 5)])
    assert {each.by for found in starts.values() for each in found} == {"backfill"}  # the first loop stops at them
    (first,), (second,), (other,) = starts["1+0"], starts["1+1"], starts["3"]
    assert first.time == second.time == other.time
    assert (first.nodes, second.nodes, other.nodes) == ((0,), (1, 2), (3,))


def test_no_component_starts_while_another_one_lacks_nodes() -> None:
    """As in Slurm, backfill plans the first component for now, so that the jobs behind it do not get its nodes."""
    jobs = [job("1", 1, 1, 100), *het("2", 5, 2, 2), job("4", 6, 1, 20, 60), job("5", 7, 1, 20, 60)]
    found = started(jobs)
    assert found["1"] < 5
    assert found["2+0"] == found["2+1"] > 100
    assert found["4"] < 20
    assert found["5"] > 30


def test_a_start_that_fails_is_taken_back() -> None:
    """The first component gets the node that is planned for a job before it, and which the second one needs."""
    nodes = "\n".join(f"NodeName=n{node} CPUs=2{' Feature=f' if node == 1 else ''}" for node in range(4))
    loops = "SchedulerParameters=bf_interval=10,bf_resolution=10"
    conf = configuration_of(f"{loops}\n{nodes}\nPartitionName=p Nodes=ALL Default=YES")
    jobs = [
        *(job(str(node), 1, 1, 100, 120, slurm={"nodelist": f"n{node}"}) for node in (0, 2)),
        job("6", 4, 2, 20, 120, slurm={"nodelist": "n[1-2]"}),
        job("8+0/2", 5, 1, 20, 300),
        job("8+1/2", 5, 1, 20, 60, constraint="f"),
    ]
    scheduler = SlurmScheduler(conf)
    result = simulate(described_platform("n[0-3] cores=2"), Workload(jobs), scheduler)
    lives = [each for each in scheduler.starts if each.job_id == "w0!8+0"]
    assert [each.nodes for each in lives] == [(1,), (0,)]
    assert 121 <= lives[1].time - lives[0].time < 145
    assert [each.time for each in scheduler.starts if each.job_id == "w0!8+1"] == [lives[1].time]
    assert [row.execution_time for row in result.jobs if row.job_id == "8+0"] == [0.0]


def test_the_least_limit_is_that_of_all() -> None:
    jobs = [job(f"1+{offset}/2", 1, 1, 300, slurm={"time_min": 60 + 60 * offset}) for offset in range(2)]
    starts, _ = played([*jobs, job("5", 2, 4, 10)])
    assert starts["1+0"][0].time + 60 <= starts["5"][0].time < starts["1+0"][0].time + 110


def test_the_first_loop_stops_at_a_component() -> None:
    """Both jobs could start at once, and without the heterogeneous one they do so before the first run of backfill."""
    jobs = [job("1", 1, 3, 100), job("4", 3, 1, 20)]
    assert started(jobs)["4"] < 8
    starts, _ = played([jobs[0], *het("2", 2, 1, 1), jobs[1]])
    assert starts["4"][0].by == "backfill"


def test_the_end_of_the_leader_ends_the_others() -> None:
    jobs = [job("1+0/2", 1, 1, 30), job("1+1/2", 1, 1, 500), job("3", 2, 4, 10)]
    starts, rows = played(jobs)
    begin = starts["1+0"][0].time
    assert begin + 30 <= starts["3"][0].time < begin + 40
    assert rows["1+1"].final_state is FinalJobState.COMPLETED_KILLED


def test_a_component_has_its_nodes_until_the_leader_ends() -> None:
    jobs = [job("1+0/2", 1, 1, 90), job("1+1/2", 1, 1, 10), job("3", 2, 3, 10)]
    starts, rows = played(jobs)
    assert starts["3"][0].time >= starts["1+0"][0].time + 90
    assert rows["1+1"].final_state is FinalJobState.COMPLETED_SUCCESSFULLY


def test_the_limit_of_a_component_ends_it_alone() -> None:
    jobs = [job("1+0/2", 1, 1, 200), job("1+1/2", 1, 1, 200, 60), job("3", 2, 3, 10)]
    starts, rows = played(jobs)
    begin = starts["1+0"][0].time
    assert begin + 60 <= starts["3"][0].time < begin + 100
    assert rows["1+0"].final_state is FinalJobState.COMPLETED_SUCCESSFULLY


def test_the_limit_of_the_leader_ends_all() -> None:
    jobs = [job("1+0/2", 1, 1, 500, 60), job("1+1/2", 1, 1, 500), job("3", 2, 4, 10)]
    starts, _ = played(jobs)
    assert starts["3"][0].time < starts["1+0"][0].time + 100


NUMBERS = {"leader": "1", "component": "2"}


@pytest.mark.parametrize("name", NUMBERS)
def test_other_jobs_wait_for_the_number_of_a_component(name: str) -> None:
    """That of the leader is the number of the whole. A component can end earlier, where it is cancelled."""
    dependent = job("9", 2, 1, 5, dependency=f"afterany:{NUMBERS[name]}")
    found, _ = played([*het("1", 1, 1, 1, runs=100), dependent], (30.0, "scancel 1+1"))
    assert (30 <= found["9"][0].time < 100) == (name == "component")


BLOCKED = [job("0", 1, 4, 60), *het("1", 2, 1, 1), job("5", 3, 1, 10)]


@pytest.mark.parametrize("name", ["1+1", "2"])
def test_a_component_that_waits_is_not_cancelled_alone(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = started(BLOCKED, (10.0, f"scancel {name}"))
    assert "1+1 is a component of a heterogeneous job, which is cancelled as a whole" in caplog.text
    assert found["1+0"] == found["1+1"]


@pytest.mark.parametrize("name", ["1", "1+0", "1+0,1+1", "-p p --state=PENDING"])
def test_a_heterogeneous_job_that_waits_is_cancelled_as_a_whole(name: str) -> None:
    starts, rows = played(BLOCKED, (10.0, f"scancel {name}"))
    assert not {"1+0", "1+1"} & {*starts}
    assert {rows[each].final_state for each in ("1+0", "1+1")} == {FinalJobState.REJECTED}


def test_a_running_leader_is_cancelled_with_the_others_and_a_component_alone() -> None:
    jobs = [*het("1", 1, 1, 1, runs=100), job("5", 2, 4, 10)]
    assert started(jobs, (30.0, "scancel 1+1"))["5"] > 100
    assert started(jobs, (30.0, "scancel 1"))["5"] < 60


HELD = {
    "all": ("hold 1", "release 1", 61),
    "a component": ("hold 1+1", "release 1+1", 61),
    "a component, and all are released": ("hold 2", "release 1", 61),
    "a component, and another one is released": ("hold 2", "release 1+0", 1000),
}


@pytest.mark.parametrize("name", HELD)
def test_a_held_component_keeps_the_others_waiting(name: str) -> None:
    hold, release, after = HELD[name]
    commands = [(5.0, f"scontrol {hold}"), (200.0, f"scontrol {release}"), (1000.0, "scontrol release 1")]
    found = started([*BLOCKED, job("8", 1100, 1, 5)], *commands)
    assert max(200, after) <= found["1+0"] == found["1+1"] < max(200, after) + 60
    assert found["5"] < 100


def test_a_component_that_is_submitted_held_holds_all() -> None:
    jobs = [job("1+0/2", 1, 1, 20), job("1+1/2", 1, 1, 20, slurm={"hold": True}), job("5", 2, 1, 10)]
    found = started(jobs, (100.0, "scontrol release 1"))
    assert found["5"] < 20
    assert found["1+0"] == found["1+1"] >= 100


def test_a_value_of_the_leader_by_its_offset_is_its_own(caplog: pytest.LogCaptureFixture) -> None:
    """`7+0` is the leader alone, and `7` stands for all components."""
    jobs = [job("0", 1, 4, 60), *het("1", 2, 1, 1, runs=300), job("5", 3, 4, 10)]
    assert started(jobs, (5.0, "scontrol update JobId=1 TimeLimit=1"))["5"] < 170
    assert started(jobs, (5.0, "scontrol update JobId=1+0 TimeLimit=1"))["5"] < 170  # it ends the other one
    assert started(jobs, (5.0, "scontrol update JobId=1+1 TimeLimit=1"))["5"] > 300


def test_a_whole_runs_again_and_a_component_does_not(caplog: pytest.LogCaptureFixture) -> None:
    starts, _ = played(het("1", 1, 1, 1, runs=50), (30.0, "scontrol requeue 1"), (32.0, "scontrol requeue 1+1"))
    assert [len(starts[each]) for each in ("1+0", "1+1")] == [2, 2]
    assert starts["1+0"][1].time == starts["1+1"][1].time >= 151
    assert "1+1 is a component of a heterogeneous job, which runs again as a whole" in caplog.text


FAILURES = {
    "the node of a component": ({"nodelist": "n3"}, {}, 2),
    "the node of the leader": ({}, {"nodelist": "n3"}, 1),
    "a node of a job that may not run again": ({"nodelist": "n3"}, {"requeue": False}, 1),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_node_fails(name: str) -> None:
    """With the node of the leader alone, the others end, so that Slurm 22.05 never starts it again."""
    other, leader, lives = FAILURES[name]
    jobs = []
    for id, data in (("1+0/2", leader), ("1+1/2", other)):
        nodes = {key: value for key, value in data.items() if key == "nodelist"}
        more = {} if leader.get("requeue", True) else {"requeue": False}
        jobs.append(job(id, 1, 1, 50, slurm=nodes, **more))
    starts, rows = played(
        jobs, (30.0, "scontrol update NodeName=n3 State=DOWN"), (60.0, "scontrol update NodeName=n3 State=RESUME")
    )
    assert [len(starts[each]) for each in ("1+0", "1+1")] == [lives, lives]
    assert all(row.final_state is not None for row in rows.values())


def test_limits_count_all_components() -> None:
    """A limit of two jobs keeps three components waiting, although each one would be within it."""
    qos = "Name|GrpJobs\nnormal|2"
    user = {"user": "u"}
    more = "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=limits"
    assert {*played(het("1", 1, 1, 1, **user), more=more, qos=qos)[0]} == {"1+0", "1+1"}
    assert {*played([*het("1", 1, 1, 1, 1, **user), job("5", 2, 1, 5, **user)], more=more, qos=qos)[0]} == {"5"}


REFUSED = {
    "no component": ([job("1+0/2", 1, 1, 5, slurm={"hetjob": "1"})], "expected a component such as 17+0/2, got '1'"),
    "one of one": ([job("1+0/1", 1, 1, 5)], "expected a component such as 17+0/2"),
    "an offset that is too large": ([job("1+2/2", 1, 1, 5)], "expected a component such as 17+0/2"),
    "too many": ([job("1+0/129", 1, 1, 5)], "expected a component such as 17+0/2"),
    "another number of components": ([*het("1", 1, 1, 1), job("1+2/3", 2, 1, 5)], "expected a component of 2"),
    "too few": ([job("1+0/2", 1, 1, 5)], "only 1 of the 2 components of the heterogeneous job 1 were submitted"),
    "one that never fits": (het("1", 1, 1, 5), "another component of the heterogeneous job 1 was refused"),
    "one that never fits, before": (het("1", 1, 5, 1), "another component of the heterogeneous job 1 was refused"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_no_component_runs_if_one_is_refused(name: str, caplog: pytest.LogCaptureFixture) -> None:
    jobs, why = REFUSED[name]
    with caplog.at_level(logging.INFO):
        starts, rows = played([*jobs, job("9", 50, 1, 5)])
    assert {*starts} == {"9"}
    assert why in caplog.text
    assert all(row.final_state is FinalJobState.REJECTED for id, row in rows.items() if id != "9")


def test_the_first_loop_alone_refuses_them(caplog: pytest.LogCaptureFixture) -> None:
    starts, _ = played([*het("1", 1, 1, 1), job("5", 2, 1, 5)], more="SchedulerType=sched/builtin")
    assert {*starts} == {"5"}
    assert "heterogeneous jobs need SchedulerType=sched/backfill" in caplog.text


def components(*ids: str) -> list[list[SlurmJob]]:
    """Heterogeneous jobs of two components, which wait."""
    found = []
    for number, id in enumerate(ids):
        whole = HetJob(id, 2)
        for offset in range(2):
            made = SlurmJob(f"{id}+{offset}", 2 * number + offset, 0.0, (), 10)
            made.het, made.offset = whole, offset
            whole.components[offset] = made
        found.append(whole.jobs())
    return found


P, Q = ClusterPartition("p", 0b11), ClusterPartition("q", 0b11)


def test_the_earliest_start_of_a_component_counts_and_the_latest_of_all() -> None:
    ((first, second),) = components("a")
    starts = HetStarts()
    assert starts.look(first, P) == 0
    assert starts.look(second, P) == float("inf")  # the first one cannot start
    starts.note(first, P, 300)
    starts.note(first, Q, 200)
    starts.note(first, P, 250)
    assert starts.look(second, P) == 200
    starts.note(second, P, 100)
    assert [*starts.ready(199)] == []
    assert [*starts.ready(200)] == [[(first, Q), (second, P)]]
    second.is_held = True
    assert [*starts.ready(200)] == []


def test_jobs_that_would_wait_for_each_other_are_not_both_planned() -> None:
    (first, second), (third, fourth) = components("a", "b")
    starts = HetStarts()
    assert not starts.blocks(first, P, 100)
    assert not starts.blocks(third, P, 200)
    assert not starts.blocks(fourth, Q, 50)
    assert starts.blocks(second, Q, 300) is False  # the other one is before it in both
    other = HetStarts()
    assert not other.blocks(third, P, 200)
    assert not other.blocks(fourth, Q, 50)
    assert not other.blocks(second, Q, 100)
    assert other.blocks(first, P, 100)  # after it there, and behind it here


# Random workloads


def random_jobs(seed: int) -> tuple[list[StaticJob], list[tuple[float, str]]]:
    """Jobs and heterogeneous jobs, and commands about them."""
    draw = random.Random(seed)
    jobs: list[StaticJob] = []
    ids: list[str] = []
    number = 1
    for _ in range(draw.randint(1, 12)):
        at, count = float(draw.randint(0, 200)), draw.choice([1, 1, 2, 2, 3])
        for offset in range(count):
            runs = float(draw.randint(1, 200))
            data: dict[str, Any] = {"user": f"u{draw.randint(0, 1)}"}
            slurm: dict[str, Any] = {"tasks": draw.randint(1, 4)} if draw.random() < 0.6 else {}
            if draw.random() < 0.3:
                data["partition"] = draw.choice(["q", "p,q"])
            if draw.random() < 0.1 and ids:
                data["dependency"] = f"afterany:{draw.choice(ids).partition('+')[0]}"
            if draw.random() < 0.1:
                slurm["time_min"] = draw.randint(1, 120)
            id = str(number) if count == 1 else f"{number}+{offset}/{count}"
            size = draw.choice([1, 1, 2])
            jobs.append(job(id, at, size, runs, runs * draw.uniform(0.7, 3), slurm=slurm, **data))
        ids.append(str(number) if count == 1 else f"{number}+{count - 1}")
        number += count
    verbs = ("scancel {}", "scontrol hold {}", "scontrol release {}", "scontrol requeue {}")
    verbs = (*verbs, "scontrol update JobId={} TimeLimit=2", "scontrol update JobId={} Nice=9", "scontrol top {}")
    commands = []
    for _ in range(draw.choice([0, 0, 3, 6])):
        id = draw.choice(ids)
        name = draw.choice([id, id.partition("+")[0]])
        commands.append((float(draw.randint(1, 400)), draw.choice(verbs).format(name)))
    return jobs, sorted(commands)


SELECTIONS = ("", "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU")


def checked(seed: int, more: str) -> None:
    """Components start together, on disjoint nodes, never one without the others, and no job is lost."""
    jobs, commands = random_jobs(seed)
    found = []
    for is_quick in (True, False):
        conf = configuration_of(CONF.format(more=more))
        scheduler = SlurmScheduler(conf, is_quick=is_quick)
        texts = [(time, json.dumps({"slurm": text})) for time, text in commands]
        events = [ExternalEventList.of(texts, corrected=True)] if texts else []
        result = simulate(described_platform("n[0-3] cores=2"), Workload(jobs), scheduler, external_events=events)
        assert all(row.final_state is not None for row in result.jobs)
        assert {row.job_id for row in result.jobs if row.workload_name == "w0"} == {each.id for each in jobs}
        found.append([each._replace(time=round(each.time, 6)) for each in scheduler.starts])
    assert found[0] == found[1]
    sizes = Counter(each.id.partition("+")[0] for each in jobs if "+" in each.id)
    together: dict[tuple[str, float], list[Started]] = {}
    for each in found[0]:
        own = each.job_id.rpartition("!")[2]
        if "+" in own:
            together.setdefault((own.partition("+")[0], each.time), []).append(each)
    rows = {(row.job_id, round(row.starting_time or 0.0, 6)): row for row in result.jobs}
    for (id, time), starts in together.items():
        assert len({each.job_id for each in starts}) == len(starts)
        if len(starts) < sizes[id]:  # the start was taken back at once
            own = [rows.get((each.job_id.rpartition("!")[2], time)) for each in starts]
            assert all(row is None or row.execution_time == 0.0 for row in own)
        nodes = [node for each in starts for node in each.nodes]
        assert len(nodes) == len({*nodes})
        assert {each.by for each in starts} == {"backfill"}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(SELECTIONS))
def test_components_start_together_or_not_at_all(seed: int, more: str) -> None:
    checked(seed, more)


@pytest.mark.minutes
@settings(max_examples=1_000, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(SELECTIONS))
def test_components_start_together_or_not_at_all_in_many(seed: int, more: str) -> None:
    checked(seed, more)
