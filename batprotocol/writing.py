"""Files that are written as a whole or not at all.

It must not know what is in them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

__all__ = ["whole"]


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
