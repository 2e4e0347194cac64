"""Our decisions upon the inputs of CiGri 2's recorded ones, in their words: see `cigri_decisions`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from cigri_records import FILES, NOW, Record, read_file

from batprotocol.campaigns import gridstat2
from batprotocol.campaigns.entities import failures, prediction, scheduling
from batprotocol.campaigns.jdl import read_jdl
from batprotocol.campaigns.model import (
    Blacklist,
    Campaign,
    CampaignState,
    CampaignStatus,
    CampaignType,
    ClusterProperties,
    Durations,
    GridCluster,
    GridJob,
    GridJobState,
    GridSettings,
    GridState,
    GridStatus,
    GridTask,
    RemoteEvent,
    RemoteJob,
    TaskPriority,
    ThroughputWindow,
)
from batprotocol.errors import InputError, JdlError

USUAL_WAITING = 0.5
"""CiGri 2 reads a FLOOD_RATE of 0, or none, as this in its predictor and nikita, and as 0 in its metascheduler."""


ERRORS2 = {
    -1: "Bad JDL file or Bad param file",
    -2: "No cluster defined",
    -3: "No execFile in a cluster section",
    -4: "Duplicate parameters",
}


def submitted2(given: Record) -> Record:
    """A campaign of CiGri 2's JDL, or why there is none."""
    try:
        got = read_jdl(given["jdl"], user="u", clusters=["a", "b", "c"], read_file=read_file, type=given["type"])
    except JdlError as error:
        code = -1 if error.code == -3 else error.code
        said = [f"IdJob = {code} ", f"[ERROR] {ERRORS2.get(code) or given['type'] + ': invalid campaign type'}"]
        where = [error.reason] if code == -1 else []
        return {"output": where + said, "campaign": [], "properties": [], "parameters": []}
    return {
        "output": ["IdJob = 1 "],
        "campaign": [[got.campaign.name, str(got.campaign.type), str(got.campaign.state).upper()]],
        "properties": [
            [each.cluster, each.exec_file, each.walltime, each.resources, each.exec_directory, str(each.priority)]
            for each in got.campaign.clusters
        ],
        "parameters": [[each, each.split()[0] if _from_file(given) else "NULL", "0"] for each in got.parameters],
    }


def _from_file(given: Record) -> bool:
    return any(path in given["jdl"] for path in FILES)


def _without_echoes(decision: Record) -> Record:
    """CiGri 2 echoes the name of the file and what it inserts, says which of its parts speaks, and keeps a hash."""
    said = [
        each.removeprefix("[JDLParser] ").removeprefix("[iolib] ")
        for each in decision["output"]
        if not each.startswith(("JDL file", "Insert"))
    ]
    return {**decision, "output": said, "properties": sorted(decision["properties"])}


# CiGri 2's predictor, metascheduler and nikita


def predicted(given: Record) -> Record:
    """A ratio, and the mean durations beside it: finished jobs took 100 s, the others take 200 s so far."""
    flood = given["flood_rate"] or USUAL_WAITING
    free = given["nodes_free"] if given["free_at_last_status"] is None else given["free_at_last_status"]
    situation = prediction.Situation(
        ratio=given["old_ratio"],
        free=free,
        waiting=given["remote_waiting"],
        running=given["running"],
        resources=given["max_resources"],
        allowed=prediction.allowed(given["max_resources"], flood),
    )
    ratio = prediction.adjusted(situation, given["terminated_jobs"])
    if ratio is None:
        return {"forecast": None}
    ended = Durations.of(*[100] * given["terminated_jobs"])
    durations = ended + Durations.of(*[200] * (given["running"] + given["remote_waiting"]))
    return {
        "old_ratio_read": situation.old,
        "max_waiting": situation.allowed,
        "free_used": situation.free,
        "new_ratio": ratio,
        "average": durations.mean,
        "stddev": durations.deviation,
    }


def _rounded(decision: Record) -> Record:
    """The column for the ratio was of whole numbers; what MySQL shows has six digits."""
    kept = {key: each for key, each in decision.items() if key not in ("ratio_stored_in_INT_column", "stderr")}
    return {key: float(f"{each:.6g}") if isinstance(each, float | int) else each for key, each in kept.items()}


