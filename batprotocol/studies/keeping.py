"""The conversation of a run, kept until the run ends. If the run fails, it becomes a recording."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from batprotocol.model import Message
from batprotocol.simulator.recording import Recorder
from batprotocol.studies.runs import RECORDING

__all__ = ["Keeper"]

_KEPT: Final = 20_000
"""From this number of messages on, they are written to a file, to bound the memory."""


class Keeper:
    """A watcher of a simulation that keeps its messages, first in memory, then in a file.

    Args:
        folder: the folder of that file.
    """

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, RECORDING)
        self._hello: tuple[str, Message] | None = None
        self._messages: list[Message] = []  # in turns: the simulator's, the reply
        self._recorder: Recorder | None = None
        self._is_reply = False

    def hello(self, init: str, message: Message) -> None:
        """The initialization data, and the hello message in return."""
        self._hello = init, message

    def sent(self, message: Message) -> None:
        """A message of the simulator, which may never be answered."""
        self._messages.append(message)
        if len(self._messages) >= _KEPT:
            self._write()

    def answered(self, reply: Message) -> None:
        """The reply to the last message."""
        self._messages.append(reply)

    def _write(self) -> None:
        if self._hello is None:
            return
        if self._recorder is None:
            self._recorder = Recorder(self._path)
            self._recorder.hello(*self._hello)
        for message in self._messages:
            (self._recorder.answered if self._is_reply else self._recorder.sent)(message)
            self._is_reply = not self._is_reply
        self._messages.clear()

    def save(self) -> None:
        """Finish the recording. If it cannot be written, there is none."""
        with suppress(OSError):
            self._write()
        self.drop()

    def drop(self) -> None:
        """Close the file. Nobody needs the recording any more."""
        if self._recorder is not None:
            with suppress(OSError):
                self._recorder.close()
