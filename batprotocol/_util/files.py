"""Files: read when compressed, written whole or not at all, with errors that name them."""

from __future__ import annotations

import gzip
import lzma
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, BinaryIO, Final, TypeVar, cast

from batprotocol.errors import InputError

__all__ = [
    "DAMAGES",
    "by_ending",
    "decompressed",
    "naming",
    "reason_of",
    "whole",
]


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the name of a file to an `OSError` that has none.

    The system names a file in an error only when it opens the file. It names none when the disk is full, or the device
    is gone. The message for the user needs the name.

    Args:
        path: the file.

    Raises:
        OSError: the error that was raised. If it had no `filename`, that is now the path.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(path)
        raise


def reason_of(error: OSError) -> str:
    """The reason that the system gives for an error, as a part of a sentence.

    >>> reason_of(FileNotFoundError(2, "No such file or directory", "run.tar"))
    'no such file or directory'
    """
    reason = error.strerror or str(error) or type(error).__name__
    return reason[0].lower() + reason[1:]


# Writes files as a whole or not at all, and finds the kind of a file by the ending of its name.


_Kind = TypeVar("_Kind")


def by_ending(path: str | os.PathLike[str], kinds: Mapping[str, _Kind]) -> _Kind:
    """The kind of a file, by the ending of its name.

    Args:
        path: the file.
        kinds: each ending, such as `.csv`, with the kind of the files that have it.

    Raises:
        InputError: the name has another ending.

    >>> by_ending("table.CSV", {".csv": "CSV", ".md": "Markdown"})
    'CSV'
    """
    name = os.fspath(path)
    ending = os.path.splitext(name)[1].lower()
    if ending not in kinds:
        *before, last = kinds
        endings = f"{', '.join(before)} or {last}" if before else last
        raise InputError(f"name a file that ends with {endings}, got {name!r}")
    return kinds[ending]


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that is written as a whole or not at all: it gets its name only when it is complete.

    Args:
        path: the file. A pipe or a device is written directly, and a symbolic link stays one.

    Raises:
        OSError: the file cannot be written. The `filename` of the error is the path, and an existing file is unchanged.
    """
    try:
        mode: int | None = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            yield file
        return
    target = os.path.realpath(path)
    unfinished = f"{target}.{os.getpid()}.unfinished"
    try:
        with open(unfinished, "xb") as file:
            yield file
        if mode is not None:
            os.chmod(unfinished, stat.S_IMODE(mode))
        os.replace(unfinished, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(unfinished)
        if isinstance(error, OSError) and error.filename in (None, unfinished):
            error.filename = os.fspath(path)
        raise


# The bytes of files that are compressed by gzip or xz, or not.


DAMAGES: Final = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
"""The errors of reading a compressed file that is damaged or ends too early."""

_GZIP: Final = b"\x1f\x8b"
_XZ: Final = b"\xfd7zXZ\x00"


def decompressed(file: IO[bytes]) -> IO[bytes]:
    """The bytes of a file from its beginning, without compression. Its first bytes show how it is compressed.

    Args:
        file: the file, which can seek. The caller closes it; what is returned needs no closing.

    >>> import io
    >>> decompressed(io.BytesIO(gzip.compress(b"bytes"))).read(), decompressed(io.BytesIO(b"bytes")).read()
    (b'bytes', b'bytes')
    """
    file.seek(0)
    begin = file.read(len(_XZ))
    file.seek(0)
    if begin.startswith(_GZIP):
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    return cast(IO[bytes], lzma.LZMAFile(file)) if begin == _XZ else file
