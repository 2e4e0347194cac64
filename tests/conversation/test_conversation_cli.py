"""`batproto check` and `batproto rules`, end to end, and the document that is made of the same tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run_here
from support import DATA, ROOT
from talks import executed, message, submitted, talk

from batprotocol.conversation import RULES, AnyMessage
from batprotocol.model import Message
from batprotocol.simulator.batsim.rules import SIMULATOR_RULES
from batprotocol.testing.rules import CONFORMANCE_RULES
from batprotocol.wire import frames

WITHOUT_ENGINE = True

GOOD = DATA / "runs" / "static__test_extra_data_desired_allocation__json.tar.xz"
BAD = DATA / "runs" / "machine-switcher__test_one_delay_job-turn_on_fail__binary.tar.xz"
ENVIRONMENT = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}


def batproto(*arguments: str | Path) -> tuple[int, str, str]:
    return run_here(*arguments)


def recorded(folder: Path, said: list[AnyMessage]) -> Path:
    """The conversation as the files of a recorded run."""
    folder.mkdir()
    for number, each in enumerate(said):
        if number == 0:
            data = frames.encode_init(str(each))
        else:
            assert isinstance(each, Message)
            data = frames.encode_hello(each) if number == 1 else each.to_binary()
        (folder / f"{number:05}-{'e2b' if number % 2 else 'b2e'}.bin").write_bytes(data)
    return folder


def test_a_good_run() -> None:
    assert batproto("check", GOOD) == (0, f"ok {GOOD}: 48 messages, nothing wrong\n", "")
    assert batproto("check", "--quiet", GOOD) == (0, "", "")


def test_a_bad_run() -> None:
    violation = (
        f"{BAD}/00013-e2b.bin: events[0].event.state: error: "
        "host 0 is on (power state 0), and 0 is a computation state [hosts.turn-direction]\n"
    )
    assert batproto("check", BAD) == (1, f"{violation}bad {BAD}: 14 messages, 1 error\n", "")
    assert batproto("check", "-q", BAD) == (1, violation, "")


def test_warnings_are_survived(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run", talk([], submitted(), executed(hosts="0-1")))
    status, out, _ = batproto("check", folder)
    assert status == 0
    place = f"{folder}/00005-e2b.bin: events[0].event.allocation.host_allocation"
    assert out.splitlines() == [
        f"{place}: warning: job 'w0!1' requests 1 and gets 2 hosts [job.host-number]",
        f"ok {folder}: 6 messages, 1 warning",
    ]


def test_directories_hold_conversations(tmp_path: Path) -> None:
    """One each, and archives beside them."""
    recorded(tmp_path / "a", talk([]))
    recorded(tmp_path / "b", talk(executed()))
    (tmp_path / "c.tar.xz").write_bytes(GOOD.read_bytes())
    status, out, _ = batproto("check", tmp_path)
    assert status == 1
    assert out.splitlines()[0] == f"ok {tmp_path}/a: 4 messages, nothing wrong"
    assert out.splitlines()[2:] == [
        f"bad {tmp_path}/b: 4 messages, 1 error",
        f"ok {tmp_path}/c.tar.xz: 48 messages, nothing wrong",
        "3 conversations, 1 of them bad",
    ]


def test_files_are_a_conversation(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run", talk([]))
    status, out, _ = batproto("check", *sorted(folder.iterdir()))
    assert (status, out) == (0, f"ok {folder}: 4 messages, nothing wrong\n")


def test_messages_that_are_missing(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run", talk([], submitted()))
    (folder / "00002-b2e.bin").unlink()
    status, out, err = batproto("check", folder)
    assert status == 1
    assert out == f"bad {folder}: 2 messages, the rest cannot be judged\n"
    assert err == f"batproto: {folder}/00003-e2b.bin: comes where message 2 of the conversation should be\n"


def test_a_conversation_starts_at_its_start(tmp_path: Path) -> None:
    assert batproto("check", ROOT / "examples" / "00042-b2e.bin")[0] == 1
    (tmp_path / "reply.bin").write_bytes(message([], 1.0).to_binary())
    _, _, err = batproto("check", tmp_path)
    assert err.endswith("is not the initialization data, with which a conversation begins\n")


def test_rule_sets(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "run", talk([], submitted(), executed(hosts="0-1")))
    (folder / "00001-e2b.bin").write_bytes(b"\4" + (folder / "00001-e2b.bin").read_bytes()[1:])
    assert "[frame.flags]" in batproto("check", "--rules", "protocol", folder)[1]
    status, _, err = batproto("check", "--rules", "batsim-4", folder)
    assert status == 2
    assert "there is no rule set 'batsim-4', only protocol and batsim-5.0.0-rc2 and batsim-1.0.0" in err


def test_rules_are_listed() -> None:
    status, out, _ = batproto("rules")
    assert status == 0
    todays = ["Batsim", "rule", *RULES]
    words = [line.split()[0] for line in out.splitlines()]
    assert words[: len(todays)] == todays
    assert words[len(todays) :][:2] == ["Batsim", "rule"]
    assert "job.unknown " in out


def test_a_rule_is_explained() -> None:
    status, out, _ = batproto("rules", "time.order")
    assert status == 0
    assert out.splitlines() == [
        "time.order: An event is earlier than the one before it",
        f"  {RULES['time.order'].explanation}",
        "  protocol: error",
        "  batsim-5.0.0-rc2: warning",
    ]


def test_the_rules_of_the_simulator_and_of_conformance_are_explained() -> None:
    """All rules that the handbook lists."""
    status, out, _ = batproto("rules", "edc.silent")
    assert status == 0
    assert out.splitlines() == [
        "edc.silent: The decision component does not answer",
        f"  {CONFORMANCE_RULES['edc.silent'].explanation}",
        "  conformance: deadlock",
    ]
    out = batproto("rules", "profile.infinite")[1]
    assert [line for line in out.splitlines() if line.startswith(("Batsim 5", "The embedded"))] == [
        "Batsim 5",
        "The embedded Batsim",
    ]
    out = batproto("rules")[1]
    listed = {line.split()[0] for line in out.splitlines()}
    assert {*SIMULATOR_RULES, *CONFORMANCE_RULES} <= listed


def test_the_rules_of_conformance_need_no_hypothesis() -> None:
    program = (
        "import sys; sys.modules['hypothesis'] = None; "
        "from batprotocol.cli.main import main; main(['rules', 'edc.silent'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "conformance: deadlock" in done.stdout


def test_an_unknown_rule() -> None:
    status, _, err = batproto("rules", "job.unknow")
    assert status == 2
    assert "there is no rule 'job.unknow'; did you mean job.unknown or probe.unknown?" in err


@pytest.mark.slow
@pytest.mark.parametrize("words", ["check --rules proto", "rules job.over"])
def test_completion(words: str) -> None:
    """What the shell asks for when the user presses tab."""
    *_, start = words.split()
    environment = {**ENVIRONMENT, "_BATPROTO_COMPLETE": "bash_complete", "COMP_WORDS": f"batproto {words}"}
    program = "from batprotocol.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        env={**environment, "COMP_CWORD": str(len(words.split()))},
        text=True,
    )
    assert f"plain,{start}" in done.stdout
