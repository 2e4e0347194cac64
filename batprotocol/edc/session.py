"""One simulation from the side of the decision component, without any I/O: frames from Batsim in, frames for Batsim
out.

It knows the handshake, the format, the turns, and a last reply for the case that everything goes wrong.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from math import inf
from typing import Any, Final, cast

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.builder import MessageBuilder
from batprotocol.conversation import DEFAULT_RULE_SET, Conversation, Violation
from batprotocol.edc.error_notes import note_event
from batprotocol.edc.reply import Reply, hello_message
from batprotocol.errors import DecodeError, ProtocolError, RuleViolation
from batprotocol.model import (
    Direction,
    Event,
    EventFromBatsim,
    ExecuteJobEvent,
    KillJobsEvent,
    Message,
    SimulationBeginsEvent,
    SimulationEndsEvent,
    SimulationErrorEvent,
)
from batprotocol.wire import FORMATS, detect, frames, json
from batprotocol.wire.making import new_builder, new_message

__all__ = [
    "LAST_EVENTS",
    "Attendant",
    "EventChecker",
    "Session",
    "Turn",
    "logger",
]


# Handles violations in a decision component: fatal ones of its own side are raised, all others logged.


logger: Final = logging.getLogger("batprotocol.edc")


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class EventChecker:
    """Asks a conversation about events, raises fatal violations of our own side, and logs all others.

    The first violation of a rule is logged as a warning, the others at the level for debugging: a rule that is broken
    once is usually broken a thousand times.

    Args:
        conversation: the conversation.
        intended: the ids of rules whose violations the scheduler intends. They are not logged, if they are not fatal.
    """

    __slots__ = ("_intended", "_logged", "conversation", "doubtful")

    def __init__(self, conversation: Conversation, intended: frozenset[str] = frozenset()) -> None:
        self.conversation = conversation
        self._intended = intended
        self.doubtful = False
        """Whether the other side has sent something impossible, so that the state is not reliable any more."""
        self._logged: set[str] = set()

    def offer(self, event: Event) -> None:
        """One more event of the reply that is being made: it takes effect, or `RuleViolation` is raised."""
        violations = self.conversation.offer(event)
        if violations:
            self.judge(violations)

    def judge(self, violations: Sequence[Violation]) -> None:
        """Violations of our own side: raise `RuleViolation` if Batsim would not survive one of them, else log them."""
        fatal = [violation for violation in violations if violation.is_fatal]
        if fatal:
            raise RuleViolation(fatal)
        self._log(violations)

    def foresee(self, violations: Sequence[Violation]) -> None:
        """Like `judge`, for violations by the whole state: a deadlock counts only while the state is reliable."""
        if self.doubtful:
            self._log([violation for violation in violations if violation.severity == "deadlock"])
            violations = [violation for violation in violations if violation.severity != "deadlock"]
        self.judge(violations)

    def note(self, violations: Sequence[Violation]) -> None:
        """Violations of the other side: log them, however severe. The simulation goes on."""
        self.doubtful = self.doubtful or any(violation.is_fatal for violation in violations)
        self._log(violations)

    def _log(self, violations: Sequence[Violation]) -> None:
        for violation in violations:
            if violation.rule in self._intended:
                continue
            logger.log(logging.DEBUG if violation.rule in self._logged else logging.WARNING, "%s", violation)
            self._logged.add(violation.rule)


# Looking up a name of another module costs more than most operations with it here.
_new_message: Final = new_message
_new_builder: Final = new_builder
_REPLY: Final = Reply

LAST_EVENTS: Final = frozenset([SimulationEndsEvent, SimulationErrorEvent])
"""With any of these, the simulation is over: the reply to it is the last one."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Turn:
    """A message of Batsim, and the reply to it, to be filled in.

    Attributes:
        message: the message of Batsim.
    """

    __slots__ = ("_is_answered", "_reply", "_verdicts", "message")

    def __init__(self, message: Message, verdicts: EventChecker) -> None:
        self.message = message
        self._verdicts = verdicts
        self._reply: Reply | None = None
        self._is_answered = False

    @property
    def events(self) -> tuple[EventFromBatsim, ...]:
        """The events of the message. With their type, a type checker names an event that a `match` forgets."""
        return cast("tuple[EventFromBatsim, ...]", self.message.events)

    @property
    def reply(self) -> Reply:
        """The reply, a `MessageBuilder` at the time of the message, checked by the conversation."""
        reply = self._reply
        if reply is None:  # made at its first use: half of the turns of a simulation have an empty reply
            self._reply = reply = _new_builder(_REPLY, self._verdicts.offer, self.message.now, self._is_answered)
        return reply

    @property
    def conversation(self) -> Conversation:
        """The state of the simulation: jobs, hosts, calls, probes."""
        return self._verdicts.conversation

    def answer(self) -> Message:
        """Finish the reply and judge it as a whole. After this call, nothing can be added.

        Raises:
            RuleViolation: the simulation could not go on after this reply.
        """
        self._is_answered = True
        reply = self._reply
        message = _new_message(self.message.now, ()) if reply is None else reply.finished()
        violations = self._verdicts.conversation.close_reply(message)
        if violations:
            self._verdicts.foresee(violations)
        return message

    def __repr__(self) -> str:
        return f"<Turn: {len(self.message.events)} events at {self.message.now}, {self.reply!r}>"


