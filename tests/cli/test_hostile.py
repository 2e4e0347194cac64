"""Small things that stand for large ones, and bytes that are not what they look like."""

from __future__ import annotations

import io
import itertools
import lzma
import os
import re
import subprocess
import sys
import tarfile
from importlib import import_module
from pathlib import Path
from typing import Any

import flatbuffers
import pytest
from batprotocol._schema.description import ENUMS, TABLES, UNIONS
from click.shell_completion import ShellComplete
from commands import run_here
from engines import each_engine
from hypothesis import given

from batprotocol import DecodeError, Doubles, EncodeError, Message, decode
from batprotocol import model as _model
from batprotocol.cli.main import batproto
from batprotocol.edc.recording import unpacked as archives
from batprotocol.errors import an
from batprotocol.model import KillJobsEvent, RejectJobEvent
from batprotocol.model.value import REPR_CHARACTERS
from batprotocol.testing import strategies
from batprotocol.wire import json
from batprotocol.wire.tree import from_message

PROGRAM = (sys.executable, "-m", "batprotocol")


def run(*arguments: object, folder: Path | None = None, **how: Any) -> tuple[int, str, str]:
    done = subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=folder, **how)
    return done.returncode, done.stdout, done.stderr


def shared(count: int, size: int) -> bytes:
    """A message whose one event has so many job ids, all of them the same string."""
    tables = {
        name: import_module(f"batprotocol.fb.{name}") for name in ("KillJobsEvent", "EventAndTimestamp", "Message")
    }
    builder = flatbuffers.Builder(size + 4 * count)
    text = builder.CreateString("a" * size)
    builder.StartVector(4, count, 4)
    for _ in range(count):
        builder.PrependUOffsetTRelative(text)
    ids = builder.EndVector()
    kill, envelope, message = tables["KillJobsEvent"], tables["EventAndTimestamp"], tables["Message"]
    kill.KillJobsEventStart(builder)
    kill.KillJobsEventAddJobIds(builder, ids)
    event = kill.KillJobsEventEnd(builder)
    envelope.EventAndTimestampStart(builder)
    envelope.EventAndTimestampAddEventType(builder, UNIONS["Event"].members.index("KillJobsEvent") + 1)
    envelope.EventAndTimestampAddEvent(builder, event)
    entry = envelope.EventAndTimestampEnd(builder)
    builder.StartVector(4, 1, 4)
    builder.PrependUOffsetTRelative(entry)
    events = builder.EndVector()
    message.MessageStart(builder)
    message.MessageAddEvents(builder, events)
    builder.Finish(message.MessageEnd(builder))
    return bytes(builder.Output())


BOMB = shared(20_000, 100_000)


# Small messages, large texts


@pytest.mark.slow
@given(strategies.messages())
def test_a_repr_that_is_not_cut_can_be_read_by_python(message: Message) -> None:
    shown = repr(message)
    if len(shown) <= REPR_CHARACTERS and "nan" not in shown and "..." not in shown and "<" not in shown:
        names = {**vars(_model), "Doubles": Doubles, "inf": float("inf")}
        assert eval(shown, names) == message


