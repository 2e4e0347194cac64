"""Replay: Batsim's side of a recording is played to a decision component, and its replies compared with the old ones.

What Batsim says in a recording answers what was decided then. So the play ends with the first reply that comes to
something else: nobody knows what Batsim would have said next. It must not know how decision components are started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from batprotocol import model
from batprotocol.capture.entries import Entry
from batprotocol.capture.knowledge import Knowledge, knowledge_at, messages_in
from batprotocol.capture.meaning import TOLERANCE, Difference, Meaning, Meant, difference
from batprotocol.conversation import Conversation
from batprotocol.errors import CaptureError
from batprotocol.model import Direction, EDCHelloEvent, Message
from batprotocol.wire import frames

__all__ = ["Asked", "Played", "Together", "replay"]

_B2E, _E2B = Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM


class Asked(Protocol):
    """A decision component that is asked: what `batprotocol.simulator.connect` gives, for example."""

    def hello(self, text: str, /) -> Message:
        """The first message, for these initialization data."""

    def answer(self, message: Message, /) -> Message:
        """The reply to a message."""


class _Player(Protocol):
    def hello(self, text: str, /) -> Message: ...
    def player(self, conversation: Conversation, /) -> object: ...


class Together:
    """A scheduler of this process as one that is asked.

    Args:
        scheduler: a `batprotocol.edc.Scheduler`.
    """

    def __init__(self, scheduler: _Player) -> None:
        self._scheduler = scheduler
        self._conversation = Conversation()

    def hello(self, text: str) -> Message:
        """The hello of the scheduler."""
        message = self._scheduler.hello(text)
        self._conversation.begin(text)
        self._conversation.hello(_with_features(message, _told_no_more))  # what was recorded may lack profiles
        self._player = self._scheduler.player(self._conversation)
        return message

    def answer(self, message: Message) -> Message:
        """The reply of the scheduler. `RuleViolation` if Batsim would not survive it."""
        self._conversation.receive(message)
        reply: Message = self._player(message)  # type: ignore[operator]  # it is one, by the word of its class
        return reply


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """How a replay went.

    Args:
        replies: how many replies were the same, the hello included.
        unlike: how many of these were the same in effect only.
        number: the number of the message in which they part, or None.
        difference: what differs first in it, or None.
        recorded: the reply of then.
        reply: the reply of now.
        known: what was known before these replies.
        end: why the recording could be played no further, as a sentence, or "".
        remark: what of the hello was left aside, as a sentence, or "".
    """

    replies: int
    unlike: int = 0
    number: int | None = None
    difference: Difference | None = None
    recorded: Message | None = None
    reply: Message | None = None
    known: Knowledge | None = None
    end: str = ""
    remark: str = ""


def replay(
    run: Iterable[Entry],
    component: Asked,
    *,
    in_effect: bool = False,
    tolerance: float = TOLERANCE,
    init: str | None = None,
) -> Played:
    """Play Batsim's side of a recording, and compare the replies.

    Args:
        run: the recording, such as a `Capture`; it can be iterated again and again.
        component: who replies.
        in_effect: go on while replies come to the same: with other ids of calls and probes, with decisions that do not
            touch one another in another order, with host sets written otherwise. What Batsim says then has the ids
            that the new replies asked for. The hello may ask for other profiles to be forwarded than then: they are
            told where they were told then.
        tolerance: with `in_effect`, how many seconds of simulated time times may differ.
        init: initialization data in place of the recorded ones.

    Returns:
        Where they part, or that they do not. Names and versions in the hello do not count.

    Raises:
        CaptureError: the recording does not begin with the initialization data of a Batsim of today.
        ProtocolError: the decision component does not answer, or with what is no message.
    """
    entries = iter(run)
    first = next(entries, None)
    if first is None or first.kind != "init" or first.fault is not None:
        raise CaptureError("does not begin with the initialization data of Batsim 5: it cannot be replayed")
    play = _Play(in_effect, tolerance)
    text = frames.decode_init(first.data) if init is None else init
    said: Message | None = None
    for entry in entries:
        message = entry.message
        if message is None:
            return play.ended(f"message {entry.number} of the recording cannot be read: {entry.fault}")
        if (entry.direction is _E2B) is not bool(entry.number % 2):
            return play.ended(f"message {entry.number} of the recording comes out of turn")
        if entry.direction is _B2E:
            said = message
            continue
        reply = component.hello(text) if said is None else component.answer(play.told(said))
        found = play.compared(said, message, reply)
        if found is not None:
            known = knowledge_at(messages_in(islice(run, entry.number)))
            return Played(
                replies=play.replies,
                unlike=play.unlike,
                number=entry.number,
                difference=found,
                recorded=message,
                reply=reply,
                remark=play.remark,
                known=known,
            )
    if play.replies and not play.is_over:
        return play.ended("the recording ends before the simulation does")
    return play.ended("")


class _Play:
    """What was the same so far, and which ids of now are which of then."""

    def __init__(self, in_effect: bool, tolerance: float) -> None:
        self.replies = self.unlike = 0
        self.is_over = False
        self.remark = ""
        self._in_effect = in_effect
        self._tolerance = tolerance
        self._then, self._now = Meaning(tolerance), Meaning(tolerance)
        self._ids: dict[str, list[str]] = {}
        """The ids of now by what calls and probes are."""

    def told(self, said: Message) -> Message:
        """What Batsim said, with the ids of now. The same message unless replies may differ in their ids."""
        self.is_over = any(isinstance(event, model.SimulationEndsEvent) for event in said.events)
        if not self._in_effect:
            return said
        meant = self._then.of(_B2E, said)
        now: dict[int, model.Event] = {
            id(event): self._renamed(event, form)
            for event, form in zip(meant.events, meant.message.events, strict=True)
        }
        told = replace(said, events=tuple(now[id(event)] for event in said.events))
        self._now.of(_B2E, told)
        return told

    def _renamed(self, event: model.Event, form: model.Event) -> model.Event:
        if isinstance(event, model.RequestedCallEvent) and isinstance(form, model.RequestedCallEvent):
            ids = self._ids.get(form.call_me_later_id)
            if ids:
                # Of several that were asked for at once and for the same time, each will do: best the one of then.
                name = event.call_me_later_id if event.call_me_later_id in ids else ids[0]
                if "Periodic(" not in form.call_me_later_id:
                    ids.remove(name)
                return event if name == event.call_me_later_id else replace(event, call_me_later_id=name)
        elif isinstance(event, model.ProbeDataEmittedEvent) and isinstance(form, model.ProbeDataEmittedEvent):
            ids = self._ids.get(form.probe_id)
            if ids and event.probe_id not in ids:
                return replace(event, probe_id=ids[0])
        return event

    def compared(self, said: Message | None, recorded: Message, reply: Message) -> Difference | None:
        """What differs, or None if the replies are the same."""
        found: Difference | None
        if said is None or not self._in_effect:
            found = _exactly(recorded, reply) if said is not None else self._hello(recorded, reply)
        else:
            then, now = self._then.of(_E2B, recorded), self._now.of(_E2B, reply)
            found = difference(then, now, self._tolerance)
            if found is None:
                self._note(then, now)
                self.unlike += recorded != reply
        self.replies += found is None
        return found

    def _hello(self, recorded: Message, reply: Message) -> Difference | None:
        """What is asked of the simulation. Who asks, and in which version, does not count."""
        then, now = (
            meaning.of(_E2B, _with_features(message, lambda features: features)).message
            for meaning, message in ((self._then, recorded), (self._now, reply))
        )
        found = difference(Meant.exactly(then), Meant.exactly(now))
        if found is None or not self._in_effect:
            return found
        self.remark = f"it asks for something else than then ({found}), and is told what was told then"
        then, now = (_with_features(message, _told_no_more) for message in (then, now))
        return difference(Meant.exactly(then), Meant.exactly(now))

    def _note(self, then: Meant, now: Meant) -> None:
        """Calls and probes that were asked for have these ids now."""
        for form, event in zip(then.message.events, now.events, strict=True):
            if isinstance(form, model.CallMeLaterEvent) and isinstance(event, model.CallMeLaterEvent):
                self._ids.setdefault(form.call_me_later_id, []).append(event.call_me_later_id)
            elif isinstance(form, model.CreateProbeEvent) and isinstance(event, model.CreateProbeEvent):
                self._ids.setdefault(form.probe_id, []).append(event.probe_id)

    def ended(self, end: str) -> Played:
        return Played(replies=self.replies, unlike=self.unlike, end=end, remark=self.remark)


Features: TypeAlias = model.EDCRequestedSimulationFeatures


def _with_features(message: Message, change: Callable[[Features], Features]) -> Message:
    """A hello that asks for other features, at time 0."""
    events = (
        replace(event, timestamp=0.0, requested_simulation_features=change(event.requested_simulation_features))
        if isinstance(event, EDCHelloEvent)
        else event
        for event in message.events
    )
    return replace(message, now=0.0, events=tuple(events))


def _told_no_more(features: Features) -> Features:
    """The features that change what happens, and not just what is told."""
    return replace(features, **{name: False for name in features.__struct_fields__ if name.startswith("forward_")})


def _exactly(recorded: Message, reply: Message) -> Difference | None:
    """What differs, as it was said."""
    if recorded == reply:
        return None
    if recorded.now != reply.now:
        return Difference("now", repr(recorded.now), repr(reply.now))
    found = difference(Meant.exactly(recorded), Meant.exactly(reply), 0.0)
    return found or Difference("the way it is written", "that of then", "that of now")
