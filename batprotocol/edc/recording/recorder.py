"""Records a conversation in the format that its path selects, with the metadata of the run."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import platform
import shlex
import sys
from collections.abc import Mapping
from pathlib import PurePosixPath
from types import TracebackType
from typing import Final, Protocol, TypeVar

from batprotocol.edc.recording.archives import ArchiveRecording, Compressed, FolderRecording, Journal, Packer, Sink
from batprotocol.edc.recording.names import MCAP, UNFINISHED, Names
from batprotocol.model import Direction

__all__ = [
    "Recorder",
    "facts",
    "fingerprint",
]


# The metadata of a run: versions, arguments and input files


_PIECE = 2**20


def facts(**more: object) -> dict[str, str]:
    """The metadata of a run: the versions of this library and of Python, the arguments of the program, and more.

    Args:
        more: further metadata, by name. Values that are None are left out.

    >>> facts(endpoint="tcp://*:28000")["endpoint"]
    'tcp://*:28000'
    """
    from importlib import metadata  # it takes its time

    try:
        version = metadata.version("batprotocol")
    except metadata.PackageNotFoundError:
        version = "(not installed)"
    found = {
        "batprotocol": version,
        "python": platform.python_version(),
        "arguments": shlex.join(sys.argv),
        **{name: value for name, value in more.items() if value is not None},
    }
    return {name: str(value).encode("utf-8", "backslashreplace").decode() for name, value in found.items()}


def fingerprint(path: str | os.PathLike[str]) -> str:
    """The path and the hash of a file: `workload.json sha256:...`. Only the path if the file cannot be read again.

    Args:
        path: the file.
    """
    name = os.fspath(path)
    if not os.path.isfile(name):
        return name
    found = hashlib.sha256()
    with open(name, "rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return f"{name} sha256:{found.hexdigest()}"


logger = logging.getLogger("batprotocol.edc.recording")

COMPRESSED: Final = (".tar.xz", ".txz")
OTHERS: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tar.zst", ".zip")

_Recorder = TypeVar("_Recorder", bound="Recorder")


class _Shape(Protocol):
    """Writes messages into a journal."""

    TAIL: int
    """The maximum number of bytes that `end` returns."""

    def __init__(self, journal: Journal, names: Names, about: Mapping[str, str], /) -> None: ...
    def write(
        self, direction: Direction, data: bytes, wall: int | None = None, now: float | None = None, /
    ) -> None: ...
    def keep(self, name: str, data: bytes, /) -> None: ...
    def end(self) -> bytes: ...


class Recorder:
    """Records a conversation.

    Args:
        path: a file that ends with `.mcap`, `.tar.xz` or `.tar`, or a folder. The folder may exist, but must not hold a
            recording.
        about: the metadata of the run, such as its scheduler and arguments. Only a `.mcap` keeps them: two archives of
            the same messages have the same bytes.
        names: the names of the files of messages in an archive or a folder.

    Raises:
        OSError: the recording cannot be written, or the path exists. The `filename` of the error is the path.
        PackageMissing: the path is a `.mcap`, and the package `mcap` is not installed.

    `write` does not wait for the disk, and takes a microsecond or two. `close` completes the recording; a `with`
    statement calls it.
    """

    def __init__(
        self, path: str | os.PathLike[str], about: Mapping[str, str] | None = None, *, names: Names | None = None
    ) -> None:
        self.path = os.fspath(path)
        journal, sink, shape = _prepared(self.path)
        self._packer = Packer(journal, sink) if sink is not None else None
        self._journal = Journal(journal, self.path, shape.TAIL, self._packer.go_on if self._packer else None)
        self._shape = shape(self._journal, names or Names(), about or {})

    def write(self, direction: Direction, data: bytes, wall: int | None = None, *, now: float | None = None) -> None:
        """Record a message.

        Args:
            direction: the direction of the message.
            data: the whole frame.
            wall: the time of its arrival, in nanoseconds since 1970. By default, now. Only a `.mcap` keeps it.
            now: the simulated time of the message, if the caller knows it. Otherwise, the message is decoded in part.

        Raises:
            OSError: the disk is full. The earlier messages are kept.
        """
        self._shape.write(direction, data, wall, now)

    def keep(self, name: str, data: bytes) -> None:
        """Keep another file with the messages, such as the results of the simulation.

        Args:
            name: its name, such as `jobs.csv` or `out/jobs.csv`.
            data: its bytes.

        Raises:
            OSError: the disk is full.
            ValueError: a file cannot have this name in a recording.
        """
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts or "\0" in name or "\\" in name:
            raise ValueError(
                f"{name!r} is not a name for a file in a recording: use a relative path with '/' and without '..'"
            )
        self._shape.keep(name, data)

    @property
    def is_mcap(self) -> bool:
        """Whether the recording keeps the metadata of the run and the arrival time of each message."""
        return self.path.endswith(MCAP)

    def close(self) -> None:
        """Complete the recording in the requested format. A second call has no effect.

        Raises:
            OSError: the disk is full. The journal stays, in the folder or at the path, and can be read as a recording.
        """
        if self._journal.closed:
            return
        self._journal.close(self._shape.end())
        if self._packer is not None:
            self._packer.finish(self._journal.end)

    def __enter__(self: _Recorder) -> _Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except OSError as trouble:
            if error is None:
                raise
            logger.warning("%s: %s", trouble.filename, trouble.strerror)  # must not replace the first error


def _prepared(path: str) -> tuple[str, Sink | None, type[_Shape]]:
    """The path of the journal, the sink that replaces it, and the class that writes messages there."""
    if path.endswith(OTHERS):
        raise OSError(errno.EINVAL, "a recording is a .mcap, a .tar.xz, a .tar, or a folder", path)
    if path.endswith((MCAP, *COMPRESSED, ".tar")):
        if os.path.lexists(path):
            raise FileExistsError(
                errno.EEXIST, "it exists, and a recording does not overwrite files: choose another name", path
            )
        if path.endswith(MCAP):
            from batprotocol.edc.recording import mcap

            return path, mcap.Chunked(), mcap.Mcap
        return path, Compressed() if path.endswith(COMPRESSED) else None, ArchiveRecording
    os.makedirs(path, exist_ok=True)
    if any(name == UNFINISHED or name.endswith((".bin", ".json", ".fb")) for name in os.listdir(path)):
        raise FileExistsError(errno.EEXIST, "the folder already holds messages: choose another one", path)
    return os.path.join(path, UNFINISHED), FolderRecording(path), ArchiveRecording
