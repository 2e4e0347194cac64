"""Two runs compared: a change is found where it is, and what does not matter is no change."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from changes import (
    B2E,
    E2B,
    Run,
    changed,
    every,
    exchanged,
    in_json,
    loaded,
    renamed,
    rewritten,
    with_events,
    with_message,
    without,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from recorded import all_runs

from batprotocol import Message, model
from batprotocol.model import Direction
from batprotocol.recordings import Capture, Entry
from batprotocol.recordings.canonical import CanonicalForms, difference
from batprotocol.recordings.comparison import compare, ignored_differences, job_differences
from batprotocol.wire import frames

pytestmark = pytest.mark.once


@cache
def run_of(part: str) -> Run:
    """The recorded run whose name holds this."""
    return loaded(next(path for path in all_runs() if part in path.name))


def middle(run: Run, kind: type[Any]) -> tuple[int, int, Any]:
    """An event of a type, neither the first nor the last where there are more."""
    found = list(every(run, kind))
    assert found, kind
    return found[len(found) // 2]


CLUSTER, FORWARD, ENERGY = "fuzz__random-cluster", "fuzz__random-forward", "fuzz__random-energy"
REGISTRATION, ON_OFF, PSTATES = "fuzz__random-registration", "fuzz__random-onoff-cluster", "fuzz__random-pstates"


def shifted(event: Any, seconds: float = 0.01) -> dict[str, Any]:
    return {"timestamp": event.timestamp + seconds}


def another_host(event: model.ExecuteJobEvent) -> dict[str, Any]:
    hosts = model.parse_hosts(event.allocation.host_allocation)
    return {"allocation": replace(event.allocation, host_allocation=f"{hosts} {max(hosts) + 1}")}


def another_trigger(event: model.CallMeLaterEvent) -> dict[str, Any]:
    when = event.when
    return {
        "when": replace(when, **{name: getattr(when, name) + 1 for name in ("time", "period") if hasattr(when, name)})
    }


def another_progress(event: model.JobsKilledEvent) -> dict[str, Any]:
    first, *others = event.progresses
    assert isinstance(first.wrapper, model.KillProgressAtomicProfile)
    wrapper = replace(first.wrapper, progress=first.wrapper.progress + 1e-4)
    return {"progresses": (replace(first, wrapper=wrapper), *others)}


def more_energy(event: model.ProbeDataEmittedEvent) -> dict[str, Any]:
    if isinstance(event.data, model.AggregatedProbeData):
        return {"data": model.AggregatedProbeData(event.data.data + 1.0)}
    return {"data": model.VectorialProbeData([*event.data.data[:-1], event.data.data[-1] + 1.0])}


def faster(event: model.SimulationBeginsEvent) -> dict[str, Any]:
    first, *others = event.computation_hosts
    return {
        "computation_hosts": (replace(first, computation_speed=[2.0 * v for v in first.computation_speed]), *others)
    }


CHANGES: list[tuple[str, type[Any], Any]] = [
    (CLUSTER, model.JobCompletedEvent, shifted),
    (CLUSTER, model.ExecuteJobEvent, another_host),
    (CLUSTER, model.ExecuteJobEvent, lambda event: {"job_id": f"{event.job_id}x"}),
    (CLUSTER, model.JobSubmittedEvent, lambda event: {"submission_time": event.submission_time - 1.0}),
    (CLUSTER, model.JobSubmittedEvent, lambda event: {"job": replace(event.job, resource_request=99)}),
    (CLUSTER, model.JobSubmittedEvent, lambda event: {"job": replace(event.job, walltime=12345.0)}),
    (CLUSTER, model.JobCompletedEvent, lambda event: {"state": model.FinalJobState.REJECTED}),
    (CLUSTER, model.JobCompletedEvent, lambda event: {"return_code": 77}),
    (CLUSTER, model.KillJobsEvent, lambda event: {"job_ids": (*event.job_ids, "w0!more")}),
    (CLUSTER, model.SimulationBeginsEvent, faster),
    (CLUSTER, model.SimulationEndsEvent, shifted),
    ("PowerSaver__power-p", model.CreateProbeEvent, lambda event: {"metrics": model.Metrics.NetworkLoad}),
    (
        "PowerSaver__power-p",
        model.CreateProbeEvent,
        lambda event: {"measurement_triggering_policy": model.Periodic(61)},
    ),
    ("PowerSaver__power-p", model.ProbeDataEmittedEvent, more_energy),
    ("PowerSaver__power-p", model.TurnOnOffHostsEvent, lambda event: {"state": event.state + 1}),
    ("PowerSaver__power-p", model.HostsTurnedOnOffEvent, lambda event: {"host_ids": "0"}),
    (PSTATES, model.ChangeHostsPStateEvent, lambda event: {"pstate": event.pstate + 1}),
    (REGISTRATION, model.RegisterJobEvent, lambda event: {"job": replace(event.job, walltime=777.0)}),
    (REGISTRATION, model.RegisterProfileEvent, lambda event: {"profile": replace(event.profile, id="dyn!other")}),
    ("plan__calls", model.CallMeLaterEvent, another_trigger),
    ("plan__calls", model.RequestedCallEvent, lambda event: {"last_periodic_call": not event.last_periodic_call}),
    ("fuzz__random-small", model.JobsKilledEvent, another_progress),
    ("fuzz__random-small", model.RejectJobEvent, shifted),
    ("external-event-check", model.ExternalEventOccurredEvent, lambda event: {"id": "other"}),
]


@pytest.mark.parametrize(("part", "kind", "change"), CHANGES)
def test_a_changed_event_is_found_where_it_is(part: str, kind: type[Any], change: Any) -> None:
    run = run_of(part)
    number, place, event = middle(run, kind)
    fields = change(event)
    other = changed(run, number, place, **fields)
    if "timestamp" in fields:
        message = other[number].message
        assert message is not None
        other = with_message(other, number, replace(message, now=max(message.now, fields["timestamp"])))
    for pair in ((run, other), (other, run)):
        parting = compare(*pair)
        assert parting is not None
        assert parting.number == number
        assert (parting.one, parting.other) == (pair[0][number], pair[1][number])
        assert parting.known == parting.known_in_other
        assert parting.known.number == number - 1


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (CLUSTER, model.KillJobsEvent),
        (CLUSTER, model.ExecuteJobEvent),
        (CLUSTER, model.JobSubmittedEvent),
        ("plan__calls", model.CallMeLaterEvent),
        (REGISTRATION, model.FinishRegistrationEvent),
        ("PowerSaver__power-p", model.StopProbeEvent),
    ],
)
def test_a_dropped_event_is_found_where_it_was(part: str, kind: type[Any]) -> None:
    run = run_of(part)
    number, place, _ = middle(run, kind)
    parting = compare(run, without(run, number, place))
    assert parting is not None
    assert parting.number == number
    assert kind.__name__ in parting.difference.one


def test_more_that_is_found() -> None:
    run = run_of(CLUSTER)
    number, place, event = middle(run, model.ExecuteJobEvent)
    message = run[number].message
    assert message is not None
    more = [*message.events, model.RejectJobEvent(job_id="w0!more", timestamp=message.now)]
    asked = run[1].message
    assert asked is not None
    features = replace(asked.events[0].requested_simulation_features, profile_reuse=True)
    rejected = model.RejectJobEvent(job_id=event.job_id, timestamp=event.timestamp)
    cases: list[tuple[int, Run]] = [
        (number, with_events(run, number, more)),
        (number, with_message(run, number, replace(message, now=message.now + 5.0))),
        (number, with_events(run, number, [*message.events[:place], rejected, *message.events[place + 1 :]])),
        (number, [*run[:number], Entry(number, E2B, b"garbage"), *run[number + 1 :]]),
        (number, run[:number]),
        (number, [*run[:number], Entry(number, B2E, run[number].data), *run[number + 1 :]]),
        (1, changed(run, 1, 0, requested_simulation_features=features)),
    ]
    for expected, other in cases:
        for pair in ((run, other), (other, run)):
            parting = compare(*pair)
            assert parting is not None
            assert parting.number == expected, parting.difference


def test_the_order_of_submissions_is_that_of_the_queue() -> None:
    run = next(each for each in map(loaded, all_runs()) if two_at_once(each) is not None)
    number = two_at_once(run)
    assert number is not None
    message = run[number].message
    assert message is not None
    parting = compare(run, with_events(run, number, list(message.events[::-1])))
    assert parting is not None
    assert (parting.number, parting.difference.place) == (number, "the order of events")


def two_at_once(run: Run) -> int | None:
    for entry in run:
        events = entry.message.events if entry.message is not None else ()
        if len(events) > 1 and all(isinstance(event, model.JobSubmittedEvent) for event in events):
            return entry.number
    return None


ANYWHERE = ("CreateProbe", "Execute", "Kill", "Call", "Reject", "Turn", "Change", "Register", "Finish", "Stop", "Job")


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_an_event_less_or_more_is_found_wherever_it_is(data: st.DataObject) -> None:
    run = run_of(data.draw(st.sampled_from([CLUSTER, ENERGY, REGISTRATION, ON_OFF, PSTATES, "plan__calls"])))
    events = [each for each in every(run, object) if type(each[2]).__name__.startswith(ANYWHERE)]
    number, place, event = data.draw(st.sampled_from(events))
    message = run[number].message
    assert message is not None
    twice = with_events(run, number, [*message.events[: place + 1], event, *message.events[place + 1 :]])
    for other in (without(run, number, place), twice):
        for pair in ((run, other), (other, run)):
            parting = compare(*pair)
            assert parting is not None
            assert parting.number == number


# What does not matter


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.minutes)])
def test_the_two_formats_of_one_run_differ_nowhere(every: int) -> None:
    names = {path.name: path for path in all_runs()}
    twins = [(path, names.get(name.replace("__binary", "__json"))) for name, path in names.items()]
    pairs = [(one, other) for one, other in twins if other is not None and other != one]
    assert len(pairs) > 3
    for binary, json in pairs[::every]:
        with Capture(binary) as one, Capture(json) as other:
            assert compare(one, other) is None, binary.name
            assert list(job_differences(one, other)) == []


def written_otherwise(direction: Direction, message: Message) -> Message:
    """Other ways to write the same: hosts one by one, milliseconds, nothing in place of what is empty."""

    def hosts(text: str) -> str:
        return " ".join(map(str, reversed(list(model.parse_hosts(text)))))

    def other(event: Any) -> Any:
        if isinstance(event, model.ExecuteJobEvent):
            allocation = replace(event.allocation, host_allocation=hosts(event.allocation.host_allocation))
            return replace(
                event, allocation=allocation, profile_allocation_override=event.profile_allocation_override or ()
            )
        if hasattr(event, "host_ids"):
            return replace(event, host_ids=hosts(event.host_ids))
        if isinstance(event, model.CallMeLaterEvent) and isinstance(event.when, model.OneShot):
            factor = 1000 if event.when.time_unit is model.TimeUnit.Second else 1
            return replace(event, when=model.OneShot(event.when.time * factor, model.TimeUnit.Millisecond))
        if isinstance(event, model.KillJobsEvent):
            return replace(event, job_ids=event.job_ids[::-1])
        if isinstance(event, model.EDCHelloEvent):
            return replace(event, decision_component_name="other", decision_component_version="9")
        if isinstance(event, model.SimulationBeginsEvent):
            return replace(
                event, batsim_version="9", batsim_arguments=("else",), computation_hosts=event.computation_hosts[::-1]
            )
        return event

    return replace(message, events=tuple(map(other, message.events)))


def a_little_later(direction: Direction, message: Message) -> Message:
    """Times that differ in the seventh decimal."""
    events = tuple(replace(event, timestamp=event.timestamp + 4e-7) for event in message.events)
    return replace(message, now=message.now + 4e-7, events=events)


@pytest.mark.parametrize("change", [renamed, written_otherwise, exchanged, a_little_later])
@pytest.mark.parametrize(
    "part", [CLUSTER, ENERGY, REGISTRATION, ON_OFF, "plan__calls", "PowerSaver__power-p", "Killer", "plan__probes"]
)
def test_what_does_not_matter_is_no_difference(part: str, change: Any) -> None:
    if not any(part in path.name for path in all_runs()):
        pytest.skip(f"the recording of {part} is not here")
    run = run_of(part)
    other = rewritten(run, change)
    assert compare(run, other) is None
    assert compare(in_json(other), run) is None
    assert list(job_differences(run, other)) == []


def test_what_is_left_aside_is_told() -> None:
    run = run_of(CLUSTER)
    other = [Entry(0, B2E, frames.encode_init("else")), *in_json(rewritten(run, written_otherwise))[1:]]
    assert compare(run, other) is None
    assert [each.partition(":")[0] for each in ignored_differences(run, other)] == [
        "initialization data",
        "decision component",
        "format",
        "Batsim",
    ]
    assert ignored_differences(run, run) == []


def test_times_differ_by_the_tolerance_at_most() -> None:
    run = run_of(CLUSTER)
    other = rewritten(run, lambda direction, message: a_little_later(direction, message))
    assert compare(run, other, tolerance=1e-7) is not None
    later = rewritten(run, lambda direction, message: replace(message, now=message.now + 0.5))
    assert compare(run, later, tolerance=0.6) is None
    assert compare(run, later) is not None


# Jobs


def test_jobs_that_differ_are_told_with_what_differs() -> None:
    run = run_of(CLUSTER)
    number, place, event = middle(run, model.ExecuteJobEvent)
    (found,) = job_differences(run, changed(run, number, place, **another_host(event)))
    assert (found.job_id, found.fields) == (event.job_id, ("hosts",))
    number, place, event = middle(run, model.JobCompletedEvent)
    (found,) = job_differences(run, changed(run, number, place, timestamp=event.timestamp - 1.0))
    assert (found.job_id, found.fields) == (event.job_id, ("finished",))
    number, place, event = middle(run, model.JobCompletedEvent)
    (found,) = job_differences(run, without(run, number, place))
    assert (found.job_id, set(found.fields)) == (event.job_id, {"state", "finished", "return_code"})
    number, place, event = middle(run, model.RejectJobEvent)
    found_names = {each.job_id for each in job_differences(run, run[:10])}
    assert event.job_id in found_names


# The order of what commutes

JOBS = st.lists(st.integers(0, 5), min_size=1, max_size=8)


@given(JOBS, st.randoms())
@settings(max_examples=60, deadline=None)
def test_events_without_anything_in_common_commute_and_others_do_not(jobs: list[int], chance: random.Random) -> None:
    """Any exchange of neighbours that are about different jobs changes nothing; one of the same job does."""
    events = [
        model.RejectJobEvent(job_id=f"w0!{job}", timestamp=1.0)
        if place % 2
        else model.ExecuteJobEvent(job_id=f"w0!{job}", allocation=model.AllocationPlacement(str(job)), timestamp=1.0)
        for place, job in enumerate(jobs)
    ]
    order = list(events)
    for _ in range(20):
        place = chance.randrange(len(order))
        one, other = order[place - 1 : place + 1] if place else (None, None)
        if one is not None and other is not None and one.job_id != other.job_id:
            order[place - 1 : place + 1] = other, one
    assert apart(events, order) is None
    same = [place for place in range(1, len(order)) if order[place - 1].job_id == order[place].job_id]
    for place in same:
        if order[place - 1] != order[place]:
            swapped = [*order[: place - 1], order[place], order[place - 1], *order[place + 1 :]]
            assert apart(events, swapped) is not None


def apart(one: list[Any], other: list[Any]) -> Any:
    return difference(*(CanonicalForms().of(E2B, Message(1.0, events)) for events in (one, other)))


REGISTERED = [
    model.RegisterProfileEvent(profile=model.ProfileAndId("d!a", model.DelayProfile(1.0))),
    model.RegisterProfileEvent(
        profile=model.ProfileAndId("d!s", model.SequentialCompositionProfile(profile_ids=["d!a"]))
    ),
    model.RegisterJobEvent(job_id="d!1", job=model.Job(resource_request=1, profile_id="d!s")),
    model.ExecuteJobEvent(job_id="d!1", allocation=model.AllocationPlacement("0")),
    model.FinishRegistrationEvent(),
]


@pytest.mark.parametrize(("place", "commutes"), [(1, False), (2, False), (3, False), (4, True)])
def test_what_needs_the_one_before_stays_behind_it(place: int, commutes: bool) -> None:
    order = list(REGISTERED)
    order[place - 1 : place + 1] = reversed(order[place - 1 : place + 1])
    assert (apart(REGISTERED, order) is None) is commutes


def test_a_stop_drops_what_is_behind_it() -> None:
    kill, stop = model.KillJobsEvent(job_ids=["w0!1"]), model.ForceSimulationStopEvent()
    assert apart([kill, stop], [stop, kill]) is not None


def test_hosts_in_common_keep_their_order() -> None:
    execute = model.ExecuteJobEvent(job_id="w0!1", allocation=model.AllocationPlacement("0-3"))
    for hosts, commutes in (("3-4", False), ("4", True), ("40000000-40000001", False)):
        turn = model.TurnOnOffHostsEvent(host_ids=hosts, state=1)
        assert (apart([execute, turn], [turn, execute]) is None) is commutes, hosts


def test_many_events_take_no_more_than_their_time() -> None:
    events = [
        model.ExecuteJobEvent(job_id=f"w0!{number}", allocation=model.AllocationPlacement(str(number)))
        for number in range(5000)
    ]
    assert apart(events, events[::-1]) is None
    turned = [model.TurnOnOffHostsEvent(host_ids="0-9", state=number) for number in range(5000)]
    assert apart(turned, turned) is None
    assert apart(turned, turned[::-1]) is not None


def test_messages_that_cannot_be_read_are_compared_by_their_bytes() -> None:
    run = run_of(CLUSTER)
    number = next(entry.number for entry in run if entry.number > 4)

    def broken(data: bytes) -> Run:
        return [*run[:number], Entry(number, run[number].direction, data), *run[number + 1 :]]

    assert compare(broken(b"no message"), broken(b"no message")) is None
    for one, other, first, second in (
        (run, broken(b"{"), "a message", "an unreadable message ("),
        (broken(b"{"), run, "an unreadable message (", "a message"),
        (broken(b"{"), broken(b"["), "an unreadable message (", "an unreadable message ("),
    ):
        parting = compare(one, other)
        assert parting is not None
        assert (parting.number, parting.difference.place) == (number, "message")
        assert parting.difference.one.startswith(first)
        assert parting.difference.other.startswith(second)
        assert (parting.one, parting.other) == (one[number], other[number])


def test_a_run_that_ends_earlier_differs_there() -> None:
    run = run_of(CLUSTER)
    for one, other, expected in (
        (run[:4], run, ("the run has ended", "a message from Batsim")),
        (run, run[:5], ("a message from the EDC", "the run has ended")),
        (run[:4], [*run[:3], run[4]], None),
    ):
        parting = compare(one, other)
        assert parting is not None
        assert parting.difference.place == "message"
        if expected is not None:
            assert parting.difference[1:] == expected
        else:
            assert {parting.difference.one, parting.difference.other} == {
                "a message from Batsim",
                "a message from the EDC",
            }
