"""The differences between two schemas, and their effect on messages that are written by one and read by the other."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from batprotocol.wire.binding import RANGES
from batprotocol.wire.reflection import UNKNOWN, Enum, Field, Schema, Table, Type, Union

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
            letters at the beginning of messages), "nested" (the type of the message in a vector of bytes), "offset"
            (which has 64 bits in one of them) or "size".
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
    """Two schemas, and their pairs: for each kind of part, the old name of each new name.

    Parts are pairs if their names with the namespaces are equal; else if their names are; else if they are used in the
    same place, and alike: they were renamed.
    """

    def __init__(self, old: Schema, new: Schema) -> None:
        self.old, self.new = old, new
        self.of_tables = _named_alike(old.tables, new.tables)
        self.of_enums = _named_alike(old.enums, new.enums)
        self.of_unions = _named_alike(old.unions, new.unions)
        self.of_kind = {
            "table": self.of_tables,
            "struct": self.of_tables,
            "enum": self.of_enums,
            "union": self.of_unions,
            "utype": self.of_unions,
        }
        self.taken = {id(pairs): set(pairs.values()) for pairs in self.of_kind.values()}
        self.waiting: deque[tuple[dict[str, str], str, str]] = deque()
        if old.root and new.root:
            self.pair(self.of_tables, old.root, new.root)
        self.find_renamed()

    def pair(self, pairs: dict[str, str], old: str, new: str) -> None:
        """Make a pair of two parts that belong to none yet."""
        if new not in pairs and old not in self.taken[id(pairs)]:
            pairs[new] = old
            self.taken[id(pairs)].add(old)
            self.waiting.append((pairs, old, new))

    def find_renamed(self) -> None:
        """Make pairs of parts that are used in the same place of pairs."""
        for waiting in (self.of_tables, self.of_unions):
            self.waiting += [(waiting, before, now) for now, before in waiting.items()]
        while self.waiting:
            pairs, before, now = self.waiting.popleft()
            if pairs is self.of_enums:
                continue
            for types in self.members_of(before, now) if pairs is self.of_unions else self.used(before, now):
                self.renamed(*types)

    def members_of(self, before: str, now: str) -> Iterator[tuple[Type, Type]]:
        """The types of the members that two unions share, by number."""
        olds = {number: kind for _, number, kind in self.old.unions[before].numbered}
        for _, number, kind in self.new.unions[now].numbered:
            if number in olds:
                yield olds[number], kind

    def used(self, before: str, now: str) -> Iterator[tuple[Type, Type]]:
        """The types of the fields that two tables share, by name, or else by number or place."""
        olds = self.old.tables[before].fields
        names = {field.name: field for field in olds}
        places = {(field.slot, field.offset): field for field in olds}
        for field in self.new.tables[now].fields:
            was = names.get(field.name) or places.get((field.slot, field.offset))
            if was is not None:
                yield was.type, field.type
            if was is not None and was.nested and field.nested:
                yield Type("table", was.nested), Type("table", field.nested)

    def renamed(self, old: Type, new: Type) -> None:
        """Make a pair of two types if one was renamed to the other."""
        if old.element and new.element:
            self.renamed(old.element, new.element)
        elif old.kind == new.kind in self.of_kind and self.alike(old, new):
            self.pair(self.of_kind[new.kind], old.name, new.name)

    def alike(self, old: Type, new: Type) -> bool:
        """Whether two parts may be the same under another name: as far as both have fields or numbers, they agree."""
        if new.kind in ("table", "struct"):
            before, now = self.old.tables[old.name], self.new.tables[new.name]
            pairs = list(zip(before.fields, now.fields, strict=False))
            places = all((was.slot, was.offset) == (field.slot, field.offset) for was, field in pairs)
            return places and all(was.type.kind == field.type.kind for was, field in pairs)
        if new.kind == "enum":
            numbers = [set(self.old.enums[old.name].values.values()), set(self.new.enums[new.name].values.values())]
            kinds = self.old.enums[old.name].kind, self.new.enums[new.name].kind
            return kinds[0] == kinds[1] and (numbers[0] <= numbers[1] or numbers[1] <= numbers[0])
        return True

    def all(self) -> Iterator[Difference]:
        if self.old.root and self.new.root and self.of_tables.get(self.new.root) != self.old.root:
            bad = Effect(Verdict.MISREAD, Verdict.REFUSED)
            yield Difference("root", self.new.root, f"it was {self.old.root}", bad, bad)
        if self.old.identifier != self.new.identifier:
            detail = f"{self.old.identifier or 'none'} before, {self.new.identifier or 'none'} now"
            effects = [Effect(Verdict.REFUSED if each.identifier else Verdict.FINE) for each in (self.old, self.new)]
            yield Difference("identifier", self.new.root, detail, *effects)
        for pairs in (self.of_tables, self.of_enums, self.of_unions):
            for now, before in pairs.items():
                if _short(now) != _short(before):
                    yield Difference("renamed", now, f"it was {before}", Effect(), Effect())
        for name, table in self.new.tables.items():
            if name in self.of_tables:
                yield from self.tables(self.old.tables[self.of_tables[name]], table)
        for name, enum in self.new.enums.items():
            if name in self.of_enums:
                yield from self.enums(self.old.enums[self.of_enums[name]], enum)
        for name, union in self.new.unions.items():
            if name in self.of_unions:
                yield from self.unions(self.old.unions[self.of_unions[name]], union)
        parts = (
            (self.of_tables, self.old.tables, self.new.tables),
            (self.of_enums, self.old.enums, self.new.enums),
            (self.of_unions, self.old.unions, self.new.unions),
        )
        for known, olds, news in parts:
            for name in news:
                if name not in known:
                    yield Difference("added", name, "", Effect(), Effect())
            for name in olds:
                if name not in known.values():
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
        for kind, place, detail, is_layout, text in _struct_changes(old, new, self.same):
            effect = Effect(Verdict.MISREAD if is_layout else Verdict.FINE, Verdict[text.upper()])
            yield Difference(kind, place, detail, effect, effect)

    def changes(self, before: Field, field: Field) -> Iterator[tuple[str, str]]:
        if before.name != field.name:
            yield "renamed", f"it was {before.name}"
        if before.slot != field.slot:
            yield "moved", f"number {before.slot} before, {field.slot} now"
        if not self.same(before.type, field.type):
            yield "type", f"{before.type} before, {field.type} now"
        elif before.is_far != field.is_far:
            bits = {True: "an offset of 64 bits", False: "one of 32"}
            yield "offset", f"{bits[before.is_far]} before, {bits[field.is_far]} now"
        if before.nested and field.nested and self.of_tables.get(field.nested) != before.nested:
            yield "nested", f"{before.nested} before, {field.nested} now"
        if before.required != field.required:
            yield "required" if field.required else "not required", ""
        if before.optional != field.optional:
            yield "nullable" if field.optional else "not nullable", ""
        elif before.type.kind == field.type.kind and repr(before.default) != repr(field.default):
            yield "default", f"{before.default!r} before, {field.default!r} now"
        elif before.initial != field.initial and UNKNOWN not in (before.initial, field.initial):
            yield "default", f"{before.initial or 'none'} before, {field.initial or 'none'} now"
        if before.deprecated != field.deprecated:
            yield "deprecated" if field.deprecated else "not deprecated", ""

    def same(self, old: Type, new: Type) -> bool:
        if old.element and new.element:
            return (old.kind, old.length) == (new.kind, new.length) and self.same(old.element, new.element)
        if old.kind != new.kind or new.kind not in self.of_kind:
            return old.kind == new.kind
        if self.of_kind[new.kind].get(new.name) != old.name:
            return False
        return new.kind != "enum" or self.old.enums[old.name].kind == self.new.enums[new.name].kind

    def equal(self, old: Type, new: Type) -> bool:
        """Whether two types with other names have the same form, and the same names in it."""
        return _form(self.old, old, {}) == _form(self.new, new, {})

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
            elif kind == "type" and self.equal(before.type, field.type):
                effects.append(Effect())
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
        elif kind == "offset":
            return Effect(Verdict.MISREAD)
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
        if reader.element and writer.element and reader.kind != "array" != writer.kind:
            if reader.element == writer.element:
                return Verdict.FINE  # only their sizes have other bits
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
        olds = {name: (number, kind) for name, number, kind in old.numbered}
        news = {name: (number, kind) for name, number, kind in new.numbered}
        known = self.members(olds, news)
        for name, (number, kind) in news.items():
            place = f"{new.name}.{name}"
            if name not in known:
                is_taken = any(number == each for each, _ in olds.values())
                read = Verdict.MISREAD if is_taken else Verdict.REFUSED
                yield Difference("added", place, "", Effect(read, Verdict.REFUSED), Effect())
                continue
            was, before = olds[known[name]]
            if known[name] != name:
                text = Effect(Verdict.FINE, Verdict.REFUSED)
                yield Difference("renamed", place, f"it was {known[name]}", text, text)
            if was != number:
                yield Difference(
                    "moved",
                    place,
                    f"number {was} before, {number} now",
                    Effect(Verdict.MISREAD if any(number == each for each, _ in olds.values()) else Verdict.REFUSED),
                    Effect(Verdict.MISREAD if any(was == each for each, _ in news.values()) else Verdict.REFUSED),
                )
            if not self.same(before, kind):
                bad = Effect() if self.equal(before, kind) else Effect(Verdict.MISREAD, Verdict.MISREAD)
                yield Difference("type", place, f"{before} before, {kind} now", bad, bad)
        for name, (number, _) in olds.items():
            if name not in known.values():
                is_taken = any(number == each for each, _ in news.values())
                read = Verdict.MISREAD if is_taken else Verdict.REFUSED
                yield Difference("removed", f"{old.name}.{name}", "", Effect(), Effect(read, Verdict.REFUSED))

    def members(self, olds: Mapping[str, _Member], news: Mapping[str, _Member]) -> dict[str, str]:
        """The old names of a union's members: by name, by number and type, or by type."""
        known = {name: name for name in news if name in olds}
        for is_number_equal in (True, False):
            for name, (number, kind) in news.items():
                for before, (was, old) in olds.items():
                    is_free = name not in known and before not in known.values()
                    if is_free and (was == number or not is_number_equal) and self.same(old, kind):
                        known[name] = before
        return known


