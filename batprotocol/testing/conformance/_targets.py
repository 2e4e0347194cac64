"""The conversation of one simulation with a decision component, kept message by message.

A `Target` is a decision component that can start again for each simulation; a `Talk` is its conversation in one of
them. `_programs` has the ones that move bytes.
"""

from __future__ import annotations

import inspect
import os
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from batprotocol._util.deprecation import OldName
from batprotocol.conversation import AnyMessage, Conversation, Violation
from batprotocol.errors import DecodeError, EncodeError, PeerGone, PeerSilent, ProtocolError, RuleViolation, an
from batprotocol.model import EDCHelloEvent, Event, Message
from batprotocol.simulator import DecisionComponent, Player
from batprotocol.testing.rules import Misconduct
from batprotocol.wire import FORMATS, frames

BATSIM: Final = "b2e"
COMPONENT: Final = "e2b"
_FRAMES_SHOWN: Final = 6


class Timeouts(NamedTuple):
    """The seconds that answers may take: the hello, for which a program has to start, and the other answers."""

    hello: float
    answer: float


class Utterance(NamedTuple):
    """A message: its direction ("b2e" from Batsim, "e2b" from the decision component), and its bytes or value."""

    direction: str
    said: AnyMessage


class Talk(ABC):
    """A conversation with a decision component that has just been started. Use it in a `with`, which ends it.

    Attributes:
        log: the messages so far.
        dead: whether the conversation cannot go on.
        slowest: the seconds that the slowest answer to a message took, if there is a time-out.
    """

    def __init__(self) -> None:
        self.log: list[Utterance] = []
        self.dead = False
        self.slowest = 0.0

    @abstractmethod
    def hello(self, init: str) -> Message:
        """The hello, for these initialization data. Raises as `answer` does."""

    @abstractmethod
    def answer(self, message: Message) -> Message:
        """The reply to a message.

        Raises:
            DecodeError: the reply is no message.
            RuleViolation: the decision component noticed itself that it breaks a rule.
            Misconduct: there is no reply, or too many.
        """

    def has_more(self, seconds: float) -> bool:
        """Whether another message comes within this time, although nobody asked."""
        return False

    def details(self) -> str:
        """More information on the state of the decision component, for people; or ""."""
        return ""

    def place(self) -> tuple[str, int] | None:
        """The file and line of the component's code that ran last, or of its beginning; None if they are unknown."""
        return None

    def close(self) -> None:  # noqa: B027 - not all have something to end
        """End it."""

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def log_reply(self, said: AnyMessage) -> None:
        """Keep a message of the decision component."""
        self.log.append(Utterance(COMPONENT, said))

    def log_message(self, said: AnyMessage) -> None:
        """Keep a message of Batsim."""
        self.log.append(Utterance(BATSIM, said))

    heard = OldName("log_reply")
    told = OldName("log_message")


class Target(ABC):
    """A decision component that can be started anew for each simulation.

    Attributes:
        name: its name.
        is_lasting: whether one process serves all simulations: when it dies, there is no other.
    """

    name: str = ""
    is_lasting: bool = False

    @abstractmethod
    def start(self, timeouts: Timeouts) -> Talk:
        """Start a new decision component. OSError if that is impossible."""

    def close(self) -> None:  # noqa: B027 - not all leave something behind
        """Release all resources."""

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def encoded(log: list[Utterance], format: str | None = None) -> list[tuple[str, bytes]]:
    """The messages as bytes, up to the first one that cannot be encoded. Values become binary messages.

    Args:
        log: the messages.
        format: "binary" or "json": converts the messages that can be read; None keeps their format.
    """
    found: list[tuple[str, bytes]] = []
    said_in = "binary"
    with suppress(EncodeError):
        for number, (direction, said) in enumerate(log):
            if number == 1 and isinstance(said, bytes):
                with suppress(DecodeError):
                    said = frames.decode_hello(said)
                    said_in = said.format
            elif number > 1 and isinstance(said, bytes) and format not in (None, said_in):
                with suppress(DecodeError):
                    said = FORMATS[said_in].decode(said)
            found.append((direction, _bytes_of(said, log[number].said, format)))
    return found


def _bytes_of(said: AnyMessage, original: AnyMessage, format: str | None) -> bytes:
    if isinstance(said, str):
        return frames.encode_init(said)
    if isinstance(said, frames.Hello):
        if isinstance(original, bytes) and format in (None, said.format):
            return original
        return frames.encode_hello(said.message, format or said.format, allow_late_events=True)
    if isinstance(said, Message):
        if any(isinstance(event, EDCHelloEvent) for event in said.events):
            return frames.encode_hello(said, format or "binary", allow_late_events=True)
        data: bytes = FORMATS[format or "binary"].encode(said, allow_late_events=True)
        return data
    return bytes(said)


