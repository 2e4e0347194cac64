"""Strategies for the events that the decision component sends."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._common import makes, optional, vectors
from batprotocol.testing.strategies._enums import enums
from batprotocol.testing.strategies._hosts import host_sets
from batprotocol.testing.strategies._jobs import jobs
from batprotocol.testing.strategies._numbers import float64s, uint32s
from batprotocol.testing.strategies._placements import (
    allocation_placements,
    profile_allocation_placements,
    storage_hosts,
)
from batprotocol.testing.strategies._probes import (
    probe_data_accumulation_strategies,
    probe_emission_filtering_policies,
    resources,
    resources_aggregation_functions,
    temporal_aggregation_functions,
)
from batprotocol.testing.strategies._profiles import profile_and_ids
from batprotocol.testing.strategies._simulation import edc_requested_simulation_features
from batprotocol.testing.strategies._texts import call_ids, few_job_ids, job_ids, names, probe_ids
from batprotocol.testing.strategies._triggers import temporal_triggers

__all__ = [
    "call_me_later_events",
    "change_hosts_pstate_events",
    "create_probe_events",
    "edc_hello_events",
    "execute_job_events",
    "finish_registration_events",
    "force_simulation_stop_events",
    "kill_jobs_events",
    "register_job_events",
    "register_profile_events",
    "reject_job_events",
    "reset_probe_events",
    "stop_call_me_later_events",
    "stop_probe_events",
    "trigger_probe_events",
    "turn_on_off_hosts_events",
]

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
