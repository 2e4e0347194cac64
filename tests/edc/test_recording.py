"""Recordings: what is said is what is recorded, and it can be read whatever becomes of the program."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
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
from batprotocol.edc.recording.mcap import TOPICS
from batprotocol.edc.recording.names import UNFINISHED
from batprotocol.edc.recording.recorder import facts, fingerprint
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


@pytest.mark.parametrize("count", [0, 1, 40])
def test_the_index_of_a_file_is_right_for_the_reader_of_others(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each topic and each time is found by it, as if all messages were looked at."""
    from mcap.reader import make_reader

    monkeypatch.setattr("batprotocol.edc.recording.mcap.CHUNK", 2000)
    sent = []
    path = tmp_path / "run.mcap"
    with Recorder(path, {"scheduler": "é"}) as recorder:
        for number in range(count):
            now = 1e30 if number == count - 1 else float(number // 3)
            direction = list(Direction)[number * number % 3 % 2]
            data = b"x" * (number * 37 % 400 + 1)
            moment = 2**64 - 1 if now == 1e30 else int(now * 1e9)
            topic = TOPICS[direction]
            sent.append((topic, moment, 10**18 + number, data))
            recorder.write(direction, data, 10**18 + number, now=now)
            if number == 20:
                recorder.keep("out/jobs.csv", b"a,b\n")
    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        assert summary.statistics.message_count == count
        counts = Counter(topic for topic, *_ in sent)
        names = {number: channel.topic for number, channel in summary.channels.items()}
        found = {names[number]: many for number, many in summary.statistics.channel_message_counts.items() if many}
        assert found == dict(counts)
        assert summary.statistics.attachment_count == len(summary.attachment_indexes) == (count > 20)
        assert [each.data for each in reader.iter_attachments()] == [b"a,b\n"] * (count > 20)
        assert any("é" in each.metadata.values() for each in reader.iter_metadata())
        assert len(summary.chunk_indexes) == summary.statistics.chunk_count
        chunks = [chunk for chunk in summary.chunk_indexes if chunk.message_index_offsets]  # others have no messages
        assert (len(chunks) > 2) is (count == 40)
        assert bool(chunks) is bool(sent)
        for chunk in chunks:
            assert sum(1 for moment in sent if chunk.message_start_time <= moment[1] <= chunk.message_end_time)
            assert chunk.message_index_length > 0
            for number, place in chunk.message_index_offsets.items():
                assert path.read_bytes()[place] == 7  # an index of messages
                assert int.from_bytes(path.read_bytes()[place + 9 : place + 11], "little") == number
        if sent:
            assert (summary.statistics.message_start_time, summary.statistics.message_end_time) == (
                min(each[1] for each in sent),
                max(each[1] for each in sent),
            )
        for topics in (None, *([topic] for topic in counts)):
            messages = reader.iter_messages(topics)
            read_by_others = [(each.topic, one.log_time, one.publish_time, one.data) for _, each, one in messages]
            assert sorted(read_by_others) == sorted(each for each in sent if topics is None or each[0] in topics)


@pytest.mark.parametrize("name", ["0.bin", "x.json", "y.fb", UNFINISHED])
def test_a_folder_with_messages_is_not_written_to(name: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("of somebody")
    with Recorder(tmp_path):
        pass
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(FileExistsError, match="the folder already holds messages: choose another one"):
        Recorder(tmp_path)


@pytest.mark.parametrize("name", ["", "/a", "../a", "a/../b", "a\0", "a\\b"])
def test_names_that_files_of_a_recording_cannot_have(name: str, tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.tar") as recorder:
        with pytest.raises(ValueError, match="is not a name for a file in a recording"):
            recorder.keep(name, b"")
        recorder.keep("a/b.c", b"d")
    with tarfile.open(tmp_path / "run.tar") as archive:
        assert archive.getnames() == ["a/b.c"]


def test_a_file_has_a_fingerprint(tmp_path: Path) -> None:
    for size in (0, 1, 2**20 - 1, 2**20, 2**20 + 1):
        path = tmp_path / "file"
        path.write_bytes(b"x" * size)
        assert fingerprint(path) == f"{path} sha256:{hashlib.sha256(b'x' * size).hexdigest()}"
    assert fingerprint(tmp_path) == str(tmp_path)
    assert fingerprint("nothing") == "nothing"


def test_the_facts_of_a_run() -> None:
    found = facts(a=None, b=3, c="\ud800")
    assert found.keys() == {"batprotocol", "python", "arguments", "b", "c"}
    assert (found["b"], found["c"]) == ("3", "\\ud800")
    assert found["python"] == ".".join(map(str, sys.version_info[:3])) + sys.version.split()[0].lstrip("0123456789.")