def expected_end(given: Record) -> Record:
    """When a campaign should have ended."""
    now = 100_000.0
    finished = given["terminated"] if given["submitted_s_ago"] < given["window_s"] else 0
    end = prediction.end_after(
        waiting=given["waiting_parameters"] + given["remote_waiting"],
        running=given["running"],
        durations=Durations.of(*[given["duration_each_s"]] * given["terminated"]),
        window=ThroughputWindow(finished, now - given["submitted_s_ago"] if finished else None),
        age=given["campaign_age_s"],
        now=now,
    )
    if end is None:
        return {"method": None, "seconds_to_end": None}
    return {"method": end[1], "seconds_to_end": int(end[0])}


def _grid2(given: Record) -> GridState:
    campaigns: list[CampaignStatus] = []
    jobs: list[GridJob] = []
    for each in given["campaigns"]:
        pairs = [(name, 1) if isinstance(name, str) else tuple(name) for name in each["clusters"]]
        known = each["type"] in list(CampaignType)
        campaign = Campaign(
            id=each["id"],
            user=each.get("user", "u"),
            name="n",
            type=CampaignType(each["type"]) if known else CampaignType.DEFAULT,
            state=CampaignState(each.get("state", "in_treatment").lower()) if known else CampaignState.PAUSED,
            clusters=tuple(ClusterProperties(cluster=name, exec_file="x", priority=first) for name, first in pairs),
        )
        ordered = sum(each.get("to_submit", {}).values())
        campaigns.append(CampaignStatus(campaign=campaign, total=each["params"], pending=each["params"] - ordered))
        for state in (GridJobState.REMOTE_WAITING, GridJobState.RUNNING):
            for cluster, count in each.get(str(state), {}).items():
                first = len(jobs)
                jobs += [
                    GridJob(id=first + more, campaign=each["id"], task=first + more, cluster=cluster, state=state)
                    for more in range(count)
                ]
    return GridState(
        clusters=tuple(GridCluster(name=each["name"], power=each.get("power", 1)) for each in given["clusters"]),
        gridstatus=tuple(
            GridStatus(cluster=each["name"], max=each["max"], free=each["free"]) for each in given["clusters"]
        ),
        campaigns=tuple(campaigns),
        jobs=tuple(jobs),
        blacklist=tuple(Blacklist(cluster, campaign or None) for cluster, campaign in given.get("blacklist", ())),
    )


def launched(given: Record) -> Record:
    """Which schedulers CiGri 2's metascheduler launches, and what they order."""
    grid = _grid2(given)
    settings = GridSettings(order_flood_rate=given["flood_rate"] or 0.0)
    couples = scheduling.couples(grid, settings)
    ratios = {(each["id"], name): ratio for each in given["campaigns"] for name, ratio in each.get("ratio", {}).items()}
    active = Counter((job.campaign, job.cluster) for job in grid.jobs)
    limits = {couple.key: scheduling.Limit(ratio=ratios.get(couple.key, 1.0)) for couple in couples}
    orders = scheduling.orders(couples, scheduling.offers(grid, settings), limits, active)
    names = {"test": "test", "workqueue": "default"}
    rows = {(each.campaign, each.cluster): each.jobs for each in orders}
    for campaign in given["campaigns"]:
        for cluster, jobs in campaign.get("to_submit", {}).items():
            rows[campaign["id"], cluster] = rows.get((campaign["id"], cluster), 0) + jobs
    return {
        "launched": [
            {"scheduler": names[each.policy], "campaign": each.campaign, "cluster": each.cluster, "jobs": each.jobs}
            for each in orders
        ],
        "jobsToSubmit": sorted([campaign, cluster, jobs] for (campaign, cluster), jobs in rows.items()),
    }


def _launches_sorted(decision: Record) -> Record:
    """The clusters of a campaign that are equal in priority and power come in any order: the query does not say."""
    together: dict[tuple[str, int], list[Record]] = {}
    for each in decision["launched"]:
        together.setdefault((each["scheduler"], each["campaign"]), []).append(each)
    launched = [each for some in together.values() for each in sorted(some, key=lambda row: str(row["cluster"]))]
    return {**decision, "launched": launched}


def wiped(given: Record) -> Record:
    """What CiGri 2's nikita kills."""
    jobs = [
        GridJob(
            id=index,
            campaign=1,
            task=index,
            cluster="a",
            state=GridJobState.REMOTE_WAITING,
            submission_time=NOW - age,
        )
        for index, age in enumerate((age for count, age in given["remote_waiting"] for _ in range(count)), 1)
    ]
    flood = given["flood_rate"] or USUAL_WAITING
    status = GridStatus(cluster="a", max=given["max"], free=0)
    wipes = failures.wipes(GridState(now=NOW, gridstatus=(status,), jobs=tuple(jobs)), GridSettings(flood_rate=flood))
    killed = {wipe.job for wipe in wipes}
    back = {job.id: failures.judge(job, _killed(job)).priority for job in jobs if job.id in killed}
    return {
        "killed_job_ids": sorted(killed),
        "left_waiting": [job.id for job in jobs if job.id not in killed],
        "events": [[wipe.job, wipe.event.code, f"'{wipe.event.message}'"] for wipe in wipes if wipe.event],
        "requeued": [["x", 1] for priority in back.values() if priority == TaskPriority.RESUBMITTED],
    }


