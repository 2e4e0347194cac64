"""Jobs that wait, and those that wait behind them: limits of partitions, access, reservations, nodes, plans.

The rules are those of recorded runs of a real Slurm 22.05 whose plans were drawn from its manual.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.policies.slurm.clock import USUAL, Phases
from batprotocol.policies.slurm.cluster import cluster_of, members
from batprotocol.policies.slurm.queue import NodeShare, SlurmJob
from batprotocol.policies.slurm.resources import tasks_dealt
from batprotocol.policies.slurm.selection import Linear, runs
from batprotocol.simulator import ExternalEventList, StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.accounting import Accounting, accounting_of
from batprotocol.sites.slurm.configuration import configuration_of
from batprotocol.studies.recorded import jobs_of
from batprotocol.workloads.host_events import HostEvent
from batprotocol.workloads.host_events.events import HostChange

WITHOUT_ENGINE = True

NODES = "NodeName=n[0-3] CPUs=1"
ALL = "PartitionName=p Nodes=ALL Default=YES"
Asked = Mapping[str, Any]


def starts(
    conf: str,
    *jobs: Asked,
    commands: tuple[tuple[float, str], ...] = (),
    phases: Phases = USUAL,
    accounting: Accounting | None = None,
) -> dict[str, tuple[float, str]]:
    """When and where jobs start that come one after the other within a second, by their numbers.

    A job has `nodes`, `runs` (its seconds), `limit` (in seconds) and the data of requests; `at` is its submission.
    """
    static = []
    for number, job in enumerate(jobs):
        data = dict(job)
        at, size, seconds = data.pop("at", 1 + number * 0.01), data.pop("nodes", 1), data.pop("runs", 20.0)
        limit = data.pop("limit", 600.0)
        static.append(StaticJob(str(number), at, size, DelayProfile(seconds), limit, json.dumps(data)))
    qos = accounting_of([("qos", "Name|Priority\nnormal|0\nlow|0")])
    scheduler = SlurmScheduler(configuration_of(conf), phases, accounting=accounting or qos)
    texts = [(time, json.dumps({"slurm": text})) for time, text in commands]
    events = [ExternalEventList.of(texts, corrected=True)] if texts else []
    simulate(described_platform("n[0-3] cores=1"), Workload(static), scheduler, external_events=events)
    return {
        each.job_id.rpartition("!")[2]: (each.time, ",".join(f"n{node}" for node in each.nodes))
        for each in scheduler.starts
    }


def within(least: int, most: int) -> dict[str, Any]:
    """A job that names its fewest and its most nodes."""
    return {"slurm": {"nodes": [least, most], "shares": True}}


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_a_job_waits_for_ever_that_names_nodes_which_its_partition_does_not_allow(
    low: int, high: int, least: int, most: int
) -> None:
    low, high, least, most = *sorted((low, high)), *sorted((least, most))
    found = starts(f"{NODES}\n{ALL} MinNodes={low} MaxNodes={high}", within(least, most), within(low, low))
    assert ("0" in found) == (most >= low and most <= high)
    assert "1" in found


def test_a_job_that_is_larger_than_its_partition_keeps_no_other_one_waiting() -> None:
    """Once, it set the nodes of the partition aside, for jobs of other partitions, too."""
    conf = f"{NODES}\n{ALL}\nPartitionName=small Nodes=n[0-1] PriorityTier=5"
    large = {**within(3, 3), "partition": "small,p", "nodes": 3}
    first = {"nodes": 2, "runs": 50.0, "slurm": {"nodelist": "n[2-3]"}}
    found = starts(conf, first, large, {"partition": "small", "nodes": 1, "at": 4.0})
    assert found["2"][0] < 20


ACCESS = ("DenyQOS=normal", "DenyAccounts=root", "ReqResv=YES", "AllowQOS=low", "AllowAccounts=other")


@pytest.mark.parametrize("key", ACCESS)
def test_rules_of_access_hold_for_jobs_that_wait(key: str) -> None:
    job = {"nodes": 4, "account": "root", "qos": "normal"}
    back = {"ReqResv=YES": "ReqResv=NO", "DenyQOS=normal": "DenyQOS=low", "DenyAccounts=root": "DenyAccounts=x"}
    undone = back.get(key, key.partition("=")[0] + "=" + ("normal" if "QOS" in key else "root"))
    update = "scontrol update PartitionName=p "
    found = starts(f"{NODES}\n{ALL}", job, job, job, commands=((5.0, update + key), (150.0, update + undone)))
    assert found["0"][0] < 5
    assert [found[number][0] > 150 for number in "12"] == [True, True]


@pytest.mark.parametrize(("rule", "has_plan"), [("DenyAccounts=root", True), ("DenyQOS=low", False)])
def test_a_job_whose_account_its_partition_does_not_take_has_nodes_set_aside(rule: str, has_plan: bool) -> None:
    """Once, it was refused. Slurm refuses it with EnforcePartLimits only, and else it waits for other rules."""
    denied = {"nodes": 2, "account": "root", "qos": "low"}
    jobs = {"nodes": 2, "runs": 300.0}, denied, {"nodes": 4}, {"nodes": 1, "limit": 120.0}
    conf = f"SchedulerParameters=bf_interval=10\n{NODES}\n{ALL} {rule}"
    update = "scontrol update PartitionName=p " + rule.partition("=")[0] + "=other"
    found = starts(conf, *jobs, commands=((400.0, update),))
    assert 300 < found["2"][0] < 400 < found["1"][0]
    assert (found["3"][0] < 100) == (not has_plan)
    assert (found["3"][0] > 300) == has_plan


def test_a_failing_node_keeps_its_job_and_gets_no_other() -> None:
    commands = ((5.0, "scontrol update NodeName=n0 State=FAIL"), (200.0, "scontrol update NodeName=n0 State=RESUME"))
    found = starts(f"{NODES}\n{ALL}", {"nodes": 4, "runs": 50.0}, {"nodes": 4}, {"nodes": 3}, commands=commands)
    assert found["0"][0] < 5
    assert found["1"][0] > 200
    assert 50 < found["2"][0] < 200
    assert found["2"][1] == "n1,n2,n3"


@pytest.mark.parametrize("state", ["UNDRAIN", "RESUME", "IDLE"])
@pytest.mark.parametrize("first", ["FAIL", "DRAIN"])
def test_nodes_come_back(first: str, state: str) -> None:
    commands = (
        (0.5, f"scontrol update NodeName=n0 State={first}"),
        (50.0, f"scontrol update NodeName=n0 State={state}"),
    )
    found = starts(f"{NODES}\n{ALL}", {"nodes": 4}, commands=commands)
    assert 50 < found["0"][0] < 60


def test_a_failing_node_that_was_down_still_fails() -> None:
    """UNDRAIN leaves a node that is down as it is, and a failing one fails until it is resumed."""
    update = "scontrol update NodeName=n0 State="
    commands = ((0.5, f"{update}FAIL"), (1.5, f"{update}DOWN"), (50.0, f"{update}UNDRAIN"), (99.0, f"{update}RESUME"))
    assert starts(f"{NODES}\n{ALL}", {"nodes": 4}, commands=commands)["0"][0] > 99


def test_a_drained_node_that_answers_again_stays_drained() -> None:
    update = "scontrol update NodeName=n0 State="
    commands = ((0.5, f"{update}DRAIN"), (1.5, f"{update}DOWN"), (99.0, f"{update}RESUME"))
    texts = [(time, json.dumps({"slurm": text})) for time, text in commands]
    back = (30.0, HostEvent(frozen_hosts([0]), HostChange.UP).to_data())
    scheduler = SlurmScheduler(configuration_of(f"{NODES}\n{ALL}"))
    events = ExternalEventList.of(sorted([*texts, back]), corrected=True)
    job = StaticJob("0", 1.0, 4, DelayProfile(20.0), 600.0)
    simulate(described_platform("n[0-3] cores=1"), Workload([job]), scheduler, external_events=[events])
    assert [each.time > 99 for each in scheduler.starts] == [True]


@pytest.mark.parametrize("accounted", [False, True])
def test_bf_max_job_assoc_needs_an_accounting(accounted: bool) -> None:
    """Without it, no user has an association, and backfill looks at all jobs."""
    more = "AccountingStorageType=accounting_storage/slurmdbd\n" if accounted else ""
    conf = f"{more}SchedulerParameters=bf_interval=10,bf_max_job_assoc=1\n{NODES}\n{ALL}"
    first = {"nodes": 3, "limit": 600.0, "runs": 300.0, "user": "ann"}
    small = {"nodes": 1, "limit": 60.0, "user": "ann"}
    dump = accounting_of([("dump.cfg", "Cluster - 'c'\nParent - 'root'\nUser - 'ann':Fairshare=1\n")])
    found = starts(conf, first, {"nodes": 4, "user": "ann"}, small, accounting=dump if accounted else None)
    assert (found["2"][0] < 40) == (not accounted)


@pytest.mark.parametrize("user", ["ann", "bob"])
def test_jobs_of_a_reservation_of_licences_start_within_its_time(user: str) -> None:
    conf = f"Licenses=m:2\n{NODES}\n{ALL}"
    create = "scontrol create ReservationName=r StartTime=now+60 Duration=5 Users=ann Licenses=m:1 Flags=LICENSE_ONLY"
    found = starts(conf, {"nodes": 3, "user": user, "reservation": "r"}, commands=((0.5, create),))
    if user == "ann":
        assert 60 < found["0"][0] < 90
    else:
        assert not found


def test_nodes_that_slurm_conf_drains_are_there_when_they_are_resumed() -> None:
    conf = f"NodeName=n[0-1] CPUs=1 State=DRAIN\nNodeName=n[2-3] CPUs=1\n{ALL}"
    found = starts(conf, {"nodes": 4}, commands=((40.0, "scontrol update NodeName=n[0-1] State=resume"),))
    assert 40 < found["0"][0] < 45


RESERVE = "scontrol create ReservationName=r StartTime=now+{begin} Duration=5 Users=ann Nodes=n[0-1] {more}"
ANN = {"user": "ann", "reservation": "r"}


@pytest.mark.parametrize(("more", "count"), [("", 2), ("Flags=ANY_NODES", 3)])
def test_jobs_of_a_reservation_have_other_nodes_with_any_nodes(more: str, count: int) -> None:
    command = (0.5, RESERVE.format(begin=0, more=more))
    found = starts(f"{NODES}\n{ALL}", {**ANN, "nodes": count}, {**ANN, "nodes": 4}, commands=(command,))
    assert "0" in found
    assert ("1" in found) == bool(more)


def test_a_job_whose_reservation_has_not_begun_has_no_plan() -> None:
    """A plan for it, on nodes beside the reservation, would keep the third job waiting."""
    command = (0.5, RESERVE.format(begin=200, more="Flags=ANY_NODES"))
    early = {**ANN, "nodes": 4}
    conf = f"SchedulerParameters=bf_interval=10\n{NODES}\n{ALL}"
    found = starts(conf, {"nodes": 2, "limit": 120.0}, early, {"nodes": 1, "limit": 3000.0}, commands=(command,))
    assert found["2"][0] < 30


def test_a_reservation_without_the_nodes_that_a_job_requires_refuses_it() -> None:
    command = (0.5, RESERVE.format(begin=0, more=""))
    wanted = {**ANN, "nodes": 1, "slurm": {"nodelist": "n3"}}
    found = starts(f"{NODES}\n{ALL}", wanted, {"nodes": 2, "at": 4.0}, commands=(command,))
    assert "0" not in found
    assert found["1"][1] == "n2,n3"


def test_a_job_that_idle_nodes_do_not_suit_keeps_no_other_one_waiting() -> None:
    """No end of a job would help it: the nodes between are reserved."""
    command = (0.5, RESERVE.format(begin=0, more="").replace("n[0-1]", "n[1-2]"))
    beside = {"nodes": 2, "slurm": {"shares": True, "nodes": [2, 2]}, "contiguous": True}
    found = starts(f"{NODES}\n{ALL}", beside, {"nodes": 2}, commands=(command,))
    assert found["1"][0] < 5
    assert found["0"][0] > 300


def test_a_job_whose_required_nodes_are_reserved_keeps_no_other_one_waiting() -> None:
    command = (0.5, RESERVE.format(begin=0, more=""))
    wanted = {"nodes": 3, "slurm": {"nodelist": "n1", "nodes": [3, 3], "shares": True}}
    found = starts(f"{NODES}\n{ALL}", {"nodes": 1, "runs": 50.0}, wanted, {"nodes": 1, "at": 6.0}, commands=(command,))
    assert found["2"][0] < 12


def test_backfill_gives_a_job_the_limit_that_the_plan_leaves() -> None:
    """Its least limit fits before the planned start of the second job, its own does not."""
    conf = f"SchedulerParameters=bf_interval=10,bf_resolution=1\n{NODES}\n{ALL}"
    short = {"limit": 600.0, "runs": 600.0, "slurm": {"time_min": 60.0}}
    found = starts(conf, {"nodes": 3, "limit": 240.0, "runs": 240.0}, {"nodes": 4, "limit": 60.0}, short)
    assert found["2"][0] < 30
    assert 240 <= found["1"][0] < 290


def test_the_tasks_of_an_array_move_to_the_top_as_one_job() -> None:
    task = {"nodes": 4, "array": "1%1"}
    jobs = ({"nodes": 4}, task, task, {"nodes": 4})
    static = [
        StaticJob(
            f"a_{number}" if "array" in job else str(number),
            1 + number * 0.01,
            4,
            DelayProfile(20.0),
            600.0,
            json.dumps({"array": f"a_{number}%1"} if "array" in job else {}),
        )
        for number, job in enumerate(jobs)
    ]
    scheduler = SlurmScheduler(configuration_of(f"{NODES}\n{ALL}"))
    events = ExternalEventList.of([(5.0, json.dumps({"slurm": "scontrol top 3"}))], corrected=True)
    simulate(described_platform("n[0-3] cores=1"), Workload(static), scheduler, external_events=[events])
    assert [each.job_id.rpartition("!")[2] for each in scheduler.starts] == ["0", "3", "a_1", "a_2"]


@given(st.integers(0, 2**10 - 1), st.integers(0, 2**10 - 1), st.integers(1, 6))
def test_consecutive_nodes_hold_those_that_are_required(free: int, wanted: int, count: int) -> None:
    cluster = cluster_of(configuration_of("NodeName=n[0-9] CPUs=1\nPartitionName=p Nodes=ALL Default=YES"))
    job = SlurmJob("w0!1", 1, 0.0, cluster.partitions, 10)
    job.required = free & wanted
    job.min_nodes, job.tasks, job.is_contiguous = max(count, job.required.bit_count(), 1), 1, True
    job.max_nodes = job.min_nodes
    found = Linear(cluster).choose(job, free, job.min_nodes, cluster.partitions[0])
    blocks = [set(range(first, first + length)) for first, length in runs(free)]
    required = set(members(job.required))
    holds = [each for each in blocks if required <= each and len(each) >= job.min_nodes]
    assert (found is None) == (not holds)
    if found is not None:
        assert required <= set(members(found))
        assert any(set(members(found)) <= each for each in blocks)


@given(st.integers(1, 4), st.integers(1, 4), st.sampled_from([1, 2]))
def test_no_node_gets_more_tasks_than_each_is_to_have(nodes: int, each: int, threads: int) -> None:
    most: dict[int, float] = dict.fromkeys(range(nodes), each)
    found = tasks_dealt(dict.fromkeys(range(nodes), 8), nodes * each, 1, threads=threads, most=most)
    assert set(found.values()) == {each}


def submitted(*args: str) -> Asked:
    """The request of a recorded job."""
    run = {
        "submissions": [{"id": 1, "t_returned": 1.0, "args": [*args], "run": 5}],
        "starts": [],
        "log": [],
        "events": [],
    }
    return next(data for _, _, data in jobs_of(run))


def test_the_first_task_of_an_array_starts_even_if_it_has_a_plan() -> None:
    """The first task is planned on n0, which is not clean. The second one could start: Slurm starts the first."""
    conf = f"SchedulerParameters=bf_interval=10\n{NODES}\n{ALL}"
    before = {"runs": 30.0}, {"nodes": 2, "runs": 400.0}, {"nodes": 4}
    tasks = [{"at": 33.0, "limit": 60.0, "array": f"9_{task}"} for task in (0, 1)]
    found = starts(conf, *before, *tasks, phases=Phases(epilogs={"0": 50.0}))
    assert found["3"][1] == "n3"
    assert found["3"][0] < 45 < found["4"][0]


@pytest.mark.parametrize(
    ("args", "gres"),
    [
        (("--gres=gpu:1", "--gpus-per-node=2"), "gpu:1"),
        (("--gpus-per-node=v100:2", "--gres=gpu:v100:1,fpga:1"), "gpu:v100:1,fpga:1"),
        (("--gpus-per-node=2",), "gpu:2"),
    ],
)
def test_the_last_number_of_gpus_on_each_node_counts(args: tuple[str, ...], gres: str) -> None:
    """A real Slurm gave one GPU to a job with `--gres=gpu:1` and `--gpus-per-node=2`."""
    assert submitted(*args)["gres"] == gres


@pytest.mark.parametrize(
    ("args", "nodes"),
    [(("-n1", "-w", "n[3-4]"), "n3"), (("-n2", "-w", "n[3-5]"), "n3,n4"), (("-N2", "-w", "n[3-4]"), "n[3-4]")],
)
def test_sbatch_leaves_out_named_nodes_that_would_have_no_task(args: tuple[str, ...], nodes: str) -> None:
    assert submitted(*args)["slurm"]["nodelist"] == nodes


@pytest.mark.parametrize(
    ("nodes", "down", "waits"), [(1, "n0", True), (2, "n[0-1]", False), (2, "n0", True), (3, "n[0-2]", False)]
)
def test_a_job_waits_after_a_failure_if_a_node_is_cleaned_or_it_had_only_one(
    nodes: int, down: str, waits: bool
) -> None:
    """So it was for 8 jobs of two recorded runs: a job whose nodes all go down is forgotten to wait for 121 s."""
    job = {"nodes": nodes, "runs": 60.0, "requeue": True}
    commands = (
        (10.0, f"scontrol update NodeName={down} State=DOWN Reason=x"),
        (20.0, f"scontrol update NodeName={down} State=RESUME"),
    )
    time, _ = starts(f"{NODES}\n{ALL}", job, commands=commands)["0"]
    assert (time > 131) == waits
    assert time < 200


def test_a_job_that_its_reservation_has_no_nodes_for_does_not_end() -> None:
    """In recordings, such jobs wait or are held, and none of those runs that wait for their ends."""
    create = "scontrol create reservation ReservationName=r StartTime=now+60 Duration=5 Users=ann NodeCnt=1"
    large: dict[str, Any] = {"at": 2.0, "nodes": 3, "user": "ann", "reservation": "r"}
    found = starts(
        f"{NODES}\n{ALL}", large, {"at": 3.0, "dependency": "afterany:0"}, {"at": 4.0}, commands=((1.0, create),)
    )
    assert set(found) == {"2"}


@pytest.mark.parametrize(("plugin", "first"), [("builtin", "3"), ("backfill", "1")])
def test_the_first_come_loop_takes_the_records_of_arrays(plugin: str, first: str) -> None:
    """As in a recorded run: once a task has started, the others of its array come behind all other jobs."""
    jobs = [{"nodes": 4, "array": f"9_{task}", "runs": 30.0, "slurm": {"number": 9}} for task in range(3)]
    last = {"nodes": 4, "runs": 30.0, "slurm": {"number": 10}}
    found = starts(f"SchedulerType=sched/{plugin}\n{NODES}\n{ALL}", *jobs, last)
    assert list(found)[:2] == ["0", first]


def test_jobs_with_the_same_end_are_taken_away_by_their_records() -> None:
    """As in a recorded run with whole nodes: the record of a later task is younger than jobs submitted before."""
    cluster = cluster_of(configuration_of(f"{NODES}\n{ALL}"))
    linear, made = Linear(cluster), []
    for number, array, nodes in ((1, "a", 1), (1, "a", 2), (2, None, 4)):
        job = SlurmJob(f"w!{number}_{len(made)}", number, float(number), cluster.partitions, 10)
        job.array, job.task, job.started, job.end = array, len(made), 50.0, 100.0
        job.placement = NodeShare(nodes, dict.fromkeys(members(nodes), 1))
        linear.take(job)
        made.append(job)
    asking = SlurmJob("w!9", 9, 60.0, cluster.partitions, 10)
    asking.min_nodes = asking.max_nodes = asking.tasks = 2
    found = linear.earliest(asking, cluster.partitions[0], 0b0111, 60)
    assert found is not None
    assert found.placement.nodes == 0b101  # n0 of the first task, and n2; the second task has a younger record
    for job in made:
        linear.give_back(job)
    assert linear.used == 0
