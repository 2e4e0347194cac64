"""What is written of any schema: known bytes, known refusals, and how far the limits reach."""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import Any

import pytest

from batprotocol.errors import EncodeError
from batprotocol.schemas import Codec, Record, applied, rounded
from batprotocol.wire.reflection import Schema

pytestmark = pytest.mark.once

EMPTY = Schema("", {}, {}, {})
ALL = """
root R
table R
  flag: bool
  a: int8
  b: uint8 = 3
  c: int16
  d: uint16
  e: int32
  f: uint32
  g: int64
  h: uint64
  i: float32
  j: float64
  k: float64 = null
  l: bool = null
  text: string
  colour: Colour = Green
  old: int32 (deprecated)
  leaf: Leaf
  thing: Thing
  numbers: [int8]
  longs: [int64]
  doubles: [float64]
  flags: [bool]
  colours: [Colour]
  texts: [string]
  leaves: [Leaf]
  again: R
table Leaf
  x: int32
  name: string (required)
table Twig
  y: float64
  leaf: Leaf
enum Colour: int16
  Red = 0
  Green = 1
  Blue = 300
union Thing
  Leaf
  Twig
"""
"""A schema that has all types of fields."""
CODEC = Codec(applied(ALL, EMPTY))
LEAF = {"x": 5, "name": "l"}
ABSENT: Record = {
    **dict.fromkeys(("a", "c", "d", "e", "f", "g", "h"), 0),
    "flag": False,
    "b": 3,
    "i": 0.0,
    "j": 0.0,
    "k": None,
    "l": None,
    "colour": "Green",
}
"""What is read of scalars that are not there."""

BYTES: list[tuple[Record, int, str]] = [
    ({}, 16, "98d1fe946ad3f341"),
    ({"flag": True}, 24, "8bbc9d82b7a95cc8"),
    ({"flag": False}, 16, "98d1fe946ad3f341"),
    ({"a": -2}, 24, "b0a5a8d2547dc508"),
    ({"b": 3}, 16, "98d1fe946ad3f341"),
    ({"b": 0}, 24, "d357495b782f3599"),
    ({"c": -300, "d": 400}, 32, "cbb0a7cecbf42576"),
    ({"e": -70000, "f": 4294967295}, 40, "9bbf337efdc30ca3"),
    ({"g": -1099511627776, "h": 18446744073709551615}, 48, "ab81edb652d72f10"),
    ({"i": 0.5}, 40, "8addd0e14e0007dc"),
    ({"i": 0.0}, 16, "98d1fe946ad3f341"),
    ({"j": -0.0}, 48, "5090ed193e2c2771"),
    ({"j": 0.1}, 48, "f3646d9f456d0967"),
    ({"k": 0.0}, 48, "b06f3f17e75466d1"),
    ({"k": None}, 16, "98d1fe946ad3f341"),
    ({"l": False}, 48, "6d6569aa6857dcec"),
    ({"l": None}, 16, "98d1fe946ad3f341"),
    ({"text": ""}, 56, "7d4731031042d1cb"),
    ({"text": "abc"}, 56, "5854c4b597d1a5d6"),
    ({"text": "abcd"}, 56, "5046dd7df6019498"),
    ({"text": "é"}, 56, "d925a1b95f4f3a3d"),
    ({"text": None}, 16, "98d1fe946ad3f341"),
    ({"colour": "Green"}, 16, "98d1fe946ad3f341"),
    ({"colour": "Blue"}, 48, "3bf5279212af297d"),
    ({"colour": 300}, 48, "3bf5279212af297d"),
    ({"colour": 77}, 48, "18d552dcb77c06be"),
    ({"leaf": LEAF}, 80, "2910e228afceb562"),
    ({"thing_type": "Leaf", "thing": LEAF}, 88, "e9fabc1d52927b9c"),
    ({"thing_type": "Twig", "thing": {"y": 1.0, "leaf": LEAF}}, 112, "8fec6640ba4d00d9"),
    ({"thing_type": "NONE"}, 16, "98d1fe946ad3f341"),
    ({"thing_type": None, "thing": None}, 16, "98d1fe946ad3f341"),
    ({"numbers": []}, 64, "19b39fac3b8b5125"),
    ({"numbers": [1, -1, 2]}, 64, "36bebc542fefe72e"),
    ({"numbers": [1, 2, 3, 4, 5]}, 72, "a124b075060797f7"),
    ({"longs": [1]}, 72, "d480f1190ad5d58f"),
    ({"longs": [1, 2], "a": 1}, 88, "49a6d595de4d202c"),
    ({"doubles": [0.5, 1]}, 80, "07d7074df7032802"),
    ({"flags": [True, False, True]}, 72, "3394174da74e4bf7"),
    ({"colours": ["Red", "Blue", 1]}, 80, "80d9127b68bc1883"),
    ({"texts": ["a", "", "bcd"]}, 112, "3535c3337cef8e29"),
    ({"leaves": [LEAF, {"name": "m"}, LEAF]}, 136, "69883a782d1b9de2"),
    ({"leaves": []}, 72, "e7463b9768669468"),
    ({"again": {"again": {"a": 1}}}, 96, "ad976333d3d07cba"),
    ({"a": 1, "g": 2, "text": "t", "leaf": LEAF, "again": {"a": 1, "g": 2, "text": "u"}}, 200, "f62f6a1a829e795f"),
    ({"e": 1, "again": {"e": 1}}, 104, "9a2801b1240d82d0"),
]
"""Messages, the number of their bytes, and the digest of these."""


