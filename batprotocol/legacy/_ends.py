"""The base classes of the ends of a bridge: their methods, and how they are closed. No sockets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Protocol, TypeVar

from batprotocol.edc.recording import Recorder
from batprotocol.legacy.json import events as e
from batprotocol.legacy.translate import ToOldScheduler, TranslationReport
from batprotocol.model import Message

_End = TypeVar("_End", bound="Closing")


class Component(Protocol):
    """A decision component: it answers Batsim with values of the current protocol."""

    def hello(self, text: str, /) -> Message:
        """The first message, for these initialization data."""

    def answer(self, message: Message, /) -> Message:
        """The reply to a message."""


class Closing(ABC):
    """An object that the `with` statement closes."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources."""

    def __enter__(self: _End) -> _End:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# Batsim's end


class Batsim(Closing):
    """The end of a Batsim: it sends messages, and the bridge replies."""

    report: TranslationReport
    recorder: Recorder | None = None
    """Records the messages of this end, unless it is None."""

    @abstractmethod
    def limit(self, seconds: float) -> None:
        """Wait at most this long for each of the next messages, and do nothing else while waiting."""

    @abstractmethod
    def begin(self) -> str:
        """Wait for Batsim, and return the initialization data."""

    @abstractmethod
    def greet(self, hello: Message) -> None:
        """Send the hello."""

    @abstractmethod
    def receive(self) -> Message:
        """The next message."""

    @abstractmethod
    def send(self, message: Message) -> None:
        """Send the reply to it."""


# The scheduler's end


class OldComponent(Closing):
    """A scheduler of any older version: a decision component for `drive` and `simulate`."""

    def __init__(self, to: ToOldScheduler) -> None:
        self._to = to
        self.report = to.report

    def hello(self, text: str) -> Message:
        """The first message. The bridge does not ask the scheduler yet."""
        return self._to.hello(text)

    def answer(self, message: Message) -> Message:
        """The reply of the scheduler. The bridge asks the scheduler only if the message concerns it."""
        told = self._to.hear(message)
        return self._to.say(None if told is None else self._ask(told))

    @abstractmethod
    def _ask(self, told: e.Message) -> e.Message | None:
        """The answer of the scheduler to this message, None if its version does not get such messages."""
