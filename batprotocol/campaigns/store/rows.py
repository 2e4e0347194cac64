"""Converts rows of the tables to values, and values to rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import Result, Row

from batprotocol.campaigns.model import Campaign, ClusterProperties, Event, Job
from batprotocol.campaigns.model.record import Record

__all__ = ["campaign_of", "event_of", "job_row", "properties_of", "row_of", "value_of", "values_of"]

Kind = TypeVar("Kind", bound=Record)


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


def row_of(value: Record, **more: Any) -> dict[str, Any]:
    """The columns of a value."""
    return {**msgspec.to_builtins(value), **more}


def job_row(job: Job) -> dict[str, Any]:
    """The columns of a job."""
    return row_of(job, active=not job.state.ended)


def event_of(row: Row[Any]) -> Event:
    """The event of a row."""
    members = dict(row._mapping)
    return value_of(Event, {**members, "class_": members["class"]})


_properties_decoder: Final = msgspec.json.Decoder(ClusterProperties)


def properties_of(text: str) -> ClusterProperties:
    """The properties of a campaign on a cluster, from the JSON in the store."""
    return _properties_decoder.decode(text)


def campaign_of(row: Row[Any], clusters: tuple[ClusterProperties, ...]) -> Campaign:
    """The campaign of a row, with its properties on its clusters."""
    return value_of(Campaign, {**row._mapping, "clusters": clusters})
