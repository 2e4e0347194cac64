"""What `differences` says of two schemas, word by word: of small ones of all kinds, and of those of the ages."""

from __future__ import annotations

import ctypes
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import DATA, ROOT

from batprotocol.schemas import AGES, Effect, Verdict, age, applied, described, differences, worst
from batprotocol.wire.reflection import Field, Schema, Table, Type

pytestmark = pytest.mark.once

EMPTY = Schema("", {}, {}, {})


def told(old: Schema, new: Schema) -> list[str]:
    """The differences as lines."""

    def effect(found: Effect) -> str:
        return f"{found.binary} {found.json}"

    return [
        f"{each.kind} {each.place} [{each.detail}]: {effect(each.old_reads_new)}, {effect(each.new_reads_old)}"
        for each in differences(old, new)
    ]


def known() -> dict[str, list[str]]:
    """The kept pairs, each as its parts: two schemas, the differences, and those of the reverse."""
    text = (DATA / "differences.txt").read_text()
    found = (each.partition("\n") for each in text.partition("== ")[2].split("\n== "))
    return {name: f"\n{rest}\n".split("\n--\n") for name, _, rest in found}


@pytest.mark.parametrize("name", known())
def test_of_two_small_schemas(name: str) -> None:
    old, new = (applied(text, EMPTY) for text in known()[name][:2])
    there, back = ([line for line in part.split("\n") if line] for part in known()[name][2:])
    assert told(old, new) == there
    assert told(new, old) == back
    assert told(old, old) == told(new, new) == []


# Types

PARTS = """
table T
  t: int8
table S
  s: string
enum E: int8
  A = 0
  B = 1
enum F: uint8
  A = 0
union U
  T
union V
  S
"""
TYPES = """
bool     .mmmmmmmmrrmrrrrrrrrrr
int8     r.rrrrrrrrrmrrrrrrrrrr
uint8    rr.rrrrrrrrmrrrrrrrrrr
int16    rff.rrrrrrrmrrrrrrrrrr
uint16   rrfr.rrrrrrmrrrrrrrrrr
int32    rffff.rrrrrmrrrrrrrrrr
uint32   rrfrfr.rrrrmrrrrrrrrrr
int64    rffffff.rrrmrrrrrrrrrr
uint64   rrfrfrfr.rrmrrrrrrrrrr
float32  rffffmmmm.mmrrrrrrrrrr
float64  rffffffmmf.mrrrrrrrrrr
string   rrrrrrrrrrr.rrrrrrrrrr
E        mmmmmmmmmmmm.mmmmmmmmm
F        mmmmmmmmmmmmm.mmmmmmmm
T        rrrrrrrrrrrrrr.mrrmmmm
S        rrrrrrrrrrrrrrm.rrmmmm
U        rrrrrrrrrrrrrrrr.mmmmm
V        rrrrrrrrrrrrrrrrm.mmmm
[int8]   rrrrrrrrrrrrrrrrrr.rmr
[int32]  rrrrrrrrrrrrrrrrrrf.mr
[string] rrrrrrrrrrrrrrrrrrrr.r
[T]      rrrrrrrrrrrrrrrrrrrrr.
"""
"""What is read of JSON in which a field has a type (a line of these) and the text is of another (a column, in the same
order): f it is fine, m misread, r refused."""


def test_a_type_reads_the_text_of_another() -> None:
    lines = [line.split() for line in TYPES.strip().splitlines()]
    schemas = {name: applied(f"root R\ntable R\n  a: {name}{PARTS}", EMPTY) for name, _ in lines}
    for reader, letters in lines:
        for writer, letter in zip(schemas, letters, strict=True):
            found = [each for each in differences(schemas[reader], schemas[writer]) if each.kind == "type"]
            assert len(found) == (reader != writer)
            for each in found:
                assert each.place == "R.a"
                assert each.detail == f"{reader} before, {writer} now"
                assert each.old_reads_new.json.name[0].lower() == letter
                # A union takes two numbers, so where only one is a union, what moved has told already.
                is_moved = (reader in "UV") != (writer in "UV")
                assert each.old_reads_new.binary is each.new_reads_old.binary
                assert each.old_reads_new.binary is (Verdict.FINE if is_moved else Verdict.MISREAD)


# Structs, which lie in messages as in C

