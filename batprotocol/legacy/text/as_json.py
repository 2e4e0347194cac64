"""What is said in text in the words of JSON 1.x, and back: for rules and translations, which then need be written once.

What is lost: the order of machines, and several allocations or several `N` in one event. Jobs and hosts are not told in
text, so a `SimulationBegins` holds none, and a `JobSubmitted` its name only.
"""

from __future__ import annotations

from collections.abc import Iterator

from batprotocol.legacy.json import events as j
from batprotocol.legacy.text import events as t
from batprotocol.model import format_hosts, parse_hosts

__all__ = ["from_json", "to_json"]


def to_json(message: t.Message) -> j.Message:
    """A message in text, in the words of JSON.

    >>> to_json(t.Message(3, 1.0, [t.JobRejection(1.0, "w0!1")])).events
    (RejectJob(timestamp=1.0, job_id='w0!1', extra={}, beside={}),)
    """
    return j.Message(message.now, tuple(each for event in message.events for each in _to_json(event)))


def _to_json(event: t.Event) -> Iterator[j.Event]:
    time = event.timestamp
    match event:
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


def from_json(message: j.Message, version: int = 3) -> tuple[t.Message, list[j.Event]]:
    """A message in the words of JSON, in text; and the events that text has no stamp for.

    >>> from_json(j.Message(1.0, [j.RequestedCall(1.0), j.SetJobMetadata(1.0, "w0!1", "x")]))[0].events
    (Nop(timestamp=1.0),)
    """
    found: list[t.Event] = []
    left: list[j.Event] = []
    for event in message.events:
        said = _from_json(event)
        if said is None:
            left.append(event)
        else:
            found.append(said)
    return t.Message(version, message.now, tuple(found) or (t.Nop(message.now),)), left


def _machines(hosts: str) -> str:
    return ",".join(str(parse_hosts(hosts)).split())


def _from_json(event: j.Event) -> t.Event | None:
    time = event.timestamp
    match event:
        case j.JobSubmitted():
            return t.JobSubmission(time, event.job_id)
        case j.JobCompleted():
            return t.JobCompletion(time, event.job_id)
        case j.ExecuteJob():
            return t.JobAllocation(time, (t.Allocation(event.job_id, _machines(event.alloc)),))
        case j.SetResourceState():
            return t.PStateRequest(time, _machines(event.resources), int(event.state))
        case j.ResourceStateChanged():
            return t.PStateChanged(time, _machines(event.resources), int(event.state))
        case j.RejectJob():
            return t.JobRejection(time, event.job_id)
        case j.CallMeLater():
            return t.NopMeLater(time, event.time)
        case j.QueryRequest():
            return t.EnergyRequest(time)
        case j.QueryReply() if event.consumed_energy is not None:
            return t.Energy(time, event.consumed_energy)
        case j.SimulationBegins():
            return t.SimulationBegins(time)
        case j.SimulationEnds():
            return t.SimulationEnds(time)
        case j.RequestedCall():
            return t.Nop(time)
        case j.Notify(type="event_machine_unavailable"):
            return t.MachinesFailed(time, _machines(str(event.extra.get("resources", ""))))
        case j.Notify(type="event_machine_available"):
            return t.MachinesRepaired(time, _machines(str(event.extra.get("resources", ""))))
    return None
