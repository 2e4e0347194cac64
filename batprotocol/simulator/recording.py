"""What is said in a simulation, written down as values come: what a recording is, `batprotocol.recording` knows."""

from __future__ import annotations

import os
from collections.abc import Mapping

from batprotocol import recording
from batprotocol.model import Direction, Message
from batprotocol.simulator.results import Result
from batprotocol.simulator.results.files import jobs_text, schedule_text
from batprotocol.wire import FORMATS, frames

__all__ = ["Recorder"]


class Recorder(recording.Recorder):
    """Records the conversation of a simulation. Use it in a `with`, which finishes the recording.

    Args:
        path: a file that ends with `.mcap`, `.tar.xz` or `.tar`, or a folder, which may exist but holds no recording
            yet.
        format: "binary" or "json".
        about: what is told of the simulation, such as its inputs; only a `.mcap` keeps it.

    Raises:
        OSError: it cannot be written there, or something is there already.
        PackageMissing: it is a `.mcap`, and the package `mcap` is not installed.
    """

    def __init__(
        self, path: str | os.PathLike[str], format: str = "binary", about: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(path, about)
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
        self._shape.write(Direction.BATSIM_TO_EDC, self._encode(message), None, message.now)

    def answered(self, reply: Message) -> None:
        """The reply to it."""
        self._shape.write(Direction.EDC_TO_BATSIM, self._encode(reply), None, reply.now)

    def result(self, result: Result) -> None:
        """Keep what came of the simulation, as Batsim's `jobs.csv` and `schedule.json`."""
        self.keep("jobs.csv", jobs_text(result.jobs).encode("utf-8", "surrogateescape"))
        self.keep("schedule.json", schedule_text(result.schedule()).encode("utf-8", "surrogateescape"))
