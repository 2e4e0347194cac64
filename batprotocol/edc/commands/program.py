"""The program that simulates for `batproto run`: started, watched, and ended together with this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import click
import zmq

from batprotocol._util.files import reason_of
from batprotocol._util.signals import Interrupts
from batprotocol.cli.terminal import printable

__all__ = [
    "PATIENCE",
    "ProgramEnded",
    "SimulatorProgram",
    "private_endpoint",
]


GRACE = 0.3
"""Seconds that the command has to end after its scheduler has left it with a request to stop."""

PATIENCE = 2.0
"""Seconds that the command has to end after it was terminated; then it is killed."""

NOT_FOUND = 127
CANNOT_RUN = 126
SIGNALLED = 128
"""The exit status of shells where a command does not exist, cannot run, or (plus its number) was ended by a signal."""

_ANY_ADDRESS = (("tcp://0.0.0.0:", "tcp://127.0.0.1:"), ("tcp://[::]:", "tcp://[::1]:"))

_MORTAL = """
import ctypes, os, signal, sys
report, parent, *command = sys.argv[1:]
os.set_inheritable(int(report), False)
ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
if os.getppid() != int(parent):
    sys.exit(1)
for each in signal.SIGPIPE, signal.SIGXFSZ:
    signal.signal(each, signal.SIG_DFL)
try:
    os.execvp(command[0], command)
except OSError as error:
    os.write(int(report), b"%d" % error.errno)
"""
"""A program that becomes another one that does not outlive its parent (1 is PR_SET_PDEATHSIG), if that still lives.

This is impossible between fork and exec: with the threads of ZeroMQ, no Python can safely run there. If the exec fails,
the error comes through a pipe, which a successful exec closes. Python ignores two signals, which would be inherited.
"""


class ProgramEnded(Exception):
    """The command has ended while its scheduler waited for it."""


class SimulatorProgram:
    """The program that simulates. It is started when the endpoint is bound, and does not outlive the `with`."""

    def __init__(self, command: Sequence[str], init: str) -> None:
        self._command = command
        self._init = init
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> SimulatorProgram:
        return self

    def start(self, endpoint: str) -> None:
        """Start it, now that it can connect."""
        for any_address, this_machine in _ANY_ADDRESS:
            endpoint = endpoint.replace(any_address, this_machine)
        arguments = [each.replace("{endpoint}", endpoint).replace("{init}", self._init) for each in self._command]
        try:
            self._process = _started(arguments)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            print(printable(f"batproto: {self.name} cannot be started: {reason_of(error)}"), file=sys.stderr)
            raise click.exceptions.Exit(NOT_FOUND if missing else CANNOT_RUN) from None

    def check(self) -> None:
        """Called while its scheduler waits for it."""
        if self._code() is not None:
            raise ProgramEnded

    def ends_within(self, seconds: float) -> bool:
        """Whether it ends within this time."""
        until = time.monotonic() + seconds
        while self._code() is None and time.monotonic() < until:
            time.sleep(0.01)
        return self._code() is not None

    def status_in_the_end(self, interrupts: Interrupts) -> int:
        """Wait until it ends, after the simulation; its exit status."""
        while not self.ends_within(0.2):
            interrupts.check()
        return self._status

    def status_too_early(self) -> int:
        """Report that it ended before the simulation did; its exit status, or 1 if that is 0."""
        print(printable(f"batproto: {self.name} {self.end} before the simulation was over"), file=sys.stderr)
        return self._status or 1

    def __exit__(self, *exception: object) -> None:
        if self._process is None or self.ends_within(GRACE):
            return
        self._process.terminate()
        if not self.ends_within(PATIENCE):
            self._process.kill()
            self._process.wait()

    @property
    def name(self) -> str:
        """The name of the program."""
        return os.path.basename(self._command[0])

    def _code(self) -> int | None:
        assert self._process is not None
        return self._process.poll()

    @property
    def _status(self) -> int:
        code = self._code() or 0
        return SIGNALLED - code if code < 0 else code

    @property
    def end(self) -> str:
        """The end of a sentence that begins with its name: how it ended."""
        code = self._code() or 0
        if code >= 0:
            return f"ended with exit status {code}"
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """The command as a process. On Linux, it does not outlive this one, even if that is killed."""
    if sys.platform != "linux" or not sys.executable:
        return subprocess.Popen(command)
    listening, report = os.pipe()
    with open(listening, "rb") as pipe:
        try:
            mortal = [sys.executable, "-I", "-S", "-c", _MORTAL, str(report), str(os.getpid()), *command]
            process = subprocess.Popen(mortal, pass_fds=[report])
        finally:
            os.close(report)
        fault = pipe.read()
    if fault:
        process.wait()
        raise OSError(int(fault), os.strerror(int(fault)), command[0])
    return process


# Endpoints that nobody else uses: Unix sockets in temporary folders, which are removed at the end.


with suppress(ImportError):  # where it is missing, there are no Unix sockets either
    from fcntl import LOCK_EX, LOCK_NB, flock


PREFIX = "batproto-"
SOCKET = "edc.sock"

ATTEMPTS = 5
"""The number of attempts to make a new folder, if others take it for a stale one before it is locked."""


@contextmanager
def private_endpoint() -> Iterator[str]:
    """An endpoint that nobody else uses."""
    if os.name != "posix" or not zmq.has("ipc"):
        yield "tcp://127.0.0.1:*"
        return
    _remove_stale()
    folder, lock = _locked_folder()
    try:
        yield f"ipc://{folder}/{SOCKET}"
    finally:
        _remove(folder)
        if lock is not None:
            os.close(lock)


def _locked_folder() -> tuple[str, int | None]:
    """A new folder, and the descriptor that holds the lock on it, None where folders cannot be locked."""
    for _ in range(ATTEMPTS):
        folder = tempfile.mkdtemp(prefix=PREFIX)
        lock = _lock(folder)
        if lock is not None and os.path.isdir(folder):
            return folder, lock
        if lock is not None:  # somebody took it for a stale one before it was locked
            os.close(lock)
    return tempfile.mkdtemp(prefix=PREFIX), None


def _remove_stale() -> None:
    """Remove the folders of programs that were killed."""
    parent = tempfile.gettempdir()
    with suppress(OSError):
        for name in os.listdir(parent):
            folder = os.path.join(parent, name)
            lock = _lock(folder) if name.startswith(PREFIX) else None
            if lock is not None:
                _remove(folder)
                os.close(lock)


def _lock(folder: str) -> int | None:
    """A descriptor that holds the lock on a folder of this user; None if another program holds it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            flock(descriptor, LOCK_EX | LOCK_NB)
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _remove(folder: str) -> None:
    """Remove a folder and the socket in it, but no other file."""
    with suppress(OSError):
        os.unlink(os.path.join(folder, SOCKET))
    with suppress(OSError):
        os.rmdir(folder)
