"""Recordings: what is said is what is recorded, and it can be read whatever becomes of the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import ENVIRONMENT
from replay import PATIENCE, InThread, Peer, begins, begun, ends, said, submitted
from simulations import ANY_PORT, Everywhere

from batprotocol import DecodeError, Direction, Message
from batprotocol.conversation import check
from batprotocol.edc import run
from batprotocol.edc.recording import Recorder, sources
from batprotocol.edc.recording import archives as journal
from batprotocol.errors import PeerGone
from batprotocol.wire import frames

WITHOUT_ENGINE = True

SHAPES = ("run", "run.tar", "run.tar.xz", "run.mcap")


def read(path: Path) -> list[tuple[str, bytes]]:
    """What `batproto` finds in a recording."""
    found = list(sources.messages([str(path)]))
    assert [each.fault for each in found if each.fault] == []
    return [(os.path.basename(each.name), each.data) for each in found]


def names(directions: Sequence[Direction]) -> list[str]:
    sides = {Direction.BATSIM_TO_EDC: "b2e", Direction.EDC_TO_BATSIM: "e2b"}
    return [f"{number:05}-{sides[direction]}.bin" for number, direction in enumerate(directions)]


BYTES = st.binary(min_size=1, max_size=2000) | st.floats(0).map(lambda now: Message(now).to_binary())
MESSAGES = st.lists(st.tuples(st.sampled_from(Direction), BYTES), max_size=20)


@given(MESSAGES, st.sampled_from(SHAPES))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, messages: list[tuple[Direction, bytes]], shape: str
) -> None:
    path = tmp_path_factory.mktemp("recording") / shape
    with Recorder(path) as recorder:
        for direction, data in messages:
            recorder.write(direction, data)
    expected = list(zip(names([each[0] for each in messages]), [each[1] for each in messages], strict=True))
    if path.is_dir():
        assert sorted((file.name, file.read_bytes()) for file in path.iterdir()) == expected
    elif shape.endswith(".mcap"):
        from mcap.reader import make_reader

        with open(path, "rb") as file:  # the reader of others, and all checksums
            read_by_others = [message.data for _, _, message in make_reader(file, validate_crcs=True).iter_messages()]
        assert [data for data in read_by_others if data[-1:]] == [data for _, data in expected if data[-1:]]
    else:  # Python's own reader of archives, to the very end
        with tarfile.open(path, "r:xz" if shape.endswith("xz") else "r:") as archive:
            members = archive.getmembers()
            assert [(each.name, archive.extractfile(each).read()) for each in members] == expected  # type: ignore[union-attr]
    if messages:
        assert read(path) == expected


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_recordings_of_many_megabytes(tmp_path: Path, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They grow while they are read by the thread that packs them; one message is larger than what they grow by."""
    monkeypatch.setattr(journal, "GROWTH", 2**16)
    messages = [bytes([number % 251]) * (number * 7 % 5000 + 1) for number in range(1000)]
    messages[500] = os.urandom(300_000)
    with Recorder(tmp_path / shape) as recorder:
        room = 0
        for data in messages:
            recorder.write(Direction.BATSIM_TO_EDC, data)
            if recorder._journal.room != room:
                room = recorder._journal.room
                time.sleep(0.01)  # the thread has been told to read on, and must not read further than it was told
        assert [data for _, data in read(tmp_path / shape)][-1] == messages[-1]  # it is there already
    assert [data for _, data in read(tmp_path / shape)] == messages
    assert os.listdir(tmp_path) == [shape]


def test_more_messages_than_names_have_digits(tmp_path: Path) -> None:
    """They are read in the order of their numbers."""
    recorder = Recorder(tmp_path / "run.tar")
    recorder._shape._number = 99_998
    for _ in range(4):
        recorder.write(Direction.BATSIM_TO_EDC, b"x")
    recorder.close()
    expected = [f"{number:05}-b2e.bin" for number in range(99_998, 100_002)]
    assert [name for name, _ in read(tmp_path / "run.tar")] == expected
    (tmp_path / "run").mkdir()
    for name in expected:
        (tmp_path / "run" / name).write_bytes(b"x")
    assert [name for name, _ in read(tmp_path / "run")] == expected


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_overwritten(tmp_path: Path, shape: str) -> None:
    path = tmp_path / shape
    for _ in range(2):
        if path.exists():
            before = read(path)
            with pytest.raises(FileExistsError) as caught:
                Recorder(path)
            assert caught.value.filename == str(path)
            assert read(path) == before
        else:
            with Recorder(path) as recorder:
                recorder.write(Direction.BATSIM_TO_EDC, b"precious")


