"""The bridge: a Batsim of any version at one end, a scheduler of any version at the other, in turns until the end.

Each end speaks in values of today's protocol: `NewBatsim` and the older ones, and decision components. Whatever goes
wrong on one side, the other one is not left waiting.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Protocol, TypeVar

from batprotocol.builder import MessageBuilder
from batprotocol.errors import DecodeError, PeerGone, PeerSilent, ProtocolError
from batprotocol.legacy.json import codec
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.values import Resource
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.text import as_json
from batprotocol.legacy.text import codec as text_codec
from batprotocol.legacy.translate import Options, Report, ToOldBatsim, ToOldScheduler
from batprotocol.legacy.unix import Line
from batprotocol.model import (
    Direction,
    ExecuteJobEvent,
    ForceSimulationStopEvent,
    JobCompletedEvent,
    KillJobsEvent,
    Message,
    SimulationEndsEvent,
    SimulationErrorEvent,
)
from batprotocol.recording import Recorder
from batprotocol.sockets import TICK, Channel, Requester
from batprotocol.wire import FORMATS, frames

__all__ = ["Batsim", "Component", "NewBatsim", "OldBatsim", "OldScheduler", "TextBatsim", "TextScheduler", "drive"]

_ENDS: Final = (SimulationEndsEvent, SimulationErrorEvent)
_BUSY: Final = "this endpoint serves another simulation"
_FAREWELL: Final = 0.5
"""Seconds that Batsim has to hear that it should stop."""

_End = TypeVar("_End", bound="_Closing")


class Component(Protocol):
    """What answers Batsim, as values of today's protocol."""

    def hello(self, text: str, /) -> Message:
        """The first message, for these initialization data."""

    def answer(self, message: Message, /) -> Message:
        """The reply to a message."""


class _Closing(ABC):
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


class Batsim(_Closing):
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


class _Bound(Batsim):
    """A Batsim that connects to an endpoint of ours, over ZeroMQ."""

    def __init__(
        self, endpoint: str, *, timeout: float | None = None, on_wait: Callable[[], None] | None = None
    ) -> None:
        self._channel = Channel(endpoint, TICK if timeout is None else timeout)
        self._channel.refuse = self._refuse
        self.endpoint = self._channel.endpoint
        self._timeout = timeout
        self._on_wait = on_wait
        self._met = False

    def _frame(self) -> bytes:
        began = time.monotonic()
        while True:
            frame = self._channel.receive()
            if frame is not None:
                self._met = True
                if self.recorder is not None:
                    self.recorder.write(Direction.BATSIM_TO_EDC, frame)
                return frame
            if self._on_wait is not None:
                self._on_wait()
            if self._met and self._channel.is_peer_gone():
                raise PeerGone("the simulator closed the connection before the end")
            if self._timeout is not None and time.monotonic() - began > self._timeout:
                raise PeerSilent(f"no message of the simulator at {self.endpoint} in {self._timeout:g} seconds")

    def _reply(self, frame: bytes) -> None:
        self._channel.send(frame)
        if self.recorder is not None:
            self.recorder.write(Direction.EDC_TO_BATSIM, frame)

    def limit(self, seconds: float) -> None:
        self._timeout, self._on_wait = seconds, None

    def _refuse(self, heard: bytes) -> bytes:
        """What others are told that are not served: it is no JSON, and a Batsim of any older version aborts on it."""
        return _BUSY.encode()

    def close(self) -> None:
        """Close the endpoint."""
        if not self._channel.closed:
            self._channel.turn_away(self._refuse)
            self._channel.close()


