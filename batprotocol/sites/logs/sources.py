"""The files of logs, in bounded memory: lines with their numbers, the elements of long JSON arrays, and rows of tables.

A file or a pipe is compressed by gzip or xz or not. A damaged element or row does not end the reading.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Any, Final, Literal, cast

import msgspec

from batprotocol._util.files import DAMAGES, decompressed, naming
from batprotocol._util.requirements import installing
from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError, PackageMissing

__all__ = [
    "LONGEST",
    "PARQUET",
    "UNREADABLE",
    "Source",
    "arrow",
    "csv_rows",
    "elements_of",
    "json_rows",
    "members_of",
    "objects_in",
    "opened",
    "parquet_columns",
    "parquet_rows",
    "rows_in",
]


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

    def pieces(
        self, left_out: LeftOut | None = None, *, errors: Literal["replace", "surrogateescape"] = "replace"
    ) -> Iterator[tuple[int, bytes]]:
        """The bytes in pieces of whole lines with `\\n` between them, and the number of their first line, from 1 on.

        Args:
            left_out: where lines of more than `LONGEST` characters are counted; they are left out.
            errors: how bytes count that are not UTF-8, see `lines`.
        """
        rest, number, is_long = b"", 1, False
        blocks = self.blocks()
        first = next(blocks, b"").removeprefix(codecs.BOM_UTF8)
        for block in itertools.chain((first,), blocks):
            end = block.rfind(b"\n")
            if end < 0:
                rest += block
            else:
                whole, rest = b"".join((rest, memoryview(block)[:end])), block[end + 1 :]
                if is_long:  # the end of the line that is left out
                    _, found, whole = whole.partition(b"\n")
                    number += 1
                    is_long = not found
                if not is_long:
                    if b"\r" in whole:
                        whole = whole.removesuffix(b"\r").replace(b"\r\n", b"\n")
                    yield number, whole
                    number += whole.count(b"\n") + 1
                is_long = False
            if is_long or (len(rest) > LONGEST and _characters(rest, errors) > LONGEST):
                if not is_long and left_out is not None:
                    left_out.row(f"the line has more than {LONGEST:,} characters", number)
                rest, is_long = b"", True
        if rest and not is_long:
            yield number, rest

    def lines(
        self, left_out: LeftOut | None = None, *, errors: Literal["replace", "surrogateescape"] = "replace"
    ) -> Iterator[tuple[int, str]]:
        """Each line with its number, from 1 on, without its end. Bytes that are not UTF-8 become U+FFFD.

        Args:
            left_out: where lines of more than `LONGEST` characters are counted; they are left out.
            errors: `surrogateescape`: bytes that are not UTF-8 become surrogates instead, so that they can be counted.
        """
        for number, piece in self.pieces(left_out, errors=errors):
            yield from enumerate(piece.decode(errors=errors).split("\n"), number)


def _characters(text: bytes, errors: str) -> int:
    """The number of characters; one that may go on with the next byte does not count."""
    return len(codecs.getincrementaldecoder("utf-8")(errors).decode(text))


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


# Elements of a long array or object in a JSON file, as bytes, one by one


_HEAD: Final = 1 << 20
_LONGEST: Final = 1 << 27
_BEGIN: Final = 3  # bytes that show whether an object has a line for each value
_IS_ARRAY: Final = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\[")
_SPACE: Final = re.compile(rb"[ \t\r\n,]*")
_TOKENS: Final = {
    b"{": (b"}", re.compile(rb'"(?:[^"\\]|\\.)*"?|[{}]', re.DOTALL)),
    b"[": (b"]", re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[\]]', re.DOTALL)),
}
"""For each opening bracket: the closing one, and the tokens that count to find it."""
_PLAIN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[^ \t\r\n,\[\]{}"]+', re.DOTALL)


class _Buffer:
    """The bytes that were read, and a place in them."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.data = bytearray()
        self.place = 0
        self._blocks = blocks

    def more(self) -> bool:
        """Read another block, and drop what is before the place; False at the end, or when too much is kept."""
        block = next(self._blocks, b"")
        if self.place > len(self.data) // 2:
            del self.data[: self.place]
            self.place = 0
        self.data += block
        return bool(block) and len(self.data) - self.place <= _LONGEST

    def next(self) -> bytes:
        """The next byte that is neither a space nor a comma; b"" at the end."""
        while True:
            found = _SPACE.match(self.data, self.place)
            assert found is not None
            self.place = found.end()
            if self.place < len(self.data):
                return bytes(self.data[self.place : self.place + 1])
            if not self.more():
                return b""


def elements_of(source: Source, key: str = "") -> Iterator[bytes | None]:
    """The elements of an array, as bytes; at last None, if the file ends, or is damaged, within the array.

    They are objects, but for errors of who wrote the file.

    Args:
        source: the file.
        key: the key of the array in the object that the file is; "": the file is the array. A file that is an array is
            read without the key, too, as `jq .KEY` writes it.

    Raises:
        InputError: the file has no such array at its begin.
    """
    buffer = _opened_array(source, "" if _IS_ARRAY.match(source.first()) else key, b"[", "array")
    while (first := buffer.next()) != b"]":
        element = _taken(buffer, first)
        yield element
        if element is None:
            return


