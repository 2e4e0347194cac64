"""The door of the room: what writes a conversation down, in the shape that its path asks for."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Mapping
from pathlib import PurePosixPath
from types import TracebackType
from typing import Final, Protocol, TypeVar

from batprotocol.model import Direction
from batprotocol.recording.journal import Journal
from batprotocol.recording.names import MCAP, Names
from batprotocol.recording.packing import Packer, Sink
from batprotocol.recording.tar import UNFINISHED, Archive, Compressed, Folder

__all__ = ["Recorder"]

logger = logging.getLogger("batprotocol.recording")

COMPRESSED: Final = (".tar.xz", ".txz")
OTHERS: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tar.zst", ".zip")

_Recorder = TypeVar("_Recorder", bound="Recorder")


class _Shape(Protocol):
    """What writes messages into a journal."""

    TAIL: int
    """The most bytes that `end` has."""

    def __init__(self, journal: Journal, names: Names, about: Mapping[str, str], /) -> None: ...
    def write(
        self, direction: Direction, data: bytes, wall: int | None = None, now: float | None = None, /
    ) -> None: ...
    def keep(self, name: str, data: bytes, /) -> None: ...
    def end(self) -> bytes: ...


class Recorder:
    """Records a conversation.

    Args:
        path: a file that ends with `.mcap`, `.tar.xz` or `.tar`, or a folder, which may exist but holds no recording
            yet.
        about: what is told of the run, such as who is recorded and with which arguments. Only a `.mcap` keeps it: what
            was said twice is the same archive twice.
        names: how the files of messages are called, in an archive or a folder.

    Raises:
        OSError: it cannot be written there, or something is there already; its `filename` is the path.
        PackageMissing: it is a `.mcap`, and the package `mcap` is not installed.

    `write` does not wait for the disk, and takes a microsecond or two. After `close`, which a `with` does, it is whole.
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
            direction: who says it.
            data: the whole frame.
            wall: when it came, in nanoseconds since 1970, if that is not now; only a `.mcap` keeps it.
            now: the time of the message, where it is known: to look into the message costs a little.

        Raises:
            OSError: the disk is full. What was recorded before is kept.
        """
        self._shape.write(direction, data, wall, now)

    def keep(self, name: str, data: bytes) -> None:
        """Keep another file with the messages, such as the results of the simulation.

        Args:
            name: what it is called, such as `jobs.csv`, or `out/jobs.csv`.
            data: its bytes.

        Raises:
            OSError: the disk is full.
            ValueError: a file cannot have this name in a recording.
        """
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts or "\0" in name or "\\" in name:
            raise ValueError(f"{name!r} is no name for a file in a recording")
        self._shape.keep(name, data)

    @property
    def is_mcap(self) -> bool:
        """Whether it keeps what the recording is about, and when each message came."""
        return self.path.endswith(MCAP)

    def close(self) -> None:
        """Make of the recording what was asked for. Closing twice does nothing.

        Raises:
            OSError: the disk is full: the recording stays the journal that it is, in a folder or at the path, and can
                be read as such.
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
            logger.warning("%s: %s", trouble.filename, trouble.strerror)  # and not in place of what came first


def _prepared(path: str) -> tuple[str, Sink | None, type[_Shape]]:
    """Where to write the journal, what to make of it, and what writes messages there."""
    if path.endswith(OTHERS):
        raise OSError(errno.EINVAL, "a recording is a .mcap, a .tar.xz, a .tar, or a folder", path)
    if path.endswith((MCAP, *COMPRESSED, ".tar")):
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "there is something already, and it is not overwritten", path)
        if path.endswith(MCAP):
            from batprotocol.recording import mcap  # which needs an extra

            return path, mcap.Chunked(), mcap.Mcap
        return path, Compressed() if path.endswith(COMPRESSED) else None, Archive
    os.makedirs(path, exist_ok=True)
    if any(name == UNFINISHED or name.endswith((".bin", ".json", ".fb")) for name in os.listdir(path)):
        raise FileExistsError(errno.EEXIST, "the folder holds messages already", path)
    return os.path.join(path, UNFINISHED), Folder(path), Archive
