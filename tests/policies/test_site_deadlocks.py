"""Jobs that share hosts never wait for nothing: simulations that came to no end, or where a job waited too long."""

from __future__ import annotations

import json
from typing import Any

import pytest

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, FinalJobState
from batprotocol.policies import EASY, SJF, Conservative, Greedy, Multifactor, NoBackfilling, Policy, SiteRules, named
from batprotocol.simulator import JobRow, StaticJob, Workload, described_platform, simulate

WITHOUT_ENGINE = True

HIGHER = {
    "low": {"hosts": "ALL", "default": True, "preempt": "requeue"},
    "high": {"hosts": "ALL", "tier": 2, "preempt": "requeue"},
}


def job(name: str, at: float, size: int, time: float, walltime: float | None = None, **data: Any) -> StaticJob:
    text = json.dumps(data) if data else None
    return StaticJob(name, at, size, DelayProfile(time), walltime=walltime or time + 1, extra_data=text)


def run(jobs: list[StaticJob], policy: Policy, hosts: str = "n[0-1] cores=4") -> list[JobRow]:
    result = simulate(described_platform(hosts), Workload(jobs, {}), policy)
    assert result.is_complete
    return result.jobs


def starts(rows: list[JobRow]) -> dict[str, int | None]:
    return {row.job_id: None if row.starting_time is None else int(row.starting_time) for row in rows}


def test_a_job_with_singleton_and_without_a_name_waits_for_no_other() -> None:
    jobs = [job("1", 0, 1, 5, dependency="after:2"), job("2", 0, 1, 5, dependency="singleton")]
    assert starts(run(jobs, named("easy")())) == {"1": 0, "2": 0}


