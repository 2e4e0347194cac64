"""The canonical form of messages: two messages with the same effect have equal forms.

`CanonicalForms` follows one side of a comparison, and replaces the parts of each message that have no effect: the ids
of calls and probes, the notation of host sets, units and absent values, and the order of independent events.
`difference` then finds the first difference of two messages. Times and measures that are close count as equal.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import zip_longest
from math import inf, isclose
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from batprotocol import model
from batprotocol.conversation.hostsets import read_hosts
from batprotocol.errors import shown
from batprotocol.model import Direction, Doubles, Event, Message
from batprotocol.model.value import Value
from batprotocol.recordings.statistics import canonical_hosts

__all__ = [
    "FORMS",
    "TOLERANCE",
    "CanonicalForms",
    "CanonicalMessage",
    "MessageDifference",
    "RequestedIds",
    "as_milliseconds",
    "canonical_resources",
    "difference",
    "in_order",
    "label",
]

# The ids that a decision component made up become what they stand for: when a call or a probe was requested, and how


_FACTORS = {model.TimeUnit.Second: 1000}


def as_milliseconds(trigger: model.TemporalTrigger) -> model.TemporalTrigger:
    """The same trigger in milliseconds, the smallest unit that there is.

    >>> as_milliseconds(model.OneShot(2)).time
    2000
    """
    factor, unit = _FACTORS.get(trigger.time_unit, 1), model.TimeUnit.Millisecond
    if factor == 1:
        return trigger
    if isinstance(trigger, model.OneShot):
        return model.OneShot(trigger.time * factor, unit)
    return model.Periodic(trigger.period * factor, trigger.offset * factor, unit, trigger.mode)


class _PendingRequest(NamedTuple):
    """A call or a probe: when it is due (infinite if it is periodic), and its name."""

    due: float
    number: int
    name: str


class RequestedIds:
    """The names of calls or of probes, which replace their ids."""

    def __init__(self) -> None:
        self._asked: dict[str, list[_PendingRequest]] = {}
        self._count = 0

    def ask(self, id: str, trigger: model.TemporalTrigger, place: str) -> str:
        """The name of a new request with this id, from its place in the conversation and its trigger."""
        self._count += 1
        name = f"{place}, {trigger!r}"
        due = trigger.time / 1000.0 if isinstance(trigger, model.OneShot) else inf
        insort(self._asked.setdefault(id, []), _PendingRequest(due, self._count, name))
        return name

    def fire(self, id: str, time: float, *, last: bool) -> str:
        """The canonical form of the call that fires with this id at this time, or the id if it was not requested.

        Args:
            id: the id.
            time: the time, in simulated seconds.
            last: whether a periodic one ends with this.
        """
        asked = self._asked.get(id)
        if not asked:
            return id
        found = asked[-1] if last or asked[0].due > time + 1e-6 else asked[0]
        if last or found.due < inf:
            self._drop(id, found)
        return found.name

    def stop(self, id: str) -> str:
        """The name of the periodic request with this id, which ends."""
        asked = self._asked.get(id)
        if not asked or asked[-1].due < inf:
            return id
        found = asked[-1]
        self._drop(id, found)
        return found.name

    def get(self, id: str) -> str:
        """The last request with this id."""
        asked = self._asked.get(id)
        return asked[-1].name if asked else id

    def _drop(self, id: str, found: _PendingRequest) -> None:
        self._asked[id].remove(found)
        if not self._asked[id]:
            del self._asked[id]


# The order of independent events, derived from the data that they read and change


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


def _job_of(event: Any) -> _Touched:
    return _Touched([f"job {event.job_id}"])


def _jobs(event: Any) -> _Touched:
    return _Touched([f"job {each}" for each in event.job_ids])


def _hosts_of(event: Any) -> _Touched:
    return _Touched(hosts=_mask(event.host_ids))


_TOUCHED: Final[Mapping[type[model.Event], Callable[[Any], _Touched]]] = {
    # Which job was submitted first decides where it is in the queue of many schedulers.
    model.JobSubmittedEvent: lambda event: _Touched([f"job {event.job_id}", _QUEUE]),
    model.AllStaticJobsHaveBeenSubmittedEvent: lambda event: _Touched([_QUEUE]),
    model.JobCompletedEvent: _job_of,
    model.JobsKilledEvent: _jobs,
    model.ProbeDataEmittedEvent: _probe,
    model.RequestedCallEvent: _call,
    model.HostsPStateChangedEvent: _hosts_of,
    model.HostsTurnedOnOffEvent: _hosts_of,
    model.ExternalEventOccurredEvent: lambda event: _Touched(["external events"]),
    model.AllStaticExternalEventsHaveBeenInjectedEvent: lambda event: _Touched(["external events"]),
    model.RejectJobEvent: _job_of,
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
    model.ChangeHostsPStateEvent: _hosts_of,
    model.TurnOnOffHostsEvent: _hosts_of,
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
    """The canonical order of events: the same one for all messages that differ in the order of independent events only.

    Args:
        events: those of a message.
        tolerance: how many seconds times may differ and still be equal.

    Returns:
        The places of the events, in canonical order.
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


