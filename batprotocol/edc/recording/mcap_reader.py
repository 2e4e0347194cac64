"""Reads a conversation in an MCAP file, with or without an index, complete or cut off.

With an index, a search for a time reads one or two chunks. A file has no index if its recorder was killed, or if it is
cut off. Then records are read from the start. This module reads messages itself for speed, as there may be millions of
them. The package `mcap` reads all other records. `batprotocol.edc.recording.mcap` documents the fields.
"""

from __future__ import annotations

import io
import struct
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final, NamedTuple

from batprotocol._util.requirements import installing
from batprotocol.edc.recording.entries import Entry
from batprotocol.edc.recording.mcap import MESSAGE, PROFILE, RECORD, TOPICS
from batprotocol.edc.recording.names import MCAP_MAGIC, MOST, NOT_FINISHED, Names, counted
from batprotocol.errors import CaptureError, PackageMissing, printable
from batprotocol.model import Direction

try:
    import lz4.frame
except ImportError:
    raise PackageMissing(f"MCAP needs the package lz4: {installing('capture')}") from None

# If these are missing, the import of `batprotocol.edc.recording.mcap` has failed already.
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    ChunkIndex,
    Footer,
    Header,
    Metadata,
    MetadataIndex,
    Statistics,
)

__all__ = ["McapFile"]

LARGEST: Final = 2**29
"""The maximum size of a record, and of an unpacked chunk: 512 MiB, twice the maximum size of a message."""
PIECE: Final = 2**20
"""The number of bytes to read at once if there is no index."""

_FOOTER: Final = RECORD.size + 20 + len(MCAP_MAGIC)
_CHUNK: Final = struct.Struct("<QQQI")
"""The header of a chunk: first and last moment, unpacked size, checksum."""
_BROKEN: Final = (
    McapError,
    struct.error,
    zstandard.ZstdError,
    RuntimeError,  # of lz4
    UnicodeDecodeError,
    EOFError,
    OverflowError,
    KeyError,
)
_DIRECTIONS: Final = {topic: direction for direction, topic in TOPICS.items()}
_READERS: Final[Mapping[int, Any]] = {
    Opcode.ATTACHMENT: Attachment,
    Opcode.ATTACHMENT_INDEX: AttachmentIndex,
    Opcode.CHANNEL: Channel,
    Opcode.CHUNK_INDEX: ChunkIndex,
    Opcode.FOOTER: Footer,
    Opcode.HEADER: Header,
    Opcode.METADATA: Metadata,
    Opcode.METADATA_INDEX: MetadataIndex,
    Opcode.STATISTICS: Statistics,
}


class _Source(NamedTuple):
    """The properties of the messages of a channel: their direction, their end on the wire, and their names."""

    direction: Direction
    tail: bytes
    names: Names


class _Index:
    """The index at the end of a file."""

    def __init__(self) -> None:
        self.chunks: list[ChunkIndex] = []
        self.attachments: list[AttachmentIndex] = []
        self.metadata: list[MetadataIndex] = []
        self.count = 0


