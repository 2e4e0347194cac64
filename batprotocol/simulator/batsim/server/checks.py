"""Checks that the decision component could not make itself, because they depend on profiles that it did not get."""

from __future__ import annotations

from math import inf
from typing import Final

from batprotocol.errors import shown
from batprotocol.model import (
    CreateProbeEvent,
    DelayProfile,
    HostResources,
    Metrics,
    ParallelTaskDataStagingBetweenStoragesProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskProfile,
    ProbeDataAccumulation,
    RegisterJobEvent,
    TraceReplayProfile,
    TraceType,
)
from batprotocol.simulator.batsim.actors.runners import Order
from batprotocol.simulator.batsim.state.jobs import SimulatedJob
from batprotocol.simulator.batsim.state.probes import NORMALIZED
from batprotocol.simulator.batsim.state.profiles import has_parts
from batprotocol.simulator.batsim.state.simulation import Simulation
from batprotocol.simulator.progress.matrices import TASKS, size, storages
from batprotocol.simulator.progress.placement import Placement, hosts_of

__all__ = ["check_execution", "check_probe", "check_registration"]

_OF_NETWORK: Final = (Metrics.NetworkLoad, Metrics.NormalizedNetworkLoad)


def check_execution(simulation: Simulation, job: SimulatedJob, order: Order) -> None:
    """Refuse an execution that cannot be simulated. Otherwise, store the hosts of its storages in the order."""
    for given in order.event.profile_allocation_override or ():
        if simulation.is_batsim and not given.host_allocation:
            raise simulation.refusal("hosts.empty", f"profile {shown(given.profile_id)} is executed on no host")
    profile = simulation.profiles.find(job.profile_id).profile
    if isinstance(profile, DelayProfile):
        if profile.delay == inf and job.job.walltime is None:
            raise simulation.refusal("profile.infinite", f"job {shown(job.id)} would never end")
        return
    if not isinstance(profile, (*TASKS, TraceReplayProfile)) and not has_parts(profile):
        return
    # If there are several for one storage, the first one counts.
    placed = {given.storage_name: given.host_id for given in reversed(order.event.storage_placement or ())}
    for id in simulation.profiles.tree(job.profile_id):
        _check_part(simulation, job, order, id, placed)


def _check_part(simulation: Simulation, job: SimulatedJob, order: Order, id: str, placed: dict[str, int]) -> None:
    known = simulation.profiles.find(id)
    profile = known.profile
    placement = order.placement(id)
    requested = job.job.resource_request
    if isinstance(profile, (*TASKS, TraceReplayProfile)):
        _check_placement(simulation, id, placement)
    if isinstance(profile, TraceReplayProfile):
        if profile.trace_type == TraceType.SMPI:
            raise simulation.refusal(
                "profile.not-simulated",
                f"profile {shown(id)} replays an SMPI trace, which only SimGrid itself can simulate",
            )
        ranks = len(known.traces or ())
        if len(set(placement.executors(ranks, simulation.machine.hosts))) < ranks:
            raise simulation.refusal("job.usage-hosts", f"each of the {ranks} ranks of {shown(id)} needs its own host")
    elif isinstance(profile, TASKS):
        _check_task(simulation, job, id, profile, placement, requested)
    for name in storages(profile):
        host = placed.get(name)
        if host is None:
            host = simulation.setup.host_named(name)
        if host is None:
            raise simulation.refusal(
                "job.storage-unknown", f"storage {shown(name)} is not placed, and no host has this name"
            )
        order.storages[name] = host


def _check_placement(simulation: Simulation, id: str, placement: Placement) -> None:
    if not placement.allocation:
        raise simulation.refusal("hosts.empty", f"profile {shown(id)} is executed on no host")
    last = len(simulation.machine.hosts) - 1
    if placement.allocation[-1] > last:
        text = f"profile {shown(id)} is executed on host {placement.allocation[-1]}: the last one is {last}"
        raise simulation.refusal("hosts.unknown", text)
    size = len(placement.allocation)
    wrong = next((entry for entry in placement.mapping or () if entry >= size), None)
    if wrong is not None:
        text = f"there is no host {wrong} in an allocation of {size} hosts (profile {shown(id)})"
        raise simulation.refusal("job.mapping-entry", text)


def _check_task(
    simulation: Simulation, job: SimulatedJob, id: str, profile: object, placement: Placement, requested: int
) -> None:
    if requested == 0:
        raise simulation.refusal("job.no-executors", f"job {shown(job.id)} has no executors to run {shown(id)}")
    mapping = placement.mapping
    if isinstance(profile, ParallelTaskProfile):
        if size(profile) != requested:
            text = f"job {shown(job.id)} has {requested} executors, and profile {shown(id)} is for {size(profile)}"
            raise simulation.refusal("job.profile-size", text)
        if mapping is not None and len(mapping) != requested:
            text = f"the mapping has {len(mapping)} entries, and job {shown(job.id)} has {requested} executors"
            raise simulation.refusal("job.mapping-size", text)
    if not simulation.is_batsim:
        return
    if isinstance(profile, ParallelTaskHomogeneousProfile):
        if inf in (profile.computation_amount, profile.communication_amount):
            raise simulation.refusal("profile.infinite", f"profile {shown(id)} would never end")
        count = requested if mapping is None else len(mapping)
        if count == 1 and not profile.computation_amount:
            raise simulation.refusal("profile.no-work", f"profile {shown(id)} has nothing to do on one executor")
    staging = isinstance(profile, ParallelTaskDataStagingBetweenStoragesProfile) and profile.bytes_to_transfer > 0
    if staging and not simulation.corrected:
        raise simulation.refusal("profile.staging", f"Batsim aborts when it executes {shown(id)}")


def check_registration(simulation: Simulation, event: RegisterJobEvent, profile_id: str) -> None:
    """Refuse a job whose profile does not exist, or no longer exists."""
    workload = event.job_id.partition("!")[0]
    if simulation.setup.has_workload(workload) and simulation.setup.has_static_job(event.job_id):
        raise simulation.refusal("register.duplicate-job", f"job {shown(event.job_id)} exists already")
    known = simulation.profiles.known.get(profile_id)
    if profile_id in simulation.profiles.gone or (known is not None and profile_id in simulation.profiles.unusable):
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
