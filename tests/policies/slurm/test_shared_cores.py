"""Nodes whose cores jobs share, under select/cons_tres: with OverSubscribe=FORCE:2, and with GPUs."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.model import DelayProfile
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.policies.slurm.cluster import ClusterNode, cluster_of
from batprotocol.policies.slurm.consumable import Consumable
from batprotocol.policies.slurm.queue import NodeShare, SlurmJob
from batprotocol.policies.slurm.resources import CoreRows
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.configuration import configuration_of

WITHOUT_ENGINE = True

CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[0-1] CPUs=4
PartitionName=p Nodes=ALL Default=YES OverSubscribe=FORCE:2
"""


def test_jobs_share_the_cores_of_nodes_as_a_real_slurm_has_them_do() -> None:
    """Two jobs get idle cores of n0, the third one those of n1; the last two share cores with others."""
    jobs = [
        StaticJob(str(number), 1 + number * 4.0, 1, DelayProfile(300.0), 600.0, json.dumps({"slurm": {"tasks": tasks}}))
        for number, tasks in enumerate([2, 2, 3, 4, 2])
    ]
    scheduler = SlurmScheduler(configuration_of(CONF))
    simulate(described_platform("n[0-1] cores=4"), Workload(jobs), scheduler)
    assert [start.nodes for start in scheduler.starts] == [(0,), (0,), (1,), (0,), (1,)]
    assert all(start.time < 30 for start in scheduler.starts)


