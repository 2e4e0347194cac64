"""Command line arguments -> named bytes: files, directories, standard input, archives of recorded runs.

Whatever cannot be read becomes a `Found` with a fault, in its place in the order, so that one bad file does not hide
the others. Only one message of an archive is in memory at a time. This module must not know what a message is.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import shutil
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import PurePosixPath
from typing import IO, NamedTuple, cast

from batprotocol.cli.output import reason_of

__all__ = ["Found", "messages", "single"]

LARGEST = 2**31
"""No message is larger: the offsets of a flatbuffer have 31 bits."""
TOO_LARGE = "is larger than a message can be, which is 2 GiB"

CHUNK = 2**18

ARCHIVES = (".tar.xz", ".txz", ".tar.gz", ".tgz", ".tar")
MESSAGES = (".bin", ".json", ".fb")
PATTERNS = ", ".join("*" + suffix for suffix in MESSAGES)

NOT_A_MESSAGE = "run.json"
"""The file of a recorded run that tells how it was run."""

TWINS = "twin"
"""The folder of a recorded run that holds its messages again, in the other format."""

UNFINISHED = "unfinished.tar"
"""The file of a folder that `batproto run --record` did not finish: all that was said, and the rest is a part of it."""

_DIGITS = re.compile(r"([0-9]+)", re.ASCII)
_MAGIC = ((0, b"\xfd7zXZ\0"), (0, b"\x1f\x8b\x08"), (257, b"ustar"))
_BROKEN_ARCHIVE = (tarfile.TarError, lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError)


class Found(NamedTuple):
    """A message, or what could not be read.

    Attributes:
        file: the number of the file it is from. All members of an archive are from one file.
        path: what to call that file.
        name: what to call it: `path`, or for the member of an archive `run.tar.xz/00004-b2e.bin`.
        data: its bytes.
        fault: why it could not be read, as one sentence, or "".
        share: how much of all files, in [0,1], has been read with this one.
    """

    file: int
    path: str
    name: str
    data: bytes = b""
    fault: str = ""
    share: float = 1.0


def messages(arguments: Sequence[str]) -> Iterator[Found]:
    """All messages that these arguments name, in order.

    A directory stands for its message files and those of its folders, and an archive for its message files, both by
    name. `run.tar.xz/00004-b2e.bin` is that member alone, and `-` is standard input.
    """
    files = [entry for argument in arguments for entry in _expand(argument)]
    sizes = [_size(file.path) for file in files]
    done, all_of_it = 0, sum(sizes)
    for number, (file, size) in enumerate(zip(files, sizes, strict=True)):
        for found in [file] if file.fault else _read(file.path):
            share = (done + size * found.share) / all_of_it
            yield found._replace(file=number, path=_name(file.path), share=share)
        done += size


def single(argument: str) -> Found:
    """The one message that this argument names."""
    found = list(islice(messages([argument]), 2))
    if len(found) > 1:
        return _fault(argument, "holds several messages, and one is wanted")
    return found[0]


def _expand(argument: str) -> list[Found]:
    """The files, still without their data, that an argument stands for: itself, or those of a directory."""
    if not os.path.isdir(argument):
        return [Found(0, argument, argument)]
    files: list[Found] = []

    def unreadable(error: OSError) -> None:
        files.append(_fault(str(error.filename), reason_of(error)))

    for folder, folders, names in os.walk(argument, onerror=unreadable):
        folders[:] = [name for name in folders if name != TWINS and not name.startswith(".")]
        if UNFINISHED in names:  # what else is there is a part of it
            names = [UNFINISHED]
        paths = [os.path.join(folder, name) for name in names if name.endswith(ARCHIVES) or _is_message(name)]
        files += [Found(0, path, path) for path in paths]
    files.sort(key=lambda file: _in_order(file.path))
    return files or [_fault(argument, f"holds no message files ({PATTERNS}, *.tar.xz)")]


def _size(path: str) -> int:
    """About how much work a file is."""
    try:
        return os.path.getsize(path) + 1
    except OSError:
        return 1


def _is_message(name: str) -> bool:
    """Whether a file of a directory or an archive, by its name alone, should be a message."""
    path = PurePosixPath(name)
    hidden = path.name.startswith(".") or path.name == NOT_A_MESSAGE or TWINS in path.parts[:-1]
    return path.suffix in MESSAGES and not hidden


def _in_order(name: str) -> list[tuple[int, str]]:
    """What names are sorted by: 99999-b2e.bin comes before 100000-b2e.bin, as the numbers do."""
    parts = _DIGITS.split(name)
    digits = [(len(part.lstrip("0")), part.lstrip("0")) if index % 2 else (0, part) for index, part in enumerate(parts)]
    return [*digits, (0, name)]


def _name(path: str) -> str:
    return "standard input" if path == "-" else path


def _fault(name: str, fault: str) -> Found:
    return Found(0, name, name, fault=fault)


def _read(path: str) -> Iterator[Found]:
    """The messages of one file."""
    file_path, member = _archive_and_member(path)
    name = _name(file_path)
    try:
        with _opened(file_path) as file:
            head = file.read(512)
            file.seek(0)
            if name.endswith(ARCHIVES) or any(head.startswith(magic, start) for start, magic in _MAGIC):
                yield from _read_archive(name, file, member)
            else:
                yield _read_message(name, file)
    except OSError as error:
        yield _fault(name, reason_of(error))


def _archive_and_member(path: str) -> tuple[str, str]:
    """The archive and the member that `run.tar.xz/00004-b2e.bin` means; the path itself and "" if it means a file."""
    if path != "-" and not os.path.exists(path):
        parts = path.split("/")
        for end in range(len(parts) - 1, 0, -1):
            archive = "/".join(parts[:end])
            if archive.endswith(ARCHIVES) and os.path.isfile(archive):
                return archive, "/".join(parts[end:])
    return path, ""


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    """The file, so that one can seek in it: a pipe is read to its end first."""
    if path == "-":
        if sys.stdin is None:
            raise OSError("it is closed")
        yield io.BytesIO(_content(sys.stdin.buffer))
        return
    with open(path, "rb") as file:
        yield file if file.seekable() else io.BytesIO(_content(file))


def _read_message(name: str, file: IO[bytes]) -> Found:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    data = _content(file) if size <= LARGEST else b""
    if size > LARGEST or len(data) > LARGEST:  # files of a device or of /proc do not tell their size
        return _fault(name, TOO_LARGE)
    return Found(0, name, name, data) if data else _fault(name, "is empty")


def _content(file: IO[bytes]) -> bytes:
    """What is in the file, but no more than is too much: asked for that many at once, `read` would allocate them."""
    chunks = []
    room = LARGEST + 1
    while room > 0 and (chunk := file.read(min(room, CHUNK))):
        chunks.append(chunk)
        room -= len(chunk)
    return b"".join(chunks)


# Archives


def _read_archive(name: str, file: IO[bytes], wanted: str) -> Iterator[Found]:
    """The messages of an archive, in the order of their names, or the one that is wanted."""
    try:
        with tarfile.open(fileobj=file) as archive:
            yield from _read_members(name, archive, wanted)
    except _BROKEN_ARCHIVE:
        yield _fault(name, "is not a tar archive, or not a whole one")


def _read_members(name: str, archive: tarfile.TarFile, wanted: str) -> Iterator[Found]:
    members, breaks_off = _members(archive)
    is_chosen = wanted.__eq__ if wanted else _is_message
    chosen = [member for member in members if is_chosen(_path(member))]
    if not chosen and not breaks_off:
        yield _fault(name, f"has no member {wanted}" if wanted else f"holds no messages ({PATTERNS})")
    ordered = sorted(chosen, key=lambda member: _in_order(_path(member)))
    with nullcontext(archive) if ordered == chosen else _unpacked(archive) as source:
        for number, member in enumerate(ordered, 1):
            found = _read_member(source, member, f"{name}/{_path(member)}")
            yield found._replace(share=number / len(ordered))
    if breaks_off:
        yield _fault(name, f"breaks off after {len(members)} members: it is cut short or damaged")


def _path(member: tarfile.TarInfo) -> str:
    return member.name.removeprefix("./")


def _members(archive: tarfile.TarFile) -> tuple[list[tarfile.TarInfo], bool]:
    """The members that are files, as far as the archive can be read, and whether it breaks off."""
    members = []
    try:
        while (member := archive.next()) is not None:
            if member.isfile():
                members.append(member)
    except (*_BROKEN_ARCHIVE, OSError):
        return members, True
    return members, False


@contextmanager
def _unpacked(archive: tarfile.TarFile) -> Iterator[tarfile.TarFile]:
    """The same archive in a temporary file of its own: seeking back in a compressed one means starting over."""
    unpacked_file = cast(IO[bytes], archive.fileobj)
    with tempfile.TemporaryFile() as copy:
        unpacked_file.seek(0)
        with suppress(*_BROKEN_ARCHIVE):
            shutil.copyfileobj(unpacked_file, copy)
        copy.seek(0)
        with tarfile.open(fileobj=copy) as unpacked:
            yield unpacked


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> Found:
    if member.size > LARGEST:
        return _fault(name, TOO_LARGE)
    try:
        file = archive.extractfile(member)
        return _read_message(name, file) if file else _fault(name, "is no file")
    except (*_BROKEN_ARCHIVE, OSError):
        return _fault(name, "could not be read: the archive is cut short or damaged")
