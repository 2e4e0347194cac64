"""Which message does not fit a schema, and why: word by word, with each reason on its own."""

from __future__ import annotations

import math
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from batprotocol.errors import InputError
from batprotocol.model import Direction
from batprotocol.schemas import (
    AGES,
    TODAY,
    Codec,
    Fitting,
    Verdicts,
    age,
    ages,
    applied,
    described,
    misfit,
    other_ages,
    read_schema,
)
from batprotocol.schemas._sources import LARGEST
from batprotocol.wire.reflection import Schema

pytestmark = pytest.mark.once

EMPTY = Schema("", {}, {}, {})
B2E, E2B = Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM


def schema_of(*fields: str, more: str = "") -> Schema:
    return applied("root R\ntable R\n" + "".join(f"  {field}\n" for field in fields) + more, EMPTY)


def reason(written: Schema, read: Schema, **record: Any) -> str:
    """Why what is written by one schema does not fit the other."""
    return misfit(Codec(written).encode(record), read)


MORE = "enum E: int8\n  A = 0\n  B = 1\n"
WRITTEN = "enum E: int8\n  A = 0\n  B = 1\n  C = 2\n"
NO_FIELD = "the R here has a field number 1, which this schema does not have"
FOREIGN = "the R here has bytes that belong to no field of this schema"


@pytest.mark.parametrize(
    ("written", "read", "value", "said"),
    [
        ("bool", "bool", True, ""),
        ("int8", "bool", 1, ""),
        ("int8", "bool", 2, "a, byte 20: 2 is neither true nor false"),
        ("E", "E", "C", "a, byte 20: E has no number 2"),
        ("E", "E", "B", ""),
        ("int64", "float64", 1, "a, byte 16: 5e-324 is too small to be meant"),
        ("int64", "float64", 2**62, ""),
        ("float64", "float64", 1e-200, ""),
        ("float64", "float64", -1e-200, ""),
        ("float64", "float64", 9e-201, "a, byte 16: 9e-201 is too small to be meant"),
        ("float64", "float64", -9e-201, "a, byte 16: -9e-201 is too small to be meant"),
        ("float64", "float64", -0.0, ""),
        ("float64", "int64", 1.0, "a, byte 16: 4607182418800017408 is too large to be meant"),
        ("float64", "uint64", 1.0, "a, byte 16: 4607182418800017408 is too large to be meant"),
        ("int64", "int64", 2**53 - 1, ""),
        ("int64", "int64", 1 - 2**53, ""),
        ("int64", "int64", 2**53, "a, byte 16: 9007199254740992 is too large to be meant"),
        ("int64", "int64", -(2**53), "a, byte 16: -9007199254740992 is too large to be meant"),
        ("uint64", "uint64", 2**53 - 1, ""),
        ("uint64", "uint64", 2**53, "a, byte 16: 9007199254740992 is too large to be meant"),
        ("float32", "int32", 1.0, ""),
        ("int32", "float32", 1, ""),
        ("int16", "int8", 1, ""),
        ("int32", "int8", 1, ""),
        ("int32", "int8", 256, f"byte 21: {FOREIGN}"),
        ("int64", "int32", 1, ""),
        ("int64", "int32", 2**40, f"byte 20: {FOREIGN}"),
        ("int8", "int64", 1, "a, byte 20: an int64 lies outside the message, which has 24 bytes"),
        ("int8", "string", 1, "a, byte 21: the size of a string lies outside the message, which has 24 bytes"),
        ("int64", "int64 (deprecated)", 2, ""),
        ("int64", "int64 (deprecated)", 2**60, "a, byte 16: 1152921504606846976 is too large to be meant"),
    ],
)
def test_a_scalar_fits_or_not(written: str, read: str, value: Any, said: str) -> None:
    one, other = schema_of(f"a: {written}", more=WRITTEN), schema_of(f"a: {read}", more=MORE)
    assert reason(one, other, a=value) == said


AB = schema_of("a: int32", "b: int32")
T, TU = "table T\n  x: {}\n", "table T\n  x: {}\nunion U\n  T\n"


