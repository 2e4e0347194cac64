"""Writes the pure-Python codec: for each table of the schema one function that reads it and one that writes it.

A reading function looks up the table's vtable among those met before and gets all fields with one `struct` call. A
writing function has one fixed layout for its table and all scalars in it; absent fields only differ in the vtable. All
functions that are not for a table are in `batprotocol.wire.layout`.
"""

from __future__ import annotations

from collections.abc import Iterator

from schema_compiler.layouts import ENVELOPE, SCALARS, Layouts, is_wrapper, size_of
from schema_compiler.reflection import Field, Schema, Table

__all__ = ["write"]

_ENVELOPES = "events"  # the message's vector of envelopes

_HEAD = '''\
"""The pure-Python codec of the schema. Written by `tools/compile_schema.py`; never edited by hand."""

from __future__ import annotations

from struct import Struct

from batprotocol import model
from batprotocol.model.value import fast
from batprotocol.wire.binding import MAX_DEPTH, MAX_TABLES
from batprotocol.wire.layout import (
    PAD4,
    STRING,
    U32,
    Doubt,
    Slot,
    doubles,
    learn,
    long_string,
    numbers,
    offsets,
    refuse,
    strings,
    write_doubles,
    write_long_string,
    write_numbers,
    write_places,
    write_strings,
)

_I32 = Struct("<i").unpack_from
_FLAG = {False: 0, True: 1}


class _Members(dict):
    """The members of an enum by number, `b""` being the default. Numbers without a name come on demand."""

    def __init__(self, enum, default):
        super().__init__({int(member): member for member in enum})
        self[b""] = enum(default)
        self.enum = enum

    def __missing__(self, number):
        return self.enum(number)


'''


def write(schema: Schema) -> str:
    """The text of the module `codec`."""
    return _HEAD + "\n\n\n".join([*_Codec(schema).functions()]) + "\n"


