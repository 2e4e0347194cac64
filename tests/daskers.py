"""A Dask scheduler and its workers, as processes, for tests."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_SECONDS = 60.0


class DaskProcesses:
    """A scheduler and workers of one thread each."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []

    def start_worker(self) -> None:
        name = f"worker{len(self.workers)}"
        # Without a nanny: one that is killed stays away.
        options = ["--no-nanny", "--nthreads", "1", "--name", name, "--no-dashboard", "--local-directory", self.folder]
        self.workers.append(_start(self.folder / f"{name}.log", "worker", self.address, *map(str, options)))


def _start(log: Path, *words: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]], stdout=output, stderr=output
        )


@contextmanager
def dask_processes(folder: Path, workers: int, port: int = 0) -> Iterator[DaskProcesses]:
    """A scheduler on a port of this machine, 0 being any that is free, and so many workers, as long as this lasts."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-jupyter", "--scheduler-file"]
    scheduler = _start(folder / "scheduler.log", "scheduler", *options, str(file))
    found = DaskProcesses("", folder)
    try:
        found.address = _address(file, scheduler, folder / "scheduler.log")
        for _ in range(workers):
            found.start_worker()
        yield found
    finally:
        for process in (*found.workers, scheduler):
            process.kill()
            process.wait()


def _address(file: Path, scheduler: subprocess.Popen[bytes], log: Path) -> str:
    """The address that a scheduler has written to its file."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return str(json.loads(file.read_bytes())["address"])
        except (OSError, ValueError):  # not yet, or not all of it
            assert scheduler.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
