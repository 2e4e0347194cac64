"""Captures: what was recorded is read, whatever it is kept in, and found by its time."""

from __future__ import annotations

import json
import math
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import runs

from batprotocol import CaptureError, Direction, EDCHelloEvent, JobSubmittedEvent, Message, MessageBuilder
from batprotocol.capture import Capture, Entry
from batprotocol.recording import Recorder
from batprotocol.wire import frames
from batprotocol.wire.glance import time_of

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
            time = None if entry.time is None else round(max(entry.time, 0) * 1e9)
            moments.append(max([moment for moment in [*moments[-1:], time] if moment is not None], default=0))
        first, last = round(start * 1e9), round(end * 1e9)
        between = [entry for entry, moment in zip(entries, moments, strict=True) if first <= moment <= last]
        assert list(run.between(start, end)) == between
        before = [entry for entry, moment in zip(entries, moments, strict=True) if moment <= first]
        assert run.at(start) == (before[-1] if before else None)
        assert list(run.between(0, math.inf)) == entries


@given(st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_the_time_of_a_message(now: float, is_json: bool) -> None:
    message = Message(now, (JobSubmittedEvent(timestamp=now, job_id="w0!1", job=None),) if now == 1 else ())
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
            assert run.missing == "It was not finished by what recorded it: there may be more than 1 message."
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
        "schedule.csv": b"makespan\n10.5\n",
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
        assert run.result.summary == {"makespan": "10.5"}
        assert [name for name, _ in run.attachments()] == ["jobs.csv", "schedule.csv", "twin/00000-b2e.json"]


def test_times_that_are_none() -> None:
    with pytest.raises(ValueError, match="expected a simulated time"):
        Capture(runs()[0]).at(math.nan)