@pytest.mark.parametrize(("record", "size", "digest"), BYTES, ids=str)
def test_known_bytes(record: Record, size: int, digest: str) -> None:
    data = CODEC.encode(record)
    assert (len(data), sha256(data).hexdigest()[:16]) == (size, digest)


def test_the_bytes_of_a_small_message() -> None:
    assert CODEC.encode({"flag": True}).hex(" ", 4) == "10000000 00000000 06000500 04000000 08000000 01000000"
    assert CODEC.encode({}).hex(" ", 4) == "0c000000 00000000 04000400 04000000"


def whole(record: Record) -> Record:
    """The record as it is read: with what is absent, and the names of numbers."""
    found = {name: value for name, value in record.items() if value is not None and value != "NONE"}
    named = {1: "Green", 300: "Blue"}
    for name in ("leaf", "again"):
        if name in found:
            found[name] = {"x": 0, **found[name]} if name == "leaf" else whole(found[name])
    if "colours" in found:
        found["colours"] = [named.get(each, each) for each in found["colours"]]
    if "leaves" in found:
        found["leaves"] = [{"x": 0, **each} for each in found["leaves"]]
    if "colour" in found:
        found["colour"] = named.get(found["colour"], found["colour"])
    return ABSENT | found


@pytest.mark.parametrize("record", [record for record, *_ in BYTES], ids=str)
def test_what_is_written_is_read(record: Record) -> None:
    read = CODEC.decode(CODEC.encode(record))
    assert {name: list(value) if name == "doubles" else value for name, value in read.items()} == whole(record)


