"""A recording as MCAP, the container for timestamped messages: https://mcap.dev/spec.

Each message is on the topic of its sender, `batsim_to_edc` or `edc_to_batsim`. It is encoded as `flatbuffer` with the
schema, or as `json`. The frames of the handshake, and data that are not a message, are on `.../frame`. The index uses
the `log_time` of a message, which is its simulated time in nanoseconds. If a message has no simulated time, or an
earlier one than the message before it, its `log_time` is that of the message before it. Its `publish_time` is the time
of recording, in nanoseconds since 1970.

The journal is an MCAP without chunks. This module packs its messages without the package `mcap`, which is slower,
because the simulator waits meanwhile. The package packs all other records. At the end of the run, a file with
compressed chunks and an index replaces the journal.
"""

from __future__ import annotations

import importlib.resources
import io
import struct
import zlib
from collections import Counter
from collections.abc import Mapping
from time import time_ns
from typing import Final, NamedTuple

from batprotocol._util.requirements import installing
from batprotocol.edc.recording.archives import Journal, replace
from batprotocol.edc.recording.names import MCAP_MAGIC, Names, moment_of
from batprotocol.errors import PackageMissing
from batprotocol.model import Direction
from batprotocol.wire import detect
from batprotocol.wire.frames import time_of

try:
    import zstandard
    from mcap.data_stream import ReadDataStream, RecordBuilder
    from mcap.opcode import Opcode
    from mcap.records import (
        Attachment,
        AttachmentIndex,
        Channel,
        Chunk,
        ChunkIndex,
        DataEnd,
        Footer,
        Header,
        McapRecord,
        Metadata,
        MetadataIndex,
        Schema,
        Statistics,
        SummaryOffset,
    )
except ImportError as missing:
    package = (missing.name or "mcap").partition(".")[0]
    raise PackageMissing(f"MCAP needs the package {package}: {installing('capture')}") from None

__all__ = ["MESSAGE", "PROFILE", "TOPICS", "Chunked", "Mcap"]

PROFILE: Final = "batprotocol"
"""The profile in the header of a file of this library. It stands for the format that this module describes."""
TOPICS: Final = {Direction.BATSIM_TO_EDC: "batsim_to_edc", Direction.EDC_TO_BATSIM: "edc_to_batsim"}
FRAME: Final = "frame"
"""The suffix of the topic of data that are not a bare message."""
ROOT: Final = "batprotocol.fb.Message"
"""The full name of the table of a message in the schema."""

MESSAGE: Final = struct.Struct("<BQHIQQ")
"""The header of a message: code, length, channel, number, simulated time, time of recording."""
HEADER: Final = MESSAGE.size
LENGTH: Final = 22
"""The number of bytes of the header that count in its length."""
RECORD: Final = struct.Struct("<BQ")
"""The header of any record: code, length."""

INDEX: Final = struct.Struct("<BQHI")
"""The header of an index of the messages of a channel: code, length, channel, size."""

COMPRESSION: Final = "zstd"
LEVEL: Final = 1
"""The compression level of zstd."""
CHUNK: Final = 2**18
"""The size of a chunk in bytes before its compression. To find a time, a reader reads one or two chunks."""

_PACK: Final = MESSAGE.pack
_EDC: Final = Direction.EDC_TO_BATSIM
_MAYBE_JSON: Final = frozenset(b"{ \t\r\n/\xef")
"""The bytes that JSON can begin with."""


class Coding(NamedTuple):
    """The encoding of the messages of a channel: its name in MCAP, its schema, and the end of each message.

    Batsim ends its messages in JSON with a NUL. Other tools do not accept it in JSON, so it is not written.
    """

    word: str
    schema: int
    tail: str = ""


CODINGS: Final = (Coding("flatbuffer", 1), Coding("json", 0), Coding("json", 0, "\0"), Coding("", 0))
BINARY, JSON, JSON_NUL, OTHER = range(len(CODINGS))


