"""`batproto fast node`, `watch` and `send` with a real broker."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from brokers import PATIENCE, Mosquitto
from commands import run as batproto
from commands import run_here
from fast_nodes import nodes
from processes import BATPROTO, line_of, started
from servers import find

from batprotocol.fast import commands as fast_live_command
from batprotocol.fast import decode
from batprotocol.fast.conversation import check
from batprotocol.fast.recording import read_line
from batprotocol.fast.runtime.cluster import DEFAULT_BROKER
from batprotocol.fast.runtime.connection import BrokerConnection
from batprotocol.fast.runtime.hypervisor import DEEDS

WITHOUT_ENGINE = True
START = "{task: start vm, id: x, vm-configurations: [{vm-name: vm1}]}"


def test_what_the_help_says_without_importing_the_library() -> None:
    assert (fast_live_command.DEEDS, fast_live_command.DEFAULT_BROKER) == (DEEDS, DEFAULT_BROKER)


@pytest.mark.slow
def test_a_session(mosquitto: Mosquitto, tmp_path: Path) -> None:
    """A node, a watcher that records and checks, and tasks by hand; then the recording is read again."""
    at = ("--broker", mosquitto.address)
    recording = tmp_path / "run.jsonl"
    watching = [*BATPROTO, "fast", "watch", *at, "-o", str(recording), "--check", "--count", "9"]
    with started(watching) as watcher:
        assert line_of(watcher.stderr) == f"batproto: watching fast/# at {mosquitto.address}"
        with BrokerConnection(mosquitto.address, {}, lambda received: None) as connection:
            connection.publish("fast/other", b"\xff", 1)
        options = ("--start-time", "0.01", "--applications", "--report-time", "60")
        with nodes(["node-a"], mosquitto.address, *options) as node:
            sent = batproto("fast", "send", *at, "fast/migfra/node-a/task", START, "--wait", "20")
            assert sent.status == 0
            assert json.loads(sent.out)["list"] == [{"vm-name": "vm1", "status": "success"}]
            again = batproto("fast", "send", *at, "fast/migfra/node-a/task", START.replace("x", "y"), "--wait", "20")
            assert again.status == 1
            assert again.err == (
                "batproto: node-a: start vm y: vm1: Requested operation is not valid: domain 'vm1' is already running\n"
            )
            file = tmp_path / "quit.yaml"
            file.write_text("task: quit")
            assert batproto("fast", "send", *at, "fast/migfra/node-a/task", "-f", file) == (0, "", "")
            assert node.wait(PATIENCE) == 0
        out, err = watcher.communicate(timeout=PATIENCE)
    assert watcher.returncode == 1  # the rules were broken
    assert "is not a topic of FaST" in err
    lines = recording.read_text().splitlines()
    assert len(lines) == len(out.splitlines()) == 9
    assert read_line(lines[0]).payload == b"\xff"
    assert "fast/migfra/node-a/task StartVM {" in out
    said = [read_line(line) for line in lines[1:]]
    assert (
        len({type(decode(each.payload, each.topic)).__name__ for each in said if "application" not in each.topic}) > 3
    )
    assert [each.rule for each in check(said)] == ["agent.no-init-agent"]  # no scheduler was there


@pytest.mark.slow
def test_watching_chooses_and_prints_json(mosquitto: Mosquitto) -> None:
    command = [*BATPROTO, "fast", "watch", "--broker", mosquitto.address, "--json-lines", "-t", "fast/agent/#"]
    with started([*command, "-m", "Init", "--count", "3"]) as watcher:
        with BrokerConnection(mosquitto.address, {}, lambda received: None) as connection:
            while watcher.poll() is None:
                connection.publish("fast/agent/a/mmbwmon/response", b"{cores: [1], result: 0.5}", 2)
                connection.publish("fast/migfra/a/task", b"task: quit", 2)
                connection.publish("fast/agent/a/status", b"{task: init, hostname: a}", 2)
                time.sleep(0.05)
        out, err = watcher.communicate(timeout=PATIENCE)
    assert (watcher.returncode, err.count("\n")) == (0, 1)
    found = [json.loads(line) for line in out.splitlines()]
    assert found
    assert {(each["topic"], each["message"], each["hostname"]) for each in found} == {
        ("fast/agent/a/status", "Init", "a")
    }


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", [("watch", "-q"), ("node", "node-a")])
def test_signals_end_it(mosquitto: Mosquitto, command: tuple[str, ...], number: signal.Signals) -> None:
    with started([*BATPROTO, "fast", *command, "--broker", mosquitto.address]) as process:
        assert line_of(process.stderr).startswith("batproto: ")
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err.strip()) == (128 + number, "", "")


@pytest.mark.slow
def test_a_closed_pipe_ends_watching(mosquitto: Mosquitto) -> None:
    command = [*BATPROTO, "fast", "watch", "--broker", mosquitto.address]
    with started(command) as process, BrokerConnection(mosquitto.address, {}, lambda received: None) as connection:
        assert process.stdout is not None
        process.stdout.close()
        until = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < until:
            connection.publish("fast/agent/a/status", b"{task: init, hostname: a}", 2)
            time.sleep(0.05)
        assert process.returncode == 141


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("send fast/a quit", "'fast/a' is not a topic of FaST"),
        ("send fast/migfra/a/task quit", "expected a key 'task' with the kind of the message"),
        ("send fast/migfra/a/task", "give either PAYLOAD or --file"),
        (
            "send fast/agent/a/status '{task: init, hostname: a}' --wait 1",
            "only a task of a migration framework",
        ),
        (
            "send fast/migfra/a/task 'task: quit' --broker 127.0.0.1:1",
            "there is no broker at 127.0.0.1:1: connection",
        ),
        ("node", "missing argument"),
        ("node a --broker http://x", "there is no http, only mqtt and mqtts"),
        ("node a --fail strt:0.1", "nodes do not 'strt'; did you mean start?"),
        ("node a --fail start:2", "expected NAME:SHARE with a share from 0 to 1, got 'start:2'"),
        ("node a --start-time 2-1", "expected SECONDS or FROM-TO, such as 0.5 or 0.5-2, got '2-1'"),
        ("node a/b --broker 127.0.0.1:1", "expected a text without /, +, # and NUL, got 'a/b'"),
        ("node a --broker 127.0.0.1:1 --password x", "a password goes with a username"),
        ("watch --broker 127.0.0.1:1", "there is no broker at 127.0.0.1:1: connection refused"),
        ("watch -m Strt", "no message is called 'Strt'"),
        ("watch --cafile {self}", "the certificates cannot be used"),
    ],
)
def test_mistakes_are_told_in_a_sentence(arguments: str, sentence: str) -> None:
    result = run_here("fast", *shlex.split(arguments.replace("{self}", __file__)))
    assert result.status in (1, 2)
    assert sentence in result.err
    assert result.err.count("\n") == 1


@pytest.mark.slow
def test_a_recording_is_not_overwritten(mosquitto: Mosquitto, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text("mine")
    result = batproto("fast", "watch", "--broker", mosquitto.address, "-o", file)
    assert result == (1, "", f"batproto: {file}: file exists\n")
    assert file.read_text() == "mine"


@pytest.mark.slow
def test_mosquittos_own_tools_understand_it(mosquitto: Mosquitto) -> None:
    port = str(mosquitto.port)
    with (
        nodes(["node-a"], mosquitto.address, "--start-time", "0.5"),
        started([find("mosquitto_sub"), "-p", port, "-t", "fast/migfra/+/result", "-C", "1", "-v"]) as listener,
    ):
        publish = [find("mosquitto_pub"), "-p", port, "-q", "2", "-t", "fast/migfra/node-a/task", "-m", START]
        while listener.poll() is None:  # the first one may come before its subscription
            subprocess.run(publish, check=True)
            time.sleep(0.1)
        out, _ = listener.communicate(timeout=PATIENCE)
    assert "result: vm started\nlist:\n  - vm-name: vm1\n    status: success\nid: x\n---" in out
