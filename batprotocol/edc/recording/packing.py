"""Prepares the final file of a recording in another thread while the journal grows.

It must not know what is in a journal. Only a sink knows.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from contextlib import suppress
from threading import Event, Thread
from typing import Protocol

from batprotocol.edc.recording.journal import telling

__all__ = ["Packer", "Sink", "replace"]


class Sink(Protocol):
    """Makes the requested file from a journal."""

    def take(self, piece: bytes) -> None:
        """Take the next bytes of the journal, which are whole messages."""

    def finish(self, journal: str) -> None:
        """Replace the complete journal with the requested file."""


class Packer:
    """A thread that reads a journal as it grows. `finish` raises the errors of the thread."""

    def __init__(self, journal: str, sink: Sink) -> None:
        self._journal = journal
        self._sink = sink
        self._limit = 0
        self._more = Event()
        self._finished = False
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="batprotocol recording", daemon=True)
        self._started = False

    def go_on(self, size: int) -> None:
        """Let the thread read the journal up to this size."""
        self._limit = size
        self._more.set()
        if not self._started:
            self._started = True
            self._thread.start()

    def finish(self, size: int) -> None:
        """Let the thread finish a journal of this size. Returns when the file is written."""
        self._finished = True
        self.go_on(size)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            with open(self._journal, "rb", buffering=0) as file:  # a buffer would hold zeros that have been overwritten
                finished = False
                while not finished:
                    self._more.wait()
                    self._more.clear()
                    finished = self._finished  # before the limit, which it is set before
                    self._sink.take(_read_all(file, self._limit - file.tell()))
            self._sink.finish(self._journal)
        except BaseException as error:
            self._error = error


def _read_all(file: io.FileIO, size: int) -> bytes:
    parts = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def replace(journal: str, parts: Iterable[bytes], otherwise: str) -> None:
    """Replace the journal with a file. If that fails, the journal stays unchanged.

    Args:
        journal: the journal.
        parts: the data of the file.
        otherwise: the state of the recording if the file cannot be written, as a part of a sentence.

    Raises:
        OSError: the file cannot be written.
    """
    part = f"{journal}.part"
    try:
        with open(part, "xb") as file:
            file.writelines(parts)
        os.replace(part, journal)
    except OSError as error:
        with suppress(OSError):
            os.unlink(part)
        raise telling(error, journal, otherwise) from error
