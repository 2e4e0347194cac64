"""Scheduler, the base class of schedulers: a method for each event of Batsim, and the reply to fill in.

It must not know of sockets or bytes: `run` moves those, and tests hand it messages as values.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from batprotocol.conversation import DEFAULT_RULE_SET, Conversation
from batprotocol.edc.reply import Reply, Verdicts, logger
from batprotocol.edc.session import LAST_EVENTS, Session, Turn, hello_message
from batprotocol.model import (
    AllStaticExternalEventsHaveBeenInjectedEvent,
    AllStaticJobsHaveBeenSubmittedEvent,
    EDCRequestedSimulationFeatures,
    Event,
    ExternalEventOccurredEvent,
    HostsPStateChangedEvent,
    HostsTurnedOnOffEvent,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    Message,
    ProbeDataEmittedEvent,
    RequestedCallEvent,
    SimulationBeginsEvent,
    SimulationEndsEvent,
    SimulationErrorEvent,
)

__all__ = ["METHODS", "Scheduler", "attend_to", "rehearse"]


class Scheduler:
    """A scheduler: override the methods of the events that matter, and fill in `self.reply`.

    Attributes:
        name: what Batsim is told, without comma or double quote; the name of the class unless told otherwise.
        version: likewise.
        commit: likewise.
        features: what is asked of the simulation; `on_init` may still set it.

    For each message of Batsim, the methods of its events are called in their order, then `decide`; then the reply is
    sent. A method of the reply raises `RuleViolation`, in the line that called it, where Batsim would abort.

    >>> class Rejecter(Scheduler):
    ...     def on_job_submitted(self, event):
    ...         self.reply.add_reject_job(event.job_id)
    """

    name: str = ""
    version: str = "0"
    commit: str = ""
    features: EDCRequestedSimulationFeatures = EDCRequestedSimulationFeatures()

    _turn: Turn | None = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name in vars(cls):
            if name.startswith("on_") and name not in _KNOWN:
                near = difflib.get_close_matches(name, _KNOWN, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise TypeError(f"{cls.__name__}.{name} would never be called: there is no such event{hint}")

    # While a message is being answered

    @property
    def reply(self) -> Reply:
        """The reply to fill in: a `MessageBuilder` at the time of the message. Only while a message is answered."""
        return self._open_turn().reply

    @property
    def message(self) -> Message:
        """The message that is being answered."""
        return self._open_turn().message

    @property
    def now(self) -> float:
        """The time of the message that is being answered, in simulated seconds."""
        return self._open_turn().message.now

    @property
    def conversation(self) -> Conversation:
        """What is known of the simulation: jobs, hosts, calls, probes. The events of the message have taken effect."""
        return self._open_turn().conversation

    def _open_turn(self) -> Turn:
        if self._turn is None:
            raise RuntimeError("there is nothing to reply to yet: the first message is the one of on_simulation_begins")
        return self._turn

    # To be overridden

    def on_init(self, text: str) -> None:
        """The simulator has connected.

        Args:
            text: the initialization data, free text from Batsim's command line; often empty, often JSON.
        """

    def decide(self) -> None:
        """All events of the message have been told: the place for decisions that need them all.

        Not called for the last message, with which the simulation ends.
        """

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        """The simulation begins; the event tells the platform."""

    def on_simulation_ends(self, event: SimulationEndsEvent) -> None:
        """The simulation has ended; the reply is the last one, and stays empty."""

    def on_simulation_error(self, event: SimulationErrorEvent) -> None:
        """The simulation has failed; the reply is the last one. Unless this is overridden, the error is logged."""
        logger.error("the simulation has failed: %s", event.error)

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        """A job was submitted: execute it or reject it, now or later."""

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        """A job has ended by itself, at its walltime, or because it was killed."""

    def on_jobs_killed(self, event: JobsKilledEvent) -> None:
        """Jobs were killed as asked; each of them was completed before."""

    def on_all_static_jobs_have_been_submitted(self, event: AllStaticJobsHaveBeenSubmittedEvent) -> None:
        """No more jobs will come, but those that are registered."""

    def on_requested_call(self, event: RequestedCallEvent) -> None:
        """A call that was asked for with `add_call_me_later` is due."""

    def on_probe_data_emitted(self, event: ProbeDataEmittedEvent) -> None:
        """A probe that was asked for with `add_create_probe` has data."""

    def on_hosts_pstate_changed(self, event: HostsPStateChangedEvent) -> None:
        """Hosts have changed their power state as asked."""

    def on_hosts_turned_on_off(self, event: HostsTurnedOnOffEvent) -> None:
        """Hosts have finished turning on or off as asked."""

    def on_external_event_occurred(self, event: ExternalEventOccurredEvent) -> None:
        """An external event has occurred."""

    def on_all_static_external_events_have_been_injected(
        self, event: AllStaticExternalEventsHaveBeenInjectedEvent
    ) -> None:
        """No more external events will come."""

    # Called by those that run it

    def hello(self, text: str) -> Message:
        """The first message, for these initialization data. It calls `on_init`."""
        self.on_init(text)
        return hello_message(self.name or type(self).__name__, self.version, self.commit, self.features)

    def player(self, conversation: Conversation) -> Callable[[Message], Message]:
        """What replies to messages as values: for simulators in the same process, whose conversation is shared.

        Args:
            conversation: has received each message before, and is told of the events of the reply.

        The function raises `RuleViolation` where the reply asks for something that Batsim would not survive.
        """
        attend, verdicts = attend_to(self), Verdicts()

        def answer(message: Message) -> Message:
            reply = Reply(conversation, verdicts, message.now)
            attend(Turn(message, reply, conversation))
            return reply.message()

        return answer


METHODS: Final[Mapping[type[Event], str]] = {
    SimulationBeginsEvent: "on_simulation_begins",
    SimulationEndsEvent: "on_simulation_ends",
    SimulationErrorEvent: "on_simulation_error",
    JobSubmittedEvent: "on_job_submitted",
    JobCompletedEvent: "on_job_completed",
    JobsKilledEvent: "on_jobs_killed",
    AllStaticJobsHaveBeenSubmittedEvent: "on_all_static_jobs_have_been_submitted",
    RequestedCallEvent: "on_requested_call",
    ProbeDataEmittedEvent: "on_probe_data_emitted",
    HostsPStateChangedEvent: "on_hosts_pstate_changed",
    HostsTurnedOnOffEvent: "on_hosts_turned_on_off",
    ExternalEventOccurredEvent: "on_external_event_occurred",
    AllStaticExternalEventsHaveBeenInjectedEvent: "on_all_static_external_events_have_been_injected",
}
"""The method of each event that Batsim sends."""

_NOTHING: Final = {getattr(Scheduler, name) for name in METHODS.values()} - {Scheduler.on_simulation_error}
"""The methods that do nothing, and need not be called."""

_KNOWN: Final = frozenset(["on_init", *METHODS.values()])


def attend_to(scheduler: Scheduler) -> Callable[[Turn], None]:
    """What lets a scheduler fill in the reply of a turn. Methods that are not overridden cost nothing."""
    overridden = {
        event_type: getattr(scheduler, name)
        for event_type, name in METHODS.items()
        if getattr(type(scheduler), name) not in _NOTHING or name in vars(scheduler)
    }
    decides = type(scheduler).decide is not Scheduler.decide or "decide" in vars(scheduler)

    def attend(turn: Turn) -> None:
        scheduler._turn = turn
        for event in turn.message.events:
            method = overridden.get(type(event))
            if method is not None:
                method(event)
        if decides and LAST_EVENTS.isdisjoint(map(type, turn.message.events)):
            scheduler.decide()

    return attend


def rehearse(
    scheduler: Scheduler, messages: Iterable[Message], init: str = "", rules: str = DEFAULT_RULE_SET
) -> list[Message]:
    """What a scheduler replies to these messages of Batsim, without Batsim and without a socket: for tests.

    Args:
        scheduler: the scheduler.
        messages: what Batsim says, from the message with `SimulationBeginsEvent` on.
        init: the initialization data.
        rules: the rule set that the replies are checked with.

    Returns:
        The replies, one for each message; the hello is not among them.

    Raises:
        RuleViolation: the scheduler asked for something that Batsim would not survive.

    >>> from batprotocol import MessageBuilder
    >>> builder = MessageBuilder()
    >>> builder.add_simulation_begins(batsim_version="5.0.0", computation_hosts=[])
    >>> rehearse(Scheduler(), [builder.finish_message()])
    [Message(now=0.0, events=())]
    """
    session = Session(scheduler.hello, rules=rules)
    session.hear_init(init)
    attend = attend_to(scheduler)
    replies = []
    for message in messages:
        attend(session.hear(message))
        replies.append(session.say())
    return replies