_VOCABULARY: Final[list[Callable[[str], bool]]] = []
"""The vocabulary's own function, once a job with extra data was executed: an import costs as much as half a turn."""


def _by_vocabulary(extra_data: str) -> bool:
    """Whether a job asks for a part of its hosts; no job does in an installation without workloads."""
    if not extra_data:
        return False
    if not _VOCABULARY:
        try:
            vocabulary: Any = import_module("batprotocol.workloads.requests")
        except ModuleNotFoundError:
            return False
        _VOCABULARY.append(vocabulary.asks_for_a_part)
    return bool(_VOCABULARY[0](extra_data))


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Session:
    """One simulation, from the initialization data to the reply to `SimulationEndsEvent`.

    Args:
        hello: makes the first message from the initialization data.
        format: "binary" or "json": the format of the whole conversation.
        rules: the rule set that checks both sides; see `batprotocol.conversation.RULE_SETS`.
        intended: the ids of rules whose violations the scheduler intends, see `Scheduler.shares_hosts`.
        asks_for_a_part: whether a job with these extra data asks for a part of its hosts; by default, by the vocabulary
            of requests, where this installation has it.

    `receive` takes the next frame of Batsim and `answer` makes the frame that answers it, strictly in turns. Violations
    of Batsim's side are logged, and still take effect: if Batsim reports that a job has ended, the job has ended.
    """

    def __init__(
        self,
        hello: Callable[[str], Message],
        format: str = "binary",
        rules: str = DEFAULT_RULE_SET,
        intended: frozenset[str] = frozenset(),
        asks_for_a_part: Callable[[str], bool] | None = None,
    ) -> None:
        if format not in FORMATS:
            raise ValueError(f"expected a format of {', '.join(FORMATS)}, got {format!r}")
        self.conversation = Conversation(rules=rules, asks_for_a_part=asks_for_a_part or _by_vocabulary)
        self.init_text: str | None = None
        self.owes_reply = False
        """Whether a message was received and not yet answered."""
        self.is_over = False
        """Whether the last reply was made."""
        self._make_hello = hello
        self.format = format
        self._encode: Callable[[Message], bytes] = FORMATS[format].encode
        # In JSON, a newer simulator may say more than this library knows.
        self._decode: Callable[[bytes], Message] = (
            partial(json.decode, strict=False) if format == "json" else FORMATS[format].decode
        )
        self._verdicts = EventChecker(self.conversation, intended)
        self._hello: Message | None = None
        self._hello_said = False
        self._turn: Turn | None = None
        self._now = 0.0
        self._ending = False
        self._stopping = False
        self._has_begun = False

    # Values

    def hear_init(self, text: str) -> None:
        """Take the initialization data, and make the hello."""
        self.init_text = text
        self.conversation.begin(text)
        self.owes_reply = True
        hello = self._make_hello(text)
        self._verdicts.judge(self.conversation.hello(hello))
        self._hello = hello

    def hear(self, message: Message) -> Turn:
        """Take a message of Batsim, and open the turn that answers it."""
        self.owes_reply = True
        self._note(message)
        violations = self.conversation.receive(message)
        if violations:
            self._verdicts.note(violations)
        self._turn = turn = Turn(message, self._verdicts)
        return turn

    def say(self) -> Message:
        """The reply of the open turn. `RuleViolation` if the simulation could not go on after it."""
        assert self._turn is not None, "there is nothing to answer"
        message = self._turn.answer()
        self._answered()
        return message

    # Frames

    def receive(self, frame: bytes) -> Turn | None:
        """Take the next frame of Batsim.

        Args:
            frame: all its bytes.

        Returns:
            The turn whose reply is to be filled in, or None for the initialization data, which need none.

        Raises:
            DecodeError: these bytes are not what Batsim should send now.
        """
        self.owes_reply = True
        if self._hello_said:
            return self.hear(self._decoded(frame))
        try:
            text = frames.decode_init(frame)
        except DecodeError as error:
            raise DecodeError(f"message 0 of the simulator: {error.reason}", error.path, error.offset) from None
        self.hear_init(text)
        return None

    def answer(self) -> bytes:
        """The frame that answers the last one: the hello, or the reply of the turn.

        Raises:
            RuleViolation: the simulation could not go on after it.
        """
        if self._hello_said:
            return self._encode(self.say())
        assert self._hello is not None, "there is nothing to answer"
        return self._hello_frame(self._hello)

    def exchange(self, frame: bytes, attend: Callable[[Turn], object]) -> bytes:
        """Take the next frame of Batsim, and give the one that answers it: a whole turn.

        Args:
            frame: all its bytes; not those of the initialization data.
            attend: fills in the reply.

        Raises:
            DecodeError: these bytes are not what Batsim should send now.
            RuleViolation: the simulation could not go on after the reply.
        """
        self.owes_reply = True
        attend(self.hear(self._decoded(frame)))
        return self._encode(self.say())

    def farewell(self) -> bytes:
        """A frame to send instead of an answer, again and again, until Batsim ends.

        It is the hello if that is still due, then a reply that kills the running jobs and forces the simulation to
        stop, then empty replies.
        """
        if not self._hello_said:
            return self._hello_frame(self._hello or hello_message("batprotocol", "0"))
        builder = MessageBuilder(self._now)
        # A frame that was lost between the socket and this session (Ctrl-C) may have been the last one. Batsim hangs on
        # a request to stop after that. An empty reply is always good, and the next frame shows the state.
        if self.owes_reply and not self._ending and not self._stopping:
            running = self._killable()
            if running:  # Batsim 5.0.0-rc2 does not survive a stop while a parallel task runs
                builder.add_kill_jobs(running)
            builder.add_force_simulation_stop()
            self._stopping = True
        self._answered()
        return self._encode(builder.finish_message())

    def overhear(self, frame: bytes) -> None:
        """Take a frame of Batsim that only `farewell` answers: it shows which jobs run, and whether this is the end."""
        self.owes_reply = True
        if self._hello_said:
            try:
                message = self._decoded(frame)
                self._note(message)
            except ProtocolError:
                return
            self.conversation.receive(message)

    @property
    def stop_sent(self) -> bool:
        """Whether a farewell forced the simulation to stop."""
        return self._stopping

    @property
    def told_to_stop(self) -> bool:
        """The old name of `stop_sent`."""
        warnings.warn(
            "Session.told_to_stop is deprecated: use Session.stop_sent instead", DeprecationWarning, stacklevel=2
        )
        return self._stopping

    @property
    def now(self) -> float:
        """The simulated time of Batsim's last message, in seconds; 0 before the first."""
        return self._now

    # Inside

    def _killable(self) -> list[str]:
        """The jobs that Batsim runs and can kill, as far as this is known.

        The reply of an open turn is never sent: jobs that it executes do not run, and jobs that it kills do.
        """
        unsent = self._turn.reply.events if self._turn is not None else ()
        executed = {event.job_id for event in unsent if isinstance(event, ExecuteJobEvent)}
        killed = [job_id for event in unsent if isinstance(event, KillJobsEvent) for job_id in event.job_ids]
        return [job_id for job_id in dict.fromkeys((*self.conversation.killable, *killed)) if job_id not in executed]

    def _note(self, message: Message) -> None:
        now = message.now
        if not -inf < now < inf:
            raise DecodeError(f"{self._place}: expected a finite number, found {now}", "now")
        self._now = now
        for event in message.events:
            if type(event) in LAST_EVENTS:
                self._ending = True

    @property
    def _place(self) -> str:
        return f"message {self.conversation.number} of the simulator"

    def _decoded(self, frame: bytes) -> Message:
        try:
            message = self._decode(frame)
        except DecodeError as error:
            reason = error.reason
            if detect(frame) == "init":
                reason = "these are initialization data: another simulation began on the same connection"
            elif not self._has_begun:
                reason = "; ".join(filter(None, (reason, _age_of(frame))))
            raise DecodeError(f"{self._place}: {reason}", error.path, error.offset, error.partial) from None
        if not self._has_begun:
            self._has_begun = True
            if not any(isinstance(event, SimulationBeginsEvent) for event in message.events) and (
                age := _age_of(frame)
            ):
                logger.warning("%s: %s", self._place, age)
        return message

    def _hello_frame(self, hello: Message) -> bytes:
        frame = frames.encode_hello(hello, self.format)
        self._hello_said = True
        self._answered()
        return frame

    def _answered(self) -> None:
        self.owes_reply = False
        self._turn = None
        self.is_over = self._ending


