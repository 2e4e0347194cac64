"""The events that the decision component sends, in the order of the schema."""

from __future__ import annotations

from typing import TypeAlias

from batprotocol.model.enums import Metrics
from batprotocol.model.events.base import EventBase, HostsEventBase
from batprotocol.model.fields import HostString, OptionalTupleOf, TupleOf
from batprotocol.model.jobs import Job
from batprotocol.model.placements import AllocationPlacement, ProfileAllocationPlacement, StorageHost
from batprotocol.model.probes import (
    NoFiltering,
    NoProbeDataAccumulation,
    NoResourcesAggregation,
    NoTemporalAggregation,
    ProbeDataAccumulationStrategy,
    ProbeEmissionFilteringPolicy,
    Resources,
    ResourcesAggregationFunction,
    TemporalAggregationFunction,
)
from batprotocol.model.profiles import ProfileAndId
from batprotocol.model.simulation import EDCRequestedSimulationFeatures
from batprotocol.model.triggers import TemporalTrigger
from batprotocol.model.value import tuples_into

__all__ = [
    "CallMeLaterEvent",
    "ChangeHostsPStateEvent",
    "CreateProbeEvent",
    "EDCHelloEvent",
    "ExecuteJobEvent",
    "FinishRegistrationEvent",
    "ForceSimulationStopEvent",
    "KillJobsEvent",
    "RegisterJobEvent",
    "RegisterProfileEvent",
    "RejectJobEvent",
    "ResetProbeEvent",
    "StopCallMeLaterEvent",
    "StopProbeEvent",
    "TriggerProbeEvent",
    "TurnOnOffHostsEvent",
]


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
