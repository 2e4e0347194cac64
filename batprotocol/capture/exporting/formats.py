"""The formats that a capture is exported to. It must not know what is in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Final

from batprotocol.capture.exporting.run import Run
from batprotocol.capture.exporting.tables import write_events_csv, write_jobs_csv, write_parquet

__all__ = ["FORMATS", "TEXTS", "export"]


def _perfetto(run: Run, file: IO[bytes]) -> None:
    from batprotocol.capture.exporting.perfetto import write_trace  # which needs an extra

    write_trace(run, file)


FORMATS: Final[dict[str, Callable[[Run, IO[bytes]], None]]] = {
    "perfetto": _perfetto,
    "jobs-csv": write_jobs_csv,
    "events-csv": write_events_csv,
    "parquet": write_parquet,
}
"""What writes each format."""
TEXTS: Final = ("jobs-csv", "events-csv")
"""Those that people can read."""


def export(run: Run, path: str | os.PathLike[str], to: str) -> None:
    """Write what is in a capture to a file, which is there whole or not at all.

    Args:
        run: the capture.
        path: the file. What is there is overwritten.
        to: one of `FORMATS`.

    Raises:
        PackageMissing: a package is not installed that this format needs.
        OSError: it cannot be written.
    """
    name = os.fspath(path)
    part = f"{name}.{os.getpid()}.part"
    try:
        with open(part, "xb") as file:
            FORMATS[to](run, file)
        os.replace(part, name)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(part)
        if isinstance(error, OSError) and error.filename in (part, None):
            error.filename = name
        raise
