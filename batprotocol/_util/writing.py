"""Writes files as a whole or not at all, and finds the kind of a file by the ending of its name.

It must not know what is in the files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import BinaryIO, TypeVar

from batprotocol.errors import InputError

__all__ = ["by_ending", "whole"]

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
