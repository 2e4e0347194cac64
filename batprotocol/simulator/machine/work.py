"""The work of profiles: the parallel task of a profile, and the walk through a job's profile, part after part.

A parallel task has flops for each executor, and bytes for each pair of executors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import floor, isqrt
from typing import Final, TypeAlias

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.model import (
    HomogeneousParallelTaskGenerationStrategy,
    KillProgress,
    KillProgressSequentialProfile,
    ParallelTaskDataStagingBetweenStoragesProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskProfile,
    Profile,
    SequentialCompositionProfile,
)
from batprotocol.simulator.actions.demand import PythonDemand, Transfers, transfers_of
from batprotocol.simulator.machine.machine import ParallelTask, SimulatedMachine
from batprotocol.simulator.machine.placement import PlacedExecutors
from batprotocol.workloads import Usage, WorkloadProfile

__all__ = [
    "TASKS",
    "ProfileWalk",
    "SequencePart",
    "message_demand",
    "parallel_task",
    "size",
    "storages",
    "usage_task",
]


_SPREAD: Final = HomogeneousParallelTaskGenerationStrategy.DefinedAmountsSpreadUniformly

TASKS: Final = (
    ParallelTaskProfile,
    ParallelTaskHomogeneousProfile,
    ParallelTaskMergeCompositionProfile,
    ParallelTaskOnStorageHomogeneousProfile,
    ParallelTaskDataStagingBetweenStoragesProfile,
)
"""The types of profiles that are one parallel task."""

_Amounts: TypeAlias = tuple[list[int], list[float], Transfers]


def storages(profile: Profile) -> tuple[str, ...]:
    """The storages that a profile names."""
    if isinstance(profile, ParallelTaskOnStorageHomogeneousProfile):
        return (profile.storage_name,)
    if isinstance(profile, ParallelTaskDataStagingBetweenStoragesProfile):
        return (profile.emitter_storage_name, profile.receiver_storage_name)
    return ()


def parallel_task(
    machine: SimulatedMachine,
    profile: Profile,
    resources: int,
    placement: PlacedExecutors,
    storage_hosts: Mapping[str, int],
    find: Callable[[str], WorkloadProfile],
) -> ParallelTask:
    """The task of a profile.

    Args:
        machine: the machine on which it will run.
        profile: one of `TASKS`.
        resources: the number of hosts that the job requests.
        placement: its hosts, and the host of each executor.
        storage_hosts: the hosts of the storages that it names.
        find: returns the profiles that are merged.
    """
    if isinstance(profile, ParallelTaskMergeCompositionProfile):
        parts = [find(name).profile for name in profile.profile_ids]
        return _built(
            machine, *_merged([_amounts(machine, part, resources, placement, storage_hosts) for part in parts])
        )
    if not isinstance(profile, ParallelTaskProfile | ParallelTaskHomogeneousProfile):
        return _built(machine, *_amounts(machine, profile, resources, placement, storage_hosts))
    place = placement.allocation, placement.strategy if placement.mapping is None else placement.mapping, resources
    known = machine.demands.find(profile, place)
    if known is not None:
        return ParallelTask(known[1], known[0])
    task = _built(machine, *_amounts(machine, profile, resources, placement, storage_hosts))
    machine.demands.remember(profile, place, task.hosts, task.demand)
    return task


def _amounts(
    machine: SimulatedMachine,
    profile: Profile,
    resources: int,
    placement: PlacedExecutors,
    storage_hosts: Mapping[str, int],
) -> _Amounts:
    """The hosts of the executors, their flops, and their transfers."""
    mapping = placement.mapping
    if isinstance(profile, ParallelTaskProfile):
        return placement.executors(resources, machine.hosts), *_given(profile, resources)
    if isinstance(profile, ParallelTaskDataStagingBetweenStoragesProfile):
        ends = [storage_hosts[name] for name in storages(profile)]
        return ends, [0.0, 0.0], [(0, 1, profile.bytes_to_transfer)]
    count = resources if mapping is None else len(mapping)
    executors = placement.executors(count, machine.hosts)
    if isinstance(profile, ParallelTaskHomogeneousProfile):
        flops, transferred = profile.computation_amount, profile.communication_amount
        if profile.generation_strategy == _SPREAD:
            flops /= count
            transferred = transferred / (count * count - count) if count > 1 else 0.0
        return executors, [flops] * count, transferred if transferred > 0 else None
    assert isinstance(profile, ParallelTaskOnStorageHomogeneousProfile)
    read, written = profile.bytes_to_read, profile.bytes_to_write
    if profile.generation_strategy == _SPREAD:
        read, written = read / count, written / count
    elif not machine.corrected:
        written = read
    executors.append(storage_hosts[profile.storage_name])
    both = [(count, i, read) if reads else (i, count, written) for i in range(count) for reads in (False, True)]
    return executors, [0.0] * (count + 1), both


def _merged(parts: Sequence[_Amounts]) -> _Amounts:
    """The amounts of several tasks as those of one task: equal executors do the work of all of them."""
    hosts: list[int] = []
    flops: list[float] = []
    transfers: list[tuple[int, int, float]] = []
    for executors, amounts, moved in parts:
        places, taken = [], 0
        for host, amount in zip(executors, amounts, strict=True):
            step()
            while taken < len(hosts) and hosts[taken] != host:
                taken += 1
            if taken == len(hosts):
                hosts.append(host)
                flops.append(0.0)
            flops[taken] += amount
            places.append(taken)
            taken += 1
        triples = transfers_of(len(executors), moved)
        transfers += [(places[source], places[target], amount) for source, target, amount in triples]
    return hosts, flops, transfers


def usage_task(machine: SimulatedMachine, host: int, line: Usage) -> ParallelTask:
    """The task of one line of a usage trace: the number of cores that compute follows from the usage in the line."""
    count = max(1, floor(line.usage * machine.hosts[host].cores + 0.5))
    return _built(machine, [host] * count, [line.flops] * count, None)


def message_demand(machine: SimulatedMachine, host: int) -> PythonDemand:
    """The demand of a message of one byte to the master."""
    found = machine.demands.messages.get(host)
    if found is None:
        way, bytes_under_way = [(0, 1, 1.0)], machine.platform.tcp_gamma
        found = machine.actions.demand((host, -1), (0.0, 0.0), way, bytes_under_way, machine.path)
        machine.demands.messages[host] = found
    return found


def size(profile: ParallelTaskProfile) -> int:
    """The number of executors that a parallel task is made for."""
    return len(profile.computation_vector or ()) or isqrt(len(profile.communication_matrix or ()))


def _given(profile: ParallelTaskProfile, count: int) -> tuple[list[float], Transfers]:
    flops = list(profile.computation_vector or ()) or [0.0] * count
    matrix = profile.communication_matrix
    return flops, matrix.view if matrix else None


def _built(machine: SimulatedMachine, executors: list[int], flops: list[float], transfers: Transfers) -> ParallelTask:
    """A task of these executors."""
    demand = machine.actions.demand(executors, flops, transfers, machine.platform.tcp_gamma, machine.path)
    return ParallelTask(demand, tuple(dict.fromkeys(executors)))


# Walks


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class SequencePart:
    """A profile of the walk: a composition, or the profile that runs now.

    Attributes:
        profile_id: its full name.
        profile: the profile.
        repetition: the number of completed repetitions of a composition.
        index: the index of the current part, from 0.
    """

    __slots__ = ("index", "profile", "profile_id", "repetition")

    def __init__(self, profile_id: str, profile: WorkloadProfile) -> None:
        self.profile_id = profile_id
        self.profile = profile
        self.repetition = 0
        self.index = 0


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class ProfileWalk:
    """The parts of a job's profile that are executed, one after the other.

    Attributes:
        profile_id: the profile where it begins.
        leaf: the profile that runs now, or None at the end.
        return_code: the return code of the job, at the end.
    """

    __slots__ = ("_above", "leaf", "profile_id", "return_code")

    def __init__(self, profile_id: str, find: Callable[[str], WorkloadProfile]) -> None:
        self.profile_id = profile_id
        self._above: list[SequencePart] = []
        self.leaf: SequencePart | None = None
        self.return_code = 0
        code = self._descend(profile_id, find)
        if code is not None:
            self.go_on(code, find)

    def _descend(self, profile_id: str, find: Callable[[str], WorkloadProfile]) -> int | None:
        """Go down to the first profile that runs. If there is none, return the return code of this empty part."""
        part = SequencePart(profile_id, find(profile_id))
        while isinstance(part.profile.profile, SequentialCompositionProfile):
            sequence = part.profile.profile
            if not sequence.profile_ids or not sequence.repetition_count:
                return part.profile.return_code
            step()
            self._above.append(part)
            part = SequencePart(sequence.profile_ids[0], find(sequence.profile_ids[0]))
        self.leaf = part
        return None

    def go_on(self, return_code: int, find: Callable[[str], WorkloadProfile]) -> None:
        """Take the return code of the current profile, and go to the next part or to the end."""
        self.leaf = None
        while self._above and return_code == 0:
            step()
            part = self._above[-1]
            sequence = part.profile.profile
            assert isinstance(sequence, SequentialCompositionProfile)
            part.index += 1
            if part.index == len(sequence.profile_ids):
                if part.repetition + 1 >= sequence.repetition_count:
                    return_code = part.profile.return_code
                    self._above.pop()
                    continue
                part.index = 0
                part.repetition += 1
            code = self._descend(sequence.profile_ids[part.index], find)
            if code is None:
                return
            return_code = code
        self.return_code = return_code

    def progress(self, of_leaf: KillProgress) -> KillProgress:
        """The progress of the walk, from the progress of the current profile."""
        progress = of_leaf
        for part in reversed(self._above):
            progress = KillProgressSequentialProfile(part.profile_id, part.repetition, part.index, progress)
        return progress
