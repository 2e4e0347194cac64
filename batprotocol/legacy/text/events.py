"""The events of the text protocol, one for each of its sixteen stamps, and the message.

Sets of machines keep the text of the wire until you ask for them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from batprotocol._util.deprecation import old_names
from batprotocol.errors import HostSetError, shown
from batprotocol.model.hosts import parse_hosts
from batprotocol.model.value import TupleOf, Value, tuples_into

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = [
    "Energy",
    "EnergyRequest",
    "Event",
    "JobAllocation",
    "JobCompletion",
    "JobMachines",
    "JobRejection",
    "JobSubmission",
    "MachinesFailed",
    "MachinesRepaired",
    "Message",
    "Nop",
    "NopMeLater",
    "PStateChanged",
    "PStateRequest",
    "SimulationBegins",
    "SimulationEnds",
    "WaitingTime",
    "WaitingTimeQuery",
    "machines_of",
]

_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)


def machines_of(text: str) -> tuple[range, ...]:
    """The intervals of machines, in the order in which they are written.

    Args:
        text: `a` or `a-b`, separated by commas.

    Raises:
        HostSetError: the text has another form, or an interval is descending.

    >>> machines_of("3,0-1")
    (range(3, 4), range(0, 2))
    """
    found = []
    for part in text.split(","):
        interval = _PART.fullmatch(part)
        first = int(interval[1]) if interval else 0
        last = int(interval[2] or first) if interval else -1
        if first > last:
            raise HostSetError(
                f"{shown(text)} is not a set of machines: {shown(part)} is neither a machine nor an interval a-b"
            )
        found.append(range(first, last + 1))
    return tuple(found)


class Event(Value, frozen=True):
    """The base class of all events.

    Args:
        timestamp: the time of the event, in simulated seconds.
    """

    timestamp: float


class _OfJob(Event, frozen=True):
    job_id: str


class _OfMachines(Event, frozen=True):
    machines: str

    @property
    def hosts(self) -> ProcSet:
        """The machines as a `procset.ProcSet`."""
        return parse_hosts(self.machines)


class _OfPState(_OfMachines, frozen=True):
    pstate: int


class Nop(Event, frozen=True):
    """Both sides, stamp N: nothing happened, or do nothing."""


class JobSubmission(_OfJob, frozen=True):
    """Batsim, stamp S: a job was submitted.

    Args:
        job_id: the job, `workload!number`, and its number alone in versions 0 and 1. Its requests are in Redis; in
            versions 0 and 1, in the workload file.
    """


class JobCompletion(_OfJob, frozen=True):
    """Batsim, stamp C: a job has ended.

    Args:
        job_id: the job, `workload!number`, and its number alone in versions 0 and 1.
    """


class JobMachines(Value, frozen=True):
    """The machines of one job.

    Args:
        job_id: the job, `workload!number`, and its number alone in versions 0 and 1.
        machines: `1,2,0,3` or `0-3`, in the order of the executors.
    """

    job_id: str
    machines: str


class JobAllocation(Event, frozen=True):
    """Scheduler, stamp J: execute these jobs.

    Args:
        allocations: the machines of each job, for one job or more.
    """

    allocations: TupleOf[JobMachines]

    def __post_init__(self) -> None:
        tuples_into(self, "allocations")


class PStateRequest(_OfPState, frozen=True):
    """Scheduler, stamp P: change the power state of these machines.

    Args:
        machines: the machines.
        pstate: the number of the power state.
    """


class PStateChanged(_OfPState, frozen=True):
    """Batsim, stamp p: these machines are in the requested power state.

    Args:
        machines: the machines.
        pstate: the number of the power state.
    """


class JobRejection(_OfJob, frozen=True):
    """Scheduler, stamp R: this job will not be executed.

    Args:
        job_id: the job, `workload!number`, and its number alone in versions 0 and 1.
    """


class NopMeLater(Event, frozen=True):
    """Scheduler, stamp n: request a call at that time. Batsim answers with a `Nop`.

    Args:
        time: the time of the call, in simulated seconds.
    """

    time: float


class EnergyRequest(Event, frozen=True):
    """Scheduler, stamp E: how much energy was used?"""


class Energy(Event, frozen=True):
    """Batsim, stamp e: the energy that was used since the beginning.

    Args:
        consumed_energy: in joules.
    """

    consumed_energy: float


class SimulationBegins(Event, frozen=True):
    """Batsim, stamp A: the simulation begins, and Redis can be read."""


class SimulationEnds(Event, frozen=True):
    """Batsim, stamp Z: the simulation has ended."""


class MachinesFailed(_OfMachines, frozen=True):
    """Batsim, stamp F: no job can be executed on these machines any more.

    Args:
        machines: the machines.
    """


class MachinesRepaired(_OfMachines, frozen=True):
    """Batsim, stamp f: jobs can be executed on these machines again.

    Args:
        machines: the machines.
    """


class WaitingTimeQuery(Event, frozen=True):
    """Batsim, stamp Q: how long would such a job wait? The sources of version 3 have it, but no Batsim sends it.

    Args:
        submitter: the submitter that asks.
        nb_res: how many machines the job would request.
        processing_time: how many seconds it would run.
    """

    submitter: str
    nb_res: int
    processing_time: float


class WaitingTime(Event, frozen=True):
    """Scheduler, stamp W: the time that such a job would wait.

    Args:
        submitter: the submitter that asked.
        nb_res: how many machines the job would request.
        processing_time: how many seconds it would run.
        expected_time: how many seconds it would wait.
    """

    submitter: str
    nb_res: int
    processing_time: float
    expected_time: float


class Message(Value, frozen=True):
    """The events of one turn, and its time.

    Args:
        version: the version of the protocol in the message, in [0,3]. Batsim ignores it in a scheduler's message.
        now: the time at which it is sent, in simulated seconds. Batsim ignores it in a scheduler's message.
        events: one event or more, in chronological order. Batsim's events are not later than `now`. A scheduler's
            events are not earlier than the `now` of the message that it answers, and Batsim waits until each.

    >>> Message(3, 2.0, [Nop(2.0)])
    Message(version=3, now=2.0, events=(Nop(timestamp=2.0),))
    """

    version: int
    now: float
    events: TupleOf[Event]

    def __post_init__(self) -> None:
        if type(self.events) is not tuple:
            tuples_into(self, "events")


__getattr__ = old_names(__name__, {"Allocation": "JobMachines"})
