"""Checks that the decision component could not make itself, because they depend on profiles that it did not get."""

from __future__ import annotations

from typing import Final

from batprotocol.errors import InputError, shown
from batprotocol.model import (
    CreateProbeEvent,
    HostResources,
    Metrics,
    ParallelTaskProfile,
    ProbeDataAccumulation,
    Profile,
    RegisterJobEvent,
    TraceReplayProfile,
    TraceType,
)
from batprotocol.simulator.batsim.state.probes import NORMALIZED
from batprotocol.simulator.batsim.state.simulation import Simulation
from batprotocol.simulator.progress.matrices import size
from batprotocol.simulator.progress.placement import hosts_of
from batprotocol.workloads import Usage

__all__ = ["check_probe", "check_registration", "read_trace"]

_OF_NETWORK: Final = (Metrics.NetworkLoad, Metrics.NormalizedNetworkLoad)


def read_trace(simulation: Simulation, id: str, profile: Profile) -> tuple[tuple[Usage, ...], ...] | None:
    """The lines of a usage trace that is being registered, or None for other profiles. Refuse one that is not there."""
    if not isinstance(profile, TraceReplayProfile) or profile.trace_type != TraceType.FractionalComputation:
        return None
    try:
        return simulation.setup.traces(profile.filename, corrected=simulation.corrected)
    except (InputError, OSError, ValueError) as error:
        text = f"the trace {shown(profile.filename)} of profile {shown(id)} cannot be read: {error}"
        raise simulation.refusal("profile.trace-unreadable", text) from None


def check_registration(simulation: Simulation, event: RegisterJobEvent, profile_id: str) -> None:
    """Refuse a job whose profile does not exist, or no longer exists."""
    workload = event.job_id.partition("!")[0]
    if simulation.setup.has_workload(workload) and simulation.setup.has_static_job(event.job_id):
        raise simulation.refusal("register.duplicate-job", f"job {shown(event.job_id)} exists already")
    known = simulation.profiles.known.get(profile_id)
    if profile_id in simulation.profiles.dropped or (known is not None and profile_id in simulation.profiles.unusable):
        raise simulation.refusal(
            "register.profile-gone",
            f"job {shown(event.job_id)} has profile {shown(profile_id)}, which existed and is no longer accessible",
        )
    if known is None:
        text = f"job {shown(event.job_id)} has profile {shown(profile_id)}, which does not exist"
        raise simulation.refusal("register.unknown-profile", text)
    profile = known.profile
    if isinstance(profile, ParallelTaskProfile) and size(profile) != event.job.resource_request:
        text = f"job {shown(event.job_id)} requests {event.job.resource_request}, its profile has {size(profile)}"
        raise simulation.refusal("register.job-size", text)


def check_probe(simulation: Simulation, event: CreateProbeEvent) -> list[int]:
    """Refuse a probe that cannot measure anything; otherwise return the resources that it observes."""
    accumulates = isinstance(event.data_accumulation_strategy, ProbeDataAccumulation)
    if accumulates and event.metrics in NORMALIZED:
        text = f"{event.metrics.name} cannot be accumulated: it is not defined per unit of time"
        raise simulation.refusal("probe.senseless", text)
    if event.metrics == Metrics.Power and not simulation.machine.has_energy:
        raise simulation.refusal("probe.no-energy", "energy is not measured")
    if isinstance(event.resources, HostResources):
        if event.metrics in _OF_NETWORK:
            raise simulation.refusal("probe.senseless", f"{event.metrics.name} is measured of links, not of hosts")
        return list(hosts_of(event.resources.host_ids))
    if event.metrics not in _OF_NETWORK:
        raise simulation.refusal("probe.senseless", f"{event.metrics.name} is measured of hosts, not of links")
    found = []
    for name in event.resources.link_ids:
        link = simulation.machine.link(name)
        if link is None:
            raise simulation.refusal("probe.link-unknown", f"there is no link {shown(name)}")
        found.append(link)
    return found
