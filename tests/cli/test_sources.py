"""Where `batproto` finds messages: files, folders, archives, pipes, standard input."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from commands import ENVIRONMENT, HELLO, MESSAGE, PROGRAM, Result, as_json, run, run_here, write, write_archive
from support import read_run

from batprotocol.model import Message
from batprotocol.wire import decode, frames


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("data", [MESSAGE.to_binary(), MESSAGE.to_json().encode(), frames.encode_hello(HELLO)])
def test_standard_input(data: bytes) -> None:
    result = run("dump", "--json", "-", given=data)
    assert result.status == 0
    assert json.loads(result.out) == as_json(decode(data))


@pytest.mark.slow
@pytest.mark.once
def test_an_archive_on_standard_input(recorded_run: Path) -> None:
    from_file = run_here("dump", "--json-lines", recorded_run)
    assert run("dump", "--json-lines", "-", given=recorded_run.read_bytes()) == from_file


@pytest.mark.slow
@pytest.mark.once
def test_empty_standard_input() -> None:
    assert run("dump", "-") == Result(1, "", "batproto: standard input: is empty\n")


@pytest.mark.slow
@pytest.mark.once
def test_a_pipe_with_a_name(message_file: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([*PROGRAM, "dump", "--json", pipe], stdout=subprocess.PIPE, env=ENVIRONMENT) as process:
        pipe.write_bytes(message_file.read_bytes())
        out, _ = process.communicate()
    assert json.loads(out) == as_json(MESSAGE)


def test_several_files_are_printed_in_the_order_of_the_arguments(tmp_path: Path) -> None:
    files = [write(tmp_path / name, Message(now, ()).to_binary()) for now, name in enumerate("cab")]
    out = run_here("dump", "--json-lines", *files).out
    assert [json.loads(line)["now"] for line in out.splitlines()] == [0, 1, 2]


def test_a_directory_is_its_messages_by_name(tmp_path: Path) -> None:
    names = ["00002-b2e.bin", "00010-e2b.bin", "a.json", "b.fb", "deep/00001-e2b.bin"]
    ignored = ["twin/00002-b2e.json", "run.json", "jobs.csv", ".hidden.bin", ".git/x.bin", "notes.txt"]
    for number, name in enumerate(reversed(names)):
        message = Message(len(names) - 1 - number, ())
        write(tmp_path / name, message.to_json() if name.endswith("json") else message.to_binary())
    for name in ignored:
        write(tmp_path / name, "nonsense")
    write_archive(tmp_path / "z.tar.xz", [("00001-b2e.bin", Message(5, ()).to_binary())])
    result = run_here("dump", "--json-lines", tmp_path)
    assert result.err == ""
    assert [json.loads(line)["now"] for line in result.out.splitlines()] == [0, 1, 2, 3, 4, 5]


def test_a_directory_without_messages(tmp_path: Path) -> None:
    result = run_here("dump", tmp_path)
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(f"batproto: {tmp_path}: holds no message files (*.bin,")


def as_anyone() -> None:
    """Root may read everything, but for two capabilities that it can give up."""
    if os.geteuid() == 0:
        drop_capability, overrides = 24, (1, 2)
        for capability in overrides:
            assert ctypes.CDLL(None).prctl(drop_capability, capability, 0, 0, 0) == 0


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("command", [["dump"], ["validate"], ["convert", "--to", "json"], ["simulate", "--platform"]])
def test_a_file_that_may_not_be_read(message_file: Path, command: list[str]) -> None:
    message_file.chmod(0)
    arguments = [*PROGRAM, *command, str(message_file), *(["-"] if command[0] == "convert" else [])]
    done = subprocess.run(
        arguments, env=ENVIRONMENT, capture_output=True, text=True, check=False, preexec_fn=as_anyone, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"batproto: {message_file}: permission denied\n"


def test_an_archive_is_its_messages_by_name(recorded_run: Path) -> None:
    lines = [line for line in run_here("dump", recorded_run).out.splitlines() if line[0] not in "├│└ "]
    messages = read_run(recorded_run)
    assert [line.split(": ")[0] for line in lines] == [
        f"{recorded_run}/{message.number:05}-{message.direction}.bin" for message in messages
    ]
    ways = {"b2e": "Batsim to EDC", "e2b": "EDC to Batsim"}
    assert all(ways[message.direction] in line for line, message in zip(lines, messages, strict=True))


@pytest.mark.parametrize(("suffix", "mode"), [(".tar.xz", "w:xz"), (".tar", "w"), (".tar.gz", "w:gz"), ("", "w:xz")])
def test_archives_need_no_order_and_no_name(tmp_path: Path, suffix: str, mode: str) -> None:
    members = [(f"./run/{number:05}-b2e.bin", Message(number, ()).to_binary()) for number in (2, 0, 1)]
    others = [("./run/run.json", b"{}"), ("./run/jobs.csv", b"x"), ("./run/twin/00000-b2e.json", b"?")]
    archive = write_archive(tmp_path / f"run{suffix}", [*others, *members], mode)
    result = run_here("dump", "--json-lines", archive)
    assert result.err == ""
    assert [json.loads(line)["now"] for line in result.out.splitlines()] == [0, 1, 2]


def test_a_member_of_an_archive(recorded_run: Path) -> None:
    message = read_run(recorded_run)[2]
    member = f"{recorded_run}/00002-{message.direction}.bin"
    assert json.loads(run_here("dump", "--json", member).out) == as_json(decode(message.data))
    missing = run_here("dump", f"{recorded_run}/missing.bin")
    assert missing == Result(1, "", f"batproto: {recorded_run}: has no member missing.bin\n")


def test_an_archive_that_is_cut_short_is_read_up_to_there(tmp_path: Path) -> None:
    members = [(f"{number:05}-b2e.bin", os.urandom(30_000) if number else MESSAGE.to_binary()) for number in range(3)]
    whole = write_archive(tmp_path / "whole.tar.xz", members).read_bytes()
    result = run_here("dump", "-e", "RejectJob", write(tmp_path / "cut.tar.xz", whole[: len(whole) // 2]))
    assert result.status == 1
    assert "[2] RejectJobEvent" in result.out
    assert "cut.tar.xz: breaks off after" in result.err


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\xfd7zXZ\0", b"\x1f\x8b\x08\0"])
def test_what_is_no_archive(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path / "a.tar.xz", data)
    result = run_here("dump", path)
    assert (result.status, result.out) == (1, "")
    assert result.err == f"batproto: {path}: is not a tar archive, or not a whole one\n"


def test_an_archive_without_messages(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a.tar.xz", [("readme.txt", b"x")])
    assert run_here("dump", path) == Result(1, "", f"batproto: {path}: holds no messages (*.bin, *.json, *.fb)\n")


def test_what_is_larger_than_any_message_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bin", b"")
    os.truncate(path, 2**31 + 1)
    assert "a.bin: is larger than the limit for a message" in run_here("validate", path).err
    member = tarfile.TarInfo("00001-b2e.bin")
    member.size = 2**31 + 1
    write(tmp_path / "b.tar", member.tobuf() + bytes(1024))  # the header says it all: `addfile` wants all the bytes
    assert "b.tar/00001-b2e.bin: is larger than the limit for a message" in run_here("validate", tmp_path / "b.tar").err
