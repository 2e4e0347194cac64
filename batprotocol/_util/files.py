"""Errors of the system that name the file they are about.

It must not know what is in the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["naming", "reason_of"]


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
