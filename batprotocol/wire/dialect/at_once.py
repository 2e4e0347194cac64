"""The usual parts of a message, read many tokens at a time: members that are scalars, runs of elements of a vector.

Text that does not match here is read token by token, with the same meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from batprotocol.wire.binding import RANGES
from batprotocol.wire.dialect.tokens import REAL, real
from batprotocol.wire.reflection import Field, Schema, Type

__all__ = [
    "AFTER",
    "KEY",
    "MEMBER",
    "NEXT_TAG",
    "NUMERIC",
    "PLAIN_NUMBER",
    "RUNS",
    "TEXT",
    "UNNAMED",
    "Plan",
    "elements_of",
    "plan_of",
    "tags_of",
]

_SPACE = rb"[ \t\r\n]*"
_NAME = rb'"([ !#-\[\]-~]*)"' + _SPACE + rb":"
_SCALAR = rb'(?:"([ !#-\[\]-~]*)"|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(true|false|null))'
PLAIN_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
MEMBER = re.compile(_SPACE + _NAME + _SPACE + _SCALAR + _SPACE + rb"([,}])")
UNNAMED = re.compile(_SPACE + rb"()" + _SCALAR + _SPACE + rb"([,\]])")
KEY = re.compile(_NAME)
NEXT_TAG = re.compile(_SPACE + rb"," + _SPACE + _NAME + _SPACE + rb'"([A-Za-z]+)"')
TEXT, NUMERIC, _LITERAL, AFTER = 2, 3, 4, 5


def _run(element: bytes, flags: int = 0) -> re.Pattern[bytes]:
    """Elements with their commas, up to one that is not like this or to the end of the vector."""
    element = _SPACE + element + _SPACE
    return re.compile(element + rb"(?=[,\]])(?:," + element + rb"(?=[,\]]))*", flags)


_ANY_REAL = rb"(?:" + REAL.encode() + rb")"
RUNS = {
    "string": _run(rb'"[ !#-\[\]-~]*"'),
    "uint32": _run(rb"(?:0|[1-9][0-9]{0,8})"),
    "float64": _run(rb"(?:" + _ANY_REAL + rb'|"' + _ANY_REAL + rb'")', re.IGNORECASE),
}
_TEXTS = re.compile(r'"([^"]*)"')


def elements_of(kind: str, run: bytes) -> list[Any]:
    """The elements in a run of them."""
    if kind == "string":
        return _TEXTS.findall(run.decode("ascii"))
    texts = run.translate(None, b'"').split(b",")
    if kind == "uint32":
        return list(map(int, texts))
    try:
        return list(map(float, texts))
    except ValueError:
        return [real(text) for text in run.decode("ascii").translate({ord('"'): None}).split(",")]


Scalar = tuple[str, int, Callable[[bytes], Any]]


class Plan(NamedTuple):
    """The plan for reading a table.

    `plain` has for the name of each scalar field: its name as text, the group of `MEMBER` that has its value if that is
    plain, and the function that makes the value of the group, or None. `ordered` has the same for each field in order,
    with None for fields that are not scalars. `nullable` are the fields for which null means absent. `kept` are the
    names of the fields in the final tree, without deprecated fields. `unions` are the unions that may be absent.
    """

    fields: dict[str, Field]
    names: list[str]
    required: list[str]
    absent: list[tuple[str, bool, Any]]
    plain: dict[bytes, Scalar]
    ordered: list[Scalar | None]
    nullable: set[str]
    kept: list[str]
    unions: list[str]


def plan_of(schema: Schema, table: str) -> Plan:
    plan: Plan | None = schema.plans.get(table)
    if plan is None:
        plan = schema.plans[table] = _plan(schema, table)
    return plan


def _plan(schema: Schema, table: str) -> Plan:
    fields = {field.name: field for field in schema.tables[table].fields}
    absent = []
    for field in fields.values():
        if field.deprecated:
            continue
        default, given = field.default, field.optional
        if field.type.kind == "enum":
            default, given = schema.names[field.type.name].get(default, default), True
        elif default is not None and field.type.kind != "utype":
            given = True
        absent.append((field.name, given, default))
    plain = {name.encode(): (name, *found) for name, field in fields.items() if (found := _plain(schema, field.type))}
    is_struct = bool(schema.tables[table].size)  # whose JSON has all fields
    required = [name for name, field in fields.items() if field.required or is_struct]
    ordered = [plain.get(name.encode()) for name in fields]
    kinds = ("string", "table", "union", "vector", "struct")
    nullable = {name for name, field in fields.items() if field.type.kind in kinds and not is_struct}
    kept = [name for name, _, _ in absent]
    unions = [name for name, field in fields.items() if field.type.kind == "union" and not field.required]
    return Plan(fields, list(fields), required, absent, plain, ordered, nullable, kept, unions)


def tags_of(schema: Schema, union: str) -> dict[bytes, str]:
    """The names of a union's members, by how they are written."""
    return {name.encode(): name for name in schema.unions[union].members}


def _plain(schema: Schema, type_: Type) -> tuple[int, Callable[[bytes], Any]] | None:
    if type_.kind == "string":
        return TEXT, lambda text: text.decode("ascii")
    if type_.kind == "float64":
        return NUMERIC, float
    if type_.kind == "bool":
        return _LITERAL, {b"true": True, b"false": False}.get
    if type_.kind == "enum":
        return TEXT, {name.encode(): name for name in schema.names[type_.name].values()}.get
    if type_.kind == "utype":
        return TEXT, tags_of(schema, type_.name).get
    if type_.kind in RANGES:
        least, most = RANGES[type_.kind]

        def integer(text: bytes) -> int | None:
            if len(text) > 20 or not text.lstrip(b"-").isdigit():
                return None
            number = int(text)
            return number if least <= number <= most else None

        return NUMERIC, integer
    return None