@pytest.mark.parametrize(
    ("written", "read", "record", "said"),
    [
        (AB, schema_of("a: int32"), {"a": 3}, ""),
        (
            AB,
            schema_of("a: int32"),
            {"b": 3},
            f"byte 8: {NO_FIELD}",
        ),
        (
            AB,
            schema_of("a: int32"),
            {"a": 1, "b": 3},
            f"byte 4: {NO_FIELD}",
        ),
        (schema_of("a: int32", "b: int64"), AB, {"a": 1, "b": 2**40}, f"byte 20: {FOREIGN}"),
        (schema_of("a: int64", "b: int32"), AB, {"a": 2**40, "b": 1}, f"byte 20: {FOREIGN}"),
        (schema_of("a: int64", "b: int32"), AB, {"a": 2, "b": 1}, ""),
        (schema_of("a: int8", "b: int8"), schema_of("a: int16", "b: int8"), {"a": 2, "b": 1}, f"byte 22: {FOREIGN}"),
        (
            schema_of("a: int8", "b: int8"),
            schema_of("a: int8", "b: int16"),
            {"a": 2, "b": 1},
            "b, byte 21: an int16 of 2 bytes does not lie so",
        ),
        (
            schema_of("r: R", "a: int8"),
            schema_of("r: R", "a: bool"),
            {"r": {"r": {"a": 2}}},
            "r.r.a, byte 44: 2 is neither true nor false",
        ),
        (
            schema_of("r: [R]", "a: int8"),
            schema_of("r: [R]", "a: bool"),
            {"r": [{}, {"a": 2}]},
            "r[1].a, byte 44: 2 is neither true nor false",
        ),
        (
            schema_of("a: T", more=T.format("int8")),
            schema_of("a: T", more=T.format("bool")),
            {"a": {"x": 3}},
            "a.x, byte 36: 3 is neither true nor false",
        ),
        (
            schema_of("a: U", more=TU.format("int8")),
            schema_of("a: U", more=TU.format("bool")),
            {"a_type": "T", "a": {"x": 3}},
            "a.x, byte 36: 3 is neither true nor false",
        ),
    ],
)
def test_a_table_fits_or_not(written: Schema, read: Schema, record: dict[str, Any], said: str) -> None:
    assert reason(written, read, **record) == said
    assert reason(written, written, **record) == ""


def test_bytes_behind_the_last_field_count() -> None:
    small = schema_of("r: R", "a: int8", "b: int8")
    wide = schema_of("r: R", "a: int8", "b: int32")
    for depth in range(1, 9):
        record: dict[str, Any] = {"a": 1, "b": 2**30}
        for _ in range(depth):
            record = {"r": record}
        found = misfit(Codec(wide).encode(record), small)
        assert found.startswith(".".join(["r"] * depth) + ", byte ")
        assert found.endswith(FOREIGN)
    assert reason(wide, small, a=1, b=2) == ""


def test_bytes_that_nobody_needs_are_zero() -> None:
    """Of a table whose vtable says that it is longer than its fields, what is behind them counts, too."""
    schema = schema_of("a: int32")
    data = bytearray(Codec(schema).encode({"a": 7}))
    vtable = 16 - struct.unpack_from("<i", data, 16)[0]
    assert struct.unpack_from("<HHH", data, vtable) == (6, 8, 4)
    struct.pack_into("<H", data, vtable + 2, 12)
    for rest, said in ((0, ""), (1, f"byte 24: {FOREIGN}"), (1 << 24, f"byte 24: {FOREIGN}")):
        assert misfit(bytes(data) + struct.pack("<I", rest), schema) == said
    assert misfit(bytes(data) + b"\0\0\0\0\1", schema) == ""  # behind the table
    struct.pack_into("<H", data, vtable + 2, 6)
    assert misfit(bytes(data), schema) == f"byte 24: {FOREIGN}"
    struct.pack_into("<HHH", data, vtable, 6, 8, 2)  # the field lies over the offset of the vtable
    assert misfit(bytes(data), schema) == "a, byte 18: an int32 of 4 bytes does not lie so"


# Messages

CODEC = Codec(age("2024-10"))


