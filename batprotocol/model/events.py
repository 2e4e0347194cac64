"""The events of the protocol's `Event` union, and the side that sends each.

All constructors take keyword arguments only. All events have a `timestamp`, in simulated seconds: the time at which the
event happened or is to happen. It must not be later than the `now` of the message. `MessageBuilder` fills it in.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias, get_args

from batprotocol.model.enums import FinalJobState, Metrics
from batprotocol.model.hosts import parse_hosts
from batprotocol.model.jobs import AllocationPlacement, Job, JobAndProgress, ProfileAllocationPlacement, StorageHost
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
    TemporalTrigger,
)
from batprotocol.model.profiles import ProfileAndId
from batprotocol.model.simulation import (
    EDCRequestedSimulationFeatures,
    ExternalEventListAndFilename,
    Host,
    WorkloadAndFilename,
)
from batprotocol.model.value import HostString, OptionalTupleOf, TupleOf, Value, hosts_into, tuples_into

if TYPE_CHECKING:
    from procset import ProcSet

__path__: list[str] = []  # it was a package: its modules are found by their old names

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
    "EventFromBatsim",
    "EventFromEDC",
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


# The base classes of events. This module must not depend on which side sends an event.


class EventBase(Value, frozen=True, kw_only=True):
    """An event: something that happens at a given time."""

    timestamp: float = 0.0


class HostsEventBase(EventBase, frozen=True, kw_only=True):
    """An event about a set of hosts."""

    # Subclasses repeat it: mypy takes the type of the constructor's argument for that of an inherited field.
    host_ids: HostString

    def __post_init__(self) -> None:
        if type(self.host_ids) is not str:
            hosts_into(self, "host_ids")

    @property
    def hosts(self) -> ProcSet:
        """The hosts as a `procset.ProcSet`. Raises `HostSetError` if the string is not a host set."""
        return parse_hosts(self.host_ids)


# The events that Batsim sends, in the order of the schema.


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


# The events that the decision component sends, in the order of the schema.


# Jobs


class RejectJobEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: reject this job. Batsim never executes it, and sends no `JobCompletedEvent` for it.

    Args:
        job_id: the id of a submitted job, `workload!job`.
        timestamp: the time of the event, in simulated seconds.
    """

    job_id: str


class ExecuteJobEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: execute this job on these hosts. Batsim answers with a `JobCompletedEvent` when it has ended.

    Batsim does not check that the hosts are free, or that there are enough of them.

    Args:
        job_id: the id of a submitted job, `workload!job`.
        allocation: the hosts of the job, and the placement of its executors on them.
        profile_allocation_override: other hosts and placements for the profiles within a composition, or None.
        storage_placement: the hosts of the storages that the profiles name, or None.
        timestamp: the time of the event, in simulated seconds.
    """

    job_id: str
    allocation: AllocationPlacement
    profile_allocation_override: OptionalTupleOf[ProfileAllocationPlacement] = None  # type: ignore[assignment]
    storage_placement: OptionalTupleOf[StorageHost] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.profile_allocation_override is not None or self.storage_placement is not None:
            tuples_into(self, "profile_allocation_override", "storage_placement")


class KillJobsEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: kill these jobs. Batsim answers with a `JobsKilledEvent`.

    Args:
        job_ids: the ids of running jobs, `workload!job`. Batsim refuses an empty list.
        timestamp: the time of the event, in simulated seconds.
    """

    job_ids: TupleOf[str]

    def __post_init__(self) -> None:
        if type(self.job_ids) is not tuple:
            tuples_into(self, "job_ids")


# Dynamic registration


class RegisterProfileEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: register a new profile.

    Args:
        profile: the profile and its new id, `workload!name`.
        timestamp: the time of the event, in simulated seconds.
    """

    profile: ProfileAndId


class RegisterJobEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: register a new job. Batsim answers with a `JobSubmittedEvent` if `acknowledge_dynamic_jobs`
    was requested.

    Args:
        job_id: the new id of the job, `workload!job`.
        job: the request of the job. Its profile must exist.
        timestamp: the time of the event, in simulated seconds.
    """

    job_id: str
    job: Job


class FinishRegistrationEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: registration is finished. It is required, once, if `dynamic_registration` was requested.

    Args:
        timestamp: the time of the event, in simulated seconds.
    """


# Probes


class CreateProbeEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: observe these resources. Batsim answers with a `ProbeDataEmittedEvent` at each emission.

    Batsim 5.0.0-rc2 implements one kind of probe and refuses others: power of hosts, with a periodic trigger,
    accumulated without reset. The probe emits one value for each host, or their sum or mean.

    Args:
        probe_id: the id of the probe; not empty, and not the id of a running probe.
        metrics: the quantity that the probe measures; `Metrics.Power` by default.
        resources: the hosts or links that the probe observes.
        data_accumulation_strategy: how the probe accumulates measures over time; no accumulation by default.
        measurement_triggering_policy: the times at which the probe measures.
        resources_aggregation_function: how the probe combines the values of the resources; no aggregation by default.
        temporal_aggregation_function: how the probe aggregates measures over time; no aggregation by default.
        emission_filtering_policy: which data the probe emits; all by default.
        timestamp: the time of the event, in simulated seconds.
    """

    probe_id: str
    metrics: Metrics = Metrics.Power
    resources: Resources
    data_accumulation_strategy: ProbeDataAccumulationStrategy = NoProbeDataAccumulation()
    measurement_triggering_policy: TemporalTrigger
    resources_aggregation_function: ResourcesAggregationFunction = NoResourcesAggregation()
    temporal_aggregation_function: TemporalAggregationFunction = NoTemporalAggregation()
    emission_filtering_policy: ProbeEmissionFilteringPolicy = NoFiltering()


class StopProbeEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: stop this probe.

    Args:
        probe_id: the id of the probe.
        timestamp: the time of the event, in simulated seconds.
    """

    probe_id: str


class TriggerProbeEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: measure with this probe now. Batsim 5.0.0-rc2 refuses it.

    Args:
        probe_id: the id of the probe.
        force_data_emission: emit the data even if the emission filter would drop it; True by default.
        timestamp: the time of the event, in simulated seconds.
    """

    probe_id: str
    force_data_emission: bool = True


class ResetProbeEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: set the accumulated value of this probe. Batsim 5.0.0-rc2 refuses it.

    Args:
        probe_id: the id of the probe.
        new_value: the new value, in the unit of the accumulated metrics; 0 by default.
        timestamp: the time of the event, in simulated seconds.
    """

    probe_id: str
    new_value: float = 0.0


# Calls


class CallMeLaterEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: request a call, once or periodically. Batsim answers with a `RequestedCallEvent` each time.

    Args:
        call_me_later_id: the id of the call, not empty. Each `RequestedCallEvent` has the same id.
        when: the time of the call, such as `OneShot(42)` or `Periodic(10)`.
        timestamp: the time of the event, in simulated seconds.
    """

    call_me_later_id: str
    when: TemporalTrigger


class StopCallMeLaterEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: stop this periodic call.

    Args:
        call_me_later_id: the id of the call, from the `CallMeLaterEvent`.
        timestamp: the time of the event, in simulated seconds.
    """

    call_me_later_id: str


# The simulation


class EDCHelloEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: identify yourself and request features. Batsim answers with a `SimulationBeginsEvent`.

    It is the only event of the decision component's first message.

    Args:
        batprotocol_version: the version of the protocol, for example `0.1.0`.
        batprotocol_commit: the Git commit of the protocol, or None.
        decision_component_name: the name of the scheduler, without comma or double quote.
        decision_component_version: the version of the scheduler, without comma or double quote.
        decision_component_commit: the commit of the scheduler, without comma or double quote. It is optional in the
            schema, but Batsim crashes without it. `MessageBuilder` writes at least `""`.
        requested_simulation_features: the features that the scheduler requests; none by default.
        timestamp: the time of the event, in simulated seconds.
    """

    batprotocol_version: str
    batprotocol_commit: str | None = None
    decision_component_name: str
    decision_component_version: str
    decision_component_commit: str | None = None
    requested_simulation_features: EDCRequestedSimulationFeatures = EDCRequestedSimulationFeatures()


class ForceSimulationStopEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: stop the simulation now. Batsim answers with a `SimulationEndsEvent`.

    Batsim drops later events of the same message.

    Args:
        timestamp: the time of the event, in simulated seconds.
    """


# Hosts


class ChangeHostsPStateEvent(HostsEventBase, frozen=True, kw_only=True):
    """Decision component: change the power state of these hosts. Batsim answers with a `HostsPStateChangedEvent`.

    Args:
        host_ids: the host set. A string is kept; any other host set becomes the canonical string.
        pstate: the power state to reach; uint32.
        timestamp: the time of the event, in simulated seconds.
    """

    host_ids: HostString
    pstate: int


class TurnOnOffHostsEvent(HostsEventBase, frozen=True, kw_only=True):
    """Decision component: turn these hosts on or off. Batsim answers with a `HostsTurnedOnOffEvent`.

    Args:
        host_ids: the host set. A string is kept; any other host set becomes the canonical string.
        state: the power state to reach: a computation state to turn hosts on, a sleep state to turn them off; uint32.
        timestamp: the time of the event, in simulated seconds.
    """

    host_ids: HostString
    state: int


EventFromEDC: TypeAlias = (
    RejectJobEvent
    | ExecuteJobEvent
    | KillJobsEvent
    | RegisterProfileEvent
    | RegisterJobEvent
    | CreateProbeEvent
    | StopProbeEvent
    | TriggerProbeEvent
    | ResetProbeEvent
    | CallMeLaterEvent
    | StopCallMeLaterEvent
    | EDCHelloEvent
    | FinishRegistrationEvent
    | ForceSimulationStopEvent
    | ChangeHostsPStateEvent
    | TurnOnOffHostsEvent
)
"""Any event that the decision component sends."""


Event: TypeAlias = EventFromBatsim | EventFromEDC
"""Any event. `isinstance(thing, Event)` works."""


class Direction(str, Enum):
    """The side that sends an event or a message."""

    BATSIM_TO_EDC = "b2e"
    """From Batsim to the external decision component."""
    EDC_TO_BATSIM = "e2b"
    """From the external decision component to Batsim."""


BATSIM_TO_EDC: tuple[type[Event], ...] = get_args(EventFromBatsim)
"""The types of the events that Batsim sends."""

EDC_TO_BATSIM: tuple[type[Event], ...] = get_args(EventFromEDC)
"""The types of the events that the decision component sends."""
