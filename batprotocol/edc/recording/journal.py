"""A file that is mapped into memory and grows. The system has the data as soon as they are written there.

It must not know what the data are.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from typing import Final

from batprotocol._util.files import naming

__all__ = ["GROWTH", "Journal", "telling"]

GROWTH: Final = 2**20
"""The number of bytes that a journal grows by. They are written, not only mapped: then a full disk raises an error. The
use of a mapped page for which there is no space would end the program with a signal."""


class Journal:
    """A file that is written from its start to its end.

    Args:
        file: the file, which must not exist.
        path: the name of the file in errors.
        tail: the number of bytes that `close` writes at most.
        on_growth: called with the end of the data when the file has grown.

    Attributes:
        map: the memory. The bytes behind `end` are zeros.
        end: the end of the data. The caller moves it after each write.
        room: the end of the usable space. Behind it, the caller needs `grow`.

    Raises:
        OSError: the file cannot be created.
    """

    def __init__(self, file: str, path: str, tail: int, on_growth: Callable[[int], None] | None = None) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self._file = os.open(file, flags, 0o666)
        self._path = path
        self._tail = tail
        self._on_growth = on_growth
        self._map: mmap.mmap | None = None
        self.end = self.room = 0

    @property
    def map(self) -> mmap.mmap:
        assert self._map is not None, "the recording is closed"
        return self._map

    def grow(self, end: int, kept: int) -> mmap.mmap:
        """Make space up to this end at least, and for the tail. Make more if the disk has it.

        Args:
            end: the end of the data after the next write.
            kept: the number of messages in the file, for the error message.

        Returns:
            The new memory. The old one is closed.

        Raises:
            OSError: the disk is full. The data in the file are kept.
        """
        refused: OSError | None = None
        assert self._file >= 0, "the recording is closed"
        size = os.lseek(self._file, 0, os.SEEK_END)
        wanted = end + self._tail + GROWTH
        try:
            while size < wanted:
                size += os.write(self._file, bytes(min(GROWTH, wanted - size)))
        except OSError as error:
            refused = error
        if size < end + self._tail:
            what = "no message" if not kept else "the first message" if kept == 1 else f"the first {kept:,} messages"
            raise telling(refused, self._path, f"it holds {what}")
        if self._map is not None:
            self._map.close()
        with naming(self._path):
            self._map = mmap.mmap(self._file, size)
        self.room = size - self._tail
        if self._on_growth is not None:
            self._on_growth(self.end)
        return self._map

    def append(self, data: bytes, kept: int) -> None:
        """Write these bytes.

        Args:
            data: the bytes.
            kept: as for `grow`.

        Raises:
            OSError: the disk is full. Nothing is written.
        """
        end = self.end + len(data)
        if end > self.room:
            self.grow(end, kept)
        self.map[self.end : end] = data
        self.end = end

    def close(self, tail: bytes) -> None:
        """End the file here. Closing twice does nothing.

        Args:
            tail: its last bytes, at most as many as `tail` of the class.
        """
        if self._file < 0:
            return
        if self._map is not None:
            self._map[self.end : self.end + len(tail)] = tail
            self._map.close()
            self._map = None
        file, self._file = self._file, -1
        try:
            with naming(self._path):
                os.ftruncate(file, self.end + len(tail))
        finally:
            os.close(file)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._file < 0


def telling(error: OSError | None, path: str, kept: str) -> OSError:
    """The error of the system, with the file and a note on what the file holds."""
    assert error is not None
    return OSError(error.errno, f"{error.strerror or error}; {kept}", path)
