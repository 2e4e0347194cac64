"""Captures: what was recorded is read, whatever it is kept in, and found by its time."""

from __future__ import annotations

import json
import math
import os
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from commands import run_here
from hypothesis import example, given, settings
from hypothesis import strategies as st
from recorded import all_runs
from support import files_of, runs

from batprotocol import Direction, EDCHelloEvent, Message, MessageBuilder, RejectJobEvent
from batprotocol.edc.recording import Names, Recorder
from batprotocol.edc.recording.names import moment_of
from batprotocol.recordings import Capture, CaptureError, Entry
from batprotocol.recordings.copies import copy
from batprotocol.wire import frames
from batprotocol.wire.frames import time_of

WITHOUT_ENGINE = True

SHAPES = ("run", "run.tar", "run.tar.xz", "run.mcap")

TIMES = st.floats(0, 1e6) | st.integers(0, 3).map(float)


def messages() -> st.SearchStrategy[bytes]:
    """Messages, and some bytes that are none."""
    message = TIMES.map(lambda now: Message(now))
    return (
        message.map(Message.to_binary)
        | message.map(lambda each: each.to_json().encode() + b"\0")
        | st.binary(min_size=1, max_size=50)
    )


CONVERSATIONS = st.lists(st.tuples(st.sampled_from(Direction), messages()), min_size=1, max_size=20)


def recorded(path: Path, said: Sequence[tuple[Direction, bytes]]) -> Path:
    with Recorder(path) as recorder:
        for direction, data in said:
            recorder.write(direction, data)
    return path


@given(CONVERSATIONS, st.sampled_from(SHAPES), TIMES, TIMES)
def test_what_is_recorded_is_read_and_found(
    tmp_path_factory: pytest.TempPathFactory,
    said: list[tuple[Direction, bytes]],
    shape: str,
    start: float,
    end: float,
) -> None:
    path = recorded(tmp_path_factory.mktemp("capture") / shape, said)
    with Capture(path) as run:
        entries = list(run)
        assert [(entry.direction, entry.data) for entry in entries] == said
        assert [entry.number for entry in entries] == list(range(len(said)))
        assert run.is_whole
        assert run.missing == ""
        moments = []
        for entry in entries:
            time = None if entry.time is None else moment_of(entry.time)
            moments.append(max([moment for moment in [*moments[-1:], time] if moment is not None], default=0))
        first, last = moment_of(start), moment_of(end)
        between = [entry for entry, moment in zip(entries, moments, strict=True) if first <= moment <= last]
        assert list(run.between(start, end)) == between
        before = [entry for entry, moment in zip(entries, moments, strict=True) if moment <= first]
        assert run.at(start) == (before[-1] if before else None)
        assert list(run.between(0, math.inf)) == entries


@given(st.floats(allow_nan=False, allow_infinity=False), st.booleans())
@example(1.0, False)
def test_the_time_of_a_message(now: float, is_json: bool) -> None:
    message = Message(now, (RejectJobEvent(timestamp=now, job_id="w0!1"),) if now == 1 else ())
    data = message.to_json().encode() if is_json else message.to_binary()
    assert time_of(data) == now
    for spaces in (0, 2):
        other = json.dumps({"events": [], "now": now}, indent=spaces or None).encode() + b"\0"
        assert time_of(other) == now


@given(st.binary(max_size=64))
def test_the_time_of_whatever_it_is(data: bytes) -> None:
    entry = Entry(2, Direction.BATSIM_TO_EDC, data)
    if entry.message is not None and math.isfinite(entry.message.now):
        assert entry.time == entry.message.now
    assert (entry.message is None) == (entry.fault is not None)


