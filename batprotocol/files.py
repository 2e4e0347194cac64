"""Files that are written: as a whole or not at all, and what goes wrong says with which one.

It must not know what is in them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

__all__ = ["naming", "reason_of", "whole"]


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """What the system refuses meanwhile is about this file.

    Only what opens a file names it by itself; what finds the disk full, or the device gone, does not. Whoever tells
    the user of an `OSError` needs that name.

    Args:
        path: the file.

    Raises:
        OSError: the one that was raised, whose `filename` is the path where it had none.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(path)
        raise


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that is written as a whole or not at all: it takes its name only when it is complete.

    Args:
        path: the file. A pipe or a device keeps its name, and a symbolic link stays one.

    Raises:
        OSError: it cannot be written, and its `filename` is the path; what was there before is as it was.
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


def reason_of(error: OSError) -> str:
    """What the system says is wrong, as a part of a sentence.

    >>> reason_of(FileNotFoundError(2, "No such file or directory", "run.tar"))
    'no such file or directory'
    """
    reason = error.strerror or str(error) or type(error).__name__
    return reason[0].lower() + reason[1:]
