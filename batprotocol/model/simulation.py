"""The values that both sides exchange at the start: requested features, the platform's hosts, the inputs."""

from __future__ import annotations

from batprotocol.model.enums import HostState
from batprotocol.model.value import Doubles, OptionalTupleOf, Value, Vector, tuples_into, vectors_into

__all__ = [
    "EDCRequestedSimulationFeatures",
    "ExternalEventListAndFilename",
    "Host",
    "HostProperty",
    "WorkloadAndFilename",
]


class EDCRequestedSimulationFeatures(Value, frozen=True, kw_only=True):
    """The features that a decision component requests from Batsim. All are False by default.

    Args:
        dynamic_registration: the decision component registers jobs and profiles. It must then send a
            `FinishRegistrationEvent`: the simulation cannot end without one.
        profile_reuse: registered jobs can use any profile. Without it, Batsim forgets a profile when the first job that
            uses it has ended (the comment in the schema says the last job).
        acknowledge_dynamic_jobs: Batsim sends a `JobSubmittedEvent` for each registered job.
        forward_profiles_on_job_submission: Batsim fills in `JobSubmittedEvent.profile`.
        forward_profiles_on_jobs_killed: Batsim fills in `JobsKilledEvent.profiles`.
        forward_profiles_on_simulation_begins: Batsim fills in `SimulationBeginsEvent.profiles`.
    """

    dynamic_registration: bool = False
    profile_reuse: bool = False
    acknowledge_dynamic_jobs: bool = False
    forward_profiles_on_job_submission: bool = False
    forward_profiles_on_jobs_killed: bool = False
    forward_profiles_on_simulation_begins: bool = False


class HostProperty(Value, frozen=True):
    """A property of a host or of its zone, as the platform file defines it.

    Args:
        key: the name of the property.
        value: the text of the property.
    """

    key: str
    value: str


class Host(Value, frozen=True, kw_only=True):
    """A host of the platform.

    Args:
        id: the number of the host. Computation and storage hosts are numbered together; uint32.
        name: the name of the host in the platform file.
        pstate: the current power state; uint32, 0 by default.
        pstate_count: the number of power states; uint32, 1 by default.
        state: the activity of the host. Batsim always sends `IDLE` here.
        properties: the properties of the host, or None.
        zone_properties: the properties of the zone that holds the host, or None.
        core_count: the number of cores; uint32, 1 by default.
        computation_speed: the speed of one core in each power state, in flops per second, indexed by power state.
    """

    id: int
    name: str
    pstate: int = 0
    pstate_count: int = 1
    state: HostState = HostState.SLEEPING
    properties: OptionalTupleOf[HostProperty] = None  # type: ignore[assignment]
    zone_properties: OptionalTupleOf[HostProperty] = None  # type: ignore[assignment]
    core_count: int = 1
    computation_speed: Vector

    def __post_init__(self) -> None:
        if type(self.computation_speed) is not Doubles:
            vectors_into(self, "computation_speed")
        if type(self.properties) is not tuple or type(self.zone_properties) is not tuple:
            tuples_into(self, "properties", "zone_properties")


class WorkloadAndFilename(Value, frozen=True):
    """A static workload.

    Args:
        name: the name of the workload, which is the part before the `!` in the ids of its jobs and profiles.
        filename: the path of its file on the machine of Batsim.
    """

    name: str
    filename: str


class ExternalEventListAndFilename(Value, frozen=True):
    """A static list of external events.

    Args:
        name: the name of the list.
        filename: the path of its file on the machine of Batsim.
    """

    name: str
    filename: str