class _Codec:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.layouts = Layouts(schema)
        elements = {f.type.element.name for t in schema.tables.values() for f in t.fields if f.type.element}
        several = [name for name in schema.tables if name in elements or self._takes_depth(name)]
        self.numbers = {name: number for number, name in enumerate(several, 1)}  # less than 128 of them

    def functions(self) -> Iterator[str]:
        tables = [table for table in self.layouts.children_first() if table.name not in (self.schema.root, ENVELOPE)]
        enums = sorted({(f.type.name, f.default) for t in tables for f in t.fields if f.type.kind == "enum"})
        yield "\n".join(f"_{name}_{default} = _Members(model.{name}, {default})" for name, default in enums)
        for table in tables:
            yield from (self._constants(table), self._reader(table), self._writer(table))
        events = next(f for f in self.schema.tables[ENVELOPE].fields if f.type.kind == "union").type.name
        yield self._unions()
        yield from (self._constants(self.schema.tables[name]) for name in (ENVELOPE, self.schema.root))
        yield from (self._read_message(events), self._write_message(events))

    # The shape of the schema

    def _reachable(self, name: str) -> set[str]:
        found: set[str] = set()
        todo = self.layouts.children(self.schema.tables[name])
        while todo:
            found |= todo
            todo = {child for each in todo for child in self.layouts.children(self.schema.tables[each])} - found
        return found

    def _recursive(self, name: str) -> bool:
        return name in self._reachable(name)

    def _takes_depth(self, name: str) -> bool:
        """Whether a table's functions take its depth: it is recursive, or in a union with a recursive one."""
        unions = (union.members for union in self.schema.unions.values() if name in union.members)
        return any(self._recursive(each) for each in {name}.union(*unions))

    def _most_tables(self, name: str) -> int:
        """How many tables there can be where there is one, those in vectors and below recursive ones not counted."""
        count = 1
        for f in self.schema.tables[name].fields:
            union = self.schema.unions[f.type.name] if f.type.kind == "union" else None
            members = union.members if union else (f.type.name,) if f.type.kind == "table" else ()
            count += max((self._most_tables(each) for each in members if not self._takes_depth(each)), default=0)
        return count

    def _depth(self, name: str) -> int:
        """The depth below the root (1) of a table that is not recursive. `ValueError` if it has several depths."""
        depths = {
            1 if parent.name == self.schema.root and name == parent.name else self._depth(parent.name) + 1
            for parent in self.schema.tables.values()
            if name in self.layouts.children(parent) or name == parent.name == self.schema.root
        }
        if len(depths) != 1:
            raise ValueError(f"{name} lies at several depths {depths}; only recursive tables can")
        return depths.pop()

    def _deeper(self, table: Table, child_names: set[str]) -> str:
        """The argument for the depth of a child: none unless it is recursive."""
        if not any(self._takes_depth(child) for child in child_names):
            return ""
        return ", depth + 1" if self._takes_depth(table.name) else f", {self._depth(table.name) + 1}"

    def _constants(self, table: Table) -> str:
        """The objects for reading and writing a table: its class, its fields, the vtables found so far, its layout."""
        name = table.name
        lines = [f"_PLANS_{name} = {{}}", f"_PACK_{name} = Struct({self.layouts.tables[name].code!r}).pack"]
        if not is_wrapper(table) and name != ENVELOPE:
            lines[:0] = [f"_{name} = model.{name}", f"_NEW_{name} = fast(_{name})"]
        lines.append(f"_SLOTS_{name} = (")
        for f in self.layouts.tables[table.name].fields:
            size, code = size_of(f)
            lines.append(f"    Slot({f.slot}, {size}, {code!r}, {f.type.kind not in SCALARS}, {f.required}),")
        if not table.fields:
            lines[-1] += ")"
            return "\n".join(lines)
        return "\n".join([*lines, ")"])

    # Reading

    def _plan(self, table: Table) -> list[str]:
        """The lines that find the plan for the table at `position` and read its fields into variables."""
        fields = self.layouts.tables[table.name].fields
        find = [
            f"plan = _PLANS_{table.name}.get(data[vtable : vtable + data[vtable]])",
            "if plan is None:",
            f"    plan = learn(_PLANS_{table.name}, _SLOTS_{table.name}, data, vtable)",
        ]
        lines = ["vtable = position - _I32(data, position)[0]"]
        if table.name in self.numbers:
            # Tables that come in numbers share their vtable within a message.
            lines += [
                f"known = vtable << 7 | {self.numbers[table.name]}",
                "plan = seen.get(known)",
                "if plan is None:",
                "    if vtable < 0:",
                "        raise Doubt",
                *(f"    {line}" for line in find),
                "    seen[known] = plan",
            ]
        else:
            lines += ["if vtable < 0:", "    raise Doubt", *find]
        if fields:
            places = "".join(f", {f.name}_at" for f in fields if f.type.kind not in SCALARS)
            lines.append(f"read{places} = plan" if places else "read = plan[0]")
            lines.append("".join(f"{f.name}_, " for f in fields).rstrip(" ") + " = read(data, position)")
        return lines

    def _reader(self, table: Table) -> str:
        depth = ", depth" if self._takes_depth(table.name) else ""
        is_event = table.name in self.schema.unions["Event"].members
        lines = [f"def _read_{table.name}(data, position, seen{', timestamp' if is_event else depth}):"]
        if depth:
            lines += ["    seen[0] -= 1", "    if depth > MAX_DEPTH or seen[0] < 0:", "        raise Doubt"]
        body = self._plan(table)
        values = {}
        for f in table.fields:
            if f.type.kind != "utype":
                more, values[f.name] = self._read_field(table, f)
                body += more
        if is_wrapper(table):
            body.append(f"return {next(iter(values.values()))}")
        else:
            arguments = (["timestamp=timestamp"] if is_event else []) + [f"{k}={v}" for k, v in values.items()]
            body.append(f"return _NEW_{table.name}({', '.join(arguments)})")
        return "\n".join(lines + [f"    {line}" for line in body])

    def _read_field(self, table: Table, f: Field) -> tuple[list[str], str]:
        """The lines that a field needs, and the expression of its value."""
        name, kind = f"{f.name}_", f.type.kind
        absent = f"{f.name}_at is None"
        if kind == "enum":
            return [], f"_{f.type.name}_{f.default}[{name}]"
        if kind == "bool":
            return [], f"True if {name} else False" if not f.default else f"{name} != 0"
        if kind == "float64":
            return [], f"{name} if {name}.__class__ is float else {f.default!r}"
        if kind in SCALARS:
            return [], f"{name} or 0" if not f.default else f"{name} if {name}.__class__ is int else {f.default}"
        place = f"position + {f.name}_at + {name}"
        if kind == "string":
            lines = self._read_string(name, place)
            if f.required:
                return lines, name
            return [f"if {absent}:", f"    {name} = None", "else:", *(f"    {line}" for line in lines)], name
        if kind == "table":
            value = f"_read_{f.type.name}(data, {place}, seen{self._deeper(table, {f.type.name})})"
        elif kind == "union":
            members = set(self.schema.unions[f.type.name].members)
            value = f"_READ_{f.type.name}[{f.name}_type_](data, {place}, seen{self._deeper(table, members)})"
        else:
            lines, value = self._read_vector(table, f, place)
            if lines and not f.required:
                return [f"if {absent}:", f"    {name} = None", "else:", *(f"    {line}" for line in lines)], name
            if lines:
                return lines, name
        return [], value if f.required else f"None if {absent} else {value}"

    @staticmethod
    def _read_string(name: str, place: str) -> list[str]:
        return [
            f"at = {place}",
            "size = U32(data, at)[0]",
            "if 0 < size < 64:",
            "    at += 4",
            "    size += at",
            "    if data[size]:",
            "        raise Doubt",
            f"    {name} = data[at:size].decode()",
            "elif size:",
            f"    {name} = long_string(data, at, size, seen)",
            f"elif {name} and not data[at + 4]:",
            f'    {name} = ""',
            "else:",
            "    raise Doubt",
        ]

    def _read_vector(self, table: Table, f: Field, place: str) -> tuple[list[str], str]:
        element = f.type.element
        assert element
        name = f"{f.name}_"
        simple = {"string": "strings", "float64": "doubles", "uint32": "numbers"}.get(element.kind)
        if simple:
            return [], f"{simple}(data, {place}, {name}, seen)"
        deeper = self._deeper(table, {element.name})
        return [
            "items = []",
            f"at = {place}",
            f"for step in offsets(data, at, {name}, seen):",
            "    at += 4",
            f"    items.append(_read_{element.name}(data, at + step, seen{deeper}))",
            f"{name} = tuple(items)",
        ], name

    def _unions(self) -> str:
        lines = []
        for union in self.schema.unions.values():
            lines.append(f"_READ_{union.name} = (")
            lines += ["    refuse,", *(f"    _read_{member}," for member in union.members), ")"]
            lines.append(f"_WRITE_{union.name} = {{")
            for number, member in enumerate(union.members, 1):
                lines += [f"    {model}: ({number}, _write_{member})," for model in self._models(member)]
            lines.append("}")
        return "\n".join(lines)

    def _models(self, member: str) -> list[str]:
        """The model classes that stand for a table: for a wrapper, those of what it wraps."""
        if not is_wrapper(self.schema.tables[member]):
            return [f"model.{member}"]
        inner = next(f for f in self.schema.tables[member].fields if f.type.kind != "utype").type
        if inner.kind == "enum":
            return [f"model.{inner.name}"]
        return [model for each in self.schema.unions[inner.name].members for model in self._models(each)]

    def _read_message(self, events: str) -> str:
        root = self.schema.tables[self.schema.root]
        fields = [f"{f.name}_" for f in self.layouts.tables[ENVELOPE].fields]
        head = [
            "def decode(data):",
            '    """Read a message from `bytes`; on anything unusual raise one of `layout.STUMBLES`."""',
            f"    seen = {{0: min(len(data) // 8, MAX_TABLES // {self._most_tables(ENVELOPE)})}}",
            "    position = U32(data, 0)[0]",
        ]
        body = [f"    {line}" for line in self._plan(root)]
        body += [
            f"    now = now_ if now_.__class__ is float else {root.fields[0].default!r}",
            "    found = []",
            "    known = None",
            f"    at = position + {_ENVELOPES}_at + {_ENVELOPES}_",
            f"    for step in offsets(data, at, {_ENVELOPES}_, seen):",
            "        at += 4",
            "        position = at + step",
            "        vtable = position - _I32(data, position)[0]",
            "        if vtable != known:  # events share their vtable with the one before, as a rule",
            "            if vtable < 0:",
            "                raise Doubt",
            f"            plan = _PLANS_{ENVELOPE}.get(data[vtable : vtable + data[vtable]])",
            "            if plan is None:",
            f"                plan = learn(_PLANS_{ENVELOPE}, _SLOTS_{ENVELOPE}, data, vtable)",
            "            read, event_at = plan",
            "            known = vtable",
            f"        {', '.join(fields)} = read(data, position)",
            "        found.append(",
            f"            _READ_{events}[event_type_](",
            "                data,",
            "                position + event_at + event_,",
            "                seen,",
            "                timestamp_ if timestamp_.__class__ is float else 0.0,",
            "            )",
            "        )",
            f"    return _NEW_{root.name}(now, tuple(found))",
        ]
        return "\n".join(head + body)

    # Writing

    def _writer(self, table: Table) -> str:
        depth = ", depth" if self._takes_depth(table.name) else ""
        lines = [f"def _write_{table.name}(value, append, size, vtables{depth}):"]
        if depth:
            lines += ["    if depth > MAX_DEPTH:", "        raise Doubt"]
        wrapper = is_wrapper(table)
        if not wrapper:
            lines += [f"    if value.__class__ is not _{table.name}:", "        raise TypeError"]
        for f in table.fields:
            if f.type.kind not in SCALARS:
                source = "value" if wrapper else f"value.{f.name}"
                lines += [f"    {line}" for line in self._write_child(table, f, source)]
            elif f.optional:
                lines.append(f"    {f.name} = value.{f.name}")
        return "\n".join([*lines, *(f"    {line}" for line in self._write_table(table, wrapper))])

    def _write_child(self, table: Table, f: Field, source: str) -> list[str]:
        """The lines that write what an offset leads to, leaving its place (or None) in `<field>_place`."""
        name, kind = f.name, f.type.kind
        lines = [f"child = {source}"]
        if kind == "string":
            write = [
                "text = child.encode()",
                "length = len(text)",
                "append(STRING[length](length, text) if length < 128 else write_long_string(text))",
                "size += length + 8 & -4",
            ]
        elif kind == "table":
            write = [f"size = _write_{f.type.name}(child, append, size, vtables{self._deeper(table, {f.type.name})})"]
        elif kind == "union":
            deeper = self._deeper(table, set(self.schema.unions[f.type.name].members))
            write = [
                f"{name}_type, write = _WRITE_{f.type.name}[child.__class__]",
                f"size = write(child, append, size, vtables{deeper})",
            ]
        else:
            write = self._write_vector(table, f)
        if f.required:
            return [*lines, *write, f"{name}_place = size"]
        return [
            *lines,
            f"{name}_place = None",
            "if child is not None:",
            *(f"    {line}" for line in write),
            f"    {name}_place = size",
        ]

    def _write_vector(self, table: Table, f: Field) -> list[str]:
        element = f.type.element
        assert element
        simple = {"string": "strings", "float64": "doubles", "uint32": "numbers"}.get(element.kind)
        if simple:
            return [f"size = write_{simple}(child, append, size)"]
        deeper = self._deeper(table, {element.name})
        return [
            "if child.__class__ is not tuple:",
            "    raise TypeError",
            "places = []",
            "for each in child:",
            f"    size = _write_{element.name}(each, append, size, vtables{deeper})",
            "    places.append(size)",
            "size = write_places(places, append, size)",
        ]

    def _write_table(self, table: Table, wrapper: bool) -> list[str]:
        layout = self.layouts.tables[table.name]
        lines = []
        choice = str(layout.first_vtable)
        if layout.optional:
            parts = [
                f"({1 << bit} if {f.name if f.optional else f.name + '_place'} is not None else 0)"
                for bit, f in enumerate(layout.optional)
            ]
            lines.append(f"number = {layout.first_vtable} + {' + '.join(parts)}")
            choice = "number"
        values = [self._packed(f, layout.places[f.name], wrapper) for f in layout.fields]
        return [*lines, *self._pack(table.name, choice, values), "return size"]

    def _pack(self, name: str, vtable: str, values: list[str]) -> list[str]:
        """The lines that write a table itself, once what it leads to is written."""
        layout = self.layouts.tables[name]
        align = [] if layout.wide is None else [f"if {'not ' if layout.wide else ''}size & 4:", "    append(PAD4)"]
        return [
            *self._find_vtable(vtable),
            *align,
            *(["    size += 4"] if align else []),
            f"size += {layout.size}",
            f"append(_PACK_{name}({', '.join(['vtable - size', *values])}))",
        ]

    @staticmethod
    def _find_vtable(choice: str) -> list[str]:
        return [
            f"vtable = vtables[{choice}]",
            "if not vtable:",
            f"    append(_VTABLES[{choice}])",
            f"    size += len(_VTABLES[{choice}])",
            f"    vtable = vtables[{choice}] = size",
        ]

    def _packed(self, f: Field, place: int, wrapper: bool) -> str:
        if f.type.kind == "utype":
            return f.name
        if f.type.kind not in SCALARS:
            written = f"size - {place} - {f.name}_place"
            return written if f.required else f"0 if {f.name}_place is None else {written}"
        if f.optional:
            return f"0.0 if {f.name} is None else {f.name}"
        source = "value" if wrapper else f"value.{f.name}"
        return f"_FLAG[{source}]" if f.type.kind == "bool" else source

    def _write_message(self, events: str) -> str:
        root, envelope = self.schema.tables[self.schema.root], self.schema.tables[ENVELOPE]
        lines = [
            "def encode(message):",
            '    """Write a message; on anything that it cannot write raise one of the exceptions of Python."""',
            "    pieces = []",
            "    append = pieces.append",
            "    vtables = [0] * len(_VTABLES)",
            "    size = 0",
            "    places = []",
            "    if message.events.__class__ is not tuple:",
            "        raise TypeError",
            "    for event in message.events:",
            f"        event_type, write = _WRITE_{events}[event.__class__]",
            "        event_place = size = write(event, append, size, vtables)",
        ]
        for table, values in (
            (envelope, {"timestamp": "event.timestamp", "event_type": "event_type", "event": "event_place"}),
            (root, {"now": "message.now", _ENVELOPES: "events_place"}),
        ):
            indent = "        " if table is envelope else "    "
            if table is root:
                lines.append("    events_place = size = write_places(places, append, size)")
            layout = self.layouts.tables[table.name]
            packed = [
                values[f.name] if f.type.kind in SCALARS else f"size - {layout.places[f.name]} - {values[f.name]}"
                for f in layout.fields
            ]
            lines += [indent + line for line in self._pack(table.name, str(layout.first_vtable), packed)]
            if table is envelope:
                lines.append("        places.append(size)")
        lines += [
            "    place = size",
            "    size = size + 11 & -8",
            "    append((size - place).to_bytes(4, 'little') + bytes(size - place - 4))",
            "    pieces.reverse()",
            '    return b"".join(pieces)',
        ]
        tables = ["_VTABLES = (", *(f"    {vtable!r}," for vtable in self.layouts.vtables), ")"]
        return "\n".join([*tables, "", "", *lines])
