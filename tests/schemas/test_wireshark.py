"""What tshark shows of captured messages is what they hold; and no bytes break the dissector, or keep it long."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import flatc
import packets
import pytest
import sharks
import trees
from hypothesis import given
from support import DATA, read_run

from batprotocol import decode
from batprotocol.cli.main import main
from batprotocol.recordings.traffic import Traffic
from batprotocol.schemas import AGES, TODAY, Codec, Record, age, applied, dissector, read_schema
from batprotocol.wire.reflection import Schema

WITHOUT_ENGINE = True

ZOO = DATA / "schemas" / "zoo.fbs"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The dissector of the current schema."""
    path = tmp_path / "batprotocol.lua"
    path.write_text(dissector(age(TODAY)))
    return path


def without_nulls(value: Any) -> Any:
    """JSON without the members that are null, which stand for what is absent."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("capture", packets.CAPTURES, ids=lambda path: path.name.partition(".")[0])
def test_a_captured_conversation_shows_what_dump_prints(
    capture: Path, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(packets.CAPTURES) == 20
    with pytest.raises(SystemExit) as ended:
        main(["dump", "--json-lines", str(packets.recorded(capture))])
    assert not ended.value.code
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    seen = sharks.shown(script, capture, age(TODAY), "batprotocol")
    assert len(seen) == len(lines) > 5
    assert seen[0] == lines[0]["init"]
    for found, line in zip(seen[1:], lines[1:], strict=True):
        if isinstance(found, str):
            assert decode(found) == decode(json.dumps(line))
        else:
            assert found == without_nulls(line)


def conversation(messages: list[bytes]) -> list[tuple[bool, bytes]]:
    return packets.talk([(number % 2 == 0, data) for number, data in enumerate(messages)])


def test_random_messages_of_an_age(tmp_path: Path) -> None:
    schema = age("2023-07-18")
    codec = Codec(schema)
    records: list[Record] = []

    @trees.the_same(60)
    @given(trees.records(schema))
    def collect(record: Record) -> None:
        records.append(record)

    collect()
    path, script = tmp_path / "run.pcap", tmp_path / "old.lua"
    script.write_text(dissector(schema, "old"))
    binaries = [codec.encode(record) for record in records]
    # The handshake of Batsim is another thing: there, the first word of a message can mean something else.
    binaries = [data for data in binaries if int.from_bytes(data[:4], "little") != len(data) - 4]
    path.write_bytes(sharks.capture([conversation(binaries)]))
    seen = sharks.shown(script, path, schema, "old")
    assert repr(seen) == repr([without_nulls(plain(codec.decode(data))) for data in binaries])


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return list(map(plain, value)) if hasattr(value, "__iter__") and not isinstance(value, str) else value


@pytest.fixture
def zoo(tmp_path: Path) -> tuple[Schema, bytes, Path]:
    """A schema with everything that flatbuffers have, a message of it, and its dissector."""
    schema = read_schema(ZOO, whole=True)
    script = tmp_path / "zoo.lua"
    script.write_text(dissector(schema, "zoo", "28000"))  # the first packets are too small to be recognized
    return schema, flatc.to_binaries([ZOO.with_name("zoo.json").read_bytes()], ZOO)[0], script


@flatc.needs_flatc
@pytest.mark.parametrize("size", [7, 1400])
def test_a_schema_with_everything(zoo: tuple[Schema, bytes, Path], tmp_path: Path, size: int) -> None:
    schema, data, script = zoo
    path = tmp_path / "zoo.pcap"
    path.write_bytes(sharks.capture([conversation([data, data])], size=size))
    expected = with_defaults(schema, schema.root, json.loads(ZOO.with_name("zoo.json").read_text()))
    seen = sharks.shown(script, path, schema, "zoo")
    assert seen == [expected, expected]


def with_defaults(schema: Schema, table: str, given: dict[str, Any]) -> dict[str, Any]:
    """The values of a message with the defaults of fields that it does not have."""
    found: dict[str, Any] = {}
    for field in schema.tables[table].fields:
        kind, value = field.type, given.get(field.name)
        if value is None:
            default = schema.names[kind.name].get(field.default) if kind.kind == "enum" else field.default
            if default is not None and kind.kind != "utype" and not field.deprecated:
                found[field.name] = default
        elif kind.kind == "union":
            found[field.name] = of_union(schema, kind.name, given[f"{field.name}_type"], value)
        elif kind.element and kind.element.kind == "union":
            tags = given[f"{field.name}_type"]
            pairs = zip(tags, value, strict=True)
            found[field.name] = [of_union(schema, kind.element.name, tag, each) for tag, each in pairs]
        elif field.nested or kind.kind == "table":
            found[field.name] = with_defaults(schema, field.nested or kind.name, value)
        elif kind.element and kind.element.kind == "table":
            found[field.name] = [with_defaults(schema, kind.element.name, each) for each in value]
        else:
            found[field.name] = value
    return found


def of_union(schema: Schema, union: str, tag: str, value: Any) -> Any:
    found = schema.unions[union]
    kind = found.types[found.members.index(tag)]
    return with_defaults(schema, kind.name, value) if kind.kind == "table" else value


def test_filters_name_fields(script: Path) -> None:
    """Filters are by the names of the schema."""
    capture = next(path for path in packets.CAPTURES if path.name == "live-fcfs.pcapng.gz")
    options = ["-Y", 'batprotocol.ExecuteJobEvent.job_id == "w0!3"', "-T", "fields", "-e"]
    found = sharks.output(script, capture, *options, "batprotocol.AllocationPlacement.host_allocation")
    assert len(found.splitlines()) == 1
    everything = sharks.output(script, capture)
    assert "READY" in everything
    assert "SimulationEndsEvent" in everything


def test_a_capture_that_begins_in_the_middle(script: Path, tmp_path: Path) -> None:
    """Without its greeting, a connection is read where its port is named: in the command, or in the preferences."""
    messages = [each.data for each in read_run(next((DATA / "runs").glob("exec1by1*")))]
    segments = [each for each in packets.segments(conversation(messages)) if each.data][8:]
    made = [packets.Packet(10**18, packets.link(packets.ip(each), "ethernet")) for each in segments]
    path = tmp_path / "middle.pcap"
    path.write_bytes(packets.pcap(made))
    assert not sharks.shown(script, path, age(TODAY), "batprotocol")
    named = tmp_path / "named.lua"
    named.write_text(dissector(age(TODAY), ports="80,28000-28010"))
    seen = sharks.shown(named, path, age(TODAY), "batprotocol")
    assert len(seen) == len(segments)
    other = sharks.output(named, path, "-o", "batprotocol.ports:80")
    assert "Message" not in other
    assert "Message" in sharks.output(script, path, "-o", "batprotocol.ports:28000")


def test_the_importer_reads_the_same(script: Path, tmp_path: Path) -> None:
    """Segments that come again and out of order: tshark puts them right, and so does the importer."""
    chance = random.Random(2)
    run = [each.data for each in read_run(next((DATA / "runs").glob("exec1by1*")))]
    segments = list(packets.segments(conversation(run), 200))
    segments[3:] = [each for each in segments[3:] for _ in range(1 + (chance.random() < 0.1))]
    order = sorted(range(3, len(segments)), key=lambda place: place + chance.random() * 4 * (chance.random() < 0.2))
    made = [packets.ip(each) for each in [*segments[:3], *(segments[place] for place in order)]]
    path = tmp_path / "run.pcap"
    path.write_bytes(
        packets.pcap([packets.Packet(10**18 + n, packets.link(each, "ethernet")) for n, each in enumerate(made)])
    )
    traffic = Traffic(path)
    read = [each.data for each in traffic]
    assert read == run
    assert traffic.conversations[0].remarks[0].startswith("segments put right: ")
    options = ["-o", "tcp.reassemble_out_of_order:TRUE", "-T", "fields", "-e", "batprotocol.Message.now"]
    found = sharks.output(script, path, *options)
    times = [float(each) for each in found.replace(",", "\n").split()]
    expected = [decode(data).now for data in [run[1][4:], *run[2:]]]
    assert sorted(times) == pytest.approx(sorted(expected))  # tshark has them in the order of the packets


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The bytes with a few others, or fewer, or more."""
    found = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        place = chance.randrange(len(found))
        kind = chance.randrange(4)
        if kind == 0:
            found[place] = chance.choice([0, 1, 2, 4, 127, 128, 255, chance.randrange(256)])
        elif kind == 1:
            found[place : place + 4] = chance.randrange(2**32).to_bytes(4, "little")
        elif kind == 2:
            found[place : place + 1] = bytes(chance.randrange(3))
        else:
            del found[place : place + chance.choice([1, 4, 16])]
        if not found:
            return b"\0"
    return bytes(found)


