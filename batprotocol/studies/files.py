"""The files that decide the result of a run: their names, their contents, and their way to the machine of the run.

It must not know what is in them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cache

import msgspec

from batprotocol._util.files import naming
from batprotocol.errors import StudyError

__all__ = ["Files"]


class Files(msgspec.Struct, frozen=True):
    """Files that belong together.

    Args:
        root: their folder, on the machine on which the study was described.
        names: their names below that folder. The study named the first file, which needs the others.
        digests: the SHA-256 of the contents of each.
        contents: the contents of each, if they must travel to another machine; else None.
    """

    root: str
    names: tuple[str, ...]
    digests: tuple[str, ...]
    contents: tuple[bytes, ...] | None = None

    @classmethod
    def read(cls, root: str, names: Iterable[str]) -> Files:
        """Read these files as they are now.

        Raises:
            OSError: one cannot be read.
        """
        known = tuple(names)
        return cls(root, known, tuple(_digest(_read(os.path.join(root, name))) for name in known))

    @property
    def digest(self) -> str:
        """Their common digest: equal for equal names and bytes, in any folder."""
        found = hashlib.sha256()
        for name, digest in sorted(zip(self.names, self.digests, strict=True)):
            found.update(f"{name}\0{digest}\0".encode())
        return found.hexdigest()

    def packed(self) -> Files:
        """The same files with their contents.

        Raises:
            StudyError: one has changed since they were read.
            OSError: one cannot be read.
        """
        contents = tuple(_read(os.path.join(self.root, name)) for name in self.names)
        for name, data, digest in zip(self.names, contents, self.digests, strict=True):
            if _digest(data) != digest:
                raise self._changed(name)
        return msgspec.structs.replace(self, contents=contents)

    def located(self, folder: str) -> str:
        """Their folder on this machine. It is `root` if they are unchanged there; else they are written below `folder`.

        Args:
            folder: the folder to write to. It may have files of other runs already.

        Raises:
            StudyError: they are not in `root`, and their contents are missing.
            OSError: they cannot be written.
        """
        missing = self._missing()
        if missing is None:
            return self.root
        if self.contents is None:
            raise self._changed(missing)
        root = os.path.join(folder, self.digest)
        if not os.path.isdir(root):
            for name, data in zip(self.names, self.contents, strict=True):
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with naming(path), open(path, "wb") as file:
                    file.write(data)
        return root

    def _missing(self) -> str | None:
        """The first file that is missing in `root`, or has changed there."""
        for name, digest in zip(self.names, self.digests, strict=True):
            path = os.path.join(self.root, name)
            try:
                state = os.stat(path)
                if _digest_of(path, state.st_size, state.st_mtime_ns) != digest:
                    return name
            except OSError:
                return name
        return None

    def _changed(self, name: str) -> StudyError:
        return StudyError(
            "it has changed since the study began: run the study again", file=os.path.join(self.root, name)
        )


def _read(path: str) -> bytes:
    with naming(path), open(path, "rb") as file:
        return file.read()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@cache
def _digest_of(path: str, size: int, time: int) -> str:
    """The digest of a file with this size and time of its last change."""
    return _digest(_read(path))