@pytest.mark.parametrize(
    ("dependency", "other"),
    [
        ("afternotok:1?afterany:x", "afterany:3"),  # on itself, or on one that never comes
        ("afterok:3?afterany:2", "afterany:1"),  # the third job fails at last
    ],
)
def test_alternatives_of_which_none_can_hold_reject_a_job(
    dependency: str, other: str, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [
        job("1", 0, 1, 5, cores=1, dependency=dependency),
        job("2", 0, 1, 5, cores=1, dependency=other),
        job("3", 0, 1, 9, 8, cores=1),
    ]
    rows = {row.job_id: row for row in run(jobs, named("easy")())}
    assert rows["1"].final_state is FinalJobState.REJECTED
    assert "'w0!1' is rejected: it waits for itself: w0!1 -> " in caplog.text


def test_jobs_that_wait_start_when_a_site_opens_for_one_that_does_not() -> None:
    """The first host becomes free with the message that opens the site, whose own job begins later."""
    jobs = [job("runs", 0, 2, 10), job("waits", 1, 2, 5), job("opens", 10, 1, 5, cores=1, begin=500)]
    assert starts(run(jobs, named("easy")()))["waits"] == 10


@pytest.mark.parametrize("backfilling", [NoBackfilling(), Greedy(), EASY(), Conservative()])
def test_a_start_brings_a_job_of_another_partition_into_the_queue(backfilling: Any) -> None:
    tables = {"a": {"hosts": "n0", "default": True}, "b": {"hosts": "n1"}}
    jobs = [
        job("first", 0, 1, 10),
        job("second", 0, 1, 10),
        job("then", 0, 1, 10, partition="b", dependency="after:first"),
        job("thereafter", 0, 1, 10, partition="b", dependency="after:then"),
    ]
    rows = run(jobs, Policy(backfilling=backfilling, site=SiteRules.of({"partitions": tables})))
    assert starts(rows) == {"first": 0, "second": 10, "then": 0, "thereafter": 10}


@pytest.mark.parametrize(
    ("backfilling", "then", "long", "short"),
    [(NoBackfilling(), 20, 30, 30), (Greedy(), 26, 1, 1), (EASY(), 20, 30, 1), (Conservative(), 20, 30, 1)],
)
def test_a_job_that_a_start_brings_into_the_queue_has_its_turn_there(
    backfilling: Any, then: int, long: int, short: int
) -> None:
    """It was submitted first, so that those behind it start only where that is backfilling."""
    jobs = [
        job("1", 0, 2, 10, dependency="after:2"),
        job("2", 1, 1, 19, cores=4),
        job("3", 1, 1, 25, cores=2),
        job("4", 1, 1, 5, cores=2),
    ]
    rows = starts(run(jobs, Policy(backfilling=backfilling, site=SiteRules())))
    assert rows == {"1": then, "2": 1, "3": long, "4": short}


def test_registration_ends_where_all_jobs_are_rejected() -> None:
    rows = run([job("1", 0, 9, 5), job("2", 3, 9, 5)], Policy(site=SiteRules.of({"partitions": HIGHER})))
    assert [row.final_state for row in rows] == [FinalJobState.REJECTED] * 2


def test_a_rejection_lets_others_start_at_once() -> None:
    """The deadline of a job passes while nothing else happens."""
    jobs = [
        job("runs", 0, 1, 100),
        job("late", 1, 1, 9, deadline=50),
        job("other", 1, 1, 5, dependency="afternotok:late", partition="b"),
    ]
    tables = {"a": {"hosts": "n0", "default": True}, "b": {"hosts": "n1"}}
    rows = run(jobs, Policy(backfilling=EASY(), site=SiteRules.of({"partitions": tables})))
    assert starts(rows) == {"runs": 0, "late": None, "other": 40}


def test_a_job_starts_when_a_reservation_before_it_is_given_up() -> None:
    """A reservation before it is given up late in the plan, as a limit keeps its job from starting."""
    tables = {
        "partitions": {"p": {"hosts": "n0", "default": True}, "q": {"hosts": "n0"}, "r": {"hosts": "n1"}},
        "per_user": {"running": 1},
    }
    jobs = [
        job("runs", 0, 1, 10, 10),
        job("first", 1, 1, 10, 10, user="u"),
        job("short", 5, 1, 5, 5, partition="q"),
        job("other", 6, 1, 900, 900, partition="r", user="u"),
    ]
    rows = run(jobs, Policy(SJF(), EASY(), site=SiteRules.of(tables)))
    assert starts(rows) == {"runs": 0, "first": 906, "short": 10, "other": 6}


@pytest.mark.parametrize("running", ["low", "high"])
def test_tiers_and_qualities_do_not_preempt_each_other_in_turns(running: str) -> None:
    """A job of the higher tier gives way to none of a lower one, whatever its quality of service."""
    tables = {"partitions": HIGHER, "qos": {"urgent": {"preempts": ["cheap"]}, "cheap": {}}}
    asks = {"low": {"partition": "low", "qos": "urgent"}, "high": {"partition": "high", "qos": "cheap"}}
    waits = "high" if running == "low" else "low"
    jobs = [job(running, 0, 1, 50, **asks[running]), job(waits, 5, 1, 50, **asks[waits])]
    rows = run(jobs, Policy(backfilling=EASY(), site=SiteRules.of(tables)), "n0 cores=4")
    killed = [row.job_id for row in rows if row.final_state is FinalJobState.COMPLETED_KILLED]
    assert killed == (["low"] if running == "low" else [])
    # Where no partition preempts, the qualities of service decide.
    tables["partitions"] = {name: table | {"preempt": "off"} for name, table in HIGHER.items()}
    rows = run(jobs, Policy(backfilling=EASY(), site=SiteRules.of(tables)), "n0 cores=4")
    killed = [row.job_id for row in rows if row.final_state is FinalJobState.COMPLETED_KILLED]
    assert killed == ([] if running == "low" else ["high"])


@pytest.mark.parametrize("backfilling", [NoBackfilling(), Greedy(), EASY(), EASY(once=True), Conservative()])
def test_a_job_that_gave_way_does_not_take_the_hosts_though_it_comes_first(backfilling: Any) -> None:
    """The order of the queue is not that of preemption: so the two jobs could start and give way in turns."""
    tables = {"qos": {"high": {"preempts": ["low"], "grace": 4}, "low": {}}}
    jobs = [job("long", 0, 1, 20, qos="low", nice=-1), job("urgent", 5, 1, 10, qos="high")]
    rows = run(jobs, Policy(backfilling=backfilling, site=SiteRules.of(tables)), "n0 cores=4")
    assert starts(rows) == {"long": 0, "urgent": 5, "w0-long~1": 15}


@pytest.mark.parametrize(("deadline", "again"), [(60, 20), (35, None)])
def test_a_job_that_gave_way_runs_again_if_it_can_end_by_its_deadline(deadline: int, again: int | None) -> None:
    jobs = [job("first", 0, 1, 20, deadline=deadline), job("urgent", 10, 1, 10, partition="high")]
    rows = run(jobs, Policy(backfilling=EASY(), site=SiteRules.of({"partitions": HIGHER})), "n0 cores=4")
    expected = {"first": 0, "urgent": 10, "w0-first~1": again}
    assert starts(rows) == expected
    # Where even a start at once would be too late, it is not registered again.
    rows = run(
        [job("first", 0, 1, 20, deadline=29), job("urgent", 10, 1, 10, partition="high")],
        Policy(backfilling=EASY(), site=SiteRules.of({"partitions": HIGHER})),
        "n0 cores=4",
    )
    assert starts(rows) == {"first": 0, "urgent": 10}


@pytest.mark.parametrize(("requeue", "lives"), [(None, 2), (True, 2), (False, 1)])
def test_a_job_that_gave_way_runs_again_unless_it_asks_not_to(requeue: bool | None, lives: int) -> None:
    asks = {} if requeue is None else {"requeue": requeue}
    jobs = [job("first", 0, 1, 20, **asks), job("urgent", 10, 1, 10, partition="high")]
    rows = run(jobs, Policy(backfilling=EASY(), site=SiteRules.of({"partitions": HIGHER})), "n0 cores=4")
    assert starts(rows) == {"first": 0, "urgent": 10} | ({"w0-first~1": 20} if lives == 2 else {})


@pytest.mark.parametrize(("deadline", "start"), [(19, None), (22, 8)])
def test_a_job_whose_time_comes_too_late_for_its_deadline_is_rejected(deadline: int, start: int | None) -> None:
    """Its dependency is satisfied within a decision, by the start of another job."""
    jobs = [
        job("runs", 0, 2, 8),
        job("starts", 1, 1, 30),
        job("then", 2, 1, 10, dependency="after:starts", deadline=deadline - 0.5),
    ]
    rows = run(jobs, Policy(backfilling=EASY(), site=SiteRules()))
    assert starts(rows) == {"runs": 0, "starts": 8, "then": start}


@pytest.mark.parametrize(("circle", "chain"), [("a", "'a'"), ("ab", "'a' preempts 'b'"), ("abc", "'a' preempts 'b'")])
def test_qualities_that_preempt_each_other_are_refused(circle: str, chain: str) -> None:
    tables = {one: {"preempts": [other]} for one, other in zip(circle, circle[1:] + circle[:1], strict=True)}
    expected = f"qos.a.preempts: expected qualities of service that do not preempt each other, got {chain}"
    with pytest.raises(InputError) as caught:
        SiteRules.of({"qos": tables | {"z": {"preempts": ["a"]}}})
    assert str(caught.value).startswith(expected)
    assert str(caught.value).endswith(" preempts 'a'")
    tables["a"] = {}
    SiteRules.of({"qos": tables})


@pytest.mark.parametrize(
    ("order", "priority", "victim"),
    [(Multifactor(), {"weight_qos": 100}, "2"), (Multifactor(), None, "1"), (SJF(), {"weight_qos": 100}, "1")],
)
def test_jobs_of_the_lowest_sum_of_factors_give_way_first(order: Any, priority: Any, victim: str) -> None:
    tables = {
        "partitions": HIGHER,
        "qos": {"good": {"priority": 10}, "usual": {"priority": 1}},
        "order_of_victims": "priority",
    }
    tables |= {"priority": priority} if priority else {}
    jobs = [
        job("1", 1, 1, 500, qos="good"),  # the least is lost with it
        job("2", 0, 1, 500, qos="usual"),
        job("first", 50, 1, 5, partition="high"),
    ]
    rows = run(jobs, Policy(order, EASY(), site=SiteRules.of(tables)))
    assert [row.job_id for row in rows if row.final_state is FinalJobState.COMPLETED_KILLED] == [victim]
