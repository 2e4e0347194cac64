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
    """Decision component: this job will not be executed. Batsim sends no `JobCompletedEvent` for it.

    Args:
        job_id: a submitted job, `workload!job`.
        timestamp: when, in simulated seconds.
    """

    job_id: str


class ExecuteJobEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: execute this job on these hosts. Answered by a `JobCompletedEvent` when it has ended.

    Batsim does not check that the hosts are free or enough.

    Args:
        job_id: a submitted job, `workload!job`.
        allocation: its hosts, and the placement of its executors on them.
        profile_allocation_override: other hosts and placements for sub-profiles of a composition, or None.
        storage_placement: the hosts that stand for the storages that the profiles name, or None.
        timestamp: when, in simulated seconds.
    """

    job_id: str
    allocation: AllocationPlacement
    profile_allocation_override: OptionalTupleOf[ProfileAllocationPlacement] = None  # type: ignore[assignment]
    storage_placement: OptionalTupleOf[StorageHost] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.profile_allocation_override is not None or self.storage_placement is not None:
            tuples_into(self, "profile_allocation_override", "storage_placement")


class KillJobsEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: kill these jobs. Answered by a `JobsKilledEvent`.

    Args:
        job_ids: running jobs, `workload!job`; Batsim refuses an empty list.
        timestamp: when, in simulated seconds.
    """

    job_ids: TupleOf[str]

    def __post_init__(self) -> None:
        if type(self.job_ids) is not tuple:
            tuples_into(self, "job_ids")


# Dynamic registration


class RegisterProfileEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: here is a new profile.

    Args:
        profile: the profile and its new name, `workload!name`.
        timestamp: when, in simulated seconds.
    """

    profile: ProfileAndId


class RegisterJobEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: here is a new job. Answered by a `JobSubmittedEvent` if `acknowledge_dynamic_jobs`
    was requested.

    Args:
        job_id: its new name, `workload!job`.
        job: what it asks for; its profile must exist.
        timestamp: when, in simulated seconds.
    """

    job_id: str
    job: Job


class FinishRegistrationEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: no more jobs or profiles will be registered (due once `dynamic_registration` was requested).

    Args:
        timestamp: when, in simulated seconds.
    """


# Probes


class CreateProbeEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: observe these resources. Answered by a `ProbeDataEmittedEvent` at each emission.

    Batsim 5.0.0-rc2 implements one kind of probe and refuses others: power of hosts, periodically, accumulated without
    reset, told for each host or as sum or mean.

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


class StopProbeEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: stop this probe.

    Args:
        probe_id: the name of the probe.
        timestamp: when, in simulated seconds.
    """

    probe_id: str


class TriggerProbeEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: take a measure now. Batsim 5.0.0-rc2 refuses it.

    Args:
        probe_id: the name of the probe.
        force_data_emission: emit data whatever the emission filter says; True unless told otherwise.
        timestamp: when, in simulated seconds.
    """

    probe_id: str
    force_data_emission: bool = True


class ResetProbeEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: set the accumulated value of this probe. Batsim 5.0.0-rc2 refuses it.

    Args:
        probe_id: the name of the probe.
        new_value: the new value, in the unit of the accumulated metrics.
        timestamp: when, in simulated seconds.
    """

    probe_id: str
    new_value: float = 0.0


# Calls


class CallMeLaterEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: call me at this time, or periodically. Answered by a `RequestedCallEvent` each time.

    Args:
        call_me_later_id: a name that comes back in each `RequestedCallEvent`; not empty.
        when: `OneShot(42)`, `Periodic(10)` ...
        timestamp: when, in simulated seconds.
    """

    call_me_later_id: str
    when: TemporalTrigger


class StopCallMeLaterEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: stop this periodic call.

    Args:
        call_me_later_id: the name given in the `CallMeLaterEvent`.
        timestamp: when, in simulated seconds.
    """

    call_me_later_id: str


# The simulation


class EDCHelloEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: who I am. The one event of its first message. Answered by a `SimulationBeginsEvent`.

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


class ForceSimulationStopEvent(EventBase, frozen=True, kw_only=True):
    """Decision component: stop the simulation now. Answered by a `SimulationEndsEvent`.

    Later events of the same message are dropped.

    Args:
        timestamp: when, in simulated seconds.
    """


# Hosts


class ChangeHostsPStateEvent(HostsEventBase, frozen=True, kw_only=True):
    """Decision component: change the power state of these hosts. Answered by a `HostsPStateChangedEvent`.

    Args:
        host_ids: the host set; anything but a string is written as the canonical string.
        pstate: the power state to reach; uint32.
        timestamp: when, in simulated seconds.
    """

    host_ids: HostString
    pstate: int


class TurnOnOffHostsEvent(HostsEventBase, frozen=True, kw_only=True):
    """Decision component: turn these hosts on or off. Answered by a `HostsTurnedOnOffEvent`.

    Args:
        host_ids: the host set; anything but a string is written as the canonical string.
        state: the power state to reach, a computation one from a sleep one or the reverse; uint32.
        timestamp: when, in simulated seconds.
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
