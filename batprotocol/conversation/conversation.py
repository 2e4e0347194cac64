"""`Conversation`: checks the messages of both sides, in turn, by the tables, and returns their violations.

It handles turns and phases, and the times of messages: their now, and the timestamps of their events. The table
`events` lists the functions for each event, and the modules of the topics check the contents. This module opens no
socket and no file, and never raises an exception because of a peer's message.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping
from typing import Final

from intervaltree import IntervalTree
from mypy_extensions import mypyc_attr

from batprotocol import model
from batprotocol._util.counting import step
from batprotocol._util.deprecation import old_arguments
from batprotocol.conversation import events, jobs, simulation
from batprotocol.conversation.automaton import EventType, Expected, Phase, Registration
from batprotocol.conversation.known_jobs import JobRecord, JobsById
from batprotocol.conversation.rules import CATALOGUE, DEFAULT_RULE_SET, Violation
from batprotocol.conversation.simulation import AnyMessage
from batprotocol.conversation.state import CallRecord, ConversationState, HostRecord, ProbeRecord
from batprotocol.errors import DecodeError, an
from batprotocol.wire import frames

__all__ = ["Conversation"]

# Looking up a member of an enum, or of another module, costs more than most operations with it here.
_BEGIN: Final = Phase.BEGIN
_RUN: Final = Phase.RUN
_END: Final = Phase.END
_BATSIM_SPEAKS: Final = Expected.BATSIM
_REPLY_IS_DUE: Final = Expected.REPLY
_READERS: Final[dict[EventType, events.Judge]] = events.READERS
_FROM_BATSIM: Final[dict[EventType, events.Judge]] = events.FROM_BATSIM
_FROM_EDC: Final[dict[EventType, events.Judge]] = events.FROM_EDC


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Conversation:
    """The state of a conversation between two peers, which checks each message.

    Args:
        rules: the rule set: "batsim-5.0.0-rc2" (what that Batsim does) or "protocol" (what schema and documentation
            demand).
        without: ids of rules that `feed` does not check in replies, because another component knows more and checks
            them. `offer` checks them.
        asks_for_a_part: whether a job with these extra data asks for a part of each of its hosts, so that others may
            have the rest, such as `batprotocol.workloads.requests.asks_for_a_part`; None: jobs have whole hosts.

    Attributes:
        doubtful: the program that runs the conversation sets it when Batsim has sent something impossible, so that the
            rest of the simulation is unknown. Deadlocks are then not reported.

    Raises:
        ValueError: there is no such rule set.

    `feed` takes the next message of either side. A decision component that wants to check its events *before* it sends
    them goes through the same conversation step by step: `begin`, `hello`, then for each turn `receive`, `offer` for
    each event of its reply, and `close_reply`. Each method returns the violations found, usually an empty list.

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

    __slots__ = ("_accepted", "_jobs", "_rules", "_state", "doubtful")

    def __init__(
        self,
        rules: str = DEFAULT_RULE_SET,
        *,
        without: Container[str] = (),
        asks_for_a_part: Callable[[str], bool] | None = None,
    ) -> None:
        self._rules = rules
        self._state = ConversationState(CATALOGUE.severities(rules), without, asks_for_a_part)
        self._jobs = JobsById(self._state.jobs)
        self._accepted = 0
        self.doubtful = False

    def __repr__(self) -> str:
        return f"<Conversation: {self.phase.meaning}, message {self.number} is next, now {self.now}>"

    # The state

    @property
    def rules(self) -> str:
        """The name of the rule set."""
        return self._rules

    @property
    def phase(self) -> Phase:
        """The phase of the conversation."""
        return self._state.phase

    @property
    def turn(self) -> model.Direction:
        """The direction of the next message."""
        to_edc = self._state.expected in (Expected.INIT, Expected.BATSIM)
        return model.Direction.BATSIM_TO_EDC if to_edc else model.Direction.EDC_TO_BATSIM

    @property
    def is_over(self) -> bool:
        """Whether the conversation is over: SimulationEndsEvent was answered."""
        return self._state.phase is Phase.OVER

    @property
    def number(self) -> int:
        """The number of the next message: 0 for the initialization data, 1 for the hello."""
        return self._state.number

    @property
    def now(self) -> float:
        """The last simulated time that Batsim sent, in seconds; 0 before its first message."""
        return self._state.now

    @property
    def format(self) -> str:
        """The format of messages in bytes, from the hello: "binary" or "json"."""
        return self._state.format

    @property
    def features(self) -> model.EDCRequestedSimulationFeatures:
        """The features that the hello requested."""
        return self._state.features

    @property
    def registration(self) -> Registration:
        """Whether jobs and profiles can be registered."""
        return self._state.registration

    @property
    def all_static_jobs_submitted(self) -> bool:
        """Whether Batsim has submitted all static jobs: only registered jobs can follow."""
        return self._state.static_submitted

    @property
    def hosts(self) -> Mapping[int, HostRecord]:
        """All hosts by id, computation and storage hosts together."""
        return self._state.hosts

    @property
    def jobs(self) -> Mapping[str, JobRecord]:
        """All jobs that were submitted or registered, by id, in no particular order.

        The record of a job that has ended is complete until Batsim's next message. After that, it keeps only `state`
        and `final`, the way in which the job ended: `job`, `allocation` and `since` are None, `profile_id` is "".
        """
        return self._jobs

    @property
    def profiles(self) -> Mapping[str, model.Profile | None]:
        """The profiles that are known to exist, by full name. The value is None if the profile was not sent."""
        return self._state.profiles

    @property
    def calls(self) -> Mapping[str, list[CallRecord]]:
        """The pending calls, by id; one-shot calls can share an id."""
        return self._state.calls

    @property
    def probes(self) -> Mapping[str, ProbeRecord]:
        """The running probes, by id."""
        return self._state.probes

    @property
    def usage(self) -> IntervalTree:
        """The hosts that jobs hold: an `intervaltree.IntervalTree` of intervals [first, last + 1[ with the job's id.

        It is a separate copy, which is made on the first access to its contents; `bool()` of it costs nothing.
        `conversation.jobs[id].since` is the time since when the job holds them.
        """
        return self._state.held.usage()

    @property
    def killable(self) -> list[str]:
        """The running jobs that a KillJobsEvent can name now, in the order of their execution.

        It does not contain jobs whose kill was requested. It does not contain jobs that replay a usage trace either, if
        the rule set has the rule that these cannot be killed. Kill all of them in the same reply to make a
        ForceSimulationStopEvent safe.
        """
        return jobs.killable(self._state)

    @property
    def stop_requested(self) -> bool:
        """Whether a ForceSimulationStopEvent was accepted."""
        return self._state.phase is Phase.STOP

    # Step by step

    def begin(self, init_text: str | None = None) -> list[Violation]:
        """Take message 0, Batsim's initialization data. No rule is about its text."""
        state = self._start()
        if state.expected is Expected.INIT:
            self._go_on()
        else:
            self._out_of_turn("the initialization data came before")
        return state.found

    def hello(self, message: model.Message, flags: int | None = None) -> list[Violation]:
        """Take message 1, the hello of the decision component.

        Args:
            message: it must hold exactly one event, an EDCHelloEvent.
            flags: the flags of its frame, if there is one.

        If a violation is fatal, the hello can be repeated.
        """
        state = self._start()
        if state.expected is not Expected.HELLO:
            self._out_of_turn("it is not the turn of the hello")
            return state.found
        if flags is not None and flags not in frames.FLAGS.values():
            state.report_at("frame.flags", "", f"the flags are {flags:#x}")
        first = message.events[0] if len(message.events) == 1 else None
        if isinstance(first, model.EDCHelloEvent):
            state.index = 0
            simulation.hello(state, first)
        else:
            types = ", ".join(type(event).__name__ for event in message.events) or "nothing"
            state.report_at("hello.first-message", "events", f"the first message holds {types}")
        if not state.now <= message.now < math.inf:
            _report_now(state, message.now, infinite="time.past")  # no time passes after the hello, for any `now`
        _report_timestamps(state, message)
        if not state.refused:
            self._go_on()
        return state.found

    def receive(self, message: model.Message) -> list[Violation]:
        """Take a message of Batsim. It takes effect even if it breaks a rule, because Batsim has already sent it."""
        state = self._start()
        now = message.now
        if state.expected is not _BATSIM_SPEAKS:
            self._out_of_turn("it is not Batsim's turn")
            return state.found
        begins = state.phase is _BEGIN
        if not now >= state.now and not begins:
            state.report_at("time.backwards", "now", f"now is {now}, and was {state.now} before")
        state.now = now
        if state.ended:
            jobs.forget_ended(state)
        for index, event in enumerate(message.events):
            step()
            state.index = index
            kind = type(event)
            after = state.phase.steps.get(kind)
            handler = _FROM_BATSIM.get(kind)
            if after is None or handler is None:
                self._misplaced(event, wrong_direction=handler is None)
            else:
                handler(state, event)
                state.phase = after
            if not event.timestamp <= now:
                _report_after_now(state, event, message)
        if begins and state.phase is _BEGIN:
            state.report_at("simulation.not-begun", "events", "there is no SimulationBeginsEvent")
            state.phase = _RUN
        if state.closing_calls or state.closing_probes:
            state.closing_calls.clear()
            state.closing_probes.clear()
        self._expect_reply()
        return state.found

    def offer(self, event: model.Event) -> list[Violation]:
        """Check the next event of the reply.

        If a violation is fatal, nothing has changed, and the event must not be sent. Otherwise the event has taken
        effect: it cannot be withdrawn, and must be the next event of the reply.

        Args:
            event: an event of the decision component, with the timestamp that it will carry.
        """
        state = self._start()
        if state.expected is not _REPLY_IS_DUE:
            self._out_of_turn("it is not the decision component's turn to reply")
            return state.found
        state.index = self._accepted
        self._judge(event)
        if not state.refused:
            self._accepted += 1
        return state.found

    def close_reply(self, message: model.Message) -> list[Violation]:
        """Check the complete reply; then it is Batsim's turn.

        Args:
            message: the reply, with the events that were offered and accepted. Only its times are checked, and whether
                the simulation gets stuck after it.

        If a violation is fatal, nothing has changed: offer more events, or close the reply with another now.
        """
        state = self._start()
        if state.expected is not _REPLY_IS_DUE:
            self._out_of_turn("it is not the decision component's turn to reply")
            return state.found
        now = message.now
        if not state.now <= now < math.inf:
            _report_now(state, now)
        for event in message.events:
            if not event.timestamp <= now:
                _report_timestamps(state, message)
                break
        if not state.held.running and state.phase is _RUN:
            simulation.stuck(state)
        if not state.refused:
            self._go_on()
        return state.found

    # Whole messages

    @old_arguments(said="message")
    def feed(self, message: AnyMessage) -> list[Violation]:
        """Take the next message of either side, and return its violations.

        Args:
            message: raw bytes (for message 0 and 1 the handshake's frame, then messages in the format that the flags
                chose), or the value: `str` for message 0, `frames.Hello` or `Message` for message 1, then `Message`.

        The conversation continues after violations. After an unreadable message, the state is unknown, so only the
        form of later messages is checked.
        """
        state = self._start()
        number, blind = state.number, state.blind
        if state.expected is Expected.NOTHING:
            self._out_of_turn("the conversation is over")
            return state.found
        try:
            value = simulation.decoded(state, message)
        except DecodeError as error:
            simulation.unreadable(state, error)
            found = state.found
        else:
            found = [] if blind else self._fed(value)
        if state.number == number:  # refused, but sent
            self._go_on()
        return found

    def _fed(self, value: str | model.Message | frames.Hello) -> list[Violation]:
        """Pass a message to the method for its turn."""
        expected = self._state.expected
        if isinstance(value, str) and expected is Expected.INIT:
            return self.begin(value)
        if isinstance(value, frames.Hello) and expected is Expected.HELLO:
            return self.hello(value.message, value.flags)
        if isinstance(value, model.Message) and expected is Expected.HELLO:
            return self.hello(value)
        if isinstance(value, model.Message) and expected is Expected.BATSIM:
            return self.receive(value)
        if isinstance(value, model.Message) and expected is Expected.REPLY:
            return self._replied(value)
        self._out_of_turn(f"expected {expected.value}, got {an(type(value).__name__)}")
        return self._state.found

    def _replied(self, message: model.Message) -> list[Violation]:
        """Take a whole reply, which was sent even if it breaks a rule."""
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
            _report_now(state, message.now)
        _report_timestamps(state, message)
        return found + state.found

    # Common to all of them

    def _start(self) -> ConversationState:
        """Start the check of a message or an event."""
        state = self._state
        state.found = []
        state.refused = False
        state.index = -1
        return state

    def _go_on(self) -> None:
        """Go on to the next message."""
        state = self._state
        if state.expected is _BATSIM_SPEAKS:
            self._expect_reply()
            return
        state.number += 1
        if state.expected is _REPLY_IS_DUE:
            state.expected = _BATSIM_SPEAKS
            if state.phase is _END:
                state.phase, state.expected = Phase.OVER, Expected.NOTHING
        elif state.expected is Expected.INIT:
            state.phase, state.expected = Phase.HELLO, Expected.HELLO
        else:
            state.phase, state.expected = Phase.BEGIN, Expected.BATSIM

    def _expect_reply(self) -> None:
        """Expect a reply to Batsim's message."""
        state = self._state
        state.number += 1
        state.expected = _REPLY_IS_DUE
        state.first_timestamp = None
        self._accepted = 0

    def _out_of_turn(self, text: str) -> None:
        self._state.report_at("turn.order", "", text)

    def _judge(self, event: model.Event) -> None:
        """Check an event of a reply, and let it take effect if it may."""
        step()
        state = self._state
        kind = type(event)
        timestamp, first = event.timestamp, state.first_timestamp
        if (first is not None and not timestamp >= state.last_timestamp) or timestamp != timestamp:
            _report_order(state, timestamp)
        after = state.phase.steps.get(kind)
        handler = _FROM_EDC.get(kind)
        if after is None or handler is None:
            reader = _READERS.get(kind)
            if reader is not None:
                reader(state, event)
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

    def _misplaced(self, event: model.Event, wrong_direction: bool) -> None:
        """Report an event that cannot come in this phase, or not from this side."""
        state, kind = self._state, type(event)
        if wrong_direction:
            side = "Batsim" if kind in model.BATSIM_TO_EDC else "the decision component"
            state.report("event.wrong-direction", "", f"only {side} sends {kind.__name__}")
        elif state.phase in events.EVENTS[kind].misplaced:
            rule, text = events.EVENTS[kind].misplaced[state.phase]
            state.report(rule, "", text)
        elif state.phase is Phase.STOP and kind in _FROM_EDC:
            state.report("stop.dropped", "", f"a stop was requested, so Batsim drops {kind.__name__}")
        else:
            state.report("event.out-of-phase", "", f"{kind.__name__} cannot come here: {state.phase.meaning}")


