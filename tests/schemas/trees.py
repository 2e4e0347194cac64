"""Strategies for any schema: its messages as records, and changes of the schema itself."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from batprotocol.model import Doubles
from batprotocol.wire.binding import RANGES
from batprotocol.wire.reflection import Field, Schema, Type

__all__ = ["fbs", "records", "the_same"]


def the_same(count: int) -> settings:
    """So many examples, which are the same each time."""
    return settings(
        max_examples=count,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
NUMBERS = st.integers(-4000, 4000).map(lambda number: number / 4)
"""Those that flatc's JSON has exactly."""

FLEXIBLE = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | NUMBERS | TEXTS,
    lambda inner: st.lists(inner | st.none(), max_size=3) | st.dictionaries(TEXTS, inner | st.none(), max_size=3),
    max_leaves=5,
)
"""Values without a schema, except integers from 2^63, which flatc reads as 0."""


@st.composite
def records(draw: st.DrawFn, schema: Schema, table: str = "", depth: int = 6) -> dict[str, Any]:
    """A record of a table of the schema, the root if none is named, as it is read."""
    found: dict[str, Any] = {}
    if schema.tables[table or schema.root].size:
        return {field.name: draw(values(schema, field.type, field, 0)) for field in schema.tables[table].fields}
    for field in schema.tables[table or schema.root].fields:
        if field.type.kind == "utype" or field.deprecated:
            continue
        if draw(st.integers(0, 3)) == 0 and not field.required:
            scalar = field.type.kind not in ("string", "vector", "table", "union", "struct")
            if scalar:
                names = schema.names.get(field.type.name, {})
                found[field.name] = names.get(field.default, field.default)
            continue
        if field.type.kind == "union":
            members = schema.unions[field.type.name].members
            if depth < 2:  # the shortest way out
                union = schema.unions[field.type.name]
                members = min((member,) for member in members if not needs_tables(schema, union.table_of(member)))
            member = draw(st.sampled_from(members))
            found[f"{field.name}_type"] = member
            found[field.name] = draw(records(schema, schema.unions[field.type.name].table_of(member), depth - 1))
        elif field.is_flexible:
            found[field.name] = draw(FLEXIBLE)
        elif field.nested:
            found[field.name] = draw(records(schema, field.nested, depth - 1))
        elif field.type.kind == "table" and depth < 1 and not field.required:
            continue
        else:
            found[field.name] = draw(values(schema, field.type, field, depth))
    return found


def needs_tables(schema: Schema, table: str) -> bool:
    """Whether no record of a table is without other tables."""
    return any(
        field.required and (field.type.kind in ("table", "union") or (field.type.element or field.type).kind == "table")
        for field in schema.tables[table].fields
    )


def values(schema: Schema, type_: Type, field: Field | None, depth: int) -> st.SearchStrategy[Any]:
    """The values of a type."""
    if type_.kind in RANGES:
        return st.integers(*RANGES[type_.kind])
    if type_.kind == "bool":
        return st.booleans()
    if type_.kind in ("float32", "float64"):
        return NUMBERS
    if type_.kind == "enum":
        return st.sampled_from(sorted(schema.enums[type_.name].values))
    if type_.kind == "string":
        return TEXTS
    if type_.kind in ("table", "struct"):
        return records(schema, type_.name, depth - 1)
    assert type_.element
    if type_.kind == "array":
        return st.lists(values(schema, type_.element, None, depth), min_size=type_.length, max_size=type_.length)
    most = 0 if depth < 1 else 3
    items = st.lists(values(schema, type_.element, None, depth), max_size=most)
    return items.map(Doubles) if type_.element.kind == "float64" else items


def fbs(schema: Schema) -> str:
    """The schema as flatc reads it."""
    lines = []
    for enum in schema.enums.values():
        members = ", ".join(f"{name} = {number}" for name, number in sorted(enum.values.items(), key=lambda e: e[1]))
        lines.append(f"enum {enum.name} : {enum.kind} {{ {members} }}")
    lines += [f"union {union.name} {{ {', '.join(union.members)} }}" for union in schema.unions.values()]
    for table in schema.tables.values():
        fields = " ".join(_fbs(schema, each) for each in table.fields if each.type.kind != "utype")
        lines.append(f"table {table.name} {{ {fields} }}")
    return "\n".join([*lines, f"root_type {schema.root};", ""])


def _fbs(schema: Schema, each: Field) -> str:
    def name(type_: Type) -> str:
        return f"[{name(type_.element)}]" if type_.element else type_.name or type_.kind

    said = f"{each.name}: {name(each.type)}"
    if each.optional:
        said += " = null"
    elif each.default is not None:
        default = schema.names[each.type.name][each.default] if each.type.kind == "enum" else each.default
        said += f" = {str(default).lower() if isinstance(default, bool) else default}"
    attributes = ["required"] * each.required + ["deprecated"] * each.deprecated
    return f"{said}{f' ({attributes[0]})' if attributes else ''};"
