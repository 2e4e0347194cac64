"""Requests of jobs as Slurm sees them, and amounts that its rules compare."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_main_loop import Starter, queue_of

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, Job, JobSubmittedEvent
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.policies.slurm.cluster import ClusterSizes, cluster_of
from batprotocol.policies.slurm.commands import read_command
from batprotocol.policies.slurm.loops import StartOutcome, run_main
from batprotocol.policies.slurm.queue import SlurmJob, job_of
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.configuration import SchedulerParameters, configuration_of, switches_of
from batprotocol.studies.recorded import jobs_of
from batprotocol.workloads.requests import read_request
from batprotocol.workloads.requests.vocabulary import SLURM_KEYS

WITHOUT_ENGINE = True

CONF = """SelectType=select/cons_tres
SelectTypeParameters={unit}
NodeName=n[0-3] CPUs=4 RealMemory=1000
PartitionName=p Nodes=ALL Default=YES DefaultTime=7 MaxTime=90 PriorityJobFactor=3
PartitionName=few Nodes=n[0-1]
"""


def made(size: int = 1, walltime: float | None = 60.0, unit: str = "CR_Core_Memory", **data: Any) -> SlurmJob:
    text = json.dumps(data) if data else None
    job = Job(resource_request=size, walltime=walltime, profile_id="w!p", extra_data=text)
    event = JobSubmittedEvent(timestamp=3.9, job_id="w!1", job=job, submission_time=3.7)
    return job_of(cluster_of(configuration_of(CONF.format(unit=unit))), event, read_request(text), 5)


def test_a_plain_job_has_as_many_nodes_as_it_asks_for() -> None:
    job = made(3)
    assert (job.min_nodes, job.max_nodes, job.tasks, job.cpus_per_task, job.tasks_per_node) == (3, 3, 3, 1, 0)
    assert (job.id, job.number, job.submitted, job.begin, job.limit) == ("w!1", 5, 3.0, 3.0, 1)
    assert (job.allowed, job.required, job.user, job.nice, job.array) == (0b1111, 0, "", 0, None)


@pytest.mark.parametrize(
    ("walltime", "options", "minutes"),
    [(61.0, {}, 2), (None, {}, 7), (math.inf, {}, 7), (60.0, {"time": 200}, 4), (None, {"time": 59}, 1)],
)
def test_limits_are_whole_minutes(walltime: float | None, options: dict[str, Any], minutes: int) -> None:
    data = {"slurm": options} if options else {}
    assert made(1, walltime, **data).limit == minutes


def test_tasks_spread_over_any_number_of_nodes_unless_nodes_are_given() -> None:
    job = made(2, slurm={"tasks": 6})
    assert (job.tasks, job.tasks_per_node, job.min_nodes, job.max_nodes) == (6, 0, 1, math.inf)
    job = made(2, slurm={"tasks": 6, "nodes": [2, 3], "tasks_per_node": 3, "cpus_per_task": 2})
    assert (job.tasks, job.tasks_per_node, job.min_nodes, job.max_nodes) == (6, 3, 2, 3)
    assert (job.cpus_per_task, job.cpus) == (2, 12)
    job = made(2, slurm={"tasks_per_node": 3})
    assert (job.tasks, job.min_nodes) == (6, 2)


def test_lists_of_nodes_and_impossible_requests() -> None:
    job = made(1, slurm={"nodelist": "n2", "exclude": "n[0-1]"})
    assert (job.required, job.allowed) == (0b100, 0b1100)
    for size, data, why in (
        (0, {}, "it asks for 0 hosts, and needs one at least"),
        (3, {"partition": "few"}, "it asks for 3 nodes of partition few, which has 2 that fit"),
        (1, {"partition": "few", "slurm": {"nodelist": "n2"}}, "it asks for n2, and partition few does not have all"),
        (1, {"slurm": {"nodelist": "x"}}, "there is no node 'x'"),
        (1, {"slurm": {"tasks": 17}}, "it asks for 17 CPUs, and the nodes that it can have at once have 16"),
        (1, {"partition": "q"}, "there is no partition 'q'"),
        (1, {"slurm": {"nope": 1}}, "expected time, time_min"),
    ):
        with pytest.raises(InputError) as caught:
            made(size, **data)
        assert why in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("nodes", "2-4", "slurm.nodes: expected the least and the most number, as [2, 4], got '2-4'"),
        ("nodes", [4, 2], "slurm.nodes: expected the least and then the most number, got [4, 2]"),
        ("nodes", [0, 2], "slurm.nodes: expected a whole number >= 1, got 0"),
        ("hold", "no", "slurm.hold: expected true or false, got 'no'"),
        ("use_min_nodes", 0, "slurm.use_min_nodes: expected true or false, got 0"),
        ("time", "1:00:00", "slurm.time: expected seconds >= 0, got '1:00:00'"),
        ("time_min", True, "slurm.time_min: expected seconds >= 0, got True"),
        ("cpus_per_task", -1, "slurm.cpus_per_task: expected a whole number >= 1, got -1"),
        ("memory_per_cpu", "2G", "slurm.memory_per_cpu: expected a whole number >= 0, got '2G'"),
        ("gpus", "v100", "slurm.gpus: expected a number of GPUs such as 2 or v100:2, got 'v100'"),
        ("nodelist", 5, "slurm.nodelist: expected names of hosts, as 'n[0-3]' or ['n0', 'n1'], got 5"),
        ("switches", 1.5, "slurm.switches: expected switches such as 1 or 1@5, got 1.5"),
    ],
)
def test_values_that_an_option_of_sbatch_cannot_have(key: str, value: object, sentence: str) -> None:
    """Some ended the simulation with an exception, and `"hold": "no"` was a job on hold."""
    with pytest.raises(InputError) as caught:
        made(1, slurm={key: value})
    assert str(caught.value) == sentence


@given(
    st.sampled_from(list(SLURM_KEYS)),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3),
    ),
)
def test_any_value_of_an_option_of_sbatch_is_read_or_refused(key: str, value: object) -> None:
    with suppress(InputError):
        made(1, slurm={key: value})


def test_damaged_extra_data_has_no_options() -> None:
    deep = '{"slurm": ' + "[" * 100_000
    job = Job(resource_request=1, walltime=60.0, profile_id="w!p", extra_data=deep)
    event = JobSubmittedEvent(timestamp=0.0, job_id="w!1", job=job, submission_time=0.0)
    assert job_of(cluster_of(configuration_of(CONF.format(unit="CR_Core"))), event, read_request(None), 1).tasks == 1
    assert read_command(deep) is None


def test_sizes_of_unknown_partitions_are_nothing() -> None:
    sizes = ClusterSizes(configuration_of(CONF.format(unit="CR_Core")))
    assert (sizes.factor("p"), sizes.factor("few"), sizes.factor("x"), sizes.most_factor) == (3, 1, 0, 3)
    assert (sizes.minutes("p"), sizes.minutes("x"), sizes.partition("x"), sizes.amounts("x")) == (
        90.0,
        math.inf,
        None,
        {},
    )
    assert sizes.amounts("few") == {"cpu": 8.0, "mem": 2000.0, "node": 2.0}


def test_a_job_that_a_limit_stops_anew_stops_those_behind_it() -> None:
    """With assoc_limit_stop, and only in the run in which the limit comes first."""
    for reason, tried in (("", []), ("AssocGrpCpuLimit", ["1"])):
        queue, starter = queue_of(2), Starter(j0=StartOutcome.STARTED)
        first = queue.jobs()[0]
        first.reason = reason

        def may_start(job: SlurmJob, partition: object, first: SlurmJob = first) -> bool:
            return job is not first

        starter.rules.may_start = may_start  # type: ignore[method-assign]
        run_main(queue, starter, SchedulerParameters(assoc_limit_stop=True), is_full=True, is_quick=False)
        assert [id for id, _ in starter.tried] == tried


@pytest.mark.parametrize(
    ("asked", "cpus"),
    [([2, 2], 2), ([2, 4], 1), ([1, 1], 1)],
)
def test_a_range_of_nodes_asks_for_one_task(asked: list[int], cpus: int) -> None:
    """sbatch gives each node a task only if their number is certain."""
    assert made(slurm={"nodes": asked, "shares": True}).size_cpus == cpus
    assert made(slurm={"nodes": asked, "shares": True, "tasks": 3}).size_cpus == 3


@pytest.mark.parametrize(("nodes", "tasks"), [([3, 3], 2), ([2, 4], 1), ([2, 2], 4)])
def test_a_job_has_no_more_nodes_than_tasks(nodes: list[int], tasks: int) -> None:
    job = made(slurm={"nodes": nodes, "tasks": tasks, "shares": True})
    assert (job.min_nodes, job.max_nodes) == (min(nodes[0], tasks), min(nodes[1], tasks))


@pytest.mark.parametrize(("unit", "memory"), [("CR_Core_Memory", 4000), ("CR_Core", 0)])
def test_memory_counts_only_where_it_is_given_out(unit: str, memory: int) -> None:
    assert cluster_of(configuration_of(CONF.format(unit=unit))).memory == memory


@pytest.mark.parametrize("plugin", ["builtin", "backfill"])
@pytest.mark.parametrize("priorities", ["basic", "multifactor"])
@pytest.mark.parametrize("tier", [1, 2])
def test_a_queue_is_fifo_without_backfill_priorities_and_tiers(plugin: str, priorities: str, tier: int) -> None:
    more = f"SchedulerType=sched/{plugin}\nPriorityType=priority/{priorities}\n"
    conf = CONF.format(unit="CR_Core") + f"PartitionName=high Nodes=n0 PriorityTier={tier}\n" + more
    found = cluster_of(configuration_of(conf))
    assert found.is_fifo == ((plugin, priorities, tier) == ("builtin", "basic", 1))
    assert found.backfills == (plugin == "backfill")


@pytest.mark.parametrize(
    ("cores", "per", "size", "tasks", "each"),
    [(1, None, 1, 4, 1), (4, None, 2, 4, 2), (6, None, 1, 4, 1), (2, "task", 1, 2, 2), (3, None, 2, None, 3)],
)
def test_cores_of_hosts_are_shared_by_tasks(
    cores: int, per: str | None, size: int, tasks: int | None, each: int
) -> None:
    """In whole cores, and at least one for each; without tasks, a host is one."""
    data = {"cores": cores, **({} if per is None else {"per": per}), **({} if tasks is None else {"tasks": tasks})}
    assert made(size, **data).cpus_per_task == each


@given(
    st.integers(2, 4),
    st.none() | st.integers(1, 4),
    st.none() | st.integers(1, 2),
    st.sampled_from([None, "host", "task"]),
    st.none() | st.integers(1, 900),
    st.booleans(),
)
def test_what_a_job_asks_for_is_what_its_hosts_need_together(
    size: int, tasks: int | None, cores: int | None, per: str | None, mebibytes: int | None, is_alone: bool
) -> None:
    """Tasks are spread evenly, rounded up; amounts of tasks count for each task that a host has."""
    per = per if tasks else None
    asked = {"tasks": tasks, "cores": cores, "per": per, "memory": mebibytes and f"{mebibytes}M", "gres": "gpu:1"}
    job = made(size, exclusive=is_alone, **{key: value for key, value in asked.items() if value is not None})
    on_each = -(-tasks // size) if tasks else 1
    times = on_each if per == "task" else 1
    assert (job.min_nodes, job.max_nodes) == (size, size)
    assert (job.tasks, job.tasks_per_node) == (tasks or size, on_each if tasks else 0)
    assert job.memory == (mebibytes or 0) * times
    assert job.gres == (("gpu", "", times),)
    assert (job.memory_per_cpu, job.gpus, job.gpus_per_task) == (0, 0, 0)
    assert job.is_exclusive == is_alone
    if cores is None:
        assert job.cpus_per_task == 1
    elif per == "task" or not tasks:
        assert job.cpus_per_task == cores
    else:
        assert job.cpus_per_task == max(cores * size // tasks, 1)


THREADS = """SelectType=select/cons_tres
SelectTypeParameters={unit}
NodeName=n[0-1] CPUs=8 Sockets=1 CoresPerSocket=4 ThreadsPerCore=2
PartitionName=p Nodes=ALL Default=YES
"""


@pytest.mark.parametrize("unit", ["CR_CPU", "CR_Core"])
@given(st.integers(1, 4), st.integers(1, 4))
def test_a_job_of_one_thread_takes_whole_cores(unit: str, first: int, second: int) -> None:
    """As many cores as CPUs, on a node with four cores: two jobs share a node if their cores are at most four."""
    data = [{"slurm": {"tasks": 1, "cpus_per_task": cpus, "threads_per_core": 1}} for cpus in (first, second)]
    jobs = [
        StaticJob(str(place), 1.0, 1, DelayProfile(99.0), 600.0, json.dumps(each)) for place, each in enumerate(data)
    ]
    scheduler = SlurmScheduler(configuration_of(THREADS.format(unit=unit)))
    simulate(described_platform("n[0-1] cores=8"), Workload(jobs), scheduler)
    nodes = [start.nodes for start in scheduler.starts]
    assert (nodes[0] == nodes[1]) == (first + second <= 4)
    assert [each.held for each in scheduler.allocated] == [cpus * 2 / 8 for cpus in (first, second)]


def test_other_numbers_of_threads_are_refused() -> None:
    with pytest.raises(InputError, match="expected 1, as others are not followed, got 2"):
        made(1, slurm={"threads_per_core": 2})


TREE = """SelectType=select/linear
TopologyPlugin=topology/tree
NodeName=n[0-5] CPUs=1
PartitionName=p Nodes=ALL Default=YES
"""


@given(st.integers(0, 5), st.integers(1, 6))
def test_the_leaf_of_a_named_node_comes_first(node: int, count: int) -> None:
    text = "SwitchName=a Nodes=n[0-2]\nSwitchName=b Nodes=n[3-5]\nSwitchName=t Switches=a,b"
    configuration = configuration_of(TREE)
    switches = switches_of(text, [each.name for each in configuration.nodes])
    data = json.dumps({"slurm": {"nodelist": f"n{node}"}})
    jobs = [StaticJob("0", 1.0, count, DelayProfile(99.0), 600.0, data)]
    scheduler = SlurmScheduler(msgspec.structs.replace(configuration, switches=switches))
    simulate(described_platform("n[0-5] cores=1"), Workload(jobs), scheduler)
    (start,) = scheduler.starts
    own = {each for each in range(6) if each // 3 == node // 3}
    assert node in start.nodes
    assert len(start.nodes) == count
    assert len({*start.nodes} & own) == min(count, 3)


LIMITED = """SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
EnforcePartLimits={enforced}
NodeName=n[0-1] CPUs=8 RealMemory=8000
NodeName=n2 CPUs=8 RealMemory=16000
PartitionName=all Nodes=n2 Default=YES DefMemPerNode=1000
PartitionName=mem Nodes=n[0-1] MaxMemPerNode=3000 DefMemPerNode=1000
PartitionName=mpc Nodes=n[0-1] MaxMemPerCPU=500 DefMemPerNode=1000
PartitionName=mpd Nodes=n[0-2] MaxMemPerCPU=300 DefMemPerCPU=700
PartitionName=mpe Nodes=n[0-2] MaxMemPerCPU=100 DefMemPerNode=700
PartitionName=cap Nodes=n[0-1] MaxCPUsPerNode=5 DefMemPerNode=1000
"""


def limited(args: str, enforced: str = "NO") -> SlurmJob:
    """A job with options of sbatch, on nodes with limits of CPUs and memory."""
    asked = {"id": 1, "args": args.split(), "user": "u1", "t_returned": 0.0, "run": 1}
    _, _, data = next(jobs_of({"submissions": [asked], "starts": [], "log": []}))
    text = json.dumps(data)
    job = Job(resource_request=data["slurm"].get("nodes", [1])[0], profile_id="", extra_data=text)
    event = JobSubmittedEvent(timestamp=0.0, job_id="w0!1", job=job, submission_time=0.0)
    return job_of(cluster_of(configuration_of(LIMITED.format(enforced=enforced))), event, read_request(text), 1)


@pytest.mark.parametrize(
    ("args", "enforced", "of_task", "mebibytes", "least"),
    [
        ("-n2 -p mpc,all --mem-per-cpu=900", "NO", 2, 450, 0),
        ("-n2 -p all,mpc --mem-per-cpu=900", "NO", 1, 900, 0),
        ("-n2 -p mpd,mpc --mem-per-cpu=900", "ANY", 3, 300, 0),
        ("-n2 -p mpc,all --mem-per-cpu=900", "ALL", 1, 900, 0),
        ("-n2 -p mpc,mpd --mem-per-cpu=900", "ALL", 3, 300, 0),
        ("-n2 -p mpd", "NO", 3, 234, 0),
        ("-n2 -p mpe", "NO", 1, 0, 7),
        ("-n2 -p mpd,mpc --mem=900", "NO", 1, 0, 3),
        ("-n2 -p mpd,mpc --mem=900", "ALL", 1, 0, 2),
        ("-c2 -n3 -p mpc --mem=1900", "NO", 2, 0, 4),
        ("-n2 -c3 -p mpd --mem-per-cpu=500", "NO", 6, 250, 0),
        ("-n1 -N1 -p mem --mem-per-cpu=500", "NO", 1, 500, 0),
    ],
)
def test_more_memory_for_each_cpu_than_is_allowed_gives_more_cpus(
    args: str, enforced: str, of_task: int, mebibytes: int, least: int
) -> None:
    """These are the answers of `scontrol show job` of a Slurm 22.05.8."""
    job = limited(args, enforced)
    assert (job.cpus_per_task, job.memory_per_cpu, job.least_cpus) == (of_task, mebibytes, least)


@pytest.mark.parametrize(
    ("args", "fits"),
    [
        ("-n6 -N1-2 -p mem --mem-per-cpu=900", True),
        ("-n2 -c3 -p mem --mem-per-cpu=900", True),
        ("-n8 -p mem --mem-per-cpu=900", True),
        ("-n4 -N1-2 -p mem --mem-per-cpu=900", True),
        ("-N1 --exclusive -p mem --mem-per-cpu=300", True),
        ("-n2 -c4 -p mem --mem-per-cpu=900", False),
        ("-N2 -n8 -p mem --mem-per-cpu=900", False),
        ("-N2 --ntasks-per-node=4 -p mem --mem-per-cpu=900", False),
        ("-N1 --exclusive -p mem --mem-per-cpu=900", False),
        ("-n4 -N1-1 -p mem --mem-per-cpu=900", False),
        ("-n1 -N1 -p mem --mem=0", False),
        ("-n1 -p mem --mem=3000", True),
        ("-n1 -p mem --mem=3001", False),
        ("-n10 -p cap", True),
    ],
)
def test_a_partition_takes_jobs_up_to_its_memory_of_a_node(args: str, fits: bool) -> None:
    job = limited(args)
    assert job.partitions[0].fits(job.size) == fits


@pytest.mark.parametrize("args", ["-N1 -n6 -p cap", "-N1 --exclusive -p cap", "-n1 -p mpc --mem=5000"])
def test_jobs_that_no_node_of_a_limited_partition_could_have_are_refused(args: str) -> None:
    with pytest.raises(InputError, match="it asks for"):
        limited(args)


def test_the_cores_of_the_system_are_the_last_ones_of_each_socket_in_turn() -> None:
    line = "NodeName={} Sockets=2 CoresPerSocket={} ThreadsPerCore={} {}"
    nodes = [
        line.format("n0", 4, 1, "CoreSpecCount=2"),
        line.format("n1", 2, 2, "CoreSpecCount=1"),
        line.format("n2", 4, 1, "CpuSpecList=0,1,5"),
        line.format("n3", 2, 2, "CpuSpecList=0"),
    ]
    shared = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core"
    found = cluster_of(configuration_of("\n".join([shared, *nodes]))).nodes
    assert [each.cpus for each in found] == [6, 6, 5, 6]
    assert [each.special for each in found] == [0b1000_1000, 0b1000, 0b10_0011, 0b1]
    whole = cluster_of(configuration_of("\n".join(["SelectType=select/linear", *nodes]))).nodes
    assert [each.cpus for each in whole] == [8, 8, 8, 8]  # with whole nodes, jobs have all CPUs
