"""The places of fields in written messages: one layout for each table, shared by both engines.

All scalars are written; absent fields differ only in the vtable. Smaller fields come first, then by number, as in the
C++ library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from schema_compiler.reflection import Field, Schema, Table

__all__ = ["ENVELOPE", "OFFSET", "SCALARS", "Layout", "Layouts", "is_wrapper", "size_of"]

SCALARS = {
    "bool": (1, "B"), "int8": (1, "b"), "utype": (1, "B"), "enum": (1, "b"), "int32": (4, "i"), "uint32": (4, "I"),
    "uint64": (8, "Q"), "float64": (8, "d"),
}  # fmt: skip
"""Size and `struct` code of what lies inside a table."""
OFFSET = (4, "I")
"""The same for values outside of a table, to which it has an offset."""
ENVELOPE = "EventAndTimestamp"
"""The table around each event."""


def is_wrapper(table: Table) -> bool:
    """Whether a table exists only because flatbuffers cannot nest unions."""
    return table.name.endswith("Wrapper")


def size_of(f: Field) -> tuple[int, str]:
    return SCALARS.get(f.type.kind, OFFSET)


@dataclass(frozen=True)
class Layout:
    """How a table is written: its fields in order of place, their places, the `struct` code, and the size of it all."""

    fields: list[Field]
    places: dict[str, int]
    code: str
    size: int
    optional: list[Field]
    """The fields that can be absent. Bit i of the vtable's number, counted from `first_vtable`, is field i present."""
    first_vtable: int

    @property
    def wide(self) -> int | None:
        """The size so far modulo 8 that aligns the fields of eight bytes; None if there are no such fields.

        The whole message ends on a multiple of 8, and places are counted from its end.
        """
        first = [self.places[f.name] for f in self.fields if size_of(f)[0] == 8]
        return (first[0] - self.size) & 4 if first else None


@dataclass
class Layouts:
    """The layouts of all tables, and all their vtables."""

    schema: Schema
    vtables: list[bytes] = field(default_factory=list)
    tables: dict[str, Layout] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for table in self.schema.tables.values():
            self.tables[table.name] = self._layout(table)

    def _layout(self, table: Table) -> Layout:
        fields = sorted(table.fields, key=lambda f: (size_of(f)[0], f.slot))
        places, code, end = {}, "<i", 4
        for f in fields:
            size, letter = size_of(f)
            gap = -end % 4 if size > 1 else 0
            places[f.name] = end + gap
            code += (f"{gap}x" if gap else "") + letter
            end += gap + size
        tail = -end % 4
        code, end = code + (f"{tail}x" if tail else ""), end + tail
        optional = [f for f in table.fields if f.optional or (f.type.kind not in SCALARS and not f.required)]
        first = len(self.vtables)
        for mask in range(2 ** len(optional)):
            absent = {f.name for bit, f in enumerate(optional) if not mask >> bit & 1}
            self.vtables.append(_vtable([0 if f.name in absent else places[f.name] for f in table.fields], end))
        return Layout(fields, places, code, end, optional, first)

    def children(self, table: Table) -> set[str]:
        """The tables that a table can lead to directly."""
        found = set()
        for f in table.fields:
            kind = f.type.element or f.type
            found |= {kind.name} if kind.kind == "table" else set()
            found |= set(self.schema.unions[kind.name].members) if kind.kind == "union" else set()
        return found

    def children_first(self) -> Iterator[Table]:
        """All tables, each after those that it leads to, where recursion allows."""
        done: dict[str, Table] = {}

        def visit(name: str) -> None:
            if name not in done:
                done[name] = self.schema.tables[name]
                for child in sorted(self.children(self.schema.tables[name])):
                    visit(child)
                done[name] = done.pop(name)

        visit(self.schema.root)
        return iter(done.values())


def _vtable(entries: list[int], size: int) -> bytes:
    numbers = [4 + 2 * len(entries), size, *entries]
    return b"".join(number.to_bytes(2, "little") for number in numbers) + bytes(-2 * len(numbers) % 4)