GPUS = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeName=n[0-1] CPUs=8 Gres=gpu:4
PartitionName=p Nodes=ALL Default=YES
"""


def test_idle_cores_do_not_matter_to_jobs_with_gpus_on_each_node() -> None:
    """Jobs without GPUs, and those with `--gpus` alone, take the node with the fewest idle cores instead.

    A real Slurm gave these nodes to the same jobs.
    """
    asked: list[dict[str, object]] = [
        {"slurm": {"tasks": 1, "nodelist": "n0"}},
        {"slurm": {"tasks": 5, "nodelist": "n1"}},
        {"slurm": {"tasks": 1}, "gres": "gpu:1"},
        {"slurm": {"tasks": 1, "gpus": 1}},
        {"slurm": {"gpus": 1}},
    ]
    jobs = [
        StaticJob(str(number), 1 + number * 4.0, 1, DelayProfile(300.0), 600.0, json.dumps(each))
        for number, each in enumerate(asked)
    ]
    scheduler = SlurmScheduler(configuration_of(GPUS))
    simulate(described_platform("n[0-1] cores=8"), Workload(jobs), scheduler)
    assert [start.nodes for start in scheduler.starts] == [(0,), (1,), (0,), (0,), (1,)]


def test_a_task_has_the_cpus_of_its_gpus() -> None:
    """The two tasks of the first job have four CPUs, as those of a recorded run of a real Slurm."""
    asked: list[dict[str, object]] = [
        {"slurm": {"tasks": 2, "gpus_per_task": 1}},
        {"slurm": {"tasks": 4, "nodelist": "n0"}},
        {"slurm": {"tasks": 1, "nodelist": "n0"}},
    ]
    jobs = [
        StaticJob(str(number), 1 + number * 4.0, 1, DelayProfile(300.0), 600.0, json.dumps(each))
        for number, each in enumerate(asked)
    ]
    scheduler = SlurmScheduler(configuration_of(GPUS.replace("Default=YES", "Default=YES DefCpuPerGPU=2")))
    simulate(described_platform("n[0-1] cores=8"), Workload(jobs), scheduler)
    assert [(start.nodes, start.time > 300) for start in scheduler.starts] == [
        ((0,), False),
        ((0,), False),
        ((0,), True),
    ]


def test_options_for_the_same_gpus_are_of_one_number() -> None:
    """A job has one GPU of each node, and two GPUs: it has two nodes. A recorded run has the like."""
    asked: list[dict[str, object]] = [
        {"slurm": {"tasks": 2, "gpus_per_task": 1}, "gres": "gpu:1"},
        {"slurm": {"gpus": 1}, "gres": "gpu:1"},
        {"slurm": {"tasks": 1, "nodelist": "n0"}, "gres": "gpu:2"},
        {"slurm": {"tasks": 1, "nodelist": "n1"}, "gres": "gpu:3"},
        {"slurm": {"tasks": 1}, "gres": "gpu:1"},
    ]
    jobs = [
        StaticJob(str(number), 1 + number * 4.0, 1, DelayProfile(300.0), 600.0, json.dumps(each))
        for number, each in enumerate(asked)
    ]
    scheduler = SlurmScheduler(configuration_of(GPUS))
    simulate(described_platform("n[0-1] cores=8"), Workload(jobs), scheduler)
    assert [(start.nodes, start.time < 30) for start in scheduler.starts] == [
        ((0, 1), True),
        ((0,), True),
        ((0,), True),
        ((1,), True),
        ((0,), False),
    ]


def test_a_node_gives_no_gpu_without_the_memory_that_comes_with_it() -> None:
    """That is so, too, if the job asks for other memory. A real Slurm gave such a job another node."""
    asked: list[dict[str, object]] = [
        {"slurm": {"tasks": 1, "nodelist": "n0"}, "memory": "5000M"},
        {"slurm": {"tasks": 1, "memory_per_cpu": 100}, "gres": "gpu:1"},
        {"slurm": {"tasks": 1, "memory_per_cpu": 100}},
    ]
    jobs = [
        StaticJob(str(number), 1 + number * 4.0, 1, DelayProfile(300.0), 600.0, json.dumps(each))
        for number, each in enumerate(asked)
    ]
    conf = GPUS.replace("CR_Core", "CR_Core_Memory").replace("Gres=", "RealMemory=8000 Gres=")
    scheduler = SlurmScheduler(configuration_of(conf.replace("Default=YES", "Default=YES DefMemPerGPU=4000")))
    simulate(described_platform("n[0-1] cores=8"), Workload(jobs), scheduler)
    assert [start.nodes for start in scheduler.starts] == [(0,), (1,), (0,)]


@pytest.mark.parametrize(("array", "start"), [("9", 700), (None, 600)])
def test_the_record_of_a_later_task_comes_when_the_one_before_it_starts(array: str | None, start: int) -> None:
    """Of two jobs that end at 600, the one with other nodes comes last then, and Slurm takes the next end along.

    A recorded run has such a plan.
    """
    cluster = cluster_of(configuration_of(GPUS.replace("n[0-1] CPUs=8", "n[0-2] CPUs=1")))
    nodes, (partition,) = Consumable(cluster), cluster.partitions

    def job(number: int, submitted: float, node: int, started: float, end: float, task: int = 0) -> SlurmJob:
        made = SlurmJob(f"w!{number}_{task}", number, submitted, (partition,), 10.0)
        made.started, made.end, made.task = started, end, task
        made.placement, made.partition = NodeShare(1 << node, {node: 1}), partition
        made.array = array if number == 1 else None
        return made

    first = job(1, 10.0, 1, 100.0, 500.0)
    nodes.take(first)
    nodes.give_back(first)
    for each in (job(1, 10.0, 1, 110.0, 600.0, 1), job(2, 50.0, 0, 110.0, 600.0), job(3, 60.0, 2, 110.0, 700.0)):
        nodes.take(each)
    found = nodes.earliest(SlurmJob("w!4", 4, 120.0, (partition,), 10.0), partition, 0b101, 120)
    assert found is not None
    assert found.start == start


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 8), st.integers(0, 7)), max_size=30))
def test_jobs_of_a_row_have_different_cores(steps: list[tuple[bool, int, int]]) -> None:
    rows, running = CoreRows([ClusterNode("n0", cpus=8, sockets=2)], {"p": 2}), list[NodeShare]()
    for ends, cpus, which in steps:
        if ends and running:
            rows.remove(running.pop(which % len(running)))
            continue
        tries = [[*rows.used()], *rows.of("p")]
        busy = next((each[0] for each in tries if rows.free(0, each[0]) >= cpus), None)
        if busy is None:
            continue
        made = NodeShare(1, {0: cpus})
        made.partition, made.cores = "p", {0: rows.pick(0, busy, cpus)}
        assert made.cores[0].bit_count() == cpus
        assert not made.cores[0] & busy
        rows.add(made)
        running.append(made)
        assert all(
            not (one & other & third) for one, other, third in combinations([each.cores[0] for each in running], 3)
        )
    filled = rows.of("p")
    assert len(filled) <= 2
    assert sum(each[0].bit_count() for each in filled) == sum(each.cores[0].bit_count() for each in running)
    union = 0
    for each in running:
        union |= each.cores[0]
    assert rows.used() == [union]
