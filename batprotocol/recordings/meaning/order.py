"""The canonical order of independent events, derived from the data that the events read and change.

Events that read or change something in common keep their order, as do events of different times; all others are put in
the order of their names. Two messages whose events can be exchanged until they are the same come out the same: that is
the lexicographic normal form of traces (Anisimov and Knuth, 1979).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

from batprotocol import model
from batprotocol.conversation.hostsets import read_hosts

__all__ = ["in_order", "label"]

_HIGHEST: Final = 2**20
"""Hosts beyond this are taken for all of them: a set of hosts is as many bits as its highest one."""
_ALL: Final = (1 << _HIGHEST) - 1

_QUEUE, _REGISTRATION, _EVERYTHING = "the queue", "the registration", "everything"


class _Touched(NamedTuple):
    """The names that an event changes and reads, and the hosts that it changes."""

    changes: Iterable[str] = ()
    reads: Iterable[str] = ()
    hosts: int = 0


def _mask(text: str) -> int:
    hosts = read_hosts(text)
    return hosts.mask if hosts.last < _HIGHEST else _ALL


def _parts(profile: model.Profile) -> tuple[str, ...]:
    return tuple(f"profile {each}" for each in getattr(profile, "profile_ids", ()))


def _call(event: Any) -> _Touched:
    return _Touched([f"call {event.call_me_later_id}"])


def _probe(event: Any) -> _Touched:
    return _Touched([f"probe {event.probe_id}"])


def _job(event: Any) -> _Touched:
    return _Touched([f"job {event.job_id}"])


def _jobs(event: Any) -> _Touched:
    return _Touched([f"job {each}" for each in event.job_ids])


def _hosts(event: Any) -> _Touched:
    return _Touched(hosts=_mask(event.host_ids))


_TOUCHED: Final[Mapping[type[model.Event], Callable[[Any], _Touched]]] = {
    # Which job was submitted first decides where it is in the queue of many schedulers.
    model.JobSubmittedEvent: lambda event: _Touched([f"job {event.job_id}", _QUEUE]),
    model.AllStaticJobsHaveBeenSubmittedEvent: lambda event: _Touched([_QUEUE]),
    model.JobCompletedEvent: _job,
    model.JobsKilledEvent: _jobs,
    model.ProbeDataEmittedEvent: _probe,
    model.RequestedCallEvent: _call,
    model.HostsPStateChangedEvent: _hosts,
    model.HostsTurnedOnOffEvent: _hosts,
    model.ExternalEventOccurredEvent: lambda event: _Touched(["external events"]),
    model.AllStaticExternalEventsHaveBeenInjectedEvent: lambda event: _Touched(["external events"]),
    model.RejectJobEvent: _job,
    model.ExecuteJobEvent: lambda event: _Touched(
        [f"job {event.job_id}"], hosts=_mask(event.allocation.host_allocation)
    ),
    model.KillJobsEvent: _jobs,
    model.RegisterProfileEvent: lambda event: _Touched(
        [f"profile {event.profile.id}"], [_REGISTRATION, *_parts(event.profile.profile)]
    ),
    model.RegisterJobEvent: lambda event: _Touched(
        [f"job {event.job_id}", _QUEUE], [_REGISTRATION, f"profile {event.job.profile_id}"]
    ),
    model.FinishRegistrationEvent: lambda event: _Touched([_REGISTRATION]),
    model.CallMeLaterEvent: _call,
    model.StopCallMeLaterEvent: _call,
    model.CreateProbeEvent: _probe,
    model.StopProbeEvent: _probe,
    model.TriggerProbeEvent: _probe,
    model.ResetProbeEvent: _probe,
    model.ChangeHostsPStateEvent: _hosts,
    model.TurnOnOffHostsEvent: _hosts,
}
"""The function that finds the names each type of event reads and changes. Other types (the end, a stop) change all."""

_LABELS: Final = ("job_id", "job_ids", "host_ids", "probe_id", "call_me_later_id", "profile", "id")


def label(event: model.Event) -> tuple[str, str]:
    """The label of an event: its type and its subject."""
    for name in _LABELS:
        about = getattr(event, name, None)
        if about is not None:
            about = about.id if isinstance(about, model.ProfileAndId) else about
            return type(event).__name__, about if isinstance(about, str) else " ".join(about)
    return type(event).__name__, ""


def in_order(events: Sequence[model.Event], tolerance: float) -> list[int]:
    """The places of events in the one order of all messages that are the same but for the order of what commutes.

    Args:
        events: those of a message.
        tolerance: how many seconds times may differ and still be one.
    """
    if len(events) < 2:
        return list(range(len(events)))
    places: list[int] = []
    for group in _groups(events, tolerance):
        places += group if len(group) == 1 else _sorted(events, group)
    return places


def _groups(events: Sequence[model.Event], tolerance: float) -> Iterator[list[int]]:
    """The places of events of one time each."""
    group: list[int] = []
    for place, event in enumerate(events):
        if group and not abs(event.timestamp - events[group[0]].timestamp) <= tolerance:
            yield group
            group = []
        group.append(place)
    yield group


def _sorted(events: Sequence[model.Event], group: list[int]) -> list[int]:
    """These places so that each comes behind those that it must, and else in the order of the events' names."""
    behind, waits = _constraints([events[place] for place in group])
    ready = [(label(events[place]), number) for number, place in enumerate(group) if not waits[number]]
    heapify(ready)
    found: list[int] = []
    while ready:
        _, number = heappop(ready)
        found.append(group[number])
        for other in behind[number]:
            waits[other] -= 1
            if not waits[other]:
                heappush(ready, (label(events[group[other]]), other))
    return found


def _constraints(events: Sequence[model.Event]) -> tuple[list[list[int]], list[int]]:
    """For each event, those that must come behind it, and how many it must come behind itself."""
    before: list[set[int]] = [set() for _ in events]
    changed: dict[str, int] = {}
    read: dict[str, list[int]] = {}
    holders: dict[int, int] = {}  # by event, the hosts that no later one has changed
    all_hosts = 0
    for number, event in enumerate(events):
        touched = _TOUCHED.get(type(event))
        changes, reads, hosts = touched(event) if touched is not None else _Touched([_EVERYTHING])
        if touched is None:
            before[number].update(range(number))
        for name in (*changes, *reads, _EVERYTHING):
            if name in changed:
                before[number].add(changed[name])
        for name in changes:
            before[number].update(read.pop(name, ()))
            changed[name] = number
        for name in reads:
            read.setdefault(name, []).append(number)
        if hosts & all_hosts:
            for other in [other for other, mask in holders.items() if mask & hosts]:
                before[number].add(other)
                holders[other] &= ~hosts
                if not holders[other]:
                    del holders[other]
        if hosts:
            holders[number] = hosts
            all_hosts |= hosts
        before[number].discard(number)
    behind: list[list[int]] = [[] for _ in events]
    for number, others in enumerate(before):
        for other in others:
            behind[other].append(number)
    return behind, [len(others) for others in before]
