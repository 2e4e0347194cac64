"""Signals to `batproto run` at any moment, and processes that are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import (
    BATPROTO,
    BINARY,
    ENVIRONMENT,
    FCFS,
    REPLAY,
    SOON,
    batproto,
    endpoint_of,
    gone,
    line_of,
    started,
)
from replay import PATIENCE, Peer, begun, ends, said
from support import ROOT

from batprotocol import ForceSimulationStopEvent

pytestmark = pytest.mark.slow

WITHOUT_ENGINE = True

SIGNALS = int(os.environ.get("BATPROTOCOL_TEST_SIGNALS", "25"))
"""How many signals are sent at random moments."""

KILLS = int(os.environ.get("BATPROTOCOL_TEST_KILLS", "2"))
"""How often a program is killed."""

# Signals


def test_signals_at_random_moments_end_a_wait() -> None:
    """One in ten comes in the middle of a simulation whose next message does not come."""
    chance = random.Random(SIGNALS)
    slowest = 0.0
    with started([sys.executable, str(ROOT / "tests" / "edc" / "waiting.py"), str(SIGNALS)]) as process:
        for number in range(SIGNALS):
            word, endpoint = line_of(process.stdout).split()
            assert word == "bound"
            peer = Peer(endpoint)
            if number % 10 == 0:
                begun(peer)
            kind = chance.choice([signal.SIGINT, signal.SIGTERM])
            time.sleep(chance.choice([0.0, chance.random() * 0.001, chance.random() * 0.01, chance.random() * 0.25]))
            since = time.monotonic()
            process.send_signal(kind)
            told = line_of(process.stdout).split()
            slowest = max(slowest, time.monotonic() - since)
            assert told == (["KeyboardInterrupt"] if kind == signal.SIGINT else ["SystemExit", "143"]), number
            peer.close()
        assert process.wait(PATIENCE) == 0
    print(f"{SIGNALS} signals, the slowest took {slowest:.3f} s")
    assert slowest < SOON


@pytest.mark.parametrize(("kind", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("ignored", [False, True])
def test_signals_end_the_program(kind: signal.Signals, status: int, ignored: bool) -> None:
    """SIGINT even where it was inherited as ignored, as from `batproto run ... &` in a script."""
    ignore = (lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if ignored else None
    command = [*BATPROTO, "run", "--endpoint", "tcp://127.0.0.1:*", FCFS]
    with started(command, preexec_fn=ignore) as process:
        endpoint = endpoint_of(process)
        process.send_signal(kind)
        since = time.monotonic()
        sentence = f"batprotocol.edc: {kind.name} came while waiting for a simulator at {endpoint}"
        assert process.communicate(timeout=PATIENCE)[1].strip() == sentence
        assert process.returncode == status
        assert time.monotonic() - since < SOON


@pytest.mark.parametrize(("kind", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_method_that_does_not_end(
    schedulers: Callable[[str], str], kind: signal.Signals, status: int
) -> None:
    with started([*BATPROTO, "run", schedulers("Endless"), "--", *REPLAY, BINARY]) as process:
        assert line_of(process.stdout) == "thinking"
        process.send_signal(kind)
        assert process.wait(PATIENCE) == status


@pytest.mark.parametrize("moment", ["while waiting", "after the simulation"])
def test_signals_end_the_command_too(moment: str) -> None:
    sleep = "echo $$; exec sleep 1000" if moment == "while waiting" else "{replay}; echo $$; exec sleep 1000"
    replay = " ".join(f"'{argument}'" for argument in (*REPLAY, BINARY))
    command = ["sh", "-c", sleep.replace("{replay}", replay), "{endpoint}"]
    with started([*BATPROTO, "run", FCFS, "--", *command]) as process:
        sleeper = int(line_of(process.stdout))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 143
        assert process.stderr is not None
        # Before it, what the recorded simulator did not forward is told, which FCFS asked for.
        assert (
            process.stderr.read()
            .splitlines()[-1]
            .startswith(
                "batprotocol.edc: SIGTERM came while waiting for a simulator at ipc://"
                if moment == "while waiting"
                else "batproto: SIGTERM came after the simulation, and has ended sh"
            )
        )
        with pytest.raises(ProcessLookupError):
            os.kill(sleeper, 0)


@pytest.mark.parametrize(("kind", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("where", ["import", "__init__"])
def test_signals_end_a_file_that_does_not_end(tmp_path: Path, kind: signal.Signals, status: int, where: str) -> None:
    file = tmp_path / "endless.py"
    loop = "print('loading', flush=True)\n{0}while True:\n{0}    pass\n"
    file.write_text(
        loop.format("")
        if where == "import"
        else "from batprotocol.edc import Scheduler\nclass Endless(Scheduler):\n  def __init__(self):\n    "
        + loop.format("    ")
    )
    with started([*BATPROTO, "run", f"{file}:Endless"]) as process:
        assert line_of(process.stdout) == "loading"
        process.send_signal(kind)
        told = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == status
        assert told.strip() == f"batproto: {kind.name} came while {file}:Endless was being loaded"


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("speaks", [True, False])
def test_signals_in_a_simulation_are_told_with_its_time(kind: signal.Signals, speaks: bool) -> None:
    with (
        started([*BATPROTO, "run", "--endpoint", "tcp://127.0.0.1:*", FCFS]) as process,
        Peer(endpoint_of(process)) as peer,
    ):
        begun(peer)
        peer.say(said(12.5))
        process.send_signal(kind)
        left = "was too busy to take a request to stop, and may never end"
        if speaks:
            assert [type(event) for event in peer.say(said(13.5)).events] == [ForceSimulationStopEvent]
            peer.say(ends(13.5))
            left = "was asked to stop"
        told = process.communicate(timeout=PATIENCE)[1]
        assert (
            told.strip() == f"batprotocol.edc: {kind.name} came at simulated time {12.5 + speaks}: the simulator {left}"
        )


def test_a_wait_is_told_after_a_while(tmp_path: Path) -> None:
    """What is waited for, and where."""
    endpoint = f"ipc://{tmp_path}/edc.sock"
    with started([*BATPROTO, "run", "--endpoint", endpoint, FCFS, "--", "sleep", "1000"]) as process:
        assert line_of(process.stderr) == f"batprotocol.edc: still waiting for a simulator to connect to {endpoint}"


# Killed


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")
def test_a_command_does_not_outlive_a_batproto_that_is_killed(tmp_path: Path) -> None:
    """And the next run takes away what it left behind, but not what others use."""
    environment = {**ENVIRONMENT, "TMPDIR": str(tmp_path)}
    (tmp_path / "batproto-precious").mkdir()
    (tmp_path / "batproto-precious" / "file").touch()
    command = [*BATPROTO, "run", FCFS, "--", "sh", "-c", "echo $$ $0; exec sleep 1000", "{endpoint}"]
    for _ in range(KILLS):
        with (
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as killed,
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as other,
        ):
            sleepers = [line_of(each.stdout).split() for each in (killed, other)]
            folders = [Path(endpoint.removeprefix("ipc://")).parent for _, endpoint in sleepers]
            killed.kill()
            killed.wait(PATIENCE)
            assert gone(int(sleepers[0][0]))
            assert folders[0].is_dir()
            done = subprocess.run(
                [*BATPROTO, "run", FCFS, "--", "true", "{endpoint}"], env=environment, capture_output=True, check=False
            )
            assert done.returncode == 1
            assert not folders[0].exists()
            assert (folders[1] / "edc.sock").is_socket()
            other.terminate()
            assert other.wait(PATIENCE) == 143
            assert gone(int(sleepers[1][0]))
        assert [path.name for path in tmp_path.iterdir()] == ["batproto-precious"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")
def test_a_command_starts_with_the_signals_of_a_new_program() -> None:
    """Python ignores some, and what a program ignores, those that it starts ignore too."""
    done = batproto("run", FCFS, "--", "sh", "-c", "grep SigIgn /proc/$$/status; exit 3", "{endpoint}")
    assert done.returncode == 3
    ignored = int(done.stdout.split()[1], 16)
    assert ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGTERM - 1 | 1 << signal.SIGINT - 1) == 0
