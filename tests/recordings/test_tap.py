"""The tap: what a Batsim and a decision component say is handed on and on record, whoever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zmq
from processes import ENVIRONMENT
from replay import PATIENCE, Peer, begins, ends, said
from support import ROOT

from batprotocol.recordings import Capture
from batprotocol.wire import frames

WITHOUT_ENGINE = True
pytestmark = [pytest.mark.slow, pytest.mark.once]

COMMAND = [sys.executable, "-m", "batprotocol"]
ANY_PORT = "tcp://127.0.0.1:*"


class Answering:
    """A decision component that says whatever it is told to."""

    def __init__(self) -> None:
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self.context.socket(zmq.REP)
        self.socket.rcvtimeo = self.socket.sndtimeo = round(PATIENCE * 1000)
        self.socket.bind(ANY_PORT)
        self.endpoint = self.socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def close(self) -> None:
        self.socket.close(linger=0)
        self.context.term()


@contextmanager
def tapping(path: Path, edc: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A tap as a process, and its endpoint."""
    command = [*COMMAND, "tap", "--batsim", ANY_PORT, "--edc", edc, "-o", str(path), *options]
    with subprocess.Popen(
        command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.endswith(": waiting for Batsim\n"), line + process.stderr.read()
            yield process, line.removeprefix("batproto: ").removesuffix(": waiting for Batsim\n")
        finally:
            process.kill()


def exchanged(peer: Peer, edc: Answering, asked: bytes, answer: bytes) -> None:
    """One turn, byte for byte."""
    peer.socket.send(asked)
    assert edc.socket.recv() == asked
    edc.socket.send(answer)
    assert peer.socket.recv() == answer


GARBAGE = (b"", b"\0", b"{", b"garbage\n", bytes(range(256)), b"\x01\0\0\0")


def test_what_is_said_is_on_record_whoever_dies(tmp_path: Path) -> None:
    """Garbage, too; then, the decision component leaves, Batsim leaves, Ctrl-C comes, or the tap is killed."""
    for end in ("edc", "batsim", "SIGINT", "SIGKILL"):
        path = tmp_path / f"{end}.mcap"
        edc = Answering()
        with tapping(path, edc.endpoint) as (process, endpoint), Peer(endpoint) as peer:
            turns = [(data, data[::-1]) for data in GARBAGE]
            for asked, answer in turns:
                exchanged(peer, edc, asked, answer)
            expected = [data for turn in turns for data in turn]
            if end == "edc":
                peer.socket.send(b"unanswered")
                assert edc.socket.recv() == b"unanswered"
                expected.append(b"unanswered")
                edc.close()
            elif end == "batsim":
                exchanged(peer, edc, said(1.0).to_binary(), said(1.0).to_binary())
                expected += [said(1.0).to_binary()] * 2
                peer.socket.close(linger=0)
            else:
                process.send_signal(getattr(signal, end))
            _, complaint = process.communicate(timeout=PATIENCE)
            status = {"edc": 1, "batsim": 1, "SIGINT": 130, "SIGKILL": -signal.SIGKILL}[end]
            assert process.returncode == status, complaint
        if end == "edc":
            assert "closed the connection without an answer" in complaint
        elif end == "batsim":
            edc.close()
            assert "before the simulation had ended" in complaint
        else:
            edc.close()
            assert complaint.strip() == ""
        with Capture(path) as run:
            assert [entry.data for entry in run] == expected
            assert run.is_whole == (end != "SIGKILL")
            assert run.metadata["edc"] == edc.endpoint
            walls = [entry.wall for entry in run]
            assert walls == sorted(walls)  # type: ignore[type-var]
            assert all(entry.fault is not None for entry in list(run)[2:9])


def test_what_is_shown_while_it_is_said(tmp_path: Path) -> None:
    edc = Answering()
    with tapping(tmp_path / "run.tar", edc.endpoint, "--follow", "-e", "SimulationEnds") as (process, endpoint):
        with Peer(endpoint) as peer:
            exchanged(peer, edc, frames.encode_init("init"), b"hello")
            exchanged(peer, edc, begins().to_binary(), said(0.0).to_binary())
            exchanged(peer, edc, ends(2.0).to_binary(), said(2.0).to_binary())
        shown, complaint = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, complaint
    edc.close()
    assert shown.startswith("00004-b2e.bin: binary, Batsim to EDC, now 2.0, 1 event")
    assert "SimulationEndsEvent at 2.0" in shown
    assert len(shown.splitlines()) == 2


def test_a_simulation_through_a_tap_is_the_same_as_without(tmp_path: Path) -> None:
    """Three programs; what the simulator has recorded by itself is the oracle."""
    scheduler = subprocess.Popen(
        [*COMMAND, "run", "easy", "--endpoint", f"ipc://{tmp_path}/edc.sock"], cwd=ROOT, env=ENVIRONMENT
    )
    with tapping(tmp_path / "tap.mcap", f"ipc://{tmp_path}/edc.sock") as (process, endpoint):
        subprocess.run(
            [*COMMAND, "simulate", "--endpoint", endpoint, "--record", str(tmp_path / "own.tar")],
            cwd=ROOT,
            env=ENVIRONMENT,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE,
        )
        _, complaint = process.communicate(timeout=PATIENCE)
        assert (process.returncode, complaint) == (0, "")
    assert scheduler.wait(PATIENCE) == 0
    with Capture(tmp_path / "tap.mcap") as tapped, Capture(tmp_path / "own.tar") as own:
        assert list(tapped) == list(own)
        assert len(list(own)) > 100
        assert own.result is not None
        assert len(own.result.jobs) == int(own.result.summary["nb_jobs"])
        assert os.path.getsize(tmp_path / "tap.mcap") < os.path.getsize(tmp_path / "own.tar")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "run.mcap").write_bytes(b"precious")
    command = [*COMMAND, "tap", "--batsim", ANY_PORT, "--edc", ANY_PORT.replace("*", "1"), "-o"]
    done = subprocess.run(
        [*command, str(tmp_path / "run.mcap")], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "a recording does not overwrite files" in done.stderr
    assert (tmp_path / "run.mcap").read_bytes() == b"precious"


def test_who_stops_looking_ends_no_simulation(tmp_path: Path) -> None:
    edc = Answering()
    with tapping(tmp_path / "run.mcap", edc.endpoint, "--follow") as (process, endpoint):
        assert process.stdout is not None
        process.stdout.close()
        with Peer(endpoint) as peer:
            for turn in range(20):
                exchanged(peer, edc, said(float(turn)).to_binary(), said(float(turn)).to_binary())
            exchanged(peer, edc, ends(20.0).to_binary(), said(20.0).to_binary())
        assert process.wait(PATIENCE) == 0
    edc.close()
    with Capture(tmp_path / "run.mcap") as run:
        assert (len(list(run)), run.is_whole) == (42, True)
