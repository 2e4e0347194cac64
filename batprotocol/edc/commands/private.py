"""Endpoints that nobody else uses: Unix sockets in temporary folders, which are removed at the end.

A program that is killed leaves its folder behind. The next program removes it: each program holds a lock on its folder,
and the system releases the locks of a program that has ended.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import zmq

with suppress(ImportError):  # where it is missing, there are no Unix sockets either
    from fcntl import LOCK_EX, LOCK_NB, flock

__all__ = ["private_endpoint"]

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