REFUSED: list[tuple[Any, str, str]] = [
    ({"flag": 1}, "flag", "expected True or False, got 1 (int)"),
    ({"flag": "x"}, "flag", "expected True or False, got 'x' (str)"),
    ({"a": 128}, "a", "expected an int8, in [-128, 127], got 128"),
    ({"a": -129}, "a", "expected an int8, in [-128, 127], got -129"),
    ({"a": 1.5}, "a", "expected an integer (int8), got 1.5 (float)"),
    ({"a": True}, "a", "expected an integer (int8), got True (bool)"),
    ({"b": -1}, "b", "expected a uint8, in [0, 255], got -1"),
    ({"b": None}, "b", "this field cannot be null"),
    ({"j": "1"}, "j", "expected a number, got '1' (str)"),
    ({"j": True}, "j", "expected a number, got True (bool)"),
    ({"j": None}, "j", "this field cannot be null"),
    ({"i": 1e39}, "i", "expected a float32, got 1e+39: float too large to pack with f format"),
    ({"i": -1e39}, "i", "expected a float32, got -1e+39: float too large to pack with f format"),
    ({"text": 3}, "text", "expected a string, got 3 (int)"),
    ({"text": b"x"}, "text", "expected a string, got b'x' (bytes)"),
    ({"text": "\ud800"}, "text", "expected text that UTF-8 can carry, got '\\ud800': surrogates not allowed"),
    ({"colour": "Yellow"}, "colour", "expected a Colour, got 'Yellow' (str)"),
    ({"colour": 70000}, "colour", "expected an int16, in [-32768, 32767], got 70000"),
    ({"colour": 1.5}, "colour", "expected an integer (int16), got 1.5 (float)"),
    ({"colour": None}, "colour", "this field cannot be null"),
    ({"old": 1}, "old", "R has no field of this name"),
    ({"nothing": 1}, "nothing", "R has no field of this name"),
    ({3: 1}, "3", "R has no field of this name"),
    ({"leaf": 3}, "leaf", "expected the fields of a Leaf, got 3 (int)"),
    ({"leaf": {}}, "leaf.name", "this field is required"),
    ({"leaf": {"name": None}}, "leaf.name", "this field is required"),
    ({"leaf": [("x", 1)]}, "leaf", "expected the fields of a Leaf, got [('x', 1)] (list)"),
    ({"thing": LEAF}, "thing_type", "expected the name of a Thing, got None (NoneType)"),
    ({"thing_type": "Leaf"}, "thing", "its type is 'Leaf', and it has no value"),
    ({"thing_type": "Bush", "thing": LEAF}, "thing_type", "expected the name of a Thing, got 'Bush' (str)"),
    ({"thing_type": 1, "thing": LEAF}, "thing_type", "expected the name of a Thing, got 1 (int)"),
    ({"thing_type": "NONE", "thing": LEAF}, "thing_type", "expected the name of a Thing, got 'NONE' (str)"),
    ({"thing_type": "Leaf", "thing": None}, "thing", "its type is 'Leaf', and it has no value"),
    ({"numbers": 5}, "numbers", "expected a sequence of int8, got 5 (int)"),
    ({"numbers": b"ab"}, "numbers", "expected a sequence of int8, got b'ab' (bytes)"),
    ({"numbers": "ab"}, "numbers", "expected a sequence of int8, got 'ab' (str)"),
    ({"numbers": {"a": 1}}, "numbers", "expected a sequence of int8, got {'a': 1} (dict)"),
    ({"numbers": [1, 300]}, "numbers[1]", "expected an int8, in [-128, 127], got 300"),
    (
        {"longs": [9223372036854775808]},
        "longs[0]",
        "expected an int64, in [-9223372036854775808, 9223372036854775807], got 9223372036854775808",
    ),
    ({"colours": ["Red", "x"]}, "colours[1]", "expected a Colour, got 'x' (str)"),
    ({"texts": ["a", 3]}, "texts[1]", "expected a string, got 3 (int)"),
    ({"texts": [None]}, "texts[0]", "expected a string, got None (NoneType)"),
    ({"leaves": [LEAF, {"x": 1}]}, "leaves[1].name", "this field is required"),
    ({"leaves": [LEAF, 3]}, "leaves[1]", "expected the fields of a Leaf, got 3 (int)"),
    ({"again": {"again": {"a": "x"}}}, "again.again.a", "expected an integer (int8), got 'x' (str)"),
    ({"flags": [1]}, "flags[0]", "expected True or False, got 1 (int)"),
    ({"h": -1}, "h", "expected a uint64, in [0, 18446744073709551615], got -1"),
    ({"h": 18446744073709551616}, "h", "expected a uint64, in [0, 18446744073709551615], got 18446744073709551616"),
    ({"g": "5"}, "g", "expected an integer (int64), got '5' (str)"),
    (7, "", "expected the fields of a R, got 7 (int)"),
    (None, "", "expected the fields of a R, got None (NoneType)"),
    ([], "", "expected the fields of a R, got [] (list)"),
]
"""What cannot be written, where the fault is, and which one it is."""


@pytest.mark.parametrize(("record", "path", "reason"), REFUSED, ids=str)
def test_known_refusals(record: Any, path: str, reason: str) -> None:
    with pytest.raises(EncodeError) as refused:
        CODEC.encode(record)
    assert (refused.value.path, refused.value.reason) == (path, reason)


def test_what_has_no_length_or_cannot_be_gone_through_is_no_sequence() -> None:
    class Long:
        def __len__(self) -> int:
            return 1

    for value in (iter([1]), Long()):
        with pytest.raises(EncodeError, match="expected a sequence of int8, got"):
            CODEC.encode({"numbers": value})
    assert CODEC.decode(CODEC.encode({"numbers": (1, 2)}))["numbers"] == [1, 2]


# Limits

NEST = Codec(applied("root N\ntable N\n  next: N\n  kids: [N]\n  last: N\n  thing: U\nunion U\n  N\n", EMPTY))


def chain(length: int, how: str = "next") -> Record:
    """So many tables, each in the one before."""
    record: Record = {}
    for _ in range(length - 1):
        record = {"kids": [record]} if how == "kids" else {how: record}
        if how == "thing":
            record["thing_type"] = "N"
    return record


def refused(record: Record) -> str:
    try:
        NEST.encode(record)
    except EncodeError as error:
        return error.reason
    return ""


DEEP = "tables nest more than 64 deep"


