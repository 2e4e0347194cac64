"""The events of the protocol's `Event` union, and which side sends which.

All take keywords, and all carry a `timestamp`: when the event happened or shall happen, in simulated seconds. It must
not be after its message's `now`. `MessageBuilder` fills it in.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from batprotocol.model.enums import FinalJobState, Metrics
from batprotocol.model.hosts import parse_hosts
from batprotocol.model.jobs import Job
from batprotocol.model.placements import AllocationPlacement, ProfileAllocationPlacement, StorageHost
from batprotocol.model.probes import (
    NoFiltering,
    NoProbeDataAccumulation,
    NoResourcesAggregation,
    NoTemporalAggregation,
    ProbeData,
    ProbeDataAccumulationStrategy,
    ProbeEmissionFilteringPolicy,
    Resources,
    ResourcesAggregationFunction,
    TemporalAggregationFunction,
)
from batprotocol.model.profiles import ProfileAndId
from batprotocol.model.progress import JobAndProgress
from batprotocol.model.simulation import (
    EDCRequestedSimulationFeatures,
    ExternalEventListAndFilename,
    Host,
    WorkloadAndFilename,
)
from batprotocol.model.triggers import TemporalTrigger
from batprotocol.model.value import Value, hosts_into, tuples_into

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = [
    "BATSIM_TO_EDC",
    "EDC_TO_BATSIM",
    "AllStaticExternalEventsHaveBeenInjectedEvent",
    "AllStaticJobsHaveBeenSubmittedEvent",
    "CallMeLaterEvent",
    "ChangeHostsPStateEvent",
    "CreateProbeEvent",
    "Direction",
    "EDCHelloEvent",
    "Event",
    "ExecuteJobEvent",
    "ExternalEvent",
    "ExternalEventOccurredEvent",
    "FinishRegistrationEvent",
    "ForceSimulationStopEvent",
    "GenericExternalEvent",
    "HostsPStateChangedEvent",
    "HostsTurnedOnOffEvent",
    "JobCompletedEvent",
    "JobSubmittedEvent",
    "JobsKilledEvent",
    "KillJobsEvent",
    "ProbeDataEmittedEvent",
    "RegisterJobEvent",
    "RegisterProfileEvent",
    "RejectJobEvent",
    "RequestedCallEvent",
    "ResetProbeEvent",
    "SimulationBeginsEvent",
    "SimulationEndsEvent",
    "SimulationErrorEvent",
    "StopCallMeLaterEvent",
    "StopProbeEvent",
    "TriggerProbeEvent",
    "TurnOnOffHostsEvent",
]


class _Event(Value, frozen=True, kw_only=True):
    timestamp: float = 0.0


# Jobs


class JobSubmittedEvent(_Event, frozen=True, kw_only=True):
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


class JobCompletedEvent(_Event, frozen=True, kw_only=True):
    """Batsim: a job has ended. Batsim forgets the job as soon as this event is delivered.

    Args:
        job_id: the job, `workload!job`.
        state: how it ended.
        return_code: 0 for success; int32. Batsim gives -1 or -2 for a killed job.
        timestamp: when, in simulated seconds.
    """

    job_id: str
    state: FinalJobState
    return_code: int = 0


class RejectJobEvent(_Event, frozen=True, kw_only=True):
    """Decision component: this job will not be executed. Batsim sends no `JobCompletedEvent` for it.

    Args:
        job_id: a submitted job, `workload!job`.
        timestamp: when, in simulated seconds.
    """

    job_id: str


class ExecuteJobEvent(_Event, frozen=True, kw_only=True):
    """Decision component: execute this job on these hosts. Batsim does not check that they are free or enough.

    Args:
        job_id: a submitted job, `workload!job`.
        allocation: its hosts, and the placement of its executors on them.
        profile_allocation_override: other hosts and placements for sub-profiles of a composition, or None.
        storage_placement: the hosts that stand for the storages that the profiles name, or None.
        timestamp: when, in simulated seconds.
    """

    job_id: str
    allocation: AllocationPlacement
    profile_allocation_override: tuple[ProfileAllocationPlacement, ...] | None = None
    storage_placement: tuple[StorageHost, ...] | None = None

    def __post_init__(self) -> None:
        if self.profile_allocation_override is not None or self.storage_placement is not None:
            tuples_into(self, "profile_allocation_override", "storage_placement")


class KillJobsEvent(_Event, frozen=True, kw_only=True):
    """Decision component: kill these jobs. Answered by a `JobsKilledEvent`.

    Args:
        job_ids: running jobs, `workload!job`; Batsim refuses an empty list.
        timestamp: when, in simulated seconds.
    """

    job_ids: tuple[str, ...]

    def __post_init__(self) -> None:
        if type(self.job_ids) is not tuple:
            tuples_into(self, "job_ids")


class JobsKilledEvent(_Event, frozen=True, kw_only=True):
    """Batsim: these jobs were killed, as asked.

    Args:
        job_ids: the jobs, `workload!job`.
        progresses: how far each had come; fewer than `job_ids` when some had ended by themselves.
        profiles: their profiles, if `forward_profiles_on_jobs_killed` was requested; else None.
        timestamp: when, in simulated seconds.
    """

    job_ids: tuple[str, ...]
    progresses: tuple[JobAndProgress, ...]
    profiles: tuple[ProfileAndId, ...] | None = None

    def __post_init__(self) -> None:
        tuples_into(self, "job_ids", "progresses", "profiles")


# Dynamic registration


class RegisterProfileEvent(_Event, frozen=True, kw_only=True):
    """Decision component: here is a new profile.

    Args:
        profile: the profile and its new name, `workload!name`.
        timestamp: when, in simulated seconds.
    """

    profile: ProfileAndId


class RegisterJobEvent(_Event, frozen=True, kw_only=True):
    """Decision component: here is a new job.

    Args:
        job_id: its new name, `workload!job`.
        job: what it asks for; its profile must exist.
        timestamp: when, in simulated seconds.
    """

    job_id: str
    job: Job


class FinishRegistrationEvent(_Event, frozen=True, kw_only=True):
    """Decision component: no more jobs or profiles will be registered (due once `dynamic_registration` was requested).

    Args:
        timestamp: when, in simulated seconds.
    """


# Probes


class CreateProbeEvent(_Event, frozen=True, kw_only=True):
    """Decision component: observe these resources.

    Args:
        probe_id: the name of the probe; not empty, not in use.
        metrics: what is measured.
        resources: the hosts or links observed.
        data_accumulation_strategy: whether and how measures are accumulated over time.
        measurement_triggering_policy: when measures are taken.
        resources_aggregation_function: how the values of the resources become one.
        temporal_aggregation_function: how measures are aggregated over time.
        emission_filtering_policy: which data is emitted.
        timestamp: when, in simulated seconds.
    """

    probe_id: str
    metrics: Metrics = Metrics.Power
    resources: Resources
    data_accumulation_strategy: ProbeDataAccumulationStrategy = NoProbeDataAccumulation()
    measurement_triggering_policy: TemporalTrigger
    resources_aggregation_function: ResourcesAggregationFunction = NoResourcesAggregation()
    temporal_aggregation_function: TemporalAggregationFunction = NoTemporalAggregation()
    emission_filtering_policy: ProbeEmissionFilteringPolicy = NoFiltering()


class StopProbeEvent(_Event, frozen=True, kw_only=True):
    """Decision component: stop this probe.

    Args:
        probe_id: the name of the probe.
        timestamp: when, in simulated seconds.
    """

    probe_id: str


class TriggerProbeEvent(_Event, frozen=True, kw_only=True):
    """Decision component: take a measure now. Batsim 5.0.0-rc2 refuses it.

    Args:
        probe_id: the name of the probe.
        force_data_emission: emit data whatever the emission filter says; True unless told otherwise.
        timestamp: when, in simulated seconds.
    """

    probe_id: str
    force_data_emission: bool = True


class ResetProbeEvent(_Event, frozen=True, kw_only=True):
    """Decision component: set the accumulated value of this probe. Batsim 5.0.0-rc2 refuses it.

    Args:
        probe_id: the name of the probe.
        new_value: the new value, in the unit of the accumulated metrics.
        timestamp: when, in simulated seconds.
    """

    probe_id: str
    new_value: float = 0.0


class ProbeDataEmittedEvent(_Event, frozen=True, kw_only=True):
    """Batsim: data of a probe.

    Args:
        probe_id: the name of the probe.
        resources: the hosts or links observed.
        metrics: what is measured.
        data: the value, or one for each resource.
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