class McapFile:
    """The conversation in an MCAP.

    Args:
        name: the name of the file in errors.
        file: the file. It must support seeking.

    Attributes:
        fault: the reason why the last iteration did not reach the end, as a part of a sentence, or "".
        share: the part of the file that has been read, in [0,1].

    Raises:
        CaptureError: the file is not an MCAP, or an MCAP of another program.
    """

    def __init__(self, name: str, file: IO[bytes]) -> None:
        self._name = name
        self._file = file
        self._size = file.seek(0, io.SEEK_END)
        self._sources: dict[int, _Source | None] = {}
        self._missing: str | None = None
        self.fault = ""
        self.share = 0.0
        first = next(self._scan(), None)
        header = _read(*first) if self._at(0, len(MCAP_MAGIC)) == MCAP_MAGIC and first is not None else None
        if not isinstance(header, Header):
            raise CaptureError("is not an MCAP, or has no content", name)
        if header.profile != PROFILE:
            raise CaptureError(f"is an MCAP, but not a capture: its profile is {printable(header.profile)!r}", name)
        self._index = self._indexed()

    def _at(self, place: int, size: int) -> bytes:
        self._file.seek(place)
        return self._file.read(size)

    # The index at the end

    def _indexed(self) -> _Index | None:
        """The index at the end of the file, or None. Without an index, the whole file must be read."""
        end = self._size - _FOOTER
        tail = self._at(max(end, 0), _FOOTER)
        if end < 0 or not tail.endswith(MCAP_MAGIC) or tail[0] != Opcode.FOOTER:
            return None
        footer = _read(Opcode.FOOTER, tail[: -len(MCAP_MAGIC)])
        if not isinstance(footer, Footer) or not 0 < footer.summary_start < end or end - footer.summary_start > LARGEST:
            return None
        summary = self._at(footer.summary_start, end - footer.summary_start)
        checked = tail[: RECORD.size + 16]
        if footer.summary_crc and zlib.crc32(checked, zlib.crc32(summary)) != footer.summary_crc:
            return None
        index = _Index()
        for code, record in _records(summary):
            found = _read(code, record)
            if isinstance(found, ChunkIndex):
                index.chunks.append(found)
            elif isinstance(found, AttachmentIndex):
                index.attachments.append(found)
            elif isinstance(found, MetadataIndex):
                index.metadata.append(found)
            elif isinstance(found, Statistics):
                index.count = found.message_count
            elif isinstance(found, Channel):
                self._open(found)
        index.chunks.sort(key=lambda chunk: chunk.chunk_start_offset)
        return index if index.chunks or not index.count else None

    # The records, from the start

    def _scan(self) -> Iterator[tuple[int, bytes]]:
        """The records before the summary. If the file is cut off, the last one may be a part of a record."""
        place = len(MCAP_MAGIC)
        while True:
            piece = self._at(place, PIECE)
            if len(piece) >= RECORD.size:
                code, length = RECORD.unpack_from(piece)
                if RECORD.size + length > len(piece) and length <= LARGEST and place + length < self._size:
                    piece = self._at(place, RECORD.size + length)
            done = 0
            for code, record in _records(piece):
                yield code, record
                done += len(record)
                self.share = (place + done) / self._size
                if code == Opcode.DATA_END:
                    return
            if not done:
                if piece[:1] == bytes([Opcode.CHUNK]):
                    yield Opcode.CHUNK, piece
                return
            place += done

    # The contents

    def entries(self, start: int, end: int) -> Iterator[tuple[int, Entry]]:
        """The messages of these moments and some around them, each with its moment.

        If the file is damaged, the iteration ends there, and `fault` has the reason.
        """
        self.fault = ""
        try:
            if self._index is None:
                yield from self._scanned()
            else:
                chunks = self._index.chunks
                first = min(
                    bisect_left(chunks, start, key=lambda chunk: chunk.message_end_time),
                    max(0, bisect_right(chunks, start, key=lambda chunk: chunk.message_start_time) - 1),
                )
                last = bisect_right(chunks, end, key=lambda chunk: chunk.message_start_time)
                for chunk in chunks[first:last]:
                    self.share = chunk.chunk_start_offset / self._size
                    code, content = next(_records(self._at(chunk.chunk_start_offset, chunk.chunk_length)), (0, b""))
                    if code != Opcode.CHUNK:
                        raise EOFError
                    yield from self._messages(_unpacked(content))
        except _BROKEN:
            self.fault = "is damaged"

    def _scanned(self) -> Iterator[tuple[int, Entry]]:
        for code, record in self._scan():
            if code == Opcode.CHUNK:
                yield from self._messages(_unpacked(record))
            elif code in (Opcode.MESSAGE, Opcode.CHANNEL):
                yield from self._messages(record)

    def _messages(self, records: bytes) -> Iterator[tuple[int, Entry]]:
        at, size, unpack = 0, len(records), MESSAGE.unpack_from
        sources = self._sources
        while at + RECORD.size <= size:
            if records[at] == 5 and at + MESSAGE.size <= size:
                _, length, channel, number, moment, wall = unpack(records, at)
                end = at + RECORD.size + length
                if end > size:
                    return
                source = sources[channel]
                if source is not None:
                    data = records[at + MESSAGE.size : end]
                    yield (
                        moment,
                        Entry(number, source.direction, data + source.tail, wall or None, "", source.names),
                    )
            else:
                end = at + RECORD.size + RECORD.unpack_from(records, at)[1]
                found = _read(records[at], records[at:end])
                if isinstance(found, Channel):
                    self._open(found)
            at = end

    def _open(self, channel: Channel) -> None:
        direction = _DIRECTIONS.get(channel.topic.partition("/")[0])
        if direction is None:  # another program has added it
            self._sources[channel.id] = None
            return
        metadata = channel.metadata
        usual = Names()
        digits = metadata.get("digits", "")
        names = Names(
            {**usual.ends, direction: metadata.get("name", usual.ends[direction])},
            min(int(digits), 9) if digits.isascii() and digits.isdecimal() else usual.digits,
        )
        self._sources[channel.id] = _Source(direction, metadata.get("tail", "").encode(), names)

    @property
    def missing(self) -> str:
        """The part of the recording that is missing, as a sentence, or "". Reads the whole file."""
        if self._missing is None:
            count = sum(1 for _ in self.entries(0, MOST))
            self._missing = ""
            if self.fault:
                self._missing = f"It {self.fault}: {counted(count)} can be read."
            elif self._at(max(0, self._size - len(MCAP_MAGIC)), len(MCAP_MAGIC)) != MCAP_MAGIC:
                self._missing = f"It {NOT_FINISHED}: there may be more than {counted(count)}."
        return self._missing

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata of the run."""
        if self._index is not None:
            found = [self._record(each.offset, each.length) for each in self._index.metadata if each.name == PROFILE]
        else:
            found = [_read(code, record) for code, record in self._scan() if code == Opcode.METADATA]
        return next((each.metadata for each in found if isinstance(each, Metadata) and each.name == PROFILE), {})

    def attachments(self) -> Iterator[tuple[str, bytes]]:
        """The other files in the recording, one after the other."""
        if self._index is not None:
            found: Iterator[Any] = (self._record(each.offset, each.length) for each in self._index.attachments)
        else:
            found = (_read(code, record) for code, record in self._scan() if code == Opcode.ATTACHMENT)
        return ((each.name, each.data) for each in found if isinstance(each, Attachment))

    def _record(self, place: int, length: int) -> Any:
        return next((_read(*each) for each in _records(self._at(place, min(length, self._size)))), None)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The complete records in some bytes. In an unfinished file, zeros follow the records."""
    at = 0
    while at + RECORD.size <= len(data):
        code, length = RECORD.unpack_from(data, at)
        end = at + RECORD.size + length
        if not code or end > len(data):
            return
        yield code, data[at:end]
        at = end


