"""The decision to execute a job, and the checks of each part of its profile.

As in Batsim, a part is checked when it begins: a part that is never reached, because the job is killed or ends before,
is never refused.
"""

from __future__ import annotations

from math import inf

from mypy_extensions import mypyc_attr

from batprotocol.errors import RuleViolation, shown
from batprotocol.model import (
    DelayProfile,
    ExecuteJobEvent,
    ParallelTaskDataStagingBetweenStoragesProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskProfile,
    Profile,
    TraceReplayProfile,
    TraceType,
)
from batprotocol.simulator.batsim.state.simulation import Simulation
from batprotocol.simulator.progress.matrices import TASKS, size, storages
from batprotocol.simulator.progress.placement import PlacedExecutors, hosts_of
from batprotocol.workloads import WorkloadProfile

__all__ = ["ExecutionOrder"]


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class ExecutionOrder:
    """The decision to execute a job.

    Attributes:
        event: the event of the decision.
        hosts: the hosts of the job.
        resources: the number of hosts that the job requests.
        storages: the hosts of the storages that were placed, or named by parts that have begun.
    """

    __slots__ = ("_overrides", "event", "hosts", "resources", "storages")

    def __init__(self, event: ExecuteJobEvent, hosts: tuple[int, ...], resources: int) -> None:
        self.event = event
        self.hosts = hosts
        self.resources = resources
        # If there are several for one storage or profile, the first one counts.
        self.storages = {given.storage_name: given.host_id for given in reversed(event.storage_placement or ())}
        self._overrides = {given.profile_id: given for given in reversed(event.profile_allocation_override or ())}

    def placement(self, profile_id: str) -> PlacedExecutors:
        """The placement of a profile: the one for this profile in the decision, or the one of the whole job."""
        given = self._overrides.get(profile_id)
        if given is not None:
            return PlacedExecutors(hosts_of(given.host_allocation), given.executor_placement)
        return PlacedExecutors(self.hosts, self.event.allocation.executor_placement)

    def check_part(self, simulation: Simulation, id: str, known: WorkloadProfile, left: float) -> None:
        """Refuse a part that cannot be simulated. Otherwise, find the hosts of its storages.

        Args:
            simulation: the simulation.
            id: the full name of the part.
            known: the part.
            left: seconds until the job is stopped; negative: no limit.
        """
        profile = known.profile
        if isinstance(profile, DelayProfile):
            if profile.delay == inf and left < 0.0:
                raise simulation.refusal("profile.infinite", f"job {shown(self.event.job_id)} would never end")
        elif isinstance(profile, TraceReplayProfile):
            self._check_trace(simulation, id, profile, len(known.traces or ()))
        elif isinstance(profile, TASKS):
            self._check_task(simulation, id, profile)

    def _check_placement(self, simulation: Simulation, id: str) -> PlacedExecutors:
        placement = self.placement(id)
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
        return placement

    def _check_trace(self, simulation: Simulation, id: str, profile: TraceReplayProfile, ranks: int) -> None:
        placement = self._check_placement(simulation, id)
        if profile.trace_type == TraceType.SMPI:
            raise simulation.refusal(
                "profile.not-simulated",
                f"profile {shown(id)} replays an SMPI trace, which only SimGrid itself can simulate",
            )
        mapping = placement.mapping
        if mapping is not None and len(mapping) != ranks:
            raise self._wrong_mapping(simulation, id, len(mapping), f"the trace has {ranks} ranks")
        if len(set(placement.executors(ranks, simulation.machine.hosts))) < ranks:
            raise simulation.refusal("job.usage-hosts", f"each of the {ranks} ranks of {shown(id)} needs its own host")

    def _check_task(self, simulation: Simulation, id: str, profile: Profile) -> None:
        job, requested = shown(self.event.job_id), self.resources
        placement = self._check_placement(simulation, id)
        if requested == 0:
            raise simulation.refusal("job.no-executors", f"job {job} has no executors to run {shown(id)}")
        mapping = placement.mapping
        if isinstance(profile, ParallelTaskProfile):
            if size(profile) != requested:
                text = f"job {job} has {requested} executors, and profile {shown(id)} is for {size(profile)}"
                raise simulation.refusal("job.profile-size", text)
            if mapping is not None and len(mapping) != requested:
                raise self._wrong_mapping(simulation, id, len(mapping), f"job {job} has {requested} executors")
        for name in storages(profile):
            self._find_storage(simulation, name)
        if isinstance(profile, ParallelTaskMergeCompositionProfile):
            for part in profile.profile_ids:
                self._check_task(simulation, part, simulation.profiles.find(part).profile)
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

    def _find_storage(self, simulation: Simulation, name: str) -> None:
        if name in self.storages:
            return
        host = simulation.setup.host_named(name)
        if host is None:
            raise simulation.refusal(
                "job.storage-unknown", f"storage {shown(name)} is not placed, and no host has this name"
            )
        self.storages[name] = host

    def _wrong_mapping(self, simulation: Simulation, id: str, entries: int, expected: str) -> RuleViolation:
        text = f"the mapping of profile {shown(id)} has {entries} entries, and {expected}"
        return simulation.refusal("job.mapping-size", text)