class CallMeLaterEvent(_Event, frozen=True, kw_only=True):
    """Decision component: call me at this time, or periodically.

    Args:
        call_me_later_id: a name that comes back in each `RequestedCallEvent`; not empty.
        when: `OneShot(42)`, `Periodic(10)` ...
        timestamp: when, in simulated seconds.
    """

    call_me_later_id: str
    when: TemporalTrigger


class RequestedCallEvent(_Event, frozen=True, kw_only=True):
    """Batsim: here is the call that was requested.

    Args:
        call_me_later_id: the name given in the `CallMeLaterEvent`.
        last_periodic_call: whether this is the last call of a periodic call with a finite number of periods.
        timestamp: when, in simulated seconds.
    """

    call_me_later_id: str
    last_periodic_call: bool = False


class StopCallMeLaterEvent(_Event, frozen=True, kw_only=True):
    """Decision component: stop this periodic call.

    Args:
        call_me_later_id: the name given in the `CallMeLaterEvent`.
        timestamp: when, in simulated seconds.
    """

    call_me_later_id: str


# The simulation


class EDCHelloEvent(_Event, frozen=True, kw_only=True):
    """Decision component: who I am. The one event of its first message.

    Args:
        batprotocol_version: the version of the protocol, for example `0.1.0`.
        batprotocol_commit: its Git commit, or None.
        decision_component_name: the scheduler's name, without comma or double quote.
        decision_component_version: its version, without comma or double quote.
        decision_component_commit: its commit, without comma or double quote. The schema calls it optional, but Batsim
            crashes without it; `MessageBuilder` writes `""` at least.
        requested_simulation_features: what it asks of the simulation.
        timestamp: when, in simulated seconds.
    """

    batprotocol_version: str
    batprotocol_commit: str | None = None
    decision_component_name: str
    decision_component_version: str
    decision_component_commit: str | None = None
    requested_simulation_features: EDCRequestedSimulationFeatures = EDCRequestedSimulationFeatures()


