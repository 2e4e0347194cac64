"""The tables, with the names of the specification and of CiGri.

A cycle reads little: active rows have their own indexes, and ended rows are counted when they end. This module must not
know the decisions.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Result,
    Row,
    Table,
    Text,
    UniqueConstraint,
    insert,
    literal_column,
    select,
    text,
    update,
)

from batprotocol.campaigns.model import Campaign, ClusterProperties, GridEvent, GridJob, GridValue
from batprotocol.errors import StoreError

METADATA: Final = MetaData()


def _number(name: str, **options: object) -> Column[int]:
    return Column(name, Integer, nullable=False, default=0, **options)  # type: ignore[arg-type]  # any of Column's


def _text(name: str, default: str | None = None) -> Column[str]:
    return Column(name, Text, nullable=False, default=default)


def _seconds(name: str) -> Column[float | None]:
    """Seconds of the grid's clock, or of a duration."""
    return Column(name, Float)


def _campaign(*, key: bool = False) -> Column[int]:
    return Column("campaign", ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=key, nullable=False)


grid = Table("grid", METADATA, Column("key", Text, primary_key=True), _text("value"))
"""The single values: the version of the tables, the prefix of job names, the number of the last cycle."""

clusters = Table(
    "clusters",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("power", Float, nullable=False, default=1.0),
    _text("batch", ""),
    _text("resource_unit", "resource_id"),
    Column("stress_factor", Float),
    Column("stress_limit", Float, nullable=False, default=0.8),
    Column("enabled", Boolean, nullable=False, default=True),
    _text("address", ""),
    Column("resources", Integer),
)
"""`batch` is the kind of its resource manager (`local`, `dask`), `address` its address, `resources` their number."""

campaigns = Table(
    "campaigns",
    METADATA,
    Column("id", Integer, primary_key=True),
    _text("user"),
    _text("name"),
    _text("type"),
    _text("jobs_type"),
    _text("state"),
    Column("submission_time", Float, nullable=False),
    _text("jdl", ""),
    _number("total"),
    _number("pending"),
    _number("active"),
    _number("terminated"),
    _number("failed"),
    _number("events"),
)
"""The numbers count tasks and open events. They change in the same transaction as a task."""
Index("campaigns_state", campaigns.c.state)

campaign_properties = Table(
    "campaign_properties",
    METADATA,
    _campaign(key=True),
    Column("cluster", Text, primary_key=True),
    _number("position"),
    _text("properties"),
    Column("prologue_done", Boolean, nullable=False, default=False),
    Column("epilogue_done", Boolean, nullable=False, default=False),
)
"""The properties of a campaign on a cluster, as JSON."""

parameters = Table(
    "parameters",
    METADATA,
    Column("id", Integer, primary_key=True),
    _campaign(),
    _text("name"),
    _text("parameters"),
    _number("priority"),
    _text("state"),
    UniqueConstraint("campaign", "name"),
)
"""The tasks. The pending ones are CiGri 3's bag of tasks."""
PENDING: Final = parameters.c.state == literal_column("'pending'")
Index(
    "bag_of_tasks",
    parameters.c.campaign,
    parameters.c.priority.desc(),
    parameters.c.id,
    sqlite_where=PENDING,
    postgresql_where=PENDING,
)

jobs = Table(
    "jobs",
    METADATA,
    Column("id", Integer, primary_key=True),
    _campaign(),
    Column("task", ForeignKey("parameters.id", ondelete="CASCADE")),
    _text("cluster"),
    _text("state"),
    Column("active", Boolean, nullable=False),
    Column("submission_time", Float, nullable=False),
    _seconds("start_time"),
    _seconds("stop_time"),
    Column("exit_code", Integer),
    Column("remote_id", Text),
    Column("best_effort", Boolean, nullable=False, default=True),
    Column("replica", Boolean, nullable=False, default=False),
    Column("tag", Text),
    Column("kill", Text),
    _number("weight"),
    Column("node", Text),
    Column("group", Integer),
)
"""`active`: whether the job has not ended. `kill` is an intention until the cluster reports the end of the job. `group`
is the number of the first job of the group."""
# The conditions are written as queries with `jobs.c.active` write them, so that SQLite uses the index.
Index("jobs_active", jobs.c.id, sqlite_where=text("active = 1"), postgresql_where=text("active"))
Index("jobs_of_a_campaign", jobs.c.campaign, jobs.c.id)
Index("jobs_of_a_task", jobs.c.task)

