"""Recorded runs: what was said in a simulation, kept as `batproto dump` and `batproto check` read it.

A run is a folder, or a `.tar.xz` archive, of files named by number and direction: `00000-b2e.bin` is the frame with the
initialization data, `00001-e2b.bin` the one with the hello, and after that each file is one message.
"""

from __future__ import annotations

import io
import os
import tarfile
from types import TracebackType

from batprotocol.model import Message
from batprotocol.wire import FORMATS, frames

__all__ = ["Recorder"]

_ARCHIVE = ".tar.xz"


class Recorder:
    """Writes down what both sides say. Use it in a `with`, which finishes the archive.

    Args:
        path: the archive, if it ends with `.tar.xz`, else the folder. An archive is overwritten; a folder must be
            empty.
        format: "binary" or "json".

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], format: str = "binary") -> None:
        self.path = os.fspath(path)
        self.format = format
        self._encode = FORMATS[format].encode
        self._number = 0
        self._archive: tarfile.TarFile | None = None
        if self.path.endswith(_ARCHIVE):
            self._archive = tarfile.open(self.path, "w:xz")  # noqa: SIM115 - closed by `close`
        else:
            os.makedirs(self.path, exist_ok=True)
            if os.listdir(self.path):
                raise FileExistsError(17, "the folder for the recorded run is not empty", self.path)

    def hello(self, init: str, message: Message) -> None:
        """The initialization data, and the hello in return."""
        self._write("b2e", frames.encode_init(init))
        self._write("e2b", frames.encode_hello(message, self.format))

    def turn(self, message: Message, reply: Message) -> None:
        """A message of the simulator, and the reply to it."""
        self._write("b2e", self._encode(message))
        self._write("e2b", self._encode(reply))

    def frame(self, direction: str, data: bytes) -> None:
        """The bytes of the next frame, whatever they are: "b2e" is from Batsim, "e2b" from the decision component."""
        self._write(direction, data)

    def _write(self, direction: str, data: bytes) -> None:
        name = f"{self._number:05}-{direction}.bin"
        self._number += 1
        if self._archive is None:
            with open(os.path.join(self.path, name), "wb") as file:
                file.write(data)
            return
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        self._archive.addfile(entry, io.BytesIO(data))

    def close(self) -> None:
        """Finish the archive."""
        if self._archive is not None:
            self._archive.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
