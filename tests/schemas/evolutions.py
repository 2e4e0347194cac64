"""Random schemas and what may become of them, with what each change means: which name is which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from batprotocol.schemas._sources import applied
from batprotocol.wire.reflection import Field, Schema, Table, Type

__all__ = ["Evolution", "evolutions", "meant"]

NOTHING = Schema("", {}, {}, {})
SCALARS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]


@dataclass
class Draft:
    """A schema that can be changed: the lines of its tables, enums and unions."""

    tables: dict[str, list[str]]
    enums: dict[str, list[tuple[str, int]]]
    unions: dict[str, list[str]]

    def schema(self) -> Schema:
        lines = ["root Root"]
        for name, fields in self.tables.items():
            lines += [f"table {name}", *(f"  {each}" for each in fields)]
        for name, members in self.enums.items():
            lines += [f"enum {name}: int8", *(f"  {member} = {number}" for member, number in members)]
        for name, tables in self.unions.items():
            lines += [f"union {name}", *(f"  {each}" for each in tables)]
        return applied("\n".join(lines), NOTHING)

    def copy(self) -> Draft:
        return Draft(*({name: list(lines) for name, lines in part.items()} for part in vars(self).values()))


@st.composite
def field_lines(draw: st.DrawFn, name: str, unions: bool = True) -> str:
    """A field of a table that is not called in question by the others."""
    kinds = [*SCALARS, "string", "E", "Leaf", "[string]", "[uint32]", "[float64]", "[Leaf]", "[E]", "[int16]"]
    kind = draw(st.sampled_from([*kinds, "U"] if unions else kinds))
    if kind in SCALARS:
        default = draw(st.sampled_from(["", "null", "1"]))
        if default == "1":
            default = {"bool": "true", "float32": "1.5", "float64": "1.5"}.get(kind, "1")
        return f"{name}: {kind}" + (f" = {default}" if default else "")
    if kind == "E":
        return f"{name}: E" + draw(st.sampled_from(["", " = null"]))
    return f"{name}: {kind}" + draw(st.sampled_from(["", "", " (required)"]))


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    def fields(letter: str, least: int, most: int, unions: bool) -> list[str]:
        count = draw(st.integers(least, most))
        return [draw(field_lines(f"{letter}{number}", unions)) for number in range(count)]

    leaf = ["x: int32", "y: string"]
    tables = {
        "Root": fields("r", 1, 4, True),
        "A": fields("a", 0, 3, False),
        "B": fields("b", 0, 3, False),
        "Leaf": leaf,
    }
    return Draft(tables, {"E": [("Zero", 0), ("One", 1), ("Two", 2)]}, {"U": ["A", "B"]})


@dataclass
class Evolution:
    """Two schemas, and what is called otherwise in the new one: (table, enum or union; old name) -> new name."""

    old: Schema
    new: Schema
    renamed: dict[tuple[str, str], str] = field(default_factory=dict)
    what: str = ""


def _table(draw: st.DrawFn, draft: Draft) -> list[str]:
    return draft.tables[draw(st.sampled_from(["Root", "A", "B"]))]


def _add(draw: st.DrawFn, draft: Draft, renamed: dict[tuple[str, str], str]) -> None:
    fields = _table(draw, draft)
    fields.append(draw(field_lines("added", False)))


def _insert(draw: st.DrawFn, draft: Draft, renamed: dict[tuple[str, str], str]) -> None:
    fields = _table(draw, draft)
    fields.insert(0, draw(field_lines("inserted", False)))


def _remove(draw: st.DrawFn, draft: Draft, renamed: dict[tuple[str, str], str]) -> None:
    fields = _table(draw, draft)
    if len(fields) > 1:
        del fields[draw(st.integers(0, len(fields) - 1))]


def _deprecate(draw: st.DrawFn, draft: Draft, renamed: dict[tuple[str, str], str]) -> None:
    fields = _table(draw, draft)
    for index, line in enumerate(fields):
        if "required" not in line and ": U" not in line:
            fields[index] += " (deprecated)"
            return


def _rename(draw: st.DrawFn, draft: Draft, renamed: dict[tuple[str, str], str]) -> None:
    for table in ("Root", "A"):
        if draft.tables[table]:
            name, _, rest = draft.tables[table][0].partition(":")
            draft.tables[table][0] = f"other:{rest}"
            renamed[table, name] = "other"


def _retype(draw: st.DrawFn, draft: Draft, renamed: dict[tuple[str, str], str]) -> None:
    fields = _table(draw, draft)
    if fields and ": U" not in fields[-1]:
        fields[-1] = draw(field_lines(fields[-1].partition(":")[0], False))


def _require(draw: st.DrawFn, draft: Draft, renamed: dict[tuple[str, str], str]) -> None:
    for fields in draft.tables.values():
        for index, line in enumerate(fields):
            if line.endswith("(required)"):
                fields[index] = line.removesuffix(" (required)")
                return
            if line.split(": ")[1] in ("string", "Leaf", "U", "[string]"):
                fields[index] += " (required)"
                return


def _enum(draw: st.DrawFn, draft: Draft, renamed: dict[tuple[str, str], str]) -> None:
    how = draw(st.sampled_from(["add", "remove", "swap", "rename"]))
    members = draft.enums["E"]
    if how == "add":
        members.append(("Three", 3))
    elif how == "remove":
        members.pop()
    elif how == "swap":
        members[1], members[2] = ("Two", 1), ("One", 2)
    else:
        members[1] = ("Uno", 1)
        renamed["E", "One"] = "Uno"


def _union(draw: st.DrawFn, draft: Draft, renamed: dict[tuple[str, str], str]) -> None:
    how = draw(st.sampled_from(["add", "insert", "swap", "rename"]))
    members = draft.unions["U"]
    if how in ("add", "insert"):
        draft.tables["C"] = ["c0: int32"]
        members.insert(2 if how == "add" else 0, "C")
    elif how == "swap":
        members.reverse()
    else:
        draft.tables["Other"] = draft.tables.pop("A")
        members[0] = "Other"
        renamed["", "A"] = "Other"


CHANGES: list[Callable[..., None]] = [_add, _insert, _remove, _deprecate, _rename, _retype, _require, _enum, _union]


@st.composite
def evolutions(draw: st.DrawFn) -> Evolution:
    """A schema, and the same after a change."""
    draft = draw(drafts())
    new, renamed = draft.copy(), {}
    change = draw(st.sampled_from(CHANGES))
    change(draw, new, renamed)
    return Evolution(draft.schema(), new.schema(), renamed, change.__name__.strip("_"))


def meant(evolution: Evolution, record: dict[str, Any], forward: bool) -> tuple[dict[str, Any] | None, int]:
    """What a reader should find, and how much less that is than was written, as a `Verdict`; None: it cannot take it.

    `forward` is an old reader of what is new.
    """
    return _Meaning(evolution, forward).table("Root", record)


class _Meaning:
    """What was written, in the words of the reader, found by what things are called."""

    def __init__(self, evolution: Evolution, forward: bool) -> None:
        self.reader, self.writer = (evolution.old, evolution.new) if forward else (evolution.new, evolution.old)
        back = {(where, new): old for (where, old), new in evolution.renamed.items()}
        there = evolution.renamed if forward else back
        self.named = {("A" if where == "Other" else where, name): other for (where, name), other in there.items()}

    def written_as(self, where: str, name: str) -> str:
        """What the writer calls what the reader calls so."""
        return self.named.get((where, name), name)

    def table(self, name: str, tree: dict[str, Any]) -> tuple[dict[str, Any] | None, int]:
        there: Table = self.writer.tables[self.written_as("", name)]
        written = {each.name: each for each in there.fields if not each.deprecated}
        found: dict[str, Any] = {}
        less = 0
        for each in self.reader.tables[name].fields:
            if each.deprecated or each.type.kind == "utype":
                continue
            other = self.written_as("A" if name == "Other" else name, each.name)
            scalar = each.type.kind not in ("string", "vector", "table", "union")
            if other not in written or tree.get(other) is None:
                if each.required:
                    return None, 3
                if scalar:
                    names = self.reader.names.get(each.type.name, {})
                    found[each.name] = names.get(each.default, each.default)
                if other not in written or (scalar and not each.optional):
                    less = max(less, 1 if scalar and not each.optional else 2)
                continue
            value, below = self.value(each, each.type, tree[other], tree.get(f"{other}_type", ""))
            if below == 3:
                return None, 3
            less = max(less, below)
            if each.type.kind == "union":
                found[f"{each.name}_type"] = self.member(each.type.name, tree[f"{other}_type"])
            found[each.name] = value
        return found, less

    def member(self, union: str, written: str) -> str | None:
        members = self.reader.unions[union].members
        return next((each for each in members if self.written_as("", each) == written), None)

    def value(self, each: Field, type_: Type, value: Any, member: str) -> tuple[Any, int]:
        if type_.kind == "union" and isinstance(value, dict):
            reader = self.member(type_.name, member)
            return (None, 3) if reader is None else self.table(reader, value)
        if type_.kind == "table" and isinstance(value, dict):
            return self.table(type_.name, value)
        if type_.kind == "enum" and isinstance(value, str):
            enum = self.reader.enums[type_.name].values
            found = next((name for name in enum if self.written_as(type_.name, name) == value), None)
            return (found, 0) if found else (self.writer.enums[type_.name].values.get(value, value), 2)
        if type_.element and isinstance(value, list) and type_.element.kind in ("table", "enum"):
            pairs = [self.value(each, type_.element, item, "") for item in value]
            worst = max((below for _, below in pairs), default=0)
            return [item for item, _ in pairs], worst
        return value, 0
