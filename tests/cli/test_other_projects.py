"""Schemas of other projects on the command line: included files, root types, messages without events."""

from __future__ import annotations

from pathlib import Path

import flatc
import pytest
from commands import run_here as batproto

WITHOUT_ENGINE = True
pytestmark = flatc.needs_flatc

LOW = "namespace low; struct P { x: float; } table Leaf { v: int; }"
TOP = """include "low.fbs";
table Draw {
  name: string;
  at: low.P;
  d: double;
  f: float;
  any: [ubyte] (flexbuffer);
  inner: [ubyte] (nested_flatbuffer: "low.Leaf");
}
"""
TEXT = '{"name": "n", "at": {"x": 1.5}, "d": 0.5, "f": 0.25, "any": {"a": [1]}, "inner": {"v": 7}}'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    Path("parts/low.fbs").write_text(LOW)
    Path("top.fbs").write_text(TOP)
    Path("m.json").write_text(TEXT)
    return tmp_path


SCHEMA = ("--schema", "top.fbs", "-I", "parts", "--root-type", "Draw")


def test_a_message_of_another_project(place: Path) -> None:
    assert batproto("convert", *SCHEMA, "m.json", "m.bin").status == 0
    shown = batproto("dump", *SCHEMA, "m.bin").out
    assert '├── name: "n"' in shown
    assert "├── at: x=1.5" in shown
    assert "├── any: a=[1]" in shown
    assert "└── inner: v=7" in shown
    assert batproto("validate", *SCHEMA, "m.bin", "m.json").out.splitlines()[:2] == [
        "ok m.bin: binary",
        "ok m.json: JSON",
    ]
    assert batproto("convert", *SCHEMA, "m.bin", "again.json").status == 0
    assert batproto("convert", *SCHEMA, "again.json", "again.bin").status == 0
    assert Path("again.bin").read_bytes() == Path("m.bin").read_bytes()
    Path("cut.bin").write_bytes(Path("m.bin").read_bytes()[:60])
    done = batproto("dump", *SCHEMA, "cut.bin")
    assert done.status == 1
    assert "outside the message" in done.err


def test_messages_that_look_like_frames(place: Path) -> None:
    """A message of another project has neither flags nor a size before it."""
    assert batproto("convert", *SCHEMA, "m.json", "m.bin").status == 0
    data = bytearray(Path("m.bin").read_bytes())
    start = int.from_bytes(data[:4], "little")
    grown = data + bytes(start + 4 - len(data)) if start + 4 > len(data) else data[: start + 4]
    Path("frame.bin").write_bytes(grown)
    assert int.from_bytes(grown[:4], "little") == len(grown) - 4
    assert "init" not in batproto("dump", *SCHEMA, "frame.bin").out


def test_included_files_and_root_types(place: Path) -> None:
    done = batproto("convert", "--schema", "top.fbs", "m.json", "-")
    assert "unable to load include file: low.fbs" in done.err
    done = batproto("convert", "--schema", "top.fbs", "-I", "parts", "m.json", "-")
    assert "the schema has no root type" in done.err
    done = batproto("convert", "--schema", "top.fbs", "-I", "parts", "--root-type", "low.Leaf", "m.json", "-")
    assert "name, byte 1: Leaf has no field of this name" in done.err
    for name in ("low.P", "Nothing"):
        done = batproto("convert", "--schema", "top.fbs", "-I", "parts", "--root-type", name, "m.json", "-")
        assert f"the schema has no table {name}, which is to be the root type" in done.err
    done = batproto("dump", "--schema", "2024-10", "--root-type", "Job", "m.json")
    assert "a root type is for .fbs and .bfbs files, and 2024-10 has its own" in done.err
    assert "--include is for --schema: add --schema FILE" in batproto("dump", "-I", "parts", "m.json").err
    assert "--root-type is for --schema" in batproto("dump", "--root-type", "Draw", "m.json").err


def test_the_schema_command_takes_them_too(place: Path) -> None:
    Path("new.fbs").write_text(TOP.replace("name: string", "name: string (required)"))
    assert batproto("schema", "--check", "--diff", "top.fbs", "new.fbs").status == 2
    rest = ("-I", "parts", "--root-type", "Draw")
    done = batproto("schema", "--check", "--diff", "top.fbs", "new.fbs", *rest)
    assert (done.status, "new.fbs:3: Draw.name required" in done.out) == (1, True)
    changed = Path("other")
    changed.mkdir()
    (changed / "low.fbs").write_text(LOW)
    assert 'root = "Draw"' in batproto("schema", "--wireshark", "top.fbs", *rest).out
    done = batproto("schema", "--describe", "top.fbs", *rest)
    assert "the text has no form for" in done.err
    assert "--include is for --diff" in batproto("schema", "-I", "parts").err
    assert "--root-type is for --diff" in batproto("schema", "--root-type", "Draw").err


@pytest.mark.parametrize(
    ("old", "new", "is_told"),
    [
        ('"d": 0.5', '"d": 0.333333333333', "d"),
        ('"f": 0.25', '"f": 0.333333', "f"),
        ('"x": 1.5', '"x": 1.234567', "at.x"),
        ('"d": 0.5', '"d": 0.3333333333333333', ""),
        ('"d": 0.5', '"d": 0.333333', ""),
        ('"d": 0.5', '"d": 123456.333333333333', ""),
        ('"f": 0.25', '"f": 0.33333334', ""),
    ],
)
def test_numbers_that_flatc_may_have_rounded_are_told(place: Path, old: str, new: str, is_told: str) -> None:
    Path("m.json").write_text(TEXT.replace(old, new))
    done = batproto("convert", *SCHEMA, "m.json", "m.bin")
    assert done.status == 0
    said = f"digits may be gone, first at {is_told}"
    assert (said in done.err) if is_told else (done.err == "")


def test_numbers_that_batsim_may_have_rounded_are_told(place: Path) -> None:
    Path("b.json").write_text('{"now": 0.333333333333, "events": []}')
    done = batproto("convert", "b.json", "b.bin")
    assert (done.status, "1 number has the decimals" in done.err) == (0, True)
    for schema in ([], ["--schema", "2024-10"]):
        Path("b.json").write_text('{"now": 0.25, "events": []}')
        assert batproto("convert", *schema, "b.json", "b.bin").err == ""


def test_what_is_not_known_of_a_schema_is_told(place: Path) -> None:
    Path("lost.fbs").write_text("enum E : ulong { Top = 18446744073709551615 } table R { e: E = Top; } root_type R;")
    Path("lost.bfbs").write_bytes(flatc.reflection(Path("lost.fbs")))
    Path("r.json").write_text("{}")
    done = batproto("convert", "--schema", "lost.bfbs", "r.json", "-")
    assert done.err.startswith("batproto: lost.bfbs: R.e may have a default from 2^63")
    done = batproto("convert", "--schema", "lost.fbs", "r.json", "r.bin")
    assert (done.status, done.err) == (0, "")
