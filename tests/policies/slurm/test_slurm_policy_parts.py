"""The parts of Slurm's scheduler, each against a simpler way to the same."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import pytest
from commands import run
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from batprotocol.model import DelayProfile, Host, HostProperty
from batprotocol.policies import PolicyNameError, by_name
from batprotocol.policies.names import scheduler_named
from batprotocol.policies.slurm import Phases, SlurmScheduler, slurm_files, with_slurm_files
from batprotocol.policies.slurm.clock import LoopClock
from batprotocol.policies.slurm.cluster import best_fit, bits_of, cluster_of, lowest, members, runs
from batprotocol.policies.slurm.commands import read_command
from batprotocol.policies.slurm.queue import NodeShare, SlurmJob
from batprotocol.policies.slurm.reservations import NodeReservation, NodeReservations, PlannedNodes
from batprotocol.policies.slurm.resources import demand_of, tasks_dealt
from batprotocol.policies.slurm.scheduler import with_added_hosts
from batprotocol.policies.slurm.selection import Linear
from batprotocol.policies.slurm.state import selection_of
from batprotocol.simulator import StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.configuration import SchedulerParameters, configuration_of, switches_of
from batprotocol.testing import conformance

WITHOUT_ENGINE = True

SETS = st.sets(st.integers(0, 30)).map(bits_of)


@settings(max_examples=60)
@given(SETS, st.integers(1, 12))
def test_best_fit_is_the_smallest_run_that_is_enough(bits: int, count: int) -> None:
    found = best_fit(bits, count)
    blocks = [list(range(first, first + length)) for first, length in runs(bits)]
    assert [node for block in blocks for node in block] == members(bits)
    if len(members(bits)) < count:
        assert found is None
        return
    assert found is not None
    assert found & ~bits == 0
    assert len(members(found)) == count
    enough = [block for block in blocks if len(block) >= count]
    if enough:
        assert members(found) == min(enough, key=len)[:count]
    else:
        largest = max(blocks, key=len)
        assert set(largest) <= set(members(found))


LEAVES = [set(range(4 * leaf, 4 * leaf + 4)) for leaf in range(3)]
AT_LEAVES = "\n".join(f"SwitchName=s{leaf} Nodes=n[{4 * leaf}-{4 * leaf + 3}]" for leaf in range(3))
AT_LEAVES += "\nSwitchName=t Switches=s[0-2]"


@pytest.mark.parametrize("plugin", ["linear", "cons_tres"])
@pytest.mark.parametrize("has_tree", [False, True])
@given(
    free=st.sets(st.integers(0, 11)),
    least=st.integers(1, 12),
    more=st.integers(0, 11),
    tasks=st.integers(1, 16),
    takes_least=st.booleans(),
    is_required=st.booleans(),
)
def test_a_job_gets_the_most_nodes_of_its_range(
    plugin: str, has_tree: bool, free: set[int], least: int, more: int, tasks: int, takes_least: bool, is_required: bool
) -> None:
    """Each node has 4 CPUs. With --use-min-nodes, it gets no more than it needs.

    With a tree, they are at one leaf: at the smallest one that has as many as it needs, with cons_tres as it asks for.
    """
    conf = configuration_of(f"SelectType=select/{plugin}\nNodeName=n[0-11] CPUs=4\nPartitionName=p Nodes=ALL")
    if has_tree:
        switches = switches_of(AT_LEAVES, [node.name for node in conf.nodes])
        conf = replace(conf, topology="tree", switches=switches)
    cluster = cluster_of(conf)
    selection = selection_of(cluster, 0, is_quick=True)
    job = SlurmJob("1", 1, 0.0, cluster.partitions, 10)
    job.min_nodes, job.max_nodes, job.tasks, job.takes_least = least, least + more, tasks, takes_least
    job.required = bits_of(sorted(free)[-1:]) if is_required and not has_tree else 0
    found = selection.now(job, cluster.partitions[0], bits_of(free))
    needed = max(least, -(-tasks // 4))
    if needed > min(len(free), least + more):
        assert found is None
        return
    assert found is not None
    nodes = set(members(found.nodes))
    assert nodes <= free
    assert found.nodes & job.required == job.required
    wanted = needed if plugin == "linear" else least if takes_least else least + more
    fitting = [leaf & free for leaf in LEAVES if len(leaf & free) >= wanted]
    if has_tree and fitting and needed <= wanted:
        free = min(fitting, key=len)
        assert any(nodes <= leaf for leaf in LEAVES)
    assert len(nodes) == (needed if takes_least else min(len(free), least + more))


@pytest.mark.parametrize("busy", [0, 100])
def test_the_patience_of_a_job_for_few_switches_begins_when_it_is_submitted(busy: int) -> None:
    """The nodes that jobs have in between do not matter."""
    conf = configuration_of("NodeName=n[0-11]\nPartitionName=p Nodes=ALL Default=YES")
    conf = replace(conf, topology="tree", switches=switches_of(AT_LEAVES, [node.name for node in conf.nodes]))
    patient = json.dumps({"slurm": {"switches": "1@4"}})
    jobs = [StaticJob("6", 7.5, 6, DelayProfile(50.0), 600.0, patient)]
    jobs += [StaticJob("12", 6.0, 12, DelayProfile(float(busy)), 600.0)] if busy else []
    scheduler = SlurmScheduler(conf)
    simulate(described_platform("n[0-11]"), Workload(jobs), scheduler)
    start = next(each for each in scheduler.starts if each.job_id.endswith("!6"))
    assert 247 <= start.time <= 247 + 60


@pytest.mark.parametrize(
    ("parameters", "tasks_per_node", "cpus"),
    [("CR_Core", 0, {0: 3, 1: 2}), ("CR_Core_Memory", 0, {0: 2, 1: 4}), ("CR_Core", 1, {0: 2, 1: 2, 2: 2})],
)
def test_tasks_of_several_cpus_on_a_node_with_an_odd_number_of_them(
    parameters: str, tasks_per_node: int, cpus: dict[int, int]
) -> None:
    """`-n3 -c2` on nodes with 3 and 4 free CPUs: a real Slurm 22.05 gave 3 + 2."""
    lines = ["SelectType=select/cons_tres", f"SelectTypeParameters={parameters}", "NodeName=n0 CPUs=3 RealMemory=9000"]
    lines += ["NodeName=n[1-2] CPUs=4 RealMemory=9000", "PartitionName=p Nodes=ALL DefMemPerCPU=100"]
    cluster = cluster_of(configuration_of("\n".join(lines)))
    job = SlurmJob("1", 1, 0.0, cluster.partitions, 10)
    job.tasks, job.cpus_per_task, job.tasks_per_node, job.max_nodes = 3, 2, tasks_per_node, math.inf
    job.min_nodes = 3 if tasks_per_node else 1
    nodes = 0b111 if tasks_per_node else 0b011
    found = selection_of(cluster, 0, is_quick=True).now(job, cluster.partitions[0], nodes)
    assert found is not None
    assert found.cpus == cpus


@given(st.dictionaries(st.integers(0, 9), st.integers(1, 16), min_size=1), st.integers(1, 40), st.integers(1, 5))
def test_tasks_are_dealt_in_turn(chosen: dict[int, int], tasks: int, step: int) -> None:
    """No node gives more than it has, each has a task, and tasks take all or their CPUs."""
    dealt = tasks_dealt(chosen, tasks, step)
    assert list(dealt) == list(chosen)
    assert all(0 <= cpus <= chosen[node] for node, cpus in dealt.items())
    assert sum(dealt.values()) <= tasks * step
    assert sum(cpus > 0 for cpus in dealt.values()) == min(tasks, len(chosen))
    if all(cpus % step == 0 for cpus in chosen.values()):
        assert sum(dealt.values()) == min(sum(chosen.values()), tasks * step)


@given(SETS, st.integers(0, 5))
def test_the_lowest_nodes(bits: int, count: int) -> None:
    if len(members(bits)) >= count:
        assert members(lowest(bits, count)) == members(bits)[:count]


RESERVATIONS = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 60), SETS), max_size=8)


@settings(max_examples=60)
@given(RESERVATIONS, st.integers(0, 99), st.integers(1, 60), SETS)
def test_space_is_what_each_second_says(reserved: list[tuple[int, int, int]], at: int, length: int, nodes: int) -> None:
    """The oracle has the nodes of each second."""
    everything = (1 << 31) - 1
    space, seconds = PlannedNodes(0, 100, everything, 5), [everything] * 100
    for begin, duration, taken in reserved:
        space.reserve(begin, begin + duration, taken)
        for second in range(begin, min(max(begin + duration, begin + 5), 100)):
            seconds[second] &= ~taken
    usable, later = space.usable(at, at + length, nodes)
    expected = nodes
    for second in range(at, min(at + length + 1, 100)):
        expected &= seconds[second]
    assert usable == expected
    assert later == 0 or at < later < 100
    taken_then = [second for second in range(at, min(at + length, 100)) if nodes & ~seconds[second]]
    assert space.overlaps(at, at + length, nodes) == bool(taken_then)


CLUSTER = cluster_of(configuration_of("NodeName=n[0-11] CPUs=1\nPartitionName=p Nodes=ALL"))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 500)), max_size=8), st.integers(1, 12), SETS)
def test_the_earliest_start_is_found_by_halves(running: list[tuple[int, int]], count: int, nodes: int) -> None:
    found = []
    for is_quick in (True, False):
        selection = Linear(CLUSTER, is_quick=is_quick)
        partition, free = CLUSTER.partitions[0], 0
        for number, (size, end) in enumerate(running):
            if free + size <= 12:
                job = SlurmJob(str(number), number, 0.0, (partition,), 10)
                job.placement, job.end = NodeShare(((1 << size) - 1) << free, {}), float(end)
                selection.take(job)
                free += size
        waiting = SlurmJob("x", 99, 0.0, (partition,), 10)
        waiting.min_nodes = count
        chance = selection.earliest(waiting, partition, nodes & 0xFFF, 100)
        found.append(None if chance is None else (chance.start, chance.placement.nodes))
    assert found[0] == found[1]


@settings(max_examples=50)
@given(st.lists(st.floats(0, 5000), min_size=1, max_size=30))
def test_the_first_loop_keeps_its_distance(times: list[float]) -> None:
    clock, runs_at, now = LoopClock(SchedulerParameters(), Phases(), backfills=True), [], 0.0
    for time in sorted(times):
        while clock.main(now)[0] <= time:
            now, is_full = clock.main(now)
            clock.ran_main(now, is_full=is_full)
            runs_at.append((now, is_full))
        clock.ask(time)
    for (earlier, _), (later, is_full) in pairwise(runs_at):
        assert later - earlier >= 3 or is_full
        assert later - earlier <= 60
        assert math.isclose(later % 1, 0.5)


@settings(max_examples=30)
@given(st.lists(st.floats(0, 500), min_size=1, max_size=30), st.floats(4, 20))
def test_the_first_loop_keeps_the_distance_of_sched_min_interval(times: list[float], least: float) -> None:
    """Also from runs at once, as after kills: those come in turn here."""
    clock, runs_at, now = (
        LoopClock(SchedulerParameters(sched_min_interval=least), Phases(), backfills=True),
        list[float](),
        0.0,
    )
    for place, time in enumerate(sorted(times)):
        while clock.main(now)[0] <= time:
            now, is_full = clock.main(now)
            clock.ran_main(now, is_full=is_full)
            runs_at.append(now)
        if place % 2:
            clock.ask(time)
        elif clock.runs_at_once(time):
            runs_at.append(time)
    assert all(later - earlier >= least - 1e-6 for earlier, later in pairwise(runs_at))


WEIGHTS = [
    ("n[0-1] Weight=10\nn[2-3] Weight=20\nn[4-6] Weight=1\nn[7-9] Weight=10", {0, 1, 5, 6, 7}, 2, {1, 5}),
    ("n[0-3] Weight=20\nn[4-6] Weight=10\nn[7-9] Weight=10", {0, 1, 2, 5, 8, 9}, 4, {1, 5, 8, 9}),
    ("n[0-2] Weight=20\nn[3-4] Weight=10\nn[5-8] Weight=10", {1, 3, 6, 7}, 2, {1, 3}),
]


@pytest.mark.parametrize(("nodes", "free", "count", "expected"), WEIGHTS)
def test_nodes_beside_the_required_one_are_those_that_a_real_slurm_gave(
    nodes: str, free: set[int], count: int, expected: set[int]
) -> None:
    """The weight of n1, which is required, does not matter."""
    lines = "\n".join(f"NodeName={line} CPUs=1" for line in nodes.split("\n"))
    cluster = cluster_of(configuration_of(f"{lines}\nPartitionName=p Nodes=ALL"))
    job = SlurmJob("1", 1, 0.0, cluster.partitions, 10)
    job.min_nodes, job.required = count, 1 << 1
    found = Linear(cluster).now(job, cluster.partitions[0], bits_of(free))
    assert found is not None
    assert set(members(found.nodes)) == expected


def test_known_runs_of_the_loops_are_made() -> None:
    """A run that is due at another time than in a real controller is made at its next one, if that is soon."""
    clock = LoopClock(
        SchedulerParameters(), Phases(ticks=(10.5, 16.0, 40.0), full=0.5, cycles=(31.0, 75.0)), backfills=True
    )
    clock.ran_main(10.5, is_full=False)
    clock.ask(11.0)
    assert clock.main(11.0) == (16.0, False)  # it is due at 13.5
    clock.ran_main(16.0, is_full=False)
    clock.ask(20.0)
    assert 20 <= clock.main(20.0)[0] < 21.2  # 40 s is too late
    assert clock.backfill() == 31.0  # it is due at 15
    clock.ran_backfill(31.0, is_new=True)
    assert clock.backfill() == 75.0
    clock.ran_backfill(75.0, is_new=True)
    assert clock.backfill() == pytest.approx(105.01)


def test_known_checks_of_time_limits_are_made() -> None:
    """The second of a check depends on the ticks before it, so that those that are known come before computed ones."""
    clock = LoopClock(SchedulerParameters(), Phases(limits=0.5, checks=(60.9, 92.0)), backfills=True)
    assert clock.limits(20.0, 0.0) == 30.5  # computed
    assert clock.limits(60.0, 31.0) == 60.9
    assert clock.limits(61.0, 31.0) == 92.0  # computed from 60.9, it would be at 90.5
    assert clock.limits(92.0, 61.0) == 92.0
    assert clock.limits(93.0, 92.5) == 122.5


def test_known_checks_of_reservations_are_made() -> None:
    """The first one that is known at the begin of a reservation or after it, if it is soon; else it is computed."""
    clock = LoopClock(SchedulerParameters(), Phases(seen=(20.5, 60.5)), backfills=True)
    assert clock.reservations(20.5, 10.0) == 20.5
    assert clock.reservations(20.4, 10.0) == 20.5
    assert clock.reservations(59.9, 10.0) == 60.5
    assert 20.6 <= clock.reservations(20.6, 10.0) < 40.0
    assert clock.reservations(math.inf, 10.0) == math.inf
    clock.ran_reservations(20.5)
    assert 20.5 < clock.reservations(20.0, 20.5) < 40.0


def test_names(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("NodeName=n[0-3]\nPartitionName=p Nodes=ALL Default=YES\n")
    (tmp_path / "wrong.conf").write_text("NodeName=n[0-3]\nPartitionName=p Nodes=n[2-9]\n")
    (tmp_path / "bare.conf").write_text("NodeName=n[0-3]\n")
    (tmp_path / "empty.conf").write_text("")
    found = scheduler_named("slurm:slurm.conf?tick=0.25&limits=7", str(tmp_path))()
    assert found.phases.ticks == (0.25,)  # type: ignore[attr-defined]
    assert slurm_files("slurm:a,b?tick=1") == ["a", "b"]
    assert with_slurm_files("slurm:x/a?tick=1", ["a"]) == "slurm:a?tick=1"
    for name, part in {
        "slurm:": "expected a name such as slurm:slurm.conf",
        "slurm:absent.conf": "cannot read",
        "slurm:wrong.conf": "^/.*/wrong.conf:2: Nodes: there is no node 'n4'",
        "slurm:bare.conf": "^/.*/bare.conf: expected a line with PartitionName, such as 'PartitionName=p",
        "slurm:empty.conf": "^/.*/empty.conf: expected a line with NodeName, such as 'NodeName=n",
        "slurm:slurm.conf?tock=1": "expected tick, full",
        "slurm:slurm.conf?tick=soon": "expected tick, full",
        "slurm:slurm.conf?epilog=-1": "epilog is a length of time, expected >= 0, got -1",
    }.items():
        with pytest.raises(PolicyNameError, match=part):
            scheduler_named(name, str(tmp_path))


CONF = "NodeName=n[0-31]\nPartitionName=p Nodes=ALL Default=YES\nPowerPlugin=power/x\n"


@pytest.mark.slow
def test_commands_take_it(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    done = run("simulate", "--hosts", "n[0-31]", f"slurm:{path}")
    assert done.status == 0
    assert "succeeded" in done.out
    assert getattr(by_name, f"slurm={path}")().configuration.nodes[3].name == "n3"
    assert done.err.count(f"{path}:3: PowerPlugin is not followed") == 1


@pytest.mark.slow
@pytest.mark.parametrize("ids", [["a2", "a10", "b1"], ["5_10", "5_11", "40"], ["9", "10", "x"]])
def test_jobs_of_one_time_come_in_the_order_of_other_policies(ids: list[str]) -> None:
    jobs = [StaticJob(each, 0.0, 1, DelayProfile(10.0), walltime=60.0) for each in reversed(ids)]
    configuration = configuration_of("PriorityType=priority/basic\nNodeName=n0\nPartitionName=p Nodes=n0 Default=YES")
    for scheduler in (SlurmScheduler(configuration), scheduler_named("fcfs")()):
        result = simulate(described_platform("n0"), Workload(jobs), scheduler)
        started = sorted(result.jobs, key=lambda job: job.starting_time or 0.0)
        assert [job.job_id.rpartition("!")[2] for job in started] == ids


def test_it_breaks_no_rule(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    report = conformance.check(scheduler_named("slurm:slurm.conf", str(tmp_path)), examples=10)
    assert report.simulations == 10


def test_commands() -> None:
    assert read_command('{"slurm": "scontrol hold 7"}') == ["scontrol", "hold", "7"]
    assert read_command("the cooling fails") is None
    assert read_command('{"slurm": {}}'.replace("{}", "null")) is None


@given(
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(1, 9),
    st.integers(1, 4),
    st.sampled_from([(0, 0), (500, 0), (0, 70)]),
    st.sampled_from(["", "DefMemPerNode=300", "DefMemPerCPU=40"]),
    st.sampled_from(["CR_Core", "CR_Core_Memory"]),
    st.booleans(),
)
def test_the_share_of_nodes_that_a_job_takes(
    step: int, each: int, tasks: int, nodes: int, asked: tuple[int, int], usual: str, counted: str, is_alone: bool
) -> None:
    """Memory counts only if it is a resource: that of the job, or the partition's, or all of a node."""
    conf = f"SelectType=select/cons_tres\nSelectTypeParameters={counted}\nNodeName=n[0-3] CPUs=16\n"
    cluster = cluster_of(configuration_of(f"{conf}PartitionName=p Nodes=ALL {usual}\n"))
    (partition,) = cluster.partitions
    job = SlurmJob("1", 1, 0.0, (partition,), 10)
    job.tasks, job.tasks_per_node, job.cpus_per_task, job.min_nodes = tasks, each, step, nodes
    (job.memory, job.memory_per_cpu), job.is_exclusive = asked, is_alone
    found = demand_of(job, partition, cluster)
    assert (found.is_whole, found.step, found.cpus) == (is_alone, step, max(tasks * step, nodes))
    assert found.least == (each * step if each else step)
    otherwise = {"": (-1, 0), "DefMemPerNode=300": (300, 0), "DefMemPerCPU=40": (0, 40)}
    memory = otherwise[usual] if asked == (0, 0) else asked
    assert (found.memory, found.memory_per_cpu) == (memory if counted.endswith("Memory") else (0, 0))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=4), st.lists(st.integers(0, 20), max_size=8))
