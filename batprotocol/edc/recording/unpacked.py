"""Reads the bytes of the members of archives of recorded runs, which any program may have made.

An archive is read with bounded time, memory and disk. A compressed archive may unpack to `UNPACKED` bytes, or to
`RATIO` times its own size if that is more. So the time is proportional to the size of the file. In memory are one
message at a time and the names of the members, at most `MEMBERS`. A header may have `HEADER` bytes, and the
decompressor may use `DECOMPRESSOR` bytes. If the members of a compressed archive are not in the order of their names,
they are sorted in a temporary file of at most `SORTED` bytes. Beyond a limit, an `ArchiveError` says why. If an archive
is cut short, the part that is readable is read.

This module reads the format itself. The standard library's `tarfile` keeps all members in memory, reads headers of any
size, and takes quadratic time for some archives.
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import IO, Any, NamedTuple

__all__ = ["CUT", "MAGIC", "ArchiveError", "Listing", "Member", "are_in_order", "chosen", "in_order", "listed"]

UNPACKED = 2**28
"""The number of bytes that any archive may unpack to: 256 MiB."""
RATIO = 500
"""The multiple of its size that an archive may unpack to, if that is more. Recorded runs unpack to 6 to 152 times."""
MEMBERS = 1_000_000
"""The maximum number of members of an archive."""
HEADER = 2**20
"""The maximum size of the header of a member, with its long names: 1 MiB."""
SORTED = 2**30
"""The maximum number of bytes of members that are sorted on disk: 1 GiB."""
DECOMPRESSOR = 2**27
"""The maximum memory of the decompressor: 128 MiB, twice as much as `xz -9` needs."""

MAGIC = ((0, b"\xfd7zXZ\0"), (0, b"\x1f\x8b\x08"), (0, b"BZh"), (257, b"ustar"))
"""The bytes that identify an archive, with their offsets."""

CUT = "could not be read: the archive is cut short or damaged"
"""The error of a member that the end of an archive cuts off."""

_CHUNK = 2**16
_DIGITS = re.compile(r"([0-9]+)", re.ASCII)
_SHAPES = bytes(ord("0" if chr(byte) in "0123456789" else "x") for byte in range(256))
"""Maps bytes of names: digits to one byte, and other bytes to another one."""
_BROKEN = (lzma.LZMAError, zlib.error, EOFError, OSError, ValueError)
_BLOCK = 512
_ZEROS = bytes(_BLOCK)
_ADLER = 65521
"""The modulus of the sum in `zlib.adler32`, which adds up bytes twenty times as fast as `sum`."""
_DECOMPRESSORS: dict[bytes, Callable[[], Any]] = {
    b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(memlimit=DECOMPRESSOR),
    b"\x1f\x8b": lambda: _Gzip(),
    b"BZh": bz2.BZ2Decompressor,
}


class ArchiveError(Exception):
    """The reason why an archive is not read, or not to its end, as a part of a sentence."""


class Member(NamedTuple):
    """A member of an archive: its name, its size, and a function that reads it in chunks."""

    name: str
    size: int
    content: Callable[[], Iterator[bytes]]


class _Gzip:
    """`zlib`'s decompressor with the interface of the others."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, most: int) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, most)

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data


