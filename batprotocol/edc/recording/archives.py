"""A recording as an archive, or as a folder that is made from one at the end, and the journal of both."""

from __future__ import annotations

import io
import lzma
import mmap
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from threading import Event, Thread
from typing import Final, Protocol

from batprotocol._util.files import naming
from batprotocol.edc.recording.names import Names
from batprotocol.model import Direction

__all__ = [
    "GROWTH",
    "ArchiveRecording",
    "Compressed",
    "FolderRecording",
    "Journal",
    "Packer",
    "Sink",
    "replace",
    "telling",
]


# The journal: a file that is mapped into memory and grows. The system has the data as soon as they are written there


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


# Preparing the final file in another thread while the journal grows


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


# The archive, and the folder that is made from one at the end


PRESET: Final = 1
"""The compression level of xz. With 6, its default, it takes fourteen times as long, and longer than the simulation."""

SIZES: Final = 1000
"""The number of message sizes whose header text is cached. Most messages of a run have one of a few sizes."""

BLOCK: Final = 512
END: Final = 2 * BLOCK
"""The number of zero bytes at the end of an archive."""


class ArchiveRecording:
    """Writes messages into a journal as members of an archive."""

    TAIL = END

    def __init__(self, journal: Journal, names: Names, about: Mapping[str, str]) -> None:  # not kept
        self._journal = journal
        self._names = names
        self._number = 0
        self._widen()
        self._written: dict[int, tuple[bytes, int]] = {}

    def write(self, direction: Direction, data: bytes, wall: int | None = None, now: float | None = None) -> None:
        """Write a message. An archive does not keep the time of its arrival or its simulated time."""
        journal = self._journal
        start, size = journal.end + BLOCK, len(data)
        end = start + size + -size % BLOCK
        archive = journal.grow(end, self._number) if end > journal.room else journal.map
        archive[start : start + size] = data  # before its header: a reader sees it only with its header
        digits = b"%0*d" % (self._names.digits, self._number)
        if len(digits) > self._digits:
            self._widen()
        written, weight = self._written.get(size) or self._size(size)
        before, middle, after, checksum = self._around[direction]
        checksum += sum(digits) + weight
        archive[start - BLOCK : start] = b"".join((digits, before, written, middle, b"%06o" % checksum, after))
        journal.end = end
        self._number += 1

    def _widen(self) -> None:
        """Widen the names for the number of the next message."""
        self._digits = len(b"%0*d" % (self._names.digits, self._number))
        self._around = {direction: _around(end.encode(), self._digits) for direction, end in self._names.ends.items()}

    def _size(self, size: int) -> tuple[bytes, int]:
        """The text of a size, and its share of the checksum."""
        text = b"%011o" % size
        if len(self._written) >= SIZES:
            self._written.clear()
        self._written[size] = found = text, sum(text)
        return found

    def keep(self, name: str, data: bytes) -> None:
        """Write another file. Its name can have 100 bytes, and in addition a folder of 155 bytes."""
        head, _, last = name.encode().rpartition(b"/")
        short, prefix = (name.encode(), b"") if len(name.encode()) <= 100 else (last, head)
        if len(short) > 100 or len(prefix) > 155:
            raise ValueError(f"{name} is too long for a name in an archive")
        before, middle, after, checksum = _around(b"", 0)
        before, after = short + before[len(short) :], after[:191] + prefix + after[191 + len(prefix) :]
        written = b"%011o" % len(data)
        checksum += sum(short) + sum(prefix) + sum(written)
        header = b"".join((before, written, middle, b"%06o" % checksum, after))
        self._journal.append(header + data + bytes(-len(data) % BLOCK), self._number)

    def end(self) -> bytes:
        """The end of the archive."""
        return bytes(END)


def _around(end: bytes, digits: int) -> tuple[bytes, bytes, bytes, int]:
    """The header of a member around the number, the size and the checksum, and the checksum of these parts.

    It is the header of POSIX.1-1988. For the checksum, the field of the checksum counts as spaces. The time is 0, so
    that two recordings of the same messages have the same bytes.
    """
    before = end.ljust(100 - digits, b"\0") + b"0000644\0" + b"0000000\0" * 2
    middle = b"\0%011o\0" % 0
    after = (b"\0 0" + bytes(100) + b"ustar\00000").ljust(BLOCK - 154, b"\0")
    return before, middle, after, sum(before) + sum(middle) + sum(after) + 7 * ord(" ")


class Compressed:
    """A compressed archive. It is in memory until it replaces the journal."""

    def __init__(self) -> None:
        self._compressor = lzma.LZMACompressor(preset=PRESET)
        self._packed: list[bytes] = []

    def take(self, piece: bytes) -> None:
        self._packed.append(self._compressor.compress(piece))

    def finish(self, journal: str) -> None:
        self.take(bytes(END))
        self._packed.append(self._compressor.flush())
        replace(journal, self._packed, "it is whole, but not compressed")


class FolderRecording:
    """A folder with a file for each message. They are written at the end, as a new file takes longer than a turn."""

    def __init__(self, path: str) -> None:
        self._path = path

    def take(self, piece: bytes) -> None:
        pass

    def finish(self, journal: str) -> None:
        made: list[str] = []
        try:
            with open(journal, "rb") as archive:
                while (header := archive.read(BLOCK)).strip(b"\0"):
                    name, size = _name(header), int(header[124:135], 8)
                    made.append(os.path.join(self._path, *name.split("/")))
                    if "/" in name:
                        os.makedirs(os.path.dirname(made[-1]), exist_ok=True)
                    with open(made[-1], "xb") as file:
                        file.write(archive.read(size))
                    archive.seek(-size % BLOCK, os.SEEK_CUR)
        except OSError as error:
            for each in made:
                with suppress(OSError):
                    os.unlink(each)
            raise telling(error, self._path, f"its messages stay in {os.path.basename(journal)}") from error
        os.unlink(journal)


def _name(header: bytes) -> str:
    name, prefix = header[:100].rstrip(b"\0"), header[345:500].rstrip(b"\0")
    return (prefix + b"/" + name if prefix else name).decode()
