"""Jobs that are suspended and go on: by preemption, in turns, and by operators.

The recordings of a real Slurm are the oracle. Properties hold for random workloads: a suspended job does all of its
work, keeps its memory, and ends.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slurm_recordings import random_runs

from batprotocol.model import DelayProfile, FinalJobState, ParallelTaskHomogeneousProfile, ParallelTaskProfile, Profile
from batprotocol.policies.slurm import SlurmScheduler
from batprotocol.policies.slurm.cluster import ClusterNode, ClusterPartition, GangUnit
from batprotocol.policies.slurm.queue import NodeShare, SlurmJob
from batprotocol.policies.slurm.suspension import GangScheduler
from batprotocol.results.result import Result
from batprotocol.results.times import joined_rows
from batprotocol.simulator import ExternalEventList, StaticJob, Workload, described_platform, simulate
from batprotocol.sites.slurm.configuration import configuration_of
from batprotocol.studies.recorded import judged, recorded_schedule, replay, replayed_schedule
from batprotocol.workloads.requests.usage import submitted_id

WITHOUT_ENGINE = True

FLOORS = {
    "suspend": (0.99, 0.99, 0.99),
    "suspend_cores": (0.99, 0.99, 0.99),
    "suspended": (0.99, 0.99, 0.99),
    "suspend_qos": (0.7, 0.95, 0.95),
    "gang": (0.4, 0.8, 0.6),
}
"""For each kind of recording, the shares of starts within 3 s, of pairs in order, and of starts on the same nodes."""


@pytest.mark.parametrize("kind", FLOORS)
def test_recordings_are_repeated(kind: str) -> None:
    sums: Counter[str] = Counter()
    for run in random_runs(kind):
        verdict = judged(run, replay(run).starts)
        sums.update(verdict._asdict() | {"misses": 0})
    found = sums["near"] / sums["starts"], sums["ordered"] / sums["pairs"], sums["placed"] / sums["starts"]
    assert all(share >= floor for share, floor in zip(found, FLOORS[kind], strict=True)), found


def test_a_part_of_a_run_is_no_start() -> None:
    """Schedules have one row for each start, whether its job was suspended or not."""
    for run in random_runs("suspend"):
        assert any(isinstance(each.get("SuspendTime"), float) for each in run["result_jobs"])
        again = replay(run)
        ours, real = replayed_schedule(again, "replay"), recorded_schedule(run, "recorded")
        assert len(ours.jobs) == len(again.starts) == len(real.jobs) == len(run["starts"])
        ends = {row.job_id: (row.starting_time or 0.0) + (row.execution_time or 0.0) for row in real.jobs}
        assert {row.job_id: row.profile for row in ours.jobs} == {row.job_id: row.profile for row in real.jobs}
        for row in ours.jobs:
            assert (row.starting_time or 0.0) + (row.execution_time or 0.0) == pytest.approx(ends[row.job_id], abs=3)


class Made(NamedTuple):
    """A simulation."""

    scheduler: SlurmScheduler
    result: Result
    runs: dict[str, float]


TIERS = "PartitionName=low Nodes=ALL Default=YES\nPartitionName=high Nodes=n[1-4] PriorityTier=9"
SUSPENDS = "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\nSchedulerTimeSlice=20"
SHARED = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100"
KINDS = {
    "nodes": (SUSPENDS, TIERS, 1),
    "cores": (f"{SUSPENDS}\n{SHARED}", TIERS, 4),
    "turns": (
        "PreemptMode=GANG\nSchedulerTimeSlice=10",
        "PartitionName=low Nodes=ALL Default=YES OverSubscribe=FORCE:2",
        1,
    ),
    "cores in turns": (
        f"PreemptMode=GANG\n{SHARED}",
        "PartitionName=low Nodes=ALL Default=YES OverSubscribe=FORCE:3\nPartitionName=high Nodes=n[0-3]",
        4,
    ),
    "operators": ("", TIERS, 1),
    "operators and cores": (SHARED, TIERS, 4),
}


def simulated(seed: int, kind: str, *, is_quick: bool = True) -> Made:
    draw = random.Random(seed)
    lines, partitions, cpus = KINDS[kind]
    conf = f"{lines}\nNodeName=n[0-5] CPUs={cpus} RealMemory=800\n{partitions}\n"
    jobs, runs = [], {}
    for number in range(draw.randint(3, 18)):
        data: dict[str, object] = {"user": f"u{draw.randint(0, 2)}"}
        if "high" in partitions and draw.random() < 0.5:
            data["partition"] = "high"
        size = draw.choice([1, 1, 2, 3, 4])
        if cpus > 1 and draw.random() < 0.7:
            size = 1
            data["slurm"] = {"shares": True, "tasks": draw.randint(1, 4)}
        runs[str(number)] = float(draw.randint(1, 120))
        made = DelayProfile(runs[str(number)])
        jobs.append(StaticJob(str(number), float(draw.randint(0, 300)), size, made, extra_data=json.dumps(data)))
    events = []
    for number in range(len(jobs)):
        if kind.startswith("operators") and draw.random() < 0.6:
            at = jobs[number].submission_time + draw.randint(1, 60)
            later = at + draw.randint(1, 200)
            events += [(at, json.dumps({"slurm": f"scontrol suspend {number}"}))]
            if draw.random() < 0.8:
                events += [(later, json.dumps({"slurm": f"scontrol resume {number}"}))]
    scheduler = SlurmScheduler(configuration_of(conf), is_quick=is_quick)
    lists = [ExternalEventList.of(sorted(events), corrected=True)] if events else []
    platform = described_platform(f"n[0-5] cores={cpus}")
    return Made(scheduler, simulate(platform, Workload(jobs), scheduler, external_events=lists), runs)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(sorted(KINDS)))
def test_a_suspended_job_runs_as_long_as_one_that_is_not(seed: int, kind: str) -> None:
    """Each job ends, and its parts together are as long as its work, unless nobody has it go on."""
    made = simulated(seed, kind)
    assert made.result.is_complete
    parts: dict[str, float] = {}
    states: dict[str, FinalJobState] = {}
    for row in made.result.jobs:
        full = f"{row.workload_name}!{row.job_id}"
        found = submitted_id(full)
        job = row.job_id if found is None else found[0].removeprefix("w0-")
        parts[job] = parts.get(job, 0.0) + (row.execution_time or 0.0)
        states[job] = row.final_state
    for job, length in parts.items():
        if states[job] is FinalJobState.COMPLETED_SUCCESSFULLY:
            assert math.isclose(parts[job], made.runs[job], abs_tol=0.2)
        else:  # an operator has suspended it for ever, or its first part was its last one
            assert kind.startswith("operators")
            assert length <= made.runs[job]
    assert len(joined_rows(made.result.jobs)) == len(made.runs)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(sorted(KINDS)))
def test_memory_is_never_given_twice(seed: int, kind: str) -> None:
    """Jobs keep their memory from their start to their last end, also while they are suspended."""
    made = simulated(seed, kind)
    rows = {f"{row.workload_name}!{row.job_id}": row for row in joined_rows(made.result.jobs)}
    changes = []
    amounts = {each.job_id: each.memory for each in made.scheduler.allocated}
    for start in made.scheduler.starts:
        row, memory = rows[start.job_id], amounts[start.run_id]
        end = (row.starting_time or 0.0) + (row.execution_time or 0.0)
        for node in start.nodes:
            changes += [(start.time, 1, node, memory), (end, 0, node, -memory)]
    used: Counter[int] = Counter()
    for _, _, node, amount in sorted(changes):
        used[node] += amount
        assert used[node] <= 800 * 2**20


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(sorted(KINDS)))
def test_short_cuts_change_no_start(seed: int, kind: str) -> None:
    assert simulated(seed, kind).scheduler.starts == simulated(seed, kind, is_quick=False).scheduler.starts


def one_after_the_other(profile: Profile, *begins: float) -> Result:
    """A job of 100 s that is suspended after the starts of others, by default of one, for 20 s each."""
    high, short = json.dumps({"partition": "high"}), DelayProfile(20.0)
    others = [StaticJob(str(n), at, 4, short, extra_data=high) for n, at in enumerate(begins or (50.0,), start=1)]
    jobs = [StaticJob("0", 0.0, 4, profile), *others]
    conf = f"{SUSPENDS}\nNodeName=n[0-3] CPUs=1\n{TIERS.replace('n[1-4]', 'ALL')}\n"
    return simulate(described_platform("n[0-3] speed=1Gf"), Workload(jobs), SlurmScheduler(configuration_of(conf)))


def test_a_job_goes_on_where_it_was(caplog: pytest.LogCaptureFixture) -> None:
    for profile in (DelayProfile(100.0), ParallelTaskHomogeneousProfile(100e9, 0.0)):
        first, second = sorted(joined_rows(one_after_the_other(profile).jobs), key=lambda row: row.job_id)
        assert (first.execution_time or 0.0) - 100 == pytest.approx(second.execution_time or 0.0, abs=1)
        assert first.final_state is FinalJobState.COMPLETED_SUCCESSFULLY
    assert "cannot be made" not in caplog.text


def test_a_profile_without_a_rest_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """What is left of it is not known, so that it begins again."""
    profile = ParallelTaskProfile((100e9,) * 4, (0.0,) * 16)
    first, *_ = sorted(joined_rows(one_after_the_other(profile, 50.0, 130.0).jobs), key=lambda row: row.job_id)
    said = "'w0!0' is suspended, and what is left of its ParallelTaskProfile cannot be made"
    assert caplog.text.count(said) == 1
    assert (first.execution_time or 0.0) > 220


def test_a_job_that_nobody_has_go_on_is_killed(caplog: pytest.LogCaptureFixture) -> None:
    jobs = [StaticJob("0", 0.0, 1, DelayProfile(100.0)), StaticJob("1", 0.0, 2, DelayProfile(300.0))]
    lists = [ExternalEventList.of([(40.0, json.dumps({"slurm": "scontrol suspend 0"}))], corrected=True)]
    conf = configuration_of(f"NodeName=n[0-3] CPUs=1\n{TIERS.replace('n[1-4]', 'ALL')}\n")
    made = simulate(described_platform("n[0-3]"), Workload(jobs), SlurmScheduler(conf), external_events=lists)
    states = {row.job_id: row.final_state for row in joined_rows(made.jobs)}
    assert states == {"0": FinalJobState.COMPLETED_KILLED, "1": FinalJobState.COMPLETED_SUCCESSFULLY}
    assert "'w0!0' is suspended, and nobody has it go on: it is killed, as all else is over" in caplog.text


@pytest.mark.parametrize("others", [0, 1])
def test_a_job_that_gives_way_only_later_is_killed_as_well(others: int) -> None:
    """Once its PreemptExemptTime is over, time helps nobody."""
    jobs = [StaticJob("0", 0.0, 1, DelayProfile(100.0)), *[StaticJob("1", 0.0, 5, DelayProfile(1.0))] * others]
    lists = [ExternalEventList.of([(20.0, json.dumps({"slurm": "scontrol suspend 0"}))], corrected=True)]
    rules = "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nPreemptExemptTime=0:0:40"
    conf = configuration_of(f"NodeName=n[0-3] CPUs=1\nPartitionName=all Nodes=ALL Default=YES\n{rules}")
    made = simulate(described_platform("n[0-4]"), Workload(jobs), SlurmScheduler(conf), external_events=lists)
    states = {row.job_id: row.final_state for row in joined_rows(made.jobs)}
    assert states["0"] == FinalJobState.COMPLETED_KILLED


class Noted:
    """Notes what the gang scheduler does."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.said: list[str] = []

    def suspend(self, job: SlurmJob) -> None:
        job.is_suspended = True
        self.said.append(f"suspend {job.id}")

    def resume(self, job: SlurmJob) -> None:
        job.is_suspended = False
        self.said.append(f"resume {job.id}")

    displace = suspend