C_TYPES = {"int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32, "int64": ctypes.c_int64}


def in_c(fields: dict[str, str]) -> type[ctypes.Structure]:
    """The struct of C with these fields."""
    return type("S", (ctypes.Structure,), {"_fields_": [(name, C_TYPES[kind]) for name, kind in fields.items()]})


def with_struct(fields: dict[str, str]) -> Schema:
    """A schema with a struct, whose fields lie as those in C do."""
    found = in_c(fields)
    parts = [
        Field(name, 0, Type(kind), False, False, 0, "", offset=getattr(found, name).offset)
        for name, kind in fields.items()
    ]
    table = Table("S", tuple(parts), "", size=ctypes.sizeof(found), align=ctypes.alignment(found), full="S")
    root = Table("R", (Field("a", 0, Type("struct", "S"), False, False, None, ""),), "", full="R")
    return Schema("R", {"R": root, "S": table}, {}, {})


STRUCTS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(sorted(C_TYPES)), min_size=1)


@given(STRUCTS, st.one_of(STRUCTS, st.none()), st.data())
def test_a_struct_has_no_change_that_its_bytes_do_not_have(
    old: dict[str, str], other: dict[str, str] | None, data: st.DataObject
) -> None:
    """A binary reader misreads exactly if C does: if an element of an array has its fields at other bytes."""
    new = other
    if new is None:  # one change: names or types that change places, or a new name
        names, kinds = list(old), list(old.values())
        new = data.draw(
            st.sampled_from(
                [
                    dict(zip(reversed(names), kinds, strict=True)),
                    dict(zip(names, reversed(kinds), strict=True)),
                    dict(zip(["e", *names[1:]], kinds, strict=True)),
                    dict(zip([*names, "e"], [*kinds, kinds[-1]], strict=True)),
                    dict(zip([*names[1:], "e"], kinds, strict=True)),
                ]
            )
        )
    forms = [
        (sorted((getattr(found, name).offset, kind) for name, kind in fields.items()), ctypes.sizeof(found))
        for fields, found in ((old, in_c(old)), (new, in_c(new)))
    ]
    both = [name for name in new if name in old]
    is_moved = any(getattr(in_c(old), name).offset != getattr(in_c(new), name).offset for name in both)
    found = differences(with_struct(old), with_struct(new))
    assert {each.place.partition(".")[0] for each in found} <= {"S"}
    read = {each.old_reads_new for each in found} | {each.new_reads_old for each in found}
    is_fine = forms[0] == forms[1] and not is_moved
    assert max((each.binary for each in read), default=Verdict.FINE) is (Verdict.FINE if is_fine else Verdict.MISREAD)
    is_misread = any(old[name] != new[name] for name in both)
    worst_text = Verdict.MISREAD if is_misread else Verdict.FINE if old.keys() == new.keys() else Verdict.REFUSED
    assert max((each.json for each in read), default=Verdict.FINE) is worst_text
    assert sorted(f"{each.kind} {each.place}" for each in found) == sorted(set_of_changes(old, new))
    for each in found:
        assert each.old_reads_new == each.new_reads_old


