"""Schemas as short texts: the differences from another schema, with a line for each field.

    # a comment
    table Job
      resource_request: uint32
      walltime: float64 = null
      extra_data: string
      profile_id: string (required)
    enum TimeUnit: int8
      Second = 0
      Millisecond = 1
    union TemporalTrigger
      OneShot
      Periodic
    root Message
    without BatsimHelloEvent

The text has a table, enum or union completely, or not at all if it is equal in the other schema; `without` names those
that were removed. The library describes older states of the protocol in this way. This module must not know which ages
exist.
"""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

from batprotocol.errors import InputError
from batprotocol.wire.reader import CODES
from batprotocol.wire.reflection import Enum, Field, Schema, Table, Type, Union

__all__ = ["applied", "described"]

_FIELD: Final = re.compile(r"(\w+): (\[?)(\w+)(\]?)(?: = ([^ ()]+))?((?: \((?:required|deprecated)\))*)")
_PART: Final = re.compile(r"(table|enum|union|root|without) (\w+)(?:: (\w+))?")


def described(schema: Schema, base: Schema) -> str:
    """The differences of a schema from another one, as a text that `applied` reads. Comments are left out.

    Raises:
        InputError: the text has no form for a part of the schema: structs, nested messages, FlexBuffers, aliases of
            members of unions, the identifier of messages, or names with a namespace.
    """
    _check_plain(schema)
    lines = []
    if schema.root != base.root:
        lines.append(f"root {schema.root}")
    for name, table in schema.tables.items():
        if name not in base.tables or bare(base.tables[name]) != bare(table):
            lines.append(f"table {name}")
            lines += [f"  {_field(schema, field)}" for field in table.fields if field.type.kind != "utype"]
    for name, enum in schema.enums.items():
        if name not in base.enums or (base.enums[name].kind, base.enums[name].values) != (enum.kind, enum.values):
            lines.append(f"enum {name}: {enum.kind}")
            lines += [f"  {member} = {number}" for member, number in enum.values.items()]
    for name, union in schema.unions.items():
        if name not in base.unions or base.unions[name].members != union.members:
            lines.append(f"union {name}")
            lines += [f"  {member}" for member in union.members]
    for there, here in ((base.tables, schema.tables), (base.enums, schema.enums), (base.unions, schema.unions)):
        lines += [f"without {name}" for name in there if name not in here]
    return "".join(f"{line}\n" for line in lines)


def _check_plain(schema: Schema) -> None:
    """Refuse a schema that the text would not give back."""
    found: list[tuple[object, str]] = [(schema.identifier, "the identifier of messages, " + schema.identifier)]
    for table in schema.tables.values():
        found.append((bool(table.size), f"the struct {table.name}"))
        found += [(field.nested or field.is_flexible, f"{table.name}.{field.name}") for field in table.fields]
    for union in schema.unions.values():
        found.append((bool(union.types or union.numbers), f"the members of {union.name}"))
    names = [*schema.tables, *schema.enums, *schema.unions]
    found += [("." in name, f"the name {name}") for name in names]
    for is_there, what in found:
        if is_there:
            raise InputError(f"the text has no form for {what}: use the schema itself")


def bare(table: Table) -> tuple[Field, ...]:
    """The fields of a table, without their comments."""
    return tuple(field._replace(doc="") for field in table.fields)


def _field(schema: Schema, field: Field) -> str:
    kind = field.type
    said = f"{field.name}: {kind}"
    if field.optional:
        said += " = null"
    elif kind.kind == "enum" and field.default:
        said += f" = {schema.names[kind.name].get(field.default, field.default)}"
    elif kind.kind in CODES and field.default:
        said += f" = {str(field.default).lower()}"
    return said + " (required)" * field.required + " (deprecated)" * field.deprecated


def applied(text: str, base: Schema, name: str = "the description") -> Schema:
    """The schema with the differences from another one that a text describes.

    Args:
        text: the description.
        base: the other schema.
        name: the name of the text in errors.

    Raises:
        InputError: the text is not such a description; the error has the line.
    """
    return _Description(text, base, name).schema()


