"""Conversion between messages in text and events of JSON 1.x, so that each translation needs to be written only once.

The conversion loses the order of machines, and several allocations in one event. Messages in text do not describe jobs
and hosts: a `SimulationBegins` has no hosts, and a `JobSubmitted` has only the name. A scheduler's `N` becomes an
`OtherEvent` of this name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from batprotocol.legacy.json import events as j
from batprotocol.legacy.text import events as t
from batprotocol.legacy.text.stamps import BY_VALUE
from batprotocol.model import Direction, format_hosts, parse_hosts

__all__ = ["NOP", "from_json", "to_json"]

NOP: Final = "NOP"
"""The name of a scheduler's `N`: Batsim waits until its time, and does nothing then."""


def to_json(message: t.Message, direction: Direction | None = None) -> j.Message:
    """Convert a message in text to events of JSON.

    Args:
        message: the message.
        direction: the side that sends it; None: the side that its stamps show, by default Batsim. The time of a
            scheduler's message is the time of its last event, because Batsim reads no other time.

    >>> to_json(t.Message(3, 1.0, [t.JobRejection(1.0, "w0!1")])).events
    (RejectJob(timestamp=1.0, job_id='w0!1', extra={}, beside={}),)
    >>> to_json(t.Message(3, 2.0, [t.Nop(1.5)])).events
    (RequestedCall(timestamp=1.5, extra={}, beside={}),)
    """
    if direction is None:
        direction = _direction(message)
    is_batsim = direction is Direction.BATSIM_TO_EDC
    now = message.now if is_batsim else max(event.timestamp for event in message.events)
    return j.Message(now, tuple(each for event in message.events for each in _to_json(event, is_batsim)))


def _direction(message: t.Message) -> Direction:
    said = [BY_VALUE[type(event)].directions for event in message.events]
    certain = next((directions for directions in said if len(directions) == 1), (Direction.BATSIM_TO_EDC,))
    return certain[0]


def _to_json(event: t.Event, is_batsim: bool) -> Iterator[j.Event]:
    time = event.timestamp
    match event:
        case t.Nop():
            yield j.RequestedCall(time) if is_batsim else j.OtherEvent(time, NOP, {})
        case t.JobSubmission():
            yield j.JobSubmitted(time, event.job_id)
        case t.JobCompletion():
            yield j.JobCompleted(time, event.job_id, job_state="COMPLETED_SUCCESSFULLY")
        case t.JobAllocation():
            yield from (j.ExecuteJob(time, each.job_id, format_hosts(each.machines)) for each in event.allocations)
        case t.PStateRequest():
            yield j.SetResourceState(time, format_hosts(event.machines), str(event.pstate))
        case t.PStateChanged():
            yield j.ResourceStateChanged(time, format_hosts(event.machines), str(event.pstate))
        case t.JobRejection():
            yield j.RejectJob(time, event.job_id)
        case t.NopMeLater():
            yield j.CallMeLater(time, event.time)
        case t.EnergyRequest():
            yield j.QueryRequest(time, {"consumed_energy": {}})
        case t.Energy():
            yield j.QueryReply(time, {"energy_consumed": event.consumed_energy})
        case t.SimulationBegins():
            yield j.SimulationBegins(time)
        case t.SimulationEnds():
            yield j.SimulationEnds(time)
        case t.MachinesFailed():
            yield j.Notify(time, "event_machine_unavailable", extra={"resources": format_hosts(event.machines)})
        case t.MachinesRepaired():
            yield j.Notify(time, "event_machine_available", extra={"resources": format_hosts(event.machines)})
        case _:
            yield j.OtherEvent(time, type(event).__name__, {})


def from_json(message: j.Message, version: int = 3) -> tuple[t.Message, list[j.Event]]:
    """Convert a message of JSON to text. Returns also the events for which this version of text has no stamp.

    If no event remains, the message holds an `N` at its time.

    >>> from_json(j.Message(1.0, [j.RequestedCall(1.0), j.SetJobMetadata(1.0, "w0!1", "x")]))[0].events
    (Nop(timestamp=1.0),)
    """
    found: list[t.Event] = []
    left: list[j.Event] = []
    for event in message.events:
        said = [each for each in _from_json(event, version) if BY_VALUE[type(each)].since <= version]
        found += said
        if not said:
            left.append(event)
    return t.Message(version, message.now, tuple(found) or (t.Nop(message.now),)), left


def _machines(hosts: str, version: int = 3) -> str:
    """Machines in ascending order; version 0 requires them one by one."""
    return ",".join(map(str, parse_hosts(hosts)) if version == 0 else str(parse_hosts(hosts)).split())


def _from_json(event: j.Event, version: int) -> Iterator[t.Event]:
    time = event.timestamp
    match event:
        case j.JobSubmitted():
            yield t.JobSubmission(time, event.job_id)
        case j.JobCompleted():
            yield t.JobCompletion(time, event.job_id)
        case j.ExecuteJob():
            yield t.JobAllocation(time, (t.Allocation(event.job_id, _machines(event.alloc, version)),))
        case j.SetResourceState():
            for machines in _groups(event.resources, version):
                yield t.PStateRequest(time, machines, int(event.state))
        case j.ResourceStateChanged():
            for machines in _groups(event.resources, version):
                yield t.PStateChanged(time, machines, int(event.state))
        case j.RejectJob():
            yield t.JobRejection(time, event.job_id)
        case j.CallMeLater():
            yield t.NopMeLater(time, event.time)
        case j.QueryRequest():
            yield t.EnergyRequest(time)
        case j.QueryReply() if event.consumed_energy is not None:
            yield t.Energy(time, event.consumed_energy)
        case j.SimulationBegins():
            yield t.SimulationBegins(time)
        case j.SimulationEnds():
            yield t.SimulationEnds(time)
        case j.RequestedCall() | j.OtherEvent(type="NOP"):
            yield t.Nop(time)
        case j.Notify(type="event_machine_unavailable"):
            yield t.MachinesFailed(time, _machines(str(event.extra.get("resources", ""))))
        case j.Notify(type="event_machine_available"):
            yield t.MachinesRepaired(time, _machines(str(event.extra.get("resources", ""))))


def _groups(hosts: str, version: int) -> list[str]:
    machines = _machines(hosts, version)
    return machines.split(",") if version == 0 else [machines]