outputs = Table(
    "outputs",
    METADATA,
    Column("job", ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    _text("stdout", ""),
    _text("stderr", ""),
)
"""The end of the output of jobs that did not end well, for a number of the last ones."""

jobs_to_submit = Table(
    "jobs_to_submit",
    METADATA,
    _campaign(key=True),
    Column("cluster", Text, primary_key=True),
    _number("jobs"),
    _text("policy"),
    Column("resources", Float, nullable=False),
)
"""The orders of the schedulers in the last cycle."""

gridstatus = Table(
    "gridstatus",
    METADATA,
    Column("cycle", Integer, primary_key=True),
    Column("cluster", Text, primary_key=True),
    Column("time", Float, nullable=False),
    _number("max"),
    _number("free"),
)
"""A snapshot of the resources of a cluster, each cycle."""
Index("gridstatus_of_a_cluster", gridstatus.c.cluster, gridstatus.c.cycle)


def _forecast() -> list[Column[float | None] | Column[int]]:
    return [
        Column("time", Float, nullable=False),
        _seconds("ratio"),
        _number("nsub"),
        Column("free", Float, nullable=False),
        _seconds("average"),
        _seconds("deviation"),
        _seconds("throughput"),
        _seconds("end"),
        Column("method", Text),
    ]


forecasts = Table(
    "forecasts",
    METADATA,
    _campaign(key=True),
    Column("cluster", Text, primary_key=True),
    _number("cycle"),
    *_forecast(),
)
"""The newest forecast of each campaign on each cluster; an empty `cluster` means all clusters."""

forecasts_history = Table(
    "forecasts_history",
    METADATA,
    Column("cycle", Integer, primary_key=True),
    _campaign(key=True),
    Column("cluster", Text, primary_key=True),
    *_forecast(),
)
"""The forecasts of the last cycles."""

taps = Table(
    "taps",
    METADATA,
    _campaign(key=True),
    Column("cluster", Text, primary_key=True),
    _text("state"),
    _number("rate"),
    _seconds("close_date"),
)

controllers = Table(
    "controllers",
    METADATA,
    _campaign(key=True),
    Column("cluster", Text, primary_key=True),
    Column("submitted", Float, nullable=False),
    Column("integral", Float, nullable=False),
)

events = Table(
    "events",
    METADATA,
    Column("id", Integer, primary_key=True),
    _text("class"),
    _text("code"),
    _text("state"),
    Column("date", Float, nullable=False),
    Column("job", Integer),
    Column("campaign", ForeignKey("campaigns.id", ondelete="CASCADE")),
    Column("cluster", Text),
    Column("parent", Integer),
    _text("message", ""),
    Column("blacklists", Boolean, nullable=False, default=False),
)
OPEN: Final = events.c.state == literal_column("'open'")
Index("events_open", events.c["class"], events.c.id, sqlite_where=OPEN, postgresql_where=OPEN)
Index("events_of_a_campaign", events.c.campaign, events.c.id)
Index("events_of_a_parent", events.c.parent)

users_priority = Table(
    "users_priority",
    METADATA,
    Column("user", Text, primary_key=True),
    Column("cluster", Text, primary_key=True),
    _number("priority"),
)
"""The affinity of the specification's note: the priority of a user on a cluster."""

tasks_affinity = Table(
    "tasks_affinity",
    METADATA,
    _campaign(key=True),
    Column("cluster", Text, primary_key=True),
    Column("task", ForeignKey("parameters.id", ondelete="CASCADE"), primary_key=True),
    _number("affinity"),
)
"""The affinity of a task that has not ended to a cluster, below 0. Without a row, it is 0."""
Index("affinities_of_a_task", tasks_affinity.c.task)

progress = Table(
    "progress",
    METADATA,
    _campaign(key=True),
    Column("cluster", Text, primary_key=True),
    _number("submitted"),
    _number("jobs"),
    Column("total", Float, nullable=False, default=0.0),
    Column("squares", Float, nullable=False, default=0.0),
)
"""Sums of the ended jobs of a campaign on a cluster."""

finished = Table(
    "finished",
    METADATA,
    _campaign(key=True),
    Column("cluster", Text, primary_key=True),
    Column("period", Integer, primary_key=True),
    _number("jobs"),
    Column("since", Float, nullable=False),
)
"""The number of jobs that ended well in each of the last periods, and the first time of their submission."""
Index("finished_by_period", finished.c.period)


# Unique numbers, and the single values of a store.


SCHEMA: Final = "2"
"""The version of the tables."""


def initialise(connection: Connection) -> None:
    """Make the tables if they are missing. It raises `StoreError` if their version is unknown."""
    METADATA.create_all(connection)
    found = _value(connection, "schema")
    if found is None:
        rows = [{"key": "schema", "value": SCHEMA}, {"key": "mark", "value": f"cigri-{secrets.token_hex(4)}"}]
        connection.execute(insert(grid), rows)
    elif found == "1":  # jobs were not in groups yet; new tables are made above
        connection.execute(text('ALTER TABLE jobs ADD COLUMN "group" INTEGER'))
        connection.execute(update(grid).where(grid.c.key == "schema").values(value=SCHEMA))
    elif found != SCHEMA:
        raise StoreError(
            f"the tables have version {found}, expected {SCHEMA}: use another file, or the version that made it"
        )


def mark_of(connection: Connection) -> str:
    """The prefix of the names of jobs, for clusters that other stores use, too."""
    return _value(connection, "mark") or "cigri"


def next_cycle(connection: Connection) -> int:
    """The number of a new cycle."""
    return next_numbers(connection, "cycle", 1)


def next_numbers(connection: Connection, of: str, count: int) -> int:
    """The first of `count` new numbers of this kind."""
    last = _value(connection, f"last {of}")
    if last is None:
        connection.execute(insert(grid).values(key=f"last {of}", value=str(count)))
        return 1
    changed = update(grid).where(grid.c.key == f"last {of}")
    connection.execute(changed.values(value=str(int(last) + count)))
    return int(last) + 1


def _value(connection: Connection, key: str) -> str | None:
    found: str | None = connection.execute(select(grid.c.value).where(grid.c.key == key)).scalar()
    return found


# Converts rows of the tables to values, and values to rows.


Kind = TypeVar("Kind", bound=GridValue)


def value_of(kind: type[Kind], row: Row[Any] | Mapping[str, Any]) -> Kind:
    """The value of a row whose columns have the names of its fields; other columns are ignored."""
    members = row if isinstance(row, Mapping) else row._mapping
    given = {name: member for name in kind.__struct_fields__ if (member := members.get(name)) is not None}
    return msgspec.convert(given, kind)


def values_of(kind: type[Kind], rows: Result[Any]) -> tuple[Kind, ...]:
    """The values of such rows. The columns are looked up once for all rows."""
    places = [(str(name), place) for place, name in enumerate(rows.keys()) if name in kind.__struct_fields__]
    members = [{name: row[place] for name, place in places if row[place] is not None} for row in rows]
    return tuple(msgspec.convert(members, list[kind]))  # type: ignore[valid-type]  # it is one


def row_of(value: GridValue, **more: Any) -> dict[str, Any]:
    """The columns of a value."""
    return {**msgspec.to_builtins(value), **more}


def job_row(job: GridJob) -> dict[str, Any]:
    """The columns of a job."""
    return row_of(job, active=not job.state.ended)


def event_of(row: Row[Any]) -> GridEvent:
    """The event of a row."""
    members = dict(row._mapping)
    return value_of(GridEvent, {**members, "class_": members["class"]})


_properties_decoder: Final = msgspec.json.Decoder(ClusterProperties)


def properties_of(text: str) -> ClusterProperties:
    """The properties of a campaign on a cluster, from the JSON in the store."""
    return _properties_decoder.decode(text)


def campaign_of(row: Row[Any], clusters: tuple[ClusterProperties, ...]) -> Campaign:
    """The campaign of a row, with its properties on its clusters."""
    return value_of(Campaign, {**row._mapping, "clusters": clusters})
