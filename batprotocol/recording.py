"""Recordings: all that two peers say, as files that `batproto dump` and `batproto check` read.

`00000-b2e.bin` is the first message, from Batsim, `00001-e2b.bin` the answer to it, and so on, each as it was on the
wire. They are in a folder or in an archive. It must not know what the messages hold, nor who sends them.

While it goes on, a recording is a plain tar archive in a file that is mapped into memory: a message is copied there and
is in the hands of the system, which writes it down whatever becomes of this process. What is mapped and not yet used is
zeros, with which an archive ends. In the end, what was asked for takes its place: until then, a `.tar.xz` is not
compressed, though another thread has prepared it, and a folder holds the archive `unfinished.tar`.

Where the disk is full, the archive takes what there is, and keeps what it holds; what cannot take its place does not.
"""

from __future__ import annotations

import errno
import io
import logging
import lzma
import mmap
import os
from contextlib import suppress
from threading import Event, Thread
from types import TracebackType
from typing import Final, Protocol, TypeVar

from batprotocol.files import naming
from batprotocol.model import Direction

__all__ = ["UNFINISHED", "Recorder"]

UNFINISHED: Final = "unfinished.tar"
"""The archive in a folder whose recording is not finished."""

logger = logging.getLogger("batprotocol.recording")

COMPRESSED: Final = (".tar.xz", ".txz")
OTHERS: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tar.zst", ".zip")

PRESET: Final = 1
"""How hard xz tries: with 6, its default, it takes fourteen times as long, and longer than the simulation."""

GROWTH: Final = 2**20
"""Bytes that the archive grows by. They are written, not just mapped: a disk that is full must be an error, and not the
signal that ends programs that use a page which cannot be had."""

SIZES: Final = 1000
"""How many sizes of messages are remembered as they are written: most messages of a run have one of a few."""

BLOCK: Final = 512
END: Final = 2 * BLOCK
"""The bytes, all zero, that an archive ends with."""

_ENDS: Final = {Direction.BATSIM_TO_EDC: b"-b2e.bin", Direction.EDC_TO_BATSIM: b"-e2b.bin"}

_Recorder = TypeVar("_Recorder", bound="Recorder")