class _StructChange(NamedTuple):
    """A change of a struct.

    Attributes:
        kind: the kind of the difference.
        place: the struct or its field.
        detail: the old and the new form.
        is_layout: whether bytes are read as those of another field, or of none.
        text: the effect on JSON: "fine", "refused" or "misread".
    """

    kind: str
    place: str
    detail: str
    is_layout: bool
    text: str


def _struct_changes(old: Table, new: Table, same: Callable[[Type, Type], bool]) -> Iterator[_StructChange]:
    """The changes. JSON of a struct has all of its fields, by name.

    Args:
        old: the struct before.
        new: the struct now.
        same: whether two types are the same.
    """
    olds, news = ({field.name: field for field in each.fields} for each in (old, new))
    gone = {field.offset: field for field in olds.values() if field.name not in news}
    is_found = False
    for field in news.values():
        place, before = f"{new.name}.{field.name}", olds.get(field.name)
        was = gone.get(field.offset)
        if before is None and was is not None and same(was.type, field.type):
            del gone[field.offset]
            yield _StructChange("renamed", place, f"it was {was.name}", False, "refused")
        elif before is None:
            is_found = True
            yield _StructChange("added", place, f"{field.type}, at byte {field.offset}", True, "refused")
        elif not same(before.type, field.type):
            is_found = True
            text = "refused" if "array" in (before.type.kind, field.type.kind) else "misread"
            yield _StructChange("type", place, f"{before.type} before, {field.type} now", True, text)
        elif before.offset != field.offset:
            is_found = True
            yield _StructChange("moved", place, f"byte {before.offset} before, {field.offset} now", True, "fine")
    for field in gone.values():
        is_found = True
        yield _StructChange("removed", f"{old.name}.{field.name}", str(field.type), True, "refused")
    if old.size != new.size and not is_found:
        yield _StructChange("size", new.name, f"{old.size} bytes before, {new.size} now", True, "fine")