def test_a_repr_is_bounded() -> None:
    for _ in each_engine():
        message = decode(BOMB)
        assert len(repr(message)) < REPR_CHARACTERS + 20
        assert repr(message).endswith("... and more")
    with pytest.raises(DecodeError) as broken:
        decode(BOMB[: len(BOMB) // 2])
    assert len(repr(broken.value)) < 1000


@pytest.mark.slow
def test_a_text_that_would_be_far_too_long_is_refused() -> None:
    for _ in each_engine():
        message = decode(BOMB)
        for indent in (None, 0, 2):
            with pytest.raises(EncodeError, match="more than 268,435,456 characters"):
                message.to_json(indent)


def test_what_is_shared_is_written_each_time_as_long_as_the_text_is_not_too_long() -> None:
    for _ in each_engine():
        message = decode(shared(100, 1000))
        assert message.to_json().count("a" * 1000) == 100
        assert Message.from_json(message.to_json()) == message


@given(strategies.messages())
def test_the_size_that_is_foreseen_is_never_more_than_the_text_has(message: Message) -> None:
    tree = from_message(message)
    for indent in (None, 3):
        assert json._least_size(tree, indent or 0, {})[0] <= len(json.text(tree, indent))


def test_the_command_refuses_it_too(tmp_path: Path) -> None:
    path = tmp_path / "bomb.bin"
    path.write_bytes(BOMB)
    for arguments in (("dump", "--json-lines", path), ("dump", "--json", path), ("convert", path, "-")):
        status, out, err = run_here(*arguments)
        assert (status, out) == (1, "")
        assert "more than 268,435,456 characters" in err
    status, out, _ = run_here("dump", path)
    assert status == 0
    assert "[1] to [19999] 19,999 entries like [0]" in out


@pytest.mark.parametrize("indent", ["x", True, -1, 1.5])
def test_an_indent_is_a_number_of_spaces(indent: Any) -> None:
    for _ in each_engine():
        with pytest.raises(EncodeError, match="expected a number of spaces or None") as caught:
            Message(0.0).to_json(indent)
        assert caught.value.path == "indent"


# The same in both engines, and in text


@pytest.mark.parametrize("zero", ["-0", "-0.0", "-0e0", "'-0'", "-0x0p0", " -0 "])
def test_minus_zero_keeps_its_sign(zero: str) -> None:
    for _ in each_engine():
        assert str(Message.from_json(f'{{"now":{zero},"events":[]}}').now) == "-0.0"


def test_text_is_read_as_json() -> None:
    assert decode('{"now": 1.5, "events": []}') == Message(1.5)
    with pytest.raises(DecodeError, match=r"expected .\{. to open"):
        decode("\1\0\0\0")
    with pytest.raises(DecodeError, match="a message is bytes or text, got an int"):
        decode(7)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"[1,2]",
        b"<!DOCTYPE html>",
        *('{"now": 1, "events": []}'.encode(f"utf-16{order}") for order in ("", "-le", "-be")),
    ],
)
def test_text_that_is_no_message_is_neither(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match="neither JSON nor binary") as caught:
        decode(data)
    assert caught.value.offset is None
    (tmp_path / "a.json").write_bytes(data)
    assert "a.json: neither JSON nor binary" in run("validate", tmp_path / "a.json")[2]


def test_articles() -> None:
    for name in [*TABLES, *ENUMS, *UNIONS]:
        assert an(name).split()[0] == ("a" if name == "OneShot" or name[0] not in "AEIO" else "an")
    source = "\n".join(path.read_text() for path in Path(archives.__file__).parents[1].rglob("*.py"))
    assert not re.findall(r"""f["'].*\b(?:a|an) \{(?:type\(|name|type_\.|field\.type|ROOT)""", source)


# Archives


def archive(path: Path, sizes: dict[str, int], mode: str = "w:xz", **how: Any) -> Path:
    with tarfile.open(path, mode, **how) as made:
        for name, size in sizes.items():
            member = tarfile.TarInfo(name)
            member.size = size
            with open("/dev/zero", "rb") as zeros:
                made.addfile(member, zeros if size else io.BytesIO())
    return path


def limited(*arguments: object, **how: Any) -> tuple[int, str, str]:
    """Run the command with 1.5 GB of address space, and files of at most 300 MB."""

    def limit() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000_000, 300_000_000))

    return run(*arguments, preexec_fn=limit, **how)


@pytest.mark.slow
def test_an_archive_that_unpacks_to_far_more_than_itself_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.xz", {f"{9 - number}-b2e.bin": 50_000_000 for number in range(6)}, preset=0)
    status, _, err = limited("validate", path)
    assert status == 1
    assert "a.tar.xz: unpacks to more than 268,435,456 bytes; the limit is 268,435,456, or 500 times its size" in err


