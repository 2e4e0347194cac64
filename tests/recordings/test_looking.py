"""`batproto at`, `stats`, `diff` and `replay`, as users meet them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ENVIRONMENT, PROGRAM, run_here
from support import DATA, ROOT

from batprotocol.recordings.commands import live
from batprotocol.recordings.commands.state import _cut

pytestmark = pytest.mark.once

RUNS = DATA / "simulations"
POWER = RUNS / "PowerSaver__power-p__energy_platform_homogeneous__binary.tar.xz"
CLUSTER = RUNS / "fuzz__random-cluster-p__cluster512__binary.tar.xz"
SAVER = ROOT / "examples" / "power_saver.py"


def test_at_tells_what_was_known() -> None:
    done = run_here("at", POWER, "100")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"{POWER} at 100: after message 91, at 98.6118624 (the simulation runs)"
    assert "├── queue: 11 jobs" in lines
    assert "│   ├── w0!17 waits for 27.114 s, asks for 3 hosts" in lines
    assert "├── free: 0 of 4 hosts" in lines
    assert "│   └── energy Power every 60 s, 0 emitted" in lines


def test_at_tells_it_as_json() -> None:
    done = run_here("at", "--json", POWER, "100")
    known = json.loads(done.out)
    assert (done.status, known["number"], known["host_count"], len(known["queue"])) == (0, 91, 4, 11)
    assert known["queue"][0]["job_id"] == "w0!17"
    assert known["queue"][0]["resource_request"] == 3
    assert known["probes"][0]["measurement_triggering_policy"]["temporal_trigger"]["period"] == 60


def test_at_shows_the_first_of_many_unless_all_are_asked_for() -> None:
    assert "... 1 more, which --full shows" in run_here("at", POWER, "95").out
    assert "more, which --full shows" not in run_here("at", "--full", POWER, "95").out
    end = run_here("at", POWER, "inf").out
    assert "(the conversation is over)" in end
    assert "over: 30 jobs, all static jobs are submitted" in end
    assert "after message 1, at 0 (before SimulationBeginsEvent)" in run_here("at", POWER, "0").out


def test_stats_tells_the_numbers() -> None:
    done = run_here("stats", POWER)
    assert (done.status, done.err) == (0, "")
    assert f"{POWER}: 134 messages" in done.out
    assert "30 JobCompleted" in done.out
    assert "utilisation: " in done.out
    found = json.loads(run_here("stats", "--json", POWER).out)
    assert found["jobs"]["count"] == 30
    assert found["jobs"]["longest_waiting"][0]["state"].startswith("COMPLETED")


def test_diff_has_the_exit_status_of_diff(tmp_path: Path) -> None:
    same = run_here("diff", POWER, POWER)
    assert (same.status, same.out) == (0, f"alike: {POWER} and {POWER}\n")
    other = run_here("diff", POWER, CLUSTER)
    assert other.status == 1
    assert "First difference in message 2: SimulationBeginsEvent, host_number: 4 and 512" in other.out
    assert "ignored: decision component: PowerSaver 1.0 and " in other.out
    assert " differ: " in other.out
    assert len(run_here("diff", "--jobs", POWER, CLUSTER).out) > len(other.out)
    quiet = run_here("diff", "-q", POWER, CLUSTER)
    assert (quiet.status, quiet.out, quiet.err) == (1, "", "")
    missing = run_here("diff", POWER, tmp_path / "none.tar.xz")
    assert (missing.status, missing.out) == (2, "")
    assert missing.err == f"batproto: {tmp_path}/none.tar.xz: no such file or directory\n"
    (tmp_path / "x.tar").write_bytes(b"x" * 600)
    broken = run_here("diff", tmp_path / "x.tar", POWER)
    assert broken.status == 2
    assert "not a tar archive" in broken.err


@pytest.mark.parametrize("command", [["at", "{}", "1"], ["stats", "{}"], ["replay", "{}", f"{SAVER}:PowerSaver"]])
def test_what_is_no_run_is_told_in_a_sentence(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"x" * 600)
    for name, reason in (("none.tar.xz", "no such file"), ("x.tar", "not a tar archive")):
        done = run_here(*(part.replace("{}", str(tmp_path / name)) for part in command))
        assert (done.status, done.out) == (1, ""), done
        assert reason in done.err
        assert done.err.count("\n") == 1


def test_what_is_of_another_protocol_or_has_no_beginning_is_told() -> None:
    fast = DATA / "fast" / "recordings" / "dummy_scheduler.jsonl"
    for command in (["at", fast, "1"], ["stats", fast], ["replay", fast, "fcfs"]):
        done = run_here(*command)
        sentence = f"batproto: {fast}: is of FaST, and this command needs a run of Batsim 5\n"
        assert (done.status, done.out, done.err) == (1, "", sentence)
    assert run_here("diff", POWER, fast).status == 2
    part = ROOT / "examples"
    assert "does not begin with the initialization data" in run_here("at", part, "1").err
    assert run_here("stats", part).status == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["at", POWER], "missing argument"),
        (["at", POWER, "soon"], "not a valid float"),
        (["at", POWER, "nan"], "expected a simulated time in seconds"),
        (["diff", POWER], "expected a second run to compare with"),
        (["diff", "--tolerance", "-1", POWER, POWER], "not a number of seconds"),
        (["diff", "--tolerance", "inf", POWER, POWER], "not a number of seconds"),
        (["replay", POWER], "expected FILE:CLASS, POLICY, -- COMMAND, --edc or --library"),
        (["replay", POWER, "nosuch"], "not a policy"),
        (["replay", POWER, "none.py:A"], "none.py"),
        (["replay", POWER, "--timeout", "3", "fcfs"], "--timeout needs a socket, and fcfs runs in this process"),
        (["replay", POWER, "--", "run", "it"], "the command does not contain {endpoint}"),
        (
            ["replay", POWER, "--library", "x.so", "--edc", "tcp://127.0.0.1:1"],
            "--library excludes a command and --edc",
        ),
    ],
)
def test_a_wrong_command_line_is_told_in_a_sentence(arguments: list[object], sentence: str) -> None:
    done = run_here(*map(str, arguments))
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("run.mcap", "no recording", "is not an MCAP, or has no content"),
        ("run.tar.xz", "no recording", "not a tar archive"),
        ("notes.txt", "no recording", "holds nothing that can be read as a run"),
        ("out_jobs.csv", "job\n1\n", "it has no column job_id"),
    ],
)
def test_a_broken_run_without_a_second_one_is_told(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    done = run_here("diff", str(path))
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert "second run" not in done.err
    assert done.err.count("\n") == 1


# Tap


SHOWN = [["--json"], ["--json-lines"], ["-e", "ExecuteJob"], ["--job", "w0!1"], ["--full"]]


@pytest.mark.parametrize("follow", [[], ["-f"], ["--follow"]], ids="".join)
@pytest.mark.parametrize("shown", [[], *SHOWN], ids="".join)
def test_how_messages_are_shown_is_for_follow(
    follow: list[str], shown: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(live, "tap", lambda *given, timeout: calls.append((*given, timeout)) or 7)
    path = str(tmp_path / "run.mcap")
    done = run_here("tap", "--edc", "tcp://127.0.0.1:1", "-o", path, *follow, *shown)
    if shown and not follow:
        assert (done.status, calls) == (2, [])
        assert "select how --follow shows messages: add --follow" in done.err
        return
    assert done.status == 7
    ((batsim, edc, record, messages, _, timeout),) = calls
    assert (batsim, edc, record, timeout) == ("tcp://*:28000", "tcp://127.0.0.1:1", path, None)
    assert (messages is not None) is bool(follow)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--edc", "tcp://127.0.0.1:1"], "'--output'"),
        (["-o", "run.mcap"], "'--edc'"),
        (["--edc", "tcp://127.0.0.1:1", "-o", "run.mcap", "-f", "yes"], "yes"),
    ],
)
def test_a_tap_needs_both_ends(arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "tap", lambda *given, timeout: 7)
    done = run_here("tap", *arguments)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err


# Replay


def test_replay_in_this_process() -> None:
    same = run_here("replay", "--in-effect", POWER, f"{SAVER}:PowerSaver")
    assert (same.status, same.out) == (0, f"same {POWER}: 67 replies are the same\n")
    assert "its hello differs from the recorded one" in same.err
    other = run_here("replay", "--in-effect", POWER, "fcfs")
    assert other.status == 1
    assert "different in message 3 " in other.out
    assert "events: CreateProbeEvent of 'energy' and nothing (1 reply before it)" in other.out
    assert "\nthen: binary" in other.out
    assert "\nnow: binary" in other.out


def test_a_scheduler_that_fails_shows_its_own_traceback(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(
        "from batprotocol.edc import Scheduler\n"
        "class Failing(Scheduler):\n"
        "    def on_simulation_begins(self, event):\n"
        "        raise LookupError('lost')  # this line\n"
    )
    done = run_here("replay", POWER, f"{tmp_path}/failing.py:Failing")
    assert done.status == 1
    assert "this line" in done.err
    assert "LookupError: lost" in done.err


def replayed(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, "replay", *map(str, arguments)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.slow
@pytest.mark.long
def test_replay_over_a_socket() -> None:
    """A program that listens where it is told, as any decision component does."""
    serve = [*PROGRAM, "run", f"{SAVER}:PowerSaver", "--endpoint", "{endpoint}"]
    done = replayed("--in-effect", POWER, "--", *serve)
    assert (done.returncode, done.stdout) == (0, f"same {POWER}: 67 replies are the same\n"), done.stderr


@pytest.mark.slow
@pytest.mark.long
def test_who_waits_at_an_endpoint_is_told_that_it_is_over(tmp_path: Path) -> None:
    """However early the replay ends: here, with the hello."""
    endpoint = f"ipc://{tmp_path}/edc.sock"
    serve = [*PROGRAM, "run", f"{SAVER}:PowerSaver", "--endpoint", endpoint]
    with subprocess.Popen(serve, env=ENVIRONMENT, stderr=subprocess.DEVNULL) as waiting:
        done = replayed(POWER, "--edc", endpoint)
        assert done.returncode == 1
        assert "different in message 1 " in done.stdout
        assert waiting.wait(60) == 0


@pytest.mark.slow
@pytest.mark.long
def test_a_program_that_dies_is_told(tmp_path: Path) -> None:
    done = replayed(POWER, "--", sys.executable, "-c", "import sys; sys.exit(3)", "{endpoint}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no reply to the initialization data: " in done.stderr
    assert "ended with exit status 3" in done.stderr
    dying = tmp_path / "dying.py"
    dying.write_text(
        "import os\nfrom batprotocol.edc import Scheduler\n"
        "class Dying(Scheduler):\n"
        "    def on_simulation_begins(self, event):\n"
        "        os._exit(4)\n"
    )
    serve = [*PROGRAM, "run", f"{dying}:Dying", "--endpoint", "{endpoint}"]
    done = replayed("--in-effect", POWER, "--", *serve)
    assert done.returncode == 1
    assert "no reply to message 2: " in done.stderr
    assert "ended with exit status 4" in done.stderr
    assert "SimulationBeginsEvent" in done.stdout


@pytest.mark.slow
@pytest.mark.long
def test_nobody_is_waited_for_longer_than_asked() -> None:
    done = replayed("--edc", "tcp://127.0.0.1:9", "--timeout", "0.3", POWER)
    assert (done.returncode, done.stdout) == (1, "")
    assert "did not listen at tcp://127.0.0.1:9 for 0.3 seconds" in done.stderr


@pytest.mark.slow
@pytest.mark.long
def test_ctrl_c_ends_a_wait() -> None:
    silent = "import time; print('here', flush=True); time.sleep(60)"
    command = [*PROGRAM, "replay", str(POWER), "--", sys.executable, "-c", silent, "{endpoint}"]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


@pytest.mark.slow
@pytest.mark.long
def test_a_closed_pipe_is_no_fault() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*PROGRAM, "diff", POWER, CLUSTER], env=ENVIRONMENT, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("length", [0, 1, 199, 200, 201, 1000])
def test_long_host_sets_are_cut_unless_all_is_asked_for(length: int) -> None:
    hosts = "0-9 " * (length // 4) + "x" * (length % 4)
    assert _cut(hosts, True) == hosts
    assert _cut(hosts, False) == (hosts if length <= 200 else f"{hosts[:200]}...")
