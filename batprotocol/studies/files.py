"""Files that decide what comes of a run: which they are, what they hold, and how they come to where it runs.

It must not know what is in them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cache

import msgspec

from batprotocol.errors import StudyError
from batprotocol.files import naming

__all__ = ["Files"]


class Files(msgspec.Struct, frozen=True):
    """Files that belong together.

    Args:
        root: the folder that they are in, on the machine that described the study.
        names: of the files, below that folder; the first one is what was named, which the others serve.
        digests: the SHA-256 of what each holds.
        contents: what each holds, where they have to travel; else None.
    """

    root: str
    names: tuple[str, ...]
    digests: tuple[str, ...]
    contents: tuple[bytes, ...] | None = None

    @classmethod
    def read(cls, root: str, names: Iterable[str]) -> Files:
        """Those files as they are now.

        Raises:
            OSError: one cannot be read.
        """
        known = tuple(names)
        return cls(root, known, tuple(_digest(_read(os.path.join(root, name))) for name in known))

    @property
    def digest(self) -> str:
        """What they are called by: the same for the same names and bytes, wherever they are."""
        found = hashlib.sha256()
        for name, digest in sorted(zip(self.names, self.digests, strict=True)):
            found.update(f"{name}\0{digest}\0".encode())
        return found.hexdigest()

    def packed(self) -> Files:
        """The same with what they hold.

        Raises:
            StudyError: one has changed since.
            OSError: one cannot be read.
        """
        contents = tuple(_read(os.path.join(self.root, name)) for name in self.names)
        for name, data, digest in zip(self.names, contents, self.digests, strict=True):
            if _digest(data) != digest:
                raise self._changed(name)
        return msgspec.structs.replace(self, contents=contents)

    def located(self, folder: str) -> str:
        """Where they are on this machine: where they were if they are there, else they are put below a folder.

        Args:
            folder: where there may be files of other runs already.

        Raises:
            StudyError: they are neither there, nor did they travel.
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
        """The first file that is not where it was, as it was."""
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
        return StudyError("it has changed since the study began", file=os.path.join(self.root, name))


def _read(path: str) -> bytes:
    with naming(path), open(path, "rb") as file:
        return file.read()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@cache
def _digest_of(path: str, size: int, time: int) -> str:
    """The digest of a file that was changed last then."""
    return _digest(_read(path))
