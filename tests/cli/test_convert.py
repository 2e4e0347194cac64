"""`batproto convert`: from one format to the other, and never at the cost of the target."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest
from commands import ENVIRONMENT, HELLO, MESSAGE, PROGRAM, Result, as_json, run, run_here, write

from batprotocol.model import Message, RejectJobEvent
from batprotocol.wire import decode, detect, frames


def test_convert_there_and_back(message_file: Path, tmp_path: Path) -> None:
    text, binary = tmp_path / "a.json", tmp_path / "a.fb"
    assert run_here("convert", message_file, text) == Result(0, "", "")
    assert text.read_text() == MESSAGE.to_json(2) + "\n"
    assert run_here("convert", text, binary) == Result(0, "", "")
    assert binary.read_bytes() == MESSAGE.to_binary()


def test_a_recorded_event_that_is_later_than_its_message_is_converted(tmp_path: Path) -> None:
    late = Message(1.0, (RejectJobEvent(timestamp=5.0, job_id="w!1"),))
    data = late.to_binary(allow_late_events=True)
    given = write(tmp_path / "late.bin", data)
    assert run_here("convert", given, tmp_path / "late.json") == Result(0, "", "")
    assert (tmp_path / "late.json").read_text() == late.to_json(2, allow_late_events=True) + "\n"
    assert run_here("convert", tmp_path / "late.json", tmp_path / "back.bin") == Result(0, "", "")
    assert (tmp_path / "back.bin").read_bytes() == data
    shown = run_here("dump", "--json", given)
    assert shown.status == 0
    assert json.loads(shown.out)["events"][0]["timestamp"] == 5.0


@pytest.mark.slow
@pytest.mark.once
def test_convert_through_pipes() -> None:
    assert json.loads(run("convert", "-", "-", given=MESSAGE.to_binary()).out) == as_json(MESSAGE)
    converted = subprocess.run(
        [*PROGRAM, "convert", "-", "-"],
        input=MESSAGE.to_json().encode(),
        capture_output=True,
        env=ENVIRONMENT,
        check=True,
    )
    assert converted.stdout == MESSAGE.to_binary()


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("a.json", [], "json"),
        ("a.bin", [], "binary"),
        ("a.fb", [], "binary"),
        ("a", [], "json"),
        ("a.txt", [], "json"),
        ("a.json", ["--to", "binary"], "binary"),
        ("a.bin", ["--to", "json"], "json"),
    ],
)
def test_convert_finds_out_the_format(
    message_file: Path, tmp_path: Path, name: str, options: list[str], expected: str
) -> None:
    assert run_here("convert", message_file, tmp_path / name, *options).status == 0
    data = (tmp_path / name).read_bytes()
    assert detect(data) == expected
    assert decode(data) == MESSAGE


def test_convert_indents_as_asked(message_file: Path) -> None:
    assert run_here("convert", "--indent", "0", message_file, "-").out == MESSAGE.to_json() + "\n"
    assert run_here("convert", "--indent", "4", message_file, "-").out == MESSAGE.to_json(4) + "\n"
    assert run_here("convert", "--indent", "-1", message_file, "-").status == 2


def test_convert_in_place_keeps_mode_and_link(message_file: Path, tmp_path: Path) -> None:
    message_file.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(message_file)
    assert run_here("convert", message_file, link).status == 0
    assert link.is_symlink()
    assert message_file.read_text() == MESSAGE.to_json(2) + "\n"
    assert stat.S_IMODE(message_file.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00004-b2e.bin", "link"]


@pytest.mark.slow
@pytest.mark.once
def test_convert_to_what_is_no_file(message_file: Path) -> None:
    assert json.loads(run("convert", "--to", "json", message_file, "/dev/stdout").out) == as_json(MESSAGE)


@pytest.mark.parametrize("format", ["binary", "json"])
def test_convert_keeps_the_hello_frame(tmp_path: Path, format: str) -> None:
    other = {"binary": "json", "json": "binary"}[format]
    frame = write(tmp_path / "hello", frames.encode_hello(HELLO, format))
    assert run_here("convert", frame, tmp_path / "out").status == 0
    assert (tmp_path / "out").read_bytes() == frames.encode_hello(HELLO, other)


def test_what_cannot_be_converted_leaves_the_target_alone(message_file: Path, tmp_path: Path) -> None:
    target = write(tmp_path / "target.json", "precious")
    init = write(tmp_path / "init", frames.encode_init("x"))
    broken = write(tmp_path / "broken", b"nonsense")
    newer = write(tmp_path / "newer", '{"now": 1,"events": [],"later": 1}')
    for source in (init, broken, newer, tmp_path, tmp_path / "missing"):
        result = run_here("convert", source, target)
        assert result.status == 1
        assert result.err.count("\n") == 1
        assert result.out == ""
    assert target.read_text() == "precious"
    in_no_folder = tmp_path / "no" / "folder.json"
    assert run_here("convert", message_file, in_no_folder) == Result(
        1, "", f"batproto: {in_no_folder}: no such file or directory\n"
    )
    assert run_here("convert", message_file, tmp_path) == Result(1, "", f"batproto: {tmp_path}: is a directory\n")
