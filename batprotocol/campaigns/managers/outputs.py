"""Opens files in folders that jobs can write to. A job may put a link or a pipe in the place of a file, at any time.

A link is not followed, so a job that a container confines reads and writes nothing outside by the hand of the loop. A
pipe would let the loop wait without an end. The module must not know what the files are about.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from batprotocol.campaigns.managers.interface import KEPT_BYTES, text_of_output

__all__ = ["append_line", "content_of", "end_of_output", "open_file", "write_file"]

MOST_BYTES: Final = 64 << 20
"""How many bytes of a file are read."""

_FLAGS: Final = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))  # not on every system
_OTHER_THINGS: Final = (errno.ELOOP, errno.EMLINK, errno.EINVAL, errno.ENXIO)
"""The errors for links and pipes, on all systems."""

_DIRECTORY: Final = sum(getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"))


def open_file(path: Path, flags: int = os.O_RDONLY) -> int:
    """The descriptor of a file.

    Args:
        path: the file. It may be in a folder that is a link if it is only read.
        flags: how to open it.

    Raises:
        OSError: it is a link, a pipe or another thing that is not a file, or cannot be opened.
    """
    if flags == os.O_RDONLY or os.open not in os.supports_dir_fd:
        found = os.open(path, flags | _FLAGS, 0o600)
    else:
        folder = os.open(path.parent, _DIRECTORY)
        try:
            found = os.open(path.name, flags | _FLAGS, 0o600, dir_fd=folder)
        finally:
            os.close(folder)
    if stat.S_ISREG(os.fstat(found).st_mode):
        return found
    os.close(found)
    raise OSError(errno.EINVAL, "expected a file, got a pipe or a device", str(path))


def content_of(path: Path, start: int = 0) -> bytes:
    """The content of a file from a place on, `MOST_BYTES` at most. It raises `OSError` as `open_file` does."""
    with open(open_file(path), "rb") as file:
        file.seek(start)
        return file.read(MOST_BYTES)


def end_of_output(path: Path) -> str:
    """The end of the output of a job; "" if there is no such file."""
    try:
        with open(open_file(path), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - KEPT_BYTES))
            return text_of_output(file.read(KEPT_BYTES), whole=size <= KEPT_BYTES)
    except OSError:
        return ""


def append_line(path: Path, line: str) -> None:
    """Add a line to a file. A link or a pipe in its place is removed. It raises `OSError` if that does not help."""
    _written(path, os.O_APPEND, f"{line}\n".encode())


def write_file(path: Path, content: bytes) -> None:
    """Write a file. A link or a pipe in its place is removed. It raises `OSError` if that does not help."""
    _written(path, os.O_TRUNC, content)


def _written(path: Path, how: int, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | how
    try:
        found = open_file(path, flags)
    except OSError as error:
        if error.errno not in _OTHER_THINGS:
            raise
        path.unlink()
        found = open_file(path, flags)
    with open(found, "wb") as file:
        file.write(content)