class Recorder:
    """Records a conversation.

    Args:
        path: a file that ends with `.tar.xz` or `.tar`, or a folder, which may exist but holds no recording yet.

    Raises:
        OSError: it cannot be written there, or something is there already; its `filename` is the path.

    `write` does not wait for the disk, and takes a microsecond or two. After `close`, which a `with` does, it is whole.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        journal, sink = _prepared(self.path)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self._file = os.open(journal, flags, 0o666)
        self._map: mmap.mmap | None = None
        self._number = self._end = self._room = 0
        self._widen()
        self._written: dict[int, tuple[bytes, int]] = {}
        self._packer = _Packer(journal, sink) if sink is not None else None

    def write(self, direction: Direction, data: bytes) -> None:
        """Record a message.

        Args:
            direction: who says it.
            data: the whole frame.

        Raises:
            OSError: the disk is full. What was recorded before is kept.
        """
        start, size = self._end + BLOCK, len(data)
        end = start + size + -size % BLOCK
        if end > self._room:
            self._grow(end)
        archive = self._map
        assert archive is not None, "the recording is closed"
        archive[start : start + size] = data  # before its header: without that, it is not there
        digits = b"%05d" % self._number
        if len(digits) > self._digits:
            self._widen()
        written, weight = self._written.get(size) or self._size(size)
        before, middle, after, checksum = self._around[direction]
        checksum += sum(digits) + weight
        archive[start - BLOCK : start] = b"".join((digits, before, written, middle, b"%06o" % checksum, after))
        self._end = end
        self._number += 1

    def _widen(self) -> None:
        """Make room in the names for the number of the next message."""
        self._digits = len(b"%05d" % self._number)
        self._around = {direction: _around(end, self._digits) for direction, end in _ENDS.items()}

    def _size(self, size: int) -> tuple[bytes, int]:
        """How a size is written, and what it adds to the checksum."""
        text = b"%011o" % size
        if len(self._written) >= SIZES:
            self._written.clear()
        self._written[size] = found = text, sum(text)
        return found

    def _grow(self, end: int) -> None:
        """Make room up to this end at least, and what an archive ends with; for more, if the disk has it."""
        refused: OSError | None = None
        size = os.lseek(self._file, 0, os.SEEK_END)
        wanted = end + END + GROWTH
        try:
            while size < wanted:
                size += os.write(self._file, bytes(min(GROWTH, wanted - size)))
        except OSError as error:
            refused = error
        if size < end + END:
            number = self._number
            kept = (
                "no message" if not number else "the first message" if number == 1 else f"the first {number:,} messages"
            )
            raise _telling(refused, self.path, f"it holds {kept}")
        if self._map is not None:
            self._map.close()
        with naming(self.path):
            self._map = mmap.mmap(self._file, size)
        self._room = size - END
        if self._packer is not None:
            self._packer.go_on(self._end)

    def close(self) -> None:
        """Make of the recording what was asked for. Closing twice does nothing.

        Raises:
            OSError: the disk is full: the recording stays the archive that it is, in a folder or at the path, and can
                be read as such.
        """
        if self._file < 0:
            return
        if self._map is not None:
            self._map.close()
            self._map = None
        file, self._file = self._file, -1
        try:
            with naming(self.path):
                os.ftruncate(file, self._end + END)
        finally:
            os.close(file)
        if self._packer is not None:
            self._packer.finish(self._end)

    def __enter__(self: _Recorder) -> _Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except OSError as trouble:
            if error is None:
                raise
            logger.warning("%s: %s", trouble.filename, trouble.strerror)  # and not in place of what came first


def _telling(error: OSError | None, path: str, kept: str) -> OSError:
    """What the system refused, which file it was, and what has become of that."""
    assert error is not None
    return OSError(error.errno, f"{error.strerror or error}; {kept}", path)


def _around(end: bytes, digits: int) -> tuple[bytes, bytes, bytes, int]:
    """What is between the number, the size and the checksum in the header of a member, and the checksum of all this.

    It is the header of POSIX.1-1988, from whose checksum the checksum is left out, as if it were spaces. Its time is
    none, so that what was said twice is recorded twice in the same bytes.
    """
    before = end.ljust(100 - digits, b"\0") + b"0000644\0" + b"0000000\0" * 2
    middle = b"\0%011o\0" % 0
    after = (b"\0 0" + bytes(100) + b"ustar\00000").ljust(BLOCK - 154, b"\0")
    return before, middle, after, sum(before) + sum(middle) + sum(after) + 7 * ord(" ")


def _read_all(file: io.FileIO, size: int) -> bytes:
    parts = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


# What becomes of the archive


class _Sink(Protocol):
    def take(self, members: bytes) -> None:
        """The next members of the archive, whole ones."""

    def finish(self, journal: str) -> None:
        """There are no more, and what was asked for takes the place of the archive."""


class _Packer:
    """A thread that reads the archive as it grows. What goes wrong there is raised in the end."""

    def __init__(self, journal: str, sink: _Sink) -> None:
        self._journal = journal
        self._sink = sink
        self._limit = 0
        self._more = Event()
        self._finished = False
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="batprotocol recording", daemon=True)
        self._thread.start()

    def go_on(self, size: int) -> None:
        """The archive has grown to this size."""
        self._limit = size
        self._more.set()

    def finish(self, size: int) -> None:
        """The archive has this size, and will not grow. Returns when all is done."""
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


class _Archive:
    """A compressed archive, in memory until it takes the place of the other one."""

    def __init__(self) -> None:
        self._compressor = lzma.LZMACompressor(preset=PRESET)
        self._packed: list[bytes] = []

    def take(self, members: bytes) -> None:
        self._packed.append(self._compressor.compress(members))

    def finish(self, journal: str) -> None:
        self.take(bytes(END))
        self._packed.append(self._compressor.flush())
        part = f"{journal}.part"
        try:
            with open(part, "xb") as file:
                file.writelines(self._packed)
            os.replace(part, journal)
        except OSError as error:
            with suppress(OSError):
                os.unlink(part)
            raise _telling(error, journal, "it is whole, but not compressed") from error


class _Folder:
    """A folder with a file for each message, which are written in the end: to make so many takes longer than a turn."""

    def __init__(self, path: str) -> None:
        self._path = path

    def take(self, members: bytes) -> None:
        pass

    def finish(self, journal: str) -> None:
        made: list[str] = []
        try:
            with open(journal, "rb") as archive:
                while (header := archive.read(BLOCK)).strip(b"\0"):
                    name, size = header[:100].rstrip(b"\0").decode(), int(header[124:135], 8)
                    made.append(os.path.join(self._path, name))
                    with open(made[-1], "xb") as file:
                        file.write(archive.read(size))
                    archive.seek(-size % BLOCK, os.SEEK_CUR)
        except OSError as error:
            for each in made:
                with suppress(OSError):
                    os.unlink(each)
            raise _telling(error, self._path, f"its messages stay in {os.path.basename(journal)}") from error
        os.unlink(journal)


def _prepared(path: str) -> tuple[str, _Sink | None]:
    """Where to write the archive, and what to make of it."""
    if path.endswith(OTHERS):
        raise OSError(errno.EINVAL, "a recording is a .tar.xz, a .tar, or a folder", path)
    if path.endswith((*COMPRESSED, ".tar")):
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "there is something already, and it is not overwritten", path)
        return path, _Archive() if path.endswith(COMPRESSED) else None
    os.makedirs(path, exist_ok=True)
    if any(name == UNFINISHED or name.endswith((".bin", ".json", ".fb")) for name in os.listdir(path)):
        raise FileExistsError(errno.EEXIST, "the folder holds messages already", path)
    return os.path.join(path, UNFINISHED), _Folder(path)