class SimulationBeginsEvent(_Event, frozen=True, kw_only=True):
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
    computation_hosts: tuple[Host, ...]
    storage_host_number: int = 0
    storage_hosts: tuple[Host, ...]
    batsim_arguments: tuple[str, ...]
    batsim_execution_context_json: str
    workloads: tuple[WorkloadAndFilename, ...]
    external_event_lists: tuple[ExternalEventListAndFilename, ...]
    profiles: tuple[ProfileAndId, ...] | None = None

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


class SimulationEndsEvent(_Event, frozen=True, kw_only=True):
    """Batsim: the simulation has ended. The decision component answers once more.

    Args:
        timestamp: when, in simulated seconds.
    """


class SimulationErrorEvent(_Event, frozen=True, kw_only=True):
    """Batsim: the simulation has failed. Batsim 5.0.0-rc2 has no code that sends it.

    Args:
        error: what happened.
        timestamp: when, in simulated seconds.
    """

    error: str


class AllStaticJobsHaveBeenSubmittedEvent(_Event, frozen=True, kw_only=True):
    """Batsim: all jobs of the static workloads have been submitted.

    Args:
        timestamp: when, in simulated seconds.
    """


class AllStaticExternalEventsHaveBeenInjectedEvent(_Event, frozen=True, kw_only=True):
    """Batsim: all events of the static external event lists have occurred.

    Args:
        timestamp: when, in simulated seconds.
    """


class ForceSimulationStopEvent(_Event, frozen=True, kw_only=True):
    """Decision component: stop the simulation now. Later events of the same message are dropped.

    Args:
        timestamp: when, in simulated seconds.
    """


# Hosts


class _HostIds(_Event, frozen=True, kw_only=True):
    host_ids: str

    def __post_init__(self) -> None:
        if type(self.host_ids) is not str:
            hosts_into(self, "host_ids")

    @property
    def hosts(self) -> ProcSet:
        """The hosts as a `procset.ProcSet`. `HostSetError` if the string is no host set."""
        return parse_hosts(self.host_ids)


class ChangeHostsPStateEvent(_HostIds, frozen=True, kw_only=True):
    """Decision component: change the power state of these hosts. Answered by a `HostsPStateChangedEvent`.

    Args:
        host_ids: the host set; anything but a string is written as the canonical string.
        pstate: the power state to reach; uint32.
        timestamp: when, in simulated seconds.
    """

    pstate: int


