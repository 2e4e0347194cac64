"""The content of events: a section for each table, enum and union."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from batprotocol._schema.description import SCHEMA

from batprotocol import model
from batprotocol.wire.reflection import Type
from handbook.events import ages, docstrings
from handbook.events.examples import value_example
from handbook.events.fields import field_list
from handbook.events.layout import entries
from handbook.events.places import anchor, is_hidden
from handbook.markdown import code, listed, prose

__all__ = ["thing"]


def thing(page: str, name: str) -> str:
    """The section about a table, an enum or a union."""
    describe = _enum if name in SCHEMA.enums else _union if name in SCHEMA.unions else _table
    return "\n".join([f"## {name}", "", *describe(name), ""])


@cache
def _uses() -> Mapping[str, list[str]]:
    """The uses of each type: the fields (`Table.field`) and the unions (`Union`)."""
    found: dict[str, list[str]] = {}
    for table in SCHEMA.tables.values():
        for field in table.fields:
            used: Type = field.type.element or field.type
            if used.name and used.kind != "utype":
                found.setdefault(used.name, []).append(f"{table.name}.{field.name}")
    for union in SCHEMA.unions.values():
        for member in union.members:
            found.setdefault(member, []).append(union.name)
    return found


def _used(name: str) -> Iterator[str]:
    """The uses of a type, and the age that introduced it."""
    fields = [use for use in _uses().get(name, ()) if "." in use]
    unions = [use for use in _uses().get(name, ()) if "." not in use]
    facts = []
    if unions:
        facts.append(f"a member of the union {listed(map(code, unions))}")
    if fields:
        facts.append(f"in {listed(map(code, fields))}")
    facts.append(f"since [{ages.since(name)}](../../howto/read-other-schemas.md)")
    yield f"[{' · '.join(facts)}]{{.facts}}"
    yield ""


def _table(name: str) -> Iterator[str]:
    yield from _used(name)
    if is_hidden(name):
        yield _HIDDEN[name]
    else:
        yield prose(docstrings.said(getattr(model, name)))
    yield field_list(name) or "\nIt has no fields.\n"
    yield value_example(name)


_HIDDEN: Final = {
    "EventAndTimestamp": "On the wire, a message is a list of these tables: an event and its time. Python hides the "
    "table: each event has a field `timestamp`.",
    "KillProgressWrapper": "On the wire, a table around the union, because flatbuffers has no vectors of unions. "
    "Python hides the table and has the `KillProgress` itself.",
    "PredefinedExecutorPlacementStrategyWrapper": "On the wire, a table around the enum, because members of a union "
    "must be tables. Python hides the table and has the `PredefinedExecutorPlacementStrategy` itself.",
    "TemporalTriggerWrapper": "On the wire, a table around the union, because members of a union must be tables. "
    "Python hides the table and has the `TemporalTrigger` itself.",
}
"""The descriptions of the tables that Python does not show."""


def _enum(name: str) -> Iterator[str]:
    enum = SCHEMA.enums[name]
    yield from _used(name)
    yield prose(docstrings.said(getattr(model, name)))
    yield ""
    yield f"On the wire, it is an {enum.kind}; in JSON, the name."
    documented = docstrings.members(name)
    yield entries(
        (
            anchor(name, member),
            f"{code(member)} = {number}",
            "",
            prose(documented.get(member) or enum.value_docs.get(member, "").replace("\n", " ")),
        )
        for member, number in enum.values.items()
    )


def _union(name: str) -> Iterator[str]:
    union = SCHEMA.unions[name]
    field = next((use.rpartition(".")[2] for use in _uses().get(name, ()) if "." in use), "")
    yield from _used(name)
    yield "One of these types. On the wire, a number selects the type:"
    yield ""
    yield from (f"{number}. {code(member)}" for number, member in enumerate(union.members, 1))
    yield ""
    yield (
        "In JSON, a separate field has the name of the type: "
        f'`"{field}_type": "{union.members[0]}"` beside `"{field}": {{…}}`.'
    )
    hidden = [each for each in union.members if is_hidden(each)]
    if hidden:
        yield ""
        yield f"Python hides {listed(map(code, hidden))} and has the content instead."
