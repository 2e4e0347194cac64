"""A process that calls one function again and again, for as long as whoever has started it lives.

It must not know what is called. What it runs is in `serving`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Final

from batprotocol.engines.interface import Ended
from batprotocol.engines.serving import PRINTED

__all__ = ["Child"]

_PROGRAM: Final = """
import json, sys
descriptor, function, folder, memory, path = sys.argv[1:]
own = [each for each in sys.path if each]
sys.path[:] = own + [each for each in json.loads(path) if each not in own]
from batprotocol.engines.serving import main
main(int(descriptor), function, folder, int(memory))
"""
"""What it runs. Its own folders come first: in those that its starter has added, a file may be called as anything."""
_KEPT: Final = 10_000
"""So many of the last characters are kept of what a process printed that has died."""
PREFIX: Final = "batprotocol-"


class Child:
    """A process that calls a function.

    Args:
        function: `module:name`, see `interface`.
        memory: how many bytes of addresses it may have; 0: as many as it likes.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, function: str, memory: int = 0) -> None:
        self.connection: Connection
        """Readable when a call has ended, in whatever way."""
        self._folder = tempfile.mkdtemp(prefix=PREFIX)
        os.mkdir(os.path.join(self._folder, "scratch"))
        self._known: set[str] = set()
        self._number = -1
        self._until = float("inf")
        self._seconds = 0.0
        self.connection, theirs = Pipe()
        with open(os.path.join(self._folder, PRINTED), "ab") as printed, theirs:
            words = (str(theirs.fileno()), function, self._folder, str(memory), json.dumps(sys.path))
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *words],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,  # it is killed with all that it has started
            )

    def begin(self, number: int, argument: Any, shared: Mapping[str, Any], seconds: float = float("inf")) -> None:
        """Begin a call; there is none yet.

        Args:
            number: of the call.
            argument: what the function is called with.
            shared: what else it needs, by names; what the process knows already is not sent again.
            seconds: after which `end` kills the process.
        """
        self._number, self._seconds, self._until = number, seconds, time.monotonic() + seconds
        new = {name: value for name, value in shared.items() if name not in self._known}
        self._known.update(new)
        with suppress(OSError):  # it has died, as `end` will find out
            self.connection.send((argument, new))

    @property
    def seconds_left(self) -> float:
        """How many seconds the call still has."""
        return self._until - time.monotonic()

    def end(self) -> Ended | None:
        """How the call ended; None while it goes on. Without a value, the process is dead."""
        try:
            if not self.connection.poll(0):
                if self.seconds_left > 0:
                    return None
                return self._dead(f"it took more than {self._seconds:g} s")._replace(is_late=True)
            returned, value = self.connection.recv()
        except (EOFError, OSError):
            return self._dead("")
        self._until = float("inf")
        if returned:
            return Ended(self._number, value, place=socket.gethostname())
        self.close()
        return Ended(self._number, None, "its process has failed", str(value), socket.gethostname())

    def call(self, argument: Any, shared: Mapping[str, Any], seconds: float = float("inf")) -> Ended:
        """Call the function, and wait for its end."""
        self.begin(0, argument, shared, seconds)
        while True:
            left = max(0.0, self.seconds_left)
            self.connection.poll(None if left == float("inf") else left)
            ended = self.end()
            if ended is not None:
                return ended

    def _dead(self, lost: str) -> Ended:
        if not lost:
            try:
                code = self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                code = 0
            lost = f"its process was ended by {_signal(-code)}" if code < 0 else f"its process ended with status {code}"
        try:
            with open(os.path.join(self._folder, PRINTED), encoding="utf-8", errors="replace") as file:
                printed = file.read()[-_KEPT:]
        except OSError:
            printed = ""
        self.close()
        return Ended(self._number, None, lost, printed, socket.gethostname())

    def close(self) -> None:
        """End it, whatever it does."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()
        self._process.wait()
        self.connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