class HostsPStateChangedEvent(_HostIds, frozen=True, kw_only=True):
    """Batsim: the power state of these hosts has changed.

    Args:
        host_ids: the host set; anything but a string is written as the canonical string.
        pstate: the power state reached; uint32.
        timestamp: when, in simulated seconds. Batsim gives the time of the previous exchange.
    """

    pstate: int


class TurnOnOffHostsEvent(_HostIds, frozen=True, kw_only=True):
    """Decision component: turn these hosts on or off. Answered by a `HostsTurnedOnOffEvent`.

    Args:
        host_ids: the host set; anything but a string is written as the canonical string.
        state: the power state to reach, a computation one from a sleep one or the reverse; uint32.
        timestamp: when, in simulated seconds.
    """

    state: int


class HostsTurnedOnOffEvent(_HostIds, frozen=True, kw_only=True):
    """Batsim: these hosts are now on or off.

    Args:
        host_ids: the host set; anything but a string is written as the canonical string.
        state: the power state reached; uint32.
        timestamp: when, in simulated seconds. Batsim gives the time of the previous exchange.
    """

    state: int


# External events


class GenericExternalEvent(Value, frozen=True):
    """An external event that is free text.

    Args:
        data: the text, as the list of external events gives it.
    """

    data: str


ExternalEvent: TypeAlias = GenericExternalEvent


class ExternalEventOccurredEvent(_Event, frozen=True, kw_only=True):
    """Batsim: an external event has occurred.

    Args:
        id: its name.
        external_event: the event.
        timestamp: when, in simulated seconds. Batsim gives the time of the previous exchange.
    """

    id: str
    external_event: ExternalEvent


Event: TypeAlias = (
    JobSubmittedEvent
    | JobCompletedEvent
    | RejectJobEvent
    | ExecuteJobEvent
    | KillJobsEvent
    | JobsKilledEvent
    | RegisterProfileEvent
    | RegisterJobEvent
    | CreateProbeEvent
    | StopProbeEvent
    | TriggerProbeEvent
    | ResetProbeEvent
    | ProbeDataEmittedEvent
    | CallMeLaterEvent
    | RequestedCallEvent
    | StopCallMeLaterEvent
    | EDCHelloEvent
    | SimulationBeginsEvent
    | SimulationEndsEvent
    | SimulationErrorEvent
    | AllStaticJobsHaveBeenSubmittedEvent
    | AllStaticExternalEventsHaveBeenInjectedEvent
    | FinishRegistrationEvent
    | ForceSimulationStopEvent
    | ChangeHostsPStateEvent
    | HostsPStateChangedEvent
    | TurnOnOffHostsEvent
    | HostsTurnedOnOffEvent
    | ExternalEventOccurredEvent
)
"""Any event. `isinstance(thing, Event)` works."""


class Direction(str, Enum):
    """Which side sends an event or a message."""

    BATSIM_TO_EDC = "b2e"
    """From Batsim to the external decision component."""
    EDC_TO_BATSIM = "e2b"
    """From the external decision component to Batsim."""


BATSIM_TO_EDC: tuple[type[Event], ...] = (
    JobSubmittedEvent,
    JobCompletedEvent,
    JobsKilledEvent,
    ProbeDataEmittedEvent,
    RequestedCallEvent,
    SimulationBeginsEvent,
    SimulationEndsEvent,
    SimulationErrorEvent,
    AllStaticJobsHaveBeenSubmittedEvent,
    AllStaticExternalEventsHaveBeenInjectedEvent,
    HostsPStateChangedEvent,
    HostsTurnedOnOffEvent,
    ExternalEventOccurredEvent,
)
"""The types of the events that Batsim sends."""

EDC_TO_BATSIM: tuple[type[Event], ...] = (
    RejectJobEvent,
    ExecuteJobEvent,
    KillJobsEvent,
    RegisterProfileEvent,
    RegisterJobEvent,
    CreateProbeEvent,
    StopProbeEvent,
    TriggerProbeEvent,
    ResetProbeEvent,
    CallMeLaterEvent,
    StopCallMeLaterEvent,
    EDCHelloEvent,
    FinishRegistrationEvent,
    ForceSimulationStopEvent,
    ChangeHostsPStateEvent,
    TurnOnOffHostsEvent,
)
"""The types of the events that the decision component sends."""