_Member = tuple[int, Type]
"""The number and the type of a member of a union."""


def _named_alike(
    olds: Mapping[str, Table] | Mapping[str, Enum] | Mapping[str, Union],
    news: Mapping[str, Table] | Mapping[str, Enum] | Mapping[str, Union],
) -> dict[str, str]:
    """The old names of new parts: those with the same namespace and name, and then those with the same name."""
    full = {part.full or name: name for name, part in olds.items()}
    known = {name: full[part.full or name] for name, part in news.items() if (part.full or name) in full}
    taken = set(known.values())
    left = {_short(name): name for name in olds if name not in taken}
    counts = Counter(_short(name) for name in olds if name not in taken)
    counts_now = Counter(_short(name) for name in news if name not in known)
    for name in news:
        short = _short(name)
        if name not in known and counts[short] == 1 and counts_now[short] == 1:
            known[name] = left[short]
    return known


def _short(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition(".")[2]


_MOST_PARTS: Final = 200


def _form(schema: Schema, type_: Type, seen: dict[str, int]) -> object:
    """The form of a type, without the names of types. A part that is in itself is a number."""
    if type_.element:
        return type_.kind, type_.length, _form(schema, type_.element, seen)
    key = f"{type_.kind} {type_.name}"
    if len(seen) > _MOST_PARTS:
        return object()  # which equals nothing else
    if not type_.name or key in seen:
        return type_.kind, seen.get(key)
    seen[key] = len(seen)
    if type_.kind == "enum":
        return schema.enums[type_.name].kind, tuple(sorted(schema.enums[type_.name].values.items()))
    if type_.kind in ("union", "utype"):
        return tuple(
            (name, number, _form(schema, kind, seen)) for name, number, kind in schema.unions[type_.name].numbered
        )
    table = schema.tables[type_.name]
    return table.size, tuple(
        (
            repr(field._replace(type=Type(""), doc="", nested="")),
            _form(schema, field.type, seen),
            _form(schema, Type("table", field.nested), seen) if field.nested else None,
        )
        for field in table.fields
    )


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
