"""Plays Batsim's side of a recording to a decision component, and compares its replies with the recorded ones.

The messages of Batsim in a recording answer the recorded decisions. So the replay ends with the first reply that has
another effect: the recording does not show what Batsim answers to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from batprotocol import model
from batprotocol.conversation import Conversation
from batprotocol.edc.recording.entries import Entry
from batprotocol.errors import CaptureError
from batprotocol.model import Direction, EDCHelloEvent, Message
from batprotocol.recordings.canonical import TOLERANCE, CanonicalForms, CanonicalMessage, MessageDifference, difference
from batprotocol.recordings.states import RunState, messages_in, state_at
from batprotocol.wire import frames
from batprotocol.workloads.requests import asks_for_a_part

__all__ = ["Asked", "Played", "Together", "replay"]

_B2E, _E2B = Direction.BATSIM_TO_EDC, Direction.EDC_TO_BATSIM


class Asked(Protocol):
    """A decision component that replies to messages, for example the result of `batprotocol.simulator.connect`."""

    def hello(self, text: str, /) -> Message:
        """The first message, for these initialization data."""

    def answer(self, message: Message, /) -> Message:
        """The reply to a message."""


class _Player(Protocol):
    def hello(self, text: str, /) -> Message: ...
    def player(self, conversation: Conversation, /) -> Callable[[Message], Message]: ...


class Together:
    """A scheduler in this process, as a component that replies to messages.

    Args:
        scheduler: a `batprotocol.edc.Scheduler`.
    """

    def __init__(self, scheduler: _Player) -> None:
        self._scheduler = scheduler
        self._conversation = Conversation(asks_for_a_part=asks_for_a_part)

    def hello(self, text: str) -> Message:
        """The hello of the scheduler."""
        message = self._scheduler.hello(text)
        self._conversation.begin(text)
        self._conversation.hello(_with_features(message, _without_forwarding))  # a recording may lack profiles
        self._player = self._scheduler.player(self._conversation)
        return message

    def answer(self, message: Message) -> Message:
        """The reply of the scheduler. `RuleViolation` if Batsim would not survive it."""
        self._conversation.receive(message)
        return self._player(message)


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a replay.

    Args:
        replies: the number of replies that were the same, with the hello.
        unlike: the number of these that were the same in effect only.
        number: the number of the message that differs, or None.
        difference: the first difference in it, or None.
        recorded: the recorded reply.
        reply: the new reply.
        known: the state before these replies.
        end: the reason why the replay could not continue, as a sentence, or "".
        remark: the differences of the hello that were ignored, as a sentence, or "".
    """

    replies: int
    unlike: int = 0
    number: int | None = None
    difference: MessageDifference | None = None
    recorded: Message | None = None
    reply: Message | None = None
    known: RunState | None = None
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
        run: the recording, such as a `Capture`. It must support several iterations.
        component: the decision component.
        in_effect: continue as long as replies have the same effect. Then the ids of calls and probes, the order of
            independent decisions and the notation of host sets may differ. The messages of Batsim get the new ids. The
            hello may ask Batsim to forward other profiles: the component gets those that are in the recording.
        tolerance: with `in_effect`, how many simulated seconds times may differ.
        init: initialization data in place of the recorded ones.

    Returns:
        The first difference, or that there is none. Names and versions in the hello may differ.

    Raises:
        CaptureError: the recording does not begin with the initialization data of Batsim 5.
        ProtocolError: the decision component does not answer, or its answer is not a message.
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
        reply = component.hello(text) if said is None else component.answer(play.adapted(said))
        found = play.compared(said, message, reply)
        if found is not None:
            known = state_at(messages_in(islice(run, entry.number)))
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
    """The state of a replay: the counts of replies, and the new ids of the recorded calls and probes."""

    def __init__(self, in_effect: bool, tolerance: float) -> None:
        self.replies = self.unlike = 0
        self.is_over = False
        self.remark = ""
        self._in_effect = in_effect
        self._tolerance = tolerance
        self._then, self._now = CanonicalForms(tolerance), CanonicalForms(tolerance)
        self._ids: dict[str, list[str]] = {}
        """The new ids of calls and probes, by their canonical form."""

    def adapted(self, said: Message) -> Message:
        """A message of Batsim with the new ids. It is unchanged unless replies may differ in their ids."""
        self.is_over = any(isinstance(event, model.SimulationEndsEvent) for event in said.events)
        if not self._in_effect:
            return said
        meant = self._then.of(_B2E, said)
        now: dict[int, model.Event] = {
            id(event): self._renamed(event, form)
            for event, form in zip(meant.events, meant.message.events, strict=True)
        }
        adapted = replace(said, events=tuple(now[id(event)] for event in said.events))
        self._now.of(_B2E, adapted)
        return adapted

    def _renamed(self, event: model.Event, form: model.Event) -> model.Event:
        if isinstance(event, model.RequestedCallEvent) and isinstance(form, model.RequestedCallEvent):
            ids = self._ids.get(form.call_me_later_id)
            if ids:
                # Of several calls of one moment for the same time, any id will do. The recorded one is preferred.
                name = event.call_me_later_id if event.call_me_later_id in ids else ids[0]
                if "Periodic(" not in form.call_me_later_id:
                    ids.remove(name)
                return event if name == event.call_me_later_id else replace(event, call_me_later_id=name)
        elif isinstance(event, model.ProbeDataEmittedEvent) and isinstance(form, model.ProbeDataEmittedEvent):
            ids = self._ids.get(form.probe_id)
            if ids and event.probe_id not in ids:
                return replace(event, probe_id=ids[0])
        return event

    def compared(self, said: Message | None, recorded: Message, reply: Message) -> MessageDifference | None:
        """The first difference, or None if the replies are the same."""
        found: MessageDifference | None
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

    def _hello(self, recorded: Message, reply: Message) -> MessageDifference | None:
        """The first difference of the requested features. Names and versions may differ."""
        then, now = (
            meaning.of(_E2B, _with_features(message, lambda features: features)).message
            for meaning, message in ((self._then, recorded), (self._now, reply))
        )
        found = difference(CanonicalMessage.exactly(then), CanonicalMessage.exactly(now))
        if found is None or not self._in_effect:
            return found
        self.remark = f"its hello differs from the recorded one ({found}); it gets the profiles that were recorded"
        then, now = (_with_features(message, _without_forwarding) for message in (then, now))
        return difference(CanonicalMessage.exactly(then), CanonicalMessage.exactly(now))

    def _note(self, then: CanonicalMessage, now: CanonicalMessage) -> None:
        """Note the new ids of the calls and probes of a reply."""
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


def _without_forwarding(features: Features) -> Features:
    """The features that change the simulation, without those that only make Batsim forward more data."""
    return replace(features, **{name: False for name in features.__struct_fields__ if name.startswith("forward_")})


def _exactly(recorded: Message, reply: Message) -> MessageDifference | None:
    """The first difference of the messages as they were sent."""
    if recorded == reply:
        return None
    if recorded.now != reply.now:
        return MessageDifference("now", repr(recorded.now), repr(reply.now))
    found = difference(CanonicalMessage.exactly(recorded), CanonicalMessage.exactly(reply), 0.0)
    return found or MessageDifference("notation", "the recorded one", "the new one")
