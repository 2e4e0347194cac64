"""Strategies of all events: those that Batsim sends, and those that the decision component sends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, get_args

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.conversation import DEFAULT_RULE_SET
from batprotocol.testing.strategies._platform import (
    allocation_placements,
    edc_requested_simulation_features,
    external_event_list_and_filenames,
    host_sets,
    host_vectors,
    jobs,
    profile_allocation_placements,
    storage_hosts,
    workload_and_filenames,
)
from batprotocol.testing.strategies._probes import (
    probe_data,
    probe_data_accumulation_strategies,
    probe_emission_filtering_policies,
    resources,
    resources_aggregation_functions,
    temporal_aggregation_functions,
)
from batprotocol.testing.strategies._profiles import (
    job_and_progresses,
    light_progresses,
    profile_and_ids,
    profile_vectors,
    temporal_triggers,
)
from batprotocol.testing.strategies._values import (
    LARGEST,
    STRATEGIES,
    TIMES,
    call_ids,
    cycled,
    enums,
    few_job_ids,
    float64s,
    int32s,
    job_ids,
    makes,
    mostly,
    names,
    optional,
    probe_ids,
    texts,
    uint32s,
    vectors,
)

# From Batsim


# Jobs


@makes(model.JobSubmittedEvent)
def job_submitted_events(*, allow_nan: bool = False) -> SearchStrategy[model.JobSubmittedEvent]:
    """`JobSubmittedEvent` values, with and without the profile."""
    return st.builds(
        model.JobSubmittedEvent,
        timestamp=float64s(allow_nan=allow_nan),
        job_id=job_ids(),
        job=jobs(allow_nan=allow_nan),
        submission_time=float64s(allow_nan=allow_nan),
        profile=optional(profile_and_ids(allow_nan=allow_nan)),
    )


@makes(model.JobCompletedEvent)
def job_completed_events(*, allow_nan: bool = False) -> SearchStrategy[model.JobCompletedEvent]:
    """`JobCompletedEvent` values."""
    return st.builds(
        model.JobCompletedEvent,
        timestamp=float64s(allow_nan=allow_nan),
        job_id=job_ids(),
        state=enums(model.FinalJobState),
        return_code=int32s(),
    )


@makes(model.JobsKilledEvent)
def jobs_killed_events(*, allow_nan: bool = False) -> SearchStrategy[model.JobsKilledEvent]:
    """`JobsKilledEvent` values; progress as deep as a message carries, of other jobs too; profiles absent or not."""
    light = st.builds(model.JobAndProgress, job_id=few_job_ids(), wrapper=light_progresses(allow_nan))
    return st.builds(
        model.JobsKilledEvent,
        timestamp=float64s(allow_nan=allow_nan),
        job_ids=vectors(job_ids(), few_job_ids()),
        progresses=vectors(job_and_progresses(allow_nan=allow_nan), light),
        profiles=profile_vectors(allow_nan),
    )


# Probes


@makes(model.ProbeDataEmittedEvent)
def probe_data_emitted_events(*, allow_nan: bool = False) -> SearchStrategy[model.ProbeDataEmittedEvent]:
    """`ProbeDataEmittedEvent` values; the data need not match the resources."""
    return st.builds(
        model.ProbeDataEmittedEvent,
        timestamp=float64s(allow_nan=allow_nan),
        probe_id=probe_ids(),
        resources=resources(),
        metrics=enums(model.Metrics),
        data=probe_data(allow_nan=allow_nan),
        manually_triggered=st.booleans(),
        nb_emitted=uint32s(),
        nb_triggered=uint32s(),
    )


# Calls


@makes(model.RequestedCallEvent)
def requested_call_events(*, allow_nan: bool = False) -> SearchStrategy[model.RequestedCallEvent]:
    """`RequestedCallEvent` values."""
    return st.builds(
        model.RequestedCallEvent,
        timestamp=float64s(allow_nan=allow_nan),
        call_me_later_id=call_ids(),
        last_periodic_call=st.booleans(),
    )


# The simulation


@makes(model.SimulationBeginsEvent)
def simulation_begins_events(*, allow_nan: bool = False) -> SearchStrategy[model.SimulationBeginsEvent]:
    """`SimulationBeginsEvent` values; every vector may be empty or huge, and the numbers of hosts need not match."""
    return st.builds(
        model.SimulationBeginsEvent,
        timestamp=float64s(allow_nan=allow_nan),
        batprotocol_version=names("0.1.0"),
        batsim_version=names("5.0.0"),
        batsim_commit=optional(names("880dd60c")),
        host_number=uint32s(),
        computation_host_number=uint32s(),
        computation_hosts=host_vectors(allow_nan),
        storage_host_number=uint32s(),
        storage_hosts=host_vectors(allow_nan),
        batsim_arguments=vectors(texts(), st.sampled_from(("batsim", "--mmax-workload"))),
        batsim_execution_context_json=names("{}", '{"platform": "p.xml"}'),
        workloads=vectors(workload_and_filenames(), st.just(model.WorkloadAndFilename("w0", "w0.json"))),
        external_event_lists=vectors(
            external_event_list_and_filenames(), st.just(model.ExternalEventListAndFilename("e0", "e0.txt"))
        ),
        profiles=profile_vectors(allow_nan),
    )


@makes(model.SimulationEndsEvent)
def simulation_ends_events(*, allow_nan: bool = False) -> SearchStrategy[model.SimulationEndsEvent]:
    """`SimulationEndsEvent` values."""
    return st.builds(model.SimulationEndsEvent, timestamp=float64s(allow_nan=allow_nan))


@makes(model.SimulationErrorEvent)
def simulation_error_events(*, allow_nan: bool = False) -> SearchStrategy[model.SimulationErrorEvent]:
    """`SimulationErrorEvent` values."""
    return st.builds(model.SimulationErrorEvent, timestamp=float64s(allow_nan=allow_nan), error=texts())


@makes(model.AllStaticJobsHaveBeenSubmittedEvent)
def all_static_jobs_have_been_submitted_events(
    *, allow_nan: bool = False
) -> SearchStrategy[model.AllStaticJobsHaveBeenSubmittedEvent]:
    """`AllStaticJobsHaveBeenSubmittedEvent` values."""
    return st.builds(model.AllStaticJobsHaveBeenSubmittedEvent, timestamp=float64s(allow_nan=allow_nan))


@makes(model.AllStaticExternalEventsHaveBeenInjectedEvent)
def all_static_external_events_have_been_injected_events(
    *, allow_nan: bool = False
) -> SearchStrategy[model.AllStaticExternalEventsHaveBeenInjectedEvent]:
    """`AllStaticExternalEventsHaveBeenInjectedEvent` values."""
    return st.builds(model.AllStaticExternalEventsHaveBeenInjectedEvent, timestamp=float64s(allow_nan=allow_nan))


# Hosts


@makes(model.HostsPStateChangedEvent)
def hosts_pstate_changed_events(*, allow_nan: bool = False) -> SearchStrategy[model.HostsPStateChangedEvent]:
    """`HostsPStateChangedEvent` values."""
    times = float64s(allow_nan=allow_nan)
    return st.builds(model.HostsPStateChangedEvent, timestamp=times, host_ids=host_sets(), pstate=uint32s())


@makes(model.HostsTurnedOnOffEvent)
def hosts_turned_on_off_events(*, allow_nan: bool = False) -> SearchStrategy[model.HostsTurnedOnOffEvent]:
    """`HostsTurnedOnOffEvent` values."""
    times = float64s(allow_nan=allow_nan)
    return st.builds(model.HostsTurnedOnOffEvent, timestamp=times, host_ids=host_sets(), state=uint32s())


# External events


@makes(model.GenericExternalEvent)
def generic_external_events() -> SearchStrategy[model.GenericExternalEvent]:
    """`GenericExternalEvent` values."""
    return st.builds(model.GenericExternalEvent, data=texts())


def external_events() -> SearchStrategy[model.ExternalEvent]:
    """Any external event; the union has one member."""
    return generic_external_events()


@makes(model.ExternalEventOccurredEvent)
def external_event_occurred_events(*, allow_nan: bool = False) -> SearchStrategy[model.ExternalEventOccurredEvent]:
    """`ExternalEventOccurredEvent` values."""
    return st.builds(
        model.ExternalEventOccurredEvent,
        timestamp=float64s(allow_nan=allow_nan),
        id=names("event0", "machine_unavailable"),
        external_event=external_events(),
    )


# From the decision component


# Jobs


@makes(model.RejectJobEvent)
def reject_job_events(*, allow_nan: bool = False) -> SearchStrategy[model.RejectJobEvent]:
    """`RejectJobEvent` values."""
    return st.builds(model.RejectJobEvent, timestamp=float64s(allow_nan=allow_nan), job_id=job_ids())


@makes(model.ExecuteJobEvent)
def execute_job_events(*, allow_nan: bool = False) -> SearchStrategy[model.ExecuteJobEvent]:
    """`ExecuteJobEvent` values; overrides and storages may be absent, empty or many."""
    light_override = st.builds(
        model.ProfileAllocationPlacement, profile_id=st.just("w0!delay"), host_allocation=st.just("0")
    )
    light_storage = st.builds(model.StorageHost, storage_name=st.just("pfs"), host_id=uint32s())
    return st.builds(
        model.ExecuteJobEvent,
        timestamp=float64s(allow_nan=allow_nan),
        job_id=job_ids(),
        allocation=allocation_placements(),
        profile_allocation_override=optional(vectors(profile_allocation_placements(), light_override)),
        storage_placement=optional(vectors(storage_hosts(), light_storage)),
    )


@makes(model.KillJobsEvent)
def kill_jobs_events(*, allow_nan: bool = False) -> SearchStrategy[model.KillJobsEvent]:
    """`KillJobsEvent` values; of no job too, and of a thousand."""
    ids = vectors(job_ids(), few_job_ids())
    return st.builds(model.KillJobsEvent, timestamp=float64s(allow_nan=allow_nan), job_ids=ids)


# Dynamic registration


@makes(model.RegisterProfileEvent)
def register_profile_events(*, allow_nan: bool = False) -> SearchStrategy[model.RegisterProfileEvent]:
    """`RegisterProfileEvent` values, of every profile."""
    return st.builds(
        model.RegisterProfileEvent,
        timestamp=float64s(allow_nan=allow_nan),
        profile=profile_and_ids(allow_nan=allow_nan),
    )


@makes(model.RegisterJobEvent)
def register_job_events(*, allow_nan: bool = False) -> SearchStrategy[model.RegisterJobEvent]:
    """`RegisterJobEvent` values."""
    return st.builds(
        model.RegisterJobEvent, timestamp=float64s(allow_nan=allow_nan), job_id=job_ids(), job=jobs(allow_nan=allow_nan)
    )


@makes(model.FinishRegistrationEvent)
def finish_registration_events(*, allow_nan: bool = False) -> SearchStrategy[model.FinishRegistrationEvent]:
    """`FinishRegistrationEvent` values."""
    return st.builds(model.FinishRegistrationEvent, timestamp=float64s(allow_nan=allow_nan))


# Probes


@makes(model.CreateProbeEvent)
def create_probe_events(*, allow_nan: bool = False) -> SearchStrategy[model.CreateProbeEvent]:
    """`CreateProbeEvent` values, of every mixture of union members."""
    return st.builds(
        model.CreateProbeEvent,
        timestamp=float64s(allow_nan=allow_nan),
        probe_id=probe_ids(),
        metrics=enums(model.Metrics),
        resources=resources(),
        data_accumulation_strategy=probe_data_accumulation_strategies(allow_nan=allow_nan),
        measurement_triggering_policy=temporal_triggers(),
        resources_aggregation_function=resources_aggregation_functions(allow_nan=allow_nan),
        temporal_aggregation_function=temporal_aggregation_functions(),
        emission_filtering_policy=probe_emission_filtering_policies(allow_nan=allow_nan),
    )


@makes(model.StopProbeEvent)
def stop_probe_events(*, allow_nan: bool = False) -> SearchStrategy[model.StopProbeEvent]:
    """`StopProbeEvent` values."""
    return st.builds(model.StopProbeEvent, timestamp=float64s(allow_nan=allow_nan), probe_id=probe_ids())


@makes(model.TriggerProbeEvent)
def trigger_probe_events(*, allow_nan: bool = False) -> SearchStrategy[model.TriggerProbeEvent]:
    """`TriggerProbeEvent` values."""
    return st.builds(
        model.TriggerProbeEvent,
        timestamp=float64s(allow_nan=allow_nan),
        probe_id=probe_ids(),
        force_data_emission=st.booleans(),
    )


@makes(model.ResetProbeEvent)
def reset_probe_events(*, allow_nan: bool = False) -> SearchStrategy[model.ResetProbeEvent]:
    """`ResetProbeEvent` values."""
    numbers = float64s(allow_nan=allow_nan)
    return st.builds(model.ResetProbeEvent, timestamp=numbers, probe_id=probe_ids(), new_value=numbers)


# Calls


@makes(model.CallMeLaterEvent)
def call_me_later_events(*, allow_nan: bool = False) -> SearchStrategy[model.CallMeLaterEvent]:
    """`CallMeLaterEvent` values."""
    return st.builds(
        model.CallMeLaterEvent,
        timestamp=float64s(allow_nan=allow_nan),
        call_me_later_id=call_ids(),
        when=temporal_triggers(),
    )


@makes(model.StopCallMeLaterEvent)
def stop_call_me_later_events(*, allow_nan: bool = False) -> SearchStrategy[model.StopCallMeLaterEvent]:
    """`StopCallMeLaterEvent` values."""
    return st.builds(model.StopCallMeLaterEvent, timestamp=float64s(allow_nan=allow_nan), call_me_later_id=call_ids())


# The simulation


@makes(model.EDCHelloEvent)
def edc_hello_events(*, allow_nan: bool = False) -> SearchStrategy[model.EDCHelloEvent]:
    """`EDCHelloEvent` values; both commits may be absent or empty."""
    return st.builds(
        model.EDCHelloEvent,
        timestamp=float64s(allow_nan=allow_nan),
        batprotocol_version=names("0.1.0"),
        batprotocol_commit=optional(names("880dd60c")),
        decision_component_name=names("fcfs"),
        decision_component_version=names("1.2.0"),
        decision_component_commit=optional(names("880dd60c")),
        requested_simulation_features=edc_requested_simulation_features(),
    )


@makes(model.ForceSimulationStopEvent)
def force_simulation_stop_events(*, allow_nan: bool = False) -> SearchStrategy[model.ForceSimulationStopEvent]:
    """`ForceSimulationStopEvent` values."""
    return st.builds(model.ForceSimulationStopEvent, timestamp=float64s(allow_nan=allow_nan))


# Hosts


@makes(model.ChangeHostsPStateEvent)
def change_hosts_pstate_events(*, allow_nan: bool = False) -> SearchStrategy[model.ChangeHostsPStateEvent]:
    """`ChangeHostsPStateEvent` values."""
    times = float64s(allow_nan=allow_nan)
    return st.builds(model.ChangeHostsPStateEvent, timestamp=times, host_ids=host_sets(), pstate=uint32s())


@makes(model.TurnOnOffHostsEvent)
def turn_on_off_hosts_events(*, allow_nan: bool = False) -> SearchStrategy[model.TurnOnOffHostsEvent]:
    """`TurnOnOffHostsEvent` values."""
    times = float64s(allow_nan=allow_nan)
    return st.builds(model.TurnOnOffHostsEvent, timestamp=times, host_ids=host_sets(), state=uint32s())


# By type and direction

EVENT_STRATEGIES: dict[type[model.Event], Callable[..., SearchStrategy[Any]]] = {
    kind: strategy for kind, strategy in STRATEGIES.items() if kind in get_args(model.Event)
}
"""The strategy of each event type: those that Batsim sends, then those that the decision component sends, in the order
of the schema. All of them take `allow_nan`."""

_TYPES: dict[model.Direction | None, tuple[type[model.Event], ...]] = {
    None: get_args(model.Event),
    model.Direction.BATSIM_TO_EDC: model.BATSIM_TO_EDC,
    model.Direction.EDC_TO_BATSIM: model.EDC_TO_BATSIM,
}


def direction_of(direction: model.Direction | str | None) -> model.Direction | None:
    """The direction that was meant. `ValueError` if there is none such."""
    try:
        return None if direction is None else model.Direction(direction)
    except ValueError:
        raise ValueError(f"a direction is a Direction, 'b2e', 'e2b' or None for both, got {direction!r}") from None


def events(direction: model.Direction | str | None = None, *, allow_nan: bool = False) -> SearchStrategy[model.Event]:
    """Any event.

    Args:
        direction: only what goes this way: `Direction.BATSIM_TO_EDC` or `"b2e"`, `Direction.EDC_TO_BATSIM` or
            `"e2b"`. None, the default, is both ways.
        allow_nan: whether doubles, the timestamp among them, may be NaN.

    Raises:
        ValueError: this is no direction.
    """
    return events_of(direction_of(direction), allow_nan)


@cache
def events_of(direction: model.Direction | None, allow_nan: bool) -> SearchStrategy[model.Event]:
    """The same, of a direction that is one."""
    # Hundreds of strategies, which take tens of milliseconds to make: too long for each draw inside a test.
    return st.one_of(
        [make(allow_nan=allow_nan) for kind, make in EVENT_STRATEGIES.items() if kind in _TYPES[direction]]
    )


# Strategies for messages.


_LIGHT_FROM_BATSIM: tuple[model.Event, ...] = (
    model.JobCompletedEvent(job_id="w0!1", state=model.FinalJobState.COMPLETED_SUCCESSFULLY),
    model.RequestedCallEvent(call_me_later_id="call0"),
    model.SimulationEndsEvent(),
)
_LIGHT_TO_BATSIM: tuple[model.Event, ...] = (
    model.RejectJobEvent(job_id="w0!1"),
    model.ExecuteJobEvent(job_id="w0!1", allocation=model.AllocationPlacement("0-3")),
    model.FinishRegistrationEvent(),
)
_LIGHT_EVENTS: dict[model.Direction | None, tuple[model.Event, ...]] = {
    None: _LIGHT_FROM_BATSIM + _LIGHT_TO_BATSIM,
    model.Direction.BATSIM_TO_EDC: _LIGHT_FROM_BATSIM,
    model.Direction.EDC_TO_BATSIM: _LIGHT_TO_BATSIM,
}
"""The events of messages that have a thousand: enough to find errors of long messages, and quick to handle."""


@makes(model.Message)
def messages(
    direction: model.Direction | str | None = None,
    *,
    max_events: int | None = None,
    chronological: bool = True,
    allow_nan: bool = False,
) -> SearchStrategy[model.Message]:
    """Messages of any events, without regard to what may be said when.

    Args:
        direction: only events that go this way, as in `events`; None, the default, mixes both ways.
        max_events: how many events a message holds at most. None, the default, is up to 5, and now and then up to 1500.
        chronological: timestamps are finite, >= 0, ascending, and not after `now`. False allows any doubles.
        allow_nan: whether doubles may be NaN; with `chronological`, all but timestamps and `now`.

    Raises:
        ValueError: this is no direction, or `max_events` is negative.

    `messages("e2b", max_events=1)` makes what a decision component may answer, nothing included.
    """
    side = direction_of(direction)
    if max_events is not None and max_events < 0:
        raise ValueError(f"max_events is an integer >= 0 or None, got {max_events}")
    several = st.lists(events_of(side, allow_nan), max_size=5 if max_events is None else max_events).map(tuple)
    if max_events is None:
        light = st.lists(st.sampled_from(_LIGHT_EVENTS[side]), min_size=1, max_size=3)
        several = mostly(several, st.builds(cycled, light, st.integers(0, 1500)), one_in=16)
    if not chronological:
        return st.tuples(float64s(allow_nan=allow_nan), several).map(lambda parts: model.Message(*parts))
    times = st.one_of(st.sampled_from(TIMES), st.floats(0.0, LARGEST))
    return st.builds(_chronological, several, st.lists(times, min_size=1, max_size=6))


def _chronological(events: Sequence[model.Event], times: Sequence[float]) -> model.Message:
    timestamps = sorted(cycled(times, len(events)))
    stamped = [msgspec.structs.replace(event, timestamp=time) for event, time in zip(events, timestamps, strict=True)]
    return model.Message(max(times), tuple(stamped))


def conversations(rules: str = DEFAULT_RULE_SET) -> SearchStrategy[list[Any]]:
    """Whole conversations of the embedded Batsim with a decision component that does anything it may, as values.

    Each is a list: the initialization data, the hello, then messages and replies in turn, until the reply to
    SimulationEndsEvent. `batprotocol.conversation.check` finds nothing in them that a simulation does not survive.

    Args:
        rules: the rule set that they follow.
    """
    from batprotocol.testing import conformance  # the simulator, which the other strategies do not need

    return conformance.conversations(rules=rules)
