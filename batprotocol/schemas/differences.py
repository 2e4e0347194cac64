"""The differences between two schemas, and their effect on messages that are written by one and read by the other.

Flatbuffers finds fields by their number, JSON by their name, so a change that is harmless to one may break the other.
This module must not know which schemas exist, or the meaning of fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from batprotocol.schemas.structs import struct_changes
from batprotocol.wire.binding import RANGES
from batprotocol.wire.reflection import Enum, Field, Schema, Table, Type, Union

__all__ = ["Difference", "Effect", "Verdict", "differences", "worst", "worst_of"]

_REALS: Final = ("float32", "float64")


class Verdict(IntEnum):
    """The worst effect of a difference. Higher values are worse."""

    FINE = 0
    """The message is read correctly; the reader ignores parts that it does not know."""
    DEFAULT = 1
    """The reader finds the default of its schema, because there is no value or it cannot read the value."""
    ABSENT = 2
    """The reader finds nothing, or the number of an enum's member without a name."""
    REFUSED = 3
    """The message is refused."""
    MISREAD = 4
    """The reader finds another value than was written, without an error."""

    def __str__(self) -> str:
        return self.name.lower()


class Effect(NamedTuple):
    """The effect on messages, by format."""

    binary: Verdict = Verdict.FINE
    json: Verdict = Verdict.FINE


class Difference(NamedTuple):
    """One difference.

    Attributes:
        kind: "added", "removed", "renamed", "moved" (it has another number or place), "type", "default", "required",
            "not required", "nullable", "not nullable", "deprecated", "not deprecated", "root", "identifier" (the four
            letters at the beginning of messages), "nested" (the type of the message in a vector of bytes) or "size".
        place: the part that differs, by its name in the new schema, or in the old one if it was removed:
            `Job.walltime`.
        detail: the old and the new form, in a few words, or "".
        old_reads_new: the effect when a peer with the old schema reads a message of the new schema.
        new_reads_old: the effect in the reverse direction.
    """

    kind: str
    place: str
    detail: str
    old_reads_new: Effect
    new_reads_old: Effect


def worst_of(difference: Difference, readers: str = "both", encodings: Iterable[str] = Effect._fields) -> Verdict:
    """The worst effect of a difference.

    Args:
        difference: the difference.
        readers: "old": peers with the old schema read messages of the new one; "new": the reverse; "both".
        encodings: the formats of messages, "binary" and "json".
    """
    sides = {"old": [difference.old_reads_new], "new": [difference.new_reads_old], "both": difference[3:]}[readers]
    return Verdict(max(getattr(effect, name) for effect in sides for name in encodings))


def worst(found: Iterable[Difference]) -> Verdict:
    """The worst effect, in any format and direction."""
    return max(map(worst_of, found), default=Verdict.FINE)


def differences(old: Schema, new: Schema) -> list[Difference]:
    """All differences between two schemas, except their comments.

    >>> from batprotocol.schemas import age
    >>> for each in differences(age("2021-10"), age("2022-01")):
    ...     print(each.kind, each.place, each.old_reads_new.binary, each.new_reads_old.binary)
    added EDCRequestedSimulationFeatures.forward_unknown_external_events fine default
    """
    return list(_Comparison(old, new).all())