@flatc.needs_flatc
def test_mutated_packets(zoo: tuple[Schema, bytes, Path], script: Path, tmp_path: Path) -> None:
    """1,500 connections: messages with other bytes, and frames with other bytes. tshark shows all of them."""
    chance = random.Random(1)
    run = [each.data for each in read_run(next((DATA / "runs").glob("exec1by1*")))]
    for own, messages in ((zoo[2], [zoo[1]]), (script, run)):
        conversations = []
        for _ in range(750):
            message = chance.choice(messages)
            if chance.random() < 0.6:
                conversations.append(packets.talk([(True, mutated(message, chance))]))
            else:
                said = packets.talk([(True, message)])
                place = chance.randrange(len(said))
                said[place] = (said[place][0], mutated(said[place][1], chance))
                conversations.append(said)
        path = tmp_path / "mutated.pcap"
        path.write_bytes(sharks.capture(conversations, size=chance.choice([40, 1400])))
        found = sharks.output(own, path, "-V", seconds=180)
        assert "Lua Error" not in found
        assert "error: " not in found, found[found.index("error: ") - 500 :][:700]
        assert found.count("[Group: Malformed]") > 100


def test_bombs_do_not_go_off(tmp_path: Path) -> None:
    """A table that is its own child many times, and frames that never end, take a moment."""
    text = "table Tree\n  left: Tree\n  right: Tree\nroot Tree\n"
    own = tmp_path / "bomb.lua"
    own.write_text(dissector(applied(text, Schema("", {}, {}, {})), "bomb"))
    endless = [packets.frame(b"", more=True) * 30000, b"\x02" + bytes(6) + b"\xff\xff" + bytes(3000)]
    large = [b"\x02\0\0\0\0\x0f\xff\xff\xff" + bytes(100_000)]
    said = [
        packets.talk([(True, packets.SHARED_TREES)]),
        *([*packets.handshake(), (True, data)] for data in [*endless, *large]),
    ]
    path = tmp_path / "bombs.pcap"
    path.write_bytes(sharks.capture(said, size=60_000))
    found = sharks.output(own, path, "-V", seconds=60)
    assert "more fields than are shown" in found
    assert "more frames than are shown" in found
    assert "Lua Error" not in found


def test_the_command_prints_what_lua_reads(tmp_path: Path) -> None:
    """tshark finds no fault with the dissector of any age, and with a name that Wireshark itself has."""
    capture = packets.CAPTURES[0]
    for name in AGES:
        path = tmp_path / "own.lua"
        path.write_text(dissector(age(name), "tcp" if name == TODAY else name))
        assert sharks.output(path, capture)