def _read(code: int, record: bytes) -> Any:
    """A record of the package `mcap`, or None if it is of another kind or damaged."""
    kind = _READERS.get(code)
    if kind is None:
        return None
    try:
        return kind.read(ReadDataStream(io.BytesIO(record[RECORD.size :])))
    except _BROKEN:
        return None


def _unpacked(chunk: bytes) -> bytes:
    """The content of a chunk. If the chunk is cut off, the readable part.

    Raises:
        one of `_BROKEN`: the chunk is damaged.
    """
    _, length = RECORD.unpack_from(chunk)
    _, _, size, checksum = _CHUNK.unpack_from(chunk, RECORD.size)
    stream = ReadDataStream(io.BytesIO(chunk[RECORD.size + _CHUNK.size :]))
    compression = stream.read_prefixed_string()
    data = stream.read(min(stream.read8(), len(chunk)))
    if size > LARGEST:
        raise EOFError
    if compression == "zstd":
        unpacked = zstandard.ZstdDecompressor().stream_reader(data).read(size + 1)
    elif compression == "lz4":
        unpacked = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)
    elif compression:
        raise EOFError
    else:
        unpacked = data
    if RECORD.size + length == len(chunk) and (
        len(unpacked) != size or (checksum and zlib.crc32(unpacked) != checksum)
    ):
        raise EOFError
    return unpacked