@pytest.mark.slow
def test_recorded_runs_are_captures() -> None:
    for path in runs()[:: max(1, len(runs()) // 12)]:
        with Capture(path) as run:
            init, hello, *rest = run
            assert (init.kind, init.message, init.fault, init.time) == ("init", None, None, None)
            assert init.data == frames.encode_init(frames.decode_init(init.data))
            assert (hello.kind, hello.time) == ("hello", None)
            assert hello.message is not None
            assert isinstance(hello.message.events[0], EDCHelloEvent)
            assert run.is_whole
            for entry in rest:
                assert (entry.fault, entry.wall) == (None, None)
                assert entry.message is not None
                assert entry.message.now == entry.time
                assert entry.direction is list(Direction)[entry.number % 2]
            assert run.result is None or all("job_id" in row for row in run.result.jobs)


def test_handshake_frames_elsewhere_are_faults() -> None:
    builder = MessageBuilder()
    builder.add_edc_hello("edc", "1")
    hello = frames.encode_hello(builder.finish_message())
    assert Entry(1, Direction.EDC_TO_BATSIM, hello).kind == "hello"
    for number, direction, data in (
        (3, Direction.EDC_TO_BATSIM, hello),
        (1, Direction.BATSIM_TO_EDC, hello),
        (2, Direction.BATSIM_TO_EDC, frames.encode_init("init")),
    ):
        entry = Entry(number, direction, data)
        assert entry.kind == "binary"
        assert entry.message is None
        assert entry.fault is not None


# What is no whole capture


def test_what_is_unfinished_says_so(tmp_path: Path) -> None:
    for shape in SHAPES:
        recorder = Recorder(tmp_path / shape)
        recorder.write(Direction.BATSIM_TO_EDC, frames.encode_init("init"))
        with Capture(tmp_path / shape) as run:
            assert not run.is_whole
            assert (
                run.missing == "It was not finished by the program that recorded it: there may be more than 1 message."
            )
            assert [entry.number for entry in run] == [0]
        recorder.close()
        with Capture(tmp_path / shape) as run:
            assert run.is_whole


def test_what_is_cut_off_says_so(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.tar", [(Direction.BATSIM_TO_EDC, os.urandom(100)) for _ in range(5)])
    path.write_bytes(path.read_bytes()[: 3 * 1024 + 600])
    with Capture(path) as run:
        assert [entry.number for entry in run] == [0, 1, 2]
        assert run.missing == ("It is cut short or damaged: 3 messages can be read.")


def test_what_is_no_capture(tmp_path: Path) -> None:
    (tmp_path / "text.tar").write_text("no archive")
    (tmp_path / "folder").mkdir()
    (tmp_path / "several").mkdir()
    recorded(tmp_path / "several" / "a.tar", [(Direction.BATSIM_TO_EDC, b"x")])
    for name in ("text.tar", "folder", "several"):
        with pytest.raises(CaptureError) as caught:
            Capture(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name}: ")
    with pytest.raises(FileNotFoundError):
        Capture(tmp_path / "nothing.tar")


def test_what_is_told_of_a_run(tmp_path: Path) -> None:
    """An archive of somebody else: metadata, walls and results are members of it, among others."""
    members = {
        "00000-b2e.bin": Message(1.0).to_binary(),
        "00001-e2b.bin": b"",
        "metadata.json": b'{"scheduler": "easy", "jobs": 2}',
        "recorded.csv": b"number,wall\n0,123\n1,456\n",
        "jobs.csv": b"job_id,final_state\nw0!1,COMPLETED\nw0!2\n",
        "schedule.json": b'{\n "makespan": 10.5,\n "scheduler": "easy"\n}\n',
        "twin/00000-b2e.json": b"{}",
    }
    with tarfile.open(tmp_path / "run.tar.gz", "w:gz") as archive:
        for name, data in members.items():
            (tmp_path / "member").write_bytes(data)
            archive.add(tmp_path / "member", name)
    with Capture(tmp_path / "run.tar.gz") as run:
        first, second = run
        assert (first.wall, second.wall) == (123, 456)
        assert (second.data, str(second.fault)) == (b"", "is empty")
        assert run.metadata == {"scheduler": "easy", "jobs": "2"}
        assert run.result is not None
        assert run.result.jobs == ({"job_id": "w0!1", "final_state": "COMPLETED"}, {"job_id": "w0!2"})
        assert run.result.summary == {"makespan": "10.5", "scheduler": "easy"}
        assert [name for name, _ in run.attachments()] == ["jobs.csv", "schedule.json", "twin/00000-b2e.json"]


def test_times_that_are_none() -> None:
    with pytest.raises(ValueError, match="expected a simulated time"):
        Capture(runs()[0]).at(math.nan)


# Other containers


@given(CONVERSATIONS, st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3), st.booleans())
@settings(max_examples=30)
def test_nothing_is_lost_on_the_way_into_another_container(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[Direction, bytes]], shapes: list[str], old: bool
) -> None:
    folder = tmp_path_factory.mktemp("copies")
    names = Names({Direction.BATSIM_TO_EDC: "-b2s.json", Direction.EDC_TO_BATSIM: "-s2b.json"}, 4) if old else Names()
    about = {"arguments": "batproto 'ä\n'", "empty": ""}
    with Recorder(folder / "first.mcap", about, names=names) as recorder:
        for number, (direction, data) in enumerate(said):
            recorder.write(direction, data, 1 + number)
        recorder.keep("jobs.csv", b"job_id\n1\n")
        recorder.keep("twin/00001-e2b.json", b"")
    path = folder / "first.mcap"
    for number, shape in enumerate([*shapes, "run.mcap"]):
        with Capture(path) as run:
            copy(run, folder / f"{number}{shape}")
        path = folder / f"{number}{shape}"
    with Capture(path) as run:
        entries = list(run)
        assert [(entry.direction, entry.data, entry.wall) for entry in entries] == [
            (direction, data, 1 + number) for number, (direction, data) in enumerate(said)
        ]
        assert [entry.name for entry in entries] == [names.of(entry.number, entry.direction) for entry in entries]
        assert run.metadata == about
        assert dict(run.attachments()) == {"jobs.csv": b"job_id\n1\n", "twin/00001-e2b.json": b""}
        assert run.result is not None
        assert run.is_whole


def test_a_copy_of_what_was_cut_off_says_so(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run.mcap")
    for _ in range(2):
        recorder.write(Direction.BATSIM_TO_EDC, b"x")
    with Capture(tmp_path / "run.mcap") as run:
        copy(run, tmp_path / "copy.tar")
    recorder.close()
    with Capture(tmp_path / "copy.tar") as run:
        assert run.missing == "It was not finished by the program that recorded it: there may be more than 2 messages."


def test_names_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.mcap") as recorder:
        recorder.write(Direction.BATSIM_TO_EDC, b"x")
        for name in ("/etc/passwd", "../x", "a/../../x", "", "a\0b", "..\\x"):
            with pytest.raises(ValueError, match="not a name"):
                recorder.keep(name, b"")
        recorder._shape.keep("../evil.csv", b"")  # as another program may
    with Capture(tmp_path / "run.mcap") as run, pytest.raises(CaptureError, match="not a name"):
        copy(run, tmp_path / "folder")
    assert not (tmp_path / "evil.csv").exists()


@pytest.mark.slow
def test_recorded_runs_are_the_same_in_another_container(tmp_path: Path) -> None:
    for number, path in enumerate(all_runs()[::20]):
        with Capture(path) as run:
            copy(run, tmp_path / f"{number}.mcap")
        with Capture(tmp_path / f"{number}.mcap") as run:
            copy(run, tmp_path / f"{number}.tar")
        with tarfile.open(tmp_path / f"{number}.tar") as archive:
            back = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
        assert back == files_of(path)


@pytest.mark.slow
def test_an_mcap_is_dumped_checked_and_validated_as_its_archive_is(tmp_path: Path) -> None:
    for number, path in enumerate(all_runs()[3::80]):
        mcap = tmp_path / f"{number}.mcap"
        assert run_here("convert", path, mcap).status == 0
        for command in (["dump"], ["dump", "--json-lines"], ["check"], ["validate"]):
            shown = run_here(*command, path)
            assert run_here(*command, mcap) == shown._replace(
                out=shown.out.replace(str(path), str(mcap)), err=shown.err.replace(str(path), str(mcap))
            )
        assert run_here("dump", f"{mcap}/00002-b2e.bin").out.startswith(f"{mcap}/00002-b2e.bin: ")
        assert "has no message 99999-b2e.bin" in run_here("dump", f"{mcap}/99999-b2e.bin").err


def test_what_was_not_finished_is_remarked_on(tmp_path: Path) -> None:
    for shape in SHAPES[1:]:
        recorder = Recorder(tmp_path / shape)
        recorder.write(Direction.BATSIM_TO_EDC, frames.encode_init("init"))
        for command in ("dump", "check", "validate"):
            done = run_here(command, tmp_path / shape)
            assert done.err == f"batproto: {tmp_path / shape}: was not finished by the program that recorded it\n"
        recorder.close()
        assert run_here("dump", tmp_path / shape).err == ""


# An MCAP


def test_flatbuffers_own_classes_read_what_others_read(tmp_path: Path) -> None:
    """The official reader, the schema of the file, and what flatc makes of it: the same values."""
    from batprotocol.fb.Message import Message as FlatMessage
    from mcap.reader import make_reader

    path = next(path for path in runs() if path.name.endswith("__binary.tar.xz"))
    with Capture(path) as run:
        copy(run, tmp_path / "run.mcap")
        expected = [entry for entry in run if entry.time is not None]
    with open(tmp_path / "run.mcap", "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        assert reader.get_header().profile == "batprotocol"
        found = []
        for schema, channel, message in reader.iter_messages(["batsim_to_edc", "edc_to_batsim"]):
            assert schema is not None
            assert (schema.name, schema.encoding) == ("batprotocol.fb.Message", "flatbuffer")
            assert schema.data[4:8] == b"BFBS"
            assert channel.message_encoding == "flatbuffer"
            found.append((message, FlatMessage.GetRootAs(message.data)))
    assert len(found) == len(expected)
    for (message, value), entry in zip(found, expected, strict=True):
        assert entry.message is not None
        assert (value.Now(), value.EventsLength()) == (entry.message.now, len(entry.message.events))
        assert (message.sequence, message.log_time) == (entry.number, moment_of(entry.message.now))


@given(st.data())
@settings(max_examples=40)
def test_damaged_files_end_in_words(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever is changed or cut off: what can be read comes in order, and no other exception leaves the room."""
    folder = tmp_path_factory.mktemp("damaged")
    said = [(direction, Message(float(number)).to_binary()) for number in range(30) for direction in Direction]
    with Recorder(folder / "run.mcap") as recorder:
        for direction, message in said:
            recorder.write(direction, message, 1)
    whole = bytearray((folder / "run.mcap").read_bytes())
    if data.draw(st.booleans()):
        del whole[data.draw(st.integers(0, len(whole))) :]
    for _ in range(data.draw(st.integers(0, 3))):
        if whole:
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    (folder / "run.mcap").write_bytes(whole)
    with suppress(CaptureError), Capture(folder / "run.mcap") as run:
        numbers = [entry.number for entry in run]
        assert run.is_whole or len(numbers) <= len(said)
        list(run.between(3, 5))
        run.at(4)
        assert isinstance(run.missing, str)
        dict(run.metadata)
        list(run.attachments())


def test_an_mcap_of_somebody_else(tmp_path: Path) -> None:
    from mcap.writer import Writer

    with open(tmp_path / "other.mcap", "wb") as file:
        writer = Writer(file)
        writer.start("ros2")
        writer.finish()
    with pytest.raises(CaptureError, match="its profile is 'ros2'"):
        Capture(tmp_path / "other.mcap")


def test_a_chunk_that_unpacks_to_too_much(tmp_path: Path) -> None:
    """A few bytes that claim to be gigabytes take none of them."""
    import zstandard
    from mcap.data_stream import RecordBuilder
    from mcap.records import Chunk, Header

    builder = RecordBuilder()
    builder.write(b"\x89MCAP0\r\n")
    Header("batprotocol", "").write(builder)
    bomb = zstandard.compress(bytes(2**24))
    Chunk("zstd", bomb, 0, 0, 0, 100).write(builder)
    Chunk("zstd", bomb, 0, 0, 0, 2**62).write(builder)
    (tmp_path / "bomb.mcap").write_bytes(builder.end())
    with Capture(tmp_path / "bomb.mcap") as run:
        assert list(run) == []
        assert run.missing == "It is damaged: 0 messages can be read."
