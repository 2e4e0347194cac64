"""Every message that Batsim and its decision components were recorded to exchange: read, written, and compared with
what the C++ library makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engines import each_engine
from exact import as_printed, exact
from oracle import read, write
from support import CORPUS, DATA, Recorded, read_run, runs

from batprotocol import wire
from batprotocol.errors import DecodeError
from batprotocol.model import BATSIM_TO_EDC, EDC_TO_BATSIM, EDCHelloEvent, Message, SimulationBeginsEvent
from batprotocol.wire import frames, reader, tree

pytestmark = pytest.mark.slow

KEPT = tuple(sorted((DATA / "runs").glob("*.tar.xz")))
every_run = pytest.mark.parametrize("archive", runs(), ids=lambda archive: archive.name.removesuffix(".tar.xz"))


def messages(archive: Path) -> list[tuple[Recorded, Message]]:
    """What was recorded, but for the init frame, and each message; the hello without its flags word."""
    _, hello, *rest = read_run(archive)
    return [(each, wire.decode(each.data)) for each in (hello._replace(data=hello.data[4:]), *rest)]


def test_there_are_runs() -> None:
    assert len(KEPT) >= 6
    assert sum(archive.stat().st_size for archive in KEPT) < 100_000
    assert set(runs()) >= set(KEPT) or CORPUS.is_dir()
    assert {archive.name.split("__")[-1] for archive in runs()} == {"binary.tar.xz", "json.tar.xz"}


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the whole corpus is not here")
def test_the_runs_kept_are_those_of_the_corpus() -> None:
    corpus = {archive.name: archive.read_bytes() for archive in CORPUS.glob("*.tar.xz")}
    assert {archive.name for archive in KEPT if archive.read_bytes() != corpus.get(archive.name)} == set()


@every_run
def test_messages_survive_both_formats(archive: Path) -> None:
    for _ in each_engine():
        for recorded, message in messages(archive):
            expected = exact(message)
            assert exact(Message.from_binary(message.to_binary())) == expected, recorded.number
            assert exact(Message.from_json(message.to_json())) == expected, recorded.number


@every_run
def test_the_cpp_library_has_the_same_messages(archive: Path) -> None:
    """Exactly: in JSON, it prints doubles with twelve decimals, so those of its text are ours rounded to as many."""
    for recorded, message in messages(archive):
        assert recorded.twin is not None
        for _ in each_engine():
            if recorded.is_json:
                assert exact(Message.from_binary(recorded.twin)) == exact(message), recorded.number
            else:
                assert exact(Message.from_json(recorded.twin)) == exact(message, as_printed), recorded.number


@every_run
def test_the_oracle_has_the_same_messages(archive: Path) -> None:
    for recorded, message in messages(archive)[:100]:
        binary = recorded.twin if recorded.is_json else recorded.data
        assert binary is not None
        assert exact(read(binary)) == exact(message), recorded.number
        assert exact(tree.to_message(reader.read(binary))) == exact(message), recorded.number
        assert exact(read(message.to_binary())) == exact(message), recorded.number
        for _ in each_engine():
            assert Message.from_binary(write(message)) == message, recorded.number


@every_run
def test_what_the_cpp_library_writes_needs_no_careful_reader(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = messages(archive)
    monkeypatch.setattr(reader, "read", None)
    for _ in each_engine():
        for recorded, message in expected:
            binary = recorded.twin if recorded.is_json else recorded.data
            assert binary is not None
            assert Message.from_binary(binary) == message, recorded.number


@every_run
def test_json_of_batsim_ends_with_one_nul(archive: Path) -> None:
    for recorded in read_run(archive)[2:]:
        if recorded.is_json and recorded.direction == "b2e":
            assert recorded.data.count(b"\0") == 1
            assert recorded.data.endswith(b"}\0")


@every_run
def test_each_side_says_what_is_its_own(archive: Path) -> None:
    sends = {"b2e": BATSIM_TO_EDC, "e2b": EDC_TO_BATSIM}
    found = messages(archive)
    for recorded, message in found:
        assert {type(event) for event in message.events} <= set(sends[recorded.direction])
        assert all(event.timestamp <= message.now for event in message.events)
    assert isinstance(found[0][1].events[0], EDCHelloEvent)
    assert len(found) == 1 or isinstance(found[1][1].events[0], SimulationBeginsEvent)


@every_run
def test_the_frames_of_the_handshake(archive: Path) -> None:
    init, hello, *_ = read_run(archive)
    text = frames.decode_init(init.data)
    assert frames.encode_init(text) == init.data
    for _ in each_engine():
        found = frames.decode_hello(hello.data)
        assert (found.format, found.flags) == (("json", 2) if hello.is_json else ("binary", 1))
        again = frames.encode_hello(found.message, found.format)
        assert again[:4] == hello.data[:4]
        assert frames.decode_hello(again) == found


@every_run
def test_every_message_is_known_for_what_it_is(archive: Path) -> None:
    init, hello, *rest = read_run(archive)
    assert wire.detect(init.data) == "init"
    assert wire.detect(hello.data) == "hello"
    format = "json" if hello.is_json else "binary"
    assert wire.detect(hello.data[4:]) == format
    assert {wire.detect(form(each.data)) for each in rest for form in (bytes, bytearray, memoryview)} <= {format}
    assert {wire.detect(each.twin) for each in (hello, *rest) if each.twin} == {"binary" if hello.is_json else "json"}
    for _ in each_engine():
        assert wire.decode(hello.data) == wire.decode(hello.data[4:])
        with pytest.raises(DecodeError, match=r"use frames\.decode_init"):
            wire.decode(init.data)


@every_run
def test_the_json_of_a_message_is_its_tree(archive: Path) -> None:
    for recorded, message in messages(archive)[:100]:
        made = tree.from_message(message)
        assert exact(tree.to_message(made)) == exact(message), recorded.number
        for _ in each_engine():
            assert json.loads(message.to_json()) == json.loads(json.dumps(made, default=list))
