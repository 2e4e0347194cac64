"""`batproto validate`: what is good, and what is bad."""

from __future__ import annotations

from pathlib import Path

from commands import HELLO, MESSAGE, Result, run_here, write, write_archive
from support import read_run

from batprotocol.wire import decode, frames


def test_validate_tells_what_is_good(message_file: Path, recorded_run: Path) -> None:
    messages = read_run(recorded_run)
    events = sum(len(decode(message.data).events) for message in messages[1:])
    result = run_here("validate", message_file, recorded_run)
    assert result == Result(
        0,
        f"ok {message_file}: binary, 5 events\n"
        f"ok {recorded_run}: {len(messages)} messages, {events} events\n"
        f"2 files ({len(messages) + 1} messages), all good\n",
        "",
    )
    assert run_here("validate", "--quiet", message_file, recorded_run) == Result(0, "", "")


def test_validate_tells_what_is_bad(message_file: Path, tmp_path: Path) -> None:
    broken = write(tmp_path / "broken.json", '{"now": 1}')
    archive = write_archive(tmp_path / "a.tar.xz", [("1.bin", b"?"), ("2.bin", MESSAGE.to_binary())])
    result = run_here("validate", broken, message_file, archive, tmp_path / "missing")
    assert result.status == 1
    assert result.out == f"ok {message_file}: binary, 5 events\n4 files (5 messages), 3 of them bad\n"
    assert [line.split(": ")[1] for line in result.err.splitlines()] == [
        str(broken),
        f"{archive}/1.bin",
        str(tmp_path / "missing"),
    ]
    quiet = run_here("validate", "-q", broken, message_file, archive, tmp_path / "missing")
    assert quiet == Result(1, "", result.err)


def test_validate_knows_the_handshake(tmp_path: Path) -> None:
    init = write(tmp_path / "0", frames.encode_init("x"))
    hello = write(tmp_path / "1", frames.encode_hello(HELLO, "json"))
    result = run_here("validate", init, hello)
    assert result.out.splitlines()[:2] == [f"ok {init}: init frame", f"ok {hello}: hello frame (JSON), 1 event"]
