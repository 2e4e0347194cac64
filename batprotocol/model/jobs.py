"""Jobs, their placements on hosts, and the progress of killed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from batprotocol.model.enums import PredefinedExecutorPlacementStrategy
from batprotocol.model.hosts import parse_hosts
from batprotocol.model.value import HostString, TupleOf, Value, hosts_into, tuples_into

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = [
    "AllocationPlacement",
    "CustomExecutorToHostMapping",
    "ExecutorPlacement",
    "Job",
    "JobAndProgress",
    "KillProgress",
    "KillProgressAtomicProfile",
    "KillProgressForkJoinProfile",
    "KillProgressSequentialProfile",
    "ProfileAllocationPlacement",
    "StorageHost",
]


class Job(Value, frozen=True, kw_only=True):
    """The resources that a job requests, and the profile that simulates it.

    Args:
        resource_request: the number of hosts that the job requests, which is also its number of executors; uint32.
        walltime: the maximum run time in simulated seconds, after which Batsim kills the job. None means no limit.
            Batsim kills a job that is registered with 0 as soon as it starts. It forwards a walltime <= 0 as None.
        extra_data: free text for decision components, which Batsim does not read. None if absent; Batsim sends `""` if
            the job has none.
        profile_id: the id of the profile, `workload!name`, or only the name for a profile of the job's own workload.

    >>> Job(profile_id="w0!delay10", resource_request=4).walltime is None
    True
    """

    resource_request: int
    walltime: float | None = None
    extra_data: str | None = None
    profile_id: str


# Placements: the hosts that a job gets, and the host of each of its executors.


_SPREAD = PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst


class CustomExecutorToHostMapping(Value, frozen=True):
    """A placement that names the host of each executor.

    Args:
        mapping: one entry for each executor: entry i is the host of executor i. It is not a host id, but an index into
            the hosts of the allocation, in [0, number of allocated hosts[; uint32.
    """

    mapping: TupleOf[int]

    def __post_init__(self) -> None:
        if type(self.mapping) is not tuple:
            tuples_into(self, "mapping")


ExecutorPlacement: TypeAlias = PredefinedExecutorPlacementStrategy | CustomExecutorToHostMapping


class AllocationPlacement(Value, frozen=True):
    """The hosts of a job, and the placement of its executors on them.

    Args:
        host_allocation: the host set. A string is kept; any other host set becomes the canonical string.
        executor_placement: a predefined strategy or a custom mapping; `SpreadOverHostsFirst` by default.

    >>> AllocationPlacement([0, 1, 2, 8]).host_allocation
    '0-2 8'
    """

    host_allocation: HostString
    executor_placement: ExecutorPlacement = _SPREAD

    def __post_init__(self) -> None:
        if type(self.host_allocation) is not str:
            hosts_into(self, "host_allocation")

    @property
    def hosts(self) -> ProcSet:
        """The allocation as a `procset.ProcSet`. Raises `HostSetError` if the string is not a host set."""
        return parse_hosts(self.host_allocation)


class ProfileAllocationPlacement(Value, frozen=True):
    """The hosts and the placement of one profile within a composition.

    Args:
        profile_id: the profile that runs elsewhere, `workload!name`.
        host_allocation: the host set. A string is kept; any other host set becomes the canonical string.
        executor_placement: a predefined strategy or a custom mapping; `SpreadOverHostsFirst` by default.
    """

    profile_id: str
    host_allocation: HostString
    executor_placement: ExecutorPlacement = _SPREAD

    def __post_init__(self) -> None:
        if type(self.host_allocation) is not str:
            hosts_into(self, "host_allocation")

    @property
    def hosts(self) -> ProcSet:
        """The allocation as a `procset.ProcSet`. Raises `HostSetError` if the string is not a host set."""
        return parse_hosts(self.host_allocation)


class StorageHost(Value, frozen=True):
    """The host of a storage that profiles name.

    Args:
        storage_name: the name of the storage in the profiles.
        host_id: the id of the storage host; uint32.
    """

    storage_name: str
    host_id: int


# Kill progress: the completed part of each profile of a job when the job was killed.


class KillProgressAtomicProfile(Value, frozen=True):
    """The progress of a profile that is not a composition.

    Args:
        profile_id: the profile, `workload!name`.
        progress: the completed fraction, in [0,1]: 0 at the start, 1 at the end. Batsim sends -1.0 for SMPI replays.
    """

    profile_id: str
    progress: float


class KillProgressSequentialProfile(Value, frozen=True):
    """The progress of a sequence.

    Args:
        profile_id: the profile, `workload!name`.
        current_repetition: the number of completed repetitions of the whole sequence; uint32.
        current_task_index: the index of the running profile in the sequence, from 0; uint32.
        current_task_progress: the progress of that profile. It may be nested, as deep as the wire permits.
    """

    profile_id: str
    current_repetition: int
    current_task_index: int
    current_task_progress: KillProgress


class KillProgressForkJoinProfile(Value, frozen=True):
    """The progress of profiles that ran at the same time.

    Args:
        profile_id: the profile, `workload!name`.
        tasks_progress: the progress of each of its profiles.
    """

    profile_id: str
    tasks_progress: TupleOf[KillProgress]

    def __post_init__(self) -> None:
        if type(self.tasks_progress) is not tuple:
            tuples_into(self, "tasks_progress")


KillProgress: TypeAlias = KillProgressAtomicProfile | KillProgressSequentialProfile | KillProgressForkJoinProfile


class JobAndProgress(Value, frozen=True):
    """A killed job and its progress.

    Args:
        job_id: the id of the job, `workload!job`.
        wrapper: the progress of the job's profile. The name is that of the schema, which needs a table around the
            union. Use the property `progress` to read it.
    """

    job_id: str
    wrapper: KillProgress

    @property
    def progress(self) -> KillProgress:
        """The progress of the job's profile."""
        return self.wrapper
