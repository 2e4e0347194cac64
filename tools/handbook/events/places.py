"""The page of each name: of events, which have a page each, and of the sections in the pages of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Final

from batprotocol._schema.description import SCHEMA

from batprotocol import model
from handbook.markers import marked

__all__ = [
    "EVENTS",
    "SPEAKERS",
    "anchor",
    "event_of",
    "fields_of",
    "is_hidden",
    "names",
    "names_on",
    "place",
    "speaker_of",
]

SPEAKERS: Final = {"Batsim": model.BATSIM_TO_EDC, "the decision component": model.EDC_TO_BATSIM}
"""The events by sender."""

EVENTS: Final[Mapping[str, type[model.Event]]] = {
    each.__name__: each for each in (*model.BATSIM_TO_EDC, *model.EDC_TO_BATSIM)
}
"""All events by name, in the order of the schema, Batsim's first."""


def event_of(page: str) -> type[model.Event]:
    """The event of a page."""
    return EVENTS[page.rpartition("/")[2]]


def speaker_of(kind: type[model.Event]) -> str:
    """The sender of events of this type."""
    return next(speaker for speaker, kinds in SPEAKERS.items() if kind in kinds)


@cache
def _places() -> Mapping[str, tuple[str, str]]:
    found = {name: (f"reference/events/{name}", "") for name in EVENTS}
    return found | {thing: (page, thing.lower()) for page, _, thing in marked("reference/values", "thing")}


def place(name: str) -> tuple[str, str]:
    """The page, and the anchor there, of an event, table, enum or union."""
    return _places()[name]


def anchor(owner: str, part: str) -> str:
    """The anchor of a field of a table, or of a member of an enum."""
    return f"{owner}.{part}"


def fields_of(table: str) -> list[str]:
    """The names of the fields of a table, without the tags of unions."""
    return [field.name for field in SCHEMA.tables[table].fields if field.type.kind != "utype"]


def is_hidden(name: str) -> bool:
    """Whether a table is on the wire only, and Python has something simpler."""
    return name in SCHEMA.tables and not hasattr(model, name)


def names() -> Mapping[str, tuple[str, str]]:
    """All names with a link target, with page and anchor. Features are also found without the name of their table."""
    features = model.EDCRequestedSimulationFeatures.__name__
    found = {field: (place(features)[0], anchor(features, field)) for field in fields_of(features)}
    found |= _places()
    for table in SCHEMA.tables:
        found |= {f"{table}.{field}": (place(table)[0], anchor(table, field)) for field in fields_of(table)}
    for enum, row in SCHEMA.enums.items():
        found |= {f"{enum}.{member}": (place(enum)[0], anchor(enum, member)) for member in row.values}
    return found


@cache
def names_on(page: str) -> Mapping[str, tuple[str, str] | None]:
    """The targets of the bare names of fields and members on a page, and None where a name is ambiguous.

    On other pages they are ambiguous: many events have a `job_id`.
    """
    everything = {table: fields_of(table) for table in SCHEMA.tables}
    everything |= {name: [*enum.values] for name, enum in SCHEMA.enums.items()}
    known = names()
    found: dict[str, tuple[str, str] | None] = {
        part: None for parts in everything.values() for part in parts if part not in known
    }
    here = [(owner, part) for owner, parts in everything.items() if place(owner)[0] == page for part in parts]
    times = Counter(part for _, part in here)
    found |= {part: (page, anchor(owner, part)) for owner, part in here if times[part] == 1 and part not in known}
    return found
