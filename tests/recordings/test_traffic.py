"""Conversations in captured traffic are read as they were said, and what is missing is reported, never guessed."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import packets
import pytest
from commands import run_here
from hypothesis import given, settings
from hypothesis import strategies as st
from packets import Packet, Segment

from batprotocol.errors import CaptureError
from batprotocol.model import Direction
from batprotocol.recordings import Capture
from batprotocol.recordings.traffic import Traffic, _packets, _streams, record
from batprotocol.recordings.traffic import _conversations as bounds
from batprotocol.recordings.traffic._packets import Dissector, Packets, UnreadPacket

WITHOUT_ENGINE = True

START = 1_700_000_000_000_000_000
RUN = [
    (True, b"\0\0\0\0"),
    (False, b"hello"),
    (True, b"x" * 5000),
    (False, b""),
    (True, b'{"now": 1}'),
    (False, b"z" * 255),
]


def linked(segments: Sequence[Segment], kind: str = "ethernet", **options: bool) -> list[Packet]:
    six = options.pop("six", False)
    made = [packets.link(packets.ip(each, six=six), kind, **options) for each in segments]
    return [Packet(START + 1000 * number, data) for number, data in enumerate(made)]


def written(folder: Path, data: bytes, name: str = "run.pcap") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def read(path: Path) -> tuple[Traffic, list[tuple[bool, bytes]]]:
    traffic = Traffic(path)
    return traffic, [(each.direction is Direction.BATSIM_TO_EDC, each.data) for each in traffic]


@pytest.mark.parametrize("capture", packets.CAPTURES, ids=lambda path: path.name.partition(".")[0])
def test_a_captured_conversation_is_the_recorded_one(capture: Path, tmp_path: Path) -> None:
    assert len(packets.CAPTURES) == 20
    traffic = Traffic(capture)
    record(traffic, tmp_path / "run.tar")
    (conversation,) = traffic.conversations
    assert conversation.is_whole
    assert not conversation.remarks
    assert traffic.others == traffic.left_out.rows == 0
    with Capture(tmp_path / "run.tar") as found, Capture(packets.recorded(capture)) as expected:
        entries = list(found)
        assert entries == list(expected)
        assert not found.missing
        walls = [entry.wall or 0 for entry in entries]
    assert walls == sorted(walls)
    assert walls[0] > START


@pytest.mark.parametrize("kind", packets.LINKS)
@pytest.mark.parametrize("six", [False, True])
@pytest.mark.parametrize("form", ["pcap", "nanos", "big", "pcapng", "pcapng-big"])
def test_links_and_formats(kind: str, six: bool, form: str, tmp_path: Path) -> None:
    made = linked(list(packets.segments(packets.talk(RUN), 300)), kind, six=six)
    data = {
        "pcap": lambda: packets.pcap(made, kind),
        "nanos": lambda: packets.pcap(made, kind, nanos=True),
        "big": lambda: packets.pcap(made, kind, order=">"),
        "pcapng": lambda: packets.pcapng(made, kind),
        "pcapng-big": lambda: packets.pcapng(made, kind, order=">"),
    }[form]()
    traffic, found = read(written(tmp_path, data))
    assert found == RUN
    assert traffic.packets == len(made)
    assert str(traffic.conversations[0].edc.end) == ("[::63]:28000" if six else "10.0.0.99:28000")
    assert [each.time for each in Packets(io.BytesIO(data), "")] == [each.time for each in made]


@pytest.mark.parametrize("order", ["<", ">"])
def test_each_interface_has_its_units_and_its_offset(order: str) -> None:
    """Times count in the units of the packet's own interface, and its offset of seconds is added."""
    interfaces = [(6, 0, 10**6), (9, 1_000, 10**9), (0x80 | 10, -50, 2**10), (3, 2**40, 10**3)]
    data = packets.pcapng([], order=order)
    for resolution, offset, _ in interfaces:
        options = struct.pack(f"{order}HHB3xHHqHH", 9, 1, resolution, 14, 8, offset, 0, 0)
        data += packets.block(1, struct.pack(f"{order}HHI", 1, 0, 0) + options, order)
    seconds = START // 10**9
    for number, (_, offset, units) in enumerate(interfaces, 1):
        ticks = (seconds - offset) * units if offset < seconds else 0
        data += packets.block(
            6, struct.pack(f"{order}IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, 4, 4) + b"data", order
        )
    assert [each.time for each in Packets(io.BytesIO(data), "")] == [*[seconds * 10**9] * 3, 0]


def test_other_blocks_and_headers(tmp_path: Path) -> None:
    """Older blocks of pcapng, and headers of IPv6 before TCP; fragments are counted."""
    made = linked(list(packets.segments(packets.talk(RUN[:2]))))
    begin = packets.pcapng([])
    simple, older, odd = begin, begin, begin
    for each in made:
        simple += packets.block(3, struct.pack("<I", len(each.data)) + each.data)
        head = struct.pack("<HHIIII", 0, 0, each.time >> 32, each.time & 0xFFFFFFFF, len(each.data), len(each.data))
        older += packets.block(2, head + each.data)
        odd += packets.block(4, b"names") + packets.block(6, struct.pack("<IIIII", 7, 0, 0, 4, 4) + b"lost")
    for number, data in enumerate((simple, older)):
        assert read(written(tmp_path, data, f"{number}.pcapng"))[1] == RUN[:2]
    traffic, found = read(written(tmp_path, odd))
    assert (found, traffic.packets) == ([], len(made))
    assert "have no interface" in traffic.remarks[0]
    headers = []
    for each in packets.segments(packets.talk(RUN[:2])):
        data = packets.ip(each, six=True)
        options = b"\x2c\0" + bytes(6) + b"\x06\0\0\0" + bytes(4)  # hop-by-hop options, and a fragment that is whole
        size = len(data) - 40 + len(options)
        headers.append(Packet(START, data[:4] + struct.pack(">H", size) + b"\0" + data[7:40] + options + data[40:]))
    assert read(written(tmp_path, packets.pcap(headers, "raw")))[1] == RUN[:2]
    part = bytearray(made[0].data)
    part[20] |= 0x20
    traffic, _ = read(written(tmp_path, packets.pcap([Packet(START, bytes(part))])))
    assert [each.reason for each in traffic.left_out] == ["it is a fragment of IP"]


def test_tags_and_compression(tmp_path: Path) -> None:
    data = packets.pcap(linked(list(packets.segments(packets.talk(RUN))), vlan=True))
    for name, made in (("a.gz", gzip.compress(data)), ("a.xz", lzma.compress(data))):
        assert read(written(tmp_path, made, name))[1] == RUN
    traffic, found = read(written(tmp_path, gzip.compress(data)[:-200]))
    assert found == RUN[: len(found)]
    assert traffic.is_damaged
    assert "compressed data end" in traffic.remarks[0]


def test_any_number_of_tags(tmp_path: Path) -> None:
    """Three tags of VLANs, and one behind the header of a cooked link."""
    plain = [packets.ip(each) for each in packets.segments(packets.talk(RUN))]
    tags = b"\x88\xa8\0\x01\x91\0\0\x02\x81\0\0\x03"
    three = [bytes(12) + tags + b"\x08\0" + each for each in plain]
    cooked = [packets.link(each, "sll")[:14] + b"\x81\0\0\x07\x08\0" + each for each in plain]
    for kind, data in (("ethernet", three), ("sll", cooked)):
        made = [Packet(START, each) for each in data]
        traffic, found = read(written(tmp_path, packets.pcap(made, kind)))
        assert found == RUN
        assert not traffic.left_out.rows


def test_broken_headers_are_counted() -> None:
    """Whatever the headers say, a packet is a segment, of another protocol, or left out for a reason; in short time."""
    chance = random.Random(7)
    made = [
        (number, each.data)
        for kind, number in packets.LINKS.items()
        for six in (False, True)
        for each in linked(list(packets.segments(packets.talk(RUN[:2]))), kind, six=six)
    ]
    dissector, reasons, rare = Dissector(), set(), [0, 1, 4, 6, 43, 44, 51, 60, 0x81, 255]
    for _ in range(5000):
        number, data = chance.choice(made)
        changed = bytearray(data[: chance.choice([len(data), chance.randrange(1, 80)])])
        for _ in range(chance.choice([1, 2, 4])):
            changed[chance.randrange(min(len(changed), 70))] = chance.choice([*rare, chance.randrange(256)])
        try:
            segment = dissector.segment(number, bytes(changed))
        except UnreadPacket as reason:
            reasons.add(str(reason))
        else:
            assert segment is None or len(segment.data) <= min(segment.size, len(changed))
    assert reasons == {
        "it is a fragment of IP",
        "its header of IP is broken",
        "its header of TCP is broken",
        "its headers are broken",
        "its headers were not captured whole",
    }
    chain = b"\x60\0\0\0\0\0\x3c\0" + bytes(32) + (b"\x3c\0" + bytes(6)) * 2**17
    with pytest.raises(UnreadPacket, match="its headers are longer than 4,096 bytes"):
        dissector.segment(packets.LINKS["raw"], chain)


def test_without_dpkt_there_is_advice() -> None:
    """Captured traffic is refused with what to install."""
    script = "import sys; sys.modules['dpkt'] = None; from batprotocol.cli.main import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", script, "import", packets.CAPTURES[0]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "captured traffic needs the package dpkt: pip install 'dpkt" in done.stderr
    assert "Traceback" not in done.stderr


FEWER = settings(max_examples=max(10, settings().max_examples // 4))
texts = st.binary(max_size=12) | st.integers(0, 3000).map(lambda size: bytes(size))
conversations = st.lists(texts, max_size=12).map(
    lambda found: [(not place % 2, data) for place, data in enumerate(found)]
)


@given(conversations, st.integers(1, 1500), st.randoms(use_true_random=False), st.integers(0, 2**32 - 1))
@FEWER
def test_disorder_and_repetition_are_put_right(
    said: list[tuple[bool, bytes]], size: int, chance: random.Random, first: int
) -> None:
    """Segments come again, also cut otherwise, and up to ten places too early or late."""
    size = max(size, sum(len(data) for _, data in said) // 60 + 1)
    segments: list[Segment] = []
    for each in packets.segments(packets.talk(said), size, (first, 7)):
        segments += [each] * chance.choice([1, 1, 1, 2])
        if each.data and chance.random() < 0.2:
            cut = chance.randrange(len(each.data))
            segments.append(each._replace(seq=each.seq + cut, data=each.data[cut:]))
    begin = next(place for place, each in enumerate(segments) if each.flags == packets.ACK)
    moved = sorted(
        range(begin, len(segments)), key=lambda place: place + chance.choice([0, 0, 0, chance.random() * 10])
    )
    found = collected(linked(segments[:begin] + [segments[place] for place in moved]))
    traffic, messages = found
    assert messages == said  # each answer acknowledges its question, so both sides are in order, too
    assert traffic.conversations[0].is_whole


@pytest.mark.parametrize("by", [1, 2, 3, 5])
def test_a_segment_that_comes_late_changes_no_order(by: int) -> None:
    """Neither that of the messages of one side, nor that of the sides."""
    segments = list(packets.segments(packets.talk(RUN), 2000))
    for place in range(3, len(segments) - by):
        moved = [*segments[:place], *segments[place + 1 : place + by + 1], segments[place], *segments[place + by + 1 :]]
        _, messages = collected(linked(moved))
        assert messages == RUN, place


def test_a_message_comes_with_the_segment_that_makes_it_whole() -> None:
    here, there = _packets.End(b"here", 1), _packets.End(b"ther", 2)
    connection, said, at = None, [], []
    for number, each in enumerate(packets.segments(packets.talk(RUN), 2000)):
        ends = (here, there) if each.forth else (there, here)
        segment = _packets.Segment(*ends, each.seq, each.ack, each.flags, each.data, len(each.data))
        connection = connection or _streams.TcpConnection(0, segment, _streams.MemoryBudget(2**20))
        for found in connection.take(segment, number, number):
            said.append((found.side == 0, found.message.data))
            at.append((number, found.message.number))
    assert said == RUN
    # It comes at once, or with the acknowledgement of bytes that the other side has.
    assert all(number - whole in (0, 1) for number, whole in at), at


def collected(made: Sequence[Packet]) -> tuple[Traffic, list[tuple[bool, bytes]]]:
    """What is read of packets, without a file."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return read(written(Path(folder), packets.pcap(made)))


@given(conversations, st.integers(20, 1500), st.randoms(use_true_random=False))
@FEWER
def test_what_is_lost_is_reported(said: list[tuple[bool, bytes]], size: int, chance: random.Random) -> None:
    """No message is made up, none is out of its order, and where one is missing, the conversation is not whole."""
    segments = list(packets.segments(packets.talk(said), size))
    kept = segments[:3] + [each for each in segments[3:] if chance.random() < 0.9]
    traffic, messages = collected(linked(kept))
    for forth in (True, False):
        sent = iter([data for side, data in said if side is forth])
        assert all(data in sent for side, data in messages if side is forth), "a message that nobody sent"
    is_whole = bool(traffic.conversations) and traffic.conversations[0].is_whole
    assert messages == said or not is_whole
    for each in traffic.conversations:
        assert each.is_whole is not any("segments put right" not in remark for remark in each.remarks)


def test_a_gap_within_a_frame_costs_that_message_alone(tmp_path: Path) -> None:
    segments = list(packets.segments(packets.talk(RUN), 1000))
    place = next(place for place, each in enumerate(segments) if each.data == b"x" * 1000)
    del segments[place]
    traffic, found = read(written(tmp_path, packets.pcap(linked(segments))))
    assert found == [each for each in RUN if each[1] != b"x" * 5000]
    (conversation,) = traffic.conversations
    assert (conversation.lost, conversation.is_whole) == (1, False)
    assert conversation.remarks == ["1 message from Batsim left out: bytes of it were not captured"]


def test_a_gap_between_frames_ends_that_side(tmp_path: Path) -> None:
    segments = list(packets.segments(packets.talk(RUN), 10_000))
    place = next(place for place, each in enumerate(segments) if b"x" * 5000 in each.data)
    del segments[place]
    traffic, found = read(written(tmp_path, packets.pcap(linked(segments))))
    assert found == [RUN[0], *(each for each in RUN if not each[0])]
    (conversation,) = traffic.conversations
    assert not conversation.is_whole
    assert "the beginning of the next frame is not known" in conversation.remarks[0]


def test_a_capture_that_begins_in_the_middle(tmp_path: Path) -> None:
    segments = list(packets.segments(packets.talk(RUN)))[14:]
    path = written(tmp_path, packets.pcap(linked(segments)))
    traffic, found = read(path)
    assert not found
    assert (traffic.others, traffic.unknown) == (1, 1)
    assert traffic.unknown_bytes == sum(len(each.data) for each in segments)
    with pytest.raises(CaptureError, match=r"a connection begins before the capture, and .* bytes could not be read"):
        record(Traffic(path), tmp_path / "run.tar")
    assert not (tmp_path / "run.tar").exists()


def test_several_connections_at_once(tmp_path: Path) -> None:
    """Each conversation is a recording; what is no conversation is counted; ports are used again."""
    made: list[Packet] = []
    again = list(packets.segments(packets.talk(RUN), 500, (90_000, 8)))
    lines: list[list[bytes]] = [
        [packets.ip(each, (40001, 28000)) for each in [*packets.segments(packets.talk(RUN), 500), *again]],
        [packets.ip(each, (40002, 28000), six=True) for each in packets.segments(packets.talk(RUN[:2]), 500)],
        [packets.ip(each, (40003, 80)) for each in packets.segments([(True, b"GET /"), (False, b"HTTP/1.1 200")], 500)],
        [packets.ip(each, (40004, 81)) for each in packets.segments([(True, packets.greeting()[:10] + b"\1\0\0")])],
    ]
    published = [(True, packets.greeting()), (False, packets.greeting()), (True, packets.ready("SUB"))]
    published += [(False, packets.ready("PUB")), (False, packets.frame(b"news"))]
    lines.append([packets.ip(each, (40005, 82)) for each in packets.segments(published)])
    while any(lines):
        for line in lines:
            if line:
                made.append(Packet(START + len(made), packets.link(line.pop(0), "ethernet")))
    made.append(Packet(START, bytes(12) + b"\x08\x06" + bytes(30)))  # ARP
    made.append(Packet(START, bytes(12) + b"\x08\x00" + b"\x45"))
    path = written(tmp_path, packets.pcap(made))
    done = run_here("import", path, "-o", tmp_path / "run.tar.xz")
    assert done.status == 0, done.out
    assert "2 connections not known to be of ZeroMQ" in done.out
    assert "1: a message: its sockets are SUB and PUB, expected REQ and REP" in done.out
    assert "1: its headers were not captured whole" in done.out
    for name, said in (("run.tar.xz", RUN), ("run-2.tar.xz", RUN[:2]), ("run-3.tar.xz", RUN)):
        with Capture(tmp_path / name) as found:
            assert [(each.direction is Direction.BATSIM_TO_EDC, each.data) for each in found] == [*said]


@pytest.mark.parametrize("cut", [110, 200])  # the first is within the greeting and the command READY
def test_truncated_packets_and_lost_ones(cut: int, tmp_path: Path) -> None:
    """Packets that were cut by the capture program, and those that it reports as dropped."""
    made = [
        each._replace(data=each.data[:cut], size=len(each.data))
        for each in linked(list(packets.segments(packets.talk(RUN))))
    ]
    path = written(tmp_path, packets.pcapng(made, dropped=5))
    done = run_here("import", path, "--json")
    assert done.status == 1
    assert "bytes of it were not captured" in done.out
    assert "reports 5 lost packets" in done.out
    traffic, found = read(path)
    assert found == [each for each in RUN if len(each[1]) < 100]
    assert [each.reason for each in traffic.left_out] == ["the packet was not captured to its end"]


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (packets.greeting()[:12] + b"CURVE".ljust(20, b"\0") + bytes(32), "it is encrypted"),
        (packets.greeting()[:10] + b"\x01" + bytes(53), "it is of version 2 of ZeroMQ's protocol, expected 3"),
    ],
)
def test_what_cannot_be_read_is_named(greeting: bytes, reason: str, tmp_path: Path) -> None:
    said = packets.talk(RUN)
    said[:3] = [(True, greeting), (False, packets.greeting())]
    traffic, _ = read(written(tmp_path, packets.pcap(linked(list(packets.segments(said))))))
    assert reason in " ".join(traffic.conversations[0].remarks)


def test_several_frames_and_long_ones(tmp_path: Path) -> None:
    said = [*packets.handshake()]
    said.append(
        (True, packets.frame(b"id", more=True) + packets.frame(b"", more=True) + packets.frame(b"one", long=True))
    )
    said.append((False, packets.frame(b"", more=True) + packets.frame(b"a", more=True) + packets.frame(b"b")))
    said.append((False, packets.frame(b"\x04PING\0\0", command=True)))
    said.append((False, b"\x02" + (2**40).to_bytes(8, "big") + bytes(4000)))
    traffic, found = read(written(tmp_path, packets.pcap(linked(list(packets.segments(said, 1000))))))
    assert found == [(True, b"one")]
    assert traffic.conversations[0].edc.faults == {
        "it has 2 frames, expected one": 1,
        "the capture or the connection ends within it": 1,
    }


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that are not whole share their memory; one connection more than are followed is counted."""
    monkeypatch.setattr(bounds, "MEMORY", 100_000)
    monkeypatch.setattr(bounds, "MOST_CONNECTIONS", 30)
    made = []
    for number in range(40):
        said = [*packets.talk([]), (True, b"\x02" + (2**20).to_bytes(8, "big") + bytes(10_000))]
        segments = [packets.ip(each, (1000 + number, 28000)) for each in list(packets.segments(said, 5000))[:-2]]
        made += [Packet(START, packets.link(each, "ethernet")) for each in segments]
    traffic, found = read(written(tmp_path, packets.pcap(made)))
    assert not found
    faults = [each.batsim.faults for each in traffic.conversations]
    assert len(faults) == 30
    assert all(sum(each.values()) == 1 for each in faults)
    assert any("more than 30 connections" in each.reason for each in traffic.left_out)


def mutated(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.choice([1, 3, 10, 40])):
        place = chance.randrange(len(found))
        kind = chance.randrange(3)
        if kind == 0:
            found[place] = chance.randrange(256)
        elif kind == 1:
            found[place : place + 4] = struct.pack(
                "<I", chance.choice([0, 1, 2**31, 2**32 - 1, chance.randrange(2**32)])
            )
        else:
            del found[place : place + chance.choice([1, 4, 100])]
    return bytes(found)


@pytest.mark.parametrize("form", ["pcap", "pcapng", "gz"])
def test_any_bytes_are_read(form: str, tmp_path: Path) -> None:
    chance = random.Random(form)
    made = linked(list(packets.segments(packets.talk(RUN), 400)))
    data = packets.pcap(made) if form != "pcapng" else packets.pcapng(made, dropped=1)
    known = 0
    for _ in range(40):
        changed = gzip.compress(mutated(data, chance)) if chance.random() < 0.5 else gzip.compress(data)
        changed = changed if form == "gz" else mutated(data, chance)
        path = written(tmp_path, mutated(changed, chance) if form == "gz" and chance.random() < 0.5 else changed)
        try:
            traffic, found = read(path)
        except CaptureError:
            continue
        known += bool(found)
        assert all(each.messages >= 0 for each in traffic.conversations)
    assert known > 5


def test_the_command_refuses_what_is_about_logs(tmp_path: Path) -> None:
    capture = packets.CAPTURES[0]
    assert "--zone is for logs" in run_here("import", capture, "--zone", "UTC").err
    assert "from one file" in run_here("import", capture, capture).err
    assert "is not a capture of network traffic" in run_here("import", "-f", "pcap", __file__).err
    named = written(tmp_path, b"no capture", "run.pcapng")
    assert "is not a capture of network traffic" in run_here("import", named).err
    log = written(tmp_path, b"JobID|User\n1|x\n", "log.txt")
    assert ".parquet" in run_here("import", log, "-o", tmp_path / "run.mcap").err
    before = (tmp_path / "run.tar").write_bytes(b"mine")
    assert "exists" in run_here("import", capture, "-o", tmp_path / "run.tar").err
    assert (tmp_path / "run.tar").stat().st_size == before
