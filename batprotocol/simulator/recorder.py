"""A recorder for the messages of a simulation, which are values: `batprotocol.edc.recording` has the file formats."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from batprotocol._util.deprecation import OldName
from batprotocol.edc import recording
from batprotocol.model import Direction, Message
from batprotocol.results import Result
from batprotocol.results.files import jobs_text, schedule_text
from batprotocol.wire import FORMATS, frames

__all__ = ["SimulationRecorder"]


class SimulationRecorder(recording.Recorder):
    """Records the conversation of a simulation. Use it in a `with`, which finishes the recording.

    Args:
        path: a file that ends with `.mcap`, `.tar.xz` or `.tar`, or a folder. The folder may exist, but must not
            contain a recording.
        format: "binary" or "json".
        about: facts about the simulation, such as its inputs; only a `.mcap` stores them.

    Raises:
        OSError: the path cannot be written, or a recording exists already.
        PackageMissing: the file is a `.mcap`, and the package `mcap` is not installed.
    """

    def __init__(
        self, path: str | os.PathLike[str], format: str = "binary", about: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(path, about)
        self.format = format
        self._encode = partial(FORMATS[format].encode, allow_late_events=True)  # what was said, even if it is wrong

    def hello(self, init: str, message: Message) -> None:
        """Record the initialization data, and the hello of the decision component."""
        self.write(Direction.BATSIM_TO_EDC, frames.encode_init(init))
        self.write(Direction.EDC_TO_BATSIM, frames.encode_hello(message, self.format, allow_late_events=True))

    def turn(self, message: Message, reply: Message) -> None:
        """Record a message of the simulator, and the reply to it."""
        self.sent(message)
        self.answered(reply)

    def sent(self, message: Message) -> None:
        """Record a message of the simulator, which may never be answered."""
        self._shape.write(Direction.BATSIM_TO_EDC, self._encode(message), None, message.now)

    def answered(self, reply: Message) -> None:
        """Record the reply to the last message."""
        self._shape.write(Direction.EDC_TO_BATSIM, self._encode(reply), None, reply.now)

    told = OldName("sent")

    def result(self, result: Result) -> None:
        """Add the results of the simulation, as Batsim's `jobs.csv` and `schedule.json`."""
        self.keep("jobs.csv", jobs_text(result.jobs).encode("utf-8", "surrogateescape"))
        self.keep("schedule.json", schedule_text(result.schedule()).encode("utf-8", "surrogateescape"))
