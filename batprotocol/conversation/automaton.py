"""The automata of a conversation: turns and phases, and the tables of jobs, hosts and registration.

In the tables, each state has the events that can come in it, with the state that each event leads to. The modules of
the topics decide which rule another event breaks. The table `events` defines which events come in which phase.
`docs/explanation/conversation.md` shows drawings of all automata.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias

from batprotocol import model

__all__ = ["EventType", "Expected", "HostPower", "JobState", "Phase", "Registration"]

EventType: TypeAlias = type[model.Event]


class Expected(Enum):
    """What the next message must be."""

    INIT = "the text of the initialization data"
    HELLO = "a hello"
    BATSIM = "a message of Batsim"
    REPLY = "a reply"
    NOTHING = "nothing"


class Phase(Enum):
    """The phase of a conversation. `steps` maps the type of each possible event to the phase that it leads to."""

    INIT = "before the initialization data"
    HELLO = "before the hello"
    BEGIN = "before SimulationBeginsEvent"
    RUN = "the simulation runs"
    STOP = "a stop was requested"
    END = "the simulation has ended"
    OVER = "the conversation is over"

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning
        self.steps: dict[EventType, Phase] = {}


class JobState(Enum):
    """The state of a job. `steps` maps the type of each possible event to the state that it leads to."""

    UNKNOWN = "neither submitted nor registered"
    SUBMITTED = "in the queue: submitted, or registered"
    RUNNING = "executed"
    KILL_PENDING = "executed, and its kill was requested"
    COMPLETED = "over, and Batsim has forgotten it"
    REJECTED = "rejected, and Batsim soon forgets it"

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning
        self.steps: dict[EventType, JobState] = {}


class HostPower(Enum):
    """Whether a host is on. `steps` maps the type of each possible event to the state that it leads to."""

    ON = "in a computation state"
    SWITCHING_OFF = "on the way to a sleep state"
    ASLEEP = "in a sleep state"
    SWITCHING_ON = "on the way to a computation state"

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning
        self.steps: dict[EventType, HostPower] = {}


class Registration(Enum):
    """Whether jobs and profiles can be registered. `steps` as above."""

    NOT_REQUESTED = "not requested"
    OPEN = "open: more jobs and profiles may come"
    FINISHED = "finished: no more are to come"

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning
        self.steps: dict[EventType, Registration] = {}


JOBS: Final[Mapping[JobState, Mapping[EventType, JobState]]] = {
    JobState.UNKNOWN: {model.JobSubmittedEvent: JobState.SUBMITTED, model.RegisterJobEvent: JobState.SUBMITTED},
    JobState.SUBMITTED: {model.ExecuteJobEvent: JobState.RUNNING, model.RejectJobEvent: JobState.REJECTED},
    JobState.RUNNING: {model.KillJobsEvent: JobState.KILL_PENDING, model.JobCompletedEvent: JobState.COMPLETED},
    JobState.KILL_PENDING: {model.KillJobsEvent: JobState.KILL_PENDING, model.JobCompletedEvent: JobState.COMPLETED},
    JobState.COMPLETED: {model.JobsKilledEvent: JobState.COMPLETED},
    JobState.REJECTED: {},
}

HOSTS: Final[Mapping[HostPower, Mapping[EventType, HostPower]]] = {
    HostPower.ON: {model.TurnOnOffHostsEvent: HostPower.SWITCHING_OFF},
    HostPower.SWITCHING_OFF: {model.HostsTurnedOnOffEvent: HostPower.ASLEEP},
    HostPower.ASLEEP: {model.TurnOnOffHostsEvent: HostPower.SWITCHING_ON},
    HostPower.SWITCHING_ON: {model.HostsTurnedOnOffEvent: HostPower.ON},
}

REGISTRATION: Final[Mapping[Registration, Mapping[EventType, Registration]]] = {
    Registration.NOT_REQUESTED: {},
    Registration.OPEN: {
        model.RegisterProfileEvent: Registration.OPEN,
        model.RegisterJobEvent: Registration.OPEN,
        model.FinishRegistrationEvent: Registration.FINISHED,
    },
    Registration.FINISHED: {model.FinishRegistrationEvent: Registration.FINISHED},
}

# Each state carries its own row, so that a step is two look-ups by identity: enum members are slow to hash.
for _job, _job_steps in JOBS.items():
    _job.steps.update(_job_steps)
for _host, _host_steps in HOSTS.items():
    _host.steps.update(_host_steps)
for _registration, _registration_steps in REGISTRATION.items():
    _registration.steps.update(_registration_steps)
