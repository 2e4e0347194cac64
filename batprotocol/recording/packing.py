"""What becomes of a journal in the end, prepared by another thread while it grows.

It must not know what is in a journal: a sink does.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from contextlib import suppress
from threading import Event, Thread
from typing import Protocol

from batprotocol.recording.journal import telling

__all__ = ["Packer", "Sink", "replace"]


class Sink(Protocol):
    """What makes of a journal what was asked for."""

    def take(self, piece: bytes) -> None:
        """The next bytes of the journal: whole messages."""

    def finish(self, journal: str) -> None:
        """There are no more, and what was asked for takes the place of the journal."""


class Packer:
    """A thread that reads a journal as it grows. What goes wrong there is raised in the end."""

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
        """The journal has grown to this size."""
        self._limit = size
        self._more.set()
        if not self._started:
            self._started = True
            self._thread.start()

    def finish(self, size: int) -> None:
        """The journal has this size, and will not grow. Returns when all is done."""
        self._finished = True
        self.go_on(size)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            with open(self._journal, "rb", buffering=0) as file:  # a buffer would hold zeros that are none any more
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
    """Write a file that takes the place of the journal, or leave that as it is.

    Args:
        journal: the file.
        parts: what to write.
        otherwise: what has become of the recording if that cannot be written, as a part of a sentence.

    Raises:
        OSError: it cannot be written.
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
