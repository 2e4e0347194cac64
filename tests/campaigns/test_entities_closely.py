"""Decisions of the entities where a small change of them would be seen by nobody else: each condition alone."""

from __future__ import annotations

import itertools

import pytest

from batprotocol.campaigns.entities import cycle, failures, prediction, regulation, scheduling
from batprotocol.campaigns.model import (
    Campaign,
    CampaignProgress,
    CampaignStatus,
    ClusterProperties,
    Durations,
    Forecast,
    GridCluster,
    GridEvent,
    GridJob,
    GridJobState,
    GridSettings,
    GridState,
    GridStatus,
    KillReason,
    Observation,
    RemoteEvent,
    RemoteJob,
    TapState,
    TaskState,
)

WITHOUT_ENGINE = True


@pytest.mark.parametrize("remaining", [0, 1])
@pytest.mark.parametrize("offer", [0.9, 1.0])
@pytest.mark.parametrize("active", [0, 1])
@pytest.mark.parametrize("tested", [False, True])
def test_a_test_runs_where_all_is_so(remaining: int, offer: float, active: int, tested: bool) -> None:
    share = scheduling.ClusterShare(
        offer=offer, remaining=remaining, limit=scheduling.Limit(ratio=1.0), active=active, tested=tested
    )
    expected = (remaining, offer, active, tested) == (1, 1.0, 0, False)
    assert scheduling.test(share) == expected


@pytest.mark.parametrize(
    ("ran", "walltime", "grace", "late"),
    [(100.0, 60.0, 40.0, False), (100.5, 60.0, 40.0, True), (61.0, 60.0, 0.0, True), (1e9, None, 0.0, False)],
)
def test_a_job_is_late_beyond_its_walltime_and_grace(
    ran: float, walltime: float | None, grace: float, late: bool
) -> None:
    job = GridJob(id=1, campaign=1, task=1, cluster="a", state=GridJobState.RUNNING, start_time=1000.0)
    walltimes = {} if walltime is None else {(1, "a"): walltime}
    assert failures.overtime([job], 1000.0 + ran, walltimes, grace) == ([job] if late else [])
    waits = GridJob(id=2, campaign=1, task=2, cluster="a", state=GridJobState.RUNNING)
    assert failures.overtime([waits], 1e9, {(1, "a"): 1.0}, 0.0) == []


@pytest.mark.parametrize("task", [None, 5])
def test_a_job_that_a_cluster_does_not_take(task: int | None) -> None:
    job = GridJob(id=1, campaign=1, task=task, cluster="a", tag=None if task else "prologue")
    said = RemoteJob(job=1, state=GridJobState.TERMINATED, events=(RemoteEvent("REFUSED", "too large"),))
    verdict = failures.judge(job, said, 7.0)
    assert verdict == failures.refused(job, "too large", 7.0)
    assert (verdict.state, verdict.affinity, verdict.priority) == (GridJobState.EVENT, -1, None)
    assert verdict.task is (TaskState.PENDING if task else None)
    [event] = verdict.events
    assert (event.code, event.message, event.blacklists, event.date) == ("RUNNER_SUBMIT_ERROR", "too large", True, 7.0)


def campaign(*epilogue: str) -> Campaign:
    return Campaign(
        id=1, user="u", name="n", clusters=(ClusterProperties(cluster="a", exec_file="x", epilogue=epilogue),)
    )


@pytest.mark.parametrize("kill", [None, KillReason.OVERFLOW])
@pytest.mark.parametrize("state", [GridJobState.REMOTE_WAITING, GridJobState.RUNNING])
def test_what_waits_to_be_killed_waits_no_more(kill: KillReason | None, state: GridJobState) -> None:
    """Six jobs wait where five may: the ratio shrinks, but for those that are to be killed, and those that run."""
    jobs = tuple(
        GridJob(id=number, campaign=1, task=number, cluster="a", state=state, kill=kill, submission_time=50.0)
        for number in range(6)
    )
    grid = GridState(
        now=100.0,
        clusters=(GridCluster(name="a"),),
        gridstatus=(GridStatus(cluster="a", max=10, free=0),),
        campaigns=(CampaignStatus(campaign=campaign(), total=9, pending=3, active=6),),
        jobs=jobs,
        progress=(CampaignProgress(campaign=1, cluster="a", durations=Durations.of(10)),),
        forecasts=(Forecast(campaign=1, cluster="a", time=0.0, ratio=1.0, nsub=12, free=12.0),),
    )
    found = prediction.forecasts(grid, GridSettings(flood_rate=0.5, regulator="two-way"))
    [ratio] = [each.ratio for each in found if each.cluster == "a"]
    assert ratio is not None
    assert (ratio < 1.0) == (kill is None and state is GridJobState.REMOTE_WAITING)