def objects_in(source: Source) -> Iterator[bytes | None]:
    """The objects of a file that has them one after another, as bytes; at last None, if the file ends within one."""
    buffer = _Buffer(source.blocks())
    while first := buffer.next():
        element = _taken(buffer, first)
        yield element
        if element is None:
            return


def members_of(source: Source, key: str = "") -> Iterator[tuple[bytes, bytes | None]]:
    """The keys of an object with their values, as bytes; at last a value None, if the file ends within it.

    Args:
        source: the file.
        key: the key of the object in the object that the file is; "": the file is the object.

    Raises:
        InputError: the file has no such object at its begin.
    """
    buffer = _opened_array(source, key, b"{", "object")
    while (first := buffer.next()) != b"}":
        name = _taken(buffer, first) if first == b'"' else None
        value = None
        if name is not None and buffer.next() == b":":
            buffer.place += 1
            value = _taken(buffer, buffer.next())
        yield name or b"", value
        if value is None:
            return


def _opened_array(source: Source, key: str, bracket: bytes, kind: str) -> _Buffer:
    """The bytes of a file, at the place behind the bracket that opens its array or object."""
    buffer = _Buffer(source.blocks())
    before = rb'"%b"[ \t\r\n]*:' % re.escape(key.encode()) if key else rb"\A(?:\xef\xbb\xbf)?"
    opening = re.compile(before + rb"[ \t\r\n]*" + re.escape(bracket))
    while (found := opening.search(buffer.data)) is None:
        if len(buffer.data) > _HEAD or not buffer.more():
            expected = f'a JSON object with an {kind} "{key}"' if key else f"a JSON {kind}"
            raise InputError(f"expected {expected}", file=source.name, line=1)
    buffer.place = found.end()
    return buffer


def _taken(buffer: _Buffer, first: bytes) -> bytes | None:
    """The value that begins at the place of the buffer, which is then behind it; None: it has no end."""
    end = _end(buffer) if first == b"{" else _end_of_other(buffer, first)
    if end is None:
        return None
    value = bytes(buffer.data[buffer.place : end])
    buffer.place = end
    return value


def _end_of_other(buffer: _Buffer, first: bytes) -> int | None:
    """The place behind a list, a text, a number or a word that begins at the place of the buffer; None: no end."""
    if first == b"[":
        return _end_by_brackets(buffer, first)
    while True:
        found = _PLAIN.match(buffer.data, buffer.place)
        if found is not None and found.end() < len(buffer.data):
            return found.end()
        if len(buffer.data) - buffer.place > _HEAD or not buffer.more():
            return None


def _end(buffer: _Buffer) -> int | None:
    """The place behind the object that begins at the place of the buffer; None if there is no end."""
    line = buffer.data.rfind(b"\n", 0, buffer.place)
    indent = bytes(buffer.data[line + 1 : buffer.place])
    if len(buffer.data) - buffer.place < _BEGIN:
        buffer.more()
    is_open = buffer.data[buffer.place + 1 : buffer.place + _BEGIN].lstrip(b"\r").startswith(b"\n")
    if line >= 0 and is_open and indent and not indent.strip():
        return _end_by_lines(buffer, b"\n" + indent + b"}")
    return _end_by_brackets(buffer, b"{")


def _end_by_lines(buffer: _Buffer, closing: bytes) -> int | None:
    """An object ends at the line with the same indent: a string in JSON has no end of line."""
    seen = 0
    while (found := buffer.data.find(closing, buffer.place + seen)) < 0:
        seen = max(0, len(buffer.data) - buffer.place - len(closing))
        if not buffer.more():
            return None
    return found + len(closing)


def _end_by_brackets(buffer: _Buffer, opening: bytes) -> int | None:
    """An object or list ends where as many of its brackets are closed as were opened, outside of strings."""
    closing, tokens = _TOKENS[opening]
    depth = seen = 0
    while True:
        for token in tokens.finditer(buffer.data, buffer.place + seen):
            text = token[0]
            if text[0] == 0x22 and (len(text) == 1 or text[-1] != 0x22 or token.end() == len(buffer.data)):
                break  # a string that may go on
            seen = token.end() - buffer.place
            depth += (text == opening) - (text == closing)
            if not depth:
                return buffer.place + seen
        if not buffer.more():
            return None


# Rows of tables: CSV with a header or without, Parquet, JSON as an array or with an object on each line


PARQUET: Final = b"PAR1"
"""The first bytes of a Parquet file."""

UNREADABLE: Final = object()
"""A value that Python does not have: a time after the year 9999, or a text of Parquet that is not UTF-8."""

_BATCH: Final = 5_000

Row = tuple[int, dict[str, Any]]
"""The number of a row (its line in a text), and its values by the names of the columns."""