class _Description:
    """A description while it is read: its parts, each with the lines below it."""

    def __init__(self, text: str, base: Schema, name: str) -> None:
        self.name = name
        self.base = base
        self.line = 0
        self.parts: dict[tuple[str, str], tuple[str, list[tuple[int, str]]]] = {}
        lines: list[tuple[int, str]] | None = None
        for self.line, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0].rstrip()
            if not line:
                continue
            if line.startswith("  "):
                if lines is None:
                    self.fail("this line belongs to no table, enum or union")
                lines.append((self.line, line.strip()))
                continue
            part = _PART.fullmatch(line)
            if part is None or bool(part[3]) != (part[1] == "enum"):
                self.fail("expected 'table NAME', 'enum NAME: TYPE', 'union NAME', 'root NAME' or 'without NAME'")
            if (part[1], part[2]) in self.parts:
                self.fail(f"{part[2]} is already defined: remove one of them")
            below: list[tuple[int, str]] = []
            self.parts[part[1], part[2]] = (part[3] or "", below)
            lines = below if part[1] in ("table", "enum", "union") else None

    def fail(self, reason: str) -> NoReturn:
        raise InputError(reason, file=self.name, line=self.line)

    def of(self, what: str) -> dict[str, tuple[str, list[tuple[int, str]]]]:
        return {name: part for (kind, name), part in self.parts.items() if kind == what}

    def schema(self) -> Schema:
        gone = self.of("without")
        self.enums = {name: enum for name, enum in self.base.enums.items() if name not in gone}
        self.unions = {name: union for name, union in self.base.unions.items() if name not in gone}
        tables = {name: table for name, table in self.base.tables.items() if name not in gone}
        for name, (kind, lines) in self.of("enum").items():
            self.enums[name] = Enum(name, kind, dict(map(self.member, lines)), "", {})
        for name, (_, lines) in self.of("union").items():
            self.unions[name] = Union(name, tuple(member for _, member in lines), "", {})
        self.known = {*tables, *self.of("table")}
        for name, (_, lines) in self.of("table").items():
            tables[name] = Table(name, self.fields(lines), "")
        root = next(iter(self.of("root")), self.base.root)
        self.whole(root, tables)
        return Schema(root, tables, self.enums, self.unions)

    def whole(self, root: str, tables: dict[str, Table]) -> None:
        """Refuse a schema with a reference to a part that it does not have."""
        used = [("the root", root), *((union.name, each) for union in self.unions.values() for each in union.members)]
        for table in tables.values():
            for field in table.fields:
                type_ = field.type.element or field.type
                names = {"enum": [*self.enums], "union": [*self.unions]}.get(type_.kind, [type_.name])
                if type_.name not in names:
                    raise InputError(
                        f"{table.name}.{field.name} has the type {type_.name}, which does not exist", file=self.name
                    )
                if type_.kind == "table":
                    used.append((f"{table.name}.{field.name}", type_.name))
        for where, name in used:
            if name not in tables:
                raise InputError(f"{where} refers to the table {name}, which does not exist", file=self.name)

    def member(self, line: tuple[int, str]) -> tuple[str, int]:
        self.line, text = line
        name, separator, number = text.partition(" = ")
        if not separator or not re.fullmatch(r"-?\d{1,19}", number):
            self.fail("expected 'NAME = NUMBER'")
        return name, int(number)

    def fields(self, lines: list[tuple[int, str]]) -> tuple[Field, ...]:
        fields: list[Field] = []
        for self.line, text in lines:
            found = _FIELD.fullmatch(text)
            if found is None or bool(found[2]) != bool(found[4]):
                self.fail("expected 'NAME: TYPE', then '= DEFAULT', '(required)' or '(deprecated)' where it has them")
            name, kind = found[1], self.type(found[3])
            if found[2]:
                kind = Type("vector", "", kind)
            if kind.kind == "union":
                fields.append(Field(f"{name}_type", len(fields), Type("utype", kind.name), False, False, 0, ""))
            optional = found[5] == "null"
            default = None if optional else self.default(kind, found[5])
            attributes = found[6]
            slot = len(fields)
            fields.append(
                Field(name, slot, kind, "required" in attributes, optional, default, "", "deprecated" in attributes)
            )
        return tuple(fields)

    def type(self, name: str) -> Type:
        if name in CODES and name != "utype":
            return Type(name)
        if name == "string":
            return Type("string")
        for kind, there in (("enum", self.enums), ("union", self.unions), ("table", self.known)):
            if name in there:
                return Type(kind, name)
        return self.fail(f"there is no type {name}")

    def default(self, kind: Type, text: str | None) -> Any:
        if kind.kind == "enum":
            return self.enums[kind.name].values.get(text or "", 0)
        if kind.kind not in CODES:
            return None
        try:
            if kind.kind == "bool":
                return {"true": True, "false": False}[text or "false"]
            return float(text or 0.0) if kind.kind.startswith("float") else int(text or 0)
        except (KeyError, ValueError):
            self.fail(f"{text} is not a value of type {kind.kind}")