class _Unpacking(io.RawIOBase):
    """The content of a compressed file. It is read only forward, and at most `most` bytes."""

    def __init__(self, file: IO[bytes], start: Callable[[], Any], most: int) -> None:
        self._file = file
        self._start = start
        self._most = most
        self._at = 0
        self._decompressor = start()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or place < self._at:
            raise io.UnsupportedOperation("an archive is read forward")
        while self._at < place and self.read(min(_CHUNK, place - self._at)):
            pass
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._some(len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        if self._at > self._most:
            raise ArchiveError(
                f"unpacks to more than {self._most:,} bytes; the limit is {UNPACKED:,}, or {RATIO} times its size"
            )
        return len(data)

    def _some(self, size: int) -> bytes:
        data = b""
        while size and not data:
            if self._decompressor.eof:
                rest: bytes = self._decompressor.unused_data or self._file.read(_CHUNK)
                rest = rest.lstrip(b"\0")  # the padding between streams, and behind the last one
                if not rest:
                    if not self._file.read(1):
                        return b""
                    self._file.seek(-1, io.SEEK_CUR)
                    continue
                self._decompressor = self._start()
            else:
                rest = self._file.read(_CHUNK) if self._decompressor.needs_input else b""
                if not rest and self._decompressor.needs_input:
                    raise EOFError("the compressed data end before their end")
            data = self._decompressor.decompress(rest, size)
        return data


def in_order(name: str) -> list[tuple[int, str]]:
    """The key to sort names by their numbers: 99999-b2e.bin comes before 100000-b2e.bin."""
    parts = _DIGITS.split(name)
    digits = [(len(part.lstrip("0")), part.lstrip("0")) if index % 2 else (0, part) for index, part in enumerate(parts)]
    return [*digits, (0, name)]


def are_in_order(names: Iterable[str]) -> bool:
    """Whether names are sorted by `in_order`.

    Most names of an archive have digits at the same places as the name before, and then their order is that of texts,
    which is faster to find.
    """
    last, last_shape = "", b""
    for name in names:
        shape = name.encode().translate(_SHAPES)
        if last > name if shape == last_shape else in_order(last) > in_order(name):
            return False
        last, last_shape = name, shape
    return True


class Listing:
    """The members of an archive.

    Attributes:
        members: the name, size and offset of each member, in the order of their names.
        fault: the reason why the archive could not be read to its end, or None.
    """

    def __init__(self, members: Sequence[tuple[str, int, int]], fault: ArchiveError | None) -> None:
        self.members = members
        self.fault = fault
        self._chosen: dict[Callable[[str], bool], tuple[Sequence[tuple[str, int, int]], bool]] = {}

    def chosen(self, is_chosen: Callable[[str], bool]) -> tuple[Sequence[tuple[str, int, int]], bool]:
        """The chosen members, and whether the archive has them in the order of their names.

        The result is kept for each function, because the messages of an archive are often read several times.
        """
        found = self._chosen.get(is_chosen)
        if found is None:
            wanted = [member for member in self.members if is_chosen(member[0])]
            found = self._chosen[is_chosen] = wanted, all(one[2] < other[2] for one, other in pairwise(wanted))
        return found


def listed(file: IO[bytes]) -> Listing:
    """List the members of an archive.

    Args:
        file: the archive. It must support seeking.
    """
    members: list[tuple[str, int, int]] = []
    fault = None
    try:
        for member in _files(_unpacked(file)):
            if len(members) == MEMBERS:
                raise ArchiveError(f"has more than {MEMBERS:,} members")
            members.append(member)
    except ArchiveError as error:
        fault = error
    except _BROKEN:
        fault = ArchiveError("is not a tar archive, or not a whole one")
        if members:
            fault = ArchiveError(f"breaks off after {len(members)} members: it is cut short or damaged")
    if not are_in_order(member[0] for member in members):
        members.sort(key=lambda member: in_order(member[0]))
    return Listing(members, fault)


def chosen(
    file: IO[bytes], is_chosen: Callable[[str], bool], listing: Listing | None = None
) -> Iterator[Member | int | ArchiveError]:
    """Yield the number of chosen members, and then these members, in the order of their names.

    The last item is an `ArchiveError` if the archive breaks off or exceeds a limit. It is the only item if nothing can
    be read.

    Args:
        file: the archive. It must support seeking.
        is_chosen: returns whether the member of a name is chosen.
        listing: an earlier result of `listed` for this archive, to save time.
    """
    listing = listing or listed(file)
    fault = listing.fault
    if not listing.members and fault:
        yield fault
        return
    wanted, are_in_place = listing.chosen(is_chosen)
    yield len(wanted)
    source = _unpacked(file)
    if source is file or are_in_place:
        yield from (Member(name, size, _reader(source, place, size)) for name, size, place in wanted)
    elif sum(size for _, size, _ in wanted) > SORTED:
        yield ArchiveError(f"has more than {SORTED:,} bytes of messages that are not in the order of their names")
        return
    else:
        yield from _sorted(source, wanted)
    if fault:
        yield fault


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    """The archive from its beginning, without its compression."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    head = file.read(8)
    file.seek(0)
    start = next((start for magic, start in _DECOMPRESSORS.items() if head.startswith(magic)), None)
    return file if start is None else io.BufferedReader(_Unpacking(file, start, max(UNPACKED, RATIO * size)), _CHUNK)


def _files(file: IO[bytes]) -> Iterator[tuple[str, int, int]]:
    """The name, size and offset of the members that are files. Raises one of `_BROKEN` if it is not a tar archive."""
    place = 0
    long_name, long_size = "", None
    while True:
        header = file.read(_BLOCK)
        if (not header and place and not long_name and long_size is None) or header == _ZEROS:
            return
        if len(header) < _BLOCK or _checksum(header) != _number(header[148:156]) % _ADLER:
            raise EOFError
        kind, size = header[156:157], _number(header[124:136])
        if size < 0 or (long_size is not None and long_size < 0):
            raise EOFError
        place += _BLOCK
        if kind in _HEADERS:
            if size > HEADER:
                raise ArchiveError(f"has a header of {size:,} bytes, and the limit is {HEADER:,}")
            content = file.read(size)
            if len(content) < size:
                raise EOFError
            if kind == b"L":
                long_name = content.rstrip(b"\0").decode(errors="replace")
            elif kind == b"x":
                records = _records(content)
                long_name = records.get(b"path", b"").decode(errors="replace") or long_name
                long_size = int(records[b"size"]) if b"size" in records else None
        elif kind in b"123456":  # links, devices and folders have no content
            long_name, long_size, size = "", None, 0
        else:
            size = size if long_size is None else long_size
            if kind in (b"0", b"\0", b"7"):
                name = long_name or _name(header)
                if not name.endswith("/"):
                    yield name.removeprefix("./"), size, place
            long_name, long_size = "", None
        padded = -(-size // _BLOCK) * _BLOCK
        place += padded
        if kind in _HEADERS:
            file.seek(place)
        elif padded <= _CHUNK:  # most members are small, and reading is faster than two calls
            if len(file.read(padded)) < padded:  # the content is cut
                raise EOFError
        else:
            file.seek(place - 1)
            if not file.read(1):
                raise EOFError


_HEADERS = (b"L", b"K", b"x", b"g")
"""The kinds of headers with content: long names and links of GNU, and the headers of POSIX."""


def _checksum(header: bytes) -> int:
    """The checksum of a header, modulo `_ADLER`: the sum of its bytes, with blanks in place of the checksum."""
    return ((zlib.adler32(b"%b        %b" % (header[:148], header[156:])) & 0xFFFF) - 1) % _ADLER


def _number(field: bytes) -> int:
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") if field[0] == 0x80 else -1
    return int(field.strip(b" \0") or b"0", 8)


def _name(header: bytes) -> str:
    """The name in the header of a member. In archives of POSIX, it can have two parts."""
    name = header[:100].partition(b"\0")[0]
    if header[345] and header[257:263] == b"ustar\0":
        name = header[345:500].partition(b"\0")[0] + b"/" + name
    return name.decode(errors="replace")


def _records(content: bytes) -> dict[bytes, bytes]:
    """The records of a POSIX header. Each has its own size, a blank, a name, "=", a value and a line break."""
    records = {}
    at = 0
    while at < len(content) and content[at]:
        digits, blank, _ = content[at : at + 20].partition(b" ")
        end = at + int(digits)
        name, equals, value = content[at + len(digits) + 1 : end - 1].partition(b"=")
        if not (blank and equals) or end > len(content):
            raise EOFError
        records[name] = value
        at = end
    return records


def _reader(file: IO[bytes], place: int, size: int) -> Callable[[], Iterator[bytes]]:
    return partial(_chunks if size > _CHUNK else _chunk, file, place, size)


def _chunks(file: IO[bytes], place: int, size: int) -> Iterator[bytes]:
    """The content of a member, in chunks."""
    remaining = size
    try:
        file.seek(place)
        while remaining:
            chunk = file.read(min(remaining, _CHUNK))
            if not chunk:
                raise EOFError
            remaining -= len(chunk)
            yield chunk
    except _BROKEN:
        raise ArchiveError(CUT) from None


def _chunk(file: IO[bytes], place: int, size: int) -> Iterator[bytes]:
    """The content of a small member, in one chunk."""
    try:
        file.seek(place)
        chunk = file.read(size)
        if len(chunk) < size:
            raise EOFError
    except _BROKEN:
        raise ArchiveError(CUT) from None
    return iter((chunk,))


def _sorted(file: IO[bytes], members: Sequence[tuple[str, int, int]]) -> Iterator[Member]:
    """The same members in the same order, from a temporary file, because the archive has another order."""
    places = {}
    import tempfile

    with tempfile.TemporaryFile() as copy:
        for _, size, place in sorted(members, key=itemgetter(2)):
            places[place] = copy.tell()
            try:
                for chunk in _reader(file, place, size)():
                    copy.write(chunk)
            except ArchiveError:
                places[place] = -1
        for name, size, place in members:
            yield Member(name, size, _reader(copy, places[place], size))
