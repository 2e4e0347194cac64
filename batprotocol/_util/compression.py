"""The bytes of files that are compressed by gzip or xz, or not. It must not know what is in the files."""

from __future__ import annotations

import gzip
import lzma
import zlib
from typing import IO, Final, cast

__all__ = ["DAMAGES", "decompressed"]

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