def _age_of(frame: bytes) -> str:
    """The other schemas that fit Batsim's first message, if the current schema does not."""
    from batprotocol.schemas import other_ages

    return other_ages(frame, Direction.BATSIM_TO_EDC)


# Calls the methods of a scheduler in a turn: one for each event, then `decide`.


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Attendant:
    """Lets a scheduler fill in the replies of its turns.

    Args:
        scheduler: the scheduler; its `_turn` becomes the open turn.
        methods: the methods by type of event. Each of `LAST_EVENTS` has one.
        decides: whether to call `decide` after the events. It is never called after a last event.
    """

    def __init__(self, scheduler: Any, methods: Mapping[type, Callable[[Any], object]], decides: bool) -> None:
        self._scheduler = scheduler
        self._methods = dict(methods)
        self._decides = decides

    def attend(self, turn: Turn) -> None:
        """Let the scheduler fill in the reply of this turn."""
        scheduler, methods = self._scheduler, self._methods
        scheduler._turn = turn
        goes_on = self._decides
        current: Event | None = None
        try:
            for event in turn.message.events:
                step()
                kind = type(event)
                method = methods.get(kind)
                if method is not None:
                    current = event
                    method(event)
                    if kind in LAST_EVENTS:  # which is asked only of those with a method
                        goes_on = False
            if goes_on:
                current = None
                scheduler.decide()
        except Exception as error:
            note_event(error, turn.message, turn.conversation.number - 1, current)
            raise
