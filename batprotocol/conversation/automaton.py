"""The automata of a conversation, as tables: the whole of it, each job, each host, registration.

Read them as: in this state, this event leads there. An event that a state does not list cannot come in that state, and
which rule it then breaks is for the modules of the topics to say. `docs/conversation.md` shows these tables drawn.
This module must not know of rules, nor of the values of events beyond their types.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias

from batprotocol.model import (
    AllStaticExternalEventsHaveBeenInjectedEvent,
    AllStaticJobsHaveBeenSubmittedEvent,
    CallMeLaterEvent,
    ChangeHostsPStateEvent,
    CreateProbeEvent,
    EDCHelloEvent,
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
    ProbeDataEmittedEvent,
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

__all__ = ["HostPower", "JobState", "Phase", "Registration"]

EventType: TypeAlias = type[Event]


class Phase(Enum):
    """How far a conversation is. `steps` maps the type of each event that may come to the phase it leads to."""

    INIT = "before the initialization data"
    HELLO = "before the hello"
    BEGIN = "before SimulationBeginsEvent"
    RUN = "the simulation runs"
    STOP = "a stop was asked for"
    END = "the simulation has ended"
    OVER = "all is said"

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning
        self.steps: dict[EventType, Phase] = {}


class JobState(Enum):
    """What has become of a job. `steps` maps the type of each event that may come to the state it leads to."""

    UNKNOWN = "neither submitted nor registered"
    SUBMITTED = "in the queue: submitted, or registered"
    RUNNING = "executed"
    KILL_PENDING = "executed, and its kill was asked for"
    COMPLETED = "ended, and forgotten by Batsim"
    REJECTED = "rejected, and soon forgotten by Batsim"

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning
        self.steps: dict[EventType, JobState] = {}


class HostPower(Enum):
    """Whether a host is on. `steps` maps the type of each event that may come to the state it leads to."""

    ON = "in a computation state"
    SWITCHING_OFF = "on the way to a sleep state"
    ASLEEP = "in a sleep state"
    SWITCHING_ON = "on the way to a computation state"

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning
        self.steps: dict[EventType, HostPower] = {}


class Registration(Enum):
    """Whether jobs and profiles can be registered. `steps` as above."""

    NOT_REQUESTED = "dynamic_registration was not requested"
    OPEN = "a FinishRegistrationEvent is due"
    FINISHED = "nothing more will be registered"

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning
        self.steps: dict[EventType, Registration] = {}


# What is said between begin and end, and does not change the phase.
_WHILE_IT_RUNS: Final[tuple[EventType, ...]] = (
    JobSubmittedEvent,
    JobCompletedEvent,
    JobsKilledEvent,
    ProbeDataEmittedEvent,
    RequestedCallEvent,
    AllStaticJobsHaveBeenSubmittedEvent,
    AllStaticExternalEventsHaveBeenInjectedEvent,
    HostsPStateChangedEvent,
    HostsTurnedOnOffEvent,
    ExternalEventOccurredEvent,
    RejectJobEvent,
    ExecuteJobEvent,
    KillJobsEvent,
    RegisterProfileEvent,
    RegisterJobEvent,
    FinishRegistrationEvent,
    CreateProbeEvent,
    StopProbeEvent,
    TriggerProbeEvent,
    ResetProbeEvent,
    CallMeLaterEvent,
    StopCallMeLaterEvent,
    ChangeHostsPStateEvent,
    TurnOnOffHostsEvent,
)

# In the last reply these do no harm, though nothing will come of them.
_AT_THE_END: Final[tuple[EventType, ...]] = (
    RejectJobEvent,
    ExecuteJobEvent,
    KillJobsEvent,
    RegisterProfileEvent,
    FinishRegistrationEvent,
    TriggerProbeEvent,
    ResetProbeEvent,
    ChangeHostsPStateEvent,
)

# The initialization data and the last reply are no events; the conversation itself makes these two steps:
# INIT -> HELLO and END -> OVER.
PHASES: Final[Mapping[Phase, Mapping[EventType, Phase]]] = {
    Phase.INIT: {},
    Phase.HELLO: {EDCHelloEvent: Phase.BEGIN},
    Phase.BEGIN: {SimulationBeginsEvent: Phase.RUN, SimulationErrorEvent: Phase.END},
    Phase.RUN: {
        **dict.fromkeys(_WHILE_IT_RUNS, Phase.RUN),
        ForceSimulationStopEvent: Phase.STOP,
        SimulationEndsEvent: Phase.END,
        SimulationErrorEvent: Phase.END,
    },
    Phase.STOP: {SimulationEndsEvent: Phase.END, SimulationErrorEvent: Phase.END},
    Phase.END: dict.fromkeys(_AT_THE_END, Phase.END),
    Phase.OVER: {},
}

JOBS: Final[Mapping[JobState, Mapping[EventType, JobState]]] = {
    JobState.UNKNOWN: {JobSubmittedEvent: JobState.SUBMITTED, RegisterJobEvent: JobState.SUBMITTED},
    JobState.SUBMITTED: {ExecuteJobEvent: JobState.RUNNING, RejectJobEvent: JobState.REJECTED},
    JobState.RUNNING: {KillJobsEvent: JobState.KILL_PENDING, JobCompletedEvent: JobState.COMPLETED},
    JobState.KILL_PENDING: {KillJobsEvent: JobState.KILL_PENDING, JobCompletedEvent: JobState.COMPLETED},
    JobState.COMPLETED: {JobsKilledEvent: JobState.COMPLETED},
    JobState.REJECTED: {},
}

HOSTS: Final[Mapping[HostPower, Mapping[EventType, HostPower]]] = {
    HostPower.ON: {TurnOnOffHostsEvent: HostPower.SWITCHING_OFF},
    HostPower.SWITCHING_OFF: {HostsTurnedOnOffEvent: HostPower.ASLEEP},
    HostPower.ASLEEP: {TurnOnOffHostsEvent: HostPower.SWITCHING_ON},
    HostPower.SWITCHING_ON: {HostsTurnedOnOffEvent: HostPower.ON},
}

REGISTRATION: Final[Mapping[Registration, Mapping[EventType, Registration]]] = {
    Registration.NOT_REQUESTED: {},
    Registration.OPEN: {
        RegisterProfileEvent: Registration.OPEN,
        RegisterJobEvent: Registration.OPEN,
        FinishRegistrationEvent: Registration.FINISHED,
    },
    Registration.FINISHED: {FinishRegistrationEvent: Registration.FINISHED},
}

# Each state carries its own row, so that a step is two look-ups by identity: enum members are slow to hash.
for _phase, _phase_steps in PHASES.items():
    _phase.steps.update(_phase_steps)
for _job, _job_steps in JOBS.items():
    _job.steps.update(_job_steps)
for _host, _host_steps in HOSTS.items():
    _host.steps.update(_host_steps)
for _registration, _registration_steps in REGISTRATION.items():
    _registration.steps.update(_registration_steps)
