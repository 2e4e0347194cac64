"""Nodes and schedulers of FaST at a broker of our own, for tests."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from brokers import PATIENCE
from processes import BATPROTO, ENVIRONMENT, line_of, started


@contextmanager
def nodes(
    hosts: Sequence[str], address: str, *options: str, log: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """`batproto fast node` as a process that is ready; what it tells goes into the log."""
    command = [*BATPROTO, "fast", "node", *hosts, "--broker", address, *options]
    with started(command) if log is None else _logging(command, log) as process:
        if log is None:
            assert line_of(process.stderr).startswith("batproto: "), process.communicate()
        yield process


@contextmanager
def _logging(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    with open(log, "w") as file:
        process = subprocess.Popen(command, env=ENVIRONMENT, stderr=file, text=True)
    try:
        until = time.monotonic() + PATIENCE
        while "at the broker" not in log.read_text():
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.01)
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


def own_threads() -> list[str]:
    """The threads of connections that are there."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(("batprotocol", "paho"))]


def own_sockets() -> set[str]:
    """The sockets that this process has open. Only Linux tells."""
    folder = f"/proc/{os.getpid()}/fd"
    assert sys.platform == "linux"
    links = []
    for name in os.listdir(folder):
        try:
            links.append(os.readlink(f"{folder}/{name}"))
        except OSError:
            continue
    return {link for link in links if link.startswith("socket:")}
