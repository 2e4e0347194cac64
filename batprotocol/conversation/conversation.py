"""`Conversation`: feeds the messages of both sides through the tables, in turn, and tells what is wrong with them.

It knows turns, times and phases, and which function is for which event; what an event must be like is the business of
the topics' modules. It opens no socket or file, and never raises because of what a peer said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

from intervaltree import IntervalTree

from batprotocol.conversation import hosts, jobs, periodic, registration, simulation
from batprotocol.conversation.automaton import Phase, Registration
from batprotocol.conversation.rules import DEFAULT_RULE_SET, RULE_SETS, Violation
from batprotocol.conversation.state import CallRecord, HostRecord, JobRecord, ProbeRecord, State
from batprotocol.errors import DecodeError, an
from batprotocol.model import (
    BATSIM_TO_EDC,
    AllStaticExternalEventsHaveBeenInjectedEvent,
    AllStaticJobsHaveBeenSubmittedEvent,
    CallMeLaterEvent,
    ChangeHostsPStateEvent,
    CreateProbeEvent,
    Direction,
    EDCHelloEvent,
    EDCRequestedSimulationFeatures,
    Event,
    ExecuteJobEvent,
    ExternalEventOccurredEvent,
    FinishRegistrationEvent,
    ForceSimulationStopEvent,
    HostsPStateChangedEvent,
    HostsTurnedOnOffEvent,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    KillJobsEvent,
    Message,
    ProbeDataEmittedEvent,
    Profile,
    RegisterJobEvent,
    RegisterProfileEvent,
    RejectJobEvent,
    RequestedCallEvent,
    ResetProbeEvent,
    SimulationBeginsEvent,
    SimulationEndsEvent,
    SimulationErrorEvent,
    StopCallMeLaterEvent,
    StopProbeEvent,
    TriggerProbeEvent,
    TurnOnOffHostsEvent,
)
from batprotocol.wire import FORMATS, frames

__all__ = ["Conversation", "Said"]

Said: TypeAlias = bytes | bytearray | memoryview | str | Message | frames.Hello
"""A message of a conversation: raw bytes, or the value of one: `str` for message 0, `Hello` or `Message` for 1."""

Handler: TypeAlias = Callable[[State, Any], None]


def _nothing(state: State, event: Event) -> None:
    """All that there is to this event is the phase it leads to."""


def _not_implemented(state: State, event: Event) -> None:
    state.report("event.not-implemented", "", f"{type(event).__name__} is not implemented")


# What is wrong with an event whatever the state: Batsim refuses it even where it would be dropped.
_READERS: Final[Mapping[type[Event], Handler]] = {
    ExecuteJobEvent: jobs.read_execute,
    RejectJobEvent: jobs.read_reject,
    KillJobsEvent: jobs.read_kill,
    RegisterProfileEvent: registration.read_register_profile,
    RegisterJobEvent: registration.read_register_job,
    CreateProbeEvent: periodic.read_create_probe,
    TriggerProbeEvent: _not_implemented,
    ResetProbeEvent: _not_implemented,
    ChangeHostsPStateEvent: hosts.read_change_pstate,
    TurnOnOffHostsEvent: hosts.read_turn_on_off,
}

_EDC: Final[Mapping[type[Event], Handler]] = {
    EDCHelloEvent: simulation.hello,
    ExecuteJobEvent: jobs.execute,
    RejectJobEvent: jobs.reject,
    KillJobsEvent: jobs.kill,
    RegisterProfileEvent: registration.register_profile,
    RegisterJobEvent: registration.register_job,
    FinishRegistrationEvent: registration.finish_registration,
    CallMeLaterEvent: periodic.call_me_later,
    StopCallMeLaterEvent: periodic.stop_call,
    CreateProbeEvent: periodic.create_probe,
    StopProbeEvent: periodic.stop_probe,
    TriggerProbeEvent: _nothing,
    ResetProbeEvent: _nothing,
    ChangeHostsPStateEvent: hosts.change_pstate,
    TurnOnOffHostsEvent: hosts.turn_on_off,
    ForceSimulationStopEvent: jobs.force_stop,
}

_BATSIM: Final[Mapping[type[Event], Handler]] = {
    SimulationBeginsEvent: simulation.begins,
    SimulationEndsEvent: simulation.ends,
    SimulationErrorEvent: _nothing,
    JobSubmittedEvent: jobs.submitted,
    JobCompletedEvent: jobs.completed,
    JobsKilledEvent: jobs.killed,
    AllStaticJobsHaveBeenSubmittedEvent: simulation.all_static_submitted,
    AllStaticExternalEventsHaveBeenInjectedEvent: simulation.all_external_injected,
    ExternalEventOccurredEvent: simulation.external_event,
    RequestedCallEvent: periodic.requested_call,
    ProbeDataEmittedEvent: periodic.probe_data,
    HostsPStateChangedEvent: hosts.pstate_changed,
    HostsTurnedOnOffEvent: hosts.turned_on_off,
}

# Which rule an event breaks that a phase does not list, where it is not just `event.out-of-phase`.
_MISPLACED: Final[Mapping[Phase, Mapping[type[Event], tuple[str, str]]]] = {
    Phase.RUN: {EDCHelloEvent: ("hello.twice", "hello was said before")},
    Phase.END: {
        CallMeLaterEvent: ("end.call-me-later", "the simulation has ended: this call can never fire"),
        RegisterJobEvent: ("end.register-job", "the simulation has ended: this job can never be executed"),
        CreateProbeEvent: ("end.create-probe", "the simulation has ended: this probe can never measure"),
        TurnOnOffHostsEvent: ("end.turn-on-off", "the simulation has ended"),
        StopCallMeLaterEvent: ("end.stop-call", "the simulation has ended, and all calls with it"),
        StopProbeEvent: ("end.stop-probe", "the simulation has ended, and all probes with it"),
        ForceSimulationStopEvent: ("end.force-stop", "the simulation has ended by itself"),
        EDCHelloEvent: ("hello.twice", "hello was said before"),
    },
}

# Where a binary message can be broken without this Batsim noticing, as ends of the path or parts of the reason.
_UNVERIFIED_PATHS: Final = (".temporal_aggregation_function",)
_UNVERIFIED_REASONS: Final = ("is not UTF-8",)

_FLAGS_SIZE: Final = 4


class _Expected(Enum):
    """What the next message must be."""

    INIT = "the text of the initialization data"
    HELLO = "a hello"
    BATSIM = "a message of Batsim"
    REPLY = "a reply"
    NOTHING = "nothing"


# Looking up a member of an enum costs more than most of what is done with it here.
_BEGIN, _RUN, _END = Phase.BEGIN, Phase.RUN, Phase.END
_BATSIM_SPEAKS, _REPLY_IS_DUE = _Expected.BATSIM, _Expected.REPLY


class Conversation:
    """What two peers have said so far, and what may be said next.

    Args:
        rules: the rule set: "batsim-5.0.0-rc2" (what that Batsim does) or "protocol" (what schema and documentation
            demand). ValueError if there is no such rule set.

    `feed` takes the next message, whoever's it is. A decision component that wants to know *before* it sends goes
    through the same conversation step by step: `begin`, `hello`, then for each turn `receive`, `offer` for each event
    of its reply, and `close_reply`. All return the violations found, an empty list mostly.

    >>> from batprotocol import MessageBuilder
    >>> batsim, mine = MessageBuilder(), MessageBuilder()
    >>> mine.add_edc_hello("my-scheduler", "1.0.0")
    >>> batsim.add_simulation_begins(batsim_version="5.0.0-rc2", computation_hosts=[])
    >>> conversation = Conversation()
    >>> conversation.begin("init"), conversation.hello(mine.finish_message())
    ([], [])
    >>> conversation.receive(batsim.finish_message())
    []
    >>> mine.clear()
    >>> mine.add_reject_job("w0!1")
    >>> print(*conversation.offer(mine.events[0]))
    message 3, events[0].event.job_id: error: there is no job 'w0!1': it was not submitted, or not yet [job.unknown]
    """

    __slots__ = ("_accepted", "_expected", "_format", "_rules", "_state")

    def __init__(self, rules: str = DEFAULT_RULE_SET) -> None:
        if rules not in RULE_SETS:
            raise ValueError(f"there is no rule set {rules!r}, only {', '.join(map(repr, RULE_SETS))}")
        self._rules = rules
        self._state = State(RULE_SETS[rules])
        self._expected = _Expected.INIT
        self._format = "binary"
        self._accepted = 0

    def __repr__(self) -> str:
        return f"<Conversation: {self.phase.meaning}, message {self.number} is next, now {self.now}>"

    # What is known

    @property
    def rules(self) -> str:
        """The name of the rule set in force."""
        return self._rules

    @property
    def phase(self) -> Phase:
        """How far the conversation is."""
        return self._state.phase

    @property
    def turn(self) -> Direction:
        """Whose turn it is."""
        to_edc = self._expected in (_Expected.INIT, _Expected.BATSIM)
        return Direction.BATSIM_TO_EDC if to_edc else Direction.EDC_TO_BATSIM

    @property
    def is_over(self) -> bool:
        """Whether all is said: SimulationEndsEvent was answered."""
        return self._state.phase is Phase.OVER

    @property
    def number(self) -> int:
        """The number of the message that is next: 0 for the initialization data, 1 for the hello."""
        return self._state.number

    @property
    def now(self) -> float:
        """The simulated time that Batsim told last, in seconds; 0 before."""
        return self._state.now

    @property
    def format(self) -> str:
        """The format of messages that are given as bytes, as the hello has it: "binary" or "json"."""
        return self._format

    @property
    def features(self) -> EDCRequestedSimulationFeatures:
        """What the hello requested."""
        return self._state.features

    @property
    def registration(self) -> Registration:
        """Whether jobs and profiles can be registered."""
        return self._state.registration

    @property
    def hosts(self) -> Mapping[int, HostRecord]:
        """All hosts by id, computation and storage hosts together."""
        return self._state.hosts

    @property
    def jobs(self) -> Mapping[str, JobRecord]:
        """All jobs ever submitted or registered, by id."""
        return self._state.jobs

    @property
    def profiles(self) -> Mapping[str, Profile | None]:
        """The profiles known to exist, by full name; None where nobody told what they are."""
        return self._state.profiles

    @property
    def calls(self) -> Mapping[str, list[CallRecord]]:
        """The calls that are still to come, by id; one-shot calls can share one."""
        return self._state.calls

    @property
    def probes(self) -> Mapping[str, ProbeRecord]:
        """The probes that run, by id."""
        return self._state.probes

    @property
    def usage(self) -> IntervalTree:
        """Who holds which hosts now: an `intervaltree.IntervalTree` of intervals [first, last + 1[ with the job's id.

        `conversation.jobs[id].since` tells since when.
        """
        return self._state.usage().copy()

    @property
    def killable(self) -> list[str]:
        """The running jobs that a KillJobsEvent can name now, in the order of their execution.

        Jobs whose kill was asked for are not among them, nor are jobs that are known to replay a usage trace, where
        the rule set says that these cannot be killed. Killing all of them first, in the same reply, is what makes a
        ForceSimulationStopEvent safe.
        """
        return jobs.killable(self._state)

    @property
    def stop_requested(self) -> bool:
        """Whether a ForceSimulationStopEvent was accepted."""
        return self._state.phase is Phase.STOP

    # Step by step

    def begin(self, init_text: str | None = None) -> list[Violation]:
        """Message 0, from Batsim: the initialization data. Its text does not matter to any rule."""
        state = self._start()
        if self._expected is _Expected.INIT:
            self._go_on()
        else:
            self._out_of_turn("the initialization data came before")
        return state.found

    def hello(self, message: Message, flags: int | None = None) -> list[Violation]:
        """Message 1, from the decision component: its hello.

        Args:
            message: it must hold exactly one event, an EDCHelloEvent.
            flags: the flags of its frame, if there is one.

        If a violation is fatal, the hello can be said again.
        """
        state = self._start()
        if self._expected is not _Expected.HELLO:
            self._out_of_turn("it is not the time to say hello")
            return state.found
        if flags is not None and flags not in frames.FLAGS.values():
            state.report_at("frame.flags", "", f"the flags are {flags:#x}")
        first = message.events[0] if len(message.events) == 1 else None
        if isinstance(first, EDCHelloEvent):
            state.index = 0
            simulation.hello(state, first)
        else:
            types = ", ".join(type(event).__name__ for event in message.events) or "nothing"
            state.report_at("hello.first-message", "events", f"the first message holds {types}")
        if not state.now <= message.now < math.inf:
            self._check_now(message.now, infinite="time.past")  # no time passes after the hello, whatever its now
        self._check_timestamps(message)
        if not state.refused:
            self._go_on()
        return state.found

    def receive(self, message: Message) -> list[Violation]:
        """A message of Batsim. It takes effect in any case: what is said is said."""
        state = self._start()
        now = message.now
        if self._expected is not _BATSIM_SPEAKS:
            self._out_of_turn("it is not Batsim's turn")
            return state.found
        begins = state.phase is _BEGIN
        if not now >= state.now and not begins:
            state.report_at("time.backwards", "now", f"now is {now}, and was {state.now} before")
        state.now = now
        if state.rejected:
            jobs.forget_rejected(state)
        for index, event in enumerate(message.events):
            state.index = index
            kind = type(event)
            after = state.phase.steps.get(kind)
            handler = _BATSIM.get(kind)
            if after is None or handler is None:
                self._misplaced(event, wrong_direction=handler is None)
            else:
                handler(state, event)
                state.phase = after
            if not event.timestamp <= now:
                self._after_now(event, message)
        if begins and state.phase is _BEGIN:
            state.report_at("simulation.not-begun", "events", "there is no SimulationBeginsEvent")
            state.phase = _RUN
        if state.closing_calls or state.closing_probes:
            state.closing_calls.clear()
            state.closing_probes.clear()
        self._go_on()
        return state.found

    def offer(self, event: Event) -> list[Violation]:
        """Judge one more event of the reply that is being made.

        If a violation is fatal, nothing has changed: the event must not be sent. Else it has taken effect, cannot be
        taken back, and belongs into the reply at the next place.

        Args:
            event: an event of the decision component, with the timestamp that it will carry.
        """
        state = self._start()
        if self._expected is not _REPLY_IS_DUE:
            self._out_of_turn("it is not the decision component's turn to reply")
            return state.found
        state.index = self._accepted
        self._judge(event)
        if not state.refused:
            self._accepted += 1
        return state.found

    def close_reply(self, message: Message) -> list[Violation]:
        """The reply is complete, and it is Batsim's turn.

        Args:
            message: the reply, with the events that were offered and accepted. Judged is what concerns the whole: its
                times, and whether it leaves the simulation stuck.

        If a violation is fatal, nothing has changed: more can be offered, or it can be closed with another now.
        """
        state = self._start()
        if self._expected is not _REPLY_IS_DUE:
            self._out_of_turn("it is not the decision component's turn to reply")
            return state.found
        now = message.now
        if not state.now <= now < math.inf:
            self._check_now(now)
        for event in message.events:
            if not event.timestamp <= now:
                self._check_timestamps(message)
                break
        if not state.running and state.phase is _RUN:
            simulation.stuck(state)
        if not state.refused:
            self._go_on()
        return state.found

    # Whole messages

    def feed(self, said: Said) -> list[Violation]:
        """Take the next message, whoever's turn it is, and tell all that is wrong with it.

        Args:
            said: raw bytes (for message 0 and 1 the handshake's frame, then messages in the format that the flags
                chose), or the value: `str` for message 0, `frames.Hello` or `Message` for message 1, then `Message`.

        The conversation goes on whatever was found. Once a message could not be read, what depends on it cannot be
        known, so nothing but the form of messages is judged from there on.
        """
        state = self._start()
        number, blind = state.number, state.blind
        if self._expected is _Expected.NOTHING:
            self._out_of_turn("the conversation is over")
            return state.found
        try:
            value = self._decoded(said)
        except DecodeError as error:
            self._unreadable(error)
            found = state.found
        else:
            found = [] if blind else self._fed(value)
        if state.number == number:  # refused, but said
            self._go_on()
        return found

    def _decoded(self, said: Said) -> str | Message | frames.Hello:
        if not isinstance(said, bytes | bytearray | memoryview):
            return said
        if self._expected is _Expected.INIT:
            return frames.decode_init(said)
        if self._expected is _Expected.HELLO:
            if len(said) >= _FLAGS_SIZE:
                self._format = "json" if said[0] & frames.FLAGS["json"] else "binary"
            return frames.decode_hello(said)
        message: Message = FORMATS[self._format].decode(said)
        return message

    def _unreadable(self, error: DecodeError) -> None:
        state = self._state
        state.blind = state.blind or self._expected is not _Expected.INIT
        text = error.reason if error.offset is None else f"{error.reason} (byte {error.offset})"
        if self._expected is _Expected.INIT:
            state.report_at("frame.init", "", text)
        elif self._expected is _Expected.HELLO and error.offset is not None and error.offset < _FLAGS_SIZE:
            state.report_at("frame.hello", "", text)
        else:
            harmless = error.path.endswith(_UNVERIFIED_PATHS) or any(
                part in error.reason for part in _UNVERIFIED_REASONS
            )
            unnoticed = harmless and self._format == "binary" and self.turn is Direction.EDC_TO_BATSIM
            state.report_at("message.unverified" if unnoticed else "message.unreadable", error.path, text)

    def _fed(self, value: str | Message | frames.Hello) -> list[Violation]:
        """Hand a message to whoever is for it."""
        expected = self._expected
        if isinstance(value, str) and expected is _Expected.INIT:
            return self.begin(value)
        if isinstance(value, frames.Hello) and expected is _Expected.HELLO:
            return self.hello(value.message, value.flags)
        if isinstance(value, Message) and expected is _Expected.HELLO:
            return self.hello(value)
        if isinstance(value, Message) and expected is _Expected.BATSIM:
            return self.receive(value)
        if isinstance(value, Message) and expected is _Expected.REPLY:
            return self._replied(value)
        self._out_of_turn(f"expected {expected.value}, got {an(type(value).__name__)}")
        return self._state.found

    def _replied(self, message: Message) -> list[Violation]:
        """A whole reply, which was sent whatever is wrong with it."""
        found: list[Violation] = []
        state = self._state
        state.said = True
        for index, event in enumerate(message.events):
            self._start().index = index
            self._judge(event)
            found += state.found
        state.said = False
        if not any(violation.is_fatal for violation in found):
            return found + self.close_reply(message)
        self._start()
        if not state.now <= message.now < math.inf:
            self._check_now(message.now)
        self._check_timestamps(message)
        return found + state.found

    # What all of them need

    def _start(self) -> State:
        """Start the judgement of a message or an event."""
        state = self._state
        state.found = []
        state.refused = False
        state.index = -1
        return state

    def _go_on(self) -> None:
        """The message was said: on to the next one."""
        state = self._state
        state.number += 1
        if self._expected is _BATSIM_SPEAKS:
            self._expected = _REPLY_IS_DUE
            self._accepted = 0
            state.first_timestamp = None
        elif self._expected is _REPLY_IS_DUE:
            self._expected = _BATSIM_SPEAKS
            if state.phase is _END:
                state.phase, self._expected = Phase.OVER, _Expected.NOTHING
        elif self._expected is _Expected.INIT:
            state.phase, self._expected = Phase.HELLO, _Expected.HELLO
        else:
            state.phase, self._expected = Phase.BEGIN, _Expected.BATSIM

    def _out_of_turn(self, text: str) -> None:
        self._state.report_at("turn.order", "", text)

    def _judge(self, event: Event) -> None:
        """Judge an event of a reply, and let it take effect if it may."""
        state = self._state
        kind = type(event)
        timestamp, first = event.timestamp, state.first_timestamp
        if (first is not None and not timestamp >= state.last_timestamp) or timestamp != timestamp:
            self._check_order(timestamp, first)
        reader = _READERS.get(kind)
        if reader is not None:
            reader(state, event)
        after = state.phase.steps.get(kind)
        handler = _EDC.get(kind)
        if after is None or handler is None:
            self._misplaced(event, wrong_direction=handler is None)
            after = state.phase
        else:
            handler(state, event)
            if after is _END:
                state.report("end.useless", "", f"the simulation has ended, and {kind.__name__} is sent")
        if not state.refused or state.said:
            state.phase = after
            state.last_timestamp = timestamp
            if first is None:
                state.first_timestamp = timestamp

    def _misplaced(self, event: Event, wrong_direction: bool) -> None:
        """Report an event that cannot come in this phase, or not from this side."""
        state, kind = self._state, type(event)
        if wrong_direction:
            side = "Batsim" if kind in BATSIM_TO_EDC else "the decision component"
            state.report("event.wrong-direction", "", f"{kind.__name__} is sent by {side} only")
        elif kind in _MISPLACED.get(state.phase, ()):
            rule, text = _MISPLACED[state.phase][kind]
            state.report(rule, "", text)
        elif state.phase is Phase.STOP and kind in _EDC:
            state.report("stop.dropped", "", f"a stop was asked for, so {kind.__name__} is dropped")
        else:
            state.report("event.out-of-phase", "", f"{kind.__name__} cannot come here: {state.phase.meaning}")

    # Times

    def _check_order(self, timestamp: float, first: float | None) -> None:
        state = self._state
        path = f"events[{state.index}].timestamp"
        if timestamp != timestamp or first is None:
            state.report_at("time.not-a-number", path, "the timestamp is not a number")
        elif timestamp < first:
            text = f"timestamp {timestamp} is before that of the first event, {first}"
            state.report_at("time.before-first", path, text)
        else:
            text = f"timestamp {timestamp} is before that of the event before it, {state.last_timestamp}"
            state.report_at("time.order", path, text)

    def _check_now(self, now: float, infinite: str = "time.infinite") -> None:
        """Report what is wrong with the now of a message of the decision component."""
        state = self._state
        if now == math.inf:
            state.report_at(infinite, "now", "now is infinite")
        elif now != now:
            state.report_at("time.now-not-a-number", "now", "now is not a number")
        else:
            state.report_at("time.past", "now", f"now is {now}, and it is {state.now} in the simulation")

    def _check_timestamps(self, message: Message) -> None:
        for index, event in enumerate(message.events):
            if not event.timestamp <= message.now and event.timestamp == event.timestamp:
                self._state.index = index
                self._after_now(event, message)

    def _after_now(self, event: Event, message: Message) -> None:
        state = self._state
        text = f"timestamp {event.timestamp} of {type(event).__name__} is after now, {message.now}"
        state.report_at("time.after-now", f"events[{state.index}].timestamp", text)