def message(now: float, *events: tuple[str, float]) -> bytes:
    said = [{"timestamp": time, "event_type": kind, "event": {"job_id": "w!1"}} for kind, time in events]
    return CODEC.encode({"now": now, "events": said})


@pytest.mark.parametrize(
    ("now", "said"),
    [(0.0, ""), (-0.0, ""), (1e300, ""), (-1.0, "-1.0"), (math.inf, "inf"), (math.nan, "nan")],
)
def test_a_message_has_a_time(now: float, said: str) -> None:
    assert misfit(message(now), CODEC.schema) == (f"now: {said} is not a time" if said else "")


REJECT, DONE = "RejectJobEvent", "JobCompletedEvent"
BY_BATSIM = f"event_type: {DONE} is sent by Batsim"
BY_EDC = f"event_type: {REJECT} is sent by a decision component"


@pytest.mark.parametrize(
    ("events", "by_anybody", "by_batsim", "by_edc"),
    [
        ([], "", "", ""),
        ([(REJECT, 2.0)], "", f"[0].{BY_EDC}", ""),
        ([(DONE, 0.0)], "", "", f"[0].{BY_BATSIM}"),
        ([(REJECT, 1.0), (DONE, 1.0)], "", f"[0].{BY_EDC}", f"[1].{BY_BATSIM}"),
        ([(DONE, 2.5)], *["[0].timestamp: 2.5 is not a time before 2.0"] * 3),
        ([(REJECT, -1.0)], *["[0].timestamp: -1.0 is not a time before 2.0"] * 3),
        ([(DONE, math.nan)], *["[0].timestamp: nan is not a time before 2.0"] * 3),
        ([(DONE, 2.0), (DONE, 3.0)], *["[1].timestamp: 3.0 is not a time before 2.0"] * 2, f"[0].{BY_BATSIM}"),
    ],
)
def test_events_have_times_and_senders(
    events: list[tuple[str, float]], by_anybody: str, by_batsim: str, by_edc: str
) -> None:
    data = message(2.0, *events)
    found = [misfit(data, CODEC.schema, direction) for direction in (None, B2E, E2B)]
    assert found == [f"events{said}" if said else "" for said in (by_anybody, by_batsim, by_edc)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{}", ""),
        (b'{"events":[{"event_type":"RejectJobEvent","event":{"job_id":"w!1"}}]}', ""),
        (
            b'{"events":[{"timestamp":0.5,"event_type":"RejectJobEvent","event":{"job_id":"w!1"}}]}',
            "events[0].timestamp: 0.5 is not a time before 0.0",
        ),
        (b'{"now":-1}', "now: -1.0 is not a time"),
        (b'{"now":1,"events":[]}', ""),
        (b'{"nau":1}', "nau, byte 1: Message has no field of this name"),
        (b'{"now":1,"events":[{"timestamp":1}]}', "events[0].event: there is none"),
        (b"", "byte 0: expected a flatbuffer, found no bytes at all"),
        (b"{", "byte 1: expected the name of a field in quotes, found the end of the text"),
        (b"xxxx", "byte 0: an offset of 2021161080 leads outside the message, which has 4 bytes"),
    ],
)
def test_json_fits_or_not(text: bytes, said: str) -> None:
    assert misfit(text, CODEC.schema) == said


def test_what_has_no_time_and_no_events_fits() -> None:
    schema = schema_of("a: int32")
    assert reason(schema, schema, a=1) == ""
    assert reason(schema_of("now: int32"), schema_of("now: int32"), now=1) == "now: 1 is not a time"


def test_other_ages_are_told() -> None:
    older = "2021-10 or 2022-01 or 2023-07-18 or 2023-07-20 or 2024-10"
    assert other_ages(b"{}") == (
        f"it fits the schema of {older}, and not the current one: use --schema 2024-10 to read it"
    )
    assert other_ages(message(2.0, (DONE, 1.0)), B2E) == ""
    assert other_ages(b"nonsense") == ""
    hello = {"timestamp": 0.0, "event_type": "BatsimHelloEvent"}
    hello["event"] = {"batprotocol_version": "0.1.0", "batsim_version": "4.9"}
    data = CODEC.encode({"now": 0.0, "events": [hello]})
    assert other_ages(data, B2E).endswith("use --schema 2024-10 to read it")
    assert other_ages(data, E2B) == ""  # nobody else says it
    assert misfit(data, CODEC.schema, E2B) == "events[0].event_type: BatsimHelloEvent is sent by Batsim"


