"""What the exact queue has pending: actions, time-outs, messages on their way, and kernel calls."""

from __future__ import annotations

from typing import Any

from mypy_extensions import mypyc_attr

from batprotocol.simulator.machine.task import Task
from batprotocol.simulator.queue.actor import Actor

__all__ = ["Action", "Call", "Communication", "Timer"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Action:
    """Something that goes on: a sleep (`left` seconds), or work after a latency (`remains` of 1 at a rate)."""

    __slots__ = ("hosts", "is_sleep", "latency", "left", "meaning", "number", "rate", "remains", "task")

    def __init__(self, number: int, hosts: tuple[int, ...], meaning: Any) -> None:
        self.number = number
        self.hosts = hosts
        self.meaning = meaning
        self.is_sleep = True
        self.left = 0.0
        self.latency = 0.0
        self.remains = 1.0
        self.rate = 0.0
        self.task: Task | None = None


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Timer:
    """A time-out, which knows its date: unlike an action, no step is subtracted from it."""

    __slots__ = ("date", "meaning", "number")

    def __init__(self, number: int, date: float, meaning: Any) -> None:
        self.number = number
        self.date = date
        self.meaning = meaning


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Communication:
    """One message, from the first half of its meeting (post or receive) to its delivery."""

    __slots__ = ("is_done", "is_started", "message", "receiver", "sender", "timeout", "waiting")

    def __init__(self) -> None:
        self.sender: Actor | None = None
        self.receiver: Actor | None = None
        self.message: Any = None
        self.is_started = False
        self.is_done = False
        self.waiting: list[Actor] = []
        self.timeout: Timer | None = None


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Call:
    """A kernel call that an actor makes in this round, and the ones that it makes in the following rounds."""

    __slots__ = ("actor", "argument", "extra", "kind")

    def __init__(self, kind: str, actor: Actor, argument: Any = None, extra: Any = None) -> None:
        self.kind = kind
        self.actor = actor
        self.argument = argument
        self.extra = extra