# The form of one event: host sets, what is absent or empty, full ids, sets


def _job(job_id: str, job: model.Job) -> model.Job:
    profile_id = job.profile_id if "!" in job.profile_id else f"{job_id.partition('!')[0]}!{job.profile_id}"
    walltime = None if job.walltime is not None and job.walltime < 0 else job.walltime
    extra_data = job.extra_data or None
    if (profile_id, walltime, extra_data) == (job.profile_id, job.walltime, job.extra_data):
        return job
    return replace(job, profile_id=profile_id, walltime=walltime, extra_data=extra_data)


def _profile(given: model.ProfileAndId | None) -> model.ProfileAndId | None:
    return given if given is None or given.extra_data is None or given.extra_data else replace(given, extra_data=None)


def _profiles(given: tuple[model.ProfileAndId, ...] | None) -> tuple[model.ProfileAndId, ...]:
    return tuple(sorted((each for each in map(_profile, given or ()) if each), key=lambda each: each.id))


def _submitted(event: model.JobSubmittedEvent) -> model.JobSubmittedEvent:
    job, profile = _job(event.job_id, event.job), _profile(event.profile)
    return event if job is event.job and profile is event.profile else replace(event, job=job, profile=profile)


def _registered(event: model.RegisterJobEvent) -> model.RegisterJobEvent:
    job = _job(event.job_id, event.job)
    return event if job is event.job else replace(event, job=job)


def _register_profile(event: model.RegisterProfileEvent) -> model.RegisterProfileEvent:
    return replace(event, profile=_profile(event.profile))


def _executed(event: model.ExecuteJobEvent) -> model.ExecuteJobEvent:
    allocation = event.allocation
    hosts = canonical_hosts(allocation.host_allocation)
    is_plain = event.profile_allocation_override is None and event.storage_placement is None
    if is_plain and hosts == allocation.host_allocation:
        return event
    overrides = (
        replace(each, host_allocation=canonical_hosts(each.host_allocation))
        for each in event.profile_allocation_override or ()
    )
    return replace(
        event,
        allocation=replace(allocation, host_allocation=hosts),
        profile_allocation_override=tuple(sorted(overrides, key=lambda each: each.profile_id)) or None,
        storage_placement=tuple(sorted(event.storage_placement or (), key=lambda each: each.storage_name)) or None,
    )


def _kill(event: model.KillJobsEvent) -> model.KillJobsEvent:
    return event if len(event.job_ids) < 2 else replace(event, job_ids=tuple(sorted(event.job_ids)))


def _killed(event: model.JobsKilledEvent) -> model.JobsKilledEvent:
    return replace(
        event,
        job_ids=tuple(sorted(event.job_ids)),
        progresses=tuple(sorted(event.progresses, key=lambda each: each.job_id)),
        profiles=_profiles(event.profiles) or None,
    )


