"""A recording as an archive, or as a folder that is made from one at the end.

It must not know what the messages hold.
"""

from __future__ import annotations

import lzma
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from batprotocol.edc.recording.journal import Journal, telling
from batprotocol.edc.recording.names import Names
from batprotocol.edc.recording.packing import replace
from batprotocol.model import Direction

__all__ = ["METADATA", "UNFINISHED", "Archive", "Compressed", "Folder"]

UNFINISHED: Final = "unfinished.tar"
"""The archive in a folder while its recording is not finished."""

METADATA: Final = "metadata.json"
"""The file with the metadata of a recording: a JSON object whose values are texts."""

PRESET: Final = 1
"""The compression level of xz. With 6, its default, it takes fourteen times as long, and longer than the simulation."""

SIZES: Final = 1000
"""The number of message sizes whose header text is cached. Most messages of a run have one of a few sizes."""

BLOCK: Final = 512
END: Final = 2 * BLOCK
"""The number of zero bytes at the end of an archive."""


class Archive:
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


class Folder:
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
