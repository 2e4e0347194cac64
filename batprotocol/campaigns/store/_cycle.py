"""A cycle's transaction: its input, and the records of its decisions.

A change of a task or job changes the counts in the same transaction. Ended tasks and jobs are never read. This module
must not decide.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, bindparam, delete, func, insert, select, update

from batprotocol.campaigns.entities.failures import blacklist_event
from batprotocol.campaigns.model import (
    Blacklist,
    Campaign,
    CampaignProgress,
    CampaignStatus,
    ClusterProperties,
    Decisions,
    Durations,
    EventChange,
    EventState,
    Forecast,
    GridCluster,
    GridEvent,
    GridJob,
    GridJobState,
    GridState,
    GridStatus,
    GridTask,
    GridUpdate,
    JobChange,
    JobOrder,
    Observation,
    PiControllerState,
    Tap,
    TaskChange,
    TaskState,
    TaskSubmission,
    ThroughputWindow,
    UserPriority,
    Wipe,
)
from batprotocol.campaigns.store import _tables as tables
from batprotocol.campaigns.store._engine import NUMBERS, change_in_pieces, in_pieces, insert_rows, upsert
from batprotocol.campaigns.store._tables import (
    campaign_of,
    event_of,
    job_row,
    next_numbers,
    properties_of,
    row_of,
    value_of,
    values_of,
)

KEPT_OUTPUTS: Final = 10_000
"""The number of jobs that did not end well whose output is kept."""

HISTORY_CYCLES: Final = 1000
"""The number of cycles for which snapshots and forecasts are kept."""

TIDY_CYCLES: Final = 100
"""The interval in which older ones are removed, in cycles."""

PERIOD_SECONDS: Final = 300.0
"""The period in which ended jobs are counted, in seconds. A window may be longer by one period."""

_COUNTERS: Final = {
    TaskState.PENDING: "pending",
    TaskState.ACTIVE: "active",
    TaskState.TERMINATED: "terminated",
    TaskState.EVENT: "failed",
    TaskState.CANCELLED: "failed",
}
"""The columns of `campaigns` that count the tasks in each state."""


class CycleBooks:
    """The reads and writes of one cycle, while its transaction is open.

    Args:
        connection: the transaction.
        cycle: the number of the cycle.
    """

    def __init__(self, connection: Connection, cycle: int) -> None:
        self._connection = connection
        self._cycle = cycle

    # The input of the updator

    def jobs(self) -> tuple[GridJob, ...]:
        """The jobs that have not ended, by number."""
        return values_of(GridJob, self._connection.execute(_ACTIVE_JOBS))

    def open_events(self) -> tuple[GridEvent, ...]:
        """The open events that the updator needs: those of clusters, and blacklists with their parents."""
        found = {row.id: event_of(row) for row in self._connection.execute(_WATCHED)}
        parents = [event.parent for event in found.values() if event.parent is not None and event.parent not in found]
        found.update({row.id: event_of(row) for row in in_pieces(self._connection, _STILL_OPEN, parents)})
        return tuple(found[number] for number in sorted(found))

    def tasks(self, campaign: int, cluster: str, count: int) -> tuple[GridTask, ...]:
        """The first tasks in the bag of a campaign, for this cluster: by priority, affinity and number.

        Few tasks have an affinity. A query of its own reads them, so that the others are read in the order of an index.
        """
        of = {"campaign": campaign, "cluster": cluster}
        averse = [(row.affinity, value_of(GridTask, row)) for row in self._connection.execute(_AVERSE, of)]
        without = self._connection.execute(_INDIFFERENT if averse else _IN_ORDER, {**of, "count": count})
        found = [*averse, *((0, task) for task in values_of(GridTask, without))]
        found.sort(key=lambda each: (-each[1].priority, -each[0], each[1].id))
        return tuple(task for _, task in found[:count])

    # Records

    def record(self, found: GridUpdate, observations: Iterable[Observation] = ()) -> None:
        """Record the findings of the updator."""
        statuses = [row_of(status, cycle=self._cycle) for status in found.gridstatus]
        insert_rows(self._connection, tables.gridstatus, statuses)
        self._change_jobs(found.jobs)
        change_tasks(self._connection, found.tasks)
        for observation in observations:
            if observation.stress_factor is not None:
                named = update(tables.clusters).where(tables.clusters.c.name == observation.cluster)
                self._connection.execute(named.values(stress_factor=observation.stress_factor))
        insert_events(self._connection, found.events)
        change_events(self._connection, found.event_changes)
        self.wipe(found.wipes)
        upsert(self._connection, tables.outputs, [row_of(each) for each in found.outputs])

    def carry_out(self, decisions: Decisions, now: float) -> tuple[GridJob, ...]:
        """Record the decisions; return the new jobs, which are not submitted yet."""
        self._keep_forecasts(decisions)
        connection = self._connection
        connection.execute(delete(tables.jobs_to_submit))
        insert_rows(connection, tables.jobs_to_submit, [_order_row(order) for order in decisions.orders])
        upsert(connection, tables.taps, [row_of(tap) for tap in decisions.taps])
        upsert(connection, tables.controllers, [row_of(state) for state in decisions.controllers])
        jobs = self._launch(decisions.submissions, now)
        self.wipe(decisions.wipes)
        self._end_campaigns(decisions.ended)
        return jobs

    def wipe(self, wipes: Iterable[Wipe]) -> None:
        """Record that these jobs are to be killed."""
        wanted = tuple(wipes)
        if wanted:
            rows = [{"job": wipe.job, "reason": str(wipe.reason)} for wipe in wanted]
            self._connection.execute(_KILL, rows)
            insert_events(self._connection, [wipe.event for wipe in wanted if wipe.event is not None])

    def _change_jobs(self, changes: Sequence[JobChange]) -> None:
        if not changes:
            return
        names = ("remote_id", "start_time", "stop_time", "exit_code", "node")
        by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
        for change in changes:
            given = {name: value for name in names if (value := getattr(change, name)) is not None}
            row = {"job": change.job, "state": str(change.state), "active": not change.state.ended, **given}
            by_columns[tuple(given)].append(row)
        for rows in by_columns.values():
            values: dict[str, Any] = {name: bindparam(name) for name in rows[0] if name != "job"}
            self._connection.execute(
                update(tables.jobs).where(tables.jobs.c.id == bindparam("job")).values(values), rows
            )
        self._count_terminated([change.job for change in changes if change.state is GridJobState.TERMINATED])

    def _count_terminated(self, numbers: Sequence[int]) -> None:
        """Add jobs that ended well to the sums."""
        if not numbers:
            return
        sums: dict[tuple[int, str], list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
        periods: dict[tuple[int, str, int], list[float]] = defaultdict(lambda: [0, math.inf])
        for row in in_pieces(self._connection, _TERMINATED, numbers):
            if row.tag is not None:
                self._prepared(row.campaign, row.cluster, row.tag)
                continue
            stop = row.submission_time if row.stop_time is None else row.stop_time
            seconds = max(0.0, stop - (stop if row.start_time is None else row.start_time))
            total = sums[row.campaign, row.cluster]
            total[:] = total[0] + 1, total[1] + seconds, total[2] + seconds * seconds
            period = periods[row.campaign, row.cluster, int(stop // PERIOD_SECONDS)]
            period[:] = period[0] + 1, min(period[1], row.submission_time)
        rows = [
            {"campaign": campaign, "cluster": cluster, "jobs": count, "total": total, "squares": squares}
            for (campaign, cluster), (count, total, squares) in sums.items()
        ]
        upsert(self._connection, tables.progress, rows, add=("jobs", "total", "squares"))
        rows = [
            {"campaign": campaign, "cluster": cluster, "period": period, "jobs": count, "since": since}
            for (campaign, cluster, period), (count, since) in periods.items()
        ]
        upsert(self._connection, tables.finished, rows, add=("jobs",), least="since")

    def _prepared(self, campaign: int, cluster: str, tag: str) -> None:
        """Record that a prologue or an epilogue has ended well."""
        columns = tables.campaign_properties.c
        of = update(tables.campaign_properties).where(columns.campaign == campaign, columns.cluster == cluster)
        self._connection.execute(of.values({f"{tag}_done": True}))

    def _keep_forecasts(self, decisions: Decisions) -> None:
        rows = [row_of(each, cycle=self._cycle) for each in decisions.forecasts]
        for row in rows:
            row["cluster"] = row["cluster"] or ""
        upsert(self._connection, tables.forecasts, rows)
        insert_rows(self._connection, tables.forecasts_history, rows)
        if self._cycle % TIDY_CYCLES == 0:
            for table in (tables.forecasts_history, tables.gridstatus):
                self._connection.execute(delete(table).where(table.c.cycle <= self._cycle - HISTORY_CYCLES))
            oldest = self._connection.execute(_OLDEST_OUTPUT).scalar()
            if oldest is not None:
                self._connection.execute(delete(tables.outputs).where(tables.outputs.c.job < oldest))

    def _launch(self, submissions: Sequence[TaskSubmission], now: float) -> tuple[GridJob, ...]:
        """Make a job of each task that is submitted."""
        wanted = [(each, task) for each in submissions for task in (each.tasks if each.tag is None else (None,))]
        if not wanted:
            return ()
        first = next_numbers(self._connection, "job", len(wanted))
        groups = _groups(submissions, first)
        jobs = tuple(
            GridJob(
                id=number,
                campaign=each.campaign.id,
                task=task,
                cluster=each.cluster,
                submission_time=now,
                best_effort=each.best_effort,
                replica=each.replica,
                tag=each.tag,
                weight=each.weight,
                group=groups.get(number),
            )
            for number, (each, task) in enumerate(wanted, first)
        )
        self._connection.execute(insert(tables.jobs), [job_row(job) for job in jobs])
        active = [TaskChange(task=job.task, state=TaskState.ACTIVE) for job in jobs if job.task is not None]
        change_tasks(self._connection, active)
        submitted = Counter((job.campaign, job.cluster) for job in jobs)
        rows = [
            {"campaign": campaign, "cluster": cluster, "submitted": count}
            for (campaign, cluster), count in submitted.items()
        ]
        upsert(self._connection, tables.progress, rows, add=("submitted",))
        return jobs

    def _end_campaigns(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            ended = update(tables.campaigns).where(
                tables.campaigns.c.id == number, tables.campaigns.c.state != "cancelled"
            )
            self._connection.execute(ended.values(state="terminated"))
            for table in (tables.tasks_affinity, tables.taps, tables.controllers, tables.finished):
                self._connection.execute(delete(table).where(table.c.campaign == number))


def _order_row(order: JobOrder) -> dict[str, Any]:
    row = row_of(order)
    del row["group"]
    return row


def _groups(submissions: Sequence[TaskSubmission], first: int) -> dict[int, int]:
    """The groups by job, for jobs that are numbered from `first`."""
    found: dict[int, int] = {}
    for each in submissions:
        count = len(each.tasks) if each.tag is None else 1
        for begin in range(0, count, each.group):
            together = range(first + begin, first + min(begin + each.group, count))
            if len(together) > 1:
                found.update(dict.fromkeys(together, together[0]))
        first += count
    return found


# Changes that users make, too


def change_tasks(connection: Connection, changes: Sequence[TaskChange]) -> None:
    """Record changes of tasks, and count them."""
    if not changes:
        return
    last = {change.task: change for change in changes}
    counted: dict[int, Counter[str]] = defaultdict(Counter)
    moved: dict[tuple[str, int | None], list[int]] = defaultdict(list)
    affinities = []
    ended = []
    for row in in_pieces(connection, _STATES, list(last)):
        change = last[row.id]
        counted[row.campaign][_COUNTERS[TaskState(row.state)]] -= 1
        counted[row.campaign][_COUNTERS[change.state]] += 1
        moved[str(change.state), change.priority].append(row.id)
        if change.state in (TaskState.TERMINATED, TaskState.CANCELLED):
            ended.append(row.id)
        elif change.cluster is not None and change.affinity:
            key = {"campaign": row.campaign, "cluster": change.cluster, "task": row.id}
            affinities.append({**key, "affinity": change.affinity})
    for (state, priority), numbers in moved.items():
        if priority is None:
            change_in_pieces(connection, _MOVE, numbers, {"to": state})
        else:
            change_in_pieces(connection, _MOVE_AND_RANK, numbers, {"to": state, "rank": int(priority)})
    upsert(connection, tables.tasks_affinity, affinities, add=("affinity",))
    if ended:
        connection.execute(_FORGET_AFFINITY, [{"of_task": task} for task in ended])
    _count(connection, counted)


def insert_events(connection: Connection, events: Sequence[GridEvent]) -> None:
    """Record events, with the blacklists that they cause."""
    if not events:
        return
    number = next_numbers(connection, "event", len(events) + sum(event.blacklists for event in events))
    rows = []
    opened: dict[int, Counter[str]] = defaultdict(Counter)
    for event in events:
        follows = [blacklist_event(event, number)] if event.blacklists else []
        for each in (event, *follows):
            members = row_of(each, id=number)
            members["class"] = members.pop("class_")
            rows.append(members)
            number += 1
            if each.campaign is not None and each.state is EventState.OPEN:
                opened[each.campaign]["events"] += 1
    connection.execute(insert(tables.events), rows)
    _count(connection, opened)


def change_events(connection: Connection, changes: Sequence[EventChange]) -> None:
    """Close events, or open them again."""
    opened: dict[int, Counter[str]] = defaultdict(Counter)
    wanted = {change.event: change.state for change in changes}
    moved = [row for row in in_pieces(connection, _EVENT_STATES, list(wanted)) if row.state != wanted[row.id]]
    for row in moved:
        if row.campaign is not None:
            opened[row.campaign]["events"] += 1 if wanted[row.id] is EventState.OPEN else -1
    for state in set(wanted.values()):
        numbers = [row.id for row in moved if wanted[row.id] is state]
        change_in_pieces(connection, _MOVE_EVENT, numbers, {"to": str(state)})
    _count(connection, opened)


def _count(connection: Connection, counted: dict[int, Counter[str]]) -> None:
    """Add to the counts of campaigns."""
    columns = tables.campaigns.c
    for campaign, numbers in counted.items():
        values: dict[str, Any] = {name: columns[name] + number for name, number in numbers.items() if number}
        if values:
            connection.execute(update(tables.campaigns).where(columns.id == campaign).values(values))


_jobs, _tasks, _events, _affinity = tables.jobs.c, tables.parameters.c, tables.events.c, tables.tasks_affinity.c

_ACTIVE_JOBS: Final = select(tables.jobs).where(_jobs.active).order_by(_jobs.id)
_WATCHED: Final = select(tables.events).where(tables.OPEN, _events["class"].in_(("cluster", "campaign")))
_EVENT_STATES: Final = select(_events.id, _events.campaign, _events.state).where(_events.id.in_(NUMBERS))
_MOVE_EVENT: Final = update(tables.events).where(_events.id.in_(NUMBERS)).values(state=bindparam("to"))
_STILL_OPEN: Final = select(tables.events).where(tables.OPEN, _events.id.in_(NUMBERS))
_KILL: Final = update(tables.jobs).where(_jobs.id == bindparam("job")).values(kill=bindparam("reason"))
_TERMINATED: Final = select(
    _jobs.campaign, _jobs.cluster, _jobs.tag, _jobs.submission_time, _jobs.start_time, _jobs.stop_time
).where(_jobs.id.in_(NUMBERS))
_OLDEST_OUTPUT: Final = (
    select(tables.outputs.c.job).order_by(tables.outputs.c.job.desc()).offset(KEPT_OUTPUTS - 1).limit(1)
)
_STATES: Final = select(_tasks.id, _tasks.campaign, _tasks.state).where(_tasks.id.in_(NUMBERS))
_MOVE: Final = update(tables.parameters).where(_tasks.id.in_(NUMBERS)).values(state=bindparam("to"))
_MOVE_AND_RANK: Final = _MOVE.values(priority=bindparam("rank"))
_FORGET_AFFINITY: Final = delete(tables.tasks_affinity).where(_affinity.task == bindparam("of_task"))

_of_campaign: Final = (_tasks.campaign == bindparam("campaign"), tables.PENDING)
_minding: Final = (_affinity.campaign == bindparam("campaign"), _affinity.cluster == bindparam("cluster"))
_AVERSE: Final = (
    select(tables.parameters, _affinity.affinity)
    .join(tables.tasks_affinity, _affinity.task == _tasks.id)
    .where(*_of_campaign, *_minding)
)
_IN_ORDER: Final = (
    select(tables.parameters).where(*_of_campaign).order_by(_tasks.priority.desc(), _tasks.id).limit(bindparam("count"))
)
_INDIFFERENT: Final = _IN_ORDER.where(_tasks.id.not_in(select(_affinity.task).where(*_minding)))


# Reads the grid for a cycle: counts, and active campaigns and jobs.


LIVING: Final = ("in_treatment", "paused")
"""The states of campaigns that have not ended."""


class CampaignReader:
    """Reads campaigns. Their properties on clusters never change, and are read once."""

    def __init__(self) -> None:
        self._properties: dict[int, tuple[ClusterProperties, ...]] = {}

    def statuses(self, connection: Connection, numbers: Iterable[int] | None = None) -> tuple[CampaignStatus, ...]:
        """The progress of these campaigns; None: of those that have not ended."""
        if numbers is None:
            rows: Sequence[Any] = connection.execute(_ALL_LIVING).all()
        else:
            rows = in_pieces(connection, _CHOSEN, sorted(numbers))
        self._read_properties(connection, [row.id for row in rows])
        done = {tag: _where(connection, _DONE[tag]) for tag in _DONE}
        return tuple(self._status(row, {tag: where.get(row.id, ()) for tag, where in done.items()}) for row in rows)

    def campaign(self, connection: Connection, number: int) -> Campaign | None:
        """The campaign of this number, or None."""
        found = self.statuses(connection, [number])
        return found[0].campaign if found else None

    def _status(self, row: Any, done: Mapping[str, tuple[str, ...]]) -> CampaignStatus:
        return CampaignStatus(
            campaign=campaign_of(row, self._properties.get(row.id, ())),
            total=row.total,
            pending=row.pending,
            active=row.active,
            terminated=row.terminated,
            failed=row.failed,
            events=row.events,
            prologue_done=done["prologue"],
            epilogue_done=done["epilogue"],
            used=done["used"],
        )

    def _read_properties(self, connection: Connection, numbers: list[int]) -> None:
        """Read missing properties, and drop those of other campaigns."""
        for number in set(self._properties) - set(numbers):
            del self._properties[number]
        new = [number for number in numbers if number not in self._properties]
        if new:
            found: dict[int, list[ClusterProperties]] = defaultdict(list)
            for row in in_pieces(connection, _PROPERTIES, new):
                found[row.campaign].append(properties_of(row.properties))
            self._properties.update({number: tuple(found[number]) for number in new})


def _where(connection: Connection, query: Select[Any]) -> dict[int, tuple[str, ...]]:
    """The clusters of each campaign."""
    found: dict[int, tuple[str, ...]] = {}
    for row in connection.execute(query):
        found[row.campaign] = (*found.get(row.campaign, ()), row.cluster)
    return found


def read_grid(connection: Connection, reader: CampaignReader, now: float, window: float) -> GridState:
    """The grid that a cycle decides upon.

    Args:
        connection: a connection in a transaction.
        reader: the reader of campaigns.
        now: seconds of the grid's clock.
        window: the time over which the throughput is measured, in seconds.
    """
    clusters = values_of(GridCluster, connection.execute(_CLUSTERS))
    return GridState(
        now=now,
        clusters=clusters,
        gridstatus=_snapshots(connection, clusters),
        campaigns=reader.statuses(connection),
        jobs=values_of(GridJob, connection.execute(_ACTIVE_ROWS)),
        progress=_progress(connection, now, window),
        blacklist=tuple(Blacklist(row.cluster, row.campaign) for row in connection.execute(_BLACKLISTED)),
        priorities=values_of(UserPriority, connection.execute(_PRIORITIES)),
        forecasts=tuple(
            value_of(Forecast, {**row._mapping, "cluster": row.cluster or None})
            for row in connection.execute(_FORECASTS)
        ),
        taps=values_of(Tap, connection.execute(_TAPS)),
        controllers=values_of(PiControllerState, connection.execute(_CONTROLLERS)),
    )


def _snapshots(connection: Connection, clusters: Iterable[GridCluster]) -> tuple[GridStatus, ...]:
    """The newest snapshot of each cluster."""
    found = (connection.execute(_SNAPSHOT, {"of": cluster.name}).one_or_none() for cluster in clusters)
    return tuple(value_of(GridStatus, row) for row in found if row is not None)


def _progress(connection: Connection, now: float, window: float) -> tuple[CampaignProgress, ...]:
    first = int((now - window) // PERIOD_SECONDS)
    windows = {
        (row.campaign, row.cluster): ThroughputWindow(int(row.finished), row.since)
        for row in connection.execute(_WINDOWS, {"first": first})
    }
    return tuple(
        CampaignProgress(
            campaign=row.campaign,
            cluster=row.cluster,
            durations=Durations(row.jobs, row.total, row.squares),
            window=windows.get((row.campaign, row.cluster), ThroughputWindow()),
        )
        for row in connection.execute(_PROGRESS)
    )


def _living(table: Table) -> Select[Any]:
    """The rows of a table for campaigns that have not ended."""
    living = select(tables.campaigns.c.id).where(tables.campaigns.c.state.in_(LIVING))
    return select(table).where(table.c.campaign.in_(living)).order_by(table.c.campaign, table.c.cluster)


_ACTIVE_ROWS: Final = select(tables.jobs).where(tables.jobs.c.active).order_by(tables.jobs.c.id)
# Queries are made once: to make one takes longer than to run it.
_ALL_LIVING: Final = (
    select(tables.campaigns).where(tables.campaigns.c.state.in_(LIVING)).order_by(tables.campaigns.c.id)
)
_CHOSEN: Final = select(tables.campaigns).where(tables.campaigns.c.id.in_(NUMBERS)).order_by(tables.campaigns.c.id)
_CLUSTERS: Final = select(tables.clusters).order_by(tables.clusters.c.id)
_PRIORITIES: Final = select(tables.users_priority)
_FORECASTS: Final = _living(tables.forecasts)
_TAPS: Final = _living(tables.taps)
_CONTROLLERS: Final = _living(tables.controllers)
_PROGRESS: Final = _living(tables.progress)
_said = tables.campaign_properties.c
_PROPERTIES: Final = (
    select(_said.campaign, _said.properties).where(_said.campaign.in_(NUMBERS)).order_by(_said.campaign, _said.position)
)
_DONE: Final = {
    "prologue": select(_said.campaign, _said.cluster).where(_said.prologue_done),
    "epilogue": select(_said.campaign, _said.cluster).where(_said.epilogue_done),
    "used": _PROGRESS.where(tables.progress.c.submitted > 0),
}
"""The clusters on which campaigns have had jobs, or have ended a prologue or epilogue."""
_status = tables.gridstatus.c
_SNAPSHOT: Final = (
    select(tables.gridstatus).where(_status.cluster == bindparam("of")).order_by(_status.cycle.desc()).limit(1)
)
_BLACKLISTED: Final = (
    select(tables.events.c.cluster, tables.events.c.campaign)
    .where(
        tables.OPEN,
        tables.events.c["class"].in_(("cluster", "campaign")),
        tables.events.c.code == "BLACKLIST",
        tables.events.c.cluster.is_not(None),
    )
    .distinct()
)
_finished = tables.finished.c
_WINDOWS: Final = (
    select(
        _finished.campaign,
        _finished.cluster,
        func.sum(_finished.jobs).label("finished"),
        func.min(_finished.since).label("since"),
    )
    .where(_finished.period >= bindparam("first"))
    .group_by(_finished.campaign, _finished.cluster)
)