def _killed(job: GridJob) -> RemoteJob:
    return RemoteJob(job=job.id, state=GridJobState.TERMINATED, events=(RemoteEvent("FRAG_JOB_REQUEST"),))


def printed2(given: Record) -> Record:
    """What CiGri 2's gridstat prints of the two campaigns of the recording."""
    program = "/opt/cigri/c2/CIGRI/Qfunctions/gridstat.rb"
    arguments = given["args"]
    if "-h" in arguments:
        text = gridstat2.usage(program)
    elif "-s" in arguments:
        try:
            wanted = gridstat2.read_range(arguments[arguments.index("-s") + 1])
            text = gridstat2.summary(row for row in _rows2() if row[0].campaign.id in wanted)
        except InputError as error:
            text = f"ERROR {error.reason}\n{gridstat2.usage(program)}"
    elif "--csv" in arguments:
        text = gridstat2.jobs_csv(_jobs2())
    elif "2" in arguments:
        status, counts = _rows2()[1]
        nothing = gridstat2.Throughput()
        full = {"clusters": {}} if "-f" in arguments or "--full" in arguments else {}
        text = gridstat2.campaign_report(status, counts, now=_SUBMITTED2 + 3601, whole=nothing, **full)
    elif arguments:
        text = _report2(full="-f" in arguments or "--full" in arguments)
    else:
        text = gridstat2.summary(_rows2())
    return {"output": text.split("\n")}


def _rows2() -> list[tuple[CampaignStatus, gridstat2.Counts]]:
    other = Campaign(id=2, user="v", name="n", type=CampaignType.TEST, submission_time=_SUBMITTED2)
    return [
        (CampaignStatus(campaign=_CAMPAIGN2, total=14, terminated=4), gridstat2.Counts(waiting=9, running=3)),
        (CampaignStatus(campaign=other, total=1), gridstat2.Counts(waiting=1)),
    ]


_SUBMITTED2 = 1795261320.0  # 2026-11-21 11:42:00 UTC
_CAMPAIGN2 = Campaign(id=1, user="u", name="n", submission_time=_SUBMITTED2)


def _jobs2() -> list[tuple[GridJob, GridTask]]:
    states = [GridJobState.RUNNING] * 3 + [GridJobState.TERMINATED] * 4 + [GridJobState.REMOTE_WAITING] * 2
    return [
        (GridJob(id=number, campaign=1, task=number, cluster="a", state=state), GridTask(number, 1, "x", "x"))
        for number, state in enumerate(states, 1)
    ]


def _report2(*, full: bool) -> str:
    now = _SUBMITTED2 + 3601
    ended = Durations.of(*[100] * 4)
    rate = prediction.throughput(ThroughputWindow(4, now - 201), now)
    on_a = gridstat2.Throughput(throughput=rate, durations=ended + Durations.of(*[201] * 5))
    return gridstat2.campaign_report(
        CampaignStatus(campaign=_CAMPAIGN2, total=14, terminated=4),
        gridstat2.Counts(waiting=9, running=3),
        now=now,
        last_end=_SUBMITTED2 + 3500,
        whole=gridstat2.Throughput(throughput=rate, durations=ended),
        clusters={"a": on_a} if full else None,
        jobs=_jobs2(),
    )


def _stale_sorted(decision: Record) -> Record:
    """The jobs that waited for too long come in the order of a Perl hash, which is none."""
    return {**decision, "events": sorted(decision["events"]), "requeued": sorted(decision["requeued"])}


DECIDERS: dict[str, Callable[[Any], Any]] = {
    "jdl (CiGri 2)": submitted2,
    "predictor": predicted,
    "forecast of end": expected_end,
    "metascheduler": launched,
    "nikita": wiped,
    "gridstat (CiGri 2)": printed2,
}
COMPARED: dict[str, Callable[[Any], Any]] = {
    "jdl (CiGri 2)": _without_echoes,
    "predictor": _rounded,
    "metascheduler": _launches_sorted,
    "nikita": _stale_sorted,
}