def test_a_reservation_is_seen_once_from_its_begin_until_before_its_end(
    spans: list[tuple[int, int]], seconds: list[int]
) -> None:
    known, seen = NodeReservations(60, 0), set[str]()
    for number, (begin, length) in enumerate(spans):
        known.add(NodeReservation.of(f"r{number}", 1 << number, begin, begin + length, users=("u",)))
    for second in sorted(seconds):
        now = {f"r{number}" for number, (begin, length) in enumerate(spans) if begin <= second < begin + length}
        assert known.see(second) == bool(now - seen)
        seen |= now
        assert [each.name for each in known.over(second)] == [
            f"r{number}" for number, (begin, length) in enumerate(spans) if begin + length <= second
        ]
        later = [max(begin, second) for begin, length in spans if begin + length > second]
        assert known.next_seen(second) == min(later, default=math.inf)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 400), st.integers(1, 200)), max_size=5),
    st.integers(0, 15),
    st.integers(0, 300),
    st.integers(1, 4),
    st.booleans(),
)
def test_a_job_with_whole_nodes_waits_for_reservations_of_nodes_that_it_requires(
    spans: list[tuple[int, int, int]], required: int, begin: int, minutes: int, is_whole: bool
) -> None:
    """A recorded Slurm planned such a job at the very end of a reservation, and did not round it up."""
    known, job = NodeReservations(60, 0, is_linear=is_whole), SlurmJob("w0!1", 1, 0.0, (), minutes)
    job.required = required
    for number, (node, first, length) in enumerate(spans):
        known.add(NodeReservation.of(f"r{number}", 1 << node, first, first + length, users=("u",)))
    mine = [(first, first + length) for node, first, length in spans if required >> node & 1 and is_whole]
    free = (
        second
        for second in range(begin, 1000)
        if not any(first < second + 60 * minutes and second < last for first, last in mine)
    )
    assert known.after_required(job, begin, minutes) == next(free)


