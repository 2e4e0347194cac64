"""What CiGri's commands printed of a state, and what our functions make of the same state."""

from __future__ import annotations

from support import DATA, SHARED

from batprotocol.campaigns import text as texts
from batprotocol.campaigns.model import (
    Campaign,
    CampaignState,
    CampaignStatus,
    Durations,
    EventState,
    GridCluster,
    GridEvent,
    GridJob,
    GridJobState,
    GridTask,
)

WITHOUT_ENGINE = True

OUTPUTS = (SHARED if (SHARED / "cigri").is_dir() else DATA) / "cigri" / "outputs"
SUBMITTED = 1795264572.0  # 2026-11-21 12:36:12 UTC
SHORT = CampaignStatus(
    campaign=Campaign(id=1, user="alice", name="short", submission_time=SUBMITTED), total=1500, terminated=715
)
BOBTEST = CampaignStatus(
    campaign=Campaign(id=2, user="bob", name="bobtest", submission_time=SUBMITTED), total=6, terminated=4
)
GROUPED = CampaignStatus(
    campaign=Campaign(id=3, user="carol", name="grouped", submission_time=SUBMITTED), total=60, events=2
)


def printed(name: str) -> str:
    """What a command printed, without the shell's prompt and the exit status."""
    lines = (OUTPUTS / f"{name}.txt").read_text().split("\n")
    assert lines[0].startswith("$ ")
    assert lines[-2].startswith("[exit status")
    return "\n".join(lines[1:-2])


def test_the_table_of_campaigns() -> None:
    new = Campaign(id=4, user="alice", name="new", state=CampaignState.PAUSED, submission_time=SUBMITTED + 203)
    new2 = Campaign(id=5, user="alice", name="new2", submission_time=SUBMITTED + 204)
    assert texts.campaigns_table([SHORT, BOBTEST, GROUPED]) == printed("gridstat")
    assert texts.campaigns_table([BOBTEST]) == printed("gridstat_user")
    more = [CampaignStatus(campaign=new, total=4), CampaignStatus(campaign=new2, total=1)]
    assert texts.campaigns_table([SHORT, BOBTEST, GROUPED, *more]) == printed("gridstat_paused")


def test_a_campaign() -> None:
    statistics = texts.CampaignStatistics(
        durations=Durations.of(*[2] * 715), throughput=21207.3 / 3600, remaining=785 / (21207.3 / 3600)
    )
    clusters = [texts.ClusterLine(cluster="alpha", active_jobs=79, queued_jobs=706)]
    assert texts.campaign_report(SHORT, statistics, clusters) + "\n" == printed("gridstat_c1") + "\n"


def test_a_campaign_with_its_tasks() -> None:
    statistics = texts.CampaignStatistics(durations=Durations.of(4, 4, 4, 5), throughput=282.4 / 3600, remaining=25.0)
    clusters = [texts.ClusterLine(cluster="alpha", queued_jobs=1)]
    tasks = [GridTask(1501 + number, 2, f"t{number}", f"t{number} d=4") for number in range(6)]
    numbers = (1, 15, 64, 209)
    lines = [
        texts.TaskLine(
            task=task,
            state="terminated",
            job=GridJob(id=number, campaign=2, task=task.id, cluster="alpha", remote_id=str(1000 + number)),
            cluster="alpha",
        )
        for task, number in zip(tasks, numbers, strict=False)
    ]
    lines.append(texts.TaskLine(task=tasks[4], state="queued", cluster="alpha"))
    lines.append(texts.TaskLine(task=tasks[5], state="pending"))
    assert texts.campaign_report(BOBTEST, statistics, clusters, lines) == printed("gridstat_c2_full")


def test_the_dump() -> None:
    assert texts.campaigns_dump([SHORT, BOBTEST, GROUPED]) == printed("gridstat_dump")


def test_the_jdl() -> None:
    text = printed("gridstat_jdl")
    assert texts.pretty_jdl(text.replace("\n", "")) == text


def test_a_job() -> None:
    job = GridJob(
        id=1,
        campaign=2,
        task=1501,
        cluster="alpha",
        state=GridJobState.TERMINATED,
        submission_time=SUBMITTED + 1,
        start_time=SUBMITTED + 1,
        stop_time=SUBMITTED + 6,
        exit_code=0,
        remote_id="1001",
        best_effort=False,
    )
    task = GridTask(1501, 2, "t0", "t0 d=4")
    report = texts.job_report(job, BOBTEST.campaign, task, GridCluster(name="alpha", id=1), batch=1)
    assert report == printed("gridstat_job")


EXIT_ERROR = GridEvent(
    id=2,
    class_="job",
    code="EXIT_ERROR",
    date=1795264730.081077,
    job=5,
    campaign=3,
    cluster="alpha",
    message="The job exited with exit status 256;",
)
BLACKLIST = GridEvent(
    id=3, class_="campaign", code="BLACKLIST", date=1795264730.081077, campaign=3, cluster="alpha", parent=2
)


def test_events() -> None:
    closed = GridEvent(
        id=2,
        class_="job",
        code="EXIT_ERROR",
        state=EventState.CLOSED,
        date=EXIT_ERROR.date,
        job=5,
        campaign=3,
        cluster="alpha",
        message=EXIT_ERROR.message,
    )
    assert texts.events_list([EXIT_ERROR, BLACKLIST]) == printed("gridevents_c3") == printed("gridstat_events")
    assert texts.events_list([BLACKLIST]) == printed("gridevents_after")
    assert texts.events_list([closed, BLACKLIST]) == printed("gridevents_all")
    assert texts.events_list([]) == printed("gridevents_global")


def test_clusters() -> None:
    alpha = GridCluster(
        name="alpha",
        id=1,
        batch="oar2_5",
        stress_factor=0.1,
        details=(
            ("api_url", "http://127.0.0.1:8101/"),
            ("api_auth_type", "none"),
            ("api_auth_header", "X_REMOTE_IDENT"),
            ("api_chunk_size", "100"),
            ("api_limit", "100"),
            ("ssh_host", ""),
        ),
    )
    assert texts.clusters_list([alpha]) == printed("gridclusters")
    assert texts.clusters_list([alpha], info=True) == printed("gridclusters_i")
    assert texts.cluster_details(alpha) == printed("gridclusters_I")


def test_answers() -> None:
    new = CampaignStatus(campaign=Campaign(id=4, user="alice", name="new", submission_time=SUBMITTED), total=2)
    new2 = CampaignStatus(campaign=Campaign(id=5, user="alice", name="new2", submission_time=SUBMITTED + 204), total=1)
    assert texts.submitted(new) == printed("gridsub_json")
    assert texts.submitted(new2, details=True) == printed("gridsub_details")
    assert texts.changed(4, "cancelled") == printed("griddel_cancel")
    assert texts.changed(4, "paused") == printed("griddel_pause")
    assert texts.changed(4, "resumed") == printed("griddel_resume")
    assert texts.failed("cancel campaign 3", texts.foreign("alice", 3)) == printed("griddel_other_user")
    assert texts.failed("cancel job 1", texts.foreign("alice", 2, job=True)) == printed("griddel_job")
    assert texts.events_closed(3) == printed("gridevents_fix")
    assert texts.failed("fix event(s)", texts.foreign("alice", 3)) == printed("gridevents_fix_foreign")
    assert texts.not_found(99) == printed("gridstat_none")