def test_the_verdicts_on_several_messages() -> None:
    small, wide = schema_of("a: int32"), schema_of("a: int32", "b: int32")
    schemas = {"small": small, "wide": wide, "text": schema_of("a: string")}
    fitting = Fitting(schemas)
    assert fitting.verdicts == Verdicts(("small", "wide", "text"), {})
    fitting.feed(Codec(wide).encode({"a": 1, "b": 2}))
    said = f"byte 4: {NO_FIELD}"
    assert fitting.verdicts.fits == ("wide",)
    assert list(fitting.verdicts.misfits) == ["small", "text"]
    assert fitting.verdicts.misfits["small"] == said
    fitting.feed(b"{", B2E)
    assert fitting.verdicts.fits == ()
    assert fitting.verdicts.misfits["small"] == said  # the first reason stays
    assert fitting.verdicts.misfits["wide"].startswith("byte 1: expected the name")
    assert str(Verdicts((), {})) == "it fits none of the known ages"
    assert str(Verdicts(("a",), {})) == "it fits a"
    assert str(Verdicts(("a", "b"), {})) == "it fits a and b"
    assert str(Verdicts(("a", "b", "c"), {})) == "it fits a, b and c"
    assert Fitting().verdicts.fits == AGES
    assert Fitting({}).verdicts.fits == ()


# Schemas from files


def refusal(path: str | os.PathLike[str]) -> str:
    with pytest.raises(InputError) as refused:
        read_schema(path)
    assert refused.value.file == os.fspath(path)
    return refused.value.reason


def test_a_schema_has_a_largest_size(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"#" * LARGEST)
    assert LARGEST == 16 * 1024 * 1024
    assert read_schema(path) == age(TODAY)
    path.write_bytes(b"#" * (LARGEST + 1))
    assert refusal(path) == "a schema has at most 16,777,216 bytes"


def test_what_is_no_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"# \xff")
    assert refusal(path) == "it is not UTF-8: invalid start byte"
    path.write_bytes(b"root Nothing")
    assert refusal(path) == "the root refers to the table Nothing, which does not exist"
    assert refusal(tmp_path / "b.bfbs") == "No such file or directory"
    known = f"No such file or directory; known ages are {', '.join(AGES)}"
    assert refusal("2020-01") == known
    assert refusal("2020.01") == "No such file or directory"
    with pytest.raises(InputError) as refused:
        age("2020-01")
    assert str(refused.value) == f"there is no age 2020-01: use {', '.join(AGES)}, or a file"
    assert list(ages()) == list(AGES)
    assert [read_schema(name) for name in AGES] == list(ages().values())
    path.write_text(described(age("2021-10"), age(TODAY)))
    assert described(read_schema(path), age("2021-10")) == ""


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 1", "flatc refuses it: without a message"),
        ("exit 0", "flatc refuses it: without a message"),
        ("echo one; echo ' two ' >&2; exit 1", "flatc refuses it: two"),
        ("echo one; exit 0", "flatc refuses it: one"),
        ('echo ABCDEFGHIJ > "$5/a.bfbs"; exit 1', "flatc refuses it: without a message"),
        ('echo ABCDEFGHIJ > "$5/a.bfbs"', "it is not a reflection schema: write one with flatc --binary --schema"),
    ],
)
def test_what_flatc_says_is_told(script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flatc = tmp_path / "flatc"
    flatc.write_text(f"#!/bin/sh\n{script}\n")
    flatc.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "a.fbs").write_text("table A {}")
    assert refusal(tmp_path / "a.fbs") == said


def test_without_flatc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "a.fbs").write_text("table A {}")
    assert refusal(tmp_path / "a.fbs").startswith("install flatc to read it (Debian and Ubuntu: ")