@pytest.mark.parametrize("name", ["run.tgz", "run.zip", "no/such/folder/run.tar.xz"])
def test_where_nothing_can_be_recorded(tmp_path: Path, name: str) -> None:
    with pytest.raises(OSError) as caught:  # noqa: PT011  # which one, its filename tells
        Recorder(tmp_path / name)
    assert caught.value.filename == str(tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="no limit can be set to the size of a file")
def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    program = """
import resource, signal, sys
from batprotocol import Direction
from batprotocol.edc.recording import Recorder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
recorder = Recorder(sys.argv[1])
try:
    while True:
        recorder.write(Direction.BATSIM_TO_EDC, bytes(1000))
except OSError as error:
    print(error.filename)
recorder.close()
"""
    path = tmp_path / "run.tar"
    done = subprocess.run([sys.executable, "-c", program, str(path)], env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{path}\n", "")
    assert len(read(path)) > 1000


# Conversations


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("format", ["binary", "json"])
def test_a_whole_conversation_is_recorded(tmp_path: Path, shape: str, format: str) -> None:
    def script(peer: Peer) -> list[bytes]:
        heard = []
        for message in (None, begins(), submitted(1.0), said(2.0), ends(3.0)):
            if message is None:
                frame = frames.encode_init("init")
            else:
                frame = message.to_binary() if format == "binary" else message.to_json().encode() + b"\0"
            heard += [frame, peer.ask(frame)]
        return heard

    batsim = InThread(script)
    run(Everywhere(), ANY_PORT, format, record=tmp_path / shape, on_bound=batsim)
    assert [data for _, data in read(tmp_path / shape)] == batsim.join()
    assert [name for name, _ in read(tmp_path / shape)] == names([Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM] * 5)


def test_what_is_said_in_leaving_is_recorded_too(tmp_path: Path) -> None:
    class Failing(Everywhere):
        def decide(self) -> None:
            if self.now == 2.0:
                raise LookupError

    def script(peer: Peer) -> int:
        begun(peer)
        return len([peer.say(message) for message in (submitted(1.0), said(2.0), ends(2.0))])

    batsim = InThread(script)
    with pytest.raises(LookupError):
        run(Failing(), ANY_PORT, record=tmp_path / "run.tar.xz", on_bound=batsim)
    batsim.join()
    messages = [data for _, data in read(tmp_path / "run.tar.xz")]
    assert len(messages) == 10
    assert [violation for violation in check(messages) if violation.is_fatal] == []


def test_a_simulator_that_is_gone_or_talks_garbage(tmp_path: Path) -> None:
    with pytest.raises(PeerGone):
        run(Everywhere(), ANY_PORT, record=tmp_path / "gone", on_bound=InThread(begun))
    assert len(read(tmp_path / "gone")) == 4
    with pytest.raises(DecodeError):
        run(Everywhere(), ANY_PORT, record=tmp_path / "odd", on_bound=InThread(lambda peer: peer.ask(b"garbage")))
    assert read(tmp_path / "odd")[0][1] == b"garbage"


KILLED = """
import os, signal, sys
from batprotocol.edc import Scheduler, run

class Killed(Scheduler):
    def decide(self):
        if self.now == float(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)

run(Killed(), sys.argv[1], record=sys.argv[2], on_bound=lambda endpoint: print(endpoint, flush=True))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("turns", [1, 30, 2000])
def test_a_recording_can_be_read_up_to_the_last_message_after_sigkill(tmp_path: Path, shape: str, turns: int) -> None:
    """Even the message that the scheduler never answered is there."""
    path = tmp_path / shape
    told: list[bytes] = [frames.encode_init("init"), begins().to_binary()]
    told += [said(float(turn)).to_binary() for turn in range(1, turns + 1)]
    command = [sys.executable, "-c", KILLED, ANY_PORT, str(path), str(turns)]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with Peer(process.stdout.readline().strip()) as peer:
            heard = [peer.ask(frame) for frame in told[:-1]]
            peer.socket.send(told[-1])
            assert process.wait(PATIENCE) == -signal.SIGKILL
    messages = [data for _, data in read(path)]
    assert messages[::2] == told
    assert messages[1::2] == heard
    assert [violation for violation in check(messages) if violation.is_fatal] == []
