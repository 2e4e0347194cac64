"""Sorts more values than fit into memory: parts are sorted, written to temporary files, and merged.

It must not know what the values are.
"""

from __future__ import annotations

import heapq
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO, Final

__all__ = ["Keyed", "in_order"]

Keyed = tuple[float, bytes, bytes]
"""A value to sort: two keys, and the value itself."""

_MOST_VALUES: Final = 50_000
_MOST_BYTES: Final = 1 << 24
_BATCH: Final = 500


def in_order(values: Iterable[Keyed], *, most_values: int = _MOST_VALUES) -> Iterator[Keyed]:
    """The values by their keys. If keys are equal, the values themselves are compared.

    Args:
        values: the values. They are all read before the first result.
        most_values: how many of them are kept in memory.

    >>> list(in_order([(2.0, b"a", b"x"), (1.0, b"b", b"y"), (1.0, b"a", b"z")], most_values=1))
    [(1.0, b'a', b'z'), (1.0, b'b', b'y'), (2.0, b'a', b'x')]

    Raises:
        OSError: a temporary file cannot be written.
    """
    with ExitStack() as stack:
        files: list[IO[bytes]] = []
        last: Keyed | None = None
        part: list[Keyed] = []
        size = 0
        for value in values:
            part.append(value)
            size += len(value[2])
            if len(part) >= most_values or size >= _MOST_BYTES:
                part.sort()
                if last is None or part[0] < last:  # a part that continues the one before stays in its file
                    files.append(stack.enter_context(tempfile.TemporaryFile()))
                last = part[-1]
                _write(files[-1], part)
                part, size = [], 0
        part.sort()
        for file in files:
            file.seek(0)
        yield from heapq.merge(*map(_read, files), part) if files else part


def _write(file: IO[bytes], values: list[Keyed]) -> None:
    for place in range(0, len(values), _BATCH):
        pickle.dump(values[place : place + _BATCH], file, pickle.HIGHEST_PROTOCOL)


def _read(file: IO[bytes]) -> Iterator[Keyed]:
    while True:
        try:
            batch: list[Keyed] = pickle.load(file)
        except EOFError:
            return
        yield from batch
