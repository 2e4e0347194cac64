"""Preemption: which running jobs give way, in which order, and how many of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from batprotocol.policies.rules import PreemptMode
from batprotocol.policies.slurm.cluster import ClusterPartition
from batprotocol.policies.slurm.queue import JobStage, NodeShare, SlurmEntry, SlurmJob
from batprotocol.policies.slurm.rules import PartitionPreemption, QosPreemption, grace_end, may_preempt, victims_of
from batprotocol.policies.slurm.state import TimeLimits
from batprotocol.sites.slurm.accounting import SlurmQos
from batprotocol.sites.slurm.configuration import PreemptionParameters

WITHOUT_ENGINE = True

LOW = ClusterPartition("low", 0xFF, tier=1, preempt_mode=PreemptMode.REQUEUE, grace=30)
KEPT = ClusterPartition("kept", 0xFF, tier=1)
HIGH = ClusterPartition("high", 0xFF, tier=3)


def running(number: int, nodes: int, partition: ClusterPartition = LOW, started: float = 0.0) -> SlurmJob:
    job = SlurmJob(f"w0!{number}", number, 0.0, (partition,), 60)
    job.stage, job.partition, job.started = JobStage.RUNNING, partition, started
    job.placement = NodeShare(nodes, {})
    return job


WANTS = SlurmEntry(SlurmJob("w0!99", 99, 0.0, (HIGH,), 60), HIGH, 0, 0)


def numbers(jobs: Sequence[SlurmJob]) -> list[int]:
    return [job.number for job in jobs]


def test_jobs_of_lower_tiers_give_way_the_smallest_first() -> None:
    jobs = [running(1, 0b11), running(2, 0b100), running(3, 0b1000, KEPT), running(4, 0b10000, HIGH), running(5, 0x20)]
    found = PartitionPreemption().candidates_on(0x1F, jobs, WANTS, 100)
    assert numbers(found) == [2, 1]  # 3 may not be preempted, 4 is of the same tier, and 5 is on other nodes
    jobs[1].stage = JobStage.COMPLETING
    assert numbers(PartitionPreemption().candidates_on(0x1F, jobs, WANTS, 100)) == [1]


def test_the_youngest_come_first_if_wanted_and_then_the_smaller_number() -> None:
    jobs = [
        running(2, 1, started=5.0),
        running(1, 2, started=5.0),
        running(3, 4, started=9.0),
        running(4, 8, started=1.0),
    ]
    found = PartitionPreemption(youngest_first=True).candidates_on(0xF, jobs, WANTS, 100)
    assert numbers(found) == [3, 1, 2, 4]
    assert numbers(PartitionPreemption().candidates_on(0xF, jobs, WANTS, 100)) == [1, 2, 3, 4]


@pytest.mark.parametrize(("second", "found"), [(49, []), (50, [1]), (51, [1])])
def test_a_job_gives_way_once_it_has_run_long_enough(second: int, found: list[int]) -> None:
    assert numbers(PartitionPreemption(40.0).candidates_on(1, [running(1, 1, started=10.0)], WANTS, second)) == found


def test_as_few_give_way_as_suffice_the_last_one_and_then_the_largest() -> None:
    """Jobs are taken away in turn until there is space, and then once more with the last one first."""
    jobs = [running(1, 0b1), running(2, 0b110), running(3, 0b1000), running(4, 0b10000)]
    asked = list[list[int]]()

    def needs(nodes: int, wanted: int) -> NodeShare | None:
        return NodeShare(wanted, {}) if nodes & wanted == wanted else None

    def test(wanted: int, gone: Sequence[SlurmJob]) -> NodeShare | None:
        asked.append(numbers(gone))
        return needs(sum(job.placement.nodes for job in gone if job.placement is not None), wanted)

    found = victims_of(jobs, lambda gone: test(0b1110, gone))
    assert found is not None
    assert numbers(found[0]) == [3, 2]
    assert asked == [[1], [1, 2], [1, 2, 3], [3], [3, 2]]
    asked.clear()
    found = victims_of(jobs[:1], lambda gone: test(0b1, gone))
    assert found is not None
    assert (numbers(found[0]), asked) == ([1], [[1]])
    assert victims_of(jobs, lambda gone: test(0b100000, gone)) is None
    assert victims_of([], lambda gone: test(0b1, gone)) is None


def test_a_job_waits_for_those_that_give_way_to_it() -> None:
    job = SlurmJob("w0!1", 1, 0.0, (HIGH,), 60)
    assert may_preempt(job, 100, 40.0)
    assert job.preempts_since == 100.0
    assert [may_preempt(job, second, 40.0) for second in (120, 139, 140)] == [False, False, True]
    assert job.preempts_since == 100.0


def test_a_job_that_gives_way_is_killed_at_the_end_of_its_grace() -> None:
    job = running(1, 1)
    assert PartitionPreemption().terms(job).grace == 30
    assert grace_end(job, 100, 30) == 130.0
    job.gives_way, job.end = True, 115.0
    assert grace_end(job, 120, 30) == 115.0


def test_qualities_of_service_say_who_gives_way() -> None:
    qos = {
        "high": SlurmQos(name="high", priority=9, preempts=("low",)),
        "low": SlurmQos(name="low", priority=2, preempt_mode="cancel", grace_time=12.5, exempt_time=7.0),
        "off": SlurmQos(name="off", preempt_mode="off"),
    }
    rules = QosPreemption(qos, PreemptionParameters(mode="requeue", exempt_time=3.0))
    high, low, off, none = (running(number, 1, HIGH) for number in range(4))
    high.quality, low.quality, off.quality = "high", "low", "off"
    wants, wants_low = SlurmEntry(high, HIGH, 0, 0), SlurmEntry(low, HIGH, 0, 1)
    assert [rules.is_below(each, wants) for each in (high, low, off, none)] == [False, True, False, False]
    assert not rules.is_below(high, wants_low)
    assert rules.is_above(high, low)
    assert [rules.level(each) for each in (high, low, none)] == [9, 2, 0]
    modes = [PreemptMode.REQUEUE, PreemptMode.CANCEL, PreemptMode.OFF, PreemptMode.REQUEUE]
    assert [rules.terms(each).mode for each in (high, low, off, none)] == modes
    assert [rules.terms(each).grace for each in (high, low, none)] == [0, 12, 0]
    assert [rules.terms(each).exempt for each in (high, low, none)] == [3.0, 7.0, 3.0]


def test_time_limits_are_over_in_the_order_of_starts() -> None:
    limits, one, two = TimeLimits(), running(1, 1, started=5.0), running(2, 2, started=3.0)
    assert limits.first() == math.inf
    limits.note(one, 60.0)
    limits.note(two, 61.0)
    assert (limits.first(), limits.over(59)) == (60.0, [])
    assert numbers(limits.over(61)) == [2, 1]
    assert limits.first() == math.inf
    limits.note(one, 70.0)
    one.started = 65.0  # it runs again: the limit of its first run is forgotten
    assert limits.first() == math.inf
