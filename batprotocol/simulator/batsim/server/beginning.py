"""The first event for the decision component: the platform, and the inputs."""

from __future__ import annotations

from typing import Final

from batprotocol import workloads as inputs
from batprotocol._util.counting import step
from batprotocol.model import (
    Doubles,
    ExternalEventListAndFilename,
    Host,
    HostProperty,
    HostState,
    ProfileAndId,
    SimulationBeginsEvent,
    WorkloadAndFilename,
)
from batprotocol.simulator.batsim.state.simulation import Simulation

__all__ = ["beginning"]

_BATSIM_VERSION: Final = "5.0.0-rc2"
_PROTOCOL_VERSION: Final = "0.1.0"


def beginning(simulation: Simulation) -> SimulationBeginsEvent:
    """The event with the platform and the inputs, after all submitters have started."""
    setup = simulation.setup
    speeds: dict[tuple[float, ...], Doubles] = {}
    computing = tuple([_host_of_event(host, speeds) for host in setup.platform.computation_hosts])
    storing = tuple([_host_of_event(host, speeds) for host in setup.platform.storage_hosts])
    profiles: tuple[ProfileAndId, ...] = ()
    if setup.features.forward_profiles_on_simulation_begins:
        known = simulation.profiles
        profiles = tuple(known.sent(id) for id in known.known if id not in known.unusable)
    return SimulationBeginsEvent(
        timestamp=simulation.server.stamp,
        batprotocol_version=_PROTOCOL_VERSION,
        batsim_version=_BATSIM_VERSION,
        host_number=len(computing) + len(storing),
        computation_host_number=len(computing),
        computation_hosts=computing,
        storage_host_number=len(storing),
        storage_hosts=storing,
        batsim_arguments=setup.arguments,
        batsim_execution_context_json="{}",
        workloads=tuple(WorkloadAndFilename(each.name, each.filename) for each in setup.workloads),
        external_event_lists=tuple(
            ExternalEventListAndFilename(each.name, each.filename) for each in setup.event_lists
        ),
        profiles=profiles,
    )


def _host_of_event(host: inputs.Host, speeds: dict[tuple[float, ...], Doubles]) -> Host:
    """A host of the event. Equal hosts share their values, because there may be very many of them."""
    step()
    speed = speeds.get(host.speeds)
    if speed is None:
        speed = speeds[host.speeds] = Doubles(host.speeds)
    return Host(
        id=host.id,
        name=host.name,
        pstate=host.pstate,
        pstate_count=len(host.speeds),
        state=HostState.IDLE,
        properties=tuple(HostProperty(key, value) for key, value in host.properties),
        zone_properties=tuple(HostProperty(key, value) for key, value in host.zone_properties),
        core_count=host.cores,
        computation_speed=speed,
    )