# Times: the now of a message, and the timestamps of its events.


def _report_order(state: ConversationState, timestamp: float) -> None:
    """Report the timestamp of an event of a reply that is not after those before it."""
    path, first = f"events[{state.index}].timestamp", state.first_timestamp
    if timestamp != timestamp or first is None:
        state.report_at("time.not-a-number", path, "the timestamp is not a number")
    elif timestamp < first:
        text = f"timestamp {timestamp} is before that of the first event, {first}"
        state.report_at("time.before-first", path, text)
    else:
        text = f"timestamp {timestamp} is before that of the event before it, {state.last_timestamp}"
        state.report_at("time.order", path, text)


def _report_now(state: ConversationState, now: float, infinite: str = "time.infinite") -> None:
    """Report what is wrong with the now of a message of the decision component.

    Args:
        state: the state, which takes the report.
        now: the now, which is before the state's own, or is not a time.
        infinite: the rule that an infinite now breaks.
    """
    if now == math.inf:
        state.report_at(infinite, "now", "now is infinite")
    elif now != now:
        state.report_at("time.now-not-a-number", "now", "now is not a number")
    else:
        state.report_at("time.past", "now", f"now is {now}, and the simulated time is {state.now}")


def _report_timestamps(state: ConversationState, message: model.Message) -> None:
    """Report the events of a message that are after its now."""
    for index, event in enumerate(message.events):
        step()
        if not event.timestamp <= message.now and event.timestamp == event.timestamp:
            state.index = index
            _report_after_now(state, event, message)


def _report_after_now(state: ConversationState, event: model.Event, message: model.Message) -> None:
    """Report an event that is after the now of its message."""
    text = f"timestamp {event.timestamp} of {type(event).__name__} is after now, {message.now}"
    state.report_at("time.after-now", f"events[{state.index}].timestamp", text)