def set_of_changes(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """The changes of a struct that a reader of its fields sees."""
    was = {name: (getattr(in_c(old), name).offset, kind) for name, kind in old.items()}
    now = {name: (getattr(in_c(new), name).offset, kind) for name, kind in new.items()}
    gone = {place: name for name, place in was.items() if name not in now}
    come = {name for name in now if name not in was}
    renamed = {name for name in come if now[name] in gone}
    found = [f"renamed S.{name}" for name in renamed] + [f"added S.{name}" for name in come - renamed]
    found += [f"removed S.{name}" for place, name in gone.items() if place not in {now[each] for each in renamed}]
    for name in was.keys() & now.keys():
        if was[name][1] != now[name][1]:
            found.append(f"type S.{name}")
        elif was[name] != now[name]:
            found.append(f"moved S.{name}")
    sizes = ctypes.sizeof(in_c(old)) != ctypes.sizeof(in_c(new))
    return found + ["size S"] * (sizes and all(each.startswith("renamed") for each in found))


@given(STRUCTS, st.integers(0, 3), st.integers(0, 3))
def test_a_struct_whose_fields_stay_can_have_another_size(fields: dict[str, str], before: int, now: int) -> None:
    """As `force_align` does it, which ctypes does not know."""
    old, new = (padded(with_struct(fields), 16 * count) for count in (before, now))
    found = [(each.kind, each.place, each.detail) for each in differences(old, new)]
    size = ctypes.sizeof(in_c(fields))
    told = ("size", "S", f"{size + 16 * before} bytes before, {size + 16 * now} now")
    assert found == ([told] if before != now else [])


def padded(schema: Schema, by: int) -> Schema:
    """The same schema with more bytes behind the fields of its struct."""
    struct = schema.tables["S"]
    return Schema("R", {**schema.tables, "S": struct._replace(size=struct.size + by)}, {}, {})


def test_the_worst_of_all() -> None:
    one, more, other = (
        applied(f"root R\ntable R\n  {fields}\n", EMPTY)
        for fields in ("a: int32", "a: int32\n  b: int32", "a: int32 = 1")
    )
    assert worst(differences(one, one)) is Verdict.FINE
    assert worst(differences(one, more)) is worst(differences(more, one)) is Verdict.REFUSED
    assert worst(differences(one, other)) is Verdict.MISREAD
    assert [str(verdict) for verdict in sorted(Verdict)] == ["fine", "default", "absent", "refused", "misread"]


# The ages

OF_AGES = {
    ("2021-10", "2022-01"): (1, "472afa5eb5868a0c", "ff40e1c1ff682ac6"),
    ("2021-10", "2023-07-18"): (21, "6d14a07becc9f53d", "bb9e0e1f53783cf6"),
    ("2021-10", "2023-07-20"): (15, "5016139a54cfa4f8", "bb9e0e1f53783cf6"),
    ("2021-10", "2024-10"): (24, "f5596def368a403e", "d5339652a098c39d"),
    ("2021-10", "2026-06"): (98, "adafdbc7c43ebcb2", "1a0221b114bc8156"),
    ("2022-01", "2021-10"): (1, "a3a5a0455e6c2960", "3aa3d76b2f4e8850"),
    ("2022-01", "2023-07-18"): (20, "8ad7cf035a5387ac", "be80292b17c46a60"),
    ("2022-01", "2023-07-20"): (14, "f8bf0a6116e69ad8", "be80292b17c46a60"),
    ("2022-01", "2024-10"): (23, "c894e2f47f7673d3", "106ed5a05f5a779b"),
    ("2022-01", "2026-06"): (99, "80c5ffbdb799d9f4", "b7f0717b12f40cd3"),
    ("2023-07-18", "2021-10"): (21, "cd68747d8d58c338", "652c755210d68ba7"),
    ("2023-07-18", "2022-01"): (20, "e076d9e5085fedd6", "f14c439009b0139e"),
    ("2023-07-18", "2023-07-20"): (6, "3e0a19d07933e837", "9ba8f4a692207f05"),
    ("2023-07-18", "2024-10"): (15, "b98b3983aa4a9849", "5d9a738061278637"),
    ("2023-07-18", "2026-06"): (94, "a0985a896175e6e5", "0fffb6c906662692"),
    ("2023-07-20", "2021-10"): (15, "4ecb0c543ffd9d71", "a8b7133f2e99a306"),
    ("2023-07-20", "2022-01"): (14, "241ee68a9d3bd3d3", "44e9a0c44f06bf66"),
    ("2023-07-20", "2023-07-18"): (6, "0ae87baeff194bb0", "7299788a4703c6da"),
    ("2023-07-20", "2024-10"): (9, "6a24bbe5846911e2", "49bf359a2276e53f"),
    ("2023-07-20", "2026-06"): (88, "6b8845b07cc75d83", "91d34fcc71cc17c8"),
    ("2024-10", "2021-10"): (24, "6994c8fac9dee8ab", "9a2dd457decc32ca"),
    ("2024-10", "2022-01"): (23, "9bd38a3d141a9d9f", "e114d4542450e2b8"),
    ("2024-10", "2023-07-18"): (15, "9d7503b0bb6d2d57", "610b90d4a81d1343"),
    ("2024-10", "2023-07-20"): (9, "966ac1c6303648e1", "03c3352028da078b"),
    ("2024-10", "2026-06"): (79, "2f79dbd1f273d7f2", "5662c72ceec841f1"),
    ("2026-06", "2021-10"): (98, "68333575fe6f7695", "a4ce2027060a73aa"),
    ("2026-06", "2022-01"): (99, "b5589aebbbdb3257", "74cc6d937bc14acd"),
    ("2026-06", "2023-07-18"): (94, "47b0b0e03e025cdc", "899577388afbb570"),
    ("2026-06", "2023-07-20"): (88, "20037a0d32a3f573", "899577388afbb570"),
    ("2026-06", "2024-10"): (79, "7818ad1174fb8a99", "0663929a1ae3d584"),
}
"""For each two ages, how many differences they have, and the digests of these and of the description."""


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("pair", OF_AGES, ids="-to-".join)
def test_of_two_ages(pair: tuple[str, str]) -> None:
    old, new = map(age, pair)
    found = told(old, new)
    assert (len(found), digest("\n".join(found)), digest(described(old, new))) == OF_AGES[pair]


def test_the_kept_descriptions_are_what_is_described() -> None:
    for name, following in pairwise(AGES):
        text = (ROOT / "batprotocol" / "schemas" / "ages" / f"{name}.txt").read_text()
        lines = [bare for line in text.splitlines() if (bare := line.partition("#")[0].rstrip())]
        assert sorted(described(age(name), age(following)).splitlines()) == sorted(lines)
        assert described(age(name), age(name)) == ""
