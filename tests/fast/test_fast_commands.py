"""FaST on the command line: payloads, JSON and recordings are found out, shown, converted and judged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import click
import pytest
from commands import run_here
from support import DATA, ROOT

from batprotocol.cli.main import main
from batprotocol.errors import DecodeError
from batprotocol.fast import values as v
from batprotocol.fast.commands import _send_message
from batprotocol.fast.conversation import CATALOGUE
from batprotocol.fast.recording import Recorded, read_line, write_line
from batprotocol.fast.runtime.connection import Broker
from batprotocol.fast.topics import MESSAGES, Topic
from batprotocol.fast.wire import decode, encode, to_json

WITHOUT_ENGINE = True

RECORDING = DATA / "fast" / "recordings" / "migfra_dummy_ok.jsonl"
TASK = v.SuspendVM([v.VM("vm1"), v.VM("a: b")], id="7")


def run(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str | Path) -> tuple[int, str, str]:
    """The exit status of a command, and what it prints."""
    with pytest.raises(SystemExit) as caught:
        main(list(map(str, arguments)))
    out, err = capfdbinary.readouterr()
    return int(caught.value.code or 0), out.decode(), err.decode()


def test_a_recording_is_shown_line_by_line(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    status, out, err = run(capfdbinary, "dump", RECORDING)
    assert status == 1  # some tasks in it are none
    assert out.startswith(
        f"{RECORDING}/1: fast/migfra/node-a/task, 1 event, 216 bytes\n"
        "└── [0] StartVM at 1795262399.122087\n"
        '    ├── vm-configurations: [{vm-name="centos7114"}]\n'
        '    └── id: "1234a"\n'
    )
    assert f"batproto: {RECORDING}/49: line 2, column 1: while parsing a flow sequence" in err
    assert out.count("unreadable message") == err.count("\n")
    status, out, _ = run(capfdbinary, "dump", "--event", "migratevm", f"{RECORDING}/9")
    assert status == 0
    assert "MigrateVM" in out
    assert run(capfdbinary, "dump", "--event", "StartVM", f"{RECORDING}/9")[1] == ""


def test_a_line_is_shown_as_json(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    status, out, _ = run(capfdbinary, "dump", "--json-lines", f"{RECORDING}/2")
    assert status == 0
    assert json.loads(out) == {
        "topic": "fast/migfra/node-a/result",
        "time": 1795262399.165038,
        "message": "Result",
        "result": "vm started",
        "list": [{"vm-name": "centos7114", "status": "success"}],
        "id": "1234a",
    }


@pytest.mark.parametrize("form", ["yaml", "specification", "json"])
def test_a_message_is_converted_from_and_to_each_form(
    form: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    forms = {
        "yaml": encode(TASK),
        "specification": encode(TASK, dialect="specification"),
        "json": to_json(TASK, 2).encode() + b"\n",
    }
    source = tmp_path / "message"
    source.write_bytes(forms[form])
    for other, data in forms.items():
        target = tmp_path / "other"
        assert run(capfdbinary, "convert", "--to", other, source, target) == (0, "", "")
        assert target.read_bytes() == data
    usual = forms["yaml" if form == "json" else "json"]
    assert run(capfdbinary, "convert", source, "-")[1].encode() == usual
    assert run(capfdbinary, "convert", source, tmp_path / "a.yaml")[0] == 0
    assert (tmp_path / "a.yaml").read_bytes() == forms["yaml"]
    assert run(capfdbinary, "validate", source)[0] == 0
    status, _, err = run(capfdbinary, "convert", "--to", "binary", source, "-")
    assert (status, err) == (
        1,
        f"batproto: {source}: this protocol has no binary form: it can be converted to json, yaml or specification\n",
    )


def test_batsim_has_no_yaml(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    status, _, err = run(capfdbinary, "convert", "--to", "yaml", ROOT / "examples" / "00042-b2e.bin", "-")
    assert status == 1
    assert "this protocol has no yaml: it can be converted to binary or json" in err


def test_a_line_of_a_recording_is_converted(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(capfdbinary, "convert", "--to", "yaml", f"{RECORDING}/2", "-")[1] == (
        "---\nresult: vm started\nlist:\n  - vm-name: centos7114\n    status: success\nid: 1234a\n---"
    )
    status, _, err = run(capfdbinary, "convert", RECORDING, "-")
    assert status == 1
    assert "holds several messages: name one of them" in err
    assert "has no line 999" in run(capfdbinary, "dump", f"{RECORDING}/999")[2]


def test_what_is_wrong_is_told_in_one_line(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    source = tmp_path / "task.yaml"
    source.write_text("task: repin vm\nvm-name: a\nvcpu-map: 0-3\n")
    status, _, err = run(capfdbinary, "validate", source)
    assert (status, err) == (1, f"batproto: {source}: vcpu-map, line 3, column 11: expected a list, found '0-3'\n")


def test_check_tells_line_rule_and_verdict(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    lines = [
        write_line(Recorded("fast/migfra/a/task", encode(TASK), 1.0)),
        "",
        write_line(Recorded("fast/migfra/a/result", b"result: vm suspended\nlist: []\nid: 7", 2.0)),
        write_line(Recorded("fast/migfra/a/task", b"task: quit", 3.0)),
        "{",
    ]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(lines))
    status, out, _ = run(capfdbinary, "fast", "check", path)
    assert status == 1
    assert out.splitlines() == [
        f"{path}/1: list[0].vm-name: warning: no message so far has started 'vm1' [vm.not-started]",
        f"{path}/1: list[1].vm-name: warning: no message so far has started 'a: b' [vm.not-started]",
        f"{path}/3: list: error: expected 2 entries, one for each machine of the task, found 0 [result.entries]",
        (
            f"{path}/5: error: this is not a line of a recording: Expecting property name enclosed in double quotes "
            "[message.form]"
        ),
        f"{path}: message 2: warning: the result of 'quit' on a has not come when the recording ends [task.open]",
        f"bad {path}: 4 messages, 2 errors, 3 warnings",
    ]
    assert run(capfdbinary, "check", path)[1] == out
    assert run(capfdbinary, "fast", "check", "--rules", "fast-lib", "-q", path)[1].count("\n") == 5
    status, _, err = run(capfdbinary, "fast", "check", "--rules", "strict", path)
    assert (status, err) == (
        2,
        (
            "batproto fast check: there is no rule set 'strict', only fast-lib and protocol "
            "(see batproto fast check --help)\n"
        ),
    )
    assert run(capfdbinary, "fast", "check", tmp_path / "none.jsonl")[0] == 1
    path.write_text("import this\n")
    status, out, err = run(capfdbinary, "fast", "check", path)
    assert (status, err) == (1, f"batproto: {path}/1: is not a message of FaST\n")
    assert out == f"bad {path}: 0 messages, the rest cannot be judged\n"


@pytest.mark.slow
def test_a_recording_comes_through_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "batprotocol", "fast", "check", "-"],
        input=RECORDING.read_bytes(),
        capture_output=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0
    assert done.stdout.decode().splitlines()[-1] == "ok standard input: 64 messages, 9 warnings"


@pytest.mark.parametrize("name", ["", *MESSAGES, "VMConfiguration", "swapwith", "PCIAddress"])
def test_schema_tells_each_message(name: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    status, out, _ = run(capfdbinary, "schema", "--protocol", "fast", *([name] if name else []))
    assert status == 0
    assert all(each in out for each in MESSAGES) if not name else out.lower().split()[1] == name.lower()
    assert ">>>" not in out


def test_schema_tells_both_spellings(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    out = run(capfdbinary, "schema", "--protocol", "fast", "MmbwmonResponse")[1]
    assert "  task: mmbwmon response (specification only)\n" in out
    assert "  result: number (required, in the specification response)\n" in out
    assert "fast/agent/<hostname>/mmbwmon/response: mmbwmon to scheduler, QoS 2, not retained" in out
    assert "did you mean StartVM?" in run(capfdbinary, "schema", "--protocol", "fast", "starvm")[2]


def test_rules_are_listed_and_explained(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    out = run(capfdbinary, "rules")[1]
    assert all(re.search(rf"^{re.escape(rule)} ", out, re.MULTILINE) for rule in CATALOGUE.rules)
    out = run(capfdbinary, "rules", "pscom.not-resumed")[1]
    assert out.startswith("pscom.not-resumed: A machine was migrated, and its connections stay closed\n")
    assert "  fast-lib: deadlock\n  protocol: deadlock\n" in out


@pytest.mark.parametrize(
    "words",
    [
        ("send", "fast/migfra/\udcff/task", "task: quit"),
        ("send", "fast/migfra/a/task", "task: \udcff"),
        ("send", "--username", "\udcff", "fast/migfra/a/task", "task: quit"),
        ("node", "\udcff"),
        ("watch", "--broker", "\udcff"),
        ("check", "--rules", "\udcff"),
    ],
)
def test_arguments_that_are_no_text(words: tuple[str, ...], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    status, _, err = run(capfdbinary, "fast", *words)
    assert status == 2
    assert "expected UTF-8, got" in err


def test_a_recording_may_be_called_anything(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    odd = tmp_path / "r\udcff.jsonl"
    odd.write_bytes(b'{"topic": "a\xff"}\n{"topic": "a", "qos": ' + b"9" * 400 + b"}\n")
    status, out, err = run(capfdbinary, "fast", "check", odd)
    assert (status, err) == (1, "")
    assert "r\\udcff.jsonl/1: error: this is not a line of a recording" in out
    assert "qos: error: expected a number in [0, 2], found 99999" in out


# Lines of recordings


@pytest.mark.parametrize(
    "recorded",
    [
        Recorded("fast/migfra/a/task", b"task: quit", 1795262399.122087, 2, True, 7),
        Recorded("a", b"", 0.0),
        Recorded("a", b"\xff\0", 12.5),
        Recorded("a/\u2028", "é\u2028\n".encode(), 1e9),
    ],
)
def test_lines_survive(recorded: Recorded) -> None:
    line = write_line(recorded)
    assert "\n" not in line
    assert read_line(line) == read_line(line.encode()) == recorded


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "this is not a line of a recording"),
        ("[]", "this is not a line of a recording: expected an object with a topic"),
        ('{"topic": 7}', "this is not a line of a recording: expected an object with a topic"),
        ('{"topic": "a", "tst": "now"}', "tst: expected a time, found 'now'"),
        ('{"topic": "a", "tst": "2026-13-01T00:00:00"}', "tst: expected a time"),
        ('{"topic": "a", "qos": 3}', "qos: expected a number in [0, 2], found 3"),
        ('{"topic": "a", "qos": 0.5}', "qos: expected a number in [0, 2], found 0.5"),
        ('{"topic": "a", "mid": NaN}', "mid: expected a number"),
        ('{"topic": "a", "mid": -Infinity}', "mid: expected a number"),
        ('{"topic": "a", "qos": ' + "9" * 400 + "}", "qos: expected a number in [0, 2], found 9999"),
        ('{"topic": "a", "retain": -' + "9" * 4000 + "}", "retain: expected a number in [0, 1], found -9999"),
        ('{"topic": "a", "mid": ' + "9" * 5000 + "}", "this is not a line of a recording"),
        ('{"topic": "a\\ud800"}', "topic: expected Unicode"),
        ('{"topic": "a", "tst": "9999-12-31T23:59:59-0001"}', "tst: expected a time"),
        ('{"topic": "a", "tst": "0001-01-01T00:00:00+0001"}', "tst: expected a time"),
        ('{"topic": "a", "payload": {}}', "payload: expected a text or null, found {}"),
        ('{"topic": "a", "payload_base64": "?"}', "payload_base64: expected a text in base64"),
        (b"\xff", "this is not a line of a recording"),
        ("[" * 100_000, "this is not a line of a recording"),
    ],
)
def test_lines_that_are_none_are_told_where(line: str | bytes, said: str) -> None:
    from batprotocol.errors import DecodeError

    with pytest.raises(DecodeError) as caught:
        read_line(line)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:01Z", 1.0),
        ("1970-01-01T01:00:01.5+0100", 1.5),
        ("1970-01-01T00:00:01-01:30", 5401.0),
        ("1970-01-01T00:00:01.000000001", 1.000000001),
    ],
)
def test_times_are_read_with_their_zone(text: str, seconds: float) -> None:
    assert read_line(json.dumps({"topic": "a", "tst": text})).time == seconds


def test_fast_has_no_advice(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text(
        '{"tst": 1.0, "topic": "fast/migfra/host/status", "payload": "status: online"}\n'
    )
    assert "is of FaST, for which there is no advice" in run_here("check", "--advise", tmp_path / "run.jsonl").err


@pytest.mark.parametrize("payload", [b"", b"# a comment", b"\n\n  # behind lines\n"])
def test_an_empty_payload_is_wrong_at_its_beginning(payload: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(payload, Topic.parse("fast/migfra/a/task"), dialect="any")
    assert (caught.value.line, caught.value.column) == (1, 1)


class Answering:
    """A cluster that answers each task at once."""

    called: ClassVar[list[tuple[str, object, float]]] = []

    def __init__(self, broker: object) -> None:
        self.broker = broker

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is left."""

    def call(self, name: str, message: object, wait: float) -> Answering:
        self.called.append((name, message, wait))
        return self

    def result(self) -> v.Result:
        return v.Result("vm suspended", [v.VMResult("vm1", "success"), v.VMResult("a: b", "success")], id="7")


def test_only_a_task_is_waited_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("batprotocol.fast.runtime.cluster.Cluster", Answering)
    Answering.called.clear()
    topic, broker = "fast/migfra/a/task", Broker("127.0.0.1", 1)
    _send_message(broker, topic, encode(TASK), False, None, 3.0)
    assert Answering.called == [("a", TASK, 3.0)]
    assert json.loads(capsys.readouterr().out)["result"] == "vm suspended"
    for where, payload, as_is in (
        (topic, encode(TASK), True),
        ("fast/migfra/a/result", encode(v.Result("quit")), False),
    ):
        with pytest.raises(click.UsageError, match="only a task of a migration framework has a result"):
            _send_message(broker, where, payload, as_is, None, 3.0)
    assert len(Answering.called) == 1


@pytest.mark.parametrize(("option", "least"), [("--pscom-procs", 0), ("--cores", 1)])
def test_a_node_has_no_fewer_of_them(option: str, least: int) -> None:
    done = run_here("fast", "node", "a", option, str(least - 1))
    assert done.status == 2
    assert f"{least - 1} is not in the range x>={least}" in done.err