def test_nothing_but_zeros_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "a.tar.xz").write_bytes(bytes(1_000_000))
    (tmp_path / "b.tar.xz").write_bytes(lzma.compress(bytes(1_000_000)))
    for name in ("a.tar.xz", "b.tar.xz"):
        assert f"{name}: holds no messages" in run_here("validate", tmp_path / name)[2]


@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_a_header_is_not_read_whatever_its_size(tmp_path: Path, format: int) -> None:
    path = archive(tmp_path / "a.tar.xz", {"a" * 2_000_000 + ".bin": 0}, format=format)
    assert re.search("has a header of 2,000,[0-9]+ bytes, and the limit is 1,048,576", run_here("validate", path)[2])


@pytest.mark.slow
def test_a_file_without_an_end_is_not_read_to_it(tmp_path: Path) -> None:
    assert "is larger than the limit for a message, 268,435,456 bytes" in limited("validate", "/dev/zero")[2]
    with open(tmp_path / "a.bin", "wb") as large:
        large.truncate(2**31)
    assert "is larger than the limit for a message" in limited("validate", tmp_path / "a.bin")[2]


NAMES = ["0.bin", f"d/{'x' * 120}.bin", f"{'e' * 99}/{'f' * 99}.json", "é.bin", f"{'y' * 300}.fb"]


@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_archives_are_read_as_tarfile_reads_them(tmp_path: Path, mode: str, format: int) -> None:
    for names in (sorted(NAMES), NAMES[::-1]):
        path = archive(tmp_path / "a.tar", {name: 700 + len(name) for name in names}, mode, format=format)
        with open(path, "rb") as file:
            found = {
                each.name: b"".join(each.content())
                for each in archives.chosen(file, lambda name: True)
                if isinstance(each, archives.Member)
            }
        assert list(found) == sorted(NAMES)
        with tarfile.open(path) as expected:
            for name, content in found.items():
                file_in_it = expected.extractfile(name)
                assert file_in_it is not None
                assert content == file_in_it.read()


@pytest.mark.parametrize("size", [-1, 2**60])
def test_a_size_that_cannot_be_ends_the_archive(tmp_path: Path, size: int) -> None:
    member = tarfile.TarInfo("a.bin")
    header = bytearray(member.tobuf())
    header[124:136] = (size % 2**96 | (0 if size < 0 else 1 << 95)).to_bytes(12, "big")
    header[148:156] = b"%06o\0 " % (sum(header) - sum(header[148:156]) + 8 * 32)
    for name, data in (("a.tar", bytes(header)), ("a.tar.xz", lzma.compress(header))):
        (tmp_path / name).write_bytes(data)
        status, _, err = run_here("validate", tmp_path / name)
        assert status == 1
        assert "a fault of batproto itself" not in err