def _hosts(event: Any) -> Any:
    hosts = canonical_hosts(event.host_ids)
    return event if hosts == event.host_ids else replace(event, host_ids=hosts)


def canonical_resources(resources: model.Resources) -> model.Resources:
    """The resources of a probe."""
    if isinstance(resources, model.LinkResources):
        return resources
    hosts = canonical_hosts(resources.host_ids)
    return resources if hosts == resources.host_ids else model.HostResources(hosts)


def _begins(event: model.SimulationBeginsEvent) -> model.SimulationBeginsEvent:
    """How Batsim was started, which versions speak and where the inputs lie is not what happens in the simulation."""

    def hosts(given: tuple[model.Host, ...]) -> tuple[model.Host, ...]:
        plain = (
            replace(each, properties=each.properties or None, zone_properties=each.zone_properties or None)
            for each in given
        )
        return tuple(sorted(plain, key=lambda host: host.id))

    return replace(
        event,
        batprotocol_version="",
        batsim_version="",
        batsim_commit=None,
        computation_hosts=hosts(event.computation_hosts),
        storage_hosts=hosts(event.storage_hosts),
        batsim_arguments=(),
        batsim_execution_context_json="",
        workloads=tuple(replace(each, filename="") for each in event.workloads),
        external_event_lists=tuple(replace(each, filename="") for each in event.external_event_lists),
        profiles=_profiles(event.profiles) or None,
    )


def _hello(event: model.EDCHelloEvent) -> model.EDCHelloEvent:
    """The hello without the name and the version of the decision component."""
    return replace(
        event,
        batprotocol_version="",
        batprotocol_commit=None,
        decision_component_name="",
        decision_component_version="",
        decision_component_commit=None,
    )


FORMS: Final[Mapping[type[model.Event], Callable[[Any], Any]]] = {
    model.JobSubmittedEvent: _submitted,
    model.JobsKilledEvent: _killed,
    model.SimulationBeginsEvent: _begins,
    model.HostsPStateChangedEvent: _hosts,
    model.HostsTurnedOnOffEvent: _hosts,
    model.EDCHelloEvent: _hello,
    model.ExecuteJobEvent: _executed,
    model.KillJobsEvent: _kill,
    model.RegisterJobEvent: _registered,
    model.RegisterProfileEvent: _register_profile,
    model.ChangeHostsPStateEvent: _hosts,
    model.TurnOnOffHostsEvent: _hosts,
}
"""The function that makes the canonical form of each type of event."""


# The first difference of two messages


TOLERANCE: Final = 1e-6
"""Seconds that times may differ: the last digit of Batsim's own files."""

_TIMES: Final = frozenset(["now", "timestamp", "submission_time"])
_MEASURES: Final = frozenset(["progress", "data"])
_CLOSE: Final = 1e-9
_LAST_DECIMAL: Final = 1e-12
_MEASURED: Final = 1e-6

ABSENT: Final = "nothing"


class CanonicalMessage(NamedTuple):
    """The canonical form of a message.

    Attributes:
        message: the form, with its events in canonical order.
        events: the events of the message itself, in the same order.
    """

    message: Message
    events: tuple[Event, ...]

    @classmethod
    def exactly(cls, message: Message) -> CanonicalMessage:
        """A message as its own canonical form."""
        return cls(message, message.events)


class MessageDifference(NamedTuple):
    """Where two messages differ first.

    Attributes:
        place: the field, in the words of the schema, behind the event that it is of; or which events differ.
        one: what is there in the first message, as text.
        other: what is there in the second.
    """

    place: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.place}: {self.one} and {self.other}"


