"""Writes the tables of the native engine: the schema and the layouts as C data, for `batprotocol/wire/native/`."""

from __future__ import annotations

from collections.abc import Iterable

from schema_compiler.layouts import ENVELOPE, SCALARS, Layouts, is_wrapper
from schema_compiler.reflection import Field, Schema, Table, Type

__all__ = ["write"]

_KINDS = {
    "bool": "BOOL", "enum": "ENUM", "int32": "INT32", "uint32": "UINT32", "uint64": "UINT64", "float64": "DOUBLE",
    "string": "STRING", "table": "TABLE", "union": "UNION",
}  # fmt: skip
_VECTORS = {"string": "STRINGS", "float64": "DOUBLES", "uint32": "NUMBERS", "table": "TABLES"}
_EVENTS = "Event"
_RECURRING = {
    "call_me_later_id", "host_allocation", "host_ids", "key", "probe_id", "profile_id", "storage_name",
    "now", "timestamp",
}  # fmt: skip

_HEAD = """\
/* The schema as data for the native engine. Written by tools/compile_schema.py; never edited by hand. */

enum Kind { BOOL, ENUM, INT32, UINT32, UINT64, DOUBLE, STRING, TABLE, UNION, STRINGS, DOUBLES, NUMBERS, TABLES };

/* A field of a table. `length` is that of its name, here and below. `entry` is where the vtable has its offset, `tag`
   where it has that of a union's tag; `place` and `tag_place` are where we write them. `index` says which table, union
   or enum it is. Texts and times that come again and again have `recurs` set, job ids do not. */
typedef struct {
    const char *name;
    uint8_t length, kind, required, optional, recurs, place, tag_place;
    uint16_t entry, tag;
    int16_t index;
    int64_t number; /* the default of integers, enums and booleans */
    double real;    /* the default of doubles */
} Field;

/* A table. `wide` is what the size written so far must be modulo 8 before it, or 1 if that does not matter. */
typedef struct {
    const char *name;
    const Field *fields;
    uint8_t length, count, wrapper, event, size, wide;
    uint16_t first_vtable;
} Table;

typedef struct {
    const char *name;
    uint8_t count;
    const int16_t *members;
} Union;

typedef struct {
    const char *name;
    uint8_t length;
    int8_t number;
} EnumValue;

typedef struct {
    const char *name;
    uint8_t count;
    const EnumValue *values;
} Enum;

typedef struct {
    uint8_t size;
    const char *bytes;
} Vtable;

"""


def write(schema: Schema) -> str:
    """The text of the header `native_schema.h`."""
    layouts = Layouts(schema)
    tables = list(layouts.children_first())
    numbers = {
        "table": {table.name: number for number, table in enumerate(tables)},
        "union": {name: number for number, name in enumerate(sorted(schema.unions))},
        "enum": {name: number for number, name in enumerate(sorted(schema.enums))},
    }
    events = schema.unions[_EVENTS].members
    parts = [_HEAD]
    for table in tables:
        fields = [_field(table, f, layouts, numbers) for f in table.fields if f.type.kind != "utype"]
        if fields:
            parts.append(f"static const Field FIELDS_{table.name}[] = {{\n{_lines(fields)}}};\n\n")
    rows = [_table(table, layouts, table.name in events) for table in tables]
    parts.append(f"static const Table TABLES_[] = {{\n{_lines(rows)}}};\n\n")
    for name in numbers["union"]:
        members = ", ".join(str(numbers["table"][member]) for member in schema.unions[name].members)
        parts.append(f"static const int16_t MEMBERS_{name}[] = {{{members}}};\n")
    rows = [f'{{"{name}", {len(schema.unions[name].members)}, MEMBERS_{name}}}' for name in numbers["union"]]
    parts.append(f"\nstatic const Union UNIONS_[] = {{\n{_lines(rows)}}};\n\n")
    for name in numbers["enum"]:
        members = schema.enums[name].values.items()
        values = ", ".join(f'{{"{value}", {len(value)}, {number}}}' for value, number in members)
        parts.append(f"static const EnumValue VALUES_{name}[] = {{{values}}};\n")
    rows = [f'{{"{name}", {len(schema.enums[name].values)}, VALUES_{name}}}' for name in numbers["enum"]]
    parts.append(f"\nstatic const Enum ENUMS_[] = {{\n{_lines(rows)}}};\n\n")
    rows = [f'{{{len(vtable)}, "{_escaped(vtable)}"}}' for vtable in layouts.vtables]
    parts.append(f"static const Vtable VTABLES_[] = {{\n{_lines(rows)}}};\n\n")
    constants = {
        "TABLE_COUNT": len(tables),
        "UNION_COUNT": len(schema.unions),
        "ENUM_COUNT": len(schema.enums),
        "VTABLE_COUNT": len(layouts.vtables),
        "MOST_FIELDS": max(len(table.fields) for table in tables),
        "MOST_MEMBERS": max(len(union.members) for union in schema.unions.values()),
        "ROOT": numbers["table"][schema.root],
        "ENVELOPE": numbers["table"][ENVELOPE],
        "EVENTS": numbers["union"][_EVENTS],
    }
    return "".join([*parts, *(f"#define {name} {value}\n" for name, value in constants.items())])


def _escaped(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


def _escaped(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


def _lines(rows: Iterable[str]) -> str:
    return "".join(f"    {row},\n" for row in rows)


def _kind(type_: Type) -> tuple[str, Type]:
    """The kind of a field in C, and the type that says which table, union or enum it is."""
    return (_VECTORS[type_.element.kind], type_.element) if type_.element else (_KINDS[type_.kind], type_)


def _field(table: Table, f: Field, layouts: Layouts, numbers: dict[str, dict[str, int]]) -> str:
    kind, which = _kind(f.type)
    places = layouts.tables[table.name].places
    tag = next((other for other in table.fields if other.name == f"{f.name}_type"), f) if kind == "UNION" else f
    number = int(f.default) if f.type.kind in SCALARS and f.type.kind != "float64" else 0
    real = repr(f.default or 0.0) if f.type.kind == "float64" else "0.0"
    index = numbers[which.kind][which.name] if which.kind in numbers else -1
    return (
        f'{{"{f.name}", {len(f.name)}, {kind}, {int(f.required)}, {int(f.optional)}, {int(f.name in _RECURRING)}, '
        f"{places[f.name]}, {places[tag.name]}, {4 + 2 * f.slot}, {4 + 2 * tag.slot}, {index}, {number}, {real}}}"
    )


def _table(table: Table, layouts: Layouts, event: bool) -> str:
    layout = layouts.tables[table.name]
    count = sum(f.type.kind != "utype" for f in table.fields)
    fields = f"FIELDS_{table.name}" if count else "NULL"
    wide = 1 if layout.wide is None else layout.wide
    return (
        f'{{"{table.name}", {fields}, {len(table.name)}, {count}, {int(is_wrapper(table))}, {int(event)}, '
        f"{layout.size}, {wide}, {layout.first_vtable}}}"
    )
