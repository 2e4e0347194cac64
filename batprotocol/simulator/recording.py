"""What is said in a simulation, written down as values come: what a recording is, `batprotocol.recording` knows."""

from __future__ import annotations

import os

from batprotocol import recording
from batprotocol.model import Direction, Message
from batprotocol.wire import FORMATS, frames

__all__ = ["Recorder"]


class Recorder(recording.Recorder):
    """Records the conversation of a simulation. Use it in a `with`, which finishes the recording.

    Args:
        path: a file that ends with `.tar.xz` or `.tar`, or a folder, which may exist but holds no recording yet.
        format: "binary" or "json".

    Raises:
        OSError: it cannot be written there, or something is there already.
    """

    def __init__(self, path: str | os.PathLike[str], format: str = "binary") -> None:
        super().__init__(path)
        self.format = format
        self._encode = FORMATS[format].encode

    def hello(self, init: str, message: Message) -> None:
        """The initialization data, and the hello in return."""
        self.write(Direction.BATSIM_TO_EDC, frames.encode_init(init))
        self.write(Direction.EDC_TO_BATSIM, frames.encode_hello(message, self.format))

    def turn(self, message: Message, reply: Message) -> None:
        """A message of the simulator, and the reply to it."""
        self.told(message)
        self.answered(reply)

    def told(self, message: Message) -> None:
        """A message of the simulator, which may never be answered."""
        self.write(Direction.BATSIM_TO_EDC, self._encode(message))

    def answered(self, reply: Message) -> None:
        """The reply to it."""
        self.write(Direction.EDC_TO_BATSIM, self._encode(reply))