def difference(
    one: CanonicalMessage, other: CanonicalMessage, tolerance: float = TOLERANCE
) -> MessageDifference | None:
    """Where two messages differ first, or None if they are alike.

    Args:
        one: a form of one side, see `CanonicalForms`.
        other: a form of the other side.
        tolerance: how many seconds times may differ.

    >>> print(difference(CanonicalMessage.exactly(Message(1.0)), CanonicalMessage.exactly(Message(2.0))))
    now: 1.0 and 2.0
    """
    if one.message == other.message:
        return None
    mine, theirs = (list(map(label, each.message.events)) for each in (one, other))
    if mine != theirs:
        return _events(mine, theirs, one, other)
    for said, first, second in zip(one.events, one.message.events, other.message.events, strict=True):
        found = _fields(first, second, "", tolerance)
        if found is not None:
            return MessageDifference(f"{_titled(said)}, {found.place}", found.one, found.other)
    now, then = one.message.now, other.message.now
    return None if _alike(now, then, "now", tolerance) else MessageDifference("now", repr(now), repr(then))


def _titled(event: Event) -> str:
    """What an event is called, with the ids that it was said with."""
    kind, about = label(event)
    return f"{kind} of {shown(about)}" if about else kind


def _events(
    mine: list[tuple[str, str]], theirs: list[tuple[str, str]], one: CanonicalMessage, other: CanonicalMessage
) -> MessageDifference:
    """Events that only one of them has, or else those that stand in another order."""
    only_mine, only_theirs = Counter(mine) - Counter(theirs), Counter(theirs) - Counter(mine)
    if not only_mine and not only_theirs:
        place = next(number for number, (name, also) in enumerate(zip(mine, theirs, strict=True)) if name != also)
        return MessageDifference("the order of events", _titled(one.events[place]), _titled(other.events[place]))
    first = next((_titled(said) for name, said in zip(mine, one.events, strict=True) if name in only_mine), ABSENT)
    second = next(
        (_titled(said) for name, said in zip(theirs, other.events, strict=True) if name in only_theirs), ABSENT
    )
    return MessageDifference("events", first, second)


def _fields(one: Any, other: Any, name: str, tolerance: float) -> MessageDifference | None:
    """The first field in which two values differ."""
    if _alike(one, other, name.rpartition(".")[2].partition("[")[0], tolerance):
        return None
    if type(one) is type(other) and isinstance(one, Value):
        for field in one.__struct_fields__:
            path = f"{name}.{field}" if name else field
            found = _fields(getattr(one, field), getattr(other, field), path, tolerance)
            if found is not None:
                return found
        return None
    if isinstance(one, tuple | Doubles) and isinstance(other, tuple | Doubles):
        for place, (first, second) in enumerate(zip_longest(one, other, fillvalue=ABSENT)):
            found = _fields(first, second, f"{name}[{place}]", tolerance)
            if found is not None:
                return found
        return None
    return MessageDifference(name, _written(one), _written(other))


def _written(value: Any) -> str:
    if value is None or value is ABSENT:
        return ABSENT
    return repr(value) if isinstance(value, float) else shown(value)


def _alike(one: Any, other: Any, name: str, tolerance: float) -> bool:
    """Whether two values are equal, or close enough where they are numbers."""
    if one == other:
        return True
    if not (isinstance(one, float | int) and isinstance(other, float | int)):
        return False
    if name in _TIMES:
        return abs(one - other) <= tolerance
    if isinstance(one, float) or isinstance(other, float):
        if one != one and other != other:
            return True
        if name in _MEASURES:
            return isclose(one, other, rel_tol=_MEASURED, abs_tol=_CLOSE)
        return isclose(one, other, rel_tol=_CLOSE, abs_tol=_LAST_DECIMAL)
    return False


# The forms of the messages of a conversation