# In this process


class InProcess(Target):
    """Decision components that are Python objects: `batprotocol.edc.Scheduler`, or anything with `hello` and `answer`.

    Args:
        make: makes a fresh one for each simulation. It may be a context manager, such as what `connect` and
            `load_library` give.
    """

    def __init__(self, make: Callable[[], Player | DecisionComponent]) -> None:
        self._make = make
        self.name = getattr(make, "__name__", type(make).__name__)

    def start(self, timeouts: Timeouts) -> Talk:
        return _ValueTalk(self._make)


class _Attentive(Conversation):
    """A conversation that remembers the last event that it refused, which is never part of a reply."""

    __slots__ = ("refused",)

    def __init__(self, rules: str) -> None:
        super().__init__(rules)
        self.refused: Event | None = None

    def offer(self, event: Event) -> list[Violation]:
        found = super().offer(event)
        if found and any(violation.is_fatal for violation in found):
            self.refused = event
        return found


class _ValueTalk(Talk):
    def __init__(self, make: Callable[[], Player | DecisionComponent]) -> None:
        super().__init__()
        self._make = make
        self._component: Any = None
        self._conversation: _Attentive | None = None
        self._answer: Callable[[Message], Message] | None = None
        self._trace = ""
        self._place: tuple[str, int] | None = None

    def hello(self, init: str) -> Message:
        self.log_message(init)
        message = self._call(self._begin, init)
        self.log_reply(message)
        return message

    def _begin(self, init: str) -> Message:
        self._component = component = self._make()
        enter = getattr(component, "__enter__", None)
        if enter is not None:
            enter()
        message: Message = component.hello(init)
        if isinstance(component, Player):
            self._conversation = conversation = _Attentive("batsim-5.0.0-rc2")
            conversation.begin(init)
            conversation.hello(message)
            self._answer = component.player(conversation)
        else:
            self._answer = component.answer
        return message

    def answer(self, message: Message) -> Message:
        self.log_message(message)
        assert self._answer is not None
        conversation = self._conversation
        if conversation is not None:
            conversation.receive(message)
            conversation.refused = None
        try:
            reply = self._call(self._answer, message)
        except RuleViolation:
            self._log_refused(message)
            raise
        self.log_reply(reply)
        return reply

    def _log_refused(self, message: Message) -> None:
        """Log the reply that the decision component was making, together with the event that was refused."""
        assert self._conversation is not None
        begun: list[Event] = []
        with suppress(Exception):  # only a Scheduler has a reply that is being made
            begun = list(self._component.reply.events)
        refused = self._conversation.refused
        events = [*begun, *([] if refused is None else [refused])]
        now = max([message.now, *(event.timestamp for event in events)])
        self.log_reply(Message(now, tuple(events)))

    def _call(self, function: Callable[[Any], Message], argument: object) -> Message:
        try:
            message = function(argument)
        except (RuleViolation, DecodeError, KeyboardInterrupt) as error:
            self._place = _own_line(error)
            raise
        except PeerSilent as error:
            self.dead = True
            raise Misconduct("edc.silent", str(error)) from error
        except (PeerGone, ProtocolError) as error:
            self.dead = True
            raise self._died(error, str(error)) from error
        except BaseException as error:  # SystemExit, too: anything that ends a decision component
            self.dead = True
            raise self._died(error, f"it raised {type(error).__name__}: {error}") from error
        if not isinstance(message, Message):
            raise Misconduct("message.unreadable", f"expected a Message, got {an(type(message).__name__)}")
        return message

    def _died(self, error: BaseException, text: str) -> Misconduct:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        self._place = _own_line(error)
        self._trace = "".join(traceback.format_exception(type(error), error, trace, -_FRAMES_SHOWN))
        return Misconduct("edc.died", text)

    def details(self) -> str:
        return self._trace

    def place(self) -> tuple[str, int] | None:
        return self._place or _definition(self._component)

    def close(self) -> None:
        leave = getattr(self._component, "__exit__", None)
        if leave is not None:
            leave(None, None, None)


def _own_line(error: BaseException) -> tuple[str, int] | None:
    """The last line outside of batprotocol that an error went through; None if there is none in a file."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        name = frame.f_code.co_filename
        if frame.f_globals.get("__name__", "").partition(".")[0] != "batprotocol" and os.path.isfile(name):
            return name, line
    return None


def _definition(component: object) -> tuple[str, int] | None:
    """The first line of the class of a decision component, if it is known and not a part of batprotocol."""
    made = type(component)
    if made.__module__.partition(".")[0] == "batprotocol":
        return None
    try:
        return inspect.getfile(made), inspect.getsourcelines(made)[1]
    except (OSError, TypeError):
        return None
