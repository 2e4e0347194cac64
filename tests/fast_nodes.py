"""Nodes and schedulers of FaST at a broker of our own, for tests."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from processes import BATPROTO, line_of, started


@contextmanager
def nodes(hosts: Sequence[str], address: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`batproto fast node` as a process that is ready."""
    with started([*BATPROTO, "fast", "node", *hosts, "--broker", address, *options]) as process:
        assert line_of(process.stderr).startswith("batproto: "), process.communicate()
        yield process


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