def ganged(id: str, partition: ClusterPartition, nodes: int) -> SlurmJob:
    job = SlurmJob(id, 0, 0.0, (partition,), 10)
    job.partition, job.placement = partition, NodeShare(nodes, dict.fromkeys(range(nodes.bit_length()), 1))
    return job


def test_jobs_take_turns() -> None:
    """As a recorded Slurm: a job that does not fit is suspended at once, and each time slice exchanges them."""
    noted, low = Noted(), ClusterPartition("low", 0b1111)
    gang = GangScheduler([ClusterNode(f"n{number}") for number in range(4)], GangUnit.NODES, noted)
    one, two = ganged("1", low, 0b0011), ganged("2", low, 0b0111)
    gang.started(one)
    assert not gang.takes_turns
    gang.started(two)
    assert gang.takes_turns
    for _ in range(3):
        gang.turn()
    assert noted.said[:1] == ["suspend 2"]
    assert noted.said[-2:] in (["suspend 1", "resume 2"], ["suspend 2", "resume 1"])
    gang.ended(one)
    assert not two.is_suspended
    assert not gang.takes_turns


def test_jobs_of_higher_tiers_cast_shadows() -> None:
    noted, low, high = Noted(), ClusterPartition("low", 0b1111), ClusterPartition("high", 0b1111, tier=5)
    gang = GangScheduler([ClusterNode(f"n{number}") for number in range(4)], GangUnit.NODES, noted)
    one, two, three = ganged("1", low, 0b0011), ganged("2", high, 0b0001), ganged("3", low, 0b1100)
    for job in (one, three, two):
        gang.started(job)
    assert noted.said == ["suspend 1"]
    gang.turn()
    assert noted.said == ["suspend 1"]  # it waits for the end of the job of the higher tier, and not for its turn
    gang.ended(two)
    assert noted.said == ["suspend 1", "resume 1"]
