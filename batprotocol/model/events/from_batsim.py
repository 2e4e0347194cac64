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
        job_id: the id of the job, `workload!job`.
        job: the request of the job.
        submission_time: the submission time of the job, in simulated seconds.
        profile: the profile of the job if the decision component requested `forward_profiles_on_job_submission`; else
            None.
        timestamp: the time of the event, in simulated seconds.
    """

    job_id: str
    job: Job
    submission_time: float
    profile: ProfileAndId | None = None


class JobCompletedEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: a job has ended. Batsim forgets the job as soon as this event is delivered.

    Args:
        job_id: the id of the job, `workload!job`.
        state: how the job ended.
        return_code: the return code of the job, 0 for success; int32. Batsim sends -1 for a job that reached its
            walltime, and -1 or -2 for a killed job.
        timestamp: the time of the event, in simulated seconds.
    """

    job_id: str
    state: FinalJobState
    return_code: int = 0


class JobsKilledEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: the jobs of a `KillJobsEvent` do not run any more.

    Args:
        job_ids: the ids of the jobs, `workload!job`, in the order of the `KillJobsEvent`.
        progresses: the progress of each job that was killed, sorted by job id. A job that had ended before the kill has
            no entry.
        profiles: the profiles of the killed jobs if the decision component requested `forward_profiles_on_jobs_killed`;
            else None.
        timestamp: the time of the event, in simulated seconds.
    """

    job_ids: TupleOf[str]
    progresses: TupleOf[JobAndProgress]
    profiles: OptionalTupleOf[ProfileAndId] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        tuples_into(self, "job_ids", "progresses", "profiles")


# Probes


class ProbeDataEmittedEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: a probe emits data.

    Args:
        probe_id: the name of the probe.
        resources: the hosts or links that the probe observes.
        metrics: the quantity that the probe measures.
        data: one value for all resources, or one for each. Batsim sends joules since the start of the simulation.
        manually_triggered: whether a `TriggerProbeEvent` requested the data.
        nb_emitted: the number of times that the probe has emitted data; uint32. Batsim always sends 0.
        nb_triggered: the number of times that the probe was triggered; uint32. Batsim always sends 0.
        timestamp: the time of the event, in simulated seconds.
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
    """Batsim: a call that the decision component requested is due.

    Args:
        call_me_later_id: the id of the call, from the `CallMeLaterEvent`.
        last_periodic_call: True for the last call of a periodic call with a finite number of periods.
        timestamp: the time of the event, in simulated seconds.
    """

    call_me_later_id: str
    last_periodic_call: bool = False


# The simulation


class SimulationBeginsEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: the simulation begins. The event describes the platform and the inputs.

    Args:
        batprotocol_version: the version of the protocol.
        batsim_version: the version of Batsim.
        batsim_commit: the Git commit of Batsim, or None.
        host_number: the number of hosts, computation and storage hosts together; uint32.
        computation_host_number: the number of computation hosts; uint32.
        computation_hosts: the hosts that execute jobs.
        storage_host_number: the number of storage hosts; uint32.
        storage_hosts: the hosts that store data.
        batsim_arguments: Batsim's command line.
        batsim_execution_context_json: Batsim's execution context, as JSON text.
        workloads: the static workloads.
        external_event_lists: the static lists of external events.
        profiles: the profiles of the static workloads if the decision component requested
            `forward_profiles_on_simulation_begins`; else None, or `()` from Batsim.
        timestamp: the time of the event, in simulated seconds.
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
    """Batsim: the simulation has ended. The decision component must still answer this message.

    Args:
        timestamp: the time of the event, in simulated seconds.
    """


class SimulationErrorEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: the simulation has failed. Batsim 5.0.0-rc2 has no code that sends it.

    Args:
        error: the description of the error.
        timestamp: the time of the event, in simulated seconds.
    """

    error: str


class AllStaticJobsHaveBeenSubmittedEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: all jobs of the static workloads have been submitted.

    Args:
        timestamp: the time of the event, in simulated seconds.
    """


class AllStaticExternalEventsHaveBeenInjectedEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: all events of the static external event lists have occurred.

    Args:
        timestamp: the time of the event, in simulated seconds.
    """


# Hosts


class HostsPStateChangedEvent(HostsEventBase, frozen=True, kw_only=True):
    """Batsim: the power state of these hosts has changed.

    Args:
        host_ids: the host set. A string is kept; any other host set becomes the canonical string.
        pstate: the power state that the hosts have reached; uint32.
        timestamp: the time of the event, in simulated seconds. Batsim sends the time of the previous exchange instead.
    """

    host_ids: HostString
    pstate: int


class HostsTurnedOnOffEvent(HostsEventBase, frozen=True, kw_only=True):
    """Batsim: these hosts are now on or off.

    Args:
        host_ids: the host set. A string is kept; any other host set becomes the canonical string.
        state: the power state that the hosts have reached; uint32.
        timestamp: the time of the event, in simulated seconds. Batsim sends the time of the previous exchange instead.
    """

    host_ids: HostString
    state: int


# External events


class GenericExternalEvent(Value, frozen=True):
    """An external event with free text.

    Args:
        data: the text, as in the list of external events.
    """

    data: str


ExternalEvent: TypeAlias = GenericExternalEvent


class ExternalEventOccurredEvent(EventBase, frozen=True, kw_only=True):
    """Batsim: an external event has occurred.

    Args:
        id: the id of the external event.
        external_event: the external event.
        timestamp: the time of the event, in simulated seconds. Batsim sends the time of the previous exchange instead.
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
