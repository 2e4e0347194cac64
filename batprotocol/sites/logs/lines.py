"""The lines of a log, with their numbers: of a file or a pipe, compressed by gzip or xz or not, in bounded memory.

It must not know any format.
"""

from __future__ import annotations

import codecs
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Final, Literal, cast

from batprotocol._util.files import DAMAGES, decompressed, naming
from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError

__all__ = ["LONGEST", "Source", "opened"]

LONGEST: Final = 1 << 20
"""The most characters of a line that is read."""

_BLOCK: Final = 1 << 18


class Source:
    """The bytes of a log, which can be read more than once.

    Attributes:
        name: the file, for errors.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self._file = file

    def stream(self) -> IO[bytes]:
        """The bytes from their beginning, without compression. Another stream of this source ends with this call."""
        return decompressed(self._file)

    def blocks(self) -> Iterator[bytes]:
        """The bytes in blocks.

        Raises:
            InputError: the compressed file is damaged.
            OSError: the file cannot be read.
        """
        stream = self.stream()
        with naming(self.name):
            while block := self._block(stream):
                yield block

    def _block(self, stream: IO[bytes]) -> bytes:
        try:
            return stream.read(_BLOCK)
        except DAMAGES as error:
            raise InputError(f"the compressed file is damaged: {error}", file=self.name) from None

    def first(self) -> bytes:
        """The first bytes, as many as a block has.

        Raises:
            InputError: the compressed file is damaged.
            OSError: the file cannot be read.
        """
        return next(self.blocks(), b"")

    def lines(
        self, left_out: LeftOut | None = None, *, errors: Literal["replace", "surrogateescape"] = "replace"
    ) -> Iterator[tuple[int, str]]:
        """Each line with its number, from 1 on, without its end. Bytes that are not UTF-8 become U+FFFD.

        Args:
            left_out: where lines of more than `LONGEST` characters are counted; they are left out.
            errors: `surrogateescape`: bytes that are not UTF-8 become surrogates instead, so that they can be counted.
        """
        decoder = codecs.getincrementaldecoder("utf-8-sig")(errors)
        rest, number, is_long = "", 1, False
        for block in self.blocks():
            text = rest + decoder.decode(block)
            pieces = text.replace("\r\n", "\n").split("\n") if "\r\n" in text else text.split("\n")
            rest = pieces.pop()
            if is_long and pieces:  # the end of the line that is left out
                del pieces[0]
                number += 1
                is_long = False
            yield from enumerate(pieces, number)
            number += len(pieces)
            if is_long or len(rest) > LONGEST:
                if not is_long and left_out is not None:
                    left_out.row(f"the line has more than {LONGEST:,} characters", number)
                rest, is_long = "", True
        rest += decoder.decode(b"", final=True)
        if rest and not is_long:
            yield number, rest


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Source]:
    """Open a log. A pipe, which can be read only once, is copied into a temporary file first.

    Raises:
        OSError: the file cannot be read.
    """
    with ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(open(path, "rb"))
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            copy = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(file, copy)
            file = cast(IO[bytes], copy)
        yield Source(file, os.fspath(path))
