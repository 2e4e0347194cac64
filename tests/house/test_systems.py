"""What an operating system lacks is refused with a sentence, before anything is made."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from batprotocol._util.engines import Child
from batprotocol._util.requirements import kill_with_children, lacking, refusal
from batprotocol.campaigns.managers.local import LocalProcesses
from batprotocol.campaigns.store._engine import Database
from batprotocol.errors import ClusterError, InputError, ProtocolError, StoreError, SystemLacks
from batprotocol.legacy.text.runtime import UnixLine
from batprotocol.sites.slurm.client import SlurmRest

WITHOUT_ENGINE = True

ENDING = "which this system lacks: use Linux, or WSL on Windows"


def loop(folder: Path) -> None:
    with Database(str(folder / "grid.db")).only_loop():
        pass


@pytest.mark.parametrize(
    ("name", "use", "error", "sentence"),
    [
        ("os.killpg", lambda folder: Child("builtins:print"), SystemLacks, "processes for runs need os.killpg"),
        ("os.pidfd_open", lambda folder: LocalProcesses("c", folder / "c"), ClusterError, "clusters on this machine"),
        ("fcntl.flock", lambda folder: LocalProcesses("c", folder / "c"), ClusterError, "clusters on this machine"),
        ("fcntl.flock", loop, StoreError, "grid.db: loops on a file of SQLite need fcntl.flock"),
        (
            "socket.AF_UNIX",
            lambda folder: UnixLine(f"{folder}/s", listens=True),
            SystemLacks,
            "the protocol of text",
        ),
        (
            "socket.AF_UNIX",
            lambda folder: UnixLine(f"{folder}/s", listens=False),
            SystemLacks,
            "the protocol of text",
        ),
        ("socket.AF_UNIX", lambda folder: SlurmRest(f"unix:{folder}/s"), InputError, "addresses with unix: need"),
    ],
)
def test_it_is_refused(
    name: str,
    use: Callable[[Path], object],
    error: type[ProtocolError],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(name)
    with pytest.raises(error) as caught:
        use(tmp_path)
    assert sentence in str(caught.value)
    assert ENDING in str(caught.value)
    assert {each.name for each in tmp_path.iterdir()} <= {"grid.db"}  # the store is there before its loop


def test_two_parts_are_named() -> None:
    assert refusal("all of it", "os.a_b", "os.path", "nowhere.c") == f"all of it need os.a_b and nowhere.c, {ENDING}"
    assert lacking("os.path", "socket.socket") == []


@pytest.mark.skipif(bool(lacking("os.killpg")), reason="without groups, there is only one way")
@pytest.mark.parametrize("without", ["", "os.killpg", "signal.SIGKILL"])
def test_a_process_is_killed(without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without process groups, it alone; and twice does no harm."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; print(end='.', flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    with process.stdin, process.stdout:
        assert process.stdout.read(1) == b"."
        kill = signal.SIGKILL
        with monkeypatch.context() as patched:
            if without:
                patched.delattr(without)
                patched.setattr(process, "kill", lambda: os.kill(process.pid, kill))
            kill_with_children(process)
        assert process.wait() == -kill
    kill_with_children(process)


def test_nothing_is_missing_here() -> None:
    """The tests above take something away; here, nothing is refused."""
    if sys.platform == "linux":
        assert lacking("os.killpg", "os.pidfd_open", "fcntl.flock", "socket.AF_UNIX") == []
    assert hasattr(socket, "socket")
