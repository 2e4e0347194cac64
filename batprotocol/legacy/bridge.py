"""The bridge: a Batsim of any version at one end, a scheduler of any version at the other, in turns until the end.

Each end (`NewBatsim`, the older ones, decision components) takes and gives values of the current protocol. If one side
fails, the bridge does not leave the other side waiting.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from batprotocol._util.sockets import TICK, BoundChannel, Requester
from batprotocol.builder import MessageBuilder
from batprotocol.conversation import DEFAULT_RULE_SET, Conversation
from batprotocol.errors import DecodeError, PeerGone, PeerSilent, ProtocolError, RuleViolation
from batprotocol.legacy._ends import Batsim, Component, OldComponent
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json import wire as codec
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.text.runtime import TextBatsim, TextScheduler
from batprotocol.legacy.translate import Options, ToOldBatsim, ToOldScheduler, TranslationReport
from batprotocol.legacy.translate.ages import AgeTranslation
from batprotocol.model import (
    AllStaticJobsHaveBeenSubmittedEvent,
    Direction,
    ExecuteJobEvent,
    ForceSimulationStopEvent,
    JobCompletedEvent,
    KillJobsEvent,
    Message,
    SimulationEndsEvent,
    SimulationErrorEvent,
)
from batprotocol.schemas import Codec, Record
from batprotocol.wire import FORMATS, frames
from batprotocol.wire.reflection import Schema

__all__ = [
    "AgedBatsim",
    "AgedScheduler",
    "Batsim",
    "Component",
    "NewBatsim",
    "OldBatsim",
    "OldScheduler",
    "TextBatsim",
    "TextScheduler",
    "drive",
]


# A whole simulation


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


# A scheduler of this library at the end of a bridge


logger = logging.getLogger("batprotocol.legacy")


class ConversingScheduler(Protocol):
    """A decision component that shares a conversation with its caller, as `edc.Scheduler` does."""

    def hello(self, text: str, /) -> Message:
        """The first message, for these initialization data."""

    def player(self, conversation: Conversation, /) -> Callable[[Message], Message]:
        """The function that replies to a message of the conversation, and adds the reply to the conversation."""


class CheckedScheduler:
    """A scheduler with its conversation: a decision component for `bridge.drive`.

    Args:
        player: the scheduler.
        rules: the rule set of the current protocol, which checks both sides.
        init: initialization data for the scheduler, in place of Batsim's own.

    A violation of the scheduler raises `RuleViolation`. A violation of Batsim is accepted, and logged once.
    """

    def __init__(self, player: ConversingScheduler, rules: str = DEFAULT_RULE_SET, init: str | None = None) -> None:
        self.conversation = Conversation(rules)
        self._player = player
        self._init = init
        self._answer: Callable[[Message], Message] | None = None
        self._told: set[str] = set()

    def hello(self, text: str) -> Message:
        """The first message, for these initialization data."""
        self.conversation.begin(text)
        hello = self._player.hello(text if self._init is None else self._init)
        fatal = [violation for violation in self.conversation.hello(hello) if violation.is_fatal]
        if fatal:
            raise RuleViolation(fatal)
        self._answer = self._player.player(self.conversation)
        return hello

    def answer(self, message: Message) -> Message:
        """The reply to a message."""
        assert self._answer is not None, "the hello comes first"
        kinds = {type(event) for event in message.events}
        if {AllStaticJobsHaveBeenSubmittedEvent, SimulationEndsEvent} <= kinds:
            # The end of a Batsim that does not report the last job of its workload: nobody could finish registration.
            self._told.add("simulation.ends-early")
        for violation in self.conversation.receive(message):
            logger.log(logging.DEBUG if violation.rule in self._told else logging.WARNING, "%s", violation)
            self._told.add(violation.rule)
            self.conversation.doubtful = self.conversation.doubtful or violation.is_fatal
        return self._answer(message)


# The ends over ZeroMQ: the current Batsim, and JSON


_BUSY: Final = "this endpoint serves another simulation"


class _Bound(Batsim):
    """A Batsim that connects to an endpoint of the bridge, over ZeroMQ."""

    def __init__(
        self, endpoint: str, *, timeout: float | None = None, on_wait: Callable[[], None] | None = None
    ) -> None:
        self._channel = BoundChannel(endpoint, TICK if timeout is None else timeout)
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
        """The reply to other clients. It is not JSON, so that a Batsim of any older version aborts on it."""
        return _BUSY.encode()

    def close(self) -> None:
        """Close the endpoint."""
        if not self._channel.closed:
            self._channel.turn_away(self._refuse)
            self._channel.close()


class NewBatsim(_Bound):
    """The current Batsim, which connects to an endpoint of the bridge."""

    def __init__(
        self,
        endpoint: str,
        format: str = "binary",
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(endpoint, timeout=timeout, on_wait=on_wait)
        self.report = TranslationReport()
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
    """A Batsim of version 1 to 4, which connects to an endpoint of the bridge."""

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


class OldScheduler(OldComponent):
    """A scheduler of Batsim 1 to 4 that listens at an endpoint: a decision component for `drive` and `simulate`.

    Args:
        endpoint: where it listens.
        version: the version of Batsim that it was made for.
        options: the options that this Batsim would get on its command line.
        store: the store of the jobs, if messages do not describe them.
        timeout: how many seconds to wait for each answer; None: no limit.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait.
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
        self.is_notified_at_once = self._to.version < (3,)
        self._requester = Requester(endpoint, timeout=timeout, who="the scheduler", on_wait=on_wait)

    def _ask(self, told: e.Message) -> e.Message:
        version = self._to.version
        return codec.decode(self._requester.exchange(codec.encode(told, version)), version)

    def close(self) -> None:
        """Close the connection."""
        self._requester.close()


