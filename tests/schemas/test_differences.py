"""What `differences` says of two schemas is what happens: flatc writes by one, and it is read by the other."""

from __future__ import annotations

import subprocess
from pathlib import Path

import evolutions
import flatc
import pytest
import trees
from evolutions import Evolution
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import DecodeError
from batprotocol.schemas import TODAY, Codec, Record, Verdict, age, ages, applied, differences, worst
from batprotocol.wire.reflection import Schema

pytestmark = pytest.mark.once


def outcome(evolution: Evolution, forward: bool, record: Record, data: bytes, format: str) -> Verdict:
    """What becomes of a message. `forward` is an old reader of what is new."""
    codec = Codec(evolution.old if forward else evolution.new)
    meant, less = evolutions.meant(evolution, record, forward)
    try:
        read = codec.decode(data) if format == "binary" else codec.from_json(data)
    except DecodeError:
        return Verdict.REFUSED
    return Verdict(less) if read == meant else Verdict.MISREAD


def check(evolution: Evolution, records: dict[bool, list[Record]], folder: Path) -> None:
    found = differences(evolution.old, evolution.new)
    for forward, said in records.items():
        writer = evolution.new if forward else evolution.old
        path = folder / "schema.fbs"
        path.write_text(trees.fbs(writer))
        binaries = flatc.to_binaries([Codec(writer).to_json(record).encode() for record in said], path)
        texts = flatc.to_json_texts(binaries, path)
        for format, messages in (("binary", binaries), ("json", texts)):
            effects = (each.old_reads_new if forward else each.new_reads_old for each in found)
            verdict = max((getattr(effect, format) for effect in effects), default=Verdict.FINE)
            for record, data in zip(said, messages, strict=True):
                assert outcome(evolution, forward, record, data, format) <= verdict, (evolution.what, format, found)


def checked(count: int, folder: Path) -> None:
    @trees.the_same(count)
    @given(st.data())
    def each(data: st.DataObject) -> None:
        evolution = data.draw(evolutions.evolutions())
        messages = {
            forward: data.draw(st.lists(trees.records(writer), min_size=3, max_size=5))
            for forward, writer in ((True, evolution.new), (False, evolution.old))
        }
        check(evolution, messages, folder)

    each()


@flatc.needs_flatc
def test_nothing_worse_happens_than_is_said(tmp_path: Path) -> None:
    checked(12, tmp_path)


@pytest.mark.minutes
@flatc.needs_flatc
def test_nothing_worse_happens_than_is_said_of_many(tmp_path: Path) -> None:
    checked(1000, tmp_path)


# Each change with a message that shows the worst of it

OLD = """
root Root
table Root
  count: int32
  name: string
  colour: Colour
  part_number: float64
  thing: Thing
table Leaf
  x: int32
table Twig
  y: string
enum Colour: int8
  Red = 0
  Green = 1
union Thing
  Leaf
  Twig
"""
FULL: Record = {
    "count": 7,
    "name": "n",
    "colour": "Green",
    "part_number": 2.5,
    "thing_type": "Twig",
    "thing": {"y": "text"},
}
ROOT_FIELDS = ["count: int32", "name: string", "colour: Colour", "part_number: float64", "thing: Thing"]


def schema_of(text: str) -> Schema:
    return applied(text, Schema("", {}, {}, {}))


def root(*fields: str) -> str:
    return OLD.replace("\n  ".join(ROOT_FIELDS), "\n  ".join(fields))


