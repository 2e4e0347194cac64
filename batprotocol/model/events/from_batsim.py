"""The events that Batsim sends, in the order of the schema."""

from __future__ import annotations

from typing import TypeAlias

from batprotocol.model.enums import FinalJobState, Metrics
from batprotocol.model.events.base import EventBase, HostsEventBase
from batprotocol.model.fields import HostString, OptionalTupleOf, TupleOf
from batprotocol.model.jobs import Job
from batprotocol.model.probes import ProbeData, Resources
from batprotocol.model.profiles import ProfileAndId
from batprotocol.model.progress import JobAndProgress
from batprotocol.model.simulation import ExternalEventListAndFilename, Host, WorkloadAndFilename
from batprotocol.model.value import Value, tuples_into

__all__ = [
    "AllStaticExternalEventsHaveBeenInjectedEvent",
    "AllStaticJobsHaveBeenSubmittedEvent",
    "ExternalEvent",
    "ExternalEventOccurredEvent",
    "GenericExternalEvent",
    "HostsPStateChangedEvent",
    "HostsTurnedOnOffEvent",
    "JobCompletedEvent",
    "JobSubmittedEvent",
    "JobsKilledEvent",
    "ProbeDataEmittedEvent",
    "RequestedCallEvent",
    "SimulationBeginsEvent",
    "SimulationEndsEvent",
    "SimulationErrorEvent",
]


# Jobs


class JobSubmittedEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: a job was submitted.

    Args:
        job_id: the job, `workload!job`.
        job: what it asks for.
        submission_time: when it was submitted, in simulated seconds.
        profile: its profile, if `forward_profiles_on_job_submission` was requested; else None.
        timestamp: when, in simulated seconds.
    """

    job_id: str
    job: Job
    submission_time: float
    profile: ProfileAndId | None = None


class JobCompletedEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: a job has ended. Batsim forgets the job as soon as this event is delivered.

    Args:
        job_id: the job, `workload!job`.
        state: how it ended.
        return_code: 0 for success; int32. Batsim gives -1 at the walltime, and -1 or -2 for a killed job.
        timestamp: when, in simulated seconds.
    """

    job_id: str
    state: FinalJobState
    return_code: int = 0


class JobsKilledEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: these jobs were killed, as asked.

    Args:
        job_ids: the jobs, `workload!job`, in the order in which the `KillJobsEvent` named them.
        progresses: how far each had come, sorted by job; fewer than `job_ids` when some had ended by themselves.
        profiles: their profiles, if `forward_profiles_on_jobs_killed` was requested; else None.
        timestamp: when, in simulated seconds.
    """

    job_ids: TupleOf[str]
    progresses: TupleOf[JobAndProgress]
    profiles: OptionalTupleOf[ProfileAndId] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        tuples_into(self, "job_ids", "progresses", "profiles")


# Probes


class ProbeDataEmittedEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: data of a probe.

    Args:
        probe_id: the name of the probe.
        resources: the hosts or links observed.
        metrics: what is measured.
        data: the value, or one for each resource. Batsim's are joules since the start of the simulation.
        manually_triggered: whether a `TriggerProbeEvent` asked for it.
        nb_emitted: how many times the probe has emitted data; uint32. Batsim always says 0.
        nb_triggered: how many times the probe has been triggered; uint32. Batsim always says 0.
        timestamp: when, in simulated seconds.
    """

    probe_id: str
    resources: Resources
    metrics: Metrics = Metrics.Power
    data: ProbeData
    manually_triggered: bool = False
    nb_emitted: int = 0
    nb_triggered: int = 0


# Calls


class RequestedCallEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: here is the call that was requested.

    Args:
        call_me_later_id: the name given in the `CallMeLaterEvent`.
        last_periodic_call: whether this is the last call of a periodic call with a finite number of periods.
        timestamp: when, in simulated seconds.
    """

    call_me_later_id: str
    last_periodic_call: bool = False


# The simulation


class SimulationBeginsEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: the simulation begins; here is the platform.

    Args:
        batprotocol_version: the version of the protocol.
        batsim_version: the version of Batsim.
        batsim_commit: its Git commit, or None.
        host_number: how many hosts there are, computation and storage hosts together; uint32.
        computation_host_number: how many computation hosts there are; uint32.
        computation_hosts: the hosts that execute jobs.
        storage_host_number: how many storage hosts there are; uint32.
        storage_hosts: the hosts that store data.
        batsim_arguments: Batsim's command line.
        batsim_execution_context_json: Batsim's execution context, as JSON text.
        workloads: the static workloads.
        external_event_lists: the static lists of external events.
        profiles: the profiles of the static workloads, if `forward_profiles_on_simulation_begins` was requested; else
            `()` from Batsim, or None.
        timestamp: when, in simulated seconds.
    """

    batprotocol_version: str
    batsim_version: str
    batsim_commit: str | None = None
    host_number: int
    computation_host_number: int
    computation_hosts: TupleOf[Host]
    storage_host_number: int = 0
    storage_hosts: TupleOf[Host]
    batsim_arguments: TupleOf[str]
    batsim_execution_context_json: str
    workloads: TupleOf[WorkloadAndFilename]
    external_event_lists: TupleOf[ExternalEventListAndFilename]
    profiles: OptionalTupleOf[ProfileAndId] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        tuples_into(
            self,
            "computation_hosts",
            "storage_hosts",
            "batsim_arguments",
            "workloads",
            "external_event_lists",
            "profiles",
        )


class SimulationEndsEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: the simulation has ended. The decision component answers once more.

    Args:
        timestamp: when, in simulated seconds.
    """


class SimulationErrorEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: the simulation has failed. Batsim 5.0.0-rc2 has no code that sends it.

    Args:
        error: what happened.
        timestamp: when, in simulated seconds.
    """

    error: str


class AllStaticJobsHaveBeenSubmittedEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: all jobs of the static workloads have been submitted.

    Args:
        timestamp: when, in simulated seconds.
    """


class AllStaticExternalEventsHaveBeenInjectedEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: all events of the static external event lists have occurred.

    Args:
        timestamp: when, in simulated seconds.
    """


# Hosts


class HostsPStateChangedEvent(HostsEventBase, frozen=True, kw_only=True):
    """Batsim: the power state of these hosts has changed.

    Args:
        host_ids: the host set; anything but a string is written as the canonical string.
        pstate: the power state reached; uint32.
        timestamp: when, in simulated seconds. Batsim gives the time of the previous exchange.
    """

    host_ids: HostString
    pstate: int


class HostsTurnedOnOffEvent(HostsEventBase, frozen=True, kw_only=True):
    """Batsim: these hosts are now on or off.

    Args:
        host_ids: the host set; anything but a string is written as the canonical string.
        state: the power state reached; uint32.
        timestamp: when, in simulated seconds. Batsim gives the time of the previous exchange.
    """

    host_ids: HostString
    state: int


# External events


class GenericExternalEvent(Value, frozen=True):
    """An external event that is free text.

    Args:
        data: the text, as the list of external events gives it.
    """

    data: str


ExternalEvent: TypeAlias = GenericExternalEvent


class ExternalEventOccurredEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: an external event has occurred.

    Args:
        id: its name.
        external_event: the event.
        timestamp: when, in simulated seconds. Batsim gives the time of the previous exchange.
    """

    id: str
    external_event: ExternalEvent


EventFromBatsim: TypeAlias = (
    JobSubmittedEvent
    | JobCompletedEvent
    | JobsKilledEvent
    | ProbeDataEmittedEvent
    | RequestedCallEvent
    | SimulationBeginsEvent
    | SimulationEndsEvent
    | SimulationErrorEvent
    | AllStaticJobsHaveBeenSubmittedEvent
    | AllStaticExternalEventsHaveBeenInjectedEvent
    | HostsPStateChangedEvent
    | HostsTurnedOnOffEvent
    | ExternalEventOccurredEvent
)
"""Any event that Batsim sends."""
