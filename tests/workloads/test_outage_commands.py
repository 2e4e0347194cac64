"""`batproto workload failures`, `windows` and `outages`, and `simulate --events`: files, sentences, exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from commands import run_here

from batprotocol.workloads.host_events import (
    FAILURE_PRESETS,
    FailureModel,
    Fixed,
    Weibull,
    Window,
    drawn_failures,
    host_event_schema,
    read_host_event,
)

WITHOUT_ENGINE = True
SCHEMA = jsonschema.Draft202012Validator(host_event_schema())


def events_of(text: str) -> list[tuple[float, str]]:
    return [(each["timestamp"], each["data"]) for each in map(json.loads, text.splitlines())]


def test_the_schema_is_printed() -> None:
    result = run_here("schema", "--host-events")
    assert (result.status, json.loads(result.out)) == (0, host_event_schema())
    assert run_here("schema", "--host-events", "--offers").status == 2


def test_failures_are_those_of_python(tmp_path: Path) -> None:
    path = tmp_path / "failures.jsonl"
    arguments = (
        "--hosts",
        "16",
        "--until",
        "60d",
        "--seed",
        "3",
        "--each",
        "rack=4",
        "weibull:shape=0.7,mean=10d",
        "fixed:2h",
    )
    printed = run_here("workload", "failures", *arguments)
    assert printed.status == 0
    model = FailureModel(Weibull.of_mean(0.7, 864000.0), Fixed(7200.0), "rack=4")
    expected = [(time, event.to_data()) for time, event in drawn_failures(16, model, until=60 * 86400.0, seed=3)]
    assert events_of(printed.out) == expected
    assert all(SCHEMA.is_valid(json.loads(data)) for _, data in expected)
    written = run_here("workload", "failures", *arguments, "-o", path)
    assert (written.status, written.out) == (0, f"wrote {len(expected)} events into {path}\n")
    assert path.read_text() == printed.out


def test_the_command_has_all_presets() -> None:
    text = run_here("workload", "failures", "--help").out
    assert f"[{'|'.join(FAILURE_PRESETS)}]" in text


def test_hosts_can_be_described() -> None:
    described = run_here(
        "workload", "failures", "--hosts", "n[0-3] rack=a; n[4-5] rack=b", "--until", "10d", "--each", "property=rack",
        "exponential:1d", "fixed:1h",
    )  # fmt: skip
    assert {json.loads(data)["hosts"] for _, data in events_of(described.out)} == {"0-3", "4-5"}
    assert run_here("workload", "failures", "--hosts", "64", "--until", "1y", "--preset", "opendc").out


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("failures", "--hosts", "4", "--until", "1d"), 1, "name the laws"),
        (("failures", "--until", "1d", "--preset", "opendc"), 1, "name the machine"),
        (("failures", "--hosts", "4", "--until", "1x", "--preset", "opendc"), 2, "expected a duration"),
        (("failures", "--hosts", "4", "--until", "1d", "--preset", "lanl"), 1, "give one"),
        (
            ("failures", "--hosts", "4", "--until", "1d", "--each", "host", "fixed", "fixed:1"),
            1,
            "--each: expected fixed:",
        ),
        (
            ("failures", "--hosts", "4", "--until", "1d", "--mtbf", "1d", "--each", "host", "fixed:1", "fixed:1"),
            1,
            "--mtbf",
        ),
        (
            ("failures", "--hosts", "4", "--until", "1d", "--each", "room", "fixed:1", "fixed:1"),
            1,
            "expected host, machine",
        ),
        (("failures", "--hosts", "0", "--until", "1d", "--preset", "opendc"), 1, "hosts from 1 to 1,000,000, got 0"),
        (("failures", "--hosts", "999999999", "--until", "1d", "--preset", "opendc"), 1, "got 999999999"),
        (("windows",), 1, "name the windows"),
        (("windows", "no.csv", "--hosts", "0"), 1, "leave out --hosts"),
        (("windows", "no.csv"), 1, "no.csv"),
        (("windows", "--hosts", "x", "--every", "1d", "--for", "1h", "--until", "9d"), 1, "hosts"),
        (
            ("windows", "--hosts", "0", "--every", "1h", "--for", "1d", "--until", "9d"),
            1,
            "--for: expected seconds > 0, and at most the 3600 s from one begin to the next, got 86400.0",
        ),
        (
            ("windows", "--hosts", "0", "--every", "0", "--for", "1", "--until", "9d"),
            1,
            "--every: expected seconds > 0, got 0",
        ),
        (
            ("windows", "--hosts", "0", "--every", "1", "--for", "1", "--until", "900y"),
            1,
            "--every: expected at most 10,000,000 windows until 28401840000 s, got one each 1 s",
        ),
    ],
)
def test_bad_arguments_get_a_sentence(arguments: tuple[str, ...], status: int, said: str) -> None:
    result = run_here("workload", *arguments)
    assert (result.status, result.out) == (status, "")
    assert said in result.err
    assert "Traceback" not in result.err


def test_windows(tmp_path: Path) -> None:
    result = run_here(
        "workload", "windows", "--hosts", "0-3", "--every", "7d", "--at", "1d8h", "--for", "6h", "--until", "4w",
        "--announced", "3d", "--name", "course", "--users", "ann, bob",
    )  # fmt: skip
    windows = [read_host_event(data) for _, data in events_of(result.out)]
    assert len(windows) == 4
    assert all(isinstance(each, Window) and each.users == ("ann", "bob") and each.name == "course" for each in windows)
    table = tmp_path / "table.csv"
    table.write_text("hosts,begin,end\n0,1d,2d\n0,x,2d\n")
    refused = run_here("workload", "windows", table)
    assert (refused.status, refused.out) == (1, "")
    assert f"{table}:3: begin: expected a duration" in refused.err
    skipped = run_here("workload", "windows", table, "--skip-bad")
    assert (skipped.status, len(events_of(skipped.out))) == (0, 1)
    assert "1 window left out: its begin cannot be read (line 3)" in skipped.err


def test_windows_of_a_table_that_overlap(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("hosts,begin,end,name\n9,1d,4d,a\n0-3,5d,6d,b\n0-9,3d,5d,c\n1-2,6d,7d,d\n")
    refused = run_here("workload", "windows", table)
    assert (refused.status, refused.out) == (1, "")
    assert f"{table}:4: window: it overlaps with the window 'a' from 86400 to 345600 on hosts 9" in refused.err
    skipped = run_here("workload", "windows", table, "--skip-bad", "--announced", "1d")
    assert (skipped.status, len(events_of(skipped.out))) == (0, 3)
    assert "1 window left out: its window overlaps with another one on the same hosts (line 4)" in skipped.err


def test_events_are_checked_before_a_simulation(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    bad = '{"type":"generic","timestamp":5,"data":"{\\"hosts\\":\\"0\\",\\"state\\":\\"up\\"}"}\n'
    good = '{"type":"generic","timestamp":6,"data":"{\\"hosts\\":\\"0\\",\\"state\\":\\"drain\\"}"}\n'
    path.write_text(good.replace("drain", "other") + good)
    arguments = ("simulate", "fcfs", "--hosts", "n[0-31]", "--events", path)
    wrong = run_here(*arguments)
    assert (wrong.status, wrong.out) == (1, "")
    assert f"{path}:1: state: expected down, drain, up" in wrong.err
    path.write_text(bad + good)
    refused = run_here(*arguments)
    assert (refused.status, refused.out) == (1, "")
    assert f"{path}:1: state: host 0 is up already" in refused.err
    skipped = run_here(*arguments, "--skip-bad")
    assert skipped.status == 0
    assert "1 event left out: its hosts cannot change to this state" in skipped.err
    assert run_here("simulate", "--events", path).status == 0  # another scheduler may read other data
    assert run_here("simulate", "--skip-bad").status == 2