CASES = {
    "a field more": (root(*ROOT_FIELDS, "more: int32"), {"more": 3}, "fine", "default", "refused", "default"),
    "a text more": (root(*ROOT_FIELDS, "more: string"), {"more": "m"}, "fine", "absent", "refused", "absent"),
    "one more that is needed": (
        root(*ROOT_FIELDS, "more: string (required)"),
        {"more": "m"},
        "fine",
        "refused",
        "refused",
        "refused",
    ),
    "one in between": (root("more: int32", *ROOT_FIELDS), {"more": 3}, "misread", "misread", "refused", "default"),
    "one renamed": (root("number: int32", *ROOT_FIELDS[1:]), {"number": 7}, "fine", "fine", "refused", "refused"),
    "another type": (
        root(*ROOT_FIELDS[:3], "part_number: uint64", ROOT_FIELDS[4]),
        {"part_number": 5},
        "misread",
        "misread",
        "misread",
        "refused",
    ),
    "another default": (root("count: int32 = 7", *ROOT_FIELDS[1:]), {}, "misread", "misread", "misread", "misread"),
    "a member more": (
        OLD.replace("  Green = 1", "  Green = 1\n  Blue = 2"),
        {"colour": "Blue"},
        "absent",
        "fine",
        "refused",
        "fine",
    ),
    "members that change places": (
        OLD.replace("Red = 0\n  Green = 1", "Green = 0\n  Red = 1"),
        {},
        "misread",
        "misread",
        "fine",
        "fine",
    ),
    "tables that change places": (
        OLD.replace("  Leaf\n  Twig", "  Twig\n  Leaf"),
        {},
        "misread",
        "misread",
        "fine",
        "fine",
    ),
    "a table more": (
        OLD.replace("  Leaf\n  Twig", "  Leaf\n  Twig\n  Root"),
        {"thing_type": "Root", "thing": {}},
        "refused",
        "fine",
        "refused",
        "fine",
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_the_verdicts_on_each_change(what: str) -> None:
    text, changes, *verdicts = CASES[what]
    old, new = schema_of(OLD), schema_of(text)
    found = differences(old, new)
    said = [
        str(max((getattr(getattr(each, way), format) for each in found), default=Verdict.FINE))
        for format in ("binary", "json")
        for way in ("old_reads_new", "new_reads_old")
    ]
    assert said == verdicts
    assert not differences(new, new)
    # What is said to be misread is not what was written, and what is refused is refused.
    written = {
        name: value for name, value in (FULL | changes).items() if name in [f.name for f in new.tables["Root"].fields]
    }
    for reader, writer, record, binary, json in (
        (old, new, written, verdicts[0], verdicts[2]),
        (new, old, FULL, verdicts[1], verdicts[3]),
    ):
        for verdict, format in ((binary, "binary"), (json, "json")):
            try:
                got = (
                    Codec(reader).decode(Codec(writer).encode(record))
                    if format == "binary"
                    else Codec(reader).from_json(Codec(writer).to_json(record))
                )
            except DecodeError:
                assert verdict in ("refused", "misread")
            else:
                assert verdict != "refused"
                same = all(got.get(name) == value for name, value in record.items() if name in got)
                assert same or verdict in ("misread", "absent")


@flatc.needs_flatc
def test_what_flatc_finds_is_found(tmp_path: Path) -> None:
    """`flatc --conform` knows of less, but what it refuses breaks binary messages."""
    spoken = 0
    for what, (text, *_) in CASES.items():
        old, new = schema_of(OLD), schema_of(text)
        (tmp_path / "old.fbs").write_text(trees.fbs(old))
        (tmp_path / "new.fbs").write_text(trees.fbs(new))
        command = ["flatc", "--conform", "old.fbs", "new.fbs"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        binary = max(max(each.old_reads_new.binary, each.new_reads_old.binary) for each in differences(old, new))
        if done.returncode:
            spoken += 1
            assert binary == Verdict.MISREAD, (what, done.stdout + done.stderr)
    assert spoken >= 3


def test_what_is_known_of_the_ages() -> None:
    """Members of the union changed places in 2023, times changed their type in 2024: nothing tells, but this."""
    july = {each.place: each for each in differences(age("2023-07-18"), age("2023-07-20"))}
    assert {str(each.old_reads_new.binary) for each in july.values()} == {"misread"}
    assert set(july) == {
        f"Event.{name}Event"
        for name in ("RejectJob", "ExecuteJob", "KillJobs", "JobsKilled", "CallMeLater", "RequestedCall")
    }
    times = {each.place: each for each in differences(age("2023-07-20"), age("2024-10"))}
    assert times["OneShot.time"].kind == "type"
    assert times["OneShot.time"].old_reads_new.binary is Verdict.MISREAD
    for name, schema in ages().items():
        assert (worst(differences(schema, age(TODAY))) is Verdict.FINE) == (name == TODAY)