class Mcap:
    """Writes messages into a journal as records of MCAP.

    Args:
        journal: the journal.
        names: the names of the files of these messages in an archive.
        about: the metadata of the run.
    """

    TAIL = 64

    def __init__(self, journal: Journal, names: Names, about: Mapping[str, str]) -> None:
        self._journal = journal
        self._names = names
        self._moment = 0
        self._channels = [0] * (len(CODINGS) * len(Direction))
        self._number = 0
        self._append(Header(PROFILE, "batprotocol"), MCAP_MAGIC)
        self._append(Metadata(PROFILE, dict(about)))
        schema = importlib.resources.files("batprotocol._schema").joinpath("batprotocol.bfbs").read_bytes()
        self._append(Schema(1, schema, "flatbuffer", ROOT))

    def write(self, direction: Direction, data: bytes, wall: int | None = None, now: float | None = None) -> None:
        """Write a message.

        Args:
            direction: the direction of the message.
            data: its bytes.
            wall: the time of its arrival, in nanoseconds since 1970. By default, now.
            now: its simulated time, if the caller knows it.
        """
        if now is None:
            now = time_of(data)
        if now is None:
            coding = OTHER
        else:
            if data[0] not in _MAYBE_JSON or detect(data) != "json":
                coding = BINARY
            elif data[-1]:
                coding = JSON
            else:
                coding = JSON_NUL
                data = data[:-1]
            moment = moment_of(now)
            if moment > self._moment:
                self._moment = moment
        if direction is _EDC:
            coding += len(CODINGS)
        channel = self._channels[coding] or self._channel(direction, coding)
        journal = self._journal
        size = len(data)
        start = journal.end + HEADER
        end = start + size
        memory = journal.grow(end, self._number) if end > journal.room else journal.map
        memory[start:end] = data
        header = _PACK(5, size + LENGTH, channel, self._number, self._moment, time_ns() if wall is None else wall)
        memory[start - HEADER + 1 : start] = header[1:]
        memory[start - HEADER] = 5  # written last: before that, a reader does not see the message
        journal.end = end
        self._number += 1

    def _channel(self, direction: Direction, place: int) -> int:
        """Open a channel for the first message of its kind."""
        coding = place % len(CODINGS)
        topic = TOPICS[direction] if coding != OTHER else f"{TOPICS[direction]}/{FRAME}"
        number = 1 + sum(map(bool, self._channels))
        word, schema, tail = CODINGS[coding]
        metadata = {"name": self._names.ends[direction], "digits": str(self._names.digits), "tail": tail}
        self._append(Channel(number, topic, word, {key: text for key, text in metadata.items() if text}, schema))
        self._channels[place] = number
        return number

    def keep(self, name: str, data: bytes) -> None:
        """Attach another file."""
        media = {"csv": "text/csv", "json": "application/json"}.get(name.rpartition(".")[2], "")
        now = time_ns()
        self._append(Attachment(now, self._moment, name, media, data))

    def _append(self, record: McapRecord, before: bytes = b"") -> None:
        self._journal.append(before + _packed(record), self._number)

    def end(self) -> bytes:
        """The end of a file without an index."""
        return _packed(DataEnd(0)) + _packed(Footer(0, 0, 0)) + MCAP_MAGIC


def _packed(record: McapRecord) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    packed: bytes = builder.end()  # type: ignore[no-untyped-call]  # partly typed
    return packed


