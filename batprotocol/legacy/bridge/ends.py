"""What the ends of a bridge have in common: what they can be asked, and that they are closed. No sockets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Protocol, TypeVar

from batprotocol.legacy.json import events as e
from batprotocol.legacy.translate import Report, ToOldScheduler
from batprotocol.model import Message
from batprotocol.recording import Recorder

__all__ = ["Batsim", "Closing", "Component", "OldComponent"]

_End = TypeVar("_End", bound="Closing")


class Component(Protocol):
    """What answers Batsim, as values of today's protocol."""

    def hello(self, text: str, /) -> Message:
        """The first message, for these initialization data."""

    def answer(self, message: Message, /) -> Message:
        """The reply to a message."""


class Closing(ABC):
    """What is closed by the `with` that it is used in."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back."""

    def __enter__(self: _End) -> _End:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


# Batsim's end


class Batsim(Closing):
    """An end that a Batsim is at: it asks, and we answer."""

    report: Report
    recorder: Recorder | None = None
    """Records what is said at this end, unless it is None."""

    @abstractmethod
    def limit(self, seconds: float) -> None:
        """Wait for the next messages that long, and do nothing else meanwhile."""

    @abstractmethod
    def begin(self) -> str:
        """Wait for Batsim; the initialization data."""

    @abstractmethod
    def greet(self, hello: Message) -> None:
        """Give the hello."""

    @abstractmethod
    def receive(self) -> Message:
        """The next message."""

    @abstractmethod
    def send(self, message: Message) -> None:
        """The reply to it."""


# The scheduler's end


class OldComponent(Closing):
    """A scheduler of any older version: a decision component for `drive` and `simulate`."""

    def __init__(self, to: ToOldScheduler) -> None:
        self._to = to
        self.report = to.report

    def hello(self, text: str) -> Message:
        """The first message; the scheduler is not asked yet."""
        return self._to.hello(text)

    def answer(self, message: Message) -> Message:
        """What the scheduler answers, which is asked unless the message does not concern it."""
        told = self._to.hear(message)
        return self._to.say(None if told is None else self._ask(told))

    @abstractmethod
    def _ask(self, told: e.Message) -> e.Message | None:
        """What the scheduler says to this, None if its version is not told."""