@given(
    st.dictionaries(st.sampled_from(["n0", "n1", "n2", "a", "b", "c"]), st.sampled_from(["", "n0", "n1", "n2", "x"])),
    st.booleans(),
)
def test_added_hosts_are_like_their_nodes(hosts: dict[str, str], has_switches: bool) -> None:
    """Those that are new, and like a node that there is, are in its partitions and at its switch, behind its nodes."""
    switches = "SwitchName=s0 Nodes=n0\nSwitchName=s1 Nodes=n[1-2]\n" if has_switches else ""
    conf = "NodeName=n[0-1] CPUs=4\nNodeName=n2 CPUs=8\nPartitionName=p Nodes=n[1-2]\nPartitionName=q Nodes=n0\n"
    before = replace(configuration_of(conf), switches=switches_of(switches))
    given = [
        Host(id=number, name=name, properties=(HostProperty("like", like),) if like else (), computation_speed=(1.0,))
        for number, (name, like) in enumerate(hosts.items())
    ]
    after = with_added_hosts(before, given)
    added = {name: like for name, like in hosts.items() if name not in ("n0", "n1", "n2") and like.startswith("n")}
    assert {node.name: node.cpus for node in after.nodes} == {
        **{node.name: node.cpus for node in before.nodes},
        **{name: {"n0": 4, "n1": 4, "n2": 8}[like] for name, like in added.items()},
    }
    for old, new in zip([*before.partitions, *before.switches], [*after.partitions, *after.switches], strict=True):
        assert new.nodes[: len(old.nodes)] == old.nodes
        assert sorted(new.nodes[len(old.nodes) :]) == sorted(name for name, like in added.items() if like in old.nodes)
    assert with_added_hosts(before, given[:0]) is before
