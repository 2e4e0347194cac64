"""The fields of events and tables: type, unit, range, default, age and meaning of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import msgspec
from batprotocol._schema.description import SCHEMA

from batprotocol import model
from batprotocol.builder import fields as checks
from batprotocol.builder.fields import asked
from batprotocol.schemas.commands.definitions import meanings
from batprotocol.wire.binding import RANGES, wrapped
from batprotocol.wire.reflection import Field, Type
from handbook.events import ages, python
from handbook.events.layout import entries
from handbook.events.places import anchor, event_of, is_hidden
from handbook.events.units import UNITS
from handbook.markdown import capitalised, code, prose

__all__ = ["event_fields", "field_list"]

_ASKED: Final[dict[Callable[..., Any], str]] = {
    checks.commit: "without comma or double quote",
    checks.csv_text: "without comma or double quote",
    checks.finite: "finite",
    checks.finite_vector: "finite",
    checks.fraction: "in [0, 1]",
    checks.id: "not empty",
    checks.ids: "none of them empty",
    checks.some_hosts: "at least one host",
    checks.some_ids: "at least one, none of them empty",
}
"""The checks of the builder beyond the type of a field, in words."""

_HOSTS: Final = (checks.host_set, checks.some_hosts)


def event_fields(page: str, argument: str) -> str:
    """The section about the fields of the event whose page this is."""
    name = event_of(page).__name__
    own = field_list(name) or "\nThe event has no fields of its own.\n"
    return f"## Fields\n{own}\nLike every event, it also has a `timestamp`: `EventAndTimestamp.timestamp`.\n"


def field_list(table: str) -> str:
    """The fields of a table as a list of definitions, "" if it has none."""
    fields = [field for field in SCHEMA.tables[table].fields if field.type.kind != "utype"]
    if not fields:
        return ""
    return entries(
        (anchor(table, field.name), code(field.name), " · ".join(_facts(table, field)), _meaning(table, field))
        for field in fields
    )


def _facts(table: str, field: Field) -> Iterator[str]:
    demand = None if is_hidden(table) else asked(getattr(model, table), field.name)
    yield _type(field.type, "[host set](../../explanation/host-sets.md), as text" if demand in _HOSTS else "")
    unit = UNITS.get((table, field.name))
    if unit is not None:
        yield unit
    number = (field.type.element or field.type).kind
    if number in RANGES:
        least, most = RANGES[number]
        yield f"{least:,} to {most:,}".replace("-", "−")
    if demand in _ASKED:
        yield _ASKED[demand]
    known = list(ages.field_ages(table, field.name))
    yield from (each for each in _absence(table, field) if not any(age.startswith(each) for age in known))
    yield from known


def _type(type_: Type, instead: str = "") -> str:
    if type_.element is not None:
        return f"list of {_plural(type_.element)}"
    if type_.kind == "union":
        return f"one of {code(type_.name)}"
    inner = wrapped(type_.name)
    if inner is not None:
        return f"{_type(inner.type)} (on the wire in a {code(type_.name)})"
    if type_.name:
        return code(type_.name)
    kinds = {"string": instead or "text", "bool": "true or false"}
    return kinds.get(type_.kind) or f"{'number' if type_.kind.startswith('float') else 'integer'} ({type_.kind})"


def _plural(type_: Type) -> str:
    name, space, rest = _type(type_).partition(" ")
    return name + ("" if type_.name else "s") + space + rest


def _absence(table: str, field: Field) -> Iterator[str]:
    """Whether a field can be absent, and its default."""
    default = _python_defaults(table).get(field.name, msgspec.NODEFAULT)
    if field.required:
        yield "required"
        if default is not msgspec.NODEFAULT:
            yield f"in Python {code(python.written(default))} by default"
    elif field.default is None:
        yield "can be absent (`None`)"
    elif field.type.kind == "enum":
        yield f"{code(SCHEMA.names[field.type.name][field.default])} if absent"
    else:
        yield f"{code(str(field.default).lower())} if absent"


@cache
def _python_defaults(table: str) -> dict[str, Any]:
    """The defaults of the class of a table, where it has one."""
    if is_hidden(table):
        return {}
    found = {}
    for each in msgspec.structs.fields(getattr(model, table)):
        if each.default is not msgspec.NODEFAULT:
            found[each.name] = each.default
        elif each.default_factory is not msgspec.NODEFAULT:
            found[each.name] = each.default_factory()
    return found


def _meaning(table: str, field: Field) -> str:
    """The meaning of a field, from the docstring of its class, or else from the schema's comment."""
    documented = {} if is_hidden(table) else meanings(getattr(model, table))
    text = documented.get(field.name) or field.doc or _HIDDEN.get((table, field.name), "")
    return prose(capitalised(text if text.endswith(".") else f"{text}."))


_HIDDEN: Final = {
    (
        "EventAndTimestamp",
        "timestamp",
    ): "the time at which the event happened or is to happen; not later than the `now` of its message",
    ("EventAndTimestamp", "event"): "the event; `event_type` is the name of its type",
    ("KillProgressWrapper", "kill_progress"): "the progress",
    ("PredefinedExecutorPlacementStrategyWrapper", "strategy"): "the strategy",
    ("TemporalTriggerWrapper", "temporal_trigger"): "the trigger",
}
"""The meaning of the fields of tables that Python does not show."""
