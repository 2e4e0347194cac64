"""What both queues of future events have in common: what actors can wait for, and the clock.

There are two of them, alike for whoever uses them. `ExactQueue` advances step by step, as SimGrid does, so that even
the last bits of times are Batsim's; its cost grows with what runs. `FastQueue` keeps absolute times in a heap.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from mypy_extensions import mypyc_attr

from batprotocol.simulator.machine.machine import Machine
from batprotocol.simulator.machine.task import Task
from batprotocol.simulator.queue.actor import Actor, Mailbox

__all__ = ["Queue"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Queue(ABC):
    """The clock, and all that will happen.

    Args:
        machine: whose hosts the work runs on.

    The methods that take an actor first make it wait, and are the last thing that it does before it returns.
    """

    __slots__ = ("machine", "now")
    is_exact: ClassVar[bool] = False
    """Whether rounding is SimGrid's, too."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.now = 0.0

    @abstractmethod
    def run(self, simulator: Any) -> bool:
        """Let actors run until the simulator has something to say (True), or nothing can happen any more (False)."""

    @abstractmethod
    def start(self, actor: Actor) -> None:
        """A new actor, which is nobody's child."""

    @abstractmethod
    def spawn(self, actor: Actor, children: Iterable[Actor]) -> bool:
        """Start other actors, and wait until they have run for the first time. Whether the actor must wait for that."""

    @abstractmethod
    def call(self, actor: Actor) -> bool:
        """Make one call that is answered at the same time. Whether the actor must wait for that."""

    @abstractmethod
    def read(self, actor: Actor, hosts: Sequence[int]) -> bool:
        """Bring the energy of hosts up to date, one after the other. Whether the actor must wait for that.

        Each that nobody else has read at this time takes a call.
        """

    @abstractmethod
    def cancel(self, actor: Actor, task: Task) -> None:
        """Stop a task, whose owner goes on then: `task.is_cancelled` tells it why."""

    @abstractmethod
    def sleep(self, actor: Actor, duration: float) -> None:
        """Wait for so many seconds, more than 0."""

    @abstractmethod
    def post(self, actor: Actor, mailbox: Mailbox, message: Any) -> None:
        """Wait until the message is delivered."""

    @abstractmethod
    def bequeath(self, actor: Actor, mailbox: Mailbox, message: Any) -> None:
        """Post a message, and never run again."""

    @abstractmethod
    def leave(self, actor: Actor, mailbox: Mailbox, message: Any) -> None:
        """Post a message, and go on without waiting for its delivery."""

    @abstractmethod
    def receive(self, actor: Actor, mailbox: Mailbox, timeout: float | None = None, *, finds: bool = True) -> None:
        """Wait for the next message, which will be in `actor.message`; None there if it takes too long.

        Args:
            actor: who waits.
            mailbox: where.
            timeout: seconds, or None: without end.
            finds: whether the mailbox must be found by its name first, which takes a call.
        """

    @abstractmethod
    def execute(self, actor: Actor, task: Task, timeout: float | None = None) -> None:
        """Start a task, and wait for its end; `actor.in_time` tells whether it came before the time-out."""

    @abstractmethod
    def wait(self, actor: Actor, timeout: float | None) -> None:
        """Wait for `wake`; `actor.in_time` tells whether it came before the time-out."""

    @abstractmethod
    def wake(self, actor: Actor) -> None:
        """Let an actor go on that waits for this."""

    @abstractmethod
    def kill(self, actor: Actor) -> None:
        """An actor never runs again, and what it waits for does not happen."""

    @abstractmethod
    def drop(self, task: Task) -> None:
        """A task stops, if it has not ended yet."""

    @abstractmethod
    def settle(self) -> None:
        """Find the rates anew of all tasks that something has changed for."""

    @abstractmethod
    def remaining(self, task: Task) -> float:
        """The part of a task's work that is still to do now, in [0,1]."""
