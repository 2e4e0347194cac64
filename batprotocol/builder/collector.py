"""The events of one message, in the order of time: MessageBuilder without the methods that make events.

It keeps the time, and checks each event before it adds it. It must not depend on any single event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, get_args

from msgspec.structs import replace

from batprotocol import model
from batprotocol.builder.fields import completed, finite
from batprotocol.errors import BuilderError, EncodeError, shown
from batprotocol.wire.check import check
from batprotocol.wire.making import bind_builders

__all__ = ["Collector"]

_EVENT_TYPES: Final = frozenset(get_args(model.Event))


class Collector:
    """The time, and the events added so far. `MessageBuilder` has the documentation for users."""

    __slots__ = ("_events", "_finished", "_judge", "_now")

    def __init__(self, now: float = 0.0) -> None:
        self._judge: Callable[[model.Event], object] | None = None  # raises for an event that is not to be added
        self.clear(now)

    def __len__(self) -> int:
        """The number of events added since the builder was made or cleared."""
        return len(self._events)

    def __repr__(self) -> str:
        return f"<MessageBuilder: {len(self)} events, {'finished' if self._finished else 'open'} at {self._now}>"

    @property
    def current_time(self) -> float:
        """The time of the next event, in simulated seconds."""
        return self._now

    @property
    def events(self) -> tuple[model.Event, ...]:
        """The events added since the builder was made or cleared."""
        return tuple(self._events)

    @property
    def is_finished(self) -> bool:
        """Whether `finish_message` was called. Call `clear` before you add more events."""
        return self._finished

    def set_current_time(self, now: float) -> None:
        """Set the current time. The events that are added from now on happen at this time.

        Args:
            now: the time in simulated seconds; finite, and not before the current time.

        Raises:
            BuilderError: the time is invalid, or the message is finished.
        """
        self._must_be_open("set_current_time")
        self._now = self._not_before_now(now, "now")

    def clear(self, now: float = 0.0) -> None:
        """Drop all events and start the next message.

        Args:
            now: the new current time, in simulated seconds; finite, 0 by default. It may be earlier than before.
        """
        self._now = finite(now, "now")
        self._events: list[model.Event] = []
        self._finished = False

    def finish_message(self, now: float | None = None) -> model.Message:
        """Finish the message and return it, with all events added. Call `clear` to start the next one.

        Args:
            now: the time at which the message is sent, in simulated seconds; finite, and not before the current time.
                It is the current time by default. In a message to Batsim, a later time is think time: the simulation
                advances to it.

        Raises:
            BuilderError: the time is invalid, or the message is already finished.

        >>> MessageBuilder(now=2.5).finish_message()
        Message(now=2.5, events=())
        """
        self._must_be_open("finish_message")
        if now is not None:
            self._now = self._not_before_now(now, "now")
        self._finished = True
        return model.Message(self._now, tuple(self._events))

    def add(self, event: model.Event) -> None:
        """Add an existing event, with the checks and completions of its `add_` method.

        Args:
            event: any event. A timestamp of 0, the default of events, becomes the current time. Any other timestamp
                must not be before the current time, and becomes the current time of the builder.

        Raises:
            BuilderError: a field of the event is invalid, or the message is finished.

        >>> builder = MessageBuilder(now=5)
        >>> builder.add(model.RejectJobEvent(job_id="w0!1"))
        >>> builder.add(model.RejectJobEvent(job_id="w0!2", timestamp=7))
        >>> [event.timestamp for event in builder.events], builder.current_time
        ([5.0, 7.0], 7.0)
        """
        if type(event) not in _EVENT_TYPES:
            raise BuilderError(f"expected an event, got {shown(event)}", "event")
        timestamp = finite(event.timestamp, "timestamp")
        self._append(replace(event, timestamp=self._not_before_now(timestamp, "timestamp") if timestamp else self._now))

    # The common part of the methods that make events

    def _append(self, event: model.Event) -> None:
        """Check an event whose timestamp is valid, and add it."""
        self._must_be_open(type(event).__name__)
        try:
            check(event)
        except EncodeError as error:
            raise BuilderError(error.reason, error.path) from error
        written = completed(event)
        if self._judge is not None:
            self._judge(written)
        self._events.append(written)
        self._now = written.timestamp

    def _must_be_open(self, refused: str) -> None:
        if self._finished:
            raise BuilderError(
                f"the message was finished at {self._now}, so {refused} is refused: call clear() first",
                "finish_message",
            )

    def _not_before_now(self, value: float, path: str) -> float:
        time = finite(value, path)
        if time < self._now:
            raise BuilderError(f"expected a time not before the current time {self._now}, got {time}", path)
        return time


bind_builders(Collector)