class Chunked:
    """A file with compressed chunks and an index. It is in memory until it replaces the journal."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._repeated: dict[int, list[bytes]] = {Opcode.SCHEMA: [], Opcode.CHANNEL: []}
        self._chunks: list[ChunkIndex] = []
        self._attached: list[AttachmentIndex] = []
        self._metadata: list[MetadataIndex] = []
        self._counts: Counter[int] = Counter()
        self._compressor = zstandard.ZstdCompressor(level=LEVEL)

    def take(self, piece: bytes) -> None:
        at = 0
        if not self._size and piece:
            self._add(MCAP_MAGIC)
            at = len(MCAP_MAGIC)
        start = at  # of the chunk
        index: dict[int, list[int]] = {}
        unpack, size = MESSAGE.unpack_from, len(piece)
        while at < size:
            if piece[at] == 5:
                _, length, channel, _, moment, _ = unpack(piece, at)
                entries = index.get(channel)
                if entries is None:
                    entries = index[channel] = []
                entries += (moment, at - start)
                at += RECORD.size + length
            else:
                code, length = RECORD.unpack_from(piece, at)
                end = at + RECORD.size + length
                if code in self._repeated:
                    self._repeated[code].append(piece[at:end])
                else:
                    self._chunk(piece[start:at], index)
                    self._aside(code, piece[at:end])
                    start, index = end, {}
                at = end
            if at - start >= CHUNK:
                self._chunk(piece[start:at], index)
                start, index = at, {}
        self._chunk(piece[start:], index)

    def _aside(self, code: int, record: bytes) -> None:
        """Write a record outside the chunks, and remember where it is."""
        place, stream = self._size, ReadDataStream(io.BytesIO(record[RECORD.size :]))
        self._add(record)
        if code == Opcode.METADATA:
            self._metadata.append(MetadataIndex(place, len(record), Metadata.read(stream).name))
        elif code == Opcode.ATTACHMENT:
            kept = Attachment.read(stream)
            self._attached.append(
                AttachmentIndex(
                    place, len(record), kept.log_time, kept.create_time, len(kept.data), kept.name, kept.media_type
                )
            )

    def _chunk(self, records: bytes, index: Mapping[int, list[int]]) -> None:
        """Write a chunk, and behind it an index of the moments of each channel."""
        if not records:
            return
        moments = [moment for entries in index.values() for moment in (entries[0], entries[-2])]  # they are in order
        first, last = min(moments, default=0), max(moments, default=0)
        data = self._compressor.compress(records)
        chunk = _packed(Chunk(COMPRESSION, data, last, first, zlib.crc32(records), len(records)))
        place = self._size
        self._add(chunk)
        places = {}
        for channel, entries in index.items():
            places[channel] = self._size
            self._add(INDEX.pack(Opcode.MESSAGE_INDEX, 6 + 8 * len(entries), channel, 8 * len(entries)))
            self._add(struct.pack(f"<{len(entries)}Q", *entries))
            self._counts[channel] += len(entries) // 2
        after = self._size - place - len(chunk)
        self._chunks.append(
            ChunkIndex(len(chunk), place, COMPRESSION, len(data), last, after, places, first, len(records))
        )

    def _add(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)

    def finish(self, journal: str) -> None:
        self._add(_packed(DataEnd(0)))
        start = self._size
        written = len(self._parts)
        groups = [
            (Opcode.SCHEMA, self._repeated[Opcode.SCHEMA]),
            (Opcode.CHANNEL, self._repeated[Opcode.CHANNEL]),
            (Opcode.STATISTICS, [_packed(self._statistics())]),
            (Opcode.CHUNK_INDEX, [*map(_packed, self._chunks)]),
            (Opcode.ATTACHMENT_INDEX, [*map(_packed, self._attached)]),
            (Opcode.METADATA_INDEX, [*map(_packed, self._metadata)]),
        ]
        offsets = []
        for code, records in groups:
            if records:
                offsets.append(_packed(SummaryOffset(code, sum(map(len, records)), self._size)))
                self._add(b"".join(records))
        footer = Footer(start, self._size, 0)
        self._add(b"".join(offsets))
        summary = b"".join(self._parts[written:])
        footer.summary_crc = zlib.crc32(summary + _packed(footer)[:-4])
        self._add(_packed(footer) + MCAP_MAGIC)
        replace(journal, self._parts, "it is whole, but has no index")

    def _statistics(self) -> Statistics:
        chunks = [chunk for chunk in self._chunks if chunk.message_index_offsets]
        return Statistics(
            attachment_count=len(self._attached),
            channel_count=len(self._repeated[Opcode.CHANNEL]),
            channel_message_counts=dict(self._counts),
            chunk_count=len(self._chunks),
            message_count=self._counts.total(),
            message_start_time=min((chunk.message_start_time for chunk in chunks), default=0),
            message_end_time=max((chunk.message_end_time for chunk in chunks), default=0),
            metadata_count=len(self._metadata),
            schema_count=len(self._repeated[Opcode.SCHEMA]),
        )
