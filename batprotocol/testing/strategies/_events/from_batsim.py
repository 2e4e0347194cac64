"""Strategies for the events that Batsim sends."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._common import makes, optional, vectors
from batprotocol.testing.strategies._enums import enums
from batprotocol.testing.strategies._hosts import host_sets
from batprotocol.testing.strategies._jobs import jobs
from batprotocol.testing.strategies._numbers import float64s, int32s, uint32s
from batprotocol.testing.strategies._probes import probe_data, resources
from batprotocol.testing.strategies._profiles import profile_and_ids, profile_vectors
from batprotocol.testing.strategies._progress import job_and_progresses, light_progresses
from batprotocol.testing.strategies._simulation import (
    external_event_list_and_filenames,
    host_vectors,
    workload_and_filenames,
)
from batprotocol.testing.strategies._texts import call_ids, few_job_ids, job_ids, names, probe_ids, texts

__all__ = [
    "all_static_external_events_have_been_injected_events",
    "all_static_jobs_have_been_submitted_events",
    "external_event_occurred_events",
    "external_events",
    "generic_external_events",
    "hosts_pstate_changed_events",
    "hosts_turned_on_off_events",
    "job_completed_events",
    "job_submitted_events",
    "jobs_killed_events",
    "probe_data_emitted_events",
    "requested_call_events",
    "simulation_begins_events",
    "simulation_ends_events",
    "simulation_error_events",
]

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