class CanonicalForms:
    """Follows a conversation from its first message on, and makes the canonical form of each message.

    Args:
        tolerance: how many seconds times may differ and still be equal.

    >>> forms = CanonicalForms()
    >>> kill = model.KillJobsEvent(job_ids=["w0!2", "w0!1"], timestamp=1.0)
    >>> forms.of(Direction.EDC_TO_BATSIM, Message(1.0, [kill])).message.events[0].job_ids
    ('w0!1', 'w0!2')
    """

    def __init__(self, tolerance: float = TOLERANCE) -> None:
        self._tolerance = tolerance
        self._number = 0
        self._now = 0.0
        self._calls = RequestedIds()
        self._probes = RequestedIds()

    def of(self, direction: Direction, message: Message) -> CanonicalMessage:
        """The canonical form of the next message.

        Args:
            direction: its direction. A request of the decision component takes effect at Batsim's own time or later.
            message: the message.
        """
        self._number += 1
        if direction is Direction.BATSIM_TO_EDC:
            self._now = message.now
        said = message.events
        events = [self._form(event, direction) for event in said]
        places = in_order(events, self._tolerance)
        now = message.now
        if direction is Direction.EDC_TO_BATSIM and now < self._now:
            now = self._now
        return CanonicalMessage(
            Message(now, tuple(events[place] for place in places)), tuple(said[place] for place in places)
        )

    def skip(self) -> None:
        """The next message is left out, as it cannot be read."""
        self._number += 1

    def _form(self, event: model.Event, direction: Direction) -> model.Event:
        if direction is Direction.EDC_TO_BATSIM and event.timestamp < self._now:
            event = replace(event, timestamp=self._now)
        kind = type(event)
        form = FORMS.get(kind)
        if form is not None:
            found: model.Event = form(event)
            return found
        named = _NAMED.get(kind)
        return event if named is None else named(self, event)

    # Events with ids that were made up

    def _call(self, event: model.CallMeLaterEvent) -> model.Event:
        when = as_milliseconds(event.when)
        name = self._calls.ask(event.call_me_later_id, when, f"of message {self._number}")
        return replace(event, call_me_later_id=name, when=when)

    def _called(self, event: model.RequestedCallEvent) -> model.Event:
        name = self._calls.fire(event.call_me_later_id, event.timestamp, last=event.last_periodic_call)
        return replace(event, call_me_later_id=name)

    def _stop_call(self, event: model.StopCallMeLaterEvent) -> model.Event:
        return replace(event, call_me_later_id=self._calls.stop(event.call_me_later_id))

    def _create(self, event: model.CreateProbeEvent) -> model.Event:
        when, resources = as_milliseconds(event.measurement_triggering_policy), canonical_resources(event.resources)
        form = replace(event, measurement_triggering_policy=when, resources=resources)
        place = f"of message {self._number}, {replace(form, probe_id='', timestamp=0.0)!r}"
        return replace(form, probe_id=self._probes.ask(event.probe_id, when, place))

    def _probed(self, event: model.ProbeDataEmittedEvent) -> model.Event:
        name = self._probes.get(event.probe_id)
        return replace(event, probe_id=name, resources=canonical_resources(event.resources))

    def _stop_probe(self, event: model.StopProbeEvent) -> model.Event:
        return replace(event, probe_id=self._probes.stop(event.probe_id))

    def _probe(self, event: Any) -> model.Event:
        found: model.Event = replace(event, probe_id=self._probes.get(event.probe_id))
        return found


_NAMED: Final[Mapping[type[model.Event], Callable[[CanonicalForms, Any], model.Event]]] = {
    model.CallMeLaterEvent: CanonicalForms._call,
    model.RequestedCallEvent: CanonicalForms._called,
    model.StopCallMeLaterEvent: CanonicalForms._stop_call,
    model.CreateProbeEvent: CanonicalForms._create,
    model.ProbeDataEmittedEvent: CanonicalForms._probed,
    model.StopProbeEvent: CanonicalForms._stop_probe,
    model.TriggerProbeEvent: CanonicalForms._probe,
    model.ResetProbeEvent: CanonicalForms._probe,
}
"""The function that makes the canonical form of each type of event with an id of a call or a probe."""
