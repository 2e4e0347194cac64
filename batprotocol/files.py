"""Files that are written: what goes wrong says with which one.

It must not know what is in them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["naming", "reason_of"]


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


def reason_of(error: OSError) -> str:
    """What the system says is wrong, as a part of a sentence.

    >>> reason_of(FileNotFoundError(2, "No such file or directory", "run.tar"))
    'no such file or directory'
    """
    reason = error.strerror or str(error) or type(error).__name__
    return reason[0].lower() + reason[1:]
