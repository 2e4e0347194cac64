"""Batsim's server: it takes one message at a time, and tells the decision component what has happened.

It speaks when the reply to its last message has been received and nobody waits to be heard. What each message does is
in `occurrences` (what happens in the simulation) and `decisions` (what the decision component wants).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mypy_extensions import mypyc_attr

from batprotocol.model import Event, Message, SimulationEndsEvent
from batprotocol.simulator.batsim.submitters import Injector
from batprotocol.simulator.queue.actor import Actor, Mailbox

if TYPE_CHECKING:
    from batprotocol.simulator.batsim.simulation import Simulation

__all__ = ["Die", "Server"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Die:
    """What the periodic actor is told last."""

    __slots__ = ()


_STARTING: Final = 0
_HANDLING: Final = 1
_GOING_ON: Final = 2
_ENDING: Final = 3


class Server(Actor):
    """See the module.

    Args:
        handlers: what to do with each type of message.
        workloads: how many workloads there are.
        lists: how many lists of external events there are.

    Attributes:
        mailbox: where it receives.
        events: what it will tell.
        stamp: the time that events get which do not set it.
        todo: what is still to be done of the message at hand: each lets it wait once.
        workloads_left: how many workloads have jobs left; None if there never was one.
        lists_left: how many lists have external events left; None if there never was one.
        unfinished: how many jobs have neither ended nor been rejected.
        kills: how many killers are at work.
        switching: how many requests to switch are under way.
        one_shots: how many one-shot calls are to come.
        calls: the periodic calls that run.
        probes: the probes that run.
        registration_is_open: whether jobs may still be registered.
        is_ready: whether the last reply was heard to its end.
    """

    __slots__ = (
        "_greetings_due",
        "_handlers",
        "_must_wait",
        "_step",
        "calls",
        "events",
        "is_ready",
        "kills",
        "lists_left",
        "mailbox",
        "one_shots",
        "probes",
        "registration_is_open",
        "stamp",
        "switching",
        "todo",
        "unfinished",
        "workloads_left",
    )

    def __init__(self, handlers: Mapping[type, Callable[[Any, Any], None]], workloads: int, lists: int) -> None:
        super().__init__()
        self.mailbox = Mailbox(self)
        self.events: list[Event] = []
        self.stamp = 0.0
        self.todo: deque[tuple[str, Any]] = deque()
        self.workloads_left = workloads
        self.lists_left = lists
        self.unfinished = 0
        self.kills = 0
        self.switching = 0
        self.one_shots = 0
        self.calls: set[str] = set()
        self.probes: set[str] = set()
        self.registration_is_open = False
        self._handlers = handlers
        self._greetings_due = workloads + lists
        self.is_ready = True
        self._must_wait = False
        self._step = _STARTING

    def run(self, simulator: Simulation) -> None:
        step = self._step
        if step == _HANDLING:
            message, self.message = self.message, None
            self._step = _GOING_ON
            self._handlers[type(message)](simulator, message)
        elif step == _STARTING:
            self._step = _GOING_ON
            if self._greetings_due == 0:
                simulator.begin_telling()
        todo = self.todo
        while todo:
            if self._do(simulator, *todo.popleft()):
                return
        queue = simulator.queue
        if self._step == _ENDING:
            self._say_the_end(simulator)
            if self._must_wait:
                return
        if self.is_ready and not self.mailbox.inbox and not self._greetings_due:
            if self.events:
                self._tell(simulator)
                if self._must_wait:
                    return
            elif self._is_finished():
                self.end()
                self._do(simulator, *todo.popleft())
                return
        self._step = _HANDLING
        queue.receive(self, self.mailbox)

    def greeted(self, simulator: Simulation) -> None:
        """A submitter is there; with the last one, the simulation begins."""
        self._greetings_due -= 1
        if self._greetings_due == 0:
            simulator.begin_telling()

    def end(self) -> None:
        """Nothing will follow but the end."""
        self.events = []
        self.todo.clear()
        self.todo.append(("forward", Die()))
        self._step = _ENDING

    def _is_finished(self) -> bool:
        return (
            not self.unfinished
            and not self.workloads_left
            and not self.lists_left
            and not self.registration_is_open
            and not self.kills
            and not self.switching
            and not self.one_shots
            and not self.calls
            and not self.probes
        )

    def _do(self, simulator: Simulation, kind: str, argument: Any) -> bool:
        """Do something that may take a while; whether it does."""
        queue = simulator.queue
        if kind == "spawn":
            return queue.spawn(self, argument)
        if kind == "pause":
            queue.pause(self, argument)
        elif simulator.periodic.is_posting and not simulator.quirks:
            # Each would wait for the other to receive: in Batsim, nothing happens any more then.
            queue.leave(self, simulator.periodic.mailbox, argument)
        else:
            queue.post(self, simulator.periodic.mailbox, argument)
        return True

    def _tell(self, simulator: Simulation) -> None:
        """Tell the decision component what has happened."""
        now = simulator.queue.now
        self.stamp = now
        message = Message(now, tuple(self.events))
        self.events = []
        self.is_ready = False
        simulator.forget_ended()
        self._must_wait = simulator.queue.spawn(self, (Injector(message),))

    def _say_the_end(self, simulator: Simulation) -> None:
        now = simulator.queue.now
        self._step = _HANDLING
        self.is_ready = False
        simulator.is_ending = True
        message = Message(now, (SimulationEndsEvent(timestamp=now),))
        self._must_wait = simulator.queue.spawn(self, (Injector(message),))