class _Comparison:
    """Two schemas, and the new names of tables: `renamed` maps old names to new ones, `back` new names to old ones."""

    def __init__(self, old: Schema, new: Schema) -> None:
        self.old, self.new = old, new
        self.renamed = {old.root: new.root} if old.root and new.root and old.root not in new.tables else {}
        for name, union in old.unions.items():
            if name in new.unions:
                self.renamed |= self.renamed_members(union, new.unions[name])
        self.back = {now: before for before, now in self.renamed.items()}

    def was(self, name: str) -> str:
        """The old name of the part with this new name."""
        return self.back.get(name, name)

    def renamed_members(self, old: Union, new: Union) -> dict[str, str]:
        """The renamed tables of a union: the same number and, as far as both have them, the same fields."""
        pairs = zip(old.members, new.members, strict=False)
        return {
            before: now
            for before, now in pairs
            if before in self.old.tables
            and now in self.new.tables
            and before not in self.new.tables
            and now not in self.old.tables
            and self.alike(self.old.tables[before], self.new.tables[now])
        }

    @staticmethod
    def alike(old: Table, new: Table) -> bool:
        pairs = list(zip(old.fields, new.fields, strict=False))
        return all(before.slot == now.slot and before.type.kind == now.type.kind for before, now in pairs)

    def all(self) -> Iterator[Difference]:
        if self.old.root and self.new.root and self.renamed.get(self.old.root, self.old.root) != self.new.root:
            bad = Effect(Verdict.MISREAD, Verdict.REFUSED)
            yield Difference("root", self.new.root, f"it was {self.old.root}", bad, bad)
        if self.old.identifier != self.new.identifier:
            detail = f"{self.old.identifier or 'none'} before, {self.new.identifier or 'none'} now"
            effects = [Effect(Verdict.REFUSED if each.identifier else Verdict.FINE) for each in (self.old, self.new)]
            yield Difference("identifier", self.new.root, detail, *effects)
        for before, now in self.renamed.items():
            yield Difference("renamed", now, f"it was {before}", Effect(), Effect())
        for name, table in self.new.tables.items():
            if self.was(name) in self.old.tables:
                yield from self.tables(self.old.tables[self.was(name)], table)
        for name, enum in self.new.enums.items():
            if name in self.old.enums:
                yield from self.enums(self.old.enums[name], enum)
        for name, union in self.new.unions.items():
            if name in self.old.unions:
                yield from self.unions(self.old.unions[name], union)
        parts = (
            (self.old.tables, self.new.tables),
            (self.old.enums, self.new.enums),
            (self.old.unions, self.new.unions),
        )
        for olds, news in parts:
            for name in news:
                if name not in olds and self.was(name) == name:
                    yield Difference("added", name, "", Effect(), Effect())
            for name in olds:
                if name not in news and name not in self.renamed:
                    yield Difference("removed", name, "", Effect(), Effect())

    # Tables

    def tables(self, old: Table, new: Table) -> Iterator[Difference]:
        if old.size or new.size:
            yield from self.structs(old, new)
            return
        olds = {field.name: field for field in old.fields if not field.is_tag}
        news = {field.name: field for field in new.fields if not field.is_tag}
        slots = {field.slot: field for field in olds.values() if field.name not in news}
        renamed = {
            field.name: slots[field.slot].name
            for field in news.values()
            if field.name not in olds and field.slot in slots and self.same(slots[field.slot].type, field.type)
        }
        for field in news.values():
            before = olds.pop(renamed.get(field.name, field.name), None)
            if before is None:
                yield self.of_one("added", field, old, new)
                continue
            for kind, detail in self.changes(before, field):
                yield self.of_both(kind, detail, before, field, old, new)
        for field in olds.values():
            yield self.of_one("removed", field, old, new)

    def structs(self, old: Table, new: Table) -> Iterator[Difference]:
        """Structs have no numbers: each change of a place is a change of all that follows, and of vectors."""
        bad = Effect(Verdict.MISREAD, Verdict.MISREAD)
        if not (old.size and new.size):
            words = ("a table before, a struct now", "a struct before, a table now")
            yield Difference("type", new.name, words[bool(old.size)], bad, bad)
            return
        for kind, place, detail, is_layout, text in struct_changes(old, new, self.same):
            effect = Effect(Verdict.MISREAD if is_layout else Verdict.FINE, Verdict[text.upper()])
            yield Difference(kind, place, detail, effect, effect)

    def changes(self, before: Field, field: Field) -> Iterator[tuple[str, str]]:
        if before.name != field.name:
            yield "renamed", f"it was {before.name}"
        if before.slot != field.slot:
            yield "moved", f"number {before.slot} before, {field.slot} now"
        if not self.same(before.type, field.type):
            yield "type", f"{before.type} before, {field.type} now"
        if before.nested and field.nested and self.renamed.get(before.nested, before.nested) != field.nested:
            yield "nested", f"{before.nested} before, {field.nested} now"
        if before.required != field.required:
            yield "required" if field.required else "not required", ""
        if before.optional != field.optional:
            yield "nullable" if field.optional else "not nullable", ""
        elif before.type.kind == field.type.kind and repr(before.default) != repr(field.default):
            yield "default", f"{before.default!r} before, {field.default!r} now"
        if before.deprecated != field.deprecated:
            yield "deprecated" if field.deprecated else "not deprecated", ""

    def same(self, old: Type, new: Type) -> bool:
        if old.kind == "enum" and new.kind == "enum" and old.name in self.old.enums and new.name in self.new.enums:
            return old.name == new.name and self.old.enums[old.name].kind == self.new.enums[new.name].kind
        if old.element and new.element:
            return old.length == new.length and self.same(old.element, new.element)
        return old.kind == new.kind and self.renamed.get(old.name, old.name) == new.name

    def of_one(self, kind: str, field: Field, old: Table, new: Table) -> Difference:
        """A field that only one schema has."""
        known, unknown = (new, old) if kind == "added" else (old, new)
        found = Effect(self.in_binary(field, unknown), _missing(field))
        if field.deprecated:
            found = left = Effect()
        else:
            left = Effect(Verdict.FINE, Verdict.REFUSED)
        effects = (left, found) if kind == "added" else (found, left)
        return Difference(kind, f"{known.name}.{field.name}", _described(field), *effects)

    def of_both(self, kind: str, detail: str, before: Field, field: Field, old: Table, new: Table) -> Difference:
        """A field that both schemas have, with the effects of this difference alone."""
        effects = []
        for reader, writer, written in ((before, field, new), (field, before, old)):
            if kind == "moved":
                effects.append(Effect(self.in_binary(reader, written)))
            elif kind == "type":
                binary = Verdict.FINE if before.slot != field.slot else Verdict.MISREAD
                effects.append(Effect(binary, self.type_in_json(reader.type, writer.type)))
            elif kind == "renamed":
                effects.append(Effect(Verdict.FINE, Verdict.FINE if writer.deprecated else Verdict.REFUSED))
            else:
                effects.append(self.attribute(kind, reader, writer))
        return Difference(kind, f"{new.name}.{field.name}", detail, *effects)

    @staticmethod
    def attribute(kind: str, reader: Field, writer: Field) -> Effect:
        """The effect of a difference in a field's attributes besides its type."""
        verdict = Verdict.FINE
        if kind in ("required", "not required") and reader.required:
            verdict = Verdict.REFUSED
        elif kind in ("nullable", "not nullable"):
            verdict = Verdict.ABSENT if reader.optional else Verdict.DEFAULT
            if reader.optional is False and writer.optional:
                # A field with a value is always present: the default is found only if there is no value.
                return Effect(verdict, Verdict.REFUSED)
        elif kind in ("default", "nested"):
            verdict = Verdict.MISREAD
        elif kind in ("deprecated", "not deprecated") and writer.deprecated:
            verdict = _missing(reader)
        return Effect(verdict, verdict)

    @staticmethod
    def in_binary(field: Field, written: Table) -> Verdict:
        """The effect when a reader reads a field whose number another field has, or none, in the table as written."""
        if field.deprecated:
            return Verdict.FINE
        is_there = any(each.slot == field.slot and not each.deprecated for each in written.fields)
        return Verdict.MISREAD if is_there else _missing(field)

    def type_in_json(self, reader: Type, writer: Type) -> Verdict:
        """The effect when a reader of one type reads the text of another type."""
        if reader.kind in RANGES and writer.kind in RANGES:
            (least, most), (lower, upper) = RANGES[reader.kind], RANGES[writer.kind]
            return Verdict.FINE if least <= lower and upper <= most else Verdict.REFUSED
        if reader.kind in _REALS and writer.kind in (*RANGES, *_REALS):
            exact = reader.kind == "float64" and writer.kind not in ("int64", "uint64")
            exact = exact or writer.kind in ("int8", "uint8", "int16", "uint16", "float32")
            return Verdict.FINE if exact else Verdict.MISREAD
        if reader.kind == "bool" and writer.kind in RANGES:
            return Verdict.MISREAD  # any number is read as true
        if reader.element and writer.element:
            return self.type_in_json(reader.element, writer.element)
        if reader.kind in ("table", "union") and writer.kind == reader.kind:
            return Verdict.MISREAD
        if reader.kind == "enum" or (writer.kind == "string" and reader.kind in (*RANGES, *_REALS, "bool")):
            return Verdict.MISREAD  # the dialect accepts numbers for members, and texts for numbers
        if reader.kind in ("table", "union") and writer.kind == "vector":
            return Verdict.MISREAD  # the dialect accepts a vector for the fields in order
        return Verdict.REFUSED

    # Enums and unions

    def enums(self, old: Enum, new: Enum) -> Iterator[Difference]:
        if old.kind != new.kind:
            bad = Effect(Verdict.MISREAD, Verdict.FINE)
            yield Difference("type", new.name, f"{old.kind} before, {new.kind} now", bad, bad)
        numbers = {number: name for name, number in old.values.items() if name not in new.values}
        unknown = Effect(Verdict.ABSENT, Verdict.REFUSED)
        another = Effect(Verdict.MISREAD, Verdict.REFUSED)
        for name, number in new.values.items():
            place = f"{new.name}.{name}"
            if name in old.values:
                if old.values[name] != number:
                    yield Difference(
                        "moved",
                        place,
                        f"{old.values[name]} before, {number} now",
                        Effect(self.number(number, name, old)),
                        Effect(self.number(old.values[name], name, new)),
                    )
            elif number in numbers:
                other = Effect(Verdict.FINE, Verdict.REFUSED)
                yield Difference("renamed", place, f"it was {numbers.pop(number)}", other, other)
            else:
                taken = number in old.values.values()
                yield Difference("added", place, "", another if taken else unknown, Effect())
        for number, name in numbers.items():
            taken = number in new.values.values()
            yield Difference("removed", f"{old.name}.{name}", "", Effect(), another if taken else unknown)

    @staticmethod
    def number(number: int, name: str, reader: Enum) -> Verdict:
        found = [each for each, value in reader.values.items() if value == number]
        return Verdict.ABSENT if not found else Verdict.FINE if name in found else Verdict.MISREAD

    def unions(self, old: Union, new: Union) -> Iterator[Difference]:
        # The tables of one number and name may differ: then the differences are listed for the table.
        olds, news = ({name: number for name, number, _ in each.numbered} for each in (old, new))
        old_types, new_types = ({name: kind for name, _, kind in each.numbered} for each in (old, new))
        moved = [name for name in olds if self.renamed.get(name, name) in news]
        for name, number in news.items():
            place = f"{new.name}.{name}"
            before = self.was(name)
            if before not in moved:
                read = Verdict.MISREAD if number in olds.values() else Verdict.REFUSED
                yield Difference("added", place, "", Effect(read, Verdict.REFUSED), Effect())
                continue
            was = olds[before]
            if before != name:
                text = Effect(Verdict.FINE, Verdict.REFUSED)
                yield Difference("renamed", place, f"it was {before}", text, text)
            if was != number:
                yield Difference(
                    "moved",
                    place,
                    f"number {was} before, {number} now",
                    Effect(Verdict.MISREAD if number in olds.values() else Verdict.REFUSED),
                    Effect(Verdict.MISREAD if was in news.values() else Verdict.REFUSED),
                )
            kinds = old_types[before], new_types[name]
            if not self.same(*kinds):
                bad = Effect(Verdict.MISREAD, Verdict.MISREAD)
                yield Difference("type", place, f"{kinds[0]} before, {kinds[1]} now", bad, bad)
        for name, number in olds.items():
            if name not in moved:
                read = Verdict.MISREAD if number in news.values() else Verdict.REFUSED
                yield Difference("removed", f"{old.name}.{name}", "", Effect(), Effect(read, Verdict.REFUSED))


def _missing(field: Field) -> Verdict:
    """The effect when the field is absent."""
    if field.required:
        return Verdict.REFUSED
    scalar = field.type.kind not in ("string", "vector", "table", "union", "struct")
    return Verdict.DEFAULT if scalar and not field.optional else Verdict.ABSENT


def _described(field: Field) -> str:
    said = [str(field.type)]
    if field.required:
        said.append("required")
    elif field.optional:
        said.append("can be null")
    return ", ".join(said)
