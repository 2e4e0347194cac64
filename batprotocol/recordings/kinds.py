"""Finds out whether a path holds a table of jobs or messages, by its content, or else by its name.

It must not know how either of them is read.
"""

from __future__ import annotations

import os
from typing import Final

from batprotocol.edc.recording import UNFINISHED
from batprotocol.edc.recording.names import MCAP_MAGIC
from batprotocol.errors import CaptureError
from batprotocol.recordings import sources
from batprotocol.recordings.archives import MAGIC
from batprotocol.recordings.names import SIDES

__all__ = ["JOBS", "NEEDED", "jobs_file"]

JOBS: Final = "jobs.csv"
"""Batsim's name for its table of jobs, after a prefix."""
NEEDED: Final = "a recording (.mcap, .tar.xz, .tar or a folder of messages), or a folder with jobs.csv, or that file"
"""A description of the files that hold a run."""

_COLUMN: Final = b"job_id"
_BINARY: Final = {
    b"SQLite format 3\0": "is a database, such as the index of a store: name one of its runs, STORE?AXIS=VALUE&...",
    b"PAR1": "is a Parquet file: name its run, STORE?AXIS=VALUE&..., or its folder",
}


def jobs_file(path: str | os.PathLike[str]) -> str | None:
    """The table of jobs that a path names: the file, or the one in a folder of result files. None: it holds messages.

    A folder with both, such as a recording with its result, counts as messages.

    Raises:
        CaptureError: the path holds neither, or several tables.
        OSError: the path cannot be read.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "out_jobs.csv")
    ...     _ = path.write_text("job_id,submission_time")
    ...     print(jobs_file(folder) == jobs_file(path) == str(path))
    True
    """
    given = os.fspath(path)
    return _in_folder(given) if os.path.isdir(given) else _of_file(given)


def _in_folder(folder: str) -> str | None:
    names = os.listdir(folder)
    if UNFINISHED in names or any(f"-{side}." in name for name in names for side in SIDES):
        return None
    if JOBS in names:
        return os.path.join(folder, JOBS)
    tables = sorted(name for name in names if name.endswith(f"_{JOBS}"))
    if len(tables) > 1:
        raise CaptureError(f"holds the results of several runs: name one of them, such as {tables[0]}", folder)
    if tables:
        return os.path.join(folder, tables[0])
    if all(found.fault or sources.is_result(found.path) for found in sources.expanded(folder)):
        raise CaptureError(f"holds no run: neither messages nor {JOBS}", folder)
    return None


def _of_file(path: str) -> str | None:
    with open(path, "rb") as file:
        head = file.read(sources.HEAD)
    if head.startswith((MCAP_MAGIC, *sources.LINES_BEGIN)) or path.endswith((*sources.RECORDINGS, sources.LINES)):
        return None
    if any(head.startswith(magic, start) for start, magic in MAGIC):
        return None
    for magic, reason in _BINARY.items():
        if head.startswith(magic):
            raise CaptureError(reason, path)
    if path.lower().endswith(".csv") or _COLUMN in head.split(b"\n", 1)[0].strip(b'\r"\xef\xbb\xbf').split(b","):
        return path
    if not head:
        raise CaptureError("is empty", path)
    if sources.is_result(path):
        raise CaptureError(f"has no data about single jobs: name its folder, or the {JOBS} in it", path)
    return None