def rows_in(
    source: Source, left_out: LeftOut, header: Sequence[str] = (), columns: Iterable[str] = ()
) -> Iterator[Row]:
    """The rows of a table, whose first bytes show its kind.

    Args:
        source: the bytes.
        left_out: where rows are counted that cannot be read.
        header: the names of the columns of a CSV file without a header.
        columns: the columns that are read of a Parquet file; none: all.

    Raises:
        InputError: the table as a whole cannot be read.
        PackageMissing: the package for Parquet is missing.
        OSError: the file cannot be read.
    """
    begin = source.first()
    if begin.startswith(PARQUET):
        return parquet_rows(source, columns)
    first = begin.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return json_rows(source, left_out, first == b"[") if first in (b"[", b"{") else csv_rows(source, left_out, header)


def csv_rows(source: Source, left_out: LeftOut, header: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of a CSV file. All values are texts; an empty one is None."""
    taken: list[int] = []  # the lines of the row

    def lines() -> Iterator[str]:
        for number, line in source.lines(left_out):
            taken.append(number)
            yield f"{line}\n"

    def leave_out(reason: str) -> None:
        for number in taken:  # a quotation mark too many may take many lines
            left_out.row(reason, number)

    reader = csv.reader(lines(), strict=True)
    names = list(header)
    while True:
        taken.clear()
        try:
            values = next(reader, None)
        except csv.Error as error:
            if not names:
                raise InputError(f"the header cannot be read: {error}", file=source.name, line=taken[0]) from None
            leave_out("the row cannot be divided into columns")
            continue
        if values is None:
            break
        if not names:
            names = [name.strip() for name in values]
        elif taken == [1] and values == names:
            continue  # the file has a header after all
        elif len(values) == len(names):
            yield taken[0], {name: value or None for name, value in zip(names, values, strict=True)}
        elif values:
            leave_out("the row does not have as many values as there are columns")
    if not names:
        raise InputError("expected a header with the names of columns, but the file is empty", file=source.name)


def json_rows(source: Source, left_out: LeftOut, is_array: bool = False) -> Iterator[Row]:
    """The rows of a JSON file: the objects of an array, or of lines. A row that is damaged does not end the reading."""
    is_table = not is_array
    for number, text in _elements(source) if is_array else source.lines(left_out):
        if text is None:
            left_out.row("the file ends, or is damaged, within the rows", number)
            continue
        if not text.strip():
            continue
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            left_out.row("the row is not JSON", number)
            continue
        if isinstance(value, dict):
            is_table = True
            yield number, value
        else:
            left_out.row("the row is not an object", number)
    if not is_table and left_out.rows:
        raise InputError("expected an array of objects, and none of its elements is one", file=source.name)


def _elements(source: Source) -> Iterator[tuple[int, str | None]]:
    for number, element in enumerate(elements_of(source), 1):
        yield number, None if element is None else element.decode(errors="replace")


def arrow(module: str) -> Any:
    """The package `pyarrow`, with one of its modules.

    Raises:
        PackageMissing: it is missing.
    """
    from importlib import import_module

    try:
        import_module(f"pyarrow.{module}")
        return import_module("pyarrow")
    except ImportError as error:
        raise PackageMissing(f"Parquet needs pyarrow: {installing('tables')}", name=error.name) from None


def _parquet_file(source: Source) -> tuple[Any, Any]:
    pyarrow = arrow("parquet")
    try:
        return pyarrow, pyarrow.parquet.ParquetFile(source.stream(), page_checksum_verification=True)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"the Parquet file cannot be read: {_sentence(error)}", file=source.name) from None


def _sentence(error: Exception) -> str:
    return (str(error).splitlines() or ["it is damaged"])[0].rstrip(".")


def parquet_columns(source: Source) -> list[str]:
    """The names of the columns of a Parquet file."""
    _, file = _parquet_file(source)
    return list(file.schema_arrow.names)


def parquet_rows(source: Source, columns: Iterable[str] = ()) -> Iterator[Row]:
    """The rows of a Parquet file. Times are `datetime` values."""
    pyarrow, file = _parquet_file(source)
    present = set(file.schema_arrow.names)
    wanted = [name for name in dict.fromkeys(columns) if name in present] or None
    number = 0
    try:
        for batch in file.iter_batches(batch_size=_BATCH, columns=wanted):
            names = batch.schema.names
            lists = [_values(pyarrow, column) for column in batch.columns]
            for values in zip(*lists, strict=True):
                number += 1
                yield number, dict(zip(names, values, strict=True))
        if number != file.metadata.num_rows:
            raise ValueError(f"it has {file.metadata.num_rows:,} rows")
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = f"the Parquet file cannot be read after row {number:,}: {_sentence(error)}"
        raise InputError(reason, file=source.name) from None


def _values(pyarrow: Any, column: Any) -> list[Any]:
    """The values of a column, with times in microseconds: Python has no others."""
    if pyarrow.types.is_timestamp(column.type):
        column = column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        values = [_cell(scalar) for scalar in column]
    return values


def _cell(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return UNREADABLE