class NewBatsim(_Bound):
    """Today's Batsim, which connects to an endpoint of ours."""

    def __init__(
        self,
        endpoint: str,
        format: str = "binary",
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(endpoint, timeout=timeout, on_wait=on_wait)
        self.report = Report()
        self._name = format
        self._format = FORMATS[format]

    def _refuse(self, heard: bytes) -> bytes:
        return frames.encode_refusal(heard, _BUSY)

    def begin(self) -> str:
        return frames.decode_init(self._frame())

    def greet(self, hello: Message) -> None:
        self._reply(frames.encode_hello(hello, self._name))

    def receive(self) -> Message:
        message: Message = self._format.decode(self._frame())
        return message

    def send(self, message: Message) -> None:
        self._reply(self._format.encode(message))


class OldBatsim(_Bound):
    """A Batsim of version 1 to 4, which connects to an endpoint of ours."""

    def __init__(
        self,
        endpoint: str,
        version: str = "4.2",
        *,
        store: JobStore | None = None,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(endpoint, timeout=timeout, on_wait=on_wait)
        self._to = ToOldBatsim(version, store)
        self.report = self._to.report
        self._first: e.Message | None = None

    def begin(self) -> str:
        self._first = codec.decode(self._frame(), self._to.version)
        return self._to.init(self._first)

    def greet(self, hello: Message) -> None:
        self._to.begin(hello)

    def receive(self) -> Message:
        message, self._first = self._first, None
        return self._to.hear(codec.decode(self._frame(), self._to.version) if message is None else message)

    def send(self, message: Message) -> None:
        self._reply(codec.encode(self._to.say(message), self._to.version))


class TextBatsim(Batsim):
    """A Batsim that speaks text, and listens to a Unix socket. What jobs ask for is in Redis, or another store."""

    def __init__(
        self,
        path: str,
        store: JobStore,
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        self._line = Line(path, listens=False, timeout=timeout, who="the simulator", on_wait=on_wait)
        self._store = store
        self._to = ToOldBatsim("1.4", store)
        self.report = self._to.report
        self._version = 3
        self._first: e.Message | None = None

    def _heard(self) -> e.Message:
        said = text_codec.decode(self._line.receive())
        self._version = said.version
        return as_json.to_json(said)

    def begin(self) -> str:
        first = self._heard()
        hosts = tuple(Resource(number, f"host{number}", "idle", {}) for number in range(self._store.nb_res or 0))
        begins = e.SimulationBegins(first.now, nb_resources=len(hosts), config={}, resources_data=hosts)
        others = tuple(event for event in first.events if not isinstance(event, e.SimulationBegins))
        self._first = e.Message(first.now, (begins, *others))
        return self._to.init(self._first)

    def greet(self, hello: Message) -> None:
        self._to.begin(hello)

    def receive(self) -> Message:
        message, self._first = self._first, None
        return self._to.hear(self._heard() if message is None else message)

    def send(self, message: Message) -> None:
        said, left = as_json.from_json(self._to.say(message), self._version)
        for event in left:
            self.report.add(type(event).__name__, "", "text has no stamp for it: it is left out")
        self._line.send(text_codec.encode(said))

    def limit(self, seconds: float) -> None:
        self._line.limit(seconds)

    def close(self) -> None:
        self._line.close()


# The scheduler's end


class _OldComponent(_Closing):
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
    def _ask(self, told: e.Message) -> e.Message:
        """What the scheduler says to this."""


class OldScheduler(_OldComponent):
    """A scheduler of Batsim 1 to 4 that listens at an endpoint: a decision component for `drive` and `simulate`.

    Args:
        endpoint: where it listens.
        version: the version of Batsim that it was made for.
        options: what that Batsim's command line would decide on.
        store: where jobs are kept if they are not told in messages.
        timeout: how many seconds to wait for each answer; None: for ever.
        on_wait: called every 0.2 seconds while waiting; what it raises ends the wait.
    """

    def __init__(
        self,
        endpoint: str,
        version: str = "4.2",
        options: Options | None = None,
        *,
        store: JobStore | None = None,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(ToOldScheduler(version, options or Options(), store))
        self._requester = Requester(endpoint, timeout=timeout, who="the scheduler", on_wait=on_wait)

    def _ask(self, told: e.Message) -> e.Message:
        version = self._to.version
        return codec.decode(self._requester.exchange(codec.encode(told, version)), version)

    def close(self) -> None:
        """Close the connection."""
        self._requester.close()


class TextScheduler(_OldComponent):
    """A scheduler that speaks text, and connects to a Unix socket of ours. What jobs ask for, it finds in the store."""

    def __init__(
        self,
        path: str,
        store: JobStore,
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(ToOldScheduler("1.4", Options(forward_profiles=True, redis=("", 0, store.prefix)), store))
        self._line = Line(path, listens=True, timeout=timeout, who="the scheduler", on_wait=on_wait)

    def _ask(self, told: e.Message) -> e.Message:
        said, left = as_json.from_json(told)
        for event in left:
            self.report.add(type(event).__name__, "", "text has no stamp for it: the scheduler is not told")
        return as_json.to_json(text_codec.decode(self._line.exchange(text_codec.encode(said))))

    def close(self) -> None:
        """Close the socket."""
        self._line.close()


# Both


def drive(
    batsim: Batsim,
    component: Component,
    on_turn: Callable[[Message, Message], None] | None = None,
) -> None:
    """A whole simulation, from Batsim's first message to the reply to its last.

    Args:
        batsim: Batsim's end.
        component: what answers it.
        on_turn: told of each message and the reply to it.

    Raises:
        DecodeError: one of them says what is no message.
        PeerGone, PeerSilent: one of them is gone, or silent.

    However it ends, Batsim is not left waiting: it is told to kill what runs, and to stop.
    """
    course = _Course()
    try:
        text = batsim.begin()
    except DecodeError:
        _farewell(batsim, course)
        raise
    # Whatever else goes wrong until here, nobody waits.
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
    """How far a simulation has come, and what runs."""

    def __init__(self) -> None:
        self.now = 0.0
        self.greeted = self.owes_reply = self.is_over = False
        self.running: set[str] = set()

    def hear(self, message: Message) -> None:
        """Batsim says this."""
        self.now, self.owes_reply = message.now, True
        self.running.difference_update(each.job_id for each in message.events if isinstance(each, JobCompletedEvent))
        self.is_over = any(isinstance(event, _ENDS) for event in message.events)

    def say(self, reply: Message) -> None:
        """Batsim was answered this."""
        self.owes_reply = False
        self.running.update(event.job_id for event in reply.events if isinstance(event, ExecuteJobEvent))

    def stop(self) -> Message:
        """A reply that kills what runs, and tells Batsim to stop."""
        kills = (KillJobsEvent(timestamp=self.now, job_ids=tuple(sorted(self.running))),) if self.running else ()
        return Message(self.now, (*kills, ForceSimulationStopEvent(timestamp=self.now)))


def _farewell(batsim: Batsim, course: _Course) -> None:
    """Tell Batsim to stop, and answer it until it does, for a short time."""
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
