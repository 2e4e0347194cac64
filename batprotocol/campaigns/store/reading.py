"""Reads the grid for a cycle: counts, and active campaigns and jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, bindparam, func, select

from batprotocol.campaigns.model import (
    Blacklist,
    Campaign,
    CampaignStatus,
    Cluster,
    ClusterProperties,
    ControllerState,
    Durations,
    Forecast,
    Grid,
    GridStatus,
    Job,
    Progress,
    Tap,
    UserPriority,
    Window,
)
from batprotocol.campaigns.store import tables
from batprotocol.campaigns.store.cycle import PERIOD_SECONDS
from batprotocol.campaigns.store.engine import NUMBERS, in_pieces
from batprotocol.campaigns.store.rows import campaign_of, properties_of, value_of, values_of

__all__ = ["LIVING", "CampaignReader", "read_grid"]

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


def read_grid(connection: Connection, reader: CampaignReader, now: float, window: float) -> Grid:
    """The grid that a cycle decides upon.

    Args:
        connection: a connection in a transaction.
        reader: the reader of campaigns.
        now: seconds of the grid's clock.
        window: the time over which the throughput is measured, in seconds.
    """
    clusters = values_of(Cluster, connection.execute(_CLUSTERS))
    return Grid(
        now=now,
        clusters=clusters,
        gridstatus=_snapshots(connection, clusters),
        campaigns=reader.statuses(connection),
        jobs=values_of(Job, connection.execute(_ACTIVE_JOBS)),
        progress=_progress(connection, now, window),
        blacklist=tuple(Blacklist(row.cluster, row.campaign) for row in connection.execute(_BLACKLISTED)),
        priorities=values_of(UserPriority, connection.execute(_PRIORITIES)),
        forecasts=tuple(
            value_of(Forecast, {**row._mapping, "cluster": row.cluster or None})
            for row in connection.execute(_FORECASTS)
        ),
        taps=values_of(Tap, connection.execute(_TAPS)),
        controllers=values_of(ControllerState, connection.execute(_CONTROLLERS)),
    )


def _snapshots(connection: Connection, clusters: Iterable[Cluster]) -> tuple[GridStatus, ...]:
    """The newest snapshot of each cluster."""
    found = (connection.execute(_SNAPSHOT, {"of": cluster.name}).one_or_none() for cluster in clusters)
    return tuple(value_of(GridStatus, row) for row in found if row is not None)


def _progress(connection: Connection, now: float, window: float) -> tuple[Progress, ...]:
    first = int((now - window) // PERIOD_SECONDS)
    windows = {
        (row.campaign, row.cluster): Window(int(row.finished), row.since)
        for row in connection.execute(_WINDOWS, {"first": first})
    }
    return tuple(
        Progress(
            campaign=row.campaign,
            cluster=row.cluster,
            durations=Durations(row.jobs, row.total, row.squares),
            window=windows.get((row.campaign, row.cluster), Window()),
        )
        for row in connection.execute(_PROGRESS)
    )


def _living(table: Table) -> Select[Any]:
    """The rows of a table for campaigns that have not ended."""
    living = select(tables.campaigns.c.id).where(tables.campaigns.c.state.in_(LIVING))
    return select(table).where(table.c.campaign.in_(living)).order_by(table.c.campaign, table.c.cluster)


_ACTIVE_JOBS: Final = select(tables.jobs).where(tables.jobs.c.active).order_by(tables.jobs.c.id)
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
