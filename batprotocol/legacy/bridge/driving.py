"""A whole simulation through a bridge: turns until the end. Neither side is left waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from batprotocol.builder import MessageBuilder
from batprotocol.errors import DecodeError, ProtocolError
from batprotocol.legacy.bridge.ends import Batsim, Component
from batprotocol.model import (
    ExecuteJobEvent,
    ForceSimulationStopEvent,
    JobCompletedEvent,
    KillJobsEvent,
    Message,
    SimulationEndsEvent,
    SimulationErrorEvent,
)

__all__ = ["drive"]

_ENDS: Final = (SimulationEndsEvent, SimulationErrorEvent)
_FAREWELL: Final = 0.5
"""Seconds that Batsim has to receive the request to stop."""


def drive(
    batsim: Batsim,
    component: Component,
    on_turn: Callable[[Message, Message], None] | None = None,
) -> None:
    """A whole simulation, from Batsim's first message to the reply to its last.

    Args:
        batsim: Batsim's end.
        component: the decision component that answers it.
        on_turn: called with each message and the reply to it.

    Raises:
        DecodeError: one of them sends something that is not a message.
        PeerGone, PeerSilent: one of them is gone, or silent.

    If the simulation fails, Batsim is not left waiting: it gets a reply that kills the running jobs and stops it.
    """
    course = _Course()
    try:
        text = batsim.begin()
    except DecodeError:
        _farewell(batsim, course)
        raise
    # If anything else fails before this line, Batsim does not wait yet.
    try:
        batsim.greet(component.hello(text))
        course.greeted = True
        while not course.is_over:
            message = batsim.receive()
            course.hear(message)
            reply = component.answer(message)
            if on_turn is not None:
                on_turn(message, reply)
            batsim.send(reply)
            course.say(reply)
    except BaseException:
        _farewell(batsim, course)
        raise


class _Course:
    """The time of a simulation, its state, and the running jobs."""

    def __init__(self) -> None:
        self.now = 0.0
        self.greeted = self.owes_reply = self.is_over = False
        self.running: set[str] = set()

    def hear(self, message: Message) -> None:
        """Take a message of Batsim."""
        self.now, self.owes_reply = message.now, True
        self.running.difference_update(each.job_id for each in message.events if isinstance(each, JobCompletedEvent))
        self.is_over = any(isinstance(event, _ENDS) for event in message.events)

    def say(self, reply: Message) -> None:
        """Take the reply that Batsim got."""
        self.owes_reply = False
        self.running.update(event.job_id for event in reply.events if isinstance(event, ExecuteJobEvent))

    def stop(self) -> Message:
        """A reply that kills the running jobs, and stops Batsim."""
        kills = (KillJobsEvent(timestamp=self.now, job_ids=tuple(sorted(self.running))),) if self.running else ()
        return Message(self.now, (*kills, ForceSimulationStopEvent(timestamp=self.now)))


def _farewell(batsim: Batsim, course: _Course) -> None:
    """Stop Batsim, and answer it until it stops, for a short time."""
    until = time.monotonic() + _FAREWELL
    batsim.limit(_FAREWELL)
    stopped = False
    with suppress(ProtocolError, OSError):
        if not course.greeted:
            builder = MessageBuilder()
            builder.add_edc_hello("batprotocol bridge", "0")
            batsim.greet(builder.finish_message())
        while time.monotonic() < until:
            if not course.owes_reply:
                if course.is_over:
                    return
                course.hear(batsim.receive())
            reply = Message(course.now) if stopped or course.is_over else course.stop()
            stopped = True
            batsim.send(reply)
            course.say(reply)