def test_a_recording_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as made:
        for number in range(50):
            content = Message(float(number)).to_binary()
            member = tarfile.TarInfo(f"{number:05}-b2e.json")
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    streams = b"".join(lzma.compress(data.getvalue()[at : at + 4096]) for at in range(0, len(data.getvalue()), 4096))
    cut = tmp_path / "cut.tar.xz"
    for size in (len(streams), len(streams) * 2 // 3):
        cut.write_bytes(streams[:size])
        _, out, err = run_here("dump", "--json-lines", cut)
        times = [float(number) for number in re.findall(r'"now": ([0-9.]+)', out)]
        assert times == list(itertools.islice(itertools.count(0.0), len(times)))
        assert len(times) == 50 if size == len(streams) else 20 < len(times) < 50
        assert ("is cut short or damaged" in err) == (size < len(streams))


# Bytes that are not what they look like


def test_a_message_behind_its_size_is_no_initialization_data(tmp_path: Path) -> None:
    data = Message(1.0, (RejectJobEvent(job_id="w0!1"),)).to_binary()
    for name in ("00004-e2b.bin", "reply-e2b.bin", "00004-b2e.bin", "reply.bin"):
        (tmp_path / name).write_bytes(len(data).to_bytes(4, "little") + data)
    for name in ("00004-e2b.bin", "reply-e2b.bin", "00004-b2e.bin"):
        status, out, err = run_here("validate", tmp_path / name)
        assert (status, out) == (1, "")
        assert "begins with its size, as message 0 does, but its name says that it is" in err
    status, out, err = run_here("validate", tmp_path / "reply.bin")
    assert status == 0
    assert "holds a message after its size, which Batsim does not survive as a reply" in err


def test_neighbours_tell_too(tmp_path: Path) -> None:
    data = Message(1.0).to_binary()
    (tmp_path / "0.bin").write_bytes(b"\2\0\0\0hi")
    (tmp_path / "1.bin").write_bytes(b"\2\0\0\0ho")
    (tmp_path / "2.bin").write_bytes(data)
    status, _, err = run_here("validate", tmp_path)
    assert status == 1
    assert "1.bin: byte 0: begins with its size, as message 0 does, but its name says that it is message 1" in err
    assert run_here("validate", tmp_path / "1.bin")[0] == 0  # alone, a number says nothing


# What newcomers stumbled over


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("--version",), ("--help",), ("rules",), ("dump", "a.bin"), ("completion", "bash")]
)
def test_a_closed_output_is_an_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "a.bin").write_bytes(Message(1.0).to_binary())
    command = " ".join([*map(str, PROGRAM), *arguments])
    done = subprocess.run(["sh", "-c", f"{command} >&-"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "batproto: standard output: it is closed\n")
    done = subprocess.run(["sh", "-c", f"{' '.join(PROGRAM)} validate -q a.bin >&-"], cwd=tmp_path, check=True)
    assert done.returncode == 0  # it says nothing


def test_the_exit_statuses_are_in_the_help() -> None:
    help = run_here("--help")[1]
    assert all(re.search(rf"^ +{status} +\w", help, re.MULTILINE) for status in (0, 1, 2, 130, 141))


@pytest.mark.parametrize(("start", "names"), [("JobS", 1), ("jobs", 2), ("Job", 3), ("JOB", 3)])
def test_completion_keeps_what_was_typed(start: str, names: int) -> None:
    completion = ShellComplete(batproto, {}, "batproto", "_BATPROTO_COMPLETE")
    found = [item.value for item in completion.get_completions(["dump", "-e"], start)]
    assert len(found) == names
    assert all(name.startswith(start) for name in found) or not any(name.startswith(start) for name in found)


@pytest.mark.slow
def test_a_narrow_terminal_keeps_the_tree(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    ids = tuple(f"w0!{number}" for number in range(40))
    path = tmp_path / "a.bin"
    path.write_bytes(Message(1.0, (RejectJobEvent(job_id="x " * 100), KillJobsEvent(job_ids=ids))).to_binary())
    terminal, its_end = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, "dump", path],
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
    ) as process:
        os.close(its_end)
        shown = b""
        try:
            while chunk := os.read(terminal, 65536):
                shown += chunk
        except OSError:  # Linux says so when the other end is closed
            pass
    os.close(terminal)
    assert process.returncode == 0
    _, *lines = shown.decode().replace("\r\n", "\n").splitlines()
    assert all(len(line) <= 80 for line in lines)
    wrapped = [line for line in lines if "x x x" in line]
    assert len(wrapped) >= 3
    assert all(line.startswith("│       ") for line in wrapped[1:])


def test_many_alike_elements_are_folded_unless_all_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(Message(1.0, (KillJobsEvent(job_ids=tuple(["a"] * 500 + ["b"] * 30)),)).to_binary())
    short, whole = run_here("dump", path)[1], run_here("dump", "--full", path)[1]
    assert len(short.splitlines()) == 7
    assert len(whole.splitlines()) == 533