@pytest.mark.parametrize(
    ("pending", "active", "used", "done"), [*itertools.product((0, 1), (0, 1), ((), ("a",)), ((), ("a",)))]
)
def test_an_epilogue_comes_once_when_all_is_over(
    pending: int, active: int, used: tuple[str, ...], done: tuple[str, ...]
) -> None:
    status = CampaignStatus(
        campaign=campaign("rm x"),
        total=4,
        pending=pending,
        active=active,
        terminated=4 - pending - active,
        used=used,
        epilogue_done=done,
    )
    grid = GridState(
        clusters=(GridCluster(name="a"),),
        gridstatus=(GridStatus(cluster="a", max=10, free=0),),
        campaigns=(status,),
    )
    decisions = cycle.decide(grid, GridSettings(), lambda campaign, cluster, many: [])
    epilogues = [each for each in decisions.submissions if each.tag == "epilogue"]
    assert len(epilogues) == ((pending, active, used, done) == (0, 0, ("a",), ()))


@pytest.mark.parametrize("replica", [False, True])
@pytest.mark.parametrize("type", ["best-effort", "normal"])
def test_copies_give_way(type: str, replica: bool) -> None:
    properties = ClusterProperties(cluster="a", exec_file="x", type=type, resources="/cpu=3")
    of = Campaign(id=1, user="u", name="n", clusters=(properties,))
    found = regulation.submission(of, "a", [4, 2], replica=replica)
    assert (found.tasks, found.replica, found.weight) == ((4, 2), replica, 3)
    assert found.best_effort == (replica or type == "best-effort")


@pytest.mark.parametrize(
    ("class_", "cluster", "code", "told"),
    [
        ("cluster", "a", "TIMEOUT", False),  # it is known already
        ("cluster", "a", "SSL_ERROR", True),
        ("cluster", "a", "BLACKLIST", True),
        ("cluster", "b", "TIMEOUT", True),
        ("campaign", "a", "TIMEOUT", True),
        ("job", "a", "TIMEOUT", True),
    ],
)
def test_a_trouble_is_told_once(class_: str, cluster: str, code: str, told: bool) -> None:
    event = GridEvent(id=3, class_=class_, code=code, cluster=cluster)
    seen = Observation(cluster="a", error="TIMEOUT")
    events = failures.update([], [seen], now=1.0, open_events=[event]).events
    assert [(each.code, each.cluster) for each in events] == ([("TIMEOUT", "a")] if told else [])


@pytest.mark.parametrize("state", [state for state in GridJobState if not state.ended])
def test_a_tap_is_closed_while_jobs_wait_on_the_cluster(state: GridJobState) -> None:
    jobs = (GridJob(id=1, campaign=1, task=1, cluster="a", state=state),)
    grid = GridState(
        now=100.0,
        clusters=(GridCluster(name="a"),),
        gridstatus=(GridStatus(cluster="a", max=10, free=9),),
        campaigns=(CampaignStatus(campaign=campaign(), total=9, pending=8, active=1),),
        jobs=jobs,
    )
    settings = GridSettings(regulator="rate", strategy="priority")
    couples = scheduling.couples(grid, settings)
    found = regulation.REGULATORS["rate"](grid, settings, couples, ())
    assert [tap.state for tap in found.taps] == [
        TapState.CLOSED if state is GridJobState.REMOTE_WAITING else TapState.OPEN
    ]
