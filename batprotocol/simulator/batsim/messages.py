"""The messages from actors to Batsim's server. Decisions of the decision component are posted as events."""

from __future__ import annotations

from typing import Any

import msgspec

from batprotocol.model import JobAndProgress, ProbeDataEmittedEvent
from batprotocol.simulator.batsim.jobs import SimulatedJob
from batprotocol.workloads import Submission, TimedEvent

__all__ = [
    "AllEventsInjected",
    "AllJobsSubmitted",
    "CallDue",
    "CallStopped",
    "CallsTriggered",
    "EmptyReply",
    "EndPeriodicCalls",
    "EventsOccurred",
    "HostSwitched",
    "JobEnded",
    "JobsKilled",
    "JobsSubmitted",
    "ReplyDelivered",
    "SubmitterStarted",
]


class SubmitterStarted(msgspec.Struct, frozen=True):
    """A submitter has started."""


class JobsSubmitted(msgspec.Struct, frozen=True):
    """Jobs of a workload are submitted together."""

    jobs: list[Submission]


class EventsOccurred(msgspec.Struct, frozen=True):
    """External events of a list occur together."""

    events: list[TimedEvent]


class AllJobsSubmitted(msgspec.Struct, frozen=True):
    """A workload has no more jobs."""


class AllEventsInjected(msgspec.Struct, frozen=True):
    """A list has no more external events."""


class ReplyDelivered(msgspec.Struct, frozen=True):
    """All decisions of the last reply have been delivered."""


class EmptyReply(msgspec.Struct, frozen=True):
    """The last reply has no decision. Schedulers with the text protocol state this explicitly."""


class JobEnded(msgspec.Struct, frozen=True):
    """A job has ended without a kill."""

    job: SimulatedJob


class JobsKilled(msgspec.Struct, frozen=True):
    """The jobs of a kill are dead, or had ended before."""

    jobs: list[SimulatedJob]
    progresses: list[JobAndProgress]


class CallDue(msgspec.Struct, frozen=True):
    """A one-shot call is due."""

    call_me_later_id: str


class CallsTriggered(msgspec.Struct, frozen=True):
    """Periodic calls and probes are due."""

    calls: list[tuple[str, bool]]
    data: list[tuple[str, ProbeDataEmittedEvent | None, bool]]


class CallStopped(msgspec.Struct, frozen=True):
    """A periodic call or probe has been stopped."""

    id: str
    is_probe: bool


class HostSwitched(msgspec.Struct, frozen=True):
    """A host has been turned on or off."""

    host: int
    request: Any


class EndPeriodicCalls(msgspec.Struct, frozen=True):
    """The last message to the periodic actor."""