# The ends that speak the current protocol in another age


def _decode(codec: Codec, data: bytes, format: str) -> Record:
    return codec.from_json(data) if format == "json" else codec.decode(data)


def _encode(codec: Codec, record: Record, format: str) -> bytes:
    return codec.to_json(record).encode() + b"\0" if format == "json" else codec.encode(record)


class AgedBatsim(NewBatsim):
    """A Batsim of another age, which connects to an endpoint of the bridge.

    Args:
        endpoint: the endpoint that it connects to.
        schema: the schema of its age.
        format: the format of the conversation, "binary" or "json".
        timeout: how many seconds to wait for each message; None: no limit.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait.
    """

    def __init__(
        self,
        endpoint: str,
        schema: Schema,
        format: str = "binary",
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(endpoint, format, timeout=timeout, on_wait=on_wait)
        self._to = AgeTranslation(schema)
        self.report = self._to.report
        self._is_framed = True

    def begin(self) -> str:
        frame = self._frame()
        try:
            return frames.decode_init(frame)
        except DecodeError:
            self._is_framed = False
            self._name = "json" if frame[:1] == b"{" else "binary"
            self._to.to_today(_decode(self._to.codec, frame, self._name))
            return ""

    def greet(self, hello: Message) -> None:
        data = _encode(self._to.codec, self._to.from_today(hello), self._name)
        self._reply(frames.flagged(data, self._name) if self._is_framed else data)

    def receive(self) -> Message:
        self._to.next_turn()
        return self._to.to_today(_decode(self._to.codec, self._frame(), self._name))

    def send(self, message: Message) -> None:
        self._reply(_encode(self._to.codec, self._to.from_today(message), self._name))


class AgedScheduler(Requester):
    """A scheduler of another age that listens at an endpoint: a decision component for `drive` and `simulate`.

    Args:
        endpoint: the endpoint where it listens.
        schema: the schema of its age.
        timeout: how many seconds to wait for each answer; None: no limit.
        on_wait: called every 0.2 seconds while waiting; an exception that it raises ends the wait.
    """

    def __init__(
        self,
        endpoint: str,
        schema: Schema,
        *,
        timeout: float | None = None,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(endpoint, timeout=timeout, on_wait=on_wait)
        self._to = AgeTranslation(schema)
        self.report = self._to.report
        self._format = "binary"

    def hello(self, text: str) -> Message:
        """The hello, for these initialization data. They determine the format of the conversation."""
        frame = self.exchange(frames.encode_init(text))
        self._format = frames.format_of(frame)
        return self._to.to_today(_decode(self._to.codec, frame[4:], self._format))

    def answer(self, message: Message) -> Message:
        """The reply to a message."""
        self._to.next_turn()
        said = _encode(self._to.codec, self._to.from_today(message), self._format)
        return self._to.to_today(_decode(self._to.codec, self.exchange(said), self._format))
