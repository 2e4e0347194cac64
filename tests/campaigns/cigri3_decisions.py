"""Our decisions upon the inputs of CiGri 3's recorded ones, in their words: see `cigri_decisions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cigri_records import NOW, Record, read_file

from batprotocol.campaigns.entities import failures, regulation, scheduling
from batprotocol.campaigns.entities.regulation import limit_by_tap
from batprotocol.campaigns.jdl import properties_from, read_jdl, rows_of
from batprotocol.campaigns.model import (
    Blacklist,
    Campaign,
    CampaignState,
    CampaignStatus,
    ClusterProperties,
    GridCluster,
    GridJob,
    GridJobState,
    GridSettings,
    GridState,
    GridStatus,
    GridTask,
    RemoteEvent,
    RemoteJob,
    Tap,
    TapSettings,
    TapState,
    TaskPriority,
    UserPriority,
)
from batprotocol.errors import JdlError

# CiGri 3's metascheduler, and its scheduler by affinity


def _number(name: str) -> int:
    return int(name.removeprefix("camp"))


def _campaign3(number: int, given: Record, paused: bool) -> Campaign:
    properties = []
    for name, said in given["clusters"].items():
        rows = {key: "\n".join(each) if isinstance(each, list) else str(each) for key, each in said.items()}
        properties.append(properties_from(name, {"exec_file": "x", **rows}))
    state = CampaignState.PAUSED if paused else CampaignState.IN_TREATMENT
    return Campaign(id=number, user=given.get("user", "u"), name="n", state=state, clusters=tuple(properties))


def _grid3(given: Record) -> GridState:
    paused = {_number(name) for name in given.get("paused", ())}
    campaigns = tuple(_campaign3(place, each, place in paused) for place, each in enumerate(given["campaigns"], 1))
    totals = [each["nb_jobs"] for each in given["campaigns"]]
    return GridState(
        now=NOW,
        clusters=tuple(
            GridCluster(
                name=each["name"],
                power=each.get("power", 1),
                stress_factor=each.get("stress_factor"),
                enabled=each.get("enabled", True),
            )
            for each in given["clusters"]
        ),
        gridstatus=tuple(GridStatus(cluster=each["name"], max=1, free=1) for each in given["clusters"]),
        campaigns=tuple(
            CampaignStatus(campaign=each, total=total, pending=total)
            for each, total in zip(campaigns, totals, strict=True)
        ),
        # what a campaign failed with keeps it from being submitted, but not from being queued
        blacklist=tuple(Blacklist(each["cluster"]) for each in given.get("blacklist", ()) if not each.get("campaign")),
        priorities=tuple(
            UserPriority(each["user"], each["cluster"], each["priority"]) for each in given.get("users_priority", ())
        ),
    )


def queues(given: Record) -> Record:
    """What CiGri 3 puts into the queues of its clusters."""
    grid, settings = _grid3(given), GridSettings(strategy="priority")
    couples = [
        couple
        for couple in scheduling.couples(grid, settings)
        if not couple.properties.prologue or couple.cluster.name in couple.status.prologue_done
    ]
    rates = {(_number(each["campaign"]), each["cluster"]): each["rate"] for each in given.get("taps", ())}
    active = {(_number(each["campaign"]), each["cluster"]): each["count"] for each in given.get("active_jobs", ())}
    queued = {(_number(each["campaign"]), each["cluster"]): each["count"] for each in given.get("queued", ())}
    limits = {
        couple.key: limit_by_tap(
            rates.get(couple.key, settings.tap.rate),
            max_jobs=1 if couple.properties.test_mode else couple.properties.max_jobs,
            active=active.get(couple.key, 0),
            queued=queued.get(couple.key, 0),
            ahead=10,
        )
        for couple in couples
    }
    # each cluster sees no more tasks of a campaign than it may have itself, which others may draw before it
    wanted = {key: min(most, settings.batch) for key, most in limits.items() if most > 0}
    tasks = _tasks3(given)
    found: dict[str, list[Record]] = {}
    drawn = scheduling.draw(wanted, {key: tasks[key][:most] for key, most in wanted.items()})
    for (number, cluster), got in drawn.items():
        properties = grid.campaigns[number - 1].campaign.on(cluster)
        assert properties
        queue = found.setdefault(cluster, [])
        queue.append(
            {
                "campaign": f"camp{number}",
                "order_num": len(queue) + 1,
                "runner_options": _options(properties),
                "params": [task.name for task in got],
            }
        )
    order = [[couple.cluster.name, f"camp{couple.campaign.id}", limits[couple.key]] for couple in couples]
    return {"order": order, "queues": found}


def _options(properties: ClusterProperties) -> Record:
    found: Record = {"besteffort": properties.best_effort}
    if properties.temporal_grouping:
        found["temporal_grouping"] = True
    elif properties.dimensional_grouping:
        found["dimensional_grouping"] = True
    return found


def _tasks3(given: Record) -> dict[tuple[int, str], list[GridTask]]:
    """The tasks of each campaign, in the order in which each cluster draws them."""
    priorities = {(each["campaign"], each["param"]): each["priority"] for each in given.get("task_priority", ())}
    affinities = {
        (each["campaign"], each["cluster"], each["param"]): each["priority"] for each in given.get("affinity", ())
    }
    found = {}
    first = 0
    for place, campaign in enumerate(given["campaigns"], 1):
        name = f"camp{place}"
        tasks = [
            GridTask(
                first + index, place, str(index), str(index), priorities.get((name, str(index)), TaskPriority.USUAL)
            )
            for index in range(campaign["nb_jobs"])
        ]
        first += len(tasks)
        for cluster in campaign["clusters"]:
            found[place, cluster] = sorted(
                tasks, key=lambda task: (-task.priority, -affinities.get((name, cluster, task.name), 0), task.id)
            )
    return found


# Taps and the runner


def _tap_settings(given: Record) -> TapSettings:
    return TapSettings(
        rate=given.get("initial_rate", 3),
        factor=given.get("factor", 1.5),
        maximum=given.get("max", 100),
        grace=given.get("grace_period_s", 60),
    )


def turned(given: Record) -> Record:
    """A tap after each of several turns."""
    settings = _tap_settings(given)
    turns: dict[str, Callable[[Tap], Tap]] = {
        "increase": lambda tap: regulation.increase_tap(tap, settings),
        "decrease": lambda tap: regulation.decrease_tap(tap, NOW, settings),
        "close": lambda tap: regulation.close_tap(tap, NOW),
        "open": regulation.open_tap,
        "reset": lambda tap: regulation.reset_tap(tap, settings),
    }
    tap = Tap(campaign=1, cluster="a", rate=settings.rate)
    states = [tap]
    for operation in given["operations"]:
        states.append(turns[operation](states[-1]))
    return {"states": [{"state": str(each.state), "rate": each.rate} for each in states]}


def tap_rate(given: Record) -> Record:
    """A rate, turned up and down."""
    tap, settings = Tap(campaign=1, cluster="a", rate=given["rate"]), TapSettings()
    return {
        "after_increase": regulation.increase_tap(tap, settings).rate,
        "after_decrease": regulation.decrease_tap(tap, NOW, settings).rate,
    }


def _tap(given: Record, number: int = 1) -> Tap:
    ago = given.get("closed_seconds_ago")
    closed = given.get("state") == "closed" or ago is not None
    return Tap(
        campaign=number,
        cluster="a",
        rate=given["rate"],
        state=TapState.CLOSED if closed else TapState.OPEN,
        close_date=NOW - (ago or 0) if closed else None,
    )


def decrease_after_close(given: Record) -> Record:
    """A closed tap, turned down."""
    tap = regulation.decrease_tap(_tap(given), NOW, TapSettings())
    return {"state": str(tap.state), "rate": tap.rate}


def next_jobs(given: Record) -> list[list[str]]:
    """What CiGri 3's runner takes out of a cluster's queue."""
    priorities = {(each["campaign"], each["param"]): each["priority"] for each in given.get("task_priority", ())}
    queue = [
        (each["campaign"], str(index))
        for each in given["queue"]
        if each["campaign"] not in given.get("paused", ())
        for index in range(each["count"])
    ]
    queue.sort(key=lambda entry: -priorities.get(entry, TaskPriority.USUAL))
    runs: list[list[tuple[str, str]]] = []
    for entry in queue:
        if runs and runs[-1][0][0] == entry[0]:
            runs[-1].append(entry)
        else:
            runs.append([entry])
    own = {number: Tap(campaign=number, cluster="a") for number in range(1, len(given["campaigns"]) + 1)}
    own |= {_number(each["campaign"]): _tap(each, _number(each["campaign"])) for each in given.get("taps", ())}
    banned = {_number(name) for name in given.get("blacklist", ())}
    lengths = [regulation.QueuedRun(_number(run[0][0]), len(run)) for run in runs]
    served = regulation.served_run(lengths, own, banned, NOW, TapSettings())
    if served is None:
        return []
    first = next(run for run in runs if _number(run[0][0]) == served.campaign)
    return [list(entry) for entry in first[: served.jobs]]


def analyzed(given: Record) -> Record:
    """What the end of a job means."""
    remote = given["remote_job"]
    job = GridJob(id=1, campaign=1, task=None if given["tag"] else 1, cluster="a", tag=given["tag"], remote_id="77")
    events = tuple(RemoteEvent(each["type"], each.get("description", "")) for each in remote["events"])
    said = RemoteJob(job=1, state=GridJobState.TERMINATED, exit_code=remote["exit_code"] or None, events=events)
    verdict = failures.judge(job, said)
    return {
        "events": [
            {"class": each.class_, "code": each.code, "state": str(each.state), "message": each.message}
            for each in verdict.events
        ],
        "requeued_with_priority": verdict.priority,
        "blacklist_for_campaign": any(each.blacklists for each in verdict.events),
        "job_state": str(verdict.state),
        "remote_id": int(verdict.remote_id or 77),
        "affinity": verdict.affinity,
    }


def _messages_cut(decision: Record) -> Record:
    """The records hold the first 90 characters of a message."""
    events = [{**event, "message": event["message"][:90]} for event in decision["events"]]
    for event in events:
        event["message"] = event["message"].replace("resubmited", "resubmitted")[:90]
    return {**decision, "events": events}


# The JDL


def submitted3(given: Record) -> Record:
    """A campaign of CiGri 3's JDL, or why there is none."""
    try:
        got = read_jdl(given["jdl"], user=given["user"], clusters=["a", "b", "c"], read_file=read_file)
    except JdlError as error:
        return {"error": "JdlError", "message": error.reason}
    names = [each.split()[0] if each else "" for each in got.parameters]
    properties = {each.cluster: rows_of(each) for each in got.campaign.clusters}
    for rows in properties.values():
        rows.pop("priority", None)
    return {
        "campaign": {
            "user": got.campaign.user,
            "state": str(got.campaign.state),
            "type": got.campaign.jobs_type,
            "name": got.campaign.name,
            "nb_jobs": len(got.parameters),
        },
        "properties": properties,
        "params": [list(pair) for pair in zip(names, got.parameters, strict=True)],
        "bag": [[int(TaskPriority.USUAL), len(names)]] if names else [],
    }


DECIDERS: dict[str, Callable[[Any], Any]] = {
    "metascheduler+affinity scheduler": queues,
    "tap": turned,
    "tap rate": tap_rate,
    "tap decrease after close": decrease_after_close,
    "runner get_next": next_jobs,
    "colombo analyze": analyzed,
    "jdl": submitted3,
}
COMPARED: dict[str, Callable[[Any], Any]] = {"colombo analyze": _messages_cut}
