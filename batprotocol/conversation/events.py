"""The table of all events: when each can come, and which functions check it.

This is the only place where the conversation lists the events. The modules of the topics (`jobs`, `periodic`...) check
their contents; the rows refer to the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from batprotocol import model
from batprotocol.conversation import hosts, jobs, periodic, registration, simulation
from batprotocol.conversation.automaton import EventType, Phase
from batprotocol.conversation.state import ConversationState

__all__ = ["EVENTS", "FROM_BATSIM", "FROM_EDC", "PHASES", "READERS"]

Judge: TypeAlias = Callable[[ConversationState, Any], None]
"""A function that reports the violations of an event, and lets it take effect if possible."""


class EventRules(NamedTuple):
    """The rules for a type of event.

    Attributes:
        steps: the phases in which it can come, each with the phase that it leads to.
        judge: checks it against the state, in a phase in which it can come.
        read: reports what Batsim refuses when it reads the event, in any state and phase. `judge` calls it first.
        misplaced: for a phase in which it cannot come, the rule that it breaks and the text, unless this is
            `event.out-of-phase`.
    """

    steps: Mapping[Phase, Phase]
    judge: Judge
    read: Judge | None = None
    misplaced: Mapping[Phase, tuple[str, str]] = {}


def _nothing(state: ConversationState, event: model.Event) -> None:
    """This event only leads to another phase."""


def _not_implemented(state: ConversationState, event: model.Event) -> None:
    state.report("event.not-implemented", "", f"{type(event).__name__} is not implemented")


def _too_late(rule: str, text: str) -> Mapping[Phase, tuple[str, str]]:
    """The rule that an event breaks in the last reply."""
    return {Phase.END: (rule, text)}


# When an event can come, for those that do not change the phase.
_WHILE_IT_RUNS: Final = {Phase.RUN: Phase.RUN}
_ALSO_AT_THE_END: Final = {Phase.RUN: Phase.RUN, Phase.END: Phase.END}  # harmless, but without an effect

_HELLO_TWICE: Final = ("hello.twice", "the hello was sent before")

# The model defines which side sends an event. The order is the schema's.
EVENTS: Final[Mapping[EventType, EventRules]] = {
    # Batsim
    model.JobSubmittedEvent: EventRules(_WHILE_IT_RUNS, jobs.submitted),
    model.JobCompletedEvent: EventRules(_WHILE_IT_RUNS, jobs.completed),
    model.JobsKilledEvent: EventRules(_WHILE_IT_RUNS, jobs.killed),
    model.ProbeDataEmittedEvent: EventRules(_WHILE_IT_RUNS, periodic.probe_data),
    model.RequestedCallEvent: EventRules(_WHILE_IT_RUNS, periodic.requested_call),
    model.SimulationBeginsEvent: EventRules({Phase.BEGIN: Phase.RUN}, simulation.begins),
    model.SimulationEndsEvent: EventRules({Phase.RUN: Phase.END, Phase.STOP: Phase.END}, simulation.ends),
    model.SimulationErrorEvent: EventRules(dict.fromkeys((Phase.BEGIN, Phase.RUN, Phase.STOP), Phase.END), _nothing),
    model.AllStaticJobsHaveBeenSubmittedEvent: EventRules(_WHILE_IT_RUNS, simulation.all_static_submitted),
    model.AllStaticExternalEventsHaveBeenInjectedEvent: EventRules(_WHILE_IT_RUNS, simulation.all_external_injected),
    model.HostsPStateChangedEvent: EventRules(_WHILE_IT_RUNS, hosts.pstate_changed),
    model.HostsTurnedOnOffEvent: EventRules(_WHILE_IT_RUNS, hosts.turned_on_off),
    model.ExternalEventOccurredEvent: EventRules(_WHILE_IT_RUNS, simulation.external_event),
    # The decision component
    model.RejectJobEvent: EventRules(_ALSO_AT_THE_END, jobs.reject, jobs.read_reject),
    model.ExecuteJobEvent: EventRules(_ALSO_AT_THE_END, jobs.execute, jobs.read_execute),
    model.KillJobsEvent: EventRules(_ALSO_AT_THE_END, jobs.kill, jobs.read_kill),
    model.RegisterProfileEvent: EventRules(
        _ALSO_AT_THE_END, registration.register_profile, registration.read_register_profile
    ),
    model.RegisterJobEvent: EventRules(
        _WHILE_IT_RUNS,
        registration.register_job,
        registration.read_register_job,
        _too_late("end.register-job", "the simulation has ended: this job can never be executed"),
    ),
    model.CreateProbeEvent: EventRules(
        _WHILE_IT_RUNS,
        periodic.create_probe,
        periodic.read_create_probe,
        _too_late("end.create-probe", "the simulation has ended: this probe can never measure"),
    ),
    model.StopProbeEvent: EventRules(
        _WHILE_IT_RUNS,
        periodic.stop_probe,
        misplaced=_too_late("end.stop-probe", "the simulation has ended, and all probes with it"),
    ),
    model.TriggerProbeEvent: EventRules(_ALSO_AT_THE_END, _not_implemented, _not_implemented),
    model.ResetProbeEvent: EventRules(_ALSO_AT_THE_END, _not_implemented, _not_implemented),
    model.CallMeLaterEvent: EventRules(
        _WHILE_IT_RUNS,
        periodic.call_me_later,
        misplaced=_too_late("end.call-me-later", "the simulation has ended: this call can never fire"),
    ),
    model.StopCallMeLaterEvent: EventRules(
        _WHILE_IT_RUNS,
        periodic.stop_call,
        misplaced=_too_late("end.stop-call", "the simulation has ended, and all calls with it"),
    ),
    model.EDCHelloEvent: EventRules(
        {Phase.HELLO: Phase.BEGIN}, simulation.hello, misplaced={Phase.RUN: _HELLO_TWICE, Phase.END: _HELLO_TWICE}
    ),
    model.FinishRegistrationEvent: EventRules(_ALSO_AT_THE_END, registration.finish_registration),
    model.ForceSimulationStopEvent: EventRules(
        {Phase.RUN: Phase.STOP},
        jobs.force_stop,
        misplaced=_too_late("end.force-stop", "the simulation has already ended"),
    ),
    model.ChangeHostsPStateEvent: EventRules(_ALSO_AT_THE_END, hosts.change_pstate, hosts.read_change_pstate),
    model.TurnOnOffHostsEvent: EventRules(
        _WHILE_IT_RUNS,
        hosts.turn_on_off,
        hosts.read_turn_on_off,
        _too_late("end.turn-on-off", "the simulation has ended"),
    ),
}

# Each part of a row that a message needs takes a single look-up. Compiled code looks up a dict faster than a Mapping.

FROM_BATSIM: Final[dict[EventType, Judge]] = {
    kind: row.judge for kind, row in EVENTS.items() if kind in model.BATSIM_TO_EDC
}
FROM_EDC: Final[dict[EventType, Judge]] = {
    kind: row.judge for kind, row in EVENTS.items() if kind in model.EDC_TO_BATSIM
}
READERS: Final[dict[EventType, Judge]] = {kind: row.read for kind, row in EVENTS.items() if row.read is not None}

# The initialization data and the last reply are not events; the conversation itself makes these two steps:
# INIT -> HELLO and END -> OVER.
PHASES: Final[Mapping[Phase, Mapping[EventType, Phase]]] = {
    phase: {kind: row.steps[phase] for kind, row in EVENTS.items() if phase in row.steps} for phase in Phase
}
for _phase, _steps in PHASES.items():
    _phase.steps.update(_steps)
