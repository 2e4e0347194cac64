"""Slurm's second loop in C, beside the same in Python: all plans, starts and `until` are equal."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from batprotocol.model import DelayProfile
from batprotocol.policies.slurm import SlurmScheduler, controller, loops
from batprotocol.policies.slurm.cluster import ClusterPartition, best_fit, bits_of, cluster_of, members
from batprotocol.policies.slurm.queue import NodeShare, SlurmEntry, SlurmJob
from batprotocol.policies.slurm.reservations import PlannedNodes
from batprotocol.policies.slurm.scheduler import Started
from batprotocol.policies.slurm.selection import Linear
from batprotocol.simulator import ExternalEventList, StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.accounting import Accounting, accounting_of
from batprotocol.sites.slurm.configuration import configuration_of, switches_of

WITHOUT_ENGINE = True
pytestmark = pytest.mark.skipif(loops._plan is None, reason="there are no native plans")

DUMP = """Cluster - 'c':Fairshare=1:QOS='normal'
Parent - 'root'
Account - 'a':Fairshare=1
Parent - 'a'
User - 'u0':DefaultAccount='a':Fairshare=1
User - 'u1':DefaultAccount='a':Fairshare=1:MaxJobs=2
User - 'u2':DefaultAccount='a':Fairshare=1
"""
QOS = "Name|GrpJobs|MaxTRESPU|MaxJobsPU\nnormal|{jobs}|node={nodes}|{each}"
PARAMETERS = (
    ("bf_interval=", (5, 20, 60)),
    ("bf_resolution=", (1, 7, 60, 300)),
    ("bf_window=", (1, 5, 30)),
    ("bf_max_job_test=", (1, 3, 10)),
    ("bf_max_job_start=", (1, 2)),
    ("bf_max_job_user=", (1, 3)),
    ("bf_max_job_part=", (2, 5)),
    ("bf_max_job_array_resv=", (1, 2)),
    ("bf_node_space_size=", (2, 4, 8)),
    ("bf_min_age_reserve=", (60,)),
    ("bf_min_prio_reserve=", (2000,)),
    ("bf_job_part_count_reserve=", (1, 3)),
    ("bf_one_resv_per_job", ("",)),
    ("assoc_limit_stop", ("",)),
)


def configuration(draw: random.Random, count: int, cpus: int) -> str:
    """The slurm.conf of a random cluster, with some of the parameters of the loop."""
    first, last = sorted(draw.sample(range(count), 2)) if count > 1 else (0, 0)
    given = [f"{name}{draw.choice(values)}" for name, values in PARAMETERS if draw.random() < 0.15]
    lines = [
        "PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityWeightJobSize=500",
        "PriorityMaxAge=0-1\nPriorityCalcPeriod=1\nAccountingStorageType=accounting_storage/slurmdbd",
        f"SchedulerParameters={','.join(given)}" if given else "",
        "AccountingStorageEnforce=limits" if draw.random() < 0.2 else "",
        "Licenses=matlab:2",
    ]
    if count > 2 and draw.random() < 0.3:
        lines.append(f"NodeName=n[0-{count // 2}] CPUs={cpus} Weight={draw.randint(1, 3)}")
        lines.append(f"NodeName=n[{count // 2 + 1}-{count - 1}] CPUs={draw.choice([cpus, 2 * cpus])}")
    else:
        lines.append(f"NodeName=n[0-{count - 1}] CPUs={cpus}")
    lines.append("PartitionName=all Nodes=ALL Default=YES")
    lines.append(
        f"PartitionName=few Nodes=n[{first}-{last}] PriorityTier={draw.randint(1, 2)} MaxTime={draw.randint(1, 9)}"
    )
    lines.append(
        f"PartitionName=wide Nodes=ALL MinNodes={draw.randint(1, 2)} State={draw.choice(['UP', 'UP', 'DOWN'])}"
    )
    return "\n".join(lines)


def asked(draw: random.Random, number: int, size: int, count: int, has_tree: bool) -> dict[str, Any]:
    """The request of a random job."""
    data: dict[str, Any] = {"user": f"u{draw.randint(0, 2)}"}
    options: dict[str, Any] = {}
    if draw.random() < 0.3:
        data["partition"] = draw.choice(["few", "wide", "all,few", "all,wide"])
    if draw.random() < 0.15:
        data["array"] = f"{draw.randint(900, 901)}_{number}" + draw.choice(["", "%1", "%2"])
    if draw.random() < 0.1:
        data["licenses"] = "matlab:1"
    if draw.random() < 0.1:
        data["dependency"] = f"afterany:{draw.randrange(number)}" if number else ""
    if draw.random() < 0.1:
        data["contiguous"] = True
    if draw.random() < 0.15:
        options[draw.choice(["nodelist", "exclude", "exclude"])] = f"n{draw.randrange(count)}"
    if draw.random() < 0.15:
        options["nodes"] = [size, min(size + draw.randint(0, 3), count)]
    if draw.random() < 0.1:
        options["tasks"] = draw.randint(1, 2 * size)
    if draw.random() < 0.1:
        options["time_min"] = draw.randint(1, 120)
    if has_tree and draw.random() < 0.2:
        options["switches"] = f"1@0:{draw.randint(10, 59)}"
    return {key: value for key, value in data.items() if value} | ({"slurm": options} if options else {})


def workload(
    draw: random.Random, count: int, has_tree: bool, most: int
) -> tuple[list[StaticJob], list[ExternalEventList]]:
    """Random jobs, and nodes that fail, come back or are drained, and commands."""
    jobs, span = [], draw.choice([20, 100, 400])
    for number in range(draw.randint(1, most)):
        runs, size = float(draw.randint(1, 300)), min(int(2 ** draw.uniform(0, 7)), count)
        data = json.dumps(asked(draw, number, size, count, has_tree))
        limit = runs * draw.uniform(0.7, 4)
        jobs.append(StaticJob(str(number), float(draw.randint(0, span)), size, DelayProfile(runs), limit, data))
    events = []
    for _ in range(draw.choice([0, 0, 2, 4])):
        node, job = draw.randrange(count), draw.randrange(len(jobs))
        text = draw.choice(
            [
                {"hosts": str(node), "state": draw.choice(["down", "drain", "up"])},
                {"slurm": f"scontrol update JobId={job} TimeLimit={draw.randint(1, 9)}"},
                {"slurm": f"scontrol update JobId={job} Nice={draw.randint(-500, 500)}"},
                {"slurm": f"scontrol hold {job}"},
            ]
        )
        events.append((float(draw.randint(0, span)), json.dumps(text)))
    return jobs, [ExternalEventList.of(sorted(events), corrected=True)] if events else []


@contextmanager
def noted(is_kept: bool, is_python: bool) -> Iterator[list[Any]]:
    """What each run of backfill does and plans, while simulations run, as the list that this returns.

    Args:
        is_kept: whether plans live from one run to the next; else, all are made anew.
        is_python: whether plans of whole nodes are made in Python.
    """
    seen: list[Any] = []

    def ran(queue: Any, starter: Any, parameters: Any, now: int, epoch: int, *, is_quick: bool, kept: Any) -> Any:
        waiting = [entry.job for _, _, entry in queue.snapshot()]
        kept = kept if is_kept else None
        result = loops.run_backfill(queue, starter, parameters, now, epoch, is_quick=is_quick, kept=kept)
        seen.append((now, result, [(job.id, job.planned, job.planned_nodes, job.reason) for job in waiting]))
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controller, "run_backfill", ran)
        if is_python:
            patch.setattr(loops, "_plan", None)
        yield seen


def with_components(draw: random.Random, jobs: list[StaticJob]) -> list[StaticJob]:
    """The jobs, some of them as heterogeneous ones of several components."""
    found = []
    for each in jobs:
        data = json.loads(each.extra_data or "{}")
        count = draw.choice([1, 1, 2, 3]) if "array" not in data else 1
        for offset in range(count if count > 1 else 0):
            data["slurm"] = data.get("slurm", {}) | {"hetjob": f"{each.id}+{offset}/{count}"}
            size, time = max(each.resource_request // draw.choice([1, 2]), 1), draw.uniform(60, 600)
            found.append(
                StaticJob(f"{each.id}+{offset}", each.submission_time, size, each.profile, time, json.dumps(data))
            )
        found += [each] if count == 1 else []
    return found


def played(seed: int, is_python: bool, most: int, *, has_components: bool = False) -> tuple[list[Started], list[Any]]:
    """The starts and the plans of a random simulation."""
    draw = random.Random(seed)
    count, cpus = draw.choice([1, 5, 8, 63, 64, 65, 130]), draw.choice([1, 1, 2])
    text, has_tree = configuration(draw, count, cpus), count > 4 and draw.random() < 0.2
    site = configuration_of(text)
    if has_tree:
        leaves = f"SwitchName=a Nodes=n[0-{count // 2}]\nSwitchName=b Nodes=n[{count // 2 + 1}-{count - 1}]"
        site = replace(site, topology="tree", switches=switches_of(f"{leaves}\nSwitchName=top Switches=a,b"))
    jobs, events = workload(draw, count, has_tree, most)
    rows = QOS.format(jobs=draw.randint(1, 9), nodes=draw.randint(1, count), each=draw.randint(1, 4))
    accounting = accounting_of([("dump", DUMP), ("qos", rows)]) if "Enforce=limits" in text else Accounting()
    if has_components:
        jobs = with_components(draw, jobs)
    scheduler = SlurmScheduler(site, accounting=accounting)
    with noted(not is_python, is_python) as plans:  # in Python, all plans are made anew
        simulate(described_platform(f"n[0-{count - 1}] cores=2"), Workload(jobs), scheduler, external_events=events)
    return scheduler.starts, plans


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@example(69)  # a job that waits for few switches never gets enough nodes
@example(107)  # such a job is held
@given(st.integers(0, 10**9))
def test_plans_in_c_are_those_in_python(seed: int) -> None:
    assert played(seed, False, 20) == played(seed, True, 20)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_plans_of_components_are_those_in_python(seed: int) -> None:
    assert played(seed, False, 12, has_components=True) == played(seed, True, 12, has_components=True)


@pytest.mark.minutes
@settings(max_examples=5_000, deadline=None)
@given(st.integers(0, 10**9))
def test_many_plans_in_c_are_those_in_python(seed: int) -> None:
    assert played(seed, False, 40) == played(seed, True, 40)


# The operations of a plan


WIDTH = 70
SETS = st.sets(st.integers(0, WIDTH - 1)).map(bits_of)
TIMES = st.integers(0, 120)


@settings(max_examples=200, deadline=None)
@given(SETS, st.integers(1, 20), st.lists(st.tuples(TIMES, st.integers(0, 60), SETS), max_size=12), st.data())
def test_a_plan_in_c_has_the_operations_of_one_in_python(
    nodes: int, resolution: int, taken: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    assert loops._plan is not None
    plain, plan = PlannedNodes(0, 100, nodes, resolution), loops._plan.Plan(0, 100, nodes, resolution, WIDTH)
    linear = Linear(cluster_of(configuration_of(f"NodeName=n[0-{WIDTH - 1}]\nPartitionName=p Nodes=ALL")))
    left = (1 << WIDTH) - 1
    for number, (begin, length, each) in enumerate(taken):
        plain.reserve(begin, begin + length, each)
        plan.reserve(begin, begin + length, each)
        if each & left:  # the same nodes are those of a running job
            job = SlurmJob(str(number), number, 0.0, (), 10)
            job.placement, job.end = NodeShare(each & left, {}), float(begin)
            linear.take(job)
            left &= ~each
    start, length, wanted = data.draw(TIMES), data.draw(st.integers(0, 130)), data.draw(SETS)
    count = data.draw(st.integers(1, 8))
    assert len(plan) == len(plain)
    assert plan.second_begin() == plain.second_begin()
    assert plan.begin_after(start) == plain.begin_after(start)
    assert plan.overlaps(start, start + length, wanted) == plain.overlaps(start, start + length, wanted)
    assert plan.free_until(length, wanted, count) == plain.free_until(length, wanted, count)
    assert plan.usable(start, start + length, wanted) == plain.usable(start, start + length, wanted)
    expected = plain.next_room(start, length, wanted, count, linear.frees())
    assert plan.next_room(start, length, wanted, count, linear.releases()) == expected


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((0, 100, -1, 1, 8), "negative"),
        ((0, 100, 1 << 64, 1, 8), "too big"),
        ((0, 2**60, 1, 1, 8), "less than 2.52 seconds"),
        ((0, 100, 1, 1, 0), "1 to 2.24 nodes"),
        ((0, 100, 1.5, 1, 8), "whole number"),
    ],
)
def test_what_is_no_plan_is_an_error(arguments: tuple[Any, ...], why: str) -> None:
    assert loops._plan is not None
    with pytest.raises((OverflowError, TypeError, ValueError), match=why):
        loops._plan.Plan(*arguments)


def test_a_plan_expects_releases_of_as_many_nodes_and_entries() -> None:
    assert loops._plan is not None
    plan, releases = loops._plan.Plan(0, 100, 1, 1, 8), loops._plan.Releases(100, [], 1)
    settings = (0, 0, False, False, False, False, 1.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="as many nodes"):
        plan.next_room(0, 1, 1, 1, releases)
    with pytest.raises(ValueError, match="as many nodes"):
        plan.run(None, [], 0, releases, 1, 0, settings, (0, 0, False, 0.0), 0)
    with pytest.raises(TypeError, match="entries of a queue"):
        plan.unplan([(1, 2, "entry")])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="order of their ends"):
        loops._plan.Releases(8, [(2.0, 1, 1), (1.0, 2, 2)], 1)


def test_copies_make_their_plans_anew() -> None:
    assert loops._plan is not None
    entry = SlurmEntry(SlurmJob("0", 0, 0.0, (), 10), ClusterPartition("p", 1), 0, 0)
    entry.row = loops._plan.Plan(0, 100, 1, 1, 8)
    assert copy.deepcopy(entry).row is None


@settings(max_examples=100)
@given(SETS, st.integers(1, 30))
def test_the_nodes_of_a_job_are_the_best_fit(nodes: int, count: int) -> None:
    """A job that waits for the end of one that has all nodes is planned on the best fit of those that it may have."""
    cluster = cluster_of(configuration_of(f"NodeName=n[0-{WIDTH - 1}]\nPartitionName=p Nodes=ALL"))
    found = best_fit(nodes, count)
    held = SlurmJob("held", 1, 0.0, cluster.partitions, 10)
    held.placement, held.end = NodeShare((1 << WIDTH) - 1, {}), 600.0
    job = SlurmJob("job", 2, 0.0, cluster.partitions, 10)
    job.allowed, job.min_nodes, job.tasks, job.priority = nodes, count, 1, {"p": 1}
    job.eligible = 0.0
    starter = _Starter(Linear(cluster), held)
    queue = loops.SlurmQueue()
    queue.add(job, cluster.partitions)
    loops.run_backfill(queue, starter, cluster.loops, 0, 0)  # type: ignore[arg-type]
    assert (members(job.planned_nodes) if job.planned else None) == (members(found) if found is not None else None)


class _Starter:
    """All nodes have one job."""

    preempts, second, completing, idle, open = False, 0, 0, 0, 0

    def __init__(self, linear: Linear, job: SlurmJob) -> None:
        linear.take(job)
        self.whole_nodes, self.available = linear, (1 << WIDTH) - 1
        self.rules, self.reservations = loops.SlurmRules(), loops.NodeReservations(60, 0)
