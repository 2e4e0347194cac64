"""Decision components with a watcher, which gets each message before and after it is answered."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Protocol

from batprotocol.conversation import Conversation
from batprotocol.model import Message
from batprotocol.simulator.simulating import DecisionComponent, Player, is_notified_at_once

__all__ = ["Watcher", "watched"]


class Watcher(Protocol):
    """An object that gets the messages of a simulation, in this order. A `Recorder` is a watcher."""

    def hello(self, init: str, message: Message, /) -> None:
        """Take the initialization data, and the hello of the decision component."""

    def sent(self, message: Message, /) -> None:
        """Take a message of the simulator, which may never be answered."""

    def answered(self, reply: Message, /) -> None:
        """Take the reply to the last message."""


def watched(component: Player | DecisionComponent, watcher: Watcher) -> Player | DecisionComponent:
    """The same component with a watcher, for `simulate`.

    Args:
        component: the decision component.
        watcher: the watcher of its messages.
    """
    return (_WatchedPlayer if isinstance(component, Player) else _WatchedComponent)(component, watcher)


class _WatchedScheduler:
    def __init__(self, component: Player | DecisionComponent, watcher: Watcher) -> None:
        self._component = component
        self._watcher = watcher
        self.is_notified_at_once = is_notified_at_once(component)
        self.says_nothing = getattr(component, "says_nothing", "")

    def hello(self, text: str) -> Message:
        message = self._component.hello(text)
        self._watcher.hello(text, message)
        return message

    def _through(self, answer: Callable[[Message], Message]) -> Callable[[Message], Message]:
        sent, answered = _sent_of(self._watcher), self._watcher.answered

        def through(message: Message) -> Message:
            sent(message)
            reply = answer(message)
            answered(reply)
            return reply

        return through


def _sent_of(watcher: Watcher) -> Callable[[Message], None]:
    """The method `sent` of a watcher, or `told`, its old name."""
    old: Callable[[Message], None] | None = None if hasattr(watcher, "sent") else getattr(watcher, "told", None)
    if old is None:
        return watcher.sent
    sentence = f"the method `told` of {type(watcher).__name__} is deprecated: rename it to `sent`"
    warnings.warn(sentence, DeprecationWarning, stacklevel=4)
    return old


class _WatchedPlayer(_WatchedScheduler):
    def player(self, conversation: Conversation) -> Callable[[Message], Message]:
        assert isinstance(self._component, Player)
        return self._through(self._component.player(conversation))


class _WatchedComponent(_WatchedScheduler):
    def __init__(self, component: Player | DecisionComponent, watcher: Watcher) -> None:
        super().__init__(component, watcher)
        assert isinstance(component, DecisionComponent)
        self.answer = self._through(component.answer)
