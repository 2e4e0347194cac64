"""The lines of logs: all of them, numbered, whatever the sizes of what is read at once, and none without bound."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.sites.logs import LeftOut
from batprotocol.sites.logs.sources import LONGEST, Source, opened

WITHOUT_ENGINE = True


class _Blocks(Source):
    """A source that gives its bytes in blocks of any size."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self.name = "log"
        self._data, self._sizes = data, sizes

    def blocks(self) -> Iterator[bytes]:
        place = 0
        for size in (*self._sizes, len(self._data)):
            yield self._data[place : place + size]
            place += size


@given(st.text("ab\r\n\u2028é😀\x0b"), st.lists(st.integers(1, 5), max_size=20))
def test_lines_in_blocks_of_any_size(text: str, sizes: list[int]) -> None:
    text = text.replace("\r", "") if "\r\n" not in text else text
    expected = text.replace("\r\n", "\n").split("\n")
    found = list(_Blocks(text.encode(), sizes).lines())
    assert found == [(number, line) for number, line in enumerate(expected, 1) if number < len(expected) or line]


@given(st.binary(max_size=200))
def test_any_bytes_are_lines(data: bytes) -> None:
    assert len(list(_Blocks(data, [3] * 5).lines())) == data.count(b"\n") + (data[-1:] not in (b"", b"\n"))


@pytest.mark.parametrize("end", [b"", b"\n", b"\nlast\n"])
def test_a_line_without_end_is_left_out(tmp_path: Path, end: bytes) -> None:
    path, left_out = tmp_path / "log", LeftOut()
    path.write_bytes(b"first\n" + b"x" * (3 * LONGEST) + end)
    with opened(path) as source:
        found = list(source.lines(left_out))
        assert list(source.lines()) == found  # it can be read again
    assert found == [(1, "first"), *([(3, "last")] if b"last" in end else [])]
    assert [(each.count, each.lines) for each in left_out] == [(1, (2,))]


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_compressed_files(tmp_path: Path, compress: object) -> None:
    assert callable(compress)
    path, text = tmp_path / "log", "".join(f"{number}\n" for number in range(60_000))
    data = compress(text.encode())
    path.write_bytes(data)
    with opened(path) as source:
        assert [line for _, line in source.lines()] == text.splitlines()
    path.write_bytes(data[:-50])
    with opened(path) as source, pytest.raises(InputError, match="log: the compressed file is damaged"):
        list(source.lines())