@pytest.mark.parametrize("how", ["next", "kids", "thing"])
def test_tables_nest_64_deep(how: str) -> None:
    assert refused(chain(64, how)) == ""
    assert refused(chain(65, how)) == DEEP
    assert NEST.decode(NEST.encode(chain(64, how))) == chain(64, how)


@pytest.mark.parametrize(("length", "reason"), [(62, ""), (63, DEEP)])
def test_what_is_shared_counts_as_deep_as_it_lies_each_time(length: int, reason: str) -> None:
    for how in ("next", "kids"):
        shared = chain(length, how)
        vector = [shared]
        assert refused({"kids": [shared, {"next": shared}]}) == reason
        assert refused({"kids": vector, "last": {"kids": vector}}) == reason
        assert refused({"next": {"kids": vector}, "kids": vector}) == reason
        assert refused({"next": shared, "kids": [], "last": {"last": shared}}) == reason


def test_a_message_has_a_million_tables() -> None:
    thousand = {"kids": [{}] * 1000}
    assert refused({"kids": [thousand] * 999}) == ""
    assert refused({"kids": [thousand] * 999, "last": {}}) == "the message has more than 1,000,000 tables"
    assert refused({"next": {}, "kids": [thousand] * 999}) == "the message has more than 1,000,000 tables"
    hundred = {"kids": [thousand] * 100}
    assert refused({"kids": [hundred] * 9 + [thousand] * 98}) == ""
    assert refused({"kids": [hundred] * 9 + [thousand] * 99}) == "the message has more than 1,000,000 tables"


def test_equal_vtables_and_shared_parts_are_written_once() -> None:
    sizes = [len(NEST.encode({"kids": [{"next": {}} for _ in range(count)]})) for count in (1, 2, 10)]
    assert [size - sizes[0] for size in sizes] == [0, 16, 144]
    one: Record = {"next": {}}
    assert len(NEST.encode({"kids": [one] * 100})) == 448  # of which 400 lead to the one
    both = [one]
    assert len(NEST.encode({"kids": both, "last": {"kids": both}})) < len(
        NEST.encode({"kids": [one], "last": {"kids": [{"next": {}}]}})
    )


# Numbers that flatc may have rounded: it writes 12 decimals of a double, and 6 of a float


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("field", "places", "limit"), [("j", 12, 1000), ("i", 6, 8)])
def test_only_numbers_with_all_decimals_may_be_rounded(field: str, places: int, limit: int, sign: int) -> None:
    """And only those below the numbers that need fewer decimals."""
    for whole_part in (0, 1, limit - 1, limit, limit + 1, 10 * limit):
        for count in range(1, places + 3):
            for digits in ("1" * count, "9" * count, "0" * (count - 1) + "1", "3" * (count - 1) + "0"):
                text = f"{whole_part}.{digits}"
                value = sign * float(text)
                if field == "i":
                    value = struct.unpack("<f", struct.pack("<f", value))[0]
                if whole_part and len(text.rstrip("0")) > {"j": 16, "i": 8}[field]:
                    continue  # these are no numbers of their own
                expected = len(digits.rstrip("0")) == places and whole_part < limit
                assert rounded({field: value}, CODEC.schema) == [field] * expected, text


def test_rounded_numbers_are_found_in_all_places() -> None:
    bad, good = 0.333333333333, 0.5
    for record, paths in [
        ({"j": float("nan")}, []),
        ({"j": float("inf")}, []),
        ({"k": bad, "j": bad, "i": good}, ["j", "k"]),
        ({"doubles": [good, bad, good, bad]}, ["doubles[1]", "doubles[3]"]),
        ({"again": {"again": {"j": bad}, "j": bad}}, ["again.j", "again.again.j"]),
        ({"thing_type": "Twig", "thing": {"y": bad, "leaf": LEAF}}, ["thing.y"]),
        ({"thing_type": "Leaf", "thing": {"y": bad}}, []),
        ({"thing_type": "Nobody", "thing": {"y": bad}}, []),
        ({"thing": {"y": bad}}, []),
        ({"leaves": [LEAF, LEAF], "texts": ["0.333333333333"], "g": 1}, []),
    ]:
        assert sorted(rounded(record, CODEC.schema)) == sorted(paths), record
    twigs = applied("root R\ntable R\n  all: [T]\n  any: U\ntable T\n  y: float64\n  f: float32\nunion U\n  T\n", EMPTY)
    found = rounded({"all": [{"y": good}, {"y": bad, "f": good}], "any_type": "T", "any": {"y": bad}}, twigs)
    assert found == ["all[1].y", "any.y"]
