"""Starts leaders by a small process that forks, as a new Python takes longer to start than a short job runs."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["LEADER", "Starter"]

LEADER: Final = str(Path(__file__).with_name("leader.py"))


class Starter:
    """A process that starts leaders while this process lives. The leaders survive it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, folder: Path) -> int | None:
        """Start the leader of the jobs in a folder; return its process, or None if there is one already."""
        if self._process is not None and self._process.poll() is not None:
            self.close()
        with suppress(BrokenPipeError):
            return self._ask(folder)
        self.close()  # somebody has killed it: start another one
        return self._ask(folder)

    def close(self) -> None:
        """Let it end."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.stdout.close()
            process.wait()

    def _ask(self, folder: Path) -> int | None:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", LEADER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # it must not get Ctrl-C
                bufsize=0,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(os.fsencode(folder) + b"\0")
        answer = self._process.stdout.readline()
        if not answer:
            raise BrokenPipeError
        return int(answer) or None
