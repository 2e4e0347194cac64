"""What both sides tell each other at the start: requested features, the platform's hosts, the inputs."""

from __future__ import annotations

from batprotocol.model.doubles import Doubles
from batprotocol.model.enums import HostState
from batprotocol.model.fields import OptionalTupleOf, Vector
from batprotocol.model.value import Value, tuples_into, vectors_into

__all__ = [
    "EDCRequestedSimulationFeatures",
    "ExternalEventListAndFilename",
    "Host",
    "HostProperty",
    "WorkloadAndFilename",
]


class EDCRequestedSimulationFeatures(Value, frozen=True, kw_only=True):
    """What a decision component asks of the simulation. All are False unless told otherwise.

    Args:
        dynamic_registration: jobs and profiles can be registered; a `FinishRegistrationEvent` is then due, without
            which the simulation cannot end.
        profile_reuse: any profile can be used by registered jobs; otherwise Batsim forgets one when the first job that
            has it has ended (the schema's comment says the last one).
        acknowledge_dynamic_jobs: registered jobs come back in a `JobSubmittedEvent`.
        forward_profiles_on_job_submission: `JobSubmittedEvent.profile` is given.
        forward_profiles_on_jobs_killed: `JobsKilledEvent.profiles` is given.
        forward_profiles_on_simulation_begins: `SimulationBeginsEvent.profiles` is given.
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
        key: its name.
        value: its text.
    """

    key: str
    value: str


class Host(Value, frozen=True, kw_only=True):
    """A host of the platform.

    Args:
        id: the host's number, counted over computation and storage hosts together; uint32.
        name: the host's name in the platform file.
        pstate: its current power state; uint32.
        pstate_count: how many power states it has; uint32, 1 unless told otherwise.
        state: what it does. Batsim always says IDLE here.
        properties: the properties of the host, or None.
        zone_properties: the properties of the zone that holds the host, or None.
        core_count: how many cores it has; uint32, 1 unless told otherwise.
        computation_speed: flops per second in each power state, indexed by power state.
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
        name: its name, the part before the `!` of its jobs and profiles.
        filename: its file, on Batsim's side.
    """

    name: str
    filename: str


class ExternalEventListAndFilename(Value, frozen=True):
    """A static list of external events.

    Args:
        name: its name.
        filename: its file, on Batsim's side.
    """

    name: str
    filename: str
