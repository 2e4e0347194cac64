"""Writes the description: the schema as Python literals, for all that walks it by name (JSON, checks, the command)."""

from __future__ import annotations

import re

from schema_compiler.reflection import Schema, Type

__all__ = ["write"]

_HEAD = '''\
"""The schema `batprotocol.fbs` as Python values. Written by `tools/compile_schema.py`; never edited by hand."""

from __future__ import annotations

from batprotocol.wire.reflection import Enum, Field, Schema, Table, Type, Union

'''


def write(schema: Schema, source: str, sha256: str) -> str:
    """The text of the module `description`, from the reflection schema and the schema's own text."""
    docs = _value_docs(source)
    lines = [_HEAD, f'SCHEMA_SHA256 = "{sha256}"', f'ROOT = "{schema.root}"', "", "ENUMS: dict[str, Enum] = {"]
    lines += [
        f"    {enum.name!r}: Enum({enum.name!r}, {enum.kind!r}, {enum.values!r}, {enum.doc!r}, "
        f"{docs.get(enum.name, {})!r}),"
        for enum in sorted(schema.enums.values(), key=lambda enum: enum.name)
    ]
    lines += ["}", "", "UNIONS: dict[str, Union] = {"]
    lines += [
        f"    {union.name!r}: Union({union.name!r}, {union.members!r}, {union.doc!r}, {docs.get(union.name, {})!r}),"
        for union in sorted(schema.unions.values(), key=lambda union: union.name)
    ]
    lines += ["}", "", "TABLES: dict[str, Table] = {"]
    for table in sorted(schema.tables.values(), key=lambda table: table.name):
        lines.append(f"    {table.name!r}: Table({table.name!r}, (")
        for field in table.fields:
            lines.append(
                f"        Field({field.name!r}, {field.slot}, {_type(field.type)}, {field.required}, {field.optional}, "
                f"{field.default!r}, {field.doc!r}),"
            )
        lines.append(f"    ), {table.doc!r}),")
    lines += ["}", "", "SCHEMA = Schema(ROOT, TABLES, ENUMS, UNIONS)"]
    return "\n".join([*lines, ""])


def _type(type_: Type) -> str:
    if type_.element:
        return f"Type({type_.kind!r}, '', {_type(type_.element)})"
    return f"Type({type_.kind!r}, {type_.name!r})" if type_.name else f"Type({type_.kind!r})"


def _value_docs(source: str) -> dict[str, dict[str, str]]:
    """The comments of enum and union values. flatc drops those before `, NAME`, and so this schema writes most."""
    docs: dict[str, dict[str, str]] = {}
    for _, name, body in re.findall(r"^(enum|union)\s+(\w+)[^{]*\{(.*?)^\}", source, re.MULTILINE | re.DOTALL):
        comment: list[str] = []
        for line in map(str.strip, body.splitlines()):
            if line.startswith("///"):
                comment.append(line[3:].strip())
            elif value := re.match(r",?\s*(\w+)", line):
                if comment:
                    docs.setdefault(name, {})[value[1]] = "\n".join(comment)
                comment = []
    return docs
