"""What the actors tell Batsim's server. Decisions of the decision component are posted as they are: as events."""

from __future__ import annotations

from typing import Any, NamedTuple

from batprotocol.model import JobAndProgress, ProbeDataEmittedEvent
from batprotocol.simulator.inputs import Submission, TimedEvent

__all__ = [
    "AllEventsInjected",
    "AllJobsSubmitted",
    "CallDue",
    "Greeting",
    "JobEnded",
    "JobsKilled",
    "Occurred",
    "Ready",
    "Stopped",
    "Submitted",
    "Switched",
    "Triggered",
]


class Greeting(NamedTuple):
    """A submitter is there."""


class Submitted(NamedTuple):
    """Jobs of a workload are submitted together."""

    jobs: list[Submission]


class Occurred(NamedTuple):
    """External events of a list occur together."""

    events: list[TimedEvent]


class AllJobsSubmitted(NamedTuple):
    """A workload has no more jobs."""


class AllEventsInjected(NamedTuple):
    """A list has no more external events."""


class Ready(NamedTuple):
    """All decisions of the last reply have been told."""


class JobEnded(NamedTuple):
    """A job has ended by itself."""

    job: Any


class JobsKilled(NamedTuple):
    """What was to be killed is dead, or had ended before."""

    jobs: list[Any]
    killed: list[Any]
    progresses: list[JobAndProgress]


class CallDue(NamedTuple):
    """A one-shot call is due."""

    call_me_later_id: str


class Triggered(NamedTuple):
    """Periodic calls and probes are due."""

    calls: list[tuple[str, bool]]
    data: list[tuple[str, ProbeDataEmittedEvent | None, bool]]


class Stopped(NamedTuple):
    """A periodic call or probe has been stopped."""

    id: str
    is_probe: bool


class Switched(NamedTuple):
    """A host has been turned on or off."""

    host: int
    request: Any
