"""Actors that send inputs to the server: workloads, external events, and the decisions of a reply."""

from __future__ import annotations

from typing import Any, Final, Protocol

from batprotocol._util.counting import step
from batprotocol.model import ForceSimulationStopEvent, Message
from batprotocol.simulator.batsim.messages import (
    AllEventsInjected,
    AllJobsSubmitted,
    EmptyReply,
    EventsOccurred,
    JobsSubmitted,
    ReplyDelivered,
    SubmitterStarted,
)
from batprotocol.simulator.batsim.simulation_state import Listener, Simulation
from batprotocol.simulator.machine.queue import EventQueue, SimulationActor

__all__ = [
    "Injector",
    "Submitter",
]


_READY: Final = ReplyDelivered()
_NOTHING: Final = EmptyReply()
_STARTING: Final = 0
_WOKEN: Final = 1
_GROUP_SENT: Final = 2
_READ: Final = 3


class Items(Protocol):
    """The items of a submitter, by number."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Any: ...


class Submitter(SimulationActor):
    """The actor that submits the items of an input, in groups of the same time.

    Args:
        items: the jobs of a workload, or the events of a list, in the order of their times (the first field).
        are_jobs: whether the items are jobs.

    It compares times with the time when it last woke, not with the time when its last group was delivered, so delays do
    not add up. With `Setup.at_once`, it submits items one after the other, and compares with the time of delivery, as
    Batsim did before version 3.
    """

    __slots__ = ("_are_jobs", "_items", "_next", "_step", "_upcoming", "_waited", "_woken")

    def __init__(self, items: Items, are_jobs: bool) -> None:
        super().__init__()
        self._items = items
        self._are_jobs = are_jobs
        self._next = 0
        self._upcoming: Any = items[0] if len(items) else None
        self._step = _STARTING
        self._woken = 0.0
        self._waited = False

    def run(self, simulator: Simulation) -> None:
        queue, step = simulator.queue, self._step
        if step == _WOKEN:
            self._woken = queue.now
            if self._is_first() and simulator.reports.awaits_first_submission:
                step = self._step = _READ
                if queue.read(self, range(len(simulator.machine.hosts))):
                    return
        if step == _READ:
            simulator.reports.first_submission()
        if step in (_WOKEN, _READ):
            group = self._group(simulator.setup.at_once)
            if group:
                self._step = _GROUP_SENT
                queue.post(
                    self, simulator.server.mailbox, JobsSubmitted(group) if self._are_jobs else EventsOccurred(group)
                )
                return
            step = _GROUP_SENT
        if step == _GROUP_SENT:
            self._step = _WOKEN
            if self._upcoming is not None and simulator.setup.at_once:
                self._woken = queue.now
                if self._upcoming[0] <= queue.now:
                    self.run(simulator)
                    return
            if self._upcoming is not None:
                self._waited = True
                queue.sleep(self, self._upcoming[0] - self._woken)
            else:
                last = AllJobsSubmitted() if self._are_jobs else AllEventsInjected()
                queue.post_and_end(self, simulator.server.mailbox, last)
        elif step == _STARTING:
            self._step = _WOKEN
            queue.post(self, simulator.server.mailbox, SubmitterStarted())

    def _is_first(self) -> bool:
        """Whether the first jobs of all workloads are due."""
        upcoming = self._upcoming
        if not self._are_jobs or self._next or upcoming is None:
            return False
        return self._waited or bool(upcoming[0] <= self._woken)

    def _group(self, only_one: bool) -> list[Any]:
        """The items that are due, or the first of them. The item that it slept for is due in any case."""
        group: list[Any] = []
        items, end, woken, upcoming = self._items, len(self._items), self._woken, self._upcoming
        while upcoming is not None and (upcoming[0] <= woken or self._waited):
            step()
            group.append(upcoming)
            self._waited = False
            self._next += 1
            upcoming = items[self._next] if self._next < end else None
            if only_one:
                break
        self._upcoming = upcoming
        return group


class Injector(Listener):
    """The actor that sends a message to the decision component, and each decision to the server, at its time.

    Args:
        message: the message.
    """

    __slots__ = ("_events", "_has_slept", "_next", "_now", "message_to_send")

    def __init__(self, message: Message) -> None:
        super().__init__()
        self.message_to_send: Message | None = message
        self._events: tuple[Any, ...] = ()
        self._now = 0.0
        self._next = -1
        self._has_slept = False

    def run(self, simulator: Simulation) -> None:
        if self._next < 0:
            message, self.message_to_send = self.message_to_send, None
            assert message is not None
            simulator.send(message, self)
            return
        queue, place = simulator.queue, self._next
        if place < len(self._events):
            event = self._events[place]
            if self._sleeps(event.timestamp, queue):
                return
            if type(event) is ForceSimulationStopEvent:
                queue.post_and_end(self, simulator.server.mailbox, event)
                return
            self._next = place + 1
            queue.post(self, simulator.server.mailbox, event)
        elif self._sleeps(self._now, queue):
            return
        elif place == 0 and simulator.setup.says_nothing:
            self._next = 1
            if simulator.setup.says_nothing == "waiting":
                queue.post(self, simulator.server.mailbox, _NOTHING)
            else:
                queue.post_and_continue(self, simulator.server.mailbox, _NOTHING)
        else:
            queue.post_and_end(self, simulator.server.mailbox, _READY)

    def _sleeps(self, time: float, queue: EventQueue) -> bool:
        """Sleep until a time, but only once, because it may wake a little too early; whether it sleeps."""
        self._has_slept = time > queue.now and not self._has_slept
        if self._has_slept:
            queue.sleep(self, time - queue.now)
        return self._has_slept

    def take_reply(self, reply: Message) -> None:
        """Take the reply of the decision component."""
        self._events = reply.events
        self._now = reply.now
        self._next = 0
