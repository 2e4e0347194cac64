"""Decision components that somebody watches: who is told what is said, before it is answered and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from batprotocol.conversation import Conversation
from batprotocol.model import Message
from batprotocol.simulator.simulating import DecisionComponent, Player

__all__ = ["Watcher", "watched"]


class Watcher(Protocol):
    """Who is told what is said in a simulation, in this order. A `Recorder` is one."""

    def hello(self, init: str, message: Message, /) -> None:
        """The initialization data, and the hello in return."""

    def told(self, message: Message, /) -> None:
        """A message of the simulator, which may never be answered."""

    def answered(self, reply: Message, /) -> None:
        """The reply to it."""


def watched(component: Player | DecisionComponent, watcher: Watcher) -> Player | DecisionComponent:
    """The same component, for `simulate`, with somebody who watches it."""
    return (_WatchedPlayer if isinstance(component, Player) else _WatchedComponent)(component, watcher)


class _Watched:
    def __init__(self, component: Player | DecisionComponent, watcher: Watcher) -> None:
        self._component = component
        self._watcher = watcher
        self.is_told_at_once = getattr(component, "is_told_at_once", False)
        self.says_nothing = getattr(component, "says_nothing", "")

    def hello(self, text: str) -> Message:
        message = self._component.hello(text)
        self._watcher.hello(text, message)
        return message

    def _through(self, answer: Callable[[Message], Message]) -> Callable[[Message], Message]:
        told, answered = self._watcher.told, self._watcher.answered

        def through(message: Message) -> Message:
            told(message)
            reply = answer(message)
            answered(reply)
            return reply

        return through


class _WatchedPlayer(_Watched):
    def player(self, conversation: Conversation) -> Callable[[Message], Message]:
        assert isinstance(self._component, Player)
        return self._through(self._component.player(conversation))


class _WatchedComponent(_Watched):
    def __init__(self, component: Player | DecisionComponent, watcher: Watcher) -> None:
        super().__init__(component, watcher)
        assert isinstance(component, DecisionComponent)
        self.answer = self._through(component.answer)
