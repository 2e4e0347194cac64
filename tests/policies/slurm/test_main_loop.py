"""The loops of Slurm's policy, with a controller that starts what it is asked to, and with one that only plans."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.policies.slurm.cluster import ClusterPartition
from batprotocol.policies.slurm.fair_share import AccountMembers
from batprotocol.policies.slurm.loops import StartOutcome, lacks_nodes, run_backfill, run_main
from batprotocol.policies.slurm.queue import NodeShare, SlurmJob, SlurmQueue
from batprotocol.policies.slurm.reservations import NodeReservations
from batprotocol.policies.slurm.rules import AccountLimits, SlurmRules
from batprotocol.policies.slurm.selection import NodeReleases, PossibleStart
from batprotocol.sites.slurm.accounting import Accounting, SlurmAssociation
from batprotocol.sites.slurm.configuration import SchedulerParameters

WITHOUT_ENGINE = True

ALL = ClusterPartition("all", 0b1111)
FAST = ClusterPartition("fast", 0b0011, tier=2)


class Starter:
    """Starts jobs on the first nodes that are free, and keeps in which order they were tried."""

    second, completing, open, idle, preempts = 100, 0, 0, 0, False
    whole_nodes: Any = "those of jobs that have whole nodes"

    def __init__(self, available: int = 0b1111, **outcomes: str) -> None:
        self.rules, self.reservations = SlurmRules(), NodeReservations(60, 0)
        self.available, self.outcomes = available, outcomes
        self.tried: list[tuple[str, str]] = []

    def try_start(self, job: SlurmJob, partition: ClusterPartition, nodes: int) -> str:
        self.tried.append((job.id, partition.name))
        return self.outcomes.get(f"j{job.id}", StartOutcome.SKIPPED)

    def start_on(self, job: SlurmJob, partition: ClusterPartition, nodes: int, minutes: float) -> str:
        raise AssertionError("the first loop does not plan")

    def possible_start(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, now: int, late: int
    ) -> PossibleStart | None:
        return PossibleStart(now, NodeShare(nodes, {}))

    def frees(self, job: SlurmJob, partition: ClusterPartition) -> NodeReleases | None:
        return None


def queue_of(count: int, partitions: tuple[ClusterPartition, ...] = (ALL,), **changed: Any) -> SlurmQueue:
    queue = SlurmQueue()
    for number in range(count):
        job = SlurmJob(str(number), number, 0.0, partitions, 10)
        job.priority = dict.fromkeys((each.name for each in partitions), 100 - number)
        for name, value in changed.items():
            setattr(job, name, value)
        queue.add(job, partitions)
    return queue


def tried(queue: SlurmQueue, starter: Starter, is_full: bool = True, is_quick: bool = True, **loops: Any) -> list[str]:
    run_main(queue, starter, SchedulerParameters(**loops), is_full=is_full, is_quick=is_quick)
    return [id for id, _ in starter.tried]


def test_all_jobs_are_tried_in_order_and_those_that_start_are_counted() -> None:
    starter = Starter(j1=StartOutcome.STARTED, j3=StartOutcome.STARTED)
    assert run_main(queue_of(4), starter, SchedulerParameters(), is_full=True) == (2, True)
    assert starter.tried == [(str(number), "all") for number in range(4)]
    assert run_main(queue_of(0), Starter(), SchedulerParameters(), is_full=True) == (0, False)


@pytest.mark.parametrize(("is_full", "count"), [(True, 5), (False, 3)])
def test_a_short_run_looks_at_some_jobs_only(is_full: bool, count: int) -> None:
    """One more than default_queue_depth says, as in Slurm."""
    assert len(tried(queue_of(5), Starter(), is_full, default_queue_depth=2)) == count


def test_no_more_jobs_start_in_a_run_than_sched_max_job_start() -> None:
    starter = Starter(**{f"j{number}": StartOutcome.STARTED for number in range(5)})
    assert tried(queue_of(5), starter, sched_max_job_start=2) == ["0", "1"]


def test_each_partition_has_its_own_depth() -> None:
    starter = Starter()
    run_main(queue_of(4, (FAST, ALL)), starter, SchedulerParameters(partition_job_depth=3), is_full=True)
    assert starter.tried == [
        *((str(number), "fast") for number in range(3)),
        *((str(number), "all") for number in range(3)),
    ]


def test_jobs_behind_one_that_lacks_nodes_wait_in_its_partition() -> None:
    assert tried(queue_of(3), Starter(j0=StartOutcome.BUSY), is_quick=False) == ["0"]
    assert tried(queue_of(3), Starter(j0=StartOutcome.LIMITED)) == ["0", "1", "2"]
    assert tried(queue_of(3), Starter(j0=StartOutcome.LIMITED), is_quick=False, assoc_limit_stop=True) == ["0"]
    starter = Starter(j0=StartOutcome.BUSY)
    assert tried(queue_of(2, (FAST, ALL), min_nodes=2), starter, is_quick=False) == ["0", "0"]
    assert starter.tried == [("0", "fast"), ("0", "all")]


def test_jobs_of_no_reserve_priority_or_age_let_others_pass() -> None:
    starter = Starter(j1=StartOutcome.BUSY)
    assert tried(queue_of(3), starter, bf_min_prio_reserve=100) == ["0", "1", "2"]
    assert tried(queue_of(3), Starter(j0=StartOutcome.BUSY), is_quick=False, bf_min_prio_reserve=100) == ["0"]
    young = queue_of(3, eligible=50.0)
    assert tried(young, Starter(j0=StartOutcome.BUSY), bf_min_age_reserve=51.0) == ["0", "1", "2"]
    assert tried(young, Starter(j0=StartOutcome.BUSY), is_quick=False, bf_min_age_reserve=50.0) == ["0"]


def test_a_job_that_has_others_give_way_is_not_tried_in_another_partition() -> None:
    assert tried(queue_of(1, (FAST, ALL)), Starter(j0=StartOutcome.PREEMPTS)) == ["0"]


def test_tasks_of_an_array_are_tried_one_by_one_until_one_does_not_start() -> None:
    busy = Starter(j0=StartOutcome.STARTED)
    assert tried(queue_of(4, array="a"), busy) == ["0", "1"]


def test_required_nodes_are_kept_for_the_job_and_others_pass() -> None:
    queue = queue_of(2)
    entries = queue.jobs()
    entries[0].required = 0b1
    starter = Starter(j0=StartOutcome.BUSY)
    assert tried(queue, starter) == ["0", "1"]
    assert tried(queue, Starter(available=0b1110)) == ["1"]


def test_without_nodes_only_jobs_of_reservations_are_looked_at() -> None:
    assert run_main(queue_of(3), Starter(available=0), SchedulerParameters(), is_full=True) == (0, False)
    found = run_main(queue_of(3), Starter(available=0), SchedulerParameters(), is_full=True, is_quick=False)
    assert found == (0, True)


class Planner(Starter):
    """Each job has a node of its own in ten minutes, and none now."""

    def possible_start(
        self, job: SlurmJob, partition: ClusterPartition, nodes: int, now: int, late: int
    ) -> PossibleStart | None:
        self.tried.append((job.id, partition.name))
        return PossibleStart(now + 600, NodeShare(1 << job.number, {}))


LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "bf_max_job_test": st.integers(1, 9),
        "bf_max_job_user": st.integers(0, 3),
        "bf_max_job_part": st.integers(0, 8),
        "bf_max_job_assoc": st.integers(0, 3),
        "bf_max_job_user_part": st.integers(0, 3),
        "bf_min_prio_reserve": st.integers(0, 100),
        "bf_min_age_reserve": st.sampled_from([0.0, 49.0, 50.0, 51.0, 101.0]),
        "bf_job_part_count_reserve": st.integers(0, 8),
        "bf_node_space_size": st.integers(1, 4),
    },
)


@settings(max_examples=80)
@given(
    st.lists(st.tuples(st.sampled_from("uv"), st.sampled_from("ab"), st.booleans()), max_size=8), LIMITS, st.booleans()
)
def test_the_second_loop_keeps_to_the_limits_of_slurm_conf(
    jobs: list[tuple[str, str, bool]], loops: dict[str, Any], has_accounts: bool
) -> None:
    """It looks at so many jobs in all, of a user, partition or association, and plans those that may be planned.

    Without a database of accounts, there are no associations.
    """
    queue = queue_of(len(jobs), (ClusterPartition("all", 0xFFFF),))  # with more nodes than jobs
    made = sorted(queue.jobs(), key=lambda job: job.number)
    for job, (user, account, is_young) in zip(made, jobs, strict=True):
        job.user, job.account, job.eligible = user, account, 50.0 if is_young else 0.0
    starter, now = Planner(0xFFFF), 100
    if has_accounts:
        accounts = tuple(SlurmAssociation(account=name, parent="root") for name in "ab")
        users = tuple(SlurmAssociation(account=name, user=user) for name in "ab" for user in "uv")
        starter.rules = SlurmRules(AccountLimits(AccountMembers(Accounting(associations=accounts + users))))
    run_backfill(queue, starter, SchedulerParameters(**loops), now, 0, is_quick=False)
    looked, planned, counts = [], [], Counter[object]()
    for number, job in enumerate(made[: loops.get("bf_max_job_test", 500)]):
        if (3 if planned else 1) >= loops.get("bf_node_space_size", 9):  # all plans are from 700 s to 1300 s
            break
        keys = {
            "bf_max_job_user": job.user,
            "bf_max_job_part": "all",
            **({"bf_max_job_assoc": (job.user, job.account)} if has_accounts else {}),
            "bf_max_job_user_part": (job.user, "all"),
        }
        if any(loops.get(name) and counts[name, key] >= loops[name] for name, key in keys.items()):
            continue
        counts.update(keys.items())
        looked.append(job.id)
        if loops.get("bf_min_prio_reserve"):
            is_high = 100 - number >= loops["bf_min_prio_reserve"]
        else:
            is_high = now - job.eligible >= loops.get("bf_min_age_reserve", 0)
        if is_high and len(planned) < loops.get("bf_job_part_count_reserve", 500):
            planned.append(job.id)
    assert list(dict.fromkeys(id for id, _ in starter.tried)) == looked
    assert [job.id for job in made if job.planned] == planned
    assert all(job.planned_nodes == 1 << job.number for job in made if job.planned)


@pytest.mark.parametrize(
    ("starter", "job", "expected"),
    [
        ({}, {}, True),
        ({}, {"min_nodes": 3}, True),
        ({"open": 1}, {}, False),  # a node is free
        ({"open": 1}, {"min_nodes": 3}, True),
        ({"completing": 1}, {}, False),  # a node is about to be clean
        ({"idle": 0b1111}, {}, False),  # the job waits for the end of no other
        ({"preempts": True}, {}, False),
        ({"whole_nodes": None, "completing": 1}, {"min_nodes": 3}, False),
        ({}, {"reservation": "r"}, False),
        ({}, {"required": 1}, False),
        ({}, {"array": "0"}, False),
        ({}, {"licenses": (("matlab", 1),)}, False),
        ({}, {"leaves": 1}, False),
        ({}, {"waits_for_room": True}, False),
    ],
)
def test_the_first_jobs_lack_nodes_if_nothing_else_decides(
    starter: dict[str, Any], job: dict[str, Any], expected: bool
) -> None:
    made = Starter()
    for name, value in starter.items():
        setattr(made, name, value)
    found = lacks_nodes(queue_of(2, (FAST, ALL), **job), made, SchedulerParameters())  # type: ignore[arg-type]
    assert found == expected


@pytest.mark.parametrize("parameter", ["bf_min_prio_reserve", "bf_min_age_reserve"])
def test_jobs_that_set_no_nodes_aside_keep_none_waiting(parameter: str) -> None:
    made = Starter()
    assert lacks_nodes(queue_of(2), made, SchedulerParameters())  # type: ignore[arg-type]
    assert not lacks_nodes(queue_of(2), made, SchedulerParameters(**{parameter: 1}))  # type: ignore[arg-type]
